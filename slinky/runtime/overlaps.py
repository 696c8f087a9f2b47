"""Checked mode: do stages of a pipelined loop that may overlap touch the same place, and one of them writes it?

Idea. Which tasks (a stage of an iteration) are in no order, `ir.stages` says, whatever the order of this run. So each
access of a buffer is noted with its task, and compared with those of all tasks that are in no order with it. The place
of an element is that in memory: elements that share it through a fold are the same.

Invariant: of two accesses that race, the one that comes second in this run finds the other. What is `depth` iterations
behind the first task that may run is in order with all that follow, and is forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np

from slinky.ir.stages import Task, are_in_order
from slinky.runtime import forks

Places: TypeAlias = tuple[np.ndarray[Any, Any], ...]
"""The places along each dimension, whose product is what is touched."""


@attrs.frozen(eq=False)
class _Access:
    """What a task did to a buffer, and who did it."""

    task: Task
    buffer: object
    places: Places
    who: str
    writes: bool


@attrs.frozen
class Clash:
    """Two accesses of one place, by tasks that are in no order."""

    place: tuple[int, ...]
    """The element, counted from the first of those touched now."""
    other: str
    """The other access in words."""


@attrs.frozen(eq=False)
class StagedRun:
    """One run of a pipelined loop, from its first iteration to its last."""

    variable: str
    iterations: Sequence[int]
    depth: int
    _accesses: list[_Access] = attrs.field(factory=list)
    _lock: Any = attrs.field(factory=forks.lock)

    def note(self, task: Task, buffer: object, places: Places, who: str, *, writes: bool) -> Clash | None:
        """Note that a task touches places of a buffer; an access that clashes with that, if there is one."""
        with self._lock:
            self._accesses[:] = [a for a in self._accesses if a.task[1] > task[1] - 2 * self.depth]
            others = [a for a in self._accesses if a.buffer is buffer and (writes or a.writes)]
            self._accesses.append(_Access(task, buffer, places, who, writes))
        for access in others:
            if not are_in_order(access.task, task, self.depth):
                place = _meeting(places, access.places)
                if place is not None:
                    return Clash(place, self._text(access))
        return None

    def _text(self, access: _Access) -> str:
        stage, number = access.task
        verb = "writes" if access.writes else "reads"
        return f"{access.who} {verb} it in stage {stage + 1} at {self.variable} = {self.iterations[number]}"


def _meeting(these: Places, others: Places) -> tuple[int, ...] | None:
    """The first place that two products of places along each dimension have in common, by its number in these."""
    found = []
    for one, other in zip(these, others, strict=True):
        _, at, _ = np.intersect1d(one, other, return_indices=True)
        if not at.size:
            return None
        found.append(int(at.min()))
    return tuple(found)


Tasks: TypeAlias = tuple[tuple[StagedRun, Task], ...]
"""The runs of pipelined loops around a place, outermost first, each with the task that it is in."""
