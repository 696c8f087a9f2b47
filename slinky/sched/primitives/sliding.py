"""Sliding windows: produce in each iteration only what earlier ones have not produced.

A call in a loop over y (step s) needs `[lo(y), hi(y)]`. If both ends move forward, all of it but
`[hi(y - s) + 1, hi(y)]` was there one iteration before, so the call produces just that; and of the first window, what
comes before must be produced by added iterations: the loop starts k whole steps earlier, with the least k for which
`hi(y0 - (k+1) s) + 1 <= lo(y0)`. In the added iterations nobody else does anything new: every other region in the loop
is clamped from below at its value in the first original iteration, unless the bounds of a buffer do it anyway.

Where the window begins behind that (it has gaps, or moves with a loop inside as well, which is elsewhere then), so does
what is produced: what is read was produced in this iteration, or lies in the window of the one before, too.

If an end moves back, as at the reflected edge of an array, the call follows an envelope `[l(y), h(y)]` of the window
instead: `l(y) <= lo(y)`, `hi(y) <= h(y)`, and both move forward. By induction, all of `[l(y0), h(y)]` is there after
iteration y, and it contains `[l(y), h(y)]`, for `l(y0) <= l(y)`. So whatever envelope is taken, each read finds what it
needs, each element is produced once, and what was before l(y) is never read again. Where the window itself moves
forward it is its own envelope. Else h has the first iteration, and l the last one, for y where the end falls with y
(`envelopes`): at the edge of an array that says how far the window reaches there. Where facts tell that the array's
edge is not beyond that of what is computed, that is less than what the rest of the end says, and is simplified away.

No iteration before the first need produce what comes before such a fixed part of h, for instance the first rows of an
array. Any h does for iterations that are added: it must move forward, and end where the original one starts. So what is
fixed in it goes back by one for each coordinate there, and the first iteration of all produces what comes before.
"""

from __future__ import annotations

import functools
from collections.abc import Set
from typing import Any

from slinky.cursors.cursors import CallCursor, LoopCursor, statement_cursor
from slinky.cursors.editing import Edit
from slinky.cursors.versions import Version
from slinky.errors import OperationError, SchedulingError, cited
from slinky.ir.copies import with_box, with_interval, with_range
from slinky.ir.effects import bounds_of_dim, dims_written, written_by
from slinky.ir.given import is_one_of
from slinky.ir.statements import Alloc, Call, For, is_in_order
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import ONLY_SOME_CHANGED, WRITES_AS_MUCH, Kept, Obligation
from slinky.sched.legality.refusals import Unproved
from slinky.sched.legality.touches import calls_inside
from slinky.sched.operation import sched_op
from slinky.sched.primitives.placement import box_in_loop, need_of
from slinky.sched.primitives.ranges import added_steps, extend_loop, shown_inside, usual_steps, working_in_parallel
from slinky.sched.primitives.rewriting import allocs_of
from slinky.sched.primitives.simplification import simplified_body
from slinky.sched.remedies import PlaceOf, Remedy, first, instead, unfold_first
from slinky.sched.returned import SlideWindowCursors, UnslideWindowCursors
from slinky.symbolic.bounds import simplify
from slinky.symbolic.comparing import at_most
from slinky.symbolic.envelopes import Side, rises_plainly, rising_part
from slinky.symbolic.expressions import (
    Expr,
    Max,
    Min,
    equal,
    maximum,
    minimum,
    select,
)
from slinky.symbolic.intervals import Interval, moves_with
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.solving import Side as LimitSide
from slinky.symbolic.solving import limit_of
from slinky.symbolic.traversal import substitute, symbols

WARMUPS = ("earlier", "first")


