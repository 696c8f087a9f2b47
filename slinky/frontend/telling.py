"""Which functions tell what they see while they are traced from what it is put in the place of.

Idea. What is seen for NumPy, for a function or for a module (`seeing`) is another object. Whoever calls it, or asks it
for attributes, sees no difference. Whoever compares it (`xp is np`), or looks it up in a table, may: NumPy itself may
come from elsewhere, as an argument, a default or an element of a list.

Invariant: what is found is what the code says; all else of a function is for others to ask.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import islice, pairwise
from types import CodeType, FunctionType
from typing import Any

from slinky.frontend.paths import all_code, paths_of
from slinky.frontend.places import instructions_of
from slinky.frontend.reading import names_of


def goes_by_names(function: FunctionType) -> bool:
    """Whether a function reaches what has names otherwise than by these: then it is to see what others see."""
    return any(
        names.globals & _BY_NAMES or names.attributes & _DICTIONARIES
        for names in map(names_of, all_code(function.__code__))
    )


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
