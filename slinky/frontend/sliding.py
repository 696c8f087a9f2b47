"""Handlers of functions of neighbours along an axis: differences, gradients, convolutions.

Invariant: each is what NumPy computes, operation by operation, so that the bits are the same; but sums of products of
floats, which NumPy adds in another order near the ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from slinky.frontend.arrays import LazyArray, Value
from slinky.frontend.calling import cast, lifted, pointwise
from slinky.frontend.contracting import contracted
from slinky.frontend.filtering import filtered
from slinky.frontend.fixed import Fixed, fixed
from slinky.frontend.functions import ELEMENTS, dtype_of
from slinky.frontend.given import as_lazy, axes_of, axis_of, trace_of
from slinky.frontend.kernels import Kernel
from slinky.frontend.rearranging import broadcasted, concatenate, pad, sliding_window_view
from slinky.frontend.sizes import known, same
from slinky.frontend.tables import EXACT, TOLERANCE, NotUnderstoodError, understood
from slinky.ir.reducing import ChangedResultError

WINDOWS = "by windows"


@understood(np.diff, how=ELEMENTS)
def diff(a: Value, n: int = 1, axis: int = -1, prepend: Value = np._NoValue, append: Value = np._NoValue) -> LazyArray:
    """Differences of neighbours."""
    array = as_lazy(a)
    if not array._shape or n < 0:
        raise NotUnderstoodError("no axes")  # NumPy says so
    if n == 0:
        return array
    d = axis_of(axis, len(array._shape))
    ends = [_end(each, array, d) for each in (prepend, append)]
    if any(end is not None for end in ends):
        array = concatenate([each for each in (ends[0], array, ends[1]) if each is not None], d)
    before = (slice(None),) * d
    function = np.not_equal if array.dtype == np.bool_ else np.subtract
    for _ in range(n):
        array = function(array[(*before, slice(1, None))], array[(*before, slice(None, -1))])
    return array


def _end(given: Value, array: LazyArray, d: int) -> LazyArray | None:
    """What stands before or behind an array: a number stands for one element everywhere."""
    if given is np._NoValue:
        return None
    end = lifted(given, array._trace)
    if end._shape:
        return end
    return broadcasted(end, tuple(1 if k == d else n for k, n in enumerate(array._shape)))


# ----------------------------------------------------------------------------------------------------------------
# Gradients
# ----------------------------------------------------------------------------------------------------------------


@understood(np.gradient, how=ELEMENTS)
def gradient(f: Value, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences, one-sided ones at the ends, with spacings, or places, that are known."""
    array = as_lazy(f)
    rank = len(array._shape)
    axes = axes_of(axis, rank) if not isinstance(axis, tuple) else tuple(a % rank for a in axis if -rank <= a < rank)
    if array.dtype.kind not in "iufc" or not rank or edge_order not in (1, 2) or len(set(axes)) != len(axes):
        raise NotUnderstoodError("bools")  # NumPy says what is wrong
    if isinstance(axis, tuple) and len(axes) != len(axis):
        raise NotUnderstoodError("axes")
    spacings = [1.0] * len(axes) if not varargs else list(varargs) * (len(axes) if len(varargs) == 1 else 1)
    if len(spacings) != len(axes) or (len(varargs) == 1 and np.ndim(varargs[0]) != 0 and len(axes) > 1):
        raise NotUnderstoodError("spacings")
    dtype = array.dtype if array.dtype.kind in "fc" else np.dtype(np.float64)
    values = array if array.dtype.kind in "fc" else cast(array, dtype)
    found = []
    for d, given in zip(axes, spacings, strict=True):
        if not array._shape[d] >= edge_order + 1:
            raise NotUnderstoodError("too few elements")
        slopes = _Slopes(values, d, _steps(given, array, d))
        made = slopes.all_of(edge_order)
        found.append(made if made.dtype == dtype else cast(made, dtype))
    return found[0] if len(axes) == 1 else tuple(found)


