"""Objects among the arguments of a function, as trees (`opened`), and what stands for them while it is traced.

Idea. A call that is given objects of people's classes, or functions, opens them: what is in an object are those of its
attributes that the functions speak of which were read, those of its class among them (`reading`). If all of them are
known (arrays, constants, lists, other such objects), a trace is good for all objects with attributes of these kinds;
if one is not, the call is traced with the objects as they are. In a trace, new objects stand in their places. Of what
they are not to be asked for they hold something that says so.

Invariant: when a call has returned, nobody holds what stood for an object, and no object was changed.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import EnumMeta
from functools import cached_property
from types import MethodType
from typing import Any, Protocol

import numpy as np

from slinky.frontend.containers import is_labelled
from slinky.frontend.effects import replace
from slinky.frontend.given import lazy_arrays
from slinky.frontend.indexed import indexed_array, own_array
from slinky.frontend.nodes import text_of
from slinky.frontend.opened import (
    CAPTURED,
    Opened,
    attributes_of,
    closed,
    is_constant_object,
    is_plain,
    is_plain_tuple,
    set_attributes,
    with_attributes,
)
from slinky.frontend.reading import Reads, Seen, function_of
from slinky.frontend.telling import asks_by_names, goes_by_names
from slinky.frontend.tracing import Abandoned
from slinky.frontend.trees import is_constant, is_named_tuple, is_record, is_same_tree, leaves_of, with_leaves

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

    def open(self, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
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


MOST_BYTES = 4096
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
        captured = self._reads.captured
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
        if kind in _LEAVES:
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
        spoken = self._reads.spoken
        return ((name, each) for name, each in own if name in spoken)

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
        names = [name for (_, name), each in reads.classes[kind].items() if isinstance(each, cached_property)]
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


class Unread:
    """What stands for an attribute that the code of a function does not speak of: whoever asks for it is told so."""

    def _asked(self, *given: Any) -> Any:
        raise Abandoned("it asks for an attribute of an object that its code does not name")

    __array__ = __bool__ = __call__ = __copy__ = __deepcopy__ = __eq__ = __float__ = __format__ = __ge__ = _asked
    __getattr__ = __getitem__ = __gt__ = __hash__ = __index__ = __int__ = __iter__ = __le__ = __len__ = _asked
    __lt__ = __ne__ = __reduce_ex__ = __repr__ = __str__ = _asked


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

    def are_changed(self) -> bool:
        """Whether the function has done something to one of them."""
        return not all(is_same_tree(_content(found), before) for found, _, before in self._given)

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
        for name in [name for other, name in known if other is own and name not in done]:
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
