"""Fused funcs: one callback for what two funcs compute one after the other, which its author declares.

Idea. That a callback computes what two others do is what only its author can know. So it is said where the graph is
made, and a schedule makes one call of two by it. What it reads follows from the two: what the first reads for what the
second reads of it. It may reduce, whether one of the two does or not, and then say how it can be taken to pieces: a
square and a sum become a sum of squares.

Invariant: the first of two fused funcs has one output, which the second reads, and can compute any part of it. What a
fused func is said to reduce moves with none of its dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from slinky.errors import GraphError, cited
from slinky.graph.buffers import Access, valid_name
from slinky.graph.funcs import Func, callback_of
from slinky.graph.reductions import Reduced, Reduction, reduced_inputs
from slinky.ir.families import with_all_changed
from slinky.ir.operations import Callback
from slinky.ir.operations import Reduction as LoweredReduction
from slinky.ir.regions import input_regions
from slinky.ir.statements import Fused, InputPort, LoweredFunc
from slinky.symbolic.expressions import Expr, Variable, variable
from slinky.symbolic.intervals import Box, box_symbols, hull, substitute_box


@attrs.frozen(eq=False)
class DeclaredFusion:
    """That an operation computes, under a name, what a func computes of the output of a first one; and how it reduces,
    if it says so."""

    name: str
    first: Func
    operation: Callback
    declared_reduction: Reduction | None = None
    reduction: LoweredReduction | None = None


def fuse(
    first: Func,
    second: Func,
    callback: Callable[..., Any],
    name: str,
    *,
    arguments: Mapping[str, Any] | None = None,
    pass_buffers: bool = False,
    in_place: bool | None = None,
    writable_inputs: bool = False,
    reduction: Reduction | None = None,
) -> None:
    """Declare that a callback computes what two funcs compute, the second of what the first one gives.

    `fuse_calls` makes one call of the two by it. The callback is called with the inputs of the first func, then with
    those of the second but for what the first gives, then with the outputs of the second. Of each it gets what the two
    would get for the same box of outputs. The other parameters are as of a `Func`; arguments are of scalars and
    constants. A `reduction` is of what the callback is called with: its axes are of these inputs, its states along
    variables of the second func. By declaration, it gives what the two give.

    Raises `GraphError` for funcs that cannot be fused: the first must have one output, which the second reads, and
    compute no dimension whole. So are reductions that do not fit, over what moves with the outputs, say.
    """
    for func in (first, second):
        if not _has_callback(func):
            raise GraphError(f"fuse takes two funcs with callbacks, got {cited(func)}")
    what = f"the fused func {cited(name)}"
    name = valid_name(name, "a fused func")
    if len(first.outputs) != 1 or first.outputs[0].buffer not in [access.buffer for access in second.inputs]:
        raise GraphError(f"{what}: {first.name} must have one output, which {second.name} reads")
    if first.whole:
        raise GraphError(f"{what}: {first.name} computes {first.whole[0]} whole, and would have to compute parts of it")
    if any(fusion.name == name for fusion in second.fusions):
        raise GraphError(f"{what} is declared twice")
    between = first.outputs[0].buffer
    count = len(first.inputs) + sum(access.buffer is not between for access in second.inputs)
    given: object = {} if arguments is None else arguments
    operation = callback_of(
        callback, given, (count, len(second.outputs)), what, pass_buffers, in_place, writable_inputs
    )
    if reduction is not None and not isinstance(reduction, Reduction):
        raise GraphError(f"{what}: reduction must be a Reduction, got {cited(reduction)}")
    lowered = None
    if reduction is not None:
        lowered = reduction.lowered(name, second.dims, _inputs_of_both(first, second), dict(operation.arguments))
    second.fusions.append(DeclaredFusion(name, first, operation, reduction, lowered))


def _inputs_of_both(first: Func, second: Func) -> list[Reduced]:
    """What a fused func reads, as its reduction looks at it: an input of the first func moves with what the second one
    reads of the output of that."""
    (output,) = first.outputs
    reads = [reduced_inputs([access])[0] for access in second.inputs if access.buffer is output.buffer]
    moving = [next((v for v in axes if v is not None), None) for axes in zip(*(r.moving for r in reads), strict=True)]
    dims = [i.min for i in output.box if i is not None]
    along: dict[Expr, Variable | None] = dict(zip(dims, moving, strict=True))
    others = (access for access in second.inputs if access.buffer is not output.buffer)
    return [*(_of_first(access, along) for access in first.inputs), *reduced_inputs(others)]


def _of_first(access: Access, along: Mapping[Expr, Variable | None]) -> Reduced:
    """An input of the first func, given with what each of its dimensions moves."""
    named = [frozenset[Expr]() if i is None else box_symbols([i]) for i in access.box]
    moving = (sorted((v for d in own & along.keys() if (v := along[d]) is not None), key=str) for own in named)
    return Reduced(str(access), access.buffer.name, tuple(each[0] if each else None for each in moving))


def _has_callback(func: object) -> bool:
    return isinstance(func, Func) and isinstance(func.lowered_operation(), Callback)


def with_fusions(funcs: Mapping[Func, LoweredFunc], order: Sequence[Func]) -> dict[Func, LoweredFunc]:
    """The funcs of a graph, given in the order in which they produce, with the fused funcs that are declared.

    Raises `GraphError` for a name that another func has.
    """
    found = dict(funcs)
    names = {lowered.name for lowered in funcs.values()}
    for func in order:
        fused: list[LoweredFunc] = []
        for fusion in func.fusions:
            if fusion.name in names:
                raise GraphError(f"two funcs are called {fusion.name!r}: a fused func needs a name of its own")
            names.add(fusion.name)
            if fusion.first in found:
                fused.append(_fused(found[fusion.first], found[func], fusion, func))
        if fused:
            found[func] = _with_declared(found[func], tuple(fused))
    return found


def _with_declared(func: LoweredFunc, fused: tuple[LoweredFunc, ...]) -> LoweredFunc:
    """A func, and its variants, with these fused funcs and no others."""
    new = with_all_changed(func, lambda member: attrs.evolve(member, fusions=fused))
    assert new is not None
    return new


def _fused(first: LoweredFunc, second: LoweredFunc, fusion: DeclaredFusion, func: Func) -> LoweredFunc:
    """The func that computes what two do."""
    if first.multiples:
        raise GraphError(f"the fused func {fusion.name!r}: {first.name} computes whole pieces, not any part")
    between = fusion.first.outputs[0].buffer
    ports = tuple(k for k, access in enumerate(func.inputs) if access.buffer is between)
    dims = tuple(variable(f"{fusion.name}.{dim}") for dim in second.dim_names())
    renamed: dict[Expr, Expr] = dict(zip(second.dims, dims, strict=True))
    needed = second.inputs[ports[0]].box
    for k in ports[1:]:
        needed = tuple(map(hull, needed, second.inputs[k].box))
    own = dict(zip(first.outputs[0].dims, needed, strict=True))
    box: Box = tuple(own[d] for d in range(len(first.dims)))
    regions = zip(input_regions(first, box), first.inputs, strict=True)
    inputs = [InputPort(substitute_box(region, renamed), port.dtype) for region, port in regions]
    others = (port for k, port in enumerate(second.inputs) if k not in ports)
    inputs += [attrs.evolve(port, box=substitute_box(port.box, renamed)) for port in others]
    return attrs.evolve(
        second,
        name=fusion.name,
        operation=fusion.operation,
        dims=dims,
        inputs=tuple(inputs),
        known=tuple(dict.fromkeys((*first.known, *second.known))),
        reduction=fusion.reduction,
        variant=None,
        family=None,
        fusions=(),
        fused=Fused(first, _with_declared(second, ()), ports),
    )
