"""Which rectangles does a copy consist of? Pure integer arithmetic, before any array is touched.

Idea. The box that is to be written is a *space* of axes, on which the coordinates of the target, and of each source,
are functions. Where all of these are affine and lie in one stretch between edges, the space is one strided copy.
Where a coordinate is not (it is divided, or crosses an edge), an axis is taken to pieces: cut at the edge, or
rewritten as blocks and places in a block, and each piece is looked at again. So a padded box gives one piece for each
combination of inside and beyond, and a tiled one has an axis for tiles and one for the places in them.

Invariant: each point of the box lies in exactly one of the pieces, and its source is the first that gives it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import attrs

from slinky.ir.operations import Boundary, Copy, CopySource
from slinky.symbolic.expressions import Constant, Expr, FloorDivide, Product, Sum, Variable
from slinky.symbolic.traversal import evaluate

NumericBox: TypeAlias = tuple[tuple[int, int], ...]

_MANY = 4
"""An axis that crosses more edges than this is taken to blocks instead of being cut at each."""


@attrs.frozen
class Form:
    """An integer as an affine function of the axes of a space."""

    constant: int
    factors: tuple[int, ...]

    def shifted(self, by: int) -> Form:
        """The same, `by` more."""
        return Form(self.constant + by, self.factors)

    def scaled(self, by: int) -> Form:
        """The same, `by` times as much."""
        return Form(self.constant * by, tuple([factor * by for factor in self.factors]))

    def plus(self, other: Form) -> Form:
        """The sum of two."""
        factors = [a + b for a, b in zip(self.factors, other.factors, strict=True)]
        return Form(self.constant + other.constant, tuple(factors))


@attrs.frozen
class Space:
    """Axes that start at 0, with their extents, and what coordinate of the target a point of them is."""

    extents: tuple[int, ...]
    target: tuple[Form, ...]

    def replaced(self, axis: int, start: int, axes: Sequence[tuple[int, int]]) -> Space:
        """The points `start + sum(factor * new axis)` of an axis, as a space of these axes: factors and extents.

        A new axis of one point is left out.
        """
        kept = [(factor, extent) for factor, extent in axes if extent != 1]
        extents = (*self.extents[:axis], *(extent for _, extent in kept), *self.extents[axis + 1 :])

        def of(form: Form) -> Form:
            own = form.factors[axis]
            factors = (*form.factors[:axis], *(own * factor for factor, _ in kept), *form.factors[axis + 1 :])
            return Form(form.constant + own * start, factors)

        return Space(extents, tuple([of(form) for form in self.target]))

    def cut(self, axis: int, *places: int) -> list[Space]:
        """The pieces of an axis between these places, in order."""
        ends = [0, *places, self.extents[axis]]
        pairs = itertools.pairwise(ends)
        return [self.replaced(axis, first, [(1, last - first)]) for first, last in pairs if first < last]

    def every(self, axis: int, step: int) -> list[Space]:
        """The points of an axis that lie so many apart, for each of the points before the first step."""
        extent = self.extents[axis]
        return [self.replaced(axis, k, [(step, -((k - extent) // step))]) for k in range(min(step, extent))]

    def blocked(self, axis: int, first: int, length: int) -> list[Space]:
        """An axis taken to blocks: what is before the first, all whole blocks, and what is left."""
        extent = self.extents[axis]
        blocks = (extent - first) // length
        last = first + blocks * length
        found = [self.replaced(axis, 0, [(1, first)])] if first else []
        if blocks:
            found.append(self.replaced(axis, first, [(length, blocks), (1, length)]))
        return [*found, self.replaced(axis, last, [(1, extent - last)])] if last < extent else found


@attrs.frozen
class Piece:
    """A space all of which one source gives, or none: its number, and the coordinates there."""

    space: Space
    source: int | None
    index: tuple[Form, ...] = ()


class _TakenToPiecesError(Exception):
    """A space that has to be taken to these pieces first: the last of them are left to the next source."""

    def __init__(self, pieces: Sequence[Space], left: Sequence[Space] = ()) -> None:
        self.pieces = pieces
        self.left = left


def pieces(copy: Copy, box: NumericBox, values: Mapping[Expr, int]) -> Iterator[Piece]:
    """The pieces of a copy over a box, for given values of its parameters."""
    rank = len(box)
    extents = tuple([hi - lo + 1 for lo, hi in box])
    if any(extent <= 0 for extent in extents):
        return
    target = tuple([Form(lo, tuple([int(d == axis) for axis in range(rank)])) for d, (lo, _) in enumerate(box)])
    waiting = [(Space(extents, target), 0)]
    while waiting:
        space, number = waiting.pop()
        if number == len(copy.sources):
            yield Piece(space, None)
            continue
        source = copy.sources[number]
        try:
            index = _index(copy, source, space, values)
        except _TakenToPiecesError as taken:
            waiting += [(piece, number) for piece in taken.pieces] + [(piece, number + 1) for piece in taken.left]
        else:
            yield Piece(space, number, index)


def _index(copy: Copy, source: CopySource, space: Space, values: Mapping[Expr, int]) -> tuple[Form, ...]:
    """The coordinates of a source in a space, all of which it gives."""
    reader = _Reader(space, dict(zip(copy.dims, space.target, strict=True)), values)
    for expr, i in source.where:
        _within(reader.form(expr), evaluate(i.min, values), evaluate(i.max, values), space)
    found = []
    for expr, edges, boundary in zip(source.index, source.edges, source.boundaries, strict=True):
        form = reader.form(expr)
        if edges is not None:
            lo, hi = evaluate(edges.min, values), evaluate(edges.max, values)
            form = _within(form, lo, hi, space) if boundary is None else _extended(form, lo, hi, boundary, space)
        found.append(form)
    return tuple(found)


# ----------------------------------------------------------------------------------------------------------------
# Expressions as affine functions
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Reader:
    """Reads expressions as affine functions of the axes of a space. Those of the dims are given."""

    space: Space
    dims: Mapping[Expr, Form]
    values: Mapping[Expr, int]

    def form(self, expr: Expr) -> Form:
        """An expression as a function; raises `_TakenToPiecesError` where an axis must be taken to pieces first."""
        if expr in self.dims:
            return self.dims[expr]
        match expr:
            case Constant(value=value):
                return self._number(value)
            case Variable():
                return self._number(self.values[expr])
            case Sum(constant=constant, terms=terms):
                total = self._number(constant)
                for atom, factor in terms:
                    total = total.plus(self.form(atom).scaled(factor))
                return total
            case Product(factors=factors):
                return self._product([self.form(factor) for factor in factors])
            case FloorDivide(numerator=numerator, denominator=denominator):
                divisor = self.form(denominator)
                assert not any(divisor.factors)  # the graph has checked it
                return _quotient(self.form(numerator), divisor.constant, self.space)
            case _:
                raise AssertionError(f"{expr} is no index of a copy")

    def _number(self, value: int) -> Form:
        return Form(value, (0,) * len(self.space.extents))

    @staticmethod
    def _product(factors: Sequence[Form]) -> Form:
        moving = [form for form in factors if any(form.factors)]
        assert len(moving) <= 1  # the graph has checked it
        scale = math.prod(form.constant for form in factors if not any(form.factors))
        return moving[0].scaled(scale) if moving else Form(scale, factors[0].factors)


def _moving(form: Form) -> list[int]:
    """The axes that a function depends on."""
    return [axis for axis, factor in enumerate(form.factors) if factor]


def _ends(form: Form, space: Space) -> tuple[int, int]:
    """The least and the greatest value of a function."""
    reaches = [factor * (extent - 1) for factor, extent in zip(form.factors, space.extents, strict=True)]
    return form.constant + sum(r for r in reaches if r < 0), form.constant + sum(r for r in reaches if r > 0)


def _point_by_point(form: Form, space: Space) -> _TakenToPiecesError:
    """The shortest of the axes that a function depends on, taken to points."""
    axis = min(_moving(form), key=lambda a: space.extents[a])
    return _TakenToPiecesError([space.replaced(axis, k, []) for k in range(space.extents[axis])])


def _quotient(form: Form, divisor: int, space: Space) -> Form:
    """A function divided and rounded down. What is a multiple of the divisor is divided apart."""
    apart = tuple([factor // divisor if factor % divisor == 0 else 0 for factor in form.factors])
    rest = Form(form.constant, tuple([0 if factor % divisor == 0 else factor for factor in form.factors]))
    lo, hi = _ends(rest, space)
    if lo // divisor == hi // divisor:
        return Form(lo // divisor, apart)
    grouped = _grouped(rest, divisor, space)
    if grouped is not None:
        return _quotient(*grouped, space).plus(Form(0, apart))
    axes = _moving(rest)
    if len(axes) > 1:
        raise _point_by_point(rest, space)
    (axis,) = axes
    factor = rest.factors[axis]
    if abs(factor) != 1:
        raise _TakenToPiecesError(space.every(axis, divisor // math.gcd(factor, divisor)))
    first = (-rest.constant if factor > 0 else rest.constant + 1) % divisor
    raise _TakenToPiecesError(space.blocked(axis, min(first, space.extents[axis]), divisor))


def _grouped(form: Form, divisor: int, space: Space) -> tuple[Form, int] | None:
    """A smaller quotient of the same value: where some terms share a factor with the divisor, and the sum of the others
    stays between two multiples of it."""
    order = sorted(_moving(form), key=lambda a: abs(form.factors[a]), reverse=True)
    common = divisor
    for count, axis in enumerate(order, 1):
        common = math.gcd(common, form.factors[axis])
        if common == 1:
            return None
        top = set(order[:count])
        others = Form(form.constant, tuple([0 if a in top else f for a, f in enumerate(form.factors)]))
        lo, hi = _ends(others, space)
        if lo // common == hi // common:
            factors = tuple([f // common if a in top else 0 for a, f in enumerate(form.factors)])
            return Form(lo // common, factors), divisor // common
    return None


# ----------------------------------------------------------------------------------------------------------------
# Edges
# ----------------------------------------------------------------------------------------------------------------


def _within(form: Form, first: int, last: int, space: Space) -> Form:
    """A coordinate that lies between edges; where it does not, the space is cut there."""
    lo, hi = _ends(form, space)
    if first <= lo and hi <= last:
        return form
    if hi < first or lo > last or last < first:
        raise _TakenToPiecesError((), [space])
    axes = _moving(form)
    if len(axes) > 1:
        raise _point_by_point(form, space)
    (axis,) = axes
    extent = space.extents[axis]
    start, stop = (min(max(k, 0), extent) for k in _between(form.constant, form.factors[axis], first, last))
    inside = [space.replaced(axis, start, [(1, stop - start)])] if start < stop else []
    beyond = [(at, end) for at, end in ((0, start), (stop, extent)) if at < end]
    raise _TakenToPiecesError(inside, [space.replaced(axis, at, [(1, end - at)]) for at, end in beyond])


def _between(constant: int, factor: int, first: int, last: int) -> tuple[int, int]:
    """Where on an axis `constant + factor * place` enters and leaves what lies from first to last."""
    if factor < 0:
        constant, factor, first, last = -constant, -factor, -last, -first
    return -((constant - first) // factor), (last - constant) // factor + 1


def _extended(form: Form, first: int, last: int, boundary: Boundary, space: Space) -> Form:
    """The coordinate that stands for one that may lie beyond the edges."""
    lo, hi = _ends(form, space)
    if first <= lo and hi <= last:
        return form
    if last < first:
        raise _TakenToPiecesError((), [space])
    still = Form(0, (0,) * len(space.extents))
    if first == last:
        return still.shifted(first)
    if boundary is Boundary.NEAREST:
        if hi <= first or lo >= last:
            return still.shifted(first if hi <= first else last)
        raise _cut(form, space, [first, last + 1])
    length = last - first if boundary is Boundary.MIRROR else last - first + 1
    period = length if boundary is Boundary.WRAP else 2 * length
    form = Form(form.constant, tuple([0 if factor % period == 0 else factor for factor in form.factors]))
    lo, hi = _ends(form, space)
    turns = (lo - first) // length
    if turns != (hi - first) // length:
        raise _cut(form, space, range(first + (turns + 1) * length, hi + 1, length), period)
    if boundary is Boundary.WRAP or turns % 2 == 0:
        return form.shifted(-turns * length)
    return form.scaled(-1).shifted(first + last + turns * length)


def _cut(form: Form, space: Space, values: Sequence[int], period: int = 0) -> _TakenToPiecesError:
    """A space cut where a coordinate reaches these values, or taken to blocks of a period if these are many."""
    axes = _moving(form)
    if len(axes) > 1:
        return _point_by_point(form, space)
    (axis,) = axes
    factor, extent = form.factors[axis], space.extents[axis]
    if period and len(values) > _MANY:
        length = period // math.gcd(period, factor)
        if length < extent:
            return _TakenToPiecesError(space.blocked(axis, 0, length))
    if factor < 0:
        places = [-((value - 1 - form.constant) // -factor) for value in reversed(values)]
    else:
        places = [-((form.constant - value) // factor) for value in values]
    return _TakenToPiecesError(space.cut(axis, *sorted({place for place in places if 0 < place < extent})))
