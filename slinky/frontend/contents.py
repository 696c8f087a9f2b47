"""Values as something to compare them by: what a function has beside its arguments is compared, is the same as long as
it is the same object, or is told at each call.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from slinky.frontend.nodes import exactly, text_of
from slinky.frontend.opened import is_plain
from slinky.frontend.trees import is_constant

_LARGEST = 1 << 16
"""Arrays and texts of globals that take more bytes are not compared at each call."""


def is_immutable(value: Any) -> bool:
    """Whether something is the same as long as it is the same object."""
    if type(value) is tuple:
        return all(map(is_immutable, value))
    return is_constant(value) or type(value).__name__ == _MARK


_MARK = "_HAS_DEFAULT_FACTORY_CLASS"
"""The class of what stands for values of dataclasses that are made where none are given."""


def is_told(value: Any) -> bool:
    """Whether something that a function has may be told at each call, as its arguments are."""
    kind: Any = type(value)
    if kind in (np.ndarray, np.memmap):
        return not value.dtype.hasobject
    return kind in (list, tuple, dict) or is_plain(kind)


def has_content(value: Any) -> bool:
    try:
        content(value)
    except (TypeError, ValueError):
        return False
    return True


def content(value: Any) -> Hashable:
    """A value as something to compare it by.

    Raises `TypeError` for what has a state that is not seen, and for classes that may do otherwise than Python's own.
    """
    kind = type(value)
    if kind is np.ndarray and not value.dtype.hasobject and value.nbytes <= _LARGEST:
        return (value.shape, text_of(value.dtype), value.strides, value.tobytes())
    if kind in (list, tuple, set, frozenset):
        return (kind.__name__, len(value), *map(content, value))
    if kind is dict:
        return (dict, *((content(k), content(v)) for k, v in value.items()))
    if is_constant(value) or kind is slice:
        return exactly(value)
    raise TypeError(f"a {kind.__name__}")


def arrays_inside(value: Any) -> Iterator[Any]:
    if type(value) is np.ndarray:
        yield value
    elif type(value) in (list, tuple, dict):
        for each in value.values() if type(value) is dict else value:
            yield from arrays_inside(each)
