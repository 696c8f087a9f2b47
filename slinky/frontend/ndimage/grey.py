"""The morphology of grey images: erosions and dilations are extrema, all else is made of these."""

from __future__ import annotations

from typing import Any

import numpy as np

from slinky.frontend.kernels import rank_of
from slinky.frontend.ndimage.linear import flipped_origin
from slinky.frontend.ndimage.ranks import extreme
from slinky.frontend.ndimage.steps import (
    Output,
    all_axes,
    combined,
    each_of,
    local_filter,
)


@local_filter
def grey_erosion(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The least element under a structure, as `scipy.ndimage.grey_erosion` gives it."""
    return _eroded(input, size, footprint, structure, output, mode, cval, origin, axes)


def _eroded(
    image: Any, size: Any, footprint: Any, structure: Any, output: Output, mode: Any, cval: Any, origin: Any, axes: Any
) -> Any:
    return extreme(image, size, footprint, structure, output, mode, cval, origin, "minimum", axes)


@local_filter
def grey_dilation(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The largest element under a structure that is turned around, as `scipy.ndimage.grey_dilation` gives it."""
    return _dilated(input, size, footprint, structure, output, mode, cval, origin, axes)


def _dilated(
    image: Any, size: Any, footprint: Any, structure: Any, output: Output, mode: Any, cval: Any, origin: Any, axes: Any
) -> Any:
    count = len(all_axes(axes, rank_of(image)))
    structure = None if structure is None else np.flip(np.asarray(structure))
    footprint = None if footprint is None else np.flip(np.asarray(footprint))
    if footprint is not None:
        sizes = footprint.shape
    else:
        sizes = each_of(size, count) if structure is None else structure.shape
    turned = [flipped_origin(n, each) for n, each in zip(sizes, each_of(origin, count), strict=False)]
    return extreme(image, size, footprint, structure, output, mode, cval, turned, "maximum", axes)


def _same(image: Any) -> Output:
    """For what SciPy keeps in an array like its input."""
    return Output(np.dtype(image.dtype.name))


@local_filter
def grey_opening(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Erosion, then dilation, as `scipy.ndimage.grey_opening` gives it."""
    return _opened(input, size, footprint, structure, output, mode, cval, origin, axes)


def _opened(
    image: Any, size: Any, footprint: Any, structure: Any, output: Output, mode: Any, cval: Any, origin: Any, axes: Any
) -> Any:
    eroded = _eroded(image, size, footprint, structure, _same(image), mode, cval, origin, axes)
    return _dilated(eroded, size, footprint, structure, output, mode, cval, origin, axes)


@local_filter
def grey_closing(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Dilation, then erosion, as `scipy.ndimage.grey_closing` gives it."""
    return _closed(input, size, footprint, structure, output, mode, cval, origin, axes)


def _closed(
    image: Any, size: Any, footprint: Any, structure: Any, output: Output, mode: Any, cval: Any, origin: Any, axes: Any
) -> Any:
    dilated = _dilated(image, size, footprint, structure, _same(image), mode, cval, origin, axes)
    return _eroded(dilated, size, footprint, structure, output, mode, cval, origin, axes)


@local_filter
def morphological_gradient(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Dilation minus erosion, as `scipy.ndimage.morphological_gradient` gives it (a dtype as `output` is ignored)."""
    dilated = _dilated(input, size, footprint, structure, _same(input), mode, cval, origin, axes)
    eroded = _eroded(input, size, footprint, structure, output.between, mode, cval, origin, axes)
    return combined(np.subtract, (dilated, eroded), output)


@local_filter
def morphological_laplace(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Dilation plus erosion minus twice the input, as `scipy.ndimage.morphological_laplace` gives it (a dtype as
    `output` is ignored)."""
    dilated = _dilated(input, size, footprint, structure, _same(input), mode, cval, origin, axes)
    eroded = _eroded(input, size, footprint, structure, output.between, mode, cval, origin, axes)
    both = combined(np.add, (dilated, eroded), output.between)
    return combined(np.subtract, (combined(np.subtract, (both, input), output.between), input), output)


@local_filter
def white_tophat(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """What an opening removes, as `scipy.ndimage.white_tophat` gives it."""
    opened = _opened(input, size, footprint, structure, output.between, mode, cval, origin, axes)
    return combined(_difference(input, output), (input, opened), output)


@local_filter
def black_tophat(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """What a closing adds, as `scipy.ndimage.black_tophat` gives it."""
    closed = _closed(input, size, footprint, structure, output.between, mode, cval, origin, axes)
    return combined(_difference(input, output), (closed, input), output)


def _difference(image: Any, output: Output) -> np.ufunc:
    """What is between two images: NumPy has no differences of bools."""
    return np.bitwise_xor if image.dtype == output.dtype == np.bool_ else np.subtract


__all__ = [
    "black_tophat",
    "grey_closing",
    "grey_dilation",
    "grey_erosion",
    "grey_opening",
    "morphological_gradient",
    "morphological_laplace",
    "white_tophat",
]
