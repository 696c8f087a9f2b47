"""Loops over pieces of an image with edges: only first and last iterations, or strips at the sides, are copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slinky as sl

MODES = ["reflect", "mirror", "nearest", "wrap", "constant"]
y, x = sl.variables("y x")


def window(radius: int, axis: int) -> Callable[[Any, Any], None]:
    """A callback that sums windows along an axis, each element with a weight of its own."""

    def run(a: Any, o: Any) -> None:
        o[...] = sum((k + 1) * a.take(range(k, k + o.shape[axis]), axis=axis) for k in range(2 * radius + 1))

    return run


def blur(mode: str, radius: int, dims: list[int] | None = None) -> sl.Pipeline:
    """Windows along the rows, then along the columns, of an image that is extended along some dimensions."""
    image, rows, out = (sl.BufferExpr(name, np.int64, 2) for name in ("image", "rows", "out"))
    read = image.extended(mode) if dims is None else image.extended(mode, dims=dims)
    reach = radius if dims is None or 1 in dims else 0
    along_x = read[y, sl.interval(x - reach, x + reach)]
    sl.Func(window(reach, 1), [along_x], [rows[y, x]], name="along_x")
    sl.Func(window(radius, 0), [rows[sl.interval(y - radius, y + radius), x]], [out[y, x]], name="along_y")
    return sl.build_pipeline([image], [out], require=[sl.same_shape(image, out)])


def by_rows(p: sl.Pipeline, mode: str, rows: int) -> sl.Pipeline:
    """Some rows at a time, slid and folded; what is extended is made row by row."""
    p, (loop, _, _) = sl.split_loop(p, "along_y.y", rows, rc=True)
    p, made = sl.compute_at(p, "along_x", loop, rc=True)
    p = sl.slide_window(p, made.call, loop)
    p = sl.fold_storage(p, made.alloc, "y")
    p, padded = sl.compute_at(p, mode, loop, rc=True)
    return sl.store_at(p, padded.alloc, loop)


def agree(p: sl.Pipeline, q: sl.Pipeline, height: int, width: int) -> sl.RunStatistics:
    """Both give the same; the statistics of the second."""
    image = np.random.default_rng(height * 100 + width).integers(-50, 50, (height, width))
    expected, found = np.zeros_like(image), np.full_like(image, -1)
    p(image, expected)
    statistics = q.run(image, found)
    np.testing.assert_array_equal(found, expected)
    for how in ({"checked": True}, {"backend": "interpreter"}):
        q.run(image, other := np.full_like(image, -1), **how)
        np.testing.assert_array_equal(other, expected)
    return statistics


SIZES = [(0, 3), (1, 1), (2, 5), (3, 3), (7, 2), (8, 8), (16, 4), (17, 5), (31, 3), (50, 7)]


@pytest.mark.sweep
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("radius", "rows"), [(1, 1), (1, 4), (3, 8), (4, 3)])
def test_rows_alone_reach_beyond_the_edge(mode: str, radius: int, rows: int) -> None:
    """The steady state reads the image: what is copied does not grow with the height."""
    whole = blur(mode, radius, [0])
    p = by_rows(whole, mode, rows)
    q = sl.split_boundary(p, mode)
    for height, width in SIZES:
        agree(whole, q, height, width)
    copied = {height: agree(whole, q, height, 5).bytes_copied for height in (48, 96, 192)}
    assert len(set(copied.values())) == 1
    assert copied[48] <= 8 * 5 * 2 * (radius + 2 * rows)
    assert agree(whole, p, 192, 5).bytes_copied == 8 * 5 * (192 + 2 * radius)


@pytest.mark.parametrize("mode", MODES)
def test_columns_reach_beyond_the_edge_too(mode: str) -> None:
    """Strips at both sides have a copy of their own, and the rows between are read where they are."""
    whole = blur(mode, 2)
    q = sl.split_boundary(by_rows(whole, mode, 4), mode)
    for height, width in (*SIZES, (9, 30), (40, 41)):
        agree(whole, q, height, width)
    tall, wide = agree(whole, q, 160, 20), agree(whole, q, 160, 200)
    edges = 8 * (200 - 20) * 2 * 8
    assert wide.bytes_copied - tall.bytes_copied <= edges


def test_what_reads_two_copies_is_cut_once() -> None:
    """Where the strips for the one copy are all that reads beyond the edges of the other one, they stay whole."""
    first, second, out = (sl.BufferExpr(name, np.int64, 2) for name in ("first", "second", "out"))
    reads = [each.extended("wrap", dims=[1])[y, sl.interval(x - 1, x + 1)] for each in (first, second)]
    sl.Func(lambda a, b, o: np.copyto(o, a[:, :-2] - 3 * b[:, 2:]), reads, [out[y, x]], name="beside")
    whole = sl.build_pipeline([first, second], [out], require=[sl.same_shape(first, out), sl.same_shape(second, out)])
    p, (loop, _, _) = sl.split_loop(whole, "beside.y", 2, rc=True)
    for call in [call for call in p.find_all("_ = _") if call.name() != "beside"]:
        p, made = sl.compute_at(p, call, loop, rc=True)
        p = sl.store_at(p, made.alloc, loop)
    for name in ("first", "second"):
        p = sl.split_boundary(p, next(c for c in p.find_all("_ = _") if c.inputs() == (name,)))
    calls = [call for call in p.find_all("_ = _") if call.name() == "beside"]
    assert [set(call.inputs()) for call in calls].count({"first", "second"}) == 1
    assert len(calls) == 3
    random = np.random.default_rng(0)
    for height, width in ((0, 3), (1, 1), (5, 2), (4, 3), (7, 30)):
        a, b = random.integers(-9, 9, (2, height, width))
        expected, found = np.zeros_like(a), np.full_like(a, -99)
        whole(a, b, expected)
        for how in ({}, {"checked": True}, {"backend": "interpreter"}):
            p.run(a, b, found, **how)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mode", MODES)
def test_where_two_dimensions_of_a_call_go_along_one_it_is_cut_along_the_first(mode: str) -> None:
    """Windows side by side: the strips at both sides are those where any window reads beyond the edge."""
    image, out = sl.BufferExpr("image", np.int64, 2), sl.BufferExpr("out", np.int64, 3)
    (k,) = sl.variables("k")
    read = image.extended(mode, dims=[1])[y, x + k - 1]

    def windows(a: Any, o: Any) -> None:
        o[...] = np.lib.stride_tricks.sliding_window_view(a, o.shape[-1], axis=1)

    sl.Func(windows, [read], [out[y, x, k]], name="windows")
    like = [sl.equal(getattr(out.dim(d), end), getattr(image.dim(d), end)) for d in (0, 1) for end in ("min", "max")]
    whole = sl.build_pipeline([image], [out], require=[*like, sl.equal(out.dim(2).min, 0), out.dim(2).max >= 0])
    p, (loop, _, _) = sl.split_loop(whole, "windows.y", 2, rc=True)
    p, made = sl.compute_at(p, mode, loop, rc=True)
    q = sl.split_boundary(sl.store_at(p, made.alloc, loop), mode)
    assert len([call for call in q.find_all("_ = _") if call.name() == "windows"]) == 3
    for height, width, extent in ((0, 3, 3), (1, 1, 1), (5, 2, 3), (4, 3, 2), (7, 30, 3), (3, 9, 12)):
        given = np.random.default_rng(width).integers(-9, 9, (height, width))
        expected, found = (np.full((height, width, extent), each) for each in (-99, -88))
        whole(given, expected)
        for how in ({}, {"checked": True}, {"backend": "interpreter"}):
            q.run(given, found, **how)
            np.testing.assert_array_equal(found, expected)


def test_the_program_in_its_steady_state() -> None:
    q, ((reader,),) = sl.split_boundary(by_rows(blur("mirror", 2), "mirror", 4), "mirror", rc=True)
    body = str(reader.parent().body())
    assert "rows[y + 2 .. y + 5, image.x.min + 2 .. image.x.max - 2] = along_x(image[y + 2 .. y + 5, :])" in body
    calls = [c.name() for c in q.find_all("_ = _") if reader.parent().is_ancestor_of(c)]
    assert calls == ["mirror", "along_x", "along_x", "mirror", "along_x", "along_y"]
    beside = [c.name() for c in q.find_all("_ = _") if not reader.parent().is_ancestor_of(c)]
    assert beside == ["mirror", "along_x", "along_y"] * 2


@pytest.mark.parametrize("workers", [1, 2])
def test_tiles_of_rows_on_threads(workers: int) -> None:
    whole = blur("reflect", 2, [0])
    p, (tiles, _, _) = sl.split_loop(whole, "along_y.y", 16, rc=True)
    p, (loop, _, _) = sl.split_loop(p, "along_y.y", 4, rc=True)
    p, made = sl.compute_at(p, "along_x", loop, rc=True)
    p = sl.store_at(p, made.alloc, tiles)
    p = sl.slide_window(p, made.call, loop)
    p, padded = sl.compute_at(p, "reflect", loop, rc=True)
    p = sl.store_at(p, padded.alloc, loop)
    p = sl.parallelize_loop(p, tiles, workers)
    q = sl.split_boundary(p, "reflect")
    for height, width in SIZES:
        agree(whole, q, height, width)
    assert agree(whole, q, 160, 5).bytes_copied == agree(whole, q, 80, 5).bytes_copied


@pytest.mark.parametrize(
    "row",
    [lambda v: 2 * v, lambda v: 2 * v + 1, lambda v: -v, lambda v: v // 2, lambda v: 5 - 2 * v],
    ids=["every other", "odd", "backward", "half", "odd backward"],
)
def test_other_rates(row: Callable[[Any], Any]) -> None:
    """Loops are cut where the rows that they read reach the edge, at any rate and in both directions."""
    image, out = (sl.BufferExpr(name, np.int64, 2) for name in ("image", "out"))
    read = image.extended("nearest", dims=[0])[sl.interval(row(y) - 1, row(y) + 1), x]
    sl.Func(lambda a, o: np.copyto(o, a[:1] + 10 * a[-1:]), [read], [out[y, x]], name="pick")
    p = sl.split_loop(sl.build_pipeline([image], [out]), "pick.y", 1)
    p = sl.compute_at(p, "nearest", "for y")
    p = sl.store_at(p, "alloc image_nearest", "for y")
    q = sl.split_boundary(p, "nearest")
    data = np.random.default_rng(2).integers(-50, 50, (20, 3))
    for lo, hi in ((-30, 30), (0, 5), (3, 3), (5, 4), (25, 40)):
        expected, found = (sl.Buffer(np.zeros((hi - lo + 1, 3), np.int64), min=(lo, 0)) for _ in range(2))
        p(data, expected)
        copied = q.run(data, found).bytes_copied
        np.testing.assert_array_equal(found.array, expected.array)
        beyond = [v for v in range(lo, hi + 1) if row(v) - 1 < 0 or row(v) + 1 > 19]
        assert copied == len(beyond) * 3 * 3 * 8


def test_a_copy_that_is_stored_outside_of_the_loop_is_taken_to_pieces() -> None:
    p, (loop, _, _) = sl.split_loop(blur("constant", 2, [0]), "along_y.y", 4, rc=True)
    p = sl.compute_at(p, "along_x", loop)
    with pytest.raises(sl.SchedulingError):
        sl.alias_copy(p, "constant")
    _, (pieces,) = sl.split_boundary(p, "constant", rc=True)
    assert len(pieces) == 3


@pytest.mark.parametrize("which", [0, 1])
def test_one_of_two_copies_in_a_loop(which: int) -> None:
    """Cutting the rows keeps which one was asked about; the other one stays a copy."""
    image, out = (sl.BufferExpr(name, np.int64, 2) for name in ("image", "out"))
    read = image.extended("nearest", dims=[0])[sl.interval(y - 1, y + 1), x]
    sl.Func(window(1, 0), [read], [out[y, x]], name="blur")
    whole = sl.build_pipeline([image], [out], require=[sl.same_shape(image, out)])
    p, (columns, _, _) = sl.split_loop(sl.split_loop(whole, "blur.y", 1), "blur.x", 4, rc=True)
    p = sl.store_at(sl.compute_at(p, "nearest", columns), "alloc image_nearest", columns)
    p = sl.cut_loop(p, columns, 8)
    q, ((reader,),) = sl.split_boundary(p, f"nearest #{which}", rc=True)
    rows = reader.parent().parent()
    assert reader.parent() == rows.body()[which]
    assert [c.name() for c in q.find_all("_ = _") if rows.is_ancestor_of(c)].count("nearest") == 1
    for height, width in SIZES:
        agree(whole, q, height, width)


def test_a_loop_of_which_nothing_in_the_steady_state_is_left_is_refused() -> None:
    """All of it lies before the edge; a reader in a loop of its own is gone from what never runs."""
    (x,) = sl.variables("x")
    a, b = (sl.BufferExpr(name, np.int64, 1) for name in "ab")
    sl.Func(lambda s, o: np.copyto(o, s), [a.extended("wrap")[x]], [b[x]], name="take")
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([a], [b], alias=False), "take.x", 1, rc=True)
    p = sl.store_at(sl.compute_at(p, "wrap", loop), "alloc a_wrap", loop)
    p, (before, _) = sl.cut_loop(p, loop, a.dim(0).min - 3, rc=True)
    p = sl.split_loop(p, "take.x", 1)
    copy = p.forward(before).find("wrap")
    with pytest.raises(sl.SchedulingError, match="has other calls of what reads a_wrap than before"):
        sl.split_boundary(p, copy)


def test_a_copy_that_never_runs_in_the_steady_state_is_refused() -> None:
    """It lies behind the edge, and is one of two for different arrays: cut there, the loop has the other one alone."""
    (x,) = sl.variables("x")
    a, b = (sl.BufferExpr(name, np.int64, 1) for name in "ab")
    sl.Func(lambda s, o: np.copyto(o, s), [a.extended("wrap")[x]], [b[x]], name="take")
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([a], [b], alias=False), "take.x", 1, rc=True)
    p = sl.store_at(sl.compute_at(p, "wrap", loop), "alloc a_wrap", loop)
    p, (_, behind) = sl.cut_loop(p, loop, a.dim(0).max + 1, rc=True)
    p = sl.specialize(p, p.forward(behind).find("wrap"), a.dim(0).max >= 1)
    copy = [each for each in p.find_all("wrap") if p.forward(behind).is_ancestor_of(each)][1]
    with pytest.raises(sl.SchedulingError, match="what is left of loop x has other calls of wrap than before"):
        sl.split_boundary(p, copy)
