"""Arrays with coordinates: what a user hands in, and what a callback that asks for buffers is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from slinky.errors import ArgumentError, StorageError, cited
from slinky.ir.given import as_dtype, is_listed
from slinky.symbolic.expressions import is_integer, require_integer
from slinky.unloaded import is_masked, is_table

Array = np.ndarray[Any, Any]


class Buffer:
    """A NumPy array and the coordinates of its first element.

    `Buffer(array, min=(-1, -1))` is `array` with its first element at (-1, -1); without `min` it is at the origin.
    The array is not copied. `min` and `max` are inclusive, one integer per dimension. Of another `Buffer` the new one
    has the array, and its `min` where none is given.

    `crop`, `slice` and `transpose` give buffers over part of the same memory, in the same coordinates; those of a
    read-only array are read-only. `Buffer.like` makes one with memory of its own.

    >>> import numpy as np, slinky as sl
    >>> image = sl.Buffer(np.zeros((4, 6)), min=(10, 0))
    >>> image.crop(0, 11, 12)
    Buffer(float64[11..12, 0..5])
    >>> image.slice(0, 13).transpose()
    Buffer(float64[0..5])

    Raises `ArgumentError` if NumPy cannot see the array without copying, or `min` does not fit its rank.
    """

    __slots__ = ("array", "min")

    def __init__(self, array: object, min: Sequence[int] | None = None) -> None:
        self.array: Array = view_as_array(array)
        if min is None:
            min = array.min if isinstance(array, Buffer) else (0,) * self.array.ndim
        self.min: tuple[int, ...] = _origin(min, self.array.ndim)

    @property
    def max(self) -> tuple[int, ...]:
        """The coordinates of the last element; one less than `min` where a dimension is empty."""
        return tuple(lo + extent - 1 for lo, extent in zip(self.min, self.array.shape, strict=True))

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each dimension."""
        return tuple(self.array.shape)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return self.array.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return cast("np.dtype[Any]", self.array.dtype)

    @classmethod
    def like(cls, other: object, dtype: npt.DTypeLike | None = None, *, fill: object = None) -> Buffer:
        """A new buffer with the bounds of another one, or of an array, and its dtype where none is given.

        Its elements lie in the order of the other's, but without gaps, as those of `np.empty_like`; they are not
        initialised unless `fill` says what they are. It is writable.

        >>> import numpy as np, slinky as sl
        >>> sl.Buffer.like(sl.Buffer(np.ones((2, 3)), min=(5, -1)), np.uint8, fill=7)
        Buffer(uint8[5..6, -1..1])

        Raises `ArgumentError` for what is no array, no dtype, or no value of it, `StorageError` if there is no memory.
        """
        source = Buffer(other)
        try:
            array = np.empty_like(source.array, None if dtype is None else as_dtype(dtype), subok=False)
            if fill is not None:
                array[...] = fill
        except MemoryError as error:
            raise StorageError(f"there is no memory for a buffer like {source}: {error}") from error
        except (TypeError, ValueError, OverflowError) as error:
            raise ArgumentError(
                f"there is no buffer like {source} of dtype {cited(dtype)} filled with {cited(fill)}: {error}"
            ) from (error)
        return buffer_at(array, source.min)

    def crop(self, axis: int, lo: int | None = None, hi: int | None = None) -> Buffer:
        """The part from coordinate `lo` to `hi`, both included, of a dimension; None is as far as the buffer goes.

        What is left keeps its coordinates. `hi` may be `lo - 1`: nothing is left then.

        >>> import numpy as np, slinky as sl
        >>> sl.Buffer(np.arange(5), min=(2,)).crop(0, 4, 5).array
        array([2, 3])

        Raises `ArgumentError` for a part that leaves the buffer.
        """
        d = self._dimension(axis)
        first, last = self.min[d], self.max[d]
        lo = first if lo is None else require_integer(lo, f"the first coordinate of dimension {axis}")
        hi = last if hi is None else require_integer(hi, f"the last coordinate of dimension {axis}")
        if not (first <= lo <= hi + 1 <= last + 1):
            raise ArgumentError(f"{lo}..{hi} is no part of dimension {axis} of {self}, which has {first}..{last}")
        index: tuple[Any, ...] = (*(slice(None),) * d, slice(lo - first, hi - first + 1), ...)
        return buffer_at(self.array[index], (*self.min[:d], lo, *self.min[d + 1 :]))

    def slice(self, axis: int, at: int) -> Buffer:
        """The elements at one coordinate of a dimension, without that dimension.

        >>> import numpy as np, slinky as sl
        >>> sl.Buffer(np.zeros((3, 4, 5)), min=(0, 7, 0)).slice(1, 8)
        Buffer(float64[0..2, 0..4])

        Raises `ArgumentError` for a coordinate outside of the buffer.
        """
        d = self._dimension(axis)
        at = require_integer(at, f"a coordinate of dimension {axis}")
        if not self.min[d] <= at <= self.max[d]:
            raise ArgumentError(
                f"there is no {cited(at)} in dimension {axis} of {self}, which has {self.min[d]}..{self.max[d]}"
            )
        index: tuple[Any, ...] = (*(slice(None),) * d, at - self.min[d], ...)
        return buffer_at(self.array[index], (*self.min[:d], *self.min[d + 1 :]))

    def transpose(self, *axes: int) -> Buffer:
        """The same elements with dimension `axes[0]` first, and so on; without axes, the other way round.

        >>> import numpy as np, slinky as sl
        >>> sl.Buffer(np.zeros((3, 4, 5)), min=(0, 7, 0)).transpose(1, 0, 2)
        Buffer(float64[7..10, 0..2, 0..4])

        Raises `ArgumentError` unless each dimension is named once.
        """
        order = [self._dimension(axis) for axis in axes] if axes else list(reversed(range(self.rank)))
        if sorted(order) != list(range(self.rank)):
            raise ArgumentError(f"transpose() of {self} names each of its {self.rank} dimensions once, got {axes}")
        return buffer_at(self.array.transpose(order), tuple(self.min[d] for d in order))

    def _dimension(self, axis: object) -> int:
        """A dimension, counted from 0."""
        if not is_integer(axis) or not -self.rank <= cast(int, axis) < self.rank:
            raise ArgumentError(f"{self} has {self.rank} dimensions, counted from 0; there is no {cited(axis)}")
        return int(cast(int, axis)) % self.rank

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> Array:
        """The array, where NumPy takes a buffer for one: its coordinates are lost."""
        if copy or (dtype is not None and dtype != self.dtype):
            if copy is False:
                raise ValueError(f"a buffer of {self.dtype} is no array of {dtype} without a copy")
            return np.array(self.array, dtype)
        return self.array

    def __repr__(self) -> str:
        box = ", ".join(f"{lo}..{hi}" for lo, hi in zip(self.min, self.max, strict=True))
        return f"Buffer({self.dtype}[{box}])"


