"""Does a box lie in another one? Asked of constants, of single facts, or by a proof.

Invariant: yes is said only where each element of the one is in the other, for all integers that meet the facts.
"""

from __future__ import annotations

from collections.abc import Iterable

from slinky.symbolic.comparing import at_most, plainly_at_most, told_at_most
from slinky.symbolic.expressions import FALSE, Expr
from slinky.symbolic.intervals import Box, Interval
from slinky.symbolic.proofs import Facts, prove


def inside(inner: Interval, outer: Interval, known: Facts) -> bool:
    """Whether an interval that is not empty is shown to lie in another, by more than that the facts contradict."""
    return shown(outer.min, inner.min, known) and shown(inner.max, outer.max, known)


def shown(a: Expr, b: Expr, known: Facts) -> bool:
    """Whether `a <= b` is shown: by few steps, or else by a proof."""
    if at_most(a, b, known):
        return True
    condition = a <= b
    return condition is not FALSE and prove(condition, known)


def contains(outer: Box, inner: Box, known: Facts) -> bool:
    """Whether a box that is not empty is shown to lie in another."""
    return all(inside(b, a, known) for a, b in zip(outer, inner, strict=True))


def plainly_contains(outer: Box, inner: Box, dims: Iterable[int]) -> bool:
    """Whether a box contains another one along some dimensions, as constants tell."""
    for d in dims:
        if not (plainly_at_most(outer[d].min, inner[d].min) and plainly_at_most(inner[d].max, outer[d].max)):
            return False
    return True


def told_to_contain(outer: Box, inner: Box, known: Facts) -> bool:
    """Whether a box contains another one, as constants or single facts tell."""
    for a, b in zip(outer, inner, strict=True):
        if not (told_at_most(a.min, b.min, known) and told_at_most(b.max, a.max, known)):
            return False
    return True
