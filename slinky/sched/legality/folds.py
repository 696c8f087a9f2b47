"""Whether a fold keeps every element until it has been read last.

How that is shown. Let all accesses stand in one loop over v, its writes in iteration v lie in `[a(v), b(v)]` with both
ends non-decreasing, and all reads and writes of an iteration span at most F coordinates. Then what shares storage with
an element e read at v is `e + kF`: above, it is more than b(v), so not written yet; below, it is less than a(u) for the
iteration u <= v that wrote e, so it is not written from then on.

Where statements of one block touch the buffer in turn, this holds of each by itself. (It does of what is no loop whose
iterations run in order, if all that is touched in it spans at most F coordinates.) Beyond that, all that a later one
touches is to be above e - F, for any e that an earlier one has written. Then a later one overwrites no such e from
below, and what it reads has not been overwritten from above by an earlier one.

Where an end moves back, it is enough that all that an iteration reads was written in that iteration: what it writes
spans at most F coordinates, so none of them share storage.

The iterations of a parallel loop come in any order, so all that they touch together is to span at most F coordinates.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence

import attrs

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.blocks import words_of_layout
from slinky.ir.effects import of_buffer, reads, writes
from slinky.ir.printer import dimension_names
from slinky.ir.scopes import over_loops
from slinky.ir.statements import Alloc, For, is_in_order
from slinky.pipeline import Pipeline
from slinky.sched.legality.containing import shown
from slinky.sched.legality.coverage import OwnIteration
from slinky.sched.legality.own_buffers import own_buffers
from slinky.sched.legality.refusals import Unproved
from slinky.sched.legality.touches import (
    Touch,
    touches,
)
from slinky.sched.remedies import PlaceOf, Remedy, first, instead, unfold_first
from slinky.sched.small_runs import overwritten
from slinky.symbolic.bounds import simplify
from slinky.symbolic.comparing import at_most, exceeds_at_most
from slinky.symbolic.differences import at_most_in_all_cases, largest_difference, largest_fixed_difference
from slinky.symbolic.envelopes import rises_plainly
from slinky.symbolic.explanations import brief
from slinky.symbolic.expressions import (
    Condition,
    Expr,
    constant_value,
)
from slinky.symbolic.intervals import Interval, hull
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import substitute, symbols


@attrs.frozen
class When:
    """When an access is made that was ranged over loops, given innermost first."""

    touch: Touch
    inner: tuple[For, ...]

    @property
    def known(self) -> Facts:
        """What holds then, but for what is said of these loops: put together when somebody asks."""
        return forget(self.touch.known, self.inner)


@attrs.frozen
class Usage:
    """The accesses of a buffer, and the outermost loop around all of them since its allocation (None: there is none).

    `touches` are intervals of one dimension, each the hull of one access over the loops inside `loop`.
    """

    loop: For | None
    reads: tuple[tuple[Interval, When], ...]
    writes: tuple[tuple[Interval, When], ...]


def usage_of(version: Version, alloc: Alloc, dim: int, *, clamped: bool = True) -> Usage:
    """How a dimension of a buffer is used in one iteration of the loop around all its accesses.

    With `clamped`, regions are as the calls clamp them, under the facts that hold when they run; without, as written.
    """
    writers, readers = version.writers_of(alloc), version.readers_of(alloc)
    outermost = _outermost(version, alloc, (*writers, *readers))
    loop: For | None = None
    if len(outermost) == 1:
        statement = version.statement(next(iter(outermost)))
        loop = statement if isinstance(statement, For) else None
    return _usage(version, alloc, dim, loop, readers, writers, clamped=clamped)


def _outermost(version: Version, alloc: Alloc, calls: Iterable[int]) -> dict[int, list[int]]:
    """The statements of an allocation's block that calls stand in, each with these calls."""
    depth = len(version.ancestors(alloc.id))
    found: dict[int, list[int]] = {}
    for identity in calls:
        found.setdefault(version.path(identity)[depth], []).append(identity)
    return found


def _turns(version: Version, alloc: Alloc, dim: int) -> list[Usage]:
    """How the statements of an allocation's block, one after the other, use a dimension of a buffer: loops that run in
    order in one iteration, all others as a whole."""
    readers = _outermost(version, alloc, version.readers_of(alloc))
    writers = _outermost(version, alloc, version.writers_of(alloc))
    found: list[Usage] = []
    for identity in sorted({*readers, *writers}, key=version.position):
        statement = version.statement(identity)
        loop = statement if isinstance(statement, For) and is_in_order(statement) else None
        own = readers.get(identity, []), writers.get(identity, [])
        found.append(_usage(version, alloc, dim, loop, *own, clamped=True))
    return found


