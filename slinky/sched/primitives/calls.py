"""Primitives on single calls: cut one in two, compute one once more for one of its readers, or do without one.

The parts of a cut call compute what it computed, in the same order. A call that runs once more gives the values that it
gave before, for it reads the same buffers; what is to be shown is that it finds them there. Two calls of one func on
the same sources give the same values, so whoever reads the one can read the other. Where a call is gone, what is to be
shown is that its readers find what they read even so.
"""

from __future__ import annotations

import functools
from typing import Any

from slinky.cursors.cursors import AllocCursor, CallCursor, DimCursor, statement_cursor
from slinky.cursors.editing import Edit, Gap
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.blocks import is_stored_by_blocks, words_of_layout
from slinky.ir.copies import with_bounds, with_box, with_interval, with_operands
from slinky.ir.effects import dims_written, written_by
from slinky.ir.families import original
from slinky.ir.scopes import over_loops
from slinky.ir.statements import Alloc, Call, For
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import ALL_BUT_CHECKS, SAME_ORDER, Kept
from slinky.sched.legality.touches import effective_box, reads_of_call
from slinky.sched.legality.values import are_equal_productions, equal_allocations
from slinky.sched.operation import sched_op
from slinky.sched.primitives.rewriting import (
    delete_with_idle_blocks,
    require_divisors,
    require_known_symbols,
    require_pieces,
    within,
)
from slinky.sched.remedies import PlaceOf, Remedy, first, instead
from slinky.sched.returned import CloneCallCursors, CutCallCursors, RemoveCallCursors, ShareCallsCursors
from slinky.symbolic.bounds import simplify
from slinky.symbolic.expressions import Expr
from slinky.symbolic.intervals import Box, Interval, hull, in_multiples
from slinky.symbolic.proofs import Facts
from slinky.symbolic.traversal import symbols


@sched_op(CutCallCursors)
def cut_call(p: Pipeline, dim: DimCursor, at: Expr) -> Any:
    """Cut a call into two calls, one after the other; the second computes a dimension from `at` on.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = examples.blur()
        >>> print(p.body()[2:])
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
        >   alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        >   scaled[:] = scale(inp[:])
        >   out[:] = blur(scaled[:])
        >>> print(cut_call(p, "blur.x", 10).body()[2:])
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
        >   alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        >   scaled[:] = scale(inp[:])
        >   out[out.x.min .. min(out.x.max, 9)] = blur(scaled[out.x.min - 1 .. min(out.x.max + 1, 10)])
        >   out[max(out.x.min, 10) .. out.x.max] = blur(scaled[max(out.x.min - 1, 9) .. out.x.max + 1])

    A part that begins behind the end of the call, or ends before its start, is empty, and does nothing.

    Refused: a dimension that not all outputs of the func have, or that it computes whole; a place that depends on a
    loop that is not around the call.

    Cursors:
        first: the call up to the place; it keeps the identity.
        second: the call from there on.
    """
    version, call, d = p._version, dim.call()._call, dim.position()
    require_pieces(version, call, d)
    edit = Edit(version)
    known = version.facts_at(call.id)
    require_known_symbols(version, at, "the place to cut", version.loops_around(call.id))
    edit.add_scalars(symbols(at))
    require_divisors(edit, at, "the place to cut", known)
    whole = call.box[d]
    second = edit.duplicate(call.id)
    assert isinstance(second, Call)
    first = with_interval(call, d, within(whole, Interval(whole.min, at - 1), known))
    second = with_interval(second, d, within(whole, Interval(at, whole.max), known))
    edit.update(first)
    edit.insert(Gap.after(call.id), (second,))
    new = settle(edit, "cut_call", Kept(SAME_ORDER, ALL_BUT_CHECKS))
    return new, (CallCursor(new._version, first.id), CallCursor(new._version, second.id))


