"""The ways on which code comes to what is outside of it: by a global or a variable of a function around it, and from
there by attributes of modules.

Invariant: the code alone is read: nothing is run to find out, and no object but modules is asked for attributes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dis import Instruction
from functools import lru_cache
from types import CodeType, FrameType, FunctionType
from typing import Any

import attrs

from slinky.frontend.places import begin_of, instructions_of
from slinky.ir.given import is_module


@attrs.frozen
class Path:
    """The names on the way, and whether what is at its end is called."""

    names: tuple[str, ...]
    is_called: bool

    def values(self, function: FunctionType) -> list[Any]:
        """What a function comes to on the way, as far as modules lead; the last one is there if all do."""
        first, *others = self.names
        found = [_variables(function).get(first, function.__globals__.get(first))]
        for name in others:
            if not is_module(found[-1]):
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


def paths_of(function: FunctionType) -> list[Path]:
    """All ways of a function, and of those that it makes, as far as they lead."""
    return [path for code in all_code(function.__code__) for path in _paths(code)]


@lru_cache(maxsize=1024)
def _paths(code: CodeType) -> frozenset[Path]:
    return frozenset(path for path, _ in _ways(code))


def calls_next(frame: FrameType) -> bool:
    """Whether a frame calls the attribute that it is asking for."""
    return begin_of(frame) in _called(frame.f_code)


@lru_cache(maxsize=1024)
def _called(code: CodeType) -> frozenset[int]:
    """The offsets of the instructions that ask for an attribute in order to call it."""
    ends = {end.offset for path, end in _ways(code) if path.is_called}
    return frozenset(ends | {each.offset for each in instructions_of(code) if _is_for_a_call(each)})


def _is_for_a_call(instruction: Instruction) -> bool:
    is_marked = instruction.opname in _MARKED and bool((instruction.arg or 0) & FOR_A_CALL)
    return instruction.opname == "LOAD_METHOD" or is_marked


def _ways(code: CodeType) -> Iterator[tuple[Path, Instruction]]:
    """The ways of code alone, each with the instruction at its end."""
    names: list[str] = []
    is_called = False
    done = [each for each in instructions_of(code) if each.opname != "CACHE"]
    for before, each, then in zip([None, *done], done, [*done[1:], None], strict=False):
        if each.opname in VARIABLES:
            names, is_called = [each.argval], _is(before, _BEFORE_CALLED)
        elif each.opname in _ATTRIBUTES and names:
            names.append(each.argval)
        else:
            names = []
            continue
        is_called |= _is_for_a_call(each)
        if not _is(then, *_ATTRIBUTES):
            yield Path(tuple(names), is_called or _is(then, _AFTER_CALLED)), each


def _is(instruction: Instruction | None, *names: str) -> bool:
    return instruction is not None and instruction.opname in names


def passed_on(functions: Iterable[FunctionType]) -> Iterator[Any]:
    """What functions come to and do something else with than to call it, or to ask it for attributes."""
    for function in functions:
        for path in paths_of(function):
            values = path.values(function)
            if not path.is_called and len(values) == len(path.names):
                yield values[-1]


def all_code(code: CodeType) -> Iterator[CodeType]:
    """Code, and that of the functions that it makes."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from all_code(inner)


VARIABLES = frozenset(["LOAD_CLASSDEREF", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME"])
"""What loads a global, or a variable of a function around."""
_ATTRIBUTES = frozenset(["LOAD_ATTR", "LOAD_METHOD"])
_MARKED = frozenset(["LOAD_GLOBAL"] if sys.version_info < (3, 12) else ["LOAD_ATTR", "LOAD_GLOBAL"])
_BEFORE_CALLED, _AFTER_CALLED = ("PUSH_NULL", "") if sys.version_info < (3, 13) else ("", "PUSH_NULL")

FOR_A_CALL = 1
"""The bit of the argument of LOAD_GLOBAL that says that what is loaded will be called."""
