"""Filters by order: extrema, medians and ranks."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from slinky.frontend.fixed import Fixed, fixed
from slinky.frontend.kernels import Understood, rank_of
from slinky.frontend.ndimage.efforts import effort_of_each
from slinky.frontend.ndimage.linear import flipped_origin
from slinky.frontend.ndimage.lines import MOST_TERMS, place_along
from slinky.frontend.ndimage.steps import (
    Array,
    NotByPiecesError,
    Output,
    Step,
    all_axes,
    applied,
    axis_name,
    copied,
    each_of,
    in_rank,
    local_filter,
    on_axis,
    origins_in_rank,
    scipy_ndimage,
    step,
    window,
)
from slinky.graph.boundaries import RULES

# ----------------------------------------------------------------------------------------------------------------
# Extrema
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Extreme1d(Understood):
    """An extremum along lines. Of a window with a NaN it is NaN: SciPy's depends on where the line began."""

    name: str
    dtype: np.dtype[Any]
    size: int
    axis: int
    origin: int

    def __call__(self, piece: Array) -> Any:
        if piece.dtype.kind == "f" and np.isnan(piece.min()):
            return self._with_nans(piece)
        return self._of(piece, self.name, self.dtype)

    @property
    def effort_of_each(self) -> float | None:
        """How long it computes each element of a piece."""
        return effort_of_each(self.name, self.size)

    @property
    def axis_of_lines(self) -> int | None:
        """The axis along which it goes."""
        return self.axis

    def term(self, at: Callable[[tuple[int, ...]], Any], rank: int, dtype: np.dtype[Any]) -> Any:
        """The same as arithmetic; None where it may not be what SciPy gives: of integers that float64, in which SciPy
        compares, does not hold, and of floats, if zeros of one sign are taken for those of the other."""
        is_known = dtype in (np.float32, np.float64) or (dtype.kind in "iu" and dtype.itemsize <= 4)
        if dtype != self.dtype or not is_known or not 0 < self.size <= MOST_TERMS:
            return None
        if dtype.kind == "f" and not _takes_the_same_zeros():
            return None
        elements = (at(place_along(self.axis, k, rank)) for k in range(self.size))
        return functools.reduce(_EXTREMES[self.name], elements)

    def _of(self, piece: Array, name: str, dtype: np.dtype[Any]) -> Any:
        function = getattr(scipy_ndimage(), name)
        return function(piece, self.size, self.axis, dtype, "nearest", 0.0, self.origin)

    def _with_nans(self, piece: Array) -> Any:
        is_nan = np.isnan(piece)
        never = np.inf if self.name == "minimum_filter1d" else -np.inf
        with np.errstate(invalid="ignore"):
            found = self._of(np.where(is_nan, piece.dtype.type(never), piece), self.name, self.dtype)
            found[self._of(is_nan, "maximum_filter1d", np.dtype(bool))] = np.asarray(np.nan).astype(self.dtype)
        return found


_EXTREMES = {"minimum_filter1d": np.minimum, "maximum_filter1d": np.maximum}


@functools.cache
def _takes_the_same_zeros() -> bool:
    """Whether NumPy takes that of zeros of both signs which SciPy takes, on this machine: the last one."""
    values = np.random.default_rng(0).choice([0.0, -0.0, -1.0, 1.0], p=[0.35, 0.35, 0.2, 0.1], size=999)
    for name, ufunc in _EXTREMES.items():
        for dtype in (np.float32, np.float64):
            line = values.astype(dtype)
            found = functools.reduce(ufunc, (line[k : k + 996] for k in range(4)))
            if found.tobytes() != getattr(scipy_ndimage(), name)(line, 4)[2:998].tobytes():
                return False
    return True


@local_filter
def minimum_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The least element of a window along an axis, as `scipy.ndimage.minimum_filter1d` gives it."""
    return _extreme_1d(input, size, axis, output, mode, cval, origin, "minimum")


@local_filter
def maximum_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The largest element of a window along an axis, as `scipy.ndimage.maximum_filter1d` gives it."""
    return _extreme_1d(input, size, axis, output, mode, cval, origin, "maximum")


def _extreme_1d(image: Any, size: int, axis: int, output: Output, mode: str, cval: Any, origin: int, name: str) -> Any:
    rank = rank_of(image)
    return applied(
        image,
        _Extreme1d(f"{name}_filter1d", output.dtype, int(size), axis % rank, int(origin)),
        axis_name(name, axis % rank, rank),
        output,
        halo=on_axis(window(int(size), int(origin)), axis % rank, rank),
        modes=[mode] * rank,
        cval=cval,
    )