def _steps(given: Any, array: LazyArray, d: int) -> Any:
    """The distance of neighbours along an axis: one number, or as many as there are pairs."""
    if type(given) is LazyArray or not (np.isscalar(given) or isinstance(given, (np.ndarray, list, tuple))):
        raise NotUnderstoodError("spacings")  # of places that are not known, NumPy asks whether they are regular
    places = np.asarray(given)
    if places.dtype.kind not in "iuf" or places.ndim > 1:
        raise NotUnderstoodError("spacings")
    if places.ndim == 0:
        return given
    if not same(len(places), array._shape[d]) or len(places) < 2:
        raise NotUnderstoodError("spacings")
    steps = np.diff(places.astype(np.float64) if places.dtype.kind in "iu" else places)
    return steps[0] if (steps == steps[0]).all() else steps


@attrs.frozen(eq=False)
class _Slopes:
    """The differences of an array along an axis, whose elements are so far from each other."""

    array: LazyArray
    axis: int
    steps: Any

    def _part(self, *ends: Any) -> Any:
        return self.array[(*(slice(None),) * self.axis, slice(*ends))]

    @property
    def _is_even(self) -> bool:
        return np.ndim(self.steps) == 0

    def all_of(self, edge_order: int) -> LazyArray:
        """Those of all elements."""
        edges = self._edges() if edge_order == 1 else self._smooth_edges()
        if same(self.array._shape[self.axis], 2):
            return concatenate(edges, self.axis)
        return concatenate([edges[0], self._inside(), edges[1]], self.axis)

    def _inside(self) -> LazyArray:
        if self._is_even:
            return (self._part(2, None) - self._part(None, -2)) / (2.0 * self.steps)  # type: ignore[no-any-return]
        dx1, dx2 = self.steps[:-1], self.steps[1:]
        weights = (-dx2 / (dx1 * (dx1 + dx2)), (dx2 - dx1) / (dx1 * dx2), dx1 / (dx2 * (dx1 + dx2)))
        return self._weighted(weights, ((None, -2), (1, -1), (2, None)))

    def _weighted(self, weights: tuple[Any, ...], parts: tuple[tuple[Any, Any], ...]) -> LazyArray:
        shape = [-1 if d == self.axis else 1 for d in range(len(self.array._shape))]
        a, b, c = (np.reshape(w, shape) if np.ndim(w) else w for w in weights)
        first, second, third = (self._part(*ends) for ends in parts)
        return a * first + b * second + c * third  # type: ignore[no-any-return]

    def _edges(self) -> list[LazyArray]:
        first, last = (self.steps, self.steps) if self._is_even else (self.steps[0], self.steps[-1])
        return [
            (self._part(1, 2) - self._part(0, 1)) / first,
            (self._part(-1, None) - self._part(-2, -1)) / last,
        ]

    def _smooth_edges(self) -> list[LazyArray]:
        if self._is_even:
            first: tuple[Any, ...] = (-1.5 / self.steps, 2.0 / self.steps, -0.5 / self.steps)
            last: tuple[Any, ...] = (0.5 / self.steps, -2.0 / self.steps, 1.5 / self.steps)
        else:
            dx1, dx2 = self.steps[0], self.steps[1]
            first = (-(2.0 * dx1 + dx2) / (dx1 * (dx1 + dx2)), (dx1 + dx2) / (dx1 * dx2), -dx1 / (dx2 * (dx1 + dx2)))
            dx1, dx2 = self.steps[-2], self.steps[-1]
            last = (dx2 / (dx1 * (dx1 + dx2)), -(dx2 + dx1) / (dx1 * dx2), (2.0 * dx2 + dx1) / (dx2 * (dx1 + dx2)))
        return [
            self._weighted(first, ((0, 1), (1, 2), (2, 3))),
            self._weighted(last, ((-3, -2), (-2, -1), (-1, None))),
        ]


# ----------------------------------------------------------------------------------------------------------------
# Sums of products in windows
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Windows:
    """`np.convolve` or `np.correlate` of all windows that are inside."""

    function: Callable[..., Any]
    weights: Fixed

    def __call__(self, piece: Any) -> Any:
        return self.function(piece, self.weights.array, "valid")


