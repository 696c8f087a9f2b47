"""Views of results: indexing, turning, broadcasting, composed into where a result is read.

Everything that depends on a size asks it, so that the trace knows what it is good for.

Invariant: a view made here sees just what NumPy's would see.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from slinky.errors import SlinkyError
from slinky.frontend.nodes import Array, Index, Shape, View, index_of, told
from slinky.frontend.sizes import Length, Size, are_same, known, same, value_of
from slinky.graph.buffers import LARGEST_RANK


class NotBasicIndexError(SlinkyError):
    """An index that is more than slices, integers, new axes and an ellipsis."""


def indexed(view: View, given: Any) -> View:
    """What `array[given]` sees.

    Raises `NotBasicIndexError` for indexing by arrays, and what NumPy raises.
    """
    entries = _expanded(given if isinstance(given, tuple) else (given,), len(view.shape))
    taken: list[tuple[Length, int, int | None]] = []  # per axis of the view: first place, step, axis of the new one
    shape: list[Length] = []
    for entry in entries:
        if entry is None:
            shape.append(1)
            continue
        extent = view.shape[len(taken)]
        if isinstance(entry, slice):
            first, step, count = sliced(entry, extent)
            taken.append((first, step, len(shape)))
            shape.append(count)
        else:
            taken.append((_place(entry, extent, len(taken)), 1, None))
    index = tuple(_composed(i, taken) for i in view.index)
    return View(view.result, index, _settled(index, shape) if view.is_woven else tuple(shape))


def through(view: View, seen: View) -> View:
    """What a view sees from the places where another one sees its reader's result: `f(a[1:])[2:]` reads `a[3:]`."""
    taken = [(i.offset, i.step, i.axis) for i in seen.index]
    return View(view.result, tuple(_composed(i, taken) for i in view.index), seen.shape)


def _settled(index: Sequence[Index], shape: Sequence[Length]) -> Shape:
    """A shape in which all but one of the axes that go along one axis of a result have lengths that are numbers."""
    found = list(shape)
    for i in index:
        for axis in [axis for _, axis in i.terms if type(found[axis]) is Size][1:]:
            found[axis] = known(found[axis])
    return tuple(found)


def _composed(own: Index, taken: Sequence[tuple[Length, int, int | None]]) -> Index:
    """An index of a view, where its axes are read from a place on, with a step."""
    offset, terms = own.offset, []
    for step, along in own.terms:
        first, by, axis = taken[along]
        offset = offset + step * first
        if axis is not None:
            terms.append((step * by, axis))
    return index_of(offset, terms)


def _expanded(given: tuple[Any, ...], rank: int) -> list[Any]:
    """The entries of an index, with as many slices as the ellipsis stands for."""
    for entry in given:
        if not (entry is None or entry is Ellipsis or isinstance(entry, slice) or is_place(entry)):
            raise NotBasicIndexError
    used = sum(entry is not None and entry is not Ellipsis for entry in given)
    if sum(entry is Ellipsis for entry in given) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if used > rank:
        raise IndexError(f"too many indices for array: array is {rank}-dimensional, but {used} were indexed")
    rest = [slice(None)] * (rank - used)
    wanted = rank + sum(entry is None for entry in given) - sum(map(is_place, given))
    if wanted > LARGEST_RANK:
        raise IndexError(
            f"number of dimensions must be within [0, {LARGEST_RANK}], indexing result would have {wanted}"
        )
    at = next((k for k, entry in enumerate(given) if entry is Ellipsis), len(given))
    return [*given[:at], *rest, *given[at + 1 :]]


def is_place(entry: object) -> bool:
    """Whether an entry of an index is an integer."""
    return isinstance(entry, (int, np.integer, Size)) and not isinstance(entry, (bool, np.bool_))


def _place(entry: Any, extent: Length, axis: int) -> Length:
    """An element along an axis."""
    at: Length = entry if type(entry) is Size else operator.index(entry)
    if not -extent <= at < extent:
        raise IndexError(f"index {known(at)} is out of bounds for axis {axis} with size {known(extent)}")
    return at + extent if at < 0 else at


