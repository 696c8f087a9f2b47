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
from slinky.graph.copying import UNKNOWN, beyond
from slinky.graph.depths import MIRRORED
from slinky.ir.operations import Copy
from slinky.ir.statements import Alloc, Call, LoweredFunc
from slinky.symbolic.expressions import Expr, variable
from slinky.symbolic.intervals import Interval, substitute_interval
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import substitute, symbols


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
    operation = call.func.operation
    if not isinstance(operation, Copy) or MIRRORED.isdisjoint(rule for s in operation.sources for rule in s.boundaries):
        return
    if prove(interval.min >= held.min, known) and prove(interval.max <= held.max, known):
        return
    (output,) = call.func.outputs
    if not _reaches(call.func, operation, output.dims[d], interval, known):
        raise SchedulingError(
            f"{alloc.buffer} is not shown to stay where {call.func.name} reads enough to mirror: it is made for"
            f" elements as far beyond the edges as {held}",
            place=CallCursor(version, writer),
        )


def _reaches(func: LoweredFunc, operation: Copy, d: int, interval: Interval, known: Facts) -> bool:
    """Whether a copy is shown to read enough for each coordinate in an interval of its dimension at a position."""
    if any(port.view is not None for port in func.ports):
        return False  # what it reads or writes is said of another buffer than that with the edges
    inside = known.also(func.dims[d] >= interval.min, func.dims[d] <= interval.max)
    values: dict[Expr, Expr] = {variable(name): e for name, e in operation.arguments if isinstance(e, Expr)}
    values.update(zip(operation.dims, func.dims, strict=True))
    for source, port in zip(operation.sources, func.inputs, strict=True):
        for e, edges, rule, read in zip(source.index, source.edges, source.boundaries, port.box, strict=True):
            at = substitute(e, values)
            if edges is None or rule not in MIRRORED or func.dims[d] not in symbols(at):
                continue
            needed = beyond(at, substitute_interval(edges, values), rule, UNKNOWN)
            if not (prove(read.min <= needed.min, inside) and prove(needed.max <= read.max, inside)):
                return False
    return True
