"""Indexing lazy arrays by arrays: what is taken, and what is assigned.

Arrays of integers choose elements along their axes, by pieces, where these lie beside each other. A mask as an index
asks for its values; one that is known, or comes of small arguments alone, is the integers of the places that it has.
Where a number is assigned under a mask, or the same row to all that it chooses, or as many as a known mask chooses,
each element is one of two, by pieces.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from slinky.frontend.arrays import LazyArray, Value, is_traceable
from slinky.frontend.calling import converted, lifted, pointwise
from slinky.frontend.contracting import taken
from slinky.frontend.fences import opaque
from slinky.frontend.given import lazy_arrays, trace_of
from slinky.frontend.nodes import Shape
from slinky.frontend.reals import Real, known_reals
from slinky.frontend.selected import select, taken_by_masks
from slinky.frontend.sizes import known, same
from slinky.frontend.tables import NotUnderstoodError
from slinky.frontend.tracing import Trace, values_of


def fancy_index(array: LazyArray, given: Any) -> Any:
    """Indexing by arrays."""
    trace_of((array, given))
    entries = given if isinstance(given, tuple) else (given,)
    if type(given) is LazyArray and given.dtype == np.bool_:
        return select(array, given, sys._getframe(2))  # that of who asks `array` for its items
    if any(_is_mask(entry) for entry in entries):
        known = _with_integers(array, entries)
        if known is None:
            return taken_by_masks(array, given)
        given = entries = known
    try:
        return taken(array, entries)
    except NotUnderstoodError:
        return opaque(_Index(), (array, given), {})


def _with_integers(array: LazyArray, entries: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Indices with the places that masks select instead of the masks, as NumPy takes them: of masks that are known, or
    that come of small arguments alone. None of others, of those that select nothing, and where one does not fit."""
    masks = [entry for entry in entries if _is_mask(entry)]
    known = _known_masks(masks, array._trace) if _fit(array, entries) else None
    if known is None:
        return None
    values = iter(known)
    found: list[Any] = []
    for entry in entries:
        found.extend(next(values).nonzero() if _is_mask(entry) else (entry,))
    return None if any(isinstance(each, np.ndarray) and not each.size for each in found) else tuple(found)


def _known_masks(masks: Sequence[Any], trace: Trace) -> list[Any] | None:
    """What masks hold that are known, or that come of small arguments alone; None where there are others."""
    lazy = [mask._view for mask in masks if type(mask) is LazyArray]
    if not all(map(trace.small_behind, lazy)):
        return None
    if lazy:
        trace.forced("indexing by a mask", *lazy)
    values = iter(values_of(lazy, trace) if lazy else ())
    return [next(values) if type(mask) is LazyArray else np.asarray(mask) for mask in masks]


def _fit(array: LazyArray, entries: tuple[Any, ...]) -> bool:
    """Whether the masks among indices are as long as the axes that they stand for."""
    rank, axis = len(array._shape), 0
    shapes = [_shape_of(entry) if _is_mask(entry) else None for entry in entries]
    counts = [
        len(shape) if shape is not None else int(entry is not None and entry is not Ellipsis)
        for entry, shape in zip(entries, shapes, strict=True)
    ]
    if sum(counts) > rank or sum(entry is Ellipsis for entry in entries) > 1:
        return False
    for entry, shape, count in zip(entries, shapes, counts, strict=True):
        if shape is not None and (not shape or not all(map(same, shape, array._shape[axis : axis + count]))):
            return False
        axis += rank - sum(counts) if entry is Ellipsis else count
    return True


def _shape_of(mask: Any) -> Shape:
    """The shape of a mask; that of a number, which fits nothing, for a list that holds lazy arrays."""
    if lazy_arrays(mask) and type(mask) is not LazyArray:
        return ()
    return mask._shape if type(mask) is LazyArray else np.shape(mask)


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
        each = converted(_as_an_array(value, array.dtype), array.dtype, trace)
        if _fits(each, array._shape[inner:]):
            mask = lifted(entry, trace)
            for axis, (own, wanted) in enumerate(zip(mask._shape, array._shape[first:inner], strict=True), first):
                if not same(own, wanted):
                    raise IndexError(
                        f"boolean index did not match indexed array along axis {axis}; size of axis is {known(wanted)} "
                        f"but size of corresponding boolean axis is {known(own)}"
                    )
            wide = mask[(..., *(None,) * (len(array._shape) - inner))]
            array.write(pointwise(np.where, (wide, each, array), name="where", scalars=False))
            return
        spread = _spread(each, entry, array._shape[first:inner], len(array._shape) - inner, trace)
        if spread is not None and _fits(spread, array._shape):
            wide = lifted(entry, trace)[(..., *(None,) * (len(array._shape) - inner))]
            array.write(pointwise(np.where, (wide, spread, array), name="where", scalars=False))
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


def _as_an_array(value: Value, dtype: np.dtype[Any]) -> Value:
    """What is assigned to elements that are chosen, where it is a scalar of NumPy's: that is cast as arrays are, while
    a number of Python's is refused that is not among the values of a dtype. A float may be told at each call."""
    if type(value) is Real and dtype.kind not in "fc":
        value = known_reals(value)
    return np.asarray(value) if issubclass(type(value), np.generic) else value  # lazy scalars say that they are some


def _spread(value: LazyArray, mask: Any, shape: Shape, after: int, trace: Trace) -> LazyArray | None:
    """Elements, one for each that a known mask selects, where they are to be, before some more axes; others are any.
    None where the mask is not known, or there are not as many elements."""
    axis = len(value._shape) - 1 - after
    if axis < 0 or not all(map(same, _shape_of(mask) or (), shape)):
        return None
    known = _known_masks([mask], trace)
    if known is None or not known[0].any() or not same(value._shape[axis], int(np.count_nonzero(known[0]))):
        return None
    (selected,) = known
    numbers_of = np.maximum(np.cumsum(selected).reshape(selected.shape) - 1, 0)
    return taken(value, (*(slice(None),) * axis, numbers_of))


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
