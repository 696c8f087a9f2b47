"""Which folded buffers have windows that move on in plain memory, where the system cannot map memory twice?

Where rows move, views of them that were given out are void (see `compacting`). They move only where a window is written
that reaches rows beyond all others: what is read has been written, and what may still be read is in the room. So a view
of what is read is good until the next write, and a buffer may move if it has memory of its own, and if nobody holds a
view of it while it is written: no other thread, nor the call that writes it. (What is folded has memory of its own:
nothing else lies in it, and no call takes it over.)
"""

from __future__ import annotations

from slinky.ir.effects import calls_in
from slinky.ir.statements import SERIAL, Alloc, Block, Call, For, blocks_of
from slinky.runtime import mirrored
from slinky.runtime.lifetimes import buffers_named_inside
from slinky.symbolic.expressions import constant_value


def moves(alloc: Alloc, block: Block) -> bool:
    """Whether the windows on a folded buffer of a block move on in plain memory."""
    return not is_mapped_twice() and may_move(alloc, block)


def is_mapped_twice() -> bool:
    """Whether the system maps memory twice."""
    try:
        return mirrored.available()
    except OSError:
        return True  # there is no room even for the page to try it on: who asks for memory says so


def may_move(alloc: Alloc, block: Block) -> bool:
    """Whether the rows of a folded buffer of a block may move between one call and the next."""
    folds = [fold for fold in alloc.folds if fold is not None]
    if len(folds) != 1:
        return False
    if constant_value(folds[0]) == 1:
        return True  # there is but one row, and nowhere to move
    return not _is_shared(block, alloc.buffer)


def _is_shared(block: Block, buffer: str) -> bool:
    """Whether a buffer is written by calls that read it, too, or by threads while others may use it."""
    for statement in block:
        if isinstance(statement, Call):
            if buffer in statement.reads and buffer in statement.writes:
                return True
        elif isinstance(statement, For) and statement.mode != SERIAL:
            is_read_only = not any(buffer in call.writes for call in calls_in(statement.body))
            if not is_read_only and buffer in buffers_named_inside(statement):
                return True
        elif any(_is_shared(inner, buffer) for _, inner in blocks_of(statement)):
            return True
    return False
