"""Expressions that follow one of some dimensions: forward or backward, with something added that names none of them.

Where an index does, a box of coordinates stands for a box of values and the other way round.

Invariant: what is found is the expression, whatever integers its symbols stand for.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from slinky.symbolic.expressions import Expr, linear, linear_sum
from slinky.symbolic.intervals import Interval
from slinky.symbolic.traversal import symbols


@attrs.frozen
class Followed:
    """`sign * x + rest`, where x is a dimension, given by position, and sign is 1 or -1."""

    dim: int
    sign: int
    rest: Expr

    def values(self, i: Interval) -> Interval:
        """The values that it takes where the dimension takes those of an interval."""
        lo, hi = self._in_order(i)
        return Interval(self.sign * lo + self.rest, self.sign * hi + self.rest)

    def solved(self, value: Expr) -> Expr:
        """The coordinate of the dimension at which it has a value."""
        return (value - self.rest) * self.sign

    def within(self, limit: Interval) -> Interval:
        """The coordinates of the dimension at which its value lies in an interval."""
        lo, hi = self._in_order(limit)
        return Interval(self.solved(lo), self.solved(hi))

    def _in_order(self, i: Interval) -> tuple[Expr, Expr]:
        return (i.min, i.max) if self.sign > 0 else (i.max, i.min)


def followed(e: Expr, dims: Sequence[Expr]) -> Followed | None:
    """Which of some dimensions an expression follows; None where it follows none, several, or by more than a sign."""
    offset, terms = linear(e)
    moving = [(atom, factor) for atom, factor in terms if atom in dims]
    if len(moving) != 1 or abs(moving[0][1]) != 1:
        return None
    ((dim, sign),) = moving
    rest = linear_sum(offset, [term for term in terms if term[0] is not dim])
    return Followed(dims.index(dim), sign, rest) if symbols(rest).isdisjoint(dims) else None
