"""Handlers of the functions of NumPy that are understood, and the lists of those that need none of their own.

Invariant: a handler gives what NumPy gives for the same arguments, or refuses by `NotUnderstood`.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from slinky.frontend.arrays import LazyArray, Value, made, placed, solid, whole_result
from slinky.frontend.calling import (
    broadcast_to,
    call_function,
    cast,
    converted,
    filled,
    lazy_arrays,
    lifted,
    opaque,
    pointwise,
    trace_of,
)
from slinky.frontend.nodes import Index, whole_view
from slinky.frontend.operations import Along, Assembled, Contraction, Part
from slinky.frontend.sizes import Length, Size, same, value_of
from slinky.frontend.tables import ALONG, EXACT, TOLERANCE, NotUnderstood, name_of, understood
from slinky.frontend.views import broadcast, common_shape, indexed, transposed
from slinky.graph.boundaries import NUMPY_RULES

VIEW = "a view"
ELEMENTS = "by elements"
WHOLE_AXES = "along whole axes"
COPY = "a copy"


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    """The axes that are meant, each once.

    Raises what NumPy raises.
    """
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, tuple) else (axis,)
    found = []
    for each in given:
        place = operator.index(each)
        if not -rank <= place < rank:
            raise np.exceptions.AxisError(place, rank)
        found.append(place % rank)
    if len(set(found)) != len(found):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(found))


def _array(value: Value) -> LazyArray:
    return lifted(value, trace_of((value,)))


def _dtype_of(function: Callable[..., Any], ranks: Sequence[tuple[int, Any]], keywords: dict[str, Any]) -> Any:
    """The dtype of what a function gives, asked of arrays with one element."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dtype = np.asarray(function(*(np.ones((1,) * rank, dtype) for rank, dtype in ranks), **keywords)).dtype
    if dtype.kind not in "biufc":
        raise NotUnderstood(f"results of {dtype}")
    return dtype


def _require_plain(keywords: dict[str, Any]) -> None:
    """Further arguments are part of what a pipeline is, so they must be known."""
    for key, value in keywords.items():
        if not (value is None or isinstance(value, (bool, int, float, str, type, np.dtype, tuple))) or type(value) is Size:
            raise NotUnderstood(f"{key}={value!r}")


# ----------------------------------------------------------------------------------------------------------------
# Reductions, and functions of whole axes
# ----------------------------------------------------------------------------------------------------------------

_ROUNDED = frozenset("add multiply sum prod mean std var nansum nanprod nanmean nanstd nanvar".split())


def reduced(
    function: Callable[..., Any],
    name: str,
    a: Value,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    **keywords: Any,
) -> LazyArray:
    """What a reduction gives."""
    array = _array(a)
    rank = len(array._shape)
    keywords = {key: value for key, value in keywords.items() if value is not np._NoValue}  # type: ignore[attr-defined]
    if dtype is not None:
        keywords["dtype"] = np.dtype(dtype)
    _require_plain(keywords)
    removed = _axes(axis, rank)
    keepdims = keepdims is not np._NoValue and bool(keepdims)  # type: ignore[attr-defined]
    if out is not None or not removed or array.is_scalar:
        raise NotUnderstood("out=, or no axes")
    keywords["axis"] = None if axis is None else removed if isinstance(axis, tuple) else removed[0]
    kind = _dtype_of(function, [(rank, array.dtype)], keywords)
    shape = tuple(n for d, n in enumerate(array._shape) if d not in removed)
    operation = Along(name, function, removed, removed, tuple(sorted(keywords.items())), _of_sum(name, array, kind, removed))
    (result,) = made(operation, [solid(array.view, array._trace)], [(shape, kind, not shape and not keepdims)], array._trace)
    found = placed(result, array._trace)
    return found[tuple(None if d in removed else slice(None) for d in range(rank))] if keepdims else found


def _of_sum(name: str, array: LazyArray, dtype: Any, removed: tuple[int, ...]) -> str:
    """How exactly a reduction by pieces agrees: NumPy adds floats in an order that depends on layout and shape."""
    if name not in _ROUNDED or (dtype.kind in "biu" and array.dtype.kind in "biu"):
        return EXACT
    return ALONG if removed == (len(array._shape) - 1,) and dtype == array.dtype else TOLERANCE


