"""Rules about memory that is held for nothing, or held where it is slow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import slinky as sl
from slinky.sched.diagnosis.evidence import PAGE, Evidence, Rule, Spot, Step, in_bytes, is_repeated, powers, step

WORTH_FOLDING = 2
"""So many times as large as its fold must a buffer be: a ring is made of pages, and costs a little in each call."""

LOOSE = 1.1
"""So many times as large as it need be may a fold be: to round it up, for the sake of alignment, is no fault."""

PER_ALLOCATION = 2048
"""Bytes that are moved in the time of an allocation, about 0.2 µs."""

NOTICED = 50
"""An allocation is no matter if all of its kind take less than one part in so many of what is moved anyway."""

SPILLING = 32
"""So many times the cache of a core may the pieces of a loop take: about as much as the cache that cores share has. The
schedules that measured best, of the benchmarks' applications too, go up to 25 times."""

SHARE_OF_CACHE = 2
"""One part in so many of the cache is for intermediates; inputs, outputs, and whoever else runs there need the rest."""


def unfolded(known: Evidence) -> Iterator[Spot]:
    """A buffer that is held in full, though a few rows of it are needed at a time."""
    for alloc in known.allocs:
        if not known.asks_about(alloc.name()):
            continue
        size = known.buffer(alloc).bytes
        users = (*sl.producers(known.p, alloc), *sl.consumers(known.p, alloc))
        loop = sl.common_loop(known.p, *users) if users else sl.InvalidCursor()
        if size < PAGE or _is_folded(alloc) or not loop:
            continue
        steps: list[Step] = [sl.seq(*_slides(known, alloc), step(sl.fold_storage, alloc, dim)) for dim in alloc.dims()]
        steps.append(step(sl.store_at, alloc, loop))  # iterations of parallel loops share no fold
        for change in steps:
            least = _size_after(known, alloc, change)
            if least is not None and least * WORTH_FOLDING <= size:
                figure = f"{alloc.name()} takes {in_bytes(size)}, of which {in_bytes(least)} are needed at a time"
                yield Spot("not folded", alloc, alloc.name(), figure, size - least, [change])
                break


def _slides(known: Evidence, alloc: sl.AllocCursor) -> Iterator[Step]:
    """What must come before a buffer is folded: a fold that is made for windows that do not slide lets none slide."""
    for call in sl.producers(known.p, alloc):
        loop = sl.common_loop(known.p, call, *sl.consumers(known.p, alloc))
        if is_repeated(known.work(call)) and isinstance(loop, sl.LoopCursor):
            yield sl.attempt(step(sl.slide_window, call, loop))


def loose_fold(known: Evidence) -> Iterator[Spot]:
    """A fold that is larger than needed."""
    for alloc in known.allocs:
        if not known.asks_about(alloc.name()):
            continue
        size = known.buffer(alloc).bytes
        for dim, fold in zip(alloc.dims(), alloc.storage(), strict=True):
            if fold is None:
                continue
            tighten = sl.seq(step(sl.unfold_storage, alloc, dim), step(sl.fold_storage, alloc, dim))
            after = known.after(tighten)
            if after.p is known.p or after.p.forward(alloc).storage() == alloc.storage():
                continue
            least = after.buffer(after.p.forward(alloc)).bytes
            if size > LOOSE * least:
                figure = f"{alloc.name()} keeps {in_bytes(size)} of {dim}, of which {in_bytes(least)} are needed"
                yield Spot("fold too large", alloc, alloc.name(), figure, size - least, [tighten])


def spills(known: Evidence) -> Iterator[Spot]:
    """An intermediate that is larger than the cache: what reads it finds it in memory, not where it was written."""
    for alloc in known.allocs:
        if not known.asks_about(alloc.name()):
            continue
        size = known.buffer(alloc).bytes
        producers, readers = sl.producers(known.p, alloc), sl.consumers(known.p, alloc)
        if size <= known.cache_bytes or not producers or not readers:
            continue
        if not sl.common_loop(known.p, *producers, *readers):
            figure = f"{alloc.name()} takes {in_bytes(size)}, and the cache {in_bytes(known.cache_bytes)}"
            steps = chain(_into_loops(known, producers, readers), _strips(known, readers))
            yield Spot("larger than the cache", alloc, alloc.name(), figure, 2 * size, steps)


