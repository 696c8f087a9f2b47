"""Filters that are sums of products: correlations, Gaussians, means, and what is made of them."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.errors import GraphError, SlinkyError
from slinky.frontend.fixed import Fixed, fixed
from slinky.frontend.kernels import Kernel, Understood, rank_of
from slinky.frontend.ndimage.efforts import effort_of_each
from slinky.frontend.ndimage.lines import (
    Weights,
    correlated,
    gives_the_same,
    is_thin,
    may_be_averaged,
    may_be_summed,
    may_be_summed_in_window,
    place_along,
    summed,
    summed_in_window,
    weights_in_window,
    weights_of,
)
from slinky.frontend.ndimage.steps import (
    NEAREST,
    Array,
    Output,
    Step,
    all_axes,
    applied,
    axis_name,
    combined,
    copied,
    each_of,
    held,
    in_rank,
    is_filled,
    local_filter,
    of_lines,
    on_axis,
    origins_in_rank,
    run,
    scipy_ndimage,
    step,
    window,
)
from slinky.graph.buffers import BufferExpr

EXACT_INTEGERS = 4
"""Bytes of the largest integers whose sums, in float64, SciPy never rounds, whatever window fits into memory."""


# ----------------------------------------------------------------------------------------------------------------
# Correlations
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Correlation(Understood):
    """A correlation along an axis, by SciPy unless a strip is thin."""

    weights: Fixed
    axis: int
    origin: int
    dtype: np.dtype[Any]
    own: Weights = attrs.field(eq=False, repr=False)

    def __call__(self, piece: Array) -> Any:
        if is_thin(piece, self.axis, len(self.own.each), self.dtype) and gives_the_same():
            return correlated(piece, self.own, self.axis, self.dtype)
        return scipy_ndimage().correlate1d(piece, self.weights.array, self.axis, self.dtype, NEAREST, 0.0, self.origin)

    @property
    def effort_of_each(self) -> float | None:
        """How long it computes each element of a piece."""
        return effort_of_each("correlate1d", len(self.own.each))

    @property
    def axis_of_lines(self) -> int | None:
        """The axis along which it goes."""
        return self.axis

    def term(self, at: Callable[[tuple[int, ...]], Any], rank: int, dtype: np.dtype[Any]) -> Any:
        """The same as arithmetic, of elements of a dtype: `at` gives the one at a place in the window. None where that
        may not be what SciPy gives."""
        if not may_be_summed(self.own, dtype, self.dtype):
            return None

        def element(k: int) -> Any:
            return at(place_along(self.axis, k, rank))

        return summed(element, self.own, dtype).astype(self.dtype)


def _correlation(weights: Array, axis: int, origin: int, output: Output) -> Any:
    """What correlates along an axis."""
    own = fixed(weights)
    if weights.dtype.kind == "c":
        return step("correlate1d", output, weights=own, axis=axis, origin=origin)
    return _Correlation(own, axis, origin, output.dtype, weights_of(weights))


@local_filter
def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """Correlate along an axis with weights, as `scipy.ndimage.correlate1d` does."""
    return _correlated_1d(input, weights, axis, output, mode, cval, origin, "correlate1d")


def _correlated_1d(
    image: Any, weights: Any, axis: int, output: Output, mode: str, cval: Any, origin: int, name: str
) -> Any:
    rank = rank_of(image)
    own = np.array(weights)
    return applied(
        image,
        _correlation(own, axis % rank, int(origin), output),
        axis_name(name, axis % rank, rank),
        output,
        halo=on_axis(window(len(own), int(origin)), axis % rank, rank),
        modes=[mode] * rank,
        cval=cval,
    )


@local_filter
def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """Convolve along an axis with weights, as `scipy.ndimage.convolve1d` does."""
    own = np.array(weights)[::-1]
    own = own.conj() if own.dtype.kind == "c" else own  # which the correlation undoes
    turned = flipped_origin(len(own), int(origin))
    return _correlated_1d(input, own, axis, output, mode, cval, turned, "convolve1d")


@attrs.frozen
class _InWindow(Understood):
    """A correlation along several axes at once, by SciPy."""

    step: Step
    weights: Array = attrs.field(eq=False, repr=False)
    """What the elements of a window are multiplied with, in their order."""

    def __call__(self, piece: Array) -> Any:
        return self.step(piece)

    @property
    def effort_of_each(self) -> float | None:
        """How long it computes each element of a piece."""
        return self.step.effort_of_each

    def term(self, at: Callable[[tuple[int, ...]], Any], rank: int, dtype: np.dtype[Any]) -> Any:
        """The same as arithmetic, as `_Correlation.term` has it."""
        weights = weights_in_window(self.weights)
        if not may_be_summed_in_window(weights, dtype, self.step.dtype):
            return None
        return summed_in_window(lambda place: at(place).astype(np.float64), weights).astype(self.step.dtype)


def flipped_origin(size: int, origin: int) -> int:
    """The origin of a window that is turned around."""
    return -origin - (1 - size % 2)


@local_filter
def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Correlate with weights along several axes at once, as `scipy.ndimage.correlate` does."""
    return _correlated(input, weights, output, mode, cval, origin, axes, "correlate")


