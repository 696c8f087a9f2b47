"""What carries out the stages of a reduction by pieces.

States have an axis for pieces, the first one, which the functions of a reduction know nothing of: they are called with
what is behind it, once for each piece that a call is over. That is one, mostly, for a piece is only computed once the
one before it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, assert_never
from weakref import WeakKeyDictionary

from slinky.ir.operations import Accumulation, Stage
from slinky.runtime.buffers import Array
from slinky.runtime.calling import call_callback

_carriers: WeakKeyDictionary[Accumulation, Callable[..., Any]] = WeakKeyDictionary()


def stage_carrier(operation: Accumulation) -> Callable[..., Any]:
    """The function that carries out a stage: called with its inputs, then its outputs, and its arguments."""
    found = _carriers.get(operation)
    if found is None:
        found = _carriers[operation] = _carrier(operation)
    return found


def _carrier(operation: Accumulation) -> Callable[..., Any]:
    match operation.stage:
        case Stage.INIT:
            return _init(operation)
        case Stage.UPDATE:
            return _update(operation)
        case Stage.FINISH:
            return _finish(operation)
        case _:
            assert_never(operation.stage)


def _init(operation: Accumulation) -> Callable[..., Any]:
    function, name = operation.reduction.init, operation.func

    def init(*states: Array, **arguments: Any) -> None:
        for piece in range(len(states[0])):
            call_callback(function, name, (), [state[piece, ...] for state in states], arguments)

    return init


def _update(operation: Accumulation) -> Callable[..., Any]:
    function, name, count = operation.reduction.update, operation.func, len(operation.reduction.states)
    with_start = operation.reduction.positions
    reduced = [(k, axis) for _, axes in operation.reduction.over for k, axis in enumerate(axes) if axis is not None]

    def update(*operands: Any, piece_extent: int, each: int = 1, **arguments: Any) -> None:
        old, inputs, new = list(operands[:count]), list(operands[count:-count]), list(operands[-count:])
        first = 0
        if with_start:
            first = new[0].min[0]
            old, inputs, new = ([x.array for x in these] for these in (old, inputs, new))
        pieces = len(new[0])
        for piece in range(pieces):
            if with_start:
                arguments["start"] = (first + piece) * piece_extent * each
            given = inputs if pieces == 1 else _pieces_of(inputs, operation.axes, piece, piece_extent)
            before, after = [state[piece, ...] for state in old], [state[piece, ...] for state in new]
            if all(given[k].shape[axis] for k, axis in reduced):
                call_callback(function, name, [*before, *given], after, arguments)
            else:  # a piece of no elements, along another dimension: it is known what it changes
                for was, state in zip(before, after, strict=True):
                    state[...] = was

    return update


def _pieces_of(inputs: Iterable[Array], axes: Iterable[int | None], piece: int, extent: int) -> list[Array]:
    """Of what a call over several pieces reads, what one of them does."""
    own = slice(piece * extent, (piece + 1) * extent)
    return [a if axis is None else a[(*(slice(None),) * axis, own)] for a, axis in zip(inputs, axes, strict=True)]


def _finish(operation: Accumulation) -> Callable[..., Any]:
    function, name, count = operation.reduction.finish, operation.func, len(operation.reduction.states)

    def finish(*operands: Array, **arguments: Any) -> None:
        call_callback(function, name, [state[0, ...] for state in operands[:count]], operands[count:], arguments)

    return finish
