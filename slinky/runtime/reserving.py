"""How many bytes will a run reserve? Found without a plan, where what a plan decides makes no difference.

Idea. What a plan asks its arena for follows from the program: its sites, how long each is needed (`codegen.sites`), and
the sizes of its buffers, which an estimate finds for all iterations at once. Arenas put that together by rules of their
own (`arena`, `reservations`), which are asked here. A plan decides three things more, by what it can prove:

* how much room it makes for a site before it runs. That is what is needed where a size depends on no loop. Where it
  does, it may be more; which nobody notices if no other site is needed at the same time, as both begin where the arena
  does;
* whether an intermediate lies in an output, and
* what the iterations of loops that run at the same time share.

Where one of these matters, there is no answer here, and neither is there where memory was given back on the way.

Invariant: where there is an answer, it is the `peak_bytes` of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from slinky.errors import ExecutionError
from slinky.ir.operations import Nested
from slinky.ir.statements import Alloc, Call, For, Program, Serial, walk
from slinky.runtime.arena import SPARE, UNKNOWN, SiteKind, alive_at_once, window_memory
from slinky.runtime.codegen.origin import at_origin, extents
from slinky.runtime.codegen.sites import SiteAllocs, arena_allocs, sites
from slinky.runtime.estimates import Asked, followed_allocations
from slinky.runtime.in_place import in_outputs
from slinky.runtime.omitted import Completion
from slinky.runtime.ramps import TooManyError
from slinky.runtime.reservations import Layout
from slinky.runtime.stand_ins import values_of
from slinky.runtime.statistics import Memory
from slinky.runtime.strided import strided
from slinky.runtime.threads import workers_or_default
from slinky.symbolic.expressions import Constant, Expr, metadata
from slinky.symbolic.traversal import quotients, symbols


def estimated_memory(
    completion: Completion, arguments: Sequence[object], scalars: Mapping[str, object], threads: int | None
) -> Memory | None:
    """What the intermediates of a run on these arrays, or arrays of these shapes, take; None where it is not known.

    Raises `ArgumentError` as the run would.
    """
    program = completion.program
    values = values_of(completion, arguments, scalars)
    if not all(isinstance(loop.mode, Serial) or not _allocates(loop) for loop in _loops(program)):
        return None
    calls = [s for s in walk(program.body) if isinstance(s, Call)]
    if any(isinstance(call.func.operation, Nested) for call in calls):
        return None
    if any(call.func.operation.in_place for call in calls):  # boxes that are the same may say so only at the origin
        program, values = _as_it_runs(program, values)
        if in_outputs(program):
            return None
    try:
        estimate, asked = followed_allocations(program, values, workers_or_default(threads))
    except (TooManyError, ExecutionError):
        return None
    peak = _bytes_of(program, asked)
    return None if peak is None else Memory(estimate.program_bytes, peak)


def _loops(program: Program) -> list[For]:
    return [s for s in walk(program.body) if isinstance(s, For)]


def _allocates(loop: For) -> bool:
    return any(isinstance(s, Alloc) for s in walk(loop.body))


def _as_it_runs(program: Program, values: dict[Expr, int]) -> tuple[Program, dict[Expr, int]]:
    """The program of which the plan is that runs, and what is known of its parameters."""
    parameters = (*program.inputs, *program.outputs)
    ends = [(p, d, metadata(p.name, d, "min"), metadata(p.name, d, "max")) for p in parameters for d in range(p.rank)]
    moved = at_origin(program) if all(values[first] == 0 for _, _, first, _ in ends) else None
    if moved is None:
        return program, values
    return moved, {**values, **{extents(p)[d]: values[last] + 1 for p, d, _, last in ends}}


def _bytes_of(program: Program, asked: Mapping[int, Asked]) -> int | None:
    """The bytes of the arena of a program; None where they are not known."""
    found = [*zip(arena_allocs(program.body), sites(program.body), strict=True)]
    rings = [(site, kind) for site, kind in found if kind.folded]
    heap = [(site, kind) for site, kind in found if not kind.folded]
    layout = Layout([kind for _, kind in found])
    of_rings = _bytes_of_rings(rings, layout.colors, asked)
    of_heap = _bytes_of_heap(heap, layout, asked)
    return None if of_rings is None or of_heap is None else of_rings + of_heap


def _asked_of(site: SiteAllocs, asked: Mapping[int, Asked]) -> list[Asked]:
    return [asked[i] for i in (site.alloc.id, *site.others) if i in asked]


# Memory of its own ----------------------------------------------------------------------------------------------------


def _bytes_of_rings(
    rings: Sequence[tuple[SiteAllocs, SiteKind]], colors: Sequence[int], asked: Mapping[int, Asked]
) -> int | None:
    pools: dict[int, dict[object, int]] = {}
    for (site, kind), color in zip(rings, colors, strict=True):
        for each in _asked_of(site, asked):
            if each.key is None:
                return None
            memory = window_memory(kind, each.key)
            pools.setdefault(color, {})[memory] = memory[1]
    return _kept(pools.values())


def _kept(pools: Iterable[Mapping[object, int]]) -> int | None:
    """The bytes of pools that keep what they were asked for, given by key; None where they may have given some back."""
    total = 0
    for sizes in pools:
        if len(sizes) > 1 and sum(sizes.values()) > SPARE * min(sizes.values()):
            return None
        total += sum(sizes.values())
    return total


# Memory that sites share ----------------------------------------------------------------------------------------------


@attrs.define
class _Room:
    """Of a site that is not folded, the bytes for which there is room, and those that are used of them; or those that
    are kept by key, where it is not known before the run how many there are. It is sure if the room is just that."""

    needed: int = 0
    used: int = 0
    kept: dict[object, int] = attrs.field(factory=dict)
    is_sure: bool = True


def _bytes_of_heap(
    heap: Sequence[tuple[SiteAllocs, SiteKind]], layout: Layout, asked: Mapping[int, Asked]
) -> int | None:
    kinds = [kind for _, kind in heap]
    rooms = []
    for site, kind in heap:
        room = _room(site, kind, _asked_of(site, asked))
        if room is None:
            return None
        rooms.append(room)
    alone = [not others for others in alive_at_once(kinds)]
    if len({kind.place for kind in kinds}) < len(
        kinds
    ):  # what lies there as one is needed from the first to the last of it
        alone = [len(kinds) == 1] * len(kinds)
    if not all(room.is_sure or is_alone for room, is_alone in zip(rooms, alone, strict=True)):
        return None
    kept = _kept(room.kept for room in rooms)
    if kept is None:
        return None
    return layout.covered([room.needed for room in rooms], [room.used for room in rooms]) + kept


def _room(site: SiteAllocs, kind: SiteKind, these: Sequence[Asked]) -> _Room | None:
    """The room of a site, by what is asked for there; None where a plan may know how much it is, or not."""
    if not site.is_certain or strided(site.alloc) is not None:
        if any(each.key is None for each in these):
            return None
        return _Room(UNKNOWN, 0, {each.key: each.most for each in these})
    most = max((each.most for each in these), default=0)
    own = [i.max - i.min + 1 for i in site.alloc.box]
    variables = {loop.variable for loop in site.loops}
    if not all(map(_can_be_early, (*own, *(end for loop in site.loops for end in (loop.range.min, loop.range.max))))):
        return None
    return _Room(most, most, is_sure=bool(these) and all(variables.isdisjoint(symbols(e)) for e in own))


def _can_be_early(e: Expr) -> bool:
    """Whether everybody sees that an expression has a value, also where nothing that uses it runs."""
    return all(isinstance(q.denominator, Constant) for q in quotients(e, {}))
