"""The names by which code reaches what is outside of it, as its instructions say them.

Invariant: code alone is read: no object is asked for anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dis import Instruction
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
    sets: tuple[tuple[str, str], ...]
    """Attributes that it sets of what it is given: its parameters, and the names of these attributes."""
    counted: frozenset[str]
    """Those of which some are loaded for something to be added, and not otherwise."""
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
    sets: dict[tuple[str, str], None] = {}
    all_of_it = [each for each in instructions_of(code) if each.opname not in ("CACHE", "EXTENDED_ARG")]
    counted = set()
    for number, instruction in enumerate(all_of_it):
        operation, name = instruction.opname, instruction.argval
        own = None if operation.startswith("STORE_FAST") and name == own else own
        if operation in ("LOAD_GLOBAL", "LOAD_NAME"):
            names["global"].add(name)
        elif operation == "LOAD_ATTR" and _is_counted(code, all_of_it, number):
            counted.add(name)
        elif operation in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"):
            names["attribute"].add(name)
        elif operation == "IMPORT_NAME":
            names["import"].add(name if levels[0] == 0 else f".{name}")
        elif operation in ("STORE_DEREF", "DELETE_DEREF"):
            names["cell"].add(name)
        elif operation == "STORE_ATTR" and own is not None and _last(levels[1]) == own:
            pass
        elif operation == "STORE_ATTR" and (given := _parameter_set(code, all_of_it, number)) is not None:
            sets[given, name] = None
        elif operation == "LOAD_BUILD_CLASS":
            names["attribute"].update(("__init_subclass__", "__set_name__"))  # which Python asks for
        elif operation in ("STORE_GLOBAL", "STORE_ATTR", "DELETE_GLOBAL", "DELETE_ATTR"):
            writes = f"it sets {name}"
        levels = [levels[1], name]
    found = [frozenset(names[kind]) for kind in ("global", "attribute", "import")]
    return Names(found[0], found[1], found[2], writes, tuple(sets), frozenset(counted), frozenset(names["cell"]))


def _parameter_set(code: CodeType, instructions: Sequence[Instruction], number: int) -> str | None:
    """The parameter of which the instruction of a number sets an attribute, where it is always what was given: a local
    variable that nothing sets."""
    at = number - 1
    if at > 0 and instructions[at].opname == "SWAP":  # of `p.x += 1`, which has loaded the object before its attribute
        name = instructions[number].argval
        at = next((k for k in range(at, 1, -1) if _is_second_load(instructions, k, name)), 1) - 2
    if at < 0 or not instructions[at].opname.startswith("LOAD_FAST"):
        return None
    found = _last(instructions[at].argval)
    stored = [each.argval for each in instructions if each.opname.startswith(("STORE_FAST", "DELETE_FAST"))]
    return None if any(found in each if type(each) is tuple else found == each for each in stored) else str(found)


def _is_second_load(instructions: Sequence[Instruction], number: int, name: str) -> bool:
    """Whether an attribute is loaded of what stays on the stack, to be set afterwards."""
    before, load = instructions[number - 1 : number + 1]
    return before.opname == "COPY" and before.arg == 1 and load.opname == "LOAD_ATTR" and load.argval == name


def _is_counted(code: CodeType, instructions: Sequence[Instruction], number: int) -> bool:
    """Whether an attribute of a parameter is loaded for something to be added to it, and nothing else."""
    name = instructions[number].argval
    if number < 2 or not _is_second_load(instructions, number, name):
        return False
    stores = (k for k in range(number, len(instructions)) if instructions[k].opname == "STORE_ATTR")
    end = next((k for k in stores if instructions[k].argval == name and instructions[k - 1].opname == "SWAP"), 2)
    added = instructions[end - 2]
    return added.argrepr == "+=" and _parameter_set(code, instructions, end) is not None


def asks_by_name(function: FunctionType) -> bool:
    """Whether a function may come to attributes that its code does not name as such."""
    return any(
        not _ASKING.isdisjoint(names.globals | names.attributes) for names in map(names_of, all_code(function.__code__))
    )


_ASKING = frozenset(["attrgetter", "getattr", "getattr_static", "getmembers", "hasattr", "methodcaller"])


def all_attributes(code: CodeType) -> frozenset[str]:
    return frozenset(name for each in all_code(code) for name in names_of(each).attributes)
