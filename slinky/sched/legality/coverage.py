"""Coverage: is a region surely written before somebody reads it?

How coverage is shown. A call writes its box, within the bounds of its outputs (W). What boxes that move with a loop
have covered in the end, `sweeps` says, and whether several boxes contain a region, `cutting`. A call inside a loop
finds what stands before it in the body, and what all earlier iterations wrote; the first iteration, which has none
before it, is a case of its own. So is either side of an if that stands before it, and whether a loop before it runs at
all.

Invariant: `Coverage.covers` says yes only where every element of the region has been written, in every run that meets
the facts, by the calls that write the buffer since it was allocated.
"""

from __future__ import annotations

import itertools

import attrs

from slinky.cursors.versions import ROOT, Version
from slinky.ir.effects import Touching, dims_written, of_buffer, writes
from slinky.ir.statements import Alloc, Call, For, If, is_in_order
from slinky.sched.legality.containing import plainly_contains, told_to_contain
from slinky.sched.legality.cutting import contain_by_comparing, contain_simplified, contain_together
from slinky.sched.legality.sweeps import Sweep, furthest_end, narrowed_to, swept_before
from slinky.sched.legality.touches import Touch, running_box
from slinky.symbolic.comparing import plainly_at_most
from slinky.symbolic.expressions import (
    FALSE,
    Condition,
    Expr,
    Max,
    Min,
    Variable,
    all_of,
    equal,
    maximum,
    minimum,
    negate,
    variable,
)
from slinky.symbolic.intervals import Box, moves_with, not_empty, substitute_box, substitute_interval
from slinky.symbolic.patience import note_work
from slinky.symbolic.proofs import NO_FACTS, Facts, impossible, prove
from slinky.symbolic.traversal import substitute, symbols


@attrs.frozen
class _Contribution:
    """Elements that are surely written: by which call, and in which loops around it all iterations are over.

    `around` are the loops between the reader's surroundings and the call, and of the ifs there the conditions under
    which they come to the call, innermost first. `prior` is the loop around both whose earlier iterations are meant, or
    None for the iteration at hand.
    """

    call: Call
    around: tuple[For | Condition, ...]
    prior: For | None


_MOST_CASES = 128
"""So many cases of the first and of later iterations are told apart at most: each loop doubles them."""

_MOST_UNDECIDED = 2
"""Of how many statements before a reader to try both that they run and that they do not: each doubles the work."""

_COEFFICIENTS_PER_CASE = 2000
"""What a case takes beside its searches: as long as so many coefficients of inequalities that are looked at."""


