"""Rules about what only a run tells: how long callbacks take, on pieces of several sizes, beside each other, on lines
that lie across memory.

A few timed runs are made, of the pipeline and of neighbours: with longer and shorter pieces, with parallel loops made
serial, with copies of what is read turned. Of each, the shortest time of each func counts, for whatever else the
machine does only adds; where it does much else, nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from time import perf_counter, process_time
from typing import TypeAlias

import attrs
import numpy as np

import slinky as sl
from slinky.sched.diagnosis.evidence import Evidence, Spot, Step, step
from slinky.sched.diagnosis.turned import Turned, steps_for, turned_reads

RUNS = 3
"""How often a pipeline is timed."""

TIMES_AS_LONG = (4, 2)
"""How many times as long, and as short, as they are pieces are tried."""

SLOWER = 1.25
"""So many times as long as with other pieces must callbacks take: less may be noise."""

WAITING = 0.9
"""If callbacks on w workers take this many times w times as long as on one, they ran one after the other."""

OWN_THREADS = 1.3
"""So many processors at work in a serial run, and callbacks have threads of their own: less may be other threads."""

NO_FASTER = 0.95
"""On several workers a run takes at least so many times as long as on one: then these gain nothing."""

QUIET = 0.9
"""Of the time of a run, the share in which the process was at work: less, and others were, so the run says nothing."""

SHORTEST = 1e-3
"""Seconds: what takes less in all is neither measured well, nor worth it."""


@attrs.frozen
class Timing:
    """The least seconds of each func in a few runs, of a whole run, and how many processors were at work in that."""

    seconds: Mapping[str, float] = attrs.field(factory=dict)
    whole: float = 0.0
    processors: float = 1.0


Change: TypeAlias = tuple[Step, Mapping[str, float]]
"""A step, and the seconds of each func after it."""


@attrs.frozen
class Measured:
    """Seconds of each func. `resized`: by the name of a loop and the length of its pieces, `serial`: with a parallel
    loop, by its name, made serial; `alone`: all that was timed of that, where no other loop is parallel; `turned`: what
    was done about calls that read lines across memory, and seconds then."""

    seconds: Mapping[str, float]
    resized: Mapping[tuple[str, int], Mapping[str, float]] = attrs.field(factory=dict)
    serial: Mapping[str, Mapping[str, float]] = attrs.field(factory=dict)
    whole: float = 0.0
    alone: Mapping[str, Timing] = attrs.field(factory=dict)
    turned: Mapping[Turned, Sequence[Change]] = attrs.field(factory=dict)


MeasuredRule: TypeAlias = Callable[[Evidence, Measured], Iterator[Spot]]


def measure(known: Evidence) -> Measured | None:
    """Time the pipeline and its neighbours; None if it takes no time, or the machine has something else to do."""
    timing = _timed(known, known.p)
    if sum(timing.seconds.values()) < SHORTEST:
        return None
    resized: dict[tuple[str, int], Mapping[str, float]] = {}
    for loop, _ in known.loops_of_calls():
        for length in _lengths(known.stride(loop)):
            times = _timed_after(known, step(sl.resize_pieces, loop, length))
            if times.seconds:
                resized[loop.name(), length] = times.seconds
    alone: dict[str, Timing] = {}
    for loop in known.loops:
        if loop.workers() is not None:
            times = _timed_after(known, step(sl.serialize_loop, loop))
            if times.seconds:
                alone[loop.name()] = times
    serial = {name: times.seconds for name, times in alone.items()}
    if sum(loop.workers() is not None for loop in known.loops) > 1:
        alone = {}
    return Measured(timing.seconds, resized, serial, timing.whole, alone, dict(_turned(known)))


def _turned(known: Evidence) -> Iterator[tuple[Turned, Sequence[Change]]]:
    """What can be done about each call that reads lines across memory, and what it takes then; the best first."""
    for read in turned_reads(known):
        found: list[Change] = []
        for each in steps_for(known, read):
            times = _timed_after(known, each)
            found += [(each, times.seconds)] if times.seconds else []
        if found:
            yield read, sorted(found, key=lambda change: sum(change[1].values()))


def _lengths(stride: int) -> list[int]:
    return [stride // n for n in TIMES_AS_LONG if stride >= n] + [stride * n for n in TIMES_AS_LONG]


def _timed_after(known: Evidence, change: Step) -> Timing:
    """What is timed after a step; nothing where that is refused."""
    q = sl.attempt(change)(known.p)
    return Timing() if q is known.p else _timed(known, q)


def _timed(known: Evidence, p: sl.Pipeline) -> Timing:
    """What a few runs take at the least; nothing if the machine had something else to do."""
    least: dict[str, float] = {}
    whole, processors = inf, inf
    for _ in range(RUNS):
        began, worked = perf_counter(), process_time()
        statistics = p.run(*known.arguments, threads=known.threads, timed=True, **known.scalars)
        took, at_work = perf_counter() - began, process_time() - worked
        if not _is_quiet(took, at_work):
            continue
        whole, processors = min(whole, took), min(processors, at_work / took if took else inf)
        for func, seconds in (statistics.seconds or {}).items():
            least[func] = min(seconds, least.get(func, seconds))
    return Timing(least, whole, processors)


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
        if workers < 2 or now < SHORTEST or now < WAITING * workers * then or _has_own_threads(measured, loop):
            continue
        slowest = max(own, key=lambda func: measured.seconds[func] - alone[func])
        figure = (
            f"callbacks take {1000 * now:.3g} ms on {workers} workers, and {1000 * then:.3g} ms on one: "
            f"{slowest} seems to hold the lock"
        )
        yield Spot("holds the lock", loop, loop.name(), figure, 0, [step(sl.serialize_loop, loop)])


def own_threads(known: Evidence, measured: Measured) -> Iterator[Spot]:
    """Callbacks with threads of their own, such as matrix products, inside of a parallel loop: there are more threads
    than processors, and they wait for each other."""
    for loop in known.loops:
        alone, workers = measured.alone.get(loop.name()), known.workers_of(loop)
        if alone is None or workers < 2 or measured.whole < SHORTEST or not _has_own_threads(measured, loop):
            continue
        if measured.whole < NO_FASTER * alone.whole:
            continue
        figure = (
            f"a run takes {1000 * measured.whole:.3g} ms on {workers} workers, and {1000 * alone.whole:.3g} ms on one, "
            f"where callbacks compute on {alone.processors:.1f} processors at once: they have threads of their own; "
            f"with {_switch()}=1, set before NumPy is imported, each worker has one"
        )
        yield Spot("threads in threads", loop, loop.name(), figure, 0, [step(sl.serialize_loop, loop)])


def _has_own_threads(measured: Measured, loop: sl.LoopCursor) -> bool:
    """Whether callbacks compute on several processors at once where one worker runs them."""
    alone = measured.alone.get(loop.name())
    return alone is not None and alone.processors >= OWN_THREADS


def _switch() -> str:
    """The environment variable that says how many threads NumPy's matrix products have."""
    try:
        name = str(np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]).lower()
    except (TypeError, KeyError):  # an older NumPy, or one without
        name = ""
    known = {"openblas": "OPENBLAS_NUM_THREADS", "mkl": "MKL_NUM_THREADS", "accelerate": "VECLIB_MAXIMUM_THREADS"}
    return next((switch for part, switch in known.items() if part in name), "OMP_NUM_THREADS")


def across_lines(known: Evidence, measured: Measured) -> Iterator[Spot]:
    """Callbacks that read a buffer turned, because the copy that turned it is not made: neighbours in what they are
    given lie far apart in memory."""
    for read, changes in measured.turned.items():
        func = read.call.func()
        now = measured.seconds[func]
        new = [times[func] + sum(times[n] for n in times.keys() - measured.seconds.keys()) for _, times in changes]
        good = [step for (step, _), then in zip(changes, new, strict=True) if now >= SLOWER * then]
        if now < SHORTEST or not good:
            continue
        then = min(new)
        figure = (
            f"{func} takes {1000 * now:.3g} ms on {read.buffer}, whose lines lie across its own, and {1000 * then:.3g} "
            f"ms with a copy that is turned; build_pipeline(alias=False) makes the copies that were described"
        )
        yield Spot("reads across lines", read.call, f"{func} {read.buffer}", figure, 0, good)


MEASURED_RULES: tuple[MeasuredRule, ...] = (slow_pieces, holds_the_lock, own_threads, across_lines)
