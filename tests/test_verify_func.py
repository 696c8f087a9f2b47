"""Callbacks that keep their word pass `verify_func`, and those that do not are found, with what to declare instead."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import slinky as sl

y, x = sl.variables("y x")


def line(callback: Callable[..., Any], before: int = 0, after: int = 0, dtype: Any = float, **options: Any) -> sl.Func:
    """A func of one dimension that reads a window."""
    a, b = (sl.BufferExpr(name, dtype, 1) for name in "ab")
    return sl.Func(callback, [a[sl.interval(x - before, x + after)]], [b[x]], name="f", **options)


def image(callback: Callable[..., Any], halo: int = 0, dtype: Any = float, **options: Any) -> sl.Func:
    """A func of two dimensions that reads a window."""
    a, b = (sl.BufferExpr(name, dtype, 2) for name in "ab")
    window = a[sl.interval(y - halo, y + halo), sl.interval(x - halo, x + halo)]
    return sl.Func(callback, [window], [b[y, x]], name="f", **options)


def three(a: Any, b: Any) -> None:
    b[...] = a[:-2] + a[1:-1] + a[2:]


# What keeps its word --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.float32, np.float64, complex, "M8[s]", "S3"])
def test_copies_of_any_dtype(dtype: Any) -> None:
    report = sl.verify_func(image(sl.returns(np.copy), dtype=dtype))
    assert report
    assert report.check() is report
    assert str(report) == f"func f: nothing wrong in {report.runs} runs"


def test_ufuncs_and_windows() -> None:
    assert sl.verify_func(line(np.negative))
    assert sl.verify_func(line(three, 1, 1))
    assert sl.verify_func(image(lambda a, b: np.copyto(b, ndimage.median_filter(a, 3)[1:-1, 1:-1]), 1))


def test_not_a_number_equals_itself() -> None:
    assert sl.verify_func(line(sl.returns(lambda a: np.where(a > 0, np.nan, a))))


def test_rates_whole_dimensions_constants_and_scalars() -> None:
    a, b, c, d = (sl.BufferExpr(name, np.int64, 1) for name in "abcd")
    pairs = sl.Func(lambda a, b: np.add(a[::2], a[1::2], out=b), [a[sl.interval(2 * x, 2 * x + 1)]], [b[x]], name="p")
    assert sl.verify_func(pairs)
    assert sl.verify_func(pairs, (20,))
    assert sl.verify_func(sl.Func(sl.returns(np.cumsum), [a[x]], [c[x]], name="sum", whole=["x"]))
    weights = sl.constant("weights", [1, 2, 3])
    n = sl.scalar("n")

    def weighted(a: Any, weights: Any, d: Any, n: int, gain: float) -> None:
        d[...] = sum(weights[k] * a[k : k + len(d)] for k in range(3)) * n + int(gain)

    f = sl.Func(
        weighted,
        [a[sl.interval(x - n, x - n + 2)], weights[:]],
        [d[x]],
        arguments={"n": n, "gain": sl.scalar("gain", float)},
    )
    assert sl.verify_func(f)
    assert sl.verify_func(f, np.arange(12), scalars={"n": 3})


def test_several_outputs_and_coordinates() -> None:
    a, b, c = sl.BufferExpr("a", float, 2), sl.BufferExpr("b", float, 2), sl.BufferExpr("c", float, 1)

    def both(a: Any, b: Any, c: Any) -> None:
        c[...] = a.sum(axis=1)
        b[...] = a

    assert sl.verify_func(sl.Func(both, [a[y, x]], [b[y, x], c[y]], name="both"))
    ramp = sl.BufferExpr("ramp", float, 1)

    def coordinates(out: sl.Buffer) -> None:
        out.array[...] = out.min[0] + np.arange(out.shape[0])

    assert sl.verify_func(sl.Func(coordinates, [], [ramp[x]], pass_buffers=True))


def test_blocks_are_cut_where_they_may_be() -> None:
    a, b = sl.BufferExpr("a", int, 1), sl.BufferExpr("b", int, 1)
    b.dim(0).multiple = 4

    def reversed_blocks(a: Any, b: Any) -> None:
        b[...] = a.reshape(-1, 4)[:, ::-1].reshape(-1)

    assert sl.verify_func(sl.Func(reversed_blocks, [a[x]], [b[x]]))


def test_sizes_that_are_asked_for() -> None:
    """Along what is computed whole, all that is read is as long; bounds that are assigned are kept to."""

    def softmax(rows: Any, out: Any) -> None:
        powers = np.exp(rows - rows.max(axis=1, keepdims=True))
        np.divide(powers, powers.sum(axis=1, keepdims=True), out=out)

    a, b, c = (sl.BufferExpr(name, float, 2) for name in "abc")
    assert sl.verify_func(sl.Func(softmax, [a[y, :]], [b[y, x]], whole=["x"]))

    def swapped(pair: Any, out: Any) -> None:
        out[...] = pair[:, ::-1]

    func = sl.Func(swapped, [a[y, sl.interval(0, 1)]], [c[y, x]], whole=["x"])
    c.dim(1).bounds = sl.interval(0, 1)
    assert sl.verify_func(func)
    d, e = sl.BufferExpr("d", float, 1), sl.BufferExpr("e", float, 1)
    d.dim(0).multiple = 4
    assert sl.verify_func(sl.Func(np.negative, [d[x]], [e[x]]))


def test_inputs_without_dimensions() -> None:
    a, b, c = sl.BufferExpr("a", float, 1), sl.BufferExpr("b", float, 0), sl.BufferExpr("c", float, 1)
    assert sl.verify_func(sl.Func(np.multiply, [a[x], b[()]], [c[x]]))
    assert sl.verify_func(sl.Func(lambda b, c: c.fill(b), [b[()]], [sl.BufferExpr("d", float, 1)[x]], name="fill"))


# What does not --------------------------------------------------------------------------------------------------------


def test_a_mean_is_found_and_what_to_declare() -> None:
    report = sl.verify_func(image(sl.returns(lambda a: a - a.mean(axis=1, keepdims=True))))
    assert not report
    (finding,) = report.findings
    assert finding.kind == "depends on the piece"
    assert finding.output == "b"
    assert finding.piece is not None
    assert finding.at is not None
    assert all(lo <= k <= hi for k, (lo, hi) in zip(finding.at, finding.piece, strict=True))
    assert finding.piece[1][0] == finding.piece[1][1]  # the smallest: of one column
    assert "along x each element depends on where the piece ends: declare whole=['x']" in finding.advice.replace(
        "Along", "along"
    )
    assert "whole=['y']" not in finding.advice
    with pytest.raises(sl.DeclarationError, match="func f is not what it declares\n- depends on the piece"):
        report.check()


def test_what_it_says_to_declare_passes() -> None:
    function = sl.returns(lambda a: a - a.mean(axis=1, keepdims=True))
    assert sl.verify_func(image(function, whole=["x"]))


def test_a_window_that_is_too_small() -> None:
    def wider(a: Any, b: Any) -> None:
        three(np.pad(a, (1, 3), mode="edge")[:-2], b)

    finding = sl.verify_func(line(wider)).findings[0]
    assert finding.kind == "depends on the piece"
    assert "along x only the first 1 and the last 1 of a piece differ" in finding.advice.lower()


def test_a_window_that_is_too_large_is_noted() -> None:
    report = sl.verify_func(line(lambda a, b: three(a[1:], b), 2, 1))
    assert report
    assert report.notes == (
        "of the elements of a that it declares to read, the first along dimension 0 never mattered",
    )


@pytest.mark.parametrize("given", [(), ((20,),)], ids=["of several sizes", "of one size"])
def test_an_end_that_matters_to_some_elements_only_is_not_noted(given: tuple[Any, ...]) -> None:
    """The pieces of a func with phases: of c = 0, 1, 2 the first, the middle one and the last of three elements."""
    (c, x) = sl.variables("c x")
    a, b = sl.BufferExpr("a", np.float64, 1), sl.BufferExpr("b", np.float64, 2)

    def phases(source: sl.Buffer, target: sl.Buffer) -> None:
        for k, row in enumerate(target.array, target.min[0]):
            row[...] = source.array[k::3][: len(row)]

    window = a[sl.interval(3 * x, 3 * x + 2)]
    func = sl.Func(phases, [window], [b[c, x]], name="phases", pass_buffers=True)
    b.dim(0).bounds = sl.interval(0, 2)
    report = sl.verify_func(func, *given, *([np.zeros((3, 6))] if given else []))
    assert report
    assert report.notes == ()


def test_state() -> None:
    calls = itertools.count()
    report = sl.verify_func(line(lambda a, b: np.add(a, next(calls), out=b)))
    assert report.findings[0].kind == "not deterministic"
    seen: set[int] = set()

    def remembers_sizes(a: Any, b: Any) -> None:
        np.add(a, len(seen), out=b)
        if len(a) < 3:
            seen.add(1)

    report = sl.verify_func(line(remembers_sizes), sizes=[7])
    assert [finding.kind for finding in report.findings] == ["keeps state"]
    rng = np.random.default_rng(0)
    report = sl.verify_func(line(lambda a, b: np.add(a, rng.random(len(a)), out=b)))
    assert report.findings[0].kind == "not deterministic"


def test_the_size_and_the_place_of_a_piece() -> None:
    def other_for_one(a: Any, b: Any) -> None:
        np.multiply(a, 3 if len(a) == 1 else 2, out=b)

    finding = sl.verify_func(line(other_for_one)).findings[0]
    assert finding.kind == "depends on the piece"
    assert finding.advice == "Along x only small pieces differ: let it compute these like large ones"

    def from_its_start(a: sl.Buffer, b: sl.Buffer) -> None:
        np.multiply(a.array, np.arange(len(a.array)), out=b.array)

    assert sl.verify_func(line(from_its_start, pass_buffers=True)).findings[0].kind == "depends on the piece"


@pytest.mark.parametrize(
    "is_special",
    [
        lambda a: a.flags.c_contiguous,
        lambda a: a.flags.f_contiguous,
        lambda a: a.strides[0] == a.itemsize * a.shape[1],
        lambda a: a.strides[1] < 0,
        lambda a: a.ctypes.data % 64 == 0 and a.size > 1,
    ],
)
def test_layouts(is_special: Callable[[Any], bool]) -> None:
    def other_if_special(a: Any, b: Any) -> None:
        np.multiply(a, 3 if is_special(a) and a.size > 1 else 2, out=b)

    report = sl.verify_func(image(other_if_special), sizes=[4, 5])
    assert not report
    assert report.findings[0].kind in ("depends on the layout", "not deterministic", "depends on the piece")


def test_outputs_that_lie_elsewhere() -> None:
    def writes_to_a_copy(a: Any, b: Any) -> None:
        b.reshape(-1)[...] = a.reshape(-1)

    finding = sl.verify_func(image(writes_to_a_copy)).findings[0]
    assert finding.kind in ("depends on the layout", "fails checked mode")


def test_inputs_are_not_written() -> None:
    def spoils(a: Any, b: Any) -> None:
        b[...] = a
        a[...] = 0

    assert sl.verify_func(line(spoils)).findings[0].kind == "writes an input"
    finding = sl.verify_func(line(spoils, writable_inputs=True)).findings[0]
    assert (finding.kind, finding.text) == ("writes an input", "it wrote to a, which it reads")


def test_outputs_are_written_and_not_read() -> None:
    def most(a: Any, b: Any) -> None:
        b[:-1] = a[:-1]

    def adds(a: Any, b: Any) -> None:
        b += a

    finding = sl.verify_func(line(most, dtype=np.int8)).findings[0]
    assert finding.kind == "does not write all"
    assert finding.at == (finding.piece[0][1],) if finding.piece else False
    assert sl.verify_func(line(adds)).findings[0].kind == "depends on what an output held"


def test_views_beyond_the_piece() -> None:
    def looks_on(a: Any, b: Any) -> None:
        further = np.lib.stride_tricks.as_strided(a, (len(a) + 1,), a.strides)
        b[...] = a + (further[1:] if a.base is not None and len(a.base) > len(a) else 0)

    kinds = {finding.kind for finding in sl.verify_func(line(looks_on), sizes=[9]).findings}
    assert kinds <= {"reads beyond its regions", "depends on the layout", "depends on the piece"}
    assert kinds


def test_a_declared_place_of_work() -> None:
    def backwards(a: Any, b: Any) -> None:
        for k in range(len(b)):
            b[k] = a[len(a) - 1 - k]

    def in_turn(a: Any, b: Any) -> None:
        b[0] = a[0]
        b[1:] = a[1:] + a[:-1]

    assert sl.verify_func(line(backwards, whole=["x"], in_place=True)).findings[0].kind == "fails checked mode"
    assert sl.verify_func(line(in_turn, whole=["x"], in_place=False))


def test_what_callbacks_raise() -> None:
    report = sl.verify_func(line(lambda a, b: np.copyto(b, a[2:]), 1, 1))
    assert report
    finding = sl.verify_func(line(lambda a, b: np.copyto(b, a[3:]), 1, 1), sizes=[4]).findings[0]
    assert finding.kind == "raises"
    assert "ValueError" in finding.text
    finding = sl.verify_func(line(lambda a, b: a + 1)).findings[0]
    assert "sl.returns" in finding.text


def test_tolerances() -> None:
    def running(a: Any, b: Any) -> None:
        b[...] = ndimage.uniform_filter1d(a, 5)[2:-2]

    finding = sl.verify_func(line(running, 2, 2)).findings[0]
    assert "rounding" in finding.advice
    assert sl.verify_func(line(running, 2, 2), atol=1e-9)
    assert sl.verify_func(line(running, 2, 2), rtol=1e-7)
    assert not sl.verify_func(line(sl.returns(lambda a: a - a.mean())), rtol=1e-3)


# Bad input ------------------------------------------------------------------------------------------------------------


def test_what_is_refused() -> None:
    with pytest.raises(sl.GraphError, match="verify_func takes a Func or a kernel, got 3"):
        sl.verify_func(3)  # type: ignore[arg-type]
    with pytest.raises(sl.ArgumentError, match=r"for each buffer that the func reads \(a\), got 3"):
        sl.verify_func(line(np.negative), (3,), (3,), (4,))
    with pytest.raises(sl.ArgumentError):
        sl.verify_func(line(np.negative), (3, 4))
    with pytest.raises(sl.ArgumentError):
        sl.verify_func(line(np.negative), np.zeros(3, np.int8))
    a, b = sl.BufferExpr("a", float, 1), sl.BufferExpr("b", float, 1)
    sl.copies.copy(a[x], b[x])
    assert b.producer is not None
    with pytest.raises(sl.GraphError, match="slinky does itself"):
        sl.verify_func(b.producer)


def test_funcs_stay_as_they_are() -> None:
    """What is verified may be a part of a graph, and stays that."""
    a, b, c = (sl.BufferExpr(name, float, 1) for name in "abc")
    first = sl.Func(np.negative, [a[x]], [b[x]], name="first")
    second = sl.Func(three, [b.extended("reflect")[sl.interval(x - 1, x + 1)]], [c[x]], name="second")
    assert sl.verify_func(first)
    assert sl.verify_func(second)
    p = sl.build_pipeline([a], [c])
    assert np.array_equal(p(np.arange(3.0), np.empty(3)), [-1, -3, -5])


def test_runs_are_few() -> None:
    """However large the arrays are, and however many dimensions there are, the number of pieces is bounded."""
    a, b = sl.BufferExpr("a", np.float32, 4), sl.BufferExpr("b", np.float32, 4)
    u, v = sl.variables("u v")
    calls = []

    def counted(a: Any, b: Any) -> None:
        calls.append(a.shape)
        np.copyto(b, a)

    report = sl.verify_func(sl.Func(counted, [a[u, v, y, x]], [b[u, v, y, x]]), (6, 7, 8, 9), seeds=[0])
    assert report
    assert len(calls) <= report.runs + 10 <= 260


# Kernels --------------------------------------------------------------------------------------------------------------


def test_kernels() -> None:
    blur = sl.stencil(halo=((4, 4), (8, 8)), boundary="mirror")(lambda a: ndimage.gaussian_filter(a, (1, 2)))
    assert sl.verify_func(blur, (20, 30))
    assert sl.verify_func(blur, np.random.default_rng(0).random((20, 30)).astype(np.float32))
    small = sl.stencil(halo=((3, 3), (8, 8)), boundary="mirror")(lambda a: ndimage.gaussian_filter(a, (1, 2)))
    finding = sl.verify_func(small, (20, 30)).findings[0]
    assert finding.kind == "depends on the piece"
    assert "along y only the first" in finding.advice.lower()
    longer = sl.rowwise(axis=0, size=lambda n: n + 1)(lambda a: np.cumsum(np.concatenate([a[:1], a]), axis=0))
    assert sl.verify_func(longer, (9, 8))
    assert not sl.verify_func(sl.elementwise(np.cumsum), (9,))
    assert sl.verify_func(sl.elementwise(lambda a, b: a + b), (9, 4), (4,), dtype=np.int16)
    assert sl.verify_func(sl.elementwise(np.negative), ())
    halves = sl.stencil(halo=0, rate="1/2")(lambda a: a[::2] + a[1::2])
    assert sl.verify_func(halves, (20,))
    with pytest.raises(sl.ArgumentError, match="for each array of kernel"):
        sl.verify_func(blur)


@pytest.mark.parametrize("length", [10, 20, 29, 30, 31, 50, 100, 300])
def test_windows_of_one_axis_that_matter_rarely(length: int) -> None:
    """A median seldom changes with what is beyond its halo, so many places of the only axis are looked at."""
    narrow = sl.stencil(halo=1, boundary="nearest")(lambda a: ndimage.median_filter(a, 5))
    assert not sl.verify_func(narrow, (length,))


def test_shapes_that_no_usual_array_has_are_refused_before_one_is_made() -> None:
    kernel = sl.elementwise(lambda a: a + 1)
    for shape, message in (
        ((1 << 40,), "would take 8,796,093,022,208 bytes; at most 268,435,456 are allowed"),
        ((4, -3), "no array has a negative extent"),
    ):
        with pytest.raises(sl.ArgumentError, match=message):
            sl.verify_func(kernel, shape)
