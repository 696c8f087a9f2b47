"""Schedules that nobody has to write: found by a model, made of public primitives, explained call by call.

`auto_schedule` asks the program how its calls move with each other (`relations`), lets a model decide which are
computed together and in strips of which height (`grouping`), and has that said in primitives (`group_loops`), and why
(`explaining`). A step that is refused leaves its func where it was, so an answer always comes; the gate has proved each
step that was taken, so it is a right one. Where memory is bounded, it aims at less and less of it, until a schedule
keeps the bound.

Invariant: the same program, sizes and machine give the same schedule in every process, and `p.history()` says it in
primitives.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import attrs

import slinky as sl
from slinky.errors import cited
from slinky.ir.given import is_flag
from slinky.runtime.collector import collector_paused
from slinky.runtime.estimates import estimate_for
from slinky.sched.choices import ABOUT_AS_GOOD, Aims
from slinky.sched.explaining import Decision, Explanation, ProgramBytes, explained
from slinky.sched.group_loops import in_loops
from slinky.sched.machines import Machine, this_machine_for
from slinky.sched.options import require_options
from slinky.sched.recomputing import Recomputed, recomputed
from slinky.sched.relations import Relations, relations_for


class AutoScheduleCursors(sl.ReturnedCursors):
    """Returned by `auto_schedule`."""

    loops: tuple[sl.LoopCursor, ...]


def auto_schedule(
    p: sl.Pipeline,
    /,
    *arrays: object,
    max_bytes: int | None = None,
    workers: int | None = None,
    machine: Machine | None = None,
    backend: str = "python",
    rc: bool = False,
    **scalars: Any,
) -> Any:
    """Schedule a pipeline for arrays like these: which funcs are computed together, in strips of which height.

    Takes what `p.memory` takes: arrays, or their shapes, and scalars by name; outputs may be omitted. What comes back
    is an ordinary pipeline, for arrays of any size, though made for these: print it, explain it (`sl.explain`), look at
    the steps (`p.history()`), go on from there. Calls inside of loops stay as they are, so parts can be scheduled by
    hand before.

    Parameters:
        max_bytes: what its intermediates may take at most in a run on these arrays, as `p.memory` counts it.
        workers: how many threads it is made for; as many as the machine has cores without it.
        machine: the machine it is made for; the one that this process runs on without it (`sl.this_machine()`).
        backend: which back end it is to run by, as of `p.run`. What `"native"` makes loops of costs less there: a
            call of these next to nothing, an operation what C takes, so that strips get as low as the caches like.

    Returns:
        The new pipeline. With `rc=True` also an AutoScheduleCursors, of:
            loops: the loops over strips, one for each group of funcs, in program order.

    Raises `ArgumentError` as a run would, `OperationError` for options that make no sense, and `SchedulingError` that
    names the funcs that take most where no schedule is found that keeps `max_bytes`.
    """
    if not isinstance(p, sl.Pipeline):
        raise sl.OperationError(f"auto_schedule: the first argument must be a Pipeline, got {type(p).__name__}")
    require_options(max_bytes, workers, machine, backend)
    if not is_flag(rc):
        raise sl.OperationError(f"auto_schedule: rc must be True or False, got {cited(rc)}")
    machine = machine or this_machine_for(backend)
    aims = Aims(machine=machine, workers=machine.cores if workers is None else int(workers), backend=backend)
    with collector_paused():
        return _auto_schedule(p, arrays, scalars, max_bytes, aims, rc)


def _auto_schedule(
    p: sl.Pipeline,
    arrays: tuple[object, ...],
    scalars: dict[str, Any],
    max_bytes: int | None,
    aims: Aims,
    rc: bool,
) -> Any:
    """What `auto_schedule` returns, for options that make sense."""
    if type(p) is not sl.Pipeline:  # what is scheduled by itself would be so again, with nothing done
        p = sl.Pipeline(p._version)
    found = relations_for(aims.backend, p, arrays, scalars)
    before = ProgramBytes(partial(estimate_for, p.program, found.values, aims.workers))
    least: tuple[int, sl.Pipeline] | None = None
    for tried in _aims(aims, max_bytes):
        each, again = _grouped(p, found, tried)
        made = in_loops(p, found, again, each)
        scheduled = made.pipeline
        after = ProgramBytes(partial(estimate_for, scheduled.program, found.values, each.workers))
        if max_bytes is None or int(after) <= max_bytes:
            told = Explanation(
                each.machine,
                each.workers,
                made.seconds,
                again.unscheduled_seconds,
                after,
                before,
                made.decisions,
                backend=each.backend,
            )
            return (explained(scheduled, told), AutoScheduleCursors(made.loops)) if rc else explained(scheduled, told)
        least = min((int(after), scheduled), least or (int(after), scheduled), key=lambda pair: pair[0])
    assert least is not None
    assert max_bytes is not None
    for rows in _STRIPS:
        try:
            scheduled, told = in_strips(p, rows, 1, aims.machine, arrays, scalars)
        except sl.REFUSALS:
            continue
        if told.program_bytes <= max_bytes:
            loops = scheduled.find_all("for _")
            return (explained(scheduled, told), AutoScheduleCursors(loops)) if rc else explained(scheduled, told)
        least = min((told.program_bytes, scheduled), least, key=lambda pair: pair[0])
    raise _too_much(max_bytes, *least, arrays, scalars)


# ----------------------------------------------------------------------------------------------------------------
# What is asked for
# ----------------------------------------------------------------------------------------------------------------


_SHARES = (1.0, 1 / 3, 0.0)
"""The shares of what memory is worth that are tried, one after the other."""


def _aims(aims: Aims, max_bytes: int | None) -> Iterator[Aims]:
    """What to try in turn: the fastest; where memory is bounded, lower strips, and then as little as can be."""
    yield aims
    if max_bytes is not None:
        for share in (1.0, 0.5):
            yield attrs.evolve(aims, most_live=share * max_bytes)
        yield attrs.evolve(aims, most_live=max_bytes / 2, spare_memory=True)
        for live in (max_bytes / 2, 0.0):
            yield attrs.evolve(aims, workers=1, most_live=live, spare_memory=True)


def _grouped(p: sl.Pipeline, found: Relations, aims: Aims) -> tuple[Aims, Recomputed]:
    """Groups, and what they were made for: by the model, a run takes about as long as it does unscheduled at most.

    Memory is worth some time, and less of it where all groups together would take longer; but where it is bounded,
    nothing is asked for beside that.
    """
    for share in _SHARES:
        tried = attrs.evolve(aims, memory_share=share)
        again = recomputed(p, found, tried)
        if aims.is_bounded or again.groups.seconds <= ABOUT_AS_GOOD * again.unscheduled_seconds:
            break
    return tried, again


def _too_much(
    max_bytes: int, least: int, p: sl.Pipeline, arrays: tuple[object, ...], scalars: dict[str, Any]
) -> sl.SchedulingError:
    """The error where no schedule was found that takes so few bytes."""
    sizes = [(sl.footprint(p, alloc).of(*arrays, **scalars), alloc) for alloc in p.find_all("alloc _")]
    largest = sorted(sizes, key=lambda pair: -pair[0])[:5]
    named = ", ".join(f"{' and '.join(c.name() for c in sl.producers(p, a))} ({size} bytes)" for size, a in largest)
    return sl.SchedulingError(
        f"no schedule was found that takes at most {max_bytes} bytes: the least is {least}, most of it for {named}"
    )


# ----------------------------------------------------------------------------------------------------------------
# All in one loop
# ----------------------------------------------------------------------------------------------------------------

_STRIPS = (8, 4, 2, 1)
"""How many rows strips of the whole program have, where no group of calls keeps within the memory that is asked for."""


def in_strips(
    p: sl.Pipeline,
    rows: int,
    workers: int,
    machine: Machine,
    arrays: tuple[object, ...],
    scalars: dict[str, Any],
) -> tuple[sl.Pipeline, Explanation]:
    """The whole of a pipeline in strips of so many rows, and what there is to say of it: its time is not predicted.

    Raises `SchedulingError` where no call can be cut to strips.
    """
    found = sl.strips(p, rows, workers)
    if found is p:
        raise sl.SchedulingError("no call can be cut to strips")
    before, after = (q.estimate(*arrays, threads=workers, **scalars).program_bytes for q in (p, found))
    words = f"sl.strips(p, {rows}" + (f", {workers})" if workers > 1 else ")")
    decisions = tuple(_decision_of_strips(found, call, words) for call in found.find_all("_ = _"))
    return found, Explanation(machine, workers, math.nan, math.nan, after, before, decisions)


def _decision_of_strips(p: sl.Pipeline, call: sl.CallCursor, words: str) -> Decision:
    """Where a call is computed, and what is held of what it writes."""
    loops = sl.enclosing_loops(p, call)
    computed = f"in loop {loops[-1].name()}" if loops else "at once"
    allocs = [alloc for alloc in p.find_all("alloc _") if alloc.name() in call.outputs()]
    folds = [str(fold) for alloc in allocs for fold in alloc.storage() if fold is not None]
    own = [alloc for alloc in allocs if len(sl.enclosing_loops(p, alloc)) == len(loops) > 0]
    stored = f"a window of {folds[0]}" if folds else "a strip" if own else "in full"
    return Decision(call.name(), computed, stored, words)
