"""Calls that read or write past a copy: what a copy says of its elements, and funcs that go by it.

Idea. Each element of a copy is an element of its source: at `dims` of the one lies what is at `index` of the other. So
whoever reads the copy can read the source instead, and whoever makes the source can write to the copy. A func keeps its
operation then, and the operation is given the very arrays that it was given before: a port that is bound to another
buffer has a `View`, which says how the array lies in that.

That holds where the copy gives elements of the source, not beyond an edge. What a call reads is shown to lie there,
but only as the call stands: in a loop that never runs anything is shown, and in a steady state what holds there alone.
A later rewrite may let the call compute more, next to one that reads the copy still, and an element would have two
values. So a func that goes by a copy gives values where it reads within the edges, as a `part` of its dimensions, and
nowhere else. Where the edges are the bounds of an input there is no need: no call ever reads beyond these.

Invariants: an operation sees the same elements at the same coordinates as before. Wherever a func that goes by a copy
gives a value, it is that of the func which read the copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import attrs

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.families import with_all_changed
from slinky.ir.operations import Copy, CopySource
from slinky.ir.statements import Call, Fused, InputPort, Limit, LoweredFunc, OutputPort, View
from slinky.symbolic.bounds import bounds
from slinky.symbolic.expressions import Expr, Scalar, Variable, linear, variable
from slinky.symbolic.followed import Followed, followed
from slinky.symbolic.intervals import Box, Interval, point
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.solving import Side, limit_of
from slinky.symbolic.traversal import substitute, symbols


@attrs.frozen(eq=False)
class Passage:
    """That the element at `dims` of one buffer is the element at `index` of another, wherever each of the conditions,
    expressions in `dims` and intervals, holds."""

    dims: tuple[Variable, ...]
    index: tuple[Expr, ...]
    conditions: tuple[tuple[Expr, Interval], ...] = ()

    def is_affine(self) -> bool:
        """Whether an array that lies in the other buffer shows it."""
        own = set(self.dims)
        return all(atom in own for e in self.index for atom, _ in linear(e)[1] if not symbols(atom).isdisjoint(own))

    def holds_in(self, box: Box, known: Facts) -> bool:
        """Whether the conditions are shown to hold in a box."""
        ranges = self.ranges(box)
        for e, limit in self.conditions:
            taken = bounds(e, ranges, known)
            if not (prove(limit.min <= taken.min, known) and prove(taken.max <= limit.max, known)):
                return False
        return True

    def box(self, box: Box) -> Box:
        """What of the other buffer stands for a box."""
        ranges = self.ranges(box)
        return tuple(bounds(e, ranges) for e in self.index)

    def ranges(self, box: Box) -> dict[Expr, Interval]:
        """The values of its dims in a box."""
        return dict(zip(self.dims, box, strict=True))


Range: TypeAlias = "tuple[Expr, Expr | None, Expr | None]"
"""An expression with the least and the greatest value that it may have, None where there is none."""


def ranges_of(passage: Passage, copy: LoweredFunc) -> tuple[Range, ...]:
    """Where a copy gives elements of its source, in terms of the dims of its passage."""
    (output,) = copy.outputs
    places = {d: passage.dims[n] for n, d in enumerate(output.dims)}
    return (
        *((e, i.min, i.max) for e, i in passage.conditions),
        *((places[limit.dim], limit.first, limit.last) for limit in copy.part),
    )


def not_implied(
    ranges: Sequence[Range], coordinates: Sequence[Expr], box: Box | None, known: Facts
) -> tuple[Range, ...]:
    """The ranges that do not follow from it that coordinates lie in a box, if there is one: in a buffer of the caller,
    whose bounds never change, and beyond which no rewrite lets a call read."""
    if box is None:
        return tuple(ranges)
    within: dict[Expr, Interval] = dict(zip(coordinates, box, strict=True))
    found = []
    for e, first, last in ranges:
        taken = within.get(e) or bounds(e, within)
        first = None if first is None or prove(first <= taken.min, known) else first
        last = None if last is None or prove(taken.max <= last, known) else last
        if first is not None or last is not None:
            found.append((e, first, last))
    return tuple(found)


def ranges_back(ranges: Sequence[Range], passage: Passage, back: Passage) -> tuple[Range, ...]:
    """Ranges in terms of the dims of a passage, in terms of those of its inverse."""
    values: dict[Expr, Expr] = dict(zip(passage.dims, back.index, strict=True))
    return tuple((substitute(e, values), first, last) for e, first, last in ranges)


def _part_within(
    func: LoweredFunc, ports: Sequence[int], passage: Passage, ranges: Sequence[Range], known: Facts
) -> tuple[Limit, ...] | None:
    """Where in its dimensions what a func reads by some of its ports lies within ranges; None where that is no box."""
    found: dict[Limit, None] = {}
    for k in ports:
        region = passage.ranges(func.inputs[k].box)
        for e, first, last in ranges:
            taken = bounds(e, region)
            conditions = [] if first is None else [first <= taken.min]
            conditions += [] if last is None else [taken.max <= last]
            for condition in conditions:
                if prove(condition, known):
                    continue
                moving = [d for d, dim in enumerate(func.dims) if dim in symbols(condition)]
                limit = limit_of(condition, func.dims[moving[0]], known) if len(moving) == 1 else None
                if limit is None or limit.side is Side.IS or _depends_on_loops(limit.value):
                    return None
                least, most = (limit.value, None) if limit.side is Side.AT_LEAST else (None, limit.value)
                found[Limit(moving[0], least, most)] = None
    return tuple(found)


def passage_of(version: Version, call: Call) -> Passage:
    """What a copy with one source says of its elements.

    Raises `SchedulingError` for a call that is no such copy.
    """
    func, operation = call.func, call.func.operation
    place = statement_cursor(version, call.id)
    if not isinstance(operation, Copy):
        raise SchedulingError(f"{func.name} is no copy that slinky understands", place=place)
    if len(operation.sources) != 1:
        raise SchedulingError(
            f"{func.name} copies from {len(operation.sources)} sources",
            place=place,
            hint="split_boundary takes it to pieces that have one each",
        )
    (output,) = func.outputs
    coordinates = operation.dims
    dims: dict[Expr, Expr] = {}
    fixed: list[tuple[Expr, Interval]] = []
    if output.view is not None:
        coordinates = tuple(func.dims[d] for d in output.dims)
        dims, fixed = _turned(operation, output.view, coordinates)
        if len(dims) != len(operation.dims):
            raise SchedulingError(f"what {func.name} writes past another copy is not one element for each", place=place)
    index, edges = known_source(operation, operation.sources[0], dims)
    view = func.inputs[0].view
    if view is not None:
        own: dict[Expr, Expr] = dict(zip(view.dims, index, strict=True))
        index = tuple(substitute(e, own) for e in view.index)
    return Passage(coordinates, index, (*fixed, *edges))


def _turned(
    operation: Copy, view: View, coordinates: Sequence[Expr]
) -> tuple[dict[Expr, Expr], list[tuple[Expr, Interval]]]:
    """Of a copy that writes past another one, by a view: what its dimensions are in terms of the coordinates of what it
    writes, and which of these are always the same."""
    found: dict[Expr, Expr] = {}
    fixed: list[tuple[Expr, Interval]] = []
    for coordinate, e in zip(coordinates, view.index, strict=True):
        which = followed(e, view.dims)
        if which is not None:
            found[operation.dims[which.dim]] = which.solved(coordinate)
        elif symbols(e).isdisjoint(view.dims):
            fixed.append((coordinate, point(e)))
    return found, fixed


def known_source(
    operation: Copy, source: CopySource, dims: Mapping[Expr, Expr] | None = None
) -> tuple[tuple[Expr, ...], tuple[tuple[Expr, Interval], ...]]:
    """The index of a source of a copy, and expressions with the intervals in which they must lie, in terms of the
    copy's dimensions (or what `dims` puts in their place) and of what the program knows."""
    values: dict[Expr, Expr] = {variable(name): e for name, e in operation.arguments if isinstance(e, Expr)}
    values.update(dims or {})
    index = tuple(substitute(e, values) for e in source.index)
    conditions = [(substitute(e, values), _interval(i, values)) for e, i in source.where]
    pairs = zip(index, source.edges, strict=True)
    conditions += [(e, _interval(edges, values)) for e, edges in pairs if edges is not None]
    return index, tuple(conditions)


