"""What a condition says of one of its symbols: that it is some value, or at least, or at most that.

Invariant: a `Limit` is just as strong as its condition. Whatever integers the other symbols have that meet the facts,
the condition holds for exactly the integers of the symbol that the limit allows; but for `IS`, where there may be none
(`2*s == n` with an odd n): then the value is that of the quotient rounded down, and the condition fails for it.
"""

from __future__ import annotations

from enum import Enum

import attrs

from slinky.symbolic.expressions import (
    Condition,
    Expr,
    FloorDivide,
    IsZero,
    NonNegative,
    Product,
    floor_divide,
    linear,
    linear_sum,
    multiply,
    scalar,
)
from slinky.symbolic.facts import Facts
from slinky.symbolic.intervals import Interval
from slinky.symbolic.lower_bounds import at_least
from slinky.symbolic.traversal import substitute, symbols


class Side(Enum):
    """How the value of a limit bounds the symbol."""

    IS = "is"
    AT_LEAST = "at least"
    AT_MOST = "at most"


@attrs.frozen
class Limit:
    """What a condition says of a symbol, in terms of the others."""

    side: Side
    value: Expr


def limit_of(condition: Condition, symbol: Expr, known: Facts) -> Limit | None:
    """What a comparison says of a symbol, if it says so by itself; None for a disjunction, say, or `s * s <= n`."""
    match condition:
        case IsZero(expr=expr):
            found = _slope(expr, symbol)
            if found is None:
                return None
            slope, rest = found
            if at_least(slope, 1, known):
                return Limit(Side.IS, floor_divide(-rest, slope))
            if at_least(-slope, 1, known):
                return Limit(Side.IS, floor_divide(rest, -slope))
        case NonNegative(expr=expr):
            return _limit_of_inequality(expr, symbol, known)
    return None


_LIMIT = scalar("'")
"""Stands for a limit while it is solved for: one that is a choice would make several conditions of one."""


def rising_within(e: Expr, limit: Interval, symbol: Expr, known: Facts) -> Interval | None:
    """Where a symbol may be for an expression that rises with it to lie in an interval, in which the symbol does not
    occur; None where that is not clear."""
    lo, hi = limit_of(e >= _LIMIT, symbol, known), limit_of(e <= _LIMIT, symbol, known)
    if lo is None or hi is None or (lo.side, hi.side) != (Side.AT_LEAST, Side.AT_MOST):
        return None
    return Interval(substitute(lo.value, {_LIMIT: limit.min}), substitute(hi.value, {_LIMIT: limit.max}))


def remainder_of(condition: Condition, symbol: Expr) -> tuple[Expr, Expr] | None:
    """The offset and the divisor, neither of which names the symbol, in `(symbol + offset) % divisor == 0`.

    That is `n - divisor * (n // divisor) == 0`. None for any other condition.
    """
    if not isinstance(condition, IsZero):
        return None
    for term, _ in linear(condition.expr)[1]:
        for atom in (term, *term.factors) if isinstance(term, Product) else (term,):
            if isinstance(atom, FloorDivide):
                offset, divisor = atom.numerator - symbol, atom.denominator
                remainder = atom.numerator % divisor
                if symbol not in symbols(offset) | symbols(divisor) and condition.expr in (remainder, -remainder):
                    return offset, divisor
    return None


def _limit_of_inequality(expr: Expr, symbol: Expr, known: Facts) -> Limit | None:
    """What `0 <= expr` says of a symbol. A quotient that it stands in is opened, from the outside in."""
    while True:
        found = _slope(expr, symbol)
        if found is not None:
            slope, rest = found
            if at_least(slope, 1, known):
                return Limit(Side.AT_LEAST, -floor_divide(rest, slope))
            if at_least(-slope, 1, known):
                return Limit(Side.AT_MOST, floor_divide(rest, -slope))
            return None
        opened = _opened(expr, symbol, known)
        if opened is None:
            return None
        expr = opened


def _slope(expr: Expr, symbol: Expr) -> tuple[Expr, Expr] | None:
    """An expression as `slope * symbol + rest`, neither of which names the symbol; None if it cannot be written so."""
    offset, terms = linear(expr)
    slope, rest = linear_sum(0, ()), []
    for atom, c in terms:
        if symbol not in symbols(atom):
            rest.append((atom, c))
            continue
        others = _other_factors(atom, symbol)
        if others is None:
            return None
        slope = slope + c * others
    return slope, linear_sum(offset, rest)


def _other_factors(atom: Expr, symbol: Expr) -> Expr | None:
    """What a symbol is multiplied by in an atom; None if the atom is no such product."""
    if atom is symbol:
        return linear_sum(1, ())
    if not isinstance(atom, Product):
        return None
    others = linear_sum(1, ())
    for factor in (f for f in atom.factors if f is not symbol):
        if symbol in symbols(factor):
            return None
        others = multiply(others, factor)
    return others if sum(factor is symbol for factor in atom.factors) == 1 else None


def _opened(expr: Expr, symbol: Expr, known: Facts) -> Expr | None:
    """`0 <= c * (n // d) + rest`, with the symbol in n alone, as an inequality of n: what stands for 0 <= expr."""
    offset, terms = linear(expr)
    moving = [(atom, c) for atom, c in terms if symbol in symbols(atom)]
    if len(moving) != 1:
        return None
    atom, c = moving[0]
    if not isinstance(atom, FloorDivide) or symbol in symbols(atom.denominator):
        return None
    if not at_least(atom.denominator, 1, known):
        return None
    rest = linear_sum(offset, [term for term in terms if term[0] is not atom])
    if c > 0:  # n // d is at least t: n is at least t * d
        return atom.numerator - multiply(-floor_divide(rest, linear_sum(c, ())), atom.denominator)
    # n // d is at most t: n is at most t * d + d - 1
    return multiply(floor_divide(rest, linear_sum(-c, ())) + 1, atom.denominator) - 1 - atom.numerator
