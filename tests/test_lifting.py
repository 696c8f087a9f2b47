"""Calls that leave the loops that they are in, or all iterations but the first, and windows that slide no more."""

from __future__ import annotations

import numpy as np
import pytest
from in_one_dimension import agree
from scheduled import refused

import slinky as sl

x, y = sl.variables("x y")

BOUNDS = [(0, -1), (0, 0), (3, 13), (-7, 5), (0, 23), (-11, 30)]


def three(left: np.ndarray, out: np.ndarray) -> None:
    np.copyto(out, left[:-2] + left[1:-1] + left[2:])


def chain() -> sl.Pipeline:
    """Sums of three neighbours of sums of three neighbours of what is turned around."""
    a, s, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "s", "t", "out"))
    sl.Func(np.negative, [a[x]], [s[x]], name="turn")
    sl.Func(three, [s[sl.interval(x - 1, x + 1)]], [t[x]], name="first")
    sl.Func(three, [t[sl.interval(x - 1, x + 1)]], [out[x]], name="second")
    return sl.build_pipeline([a], [out])


def fused(step: int) -> tuple[sl.Pipeline, sl.LoopCursor]:
    """All three in one loop."""
    p, (loop, *_) = sl.split_loop(chain(), "second.x", step, rc=True)
    for name in ("first", "turn"):
        p = sl.compute_at(p, name, loop)
    return p, loop


# lift_call ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 3, 8])
def test_the_inverse_of_compute_at(step: int) -> None:
    p, (loop, *_) = sl.split_loop(chain(), "second.x", step, rc=True)
    q, at = sl.compute_at(p, "first", loop, rc=True)
    r, (call,) = sl.lift_call(q, at.call, rc=True)
    assert r.same_program(p)
    assert call == r.forward(at.call)


def test_level_by_level() -> None:
    """What a tile needs, and then all."""
    p, loop = fused(2)
    p, (outer, _inner, _) = sl.split_loop(p, loop, 3, rc=True)
    q = sl.lift_call(p, "turn")
    assert q.find("turn").parent() == q.forward(outer)
    assert str(q.find("turn").bounds("x")) == "x_outer - 2 .. x_outer + 7"
    assert sl.lift_call(p, "turn", 2).same_program(sl.lift_call(q, "turn"))
    for lo, hi in BOUNDS:
        for r in (q, sl.lift_call(p, "turn", 2), sl.lift_call(q, "first")):
            statistics, before = agree(chain(), r, lo, hi), agree(chain(), p, lo, hi)
            if lo <= hi:
                assert all(statistics.elements[name] <= n for name, n in before.elements.items())


def test_a_loop_with_nothing_left_to_do_ends() -> None:
    p, _loop = fused(4)
    p, (first, _, second) = sl.fission_loop(p, p.find("turn").after(), rc=True)
    q = sl.lift_call(p, "turn")
    assert [*q.find_all("for _")] == [q.forward(second)]
    assert q.find("turn").next() == q.forward(second)
    with pytest.raises(sl.InvalidCursorError, match="is gone: lift_call computed it elsewhere"):
        q.forward(first)


def test_what_slides_is_computed_in_full() -> None:
    p, loop = fused(1)
    p, at = sl.slide_window(p, "turn", loop, warmup="first", rc=True)
    q = sl.lift_call(p, at.call)
    for lo, hi in BOUNDS:
        agree(chain(), q, lo, hi)
    p = sl.fold_storage(p, at.alloc, "x")
    error = refused(lambda: sl.lift_call(p, at.call))
    assert "a fold of 5 " in error.reason
    assert error.remedy == 'p = sl.unfold_storage(p, "alloc s", "x")\np = sl.lift_call(p, "turn")'


def test_what_lift_call_refuses() -> None:
    p, loop = fused(4)
    error = refused(lambda: sl.lift_call(p, "first"))
    assert error.reason.startswith("first does not find all of s[")
    assert error.remedy == 'p = sl.lift_call(p, "turn", 1)\np = sl.lift_call(p, "first")'
    error = refused(lambda: sl.lift_call(p, "turn", 2))
    assert error.reason == "the call of turn cannot be lifted out of 2 loops; there is 1 around it"
    assert error.remedy == 'p = sl.lift_call(p, "turn", 1)'
    error = refused(lambda: sl.lift_call(chain(), "turn"))
    assert error.reason == "the call of turn cannot be lifted out of 1 loops; there are 0 around it"
    stored = sl.store_at(p, "alloc s", loop)
    error = refused(lambda: sl.lift_call(stored, "turn"))
    assert error.reason == "s is allocated inside of what turn would leave"
    assert error.remedy == 'p = sl.lift_alloc(p, "alloc s", 1)\np = sl.lift_call(p, "turn")'
    with pytest.raises(sl.OperationError, match="levels must be an integer, 1 or more, got 0"):
        sl.lift_call(p, "turn", 0)