def _origin(given: object, rank: int) -> tuple[int, ...]:
    """The coordinates of a first element, as a user gives them."""
    if not is_listed(given) or len(origin := tuple(given)) != rank:
        raise ArgumentError(f"an array of rank {rank} needs {rank} coordinates, got min={cited(given)}")
    return tuple(require_integer(lo, f"min of dimension {d}") for d, lo in enumerate(origin))


def buffer_at(array: Array, min: tuple[int, ...]) -> Buffer:
    """A buffer on an array whose first element is at `min`, both known to be right."""
    buffer = Buffer.__new__(Buffer)
    buffer.array = array
    buffer.min = min
    return buffer


def seen(array: Array, factors: Sequence[Sequence[int]], extents: Sequence[int]) -> Array:
    """An array as it is seen along other axes, of these extents: the coordinate in each of its dimensions grows by a
    factor along each axis. The array is all that is seen of it, no more.

    Raises `StorageError` for extents that no array has, though it takes no memory.
    """
    starts: list[Any] = [
        slice(sum((1 - n) * factor for factor, n in zip(own, extents, strict=True) if factor < 0), None)
        for own in factors
    ]
    strides = [
        sum(own[axis] * stride for own, stride in zip(factors, array.strides, strict=True))
        for axis in range(len(extents))
    ]
    try:
        return as_strided(array[(*starts, ...)], extents, strides)
    except (ValueError, OverflowError) as error:
        shape = tuple(extents)
        raise StorageError(
            f"there is no array of {array.dtype} with the shape {shape}, as it is read: {error}"
        ) from error


