"""When is the storage of a buffer needed? From its `alloc` to the last statement of the same block that names it."""

from __future__ import annotations

from functools import lru_cache

from slinky.ir.statements import Alloc, Block, Call, Statement, walk


@lru_cache(maxsize=4096)
def _releases(identities: tuple[int, ...], block: Block) -> dict[int, tuple[str, ...]]:
    own = {s.buffer for s in block if isinstance(s, Alloc)}
    last: dict[str, int] = {}
    if own:
        for position, statement in enumerate(block):
            for inner in walk((statement,)):
                last.update(dict.fromkeys(own.intersection(buffers_named(inner)), position))
    found: dict[int, list[str]] = {}
    for name, position in last.items():
        found.setdefault(position, []).append(name)
    return {position: tuple(names) for position, names in found.items()}


def releases(block: Block) -> dict[int, tuple[str, ...]]:
    """After which statement of a block, by position, which of the block's buffers is not named any more."""
    return _releases(tuple(s.id for s in block), block)


def buffers_named(statement: Statement) -> list[str]:
    """The buffers that a statement itself names, not those of the statements inside it."""
    match statement:
        case Alloc(buffer=buffer):
            return [buffer]
        case Call(func=func):
            return [a.buffer for a in func.inputs] + [a.buffer for a in func.outputs]
    return []