# unslide_window -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("warmup", ["earlier", "first"])
@pytest.mark.parametrize("step", [1, 2, 5])
def test_the_inverse_of_slide_window(step: int, warmup: str) -> None:
    p, (loop, *_) = sl.split_loop(chain(), "second.x", step, rc=True)
    p, at = sl.compute_at(p, "first", loop, rc=True)
    q, slid = sl.slide_window(p, at.call, loop, warmup=warmup, rc=True)
    r, (again, call) = sl.unslide_window(q, slid.call, slid.loop, rc=True)
    assert r.same_program(p)
    assert (again, call) == (r.forward(loop), r.forward(at.call))


def test_one_of_two_windows() -> None:
    """The loop keeps the iterations that the other one needs."""
    p, loop = fused(1)
    p = sl.slide_window(sl.slide_window(p, "first", loop), "turn", loop)
    q = sl.unslide_window(p, "turn", loop)
    assert [str(r.find("for x").expression("min").text()) for r in (p, q)] == ["out.x.min - 4", "out.x.min - 2"]
    r = sl.unslide_window(q, "first", loop)
    for lo, hi in BOUNDS:
        counts = [agree(chain(), each, lo, hi).elements.get("turn", 0) for each in (p, q, r)]
        assert counts == sorted(counts)


def test_each_iteration_for_itself() -> None:
    """What no window holds together can run in parallel."""
    p, loop = fused(4)
    p = sl.slide_window(sl.slide_window(p, "first", loop), "turn", loop)
    assert refused(lambda: sl.parallelize_loop(p, loop))
    p = sl.unslide_window(sl.unslide_window(p, "first", loop), "turn", loop)
    for alloc in ("alloc s", "alloc t"):
        p = sl.store_at(p, alloc, loop)
    p = sl.parallelize_loop(p, loop, 2)
    for lo, hi in BOUNDS:
        agree(chain(), p, lo, hi)


def test_what_lies_between_two_windows() -> None:
    """A window that slides over every n-th element, if n is not 0, produces all of them; what each iteration needs is
    less."""
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    n = sl.scalar("n")
    sl.Func(np.negative, [a[x]], [t[x]], name="turn")
    sl.Func(np.square, [t[n * x]], [out[x]], name="nth")
    p = sl.compute_at(sl.split_loop(sl.build_pipeline([a], [out], require=[n >= 0]), "nth.x", 1), "turn", "for x")
    q = sl.slide_window(p, "turn", "for x")
    assert q.run(np.arange(28), np.zeros(10, np.int64), n=3, checked=True).elements["turn"] == 28
    assert sl.unslide_window(q, "turn", "for x").same_program(p)


def test_what_unslide_window_refuses() -> None:
    p, loop = fused(4)
    error = refused(lambda: sl.unslide_window(p, "turn", loop))
    assert error.reason == "turn computes all that an iteration of loop x needs already"
    error = refused(lambda: sl.unslide_window(p, "second", loop))
    assert error.reason == "nothing in loop x reads out"
    error = refused(lambda: sl.unslide_window(sl.compute_root(p, "turn"), "turn", loop))
    assert error.reason == "the call of turn is not in loop x"


# compute_once ---------------------------------------------------------------------------------------------------------


def spread() -> sl.Pipeline:
    """Every row of the output is one row, turned around and smoothed."""
    a, s, t = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "s", "t"))
    out = sl.BufferExpr("out", np.int64, 2)
    sl.Func(np.negative, [a[x]], [s[x]], name="turn")
    sl.Func(three, [s[sl.interval(x - 1, x + 1)]], [t[x]], name="smooth")
    sl.Func(lambda s, o: np.copyto(o, s), [t[x]], [out[y, x]], name="spread")
    return sl.build_pipeline([a], [out])


def in_rows(step: int = 2) -> tuple[sl.Pipeline, sl.LoopCursor]:
    """All of it in a loop over rows."""
    p, (loop, *_) = sl.split_loop(spread(), "spread.y", step, rc=True)
    return sl.compute_at(sl.compute_at(p, "smooth", loop), "turn", loop), loop


