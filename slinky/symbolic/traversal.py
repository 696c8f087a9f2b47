"""Walks over expressions: free symbols, substitution and evaluation.

Invariant: all walks are iterative (children before parents, shared nodes once), so the depth of an expression is
never a limit. What has no symbol in common with a substitution is returned as it is, without a walk. Of a select
whose condition is decided, only the branch that is taken is visited: the other may well divide by zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from math import prod
from operator import itemgetter
from typing import TypeAlias, TypeVar, cast

from slinky.errors import ExpressionError
from slinky.symbolic.arithmetic import SYMBOLS, Terms, of_symbols
from slinky.symbolic.expressions import (
    And,
    Condition,
    Constant,
    Expr,
    FloorDivide,
    IsZero,
    Max,
    Metadata,
    Min,
    Node,
    NonNegative,
    Or,
    Product,
    Select,
    Sum,
    Truth,
    Variable,
    all_of,
    any_of,
    floor_divide,
    is_zero,
    linear_sum,
    maximum,
    minimum,
    multiply,
    nonnegative,
    select,
)
from slinky.symbolic.order import children as children
from slinky.symbolic.order import weight

R = TypeVar("R")
N = TypeVar("N", Expr, Condition)


def fold(
    root: Node,
    visit: Callable[[Node, list[R]], R],
    results: dict[Node, R],
    parts_of: Callable[[Node], tuple[Node, ...]] = children,
) -> R:
    """Compute `visit(node, results of its parts)` bottom up, each node once; `results` may hold known answers.

    `parts_of` is asked again once the parts it named have their results, and may name more then.
    """
    stack = [root]
    while stack:
        node = stack[-1]
        if node in results:
            stack.pop()
            continue
        parts = parts_of(node)
        missing = [part for part in parts if part not in results] if parts else ()
        if missing:
            stack.extend(missing)
            continue
        results[node] = visit(node, list(map(results.__getitem__, parts)))
        stack.pop()
    return results[root]


def symbols(node: Node) -> frozenset[Expr]:
    """The variables and metadata that a node depends on."""
    found = node._symbols
    if found is not None:
        return found
    if type(node) is Sum and of_symbols(node.terms):
        found = frozenset([atom for atom, _ in node.terms])
        object.__setattr__(node, "_symbols", found)
        return found

    def visit(inner: Node, parts: list[frozenset[Expr]]) -> frozenset[Expr]:
        own = inner._symbols
        if own is None:
            own = frozenset((inner,)) if isinstance(inner, (Variable, Metadata)) else frozenset().union(*parts)
            object.__setattr__(inner, "_symbols", own)
        return own

    return fold(node, visit, {}, lambda inner: children(inner) if inner._symbols is None else ())


Quotients: TypeAlias = frozenset[FloorDivide]


def quotients(node: Node, known: dict[Node, Quotients] | None = None) -> Quotients:
    """The quotients in a node whose divisor is no constant; `known` keeps what was found of its parts, for the next
    node. Without it, what was found of the node is remembered: each rewrite asks it of all that it touches."""
    kind = type(node)
    if kind in SYMBOLS or kind is Constant or (kind is Sum and of_symbols(node.terms)):  # type: ignore[attr-defined]
        return frozenset()
    return _quotients(node) if known is None else _found_quotients(node, known)


@lru_cache(maxsize=16384)
def _quotients(node: Node) -> Quotients:
    return _found_quotients(node, {})


def _found_quotients(node: Node, known: dict[Node, Quotients]) -> Quotients:
    def visit(inner: Node, parts: list[Quotients]) -> Quotients:
        own = Quotients().union(*parts)
        return own | {inner} if isinstance(inner, FloorDivide) and not isinstance(inner.denominator, Constant) else own

    return fold(node, visit, known)


def substitute(node: N, replacements: Mapping[Expr, Expr]) -> N:
    """Replace symbols (variables or metadata), all at once, and return the canonical result."""
    used = node._symbols or symbols(node)
    if len(replacements) < len(used):
        pairs = tuple([pair for pair in replacements.items() if pair[0] in used])
    else:
        pairs = tuple([(symbol, replacements[symbol]) for symbol in used if symbol in replacements])
    return _substitute(node, pairs) if pairs else node  # type: ignore[return-value]


@lru_cache(maxsize=16384)
def _substitute(node: Node, pairs: tuple[tuple[Expr, Expr], ...]) -> Node:
    """The same; remembered, for a schedule asks for the same substitutions again and again."""
    results: dict[Node, Node] = dict(pairs)
    kind = type(node)
    if kind is Min or kind is Max:
        operands = [_substitute_plain(operand, results) for operand in node.operands]  # type: ignore[attr-defined]
        if None not in operands:
            return (minimum if kind is Min else maximum)(*cast("list[Expr]", operands))
    elif (plain := _substitute_plain(cast(Expr, node), results)) is not None:
        return plain
    replaced = frozenset(symbol for symbol, _ in pairs)

    def visit(inner: Node, parts: list[Node]) -> Node:
        if not parts:
            changed = _substitute_plain(inner, results) if type(inner) is Sum else None
            return inner if changed is None else changed
        if type(inner) is Select and isinstance(parts[0], Truth):
            return parts[1]
        return rebuild(inner, parts)

    def parts_of(inner: Node) -> tuple[Node, ...]:
        if symbols(inner).isdisjoint(replaced):
            return ()
        if type(inner) is Sum and of_symbols(inner.terms):
            return ()  # the replacements are at hand
        if type(inner) is Select:
            condition = results.get(inner.condition)
            if condition is None:
                return (inner.condition,)
            if isinstance(condition, Truth):
                return (inner.condition, inner.then if condition.value else inner.otherwise)
        return children(inner)

    return fold(node, visit, results, parts_of)


def _substitute_plain(node: Expr, results: Mapping[Node, Node]) -> Expr | None:
    """The same for a symbol, a constant or a sum of symbols, the most of all; None for anything else."""
    kind = type(node)
    if kind is Sum:
        terms: Terms = node.terms  # type: ignore[attr-defined]
        if not of_symbols(terms):
            return None
        changed = [(results.get(atom, atom), c) for atom, c in terms]
        return linear_sum(node.constant, cast("list[tuple[Expr, int]]", changed))  # type: ignore[attr-defined]
    if kind in SYMBOLS:
        return cast(Expr, results.get(node, node))
    return node if kind is Constant else None


def rebuild(node: Node, parts: list[Node]) -> Node:
    """The node of the same kind made of other children."""
    exprs = cast("list[Expr]", parts)
    match node:
        case Sum(constant=offset, terms=terms):
            return linear_sum(offset, [(part, c) for part, (_, c) in zip(exprs, terms, strict=True)])
        case Product():
            result = exprs[0]
            for factor in exprs[1:]:
                result = multiply(result, factor)
            return result
        case FloorDivide():
            return floor_divide(exprs[0], exprs[1])
        case Min():
            return minimum(*exprs)
        case Max():
            return maximum(*exprs)
        case Select():
            return select(cast(Condition, parts[0]), exprs[1], exprs[2])
        case NonNegative():
            return nonnegative(exprs[0])
        case IsZero():
            return is_zero(exprs[0])
        case And():
            return all_of(*cast("list[Condition]", parts))
        case Or():
            return any_of(*cast("list[Condition]", parts))
    return node


Evaluation: TypeAlias = Callable[[Mapping[Expr, int]], int]
"""The value of a node, given those of its symbols. Raises `KeyError` or `ZeroDivisionError` where it has none."""

_HEAVIEST_CALLED = 200
"""Nodes that are written with more parts than this are walked: how deep functions call each other is bounded."""


def evaluate(node: Node, values: Mapping[Expr, int]) -> int:
    """The value of an expression, or 0 or 1 for a condition, given a value for each of its symbols.

    Raises `ExpressionError` where a symbol has no value or a divisor is zero.

    A node is evaluated again and again, for each iteration and each size: the first time makes a function of it.
    """
    try:
        found = node._evaluation
        if found is None:
            if type(node) in SYMBOLS:
                return values[node]  # type: ignore[index]
            found = _evaluation(node)
        return found(values)
    except (KeyError, ZeroDivisionError):
        return _walked(node, values)


def _evaluation(node: Node) -> Evaluation:
    """The function of a node, made of those of its parts and kept with it.

    That of a symbol holds on to the symbol, so it is not kept: the symbol would never be seen to be used no more.
    """
    found = node._evaluation
    if found is None:
        if isinstance(node, (Variable, Metadata)):
            return itemgetter(node)
        if (node._weight or weight(node)) > _HEAVIEST_CALLED:
            return lambda values: _walked(node, values)
        found = _function(node)
        object.__setattr__(node, "_evaluation", found)
    return found


def _function(node: Node) -> Evaluation:
    """A function of the functions of a node's parts. All of them are called, but of a select only the branch taken."""
    match node:
        case Constant(value=value) | Truth(value=value):
            number = int(value)
            return lambda values: number
        case Sum(constant=offset, terms=terms):
            return _function_of_sum(offset, [(_evaluation(atom), c) for atom, c in terms])
        case FloorDivide(numerator=numerator, denominator=denominator):
            upper, lower = _evaluation(numerator), _evaluation(denominator)
            return lambda values: upper(values) // lower(values)
        case Select(condition=condition, then=then, otherwise=otherwise):
            which, yes, no = _evaluation(condition), _evaluation(then), _evaluation(otherwise)
            return lambda values: yes(values) if which(values) else no(values)
        case NonNegative(expr=expr):
            inner = _evaluation(expr)
            return lambda values: int(inner(values) >= 0)
        case IsZero(expr=expr):
            inner = _evaluation(expr)
            return lambda values: int(inner(values) == 0)
    parts = [_evaluation(part) for part in children(node)]
    match node:
        case Product():
            return lambda values: prod([part(values) for part in parts])
        case Min():
            return lambda values: min([part(values) for part in parts])
        case Max():
            return lambda values: max([part(values) for part in parts])
        case And():
            return lambda values: min([part(values) for part in parts])
        case Or():
            return lambda values: max([part(values) for part in parts])
    raise TypeError(f"cannot evaluate {node!r}")


