"""Filters of SciPy in functions that are traced: called piece by piece, and as loops in C, to the last bit the same."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Case, Side, installed
from benchmarks.rows import under_jit

KERNEL = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]) / 256


def blurred(image: Array, library: Any = sl.ndimage) -> Array:
    """A Gaussian, along one axis after the other."""
    return np.asarray(library.gaussian_filter(image, 2))


def steepness(image: Array, library: Any = sl.ndimage) -> Array:
    """The size of the gradient, by Sobel's filter."""
    return np.asarray(np.hypot(library.sobel(image, 0), library.sobel(image, 1)))


def bands(image: Array, library: Any = sl.ndimage) -> Array:
    """What is between two scales."""
    return np.asarray(library.gaussian_filter(image, 1) - library.gaussian_filter(image, 1.6))


def smoothed(image: Array, library: Any = sl.ndimage) -> Array:
    """A kernel of 5 x 5 weights at once."""
    return np.asarray(library.convolve(image, KERNEL, mode="nearest"))


def opened(image: Array, library: Any = sl.ndimage) -> Array:
    """What squares of 7 x 7 elements fit into."""
    return np.asarray(library.grey_opening(image, 7))


def despeckled(image: Array, library: Any = sl.ndimage) -> Array:
    """The medians of squares of 5 x 5 elements."""
    return np.asarray(library.median_filter(image, 5))


def without_rays(image: Array, library: Any = sl.ndimage) -> Array:
    """What cosmic rays have hit replaced by medians."""
    median = library.median_filter(image, 5)
    beyond = np.abs(image - median)
    return np.where(beyond > 3 * library.gaussian_filter(beyond, 2), median, image)


def cases(quick: bool) -> Iterator[Case]:
    """One size; photographs as bytes, and as floats. Without SciPy there is nothing to call."""
    if not installed("scipy"):
        return
    import scipy.ndimage

    size = 256 if quick else 2048
    given: list[tuple[str, Any, Any]] = [
        ("Gaussian, sigma 2, of {} float32", blurred, np.float32),
        ("Gaussian, sigma 2, of {} uint8", blurred, np.uint8),
        ("difference of Gaussians of {} float64", bands, np.float64),
        ("Sobel magnitude of {} float32", steepness, np.float32),
        ("5x5 kernel on {} float32", smoothed, np.float32),
        ("opening by 7x7 of {} uint8", opened, np.uint8),
        ("median of 5x5 of {} float32", despeckled, np.float32),
        ("cosmic rays taken out of {} float32", without_rays, np.float32),
    ]
    for title, function, dtype in given:

        def make(function: Any = function, dtype: Any = dtype) -> list[Side]:
            image = (np.random.default_rng(0).random((size, size)) * 255).astype(dtype)
            by_scipy = Side("SciPy", partial(function, image, scipy.ndimage))
            return [by_scipy, *under_jit(function, image, name="sl.ndimage, sl.jit")]

        yield Case(title.format(f"{size}²"), make)
