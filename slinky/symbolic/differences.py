"""The largest difference of two ends that move together, such as those of a window.

Interval arithmetic on `min(y + 1, n) - max(y - 1, m)` forgets that it is the same y; as a condition to prove, the
choices multiply. Here one end is written as a maximum of minima and the other as a minimum of maxima. The difference is
then the largest of those of one clause each, so each of these must be bounded; the difference of a minimum and a
maximum is at most that of any two operands, so one that is bounded is enough. Selects come first: each way their
conditions can come out is a case of its own.

Invariant: a bound holds for all values that meet the facts and the ranges, and names none of the ranging symbols.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from slinky.symbolic.bounds import bounds
from slinky.symbolic.comparing import at_most
from slinky.symbolic.expressions import (
    Condition,
    Expr,
    FloorDivide,
    IsZero,
    Max,
    Min,
    Node,
    Scalar,
    Select,
    Variable,
    constant,
    floor_divide,
    linear,
    linear_sum,
    maximum,
    minimum,
    negate,
    scale,
)
from slinky.symbolic.intervals import Interval, point
from slinky.symbolic.lower_bounds import at_least, constant_lower_bound
from slinky.symbolic.proofs import Facts, impossible, prove
from slinky.symbolic.traversal import children, fold, quotients, rebuild, substitute, symbols

_MOST_SELECTS = 4
"""Selects of more conditions than these are left as they are: each condition doubles the cases."""

_MOST_PAIRS = 256
"""How many pairs of clauses one question compares, and how many clauses an expression is written as."""


def largest_difference(a: Expr, b: Expr, ranges: Mapping[Expr, Interval], known: Facts) -> Expr | None:
    """The most that `a` can exceed `b` by, made of constants and scalars; None where no such bound is found.

    `ranges` are the symbols that range over an interval, such as the variables of loops.
    """
    return _in_all_cases(a, b, ranges, known, _is_of_scalars)


def largest_fixed_difference(a: Expr, b: Expr, ranges: Mapping[Expr, Interval], known: Facts) -> Expr | None:
    """The most that `a` can exceed `b` by, free of the ranging symbols; None where no such bound is found.

    What the bounds of arrays have to do with it is part of it where that is more than constants and scalars.
    """
    names = frozenset(ranges)
    return _in_all_cases(a, b, ranges, known, lambda e: symbols(e).isdisjoint(names))


_Wanted: TypeAlias = Callable[[Expr], bool]
"""Whether a bound is of the kind that is asked for."""


def _in_all_cases(a: Expr, b: Expr, ranges: Mapping[Expr, Interval], known: Facts, is_wanted: _Wanted) -> Expr | None:
    found: list[Expr] = []
    for (first, second), within in cases((a, b), known):
        first, second = _divided_out(first, within), _divided_out(second, within)
        most = _largest(first, second, ranges, within, is_wanted)
        if most is None:
            return None
        found.append(most)
    return maximum(*found) if found else None


def cases(exprs: Sequence[Expr], known: Facts) -> Iterator[tuple[tuple[Expr, ...], Facts]]:
    """The expressions without selects, for each way that the conditions of these can come out, and what holds then.

    Where a condition asks for one value of a variable, the variable is that value. Cases that cannot be are left out.
    """
    waiting: list[tuple[tuple[Expr, ...], Facts, int]] = [(tuple(exprs), known, 0)]
    while waiting:
        given, within, depth = waiting.pop()
        choice = next((c for e in given for c in _conditions(e)), None)
        if choice is None or depth == _MOST_SELECTS:
            yield given, within
            continue
        for condition, is_true in ((choice, True), (negate(choice), False)):
            narrowed = within.also(condition)
            if prove(negate(condition), within) or impossible(narrowed):
                continue
            chosen = tuple(_decided(e, choice, is_true) for e in given)
            value = _value_of(condition)
            if value is not None:
                chosen = tuple(substitute(e, value) for e in chosen)
            waiting.append((chosen, narrowed, depth + 1))


def at_most_in_all_cases(a: Expr, b: Expr, known: Facts) -> bool:
    """Whether `a <= b` is shown for each way that the conditions of selects in them can come out."""
    return all(
        at_most(first, second, within) or prove(first <= second, within)
        for (first, second), within in cases((a, b), known)
    )


def _divided_out(expr: Expr, known: Facts) -> Expr:
    """An expression with quotients of choices by what is at least 1 as choices of quotients: the same values."""
    if not any(isinstance(each.numerator, (Min, Max)) for each in quotients(expr)):
        return expr

    def visit(node: Node, parts: list[Node]) -> Node:
        new = rebuild(node, parts) if parts else node
        if (
            isinstance(new, FloorDivide)
            and isinstance(new.numerator, (Min, Max))
            and at_least(new.denominator, 1, known)
        ):
            choice = minimum if isinstance(new.numerator, Min) else maximum
            return choice(*[floor_divide(operand, new.denominator) for operand in new.numerator.operands])
        return new

    found = fold(expr, visit, {})
    assert isinstance(found, Expr)
    return found


def _conditions(expr: Expr) -> Iterator[Condition]:
    """The conditions of the selects in an expression."""
    seen: set[Node] = set()
    waiting: list[Node] = [expr]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Select):
            yield node.condition
        waiting.extend(children(node))


def _decided(expr: Expr, condition: Condition, is_true: bool) -> Expr:
    """The expression where a condition of its selects has come out."""

    def visit(node: Node, parts: list[Node]) -> Node:
        if isinstance(node, Select) and node.condition is condition:
            return parts[1] if is_true else parts[2]
        return rebuild(node, parts) if parts else node

    found = fold(expr, visit, {})
    assert isinstance(found, Expr)
    return found


def _value_of(condition: Condition) -> dict[Expr, Expr] | None:
    """The variable that a condition fixes, with its value; None if it fixes none."""
    if not isinstance(condition, IsZero):
        return None
    for atom, c in linear(condition.expr)[1]:
        if type(atom) is Variable and abs(c) == 1:
            value = atom - c * condition.expr
            return {atom: value} if atom not in symbols(value) else None
    return None


def _largest(a: Expr, b: Expr, ranges: Mapping[Expr, Interval], known: Facts, is_wanted: _Wanted) -> Expr | None:
    """The most that `a` can exceed `b` by, neither of which holds a select; None where it is not found."""
    clauses = _as_maximum(a), _as_minimum(b)
    if len(clauses[0]) * len(clauses[1]) > _MOST_PAIRS:
        return None
    plain = functools.cache(lambda high, low: _plain(high, low, ranges, known, is_wanted))  # clauses share operands
    found: list[Expr] = []
    for smallest, largest in itertools.product(*clauses):
        pairs = itertools.starmap(plain, itertools.product(smallest, largest))
        bounded = [most for most in pairs if most is not None]
        if not bounded:
            return None
        found.append(minimum(*(list(filter(_is_of_scalars, bounded)) or bounded)))
    return maximum(*found)


Clauses: TypeAlias = tuple[tuple[Expr, ...], ...]


def _as_maximum(expr: Expr) -> Clauses:
    """Clauses such that an expression is the largest of their smallest operands."""
    return _clauses(expr, Max, Min)


def _as_minimum(expr: Expr) -> Clauses:
    """Clauses such that an expression is the smallest of their largest operands."""
    return _clauses(expr, Min, Max)


def _clauses(expr: Expr, outer: type[Min] | type[Max], inner: type[Min] | type[Max]) -> Clauses:
    """The choices of an expression written out: minima and maxima distribute over each other."""

    def visit(node: Node, parts: list[Clauses]) -> Clauses:
        if isinstance(node, outer):
            return tuple(dict.fromkeys(clause for part in parts for clause in part))
        if isinstance(node, inner) and math.prod(map(len, parts)) <= _MOST_PAIRS:
            together = (dict.fromkeys(itertools.chain(*clauses)) for clauses in itertools.product(*parts))
            return tuple(dict.fromkeys(tuple(clause) for clause in together))
        assert isinstance(node, Expr)
        return ((node,),)

    return fold(expr, visit, {}, lambda node: node.operands if isinstance(node, (Min, Max)) else ())


def _plain(a: Expr, b: Expr, ranges: Mapping[Expr, Interval], known: Facts, is_wanted: _Wanted) -> Expr | None:
    """A bound of a difference: it is fixed, or facts limit it, or interval arithmetic finds what it is at most."""
    difference = a - b
    if _is_of_scalars(difference):
        return difference
    offset, terms = linear(difference)
    scalars = [term for term in terms if _is_of_scalars(term[0])]
    room = known.tightest.get(tuple([(atom, -c) for atom, c in terms if not _is_of_scalars(atom)]))
    if room is not None:
        return linear_sum(offset + room, scalars)
    if is_wanted(difference):
        return difference
    if symbols(difference).isdisjoint(ranges):
        if not quotients(difference):
            least = constant_lower_bound(scale(difference, -1), known)
            return None if least is None else constant(-least)
        # It is fixed, but two quotients in it may be no farther apart than scalars say, whatever the rest is.
        ranges = {symbol: point(symbol) for symbol in symbols(difference) if type(symbol) is not Scalar}
    most = bounds(difference, ranges, known).max
    return most if is_wanted(most) else None


def _is_of_scalars(expr: Expr) -> bool:
    return all(type(symbol) is Scalar for symbol in symbols(expr))
