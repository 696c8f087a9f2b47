"""Handlers of the functions of NumPy that are understood, and the lists of those that need none of their own.

Invariant: a handler gives what NumPy gives for the same arguments, or refuses by `NotUnderstoodError`.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from slinky.frontend.arrays import LazyArray, Value, made, placed, solid
from slinky.frontend.calling import call_function, filled, lifted, pointwise
from slinky.frontend.fences import opaque
from slinky.frontend.given import as_lazy, axes_of, axis_of, is_set, lazy_arrays, trace_of
from slinky.frontend.masked_reductions import Masked, mask_of
from slinky.frontend.operations import Along, Contraction
from slinky.frontend.sizes import Length, are_same, known, same, value_of
from slinky.frontend.tables import (
    ALONG,
    EXACT,
    TABLE,
    TOLERANCE,
    NotUnderstoodError,
    adds_rows,
    exactness_along,
    exactness_reduced,
    name_of,
    understood,
)
from slinky.frontend.views import broadcast, common_shape

ELEMENTS = "by elements"
WHOLE_AXES = "along whole axes"


def dtype_of(
    function: Callable[..., Any], ranks: Sequence[tuple[int, Any]], keywords: dict[str, Any], extent: int = 1
) -> Any:
    """The dtype of what a function gives, asked of arrays with one element along each axis, or so many."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dtype = np.asarray(function(*(np.ones((extent,) * rank, dtype) for rank, dtype in ranks), **keywords)).dtype
    if dtype.kind not in "biufc":
        raise NotUnderstoodError(f"results of {dtype}")
    return dtype


def _require_plain(keywords: dict[str, Any]) -> None:
    """Further arguments are part of what a pipeline is, so they must be known."""
    for key, value in keywords.items():
        kind = type(value)  # a size says that it is an int
        if value is not None and not issubclass(kind, (bool, int, float, str, type, np.dtype, tuple)):
            raise NotUnderstoodError(f"{key}= of {kind.__name__}")  # not its text: that of a lazy array is its values


# ----------------------------------------------------------------------------------------------------------------
# Reductions, and functions of whole axes
# ----------------------------------------------------------------------------------------------------------------


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
    array = as_lazy(a)
    rank = len(array._shape)
    keywords = {key: value for key, value in keywords.items() if value is not np._NoValue}
    mask = mask_of(keywords.pop("where", True), array)
    if dtype is not None:
        keywords["dtype"] = np.dtype(dtype)
    _require_plain(keywords)
    if not rank:
        raise NotUnderstoodError("no axes")
    removed = axes_of(axis, rank)
    keepdims = is_set(keepdims)
    if out is not None or not removed or array.is_scalar:
        raise NotUnderstoodError("out=, or no axes")
    keywords["axis"] = None if axis is None else removed if isinstance(axis, tuple) else removed[0]
    views, ranks, called = [solid(array._view, array._trace)], [(rank, array.dtype)], function
    if mask is not None:
        views, ranks, called = [*views, mask], [*ranks, (rank, np.dtype(bool))], Masked(function)
    kind = dtype_of(called, ranks, keywords)
    shape = tuple(n for d, n in enumerate(array._shape) if d not in removed)
    exactness = exactness_reduced(function, name, array.dtype, kind, removed == (rank - 1,) or len(removed) == rank)
    inner = range(min(removed), rank) if exactness != EXACT else ()
    wide = tuple(d for d in inner if d not in removed and not same(array._shape[d], 1))
    is_plain = mask is None and array._view.is_turned_nowhere
    if exactness == TOLERANCE and is_plain and rank - 1 in wide and adds_rows(name, array.dtype, kind):
        exactness = ALONG
    operation = Along(name, called, removed, removed, tuple(sorted(keywords.items())), exactness, wide)
    (result,) = made(operation, views, [(shape, kind, not shape and not keepdims)], array._trace)
    found = placed(result, array._trace)
    return found[tuple(None if d in removed else slice(None) for d in range(rank))] if keepdims else found


