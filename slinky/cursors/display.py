"""Showing a place: the program around it, with the place marked."""

from __future__ import annotations

from slinky.cursors.versions import Version
from slinky.ir.printer import INDENT, Line, program_lines, statement_line
from slinky.ir.statements import Alloc

MARK = "> "
PLAIN = "  "
CONTEXT = 8
"""How many lines to show on either side of the place."""


def show(version: Version, statements: set[int], *, gap: tuple[int, bool] | None = None, header: bool = False) -> str:
    """The program around a place, the lines of these statements marked, or a marked line in the gap."""
    lines = program_lines(version.program)
    marked = [n for n, line in enumerate(lines) if line.identity in statements or (header and line.identity is None)]
    if gap is not None:
        at = _gap_line(lines, *gap)
        anchor = next(line for line in lines if line.identity == gap[0])
        lines = [*lines[:at], Line(anchor.depth, "(here)", None), *lines[at:]]
        marked = [at]
    if not marked:
        return "\n".join(map(str, lines))
    first, last = max(min(marked) - CONTEXT, 1), min(max(marked) + CONTEXT, len(lines) - 1)
    chosen = set(marked)
    shown = [(MARK if 0 in chosen else PLAIN) + str(lines[0])]
    if first > 1:
        shown.append(f"{PLAIN}{INDENT}... ({first - 1} lines)")
    shown += [(MARK if n in chosen else PLAIN) + str(lines[n]) for n in range(first, last + 1)]
    if last < len(lines) - 1:
        shown.append(f"{PLAIN}{INDENT}... ({len(lines) - 1 - last} lines)")
    return "\n".join(shown)


def first_line(version: Version, identity: int) -> str:
    """The line of a statement, without indentation."""
    in_scope: list[Alloc] = []
    for around in version.path(identity):
        entry = version.entries[around]
        before = version.block(entry.parent, entry.field)[: version.position(around)]
        in_scope += [s for s in before if isinstance(s, Alloc)]
    return statement_line(version.program, version.statement(identity), in_scope)


def _gap_line(lines: list[Line], anchor: int, is_before: bool) -> int:
    """Where a gap stands among the lines."""
    at = next(n for n, line in enumerate(lines) if line.identity == anchor)
    if is_before:
        return at
    depth = lines[at].depth
    at += 1
    while at < len(lines) and (lines[at].depth > depth or lines[at].identity == anchor):
        at += 1
    return at
