"""Values that are no part of the language: arguments of callbacks, what copies fill with, dtypes, arrays.

Invariant: a value that was written is read as an equal one of the same type, bit by bit where it is a number or an
array. What cannot be written so is refused. A dtype is made of letters and numbers that NumPy knows, never of a text
that NumPy would look into.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from slinky.ir.formulas import ufunc_of_numpy
from slinky.ir.operations import FloatScalar
from slinky.ir.returning import Returning
from slinky.ir.stored.reading import DEEPEST_VALUE, Reading, shown
from slinky.ir.stored.writing import Writing
from slinky.symbolic.expressions import Expr

_MOST_DIGITS = 1000
"""The longest integers among the values."""

# ----------------------------------------------------------------------------------------------------------------
# Dtypes
# ----------------------------------------------------------------------------------------------------------------

_SIMPLE = re.compile(r"[<>|][biufcmMSUV][0-9]{1,9}(\[[0-9]{0,9}[A-Za-z]{1,2}\])?")
"""Dtypes of numbers, texts, bytes and times."""


def write_dtype(writing: Writing, dtype: np.dtype[Any]) -> Any:
    """A dtype: its text, such as `"<i2"`, or an object where it has fields or shapes."""
    written = _written_dtype(writing, dtype)
    if _made(written) != dtype or str(_made(written)) != str(dtype):
        writing.fail(f"the dtype {dtype!r} cannot be written")
    return written


def _written_dtype(writing: Writing, dtype: np.dtype[Any]) -> Any:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return {"of": _written_dtype(writing, base), "shape": list(shape)}
    if dtype.names is not None:
        assert dtype.fields is not None
        named = [(name, dtype.fields[name]) for name in dtype.names]
        fields = [[name, _written_dtype(writing, each[0]), *each[1:]] for name, each in named]
        return {"fields": fields, "itemsize": dtype.itemsize, "aligned": dtype.isalignedstruct}
    if not _SIMPLE.fullmatch(dtype.str):
        writing.fail(f"the dtype {dtype!r} cannot be written")
    return dtype.str


def _made(written: Any) -> np.dtype[Any]:
    """The dtype of what is written as one."""
    if isinstance(written, str):
        return np.dtype(written)
    if "of" in written:
        return np.dtype((_made(written["of"]), tuple(written["shape"])))
    fields = written["fields"]
    titles = {"titles": [field[3] if len(field) > 3 else None for field in fields]} if _has_titles(fields) else {}
    made: np.dtype[Any] = np.dtype(
        {
            "names": [field[0] for field in fields],
            "formats": [_made(field[1]) for field in fields],
            "offsets": [field[2] for field in fields],
            "itemsize": written["itemsize"],
            **titles,
        },  # type: ignore[call-overload]
        align=written["aligned"],
    )
    return made


def _has_titles(fields: list[Any]) -> bool:
    return any(len(field) > 3 for field in fields)


def read_dtype(reading: Reading, value: Any) -> np.dtype[Any]:
    """A dtype of fixed size, without Python objects."""
    _require_dtype(reading, value, 0)
    try:
        made = _made(value)
    except (TypeError, ValueError, OverflowError, SyntaxError) as error:
        reading.fail(f"NumPy knows no such dtype: {error}")
    if made.itemsize == 0:
        reading.fail("the elements of a dtype take a byte or more")
    return made


def _require_dtype(reading: Reading, value: Any, depth: int) -> None:
    """Refuse what is not written as dtypes are."""
    if depth > DEEPEST_VALUE:
        reading.fail(f"dtypes nest at most {DEEPEST_VALUE} deep")
    if type(value) is str:
        if not _SIMPLE.fullmatch(value):
            reading.fail(f"expected a dtype, such as '<i2', got {shown(value)}")
    elif type(value) is dict and "of" in value:
        reading.object(value, ("of", "shape"))
        reading.each(value["shape"], lambda extent: reading.integer(extent, 1))
        reading.at(".of", lambda of: _require_dtype(reading, of, depth + 1), value["of"])
    else:
        reading.object(value, ("fields", "itemsize", "aligned"))
        reading.integer(value["itemsize"], 1)
        reading.truth(value["aligned"])

        def require_field(field: Any) -> None:
            if len(reading.list(field)) not in (3, 4):
                reading.fail("a field is [name, dtype, offset], and a title if it has one")
            for text in (field[0], *field[3:]):
                reading.text(text)
            reading.integer(field[2], 0)
            reading.at("[1]", lambda of: _require_dtype(reading, of, depth + 1), field[1])

        reading.at(".fields", lambda fields: reading.each(fields, require_field), value["fields"])


# ----------------------------------------------------------------------------------------------------------------
# Arrays
# ----------------------------------------------------------------------------------------------------------------


def write_array(writing: Writing, array: np.ndarray[Any, Any]) -> Any:
    """An array: dtype, shape, and its elements in base 64. `axes` are in the order in which they lie in memory, where
    that is not C order."""
    axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    if array.flags.c_contiguous or not array.transpose(axes).flags.c_contiguous:
        axes = list(range(array.ndim))
    data = base64.b64encode(array.transpose(axes).tobytes()).decode("ascii")
    written = {"dtype": write_dtype(writing, array.dtype), "shape": list(array.shape), "data": data}
    return written if axes == list(range(array.ndim)) else {**written, "axes": axes}


def read_array(reading: Reading, value: Any) -> np.ndarray[Any, Any]:
    """An array that nobody can write to."""
    given = reading.object(value, ("dtype", "shape", "data"), ("axes",))
    dtype = reading.at(".dtype", lambda each: read_dtype(reading, each), given["dtype"])
    shape = reading.at(".shape", lambda each: reading.each(each, lambda n: reading.integer(n, 0)), given["shape"])
    data = reading.at(".data", lambda text: _bytes(reading, text), given["data"])
    if len(data) != math.prod(shape) * dtype.itemsize:
        reading.fail(f"an array of this shape has {_count(math.prod(shape) * dtype.itemsize)} bytes, got {len(data)}")
    axes = list(given.get("axes", range(len(shape))))
    if any(type(axis) is not int for axis in axes) or sorted(axes) != list(range(len(shape))):
        reading.fail("the axes of an array are its positions, in another order")
    try:
        flat = np.frombuffer(data, dtype) if data else np.empty(0, dtype)
        array = flat.reshape([shape[axis] for axis in axes]).transpose(np.argsort(axes).astype(int))
    except (TypeError, ValueError, OverflowError) as error:
        reading.fail(f"NumPy makes no such array: {error}")
    array.setflags(write=False)
    return array


def _count(n: int) -> str:
    return str(n) if n < 10**20 else "too many"


def _bytes(reading: Reading, value: Any) -> bytes:
    try:
        return base64.b64decode(reading.text(value).encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        reading.fail("expected bytes in base 64")


# ----------------------------------------------------------------------------------------------------------------
# Anything else
# ----------------------------------------------------------------------------------------------------------------


def write_callable(writing: Writing, callback: Any) -> Any:
    """A callback: its name, or with `returning` the name of the function whose result it writes."""
    if isinstance(callback, Returning):
        return {"returning": writing.callback(callback.function), "outputs": callback.outputs}
    return writing.callback(callback)


def read_callable(reading: Reading, value: Any) -> Callable[..., Any]:
    """A callback, by its name."""
    if type(value) is str:
        return reading.callback(value)
    given = reading.object(value, ("returning", "outputs"))
    function = reading.at(".returning", reading.callback, given["returning"])
    return Returning(function, reading.at(".outputs", lambda n: reading.integer(n, 1), given["outputs"]))


def write_ufunc(writing: Writing, ufunc: np.ufunc) -> Any:
    """A ufunc of elements: its name if it is NumPy's, else as callbacks are."""
    name = ufunc.__name__
    return name if ufunc_of_numpy(name) is ufunc else {"callback": writing.callback(ufunc)}


