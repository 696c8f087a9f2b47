"""SciPy's local filters as funcs: equal to SciPy in every bit, whole and by pieces."""

from __future__ import annotations

import functools
import inspect
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given
from hypothesis import strategies as st

import slinky as sl
from slinky.frontend.ndimage import linear, lines
from tests.filters import CASES, EACH, MODES, SHAPES, graph_of, image, same, takes_modes

Pieces = sl.ndimage.Pieces

every_case = pytest.mark.parametrize(("name", "number"), EACH, ids=[f"{name}-{n}" for name, n in EACH])


def expected(name: str, array: np.ndarray, arguments: dict[str, Any]) -> np.ndarray | Exception:
    """What SciPy gives; of what it does not do, the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found: np.ndarray = getattr(scipy.ndimage, name)(array, **arguments)
        except (RuntimeError, TypeError, ValueError) as error:
            return error
    return found


def described(name: str, dtype: Any, arguments: dict[str, Any], rank: int = 2) -> tuple[sl.BufferExpr, sl.BufferExpr]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return graph_of(lambda source: getattr(sl.ndimage, name)(source, **arguments), dtype, rank)


def run(p: sl.Pipeline, array: np.ndarray, dtype: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # casts that SciPy makes, too
        out: np.ndarray = p(array, np.empty(array.shape, dtype))
    return out


def check(name: str, dtype: Any, arguments: dict[str, Any], shapes: list[tuple[int, ...]]) -> None:
    """A filter as a pipeline gives what SciPy gives, or refuses what SciPy refuses, by the same error."""
    first = expected(name, image(shapes[0], dtype), arguments)
    if isinstance(first, Exception):
        with pytest.raises(type(first)):
            described(name, dtype, arguments, len(shapes[0]))
        return
    source, out = described(name, dtype, arguments, len(shapes[0]))
    p = sl.build_pipeline([source], [out])
    for shape in shapes:
        array = image(shape, dtype)
        found = expected(name, array, arguments)
        assert not isinstance(found, Exception)
        assert same(run(p, array, out.dtype), found), shape


@every_case
def test_filters_are_scipys(name: str, number: int) -> None:
    for mode in MODES if takes_modes(name) else [None]:
        more = {} if mode is None else {"mode": mode, "cval": 0.1 if mode == "constant" else 2}
        check(name, np.float32, {**CASES[name][number], **more}, SHAPES)


@pytest.mark.sweep
@every_case
@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.int64, np.float64, np.complex64, np.float16])
def test_filters_are_scipys_of_every_dtype(name: str, number: int, dtype: Any) -> None:
    check(name, dtype, CASES[name][number], SHAPES[:2])


def looped(
    name: str, dtype: Any, arguments: dict[str, Any], steps: tuple[int | None, int | None]
) -> tuple[sl.Pipeline, Any]:
    """A filter computed by pieces: producers as deep as they can be, sliding and folded."""
    source, out = described(name, dtype, arguments)
    func = out.producer
    assert func is not None
    func.loops([(dim, step) for dim, step in zip(func.dims, steps, strict=True) if step and dim not in func.whole])
    return sl.build_pipeline([source], [out]), out.dtype


@pytest.mark.sweep("name", "number")
@every_case
def test_pieces_are_the_whole(name: str, number: int) -> None:
    """By rows, or every other case by columns; some by tiles, too, which takes long to prove for many funcs."""
    by = [(2, None), (None, 3)][number % 2]
    tiles = [(3, 2)] if name in ("correlate", "gaussian_filter", "median_filter", "sobel") else []
    dtype, mode = [(np.float32, "mirror"), (np.uint8, "constant")][(len(name) + number) % 2]
    arguments = {**CASES[name][number], **({"mode": mode} if takes_modes(name) else {})}
    whole = expected(name, array := image((8, 7), dtype), arguments)
    for steps in (by, *tiles):
        p, out_dtype = looped(name, dtype, arguments, steps)
        assert same(run(p, array, out_dtype), whole)  # type: ignore[arg-type]


@every_case
def test_callbacks_compute_any_piece(name: str, number: int) -> None:
    """Each func alone, cut along both axes, without anything that slides."""
    dtype = np.float64
    arguments = {**CASES[name][number], **({"mode": "wrap"} if takes_modes(name) else {})}
    whole = expected(name, array := image((8, 7), dtype), arguments)
    source, out = described(name, dtype, arguments)
    p = sl.build_pipeline([source], [out])
    func = out.producer
    assert func is not None
    for dim, step in zip(func.dims, (3, 2), strict=True):
        if dim not in func.whole:
            p = sl.split_loop(p, f"{p.name}.{dim}", step)
    assert same(run(p, array, out.dtype), whole)  # type: ignore[arg-type]


@given(
    st.sampled_from(EACH),
    st.sampled_from([np.uint8, np.int32, np.float32, np.float64]),
    st.sampled_from(MODES),
    st.sampled_from([0.0, 1, 0.1, -3]),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.data(),
)
def test_parts_are_parts_of_the_whole(
    case: tuple[str, int], dtype: Any, mode: str, cval: float, shape: tuple[int, int], data: Any
) -> None:
    name, number = case
    arguments = {**CASES[name][number], **({"mode": mode, "cval": cval} if takes_modes(name) else {})}
    array = image(shape, dtype, data.draw(st.integers(0, 99)))
    whole = expected(name, array, arguments)
    if isinstance(whole, Exception):
        return
    try:
        source, out = described(name, dtype, arguments)
    except sl.ArgumentError as error:
        assert "does not hold cval" in str(error)  # noqa: PT017
        return
    func = out.producer
    assert func is not None
    spans = []
    for dim, n in zip(func.dims, shape, strict=True):
        lo = 0 if dim in func.whole else data.draw(st.integers(0, n - 1))
        spans.append((lo, n if dim in func.whole else data.draw(st.integers(lo + 1, n))))
    part = np.empty([hi - lo for lo, hi in spans], out.dtype)
    p = sl.build_pipeline([source], [out])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p(array, sl.Buffer(part, min=[lo for lo, _ in spans]))
    assert same(part, whole[tuple(slice(*span) for span in spans)].copy())


@pytest.mark.parametrize("dtype", [">f4", ">i2", "<u4"])
def test_bytes_in_any_order(dtype: str) -> None:
    for name in ("gaussian_filter", "median_filter", "minimum_filter", "sobel", "uniform_filter", "white_tophat"):
        check(name, np.dtype(dtype), CASES[name][0], [(6, 5)])


def test_modes_and_axes_each() -> None:
    modes = ["mirror", "constant"]
    for name, arguments in {
        "gaussian_filter": {"sigma": 1, "mode": modes},
        "gaussian_gradient_magnitude": {"sigma": 1, "mode": modes},
        "generic_laplace": {"derivative2": sl.ndimage.gaussian_filter1d, "mode": "wrap"},
        "grey_closing": {"size": 3, "mode": modes},
        "laplace": {"mode": modes},
        "maximum_filter": {"size": (3, 2), "mode": modes, "axes": (1, 0)},
        "median_filter": {"size": 3, "mode": modes},
        "minimum_filter": {"footprint": np.ones((3, 1)), "mode": modes},
        "percentile_filter": {"percentile": 100, "size": 3, "mode": modes},
        "prewitt": {"axis": -2, "mode": modes},
        "uniform_filter": {"size": 3, "mode": modes, "axes": (0, 1)},
    }.items():
        check(name, np.uint8, {**arguments, "cval": 7}, [(6, 5)])
    for name, arguments in {
        "binary_dilation": {"structure": [1, 1, 1, 0]},
        "convolve": {"weights": [1, 2, 4, 8], "origin": 1},
        "correlate": {"weights": [1, 2, 4, 8], "origin": -1},
        "generic_filter": {"function": np.median, "size": 3},
        "grey_dilation": {"footprint": [1, 0, 1, 1]},
        "grey_erosion": {"structure": [1, 0, 2]},
        "grey_opening": {"structure": [1, 0, 2, 1]},
        "maximum_filter": {"footprint": [1, 0, 1, 1], "origin": 1},
        "median_filter": {"footprint": [1, 0, 1, 1]},
        "rank_filter": {"rank": 1, "size": 4, "origin": -2},
    }.items():
        for axes in (0, (-1,)):
            check(name, np.float32, {**arguments, "axes": axes}, [(6, 5), (2, 9)])


@pytest.mark.parametrize(("shape", "dtype"), [((17,), np.float32), ((11,), np.int64), ((3, 4, 5), np.uint8)], ids=str)
@pytest.mark.parametrize("mode", ["reflect", "constant"])
def test_other_ranks(shape: tuple[int, ...], dtype: Any, mode: str) -> None:
    rank = len(shape)
    footprint = np.ones((3,) * rank)
    footprint[(0,) * rank] = 0
    simple: dict[str, dict[str, Any]] = {
        "correlate": {"weights": footprint * 0.3},
        "gaussian_filter": {"sigma": 1},
        "gaussian_gradient_magnitude": {"sigma": 1},
        "grey_opening": {"size": 3},
        "maximum_filter": {"footprint": footprint},
        "median_filter": {"footprint": footprint},
        "percentile_filter": {"percentile": 40, "size": 4, "origin": 1},
        "rank_filter": {"rank": 1, "size": 3},
        "sobel": {"axis": 0},
        "uniform_filter": {"size": 3},
    }
    for name, arguments in simple.items():
        check(name, dtype, {**arguments, "mode": mode, "cval": 1}, [shape])
    check("binary_dilation", dtype, {"iterations": 2}, [shape])


def test_windows_far_larger_than_the_array() -> None:
    for name, arguments in {
        "gaussian_filter": {"sigma": 9},
        "median_filter": {"size": 11},
        "minimum_filter": {"size": (3, 25)},
        "correlate": {"weights": np.arange(15.0 * 13).reshape(15, 13)},
    }.items():
        for mode in MODES:
            check(name, np.float64, {**arguments, "mode": mode, "cval": 0.1}, [(2, 3), (1, 4), (5, 1)])


def test_one_element_of_rank_0() -> None:
    source, out = described("uniform_filter", np.float32, {}, 0)
    assert run(sl.build_pipeline([source], [out]), np.array(3, np.float32), np.float32) == 3


@given(
    st.sampled_from(["same", "opposite", "any"]),
    st.integers(1, 5),
    st.sampled_from([np.float32, np.float64, np.uint8, np.int64]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(1, 9),
    st.sampled_from([(5,), (1,), (4, 3), (20000,), (2, 3, 2)]),
    st.integers(0, 99),
)
def test_thin_strips_are_summed_as_scipy_does(
    sides: str, half: int, dtype: Any, out_dtype: Any, rows: int, across: tuple[int, ...], seed: int
) -> None:
    random = np.random.default_rng(seed)
    one = random.normal(size=half)
    other = {"same": one, "opposite": -one, "any": random.normal(size=half)}[sides][::-1]
    weights = np.concatenate([one, random.normal(size=seed % 2), other])
    piece = image((rows + len(weights) - 1, *across), dtype, seed)
    before, output = len(weights) // 2, np.dtype(out_dtype)
    for axis, array in ((0, piece), (piece.ndim - 2, np.moveaxis(piece, 0, -2))):
        if lines.gives_the_same():
            whole = scipy.ndimage.correlate1d(array, weights, axis, output)
            inside = np.moveaxis(np.moveaxis(whole, axis, 0)[before : before + rows], 0, axis)
            found = lines.correlated(array, lines.weights_of(weights), axis, output)
            assert same(np.ascontiguousarray(found), np.ascontiguousarray(inside))


def test_scipy_sums_strips_where_bits_would_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "gives_the_same", lambda: False)
    monkeypatch.setattr(linear, "correlated", None)
    p, dtype = looped("gaussian_filter", np.float32, {"sigma": 1}, (2, None))
    array = image((20, 900), np.float32)
    assert same(run(p, array, dtype), scipy.ndimage.gaussian_filter(array, 1))


@pytest.mark.parametrize("name", ["correlate1d", "convolve1d", "gaussian_filter", "sobel", "laplace"])
def test_filters_by_thin_strips(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    summed = []
    own = linear.correlated

    def counted(piece: np.ndarray, weights: Any, axis: int, dtype: Any) -> np.ndarray:
        summed.append(own(piece, weights, axis, dtype))
        return summed[-1]

    monkeypatch.setattr(linear, "correlated", counted)
    arguments = {"weights": [1, 2, 4, 1], "axis": 0} if name.endswith("1d") else CASES[name][0]
    more: dict[str, Any] = {"mode": "mirror", **arguments}
    p, dtype = looped(name, np.float32, more, (3, None))
    array = image((20, 1500), np.float32)
    assert same(run(p, array, dtype), getattr(scipy.ndimage, name)(array, **more))
    # Not a row more than asked for, in all.
    assert not lines.gives_the_same() or sum(len(each) for each in summed) == 20


def test_widths_are_as_precise_as_they_are_given() -> None:
    check("gaussian_filter", np.float64, {"sigma": np.float32(1.3)}, [(9, 8)])
    check("gaussian_filter", np.float64, {"sigma": np.array([2, 1])}, [(9, 8)])


# ------------------------------------------------------------------------------------------------------ the table


def test_the_table_has_all_filters() -> None:
    offered = {name for name in sl.ndimage.__all__ if inspect.isfunction(getattr(sl.ndimage, name))}
    assert offered == set(sl.ndimage.PIECES)
    assert {name for name, kind in sl.ndimage.PIECES.items() if kind is not Pieces.NONE} == set(CASES)
    assert list(sl.ndimage.PIECES) == sorted(sl.ndimage.PIECES)


def test_the_page_tells_of_all_that_is_not_exact() -> None:
    page = (Path(__file__).parent.parent / "docs" / "halos.md").read_text(encoding="utf-8")
    told = page[page.index("### By pieces") :]
    for name, kind in sl.ndimage.PIECES.items():
        if kind is not Pieces.EXACT:
            assert f"`{name}`" in told


@every_case
def test_axes_are_whole_where_the_table_says_so(name: str, number: int) -> None:
    for dtype in (np.uint8, np.float32):
        if isinstance(expected(name, image((2, 2), dtype), CASES[name][number]), Exception):
            continue
        source, out = described(name, dtype, CASES[name][number])
        kind = sl.ndimage.PIECES[name]
        is_whole = kind is Pieces.WHOLE or (kind is Pieces.ROUNDED and dtype == np.float32)
        copies_only = CASES[name][number].get("size") == 1
        assert ("whole" in str(sl.build_pipeline([source], [out]))) == (is_whole and not copies_only)


def test_means_that_may_be_rounded_in_another_way() -> None:
    """Sums from one end to the other, of numbers that are far apart."""
    arguments = {"size": 5, "reassociate": True}
    array = image((40, 50), np.float32)
    array[:, 3] = 1e6
    source, out = described("uniform_filter", np.float32, arguments)
    p = sl.build_pipeline([source], [out])
    assert "whole" not in str(p)
    whole = scipy.ndimage.uniform_filter(array, 5)
    pieces = run(sl.split_loop(p, "uniform_x.x", 7), array, np.float32)
    assert np.allclose(pieces, whole, rtol=1e-4, atol=1e-4)
    assert same(sl.ndimage.uniform_filter(array, 5, reassociate=True), whole)


def test_windows_with_nans_are_the_same_by_pieces() -> None:
    random = np.random.default_rng(0)
    array = image((12, 14), np.float64)
    array[random.random(array.shape) < 0.1] = np.nan
    array[array == 0] *= -1
    nan_nearby = scipy.ndimage.maximum_filter(np.isnan(array), 3)
    for name in ("minimum_filter", "maximum_filter", "grey_erosion", "median_filter", "rank_filter"):
        arguments = {"size": 3, **({"rank": 2} if name == "rank_filter" else {})}
        source, out = described(name, np.float64, arguments)
        found = run(sl.build_pipeline([source], [out]), array, np.float64)
        for steps in ((2, None), (None, 3)):
            assert same(run(looped(name, np.float64, arguments, steps)[0], array, np.float64), found)
        assert np.array_equal(found[~nan_nearby], getattr(scipy.ndimage, name)(array, **arguments)[~nan_nearby])


def test_medians_of_lines_are_the_same_by_pieces() -> None:
    """SciPy's function for these goes from one end to the other, and zeros of both signs are equal to it."""
    array = np.random.default_rng(0).choice([0.0, -0.0, 1.0, -1.0, np.nan], 60, p=[0.3, 0.3, 0.15, 0.15, 0.1])
    source, out = described("median_filter", np.float64, {"size": 4}, 1)
    p = sl.build_pipeline([source], [out])
    whole = run(p, array, np.float64)
    for step in (1, 3, 7):
        assert same(run(sl.split_loop(p, "median.x", step), array, np.float64), whole)


