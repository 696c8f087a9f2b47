"""A loop that becomes two, one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from in_one_dimension import agree, sums
from scheduled import refused

import slinky as sl

y, x = sl.variables("y x")


def fused(step: int) -> sl.Pipeline:
    """Both in one loop."""
    return sl.compute_at(sl.split_loop(sums(), "add.x", step), "turn", "for x")


BOUNDS = [(0, -1), (0, 0), (3, 3), (-7, 5), (0, 12), (-11, 30)]


@pytest.mark.sweep
@pytest.mark.parametrize("step", [1, 2, 5, 8])
@pytest.mark.parametrize(("lo", "hi"), BOUNDS)
def test_the_second_loop_comes_after_all_of_the_first(step: int, lo: int, hi: int) -> None:
    p = fused(step)
    q, (first, gap, second) = sl.fission_loop(p, p.find("turn").after(), rc=True)
    assert (first, second) == (q.find("for x"), q.find("for x #1"))
    assert (gap.anchor(), gap.is_before()) == (first, False)
    assert [s.name() for s in (*first.body(), *second.body())] == ["turn", "add"]
    statistics, before = agree(sums(), q, lo, hi), agree(sums(), p, lo, hi)
    assert (statistics.calls, statistics.elements) == (before.calls, before.elements)


def test_what_keeps_its_identity() -> None:
    p = fused(4)
    loop, turn, add = p.find("for x"), p.find("turn"), p.find("add")
    q, parts = sl.fission_loop(p, add.before(), rc=True)
    assert q.forward(loop) == parts.first
    assert (q.forward(turn).parent(), q.forward(add).parent()) == (parts.first, parts.second)
    with pytest.raises(sl.InvalidCursorError, match="do not stand in one block"):
        q.forward(loop.body())


def test_parallel_loops_stay_parallel() -> None:
    p = fused(4)
    p, (loop, _alloc) = sl.store_at(p, "alloc t", "for x", rc=True)
    p = sl.parallelize_loop(p, loop, 2)
    error = refused(lambda: sl.fission_loop(p, p.find("turn").after()))
    assert error.reason == "t is allocated in loop x and used on both sides of the gap"
    assert error.hint == ""  # the iterations would share it
    whole = sl.build_pipeline(*two_chains())
    q = in_parallel(whole)
    q, (first, _, second) = sl.fission_loop(q, q.find("left").after(), rc=True)
    assert (first.workers(), second.workers()) == (2, 2)
    data, outputs = np.arange(20), [np.zeros(17, np.int64) for _ in range(2)]
    q.run(data, *outputs, checked=True, threads=2)
    np.testing.assert_array_equal(outputs[0], -np.arange(17))
    np.testing.assert_array_equal(outputs[1], np.arange(17) ** 2)


def two_chains() -> tuple[list[sl.BufferExpr], list[sl.BufferExpr]]:
    """Two outputs of one input that have nothing else in common, each by an intermediate."""
    a, s, t, one, other = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "s", "t", "one", "other"))
    sl.Func(np.positive, [a[x]], [s[x]], name="before_left")
    sl.Func(np.negative, [s[x]], [one[x]], name="left")
    sl.Func(np.positive, [a[x]], [t[x]], name="before_right")
    sl.Func(np.square, [t[x]], [other[x]], name="right")
    return [a], [one, other]


def in_parallel(p: sl.Pipeline) -> sl.Pipeline:
    """Both chains in a parallel loop, with buffers of their own that are allocated at its start."""
    p = sl.split_loop(sl.split_loop(p, "left.x", 4), "right.x", 4)
    while not isinstance(p.find("for x").next(), sl.LoopCursor):
        p = sl.reorder_statements(p, p.find("for x").expand(after=1))
    p, (loop,) = sl.fuse_loops(p, "for x", "for x #1", rc=True)
    for name, _buffer in (("before_left", "s"), ("before_right", "t")):
        p, at = sl.compute_at(p, name, loop, rc=True)
        p = sl.store_at(p, at.alloc, loop)
    return sl.parallelize_loop(p, loop, 2)


def test_an_allocation_goes_where_it_is_used() -> None:
    """What is allocated before the gap, and used behind it alone, is allocated there."""
    p = in_parallel(sl.build_pipeline(*two_chains()))
    assert [str(s.name()) for s in p.find("for x").body()] == ["t", "s", "before_left", "left", "before_right", "right"]
    _q, (first, _, second) = sl.fission_loop(p, p.find("left").after(), rc=True)
    assert [str(s.name()) for s in first.body()] == ["s", "before_left", "left"]
    assert [str(s.name()) for s in second.body()] == ["t", "before_right", "right"]


def picture() -> sl.Pipeline:
    """The two funcs on rows and columns."""
    a, t, out = (sl.BufferExpr(name, np.int64, 2) for name in ("a", "t", "out"))
    sl.Func(np.negative, [a[y, x]], [t[y, x]], name="turn")
    sl.Func(np.square, [t[y, x]], [out[y, x]], name="square")
    p = sl.build_pipeline([a], [out])
    p, (outer, *_) = sl.split_loop(p, "square.y", 2, rc=True)
    p, (inner, *_) = sl.split_loop(p, "square.x", 3, rc=True)
    p, at = sl.compute_at(p, "turn", inner, rc=True)
    return sl.store_at(p, at.alloc, outer)


def test_several_levels() -> None:
    p = picture()
    assert [type(s).__name__ for s in p.find("for y").body()] == ["AllocCursor", "LoopCursor"]
    one, (first, _gap, second) = sl.fission_loop(p, p.find("turn").after(), rc=True)
    assert first.parent() == second.parent() == one.find("for y")
    error = refused(lambda: sl.fission_loop(p, p.find("turn").after(), 2))
    assert error.reason == "t is allocated in loop y and used on both sides of the gap"
    assert error.remedy == 'p = sl.lift_alloc(p, "alloc t", 1)\np = sl.fission_loop(p, p.find("turn").after(), 2)'
    p = sl.lift_alloc(p, "alloc t")
    two, parts = sl.fission_loop(p, p.find("turn").after(), 2, rc=True)
    assert str(two).splitlines()[-7:] == [
        "  alloc t: int64[out.y.min..out.y.max, out.x.min..out.x.max]",
        "  for y in out.y.min..out.y.max step 2:",
        "    for x in out.x.min..out.x.max step 3:",
        "      t[y .. y + 1, x .. x + 2] = turn(a[y .. y + 1, x .. x + 2])",
        "  for y in out.y.min..out.y.max step 2:",
        "    for x in out.x.min..out.x.max step 3:",
        "      out[y .. y + 1, x .. x + 2] = square(t[y .. y + 1, x .. x + 2])",
    ]
    assert (parts.first, parts.second) == (two.find("for y"), two.find("for y #1"))
    for rows, columns in [(0, 4), (1, 1), (5, 7), (4, 6)]:
        data = np.arange(rows * columns).reshape(rows, columns)
        for q in (one, two):
            out = np.zeros_like(data)
            q.run(data, out, checked=True)
            np.testing.assert_array_equal(out, data**2)


def test_a_fold_that_is_shorter_than_the_loop() -> None:
    p, at = sl.compute_at(sl.split_loop(sums(), "add.x", 1), "turn", "for x", rc=True)
    p = sl.fold_storage(sl.slide_window(p, at.call, at.loop), at.alloc, "x")
    error = refused(lambda: sl.fission_loop(p, p.find("turn").after()))
    assert error.reason == "a fold of 3 does not hold all that is live of t.x at once"
    assert error.example.startswith("with out.x = 0..")
    assert error.remedy == 'p = sl.unfold_storage(p, "alloc t", "x")\np = sl.fission_loop(p, p.find("turn").after())'
    q = sl.unfold_storage(p, at.alloc, "x")
    q = sl.fission_loop(q, q.find("turn").after())
    for lo, hi in BOUNDS:
        agree(sums(), q, lo, hi)


def test_what_the_second_part_has_written_for_the_next_iteration() -> None:
    """Where the first part reads what the second has written one iteration before, no order but theirs will do."""
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    sl.Func(np.negative, [a[x]], [t[x]], name="early")
    sl.Func(np.square, [t[x - 1]], [out[x]], name="late")
    p = sl.split_loop(sl.split_loop(sl.build_pipeline([a], [out]), "early.x", 1), "late.x", 1)
    p = sl.fuse_loops(p, "for x", "for x #1")
    p = sl.reorder_statements(p, p.find("for x").body())
    assert [s.name() for s in p.find("for x").body()] == ["late", "early"]
    error = refused(lambda: sl.fission_loop(p, p.find("late").after()))
    assert error.reason.startswith("late does not find all of t[")
    assert error.example == "with out.x = 0..0, in iteration x = 0, late reads t[-1], not written by then"


def test_what_is_refused() -> None:
    p = fused(4)
    assert refused(lambda: sl.fission_loop(p, p.find("turn").before())).reason == (
        "nothing stands before the gap in its loop"
    )
    assert refused(lambda: sl.fission_loop(p, p.find("add").after())).reason == (
        "nothing stands behind the gap in its loop"
    )
    assert refused(lambda: sl.fission_loop(p, p.find("turn").after(), 2)).reason == "the gap stands in 1 loop, not in 2"
    assert refused(lambda: sl.fission_loop(p, p.find("for x").before())).reason == (
        "the gap stands in no loop, not in 1"
    )
    with pytest.raises(sl.OperationError, match="levels must be an integer, 1 or more, got 0"):
        sl.fission_loop(p, p.find("turn").after(), 0)
    with pytest.raises(sl.OperationError, match="argument gap: expected a gap"):
        sl.fission_loop(p, "turn")


def test_the_history_has_it() -> None:
    p = fused(4)
    q = sl.fission_loop(p, p.find("turn").after())
    again = eval(str(q.history()).splitlines()[-1].removeprefix("p = "), {"sl": sl, "p": p})
    assert again.same_program(q)
