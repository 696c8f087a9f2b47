"""Mistakes that schedulers make: tails of tails, names that stand for two things, long programs, copies of loops."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scheduled import Array, compare, copy, line, picture, signal, stencil, stencils, weigh

import slinky as sl

TAILS = ["clamp", "cut", "shift"]
LENGTHS = [0, 1, 2, 3, 7, 11, 24]


# Tails ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tails", list(itertools.product(TAILS, repeat=3)), ids="-".join)
def test_tails_of_tails_write_every_element(tails: tuple[str, str, str]) -> None:
    plain = signal(0, 2)
    p = plain
    for tail, factor in zip(tails, (7, 3, 2), strict=True):
        p = sl.split_loop(p, "f1.x", factor, tail=tail)
    for length in LENGTHS:
        before, after = compare(plain, p, [line(-2 - 5, length + 2 - 5)], [line(-5, length - 1 - 5)])
        if "shift" not in tails:
            assert after.elements == before.elements
        else:
            assert after.elements["f1"] >= before.elements["f1"]


@pytest.mark.parametrize("tails", list(itertools.product(TAILS, repeat=2)), ids="-".join)
def test_tails_of_loops_run_every_iteration(tails: tuple[str, str]) -> None:
    plain = signal(0, 2)
    p = sl.split_loop(plain, "f1.x", 1)
    for tail, factor in zip(tails, (5, 2), strict=True):
        p = sl.split_loop(p, "for x", factor, tail=tail)
    for length in LENGTHS:
        before, after = compare(plain, p, [line(-2, length + 2)], [line(0, length - 1)])
        if "shift" not in tails:
            assert after.elements == before.elements


@pytest.mark.parametrize("tails", list(itertools.product(TAILS, repeat=2)), ids="-".join)
def test_swapped_loops_with_tails_stay_in_bounds(tails: tuple[str, str]) -> None:
    plain = stencil()
    p, (rows, inner, _) = sl.split_loop(plain, "stencil.y", 4, tail=tails[0], rc=True)
    p = sl.split_loop(p, inner.call().dim("x"), 3, tail=tails[1])
    if tails[1] != "cut":
        p = sl.reorder_loops(p, rows)
        assert p.forward(rows).parent().name() == "x"
    for size in ((9, 7), (4, 3), (1, 1), (3, 8), (0, 5)):
        compare(plain, p, *([b] for b in picture(*size, 1)))


def test_the_rest_of_a_loop_that_never_runs_never_runs() -> None:
    """Ten rows are made, then rows from 5 on but at most 4, that is none; a tail of these must not start before 5."""
    plain = signal(0, 1)
    p, (loop, _, _) = sl.split_loop(plain, "f1.x", 1, rc=True)
    p, ((alloc,), _, call) = sl.compute_at(p, "f0", loop, rc=True)
    p = sl.slide_window(p, call, loop)
    p = sl.fold_storage(p, alloc, "x")
    p, (_, second) = sl.cut_loop(p, loop, 10, rc=True)
    p, (nothing, _) = sl.cut_loop(p, second, 5, rc=True)
    p = sl.split_loop(p, nothing, 4, tail="cut")
    before, after = compare(plain, p, [line(-1, 31)], [line(0, 30)])
    assert after.elements == before.elements


# Names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["memcpy", "copy", "min", "select", "for_", "inp", "out", "x", "np", "run", "range"])
def test_a_name_of_a_func_means_nothing_but_that_func(name: str) -> None:
    (x,) = sl.variables("x")
    inp, mid, out = (sl.BufferExpr(buffer, np.int32, 1) for buffer in ("inp", "mid", "out"))
    sl.Func(weigh(0), [inp[x]], [mid[x]], name=name)
    sl.Func(weigh(1), [mid[sl.interval(x - 1, x + 1)]], [out[x]], name="last")
    plain = sl.build_pipeline([inp], [out])
    p, (loop, _, _) = sl.split_loop(plain, "last.x", 2, rc=True)
    p, ((alloc,), _, call) = sl.compute_at(p, "mid = _", loop, rc=True)
    assert call.name() == name
    p = sl.slide_window(p, call, loop)
    p = sl.fold_storage(p, alloc, "x")
    before, after = compare(plain, p, [line(-1, 21)], [line(0, 20)])
    assert after.elements == before.elements


def test_loops_and_buffers_of_one_name_are_told_apart() -> None:
    """A buffer `x`, a func `x` and loops over dimensions `x`."""
    (x,) = sl.variables("x")
    inp, mid, out = (
        sl.BufferExpr("inp", np.int32, 1),
        sl.BufferExpr("x", np.int32, 1),
        sl.BufferExpr("out", np.int32, 1),
    )
    sl.Func(weigh(0), [inp[x]], [mid[x]], name="x")
    sl.Func(weigh(1), [mid[sl.interval(x - 1, x + 1)]], [out[x]], name="last")
    plain = sl.build_pipeline([inp], [out])
    p, (loop, _, _) = sl.split_loop(plain, "last.x", 2, rc=True)
    assert loop.name() == "x_1"
    p, ((alloc,), _, call) = sl.compute_at(p, "x = _", loop, rc=True)
    p = sl.slide_window(p, call, loop)
    p = sl.fold_storage(p, alloc, "x")
    before, after = compare(plain, p, [line(-1, 21)], [line(0, 20)])
    assert after.elements == before.elements


def test_copies_of_a_buffer_are_told_apart_by_their_place() -> None:
    """Two copies of a loop allocate a buffer of the same name; each primitive changes the one that it is given."""
    plain = stencils(2)
    p, (tiles, inner, _) = sl.split_loop(plain, "s2.y", 8, names="tile", rc=True)
    p, (rows, _, _) = sl.split_loop(p, inner, 1, rc=True)
    p, ((alloc,), _, call) = sl.compute_at(p, "s1", rows, rc=True)
    p = sl.store_at(p, alloc, tiles)
    p, (_, second) = sl.cut_loop(p, tiles, 11, rc=True)
    other_rows, other_alloc, other_call = second.find("for y"), second.find("alloc b1"), second.find("s1")
    q = sl.slide_window(p, other_call, other_rows)
    q = sl.fold_storage(q, other_alloc, "y")
    assert [str(a.storage()[0]) for a in q.find_all("alloc b1")] == ["None", "3"]
    assert str(q.forward(call).parent()) != str(q.forward(other_call).parent())
    assert q.forward(rows).bounds() == p.forward(rows).bounds()
    q = sl.slide_window(q, call, rows)
    q = sl.fold_storage(q, alloc, "y")
    assert [str(a.storage()[0]) for a in q.find_all("alloc b1")] == ["3", "3"]
    for size in ((30, 4), (11, 3), (1, 1), (5, 2)):
        compare(plain, p, *([b] for b in picture(*size, 2)))
        compare(plain, q, *([b] for b in picture(*size, 2)))


def test_computing_at_the_top_leaves_a_buffer_of_the_same_name_alone() -> None:
    plain = stencils(2)
    p, (loop, _, _) = sl.split_loop(plain, "s2.y", 2, rc=True)
    p, ((alloc,), _, call) = sl.compute_at(p, "s1", loop, rc=True)
    p = sl.store_at(p, alloc, loop)
    p, (_, second) = sl.cut_loop(p, loop, 11, rc=True)
    other = second.find("s1")
    p = sl.lift_alloc(p, second.find("alloc b1"))
    p = sl.compute_root(p, other)
    assert not p.forward(other).parent()
    assert p.forward(call).parent() == p.forward(loop)
    for height in (0, 5, 11, 12, 30):
        compare(plain, p, *([b] for b in picture(height, 4, 2)))


def test_sibling_loops_of_one_name_are_told_apart() -> None:
    plain = stencils(2)
    p, (first, _, _) = sl.split_loop(plain, "s1.y", 4, rc=True)
    p, (second, _, _) = sl.split_loop(p, "s2.y", 4, rc=True)
    assert (first.name(), second.name()) == ("y", "y")
    q = sl.parallelize_loop(p, second, 2)
    assert q.forward(first).workers() is None
    assert q.find("for y #1") == q.forward(second)
    q = sl.split_loop(q, first, 2, names=("a", "b"))
    assert [loop.name() for loop in q.find_all("for _")] == ["a", "b", "y"]
    assert "s1(b0[b - 1 .. b + 4, :])" in str(q)
    compare(plain, q, *([b] for b in picture(13, 5, 2)), threads=2)


# Neighbours -----------------------------------------------------------------------------------------------------------


def test_neighbours_of_what_is_replaced_stay_themselves() -> None:
    p = stencils(3)
    places = {c.name(): c for c in p.find_all("_ = _")}
    allocs = {a.name(): a for a in p.find_all("alloc _")}
    q = sl.split_loop(p, "s2.y", 4, tail="cut")
    for name, cursor in (*places.items(), *allocs.items()):
        assert q.forward(cursor).name() == name
    assert q.forward(places["s1"]).next() == q.forward(allocs["b2"])
    assert q.forward(allocs["b2"]).next().body()[0] == q.forward(places["s2"])


def test_lists_given_are_not_changed() -> None:
    p = sl.split_loop(signal(0, 1), "f1.x", 1)
    names: list[Any] = ["a", "b"]
    sl.split_loop(p, "for x", 2, names=names)
    assert names == ["a", "b"]
    inputs, outputs = list(p.args()), p.find_all("_ = _")
    sl.compute_at(p, outputs[0], "for x")
    assert inputs == list(p.args())


# Long programs --------------------------------------------------------------------------------------------------------


def test_a_thousand_statements_in_a_row() -> None:
    count = 1000
    (x,) = sl.variables("x")
    buffers = [sl.BufferExpr(f"b{k}", np.int32, 1) for k in range(count + 1)]
    for k in range(count):
        sl.Func(copy, [buffers[k][x]], [buffers[k + 1][x]], name=f"f{k}")
    plain = sl.build_pipeline([buffers[0]], [buffers[-1]])
    early = plain.find("f500")
    p, (loop, _, _) = sl.split_loop(plain, f"f{count - 1}.x", 4, rc=True)
    producer = loop.prev()
    for _ in range(2):
        p, ((alloc,), _, call) = sl.compute_at(p, producer, loop, rc=True)
        p = sl.slide_window(p, call, loop)
        p, (alloc,) = sl.fold_storage(p, alloc, 0, rc=True)
        producer = alloc.prev()
    p.verify()
    assert p.forward(early) == p.find("f500")
    assert len(p.find_all("_ = _")) == count
    assert [c.name() for c in p.forward(loop).body()] == [f"f{k}" for k in range(count - 3, count)]
    assert str(p.forward(early)).count("\n") == 1 + 8 + 1 + 8 + 1
    assert len(p.body().expand(1, 1)) == len(p.body())
    source = np.arange(30, dtype=np.int32)
    target = np.zeros(30, np.int32)
    p.run(source, target, backend="interpreter")
    assert np.array_equal(source, target)


def test_deeply_nested_loops() -> None:
    plain = signal(0, 1)
    p = sl.split_loop(plain, "f1.x", 1)
    for k in range(12):
        p = sl.split_loop(p, "for x", 2, names=(f"x{k}", "x"))
    assert len(p.find_all("for _")) == 13
    p.verify()
    before, after = compare(plain, p, [line(-1, 9)], [line(0, 8)])
    assert after.elements == before.elements


# What callbacks get ---------------------------------------------------------------------------------------------------


def test_callbacks_never_get_an_empty_region_and_always_exactly_what_they_read() -> None:
    shapes: list[tuple[int, int]] = []

    def window(source: Array, target: Array) -> None:
        shapes.append((len(source), len(target)))
        target[...] = source[: len(target)] + source[4:]

    (x,) = sl.variables("x")
    inp, mid, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "mid", "out"))
    sl.Func(weigh(0), [inp[x]], [mid[x]], name="f")
    sl.Func(window, [mid[sl.interval(x - 2, x + 2)]], [out[x]], name="g")
    plain = sl.build_pipeline([inp], [out])
    for step, tail in itertools.product((1, 3, 5), TAILS):
        p, (loop, _, _) = sl.split_loop(plain, "g.x", step, tail=tail, rc=True)
        if tail == "clamp":
            p, ((alloc,), _, call) = sl.compute_at(p, "f", loop, rc=True)
            p = sl.slide_window(p, call, loop)
            p = sl.fold_storage(p, alloc, "x")
        for length in LENGTHS:
            compare(plain, p, [line(-2, length + 2)], [line(0, length - 1)])
    assert shapes
    assert all(target > 0 and source == target + 4 for source, target in shapes)


def test_a_buffer_of_the_loop_does_not_let_its_producer_go_further_back() -> None:
    """The bounds of a buffer that is allocated in a loop move with it, so when the loop starts earlier they clamp less:
    its producer must be clamped itself, or it would read what comes before the input."""
    p = stencils(2)
    p, (loop, _, _) = sl.split_loop(p, "s2.y", 5, rc=True)
    p = sl.compute_at(p, "s1", loop)
    p, ((inner,), _, _) = sl.compute_at(p, "add", loop, rc=True)
    p = sl.store_at(p, inner, loop)
    slid = sl.slide_window(p, "s1", loop)
    for height in (1, 5, 12, 13):
        image, out = picture(height, 3, margin=2)
        compare(stencils(2), slid, [image], [out])


# Deep nests -----------------------------------------------------------------------------------------------------------


def test_a_nest_too_deep_is_refused_before_anything_overflows() -> None:
    p = signal(0)
    for k in range(100):
        p = sl.split_loop(p, "f0.x", 1000 - k, names=f"x{k}")
    for place in ("f0.x", "for x0", "for x50", "for x99"):
        with pytest.raises(sl.SchedulingError, match=r"^split_loop: loops nest at most 100 deep\n"):
            sl.split_loop(p, place, 2)
    source, target = np.arange(9, dtype=np.int32), np.zeros(9, np.int32)
    assert p.run(source, target, checked=True).elements == {"f0": 9}
    assert np.array_equal(source, target)


# Windows --------------------------------------------------------------------------------------------------------------


@pytest.mark.sweep
@pytest.mark.parametrize("step", [1, 3, 7])
@pytest.mark.parametrize("radius", [4, 5, 6, 12, 20])
def test_long_windows_slide_like_short_ones(radius: int, step: int) -> None:
    """Some systems warm up otherwise from eleven coordinates on."""
    plain = signal(0, radius, 1)
    p, (loop, _, _) = sl.split_loop(plain, "f2.x", step, rc=True)
    for name, window in (("f1", step + 2), ("f0", step + 2 * radius)):
        p, ((alloc,), _, call) = sl.compute_at(p, name, loop, rc=True)
        p = sl.slide_window(p, call, loop)
        p, (alloc,) = sl.fold_storage(p, alloc, 0, rc=True)
        assert [str(fold) for fold in alloc.storage()] == [str(window)]
    for length in (1, step, radius, 61):
        before, after = compare(plain, p, [line(-radius - 1, length + radius)], [line(0, length - 1)])
        assert after.elements == before.elements


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_a_callback_that_fails_in_a_tile_that_slides_ends_the_run(workers: int) -> None:
    """It neither hangs nor lets the other tiles go on for ever, and the next run is right."""
    failing = [True]

    def fail(source: Array, target: Array) -> None:
        if failing[0] and target[0] == 17:
            raise ArithmeticError("no")
        weigh(1)(source, target)

    (x,) = sl.variables("x")
    inp, mid, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "mid", "out"))
    sl.Func(copy, [inp[x]], [mid[x]], name="f")
    sl.Func(fail, [mid[sl.interval(x - 1, x + 1)]], [out[x]], name="g")
    plain = sl.build_pipeline([inp], [out])
    p, (tiles, inner, _) = sl.split_loop(plain, "g.x", 8, names="tile", rc=True)
    p, (points, _, _) = sl.split_loop(p, inner, 1, rc=True)
    p, ((alloc,), _, call) = sl.compute_at(p, "f", points, rc=True)
    p = sl.store_at(p, alloc, tiles)
    p = sl.slide_window(p, call, points)
    p = sl.fold_storage(p, alloc, 0)
    p = sl.parallelize_loop(p, tiles, workers)
    for backend in ("python", "interpreter"):
        failing[0] = True
        source, target = line(-1, 400), sl.Buffer(np.arange(400, dtype=np.int32))
        with pytest.raises(ArithmeticError, match="no") as caught:
            p.run(source, target, backend=backend)
        assert any("in the call g[17]" in note for note in caught.value.__notes__)
        assert target.array[-1] == 399, "a tile ran long after the error"
        failing[0] = False
        compare(plain, p, [source], [line(0, 399)])


# Results --------------------------------------------------------------------------------------------------------------


def test_the_order_of_outputs_is_that_of_the_pipeline() -> None:
    """Two pipelines of one graph differ in the order of their outputs alone; neither gets the plan of the other."""
    (x,) = sl.variables("x")
    inp, low, high = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "low", "high"))
    sl.Func(np.negative, [inp[x]], [low[x]], name="f")
    sl.Func(np.abs, [inp[x]], [high[x]], name="g")
    one, other = sl.build_pipeline([inp], [low, high]), sl.build_pipeline([inp], [high, low])
    source = np.arange(1, 5, dtype=np.int32)
    for _ in range(2):
        first, second = one(source, np.zeros(4, np.int32), np.zeros(4, np.int32))
        assert (first.tolist(), second.tolist()) == ([-1, -2, -3, -4], [1, 2, 3, 4])
        first, second = other(source, np.zeros(4, np.int32), np.zeros(4, np.int32))
        assert (first.tolist(), second.tolist()) == ([1, 2, 3, 4], [-1, -2, -3, -4])


def test_a_step_of_nothing_is_no_step() -> None:
    """Zero, and division by it, mean nothing: not one, not all of it."""
    p = sl.split_loop(signal(0, 1), "f1.x", sl.scalar("s"))
    for step in (0, -1):
        with pytest.raises(sl.CheckFailedError, match=f"requires 1 <= s, got s = {step} "):
            p(line(-1, 9), line(0, 8), s=step)
    (x,) = sl.variables("x")
    inp, out = sl.BufferExpr("inp", np.int32, 1), sl.BufferExpr("out", np.int32, 1)
    sl.Func(copy, [inp[sl.interval(0, 6 // sl.scalar("r"))]], [out[x]], name="f")
    for backend in ("python", "interpreter"):
        with pytest.raises(sl.ExpressionError, match="division by zero: r is 0"):
            sl.build_pipeline([inp], [out]).run(line(0, 9), line(0, 3), r=0, backend=backend)


def test_the_body_of_a_loop_is_a_block_through_reorder_and_cut() -> None:
    """The block of the whole body of a loop follows its statements, wherever the loops around go."""
    p = sl.split_loop(stencils(1), "s1.y", 4)
    p, (inner, _, _) = sl.split_loop(p, "s1.x", 4, rc=True)
    outer = inner.parent()
    block, all_of_it = inner.body(), outer.body()
    q = sl.reorder_loops(p, outer)
    assert list(q.forward(block)) == [q.find("s1")]
    assert list(q.forward(all_of_it)) == [q.find("for x")]
    q, (first, second) = sl.cut_loop(q, q.find("for x"), 8, rc=True)
    assert q.forward(all_of_it)[0] == first
    assert q.forward(block).parent().parent() == first
    assert second.body() != q.forward(all_of_it)
