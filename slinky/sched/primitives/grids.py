"""Where the grid of a loop starts: the short form of its first iteration, for cutting it again and again.

A loop that was cut starts at `max(first + step * n, first)`: some whole steps behind the first iteration of the loop
that it was cut from. Where the next cut falls on the grid is the same whether it is counted from the one or from the
other, but counted from the start of the piece, each cut would hold several copies of the one before.
"""

from __future__ import annotations

from collections.abc import Iterator

from slinky.symbolic.expressions import Expr, Max, Min, constant_value, linear, linear_sum, maximum, minimum
from slinky.symbolic.order import weight

_HEAVIEST = 1_000
"""The largest weight of a start that is taken apart."""


def grid_origin(start: Expr, step: Expr) -> Expr:
    """An expression, as short as is found, that differs from a start by a multiple of a step."""
    if weight(start) > _HEAVIEST:
        return start
    if not isinstance(start, (Min, Max)):
        return _without_steps(start, step)
    # All operands moved by the same steps, several times over, are the operands in one place, moved.
    places: dict[Expr, set[Expr]] = {}
    for origin, moved in _moved_operands(start, step):
        places.setdefault(moved, set()).add(origin)
    origins, *others = places.values()
    if any(other != origins for other in others):
        return start
    return (minimum if isinstance(start, Min) else maximum)(*origins)


def _moved_operands(start: Min | Max, step: Expr) -> Iterator[tuple[Expr, Expr]]:
    """The operands of a choice, each as an origin and by how much it is moved."""
    for operand in start.operands:
        origin = grid_origin(operand, step)
        for part in origin.operands if isinstance(origin, type(start)) else (origin,):
            yield part, operand - origin


def _without_steps(expr: Expr, step: Expr) -> Expr:
    """What is left of a sum without the terms, and without the part of its constant, that are multiples of a step."""
    offset, terms = linear(expr)
    kept = [term for term in terms if constant_value(linear_sum(0, [term]) % step) != 0]
    rest = constant_value(linear_sum(offset, ()) % step)
    return linear_sum(offset if rest is None else rest, kept)
