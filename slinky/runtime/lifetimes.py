"""When is the storage of a buffer needed? From its `alloc` to the last statement of the same block that names it.

Memory that several buffers share (see `ir.sharing`) is needed from the first of them to the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import TypeVar

from slinky.ir.effects import buffers_named
from slinky.ir.remembered import table_of
from slinky.ir.sharing import Guest, guests_in, host_of
from slinky.ir.statements import Alloc, Block, Call, Statement, walk

R = TypeVar("R")

_REMEMBERED = 64


def once_per_block(find: Callable[[Block], R]) -> Callable[[Block], R]:
    """Remember what is found for a block. It never changes, so it is known by identity: to compare two takes long.

    The first statement of a block remembers it, and goes when no program has it any more.
    """

    @wraps(find)
    def found(block: Block) -> R:
        if not block:
            return find(block)
        known, question = table_of(block[0]), (find, id(block))
        entry: tuple[Block, R] | None = known.get(question)
        if entry is None:
            if len(known) >= _REMEMBERED:
                known.clear()
            entry = known[question] = (block, find(block))  # keeps the block, so that its number stays its own
        return entry[1]

    return found


@once_per_block
def guests(block: Block) -> dict[str, tuple[Guest, ...]]:
    """What lies in the memory of the buffers that a block allocates."""
    return guests_in(block)


@once_per_block
def last_names(block: Block) -> dict[str, int]:
    """Of each buffer that a block allocates, the position of the last statement that names it."""
    own = {s.buffer for s in block if isinstance(s, Alloc)}
    last: dict[str, int] = {}
    if own:
        for position, statement in enumerate(block):
            last.update(dict.fromkeys(own.intersection(buffers_named_inside(statement)), position))
    return last


@once_per_block
def releases(block: Block) -> dict[int, tuple[str, ...]]:
    """After which statement of a block, by position, which of the block's buffers is not named any more."""
    return _by_position(last_names(block))


@once_per_block
def memory_releases(block: Block) -> dict[int, tuple[str, ...]]:
    """After which statement of a block, by position, the memory of which of its buffers is not needed any more.

    A buffer that lies in the memory of another has none.
    """
    sharing = guests(block)
    own = [s for s in block if isinstance(s, Alloc)]
    if not sharing and all(host_of(s) is None for s in own):
        return releases(block)
    last = {s.buffer: last_names(block)[s.buffer] for s in own if host_of(s) is None}
    for host, these in sharing.items():
        names = {guest.alloc.buffer for guest in these}
        for position, statement in enumerate(block):
            if not names.isdisjoint(buffers_named_inside(statement)):
                last[host] = max(last[host], position)
    return _by_position(last)


def _by_position(last: Mapping[str, int]) -> dict[int, tuple[str, ...]]:
    found: dict[int, list[str]] = {}
    for name, position in last.items():
        found.setdefault(position, []).append(name)
    return {position: tuple(names) for position, names in found.items()}


def buffers_named_inside(statement: Statement) -> Iterable[str]:
    """The buffers that a statement names, itself or in the statements inside it; some may come more than once."""
    if isinstance(statement, (Alloc, Call)):  # most are, and need no walk
        return buffers_named(statement)
    return [name for inner in walk((statement,)) for name in buffers_named(inner)]
