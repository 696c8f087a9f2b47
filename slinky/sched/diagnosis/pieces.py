"""Rules about pieces: so small that calls dominate, too few for the workers, or too cheap for them."""

from __future__ import annotations

from collections.abc import Iterator

import slinky as sl
from slinky.sched.diagnosis.evidence import TASKS_PER_WORKER, Evidence, Rule, Spot, Step, in_bytes, powers, step

MANY_CALLS = 64
"""Fewer calls take no time that anybody would notice."""

SMALL_PIECE = 4096
"""Bytes that a call reads and writes, on average: to move them takes less time than the call itself, about 1 µs."""

GOOD_PIECE = 16 * SMALL_PIECE
"""Bytes at which the call itself is a few percent."""

WORTH_SHARING = 1 << 20
"""Bytes that a loop moves: with less, it is over before another worker has begun."""

STARTING = 1 << 14
"""Bytes of a task: to hand out one takes as long as to move that many."""


def small_pieces(known: Evidence) -> Iterator[Spot]:
    """Pieces so small that calls dominate."""
    for loop, calls in known.loops_of_calls():
        work = known.moved(calls)
        moved = work.bytes_read + work.bytes_written
        if work.calls < MANY_CALLS * len(calls) or moved >= SMALL_PIECE * work.calls:
            continue
        stride, piece = known.stride(loop), max(moved // work.calls, 1)
        longest = stride * GOOD_PIECE // piece
        steps: list[Step] = [step(sl.absorb_loop, loop)]
        steps += [step(sl.resize_pieces, loop, longer) for longer in reversed(powers(2 * stride, longest))]
        figure = f"{work.calls} calls of {in_bytes(piece)} each, on average, in loop {loop.name()}"
        yield Spot("pieces too small", loop, loop.name(), figure, work.calls * SMALL_PIECE, steps)


def few_tasks(known: Evidence) -> Iterator[Spot]:
    """Too few tasks for the workers."""
    for loop, workers in _parallel(known):
        tasks, moved = known.trips(loop), _moved_in(known, loop)
        if workers < 2 or not 1 <= tasks < TASKS_PER_WORKER * workers or moved < WORTH_SHARING:
            continue
        stride = known.stride(loop)
        shorter = stride * tasks // (TASKS_PER_WORKER * workers)
        steps: list[Step] = [step(sl.resize_pieces, loop, size) for size in reversed(powers(1, shorter))]
        figure = f"loop {loop.name()} has {tasks} tasks for {workers} workers"
        yield Spot("too few tasks", loop, loop.name(), figure, moved // workers, steps)


def starved(known: Evidence) -> Iterator[Spot]:
    """A parallel loop whose tasks are cheaper than handing them out, or that runs on one worker."""
    for loop, workers in _parallel(known):
        tasks, moved = known.trips(loop), _moved_in(known, loop)
        entered = _entered(known, loop)
        if tasks < 1 or (workers > 1 and moved >= STARTING * tasks * entered):
            continue
        serial = step(sl.serialize_loop, loop)
        outer = [o for o in sl.enclosing_loops(known.p, loop) if o.workers() is None]
        steps: list[Step] = [sl.seq(serial, step(sl.parallelize_loop, o)) for o in outer if known.trips(o) > 1]
        each = in_bytes(moved // (tasks * entered))
        figure = f"the {tasks} tasks of loop {loop.name()} move {each} each, on {workers} workers"
        yield Spot("starved", loop, loop.name(), figure, STARTING * tasks * entered, [*steps, serial])


def _parallel(known: Evidence) -> Iterator[tuple[sl.LoopCursor, int]]:
    """The parallel loops, with the workers that they ask for."""
    for loop in known.loops:
        if loop.workers() is not None and loop.depth() is None:
            yield loop, known.workers_of(loop)


def _moved_in(known: Evidence, loop: sl.LoopCursor) -> int:
    """The bytes that the calls in a loop read and write, in all."""
    work = known.moved(tuple(loop.find_all("_ = _")))
    return work.bytes_read + work.bytes_written


def _entered(known: Evidence, loop: sl.LoopCursor) -> int:
    """How often a loop is entered."""
    entered = 1
    for around in sl.enclosing_loops(known.p, loop):
        entered *= max(known.trips(around), 1)
    return entered


PIECE_RULES: tuple[Rule, ...] = (small_pieces, few_tasks, starved)
