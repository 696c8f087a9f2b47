"""Products and quotients rise with what they are made of: what of that is enough for a sum of them not to be negative.

`n * a - n * b` is not negative where n and `a - b` are not, nor is `a // d - b // d + c` where d is at least 1 and
`a - b + c * d` is not negative. As inequalities, both take rows that are multiplied by each other; read like this, they
are left with what the windows of a resampling differ by, which is plain.

Invariant: where all goals of one way hold, so does what they were asked for, for all integers that meet the facts. Each
goal has fewer products or quotients than that, so this comes to an end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from slinky.symbolic.arithmetic import Terms, divide_out
from slinky.symbolic.expressions import Constant, Expr, FloorDivide, Max, Min, Product, Select, linear, linear_sum
from slinky.symbolic.facts import Facts
from slinky.symbolic.lower_bounds import at_least

_MADE_OF_OTHERS = (Product, FloorDivide, Min, Max, Select)

_LONGEST = 6
"""Longer sums are not taken apart: what is multiplied out has as many terms as all its factors, multiplied."""


def ways(offset: int, terms: Terms, known: Facts) -> Iterator[tuple[Expr, ...]]:
    """Goals that are enough for `0 <= offset + terms`, if all goals of one way are not negative."""
    if len(terms) <= _LONGEST and any(_is_nonlinear(atom) for atom, _ in terms):
        yield from _of_quotients(offset, terms, known)
        yield from _of_products(linear_sum(offset, terms), terms, known)


def _is_nonlinear(atom: Expr) -> bool:
    """Whether an atom is a product, or a quotient that two inequalities between symbols do not say all of."""
    if not isinstance(atom, FloorDivide):
        return isinstance(atom, Product)
    inside = linear(atom.numerator)[1]
    return not isinstance(atom.denominator, Constant) or any(isinstance(a, _MADE_OF_OTHERS) for a, _ in inside)


def _of_quotients(offset: int, terms: Terms, known: Facts) -> Iterator[tuple[Expr, ...]]:
    """`c * (a // d) - c * (b // d) + offset`, by what a is to reach."""
    if len(terms) != 2:
        return
    (first, c), (second, other) = terms if terms[0][1] > 0 else terms[::-1]
    if c <= 0 or other != -c or not isinstance(first, FloorDivide) or not isinstance(second, FloorDivide):
        return
    d = first.denominator
    if d is second.denominator and at_least(d, 1, known):
        yield (first.numerator - second.numerator + (offset // c) * d,)


def _of_products(whole: Expr, terms: Terms, known: Facts) -> Iterator[tuple[Expr, ...]]:
    """`factor * part + rest`, by its part and its rest, for the factor that stands in most of the terms."""
    standing = Counter(f for atom, _ in terms if isinstance(atom, Product) for f in atom.factors)
    for factor, _ in standing.most_common():
        if at_least(factor, 0, known):
            part, rest = divide_out(whole, factor)
            if not _has_factor(rest, factor):
                yield part, rest
                return


def _has_factor(expr: Expr, factor: Expr) -> bool:
    return any(factor in atom.factors for atom, _ in linear(expr)[1] if isinstance(atom, Product))
