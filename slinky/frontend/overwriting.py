"""Handlers of NumPy's functions that write to an array that they are given: what they write is one of two, for each
element of the array.

Invariant: a handler leaves in the array what NumPy leaves there for the same arguments, or ends the trace.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from slinky.frontend.arrays import LazyArray, Value
from slinky.frontend.calling import converted, is_number, lifted, pointwise
from slinky.frontend.given import trace_of
from slinky.frontend.placing import counted
from slinky.frontend.rearranging import ELEMENTS
from slinky.frontend.sizes import same
from slinky.frontend.tables import understood


@understood(np.fill_diagonal, how=ELEMENTS)
def fill_diagonal(a: Value, val: Value, wrap: Any = False) -> None:
    """Write a number to the main diagonal of a matrix."""
    trace = trace_of((a, val))
    if not _is_own(a) or len(a._shape) != 2 or not all(n > 0 for n in a._shape) or wrap is not False:
        raise trace.abandon("fill_diagonal, which writes to its argument")
    value = _number(a, val, "fill_diagonal")
    rows, columns = (counted(n, trace) for n in a._shape)
    _put(a, rows[:, None] == columns, value, "fill_diagonal")


@understood(np.putmask, how=ELEMENTS)
def putmask(a: Value, /, mask: Value, values: Value) -> None:
    """Write a number where a mask is true, or what another array has at the same places."""
    _put_where(a, mask, values, "putmask", is_array=_is_alike(a, values))


@understood(np.place, how=ELEMENTS)
def place(arr: Value, mask: Value, vals: Value) -> None:
    """Write a number where a mask is true."""
    _put_where(arr, mask, vals, "place")


def _put_where(array: Value, mask: Value, value: Value, name: str, *, is_array: bool = False) -> None:
    trace = trace_of((array, mask, value))
    is_known = isinstance(mask, (LazyArray, np.ndarray)) and mask.dtype == np.bool_
    if not _is_own(array) or not array._shape or not is_known:
        raise trace.abandon(f"{name}, which writes to its argument")
    where = lifted(mask, trace)
    if len(where._shape) != len(array._shape) or not all(map(same, where._shape, array._shape)):
        raise trace.abandon(f"{name} with a mask of another shape")
    _put(array, where, lifted(value, trace) if is_array else _number(array, value, name), name)


def _is_own(array: Value) -> TypeGuard[LazyArray]:
    """Whether an array is one that the function made, or may write to."""
    return type(array) is LazyArray and not array._cell.is_argument


def _is_alike(array: Value, values: Value) -> bool:
    """Whether values are a lazy array of the same dtype and shape."""
    if type(array) is not LazyArray or type(values) is not LazyArray or values.dtype != array.dtype:
        return False
    return len(values._shape) == len(array._shape) and all(map(same, values._shape, array._shape))


def _number(array: LazyArray, value: Value, name: str) -> LazyArray:
    """A number in the dtype of what it is written to."""
    is_cast = type(value) is not LazyArray or np.can_cast(value.dtype, array.dtype, "same_kind")
    if not is_number(value) or not is_cast:
        raise array._trace.abandon(f"{name}, which writes to its argument")
    return converted(value, array.dtype, array._trace)


def _put(array: LazyArray, mask: LazyArray, value: LazyArray, name: str) -> None:
    array.write(pointwise(np.where, (mask, value, array), name=name, scalars=False))
