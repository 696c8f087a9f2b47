"""Objects among the arguments of a function as trees (`opened`).

Idea. A call that is given objects of people's classes, or functions, opens them: what is in an object are those of its
attributes that the functions speak of which were read, those of its class among them (`reading`). If all of them are
known (arrays, constants, lists, other such objects), a trace is good for all objects with attributes of these kinds;
if one is not, the call is traced with the objects as they are.

Invariant: what is opened of arguments is all that the function can tell them apart by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import EnumMeta
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from slinky.frontend.containers import is_labelled
from slinky.frontend.nodes import text_of
from slinky.frontend.opened import (
    CAPTURED,
    Opened,
    attributes_of,
    closed,
    is_constant_object,
    is_plain,
    is_plain_tuple,
)
from slinky.frontend.reading import Reads, Seen
from slinky.frontend.telling import asks_by_names, goes_by_names
from slinky.frontend.trees import is_constant, is_named_tuple, is_record

MOST_PARTS = 256
"""Objects that are made of more are not looked through at each call."""

MOST_READ = 64
"""How many functions and classes that it was given a function is read with: more are made at each call."""


class _Reader(Protocol):
    """What knows what a function reads."""

    def reads_now(self) -> Reads: ...

    constants: set[Path]

    def are_good(self) -> bool: ...

    def look_again(self) -> None: ...


class _NotKnownError(Exception):
    """Something has parts that are not known."""


class Opening:
    """How the objects that a function is given are opened: by what it `reads`."""

    def __init__(self, function: Callable[..., Any], reader: _Reader) -> None:
        self._reader = reader
        self._home = str(getattr(function, "__module__", "")).partition(".")[0]

    def opened(self, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments with objects opened; as they are where one is not known in all of its parts."""
        self._reader.are_good()
        reads = self._reader.reads_now()
        while reads.reason is None:
            read = reads.extent
            walk = _Walk(reads, self._home)
            try:
                found = tuple([walk.argument(each) for each in given])
                found_named = {name: walk.argument(each) for name, each in named.items()}
                if reads.captured:
                    found_named[CAPTURED] = walk.captured()
            except _NotKnownError:
                reads.refuse_captured()
                return given, named
            reads.see_classes()
            if read != reads.extent:
                self._reader.look_again()
            elif reads.reason is None:
                return self._with_constants(found, found_named) if self._reader.constants else (found, found_named)
        reads.refuse_captured()
        return given, named

    def _with_constants(self, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any]:
        """The same, where arrays whose values were asked for are what they hold."""
        constants = self._reader.constants
        leading = {path[:k] for path in constants for k in range(len(path))}

        def of(path: Path, tree: Any) -> Any:
            if type(tree) is np.ndarray:
                is_one = path in constants and tree.nbytes <= MOST_BYTES and not tree.dtype.hasobject
                return _constant(tree) if is_one else tree
            inside = _inside(tree) if path in leading else None
            if inside is None:
                return tree
            parts = [of((*path, name), part) for name, part in inside]
            if all(new is part for new, (_, part) in zip(parts, inside, strict=True)):
                return tree
            if type(tree) is Opened:
                return tree.with_parts(parts)
            names = tree._fields if is_named_tuple(tree) else [name for name, _ in inside]
            return Opened(tree, ("of", type(tree)), tuple(names), tuple(parts))

        return tuple([of((k,), each) for k, each in enumerate(given)]), {n: of((n,), each) for n, each in named.items()}


Path = tuple[Any, ...]
"""Where a leaf stands in arguments: the place or the name of one, and those of what is inside."""


def paths_of(given: Iterable[Any], named: Mapping[str, Any]) -> list[Path]:
    """The paths of the leaves of arguments, in order."""

    def within(path: Path, tree: Any) -> Iterator[Path]:
        inside = _inside(tree)
        if inside is None:
            yield path
        for name, part in inside or ():
            yield from within((*path, name), part)

    return [path for k, each in [*enumerate(given), *named.items()] for path in within((k,), each)]


