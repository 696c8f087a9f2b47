"""The local functions of scikit-image: equal to scikit-image, whole and by pieces, on lazy arrays and in graphs."""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from traced import PIECES, jit

import slinky as sl

skimage = pytest.importorskip("skimage")

from slinky.frontend.skimage_filters.table import TABLE, WHOLE  # noqa: E402

FOOTPRINT = np.array([[0, 1, 1], [1, 1, 0]])
LONG = np.array([[1, 0, 1, 1]])
SEQUENCE = ((np.ones((3, 1)), 2), (FOOTPRINT, 1))
SHAPES = [(9, 11), (23, 7), (3, 2)]
MASK = np.arange(99).reshape(9, 11) % 7 > 0

_EDGES = [{}, {"axis": 0}, {"axis": (0, 1), "mode": "mirror"}, {"mode": "constant", "cval": 0.5}, {"mode": "wrap"}]
_GREY = [
    {},
    {"footprint": FOOTPRINT},
    {"footprint": LONG, "mode": "nearest"},
    {"footprint": SEQUENCE, "mode": "ignore"},
    {"mode": "constant", "cval": 1},
    {"footprint": FOOTPRINT, "mode": "max"},
    {"footprint": FOOTPRINT, "mode": "min"},
]
_PLAIN: list[dict[str, Any]] = [{}]
_BINARY = [{}, {"footprint": FOOTPRINT}, {"footprint": LONG, "mode": "max"}, {"footprint": SEQUENCE, "mode": "min"}]

CASES: Mapping[str, list[dict[str, Any]]] = {
    "gaussian": [
        {},
        {"sigma": (0.7, 2), "mode": "reflect", "truncate": 2.0},
        {"mode": "constant", "cval": 1, "preserve_range": True},
        {"channel_axis": -1, "sigma": 1.5},
    ],
    "difference_of_gaussians": [{"low_sigma": 1}, {"low_sigma": (0.5, 1), "high_sigma": 2, "mode": "wrap"}],
    "unsharp_mask": [{}, {"radius": 2, "amount": 0.5, "preserve_range": True}, {"channel_axis": 0}],
    "median": [{}, {"footprint": FOOTPRINT, "mode": "constant", "cval": 1}],
    **dict.fromkeys(("sobel", "prewitt", "scharr", "farid"), _EDGES),
    **dict.fromkeys(("sobel_h", "prewitt_v", "scharr_h", "farid_v", "roberts", "roberts_pos_diag", "laplace"), _PLAIN),
    "adjust_gamma": [{}, {"gamma": 2.2, "gain": 0.5}],
    "adjust_log": [{}, {"inv": True}],
    "adjust_sigmoid": [{}, {"cutoff": 0.3, "gain": 4, "inv": True}],
    "rescale_intensity": [{"in_range": (0.1, 0.8)}, {"in_range": (2, 90), "out_range": (0, 1)}],
    **dict.fromkeys(("erosion", "dilation", "opening", "closing", "white_tophat", "black_tophat"), _GREY),
    **dict.fromkeys(("binary_erosion", "binary_dilation", "binary_opening", "binary_closing"), _BINARY),
}
COLORS = [name for name, entry in TABLE.items() if entry.channels is not None]
DTYPES = ("uint8", "int16", "float32", "float64", "bool")


def array_of(shape: tuple[int, ...], dtype: str) -> Any:
    """Numbers from 0 on, up to 1 if they are floats."""
    kind = np.dtype(dtype)
    values = np.random.default_rng(sum(shape)).integers(0, 2 if kind.kind == "b" else 100, shape).astype(kind)
    return values / kind.type(100) if kind.kind == "f" else values


def expected(name: str, image: Any, arguments: dict[str, Any]) -> Any:
    """What scikit-image gives; of what it does not do, the error."""
    module = TABLE[name].module if name in TABLE else WHOLE[name][0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return getattr(getattr(skimage, module), name)(image, **arguments)
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            return error


def assert_equal(name: str, got: Any, want: Any) -> None:
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if sl.skimage_filters.PIECES[name] is sl.skimage_filters.Pieces.EXACT:
        np.testing.assert_array_equal(got, want)
    else:
        single = want.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=2e-5 if single else 1e-12, atol=1e-5 if single else 1e-12)