@local_filter
def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Convolve with weights along several axes at once, as `scipy.ndimage.convolve` does."""
    return _correlated(input, weights, output, mode, cval, origin, axes, "convolve")


def _correlated(
    image: Any, weights: Any, output: Output, mode: str, cval: Any, origin: Any, axes: Any, name: str
) -> Any:
    rank = rank_of(image)
    chosen = all_axes(axes, rank)
    own = in_rank(np.array(weights), chosen, rank)
    origins = origins_in_rank(origin, chosen, rank)
    turned = origins if name == "correlate" else list(map(flipped_origin, own.shape, origins))
    function: Any = step(name, output, weights=fixed(own), origin=tuple(origins))
    if own.dtype.kind != "c":
        function = _InWindow(function, own if name == "correlate" else np.flip(own))
    return applied(
        image,
        function,
        name,
        output,
        halo=tuple(map(window, own.shape, turned)),
        modes=[mode] * rank,
        cval=cval,
    )


# ----------------------------------------------------------------------------------------------------------------
# Gaussians
# ----------------------------------------------------------------------------------------------------------------


@local_filter
def gaussian_filter1d(
    input: Any,
    sigma: float,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Any:
    """Blur along an axis, or take a derivative of what is blurred, as `scipy.ndimage.gaussian_filter1d` does."""
    return _blurred_1d(input, sigma, axis, order, output, mode, cval, truncate, radius)


def _blurred_1d(
    image: Any,
    sigma: float,
    axis: int,
    order: int,
    output: Output,
    mode: str,
    cval: Any,
    truncate: float,
    radius: int | None,
) -> Any:
    rank = rank_of(image)
    reach = int(truncate * float(sigma) + 0.5) if radius is None else int(radius)
    weights = _gaussian_weights(sigma, order, reach)
    if weights is None:
        function: Any = step("gaussian_filter1d", output, sigma=sigma, axis=axis % rank, order=order, radius=reach)
    else:
        function = _correlation(weights, axis % rank, 0, output)
    return applied(
        image,
        function,
        axis_name("gaussian", axis % rank, rank),
        output,
        halo=on_axis((reach, reach), axis % rank, rank),
        modes=[mode] * rank,
        cval=cval,
    )


def _gaussian_weights(sigma: float, order: int, radius: int) -> Array | None:
    """What SciPy correlates with, from a function of its own that is not public; None where that is not there."""
    try:
        function = importlib.import_module("scipy.ndimage._filters")._gaussian_kernel1d
        weights: Array = function(sigma, order, radius)[::-1]
    except (ImportError, AttributeError, TypeError):
        return None
    return weights


@local_filter
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    """Blur, or take derivatives of what is blurred, as `scipy.ndimage.gaussian_filter` does: a func for each axis."""
    return _blurred(input, sigma, order, output, mode, cval, truncate, radius, axes)


def _blurred(
    image: Any,
    sigma: Any,
    order: Any,
    output: Output,
    mode: Any,
    cval: Any,
    truncate: float = 4.0,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    chosen = all_axes(axes, rank_of(image))
    count = len(chosen)
    given: Any = zip(*(each_of(each, count) for each in (chosen, sigma, order, mode, radius)), strict=True)
    steps = [each for each in given if each[1] > 1e-15]
    for n, (axis, own, of, rule, reach) in enumerate(steps):
        where = output if n == len(steps) - 1 else output.between
        image = _blurred_1d(image, own, axis, of, where, rule, cval, truncate, reach)
    return image if steps else copied(image, output)


# ----------------------------------------------------------------------------------------------------------------
# Derivatives
# ----------------------------------------------------------------------------------------------------------------


@local_filter
def prewitt(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """The Prewitt filter, as `scipy.ndimage.prewitt` gives it: a func for each axis."""
    return _derived(input, axis, output, mode, cval, [1, 1, 1], "prewitt")


@local_filter
def sobel(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """The Sobel filter, as `scipy.ndimage.sobel` gives it: a func for each axis."""
    return _derived(input, axis, output, mode, cval, [1, 2, 1], "sobel")


def _derived(image: Any, axis: int, output: Output, mode: Any, cval: Any, across: Sequence[int], name: str) -> Any:
    rank = rank_of(image)
    modes = each_of(mode, rank)
    order = [axis % rank, *(d for d in range(rank) if d != axis % rank)]
    for n, d in enumerate(order):
        where = output if n == rank - 1 else output.between
        image = _correlated_1d(image, across if n else [-1, 0, 1], d, where, modes[d], cval, 0, name)
    return image


@local_filter
def generic_laplace(
    input: Any,
    derivative2: Callable[..., Any],
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    *,
    axes: Any = None,
) -> Any:
    """The sum of second derivatives along axes, as `scipy.ndimage.generic_laplace` gives it.

    `derivative2` is called with what `input` is; let it use filters of this module.
    """
    derivative = functools.partial(_given, derivative2, tuple(extra_arguments), dict(extra_keywords or {}))
    return _summed(input, derivative, output, mode, cval, axes)


@local_filter
def laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None) -> Any:
    """The Laplace filter, as `scipy.ndimage.laplace` gives it: a func for each axis, and their sum."""

    def derivative(image: Any, axis: int, where: Output, rule: str, outside: Any) -> Any:
        return _correlated_1d(image, [1, -2, 1], axis, where, rule, outside, 0, "laplace")

    return _summed(input, derivative, output, mode, cval, axes)


@local_filter
def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Any:
    """The Laplace filter by derivatives of Gaussians, as `scipy.ndimage.gaussian_laplace` gives it."""
    rank = rank_of(input)
    chosen = all_axes(axes, rank)
    sigmas = each_of(sigma, len(chosen))
    if len(chosen) < rank:
        sigmas = [dict(zip(chosen, sigmas, strict=True)).get(d, 0) for d in range(rank)]

    def derivative(image: Any, axis: int, where: Output, rule: str, outside: Any) -> Any:
        return _blurred(image, sigmas, _order_along(axis, rank, 2), where, rule, outside, **kwargs)

    return _summed(input, derivative, output, mode, cval, axes)


@local_filter
def generic_gradient_magnitude(
    input: Any,
    derivative: Callable[..., Any],
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    *,
    axes: Any = None,
) -> Any:
    """The length of the gradient, as `scipy.ndimage.generic_gradient_magnitude` gives it.

    `derivative` is called with what `input` is; let it use filters of this module.
    """
    own = functools.partial(_given, derivative, tuple(extra_arguments), dict(extra_keywords or {}))
    return _length(input, own, output, mode, cval, axes)


@local_filter
def gaussian_gradient_magnitude(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Any:
    """The length of the gradient of what is blurred, as `scipy.ndimage.gaussian_gradient_magnitude` gives it."""
    rank = rank_of(input)

    def derivative(image: Any, axis: int, where: Output, rule: str, outside: Any) -> Any:
        return _blurred(image, sigma, _order_along(axis, rank, 1), where, rule, outside, **kwargs)

    return _length(input, derivative, output, mode, cval, axes)


def _order_along(axis: int, rank: int, order: int) -> list[int]:
    return [order if d == axis else 0 for d in range(rank)]


def _given(
    derivative: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    image: Any,
    axis: int,
    where: Output,
    rule: str,
    outside: Any,
) -> Any:
    """A derivative that a user gives, called as SciPy calls it. Raises `GraphError` if it knows no buffers."""
    if not isinstance(image, BufferExpr):
        return derivative(image, axis, where.dtype, rule, outside, *arguments, **keywords)
    name = getattr(derivative, "__name__", type(derivative).__name__)
    advice = f"the derivative {name}: given a buffer of a graph, it must return one; let it use sl.ndimage"
    try:
        found = derivative(image, axis, where.dtype, rule, outside, *arguments, **keywords)
    except SlinkyError:
        raise
    except Exception as error:
        raise GraphError(f"{advice} ({type(error).__name__}: {error})") from error
    if not isinstance(found, BufferExpr):
        raise GraphError(f"{advice} (it returned {type(found).__name__})")
    return found


def _summed(image: Any, derivative: Callable[..., Any], output: Output, mode: Any, cval: Any, axes: Any) -> Any:
    chosen = all_axes(axes, rank_of(image))
    modes = each_of(mode, len(chosen))
    total = None
    for n, (axis, rule) in enumerate(zip(chosen, modes, strict=True)):
        found = derivative(image, axis, output.between, rule, cval)
        where = output if n == len(chosen) - 1 else output.between
        total = found if total is None else combined(np.add, (total, found), where)
    return _placed(image if total is None else total, output, len(chosen) > 1)


def _length(image: Any, derivative: Callable[..., Any], output: Output, mode: Any, cval: Any, axes: Any) -> Any:
    chosen = all_axes(axes, rank_of(image))
    modes = each_of(mode, len(chosen))
    total = None
    for axis, rule in zip(chosen, modes, strict=True):
        found = derivative(image, axis, output.between, rule, cval)
        squared = combined(np.multiply, (found, found), output.between)
        total = squared if total is None else combined(np.add, (total, squared), output.between)
    return copied(image, output) if total is None else combined(np.sqrt, (total,), output, "unsafe")


def _placed(found: Any, output: Output, is_placed: bool) -> Any:
    """What was found, in the output, and of its dtype."""
    return found if is_placed or (output.target is None and found.dtype == output.dtype) else copied(found, output)


# ----------------------------------------------------------------------------------------------------------------
# Means
# ----------------------------------------------------------------------------------------------------------------


@local_filter
def uniform_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
    *,
    reassociate: bool = False,
) -> Any:
    """The mean of a window along an axis, as `scipy.ndimage.uniform_filter1d` gives it.

    SciPy adds and subtracts from one end of a line to the other. Of floats, and integers of 64 bits, the rounding
    depends on all that came before, so the axis is computed whole, unless `reassociate=True` says that pieces may be
    rounded in another way.
    """
    return _mean_1d(input, size, axis, output, mode, cval, origin, reassociate)


def _mean_1d(
    image: Any, size: int, axis: int, output: Output, mode: str, cval: Any, origin: int, reassociate: bool
) -> Any:
    rank = rank_of(image)
    axis = axis % rank
    name = axis_name("uniform", axis, rank)
    halo = on_axis(window(int(size), int(origin)), axis, rank)
    near: Any = step("uniform_filter1d", output, size=int(size), axis=axis, origin=int(origin))
    is_exact = image.dtype.kind in "bui" and image.dtype.itemsize <= EXACT_INTEGERS and _is_whole_number(cval)
    if is_exact:
        near = _MeanOfIntegers(near, int(size), axis)
    if is_exact or reassociate:
        return applied(image, near, name, output, halo=halo, modes=[mode] * rank, cval=cval)
    rules = tuple(mode if any(pair) else None for pair in halo)
    outside = held(cval, image.dtype) if is_filled(rules) else 0
    alternative = None
    if outside is not None:
        alternative = Kernel(near, name, halo=halo, boundary=rules, value=outside, dtype=output.dtype)
    lines = of_lines(
        "uniform_filter1d", output, axis, rank, "uniform", size=int(size), mode=mode, cval=cval, origin=int(origin)
    )
    return run(attrs.evolve(lines, near_form=alternative), (image,), output)


@attrs.frozen
class _MeanOfIntegers(Understood):
    """The mean of a window along an axis, by SciPy, of integers: their sums are exact in any order."""

    step: Step
    size: int
    axis: int

    def __call__(self, piece: Array) -> Any:
        return self.step(piece)

    @property
    def effort_of_each(self) -> float | None:
        """How long it computes each element of a piece."""
        return self.step.effort_of_each

    @property
    def axis_of_lines(self) -> int | None:
        """The axis along which it goes."""
        return self.axis

    def term(self, at: Callable[[tuple[int, ...]], Any], rank: int, dtype: np.dtype[Any]) -> Any:
        """The same as arithmetic, as `_Correlation.term` has it."""
        if not may_be_averaged(self.size, dtype, self.step.dtype):
            return None
        places = (place_along(self.axis, k, rank) for k in range(self.size))
        total = functools.reduce(np.add, (at(place).astype(np.float64) for place in places))
        return (total / np.float64(self.size)).astype(self.step.dtype)


def _is_whole_number(value: Any) -> bool:
    if not isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
        return False
    number = float(value)
    return number.is_integer() and abs(number) < 2**32


@local_filter
def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    reassociate: bool = False,
) -> Any:
    """The mean of a window, as `scipy.ndimage.uniform_filter` gives it: a func for each axis.

    `reassociate` is as for `uniform_filter1d`.
    """
    chosen = all_axes(axes, rank_of(input))
    count = len(chosen)
    given: Any = zip(*(each_of(each, count) for each in (chosen, size, origin, mode)), strict=True)
    steps = [each for each in given if each[1] > 1]
    image = input
    for n, (axis, own, start, rule) in enumerate(steps):
        where = output if n == len(steps) - 1 else output.between
        image = _mean_1d(image, own, axis, where, rule, cval, start, reassociate)
    return image if steps else copied(image, output)


__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "generic_gradient_magnitude",
    "generic_laplace",
    "laplace",
    "prewitt",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]
