"""Integers of C as sums of names, and how large they can be at least and at most.

Idea. Where a loop runs from `m` to `m + 7`, it has eight iterations, whatever `m` is; where `n + 31 <= last` is known,
so is which of the two is the smaller one. Integers that are printed carry the sum that they are, of names and texts
that stand for themselves, and facts are sums that are at least 0. What of a sum is left when facts are taken from it,
if that is a number, is what it is at least.

Invariant: `lowest` never says more than what holds wherever all facts do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import attrs

_DEPTH = 4
"""So many facts are taken from a sum, one after the other."""


@attrs.frozen
class Sum:
    """Names, each so many times, in order, and a number."""

    terms: tuple[tuple[str, int], ...]
    constant: int = 0

    def __add__(self, other: Sum) -> Sum:
        return self.plus(other, 1)

    def __sub__(self, other: Sum) -> Sum:
        return self.plus(other, -1)

    def plus(self, other: Sum, times: int) -> Sum:
        """This and so many times another one."""
        found = dict(self.terms)
        for name, c in other.terms:
            found[name] = found.get(name, 0) + times * c
        terms = tuple(sorted((name, c) for name, c in found.items() if c))
        return Sum(terms, self.constant + times * other.constant)

    def number(self) -> int | None:
        """What it is, where that is known."""
        return None if self.terms else self.constant

    def has(self, name: str) -> bool:
        """Whether a name stands in it."""
        return any(each == name for each, _ in self.terms)


def number(value: int) -> Sum:
    """A known number."""
    return Sum((), value)


def name(text: str) -> Sum:
    """What stands for itself."""
    return Sum(((text, 1),))


class Facts:
    """Sums that are at least 0 where lines are written now."""

    def __init__(self) -> None:
        self._by_name: dict[str, dict[Sum, None]] = {}
        self._order: list[Sum] = []
        self._is_ignored = False

    def ignore(self) -> None:
        """Know nothing from now on: where nobody asks, that costs nothing."""
        self._is_ignored = True

    def know(self, positive: Sum) -> None:
        """A sum is at least 0."""
        if not self._is_ignored and positive.terms and positive not in self._by_name.get(positive.terms[0][0], ()):
            self._order.append(positive)
            for each, _ in positive.terms:
                self._by_name.setdefault(each, {})[positive] = None

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What becomes known inside is forgotten behind."""
        before = len(self._order)
        try:
            yield
        finally:
            for positive in self._order[before:]:
                for each, _ in positive.terms:
                    self._by_name[each].pop(positive, None)
            del self._order[before:]

    def lowest(self, of: Sum, depth: int = _DEPTH) -> int | None:
        """What a sum is at least; None where that is not known."""
        if not of.terms:
            return of.constant
        common = math.gcd(*(c for _, c in of.terms))
        left = Sum(tuple([(each, c // common) for each, c in of.terms]))
        found = self._lowest(left, depth)
        return None if found is None else common * found + of.constant

    def _lowest(self, of: Sum, depth: int) -> int | None:
        if not of.terms:
            return of.constant
        if not depth:
            return None
        best: int | None = None
        first, c = of.terms[0]
        for fact in self._by_name.get(first, ()):
            own = dict(fact.terms)[first]
            if c % own == 0 and c // own > 0:
                found = self._lowest(of.plus(fact, -(c // own)), depth - 1)
                if found is not None and (best is None or found > best):
                    best = found
        return best

    def exact(self, of: Sum) -> int | None:
        """What a sum is; None where that is not known."""
        if not of.terms:
            return of.constant
        found = self.lowest(of)
        return found if found is not None and found == self.highest(of) else None

    def highest(self, of: Sum) -> int | None:
        """What a sum is at most; None where that is not known."""
        found = self.lowest(number(0) - of)
        return None if found is None else -found
