"""Indexing lazy arrays by arrays: what is taken, and what is assigned.

One array of integers chooses elements along its axis, by pieces; several ones run whole; a mask as an index asks for
its values. Where a number is assigned under a mask, each element is one of two, by pieces.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from slinky.frontend.arrays import LazyArray, Value, is_traceable
from slinky.frontend.calling import converted, lifted, pointwise
from slinky.frontend.contracting import taken
from slinky.frontend.fences import filled_in, opaque, relaxed
from slinky.frontend.given import lazy_arrays, trace_of
from slinky.frontend.nodes import numbers
from slinky.frontend.sizes import same
from slinky.frontend.tables import NotUnderstoodError
from slinky.frontend.tracing import values_of


def fancy_index(array: LazyArray, given: Any) -> Any:
    """Indexing by arrays."""
    trace = trace_of((array, given))
    entries = given if isinstance(given, tuple) else (given,)
    if any(_is_mask(entry) for entry in entries):
        trace.forced("indexing by a mask")
        arrays = lazy_arrays((array, given))
        values = values_of([a._view for a in arrays], trace)
        return relaxed(filled_in(operator.getitem, (array, given), {}, values), arrays)
    try:
        return taken(array, entries)
    except NotUnderstoodError:
        return opaque(_Index(), (array, given), {})


class _Index:
    __name__ = __qualname__ = "take"

    def __call__(self, array: Any, given: Any) -> Any:
        return array[given]


def _is_mask(entry: Any) -> bool:
    if isinstance(entry, (bool, np.bool_)):
        return True
    if isinstance(entry, list):
        return np.asarray(entry).dtype == np.bool_ if not lazy_arrays(entry) else True
    return getattr(entry, "dtype", None) == np.bool_


def fancy_assign(array: LazyArray, given: Any, value: Value) -> None:
    """Assignment to elements that arrays choose; to those of a mask a number, by pieces."""
    trace = trace_of((array, given, value))
    entry = given[0] if isinstance(given, tuple) and len(given) == 1 else given
    is_array = type(entry) is LazyArray or is_traceable(entry)
    if is_array and _is_mask(entry) and len(entry.shape) == len(array._shape):
        number = converted(value, array.dtype, trace)
        if not number._shape:
            mask = lifted(entry, trace)
            if not all(map(same, mask._shape, array._shape)):
                raise IndexError(
                    f"boolean index did not match indexed array: {numbers(mask._shape)} and {numbers(array._shape)}"
                )
            array.write(pointwise(np.where, (mask, number, array), name="where", scalars=False))
            return
    old = array.copied()
    result = opaque(_Assign(), (old, given, value), {})
    array.write(lifted(result, trace))


class _Assign:
    __name__ = __qualname__ = "assign"

    def __call__(self, array: Any, given: Any, value: Any) -> Any:
        new = np.array(array)
        new[given] = value
        return new
