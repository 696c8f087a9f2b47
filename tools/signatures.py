"""The signatures of the primitives as type checkers see them, made of those that they are written with.

    python -m tools.signatures > slinky/sched/primitives/__init__.pyi

A primitive is written with what its arguments have become: `call: CallCursor`. It is called with what they are made of,
patterns and integers, too, and what it returns depends on `rc`. That is written down here, once for each value of `rc`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from tools.reference import operations

HEAD = '''\
"""The primitives as type checkers see them. Made by `python -m tools.signatures`; not to be edited."""

from collections.abc import Sequence
from typing import Literal, overload

from slinky.cursors.cursors import {cursors}
from slinky.pipeline import Pipeline
from slinky.sched.arguments import BlockArgument
from slinky.sched.returned import {records}
from slinky.symbolic.expressions import Condition, ExprLike
from slinky.symbolic.intervals import Interval
'''

_LONGEST = 120


def signatures() -> str:
    """The text of the stub."""
    found = operations()
    entries = [text for operation in found for text in _overloads(operation)]
    kinds = set(re.findall(r"\b\w+Cursor\b", "".join(entries)))
    head = HEAD.format(cursors=_imported(kinds), records=_imported({f.cursors.__name__ for f in found}))  # type: ignore[attr-defined]
    return head + "\n" + "\n".join(entries) + "\n"


def _overloads(operation: Callable[..., Any]) -> tuple[str, str]:
    """What an operation is with `rc=True`, and without."""
    record = operation.cursors.__name__  # type: ignore[attr-defined]
    with_record = _overload(operation, "Literal[True]", f"tuple[Pipeline, {record}]")
    return with_record, _overload(operation, "Literal[False] = False", "Pipeline")


def _overload(operation: Callable[..., Any], rc: str, returned: str) -> str:
    parts: list[str] = []
    for parameter in inspect.signature(operation).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        if parameter.name == "rc":
            parts.append(f"rc: {rc}")
            continue
        default = "" if parameter.default is parameter.empty else f" = {_value(parameter.default)}"
        name = f"**{parameter.name}" if parameter.kind is parameter.VAR_KEYWORD else parameter.name
        parts.append(f"{name}: {given(str(parameter.annotation))}{default}")
    line = f"def {operation.__name__}({', '.join(parts)}) -> {returned}: ..."
    if len(line) > _LONGEST:
        inside = "".join(f"    {part},\n" for part in parts)
        line = f"def {operation.__name__}(\n{inside}) -> {returned}: ..."
    return f"@overload\n{line}"


def given(annotation: str) -> str:
    """What is given for a parameter that is annotated with what it becomes."""
    if annotation == "BlockCursor":
        return "BlockArgument"
    annotation = re.sub(r"\bExpr\b", "ExprLike", annotation)
    return re.sub(r"((?:\w+Cursor \| )*\w+Cursor)\b", r"\1 | str", annotation)


def _value(default: object) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


def _imported(names: set[str]) -> str:
    """Names to import, as the formatter writes them."""
    listed = ", ".join(sorted(names))
    if len(listed) <= _LONGEST - len("from slinky.cursors.cursors import "):
        return listed
    return "(\n" + "".join(f"    {name},\n" for name in sorted(names)) + ")"


if __name__ == "__main__":
    print(signatures(), end="")
