"""Copies whose dimensions have nothing to do with each other, carried out with little work per call.

Idea. Mostly there is one source, and each of its coordinates is a dimension of the target, forward or backward, and
something added: boundaries, pads, slices, transposed copies. Then each dimension falls into stretches by itself, and
the pieces are all combinations of these. Where a stretch is the whole dimension, that is seen at once; else it is asked
of `copy_pieces`, as a copy of one dimension, and remembered: in a loop over rows the columns are the same in each call.
What is the same in all calls, such as the order of dimensions, is found when the copy is prepared, so that a call does
little more than to let NumPy copy: a loop by rows may call it for a few microseconds' worth of elements each time.

Invariant: it copies what `copy_pieces` says.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np

from slinky.ir.operations import Copy, CopySource
from slinky.runtime.buffers import Array, Buffer
from slinky.runtime.copy_pieces import pieces
from slinky.runtime.transposing import assign
from slinky.symbolic.expressions import Expr, Variable, linear, variable
from slinky.symbolic.followed import followed
from slinky.symbolic.traversal import symbols

Parts: TypeAlias = "tuple[tuple[slice, ...], tuple[slice | None, ...], bool]"
"""What a dimension of the target falls into: each stretch as a slice of the target; as one of the source, or None where
that gives nothing; and whether there are such."""

Number: TypeAlias = Callable[[Mapping[str, int]], int]
"""The value of something that is known when a copy runs, of the values of parameters."""


def number(e: Expr) -> Number | None:
    """A sum of parameters as a function of their values; None for anything else."""
    offset, terms = linear(e)
    named = [(atom.name, k) for atom, k in terms if isinstance(atom, Variable)]
    if len(named) != len(terms):
        return None

    def value(values: Mapping[str, int]) -> int:
        total = offset
        for name, k in named:
            total += k * values[name]
        return total

    return value


@attrs.frozen(eq=False)
class _Line:
    """A dimension of the source that follows one of the target: by a sign, and something added; within its edges."""

    axis: int
    sign: int
    offset: Number
    edges: tuple[Number, Number] | None
    alone: Copy
    parameters: tuple[str, ...]

    def parts(self, lo: int, extent: int, origin: int, given: tuple[int, ...]) -> Parts | None:
        """What a dimension of the target falls into, from lo on; None if it falls into no stretches.

        `origin` is the first coordinate that the source has; `given` are the values of the parameters.
        """
        offset, edges = _numbers(self, given)
        first = offset + self.sign * lo
        last = first + self.sign * (extent - 1)
        if edges is None or (edges[0] <= first <= edges[1] and edges[0] <= last <= edges[1]):
            return (slice(0, extent),), (_slice(first - origin, extent, self.sign),), False
        return _parts_across(self, lo, extent, origin, given)


@functools.lru_cache(maxsize=8192)
def _numbers(line: _Line, given: tuple[int, ...]) -> tuple[int, tuple[int, int] | None]:
    """What is added, and the edges."""
    values = dict(zip(line.parameters, given, strict=True))
    edges = line.edges
    return line.offset(values), None if edges is None else (edges[0](values), edges[1](values))


@functools.lru_cache(maxsize=8192)
def _parts_across(line: _Line, lo: int, extent: int, origin: int, given: tuple[int, ...]) -> Parts | None:
    """The parts of a dimension that reaches beyond edges."""
    values: dict[Expr, int] = {variable(name): k for name, k in zip(line.parameters, given, strict=True)}
    found: list[tuple[int, int, slice | None]] = []
    for piece in pieces(line.alone, ((lo, lo + extent - 1),), values):
        extents = piece.space.extents
        (place,) = piece.space.target
        if len(extents) > 1 or (extents and place.factors[0] != 1):
            return None
        start, count = place.constant - lo, extents[0] if extents else 1
        if piece.source is None:
            found.append((start, start + count, None))
        else:
            (index,) = piece.index
            step = index.factors[0] if extents else 1
            found.append((start, start + count, _slice(index.constant - origin, count, step)))
    found.sort(key=lambda part: part[0])
    sources = tuple(source for _, _, source in found)
    return tuple(slice(start, stop) for start, stop, _ in found), sources, None in sources


@attrs.frozen(eq=False)
class SeparableCopy:
    """A copy from one source, as lines: for each dimension of the target, the one that follows it, if any does."""

    lines: tuple[_Line | None, ...]
    fixed: tuple[tuple[int, Number], ...]
    """The dimensions of the source that follow none, with their coordinates."""
    parameters: tuple[str, ...]
    """The names of the parameters that are integers."""

    def carry_out(self, source: Buffer, target: Buffer, values: Mapping[str, int], fill: Any) -> bool:
        """Copy; False, and nothing done, where a dimension does not fall into stretches."""
        shape = target.array.shape
        if 0 in shape:
            return True
        given = tuple([values[name] for name in self.parameters])
        places: list[Sequence[Any]] = []
        found: list[Sequence[Any]] = []
        some_missing = False
        for line, lo, extent in zip(self.lines, target.min, shape, strict=True):
            if line is None:
                places.append(_WHOLE)
                found.append(_WHOLE)
                continue
            parts = line.parts(lo, extent, source.min[line.axis], given)
            if parts is None:
                return False
            places.append(parts[0])
            found.append(parts[1])
            some_missing = some_missing or parts[2]
        if not self.lines:  # one element, as an array: of an object, it would be taken for what it holds
            places = found = [(...,)]
        array, elements = target.array, self._as_target(source, values)
        for place, index in zip(itertools.product(*places), itertools.product(*found), strict=True):
            if some_missing and None in index:
                array[place] = np.zeros((), array.dtype) if fill is None else fill
            else:
                assign(array[place], elements[index])
        return True

    def _as_target(self, source: Buffer, values: Mapping[str, int]) -> Array:
        """The source with the dimensions of the target, of extent 1 where nothing follows one."""
        array = source.array
        if self.fixed:
            within: list[Any] = [slice(None)] * array.ndim
            for d, coordinate in self.fixed:
                within[d] = coordinate(values) - source.min[d]
            array = array[(*within, ...)]
        if self.order is not None:
            array = array.transpose(self.order)
        return array if self.axes is None else array[self.axes]

    order: tuple[int, ...] | None = attrs.field(init=False)
    """Where the dimensions of the target are found in the source, without the fixed ones; None if in this order."""
    axes: tuple[slice | None, ...] | None = attrs.field(init=False)
    """An index that adds the dimensions of the target that nothing follows; None if there are none."""

    @order.default
    def _order(self) -> tuple[int, ...] | None:
        own = [line.axis for line in self.lines if line is not None]
        order = tuple(sorted(own).index(axis) for axis in own)
        return None if order == tuple(range(len(own))) else order

    @axes.default
    def _axes(self) -> tuple[slice | None, ...] | None:
        return tuple(None if line is None else slice(None) for line in self.lines) if None in self.lines else None


_WHOLE = (slice(None),)


def _slice(first: int, count: int, step: int) -> slice:
    """The elements from the first on, so many, a step apart; one of them, to be repeated, if the step is 0."""
    if step > 0:
        return slice(first, first + count * step, step)
    if step == 0:
        return slice(first, first + 1)
    stop = first + count * step
    return slice(first, stop if stop >= 0 else None, step)


def separable(copy: Copy) -> SeparableCopy | None:
    """A copy by its dimensions; None where it is none by dimensions."""
    if len(copy.sources) != 1 or copy.sources[0].where:
        return None
    source = copy.sources[0]
    names = _named(copy)
    lines: list[_Line | None] = [None] * len(copy.dims)
    fixed: list[tuple[int, Number]] = []
    for axis, e in enumerate(source.index):
        edges = source.edges[axis]
        if symbols(e).isdisjoint(copy.dims):
            coordinate = number(e)
            if coordinate is None or edges is not None:
                return None
            fixed.append((axis, coordinate))
            continue
        which = followed(e, copy.dims)
        offset = None if which is None else number(which.rest)
        if which is None or offset is None or lines[which.dim] is not None:
            return None
        ends = None if edges is None else (number(edges.min), number(edges.max))
        if ends is not None and None in ends:
            return None
        alone = _alone(copy, source, axis, which.dim)
        lines[which.dim] = _Line(axis, which.sign, offset, ends, alone, names)  # type: ignore[arg-type]
    return SeparableCopy(tuple(lines), tuple(fixed), names)


def _alone(copy: Copy, source: CopySource, axis: int, d: int) -> Copy:
    """A copy of one dimension, as this one is in that."""
    only = CopySource((source.index[axis],), (source.edges[axis],), (source.boundaries[axis],))
    return Copy(dims=(copy.dims[d],), sources=(only,))


def _named(copy: Copy) -> tuple[str, ...]:
    """The names of the parameters that are integers."""
    return tuple(name for name, _ in copy.arguments if name != "fill")