class Coverage:
    """What is written of one buffer before a reader runs; the end of the program if the reader is None."""

    def __init__(self, version: Version, buffer: str, alloc: Alloc | None, reader: int | None) -> None:
        self.version = version
        self.buffer = buffer
        self.serial = 0
        self.cases = 0
        """How many cases were looked at, of the region at hand."""
        self.before: dict[tuple[int, int], Box | None] = {}
        """What calls have surely written in earlier iterations of loops, by identity, as far as it was asked for."""
        home = version.entries[alloc.id].parent if alloc is not None else ROOT
        path = version.path(reader) if reader is not None else []
        shared = [i for i in path if i in self._below(home, path)]
        self.straight: list[_Contribution] = []
        self.prior: dict[int, list[_Contribution]] = {}
        self.loops: list[For] = []
        for identity in version.writers(buffer):
            if alloc is None or version.alloc_of(buffer, identity) is alloc:
                self._add_writer(identity, path, shared)

    @staticmethod
    def _below(home: int, path: list[int]) -> list[int]:
        """The part of a path that lies inside the block where the buffer was allocated."""
        return path if home == ROOT else path[path.index(home) + 1 :]

    def _add_writer(self, identity: int, path: list[int], shared: list[int]) -> None:
        version = self.version
        own = version.path(identity)
        common = 0
        while common < min(len(path), len(own)) - 1 and path[common] == own[common]:
            common += 1
        call = version.statement(identity)
        assert isinstance(call, Touching)
        inside = [self._loop_or_condition(outer, inner) for outer, inner in itertools.pairwise(own)]
        around = tuple(reversed(inside[common:]))
        if not path:
            self.straight.append(_Contribution(call, around, None))
            return
        # A call that reads what it wrote one step before stands before itself in earlier iterations alone.
        here, there = version.entries[path[common]], version.entries[own[common]]
        if here.field == there.field and version.position(own[common]) < version.position(path[common]):
            self.straight.append(_Contribution(call, around, None))
        for depth in range(common):
            loop = inside[depth]
            # What other iterations of a parallel loop wrote does not count. Such a read is also refused as a race.
            if path[depth] in shared and isinstance(loop, For) and is_in_order(loop):
                between = tuple(reversed(inside[depth + 1 :]))
                self.prior.setdefault(loop.id, []).append(_Contribution(call, between, loop))
                if loop not in self.loops:
                    self.loops.append(loop)

    def _loop_or_condition(self, outer: int, inner: int) -> For | Condition:
        """A loop, or the condition under which an if comes to a statement in it."""
        statement = self.version.statement(outer)
        if isinstance(statement, If):
            in_body = self.version.entries[inner].field == "body"
            return statement.condition if in_body else negate(statement.condition)
        assert isinstance(statement, For)
        return statement

    def covers(self, region: Box, known: Facts) -> bool:
        """Whether a region is shown to be written."""
        self.loops.sort(key=lambda loop: len(self.version.ancestors(loop.id)))
        undecided = [c for c in self._running() if not prove(c, known)]
        self.cases = 0
        answer = self._covers_whether_or_not(region, known, undecided[:_MOST_UNDECIDED])
        note_work(self.cases * _COEFFICIENTS_PER_CASE)
        return answer

    def covers_at_a_glance(self, touch: Touch) -> bool:
        """Whether one call before the reader, in no loop that is not around both, covers what that reads, as constants
        or single facts tell: in the iteration at hand, or with all earlier ones of the loop right around the call.

        What is computed in full does, before all loops or for each iteration, and so does a window that slides. Nothing
        is asked of what else is written, nor of earlier iterations of other loops.
        """
        region = touch.region
        for contribution in self.straight:
            if contribution.around:
                continue
            written = self._written(contribution, NO_FACTS)
            if written is not None and plainly_contains(written, region, range(len(region))):
                return True
            for loop in self.loops:
                if self._slides_over(contribution.call, loop, region):
                    return True
            # Last, for it takes a while to put together what is known where the reader runs.
            if written is not None and told_to_contain(written, region, touch.known):
                return True
        return False

    def _slides_over(self, call: Call, loop: For, region: Box) -> bool:
        """Whether a call right in a loop has written a region, some of it in this iteration, the rest in earlier ones.

        Along the dimension that moves, let `w(v)` be what it writes in iteration v, and `e(v)` what it wrote before:
        from `w(f).min` on, in the first iteration f, to the end of `w(v - s)` without a gap. The region ends where w
        does, or before, and begins where e does, or behind, by what does not move: so w covers it in iteration f.
        Later, what lies in it before w is in e: each operand of the start of w is at most the region's, which leaves
        nothing, or follows the end of e, but for limits of e that the region keeps to. It keeps to those, too, that its
        end keeps to in the last iteration, if it only moves forward.
        """
        if not any(each.call is call and not each.around for each in self.prior[loop.id]):
            return False
        before = self._written_before(call, loop)
        if before is None:
            return False
        (effect,) = of_buffer(writes(call, running_box(self.version, call)), self.buffer)
        v, box = loop.variable, effect.box
        d = next(d for d, i in enumerate(box) if moves_with(i, v))
        now, needed, earlier = box[d], region[d], before[d]
        furthest = needed.max
        if not plainly_at_most(furthest, now.max):
            furthest = furthest_end(needed.max, loop)
            if not plainly_at_most(furthest, now.max):
                return False
        still = [e for e in (needed.min.operands if type(needed.min) is Max else (needed.min,)) if v not in symbols(e)]
        if not still or not plainly_at_most(earlier.min, maximum(*still)):
            return False
        ends = earlier.max.operands if type(earlier.max) is Min else (earlier.max,)
        ends = tuple([end for end in ends if not plainly_at_most(furthest, end)])
        for start in now.min.operands if type(now.min) is Max else (now.min,):
            if not plainly_at_most(start, needed.min) and not (ends and plainly_at_most(start, minimum(*ends), 1)):
                return False
        return plainly_contains(box, region, [k for k in range(len(box)) if k != d])

    def lacking(self, region: Box, known: Facts) -> tuple[Call, Condition, Facts] | None:
        """What is not shown, though with it one call before the reader would cover a region alone, and what is known
        where that is asked: of the call that lacks least. None if no call writes anything."""
        found = [(c.call, *self._lack(c, region, known)) for c in self.straight]
        if not found:
            return None
        call, _, condition, there = min(found, key=lambda lack: lack[1])
        return call, condition, there

    def _lack(self, contribution: _Contribution, region: Box, known: Facts) -> tuple[int, Condition, Facts]:
        """Of how much it is not shown that a contribution covers it, the condition, and what is known there."""
        call, version = contribution.call, self.version
        written = self._written(contribution, known)
        if written is not None:
            ends = [end for a, b in zip(written, region, strict=True) for end in (a.min <= b.min, b.max <= a.max)]
            lacking = [end for end in ends if not prove(end, known)]
            return len(lacking), all_of(*lacking), known
        most = 2 * len(region) + 1
        for outer, inner in itertools.pairwise(version.path(call.id)):
            around = self._loop_or_condition(outer, inner)
            if not isinstance(around, For) and not prove(around, version.facts_at(outer)):
                return most, around, version.facts_at(outer)
        for loop in reversed(version.loops_around(call.id)):
            moved: dict[Expr, Expr] = {loop.variable: loop.variable + loop.step}
            further = version.facts_at(call.id).also(loop.variable + loop.step <= loop.range.max)
            for i in running_box(version, call):
                following = substitute(i.min, moved) <= i.max + 1
                if moves_with(i, loop.variable) and not prove(following, further):
                    return most, following, further
        return most + 1, FALSE, known

    def _running(self) -> list[Condition]:
        """For the loops and ifs that stand before the reader, that they come to what is inside; then the conditions of
        ifs in loops that do not change them."""
        outermost = (c.around[-1] for c in self.straight if c.around)
        steady = (condition for c in self.straight for condition in _steady(c.around))
        found: dict[Condition, None] = {}
        for outer in (*outermost, *steady):
            if isinstance(outer, For):
                found[outer.range.min <= outer.range.max] = None
            elif negate(outer) not in found:  # the other side of an if has been asked about
                found[outer] = None
        return list(found)

    def _covers_whether_or_not(self, region: Box, known: Facts, undecided: list[Condition]) -> bool:
        """Cover a region, whichever of these conditions hold."""
        boxes = [box for c in self.straight if (box := self._written(c, known)) is not None]
        if self._cover_by_cases(region, boxes, known, self.loops):
            return True
        if not undecided:
            return False
        runs, rest = undecided[0], undecided[1:]
        return all(self._covers_whether_or_not(region, known.also(case), rest) for case in (runs, negate(runs)))

    def _cover_by_cases(self, region: Box, boxes: list[Box], known: Facts, loops: list[For]) -> bool:
        """Cover a region: in the first iteration of each loop by what stands here, later also by earlier ones.

        Where there are cases to tell apart, what stands here alone is tried last in each case and not before them: in a
        window that slides it never suffices, and to find that out is the longest of all proofs.
        """
        self.cases += 1
        if self.cases > _MOST_CASES:
            return False
        if not loops:
            found = contain_together(boxes, region, known) or impossible(known)
            return found or contain_simplified(boxes, region, known)
        if contain_by_comparing(boxes, region, known):
            return True
        loop, inner = loops[0], loops[1:]
        at_first: dict[Expr, Expr] = {loop.variable: loop.range.min}
        needed, started = substitute_box(region, at_first), [substitute_box(box, at_first) for box in boxes]
        if not contain_by_comparing(started, needed, known):
            first = known.also(equal(loop.variable, loop.range.min), substitute(not_empty(region), at_first))
            if not self._cover_by_cases(needed, started, first, inner):
                return False
        if plainly_at_most(loop.range.max, loop.range.min):
            return True  # there are no later ones
        later = known.also(loop.variable >= loop.range.min + loop.step)
        earlier: list[Box] = []
        for contribution in self.prior[loop.id]:
            box = self._written(contribution, later)
            if box is not None:
                earlier.append(box)
        return self._cover_by_cases(region, [*boxes, *earlier], later, inner)

    def _written(self, contribution: _Contribution, known: Facts) -> Box | None:
        """The box that a contribution has surely written; None if none is shown.

        Loop variables that are ranged over get names of their own, for a loop elsewhere may use the same.
        """
        call, prior = contribution.call, contribution.prior
        if prior is not None and not contribution.around:
            before = self._written_before(call, prior)
            if before is not None:
                return before
        renamed: dict[Expr, Expr] = {}
        sweeps: list[Sweep] = []
        context = known
        if prior is not None:
            sweep = Sweep(self._fresh(prior), prior.range.min, prior.variable - prior.step, prior.step)
            sweeps.append(sweep)
            renamed[prior.variable] = sweep.variable
            context = context.also(*sweep.conditions())
        contexts = [known] * len(sweeps)
        for statement in reversed(contribution.around):
            if not isinstance(statement, For):
                narrowed = narrowed_to(sweeps, substitute(statement, renamed), context)
                if narrowed is None:
                    return None
                sweeps, context = narrowed
                continue
            range_, step = substitute_interval(statement.range, renamed), substitute(statement.step, renamed)
            last = range_.min + step * ((range_.max - range_.min) // step)
            sweep = Sweep(self._fresh(statement), range_.min, last, step)
            renamed[statement.variable] = sweep.variable
            sweeps.append(sweep)
            contexts.append(context)
            context = context.also(*sweep.conditions())
        box = running_box(self.version, call)
        if renamed:
            box = substitute_box(box, renamed)
        dims = dims_written(call)[self.buffer]
        hidden = [box[d] for d in range(len(box)) if d not in dims]
        if hidden and not prove(not_empty(hidden), context):
            return None
        (effect,) = of_buffer(writes(call, box), self.buffer)
        if not effect.is_exact:
            return None
        written: Box | None = effect.box
        for sweep, outside in zip(reversed(sweeps), reversed(contexts), strict=True):
            if written is not None:
                written = sweep.cover(written, outside)
        return written

    def _written_before(self, call: Call, loop: For) -> Box | None:
        """The box that a call has surely written in all earlier iterations of the loop right around it, where no
        facts are needed to show it: one dimension moves, evenly, and leaves no gap."""
        key = call.id, loop.id
        if key not in self.before:
            self.before[key] = self._find_written_before(call, loop)
        return self.before[key]

    def _find_written_before(self, call: Call, loop: For) -> Box | None:
        if len(dims_written(call)[self.buffer]) < len(call.box):
            return None
        (effect,) = of_buffer(writes(call, running_box(self.version, call)), self.buffer)
        return swept_before(effect.box, loop) if effect.is_exact else None

    def _fresh(self, loop: For) -> Variable:
        self.serial += 1
        return variable(f"{loop.variable.name}'{self.serial}")


class OwnIteration(Coverage):
    """Coverage by what the same iteration of a loop has written, and nothing from before the loop."""

    def __init__(self, version: Version, buffer: str, alloc: Alloc | None, reader: int, loop: For) -> None:
        super().__init__(version, buffer, alloc, reader)
        self.straight = [c for c in self.straight if loop.id in version.ancestors(c.call.id)]
        outer = {loop.id, *version.ancestors(loop.id)}
        self.loops = [inner for inner in self.loops if inner.id not in outer]


def _steady(around: tuple[For | Condition, ...]) -> list[Condition]:
    """Of the conditions among loops, given innermost first, those that none of these loops changes."""
    variables: set[Expr] = {s.variable for s in around if isinstance(s, For)}
    return [c for c in around if not isinstance(c, For) and symbols(c).isdisjoint(variables)]