@local_filter
def minimum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The least element of a window, as `scipy.ndimage.minimum_filter` gives it: a func for each axis of a box."""
    return extreme(input, size, footprint, None, output, mode, cval, origin, "minimum", axes)


@local_filter
def maximum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The largest element of a window, as `scipy.ndimage.maximum_filter` gives it: a func for each axis of a box."""
    return extreme(input, size, footprint, None, output, mode, cval, origin, "maximum", axes)


@attrs.frozen
class _Extreme(Understood):
    """The extremum over a footprint, by SciPy."""

    by_scipy: Step
    footprint: Fixed
    is_least: bool

    def __call__(self, piece: Array) -> Any:
        return self.by_scipy(piece)

    @property
    def effort_of_each(self) -> float | None:
        """How long it computes each element of a piece."""
        return self.by_scipy.effort_of_each

    def term(self, at: Callable[[tuple[int, ...]], Any], rank: int, dtype: np.dtype[Any]) -> Any:
        """The same as arithmetic, in SciPy's order: the first of those that nothing is beyond, whatever NaNs there are.
        None where float64, in which SciPy compares, does not hold the elements, and of large footprints."""
        places = [tuple(map(int, place)) for place in np.argwhere(self.footprint.array)]
        is_held = dtype in (np.float32, np.float64) or (dtype.kind in "iu" and dtype.itemsize <= 4)
        if dtype != self.by_scipy.dtype or not is_held or not 0 < len(places) <= MOST_TERMS:
            return None
        is_beyond = np.less if self.is_least else np.greater
        return functools.reduce(lambda best, each: np.where(is_beyond(each, best), each, best), map(at, places))


def extreme(
    image: Any,
    size: Any,
    footprint: Any,
    structure: Any,
    output: Output,
    mode: Any,
    cval: Any,
    origin: Any,
    name: str,
    axes: Any,
) -> Any:
    """An extremum over a box, axis by axis, or over a footprint, with heights (`structure`) added or subtracted."""
    rank = rank_of(image)
    chosen = all_axes(axes, rank)
    if footprint is not None:
        footprint = np.array(footprint, bool)
    if structure is None and footprint is not None and footprint.all():
        size, footprint = footprint.shape, None
    if structure is None and footprint is None:
        count = len(chosen)
        given = zip(*(each_of(each, count) for each in (chosen, size, origin, mode)), strict=True)
        steps = [each for each in given if each[1] > 1]
        for n, (axis, own, start, rule) in enumerate(steps):
            where = output if n == len(steps) - 1 else output.between
            image = _extreme_1d(image, own, axis, where, rule, cval, start, name)
        return image if steps else copied(image, output)
    if footprint is None:
        footprint = np.ones(np.shape(structure), bool)
    footprint = in_rank(footprint, chosen, rank)
    heights = None if structure is None else in_rank(np.array(structure, np.float64), chosen, rank)
    origins = origins_in_rank(origin, chosen, rank)
    function: Any
    if heights is None:
        by_scipy = step(f"{name}_filter", output, footprint=fixed(footprint), origin=tuple(origins))
        function = _Extreme(by_scipy, fixed(footprint), name == "minimum")
    elif name == "minimum":
        own = fixed(heights)
        function = step("grey_erosion", output, footprint=fixed(footprint), structure=own, origin=tuple(origins))
    else:  # SciPy has this only for a structure that it turns around
        turned = fixed(np.flip(heights))
        back = tuple(map(flipped_origin, footprint.shape, origins))
        function = step("grey_dilation", output, footprint=fixed(np.flip(footprint)), structure=turned, origin=back)
    return applied(
        image,
        function,
        name,
        output,
        halo=tuple(map(window, footprint.shape, origins)),
        modes=[mode] * rank,
        cval=_outside(cval, image.dtype, mode),
    )


# ----------------------------------------------------------------------------------------------------------------
# Ranks
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Ranked(Understood):
    """The element of a rank in a window, by SciPy, or by a network in C that gives the same one."""

    rank: int
    footprint: Fixed
    dtype: np.dtype[Any]
    by_scipy: Callable[[Array], Any]

    def __call__(self, piece: Array) -> Any:
        return self.by_scipy(piece)

    @property
    def effort_of_each(self) -> float | None:
        """How long it computes each element of a piece."""
        return effort_of_each("rank_filter", int(np.count_nonzero(self.footprint.array)))

    def in_c(self, dtype: np.dtype[Any]) -> Any:
        """The function in C; None for dtypes and windows that it is not made for."""
        from slinky.native.selecting import has_function, rank_function  # when there is C at all

        inside = self.footprint.array
        count, lines = int(np.count_nonzero(inside)), int(np.count_nonzero(inside.any(axis=-1)))
        if dtype != self.dtype or not has_function(dtype, count, lines, inside.shape[-1]):
            return None
        if dtype.kind == "f" and not _selects_the_same():
            return None
        return rank_function(dtype, (inside.shape, inside.tobytes()), self.rank)


