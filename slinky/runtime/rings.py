"""Arrays of the caller that hold a window of something endless: coordinates that differ by a fold share memory.

A ring is mirrored memory (see `mirrored`), so whatever window of it is given to a pipeline is one plain strided array,
also where it wraps around. A run sees nothing of the ring but this window.

Invariant: two windows that share an element are never an output and something else of one run. The same byte of a ring
has two addresses, by which NumPy could not tell; so the arrays are of a class of their own, which no short way takes,
and whoever compares arguments asks `share_ring`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from slinky.errors import ArgumentError, StorageError, cited
from slinky.ir.given import as_dtype, is_listed
from slinky.runtime import mirrored
from slinky.runtime.buffers import Array, Buffer, buffer_at
from slinky.runtime.storage import Ring as StoredRing
from slinky.runtime.storage import reserve, row_bytes
from slinky.symbolic.expressions import is_integer, require_integer


class RingArray(np.ndarray[Any, Any]):
    """A window of a ring, or part of one."""


class Ring:
    """The last so many rows of something endless: an array whose coordinates wrap around along one axis.

    `Ring((480, 640), np.float32)` holds at least 480 rows, `rows` at a time, zeros at first. `ring.buffer(lo, hi)` is
    the window of rows `lo` to `hi`, an input or an output like any other `sl.Buffer`, without a copy, wherever it
    wraps. What was written to row c is there until row `c + rows` or one yet further on is written: a window of more
    than `rows` is refused, and so are an output and another argument of one run that share elements. (Give pipelines
    these buffers, or parts of them. Of two plain arrays that were made of their memory, nobody can tell that.)

    >>> import numpy as np, slinky as sl
    >>> ring = sl.Ring((2, 3), np.int16)
    >>> ring.buffer(9, 10).array[...] = [[1, 2, 3], [4, 5, 6]]
    >>> ring.buffer(10, 11)
    Buffer(int16[10..11, 0..2])
    >>> ring.buffer(10, 10).array
    RingArray([[4, 5, 6]], dtype=int16)

    A ring takes whole pages of memory, so it mostly holds more than was asked for. Raises `ArgumentError` for a shape,
    dtype or axis that is none, `StorageError` where there is no memory, or the platform cannot map it twice.
    """

    def __init__(self, shape: Sequence[int], dtype: npt.DTypeLike, *, axis: int = 0) -> None:
        try:
            if not is_listed(shape):
                raise TypeError("a shape is a list of extents, such as (480, 640)")
            extents = tuple(require_integer(n, "an extent of a ring") for n in shape)
            self._dtype = as_dtype(dtype)
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                f"a ring needs a shape and a dtype, got {cited(shape)} and {cited(dtype)}: {error}"
            ) from None
        if not extents or min(extents) < 1 or self._dtype.hasobject or dtype is None:
            raise ArgumentError(
                f"a ring needs elements, of a dtype without objects; got {cited(shape)} of {cited(dtype)}"
            )
        if not is_integer(axis) or not -len(extents) <= axis < len(extents):
            raise ArgumentError(f"a ring of {len(extents)} dimensions has no axis {cited(axis)}")
        self.axis = int(axis) % len(extents)
        size = mirrored.whole_pages(math.prod(extents) * self._dtype.itemsize)
        if not _is_available():
            raise StorageError("this platform cannot map memory twice, so there are no rings")
        memory = reserve(mirrored.mirrored, size, "a ring")
        row = row_bytes(self._dtype, extents, self.axis)
        self._place = StoredRing(memory, size, self._dtype, extents, self.axis, row)
        self._window = self._place.window()

    @property
    def rows(self) -> int:
        """How many coordinates it holds at a time, along its axis."""
        return self._place.rows

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self._dtype

    def buffer(self, lo: int, hi: int) -> Buffer:
        """The window from coordinate `lo` to `hi`, both included, along the axis; from 0 on along the others.

        Raises `ArgumentError` for a window of less than one row, or more than the ring holds.
        """
        lo, hi = require_integer(lo, "the first row"), require_integer(hi, "the last row")
        if not 1 <= hi - lo + 1 <= self.rows:
            raise ArgumentError(f"a window of this ring has 1 to {self.rows} rows, got {lo}..{hi}")
        shape = self._place.shape
        origin = tuple(lo if d == self.axis else 0 for d in range(len(shape)))
        return buffer_at(self._window(lo, hi - lo + 1).view(RingArray), origin)

    def __repr__(self) -> str:
        extents = ", ".join(f"{self.rows} rows" if d == self.axis else str(n) for d, n in enumerate(self._place.shape))
        return f"Ring({self._dtype}[{extents}])"


def _is_available() -> bool:
    try:
        return mirrored.available()
    except OSError as error:
        raise StorageError(f"there is no memory for a ring: {error}") from error


def plain(array: Array) -> Array:
    """An array as callbacks are given it, whatever its class was for."""
    return array.view(np.ndarray) if isinstance(array, RingArray) else array


def _bytes_of(array: Array) -> tuple[int, int]:
    """The address of the first byte of an array, and that behind its last."""
    steps = [stride * (extent - 1) for stride, extent in zip(array.strides, array.shape, strict=True)]
    first = array.ctypes.data + sum(step for step in steps if step < 0)
    return first, array.ctypes.data + sum(step for step in steps if step > 0) + array.itemsize


def share_ring(a: Array, b: Array) -> bool:
    """Whether two arrays may have bytes of a ring in common, at whichever of their addresses."""
    if not (isinstance(a, RingArray) or isinstance(b, RingArray)) or not a.size or not b.size:
        return False
    (a_lo, a_hi), (b_lo, b_hi) = _bytes_of(a), _bytes_of(b)
    for base, size in mirrored.rings():
        if base <= a_lo < base + 2 * size and base <= b_lo < base + 2 * size:
            return any(a_lo < b_hi + shift and b_lo + shift < a_hi for shift in (-size, 0, size))
    return False
