"""Each primitive on a small pipeline: the program after it, the cursors that it returns, and no change of its input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scheduled import Array, by_rows, stencil, stencils

import examples
import slinky as sl


def statements(p: sl.Pipeline) -> str:
    """The printed program without its header and checks."""
    lines = str(p).splitlines()[1:]
    return "\n".join(line[2:] for line in lines if not line.startswith("  check "))


def same(p: sl.Pipeline, expected: str) -> None:
    """Compare the statements of a program with a text that may be indented."""
    p.verify()
    lines = expected.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    assert statements(p) == "\n".join(line[indent:] for line in lines).rstrip()


def blur_by(step: Any) -> sl.Pipeline:
    """`scale`, then `blur` in pieces."""
    return sl.split_loop(examples.blur(), "blur.x", step)


# split_loop -----------------------------------------------------------------------------------------------------------


def test_split_a_dimension_into_clamped_pieces() -> None:
    p, cursors = sl.split_loop(examples.blur(), "blur.x", 8, names="piece", rc=True)
    same(
        p,
        """
        alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        scaled[:] = scale(inp[:])
        for piece in out.x.min..out.x.max step 8:
          out[piece .. piece + 7] = blur(scaled[piece - 1 .. piece + 8])
        """,
    )
    assert cursors.fields() == ("outer", "inner", "tail")
    assert cursors.outer == p.find("for piece")
    assert cursors.inner == p.find("blur.x")
    assert isinstance(cursors.tail, sl.InvalidCursor)


def test_split_a_dimension_and_cut_the_rest_off() -> None:
    p, (outer, inner, tail) = sl.split_loop(examples.blur(), "blur.x", 8, tail="cut", rc=True)
    rest = "out.x.min - 8*((out.x.min - out.x.max + 6) // 8)"
    same(
        p,
        f"""
        alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        scaled[:] = scale(inp[:])
        for x in out.x.min .. out.x.max - 7 step 8:
          out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        out[{rest} .. out.x.max] = blur(scaled[{rest} - 1 .. out.x.max + 1])
        """,
    )
    assert tail == outer.next() == p.find("blur #1")
    assert inner.call() == p.find("blur #0")


@pytest.mark.parametrize("tail", ["clamp", "cut", "shift", "perfect"])
def test_a_number_is_less_than_1_also_where_nothing_runs(tail: str) -> None:
    """Where a loop has no iteration, anything can be proved of what is in it."""
    a, b = (sl.BufferExpr(name, np.int64, 1) for name in "ab")
    (x,) = sl.variables("x")
    sl.Func(np.negative, [a[x]], [b[x]], name="turn")
    p, (_, nothing) = sl.cut_call(sl.build_pipeline([a], [b]), "turn.x", b.dim(0).max + 2, rc=True)
    p, (loop, dim, _) = sl.split_loop(p, p.forward(nothing).dims()[0], 4, rc=True)
    for place in (loop, dim):
        with pytest.raises(sl.SchedulingError, match="the factor must be 1 or more, got 0"):
            sl.split_loop(p, place, 0, tail=tail)


def test_split_a_dimension_and_shift_the_last_piece() -> None:
    p, (_, _, tail) = sl.split_loop(examples.blur(), "blur.x", 8, tail="shift", rc=True)
    same(
        p,
        """
        alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        scaled[:] = scale(inp[:])
        for x in out.x.min..out.x.max step 8:
          out[min(x, out.x.max - 7) .. min(out.x.max, x + 7)] = \
