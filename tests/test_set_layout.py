"""Buffers whose dimensions lie in memory in another order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

import slinky as sl
from slinky import ir
from slinky.ir.statements import fresh_identity

y, x = sl.variables("y x")


def pipeline(seen: list[tuple[int, ...]] | None = None) -> sl.Pipeline:
    def make(a: Any, o: Any) -> None:
        if seen is not None:
            seen.append(o.strides)
        np.negative(a, out=o)

    a, t, out = (sl.BufferExpr(name, np.int32, 2) for name in ("a", "t", "out"))
    sl.Func(make, [a[y, x]], [t[y, x]], name="make")
    sl.Func(np.square, [t[y, x]], [out[y, x]], name="square")
    return sl.build_pipeline([a], [out])


@pytest.mark.parametrize("shape", [(3, 5), (1, 7), (7, 1), (0, 4), (4, 0), (1, 1)])
@pytest.mark.parametrize("how", [{}, {"backend": "interpreter"}, {"checked": True}])
def test_callbacks_see_the_strides_and_give_the_same(shape: tuple[int, int], how: dict[str, Any]) -> None:
    seen: list[tuple[int, ...]] = []
    p = sl.set_layout(pipeline(seen), "alloc t", ("x", "y"))
    image = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    out = np.zeros_like(image)
    p.run(image, out, **how)
    np.testing.assert_array_equal(out, image**2)
    if min(shape) > 1:
        assert seen[0] == (4, 4 * shape[0])


def test_rows_begin_at_multiples_of_the_alignment() -> None:
    seen: list[tuple[int, ...]] = []
    p = sl.set_layout(pipeline(seen), "alloc t", ("y", "x"), alignment=64)
    assert p(np.arange(15, dtype=np.int32).reshape(3, 5)).tolist() == (np.arange(15).reshape(3, 5) ** 2).tolist()
    assert seen == [(64, 4)]


def test_strides_of_ones_own() -> None:
    seen: list[tuple[int, ...]] = []
    p = pipeline(seen)
    out = sl.BufferExpr("out", np.int32, 2)
    row = 4 * out.dim(1).extent
    q = sl.set_layout(p, "alloc t", ("y", "x"), strides=[row + 64, None])
    assert "strides (4*out.x.max - 4*out.x.min + 68, 4)" in str(q)
    apart = 8 * out.dim(0).extent + 8 * sl.maximum(sl.scalar("gap"), 0)
    twice = sl.set_layout(p, "alloc t", ("x", "y"), strides=[8, apart])
    image = np.arange(6, dtype=np.int32).reshape(2, 3)
    np.testing.assert_array_equal(twice(image, gap=3), image**2)
    assert seen[-1] == (8, 8 * 2 + 8 * 3)
    for r in (q, sl.set_layout(p, "alloc t", ("y", "x"), strides=[None, 12]), sl.set_layout(q, "alloc t", (0, 1))):
        for shape in ((3, 5), (1, 1), (7, 2), (0, 3)):
            image = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
            for how in ({}, {"backend": "interpreter"}, {"checked": True}):
                found = np.zeros_like(image)
                r.run(image, found, **how)
                np.testing.assert_array_equal(found, image**2)
    assert {(84, 4), (4 * 5 * 3, 12), (20, 4)} <= set(seen)


@pytest.mark.parametrize(
    ("strides", "reason"),
    [
        ([None, 3], "the stride of t along x leaves no room for what lies within"),
        ([4, None], "not shown that the stride of t along y leaves room for what lies within"),
        ([4096, None], "not shown that the stride of t along y leaves room for what lies within"),
        ([4 * sl.BufferExpr("out", np.int32, 2).dim(1).extent + 4, None],
         "not shown that the stride of t along y is a multiple of the alignment, 8"),
    ],
)  # fmt: skip
def test_strides_under_which_elements_are_not_shown_to_lie_apart(strides: list[Any], reason: str) -> None:
    with pytest.raises(sl.SchedulingError) as caught:
        sl.set_layout(pipeline(), "alloc t", ("y", "x"), strides=strides, alignment=8 if "multiple" in reason else 1)
    assert caught.value.reason == reason


def test_strides_that_are_none() -> None:
    p = pipeline()
    with pytest.raises(sl.OperationError, match="strides are one for each of the dimensions y, x, or None, got 1"):
        sl.set_layout(p, "alloc t", ("y", "x"), strides=[64])
    with pytest.raises(sl.OperationError, match="strides"):
        sl.set_layout(p, "alloc t", ("y", "x"), strides=["wide", None])
    with pytest.raises(sl.OperationError, match="the stride of t along y"):
        sl.set_layout(p, "alloc t", ("y", "x"), strides=[sl.variables("k")[0] * 4, None])


def test_in_loops_and_in_the_history() -> None:
    p, loops = sl.split_loop(pipeline(), "square.y", 2, rc=True)
    p, made = sl.compute_at(p, "make", loops.outer, rc=True)
    p = sl.store_at(p, made.alloc, loops.outer)
    q, laid = sl.set_layout(p, "alloc t", ("x", "y"), rc=True)
    assert len(laid.alloc.strides()) == 2
    image = np.arange(35, dtype=np.int32).reshape(7, 5)
    np.testing.assert_array_equal(q(image), image**2)
    again = eval(str(q.history()).splitlines()[-1].removeprefix("p = "), {"sl": sl, "p": p})
    assert str(again) == str(q)


def test_what_cannot_be_is_refused() -> None:
    p = pipeline()
    with pytest.raises(sl.OperationError, match=r"each of the dimensions y, x once, got \('y', 'y'\)"):
        sl.set_layout(p, "alloc t", ("y", "y"))
    with pytest.raises(sl.OperationError, match="an order is a list of all dimensions"):
        sl.set_layout(p, "alloc t", "yx")
    with pytest.raises(sl.OperationError, match="a power of two, up to 4096, got 3"):
        sl.set_layout(p, "alloc t", ("x", "y"), alignment=3)
    with pytest.raises(sl.InvalidCursorError, match="buffer t has no dimension 'z'"):
        sl.set_layout(p, "alloc t", ("x", "z"))
    p, loops = sl.split_loop(p, "square.y", 1, rc=True)
    p, made = sl.compute_at(p, "make", loops.outer, rc=True)
    p = sl.fold_storage(sl.slide_window(p, made.call, made.loop), made.alloc, "y")
    with pytest.raises(sl.SchedulingError, match="t is folded along y, so its rows lie one behind the other"):
        sl.set_layout(p, "alloc t", ("x", "y"))


def in_rows() -> sl.Pipeline:
    """With the intermediate in a loop over rows, of which it holds one."""
    p, loop = sl.split_loop(pipeline(), "square.y", 1, rc=True)
    p, made = sl.compute_at(p, "make", loop.outer, rc=True)
    return sl.store_at(p, made.alloc, loop.outer)


def test_strides_that_were_made_for_one_row_are_none_for_all() -> None:
    p = sl.set_layout(in_rows(), "alloc t", ("x", "y"))
    assert "strides (4, 4)" in str(p)
    with pytest.raises(sl.SchedulingError, match="strides that are asked for t are not shown to leave room"):
        sl.lift_alloc(p, "alloc t")
    with pytest.raises(sl.SchedulingError, match=r"over any box, .* strides that are asked for t may not leave room"):
        sl.extract_pipeline(p, p.find("for y").body(), "row")


def wider(alloc: ir.Alloc) -> ir.Alloc:
    (top, bottom), right = (alloc.box[0].min, alloc.box[0].max), alloc.box[1]
    return ir.with_bounds(alloc, (sl.interval(top, bottom + 1), right), alloc.folds)


def closer(alloc: ir.Alloc) -> ir.Alloc:
    return attrs.evolve(alloc, layout=ir.Layout((4, 8)))


def off_the_alignment(alloc: ir.Alloc) -> ir.Alloc:
    assert alloc.layout is not None
    return attrs.evolve(alloc, layout=ir.Layout(alloc.layout.strides, 64))


def halves(alloc: ir.Alloc) -> ir.Alloc:
    assert alloc.layout is not None
    return attrs.evolve(alloc, layout=ir.Layout((2, alloc.layout.strides[1])))


@pytest.mark.parametrize("change", [wider, closer, off_the_alignment, halves])
def test_an_edit_leaves_room(change: Callable[[ir.Alloc], ir.Alloc]) -> None:
    edit = sl.edit(sl.set_layout(pipeline(), "alloc t", ("x", "y")))
    alloc = edit.statement("alloc t")
    assert isinstance(alloc, ir.Alloc)
    edit.replace("alloc t", change(alloc))
    with pytest.raises(sl.SchedulingError, match="strides that are asked for t are not shown to leave room"):
        edit.finish()


def test_an_edit_leaves_room_for_larger_elements() -> None:
    """Of a buffer that nobody uses: all others have the elements that their calls take."""
    edit = sl.edit(sl.set_layout(pipeline(), "alloc t", ("x", "y")))
    alloc = edit.statement("alloc t")
    unused = attrs.evolve(alloc, buffer="unused", id=fresh_identity())
    edit.insert(edit.pipeline.find("alloc t").before(), unused)
    p = edit.finish()
    edit.replace(unused, attrs.evolve(unused, dtype="int64"))
    with pytest.raises(sl.SchedulingError, match="strides that are asked for unused are not shown to leave room"):
        edit.finish()
    assert p.find("alloc unused").strides() == p.find("alloc t").strides()


def test_calls_are_not_shared_in_a_buffer_whose_strides_were_made_for_one_of_them() -> None:
    a, t, out, down = (sl.BufferExpr(name, np.int32, 2) for name in ("a", "t", "out", "down"))
    sl.Func(np.negative, [a[y, x]], [t[y, x]], name="make")
    sl.Func(np.square, [t[y, x]], [out[y, x]], name="square")
    sl.Func(np.subtract, [t[y + 1, x], t[y, x]], [down[y, x]], name="down")
    p = sl.clone_call(sl.build_pipeline([a], [out, down]), "make", "square")
    for d, more in ((0, 1), (1, 0)):
        p = sl.resize_dim(p, "alloc t", d, sl.interval(down.dim(d).min, down.dim(d).max + more))
    p = sl.set_layout(p, "alloc t", ("x", "y"))
    with pytest.raises(sl.SchedulingError, match="strides that are asked for t are not shown to leave room") as caught:
        sl.share_calls(p, "make", "make #1")
    assert caught.value.hint == "do this first, and set its layout then (set_layout)"


def by_halves() -> sl.Pipeline:
    """The user says how far rows are apart, which leaves room for short ones only; all is there for rows from 0 on, and
    for others."""
    a, t, out = (sl.BufferExpr(name, np.int32, 2) for name in ("a", "t", "out"))
    sl.Func(np.negative, [a[y, x]], [t[y, x]], name="make")
    sl.Func(np.square, [t[y, x]], [out[y, x]], name="square")
    t.dim(0).stride, t.dim(1).stride = 32, 4
    p = sl.build_pipeline([a], [out])
    return sl.specialize(p, p.find("alloc t").expand(after=2), out.dim(0).min >= 0)


def test_strides_that_are_not_shown_to_leave_room_stay_as_good_as_they_were() -> None:
    p = sl.compute_at(sl.split_loop(by_halves(), "square.y", 2), "make", "for y")
    p = sl.unroll_loop(sl.split_loop(sl.store_at(p, "alloc t", "for y"), "for y", 1), "for y")
    image = np.arange(24, dtype=np.int32).reshape(3, 8)
    np.testing.assert_array_equal(p(image, np.empty_like(image)), image**2)
    with pytest.raises(sl.ExecutionError, match="would share memory"):
        p(np.ones((3, 9), np.int32))


def another_condition(edit: sl.Editor) -> None:
    branch = edit.statement(edit.pipeline.find("if _"))
    assert isinstance(branch, ir.If)
    edit.replace(branch, ir.with_condition(branch, sl.BufferExpr("out", np.int32, 2).dim(0).min >= 1))


def in_a_loop(edit: sl.Editor) -> None:
    block = edit.pipeline.find("if _").body()
    rows = sl.interval(0, sl.BufferExpr("out", np.int32, 2).dim(0).max)
    edit.wrap(block, lambda block: ir.For(edit.variable("k", "if _"), rows, 1, ir.SERIAL, block))


def in_other_iterations(edit: sl.Editor) -> None:
    loop = edit.statement(edit.pipeline.find("for k"))
    assert isinstance(loop, ir.For)
    edit.replace(loop, ir.with_range(loop, sl.interval(loop.range.min, loop.range.max + 1)))


def out_of_the_loop(edit: sl.Editor) -> None:
    edit.move("alloc t", edit.pipeline.find("for k").before())


def edited(p: sl.Pipeline, *changes: Callable[[sl.Editor], None]) -> sl.Pipeline:
    for change in changes:
        edit = sl.edit(p)
        change(edit)
        p = edit.finish()
    return p


@pytest.mark.parametrize(
    ("before", "change"),
    [((), another_condition), ((in_a_loop,), in_other_iterations), ((in_a_loop,), out_of_the_loop)],
)
def test_strides_that_are_not_shown_to_leave_room_are_needed_nowhere_else(
    before: tuple[Callable[[sl.Editor], None], ...], change: Callable[[sl.Editor], None]
) -> None:
    p = edited(by_halves(), *before)
    with pytest.raises(sl.SchedulingError, match="strides that are asked for t are not shown to leave room"):
        edited(p, change)


@pytest.mark.parametrize("order", [("x", "y"), ("y", "x")])
def test_strides_with_room_for_all_rows_stay(order: tuple[str, str]) -> None:
    whole = sl.set_layout(pipeline(), "alloc t", order)
    p, loop = sl.split_loop(whole, "square.y", 1, rc=True)
    p, made = sl.compute_at(p, "make", loop.outer, rc=True)
    p = sl.lift_alloc(sl.store_at(p, made.alloc, loop.outer), made.alloc)
    assert str(p.find("alloc t").strides()) == str(whole.find("alloc t").strides())
    p = sl.extract_pipeline(p, p.find("alloc t").expand(after=1), "both")
    image = np.arange(12, dtype=np.int32).reshape(3, 4)
    np.testing.assert_array_equal(p(image, np.empty_like(image)), image**2)
