"""Clamps of clamps: operands that the choices around them cut off.

In `max(m, min(n - 1, max(m - 1, y - 2)))` the operand `m - 1` never matters: wherever the inner maximum is no more than
`m`, the outer one is what it is without it. A chain of windows that are clamped at the borders of an array is full of
such operands, one pair more with each stage; without them its bounds do not grow.

How it is shown. A choice stands in others that only see its value between a *floor* and a *ceiling*: every operand
beside a maximum around it is a floor, every operand beside a minimum around it a ceiling, for maxima and minima are
monotone, and `max(v, f) = max(max(v, f), f)` goes through all of them. An operand of a maximum that is at most some
floor, or another operand, can go; so can one of a minimum that is at least some ceiling. Operands go one by one, each
looked at in what is left of the whole, so that no two go because of each other.

Invariant: under the facts, the result has the value of the expression, and is not larger.
"""

from __future__ import annotations

from collections.abc import Mapping

from slinky.errors import ExpressionError
from slinky.symbolic.comparing import at_most
from slinky.symbolic.expressions import Expr, Max, Min, maximum, minimum
from slinky.symbolic.facts import Facts
from slinky.symbolic.order import weight
from slinky.symbolic.traversal import evaluate

_MOST_BOUNDS = 12
"""Of choices nested deeper, only the innermost floors and ceilings are looked at."""

_DEEPEST = 24
"""Choices nested deeper are left as they are."""

HEAVIEST_CUT = 300
"""The weight up to which expressions are looked through. The heaviest that was met in the tests of windows at the edges
of arrays, chains of three among them, has 151; in the examples, 19."""


def is_nested(expr: Expr) -> bool:
    """Whether an expression is a choice in which others stand."""
    return isinstance(expr, (Min, Max)) and any(isinstance(operand, (Min, Max)) for operand in expr.operands)


def without_cut_off(expr: Expr, known: Facts) -> Expr:
    """An expression of the same value under the facts, without operands that never matter.

    A heavy one stays as it is: all of its operands would be compared with each other.
    """
    if not is_nested(expr) or weight(expr) > HEAVIEST_CUT:
        return expr
    return _Cut(known).seen_between(expr, (), (), _DEEPEST)


class _Cut:
    """Takes operands away under some facts."""

    def __init__(self, known: Facts) -> None:
        self._known = known
        self._witnesses = tuple(known.witnesses)
        self._examples: dict[Expr, tuple[int | None, ...]] = {}

    def seen_between(self, expr: Expr, floors: tuple[Expr, ...], ceilings: tuple[Expr, ...], deepest: int) -> Expr:
        """What may stand in the place of an expression that is seen between floors and ceilings."""
        if not isinstance(expr, (Min, Max)) or deepest == 0:
            return expr
        is_maximum = isinstance(expr, Max)
        choose = maximum if is_maximum else minimum
        kept = list(expr.operands)
        for operand in expr.operands:
            others = [other for other in kept if other is not operand]
            limits = (*others, *(floors if is_maximum else ceilings))
            if others and any(self._is_cut_off(operand, limit, is_maximum) for limit in limits):
                kept = others
                continue
            beside = tuple(others)
            if is_maximum:
                seen = self.seen_between(operand, (*beside, *floors)[:_MOST_BOUNDS], ceilings, deepest - 1)
            else:
                seen = self.seen_between(operand, floors, (*beside, *ceilings)[:_MOST_BOUNDS], deepest - 1)
            kept = [seen if other is operand else other for other in kept]
        return choose(*kept)

    def _is_cut_off(self, operand: Expr, limit: Expr, is_maximum: bool) -> bool:
        """Whether an operand of a maximum is never above a floor, or one of a minimum never below a ceiling."""
        low, high = (operand, limit) if is_maximum else (limit, operand)
        pairs = zip(self._values(low), self._values(high), strict=True)
        if any(a > b for a, b in pairs if a is not None and b is not None):
            return False  # at once: among many operands, hardly any is cut off by another
        return at_most(low, high, self._known)

    def _values(self, expr: Expr) -> tuple[int | None, ...]:
        """What an expression is in the examples that are at hand of integers that meet the facts."""
        found = self._examples.get(expr)
        if found is None:
            found = self._examples[expr] = tuple([_value(expr, witness) for witness in self._witnesses])
        return found


def _value(expr: Expr, values: Mapping[Expr, int]) -> int | None:
    try:
        return evaluate(expr, values)
    except ExpressionError:
        return None
