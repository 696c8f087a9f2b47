"""Correlations and extrema of `sl.ndimage` as arithmetic, of which loops in C are made: SciPy's to the last bit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage
from c_programs import needs_compiler
from filters import CASES, MODES, SHAPES, image, same, takes_modes
from traced import PIECES, for_c, jit

import slinky as sl
from slinky.frontend.ndimage import lines, ranks

KNOWN = [
    "black_tophat",
    "binary_closing",
    "binary_dilation",
    "binary_erosion",
    "binary_opening",
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
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
    "white_tophat",
]
REAL = [bool, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64]
Array = np.ndarray[Any, Any]


def filtered(name: str, **arguments: Any) -> Callable[..., Any]:
    """A filter of either library."""
    return lambda array, library=sl.ndimage: getattr(library, name)(array, **arguments)


def quietly(function: Callable[..., Any], *given: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*given)


def callbacks(traced: Any, array: Array) -> int:
    """How many calls of a pipeline are of functions of Python's."""
    calls = quietly(traced.pipeline, array).find_all("_ = _")
    return sum(type(call._call.func.operation).__name__ == "Callback" for call in calls)


@pytest.mark.parametrize("dtype", REAL, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("name", KNOWN)
def test_they_are_scipys(name: str, dtype: Any) -> None:
    """Of every dtype, in every mode, whole and by pieces."""
    for number, case in enumerate(CASES[name]):
        mode = MODES[(REAL.index(dtype) + number) % len(MODES)]
        f = filtered(name, **case, **({"mode": mode, "cval": 1} if takes_modes(name) else {}))
        traced = for_c(f)
        if dtype is bool and name in ("morphological_gradient", "morphological_laplace"):
            with pytest.raises(TypeError):  # NumPy subtracts no truths
                quietly(f, image((2, 3), bool), scipy.ndimage)
            continue
        for shape in SHAPES[:2]:
            array = image(shape, dtype)
            assert same(quietly(traced, array), quietly(f, array, scipy.ndimage)), (case, mode, shape)


@needs_compiler
@pytest.mark.parametrize("name", KNOWN)
def test_in_c_they_are_scipys(name: str) -> None:
    """Compiled, and in strips whose rows are cut at their ends."""
    number = KNOWN.index(name)
    case, dtype = CASES[name][0], [np.uint8, np.float32, np.int16, np.float64][number % 4]
    modes = {"mode": MODES[number % len(MODES)], "cval": 2} if takes_modes(name) else {}
    f = filtered(name, **case, **modes)
    traced = sl.jit(native=True, workers=1, smallest=0, machine=PIECES)(f)
    for shape in ((60, 70), (1, 200), (90, 3)):
        array = image(shape, dtype)
        assert same(quietly(traced, array), quietly(f, array, scipy.ndimage)), (case, modes, shape)


def blurred(array: Any, library: Any = sl.ndimage) -> Any:
    return library.gaussian_filter(array, 1.5)


def test_what_is_arithmetic_and_for_whom() -> None:
    """In loops in C all is; NumPy's loops call SciPy, as they do for what is not known."""
    for dtype in (np.uint8, np.int16, np.float32, np.float64):
        array = image((40, 50), dtype)
        assert callbacks(for_c(blurred), array) == 0
        assert callbacks(jit(blurred, machine=PIECES), array) == 2
    for dtype in (np.int32, np.uint64, bool):
        assert callbacks(for_c(blurred), image((40, 50), dtype)) == 2
    wide = for_c(filtered("gaussian_filter", sigma=9))
    assert callbacks(wide, image((80, 90), np.float64)) == 2
    for dtype, count in ((np.uint8, 1), (np.float32, 0)):
        windows = for_c(filtered("convolve", weights=[[1, 0, 2], [0.5, 3, 0]]))
        assert callbacks(windows, image((40, 50), dtype)) == count
    assert callbacks(for_c(filtered("correlate", weights=np.ones((9, 9)))), image((40, 50), np.float32)) == 1
    assert callbacks(for_c(filtered("correlate", weights=np.zeros((3, 3)))), image((40, 50), np.float32)) == 1
    heavy = for_c(filtered("correlate1d", weights=[1, 2, 3e4]))
    assert callbacks(heavy, image((40, 50), np.uint16)) == 1


def test_numbers_that_are_none() -> None:
    """Infinities and what is too large are what SciPy makes of them, and nothing is said of them, as by SciPy."""
    array = image((40, 50), np.float32)
    array[3, 4], array[7:9, 20] = np.inf, np.nan
    array[20, 30:33] = np.finfo(np.float32).max, -np.inf, np.inf
    for name, case in (("sobel", {}), ("gaussian_filter", {"sigma": 1}), ("correlate", {"weights": [[5, 0, 9]]})):
        f = filtered(name, **case)
        traced = for_c(f)
        with np.errstate(all="raise"):
            np.testing.assert_array_equal(traced(array), f(array, scipy.ndimage), strict=True)


@pytest.mark.parametrize("name", ["minimum_filter", "maximum_filter"])
def test_extrema_of_zeros_and_of_what_is_no_number(name: str) -> None:
    """Of zeros of both signs it is SciPy's, of a window with a NaN it is NaN; SciPy computes what no float64 holds."""
    array = np.random.default_rng(0).choice([0.0, -0.0, -1.0, 1.0], size=(40, 50))
    f = filtered(name, size=3)
    traced = for_c(f)
    assert callbacks(traced, array) == 0
    assert same(traced(array), f(array, scipy.ndimage))
    array[7, 9] = np.nan
    is_near = scipy.ndimage.maximum_filter(np.isnan(array), 3)
    np.testing.assert_array_equal(np.isnan(traced(array)), is_near)
    assert callbacks(traced, image((40, 50), np.int64)) == 2
    assert callbacks(for_c(filtered(name, size=3, output=np.float32)), array) == 1  # the first converts
    assert callbacks(for_c(filtered(name, size=99)), image((120, 120), np.uint8)) == 2


def test_what_others_call_a_term() -> None:
    """A function of somebody's that has something of this name is called, as any is."""

    class Diffusion:
        def term(self, time: float) -> float:
            return 2.0**-time

        def __call__(self, padded: Array) -> Array:
            return np.asarray(padded[2:] * self.term(1) + padded[:-2])

    spread = sl.stencil(halo=((1, 1), (0, 0)), boundary="reflect")(Diffusion())
    array = image((40, 50), np.float64)
    traced = for_c(lambda a: spread(a) + 1)
    assert callbacks(traced, array) == 1
    assert same(traced(array), spread(array) + 1)


def test_means_of_integers() -> None:
    """Of all but those of 64 bits, to floats, and of small ones to such; of floats they are SciPy's, line by line."""
    for dtype, output, count in (
        (np.uint8, np.uint8, 0),
        (np.int16, np.int8, 0),
        (np.uint32, np.float64, 0),
        (np.int32, np.float32, 1),  # the second axis is one of floats
        (np.int32, np.int32, 2),
        (np.float32, np.float32, 2),
        (np.int64, np.float64, 2),
    ):
        array = image((40, 50), dtype)
        f = filtered("uniform_filter", size=(5, 1) if output is np.float64 and dtype is np.uint32 else 4, output=output)
        traced = for_c(f)
        assert callbacks(traced, array) == count, (dtype, output)
        assert same(quietly(traced, array), quietly(f, array, scipy.ndimage))


def test_binary_images() -> None:
    """Of any numbers, and with structures that are not turned into themselves; an empty one is SciPy's."""
    structure = np.array([[1, 1, 0], [0, 1, 0]])
    for dtype in (bool, np.uint8, np.float64):
        array = image((40, 50), dtype)
        for name in ("binary_erosion", "binary_dilation"):
            for case in ({}, {"structure": structure, "origin": (0, 1)}, {"structure": [[0, 1]], "output": np.int16}):
                f = filtered(name, **case, border_value=1)
                traced = for_c(f)
                assert callbacks(traced, array) == 0
                assert same(traced(array), f(array, scipy.ndimage))
            empty = for_c(filtered(name, structure=np.zeros((3, 3))))
            assert callbacks(empty, array) == 1


@needs_compiler
def test_nothing_is_said_in_c() -> None:
    array = image((40, 50), np.float32)
    array[20, 30:33] = np.finfo(np.float32).max, -np.inf, np.inf
    traced = sl.jit(native=True, workers=1, smallest=0, machine=PIECES)(filtered("sobel"))
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(traced(array), scipy.ndimage.sobel(array), strict=True)


def test_means_are_tried_against_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A SciPy that adds and subtracts means, and not sums, is noticed."""
    assert lines.averages_the_same.__wrapped__(np.dtype(np.float64))

    def by_differences(array: Any, size: int, axis: int, output: Any, mode: str) -> Any:
        found = np.array(real(array, size, axis, np.float64, mode))
        return np.cumsum(np.diff(found, axis=1, prepend=0), axis=1).astype(output)

    real = scipy.ndimage.uniform_filter1d
    monkeypatch.setattr(scipy.ndimage, "uniform_filter1d", by_differences)
    assert not lines.averages_the_same.__wrapped__(np.dtype(np.float64))


@pytest.mark.parametrize("what", ["gives_the_same", "cuts_off_the_same", "gives_the_same_in_windows"])
def test_where_sums_are_others_scipy_takes_them(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether NumPy's sums are SciPy's is tried in each process, of floats, and of integers made of them."""
    monkeypatch.setattr(lines, what, lambda *_: False)
    array, sigma = image((40, 50), np.uint8), 1 + len(what) / 50  # a pipeline is kept for each
    bytes_to_bytes = for_c(filtered("gaussian_filter", sigma=sigma))
    assert callbacks(bytes_to_bytes, array) == 2 * (what != "gives_the_same_in_windows")
    in_floats = for_c(filtered("gaussian_filter", sigma=sigma, output=np.float32))
    assert callbacks(in_floats, array) == 2 * (what == "gives_the_same")
    weights = [[sigma, 2], [3, 4]]
    assert callbacks(for_c(filtered("correlate", weights=weights, output=np.float32)), array) == (
        what == "gives_the_same_in_windows"
    )


def test_zeros_are_tried_against_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ranks._takes_the_same_zeros.__wrapped__()
    real = scipy.ndimage.maximum_filter1d
    monkeypatch.setattr(scipy.ndimage, "maximum_filter1d", lambda line, size: real(line, size) + 0.0)
    assert not ranks._takes_the_same_zeros.__wrapped__()


def test_sums_are_tried_against_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A SciPy that cuts integers off in another way is noticed."""
    dtypes = [np.dtype(dtype) for dtype in (np.int8, np.uint8, np.int16, np.uint16)]
    assert all(lines.cuts_off_the_same.__wrapped__(dtype) for dtype in dtypes)
    real = scipy.ndimage.correlate1d

    def limited(array: Any, weights: Any, axis: int, output: Any, mode: str) -> Any:
        limits = np.iinfo(output)
        return np.clip(real(array, weights, axis, np.float64, mode), limits.min, limits.max).astype(output)

    monkeypatch.setattr(scipy.ndimage, "correlate1d", limited)
    assert not any(lines.cuts_off_the_same.__wrapped__(dtype) for dtype in dtypes)
