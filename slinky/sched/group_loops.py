"""Groups of calls as loops: says in primitives which calls `grouping` has put together, and in strips of which height.

Idea. The last calls of a group are split into a loop over strips, and what they read is computed in it, from consumers
to producers; it slides, is stored and folded there. A call that a primitive refuses stays where it was, and takes all
that it reads out of the loop with it: so the calls are grouped again, that one apart from those that read it.

Invariant: all is done by public operations, so the gate has proved each step, and of each call it is noted what became
of it. Where memory is not bounded, what comes of it takes about as long as the program unscheduled at most, by the
model. What to aim at, others decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

import slinky as sl
from slinky.sched.choices import ABOUT_AS_GOOD, Aims, Choice
from slinky.sched.explaining import Decision, Why, seconds_text, why_refused
from slinky.sched.grouping import Group, Grouping, grouping
from slinky.sched.library import with_own_results
from slinky.sched.recomputing import Recomputed
from slinky.sched.relations import Relations, is_read_by
from slinky.sched.tracks import Last, Member

_MOST_CUT = 8
"""Groups of more calls are not cut into first, middle and last strips: a copy is little of what they do, and all of it
would be there three times."""

_ROUNDS = 4
"""How often calls are grouped again, without what was refused."""


@attrs.frozen
class Scheduled:
    """A pipeline with its groups in loops, what that takes by the model, and what became of each call, in program
    order."""

    pipeline: sl.Pipeline
    loops: tuple[sl.LoopCursor, ...]
    seconds: float
    decisions: tuple[Decision, ...]


def in_loops(p: sl.Pipeline, relations: Relations, found: Recomputed, aims: Aims) -> Scheduled:
    """Groups in primitives that take about as long as the program unscheduled at most, whatever primitives refuse: else
    nothing is made once more; or calls are left apart. Where memory is bounded, nothing is asked for beside that."""
    made = _written(found, aims)
    most = ABOUT_AS_GOOD * found.unscheduled_seconds
    if aims.is_bounded or made.seconds <= most:
        return made
    if found.pipeline is not p:
        made = _written(attrs.evolve(found, pipeline=p, relations=relations, groups=grouping(relations, aims)), aims)
        if made.seconds <= most:
            return made
    why = "what primitives allow would take longer than the program as it was"
    apart = grouping(relations, aims, dict.fromkeys(range(len(relations.calls)), why))
    return _written(attrs.evolve(found, pipeline=p, relations=relations, groups=apart), aims)


def _written(found: Recomputed, aims: Aims) -> Scheduled:
    """Groups in primitives.

    A call that was refused takes all that it reads out of the loop with it. So the calls are grouped again, that one
    apart from those that read it.
    """
    apart: dict[int, Why] = {}
    for _ in range(_ROUNDS):
        groups = grouping(found.relations, aims, apart) if apart else found.groups
        writer = _Writer(found.pipeline, found.relations, groups)
        scheduled = writer.written()
        if not writer.kept_out:
            break
        apart.update(writer.kept_out)
    return scheduled


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

    def written(self) -> Scheduled:
        """The pipeline with all groups in loops, and what was decided."""
        for group in self.grouping.groups:
            for i in group.calls:
                self._decide(i, "at once", "in full", self.refused.get(i, ""))
            if not group.choice.is_whole:
                self._in_loop(group)
        loops = tuple(self.p.forward(loop) for loop in self.loops)
        decisions = tuple(self.decisions[i] for i in sorted(self.decisions))
        return Scheduled(self.p, loops, self.grouping.seconds, decisions)

    def _decide(self, i: int, computed: str, stored: str, reason: Why) -> None:
        self.decisions[i] = Decision(self.relations.calls[i].call.name(), computed, stored, reason)

    def _in_loop(self, group: Group) -> None:
        """A group in its loop. Copies of arguments that go on beyond their ends are made in its first and last strips
        alone, and at the ends of others, if all can be: the rest reads the arguments."""
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
            self.p, why = before, why_refused("refused", refusal)
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
            is_direct = directly and tasks is not loop and pieces is None and self._may_be_direct(member, group)
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

    def _may_be_direct(self, member: Member, group: Group) -> bool:
        """Whether a member of a group copies an argument for its ends alone. Where these are ends of strips, two more
        calls are made in each: that is little for loops of the back end's own, and much for Python."""
        calls = self.relations.calls
        edges = calls[member.index].edges
        are_cut = edges != {member.position}
        return bool(edges) and (not are_cut or all(calls[i].in_loops for i in self._readers(member.index, group.calls)))

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
        return [k for k in among if any(is_read_by(calls[i], buffer, calls[k]) for buffer in written)]

    def _member(
        self, member: Member, choice: Choice, loop: sl.LoopCursor, tasks: sl.LoopCursor | None, is_direct: bool
    ) -> list[tuple[sl.AllocCursor, int]] | None:
        """Compute a producer in the loop; what comes back are the buffers to fold, and along which dimension. None if
        that is refused. One that `is_direct` will be done without where it can."""
        related = self.relations.calls[member.index]
        try:
            p, computed = sl.compute_at(self.p, related.call, loop, rc=True)
        except sl.REFUSALS as refusal:
            self.kept_out[member.index] = why_refused("refused", refusal)
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
                reason = why_refused("computed again where strips overlap", refusal)
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
