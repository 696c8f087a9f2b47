"""Two loops that become one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scheduled import refusal

import slinky as sl

x, y = sl.variables("x y")


def shared(rate: int = 1) -> sl.Pipeline:
    """Two outputs over one intermediate: sums of two neighbours, and squares (of every `rate`-th element)."""
    a, t, sums, squares = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "sums", "squares"))
    sl.Func(np.negative, [a[x]], [t[x]], name="turn")
    sl.Func(lambda s, o: np.add(s[:-1], s[1:], out=o), [t[sl.interval(x - 1, x)]], [sums[x]], name="add")
    sl.Func(lambda s, o: np.square(s[::rate], out=o), [t[sl.interval(rate * x, rate * x)]], [squares[x]], name="square")
    return sl.build_pipeline([a], [sums, squares])


BOUNDS = [
    ((0, 20), (0, 20)),
    ((0, 20), (5, 31)),
    ((3, 2), (4, 9)),
    ((10, 20), (-4, 3)),
    ((-3, 0), (9, 30)),
    ((0, 0), (9, 9)),
]
RATES = [((0, 20), (0, 10)), ((0, 21), (0, 10)), ((4, 9), (-1, 12)), ((0, 30), (3, 5))]


def agree(p: sl.Pipeline, q: sl.Pipeline, first: tuple[int, int], second: tuple[int, int]) -> list[sl.RunStatistics]:
    """Both give the same for these bounds of their outputs; the statistics of the second."""
    data = sl.Buffer(np.arange(100), min=(-15,))

    def outputs() -> list[sl.Buffer]:
        return [sl.Buffer(np.zeros(hi - lo + 1, np.int64), min=(lo,)) for lo, hi in (first, second)]

    expected, found = outputs(), []
    p(data, *expected)
    for how in ({}, {"checked": True}, {"backend": "interpreter"}):
        got = outputs()
        found.append(q.run(data, *got, **how))
        for a, b in zip(expected, got, strict=True):
            np.testing.assert_array_equal(a.array, b.array)
    return found


@pytest.mark.sweep
@pytest.mark.parametrize("step", [1, 2, 5, 8])
@pytest.mark.parametrize(("first", "second"), BOUNDS)
def test_what_two_outputs_share_is_slid_and_folded(step: int, first: tuple[int, int], second: tuple[int, int]) -> None:
    """In one loop over both: no more of the intermediate is stored than one iteration needs."""
    p = shared()
    q = sl.split_loop(sl.split_loop(p, "add.x", step), "square.x", step)
    q, (loop,) = sl.fuse_loops(q, "for x", "for x #1", rc=True)
    agree(p, q, first, second)
    q, at = sl.compute_at(q, "turn", loop, rc=True)
    q = sl.fold_storage(sl.slide_window(q, at.call, loop), at.alloc, "x")
    assert q.forward(at.alloc).storage() == (sl.equal and step + 1,) or str(q.forward(at.alloc).storage()[0]) == str(
        step + 1
    )
    (statistics, *_) = agree(p, q, first, second)
    assert statistics.program_bytes <= 8 * (step + 1)


def test_calls_that_are_clamped_need_no_condition() -> None:
    p = sl.split_loop(sl.split_loop(shared(), "add.x", 4), "square.x", 4)
    q = sl.fuse_loops(p, "for x", "for x #1")
    assert " if " not in str(q)
    assert [c.name() for c in q.find("for x").body()] == ["add", "square"]


def test_a_body_that_is_more_than_calls_stands_under_a_condition() -> None:
    """What the calls are clamped to says nothing of an allocation."""
    whole = shared()
    p = sl.split_loop(sl.split_loop(whole, "add.x", 1), "square.x", 1)
    p = sl.clone_call(p, "turn", "add")
    q = sl.fuse_loops(p, "for x", "for x #1")
    assert "    if x <= sums.x.max and sums.x.min <= x:\n      alloc t_1" in str(q)
    for first, second in BOUNDS:
        statistics = agree(whole, q, first, second)
        assert statistics[0].elements.get("add", 0) == max(first[1] - first[0] + 1, 0)


@pytest.mark.parametrize(("first", "second"), RATES)
def test_loops_at_different_rates(first: tuple[int, int], second: tuple[int, int]) -> None:
    """Every second element is squared: one iteration of the second loop for two elements of the first."""
    whole = shared(2)
    p, (loop, _, _) = sl.split_loop(whole, "add.x", 2, rc=True)
    p = sl.split_loop(p, "square.x", 1)
    q, (fused,) = sl.fuse_loops(p, loop, "for x #1", x // 2, rc=True)
    agree(whole, q, first, second)
    q = sl.compute_at(q, "turn", fused)
    agree(whole, q, first, second)


def test_at_another_place() -> None:
    whole = shared()
    p = sl.split_loop(sl.split_loop(whole, "add.x", 1), "square.x", 1)
    q = sl.fuse_loops(p, "for x", "for x #1", x - 3)
    for first, second in BOUNDS:
        agree(whole, q, first, second)
    assert str(q.find("square").bounds("x")) == "x - 3"


@pytest.mark.parametrize("cut", ["inside", "behind", "before"])
@pytest.mark.parametrize(("factor", "inner"), [(1, None), (2, None), (4, None), (4, 3), (6, 2), (4, 1)])
def test_pieces_on_the_grid_of_the_first_are_no_more_than_there_were(cut: str, factor: int, inner: int | None) -> None:
    """The second loop begins somewhere in a piece of the first: what it computes begins and ends where it did, also
    where that is nowhere."""
    a, b = (sl.BufferExpr(name, np.int64, 1) for name in "ab")
    sl.Func(np.negative, [a[x]], [b[x]], name="turn")
    whole = sl.build_pipeline([a], [b])
    i = b.dim(0)
    at = {"inside": i.min + 5, "behind": i.max + 2, "before": i.min - 3}[cut]
    p, parts = sl.cut_call(whole, "turn.x", at, rc=True)
    loops: list[sl.LoopCursor] = []
    for part in (parts.first, parts.second):
        p, (loop, _, _) = sl.split_loop(p, p.forward(part).dims()[0], factor, rc=True)
        loops.append(loop)
        if inner is not None:
            p = sl.split_loop(p, p.forward(part).dims()[0], inner)
    one, other = map(p.forward, loops)
    if cut == "inside" and factor == 4 and inner is not None:  # pieces of pieces that begin in one of another grid
        assert refusal(lambda: sl.fuse_loops(p, one, other)).startswith("not shown that all of output b is written")
        return
    q = sl.fuse_loops(p, one, other)
    values = np.arange(14)
    for n in (0, 1, 4, 5, 6, 14):
        out = np.zeros(n, np.int64)
        statistics = q.run(values[:n], out, checked=True)
        np.testing.assert_array_equal(out, -values[:n])
        assert statistics.elements.get("turn", 0) == n


@pytest.mark.parametrize("factor", [2, 3, 5])
def test_whole_pieces_on_the_grid_of_the_first_are_all_there(factor: int) -> None:
    """The range of a loop over whole pieces ends where the last of them begins, and in one of another grid there may be
    more to do behind that."""
    a, b, c = (sl.BufferExpr(name, np.int64, 1) for name in "abc")
    sl.Func(np.negative, [a[x]], [b[x]], name="turn")
    sl.Func(np.square, [a[x]], [c[x]], name="square")
    p = sl.split_loop(sl.build_pipeline([a], [b, c]), "turn.x", factor)
    p, (loop, _, _) = sl.split_loop(p, "square.x", factor, tail="cut", rc=True)
    q = sl.fuse_loops(p, p.find("for x"), loop)
    values = np.arange(-20, 20)
    for n, at in itertools.product((0, 1, 2, 3, 4, 5, 9, 11), range(-6, 7)):
        turned, squared = np.zeros(3, np.int64), np.zeros(n, np.int64)
        arrays = [sl.Buffer(values, min=(-20,)), turned, sl.Buffer(squared, min=(at,))]
        statistics = q.run(*arrays, checked=True)
        np.testing.assert_array_equal(turned, [0, -1, -2])
        np.testing.assert_array_equal(squared, np.arange(at, at + n) ** 2)
        assert statistics.elements.get("square", 0) == n


def of_three_outputs() -> sl.Pipeline:
    """A window of rows, and three outputs of one func over it, all as large as each other."""
    inp, soft, *planes = (sl.BufferExpr(name, np.int64, 2) for name in ("inp", "soft", "r", "g", "b"))
    sl.Func(lambda s, o: np.add(s[:-2], s[2:], out=o), [inp[sl.interval(y - 1, y + 1), x]], [soft[y, x]], name="soften")

    def split(source: np.ndarray, *targets: np.ndarray) -> None:
        for k, target in enumerate(targets):
            np.add(source[:-1], k * source[1:], out=target)

    sl.Func(split, [soft[sl.interval(y - 1, y), x]], [each[y, x] for each in planes], name="split")
    return sl.build_pipeline([inp], planes, require=[sl.same_shape(planes[0], each) for each in planes[1:]])


def test_loops_over_outputs_that_are_as_large_as_each_other() -> None:
    p = of_three_outputs()
    q = sl.split_loop(sl.split_loop(p, "split.y", 2), "soften.y", 2)
    q, (loop,) = sl.fuse_loops(q, "for y", "for y #1", rc=True)
    assert str(loop.bounds()) == "r.y.min - 1 .. r.y.max"
    data = np.arange(50).reshape(10, 5) ** 2
    for a, b in zip(p(data), q.run(data, checked=True).outputs, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_loop_behind_may_be_one_of_two(step: int) -> None:
    """It begins where the first of the two does, wherever that is."""
    a, t, *outs = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "b", "c", "d"))
    sl.Func(np.negative, [a[x]], [t[x]], name="turn")
    for k, out in enumerate(outs):
        sl.Func(lambda s, o: np.add(s[: len(o)], s[-len(o) :], out=o), [t[sl.interval(x - k, x)]], [out[x]], f"f{k}")
    q = p = sl.build_pipeline([a], outs)
    for k in range(3):
        q = sl.split_loop(q, f"f{k}.x", step)
    q = sl.fuse_loops(q, "for x #1", "for x #2")
    q, (loop,) = sl.fuse_loops(q, "for x #0", "for x #1", rc=True)
    q, at = sl.compute_at(q, "turn", loop, rc=True)
    q = sl.fold_storage(sl.slide_window(q, "turn", loop), at.alloc, "x")
    data = sl.Buffer(np.arange(60) ** 2, min=(-20,))
    for begins in ((0, 0, 0), (3, -2, 1), (-5, 4, -7), (2, 2, -1)):
        places = [*zip((9, 4, 7), begins, strict=True)]
        targets = [[sl.Buffer(np.zeros(n, np.int64), min=(lo,)) for n, lo in places] for _ in range(2)]
        p(data, *targets[0])
        q.run(data, *targets[1], checked=True)
        for one, other in zip(*targets, strict=True):
            np.testing.assert_array_equal(one.array, other.array)


def test_a_window_in_a_loop_over_outputs_that_are_as_large_as_each_other() -> None:
    """The first iteration is one, whichever of the outputs says where."""
    p = sl.compute_at(sl.split_loop(of_three_outputs(), "split.y", 1), "soften", "for y")
    p = sl.fold_storage(sl.slide_window(p, "soften", "for y", warmup="first"), "alloc soft", "y")
    assert str(p.find("soften").bounds("y")) == "select(r.y.min == y, r.y.min - 1, y) .. y"
    assert p.find("alloc soft").storage()[0] is not None
    assert p.run(np.arange(50).reshape(10, 5), checked=True).program_bytes == 2 * 5 * 8


def test_parallel_loops() -> None:
    whole = shared()
    p = sl.split_loop(sl.split_loop(whole, "add.x", 4), "square.x", 4)
    p = sl.parallelize_loop(p, "for x", 2)
    assert refusal(lambda: sl.fuse_loops(p, "for x", "for x #1")) == "loops x and x do not run alike"
    p = sl.parallelize_loop(p, "for x #1", 2)
    q = sl.fuse_loops(p, "for x", "for x #1")
    assert "parallel 2" in str(q)
    for first, second in BOUNDS:
        agree(whole, q, first, second)


def chain() -> sl.Pipeline:
    """`second` reads what `first` makes one further on."""
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    sl.Func(np.negative, [a[x]], [t[x]], name="first")
    sl.Func(lambda s, o: np.add(s[:-1], s[1:], out=o), [t[sl.interval(x, x + 1)]], [out[x]], name="second")
    return sl.split_loop(sl.split_loop(sl.build_pipeline([a], [out]), "first.x", 1), "second.x", 1)


def test_a_producer_may_run_ahead() -> None:
    """At the same place it is too late; one place behind, it is not."""
    p = chain()
    reason = refusal(lambda: sl.fuse_loops(p, "for x", "for x #1"))
    assert reason.startswith("second does not find all of t[")
    q = sl.fuse_loops(p, "for x", "for x #1", x - 1)
    data, out = sl.Buffer(np.arange(20)), np.zeros(10, np.int64)
    q.run(data, out, checked=True)
    np.testing.assert_array_equal(out, -(2 * np.arange(10) + 1))
    assert q.find("alloc t").storage() == (None,)
    q = sl.fold_storage(q, "alloc t", "x")
    assert q.run(data, out).program_bytes == 2 * 8


def test_what_is_refused() -> None:
    p = sl.split_loop(sl.split_loop(shared(), "add.x", 2), "square.x", 4)
    assert "goes on by 4, and x in loop x by something else" in refusal(lambda: sl.fuse_loops(p, "for x", "for x #1"))
    assert refusal(lambda: sl.fuse_loops(p, "for x #1", "for x")) == "loop x does not follow loop x in its block"
    assert "something else" in refusal(lambda: sl.fuse_loops(p, "for x", "for x #1", -x))
    q = sl.split_loop(shared(), "turn.x", 4)
    q = sl.split_loop(q, "square.x", 4)
    assert refusal(lambda: sl.fuse_loops(q, "for x", "for x #1")) == "something else stands between loops x and x"
    with pytest.raises(sl.OperationError, match="the place of the second loop"):
        sl.fuse_loops(p, "for x", "for x #1", y)


def test_the_history_has_it() -> None:
    p = sl.split_loop(sl.split_loop(shared(), "add.x", 4), "square.x", 4)
    q = sl.fuse_loops(p, "for x", "for x #1", x + 4)
    again = eval(str(q.history()).splitlines()[-1].removeprefix("p = "), {"sl": sl, "p": p})
    assert again.same_program(q)


def test_what_each_piece_computes_anew_is_computed_for_one_more_on_another_grid() -> None:
    a, b, c, t = (sl.BufferExpr(name, np.int64, 1) for name in "abct")
    t.dim(0).min, t.dim(0).max = 0, 2
    sl.Func(np.negative, [a[x]], [c[x]], name="turn")
    sl.Func(np.square, [a[x]], [t[x]], name="make")
    sl.Func(lambda s, o: np.copyto(o, s.sum()), [t[:]], [b[x]], name="add")
    p = sl.split_loop(sl.build_pipeline([a], [c, b]), "turn.x", 2)
    p, (loop, _, _) = sl.split_loop(p, "add.x", 2, rc=True)
    p = sl.compute_at(p, "make", loop)
    first, second = p.find_all("for x")[:2]
    q = sl.fuse_loops(p, first, second)
    for at in (-4, -5, 0):
        results, made = [], []
        for each in (p, q):
            arrays = [sl.Buffer(np.zeros(n, np.int64), min=(start,)) for n, start in ((1, at), (2, 0))]
            statistics = each.run(sl.Buffer(np.arange(-9, 9), min=(-9,)), *arrays, checked=True)
            results.append([array.array.tolist() for array in arrays])
            made.append(statistics.elements["make"])
        assert results[0] == results[1]
        assert made == [3, 3 if at % 2 == 0 else 6]