def read_only(array: Array) -> Array:
    """A view of an array through which nobody can write, and of which no view can be written through either."""
    view = array.view()
    view.setflags(False)  # type: ignore[call-arg]  # by name, this takes half as long again, in every run
    return view


def sealed(view: Array) -> Array:
    """A new view, read-only from now on: sooner than another view of it that is."""
    view.setflags(False)  # type: ignore[call-arg]
    return view


def view_as_array(given: object) -> Array:
    """An ndarray on the memory of `given`: an array, or anything with DLPack, `__array_interface__` or a buffer, or an
    array with labels (xarray), or a table (pandas), that has its elements in an ndarray.

    Raises `ArgumentError` for what would have to be copied, such as a list, or memory on another device.
    """
    if isinstance(given, Buffer):
        return given.array
    try:
        # Of an array with labels, as those of xarray are, the array inside.
        found = given.data if hasattr(given, "dims") and hasattr(given, "data") else given
    except (TypeError, ValueError, RuntimeError):
        found = given
    if is_masked(found):
        raise ArgumentError("expected an array without a mask, which would be lost; use .filled(...) or .data")
    if isinstance(found, np.ndarray):
        return np.asarray(found) if isinstance(found, np.matrix) else found  # a matrix has no rows of one dimension
    try:
        if hasattr(given, "__array_interface__") and not isinstance(given, np.generic):
            return np.asarray(given)
        if hasattr(given, "__dlpack__"):
            return cast(Array, np.from_dlpack(cast(Any, given)))
        if is_table(given):
            return _array_of_table(given)
        return np.asarray(memoryview(cast(Any, given)))
    except (TypeError, BufferError, ValueError, RuntimeError) as error:
        raise ArgumentError(
            f"expected an array that NumPy can see without copying, got {_described(given, error)}"
        ) from error


def _array_of_table(given: object) -> Array:
    """The array that a table of pandas' holds. Raises `BufferError` if it holds several, or none.

    Whether NumPy is given a copy, not all releases of pandas say. Two that live at the same time lie apart.
    """
    array, again = np.asarray(given), np.asarray(given)
    if array.size and array.ctypes.data != again.ctypes.data:
        raise BufferError("its elements do not lie in one array")
    return array


def _described(given: object, error: Exception) -> str:
    """What was given instead of an array, and what would help."""
    kind = type(given).__name__
    if isinstance(given, (bool, int, float, complex, np.generic)):
        return f"{kind}: wrap it, as in np.array({cited(given) if isinstance(given, int) else given})"
    if isinstance(given, (list, tuple)):
        return f"{kind}: make it an array first, as in np.array(...)"
    if hasattr(given, "__cuda_array_interface__"):
        return f"{kind}: it is on another device; copy it to the host first, as in {kind}.get() or cupy.asnumpy(...)"
    if hasattr(given, "__array__"):
        return (
            f"{kind}, whose elements would have to be computed, read or copied: "
            f"give np.asarray(...) of it as an input, and a NumPy array as an output"
        )
    if given is None:
        return f"{kind}: give an array for each parameter; outputs that are left out are allocated"
    if isinstance(error, TypeError) and not (hasattr(given, "__array_interface__") or hasattr(given, "__dlpack__")):
        return f"{kind}: it has no elements in memory that it shows, as arrays have"
    return f"{kind}: {error}"
