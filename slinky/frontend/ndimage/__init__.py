"""The local filters of `scipy.ndimage`, on arrays, on buffers of a graph, and on lazy arrays.

Names, signatures, modes and results are SciPy's. On arrays, SciPy's functions are called. On a buffer of a graph
(`sl.BufferExpr`) a filter makes funcs, one for each axis where it is separable, and returns the buffer that they write,
so that pieces slide:

    blurred = sl.ndimage.gaussian_filter(image, 2)
    p = sl.build_pipeline([image], [blurred])

As `output` it takes a buffer to be written. `PIECES` says what holds for each filter by pieces. SciPy is asked for when
a filter is called: `pip install 'slinky[ndimage]'`.
"""

from slinky.frontend.ndimage.binary import (
    binary_closing,
    binary_dilation,
    binary_erosion,
    binary_hit_or_miss,
    binary_opening,
)
from slinky.frontend.ndimage.generic import generic_filter, generic_filter1d
from slinky.frontend.ndimage.grey import (
    black_tophat,
    grey_closing,
    grey_dilation,
    grey_erosion,
    grey_opening,
    morphological_gradient,
    morphological_laplace,
    white_tophat,
)
from slinky.frontend.ndimage.linear import (
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    gaussian_filter,
    gaussian_filter1d,
    gaussian_gradient_magnitude,
    gaussian_laplace,
    generic_gradient_magnitude,
    generic_laplace,
    laplace,
    prewitt,
    sobel,
    uniform_filter,
    uniform_filter1d,
)
from slinky.frontend.ndimage.ranks import (
    maximum_filter,
    maximum_filter1d,
    median_filter,
    minimum_filter,
    minimum_filter1d,
    percentile_filter,
    rank_filter,
)
from slinky.frontend.ndimage.table import PIECES, Pieces
from slinky.frontend.ndimage.whole import binary_fill_holes, binary_propagation, vectorized_filter

__all__ = [
    "PIECES",
    "Pieces",
    "binary_closing",
    "binary_dilation",
    "binary_erosion",
    "binary_fill_holes",
    "binary_hit_or_miss",
    "binary_opening",
    "binary_propagation",
    "black_tophat",
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "generic_filter",
    "generic_filter1d",
    "generic_gradient_magnitude",
    "generic_laplace",
    "grey_closing",
    "grey_dilation",
    "grey_erosion",
    "grey_opening",
    "laplace",
    "maximum_filter",
    "maximum_filter1d",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "morphological_gradient",
    "morphological_laplace",
    "percentile_filter",
    "prewitt",
    "rank_filter",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
    "vectorized_filter",
    "white_tophat",
]
