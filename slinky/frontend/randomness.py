"""What a traced function sees of `numpy.random`: it may name it, and ask about it; what draws numbers, it may not call.

Idea. Numbers that are drawn while a function is traced would be those of every call. Whether a function draws is seen
where it calls what does, by whatever name: an attribute of NumPy, a name of its own, a module that it imports.

Invariant: nothing is drawn, and nothing else is refused.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import attrs
import numpy as np

from slinky.errors import TracingError


def random_numbers(function: str, what: str) -> TracingError:
    """What to raise where a function comes to random numbers."""
    return TracingError(
        f"{function} may not draw random numbers ({what}): they cannot be traced, for each call would have the same. "
        f"Draw them outside of it, and give it the arrays as arguments"
    )


class Randomness(ModuleType):
    """`numpy.random`, for a function that is traced."""

    def __init__(self, function: str) -> None:
        super().__init__("numpy.random")
        self._function = function

    def __getattr__(self, name: str) -> Any:
        found = getattr(np.random, name)  # which loads it
        return found if drawn_by(found) is None else _Drawing(found, self._function, f"numpy.random.{name}")

    def in_place_of(self, value: Any) -> Any:
        """What is seen for something that is known by a name of its own; None where that is seen as it is."""
        name = drawn_by(value)
        return None if name is None else getattr(self, name) if name else self


def drawn_by(value: Any) -> str | None:
    """By which name of `numpy.random` something draws numbers, empty for the module; None for what is not of it."""
    module = sys.modules.get("numpy.random")
    if module is None:
        return None
    return "" if value is module else _names(module).get(id(value))


@functools.lru_cache(maxsize=8)
def _names(module: ModuleType) -> Mapping[int, str]:
    """The names of what a module offers, by its identity."""
    return {id(getattr(module, name)): name for name in module.__all__ if hasattr(module, name)}


@attrs.frozen(eq=False)
class _Drawing:
    """A function of `numpy.random`, or a class of generators, of which anything may be asked but to be called."""

    _own: Any
    _function: str
    _what: str

    def __call__(self, *given: Any, **named: Any) -> Any:
        raise random_numbers(self._function, self._what)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, self._own)

    def __subclasscheck__(self, kind: type) -> bool:
        return issubclass(kind, self._own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)
