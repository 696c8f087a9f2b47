"""Handlers of functions that put elements at other places of a new array (triangles, diagonals, insertions, grids),
and of those that say places by numbers.

Invariant: a handler gives what NumPy gives for the same arguments, or refuses by `NotUnderstoodError`.
"""

from __future__ import annotations

import operator
from typing import Any

import attrs
import numpy as np

from slinky.frontend.arrays import LazyArray, Value, made, placed
from slinky.frontend.calling import call_function, cast, converted, lifted, pointwise
from slinky.frontend.given import as_lazy, axis_of, lazy_arrays, trace_of
from slinky.frontend.operations import Ramp
from slinky.frontend.rearranging import COPY, ELEMENTS, broadcasted, concatenate, pad, ravel
from slinky.frontend.sizes import Length, Size
from slinky.frontend.tables import NotUnderstoodError, understood
from slinky.frontend.tracing import Trace
from slinky.frontend.views import common_shape, sliced


def counted(n: Length, trace: Trace) -> LazyArray:
    """The numbers from zero on, so many."""
    return placed(made(Ramp(0, 1), [], [((n,), np.dtype(np.intp), False)], trace)[0], trace)


def _whole_number(given: Any) -> int:
    """A number that is an integer, whatever it is of.

    Raises `NotUnderstoodError` for others, with which NumPy does something, too.
    """
    if isinstance(given, (bool, np.bool_)) or type(given) is LazyArray or not hasattr(given, "__index__"):
        raise NotUnderstoodError("no integer")
    return operator.index(given)


# ----------------------------------------------------------------------------------------------------------------
# Triangles and diagonals
# ----------------------------------------------------------------------------------------------------------------


@understood(np.tril, how=ELEMENTS)
def tril(m: Value, k: Any = 0) -> LazyArray:
    """The elements below a diagonal and on it, zeros elsewhere."""
    array = as_lazy(m)
    return _chosen(_is_below(array, _whole_number(k)), array, array.dtype.type(0))


@understood(np.triu, how=ELEMENTS)
def triu(m: Value, k: Any = 0) -> LazyArray:
    """The elements above a diagonal and on it."""
    array = as_lazy(m)
    return _chosen(_is_below(array, _whole_number(k) - 1), array.dtype.type(0), array)


def _is_below(array: LazyArray, k: int) -> LazyArray:
    """Which places of the last two axes are below a diagonal, or on it; vectors are repeated as rows."""
    if not array._shape:
        raise NotUnderstoodError("no axes")  # NumPy says so
    rows, columns = (counted(array._shape[d], array._trace) for d in (max(len(array._shape) - 2, 0), -1))
    return rows[:, None] + k >= columns  # type: ignore[no-any-return]


def _chosen(mask: LazyArray, one: Any, other: Any) -> LazyArray:
    return pointwise(np.where, (mask, one, other), name="where", scalars=False)  # type: ignore[no-any-return]


@understood(np.diag, how=f"{ELEMENTS}; of matrices, as `diagonal`")
def diag(v: Value, k: Any = 0) -> Any:
    """A matrix with these elements on a diagonal, or the diagonal of a matrix."""
    array = as_lazy(v)
    if len(array._shape) == 2:
        return call_function(np.diagonal, (array, k), {})
    if len(array._shape) != 1:
        raise NotUnderstoodError("axes")  # NumPy says so
    return _with_diagonal(array, _whole_number(k))


@understood(np.diagflat, how=ELEMENTS)
def diagflat(v: Value, k: Any = 0) -> LazyArray:
    """A matrix with all elements of an array on a diagonal."""
    return _with_diagonal(ravel(as_lazy(v)), _whole_number(k))


def _with_diagonal(array: LazyArray, k: int) -> LazyArray:
    above, below = max(k, 0), max(-k, 0)
    in_columns = pad(array, ((above, below),)) if k else array
    places = counted(array._shape[0] + abs(k), array._trace)
    return _chosen(places[:, None] + k == places, in_columns, array.dtype.type(0))


# ----------------------------------------------------------------------------------------------------------------
# With more elements, or fewer
# ----------------------------------------------------------------------------------------------------------------


def _along_one(arr: Value, axis: Any) -> tuple[LazyArray, int]:
    """An array with the axis along which it is changed: without one, that of all of its elements."""
    array = as_lazy(arr)
    if axis is None and len(array._shape) != 1:
        return ravel(array), 0
    return array, axis_of(0 if axis is None else axis, len(array._shape))


def _between(array: LazyArray, axis: int, low: Any, high: Any) -> LazyArray:
    return array[(*(slice(None),) * axis, slice(low, high))]  # type: ignore[no-any-return]


@understood(np.insert, how=COPY)
def insert(arr: Value, obj: Any, values: Value, axis: Any = None) -> LazyArray:
    """Elements in front of the one at a place."""
    at = _whole_number(obj)
    array, d = _along_one(arr, axis)
    rank, extent = len(array._shape), array._shape[d]
    if not -extent <= at <= extent:
        raise NotUnderstoodError("places")  # NumPy says so
    new = lifted(values, array._trace)
    if new.dtype.kind == "c" != array.dtype.kind:
        raise NotUnderstoodError("complex numbers")  # NumPy refuses numbers, and warns of arrays
    new = converted(values, array.dtype, array._trace)
    new = np.moveaxis(new[(*(None,) * (rank - len(new._shape)), ...)], 0, d)
    shape = tuple(new._shape[d] if k == d else n for k, n in enumerate(array._shape))
    return concatenate([_between(array, d, None, at), broadcasted(new, shape), _between(array, d, at, None)], d)


