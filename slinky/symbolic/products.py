"""Inequalities for what is not linear: products, and quotients by a symbol.

Invariant: every row yielded here holds for all integers that meet the facts given. A product of two things that are
not negative is not negative; all rows below are instances of that, multiplied out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, permutations

from slinky.symbolic.arithmetic import Terms, product, times
from slinky.symbolic.comparing import at_most
from slinky.symbolic.expressions import (
    Expr,
    FloorDivide,
    Max,
    Min,
    Product,
    Sum,
    constant,
    difference,
    floor_divide,
    linear_sum,
    maximum,
    minimum,
    multiply,
)
from slinky.symbolic.facts import Facts, Linear
from slinky.symbolic.lower_bounds import at_least, constant_lower_bound
from slinky.symbolic.order import order_key, weight

_MOST_ROWS = 40
_MOST_FACTORS = 4
_MOST_ORDERED = 4
_HEAVIEST_SETTLED = 100
"""The heaviest that was met in the tests of windows at the edges of arrays has 47."""


def settled(atom: FloorDivide | Product, known: Facts, done: dict[Expr, Expr]) -> Expr:
    """A quotient or product with those operands of its minima and maxima that facts leave, as a short look tells.

    Its value is the same where the facts hold: `n // max(m, 1)` is `n // m` where m is at least 1. Heavy ones stay as
    they are: such a look would be long, and is worth nothing where so much else is open. `done` are parts that were
    looked at before, by the same facts.
    """
    return atom if weight(atom) > _HEAVIEST_SETTLED else _settled(atom, known, done)


def _settled(atom: FloorDivide | Product, known: Facts, done: dict[Expr, Expr]) -> Expr:
    if isinstance(atom, FloorDivide):
        numerator, denominator = _chosen(atom.numerator, known, done), _chosen(atom.denominator, known, done)
        if numerator is atom.numerator and denominator is atom.denominator:
            return atom
        return atom if denominator is constant(0) else floor_divide(numerator, denominator)
    factors = [_chosen(factor, known, done) for factor in atom.factors]
    if all(new is old for new, old in zip(factors, atom.factors, strict=True)):
        return _multiplied_out(atom, known)
    whole: Expr = constant(1)
    for factor in factors:
        whole = multiply(whole, factor)
    return _multiplied_out(whole, known) if isinstance(whole, Product) else whole


def _multiplied_out(whole: Product, known: Facts) -> Expr:
    """`n * max(a, b)` as `max(n * a, n * b)` where n is not negative: then rows times n tell which it is."""
    if len(whole.factors) != 2:
        return whole
    choices = [factor for factor in whole.factors if isinstance(factor, (Min, Max))]
    if len(choices) != 1:
        return whole
    choice, (other,) = choices[0], [factor for factor in whole.factors if factor is not choices[0]]
    if not at_least(other, 0, known):
        return whole
    operands = [multiply(other, operand) for operand in choice.operands]
    return minimum(*operands) if isinstance(choice, Min) else maximum(*operands)


def _chosen(expr: Expr, known: Facts, done: dict[Expr, Expr]) -> Expr:
    """An expression without operands of minima and maxima that facts show another one to be on the side of."""
    found = done.get(expr)
    if found is None:
        found = done[expr] = _chosen_anew(expr, known, done)
    return found


def _chosen_anew(expr: Expr, known: Facts, done: dict[Expr, Expr]) -> Expr:
    match expr:
        case FloorDivide() | Product():
            return _settled(expr, known, done)
        case Sum(constant=offset, terms=terms):
            if not _has_choices(terms):
                return expr
            return linear_sum(offset, [(_chosen(atom, known, done), c) for atom, c in terms])
        case Min(operands=operands) | Max(operands=operands):
            kept = list(operands)
            for operand in operands:
                others = [other for other in kept if other is not operand]
                if others and any(
                    at_most(other, operand, known) if isinstance(expr, Min) else at_most(operand, other, known)
                    for other in others
                ):
                    kept = others
            chosen = [_chosen(operand, known, done) for operand in kept]
            return minimum(*chosen) if isinstance(expr, Min) else maximum(*chosen)
    return expr


def _has_choices(terms: Terms) -> bool:
    return any(isinstance(atom, (FloorDivide, Product, Min, Max)) for atom, _ in terms)


def quotient_rows(quotient: FloorDivide, known: Facts) -> Iterator[Linear]:
    """`d*q <= n <= d*q + d - 1` for `q = n // d` with a symbolic d that is at least 1."""
    numerator, denominator = quotient.numerator, quotient.denominator
    if not at_least(denominator, 1, known):
        return
    if at_least(numerator, 0, known):
        yield 0, ((quotient, 1),)
        yield difference(numerator, quotient)
    multiple = multiply(denominator, quotient)
    yield difference(numerator, multiple)
    yield difference(multiple + denominator - 1, numerator)


def product_rows(whole: Product, known: Facts) -> Iterator[Linear]:
    """`(f - a) * (g - b) >= 0` for factors f, g bounded below by constants a and b (McCormick, 1976)."""
    factors = whole.factors
    if len(factors) == 2 and factors[0] is factors[1]:
        yield 0, ((whole, 1),)
    for position, first in enumerate(factors if len(factors) > 2 else factors[:1]):
        a = constant_lower_bound(first, known)
        if a is None:
            continue
        rest = product(factors[:position] + factors[position + 1 :])
        b = constant_lower_bound(rest, known)
        if b is not None:
            yield times((-a, ((first, 1),)), (-b, ((rest, 1),)))


def multiplied_rows(rows: Iterable[Linear], atoms: Iterable[Expr], known: Facts) -> Iterator[Linear]:
    """Rows times a factor that is not negative, where only products arise that are already part of others."""
    parts = dict.fromkeys(part for atom in atoms if type(atom) is Product for part in _parts(atom.factors))
    sizes = {len(part) for part in parts}
    bounds = {part[0]: constant_lower_bound(part[0], known) for part in parts if len(part) == 1}
    bounded = [(part, least) for part in parts if (least := _bound_of_part(part, bounds)) is not None]
    if not bounded:
        return
    for offset, terms in list(rows)[:_MOST_ROWS]:
        multiplied = [atom.factors if type(atom) is Product else (atom,) for atom, _ in terms]
        longest = max(map(len, multiplied), default=0)
        for part, least in bounded:
            if longest + len(part) in sizes and all(_joined(factors, part) in parts for factors in multiplied):
                yield times((offset, terms), (-least, ((product(part), 1),)))


def ordered_rows(atoms: Iterable[Expr], known: Facts) -> Iterator[Linear]:
    """`a <= b` for quotients a and b that are multiplied by the same, where a short look finds it: what quotients mean
    tells it by several rows only, and rows are multiplied one by one."""
    multiplied: dict[Expr, list[FloorDivide]] = {}
    for atom in atoms:
        if type(atom) is Product and len(atom.factors) == 2:
            for factor, other in (atom.factors, atom.factors[::-1]):
                if type(factor) is FloorDivide:
                    multiplied.setdefault(other, []).append(factor)
    for quotients in multiplied.values():
        for a, b in permutations(quotients[:_MOST_ORDERED], 2):
            if a.denominator is b.denominator and at_most(a.numerator, b.numerator, known):
                if at_least(a.denominator, 1, known):
                    yield difference(b, a)


def _parts(factors: tuple[Expr, ...]) -> Iterator[tuple[Expr, ...]]:
    """The factors of a product, and the products of some of them, each as its factors in order."""
    for count in range(1, min(len(factors), _MOST_FACTORS)):
        yield from combinations(factors, count)
    yield factors


def _joined(factors: tuple[Expr, ...], others: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The factors of a product of two products."""
    return tuple(sorted(factors + others, key=order_key))


def _bound_of_part(factors: tuple[Expr, ...], bounds: Mapping[Expr, int | None]) -> int | None:
    """An integer that a product is never below, where such are known of its factors."""
    if len(factors) == 1:
        return bounds[factors[0]]
    least = 1
    for factor in factors:
        bound = bounds[factor]
        if bound is None or bound < 0:
            return None
        least *= bound
    return least
