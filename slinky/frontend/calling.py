"""What lazy arrays do when NumPy hands over to them: ufuncs, operators, functions, attributes.

Idea. NumPy itself is asked what comes of an operation: it is called on arrays without elements of the same dtypes, with
the very numbers, so that promotion, casting and errors are NumPy's. What the tables do not know runs whole (`opaque`).

Invariant: whatever is done here gives a lazy array for what NumPy would give, or values that are computed now.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from slinky.errors import SlinkyError
from slinky.frontend.arrays import LazyArray, Value, is_traceable, made, placed
from slinky.frontend.fences import opaque
from slinky.frontend.given import dtypes_among, lazy_arrays, trace_of
from slinky.frontend.indexed import own_array
from slinky.frontend.listed import array_of
from slinky.frontend.nodes import Array, Result, Shape, View, exactly
from slinky.frontend.operations import Extent, Number, Operand, Pointwise, as_it_is
from slinky.frontend.reals import Real, Told, known_reals, now
from slinky.frontend.sizes import Length, Size, known, same, value_of
from slinky.frontend.tables import (
    ABOUT_MEMORY,
    EXACT,
    TABLE,
    WRITING,
    NotUnderstoodError,
    exactness_of,
    name_of,
)
from slinky.frontend.tracing import Trace
from slinky.frontend.views import joined_shape, no_broadcast, shape_in_words
from slinky.graph.terms import own_power

OPERATORS: dict[str, tuple[Callable[..., Any], np.ufunc]] = {
    "add": (operator.add, np.add),
    "sub": (operator.sub, np.subtract),
    "mul": (operator.mul, np.multiply),
    "truediv": (operator.truediv, np.true_divide),
    "floordiv": (operator.floordiv, np.floor_divide),
    "mod": (operator.mod, np.remainder),
    "pow": (operator.pow, np.power),
    "matmul": (operator.matmul, np.matmul),
    "and": (operator.and_, np.bitwise_and),
    "or": (operator.or_, np.bitwise_or),
    "xor": (operator.xor, np.bitwise_xor),
    "lshift": (operator.lshift, np.left_shift),
    "rshift": (operator.rshift, np.right_shift),
    "divmod": (divmod, np.divmod),
    "eq": (operator.eq, np.equal),
    "ne": (operator.ne, np.not_equal),
    "lt": (operator.lt, np.less),
    "le": (operator.le, np.less_equal),
    "gt": (operator.gt, np.greater),
    "ge": (operator.ge, np.greater_equal),
    "neg": (operator.neg, np.negative),
    "pos": (operator.pos, np.positive),
    "abs": (operator.abs, np.absolute),
    "invert": (operator.invert, np.invert),
}
"""What Python's operators are of numbers, and of arrays."""

_NUMBERS = (bool, int, float, complex)


# ----------------------------------------------------------------------------------------------------------------
# What is given
# ----------------------------------------------------------------------------------------------------------------


def _is_scalar_of_numpy(value: Value) -> bool:
    return type(value) is not LazyArray and isinstance(value, np.generic)


def is_known(value: Value) -> bool:
    """Whether something can be an operand."""
    if type(value) in (LazyArray, Size, Real) or type(value) in _NUMBERS:
        return True
    if isinstance(value, np.generic):
        return value.dtype.kind in "biufc"
    return is_traceable(value) or (isinstance(value, (list, tuple)) and not lazy_arrays(value))


def lifted(value: Value, trace: Trace) -> LazyArray:
    """A value as a lazy array.

    Raises `NotUnderstoodError` for what is none.
    """
    if type(value) is LazyArray:
        return value
    if isinstance(value, (list, tuple)) and lazy_arrays(value):
        raise NotUnderstoodError("lists of arrays")
    array = np.asarray(known(value) if type(value) is Size else known_reals(own_array(value)))
    if not is_traceable(array):
        raise NotUnderstoodError(f"arrays of {array.dtype}")
    return placed(trace.source(array, "array"), trace)


def filled(shape: Shape, dtype: Any, value: Any, trace: Trace) -> LazyArray:
    """An array that is full of a value."""
    number = np.asarray(value).astype(dtype)[()]
    operation = Pointwise("full", as_it_is, (number,))
    return placed(made(operation, [], [(tuple(shape), np.dtype(dtype), False)], trace)[0], trace)


