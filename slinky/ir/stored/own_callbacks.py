"""slinky's own callbacks, which write themselves: what `sl.reductions` calls, and NumPy's functions that reduce.

Idea. Nobody can be asked to name what slinky wrote. Such a callback is an object that slinky makes, or a method of one,
and is written by the fields of the object. One that was given a name all the same goes by that.

Invariant: what is read is what slinky makes of the same fields, so it is the same object where that is kept. A text
names no function but those of NumPy that reduce axes, and no method but those that stages of reductions call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import attrs
import numpy as np

from slinky.ir.formulas import ufunc_of_numpy
from slinky.ir.reducing import Reducing
from slinky.ir.stored import values
from slinky.ir.stored.reading import Reading, is_name, shown
from slinky.ir.stored.writing import Writing
from slinky.reducing_stages import Combine, Dot, Place, SoftmaxDot, Variance, finish_alone, kept

_Write: TypeAlias = Callable[[Writing, Any], Any]
_Read: TypeAlias = Callable[[Reading, Any], Any]

_STAGES: dict[str, Any] = {kind.__name__: kind for kind in (Combine, Variance, Place, Dot, SoftmaxDot)}
_KINDS: dict[str, Any] = {"Reducing": Reducing, **_STAGES}
_METHODS = {
    name: tuple(method for method, value in vars(kind).items() if inspect.isfunction(value) and method[0] != "_")
    for name, kind in _STAGES.items()
}
_ALONE = "finish_alone"

# ----------------------------------------------------------------------------------------------------------------
# Functions of NumPy
# ----------------------------------------------------------------------------------------------------------------

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(np, name)
        for name in (
            "sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "median", "ptp", "count_nonzero", "argmax",
            "argmin", "nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nanmedian", "nanargmax",
            "nanargmin",
        )
    },
    "linalg.norm": np.linalg.norm,
}  # fmt: skip
"""Those that reduce axes, beside the method `reduce` of each ufunc."""

_REDUCE = ".reduce"


def _function_name(function: Any) -> str | None:
    """What a function of NumPy's is called in texts; None for all others."""
    for name, known in _FUNCTIONS.items():
        if known is function:
            return name
    ufunc = getattr(function, "__self__", None)
    if isinstance(ufunc, np.ufunc) and function == ufunc.reduce and ufunc_of_numpy(ufunc.__name__) is ufunc:
        return ufunc.__name__ + _REDUCE
    return None


def _read_function(reading: Reading, value: Any) -> Callable[..., Any]:
    name = reading.text(value)
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    ufunc = ufunc_of_numpy(name.removesuffix(_REDUCE)) if name.endswith(_REDUCE) else None
    if ufunc is None or ufunc.signature is not None or (ufunc.nin, ufunc.nout) != (2, 1):
        reading.fail(f"NumPy has no function {shown(name)} that reduces axes")
    return ufunc.reduce


# ----------------------------------------------------------------------------------------------------------------
# Fields
# ----------------------------------------------------------------------------------------------------------------


def _as_it_is(_: Writing, value: Any) -> Any:
    return value


def _write_keywords(writing: Writing, keywords: tuple[tuple[str, Any], ...]) -> Any:
    return [[name, values.write_value(writing, value)] for name, value in keywords]


def _read_keywords(reading: Reading, value: Any) -> tuple[tuple[str, Any], ...]:
    def read(pair: Any) -> tuple[str, Any]:
        name, given = reading.list(pair, 2)
        return _read_name(reading, name), values.read_value(reading, given)

    return reading.each(value, read)


def _read_name(reading: Reading, value: Any) -> str:
    if not is_name(reading.text(value)):
        reading.fail(f"expected a name that is an identifier of Python, got {shown(value)}")
    return str(value)


def _read_axes(reading: Reading, value: Any) -> tuple[int, ...]:
    return reading.each(value, lambda axis: reading.integer(axis, 0))


