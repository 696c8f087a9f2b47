"""Primitives that decide where a call stands: inside its consumers' loop, or at the top of the program.

Computing a producer inside a loop over its consumers is legal if nobody outside the loop needs it, and it finds there
what it reads itself. What one iteration needs is the hull of what the calls in the body read.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from slinky.cursors.cursors import CallCursor, LoopCursor, statement_cursor
from slinky.cursors.editing import Edit, Gap
from slinky.cursors.versions import ROOT, Version
from slinky.errors import SchedulingError
from slinky.ir.copies import with_box, with_folds
from slinky.ir.effects import bounds_of_dim, clamped_box, dims_written, of_buffer, reads, written_by
from slinky.ir.scopes import over_loops
from slinky.ir.statements import SERIAL, Alloc, Call, For, Pass, walk
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.containing import plainly_contains
from slinky.sched.legality.elsewhere import reads_elsewhere
from slinky.sched.legality.reasons import ONLY_SOME_CHANGED, Kept, Obligation
from slinky.sched.legality.touches import effective_box
from slinky.sched.legality.wholes import computes_part
from slinky.sched.operation import sched_op
from slinky.sched.primitives.ranges import extend_loop, first_reaching, shown_inside, working_in_parallel
from slinky.sched.primitives.rewriting import allocs_of, delete_with_idle_blocks, is_idle
from slinky.sched.remedies import PlaceOf, Remedy, first, instead
from slinky.sched.returned import ComputeAtCursors, ComputeRootCursors
from slinky.symbolic.bounds import simplify
from slinky.symbolic.envelopes import rises
from slinky.symbolic.expressions import linear, maximum
from slinky.symbolic.intervals import Box, Interval, hull, in_multiples, moves_with
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import substitute, symbols

ELSEWHERE = "computed it elsewhere"
"""Why calls end whose work another one does."""


@sched_op(ComputeAtCursors)
def compute_at(p: Pipeline, call: CallCursor, loop: LoopCursor) -> Any:
    """Compute a producer inside a loop over its consumers: in each iteration just what the body reads.

    The call moves to the place right before the first statement of the body that needs it. Its buffer stays where it
    is allocated; `slide_window`, `fold_storage` and `store_at` then make use of the new order.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.blur(), "blur.x", 8)
        >>> print(p)
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
          scaled[:] = scale(inp[:])
          for x in out.x.min..out.x.max step 8:
            out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        >>> print(compute_at(p, "scale", "for x"))
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
          for x in out.x.min..out.x.max step 8:
            scaled[x - 1 .. x + 8] = scale(inp[x - 1 .. x + 8])
            out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])

    An output of the pipeline that other funcs also read can be computed in their loop, too. All of it must be computed,
    so the loop then also covers what no reader needs; the readers do nothing in the added iterations.

    Refused: a call that does not stand before the loop, in a block around it; a buffer that is read outside the loop,
    where it is not shown that the call never writes there, or not read in it; a loop that needs but part of a
    dimension that the func computes whole; inputs that are not shown to be there in the loop (compute the producer
    before its own producers: consumers first); a parallel loop whose iterations would then write the same elements;
    readers that divide by what is at least 1 only further inside.

    Cursors:
        allocs: the allocations of its outputs, but for outputs of the pipeline, which have none.
        loop: the loop.
        call: the call, in the loop.
    """
    version = p._version
    old, target = call._call, loop._loop
    _require_before(version, call, loop)
    readers = _readers(version, old)
    outside = next((reader for reader in readers if target.id not in version.ancestors(reader)), None)
    if outside is not None:
        raise SchedulingError(
            f"{version.statement(outside).func.name} reads it outside loop {target.variable}",  # type: ignore[union-attr]
            place=statement_cursor(version, outside),
            hint=functools.partial(_why_readers_are_outside, version, old),
            remedies=lambda: _bring_readers_together(version, old, target),
        )
    needed = need_of(version, old, target)
    if needed is None:
        raise SchedulingError(f"nothing in loop {target.variable} reads {' or '.join(call.outputs())}", place=loop)
    inside = version.facts_at(target.body[0].id)
    is_output = any(version.alloc_of(buffer, old.id) is None for buffer in written_by(old))
    box = box_in_loop(version, old, needed, target, inside, is_output=is_output)
    moved = with_box(old, box)
    edit = Edit(version)
    edit.delete(old.id)
    edit.insert(Gap.before(_first_reader(readers, target)), (moved,))
    working = tuple(_extend_to_all(edit, version, moved, target)) if is_output else (moved.id,)
    parallel = tuple(loop.id for loop in (*version.loops_around(target.id), target) if loop.mode != SERIAL)
    parallel = tuple(dict.fromkeys((*parallel, *working_in_parallel(version, working))))
    shown = (target.id, moved.id, *shown_inside(version, target)) if is_output else (moved.id,)
    # READERS is implied, for the call computes the hull of what its readers ask for in the iterations that there were
    # before, and those that compute in others are among the reads that are proved. It stands guard over that hull.
    new = settle(
        edit,
        "compute_at",
        Kept(ONLY_SOME_CHANGED, (Obligation.POSITIVE,), but_for=shown),
        Kept(ONLY_SOME_CHANGED, (Obligation.INPUTS,), but_for=working[_is_part(version, old, moved) :]),
        Kept(ONLY_SOME_CHANGED, (Obligation.READS, Obligation.FOLDS), but_for=working),
        Kept(ONLY_SOME_CHANGED, (Obligation.READERS,), but_for=(moved.id,)),
        Kept(ONLY_SOME_CHANGED, (Obligation.OUTPUTS,), but_for=(moved.id,) if is_output else ()),
        Kept(ONLY_SOME_CHANGED, (Obligation.RACES,), but_for=parallel),
        remedies=lambda gap: _producers_at_the_top(version, gap.buffer),
        hint="compute it there, and give each iteration its own buffer (store_at), before the loop is parallel",
    )
    changed = new._version
    return new, (allocs_of(changed, moved), LoopCursor(changed, target.id), CallCursor(changed, moved.id))


def _is_part(version: Version, old: Call, moved: Call) -> bool:
    """Whether a call is seen to compute no more than another one did, wherever it stands: then it reads no more. A
    buffer that is larger than what was computed of it does not cut off what goes beyond that."""
    known = version.facts_at(old.id)
    before, after = effective_box(version, old), clamped_box(moved, version.box_at(old.id))
    return plainly_contains(before, after, range(len(before))) or all(
        prove(i.min <= j.min, known) and prove(j.max <= i.max, known) for i, j in zip(before, after, strict=True)
    )


def _require_before(version: Version, call: CallCursor, loop: LoopCursor) -> None:
    """Check that a call stands before a loop, in a block around it."""
    parent = version.entries[call._id].parent
    path = version.path(loop._id)
    around = [ROOT, *path[:-1]]
    if loop._id in version.ancestors(call._id):
        raise SchedulingError(f"the call of {call.name()} already stands in loop {loop.name()}", place=call)
    if parent not in around:
        raise SchedulingError(
            f"the call of {call.name()} stands in a loop of its own, not in a block around loop {loop.name()}",
            place=call,
            remedies=lambda: [first("move it out first", ("compute_root", PlaceOf(call._id)))],
        )
    sibling = path[around.index(parent)]
    same_block = version.entries[sibling].field == version.entries[call._id].field
    if not same_block or version.position(call._id) > version.position(sibling):
        raise SchedulingError(f"the call of {call.name()} does not stand before loop {loop.name()}", place=call)


def _bring_readers_together(version: Version, call: Call, loop: For) -> list[Remedy]:
    """Remedies where a call has readers outside a loop: move them there first, or compute it in a loop around all."""
    readers = _readers(version, call)
    outside = [
        s for i in readers if loop.id not in version.ancestors(i) and isinstance(s := version.statement(i), Call)
    ]
    names = ", ".join(reader.func.name for reader in outside)
    move = first(f"compute {names} there first", *(("compute_at", PlaceOf(s.id), PlaceOf(loop.id)) for s in outside))
    common = [around for around in version.loops_around(readers[0]) if _contains_all(version, around, readers)]
    words = "compute it in a loop around all its readers"
    return [move, *(instead(words, loop=PlaceOf(around.id)) for around in reversed(common))]


def _contains_all(version: Version, loop: For, calls: list[int]) -> bool:
    return all(loop.id in version.ancestors(i) for i in calls)


def _why_readers_are_outside(version: Version, call: Call) -> str:
    """Words on why a call has readers that are in no loop together; nothing where they are."""
    readers = _readers(version, call)
    if any(_contains_all(version, loop, readers) for loop in version.loops_around(readers[0])):
        return ""
    names = [s.func.name for i in readers if isinstance(s := version.statement(i), Call)]
    copied = next((name for name in names if names.count(name) > 1), None)
    if copied is not None:
        return f"there are {names.count(copied)} calls of {copied}: a split with another tail, or no cut, leaves one"
    return f"its readers ({', '.join(names)}) are in no loop together, so it stays before them"


def _readers(version: Version, call: Call) -> list[int]:
    """The calls that read what a call writes."""
    found: dict[int, None] = {}
    for buffer in written_by(call):
        alloc = version.alloc_of(buffer, call.id)
        readers = [i for i in version.readers(buffer) if version.alloc_of(buffer, i) is alloc]
        if len(readers) > 1 and _is_shared(version, buffer):
            readers = [i for i in readers if not reads_elsewhere(version, call, buffer, i)]
        found.update(dict.fromkeys(readers))
    return list(found)


def _is_shared(version: Version, buffer: str) -> bool:
    """Whether several calls write a buffer: then one may write a part of it that some of its readers do not read."""
    return len(version.names().get(("write", buffer), ())) > 1


def need_of(version: Version, call: Call, loop: For) -> list[Interval | None] | None:
    """Per dimension of a func, the hull of what one iteration of a loop reads of its outputs, as written (not clamped).

    None for a dimension that no output read there has; None altogether if none of its outputs is read in the loop.
    """
    needed: list[Interval | None] = [None] * len(call.func.dims)
    found = False
    for buffer, dims in dims_written(call).items():
        readers = version.readers(buffer)
        is_shared = len(readers) > 1 and _is_shared(version, buffer)
        for identity in readers:
            if is_shared and reads_elsewhere(version, call, buffer, identity):
                continue
            ancestors = version.ancestors(identity)
            if loop.id not in ancestors:
                continue
            reader = version.statement(identity)
            assert isinstance(reader, Call)
            around = [s for i in ancestors[: ancestors.index(loop.id)] if isinstance(s := version.statement(i), For)]
            for region in _regions_read(version, reader, buffer, loop, around):
                found = True
                for d, ranged in zip(dims, region, strict=True):
                    earlier = needed[d]
                    needed[d] = ranged if earlier is None else hull(earlier, ranged)
    return needed if found else None


def _regions_read(version: Version, reader: Call, buffer: str, loop: For, around: Sequence[For]) -> Iterator[Box]:
    """What one iteration of a loop reads by a call inside, as written: one box per access.

    An end that may move back is that of the region that is read: what a box as written has beyond the bounds of the
    outputs, reflected at an edge, would be read in the last iteration though nobody needs it.
    """
    known = version.facts_at(reader.id)
    for n, effect in enumerate(of_buffer(reads(reader, reader.box), buffer)):
        box = tuple(over_loops(i, around, known) for i in effect.box)
        if not all(rises(end, loop.variable, known) for i in box for end in (i.min, i.max)):
            exact = of_buffer(reads(reader, effective_box(version, reader)), buffer)[n].box
            pairs = zip(box, exact, strict=True)
            box = tuple(_forward_ends(i, over_loops(e, around, known), loop, known) for i, e in pairs)
        yield box


def _forward_ends(i: Interval, exact: Interval, loop: For, known: Facts) -> Interval:
    """An interval with those ends of a smaller one in place of which its own may move back in a loop."""
    if rises(i.min, loop.variable, known) and rises(i.max, loop.variable, known):
        return i
    lo, hi = simplify(i.min, known), simplify(i.max, known)
    return Interval(
        i.min if rises(lo, loop.variable, known) else exact.min,
        i.max if rises(hi, loop.variable, known) else exact.max,
    )


def box_in_loop(
    version: Version, call: Call, needed: list[Interval | None], loop: For, known: Facts, *, is_output: bool
) -> Box:
    """What a call computes in one iteration. Of a pipeline's output, all of the dimensions that do not move.

    And all of a dimension that some output lacks: what the call writes there comes from all of it (sums of rows, say).
    """
    box: list[Interval] = []
    everywhere = set.intersection(*map(set, dims_written(call).values()))
    whole, multiples = {d for d, _ in call.func.whole}, dict(call.func.multiples)
    for d, (i, own) in enumerate(zip(needed, call.box, strict=True)):
        if d in whole:
            _require_no_part(version, call, d, i, loop)
            box.append(own)
            continue
        moves = i is not None and moves_with(i, loop.variable)
        if i is None or d not in everywhere or (is_output and not moves):
            box.append(own)
            continue
        i = in_multiples(Interval(simplify(i.min, known), simplify(i.max, known)), multiples.get(d, 1))
        # The bounds of the outputs clamp what the call computes; where they contain all, say just that.
        limit = bounds_of_dim(call, d, version.box_at(call.id))
        if not moves and prove(i.min <= limit.min, known) and prove(limit.max <= i.max, known):
            i = limit
        box.append(i)
    return tuple(box)


def _require_no_part(version: Version, call: Call, d: int, needed: Interval | None, loop: For) -> None:
    """Check that a dimension that a func computes whole is not needed bit by bit: it would be computed for each."""
    used = symbols(needed.min) | symbols(needed.max) if needed is not None else frozenset()
    around = [*version.loops_around(loop.id), loop]
    for k, outer in enumerate(around):
        if outer.variable in used:
            hint = f"compute it at loop {around[k - 1].variable}" if k else f"leave it before loop {outer.variable}"
            raise computes_part(version, call, d, hint=hint)


def _first_reader(readers: Sequence[int], loop: For) -> int:
    """The first statement of a loop's body that some of these calls stand at, or in."""
    return next(s.id for s in loop.body if any(inner.id in readers for inner in walk((s,))))