def _function_of_sum(offset: int, terms: list[tuple[Evaluation, int]]) -> Evaluation:
    if len(terms) == 1:
        ((only, factor),) = terms
        if factor == 1:
            return lambda values: offset + only(values)
        return lambda values: offset + factor * only(values)
    if len(terms) == 2:
        (first, a), (second, b) = terms
        return lambda values: offset + a * first(values) + b * second(values)
    return lambda values: offset + sum([c * atom(values) for atom, c in terms])


def _walked(node: Node, values: Mapping[Expr, int]) -> int:
    """The value of a node where its function does not tell: of a sum of parts that have values, or by a walk, which
    says what is missing."""
    simple = _value_of_simple(node, values)
    if simple is not None:
        return simple
    results: dict[Node, int] = {}

    def visit(inner: Node, parts: list[int]) -> int:
        match inner:
            case Variable() | Metadata():
                if inner not in values:
                    raise ExpressionError(f"{inner} has no value, in {node}")
                return values[inner]
            case FloorDivide():
                if parts[1] == 0:
                    raise ExpressionError(f"division by zero: {inner.denominator} is 0, in {node}")
                return parts[0] // parts[1]
        return _value_of(inner, parts)

    def parts_of(inner: Node) -> tuple[Node, ...]:
        if type(inner) is not Select:
            return children(inner)
        taken = results.get(inner.condition)
        if taken is None:
            return (inner.condition,)
        return (inner.condition, inner.then if taken else inner.otherwise)

    return fold(node, visit, results, parts_of)


