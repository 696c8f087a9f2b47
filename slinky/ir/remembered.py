"""What is found out about a func or a statement, once, and kept with it.

Schedules ask the same questions of a func again and again. A table of all funcs would keep them alive, and with them
the callbacks of users and all that these hold: so each func has a table of its own, which goes when the func does.

Invariant: what is remembered follows from what it is remembered of, which is immutable, and from what was asked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

_Asked = ParamSpec("_Asked")
_Found = TypeVar("_Found")
_Own = TypeVar("_Own", bound="Remembering")

MOST = 8192
"""How much is remembered of one func, before all of it is forgotten."""


class Remembering:
    """What has a table of what was found out about it: no field, so nothing that compares, copies or prints it sees."""

    __slots__ = ("_found",)

    _found: dict[Any, Any]


def table_of(own: Remembering) -> dict[Any, Any]:
    """What is remembered of it."""
    try:
        return own._found
    except AttributeError:
        object.__setattr__(own, "_found", {})
        return own._found


def remembered(find: Callable[Concatenate[_Own, _Asked], _Found]) -> Callable[Concatenate[_Own, _Asked], _Found]:
    """A function that is asked of something, and with further arguments by position, and remembers what it found."""
    answer_to: Callable[..., _Found] = find

    @functools.wraps(find)
    def ask(own: Any, *asked: Any) -> _Found:
        question = (answer_to, *asked)
        try:
            answer: _Found = own._found[question]
        except (AttributeError, KeyError):
            table = table_of(own)
            answer = answer_to(own, *asked)
            if len(table) >= MOST:
                table.clear()
            table[question] = answer
        return answer

    return ask  # type: ignore[return-value]
