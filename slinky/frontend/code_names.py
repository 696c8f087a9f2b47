"""The names by which code reaches what is outside of it, as its instructions say them.

Invariant: code alone is read: no object is asked for anything.
"""

from __future__ import annotations

from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

import attrs

from slinky.frontend.paths import all_code
from slinky.frontend.places import instructions_of


@attrs.frozen(eq=False)
class Names:
    """The names by which code reaches what is outside of it."""

    globals: frozenset[str]
    attributes: frozenset[str]
    imports: frozenset[str]
    writes: str | None
    cells: frozenset[str]
    """The variables it sets that inner functions, or functions around it, have too."""


_INITIAL = ("__attrs_post_init__", "__init__", "__post_init__")
"""Functions that are called with an object that is being made."""


def _last(loaded: Any) -> Any:
    """The variable that was loaded last, of one or two."""
    return loaded[-1] if type(loaded) is tuple else loaded


@lru_cache(maxsize=1024)
def names_of(code: CodeType) -> Names:
    """The names that code speaks of."""
    names: dict[str, set[str]] = {"global": set(), "attribute": set(), "import": set(), "cell": set()}
    writes = None
    levels: list[Any] = [0, 0]
    """What was loaded last: how far up an import goes, and what of the module."""
    own = code.co_varnames[0] if code.co_name in _INITIAL and code.co_argcount else None
    """The object that it makes, to set whose attributes changes nothing else."""
    for instruction in instructions_of(code):
        operation, name = instruction.opname, instruction.argval
        own = None if operation.startswith("STORE_FAST") and name == own else own
        if operation in ("LOAD_GLOBAL", "LOAD_NAME"):
            names["global"].add(name)
        elif operation in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"):
            names["attribute"].add(name)
        elif operation == "IMPORT_NAME":
            names["import"].add(name if levels[0] == 0 else f".{name}")
        elif operation in ("STORE_DEREF", "DELETE_DEREF"):
            names["cell"].add(name)
        elif operation == "STORE_ATTR" and own is not None and _last(levels[1]) == own:
            pass
        elif operation == "LOAD_BUILD_CLASS":
            names["attribute"].update(("__init_subclass__", "__set_name__"))  # which Python asks for
        elif operation in ("STORE_GLOBAL", "STORE_ATTR", "DELETE_GLOBAL", "DELETE_ATTR"):
            writes = f"it sets {name}"
        if operation not in ("CACHE", "EXTENDED_ARG"):
            levels = [levels[1], name]
    found = [frozenset(names[kind]) for kind in ("global", "attribute", "import")]
    return Names(found[0], found[1], found[2], writes, frozenset(names["cell"]))


def asks_by_name(function: FunctionType) -> bool:
    """Whether a function may come to attributes that its code does not name as such."""
    return any(
        not _ASKING.isdisjoint(names.globals | names.attributes) for names in map(names_of, all_code(function.__code__))
    )


_ASKING = frozenset(["attrgetter", "getattr", "getattr_static", "getmembers", "hasattr", "methodcaller"])


def all_attributes(code: CodeType) -> frozenset[str]:
    return frozenset(name for each in all_code(code) for name in names_of(each).attributes)
