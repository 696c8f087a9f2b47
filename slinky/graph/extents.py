"""Bounds of single dimensions: what a user assigned to them, and what inputs leave room for.

Invariant: along a dimension within `allowed_by_inputs`, a func reads nothing that is not available.
"""

from __future__ import annotations

from collections.abc import Mapping

from slinky.graph.buffers import Access, BufferExpr
from slinky.graph.funcs import Func
from slinky.symbolic.expressions import (
    Expr,
    FloorDivide,
    Scalar,
    Variable,
    linear,
    linear_sum,
    maximum,
    metadata,
    minimum,
)
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
    """Where a dimension of a func may be so that its inputs stay within what is available; None if anywhere.

    Of an input that is extended beyond its edges, what is available does not limit what is read. There it is where the
    point lies that the window is around: the access without what is added to multiples of the func's dimensions.
    """
    found: list[Interval] = []
    for source in func.inputs:
        for position, i in enumerate(source.box):
            limit = available.get((source.buffer, position))
            if i is not None and limit is not None:
                around = _without_offsets(i, func) if position in source.buffer.extended_dims else i
                lo, hi = _least(around.min, limit.min, dim), _greatest(around.max, limit.max, dim)
                found += [Interval(lo, hi)] if lo is not None and hi is not None else []
    return Interval(maximum(*(i.min for i in found)), minimum(*(i.max for i in found))) if found else None


def _without_offsets(i: Interval, func: Func) -> Interval:
    """An interval without the terms that do not depend on the dimensions of the func."""

    def rest(e: Expr) -> Expr:
        return linear_sum(0, [(atom, k) for atom, k in linear(e)[1] if not symbols(atom).isdisjoint(func.dims)])

    return Interval(rest(i.min), rest(i.max))


def _least(e: Expr, limit: Expr, dim: Variable) -> Expr | None:
    """The least value of `dim` for which `e >= limit`, where `e` grows with it and depends on no other; else None."""
    solved = _solved(e, dim)
    if solved is None:
        return None
    inner, factor, rest = solved
    needed = (limit - rest + factor - 1) // factor
    if inner is dim:
        return needed
    assert isinstance(inner, FloorDivide)
    return _least(inner.numerator, needed * inner.denominator, dim)


def _greatest(e: Expr, limit: Expr, dim: Variable) -> Expr | None:
    """The greatest value of `dim` for which `e <= limit`, as `_least` finds the least."""
    solved = _solved(e, dim)
    if solved is None:
        return None
    inner, factor, rest = solved
    allowed = (limit - rest) // factor
    if inner is dim:
        return allowed
    assert isinstance(inner, FloorDivide)
    return _greatest(inner.numerator, allowed * inner.denominator + inner.denominator - 1, dim)


def _solved(e: Expr, dim: Variable) -> tuple[Expr, int, Expr] | None:
    """An expression as `factor * inner + rest`, factor > 0, where only `inner` depends on a dimension: it is that, or a
    quotient by a positive number or by what funcs are checked to divide by. None if it is no such expression."""
    offset, terms = linear(e)
    moving = [(atom, factor) for atom, factor in terms if dim in symbols(atom)]
    if len(moving) != 1 or moving[0][1] <= 0:
        return None
    inner, factor = moving[0]
    rest = linear_sum(offset, [term for term in terms if term[0] is not inner])
    still = [rest, inner.denominator] if isinstance(inner, FloorDivide) else [rest]
    if any(isinstance(s, Variable) and not isinstance(s, Scalar) for part in still for s in symbols(part)):
        return None
    return (inner, factor, rest) if inner is dim or isinstance(inner, FloorDivide) else None
