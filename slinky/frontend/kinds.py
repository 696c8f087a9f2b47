"""What a traced function sees for `type`, `isinstance`, `hasattr`, `float`, `id`, `len` and `sum`: a lazy array is an
array or a scalar of NumPy's, and as long as its first extent; a real one is the one that it is outside.

Idea. Python asks some things of the class that an object has, whatever the object says: `type(x)`, which methods there
are, whether it is iterable. So a function that asks is traced with globals in which these say what NumPy's own would
be asked for. `isinstance` of a class with a check of its own is asked of the array itself, which that may look at.
Python's `len` gives numbers alone, so that arrays made of it would be of this size, and not lazy.

A function that speaks of `type` otherwise than to call it (`type(made) is type`) sees Python's, which is one object.

Invariant: of everything but lazy arrays, sizes, reals and arrays that are seen, the answers are Python's.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterable
from types import CodeType, UnionType
from typing import Any

from slinky.frontend.arrays import LazyArray
from slinky.frontend.indexed import IndexedArray, own_array
from slinky.frontend.paths import FOR_A_CALL
from slinky.frontend.places import instructions_of
from slinky.frontend.reals import Real, as_float, sum_of
from slinky.frontend.sizes import Size

_STAND_INS = (LazyArray, Size, Real)


def _class_of(value: Any) -> Any:
    """The class that a function means: of what is lazy, that of what it stands for."""
    if type(value) is LazyArray:
        value._trace.asked_for_class = True
    return value.__class__ if type(value) in (*_STAND_INS, IndexedArray) else type(value)


def class_of(*given: Any, **named: Any) -> Any:
    """`type`, called."""
    return _class_of(*given) if len(given) == 1 and not named else type(*given, **named)


def has_attribute(value: Any, name: str, /) -> bool:
    """`hasattr`."""
    return hasattr(_class_of(value) if type(value) in _STAND_INS else value, name)


def is_instance(value: Any, kinds: Any, /) -> bool:
    """`isinstance`."""
    if type(value) not in _STAND_INS or isinstance(kinds, UnionType):
        return isinstance(value, kinds)
    if isinstance(kinds, tuple):
        return any(is_instance(value, kind) for kind in kinds)
    is_usual = isinstance(kinds, type) and type(kinds).__instancecheck__ in _USUAL
    return issubclass(_class_of(value), kinds) if is_usual else isinstance(value, kinds)


def identity_of(value: Any, /) -> int:
    """`id`: of a real array that is seen (`indexed`), of the array itself, by which caches know it."""
    return id(own_array(value))


def length_of(*given: Any) -> Any:
    """`len`: of an array, the size that it is."""
    array = given[0] if len(given) == 1 and type(given[0]) is LazyArray else None
    return len(*given) if array is None or not array._shape else array._shape[0]


_USUAL = frozenset([type.__instancecheck__, ABCMeta.__instancecheck__])
"""How classes check, but those that have a way of their own: by the class of what they are asked about."""

BUILTINS = {
    "float": as_float,
    "type": class_of,
    "hasattr": has_attribute,
    "id": identity_of,
    "isinstance": is_instance,
    "len": length_of,
    "sum": sum_of,
}
"""By the names that functions have for them."""


def is_just_called(name: str, codes: Iterable[CodeType]) -> bool:
    """Whether code does nothing with a global but to call it."""
    for code in codes:
        for instruction in instructions_of(code):
            if instruction.argval != name or instruction.opname not in ("LOAD_GLOBAL", "LOAD_NAME"):
                continue
            if instruction.opname == "LOAD_NAME" or not (instruction.arg or 0) & FOR_A_CALL:
                return False
    return True
