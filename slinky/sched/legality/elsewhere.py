"""Does a call read parts of a buffer alone that another call never writes? As those of stacks and concatenations.

Idea. What a call may compute at all is bounded by the buffers that it writes and by what its func is a part of; so is
what it writes. Where that and what is read lie apart along a dimension, nothing that the one writes reaches the other.

Invariant: yes is said only of ends that no loop moves, so that it holds wherever either of the two stands.
"""

from __future__ import annotations

from slinky.cursors.versions import Version
from slinky.ir.effects import bounds_of_dim, of_buffer, writes
from slinky.ir.statements import Call
from slinky.sched.legality.containing import shown
from slinky.sched.legality.touches import touches
from slinky.symbolic.expressions import Expr, Variable
from slinky.symbolic.intervals import Box, Interval
from slinky.symbolic.proofs import Facts
from slinky.symbolic.traversal import symbols


def reads_elsewhere(version: Version, call: Call, buffer: str, reader: int) -> bool:
    """Whether a call, given by identity, is shown to read nothing of a buffer that another call may write, wherever
    that stands, and whatever it computes."""
    key = ("reads elsewhere", call.id, buffer, reader)
    found: bool | None = version.remembered.get(key)
    if found is None:
        most = tuple([bounds_of_dim(call, d, version.box_at(call.id)) for d in range(len(call.box))])
        written = [effect.box for effect in of_buffer(writes(call, most), buffer)]
        read = [touch.region for touch in touches(version, buffer, (reader,), writing=False)]
        moving = frozenset(loop.variable for i in (call.id, reader) for loop in version.loops_around(i))
        known = version.facts_at(call.id)
        found = all(_are_apart(one, other, moving, known) for one in written for other in read)
        version.remembered[key] = found
    return found


def _are_apart(one: Box, other: Box, moving: frozenset[Variable], known: Facts) -> bool:
    """Whether two boxes are shown to have nothing in common, by ends that do not move."""
    return any(
        _ends_before(i, j, moving, known) or _ends_before(j, i, moving, known) for i, j in zip(one, other, strict=True)
    )


def _ends_before(one: Interval, other: Interval, moving: frozenset[Variable], known: Facts) -> bool:
    ends: tuple[Expr, Expr] = (one.max, other.min)
    return all(moving.isdisjoint(symbols(end)) for end in ends) and shown(one.max + 1, other.min, known)
