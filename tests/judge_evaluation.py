"""The second judge's own evaluation of expressions and conditions.

It shares nothing with the package but the classes of nodes, which are what an expression *is*: no bounds, no proofs, no
simplification, and not the package's `evaluate`. A node becomes a Python function of a table of values, once.

Values are found by plain strings (`symbol_key`), so that no table keeps nodes alive.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from slinky.symbolic.nodes import (
    And,
    Constant,
    FloorDivide,
    IsZero,
    Max,
    Metadata,
    Min,
    Node,
    NonNegative,
    Or,
    Product,
    Scalar,
    Select,
    Sum,
    Truth,
    Variable,
)

Values = dict[str, int]
Evaluation = Callable[[Mapping[str, int]], Any]

LARGEST_TREE = 2_000
"""Expressions that would be longer than this if they shared no parts are evaluated part by part, each once."""

_evaluations: WeakKeyDictionary[Node, Evaluation] = WeakKeyDictionary()
_sizes: WeakKeyDictionary[Node, int] = WeakKeyDictionary()
_symbols: WeakKeyDictionary[Node, frozenset[str]] = WeakKeyDictionary()


def metadata_key(buffer: str, dim: int, field: str) -> str:
    """How what a buffer knows of a dimension is found among values."""
    return f"{buffer}[{dim}].{field}"


def scalar_key(name: str) -> str:
    """How a scalar of the pipeline is found among values."""
    return f"scalar {name}"


def symbol_key(symbol: Node) -> str:
    """How a symbol is found among values."""
    match symbol:
        case Scalar(name=name):
            return scalar_key(name)
        case Variable(name=name):
            return f"variable {name}"
        case Metadata(buffer=buffer, dim=dim, field=field):
            return metadata_key(buffer, dim, field)
    raise TypeError(f"{symbol!r} is no symbol")


def parts(node: Node) -> tuple[Node, ...]:
    """The nodes right inside a node."""
    match node:
        case Constant() | Variable() | Metadata() | Truth():
            return ()
        case Sum(terms=terms):
            return tuple(atom for atom, _ in terms)
        case Product(factors=factors):
            return factors
        case FloorDivide(numerator=numerator, denominator=denominator):
            return numerator, denominator
        case Min(operands=operands) | Max(operands=operands) | And(operands=operands) | Or(operands=operands):
            return operands
        case Select(condition=condition, then=then, otherwise=otherwise):
            return condition, then, otherwise
        case NonNegative(expr=expr) | IsZero(expr=expr):
            return (expr,)
    raise TypeError(f"the judge does not know {type(node).__name__}")


def symbols_of(node: Node) -> frozenset[str]:
    """The keys of all symbols in a node."""
    found = _symbols.get(node)
    if found is None:
        if isinstance(node, Variable | Metadata):
            found = frozenset((symbol_key(node),))
        else:
            found = frozenset[str]().union(*map(symbols_of, parts(node)))
        _symbols[node] = found
    return found


def evaluation(node: Node) -> Evaluation:
    """The function from values to the value of a node. It raises `ZeroDivisionError` where a divisor is zero."""
    found = _evaluations.get(node)
    if found is None:
        found = _evaluation(node, evaluation) if tree_size(node) <= LARGEST_TREE else _part_by_part(node)
        _evaluations[node] = found
    return found


def tree_size(node: Node) -> int:
    """How many nodes it would be if no part were shared."""
    found = _sizes.get(node)
    if found is None:
        found = _sizes[node] = 1 + sum(map(tree_size, parts(node)))
    return found


def _part_by_part(node: Node) -> Evaluation:
    """Each different part is evaluated once, in an order in which what it needs comes before it."""
    order: dict[Node, int] = {}
    steps: list[Evaluation] = []

    def add(part: Node) -> int:
        if part not in order:
            for inner in parts(part):
                add(inner)
            steps.append(_evaluation(part, lambda inner: _at(order[inner])) if parts(part) else evaluation(part))
            order[part] = len(steps) - 1
        return order[part]

    add(node)
    order.clear()

    def evaluate(values: Mapping[str, int]) -> Any:
        found: dict[Any, Any] = dict(values)
        for n, step in enumerate(steps):
            try:
                found[n] = step(found)
            except (ZeroDivisionError, KeyError):
                found.pop(n, None)  # not needed where it stands in a branch that is not taken
        if len(steps) - 1 not in found:
            raise ZeroDivisionError("division by zero")
        return found[len(steps) - 1]

    return evaluate


def _at(position: int) -> Evaluation:
    return operator.itemgetter(position)


def _evaluation(node: Node, of: Callable[[Node], Evaluation]) -> Evaluation:
    match node:
        case Constant(value=value) | Truth(value=value):
            return lambda values: value
        case Variable() | Metadata():
            return operator.itemgetter(symbol_key(node))
        case Sum(constant=constant, terms=terms):
            return _sum(constant, [(of(atom), factor) for atom, factor in terms])
        case Product(factors=factors):
            inner = [of(factor) for factor in factors]
            return lambda values: math.prod(f(values) for f in inner)
        case FloorDivide(numerator=numerator, denominator=denominator):
            upper, lower = of(numerator), of(denominator)
            return lambda values: upper(values) // lower(values)
        case Min(operands=operands):
            inner = [of(operand) for operand in operands]
            return lambda values: min([f(values) for f in inner])
        case Max(operands=operands):
            inner = [of(operand) for operand in operands]
            return lambda values: max([f(values) for f in inner])
        case Select(condition=condition, then=then, otherwise=otherwise):
            which, yes, no = of(condition), of(then), of(otherwise)
            return lambda values: yes(values) if which(values) else no(values)
        case NonNegative(expr=expr):
            number = of(expr)
            return lambda values: number(values) >= 0
        case IsZero(expr=expr):
            number = of(expr)
            return lambda values: number(values) == 0
        case And(operands=operands):
            return _decided_by(False, [of(operand) for operand in operands])
        case Or(operands=operands):
            return _decided_by(True, [of(operand) for operand in operands])
    raise TypeError(f"the judge does not know {type(node).__name__}")


def _sum(constant: int, terms: list[tuple[Evaluation, int]]) -> Evaluation:
    if len(terms) == 1:
        ((only, factor),) = terms
        if factor == 1:
            return lambda values: only(values) + constant
        return lambda values: factor * only(values) + constant
    if len(terms) == 2:
        (first, a), (second, b) = terms
        return lambda values: a * first(values) + b * second(values) + constant
    return lambda values: sum([factor * f(values) for f, factor in terms], constant)


def _decided_by(decisive: bool, operands: list[Evaluation]) -> Evaluation:
    """Of `&` (decided by what is false) or `|` (what is true). A divisor of zero beside what decides is no matter."""

    def evaluate(values: Mapping[str, int]) -> bool:
        failure: ZeroDivisionError | None = None
        for operand in operands:
            try:
                if operand(values) is decisive:
                    return decisive
            except ZeroDivisionError as error:
                failure = error
        if failure is not None:
            raise failure
        return not decisive

    return evaluate