def _usage(
    version: Version,
    alloc: Alloc,
    dim: int,
    loop: For | None,
    readers: Sequence[int],
    writers: Sequence[int],
    *,
    clamped: bool,
    home: int | None = None,
) -> Usage:
    """How calls, given by identity, use a dimension of a buffer in an iteration of a loop around them; or in all of a
    statement that stands in the loops that are around the statement `home`, by default the allocation."""

    def along(touch: Touch) -> tuple[Interval, When]:
        around = list(reversed(version.loops_around(touch.call.id)))
        outer = len(version.loops_around(alloc.id if home is None else home)) + (1 if loop is not None else 0)
        inner = tuple(around[: len(around) - outer])
        region = touch.region[dim]
        return over_loops(region, inner, touch.known) if inner else region, When(touch, inner)

    def of(calls: Sequence[int], *, writing: bool) -> tuple[tuple[Interval, When], ...]:
        found = touches(version, alloc.buffer, calls, writing=writing)
        if not clamped:
            found = [as_written(t, alloc.buffer, writing=writing) for t in found]
        return tuple(map(along, found))

    return Usage(loop, of(readers, writing=False), of(writers, writing=True))


def as_written(touch: Touch, buffer: str, *, writing: bool) -> Touch:
    call = touch.call
    regions = [effect.box for effect in of_buffer((writes if writing else reads)(call, call.box), buffer)]
    region = regions[0]
    for other in regions[1:]:
        region = tuple(hull(a, b) for a, b in zip(region, other, strict=True))
    return Touch(touch.call, region, touch.version)


def forget(known: Facts, loops: Sequence[For]) -> Facts:
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
    require_no_layout(version, alloc, dim)
    window = usage_of(version, alloc, dim)
    if window.loop is None and _is_kept_in_turn(version, alloc, dim, factor):
        return
    missing = _unfitting(version, window, factor)
    if missing is not None:
        raise _too_small(version, alloc, dim, factor, missing)
    if window.loop is None:
        return
    loop = window.loop
    if not is_in_order(loop):
        if _has_own_places(version, alloc, dim, factor, loop):
            return
        raise SchedulingError(
            f"the parallel loop {loop.variable} would share the folded buffer {alloc.buffer} between its iterations",
            place=statement_cursor(version, alloc.id),
            remedies=lambda: own_buffers(version, loop, alloc.buffer),
        )
    back = _moving_back(version, window)
    if back is not None and not _is_read_where_written(version, alloc, loop):
        name = f"{alloc.buffer}.{alloc.dims[dim]}"
        raise back.refuse(
            f"what is produced of {name} moves forward with loop {loop.variable}",
            f"what is produced of {name} does not move forward with loop {loop.variable}",
            place=statement_cursor(version, alloc.id),
        )


def have_own_places(version: Version, alloc: Alloc, loop: For) -> bool:
    """Whether no two elements of a buffer that all iterations of a loop touch, one of them to write it, are folded to
    the same place: then the iterations may come in any order, as far as folds go."""
    return all(fold is None or _has_own_places(version, alloc, d, fold, loop) for d, fold in enumerate(alloc.folds))


def _has_own_places(version: Version, alloc: Alloc, dim: int, factor: Expr, loop: For) -> bool:
    readers, writers = (
        [i for i in calls if loop.id in version.ancestors(i)]
        for calls in (version.readers_of(alloc), version.writers_of(alloc))
    )
    whole = _usage(version, alloc, dim, None, readers, writers, clamped=True, home=loop.id)
    return _unfitting(version, whole, factor) is None


def _unfitting(version: Version, window: Usage, factor: Expr) -> Unproved | None:
    """What is not shown, if it is not that all that an iteration touches spans no more coordinates than a fold has."""
    # What may have been written by the time of a read counts whether or not the producer runs in that iteration, so
    # only the facts of the reader (or of the write that a later one could overwrite) may be used.
    pairs = [(write, read, when) for write, _ in window.writes for read, when in window.reads]
    pairs += [(write, other, when) for write, when in window.writes for other, _ in window.writes]
    ranges: dict[Expr, Interval] = {} if window.loop is None else {window.loop.variable: window.loop.range}
    span = constant_value(factor)
    for write, other, when in pairs:
        if span is not None and exceeds_at_most(write.max, other.min, span - 1):
            continue
        if not fits(write.max, other.min, factor, ranges, when.known):
            return Unproved(version, write.max - other.min + 1 <= factor, when.known)
    return None


