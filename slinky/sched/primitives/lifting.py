"""Primitives that take calls out of loops, or out of all iterations but the first.

A call that moves before a loop computes there the hull of what it computed in all iterations, so whoever read that
finds it. One that computes the same in every iteration is needed in the first alone. That the calls find there what
they read themselves is proved.
"""

from __future__ import annotations

import functools
from typing import Any

from slinky.cursors.cursors import CallCursor, LoopCursor, statement_cursor
from slinky.cursors.editing import Edit, Gap
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.copies import symbols_of, with_box
from slinky.ir.effects import bounds_of_dim, written_by
from slinky.ir.scopes import over_loops
from slinky.ir.statements import SERIAL, Call, For, If, Pass
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import WRITES_AS_MUCH, Kept, Obligation
from slinky.sched.operation import sched_op
from slinky.sched.primitives.placement import ELSEWHERE
from slinky.sched.primitives.rewriting import delete_with_idle_blocks, in_words_of, levels_around
from slinky.sched.remedies import PlaceOf, Remedy, first
from slinky.sched.returned import ComputeOnceCursors, LiftCallCursors
from slinky.symbolic.bounds import decide, simplify
from slinky.symbolic.expressions import TRUE
from slinky.symbolic.intervals import Box, Interval, in_multiples


@sched_op(LiftCallCursors)
def lift_call(p: Pipeline, call: CallCursor, levels: int = 1) -> Any:
    """Move a call before the loops that it stands in, where it computes what all their iterations need.

    By one level, that is the inverse of `compute_at`.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p, (loop, _, _) = split_loop(examples.blur(), "blur.x", 8, rc=True)
        >>> p, at = compute_at(p, "scale", loop, rc=True)
        >>> print(at.call)
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
            for x in out.x.min..out.x.max step 8:
        >     scaled[x - 1 .. x + 8] = scale(inp[x - 1 .. x + 8])
              out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        >>> p, (call,) = lift_call(p, at.call, rc=True)
        >>> print(call)
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        >   scaled[:] = scale(inp[:])
            for x in out.x.min..out.x.max step 8:
              out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])

    A loop that has nothing left to do ends.

    Parameters:
        levels: out of how many loops (or ifs), at least 1.

    Refused: more levels than there are; a buffer that is allocated inside of what the call leaves (`lift_alloc` first);
    a call that is not shown to find what it reads before the loop (lift what computes that first); a fold that does not
    hold what all iterations need (`unfold_storage` first); a box that divides by what is at least 1 only where the
    loops run.

    Cursors:
        call: the call.
    """
    version, old = p._version, call._call
    left = levels_around(call, levels, f"the call of {call.name()}")
    outermost = left[-1]
    _require_buffers_outside(version, old, outermost, f"what {call.name()} would leave")
    edit = Edit(version)
    edit.insert(Gap.before(outermost), (marker := Pass(),))
    delete_with_idle_blocks(edit, old.id, ELSEWHERE, keep=version.entries[outermost].parent)
    edit.replace(marker.id, (with_box(old, _box_for_all(version, old, left)),))
    new = settle(
        edit,
        "lift_call",
        Kept(WRITES_AS_MUCH, (Obligation.READERS, Obligation.OUTPUTS)),
        remedies=lambda gap: _lift_writers(version, gap.buffer, outermost),
    )
    return new, (CallCursor(new._version, old.id),)


