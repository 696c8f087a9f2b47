"""The source of a function as a tree, and what the names in it mean.

Invariant: a source is read once for each code; a tree that may belong to another function is none.
"""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from slinky.sched.callbacks import content
from slinky.sched.efforts.arrays import UNKNOWN
from slinky.sched.efforts.numpy_functions import Value
from slinky.sched.efforts.python_values import known

Definition: TypeAlias = "ast.FunctionDef | ast.Lambda"

_SOURCES: WeakKeyDictionary[CodeType, Definition | None] = WeakKeyDictionary()


def source_of(function: FunctionType) -> Definition | None:
    """The definition of a function; None where its source cannot be had, or not be told from others on its line."""
    code = function.__code__
    if code not in _SOURCES:
        _SOURCES[code] = _parsed(code)
    return _SOURCES[code]


def _parsed(code: CodeType) -> Definition | None:
    try:
        lines = linecache.getlines(code.co_filename)
        found = _definitions("".join(lines)).get((code.co_name, code.co_firstlineno), [])
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    found = [node for node in found if _has_parameters_of(node, code)]
    return found[0] if len(found) == 1 else None


@functools.lru_cache(maxsize=8)
def _definitions(text: str) -> dict[tuple[str, int], list[Definition]]:
    """All definitions of a file, by name and the line that they begin in."""
    found: dict[tuple[str, int], list[Definition]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            begin = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found.setdefault((node.name, begin), []).append(node)
        elif isinstance(node, ast.Lambda):
            found.setdefault(("<lambda>", node.lineno), []).append(node)
    return found


def _has_parameters_of(node: Definition, code: CodeType) -> bool:
    parameters = [parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args)]
    return tuple(parameters) == code.co_varnames[: code.co_argcount]


class Names(Mapping[str, Any]):
    """What the names of a function mean that are not its own."""

    def __init__(self, function: FunctionType) -> None:
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self._cells = {name: content(cell) for name, cell in cells}
        self._globals = function.__globals__

    def __getitem__(self, name: str) -> Any:
        if name in self._cells:
            return self._cells[name]
        return self._globals[name] if name in self._globals else getattr(builtins, name, UNKNOWN)

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)


class NamesAround(Mapping[str, Any]):
    """What the names of a function mean that is made in another one."""

    def __init__(self, frame: Mapping[str, Value], names: Mapping[str, Value]) -> None:
        self._frame, self._names = frame, names

    def __getitem__(self, name: str) -> Value:
        return self._frame[name] if name in self._frame else self._names[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frame)

    def __len__(self) -> int:
        return len(self._frame)


def bound(
    wanted: ast.arguments,
    given: Sequence[Value],
    named: Mapping[str, Value],
    defaults: Sequence[Value] = (),
    named_defaults: Mapping[str, Value] | None = None,
) -> dict[str, Value]:
    """What the parameters of a function are in a call."""
    names = [parameter.arg for parameter in (*wanted.posonlyargs, *wanted.args)]
    frame: dict[str, Value] = dict.fromkeys([*names, *(parameter.arg for parameter in wanted.kwonlyargs)], UNKNOWN)
    frame.update(zip(names[len(names) - len(defaults) :], map(known, defaults), strict=False))
    frame.update({name: known(value) for name, value in (named_defaults or {}).items()})
    frame.update(zip(names, given, strict=False))
    others = {name: value for name, value in named.items() if name not in frame}
    frame.update({name: value for name, value in named.items() if name in frame})
    if wanted.vararg is not None:
        frame[wanted.vararg.arg] = tuple(given[len(names) :])
    if wanted.kwarg is not None:
        frame[wanted.kwarg.arg] = others
    return frame
