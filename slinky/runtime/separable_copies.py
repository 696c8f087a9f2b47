"""Copies whose dimensions have nothing to do with each other, carried out with little work per call.

Idea. Mostly there is one source, and each of its coordinates is a dimension of the target, forward or backward, and
something added: boundaries, pads, slices, transposed copies. Then each dimension falls into stretches by itself, and
the pieces are all combinations of these. Where a stretch is the whole dimension, that is seen at once; else it is asked
of `copy_pieces`, as a copy of one dimension, and remembered: in a loop over rows the columns are the same in each call.

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
from slinky.runtime.buffers import Buffer
from slinky.runtime.copy_pieces import pieces
from slinky.symbolic.expressions import Expr, Variable, linear, linear_sum, variable

Stretch: TypeAlias = "tuple[int, int, int | None, int]"
"""From where to where of a dimension of the target, counted from its first coordinate; the first coordinate of the
source, or None where it gives nothing; and how far apart the coordinates are there, 0 if it is the same for all."""

Number: TypeAlias = Callable[[Mapping[str, int]], int]
"""The value of something that is known when a copy runs."""


def _number(e: Expr) -> Number | None:
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

    def stretches(self, lo: int, hi: int, values: Mapping[str, int]) -> tuple[Stretch, ...] | None:
        """What a dimension of the target from lo to hi falls into; None if it is no such list."""
        first, last = self.offset(values) + self.sign * lo, self.offset(values) + self.sign * hi
        if self.edges is None or (
            self.edges[0](values) <= min(first, last) and max(first, last) <= self.edges[1](values)
        ):
            return ((0, hi - lo + 1, first, self.sign),)
        return _stretches_alone(self.alone, lo, hi, tuple((name, values[name]) for name in self.parameters))


@functools.lru_cache(maxsize=8192)
def _stretches_alone(
    copy: Copy, lo: int, hi: int, parameters: tuple[tuple[str, int], ...]
) -> tuple[Stretch, ...] | None:
    found: list[Stretch] = []
    for piece in pieces(copy, ((lo, hi),), {variable(name): value for name, value in parameters}):
        extents = piece.space.extents
        (place,) = piece.space.target
        if len(extents) > 1 or (extents and place.factors[0] != 1):
            return None
        start, count = place.constant - lo, extents[0] if extents else 1
        if piece.source is None:
            found.append((start, start + count, None, 0))
        else:
            (index,) = piece.index
            found.append((start, start + count, index.constant, index.factors[0] if extents else 1))
    return tuple(sorted(found))


@attrs.frozen(eq=False)
class SeparableCopy:
    """A copy from one source, as lines: for each dimension of the target, the one that follows it, if any does."""

    lines: tuple[_Line | None, ...]
    fixed: tuple[tuple[int, Number], ...]
    """The dimensions of the source that follow none, with their coordinates."""

    def carry_out(self, source: Buffer, target: Buffer, values: Mapping[str, int], fill: Any) -> bool:
        """Copy; False, and nothing done, where a dimension does not fall into stretches."""
        if 0 in target.array.shape:
            return True
        along: list[tuple[Stretch, ...]] = []
        for line, lo, extent in zip(self.lines, target.min, target.array.shape, strict=True):
            if line is None:
                along.append(((0, extent, 0, 0),))
                continue
            stretches = line.stretches(lo, lo + extent - 1, values)
            if stretches is None:
                return False
            along.append(stretches)
        index: list[Any] = [0] * source.array.ndim
        for d, number in self.fixed:
            index[d] = number(values) - source.min[d]
        for piece in itertools.product(*along):
            self._copy(piece, index, source, target, fill)
        return True

    def _copy(self, piece: Sequence[Stretch], index: list[Any], source: Buffer, target: Buffer, fill: Any) -> None:
        within: list[Any] = [slice(start, stop) for start, stop, _, _ in piece]
        place = target.array[(*within, ...)]
        if any(first is None for _, _, first, _ in piece):
            place[...] = np.zeros((), place.dtype) if fill is None else fill
            return
        order = []
        for line, (start, stop, first, step) in zip(self.lines, piece, strict=True):
            if line is not None:
                assert first is not None
                at = first - source.min[line.axis]
                index[line.axis] = _slice(at, stop - start, step)
                order.append(line.axis)
        found = source.array[(*index, ...)]
        if order != sorted(order):
            found = found.transpose(_ranks(order))
        if len(order) != len(piece):
            found = found[tuple([None if line is None else slice(None) for line in self.lines])]
        place[...] = found


def _slice(first: int, count: int, step: int) -> slice:
    """The elements from the first on, so many, a step apart; one of them, to be repeated, if the step is 0."""
    if step > 0:
        return slice(first, first + count * step, step)
    if step == 0:
        return slice(first, first + 1)
    stop = first + count * step
    return slice(first, stop if stop >= 0 else None, step)


@functools.lru_cache(maxsize=1024)
def _ranks_of(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(order).index(axis) for axis in order)


def _ranks(order: Sequence[int]) -> tuple[int, ...]:
    """The order of the axes of an array that are left where the other ones were indexed away."""
    return _ranks_of(tuple(order))


def separable(copy: Copy) -> SeparableCopy | None:
    """A copy by its dimensions; None where it is none by dimensions."""
    if len(copy.sources) != 1 or copy.sources[0].where:
        return None
    source = copy.sources[0]
    lines: list[_Line | None] = [None] * len(copy.dims)
    fixed: list[tuple[int, Number]] = []
    for axis, e in enumerate(source.index):
        offset, terms = linear(e)
        moving = [(atom, k) for atom, k in terms if atom in copy.dims]
        rest = _number(linear_sum(offset, [term for term in terms if term not in moving]))
        edges = source.edges[axis]
        if rest is None or (not moving and edges is not None):
            return None
        if not moving:
            fixed.append((axis, rest))
            continue
        if len(moving) != 1 or abs(moving[0][1]) != 1:
            return None
        ((dim, sign),) = moving
        d = [each is dim for each in copy.dims].index(True)
        if lines[d] is not None:
            return None
        ends = None if edges is None else (_number(edges.min), _number(edges.max))
        if ends is not None and None in ends:
            return None
        lines[d] = _Line(axis, sign, rest, ends, _alone(copy, source, axis, d), _named(copy))  # type: ignore[arg-type]
    return SeparableCopy(tuple(lines), tuple(fixed))


def _alone(copy: Copy, source: CopySource, axis: int, d: int) -> Copy:
    """A copy of one dimension, as this one is in that."""
    only = CopySource((source.index[axis],), (source.edges[axis],), (source.boundaries[axis],))
    return Copy(dims=(copy.dims[d],), sources=(only,))


def _named(copy: Copy) -> tuple[str, ...]:
    """The names of the parameters that are integers."""
    return tuple(name for name, _ in copy.arguments if name != "fill")