@sched_op(ComputeOnceCursors)
def compute_once(p: Pipeline, call: CallCursor, loop: LoopCursor) -> Any:
    """Compute a call in the first iteration of a loop only, where every iteration computes the same.

        >>> import slinky as sl, numpy as np
        >>> y, x = sl.variables("y x")
        >>> row, t, out = (sl.BufferExpr(name, np.float32, rank) for name, rank in [("row", 1), ("t", 1), ("out", 2)])
        >>> half = sl.Func(lambda s, o: np.multiply(s, 0.5, out=o), [row[x]], [t[x]], name="half")
        >>> repeat = sl.Func(lambda s, o: np.copyto(o, s), [t[x]], [out[y, x]], name="repeat")
        >>> p, (loop, _, _) = split_loop(sl.build_pipeline([row], [out]), "repeat.y", 8, rc=True)
        >>> p, at = compute_at(p, "half", loop, rc=True)
        >>> print(compute_once(p, at.call, loop).find("for y"))
          pipeline repeat(row: float32[1]) -> (out: float32[2]):
            check row.x.min <= out.x.min
            check out.x.max <= row.x.max
            alloc t: float32[out.x.min..out.x.max]
        >   for y in out.y.min..out.y.max step 8:
              if y <= out.y.min:
                t[:] = half(row[:])
              out[y .. y + 7, :] = repeat(t[:])

    `lift_call` computes it before the loop, where all that it reads is there by then; `cut_loop` peels the first
    iteration.

    Refused: a call that does not stand in the loop, or is computed in the first iteration only already; a parallel
    loop; a call of which an end moves with the loop; a buffer that is allocated inside the loop (`lift_alloc` first); a
    fold that lets go of what later iterations read.

    Cursors:
        loop: the loop.
        call: the call, in an `if`.
    """
    version, old, around = p._version, call._call, loop._loop
    y, name = around.variable, call.name()
    if around.id not in version.ancestors(old.id):
        raise SchedulingError(f"the call of {name} is not in loop {y}", place=call)
    if around.mode != SERIAL:
        raise SchedulingError(
            f"loop {y} is parallel: none of its iterations is the first",
            place=loop,
            remedies=lambda: [first("say that they come one after the other", ("serialize_loop", PlaceOf(around.id)))],
        )
    loops = version.loops_around(old.id)
    inner = loops[loops.index(around) + 1 :]
    if y in symbols_of(old) or any(y in symbols_of(other) for other in inner):
        raise SchedulingError(f"what {name} computes moves with loop {y}", place=call)
    _require_buffers_outside(version, old, around.id, f"loop {y}, so nothing of it lasts")
    is_first = y <= around.range.min
    if decide(is_first, version.facts_at(old.id)) is TRUE:
        raise SchedulingError(f"{name} is computed in the first iteration of loop {y} only", place=call)
    edit = Edit(version)
    edit.insert(Gap.before(old.id), (marker := Pass(),))
    edit.delete(old.id)
    edit.replace(marker.id, (If(is_first, (old,)),))
    new = settle(edit, "compute_once")
    return new, (LoopCursor(new._version, around.id), CallCursor(new._version, old.id))


def _require_buffers_outside(version: Version, call: Call, outermost: int, why: str) -> None:
    """Raise `SchedulingError` if a buffer that a call writes is allocated inside of a statement around it."""
    for buffer in written_by(call):
        alloc = version.alloc_of(buffer, call.id)
        inside = version.ancestors(alloc.id) if alloc is not None else []
        if alloc is not None and outermost in inside:
            steps = ("lift_alloc", PlaceOf(alloc.id), inside.index(outermost) + 1)
            raise SchedulingError(
                f"{buffer} is allocated inside of {why}",
                place=statement_cursor(version, alloc.id),
                remedies=functools.partial(_before, "lift the allocation first", steps),
            )


def _before(words: str, *steps: tuple[object, ...]) -> list[Remedy]:
    return [first(words, *steps)]


def _box_for_all(version: Version, call: Call, left: list[int]) -> Box:
    """What a call computes in all iterations of the loops, given innermost first, that it leaves."""
    loops = [s for i in left if isinstance(s := version.statement(i), For)]
    known, outside = version.facts_at(call.id), version.facts_at(left[-1])
    whole, multiples = {d for d, _ in call.func.whole}, dict(call.func.multiples)
    box = []
    for d, i in enumerate(call.box):
        if d not in whole:
            hull = over_loops(i, loops, known)
            hull = in_multiples(Interval(simplify(hull.min, outside), simplify(hull.max, outside)), multiples.get(d, 1))
            i = in_words_of(bounds_of_dim(call, d, version.box_at(left[-1])), hull, outside)
        box.append(i)
    return tuple(box)


def _lift_writers(version: Version, buffer: str, outermost: int) -> list[Remedy]:
    """A remedy where a call does not find what it reads before the loops: what computes that moves there first."""
    writers = [i for i in version.writers(buffer) if outermost in version.ancestors(i)]
    names = ", ".join(dict.fromkeys(s.func.name for i in writers if isinstance(s := version.statement(i), Call)))
    steps = [("lift_call", PlaceOf(i), version.ancestors(i).index(outermost) + 1) for i in writers]
    return [first(f"lift {names} first", *steps)] if steps else []