@sched_op(CloneCallCursors)
def clone_call(p: Pipeline, call: CallCursor, reader: CallCursor) -> Any:
    """Compute a call once more, for one of its readers alone, right before it: recompute instead of keeping.

    The new call computes what this reader reads, into a buffer of its own.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = cut_call(examples.blur(), "blur.x", 10)
        >>> for statement in clone_call(p, "scale", "blur #1").body()[4:]:
        ...     print(statement.describe())
        out[out.x.min .. min(out.x.max, 9)] = blur(scaled[out.x.min - 1 .. min(out.x.max + 1, 10)])
        alloc scaled_1: float32[max(out.x.min - 1, 9) .. out.x.max + 1]
        scaled_1[:] = scale(inp[:])
        out[max(out.x.min, 10) .. out.x.max] = blur(scaled_1[:])

    Refused: a call of which the reader reads nothing, or that writes an output of the pipeline; a reader that is the
    only one; sources that are not shown to be there still (a fold has let go of them).

    Cursors:
        allocs: the buffers of the new call.
        call: the new call.
    """
    version, old, target = p._version, call._call, reader._call
    allocs = _allocs(version, old, reader)
    gone = next((b for b in old.reads if version.alloc_of(b, old.id) is not version.alloc_of(b, target.id)), None)
    if gone is not None:
        raise SchedulingError(
            f"{gone}, which {call.name()} reads, is not there at the call of {reader.name()}", place=reader
        )
    edit = Edit(version)
    copies = edit.copy_block((*allocs.values(), old))
    *buffers, clone = copies
    assert isinstance(clone, Call)
    clone = with_box(clone, _needed(version, old, target))
    names = dict(zip(allocs, (alloc.buffer for alloc in buffers if isinstance(alloc, Alloc)), strict=True))
    own = [_holding(clone, alloc) for alloc in buffers if isinstance(alloc, Alloc)]
    edit.insert(Gap.before(target.id), (*own, clone))
    reads = tuple(names.get(b, b) if version.alloc_of(b, target.id) is allocs.get(b) else b for b in target.reads)
    edit.update(with_operands(target, reads, target.writes))
    new = settle(edit, "clone_call")
    changed = new._version
    return new, (tuple(AllocCursor(changed, alloc.id) for alloc in own), CallCursor(changed, clone.id))


def _allocs(version: Version, call: Call, reader: CallCursor) -> dict[str, Alloc]:
    """The allocations of what a call writes, by name; a reader must read one of them, and not be the only one."""
    found: dict[str, Alloc] = {}
    for buffer in written_by(call):
        alloc = version.alloc_of(buffer, call.id)
        if alloc is None:
            raise SchedulingError(
                f"{buffer} is an output of the pipeline: no reader can have it for itself",
                place=statement_cursor(version, call.id),
            )
        found[buffer] = alloc
    readers = {i for alloc in found.values() for i in version.readers_of(alloc)}
    if reader._id not in readers:
        raise SchedulingError(f"{reader.name()} reads nothing that {call.func.name} writes here", place=reader)
    if len(readers) == 1:
        raise SchedulingError(f"{reader.name()} alone reads what {call.func.name} writes", place=reader)
    return found


def _needed(version: Version, call: Call, reader: Call) -> Box:
    """What a call must compute for one of its readers, right before that.

    All of a dimension that the func computes whole, or that some output lacks: what it writes there comes from all of
    it (sums of rows, say).
    """
    known = version.facts_at(reader.id)
    box: list[Interval | None] = [None] * len(call.box)
    for buffer, dims in dims_written(call).items():
        for name, touch in reads_of_call(version, reader):
            if name == buffer:
                for d, i in zip(dims, touch.region, strict=True):
                    known_needed = box[d]
                    box[d] = i if known_needed is None else hull(known_needed, i)
    everywhere = set.intersection(*map(set, dims_written(call).values())) - {d for d, _ in call.func.whole}
    multiples = dict(call.func.multiples)
    return tuple(
        own
        if i is None or d not in everywhere
        else in_multiples(Interval(simplify(i.min, known), simplify(i.max, known)), multiples.get(d, 1))
        for d, (i, own) in enumerate(zip(box, call.box, strict=True))
    )


@sched_op(ShareCallsCursors)
def share_calls(p: Pipeline, call: CallCursor, other: CallCursor) -> Any:
    """Let one of two calls that compute the same serve the readers of both: the inverse of `clone_call`.

    The call computes what both sets of readers need. The other call ends, with its buffer.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = clone_call(cut_call(examples.blur(), "blur.x", 10), "scale", "blur #1")
        >>> print(p.body()[2:])
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
        >   alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        >   scaled[:] = scale(inp[:])
        >   out[out.x.min .. min(out.x.max, 9)] = blur(scaled[out.x.min - 1 .. min(out.x.max + 1, 10)])
        >   alloc scaled_1: float32[max(out.x.min - 1, 9) .. out.x.max + 1]
        >   scaled_1[:] = scale(inp[:])
        >   out[max(out.x.min, 10) .. out.x.max] = blur(scaled_1[:])
        >>> print(share_calls(p, "scale #0", "scale #1").body()[2:])
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
        >   alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        >   scaled[:] = scale(inp[:])
        >   out[out.x.min .. min(out.x.max, 9)] = blur(scaled[out.x.min - 1 .. min(out.x.max + 1, 10)])
        >   out[max(out.x.min, 10) .. out.x.max] = blur(scaled[max(out.x.min - 1, 9) .. out.x.max + 1])

    Where the call computes all that is needed already, it stays as it is; else it, and its buffer, grow to the hull.
    Two buffers may be equal sources, too: of two chains that compute the same, the last calls can be shared first.

    Refused: calls of different funcs, or of one func on different sources; an other call that writes an output of the
    pipeline, or a buffer that others write, too, or with a layout, or of another dtype (`choose_variant`); readers that
    do not find what they read in what the call computes where it stands (`compute_at`, `compute_root` and
    `reorder_statements` move it).

    Cursors:
        call: the call that serves both.
    """
    version, kept, gone = p._version, call._call, other._call
    names = _shared_names(version, call, other)
    refused: SchedulingError | None = None
    for grows in (False, True):
        edit = Edit(version)
        if grows and not _grow(edit, kept, gone, names):
            break
        _redirect(edit, gone, names)
        try:
            new = settle(edit, "share_calls", remedies=lambda _: _bring_within_reach(version, kept, gone, None))
        except SchedulingError as error:
            refused = error
        else:
            return new, (CallCursor(new._version, kept.id),)
    assert refused is not None
    raise refused


