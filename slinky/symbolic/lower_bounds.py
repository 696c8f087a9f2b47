"""Integers that expressions are never below, as a short look at their structure and at facts tells.

Invariant: no value of an expression is below the bound that is found, for all integers that meet the facts.
"""

from __future__ import annotations

from slinky.symbolic.arithmetic import Terms, divide_out
from slinky.symbolic.chaining import follows
from slinky.symbolic.expressions import (
    Constant,
    Expr,
    FloorDivide,
    Max,
    Metadata,
    Product,
    Sum,
    linear,
    linear_sum,
)
from slinky.symbolic.facts import Facts
from slinky.symbolic.traversal import symbols

_DEEPEST = 20


def at_least(expr: Expr, least: int, known: Facts) -> bool:
    """Whether an expression is never below an integer, as far as a short look tells."""
    offset, terms = linear(expr)
    if follows(known, offset - least, terms):
        return True
    bound = constant_lower_bound(expr, known)
    return bound is not None and bound >= least


def constant_lower_bound(expr: Expr, known: Facts, deepest: int = _DEEPEST) -> int | None:
    """An integer that the expression is never below, read off its structure and the facts about single symbols."""
    if deepest == 0:
        return None
    match expr:
        case Constant(value=value):
            return value
        case Sum(constant=offset, terms=terms):
            total = offset
            for atom, c in terms:
                bound = constant_lower_bound(atom, known, deepest - 1) if c > 0 else _upper_bound(atom, known)
                if bound is None:
                    return _bound_of_factors(expr, known) if _has_products(terms) else None
                total += c * bound
            return total
        case Product(factors=factors):
            result = 1
            for factor in factors:
                bound = constant_lower_bound(factor, known, deepest - 1)
                if bound is None or bound < 0:
                    return None
                result *= bound
            return result
        case FloorDivide(numerator=numerator, denominator=denominator):
            above = constant_lower_bound(numerator, known, deepest - 1)
            if above is None:
                return None
            if isinstance(denominator, Constant):
                return above // denominator.value
            below = constant_lower_bound(denominator, known, deepest - 1)
            if below is None or below < 1:
                return None
            return 0 if above >= 0 else above
        case Max(operands=operands):
            bounds = [constant_lower_bound(operand, known, deepest - 1) for operand in operands]
            return max([bound for bound in bounds if bound is not None], default=None)
        case Metadata(field="fold_factor"):
            return 1
    best: int | None = None
    for offset, terms in known.upward.get(expr, ()):
        if len(terms) == 1:
            bound = -(offset // terms[0][1])
            best = bound if best is None else max(best, bound)
    return best


def _upper_bound(atom: Expr, known: Facts) -> int | None:
    """An integer that an atom is never above, as the facts about it alone tell."""
    ends = [offset // -terms[0][1] for offset, terms in known.downward.get(atom, ()) if len(terms) == 1]
    return min(ends, default=None)


def _bound_of_factors(expr: Sum, known: Facts) -> int | None:
    """A lower bound of a product that was multiplied out: of `g * q + c` with a factor g that a fact makes positive.

    Extents are sums, so a product of extents is a long sum; a fact such as `extent >= 1` tells a factor of it.
    """
    lead = next(atom for atom, _ in expr.terms if isinstance(atom, Product)).factors[0]
    names = symbols(expr)
    for offset, terms in (*known.upward.get(lead, ()), *known.downward.get(lead, ())):
        if not all(atom in names for atom, _ in terms):
            continue
        factor = linear_sum(offset + 1, terms)  # the fact is that it is at least 1
        quotient, rest = divide_out(expr, factor)
        if isinstance(rest, Constant) and not isinstance(quotient, Constant):
            for bound in (1, 0):  # less with each division, so this comes to an end
                if at_least(quotient, bound, known):
                    return bound + rest.value
    return None


def _has_products(terms: Terms) -> bool:
    return any(isinstance(atom, Product) for atom, _ in terms)