def accumulated(
    function: Callable[..., Any], name: str, a: Value, axis: Any = None, dtype: Any = None, out: Any = None, **keywords: Any
) -> LazyArray:
    """What a function gives that goes along one axis and keeps it."""
    array = _array(a)
    rank = len(array._shape)
    if out is not None or rank == 0 or (axis is None and rank != 1):
        raise NotUnderstood("no axis")
    if dtype is not None:
        keywords["dtype"] = np.dtype(dtype)
    _require_plain(keywords)
    axes = _axes(axis, rank)
    if len(axes) != 1:
        raise NotUnderstood("several axes")
    keywords["axis"] = axes[0]
    kind = _dtype_of(function, [(rank, array.dtype)], keywords)
    exact = TOLERANCE if name_of(function).startswith("fft") else ALONG
    operation = Along(name, function, axes, (), tuple(sorted(keywords.items())), exact)
    return placed(made(operation, [solid(array.view, array._trace)], [(array._shape, kind, False)], array._trace)[0], array._trace)


def _register_reductions() -> None:
    def handler(function: Callable[..., Any]) -> Callable[..., Any]:
        name = name_of(function)

        def of_array(a: Value, axis: Any = None, *given: Any, **keywords: Any) -> LazyArray:
            if given:
                raise NotUnderstood("arguments by position")
            return reduced(function, name, a, axis, **keywords)

        return of_array

    # What NumPy takes by position after the axis is a dtype, or out: rare, so not understood.
    exact = (np.min, np.max, np.amin, np.amax, np.any, np.all, np.argmin, np.argmax, np.ptp, np.count_nonzero)
    for function in (*exact, np.nanmin, np.nanmax, np.median):
        understood(function, how="reduced " + WHOLE_AXES, exactness=EXACT)(handler(function))
    for function in (np.sum, np.prod, np.mean, np.std, np.var, np.nansum, np.nanprod, np.nanmean, np.nanstd, np.nanvar):
        understood(function, how="reduced " + WHOLE_AXES, exactness=ALONG)(handler(function))


def _register_along() -> None:
    def handler(function: Callable[..., Any], default: Any) -> Callable[..., Any]:
        name = name_of(function).split(".")[-1]

        def of_array(a: Value, *given: Any, axis: Any = default, **keywords: Any) -> LazyArray:
            if given:
                raise NotUnderstood("arguments by position")
            return accumulated(function, name, a, axis, **keywords)

        return of_array

    for function in (np.cumsum, np.cumprod, np.nancumsum, np.nancumprod):
        understood(function, how=WHOLE_AXES, exactness=ALONG)(handler(function, None))
    for function in (np.sort, np.argsort):
        understood(function, how=WHOLE_AXES, exactness=ALONG)(handler(function, -1))
    for function in (np.fft.fft, np.fft.ifft):
        understood(function, how=WHOLE_AXES, exactness=TOLERANCE)(handler(function, -1))


_register_reductions()
_register_along()


# ----------------------------------------------------------------------------------------------------------------
# Products
# ----------------------------------------------------------------------------------------------------------------


@understood(np.matmul, how="by rows and columns", exactness=TOLERANCE)
def matmul(a: Value, b: Value) -> LazyArray:
    """The matrix product."""
    trace = trace_of((a, b))
    left, right = lifted(a, trace), lifted(b, trace)
    ranks = len(left._shape), len(right._shape)
    if 0 in ranks or not same(left._shape[-1], right._shape[-2 if ranks[1] > 1 else -1]):
        raise NotUnderstood("shapes")  # NumPy says what is wrong with them
    before = common_shape([left._shape[:-2], right._shape[:-2]])
    rows = left._shape[-2:-1] if ranks[0] > 1 else ()
    columns = right._shape[-1:] if ranks[1] > 1 else ()
    common = tuple(range(len(before)))
    views = [
        broadcast(solid(array.view, trace), (*before, *array._shape[-2:])) if rank > 1 else solid(array.view, trace)
        for array, rank in ((left, ranks[0]), (right, ranks[1]))
    ]
    row, column = len(before), len(before) + len(rows)
    labels = (
        (*common, row, None) if ranks[0] > 1 else (None,),
        (*common, None, column) if ranks[1] > 1 else (None,),
    )
    kind = _dtype_of(np.matmul, [(ranks[0], left.dtype), (ranks[1], right.dtype)], {})
    exact = EXACT if kind.kind in "biu" else TOLERANCE
    shape = (*before, *rows, *columns)
    operation = Contraction("matmul", np.matmul, labels, exactness=exact)
    return placed(made(operation, views, [(shape, kind, not shape)], trace)[0], trace)


