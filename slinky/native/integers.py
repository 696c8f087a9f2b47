"""Integers and conditions of plan trees as C expressions, with what is known of how large they are.

Idea. A plan in Python computes with integers of any size, C with 64 bits. So each expression is printed together with
bounds, which follow from those of what comes from outside: what comes is asked to be within `LARGEST`, and whatever
cannot be shown to stay far below 64 bits has no text. The sum that it is goes with it, too (see `sums`): of some values
the smallest is often known to be always the same one.

Invariant: where every name holds what its bounds say, the text computes what Python computes, without overflow and
without a division by 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

import attrs

from slinky.native import sums
from slinky.native.sums import Facts, Sum
from slinky.runtime.plan_tree import (
    Boolean,
    Choice,
    Comparison,
    Conjunction,
    Disjunction,
    Greatest,
    Integer,
    Least,
    Linear,
    Name,
    Quotient,
    Remainder,
    Times,
    Value,
)

LARGEST = 1 << 31
"""Integers from outside are at most this large, in either direction."""
_MOST = 1 << 62
_SHORT = 1 << 15
"""Literals below this stand as they are; others say that they are long."""

HELPERS = """\
static inline int64_t slinky_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t slinky_max(int64_t a, int64_t b) { return a > b ? a : b; }
/* Division rounded down, and what it leaves; b is not 0. */
static inline int64_t slinky_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
static inline int64_t slinky_remainder(int64_t a, int64_t b) { return a - b * slinky_quotient(a, b); }
"""
"""What the texts call."""


class UnprintableError(Exception):
    """There is no C text for something that is known to do what the plan in Python does."""


@attrs.frozen
class Whole:
    """An integer in C, or a condition: its text, and between which numbers it lies. An atom needs no brackets. Its sum
    is the text itself, if nothing else is known."""

    text: str
    lo: int
    hi: int
    is_atom: bool = True
    known_sum: Sum | None = None

    @property
    def sum(self) -> Sum:
        """The sum that it is."""
        return sums.name(self.text) if self.known_sum is None else self.known_sum

    @property
    def atom(self) -> str:
        """The text, to stand beside any operator."""
        return self.text if self.is_atom else f"({self.text})"


def literal(number: int) -> Whole:
    """A known integer."""
    text = f"{number}" if abs(number) < _SHORT else f"{number}LL"
    return Whole(text, number, number, number >= 0, sums.number(number))


def known_within(name: str, lo: int, hi: int) -> Whole:
    """A variable of C that holds an integer between two numbers."""
    return Whole(name, lo, hi)


@attrs.frozen
class Integers:
    """Prints integers and conditions. `named` says what a name holds, `divisor` gives a divisor that is not 0, `other`
    is asked for what is said of arrays; `facts` are what is known.

    All raise `UnprintableError`, as does whatever prints.
    """

    named: Callable[[str], Whole]
    divisor: Callable[[Value], Whole]
    other: Callable[[Value], Whole]
    facts: Facts

    def whole(self, value: Value) -> Whole:
        """A value that is an integer or a condition."""
        found = self._printed(value)
        if not -_MOST < found.lo <= found.hi < _MOST:
            raise UnprintableError(f"{found.text} may be too large")
        return found

    def _printed(self, value: Value) -> Whole:
        match value:
            case Name(text=name):
                return self.named(name)
            case Integer(value=number):
                return literal(number)
            case Boolean(value=truth):
                return literal(int(truth))
            case Linear(terms=terms, constant=constant):
                return self._sum(terms, constant)
            case Times(factors=factors):
                return self._product([self.whole(factor) for factor in factors])
            case Quotient(numerator=numerator, denominator=denominator):
                a, b = self.whole(numerator), self.divisor(denominator)
                furthest = max(abs(a.lo), abs(a.hi))
                lo, hi = (a.lo // b.lo, a.hi // b.lo) if b.lo == b.hi > 0 else (-furthest - 1, furthest)
                found = Whole(f"slinky_quotient({a.text}, {b.text})", lo, hi)
                return self._bounded(found, a, b.lo) if b.lo == b.hi > 0 else found
            case Remainder(numerator=numerator, denominator=denominator):
                a, b = self.whole(numerator), self.divisor(denominator)
                return Whole(f"slinky_remainder({a.text}, {b.text})", min(b.lo + 1, 0), max(b.hi - 1, 0))
            case Least(values=values):
                return self._extreme("slinky_min", values, min, 1)
            case Greatest(values=values):
                return self._extreme("slinky_max", values, max, -1)
            case Choice(condition=condition, then=then, otherwise=otherwise):
                asked, a, b = self.whole(condition), self.whole(then), self.whole(otherwise)
                return Whole(f"({asked.atom} ? {a.atom} : {b.atom})", min(a.lo, b.lo), max(a.hi, b.hi))
            case Comparison(left=left, relation=relation, right=right):
                return Whole(f"{self.whole(left).atom} {relation} {self.whole(right).atom}", 0, 1, is_atom=False)
            case Conjunction(conditions=conditions):
                return self._junction(" && ", conditions)
            case Disjunction(conditions=conditions):
                return self._junction(" || ", conditions)
        return self.other(value)

    def _bounded(self, quotient: Whole, of: Whole, divisor: int) -> Whole:
        """A quotient, of which it is noted where it lies; a number, if it is known."""
        least, most = self.facts.lowest(of.sum), self.facts.highest(of.sum)
        if least is not None and most is not None and least // divisor == most // divisor:
            return literal(least // divisor)
        if least is not None:
            self.facts.know(quotient.sum - sums.number(least // divisor))
        if most is not None:
            self.facts.know(sums.number(most // divisor) - quotient.sum)
        return quotient

    def _sum(self, terms: Sequence[tuple[int, Value]], constant: int) -> Whole:
        text, lo, hi, furthest = "", constant, constant, abs(constant)
        total = sums.number(constant)
        for c, term in terms:
            one = self.whole(term)
            total = total.plus(one.sum, c)
            ends = sorted((c * one.lo, c * one.hi))
            lo, hi, furthest = lo + ends[0], hi + ends[1], furthest + max(abs(ends[0]), abs(ends[1]))
            sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
            text += sign + (one.atom if abs(c) == 1 else f"{literal(abs(c)).text} * {one.atom}")
        if constant:
            text += f" {'-' if constant < 0 else '+'} {literal(abs(constant)).text}"
        if furthest >= _MOST:  # what is added up on the way to a small sum
            raise UnprintableError("a sum may be too large")
        return Whole(text, lo, hi, len(terms) == 1 and terms[0][0] == 1 and not constant, total)

    def _product(self, factors: Sequence[Whole]) -> Whole:
        lo = hi = 1
        for factor in factors:
            ends = [a * b for a, b in product((lo, hi), (factor.lo, factor.hi))]
            lo, hi = min(ends), max(ends)
            if max(abs(lo), abs(hi)) >= _MOST:  # here, not at the end: a later factor may be 0
                raise UnprintableError("a product may be too large")
        text = " * ".join(factor.atom for factor in factors)
        moving = [factor.sum for factor in factors if factor.sum.number() is None]
        times = math.prod(found for factor in factors if (found := factor.sum.number()) is not None)
        total = sums.number(0).plus(moving[0] if moving else sums.number(1), times) if len(moving) < 2 else None
        return Whole(text, lo, hi, is_atom=False, known_sum=total)

    def _extreme(self, function: str, values: Sequence[Value], choose: Callable[[list[int]], int], sign: int) -> Whole:
        return self._chosen(function, [self.whole(value) for value in values], choose, sign)

    def least(self, values: Sequence[Whole]) -> Whole:
        """The smallest of integers that are printed already."""
        return self._chosen("slinky_min", values, min, 1)

    def _chosen(self, function: str, each: Sequence[Whole], choose: Callable[[list[int]], int], sign: int) -> Whole:
        """The smallest of some values, or the largest where the sign is -1: the one that it always is, if one is."""
        for one in each:
            apart = [self.facts.lowest(sums.number(0).plus(other.sum - one.sum, sign)) for other in each]
            if all(distance is not None and distance >= 0 for distance in apart):
                return one
        text = each[-1].text
        for one in reversed(each[:-1]):
            text = f"{function}({one.text}, {text})"
        found = Whole(text, choose([one.lo for one in each]), choose([one.hi for one in each]))
        for one in each:
            self.facts.know(sums.number(0).plus(one.sum - found.sum, sign))
        if sign > 0:
            ends = [self.facts.lowest(one.sum) for one in each]
            if None not in ends:
                self.facts.know(found.sum - sums.number(min(end for end in ends if end is not None)))
        else:
            ends = [self.facts.highest(one.sum) for one in each]
            if None not in ends:
                self.facts.know(sums.number(max(end for end in ends if end is not None)) - found.sum)
        return found

    def _junction(self, operator: str, conditions: Sequence[Value]) -> Whole:
        return Whole(operator.join(self.whole(each).atom for each in conditions), 0, 1, is_atom=False)


class Sizes(Integers):
    """Prints numbers of bytes: products that may be too large are cut off at a number that no memory has."""

    def _product(self, factors: Sequence[Whole]) -> Whole:
        try:
            return super()._product(factors)
        except UnprintableError:
            text = factors[-1].text
            for factor in reversed(factors[:-1]):
                text = f"slinky_size({factor.text}, {text})"
            return Whole(text, 0, _MOST - 1)


SIZES = f"""\
/* A product of numbers of elements or bytes, or a number that is larger than any memory. */
static inline int64_t slinky_size(int64_t a, int64_t b)
{{
    if (a <= 0 || b <= 0) return 0;
    return a <= {_MOST - 1}LL / b ? a * b : {_MOST - 1}LL;
}}
"""
"""What the texts of sizes call."""
