"""The reference page of all primitives, made of their docstrings.

    python -m tools.reference > docs/primitives.md

A docstring has paragraphs, an example with prompts, and sections `Parameters:`, `Refused:` and `Returns:`; as in the
help of Python, what belongs to a section is indented.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from typing import Any

import slinky.sched.primitives
from slinky.sched.records import ReturnedCursors

GROUPS = {
    "loops": "Loops",
    "fusion": "Loops put together",
    "fission": "Loops taken apart",
    "unrolling": "Loops that end",
    "vectors": "Vectors",
    "conditions": "Conditions",
    "pipelining": "Stages that overlap",
    "placement": "Where a call stands",
    "lifting": "Calls that leave loops",
    "calls": "Single calls",
    "reductions": "Reductions",
    "variants": "What calls run",
    "nesting": "Pipelines in pipelines",
    "sliding": "Sliding windows",
    "storage": "Storage",
    "extents": "What buffers hold",
    "pieces": "Buffers taken to pieces",
    "staging": "Copies around a block",
    "blocks": "Blocks of statements",
    "shapes": "Sizes that are known",
    "simplification": "The whole pipeline",
}
"""The modules of primitives, in the order of the page, with their titles. Others come last, by name."""

HEAD = """\
# Primitives

A primitive takes a pipeline and gives a new one that means the same, or raises `SchedulingError`, which says why it
does not; the pipeline that it was given never changes. All are in `slinky`. A place is given as a cursor, of this
pipeline or of one that it was made from, or as a pattern such as `"for y"` ([cursors.md](cursors.md)). With `rc=True` a
primitive also returns a record of cursors to what it was given and what it made
([which ones](cursors.md#what-operations-return)).

The examples start from the small pipelines of [examples](../examples/__init__.py), a directory of the repository: start
Python at its root, and `import examples` finds them.

This page is made of the docstrings by `python -m tools.reference`.
"""

SECTION = re.compile(r"(Parameters|Refused|Returns):(.*)")


def operations() -> list[Callable[..., Any]]:
    """All operations on pipelines that the modules of primitives define, in the order of the page."""
    found: list[Callable[..., Any]] = []
    for name in _modules():
        module = importlib.import_module(f"slinky.sched.primitives.{name}")
        found += [value for value in vars(module).values() if _is_operation_of(value, module.__name__)]
    return found


def _modules() -> list[str]:
    names = [module.name for module in pkgutil.iter_modules(slinky.sched.primitives.__path__)]
    order = list(GROUPS)
    return sorted(names, key=lambda name: (order.index(name) if name in GROUPS else len(order), name))


def _is_operation_of(value: object, module: str) -> bool:
    record = getattr(value, "cursors", None)
    is_operation = isinstance(record, type) and issubclass(record, ReturnedCursors)
    return is_operation and getattr(value, "__module__", None) == module


def reference() -> str:
    """The page, as Markdown."""
    parts = [HEAD]
    previous = ""
    for operation in operations():
        group = operation.__module__.rpartition(".")[2]
        if group != previous:
            parts.append(f"## {GROUPS.get(group, group.replace('_', ' ').capitalize())}\n")
            previous = group
        parts.append(_entry(operation))
    return "\n".join(parts)


def _entry(operation: Callable[..., Any]) -> str:
    return (
        f"### `{operation.__name__}`\n\n```text\n{_signature(operation)}\n```\n\n{_markdown(operation.__doc__ or '')}"
    )


def _signature(operation: Callable[..., Any]) -> str:
    """How an operation is called, as its source has it; a long one with a line for each parameter."""
    parts: list[str] = []
    for parameter in inspect.signature(operation).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        default = "" if parameter.default is parameter.empty else f" = {_value(parameter.default)}"
        name = f"**{parameter.name}" if parameter.kind is parameter.VAR_KEYWORD else parameter.name
        parts.append(f"{name}: {parameter.annotation}{default}")
    line = f"{operation.__name__}({', '.join(parts)})"
    if len(line) <= 88:
        return line
    return "\n".join([f"{operation.__name__}(", *(f"    {part}," for part in parts), ")"])


def _value(default: object) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


def _markdown(doc: str) -> str:
    """A docstring as Markdown: examples in fences, sections in bold, what is described in lists."""
    lines: list[str] = []
    paragraphs = re.split(r"\n\s*\n", doc)
    for paragraph in paragraphs:
        block = paragraph.split("\n")
        section = SECTION.fullmatch(block[0])
        if any(line.lstrip().startswith(">>>") for line in block):
            indent = min(len(line) - len(line.lstrip()) for line in block)
            lines += ["```pycon", *(line[indent:] for line in block), "```", ""]
        elif section is not None:
            described = block[1:] if section[1] == "Refused" else _described(block[1:])
            lines += [f"**{section[1]}:**{section[2]}", *described, ""]
        else:
            lines += [*block, ""]
    return "\n".join(lines).rstrip() + "\n"


def _described(block: list[str]) -> list[str]:
    """The lines of a section: what is named in it (`name: what it is`) becomes a list, with lists inside."""
    depths = [(len(line) - len(line.lstrip())) // 4 for line in block]
    named = [re.fullmatch(r"\s*`?([\w\"]+)`?: (.*)", line) for line in block]
    base = min((depth for depth, item in zip(depths, named, strict=True) if item), default=0)
    lines: list[str] = []
    listed = False
    for line, depth, item in zip(block, depths, named, strict=True):
        if item is not None and not listed:
            lines.append("")
            listed = True
        text = line.strip() if item is None else f"- `{item[1]}`: {item[2]}"
        lines.append("  " * max(depth - base, 0) + text)
    return lines


if __name__ == "__main__":
    print(reference(), end="")
