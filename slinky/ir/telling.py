"""What is called, or held, by a program beside slinky's own data, told in words: so that two of the same words do the
same.

Idea. A function of NumPy's, of SciPy's or of slinky's is told by its name, an array by its elements, and an object of
slinky's by what it consists of. What somebody else has written has no such words: it may change while its name stays.

Invariant: things of which the same is told compute the same, with the same versions of these packages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, NoneType
from typing import Any

import attrs
import numpy as np

from slinky.ir.formulas import ufunc_of_numpy
from slinky.ir.packing import packed
from slinky.symbolic.expressions import Expr

MOST_BYTES = 1 << 16
"""Of arrays of more bytes nothing is told."""

_NAMED = (np.ufunc, FunctionType, BuiltinFunctionType, type(np.mean))
"""What has a name under which a module has it."""

_UFUNCS = ("numpy", "scipy.special")
"""Where ufuncs are found, which say nothing of that."""

_PLAIN = frozenset({NoneType, bool, int, str, bytes, complex})
_KNOWN = frozenset({"slinky", "numpy", "scipy", "builtins", "_operator", "math"})


def told(thing: Any) -> Any:
    """Words for a thing, as plain data; None where there are none."""
    try:
        return _told(thing)
    except RecursionError:  # it holds itself
        return None


def question(value: Any, things: list[Any], words_for: Callable[[Any], Any] = told) -> bytes | None:
    """All of a value, with words for the things in it, which are put into the list: what to ask for an answer by. None
    where it has no such form, or there are no words for one of them."""
    asked = packed(value, things)
    words = [words_for(thing) for thing in things]
    if asked is None or None in words:
        return None
    return b"\0".join([asked, *(repr(each).encode() for each in words)])


def _told(thing: Any) -> Any:
    kind = type(thing)
    if kind in _PLAIN:
        return kind.__name__, thing
    if kind is float:
        return "float", thing.hex()
    if kind in (tuple, list):
        return _each(kind.__name__, thing)
    if kind is dict:
        return _each("dict", thing.items())
    if kind in (frozenset, set):
        words = _each(kind.__name__, thing)
        return None if words is None else sorted(words, key=repr)
    if isinstance(thing, np.dtype):
        return None if thing.hasobject or thing.metadata is not None else ("dtype", str(thing.descr))
    if isinstance(thing, np.generic) or kind is np.ndarray:
        return _told_of_elements(thing)
    if kind is MethodType:
        return _each("method", [thing.__self__, thing.__func__])
    if isinstance(thing, (*_NAMED, type)):
        return _name_of(thing)
    if kind is partial:
        return _each("partial", [thing.func, thing.args, thing.keywords])
    if isinstance(thing, Expr):
        return "expression", packed(thing, [])
    if attrs.has(kind) and _is_known(kind.__module__):
        return _each(f"{kind.__module__}.{kind.__qualname__}", [getattr(thing, f.name) for f in attrs.fields(kind)])
    return None


def _each(name: str, items: Any) -> Any:
    found = [_told(item) for item in items]
    return None if None in found else (name, *found)


def _told_of_elements(thing: Any) -> Any:
    if thing.dtype.hasobject or thing.nbytes > MOST_BYTES:
        return None
    return type(thing).__name__, thing.shape, str(thing.dtype.descr), thing.tobytes()


def _name_of(thing: Any) -> Any:
    """The name of a class or function, by which it is found; of a method of a known thing, the thing, too."""
    owner, name = getattr(thing, "__self__", None), getattr(thing, "__qualname__", None) or thing.__name__
    if isinstance(owner, np.ufunc):
        named = _name_of(owner)
        return None if named is None else ("method", named, name)
    if isinstance(thing, np.ufunc):
        if ufunc_of_numpy(name) is thing:
            return "ufunc", "numpy", name
        return next((("ufunc", of, name) for of in _UFUNCS if getattr(sys.modules.get(of), name, None) is thing), None)
    module = getattr(thing, "__module__", None)
    if not isinstance(module, str) or not _is_known(module):
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return (module, name) if found is thing else None


def _is_known(module: str) -> bool:
    return module.partition(".")[0] in _KNOWN
