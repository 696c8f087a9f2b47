"""Whether a mirrored copy reads enough for all that a buffer is to hold.

Proof idea. A copy of which readers ask for a few elements beyond the edges has a region that reaches so deep and no
deeper: it would read too little for elements further out. It never computes such, as it is clamped to the bounds of the
buffer that it writes; so whoever lets that hold more shows first that the region of each element holds what mirroring
reads: for an element before the first edge, all up to its image.

Invariant: whatever a copy is asked for within the bounds of its buffer, its region holds what it reads.
"""

from __future__ import annotations

from collections.abc import Iterable

from slinky.cursors.cursors import CallCursor
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.operations import Boundary, Copy
from slinky.ir.statements import Alloc, Call
from slinky.symbolic.expressions import Expr, maximum, minimum, variable
from slinky.symbolic.intervals import Interval, substitute_interval
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import substitute, symbols

_MIRRORED = (Boundary.REFLECT, Boundary.MIRROR)


def check_reach(old: Version, version: Version, these: Iterable[int]) -> None:
    """Check what allocations, given by identity, hold in place of what they held.

    Raises `SchedulingError` for the first that holds more, of a mirrored copy that may not read enough for it.
    """
    for identity in these:
        was, alloc = old.statement(identity), version.statement(identity)
        if isinstance(was, Alloc) and isinstance(alloc, Alloc) and len(was.box) == len(alloc.box):
            for d, (held, interval) in enumerate(zip(was.box, alloc.box, strict=True)):
                for writer in version.writers_of(alloc) if held != interval else ():
                    require_reach(version, writer, alloc, d, held, interval)


def require_reach(version: Version, writer: int, alloc: Alloc, d: int, held: Interval, interval: Interval) -> None:
    """Raise `SchedulingError` if a buffer is to hold an interval of a dimension where it held another one, and a call
    that writes it is of a mirrored copy that is not shown to read enough for more than it held."""
    call, known = version.statement(writer), version.facts_at(alloc.id)
    assert isinstance(call, Call)
    if not _mirrors(call) or (prove(interval.min >= held.min, known) and prove(interval.max <= held.max, known)):
        return
    for buffer, port in zip(call.writes, call.func.outputs, strict=True):
        if buffer == alloc.buffer and not _reaches(call, port.dims[d], interval, known):
            raise SchedulingError(
                f"{buffer} is not shown to stay where {call.func.name} reads enough to mirror: it is made for elements"
                f" as far beyond the edges as {held}",
                place=CallCursor(version, writer),
            )


def _mirrors(call: Call) -> bool:
    operation = call.func.operation
    return isinstance(operation, Copy) and any(rule in _MIRRORED for s in operation.sources for rule in s.boundaries)


def _reaches(call: Call, d: int, interval: Interval, known: Facts) -> bool:
    """Whether a call is shown to read enough for each coordinate in an interval of its func's dimension at a position,
    if it is of a copy that mirrors along it. Other calls read enough of any."""
    func, operation = call.func, call.func.operation
    if not isinstance(operation, Copy):
        return True
    inside = known.also(func.dims[d] >= interval.min, func.dims[d] <= interval.max)
    has_views = any(port.view is not None for port in func.ports)
    values: dict[Expr, Expr] = {variable(name): e for name, e in operation.arguments if isinstance(e, Expr)}
    values.update(zip(operation.dims, func.dims, strict=False))
    for source, port in zip(operation.sources, func.inputs, strict=True):
        for j, (index, edges, boundary) in enumerate(zip(source.index, source.edges, source.boundaries, strict=True)):
            if boundary not in _MIRRORED or edges is None:
                continue
            at = substitute(index, values)
            if has_views:  # what it reads is said of another buffer than that with the edges
                return False
            if func.dims[d] not in symbols(at):
                continue
            needed = _needed(at, substitute_interval(edges, values), int(boundary is Boundary.REFLECT))
            read = port.box[j]
            if not (prove(read.min <= needed.min, inside) and prove(needed.max <= read.max, inside)):
                return False
    return True


def _needed(at: Expr, edges: Interval, twice: int) -> Interval:
    """Between the edges, what a region holds for a coordinate: that itself, its images, and all that is between."""
    first = minimum(at, 2 * edges.max + twice - at)
    last = maximum(at, 2 * edges.min - twice - at)
    return Interval(maximum(edges.min, first), minimum(edges.max, last))