def _interval(i: Interval, values: Mapping[Expr, Expr]) -> Interval:
    return Interval(substitute(i.min, values), substitute(i.max, values))


def inverse(passage: Passage, box: Box, names: Sequence[str]) -> Passage | None:
    """The passage the other way round; None where elements of the other buffer stand for several.

    Where a coordinate of the first buffer has no part in `index`, it is the only one that the box has there, and no
    loop is in it: what a func does, its views among it, is the same wherever its calls come to stand. The dims of the
    new passage get these names.
    """
    dims = tuple(map(variable, named_dims(names)))
    found: list[Expr | None] = [None] * len(passage.dims)
    for own, e in zip(dims, passage.index, strict=True):
        which = followed(e, passage.dims)
        if which is None or found[which.dim] is not None:
            return None
        found[which.dim] = which.solved(own)
    index: list[Expr] = []
    for known, i in zip(found, box, strict=True):
        if known is None and (i.min is not i.max or _depends_on_loops(i.min)):
            return None
        index.append(i.min if known is None else known)
    return Passage(dims, tuple(index))


def named_dims(dims: Sequence[str]) -> list[str]:
    """Names of dimensions, with one of its own for each that has but a number."""
    count = len(dims)
    free = [(f"d{k}" for k in range(n, count * (count + 2), count)) for n in range(count)]
    return [
        dim if dim.isidentifier() else next(name for name in free[n] if name not in dims) for n, dim in enumerate(dims)
    ]