# ----------------------------------------------------------------------------------------------------- what it is for


def test_a_blur_by_strips_computes_each_row_once_and_keeps_few() -> None:
    source, out = described("gaussian_filter", np.float32, {"sigma": 1, "mode": "nearest"})
    func = out.producer
    assert func is not None
    func.loops([(func.dims[0], 4)])
    p = sl.build_pipeline([source], [out], require=[sl.same_shape(source, out)])
    array = image((100, 30), np.float32)
    statistics = p.run(array, (found := np.empty_like(array)))
    assert same(found, scipy.ndimage.gaussian_filter(array, 1, mode="nearest"))
    assert statistics.elements["gaussian_y"] == array.size
    assert statistics.program_bytes < array.nbytes / 3


def test_filters_after_filters() -> None:
    """An unsharp mask, its edges, and where they are: the funcs of one are the inputs of the next."""
    photo = sl.BufferExpr("photo", np.float32, 2)
    edges = sl.ndimage.sobel(sl.ndimage.gaussian_filter(photo, 1), axis=0)
    thick = sl.ndimage.binary_dilation(sl.elementwise(np.greater)(edges, 1.0), iterations=2)
    p = sl.build_pipeline([photo], [thick])
    array = image((20, 30), np.float32)
    by_hand = scipy.ndimage.sobel(scipy.ndimage.gaussian_filter(array, 1), axis=0) > 1
    assert same(run(p, array, bool), scipy.ndimage.binary_dilation(by_hand, iterations=2))