def told_later(value: Real, dtype: np.dtype[Any], trace: Trace) -> LazyArray:
    """A float that is told at each call as an array without axes."""
    operation = Pointwise("full", as_it_is, (Number(0),), floats=(trace.reals.told(value),))
    return placed(made(operation, [], [((), dtype, False)], trace)[0], trace)


def sized(size: Length, dtype: Any, trace: Trace) -> LazyArray:
    """A size as a scalar, for what computes with it otherwise than sizes do."""
    operation = Pointwise("full", as_it_is, (Extent(0),), extents=(size,))
    return placed(made(operation, [], [((), np.dtype(dtype), True)], trace)[0], trace)


# ----------------------------------------------------------------------------------------------------------------
# Functions of elements
# ----------------------------------------------------------------------------------------------------------------


def pointwise(
    function: Callable[..., Any],
    given: Sequence[Value],
    keywords: dict[str, Any] | None = None,
    *,
    name: str = "",
    into: bool = False,
    out: Sequence[Any] = (),
    where: Value = True,
    scalars: bool = True,
    unpacked: bool = False,
    exactness: str = EXACT,
) -> Any:
    """The result of a function of elements, which NumPy is asked about first.

    Raises what NumPy raises, and `NotUnderstoodError` for what is no number.
    """
    keywords = known_reals(keywords or {})
    trace = trace_of((tuple(given), tuple(out), where))
    arguments: list[Any] = []
    sample: list[Any] = []
    operands: list[LazyArray] = []
    floats: list[float | Told] = []
    extents: list[Any] = []
    asked: list[Shape] = [()] * len(given)
    for k, value in enumerate(_sizes_in_range(given)):
        if type(value) is float or type(value) is Real:
            told = trace.reals.told(value)
            is_of_numpy = type(now(value)) is not float
            if is_of_numpy and type(told) is not Told:
                arguments.append(told)
            else:
                arguments.append(Number(len(floats), np.dtype(type(now(value))) if is_of_numpy else None))
                floats.append(told)
            sample.append(now(value))
        elif type(value) is Size:
            arguments.append(Extent(len(extents)))
            extents.append(value)
            sample.append(value.value)
        elif value is None or type(value) in _NUMBERS or _is_scalar_of_numpy(value):
            arguments.append(value)
            sample.append(value)
        else:
            array = lifted(value, trace)
            arguments.append(Operand(len(operands)))
            operands.append(array)
            asked[k] = array._shape
            sample.append(np.empty(0, array.dtype))
    try:
        dtypes = _dtypes_of(function, sample, keywords, out)
    except (TypeError, ValueError, OverflowError):
        for extent in extents:
            known(extent)  # of another size, there may be no error
        raise
    targets = [lifted(o, trace) if o is not None else None for o in out] or [None] * len(dtypes)
    asked += [target._shape for target in targets if target is not None]
    masked = where is not True
    if masked:
        mask = lifted(where, trace)
        if mask.dtype != np.bool_:
            raise NotUnderstoodError("masks that are not bool")
        asked.append(mask._shape)
    shape = _joined([array._shape for array in operands], asked)
    if masked:
        shape = _joined([shape, mask._shape], asked)
        old = targets[0] if targets[0] is not None else filled(shape, dtypes[0], 0, trace)
        operands += [mask, old]
        if len(dtypes) != 1:
            raise NotUnderstoodError("where= of several results")
    shape = _fitting(shape, targets, asked)
    dtypes = [d if t is None else t.dtype for d, t in zip(dtypes, targets, strict=True)]
    operation = Pointwise(
        name or name_of(function),
        function,
        tuple(arguments),
        tuple(sorted(keywords.items())),
        tuple(floats),
        tuple(extents),
        into or masked,
        masked,
        unpacked and not shape,
        exactness,
    )
    views = [broadcast_to(array, shape) for array in operands]
    results = made(operation, views, [(shape, dtype, scalars and not shape) for dtype in dtypes], trace)
    finished = [_handed_over(placed(r, trace), o) for r, o in zip(results, out or [None] * len(results), strict=True)]
    return finished[0] if len(finished) == 1 else tuple(finished)


def broadcast_to(array: LazyArray, shape: Shape) -> View:
    """A view of an array, repeated to a shape."""
    from slinky.frontend.views import broadcast

    return broadcast(array._view, shape)


