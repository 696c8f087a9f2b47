"""Primitives on single calls: cut one in two, compute one once more for one of its readers.

The parts of a cut call compute what it computed, in the same order. A call that runs once more gives the values that it
gave before, for it reads the same buffers; what is to be shown is that it finds them there.
"""

from __future__ import annotations

from typing import Any

from slinky.cursors.cursors import AllocCursor, CallCursor, DimCursor, statement_cursor
from slinky.cursors.editing import Edit, Gap
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.copies import with_bounds, with_box, with_interval, with_operands
from slinky.ir.effects import dims_written, written_by
from slinky.ir.statements import Alloc, Call
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import ALL_BUT_CHECKS, SAME_ORDER, Kept
from slinky.sched.legality.touches import reads_of_call
from slinky.sched.operation import sched_op
from slinky.sched.primitives.rewriting import require_divisors, require_known_symbols, require_pieces, within
from slinky.sched.returned import CloneCallCursors, CutCallCursors
from slinky.symbolic.bounds import simplify
from slinky.symbolic.expressions import Expr
from slinky.symbolic.intervals import Box, Interval, hull, in_multiples
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


def _holding(call: Call, alloc: Alloc) -> Alloc:
    """An allocation that holds what a call writes of it, and no fold."""
    box = tuple(call.box[d] for d in dims_written(call)[alloc.buffer])
    return with_bounds(alloc, box, (None,) * len(box))
