"""Arguments and results as trees: arrays and other values in tuples, named or not, lists and dictionaries, and in
objects whose attributes are known (`opened`)."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from slinky.frontend.lying import is_in_columns
from slinky.frontend.nodes import exactly
from slinky.frontend.opened import Opened
from slinky.frontend.reals import FLOATS

CONSTANTS = (bool, int, float, complex, str, bytes, type(None), np.generic)
"""Values that are the same whenever they are equal and of one type."""


def leaves_of(tree: Any, name: str = "array") -> list[tuple[str, Any]]:
    """What stands in tuples, named or not, lists and dictionaries, each with a name."""
    if type(tree) in (tuple, list):
        return [leaf for k, each in enumerate(tree) for leaf in leaves_of(each, f"{name}_{k}")]
    if is_named_tuple(tree):
        return [leaf for k, each in zip(tree._fields, tree, strict=True) for leaf in leaves_of(each, f"{name}_{k}")]
    if type(tree) is dict:
        return [leaf for key, each in tree.items() for leaf in leaves_of(each, f"{name}_{key}")]
    if type(tree) is Opened:
        return [leaf for title, each in tree.titles(name) for leaf in leaves_of(each, title)]
    return [(name, tree)]


def has_many(tree: Any, most: int) -> bool:
    """Whether more things than these stand in tuples, lists and dictionaries."""
    count, waiting = 0, [tree]
    while waiting and count <= most:
        each = waiting.pop()
        if type(each) is dict or isinstance(each, (tuple, list)):
            count += len(each)
            waiting.extend((each.values() if type(each) is dict else each) if count <= most else ())
    return count > most


def held_by_objects(tree: Any) -> frozenset[int]:
    """The numbers of the leaves that stand in something that was opened."""
    numbers = count()
    held: list[int] = []

    def opened(within: Opened) -> None:
        held.extend(next(numbers) for part in within.parts for _ in leaves_of(part))

    with_leaves(tree, lambda leaf: next(numbers), opened)
    return frozenset(held)


def with_leaves(tree: Any, leaf: Callable[[Any], Any], opened: Callable[[Opened], Any] | None = None) -> Any:
    """A tree with each leaf replaced, in the order of `leaves_of`; and what is `opened`, if that is said."""
    if type(tree) in (tuple, list):
        return type(tree)([with_leaves(each, leaf, opened) for each in tree])
    if is_named_tuple(tree):
        return tree._make([with_leaves(each, leaf, opened) for each in tree])
    if type(tree) is dict:
        return {key: with_leaves(each, leaf, opened) for key, each in tree.items()}
    if type(tree) is Opened:
        return tree.with_parts([with_leaves(each, leaf) for each in tree.parts]) if opened is None else opened(tree)
    return leaf(tree)


def is_record(tree: Any) -> bool:
    """Whether something is a named tuple of a class that has fields and nothing else: methods of others do whatever
    else they read says."""
    kind = type(tree)
    if kind.__base__ is not tuple or not vars(kind).keys() <= {*_OF_RECORDS, *getattr(kind, "_fields", ())}:
        return False
    shown = getattr(kind.__repr__, "__code__", None)
    return shown is not None and shown.co_filename == _RECORD.__repr__.__code__.co_filename


_RECORD: Any = namedtuple("_RECORD", "")
_OF_RECORDS = frozenset([*vars(_RECORD), "__annotations__", "__orig_bases__"])


def is_named_tuple(value: Any) -> bool:
    """Whether something is a tuple whose entries have names."""
    return issubclass(type(value), tuple) and hasattr(value, "_fields") and hasattr(value, "_make")


def is_same_tree(tree: Any, other: Any) -> bool:
    """Whether the very same leaves stand at the same places of two trees."""
    if type(tree) is not type(other):
        return False
    if issubclass(type(tree), (tuple, list)):
        return len(tree) == len(other) and all(map(is_same_tree, tree, other))
    if type(tree) is dict:
        return list(tree) == list(other) and all(map(is_same_tree, tree.values(), other.values()))
    if type(tree) is Opened:
        return tree.value is other.value and is_same_tree(tree.parts, other.parts)
    return tree is other


def is_constant(value: Any) -> bool:
    """Whether something is a number, a text or the like, of a class of Python's or NumPy's: others may do otherwise."""
    kind = type(value)
    return kind in _OF_PYTHON or (issubclass(kind, (np.generic, np.dtype)) and kind.__module__ in _MODULES)


_OF_PYTHON = frozenset([bool, int, float, complex, str, bytes, type(None), type(Ellipsis)])
_MODULES = ("numpy", "numpy.dtypes")


def kind_of(tree: Any, *, with_floats: bool = True) -> Hashable:
    """What of arguments decides what a function does, but for lengths, and for floats if these are told at each call.

    Raises `TypeError` where that is not known.
    """
    if type(tree) in FLOATS and not with_floats:
        return ("told", type(tree))
    if type(tree) in (np.ndarray, np.memmap):
        return (np.ndarray, tree.ndim, tree.dtype)
    if type(tree) in (tuple, list) or is_record(tree):
        return (type(tree), *(kind_of(each, with_floats=with_floats) for each in tree))
    if type(tree) is dict:
        return (dict, *((kind_of(key), kind_of(each, with_floats=with_floats)) for key, each in tree.items()))
    if type(tree) is Opened:
        return (*tree.kind, tree.names, *(kind_of(each, with_floats=with_floats) for each in tree.parts))
    if is_constant(tree) or type(tree) is slice:
        return exactly(tree)
    if issubclass(type(tree), type) and tree.__module__ in ("builtins", *_MODULES):  # others have attributes to be set
        return cast(type, tree)
    raise TypeError(f"arguments of type {type(tree).__name__}")


def exact_kind(
    given: tuple[Any, ...], named: Mapping[str, Any] = MappingProxyType({}), *, with_floats: bool = True
) -> Hashable | None:
    """All that decides what a call does, also lengths, and whether large arrays lie in columns, where arguments are
    arrays and simple numbers, also in tuples, named or not, lists and dictionaries; but for floats if these are told at
    each call."""
    found: list[Any] = []
    add = found.append
    if named:
        add(tuple(named))
        given = (*given, *named.values())
    for each in given:
        kind = type(each)
        if kind is np.ndarray:
            add(each.shape)
            add(each.dtype)
            if is_in_columns(each):
                add("in columns")
        elif kind is float:
            add(kind)
            if with_floats:
                add(each if each and each == each else each.hex())  # zeros have signs, and NaNs equal nothing
        elif kind is np.float64 or kind is np.float32:
            add(kind)
            if with_floats:
                add(each.tobytes())
        elif kind is int or kind is bool or kind is str or each is None:
            add(kind)
            add(each)
        elif kind is Opened:
            inside = exact_kind(each.parts, with_floats=with_floats)
            if inside is None:
                return None
            add((*each.kind, each.names, inside))
        elif kind is tuple or kind is list or kind is dict:
            if kind is dict and not all(type(key) is str or type(key) is int for key in each):
                return None  # others equal keys of other types, or with other signs
            inside = exact_kind(tuple(each.values() if kind is dict else each), with_floats=with_floats)
            if inside is None:
                return None
            add((kind, inside, tuple(each) if kind is dict else len(each)))
        elif is_record(each):
            inside = exact_kind(tuple(each), with_floats=with_floats)
            if inside is None:
                return None
            add((kind, inside))
        elif is_constant(each) or kind is slice:
            try:
                add(exactly(each))
            except TypeError:
                return None  # a slice up to something that may change
        elif kind is type and each.__module__ in ("builtins", *_MODULES):
            add(each)
        else:
            return None
    return tuple(found)


_TREES = (tuple, list, dict, Opened)


def flat(given: tuple[Any, ...], named: Mapping[str, Any]) -> Sequence[Any]:
    """The leaves of arguments that have an exact kind; these themselves, where they are all leaves."""
    for each in (*given, *named.values()):
        if issubclass(type(each), _TREES):
            return [leaf for _, leaf in leaves_of((given, named))]
    return (*given, *named.values()) if named else given


def loose_kind(tree: Any, *, with_floats: bool = True) -> Hashable:
    """The same as far as it is known: of other values, their classes; of floats, too, if these do not matter."""
    if type(tree) in (tuple, list) or is_record(tree):
        return (type(tree), *(loose_kind(each, with_floats=with_floats) for each in tree))
    if type(tree) is dict:
        items = ((loose_kind(key), loose_kind(each, with_floats=with_floats)) for key, each in tree.items())
        return (dict, *items)
    if type(tree) is Opened:
        return (*tree.kind, tree.names, *(loose_kind(each, with_floats=with_floats) for each in tree.parts))
    if not with_floats and issubclass(type(tree), (float, complex, np.inexact)):
        return ("of class", type(tree))
    try:
        found = kind_of(tree)
        hash(found)
    except TypeError:
        return ("of class", type(tree))
    return found
