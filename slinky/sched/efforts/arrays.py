"""Arrays without elements: a shape, a dtype, strides, and the memory that they are views of.

What NumPy would do with arrays of these shapes is told by them: in how many lines it goes over several of them at once,
and how many bytes come with their elements.

Invariant: what is not known is guessed, never asked of an array that is there: extents that do not fit are the largest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import attrs
import numpy as np

CACHE_LINE = 64
"""Bytes that come together."""


class Unknown:
    """Something that is no array, of which no more is known."""


UNKNOWN: Final = Unknown()


class Storage:
    """The memory of arrays: how many bytes, if it is made; none, if it is given."""

    __slots__ = ("bytes",)

    def __init__(self, size: float = 0) -> None:
        self.bytes = size


@attrs.define(eq=False)
class ShapeOnly:
    """An array without elements; its strides are in elements."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...] = attrs.field()
    storage: Storage = attrs.field(factory=Storage)

    @strides.default
    def _without_gaps(self) -> tuple[int, ...]:
        return strides_of(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def bytes_that_come(self) -> int:
        """Those of all cache lines that its elements lie in."""
        axes = [(n, abs(stride)) for n, stride in zip(self.shape, self.strides, strict=True) if n > 1 and stride]
        itemsize = self.dtype.itemsize
        nearest = min([stride for _, stride in axes], default=1) * itemsize
        return math.prod([n for n, _ in axes]) * min(nearest, max(CACHE_LINE, itemsize))

    def view(self, shape: Sequence[int], strides: Sequence[int] | None = None) -> ShapeOnly:
        """Another view of the same memory: without gaps, where nothing is said."""
        shape = tuple(shape)
        return ShapeOnly(shape, self.dtype, strides_of(shape) if strides is None else tuple(strides), self.storage)

    def reordered(self, axes: Sequence[int]) -> ShapeOnly:
        """With these axes in this order."""
        return self.view([self.shape[axis] for axis in axes], [self.strides[axis] for axis in axes])

    def first(self) -> ShapeOnly:
        """The first along its first axis."""
        return self.view(self.shape[1:], self.strides[1:])

    def parts(self, count: int) -> list[ShapeOnly]:
        """So many of those along its first axis."""
        return [self.first() for _ in range(count)]

    def taken(self, index: Sequence[object]) -> ShapeOnly:
        """A view by slices, numbers, new axes and an ellipsis."""
        shape: list[int] = []
        strides: list[int] = []
        axis = 0
        said = sum([each is not None and each is not Ellipsis for each in index])
        left = max(len(self.shape) - said, 0)
        for each in index if any(each is Ellipsis for each in index) else (*index, Ellipsis):
            if each is None:
                shape.append(1)
                strides.append(0)
            elif each is Ellipsis:
                shape += self.shape[axis : axis + left]
                strides += self.strides[axis : axis + left]
                axis += left
            else:
                if isinstance(each, slice) and axis < len(self.shape):
                    step = each.step if isinstance(each.step, int) else 1
                    shape.append(_extent(each, self.shape[axis]))
                    strides.append(self.strides[axis] * step)
                axis += 1
        return self.view(shape, strides)

    def strides_in(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Its strides if it is repeated to have this shape."""
        fewer = len(shape) - len(self.shape)
        each = zip(self.strides, self.shape, shape[fewer:], strict=False)
        return (0,) * fewer + tuple([stride if extent == wanted else 0 for stride, extent, wanted in each])

    def alike(self, dtype: np.dtype[Any], storage: Storage) -> ShapeOnly:
        """An array in the same order, without gaps."""
        order = sorted(range(len(self.shape)), key=lambda axis: -abs(self.strides[axis]))
        strides = strides_of([self.shape[axis] for axis in order])
        return ShapeOnly(self.shape, dtype, tuple([strides[order.index(axis)] for axis in range(len(order))]), storage)


@attrs.define(eq=False)
class BufferOnly:
    """An array without elements, and where it begins."""

    array: ShapeOnly
    min: tuple[int, ...]

    @property
    def max(self) -> tuple[int, ...]:
        return tuple([lo + extent - 1 for lo, extent in zip(self.min, self.array.shape, strict=True)])


def strides_of(shape: Sequence[int]) -> tuple[int, ...]:
    """Those of an array that lies row by row, without gaps."""
    found, stride = list[int](), 1
    for extent in reversed(shape):
        found.append(stride)
        stride *= extent
    return tuple(found[::-1])


def broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of a result; of extents that do not fit, as some are not known, the largest."""
    if len(set(shapes)) <= 1:
        return shapes[0] if shapes else ()
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple([max(extents) if 0 not in extents else 0 for extents in zip(*padded, strict=True)])


def lines(arrays: Sequence[ShapeOnly]) -> tuple[float, bool]:
    """How many lines of elements NumPy goes along in an operation on arrays, and whether elements lie apart in one.

    It takes the axes in the order in which the last array lies, and as one what lies as one in all.
    """
    shape = broadcast([array.shape for array in arrays])
    if not arrays or 0 in shape:
        return 0.0, False
    each = [array.strides_in(shape) for array in arrays]
    order = sorted([axis for axis, n in enumerate(shape) if n > 1], key=lambda axis: -abs(each[-1][axis]))
    if not order:
        return 1.0, False
    inner = order[-1]
    extent = shape[inner]
    for axis in order[-2::-1]:
        if any(strides[axis] != extent * strides[inner] for strides in each):
            break
        extent *= shape[axis]
    return math.prod(shape) / extent, any(abs(strides[inner]) > 1 for strides in each)


def _extent(part: slice, extent: int) -> int:
    """How many coordinates a slice takes of so many; all that its step leaves where its ends are not known."""
    if all(each is None or isinstance(each, (int, np.integer)) for each in (part.start, part.stop, part.step)):
        try:
            return len(range(*part.indices(extent)))
        except ValueError:
            return extent
    step = part.step
    return -(-extent // abs(step)) if isinstance(step, int) and step else extent
