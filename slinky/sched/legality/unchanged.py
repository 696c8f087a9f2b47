"""Whether an edit left a buffer as it was: which regions of it are read and written, when, and by whom.

Idea. That reads of a buffer find what they read, that an output is written in full, and that a fold keeps each element
until it was read last: all this speaks of the accesses of one buffer, of their regions, their order, and the iterations
in which they are made. A call that is changed to read something else by one of its ports leaves other buffers alone.

Invariant: of a buffer that is used as before, `READERS`, `OUTPUTS` and `FOLDS` hold if they held before the edit and it
kept all checks.
"""

from __future__ import annotations

from slinky.cursors.versions import Touched, Version
from slinky.ir.effects import Effect, Touching, clamped_box, of_buffer, reads, writes
from slinky.ir.statements import Call
from slinky.symbolic.intervals import Box


def is_used_as_before(old: Version, new: Version, touched: Touched, buffer: str) -> bool:
    """Whether the same calls read and write the same regions of a buffer, in the same order and iterations and under
    the same conditions as before an edit, which touched these statements."""
    keys = ("alloc", buffer), ("write", buffer), ("read", buffer)
    were, are = old.names(), new.names()
    users = {identity for key in keys for identity in are.get(key, ())}
    if users != {identity for key in keys for identity in were.get(key, ())}:
        return False
    # What an edit touched was most often moved: that is seen sooner than in which order all of them stand.
    first = sorted(users, key=touched.__contains__, reverse=True)
    is_as_before = all(_is_as_before(old, new, touched, buffer, user) for user in first)
    return is_as_before and new.in_order(users) == old.in_order(users)


def _is_as_before(old: Version, new: Version, touched: Touched, buffer: str, user: int) -> bool:
    path = new.path(user)
    if path != old.path(user) or any(outer in touched for outer in path[:-1]):
        return False
    if new.entries[user].field != old.entries[user].field:  # on the other side of an if
        return False
    before, now = old.statement(user), new.statement(user)
    if isinstance(before, Touching) and isinstance(now, Touching):
        return _use(old, before, buffer) == _use(new, now, buffer)
    return before is now


def _use(version: Version, call: Call, buffer: str) -> tuple[Box, list[Effect], list[Effect]]:
    box = clamped_box(call, version.box_at(call.id))
    return box, of_buffer(reads(call, box), buffer), of_buffer(writes(call, box), buffer)
