"""Correlations by other means than SciPy's: along an axis, of strips that are thin along it, and as arithmetic.

SciPy computes as many elements as it is given, those of the halo included: of a strip of 16 rows, with 8 more on both
sides, half of the work is cut off. Here the same sums are taken by NumPy, of what is asked for alone, row by row; and
where loops in C are made of what slinky understands, they are a term of the elements in a window.

Invariant: the operations on an element are SciPy's, in float64, in SciPy's order. Whether they give SciPy's bits is
tried once in a process: a compiler may have fused a product and a sum in one of the two. If not, SciPy does it all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import attrs
import numpy as np

from slinky.frontend.ndimage.efforts import effort_of_each

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

LONGEST = 256
"""Of more rows than that, the halo is a small part, or work outgrows the cache."""

EACH, OF_A_WEIGHT = 40, 26
"""How long an element of the result takes here, and what each weight adds to that, told as efforts are."""

SMALLEST = 1 << 12
"""Of fewer elements than that, NumPy's calls take longer than their work."""

MOST_TERMS = 64
"""Windows of more elements are left to SciPy, and not written down as terms."""

BLOCK = 1 << 14
"""Elements that are summed at once: they stay in the cache while all weights are applied."""


@attrs.frozen
class Weights:
    """The weights of a correlation, and whether those at both sides of the middle are the same, or opposite."""

    each: tuple[float, ...]
    sides: int

    @property
    def before(self) -> int:
        """How many there are before the middle."""
        return len(self.each) // 2


def weights_of(given: Array) -> Weights:
    """Weights as SciPy looks at them."""
    each = tuple(map(float, given))
    middle = len(each) // 2
    sides = 0
    if len(each) % 2:
        pairs = [(each[middle + k], each[middle - k]) for k in range(1, middle + 1)]
        near = float(np.finfo(np.float64).eps)
        if all(abs(late - early) <= near for late, early in pairs):
            sides = 1
        elif all(abs(late + early) <= near for late, early in pairs):
            sides = -1
    return Weights(each, sides)


def is_thin(piece: Array, axis: int, size: int, dtype: np.dtype[Any]) -> bool:
    """Whether a strip is one for which this is made: so thin that SciPy takes longer for it and its halo, not small,
    along another axis than the last, in floats."""
    made = piece.shape[axis] - size + 1
    by_scipy = effort_of_each("correlate1d", size)
    return (
        axis < piece.ndim - 1
        and piece.size >= SMALLEST
        and 0 < made <= LONGEST
        and dtype in (np.float32, np.float64)
        and piece.dtype.kind in "biuf"
        and piece.dtype.itemsize <= 8
        and by_scipy is not None
        and made * (EACH + OF_A_WEIGHT * size) < piece.shape[axis] * by_scipy
    )


