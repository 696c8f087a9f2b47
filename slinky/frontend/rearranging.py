"""Handlers of NumPy's functions that compute nothing: views, which become part of what is read, and copies.

Invariant: a handler gives what NumPy gives for the same arguments, or refuses by `NotUnderstoodError`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from slinky.frontend.arrays import LazyArray, Value, element, made, placed, solid, whole_result
from slinky.frontend.assembling import Around, Assembled, Part
from slinky.frontend.calling import broadcast_to, cast, converted, lifted, pointwise
from slinky.frontend.given import as_lazy, axes_of, axis_of, trace_of
from slinky.frontend.nodes import Index, View, whole_view
from slinky.frontend.operations import Fused
from slinky.frontend.sizes import Length, Size, are_same, known, same, value_of
from slinky.frontend.tables import NotUnderstoodError, understood
from slinky.frontend.views import common_shape, indexed, transposed, windows
from slinky.frontend.views import split as split_axis
from slinky.graph.boundaries import NUMPY_RULES

VIEW = "a view"
ELEMENTS = "by elements"
COPY = "a copy"

# ----------------------------------------------------------------------------------------------------------------
# Views
# ----------------------------------------------------------------------------------------------------------------


@understood(np.transpose, how=VIEW)
def transpose(a: Value, axes: Any = None) -> LazyArray:
    """The axes in another order."""
    array = as_lazy(a)
    if axes is None:
        return array.transpose()
    return array.transpose(*(axes if isinstance(axes, (tuple, list)) else (axes,)))


@understood(np.moveaxis, how=VIEW)
def moveaxis(a: Value, source: Any, destination: Any) -> LazyArray:
    """Axes at other places."""
    array = as_lazy(a)
    shape = tuple(range(2, len(array._shape) + 2))
    moved = np.moveaxis(np.empty(shape, np.bool_), source, destination).shape
    return array._seen(transposed(array._view, [n - 2 for n in moved]))


@understood(np.rollaxis, how=VIEW)
def rollaxis(a: Value, axis: int, start: int = 0) -> LazyArray:
    """An axis at another place."""
    array = as_lazy(a)
    moved = np.rollaxis(np.empty(tuple(range(2, len(array._shape) + 2)), np.bool_), axis, start).shape
    return array._seen(transposed(array._view, [n - 2 for n in moved]))


@understood(np.swapaxes, how=VIEW)
def swapaxes(a: Value, axis1: int, axis2: int) -> LazyArray:
    """Two axes, swapped."""
    return as_lazy(a).swapaxes(axis1, axis2)


@understood(np.flip, how=VIEW)
def flip(m: Value, axis: Any = None) -> LazyArray:
    """Axes in the other direction."""
    array = as_lazy(m)
    rank = len(array._shape)
    turned = axes_of(axis, rank)
    if not rank:
        return element(array)
    return array._seen(indexed(array._view, tuple(slice(None, None, -1 if d in turned else 1) for d in range(rank))))


@understood(np.fliplr, how=VIEW)
def fliplr(m: Value) -> LazyArray:
    """Columns in the other direction."""
    return as_lazy(m)[:, ::-1]  # type: ignore[no-any-return]


@understood(np.flipud, how=VIEW)
def flipud(m: Value) -> LazyArray:
    """Rows in the other direction."""
    return as_lazy(m)[::-1, ...]  # type: ignore[no-any-return]


@understood(np.rot90, how=VIEW)
def rot90(m: Value, k: int = 1, axes: Any = (0, 1)) -> LazyArray:
    """Turned by right angles."""
    array = as_lazy(m)
    first, second = (axis % len(array._shape) for axis in axes)
    if len(axes) != 2 or first == second:
        raise NotUnderstoodError("axes")
    match k % 4:
        case 0:
            return array[...]  # type: ignore[no-any-return]
        case 1:
            return flip(array, second).swapaxes(first, second)
        case 2:
            return flip(flip(array, first), second)
        case _:
            return flip(array.swapaxes(first, second), second)


@understood(np.expand_dims, how=VIEW)
def expand_dims(a: Value, axis: Any) -> LazyArray:
    """New axes."""
    array = as_lazy(a)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = axes_of(tuple(given), len(array._shape) + len(given))
    count = len(array._shape) + len(given)
    return array._seen(indexed(array._view, tuple(None if d in places else slice(None) for d in range(count))))


@understood(np.squeeze, how=VIEW)
def squeeze(a: Value, axis: Any = None) -> LazyArray:
    """Without axes of one element."""
    array = as_lazy(a)
    rank = len(array._shape)
    chosen = [d for d in range(rank) if same(array._shape[d], 1)] if axis is None else axes_of(axis, rank)
    if (not rank and array.is_scalar) or (axis is None and not chosen):
        return array
    if any(not same(array._shape[d], 1) for d in chosen):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return array._seen(indexed(array._view, tuple(0 if d in chosen else slice(None) for d in range(rank))))


@understood(np.broadcast_to, how=VIEW)
def broadcasted(array: Value, shape: Any, subok: bool = False) -> LazyArray:
    """Repeated to a shape."""
    own = as_lazy(array)
    wanted = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    return own._seen(broadcast_to(own, wanted)).read_only()


@understood(np.broadcast_arrays, how=VIEW)
def broadcast_arrays(*args: Value, subok: bool = False) -> tuple[LazyArray, ...]:
    """All repeated to the shape that they have together."""
    trace = trace_of(args)
    arrays = [lifted(each, trace) for each in args]
    shape = common_shape([array._shape for array in arrays])
    is_repeated = False
    for given, array in zip(args, arrays, strict=True):
        if type(given) is not LazyArray and isinstance(given, np.ndarray):
            trace.watch(given)
            array._cell.uncertain = True
        if len(array._shape) != len(shape) or not all(map(same, array._shape, shape)):
            array._cell.uncertain = True  # NumPy warns of writing to it, and does
            is_repeated = True
    if not is_repeated and not any(array.is_scalar for array in arrays):
        return tuple(arrays)
    return tuple(array._seen(broadcast_to(array, shape)) for array in arrays)


@understood(np.atleast_1d, how=VIEW)
def atleast_1d(a: Value) -> LazyArray:
    """With one axis at least."""
    array = as_lazy(a)
    return array if array._shape else array._seen(indexed(array._view, None))


@understood(np.atleast_2d, how=VIEW)
def atleast_2d(a: Value) -> LazyArray:
    """With two axes at least."""
    array = atleast_1d(a)
    return array if len(array._shape) > 1 else array._seen(indexed(array._view, (None, slice(None))))


@understood(np.shape, how="known")
def shape(a: Value) -> Any:
    """The extents."""
    return as_lazy(a).shape


@understood(np.ndim, how="known")
def ndim(a: Value) -> int:
    """How many axes there are."""
    return len(as_lazy(a)._shape)


@understood(np.size, how="known")
def size(a: Value, axis: Any = None) -> Any:
    """How many elements there are."""
    return as_lazy(a).size if axis is None else as_lazy(a).shape[axis]


@understood(np.result_type, how="known")
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that operands have together."""
    return np.result_type(*(each.dtype if type(each) is LazyArray else each for each in arrays_and_dtypes))