def read_ufunc(reading: Reading, value: Any) -> np.ufunc:
    """A ufunc of elements, by its name."""
    found: Any = ufunc_of_numpy(value) if type(value) is str else None
    if type(value) is dict:
        given = reading.object(value, ("callback",))
        found = reading.at(".callback", reading.callback, given["callback"])
    if not isinstance(found, np.ufunc) or found.signature is not None:
        reading.fail(f"expected a ufunc that works on elements, got {shown(value)}")
    return found


def write_value(writing: Writing, value: Any, depth: int = 0) -> Any:
    """A value: as JSON has it, or an object of one key that says what it is."""
    if depth > DEEPEST_VALUE:
        writing.fail(f"values nest at most {DEEPEST_VALUE} deep")

    def each(values: Any) -> list[Any]:
        return [write_value(writing, inner, depth + 1) for inner in values]

    match value:
        case None | bool() | str() if type(value) in _PLAIN:
            return value
        case int() if type(value) is int:
            if abs(value) >= 10**_MOST_DIGITS:
                writing.fail(f"integers have at most {_MOST_DIGITS} digits")
            return value
        case float() if type(value) is float:
            return value if math.isfinite(value) else {"float": str(value)}
        case complex() if type(value) is complex:
            return {"complex": each((value.real, value.imag))}
        case bytes() if type(value) is bytes:
            return {"bytes": base64.b64encode(value).decode("ascii")}
        case tuple() | list() if type(value) in (tuple, list):
            return {type(value).__name__: each(value)}
        case dict() if type(value) is dict:
            return {"dict": [each(pair) for pair in value.items()]}
        case slice():
            return {"slice": each((value.start, value.stop, value.step))}
        case Expr():
            return {"expression": writing.node(value)}
        case FloatScalar():
            return {"scalar": value.name}
        case np.dtype():
            return {"dtype": write_dtype(writing, value)}
        case np.generic():
            return {"element": write_array(writing, np.asarray(value))}
        case np.ndarray() if type(value) is np.ndarray:
            return {"array": write_array(writing, value)}
    if not callable(value):
        writing.fail(
            f"a value of type {type(value).__name__} cannot be written as JSON; bind it to the callback itself, such "
            "as by functools.partial"
        )
    return {"callback": write_callable(writing, value)}


