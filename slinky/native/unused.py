"""Lines of C without variables that nothing uses.

Idea. What prints lines names more than is used in the end: the plan in Python needs values that C does not, and what a
loop asks for is known when it stands there. So lines are read from the last one to the first, and what makes a variable
goes if no line behind it, in its block, has the name.

Invariant: what is left computes the same; whoever makes a variable does nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence


def without_unused(lines: Sequence[str]) -> list[str]:
    """Lines without variables that nothing in their block uses: the plan in Python needs some that C does not."""
    blocks: list[set[str]] = [set()]
    kept: list[str] = []
    for line in reversed(lines):
        declared = _DECLARED.match(line)
        name = declared[1] or declared[2] if declared else ""
        if declared and name not in blocks[-1]:
            continue
        kept.append(line)
        if line.lstrip().startswith("}"):
            blocks.append(set())
        if line.endswith("{") and len(blocks) > 1:
            inside = blocks.pop()
            blocks[-1] |= inside
        blocks[-1].update(_WORD.findall(line))
        if declared:
            blocks[-1].discard(name)
    return kept[::-1]


_WORD = re.compile(r"[A-Za-z_]\w*")
_DECLARED = re.compile(
    r" *(?:(?:const )?(?:int64_t|intptr_t|array|char \*) ?(\w+) = |_Alignas\(64\) \w+ (\w+)\[\d+\];$)"
)
"""A line that makes a variable."""
