"""What NumPy's functions and methods do to arrays without elements: a table, by name.

A function is given what it is called with, and counts what it goes over; it gives what the call gives. Of one that is
not known, it is thought that it goes once over all that it is given, and makes as much as the first of that.

Invariant: the same names do the same, as functions and as methods; no function of NumPy's is called.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from slinky.sched.efforts.arrays import UNKNOWN, BufferOnly, ShapeOnly, broadcast
from slinky.sched.efforts.counting import BY_INDEX, CHOSEN, SLOW, Counting, arrays_of, joined

Value: TypeAlias = Any
"""A `ShapeOnly` or a `BufferOnly`, `UNKNOWN`, or something of Python's."""

Given: TypeAlias = "list[Value]"
Named: TypeAlias = "dict[str, Value]"
Function: TypeAlias = Callable[[Counting, Given, Named], Value]


def call_of_numpy(counting: Counting, name: str, given: Given, named: Named) -> Value:
    """A call of a function of NumPy's or SciPy's, or of a method of an array, which is given first."""
    given = [each.array if isinstance(each, BufferOnly) else each for each in given]
    function = _FUNCTIONS.get(name)
    return unknown(counting, given, named) if function is None else function(counting, given, named)


def ufunc_called(counting: Counting, ufunc: np.ufunc, given: Given, named: Named) -> Value:
    """A call of a ufunc: of several results, one, for they are alike."""
    inputs, outputs = given[: ufunc.nin], given[ufunc.nin :]
    out = _out(named) if "out" in named else outputs[0] if outputs else None
    if ufunc.signature is not None:
        return product(counting, inputs, out)
    if "dtype" in named:
        dtype = dtype_of(named["dtype"])
    elif ufunc in _COMPARISONS:
        dtype = np.dtype(bool)
    else:
        dtype = joined(inputs, divides=ufunc is np.divide)
    return counting.elementwise(inputs, dtype, out, slow=SLOW * is_slow(ufunc.__name__, inputs)) or UNKNOWN


def ufunc_method_called(counting: Counting, name: str, given: Given, named: Named) -> Value:
    """A call of a method of a ufunc."""
    if name == "reduce":
        return _folded()(counting, given, {"axis": 0, **named} if len(given) < 2 else named)
    return unknown(counting, given, named)


def unknown(counting: Counting, given: Given, named: Named) -> Value:
    """A call of a function that is not known."""
    arrays = arrays_of([*given, *named.values()])
    if not arrays:
        counting.call()
        return UNKNOWN
    result = counting.result(arrays[0].shape, arrays[0].dtype, _out(named))
    counting.over(*arrays, result=result)
    return result


def product(counting: Counting, inputs: Sequence[Value], out: Value = None) -> Value:
    """A product of matrices or vectors."""
    arrays = [array for array in arrays_of(inputs) if array.shape]
    if len(arrays) != 2 or len(inputs) != 2:
        return unknown(counting, [*inputs], {"out": out})
    one, other = arrays
    shape: tuple[int, ...]
    if len(other.shape) == 1:
        shape = one.shape[:-1]
    elif len(one.shape) == 1:
        shape = (*other.shape[:-2], other.shape[-1])
    else:
        shape = (*broadcast([one.shape[:-2], other.shape[:-2]]), one.shape[-2], other.shape[-1])
    result = counting.result(shape, joined(inputs), out)
    counting.over(one, other, result=result, computed=SLOW * result.size)
    return result


def is_slow(name: str, inputs: Sequence[Value]) -> bool:
    """Whether the arithmetic of a ufunc takes longer than to go over the elements. Integers are divided fast by one
    number."""
    arrays = arrays_of(inputs)
    by_a_number = name in _DIVISIONS and len(arrays) == 1 and len(inputs) == 2 and arrays[0].dtype.kind in "iub"
    return name in _SLOW and not by_a_number