@understood(np.iscomplexobj, how="known")
def iscomplexobj(x: Value) -> bool:
    """Whether the dtype is one of complex numbers."""
    return as_lazy(x).dtype.kind == "c"


@understood(np.isrealobj, how="known")
def isrealobj(x: Value) -> bool:
    """Whether the dtype is none of complex numbers."""
    return as_lazy(x).dtype.kind != "c"


@understood(np.reshape, how="a view; a copy where several axes become one")
def reshape(a: Value, /, shape: Any = None, order: str = "C", *, copy: Any = None) -> LazyArray:
    """The elements, in another shape."""
    array = as_lazy(a)
    if order in ("A", "a"):
        array.require_c_order(order)
        order = "C"
    if order not in ("C", "c") or copy is not None or shape is None:
        array._cell.uncertain = True
        raise NotUnderstoodError("order")
    wanted = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    if array.is_scalar and not wanted:
        return array
    groups = _groups(list(array._shape), _complete(list(array._shape), wanted))
    array = fused(array, [own for own, _ in groups])
    for d, (_, parts) in reversed(list(enumerate(groups))):
        if len(parts) > 1:
            array = array._seen(split_axis(array._view, d, [wanted[k] for k in parts]))
    places = tuple(None if _is_one(n) else slice(None) for n in wanted)
    return array._seen(indexed(array._view, places))


