"""From a graph to a program: which funcs, in which order, over which boxes.

`collecting` says which funcs there are, `inference` finds their boxes, and `resolution` makes these speak of inputs and
outputs alone. Here the program is made of what they found. What is read of an input, at most, becomes checks.

Invariant: on arguments that pass the checks, no call of the program reads what is not there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import attrs

from slinky.errors import GraphError, cited
from slinky.graph.buffers import BufferExpr, constraints, loop_variables, valid_name
from slinky.graph.collecting import Graph
from slinky.graph.fusing import with_fusions
from slinky.graph.inference import Checks, Inferred, infer
from slinky.graph.naming import DimensionNames
from slinky.graph.resolution import resolve
from slinky.ir.copies import symbols_of
from slinky.ir.effects import read_by
from slinky.ir.families import relatives
from slinky.ir.given import is_iterable
from slinky.ir.statements import (
    Alloc,
    BufferParameter,
    Call,
    Check,
    ConstantBuffer,
    FloatParameter,
    Layout,
    LoweredFunc,
    Program,
    ScalarParameter,
    Statement,
    walk,
)
from slinky.symbolic.bounds import simplify
from slinky.symbolic.clamps import HEAVIEST_CUT
from slinky.symbolic.expressions import And, Condition, Expr, Max, Metadata, Min, Scalar, constant_value
from slinky.symbolic.intervals import Box, Interval, box_symbols
from slinky.symbolic.order import weight
from slinky.symbolic.patience import limited_patience
from slinky.symbolic.proofs import facts, impossible
from slinky.symbolic.traversal import union_of_symbols

_PATIENCE, _PATIENCE_PER_FUNC = 300_000, 20_000
"""How much searching for proofs a graph is worth (see `symbolic.patience`). Bounds that are not shown to be simpler
stay as they are: windows at the edges of arrays of other rates, one in the other, have few proofs and long searches."""


def lower(graph: Graph, require: Iterable[Condition], name: str | None) -> Program:
    """The program that computes each func once, in full, in an order that respects what they read.

    Raises `GraphError` for a graph that is no pipeline.
    """
    checks = Checks()
    if not is_iterable(require):
        raise GraphError(f"require must be a list of conditions, such as [r >= 0], got {require} alone")
    for condition in tuple(require):
        if not isinstance(condition, Condition):
            raise GraphError(f"require must be a list of conditions, such as r >= 0, got {cited(condition)}")
        named = loop_variables(condition)
        if named:
            raise GraphError(f"{condition} is required before anything runs: variable {named[0]} has no value then")
        for part in condition.operands if isinstance(condition, And) else (condition,):
            checks.require(part, f"{part} is required of the pipeline")
    _require_caller_aligns((*graph.inputs, *graph.outputs, *graph.constants))
    for buffer in (*graph.inputs, *graph.outputs):
        for condition in constraints(buffer):
            checks.require(condition, f"assigned to a dimension of {buffer.name}")
    with limited_patience(_PATIENCE + _PATIENCE_PER_FUNC * len(graph.funcs)):
        inferred, checks = resolve(graph, infer(graph, checks), checks)
        names = DimensionNames(graph.funcs)
        _check_reads(graph, inferred, checks, names)
        _require_possible(checks, names, inferred)
        inferred = attrs.evolve(inferred, funcs=with_fusions(inferred.funcs, graph.funcs))
        body = _body(graph, inferred, checks, names)
    first = graph.outputs[0].producer
    assert first is not None
    scalars, floats = _scalars(inferred, checks), _floats(inferred)
    _require_one_kind(scalars, floats)
    return Program(
        inferred.funcs[first].name if name is None else valid_name(name, "a pipeline"),
        tuple(BufferParameter(b.name, b.dtype, names.of(b)) for b in graph.inputs),
        tuple(BufferParameter(b.name, b.dtype, names.of(b)) for b in graph.outputs),
        scalars,
        tuple(map(_constant, graph.constants)),
        body,
        floats,
    )


def with_assigned_bounds(graph: Graph) -> tuple[str, ...]:
    """The names of the intermediates whose bounds are not only what is needed of them."""
    made = (access.buffer for func in graph.funcs for access in func.outputs)
    return tuple(
        buffer.name
        for buffer in made
        if buffer not in graph.outputs and any(field != "stride" for _, field in buffer.assigned)
    )


def unused_inputs(program: Program) -> tuple[str, ...]:
    """The inputs of a program that no call reads, and whose bounds say nothing of anything else."""
    used: set[str] = set()
    for statement in walk(program.body):
        used.update(read_by(statement))
        said = symbols_of(statement)
        if isinstance(statement, Call):
            said |= box_symbols([i for port in statement.func.inputs for i in port.box])
            said |= union_of_symbols(statement.func.operation.expressions())
        named = {s.buffer for s in said if isinstance(s, Metadata)}
        if not (isinstance(statement, Check) and len(named) == 1):  # what is required of one buffer by itself
            used |= named
    return tuple(parameter.name for parameter in program.inputs if parameter.name not in used)


def _check_reads(graph: Graph, inferred: Inferred, checks: Checks, names: DimensionNames) -> None:
    """Checks that what is read of inputs, constants and outputs is there."""
    order = {b: n for n, b in enumerate((*graph.inputs, *graph.outputs, *graph.constants))}
    for (buffer, d), i in sorted(inferred.read.items(), key=lambda item: (order[item[0][0]], item[0][1])):
        limit = inferred.boxes[buffer][d]
        name = names.of(buffer)[d]
        along = f"dimension {d}" if name.isdigit() else name
        lo, hi = (names.text(end, inferred.boxes) for end in (i.min, i.max))
        what = f"the pipeline reads {buffer.name} along {along} from {lo} to {hi}"
        checks.require(limit.min <= i.min, what)
        checks.require(i.max <= limit.max, what)


def _require_possible(checks: Checks, names: DimensionNames, inferred: Inferred) -> None:
    """Raise `GraphError` if the checks are shown to contradict each other: no arrays could ever be given."""
    if not impossible(checks.known):
        return
    pairs = itertools.combinations(checks.messages, 2)
    against = next((pair for pair in pairs if impossible(facts(*pair))), tuple(checks.messages))
    listed = "; ".join(f"{names.text(c, inferred.boxes)} ({checks.messages[c]})" for c in against)
    raise GraphError(f"no arrays can meet all that this pipeline requires: {listed}")


def _body(graph: Graph, inferred: Inferred, checks: Checks, names: DimensionNames) -> tuple[Statement, ...]:
    """The checks; then each func, after the allocations of the intermediates that it produces."""
    body: list[Statement] = [Check(condition, message) for condition, message in checks.messages.items()]
    for func in graph.funcs:
        for access in func.outputs:
            buffer = access.buffer
            if buffer not in graph.outputs:
                folds = (None,) * buffer.rank
                box = _simplified(inferred.boxes[buffer], checks)
                layout = _layout(buffer, inferred)
                body.append(Alloc(buffer.name, buffer.dtype, names.of(buffer), box, folds, layout=layout))
        reads, writes = (tuple(a.buffer.name for a in accesses) for accesses in (func.inputs, func.outputs))
        body.append(Call(inferred.funcs[func], _simplified(inferred.boxes_of_funcs[func], checks), reads, writes))
    return tuple(body)


def _layout(buffer: BufferExpr, inferred: Inferred) -> Layout | None:
    """The layout that was asked for, if one was."""
    strides = tuple(inferred.strides.get((buffer, d)) for d in range(buffer.rank))
    if buffer.alignment == 1 and all(stride is None for stride in strides):
        return None
    return Layout(strides, buffer.alignment)


def _require_caller_aligns(buffers: Iterable[BufferExpr]) -> None:
    """Raise `GraphError` for an alignment of what slinky does not allocate."""
    for buffer in buffers:
        if buffer.alignment != 1:
            raise GraphError(
                f"the alignment of {buffer.name!r} cannot be assigned: it is given to the pipeline; assign strides"
            )


def _simplified(box: Box, checks: Checks) -> Box:
    """A box without choices that the checks decide: they hold wherever it is used."""

    def decided(end: Expr) -> Expr:
        is_choice = isinstance(end, (Min, Max)) and weight(end) <= HEAVIEST_CUT
        return simplify(end, checks.known) if is_choice else end

    return tuple(Interval(decided(i.min), decided(i.max)) for i in box)


def _scalars(inferred: Inferred, checks: Checks) -> tuple[ScalarParameter, ...]:
    """The scalars that a program names anywhere, in the order of their names."""
    used: set[Expr] = set(union_of_symbols(checks.messages))
    for box in (*inferred.boxes.values(), *inferred.boxes_of_funcs.values()):
        used |= box_symbols(box)
    for lowered in _all_funcs(inferred):
        used |= box_symbols([i for access in lowered.inputs for i in access.box])
        used |= union_of_symbols(lowered.operation.expressions())
    used |= union_of_symbols(inferred.strides.values())
    names = sorted(s.name for s in used if isinstance(s, Scalar))
    for buffer in inferred.boxes:
        if buffer.name in names:
            raise GraphError(f"a scalar and a buffer are both called {buffer.name!r}; names must be unique")
    return tuple(map(ScalarParameter, names))


def _all_funcs(inferred: Inferred) -> list[LoweredFunc]:
    """All that calls may run: the funcs, their variants, and what they are fused to."""
    members = [member for func in inferred.funcs.values() for member in relatives(func).values()]
    return [*members, *(fused for func in inferred.funcs.values() for fused in func.fusions)]


def _require_one_kind(scalars: tuple[ScalarParameter, ...], floats: tuple[FloatParameter, ...]) -> None:
    both = sorted({s.name for s in scalars} & {f.name for f in floats})
    if both:
        raise GraphError(f"the scalar {both[0]!r} is an integer in one place, and a float in another")


def _floats(inferred: Inferred) -> tuple[FloatParameter, ...]:
    """The floats that a program gives to callbacks, in the order of their names."""
    names = sorted({value.name for lowered in _all_funcs(inferred) for value in lowered.operation.floats()})
    taken = {buffer.name for buffer in inferred.boxes}
    for name in names:
        if name in taken:
            raise GraphError(f"a scalar and a buffer are both called {name!r}; names must be unique")
    return tuple(map(FloatParameter, names))


def _constant(buffer: BufferExpr) -> ConstantBuffer:
    assert buffer.value is not None
    origin = tuple(constant_value(buffer.assigned[(d, "min")]) or 0 for d in range(buffer.rank))
    return ConstantBuffer(buffer.name, buffer.value, origin, tuple(map(str, range(buffer.rank))))
