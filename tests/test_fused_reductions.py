"""Fused funcs that say how they reduce: two calls become one, and that is taken to pieces."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from scheduled import agree_on_rows, refusal
from second_judge import WrongRewriteError, judge

import slinky as sl
from slinky.cursors.lineages import origin
from slinky.cursors.versions import Version
from slinky.ir.copies import with_func
from slinky.ir.statements import For
from slinky.pipeline import Pipeline
from slinky.symbolic.intervals import Interval

y, x, k = sl.variables("y x k")


def sums(rows: Any, out: Any) -> None:
    np.sum(rows, axis=1, out=out)


def squares(rows: Any, out: Any) -> None:
    np.sum(rows * rows, axis=1, out=out)


def clear(total: Any) -> None:
    total.fill(0)


def add_squares(old: Any, piece: Any, new: Any) -> None:
    np.add(old, (piece * piece).sum(axis=1), out=new)


def merge(one: Any, other: Any, both: Any) -> None:
    np.add(one, other, out=both)


def finish(total: Any, out: Any) -> None:
    np.copyto(out, total)


CALLBACKS: dict[str, Callable[..., Any]] = {
    each.__name__: each for each in (sums, squares, clear, add_squares, merge, finish)
} | {"square": np.square, "negative": np.negative}


def of_rows(dtype: Any = np.int64, **more: Any) -> sl.Reduction:
    """How `squares` reduces."""
    total = sl.BufferExpr("total", dtype, 1)
    return sl.Reduction({"x": 1}, [total[y]], clear, add_squares, finish, merge=merge, **more)


def energy(reduction: sl.Reduction | None = None, dtype: Any = np.int64) -> sl.Pipeline:
    """`turn`, `square` of it, and `sum` of the squares of a row, which are declared to fuse to `squares`."""
    a, b, t, s = (sl.BufferExpr(name, dtype, rank) for name, rank in (("a", 2), ("b", 2), ("t", 2), ("s", 1)))
    sl.Func(np.negative, [a[y, x]], [b[y, x]], name="turn")
    square = sl.Func(np.square, [b[y, x]], [t[y, x]], name="square")
    total = sl.Func(sums, [t[y, :]], [s[y]], name="sum")
    sl.fuse(square, total, squares, "squares", reduction=reduction)
    return sl.build_pipeline([a], [s])


def fused(p: sl.Pipeline) -> sl.Pipeline:
    return sl.fuse_calls(p, "square", "sum", "squares")


# Taken to pieces ------------------------------------------------------------------------------------------------------


def test_two_calls_become_one_that_goes_by_pieces() -> None:
    before = energy(of_rows())
    one = fused(before)
    p, pieces = sl.split_reduction(one, "squares", "x", 4, rc=True)
    p = sl.store_at(sl.compute_at(p, "turn", pieces.loop), "alloc b", pieces.loop)
    assert str(p.body()[2:]).split("\n")[3:] == [
        ">   alloc total: int64[-1 .. (a.x.max - a.x.min) // 4 fold 2, s.y.min..s.y.max]",
        ">   total[-1, :] = squares_init()",
        ">   for x in 0 .. (a.x.max - a.x.min) // 4:",
        "      alloc b: int64[s.y.min..s.y.max, 4*x + a.x.min .. min(a.x.max, 4*x + a.x.min + 3)]",
        "      b[:, :] = turn(a[:, :])",
        "      total[x, :] = squares_update(total[x - 1, :], b[:, :]) where 0 <= x_piece <= (a.x.max - a.x.min) // 4",
        ">   s[:] = squares_finish(total[(a.x.max - a.x.min) // 4, :])",
    ]
    agree_on_rows(before, p)
    source = np.ones((8, 400), np.int64)
    assert p.memory(source).program_bytes == 8 * 8 * (4 + 2)
    assert before.memory(source).program_bytes == 8 * 8 * 400 * 2
    assert p.run(source).elements["turn"] == 8 * 400
    assert 'sl.fuse_calls(p, "square", "sum", "squares")' in str(p.history())
    assert judge(before.program, one.program, "fuse_calls") > 0
    assert judge(one.program, p.program, "split_reduction") > 0


def test_parts_at_the_same_time() -> None:
    before = energy(of_rows())
    p, made = sl.split_reduction_in_parts(fused(before), "squares", "x", 2, 3, rc=True)
    p = sl.parallelize_loop(sl.store_at(sl.compute_at(p, "turn", made.loop), "alloc b", made.loop), made.parts, 2)
    agree_on_rows(before, p)
    assert judge(before.program, p.program, "split_reduction_in_parts") > 0


def test_rows_by_rows() -> None:
    before = energy(of_rows())
    p, rows = sl.split_loop(fused(before), "squares.y", 2, rc=True)
    p, pieces = sl.split_reduction(p, "squares", "x", 3, rc=True)
    p = sl.store_at(sl.compute_at(p, "turn", pieces.loop), "alloc b", pieces.loop)
    agree_on_rows(before, p)
    assert judge(before.program, p.program, "split_reduction") > 0
    agree_on_rows(before, sl.parallelize_loop(p, rows.outer))


def test_it_reduces_what_neither_of_the_two_does() -> None:
    """The sum of the differences of neighbours is the last element less the first: a state of what it reads itself."""
    a, t, s = (sl.BufferExpr(name, np.int64, rank) for name, rank in (("a", 2), ("t", 2), ("s", 1)))
    first, last = (sl.BufferExpr(name, np.int64, 1) for name in ("first", "last"))
    window = a[y, sl.interval(x, x + 1)]
    differ = sl.Func(lambda rows, out: np.subtract(rows[:, 1:], rows[:, :-1], out=out), [window], [t[y, x]], name="d")
    total = sl.Func(sums, [t[y, sl.interval(0, 9)]], [s[y]], name="sum")

    def ends(rows: Any, out: Any) -> None:
        np.subtract(rows[:, -1], rows[:, 0], out=out)

    def go_on(first: Any, last: Any, piece: Any, new_first: Any, new_last: Any, start: int) -> None:
        np.copyto(new_first, first if start else piece[:, 0])
        np.copyto(new_last, piece[:, -1])

    reduction = sl.Reduction(
        {"x": 1},
        [first[y], last[y]],
        lambda one, other: None,
        go_on,
        lambda one, other, out, count: np.subtract(other, one, out=out),
        positions=True,
    )
    sl.fuse(differ, total, ends, "ends", reduction=reduction)
    before = sl.build_pipeline([a], [s])
    p = sl.split_reduction(sl.fuse_calls(before, "d", "sum", "ends"), "ends", "x", 4)
    assert "for x in 0..2:" in str(p)
    source = np.random.default_rng(0).integers(-9, 10, (3, 11))
    np.testing.assert_array_equal(p(source), before(source))


def test_one_that_reduces_before_one_that_does_not() -> None:
    """And a further input of the second, which all pieces read alike."""
    a, b, t, out = (sl.BufferExpr(name, np.int64, rank) for name, rank in (("a", 2), ("b", 1), ("t", 1), ("out", 1)))
    total = sl.Func(squares, [a[y, :]], [t[y]], name="sum")
    scale = sl.Func(np.multiply, [t[y], b[y]], [out[y]], name="scale")
    state = sl.BufferExpr("state", np.int64, 1)
    reduction = sl.Reduction(
        {"x": (1, None)},
        [state[y]],
        clear,
        lambda old, rows, factors, new: np.add(old, (rows * rows).sum(axis=1) * factors, out=new),
        finish,
    )
    sl.fuse(total, scale, lambda r, f, o: np.multiply((r * r).sum(axis=1), f, out=o), "scaled", reduction=reduction)
    before = sl.build_pipeline([a, b], [out])
    p = sl.split_reduction(sl.fuse_calls(before, "sum", "scale", "scaled"), "scaled", "x", 3)
    for rows, columns in ((4, 7), (1, 3)):
        given = np.arange(rows * columns).reshape(rows, columns), np.arange(rows) - 2
        np.testing.assert_array_equal(p.run(*given, checked=True).outputs[0], before(*given))
    assert judge(before.program, p.program, "split_reduction") > 0


# What is refused ------------------------------------------------------------------------------------------------------


def test_what_does_not_say_it_is_one_call() -> None:
    p = fused(energy())
    assert refusal(lambda: sl.split_reduction(p, "squares", "x", 4)) == "squares does not say how it reduces"
    q = fused(energy(of_rows()))
    assert refusal(lambda: sl.split_reduction(q, "squares", "z", 4)) == "squares reduces x, and not z"


def test_it_may_be_rounded_only_where_that_is_said() -> None:
    rounded = fused(energy(of_rows(np.float64, exact=False), np.float64))
    assert refusal(lambda: sl.split_reduction(rounded, "squares", "x", 4)) == (
        "squares gives other bits by pieces: what it rounds comes in another order"
    )
    before = energy(of_rows(np.float64, exact=False, reassociate=True), np.float64)
    p = sl.split_reduction(fused(before), "squares", "x", 4)
    source = np.random.default_rng(0).random((3, 50))
    np.testing.assert_allclose(p(source), before(source))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda s: 3, "the fused func 'f': reduction must be a Reduction, got 3"),
        (lambda s: sl.Reduction({"x": 0}, [s[y]], clear, merge, finish), "its reduction over 'x': axis 0 of its input"),
        (lambda s: sl.Reduction({"x": (1, 1)}, [s[y]], clear, merge, finish), "needs an axis for each of its 1 inputs"),
        (lambda s: sl.Reduction({"x": 2}, [s[y]], clear, merge, finish), "a of rank 2 has no axis 2"),
        (lambda s: sl.Reduction({"x": 1}, [s[x]], clear, merge, finish), "a state must be along different variables"),
    ],
)
def test_what_cannot_be_declared(given: Any, message: str) -> None:
    a, t, s = (sl.BufferExpr(name, np.int64, rank) for name, rank in (("a", 2), ("t", 2), ("s", 1)))
    square = sl.Func(np.square, [a[x, y]], [t[x, y]], name="square")
    total = sl.Func(sums, [t[y, :]], [s[y]], name="sum")
    with pytest.raises(sl.GraphError, match=message):
        sl.fuse(square, total, squares, "f", reduction=given(sl.BufferExpr("state", np.int64, 1)))
    assert not total.fusions


def test_axes_are_of_what_the_two_read_together() -> None:
    """Along an axis of the first func's input that moves with what the second reads at points, nothing is reduced."""
    a, t, s = (sl.BufferExpr(name, np.int64, rank) for name, rank in (("a", 2), ("t", 2), ("s", 1)))
    turned = sl.Func(lambda rows, out: np.copyto(out, rows.T), [a[x, y]], [t[y, x]], name="turn")
    total = sl.Func(sums, [t[y, :]], [s[y]], name="sum")
    state = sl.BufferExpr("state", np.int64, 1)

    def declared(axis: int) -> sl.Reduction:
        return sl.Reduction(
            {"x": axis}, [state[y]], clear, lambda old, p, new: np.add(old, p.sum(axis=0), out=new), finish
        )

    with pytest.raises(sl.GraphError, match=r"axis 1 of its input a\[x, y\] moves with y"):
        sl.fuse(turned, total, squares, "columns", reduction=declared(1))
    sl.fuse(turned, total, lambda c, out: np.sum(c, axis=0, out=out), "columns", reduction=declared(0))
    before = sl.build_pipeline([a], [s])
    p = sl.split_reduction(sl.fuse_calls(before, "turn", "sum", "columns"), "columns", "x", 3)
    agree_on_rows(before, p)


