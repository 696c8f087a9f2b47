"""Simplification under facts.

Invariants. Under the facts, the result of `simplify` has the value of the expression, and simplifying it again
changes nothing. Sums are not touched, for they are canonical; choices and conditions that the facts decide go away.
"""

from __future__ import annotations

import math
from typing import TypeVar, cast

from slinky.symbolic.arithmetic import SYMBOLS, of_symbols, spread
from slinky.symbolic.clamps import without_cut_off
from slinky.symbolic.comparing import plainly_at_most
from slinky.symbolic.expressions import (
    FALSE,
    TRUE,
    And,
    Condition,
    Expr,
    FloorDivide,
    IsZero,
    Max,
    Min,
    Node,
    NonNegative,
    Or,
    Product,
    Select,
    Sum,
    children,
    linear_sum,
    maximum,
    minimum,
    negate,
    scale,
    select,
)
from slinky.symbolic.lower_bounds import at_least
from slinky.symbolic.proofs import NO_FACTS, Facts, prove
from slinky.symbolic.traversal import fold, rebuild

N = TypeVar("N", Expr, Condition)

_MOST_CASES = 24
_MOST_TERMS = 100
"""What products are multiplied out to at most: those of four lengths, which are sums of three terms, have 81."""

_MOST_COMPARISONS = 8
"""Wider minima, maxima and conditions are left as their parts have become: comparing all parts would cost too much."""


def decide(condition: Condition, known: Facts) -> Condition:
    """`TRUE` or `FALSE` where the facts decide the condition, else the condition."""
    if prove(condition, known):
        return TRUE
    return FALSE if prove(negate(condition), known) else condition


def simplify(node: N, known: Facts = NO_FACTS) -> N:
    """An expression or condition of the same value under the facts, without choices that the facts decide."""
    if type(node) in SYMBOLS or (type(node) is Sum and of_symbols(node.terms)):
        return node
    found: Node = node
    while True:
        results: dict[Node, Node] = {}
        found = fold(found, lambda inner, parts: _simplify_one(inner, parts, known), results)
        if not isinstance(found, Expr) or (smaller := without_cut_off(found, known)) is found:
            return cast(N, found)
        found = smaller


def _simplify_one(node: Node, parts: list[Node], known: Facts) -> Node:
    if type(node) is Product:
        parts = _short_factors(node, parts)
    if tuple(parts) != children(node):
        was_quotient = type(node) is FloorDivide
        node = rebuild(node, parts)
        if was_quotient and type(node) is Sum:  # what was divided out leaves another one
            return linear_sum(node.constant, [(_quotient(atom, known), factor) for atom, factor in node.terms])
        if type(node) is Select:  # a comparison of choices is split: into comparisons that nobody has looked at
            condition = fold(node.condition, lambda inner, own: _simplify_one(inner, own, known), {})
            assert isinstance(condition, Condition)
            return select(_decide_narrow(condition, known), node.then, node.otherwise)
    match node:
        case Min() | Max():
            return _without_dominated(node, known)
        case Select(condition=condition, then=then, otherwise=otherwise):
            return select(_decide_narrow(condition, known), then, otherwise)
        case FloorDivide(numerator=numerator, denominator=denominator):
            if (
                at_least(denominator, 1, known)
                and at_least(numerator, 0, known)
                and at_least(denominator - numerator, 1, known)
            ):
                return scale(denominator, 0)
        case NonNegative() | IsZero() | And() | Or():
            return _decide_narrow(node, known)
    return node


def _short_factors(whole: Product, factors: list[Node]) -> list[Node]:
    """The factors of a product, simplified, but none that is a sum where the sum of all products would be long.

    A product of lengths is a factor for each dimension: multiplied out, it grows with the power of their number.
    """
    if math.prod(_count_of_terms(factor) for factor in factors) <= _MOST_TERMS:
        return factors
    return [old if type(new) is Sum else new for old, new in zip(whole.factors, factors, strict=True)]


def _count_of_terms(factor: Node) -> int:
    return len(factor.terms) + (factor.constant != 0) if isinstance(factor, Sum) else 1


def _quotient(atom: Expr, known: Facts) -> Expr:
    """A part of a sum, if that is a quotient, as the facts leave it."""
    if type(atom) is not FloorDivide:
        return atom
    found = _simplify_one(atom, list(children(atom)), known)
    assert isinstance(found, Expr)
    return found


def _decide_narrow(condition: Condition, known: Facts) -> Condition:
    """`decide`, but a condition of many comparisons is left as its parts have become."""
    waiting, met = [condition], 0
    while waiting:
        part = waiting.pop()
        met += 1
        if met > _MOST_COMPARISONS:
            return condition
        if isinstance(part, (And, Or)):
            waiting.extend(part.operands)
    return decide(condition, known)


def _without_dominated(node: Min | Max, known: Facts) -> Expr:
    """A minimum without operands that are never the smallest; a maximum likewise."""
    if spread(node) > _MOST_CASES:
        return node
    kept = list(node.operands)
    is_least = isinstance(node, Min)
    for operand in node.operands:
        others = [other for other in kept if other is not operand]
        pairs = [(other, operand) if is_least else (operand, other) for other in others]
        # What constants tell is found at once; as a condition, a comparison of choices is a tree of them.
        if any(plainly_at_most(a, b) for a, b in pairs) or any(prove(a <= b, known) for a, b in pairs):
            kept = others
    return (minimum if is_least else maximum)(*kept)