def check_traced(name: str, dtype: str, arguments: dict[str, Any], shapes: list[tuple[int, ...]]) -> None:
    function = getattr(sl.skimage_filters, name)
    traced = jit(lambda x: function(x, **arguments), machine=PIECES, strict=True)
    for shape in shapes:
        image = array_of(shape, dtype)
        want = expected(name, image, arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if isinstance(want, Exception):
                with pytest.raises(type(want)):
                    traced(image)
            else:
                assert_equal(name, traced(image), want)


@pytest.mark.parametrize("name", CASES)
def test_lazy_arrays(name: str) -> None:
    """Each set of arguments with two of the dtypes, in turn."""
    for number, arguments in enumerate(CASES[name]):
        for dtype in (DTYPES[number % len(DTYPES)], DTYPES[(number + 2) % len(DTYPES)]):
            is_signed = dtype not in ("uint8", "bool")
            if name == "unsharp_mask" and is_signed and "preserve_range" not in arguments:
                continue  # it needs the whole image
            check_traced(name, dtype, arguments, SHAPES[:2])


@pytest.mark.parametrize("name", COLORS)
def test_colors(name: str) -> None:
    channels = TABLE[name].channels
    assert channels is not None
    check_traced(name, "uint8", {}, [(6, 5, channels), (3, channels), (2, 3, 4, channels)])
    check_traced(name, "float32", {"channel_axis": 0}, [(channels, 6, 5)])
    check_traced(name, "float64", {}, [(6, 5, 2)])


def test_gray_to_rgb() -> None:
    check_traced("gray2rgb", "uint8", {}, [(6, 5), (7,)])
    check_traced("gray2rgb", "float32", {"channel_axis": 0}, [(6, 5)])


def graph_of(make: Callable[[Any], Any], dtype: str) -> sl.Pipeline:
    source = sl.BufferExpr("source", np.dtype(dtype), rank=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = make(source)
    rows = found.producer.dims[0]
    found.producer.loops([(rows, 4)])
    return sl.build_pipeline([source], [found], require=[sl.same_shape(source, found)])


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("adjust_log", "adjust_sigmoid")])
def test_graphs_by_strips(name: str) -> None:
    dtype = "bool" if name.startswith("binary") else "uint8"
    for arguments in CASES[name]:
        p = graph_of(lambda source, given=arguments: getattr(sl.skimage_filters, name)(source, **given), dtype)
        for shape in SHAPES:
            image = array_of(shape, dtype)
            want = expected(name, image, arguments)
            assert_equal(name, p(image, np.empty(shape, want.dtype)), want)


def test_masks() -> None:
    image = array_of((9, 11), "float64")
    for name in ("sobel", "roberts", "laplace", "farid_h"):
        traced = jit(lambda x, m, name=name: getattr(sl.skimage_filters, name)(x, mask=m), strict=True)
        np.testing.assert_array_equal(traced(image, MASK), expected(name, image, {"mask": MASK}))


def test_arrays_are_given_to_scikit_image() -> None:
    image = array_of((9, 11), "uint8")
    np.testing.assert_array_equal(sl.skimage_filters.sobel(image), expected("sobel", image, {}))
    assert sl.skimage_filters.threshold_otsu(image) == expected("threshold_otsu", image, {})
    out = np.empty((9, 11), np.uint8)
    assert sl.skimage_filters.erosion(image, out=out) is out


def test_names_signatures_and_documentation_are_those_of_scikit_image() -> None:
    for name, entry in TABLE.items():
        own, other = getattr(sl.skimage_filters, name), getattr(getattr(skimage, entry.module), name)
        assert inspect.signature(own) == inspect.signature(other)
        assert (own.__name__, own.__doc__) == (name, other.__doc__)
    for name in WHOLE:
        assert callable(getattr(sl.skimage_filters, name))
    assert set(TABLE) == set(sl.skimage_filters.PIECES)
    assert {*TABLE, *WHOLE} <= set(dir(sl.skimage_filters))
    with pytest.raises(AttributeError, match="no attribute 'sobble'"):
        _ = sl.skimage_filters.sobble


