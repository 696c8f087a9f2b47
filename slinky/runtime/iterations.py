"""Expressions in all iterations of a nest of loops at once: as a number, a ramp, or an array with an element for each.

What depends on no loop stays a number, what goes evenly with one loop is a ramp (see `ramps`), and all else an array.
The innermost loop is the first axis of arrays, so that what does not depend on it is broadcast as it is. What depends
on one loop of several is an array along its axis alone: a sum over all iterations is a product of sums wherever its
factors go by different loops, so nests cost no more than their loops one by one.

Invariant: every number that comes out is exact, or `TooManyError` is raised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, cast

import attrs
import numpy as np

from slinky.errors import ExecutionError, ExpressionError
from slinky.ir.statements import For
from slinky.runtime import ramps
from slinky.runtime.ramps import Array, Axis, Number, Ramp, TooManyError, dense, greatest, least
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

MOST_PIECES = 64
"""In so many pieces may an outermost loop be taken."""

MOST_IN_ALL = 1 << 20
"""So many iterations may it have."""

LARGEST_EXACT = 1 << 53
"""Sums of whole numbers that are not negative are exact in floating point if they are smaller."""

_LARGE = 1 << 31
"""With values from here on, numbers of arrays are Python's, which have no end."""


@attrs.frozen(eq=False)
class Nest:
    """The iterations of some loops, one in the other, and the values of expressions in them.

    `known` maps nodes to their values, symbols first of all. `masks` say in which iterations the body runs, where
    that differs: each is an array of truth values, and all must be true. `sizes` are the lengths of the axes, that of
    the outermost loop first. `piece` is how many iterations of an outermost loop are taken at once; None: all.
    These are limits of `patience` 1; with more, so many times as many.
    """

    known: dict[Node, Number]
    masks: tuple[Array, ...] = ()
    sizes: tuple[int, ...] = ()
    dtype: Any = np.int64
    piece: int | None = None
    patience: int = 1

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
        if not isinstance(which, int):
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
        if isinstance(counts, int) and isinstance(first, int) and isinstance(step, int):
            yield from self._even(loop, first, step, count)
        else:
            yield from self._uneven(loop, (first, last, step), counts, count)

    def _even(self, loop: For, first: int, step: int, count: int) -> Iterator[Nest]:
        """Enter a loop that is the same in all of these iterations."""
        if count == 1:
            yield self._inside(loop, first, 1, ())
        if count <= 1:
            return
        piece = count
        if self.piece is not None and not self.sizes:
            piece = self.piece
            if count > min(piece * MOST_PIECES, MOST_IN_ALL) * self.patience:
                raise TooManyError
        for start in range(0, count, piece):
            own, begin = min(piece, count - start), first + step * start
            axis = Axis(own, len(self.sizes), math.prod(self.sizes) * own, self.dtype)
            yield self._inside(loop, begin if own == 1 else Ramp(axis, begin, step), own, ())

    def _uneven(self, loop: For, ends: tuple[Number, Number, Number], counts: Number, count: int) -> Iterator[Nest]:
        """Enter a loop that goes by others."""
        first, last, step = map(dense, ends)
        if count < 1:
            return
        together = math.prod(self.sizes) * count
        if count > ramps.MOST_ITERATIONS or together > ramps.MOST_TOGETHER:
            raise TooManyError
        numbers = np.arange(count, dtype=self.dtype).reshape((-1,) + (1,) * len(self.sizes))
        variable = first + step * numbers
        runs: tuple[Array, ...] = ()
        if not isinstance(counts, int):
            require_few(variable.shape)
            runs = (variable <= last,)
        yield self._inside(loop, variable, count, runs)

    def _inside(self, loop: For, variable: Number, count: int, runs: tuple[Array, ...]) -> Nest:
        known = {**self.known, loop.variable: variable}
        return Nest(known, (*self.masks, *runs), (*self.sizes, count), self.dtype, self.piece, self.patience)

    def total(self, factors: Sequence[Number] = ()) -> int:
        """The sum, over all iterations in which the body runs, of the product of factors that are not negative."""
        if not factors and not self.masks:
            return math.prod(self.sizes)
        number, groups = 1, list[Array]()
        for factor in (*self.masks, *map(dense, factors)):
            if isinstance(factor, np.ndarray) and factor.size > 1:
                groups = _with_group(groups, factor)
            else:
                number *= int(np.asarray(factor).item())
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
        value = dense(value)
        if isinstance(value, int):
            return value
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
    if isinstance(value, int):
        return 0
    if isinstance(value, Ramp):
        return 1 << value.axis.depth
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
    if math.prod(shape) > ramps.MOST_ITERATIONS:
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


def smallest_of(value: Number) -> int:
    """The least number in any iteration."""
    if isinstance(value, int):
        return value
    return value.smallest() if isinstance(value, Ramp) else int(value.min())


def largest_of(value: Number) -> int:
    """The greatest number in any iteration."""
    if isinstance(value, int):
        return value
    return value.largest() if isinstance(value, Ramp) else int(value.max())


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
            divisor = dense(parts[1])
            if not np.all(divisor):
                raise ExpressionError(f"division by zero: {denominator} is 0, in {node}")
            return parts[0] // divisor
        case Min():
            return reduce(least, parts)
        case Max():
            return reduce(greatest, parts)
        case Select():
            return parts[1] if len(parts) == 2 else cast(Array, np.where(*map(dense, parts)))
        case NonNegative():
            return _sign(parts[0])
        case IsZero():
            return cast("bool | Array", dense(parts[0]) == 0)
        case And():
            return reduce(lambda a, b: a & b, _truths(parts))
        case Or():
            return reduce(lambda a, b: a | b, _truths(parts))
    raise ExpressionError(f"{node} has no value")


def _truths(parts: Iterable[Number]) -> list[bool | Array]:
    """Truth values, which are never ramps."""
    return cast("list[bool | Array]", list(parts))


def _sign(value: Number) -> bool | Array:
    """Where a value is not negative: known at once of a ramp that does not change its sign."""
    if isinstance(value, Ramp):
        if value.smallest() >= 0:
            return True
        return False if value.largest() < 0 else cast(Array, value.array() >= 0)
    return value >= 0