@understood(np.ravel, how="a view; a copy where several axes become one")
def ravel(a: Value, order: str = "C") -> LazyArray:
    """All elements along one axis."""
    array = as_lazy(a)
    if order in ("K", "k"):
        array.require_c_order(order)
        order = "C"
    found: LazyArray = np.reshape(array, -1, order=order)  # type: ignore[call-overload]
    return found.without_gaps() if found._cell is array._cell else found


def _is_one(n: Length) -> bool:
    return type(n) is int and n == 1


def _complete(own: list[Length], wanted: list[Any]) -> list[Length]:
    """A shape that is asked for, with the extent that is given as -1; it is changed in place."""
    missing = [k for k, n in enumerate(wanted) if type(n) is not Size and operator.index(n) == -1]
    if len(missing) > 1:
        raise NotUnderstoodError("several unknown extents")  # NumPy says so
    for at in missing:
        first, last = 0, 0
        before, after = wanted[:at], wanted[at + 1 :][::-1]
        own = [n for n in own if not _is_one(n)]
        before, after = ([n for n in part if not _is_one(n)] for part in (before, after))
        while first < min(len(before), len(own)) and _is_now(own[first], before[first]):
            first += 1
        while last < min(len(after), len(own) - first) and _is_now(own[-1 - last], after[last]):
            last += 1
        middle = product_of(own[first : len(own) - last])
        others = product_of([*before[first:], *after[last:]])
        if any(n < 1 for n in (*before[:first], *after[:last], others)):
            raise NotUnderstoodError("no elements")  # of none, NumPy does not tell the extent
        wanted[at] = middle // others
    return wanted


def _is_now(a: Length, b: Length) -> bool:
    """Whether two lengths are equal, of which nothing is noted where they are not: what is told then holds for both."""
    return value_of(a) == value_of(b) and same(a, b)


def product_of(lengths: Sequence[Length]) -> Length:
    """How many elements there are along some axes."""
    return functools.reduce(operator.mul, lengths, 1)


def _groups(own: list[Length], wanted: list[Length]) -> list[tuple[list[int], list[int]]]:
    """Axes, and axes wanted, that have the same elements; axes of one element are in none."""
    given = [k for k, n in enumerate(own) if not _is_one(n)]
    asked = [k for k, n in enumerate(wanted) if not _is_one(n)]
    found: list[tuple[list[int], list[int]]] = []
    while given and asked:
        one, other = [given.pop(0)], [asked.pop(0)]
        have, want = own[one[0]], wanted[other[0]]
        if not are_same(have, want):
            have = _taken(one, given, own, want)
            want = _taken(other, asked, wanted, have)
        while value_of(have) != value_of(want):
            if min(have, want, key=value_of) < 1:
                raise NotUnderstoodError("no elements")
            if value_of(have) < value_of(want) and have < want and given:
                one.append(given.pop(0))
                have = have * own[one[-1]]
            elif value_of(want) < value_of(have) and want < have and asked:
                other.append(asked.pop(0))
                want = want * wanted[other[-1]]
            else:
                raise NotUnderstoodError("another size")  # NumPy says so
        if not same(have, want) or (len(one) + len(other) > 2 and have < 1):
            raise NotUnderstoodError("no elements")
        found.append((one, other))
    if given or asked:
        for axes, lengths in ((given, own), (asked, wanted)):
            if axes and not (found and all(same(lengths[k], 1) for k in axes)):
                raise NotUnderstoodError("another size")
        if found:
            found[-1] = (found[-1][0] + given, found[-1][1] + asked)
    return found


