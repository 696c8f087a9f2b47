"""What may help where iterations of a loop share a buffer: to give each one of its own."""

from __future__ import annotations

from collections.abc import Sequence

from slinky.cursors.versions import Version
from slinky.ir.effects import written_by
from slinky.ir.statements import Alloc, For
from slinky.sched.legality.touches import calls_inside
from slinky.sched.remedies import PlaceOf, Remedy, first


def own_buffers(version: Version, loop: For, buffer: str) -> list[Remedy]:
    """Remedies that give each iteration of a loop a buffer of its own: this one, then all that are written in the loop.

    What slides in the loop, or stands there as part of a chain, must be computed in full by each iteration.
    """
    inside = calls_inside(version, loop.id)
    allocs = {a.id: a for c in inside for name in written_by(c) if (a := version.alloc_of(name, c.id)) is not None}
    shared = [a for a in allocs.values() if loop.id not in version.ancestors(a.id)]
    own = [a for a in shared if a.buffer == buffer]
    around = PlaceOf(loop.id)

    def stored(these: Sequence[Alloc]) -> list[tuple[object, ...]]:
        return [("store_at", PlaceOf(a.id), around) for a in these]

    if not own:
        return []
    names = {a.buffer for a in shared}
    producers = [c for c in inside if not names.isdisjoint(written_by(c))]
    whole: list[tuple[object, ...]] = [("compute_root", PlaceOf(c.id)) for c in producers]
    whole += [("compute_at", PlaceOf(c.id), around) for c in reversed(producers)]
    in_full = f"let each iteration compute all that it needs of {buffer}, in a buffer of its own"
    return [
        first(f"give each iteration its own {buffer} first", *stored(own)),
        first("give each iteration buffers of its own first", *stored(shared)),
        first(in_full, *whole, *stored(shared)),
    ]
