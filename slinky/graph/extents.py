"""Bounds of single dimensions: what a user assigned to them, and what inputs leave room for.

Invariant: along a dimension within `allowed_by_inputs`, a func reads nothing that is not available.
"""

from __future__ import annotations

from collections.abc import Mapping

from slinky.graph.buffers import Access, BufferExpr
from slinky.graph.funcs import Func
from slinky.symbolic.expressions import Expr, Scalar, Variable, linear, linear_sum, maximum, metadata, minimum
from slinky.symbolic.intervals import Interval, box_symbols
from slinky.symbolic.traversal import symbols


def with_values(values: Mapping[str, Expr], default: Interval | None) -> Interval:
    """Bounds of which `min`, `max` and `extent` have these values, where there are any; two of them say it all."""
    lo, hi, extent = values.get("min"), values.get("max"), values.get("extent")
    if extent is not None and lo is None and hi is not None:
        lo = hi - extent + 1
    if lo is None:
        assert default is not None
        lo = default.min
    if hi is None and extent is not None:
        hi = lo + extent - 1
    if hi is None:
        assert default is not None
        hi = default.max
    return Interval(lo, hi)


def assigned_bounds(buffer: BufferExpr, d: int) -> Interval | None:
    """The bounds that were assigned to a dimension, if they are complete and do not depend on what is needed."""
    assigned = {field: e for (dim, field), e in buffer.assigned.items() if dim == d and field != "stride"}
    if len(assigned) < 2:
        return None
    bounds = with_values(assigned, None)
    own = {metadata(buffer.name, d, "min"), metadata(buffer.name, d, "max")}
    return bounds if own.isdisjoint(box_symbols((bounds,))) else None


def output_dims(access: Access) -> tuple[Variable, ...]:
    """The variables of an output access, which `Func` has checked to be plain."""
    dims: list[Variable] = []
    for i in access.box:
        assert i is not None
        assert isinstance(i.min, Variable)
        dims.append(i.min)
    return tuple(dims)


def allowed_by_inputs(
    func: Func, dim: Variable, available: Mapping[tuple[BufferExpr, int], Interval]
) -> Interval | None:
    """Where a dimension of a func may be so that its inputs stay within what is available; None if anywhere."""
    found: list[Interval] = []
    for source in func.inputs:
        for position, i in enumerate(source.box):
            limit = available.get((source.buffer, position))
            if i is not None and limit is not None:
                allowed = _preimage(i, limit, dim)
                found += [allowed] if allowed is not None else []
    return Interval(maximum(*(i.min for i in found)), minimum(*(i.max for i in found))) if found else None


def _preimage(i: Interval, limit: Interval, dim: Variable) -> Interval | None:
    """Where `dim` may be if the interval `a*dim + b .. a*dim + c`, a > 0, must stay in the limit; None if not."""
    lo_offset, lo_terms = linear(i.min)
    hi_offset, hi_terms = linear(i.max)
    lo_factor, hi_factor = dict(lo_terms).get(dim, 0), dict(hi_terms).get(dim, 0)
    if lo_factor <= 0 or hi_factor <= 0:
        return None
    lo_rest = linear_sum(lo_offset, [term for term in lo_terms if term[0] is not dim])
    hi_rest = linear_sum(hi_offset, [term for term in hi_terms if term[0] is not dim])
    for rest in (lo_rest, hi_rest):
        if any(isinstance(s, Variable) and not isinstance(s, Scalar) for s in symbols(rest)):
            return None
    return Interval((limit.min - lo_rest + lo_factor - 1) // lo_factor, (limit.max - hi_rest) // hi_factor)
