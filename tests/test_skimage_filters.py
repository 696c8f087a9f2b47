"""The local functions of scikit-image: equal to scikit-image, whole and by pieces, on lazy arrays and in graphs."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from traced import PIECES, jit

import slinky as sl
from slinky.frontend.skimage_filters import ranking

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
    "median": [{}, {"footprint": FOOTPRINT, "mode": "constant", "cval": 1}, {"behavior": "rank"}],
    **dict.fromkeys(("sobel", "prewitt", "scharr", "farid"), _EDGES),
    **dict.fromkeys(("sobel_h", "prewitt_v", "scharr_h", "farid_v", "roberts", "roberts_pos_diag", "laplace"), _PLAIN),
    "threshold_local": [
        {},
        {"block_size": (5, 3), "method": "mean", "offset": 0.5, "mode": "mirror"},
        {"method": "median", "mode": "constant", "cval": 1},
        {"method": "generic", "param": np.ptp, "offset": 2},
    ],
    "gabor": [{"frequency": 0.4, "n_stds": 1}, {"frequency": 0.7, "theta": 0.5, "mode": "constant", "cval": 1}],
    "correlate_sparse": [
        {"kernel": LONG[:, 1:]},
        {"kernel": np.eye(5)[:3] * 0.3, "mode": "wrap"},
        {"kernel": np.array([[0, 2.0], [1, 0]]), "mode": "valid"},
    ],
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
            return attrgetter(f"{module}.{name.rpartition('.')[2]}")(skimage)(image, **arguments)
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
    check_arrays(name, arguments, [array_of(shape, dtype) for shape in shapes])


def check_arrays(name: str, arguments: dict[str, Any], images: list[Any], strict: bool = True) -> None:
    function = attrgetter(name)(sl.skimage_filters)
    traced = jit(lambda x: function(x, **arguments), machine=PIECES, strict=strict)
    for image in images:
        want = expected(name, image, arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if isinstance(want, Exception):
                with pytest.raises(type(want)):
                    traced(image)
            elif isinstance(want, tuple):
                for one, other in zip(traced(image), want, strict=True):
                    assert_equal(name, one, other)
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


@pytest.mark.parametrize("name", ["lab2lch", "lch2lab", "convert_colorspace"])
def test_channels_beyond_the_third_are_kept(name: str) -> None:
    arguments = {"fromspace": "RGB", "tospace": "rgb"} if name == "convert_colorspace" else {}
    check_traced(name, "float32", arguments, [(6, 5), (3, 4, 7)])
    check_traced(name, "float64", {**arguments, "channel_axis": 0}, [(5, 6)])


def test_an_axis_of_channels_beyond_the_last_is_what_scikit_image_makes_of_it() -> None:
    image = array_of((7, 3), "float64")
    for name in ("deltaE_ciede2000", "deltaE_cie76"):
        check_arrays(name, {"lab2": image[::-1] * 2, "channel_axis": 2}, [image])


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


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("adjust_log", "adjust_sigmoid", "gabor")])
def test_graphs_by_strips(name: str) -> None:
    dtype = "bool" if name.startswith("binary") else "uint8"
    for arguments in CASES[name]:
        if arguments.get("mode") == "valid":
            continue  # of another shape
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


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (5, 7), (9,)])
def test_masks_of_another_shape_than_the_image(shape: tuple[int, ...]) -> None:
    """Of edges, they are what scikit-image makes of them; rank filters there read beyond them, and here refuse them."""
    mask = np.ones(shape, bool)
    for size in ((2, 1), (1, 1), (5, 7)):
        image = array_of(size, "uint8")
        for name in ("sobel", "scharr_v", "roberts", "laplace", "farid_h"):
            check_arrays(name, {"mask": mask}, [image], strict=False)
        for name in ("mean", "median", "autolevel"):
            traced = jit(lambda x, name=name: getattr(sl.skimage_filters.rank, name)(x, FOOTPRINT, mask=mask))
            if size != shape:
                with pytest.raises(sl.ArgumentError, match=re.escape(f"the mask has shape {shape}")):
                    traced(image)


@pytest.mark.parametrize("name", ["sobel", "adjust_gamma", "adjust_log", "gaussian", "median", "rgb2gray", "rgb2hsv"])
def test_arrays_without_axes(name: str) -> None:
    check_arrays(name, {}, [np.array(88, np.uint8)], strict=False)


def test_arrays_are_given_to_scikit_image() -> None:
    image = array_of((9, 11), "uint8")
    np.testing.assert_array_equal(sl.skimage_filters.sobel(image), expected("sobel", image, {}))
    assert sl.skimage_filters.threshold_otsu(image) == expected("threshold_otsu", image, {})
    out = np.empty((9, 11), np.uint8)
    assert sl.skimage_filters.erosion(image, out=out) is out


def test_names_signatures_and_documentation_are_those_of_scikit_image() -> None:
    for name, entry in TABLE.items():
        plain = name.rpartition(".")[2]
        own, other = attrgetter(name)(sl.skimage_filters), attrgetter(f"{entry.module}.{plain}")(skimage)
        assert inspect.signature(own) == inspect.signature(other)
        assert (own.__name__, own.__doc__) == (plain, other.__doc__)
    for name in WHOLE:
        assert callable(attrgetter(name)(sl.skimage_filters))
    assert set(TABLE) == set(sl.skimage_filters.PIECES)
    assert {name for name in (*TABLE, *WHOLE) if "." not in name} <= set(dir(sl.skimage_filters))
    assert {f"rank.{name}" for name in dir(sl.skimage_filters.rank)} <= {*TABLE, *WHOLE}
    with pytest.raises(AttributeError, match="no attribute 'meen'"):
        _ = sl.skimage_filters.rank.meen
    with pytest.raises(AttributeError, match="no attribute 'sobble'"):
        _ = sl.skimage_filters.sobble


OTHERS = {
    "filters": "LPIFilter2D gabor_kernel rank try_all_threshold window",
    "filters.rank": "",
    "exposure": "",
    "color": "color_dict xyz_tristimulus_values",
    "morphology": "ball cube diamond disk ellipse footprint_rectangle mirror_footprint octagon "
    "octahedron pad_footprint rectangle square star",
}
"""What takes no image, is a class, or draws a plot; with `_from_` in their names, there are more of these."""


@pytest.mark.parametrize("module", OTHERS)
def test_nothing_of_scikit_image_is_forgotten(module: str) -> None:
    prefix = "rank." if module.endswith("rank") else ""
    names = {name for name in attrgetter(module)(skimage).__all__ if "_from_" not in name}
    known = {name.removeprefix(prefix) for name in (*TABLE, *WHOLE) if name.startswith(prefix)}
    assert names <= known | set(OTHERS[module].split())


def test_the_page_lists_what_is_there() -> None:
    page = (Path(__file__).parent.parent / "docs" / "halos.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w.]+)` \| (`.*`) \|$", page, re.MULTILINE)
    modules = {entry.module for entry in TABLE.values()}
    listed = {(module, name) for module, names in rows if module in modules for name in re.findall(r"`(\w+)`", names)}
    assert listed == {(entry.module, name.rpartition(".")[2]) for name, entry in TABLE.items()}


def footprint_of(random: Any, rank: int, most: int = 7) -> Any:
    """A footprint that covers something, and how far its centre is moved."""
    found = random.random(random.integers(1, most, rank)) < 0.7
    found[tuple(random.integers(0, n) for n in found.shape)] = True
    shifts = [int(random.integers(-(n // 2), n - n // 2)) if random.random() < 0.3 else 0 for n in found.shape]
    names = ("shift_y", "shift_x") if rank == 2 else ("shift_x", "shift_y", "shift_z")
    return found, dict(zip(names, shifts, strict=True))


def rank_case(name: str, random: Any, dtype: str) -> tuple[Any, dict[str, Any]]:
    """An image, and what a rank filter of it is given."""
    has_planes = "percentile" not in name and "bilateral" not in name and random.random() < 0.25
    rank = 3 if has_planes else 2
    shape = tuple(int(n) for n in random.choice([1, 2, 3, 5, 7, 11, 13], rank))
    image = random.integers(0, random.choice([3, 200]), shape).astype(dtype)
    image = image / image.dtype.type(200) if image.dtype.kind == "f" else image
    footprint, arguments = footprint_of(random, rank)
    parameters = inspect.signature(attrgetter(name)(sl.skimage_filters)).parameters
    if "p0" in parameters and random.random() < 0.8:
        arguments["p0"] = float(random.choice([0, 0.1, 0.5]))
        arguments |= {"p1": float(random.choice([0.6, 0.9, 1]))} if "p1" in parameters else {}
    if "s0" in parameters:
        arguments |= {"s0": int(random.integers(1, 30)), "s1": int(random.integers(1, 30))}
    if random.random() < 0.4:
        arguments["mask"] = random.choice([random.random(shape) < 0.6, random.integers(0, 2, shape).astype(np.uint8)])
    return image, {"footprint": footprint, **arguments}


@pytest.mark.parametrize("name", [name for name in TABLE if name.startswith("rank.")])
def test_rank_filters(name: str) -> None:
    """Of random images, down to one element, with footprints that reach beyond them, off their centre, and masks."""
    random = np.random.default_rng(len(name))
    for number in range(12):
        dtype = ("uint8", "uint16", "uint8", "float32")[number % 4]
        image, arguments = rank_case(name, random, dtype)
        is_whole = dtype == "uint16" and name.removeprefix("rank.") in ranking._BY_BINS
        check_arrays(name, arguments, [image], strict=not is_whole)


@pytest.mark.parametrize("name", [name for name in TABLE if name.startswith("rank.")])
def test_rank_filters_in_graphs(name: str) -> None:
    random = np.random.default_rng(len(name) + 100)
    for _ in range(3):
        footprint, shifts = footprint_of(random, 2)
        arguments = {"footprint": footprint, **shifts}
        p = graph_of(lambda source, given=arguments: attrgetter(name)(sl.skimage_filters)(source, **given), "uint8")
        for shape in SHAPES:
            image = array_of(shape, "uint8")
            want = expected(name, image, arguments)
            assert_equal(name, p(image, np.empty(shape, want.dtype)), want)


def test_rank_filters_whose_bins_the_whole_image_decides() -> None:
    image = np.arange(60, dtype=np.uint16).reshape(6, 10) * 3
    for name in ("autolevel", "equalize", "noise_filter", "gradient_percentile", "threshold_percentile"):
        traced = jit(lambda x, name=name: getattr(sl.skimage_filters.rank, name)(x, FOOTPRINT) * 1, machine=PIECES)
        np.testing.assert_array_equal(traced(image), expected(f"rank.{name}", image, {"footprint": FOOTPRINT}))
        assert "is not understood and computed at once" in traced.explain(image)
        with pytest.raises(sl.GraphError, match="how many bins"):
            getattr(sl.skimage_filters.rank, name)(sl.BufferExpr("source", np.uint16, rank=2), FOOTPRINT)
    with pytest.raises(sl.GraphError, match="by their largest"):
        graph_of(lambda source: sl.skimage_filters.rank.mean(source, FOOTPRINT), "int64")
    with pytest.raises(ValueError, match="dimensions"):
        sl.skimage_filters.rank.mean(sl.BufferExpr("source", np.uint8, rank=2), np.ones(3))


def test_masks_that_are_computed() -> None:
    image = array_of((13, 11), "uint8")
    traced = jit(lambda x: sl.skimage_filters.rank.mean(x, FOOTPRINT, mask=x > 30), machine=PIECES, strict=True)
    np.testing.assert_array_equal(
        traced(image), expected("rank.mean", image, {"footprint": FOOTPRINT, "mask": image > 30})
    )


def test_distances_of_colours() -> None:
    one, other = (np.random.default_rng(seed).random((7, 5, 3)) * 50 for seed in (0, 1))
    for name in ("deltaE_cie76", "deltaE_ciede94", "deltaE_ciede2000", "deltaE_cmc"):
        function = getattr(sl.skimage_filters, name)
        traced = jit(function, machine=PIECES, strict=True)
        assert_equal(name, traced(one, other), getattr(skimage.color, name)(one, other))
        moved = jit(lambda a, f=function: f(a, a[::-1] * 2, channel_axis=0), machine=PIECES, strict=True)
        turned = np.moveaxis(one, -1, 0)
        assert_equal(name, moved(turned), getattr(skimage.color, name)(turned, turned[::-1] * 2, channel_axis=0))


def test_gray_to_rgba() -> None:
    check_traced("gray2rgba", "uint8", {}, [(6, 5), (7,)])
    check_traced("gray2rgba", "float32", {"channel_axis": 0, "alpha": 0.5}, [(6, 5)])


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


def test_footprints_that_are_applied_no_times() -> None:
    """The first of a sequence is applied once to numbers; each of one of bools until nothing changes."""
    line = np.ones((1, 3))
    for footprint in (((line, 0), (FOOTPRINT, 1)), ((FOOTPRINT, 1), (line, 0)), ((line, -1), (line.T, -2))):
        for name in ("erosion", "dilation", "opening", "white_tophat"):
            check_traced(name, "uint8", {"footprint": footprint}, SHAPES)
        for name in ("binary_erosion", "binary_dilation", "binary_closing"):
            for shape in SHAPES:
                check_arrays(name, {"footprint": footprint}, [array_of(shape, "bool")], strict=False)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with pytest.raises(sl.GraphError, match="until nothing changes"):
                    getattr(sl.skimage_filters, name)(sl.BufferExpr("source", bool, rank=2), footprint)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_what_float64_does_not_hold_beyond_the_edges(dtype: str) -> None:
    for name in ("erosion", "dilation"):
        check_arrays(name, {"mode": "max"}, [array_of(shape, dtype) for shape in SHAPES], strict=False)
        with pytest.raises(sl.ArgumentError, match="does not hold cval"):
            getattr(sl.skimage_filters, name)(sl.BufferExpr("source", np.dtype(dtype), rank=2), mode="max")


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


@pytest.mark.parametrize("dtype", ["int16", "uint16", "int32", "float64"])
def test_a_rank_filter_warns_of_what_scikit_image_warns_of(dtype: str) -> None:
    image = (np.arange(99).reshape(9, 11) * (1 / 99 if dtype == "float64" else 2)).astype(dtype)

    def warned(function: Callable[..., Any]) -> set[str]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            function(image)
        return {str(each.message) for each in found}

    expected = warned(lambda a: skimage.filters.rank.mean(a, np.ones((3, 3))))
    assert warned(jit(lambda a: sl.skimage_filters.rank.mean(a, np.ones((3, 3))))) == expected
