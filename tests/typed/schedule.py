"""A schedule as a user with a type checker writes it: operations of slinky and of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, assert_type, overload

import numpy as np

import slinky as sl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Image = NDArray[np.int16]


# A pipeline -----------------------------------------------------------------------------------------------------------


def add_1(source: Image, target: Image) -> None:
    """Add one."""
    np.add(source, 1, out=target)


def sum_3(source: Image, target: Image) -> None:
    """The sum of three rows."""
    target[...] = source[:-2] + source[1:-1] + source[2:]


def build() -> sl.Pipeline:
    """An image plus one, summed over three rows, twice."""
    y, x = sl.variables("y x")
    inp, first, second, out = (sl.BufferExpr(name, np.int16, rank=2) for name in ("inp", "first", "second", "out"))
    sl.Func(add_1, [inp[y, x]], [first[y, x]], name="add")
    sl.Func(sum_3, [first[sl.interval(y - 1, y + 1), x]], [second[y, x]], name="blur")
    sl.Func(sum_3, [second[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="again")
    return sl.build_pipeline([inp], [out])


# Operations of one's own ----------------------------------------------------------------------------------------------


class FusedCursors(sl.ReturnedCursors):
    """A loop and what is computed in it."""

    loop: sl.LoopCursor
    calls: tuple[sl.CallCursor, ...]


@sl.sched_op(FusedCursors)
def fuse_rows(
    p: sl.Pipeline, calls: Sequence[sl.CallCursor | str], loop: sl.LoopCursor | str = "for y", *, fold: bool = True
) -> tuple[sl.Pipeline, FusedCursors]:
    """Compute producers in a loop, the last one first, only what is new.

    Cursors:
        loop: the loop.
        calls: the producers.
    """
    assert isinstance(loop, sl.LoopCursor)
    moved: list[sl.CallCursor] = []
    for call in calls:
        p, at = sl.compute_at(p, call, loop, rc=True)
        p = sl.slide_window(p, at.call, at.loop)
        if fold:
            p = sl.fold_storage(p, at.alloc, "y")
        moved.append(at.call)
    return p, FusedCursors(loop, tuple(moved))


class RowsCursors(sl.ReturnedCursors):
    """A loop over rows."""

    rows: sl.LoopCursor


@overload
def by_rows(
    p: sl.Pipeline, call: sl.CallCursor | str, step: sl.Expr | int = 1, *, rc: Literal[True]
) -> tuple[sl.Pipeline, RowsCursors]: ...
@overload
def by_rows(
    p: sl.Pipeline, call: sl.CallCursor | str, step: sl.Expr | int = 1, *, rc: Literal[False] = False
) -> sl.Pipeline: ...
@sl.sched_op(RowsCursors)
def by_rows(p: sl.Pipeline, call: sl.CallCursor, step: sl.Expr | int = 1) -> tuple[sl.Pipeline, RowsCursors]:
    """Let a call run by rows.

    Cursors:
        rows: the loop over rows.
    """
    p, split = sl.split_loop(p, call.dim("y"), step, rc=True)
    return p, RowsCursors(split.outer)


@sl.sched_op("loop")
def workers(p: sl.Pipeline, loop: sl.LoopCursor | str, count: int = 2) -> Any:
    """Let a loop run on some threads."""
    assert isinstance(loop, sl.LoopCursor)
    return sl.parallelize_loop(p, loop, count), (loop,)


@sl.sched_op()
def tidy(p: sl.Pipeline) -> sl.Pipeline:
    """Simplify, and say so in the name."""
    return sl.rename(sl.simplify(p), f"tidy_{p.name}")


LAST: list[Callable[[sl.Pipeline], sl.Pipeline]] = [sl.simplify, tidy]


# The schedule ---------------------------------------------------------------------------------------------------------


def schedule(p: sl.Pipeline) -> sl.Pipeline:
    """By rows, all in one loop."""
    p, at = by_rows(p, "again", rc=True)
    assert_type(p, sl.Pipeline)
    assert_type(at, RowsCursors)
    assert_type(at.rows, sl.LoopCursor)
    assert_type(by_rows(p, p.body().find("blur"), 2 * sl.scalar("n")), sl.Pipeline)
    assert_type(fuse_rows(p, [p.find("blur")], fold=False), sl.Pipeline)

    p, fused = fuse_rows(p, ["blur", "add"], at.rows, rc=True)
    assert_type(fused, FusedCursors)
    assert_type(fused.calls, tuple[sl.CallCursor, ...])
    print(fused.calls[0].name(), "in", fused.loop.name())
    return p


def in_parallel(p: sl.Pipeline) -> sl.Pipeline:
    """A record made of names: type checkers know that it is one, not what it holds."""
    p = by_rows(p, "blur", 8)
    assert_type(workers(p, "for y", count=3), sl.Pipeline)
    p, named = workers(p, p.find("for y"), rc=True)
    assert_type(named.loop.workers(), Any)
    return p


def each_primitive(p: sl.Pipeline) -> None:
    """What primitives return."""
    q, split = sl.split_loop(p, "again.y", 4, tail="cut", rc=True)
    assert_type(q, sl.Pipeline)
    assert_type(split.outer, sl.LoopCursor)
    assert_type(split.inner, sl.LoopCursor | sl.DimCursor)
    assert_type(split.tail, sl.LoopCursor | sl.CallCursor | sl.InvalidCursor)
    q, at = sl.compute_at(sl.split_loop(p, "again.y", factor=1), "blur", "for y", rc=True)
    assert_type(at.call, sl.CallCursor)
    assert_type(at.alloc, sl.AllocCursor)
    assert_type(at.allocs, tuple[sl.AllocCursor, ...])
    r, stored = sl.store_at(q, at.alloc, at.loop, rc=True)
    assert_type(stored.loop, sl.LoopCursor)
    r, lifted = sl.lift_alloc(r, stored.alloc, rc=True)
    assert_type(lifted.alloc, sl.AllocCursor)
    r, parallel = sl.parallelize_loop(sl.store_at(q, "alloc second", "for y"), "for y", 2, rc=True)
    assert_type(parallel.loop.workers(), int | sl.Expr | None)
    r, cut = sl.cut_loop(q, "for y", at.loop.bounds().min + 1, rc=True)
    assert_type((cut.first, cut.second), tuple[sl.LoopCursor, sl.LoopCursor])
    q, slid = sl.slide_window(q, at.call, at.loop, warmup="earlier", rc=True)
    assert_type(slid.loop, sl.LoopCursor)
    q, folded = sl.fold_storage(q, slid.alloc, "y", rc=True)
    q, unfolded = sl.unfold_storage(q, folded.alloc, 0, rc=True)
    assert_type(unfolded.alloc, sl.AllocCursor)
    q, root = sl.compute_root(q, "blur", rc=True)
    assert_type(root.call, sl.CallCursor)
    q, renamed = sl.rename(sl.simplify(q, rc=False), "other", rc=True)
    assert_type(len(renamed), int)
    q, swapped = sl.reorder_loops(sl.split_loop(sl.split_loop(p, "add.y", 2), "add.x", 2, names="z"), "for y", rc=True)
    assert_type(swapped.outer, sl.LoopCursor)


def each_of_the_library(p: sl.Pipeline) -> None:
    """Places as patterns, as for primitives."""
    assert_type(sl.line_buffer(p, "again", "y", 2), sl.Pipeline)
    q, lines = sl.line_buffer(p, "again", "y", rc=True)
    assert_type(lines.loop.name(), Any)
    sl.peel_warmup(q, "again", "y")
    sl.parallel_tiles(p, "again", {"y": 16}, rows=2)
    sl.double_buffer(p, "add", "again", "y", 4)
    q = sl.tile(p, "again", {"y": 8, "x": 16})
    q = sl.fuse_chain(sl.align_loop(q, "for y", 4), "for x")
    q = sl.resize_pieces(sl.fuse_chain(sl.split_loop(p, "again.y", 4), "for y"), "for y", 8)
    q = sl.batch(sl.split_loop(p, "again.y", 1), "for y", 4)
    q = sl.default_schedule(sl.split_loop(p, "again.y", 4), stay=["add"])
    q = sl.reorder_before(p, "alloc second", "add")
    q = sl.reorder_after(p, "add", "alloc second")
    sl.strips(q, 4, workers=2)


def two_outputs() -> sl.Pipeline:
    """Two outputs that read the same, in one loop."""
    y, x = sl.variables("y x")
    inp, first, one, other = (sl.BufferExpr(name, np.int16, rank=2) for name in ("inp", "first", "one", "other"))
    sl.Func(add_1, [inp[y, x]], [first[y, x]], name="add")
    sl.Func(sum_3, [first[sl.interval(y - 1, y + 1), x]], [one[y, x]], name="left")
    sl.Func(add_1, [first[y, x]], [other[y, x]], name="right")
    return sl.fuse_outputs(sl.build_pipeline([inp], [one, other]), "left", "right", "y", 2)


def swap(p: sl.Pipeline) -> sl.Pipeline:
    """Blocks: a pair of statements, or one cursor."""
    p, at = sl.reorder_statements(p, ("add", "alloc second"), rc=True)
    assert_type(at.block, sl.BlockCursor)
    for last in LAST:
        assert_type(last(p), sl.Pipeline)
    assert_type(tidy(p, rc=True)[0].history(), sl.History)
    return sl.reorder_statements(p, at.block)