@understood(np.delete, how="a copy, of known places; of others, it asks for values")
def delete(arr: Value, obj: Any, axis: Any = None) -> LazyArray:
    """All but the elements at some places, or those of a slice."""
    array, d = _along_one(arr, axis)
    extent = array._shape[d]
    if isinstance(obj, slice):
        first, step, count = sliced(obj, extent)
        if step != 1:
            raise NotUnderstoodError("steps")
        left_out = [(first, count)]
    else:
        left_out = [(each if each >= 0 else extent + each, 1) for each in _places(obj, extent)]
    parts, start = [], 0
    for first, count in left_out:
        parts.append(_between(array, d, start, first))
        start = first + count
    return concatenate([*parts, _between(array, d, start, None)], d)


def _places(given: Any, extent: Length) -> list[int]:
    """Places along an axis, in their order, each once: all counted from the front, or all from the end."""
    if isinstance(given, (list, tuple, np.ndarray)) and not lazy_arrays(given) and np.ndim(given) == 1:
        found = sorted({_whole_number(each) for each in given})
    else:
        found = [_whole_number(given)]
    if not found or len(found) > MOST_PLACES or found[0] < 0 <= found[-1]:
        raise NotUnderstoodError("places")
    if not (extent >= -found[0] if found[0] < 0 else found[-1] < extent):
        raise NotUnderstoodError("places")  # NumPy says so
    return found


MOST_PLACES = 63
"""Copies of more parts than that, and one more, are made at once."""


@understood(np.ediff1d, how=ELEMENTS)
def ediff1d(ary: Value, to_end: Value = None, to_begin: Value = None) -> LazyArray:
    """Differences of neighbours, of all elements one after the other, with others around them."""
    array = ravel(as_lazy(ary))
    found = np.subtract(array[1:], array[:-1])
    first, last = (_end(each, array) for each in (to_begin, to_end))
    parts = [each for each in (first, found, last) if each is not None]
    return concatenate(parts, 0) if len(parts) > 1 else found


def _end(given: Value, array: LazyArray) -> LazyArray | None:
    """What stands before or behind differences, if anything does."""
    if given is None:
        return None
    found = ravel(lifted(given, array._trace))
    if not np.can_cast(found.dtype, array.dtype, "same_kind"):
        raise NotUnderstoodError("dtypes")  # NumPy says so
    return cast(found, array.dtype)


# ----------------------------------------------------------------------------------------------------------------
# Places as numbers
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Unraveled:
    """The places of elements along each axis, of numbers that count them in an order."""

    order: str
    __name__ = "unravel_index"

    def __call__(self, numbers: Any, *shape: int) -> Any:
        return np.unravel_index(numbers, shape, self.order)  # type: ignore[call-overload]


@attrs.frozen
class _Raveled:
    """The numbers of elements in an order, of their places along so many axes."""

    count: int
    mode: Any
    order: str
    __name__ = "ravel_multi_index"

    def __call__(self, *given: Any) -> Any:
        return np.ravel_multi_index(given[: self.count], given[self.count :], self.mode, self.order)  # type: ignore[call-overload]


@understood(np.unravel_index, how=ELEMENTS)
def unravel_index(indices: Value, shape: Any, order: str = "C") -> tuple[LazyArray, ...]:
    """Places along each axis of a shape, whose extents are told at each call."""
    if not isinstance(shape, tuple) or len(shape) < 2 or not all(type(n) in (int, Size) for n in shape):
        raise NotUnderstoodError("shapes of one axis, or of numbers that are no integers")
    return pointwise(_Unraveled(_order(order)), (as_lazy(indices), *shape), name="unravel_index")  # type: ignore[no-any-return]


@understood(np.ravel_multi_index, how=ELEMENTS)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> LazyArray:
    """The numbers of elements of a shape, of their places along each axis."""
    own = multi_index if isinstance(multi_index, tuple) else ()
    modes = mode if isinstance(mode, tuple) else (mode,)
    if not isinstance(dims, tuple) or not own or len(own) != len(dims) or not all(type(m) is str for m in modes):
        raise NotUnderstoodError("places that are no tuple")  # NumPy goes through an array, or says what is wrong
    trace = trace_of(own)
    places = [lifted(each, trace) for each in own]
    if not all(type(n) in (int, Size) for n in dims):
        raise NotUnderstoodError("numbers that are no integers")
    function = _Raveled(len(own), mode, _order(order))
    return pointwise(function, (*places, *dims), name="ravel_multi_index")  # type: ignore[no-any-return]


def _order(given: Any) -> str:
    if given not in ("C", "F"):
        raise NotUnderstoodError("orders")  # NumPy says so
    return str(given)


# ----------------------------------------------------------------------------------------------------------------
# Grids
# ----------------------------------------------------------------------------------------------------------------


@understood(np.meshgrid, how=COPY)
def meshgrid(*xi: Value, copy: Any = True, sparse: Any = False, indexing: str = "xy") -> tuple[LazyArray, ...]:
    """Vectors along an axis each, repeated along those of the others."""
    if copy is not True or indexing not in ("xy", "ij"):
        raise NotUnderstoodError("views")
    trace, count = trace_of(xi), len(xi)
    order = [1, 0, *range(2, count)] if indexing == "xy" and count > 1 else range(count)
    found = []
    for axis, each in zip(order, xi, strict=True):
        line = ravel(lifted(each, trace))
        found.append(line[tuple(slice(None) if d == axis else None for d in range(count))])
    shape = common_shape([each._shape for each in found])
    return tuple((each if sparse else broadcasted(each, shape)).copied() for each in found)