def _depends_on_loops(e: Expr) -> bool:
    """Whether an expression of a program, at a call, is another one in other iterations."""
    return any(isinstance(s, Variable) and not isinstance(s, Scalar) for s in symbols(e))


def reading_through(
    func: LoweredFunc, ports: Sequence[int], passage: Passage, ranges: Sequence[Range], known: Facts
) -> LoweredFunc | None:
    """A func, with its variants, that reads by some of its input ports, given by position, the other buffer of a
    passage, and gives values where it reads within some ranges; None where no array in that shows what the operation is
    to be given, or the values are in no box.

    Variants that take in another dtype, or in some order only, what they read there have no part in it: how the other
    buffer is stored, its own users say.
    """

    def change(member: LoweredFunc) -> LoweredFunc | None:
        if any(member.inputs[k].dtype != func.inputs[k].dtype or member.inputs[k].order is not None for k in ports):
            return None
        return _reading_through(member, ports, passage, ranges, known)

    return with_all_changed(func, change)


def _reading_through(
    func: LoweredFunc, ports: Sequence[int], passage: Passage, ranges: Sequence[Range], known: Facts
) -> LoweredFunc | None:
    part = _part_within(func, ports, passage, ranges, known)
    if part is None:
        return None
    inputs = list(func.inputs)
    for k in ports:
        new = _input_through(inputs[k], passage)
        if new is None:
            return None
        inputs[k] = new
    return attrs.evolve(
        func,
        inputs=tuple(inputs),
        part=(*func.part, *part),
        fusions=(),
        fused=_fused_reading_through(func.fused, ports, passage, ranges, known),
    )


def _fused_reading_through(
    fused: Fused | None, ports: Sequence[int], passage: Passage, ranges: Sequence[Range], known: Facts
) -> Fused | None:
    """What a fused func that reads by some of its ports the other buffer of a passage computes."""
    if fused is None:
        return None
    count = len(fused.first.inputs)
    others = [k for k in range(len(fused.second.inputs)) if k not in fused.ports]
    own = [k for k in ports if k < count], [others[k - count] for k in ports if k >= count]
    first, second = (
        reading_through(each, these, passage, ranges, known)
        for each, these in zip((fused.first, fused.second), own, strict=True)
    )
    return None if first is None or second is None else attrs.evolve(fused, first=first, second=second)


def _input_through(port: InputPort, passage: Passage) -> InputPort | None:
    if not passage.is_affine():
        return None
    if port.view is None:
        view = View(passage.dims, passage.index, port.box)
    else:
        own: dict[Expr, Expr] = dict(zip(passage.dims, port.view.index, strict=True))
        view = View(port.view.dims, tuple(substitute(e, own) for e in passage.index), port.view.box)
    return attrs.evolve(port, box=passage.box(port.box), view=_needed(view))


def _needed(view: View) -> View | None:
    """A view; None where the array is the region itself, in the same coordinates."""
    is_idle = len(view.index) == len(view.dims) and all(e is d for e, d in zip(view.index, view.dims, strict=True))
    return None if is_idle else view


@attrs.frozen(eq=False)
class Rewritten:
    """A func that writes to another buffer, and how the boxes of its calls change: for each dimension of the new func,
    the old one that it follows, or the coordinate of a dimension that is a point."""

    func: LoweredFunc
    dims: tuple[Followed | Expr, ...]

    def box(self, old: Box) -> Box:
        """The box of a call of the new func, in place of one of the old."""
        return tuple(point(each) if isinstance(each, Expr) else each.values(old[each.dim]) for each in self.dims)


def parts_of(copy: LoweredFunc, passage: Passage) -> tuple[Limit, ...] | None:
    """Where a copy gives elements of its target, by dimensions of the target: who writes them in its place gives them
    there and nowhere else. None where that is no box."""
    (output,) = copy.outputs
    found = [attrs.evolve(limit, dim=output.dims.index(limit.dim)) for limit in copy.part]
    for e, i in passage.conditions:
        if symbols(e).isdisjoint(passage.dims):
            continue  # it holds, or the copy gives nothing at all
        which = followed(e, passage.dims)
        if which is None:
            return None
        limit = which.within(i)
        found.append(Limit(which.dim, limit.min, limit.max))
    return tuple(found)


