"""Coverage: is a region surely written before somebody reads it?

How coverage is shown. A call writes its box, within the bounds of its outputs (W). Over the iterations v = f, f+s, ...,
l of a loop, boxes `[a(v), b(v)]` of one moving dimension without a gap (`a(v+s) <= b(v) + 1`) together cover
`[a(f), b(l)]`: take the first v with `e <= b(v)`; either it is f, or `e > b(v-s)` and so `e >= a(v)`. Bounds that do
not depend on v stay as they are. A call inside a loop finds what stands before it in the body, and what all earlier
iterations wrote; the first iteration, which has none before it, is a case of its own. So is either side of an if that
stands before it, and whether a loop before it runs at all.

Invariant: `Coverage.covers` says yes only where every element of the region has been written, in every run that meets
the facts, by the calls that write the buffer since it was allocated.
"""

from __future__ import annotations

import itertools

import attrs

from slinky.cursors.versions import ROOT, Version
from slinky.ir.effects import Touching, dims_written, of_buffer, writes
from slinky.ir.statements import Alloc, Call, For, If, is_in_order
from slinky.sched.legality.containing import inside, plainly_contains, shown, told_to_contain
from slinky.sched.legality.side_by_side import contain_side_by_side
from slinky.sched.legality.touches import Touch, running_box
from slinky.symbolic.arithmetic import spread
from slinky.symbolic.bounds import bounds, simplify
from slinky.symbolic.comparing import at_most, plainly_at_most
from slinky.symbolic.expressions import (
    FALSE,
    And,
    Condition,
    Expr,
    Max,
    Min,
    NonNegative,
    Select,
    Variable,
    all_of,
    difference,
    equal,
    linear,
    maximum,
    minimum,
    negate,
    variable,
)
from slinky.symbolic.intervals import Box, Interval, moves_with, not_empty, substitute_box, substitute_interval
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


_LONG = 4
"""An end that is a choice between more cases is simplified where nothing else helps."""

_MOST_CASES = 128
"""So many cases of the first and of later iterations are told apart at most: each loop doubles them."""

_MOST_CUTS = 256
"""Not more often is an end of a region cut off to look for what covers the rest: in which order does not matter, so if
many ways fail, all do."""

_MOST_UNDECIDED = 2
"""Of how many statements before a reader to try both that they run and that they do not: each doubles the work."""


