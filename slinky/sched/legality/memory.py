"""Whether buffers that lie in one memory let each other be.

Idea. What a program means does not say where buffers lie: each has elements of its own. That is so, too, where several
lie in the memory of one, their host, if whoever reads an element finds what was written there as this buffer's. Here
that follows from an order. In the block of the host, where all of them are used, each is used by statements that come
before those which use the next. The block runs from its beginning for each time that the host is allocated, so nothing
that one of them holds is asked for once another is written.

One statement may use two of them: a call that works in place, or loops around it. It reads the one at just the points
that it writes of the other, which lie at the same bytes, for both have the same dtype and the same box. Nothing else in
the statement uses the one, or writes the other, and what it writes in different iterations is disjoint: so what it
writes over an element comes with the last read of it. Both are allocated in one block, so that what a plan writes over
the other one comes behind the statement.

Invariant: a buffer that shares its memory with others has neither a fold nor a layout; it is not in a branch, where no
room could be kept for it, and no parallel loop stands between it and its host, which its iterations would share.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import attrs

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.blocks import words_of_layout
from slinky.ir.effects import Touching, read_by, written_by
from slinky.ir.scopes import one_before_the_other, over_loops
from slinky.ir.sharing import Guest, host_of, reads_where_it_writes
from slinky.ir.statements import SERIAL, Alloc, Call, For
from slinky.sched.legality.touches import calls_inside, touches
from slinky.sched.remedies import PlaceOf, first
from slinky.sched.small_runs import taken_over
from slinky.symbolic.expressions import equal
from slinky.symbolic.proofs import prove
from slinky.symbolic.traversal import quotients


@attrs.frozen(eq=False)
class _Occupant:
    """A buffer in shared memory: its allocation, the calls that use it, and which statements of the host's block do,
    by position, from the first to the last."""

    alloc: Alloc
    calls: tuple[int, ...]
    first: int
    last: int


def check_memory(version: Version) -> None:
    """Check all buffers of a program that lie in the memory of others.

    Raises `SchedulingError` for the first that is not shown to leave them what they hold.
    """
    groups: dict[int, list[Alloc]] = {}
    for identity in sorted(version.guests(), key=version.place):
        guest = version.statement(identity)
        assert isinstance(guest, Alloc)
        host = _checked_host(version, guest)
        groups.setdefault(host.id, [host]).append(guest)
    for host_id, allocs in groups.items():
        found = (_occupant(version, host_id, alloc) for alloc in allocs)
        occupants = sorted((o for o in found if o is not None), key=lambda o: (o.first, o.last))
        for one, other in itertools.pairwise(occupants):
            _check_in_order(version, host_id, one, other)


def _checked_host(version: Version, guest: Alloc) -> Alloc:
    """The allocation in whose memory another lies, if it can lie there at all."""
    name = host_of(guest)
    assert name is not None
    place = statement_cursor(version, guest.id)
    host = version.alloc_of(name, guest.id)
    if host is None:
        raise SchedulingError(f"{guest.buffer} lies in the memory of {name}, which is not allocated here", place=place)
    if host_of(host) is not None:
        raise SchedulingError(
            f"{guest.buffer} lies in the memory of {name}, which has none: it lies in {host_of(host)}", place=place
        )
    for each in (host, guest):
        _require_plain(version, each, guest, host)
    between = version.ancestors(guest.id)[: len(version.ancestors(guest.id)) - len(version.ancestors(host.id))]
    for around in version.ancestors(guest.id):
        statement = version.statement(around)
        if not isinstance(statement, For):
            raise SchedulingError(
                f"{guest.buffer} is allocated in a branch, which may never be taken: it cannot lie in the memory of "
                f"{name}",
                place=place,
            )
        if around in between and statement.mode != SERIAL:
            raise SchedulingError(
                f"the iterations of the parallel loop {statement.variable} would share the memory of {name}, in which "
                f"{guest.buffer} lies",
                place=place,
            )
    _require_known_size(version, guest, host, between)
    return host


def _require_plain(version: Version, alloc: Alloc, guest: Alloc, host: Alloc) -> None:
    """Refuse a buffer that lies in a ring, or as the user says."""
    shared = f"{guest.buffer} lies in the memory of {host.buffer}"
    for d, fold in enumerate(alloc.folds):
        if fold is not None:
            raise SchedulingError(
                f"{shared}, but {alloc.buffer} is folded along {alloc.dims[d]}: a ring has memory of its own",
                place=statement_cursor(version, alloc.id),
            )
    if alloc.layout is not None:
        raise SchedulingError(
            f"{shared}, but {alloc.buffer} {words_of_layout(alloc)}",
            place=statement_cursor(version, alloc.id),
        )


def _require_known_size(version: Version, guest: Alloc, host: Alloc, between: Sequence[int]) -> None:
    """Check that what a guest takes at most is known where its host is allocated. (Bounds over the loops between speak
    no more of their variables, but may divide by what is no divisor there.)"""
    loops = tuple(s for i in reversed(between) if isinstance(s := version.statement(i), For))
    known = version.facts_at(host.id)
    for dim, extent in zip(guest.dims, Guest(guest, loops).extents(), strict=True):
        if not all(prove(q.denominator >= 1, known) for q in quotients(extent)):
            raise SchedulingError(
                f"not known where {host.buffer} is allocated how far {guest.buffer}, which lies in its memory, extends "
                f"along {dim}",
                place=statement_cursor(version, guest.id),
            )


# Order ----------------------------------------------------------------------------------------------------------------


def _occupant(version: Version, host: int, alloc: Alloc) -> _Occupant | None:
    """A buffer with those who use it; None if nobody does."""
    calls = tuple(dict.fromkeys((*version.writers_of(alloc), *version.readers_of(alloc))))
    if not calls:
        return None
    depth = len(version.ancestors(host))
    positions = [version.position(version.path(i)[depth]) for i in calls]
    return _Occupant(alloc, calls, min(positions), max(positions))


def _check_in_order(version: Version, host: int, one: _Occupant, other: _Occupant) -> None:
    """Check that nobody uses a buffer when the next in its memory is written, but for a call in place."""
    if one.last < other.first:
        return
    if one.last == other.first:
        entry = version.entries[host]
        statement = version.block(entry.parent, entry.field)[one.last].id
        _check_in_place(version, statement, one, other, _example(version, host, one, other))
        return
    depth = len(version.ancestors(host))
    late = next(i for i in one.calls if version.position(version.path(i)[depth]) == one.last)
    user = version.statement(late)
    assert isinstance(user, Touching)
    verb = "reads" if one.alloc.buffer in read_by(user) else "writes"
    raise SchedulingError(
        f"{user.func.name} {verb} {one.alloc.buffer} after {_first_user(version, host, other)} {other.alloc.buffer}, "
        f"which lies in the same memory",
        place=statement_cursor(version, late),
        example=_example(version, host, one, other),
    )


def _example(version: Version, host: int, one: _Occupant, other: _Occupant) -> Callable[[], str]:
    """What finds a small run in which a buffer is written over another one that is read."""
    return lambda: str(taken_over(version.program, host, one.alloc.id, other.alloc.id) or "")


def _first_user(version: Version, host: int, occupant: _Occupant) -> str:
    """Who uses a buffer first, and how, in words."""
    depth = len(version.ancestors(host))
    early = [i for i in occupant.calls if version.position(version.path(i)[depth]) == occupant.first]
    call = version.statement(min(early, key=version.place))
    assert isinstance(call, Touching)
    return f"{call.func.name} {'writes' if occupant.alloc.buffer in written_by(call) else 'reads'}"


def _check_in_place(
    version: Version, statement: int, one: _Occupant, other: _Occupant, example: Callable[[], str]
) -> None:
    """Check that the one statement that uses two buffers of one memory writes the second in place of the first."""
    a, b = one.alloc.buffer, other.alloc.buffer
    inside = calls_inside(version, statement)
    users = [c for c in inside if c.id in one.calls]
    writers = [c for c in inside if c.id in other.calls and b in written_by(c)]
    if len(users) != 1 or writers != users:
        loop = version.statement(statement)
        where = f"in each iteration of loop {loop.variable}" if isinstance(loop, For) else "here"
        around = PlaceOf(statement)
        raise SchedulingError(
            f"{a} and {b}, which lie in the same memory, are both used {where}",
            place=statement_cursor(version, statement),
            example=example,
            remedies=lambda: [
                first(
                    "store them in the loop first",
                    *(("store_at", PlaceOf(o.alloc.id), around) for o in (other, one)),
                )
            ],
        )
    (call,) = users
    place = statement_cursor(version, call.id)
    why = why_not_in_place(version, call, one.alloc, other.alloc)
    if why:
        raise SchedulingError(why, place=place, example=example)
    loops = [loop for loop in version.loops_around(call.id) if statement in (loop.id, *version.ancestors(loop.id))]
    (touch,) = touches(version, b, [call.id], writing=True)
    for n, loop in enumerate(loops):
        inner = list(reversed(loops[n + 1 :]))
        regions = (over_loops(i, inner, touch.known) for i in touch.region)
        if not any(one_before_the_other([i], loop, version.facts_at(loop.id)) for i in regions):
            raise SchedulingError(
                f"iterations of loop {loop.variable} are not shown to write different elements of {b}: "
                f"{call.func.name}, which writes it over {a}, could read what it has overwritten",
                place=place,
                example=example,
            )


def why_not_in_place(version: Version, call: Call, one: Alloc, other: Alloc) -> str:
    """Why a call cannot write a buffer over another one that it reads, in words; empty if it can."""
    func, a, b = call.func, one.buffer, other.buffer
    if not func.operation.in_place:
        return f"{func.name} is not declared to work in place: it may read {a} after it has written {b}"
    if len(func.outputs) != 1:
        return f"{func.name} has {len(func.outputs)} outputs: of what it reads of {a} it may compute another one later"
    if not reads_where_it_writes(call, a, b):
        return f"{func.name} reads more of {a} than the element that it writes of {b}, or elsewhere"
    here, there = version.entries[one.id], version.entries[other.id]
    if (here.parent, here.field) != (there.parent, there.field):
        return f"{a} and {b} are stored in different loops"
    if one.dtype != other.dtype:
        return f"{a} is {one.dtype}, and {b} is {other.dtype}: their elements do not lie at the same bytes"
    known = version.facts_at(other.id)
    ends = ((x, y) for i, j in zip(one.box, other.box, strict=True) for x, y in ((i.min, j.min), (i.max, j.max)))
    if not all(x is y or prove(equal(x, y), known) for x, y in ends):
        return f"{a} and {b} are not shown to have the same bounds, so that their elements lie at the same bytes"
    return ""
