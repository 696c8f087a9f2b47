"""Sliding windows: produce in each iteration only what earlier ones have not produced.

A call in a loop over y (step s) needs `[lo(y), hi(y)]`. If both ends move forward, all of it but
`[hi(y - s) + 1, hi(y)]` was there one iteration before, so the call produces just that; and of the first window, what
comes before must be produced by added iterations: the loop starts k whole steps earlier, with the least k for which
`hi(y0 - (k+1) s) + 1 <= lo(y0)`. In the added iterations nobody else does anything new: every other region in the loop
is clamped from below at its value in the first original iteration, unless the bounds of a buffer do it anyway.
"""

from __future__ import annotations

import functools
from typing import Any

from slinky.cursors.cursors import CallCursor, LoopCursor, statement_cursor
from slinky.cursors.editing import Edit
from slinky.cursors.versions import Version
from slinky.errors import OperationError, SchedulingError
from slinky.ir.copies import with_interval
from slinky.ir.effects import bounds_of_dim, dims_written
from slinky.ir.statements import SERIAL, Alloc
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import ONLY_SOME_CHANGED, WRITES_AS_MUCH, Kept, Obligation
from slinky.sched.legality.refusals import Unproved
from slinky.sched.operation import sched_op
from slinky.sched.primitives.ranges import added_steps, depending_on, extend_loop
from slinky.sched.primitives.rewriting import allocs_of
from slinky.sched.remedies import PlaceOf, Remedy, first, instead, unfold_first
from slinky.sched.returned import SlideWindowCursors
from slinky.symbolic.bounds import simplify
from slinky.symbolic.comparing import at_most
from slinky.symbolic.expressions import (
    Expr,
    equal,
    maximum,
    select,
)
from slinky.symbolic.intervals import Interval, moves_with
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import substitute

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
            iteration produces as much as any other. `"first"`: the first iteration produces all of it (a `select`),
            for loops that must not start earlier; `cut_loop` can peel that iteration.

    Refused: a buffer allocated inside the loop; a parallel loop; a window of which more than one dimension moves with
    the loop, or an end of which is not shown to move forward; a folded dimension; a loop in which something is not
    shown to find what it reads once the call produces less.

    Cursors:
        allocs: the allocations of its outputs, but for outputs of the pipeline, which have none.
        loop: the loop.
        call: the call.
    """
    if warmup not in WARMUPS:
        raise OperationError(f"warmup must be one of {', '.join(WARMUPS)}, got {warmup!r}")
    version, old, around = p._version, call._call, loop._loop
    d = _moving_dim(version, call, loop)
    known = version.facts_at(old.id)
    ranges = version.facts_at(around.id).also(around.step >= 1)
    window, y, step = old.box[d], around.variable, around.step
    before: dict[Expr, Expr] = {y: y - step}
    at_first: dict[Expr, Expr] = {y: around.range.min}
    limit = bounds_of_dim(old, d, version.box_at(old.id))
    _require_forward(version, call, loop, window, known.also(step >= 1))
    first_low = simplify(maximum(substitute(window.min, at_first), limit.min), ranges)
    fresh_low = substitute(window.max, before) + 1
    edit = Edit(version)
    working: tuple[int, ...] = (old.id,)
    if warmup == "first":
        low = select(equal(y, around.range.min), first_low, fresh_low)
        edit.update(with_interval(old, d, Interval(low, window.max)))
    else:
        earlier = added_steps(window.max, y, around, first_low, ranges) * step
        start = simplify(around.range.min - earlier, ranges)
        condition = substitute(fresh_low, {y: start}) <= first_low
        if not prove(condition, ranges):
            raise SchedulingError(
                f"not shown how many iterations before the first produce its window of {old.func.name}",
                place=call,
                condition=Unproved(version, condition, ranges),
                remedies=_first_at_once,
            )
        working = tuple(extend_loop(edit, version, around, old.id, Interval(start, around.range.max)))
        inside = ranges.also(start <= y, y <= around.range.max)
        low = fresh_low
        if not prove(maximum(fresh_low, first_low) <= maximum(fresh_low, limit.min), inside):
            low = simplify(maximum(fresh_low, first_low), inside)
        edit.update(with_interval(old, d, Interval(low, window.max)))
    outside = tuple(loop.id for loop in version.loops_around(around.id) if loop.mode != SERIAL)
    new = settle(
        edit,
        "slide_window",
        Kept(ONLY_SOME_CHANGED, (Obligation.POSITIVE,), but_for=depending_on(around)),
        Kept(ONLY_SOME_CHANGED, (Obligation.INPUTS,), but_for=working[1:]),
        Kept(ONLY_SOME_CHANGED, (Obligation.READS, Obligation.FOLDS), but_for=working),
        Kept(WRITES_AS_MUCH, (Obligation.READERS, Obligation.OUTPUTS), but_for=(old.id,)),
        Kept(ONLY_SOME_CHANGED, (Obligation.RACES,), but_for=outside),
        remedies=lambda gap: _first_at_once(),
    )
    changed = new._version
    return new, (allocs_of(changed, old), LoopCursor(changed, around.id), CallCursor(changed, old.id))


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
    if around.mode != SERIAL:
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


def _require_forward(version: Version, call: CallCursor, loop: LoopCursor, window: Interval, known: Facts) -> None:
    """Check that both ends of a window move forward."""
    y, step = loop._loop.variable, loop._loop.step
    for name, end in (("start", window.min), ("end", window.max)):
        later = substitute(end, {y: y + step})
        if not at_most(end, later, known) and not prove(condition := end <= later, known):
            what = f"the {name} of what {call.name()} produces"
            raise Unproved(version, condition, known).refuse(
                f"{what} moves forward with loop {y}", f"{what} does not move forward with loop {y}", place=call
            )
