"""Whether the stages of a pipelined loop may overlap as they do.

Idea. Two tasks (a stage of an iteration) are in no order only where an earlier stage is `k` iterations ahead of a later
one, `0 < k < depth` (see `ir.stages`). So for each two stages, each `k`, and each buffer that both touch and one of
them writes: what the earlier one touches at `v + k * step` lies elsewhere than what the later one touches at `v`.
Regions lie apart along a dimension if one ends before the other begins; along one that is folded by F, if both together
moreover span no more than F coordinates, for then no two of them share a place.

Buffers that are allocated in the body are not asked about: each belongs to one stage, whose tasks come one after the
other, and has its own memory there.

Invariant: of a pipelined loop for which `check_stages` raises nothing, every read finds what it finds in the serial
loop, and each element is written last by the call that writes it last there. All else that is proved of programs may
look at it as at a serial loop.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import attrs

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.effects import calls_in
from slinky.ir.scopes import loop_facts, over_loops
from slinky.ir.stages import fault_of, stages_of
from slinky.ir.statements import Alloc, Call, For, Pipelined
from slinky.sched.legality.folds import as_written, fits, forget
from slinky.sched.legality.refusals import Unproved
from slinky.sched.legality.touches import Touch, reads_of_call, writes_of_call
from slinky.sched.remedies import PlaceOf, Remedy, first, unfold_first
from slinky.sched.small_runs import overtaken
from slinky.symbolic.comparing import at_most
from slinky.symbolic.differences import at_most_in_all_cases, largest_difference, largest_fixed_difference
from slinky.symbolic.expressions import Expr
from slinky.symbolic.intervals import Box, Interval, not_empty, substitute_box
from slinky.symbolic.patience import current_patience
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import symbols


@attrs.frozen
class Use:
    """What a call of a stage touches of a buffer in one iteration of the loop, and what is known when it does.

    `region` is the hull over the loops inside; `said` is the same of the call as it is written, without its clamps.
    """

    call: Call
    stage: int
    buffer: str
    alloc: Alloc | None
    writes: bool
    region: Box
    said: Box
    known: Facts


@attrs.frozen
class Overlap:
    """Two uses that are in no order: `ahead` by an earlier stage, that many iterations on, and `behind` by a later one.

    `there` is what the one touches, in terms of the other's iteration, and `said` what its call says that it touches.
    """

    ahead: Use
    behind: Use
    distance: int
    there: Box
    said: Box
    known: Facts


def check_stages(version: Version) -> None:
    """Check that the stages of all pipelined loops are those of their bodies, and may overlap.

    Raises `SchedulingError` for the first that is not shown to.
    """
    for identity in sorted(version.pipelined_loops(), key=version.place):
        loop = version.statement(identity)
        assert isinstance(loop, For)
        require_stages(version, loop)
        for overlap in overlaps(version, loop):
            if not _are_apart(overlap, loop):
                raise _refusal(version, loop, overlap)


def require_stages(version: Version, loop: For) -> None:
    """Check that a loop is made of its stages, and that each has what it allocates for itself.

    Raises `SchedulingError` if not.
    """
    fault = fault_of(loop)
    if fault is None:
        return
    alloc = fault.alloc
    if alloc is None:
        raise SchedulingError(
            fault.words,
            place=statement_cursor(version, loop.id),
            hint="a rewrite that changes how many statements a body has comes before its loop runs in stages",
        )
    raise SchedulingError(
        fault.words,
        place=statement_cursor(version, alloc.id),
        hint="a buffer that goes from stage to stage is allocated outside the loop (lift_alloc) and folded",
        remedies=lambda: [first("allocate it outside the loop first", ("lift_alloc", PlaceOf(alloc.id), 1))],
    )


def overlaps(version: Version, loop: For) -> Iterator[Overlap]:
    """The pairs of uses of one buffer that are in no order, one of them at least a write."""
    mode = loop.mode
    assert isinstance(mode, Pipelined)
    by_buffer: dict[str, list[Use]] = {}  # those outside the loop have names of their own: none hides another one
    for use in _uses(version, loop):
        by_buffer.setdefault(use.buffer, []).append(use)
    for uses in by_buffer.values():
        for ahead in uses:
            for behind in uses:
                if ahead.stage < behind.stage and (ahead.writes or behind.writes):
                    for distance in range(1, mode.depth):
                        yield _overlap(loop, ahead, behind, distance)


def _uses(version: Version, loop: For) -> Iterator[Use]:
    """What the stages of a loop touch of the buffers outside it."""
    for number, stage in enumerate(stages_of(loop)):
        for call in calls_in(stage):
            touched = [(name, touch, False) for name, touch in reads_of_call(version, call)]
            touched += [(name, touch, True) for name, touch in writes_of_call(version, call)]
            for name, touch, writes in touched:
                alloc = version.alloc_of(name, call.id)
                if alloc is None or loop.id not in version.ancestors(alloc.id):
                    yield _use(version, loop, number, name, touch, alloc, writes)


def _use(version: Version, loop: For, stage: int, name: str, touch: Touch, alloc: Alloc | None, writes: bool) -> Use:
    call = touch.call
    around = list(reversed(version.loops_around(call.id)))
    inner = around[: next(n for n, other in enumerate(around) if other.id == loop.id)]

    def over(box: Box) -> Box:
        return tuple(over_loops(i, inner, touch.known) for i in box)

    said = as_written(touch, name, writing=writes).region
    return Use(call, stage, name, alloc, writes, over(touch.region), over(said), forget(touch.known, inner))


def _overlap(loop: For, ahead: Use, behind: Use, distance: int) -> Overlap:
    onward = loop.variable + distance * loop.step
    put: dict[Expr, Expr] = {loop.variable: onward}
    there = substitute_box(ahead.region, put)
    known = behind.known.also(*loop_facts(loop), onward <= loop.range.max)
    known = known.also(not_empty(behind.region), not_empty(there))
    return Overlap(ahead, behind, distance, there, substitute_box(ahead.said, put), known)


_COEFFICIENTS_PER_OVERLAP = 2_000
"""What it takes to look at one overlap, of which there are as many as iterations under way, beside what is searched."""

# Apart ----------------------------------------------------------------------------------------------------------------


def _are_apart(overlap: Overlap, loop: For) -> bool:
    """Whether two uses are shown to touch no place in common: not where the patience of the rewrite is used up."""
    if _is_too_much(overlap, loop):
        return False
    current_patience().spend(_COEFFICIENTS_PER_OVERLAP)
    return any(_are_apart_along(overlap, loop, d, fold) for d, fold in enumerate(_folds(overlap)))


def _is_too_much(overlap: Overlap, loop: For) -> bool:
    """Whether the patience of the rewrite is used up, or will be by the same uses yet more iterations apart."""
    assert isinstance(loop.mode, Pipelined)
    left = loop.mode.depth - 1 - overlap.distance
    return current_patience().is_used_up(left * _COEFFICIENTS_PER_OVERLAP)


def _folds(overlap: Overlap) -> tuple[Expr | None, ...]:
    alloc = overlap.behind.alloc
    return (None,) * len(overlap.there) if alloc is None else alloc.folds


def _are_apart_along(overlap: Overlap, loop: For, d: int, fold: Expr | None) -> bool:
    one, other, known = overlap.there[d], overlap.behind.region[d], overlap.known
    ranges: dict[Expr, Interval] = {loop.variable: loop.range}
    for low, high in ((other, one), (one, other)):
        if _is_before(low, high, known):
            return fold is None or fits(high.max, low.min, fold, ranges, known)
    return False


def _is_before(low: Interval, high: Interval, known: Facts) -> bool:
    """Whether one interval is shown to end before another begins."""
    end = low.max + 1
    return at_most(end, high.min, known) or prove(end <= high.min, known) or at_most_in_all_cases(end, high.min, known)


# Folds that are large enough ------------------------------------------------------------------------------------------


def folds_needed(version: Version, loop: For) -> dict[int, tuple[int, list[Expr]]]:
    """For the folded allocations that stages share, by identity: the folded dimension, and factors that it must have so
    that overlapping uses share no place, as far as a factor helps.

    `loop` need not be in the version as it is, but for its mode.
    """
    needed: dict[int, tuple[int, list[Expr]]] = {}
    ranges: dict[Expr, Interval] = {loop.variable: loop.range}
    for overlap in overlaps(version, loop):
        alloc, is_harmless = overlap.behind.alloc, _are_apart(overlap, loop)
        if _is_too_much(overlap, loop):
            break  # nor will it be shown that the stages may overlap
        if alloc is None or is_harmless:
            continue
        for d, fold in enumerate(alloc.folds):
            if fold is None or not _is_before(overlap.behind.region[d], overlap.there[d], overlap.known):
                continue
            high, low = overlap.said[d].max, overlap.behind.said[d].min
            most = largest_difference(high, low, ranges, overlap.known)
            if most is None:
                most = largest_fixed_difference(high, low, ranges, overlap.known)
            if most is not None and loop.variable not in symbols(most):
                needed.setdefault(alloc.id, (d, []))[1].append(most + 1)
    return needed


# Refusals -------------------------------------------------------------------------------------------------------------


def _refusal(version: Version, loop: For, overlap: Overlap) -> SchedulingError:
    ahead, behind, buffer = overlap.ahead, overlap.behind, overlap.ahead.buffer
    stage, does = f"stage {ahead.stage + 1} of loop {loop.variable}", _VERBS[ahead.writes]
    later = (
        f"elements of {buffer} that stage {behind.stage + 1} of an earlier iteration has yet to {_VERBS[behind.writes]}"
    )
    is_too_much = _is_too_much(overlap, loop)  # then folds are as they were, which says nothing of larger ones
    found = functools.cache(lambda: None if is_too_much else overtaken(version.program, buffer, loop.id))

    def reason() -> str:
        return f"{stage} would {does} {later}" if found() else f"not shown that {stage} would {does} no {later}"

    return SchedulingError(
        reason,
        place=statement_cursor(version, behind.call.id),
        condition=None if is_too_much else _missing(version, loop, overlap),
        example=lambda: str(found() or ""),
        hint=_TOO_MUCH if is_too_much else _HINT if any(fold is not None for fold in _folds(overlap)) else "",
        remedies=lambda: _remedies(loop, overlap),
    )


def _missing(version: Version, loop: For, overlap: Overlap) -> Unproved | None:
    """What would show that two uses are apart, along the dimension that moves on with the loop: that the one further on
    begins behind the other, or, where it does, that the fold holds both."""
    moving = [d for d, i in enumerate(overlap.ahead.region) if loop.variable in symbols(i.min) | symbols(i.max)]
    for d in (*moving, *range(len(overlap.there))):
        low, high, fold = overlap.behind.region[d], overlap.there[d], _folds(overlap)[d]
        condition = low.max + 1 <= high.min
        if fold is not None and _is_before(low, high, overlap.known):
            condition = high.max - low.min + 1 <= fold
        return Unproved(version, condition, overlap.known)
    return None


_VERBS = ("read", "write")

_HINT = "fold by what all iterations hold that may be under way, fold_storage(..., factor), or let fewer be (depth)"


_TOO_MUCH = "so many iterations under way are more than can be looked at: let fewer be (depth)"


def _remedies(loop: For, overlap: Overlap) -> list[Remedy]:
    """A fold that is large enough; all of it; a producer that writes nothing again."""
    alloc = overlap.behind.alloc
    if alloc is None:
        return []
    folded = [d for d, fold in enumerate(alloc.folds) if fold is not None]
    found = [Remedy("the default factor", change=lambda arguments: {**arguments, "factor": None})] if folded else []
    found += [unfold_first(f"store {alloc.buffer} in full first", alloc, d) for d in folded]
    if overlap.ahead.writes:
        producer = PlaceOf(overlap.ahead.call.id)
        found.append(first("slide the producer first", ("slide_window", producer, PlaceOf(loop.id))))
    return found
