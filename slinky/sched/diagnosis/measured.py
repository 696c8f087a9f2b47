"""Rules about what only a run tells: how long callbacks take, on pieces of several sizes, and beside each other.

A few timed runs are made, of the pipeline and of neighbours with longer and shorter pieces; of each, the shortest time
of each func counts, for whatever else the machine does only adds; where it does much else, nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from time import perf_counter, process_time
from typing import TypeAlias

import attrs

import slinky as sl
from slinky.sched.diagnosis.evidence import Evidence, Spot, step

RUNS = 3
"""How often a pipeline is timed."""

TIMES_AS_LONG = (4, 2)
"""How many times as long, and as short, as they are pieces are tried."""

SLOWER = 1.25
"""So many times as long as with other pieces must callbacks take: less may be noise."""

WAITING = 0.9
"""If callbacks on w workers take this many times w times as long as on one, they ran one after the other."""

QUIET = 0.9
"""Of the time of a run, the share in which the process was at work: less, and others were, so the run says nothing."""

SHORTEST = 1e-3
"""Seconds: what takes less in all is neither measured well, nor worth it."""


@attrs.frozen
class Measured:
    """Seconds of each func. `resized`: by the name of a loop and the length of its pieces, `serial`: with a parallel
    loop, by its name, made serial."""

    seconds: Mapping[str, float]
    resized: Mapping[tuple[str, int], Mapping[str, float]] = attrs.field(factory=dict)
    serial: Mapping[str, Mapping[str, float]] = attrs.field(factory=dict)


MeasuredRule: TypeAlias = Callable[[Evidence, Measured], Iterator[Spot]]


def measure(known: Evidence) -> Measured | None:
    """Time the pipeline and its neighbours; None if it takes no time, or the machine has something else to do."""
    seconds = _timed(known, known.p)
    if sum(seconds.values()) < SHORTEST:
        return None
    resized: dict[tuple[str, int], Mapping[str, float]] = {}
    for loop, _ in known.loops_of_calls():
        for length in _lengths(known.stride(loop)):
            q = sl.attempt(step(sl.resize_pieces, loop, length))(known.p)
            times = {} if q is known.p else _timed(known, q)
            if times:
                resized[loop.name(), length] = times
    serial: dict[str, Mapping[str, float]] = {}
    for loop in known.loops:
        if loop.workers() is not None:
            q = sl.attempt(step(sl.serialize_loop, loop))(known.p)
            times = {} if q is known.p else _timed(known, q)
            if times:
                serial[loop.name()] = times
    return Measured(seconds, resized, serial)


def _lengths(stride: int) -> list[int]:
    return [stride // n for n in TIMES_AS_LONG if stride >= n] + [stride * n for n in TIMES_AS_LONG]


def _timed(known: Evidence, p: sl.Pipeline) -> dict[str, float]:
    """The least seconds of each func in a few runs; nothing if the machine had something else to do."""
    least: dict[str, float] = {}
    for _ in range(RUNS):
        began, worked = perf_counter(), process_time()
        statistics = p.run(*known.arguments, threads=known.threads, timed=True, **known.scalars)
        if not _is_quiet(perf_counter() - began, process_time() - worked):
            continue
        for func, seconds in (statistics.seconds or {}).items():
            least[func] = min(seconds, least.get(func, seconds))
    return least


def _is_quiet(seconds: float, at_work: float) -> bool:
    return at_work >= QUIET * seconds


def slow_pieces(known: Evidence, measured: Measured) -> Iterator[Spot]:
    """Callbacks that are slow on pieces of this size: longer or shorter ones take less time for the same elements."""
    for loop, calls in known.loops_of_calls():
        own = {call.func() for call in calls}
        now = sum(measured.seconds[func] for func in own)
        others = {n: times for (name, n), times in measured.resized.items() if name == loop.name()}
        if not others or now < SHORTEST:
            continue
        best, times = min(others.items(), key=lambda item: sum(item[1][func] for func in own))
        then = sum(times[func] for func in own)
        if now < SLOWER * then:
            continue
        slowest = max(own, key=lambda func: measured.seconds[func] - times[func])
        call = next(call for call in calls if call.func() == slowest)
        per_element = [1e9 * t[slowest] / max(known.work(call).elements, 1) for t in (measured.seconds, times)]
        figure = (
            f"{slowest} takes {per_element[0]:.2g} ns per element on pieces of {known.stride(loop)}, "
            f"{per_element[1]:.2g} on pieces of {best}"
        )
        yield Spot("slow on such pieces", call, slowest, figure, 0, [step(sl.resize_pieces, loop, best)])


def holds_the_lock(known: Evidence, measured: Measured) -> Iterator[Spot]:
    """Callbacks that hold the lock of the interpreter: on several workers, one waits for the other."""
    for loop in known.loops:
        alone = measured.serial.get(loop.name())
        if alone is None:
            continue
        asked = loop.workers()
        workers = min(asked if isinstance(asked, int) and asked else known.workers, max(known.trips(loop), 1))
        own = {call.func() for call in loop.find_all("_ = _")}
        now, then = (sum(times[func] for func in own) for times in (measured.seconds, alone))
        if workers < 2 or now < SHORTEST or now < WAITING * workers * then:
            continue
        slowest = max(own, key=lambda func: measured.seconds[func] - alone[func])
        figure = (
            f"callbacks take {1000 * now:.3g} ms on {workers} workers, and {1000 * then:.3g} ms on one: "
            f"{slowest} seems to hold the lock"
        )
        yield Spot("holds the lock", loop, loop.name(), figure, 0, [step(sl.serialize_loop, loop)])


MEASURED_RULES: tuple[MeasuredRule, ...] = (slow_pieces, holds_the_lock)
