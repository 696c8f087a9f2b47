"""The `type`, `isinstance` and `hasattr` that a traced function sees: a lazy array is an array or a scalar of NumPy's.

Idea. Python asks some things of the class that an object has, whatever the object says: `type(x)`, which methods there
are, whether it is iterable. So a function that asks is traced with globals in which these say what NumPy's own would
be asked for.

Invariant: of everything but lazy arrays and sizes, the answers are Python's.
"""

from __future__ import annotations

from types import UnionType
from typing import Any

from slinky.frontend.arrays import LazyArray
from slinky.frontend.sizes import Size


def _class_of(value: Any) -> Any:
    """The class that a function means: of what is lazy, that of what it stands for."""
    return value.__class__ if type(value) in (LazyArray, Size) else type(value)


class _AskedForClasses(type):
    """The class of a class that gives classes, like `type`, which is called with one argument to ask for one."""

    def __call__(cls, *given: Any, **named: Any) -> Any:
        if len(given) == 1 and not named:
            return _class_of(given[0])
        return type(*given, **named) if cls is Type else super().__call__(*given, **named)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, type) if cls is Type else super().__instancecheck__(value)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, type) if cls is Type else super().__subclasscheck__(other)


class Type(type, metaclass=_AskedForClasses):
    """`type`."""


def has_attribute(value: Any, name: str, /) -> bool:
    """`hasattr`."""
    return hasattr(_class_of(value) if type(value) in (LazyArray, Size) else value, name)


def is_instance(value: Any, kinds: Any, /) -> bool:
    """`isinstance`."""
    if type(value) not in (LazyArray, Size):
        return isinstance(value, kinds)
    if isinstance(kinds, tuple):
        return any(is_instance(value, kind) for kind in kinds)
    kinds = type if kinds is Type else kinds
    return isinstance(value, kinds) if isinstance(kinds, UnionType) else issubclass(_class_of(value), kinds)


BUILTINS = {"type": Type, "hasattr": has_attribute, "isinstance": is_instance}
"""By the names that functions have for them."""
