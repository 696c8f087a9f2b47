"""What stands for objects among the arguments of a function while it is traced.

Idea. In the place of each object that was opened (`opening`) there is another one of its class, with lazy arrays for
arrays; its methods see lazy arrays' NumPy. Of what the function is not to ask for it holds something that says so.

Invariant: when a call has returned, nobody holds what stood for an object, and no object was changed.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from slinky.frontend.abandoning import Abandoned
from slinky.frontend.effects import replace
from slinky.frontend.given import lazy_arrays
from slinky.frontend.indexed import indexed_array, own_array
from slinky.frontend.opened import CAPTURED, Opened, attributes_of, set_attributes, sets_plainly, with_attributes
from slinky.frontend.reading import Reads, function_of
from slinky.frontend.setting import Tally, Unread
from slinky.frontend.trees import is_same_tree, leaves_of, with_leaves


class StandIns:
    """What stands for objects in a trace."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}
        """By the identity of what is stood for."""
        self._given: list[tuple[Any, Any, Any]] = []
        """What was made that can be changed, what it stands for, and what is in it."""
        self._arrays: list[Any] = []
        self.given: tuple[Any, ...] = ()
        self.named: dict[str, Any] = {}
        """The arguments with what was made."""

    def of(self, given: Any, named: Any, reads: Reads, at: Callable[[Any], Any]) -> dict[int, Any]:
        """Make something that stands for each object, whose functions are seen `at` a look, among the arguments, which
        are `given` and `named` then; and what stands for what the function has beside them, by its identity."""

        def made(opened: Opened) -> Any:
            if opened.kind[0] == "again":
                return self._made[id(opened.value)]
            if opened.kind[0] == "is":
                return self._array(opened.value)
            if opened.kind[0] == "counted":
                return Tally()
            parts = [with_leaves(part, _itself, made) for part in opened.parts]
            found = at(opened.value) if opened.kind[0] == "the" else _of_parts(opened, parts, reads, at)
            self._made[id(opened.value)] = found
            if opened.kind[0] == "of" and not isinstance(found, tuple):
                self._given.append((found, opened.value, _content(found)))
            return found

        def argument(value: Any) -> Any:
            return made(value) if type(value) is Opened else value

        self.given = tuple(map(argument, given))
        self.named = {name: argument(value) for name, value in named.items() if name != CAPTURED}
        captured = named.get(CAPTURED, _NOTHING)
        parts = [with_leaves(part, _itself, made) for part in captured.parts]
        return {id(value): part for value, part in zip(captured.value, parts, strict=True)}

    def _array(self, value: Any) -> Any:
        """An array of the same elements, which stay the same."""
        found = value.copy(order="K")
        found.flags.writeable = False
        self._arrays.append(found)
        return indexed_array(found)

    def are_in(self, result: Any) -> bool:
        """Whether arrays of a result share memory with such."""
        leaves = [own_array(leaf) for _, leaf in leaves_of(result)] if self._arrays else []
        arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray) and not lazy_arrays(leaf)]
        return any(np.may_share_memory(each, own) for each in arrays for own in self._arrays)

    def require_settable(self, names: Collection[str], parameters: Iterable[str], function: FunctionType) -> None:
        """Raises `Abandoned` if nothing stands for what a function is given for some parameters, of which it sets
        attributes, or some class does something by itself where attributes of these names are set."""
        objects = {id(found) for found, _, _ in self._given if type(found) not in (list, dict)}
        given = {**dict(zip(function.__code__.co_varnames, self.given, strict=False)), **self.named}
        if not all(id(given.get(each)) in objects for each in parameters):
            raise Abandoned(f"it sets {next(iter(names))}")
        for found, _, _ in self._given:
            kind: Any = type(found)
            if kind not in (list, dict):
                name = next((each for each in names if not sets_plainly(kind, each)), None)
                if name is not None:
                    raise Abandoned(f"it sets {name}")

    def take_values(self) -> list[tuple[int, str, Any, Any]]:
        """The attributes that the function has set: the numbers of the objects, names, and values, before and now;
        nobody else holds these then.

        Raises `Abandoned` if it has changed something else of what it was given.
        """
        taken: list[tuple[int, str, Any, Any]] = []
        for number, (found, _, before) in enumerate(self._given):
            if type(found) in (list, dict):
                if not is_same_tree(_content(found), before):
                    raise Abandoned("it changes an object that it is given")
                continue
            old, now = dict(before), dict(_content(found))
            if not old.keys() <= now.keys():
                raise Abandoned("it changes an object that it is given")
            new = [name for name, value in now.items() if name not in old or not is_same_tree(value, old[name])]
            taken += [(number, name, old.get(name), now[name]) for name in new]
            set_attributes(found, [(name, None) for name in new])
        return taken

    def end(self) -> bool:
        """Let go of them, and put the objects where somebody keeps what stood for them; whether anybody did."""
        given = [(found, own) for found, own, _ in self._given]
        self.given, self.named = (), {}
        self._made.clear()
        self._given.clear()
        for k in range(len(given)):
            _empty(given[k][0])
        given.append((Unread(), None))  # nobody else holds this one
        counts = [sys.getrefcount(found) for found, _ in given]
        if max(counts) == counts[-1]:
            return False
        gc.collect()
        counts = [sys.getrefcount(found) for found, _ in given]
        for (found, own), count in zip(given, counts, strict=True):
            if count > counts[-1]:
                _fill(found, own)
                replace(found, own)
        return max(counts) > counts[-1]


