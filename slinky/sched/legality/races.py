"""Whether the iterations of a parallel loop are independent of each other: none reads or writes what another one
writes, nor, of what is folded, what has the same place."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.effects import read_by, written_by
from slinky.ir.scopes import one_before_the_other, over_loops
from slinky.ir.statements import Call, For
from slinky.sched.legality.coverage import OwnIteration
from slinky.sched.legality.folds import have_own_places
from slinky.sched.legality.own_buffers import own_buffers
from slinky.sched.legality.touches import calls_inside, reads_of_call, touches
from slinky.sched.small_runs import race
from slinky.symbolic.expressions import Max, Min


def check_races(version: Version, loop_id: int, *, hint: str = "") -> None:
    """Check that the iterations of a loop, marked parallel, do not depend on each other or share what they write.

    Raises `SchedulingError` if that is not shown; `hint` says what helps where no remedy is accepted.
    """
    loop = version.statement(loop_id)
    assert isinstance(loop, For)
    place = statement_cursor(version, loop_id)
    inside = calls_inside(version, loop_id)
    depend = f"iterations of loop {loop.variable} depend on each other"
    readers = _by_buffer(inside, read_by)
    for buffer, writers in _by_buffer(inside, written_by).items():
        alloc = version.alloc_of(buffer, writers[0].id)
        if alloc is not None and loop_id in version.ancestors(alloc.id):
            continue
        if alloc is not None and not have_own_places(version, alloc, loop):
            raise SchedulingError(
                f"iterations of loop {loop.variable} share the folded buffer {buffer}",
                place=place,
                remedies=functools.partial(own_buffers, version, loop, buffer),
            )
        _check_disjoint_writes(version, loop, buffer, writers, hint)
        for call in readers.get(buffer, ()):
            for name, touch in reads_of_call(version, call):
                if name == buffer and not OwnIteration(version, buffer, alloc, call.id, loop).covers(
                    touch.region, touch.known
                ):
                    raise _shared(
                        version,
                        loop,
                        buffer,
                        f"{depend}: one reads of {buffer} what another writes",
                        f"{depend}: {call.func.name} is not shown to find all that it reads of {buffer} written in its "
                        f"own iteration",
                        hint,
                    )


def _by_buffer(calls: Sequence[Call], touched_by: Callable[[Call], tuple[str, ...]]) -> dict[str, list[Call]]:
    """Which of some calls touch each buffer. Loops have many calls, most of which touch buffers of their own."""
    found: dict[str, list[Call]] = {}
    for call in calls:
        for buffer in dict.fromkeys(touched_by(call)):
            found.setdefault(buffer, []).append(call)
    return found


def _shared(
    version: Version, loop: For, buffer: str, decided: str, undecided: str, hint: str | Callable[[], str]
) -> SchedulingError:
    """The refusal of iterations that need the same elements of a buffer, in words for where that is certain."""
    found = functools.cache(lambda: race(version.program, buffer, loop.id))
    return SchedulingError(
        lambda: decided if found() else undecided,
        place=statement_cursor(version, loop.id),
        example=lambda: str(found() or ""),
        hint=hint,
        remedies=lambda: own_buffers(version, loop, buffer),
    )


def _why_written_twice(version: Version, loop: For, buffer: str) -> str:
    """Words where no remedy is known: an output cannot be stored in the loop."""
    writers = [c for c in calls_inside(version, loop.id) if buffer in written_by(c)]
    if version.global_box(buffer) is None or not any(isinstance(i.min, (Min, Max)) for c in writers for i in c.box):
        return ""
    return "a tail that shifts writes some elements twice: split with another tail"


def _check_disjoint_writes(version: Version, loop: For, buffer: str, writers: list[Call], hint: str) -> None:
    touched = touches(version, buffer, (call.id for call in writers), writing=True)
    rank = len(touched[0].region)
    for d in range(rank):
        intervals = []
        for touch in touched:
            around = list(reversed(version.loops_around(touch.call.id)))
            inner = around[: next(n for n, other in enumerate(around) if other.id == loop.id)]
            intervals.append(over_loops(touch.region[d], inner, touch.known))
        if one_before_the_other(intervals, loop, version.facts_at(loop.id)):
            return
    raise _shared(
        version,
        loop,
        buffer,
        f"iterations of loop {loop.variable} write the same elements of {buffer}",
        f"iterations of loop {loop.variable} are not shown to write different parts of {buffer}",
        hint or functools.partial(_why_written_twice, version, loop, buffer),
    )
