"""A short look at whether one expression is at most another, choice by choice.

To compare `max(a, b)` with `min(c, d)` is to compare each operand of one with each of the other. As a condition, that
is a tree of comparisons to be built, sorted and searched; here the operands are compared as they stand, which answers
most questions that legality asks in a fraction of the time. What is not found is left to `prove`.

Invariant: `at_most` says yes only to what holds for all integers that meet the facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slinky.symbolic.arithmetic import Terms, linear
from slinky.symbolic.chaining import follows
from slinky.symbolic.expressions import Expr, Max, Min, Select, difference, linear_sum
from slinky.symbolic.facts import Facts
from slinky.symbolic.remainders import between
from slinky.symbolic.rising import ways
from slinky.symbolic.traversal import substitute

_DEEPEST = 10
"""Choices nested deeper are left to `prove`."""

_CHOICES = frozenset((Min, Max, Select))

_NO_NAMES: Mapping[Expr, Expr] = {}


def at_most(a: Expr, b: Expr, known: Facts, deepest: int = _DEEPEST) -> bool:
    """Whether `a <= b` is found to hold by a short look.

    Of choices, what was found is remembered with the facts: legality asks several ways whether boxes contain a region,
    and most of all of what fails, for each box and end again.
    """
    if a is b:
        return True
    if deepest == 0:
        return False
    kind, other = type(a), type(b)
    if deepest == _DEEPEST and (kind in _CHOICES or other in _CHOICES):
        found = known.compared.get((a, b))
        if found is None:
            found = _at_most(a, b, kind, other, known, deepest)
            known.remember_compared(a, b, found)
        return found
    return _at_most(a, b, kind, other, known, deepest)


def _at_most(a: Expr, b: Expr, kind: type[Expr], other: type[Expr], known: Facts, deepest: int) -> bool:
    """The same for two expressions that differ, of these kinds."""
    deeper = deepest - 1
    if kind is Max:
        return _all_at_most(a.operands, (b,), known, deeper)  # type: ignore[attr-defined]
    if kind is Select:
        return _all_at_most((a.then, a.otherwise), (b,), known, deeper)  # type: ignore[attr-defined]
    if other is Min:
        return _all_at_most((a,), b.operands, known, deeper)  # type: ignore[attr-defined]
    if other is Select:
        return _all_at_most((a,), (b.then, b.otherwise), known, deeper)  # type: ignore[attr-defined]
    if kind is Min:
        if other is Max and exceeds_at_most(a, b, 0):
            return True
        for e in a.operands:  # type: ignore[attr-defined]
            if at_most(e, b, known, deeper):
                return True
    if other is Max:
        # An operand that a fact tells about is found sooner than it is found out that another one does not do.
        if kind is not Min and _is_told(a, b.operands, known):  # type: ignore[attr-defined]
            return True
        for e in b.operands:  # type: ignore[attr-defined]  # noqa: SIM110  # asked most of all: written out
            if at_most(a, e, known, deeper):
                return True
        return False
    return kind is not Min and (_follows(a, b, known) or rises(*difference(b, a), known, deeper))


def rises(offset: int, terms: Terms, known: Facts, deepest: int = _DEEPEST) -> bool:
    """Whether `0 <= offset + terms` by what products and quotients in it are made of, as a short look tells."""
    return any(
        all(never_negative(*linear(goal), known, deepest=deepest) for goal in goals)
        for goals in ways(offset, terms, known)
    )


def never_negative(
    offset: int, terms: Terms, known: Facts, meanings: Mapping[Expr, Expr] = _NO_NAMES, deepest: int = _DEEPEST
) -> bool:
    """Whether `0 <= offset + terms`, as a comparison of what is subtracted with what is added tells. `meanings` are put
    in place of names first."""
    less = linear_sum(0, [(atom, -c) for atom, c in terms if c < 0])
    more = linear_sum(offset, [term for term in terms if term[1] > 0])
    if meanings:
        less, more = substitute(less, meanings), substitute(more, meanings)
    return at_most(less, more, known, deepest)


def _is_told(a: Expr, upper: Sequence[Expr], known: Facts) -> bool:
    """Whether a is at most any of some expressions, as constants or one fact tell."""
    for b in upper:
        offset, terms = difference(b, a)
        if offset >= 0 if not terms else known.tightest.get(terms, offset + 1) <= offset:
            return True
    return False


def _all_at_most(lower: Sequence[Expr], upper: Sequence[Expr], known: Facts, deepest: int) -> bool:
    for a in lower:
        for b in upper:
            if not at_most(a, b, known, deepest):
                return False
    return True


def told_at_most(a: Expr, b: Expr, known: Facts) -> bool:
    """Whether `a <= b`, as constants or one fact tell for each pair of operands of choices."""
    for lower in a.operands if type(a) is Max else (a,):
        for upper in b.operands if type(b) is Min else (b,):
            if exceeds_at_most(lower, upper, 0):
                continue
            uppers = upper.operands if type(upper) is Max else (upper,)
            for each in lower.operands if type(lower) is Min else (lower,):
                if _is_told(each, uppers, known):
                    break
            else:
                return False
    return True


def plainly_at_most(a: Expr, b: Expr, most: int = 0) -> bool:
    """Whether `a <= b + most`, whatever the symbols are, as the constants of all operands of choices tell."""
    for lower in a.operands if type(a) is Max else (a,):
        for upper in b.operands if type(b) is Min else (b,):
            if not exceeds_at_most(lower, upper, most):
                return False
    return True


def exceeds_at_most(a: Expr, b: Expr, most: int) -> bool:
    """Whether `a <= b + most`, whatever the symbols are, as constants tell: an operand of the minimum a exceeds one of
    the maximum b by no more. (What a window leaves of an array often does: it is asked before all that takes a search.)
    """
    if a is b:
        return most >= 0
    if type(a) is not Min and type(b) is not Max:
        (lower_by, lower_terms), (upper_by, upper_terms) = linear(a), linear(b)
        return lower_by <= upper_by + most and lower_terms == upper_terms
    offsets: dict[Terms, int] = {}
    for upper in b.operands if type(b) is Max else (b,):
        offset, terms = linear(upper)
        offsets[terms] = offset
    for lower in a.operands if type(a) is Min else (a,):
        offset, terms = linear(lower)
        if terms in offsets and offset <= offsets[terms] + most:
            return True
    return False


def _follows(a: Expr, b: Expr, known: Facts) -> bool:
    offset, terms = difference(b, a)
    if not terms:
        return offset >= 0
    range_ = between(offset, terms)
    return range_[0] >= 0 if range_ is not None else follows(known, offset, terms)
