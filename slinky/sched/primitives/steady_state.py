"""The steady state around a copy: where all that is read of it lies within the edges of its source.

Idea. Of an extended or padded buffer that is made piece by piece, most pieces lie inside. Each edge says from where on
that is so, or up to where. Where it moves with a loop, the loop is cut there, into first iterations, steady state and
last ones. Where it does not, every iteration reads beyond the edge: then the readers are cut, and their parts there get
a copy of their own, of a strip. What is left reads a plain copy, or rather its source (`alias_copy`).

An edge as a *margin*: by how much what is read lies within it, in terms of the reader's dimensions. It is inside where
no margin is negative.

Invariant: loops and calls are cut where margins become negative, so that no more than needs a copy has one.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from slinky.cursors.cursors import CallCursor, DimCursor, LoopCursor, statement_cursor
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.effects import calls_in
from slinky.ir.operations import Copy
from slinky.ir.scopes import over_loops
from slinky.ir.statements import Call, For
from slinky.pipeline import Pipeline
from slinky.sched.passing import known_source
from slinky.sched.primitives.calls import clone_call, cut_call
from slinky.sched.primitives.loops import cut_loop
from slinky.symbolic.bounds import bounds
from slinky.symbolic.expressions import Expr, Max, Min, maximum, minimum
from slinky.symbolic.intervals import Interval, point
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.solving import Side, limit_of
from slinky.symbolic.traversal import symbols


def has_steady_state(version: Version, call: Call) -> bool:
    """Whether a call is a copy of an array of the caller that is made anew in each iteration of a loop.

    What a call makes is better written where it is copied to, in all iterations.
    """
    operation = call.func.operation
    if (
        not isinstance(operation, Copy)
        or len(operation.sources) != 1
        or any(p.view is not None for p in call.func.ports)
    ):
        return False
    source, target = version.alloc_of(call.reads[0], call.id), version.alloc_of(call.writes[0], call.id)
    return source is None and target is not None and bool(version.loops_around(target.id))


def with_steady_state(p: Pipeline, copy: CallCursor) -> tuple[Pipeline, CallCursor]:
    """The pipeline with readers and loops cut, and the copy in the steady state, where it copies nothing from beyond an
    edge.

    Raises `SchedulingError` where it is not shown where that is.
    """
    readers = _readers(p._version, copy._call)
    for n, reader in enumerate(readers):
        for margin in _margins(copy._call, reader):
            p, copy = _in_steady_loop(p, copy, n, margin)
            if len(_readers(p._version, copy._call)) != len(readers):  # what never runs there is gone
                raise SchedulingError(
                    f"what is left of a loop has other calls of what reads {copy._call.writes[0]} than before",
                    place=copy,
                )
    for reader in _readers(p._version, copy._call):
        p = _without_strips(p, copy, CallCursor(p._version, reader.id))
    return p, p.forward(copy)


def _readers(version: Version, copy: Call) -> list[Call]:
    alloc = version.alloc_of(copy.writes[0], copy.id)
    assert alloc is not None  # of such a copy alone it is asked, see `has_steady_state`
    return [s for i in version.readers_of(alloc) if isinstance(s := version.statement(i), Call)]


# Margins --------------------------------------------------------------------------------------------------------------


def _margins(copy: Call, reader: Call) -> Iterator[Expr]:
    """By how much what a reader reads of a copy lies within the edges of its source, for each end of each edge.

    The same for all parts that loops and calls are cut into: they run the same funcs on the same operands.
    """
    operation = copy.func.operation
    assert isinstance(operation, Copy)
    for buffer, port in zip(reader.reads, reader.func.inputs, strict=True):
        if buffer == copy.writes[0]:
            ranges: dict[Expr, Interval] = dict(zip(operation.dims, port.box, strict=True))
            for e, edges in known_source(operation, operation.sources[0])[1]:
                taken = bounds(e, ranges)
                yield taken.min - edges.min
                yield edges.max - taken.max


def _least(version: Version, copy: Call, reader: Call, margin: Expr) -> Expr:
    """The least that a margin may be in the box of a reader, over all iterations of loops that the copy is not in."""
    known = version.facts_at(reader.id)
    least = bounds(margin, dict(zip(reader.func.dims, reader.box, strict=True)), known).min
    around = version.loops_around(reader.id)
    return over_loops(point(least), list(reversed(around[len(version.loops_around(copy.id)) :])), known).min


@attrs.frozen
class _Steady:
    """From where on, and up to where, margins are not negative; None for no such end."""

    begin: Expr | None = None
    end: Expr | None = None

    def both(self, other: _Steady) -> _Steady:
        """Where two are so."""
        begins = [e for e in (self.begin, other.begin) if e is not None]
        ends = [e for e in (self.end, other.end) if e is not None]
        return _Steady(maximum(*begins) if begins else None, minimum(*ends) if ends else None)


def _steady(margin: Expr, symbol: Expr, known: Facts) -> _Steady | None:
    """Where along a symbol a margin is not negative, as far as it is one interval, or contains one that is easily said;
    None where that is not clear."""
    if prove(margin >= 0, known):
        return _Steady()
    match margin:
        case Min(operands=operands):
            found: _Steady | None = _Steady()
            for each in (_steady(operand, symbol, known) for operand in operands):
                found = None if found is None or each is None else found.both(each)
            return found
        case Max(operands=operands):
            return next((s for operand in operands if (s := _steady(operand, symbol, known)) is not None), None)
    limit = limit_of(margin >= 0, symbol, known)
    if limit is None or limit.side is Side.IS:
        return None
    return _Steady(begin=limit.value) if limit.side is Side.AT_LEAST else _Steady(end=limit.value)


def _required(version: Version, copy: Call, margin: Expr, symbol: Expr, known: Facts) -> _Steady:
    found = _steady(margin, symbol, known)
    if found is None:
        raise SchedulingError(
            f"not shown along {symbol} where all that is read of {copy.writes[0]} lies within the edges of "
            f"{copy.reads[0]}",
            place=statement_cursor(version, copy.id),
        )
    return found


# Strips ---------------------------------------------------------------------------------------------------------------


def _without_strips(p: Pipeline, copy: CallCursor, reader: CallCursor) -> Pipeline:
    """The pipeline with a reader cut where all iterations read beyond an edge, and with copies for its parts there."""
    for margin in _margins(copy._call, reader._call):
        version, call, copy = p._version, p.forward(reader)._call, p.forward(copy)
        known = version.facts_at(copy._id)
        least = _least(version, copy._call, call, margin)
        dims = [d for d, dim in enumerate(call.func.dims) if dim in symbols(margin)]
        if not dims or _moves(version, copy._call, least) or prove(least >= 0, known):
            continue
        others: dict[Expr, Interval] = {
            dim: box for d, (dim, box) in enumerate(zip(call.func.dims, call.box, strict=True)) if d != dims[0]
        }
        margin = bounds(margin, others, known).min
        steady = _required(version, copy._call, margin, call.func.dims[dims[0]], known)
        if _is_beyond(call.box[dims[0]], steady, known):  # it was cut for another copy
            return clone_call(p, copy, p.forward(reader))
        if steady.begin is not None:
            p, (strip, reader) = cut_call(p, DimCursor(version, call.id, dims[0]), steady.begin, rc=True)
            p = clone_call(p, copy, strip)
        if steady.end is not None:
            dim = DimCursor(p._version, p.forward(reader)._id, dims[0])
            p, (reader, strip) = cut_call(p, dim, steady.end + 1, rc=True)
            p = clone_call(p, copy, strip)
    return p


def _is_beyond(along: Interval, steady: _Steady, known: Facts) -> bool:
    """Whether nothing of an interval is shown to lie where it is steady."""
    begins_later = steady.begin is not None and prove(along.max < steady.begin, known)
    return begins_later or (steady.end is not None and prove(steady.end < along.min, known))


def _moves(version: Version, call: Call, e: Expr) -> For | None:
    """The innermost loop around a call with which an expression moves."""
    return next((loop for loop in reversed(version.loops_around(call.id)) if loop.variable in symbols(e)), None)


# Loops ----------------------------------------------------------------------------------------------------------------


def _in_steady_loop(p: Pipeline, copy: CallCursor, n: int, margin: Expr) -> tuple[Pipeline, CallCursor]:
    """The pipeline with a loop cut where a margin of the reader of this number becomes negative, and the copy where it
    is not."""
    version = p._version
    reader = _readers(version, copy._call)[n]
    known = version.facts_at(copy._id)
    least = _least(version, copy._call, reader, margin)
    loop = _moves(version, copy._call, least)
    if loop is None or prove(least >= 0, known):
        return p, copy
    steady = _required(version, copy._call, least, loop.variable, known)
    if steady.end is not None:
        p = cut_loop(p, LoopCursor(version, loop.id), steady.end + 1)
    before = _alike(p._version, loop.id, copy._call)
    if copy._id not in before:
        raise _changed(loop, copy, LoopCursor(p._version, loop.id))
    if steady.begin is None:
        return p, p.forward(copy)
    p, (_, later) = cut_loop(p, LoopCursor(p._version, loop.id), steady.begin, rc=True)
    after = _alike(p._version, later._id, copy._call)
    if len(before) != len(after):
        raise _changed(loop, copy, later)
    return p, CallCursor(p._version, after[before.index(copy._id)])


def _changed(loop: For, copy: CallCursor, place: LoopCursor) -> SchedulingError:
    """What never runs in a part of a loop is gone from there."""
    what = f"what is left of loop {loop.variable} has other calls of {copy.name()} than before"
    return SchedulingError(what, place=place)


def _alike(version: Version, loop: int, copy: Call) -> list[int]:
    """The calls of a copy in a loop, in program order: cutting the loop keeps it."""
    calls = calls_in((version.statement(loop),))
    return [call.id for call in calls if call.func is copy.func and call.writes == copy.writes]
