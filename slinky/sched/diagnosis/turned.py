"""Calls that read a buffer turned, past a copy that is not made, and what gives them lines of memory again.

A func that runs along the last axis of its input is fast because neighbours there are neighbours in memory. Where the
input is a transposition that is done without, they are a row of the source apart.

Invariant: nothing here runs a callback, nor says that it is slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import attrs

import slinky as sl
from slinky import ir
from slinky.ir.operations import Copy
from slinky.ir.statements import View
from slinky.sched.diagnosis.evidence import Evidence, Step, powers
from slinky.symbolic import symbols

SHARE_OF_CACHE = 4
"""One part in so many of the cache is for the copy of a strip: what it is copied from, and what is made, are there,
too."""


@attrs.frozen
class Turned:
    """A call, a buffer that it reads turned, and in which order its dimensions would lie in memory as the call's do."""

    call: sl.CallCursor
    buffer: str
    order: tuple[int, ...]


def turned_reads(known: Evidence) -> Iterator[Turned]:
    """The calls that read a buffer along another axis than that of its lines."""
    edit = sl.edit(known.p)
    for call in known.calls:
        statement = edit.statement(call)
        assert isinstance(statement, ir.Call)
        if isinstance(statement.func.operation, Copy):
            continue
        for port, buffer in zip(statement.func.inputs, statement.reads, strict=True):
            order = None if port.view is None else _order(port.view)
            if order is not None and order[-1] != len(order) - 1 and not _has_other_layout(known, buffer):
                yield Turned(call, buffer, order)


def _order(view: View) -> tuple[int, ...] | None:
    """The dimensions of a buffer in the order of those of a view; None where one is not just one of the other."""
    order: list[int] = []
    for dim in view.dims:
        found = [axis for axis, e in enumerate(view.index) if dim in symbols(e)]
        if len(found) != 1:
            return None
        order += found
    return tuple(order) if sorted(order) == list(range(len(view.index))) else None


def _has_other_layout(known: Evidence, buffer: str) -> bool:
    """Whether a buffer does not lie in memory with its last dimension innermost."""
    for alloc in known.allocs:
        if alloc.name() == buffer:
            return any(stride is not None for stride in alloc.strides())
    for arg, given in zip(known.p.args(), known.arguments, strict=False):
        if arg.name() == buffer:
            array = given.array if isinstance(given, sl.Buffer) else given
            strides = getattr(array, "strides", None)
            return strides is None or abs(strides[-1]) != min(map(abs, strides))
    return True  # given by name: nobody has looked


def steps_for(known: Evidence, read: Turned) -> Iterator[Step]:
    """What gives a call lines: a copy of strips of what it reads, each turned and small; or a copy of all, turned."""
    loops = sl.enclosing_loops(known.p, read.call)
    if not loops:
        for dim in read.call.dims()[:-1]:
            extent = known.value(dim.bounds().max - dim.bounds().min + 1, read.call) or 0
            size = known.work(read.call).bytes_read
            rows = known.cache_bytes // SHARE_OF_CACHE * extent // max(size, 1)
            for height in powers(1, min(rows, extent // 2))[-1:]:
                yield partial(_turned_strips, read, dim, height)
    yield partial(_turned_copy, read)


def _turned_strips(read: Turned, dim: sl.DimCursor, height: int, p: sl.Pipeline) -> sl.Pipeline:
    """A copy of each strip of what a call reads, in the order in which it reads."""
    return _turned_copy(read, sl.split_loop(p, dim, height))


def _turned_copy(read: Turned, p: sl.Pipeline) -> sl.Pipeline:
    """A copy of what a call reads, in the order in which it reads."""
    p, staged = sl.stage_buffer(p, p.forward(read.call), read.buffer, rc=True)
    return sl.set_layout(p, staged.alloc, read.order)