@understood(np.dot, how="by rows and columns", exactness=TOLERANCE)
def dot(a: Value, b: Value) -> Any:
    """The product of arrays of up to two dimensions."""
    trace = trace_of((a, b))
    left, right = lifted(a, trace), lifted(b, trace)
    if not left._shape or not right._shape:
        return pointwise(np.multiply, (a, b), name="multiply", into=True)
    if len(left._shape) > 2 or len(right._shape) > 2:
        raise NotUnderstood("more than two dimensions")
    return matmul(left, right)


def outer_of(ufunc: np.ufunc, a: Value, b: Value, **keywords: Any) -> Any:
    """A ufunc of all pairs of elements."""
    trace = trace_of((a, b))
    left, right = lifted(a, trace), lifted(b, trace)
    return ufunc(left[(..., *(None,) * len(right._shape))], right, **keywords)


@understood(np.outer, how=ELEMENTS)
def outer(a: Value, b: Value) -> Any:
    """The products of all pairs of elements."""
    trace = trace_of((a, b))
    left, right = lifted(a, trace), lifted(b, trace)
    if len(left._shape) != 1 or len(right._shape) != 1:
        raise NotUnderstood("ranks")
    return np.multiply(left[:, None], right)


# ----------------------------------------------------------------------------------------------------------------
# Views
# ----------------------------------------------------------------------------------------------------------------


@understood(np.transpose, how=VIEW)
def transpose(a: Value, axes: Any = None) -> LazyArray:
    """The axes in another order."""
    return _array(a).transpose(*(() if axes is None else (tuple(axes),)))


@understood(np.moveaxis, how=VIEW)
def moveaxis(a: Value, source: Any, destination: Any) -> LazyArray:
    """Axes at other places."""
    array = _array(a)
    shape = tuple(range(2, len(array._shape) + 2))
    moved = np.moveaxis(np.empty(shape, np.bool_), source, destination).shape
    return array._seen(transposed(array.view, [n - 2 for n in moved]))


@understood(np.rollaxis, how=VIEW)
def rollaxis(a: Value, axis: int, start: int = 0) -> LazyArray:
    """An axis at another place."""
    array = _array(a)
    moved = np.rollaxis(np.empty(tuple(range(2, len(array._shape) + 2)), np.bool_), axis, start).shape
    return array._seen(transposed(array.view, [n - 2 for n in moved]))


@understood(np.swapaxes, how=VIEW)
def swapaxes(a: Value, axis1: int, axis2: int) -> LazyArray:
    """Two axes, swapped."""
    return _array(a).swapaxes(axis1, axis2)


@understood(np.flip, how=VIEW)
def flip(m: Value, axis: Any = None) -> LazyArray:
    """Axes in the other direction."""
    array = _array(m)
    rank = len(array._shape)
    turned = _axes(axis, rank)
    return array._seen(indexed(array.view, tuple(slice(None, None, -1 if d in turned else 1) for d in range(rank))))


@understood(np.fliplr, how=VIEW)
def fliplr(m: Value) -> LazyArray:
    """Columns in the other direction."""
    return _array(m)[:, ::-1]  # type: ignore[no-any-return]


@understood(np.flipud, how=VIEW)
def flipud(m: Value) -> LazyArray:
    """Rows in the other direction."""
    return _array(m)[::-1, ...]  # type: ignore[no-any-return]


@understood(np.rot90, how=VIEW)
def rot90(m: Value, k: int = 1, axes: Any = (0, 1)) -> LazyArray:
    """Turned by right angles."""
    array = _array(m)
    first, second = (axis % len(array._shape) for axis in axes)
    if len(axes) != 2 or first == second:
        raise NotUnderstood("axes")
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
    array = _array(a)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = _axes(tuple(given), len(array._shape) + len(given))
    count = len(array._shape) + len(given)
    return array._seen(indexed(array.view, tuple(None if d in places else slice(None) for d in range(count))))


