"""What each kind of statement reads and writes: the one place that says so.

An *effect* is a box of a buffer that a statement itself reads or writes when it runs; one per access, so a func that
reads a buffer twice has two. What is inside a loop or an if has effects of its own. A call runs over its box within the
bounds of its outputs (*clamped*), and does nothing where that is empty, so its effects are those of the clamped box and
hold under `not_empty` of it.

Invariant: whenever a statement runs, all that it touches lies in the boxes of its effects; of an effect that
`is_exact`, all of the box is touched. A write that must happen counts only if it is exact; what may be touched, always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, assert_never

import attrs

from slinky.ir.regions import BoundsOf, end_symbols, input_regions, input_templates, output_region, seen_templates
from slinky.ir.remembered import remembered
from slinky.ir.statements import Alloc, Block, Call, Check, For, If, LoweredFunc, Pass, Statement, blocks_of, walk
from slinky.symbolic.expressions import Expr
from slinky.symbolic.intervals import Box, Interval, evaluate_box, intersection
from slinky.symbolic.traversal import evaluate

NumericBox: TypeAlias = tuple[tuple[int, int], ...]


@attrs.frozen
class Effect:
    """A box of a buffer that a statement reads or writes, all of it if `is_exact`."""

    buffer: str
    box: Box
    is_exact: bool


# ----------------------------------------------------------------------------------------------------------------
# Names
# ----------------------------------------------------------------------------------------------------------------


Touching: TypeAlias = Call
"""The kinds of statements that touch elements themselves. What must be proved of accesses is proved of all of these."""

Untouching: TypeAlias = Alloc | For | If | Check | Pass
"""All other kinds: these functions can say of them only that they read and write nothing."""


def _nothing_of(statement: Untouching) -> tuple[()]:
    """What they touch. A kind that is in neither list is an error of the type checker where this is called."""
    return ()


def read_by(statement: Statement) -> tuple[str, ...]:
    """The buffers that a statement itself reads, one per access."""
    return statement.reads if isinstance(statement, Touching) else _nothing_of(statement)


def written_by(statement: Statement) -> tuple[str, ...]:
    """The buffers that a statement itself writes, one per access."""
    return statement.writes if isinstance(statement, Touching) else _nothing_of(statement)


def made_by(statement: Statement) -> str | None:
    """The name of the buffer that a statement brings into scope for the rest of its block."""
    match statement:
        case Alloc(buffer=buffer):
            return buffer
        case Call() | For() | If() | Check() | Pass():
            return None
        case _:
            assert_never(statement)


def require_no_effect(statement: Statement) -> None:
    """Make sure that a statement touches and makes no buffer and that none stands inside it: whoever follows what
    programs do to buffers knows no other kinds that do, and passes over this one."""
    has_effect = buffers_named(statement) or blocks_of(statement)
    assert not has_effect, f"what does a {type(statement).__name__} do here?"


def dims_written(call: Call) -> dict[str, tuple[int, ...]]:
    """For each buffer that a call writes, which of its func's dimensions each dimension of the buffer is."""
    return {buffer: port.dims for buffer, port in zip(call.writes, call.func.outputs, strict=True)}


def buffers_named(statement: Statement) -> tuple[str, ...]:
    """The buffers that a statement itself names, not those of the statements inside it."""
    made = made_by(statement)
    touched = (*read_by(statement), *written_by(statement))
    return touched if made is None else (made, *touched)


def calls_in(block: Block) -> Iterator[Touching]:
    """The calls of a block, and of the blocks inside, in program order."""
    return (s for s in walk(block) if isinstance(s, Touching))


# ----------------------------------------------------------------------------------------------------------------
# Clamping
# ----------------------------------------------------------------------------------------------------------------


@remembered
def _limits(func: LoweredFunc, writes: tuple[str, ...]) -> tuple[tuple[int, str, int], ...]:
    return tuple(
        (dim, buffer, position)
        for port, buffer in zip(func.outputs, writes, strict=True)
        for position, dim in enumerate(port.dims)
    )


def limits(call: Call) -> tuple[tuple[int, str, int], ...]:
    """What clamps a call: for a dimension of its func, a buffer that it writes and the dimension of that.

    A call runs within the bounds of its outputs. All that clamp a box, of expressions or of numbers, ask here how.
    """
    return _limits(call.func, call.writes)


def clamped_box(call: Call, bounds_of: BoundsOf) -> Box:
    """The box of a call within the bounds of its outputs, and where its func gives the values."""
    return _clamped(call.func, call.box, tuple([bounds_of(buffer) for buffer in call.writes]))


