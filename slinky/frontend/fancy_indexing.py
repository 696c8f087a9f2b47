"""Indexing lazy arrays by arrays: what is taken, and what is assigned.

Arrays of integers choose elements along their axes, by pieces, where these lie beside each other; a mask as an index
asks for its values. Where a number is assigned under a mask, or the same row to all that it chooses, each element is
one of two, by pieces.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from slinky.frontend.arrays import LazyArray, Value, is_traceable
from slinky.frontend.calling import converted, lifted, pointwise
from slinky.frontend.contracting import taken
from slinky.frontend.fences import opaque
from slinky.frontend.given import lazy_arrays, trace_of
from slinky.frontend.nodes import Shape, numbers
from slinky.frontend.selected import select, taken_by_masks
from slinky.frontend.sizes import same
from slinky.frontend.tables import NotUnderstoodError


def fancy_index(array: LazyArray, given: Any) -> Any:
    """Indexing by arrays."""
    trace_of((array, given))
    entries = given if isinstance(given, tuple) else (given,)
    if type(given) is LazyArray and given.dtype == np.bool_:
        return select(array, given, sys._getframe(2))  # that of who asks `array` for its items
    if any(_is_mask(entry) for entry in entries):
        return taken_by_masks(array, given)
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
    """Assignment to elements that arrays choose; to those of a mask what is the same for each, by pieces."""
    trace = trace_of((array, given, value))
    chosen = _chosen_by_mask(array, given if isinstance(given, tuple) else (given,))
    if chosen is not None:
        entry, first, inner = chosen
        each = converted(value, array.dtype, trace)
        if _fits(each, array._shape[inner:]):
            mask = lifted(entry, trace)
            if not all(map(same, mask._shape, array._shape[first:inner])):
                raise IndexError(
                    f"boolean index did not match indexed array: {numbers(mask._shape)} and {numbers(array._shape)}"
                )
            wide = mask[(..., *(None,) * (len(array._shape) - inner))]
            array.write(pointwise(np.where, (wide, each, array), name="where", scalars=False))
            return
    old = array.copied()
    result = opaque(_Assign(), (old, given, value), {})
    array.write(lifted(result, trace))


def _chosen_by_mask(array: LazyArray, entries: tuple[Any, ...]) -> tuple[Any, int, int] | None:
    """The one mask of an index that has all of the other axes, and the axes that it has, from one to before another."""
    places = [k for k, entry in enumerate(entries) if type(entry) is LazyArray or is_traceable(entry)]
    others = [entry for k, entry in enumerate(entries) if k not in places]
    are_all = all(entry is Ellipsis or (isinstance(entry, slice) and entry == slice(None)) for entry in others)
    if len(places) != 1 or not are_all or not _is_mask(entries[places[0]]) or sum(e is Ellipsis for e in others) > 1:
        return None
    mask, rank = entries[places[0]], len(array._shape)
    missing = rank - len(mask.shape) - sum(entry is not Ellipsis for entry in others)
    before = entries[: places[0]]
    first = sum(missing if entry is Ellipsis else 1 for entry in before)
    return (mask, first, first + len(mask.shape)) if mask.shape and missing >= 0 else None


def _fits(value: LazyArray, shape: Shape) -> bool:
    """Whether a value is broadcast to a shape without making it larger."""
    count = len(value._shape)
    return count <= len(shape) and all(
        same(n, 1) or same(n, m) for n, m in zip(value._shape, shape[-count:], strict=False)
    )


class _Assign:
    __name__ = __qualname__ = "assign"

    def __call__(self, array: Any, given: Any, value: Any) -> Any:
        new = np.array(array)
        new[given] = value
        return new