def sliced(given: slice, extent: Length) -> tuple[Length, int, Length]:
    """The first place of a slice, its step, and how many places there are."""
    if type(extent) is not Size or not all(each is None or type(each) is int for each in _ends_of(given)):
        return _sliced(given, extent)
    known, key = extent.questions.known, (extent.expr, *_ends_of(given))
    found: tuple[Length, int, Length] | None = known.get(key)
    if found is None:
        found = known[key] = _sliced(given, extent)
    return found


def _ends_of(given: slice) -> tuple[Any, Any, Any]:
    return given.start, given.stop, given.step


def _sliced(given: slice, extent: Length) -> tuple[Length, int, Length]:
    """The same, asked of the extent."""
    step = 1 if given.step is None else operator.index(given.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = (0, extent) if step > 0 else (-1, extent - 1)
    start = (low if step > 0 else high) if given.start is None else _clamped(given.start, extent, low, high)
    stop = (high if step > 0 else low) if given.stop is None else _clamped(given.stop, extent, low, high)
    if given.start is None and given.stop is None:
        if step in (1, -1):
            return start, step, extent
        return start, step, (extent + abs(step) - 1) // abs(step)
    if (stop - start if step > 0 else start - stop) <= 0:
        return 0, step, 0
    distance = stop - start if step > 0 else start - stop
    return start, step, (distance + abs(step) - 1) // abs(step)


def _clamped(given: Any, extent: Length, low: Length, high: Length) -> Length:
    """The end of a slice, counted from the front and no farther than the array goes."""
    at: Length = given if type(given) is Size else operator.index(given)
    if at < 0:
        at = at + extent
    if at < low:
        return low
    return high if at > high else at


def transposed(view: View, order: Sequence[int]) -> View:
    """The axes in another order."""
    where = {old: new for new, old in enumerate(order)}
    index = tuple(index_of(i.offset, [(step, where[axis]) for step, axis in i.terms]) for i in view.index)
    return View(view.result, index, tuple(view.shape[old] for old in order))


def broadcast(view: View, shape: Shape) -> View:
    """A view repeated along new and short axes.

    Raises `ValueError` as NumPy does.
    """
    more = len(shape) - len(view.shape)
    if more < 0:
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    stretched = set()
    for axis, (own, wanted) in enumerate(zip(view.shape, shape[more:], strict=True)):
        if same(own, wanted):
            continue
        if not same(own, 1):
            raise ValueError(no_broadcast([view.shape, shape]))
        stretched.add(axis)
    if not more and not stretched:
        return View(view.result, view.index, shape)
    index = tuple(
        index_of(i.offset, [(step, axis + more) for step, axis in i.terms if axis not in stretched]) for i in view.index
    )
    return View(view.result, index, shape)


def sees_the_same(a: View, b: View) -> bool:
    """Whether two views are known to see the same elements at the same places."""
    return (
        a.result is b.result
        and len(a.shape) == len(b.shape)
        and all(i.step == j.step and i.axis == j.axis for i, j in zip(a.index, b.index, strict=True))
        and all(are_same(i.offset, j.offset) for i, j in zip(a.index, b.index, strict=True))
        and all(map(are_same, a.shape, b.shape))
    )


def no_broadcast(shapes: Sequence[Shape]) -> str:
    """What NumPy says of shapes that do not broadcast to one."""
    return f"operands could not be broadcast together with shapes {' '.join(map(shape_in_words, shapes))} "


def shape_in_words(shape: Shape) -> str:
    """A shape as ufuncs have it in their errors: without spaces."""
    return "(" + ",".join(map(str, told(shape))) + ("," * (len(shape) == 1)) + ")"


def common_shape(shapes: Sequence[Shape]) -> Shape:
    """The shape that some shapes broadcast to.

    Raises `ValueError` as NumPy does.
    """
    found = joined_shape(shapes)
    if found is None:
        raise ValueError(no_broadcast(shapes))
    return found


def joined_shape(shapes: Sequence[Shape]) -> Shape | None:
    """The shape that some shapes broadcast to; None if they do not."""
    rank = max(map(len, shapes), default=0)
    found: list[Length] = []
    for axis in range(-rank, 0):
        chosen: Length = 1
        for shape in shapes:
            if -axis > len(shape) or same_as_one(shape[axis]):
                continue
            if same_as_one(chosen) or same(chosen, shape[axis]):
                chosen = shape[axis] if same_as_one(chosen) else chosen
            elif same(shape[axis], 1):
                continue
            elif same(chosen, 1):
                chosen = shape[axis]
            else:
                return None
        found.append(chosen)
    return tuple(found)


def same_as_one(extent: Length) -> bool:
    """Whether a length is 1 in every call."""
    return type(extent) is int and extent == 1


def seen(array: Array, view: View, of: Callable[[Length], int] = value_of) -> Array:
    """What a view sees of an array; `of` says how long lengths are, in this call if nothing else is said."""
    shape = tuple(map(of, view.shape))
    if view.is_woven:
        return _woven(array, view.index, shape, of)
    picked: list[Any] = []
    for i in view.index:
        first = of(i.offset)
        if i.axis is None:
            picked.append(first)
            continue
        stop = first + i.step * shape[i.axis]
        picked.append(slice(first, None if stop < 0 else stop, i.step) if shape[i.axis] else slice(0, 0))
    axes = [i.axis for i in view.index if i.axis is not None]
    return spread(array[(*picked, ...)], axes, shape)  # the dots: a view, where all are integers, too


def windows(view: View, lengths: Sequence[tuple[int, int]]) -> View:
    """Windows that slide along axes, all of them at the end: `lengths` are axes with how long windows are there.

    Raises `ValueError` as NumPy does.
    """
    shape, index = list(view.shape), list(view.index)
    for axis, count in lengths:
        if shape[axis] < count:
            raise ValueError("window shape cannot be larger than input array shape")
        shape[axis] = shape[axis] - (count - 1)
        for d, i in enumerate(index):
            steps = [step for step, along in i.terms if along == axis]
            if steps:
                index[d] = index_of(i.offset, [*i.terms, (steps[0], len(shape))])
        shape.append(count)
    return View(view.result, tuple(index), _settled(index, shape))


def split(view: View, axis: int, lengths: Sequence[Length]) -> View:
    """An axis as several ones, which have as many elements together; all lengths but the first one become numbers."""
    inner = [known(n) for n in lengths[1:]]
    factors = [math.prod(inner[k:]) for k in range(len(lengths))]
    shape = (*view.shape[:axis], lengths[0], *inner, *view.shape[axis + 1 :])
    more = len(lengths) - 1

    def terms(i: Index) -> list[tuple[int, int]]:
        found = []
        for step, along in i.terms:
            if along == axis:
                found += [(step * factor, axis + k) for k, factor in enumerate(factors)]
            else:
                found.append((step, along + more if along > axis else along))
        return found

    index = tuple(index_of(i.offset, terms(i)) for i in view.index)
    return View(view.result, index, _settled(index, shape))


def _woven(array: Array, index: Sequence[Index], shape: tuple[int, ...], of: Callable[[Length], int]) -> Array:
    """What is seen where several axes go along one axis of an array."""
    if 0 in shape:
        return np.empty(shape, array.dtype)
    strides, overlap = [0] * len(shape), False
    for i, stride in zip(index, array.strides, strict=True):
        reach = 0
        for step, axis in sorted(i.terms, key=lambda term: abs(term[0])):
            strides[axis] += step * stride
            overlap = overlap or (shape[axis] > 1 and abs(step) <= reach)
            reach += abs(step) * (shape[axis] - 1)
    first = array[tuple(slice(of(i.offset), of(i.offset) + 1) for i in index)]
    return np.lib.stride_tricks.as_strided(first, shape, strides, writeable=not overlap)


def spread(array: Array, axes: Sequence[int], shape: tuple[int, ...]) -> Array:
    """An array with its axes at these places of a shape, repeated along the others."""
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    turned = array if order == list(range(len(axes))) else array.transpose(order)
    if len(axes) < len(shape):
        turned = turned[tuple(slice(None) if axis in axes else None for axis in range(len(shape)))]
    return turned if turned.shape == shape else np.broadcast_to(turned, shape)
