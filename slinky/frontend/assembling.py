"""Arrays that are put together of others: of each part, where it lies in the result.

`concatenate`, `pad`, `roll`, assignment to a slice and plain copies are all the same: each element is a copy of one of
an operand, or of a filling. Slinky understands copies: strips of a result read those parts alone that they have.

Invariant: of the parts that have an element, the first one counts, in `compute` as in the copy that `lower` makes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from slinky.frontend.nodes import Array, Index, Node, Operation, Shape, View, exactly, in_reverse, numbers
from slinky.frontend.sizes import Length, are_same, expr_of, value_of
from slinky.frontend.views import seen
from slinky.graph.copying import Source
from slinky.ir.operations import Boundary
from slinky.symbolic.expressions import Constant, Expr
from slinky.symbolic.intervals import Interval, point

if TYPE_CHECKING:
    from slinky.frontend.lowering import Lowering

_NEAR = 8
"""How many rows a row of a result may lie from the one that it is a copy of, to be read along with others there."""

_MODES = {Boundary.NEAREST: "edge", Boundary.REFLECT: "symmetric", Boundary.MIRROR: "reflect", Boundary.WRAP: "wrap"}


@attrs.frozen(eq=False)
class Part:
    """Where an operand lies in an assembled result: per axis of the result, the place of its first element, the step
    between its elements, which axis of the operand goes along (None: it has but this place), and how many there are.

    With boundary rules, per axis of the operand, it is also what is beyond its edges by these.
    """

    index: tuple[Index, ...]
    counts: tuple[Length, ...]
    rules: tuple[Boundary | None, ...] | None = None

    def reversed(self, rank: int) -> Part:
        """Where the operand, of some rank, lies if all axes are in reverse."""
        index = in_reverse(self.index, rank)
        return Part(index, self.counts[::-1], None if self.rules is None else self.rules[::-1])


@attrs.frozen(eq=False)
class Assembled(Operation):
    """Copies: each element is that of the first of the parts that has one there, else the `fill`."""

    name: str
    parts: tuple[Part, ...]
    fill: Any = None
    exactness: str = "exact"
    keeps_order = True

    def compute(self, operands: Sequence[Array], node: Node) -> tuple[Array, ...]:
        """Write the parts, the first ones last."""
        (result,) = node.results
        shape = numbers(result.shape)
        target = np.empty(shape, result.dtype)
        if self.fill is not None:
            target[...] = self.fill
        for part, operand in reversed(list(zip(self.parts, operands, strict=True))):
            if part.rules is not None:
                target[...] = _extended(operand, part, shape)
                continue
            region = View(result, part.index, tuple(operand.shape))
            view = seen(target, region)
            view[...] = operand
        return (target,)

    def lower(self, node: Node, lowering: Lowering) -> None:
        """One copy that slinky understands."""
        (result,) = node.results
        dims = lowering.dims(len(result.shape))
        sources = [
            self._source(p, v, result.shape, dims, lowering) for p, v in zip(self.parts, node.operands, strict=True)
        ]
        lowering.copy(node, sources, dims, self.fill)

    @staticmethod
    def _source(part: Part, view: View, shape: Shape, dims: Sequence[Expr], lowering: Lowering) -> Source:
        along: dict[int, Expr] = {}
        where: list[tuple[Expr, Interval]] = []
        all_of: set[int] = set()
        for i, count, extent, dim in zip(part.index, part.counts, shape, dims, strict=True):
            offset = expr_of(i.offset)
            if i.is_plain and are_same(count, extent) and i.axis is not None:
                along[i.axis] = dim
                all_of.add(i.axis)
                continue
            if i.axis is None:
                where.append((dim, point(offset)))
                continue
            distance = dim - offset if i.step > 0 else offset - dim
            if abs(i.step) != 1:
                where.append((distance % abs(i.step), point(0)))
            along[i.axis] = distance if abs(i.step) == 1 else distance // abs(i.step)
            where.append((along[i.axis], Interval(0, expr_of(count) - 1)))
        box: list[Interval] = []
        edges: list[Interval | None] = []
        rules: list[Boundary | None] = []
        for k, i in enumerate(view.index):
            at = low = high = lowering.expr(i.offset)
            beside = Assembled._beside(part, k, at, dims, lowering) if not i.terms else None
            if beside is not None:
                box.append(point(beside))
                edges.append(Interval(low, high))
                rules.append(None)
                continue
            for step, axis in i.terms:
                far = step * (lowering.expr(view.shape[axis]) - 1)
                low, high = (low, high + far) if step > 0 else (low + far, high)
                at = at + step * lowering.substituted(along[axis])
            is_ruled = part.rules is not None and i.axis is not None and part.rules[i.axis] is not None
            is_all = not i.terms or (not is_ruled and all(axis in all_of for _, axis in i.terms))
            box.append(point(at))
            edges.append(None if is_all else Interval(low, high))
            rules.append(None if part.rules is None or i.axis is None else part.rules[i.axis])
        if part.rules is not None:
            where = []
        conditions = tuple((lowering.substituted(e), lowering.substituted_interval(i)) for e, i in where)
        return Source(lowering.access(view.result, box), tuple(edges), tuple(rules), conditions)

    @staticmethod
    def _beside(part: Part, k: int, at: Expr, dims: Sequence[Expr], lowering: Lowering) -> Expr | None:
        """A place that goes along the result, where one row of it is one of an operand near by, as in `y[0] = y[1]`:
        so strips that do not have that row do not read it. None for other places."""
        if part.rules is not None or k >= len(part.index) or part.index[k].axis is not None:
            return None
        distance = at - lowering.expr(part.index[k].offset)
        is_near = isinstance(distance, Constant) and abs(distance.value) <= _NEAR
        return dims[k] + distance if is_near else None

    def reversed(self, node: Node) -> Assembled:
        """The same parts, each with its axes in reverse."""
        parts = tuple(part.reversed(len(view.shape)) for part, view in zip(self.parts, node.operands, strict=True))
        return attrs.evolve(self, parts=parts)

    def lengths(self) -> Iterator[Length]:
        """Where the parts lie."""
        for part in self.parts:
            yield from part.counts
            yield from (i.offset for i in part.index)

    def key(self, of: Callable[[Length], Hashable]) -> Hashable | None:
        """Where the parts lie; the sizes are part of the key of a node."""
        parts = tuple(
            (
                tuple((of(i.offset), i.step, i.axis) for i in part.index),
                tuple(map(of, part.counts)),
                part.rules,
            )
            for part in self.parts
        )
        return ("assembled", parts, exactly(self.fill))


@attrs.frozen(eq=False)
class Around(Assembled):
    """An array that goes round: a copy of all of it between elements of its other ends, as wide as `widths` say."""

    widths: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, shape: Shape, widths: Sequence[tuple[int, int]]) -> Around:
        """That of an array of a shape."""
        index = tuple(Index(before, 1, d) for d, (before, _) in enumerate(widths))
        rules = tuple(Boundary.WRAP if any(each) else None for each in widths)
        return cls("pad", (Part(index, tuple(shape), rules),), widths=tuple(widths))

    def reversed(self, node: Node) -> Assembled:
        """The same, with its axes in reverse."""
        return attrs.evolve(super().reversed(node), widths=self.widths[::-1])  # type: ignore[call-arg]

    def shape_around(self) -> Shape:
        """How large the copy is."""
        (part,) = self.parts
        return tuple(n + sum(each) for n, each in zip(part.counts, self.widths, strict=True))


def _extended(operand: Array, part: Part, shape: tuple[int, ...]) -> Array:
    """An operand with what is beyond its edges, as large as the result."""
    assert part.rules is not None
    for axis, (i, rule) in enumerate(zip(part.index, part.rules, strict=True)):
        before = value_of(i.offset)
        widths = [(0, 0)] * operand.ndim
        widths[axis] = (before, shape[axis] - before - operand.shape[axis])
        if rule is not None:
            operand = np.pad(operand, widths, mode=_MODES[rule])  # type: ignore[call-overload]
    return operand