@sched_op(SlideWindowCursors)
def slide_window(p: Pipeline, call: CallCursor, loop: LoopCursor, *, warmup: str = "earlier") -> Any:
    """Produce in each iteration of a loop only what earlier iterations have not produced.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.blur(), "blur.x", 1)
        >>> p, fused = compute_at(p, "scale", "for x", rc=True)
        >>> print(fused.loop)
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        >   for x in out.x.min..out.x.max:
              scaled[x - 1 .. x + 1] = scale(inp[x - 1 .. x + 1])
              out[x] = blur(scaled[x - 1 .. x + 1])
        >>> p, slid = slide_window(p, fused.call, fused.loop, rc=True)
        >>> print(slid.loop)
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        >   for x in out.x.min - 2 .. out.x.max:
              scaled[x + 1] = scale(inp[x + 1])
              out[x] = blur(scaled[x - 1 .. x + 1])

    Parameters:
        call: the producer, at or inside the loop.
        loop: the loop along which its window moves: any loop around it.
        warmup: how the first window is produced. `"earlier"`: the loop starts so many whole steps earlier that each
            iteration produces as much as any other (or the first of them more, where the window stands still there at
            the edge of an array). `"first"`: the first iteration produces all of it (a `select`), for loops that must
            not start earlier; `cut_loop` can peel that iteration.

    A window that moves back at the edges of an array, where what is read is reflected, say, may slide, too: what is
    read later is kept from where it was produced first.

    Refused: a buffer allocated inside the loop; a parallel loop; a window of which more than one dimension moves with
    the loop, or which does not move forward; a folded dimension; a loop in which something is not shown to find what it
    reads once the call produces less, or goes on by, or divides by, what is at least 1 only in the iterations that
    there were.

    Cursors:
        allocs: the allocations of its outputs, but for outputs of the pipeline, which have none.
        loop: the loop.
        call: the call.
    """
    if not is_one_of(warmup, WARMUPS):
        raise OperationError(f"warmup must be one of {', '.join(WARMUPS)}, got {cited(warmup)}")
    version, old, around = p._version, call._call, loop._loop
    d = _moving_dim(version, call, loop)
    known = version.facts_at(old.id)
    ranges = version.facts_at(around.id).also(around.step >= 1)
    y, step = around.variable, around.step
    limit = bounds_of_dim(old, d, version.box_at(old.id))
    window = _forward_window(version, call, loop, old.box[d], known.also(step >= 1))
    first_low = simplify(maximum(substitute(window.min, {y: around.range.min}), limit.min), ranges)
    edit = Edit(version)
    working: tuple[int, ...] = (old.id,)
    reading: tuple[int, ...] = ()  # the call reads a part of what it read, but where it runs more often
    outside = {around.id, *version.ancestors(around.id)}
    inner = {each.variable for each in version.loops_around(old.id) if each.id not in outside}
    if warmup == "first":
        produced = _filled_at(simplify(around.range.min, ranges), window, first_low, around, inner, ranges)
    else:
        start, produced = _filled_earlier(window, first_low, limit.min, around, inner, ranges)
        working = tuple(extend_loop(edit, version, around, old.id, Interval(start, around.range.max)))
        reading = working if start is not around.range.min else ()
    edit.update(with_interval(old, d, produced))
    new = settle(
        edit,
        "slide_window",
        Kept(ONLY_SOME_CHANGED, (Obligation.POSITIVE,), but_for=(around.id, old.id, *shown_inside(version, around))),
        Kept(ONLY_SOME_CHANGED, (Obligation.INPUTS,), but_for=reading),
        Kept(ONLY_SOME_CHANGED, (Obligation.READS, Obligation.FOLDS), but_for=working),
        Kept(WRITES_AS_MUCH, (Obligation.READERS, Obligation.OUTPUTS), but_for=(old.id,)),
        Kept(ONLY_SOME_CHANGED, (Obligation.RACES,), but_for=working_in_parallel(version, working)),
        remedies=lambda gap: _first_at_once(),
        of_ranges=None if warmup == "first" else _first_at_once,
    )
    changed = new._version
    return new, (allocs_of(changed, old), LoopCursor(changed, around.id), CallCursor(changed, old.id))


