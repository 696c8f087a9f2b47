"""What is known of objects of people's classes: their attributes, as parts of a tree.

Idea. A function that is given an object (`self`, above all) reads its attributes, and calls its methods. Those are code
that can be read; these are arrays and constants, as arguments are. So an object among the arguments is a tree like a
tuple or a dictionary: of its class, and of those attributes that the code speaks of (`opening`). While the function is
traced, another object of the class stands in its place, with lazy arrays for arrays: what is done to it is done to that
one, and found out.

Invariant: two objects of one kind (`trees.kind_of`) with the same values in their leaves are the same to all that the
function does with them; an object that the function is given is not changed.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable, Iterator
from enum import EnumMeta
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

import attrs
import numpy as np

CAPTURED = ""
"""The name of an argument that no function has: what one has beside its arguments."""


@attrs.frozen(eq=False)
class Opened:
    """Something with what it is made of: an object with attributes, a list with entries.

    The kind is that it is made `of` parts, with its class; that it is `the` one, for what is the same as long as it is
    the same object (functions, members of enumerations); that it `is` an array of these elements; that it is one that
    was met before `again`, with its place among those that are done; or that it is an integer that is only `counted`.
    """

    value: Any
    kind: tuple[Any, ...]
    names: tuple[Any, ...]
    parts: tuple[Any, ...]

    def with_parts(self, parts: Iterable[Any]) -> Opened:
        """The same, of other parts."""
        return Opened(self.value, self.kind, self.names, tuple(parts))

    def titles(self, title: str) -> Iterator[tuple[str, Any]]:
        """The parts, with names for them: those of attributes, where `self` has them, or nothing with a name."""
        for name, part in zip(self.names, self.parts, strict=True):
            yield (str(name) if title in ("self", CAPTURED) and type(name) is str else f"{title}_{name}", part)


def closed(value: Any) -> Any:
    """What something is that may have been opened."""
    return value.value if type(value) is Opened else value


@lru_cache(maxsize=256)
def is_plain(kind: Any, home: str = "") -> bool:
    """Whether objects of a class are their attributes and nothing else: no memory of C's, nothing that watches them
    come and go, or tells other attributes than they have. The class is people's own, or of their package `home`."""
    if type(kind).__module__ not in ("builtins", "abc", "typing") or not is_of_people(kind, home):
        return False
    for each in kind.__mro__[:-1]:
        own = vars(each)
        is_of_python = bool(each.__flags__ & _HEAP_TYPE)
        if not is_of_python or "__del__" in own or "__getattribute__" in own or each.__base__ in _WITH_MEMORY:
            return False
        if not (is_of_people(each, home) or each.__module__ in _WITHOUT_STATE):
            return False
        if type(own.get("__dict__")) not in (GetSetDescriptorType, type(None)):
            return False
    return bool(kind.__mro__[-1] is object)


@lru_cache(maxsize=256)
def is_plain_tuple(kind: Any, home: str = "") -> bool:
    """Whether objects of a class are tuples whose entries have names, of people's own, and nothing else."""
    if not (issubclass(kind, tuple) and hasattr(kind, "_fields") and hasattr(kind, "_make") and type(kind) is type):
        return False
    own = kind.__mro__[: kind.__mro__.index(tuple)]
    return kind.__mro__[len(own) :] == (tuple, object) and not any(
        "__del__" in vars(each) or "__getattribute__" in vars(each) or not is_of_people(each, home) for each in own
    )


def is_enumeration(kind: Any, home: str = "") -> bool:
    """Whether a class is an enumeration of people's own."""
    return isinstance(kind, EnumMeta) and is_of_people(kind, home) and all(map(_is_of_enum, kind.__mro__))


_HEAP_TYPE = 1 << 9
"""The bit of a class that was made by a program, not by C."""

_WITHOUT_STATE = ("abc", "typing", "collections.abc")
"""Modules whose classes are there to be inherited from, and hold nothing."""

_WITH_MEMORY = (BaseException, type, ModuleType, np.ndarray, tuple, list, dict, set, frozenset, str, bytes, int, float)
"""Classes whose objects are more than attributes: the commonest."""


def is_of_people(kind: type, home: str = "") -> bool:
    """Whether a class is of people's own code: not of Python's library, nor of another that they have installed."""
    name = str(kind.__module__)
    return _is_people_s(name) or (bool(home) and home != "slinky" and name.partition(".")[0] == home)


@lru_cache(maxsize=1024)
def _is_people_s(name: str) -> bool:
    if name.partition(".")[0] in ("slinky", *sys.stdlib_module_names):
        return False
    path = getattr(sys.modules.get(name), "__file__", None)
    return path is None or not str(path).startswith(_INSTALLED)


_INSTALLED = tuple({sysconfig.get_paths()[name] for name in ("purelib", "platlib", "stdlib", "platstdlib")})


def is_constant_object(value: Any, home: str = "") -> bool:
    """Whether something is the same as long as it is the same object, if its code is: functions, those of NumPy's, and
    members of enumerations."""
    if isinstance(type(value), EnumMeta):
        return is_enumeration(type(value), home)
    return type(value) in (FunctionType, np.ufunc) or (
        type(value) is BuiltinFunctionType and isinstance(value.__self__, ModuleType)
    )


def _is_of_enum(kind: type) -> bool:
    return isinstance(kind, EnumMeta) or kind in (object, int, str, float) or kind.__module__ == "enum"


def attributes_of(value: Any) -> list[tuple[str, Any]]:
    """The attributes that an object of a plain class has by itself."""
    kind: Any = type(value)
    found: list[tuple[str, Any]] = list(getattr(value, "__dict__", {}).items())
    for name, slot in slots_of(kind):
        try:
            found.append((name, slot.__get__(value, kind)))
        except AttributeError:
            continue  # it has no value yet
    return found


@lru_cache(maxsize=256)
def slots_of(kind: Any) -> tuple[tuple[str, MemberDescriptorType], ...]:
    """The attributes that a class keeps at places of their own."""
    of_all = [each for own in kind.__mro__ for each in vars(own).items()]
    return tuple((name, each) for name, each in of_all if type(each) is MemberDescriptorType)


@lru_cache(maxsize=1024)
def sets_plainly(kind: Any, name: str) -> bool:
    """Whether to set an attribute of objects of a class does nothing but that."""
    if kind.__setattr__ is not object.__setattr__:
        return False
    found = next((vars(own)[name] for own in kind.__mro__ if name in vars(own)), None)
    return isinstance(found, MemberDescriptorType) or not hasattr(type(found), "__set__")


def with_attributes(kind: type, attributes: Iterable[tuple[str, Any]]) -> Any:
    """A new object of a plain class, with these attributes."""
    found: Any = object.__new__(kind)
    set_attributes(found, attributes)
    return found


def set_attributes(value: Any, attributes: Iterable[tuple[str, Any]]) -> None:
    """Give an object attributes, whatever its class does where they are set."""
    kind: Any = type(value)
    slots = dict(slots_of(kind))
    for name, each in attributes:
        if name in slots:
            slots[name].__set__(value, each)
        else:
            vars(value)[name] = each


__all__ = [
    "CAPTURED",
    "Opened",
    "attributes_of",
    "closed",
    "is_constant_object",
    "is_enumeration",
    "is_of_people",
    "is_plain",
    "is_plain_tuple",
    "set_attributes",
    "sets_plainly",
    "with_attributes",
]
