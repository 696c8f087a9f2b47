"""Objects among what a function is given or reads: what they hold, so that a trace is kept as long as that is the same.

Idea. An instance of a plain class is what its attributes are, and what the functions of its class do. The first is
compared at each call; the code of the second is looked at like that of all functions that are called.

Invariant: two objects with the same `content_of_object` do the same, as long as their classes are what they were. What
could do otherwise (attributes that are computed by `__getattr__`, operators, slots, parts that are no numbers, texts,
small arrays or such objects) has none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from types import FunctionType
from typing import Any

_HARMLESS = frozenset(
    ["__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__init__", "__repr__",
     "__match_args__", "__dataclass_fields__", "__dataclass_params__", "__eq__", "__hash__", "__parameters__",
     "__orig_bases__", "__firstlineno__", "__static_attributes__", "__post_init__", "__replace__", "__call__",
     "__setattr__", "__delattr__"]
)  # fmt: skip
"""The names with underscores that a plain class may have: it is called by its attributes, and not by operators. Data
classes that never change forbid to set attributes."""

_OF_DATA_CLASSES = ("__setattr__", "__delattr__", "__eq__", "__hash__", "__replace__")
"""Of these, the names that only data classes may have."""

_DEEPEST = 4
"""How deep objects may lie in objects."""


def is_plain(kind: type) -> bool:
    """Whether instances are what their attributes are."""
    for each in kind.__mro__[:-1]:
        if each.__module__.partition(".")[0] in ("builtins", "numpy") or type(each) is not type:
            return False
        if any(n[:2] == "__" and n not in _HARMLESS for n in vars(each)):
            return False
        if not all(_is_of_data_class(each, name) for name in _OF_DATA_CLASSES):
            return False
    return len(kind.__mro__) > 1


def _is_of_data_class(kind: type, name: str) -> bool:
    """Whether a class has no such function, or the one that a data class is given."""
    return name not in vars(kind) or "__dataclass_params__" in vars(kind)


def content_of_object(value: Any, content: Callable[[Any], Hashable], depth: int = 0) -> Hashable:
    """What an object holds, to compare it by; `content` says it of what is no object.

    Raises `TypeError` for what has a state that is not seen.
    """
    kind = type(value)
    if depth > _DEEPEST or not is_plain(kind):
        raise TypeError(f"a {kind.__name__}")
    found: list[tuple[str, Hashable]] = []
    for name, own in vars(value).items():
        try:
            found.append((name, content(own)))
        except TypeError:
            found.append((name, content_of_object(own, content, depth + 1)))
    return (kind, *found)


def functions_in(value: Any) -> Iterator[FunctionType]:
    """The functions of something that stands in a class: itself, or those that it wraps."""
    match value:
        case classmethod() | staticmethod():
            yield from functions_in(value.__func__)
        case property():
            for each in (value.fget, value.fset, value.fdel):
                yield from functions_in(each)
        case _:
            function = getattr(value, "__slinky_function__", value)
            if isinstance(function, FunctionType):
                yield function
