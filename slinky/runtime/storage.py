"""Where the elements of a buffer are: numeric boxes in, strided views out.

A folded dimension is stored outermost, as a ring in mirrored memory, so that a window that wraps around is still one
plain view. The ring is as long as its pages: coordinate c begins at byte `c * stride % size`. Where mirrored memory is
not available, or would take more than the unfolded buffer, the buffer is stored unfolded: always correct, at most more
memory. (Plans have another way, which asks for some care: see `compacting`.)

Making a view takes several times as long as finding one. So where rows begin at few bytes, the views are kept, and
short rows lie as far apart as it takes to begin at few bytes, if that costs no more than a page or two.

Invariant: `view(box)` shows exactly the elements of the box, and never leaves the buffer.
"""

from __future__ import annotations

import itertools
import math
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, cast

import attrs
import numpy as np

from slinky.callers import level
from slinky.errors import ExecutionError, StorageError
from slinky.ir.blocks import stored_extents
from slinky.runtime import mirrored
from slinky.runtime.buffers import Array
from slinky.runtime.strided import Strided, array_at, bytes_at, laid

NumericBox: TypeAlias = tuple[tuple[int, int], ...]
"""Per dimension the first and the last coordinate."""


def shape_of(box: NumericBox) -> tuple[int, ...]:
    """The extents of a box; 0 where it is empty."""
    return tuple(max(hi - lo + 1, 0) for lo, hi in box)


def box_text(box: Sequence[tuple[int, int]]) -> str:
    """A box as `[0..3, 5]`."""
    return "[" + ", ".join(str(lo) if lo == hi else f"{lo}..{hi}" for lo, hi in box) + "]"


@attrs.frozen(eq=False)
class Ring:
    """The folded dimension `dim` of an array in mirrored memory of (twice) `size` bytes.

    `shape` are the extents of the whole buffer. A window has its rows one behind the other, `stride` bytes apart, each
    in C order.
    """

    memory: Array | memoryview
    size: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    dim: int
    stride: int

    @property
    def rows(self) -> int:
        """How many rows the ring holds at a time."""
        return self.size // self.stride

    @property
    def starts(self) -> int:
        """At how many bytes rows begin: coordinates that differ by so many have the same views."""
        return _starts(self.size, self.stride)

    def read_only(self) -> Ring:
        """The same ring, whose windows are read-only."""
        # On a memoryview NumPy makes an array about as fast as on a writable array; on a read-only one it takes longer.
        return attrs.evolve(self, memory=memoryview(cast(Any, self.memory)).toreadonly())

    def window(self) -> Callable[[int, int], Array]:
        """A function that gives the view of some rows: of the coordinate of the first, and how many. Views may be given
        out again."""
        return _kept(self._made(), self.starts) if self.starts <= MOST_STARTS else self._made()

    def _made(self) -> Callable[[int, int], Array]:
        """The same, each view made anew."""
        memory, size, dtype, stride, ndarray = self.memory, self.size, self.dtype, self.stride, np.ndarray
        before, after = self.shape[: self.dim], self.shape[self.dim + 1 :]
        if not before and stride == row_bytes(dtype, self.shape, self.dim):

            def outermost(first: int, count: int) -> Array:
                return ndarray((count, *after), dtype, memory, first * stride % size)

            return outermost
        steps = list(itertools.accumulate(reversed((*before[1:], *after)), operator.mul, initial=dtype.itemsize))[::-1]
        steps = steps[-len(before) - len(after) :] if before or after else []
        strides = (*steps[: self.dim], stride, *steps[self.dim :])

        def inner(first: int, count: int) -> Array:
            return ndarray((*before, count, *after), dtype, memory, first * stride % size, strides)

        return inner


MOST_STARTS = 64
"""Views are kept of rings whose rows begin at no more bytes than this."""

_MOST_COUNTS = 8
"""Of windows of so many lengths, views are kept at a time."""


def _kept(make: Callable[[int, int], Array], starts: int) -> Callable[[int, int], Array]:
    """What another function makes, kept: coordinates that differ by a multiple of `starts` have the same view."""
    views: dict[int, dict[int, Array]] = {}

    def window(first: int, count: int) -> Array:
        try:
            return views[count][first % starts]
        except KeyError:
            if count not in views and len(views) >= _MOST_COUNTS:
                views.clear()
            view = views.setdefault(count, {})[first % starts] = make(first % starts, count)
            return view

    return window


Windows: TypeAlias = "Iterator[Array]"
"""The windows of a loop, one after the other."""


