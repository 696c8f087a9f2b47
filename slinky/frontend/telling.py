"""Which functions tell what they see while they are traced from what it is put in the place of.

Idea. What is seen for NumPy, for a function or for a module (`seeing`) is another object. Whoever calls it, or asks it
for attributes, sees no difference. Whoever compares it (`xp is np`), or looks it up in a table, may: NumPy itself may
come from elsewhere, as an argument, a default or an element of a list.

Invariant: what is found is what the code says; all else of a function is for others to ask.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dis import Instruction
from functools import lru_cache
from inspect import getattr_static
from itertools import islice, pairwise
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from slinky.frontend.code_names import names_of
from slinky.frontend.paths import VARIABLES, Path, all_code, paths_of
from slinky.frontend.places import instructions_of


def goes_by_names(function: FunctionType) -> bool:
    """Whether a function reaches what has names otherwise than by these: then it is to see what others see."""
    return any(
        names.globals & _BY_NAMES or names.attributes & _DICTIONARIES
        for names in map(names_of, all_code(function.__code__))
    )


def asks_by_names(function: FunctionType) -> bool:
    """Whether a function may ask an object for an attribute that no code names, or for its hash: that of two is not
    the same, unless their class says so."""
    asking = _ASKING if function.__name__ == "__hash__" else _ASKING | {"hash"}
    return any(
        not asking.isdisjoint(names.globals | names.attributes) for names in map(names_of, all_code(function.__code__))
    )


_ASKING = frozenset(
    ["__getattribute__", "attrgetter", "dir", "getattr", "getattr_static", "getmembers", "getmembers_static",
     "methodcaller"]
)  # fmt: skip
_BY_NAMES = frozenset(["delattr", "exec", "globals", "setattr", "vars"])
_DICTIONARIES = frozenset(["__dict__", "__globals__"])


def tells_apart(function: FunctionType, is_replaced: Callable[[Any], bool]) -> bool:
    """Whether a function compares what something else is put in the place of, or has a table with such keys."""
    compares = any(map(_compares, all_code(function.__code__)))
    for path in paths_of(function):
        values = path.values(function)
        if any(is_replaced(key) for value in values for key in _first_keys(value)):
            return True
        if compares and not path.is_called and len(values) == len(path.names) and is_replaced(values[-1]):
            return True
    return False


def asks_for_identity(function: FunctionType) -> bool:
    """Whether a function may ask whether an array is another one, or the same: what stands for one array at two places
    is two."""
    for code in all_code(function.__code__):
        names = names_of(code)
        if not _IDENTITY.isdisjoint(names.globals | names.attributes):
            return True
        done = [each for each in instructions_of(code) if each.opname not in ("CACHE", "PUSH_NULL")]
        for k, each in enumerate(done):
            if each.opname == "IS_OP" and not _is_no_array(function, done[:k]):
                return True
    return False


_IDENTITY = frozenset(["is_", "is_not"])


def _is_no_array(function: FunctionType, before: Sequence[Instruction]) -> bool:
    """Whether what code has loaded last is no array, as far as its names say: a constant, or a class or its member."""
    names: list[str] = []
    for each in reversed(before):
        if each.opname.startswith(_CONSTANTS) and not names:
            return True
        names.append(each.argval)
        if names == ["__class__"]:
            return True
        if each.opname in VARIABLES:
            break
        if each.opname != "LOAD_ATTR":
            return False
    first, *others = reversed(names)
    own = Path((first,), is_called=False).values(function)[0]
    value = getattr(builtins, first, None) if own is None else own
    if value is NotImplemented:
        return True
    if not isinstance(value, type) or len(others) > 1:
        return False
    return not others or not isinstance(getattr_static(value, others[0], None), np.ndarray)


def _first_keys(value: Any) -> list[Any]:
    """Some keys of a table, or elements of a set: all are likely to be of one kind."""
    return list(islice(value, 8)) if type(value) in (dict, set, frozenset) else []


@lru_cache(maxsize=1024)
def _compares(code: CodeType) -> bool:
    """Whether code asks whether something is, equals, or is among what is no constant."""
    done = [each for each in instructions_of(code) if each.opname != "CACHE"]
    return any(
        (each.opname in _COMPARISONS or each.argval in ("==", "!=")) and not before.opname.startswith(_CONSTANTS)
        for before, each in pairwise(done)
    )


_COMPARISONS = frozenset(["CONTAINS_OP", "IS_OP"])
_CONSTANTS = ("LOAD_CONST", "LOAD_COMMON_CONSTANT", "LOAD_SMALL_INT")