@sched_op(UnslideWindowCursors)
def unslide_window(p: Pipeline, call: CallCursor, loop: LoopCursor) -> Any:
    """Produce in each iteration of a loop all that the iteration needs: the inverse of `slide_window`.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = compute_at(split_loop(examples.blur(), "blur.x", 1), "scale", "for x")
        >>> p, slid = slide_window(p, "scale", "for x", rc=True)
        >>> print(slid.loop)
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        >   for x in out.x.min - 2 .. out.x.max:
              scaled[x + 1] = scale(inp[x + 1])
              out[x] = blur(scaled[x - 1 .. x + 1])
        >>> p, (loop, call) = unslide_window(p, slid.call, slid.loop, rc=True)
        >>> print(loop)
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        >   for x in out.x.min..out.x.max:
              scaled[x - 1 .. x + 1] = scale(inp[x - 1 .. x + 1])
              out[x] = blur(scaled[x - 1 .. x + 1])

    Iterations that the loop had for this call alone, before the first in which another call does something, are gone.
    Iterations that need nothing of each other can then run in parallel, each with a buffer of its own (`store_at`).

    Parameters:
        call: the producer, at or inside the loop.
        loop: the loop along which its window moves.

    Refused: a call that does not stand in the loop, or computes all that an iteration needs already; an order in which
    something is not shown to find what it reads (a reader outside of the loop, say).

    Cursors:
        loop: the loop.
        call: the call.
    """
    version, old, around = p._version, call._call, loop._loop
    if around.id not in version.ancestors(old.id):
        raise SchedulingError(f"the call of {call.name()} is not in loop {around.variable}", place=call)
    needed = need_of(version, old, around)
    if needed is None:
        raise SchedulingError(f"nothing in loop {around.variable} reads {' or '.join(call.outputs())}", place=loop)
    is_output = any(version.alloc_of(buffer, old.id) is None for buffer in written_by(old))
    box = box_in_loop(version, old, needed, around, version.facts_at(old.id), is_output=is_output)
    if box == old.box:
        raise SchedulingError(
            f"{call.name()} computes all that an iteration of loop {around.variable} needs already", place=call
        )
    edit = Edit(version)
    edit.update(with_box(old, box))
    known = version.facts_at(around.id).also(around.step >= 1)
    start = _first_needed(version, old, around, known)
    now = edit.statement(around.id)
    assert isinstance(now, For)
    if start is not around.range.min:
        now = with_range(now, Interval(start, around.range.max))
        edit.update(simplified_body(now, known))
    new = settle(edit, "unslide_window")
    return new, (LoopCursor(new._version, around.id), CallCursor(new._version, old.id))


