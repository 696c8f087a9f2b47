"""What is known while a text is read, and while one is written: the place, the tables, and the callbacks by name.

Invariant: whatever a text holds, reading it ends with a value of the type that was asked for or with a `FormatError`
that says where in the text it is wrong. Nothing is called, imported or evaluated that the text names.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar, cast

from slinky.errors import FormatError
from slinky.ir.statements import Block, LoweredFunc
from slinky.symbolic.expressions import Node

T = TypeVar("T")

DEEPEST_VALUE = 50
"""How deep values and dtypes may nest."""


class Reading:
    """A text that is read. `callbacks` are the functions that it may name, `blocks`
    have the statements of the lists that were read, by the identity of the list."""

    def __init__(self, callbacks: Mapping[str, Callable[..., Any]]) -> None:
        self.callbacks = callbacks
        self.nodes: list[Node] = []
        self.funcs: list[LoweredFunc] = []
        self.blocks: dict[int, Block] = {}
        self._place: list[str] = []

    def where(self) -> str:
        """The current place, as text."""
        return "".join(self._place).lstrip(".") or "the document"

    def fail(self, why: str) -> NoReturn:
        """Refuse the text, for what stands at the current place."""
        where = self.where()
        raise FormatError(f"{where}: {why}", where=where)

    def at(self, place: str, read: Callable[[Any], T], value: Any) -> T:
        """Read what stands at a place inside of the current one, such as `.body` or `[3]`."""
        self._place.append(place)
        found = read(value)
        self._place.pop()
        return found

    def only_at(self, place: str, read: Callable[[Any], T], value: Any) -> T:
        """Read what stands at a place, wherever the current one is."""
        around, self._place = self._place, [place]
        found = read(value)
        self._place = around
        return found

    def each(self, values: Any, read: Callable[[Any], T]) -> tuple[T, ...]:
        """Read a list."""
        return tuple([self.at(f"[{k}]", read, value) for k, value in enumerate(self.list(values))])

    # What JSON has ------------------------------------------------------------------------------------------------

    def list(self, value: Any, length: int | None = None) -> list[Any]:
        """A list, of so many values if a length is given."""
        if type(value) is not list:
            self.fail(f"expected a list, got {shown(value)}")
        if length is not None and len(value) != length:
            self.fail(f"expected a list of {length}, got {len(value)}")
        return value

    def integer(self, value: Any, least: int | None = None) -> int:
        """An integer, no smaller than the least."""
        if type(value) is not int:
            self.fail(f"expected an integer, got {shown(value)}")
        if least is not None and value < least:
            self.fail(f"expected {least} or more, got {shown(value)}")
        return value

    def truth(self, value: Any) -> bool:
        """A truth value."""
        if type(value) is not bool:
            self.fail(f"expected true or false, got {shown(value)}")
        return value

    def text(self, value: Any) -> str:
        """A text."""
        if type(value) is not str:
            self.fail(f"expected a text, got {shown(value)}")
        return value

    def name(self, value: Any) -> str:
        """A name that Python takes, so that it can be printed, found, and stand in a plan."""
        text = self.text(value)
        if not is_name(text):
            self.fail(f"expected a name that is an identifier of Python, got {shown(text)}")
        return text

    def object(self, value: Any, needs: tuple[str, ...], may_have: tuple[str, ...] = ()) -> dict[str, Any]:
        """An object with these keys and no others."""
        if type(value) is not dict:
            self.fail(f"expected an object, got {shown(value)}")
        for key in needs:
            if key not in value:
                self.fail(f"{key!r} is missing")
        for key in value:
            if key not in needs and key not in may_have:
                self.fail(f"{shown(key)} is not known here")
        return value

    # Tables -------------------------------------------------------------------------------------------------------

    def node(self, value: Any, kind: type[T], expected: str) -> T:
        """A node of the table of expressions, by its position."""
        found = self._of_table(self.nodes, value, "expressions")
        if not isinstance(found, kind):
            self.fail(f"expected {expected}, got the expression {self.integer(value)}, {shown(str(found))}")
        return found

    def func(self, value: Any) -> LoweredFunc:
        """A func of the table, by its position."""
        return cast(LoweredFunc, self._of_table(self.funcs, value, "funcs"))

    def _of_table(self, table: Any, value: Any, what: str) -> Any:
        position = self.integer(value, 0)
        if position >= len(table):
            self.fail(f"there is no number {shown(position)} among the {len(table)} {what} that were read")
        return table[position]

    def callback(self, value: Any) -> Callable[..., Any]:
        """A callback, by its name."""
        name = self.text(value)
        if name not in self.callbacks:
            self.fail(f"the callback {shown(name)} is not listed in 'callbacks'")
        return self.callbacks[name]


def shown(value: Any) -> str:
    """What was given instead of what was expected, not too long."""
    kinds = {dict: "an object", list: "a list", type(None): "null", bool: str(value).lower()}
    if type(value) in kinds:
        return kinds[type(value)]
    if type(value) is int and abs(value) >= 10**20:
        return "an integer of many digits"
    text = repr(value[:60]) if isinstance(value, str) else repr(value)
    return text + ("..." if isinstance(value, str) and len(value) > 60 else "")


def is_name(text: str) -> bool:
    """Whether a text is a name of a buffer, a func, an argument or the like."""
    return text.isidentifier() and not keyword.iskeyword(text) and text != "_"


def is_dimension(text: str) -> bool:
    """Whether a text is a name of a dimension: that of a variable, or a position."""
    return is_name(text) or (text.isascii() and text.isdigit())