def test_buffers_as_outputs() -> None:
    for name, arguments in (
        ("gaussian_filter", {"sigma": 1}),
        ("laplace", {"axes": 1}),
        ("sobel", {}),
        ("white_tophat", {"size": 3}),
        ("gaussian_gradient_magnitude", {"sigma": 1}),
        ("morphological_gradient", {"size": 3}),
        ("binary_erosion", {"iterations": 2}),
        ("minimum_filter", {"size": 1}),
    ):
        array = image((6, 7), np.float32)
        source, target = sl.BufferExpr("source", np.float32, 2), sl.BufferExpr("target", np.float64, 2)
        assert getattr(sl.ndimage, name)(source, output=target, **arguments) is target
        into = np.zeros(array.shape)
        getattr(scipy.ndimage, name)(array, output=into, **arguments)
        assert same(run(sl.build_pipeline([source], [target]), array, np.float64), into), name


@pytest.mark.parametrize("output", [np.float64, "float32", np.dtype(np.int32), np.uint8])
def test_dtypes_as_outputs(output: Any) -> None:
    for name in ("gaussian_filter", "sobel", "laplace", "uniform_filter", "grey_opening", "morphological_gradient"):
        check(name, np.uint8, {**CASES[name][0], "output": output}, [(5, 6)])