def correlated(piece: Array, weights: Weights, axis: int, dtype: np.dtype[Any]) -> Array:
    """The correlation of all windows that are inside."""
    lines = np.moveaxis(piece, axis, 0)
    made = lines.shape[0] - len(weights.each) + 1
    found = np.empty((made, *lines.shape[1:]), dtype)
    across = max(BLOCK // max(made * int(np.prod(lines.shape[2:])), 1), 1)
    with np.errstate(all="ignore"):  # SciPy says nothing either
        for start in range(0, lines.shape[1], across):
            block = lines[:, start : start + across].astype(np.float64)
            found[:, start : start + across] = _summed(block, weights, made)
    return np.moveaxis(found, 0, axis)


def _summed(block: Array, weights: Weights, made: int) -> Array:
    """The sums of a block, in SciPy's order: the middle (or the last) first, then from the first weight on."""
    each, middle = weights.each, weights.before
    first = middle if weights.sides else len(each) - 1
    total: Array = block[first : first + made] * each[first]
    term = np.empty_like(total)
    for k in range(first):
        if weights.sides:
            mirrored = 2 * middle - k
            combine = np.add if weights.sides > 0 else np.subtract
            combine(block[k : k + made], block[mirrored : mirrored + made], out=term)
            np.multiply(term, each[k], out=term)
        else:
            np.multiply(block[k : k + made], each[k], out=term)
        np.add(total, term, out=total)
    return total


def place_along(axis: int, k: int, rank: int) -> tuple[int, ...]:
    """The place in a window along an axis at which the element of this number is."""
    return tuple([k if d == axis else 0 for d in range(rank)])


def summed(at: Callable[[int], Any], weights: Weights, dtype: np.dtype[Any]) -> Any:
    """The same sum as a term, of float64: `at(k)` is what the weight of this number is for, an element of a dtype.

    Of two small integers with the same weight, the sum is one, so that C converts half as many.
    """
    each, middle = [np.float64(weight) for weight in weights.each], weights.before
    first = middle if weights.sides else len(each) - 1
    of = np.int32 if dtype.kind in "iu" and dtype.itemsize <= 2 else np.float64
    total = at(first).astype(np.float64) * each[first]
    for k in range(first):
        if not weights.sides:
            term = at(k)
        elif weights.sides > 0:
            term = at(k).astype(of) + at(2 * middle - k).astype(of)
        else:
            term = at(k).astype(of) - at(2 * middle - k).astype(of)
        total = total + term.astype(np.float64) * each[k]
    return total


def summed_in_window(at: Callable[[tuple[int, ...]], Any], weights: Mapping[tuple[int, ...], np.float64]) -> Any:
    """The sum in a window along several axes, in SciPy's order: that of the places in it, from 0.0 on."""
    total: Any = np.float64(0.0)
    for place, weight in weights.items():
        total = total + at(place) * weight
    return total


def weights_in_window(weights: Array) -> dict[tuple[int, ...], np.float64]:
    """The weights that SciPy multiplies with, by their places: others are nothing to it."""
    near = np.finfo(np.float64).eps
    return {place: np.float64(weight) for place, weight in np.ndenumerate(weights) if abs(float(weight)) > near}


def may_be_summed_in_window(
    weights: Mapping[tuple[int, ...], np.float64], given: np.dtype[Any], dtype: np.dtype[Any]
) -> bool:
    """Whether such a sum as a term, of elements of one dtype, is what SciPy gives as another one, of floats."""
    is_known = is_known_in_c(given) and dtype in (np.float32, np.float64)
    return is_known and 0 < len(weights) <= MOST_TERMS and gives_the_same_in_windows()


def is_known_in_c(given: np.dtype[Any]) -> bool:
    """Whether loops in C know of a dtype."""
    return given.kind in "biuf" and given.itemsize <= 8 and given != np.float16


def may_be_summed(weights: Weights, given: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Whether a sum as a term, of elements of one dtype, is what SciPy gives as another one.

    Of integers, what is beyond those of the dtype is cut off, where it is one of 32 bits before.
    """
    if len(weights.each) > MOST_TERMS or not is_known_in_c(given):
        return False
    if dtype in (np.float32, np.float64):
        return gives_the_same()
    if dtype.kind not in "iu" or dtype.itemsize > 2 or given.kind == "f" or given.itemsize > 2:
        return False
    return sum(map(abs, weights.each)) < _MOST_WEIGHT and gives_the_same() and cuts_off_the_same(dtype)


def may_be_averaged(size: int, given: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Whether a mean of integers as a term is what SciPy gives as another dtype."""
    if not 0 < size <= MOST_TERMS or given.kind not in "iu" or given.itemsize > 4:
        return False
    if dtype not in (np.float32, np.float64) and (dtype.kind not in "iu" or max(dtype.itemsize, given.itemsize) > 2):
        return False
    return averages_the_same(dtype)


_MOST_WEIGHT = 1 << 14
"""What integers of 16 bits are multiplied with at most, so that sums are integers of 32 bits."""


@functools.cache
def gives_the_same() -> bool:
    """Whether this gives what SciPy gives, to the last bit, on this machine."""
    from slinky.frontend.ndimage.steps import scipy_ndimage

    correlate1d = scipy_ndimage().correlate1d
    random = np.random.default_rng(0)
    piece = random.normal(size=(24, 97))
    half = random.normal(size=4)
    for own in ([*half, 0.7, *half[::-1]], [*half, 0.0, *-half[::-1]], random.normal(size=9), random.normal(size=6)):
        given = np.asarray(own)
        for dtype in map(np.dtype, (np.float32, np.float64)):
            whole = correlate1d(piece, given, 0, dtype, "nearest")
            before, after = len(given) // 2, len(given) - len(given) // 2 - 1
            if correlated(piece, weights_of(given), 0, dtype).tobytes() != whole[before : 24 - after].tobytes():
                return False
    return True


@functools.cache
def gives_the_same_in_windows() -> bool:
    """The same of sums along several axes at once."""
    from slinky.frontend.ndimage.steps import scipy_ndimage

    random = np.random.default_rng(0)
    piece = random.normal(size=(20, 30))
    piece[3:5, 7] = -0.0, 0.0
    for shape in ((3, 3), (2, 4), (1, 5)):
        own = random.normal(size=shape)
        own[0, 1] = 0.0
        for dtype in map(np.dtype, (np.float32, np.float64)):
            whole = scipy_ndimage().correlate(piece, own, dtype, "nearest")
            rows, columns = (slice(n // 2, size - (n - n // 2 - 1)) for n, size in zip(shape, piece.shape, strict=True))
            made = tuple(size - n + 1 for n, size in zip(shape, piece.shape, strict=True))

            def at(place: tuple[int, ...], made: tuple[int, ...] = made) -> Array:
                return piece[tuple(slice(first, first + n) for first, n in zip(place, made, strict=True))]

            found = summed_in_window(at, weights_in_window(own)).astype(dtype)
            if found.tobytes() != whole[rows, columns].tobytes():
                return False
    return True


@functools.cache
def cuts_off_the_same(dtype: np.dtype[Any]) -> bool:
    """Whether NumPy makes of sums the integers that SciPy makes of them, on this machine, of those that are negative,
    or too large, too."""
    from slinky.frontend.ndimage.steps import scipy_ndimage

    limits = np.iinfo(dtype)
    piece = np.random.default_rng(0).integers(limits.min, limits.max, (24, 97), dtype, endpoint=True)
    for own in ([0.25, 0.5, 0.25], [1.0, 0.0, -1.0], [2.0, 3.0, 2.0], [-300.0, 17.0, 11.5, 0.25]):
        weights = weights_of(np.asarray(own))
        whole = scipy_ndimage().correlate1d(piece, own, 0, dtype, "nearest")
        before, after = len(own) // 2, len(own) - len(own) // 2 - 1
        with np.errstate(all="ignore"):
            sums = _summed(piece.astype(np.float64), weights, 24 - before - after).astype(dtype)
        if sums.tobytes() != whole[before : 24 - after].tobytes():
            return False
    return True


@functools.cache
def averages_the_same(dtype: np.dtype[Any]) -> bool:
    """Whether SciPy's means of integers are their exact sums, divided, on this machine, and as a dtype what NumPy
    makes of them, of those that are negative, or too large, too."""
    from slinky.frontend.ndimage.steps import scipy_ndimage

    piece = np.random.default_rng(0).integers(-(1 << 15), 1 << 15, (3, 500)).astype(np.int16)
    for size in (2, 3, 7):
        whole = scipy_ndimage().uniform_filter1d(piece, size, 1, dtype, "nearest")
        before, made = size // 2, piece.shape[1] - size + 1
        total = functools.reduce(np.add, (piece[:, k : k + made].astype(np.float64) for k in range(size)))
        with np.errstate(all="ignore"):
            means = (total / size).astype(dtype)
        if means.tobytes() != np.ascontiguousarray(whole[:, before : before + made]).tobytes():
            return False
    return True
