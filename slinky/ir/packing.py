"""What is made of programs as bytes: to compare it with what another process made, and to read it again.

Idea. Expressions, statements and funcs are pickled, by what they consist of. All else in them, such as callbacks,
ufuncs and arrays, is named by a number, in the order in which it is met: whoever reads the bytes gives the same things,
or those that stand for them. So no code of somebody else runs, neither here nor when the bytes are read, and a callback
that is read is the very object that it was.

Invariants: bytes that are equal, read with the same things, give equal programs, of statements with identities of their
own. Nothing but classes and functions of slinky and of NumPy's dtypes is named in them.
"""

from __future__ import annotations

import copyreg
import io
import pickle
import sys
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType, NoneType
from typing import Any

import attrs
import numpy as np

from slinky.ir.statements import KINDS

_PROTOCOL = 5

_PLAIN = frozenset({NoneType, bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset})
"""What a pickle has words of its own for, or what consists of such."""

_BUILT_IN = frozenset({"complex", "set", "frozenset", "slice", "range"})
"""What it names of Python."""

_OWN: set[type] = set(_PLAIN)
"""Kinds of things that are pickled as what they consist of, as far as they have come."""

_NAMED: dict[int, Any] = {}
"""Classes and functions that are named, as far as they have come, by their identities."""


def _without_identity(kind: type) -> Callable[[Any], tuple[Any, ...]]:
    """How a statement is made again: its identity is not told."""
    names = [f.name for f in attrs.fields(kind) if f.name != "id"]
    return lambda statement: (kind, tuple([getattr(statement, name) for name in names]))


def _as_named(dtype: Any) -> Any:
    """How a dtype is made again: those of a name are one object each."""
    is_named = dtype.names is None and dtype.subdtype is None and dtype.metadata is None
    return (np.dtype, (dtype.str,)) if is_named else dtype.__reduce__()


_REDUCED = {
    **copyreg.dispatch_table,
    **{kind: _without_identity(kind) for kind in KINDS},
    **{type(np.dtype(code)): _as_named for code in np.typecodes["All"]},
}


def packed(value: Any, others: list[Any]) -> bytes | None:
    """A value as bytes. The things that it consists of beside slinky's own are put at the end of `others`, if they are
    not there. None for what has no such form."""
    file = io.BytesIO()
    packer = _Packer(file, others)
    try:
        packer.dump(value)
    except (pickle.PicklingError, RecursionError, TypeError, AttributeError):
        return None
    return pickle.dumps((file.getvalue(), tuple(packer.texts)), protocol=_PROTOCOL)


def unpacked(data: bytes, others: Sequence[Any]) -> Any:
    """What was packed, with these things. Raises `pickle.UnpicklingError` for what names anything else."""
    packed_value, texts = _Unpacker(data, (), ()).load()
    return _Unpacker(packed_value, texts, others).load()


class _Packer(pickle.Pickler):
    """Texts are numbered, too, from -1 down: which of equal ones are one object is chance."""

    dispatch_table = _REDUCED

    def __init__(self, file: io.BytesIO, others: list[Any]) -> None:
        super().__init__(file, protocol=_PROTOCOL)
        self.texts: dict[str, int] = {}
        self._others = others
        self._numbers = {id(each): number for number, each in enumerate(others)}

    def persistent_id(self, given: Any) -> int | None:
        """The number of a thing that is named by it."""
        kind = type(given)
        if kind is str:
            return self.texts.setdefault(given, -1 - len(self.texts))
        number = self._numbers.get(id(given))
        if number is None and kind not in _OWN and not _is_own(given):
            number = self._numbers[id(given)] = len(self._others)
            self._others.append(given)
        return number


class _Unpacker(pickle.Unpickler):
    def __init__(self, data: bytes, texts: Sequence[str], others: Sequence[Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._texts = texts
        self._others = others

    def persistent_load(self, number: Any) -> Any:
        """The thing of a number."""
        try:
            return self._texts[-1 - number] if number < 0 else self._others[number]
        except (TypeError, IndexError):
            raise pickle.UnpicklingError(f"there is no thing {number!r}") from None

    def find_class(self, module: str, name: str) -> Any:
        """A class or function that is named."""
        root = module.partition(".")[0]
        if root in ("slinky", "numpy") or (module == "builtins" and name in _BUILT_IN):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is neither slinky's nor NumPy's")


def _is_own(given: Any) -> bool:
    """Whether something is pickled as what it consists of: data of slinky's, and numbers and dtypes of NumPy's."""
    kind = type(given)
    if kind in (FunctionType, BuiltinFunctionType) or isinstance(given, type):
        return id(given) in _NAMED or _is_named(given)
    if kind in (slice, range) or isinstance(given, (np.dtype, np.generic)):
        return not getattr(given, "dtype", given).hasobject
    if _is_of(kind.__module__, "slinky") and not callable(given):
        _OWN.add(kind)
        return True
    return False


def _is_named(given: Any) -> bool:
    """Whether a class or function is slinky's or NumPy's, and found by its name."""
    module, name = getattr(given, "__module__", None) or "", given.__qualname__
    if module == "builtins":
        return name in _BUILT_IN
    is_known = _is_of(module, "slinky") or _is_of(module, "numpy")
    if is_known and getattr(sys.modules.get(module), name, None) is given:
        _NAMED[id(given)] = given
        return True
    return False


def _is_of(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")