def _first_needed(version: Version, call: Call, loop: For, known: Facts) -> Expr:
    """The first iteration of a loop in which another call than this one may do anything; as it is where that is not
    clear."""
    low, step, y = loop.range.min, loop.step, loop.variable
    starts: list[Expr] = []
    for other in calls_inside(version, loop.id):
        if other.id != call.id:
            start = _first_doing(version, other, y, known)
            if start is None:
                return low
            starts.append(start)
    if not starts or prove(minimum(*starts) <= low, known):
        return low
    start = minimum(*starts)
    return simplify(low + step * maximum((start - low + step - 1) // step, 0), known)


def _first_doing(version: Version, call: Call, y: Expr, known: Facts) -> Expr | None:
    """From which y on a call reaches the bounds of its outputs; None if that is not clear."""
    inner = {loop.variable for loop in version.loops_around(call.id)} - {y}
    for d, i in enumerate(call.box):
        if y in symbols(i.max):
            found = limit_of(i.max >= bounds_of_dim(call, d, version.box_at(call.id)).min, y, known)
            if found is not None and found.side is LimitSide.AT_LEAST and inner.isdisjoint(symbols(found.value)):
                return found.value
    return None


def _first_at_once() -> list[Remedy]:
    return [instead("produce the first window in the first iteration, and leave the range of the loop", warmup="first")]


def _moving_dim(version: Version, call: CallCursor, loop: LoopCursor) -> int:
    """The dimension of a call's box that moves with the loop."""
    old, around = call._call, loop._loop
    if loop._id not in version.ancestors(old.id):
        raise SchedulingError(
            f"the call of {old.func.name} is not in loop {around.variable}",
            place=call,
            remedies=lambda: [first("compute it there first", ("compute_at", PlaceOf(old.id), PlaceOf(around.id)))],
        )
    if not is_in_order(around):
        raise SchedulingError(
            f"loop {around.variable} is parallel: its iterations do not come one after the other", place=loop
        )
    moving = [d for d, i in enumerate(old.box) if moves_with(i, around.variable)]
    if len(moving) != 1:
        count = "no dimension" if not moving else "more than one dimension"
        raise SchedulingError(f"{count} of what {old.func.name} produces moves with loop {around.variable}", place=call)
    d = moving[0]
    for buffer, dims in dims_written(old).items():
        alloc = version.alloc_of(buffer, old.id)
        if alloc is not None and loop._id in version.ancestors(alloc.id):
            raise SchedulingError(
                f"{buffer} is allocated inside loop {around.variable}, so nothing of it lasts from one "
                f"iteration to the next",
                place=statement_cursor(version, alloc.id),
                remedies=functools.partial(_lift, version, alloc, loop._id),
            )
        if d not in dims:
            raise SchedulingError(f"output {buffer} of {old.func.name} does not have the dimension that moves")
        if alloc is not None and alloc.folds[dims.index(d)] is not None:
            raise SchedulingError(
                f"{buffer} is folded along the dimension that moves",
                place=statement_cursor(version, alloc.id),
                remedies=functools.partial(_unfold, alloc, dims.index(d)),
            )
    return d


def _lift(version: Version, alloc: Alloc, loop: int) -> list[Remedy]:
    levels = version.ancestors(alloc.id).index(loop) + 1
    return [first("lift the allocation first", ("lift_alloc", PlaceOf(alloc.id), levels))]


def _unfold(alloc: Alloc, dim: int) -> list[Remedy]:
    return [unfold_first("store it in full first, and fold it after sliding", alloc, dim)]


def _behind_last(window: Interval, loop: For, inner: Set[Expr]) -> Expr:
    """What comes right behind all that was produced one iteration before, where loops inside were where they are now:
    if the window moves with these, too, it may begin behind that."""
    behind = substitute(window.max, {loop.variable: loop.variable - loop.step}) + 1
    return behind if inner.isdisjoint(symbols(window.min)) else maximum(behind, window.min)


def _filled_at(start: Expr, window: Interval, first_low: Expr, loop: For, inner: Set[Expr], ranges: Facts) -> Interval:
    """What is produced where one iteration produces all of its window, and the later ones what is new."""
    fresh_low = _behind_last(window, loop, inner)
    if substitute(fresh_low, {loop.variable: start}) is first_low:
        return Interval(fresh_low, window.max)  # windows side by side: what is new in the first iteration is all of it
    inside = ranges.also(start <= loop.variable, loop.variable <= loop.range.max)
    if prove(fresh_low <= window.min, inside):
        return window  # windows with gaps between them: all of each is new
    return Interval(select(equal(loop.variable, start), first_low, fresh_low), window.max)


def _filled_earlier(
    window: Interval, first_low: Expr, limit: Expr, loop: For, inner: Set[Expr], ranges: Facts
) -> tuple[Expr, Interval]:
    """Where the loop starts so that iterations before the first produce its window, and what each produces.

    `limit` is where the bounds of the outputs start. If no start is shown to be early enough, the loop starts where it
    would in the midst of the array, and its first iteration produces all that comes before.
    """
    y, first = loop.variable, loop.range.min
    earlier = added_steps(window.max, y, loop, first_low, ranges) * loop.step
    fresh_low = _behind_last(window, loop, inner)
    # The steps that are asked for by one part of the end may not be shown to be enough, where none are needed at all.
    for start in dict.fromkeys((simplify(first - earlier, ranges), first)):
        if prove(substitute(fresh_low, {y: start}) <= first_low, ranges):
            return start, Interval(_low_of_fresh(window, fresh_low, first_low, limit, start, loop, ranges), window.max)
    start = simplify(first - usual_steps(window, loop) * loop.step, ranges)
    ramped = Interval(window.min, _with_ramps(window.max, loop))
    return start, _filled_at(start, ramped, first_low, loop, inner, ranges)


def _low_of_fresh(
    window: Interval, fresh_low: Expr, first_low: Expr, limit: Expr, start: Expr, loop: For, ranges: Facts
) -> Expr:
    """Where what an iteration produces starts: behind what was there before, and not before the first window."""
    inside = ranges.also(start <= loop.variable, loop.variable <= loop.range.max)
    if start is loop.range.min and prove(fresh_low <= window.min, inside):
        return window.min  # windows side by side, in the words of the window, or with gaps between them
    if prove(maximum(fresh_low, first_low) <= maximum(fresh_low, limit), inside):
        return fresh_low
    return simplify(maximum(fresh_low, first_low), inside)


def _with_ramps(high: Expr, loop: For) -> Expr:
    """The end of a window, the same in the original iterations; before them, what does not move in it goes back, too.

    An operand c of a maximum becomes `min(c, c + y + s - 1 - y0)`: c from the last of what comes before y0 + 1 - s on,
    and one less for each coordinate before. No whole step before y0 ends behind that, so s are produced in each.
    """
    y = loop.variable
    if not isinstance(high, (Min, Max)) or y not in symbols(high):
        return high
    late = y + loop.step - 1 - loop.range.min
    fixed = [e for e in high.operands if y not in symbols(e)]
    moving = [_with_ramps(e, loop) for e in high.operands if y in symbols(e)]
    if isinstance(high, Min):
        return minimum(*fixed, *moving)
    return maximum(*(minimum(e, e + late) for e in fixed), *moving)


def _forward_window(version: Version, call: CallCursor, loop: LoopCursor, window: Interval, known: Facts) -> Interval:
    """A window whose ends move forward: the one that is needed, or where an end of that moves back, its envelope."""
    y, range_ = loop._loop.variable, loop._loop.range
    refused: SchedulingError | None = None
    ends: list[Expr] = []
    for name, end, side, extreme in (
        ("start", window.min, Side.BELOW, range_.max),
        ("end", window.max, Side.ABOVE, range_.min),
    ):
        backward = _moves_back(version, call, loop, name, end, known)
        if backward is None:
            ends.append(end)
            continue
        refused = refused or backward
        envelope = rising_part(end, y, extreme, side, known)
        if envelope is None:
            raise refused
        ends.append(simplify(envelope, known))
    if refused is not None and y not in symbols(ends[1]):
        raise refused  # all of it would be produced in the first iteration
    return Interval(*ends)


def _moves_back(
    version: Version, call: CallCursor, loop: LoopCursor, name: str, end: Expr, known: Facts
) -> SchedulingError | None:
    """The refusal of an end of a window that is not shown to move forward; None if it is."""
    y, step = loop._loop.variable, loop._loop.step
    if rises_plainly(end, y):
        return None
    later = substitute(end, {y: y + step})
    if at_most(end, later, known) or prove(condition := end <= later, known):
        return None
    what = f"the {name} of what {call.name()} produces"
    return Unproved(version, condition, known).refuse(
        f"{what} moves forward with loop {y}", f"{what} does not move forward with loop {y}", place=call
    )
