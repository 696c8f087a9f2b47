"""Computing once more what takes long to keep: a call that several groups read is made a call for each of them.

A producer whose readers cannot be computed with each other is held in full: a picture that is counted first, and then
changed by what was counted. Where the model finds that it takes less to compute it again in the strips of each reader,
each gets a call of its own (`clone_call`), and all are grouped anew.

Invariant: nothing here but public names of slinky; a call is made again only where that is predicted to be better.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

import slinky as sl
from slinky.sched.choices import Aims
from slinky.sched.grouping import Grouping, grouping
from slinky.sched.relations import Relations, relations_after

MOST_TRIED = 4
"""How many calls it is tried for, those first that write most."""

MOST_CALLS = 256
"""How many calls are grouped again for that in all, so that deciding takes no longer than it must."""

MOST_READERS = 8
"""A call that more groups read is held in full: to compute it for each takes longer, and so does deciding."""


@attrs.frozen
class Recomputed:
    """A pipeline in which some calls are made once more, its relations and groups, and what it takes unscheduled."""

    pipeline: sl.Pipeline
    relations: Relations
    groups: Grouping
    unscheduled_seconds: float


def recomputed(p: sl.Pipeline, found: Relations, aims: Aims) -> Recomputed:
    """The pipeline in which some calls are made once more; as it was where that is no better."""
    first = best = grouping(found, aims)
    tried = [found.calls[i].call for i in _candidates(found, best)]
    for call in tried[: min(MOST_TRIED, MOST_CALLS // max(len(found.calls), 1))]:
        new = _made_again(p, found, best, call)
        if new is None:
            continue
        relations = relations_after(aims.backend, new, found)
        groups = grouping(relations, aims)
        if groups.cost < best.cost:
            p, found, best = new, relations, groups
    return Recomputed(p, found, best, first.unscheduled_seconds)


def _candidates(found: Relations, groups: Grouping) -> Iterator[int]:
    """The calls that several groups read, and that are computed with none of them: the largest first; of those as large
    the last, for what it is made of may then be computed with it."""
    inside = {i for group in groups.groups for i in group.members}
    among = _Reading(found, groups)
    sizes = {i: sum(w.bytes for w in call.writes) for i, call in enumerate(found.calls) if i not in inside}
    for i in sorted(sizes, key=lambda i: (-sizes[i], -i)):
        written = {w.buffer for w in found.calls[i].writes}
        if not written & (found.outputs | found.held) and len(among.of(i)) > 1:
            yield i


class _Reading:
    """Who reads what, and in which group."""

    def __init__(self, found: Relations, groups: Grouping) -> None:
        self.calls = found.calls
        self.group_of = {k: number for number, group in enumerate(groups.groups) for k in group.calls}
        self.readers: dict[str, list[int]] = {}
        for k, call in enumerate(found.calls):
            for buffer, _ in call.reads:
                self.readers.setdefault(buffer, []).append(k)

    def of(self, i: int) -> list[list[int]]:
        """The calls that read what a call writes, by the groups that they are in, in program order."""
        found: dict[int, list[int]] = {}
        for k in sorted({k for written in self.calls[i].writes for k in self.readers.get(written.buffer, ())}):
            found.setdefault(self.group_of[k], []).append(k)
        return sorted(found.values())


def _made_again(p: sl.Pipeline, found: Relations, groups: Grouping, call: sl.CallCursor) -> sl.Pipeline | None:
    """The pipeline with a call for each group that reads it; None where one that is to have its own has two readers, or
    that is refused. The group with most readers keeps the call that is there."""
    i = next((i for i, each in enumerate(found.calls) if p.same(each.call, call)), None)
    reading = [] if i is None else sorted(_Reading(found, groups).of(i), key=len)
    if not 2 <= len(reading) <= MOST_READERS or len(reading[-2]) > 1:
        return None
    try:
        for (reader,) in reading[:-1]:
            p = sl.clone_call(p, p.forward(call), p.forward(found.calls[reader].call))
    except sl.REFUSALS:
        return None
    return p
