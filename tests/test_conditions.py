"""Blocks that stand there twice, under a condition and under its contrary, and conditions that leave loops."""

from __future__ import annotations

import numpy as np
import pytest
from in_one_dimension import agree, sums
from scheduled import refused

import slinky as sl

x, y = sl.variables("x y")
n = sl.scalar("n")

BOUNDS = [(0, -1), (0, 0), (3, 13), (-7, 5), (0, 23), (-11, 30)]


def fused() -> tuple[sl.Pipeline, sl.LoopCursor]:
    """Both in a loop by fours, with a buffer of its own for each iteration."""
    p, (loop, *_) = sl.split_loop(sums(), "add.x", 4, rc=True)
    return sl.store_at(sl.compute_at(p, "turn", loop), "alloc t", loop), loop


# specialize -----------------------------------------------------------------------------------------------------------


def test_full_pieces_need_no_clamps() -> None:
    p, loop = fused()
    high = loop.bounds().max
    q, (if_,) = sl.specialize(p, p.find("alloc t").expand(after=2), x + 4 <= high, rc=True)
    assert str(if_.body()[0].bounds("x")) == "x - 1 .. x + 4"
    assert str(if_.orelse()[0].bounds("x")) == "x - 1 .. out.x.max + 1"
    for lo, hi in BOUNDS:
        statistics, before = agree(sums(), q, lo, hi), agree(sums(), p, lo, hi)
        assert (statistics.calls, statistics.elements) == (before.calls, before.elements)
        assert statistics.program_bytes == before.program_bytes


def test_which_of_the_two_keeps_the_identities() -> None:
    p, loop = fused()
    turn, block = p.find("turn"), p.find("alloc t").expand(after=2)
    q, (if_,) = sl.specialize(p, block, x <= 3, rc=True)
    assert q.forward(turn) == if_.body()[1]
    assert q.forward(block) == if_.body()
    assert if_.parent() == q.forward(loop)
    assert [c.name() for c in if_.orelse()[1:]] == ["turn", "add"]


def test_a_condition_on_a_scalar() -> None:
    """A version of its own for a step that is known."""
    p, (loop, *_) = sl.split_loop(sums(), "add.x", n, rc=True)
    p = sl.slide_window(sl.compute_at(p, "turn", loop), "turn", loop)
    q, (if_,) = sl.specialize(p, loop, sl.equal(n, 4), rc=True)
    assert str(if_.body()[0].step()) in ("4", "n")
    for step in (1, 4, 7):
        for lo, hi in BOUNDS:
            statistics, before = agree(sums(), q, lo, hi, n=step), agree(sums(), p, lo, hi, n=step)
            assert statistics.elements == before.elements


def test_a_scalar_that_the_pipeline_does_not_have_yet() -> None:
    p, loop = fused()
    q = sl.specialize(p, loop, sl.scalar("fast") >= 1)
    assert [s.name() for s in q.args() if s.name() == "fast"] == ["fast"]
    for fast in (0, 1):
        agree(sums(), q, 0, 9, fast=fast)


def test_twice() -> None:
    """A block in a block: each copy is specialized by itself."""
    p, loop = fused()
    p, (if_,) = sl.specialize(p, loop, n <= 3, rc=True)
    q = sl.specialize(p, if_.orelse(), n <= 7)
    r = sl.specialize(q, if_, n <= -2)
    for value in (-5, 0, 5, 9):
        for lo, hi in BOUNDS:
            agree(sums(), q, lo, hi, n=value)
            agree(sums(), r, lo, hi, n=value)


def test_only_one_side_is_changed_further() -> None:
    """What is proved of one side rests on the condition."""
    p, loop = fused()
    p, (_, inner, _) = sl.split_loop(p, loop, 2, rc=True)
    (outer,) = sl.variables("x_outer")
    q, (if_,) = sl.specialize(p, inner, outer + 7 <= loop.bounds().max, rc=True)
    q, (block,) = sl.unroll_loop(q, inner, rc=True)
    assert len(block) == 6
    assert refused(lambda: sl.unroll_loop(q, q.forward(if_).orelse()[0]))
    for lo, hi in BOUNDS:
        agree(sums(), q, lo, hi)


def test_rewrites_around_it_go_on() -> None:
    """That both sides together write all, in every iteration, is found again where it is asked."""
    p, (loop, *_) = sl.split_loop(sums(), "add.x", 1, rc=True)
    p = sl.compute_at(p, "turn", loop)
    p = sl.specialize(p, "add", n <= 3)
    p = sl.specialize(p, "turn", n <= 5)
    q = sl.fission_loop(p, p.find("turn").parent().after())
    for value in (2, 4, 6):
        for lo, hi in BOUNDS:
            agree(sums(), q, lo, hi, n=value)