def _shared_names(version: Version, call: CallCursor, other: CallCursor) -> dict[str, str]:
    """The buffers of two calls that compute the same: for each that the other call writes, that of the first one.

    Raises `SchedulingError` unless the one can stand for the other.
    """
    kept, gone = call._call, other._call
    if kept.id == gone.id:
        raise SchedulingError(f"there is but one call of {kept.func.name} here", place=call)
    if original(kept.func) is not original(gone.func):
        raise SchedulingError(f"{kept.func.name} and {gone.func.name} are different funcs", place=other)
    if not are_equal_productions(version, kept, gone):
        raise SchedulingError(f"the two calls of {kept.func.name} do not read the same", place=other)
    same = equal_allocations(version)
    names = dict(zip(gone.writes, kept.writes, strict=True))
    for buffer, ours in names.items():
        theirs, own = version.alloc_of(buffer, gone.id), version.alloc_of(ours, kept.id)
        if theirs is None:
            raise SchedulingError(f"{buffer} is an output of the pipeline, which must be written", place=other)
        if theirs is own:
            raise SchedulingError(f"both calls of {kept.func.name} write {buffer}", place=other)
        if any(not are_equal_productions(version, kept, _call(version, i)) for i in version.writers_of(theirs)):
            raise SchedulingError(f"{buffer} is written by others than {gone.func.name}, too", place=other)
        if own is not None and own.dtype != theirs.dtype:
            raise SchedulingError(
                f"{buffer} is {theirs.dtype}, and {ours} is {own.dtype}",
                place=other,
                remedies=lambda: [
                    first("let both run one variant first", ("choose_variant", PlaceOf(gone.id), kept.func.variant))
                ],
            )
        if own is not None and same.get(theirs.id, theirs.id) != same.get(own.id, own.id):
            raise SchedulingError(f"{ours} is written by others than {kept.func.name}, too", place=call)
        if theirs.layout is not None:
            lies = "is" if is_stored_by_blocks(theirs) else "has"
            raise SchedulingError(f"{buffer} {words_of_layout(theirs)}, which {ours} {lies} not", place=other)
        if any(version.alloc_of(buffer, i) is theirs for i in version.named(("within", buffer))):
            raise SchedulingError(f"other buffers lie in the memory of {buffer}", place=other)
        lost = next((i for i in version.readers_of(theirs) if version.alloc_of(ours, i) is not own), None)
        if lost is not None:
            raise SchedulingError(
                f"{ours} is not there at the call of {_call(version, lost).func.name}, which reads {buffer}",
                place=statement_cursor(version, lost),
                remedies=functools.partial(_bring_within_reach, version, kept, gone, own),
            )
    return names


def _bring_within_reach(version: Version, kept: Call, gone: Call, alloc: Alloc | None) -> list[Remedy]:
    """Remedies where the readers of one call do not see the buffer of another that computes the same."""
    swapped = instead("share them the other way round", call=PlaceOf(gone.id), other=PlaceOf(kept.id))
    levels = len(version.ancestors(alloc.id)) if alloc is not None else 0
    lifts = [("lift_alloc", PlaceOf(alloc.id), n) for n in range(1, levels + 1)] if alloc is not None else []
    return [swapped, *(first("lift its allocation first", lift) for lift in lifts)]


def _call(version: Version, identity: int) -> Call:
    call = version.statement(identity)
    assert isinstance(call, Call)
    return call


def _redirect(edit: Edit, gone: Call, names: dict[str, str]) -> None:
    """Let the readers of what a call writes read other buffers, and let it end, with its own buffers."""
    version = edit.version
    writers: dict[int, None] = {}
    for buffer, ours in names.items():
        alloc = version.alloc_of(buffer, gone.id)
        assert alloc is not None
        for identity in version.readers_of(alloc):
            reader = edit.statement(identity)
            assert isinstance(reader, Call)
            reads = tuple(ours if name == buffer else name for name in reader.reads)
            edit.update(with_operands(reader, reads, reader.writes))
        edit.delete(alloc.id, "let its readers read another")
        writers.update(dict.fromkeys(version.writers_of(alloc)))
    for identity in writers:
        delete_with_idle_blocks(edit, identity, "let another call serve its readers")


