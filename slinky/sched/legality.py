"""Legality: the one place that decides whether a program still means what it meant.

Idea. Every element of a buffer has one value, whoever computes it: calls of one func over different boxes agree where
they overlap, and nothing else writes the buffer. A program therefore means the same as the unscheduled one if

1. *coverage* (see `coverage`): each call, before it runs, finds every element that it reads written since the buffer
   was allocated, and at the end every element of the pipeline's outputs has been written;
2. *folds*: no element is overwritten, through a fold, between being written and being read last;
3. *races*: iterations of a parallel loop write disjoint regions of what they share, read none that others write, and
   need nothing of each other;
4. *whole dimensions*: calls of one func agree where they overlap only if its callback can compute any part of its
   dimensions. Of a dimension that it computes whole, every call computes all or nothing.

Primitives make the program that they would return and ask here whether it keeps these; what is not proved is refused.
A rewrite that cannot break one of them need not ask for it.

How folds are shown. Let all accesses stand in one loop over v, its writes in iteration v lie in `[a(v), b(v)]` with
both ends non-decreasing, and all reads and writes of an iteration span at most F coordinates. Then what shares storage
with an element e read at v is `e + kF`: above, it is more than b(v), so not written yet; below, it is less than
a(u) for the iteration u <= v that wrote e, so it is not written from then on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, cast

import attrs

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.printer import dimension_names, interval_in
from slinky.ir.regions import input_regions, output_region, parameter_box
from slinky.ir.scopes import one_before_the_other, over_loops
from slinky.ir.statements import Alloc, Call, For
from slinky.pipeline import Pipeline
from slinky.sched.coverage import Coverage, contains, inside
from slinky.sched.remedies import Place, Remedy, first, instead, unfold_first
from slinky.sched.small_runs import Finding, overwritten, race, unwritten_output, unwritten_read
from slinky.sched.touches import (
    Touch,
    allocs_touched,
    calls_in,
    effective_box,
    reads_of_call,
    touches,
)
from slinky.symbolic.comparing import at_most
from slinky.symbolic.differences import at_most_in_all_cases, largest_difference
from slinky.symbolic.explanations import LONGEST, brief, explain
from slinky.symbolic.expressions import (
    Condition,
    Expr,
    Max,
    Min,
    negate,
)
from slinky.symbolic.intervals import Box, Interval, hull, interval_text, not_empty
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import substitute, symbols

# ----------------------------------------------------------------------------------------------------------------
# Coverage
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class Gap:
    """A read that is not shown to find what it needs."""

    buffer: str
    region: Box
    call: Call | None

    def refuse(self, version: Version, remedies: RemediesFor | None = None) -> SchedulingError:
        """The refusal that this is."""
        program, call = version.program, self.call

        @functools.cache
        def found() -> Finding | None:
            if call is None:
                return unwritten_output(program, self.buffer)
            return unwritten_read(program, self.buffer, call.id)

        def reason() -> str:
            if call is None:
                return f"not {'' if found() else 'shown that '}all of output {self.buffer} is written"
            name = call.func.name
            rest = f"all of {self.buffer}[{_brief_region(version, self.region)}], which it reads, written"
            return f"{name} does not find {rest}" if found() else f"not shown that {name} finds {rest}"

        return SchedulingError(
            reason,
            place=statement_cursor(version, call.id) if call is not None else None,
            example=lambda: str(found() or ""),
            remedies=None if remedies is None else lambda: remedies(self),
        )


def _brief_region(version: Version, region: Box) -> str:
    """A region as the program prints it; ends that are long, in short."""
    text = ", ".join(interval_in(version.program, i) for i in region)
    if len(text) <= LONGEST:
        return text
    names, each = dimension_names(version.program), LONGEST // (2 * len(region))
    ends = [(brief(i.min, names, each), brief(i.max, names, each)) for i in region]
    return ", ".join(interval_text(lo, hi) for lo, hi in ends)


RemediesFor: TypeAlias = Callable[[Gap], Sequence[Remedy]]
"""What may help where a call does not find what it reads."""


def check_reads(version: Version, calls: Iterable[int], remedies: RemediesFor | None = None) -> None:
    """Check that calls, given by identity, find all that they read.

    Raises `SchedulingError` for the first that does not.
    """
    for identity in calls:
        call = version.statement(identity)
        assert isinstance(call, Call)
        for buffer, touch in reads_of_call(version, call):
            gap = _uncovered(version, buffer, touch)
            if gap is not None:
                raise gap.refuse(version, remedies)


def check_readers(version: Version, writers: Iterable[Call], remedies: RemediesFor | None = None) -> None:
    """Check that whoever reads what some calls write still finds it, after they write less, elsewhere, or later.

    What the readers read of other buffers is as it was. Raises `SchedulingError` for the first read that is not shown.
    """
    for buffer in dict.fromkeys(output.buffer for call in writers for output in call.func.outputs):
        for touch in touches(version, buffer, version.readers(buffer), writes=False):
            gap = _uncovered(version, buffer, touch)
            if gap is not None:
                raise gap.refuse(version, remedies)


def check_inputs(version: Version, identity: int) -> None:
    """Check that a call whose box may have grown stays within the pipeline's inputs.

    Raises `SchedulingError` if that is not shown.
    """
    call = version.statement(identity)
    assert isinstance(call, Call)
    for buffer, touch in reads_of_call(version, call):
        limits = version.global_box(buffer)
        if limits is not None and not contains(limits, touch.region, touch.known):
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
        if not Coverage(version, name, None, None).covers(box, known):
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
        # It is not in scope where the call has moved, nor are its writers before the call.
        return Gap(buffer, touch.region, touch.call)
    if alloc is None and not writers:
        return None  # an input or constant: the checks guarantee it for all that the outputs' bounds let a call compute
    if Coverage(version, buffer, alloc, touch.call.id).covers(touch.region, touch.known):
        return None
    return Gap(buffer, touch.region, touch.call)


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
    """The facts without those that speak of loop variables that have been ranged over: true, but of no more use."""
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
    ranges: dict[Expr, Interval] = {} if window.loop is None else {window.loop.variable: window.loop.range}
    for write, other, known in pairs:
        if at_most(write.max, other.min + factor - 1, known):
            continue
        most = largest_difference(write.max, other.min, ranges, known)
        if most is not None and prove(most + 1 <= factor, known):
            continue
        fits = write.max - other.min + 1 <= factor
        if not prove(fits, known):
            raise _too_small(version, alloc, dim, factor, Unproved(version, fits, known))
    if window.loop is None:
        return
    loop = window.loop
    if loop.workers is not None:
        raise SchedulingError(
            f"the parallel loop {loop.variable} would share the folded buffer {alloc.buffer} between its iterations",
            place=place,
            remedies=lambda: own_buffers(version, loop, alloc.buffer),
        )
    onward: dict[Expr, Expr] = {loop.variable: loop.variable + loop.step}
    for write, _ in window.writes:
        going = version.facts_at(loop.id).also(loop.range.min <= loop.variable, loop.step >= 1)
        going = going.also(loop.variable + loop.step <= loop.range.max)
        for end in (write.min, write.max):
            later = substitute(end, onward)
            advances = end <= later
            if not at_most(end, later, going) and not prove(advances, going):
                if at_most_in_all_cases(end, later, going):
                    continue
                raise Unproved(version, advances, going).refuse(
                    f"what is produced of {name} moves forward with loop {loop.variable}",
                    f"what is produced of {name} does not move forward with loop {loop.variable}",
                    place=place,
                )


def _too_small(version: Version, alloc: Alloc, dim: int, factor: Expr, condition: Unproved) -> SchedulingError:
    """The refusal of a fold that does not, or is not shown to, hold what is live."""
    program = version.program
    folds = (*alloc.folds[:dim], factor, *alloc.folds[dim + 1 :])
    found = functools.cache(lambda: overwritten(program, alloc, folds))

    def reason() -> str:
        fold = brief(factor, dimension_names(program))
        live = f"all that is live of {alloc.buffer}.{alloc.dims[dim]} at once"
        return f"a fold of {fold} does not hold {live}" if found() else f"not shown that a fold of {fold} holds {live}"

    def needed(p: Pipeline) -> str:
        folded = p._version.statement(alloc.id)
        assert isinstance(folded, Alloc)
        fold = folded.folds[dim]
        return "the default" if fold is None else f"it needs {brief(fold, dimension_names(p.program))}, the default"

    def remedies() -> list[Remedy]:
        window = window_of(version, alloc, dim)
        if factor is alloc.folds[dim]:
            return [unfold_first(f"store {alloc.buffer} in full first", alloc, dim)]
        helping = [instead(needed, factor=None)]
        if window.loop is not None:
            loop = Place(window.loop.id)
            slides = [("slide_window", Place(i), loop) for i in _writers_of(version, alloc)]
            slid = first("slide the producer first", *slides)
            helping += [slid, attrs.evolve(slid, change=lambda arguments: {**arguments, "factor": None})]
            helping.append(first("sink the allocation into the loop first", ("store_at", Place(alloc.id), loop)))
        return helping

    return SchedulingError(
        reason,
        place=statement_cursor(version, alloc.id),
        condition=condition,
        example=lambda: str(found() or ""),
        remedies=remedies,
    )


def _writers_of(version: Version, alloc: Alloc) -> list[int]:
    """The calls that write an intermediate."""
    return [i for i in version.writers(alloc.buffer) if version.alloc_of(alloc.buffer, i) is alloc]


def check_folds_of(version: Version, alloc: Alloc) -> None:
    """Check the folds that an allocation has.

    Raises `SchedulingError` for the first that is not shown to hold.
    """
    for dim, fold in enumerate(alloc.folds):
        if fold is not None:
            check_fold(version, alloc, dim, fold)


def check_folds(version: Version, calls: Iterable[Call]) -> None:
    """Check every fold of what some calls read or write, after a change of when or where they do.

    Raises `SchedulingError` for the first that is not shown to hold.
    """
    for alloc in allocs_touched(version, calls):
        check_folds_of(version, alloc)


@attrs.frozen
class Unproved:
    """A condition that was not shown under these facts. As text, with the part that is missing, and an assignment for
    which it does not hold where one is found: put together when somebody reads it."""

    version: Version
    condition: Condition
    known: Facts

    def refuse(
        self,
        wanted: str,
        refuted: str,
        *,
        place: object = None,
        remedies: Callable[[], Sequence[Remedy]] | None = None,
        hint: str = "",
    ) -> SchedulingError:
        """The refusal that what is wanted is not shown; in other words where the condition is shown never to hold."""
        condition = _UnlessRefuted(self)
        return SchedulingError(
            lambda: refuted if condition.is_refuted() else f"not shown that {wanted}",
            place=place,
            condition=condition,
            hint=hint,
            remedies=remedies,
        )

    def __str__(self) -> str:
        names = dimension_names(self.version.program)
        found = explain(self.condition, self.known)
        missing = brief(self.condition if found.not_shown is None else found.not_shown, names)
        return "; ".join(filter(None, (missing, found.example(names))))


@attrs.frozen
class _UnlessRefuted:
    """A condition that was not shown, of which nothing is left to say where it is shown never to hold."""

    unproved: Unproved

    def is_refuted(self) -> bool:
        """Whether the condition is shown never to hold."""
        return prove(negate(self.unproved.condition), self.unproved.known)

    def __str__(self) -> str:
        return "False" if self.is_refuted() else str(self.unproved)


# ----------------------------------------------------------------------------------------------------------------
# Whole dimensions
# ----------------------------------------------------------------------------------------------------------------


def check_whole(version: Version, touched: Iterable[int]) -> None:
    """Check that calls compute all of the dimensions that their funcs compute whole.

    `touched` are the statements, by identity, that an edit put, changed or took away: a call, or the allocation whose
    bounds clamp it. Raises `SchedulingError` for the first call that is not shown to.
    """
    calls: dict[int, Call] = {}
    for identity in touched:
        entry = version.entries.get(identity)
        statement = entry.statement if entry is not None else None
        if isinstance(statement, Call):
            calls[identity] = statement
        elif isinstance(statement, Alloc):
            for writer in version.writers(statement.buffer):
                call = version.statement(writer)
                assert isinstance(call, Call)
                calls[writer] = call
    for call in calls.values():
        for d, all_of_it in call.func.whole:
            box = effective_box(version, call)
            known = version.facts_at(call.id).also(not_empty(box))
            if not (inside(all_of_it, box[d], known) and inside(box[d], all_of_it, known)):
                raise computes_part(version, call, d)


def computes_part(version: Version, call: Call, dim: int, *, hint: str = "") -> SchedulingError:
    """The refusal of a rewrite after which a call would compute part of a dimension."""
    name = call.func.dim_names()[dim]
    return SchedulingError(
        f"{call.func.name} computes {name} whole, and would compute part of it here",
        place=statement_cursor(version, call.id),
        hint=hint,
    )


# ----------------------------------------------------------------------------------------------------------------
# Races
# ----------------------------------------------------------------------------------------------------------------


def check_races(version: Version, loop_id: int, *, hint: str = "") -> None:
    """Check that the iterations of a loop, marked parallel, do not depend on each other or share what they write.

    Raises `SchedulingError` if that is not shown; `hint` says what helps where no remedy is accepted.
    """
    loop = version.statement(loop_id)
    assert isinstance(loop, For)
    place = statement_cursor(version, loop_id)
    inside = calls_in(version, loop_id)
    depend = f"iterations of loop {loop.variable} depend on each other"
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
                remedies=functools.partial(own_buffers, version, loop, buffer),
            )
        _check_disjoint_writes(version, loop, buffer, writers, hint)
        for call in inside:
            for name, touch in reads_of_call(version, call):
                if name == buffer and not _OwnIteration(version, buffer, alloc, call.id, loop).covers(
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
    writers = [c for c in calls_in(version, loop.id) if any(o.buffer == buffer for o in c.func.outputs)]
    if version.global_box(buffer) is None or not any(isinstance(i.min, (Min, Max)) for c in writers for i in c.box):
        return ""
    return "a tail that shifts writes some elements twice: split with another tail"


def own_buffers(version: Version, loop: For, buffer: str) -> list[Remedy]:
    """Remedies that give each iteration of a loop a buffer of its own: this one, then all that are written in the loop.

    What slides in the loop, or stands there as part of a chain, must be computed in full by each iteration.
    """
    inside = calls_in(version, loop.id)
    allocs = {a.id: a for c in inside for o in c.func.outputs if (a := version.alloc_of(o.buffer, c.id)) is not None}
    shared = [a for a in allocs.values() if loop.id not in version.ancestors(a.id)]
    own = [a for a in shared if a.buffer == buffer]
    around = Place(loop.id)

    def stored(these: Sequence[Alloc]) -> list[tuple[object, ...]]:
        return [("store_at", Place(a.id), around) for a in these]

    if not own:
        return []
    names = {a.buffer for a in shared}
    producers = [c for c in inside if any(o.buffer in names for o in c.func.outputs)]
    whole: list[tuple[object, ...]] = [("compute_root", Place(c.id)) for c in producers]
    whole += [("compute_at", Place(c.id), around) for c in reversed(producers)]
    in_full = f"let each iteration compute all that it needs of {buffer}, in a buffer of its own"
    return [
        first(f"give each iteration its own {buffer} first", *stored(own)),
        first("give each iteration buffers of its own first", *stored(shared)),
        first(in_full, *whole, *stored(shared)),
    ]


class _OwnIteration(Coverage):
    """Coverage by what the same iteration of a loop has written, and nothing from before the loop."""

    def __init__(self, version: Version, buffer: str, alloc: Alloc | None, reader: int, loop: For) -> None:
        super().__init__(version, buffer, alloc, reader)
        self.straight = [c for c in self.straight if loop.id in version.ancestors(c.call.id)]
        outer = {loop.id, *version.ancestors(loop.id)}
        self.loops = [inner for inner in self.loops if inner.id not in outer]


def _check_disjoint_writes(version: Version, loop: For, buffer: str, writers: list[Call], hint: str) -> None:
    touched = touches(version, buffer, (call.id for call in writers), writes=True)
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
