"""Legality: the one place that decides whether a program still means what it meant.

Idea. Every element of a buffer has one value, whoever computes it: calls of one func over different boxes agree where
they overlap, and nothing else writes the buffer. A program therefore means the same as the unscheduled one if

1. *coverage*: each call, before it runs, finds every element that it reads written since the buffer was allocated,
   and at the end every element of the pipeline's outputs has been written;
2. *folds*: no element is overwritten, through a fold, between being written and being read last;
3. *races*: iterations of a parallel loop write disjoint regions of what they share, read none that others write, and
   need nothing of each other.

Primitives make the program that they would return and ask here whether it keeps these; what is not proved is refused.
A rewrite that cannot break one of them need not ask for it.

How coverage is shown. A call writes its box, within the bounds of its outputs (W). Over the iterations v = f, f+s, ...,
l of a loop, boxes `[a(v), b(v)]` of one moving dimension without a gap (`a(v+s) <= b(v) + 1`) together cover
`[a(f), b(l)]`: take the first v with `e <= b(v)`; either it is f, or `e > b(v-s)` and so `e >= a(v)`. Bounds that do
not depend on v stay as they are. A call inside a loop finds what stands before it in the body, and what all earlier
iterations wrote; the first iteration, which has none before it, is a case of its own.

How folds are shown. Let all accesses stand in one loop over v, its writes in iteration v lie in `[a(v), b(v)]` with
both ends non-decreasing, and all reads and writes of an iteration span at most F coordinates. Then what shares storage
with an element e read at v is `e + kF`: above, it is more than b(v), so not written yet; below, it is less than
a(u) for the iteration u <= v that wrote e, so it is not written from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import attrs

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import ROOT, Version, walk_statements
from slinky.errors import SchedulingError
from slinky.ir.printer import dimension_names, expression_text, interval_in
from slinky.ir.regions import clamped_box, input_regions, output_region, parameter_box
from slinky.ir.statements import Alloc, Call, For, If
from slinky.symbolic.bounds import bounds
from slinky.symbolic.comparing import at_most
from slinky.symbolic.explanations import explain
from slinky.symbolic.expressions import (
    FALSE,
    Condition,
    Expr,
    Max,
    Min,
    Variable,
    equal,
    maximum,
    minimum,
    negate,
    variable,
)
from slinky.symbolic.intervals import Box, Interval, hull, not_empty, substitute_box, substitute_interval
from slinky.symbolic.proofs import Facts, impossible, prove
from slinky.symbolic.text import to_text
from slinky.symbolic.traversal import substitute, symbols

# ----------------------------------------------------------------------------------------------------------------
# What calls touch
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class Touch:
    """A region of a buffer that a call reads or writes whenever it does anything, and what then holds."""

    call: Call
    region: Box
    known: Facts


def effective_box(version: Version, call: Call) -> Box:
    """The box of a call within the bounds of its outputs."""
    return clamped_box(call, version.box_at(call.id))


def _running(version: Version, call: Call) -> tuple[Box, Facts]:
    """The box of a call within the bounds of its outputs, and what holds when that is not empty."""
    key = ("running", call.id)
    found: tuple[Box, Facts] | None = version.remembered.get(key)
    if found is None:
        box = effective_box(version, call)
        found = version.remembered[key] = (box, version.facts_at(call.id).also(not_empty(box)))
    return found


def reads_of_call(version: Version, call: Call) -> list[tuple[str, Touch]]:
    """The regions that a call reads, by buffer."""
    box, known = _running(version, call)
    regions = zip(call.func.inputs, input_regions(call.func, box), strict=True)
    return [(access.buffer, Touch(call, region, known)) for access, region in regions]


def writes_of_call(version: Version, call: Call) -> list[tuple[str, Touch]]:
    """The regions that a call writes, by buffer."""
    box, known = _running(version, call)
    return [(access.buffer, Touch(call, output_region(access, box), known)) for access in call.func.outputs]


def touches(version: Version, buffer: str, calls: Iterable[int], *, writes: bool) -> list[Touch]:
    """The regions of one buffer that calls, given by identity, read or write."""
    found = []
    for identity in calls:
        call = version.statement(identity)
        assert isinstance(call, Call)
        pairs = writes_of_call(version, call) if writes else reads_of_call(version, call)
        found += [touch for name, touch in pairs if name == buffer]
    return found


def over_loops(i: Interval, loops: Sequence[For], known: Facts) -> Interval:
    """The hull of an interval over all iterations of loops, given innermost first."""
    for loop in loops:
        ranges: dict[Expr, Interval] = {loop.variable: loop.range}
        i = Interval(bounds(i.min, ranges, known).min, bounds(i.max, ranges, known).max)
    return i


# ----------------------------------------------------------------------------------------------------------------
# Coverage
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class Gap:
    """A read that is not shown to find what it needs."""

    buffer: str
    region: Box
    call: Call | None

    def refuse(self, version: Version, *, hint: str = "") -> SchedulingError:
        """The refusal that this is."""

        def reason() -> str:
            region = ", ".join(interval_in(version.program, i) for i in self.region)
            if self.call is None:
                return f"not shown that all of output {self.buffer} is written"
            return f"not shown that {self.call.func.name} finds all of {self.buffer}[{region}], which it reads, written"

        place = statement_cursor(version, self.call.id) if self.call is not None else None
        return SchedulingError(reason, place=place, hint=hint)


def check_reads(version: Version, calls: Iterable[int], *, hint: str = "") -> None:
    """Check that calls, given by identity, find all that they read.

    Raises `SchedulingError` for the first that does not.
    """
    for identity in calls:
        call = version.statement(identity)
        assert isinstance(call, Call)
        for buffer, touch in reads_of_call(version, call):
            gap = _uncovered(version, buffer, touch)
            if gap is not None:
                raise gap.refuse(version, hint=hint)


def check_readers(version: Version, writers: Iterable[Call], *, hint: str = "") -> None:
    """Check that whoever reads what some calls write still finds it, after they write less, elsewhere, or later.

    What the readers read of other buffers is as it was. Raises `SchedulingError` for the first read that is not shown.
    """
    for buffer in dict.fromkeys(output.buffer for call in writers for output in call.func.outputs):
        for touch in touches(version, buffer, version.readers(buffer), writes=False):
            gap = _uncovered(version, buffer, touch)
            if gap is not None:
                raise gap.refuse(version, hint=hint)


def check_inputs(version: Version, identity: int) -> None:
    """Check that a call whose box may have grown stays within the pipeline's inputs.

    Raises `SchedulingError` if that is not shown.
    """
    call = version.statement(identity)
    assert isinstance(call, Call)
    for buffer, touch in reads_of_call(version, call):
        limits = version.global_box(buffer)
        if limits is not None and not _contains(limits, touch.region, touch.known):
            raise Gap(buffer, touch.region, call).refuse(version)


def check_outputs(version: Version, names: Iterable[str]) -> None:
    """Check that outputs of the pipeline are written in full.

    Raises `SchedulingError` for the first that is not.
    """
    for name in names:
        parameter = next((p for p in version.program.outputs if p.name == name), None)
        if parameter is None:
            continue
        box = parameter_box(name, parameter.rank)
        known = version.base_facts().also(not_empty(box))
        if not _Coverage(version, name, None, None).covers(box, known):
            raise Gap(name, box, None).refuse(version)


def _uncovered(version: Version, buffer: str, touch: Touch) -> Gap | None:
    """The read as a gap, if it is not shown to find what it needs; remembered with the version."""
    key = ("gap", buffer, touch.call.id, touch.region)
    if key not in version.remembered:
        version.remembered[key] = _find_gap(version, buffer, touch)
    return cast("Gap | None", version.remembered[key])


def _find_gap(version: Version, buffer: str, touch: Touch) -> Gap | None:
    writers = version.writers(buffer)
    alloc = version.alloc_of(buffer, touch.call.id)
    if alloc is None and version.global_box(buffer) is None:
        return Gap(buffer, touch.region, touch.call)  # it is not in scope where the call has moved
    if alloc is None and not writers:
        return None  # an input or constant: the checks guarantee it for all that the outputs' bounds let a call compute
    if _Coverage(version, buffer, alloc, touch.call.id).covers(touch.region, touch.known):
        return None
    return Gap(buffer, touch.region, touch.call)


@attrs.frozen
class _Contribution:
    """Elements that are surely written: by which call, and in which loops around it all iterations are over.

    `loops` are the loops (and ifs) between the reader's surroundings and the call, innermost first. `prior` is the
    loop around both whose earlier iterations are meant, or None for the iteration at hand.
    """

    call: Call
    around: tuple[For | If, ...]
    prior: For | None


_MOST_UNDECIDED = 2
"""Of how many loops before a reader to try both that they run and that they do not: each doubles the work."""


class _Coverage:
    """What is written of one buffer before a reader runs; the end of the program if the reader is None."""

    def __init__(self, version: Version, buffer: str, alloc: Alloc | None, reader: int | None) -> None:
        self.version = version
        self.buffer = buffer
        self.serial = 0
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
        assert isinstance(call, Call)
        inside = [s for i in own[:-1] if isinstance(s := version.statement(i), (For, If))]
        around = tuple(reversed(inside[common:]))
        if not path:
            self.straight.append(_Contribution(call, around, None))
            return
        here, there = version.entries[path[common]], version.entries[own[common]]
        if here.field == there.field and version.position(own[common]) < version.position(path[common]):
            self.straight.append(_Contribution(call, around, None))
        for depth in range(common):
            loop = inside[depth]
            if path[depth] in shared and isinstance(loop, For) and loop.workers is None:
                between = tuple(reversed(inside[depth + 1 :]))
                self.prior.setdefault(loop.id, []).append(_Contribution(call, between, loop))
                if loop not in self.loops:
                    self.loops.append(loop)

    def covers(self, region: Box, known: Facts) -> bool:
        """Whether a region is shown to be written."""
        self.loops.sort(key=lambda loop: len(self.version.ancestors(loop.id)))
        undecided = [c for c in self._running() if not prove(c, known)]
        return self._covers_whether_or_not(region, known, undecided[:_MOST_UNDECIDED])

    def _running(self) -> list[Condition]:
        """For the loops that stand before the reader, that they run at all."""
        outermost = (c.around[-1] for c in self.straight if c.around)
        loops = {loop.id: loop for loop in outermost if isinstance(loop, For)}
        return [loop.range.min <= loop.range.max for loop in loops.values()]

    def _covers_whether_or_not(self, region: Box, known: Facts, undecided: list[Condition]) -> bool:
        """Cover a region, whichever of these loops run."""
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
        if not loops:
            return _cover(region, boxes, known) or impossible(known)
        if _cover_at_a_glance(region, boxes, known):
            return True
        loop, inner = loops[0], loops[1:]
        at_first: dict[Expr, Expr] = {loop.variable: loop.range.min}
        first = known.also(equal(loop.variable, loop.range.min), substitute(not_empty(region), at_first))
        started = [substitute_box(box, at_first) for box in boxes]
        if not self._cover_by_cases(substitute_box(region, at_first), started, first, inner):
            return False
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
        access = next(o for o in call.func.outputs if o.buffer == self.buffer)
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
            if isinstance(statement, If):
                if not prove(substitute(statement.condition, renamed), context):
                    return None
                continue
            range_, step = substitute_interval(statement.range, renamed), substitute(statement.step, renamed)
            last = range_.min + step * ((range_.max - range_.min) // step)
            sweep = _Sweep(self._fresh(statement), range_.min, last, step)
            renamed[statement.variable] = sweep.variable
            sweeps.append(sweep)
            contexts.append(context)
            context = context.also(*sweep.conditions())
        box = substitute_box(effective_box(self.version, call), renamed)
        hidden = [box[d] for d in range(len(box)) if d not in access.dims]
        if hidden and not prove(not_empty(hidden), context):
            return None
        written: Box | None = output_region(access, box)
        for sweep, outside in zip(reversed(sweeps), reversed(contexts), strict=True):
            if written is not None:
                written = sweep.cover(written, outside)
        return written

    def _fresh(self, loop: For) -> Variable:
        self.serial += 1
        return variable(f"{loop.variable.name}'{self.serial}")


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

    def cover(self, box: Box, known: Facts) -> Box | None:
        """What a box that moves with the variable has covered at the end; None if that is not shown to be a box."""
        covered = _sweep(box, self.variable, self.first, self.last, self.step, known)
        if covered is None or prove(self.first <= self.last, known):
            return covered
        # A loop that does not run writes nothing: fine only where the box says so, too.
        idle = known.also(self.last < self.first)
        return covered if any(prove(i.max < i.min, idle) for i in covered) else None


def _sweep(box: Box, v: Variable, first: Expr, last: Expr, step: Expr, known: Facts) -> Box | None:
    """What a box that moves with v has covered when v has gone from first to last, if that is at least one value."""
    moving = [d for d, i in enumerate(box) if v in symbols(i.min) or v in symbols(i.max)]
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


def _inside(inner: Interval, outer: Interval, known: Facts) -> bool:
    """Whether an interval that is not empty is shown to lie in another, by more than that the facts contradict."""
    return _shown(outer.min, inner.min, known) and _shown(inner.max, outer.max, known)


def _shown(a: Expr, b: Expr, known: Facts) -> bool:
    """Whether `a <= b` is shown, by a short look or a long one."""
    if at_most(a, b, known):
        return True
    condition = a <= b
    return condition is not FALSE and prove(condition, known)


def _contains(outer: Box, inner: Box, known: Facts) -> bool:
    return all(_inside(b, a, known) for a, b in zip(outer, inner, strict=True))


def _cover(region: Box, boxes: list[Box], known: Facts) -> bool:
    """Whether boxes together contain a region: one alone, or one that cuts off an end of a dimension, and the rest."""
    if not region:
        return bool(boxes)
    return _cover_at_a_glance(region, boxes, known) or _cover_by_proofs(region, boxes, known)


def _cover_at_a_glance(region: Box, boxes: list[Box], known: Facts) -> bool:
    """Whether a short look finds a box that contains the region, or two that do, side by side in one dimension.

    A window that slides is such a pair: what earlier iterations wrote, and what this one adds.
    """
    below: list[tuple[int, Interval]] = []
    above: list[tuple[int, Interval]] = []
    for box in boxes:
        reach = [
            (d, a, at_most(a.min, b.min, known), at_most(b.max, a.max, known))
            for d, (a, b) in enumerate(zip(box, region, strict=True))
        ]
        short = [(d, a, low) for d, a, low, high in reach if not (low and high)]
        if not short:
            return True
        if len(short) == 1:
            d, a, low = short[0]
            (below if low else above).append((d, a))
    return any(
        d == e and at_most(b.min, a.max + 1, known) and at_most(region[d].max, b.max, known)
        for d, a in below
        for e, b in above
    )


def _cover_by_proofs(region: Box, boxes: list[Box], known: Facts) -> bool:
    missing: list[tuple[int, list[int]]] = []
    for n, box in enumerate(boxes):
        outside = [d for d, (a, b) in enumerate(zip(box, region, strict=True)) if not _inside(b, a, known)]
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
        if _shown(have.min, need.min, known):
            left = Interval(maximum(need.min, have.max + 1), need.max)
        elif _shown(need.max, have.max, known):
            left = Interval(need.min, minimum(need.max, have.min - 1))
        else:
            continue
        others = boxes[:n] + boxes[n + 1 :]
        rest = (*region[:d], left, *region[d + 1 :])
        known_rest = known.also(left.min <= left.max)
        if _cover(rest, others, known_rest) or impossible(known_rest):
            return True
    return False


# ----------------------------------------------------------------------------------------------------------------
# Folds
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class Window:
    """The accesses of a buffer, and the outermost loop around all of them since its allocation (None: there is none).

    `touches` are intervals of one dimension, each the hull of one access over the loops inside `loop`.
    """

    loop: For | None
    reads: tuple[tuple[Interval, Facts], ...]
    writes: tuple[tuple[Interval, Facts], ...]


def window_of(version: Version, alloc: Alloc, dim: int, *, clamped: bool = True) -> Window:
    """How a dimension of a buffer is used in one iteration of the loop around all its accesses.

    With `clamped`, regions are as the calls clamp them, under the facts that hold when they run; without, as written.
    """
    writers = [i for i in version.writers(alloc.buffer) if version.alloc_of(alloc.buffer, i) is alloc]
    readers = [i for i in version.readers(alloc.buffer) if version.alloc_of(alloc.buffer, i) is alloc]
    depth = len(version.ancestors(alloc.id))
    outermost = {version.path(i)[depth] for i in (*writers, *readers)}
    loop: For | None = None
    if len(outermost) == 1:
        statement = version.statement(outermost.pop())
        loop = statement if isinstance(statement, For) else None

    def along(touch: Touch) -> tuple[Interval, Facts]:
        around = list(reversed(version.loops_around(touch.call.id)))
        home = len(version.loops_around(alloc.id))
        inner = around[: len(around) - home - (1 if loop is not None else 0)]
        return over_loops(touch.region[dim], inner, touch.known), _forget(touch.known, inner)

    def of(calls: list[int], *, writes: bool) -> tuple[tuple[Interval, Facts], ...]:
        found = touches(version, alloc.buffer, calls, writes=writes)
        if not clamped:
            found = [_as_written(t, alloc.buffer, writes=writes) for t in found]
        return tuple(map(along, found))

    return Window(loop, of(readers, writes=False), of(writers, writes=True))


def _as_written(touch: Touch, buffer: str, *, writes: bool) -> Touch:
    func, box = touch.call.func, touch.call.box
    if writes:
        region = next(output_region(o, box) for o in func.outputs if o.buffer == buffer)
        return Touch(touch.call, region, touch.known)
    regions = [r for a, r in zip(func.inputs, input_regions(func, box), strict=True) if a.buffer == buffer]
    region = regions[0]
    for other in regions[1:]:
        region = tuple(hull(a, b) for a, b in zip(region, other, strict=True))
    return Touch(touch.call, region, touch.known)


def _forget(known: Facts, loops: Sequence[For]) -> Facts:
    """The facts without those that speak of loop variables that have been ranged over."""
    gone = frozenset[Expr](loop.variable for loop in loops)
    if not gone:
        return known
    level: Facts = known
    kept: list[Condition] = []
    while level.parent is not None and any(not symbols(c).isdisjoint(gone) for c in level.own):
        kept = [c for c in level.own if symbols(c).isdisjoint(gone)] + kept
        level = level.parent
    return level.also(*kept)


def check_fold(version: Version, alloc: Alloc, dim: int, factor: Expr) -> None:
    """Check that a fold of a dimension keeps every element until it has been read last.

    Raises `SchedulingError` if that is not shown.
    """
    window = window_of(version, alloc, dim)
    place = statement_cursor(version, alloc.id)
    name = f"{alloc.buffer}.{alloc.dims[dim]}"
    # What may have been written by the time of a read counts whether or not the producer runs in that iteration, so
    # only the facts of the reader (or of the write that a later one could overwrite) may be used.
    pairs = [(write, read, known) for write, _ in window.writes for read, known in window.reads]
    pairs += [(write, other, known) for write, known in window.writes for other, _ in window.writes]
    for write, other, known in pairs:
        if at_most(write.max, other.min + factor - 1, known):
            continue
        fits = write.max - other.min + 1 <= factor
        if not prove(fits, known):
            raise SchedulingError(
                lambda: (
                    f"not shown that a fold of {expression_text(version.program, factor)} holds all that is live "
                    f"of {name} at once"
                ),
                place=place,
                condition=Unproved(version, fits, known),
                hint="slide the producer first, or sink the allocation into the loop (store_at)",
            )
    if window.loop is None:
        return
    loop = window.loop
    if loop.workers is not None:
        raise SchedulingError(
            f"the parallel loop {loop.variable} would share the folded buffer {alloc.buffer} between its iterations",
            place=place,
            hint=f"sink it into the loop first: store_at(p, {alloc.buffer!r}, 'for {loop.variable}')",
        )
    onward: dict[Expr, Expr] = {loop.variable: loop.variable + loop.step}
    for write, _ in window.writes:
        going = version.facts_at(loop.id).also(loop.range.min <= loop.variable, loop.step >= 1)
        going = going.also(loop.variable + loop.step <= loop.range.max)
        for end in (write.min, write.max):
            later = substitute(end, onward)
            if not at_most(end, later, going) and not prove(advances := end <= later, going):
                raise SchedulingError(
                    f"not shown that what is produced of {name} moves forward with loop {loop.variable}",
                    place=place,
                    condition=Unproved(version, advances, going),
                )


@attrs.frozen
class Unproved:
    """A condition that was not shown under these facts. As text, with the part that is missing, and an assignment for
    which it does not hold where one is found: put together when somebody reads it."""

    version: Version
    condition: Condition
    known: Facts

    def __str__(self) -> str:
        names = dimension_names(self.version.program)
        found = explain(self.condition, self.known)
        missing = to_text(self.condition if found.not_shown is None else found.not_shown, names)
        return "; ".join(filter(None, (missing, found.example(names))))


# ----------------------------------------------------------------------------------------------------------------
# Races
# ----------------------------------------------------------------------------------------------------------------


def check_races(version: Version, loop_id: int) -> None:
    """Check that the iterations of a loop, marked parallel, do not depend on each other or share what they write.

    Raises `SchedulingError` if that is not shown.
    """
    loop = version.statement(loop_id)
    assert isinstance(loop, For)
    place = statement_cursor(version, loop_id)
    inside = calls_in(version, loop_id)
    written = dict.fromkeys(o.buffer for call in inside for o in call.func.outputs)
    for buffer in written:
        writers = [c for c in inside if any(o.buffer == buffer for o in c.func.outputs)]
        alloc = version.alloc_of(buffer, writers[0].id)
        if alloc is not None and loop_id in version.ancestors(alloc.id):
            continue
        if alloc is not None and any(fold is not None for fold in alloc.folds):
            raise SchedulingError(
                f"iterations of loop {loop.variable} share the folded buffer {buffer}",
                place=place,
                hint=f"sink it into the loop first: store_at(p, {buffer!r}, 'for {loop.variable}')",
            )
        _check_disjoint_writes(version, loop, buffer, writers)
        for call in inside:
            for name, touch in reads_of_call(version, call):
                if name == buffer and not _OwnIteration(version, buffer, alloc, call.id, loop).covers(
                    touch.region, touch.known
                ):
                    raise SchedulingError(
                        f"iterations of loop {loop.variable} depend on each other: {call.func.name} is not shown to "
                        f"find all that it reads of {buffer} written in its own iteration",
                        place=place,
                        hint=f"give each iteration its own {buffer}: store_at(p, {buffer!r}, 'for {loop.variable}')",
                    )


class _OwnIteration(_Coverage):
    """Coverage by what the same iteration of a loop has written, and nothing from before the loop."""

    def __init__(self, version: Version, buffer: str, alloc: Alloc | None, reader: int, loop: For) -> None:
        super().__init__(version, buffer, alloc, reader)
        self.straight = [c for c in self.straight if loop.id in version.ancestors(c.call.id)]
        outer = {loop.id, *version.ancestors(loop.id)}
        self.loops = [inner for inner in self.loops if inner.id not in outer]


def _check_disjoint_writes(version: Version, loop: For, buffer: str, writers: list[Call]) -> None:
    touched = touches(version, buffer, (call.id for call in writers), writes=True)
    onward: dict[Expr, Expr] = {loop.variable: loop.variable + loop.step}
    known = version.facts_at(loop.id).also(loop.range.min <= loop.variable, loop.step >= 1)
    known = known.also(loop.variable + loop.step <= loop.range.max)
    rank = len(touched[0].region)
    for d in range(rank):
        intervals = []
        for touch in touched:
            around = list(reversed(version.loops_around(touch.call.id)))
            inner = around[: next(n for n, other in enumerate(around) if other.id == loop.id)]
            intervals.append(over_loops(touch.region[d], inner, touch.known))
        if all(
            prove(a.max < substitute(b.min, onward), known) and prove(b.min <= substitute(b.min, onward), known)
            for a in intervals
            for b in intervals
        ):
            return
    raise SchedulingError(
        f"iterations of loop {loop.variable} are not shown to write different parts of {buffer}",
        place=statement_cursor(version, loop.id),
        hint=f"give each iteration its own {buffer}: store_at(p, {buffer!r}, 'for {loop.variable}')",
    )


def calls_in(version: Version, identity: int) -> list[Call]:
    """The calls at or inside a statement, in program order."""
    return [s for s in walk_statements((version.statement(identity),)) if isinstance(s, Call)]
