"""Expressions in all iterations of a nest of loops at once: as a number, or an array with an element per iteration.

The innermost loop is the first axis, so that what does not depend on it is broadcast as it is. What depends on no loop
stays a number, and what depends on one loop of several an array along its axis alone: a sum over all iterations is a
product of sums wherever its factors go by different loops, so nests cost no more than their loops one by one.

Invariant: every number that comes out is exact, or `TooManyError` is raised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias, cast

import attrs
import numpy as np

from slinky.errors import ExecutionError, ExpressionError
from slinky.ir.statements import For
from slinky.symbolic.expressions import (
    And,
    Constant,
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
    Truth,
    children,
)
from slinky.symbolic.traversal import fold

Array: TypeAlias = np.ndarray[Any, Any]
Number: TypeAlias = int | Array
"""A value that is the same in all iterations, or one for each."""

MOST_ITERATIONS = 1 << 16
"""So many elements may an array have that is kept or made of several."""

MOST_PIECES = 64
"""In so many pieces may an outermost loop be taken."""

MOST_IN_ALL = 1 << 20
"""So many iterations may it have."""

MOST_TOGETHER = 1 << 22
"""So many iterations may a nest have, of which one piece of the outermost loop is taken: no array can have more."""

LARGEST_EXACT = 1 << 53
"""Sums of whole numbers that are not negative are exact in floating point if they are smaller."""

_LARGE = 1 << 31
"""With values from here on, numbers of arrays are Python's, which have no end."""


class TooManyError(Exception):
    """There are more iterations than can be looked at one by one."""


