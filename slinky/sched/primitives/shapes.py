"""A pipeline for arrays of sizes that are known: these become checks, and everything is said in terms of them.

The checks stand behind those that there are, before anything runs. A bound that follows from another one is replaced by
what it is then, so that lengths of loops and buffers become numbers, and choices are decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from slinky.cursors.editing import Edit
from slinky.cursors.versions import Version
from slinky.errors import OperationError, SchedulingError, cited
from slinky.ir.statements import BufferParameter, Check
from slinky.ir.substitution import substitute_block
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import ALL_BUT_CHECKS, SAME_ORDER, Kept
from slinky.sched.operation import sched_op
from slinky.sched.primitives.rewriting import require_divisors, require_known_symbols
from slinky.sched.primitives.simplification import simplified
from slinky.sched.returned import AssumeShapeCursors
from slinky.symbolic.bounds import decide
from slinky.symbolic.expressions import FALSE, TRUE, Condition, Expr, as_expr, constant_value, equal, metadata
from slinky.symbolic.intervals import Interval


@sched_op(AssumeShapeCursors)
def assume_shape(p: Pipeline, /, **sizes: Sequence[object]) -> Any:
    """Assume sizes of inputs and outputs: checks say so, and everything is simplified by them.

        >>> import slinky as sl
        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.blur(), "blur.x", 8)
        >>> print(assume_shape(p, out=(256,)))
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          check out.x.max == out.x.min + 255
          alloc scaled: float32[out.x.min - 1 .. out.x.min + 256]
          scaled[:] = scale(inp[:])
          for x in out.x.min .. out.x.min + 255 step 8:
            out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])

    Where both ends of a dimension are known, nothing is left to be found out when the pipeline runs, and an output need
    not be given:

        >>> print(assume_shape(p, out=(sl.interval(0, 255),)))
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          check 0 == out.x.min
          check 255 == out.x.max
          alloc scaled: float32[-1..256]
          scaled[:] = scale(inp[:])
          for x in 0..255 step 8:
            out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])

    Parameters:
        sizes: for inputs and outputs, by name, what is known of each dimension, as in `out=(720, 1280)`: the extent, an
            interval of coordinates, or None for nothing. Extents and ends are integers, or expressions of scalars.

    Arrays of other sizes are refused when the pipeline runs, before anything is computed.

    Refused: a size that the checks exclude.
    """
    version = p._version
    if not sizes:
        raise OperationError("sizes are given by name, such as out=(720, 1280)")
    assumptions = [a for name, size in sizes.items() for a in _assumptions(version, name, size)]
    edit = Edit(version)
    known = version.base_facts()
    for each in assumptions:
        require_known_symbols(version, each.value, f"the size of {each.name}")
        require_divisors(edit, each.value, f"the size of {each.name}", known)
        decided = decide(each.condition, known)
        if decided is FALSE:
            raise SchedulingError(f"{each.name} cannot have {each.words}: the checks exclude it")
        if decided is not TRUE:
            edit.add_check(each.condition, f"{each.name} has {each.words}, as was assumed")
        known = known.also(each.condition)
    replacements = dict(each.replacement for each in assumptions)
    for statement in version.program.body:
        if not isinstance(statement, Check):
            new = simplified(substitute_block((statement,), replacements), known)
            if new != (statement,):
                edit.replace(statement.id, new, "found that it does nothing, and dropped it")
    return settle(edit, "assume_shape", Kept(SAME_ORDER, ALL_BUT_CHECKS))


@attrs.frozen
class _Assumption:
    """What is assumed of a dimension: in words, as a condition, by which value, and which bound it replaces by what."""

    name: str
    words: str
    condition: Condition
    value: Expr
    replacement: tuple[Expr, Expr]


def _assumptions(version: Version, name: str, size: object) -> list[_Assumption]:
    """What is assumed of the dimensions of an input or output. Raises `OperationError` for any other name or size."""
    parameters = {p.name: p for p in (*version.program.inputs, *version.program.outputs)}
    if name not in parameters:
        raise OperationError(f"{name!r} is no input and no output; there are {', '.join(parameters)}")
    parameter = parameters[name]
    if not isinstance(size, (tuple, list)) or len(size) != parameter.rank:
        dims = ", ".join(parameter.dims)
        raise OperationError(
            f"the size of {name} is a tuple with an entry for each of its {parameter.rank} dimensions ({dims}), got "
            f"{cited(size)}"
        )
    return [a for d, entry in enumerate(size) if entry is not None for a in _of_dim(parameter, d, entry)]


def _of_dim(parameter: BufferParameter, d: int, entry: object) -> list[_Assumption]:
    """What is assumed of one dimension: its extent, or an interval."""
    name = f"{parameter.name}.{parameter.dims[d]}"
    low, high = (metadata(parameter.name, d, end) for end in ("min", "max"))
    if isinstance(entry, Interval):
        words = f"the coordinates {entry}"
        _require_extent(name, entry, entry.extent)
        ends = ((low, entry.min), (high, entry.max))
        return [_Assumption(name, words, equal(symbol, value), value, (symbol, value)) for symbol, value in ends]
    try:
        extent = as_expr(entry)
    except TypeError as error:
        raise OperationError(f"the size of {name} is an extent, an interval or None: {error}") from None
    _require_extent(name, entry, extent)
    condition = equal(high - low + 1, extent)
    return [_Assumption(name, f"the extent {extent}", condition, extent, (high, low + extent - 1))]


def _require_extent(name: str, entry: object, extent: Expr) -> None:
    """Raise `OperationError` for an extent that is less than 0."""
    number = constant_value(extent)
    if number is not None and number < 0:
        raise OperationError(f"the size of {name} must not be less than 0, got {entry}")