def test_what_specialize_refuses() -> None:
    p, loop = fused()
    error = refused(lambda: sl.specialize(p, "turn", x <= loop.bounds().max))
    assert error.reason == "the condition always holds here"
    error = refused(lambda: sl.specialize(p, "turn", x > loop.bounds().max))
    assert error.reason == "the condition never holds here"
    error = refused(lambda: sl.specialize(p, p.find("alloc t").expand(after=1), x <= 3))
    assert error.reason == "t is allocated in the block, and used behind it"
    error = refused(lambda: sl.specialize(p, p.body()[0], n <= 3))
    assert error.reason == "a check must stay as it is, where it is: statements may rely on it, and callers, too"
    error = refused(lambda: sl.specialize(p, "turn", 10 // (x - n) <= 3))
    assert error.reason == "not shown that what the condition divides by is 1 or more"
    for wrong in (True, 3, "n <= 3", n):
        with pytest.raises(sl.OperationError, match="expected a condition, such as sl"):
            sl.specialize(p, "turn", wrong)
    with pytest.raises(sl.OperationError, match="the condition names y, which is no scalar and no enclosing loop"):
        sl.specialize(p, "turn", y <= 3)


def test_a_buffer_of_each_side() -> None:
    """Elsewhere, there is none: not of this side, nor of the other."""
    p, _ = fused()
    p = sl.specialize(p, p.find("alloc t").expand(after=2), n <= 3)
    assert refused(lambda: sl.compute_root(p, "add")).reason == "t is not allocated here"


def test_a_divisor_becomes_a_check() -> None:
    p, loop = fused()
    q = sl.specialize(p, loop, 10 // n <= 3)
    agree(sums(), q, 0, 9, n=2)
    with pytest.raises(sl.CheckFailedError, match="what the condition divides by must be 1 or more"):
        agree(sums(), q, 0, 9, n=0)


def test_the_history_has_both() -> None:
    p, loop = fused()
    q, (if_,) = sl.specialize(p, p.find("alloc t").expand(after=2), (n <= 3) & (n > -4), rc=True)
    q = sl.lift_if(q, if_)
    again = p
    for line in str(q.history()).splitlines()[-2:]:
        again = eval(line.removeprefix("p = "), {"sl": sl, "p": again})
    assert again.same_program(q)
    assert loop


# lift_if --------------------------------------------------------------------------------------------------------------


def test_both_branches_get_the_loop() -> None:
    p, loop = fused()
    p, (if_,) = sl.specialize(p, p.find("alloc t").expand(after=2), n <= 3, rc=True)
    q, (lifted,) = sl.lift_if(p, if_, rc=True)
    assert lifted == q.forward(if_)
    assert not lifted.parent()
    assert q.forward(loop) == lifted.body()[0]
    (other,) = lifted.orelse()
    assert (str(other.bounds()), str(other.step())) == (str(loop.bounds()), "4")
    for value in (0, 9):
        for lo, hi in BOUNDS:
            statistics, before = agree(sums(), q, lo, hi, n=value), agree(sums(), p, lo, hi, n=value)
            assert (statistics.calls, statistics.elements) == (before.calls, before.elements)


def test_what_else_stands_in_the_loop_stands_in_both() -> None:
    p, loop = fused()
    p, (if_,) = sl.specialize(p, "turn", n <= 3, rc=True)
    q, (lifted,) = sl.lift_if(p, if_, rc=True)
    for branch in (lifted.body(), lifted.orelse()):
        assert [s.name() for s in branch[0].body()] == ["t", "turn", "add"]
    assert q.forward(loop) == lifted.body()[0]
    for value in (0, 9):
        for lo, hi in BOUNDS:
            agree(sums(), q, lo, hi, n=value)


@sl.sched_op("if_")
def also_if(p: sl.Pipeline, call: sl.CallCursor, condition: object) -> object:
    """A call once more before it, if a condition holds."""
    edit = sl.edit(p)
    edit.insert(call.before(), sl.ir.If(condition, edit.copy(call)))
    p = edit.finish()
    return p, (p.forward(call).prev(),)


def test_an_if_without_an_else() -> None:
    """Where the condition does not hold, the rest of the body still runs; nothing, if there is no rest."""
    p, (loop, *_) = sl.split_loop(sums(), "add.x", 2, rc=True)
    p, (if_,) = also_if(p, "add", loop.bounds().max <= 5, rc=True)
    q, (lifted,) = sl.lift_if(p, if_, rc=True)
    assert [[s.name() for s in branch[0].body()] for branch in (lifted.body(), lifted.orelse())] == [
        ["add", "add"],
        ["add"],
    ]
    p = sl.fission_loop(p, if_.after())
    r, (lifted,) = sl.lift_if(p, if_, rc=True)
    assert [s.name() for s in lifted.body()[0].body()] == ["add"]
    assert not lifted.orelse()
    for lo, hi in BOUNDS:
        agree(sums(), q, lo, hi)
        agree(sums(), r, lo, hi)


def test_parallel_loops_stay_parallel() -> None:
    p, loop = fused()
    p = sl.parallelize_loop(p, loop, 2)
    p, (if_,) = sl.specialize(p, p.find("alloc t").expand(after=2), n <= 3, rc=True)
    q, (lifted,) = sl.lift_if(p, if_, rc=True)
    assert [lifted.body()[0].workers(), lifted.orelse()[0].workers()] == [2, 2]
    for value in (0, 9):
        agree(sums(), q, -3, 20, n=value)


def test_what_lift_if_refuses() -> None:
    p, loop = fused()
    p, (if_,) = sl.specialize(p, loop, n <= 3, rc=True)
    error = refused(lambda: sl.lift_if(p, if_))
    assert error.reason == "the if does not stand in a loop"
    q, (if_,) = sl.specialize(p, "turn", x <= 3, rc=True)
    error = refused(lambda: sl.lift_if(q, if_))
    assert error.reason == "the condition depends on loop x"


def test_a_divisor_that_only_the_loop_shows_to_be_positive() -> None:
    """Before the loop it may be anything."""
    a, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "out"))
    sl.Func(np.negative, [a[x]], [out[x]], name="turn")
    p, (loop, inner, _) = sl.split_loop(sl.build_pipeline([a], [out]), "turn.x", 2, rc=True)
    p, (outer, loop, _) = sl.split_loop(p, loop, 3, rc=True)
    extent = outer.bounds().max - outer.bounds().min + 1
    p, (if_,) = sl.specialize(p, "turn", 100 // extent <= 20, rc=True)
    p, (if_,) = sl.lift_if(p, if_, rc=True)
    error = refused(lambda: sl.lift_if(p, if_))
    assert error.reason.startswith("not shown that the divisor of 100 // (")
    assert inner
