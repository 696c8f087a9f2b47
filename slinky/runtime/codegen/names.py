"""Names for plans: every program may be written, whatever its buffers and funcs are called.

Invariant: a name is an identifier that stands for nothing else, and it is given out once.
"""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from typing import Any

from slinky.ir.statements import LoweredFunc
from slinky.runtime.operations import function_of

_BUILTINS = frozenset(dir(builtins))


def identifier(name: str) -> str:
    """A Python identifier that reminds of a name: the name itself where it is one, else with other characters as `_`.

    Never a keyword or the name of a builtin. Two names may give the same identifier; `TakenNames` tells them apart.
    """
    text = name
    if not (name.isascii() and name.isidentifier()):  # most are, and this is asked for every name
        text = re.sub(r"[^0-9A-Za-z_]+", "_", unicodedata.normalize("NFKD", name))
    if not text[:1].isalpha() and (not text.strip("_") or text[0].isdigit() or text.startswith("__")):
        text = f"v_{text.strip('_')}"
    return f"{text}_" if keyword.iskeyword(text) or text in _BUILTINS else text


class TakenNames:
    """The names taken in a plan. A name is given out once: whoever has it may rely on its value."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self._last: dict[str, int] = {}

    def fresh(self, wanted: str) -> str:
        """A name that is not taken, like the wanted one; it is taken from now on."""
        base = identifier(wanted)
        name, n = base, self._last.get(base, 0)
        while name in self.taken:
            n += 1
            name = f"{base}_{n}"
        self._last[base] = n
        self.taken.add(name)
        return name


class Globals:
    """The objects that generated code uses as globals, because the source cannot spell them.

    `objects` has them by name; `callbacks` are the funcs of those that are callbacks.
    """

    def __init__(self, names: TakenNames) -> None:
        self._names = names
        self._known: dict[tuple[str, int], str] = {}
        self.objects: dict[str, Any] = {}
        self.callbacks: dict[str, LoweredFunc] = {}

    def name_of(self, value: object, wanted: str) -> str:
        """The global of an object. One object has one global per wanted name."""
        known = self._known.get((wanted, id(value)))
        if known is None:
            known = self._known[wanted, id(value)] = self._names.fresh(wanted)
            self.objects[known] = value
        return known

    def callback(self, func: LoweredFunc) -> str:
        """The global of a func's callback."""
        name = self.name_of(function_of(func.operation), func.name)
        self.callbacks[name] = func
        return name
