"""What remainders alone say of a sum with quotients: integers that it lies between, whatever its symbols are.

A quotient `n // d` is `(n - r) / d` with a remainder r from 0 to d - 1. Where all symbols cancel once the quotients of
a sum are written like this, only remainders are left, and they are bounded: `y // 4 - 2 * (y // 8)` is 0 or 1. The
constructors ask this before they make a choice or a comparison, so that what the grid of a pyramid decides is decided
once, and not by a proof each time.

Invariant: every value of the sum lies between the two integers. They are found in one walk over the terms.
"""

from __future__ import annotations

from functools import lru_cache
from math import lcm

from slinky.symbolic.nodes import Constant, Expr, FloorDivide, Sum


def between(offset: int, terms: tuple[tuple[Expr, int], ...]) -> tuple[int, int] | None:
    """The least and the largest value of a sum by its remainders; None where symbols are left."""
    for atom, _ in terms:
        if type(atom) is FloorDivide:
            found = _between(terms)
            return None if found is None else (offset + found[0], offset + found[1])
    return None


@lru_cache(maxsize=16384)
def _between(terms: tuple[tuple[Expr, int], ...]) -> tuple[int, int] | None:
    quotients = [(atom, c) for atom, c in terms if type(atom) is FloorDivide and type(atom.denominator) is Constant]
    common = lcm(*[atom.denominator.value for atom, _ in quotients])  # type: ignore[attr-defined]
    written = {atom for atom, _ in quotients}
    left: dict[Expr, int] = {atom: c * common for atom, c in terms if atom not in written}
    low = high = 0  # of the sum times `common`
    for quotient, c in quotients:
        d = quotient.denominator.value  # type: ignore[attr-defined]
        share = c * (common // d)
        numerator = quotient.numerator
        if type(numerator) is Sum:
            low += share * numerator.constant
            high += share * numerator.constant
            for atom, factor in numerator.terms:
                left[atom] = left.get(atom, 0) + share * factor
        else:
            left[numerator] = left.get(numerator, 0) + share
        if share > 0:
            low -= share * (d - 1)
        else:
            high -= share * (d - 1)
    if any(left.values()):
        return None
    return -(-low // common), high // common