@functools.cache
def _selects_the_same() -> bool:
    """Whether SciPy finds the elements of a rank as C does, where there are NaNs, and zeros of both signs."""
    from slinky.native.selecting import selected

    values = np.random.default_rng(0).choice([0.0, -0.0, np.nan, -1.0, 1.0, np.inf], (40, 9))
    for rank in (1, 4, 7):
        found = scipy_ndimage().rank_filter(values, rank, footprint=np.ones((1, 9), bool))[:, 4]
        if found.tobytes() != np.array([selected(window, rank) for window in values.tolist()]).tobytes():
            return False
    return True


@attrs.frozen
class _RankAlongLine:
    """A rank along single lines. SciPy's function for these gives zeros of either sign, and what it makes of NaNs,
    according to what came before, and writes beyond outputs of another dtype than the array; that for arrays of more
    axes looks at the window alone, and converts."""

    rank: int
    footprint: Fixed
    origin: int
    dtype: np.dtype[Any]

    def __call__(self, piece: Array) -> Any:
        wide = piece.astype(np.float32) if piece.dtype == np.float16 else piece
        dtype = wide.dtype if self.dtype == np.float16 else self.dtype
        found = scipy_ndimage().rank_filter(
            wide[np.newaxis],
            self.rank,
            footprint=self.footprint.array[np.newaxis],
            output=dtype,
            mode="nearest",
            origin=(0, self.origin),
        )
        return found[0].astype(self.dtype, copy=False)


@local_filter
def rank_filter(
    input: Any,
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The element of a rank in a window, as `scipy.ndimage.rank_filter` gives it."""
    return _ranked(input, lambda count: rank, size, footprint, output, mode, cval, origin, axes, "rank")


@local_filter
def median_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The median of a window, as `scipy.ndimage.median_filter` gives it."""
    return _ranked(input, lambda count: count // 2, size, footprint, output, mode, cval, origin, axes, "median")


@local_filter
def percentile_filter(
    input: Any,
    percentile: float,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """A percentile of a window, as `scipy.ndimage.percentile_filter` gives it."""
    of = percentile + 100.0 if percentile < 0 else percentile

    def rank(count: int) -> int:
        return count - 1 if of == 100.0 else int(float(count) * of / 100.0)

    return _ranked(input, rank, size, footprint, output, mode, cval, origin, axes, "percentile")


def _ranked(
    image: Any,
    rank_among: Any,
    size: Any,
    footprint: Any,
    output: Output,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
    name: str,
) -> Any:
    rank = rank_of(image)
    chosen = all_axes(axes, rank)
    own = np.ones(each_of(size, len(chosen)), bool) if footprint is None else np.array(footprint, bool)
    own = in_rank(own, chosen, rank)
    origins = origins_in_rank(origin, chosen, rank)
    if not isinstance(mode, str):
        modes = dict(zip(chosen, each_of(mode, len(chosen)), strict=True))
        mode = [modes.get(d, "constant") for d in range(rank)]
    count = int(own.sum())
    of = int(rank_among(count))
    of += count if of < 0 else 0
    if of in (0, count - 1):
        which = "minimum" if of == 0 else "maximum"
        return extreme(image, None, own, None, output, mode, cval, origins, which, None)
    function: Any = step("rank_filter", output, rank=of, footprint=fixed(own), origin=tuple(origins))
    if rank == 1 and (image.dtype.kind == "f" or image.dtype != output.dtype):
        function = _RankAlongLine(of, fixed(own), origins[0], output.dtype)
    return applied(
        image,
        _Ranked(of, fixed(own), output.dtype, function),
        name,
        output,
        halo=tuple(map(window, own.shape, origins)),
        modes=[mode] * rank,
        cval=_outside(cval, image.dtype, mode),
    )


def _outside(cval: Any, dtype: np.dtype[Any], mode: str) -> Any:
    """What is outside, as SciPy converts it for footprints: to the dtype of the array, towards 0.

    Raises `NotByPiecesError` where that is beyond the range of the dtype: there C leaves open what it is.
    """
    if RULES[mode] is not None:
        return 0
    if dtype.kind == "f":
        return dtype.type(cval)
    number = math.trunc(float(cval)) if np.isfinite(cval) else None  # float64 holds it in SciPy
    lo, hi = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if number is None or not lo <= number <= hi:
        raise NotByPiecesError(f"the array is {dtype}, which does not hold cval={cval!r}")
    return dtype.type(number)


__all__ = [
    "maximum_filter",
    "maximum_filter1d",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "percentile_filter",
    "rank_filter",
]