# The second judge -----------------------------------------------------------------------------------------------------


def changed_loop(p: sl.Pipeline, change: Callable[[For], For]) -> sl.Pipeline:
    """A pipeline whose loop over pieces is another one."""
    body = tuple(change(s) if isinstance(s, For) else s for s in p.program.body)
    return Pipeline(Version(attrs.evolve(p.program, body=body), origin()))


def test_the_second_judge_finds_pieces_that_are_wrong() -> None:
    one = fused(energy(of_rows()))
    p = sl.split_reduction(one, "squares", "x", 2)
    shorter = changed_loop(p, lambda s: attrs.evolve(s, range=Interval(s.range.min + 1, s.range.max)))
    with pytest.raises(WrongRewriteError):
        judge(one.program, shorter.program, "split_reduction")
    (loop,) = (s for s in p.program.body if isinstance(s, For))
    (call,) = loop.body
    box = call.func.inputs[1].box  # type: ignore[union-attr]
    for first, last in ((box[1].min, box[1].min), (box[1].min + 1, box[1].max), (box[1].min - 1, box[1].max)):
        other = attrs.evolve(call.func.inputs[1], box=(box[0], Interval(first, last)))  # type: ignore[union-attr]
        func = attrs.evolve(call.func, inputs=(call.func.inputs[0], other))  # type: ignore[union-attr]
        wrong = changed_loop(p, lambda s, func=func: attrs.evolve(s, body=(with_func(call, func),)))  # type: ignore
        with pytest.raises(WrongRewriteError, match=r"is not what it was|reads"):
            judge(one.program, wrong.program, "split_reduction")


# As data --------------------------------------------------------------------------------------------------------------


def test_they_are_kept() -> None:
    before = energy(of_rows())
    for p in (before, fused(before)):
        q = pickle.loads(pickle.dumps(p))
        assert q.same_program(p)
        text = p.to_json(CALLBACKS)
        q = sl.Pipeline.from_json(text, callbacks=CALLBACKS)
        assert q.same_program(p)
        assert q.to_json(CALLBACKS) == text
        q = q if p is not before else fused(q)
        agree_on_rows(before, sl.split_reduction(q, "squares", "x", 4))
    assert not before.same_program(energy())
    again: dict[str, Any] = dict(CALLBACKS)
    exec(before.to_graph_code(CALLBACKS), again)
    assert again["p"].same_program(before)
    split = sl.split_reduction(fused(before), "squares", "x", 4)
    assert sl.Pipeline.from_json(split.to_json(CALLBACKS), callbacks=CALLBACKS).same_program(split)