def onward(window: Callable[[int, int], Array], rows: int, starts: int | None = None) -> Callable[..., Windows]:
    """A function that gives the windows of a loop: of the coordinate of the first row of the first, how many rows each
    has, and how many each lies behind the one before. With `starts`, coordinates that differ by so many have the same
    views, which are kept.

    They are asked for before it is known whether the loop has any iteration. Where it has none, they may have any
    length: a window of less than no rows, or of more than `rows`, is made when its iteration comes, and not before.
    """

    def one_by_one(first: int, count: int, step: int = 1) -> Windows:
        return map(window, itertools.count(first, step), itertools.repeat(count))

    if starts is None:
        return one_by_one
    rounds: dict[tuple[int, int, int], tuple[Array, ...]] = {}

    def windows(first: int, count: int, step: int = 1) -> Windows:
        key = first % starts, count, step % starts
        views = rounds.get(key)
        if views is None:
            if not 0 <= count <= rows:
                return one_by_one(first, count, step)
            if len(rounds) >= _MOST_ROUNDS:
                rounds.clear()
            number = starts // math.gcd(step, starts)
            views = rounds[key] = tuple([window(first + n * step, count) for n in range(number)])
        return itertools.cycle(views)

    return windows


_MOST_ROUNDS = 128
"""The views of so many loops are kept."""


def row_bytes(dtype: np.dtype[Any], shape: tuple[int, ...], dim: int) -> int:
    """The bytes of an array for one coordinate of a dimension."""
    return math.prod(extent for d, extent in enumerate(shape) if d != dim) * dtype.itemsize