@understood(np.squeeze, how=VIEW)
def squeeze(a: Value, axis: Any = None) -> LazyArray:
    """Without axes of one element."""
    array = _array(a)
    rank = len(array._shape)
    chosen = [d for d in range(rank) if same(array._shape[d], 1)] if axis is None else _axes(axis, rank)
    if any(not same(array._shape[d], 1) for d in chosen):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return array._seen(indexed(array.view, tuple(0 if d in chosen else slice(None) for d in range(rank))))


@understood(np.broadcast_to, how=VIEW)
def broadcasted(array: Value, shape: Any, subok: bool = False) -> LazyArray:
    """Repeated to a shape."""
    own = _array(array)
    wanted = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    return own._seen(broadcast_to(own, wanted))


@understood(np.broadcast_arrays, how=VIEW)
def broadcast_arrays(*args: Value, subok: bool = False) -> tuple[LazyArray, ...]:
    """All repeated to the shape that they have together."""
    trace = trace_of(args)
    arrays = [lifted(each, trace) for each in args]
    shape = common_shape([array._shape for array in arrays])
    return tuple(array._seen(broadcast_to(array, shape)) for array in arrays)


@understood(np.atleast_1d, how=VIEW)
def atleast_1d(a: Value) -> LazyArray:
    """With one axis at least."""
    array = _array(a)
    return array if array._shape else array._seen(indexed(array.view, None))


@understood(np.atleast_2d, how=VIEW)
def atleast_2d(a: Value) -> LazyArray:
    """With two axes at least."""
    array = atleast_1d(a)
    return array if len(array._shape) > 1 else array._seen(indexed(array.view, (None, slice(None))))


@understood(np.shape, how="known")
def shape(a: Value) -> Any:
    """The extents."""
    return _array(a).shape


@understood(np.ndim, how="known")
def ndim(a: Value) -> int:
    """How many axes there are."""
    return len(_array(a)._shape)


@understood(np.size, how="known")
def size(a: Value, axis: Any = None) -> Any:
    """How many elements there are."""
    return _array(a).size if axis is None else _array(a).shape[axis]


@understood(np.reshape, how="a view where only axes of one element come or go; else at once")
def reshape(a: Value, /, shape: Any = None, order: str = "C", *, copy: Any = None) -> LazyArray:
    """The elements, in another shape."""
    array = _array(a)
    if order != "C" or copy is not None or shape is None:
        raise NotUnderstood("order")
    wanted = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    own = [n for n in array._shape if not (type(n) is int and n == 1)]
    missing = [k for k, n in enumerate(wanted) if not type(n) is Size and operator.index(n) == -1]
    rest = [n for k, n in enumerate(wanted) if k not in missing and not (type(n) is int and n == 1)]
    if len(missing) == 1 and len(own) == len(rest) + 1:
        before = sum(not (type(n) is int and n == 1) for n in wanted[: missing[0]])
        wanted[missing[0]] = own[before]
        rest.insert(before, own[before])
    elif len(missing) == 1 and len(own) == len(rest):
        wanted[missing[0]] = 1
    elif missing:
        raise NotUnderstood("splits and fusions")
    if len(own) != len(rest) or not all(map(same, own, rest)):
        array._cell.uncertain = True
        raise NotUnderstood("splits and fusions")
    dropped = array._seen(indexed(array.view, tuple(0 if type(n) is int and n == 1 else slice(None) for n in array._shape)))
    places = tuple(None if type(n) is int and n == 1 else slice(None) for n in wanted)
    return dropped._seen(indexed(dropped.view, places))


# ----------------------------------------------------------------------------------------------------------------
# Copies
# ----------------------------------------------------------------------------------------------------------------


