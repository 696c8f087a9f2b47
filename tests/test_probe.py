"""What functions read, as `probe` sees it: halos that are known, rates, whole axes, edges, and what is not local."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import ndimage, signal

import slinky as sl


def probe(function: Callable[..., Any], *given: Any, **options: Any) -> sl.ProbeReport:
    """A report whose draft has been found to be right."""
    report = sl.probe(function, *given, **options)
    assert report.verified, str(report)
    return report


def test_a_filter_is_declared_in_one_line() -> None:
    def blur(image: Any) -> Any:
        return ndimage.gaussian_filter(image, (1, 2), mode="mirror")

    report = probe(blur, (30, 50))
    assert str(report) == (
        f"blur of (30, 50) gives float64 of (30, 50); {report.calls} calls\n"
        "- a, axis 0: reads 4 before, 4 after, along axis 0 of the result, mirror at the edges\n"
        "- a, axis 1: reads 8 before, 8 after, along axis 1 of the result, mirror at the edges\n"
        "- the draft passes verify_func\n"
        "\n"
        'blur = sl.stencil(halo=((4, 4), (8, 8)), boundary="mirror")(blur)'
    )
    assert report.decorator == '@sl.stencil(halo=((4, 4), (8, 8)), boundary="mirror")'
    assert (report.halo, report.boundary) == (((4, 4), (8, 8)), ("mirror", "mirror"))
    assert (report.rate, report.whole, report.exact) == ((1, 1), (), True)


# SciPy's filters ------------------------------------------------------------------------------------------------------


@pytest.mark.sweep
@pytest.mark.parametrize("mode", ["reflect", "nearest", "mirror", "wrap", "constant"])
@pytest.mark.parametrize(
    ("function", "halo"),
    [
        (lambda a, mode: ndimage.uniform_filter(a, (5, 1), mode=mode), ((2, 2), (0, 0))),
        (lambda a, mode: ndimage.median_filter(a, (3, 5), mode=mode), ((1, 1), (2, 2))),
        (lambda a, mode: ndimage.maximum_filter(a, (1, 6), mode=mode), ((0, 0), (3, 2))),
        (lambda a, mode: ndimage.percentile_filter(a, 20, (5, 3), mode=mode), ((2, 2), (1, 1))),
        (lambda a, mode: ndimage.correlate1d(a, [1, 2, 3, 4, 5, 6], axis=1, origin=2, mode=mode), ((0, 0), (5, 0))),
        (lambda a, mode: ndimage.gaussian_laplace(a, 1, mode=mode), ((4, 4), (4, 4))),
    ],
)
def test_filters(function: Callable[..., Any], halo: Any, mode: str) -> None:
    report = probe(lambda a: function(a, mode), (26, 29))
    assert report.halo == halo
    for (before, after), rule in zip(halo, report.boundary, strict=True):
        if (before, after) == (0, 0):
            assert rule is None
        elif max(before, after) > 1:
            # A maximum does not tell an element that is there twice.
            assert rule == mode or any("give the same" in note and mode in note for note in report.notes)


def test_integers_and_bools() -> None:
    rng = np.random.default_rng(3)
    pixels = rng.integers(0, 250, (25, 31)).astype(np.uint8)
    assert probe(lambda a: ndimage.grey_erosion(a, (3, 5)), pixels).halo == ((1, 1), (2, 2))
    assert probe(lambda a: a // 2 + 1, (9, 20), dtype=np.int16).is_elementwise
    mask = rng.random((30, 31)) < 0.8
    report = probe(ndimage.binary_erosion, mask)
    assert report.halo == ((1, 1), (1, 1))
    assert report.boundary == ("constant", "constant")
    assert report.decorator == '@sl.stencil(halo=((1, 1), (1, 1)), boundary="constant")'


def test_an_edge_of_its_own() -> None:
    """`np.gradient` has other formulas at the ends: no rule says that, but windows that end there do."""
    report = probe(lambda a: np.gradient(a, axis=1), (12, 30))
    assert report.halo == ((0, 0), (1, 1))
    assert report.boundary == (None, "own")
    assert report.decorator is None
    a, b, c = (sl.BufferExpr(name, float, 2) for name in "abc")
    y, x = sl.variables("y x")
    sl.Func(np.negative, [a[y, x]], [b[y, x]], name="negative")
    report.func(b, c)
    p = sl.build_pipeline([a], [c])
    p, (rows, _, _) = sl.split_loop(p, f"{report.draft.name}.x", 7, rc=True)
    p = sl.compute_at(p, "negative", rows)
    data = np.random.default_rng(0).random((20, 40))
    assert np.array_equal(p(data, np.empty_like(data)), np.gradient(-data, axis=1))


# NumPy's functions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "shape", "decorator"),
    [
        (np.sin, (12,), "@sl.elementwise"),
        (lambda a: a > 0.5, (20, 21), '@sl.elementwise(dtype="bool")'),
        (lambda a: np.clip(a * 1.5 - 0.2, 0, 1), (30,), "@sl.elementwise"),
        (lambda a: np.diff(a, n=2), (20, 31), "@sl.stencil(halo=((0, 0), (0, 2)))"),
        (lambda a: np.convolve(a, [1, 2, 3], "valid"), (40,), "@sl.stencil(halo=((0, 2),))"),
        (lambda a: np.convolve(a, [1, 2, 3], "same"), (40,), '@sl.stencil(halo=((1, 1),), boundary="constant")'),
        (lambda a: np.cumsum(a, axis=0), (20, 21), "@sl.rowwise(axis=-2)"),
        (lambda a: np.sort(a, axis=-1), (20, 21), "@sl.rowwise(axis=-1)"),
        (lambda a: a - a.mean(axis=1, keepdims=True), (20, 21), "@sl.rowwise(axis=-1)"),
        (np.fft.rfft, (20, 22), '@sl.rowwise(axis=-1, dtype="complex128", size=lambda n: n // 2 + 1)'),
        (lambda a: np.roll(a, 3), (40,), '@sl.stencil(halo=((3, 0),), boundary="wrap")'),
        (lambda a: a[::2] + a[1::2], (40,), '@sl.stencil(halo=((0, 0),), rate="1/2")'),
        (lambda a: np.repeat(a, 3), (40,), "@sl.stencil(halo=((0, 0),), rate=3)"),
        (
            lambda a: ndimage.gaussian_filter(a, 1)[::2],
            (60,),
            '@sl.stencil(halo=((4, 4),), boundary="reflect", rate="1/2")',
        ),
        (
            lambda a: np.cumsum(ndimage.uniform_filter1d(a, 3, axis=0), axis=1),
            (30, 31),
            '@sl.stencil(halo=((1, 1),), axes=(0,), whole=(1,), boundary="reflect")',
        ),
        (lambda a: np.lib.stride_tricks.sliding_window_view(a, 5).std(axis=-1), (40,), "@sl.stencil(halo=((0, 4),))"),
        (signal.medfilt, (40,), '@sl.stencil(halo=((1, 1),), boundary="constant")'),
    ],
)
def test_decorators(function: Callable[..., Any], shape: tuple[int, ...], decorator: str) -> None:
    report = probe(function, shape)
    assert report.decorator == decorator
    other = np.random.default_rng(1).random([2 * n for n in shape])
    np.testing.assert_allclose(report.kernel(other), function(other), rtol=1e-12)
    assert sl.verify_func(report.kernel, shape, atol=0 if report.exact else 1e-9)


def test_turned_axes_are_funcs() -> None:
    assert probe(np.transpose, (20, 21)).text.endswith(
        'func = sl.Func(sl.returns(transpose), [a[x, y]], [out[y, x]], name="transpose")'
    )
    report = probe(np.flip, (30,))
    assert report.rate == (-1,)
    report = probe(np.rot90, (20, 22))
    assert [each.moves_with for each in report.reads[0] if each] == [1, 0]
    assert probe(lambda a: np.moveaxis(a, 0, 2), (12, 13, 14)).halo == ((0, 0),) * 3
    report = probe(lambda a: a[::2], (33,))
    assert report.rate == (Fraction(1, 2),)
    assert "[a[2 * x]]" in report.text
    assert "[a[x, x]]" in probe(lambda a: np.diagonal(a).copy(), (30, 30)).text


def test_axes_that_are_reduced() -> None:
    report = probe(lambda a: a.max(axis=1), (20, 21))
    assert report.whole == (1,)
    assert "[a[x, :]], [out[x]]" in report.text
    report = probe(lambda a: a.max(), (20, 21))
    assert not report.is_local
    assert "[a[:, :]], [out[()]]" in report.text


def test_several_arrays() -> None:
    assert probe(lambda a, b: a + b, (16, 17), (16, 17)).decorator == "@sl.elementwise"
    assert probe(lambda a, b: a * b, (16, 17), (17,)).decorator == "@sl.elementwise"
    assert "[a[y, :], b[:, x]]" in probe(lambda a, b: a @ b, (16, 17), (17, 18)).text
    assert "[a[y], b[x]]" in probe(lambda a, b: np.outer(a, b), (16,), (18,)).text
    report = probe(lambda a, b: a + ndimage.maximum_filter1d(b, 3), (30,), (30,))
    assert report.decorator == '@sl.stencil(halo=((1, 1),), boundary="reflect")'
    assert [own[0].before for own in report.seen if own[0]] == [0, 1]


def test_what_nothing_depends_on() -> None:
    report = probe(lambda a, b: a * 2, (20,), (20,))
    assert report.seen[1] == (None,)
    assert "b, axis 0: nothing depends on it" in str(report)
    assert probe(np.zeros_like, (20, 21)).seen == ((None, None),)


# What is not local ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a - a.mean(),
        lambda a: a + a.T,
        lambda a: ndimage.label(a > 0.5)[0],
        lambda a: a - a[0, 0],
        lambda a: np.linalg.inv(a),
    ],
)
def test_functions_that_need_everything(function: Callable[..., Any]) -> None:
    report = probe(function, (20, 20))
    assert not report.is_local
    assert report.whole == (0, 1)
    assert report.why is not None
    assert f"not local: {report.why}" in str(report)


def test_reads_that_are_local_and_pieces_that_are_not() -> None:
    """It reads one element for each, and goes by where that is: what is seen is not what can be declared."""
    report = probe(np.tril, (24, 24))
    assert not report.is_local
    assert all(each is not None and each.is_point for each in report.seen[0])
    assert report.why is not None
    assert "depends on the piece" in report.why


def test_only_some_axes_can_be_cut() -> None:
    def brighter_downwards(a: Any) -> Any:
        return a * np.arange(len(a))[:, None]

    report = probe(brighter_downwards, (20, 21))
    assert report.decorator == "@sl.rowwise(axis=-2)"
    assert "depends on the piece" in str(report)


# What is hard to see --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_functions_with_flat_parts(seed: int) -> None:
    def edges(a: Any) -> Any:
        return np.where(ndimage.sobel(np.clip(a, 0.2, 0.8)) > 0.3, 1, 0)

    def nearly_all(a: Any) -> Any:
        return ndimage.rank_filter(a, -2, 7) > 100

    assert probe(edges, (30,), seed=seed).halo == ((1, 1),)
    assert probe(nearly_all, (50,), seed=seed).halo == ((3, 3),)
    assert probe(lambda a: np.sqrt(ndimage.uniform_filter1d(a, 5)), (40,), seed=seed).halo == ((2, 2),)


def test_rounding_is_not_reading() -> None:
    """A running sum has the rounding of all elements before: the window is what matters, and that is said."""
    report = probe(lambda a: (lambda c: (c[5:] - c[:-5]) / 5)(np.cumsum(a)), (60,))
    assert report.halo == ((0, 5),)
    assert not report.exact
    assert "pieces differ from the whole as by rounding: verify with a tolerance" in report.notes
    assert "passes verify_func, but for rounding" in str(report)


def test_single_precision() -> None:
    image = np.random.default_rng(0).random(90).astype(np.float32)
    report = probe(lambda a: ndimage.gaussian_filter(a, 2), image)
    assert (report.halo, report.dtype) == (((8, 8),), np.float32)
    assert probe(lambda a: a * 2, (20,), dtype=np.complex64).dtypes["complex64"] == "complex64"


def test_dtypes_of_results() -> None:
    report = probe(lambda a: a / 2, (20,))
    assert report.dtypes["int32"] == "float64"
    assert report.dtypes["float32"] == "float32"


def test_the_same_seed_finds_the_same() -> None:
    def f(a: Any) -> Any:
        return ndimage.median_filter(a, 3)

    assert str(sl.probe(f, (20, 20), seed=4)) == str(sl.probe(f, (20, 20), seed=4))


def test_calls_are_bounded_by_the_window_not_by_the_array() -> None:
    def f(a: Any) -> Any:
        return ndimage.maximum_filter1d(a, 3)

    small, large = probe(f, (100,)), probe(f, (5000,))
    assert large.calls <= small.calls * 1.1
    assert large.calls < 900


def test_the_function_may_write_to_what_it_is_given() -> None:
    def spoils(a: Any) -> Any:
        a *= 2
        return a

    data = np.ones(20)
    assert sl.probe(spoils, data)
    assert np.array_equal(data, np.ones(20))


def test_a_draft_that_is_wrong_says_so() -> None:
    """A function that writes what it reads is no callback, however it is declared."""

    def spoils(a: Any) -> Any:
        a *= 2
        return a

    report = sl.probe(spoils, (20,))
    assert not report.verified
    assert "read-only" in str(report)


# Bad input ------------------------------------------------------------------------------------------------------------


def test_what_is_refused() -> None:
    rng = np.random.default_rng(0)
    for function, given, message in (
        (3, [(4,)], "probe takes a function, got 3"),
        (np.sin, [], "got none"),
        (np.sin, [(3, 0)], "has shape \\(3, 0\\)"),
        (lambda a: (a, a), [(4,)], "returns an array, got tuple"),
        (lambda a: None, [(4,)], "got NoneType"),
        (lambda a: np.unique(a > 0), [(20,)], "depends on the values"),
        (lambda a: a + rng.random(), [(20,)], "two results"),
        (lambda a: a.astype(str), [(20,)], "array of numbers"),
    ):
        with pytest.raises(sl.ArgumentError, match=message):
            sl.probe(function, *given)  # type: ignore[arg-type]
    with pytest.raises(sl.ArgumentError, match="rounds"):
        sl.probe(np.sin, (3,), rounds=0)
    with pytest.raises(ZeroDivisionError):
        sl.probe(lambda a: 1 // 0, (3,))
    with pytest.raises(sl.GraphError, match="needs 2 buffers"):
        sl.probe(np.sin, (20,)).func(sl.BufferExpr("a", float, 1))
    with pytest.raises(sl.GraphError, match="buffer of float64, rank 1"):
        sl.probe(np.sin, (20,)).func(sl.BufferExpr("a", float, 2), sl.BufferExpr("b", float, 1))


def test_edges_of_two_kinds() -> None:
    """One axis has a rule of its own at the edges, and another one that has a name."""
    report = probe(lambda a: ndimage.uniform_filter1d(np.gradient(a, axis=1), 3, axis=0), (30, 31))
    assert report.halo == ((1, 1), (1, 1))
    assert report.boundary == ("own", "own")


@pytest.mark.parametrize("dtype", ["g", "G", ">f8", ">c8", ">i4", ">u2", ">m8[s]"])
def test_dtypes_with_padding_and_of_another_byte_order_are_probed_as_others(dtype: str) -> None:
    given = np.arange(1, 73).astype("i8" if "m8" in dtype else dtype).astype(dtype).reshape(8, 9)
    assert "sl.elementwise" in str(sl.probe(lambda x: x + x, given))
    assert "sl.stencil(halo=((0, 1), (0, 0)))" in str(sl.probe(lambda x: x[1:] + x[:-1], given))


def test_random_arrays_have_the_dtype_that_is_asked_for() -> None:
    assert "sl.elementwise" in str(sl.probe(lambda x: x * 2, (8, 9), dtype=">f4"))


def test_arrays_that_take_too_much_are_refused_before_they_are_made() -> None:
    """Those that are given, too: parts of them tell as much."""
    huge = np.broadcast_to(np.uint8(1), (1 << 14, 1 << 13))
    for given in ((1 << 15, 1 << 15), huge):
        with pytest.raises(sl.ArgumentError, match=r"at most 1,073,741,824 are allowed\. Give it smaller ones"):
            sl.probe(lambda x: x, given)
