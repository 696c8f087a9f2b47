"""What `tune` tries: schedules under other assumptions, strips of so many rows, and neighbours of the best so far.

The model of `auto_schedule` knows nothing of what a callback does. Told of machines with faster or slower calls and
larger or smaller caches, and of one worker or several, it gives higher and lower strips, larger and smaller groups.
Strips of so many rows for the whole program are what people write by hand. What is near the fastest one so far comes
before what is not, so where time is short it goes where it is worth most.

Invariant: the same answers of `best` give the same candidates in the same order, each once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs

import slinky as sl
from slinky.sched.automatic import auto_schedule, in_strips
from slinky.sched.explaining import Candidate, explained
from slinky.sched.machines import Machine

_FACTORS = (1.0, 1 / 4, 4.0, 16.0)
_LARGER_CACHES = (1.0, 4.0, 1 / 4)
"""What the model is told of calls and caches, as factors of what the machine has: nearest first."""

_LEAST_FACTOR, _LARGEST_FACTOR = 4.0**-3, 4.0**4
_FIRST_ROWS, _MOST_ROWS = 16, 1 << 14


def candidates(most: int, best: Callable[[], Candidate | None], *, as_it_was: bool) -> Iterator[Candidate]:
    """What to try, for up to so many workers: what the model says, the program as it was, strips; then neighbours of
    the best so far, and when there are none left, all that is usual.

    `best` is asked before each step.
    """
    usual = _usual(most)
    tried: set[Candidate] = set()

    def fresh(given: Iterator[Candidate]) -> Candidate | None:
        return next((each for each in given if each not in tried), None)

    first = [
        Candidate(most),
        *([Candidate(is_scheduled=False)] if as_it_was else []),
        Candidate(most, rows=_FIRST_ROWS),
    ]
    while True:
        found = best()
        step = fresh(iter(first))
        step = step or (None if found is None else fresh(_neighbours(found, most))) or fresh(usual)
        if step is None:
            return
        tried.add(step)
        yield step


def _usual(most: int) -> Iterator[Candidate]:
    """All that is tried if there is time."""
    for caches in _LARGER_CACHES:
        for calls in _FACTORS:
            for workers in dict.fromkeys((most, 1)):
                yield Candidate(workers, calls, caches)
    for rows in (4, 64):
        for workers in dict.fromkeys((most, 1)):
            yield Candidate(workers, rows=rows)


def _neighbours(found: Candidate, most: int) -> Iterator[Candidate]:
    """What differs in one thing."""
    told = attrs.evolve(found, seconds=())
    if not told.is_scheduled:
        yield from (Candidate(1, 16.0), Candidate(1, rows=64))
        return
    if told.rows is not None:
        for rows in (2 * told.rows, told.rows // 2, 3 * told.rows // 2, 3 * told.rows // 4):
            if 1 <= rows <= _MOST_ROWS:
                yield attrs.evolve(told, rows=rows)
    else:
        for field in ("call_factor", "cache_factor"):
            for factor in (4.0, 1 / 4):
                value = getattr(told, field) * factor
                if _LEAST_FACTOR <= value <= _LARGEST_FACTOR:
                    yield attrs.evolve(told, **{field: value})
    for workers in dict.fromkeys((most, 1)):
        yield attrs.evolve(told, workers=workers)


# ----------------------------------------------------------------------------------------------------------------
# Made
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class Maker:
    """Makes schedules of a pipeline for arrays."""

    pipeline: sl.Pipeline
    arrays: tuple[object, ...]
    scalars: dict[str, Any]
    max_bytes: int | None
    machine: Machine

    def made(self, candidate: Candidate) -> sl.Pipeline:
        """The schedule of a candidate, explained. Raises `SchedulingError` where it takes more than `max_bytes`."""
        if candidate.rows is not None:
            return self._strips(candidate.rows, candidate.workers)
        calls = self.machine.call_seconds if candidate.is_scheduled else 1e9  # then nothing is worth being cut
        machine = attrs.evolve(
            self.machine,
            call_seconds=calls * candidate.call_factor,
            near_bytes=max(int(self.machine.near_bytes * candidate.cache_factor), 1),
            shared_bytes=max(int(self.machine.shared_bytes * candidate.cache_factor), 1),
        )
        scheduled: sl.Pipeline = auto_schedule(
            self.pipeline,
            *self.arrays,
            max_bytes=self.max_bytes,
            workers=candidate.workers,
            machine=machine,
            **self.scalars,
        )
        return scheduled

    def _strips(self, rows: int, workers: int) -> sl.Pipeline:
        """Strips of so many rows of the whole program."""
        found, told = in_strips(self.pipeline, rows, workers, self.machine, self.arrays, self.scalars)
        if self.max_bytes is not None and told.program_bytes > self.max_bytes:
            raise sl.SchedulingError(f"strips of {rows} take {told.program_bytes} bytes, more than {self.max_bytes}")
        return explained(found, told)