@attrs.frozen(eq=False)
class Nest:
    """The iterations of some loops, one in the other, and the values of expressions in them.

    `known` maps nodes to their values, symbols first of all. `masks` say in which iterations the body runs, where
    that differs: each is an array of truth values, and all must be true. `sizes` are the lengths of the axes, that of
    the outermost loop first.
    """

    known: dict[Node, Number]
    masks: tuple[Array, ...] = ()
    sizes: tuple[int, ...] = ()
    dtype: Any = np.int64
    piece: int = MOST_ITERATIONS

    def value(self, node: Node) -> Number:
        """The value of an expression; of a condition, a truth value."""
        found = self.known.get(node)
        if found is None:
            found = _sum_of_known(node, self.known) if type(node) is Sum else None
            if found is None:
                return fold(node, _visit, self.known, self._parts)
            self.known[node] = found
        return found

    def _parts(self, node: Node) -> tuple[Node, ...]:
        """What is needed of a node: of a select of which the branch is known, that one alone."""
        if type(node) is not Select:
            return children(node)
        which = self.known.get(node.condition)
        if which is None:
            return (node.condition,)
        if isinstance(which, np.ndarray):
            return (node.condition, node.then, node.otherwise)
        return (node.condition, node.then if which else node.otherwise)

    def also(self, values: Mapping[Node, Number]) -> Nest:
        """The same iterations, with values for further symbols."""
        return attrs.evolve(self, known={**self.known, **values})

    def where(self, condition: Array) -> Nest:
        """Those iterations in which a condition holds."""
        return attrs.evolve(self, known=dict(self.known), masks=(*self.masks, condition))

    def enter(self, loop: For) -> Iterator[Nest]:
        """The iterations of a loop in each of these: in several pieces, if there are many and it is outermost.

        Raises `ExecutionError` for a step that is not positive.
        """
        first, last, step = self.value(loop.range.min), self.value(loop.range.max), self.value(loop.step)
        if smallest_of(step) < 1:
            raise ExecutionError(f"the step of loop {loop.variable} is {smallest_of(step)}; needs 1 or more")
        counts = (last - first) // step + 1
        count = largest_of(counts)
        piece = MOST_ITERATIONS if self.sizes else self.piece
        most = min(MOST_ITERATIONS, MOST_TOGETHER // math.prod(self.sizes)) if self.sizes else piece * MOST_PIECES
        if count > min(most, MOST_IN_ALL):
            raise TooManyError
        if count == 1 and not isinstance(counts, np.ndarray):
            yield self._inside(loop, first, 1, ())
            return
        for start in range(0, count, piece):
            numbers = np.arange(start, min(start + piece, count), dtype=self.dtype)
            variable = first + step * numbers.reshape((-1,) + (1,) * len(self.sizes))
            runs: tuple[Array, ...] = ()
            if isinstance(counts, np.ndarray):
                require_few(variable.shape)
                runs = (variable <= last,)
            yield self._inside(loop, variable, len(numbers), runs)

    def _inside(self, loop: For, variable: Number, count: int, runs: tuple[Array, ...]) -> Nest:
        known = {**self.known, loop.variable: variable}
        return attrs.evolve(self, known=known, masks=(*self.masks, *runs), sizes=(*self.sizes, count))

    def total(self, factors: Sequence[Number] = ()) -> int:
        """The sum, over all iterations in which the body runs, of the product of factors that are not negative."""
        if not factors and not self.masks:
            return math.prod(self.sizes)
        number, groups = 1, list[Array]()
        for factor in (*self.masks, *factors):
            if isinstance(factor, np.ndarray) and factor.size > 1:
                groups = _with_group(groups, factor)
            else:
                number *= int(factor)
        for group in groups:
            number *= exact_sum(group)
        free = [True] * len(self.sizes)
        for group in groups:
            for axis in axes_of(group):
                free[axis] = False
        return number * math.prod(n for n, is_free in zip(self.sizes, free, strict=True) if is_free)

    def extremes(self, low: Number, high: Number, conditions: Sequence[Array]) -> tuple[int, int]:
        """The least of one value and the greatest of another in the iterations in which the body runs and all of some
        conditions hold: there is one."""
        return self._extreme(low, conditions, smallest_of), self._extreme(high, conditions, largest_of)

    def _extreme(self, value: Number, conditions: Sequence[Array], choose: Callable[[Number], int]) -> int:
        if not isinstance(value, np.ndarray):
            return int(value)
        groups = list[Array]()
        for condition in (*self.masks, *conditions):
            groups = _with_group(groups, condition)
        own = set(axes_of(value))
        relevant = [group for group in groups if not own.isdisjoint(axes_of(group))]
        if not relevant:
            return choose(value)
        shape = np.broadcast_shapes(value.shape, *(group.shape for group in relevant))
        require_few(shape)
        holds = reduce(lambda a, b: a & b, (group != 0 for group in relevant))
        return choose(np.broadcast_to(value, shape)[np.broadcast_to(holds, shape)])


def loops_of(value: Number) -> int:
    """The loops that a value goes by: a number with a bit for each, the lowest one for the outermost."""
    if not isinstance(value, np.ndarray):
        return 0
    return sum(1 << depth for depth, n in enumerate(reversed(value.shape)) if n > 1)


def axes_of(array: Array) -> list[int]:
    """The loops, from the outermost, that an array goes by."""
    return [depth for depth, n in enumerate(reversed(array.shape)) if n > 1]


def _with_group(groups: list[Array], factor: Array) -> list[Array]:
    """Products of factors that go by the same loops, with one more factor."""
    own = set(axes_of(factor))
    apart = [g for g in groups if own.isdisjoint(axes_of(g))]
    for group in groups:
        if not own.isdisjoint(axes_of(group)):
            require_few(np.broadcast_shapes(factor.shape, group.shape))
            factor = np.multiply(factor, group, dtype=object if object in (factor.dtype, group.dtype) else np.float64)
    return [*apart, factor]


def require_few(shape: tuple[int, ...]) -> None:
    """Raise `TooManyError` if an array of this shape is too large."""
    if math.prod(shape) > MOST_ITERATIONS:
        raise TooManyError


def exact_sum(values: Array) -> int:
    """The sum of numbers that are not negative. Raises `TooManyError` where it may not be exact."""
    if values.dtype == object:
        return int(values.sum())
    total = float(values.sum(dtype=np.float64))
    if total >= LARGEST_EXACT:
        raise TooManyError
    return int(total)


def numbers_for(values: Mapping[Expr, int]) -> Any:
    """The type of elements for iterations where symbols have these values."""
    return object if any(abs(value) >= _LARGE for value in values.values()) else np.int64


# ----------------------------------------------------------------------------------------------------------------
# Values of nodes
# ----------------------------------------------------------------------------------------------------------------


def least(a: Number, b: Number) -> Number:
    """The lesser in each iteration."""
    return np.minimum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else min(a, b)


def greatest(a: Number, b: Number) -> Number:
    """The greater in each iteration."""
    return np.maximum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else max(a, b)


def smallest_of(value: Number) -> int:
    """The least number in any iteration."""
    return int(value.min()) if isinstance(value, np.ndarray) else int(value)


def largest_of(value: Number) -> int:
    """The greatest number in any iteration."""
    return int(value.max()) if isinstance(value, np.ndarray) else int(value)


def _sum_of_known(node: Sum, known: Mapping[Node, Number]) -> Number | None:
    """The value of a sum if those of its terms are known."""
    total: Number = node.constant
    for atom, c in node.terms:
        value = known.get(atom)
        if value is None:
            return None
        total = total + (value if c == 1 else c * value)
    return total


def _visit(node: Node, parts: list[Number]) -> Number:
    match node:
        case Constant(value=value) | Truth(value=value):
            return int(value)
        case Sum(constant=offset, terms=terms):
            total: Number = offset
            for part, (_, c) in zip(parts, terms, strict=True):
                total = total + (part if c == 1 else c * part)
            return total
        case Product():
            return reduce(lambda a, b: a * b, parts)
        case FloorDivide(denominator=denominator):
            if not np.all(parts[1]):
                raise ExpressionError(f"division by zero: {denominator} is 0, in {node}")
            return parts[0] // parts[1]
        case Min():
            return reduce(least, parts)
        case Max():
            return reduce(greatest, parts)
        case Select():
            return parts[1] if len(parts) == 2 else cast(Array, np.where(parts[0], parts[1], parts[2]))
        case NonNegative():
            return parts[0] >= 0
        case IsZero():
            return parts[0] == 0
        case And():
            return reduce(lambda a, b: a & b, parts)
        case Or():
            return reduce(lambda a, b: a | b, parts)
    raise ExpressionError(f"{node} has no value")