def _grow(edit: Edit, kept: Call, gone: Call, names: dict[str, str]) -> bool:
    """Let a call, and its buffers, hold what another one computes, too; whether that is more than before."""
    version = edit.version
    alloc = version.alloc_of(gone.writes[0], gone.id)
    assert alloc is not None
    others = [_call(version, i) for i in version.writers_of(alloc)]
    multiples = dict(kept.func.multiples)
    needed = _hull_from(version, others, kept.id)
    if not any(_loops_apart(version, other.id, kept.id) for other in others):
        needed = _hull_of([other.box for other in others])  # the bounds of the buffer clamp it
    pairs = enumerate(zip(kept.box, needed, strict=True))
    known = version.facts_at(kept.id)
    box = tuple(in_multiples(_simplified(hull(own, i), known), multiples.get(d, 1)) for d, (own, i) in pairs)
    edit.update(with_box(kept, box))
    for ours in names.values():
        own_alloc = version.alloc_of(ours, kept.id)
        if own_alloc is None:
            continue
        known = version.facts_at(own_alloc.id)
        needed = _hull_from(version, others, own_alloc.id)
        dims = dims_written(kept)[ours]
        limits = zip(dims, own_alloc.box, strict=True)
        bounds = tuple(in_multiples(_simplified(hull(i, needed[d]), known), multiples.get(d, 1)) for d, i in limits)
        edit.update(with_bounds(own_alloc, bounds, own_alloc.folds))
    return bool(edit.touched)


def _simplified(i: Interval, known: Facts) -> Interval:
    return Interval(simplify(i.min, known), simplify(i.max, known))


def _loops_apart(version: Version, call: int, place: int) -> list[For]:
    """The loops around a call that are not around a place, innermost first."""
    around = {loop.id for loop in version.loops_around(place)}
    return [loop for loop in reversed(version.loops_around(call)) if loop.id not in around]


def _hull_from(version: Version, calls: list[Call], place: int) -> Box:
    """What calls compute in all iterations of the loops around them that are not around a place."""
    boxes: list[Box] = []
    for call in calls:
        known, inner = version.facts_at(call.id), _loops_apart(version, call.id, place)
        boxes.append(tuple(over_loops(_simplified(i, known), inner, known) for i in effective_box(version, call)))
    return _hull_of(boxes)


def _hull_of(boxes: list[Box]) -> Box:
    return functools.reduce(lambda one, other: tuple(map(hull, one, other)), boxes)


@sched_op(RemoveCallCursors)
def remove_call(p: Pipeline, call: CallCursor) -> Any:
    """Delete a call that nobody needs: nobody reads what it computes, or earlier calls have computed it, too.

    Loops and ifs that have nothing else to do end with it, and so do buffers that nobody uses then.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> import slinky as sl, numpy as np
        >>> p = cut_call(examples.blur(), "scale.x", sl.BufferExpr("out", np.float32, 1).dim(0).max + 2)
        >>> print(p.body()[2:])
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
        >   alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        >   scaled[:] = scale(inp[:])
        >   scaled[out.x.max + 2 .. out.x.max + 1] = scale(inp[out.x.max + 2 .. out.x.max + 1])
        >   out[:] = blur(scaled[:])
        >>> print(remove_call(p, "scale #1").body()[2:])
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
        >   alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        >   scaled[:] = scale(inp[:])
        >   out[:] = blur(scaled[:])

    Refused: a call of which somebody reads what no other call is shown to have written before, or that writes what no
    other writes of an output of the pipeline; a fold that does not keep what earlier calls have written.
    """
    version, old = p._version, call._call
    edit = Edit(version)
    delete_with_idle_blocks(edit, old.id, "found that nobody needs it, and deleted it")
    for buffer in dict.fromkeys(old.writes):
        alloc = version.alloc_of(buffer, old.id)
        if alloc is None or alloc.id not in edit.entries:
            continue
        users = {*version.writers_of(alloc), *version.readers_of(alloc), *version.named(("within", buffer))}
        if users.isdisjoint(edit.entries):
            edit.delete(alloc.id, "found that nobody needs it, and deleted it")
    return settle(edit, "remove_call"), ()


def _holding(call: Call, alloc: Alloc) -> Alloc:
    """An allocation that holds what a call writes of it, and no fold."""
    box = tuple(call.box[d] for d in dims_written(call)[alloc.buffer])
    return with_bounds(alloc, box, (None,) * len(box))
