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
    Variable,
    floor_divide,
    linear,
    linear_sum,
    maximum,
    metadata,
    minimum,
)
from slinky.symbolic.facts import facts
from slinky.symbolic.intervals import Interval, box_symbols
from slinky.symbolic.solving import rising_within
from slinky.symbolic.traversal import quotients, symbols


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
                allowed = _staying(around, limit, dim)
                found += [] if allowed is None else [allowed]
    return Interval(maximum(*(i.min for i in found)), minimum(*(i.max for i in found))) if found else None


def _without_offsets(i: Interval, func: Func) -> Interval:
    """An interval without the terms that do not depend on the dimensions of the func, also where these are divided.

    So `(x - 1) // 2 .. (x + 1) // 2` is around `x // 2`, as `x // 2 - 1 .. x // 2 + 1` is.
    """

    def rest(e: Expr) -> Expr:
        moving = [(atom, k) for atom, k in linear(e)[1] if not symbols(atom).isdisjoint(func.dims)]
        return sum((k * within(atom) for atom, k in moving), start=linear_sum(0, ()))

    def within(atom: Expr) -> Expr:
        if not isinstance(atom, FloorDivide) or not symbols(atom.denominator).isdisjoint(func.dims):
            return atom
        return floor_divide(rest(atom.numerator), atom.denominator)

    return Interval(rest(i.min), rest(i.max))


def _staying(i: Interval, limit: Interval, dim: Variable) -> Interval | None:
    """Where an interval, both ends of which rise with a dimension and depend on no other, stays within a limit.

    None where it is no such interval. What it divides by is positive: pipelines are refused where it may be not.
    """
    if dim not in symbols(i.min) or dim not in symbols(i.max):
        return None
    before, behind = _distance(i.min, dim), _distance(i.max, dim)
    if before is not None and behind is not None:  # a window around the point, as most are
        return _without_others(Interval(limit.min - before, limit.max - behind))
    known = facts(*(q.denominator >= 1 for e in (i.min, i.max) for q in quotients(e)))
    low, high = rising_within(i.min, limit, dim, known), rising_within(i.max, limit, dim, known)
    return None if low is None or high is None else _without_others(Interval(low.min, high.max))


def _distance(e: Expr, dim: Variable) -> int | None:
    """How far an expression is from a dimension, where that is a number."""
    offset, terms = linear(e)
    return offset if terms == ((dim, 1),) else None


def _without_others(found: Interval) -> Interval | None:
    """An interval, unless it depends on dimensions."""
    for end in (found.min, found.max):
        for symbol in symbols(end):
            if type(symbol) is Variable:
                return None
    return found