@remembered
def _clamped(func: LoweredFunc, box: Box, bounds: tuple[Box, ...]) -> Box:
    clamped = list(box)
    for port, bound in zip(func.outputs, bounds, strict=True):
        for dim, i in zip(port.dims, bound, strict=True):
            clamped[dim] = intersection(clamped[dim], i)
    for limit in func.part:
        clamped[limit.dim] = limit.clamp(clamped[limit.dim])
    return tuple(clamped)


def bounds_of_dim(call: Call, dim: int, bounds_of: BoundsOf) -> Interval:
    """What the bounds of a call's outputs leave of one of its dimensions, which one of them has at least."""
    found: Interval | None = None
    for own, buffer, position in limits(call):
        if own == dim:
            bound = bounds_of(buffer)[position]
            found = bound if found is None else intersection(found, bound)
    assert found is not None
    for limit in call.func.part:
        if limit.dim == dim:
            found = limit.clamp(found)
    return found


def clamped_numbers(call: Call, values: Mapping[Expr, int], bounds_of: Callable[[str], NumericBox]) -> NumericBox:
    """The box of a call within the bounds of its outputs, for given values of all symbols."""
    box = list(evaluate_box(call.box, values))
    for dim, buffer, position in limits(call):
        (lo, hi), (first, last) = box[dim], bounds_of(buffer)[position]
        box[dim] = (max(lo, first), min(hi, last))
    for limit in call.func.part:
        lo, hi = box[limit.dim]
        lo = lo if limit.first is None else max(lo, evaluate(limit.first, values))
        hi = hi if limit.last is None else min(hi, evaluate(limit.last, values))
        box[limit.dim] = (lo, hi)
    return tuple(box)


# ----------------------------------------------------------------------------------------------------------------
# Effects
# ----------------------------------------------------------------------------------------------------------------


def reads(statement: Statement, box: Box) -> tuple[Effect, ...]:
    """What a statement that runs over a box, which is not empty, reads: in the order of `read_by`.

    The box of a call is its own, as written or clamped; other statements have none.
    """
    if isinstance(statement, Touching):
        return _reads_of_call(statement.func, statement.reads, box)
    return _nothing_of(statement)


def writes(statement: Statement, box: Box) -> tuple[Effect, ...]:
    """What a statement that runs over a box, which is not empty, writes: in the order of `written_by`."""
    if isinstance(statement, Touching):
        return _writes_of_call(statement.func, statement.writes, box)
    return _nothing_of(statement)


@remembered
def _reads_of_call(func: LoweredFunc, buffers: tuple[str, ...], box: Box) -> tuple[Effect, ...]:
    # The hull of what the points of a box read: a region may have holes, and the ends need not be taken.
    regions = zip(buffers, input_regions(func, box), strict=True)
    return tuple(Effect(buffer, region, False) for buffer, region in regions)


def _writes_of_call(func: LoweredFunc, buffers: tuple[str, ...], box: Box) -> tuple[Effect, ...]:
    ports = zip(buffers, func.outputs, strict=True)
    return tuple([Effect(buffer, output_region(port, box), True) for buffer, port in ports])


def numeric_reads(call: Call, box: NumericBox, values: Mapping[Expr, int]) -> list[tuple[str, NumericBox]]:
    """What a call over a box of numbers, which is not empty, reads, for given values of all symbols."""
    inner = _with_ends(call, box, values)
    templates = zip(call.reads, input_templates(call.func), strict=True)
    return [(buffer, evaluate_box(template, inner)) for buffer, template in templates]


def _with_ends(call: Call, box: NumericBox, values: Mapping[Expr, int]) -> dict[Expr, int]:
    """The values of symbols, and those of the ends of the box of a call."""
    inner = dict(values)
    for (lo_symbol, hi_symbol), (lo, hi) in zip(end_symbols(call.func), box, strict=True):
        inner[lo_symbol], inner[hi_symbol] = lo, hi
    return inner


def numeric_seen(call: Call, box: NumericBox, values: Mapping[Expr, int]) -> list[NumericBox | None]:
    """What the operation of a call over a box of numbers, which is not empty, sees of each port that has a view."""
    templates = seen_templates(call.func)
    if all(t is None for t in templates):  # () is what is seen without any axis
        return [None] * len(templates)
    inner = _with_ends(call, box, values)
    return [None if t is None else evaluate_box(t, inner) for t in templates]


def numeric_writes(call: Call, box: NumericBox) -> list[tuple[str, NumericBox]]:
    """What a call over a box of numbers, which is not empty, writes."""
    ports = zip(call.writes, call.func.outputs, strict=True)
    return [(buffer, tuple(box[d] for d in port.dims)) for buffer, port in ports]


def of_buffer(effects: Sequence[Effect], buffer: str) -> list[Effect]:
    """The effects on one buffer."""
    return [effect for effect in effects if effect.buffer == buffer]
