"""Loops that end: unrolled, found to be needless, or taken into the call in them; and loops that are serial again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from in_one_dimension import agree, sums
from scheduled import refused

import slinky as sl
from slinky.symbolic.expressions import constant

y, x = sl.variables("y x")


def in_fours() -> tuple[sl.Pipeline, sl.LoopCursor]:
    """Four iterations of a loop in each of another, in which both funcs run; and the inner loop."""
    p, (loop, *_) = sl.split_loop(sums(), "add.x", 3, rc=True)
    p = sl.compute_at(p, "turn", loop)
    p = sl.store_at(p, "alloc t", loop)
    p, (_, inner, _) = sl.split_loop(p, loop, 4, tail="cut", rc=True)
    return p, inner


BOUNDS = [(0, -1), (0, 0), (3, 13), (-7, 5), (0, 23), (-11, 30)]


# unroll_loop ----------------------------------------------------------------------------------------------------------


def test_each_iteration_stands_there_with_buffers_of_its_own() -> None:
    p, inner = in_fours()
    alloc, turn = p.find("alloc t"), p.find("turn")
    q, (block,) = sl.unroll_loop(p, inner, rc=True)
    assert [str(s.name()) for s in block] == [
        "t",
        "turn",
        "add",
        *(n for k in "123" for n in (f"t_{k}", "turn", "add")),
    ]
    assert [str(c.bounds("x")) for c in q.find_all("add")[:4]] == [
        "x_outer .. x_outer + 2",
        "x_outer + 3 .. x_outer + 5",
        "x_outer + 6 .. x_outer + 8",
        "x_outer + 9 .. x_outer + 11",
    ]
    assert (q.forward(alloc), q.forward(turn)) == (block[0], block[1])
    with pytest.raises(sl.InvalidCursorError, match="is gone: unroll_loop put its body in its place"):
        q.forward(inner)
    for lo, hi in BOUNDS:
        statistics, before = agree(sums(), q, lo, hi), agree(sums(), p, lo, hi)
        assert (statistics.calls, statistics.elements) == (before.calls, before.elements)
        assert statistics.program_bytes <= 5 * 8  # one buffer at a time


def test_what_the_variable_decides_is_gone() -> None:
    """The first window of a slide, and conditions on the variable."""
    p = sl.compute_at(sl.split_loop(sums(), "add.x", 1), "turn", "for x")
    p, (_, loop, _) = sl.slide_window(p, "turn", "for x", warmup="first", rc=True)
    p, (first, _) = sl.cut_loop(p, loop, loop.bounds().min + 3, rc=True)
    p, (_, block, _) = sl.split_loop(p, first, 3, tail="cut", rc=True)
    q, (unrolled,) = sl.unroll_loop(p, block, rc=True)
    assert [str(c.bounds("x")) for c in unrolled if c.name() == "turn"][1:] == ["x_outer + 2", "x_outer + 3"]
    for lo, hi in BOUNDS:
        agree(sums(), q, lo, hi)


def test_statements_under_conditions() -> None:
    """What is allocated under a condition that the iteration decides comes to stand beside the other iterations."""
    p, inner = in_fours()
    v, outer = sl.variables("x x_outer")
    p = sl.specialize(p, inner.body(), v <= outer + 3)
    q, (block,) = sl.unroll_loop(p, inner, rc=True)
    assert [type(s).__name__ for s in block] == ["AllocCursor", "CallCursor", "CallCursor"] * 4
    assert len({s.name() for s in block if isinstance(s, sl.AllocCursor)}) == 4
    for lo, hi in BOUNDS:
        agree(sums(), q, lo, hi)


def test_no_body_and_no_variable() -> None:
    a, out = (sl.BufferExpr(name, np.int64, 2) for name in ("a", "out"))
    sl.Func(np.negative, [a[y, x]], [out[y, x]], name="turn")
    p = sl.split_loop(sl.build_pipeline([a], [out]), "turn.y", 2, tail="cut")
    p, (_, inner, _) = sl.split_loop(p, "for y", 2, tail="cut", rc=True)
    p, (_, rows, _) = sl.split_loop(p, inner, 2, tail="perfect", rc=True)
    q, (block,) = sl.unroll_loop(p, rows, rc=True)
    assert len(block) == 2
    for rows_, columns in [(0, 3), (1, 1), (7, 5), (11, 2)]:
        data, result = np.arange(rows_ * columns).reshape(rows_, columns), np.zeros((rows_, columns), np.int64)
        q.run(data, result, checked=True)
        np.testing.assert_array_equal(result, -data)


def test_what_unroll_loop_refuses() -> None:
    p, inner = in_fours()
    error = refused(lambda: sl.unroll_loop(p, "for x_outer"))
    assert error.reason == "not shown that loop x_outer has as many iterations in every run"
    assert error.hint == 'split_loop with tail="cut" leaves an inner loop of as many as the factor says'
    parallel = sl.parallelize_loop(p, inner)
    error = refused(lambda: sl.unroll_loop(parallel, inner))
    assert error.reason == "loop x is parallel: its iterations would come one after the other"
    assert error.remedy == 'p = sl.serialize_loop(p, "for x #0")\np = sl.unroll_loop(p, "for x #0")'
    long, (_, many, _) = sl.split_loop(sl.split_loop(sums(), "add.x", 1), "for x", 1001, tail="cut", rc=True)
    error = refused(lambda: sl.unroll_loop(long, many))
    assert error.reason == "1001 times the body of loop x are 1001 statements, more than 1000"
    fits, (_, many, _) = sl.split_loop(sl.split_loop(sums(), "add.x", 1), "for x", 1000, tail="cut", rc=True)
    assert len(sl.unroll_loop(fits, many).find_all("add")) == 1001
    never, (first, _) = sl.cut_loop(p, inner, inner.bounds().min - 5, rc=True)
    error = refused(lambda: sl.unroll_loop(never, first))
    assert error.reason == "loop x never runs"


# remove_loop ----------------------------------------------------------------------------------------------------------


def test_a_loop_of_one_iteration() -> None:
    p, (loop, *_) = sl.split_loop(sums(), "add.x", 4, rc=True)
    p = sl.store_at(sl.compute_at(p, "turn", loop), "alloc t", loop)
    p, (_, inner, tail) = sl.split_loop(p, loop, 1, tail="cut", rc=True)
    body = inner.body()
    q, (block,) = sl.remove_loop(p, inner, rc=True)
    assert block == q.forward(body)
    assert [str(s.name()) for s in block] == ["t", "turn", "add"]
    assert str(q.find("add").bounds("x")) == "x_outer .. x_outer + 3"
    for lo, hi in BOUNDS:
        statistics, before = agree(sums(), q, lo, hi), agree(sums(), p, lo, hi)
        assert (statistics.calls, statistics.program_bytes) == (before.calls, before.program_bytes)
    with pytest.raises(sl.SchedulingError, match="loop x never runs"):
        sl.remove_loop(p, tail)


def columns() -> tuple[sl.Pipeline, sl.LoopCursor]:
    """A producer of rows in a loop of three iterations over columns, alone: it does not depend on them."""
    a, t, out = (sl.BufferExpr(name, np.int64, 2) for name in ("a", "t", "out"))
    sl.Func(np.negative, [a[y, x]], [t[y, x]], name="turn")
    sl.Func(lambda s, o: np.square(s[:, : o.shape[1]], out=o), [t[y, :]], [out[y, x]], name="square")
    p = sl.split_loop(sl.build_pipeline([a], [out]), "square.y", 1)
    p, (loop, *_) = sl.split_loop(p, "square.x", 2, rc=True)
    p, (_, inner, _) = sl.split_loop(p, loop, 3, names=("tile", "x"), rc=True)
    p, at = sl.compute_at(p, "turn", inner, rc=True)
    p, (first, _, _) = sl.fission_loop(p, at.call.after(), rc=True)
    return p, first


def test_iterations_that_all_do_the_same() -> None:
    """Of a loop that is shown to run, one iteration is enough."""
    p, loop = columns()
    q, (block,) = sl.remove_loop(p, loop, rc=True)
    assert [s.name() for s in block] == ["turn"]
    for shape in [(0, 3), (1, 1), (3, 7), (2, 13)]:
        data, results = np.arange(shape[0] * shape[1]).reshape(shape), [np.zeros(shape, np.int64) for _ in range(2)]
        before, after = (r.run(data, out, checked=True) for r, out in zip((p, q), results, strict=True))
        np.testing.assert_array_equal(*results)
        tiles, pieces = -(-shape[1] // 6), -(-shape[1] // 2)
        assert after.elements.get("turn", 0) == data.size * tiles
        assert before.elements.get("turn", 0) == data.size * pieces


def test_what_remove_loop_refuses() -> None:
    p, loop = columns()
    error = refused(lambda: sl.remove_loop(p, p.find("square").parent()))
    assert error.reason == "not shown that loop x has but one iteration, and its body depends on x"
    error = refused(lambda: sl.remove_loop(p, "for y"))
    assert error.reason == "not shown that loop y runs at all"
    p, (_, inner, _) = sl.split_loop(p, loop, 2, tail="cut", names=("two", "x"), rc=True)
    p, inner = in_fours()
    error = refused(lambda: sl.remove_loop(p, inner))
    assert error.reason == "loop x has several iterations, and its body depends on x"


# absorb_loop ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 2, 5, 8])
def test_the_inverse_of_a_split(step: int) -> None:
    whole = sums()
    p, (loop, inner, _) = sl.split_loop(whole, "add.x", step, rc=True)
    q, (call,) = sl.absorb_loop(p, loop, rc=True)
    assert q.same_program(whole)
    assert call == q.forward(inner.call())
    with pytest.raises(sl.InvalidCursorError, match="is gone: absorb_loop made it a dimension of the call in it"):
        q.forward(loop)


@pytest.mark.sweep
@pytest.mark.parametrize("tail", ["clamp", "cut", "shift"])
@pytest.mark.parametrize("factor", [1, 3, 4])
def test_pieces_of_pieces(tail: str, factor: int) -> None:
    """Of the pieces of a tile, one: it computes what they did, and what lies in two of them once."""
    p, (loop, *_) = sl.split_loop(sums(), "add.x", 3, rc=True)
    p, (_, inner, _) = sl.split_loop(
        p, loop, factor, names=("tile", "x"), tail=tail if tail != "shift" else "clamp", rc=True
    )
    if tail == "shift":
        p, (_, inner, _) = sl.split_loop(sl.split_loop(sums(), "add.x", 1), "for x", factor, tail="shift", rc=True)
    q = sl.absorb_loop(p, inner)
    for lo, hi in BOUNDS:
        before, after = agree(sums(), p, lo, hi), agree(sums(), q, lo, hi)
        assert before.elements == after.elements


def test_from_the_inside_out() -> None:
    a, out = (sl.BufferExpr(name, np.int64, 2) for name in ("a", "out"))
    sl.Func(np.negative, [a[y, x]], [out[y, x]], name="turn")
    whole = sl.build_pipeline([a], [out])
    p, (rows, *_) = sl.split_loop(whole, "turn.y", 2, rc=True)
    p, (columns, *_) = sl.split_loop(p, "turn.x", 3, rc=True)
    error = refused(lambda: sl.absorb_loop(p, rows))
    assert error.reason == "the body of loop y is not just one call"
    assert error.remedy == 'p = sl.absorb_loop(p, "for x")\np = sl.absorb_loop(p, "for y")'
    q = sl.absorb_loop(sl.absorb_loop(sl.parallelize_loop(p, columns), columns), rows)
    assert q.same_program(whole)


def test_a_scalar_step() -> None:
    p, (loop, *_) = sl.split_loop(sums(), "add.x", sl.scalar("n"), rc=True)
    q = sl.absorb_loop(p, loop)
    assert str(q.find("add")._statement.box) == str(sums().find("add")._statement.box)


@sl.sched_op("loop")
def also(p: sl.Pipeline, call: sl.CallCursor, *index: Callable[[sl.Expr], object]) -> object:
    """Three pieces of a call before it, in a loop of their own."""
    edit = sl.edit(p)
    v = edit.variable("k", call)
    (copy,) = edit.copy(call)
    piece = sl.ir.with_box(copy, tuple(sl.interval(i(v), i(v)) for i in index))
    loop = sl.ir.For(v, sl.interval(0, 2), constant(1), sl.ir.SERIAL, (piece,))
    edit.insert(call.before(), loop)
    p = edit.finish()
    return p, (p.forward(call).prev(),)


def test_pieces_that_are_not_side_by_side() -> None:
    """What lies between them would be more than was computed."""
    q, (loop,) = also(sums(), "turn", lambda k: 3 * k, rc=True)
    error = refused(lambda: sl.absorb_loop(q, loop))
    assert error.reason == "the pieces of turn do not lie side by side"
    q, (loop,) = also(sums(), "turn", lambda k: -k, rc=True)
    error = refused(lambda: sl.absorb_loop(q, loop))
    assert error.reason == "the pieces of turn do not lie side by side"
    q, (loop,) = also(sums(), "turn", lambda k: k + 5, rc=True)
    q, (call,) = sl.absorb_loop(q, loop, rc=True)
    assert str(call.bounds("x")) == "5..7"


def test_what_absorb_loop_refuses() -> None:
    p, inner = in_fours()
    error = refused(lambda: sl.absorb_loop(p, inner))
    assert error.reason == "the body of loop x is not just one call"
    assert error.hint == "fission_loop gives each call a loop of its own"
    p, loop = columns()
    error = refused(lambda: sl.absorb_loop(p, loop))
    assert error.reason == "no dimension of what turn computes moves with loop x"
    assert error.remedy == ""  # there is no loop any more
    a, out = (sl.BufferExpr(name, np.int64, 2) for name in ("a", "out"))
    sl.Func(np.negative, [a[y, x]], [out[y, x]], name="turn")
    diagonal, (loop,) = also(sl.build_pipeline([a], [out]), "turn", lambda k: k, lambda k: k, rc=True)
    error = refused(lambda: sl.absorb_loop(diagonal, loop))
    assert error.reason == "more than one dimension of what turn computes moves with loop k"


def test_a_loop_that_may_not_run() -> None:
    """A first window that a loop alone would produce."""
    p = sl.compute_at(sl.split_loop(sums(), "add.x", 4), "turn", "for x")
    p, (first, _, _) = sl.fission_loop(p, p.find("turn").after(), rc=True)
    error = refused(lambda: sl.absorb_loop(p, first))
    assert error.reason == "turn would do something where loop x does not run"
    assert error.hint == "lift_call computes before the loop what all of its iterations need"
    assert str(sl.lift_call(p, "turn")) == str(sl.split_loop(sums(), "add.x", 4))


def test_a_buffer_of_the_same_name_further_on() -> None:
    """A copy of the loop has one; what keeps its identity keeps its name, too."""
    p, (loop, *_) = sl.split_loop(sums(), "add.x", 4, rc=True)
    p = sl.assume_shape(sl.store_at(sl.compute_at(p, "turn", loop), "alloc t", loop), out=(12,))
    p, (first, _) = sl.cut_loop(p, loop, loop.bounds().min + 4, rc=True)
    for rewrite in (sl.remove_loop, sl.unroll_loop):
        assert refused(lambda rewrite=rewrite: rewrite(p, first)).reason == "another buffer called t is in scope"


# serialize_loop -------------------------------------------------------------------------------------------------------


def test_a_parallel_loop_is_serial_again() -> None:
    p = sl.split_loop(sums(), "add.x", 4)
    q, (loop,) = sl.parallelize_loop(p, "for x", 2, rc=True)
    r, (again,) = sl.serialize_loop(q, loop, rc=True)
    assert again == r.forward(loop)
    assert r.same_program(p)
    error = refused(lambda: sl.serialize_loop(r, loop))
    assert error.reason == "loop x is serial already"
    for lo, hi in BOUNDS:
        agree(sums(), r, lo, hi)


def test_what_only_a_serial_loop_can_do() -> None:
    p = sl.compute_at(sl.split_loop(sums(), "add.x", 1), "turn", "for x")
    p = sl.parallelize_loop(sl.store_at(p, "alloc t", "for x"), "for x")
    error = refused(lambda: sl.lift_alloc(p, "alloc t"))
    assert error.reason == "the iterations of the parallel loop x would share t"
    p = sl.lift_alloc(sl.serialize_loop(p, "for x"), "alloc t")
    p = sl.fold_storage(sl.slide_window(p, "turn", "for x"), "alloc t", "x")
    assert agree(sums(), p, -3, 40).program_bytes == 3 * 8
