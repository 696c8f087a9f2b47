"""How many bytes will a run reserve? Found without a plan, where what a plan decides makes no difference.

Idea. What a plan asks its arena for follows from the program: its sites, how long each is needed (`codegen.sites`), and
the sizes of its buffers, which an estimate finds for all iterations at once. Arenas put that together by rules of their
own (`arena`, `reservations`), which are asked here. A plan decides two things more, by what it can prove:

* how much room it makes for a site before it runs. That is what is needed where a size depends on no loop. Where it
  does, it is a bound over the loops around: just what is needed where a bound found from less is so, too. Else it may
  be more; which nobody notices if no other site is needed at the same time, as both begin where the arena does, or if
  all are, as none of them lies where another one does;
* whether an intermediate lies in an output.

Where one of these matters, there is no answer here, and neither is there where memory was given back on the way.

The body of a parallel loop has an arena for each iteration that runs at the same time; how many do is chance, so what
counts is the most: that the largest do (see `reservations.Room.of_several`). So of each iteration it is asked what it
takes, and how many take as much.

Invariant: where there is an answer, it is the `peak_bytes` of a run, or with parallel loops, that of a rehearsal.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import TypeAlias

import attrs
import numpy as np

from slinky.errors import ExecutionError
from slinky.ir.blocks import is_stored_by_blocks
from slinky.ir.operations import Nested
from slinky.ir.scopes import facts_inside, program_scope
from slinky.ir.stages import stages_of
from slinky.ir.statements import Block, Call, Check, For, Pipelined, Program, Serial, blocks_of, walk
from slinky.runtime.arena import SPARE, UNKNOWN, SiteKind, alive_at_once, window_memory
from slinky.runtime.codegen.origin import at_origin, extents
from slinky.runtime.codegen.sites import SiteAllocs, arena_allocs, sites
from slinky.runtime.estimates import Asked, Followed, followed_allocations
from slinky.runtime.in_place import in_outputs
from slinky.runtime.iterations import Nest, numbers_for, require_few
from slinky.runtime.omitted import Completion
from slinky.runtime.ramps import Array, Number, TooManyError, dense, greatest
from slinky.runtime.reservations import Layout
from slinky.runtime.stand_ins import values_of
from slinky.runtime.statistics import Memory
from slinky.runtime.strided import strided
from slinky.runtime.threads import workers_or_default
from slinky.symbolic.bounds import bounds
from slinky.symbolic.expressions import Constant, Expr, Node, metadata
from slinky.symbolic.proofs import Facts
from slinky.symbolic.traversal import quotients, symbols


def estimated_memory(
    completion: Completion, arguments: Sequence[object], scalars: Mapping[str, object], threads: int | None
) -> Memory | None:
    """What the intermediates of a run on these arrays, or arrays of these shapes, take; None where it is not known.

    Raises `ArgumentError` as the run would.
    """
    program = completion.program
    values = values_of(completion, arguments, scalars)
    calls = [s for s in walk(program.body) if isinstance(s, Call)]
    if any(isinstance(call.func.operation, Nested) for call in calls):
        return None
    if any(call.func.operation.in_place for call in calls):  # boxes that are the same may say so only at the origin
        program, values = _as_it_runs(program, values)
        if in_outputs(program):
            return None
    try:
        estimate, followed = followed_allocations(program, values, workers_or_default(threads))
        nest, known = Nest(dict[Node, Number](values.items()), dtype=numbers_for(values)), _known_at_start(program)
        peaks = [
            _bytes_of(program.body, followed.asked, nest, known),
            *_bytes_of_loops(program.body, 0, followed, known),
        ]
    except (TooManyError, ExecutionError):
        return None
    return None if None in peaks else Memory(estimate.program_bytes, sum(peak for peak in peaks if peak is not None))


def _as_it_runs(program: Program, values: dict[Expr, int]) -> tuple[Program, dict[Expr, int]]:
    """The program of which the plan is that runs, and what is known of its parameters."""
    parameters = (*program.inputs, *program.outputs)
    ends = [(p, d, metadata(p.name, d, "min"), metadata(p.name, d, "max")) for p in parameters for d in range(p.rank)]
    moved = at_origin(program) if all(values[first] == 0 for _, _, first, _ in ends) else None
    if moved is None:
        return program, values
    return moved, {**values, **{extents(p)[d]: values[last] + 1 for p, d, _, last in ends}}


def _known_at_start(program: Program) -> Facts:
    """The conditions that hold behind the checks of a program."""
    return program_scope(program).known.also(*[s.condition for s in program.body if isinstance(s, Check)])


def _bytes_of(block: Block, asked: Mapping[int, Asked], nest: Nest, known: Facts) -> int | None:
    """The bytes of the arena of a block; None where they are not known."""
    rings, heap, layout = _sites(block)
    of_rings = _bytes_of_rings(rings, layout.colors, asked)
    of_heap = _bytes_of_heap(heap, layout, asked, nest, known)
    return None if of_rings is None or of_heap is None else of_rings + of_heap


def _sites(block: Block) -> tuple[_Sites, _Sites, Layout]:
    """The sites of a block, those that are folded and others, and how they lie."""
    found = [*zip(arena_allocs(block), sites(block), strict=True)]
    rings = [(site, kind) for site, kind in found if kind.folded]
    heap = [(site, kind) for site, kind in found if not kind.folded]
    return rings, heap, Layout([kind for _, kind in found])


def _asked_of(site: SiteAllocs, asked: Mapping[int, Asked]) -> list[Asked]:
    return [asked[i] for i in (site.alloc.id, *site.others) if i in asked]


_Sites: TypeAlias = "list[tuple[SiteAllocs, SiteKind]]"


# Loops whose iterations run at the same time --------------------------------------------------------------------------


def _bytes_of_loops(block: Block, depth: int, followed: Followed, known: Facts) -> Iterator[int | None]:
    """The bytes of the arenas of the loops of a block that stands in so many loops; None where they are not known."""
    for statement in block:
        inside, known_inside = depth, known
        if isinstance(statement, For):
            inside += 1
            known_inside = known.also(*facts_inside(statement, "body"))
        for _, inner in blocks_of(statement):
            yield from _bytes_of_loops(inner, inside, followed, known_inside)
        if isinstance(statement, For) and not isinstance(statement.mode, Serial):
            bodies = stages_of(statement) if isinstance(statement.mode, Pipelined) else [statement.body]
            for body in bodies:
                if statement.id in followed.iterations and any(arena_allocs(body)):
                    yield _bytes_of_iterations(statement.id, body, inside, followed, known_inside)


def _bytes_of_iterations(loop: int, body: Block, depth: int, followed: Followed, known: Facts) -> int | None:
    """The bytes of the arenas of the iterations of a loop, as many as may run at the same time."""
    at_once, asked = followed.at_once[loop], followed.asked
    if at_once is None:
        return None
    rings, heap, layout = _sites(body)
    pools: dict[object, Counter[tuple[object, int]]] = {}
    for (site, kind), color in zip(rings, layout.colors, strict=True):
        for each in _asked_of(site, asked):
            if each.key is None:
                return None
            memory = window_memory(kind, each.key)
            pools.setdefault(color, Counter())[memory, memory[1]] += each.times
    sizes, is_sure = [], True
    lie_apart = _lie_apart([kind for _, kind in heap])
    for number, (site, kind) in enumerate(heap):
        these = _asked_of(site, asked)
        room = _room(site, kind, these)
        if room is not None and not room.is_sure:
            sizes_of = partial(_sizes_by_iteration, these, depth)
            room.is_sure = all(
                _is_just_enough(site, sizes_of(piece), nest, known) for piece, nest in followed.iterations[loop].items()
            )
        if room is None or not (room.is_sure or lie_apart):
            return None
        if room.kept:
            for each in these:
                pools.setdefault(("site", number), Counter())[each.key, each.most] += each.times
        sizes.append([] if room.kept else these)
        is_sure = is_sure and room.is_sure
    total = _bytes_of_largest(sizes, layout, followed.iterations[loop], depth, at_once, is_sure) if heap else 0
    if total is None:
        return None
    if at_once == 1:
        kept = _kept([{memory: memory[1] for memory in pool}] for pool in pools.values())
        return None if kept is None else total + kept
    for pool in pools.values():
        everything = sum(size * min(times, at_once) for (_, size), times in pool.items())
        total += min(everything, at_once * SPARE * max(size for _, size in pool))
    return total


def _bytes_of_largest(
    sites: Sequence[Sequence[Asked]],
    layout: Layout,
    pieces: Mapping[int, Nest],
    depth: int,
    at_once: int,
    is_sure: bool,
) -> int | None:
    """The bytes of the largest of some iterations, of what is asked for at each site. None where a site is left out in
    some iteration, or of another size in others, and it is not sure what room a plan makes for it."""
    times: Counter[tuple[int, ...]] = Counter()
    for piece, iterations in pieces.items():
        each = [_sizes_by_iteration(these, depth, piece) for these in sites]
        runs = reduce(np.logical_and, iterations.masks, np.array(True))
        shape = np.broadcast_shapes(*(sizes.shape for sizes in each), runs.shape)
        require_few(shape)
        rows = np.stack([np.broadcast_to(sizes, shape)[np.broadcast_to(runs, shape)] for sizes in each], axis=-1)
        if any((rows[:, n] < 0).any() for n, these in enumerate(sites) if these):
            return None
        alike, counts = np.unique(rows, axis=0, return_counts=True)
        more = math.prod(iterations.sizes) // max(math.prod(shape), 1)
        for row, count in zip(np.maximum(alike, 0).tolist(), counts.tolist(), strict=True):
            times[tuple(row)] += count * more
    if not is_sure and len(times) > 1 and (at_once > 1 or len(sites) > 1):
        return None
    found: list[int] = []
    for row, count in times.items():
        needed = [size if these else UNKNOWN for size, these in zip(row, sites, strict=True)]
        found += [layout.covered(needed, row)] * min(count, at_once)
    return sum(heapq.nlargest(at_once, found))


def _sizes_by_iteration(these: Sequence[Asked], depth: int, piece: int) -> Array:
    """The most bytes that are asked for in each iteration of so many loops; less than 0 where nothing is."""
    found = np.array(-1)
    for masks, size in [each.sizes[piece] for each in these if piece in each.sizes]:
        sizes = np.asarray(dense(size))
        for mask in masks:
            require_few(np.broadcast_shapes(sizes.shape, mask.shape))
            sizes = np.where(mask, sizes, -1)
        while sizes.ndim > depth:
            sizes = sizes.max(axis=0)
        found = np.maximum(found, sizes)
    return found


# Memory of its own ----------------------------------------------------------------------------------------------------


def _bytes_of_rings(
    rings: Sequence[tuple[SiteAllocs, SiteKind]], colors: Sequence[int], asked: Mapping[int, Asked]
) -> int | None:
    pools: dict[int, list[dict[object, int]]] = {}
    for (site, kind), color in zip(rings, colors, strict=True):
        sizes: dict[object, int] = {}
        for each in _asked_of(site, asked):
            if each.key is None:
                return None
            memory = window_memory(kind, each.key)
            sizes[memory] = memory[1]
        pools.setdefault(color, []).append(sizes)
    return _kept(pools.values())


def _kept(pools: Iterable[Sequence[Mapping[object, int]]]) -> int | None:
    """The bytes of pools that keep what each of their sites asked for, given by key; None where they may have given
    some back.

    Nothing is given back where that is no more than `SPARE` times the least that may have been asked for last, nor
    where no more than `SPARE` sites asked for one size each: then it is no more than so many times the largest of them.
    """
    total = 0
    for pool in pools:
        sizes = {key: size for site in pool for key, size in site.items()}
        alone = len(sizes) <= SPARE and all(len(site) <= 1 for site in pool)
        if len(sizes) > 1 and not alone and sum(sizes.values()) > SPARE * min(sizes.values()):
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
    heap: Sequence[tuple[SiteAllocs, SiteKind]], layout: Layout, asked: Mapping[int, Asked], nest: Nest, known: Facts
) -> int | None:
    kinds = [kind for _, kind in heap]
    rooms = []
    for site, kind in heap:
        room = _room(site, kind, _asked_of(site, asked))
        if room is None:
            return None
        rooms.append(room)
    lie_apart = _lie_apart(kinds)
    for (site, _), room, others in zip(heap, rooms, alive_at_once(kinds), strict=True):
        is_alone = not others and not _share_places(kinds)
        if not (room.is_sure or is_alone or lie_apart):
            room.is_sure = _is_just_enough(site, np.array(room.needed), nest, known)
            if not room.is_sure:
                return None
    kept = _kept([room.kept] for room in rooms)
    if kept is None:
        return None
    return layout.covered([room.needed for room in rooms], [room.used for room in rooms]) + kept


def _share_places(kinds: Sequence[SiteKind]) -> bool:
    """Whether some lie there as one, which is needed from the first to the last of them."""
    return len({kind.place for kind in kinds}) < len(kinds)


def _lie_apart(kinds: Sequence[SiteKind]) -> bool:
    """Whether no two sites lie at the same bytes, whatever room they are given."""
    return len(kinds) == 1 or (
        not _share_places(kinds) and all(len(others) == len(kinds) - 1 for others in alive_at_once(kinds))
    )


def _is_just_enough(site: SiteAllocs, needed: Array, nest: Nest, known: Facts) -> bool:
    """Whether the room that a plan makes for a site is shown to be just what is needed, in each of the iterations that
    have an arena. It is a bound over the loops in them, which is found here from no more than a plan knows."""
    if is_stored_by_blocks(site.alloc):
        return False
    inner = known.also(*(c for loop in site.loops for c in (loop.range.min <= loop.variable, loop.step >= 1)))
    size: Number = site.alloc.dtype.itemsize
    for i in site.alloc.box:
        extent = i.max - i.min + 1
        for loop in reversed(site.loops):
            extent = bounds(extent, {loop.variable: loop.range}, inner).max
        size = size * greatest(nest.value(extent), 0)
    room = np.asarray(dense(size))
    runs = reduce(np.logical_and, nest.masks, np.array(True))
    shape = np.broadcast_shapes(room.shape, needed.shape, runs.shape)
    require_few(shape)
    return bool(((room == needed) | ~runs).all())


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
    return all(isinstance(q.denominator, Constant) for q in quotients(e))