def accumulated(
    function: Callable[..., Any],
    name: str,
    a: Value,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    length: Callable[[Length], Length] | None = None,
    **keywords: Any,
) -> LazyArray:
    """What a function gives that goes along one axis and keeps it, as long as it is, or another `length`."""
    array = as_lazy(a)
    rank = len(array._shape)
    if out is not None or rank == 0 or (axis is None and rank != 1):
        raise NotUnderstoodError("no axis")
    if dtype is not None:
        keywords["dtype"] = np.dtype(dtype)
    _require_plain(keywords)
    axes = (axis_of(0 if axis is None else axis, rank),)
    keywords["axis"] = axes[0]
    asked = {**keywords, "n": 2} if "n" in keywords else keywords  # not as long as it is
    kind = dtype_of(function, [(rank, array.dtype)], asked, 1 if length is None else 2)
    operation = Along(name, function, axes, (), tuple(sorted(keywords.items())), exactness_along(function))
    shape = array._shape
    if length is not None:
        shape = (*shape[: axes[0]], length(shape[axes[0]]), *shape[axes[0] + 1 :])
    return placed(
        made(operation, [solid(array._view, array._trace)], [(shape, kind, False)], array._trace)[0], array._trace
    )


def _register_reductions() -> None:
    def handler(function: Callable[..., Any]) -> Callable[..., Any]:
        name = name_of(function)

        def of_array(a: Value, axis: Any = None, *given: Any, **keywords: Any) -> LazyArray:
            if given:
                raise NotUnderstoodError("arguments by position")
            return reduced(function, name, a, axis, **keywords)

        return of_array

    # What NumPy takes by position after the axis is a dtype, or out: rare, so not understood.
    exact: list[Callable[..., Any]] = [
        np.min, np.max, np.amin, np.amax, np.any, np.all, np.argmin, np.argmax, np.ptp, np.count_nonzero, np.nanmin,
        np.nanmax, np.median, np.nanmedian, np.nanargmin, np.nanargmax,
    ]  # fmt: skip
    rounded: list[Callable[..., Any]] = [
        np.sum, np.prod, np.mean, np.std, np.var, np.nansum, np.nanprod, np.nanmean, np.nanstd, np.nanvar,
    ]  # fmt: skip
    for function in exact:
        understood(function, how="reduced " + WHOLE_AXES, exactness=EXACT)(handler(function))
    for function in rounded:
        understood(function, how="reduced " + WHOLE_AXES, exactness=ALONG)(handler(function))


def _register_along() -> None:
    def handler(function: Callable[..., Any], default: Any) -> Callable[..., Any]:
        name = name_of(function)

        def of_array(a: Value, axis: Any = default, *given: Any, **keywords: Any) -> LazyArray:
            if given:
                raise NotUnderstoodError("arguments by position")
            return accumulated(function, name, a, axis, **keywords)

        return of_array

    def transform(function: Callable[..., Any], length: Callable[[Length], Length] | None) -> Callable[..., Any]:
        name = name_of(function).split(".")[-1]

        def of_array(a: Value, n: Any = None, axis: int = -1, norm: Any = None) -> LazyArray:
            array, own, keywords = as_lazy(a), length, {"norm": norm}
            extent = array._shape[axis_of(axis, len(array._shape))]
            if n is not None and (length is _of_half or not are_same(n, extent)):
                if type(n) is bool or not n >= 1:
                    raise NotUnderstoodError("no elements")  # NumPy says so
                count = keywords["n"] = known(n)
                own = partial(_so_many, count if length in (None, _of_half) else length(count))
            return accumulated(function, name, array, axis, length=own, **keywords)

        return of_array

    running: list[Callable[..., Any]] = [np.cumsum, np.cumprod, np.nancumsum, np.nancumprod]
    sorting: list[Callable[..., Any]] = [np.sort, np.argsort]
    for function in running:
        understood(function, how=WHOLE_AXES, exactness=ALONG)(handler(function, None))
    for function in sorting:
        understood(function, how=WHOLE_AXES, exactness=ALONG)(handler(function, -1))
    transforms: dict[Callable[..., Any], Callable[[Length], Length] | None] = {
        np.fft.fft: None,
        np.fft.ifft: None,
        np.fft.rfft: lambda n: n // 2 + 1,
        np.fft.ihfft: lambda n: n // 2 + 1,
        np.fft.irfft: _of_half,
        np.fft.hfft: _of_half,
    }
    for function, length in transforms.items():
        understood(function, how=WHOLE_AXES, exactness=TOLERANCE)(transform(function, length))


def _so_many(count: Length, _: Length) -> Length:
    return count


