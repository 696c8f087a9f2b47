"""The functions of others in a file of C: which of their sources stand in it, and what calls them.

Idea. A source stands in the file itself if it can: if no other one there gives the same names at file scope. Else, and
where there is no source, the function is called by its address, which is passed from outside.

Invariant: a file has a source once, and no two sources in it give one name.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import attrs

from slinky.ir.operations import Callback
from slinky.ir.statements import LoweredFunc
from slinky.native.adapters import PACKING, adapter_text, prototype
from slinky.native.c_functions import SOURCE_HEAD, CFunction
from slinky.native.integers import UnprintableError
from slinky.native.scanning import bounds_of, file_scope

_OWN = re.compile(r"array|given|object|(?:slinky|nest|run)_\w*")
"""The names that files have for themselves."""


@attrs.frozen
class Adapter:
    """What calls a function: the name of its adapter, and what that is given behind the arrays."""

    name: str
    given: tuple[str, ...]


def c_function_of(func: LoweredFunc) -> CFunction | None:
    """The function in C that a func runs, if it is one."""
    operation = func.operation
    if isinstance(operation, Callback) and isinstance(operation.function, CFunction):
        return operation.function
    return None


class CFunctions:
    """The functions of others that the text of one file calls."""

    def __init__(self) -> None:
        self._adapters: dict[tuple[CFunction, bool], Adapter] = {}
        self._texts: dict[str, tuple[CFunction, str]] = {}
        self._sources: dict[str, str] = {}  # each with what keeps it out, if anything does
        self._names: dict[str, str] = {}

    def adapter(self, function: CFunction, *, minima: bool, by_address: bool) -> Adapter:
        """What calls a function, by its address where it must. Raises `UnprintableError` if that cannot be."""
        found = self._adapters.get((function, minima))
        if found is not None:
            return found
        obstacle = self._obstacle(function)
        if obstacle and not by_address:
            raise UnprintableError(obstacle)
        name = f"slinky_call_{function.name}_{len(self._adapters) + 1}"
        given = ("address", *["user_data"] * function.takes_user_data) if obstacle else ()
        text = adapter_text(function, name, minima=minima, by_address=bool(obstacle))
        self._texts[name] = function, text
        found = self._adapters[function, minima] = Adapter(name, given)
        return found

    def _obstacle(self, function: CFunction) -> str:
        """Why the source of a function cannot stand in the file, if it cannot; if it can, it does."""
        if function.source is None:
            return f"{function.name} is known by its address alone"
        if function.source not in self._sources:
            found = file_scope(function.source)
            given = found.names | found.macros
            taken = sorted(name for name in given if _OWN.fullmatch(name) or name in self._names)
            self._sources[function.source] = ""
            if taken:
                whose = f"that of {self._names[taken[0]]}" if taken[0] in self._names else "slinky"
                self._sources[function.source] = f"the source of {function.name} has a name {taken[0]}, as has {whose}"
            else:
                self._names.update(dict.fromkeys(given, function.name))
        return self._sources[function.source]

    def takes_buffers(self, called: Collection[str]) -> bool:
        """Whether the adapters of these names make a `slinky_buffer`, which must be known then."""
        return bool(self._here(called))

    def _here(self, called: Collection[str]) -> list[str]:
        """The sources that adapters of these names call."""
        functions = [function for name, (function, _) in self._texts.items() if name in called]
        sources = [each.source for each in functions if each.source is not None and not self._sources[each.source]]
        return list(dict.fromkeys(sources))

    def texts(self, called: Collection[str], rank: int) -> list[str]:
        """The adapters of these names, with what they call, for arrays of so many dimensions at most."""
        found = [each for name, each in self._texts.items() if name in called]
        texts = [SOURCE_HEAD] if found else []
        for source in self._here(called):
            texts += dict.fromkeys(f"static {prototype(f)};\n" for f, _ in found if f.source == source)
            before, behind = bounds_of(source)
            texts.append(f"{before}{source.strip()}\n{behind}")
        if any(not operand.is_strided for function, _ in found for operand in function.operands):
            texts.append(PACKING.replace("{rank}", str(rank)))
        return texts + [text for _, text in found]
