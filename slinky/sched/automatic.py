"""Schedules that nobody has to write: found by a model, made of public primitives, explained call by call.

`auto_schedule` asks the program how its calls move with each other (`relations`), lets a model decide which are
computed together and in strips of which height (`grouping`), and then says so in primitives: it splits the last call of
each group, computes the others in the loop, slides and folds them. A step that is refused leaves its func where it was,
so an answer always comes; the gate has proved each step that was taken, so it is a right one.

Invariant: the same program, sizes and machine give the same schedule in every process, and `p.history()` says it in
primitives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import attrs
import numpy as np

import slinky as sl
from slinky.runtime.backends import require_backend
from slinky.runtime.collector import collector_paused
from slinky.runtime.estimates import Estimate, estimate_for
from slinky.sched.grouping import ABOUT_AS_GOOD, Aims, Choice, Group, Grouping, Why, grouping, seconds_text
from slinky.sched.library import with_own_results
from slinky.sched.machines import Machine, this_machine_for
from slinky.sched.recomputing import Recomputed, Related, recomputed
from slinky.sched.relations import Relations, relations_for
from slinky.sched.tracks import Last, Member


class AutoScheduleCursors(sl.ReturnedCursors):
    """Returned by `auto_schedule`."""

    loops: tuple[sl.LoopCursor, ...]


@attrs.frozen
class _Refused:
    """Why a step was not taken, put into words when somebody reads them: to look for an example takes longer than to
    refuse."""

    what: str
    refusal: Exception

    def __str__(self) -> str:
        return f"{self.what}: {str(getattr(self.refusal, 'reason', '') or self.refusal).splitlines()[0]}"

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


@attrs.frozen
class Decision:
    """What became of a call: where it is computed, what is held of its results, and why it is not otherwise."""

    func: str
    computed: str
    stored: str
    _reason: Why = attrs.field(eq=str, repr=str)

    @property
    def reason(self) -> str:
        """Why it is not otherwise."""
        return str(self._reason)


@attrs.frozen
class Candidate:
    """A schedule that `tune` tries, and how long each run took, in seconds.

    By how many workers, and what the model was told of calls and caches, as factors of what the machine has; or strips
    of so many `rows`, as `sl.strips` makes them; or the program as it was, which is not scheduled. `failed` is what a
    callback raised in it.
    """

    workers: int = 1
    call_factor: float = 1.0
    cache_factor: float = 1.0
    is_scheduled: bool = True
    rows: int | None = None
    seconds: tuple[float, ...] = ()
    failed: str = ""

    @property
    def median(self) -> float:
        """The median of its runs; of none, and of a schedule that failed, more than any."""
        return float(np.median(self.seconds)) if self.seconds and not self.failed else float("inf")

    def __str__(self) -> str:
        workers = "1 worker" if self.workers == 1 else f"{self.workers} workers"
        if not self.is_scheduled:
            told = "not scheduled"
        elif self.rows is not None:
            told = f"strips of {self.rows}, {workers}"
        else:
            told = f"calls x {self.call_factor:g}, caches x {self.cache_factor:g}, {workers}"
        if self.failed:
            return f"failed: {told}: {self.failed}"
        return f"{seconds_text(self.median)} in {len(self.seconds)} runs: {told}"


def _digits(count: _Bytes | int) -> str:
    return str(int(count))


class _Bytes:
    """What the intermediates of a program take in a run, counted when somebody asks: to count that takes a tenth of the
    time in which a schedule is found. It says then what it said before, and holds the program no more."""

    def __init__(self, p: sl.Pipeline, relations: Relations, workers: int) -> None:
        self._counts: Callable[[], Estimate] | None = partial(estimate_for, p.program, relations.values, workers)
        self._count = 0

    def __int__(self) -> int:
        if self._counts is not None:
            self._count, self._counts = self._counts().program_bytes, None
        return self._count

    def __reduce__(self) -> tuple[Any, ...]:
        return int, (int(self),)


@attrs.frozen
class Explanation:
    """How a schedule was found: the machine that it is for, what it takes by the model, and what became of each call.

    `seconds` and `unscheduled_seconds` are what the model says of the schedule and of the program as it was, not a
    number where `tune` took strips of which it says nothing;
    `program_bytes` and `unscheduled_bytes` are what their intermediates take. It prints as a table.
    """

    machine: Machine
    workers: int
    seconds: float
    unscheduled_seconds: float
    _program_bytes: _Bytes | int = attrs.field(eq=int, repr=_digits)
    _unscheduled_bytes: _Bytes | int = attrs.field(eq=int, repr=_digits)
    decisions: tuple[Decision, ...]
    measured: tuple[Candidate, ...] = ()
    """What `tune` has measured, the fastest first."""
    backend: str = "python"
    """The back end that it is for."""

    @property
    def program_bytes(self) -> int:
        """What the intermediates of the schedule take."""
        return int(self._program_bytes)

    @property
    def unscheduled_bytes(self) -> int:
        """What those of the program as it was take."""
        return int(self._unscheduled_bytes)

    def __str__(self) -> str:
        workers = "1 worker" if self.workers == 1 else f"{self.workers} workers"
        workers += "" if self.backend == "python" else f", back end {self.backend}"
        predicted, unscheduled = (
            "" if math.isnan(seconds) else f"{seconds_text(seconds)} and "
            for seconds in (self.seconds, self.unscheduled_seconds)
        )
        head = (
            f"predicted for {workers}: {predicted}{self.program_bytes} bytes of intermediates; "
            f"not scheduled {unscheduled}{self.unscheduled_bytes} bytes"
        )
        rows = [
            ("func", "computed", "stored", "because"),
            *((d.func, d.computed, d.stored, d.reason) for d in self.decisions),
        ]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        lines = ["  ".join([*(row[k].ljust(widths[k]) for k in range(3)), row[3]]).rstrip() for row in rows]
        return "\n".join([head, *lines, *map(str, self.measured)])


_EXPLANATIONS: WeakKeyDictionary[sl.Pipeline, Explanation] = WeakKeyDictionary()


def explained(p: sl.Pipeline, explanation: Explanation) -> sl.Pipeline:
    """The pipeline, of which `explain` says that from now on."""
    _EXPLANATIONS[p] = explanation
    return p


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
    machine = machine or this_machine_for(backend)
    aims = Aims(machine=machine, workers=machine.cores if workers is None else workers, backend=backend)
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
    found = relations_for(aims.backend, p, arrays, scalars)
    before = _Bytes(p, found, aims.workers)
    least: tuple[int, sl.Pipeline] | None = None
    for tried in _aims(aims, max_bytes):
        each, again = _grouped(p, found, tried, lambda new: relations_for(aims.backend, new, arrays, scalars))
        writer, scheduled, loops = _settled(p, found, again, each)
        after = _Bytes(scheduled, found, each.workers)
        if max_bytes is None or int(after) <= max_bytes:
            explained(scheduled, writer.explanation(each, before, after, again.unscheduled_seconds))
            return (scheduled, AutoScheduleCursors(loops)) if rc else scheduled
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


def explain(p: sl.Pipeline) -> Explanation:
    """Why a schedule of `auto_schedule` is as it is: for each func where it is computed, what is held, and the reason.

    Of the pipeline that `auto_schedule` returned, in the process that made it. Raises `OperationError` for any other.
    """
    if not isinstance(p, sl.Pipeline):
        raise sl.OperationError(f"explain: expected a Pipeline, got {type(p).__name__}")
    found = _EXPLANATIONS.get(p)
    if found is None and hasattr(p, "scheduled_for"):
        raise sl.OperationError(
            f"explain: {p!r} has a schedule for each range of sizes; sl.explain(p.scheduled_for(*arrays)) explains the "
            "one for arrays like these, or of these shapes"
        )
    if found is None:
        raise sl.OperationError(
            f"explain: {p!r} is not what auto_schedule returned in this process; p.history() has the steps that made it"
        )
    return found


# ----------------------------------------------------------------------------------------------------------------
# What is asked for
# ----------------------------------------------------------------------------------------------------------------


def require_options(max_bytes: object, workers: object, machine: object, backend: object) -> None:
    """Raise `OperationError` for options that make no sense, and `ArgumentError` for a back end that is not there."""
    for name, value, least in (("max_bytes", max_bytes, 0), ("workers", workers, 1)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise sl.OperationError(f"auto_schedule: {name} must be an integer of at least {least}, got {value!r}")
    if machine is not None and not isinstance(machine, Machine):
        raise sl.OperationError(f"auto_schedule: machine must be a Machine, got {machine!r}")
    if not isinstance(backend, str):
        raise sl.OperationError(f"auto_schedule: backend must be the name of a back end, got {backend!r}")
    require_backend(backend)


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


def _grouped(p: sl.Pipeline, found: Relations, aims: Aims, related: Related) -> tuple[Aims, Recomputed]:
    """Groups, and what they were made for: by the model, a run takes about as long as it does unscheduled at most.

    Memory is worth some time, and less of it where all groups together would take longer; but where it is bounded,
    nothing is asked for beside that.
    """
    for share in _SHARES:
        tried = attrs.evolve(aims, memory_share=share)
        again = recomputed(p, found, tried, related)
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


# ----------------------------------------------------------------------------------------------------------------
# Groups as primitives
# ----------------------------------------------------------------------------------------------------------------


_MOST_CUT = 8
"""Groups of more calls are not cut into first, middle and last strips: a copy is little of what they do, and all of it
would be there three times."""

_ROUNDS = 4
"""How often calls are grouped again, without what was refused."""


def _settled(
    p: sl.Pipeline, relations: Relations, found: Recomputed, aims: Aims
) -> tuple[_Writer, sl.Pipeline, tuple[sl.LoopCursor, ...]]:
    """Groups in primitives that take about as long as the program unscheduled at most, whatever primitives refuse: else
    nothing is made once more; or calls are left apart. Where memory is bounded, nothing is asked for beside that."""
    made = _written(found, aims)
    most = ABOUT_AS_GOOD * found.unscheduled_seconds
    if aims.is_bounded or made[0].grouping.seconds <= most:
        return made
    if found.pipeline is not p:
        made = _written(attrs.evolve(found, pipeline=p, relations=relations, groups=grouping(relations, aims)), aims)
        if made[0].grouping.seconds <= most:
            return made
    why = "what primitives allow would take longer than the program as it was"
    apart = grouping(relations, aims, dict.fromkeys(range(len(relations.calls)), why))
    return _written(attrs.evolve(found, pipeline=p, relations=relations, groups=apart), aims)


def _written(found: Recomputed, aims: Aims) -> tuple[_Writer, sl.Pipeline, tuple[sl.LoopCursor, ...]]:
    """Groups in primitives: the writer, the pipeline and its loops.

    A call that was refused takes all that it reads out of the loop with it. So the calls are grouped again, that one
    apart from those that read it.
    """
    apart: dict[int, Why] = {}
    for _ in range(_ROUNDS):
        groups = grouping(found.relations, aims, apart) if apart else found.groups
        writer = _Writer(found.pipeline, found.relations, groups)
        scheduled, loops = writer.written()
        if not writer.kept_out:
            break
        apart.update(writer.kept_out)
    return writer, scheduled, loops


class _Writer:
    """Says in primitives what a grouping has decided."""

    def __init__(self, p: sl.Pipeline, relations: Relations, grouping: Grouping) -> None:
        self.p = p
        self.relations = relations
        self.grouping = grouping
        self.loops: list[sl.LoopCursor] = []
        self.decisions: dict[int, Decision] = {}
        self.saved = {i: merge.saves for merge in grouping.merges for i in merge.producers}
        self.refused = {refused.producer: refused.reason for refused in grouping.refused}
        self.kept_out: dict[int, Why] = {}
        """The calls that a primitive keeps out of their groups, and why: those alone that no other one takes along."""

    def written(self) -> tuple[sl.Pipeline, tuple[sl.LoopCursor, ...]]:
        """The pipeline with all groups in loops, and the loops."""
        for group in self.grouping.groups:
            for i in group.calls:
                self._decide(i, "at once", "in full", self.refused.get(i, ""))
            if not group.choice.is_whole:
                self._in_loop(group)
        return self.p, tuple(self.p.forward(loop) for loop in self.loops)

    def explanation(self, aims: Aims, before: _Bytes, after: _Bytes, unscheduled: float) -> Explanation:
        """What was decided, call by call in program order."""
        seconds = self.grouping.seconds
        decisions = tuple(self.decisions[i] for i in sorted(self.decisions))
        return Explanation(
            aims.machine, aims.workers, seconds, unscheduled, after, before, decisions, backend=aims.backend
        )

    def _decide(self, i: int, computed: str, stored: str, reason: Why) -> None:
        self.decisions[i] = Decision(self.relations.calls[i].call.name(), computed, stored, reason)

    def _in_loop(self, group: Group) -> None:
        """A group in its loop. Copies of arguments that go on beyond their ends are made in its first and last strips
        alone, if all can be: the others read the arguments."""
        before, loops, kept_out = self.p, len(self.loops), dict(self.kept_out)
        copies = self._group(group, directly=len(group.calls) <= _MOST_CUT)
        try:
            self.p = _without_copies(self.p, copies)
        except sl.REFUSALS:
            self.p, self.kept_out = before, kept_out
            del self.loops[loops:]
            self._group(group, directly=False)

    def _group(self, group: Group, directly: bool) -> list[sl.CallCursor]:
        """One loop over strips of the last calls, or tasks with a loop each, and the other calls in it. What comes back
        are copies of arguments which strips in the middle can do without; none, if not `directly`."""
        choice, track = group.choice, group.choice.track
        assert track is not None
        before = self.p
        copies: list[sl.CallCursor] = []
        try:
            loop = self._loop(track.lasts, choice.height)
            tasks, loop = self._tasks(loop, choice)
        except sl.REFUSALS as refusal:
            self.p, why = before, _why("refused", refusal)
            for last in track.lasts:
                self._decide(last.index, "at once", "in full", why)
            if len(track.lasts) > 1:
                joining = [i for i in group.members if len(self._readers(i, group.calls)) > 1]
                self.kept_out.update((i, why) for i in joining)
            return copies
        self.loops.append(loop)
        self.p = with_own_results(self.p, loop)
        for last in track.lasts:
            self._decide(last.index, _place(choice), "in full", self.refused.get(last.index, ""))
        outside: set[int] = set()
        folded: list[tuple[sl.AllocCursor, int]] = []
        pieces = None if choice.nest is None else self._pieces(choice, track.lasts)
        for member in track.members:
            if self._readers(member.index, outside):
                self._decide(member.index, "at once", "in full", "what reads it is not in the loop")
                outside.add(member.index)
                continue
            found = None if pieces is None else self._in_pieces(member, choice, pieces)
            related = self.relations.calls[member.index]
            is_direct = directly and related.edge == member.position and tasks is not loop and pieces is None
            if found is None:
                found = self._member(member, choice, loop, tasks, is_direct)
            if pieces is None and choice.nest is not None:
                pieces = self._pieces(choice, (member,))
            if found is None:
                outside.add(member.index)
            else:
                folded += found
                copies += [related.call] * is_direct
        for alloc, axis in folded:
            self.p = _attempted(sl.fold_storage, self.p, alloc, axis)
        if tasks is not None:
            self.p = _attempted(sl.parallelize_loop, self.p, tasks)
        return copies

    def _pieces(self, choice: Choice, among: Iterable[Last | Member]) -> sl.LoopCursor | None:
        """The loop over pieces of the reduction in the strips of a group, if it is among some calls; None where that is
        refused."""
        nest = choice.nest
        if nest is None or all(each.index != nest.index for each in among):
            return None
        call = self.relations.calls[nest.index].call
        try:
            self.p, pieces = sl.split_reduction(self.p, call, nest.strips.dim, choice.piece, rc=True)
        except sl.REFUSALS:
            return None
        loop: sl.LoopCursor = pieces.loop
        return loop

    def _in_pieces(
        self, member: Member, choice: Choice, pieces: sl.LoopCursor
    ) -> list[tuple[sl.AllocCursor, int]] | None:
        """Compute a producer for each piece of a reduction, and nothing of it is to be folded; None if it is not
        computed for that alone, or that is refused."""
        nest = choice.nest
        if nest is None or member.index not in nest.calls:
            return None
        try:
            p, computed = sl.compute_at(self.p, self.relations.calls[member.index].call, pieces, rc=True)
        except sl.REFUSALS:
            return None
        self.p = _stored(p, computed.allocs, pieces)
        words = f"{_place(choice)}, {choice.piece} of {nest.strips.extent} along {nest.strips.dim}"
        self._decide(member.index, words, "a piece", f"saves {seconds_text(self.saved.get(member.index, 0.0))}")
        return []

    def _loop(self, lasts: tuple[Last, ...], height: int) -> sl.LoopCursor:
        """A loop over strips of all of some calls. Raises what refuses it."""
        found: sl.LoopCursor | None = None
        for last in lasts:
            call = self.relations.calls[last.index].call
            own: sl.LoopCursor
            if last.strips.is_reduced:
                self.p, pieces = sl.split_reduction(self.p, call, last.strips.dim, height, rc=True)
                own = pieces.loop
            else:
                dim = self.p.forward(call).dim(last.strips.position or 0)
                self.p, split = sl.split_loop(self.p, dim, height, rc=True)
                own = split.outer
            if found is not None:
                self.p = sl.reorder_before(self.p, found, own)
                self.p, fused = sl.fuse_loops(self.p, found, own, rc=True)
                own = fused.loop
            found = own
        assert found is not None
        return found

    def _tasks(self, loop: sl.LoopCursor, choice: Choice) -> tuple[sl.LoopCursor | None, sl.LoopCursor]:
        """The loop over tasks, if there are several, and the loop over strips in it; they may be the same."""
        strips = choice.rows // choice.height
        if choice.tasks == 1 or strips <= 1:
            return (None if choice.tasks == 1 else loop), loop
        self.p, split = sl.split_loop(self.p, loop, strips, rc=True)
        assert isinstance(split.inner, sl.LoopCursor)
        return split.outer, split.inner

    def _readers(self, i: int, among: Iterable[int]) -> list[int]:
        """Which of some calls read what a call writes."""
        calls = self.relations.calls
        written = {w.buffer for w in calls[i].writes}
        return [k for k in among if any(buffer in written for buffer, _ in calls[k].reads)]

    def _member(
        self, member: Member, choice: Choice, loop: sl.LoopCursor, tasks: sl.LoopCursor | None, is_direct: bool
    ) -> list[tuple[sl.AllocCursor, int]] | None:
        """Compute a producer in the loop; what comes back are the buffers to fold, and along which dimension. None if
        that is refused. One that `is_direct` will be done without where it can."""
        related = self.relations.calls[member.index]
        try:
            p, computed = sl.compute_at(self.p, related.call, loop, rc=True)
        except sl.REFUSALS as refusal:
            self.kept_out[member.index] = _why("refused", refusal)
            self._decide(member.index, "at once", "in full", self.kept_out[member.index])
            return None
        reason: Why = f"saves {seconds_text(self.saved.get(member.index, 0.0))}"
        if is_direct:
            self.p = _stored(p, computed.allocs, loop)
            self._decide(member.index, f"{_place(choice)}, at the ends", "a strip", "the others read its argument")
            return []
        if member.keeps:
            try:
                self.p = sl.slide_window(_stored(p, computed.allocs, tasks), computed.call, loop)
            except sl.REFUSALS as refusal:
                reason = _why("computed again where strips overlap", refusal)
            else:
                self._decide(member.index, _place(choice), f"a window of {member.rows(choice.height)}", reason)
                axes = {w.buffer: w.dims.index(member.position) for w in related.writes if member.position in w.dims}
                return [(alloc, axes[alloc.name()]) for alloc in computed.allocs if alloc.name() in axes]
        self.p = _stored(p, computed.allocs, loop)
        self._decide(member.index, _place(choice), "a strip", reason)
        return []


def _without_copies(p: sl.Pipeline, copies: Iterable[sl.CallCursor]) -> sl.Pipeline:
    """The pipeline with copies of arguments made in first and last iterations alone. Raises what refuses that."""
    steady: sl.LoopCursor | None = None
    for copy in copies:
        each = copy
        if steady is not None:  # the loop that was cut has the copy thrice, and there may be others elsewhere
            among = (call for call in p.find_all("_ = _") if call.name() == copy.name())
            found = next((call for call in among if sl.enclosing_loops(p, call)[-1:] == (steady,)), None)
            if found is None:
                raise sl.SchedulingError(f"{copy.name()} is not in the loop that was cut")
            each = found
        p, split = sl.split_boundary(p, each, rc=True)
        steady = sl.enclosing_loops(p, split.calls[0])[-1]
    return p


def _stored(p: sl.Pipeline, allocs: Iterable[sl.AllocCursor], loop: sl.LoopCursor | None) -> sl.Pipeline:
    """Buffers of each iteration's own, where that is not refused; as they were for no loop."""
    for alloc in allocs if loop is not None else ():
        p = _attempted(sl.store_at, p, alloc, loop)
    return p


def _attempted(operation: Callable[..., sl.Pipeline], p: sl.Pipeline, *args: object) -> sl.Pipeline:
    """The pipeline after an operation, or as it was if that is refused."""
    try:
        return operation(p, *args)
    except sl.REFUSALS:
        return p


def _place(choice: Choice) -> str:
    """Where the calls of a group are computed."""
    assert choice.track is not None
    strips = choice.track.strips
    tasks = f" in {choice.tasks} tasks" if choice.tasks > 1 else ""
    return f"{choice.height} of {strips.extent} along {strips.dim}{tasks}"


def _why(what: str, refusal: Exception) -> Why:
    """What to say of a refusal, which is kept without the frames that it came through, and those it came in."""
    refusal.__context__ = refusal.__cause__ = None
    return _Refused(what, refusal.with_traceback(None))
