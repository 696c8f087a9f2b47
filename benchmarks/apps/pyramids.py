"""What applications with pyramids share: half as many rows and columns, and twice as many, at any place.

Levels begin at 0, and are extended by their nearest elements. One of n rows is followed by one of (n + 1) // 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import slinky as sl
from benchmarks.harness import Array

Taps = tuple[Mapping[int, np.float32], Mapping[int, np.float32]]
"""What an even element 2k and an odd one 2k + 1 take of k - 1, k and k + 1."""


def halved(source: Array, target: Array, weights: Sequence[np.float32], axis: int) -> None:
    """Weighted sums around every second element, along the columns and then along the rows, which are `axis`."""
    height, width = target.shape[0], target.shape[axis]
    rows = source[: 2 * height - 1 : 2] * weights[0]
    for k, weight in enumerate(weights[1:], start=1):
        rows += source[k : k + 2 * height - 1 : 2] * weight
    along = np.moveaxis(rows, axis, 0)
    result = np.moveaxis(target, axis, 0)
    np.multiply(along[: 2 * width - 1 : 2], weights[0], out=result)
    for k, weight in enumerate(weights[1:], start=1):
        result += along[k : k + 2 * width - 1 : 2] * weight


def doubled(coarse: sl.Buffer, fine: sl.Buffer, taps: Taps, axis: int) -> Array:
    """Twice as many rows and columns (these are `axis`), as many as the finer one has, from where it begins."""
    rows = _doubled(coarse.array, coarse.min[0], fine.min[0], fine.shape[0], taps)
    columns = np.moveaxis(rows, axis, 0)
    return np.moveaxis(_doubled(columns, coarse.min[axis], fine.min[axis], fine.shape[axis], taps), 0, axis)


def _doubled(coarse: Array, begin: int, first: int, extent: int, taps: Taps) -> Array:
    """Along the first dimension, in the memory order of what is given."""
    result = np.empty_like(coarse, shape=(extent, *coarse.shape[1:]))
    for odd in (0, 1):
        start = (odd - first) % 2
        part = result[start::2]
        middle = (first + start) // 2 - begin
        pieces = [(coarse[middle + k : middle + k + len(part)], weight) for k, weight in taps[odd].items()]
        np.multiply(*pieces[0], out=part)
        for piece, weight in pieces[1:]:
            part += piece * weight
    return result


def halved_as_written(level: Array, weights: Sequence[np.float32]) -> Array:
    """NumPy as people write it, on whole pictures."""
    height, width = ((n + 1) // 2 for n in level.shape[:2])
    padded = np.pad(level, [(1, 2), (1, 2), *((0, 0) for _ in level.shape[2:])], mode="edge")
    rows = sum(w * padded[k : k + 2 * height - 1 : 2] for k, w in enumerate(weights))
    return np.asarray(sum(w * rows[:, k : k + 2 * width - 1 : 2] for k, w in enumerate(weights)))


def doubled_as_written(coarse: Array, fine: Array, taps: Taps) -> Array:
    """NumPy as people write it: as many rows and columns as `fine` has."""
    padded = np.pad(coarse, [(1, 1), (1, 1), *((0, 0) for _ in coarse.shape[2:])], mode="edge")
    rows = np.empty((2 * len(coarse), *padded.shape[1:]), np.float32)
    for odd in (0, 1):
        rows[odd::2] = sum(w * padded[1 + k : 1 + k + len(coarse)] for k, w in taps[odd].items())
    width = coarse.shape[1]
    result = np.empty((len(rows), 2 * width, *coarse.shape[2:]), np.float32)
    for odd in (0, 1):
        result[:, odd::2] = sum(w * rows[:, 1 + k : 1 + k + width] for k, w in taps[odd].items())
    return result[: len(fine), : fine.shape[1]]