def _dtypes_of(
    function: Callable[..., Any], sample: list[Any], keywords: dict[str, Any], out: Sequence[Any]
) -> list[np.dtype[Any]]:
    """The dtypes of the results, for arrays without elements."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if any(o is not None for o in out):
            targets = tuple(None if o is None else np.empty(0, o.dtype) for o in out)
            result = function(*sample, **keywords, out=targets if len(targets) > 1 else targets[0])
        else:
            result = function(*sample, **keywords)
    results = result if isinstance(result, tuple) else (result,)
    dtypes = [each.dtype if hasattr(each, "dtype") else np.asarray(each).dtype for each in results]
    if any(dtype.kind not in "biufc" for dtype in dtypes):
        raise NotUnderstoodError(f"results of {dtypes}")
    return dtypes


def _sizes_in_range(given: Sequence[Value]) -> list[Value]:
    """Arguments in which numbers stand for sizes that are not among the values of the integers beside them: NumPy
    compares these otherwise, clips by them, or refuses them. It is asked of each size, and holds in each call then."""
    if Size not in map(type, given):
        return list(given)
    dtypes = [each.dtype for each in given if isinstance(each, (LazyArray, np.ndarray, np.generic))]
    integers = [dtype for dtype in dtypes if dtype.kind in "iu"]
    if not integers:
        return list(given)
    beside = np.result_type(*integers)
    if beside.kind not in "iu" or beside == np.int64:  # floats, where no integers have all values; all sizes are there
        return list(given)
    least, most = int(np.iinfo(beside).min), int(np.iinfo(beside).max)
    return [known(each) if type(each) is Size and not least <= each <= most else each for each in given]


def _joined(shapes: Sequence[Shape], asked: Sequence[Shape]) -> Shape:
    """The shape that shapes broadcast to; `asked` are those that NumPy tells where there is none.

    Raises `ValueError` as NumPy does.
    """
    found = joined_shape(shapes)
    if found is None:
        raise ValueError(no_broadcast(asked))
    return found


def _fitting(shape: Shape, targets: Sequence[LazyArray | None], asked: Sequence[Shape]) -> Shape:
    """The shape of results that go to targets; `asked` are the shapes of all that takes part.

    Raises `ValueError` as NumPy does.
    """
    for target in targets:
        if target is not None:
            wide = _joined([shape, target._shape], asked)
            if len(wide) != len(target._shape) or not all(map(same, wide, target._shape)):
                raise ValueError(
                    f"non-broadcastable output operand with shape {shape_in_words(target._shape)} doesn't match the "
                    f"broadcast shape {shape_in_words(wide)}"
                )
            shape = target._shape
    return shape


def _handed_over(result: LazyArray, out: Any) -> Any:
    """A result where it was to be put."""
    if out is None:
        return result
    if type(out) is LazyArray:
        if not out._writeable:
            raise ValueError("output array is read-only")
        out.write(result)
        return out
    result._trace.forced("writing to an array that is no lazy one")
    out[...] = result.compute()
    return out


def cast(array: LazyArray, dtype: np.dtype[Any]) -> LazyArray:
    """The elements in another dtype, as `astype` does."""
    if dtype.kind not in "biufc" or not dtype.isnative:
        raise array._trace.abandon(f"arrays of {dtype}")
    operation = Pointwise("astype", as_it_is, (Operand(0),))
    if dtype == array.dtype:
        return array if array.is_scalar else array.copy()  # scalars cannot be written to
    return placed(
        made(operation, [array._view], [(array._shape, dtype, array.is_scalar)], array._trace)[0], array._trace
    )


def converted(value: Value, dtype: np.dtype[Any], trace: Trace) -> LazyArray:
    """A value that is assigned to elements of a dtype."""
    if type(value) is not LazyArray:
        if isinstance(value, (list, tuple)) and lazy_arrays(value):
            raise trace.abandon("assigning lists of lazy arrays")
        if type(value) is Real and dtype.kind in "fc":
            return told_later(value, dtype, trace)
        value = known(value) if type(value) is Size else known_reals(value)
        given = np.asarray(value)
        if given.ndim == 0 and given.dtype.kind in "biufc":
            target = np.empty((), dtype)
            target[...] = value if not isinstance(value, np.ndarray) else given  # NumPy's rules for numbers
            return filled((), dtype, target[()], trace)
        try:
            value = lifted(given, trace)
        except NotUnderstoodError:
            raise trace.abandon(f"assigning {given.dtype}") from None
    return value if value.dtype == dtype else cast(value, dtype)


# ----------------------------------------------------------------------------------------------------------------
# Ufuncs and operators
# ----------------------------------------------------------------------------------------------------------------


def call_ufunc(ufunc: np.ufunc, method: str, given: tuple[Value, ...], keywords: dict[str, Any]) -> Any:
    """A ufunc, or a method of one, of lazy arrays."""
    given = tuple(map(array_of, given)) if method == "__call__" else given
    out = keywords.pop("out", None)
    out = out if isinstance(out, tuple) else () if out is None else (out,)
    _require_no_scalar(ufunc.__name__, given, out)
    if method == "at":  # writes to its first argument, whatever the others are
        raise trace_of(given).abandon(f"{ufunc.__name__}.at")
    if not all(is_known(value) for value in (*given, *(o for o in out if o is not None))):
        if any(_has_ufuncs_of_its_own(v) for v in given if not is_known(v)):
            return NotImplemented
        return opaque(ufunc if method == "__call__" else getattr(ufunc, method), given, {**keywords, "out": out})
    try:
        if method == "__call__" and ufunc.signature is None:
            where = keywords.pop("where", True)
            keywords.pop("subok", None)
            order = keywords.pop("order", "K")
            if order in ("F", "f"):
                raise trace_of((given, out, where)).abandon(f"{ufunc.__name__} with order='F'")
            trace_of((given, out, where)).asked_for_rows |= order in ("C", "c")
            keywords = {key: value for key, value in keywords.items() if value is not None}
            return pointwise(
                ufunc, given, keywords, name=ufunc.__name__, into=True, out=out, where=where,
                exactness=exactness_of(ufunc, dtypes_among(given)),
            )  # fmt: skip
        return _method(ufunc, method, given, out, keywords)
    except NotUnderstoodError:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return opaque(function, given, keywords if not any(o is not None for o in out) else {**keywords, "out": out})


def _require_no_scalar(name: str, given: Any, out: tuple[Any, ...]) -> None:
    """Raise what ends the trace where a result is to be put into a scalar, which NumPy refuses in several words."""
    if any(type(o) is LazyArray and o.is_scalar for o in out):
        raise trace_of((given, out)).abandon(f"{name} with a scalar as out=")


def _method(ufunc: np.ufunc, method: str, given: Any, out: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What is no plain call of a ufunc of elements."""
    from slinky.frontend import along_rows, functions
    from slinky.frontend import composed as composed  # the table is filled there

    if method == "reduce":
        result = functions.reduced(ufunc.reduce, ufunc.__name__, *given, **{"axis": 0, **keywords})
    elif method == "accumulate":
        result = functions.accumulated(ufunc.accumulate, ufunc.__name__, *given, **{"axis": 0, **keywords})
    elif method == "reduceat":
        result = along_rows.reduceat(ufunc, *given, **keywords)
    elif method == "outer":
        result = functions.outer_of(ufunc, *given, **keywords)
    elif method == "__call__" and ufunc in TABLE and keywords.keys() <= _OF_PRODUCTS.get(ufunc, frozenset()):
        result = TABLE[ufunc].handler(*given, **keywords)
    else:
        raise NotUnderstoodError(method)
    return _put(result, out[0] if out else None)


