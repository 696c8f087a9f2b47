"""Which regions calls touch: what they read and write whenever they do anything, and what is known then.

Regions are boxes of expressions over the loops around the call. A call is clamped to the bounds of its outputs and
skipped where that leaves nothing, so every touch comes with the fact that its box is not empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import attrs

from slinky.cursors.versions import Version
from slinky.ir.effects import Touching, buffers_named, calls_in, clamped_box, reads, writes
from slinky.ir.statements import Alloc, Call, For, has_calls_alone
from slinky.symbolic.intervals import Box, not_empty
from slinky.symbolic.proofs import Facts


@attrs.frozen
class Touch:
    """A region of a buffer that a call reads or writes whenever it does anything, and what then holds."""

    call: Call
    region: Box
    version: Version

    @property
    def known(self) -> Facts:
        """What holds whenever the call does anything: put together when somebody asks."""
        return _known_running(self.version, self.call)


def effective_box(version: Version, call: Call) -> Box:
    """The box of a call within the bounds of its outputs."""
    return clamped_box(call, version.box_at(call.id))


def running_box(version: Version, call: Call) -> Box:
    """The same of a call that stands in the version, remembered with that."""
    key = ("running", call.id)
    found: Box | None = version.remembered.get(key)
    if found is None:
        found = version.remembered[key] = effective_box(version, call)
    return found


def _known_running(version: Version, call: Call) -> Facts:
    """What holds when the box of a call within the bounds of its outputs is not empty."""
    key = ("known running", call.id)
    found: Facts | None = version.remembered.get(key)
    if found is None:
        box = running_box(version, call)
        found = version.remembered[key] = version.facts_at(call.id).also(not_empty(box))
    return found


def reads_of_call(version: Version, call: Call) -> list[tuple[str, Touch]]:
    """The regions that a call may read, by buffer."""
    box = running_box(version, call)
    return [(effect.buffer, Touch(call, effect.box, version)) for effect in reads(call, box)]


def writes_of_call(version: Version, call: Call) -> list[tuple[str, Touch]]:
    """The regions that a call may write, by buffer."""
    box = running_box(version, call)
    return [(effect.buffer, Touch(call, effect.box, version)) for effect in writes(call, box)]


def touches(version: Version, buffer: str, calls: Iterable[int], *, writing: bool) -> list[Touch]:
    """The regions of one buffer that calls, given by identity, read or write."""
    found = []
    for identity in calls:
        call = version.statement(identity)
        assert isinstance(call, Touching)
        pairs = writes_of_call(version, call) if writing else reads_of_call(version, call)
        found += [touch for name, touch in pairs if name == buffer]
    return found


def calls_inside(version: Version, identity: int) -> list[Call]:
    """The calls at or inside a statement, in program order."""
    statement = version.statement(identity)
    if isinstance(statement, Touching):
        return [statement]
    if isinstance(statement, For) and has_calls_alone(statement.body):
        return cast("list[Call]", list(statement.body))
    return list(calls_in((statement,)))


def allocs_touched(version: Version, calls: Iterable[Call]) -> list[Alloc]:
    """The allocations of the intermediates that calls read or write."""
    found: dict[int, Alloc] = {}
    for call in calls:
        for name in buffers_named(call):
            alloc = version.alloc_of(name, call.id)
            if alloc is not None:
                found[alloc.id] = alloc
    return list(found.values())