def dtype_of(said: Value) -> np.dtype[Any]:
    """A dtype that is said; that of floats where it is not known."""
    try:
        return np.dtype(float) if said is UNKNOWN else np.dtype(said)
    except TypeError:
        return np.dtype(float)


_SLOW = frozenset(
    (
        *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2"),
        *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "hypot"),
        *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
        *("power", "float_power", "cbrt", "remainder", "floor_divide", "fmod", "divmod"),
    )
)
_DIVISIONS = ("floor_divide", "remainder", "divmod")
_COMPARISONS = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.isnan, np.isfinite)


def _out(named: Mapping[str, Value]) -> Value:
    said = named.get("out")
    return said[0] if isinstance(said, tuple) and said else said


def _first(given: Given) -> ShapeOnly | None:
    return given[0] if given and isinstance(given[0], ShapeOnly) else None


def _axis(said: Value, rank: int) -> int | None:
    """An axis counted from the first; None where that is not known."""
    return int(said) % rank if isinstance(said, (int, np.integer)) and rank else None


def _axes(said: Value, rank: int) -> list[int] | None:
    """Several of them, or all where none is said; None where that is not known."""
    each = range(rank) if said is None else said if isinstance(said, (tuple, list)) else (said,)
    known = [axis for axis in (_axis(one, rank) for one in each) if axis is not None]
    return known if len(known) == len(each) else None