_PLAIN = (type(None), bool, str)
"""The types of values that JSON has, but for numbers."""


def read_value(reading: Reading, value: Any, depth: int = 0) -> Any:
    """A value."""
    if depth > DEEPEST_VALUE:
        reading.fail(f"values nest at most {DEEPEST_VALUE} deep")
    if value is None or type(value) in (bool, str, float):
        return value
    if type(value) is int:
        if abs(value) >= 10**_MOST_DIGITS:
            reading.fail(f"integers have at most {_MOST_DIGITS} digits")
        return value
    if type(value) is not dict or len(value) != 1:
        reading.fail(f"expected a value, or an object with one key that says what it is, got {shown(value)}")
    ((kind, inner),) = value.items()
    if kind not in _KINDS:
        reading.fail(f"there are no values of the kind {shown(kind)}")
    return reading.at(f".{kind}", lambda given: _KINDS[kind](reading, given, depth + 1), inner)


def _read_float(reading: Reading, given: Any, _: int) -> float:
    if given not in ("nan", "inf", "-inf"):
        reading.fail(f"expected 'nan', 'inf' or '-inf', got {shown(given)}")
    return float(given)


def _read_complex(reading: Reading, given: Any, depth: int) -> complex:
    parts = _read_list(reading, given, depth)
    if len(parts) != 2 or any(type(part) is not float for part in parts):
        reading.fail("a complex number is a list of two floats")
    return complex(*parts)


def _read_list(reading: Reading, given: Any, depth: int) -> list[Any]:
    return list(reading.each(given, lambda inner: read_value(reading, inner, depth)))


def _read_dict(reading: Reading, given: Any, depth: int) -> dict[Any, Any]:
    found = {}
    for pair in reading.each(given, lambda inner: _read_list(reading, reading.list(inner, 2), depth)):
        try:
            found[pair[0]] = pair[1]
        except TypeError:
            reading.fail(f"a {type(pair[0]).__name__} cannot be a key")
    return found


def _read_slice(reading: Reading, given: Any, depth: int) -> slice:
    return slice(*_read_list(reading, reading.list(given, 3), depth))


def _read_element(reading: Reading, given: Any, _: int) -> Any:
    array = read_array(reading, given)
    if array.ndim:
        reading.fail("an element is an array without dimensions")
    return array[()]


_KINDS: dict[str, Callable[[Reading, Any, int], Any]] = {
    "float": _read_float,
    "complex": _read_complex,
    "bytes": lambda reading, given, _: _bytes(reading, given),
    "tuple": lambda reading, given, depth: tuple(_read_list(reading, given, depth)),
    "list": _read_list,
    "dict": _read_dict,
    "slice": _read_slice,
    "expression": lambda reading, given, _: reading.node(given, Expr, "an integer expression"),
    "scalar": lambda reading, given, _: FloatScalar(reading.name(given)),
    "dtype": lambda reading, given, _: read_dtype(reading, given),
    "element": lambda reading, given, _: _read_element(reading, given, 0),
    "array": lambda reading, given, _: read_array(reading, given),
    "callback": lambda reading, given, _: read_callable(reading, given),
}
