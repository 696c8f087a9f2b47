"""Primitives on what an allocation holds: its bounds along a dimension.

Idea. The bounds of a buffer do two things: they say how much room there is, and they clamp the calls that write it. A
buffer that holds more is to change the first alone, so the clamps that its bounds implied are written on the calls,
where the new bounds do not imply them: each call computes what it computed. One that holds less clamps the calls
further, and what they no longer write, nobody may read.

Invariant: of the calls that write a buffer, none computes an element that it did not compute before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from slinky.cursors.answers import dim_position
from slinky.cursors.cursors import AllocCursor, CallCursor
from slinky.cursors.editing import Edit
from slinky.cursors.versions import Version
from slinky.errors import OperationError, SchedulingError, cited
from slinky.ir.copies import with_bounds
from slinky.ir.effects import reads
from slinky.ir.statements import Alloc, Call
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.mirrors import require_reach
from slinky.sched.legality.reasons import ALL_BUT_CHECKS, MORE_ROOM, Kept
from slinky.sched.legality.refusals import with_more
from slinky.sched.legality.touches import effective_box
from slinky.sched.operation import sched_op
from slinky.sched.primitives.rewriting import keep_clamped, require_divisors, require_known_symbols, require_positive
from slinky.sched.returned import AlignDimCursors, ResizeDimCursors
from slinky.symbolic.bounds import simplify
from slinky.symbolic.expressions import Expr, constant, negate
from slinky.symbolic.intervals import Interval, not_empty
from slinky.symbolic.proofs import Facts, impossible, prove
from slinky.symbolic.traversal import symbols


@sched_op(ResizeDimCursors)
def resize_dim(p: Pipeline, alloc: AllocCursor, dim: str | int, interval: Interval) -> Any:
    """Let a buffer hold other coordinates of a dimension: more of them, or fewer where nobody reads the others.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> import slinky as sl
        >>> p = examples.blur()
        >>> (x,) = p.find("alloc scaled").bounds()
        >>> p = resize_dim(p, "alloc scaled", "x", sl.interval(x.min - 3, x.max + 4))
        >>> print(p)
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          alloc scaled: float32[out.x.min - 4 .. out.x.max + 5]
          scaled[out.x.min - 1 .. out.x.max + 1] = scale(inp[out.x.min - 1 .. out.x.max + 1])
          out[:] = blur(scaled[out.x.min - 1 .. out.x.max + 1])
        >>> (x,) = p.find("scale").bounds()
        >>> print(resize_dim(p, "alloc scaled", "x", x).find("alloc scaled").bounds())
        (<out.x.min - 1 .. out.x.max + 1>,)

    Where it holds more, the calls that write it compute what they did: the room is there, for buffers to have one size
    or for rows to be long enough. Where it holds less, they compute no more than it holds: so a buffer whose bounds
    were found too wide becomes as small as what is read of it.

    Parameters:
        dim: the dimension, by name or position.
        interval: what the buffer is to hold of it, in terms of parameters and the loops around the allocation.

    Refused: an interval that does not hold what is read, or the ends of a region of no elements, or under which another
    output of a call that writes the buffer would lack something; a call that computes a dimension whole, and would
    compute part of it; folds that do not hold what is live then; a buffer with strides that are asked for, which might
    not leave room, or over which a call writes another one in place, which holds the same; more room for a mirrored
    copy whose region reaches no further beyond the edges than its readers ask.

    Cursors:
        alloc: the allocation.
    """
    version, old = p._version, alloc._alloc
    d = dim_position(old.dims, dim, f"buffer {old.buffer}")
    if not isinstance(interval, Interval):
        raise OperationError(f"what a buffer holds is an interval, such as sl.interval(0, 3), got {cited(interval)}")
    _require_no_strides(alloc)
    edit = Edit(version)
    for end in (interval.min, interval.max):
        _require_known(edit, old, end, "the interval")
    is_more = _holds(interval, old.box[d], version.facts_at(old.id))
    if not is_more:
        _require_empty_reads_inside(version, old, d, interval)
    new = settle(_resized(edit, old, d, interval), "resize_dim", *_kept(is_more))
    return new, (AllocCursor(new._version, old.id),)


@sched_op(AlignDimCursors)
def align_dim(p: Pipeline, alloc: AllocCursor, dim: str | int, multiple: Expr, begin: Expr | None = None) -> Any:
    """Let a buffer hold whole blocks of a dimension: it begins and ends where one does.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> print(align_dim(examples.blur(), "alloc scaled", "x", 16))
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          alloc scaled: float32[16*((out.x.min + 15) // 16) - 16 .. 16*((out.x.max + 1) // 16) + 15]
          scaled[out.x.min - 1 .. out.x.max + 1] = scale(inp[out.x.min - 1 .. out.x.max + 1])
          out[:] = blur(scaled[out.x.min - 1 .. out.x.max + 1])

    The calls that write it compute what they did: there is room around it.

    Parameters:
        dim: the dimension, by name or position.
        multiple: how long a block is, an expression of scalars: at least 1.
        begin: a coordinate at which a block begins: 0 if it is left out, so that the first coordinate is a multiple.
            With the least one that the buffer holds, that stays, and the extent alone is rounded up.

    Refused: a buffer with strides that are asked for, which might not leave room; a multiple that is not positive; a
    buffer over which a call writes another one in place, which holds the same; a mirrored copy, as in `resize_dim`.

    Cursors:
        alloc: the allocation.
    """
    version, old = p._version, alloc._alloc
    d = dim_position(old.dims, dim, f"buffer {old.buffer}")
    _require_no_strides(alloc)
    edit = Edit(version)
    known = version.facts_at(old.id)
    first = constant(0) if begin is None else begin
    _require_known(edit, old, first, "the beginning")
    _require_known(edit, old, multiple, "the multiple")
    require_positive(edit, multiple, "the multiple", known)
    low = old.box[d].min - first
    lo = first + low // multiple * multiple
    hi = first + (old.box[d].max - first + multiple) // multiple * multiple - 1
    interval = Interval(simplify(lo, known), simplify(hi, known))
    new = settle(_resized(edit, old, d, interval), "align_dim", *_kept(True))
    return new, (AllocCursor(new._version, old.id),)


# What both do ---------------------------------------------------------------------------------------------------------


def _require_no_strides(alloc: AllocCursor) -> None:
    """Raise `SchedulingError` for a buffer whose strides were made for the bounds that it has. (An alignment holds for
    any, and that blocks stay where they are is proved.)"""
    if any(stride is not None for stride in alloc.strides()):
        raise SchedulingError(
            f"{alloc.name()} has strides that are asked for, made for what it holds",
            place=alloc,
            hint="say what it holds first, and set its layout then",
        )


def _require_empty_reads_inside(version: Version, old: Alloc, d: int, interval: Interval) -> None:
    """Raise `SchedulingError` unless regions of no elements, of which nobody has to write anything, stay inside: where
    a call reads, it asks for a part of what the buffer holds."""
    for identity in version.readers_of(old):
        call = version.statement(identity)
        assert isinstance(call, Call)
        box = effective_box(version, call)
        running = version.facts_at(identity).also(not_empty(box))
        for effect in reads(call, box):
            known = running.also(negate(not_empty(effect.box)))
            if effect.buffer == old.buffer and not impossible(known) and not _holds(interval, effect.box[d], known):
                what = f"what {call.func.name} reads of {old.buffer} along {old.dims[d]} may be no elements"
                why = f"{what}, and is not shown to lie in the interval even so"
                raise SchedulingError(
                    with_more(why, f": {effect.box[d]}, and {interval}"),
                    place=CallCursor(version, identity),
                )


def _require_known(edit: Edit, alloc: Alloc, value: Expr, what: str) -> None:
    """Make sure that an expression given by the user has a value where a buffer is allocated."""
    version: Version = edit.version
    require_known_symbols(version, value, what, version.loops_around(alloc.id))
    edit.add_scalars(symbols(value))
    require_divisors(edit, value, what, version.facts_at(alloc.id))


def _holds(interval: Interval, old: Interval, known: Facts) -> bool:
    """Whether an interval is shown to hold another one."""
    return prove(interval.min <= old.min, known) and prove(old.max <= interval.max, known)


def _kept(is_more: bool) -> Iterable[Kept]:
    return (Kept(MORE_ROOM, ALL_BUT_CHECKS),) if is_more else ()


def _resized(edit: Edit, old: Alloc, d: int, interval: Interval) -> Edit:
    """The edit after which an allocation holds an interval of a dimension."""
    box = (*old.box[:d], interval, *old.box[d + 1 :])
    edit.update(with_bounds(old, box, old.folds))
    for identity in edit.version.writers_of(old):
        require_reach(edit.version, identity, old, d, old.box[d], interval)
        keep_clamped(edit, identity, old, box)
    return edit
