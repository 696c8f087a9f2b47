"""Doing without all copies of a pipeline for which that is accepted, one after the other.

It is made of `alias_copy` and `split_boundary`, which prove each step; what they refuse stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from slinky.cursors.cursors import CallCursor
from slinky.cursors.versions import Version
from slinky.errors import OperationError, SchedulingError, cited
from slinky.ir.effects import calls_in
from slinky.ir.operations import Copy
from slinky.ir.regions import output_region
from slinky.ir.statements import Alloc, Call
from slinky.pipeline import Pipeline
from slinky.sched.callbacks import reads_in_order
from slinky.sched.legality.containing import inside
from slinky.sched.operation import sched_op
from slinky.sched.passing import (
    inverse,
    passage_of,
)
from slinky.sched.primitives.copies import alias_copy, split_boundary
from slinky.sched.returned import AliasCopiesCursors
from slinky.symbolic.intervals import not_empty


@sched_op(AliasCopiesCursors)
def alias_copies(p: Pipeline, *, keep: str | Sequence[str] = (), stay: Sequence[CallCursor] = ()) -> Any:
    """Do without all copies for which `alias_copy` is accepted, also of the parts of a concatenation or a stack.

        >>> import slinky as sl, numpy as np
        >>> (x,) = sl.variables("x")
        >>> a, b, left, right, out = (sl.BufferExpr(n, np.float32, 1) for n in ("a", "b", "left", "right", "out"))
        >>> funcs = sl.Func(np.negative, [a[x]], [left[x]]), sl.Func(np.square, [b[x]], [right[x]])
        >>> joined = sl.copies.concatenate([left, right], out)
        >>> p = sl.build_pipeline([a, b], [out], alias=False)
        >>> print(alias_copies(p).body()[2:])
          pipeline concatenate(a: float32[1], b: float32[1]) -> (out: float32[1]):
            check a.x.min <= out.x.min
            check b.x.min + out.x.max <= a.x.max + b.x.max + 1
        >   out[out.x.min .. min(a.x.max, out.x.max)] = negative(a[out.x.min .. min(a.x.max, out.x.max)])
        >   out[max(out.x.min, a.x.max + 1) .. out.x.max] = \
square(b[max(b.x.min, b.x.min + out.x.min - a.x.max - 1) .. b.x.min + out.x.max - a.x.max - 1])

    Copies that are left assemble inputs, which no call makes, reach beyond edges, or are not shown to be superfluous;
    and those of buffers that a sum of floats reads, or what else depends on the order in which arrays lie in memory.
    What is padded or extended stays one call, so that it can be scheduled as one: `split_boundary` takes it to pieces
    in the end. Nothing is refused.

    Parameters:
        keep: names of buffers of which all is computed that is computed now. `build_pipeline` names those to which
            bounds are assigned.
        stay: copies that are not done without, for a schedule wants them.
    """
    tried = {call._id for call in stay}
    kept = _names(p._version, keep)
    while True:
        copies = (call.id for call in calls_in(p.program.body) if isinstance(call.func.operation, Copy))
        copy = next((identity for identity in copies if identity not in tried), None)
        if copy is None:
            return p, ()
        tried.add(copy)
        p = _without(p, CallCursor(p._version, copy), kept)


def _names(version: Version, keep: object) -> set[str]:
    """The buffers that are to be kept; raises `OperationError` for what is no name of one."""
    names = [keep] if isinstance(keep, str) else [*keep] if np.iterable(keep) else [keep]
    for name in names:
        if not isinstance(name, str) or not version.is_allocated(name):
            raise OperationError(f"keep must be names of intermediates of the pipeline, got {cited(name)}")
    return set(names)


def _without(p: Pipeline, copy: CallCursor, kept: set[str]) -> Pipeline:
    """A pipeline without a copy, or without some pieces of it, if that can be and all of some buffers is kept."""
    try:
        return _past(p, copy, kept)
    except SchedulingError:
        pass
    operation = copy._call.func.operation
    assert isinstance(operation, Copy)
    has_border = operation.fill is not None or any(b is not None for s in operation.sources for b in s.boundaries)
    if has_border:
        return p
    try:
        split, (pieces,) = split_boundary(p, copy, rc=True)
    except SchedulingError:
        return p
    found = split
    for piece in pieces:
        try:
            found = _past(found, found.forward(piece), kept)
        except SchedulingError:
            continue
    return p if found is split else found


def _past(p: Pipeline, copy: CallCursor, kept: set[str]) -> Pipeline:
    """A pipeline without a copy. Where what is kept is written past, the target is kept in its place.

    Raises `SchedulingError` if that cannot be, if the target is not shown to have room for all of it, or if somebody
    reads the buffer that is done without in the order of its memory.
    """
    version, call = p._version, copy._call
    found = alias_copy(p, copy)
    _require_nobody_in_order(version, found._version, call)
    source = version.alloc_of(call.reads[0], call.id)
    if source is not None and source.buffer in kept and source.id not in found._version.entries:
        _require_room(version, call, source)
        kept.add(call.writes[0])
    return found


def _require_nobody_in_order(version: Version, found: Version, copy: Call) -> None:
    """Raise `SchedulingError` where results depend on how a buffer lies in memory that is done without: the part of
    another one that takes its place may have gaps between its rows, or have them elsewhere."""
    for buffer in (*copy.reads, *copy.writes):
        alloc = version.alloc_of(buffer, copy.id)
        if alloc is None or alloc.id in found.entries:
            continue
        for reader in version.readers_of(alloc):
            call = version.statement(reader)
            if reader != copy.id and isinstance(call, Call) and reads_in_order(call.func):
                raise SchedulingError(f"{call.func.name} reads {buffer} in the order in which it lies in memory")


def _require_room(version: Version, call: Call, source: Alloc) -> None:
    """Raise `SchedulingError` where the bounds of the target of a copy could cut off a part of the source.

    A place that is one coordinate is there or not at all.
    """
    back = inverse(passage_of(version, call), output_region(call.func.outputs[0], call.box), source.dims)
    assert back is not None  # it has been written past
    known = version.facts_at(source.id).also(not_empty(source.box))
    room = version.box_at(call.id)(call.writes[0])
    for place, limit in zip(back.box(source.box), room, strict=True):
        if place.min is not place.max and not inside(place, limit, known):
            raise SchedulingError(f"not shown that {call.writes[0]} has room for all of {source.buffer}")
