"""Envelopes: ends that never move back, on either side of one that does.

A window over an array with reflected edges moves back where it is reflected: its start is `min(y - r, 2*n - y)`, say.
Each occurrence of a variable y in an expression has a direction: with y there the expression rises, or it falls
(a negative coefficient turns the direction, minima, maxima and quotients by what is positive keep it). So the
expression is `E(y, y)` for an E(u, w) that rises with u and falls with w, and with something else in the place of w it
is an *envelope*. If `f` is at most all values of y, `E(y, f)` is at least `E(y, y)` and rises with y; if `l` is at
least all of them, `E(y, l)` is at most `E(y, y)` and rises, too.

Where a select asks for y, either of its branches may be taken; the larger one is at least that, the smaller at most.

Invariant: what `rising_part` returns never falls while the variable rises, provided that what stands for its falling
occurrences never rises; and it lies on the side asked for.
"""

from __future__ import annotations

import enum

import attrs

from slinky.symbolic.expressions import (
    Expr,
    FloorDivide,
    Max,
    Min,
    Product,
    Select,
    Sum,
    floor_divide,
    linear_sum,
    maximum,
    minimum,
    multiply,
    product,
    select,
    variable,
)
from slinky.symbolic.proofs import NO_FACTS, Facts, prove
from slinky.symbolic.traversal import symbols

_DEEPEST = 40
"""Of expressions nested deeper, nothing is found."""


class Side(enum.Enum):
    """On which side of an expression its envelope lies."""

    ABOVE = "above"
    BELOW = "below"


def rises(expr: Expr, symbol: Expr, known: Facts = NO_FACTS) -> bool:
    """Whether an expression never falls while a symbol rises, as the directions of its occurrences tell."""
    if symbol not in symbols(expr):
        return True
    return rises_plainly(expr, symbol) or rising_part(expr, symbol, _NOTHING, Side.ABOVE, known) is expr


def rises_plainly(expr: Expr, symbol: Expr) -> bool:
    """Whether the form alone says so, without facts: a sum of symbols, or a choice of the largest or smallest of such
    sums, in each of which the symbol has a positive coefficient, or none."""
    operands = expr.operands if type(expr) is Max or type(expr) is Min else (expr,)
    for operand in operands:
        if operand is symbol:
            continue
        if type(operand) is not Sum:
            if symbol in symbols(operand):
                return False
            continue
        for atom, c in operand.terms:
            if c < 0 if atom is symbol else symbol in symbols(atom):
                return False
    return True


def rising_part(expr: Expr, symbol: Expr, falling: Expr, side: Side, known: Facts = NO_FACTS) -> Expr | None:
    """An envelope of an expression: `falling` stands for the symbol where the expression falls with it.

    None where the direction of an occurrence is not found.
    """
    return _Envelope(symbol, falling, side, known).of(expr, True, _DEEPEST)


_NOTHING = variable("'")
"""Stands for nothing: what holds it is not what was asked about."""


@attrs.frozen
class _Envelope:
    """Takes expressions apart by the directions in which a symbol occurs in them."""

    symbol: Expr
    falling: Expr
    side: Side
    known: Facts

    def of(self, expr: Expr, upward: bool, deepest: int) -> Expr | None:
        """What stands for a part of the whole, which rises with that part if `upward`, and falls if not."""
        if expr is self.symbol:
            return expr if upward else self.falling
        if self.symbol not in symbols(expr):
            return expr
        if deepest == 0:
            return None
        match expr:
            case Sum(constant=offset, terms=terms):
                parts = [self.of(atom, upward == (c > 0), deepest - 1) for atom, c in terms]
                found = [(part, c) for part, (_, c) in zip(parts, terms, strict=True) if part is not None]
                return linear_sum(offset, found) if len(found) == len(terms) else None
            case Min(operands=operands) | Max(operands=operands):
                chosen = self._all(operands, upward, deepest)
                return None if chosen is None else (minimum if isinstance(expr, Min) else maximum)(*chosen)
            case FloorDivide(numerator=numerator, denominator=denominator):
                if self.symbol in symbols(denominator) or not prove(denominator >= 1, self.known):
                    return None
                above = self.of(numerator, upward, deepest - 1)
                return None if above is None else floor_divide(above, denominator)
            case Product(factors=factors):
                return self._product(factors, upward, deepest)
            case Select(condition=condition, then=then, otherwise=otherwise):
                branches = self._all((then, otherwise), upward, deepest)
                if branches is None:
                    return None
                if self.symbol not in symbols(condition):
                    return select(condition, *branches)
                return (maximum if upward == (self.side is Side.ABOVE) else minimum)(*branches)
        return None

    def _all(self, exprs: tuple[Expr, ...], upward: bool, deepest: int) -> list[Expr] | None:
        parts = [self.of(e, upward, deepest - 1) for e in exprs]
        found = [part for part in parts if part is not None]
        return found if len(found) == len(parts) else None

    def _product(self, factors: tuple[Expr, ...], upward: bool, deepest: int) -> Expr | None:
        """A product of which one factor moves, by others that are not negative, or not positive."""
        moving = [n for n, factor in enumerate(factors) if self.symbol in symbols(factor)]
        if len(moving) != 1:
            return None
        rest = product(factors[: moving[0]] + factors[moving[0] + 1 :])
        if not prove(rest >= 0, self.known):
            if not prove(rest <= 0, self.known):
                return None
            upward = not upward
        part = self.of(factors[moving[0]], upward, deepest - 1)
        return None if part is None else multiply(part, rest)
