"""Which functions tell what they see while they are traced from what it is put in the place of.

Idea. What is seen for NumPy, for a function or for a module (`seeing`) is another object. Whoever calls it, or asks it
for attributes, sees no difference. Whoever compares it (`xp is np`), or looks it up in a table, may: NumPy itself may
come from elsewhere, as an argument, a default or an element of a list.

Invariant: what is found is what the code says; all else of a function is for others to ask.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dis import Instruction
from functools import lru_cache
from itertools import islice, pairwise
from types import CodeType, FunctionType, ModuleType
from typing import Any

import attrs

from slinky.frontend.kinds import FOR_A_CALL
from slinky.frontend.places import instructions_of
from slinky.frontend.reading import all_code, names_of


@attrs.frozen
class _Path:
    """How code comes to something: by a global, or a variable of a function around it, and attributes of that."""

    names: tuple[str, ...]
    is_called: bool

    def values(self, function: FunctionType) -> list[Any]:
        """What a function comes to on the way, as far as modules lead; the last one is there if all do."""
        first, *others = self.names
        found = [_variables(function).get(first, function.__globals__.get(first))]
        for name in others:
            if not isinstance(found[-1], ModuleType):
                break
            found.append(vars(found[-1]).get(name))
        return found


def _variables(function: FunctionType) -> dict[str, Any]:
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


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
    for path in _paths_of(function):
        values = path.values(function)
        if any(is_replaced(key) for value in values for key in _first_keys(value)):
            return True
        if compares and not path.is_called and len(values) == len(path.names) and is_replaced(values[-1]):
            return True
    return False


def passed_on(functions: Iterable[FunctionType]) -> Iterator[Any]:
    """What functions come to and do something else with than to call it, or to ask it for attributes."""
    for function in functions:
        for path in _paths_of(function):
            values = path.values(function)
            if not path.is_called and len(values) == len(path.names):
                yield values[-1]


def _first_keys(value: Any) -> list[Any]:
    """Some keys of a table, or elements of a set: all are likely to be of one kind."""
    return list(islice(value, 8)) if type(value) in (dict, set, frozenset) else []


def _paths_of(function: FunctionType) -> list[_Path]:
    return [path for code in all_code(function.__code__) for path in _paths(code)]


@lru_cache(maxsize=1024)
def _paths(code: CodeType) -> frozenset[_Path]:
    """All paths of code, as long as they are."""
    found = set()
    names: list[str] = []
    is_called = False
    done = [each for each in instructions_of(code) if each.opname != "CACHE"]
    for before, each, then in zip([None, *done], done, [*done[1:], None], strict=False):
        if each.opname in _VARIABLES:
            names, is_called = [each.argval], _is(before, _BEFORE_CALLED)
        elif each.opname in _ATTRIBUTES and names:
            names.append(each.argval)
        else:
            names = []
            continue
        is_called |= each.opname == "LOAD_METHOD" or (each.opname in _MARKED and bool((each.arg or 0) & FOR_A_CALL))
        if not _is(then, *_ATTRIBUTES):
            found.add(_Path(tuple(names), is_called or _is(then, _AFTER_CALLED)))
    return frozenset(found)


def _is(instruction: Instruction | None, *names: str) -> bool:
    return instruction is not None and instruction.opname in names


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
_MARKED = frozenset(["LOAD_GLOBAL"] if sys.version_info < (3, 12) else ["LOAD_ATTR", "LOAD_GLOBAL"])
_BEFORE_CALLED, _AFTER_CALLED = ("PUSH_NULL", "") if sys.version_info < (3, 13) else ("", "PUSH_NULL")


_VARIABLES = frozenset(["LOAD_CLASSDEREF", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME"])
_ATTRIBUTES = frozenset(["LOAD_ATTR", "LOAD_METHOD"])