blur(scaled[min(out.x.max - 8, x - 1) .. min(out.x.max + 1, x + 8)])
        """,
    )
    assert not tail


def test_a_split_that_must_come_out_even() -> None:
    by_one = sl.split_loop(examples.blur(), "blur.x", 1, tail="perfect")
    assert statements(by_one) == statements(blur_by(1))
    twice = sl.split_loop(blur_by(12), "blur.x", 4)
    assert "min(x + 11, x_1 + 3)" in str(twice)


def test_split_by_a_scalar_adds_a_parameter_and_a_check() -> None:
    p = blur_by(sl.scalar("n"))
    assert str(p).splitlines()[0] == "pipeline blur(inp: float32[1], n) -> (out: float32[1]):"
    assert p.find("check _ #2").condition() is (sl.scalar("n") >= 1)
    same(
        p,
        """
        alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        scaled[:] = scale(inp[:])
        for x in out.x.min..out.x.max step n:
          out[x .. x + n - 1] = blur(scaled[x - 1 .. x + n])
        """,
    )


def shifted() -> sl.Pipeline:
    """`t = -inp; out = t[x + r] ** 2` for an `r` that may be 0, element by element."""
    (x,) = sl.variables("x")
    r = sl.scalar("r")
    inp, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "t", "out"))
    sl.Func(np.negative, [inp[x]], [t[x]], name="turn")
    sl.Func(np.square, [t[x + r]], [out[x]], name="square")
    return sl.split_loop(sl.build_pipeline([inp], [out], require=[r >= 0]), "square.x", 1)


R, START, LENGTH = sl.scalar("r"), shifted().find("for x").bounds().min, shifted().find("alloc t").shape()[0]


@pytest.mark.parametrize(
    ("rewrite", "what"),
    [
        (lambda p: sl.cut_loop(p, "for x", START // R), "the place to cut"),
        (lambda p: sl.cut_loop(p, "for x", START % R), "the place to cut"),
        (lambda p: sl.split_loop(p, "for x", 8 // R), "the factor"),
        (lambda p: sl.split_loop(p, "square.x", sl.maximum(8 // R, 1)), "the factor"),
        (lambda p: sl.fold_storage(p, "alloc t", "x", LENGTH + sl.maximum(8 // R, 1)), "the factor"),
        (lambda p: sl.cut_loop(p, "for x", START // sl.maximum(8 // R, 1)), "the place to cut"),
    ],
)
def test_what_a_given_expression_divides_by_becomes_a_check(
    rewrite: Callable[[sl.Pipeline], sl.Pipeline], what: str
) -> None:
    p = rewrite(shifted())
    source, target = np.arange(9), np.zeros(4, np.int64)
    with pytest.raises(sl.CheckFailedError, match=f"requires 1 <= r, got r = 0 .what .*{what} divides by"):
        p.run(source, target, r=0)
    assert not target.any()
    p.run(source, target, r=2, checked=True)
    np.testing.assert_array_equal(target, source[2:6] ** 2)


def test_split_a_loop() -> None:
    before = blur_by(1)
    loop = before.find("for x")
    p, (outer, inner, tail) = sl.split_loop(before, loop, 4, rc=True)
    same(
        p,
        """
        alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        scaled[:] = scale(inp[:])
        for x_outer in out.x.min..out.x.max step 4:
          for x in x_outer .. min(out.x.max, x_outer + 3):
            out[x] = blur(scaled[x - 1 .. x + 1])
        """,
    )
    assert (outer.name(), inner.name(), bool(tail)) == ("x_outer", "x", False)
    assert p.forward(loop) == inner == outer.body()[0]


def test_split_a_loop_and_cut_the_rest_off() -> None:
    p, (outer, inner, tail) = sl.split_loop(blur_by(1), "for x", 4, tail="cut", rc=True)
    same(
        p,
        """
        alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        scaled[:] = scale(inp[:])
        for x_outer in out.x.min .. out.x.max - 3 step 4:
          for x in x_outer .. x_outer + 3:
            out[x] = blur(scaled[x - 1 .. x + 1])
        for x in out.x.min - 4*((out.x.min - out.x.max + 2) // 4) .. out.x.max:
          out[x] = blur(scaled[x - 1 .. x + 1])
        """,
    )
    assert tail == outer.next()
    assert inner.parent() == outer


def test_split_a_loop_and_shift_the_last_piece() -> None:
    p = sl.split_loop(blur_by(1), "for x", 4, tail="shift")
    inner = p.find("for x").bounds()
    assert str(inner.min) == "max(out.dim(0).min, min(x_outer, out.dim(0).max - 3))"


def test_split_a_loop_that_steps() -> None:
    p = sl.split_loop(blur_by(8), "for x", 2, names=["o", "i"])
    same(
        p,
        """
        alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        scaled[:] = scale(inp[:])
        for o in out.x.min..out.x.max step 16:
          for i in o .. min(out.x.max, o + 8) step 8:
            out[i .. i + 7] = blur(scaled[i - 1 .. i + 8])
        """,
    )


# reorder_loops, cut_loop, parallelize_loop ----------------------------------------------------------------------------


def test_reorder_loops() -> None:
    before = sl.split_loop(sl.split_loop(examples.scale2d(), "scale.y", 4), "scale.x", 16)
    y, x = before.find("for y"), before.find("for x")
    p, cursors = sl.reorder_loops(before, y, rc=True)
    same(
        p,
        """
        for x in out.x.min..out.x.max step 16:
          for y in out.y.min..out.y.max step 4:
            out[y .. y + 3, x .. x + 15] = scale(inp[y .. y + 3, x .. x + 15])
        """,
    )
    assert cursors.fields() == ("outer", "inner")
    assert cursors.outer == p.forward(x)
    assert cursors.inner == p.forward(y)
    assert sl.reorder_loops(p, x).same_program(before)


def test_cut_loop() -> None:
    before = blur_by(1)
    loop, call = before.find("for x"), before.find("blur")
    p, cursors = sl.cut_loop(before, loop, sl.scalar("k"), rc=True)
    same(
        p,
        """
        alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        scaled[:] = scale(inp[:])
        for x in out.x.min .. min(out.x.max, k - 1):
          out[x] = blur(scaled[x - 1 .. x + 1])
        for x in max(out.x.min, k) .. out.x.max:
          out[x] = blur(scaled[x - 1 .. x + 1])
        """,
    )
    assert cursors.fields() == ("first", "second")
    assert p.forward(loop) == cursors.first
    assert cursors.first.next() == cursors.second
    assert p.forward(call).parent() == cursors.first


def test_cut_a_loop_that_steps_between_two_of_its_iterations() -> None:
    p = sl.cut_loop(blur_by(8), "for x", 100)
    first, second = p.find_all("for x")
    assert str(first.bounds()) == "out.x.min .. min(out.x.max, 99)"
    assert str(second.bounds().min) == "max(out.dim(0).min, out.dim(0).min - 8*((out.dim(0).min + 4) // 8) + 104)"


def test_parallelize_loop() -> None:
    before = blur_by(8)
    p, cursors = sl.parallelize_loop(before, "for x", 2, rc=True)
    same(
        p,
        """
        alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        scaled[:] = scale(inp[:])
        for x in out.x.min..out.x.max step 8 parallel 2:
          out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        """,
    )
    assert cursors.fields() == ("loop",)
    assert cursors.loop == p.find("for x")
    assert before.find("for x").workers() is None
    assert cursors.loop.workers() == 2
    assert sl.parallelize_loop(before, "for x").find("for x").workers() == 0


# compute_at, compute_root ---------------------------------------------------------------------------------------------


def test_compute_at_and_back() -> None:
    before = blur_by(8)
    call, alloc = before.find("scale"), before.find("alloc scaled")
    p, cursors = sl.compute_at(before, call, "for x", rc=True)
    same(
        p,
        """
        alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        for x in out.x.min..out.x.max step 8:
          scaled[x - 1 .. x + 8] = scale(inp[x - 1 .. x + 8])
          out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        """,
    )
    assert cursors.fields() == ("allocs", "loop", "call")
    assert cursors.call == p.forward(call)
    assert cursors.alloc == p.forward(alloc)
    again, back = sl.compute_root(p, cursors.call, rc=True)
    assert again.same_program(before)
    assert back.fields() == ("allocs", "call")
    assert (back.call, back.alloc) == (again.forward(call), again.forward(alloc))


def test_compute_at_the_inner_of_two_loops() -> None:
    p = sl.split_loop(sl.split_loop(stencil(), "stencil.y", 8), "stencil.x", 16)
    p = sl.compute_at(p, "add", "for x")
    same(
        p,
        """
        alloc intm: int16[out.y.min - 1 .. out.y.max + 1, out.x.min - 1 .. out.x.max + 1]
        for y in out.y.min..out.y.max step 8:
          for x in out.x.min..out.x.max step 16:
            intm[y - 1 .. y + 8, x - 1 .. x + 16] = add(inp[y - 1 .. y + 8, x - 1 .. x + 16])
            out[y .. y + 7, x .. x + 15] = stencil(intm[y - 1 .. y + 8, x - 1 .. x + 16])
        """,
    )


def test_compute_at_of_an_output_has_no_allocation() -> None:
    y, x = sl.variables("y x")
    inp, o1, o2 = (sl.BufferExpr(name, "int32", 2) for name in ("inp", "o1", "o2"))
    sl.Func(lambda a, b: None, [inp[y, x]], [o1[y, x]], name="f1")
    sl.Func(lambda a, b: None, [o1[sl.interval(y, y + 1), x]], [o2[y, x]], name="f2")
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([inp], [o1, o2]), "f2.y", 1, rc=True)
    p, (allocs, _, call) = sl.compute_at(p, "f1", loop, rc=True)
    assert call.parent() == p.forward(loop)
    assert allocs == ()
    p, (allocs, call) = sl.compute_root(p, call, rc=True)
    assert not call.parent()
    assert allocs == ()


def test_compute_root_undoes_folds_and_drops_loops_that_are_left_idle() -> None:
    p, _, _ = by_rows(stencil())
    rooted = sl.compute_root(p, "add")
    assert [f"{a.name()} {a.storage()}" for a in rooted.find_all("alloc _")] == ["intm (None, None)"]
    p = sl.split_loop(examples.blur(), "scale.x", 4, tail="cut")
    loop = p.find("for x")
    p = sl.compute_root(p, "scale")
    assert statements(p) == statements(examples.blur())
    with pytest.raises(sl.InvalidCursorError, match=r"'for x in .*' is gone: compute_root "):
        p.forward(loop)


# slide_window, fold_storage -------------------------------------------------------------------------------------------


def test_slide_and_fold() -> None:
    p = sl.compute_at(blur_by(8), "scale", "for x")
    call, loop, alloc = p.find("scale"), p.find("for x"), p.find("alloc scaled")
    p, cursors = sl.slide_window(p, call, loop, rc=True)
    slid = p
    same(
        p,
        """
        alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        for x in out.x.min - 8 .. out.x.max step 8:
          scaled[x + 1 .. x + 8] = scale(inp[x + 1 .. x + 8])
          out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        """,
    )
    assert cursors.fields() == ("allocs", "loop", "call")
    assert (cursors.call, cursors.loop) == (p.forward(call), p.forward(loop))
    p, cursors = sl.fold_storage(p, alloc, "x", rc=True)
    same(
        p,
        """
        alloc scaled: float32[out.x.min - 1 .. out.x.max + 1 fold 10]
        for x in out.x.min - 8 .. out.x.max step 8:
          scaled[x + 1 .. x + 8] = scale(inp[x + 1 .. x + 8])
          out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        """,
    )
    assert cursors.fields() == ("alloc",)
    assert cursors.alloc == p.forward(alloc)
    p, cursors = sl.unfold_storage(p, alloc, 0, rc=True)
    assert p.same_program(slid)
    assert tuple(cursors) == (p.forward(alloc),)


def test_slide_with_the_first_window_in_the_first_iteration() -> None:
    p = sl.compute_at(blur_by(8), "scale", "for x")
    low = "select(out.x.min == x, out.x.min - 1, x + 1)"
    same(
        sl.slide_window(p, "scale", "for x", warmup="first"),
        f"""
        alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        for x in out.x.min..out.x.max step 8:
          scaled[{low} .. x + 8] = scale(inp[{low} .. x + 8])
          out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        """,
    )


@pytest.mark.parametrize("warmup", ["earlier", "first"])
def test_windows_with_gaps_between_them_are_produced_without_the_gaps(warmup: str) -> None:
    (x,) = sl.variables("x")
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    sl.Func(np.negative, [a[x]], [t[x]], name="turn")
    sl.Func(lambda s, o: np.add(s[::5][: len(o)], s[1::5], out=o), [t[sl.interval(5 * x, 5 * x + 1)]], [out[x]], "add")
    p = sl.compute_at(sl.split_loop(sl.build_pipeline([a], [out]), "add.x", 1), "turn", "for x")
    slid = sl.slide_window(p, "turn", "for x", warmup=warmup)
    assert slid.same_program(p)
    assert slid.run(np.arange(22), checked=True).elements == {"turn": 10, "add": 5}


def test_pieces_of_a_window_that_slides_are_not_produced_again_in_the_next_piece() -> None:
    p = sl.compute_at(blur_by(8), "scale", "for x")
    p = sl.slide_window(sl.split_loop(p, "scale.x", 3), "scale", "for x", warmup="first")
    fresh = "select(out.x.min == x, max(x_1, out.x.min - 1), max(x_1, min(x + 1, x_1 + 3)))"
    same(
        p,
        f"""
        alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        for x in out.x.min..out.x.max step 8:
          for x_1 in x - 1 .. min(out.x.max + 1, x + 8) step 3:
            scaled[{fresh} .. min(x + 8, x_1 + 2)] = scale(inp[{fresh} .. min(x + 8, x_1 + 2)])
          out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        """,
    )
    assert p.run(np.ones(42, np.float32), checked=True).elements == {"scale": 42, "blur": 40}


def test_fold_by_a_factor_of_the_user() -> None:
    p = sl.slide_window(sl.compute_at(blur_by(8), "scale", "for x"), "scale", "for x")
    assert "+ 1 fold 16]" in str(sl.fold_storage(p, "alloc scaled", 0, 16))
    p = sl.fold_storage(p, "scaled", -1, sl.maximum(sl.scalar("k"), 10))
    assert "+ 1 fold max(k, 10)]" in str(p)
    assert p.args()[-1].name() == "k"


# store_at, lift_alloc -------------------------------------------------------------------------------------------------


def test_store_at_keeps_what_the_call_writes_to_other_buffers() -> None:
    """A func writes an intermediate and an output. The reader needs less of the one than there is of the other, so an
    allocation of just what is read would clamp the call, and the rest of the output would never be written."""
    y, x = sl.variables("y x")
    inp, half, both, out = (sl.BufferExpr(name, np.int64, 2) for name in ("inp", "half", "both", "out"))

    def split(source: Array, low: Array, high: Array) -> None:
        low[...], high[...] = source + 1, source + 2

    sl.Func(split, [inp[y, x]], [half[y, x], both[y, x]], name="split")
    sl.Func(np.negative, [half[y, x + 1]], [out[y, x]], name="shift")
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([inp], [both, out]), "shift.y", 1, rc=True)
    p, ((alloc,), _, _) = sl.compute_at(p, "split", loop, rc=True)
    p = sl.store_at(p, alloc, loop)
    source, full, shifted = np.arange(20).reshape(4, 5), np.zeros((4, 5), np.int64), np.zeros((4, 4), np.int64)
    statistics = p.run(source, full, shifted, checked=True)
    np.testing.assert_array_equal(full, source + 2)
    np.testing.assert_array_equal(shifted, -(source[:, 1:] + 1))
    assert statistics.program_bytes == 5 * 8


def test_store_at_and_lift_alloc() -> None:
    before = sl.split_loop(sl.split_loop(stencil(), "stencil.y", 8), "stencil.x", 16)
    before = sl.compute_at(before, "add", "for x")
    alloc = before.find("alloc intm")
    p, cursors = sl.store_at(before, alloc, "for x", rc=True)
    same(
        p,
        """
        for y in out.y.min..out.y.max step 8:
          for x in out.x.min..out.x.max step 16:
            alloc intm: int16[y - 1 .. min(out.y.max + 1, y + 8), x - 1 .. min(out.x.max + 1, x + 16)]
            intm[y - 1 .. y + 8, x - 1 .. x + 16] = add(inp[y - 1 .. y + 8, x - 1 .. x + 16])
            out[y .. y + 7, x .. x + 15] = stencil(intm[y - 1 .. y + 8, x - 1 .. x + 16])
        """,
    )
    assert cursors.fields() == ("loop", "alloc")
    assert cursors.alloc == p.forward(alloc) == cursors.loop.body()[0] == p.find("for x").body()[0]
    one, cursors = sl.lift_alloc(p, alloc, rc=True)
    assert cursors.fields() == ("alloc",)
    assert cursors.alloc == one.forward(alloc) == one.find("for y").body()[0]
    assert str(cursors.alloc.bounds("x")) == "out.x.min - 1 .. out.x.max + 1"
    assert str(cursors.alloc.bounds("y")) == "y - 1 .. min(out.y.max + 1, y + 8)"
    assert sl.lift_alloc(p, alloc, 2).same_program(before)
    assert sl.lift_alloc(one, alloc).same_program(before)


# reorder_statements, simplify, rename ---------------------------------------------------------------------------------


def test_an_allocation_does_not_move_before_another_of_its_name() -> None:
    """Two copies of a loop have a buffer each. One is lifted, but not over the other, whose name it would take."""
    p = sl.split_loop(examples.blur(), "blur.x", 8)
    p, ((alloc,), _, _) = sl.compute_at(p, "scale", "for x", rc=True)
    p = sl.store_at(p, alloc, "for x")
    p, (first, second) = sl.cut_loop(p, "for x", 8, rc=True)
    p = sl.lift_alloc(p, second.body()[0])
    with pytest.raises(sl.SchedulingError, match="the first statement has a scaled of its own inside"):
        sl.reorder_statements(p, p.forward(first).expand(after=1))
    p.verify()


def test_an_allocation_that_comes_later_is_another_of_its_name() -> None:
    """Three copies of a loop; the buffer of the last stands behind the others, and not for theirs."""

    def both(source: Array, first: Array, second: Array) -> None:
        first[...] = source + 1
        second[...] = source

    (x,) = sl.variables("x")
    a, b, c = (sl.BufferExpr(name, np.int64, 1) for name in "abc")
    sl.Func(both, [a[x]], [b[x], c[x]], name="f")
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([a], [b]), "f.x", 5, rc=True)
    p = sl.store_at(p, "alloc c", loop)
    p, (first, last) = sl.cut_loop(p, loop, 20, rc=True)
    p = sl.lift_alloc(p, last.body()[0])
    p, (_, second) = sl.cut_loop(p, first, 10, rc=True)
    p = sl.split_loop(p, second.body()[1].dim("x"), 3)
    source, result = np.arange(40), np.zeros(40, np.int64)
    p.run(source, result, checked=True)
    np.testing.assert_array_equal(result, source + 1)


def test_reorder_statements() -> None:
    before = examples.two_branches()
    left = before.find("left")
    p, cursors = sl.reorder_statements(before, left.expand(after=1), rc=True)
    same(
        p,
        """
        alloc l: float32[out.x.min..out.x.max]
        alloc r: float32[out.x.min..out.x.max]
        l[:] = left(inp[:])
        r[:] = right(inp[:])
        out[:] = join(l[:], r[:])
        """,
    )
    assert cursors.fields() == ("block",)
    assert isinstance(cursors.block, sl.BlockCursor)
    assert list(cursors.block) == [p.find("alloc r"), p.forward(left)]
    p = sl.reorder_statements(p, p.find("left").expand(after=1))
    assert [c.name() for c in p.find_all("_ = _")] == ["right", "left", "join"]


def test_simplify_decides_what_is_decided() -> None:
    p = sl.split_loop(blur_by(8), "for x", 1, names=("x_pieces", "x"))
    assert "for x in x_pieces .. min(x_pieces, out.x.max) step 8:" in str(p)
    new, cursors = sl.simplify(p, rc=True)
    assert "for x in x_pieces..x_pieces step 8:" in str(new)
    assert len(cursors) == 0
    assert cursors.fields() == ()
    assert sl.simplify(new).same_program(new)


def test_simplify_drops_loops_that_never_run() -> None:
    p, (first, second) = sl.cut_loop(blur_by(1), "for x", sl.BufferExpr("out", "float32", 1).dim(0).min - 3, rc=True)
    new = sl.simplify(p)
    assert statements(new) == statements(blur_by(1))
    assert new.forward(second).bounds().min is second.bounds().min
    with pytest.raises(sl.InvalidCursorError, match="is gone: simplify found that it does nothing, and dropped it"):
        new.forward(first)


def test_rename() -> None:
    before = examples.blur()
    p, cursors = sl.rename(before, "soften", rc=True)
    assert str(p) == str(before).replace("pipeline blur", "pipeline soften")
    assert len(cursors) == 0
    assert p.forward(before.find("scale")) == p.find("scale")


# All of them ----------------------------------------------------------------------------------------------------------

Step = tuple[str, Callable[[sl.Pipeline], Any]]

CHAIN: list[Step] = [
    ("SplitLoopCursors", lambda p: sl.split_loop(p, "s3.y", 8, names="tile", rc=True)),
    ("SplitLoopCursors", lambda p: sl.split_loop(p, "s3.y", 1, rc=True)),
    ("ComputeAtCursors", lambda p: sl.compute_at(p, "s2", "for y", rc=True)),
    ("ComputeAtCursors", lambda p: sl.compute_at(p, "s1", "for tile", rc=True)),
    ("StoreAtCursors", lambda p: sl.store_at(p, "alloc b2", "for tile", rc=True)),
    ("StoreAtCursors", lambda p: sl.store_at(p, "alloc b1", "for tile", rc=True)),
    ("SlideWindowCursors", lambda p: sl.slide_window(p, "s2", "for y", rc=True)),
    ("FoldStorageCursors", lambda p: sl.fold_storage(p, "alloc b2", "y", rc=True)),
    ("ParallelizeLoopCursors", lambda p: sl.parallelize_loop(p, "for tile", 4, rc=True)),
    ("UnfoldStorageCursors", lambda p: sl.unfold_storage(p, "alloc b2", "y", rc=True)),
    ("ReorderStatementsCursors", lambda p: sl.reorder_statements(p, p.find("alloc b2").expand(before=1), rc=True)),
    ("CutLoopCursors", lambda p: sl.cut_loop(p, "for tile", sl.scalar("k"), rc=True)),
    ("ComputeRootCursors", lambda p: sl.compute_root(p, "add", rc=True)),
    ("SimplifyCursors", lambda p: sl.simplify(p, rc=True)),
    ("RenameCursors", lambda p: sl.rename(p, "other", rc=True)),
]


def test_versions_never_change_and_records_have_their_form() -> None:
    """Every primitive in one chain: all versions print as they did, and all records are frozen sequences."""
    p = stencils(3)
    versions = [(p, str(p))]
    for name, step in CHAIN:
        p, record = step(p)
        p.verify()
        versions.append((p, str(p)))
        assert type(record).__name__ == name
        assert isinstance(record, sl.ReturnedCursors)
        assert tuple(record) == tuple(record[k] for k in range(len(record)))
        assert tuple(record) == tuple(getattr(record, field) for field in record.fields())
        for field in record.fields():
            value = getattr(record, field)
            for cursor in value if isinstance(value, tuple) else (value,):
                assert not cursor or p.forward(cursor) == cursor, "returned cursors belong to the returned pipeline"
            with pytest.raises(AttributeError):
                setattr(record, field, None)
    assert all(str(version) == text for version, text in versions)
    assert len({text for _, text in versions}) >= 14, "the primitives did something"


def test_without_rc_the_pipeline_alone_is_returned() -> None:
    p = stencils(3)
    assert isinstance(sl.split_loop(p, "s3.y", 8), sl.Pipeline)
    assert isinstance(sl.simplify(p), sl.Pipeline)
    assert isinstance(sl.split_loop(p, "s3.y", 8, rc=False), sl.Pipeline)


def test_the_names_of_loops_given_as_a_list_stay_as_they_are() -> None:
    names = ["o", "i"]
    sl.split_loop(blur_by(1), "for x", 4, names=names)
    assert names == ["o", "i"]


@pytest.mark.parametrize(("offset", "step", "text"), [(0, 1, "m[y]"), (-1, 1, "m[y - 1]"), (2, 4, "m[y + 2 .. y + 5]")])
def test_windows_side_by_side_need_no_first_iteration_of_their_own(offset: int, step: int, text: str) -> None:
    """Whatever comes first is what is new there, so `warmup="first"` says nothing of it."""
    (y,) = sl.variables("y")
    a, m, out = (sl.BufferExpr(name, np.float32, 1) for name in ("a", "m", "out"))
    sl.Func(np.negative, [a[y]], [m[y]], name="f")
    sl.Func(np.negative, [m[y + offset]], [out[y]], name="g")
    p = sl.compute_at(sl.split_loop(sl.build_pipeline([a], [out]), "g.y", step), "f", "for y")
    p = sl.slide_window(p, "f", "for y", warmup="first")
    assert p.find("f").describe() == f"{text} = f({text.replace('m', 'a')})"
