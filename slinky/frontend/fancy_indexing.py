"""Indexing lazy arrays by arrays: what is taken, and what is assigned.

Arrays of integers choose elements along their axes, by pieces, where these lie beside each other. A mask as an index
asks for its values; one that is known, or comes of small arguments alone, is the integers of the places that it has.
Where a number is assigned under a mask, or the same row to all that it chooses, or as many as a known mask chooses,
each element is one of two, by pieces.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from slinky.frontend.arrays import LazyArray, Value, is_traceable
from slinky.frontend.calling import converted, lifted, pointwise
from slinky.frontend.contracting import contracted, taken
from slinky.frontend.fences import Own, filled_in, opaque
from slinky.frontend.gathering import Rows
from slinky.frontend.given import lazy_arrays, trace_of
from slinky.frontend.nodes import Array, Shape, Source
from slinky.frontend.reals import Real, known_reals
from slinky.frontend.selected import select, taken_by_masks
from slinky.frontend.sizes import known, same
from slinky.frontend.tables import NotUnderstoodError
from slinky.frontend.tracing import Trace, values_of, values_to_read


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
    known = _known_arrays(masks, array._trace) if _fit(array, entries) else None
    if known is None:
        return None
    values = iter(known)
    found: list[Any] = []
    for entry in entries:
        found.extend(_selected(next(values)) if _is_mask(entry) else (entry,))
    return None if any(isinstance(each, np.ndarray) and not each.size for each in found) else tuple(found)


def _selected(mask: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
    """The places that a mask selects, in the same arrays each time: what they choose is chosen once."""
    return _places(mask.tobytes(), mask.shape) if mask.size <= _MOST_REMEMBERED else mask.nonzero()


_MOST_REMEMBERED = 1 << 14
"""The places of larger masks are found anew each time."""


@functools.lru_cache(maxsize=128)
def _places(mask: bytes, shape: tuple[int, ...]) -> tuple[np.ndarray[Any, Any], ...]:
    found = tuple([places.copy() for places in np.frombuffer(mask, np.bool_).reshape(shape).nonzero()])
    for places in found:
        places.flags.writeable = False
    return found


def _known_arrays(given: Sequence[Any], trace: Trace) -> list[Any] | None:
    """What masks, or integers, hold that are known, or that come of small arguments alone; None where there are
    others."""
    lazy = [array._view for array in given if type(array) is LazyArray]
    if not all(map(trace.small_behind, lazy)):
        return None
    if lazy:
        trace.forced("indexing by a mask", *lazy)
    values = iter(values_of(lazy, trace) if lazy else ())
    return [next(values) if type(array) is LazyArray else np.asarray(array) for array in given]


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


class _Index(Own):
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
    chosen = _chosen(array, given if isinstance(given, tuple) else (given,))
    if chosen is not None:
        if (rows := _rows_assigned(array, *chosen, value, trace)) is not None:
            if rows is not array:
                array.write(rows)
            return
    if chosen is not None and _is_mask(chosen[0]):
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
    if _is_written_now(array, given, value, trace):
        return
    old = array.copied()
    result = opaque(_Assign(), (old, given, value), {})
    array.write(lifted(result, trace))


def _is_written_now(array: LazyArray, given: Any, value: Value, trace: Trace) -> bool:
    """Assign to elements of what has been computed, where the trace is good for one call alone and the array alone sees
    them: else each of the assignments of a loop would make another array. Whether that was done."""
    cell = array._cell
    is_kept = trace.is_free or not trace.reasons
    if is_kept or cell.is_argument or cell.is_held or cell.uncertain or not array._writeable:
        return False
    if not array._view.is_whole:
        return False
    trace.require_no_calls()
    trace.require_usual_warnings()
    given, value = known_reals((given, value))
    if not isinstance(cell.result.node.operation, Source):
        values_to_read([array._view], trace)
    values = values_to_read([each._view for each in lazy_arrays((given, value))], trace)
    source = cell.result.node.operation
    if not isinstance(source, Source) or not source.is_own or sys.getrefcount(cell.result) > _ALONE:
        return False
    trace.fence(_Assign.__name__)
    trace.asked_for_rows = True
    try:
        filled_in(_Put(source.array), (given, value), {}, values)
    except Exception:
        trace.forced(f"{_Assign.__name__}, which raises an error,")
        raise
    return True


_ALONE = 2
"""How many references there are to a result that one place holds: that, and the argument of who counts."""


@attrs.frozen(eq=False)
class _Put:
    """Writes to elements of an array."""

    array: Array

    def __call__(self, given: Any, value: Any) -> None:
        self.array[given] = value


def _chosen(array: LazyArray, entries: tuple[Any, ...]) -> tuple[Any, int, int] | None:
    """The one mask, or array of integers, of an index that has all of the other axes, and the axes that it stands for,
    from one to before another."""
    entries = tuple(np.asarray(each) if type(each) is list and not lazy_arrays(each) else each for each in entries)
    places = [k for k, entry in enumerate(entries) if type(entry) is LazyArray or is_traceable(entry)]
    others = [entry for k, entry in enumerate(entries) if k not in places]
    are_all = all(entry is Ellipsis or (isinstance(entry, slice) and entry == slice(None)) for entry in others)
    if len(places) != 1 or not are_all or sum(e is Ellipsis for e in others) > 1:
        return None
    entry, rank = entries[places[0]], len(array._shape)
    count = len(entry.shape) if _is_mask(entry) else 1
    missing = rank - count - sum(each is not Ellipsis for each in others)
    before = entries[: places[0]]
    first = sum(missing if each is Ellipsis else 1 for each in before)
    return (entry, first, first + count) if entry.shape and missing >= 0 else None


def _rows_assigned(array: LazyArray, entry: Any, axis: int, end: int, value: Value, trace: Trace) -> LazyArray | None:
    """An array after assignment to rows along an axis that a known array chooses: by a mask, or by integers. None where
    it is not known, chooses none, or does not fit, or where there are no rows, but elements."""
    rank, extent = len(array._shape), array._shape[axis]
    if rank < 2 or end != axis + 1 or len(entry.shape) != 1 or entry.dtype.kind not in "biu":
        return None
    if _is_mask(entry) and not same(entry.shape[0], extent):
        return None
    found = _known_arrays([entry], trace)
    if found is None:
        return None
    places = found[0].nonzero()[0] if _is_mask(entry) else found[0].astype(np.intp)
    count = known(extent)
    if len(places) and not (-count <= int(places.min()) and int(places.max()) < count):
        return None
    each = converted(_as_an_array(value, array.dtype), array.dtype, trace)
    after = array._shape[axis + 1 :]
    if not _fits(each, (*array._shape[:axis], len(places), *after)):
        return None
    if not len(places):
        return array
    own = each._shape[-len(after) - 1] if len(each._shape) > len(after) else 1
    is_one = same(own, 1)
    numbers, rows = np.ones(count, np.intp), np.arange(count)
    numbers[places], rows[places] = 0, 0 if is_one else np.arange(len(places))
    operands, shapes = [each], [(*array._shape[:axis], own, *after)]
    if numbers.any():
        operands, shapes = [each, array], [*shapes, array._shape]
    labels = [tuple(None if d == axis else d for d in range(rank))] * len(operands)
    function = Rows.of(axis, numbers, rows)
    return contracted("assign", function, operands, labels, array._shape, array.dtype, shapes=shapes, whole=(axis,))


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
    known = _known_arrays([mask], trace)
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


class _Assign(Own):
    __name__ = __qualname__ = "assign"

    def __call__(self, array: Any, given: Any, value: Any) -> Any:
        new = np.array(array)
        new[given] = value
        return new