WHOLE_CALLS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "threshold_otsu": (lambda x: sl.skimage_filters.threshold_otsu(x), "histogram"),
    "equalize_hist": (lambda x: sl.skimage_filters.equalize_hist(x), "histogram"),
    "rescale_intensity": (lambda x: sl.skimage_filters.rescale_intensity(x), "in_range='image' asks for the smallest"),
    "unsharp_mask": (lambda x: sl.skimage_filters.unsharp_mask(x), "preserve_range=True"),
    "apply_hysteresis_threshold": (lambda x: sl.skimage_filters.apply_hysteresis_threshold(x, 0.2, 0.7), "connected"),
    "sobel": (lambda x: sl.skimage_filters.sobel(x, mode="constant", cval=0.1), "cval=0.1 is no number"),
}


@pytest.mark.parametrize("name", WHOLE_CALLS)
def test_what_needs_the_whole_image(name: str) -> None:
    """On lazy arrays it runs whole, and `explain` says so; in graphs it is refused with the reason."""
    call, reason = WHOLE_CALLS[name]
    traced, image = jit(lambda x: call(x) * 1), array_of((9, 11), "float32")
    np.testing.assert_array_equal(traced(image), call(image) * 1)
    assert f"{name} is not understood and computed at once" in traced.explain(image)
    with pytest.raises(sl.GraphError, match=reason):
        call(sl.BufferExpr("source", np.float32, rank=2))


def test_what_cannot_be() -> None:
    source = sl.BufferExpr("source", np.float32, rank=2)
    with pytest.raises(sl.ArgumentError, match="cannot be written to an array"):
        sl.skimage_filters.erosion(source, out=np.empty((3, 3), np.float32))
    with pytest.raises(sl.GraphError, match="gives another rank than it is given"):
        sl.skimage_filters.gray2rgb(source)
    with pytest.raises(ValueError, match="Sigma values less than zero"):
        sl.skimage_filters.gaussian(source, sigma=-1)
    with pytest.raises(TypeError):
        sl.skimage_filters.gaussian(source, sigmas=1)


def test_a_chain_keeps_nothing_whole() -> None:
    def boundaries(image: Any) -> Any:
        return sl.skimage_filters.sobel(sl.skimage_filters.gaussian(image, 2))

    p, image = graph_of(boundaries, "float32"), array_of((300, 40), "float32")
    out = np.empty_like(image)
    assert p.run(image, out).program_bytes < image.nbytes / 3
    np.testing.assert_array_equal(out, boundaries(image))


def test_scikit_image_is_asked_for_when_it_is_needed() -> None:
    code = (
        "import sys; sys.modules['skimage'] = None\n"
        "import slinky as sl\n"
        "print(len(sl.skimage_filters.PIECES))\n"
        "try: sl.skimage_filters.sobel\n"
        "except sl.errors.MissingExtraError as error: print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.splitlines()[1] == "sl.skimage_filters needs the package scikit-image: pip install 'slinky[skimage]'"


def test_windows_and_filters_go_together() -> None:
    traced = jit(lambda x: sliding_window_view(sl.skimage_filters.sobel(x), (3, 3)).max((2, 3)), strict=True)
    image = array_of((12, 9), "float64")
    want = sliding_window_view(expected("sobel", image, {}), (3, 3)).max((2, 3))
    np.testing.assert_array_equal(traced(image), want)


def test_the_same_bits_where_they_are_asked_for() -> None:
    image = np.random.default_rng(0).random((40, 30, 3))

    def function(x: Any) -> Any:
        return sl.skimage_filters.adjust_gamma(sl.skimage_filters.rgb2gray(sl.skimage_filters.rgb2lab(x) ** 2), 2.2)

    np.testing.assert_array_equal(jit(function, exact=True, machine=PIECES)(image), function(image))
