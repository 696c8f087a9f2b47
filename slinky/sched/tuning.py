"""Schedules measured on the arrays they are for: the best of those that the model finds good under other assumptions.

The model of `auto_schedule` knows nothing of what a callback does. `tune` lets it decide for machines with faster or
slower calls and larger or smaller caches, and by one worker or several: that gives the neighbours of its schedule, with
higher and lower strips, larger and smaller groups. Half of the time goes into finding and running them once; in the
other half they run in turns, so that whatever else the machine does hits all of them, and those that fall behind leave.
The program as it was is always one of them.

Invariant: what is returned ran on the arrays, and no other one that did had a smaller median when the time was over.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import attrs

import slinky as sl
from slinky.errors import MissingExtraError
from slinky.sched.automatic import Candidate, Explanation, auto_schedule, explain, explained
from slinky.sched.machines import Machine, replace_json, this_machine

_FASTER_CALLS = (1.0, 1 / 4, 4.0, 16.0)
_LARGER_CACHES = (1.0, 4.0, 1 / 4)
"""What the model is told of calls and caches, as factors of what the machine has: nearest first."""

_BEHIND = 1.5
"""How much slower than the best one a candidate may be and stay."""

_FEWEST = 3
"""How many candidates are looked at in any case: what the model says, the program as it was, and a third one."""


def tune(
    p: sl.Pipeline,
    /,
    *arrays: object,
    budget_s: float = 5.0,
    max_bytes: int | None = None,
    workers: int | None = None,
    machine: Machine | None = None,
    cache: str | PathLike[str] | None = None,
    progress: bool = False,
    **scalars: Any,
) -> sl.Pipeline:
    """The fastest of several schedules of a pipeline, measured on these arrays for about so many seconds.

    The outputs that are given are written by each run. `sl.explain` of what comes back has the table of what was
    measured beside what the model says.

    Parameters:
        budget_s: how long it may take, in seconds; three candidates run at least three times, whatever that takes.
        max_bytes, workers, machine: as for `auto_schedule`; candidates with fewer workers are tried, too.
        cache: a file that keeps what was chosen, by program, sizes and machine: the next process takes it from there
            and measures nothing. The file is made if it is not there.
        progress: show a bar (needs the extra `progress`).

    Raises what `auto_schedule` raises, what a run raises, and `OperationError` for a file that is not such a cache.
    """
    given: object = budget_s
    if isinstance(given, bool) or not isinstance(given, int | float) or not given >= 0:
        raise sl.OperationError(f"tune: budget_s must be a number of seconds, 0 or more, got {given!r}")
    machine = this_machine() if machine is None else machine
    most = machine.cores if workers is None else workers
    options = {"max_bytes": max_bytes, "machine": machine}
    key = _key(p, arrays, scalars, machine, most, max_bytes)
    kept = None if cache is None else _kept(Path(cache)).get(key)
    if kept is not None:
        return _made(p, arrays, scalars, options, *kept)
    bar = _bar(progress, budget_s)
    found = _candidates(p, arrays, scalars, options, most)
    runs = _measured(found, lambda q: q(*arrays, **scalars), budget_s, bar)
    best = min(runs, key=lambda run: run.candidate.median)
    if cache is not None:
        told = best.candidate
        _keep(Path(cache), key, (told.workers, told.call_factor, told.cache_factor, told.is_scheduled))
    measured = tuple(sorted((run.candidate for run in runs), key=lambda candidate: candidate.median))
    return explained(best.pipeline, attrs.evolve(best.explanation, measured=measured))


# ----------------------------------------------------------------------------------------------------------------
# Candidates
# ----------------------------------------------------------------------------------------------------------------


@attrs.define
class _Runs:
    """A candidate, and the pipeline that runs."""

    pipeline: sl.Pipeline
    explanation: Explanation
    candidate: Candidate

    def run(self, once: Callable[[sl.Pipeline], object]) -> None:
        start = time.perf_counter()
        once(self.pipeline)
        seconds = time.perf_counter() - start
        self.candidate = attrs.evolve(self.candidate, seconds=(*self.candidate.seconds, seconds))


def _candidates(
    p: sl.Pipeline, arrays: tuple[object, ...], scalars: dict[str, Any], options: dict[str, Any], most: int
) -> Iterator[tuple[sl.Pipeline, Explanation, Candidate]]:
    """All that the model finds good under some assumption, each program once, the likeliest first."""
    seen: set[str] = set()
    told = [(w, calls, caches) for caches in _LARGER_CACHES for calls in _FASTER_CALLS for w in {most: 0, 1: 0}]
    as_it_was = [] if options["max_bytes"] is not None else [(1, 1.0, 1.0, False)]
    for each in ((*told[0], True), *as_it_was, *((*rest, True) for rest in told[1:])):
        found = _made(p, arrays, scalars, options, *each)
        text = str(found)
        if text not in seen:
            seen.add(text)
            yield found, explain(found), Candidate(*each, ())


def _made(
    p: sl.Pipeline,
    arrays: tuple[object, ...],
    scalars: dict[str, Any],
    options: dict[str, Any],
    workers: int,
    calls: float,
    caches: float,
    is_scheduled: bool,
) -> sl.Pipeline:
    """What the model schedules if it is told that; or the pipeline as it was."""
    machine: Machine = options["machine"]
    if not is_scheduled:  # calls that cost a second: nothing is worth being cut
        machine = attrs.evolve(machine, call_seconds=1e9)
    machine = attrs.evolve(
        machine,
        call_seconds=machine.call_seconds * calls,
        near_bytes=max(int(machine.near_bytes * caches), 1),
        shared_bytes=max(int(machine.shared_bytes * caches), 1),
    )
    found: sl.Pipeline = auto_schedule(
        p, *arrays, max_bytes=options["max_bytes"], workers=workers, machine=machine, **scalars
    )
    return found


# ----------------------------------------------------------------------------------------------------------------
# Measuring
# ----------------------------------------------------------------------------------------------------------------


def _measured(
    found: Iterator[tuple[sl.Pipeline, Explanation, Candidate]],
    once: Callable[[sl.Pipeline], object],
    budget_s: float,
    bar: Callable[..., None],
) -> list[_Runs]:
    """All that are found in half of the time, run in turns until it is over; those that fall behind leave."""
    begin = time.perf_counter()

    def gone() -> float:
        seconds = time.perf_counter() - begin
        bar(min(seconds, budget_s))
        return seconds

    runs: list[_Runs] = []
    for each in found:
        runs.append(_Runs(*each))
        once(runs[-1].pipeline)  # makes the plan, and the memory that it keeps
        runs[-1].run(once)
        if len(runs) >= _FEWEST and gone() > budget_s / 2:
            break
    running, rounds = runs, 1
    while rounds < 3 or (gone() < budget_s and len(running) > 1):
        least = min(run.candidate.median for run in running)
        running = [run for run in running if run.candidate.median <= _BEHIND * least]
        for run in running:
            run.run(once)
            gone()
        rounds += 1
    bar(budget_s, close=True)
    return runs


def _bar(progress: bool, budget_s: float) -> Callable[..., None]:
    """What moves a bar to so many seconds; nothing where none is wanted. Raises `MissingExtraError` without tqdm."""
    if not progress:
        return lambda seconds, close=False: None
    try:
        from tqdm import tqdm
    except ImportError:
        raise MissingExtraError("progress=True", "progress", "tqdm") from None
    shown: Any = tqdm(total=round(budget_s, 1), desc="tune", unit=" s")

    def move(seconds: float, close: bool = False) -> None:
        shown.update(max(round(seconds, 1) - shown.n, 0))
        if close:
            shown.close()

    return move


# ----------------------------------------------------------------------------------------------------------------
# Keeping
# ----------------------------------------------------------------------------------------------------------------


def _key(
    p: sl.Pipeline,
    arrays: tuple[object, ...],
    scalars: dict[str, Any],
    machine: Machine,
    workers: int,
    most: int | None,
) -> str:
    """What tells this program, these sizes and this machine from others."""
    sizes = [a if isinstance(a, tuple) else getattr(a, "shape", None) for a in arrays]
    bounds = [getattr(a, "min", None) if isinstance(a, sl.Buffer) else None for a in arrays]
    numbers = sorted((name, value) for name, value in scalars.items() if isinstance(value, int | float))
    words = (str(p), sizes, bounds, numbers, attrs.astuple(machine), workers, most)
    return hashlib.sha256(repr(words).encode()).hexdigest()


def _kept(path: Path) -> dict[str, tuple[int, float, float, bool]]:
    """What a file keeps. Raises `OperationError` where it keeps something else."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return {}
    try:
        found = {key: _told(*value) for key, value in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise sl.OperationError(f"tune: {path} does not hold what tune has kept: {error}") from None
    return found


def _told(workers: Any, calls: Any, caches: Any, is_scheduled: Any) -> tuple[int, float, float, bool]:
    """What the model was told. Raises `ValueError` for anything else."""
    numbers = (workers, calls, caches)
    if not all(isinstance(n, int | float) and n > 0 for n in numbers) or not isinstance(is_scheduled, bool):
        raise ValueError(f"expected three numbers above 0 and a boolean, got {(*numbers, is_scheduled)}")
    return int(workers), float(calls), float(caches), is_scheduled


def _keep(path: Path, key: str, told: tuple[int, float, float, bool]) -> None:
    """Add to the file."""
    replace_json(path, {**_kept(path), key: told})