def test_masks() -> None:
    array, mask = image((9, 8), bool), image((9, 8), bool, 1)
    for name in ("binary_erosion", "binary_dilation", "binary_opening", "binary_closing"):
        for iterations in (1, 3):
            source, where = sl.BufferExpr("source", bool, 2), sl.BufferExpr("mask", bool, 2)
            out = getattr(sl.ndimage, name)(source, iterations=iterations, mask=where)
            found = sl.build_pipeline([source, where], [out])(array, mask, np.empty_like(array))
            assert same(found, getattr(scipy.ndimage, name)(array, iterations=iterations, mask=mask))


@attrs.frozen(eq=False)
class Lazy:
    """A lazy array that is not lazy at all: each kernel is run at once, and counted."""

    value: np.ndarray
    kernels: list[sl.Kernel]
    __slinky_lazy__ = True

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def ndim(self) -> int:
        return self.value.ndim

    def __slinky_kernel__(self, kernel: sl.Kernel, args: Any, kwargs: Any) -> Lazy:
        self.kernels.append(kernel)
        arrays = [each.value if isinstance(each, Lazy) else each for each in args]
        return Lazy(kernel(*arrays, **kwargs), self.kernels)


@every_case
def test_lazy_arrays_are_given_one_kernel_for_each_axis(name: str, number: int) -> None:
    array, arguments = image((6, 7), np.float32), CASES[name][number]
    lazy = Lazy(array, [])
    assert same(getattr(sl.ndimage, name)(lazy, **arguments).value, getattr(scipy.ndimage, name)(array, **arguments))
    for kernel in lazy.kernels:
        moving = [window for window in kernel.windows(2) if not window.is_point]
        assert (
            len(moving) < 2
            or name in ("correlate", "convolve")
            or "footprint" in str(kernel.function).lower()
            or ("structure" in str(kernel.function).lower() or name == "binary_hit_or_miss")
        )


