"""Assignments to arrays that lie in memory in another order than what is assigned, block by block.

Idea. Where neighbours of one array are far apart in the other, NumPy goes along the lines of one of them, and touches a
line of the cache for each element of the other; of a large array that line is gone before its next element is asked
for. So the lines that are written are cut: as many elements of each as the cache holds lines of what is read.

Invariant: the elements are those of one assignment. What shares memory is assigned at once, as NumPy looks after that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

BLOCK = 64
"""How many elements of a line are written at a time."""

LEAST_BYTES = 1 << 17
"""Less is near in any order."""

SHORTEST = 4 * BLOCK
"""Shorter lines are as many lines of the other array, which are near together."""


def assign(target: Array, source: Array) -> None:
    """Assign the elements of an array to those of another one of its shape, to which it may have to be stretched."""
    axis = _cut_axis(target, source) if target.nbytes >= LEAST_BYTES else None
    if axis is None:
        target[...] = source
        return
    cut: list[Any] = [slice(None)] * target.ndim
    for start in range(0, target.shape[axis], BLOCK):
        cut[axis] = slice(start, start + BLOCK)
        block = tuple(cut)
        target[block] = source[block]


def _cut_axis(target: Array, source: Array) -> int | None:
    """The axis along which the target has its neighbours, if the source has them along another one."""
    if target.shape != source.shape:
        return None
    axis, other = _axis_of_neighbours(target), _axis_of_neighbours(source)
    if axis is None or other is None or axis == other or target.shape[axis] < SHORTEST:
        return None
    return None if np.may_share_memory(target, source) else axis


def _axis_of_neighbours(array: Array) -> int | None:
    """The axis with the shortest steps, of those that have any."""
    steps = [(abs(step), axis) for axis, step in enumerate(array.strides) if step and array.shape[axis] > 1]
    return min(steps)[1] if steps else None
