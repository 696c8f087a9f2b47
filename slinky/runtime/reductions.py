"""What carries out the stages of a reduction by pieces.

States have an axis for pieces, the first one, which the functions of a reduction know nothing of: they are called with
what is behind it, once for each piece that a call is over. That is one, mostly, for a piece is only computed once the
one before it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, assert_never

import numpy as np

from slinky.ir.operations import Accumulation, Stage
from slinky.ir.remembered import remembered
from slinky.runtime.buffers import Array, Buffer
from slinky.runtime.calling import call_callback


@remembered
def stage_carrier(operation: Accumulation) -> Callable[..., Any]:
    """The function that carries out a stage: called with its inputs, then its outputs, and its arguments."""
    match operation.stage:
        case Stage.INIT:
            return _init(operation)
        case Stage.UPDATE:
            return _update_of_parts(operation) if operation.parts else _update(operation)
        case Stage.KEEP:
            return _keep
        case Stage.MERGE:
            return _merge(operation)
        case Stage.FINISH:
            return _finish(operation)
        case _:
            assert_never(operation.stage)


def _init(operation: Accumulation) -> Callable[..., Any]:
    function, name = operation.reduction.init, operation.func

    leading = 2 if operation.parts else 1

    def init(*states: Array, **arguments: Any) -> None:
        for place in np.ndindex(states[0].shape[:leading]):
            call_callback(function, name, (), [state[(*place, ...)] for state in states], arguments)

    return init


def _update(operation: Accumulation) -> Callable[..., Any]:
    function, name, count = operation.reduction.update, operation.func, len(operation.reduction.states)
    with_start, over, axes = operation.reduction.positions, operation.reduction.over, operation.axes

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
            given = inputs if pieces == 1 else _pieces_of(inputs, axes, piece, piece_extent)
            before, after = [state[piece, ...] for state in old], [state[piece, ...] for state in new]
            if _has_elements(over, given):
                call_callback(function, name, [*before, *given], after, arguments)
            else:
                _change_nothing(before, after)

    return update


def _has_elements(over: Iterable[tuple[str, Sequence[int | None]]], given: Sequence[Array]) -> bool:
    """Whether a piece has elements along all reduced dimensions."""
    return all(given[k].shape[axis] for _, axes in over for k, axis in enumerate(axes) if axis is not None)


def _change_nothing(before: Iterable[Array], after: Iterable[Array]) -> None:
    """Of no elements, along another dimension, it is known what they change."""
    for was, state in zip(before, after, strict=True):
        state[...] = was


def _update_of_parts(operation: Accumulation) -> Callable[..., Any]:
    """Of parts, each of which begins at 0: one after the other, and the pieces of each."""
    function, name, count = operation.reduction.update, operation.func, len(operation.reduction.states)
    with_start, over, axes = operation.reduction.positions, operation.reduction.over, operation.axes

    def update(*operands: Buffer, piece_extent: int, part_pieces: int, each: int = 1, **arguments: Any) -> None:
        first, (parts, pieces) = operands[-1].min[1], operands[-1].array.shape[:2]
        arrays = [operand.array for operand in operands]
        old, inputs, new = arrays[:count], arrays[count:-count], arrays[-count:]
        for part, piece in np.ndindex(parts, pieces):
            if with_start:
                arguments["start"] = (first + piece) * piece_extent * each
            is_alone = parts == pieces == 1
            at = part * part_pieces + piece
            given = inputs if is_alone else _pieces_of(inputs, axes, at, piece_extent)
            before, after = [state[part, piece, ...] for state in old], [state[part, piece, ...] for state in new]
            if _has_elements(over, given):
                call_callback(function, name, [*before, *given], after, arguments)
            else:
                _change_nothing(before, after)

    return update


def _keep(*operands: Buffer, part_pieces: int, extent: int, **_arguments: Any) -> None:
    """The states of parts, as they are after the last piece of each; there are `extent` pieces in all."""
    count = len(operands) // 2
    for state, kept in zip(operands[:count], operands[count:], strict=True):
        for place in range(len(kept.array)):
            last = min(part_pieces, extent - part_pieces * (kept.min[0] + place)) - 1
            kept.array[place, ...] = state.array[place, last - state.min[1], ...]


def _merge(operation: Accumulation) -> Callable[..., Any]:
    function, name, count = operation.reduction.merge, operation.func, len(operation.reduction.states)
    assert function is not None
    with_counts = operation.reduction.positions

    def merge(*operands: Any, piece_extent: int = 0, extent: int = 0, each: int = 1, **arguments: Any) -> None:
        first = operands[-1].min[0] if with_counts else 0
        arrays = [operand.array for operand in operands] if with_counts else operands
        for part in range(len(arrays[0])):
            if with_counts:
                before = (first + part) * piece_extent
                arguments.update(before=before * each, more=min(piece_extent, extent - before) * each)
            given = [array[part, ...] for array in arrays]
            if with_counts and not arguments["more"]:
                _change_nothing(given[:count], given[2 * count :])
            else:
                call_callback(function, name, given[: 2 * count], given[2 * count :], arguments)

    return merge


def _pieces_of(inputs: Iterable[Array], axes: Iterable[int | None], piece: int, extent: int) -> list[Array]:
    """Of what a call over several pieces reads, what one of them does."""
    own = slice(piece * extent, (piece + 1) * extent)
    return [a if axis is None else a[(*(slice(None),) * axis, own)] for a, axis in zip(inputs, axes, strict=True)]


def _finish(operation: Accumulation) -> Callable[..., Any]:
    function, name, count = operation.reduction.finish, operation.func, len(operation.reduction.states)

    def finish(*operands: Array, **arguments: Any) -> None:
        call_callback(function, name, [state[0, ...] for state in operands[:count]], operands[count:], arguments)

    return finish
