"""What holds for each filter by pieces, as data: docs and tests are made from it."""

from __future__ import annotations

import enum
from collections.abc import Mapping


class Pieces(enum.Enum):
    """How a piece of a result, computed from a piece of the array, agrees with the whole."""

    EXACT = "exact"
    ROUNDED = "exact; floats and integers of 64 bits along whole axes"
    WHOLE = "exact along whole axes"
    NEAR = "near"
    NONE = "runs whole"


PIECES: Mapping[str, Pieces] = {
    "binary_closing": Pieces.EXACT,
    "binary_dilation": Pieces.EXACT,
    "binary_erosion": Pieces.EXACT,
    "binary_fill_holes": Pieces.NONE,
    "binary_hit_or_miss": Pieces.EXACT,
    "binary_opening": Pieces.EXACT,
    "binary_propagation": Pieces.NONE,
    "black_tophat": Pieces.EXACT,
    "convolve": Pieces.EXACT,
    "convolve1d": Pieces.EXACT,
    "correlate": Pieces.EXACT,
    "correlate1d": Pieces.EXACT,
    "gaussian_filter": Pieces.EXACT,
    "gaussian_filter1d": Pieces.EXACT,
    "gaussian_gradient_magnitude": Pieces.EXACT,
    "gaussian_laplace": Pieces.EXACT,
    "generic_filter": Pieces.EXACT,
    "generic_filter1d": Pieces.WHOLE,
    "generic_gradient_magnitude": Pieces.EXACT,
    "generic_laplace": Pieces.EXACT,
    "grey_closing": Pieces.EXACT,
    "grey_dilation": Pieces.EXACT,
    "grey_erosion": Pieces.EXACT,
    "grey_opening": Pieces.EXACT,
    "laplace": Pieces.EXACT,
    "maximum_filter": Pieces.EXACT,
    "maximum_filter1d": Pieces.EXACT,
    "median_filter": Pieces.EXACT,
    "minimum_filter": Pieces.EXACT,
    "minimum_filter1d": Pieces.EXACT,
    "morphological_gradient": Pieces.EXACT,
    "morphological_laplace": Pieces.EXACT,
    "percentile_filter": Pieces.EXACT,
    "prewitt": Pieces.EXACT,
    "rank_filter": Pieces.EXACT,
    "sobel": Pieces.EXACT,
    "uniform_filter": Pieces.ROUNDED,
    "uniform_filter1d": Pieces.ROUNDED,
    "vectorized_filter": Pieces.NONE,
    "white_tophat": Pieces.EXACT,
}
"""The filters, and what holds of them by pieces. The generic ones are as good as the functions that they are given."""
