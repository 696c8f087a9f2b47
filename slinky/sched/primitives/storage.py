"""Primitives on storage: fold and unfold, sink into a loop, lift out of it.

An allocation that is sunk or lifted takes its fold with it, which then holds there, too. Calls do the same in the same
order, but for elements that a sunk buffer lacks, and these nobody reads; and of the coordinates within one iteration's
bounds, those that share storage did before. So a read finds what was stored last in its place. Where iterations find
all that they read written in the same iteration (which coverage says of a buffer in the loop), that was stored in this
iteration, be the buffer older or not. A factor that is lifted is at least 1 also where the loops never run.

Nor are outputs and races looked at: a call keeps its box. The bounds of a buffer that is sunk contain what it writes if
it writes to other buffers as well, and those of one that is lifted get clamps in their place.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from slinky.cursors.answers import dim_position
from slinky.cursors.cursors import AllocCursor, LoopCursor, statement_cursor
from slinky.cursors.editing import Edit, Gap
from slinky.cursors.versions import ROOT, Version
from slinky.errors import SchedulingError
from slinky.ir.copies import with_bounds, with_folds
from slinky.ir.effects import dims_written, written_by
from slinky.ir.scopes import loop_facts, over_loops
from slinky.ir.statements import Alloc, Call, For, is_in_order, walk
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.containing import inside
from slinky.sched.legality.folds import Usage, check_fold, usage_of
from slinky.sched.legality.reasons import (
    ALL,
    ALL_BUT_CHECKS,
    FOLD_ALONE,
    LESS_LIFE,
    MORE_ROOM,
    Kept,
    Obligation,
    Reason,
)
from slinky.sched.legality.room import leave_room
from slinky.sched.legality.stages import folds_needed
from slinky.sched.legality.touches import touches
from slinky.sched.operation import sched_op
from slinky.sched.primitives.rewriting import (
    at_least_one,
    keep_clamped,
    levels_around,
    require_known_symbols,
    require_positive,
)
from slinky.sched.remedies import PlaceOf, Remedy, first, unfold_first
from slinky.sched.returned import FoldStorageCursors, LiftAllocCursors, StoreAtCursors, UnfoldStorageCursors
from slinky.symbolic.bounds import bounds, simplify
from slinky.symbolic.differences import largest_difference, largest_fixed_difference
from slinky.symbolic.expressions import Expr, Scalar, maximum
from slinky.symbolic.intervals import Interval, hull, in_multiples, intersection
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import symbols

_KEPT_IN_FULL = Kept(FOLD_ALONE, ALL)

_ALL_BUT_POSITIVE = tuple(o for o in ALL_BUT_CHECKS if o is not Obligation.POSITIVE)

_SHARED = (Obligation.FOLDS, Obligation.RACES)
"""What may be broken where iterations of a parallel loop come to share a buffer that each had for itself."""


@sched_op(FoldStorageCursors)
def fold_storage(p: Pipeline, alloc: AllocCursor, dim: str | int, factor: Expr | None = None) -> Any:
    """Store a dimension of a buffer modulo a factor: only the window that is live at once takes memory.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.blur(), "blur.x", 1)
        >>> p, fused = compute_at(p, "scale", "for x", rc=True)
        >>> p = slide_window(p, fused.call, fused.loop)
        >>> print(fold_storage(p, fused.alloc, "x"))
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          alloc scaled: float32[out.x.min - 1 .. out.x.max + 1 fold 3]
          for x in out.x.min - 2 .. out.x.max:
            scaled[x + 1] = scale(inp[x + 1])
            out[x] = blur(scaled[x - 1 .. x + 1])

    Parameters:
        dim: the dimension, by name or position.
        factor: how many coordinates to keep: at least the largest window that is live at once, which is the default.

    Refused: a factor smaller than what is live; accesses that do not move forward with one loop around them all; that
    loop being parallel, unless the factor holds what all of its iterations touch; without a factor, a dimension all of
    which is live at once, so that nothing would be saved; a second folded dimension (callbacks get plain strided views,
    and only one dimension of them can wrap around); a default that would divide by what is at least 1 only further
    inside.

    Cursors:
        alloc: the allocation.
    """
    version, old = p._version, alloc._alloc
    d = dim_position(old.dims, dim, f"buffer {old.buffer}")
    for other, fold in enumerate(old.folds):
        if fold is not None and other != d:
            raise SchedulingError(
                f"{old.buffer} is already folded along {old.dims[other]}; only one dimension can be",
                place=alloc,
                remedies=functools.partial(_store_other_in_full, old, other),
            )
    edit = Edit(version)
    if factor is None:
        factor = _with_room_for_stages(version, old, d, _window_extent(version, alloc, d))
        _require_saving(version, alloc, d, factor)
    else:
        require_known_symbols(version, factor, "the factor", version.loops_around(old.id))
        edit.add_scalars(symbols(factor))
        require_positive(edit, factor, "the factor", version.facts_at(old.id))
    # A fold is shown by the checks that come with its factor, too.
    checked = version if edit.program is version.program else edit.copy().finish("fold_storage")
    check_fold(checked, old, d, factor)
    edit.update(with_folds(old, (*old.folds[:d], factor, *old.folds[d + 1 :])))
    new = settle(edit, "fold_storage", *_kept_but_for_bounds(FOLD_ALONE, old))
    return new, (AllocCursor(new._version, old.id),)


def _with_room_for_stages(version: Version, alloc: Alloc, d: int, factor: Expr) -> Expr:
    """A factor that also holds what stages of a pipelined loop around all accesses write ahead of the windows."""
    if not version.pipelined_loops():
        return factor
    loop = usage_of(version, alloc, d).loop
    if loop is None or loop.id not in version.pipelined_loops():
        return factor
    edit = Edit(version)
    edit.update(with_folds(alloc, (*alloc.folds[:d], factor, *alloc.folds[d + 1 :])))
    _, needed = folds_needed(edit.finish("fold_storage"), loop).get(alloc.id, (d, []))
    return simplify(maximum(factor, *needed), version.facts_at(alloc.id))


def _require_saving(version: Version, alloc: AllocCursor, d: int, factor: Expr) -> None:
    """Refuse a default that is as long as the dimension, however long that is. All of a few rows may be folded."""
    old = alloc._alloc
    extent = old.box[d].extent
    is_short = all(isinstance(s, Scalar) for s in symbols(extent))
    if not is_short and prove(extent <= factor, version.facts_at(old.id)):
        raise SchedulingError(
            f"the default fold along {old.dims[d]} would save nothing: not shown that less than all of "
            f"{old.buffer}.{old.dims[d]} is live at once",
            place=alloc,
        )


def _store_other_in_full(alloc: Alloc, other: int) -> list[Remedy]:
    return [unfold_first(f"store dimension {alloc.dims[other]} in full first", alloc, other)]


def _compute_in_one_loop(version: Version, alloc: Alloc) -> list[Remedy]:
    """Remedies where a producer and its readers stand in no loop together: compute it in a loop around the readers."""
    readers, writers = version.readers_of(alloc), version.writers_of(alloc)
    loops = version.loops_around(readers[0]) if readers else []
    common = [loop for loop in loops if all(loop.id in version.ancestors(i) for i in readers)]
    words = "compute the producer in the loop of its readers first"
    found = []
    for loop in common:
        moves = [("compute_at", PlaceOf(i), PlaceOf(loop.id)) for i in writers]
        slides = [("slide_window", PlaceOf(i), PlaceOf(loop.id)) for i in writers]
        found += [first(f"{words}, and slide it", *moves, *slides), first(words, *moves)]
    return found


def _window_extent(version: Version, alloc: AllocCursor, d: int) -> Expr:
    """The largest extent of what is live of a dimension at once, over the iterations of the loop around all."""
    old = alloc._alloc
    window = usage_of(version, old, d, clamped=False)
    if window.loop is None:
        raise SchedulingError(
            f"the accesses of {old.buffer} do not stand in one loop",
            place=alloc,
            hint="compute the producer in the loop of its consumers first (compute_at)",
            remedies=lambda: _compute_in_one_loop(version, old),
        )
    if not window.writes:
        raise SchedulingError(f"no call writes {old.buffer}, so there is nothing to keep", place=alloc)
    known = version.facts_at(window.loop.id).also(*loop_facts(window.loop))
    extents = [_largest_extent(high, low, window.loop, known) for high, low in _pairs(window)]
    factor = simplify(maximum(*extents), known)
    # It is evaluated where the buffer is allocated, also where the loop around the accesses never runs.
    return at_least_one(factor, version.facts_at(old.id))


def _pairs(window: Usage) -> Iterable[tuple[Expr, Expr]]:
    for write, _ in window.writes:
        for other, _ in (*window.reads, *window.writes):
            yield write.max, other.min


def _largest_extent(high: Expr, low: Expr, loop: For, known: Facts) -> Expr:
    """The largest `high - low + 1` over a loop, free of its variable: it is evaluated outside."""
    extent = high - low + 1
    y = loop.variable
    if y not in symbols(extent):
        return extent
    ranges: dict[Expr, Interval] = {y: loop.range}
    most = largest_difference(high, low, ranges, known)
    if most is not None:
        return most + 1
    most = largest_fixed_difference(high, low, ranges, known)
    return bounds(extent, ranges, known).max if most is None else most + 1


@sched_op(UnfoldStorageCursors)
def unfold_storage(p: Pipeline, alloc: AllocCursor, dim: str | int) -> Any:
    """Store a dimension of a buffer in full again: the inverse of `fold_storage`. Always legal.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.blur(), "blur.x", 1)
        >>> p, fused = compute_at(p, "scale", "for x", rc=True)
        >>> p = slide_window(p, fused.call, fused.loop)
        >>> p, (alloc,) = fold_storage(p, fused.alloc, "x", rc=True)
        >>> print(alloc.storage(), unfold_storage(p, alloc, "x").forward(alloc).storage())
        (<3>,) (None,)

    Cursors:
        alloc: the allocation.
    """
    old = alloc._alloc
    d = dim_position(old.dims, dim, f"buffer {old.buffer}")
    edit = Edit(p._version)
    edit.update(with_folds(old, (*old.folds[:d], None, *old.folds[d + 1 :])))
    new = settle(edit, "unfold_storage", _KEPT_IN_FULL)
    return new, (AllocCursor(new._version, old.id),)


@sched_op(StoreAtCursors)
def store_at(p: Pipeline, alloc: AllocCursor, loop: LoopCursor) -> Any:
    """Allocate a buffer inside a loop, just large enough for what one iteration reads.

    Of a buffer that is written together with others (a func of several outputs), the call's box counts as well: the
    bounds of a buffer clamp the call, so they must not cut off what it writes to the others. A dimension that a func
    computes whole stays as it is.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.blur(), "blur.x", 8)
        >>> p, fused = compute_at(p, "scale", "for x", rc=True)
        >>> print(store_at(p, fused.alloc, fused.loop))
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          for x in out.x.min..out.x.max step 8:
            alloc scaled: float32[x - 1 .. min(out.x.max + 1, x + 8)]
            scaled[x - 1 .. x + 8] = scale(inp[x - 1 .. x + 8])
            out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])

    Refused: a buffer that is read or written outside the loop; iterations that read what earlier ones wrote (a window
    that slides in this loop); bounds that would divide by what is at least 1 only further inside.

    Cursors:
        loop: the loop.
        alloc: the allocation, the first statement of the loop's body.
    """
    version, old, target = p._version, alloc._alloc, loop._loop
    if target.id in version.ancestors(old.id):
        raise SchedulingError(f"{old.buffer} is already allocated inside loop {target.variable}", place=alloc)
    if version.entries[old.id].parent not in (ROOT, *version.ancestors(target.id)):
        levels = len(version.ancestors(old.id))
        raise SchedulingError(
            f"loop {target.variable} is not in the scope of {old.buffer}",
            place=alloc,
            remedies=lambda: [first("lift the allocation first", ("lift_alloc", PlaceOf(old.id), levels))],
        )
    calls = _accesses(version, old)
    for identity in calls:
        if target.id not in version.ancestors(identity):
            raise SchedulingError(
                f"{old.buffer} is used outside loop {target.variable}",
                place=statement_cursor(version, identity),
                remedies=functools.partial(_compute_there, version, identity, target),
            )
    known = version.facts_at(target.body[0].id)
    touched = touches(version, old.buffer, [i for i in calls if i in version.readers(old.buffer)], writing=False)
    writers = [c for c in _calls(version, calls) if old.buffer in written_by(c)]
    together = [c.id for c in writers if len(written_by(c)) > 1]
    touched += touches(version, old.buffer, together, writing=True)
    outputs = [(c, dims_written(c)[old.buffer]) for c in writers]
    whole = {dims.index(d) for c, dims in outputs for d, _ in c.func.whole if d in dims}
    multiples = {dims.index(d): n for c, dims in outputs for d, n in c.func.multiples if d in dims}
    box = []
    for d, bound in enumerate(old.box):
        needed: Interval | None = None
        for touch in touched:
            around = list(reversed(version.loops_around(touch.call.id)))
            inner = around[: next(n for n, other in enumerate(around) if other.id == target.id)]
            i = over_loops(touch.region[d], inner, touch.known)
            needed = i if needed is None else hull(needed, i)
        if needed is None or d in whole:
            needed = bound
        needed = in_multiples(needed, multiples.get(d, 1))
        # What is read lies within the bounds; where that is not shown, the bounds say so.
        if not inside(needed, bound, known):
            needed = intersection(needed, bound)
        box.append(Interval(simplify(needed.min, known), simplify(needed.max, known)))
    edit = Edit(version)
    edit.delete(old.id)
    edit.insert(Gap.before(target.body[0].id), (with_bounds(old, tuple(box), old.folds),))
    writing = tuple(c.id for c in writers)
    new = settle(
        edit,
        "store_at",
        *_kept_but_for_bounds(LESS_LIFE, old, (Obligation.READERS,)),
        Kept(LESS_LIFE, (Obligation.READERS,), but_for=writing),
        remedies=lambda gap: [
            first(
                "an iteration needs what earlier ones wrote; let each compute all that it needs",
                *(("compute_root", PlaceOf(i)) for i in writing),
                *(("compute_at", PlaceOf(i), PlaceOf(target.id)) for i in writing),
            )
        ],
    )
    changed = new._version
    return new, (LoopCursor(changed, target.id), AllocCursor(changed, old.id))


@sched_op(LiftAllocCursors)
def lift_alloc(p: Pipeline, alloc: AllocCursor, levels: int = 1) -> Any:
    """Allocate a buffer outside the loops around it, large enough for all their iterations: the inverse of `store_at`.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.blur(), "blur.x", 8)
        >>> p, fused = compute_at(p, "scale", "for x", rc=True)
        >>> p, stored = store_at(p, fused.alloc, fused.loop, rc=True)
        >>> print(lift_alloc(p, stored.alloc))
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
          for x in out.x.min..out.x.max step 8:
            scaled[x - 1 .. x + 8] = scale(inp[x - 1 .. x + 8])
            out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])

    The calls that write the buffer keep computing what they computed, clamped to what the buffer held before. Out of a
    parallel loop it can be lifted if each iteration writes elements of its own, which are then all there at once.

    Parameters:
        levels: out of how many loops (or ifs), at least 1.

    Refused: more levels than there are; a parallel loop whose iterations would share elements of the buffer, or a fold;
    a fold whose factor depends on a loop; a buffer with strides that are asked for, which might not leave room for
    all iterations; bounds that divide by what is at least 1 only where the loops run.

    Cursors:
        alloc: the allocation.
    """
    version, old = p._version, alloc._alloc
    left = [version.statement(i) for i in levels_around(alloc, levels, old.buffer)]
    known = version.facts_at(old.id)
    loops = [s for s in left if isinstance(s, For)]
    for passed in loops:
        for fold in old.folds:
            if fold is not None and passed.variable in symbols(fold):
                raise SchedulingError(f"the fold of {old.buffer} depends on loop {passed.variable}", place=alloc)
    outermost = left[-1].id
    _require_free_name(version, old, outermost)
    outside = version.facts_at(outermost)
    grown = tuple(over_loops(i, loops, known) for i in old.box)
    box = tuple(Interval(simplify(i.min, outside), simplify(i.max, outside)) for i in grown)
    if not leave_room(old, box, outside):
        raise SchedulingError(
            f"the strides that are asked for {old.buffer} are not shown to leave room for what it would hold",
            place=alloc,
            hint="lift it first, and set its layout then",
        )
    edit = Edit(version)
    edit.delete(old.id)
    # A fold is evaluated where the buffer is allocated, now also where the loops around it never ran.
    folds = tuple(None if f is None else at_least_one(f, outside) for f in old.folds)
    edit.insert(Gap.before(outermost), (with_bounds(old, box, folds),))
    for identity in version.writers_of(old):
        keep_clamped(edit, identity, old, box)
    parallel = [loop for loop in loops if not is_in_order(loop)]
    if not parallel:
        new = settle(edit, "lift_alloc", *_kept_but_for_bounds(MORE_ROOM, old))
        return new, (AllocCursor(new._version, old.id),)
    try:
        new = settle(edit, "lift_alloc", *_kept_but_for_bounds(MORE_ROOM, old, _SHARED))
    except SchedulingError as error:
        raise SchedulingError(
            f"the iterations of the parallel loop {parallel[0].variable} would share {old.buffer}",
            place=statement_cursor(version, parallel[0].id),
            example=functools.partial(getattr, error, "example"),
        ) from error
    return new, (AllocCursor(new._version, old.id),)


def _compute_there(version: Version, identity: int, loop: For) -> list[Remedy]:
    names = [call.func.name for call in _calls(version, [identity])]
    return [first(f"compute {names[0]} there first", ("compute_at", PlaceOf(identity), PlaceOf(loop.id)))]


def _require_free_name(version: Version, alloc: Alloc, sibling: int) -> None:
    """Check that no other buffer of this name is allocated in or behind a statement of its block (a copy of a loop)."""
    entry = version.entries[sibling]
    block = version.block(entry.parent, entry.field)
    for statement in walk(block[version.position(sibling) :]):
        if isinstance(statement, Alloc) and statement.buffer == alloc.buffer and statement.id != alloc.id:
            raise SchedulingError(
                f"another {alloc.buffer} is allocated in the same scope, in a copy of the loop",
                place=statement_cursor(version, statement.id),
            )


def _kept_but_for_bounds(reason: Reason, alloc: Alloc, others: tuple[Obligation, ...] = ()) -> tuple[Kept, ...]:
    """That all is kept but these others; of an allocation it is proved that what its bounds and folds divide by is at
    least 1: they come from places at which more may be known, such as loops that run, or stand at another one now."""
    kept = tuple(o for o in _ALL_BUT_POSITIVE if o not in others) if others else _ALL_BUT_POSITIVE
    return Kept(reason, kept), Kept(reason, (Obligation.POSITIVE,), but_for=(alloc.id,))


def _accesses(version: Version, alloc: Alloc) -> list[int]:
    """The calls that read or write a buffer."""
    return list(dict.fromkeys((*version.writers_of(alloc), *version.readers_of(alloc))))


def _calls(version: Version, identities: Iterable[int]) -> list[Call]:
    return [s for i in identities if isinstance(s := version.statement(i), Call)]
