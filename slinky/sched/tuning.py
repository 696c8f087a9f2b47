"""Schedules measured on the arrays they are for: the fastest of those that are tried.

What is tried, and in which order, `candidates` says. Half of the time goes into finding and running them once; in the
other half they run in turns, so that whatever else the machine does hits all of them, and those that fall behind leave.
The program as it was is always one of them. All of them write to outputs made for that, so those of the user are as
they were whatever happens, and a schedule in which a callback fails is out of the race.

Invariant: what is returned ran on the arrays, and no other one that did had a smaller median when the time was over.
"""

from __future__ import annotations

import hashlib
import json
import operator
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, SupportsIndex, TypeAlias

import attrs
import numpy as np

import slinky as sl
from slinky.errors import MissingExtraError, cited
from slinky.ir.given import as_float, is_flag
from slinky.kept import as_path, replace_json
from slinky.sched.candidates import Maker, candidates
from slinky.sched.explaining import Candidate, explain, explained, seconds_text
from slinky.sched.machines import Machine, this_machine
from slinky.sched.options import require_options
from slinky.symbolic.expressions import is_integer

_BEHIND = 1.5
"""How much slower than the best one a candidate may be and stay."""

_HOPELESS = 3
"""How many times as long as the best one the first run of a candidate may take, plan and all, to be given another."""

_FEWEST = 3
"""How many candidates are looked at in any case: what the model says, the program as it was, and strips."""

_ROUNDS = 3
"""How often those that do not fall behind run in any case."""

