"""Inclusive intervals `[min, max]` of integer expressions, and boxes: one interval per dimension.

Invariant: both ends are canonical expressions, so equal intervals compare equal. An interval whose `min` exceeds its
`max` is empty. Printed `lo..hi`, so that nobody takes it for a slice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

import attrs

from slinky.symbolic.expressions import Condition, Expr, ExprLike, all_of, as_expr, maximum, minimum
from slinky.symbolic.traversal import evaluate, substitute, symbols, union_of_symbols


@attrs.frozen(repr=False, init=False)
class Interval:
    """The integers from `min` to `max`, both included."""

    min: Expr
    max: Expr

    def __init__(self, min: ExprLike, max: ExprLike) -> None:
        # By hand, for there are very many: a field with a converter calls it for what is an expression, too.
        _set_min(self, min if isinstance(min, Expr) else as_expr(min))
        _set_max(self, max if isinstance(max, Expr) else as_expr(max))

    @property
    def extent(self) -> Expr:
        """How many integers; not positive when empty."""
        return self.max - self.min + 1

    def __str__(self) -> str:
        return interval_text(str(self.min), str(self.max))

    def __repr__(self) -> str:
        return f"<{self}>"


_set_min, _set_max = (vars(Interval)[end].__set__ for end in ("min", "max"))


def interval_text(lo: str, hi: str) -> str:
    """`lo..hi`, with room to breathe where an end is not one word; just `lo` for a point."""
    if lo == hi:
        return lo
    return f"{lo} .. {hi}" if " " in lo + hi else f"{lo}..{hi}"


Box: TypeAlias = tuple[Interval, ...]


def interval(lo: ExprLike, hi: ExprLike) -> Interval:
    """The interval from `lo` to `hi`, both included."""
    return Interval(lo, hi)


def point(at: ExprLike) -> Interval:
    """The interval that holds one integer."""
    return Interval(at, at)


def hull(a: Interval, b: Interval) -> Interval:
    """The smallest interval that holds both."""
    return a if a == b else Interval(minimum(a.min, b.min), maximum(a.max, b.max))


def intersection(a: Interval, b: Interval) -> Interval:
    """The integers in both."""
    return a if a == b else Interval(maximum(a.min, b.min), minimum(a.max, b.max))


def in_multiples(i: Interval, n: int) -> Interval:
    """The smallest interval that holds another one, begins at a multiple of n, and ends right before one."""
    return i if n == 1 else Interval(i.min // n * n, i.max // n * n + n - 1)


def not_empty(box: Sequence[Interval]) -> Condition:
    """That a box holds at least one point."""
    return _not_empty(tuple(box))


@lru_cache(maxsize=16384)
def _not_empty(box: Box) -> Condition:
    return all_of(*(i.min <= i.max for i in box))


def moves_with(i: Interval, symbol: Expr) -> bool:
    """Whether an end of an interval depends on a symbol, such as the variable of a loop."""
    return symbol in symbols(i.min) or symbol in symbols(i.max)


def substitute_interval(a: Interval, replacements: Mapping[Expr, Expr]) -> Interval:
    """Replace symbols in both ends."""
    lo, hi = substitute(a.min, replacements), substitute(a.max, replacements)
    return a if lo is a.min and hi is a.max else Interval(lo, hi)


def substitute_box(box: Box, replacements: Mapping[Expr, Expr]) -> Box:
    """Replace symbols in every interval."""
    return tuple([substitute_interval(i, replacements) for i in box])


def evaluate_box(box: Box, values: Mapping[Expr, int]) -> tuple[tuple[int, int], ...]:
    """The numeric `(min, max)` of every interval."""
    return tuple((evaluate(i.min, values), evaluate(i.max, values)) for i in box)


def box_symbols(box: Sequence[Interval]) -> frozenset[Expr]:
    """The symbols of all ends."""
    return union_of_symbols([end for i in box for end in (i.min, i.max)])