def test_arrays_are_scipys_own_matter() -> None:
    array = image((5, 6), np.float32)
    into = np.empty_like(array)
    assert sl.ndimage.gaussian_filter(array, 1, output=into) is into
    assert same(into, scipy.ndimage.gaussian_filter(array, 1))
    assert same(sl.ndimage.median_filter(array.tolist(), 3), scipy.ndimage.median_filter(array.tolist(), 3))


def test_signatures_are_scipys() -> None:
    for name in CASES:
        own = inspect.signature(getattr(sl.ndimage, name)).parameters
        theirs = inspect.signature(getattr(scipy.ndimage, name)).parameters
        assert [n for n in own if n in theirs] == list(theirs), name  # older releases have fewer
        for n, parameter in theirs.items():
            assert (own[n].default, own[n].kind) == (parameter.default, parameter.kind), (name, n)


# ------------------------------------------------------------------------------------------------------- refusals

_image = functools.partial(sl.BufferExpr, "image", rank=2)


@pytest.mark.parametrize(
    ("attempt", "error", "message"),
    [
        (lambda: sl.ndimage.gaussian_filter(_image(dtype=float), 1, mode="up"), RuntimeError, "mode not supported"),
        (lambda: sl.ndimage.uniform_filter(_image(dtype=float), 3, origin=2), ValueError, "invalid origin"),
        (lambda: sl.ndimage.median_filter(_image(dtype=complex), 3), TypeError, "Complex type not supported"),
        (lambda: sl.ndimage.sobel(_image(dtype=float), axis=2), ValueError, "out of bounds"),
        (lambda: sl.ndimage.gaussian_filter(_image(dtype=float)), TypeError, r"gaussian_filter\(\) .*sigma"),
        (
            lambda: sl.ndimage.laplace(_image(dtype=float), size=3),
            TypeError,
            r"laplace\(\) got an unexpected .* 'size'",
        ),
        (lambda: sl.ndimage.laplace(np.zeros(3), size=3), TypeError, r"laplace\(\) got an unexpected .* 'size'"),
        (
            lambda: sl.ndimage.generic_gradient_magnitude(_image(dtype=float), scipy.ndimage.sobel),
            sl.GraphError,
            r"the derivative sobel: given a buffer of a graph, it must return one; let it use .* \(AxisError: ",
        ),
        (
            lambda: sl.ndimage.generic_laplace(_image(dtype=float), lambda *given: np.zeros((1, 1))),
            sl.GraphError,
            r"the derivative <lambda>: .* it must return one; let it use sl\.ndimage \(it returned ndarray\)",
        ),
        (
            lambda: sl.ndimage.binary_dilation(_image(dtype=bool), iterations=0),
            sl.ArgumentError,
            "goes on until nothing changes, which depends on all of the image",
        ),
        (
            lambda: sl.ndimage.gaussian_filter(_image(dtype=np.complex64), 1, mode="constant", cval=0.1),
            sl.ArgumentError,
            r"the array is complex64, which does not hold cval=0\.1; convert it before",
        ),
        (
            lambda: sl.ndimage.median_filter(_image(dtype=np.uint8), 3, mode="constant", cval=300),
            sl.ArgumentError,
            "the array is uint8, which does not hold cval=300",
        ),
        (
            lambda: sl.ndimage.sobel(_image(dtype=float), output=np.zeros((3, 3))),
            sl.ArgumentError,
            r"sl\.ndimage\.sobel: the output .* is a dtype or a buffer of the graph, got an array",
        ),
        (
            lambda: sl.ndimage.sobel(_image(dtype=float), output=sl.BufferExpr("out", float, 3)),
            sl.GraphError,
            r"sl\.ndimage\.sobel: 'out' has rank 3, its input has rank 2",
        ),
        (
            lambda: sl.ndimage.minimum_filter1d(Lazy(np.zeros(3), []), 3, output=sl.BufferExpr("out", float, 1)),
            sl.ArgumentError,
            "a lazy array cannot be written to 'out', a buffer of a graph",
        ),
    ],
)
def test_what_is_refused(attempt: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        attempt()


def test_scipy_is_asked_for_when_a_filter_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.ndimage", None)
    with pytest.raises(ImportError, match=r"sl\.ndimage needs the package scipy: pip install 'slinky\[ndimage\]'"):
        sl.ndimage.sobel(np.zeros(3))


def test_importing_leaves_filters_to_those_who_ask_for_them() -> None:
    code = """
import sys, slinky
assert not any("scipy" in name or "frontend.ndimage" in name for name in sys.modules)
assert slinky.ndimage is sys.modules["slinky.frontend.ndimage"]
assert not any("scipy" in name for name in sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_a_function_is_given_tells_filters_apart() -> None:
    """Filters that differ in what they hand on to a function, or in the sign of a zero, are others."""

    def scaled(window: np.ndarray, scale: Any = 1.0) -> float:
        return float(window.sum() / scale)

    def line(source: np.ndarray, target: np.ndarray, scale: Any = 1.0) -> None:
        target[...] = source[: len(target)] * scale

    array = image((9, 8), np.float64)
    for scale in (2.0, 3.0, 2):
        for name, call in {
            "generic_filter": lambda x, s: sl.ndimage.generic_filter(x, scaled, 3, extra_arguments=(s,)),
            "generic_filter1d": lambda x, s: sl.ndimage.generic_filter1d(x, line, 3, extra_keywords={"scale": s}),
        }.items():
            got = sl.jit(smallest=0)(lambda x, call=call, scale=scale: call(x, scale))(array)
            assert same(got, call(array, scale)), (name, scale)
    for zero in (0.0, -0.0):
        got = sl.jit(smallest=0)(lambda x, z=zero: sl.ndimage.minimum_filter1d(abs(x) + 1, 3, mode="constant", cval=z))
        assert np.signbit(got(array)[0, 0]) == np.signbit(zero)