clock: Callable[[], float] = time.perf_counter
"""What tells the time, in seconds."""


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

    Tried are what the model finds good under several assumptions, strips of so many rows (`sl.strips`), the program as
    it was, and what is near the best of these. Outputs that are given are not touched: runs write to others like them.
    `sl.explain` of what comes back has the table of what was measured beside what the model says.

    Ctrl-C ends it early: what is fastest so far is returned, with a `TuningWarning`, and is not kept in the file. A
    schedule in which a callback raises is left out, and the table says what was raised.

    Parameters:
        budget_s: how long it may take, in seconds; three candidates run at least three times, whatever that takes.
        max_bytes, workers, machine: as for `auto_schedule`; candidates with fewer workers are tried, too.
        cache: a file that keeps what was chosen, by program, sizes and machine: the next process takes it from there
            and measures nothing. The file is made if it is not there.
        progress: show a bar (needs the extra `progress`).

    Raises what `auto_schedule` raises, what a callback raises in each of the first schedules, and `OperationError` for
    a file that is not such a cache, or cannot be written: before anything is measured.
    """
    budget = as_float(budget_s)
    if budget is None or not budget >= 0:
        raise sl.OperationError(f"tune: budget_s must be a number of seconds, 0 or more, got {cited(budget_s)}")
    if not is_flag(progress):
        raise sl.OperationError(f"tune: progress must be True or False, got {cited(progress)}")
    if not isinstance(p, sl.Pipeline):
        raise sl.OperationError(f"tune: the first argument must be a Pipeline, got {type(p).__name__}")
    require_options(max_bytes, workers, machine, "python", who="tune")
    file = None if cache is None else _file(cache)
    machine = this_machine() if machine is None else machine
    most = machine.cores if workers is None else int(workers)
    maker = Maker(p, arrays, scalars, max_bytes, machine)
    key = _key(maker, most)
    kept = None if file is None else _kept(file).get(key)
    if kept is not None:
        return maker.made(kept)
    if file is not None:
        _require_writable(file)
    own_arrays, own_scalars = _with_own_outputs(p, arrays, scalars)
    race = _Race(maker, lambda q: q(*own_arrays, **own_scalars), budget)
    with _bar(progress, budget) as race.show:
        was_interrupted = race.run(most)
    best = race.best
    assert best is not None
    if file is not None and not was_interrupted:
        _keep(file, key, best.candidate)
    table = sorted((run.candidate for run in race.runs), key=lambda candidate: candidate.median)
    return explained(best.pipeline, attrs.evolve(explain(best.pipeline), measured=tuple(table)))


# ----------------------------------------------------------------------------------------------------------------
# Outputs
# ----------------------------------------------------------------------------------------------------------------


def _with_own_outputs(
    p: sl.Pipeline, arrays: tuple[object, ...], scalars: dict[str, Any]
) -> tuple[tuple[object, ...], dict[str, Any]]:
    """The arguments with other arrays for the outputs that are given, by position or by name."""
    count = len(p.program.inputs)
    outputs = {output.name for output in p.program.outputs}
    named = {name: _like(value) if name in outputs else value for name, value in scalars.items()}
    return (*arrays[:count], *map(_like, arrays[count:])), named


def _like(given: object) -> object:
    """An array of memory of its own that lies in it as one that is given; that itself where it can be no output."""
    try:
        buffer = given if isinstance(given, sl.Buffer) else sl.Buffer(given)
        like = sl.Buffer.like(buffer)
    except sl.ArgumentError:
        return given
    array = buffer.array
    if not array.flags.writeable or 0 in array.strides:
        return given
    if like.array.strides == array.strides or array.size == 0:
        return like
    reach = [stride * (extent - 1) for stride, extent in zip(array.strides, array.shape, strict=True)]
    before = -sum(r for r in reach if r < 0)
    memory = np.empty(before + sum(r for r in reach if r > 0) + array.itemsize, np.uint8)
    return sl.Buffer(np.ndarray(array.shape, array.dtype, memory, before, array.strides), min=buffer.min)


# ----------------------------------------------------------------------------------------------------------------
# Measuring
# ----------------------------------------------------------------------------------------------------------------


@attrs.define
class _Runs:
    """A candidate, and the pipeline that runs."""

    pipeline: sl.Pipeline
    candidate: Candidate

    def run(self, once: Callable[[sl.Pipeline], object]) -> None:
        """Run, and take note of how long that took."""
        start = clock()
        once(self.pipeline)
        self.candidate = attrs.evolve(self.candidate, seconds=(*self.candidate.seconds, clock() - start))


Show: TypeAlias = Callable[[float, str], None]
"""Shows how many seconds have gone, and what is best so far."""


class _Race:
    """All that were tried so far, and how they run."""

    def __init__(self, maker: Maker, once: Callable[[sl.Pipeline], object], budget_s: float) -> None:
        self.maker = maker
        self.once = once
        self.budget_s = budget_s
        self.show: Show = _show_nothing
        self.runs: list[_Runs] = []
        self.errors: list[Exception] = []
        self._begin = clock()

    @property
    def best(self) -> _Runs | None:
        """The one with the least median so far."""
        found = min(self.runs, key=lambda run: run.candidate.median, default=None)
        return None if found is None or found.candidate.median == float("inf") else found

    def _best_candidate(self) -> Candidate | None:
        best = self.best
        return None if best is None else best.candidate

    def run(self, most: int) -> bool:
        """Try candidates, and let the good ones run in turns; whether that was interrupted.

        Raises the first error where nothing runs.
        """
        try:
            self._try_all(most)
            self._take_turns()
            self._tell(self.budget_s)  # there may be no use for the rest of the time
        except KeyboardInterrupt:
            if self.best is None:
                raise
            count = sum(bool(run.candidate.seconds) for run in self.runs)
            words = (
                f"tune: interrupted after {seconds_text(self._gone())}; keeps the fastest of {count} schedules so far"
            )
            warnings.warn(words, sl.TuningWarning, stacklevel=3)
            return True
        return False

    def _gone(self) -> float:
        """How many seconds have gone."""
        gone = clock() - self._begin
        self._tell(gone)
        return gone

    def _tell(self, gone: float) -> None:
        """That so many seconds have gone, and what is best."""
        best = self.best
        self.show(gone, "" if best is None else f"{seconds_text(best.candidate.median)}, of {len(self.runs)}")

    def _try_all(self, most: int) -> None:
        """Run each candidate once, until half of the time is over: each program once."""
        seen: set[str] = set()
        tried = candidates(most, self._best_candidate, as_it_was=self.maker.max_bytes is None)
        for candidate in tried:
            try:
                found = self.maker.made(candidate)
            except sl.REFUSALS as refusal:
                self.errors.append(refusal)
                continue
            text = str(found)
            if text in seen:
                continue
            seen.add(text)
            run = _Runs(found, candidate)
            self.runs.append(run)
            self._safely(run, self._first)
            if len(self.runs) >= _FEWEST:
                if self.best is None:
                    break
                if self._gone() > self.budget_s / 2:
                    break
        if self.best is None:
            raise self.errors[0]

    def _first(self, run: _Runs) -> None:
        """Run a candidate once that has its plan, and the memory that it keeps; not where making these says enough."""
        best, start = self.best, clock()
        self.once(run.pipeline)
        took = clock() - start
        if best is not None and took > _HOPELESS * best.candidate.median:
            run.candidate = attrs.evolve(run.candidate, seconds=(took,))
        else:
            run.run(self.once)

    def _take_turns(self) -> None:
        """Run those that do not fall behind in turns, until the time is over."""
        running, rounds = self.runs, 1
        while rounds < _ROUNDS or (self._gone() < self.budget_s and len(running) > 1):
            least = min(run.candidate.median for run in running)
            running = [run for run in running if run.candidate.median <= _BEHIND * least]
            for run in running:
                self._safely(run, lambda run: run.run(self.once))
                self._gone()
            rounds += 1

    def _safely(self, run: _Runs, action: Callable[[_Runs], object]) -> None:
        """Do something, unless it failed before; take note of what a callback raises."""
        if run.candidate.failed:
            return
        try:
            action(run)
        except sl.SlinkyError:
            raise  # what is wrong with the arguments is so for every schedule
        except Exception as error:
            self.errors.append(error)
            run.candidate = attrs.evolve(run.candidate, failed=f"{type(error).__name__}: {error}".splitlines()[0])


def _show_nothing(seconds: float, best: str) -> None:
    """Show nothing."""


@contextmanager
def _bar(progress: bool, budget_s: float) -> Iterator[Show]:
    """What moves a bar to so many seconds and says what is best; nothing where none is wanted.

    Raises `MissingExtraError` without tqdm.
    """
    if not progress:
        yield _show_nothing
        return
    try:
        from tqdm import tqdm
    except ImportError:
        raise MissingExtraError("progress=True", "progress", "tqdm") from None
    shown: Any
    with tqdm(total=round(budget_s, 1), desc="tune", unit=" s") as shown:

        def show(seconds: float, best: str) -> None:
            shown.set_postfix_str(f"best {best}" if best else "", refresh=False)
            shown.update(max(round(min(seconds, budget_s), 1) - shown.n, 0))

        yield show


# ----------------------------------------------------------------------------------------------------------------
# Keeping
# ----------------------------------------------------------------------------------------------------------------


def _key(maker: Maker, workers: int) -> str:
    """What tells this program, these sizes and this machine from others."""
    named = sorted(maker.scalars.items())
    sizes = [_size(value) for value in (*maker.arrays, *(value for _, value in named))]
    words = (str(maker.pipeline), sizes, [name for name, _ in named], attrs.astuple(maker.machine))
    return hashlib.sha256(cited((*words, workers, maker.max_bytes)).encode()).hexdigest()


def _size(given: object) -> object:
    """What matters of an argument: a number itself, of an array how long it is and where it begins."""
    if isinstance(given, SupportsIndex) and is_integer(given):
        return operator.index(given)
    if isinstance(given, float | tuple):
        return given
    lo = given.min if isinstance(given, sl.Buffer) else None
    return getattr(given, "shape", None), lo


_FIELDS = ("workers", "call_factor", "cache_factor", "is_scheduled", "rows")
"""What a file keeps of a candidate."""


def _kept(path: Path) -> dict[str, Candidate]:
    """What a file keeps. Raises `OperationError` where it keeps something else."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise sl.OperationError(f"tune: {path} cannot be read as what tune has kept: {error.strerror}") from None
    try:
        found = {key: _candidate(value) for key, value in _named_values(json.loads(data.decode())).items()}
    except (ValueError, TypeError) as error:
        raise sl.OperationError(f"tune: {path} does not hold what tune has kept: {error}") from None
    return found


