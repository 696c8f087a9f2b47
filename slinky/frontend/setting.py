"""Attributes that a function sets of objects that it is given: `self.state = ...`.

Idea. While the function is traced, it sets them of what stands for the objects (`stand_ins`), and that is found out:
the values are results of the trace beside its own (`WithValues`). A call computes all of them, and then sets them of
the objects that it was given, which lie at the same places of its arguments.

Invariants: the objects are changed once for each call, when all values are there. A call that fails before has changed
nothing, so the function can be called as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import attrs
import numpy as np

from slinky.frontend.abandoning import Abandoned
from slinky.frontend.nodes import exactly
from slinky.frontend.opened import CAPTURED, Opened
from slinky.frontend.traced import Kept
from slinky.frontend.trees import leaves_of


class Unread:
    """What stands for an attribute that the code of a function does not speak of: whoever asks for it is told so."""

    def _asked(self, *given: Any) -> Any:
        raise Abandoned("it asks for an attribute of an object that its code does not name")

    __array__ = __bool__ = __call__ = __copy__ = __deepcopy__ = __eq__ = __float__ = __format__ = __ge__ = _asked
    __getattr__ = __getitem__ = __gt__ = __hash__ = __index__ = __int__ = __iter__ = __le__ = __len__ = _asked
    __lt__ = __ne__ = __reduce_ex__ = __repr__ = __str__ = _asked


class Tally(Unread):
    """What stands for an integer of which the code asks nothing, and to which it adds some."""

    def __init__(self, *added: int) -> None:
        self.added = added

    def __iadd__(self, number: object) -> Tally:
        if type(number) is not int:
            self._asked()
        return Tally(*self.added, cast("int", number))


@attrs.frozen
class Place:
    """An attribute: the number of the object among those that are given, its name, and what is added to it, if it is
    not set anew."""

    number: int
    name: str
    added: tuple[int, ...] = ()


@attrs.frozen(eq=False)
class Places(Kept):
    """The attributes that are set."""

    each: tuple[Place, ...]


class WithValues(NamedTuple):
    """What a function returns, and the values of the attributes at some places."""

    result: Any
    values: tuple[Any, ...]
    places: Places


def objects_in(given: Iterable[Any], named: Mapping[str, Any]) -> list[Any]:
    """The objects, lists and dictionaries that were opened, in the order in which something is made to stand for
    them."""
    captured = [named[CAPTURED]] if CAPTURED in named else []
    others = [each for name, each in named.items() if name != CAPTURED]
    return [each for tree in (*given, *others, *captured) if type(tree) is Opened for each in _objects(tree)]


def _objects(tree: Opened) -> Iterator[Any]:
    for part in tree.parts:
        yield from _inside(part)
    if tree.kind[0] == "of" and not issubclass(tree.kind[1], tuple):
        yield tree.value


def _inside(part: Any) -> Iterator[Any]:
    if type(part) is Opened:
        yield from _objects(part)
    elif issubclass(type(part), (tuple, list)):
        for each in part:
            yield from _inside(each)
    elif type(part) is dict:
        for each in part.values():
            yield from _inside(each)


def settled(found: Any, given: Iterable[Any], named: Mapping[str, Any]) -> Any:
    """What a function returns, of what a call gave: attributes of objects among arguments are set, if it sets some."""
    if type(found) is not WithValues:
        return found
    objects = objects_in(given, named)
    for place, value in zip(found.places.each, found.values, strict=True):
        owner = objects[place.number]
        setattr(owner, place.name, getattr(owner, place.name) + sum(place.added) if place.added else value)
    return found.result


def with_values(held: list[Any], taken: Iterable[tuple[int, str, Any]]) -> list[Any]:
    """What a function returned, which is all that is held, with the attributes that it has set of objects: the numbers
    of these, names, and values."""
    places, values = [], []
    for number, name, value in taken:
        is_added = type(value) is Tally
        places.append(Place(number, name, value.added if is_added else ()))
        values.append(None if is_added else value)
    return [WithValues(held[0], tuple(values), Places(tuple(places)))] if places else held


def names_set(result: Any) -> list[str]:
    """The names of the attributes that a trace with such a result sets."""
    if type(result) is not WithValues:
        return []
    places: Any = result.places  # a leaf that gives them
    return sorted({place.name for place in places.value.each})


def changing(taken: Iterable[tuple[int, str, Any, Any]]) -> str | None:
    """The name of an attribute that is another constant after each call, such as a counter, or a list that grows, of
    those that were set: numbers, names, and values, before and now. Each would have to be traced for."""
    return next((name for _, name, old, new in taken if _is_another(old, new)), None)


def _is_another(old: Any, new: Any) -> bool:
    """Whether something is another constant, or has more or fewer parts, than it was."""
    if isinstance(old, Unread):
        return False  # nothing asks what it is
    before, now = ([leaf for _, leaf in leaves_of(tree)] for tree in (old, new))
    if type(old) in (tuple, list, dict) and type(new) is type(old) and len(before) != len(now):
        return True
    pairs = zip(before, now, strict=False)
    return any(_is_counted(a) and _is_counted(b) and exactly(a) != exactly(b) for a, b in pairs)


def _is_counted(value: Any) -> bool:
    """Whether something may be another one in each call, and is known when it is traced; floats are told."""
    return isinstance(value, (int, str, bytes, complex, np.integer, np.complexfloating)) and type(value) is not bool