def _shape(said: Sequence[Value], size: int) -> list[int] | None:
    """A shape that is said, with what is left of a size where it says -1; None where it is not known."""
    extents = list(said[0]) if len(said) == 1 and isinstance(said[0], (tuple, list)) else list(said)
    if not extents or not all(isinstance(extent, (int, np.integer)) for extent in extents):
        return None
    known = math.prod([extent for extent in extents if extent >= 0])
    return [int(extent) if extent >= 0 else size // max(known, 1) for extent in extents]


# Views ----------------------------------------------------------------------------------------------------------------

_View: TypeAlias = Callable[[ShapeOnly, "list[Value]", "dict[str, Value]"], "ShapeOnly | None"]


def _viewed(view_of: _View, calls: float = 0.5) -> Function:
    """A function that gives a view; the array itself where it is not known which."""

    def function(counting: Counting, given: Given, named: Named) -> Value:
        counting.call(calls)
        array = _first(given)
        if array is None:
            return given[0] if given else UNKNOWN
        return view_of(array, given[1:], named) or array

    return function


def _moveaxis(array: ShapeOnly, given: Given, named: Named) -> ShapeOnly | None:
    said = [each for each in (*given, named.get("source"), named.get("destination")) if each is not None]
    ends = _axes(said[:2], len(array.shape))
    if ends is None or len(ends) != 2:
        return None
    source, target = ends
    axes = [axis for axis in range(len(array.shape)) if axis != source]
    axes.insert(target, source)
    return array.reordered(axes)


def _swapaxes(array: ShapeOnly, given: Given, named: Named) -> ShapeOnly | None:
    axes = list(range(len(array.shape)))
    swapped = _axes(given, len(axes))
    if swapped is None or len(swapped) != 2:
        return None
    one, other = swapped
    axes[one], axes[other] = other, one
    return array.reordered(axes)


def _transpose(array: ShapeOnly, given: Given, named: Named) -> ShapeOnly | None:
    said = named.get("axes", given[0] if len(given) == 1 else tuple(given))
    rank = len(array.shape)
    axes = _axes(said, rank) if said else list(range(rank))[::-1]
    return array.reordered(axes) if axes is not None and sorted(axes) == list(range(rank)) else None


def _expand_dims(array: ShapeOnly, given: Given, named: Named) -> ShapeOnly | None:
    axis = _axis(named.get("axis", given[0] if given else None), len(array.shape) + 1)
    return None if axis is None else array.taken([*[slice(None)] * axis, None, Ellipsis])


def _squeeze(array: ShapeOnly, given: Given, named: Named) -> ShapeOnly | None:
    return array.reordered([axis for axis, extent in enumerate(array.shape) if extent != 1])


def _ravel(array: ShapeOnly, given: Given, named: Named) -> ShapeOnly | None:
    return array.view((array.size,))


def _reshape(array: ShapeOnly, given: Given, named: Named) -> ShapeOnly | None:
    return array.view(_shape(given or [named.get("shape", named.get("newshape"))], array.size) or (array.size,))


def _broadcast_to(array: ShapeOnly, given: Given, named: Named) -> ShapeOnly | None:
    shape = _shape([*given, named.get("shape")][:1], array.size)
    return None if shape is None else array.view(shape, array.strides_in(shape))


def _sliding_window_view(array: ShapeOnly, given: Given, named: Named) -> ShapeOnly | None:
    window = given[0] if given else named.get("window_shape")
    sizes = window if isinstance(window, tuple) else (window,)
    axes = _axes(named.get("axis", given[1] if len(given) > 1 else None), len(array.shape))
    if axes is None or len(sizes) != len(axes) or not all(isinstance(size, int) for size in sizes):
        return None
    shape = list(array.shape)
    for size, axis in zip(sizes, axes, strict=True):
        shape[axis] -= size - 1
    return array.view([*shape, *sizes], [*array.strides, *(array.strides[axis] for axis in axes)])


def _same(array: ShapeOnly, given: Given, named: Named) -> ShapeOnly | None:
    return None


# What is made ---------------------------------------------------------------------------------------------------------


def _maker(is_written: bool) -> Function:
    """A function that makes an array of a shape, which it writes or leaves as it is."""

    def function(counting: Counting, given: Given, named: Named) -> Value:
        said = named.get("dtype", next((each for each in given[1:] if _is_dtype(each)), None))
        shape = _shape([named.get("shape", given[0] if given else UNKNOWN)], 0)
        return _filled(counting, shape, dtype_of(said), is_written)

    return function


def _maker_like(is_written: bool) -> Function:
    """A function that makes one like another."""

    def function(counting: Counting, given: Given, named: Named) -> Value:
        array = _first(given)
        if array is None:
            return unknown(counting, given, named)
        said = named.get("dtype", next((each for each in given[1:] if _is_dtype(each)), array.dtype))
        shape = [*array.shape] if named.get("shape") is None else _shape([named["shape"]], 0)
        return _filled(counting, shape, array.dtype if said is None else dtype_of(said), is_written)

    return function


def _filled(counting: Counting, shape: list[int] | None, dtype: np.dtype[Any], is_written: bool) -> Value:
    counting.call()
    if shape is None:
        return UNKNOWN
    array = counting.made(shape, dtype)
    if is_written:
        counting.over(result=array, calls=0)
    return array


def _is_dtype(value: Value) -> bool:
    is_type = isinstance(value, type) and issubclass(value, (np.generic, int, float, bool))
    return is_type or isinstance(value, np.dtype)


def _arange(counting: Counting, given: Given, named: Named) -> Value:
    if len(given) in (1, 2) and all(isinstance(n, (int, np.integer)) for n in given):
        count = int(given[-1]) - (int(given[0]) if len(given) == 2 else 0)
        return _filled(counting, [max(count, 0)], dtype_of(named.get("dtype", np.intp)), True)
    counting.call()
    return UNKNOWN


def _astype(counting: Counting, given: Given, named: Named) -> Value:
    array, dtype = _first(given), dtype_of(named.get("dtype", given[1] if len(given) > 1 else UNKNOWN))
    if array is None or (named.get("copy") is False and array.dtype == dtype):
        return array or UNKNOWN
    return counting.cast(array, dtype)


def _copy(counting: Counting, given: Given, named: Named) -> Value:
    array = _first(given)
    if array is None:
        counting.call()
        return UNKNOWN
    return counting.cast(array, dtype_of(named["dtype"]) if named.get("dtype") is not None else array.dtype)


def _asarray(counting: Counting, given: Given, named: Named) -> Value:
    """Nothing is copied that is an array of the dtype."""
    array = _first(given)
    said = named.get("dtype", given[1] if len(given) > 1 else None)
    if array is None or said is None or dtype_of(said) == array.dtype:
        counting.call(0.5)
        return array or UNKNOWN
    return counting.cast(array, dtype_of(said))


def _copyto(counting: Counting, given: Given, named: Named) -> Value:
    """`copyto` and `fill`."""
    counting.over(*given[1:2], result=_first(given))
    return None


def _concatenate(counting: Counting, given: Given, named: Named) -> Value:
    parts = [
        part for part in arrays_of(given[0] if given and isinstance(given[0], (list, tuple)) else ()) if part.shape
    ]
    axis = _axis(named.get("axis", given[1] if len(given) > 1 else 0), len(parts[0].shape) if parts else 0)
    if axis is None:
        return unknown(counting, [*parts], named)
    shape = list(parts[0].shape)
    shape[axis] = sum([part.shape[axis] for part in parts if axis < len(part.shape)])
    result = counting.result(shape, joined(parts), _out(named))
    counting.over(*parts, result=result, calls=2)
    return result


def _stack(counting: Counting, given: Given, named: Named) -> Value:
    parts = arrays_of(given[0] if given and isinstance(given[0], (list, tuple)) else ())
    axis = _axis(named.get("axis", given[1] if len(given) > 1 else 0), len(parts[0].shape) + 1 if parts else 0)
    if axis is None:
        return unknown(counting, [*parts], named)
    shape = list(parts[0].shape)
    shape.insert(axis, len(parts))
    result = counting.result(shape, joined(parts), _out(named))
    counting.over(*parts, result=result, calls=len(parts))
    return result


# What goes over elements ----------------------------------------------------------------------------------------------


def _elementwise(inputs: int, calls: float = 1) -> Function:
    """A function that goes over so many inputs element by element, and may be given behind them where to write."""

    def function(counting: Counting, given: Given, named: Named) -> Value:
        out = given[inputs] if len(given) > inputs else _out(named)
        return counting.elementwise(given[:inputs], out=out, calls=calls) or UNKNOWN

    return function


def _where(counting: Counting, given: Given, named: Named) -> Value:
    if len(given) != 3:
        return unknown(counting, given, named)
    arrays = arrays_of(given)
    if not arrays:
        counting.call(5)
        return UNKNOWN
    result = counting.made(broadcast([array.shape for array in arrays]), joined(given[1:]), arrays)
    counting.over(*arrays, result=result, calls=3, computed=CHOSEN * result.size)
    return result


def _folded(dtype: object = None, calls: float = 2.5) -> Function:
    """A reduction over axes."""

    def function(counting: Counting, given: Given, named: Named) -> Value:
        array = _first(given)
        said = named.get("axis", given[1] if len(given) > 1 else None)
        gone = None if array is None else _axes(said, len(array.shape))
        if array is None or gone is None:
            return unknown(counting, given, named)
        keeps = named.get("keepdims") is True
        shape = [1 if axis in gone else n for axis, n in enumerate(array.shape) if keeps or axis not in gone]
        kind = named.get("dtype", dtype)
        result = counting.result(shape, array.dtype if kind is None else dtype_of(kind), _out(named))
        counting.over(array, calls=calls)
        return result if shape else UNKNOWN

    return function


def _var(counting: Counting, given: Given, named: Named) -> Value:
    """`var` and `std`: a mean, differences, their squares, and the mean of these."""
    array = _first(given)
    if array is None:
        return unknown(counting, given, named)
    _MEAN(counting, given, named)
    away = counting.elementwise((array, array))
    counting.elementwise((away, away), out=away)
    return _MEAN(counting, [away, *given[1:]], named)


_MEAN = _folded(calls=11)


def _accumulated(counting: Counting, given: Given, named: Named) -> Value:
    """`cumsum` and its like."""
    array = _first(given)
    if array is None:
        return unknown(counting, given, named)
    said = named.get("axis", given[1] if len(given) > 1 else None)
    result = counting.result((array.size,) if said is None else array.shape, array.dtype, _out(named))
    counting.over(array, result=result, computed=SLOW * result.size, is_apart=_is_apart(array, said))
    return result


def _is_apart(array: ShapeOnly, said: Value) -> bool:
    """Whether elements lie apart along an axis; all of them, where none is said, do not."""
    axis = _axis(said, len(array.shape))
    return axis is not None and abs(array.strides[axis]) > 1


def _take(counting: Counting, given: Given, named: Named) -> Value:
    """`take` and `take_along_axis`."""
    array, index = _first(given), _first(given[1:])
    if array is None or index is None:
        return unknown(counting, given, named)
    counting.call(4)
    return counting.fetched(array, index.shape, index, _out(named))


def _bincount(counting: Counting, given: Given, named: Named) -> Value:
    array, count = _first(given), named.get("minlength", given[2] if len(given) > 2 else UNKNOWN)
    if array is None or not isinstance(count, int):
        return unknown(counting, given, named)
    result = counting.made((count,), np.dtype(float if len(given) > 1 else np.intp))
    index = array if array.dtype == np.intp else counting.cast(array, np.dtype(np.intp))
    counting.over(*given[1:2], index, calls=5, computed=BY_INDEX * index.size)
    return result


def _sort(counting: Counting, given: Given, named: Named) -> Value:
    """`sort` and what else goes over elements more than once."""
    array = _first(given)
    if array is not None:
        axis = named.get("axis", given[1] if len(given) > 1 else -1)
        counting.over(array, calls=0, computed=4 * SLOW * array.size, is_apart=_is_apart(array, axis))
    return unknown(counting, given, named)


def _dot(counting: Counting, given: Given, named: Named) -> Value:
    return product(counting, given[:2], given[2] if len(given) > 2 else _out(named))


_FUNCTIONS: dict[str, Function] = {
    "empty": _maker(False),
    "zeros": _maker(True),
    "ones": _maker(True),
    "full": _maker(True),
    "empty_like": _maker_like(False),
    "zeros_like": _maker_like(True),
    "ones_like": _maker_like(True),
    "full_like": _maker_like(True),
    "arange": _arange,
    "astype": _astype,
    "array": _copy,
    "copy": _copy,
    "flatten": _copy,
    "asarray": _asarray,
    "asanyarray": _asarray,
    "ascontiguousarray": _asarray,
    "copyto": _copyto,
    "fill": _copyto,
    "concatenate": _concatenate,
    "stack": _stack,
    "ravel": _viewed(_ravel),
    "reshape": _viewed(_reshape),
    "moveaxis": _viewed(_moveaxis, 9),
    "transpose": _viewed(_transpose),
    "swapaxes": _viewed(_swapaxes),
    "squeeze": _viewed(_squeeze),
    "expand_dims": _viewed(_expand_dims, 5),
    "broadcast_to": _viewed(_broadcast_to, 9),
    "sliding_window_view": _viewed(_sliding_window_view, 30),
    "flip": _viewed(_same),
    "view": _viewed(_same),
    "clip": _elementwise(3, 7),
    "round": _elementwise(1, 3),
    "conj": _elementwise(1),
    "where": _where,
    **dict.fromkeys(("sum", "prod", "min", "max", "amin", "amax", "ptp"), _folded()),
    **dict.fromkeys(("any", "all"), _folded(np.bool_)),
    **dict.fromkeys(("argmin", "argmax", "count_nonzero"), _folded(np.intp)),
    **dict.fromkeys(("mean", "average", "median"), _MEAN),
    **dict.fromkeys(("var", "std"), _var),
    **dict.fromkeys(("cumsum", "cumprod"), _accumulated),
    "take": _take,
    "take_along_axis": _take,
    "bincount": _bincount,
    "dot": _dot,
    **dict.fromkeys(("sort", "argsort", "partition", "argpartition"), _sort),
}
"""What is known, by the name of the function or the method."""