def _candidate(value: Any) -> Candidate:
    """A candidate that was kept. Raises `ValueError` or `TypeError` for anything else."""
    if set(_named_values(value)) != set(_FIELDS):
        raise ValueError(f"expected {', '.join(_FIELDS)}, got {', '.join(value)}")
    counts, factors = (value["workers"], value["rows"] or 1), (value["call_factor"], value["cache_factor"])
    is_sound = isinstance(value["is_scheduled"], bool)
    is_sound &= all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in counts)
    is_sound &= all(isinstance(n, int | float) and not isinstance(n, bool) and n > 0 for n in factors)
    if not is_sound:
        raise ValueError(f"no schedule is made by {value}")
    return Candidate(**value)


def _named_values(found: Any) -> dict[str, Any]:
    """What was found, if it has names for its values. Raises `ValueError` for anything else."""
    if not isinstance(found, dict):
        raise ValueError(f"expected names and values, got {cited(found)}")
    return found


def _file(cache: object) -> Path:
    try:
        return as_path(cache)
    except TypeError as error:
        raise sl.OperationError(f"tune: cache must be the name of a file, got {cited(cache)}: {error}") from None


def _require_writable(path: Path) -> None:
    """Raise `OperationError` if no file can be made there. Its folder is made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise sl.OperationError(f"tune: {path} cannot be written: {error.strerror}") from None


def _keep(path: Path, key: str, chosen: Candidate) -> None:
    """Add to the file. Where that fails after all, a warning says so: what was chosen is not lost for it."""
    try:
        _add(path, key, chosen)
    except (OSError, sl.OperationError) as error:
        warnings.warn(f"tune: what was chosen is not kept in {path}: {error}", sl.TuningWarning, stacklevel=3)


def _add(path: Path, key: str, chosen: Candidate) -> None:
    told = {each: {name: getattr(c, name) for name in _FIELDS} for each, c in {**_kept(path), key: chosen}.items()}
    replace_json(path, told)