_NOTHING = Opened((), ("captured",), (), ())


def _itself(leaf: Any) -> Any:
    return leaf


def _of_parts(opened: Opened, parts: list[Any], reads: Reads, at: Callable[[Any], Any]) -> Any:
    """Something made of parts as an object is of its own."""
    kind = opened.kind[1]
    if kind in (tuple, list):
        return kind(parts)
    if kind is dict:
        return dict(zip(opened.names, parts, strict=True))
    if issubclass(kind, tuple):
        return tuple.__new__(kind, parts)
    own = dict(zip(opened.names, parts, strict=True))
    others = {name: Unread() for name, _ in attributes_of(opened.value) if name not in own}
    found = with_attributes(kind, {**own, **others}.items())
    if hasattr(found, "__dict__"):
        seen = _methods(found, reads.classes[kind], at)
        set_attributes(found, ((name, each) for name, each in seen if name not in own and name not in others))
    return found


def _methods(found: Any, known: Mapping[tuple[type, str], Any], at: Callable[[Any], Any]) -> Iterator[tuple[str, Any]]:
    """The functions of its class that an object is to see otherwise, bound to it."""
    kind = type(found)
    done = set()
    for own in kind.__mro__:
        for name in [name for other, name in list(known) if other is own and name not in done]:
            done.add(name)
            value = known[own, name]
            function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            if name.startswith("__") or function_of(function) is None or (seen := at(function)) is function:
                continue
            owner = kind if isinstance(value, classmethod) else found
            yield name, seen if isinstance(value, staticmethod) else MethodType(seen, owner)


def _content(value: Any) -> Any:
    """What is in a list, a dictionary, or an object."""
    if type(value) is list:
        return tuple(value)
    return tuple(value.items()) if type(value) is dict else tuple(attributes_of(value))


def _empty(value: Any) -> None:
    if type(value) in (list, dict):
        value.clear()
    else:
        set_attributes(value, [(name, None) for name, _ in attributes_of(value)])


def _fill(value: Any, own: Any) -> None:
    """Have in something what is in what it stands for."""
    if type(value) is list:
        value[:] = own
    elif type(value) is dict:
        value.update(own)
    else:
        getattr(value, "__dict__", {}).clear()
        set_attributes(value, attributes_of(own))