def _extend_to_all(edit: Edit, version: Version, call: Call, loop: For) -> list[int]:
    """Let a loop start earlier and end later, so that a call in it computes all of an output of the pipeline.

    Returns the calls that compute something in the added iterations.
    """
    y, step = loop.variable, loop.step
    moving = [d for d, i in enumerate(call.box) if moves_with(i, y)]
    if not moving:
        return [call.id]
    known = version.facts_at(loop.id).also(step >= 1)
    d = moving[0]
    limit = bounds_of_dim(call, d, version.box_at(call.id))
    first_low = substitute(call.box[d].min, {y: loop.range.min})
    enough = first_reaching(call.box[d].max, y, limit.max)
    factor = dict(linear(call.box[d].min)[1]).get(y, 0)
    if len(moving) > 1 or enough is None or factor < 1:
        raise SchedulingError(
            f"{call.func.name} produces an output of the pipeline, and it is not clear which iterations of loop {y} "
            f"would produce all of it",
            place=statement_cursor(version, call.id),
        )
    each = factor * step
    earlier = simplify(maximum((first_low - limit.min + each - 1) // each, 0), known) * step
    start = simplify(loop.range.min - earlier, known)
    end = simplify(maximum(loop.range.max, enough + step - 1, start), known)
    return extend_loop(edit, version, loop, call.id, Interval(start, end))


@sched_op(ComputeRootCursors)
def compute_root(p: Pipeline, call: CallCursor) -> Any:
    """Compute a producer in full, at the top of the program: the inverse of `compute_at`.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.blur(), "blur.x", 8)
        >>> p = compute_at(p, "scale", "for x")
        >>> print(compute_root(p, "scale"))
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
          scaled[:] = scale(inp[:])
          for x in out.x.min..out.x.max step 8:
            out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])

    The call moves before the outermost loop around it and computes all of its outputs; their folds are undone. Other
    calls of the same func (before or behind the loop, or tails of a split) end, and so do loops that have nothing left
    to do. Loops that started earlier for it keep their range.

    Refused: a buffer that is allocated inside a loop (`lift_alloc` first); inputs that are not shown to be there at the
    top (compute their producers at the top first: producers first).

    Cursors:
        allocs: the allocations of its outputs, but for outputs of the pipeline, which have none.
        call: the call, at the top.
    """
    version, old = p._version, call._call
    for buffer in written_by(old):
        alloc = version.alloc_of(buffer, old.id)
        if alloc is not None and version.entries[alloc.id].parent != ROOT:
            raise SchedulingError(
                f"{buffer} is allocated inside a loop",
                place=statement_cursor(version, alloc.id),
                remedies=functools.partial(_lift_to_the_top, version, alloc),
            )
    name = written_by(old)[0]
    home = version.alloc_of(name, old.id)
    writers = {i for i in version.writers(name) if version.alloc_of(name, i) is home}
    top = min((version.path(i)[0] for i in writers), key=version.position)
    box = tuple(bounds_of_dim(old, d, version.box_at(old.id)) for d in range(len(old.box)))
    edit = Edit(version)
    moved = with_box(old, box)
    anchor = Gap.before(top)
    if top in writers:
        edit.insert(anchor, (marker := Pass(),))
        anchor = Gap.before(marker.id)
    for identity in writers:
        delete_with_idle_blocks(edit, identity, ELSEWHERE, keep=top if top not in writers else ROOT)
    edit.insert(anchor, (moved,))
    if top in writers:
        edit.delete(marker.id)
    elif is_idle(edit.statement(top)):
        edit.delete(top, "found that nothing is left in it, and deleted it")
    for buffer in written_by(old):
        alloc = version.alloc_of(buffer, old.id)
        if alloc is not None and any(f is not None for f in alloc.folds):
            edit.update(with_folds(alloc, (None,) * len(alloc.folds)))
    # Of its own buffers, the last three only stand guard. The call computes all that the bounds let any of those that
    # it replaces compute, and before whoever found what they had written. It has no folds of its own left; and what it
    # finds folded was written before the statement at the top that it stood in: no loop was around both, so the fold
    # held all of it. What others that end had written beside it is another matter: that may be missed.
    replaced = tuple(version.in_order(writers))
    beside = [version.alloc_of(buffer, i) for i in replaced for buffer in written_by(version.statement(i))]
    allocs = {a.id: a for a in beside if a is not None and a.id in edit.entries}
    folded = tuple(i for i, alloc in allocs.items() if any(fold is not None for fold in alloc.folds))
    new = settle(
        edit,
        "compute_root",
        Kept(ONLY_SOME_CHANGED, (Obligation.POSITIVE, Obligation.RACES)),
        Kept(ONLY_SOME_CHANGED, (Obligation.INPUTS, Obligation.READS), but_for=(moved.id,)),
        Kept(ONLY_SOME_CHANGED, (Obligation.READERS, Obligation.OUTPUTS), but_for=replaced),
        Kept(ONLY_SOME_CHANGED, (Obligation.FOLDS,), but_for=(moved.id, *folded)),
        remedies=lambda gap: _producers_at_the_top(version, gap.buffer),
    )
    changed = new._version
    return new, (allocs_of(changed, moved), CallCursor(changed, moved.id))


def _lift_to_the_top(version: Version, alloc: Alloc) -> list[Remedy]:
    levels = len(version.ancestors(alloc.id))
    return [first("lift the allocation first", ("lift_alloc", PlaceOf(alloc.id), levels))]


def _producers_at_the_top(version: Version, buffer: str) -> list[Remedy]:
    """A remedy where a call does not find what it reads: what produces that is computed in full first."""
    writers = [s for i in version.writers(buffer) if isinstance(s := version.statement(i), Call)]
    names = ", ".join(dict.fromkeys(call.func.name for call in writers))
    steps = [("compute_root", PlaceOf(call.id)) for call in writers[:1]]
    return [first(f"compute {names} at the top first", *steps)] if steps else []