def rows(q: sl.Pipeline, shape: tuple[int, int], min_: int = 0) -> sl.RunStatistics:
    """It gives the smoothed row in each; its statistics."""
    data = np.arange(shape[1] + 2) ** 2
    smooth = -(data[:-2] + data[1:-1] + data[2:])
    for how in ({"checked": True}, {"backend": "interpreter"}, {}):
        out = np.zeros(shape, np.int64)
        statistics = q.run(sl.Buffer(data, min=(-1,)), sl.Buffer(out, min=(min_, 0)), **how)
        np.testing.assert_array_equal(out, np.broadcast_to(smooth, shape))
    return statistics


@pytest.mark.parametrize("shape", [(0, 3), (1, 0), (1, 1), (2, 5), (7, 11)])
def test_only_the_first_iteration_computes_it(shape: tuple[int, int]) -> None:
    p, loop = in_rows()
    q, (again, call) = sl.compute_once(p, "smooth", loop, rc=True)
    assert (again, call) == (q.forward(loop), q.find("smooth"))
    q = sl.compute_once(q, "turn", loop)
    assert [s.describe() for s in q.find("for y").body()[:2]] == ["if y <= out.y.min:"] * 2
    statistics = rows(q, shape, -3)
    assert statistics.elements.get("smooth", 0) == (shape[1] if shape[0] else 0)
    assert statistics.calls.get("turn", 0) == (1 if shape[0] else 0)
    peeled = sl.cut_loop(q, loop, loop.bounds().min + 1)
    assert "if" not in str(peeled.body())
    rows(peeled, shape, -3)


def test_what_only_the_first_iteration_finds() -> None:
    """A source that is computed in the loop, and so cannot be read before it."""
    p, loop = in_rows()
    assert refused(lambda: sl.lift_call(p, "smooth")).reason.startswith("smooth does not find all of s[")
    q = sl.compute_once(p, "smooth", loop)
    assert rows(q, (6, 4)).calls == {"turn": 3, "smooth": 1, "spread": 3}


def test_in_an_inner_loop() -> None:
    """What depends on the loops inside is computed in all of their iterations, in the first of the outer one."""
    p, (loop, *_) = sl.split_loop(spread(), "spread.y", 1, rc=True)
    p, (inner, *_) = sl.split_loop(p, "spread.x", 3, rc=True)
    p, at = sl.compute_at(p, "smooth", inner, rc=True)
    q = sl.compute_once(p, at.call, loop)
    for shape in [(0, 2), (1, 1), (4, 7)]:
        assert rows(q, shape).elements.get("smooth", 0) == (shape[1] if shape[0] else 0)
    error = refused(lambda: sl.compute_once(p, at.call, inner))
    assert error.reason == "what smooth computes moves with loop x"


def test_what_compute_once_refuses() -> None:
    p, loop = in_rows()
    error = refused(lambda: sl.compute_once(sl.compute_root(p, "turn"), "turn", loop))
    assert error.reason == "the call of turn is not in loop y"
    error = refused(lambda: sl.compute_once(p, "spread", loop))
    assert error.reason == "what spread computes moves with loop y"
    stored = sl.store_at(p, "alloc t", loop)
    error = refused(lambda: sl.compute_once(stored, "smooth", loop))
    assert error.reason == "t is allocated inside of loop y, so nothing of it lasts"
    assert error.remedy == 'p = sl.lift_alloc(p, "alloc t", 1)\np = sl.compute_once(p, "smooth", "for y")'
    alone = sl.parallelize_loop(sl.store_at(stored, "alloc s", loop), loop)
    error = refused(lambda: sl.compute_once(alone, "smooth", loop))
    assert error.reason == "loop y is parallel: none of its iterations is the first"
    q = sl.compute_once(p, "smooth", loop)
    error = refused(lambda: sl.compute_once(q, "smooth", loop))
    assert error.reason == "smooth is computed in the first iteration of loop y only"


def test_a_buffer_that_does_not_last() -> None:
    """Where a fold lets go of what the first iteration has produced, every iteration must produce it."""
    p, (loop, *_) = sl.split_loop(spread(), "spread.y", 1, rc=True)
    p, (inner, *_) = sl.split_loop(p, "spread.x", 1, rc=True)
    p, at = sl.compute_at(p, "smooth", inner, rc=True)
    p = sl.store_at(p, at.alloc, loop)
    p = sl.lift_alloc(sl.fold_storage(p, at.alloc, "x"), at.alloc)
    rows(p, (3, 5))
    error = refused(lambda: sl.compute_once(p, at.call, loop))
    assert "a fold of 1 " in error.reason or "spread does not find" in error.reason