def writing_through(func: LoweredFunc, passage: Passage, parts: Sequence[Limit]) -> Rewritten | None:
    """A func with one output that writes the other buffer of a passage, of which each coordinate is a constant or one
    of the passage's dims, forward or backward. None where it cannot be said so.

    The func's dimensions become the coordinates of what it writes, so what it reads is said by other expressions. It
    gives what it gave, and only where the `parts` of the other buffer are. So do its variants.
    """
    found: dict[str | None, Rewritten] = {}

    def change(member: LoweredFunc) -> LoweredFunc | None:
        is_alike = [port.dtype for port in member.outputs] == [port.dtype for port in func.outputs]
        is_alike = is_alike and all(port.order is None for port in member.outputs)
        rewritten = _writing_through(member, passage, parts) if is_alike else None
        if rewritten is None:
            return None
        found[member.variant] = rewritten
        return rewritten.func

    new = with_all_changed(func, change)
    return None if new is None else attrs.evolve(found[func.variant], func=new)


def _writing_through(func: LoweredFunc, passage: Passage, parts: Sequence[Limit]) -> Rewritten | None:
    if len(func.outputs) != 1:
        return None
    (output,) = func.outputs
    followers: dict[int, Followed] = {}
    points: list[Expr] = []
    positions: list[int] = []
    dims: list[Variable] = list(func.dims)
    for n, e in enumerate(passage.index):
        if symbols(e).isdisjoint(passage.dims):
            positions.append(len(dims))
            dims.append(variable(f"{func.name}.{_fresh(dims, func.name, n)}"))
            points.append(e)
            continue
        which = followed(e, passage.dims)
        if which is None:
            return None
        d = output.dims[which.dim]
        positions.append(d)
        followers[d] = attrs.evolve(which, dim=d)
    if len(followers) != len(func.dims) or any(followers[d].sign < 0 for d, _ in func.whole):
        return None
    new_dims = [followers[d] for d in range(len(func.dims))]
    replacements: dict[Expr, Expr] = {dim: each.solved(dim) for dim, each in zip(func.dims, new_dims, strict=True)}

    def of(box: Box) -> Box:
        return tuple(Interval(substitute(i.min, replacements), substitute(i.max, replacements)) for i in box)

    if output.view is None:
        own = tuple(point(func.dims[d]) for d in output.dims)
        view = View(passage.dims, passage.index, of(own))
    else:
        before: dict[Expr, Expr] = dict(zip(passage.dims, output.view.index, strict=True))
        index = tuple(substitute(e, before) for e in passage.index)
        view = View(output.view.dims, index, of(output.view.box))
    new = attrs.evolve(
        func,
        dims=tuple(dims),
        inputs=tuple(
            attrs.evolve(p, box=of(p.box), view=None if p.view is None else attrs.evolve(p.view, box=of(p.view.box)))
            for p in func.inputs
        ),
        outputs=(OutputPort(tuple(positions), output.dtype, _needed(view)),),
        part=(
            *(_moved(limit, new_dims[limit.dim]) for limit in func.part),
            *(Limit(positions[limit.dim], limit.first, limit.last) for limit in parts),
        ),
        whole=tuple((d, new_dims[d].values(i)) for d, i in func.whole),
        fusions=(),
        fused=_fused_writing_through(func.fused, passage, parts),
    )
    return Rewritten(new, (*new_dims, *points))


def _fused_writing_through(fused: Fused | None, passage: Passage, parts: Sequence[Limit]) -> Fused | None:
    """What a fused func that writes the other buffer of a passage computes."""
    second = None if fused is None else writing_through(fused.second, passage, parts)
    return None if fused is None or second is None else attrs.evolve(fused, second=second.func)


def _moved(limit: Limit, by: Followed) -> Limit:
    """A limit of a dimension that is now counted with a sign, and from elsewhere."""
    first, last = (limit.first, limit.last) if by.sign > 0 else (limit.last, limit.first)
    return Limit(by.dim, *(None if e is None else by.sign * e + by.rest for e in (first, last)))


def _fresh(dims: Sequence[Variable], func: str, n: int) -> str:
    """A name for a further dimension of a func."""
    taken = {dim.name for dim in dims}
    return next(name for k in range(n, n + len(taken) + 1) if f"{func}.{(name := f'd{k}')}" not in taken)