def _summed(function: Callable[..., Any], a: Value, v: Value, mode: Any) -> LazyArray:
    if type(v) is LazyArray:
        return _summed_as_told(function, a, v, mode)
    array = as_lazy(a)
    if np.ndim(v) != 1 or len(array._shape) != 1:
        raise NotUnderstoodError("several axes")
    weights = fixed(v)
    count = len(weights.array)
    if weights.array.dtype.kind not in "biufc" or not count or not array._shape[0] >= count:
        raise NotUnderstoodError("more weights than elements")
    dtype = dtype_of(_Windows(function, fixed(weights.array[:1])), [(1, array.dtype)], {})
    if dtype.kind in "fc" and not np.isfinite(weights.array).all():
        raise NotUnderstoodError("weights that are not finite")
    padded, exactness = _padded(array, count, mode, dtype)
    kernel = Kernel(_Windows(function, weights), function.__name__, halo=((0, count - 1),), dtype=dtype)
    return filtered(kernel, (padded,), {}, exactness=exactness)


def _padded(array: LazyArray, count: int, mode: Any, dtype: np.dtype[Any]) -> tuple[LazyArray, str]:
    """An array with the zeros around it that windows of so many elements reach, and how exact their sums are."""
    if mode not in ("full", "same", "valid"):
        raise NotUnderstoodError("modes")
    before, after = {"full": (count - 1,) * 2, "same": (count // 2, count - count // 2 - 1), "valid": (0, 0)}[mode]
    exactness = EXACT if dtype.kind in "biu" else TOLERANCE
    if exactness not in array._trace.by_pieces:
        raise NotUnderstoodError("floats, which are added in another order near the ends")
    return pad(array, ((before, after),)) if before or after else array, exactness


@attrs.frozen
class _Sliding:
    """The same, of windows that are seen in a piece, and of weights that are told."""

    function: Callable[..., Any]

    def __call__(self, seen: Any, weights: Any) -> Any:
        piece = np.concatenate([seen[:, 0], seen[-1, 1:]])
        return self.function(piece, weights, "valid")


def _finite(weights: Any) -> Any:
    """Weights that give zero, times zero: beyond the ends of an array NumPy adds nothing."""
    if not np.isfinite(weights).all():
        raise ChangedResultError("weights that are not finite")
    return weights


def _summed_as_told(function: Callable[..., Any], a: Value, v: LazyArray, mode: Any) -> LazyArray:
    """Sums with weights that are computed: of windows of so many elements."""
    trace = trace_of((a, v))
    array, weights = lifted(a, trace), v
    if len(array._shape) != 1 or len(weights._shape) != 1 or not array._shape[0] >= weights._shape[0]:
        raise NotUnderstoodError("more weights than elements")
    count = known(weights._shape[0])
    dtype = dtype_of(function, [(1, array.dtype), (1, weights.dtype)], {})
    padded, exactness = _padded(array, count, mode, dtype)
    if mode != "valid" and weights.dtype.kind in "fc":
        if trace.is_free or trace.donated:
            raise NotUnderstoodError("weights that may not be finite")  # to be called as it is
        weights = pointwise(_finite, (weights,), name="weights", scalars=False)
    seen = sliding_window_view(padded, count)
    shape = seen._shape[:1]
    return contracted(
        function.__name__, _Sliding(function), [seen, weights], [[0, None], [None]], shape, dtype, exactness=exactness
    )


@understood(np.convolve, how=WINDOWS, exactness=TOLERANCE)
def convolve(a: Value, v: Value, mode: str = "full") -> LazyArray:
    """The convolution with weights: those are the shorter ones, whichever comes first."""
    extents = [array._shape if type(array) is LazyArray else np.shape(array) for array in (a, v)]
    if all(len(own) == 1 for own in extents) and extents[1][0] > extents[0][0]:
        a, v = v, a
    return _summed(np.convolve, a, v, mode)


@understood(np.correlate, how=WINDOWS, exactness=TOLERANCE)
def correlate(a: Value, v: Value, mode: str = "valid") -> LazyArray:
    """The correlation with weights."""
    return _summed(np.correlate, a, v, mode)
