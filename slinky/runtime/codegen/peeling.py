"""Where does a loop run in its steady state?

In most iterations a clamp does nothing, a call is not empty, a choice falls always the same way. Each such question
is a comparison of the loop's variable with a value that does not change in the loop, a *threshold*. Between the
largest lower and the smallest upper threshold all questions are answered, once, before the loop begins.

Invariant: for every value of the variable with `lower <= variable <= upper` for all thresholds, `steady` conditions
hold.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from slinky.symbolic.expressions import (
    And,
    Condition,
    Expr,
    Max,
    Min,
    Node,
    NonNegative,
    Select,
    Variable,
    linear,
    linear_sum,
    negate,
)
from slinky.symbolic.intervals import Interval
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import children, symbols

_MOST_COMPARED = 16
"""More thresholds of one kind are kept as they are: comparing each with each would cost too much."""


@attrs.frozen
class Thresholds:
    """`variable >= e` for e in `lower` and `variable <= e` for e in `upper`: the steady state."""

    lower: tuple[Expr, ...]
    upper: tuple[Expr, ...]


def thresholds(
    variable: Variable, range_: Interval, exprs: Iterable[Expr], conditions: Iterable[Condition], known: Facts
) -> Thresholds:
    """The thresholds between which the choices in `exprs` are decided and the conditions hold.

    `known` are the facts in the body of the loop. What is decided by them, or depends on the variable in another way
    than by comparison with a threshold, gives none.
    """
    wanted: dict[Condition, None] = {}
    for expr in exprs:
        wanted.update(dict.fromkeys(_decisions(expr, variable, range_)))
    for condition in conditions:
        wanted.update(dict.fromkeys(condition.operands if isinstance(condition, And) else (condition,)))
    lower: dict[Expr, None] = {}
    upper: dict[Expr, None] = {}
    for condition in wanted:
        found = _threshold(condition, variable)
        if found is not None and not prove(condition, known):
            threshold, is_lower = found
            (lower if is_lower else upper)[threshold] = None
    return Thresholds(_strongest(lower, known, 1), _strongest(upper, known, -1))


def _decisions(root: Expr, variable: Variable, range_: Interval) -> Iterable[Condition]:
    """Conditions under which each choice in an expression that depends on the variable falls one way."""
    waiting: list[Node] = [root]
    seen: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node in seen or variable not in symbols(node):
            continue
        seen.add(node)
        waiting.extend(children(node))
        if isinstance(node, (Min, Max)):
            yield from _winner(node, variable)
        elif isinstance(node, Select):
            yield from _usual(node.condition, variable, range_)


def _winner(choice: Min | Max, variable: Variable) -> Iterable[Condition]:
    """The operand that grows fastest with the variable wins a maximum from some point on, a minimum up to one."""
    rates = [steady_rate(operand, variable) for operand in choice.operands]
    best = max((rate for rate in rates if rate is not None), default=None)
    if best is None or None in rates or rates.count(best) > 1:
        return
    winner = choice.operands[rates.index(best)]
    for operand in choice.operands:
        if operand is not winner:
            yield winner >= operand if isinstance(choice, Max) else winner <= operand


def _usual(condition: Condition, variable: Variable, range_: Interval) -> Iterable[Condition]:
    """The side of a select's condition that holds in all but a fixed number of iterations at one end of the loop."""
    found = _threshold(condition, variable)
    if found is None:
        return
    threshold, is_lower = found
    from_start, from_end = linear(threshold - range_.min)[1], linear(range_.max - threshold)[1]
    if not from_start:
        yield condition if is_lower else negate(condition)
    elif not from_end:
        yield negate(condition) if is_lower else condition


def steady_rate(expr: Expr, variable: Variable) -> int | None:
    """By how much an expression grows with the variable; None if not at a constant rate."""
    if variable not in symbols(expr):
        return 0
    rate = 0
    for atom, c in linear(expr)[1]:
        if atom is variable:
            rate = c
        elif variable in symbols(atom):
            return None
    return rate


def _threshold(condition: Condition, variable: Variable) -> tuple[Expr, bool] | None:
    """The condition as `variable >= threshold` (True) or `variable <= threshold` (False)."""
    if not isinstance(condition, NonNegative):
        return None
    rate = steady_rate(condition.expr, variable)
    if not rate:
        return None
    offset, terms = linear(condition.expr)
    rest = linear_sum(offset, [term for term in terms if term[0] is not variable])
    return (-(rest // rate), True) if rate > 0 else (rest // -rate, False)


def _strongest(found: Iterable[Expr], known: Facts, sign: int) -> tuple[Expr, ...]:
    """Thresholds without those that follow from another."""
    kept = list(found)
    if len(kept) > _MOST_COMPARED:
        return tuple(kept)
    for threshold in list(kept):
        others = [other for other in kept if other is not threshold]
        if any(prove(sign * (other - threshold) >= 0, known) for other in others):
            kept = others
    return tuple(kept)