@attrs.frozen(eq=False)
class Blocks:
    """An array in memory of a buffer that is stored by blocks of so many coordinates of some dimensions: those that say
    which block come first (see `ir.blocks`)."""

    array: Array
    lengths: tuple[int | None, ...]

    def view(self, name: str, box: NumericBox, bounds: NumericBox) -> Array:
        """The elements of a box within the bounds of the buffer. Raises `ExecutionError` if it is in several blocks."""
        numbers: list[Any] = []
        spans: list[Any] = []
        for (lo, hi), (first, _), length in zip(box, bounds, self.lengths, strict=True):
            start, stop = lo - first, max(hi - first + 1, lo - first)
            if length is not None:
                if stop > start and start // length != (stop - 1) // length:
                    raise ExecutionError(
                        f"{name}{box_text(box)} lies in several blocks of {length}, from {first} on: no array shows it"
                    )
                numbers.append(start // length if stop > start else 0)
                start, stop = start % length, start % length + stop - start
            spans.append(slice(start, stop))
        return cast(Array, self.array[(*numbers, *spans, ...)])


@attrs.frozen(eq=False)
class Storage:
    """The elements of a buffer with these bounds: an array, where a dimension is folded a ring, or blocks.

    `reserved` are the bytes of an array that lies as the user says, gaps and all.
    """

    name: str
    box: NumericBox
    place: Array | Ring | Blocks
    reserved: int | None = None

    @property
    def array(self) -> Array:
        """The array. Only of a buffer without a ring."""
        assert isinstance(self.place, np.ndarray)
        return self.place

    @property
    def nbytes(self) -> int:
        """The bytes of the array or the ring."""
        if self.reserved is not None:
            return self.reserved
        match self.place:
            case Ring(size=size):
                return size
            case Blocks(array=array):
                return array.nbytes
            case array:
                return array.nbytes

    def view(self, box: NumericBox) -> Array:
        """The elements of a box; always a view, also of a buffer without dimensions.

        Raises `ExecutionError` if the box leaves the bounds, or is longer than the ring.
        """
        place = self.place
        index: list[Any] = []
        for d, ((lo, hi), (first, last)) in enumerate(zip(box, self.box, strict=True)):
            if lo < first or hi > last:
                raise ExecutionError(f"{self.name}{box_text(box)} leaves the buffer, which holds {box_text(self.box)}")
            if isinstance(self.place, Blocks):
                continue
            extent = max(hi - lo + 1, 0)
            if isinstance(self.place, Ring) and self.place.dim == d:
                if extent > self.place.rows:
                    raise ExecutionError(f"{self.name}{box_text(box)} is longer than its fold of {self.place.rows}")
                place = self.place.window()(lo, extent)
                index.append(slice(None))
            else:
                index.append(slice(lo - first, lo - first + extent))
        if isinstance(place, Blocks):
            return place.view(self.name, box, self.box)
        assert isinstance(place, np.ndarray)
        return cast(Array, place[(*index, ...)])

    def whole(self) -> Array:
        """All elements. Only of a buffer without a ring."""
        return self.view(self.box)


def allocate(name: str, dtype: np.dtype[Any], box: NumericBox, folds: Sequence[int | None]) -> Storage:
    """Storage for a buffer of these bounds, with the fold factor of each dimension or None. Not initialised."""
    shape = shape_of(box)
    for d, factor in enumerate(folds):
        if factor is not None and factor < shape[d]:
            size = ring_size(dtype, shape, d, factor)
            if size is not None:
                memory = reserve(mirrored.mirrored, size, name)
                return Storage(
                    name, box, Ring(memory, size, dtype, shape, d, ring_stride(dtype, shape, d, factor, size))
                )
    return Storage(name, box, reserve(lambda _: np.empty(shape, dtype), math.prod(shape) * dtype.itemsize, name))


def allocate_strided(
    name: str, dtype: np.dtype[Any], box: NumericBox, layout: Strided, given: Sequence[int]
) -> Storage:
    """Storage for a buffer that lies as the user says; `given` are the strides of `layout.dims`. Not initialised."""
    shape = shape_of(box)
    where = laid(name, dtype.itemsize, shape, layout, given)
    memory = reserve(lambda n: bytes_at(lambda m: np.empty(m, np.uint8), n, layout.alignment), where.size, name)
    return Storage(name, box, array_at(memory, dtype, shape, where), where.size)


def allocate_blocks(name: str, dtype: np.dtype[Any], box: NumericBox, lengths: tuple[int | None, ...]) -> Storage:
    """Storage for a buffer that is stored by blocks. Not initialised."""
    shape = stored_extents(lengths, shape_of(box), lambda n, length: max(-(-n // length), 1), int)
    array = reserve(lambda _: np.empty(shape, dtype), math.prod(shape) * dtype.itemsize, name)
    return Storage(name, box, Blocks(array, lengths))


def reserve(make: Callable[[int], Array], size: int, *buffers: str) -> Array:
    """Memory of so many bytes for these buffers. Raises `StorageError` if there is none."""
    try:
        return make(size)
    except (OSError, MemoryError, ValueError, OverflowError) as error:
        names = ", ".join(buffers[:_NAMED]) + (f" and {len(buffers) - _NAMED} more" if len(buffers) > _NAMED else "")
        kind = "a ring of " if make is mirrored.mirrored else ""
        verb = "need" if len(buffers) > 1 else "needs"
        raise StorageError(f"there is no memory for {names}, which {verb} {kind}{size} bytes: {error}") from error


_NAMED = 3
"""So many buffers are named in a message."""


def ring_size(dtype: np.dtype[Any], shape: tuple[int, ...], dim: int, factor: int) -> int | None:
    """The bytes of a ring of `factor` rows; None where the unfolded array is the better choice."""
    row = row_bytes(dtype, shape, dim)
    size = mirrored.whole_pages(factor * row)
    if size >= row * shape[dim]:
        return None
    more = _PAGES_APART if size >= _LEAST_PAGES * mirrored.PAGE else 1
    if row > _LONGEST_APART:
        aligned, more = mirrored.whole_pages(factor * _aligned(row)), 0
        size = aligned if aligned < row * shape[dim] else size
    for larger in range(size, size + more * mirrored.PAGE + 1, mirrored.PAGE):
        stride = ring_stride(dtype, shape, dim, factor, larger)
        if _starts(larger, stride) <= MOST_STARTS and larger < row * shape[dim]:
            size = larger
            break
    try:
        if mirrored.available():
            return size
    except OSError:
        return size  # there is no room even for the page to try it on: who asks for the ring says so
    _warn_unfolded()
    return None


def ring_stride(dtype: np.dtype[Any], shape: tuple[int, ...], dim: int, factor: int, size: int) -> int:
    """How many bytes the rows of a ring lie apart: no more than it takes for them to begin at few bytes, if that is
    possible in a ring of this size. Beside what is done to long rows, making a view takes no time: these lie no further
    apart than it takes for each to begin where a line of the cache does, so that a vector lies in one line."""
    row = row_bytes(dtype, shape, dim)
    if factor == 1:
        return size  # each row is alone in the ring
    if row > _LONGEST_APART:
        return _aligned(row) if factor * _aligned(row) <= size else row
    if _starts(size, row) <= MOST_STARTS:
        return row
    apart = (size // rows for rows in range(min(size // row, MOST_STARTS), factor - 1, -1) if size % rows == 0)
    return next((stride for stride in apart if stride % _ALIGNMENT == 0), row)


def _aligned(row: int) -> int:
    """The bytes of a row and of the gap behind it."""
    return -(-row // _ALIGNMENT) * _ALIGNMENT


def _starts(size: int, stride: int) -> int:
    """At how many bytes the rows of a ring begin."""
    return size // math.gcd(stride, size)


_PAGES_APART = 2
_LEAST_PAGES = 16
"""For rows to lie apart, a ring may grow by so many pages; by one if it has less than so many itself."""

_LONGEST_APART = 1 << 15
"""Rows of more bytes than this may begin at many bytes."""

_ALIGNMENT = 64
"""Rows with gaps between them begin at multiples of this."""


def _warn_unfolded() -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            "this platform cannot map memory twice: folded buffers are stored unfolded and take more memory",
            RuntimeWarning,
            stacklevel=level(),
        )


_warned = False


def program_bytes(dtype: np.dtype[Any], box: NumericBox, folds: Sequence[int | None]) -> int:
    """What a buffer takes by the program: its box, with each folded dimension no longer than its fold."""
    extents = (
        extent if factor is None else min(extent, factor) for extent, factor in zip(shape_of(box), folds, strict=True)
    )
    return math.prod(extents) * dtype.itemsize