def _inside(tree: Any) -> list[tuple[Any, Any]] | None:
    """What stands in part of arguments, by its places or names; None of a leaf."""
    if type(tree) is Opened:
        return list(zip(tree.names, tree.parts, strict=True))
    if type(tree) in (tuple, list) or is_named_tuple(tree):
        return list(enumerate(tree))
    return list(tree.items()) if type(tree) is dict else None


def arrays_in(tree: Any) -> Iterator[Any]:
    """The arrays among arguments."""
    inside = _inside(tree)
    if inside is not None:
        for _, part in inside:
            yield from arrays_in(part)
    array = tree.value if type(tree) is Opened else tree
    if isinstance(array, np.ndarray):
        yield array


def _constant(array: Any) -> Opened:
    return Opened(array, ("is", text_of(array.dtype), array.shape, array.strides, array.tobytes()), (), ())


MOST_BYTES = 1 << 17
"""Arrays that are larger are not compared at each call."""


def may_open(given: Iterable[Any], values: Iterable[Any]) -> bool:
    """Whether there is an object that may be opened, as far as its class says, among arguments and their leaves."""
    if any(is_named_tuple(value) and not is_record(value) for value in given):
        return True
    return any(type(value) not in _LEAVES and (is_constant_object(value) or _is_open(type(value))) for value in values)


def _is_open(kind: Any) -> bool:
    """Whether a class is one of which something may be known, wherever it is from."""
    home = str(kind.__module__).partition(".")[0]
    return is_plain(kind, home) or is_plain_tuple(kind, home)


_LEAVES = frozenset([np.ndarray, np.memmap, bool, int, float, complex, str, bytes, type(None), slice])