def _taken(axes: list[int], rest: list[int], lengths: list[Length], goal: Length) -> Length:
    """The product of axes and of as many of the rest, which join them, as it takes to be the goal in every call; the
    first one's extent if that is known of none."""
    product = lengths[axes[0]]
    for count, k in enumerate(rest, 1):
        product = product * lengths[k]
        if are_same(product, goal):
            axes += rest[:count]
            del rest[:count]
            return product
    return lengths[axes[0]]


def fused(array: LazyArray, groups: Sequence[Sequence[int]]) -> LazyArray:
    """An array with these axes, and no axes of one element else: a view where no axes become one."""
    if all(len(group) == 1 for group in groups):
        kept = {group[0] for group in groups}
        index = tuple(slice(None) if d in kept else 0 for d in range(len(array._shape)))
        return array._seen(indexed(array._view, index))
    view = solid(array._view, array._trace)
    view = whole_view(whole_result(view, array._trace)) if view.is_woven else view
    dropped = {d for d in range(len(view.shape)) if not any(d in group for group in groups)}
    kept_axes = [d for d in range(len(view.shape)) if d not in dropped]
    view = indexed(view, tuple(0 if d in dropped else slice(None) for d in range(len(view.shape))))
    renamed = tuple(tuple(kept_axes.index(d) for d in group) for group in groups)
    shape = tuple(product_of([array._shape[d] for d in group]) for group in groups)
    found = placed(made(Fused(renamed), [view], [(shape, array.dtype, False)], array._trace)[0], array._trace)
    array._cell.uncertain = found._cell.uncertain = True  # in NumPy a view, or not, by the layout
    return found