_TILES = 4
"""So many boxes at least are tiles: fewer, and one of them would cut off an end of the region."""


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
        return self._covers_whether_or_not(region, known, undecided[:_MOST_UNDECIDED])

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
            furthest = _furthest(needed.max, loop)
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
            return _cover(region, boxes, known) or impossible(known) or _cover_simplified(region, boxes, known)
        if _cover_by_comparing(region, boxes, known):
            return True
        loop, inner = loops[0], loops[1:]
        at_first: dict[Expr, Expr] = {loop.variable: loop.range.min}
        needed, started = substitute_box(region, at_first), [substitute_box(box, at_first) for box in boxes]
        if not _cover_by_comparing(needed, started, known):
            first = known.also(equal(loop.variable, loop.range.min), substitute(not_empty(region), at_first))
            if not self._cover_by_cases(needed, started, first, inner):
                return False
        if plainly_at_most(loop.range.max, loop.range.min):
            return True  # there are no later ones
        later = known.also(loop.variable >= loop.range.min + loop.step)
        earlier: list[Box] = []
        for contribution in self.prior[loop.id]:
            found = self._written(contribution, later)
            if found is not None:
                earlier.append(found)
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
        sweeps: list[_Sweep] = []
        context = known
        if prior is not None:
            sweep = _Sweep(self._fresh(prior), prior.range.min, prior.variable - prior.step, prior.step)
            sweeps.append(sweep)
            renamed[prior.variable] = sweep.variable
            context = context.also(*sweep.conditions())
        contexts = [known] * len(sweeps)
        for statement in reversed(contribution.around):
            if not isinstance(statement, For):
                narrowed = _narrowed(sweeps, substitute(statement, renamed), context)
                if narrowed is None:
                    return None
                sweeps, context = narrowed
                continue
            range_, step = substitute_interval(statement.range, renamed), substitute(statement.step, renamed)
            last = range_.min + step * ((range_.max - range_.min) // step)
            sweep = _Sweep(self._fresh(statement), range_.min, last, step)
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
        v, box = loop.variable, effect.box
        moving = [d for d, i in enumerate(box) if moves_with(i, v)]
        if len(moving) != 1 or not effect.is_exact:
            return None
        (d,) = moving
        low, floors = _parts(box[d].min, Max, v)
        high, caps = _parts(box[d].max, Min, v)
        if len(low) != 1 or len(high) != 1:
            return None
        offset, terms = difference(high[0], substitute(low[0], {v: v + loop.step}))
        if terms or offset < -1:
            return None
        start, end = substitute(low[0], {v: loop.range.min}), substitute(high[0], {v: v - loop.step})
        return (*box[:d], Interval(maximum(start, *floors), minimum(end, *caps)), *box[d + 1 :])

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


@attrs.frozen
class _Sweep:
    """A variable that goes from `first` to `last` by `step`; to no value at all if `last` is less than `first`."""

    variable: Variable
    first: Expr
    last: Expr
    step: Expr

    def conditions(self) -> tuple[Condition, ...]:
        """What holds of the variable."""
        return (self.first <= self.variable, self.variable <= self.last)

    def where(self, condition: Condition, inside: set[Expr]) -> _Sweep | None:
        """The values for which a condition holds, if it is a bound of the variable that moves with none of those
        inside (itself among them)."""
        if not isinstance(condition, NonNegative):
            return None
        factor = dict(linear(condition.expr)[1]).get(self.variable, 0)
        bound = self.variable - condition.expr if factor == 1 else condition.expr + self.variable
        if factor not in (1, -1) or not symbols(bound).isdisjoint(inside):
            return None
        if factor == 1:  # bound <= variable: from the first value of the grid there on
            steps = (bound - self.first + self.step - 1) // self.step
            return attrs.evolve(self, first=maximum(self.first, self.first + self.step * steps))
        steps = (bound - self.first) // self.step
        return attrs.evolve(self, last=minimum(self.last, self.first + self.step * steps))

    def cover(self, box: Box, known: Facts) -> Box | None:
        """What a box that moves with the variable has covered at the end; None if that is not shown to be a box."""
        covered = _sweep(box, self.variable, self.first, self.last, self.step, known)
        if covered is None or prove(self.first <= self.last, known):
            return covered
        # A loop that does not run writes nothing: fine only where the box says so, too.
        idle = known.also(self.last < self.first)
        return covered if any(prove(i.max < i.min, idle) for i in covered) else None


def _steady(around: tuple[For | Condition, ...]) -> list[Condition]:
    """Of the conditions among loops, given innermost first, those that none of these loops changes."""
    variables: set[Expr] = {s.variable for s in around if isinstance(s, For)}
    return [c for c in around if not isinstance(c, For) and symbols(c).isdisjoint(variables)]


def _narrowed(sweeps: list[_Sweep], condition: Condition, known: Facts) -> tuple[list[_Sweep], Facts] | None:
    """Sweeps over just those values for which a condition holds, and what is known then; None if that is not clear.

    Each part of the condition holds anyway, or bounds one variable by what does not move with it or inside it.
    """
    for part in condition.operands if isinstance(condition, And) else (condition,):
        if prove(part, known):
            continue
        for n, sweep in enumerate(sweeps):
            inside: set[Expr] = {inner.variable for inner in sweeps[n:]}
            found = sweep.where(part, inside) if sweep.variable in symbols(part) else None
            if found is not None:
                sweeps = [*sweeps[:n], found, *sweeps[n + 1 :]]
                known = known.also(part)
                break
        else:
            return None
    return sweeps, known


def _sweep(box: Box, v: Variable, first: Expr, last: Expr, step: Expr, known: Facts) -> Box | None:
    """What a box that moves with v has covered when v has gone from first to last, if that is at least one value."""
    moving = [d for d, i in enumerate(box) if moves_with(i, v)]
    if not moving:
        return box
    at_first: dict[Expr, Expr] = {v: first}
    at_last: dict[Expr, Expr] = {v: last}
    for d in moving:
        low, floors = _parts(box[d].min, Max, v)
        high, caps = _parts(box[d].max, Min, v)
        if low and high:
            following = known.also(first <= v, v + step <= last)
            next_low = substitute(maximum(*low), {v: v + step})
            if not prove(next_low <= minimum(*high) + 1, following):
                continue
        ends = Interval(
            maximum(*(substitute(e, at_first) for e in low), *floors),
            minimum(*(substitute(e, at_last) for e in high), *caps),
        )
        ranges: dict[Expr, Interval] = {v: Interval(first, last)}
        others = {
            k: Interval(bounds(box[k].min, ranges, known).max, bounds(box[k].max, ranges, known).min)
            for k in moving
            if k != d
        }
        return tuple(ends if k == d else others.get(k, i) for k, i in enumerate(box))
    return None


def _parts(end: Expr, kind: type[Min] | type[Max], v: Variable) -> tuple[list[Expr], list[Expr]]:
    """The operands of an end that depend on v, and those that do not."""
    operands = end.operands if isinstance(end, kind) else (end,)
    return [e for e in operands if v in symbols(e)], [e for e in operands if v not in symbols(e)]


def _furthest(end: Expr, loop: For) -> Expr:
    """An end, with what it keeps to in all iterations of a loop: what moves forward is furthest in the last."""
    v = loop.variable
    operands = end.operands if type(end) is Min else (end,)
    forward = [e for e in operands if all(c > 0 if atom is v else v not in symbols(atom) for atom, c in linear(e)[1])]
    return minimum(*operands, *[substitute(e, {v: loop.range.max}) for e in forward])


@attrs.define
class _Cuts:
    """How often a region may be cut yet."""

    left: int = _MOST_CUTS


def _cover(region: Box, boxes: list[Box], known: Facts, cuts: _Cuts | None = None) -> bool:
    """Whether boxes together contain a region: one alone, or one that cuts off an end of a dimension, and the rest."""
    if not region:
        return bool(boxes)
    return (
        contain_side_by_side(boxes, region, known)
        or _cover_by_comparing(region, boxes, known)
        or _cover_by_proofs(region, boxes, known, cuts or _Cuts())
    )


def _cover_simplified(region: Box, boxes: list[Box], known: Facts) -> bool:
    """Whether boxes contain a region once it is decided which of their choices are taken in the case at hand.

    Windows of windows at the edges of arrays are long choices of choices, of which hardly any is left in a case.
    """
    if not any(_is_long(end) for i in region for end in (i.min, i.max)):
        return False

    def simplified(box: Box) -> Box:
        return tuple(Interval(simplify(i.min, known), simplify(i.max, known)) for i in box)

    return _cover(simplified(region), [simplified(box) for box in boxes], known)


def _is_long(end: Expr) -> bool:
    """Whether there are choices among the choices of an end."""
    return isinstance(end, (Min, Max, Select)) and spread(end) > _LONG


def _cover_by_comparing(region: Box, boxes: list[Box], known: Facts) -> bool:
    """Whether a short look finds a box that contains the region, or two that do, side by side in one dimension.

    A window that slides is such a pair: what earlier iterations wrote, and what this one adds. What the first of two
    does not reach, the second must: all of the region that comes behind it.
    """
    below: list[tuple[int, Interval]] = []
    above: list[tuple[int, Interval]] = []
    for box in boxes:
        short: list[tuple[int, Interval, bool, bool]] = []
        for d, (a, b) in enumerate(zip(box, region, strict=True)):
            low, high = at_most(a.min, b.min, known), at_most(b.max, a.max, known)
            if not (low and high):
                short.append((d, a, low, high))
                if len(short) > 1:
                    break
        if not short:
            return True
        if len(short) == 1:
            d, a, low, high = short[0]
            if low:
                below.append((d, a))
            elif high:
                above.append((d, a))
    for d, a in below:
        for e, b in above:
            if d == e and (
                at_most(b.min, maximum(a.max + 1, region[d].min), known)
                or at_most(b.min, maximum(_within_reach(a.max, region[d].max, known) + 1, region[d].min), known)
            ):
                return True
    return False


def _within_reach(end: Expr, reach: Expr, known: Facts) -> Expr:
    """The end of an interval without limits that all of what it is needed for lies within."""
    if not isinstance(end, Min):
        return end
    nearer = [limit for limit in end.operands if not at_most(reach, limit, known)]
    return minimum(*nearer) if nearer else end


def _cover_by_proofs(region: Box, boxes: list[Box], known: Facts, cuts: _Cuts) -> bool:
    missing: list[tuple[int, list[int]]] = []
    for n, box in enumerate(boxes):
        outside = [d for d, (a, b) in enumerate(zip(box, region, strict=True)) if not inside(b, a, known)]
        if not outside:
            return True
        missing.append((n, outside))
    if len(boxes) < 2:
        return False
    for n, outside in missing:
        if len(outside) > 1:
            continue
        d, box = outside[0], boxes[n]
        need, have = region[d], box[d]
        if shown(have.min, need.min, known):
            left = Interval(maximum(need.min, have.max + 1), need.max)
        elif shown(need.max, have.max, known):
            left = Interval(need.min, minimum(need.max, have.min - 1))
        else:
            continue
        if left == need:
            continue  # it has nothing of the region
        if _cover_rest(region, d, left, boxes[:n] + boxes[n + 1 :], known, cuts):
            return True
    are_tiles = len(boxes) >= _TILES and all(len(outside) > 1 for _, outside in missing)
    return are_tiles and _cover_halves(region, boxes, known, cuts)


def _cover_rest(region: Box, d: int, left: Interval, boxes: list[Box], known: Facts, cuts: _Cuts) -> bool:
    """Whether boxes contain what is left of a region along a dimension, if that is anything."""
    cuts.left -= 1
    if cuts.left < 0:
        return False
    rest = (*region[:d], left, *region[d + 1 :])
    known_rest = known.also(left.min <= left.max)
    return _cover(rest, boxes, known_rest, cuts) or impossible(known_rest)


def _cover_halves(region: Box, boxes: list[Box], known: Facts, cuts: _Cuts) -> bool:
    """Whether boxes that all fall short in several dimensions contain a region, as tiles do: those before the end of a
    box that begins with the region, and those behind it."""
    for n, box in enumerate(boxes):
        for d, (have, need) in enumerate(zip(box, region, strict=True)):
            if shown(have.min, need.min, known) and not shown(need.max, have.max, known):
                behind = Interval(maximum(need.min, have.max + 1), need.max)
                before = Interval(need.min, minimum(need.max, have.max))
                return _cover_rest(region, d, behind, boxes[:n] + boxes[n + 1 :], known, cuts) and _cover_rest(
                    region, d, before, boxes, known, cuts
                )
    return False