def _value_of_simple(node: Node, values: Mapping[Expr, int]) -> int | None:
    """The value of what has one, of a sum of such, or of a choice of these; None for what takes a walk."""
    kind = type(node)
    if kind is Sum:
        return _value_of_sum(cast(Sum, node), values)
    if kind is Min or kind is Max:
        found: list[int] = []
        for operand in cast("Min | Max", node).operands:
            if type(operand) is Constant:
                value: int | None = operand.value
            else:
                value = _value_of_sum(operand, values) if type(operand) is Sum else values.get(operand)
            if value is None:
                return None
            found.append(value)
        return min(found) if kind is Min else max(found)
    if kind is Constant:
        return cast(Constant, node).value
    return values.get(node) if isinstance(node, Expr) else None


def _value_of_sum(node: Sum, values: Mapping[Expr, int]) -> int | None:
    total = node.constant
    for atom, c in node.terms:
        value = values.get(atom)
        if value is None:
            return None
        total += c * value
    return total


def _value_of(node: Node, parts: list[int]) -> int:
    """The value of a node, given those of its children; of a select, of its condition and the branch taken."""
    match node:
        case Constant(value=value) | Truth(value=value):
            return int(value)
        case Sum(constant=offset, terms=terms):
            return offset + sum(c * part for part, (_, c) in zip(parts, terms, strict=True))
        case Product():
            return prod(parts)
        case Min():
            return min(parts)
        case Max():
            return max(parts)
        case Select():
            return parts[1]
        case NonNegative():
            return int(parts[0] >= 0)
        case IsZero():
            return int(parts[0] == 0)
        case And():
            return int(all(parts))
        case Or():
            return int(any(parts))
    raise TypeError(f"cannot evaluate {node!r}")


def union_of_symbols(nodes: Iterable[Node]) -> frozenset[Expr]:
    """The symbols of several nodes."""
    return frozenset().union(*map(symbols, nodes))