def _read_number(reading: Reading, value: Any) -> Any:
    found = values.read_value(reading, value)
    if not isinstance(found, (bool, int, float, complex, np.generic)):
        reading.fail(f"expected a number, got {shown(value)}")
    return found


_WRITTEN: dict[str, tuple[_Write, _Read]] = {
    "name": (_as_it_is, _read_name),
    "what": (_as_it_is, lambda reading, value: reading.text(value)),
    "function": (lambda _, value: _function_name(value), _read_function),
    "find": (lambda _, value: _function_name(value), _read_function),
    "ufunc": (values.write_ufunc, values.read_ufunc),
    "is_better": (values.write_ufunc, values.read_ufunc),
    "axes": (lambda _, value: list(value), _read_axes),
    "wide": (lambda _, value: list(value), _read_axes),
    "axis": (_as_it_is, lambda reading, value: reading.integer(value, 0)),
    "ddof": (_as_it_is, lambda reading, value: reading.integer(value)),
    "dtype": (values.write_dtype, values.read_dtype),
    "identity": (values.write_value, _read_number),
    "in_order": (_as_it_is, lambda reading, value: reading.truth(value)),
    "has_nan": (_as_it_is, lambda reading, value: reading.truth(value)),
    "keywords": (_write_keywords, _read_keywords),
    "sizes": (
        lambda _, value: list(value),
        lambda reading, value: reading.each(value, lambda name: _read_name(reading, name)),
    ),
}
"""How each field of these classes is written and read; a field that is not here is an error on import."""

_FIELDS = {name: {field.name: _WRITTEN[field.name] for field in attrs.fields(kind)} for name, kind in _KINDS.items()}

# ----------------------------------------------------------------------------------------------------------------
# Callbacks
# ----------------------------------------------------------------------------------------------------------------


def write_callback(writing: Writing, callback: Any) -> Any:
    """A callback of a func or a reduction: slinky's own by what it is made of, others by their names."""
    own = None if writing.names(callback) else _parts(callback)
    if own is None:
        return values.write_callable(writing, callback)
    value, method = own
    if value is None:
        return {"own": method}
    fields = _FIELDS[type(value).__name__]
    written = {name: write(writing, getattr(value, name)) for name, (write, _) in fields.items()}
    return {"own": type(value).__name__, **written, **({} if method is None else {"method": method})}


def _parts(callback: Any) -> tuple[Any, str | None] | None:
    """The object that slinky made, and its method that is the callback; None for what is somebody else's."""
    if callback is finish_alone:
        return None, _ALONE
    if type(callback) is Reducing:
        return (callback, None) if _function_name(callback.function) is not None else None
    value, method = getattr(callback, "__self__", None), getattr(callback, "__name__", "")
    name = type(value).__name__
    return (value, method) if _STAGES.get(name) is type(value) and method in _METHODS[name] else None


def read_callback(reading: Reading, value: Any) -> Callable[..., Any]:
    """A callback: slinky's own made again, others by their names."""
    if type(value) is not dict or "own" not in value:
        return values.read_callable(reading, value)
    name = value["own"]
    if name == _ALONE:
        reading.object(value, ("own",))
        return finish_alone
    if type(name) is not str or name not in _KINDS:
        reading.fail(f"expected one of {', '.join((*_KINDS, _ALONE))}, got {shown(name)}")
    methods = _METHODS.get(name, ())
    given = reading.object(value, ("own", *_FIELDS[name], *(("method",) if methods else ())))
    found = [_read_field(reading, key, read, given[key]) for key, (_, read) in _FIELDS[name].items()]
    if not methods:
        return Reducing(*found)
    method = given["method"]
    if method not in methods:
        reading.fail(f"expected one of {', '.join(methods)}, got {shown(method)}")
    stage: Callable[..., Any] = getattr(kept(_STAGES[name], *found), method)
    return stage


def _read_field(reading: Reading, name: str, read: _Read, value: Any) -> Any:
    return reading.at(f".{name}", lambda given: read(reading, given), value)