_OF_PRODUCTS: dict[Callable[..., Any], frozenset[str]] = {np.vecdot: frozenset({"axis"})}
"""What is understood of what ufunc of rows and matrices is given by name."""


def _put(result: Any, out: Any) -> Any:
    """A result that is to be put into an array, in its dtype."""
    if out is None:
        return result
    if type(out) is LazyArray:
        if not np.can_cast(result.dtype, out.dtype, "same_kind"):
            raise NotUnderstoodError("out= of another kind")
        if len(result._shape) != len(out._shape) or not all(map(same, result._shape, out._shape)):
            raise NotUnderstoodError("out= of another shape")
        out.write(result if result.dtype == out.dtype else cast(result, out.dtype))
        return out
    return _handed_over(result, out)


def call_operator(name: str, given: tuple[Any, ...]) -> Any:
    """An operator of lazy arrays and others."""
    function, ufunc = OPERATORS[name]
    given = tuple(map(array_of, given))
    others = [value for value in given if not is_known(value)]
    if any(map(_takes_over, others)):
        return NotImplemented
    if any(map(_has_ufuncs_of_its_own, others)):
        return ufunc(*given)
    if others:
        return _called_with_others(name, given)
    if name == "pow":
        return _power(given)
    if all(is_number(value) for value in given) and name != "matmul":
        exactness = exactness_of(ufunc, dtypes_among(given))
        return pointwise(function, given, name=ufunc.__name__, unpacked=True, exactness=exactness)
    return ufunc(*given)


