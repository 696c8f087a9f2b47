"""The constructors of conditions. Each returns the canonical form.

Invariants.

* A comparison that `remainders` decide is a truth.
* A condition is built of `0 <= e` and `0 == e` by `And` and `Or` alone. Choices in a comparison are split into cases,
  unless there are more than `WIDEST` or the comparison is heavier than `HEAVIEST_SPLIT`, and constants are tightened
  to integers (`0 <= 2*x + 1` is `0 <= x`).
* `And` and `Or` are flat, sorted, and hold nothing twice. There is no "not": `negate` turns a condition around.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import cast

from slinky.errors import cited
from slinky.symbolic.arithmetic import (
    SYMBOLS,
    WIDEST,
    Terms,
    difference,
    linear,
    linear_sum,
    of_symbols,
    plus,
    scale,
    spread,
    sum_of,
)
from slinky.symbolic.nodes import (
    FALSE,
    TRUE,
    And,
    Condition,
    Constant,
    Expr,
    ExprLike,
    IsZero,
    Max,
    Min,
    NonNegative,
    Or,
    Select,
    Sum,
    Truth,
    as_expr,
    intern,
    truth,
)
from slinky.symbolic.order import order_key, weight
from slinky.symbolic.remainders import between

_CHOICES = frozenset((Min, Max, Select))

HEAVIEST_SPLIT = 1_000
"""The largest weight of a comparison that is split into cases: each case holds a copy of the rest."""


def _is_split(expr: Expr) -> bool:
    """Whether a comparison of a sum that holds a choice is split into cases."""
    return spread(expr) <= WIDEST and weight(expr) <= HEAVIEST_SPLIT


def nonnegative(expr: Expr) -> Condition:
    """`0 <= expr`."""
    offset, terms = linear(expr)
    if not terms:
        return truth(offset >= 0)
    if type(terms[-1][0]) in _CHOICES and _is_split(expr):  # choices come last
        atom, c = next(term for term in terms if type(term[0]) in _CHOICES)
        return _split_choice(atom, c, offset, terms)
    if len(terms) == 1:
        divisor = abs(terms[0][1])
    else:
        divisor = math.gcd(*[c for _, c in terms])
    if divisor > 1:
        expr = linear_sum(offset // divisor, [(atom, c // divisor) for atom, c in terms])
        offset, terms = linear(expr)
    range_ = between(offset, terms)
    if range_ is not None:
        if range_[0] >= 0:
            return TRUE
        if range_[1] < 0:
            return FALSE
    return intern(NonNegative, expr)


@lru_cache(maxsize=16384)
def _split_choice(atom: Expr, c: int, offset: int, terms: Terms) -> Condition:
    """`0 <= c * choice + rest` as a condition on each case of the choice. Schedules ask for the same ones again."""
    rest = [term for term in terms if term[0] is not atom]

    def case(operand: Expr) -> Condition:
        return nonnegative(linear_sum(offset, [(operand, c), *rest]))

    if isinstance(atom, Select):
        return any_of(
            all_of(atom.condition, case(atom.then)),
            all_of(negate(atom.condition), case(atom.otherwise)),
        )
    assert isinstance(atom, (Min, Max))
    combine = all_of if isinstance(atom, Min) == (c > 0) else any_of
    return combine(*map(case, atom.operands))


_MOST_EACH = 8
_LONGEST_EACH = 16
"""Choices of more operands, or of longer ones, are compared as they stand: that keeps to `WIDEST` and the weights."""


def each_not_negative(a: Expr, b: Expr, offset: int) -> Condition | None:
    """`0 <= a - b + offset`, where that asks the same of each operand of a minimum a and of a maximum b.

    None where another look is needed: where operands are more than sums of symbols. Such operands differ in more than
    their constants, also with the same sum added to each, so nothing else comes of it if the sum is made and split.
    """
    highs = a.operands if type(a) is Min else (a,)
    lows = b.operands if type(b) is Max else (b,)
    if len(highs) > _MOST_EACH or len(lows) > _MOST_EACH:
        return None
    for operand in (*highs, *lows):
        kind = type(operand)
        if kind not in SYMBOLS and kind is not Constant:
            if kind is not Sum or len(operand.terms) > _LONGEST_EACH or not of_symbols(operand.terms):  # type: ignore[attr-defined]
                return None
    found: list[Condition] = []
    for high in highs:
        for low in lows:
            constant, terms = difference(high, low)
            part = nonnegative(sum_of(constant + offset, terms))
            if part is FALSE:
                return FALSE
            found.append(part)
    return all_of(*found)


def is_zero(expr: Expr) -> Condition:
    """`0 == expr`."""
    offset, terms = linear(expr)
    if not terms:
        return truth(offset == 0)
    if type(terms[-1][0]) in _CHOICES and _is_split(expr):
        return all_of(nonnegative(expr), nonnegative(scale(expr, -1)))
    divisor = math.gcd(*[c for _, c in terms])
    if offset % divisor:
        return FALSE
    if terms[0][1] < 0:
        divisor = -divisor
    if divisor != 1:
        expr = linear_sum(offset // divisor, [(atom, c // divisor) for atom, c in terms])
    return intern(IsZero, expr)


def equal(a: ExprLike, b: ExprLike) -> Condition:
    """The condition `a == b`."""
    return is_zero(as_expr(a) - as_expr(b))


def unequal(a: ExprLike, b: ExprLike) -> Condition:
    """The condition `a != b`."""
    return negate(equal(a, b))


def all_of(*conditions: Condition) -> Condition:
    """Every one of the conditions; `TRUE` for none."""
    return _junction(And, conditions)


def any_of(*conditions: Condition) -> Condition:
    """At least one of the conditions; `FALSE` for none."""
    return _junction(Or, conditions)


def _junction(kind: type[And] | type[Or], conditions: tuple[Condition, ...]) -> Condition:
    neutral, dominant = (TRUE, FALSE) if kind is And else (FALSE, TRUE)
    flat: dict[Condition, None] = {}
    for condition in conditions:
        if not isinstance(condition, Condition):
            raise TypeError(f"expected a condition such as y <= 3, got {cited(condition)}")
        for operand in condition.operands if isinstance(condition, kind) else (condition,):
            if operand is dominant:
                return dominant
            if operand is not neutral:
                flat[operand] = None
    if not flat:
        return neutral
    if len(flat) == 1:
        return next(iter(flat))
    return intern(kind, tuple(sorted(flat, key=order_key)))


def negate(condition: Condition) -> Condition:
    """The condition that holds where this one does not."""
    if type(condition) is NonNegative:
        return nonnegative(plus(scale(condition.expr, -1), -1))
    if not isinstance(condition, Condition):
        raise TypeError(f"expected a condition, got {cited(condition)}")
    # Inner conditions first, without recursion: a condition may be nested to any depth.
    negated: dict[Condition, Condition] = {}
    stack = [condition]
    while stack:
        top = stack[-1]
        missing = [part for part in _operands(top) if part not in negated]
        if missing:
            stack.extend(missing)
        else:
            stack.pop()
            negated[top] = _negate_one(top, negated)
    return negated[condition]


def _operands(condition: Condition) -> tuple[Condition, ...]:
    return condition.operands if isinstance(condition, (And, Or)) else ()


def _negate_one(condition: Condition, negated: dict[Condition, Condition]) -> Condition:
    match condition:
        case Truth(value=value):
            return truth(not value)
        case NonNegative(expr=expr):
            return nonnegative(plus(scale(expr, -1), -1))
        case IsZero(expr=expr):
            return any_of(nonnegative(plus(expr, -1)), nonnegative(plus(scale(expr, -1), -1)))
        case And(operands=operands):
            return any_of(*[negated[operand] for operand in operands])
    return all_of(*[negated[operand] for operand in cast(Or, condition).operands])