def _into_loops(
    known: Evidence, producers: tuple[sl.CallCursor, ...], readers: tuple[sl.CallCursor, ...]
) -> Iterator[Step]:
    """Compute what is read in a loop in it, too."""
    loop = sl.common_loop(known.p, *readers)
    while isinstance(loop, sl.LoopCursor):
        yield sl.seq(*[step(_computed_in, call, loop) for call in reversed(producers)])
        loop = sl.common_loop(known.p, loop.parent()) if loop.parent() else sl.InvalidCursor()


def _computed_in(p: sl.Pipeline, call: sl.CallCursor, loop: sl.LoopCursor) -> sl.Pipeline:
    """A call in a loop, only what is new, and no more kept than is needed."""
    p = sl.attempt(step(sl.slide_window, call, loop))(sl.compute_at(p, call, loop))
    for alloc in p.find_all("alloc _"):
        if alloc.name() in call.outputs():
            for dim in alloc.dims():
                p = sl.attempt(step(sl.fold_storage, alloc, dim))(p)
            if not _is_folded(p.forward(alloc)):
                p = sl.attempt(step(sl.store_at, alloc, loop))(p)
    return p


def _strips(known: Evidence, readers: tuple[sl.CallCursor, ...]) -> Iterator[Step]:
    """Everything that leads to a reader, or to who reads that, in one loop over strips that fit into the cache."""
    last = dict.fromkeys(readers)
    for call in (waiting := [*last]):  # grows on the way
        new = [reader for reader in known.consumers(call) if reader not in last]
        last.update(dict.fromkeys(new))
        waiting += new
    held = sum(known.buffer(alloc).bytes for alloc in known.allocs)
    for consumer in reversed(last):
        for dim in consumer.dims():
            extent = known.value(dim.bounds().max - dim.bounds().min + 1, consumer)
            if extent is not None and extent > 1:
                rows = max(known.cache_bytes // SHARE_OF_CACHE * extent // max(held, 1), 1)
                for fewer in reversed(powers(1, rows)[-4:]):
                    yield step(sl.line_buffer, consumer, dim.name(), fewer)


def large_pieces(known: Evidence) -> Iterator[Spot]:
    """Pieces so large that they leave the cache before they are read."""
    for loop, calls in known.loops_of_calls():
        names = {name for call in calls for name in call.outputs()}
        own = [alloc for alloc in known.allocs if alloc.name() in names]
        size = max(known.estimate.peaks[call.func()] for call in calls)
        if size > SPILLING * known.cache_bytes and all(loop.is_ancestor_of(a) or _is_folded(a) for a in own):
            stride = known.stride(loop)
            fits = max(stride * known.cache_bytes // (SHARE_OF_CACHE * size), 1)
            steps: list[Step] = [step(sl.resize_pieces, loop, fewer) for fewer in reversed(powers(1, fits)[-4:])]
            steps += [
                step(sl.line_buffer, calls[-1], dim.name(), fewer)
                for dim in calls[-1].dims()
                for fewer in reversed(powers(1, fits)[-4:])
            ]
            figure = (
                f"what is held in an iteration of {loop.name()}, {in_bytes(size)}, leaves the cache, "
                f"{in_bytes(known.cache_bytes)}"
            )
            wasted = size * known.trips(loop)
            yield Spot("pieces too large", loop, loop.name(), figure, wasted, steps)


def allocations(known: Evidence) -> Iterator[Spot]:
    """Small allocations in hot loops."""
    moved = known.estimate.total.bytes_read + known.estimate.total.bytes_written
    for alloc in known.allocs:
        buffer, loops = known.buffer(alloc), sl.enclosing_loops(known.p, alloc)
        wasted = buffer.times * PER_ALLOCATION
        if wasted * NOTICED < moved or not loops:
            continue
        steps: list[Step] = []
        for levels in range(len(loops), 0, -1):
            steps += [
                sl.seq(step(sl.lift_alloc, alloc, levels), step(sl.fold_storage, alloc, dim)) for dim in alloc.dims()
            ]
            steps.append(step(sl.lift_alloc, alloc, levels))
        figure = f"{alloc.name()}, {in_bytes(buffer.bytes)}, is allocated {buffer.times} times"
        yield Spot("allocated in a hot loop", alloc, alloc.name(), figure, wasted, steps)


def _is_folded(alloc: sl.AllocCursor) -> bool:
    return any(fold is not None for fold in alloc.storage())


def _size_after(known: Evidence, alloc: sl.AllocCursor, change: Step) -> int | None:
    """How many bytes a buffer takes after a step; None where that is refused."""
    after = known.after(change)
    return None if after.p is known.p else after.buffer(after.p.forward(alloc)).bytes


MEMORY_RULES: tuple[Rule, ...] = (unfolded, loose_fold, spills, large_pieces, allocations)