class _Walk:
    """One way through arguments: what was met is met again."""

    def __init__(self, reads: Reads, home: str) -> None:
        self._reads = reads
        self._home = home
        self._met: dict[int, int | None] = {}
        """By identity, how many were done before; None where one is not done yet."""
        self._held: list[Any] = []
        self._count = 0

    def argument(self, value: Any) -> Any:
        """An argument with objects opened; containers that have none are as they are, and so is what is unknown."""
        if type(value) in _LEAVES:
            return value
        if type(value) in self._reads.seen:
            return self.part(value)
        if type(value) in (tuple, list, dict) or is_record(value):
            inside = value.values() if type(value) is dict else value
            return self.part(value) if self._has_objects(inside) else value
        kind: Any = type(value)
        is_one = is_constant_object(value, self._home) or is_plain(kind, self._home) or is_plain_tuple(kind, self._home)
        if is_one:
            return self.part(value)
        if not _is_seen(value):
            raise _NotKnownError  # it may come to the others
        return value

    def captured(self) -> Opened:
        """What the function has beside its arguments."""
        captured = list(self._reads.captured)
        values = [read() for read, _ in captured]
        names = tuple([name for _, name in captured])
        return Opened(values, ("captured",), names, tuple(map(self.part, values)))

    def _has_objects(self, values: Iterable[Any], depth: int = 0) -> bool:
        for value in values:
            kind: Any = type(value)
            if kind in _LEAVES or _is_seen(value):
                continue
            if kind in (tuple, list, dict):
                inside = value.values() if kind is dict else value
                if depth < _DEEPEST and self._has_objects(inside, depth + 1):
                    return True
            elif not is_record(value):
                return True  # an object, or what may come to one
        return False

    def part(self, value: Any) -> Any:
        """Part of an object."""
        kind: Any = type(value)
        if kind in _LEAVES or kind is Opened:
            return value
        if kind not in _MADE_OF_PARTS and kind not in self._reads.seen and _is_leaf(value):
            return value
        if id(value) in self._met:
            if self._met[id(value)] is None:
                raise _NotKnownError  # it is in itself
            return Opened(value, ("again", self._met[id(value)]), (), ())
        if len(self._held) > MOST_PARTS:
            raise _NotKnownError
        self._held.append(value)
        self._met[id(value)] = None
        found = self._opened(value, kind)
        self._met[id(value)] = self._count
        self._count += 1
        return found

    def _opened(self, value: Any, kind: Any) -> Opened:
        if kind in self._reads.seen and is_plain(kind, self._home):
            return self._of(value, kind, self._attributes(value, kind))
        if kind in (tuple, list):
            return self._of(value, kind, enumerate(value))
        if kind is dict and all(type(key) in (str, int) for key in value):
            return self._of(value, kind, value.items())
        if is_record(value):
            return self._of(value, kind, zip(value._fields, value, strict=True))
        if is_constant_object(value, self._home):
            self._read_with(value)
            is_member = isinstance(kind, EnumMeta)
            own = value._value_ if is_member and is_constant(value._value_) else None
            return Opened(value, ("the", kind, value._name_, own) if is_member else ("the", value), (), ())
        if is_plain(kind, self._home):
            return self._of(value, kind, self._attributes(value, kind))
        if is_plain_tuple(kind, self._home) and not getattr(value, "__dict__", None):
            self._require_seen(kind)
            return self._of(value, kind, zip(kind._fields, value, strict=True))
        raise _NotKnownError

    def _of(self, value: Any, kind: Any, parts: Iterable[tuple[Any, Any]]) -> Opened:
        named = list(parts)
        if len(named) > MOST_PARTS:
            raise _NotKnownError
        part = self.part
        found = [each if type(each) in _LEAVES else part(each) for _, each in named]
        return Opened(value, ("of", kind), tuple([name for name, _ in named]), tuple(found))

    def _read_with(self, value: Any) -> None:
        """Read a function, or the class of a member of an enumeration."""
        given = self._reads.given
        key = type(value) if isinstance(type(value), EnumMeta) else value
        if key not in given and len(given) >= MOST_READ:
            raise _NotKnownError
        if isinstance(key, type):
            given[key] = self._reads.see_class(key)
        elif key not in given:
            self._reads.see_function(value)
            given[key] = True
        if not given[key]:
            raise _NotKnownError

    def _attributes(self, value: Any, kind: type) -> Iterator[tuple[str, Any]]:
        known = self._require_seen(kind)
        own = attributes_of(value)
        if known.computed and not known.computed <= {name for name, _ in own}:
            raise _NotKnownError  # what it computes it keeps
        spoken, counted = self._reads.spoken, self._reads.counted - self._reads.said
        for name, each in own:
            if name in counted and type(each) is int:
                yield name, Opened(each, ("counted",), (), ())
            elif name in spoken or name in counted:
                yield name, each

    def _require_seen(self, kind: type) -> Seen:
        """What is known of a class.

        Raises `_NotKnownError` where that is not all that its objects do.
        """
        reads = self._reads
        known = reads.seen.get(kind)
        if known is None or known.spoken != len(reads.spoken):
            known = self._seen(kind)
        if not known.is_known:
            raise _NotKnownError
        return known

    def _seen(self, kind: type) -> Seen:
        """Read a class, and what its methods come to."""
        reads = self._reads
        if kind not in reads.classes and len(reads.classes) >= MOST_READ:
            raise _NotKnownError
        is_known = reads.see_class(kind) and not any(
            goes_by_names(each) or asks_by_names(each) for each in reads.functions
        )
        known = list(reads.classes[kind].items())
        names = [name for (_, name), each in known if isinstance(each, cached_property)]
        found = reads.seen[kind] = Seen(is_known, frozenset(names), len(reads.spoken))
        return found


_DEEPEST = 8
_MADE_OF_PARTS = (list, tuple, dict)


def _is_seen(value: Any) -> bool:
    """Whether something is a leaf, or a container with labels: nothing that may come to objects."""
    kind = type(value)
    return kind.__module__.partition(".")[0] in ("numpy", "slinky") or _is_leaf(value) or is_labelled(value)


def _is_leaf(value: Any) -> bool:
    """Whether something is a leaf of arguments, and its own kind."""
    return is_constant(value) or (isinstance(value, type) and value.__module__ in ("builtins", "numpy"))


class Closing:
    """A function that is called with what it was given, before that was opened."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, /, *given: Any, **named: Any) -> Any:
        own = {name: closed(each) for name, each in named.items() if name != CAPTURED}
        return self._function(*map(closed, given), **own)
