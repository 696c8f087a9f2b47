"""A short look at whether one expression is at most another, choice by choice.

To compare `max(a, b)` with `min(c, d)` is to compare each operand of one with each of the other. As a condition, that
is a tree of comparisons to be built, sorted and searched; here the operands are compared as they stand, which answers
most questions that legality asks in a fraction of the time. What is not found is left to `prove`.

Invariant: `at_most` says yes only to what holds for all integers that meet the facts.
"""

from __future__ import annotations

from slinky.symbolic.chaining import follows
from slinky.symbolic.expressions import Expr, Max, Min, Select, difference
from slinky.symbolic.facts import Facts
from slinky.symbolic.remainders import between

_DEEPEST = 10
"""Choices nested deeper are left to `prove`."""


def at_most(a: Expr, b: Expr, known: Facts, deepest: int = _DEEPEST) -> bool:
    """Whether `a <= b` is found to hold by a short look."""
    if a is b:
        return True
    if deepest == 0:
        return False
    deeper = deepest - 1
    match a:
        case Max(operands=operands):
            return all(at_most(e, b, known, deeper) for e in operands)
        case Select(then=then, otherwise=otherwise):
            return at_most(then, b, known, deeper) and at_most(otherwise, b, known, deeper)
    match b:
        case Min(operands=operands):
            return all(at_most(a, e, known, deeper) for e in operands)
        case Select(then=then, otherwise=otherwise):
            return at_most(a, then, known, deeper) and at_most(a, otherwise, known, deeper)
    if type(a) is Min and any(at_most(e, b, known, deeper) for e in a.operands):
        return True
    if type(b) is Max:
        return any(at_most(a, e, known, deeper) for e in b.operands)
    return type(a) is not Min and _follows(a, b, known)


def _follows(a: Expr, b: Expr, known: Facts) -> bool:
    offset, terms = difference(b, a)
    if not terms:
        return offset >= 0
    range_ = between(offset, terms)
    return range_[0] >= 0 if range_ is not None else follows(known, offset, terms)
