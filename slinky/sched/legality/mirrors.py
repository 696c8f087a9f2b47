"""Whether a mirrored copy reads enough for all that a buffer is to hold.

Proof idea. A copy of which readers ask for a few elements beyond the edges has a region that reaches so deep and no
deeper: it would read too little for elements further out. It never computes such, as it is clamped to the bounds of the
buffer that it writes; so whoever lets that hold more shows first that the region of each element holds what mirroring
reads: for an element before the first edge, all up to its image.

Invariant: whatever a copy is asked for within the bounds of its buffer, its region holds what it reads.
"""

from __future__ import annotations

from slinky.ir.operations import Boundary, Copy
from slinky.ir.statements import Call
from slinky.symbolic.expressions import Expr, maximum, minimum, variable
from slinky.symbolic.intervals import Interval, substitute_interval
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import substitute, symbols

_MIRRORED = (Boundary.REFLECT, Boundary.MIRROR)


def reaches(call: Call, d: int, interval: Interval, known: Facts) -> bool:
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
