"""What a function carries beside its code: what its closure and its defaults hold, what `functools.partial` has fixed,
and the attributes of an object that is called.

Idea. Functions of one code that carry other things are other functions, though they have one name and one source. What
they carry is told by values, in words that are the same in every process: numbers, texts, arrays, functions, and what
is made of these; of anything else by its type.

Invariant: nothing of it is called, but for what tells the elements of NumPy's arrays.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

DEEPEST = 8
"""What lies in so many things within each other is told by its type."""
_OBJECTS = 3
"""So are objects with attributes, which may hold whole programs."""


def code_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function whose code runs: of partial functions, methods, and objects that are called."""
    while True:
        match function:
            case functools.partial():
                function = function.func
            case MethodType():
                function = function.__func__
            case FunctionType():
                return function
            case _ if "__wrapped__" in getattr(function, "__dict__", {}):
                function = function.__dict__["__wrapped__"]
            case _:
                own = inspect.getattr_static(type(function), "__call__", None)
                return own if isinstance(own, FunctionType) else function


def source_of(function: Callable[..., Any]) -> str:
    """The code of a function as it stands in its file, or as Python compiled it where there is none."""
    function = code_of(function)
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        source = repr((getattr(code, "co_code", b""), getattr(code, "co_names", ()), getattr(code, "co_consts", ())))
        return re.sub(r" at 0x[0-9a-f]+", "", source)


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, with its module; of an object that is called, that of its class."""
    if isinstance(function, functools.partial):
        return name_of(function.func)
    own = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', None)}.{own}"


def captured(function: object) -> str:
    """What a function carries, in words; empty if that is nothing."""
    return _Telling().carried(function, 0)


class _Telling:
    """What is told of one function. What else carries things is told once, as it may carry itself."""

    def __init__(self) -> None:
        self._told: dict[int, object] = {}

    def carried(self, function: object, depth: int) -> str:
        """What a function or an object carries."""
        if id(function) in self._told:
            return "..."
        self._told[id(function)] = function
        told: dict[str, object]
        match function:
            case functools.partial():
                told = {"func": function.func, "args": function.args, "keywords": function.keywords}
            case MethodType():
                told = {"self": function.__self__, "func": function.__func__}
            case FunctionType():
                code = function.__code__
                told = {"defaults": function.__defaults__, "named defaults": function.__kwdefaults__}
                cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
                told |= {name: _held(cell) for name, cell in cells}
            case _:
                attributes = getattr(function, "__dict__", None)
                told = dict(attributes) if isinstance(attributes, dict) else {}
        said = {name: self._value(each, depth + 1) for name, each in told.items() if each is not None}
        return ", ".join(f"{name} = {words}" for name, words in said.items())

    def _value(self, value: object, depth: int) -> str:
        of = f"{type(value).__module__}.{type(value).__qualname__}"
        if depth > DEEPEST:
            return of
        match value:
            case None | bool() | int() | float() | complex() | str() | bytes() if of.startswith("builtins."):
                return repr(value)
            case np.ndarray() | np.generic() if not value.dtype.hasobject:
                elements = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
                return f"{of} {value.dtype} {value.shape} {elements}"
            case tuple() | list():
                return f"{of}({', '.join(self._value(each, depth + 1) for each in value)})"
            case dict():
                pairs = [(self._value(key, depth + 1), self._value(each, depth + 1)) for key, each in value.items()]
                return f"{of}({', '.join(f'{key}: {each}' for key, each in pairs)})"
            case type() | np.dtype():
                return repr(value)
            case np.ufunc():
                return value.__name__
            case functools.partial() | MethodType() | FunctionType() | BuiltinFunctionType():
                source = hashlib.sha256(source_of(value).encode(errors="surrogatepass")).hexdigest()
                return f"{name_of(value)} {source} ({self.carried(value, depth)})"
            case _:
                return f"{of}({self.carried(value, depth)})" if depth < _OBJECTS else of


def _held(cell: Any) -> object:
    """What a cell of a closure holds; None if that is nothing yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


__all__ = ["captured", "code_of", "name_of", "source_of"]