@understood(np.lib.stride_tricks.sliding_window_view, how=VIEW)
def sliding_window_view(
    x: Value, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> LazyArray:
    """Windows that slide."""
    array = as_lazy(x)
    rank = len(array._shape)
    given = tuple(window_shape) if isinstance(window_shape, (tuple, list)) else (window_shape,)
    lengths = [known(n) for n in given]
    axes = tuple(range(rank)) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    if len(axes) != len(lengths) or any(n < 1 for n in lengths) or writeable:
        raise NotUnderstoodError("windows")
    if any(not -rank <= d < rank for d in axes):
        raise NotUnderstoodError("axes")
    found = array._seen(windows(array._view, [(d % rank, n) for d, n in zip(axes, lengths, strict=True)]))
    return found.read_only()


# ----------------------------------------------------------------------------------------------------------------
# Copies
# ----------------------------------------------------------------------------------------------------------------


@understood(np.concatenate, how=COPY)
def concatenate(
    arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> LazyArray:
    """One behind the other."""
    trace = trace_of((tuple(arrays) if not isinstance(arrays, LazyArray) else arrays,))
    given = [lifted(each, trace) for each in arrays]
    if axis is None or out is not None or dtype is not None or not given or not given[0]._shape:
        raise NotUnderstoodError("no axis")
    rank = len(given[0]._shape)
    if any(len(array._shape) != rank for array in given):
        raise NotUnderstoodError("ranks")  # NumPy says what is wrong with them
    axis = axis_of(axis, rank)
    kind = np.concatenate([np.empty(0, array.dtype) for array in given]).dtype
    others = [n for d, n in enumerate(given[0]._shape) if d != axis]
    start: Length = 0
    parts, views = [], []
    for array in given:
        own = [n for d, n in enumerate(array._shape) if d != axis]
        if not all(map(same, own, others)):
            raise NotUnderstoodError("shapes")
        count = array._shape[axis]
        if not same(count, 0):
            index = tuple(Index(start if d == axis else 0, 1, d) for d in range(rank))
            parts.append(Part(index, tuple(array._shape)))
            views.append((array if array.dtype == kind else cast(array, kind))._view)
        start = start + count
    if not parts:
        raise NotUnderstoodError("no elements")
    shape = tuple(start if d == axis else n for d, n in enumerate(given[0]._shape))
    operation = Assembled("concatenate", tuple(parts))
    return placed(made(operation, views, [(shape, kind, False)], trace)[0], trace)


@understood(np.stack, how=COPY)
def stack(arrays: Any, axis: int = 0) -> LazyArray:
    """Along a new axis."""
    trace = trace_of((tuple(arrays),))
    return concatenate([expand_dims(lifted(each, trace), axis) for each in arrays], axis)


@understood(np.vstack, how=COPY)
def vstack(tup: Any) -> LazyArray:
    """Below each other."""
    trace = trace_of((tuple(tup),))
    return concatenate([atleast_2d(lifted(each, trace)) for each in tup], 0)


@understood(np.hstack, how=COPY)
def hstack(tup: Any) -> LazyArray:
    """Beside each other."""
    trace = trace_of((tuple(tup),))
    arrays = [atleast_1d(lifted(each, trace)) for each in tup]
    return concatenate(arrays, 0 if len(arrays[0]._shape) == 1 else 1)


@understood(np.pad, how=COPY)
def pad(array: Value, pad_width: Any, mode: Any = "constant", **options: Any) -> LazyArray:
    """With elements around it: zeros, where NumPy leaves them as memory is."""
    own = as_lazy(array)
    rank = len(own._shape)
    constant_values = options.pop("constant_values", 0) if mode == "constant" else 0
    if options:
        raise NotUnderstoodError(" ".join(options))
    if mode == "empty":
        mode = "constant"
    if mode not in NUMPY_RULES or isinstance(pad_width, dict) or rank == 0:
        raise NotUnderstoodError(f"mode {mode!r}")
    given = np.broadcast_to(np.asarray(pad_width), (rank, 2))
    if given.dtype.kind != "i" or (given < 0).any():
        raise NotUnderstoodError("widths")
    widths: list[list[int]] = given.tolist()
    rule = NUMPY_RULES[mode]
    view = own._view
    shape = tuple(n + (low + high) for n, (low, high) in zip(own._shape, widths, strict=True))
    index = tuple(Index(low, 1, d) for d, (low, _) in enumerate(widths))
    if rule is None:
        if np.ndim(constant_values) or type(constant_values) not in (int, float, bool, complex):
            raise NotUnderstoodError("several constants")
        value = np.zeros((), own.dtype)
        value[...] = constant_values  # NumPy says what it does not hold
        operation = Assembled("pad", (Part(index, tuple(own._shape)),), value[()])
    else:
        most = 1 if mode == "reflect" else 0
        for n, (low, high) in zip(own._shape, widths, strict=True):
            if mode != "edge" and (low or high) and not max(low, high) <= n - most:
                raise NotUnderstoodError("wider than the array")
        if view.is_woven or any(abs(i.step) != 1 for i in view.index):
            view = whole_view(whole_result(view, own._trace))
        rules = tuple(rule if low or high else None for low, high in widths)
        operation = Assembled("pad", (Part(index, tuple(own._shape), rules),))
    return placed(made(operation, [view], [(shape, own.dtype, False)], own._trace)[0], own._trace)


NEAR = 4
"""What is rolled by at most so many elements is read from a copy with these around it, which both directions share."""
LONG = 64
"""Where there are so many elements, what is rolled by few may be computed beyond its ends (see `halos`)."""


@understood(np.roll, how=COPY)
def roll(a: Value, shift: Any, axis: Any = None) -> LazyArray:
    """Elements moved along axes, those at the end to the beginning."""
    array = as_lazy(a)
    if axis is None and len(array._shape) != 1:
        raise NotUnderstoodError("all axes as one")
    axes = (0,) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    if len(shifts) != len(axes) or not all(isinstance(each, (int, np.integer)) for each in shifts):
        raise NotUnderstoodError("shifts")
    for each, own in zip(shifts, axes, strict=True):
        d = axis_of(own, len(array._shape))
        extent = array._shape[d]
        if type(each) is Size:
            array = _rolled_far(array, each, d)
            continue
        by = operator.index(each)
        widths = [(abs(by),) * 2 if k == d else (0, 0) for k in range(len(array._shape))]
        is_near = 0 < abs(by) <= NEAR
        is_long = is_near and extent >= LONG
        if not (is_long or -extent < by < extent):
            raise NotUnderstoodError("a shift by more than there is")
        if is_near:
            wide = _around(array, widths) if is_long else pad(array, widths, "wrap")
            index = tuple(Index(abs(by) - by if k == d else 0, 1, k) for k in range(len(array._shape)))
            array = wide._seen(View(wide._view.result, index, array._shape))
        elif by:
            array = _rolled_far(array, by, d)
    return array if any(shifts) else array.copied()


def _rolled_far(array: LazyArray, by: Length, d: int) -> LazyArray:
    """What is rolled by less than there is: two parts, of which each is in the place of the other."""
    before, extent = (slice(None),) * d, array._shape[d]
    if not -extent < by < extent:
        raise NotUnderstoodError("a shift by more than there is")
    at = extent - by if by > 0 else -by
    return concatenate([array[(*before, slice(at, None))], array[(*before, slice(None, at))]], d)


def _around(array: LazyArray, widths: Sequence[tuple[int, int]]) -> LazyArray:
    """An array between elements of its other ends."""
    view = array._view
    if view.is_woven or any(abs(i.step) != 1 for i in view.index):
        view = whole_view(whole_result(view, array._trace))
    operation = Around.of(view.shape, widths)
    results = made(operation, [view], [(operation.shape_around(), view.dtype, False)], array._trace)
    return placed(results[0], array._trace)


@understood(np.copyto, how="a value in the place of another one")
def copyto(dst: Value, src: Value, casting: Any = "same_kind", where: Value = True) -> None:
    """Write to an array."""
    trace = trace_of((dst, src, where))
    if type(dst) is not LazyArray:
        raise trace.abandon("copyto of what is no lazy array")
    if casting != "same_kind":
        raise trace.abandon("copyto with casting=")
    if isinstance(src, (LazyArray, np.ndarray)) and not np.can_cast(src.dtype, dst.dtype, casting):
        raise TypeError(f"Cannot cast array data from {src.dtype!r} to {dst.dtype!r} according to the rule '{casting}'")
    if type(src) is not LazyArray:
        np.copyto(np.empty(np.shape(src), dst.dtype), src, casting)  # NumPy's refusals
    if where is True:
        dst[...] = src
        return
    mask, value = lifted(where, trace), converted(src, dst.dtype, trace)
    if mask.dtype != np.bool_:
        raise trace.abandon("copyto with a mask that is not bool")
    found = pointwise(np.where, (mask, value, dst), name="copyto", scalars=False)
    if len(found._shape) != len(dst._shape):
        raise ValueError("the mask has more axes than what is written to")
    dst.write(found)


@understood(np.copy, how=COPY)
def copy(a: Value, order: str = "K", subok: bool = False) -> LazyArray:
    """The elements in a place of their own."""
    return as_lazy(a).copied(order)


@understood(np.zeros_like, np.empty_like, how="never stored where it need not be")
def zeros_like(a: Value, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> LazyArray:
    """Zeros."""
    return full_like(a, 0, dtype, order, subok, shape)


@understood(np.ones_like, how="never stored where it need not be")
def ones_like(a: Value, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> LazyArray:
    """Ones."""
    return full_like(a, 1, dtype, order, subok, shape)


@understood(np.full_like, how="never stored where it need not be")
def full_like(
    a: Value, fill_value: Value, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> LazyArray:
    """Full of a value."""
    trace = trace_of((a, fill_value))
    array = lifted(a, trace)
    kind = array.dtype if dtype is None else np.dtype(dtype)
    if kind.kind not in "biufc":
        raise NotUnderstoodError("no numbers")
    wanted = array._shape if shape is None else tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if kind.kind == "b" and type(fill_value) is int:
        np.full((), fill_value, kind)  # raises what NumPy does of one beyond its integers
    trace.asked_for_rows |= order in ("C", "c")
    in_c_order = order in ("C", "c") or (order not in ("F", "f") and array._view.is_in_c_order)
    value = converted(fill_value, kind, trace)
    wide = broadcast_to(value, wanted)
    if wide.shape == ():
        return value.copy() if not value.is_scalar else placed(whole_result(wide, trace), trace)
    return placed(whole_result(wide, trace, in_c_order), trace)