def _called_with_others(name: str, given: tuple[Any, ...]) -> Any:
    """An operator of lazy arrays and what is no array of numbers. No number equals None or a text, whatever it is;
    else NumPy is asked about the values."""
    function, _ = OPERATORS[name]
    first, second = given
    if name not in ("eq", "ne") or not (second is None or type(second) is str):
        return opaque(function, given, {})
    if first._shape:
        return filled(first._shape, np.bool_, name == "ne", first._trace)
    return function(first.dtype.type(0) if first.is_scalar else np.zeros((), first.dtype), second)


_ABSENT = object()


def _has_ufuncs_of_its_own(value: Any) -> bool:
    """Whether something says by itself what ufuncs do with it, or that they do nothing."""
    own = getattr(type(value), "__array_ufunc__", _ABSENT)
    return own is not _ABSENT and own is not np.ndarray.__array_ufunc__


def _takes_over(value: Any) -> bool:
    """Whether arrays leave an operator to what stands beside them, as NumPy has it."""
    if hasattr(type(value), "__array_ufunc__"):
        return type(value).__array_ufunc__ is None
    return bool(getattr(value, "__array_priority__", 0) > 0)


def _power(given: tuple[Any, ...]) -> Any:
    """`**`, for which NumPy has several ways: of scalars, and of squares and other exponents that are numbers."""
    base, exponent = given
    is_array = type(base) is LazyArray and not base.is_scalar
    if is_array and type(exponent) is Size and exponent == 2:
        exponent = 2
    if is_array and _is_of_python(exponent):
        is_square = type(exponent) is Real and exponent == 2
        own = own_power(base.dtype.kind, 2.0 if is_square else exponent)
        if own is not None:
            return own(base)
    is_whole = type(exponent) is int or (type(exponent) is float and exponent.is_integer())
    is_truth = type(base) is LazyArray and base.is_scalar and base.dtype == np.bool_
    if is_truth or (is_array and is_whole):
        return np.power(base, exponent)  # scalars that are truths have no power of their own; C knows integers
    numbers_only = all(is_number(value) for value in given)
    return pointwise(operator.pow, given, name="power", unpacked=numbers_only, exactness=exactness_of(np.power))


def _is_of_python(value: Any) -> bool:
    """Whether something is an int or a float of Python's: scalars of NumPy's have dtypes that arrays take on."""
    return value.__class__ in (int, float) and type(value) in (int, float, Real)


def is_number(value: Any) -> bool:
    """Whether Python has a number or a scalar of NumPy here."""
    if type(value) is LazyArray:
        return value.is_scalar
    return type(value) in (Size, Real) or type(value) in _NUMBERS or isinstance(value, np.generic)


def call_in_place(name: str, array: LazyArray, other: Any) -> Any:
    """An operator that writes to its array."""
    _, ufunc = OPERATORS[name]
    if not is_known(other):
        if _takes_over(other):
            return NotImplemented
        raise array._trace.abandon(f"{ufunc.__name__} in place, of a {type(other).__name__}")
    if name in ("pow", "matmul"):
        result = call_operator(name, (array, other))
        if name == "pow":
            _fitting(result._shape, [array], [result._shape, array._shape])
        _IN_PLACE[name](*map(_without_elements, (array, other)))  # refuses what NumPy does
        array.write(result if result.dtype == array.dtype else cast(result, array.dtype))
        return array
    return ufunc(array, other, out=(array,))


_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {"pow": operator.ipow, "matmul": operator.imatmul}


def _without_elements(value: Any) -> Any:
    """An array like a lazy one, and what NumPy makes of other values, with no elements; numbers as they are."""
    if is_number(value):
        return value.dtype.type(1) if type(value) is LazyArray else known(value) if type(value) is Size else value
    own = value if type(value) is LazyArray else np.asarray(value)
    return np.empty((1,) * (own.ndim - 2) + (0,) * min(own.ndim, 2), own.dtype)


# ----------------------------------------------------------------------------------------------------------------
# Functions and attributes
# ----------------------------------------------------------------------------------------------------------------


