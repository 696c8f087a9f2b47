"""Objects of people's classes that a function makes and returns: they are made anew at each call.

Idea. What was returned while a function was traced holds lazy arrays. If nobody else holds it, nobody can tell it from
another object of its class with the same attributes: so it is opened (`opened`), as objects among arguments are, and a
call puts what it computed into a new one. Lists and dictionaries are made anew, too, and end the trace if others know
them: what is put into one of these later is to be in the others.

Invariant: an object that anything else than the result knows (a list of all objects, a weak reference, another place of
the result) is never made anew.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

import attrs

from slinky.frontend.abandoning import Abandoned
from slinky.frontend.opened import Opened, attributes_of, is_plain, with_attributes
from slinky.frontend.trees import is_named_tuple


def opened_result(held: list[Any]) -> Any:
    """The one thing that a list holds, with the objects opened that nobody else holds.

    Raises `Abandoned` for a list or dictionary that somebody else holds.
    """
    return _part(_Entry(held, 0), _is_alone)


def _part(take: Callable[[], Any], is_alone: Callable[[Any], bool]) -> Any:
    """Part of a result, which is taken from where it lies, and stays there."""
    value = take()
    kind: Any = type(value)
    if kind in (list, dict) and not is_alone(value):
        raise Abandoned(f"it returns a {kind.__name__} that something else holds, too")
    if kind in (tuple, list) or is_named_tuple(value):
        parts = [_part(_Entry(value, k), is_alone) for k in range(len(value))]
        return kind(parts) if kind in (tuple, list) else value._make(parts)
    if kind is dict:
        return {key: _part(_Entry(value, key), is_alone) for key in value}
    if is_alone(value) and is_plain(kind, str(kind.__module__).partition(".")[0]):
        names = [name for name, _ in attributes_of(value)]
        return Opened(None, ("of", kind), tuple(names), tuple([_part(_Attribute(value, n), is_alone) for n in names]))
    return value


@attrs.frozen
class _Entry:
    """Takes an entry of a list, a tuple, or a dictionary."""

    holder: Any
    place: Any

    def __call__(self) -> Any:
        return self.holder[self.place]


@attrs.frozen
class _Attribute:
    """Takes an attribute that an object has by itself."""

    holder: Any
    name: str

    def __call__(self) -> Any:
        own = getattr(self.holder, "__dict__", {})
        return own[self.name] if self.name in own else getattr(self.holder, self.name)


def _is_alone(value: Any) -> bool:
    """Whether something lies in the one place from which it was taken, and in no other."""
    return sys.getrefcount(value) <= _ALONE and weakref.getweakrefcount(value) == 0


def _references() -> int:
    """How many references there are to what lies in one place, where that is asked."""
    found: list[int] = []

    def count(value: Any) -> bool:
        found.append(sys.getrefcount(value))
        return False

    _part(_Entry([Opened(None, (), (), ())], 0), count)
    return found[0]


_ALONE = _references()


Maker = Callable[..., Any]
"""Makes part of a result of what a call has: its arguments, and what was computed of them."""


def maker(tree: Any, leaf: Callable[[Any], Maker]) -> Maker:
    """What makes a result at each call, with new objects, of what `leaf` has for the leaves."""
    if type(tree) in (tuple, list):
        kind, parts = type(tree), [maker(each, leaf) for each in tree]
        return lambda *of: kind([part(*of) for part in parts])
    if is_named_tuple(tree):
        put, parts = tree._make, [maker(each, leaf) for each in tree]
        return lambda *of: put([part(*of) for part in parts])
    if type(tree) is dict:
        items = [(key, maker(each, leaf)) for key, each in tree.items()]
        return lambda *of: {key: part(*of) for key, part in items}
    if type(tree) is Opened:
        names, parts = tree.names, [maker(each, leaf) for each in tree.parts]
        return lambda *of: with_attributes(tree.kind[1], zip(names, [part(*of) for part in parts], strict=True))
    return leaf(tree)


__all__ = ["maker", "opened_result"]