def _of_half(n: Length) -> Length:
    """How long what is real is, of which half of the transform is given."""
    if not n >= 2:
        raise NotUnderstoodError("too few elements")  # NumPy says so
    return 2 * (n - 1)


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
        raise NotUnderstoodError("shapes")  # NumPy says what is wrong with them
    before = common_shape([left._shape[:-2], right._shape[:-2]])
    rows = left._shape[-2:-1] if ranks[0] > 1 else ()
    columns = right._shape[-1:] if ranks[1] > 1 else ()
    common = tuple(range(len(before)))
    views = [
        broadcast(solid(array._view, trace), (*before, *array._shape[-2:])) if rank > 1 else solid(array._view, trace)
        for array, rank in ((left, ranks[0]), (right, ranks[1]))
    ]
    row, column = len(before), len(before) + len(rows)
    labels = (
        (*common, row, None) if ranks[0] > 1 else (None,),
        (*common, None, column) if ranks[1] > 1 else (None,),
    )
    kind = dtype_of(np.matmul, [(ranks[0], left.dtype), (ranks[1], right.dtype)], {})
    exact = EXACT if kind.kind in "biu" else TOLERANCE
    shape = (*before, *rows, *columns)
    operation = Contraction("matmul", np.matmul, labels, exactness=exact)
    return placed(made(operation, views, [(shape, kind, not shape)], trace)[0], trace)


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
        raise NotUnderstoodError("ranks")
    return np.multiply(left[:, None], right)


# ----------------------------------------------------------------------------------------------------------------
# Functions of elements that are no ufuncs
# ----------------------------------------------------------------------------------------------------------------


@understood(np.where, how=ELEMENTS)
def where(condition: Value, x: Value = None, y: Value = None, /) -> Any:
    """Elements of one array or another one."""
    if (x is None) != (y is None):
        raise NotUnderstoodError("one of two")
    if x is None:
        trace = trace_of((condition,))
        trace.forced("where", *[each._view for each in lazy_arrays(condition)])
        return opaque(np.nonzero, (condition,), {})
    return pointwise(np.where, (condition, x, y), name="where", scalars=False)


@understood(np.clip, how=ELEMENTS)
def clip(a: Value, *ends: Value, **named: Value) -> Any:
    """Elements between two ends, by position or as `a_min` and `a_max`, or as `min` and `max`."""
    old, new = {"a_min", "a_max"}, {"min", "max"}
    given = {**dict(zip(("a_min", "a_max"), ends, strict=False)), **named}
    are_known = given.keys() == old or (given.keys() <= new and not ends)
    if len(ends) > 2 or not are_known:
        raise NotUnderstoodError("ends")
    low, high = (given.get(name, given.get(f"a_{name}")) for name in ("min", "max"))
    if low is None and high is None:
        np.clip(np.zeros(1), low, high)  # which NumPy refuses before 2.1
        return pointwise(np.positive, (a,), name="clip", into=True)
    return pointwise(np.clip, (a, low, high), name="clip", into=True)


@understood(np.round, np.around, how=ELEMENTS)
def rounded(a: Value, decimals: int = 0) -> Any:
    """Rounded elements."""
    return pointwise(np.round, (a,), {"decimals": operator.index(decimals)}, name="round")


def _register_elements() -> None:
    def handler(function: Callable[..., Any]) -> Callable[..., Any]:
        def of_array(x: Value, *given: Value, **keywords: Any) -> Any:
            _require_plain(keywords)
            if given and function in of_one:
                raise NotUnderstoodError("where the result goes" if function is not np.angle else "options")
            exactness, gives_scalars = TABLE[function].exactness, function is not np.i0
            return pointwise(
                function, (x, *given), keywords, name=function.__name__, exactness=exactness, scalars=gives_scalars
            )

        return of_array

    exact: list[Callable[..., Any]] = [np.isclose, np.isneginf, np.isposinf, np.fix]
    others: list[Callable[..., Any]] = [np.angle, np.sinc, np.i0]
    of_one = {np.angle, np.isneginf, np.isposinf, np.fix}
    for function in exact:
        understood(function, how=ELEMENTS)(handler(function))
    for function in others:
        understood(function, how=ELEMENTS, exactness=TOLERANCE)(handler(function))


_register_elements()


@understood(np.nan_to_num, how=ELEMENTS)
def nan_to_num(x: Value, copy: Any = True, **keywords: Any) -> LazyArray:
    """Numbers in the place of what is none: in the array itself, unless it is to be copied."""
    _require_plain({"copy": copy, **keywords})
    array = as_lazy(x)
    filled = _chosen(array, **keywords) if array._shape and array.dtype in (np.float32, np.float64) else None
    found: LazyArray = pointwise(np.nan_to_num, (x,), keywords, name="nan_to_num") if filled is None else filled
    if not copy and not as_lazy(x).is_scalar and as_lazy(x).dtype.kind in "fc":
        as_lazy(x).write(found)
    return found if copy or not found._shape else as_lazy(x)


