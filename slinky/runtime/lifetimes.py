"""When is the storage of a buffer needed? From its `alloc` to the last statement of the same block that names it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import TypeVar

from slinky.ir.effects import buffers_named
from slinky.ir.statements import Alloc, Block, Call, Statement, walk

R = TypeVar("R")

_REMEMBERED_BLOCKS = 4096


def once_per_block(find: Callable[[Block], R]) -> Callable[[Block], R]:
    """Remember what is found for a block. It never changes, so it is known by identity: to compare two takes long."""
    known: dict[int, tuple[Block, R]] = {}

    @wraps(find)
    def found(block: Block) -> R:
        entry = known.get(id(block))
        if entry is None or entry[0] is not block:
            if len(known) >= _REMEMBERED_BLOCKS:
                known.clear()
            entry = known[id(block)] = (block, find(block))  # keeps the block, so that its number stays its own
        return entry[1]

    return found


@once_per_block
def releases(block: Block) -> dict[int, tuple[str, ...]]:
    """After which statement of a block, by position, which of the block's buffers is not named any more."""
    own = {s.buffer for s in block if isinstance(s, Alloc)}
    last: dict[str, int] = {}
    if own:
        for position, statement in enumerate(block):
            last.update(dict.fromkeys(own.intersection(buffers_named_inside(statement)), position))
    found: dict[int, list[str]] = {}
    for name, position in last.items():
        found.setdefault(position, []).append(name)
    return {position: tuple(names) for position, names in found.items()}


def buffers_named_inside(statement: Statement) -> Iterable[str]:
    """The buffers that a statement names, itself or in the statements inside it; some may come more than once."""
    if isinstance(statement, (Alloc, Call)):  # most are, and need no walk
        return buffers_named(statement)
    return [name for inner in walk((statement,)) for name in buffers_named(inner)]
