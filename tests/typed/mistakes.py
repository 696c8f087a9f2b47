"""Mistakes in a schedule, each on a line that ends with what a type checker calls it."""

# ruff: noqa: B018, RUF059
from __future__ import annotations

from typing import Any

from schedule import FusedCursors, build, by_rows, fuse_rows, workers

import slinky as sl


def mistakes(p: sl.Pipeline, loop: sl.LoopCursor, alloc: sl.AllocCursor, q: Any) -> None:
    """None of this is right."""
    sl.compute_at(p, 3, loop)  # call-overload
    sl.compute_at(p, "add")  # call-overload
    sl.compute_at(p, alloc, loop)  # call-overload
    sl.compute_at(p, "add", loop, rc="yes")  # call-overload
    sl.split_loop(p, loop, "8")  # call-overload
    sl.split_loop(p, loop, 8, tail=None)  # call-overload
    sl.split_loop(p, loop, 8, tale="cut", rc=True)  # call-overload
    sl.simplify(p, p)  # call-overload
    sl.reorder_statements(p, 3)  # call-overload
    sl.rename(sl.simplify(p, rc=True), "other")  # call-overload
    sl.compute_at(p, "add", loop, rc=True).find("add")  # attr-defined
    a, b, c = sl.split_loop(p, loop, 8, rc=True)  # misc
    d, e = sl.split_loop(p, loop, 8)  # misc
    q, at = sl.compute_at(p, "add", loop, rc=True)
    at.lop  # attr-defined
    at.call.step()  # attr-defined
    at.allocs.name()  # attr-defined
    at.call = at.call  # misc

    sl.line_buffer(p, 3, "y")  # call-overload
    sl.line_buffer(p, "again")  # call-overload
    sl.fuse_chain(p, alloc)  # call-overload
    sl.default_schedule(p, stay="again.y", rows=3)  # call-overload

    fuse_rows(p, 3)  # call-overload
    fuse_rows(p)  # call-overload
    fuse_rows(p, ["blur", alloc])  # list-item
    fuse_rows(p, ["blur"], folds=True)  # call-overload
    r, fused = fuse_rows(p, ["blur"], rc=True)
    fused.call.name()  # attr-defined
    fused.calls.name()  # attr-defined
    fuse_rows(fuse_rows(p, [], rc=True), [])  # call-overload
    FusedCursors(loop, loop)  # arg-type
    FusedCursors(loop)  # call-arg

    by_rows(p, 3, rc=True)  # call-overload
    by_rows(p, rc=True)  # call-overload
    by_rows(p, "again", "1", rc=True)  # call-overload
    by_rows(p, "again", rc=True)[1].row  # attr-defined
    workers(p, 3)  # call-overload
    workers(build)  # call-overload
    p.history().text()  # attr-defined
    sl.sched_op(int)  # type-var
    sl.sched_op("loop")(build)  # arg-type