def _chosen(array: LazyArray, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> LazyArray | None:
    """Numbers in the place of what is none, one choice after the other; None if they are no numbers of its dtype."""
    ends = np.finfo(array.dtype)
    wanted = (ends.min if neginf is None else neginf, ends.max if posinf is None else posinf, nan)
    if not all(type(each) in (int, float) or isinstance(each, (np.integer, np.floating)) for each in wanted):
        return None
    with np.errstate(all="ignore"):
        low, high, middle = (array.dtype.type(each) for each in wanted)
    if any(np.isinf(end) and not np.isinf(each) for end, each in zip((low, high, middle), wanted, strict=True)):
        return None  # NumPy warns of it
    found: LazyArray = array
    for is_it, value in ((np.equal(array, -np.inf), low), (np.equal(array, np.inf), high), (np.isnan(array), middle)):
        found = pointwise(np.where, (is_it, value, found), name="nan_to_num", scalars=False)
    return found


@understood(np.real, how=ELEMENTS)
def real(val: Value) -> LazyArray:
    """Real parts: in NumPy a view."""
    return _part(as_lazy(val), np.real)


@understood(np.imag, how=ELEMENTS)
def imag(val: Value) -> LazyArray:
    """Imaginary parts: in NumPy a view."""
    return _part(as_lazy(val), np.imag)


def _part(array: LazyArray, function: Callable[..., Any]) -> LazyArray:
    if function is np.real and array.dtype.kind != "c":
        return array
    found: LazyArray = pointwise(function, (array,), name=function.__name__, scalars=array.is_scalar)
    if array.dtype.kind != "c":
        return found if array.is_scalar else found.read_only()
    array._cell.uncertain = found._cell.uncertain = True
    return found


# ----------------------------------------------------------------------------------------------------------------
# Methods
# ----------------------------------------------------------------------------------------------------------------


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(array: LazyArray, *given: Any, **keywords: Any) -> Any:
        return call_function(function, (array, *given), keywords)

    return method


def _reshape(array: LazyArray, *given: Any, **keywords: Any) -> Any:
    if not given:
        raise TypeError("reshape() takes exactly 1 argument (0 given)")
    shape = given[0] if len(given) == 1 else given
    return call_function(np.reshape, (array, shape), keywords)


def _flatten(array: LazyArray, order: str = "C") -> Any:
    return _ravel(array.copied(), order)


def _ravel(array: LazyArray, order: str = "C") -> Any:
    return call_function(np.ravel, (array, order), {})


def _clip(array: LazyArray, min: Value = None, max: Value = None, **keywords: Any) -> Any:
    return call_function(np.clip, (array, min, max), keywords)


def _sort(array: LazyArray, axis: int = -1, **keywords: Any) -> None:
    array.write(call_function(np.sort, (array,), {"axis": axis, **keywords}))


def _partition(array: LazyArray, kth: Any, axis: int = -1, **keywords: Any) -> None:
    array.write(call_function(np.partition, (array, kth), {"axis": axis, **keywords}))


def _fill(array: LazyArray, value: Value) -> None:
    array[...] = value


def _conjugated(array: LazyArray, out: Any = None) -> Any:
    """As the method does it: an array without imaginary parts is given back itself, also one of bools."""
    if array.dtype.kind == "c" or (out is not None and array.dtype.kind != "b"):
        return np.conjugate(array, out)
    return array if out is None else np.positive(array.astype(np.int8), out, casting="unsafe")


METHODS: dict[str, Callable[..., Any]] = {
    name: _method(getattr(np, name))
    for name in [
        "sum",
        "prod",
        "mean",
        "std",
        "var",
        "min",
        "max",
        "any",
        "all",
        "argmin",
        "argmax",
        "cumsum",
        "cumprod",
        "round",
        "squeeze",
        "dot",
        "argsort",
        "argpartition",
        "choose",
        "nonzero",
        "repeat",
        "take",
        "trace",
        "diagonal",
        "searchsorted",
    ]
} | {
    "compress": lambda array, condition, axis=None, out=None: np.compress(condition, array, axis, out),
    "conj": _conjugated,
    "conjugate": _conjugated,
    "reshape": _reshape,
    "ravel": _ravel,
    "clip": _clip,
    "flatten": _flatten,
    "sort": _sort,
    "partition": _partition,
    "fill": _fill,
}

PROPERTIES: dict[str, Callable[[LazyArray], Any]] = {"real": real, "imag": imag}

__all__ = [
    "METHODS",
    "PROPERTIES",
    "accumulated",
    "dtype_of",
    "filled",
    "lazy_arrays",
    "matmul",
    "outer_of",
    "reduced",
    "value_of",
]