@understood(np.concatenate, how=COPY)
def concatenate(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> LazyArray:
    """One behind the other."""
    trace = trace_of((tuple(arrays) if not isinstance(arrays, LazyArray) else arrays,))
    given = [lifted(each, trace) for each in arrays]
    if axis is None or out is not None or dtype is not None or not given or not given[0]._shape:
        raise NotUnderstood("no axis")
    rank = len(given[0]._shape)
    if any(len(array._shape) != rank for array in given):
        raise NotUnderstood("ranks")  # NumPy says what is wrong with them
    (axis,) = _axes(operator.index(axis), rank)
    kind = np.concatenate([np.empty(0, array.dtype) for array in given]).dtype
    others = [n for d, n in enumerate(given[0]._shape) if d != axis]
    start: Length = 0
    parts, views = [], []
    for array in given:
        own = [n for d, n in enumerate(array._shape) if d != axis]
        if not all(map(same, own, others)):
            raise NotUnderstood("shapes")
        count = array._shape[axis]
        if not same(count, 0):
            index = tuple(Index(start if d == axis else 0, 1, d) for d in range(rank))
            parts.append(Part(index, tuple(array._shape)))
            views.append((array if array.dtype == kind else cast(array, kind)).view)
        start = start + count
    if not parts:
        raise NotUnderstood("no elements")
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
    return concatenate([atleast_2d(each) for each in tup], 0)


@understood(np.hstack, how=COPY)
def hstack(tup: Any) -> LazyArray:
    """Beside each other."""
    arrays = [atleast_1d(each) for each in tup]
    return concatenate(arrays, 0 if len(arrays[0]._shape) == 1 else 1)


@understood(np.pad, how=COPY)
def pad(array: Value, pad_width: Any, mode: Any = "constant", *, constant_values: Any = 0) -> LazyArray:
    """With elements around it."""
    own = _array(array)
    rank = len(own._shape)
    if mode not in NUMPY_RULES or isinstance(pad_width, dict) or rank == 0:
        raise NotUnderstood(f"mode {mode!r}")
    widths = np.broadcast_to(np.asarray(pad_width), (rank, 2))
    if widths.dtype.kind not in "iu" or (widths < 0).any():
        raise NotUnderstood("widths")
    rule = NUMPY_RULES[mode]
    view = own.view
    shape = tuple(n + int(low + high) for n, (low, high) in zip(own._shape, widths, strict=True))
    index = tuple(Index(int(low), 1, d) for d, (low, _) in enumerate(widths))
    if rule is None:
        if np.ndim(constant_values) or type(constant_values) not in (int, float, bool, complex):
            raise NotUnderstood("several constants")
        value = np.full((), constant_values, own.dtype)[()] if own.dtype.kind != "u" or constant_values >= 0 else None
        if value is None:
            raise NotUnderstood("negative constants")
        operation = Assembled("pad", (Part(index, tuple(own._shape)),), value)
    else:
        most = 1 if mode == "reflect" else 0
        for n, (low, high) in zip(own._shape, widths, strict=True):
            if mode != "edge" and (low or high) and not int(max(low, high)) <= n - most:
                raise NotUnderstood("wider than the array")
        if any(abs(i.step) != 1 for i in view.index):
            view = whole_view(whole_result(view, own._trace))
        rules = (rule,) * rank
        operation = Assembled("pad", (Part(index, tuple(own._shape), rules),))
    return placed(made(operation, [view], [(shape, own.dtype, False)], own._trace)[0], own._trace)


@understood(np.roll, how=COPY)
def roll(a: Value, shift: Any, axis: Any = None) -> LazyArray:
    """Elements moved along axes, those at the end to the beginning."""
    array = _array(a)
    if axis is None and len(array._shape) != 1:
        raise NotUnderstood("all axes as one")
    axes = (0,) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise NotUnderstood("shifts")
    for each, own in zip(shifts, axes, strict=True):
        (d,) = _axes(own, len(array._shape))
        extent, by = array._shape[d], operator.index(each)
        if not -extent < by < extent:
            raise NotUnderstood("a shift by more than there is")
        if by:
            before = tuple(slice(None) for _ in range(d))
            array = concatenate([array[(*before, slice(-by, None))], array[(*before, slice(None, -by))]], d)
    return array if any(shifts) else array.copy()


@understood(np.copy, how=COPY)
def copy(a: Value, order: str = "K", subok: bool = False) -> LazyArray:
    """The elements in a place of their own."""
    return _array(a).copy()


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
    if shape is not None or kind.kind not in "biufc":
        raise NotUnderstood("another shape")
    value = converted(fill_value, kind, trace)
    wide = broadcast_to(value, array._shape)
    if wide.shape == ():
        return value.copy() if not value.is_scalar else placed(whole_result(wide, trace), trace)
    return placed(whole_result(wide, trace), trace)


@understood(np.diff, how=ELEMENTS)
def diff(a: Value, n: int = 1, axis: int = -1) -> LazyArray:
    """Differences of neighbours."""
    array = _array(a)
    (d,) = _axes(axis, len(array._shape))
    before = (slice(None),) * d
    function = np.not_equal if array.dtype == np.bool_ else np.subtract
    for _ in range(n):
        array = function(array[(*before, slice(1, None))], array[(*before, slice(None, -1))])
    return array


# ----------------------------------------------------------------------------------------------------------------
# Functions of elements that are no ufuncs
# ----------------------------------------------------------------------------------------------------------------


@understood(np.where, how=ELEMENTS)
def where(condition: Value, x: Value = None, y: Value = None, /) -> Any:
    """Elements of one array or another one."""
    if x is None or y is None:
        trace = trace_of((condition,))
        trace.forced("where")
        return opaque(np.nonzero, (condition,), {})
    return pointwise(np.where, (condition, x, y), name="where", scalars=False)


@understood(np.clip, how=ELEMENTS)
def clip(a: Value, a_min: Value = None, a_max: Value = None, *, min: Value = None, max: Value = None) -> Any:
    """Elements between two ends."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if low is None and high is None:
        raise NotUnderstood("no ends")
    return pointwise(np.clip, (a, low, high), name="clip", into=True)


@understood(np.round, np.around, how=ELEMENTS)
def rounded(a: Value, decimals: int = 0) -> Any:
    """Rounded elements."""
    return pointwise(np.round, (a,), {"decimals": operator.index(decimals)}, name="round", into=True)


def _register_elements() -> None:
    def handler(function: Callable[..., Any]) -> Callable[..., Any]:
        def of_array(x: Value, *given: Value, **keywords: Any) -> Any:
            _require_plain(keywords)
            return pointwise(function, (x, *given), keywords, name=function.__name__)

        return of_array

    for function in (np.isclose, np.nan_to_num, np.isneginf, np.isposinf, np.fix):
        understood(function, how=ELEMENTS)(handler(function))
    for function in (np.angle, np.sinc, np.i0):
        understood(function, how=ELEMENTS, exactness=TOLERANCE)(handler(function))


_register_elements()


@understood(np.real, how=ELEMENTS)
def real(val: Value) -> LazyArray:
    """Real parts: in NumPy a view."""
    return _part(_array(val), np.real)


@understood(np.imag, how=ELEMENTS)
def imag(val: Value) -> LazyArray:
    """Imaginary parts: in NumPy a view."""
    return _part(_array(val), np.imag)


def _part(array: LazyArray, function: Callable[..., Any]) -> LazyArray:
    if function is np.real and array.dtype.kind != "c":
        return array
    found: LazyArray = pointwise(function, (array,), name=function.__name__, scalars=array.is_scalar)
    array._cell.uncertain = found._cell.uncertain = array.dtype.kind == "c"
    return found


# ----------------------------------------------------------------------------------------------------------------
# Methods
# ----------------------------------------------------------------------------------------------------------------


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(array: LazyArray, *given: Any, **keywords: Any) -> Any:
        return call_function(function, (array, *given), keywords)

    return method


def _reshape(array: LazyArray, *given: Any, **keywords: Any) -> Any:
    shape = given[0] if len(given) == 1 else given
    found = call_function(np.reshape, (array, shape), keywords)
    return found


def _flatten(array: LazyArray, order: str = "C") -> Any:
    return call_function(np.reshape, (array.copy(), -1), {"order": order})


def _sort(array: LazyArray, axis: int = -1, **keywords: Any) -> None:
    array.write(call_function(np.sort, (array,), {"axis": axis, **keywords}))


def _fill(array: LazyArray, value: Value) -> None:
    array[...] = value


METHODS: dict[str, Callable[..., Any]] = {
    name: _method(getattr(np, name))
    for name in (
        "sum prod mean std var min max any all argmin argmax cumsum cumprod clip round squeeze dot argsort conjugate "
        "nonzero repeat take trace diagonal searchsorted compress"
    ).split()
} | {
    "conj": _method(np.conjugate),
    "reshape": _reshape,
    "ravel": lambda array, order="C": _reshape(array, -1, order=order),
    "flatten": _flatten,
    "sort": _sort,
    "fill": _fill,
}

PROPERTIES: dict[str, Callable[[LazyArray], Any]] = {"real": real, "imag": imag}

__all__ = ["METHODS", "PROPERTIES", "accumulated", "filled", "lazy_arrays", "matmul", "outer_of", "reduced", "value_of"]