_OF_FLOATS, _METHODS_OF_FLOATS = (
    frozenset([np.clip, np.fill_diagonal, np.place, np.putmask, np.where]),
    frozenset(["clip"]),
)
"""Functions that hand floats over to `pointwise`: such as are told at each call may be among them."""


def call_function(function: Callable[..., Any], given: Any, keywords: dict[str, Any]) -> Any:
    """A function of NumPy's of lazy arrays."""
    from slinky.frontend import composed as composed  # the table is filled there
    from slinky.frontend import following as following
    from slinky.frontend import functions as functions
    from slinky.frontend import rearranging as rearranging

    trace = trace_of((given, keywords))
    if function in WRITING:
        raise trace.abandon(f"{name_of(function)}, which writes to its argument")
    if function in ABOUT_MEMORY:
        raise trace.abandon(f"{name_of(function)}, which asks where arrays lie")
    out = keywords.get("out")
    _require_no_scalar(name_of(function), given, (out,))
    if function not in _OF_FLOATS:
        given, keywords = known_reals(given), known_reals(keywords)
    entry = TABLE.get(function)
    if entry is None:
        return opaque(function, given, keywords)
    rest = {key: value for key, value in keywords.items() if key != "out"}
    try:
        with trace.origins.within(function):
            result = entry.handler(*given, **rest)
        if not trace.is_free:
            trace.origins.gave_back(function, *(map(_result_of, lazy_arrays(each)) for each in (given, result)))
        return result if out is None else _put(result, out)
    except NotUnderstoodError:
        pass
    except SlinkyError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        is_of_arguments = isinstance(error, TypeError) and "argument" in str(error)
        if trace.strict and not is_of_arguments:
            raise
    return opaque(function, given, keywords)  # each function of NumPy's says in its own way what is wrong


def _result_of(array: LazyArray) -> Result:
    return array._view.result


def attribute(array: LazyArray, name: str) -> Any:
    """A method or attribute of arrays that lazy arrays have not themselves.

    Raises `AttributeError` where arrays have none.
    """
    from slinky.frontend import functions

    owner = array.dtype.type if array.is_scalar else np.ndarray
    if not hasattr(owner, name) or name in _ASKED_FOR or (name.startswith("__") and array._trace.is_free):
        array._trace.asked_for_class |= name not in _ASKED_FOR
        own = "a lazy array" if array._trace.is_free else f"'numpy.{owner.__name__}' object"
        raise AttributeError(f"{own} has no attribute {name!r}")
    if name.startswith("__"):
        raise array._trace.abandon(f"the attribute {name} of arrays")
    method = functions.METHODS.get(name)
    if method is not None:
        if name in _METHODS_OF_FLOATS:
            return lambda *given, **keywords: method(array, *given, **keywords)
        return lambda *given, **keywords: method(array, *known_reals(given), **known_reals(keywords))
    if name in functions.PROPERTIES:
        return functions.PROPERTIES[name](array)
    if name in _WRITES:
        raise array._trace.abandon(f"the attribute {name} of arrays")
    if callable(getattr(owner, name)):
        return lambda *given, **keywords: opaque(_Method(name), (array, *given), keywords)
    return getattr(_computed(array, name), name)


_ASKED_FOR = frozenset(
    {"__array_finalize__", "__array_interface__", "__array_struct__", "__array_wrap__", "__buffer__"}
)
"""By these, NumPy and others find out how something can be read: a lazy array, by `__array__`."""

_WRITES = frozenset(
    [
        "base",
        "byteswap",
        "ctypes",
        "data",
        "dump",
        "dumps",
        "flags",
        "flat",
        "put",
        "resize",
        "setfield",
        "setflags",
        "strides",
        "tofile",
        "tobytes",
        "view",
        "getfield",
    ]
)


class _Method:
    """A method of arrays as a function."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name

    def __call__(self, array: Any, /, *given: Any, **keywords: Any) -> Any:
        return getattr(array, self.__name__)(*given, **keywords)


def _computed(array: LazyArray, what: str) -> Array:
    array._trace.forced(what, array._view)
    return array.compute()


def call_kernel(kernel: Any, given: Any, keywords: Any) -> Any:
    """A kernel with a halo, of lazy arrays."""
    from slinky.frontend.filtering import filtered

    return filtered(kernel, known_reals(given), known_reals(keywords))


__all__ = ["call_function", "call_ufunc", "exactly", "filled", "lifted", "pointwise", "value_of"]
