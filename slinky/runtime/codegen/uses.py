"""Which names of a plan tree steps and values use, and which ones steps give values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

import attrs

from slinky.runtime.plan_tree import Assign, Fetch, FetchWithin, Integer, Name, Node, Reserve, Step, TakeArena, Unpack


def names_used(roots: Iterable[Node]) -> set[str]:
    """The names that some steps or values use, at any depth."""
    found: set[str] = set()
    seen: set[int] = set()  # what is computed here and there is one node, which may hold others that are, too
    waiting: list[Any] = list(roots)
    while waiting:
        item = waiting.pop()
        kind = type(item)
        if kind is Name:
            found.add(item.text)
        elif kind is tuple:
            waiting += item
        elif kind not in _LEAVES and id(item) not in seen:  # most are these three: the rest is a look-up and a call
            seen.add(id(item))
            waiting += (_getters.get(kind) or _getter(kind))(item)
    return found


def names_assigned(step: Step) -> tuple[str, ...]:
    """The names that a step gives values, for the steps behind it."""
    match step:
        case Assign(name=name) | TakeArena(arena=name):
            return (name,)
        case Unpack(names=names):
            return names
        case Reserve(heap=heap, rings=rings):
            return (*(room.site for room in heap), *rings)
        case Fetch(name=name, reading=reading) | FetchWithin(name=name, reading=reading):
            return (name,) if reading is None else (name, reading)
    return ()


_LEAVES = frozenset((Integer, str, int, bool, type(None)))

_getters: dict[type, Callable[[Any], tuple[object, ...]]] = {}


def _getter(kind: Any) -> Callable[[Any], tuple[object, ...]]:
    """What gives the fields of a kind of node, but for those that cannot hold others; nothing of what is no node."""
    names = []
    if issubclass(kind, Node):
        names = [field.name for field in attrs.fields(kind) if field.type not in _WITHOUT_PARTS]
    # Of a single name it would give no tuple.
    found: Callable[[Any], tuple[object, ...]] = attrgetter(*names, names[0]) if names else _nothing
    return _getters.setdefault(kind, found)


def _nothing(_node: Node) -> tuple[object, ...]:
    return ()


_WITHOUT_PARTS = frozenset({"Place", "Failure", "bool", "int", "str", "str | None", "tuple[str, ...]"})
"""Types of fields, as they are annotated, that hold no names that are used."""
