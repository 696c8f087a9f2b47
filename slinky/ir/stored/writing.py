"""What is known while a text is written: the tables, and what each callback is called.

Invariant: one object has one place in a table, and one name stands for one callback. What is written depends on the
program alone, so that one program has one text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from slinky.errors import ArgumentError, FormatError, cited
from slinky.ir.statements import Block, LoweredFunc
from slinky.ir.stored.expressions import DEEPEST, entry_of
from slinky.symbolic.expressions import Node
from slinky.symbolic.order import children


class Writing:
    """A text that is written. `names` are the names of callbacks that were given."""

    def __init__(self, names: Mapping[str, object]) -> None:
        self.expressions: list[Any] = []
        self.funcs: list[Any] = []
        self.callbacks: dict[str, tuple[Any, str]] = {}
        self.place = ""
        self.blocks: deque[tuple[Block, list[Any]]] = deque()
        """Blocks still to be written, and the lists that their statements are put into."""
        self._given = dict(names)
        self._positions: dict[Node, int] = {}
        self._depths: list[int] = []
        self._funcs: dict[LoweredFunc, int] = {}

    def fail(self, why: str) -> NoReturn:
        """Refuse the program, for what stands at the current place."""
        raise FormatError(f"{self.place}: {why}" if self.place else why, where=self.place)

    def node(self, node: Node) -> int:
        """The position of an expression or condition in the table; its parts stand before it."""
        if not isinstance(node, Node):
            self.fail(f"the program holds {node!r} where an expression or condition stands")
        waiting = [node]
        while waiting:
            top = waiting[-1]
            missing = [part for part in children(top) if part not in self._positions]
            if top in self._positions:
                waiting.pop()
            elif missing:
                waiting += reversed(missing)
            else:
                waiting.pop()
                entry = entry_of(top, self._positions, self.fail)
                self._depths.append(1 + max([self._depths[self._positions[part]] for part in children(top)], default=0))
                if self._depths[-1] > DEEPEST:
                    self.fail(f"expressions nest at most {DEEPEST} deep")
                self._positions[top] = len(self.expressions)
                self.expressions.append(entry)
        return self._positions[node]

    def func(self, func: LoweredFunc, write: Callable[[LoweredFunc], Any]) -> int:
        """The position of a func in the table."""
        if func not in self._funcs:
            self.place = f"func {func.name}"
            written = write(func)
            self.place = ""
            self._funcs[func] = len(self.funcs)
            self.funcs.append(written)
        return self._funcs[func]

    def names(self, callback: Any) -> bool:
        """Whether a callback goes by a name that was given, even one that could write itself."""
        return any(is_same(given, callback) for given in self._given.values())

    def callback(self, callback: Any) -> str:
        """The name of a callback: one that was given, or its own."""
        name = self._name_of(callback)
        known, place = self.callbacks.setdefault(name, (callback, self.place))
        if not is_same(known, callback):
            self.fail(
                f"its callback is called {name!r}, as another one is, of {place}; give each a name of its own: "
                f"p.to_json(callbacks={{{name + '_2'!r}: ...}})"
            )
        return name

    def _name_of(self, callback: Any) -> str:
        for name, given in self._given.items():
            if is_same(given, callback):
                return name
        own: object = getattr(callback, "__name__", None)
        if not isinstance(own, str) or not own.isidentifier():
            self.fail(
                f"{callback!r} has no name to be found by when the text is read; give it one: "
                f"p.to_json(callbacks={{'name': ...}})"
            )
        return own


class Numbering(Writing):
    """A text in which callbacks are called `callback_0`, `callback_1` and so on, as they come: one program has one
    text, whatever its callbacks are called. `known` are those that have their names already."""

    def __init__(self, known: Mapping[str, Callable[..., Any]] | None = None) -> None:
        super().__init__({})
        self.numbered: dict[str, Callable[..., Any]] = dict(known or {})

    def names(self, callback: Any) -> bool:
        """All go by names here."""
        return True

    def _name_of(self, callback: Any) -> str:
        for name, known in self.numbered.items():
            if is_same(known, callback):
                return name
        name = f"callback_{len(self.numbered)}"
        self.numbered[name] = callback
        return name


def is_same(a: object, b: object) -> bool:
    """Whether two callbacks are one: the same object, or one that says so of itself, as a method of an object does."""
    return a is b or (type(a) is type(b) and (a == b) is True)


def checked_names(given: object, what: str) -> dict[str, Callable[..., Any]]:
    """Callbacks by name, as a user gives them.

    Raises `ArgumentError` for anything else.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ArgumentError(f"{what}: callbacks must be a dictionary, callbacks by name, got {cited(given)}")
    for name, callback in given.items():
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"{what}: the names of callbacks are texts, got {cited(name)}")
        if not callable(callback):
            raise ArgumentError(f"{what}: the callback {name!r} must be a callable, got {cited(callback)}")
    return dict(given)
