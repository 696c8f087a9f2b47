"""Diagonals of matrices, and their sums.

Invariant: a handler gives what NumPy gives for the same arguments, or refuses by `NotUnderstoodError`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slinky.frontend.arrays import LazyArray, Value
from slinky.frontend.calling import call_function
from slinky.frontend.functions import WHOLE_AXES
from slinky.frontend.given import as_lazy, axis_of
from slinky.frontend.rearranging import VIEW
from slinky.frontend.tables import ALONG, TOLERANCE, NotUnderstoodError, understood


@understood(np.diagonal, how=VIEW)
def diagonal(a: Value, offset: int = 0, axis1: int = 0, axis2: int = 1) -> LazyArray:
    """What lies on a diagonal, along the last axis: in NumPy a view that cannot be written to."""
    rows, columns = _axes(as_lazy(a), axis1, axis2)
    others = [d for d in range(as_lazy(a).ndim) if d not in (rows, columns)]
    return _diagonal(as_lazy(a).transpose(*others, rows, columns), offset).read_only()


@understood(np.trace, how="reduced " + WHOLE_AXES, exactness=ALONG)
def trace(a: Value, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum of a diagonal, in the order in which NumPy goes through an array in C order."""
    array = as_lazy(a)
    rows, columns = _axes(array, axis1, axis2)
    if rows > columns:
        rows, columns, offset = columns, rows, -offset
    last = array.ndim - 2
    if columns != rows + 1 or rows not in (0, last):
        raise NotUnderstoodError("axes between others")
    found = _diagonal(array.transpose(*range(2, array.ndim), 0, 1) if rows != last else array, offset)
    if rows != last:
        found = found.transpose(found.ndim - 1, *range(found.ndim - 1))
    return call_function(np.sum, (found, found.ndim - 1 if rows == last else 0), {"dtype": dtype})


@understood(np.linalg.diagonal, how=VIEW)
def of_matrices(x: Value, /, *, offset: int = 0) -> LazyArray:
    """What lies on the diagonals of matrices."""
    return diagonal(x, offset, -2, -1)


@understood(np.linalg.trace, how="reduced " + WHOLE_AXES, exactness=ALONG)
def trace_of_matrices(x: Value, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of matrices."""
    return trace(x, offset, -2, -1, dtype)


@understood(np.corrcoef, how="by rows and columns", exactness=TOLERANCE)
def corrcoef(x: Value, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """Covariances, each divided by both deviations. (NumPy divides in place, while it looks at the diagonal.)"""
    found = call_function(np.cov, (x, y, rowvar), {"dtype": dtype})
    if type(found) is not LazyArray or found.ndim != 2 or found.dtype.kind != "f":
        raise NotUnderstoodError("one variable, or complex ones")
    deviations = np.sqrt(_diagonal(found, 0))
    return np.clip(found / deviations[:, None] / deviations, -1, 1)


def _axes(array: LazyArray, axis1: int, axis2: int) -> tuple[int, int]:
    """The axes of the matrices of which something is asked."""
    rank = array.ndim
    if rank < 2 or any(type(d) is not int for d in (axis1, axis2)):
        raise NotUnderstoodError("no matrices")  # NumPy says so
    first, second = axis_of(axis1, rank), axis_of(axis2, rank)
    if first == second:
        raise NotUnderstoodError("one axis")
    return first, second


def _diagonal(array: LazyArray, offset: int) -> LazyArray:
    """What lies on a diagonal of the last two axes: those columns to the right of the main one."""
    if type(offset) is not int:
        raise NotUnderstoodError("an offset that is no integer")
    square = array[..., max(-offset, 0) :, max(offset, 0) :]
    count = min(square._shape[-2:])
    if not count > 0:
        raise NotUnderstoodError("no elements")
    letters = "abcdefghijklmnopqrstuvwxyz"[: array.ndim - 1]
    subscripts = f"{letters}{letters[-1]}->{letters}"
    found: LazyArray = call_function(np.einsum, (subscripts, square[..., :count, :count]), {})
    return found
