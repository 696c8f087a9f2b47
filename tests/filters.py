"""Cases of the filters of `sl.ndimage`: a few sets of arguments for each, and arrays to try them on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import slinky as sl

MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap"]
RANK = 2

FOOTPRINT = np.array([[0, 1, 0], [1, 1, 1]])
STRUCTURE = np.array([[0.5, 1, 0.5], [1, 2, 0]])
BINARY = np.array([[0, 1], [1, 1], [1, 0]])


def middle(window: np.ndarray, scale: float = 1.0) -> float:
    return float((window.max() + window.min()) / 2 * scale)


def differences(source: np.ndarray, target: np.ndarray) -> None:
    target[...] = source[: len(target)] - source[len(source) - len(target) :]


def second(image: Any, axis: int, output: Any, mode: str, cval: float, factor: float = 1.0) -> Any:
    return sl.ndimage.correlate1d(image, [factor, -2 * factor, factor], axis, output, mode, cval)


CASES: Mapping[str, list[dict[str, Any]]] = {
    "binary_closing": [{}, {"structure": BINARY, "iterations": 2}, {"border_value": 1}],
    "binary_dilation": [{}, {"structure": BINARY}, {"iterations": 3}, {"border_value": 1, "origin": -1}],
    "binary_erosion": [{}, {"structure": BINARY}, {"iterations": 3}, {"border_value": 1, "origin": (1, -1)}],
    "binary_hit_or_miss": [
        {},
        {"structure1": BINARY},
        {"structure1": BINARY, "structure2": BINARY[::-1], "origin2": 0},
    ],
    "binary_opening": [{}, {"structure": BINARY, "iterations": 2}, {"border_value": 1}],
    "black_tophat": [{"size": 3}, {"footprint": FOOTPRINT}, {"structure": STRUCTURE, "origin": (0, 1)}],
    "convolve": [{"weights": [[1, 2], [3, 4], [5, -6]]}, {"weights": np.ones((3, 4)), "origin": (1, -1)}],
    "convolve1d": [{"weights": [1, 2, -3]}, {"weights": [0.1, 0.5, 2, 1], "axis": 0, "origin": 1}, {"weights": [3]}],
    "correlate": [{"weights": [[1, 2], [3, 4], [5, -6]]}, {"weights": np.ones((3, 4)), "origin": (1, -1)}],
    "correlate1d": [{"weights": [1, 2, -3]}, {"weights": [0.1, 0.5, 2, 1], "axis": 0, "origin": 1}, {"weights": [3]}],
    "gaussian_filter": [
        {"sigma": 1},
        {"sigma": (0.5, 2), "order": (1, 0), "truncate": 2.0},
        {"sigma": 1, "radius": (2, 1), "axes": (1, 0)},
        {"sigma": (1.5, 0)},
        {"sigma": 0},
    ],
    "gaussian_filter1d": [{"sigma": 1}, {"sigma": 2, "axis": 0, "order": 2, "radius": 3}, {"sigma": 0.1}],
    "gaussian_gradient_magnitude": [{"sigma": 1}, {"sigma": 0.7, "axes": 0, "truncate": 3.0}],
    "gaussian_laplace": [{"sigma": 1}, {"sigma": 0.7, "axes": (1,), "truncate": 3.0}],
    "generic_filter": [
        {"function": middle, "size": (2, 3)},
        {"function": middle, "footprint": FOOTPRINT, "origin": (0, 1), "extra_keywords": {"scale": 2.0}},
    ],
    "generic_filter1d": [
        {"function": differences, "filter_size": 3},
        {"function": differences, "filter_size": 2, "axis": 0},
    ],
    "generic_gradient_magnitude": [{"derivative": sl.ndimage.sobel}, {"derivative": sl.ndimage.prewitt, "axes": 1}],
    "generic_laplace": [
        {"derivative2": second, "extra_arguments": (0.5,)},
        {"derivative2": second, "extra_keywords": {"factor": 3}, "axes": 0},
    ],
    "grey_closing": [{"size": 3}, {"footprint": FOOTPRINT}, {"structure": STRUCTURE, "origin": (0, 1)}],
    "grey_dilation": [{"size": (2, 3)}, {"footprint": FOOTPRINT, "origin": (0, -1)}, {"structure": STRUCTURE}],
    "grey_erosion": [{"size": (2, 3)}, {"footprint": FOOTPRINT, "origin": (0, -1)}, {"structure": STRUCTURE}],
    "grey_opening": [{"size": 3}, {"footprint": FOOTPRINT}, {"structure": STRUCTURE, "origin": (0, 1)}],
    "laplace": [{}, {"axes": (1,)}],
    "maximum_filter": [{"size": 3}, {"size": (1, 4), "origin": (0, 1)}, {"footprint": FOOTPRINT}, {"size": 1}],
    "maximum_filter1d": [{"size": 3}, {"size": 4, "axis": 0, "origin": -2}],
    "median_filter": [{"size": 3}, {"footprint": FOOTPRINT, "origin": (0, -1)}, {"size": 3, "axes": 1}],
    "minimum_filter": [{"size": 3}, {"size": (1, 4), "origin": (0, 1)}, {"footprint": FOOTPRINT}, {"size": 1}],
    "minimum_filter1d": [{"size": 3}, {"size": 4, "axis": 0, "origin": -2}],
    "morphological_gradient": [{"size": 3}, {"footprint": FOOTPRINT}, {"structure": STRUCTURE, "origin": (0, 1)}],
    "morphological_laplace": [{"size": 3}, {"footprint": FOOTPRINT}, {"structure": STRUCTURE, "origin": (0, 1)}],
    "percentile_filter": [
        {"percentile": 30, "size": 3},
        {"percentile": -20, "size": (3, 2)},
        {"percentile": 100, "size": 2},
        {"percentile": 0, "footprint": FOOTPRINT},
    ],
    "prewitt": [{}, {"axis": 0}],
    "rank_filter": [{"rank": 2, "size": 3}, {"rank": -1, "size": 2}, {"rank": -2, "footprint": FOOTPRINT}],
    "sobel": [{}, {"axis": 0}],
    "uniform_filter": [{"size": 3}, {"size": (4, 2), "origin": (-1, 0)}, {"size": 1}, {"size": 5, "axes": 0}],
    "uniform_filter1d": [{"size": 3}, {"size": 4, "axis": 0, "origin": 1}],
    "white_tophat": [{"size": 3}, {"footprint": FOOTPRINT}, {"structure": STRUCTURE, "origin": (0, 1)}],
}
"""For each filter, what it is called with beside the array, which has two axes."""

EACH = [(name, n) for name, cases in CASES.items() for n in range(len(cases))]

SHAPES = [(7, 9), (1, 5), (4, 1), (2, 3), (1, 1), (13, 4)]


def takes_modes(name: str) -> bool:
    return not name.startswith("binary")


def image(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    """Numbers of all sizes that a dtype holds, with ties; half of a binary image is 0."""
    random = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return random.random(shape) < 0.6
    if kind in "iu":
        limits = np.iinfo(dtype)
        return random.integers(max(limits.min, -300), min(limits.max, 300), shape).astype(dtype)
    found = np.where(random.random(shape) < 0.3, 0.0, random.normal(size=shape) * 10).astype(dtype)
    return found + 1j * found[::-1] if kind == "c" else found


def graph_of(filtered: Callable[[sl.BufferExpr], sl.BufferExpr], dtype: Any, rank: int = RANK) -> Any:
    """A buffer of the graph, and what a filter makes of it."""
    source = sl.BufferExpr("image", dtype, rank)
    return source, filtered(source)


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether arrays are alike to the last bit, and of one dtype."""
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