def fits(high: Expr, low: Expr, factor: Expr, ranges: Mapping[Expr, Interval], known: Facts) -> bool:
    """Whether what lies between two ends is shown to be no longer than a fold. `ranges` are those of loop variables."""
    if _fits(high, low, factor, ranges, known):
        return True
    # Choices in what is multiplied stand in the way of all that: facts often tell which of them is taken.
    plain = simplify(high, known), simplify(low, known)
    return plain != (high, low) and _fits(*plain, factor, ranges, known)


def _fits(high: Expr, low: Expr, factor: Expr, ranges: Mapping[Expr, Interval], known: Facts) -> bool:
    """The same of ends as they are."""
    if at_most(high, low + (factor - 1), known):
        return True
    most = largest_difference(high, low, ranges, known)
    if most is not None and prove(most + 1 <= factor, known):
        return True
    if prove(high - low + 1 <= factor, known):
        return True
    if most is None:  # else that is the same
        most = largest_fixed_difference(high, low, ranges, known)
    return most is not None and shown(most + 1, factor, known)


def _moving_back(version: Version, window: Usage) -> Unproved | None:
    """An end of what is written in a loop that is not shown to move forward with it, if there is one."""
    loop = window.loop
    assert loop is not None
    onward: dict[Expr, Expr] = {loop.variable: loop.variable + loop.step}
    for write, _ in window.writes:
        if rises_plainly(write.min, loop.variable) and rises_plainly(write.max, loop.variable):
            continue  # steps are at least 1
        going = version.facts_at(loop.id).also(loop.range.min <= loop.variable, loop.step >= 1)
        going = going.also(loop.variable + loop.step <= loop.range.max)
        for end in (write.min, write.max):
            later = substitute(end, onward)
            if at_most(end, later, going):
                continue
            advances = end <= later
            if prove(advances, going) or at_most_in_all_cases(end, later, going):
                continue
            return Unproved(version, advances, going)
    return None


def _is_kept_in_turn(version: Version, alloc: Alloc, dim: int, factor: Expr) -> bool:
    """Whether a fold is shown to keep what statements and loops touch that come one after the other."""
    turns = _turns(version, alloc, dim)
    for n, turn in enumerate(turns):
        if _unfitting(version, turn, factor) is not None:
            return False
        if turn.loop is not None and _moving_back(version, turn) is not None:
            return False
        for before in turns[:n]:
            for write, when in before.writes:
                end = over_loops(write, () if before.loop is None else (before.loop,), when.known).max
                if not all(shown(end, other.min + factor - 1, w.known) for other, w in (*turn.reads, *turn.writes)):
                    return False
    return True


def _is_read_where_written(version: Version, alloc: Alloc, loop: For) -> bool:
    """Whether all that is read of a buffer in an iteration of a loop is shown to be written in that iteration."""
    return all(
        OwnIteration(version, alloc.buffer, alloc, touch.call.id, loop).covers(touch.region, touch.known)
        for touch in touches(version, alloc.buffer, version.readers_of(alloc), writing=False)
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
        window = usage_of(version, alloc, dim)
        if factor is alloc.folds[dim]:
            return [unfold_first(f"store {alloc.buffer} in full first", alloc, dim)]
        helping = [instead(needed, factor=None)]
        if window.loop is not None:
            loop = PlaceOf(window.loop.id)
            slides = [("slide_window", PlaceOf(i), loop) for i in version.writers_of(alloc)]
            slid = first("slide the producer first", *slides)
            helping += [slid, attrs.evolve(slid, change=lambda arguments: {**arguments, "factor": None})]
            helping.append(first("sink the allocation into the loop first", ("store_at", PlaceOf(alloc.id), loop)))
        return helping

    return SchedulingError(
        reason,
        place=statement_cursor(version, alloc.id),
        condition=condition,
        example=lambda: str(found() or ""),
        remedies=remedies,
    )


def require_no_layout(version: Version, alloc: Alloc, dim: int) -> None:
    """Raise `SchedulingError` for an allocation with a layout of its own: a fold lays the rows of a buffer one behind
    the other, in a ring of pages."""
    if alloc.layout is not None:
        raise SchedulingError(
            f"{alloc.buffer} {words_of_layout(alloc)}, and a fold along {alloc.dims[dim]} would "
            f"lay it out in another way",
            place=statement_cursor(version, alloc.id),
        )


def check_folds_of(version: Version, alloc: Alloc) -> None:
    """Check the folds that an allocation has.

    Raises `SchedulingError` for the first that is not shown to hold.
    """
    for dim, fold in enumerate(alloc.folds):
        if fold is not None:
            check_fold(version, alloc, dim, fold)
