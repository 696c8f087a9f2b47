"""Why is an automatic schedule as it is? What it says of each call, of time and memory, and of what else was tried.

Idea. What was decided is noted while a schedule is made, and put into words, or counted, when somebody reads it: to
look for an example of a refusal, or to count what a run takes, takes longer than many a step. An explanation is
kept beside its pipeline for as long as that lives.

Invariant: what was said once is said again. Nothing is decided here, and nothing knows how schedules are made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import attrs
import numpy as np

import slinky as sl
from slinky.runtime.estimates import Estimate
from slinky.sched.machines import Machine

Why: TypeAlias = object
"""Why something is not otherwise: text, or what is put into words when somebody reads it."""


@attrs.frozen
class Decision:
    """What became of a call: where it is computed, what is held of its results, and why it is not otherwise."""

    func: str
    computed: str
    stored: str
    _reason: Why = attrs.field(eq=str, repr=str)

    @property
    def reason(self) -> str:
        """Why it is not otherwise."""
        return str(self._reason)


@attrs.frozen
class _Refused:
    """Why a step was not taken, put into words when somebody reads them: to look for an example takes longer than to
    refuse."""

    what: str
    refusal: Exception

    def __str__(self) -> str:
        return f"{self.what}: {str(getattr(self.refusal, 'reason', '') or self.refusal).splitlines()[0]}"

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


def why_refused(what: str, refusal: Exception) -> Why:
    """What to say of a refusal, which is kept without the frames that it came through, and those it came in."""
    refusal.__context__ = refusal.__cause__ = None
    return _Refused(what, refusal.with_traceback(None))


@attrs.frozen
class Candidate:
    """A schedule that `tune` tries, and how long each run took, in seconds.

    By how many workers, and what the model was told of calls and caches, as factors of what the machine has; or strips
    of so many `rows`, as `sl.strips` makes them; or the program as it was, which is not scheduled. `failed` is what a
    callback raised in it.
    """

    workers: int = 1
    call_factor: float = 1.0
    cache_factor: float = 1.0
    is_scheduled: bool = True
    rows: int | None = None
    seconds: tuple[float, ...] = ()
    failed: str = ""

    @property
    def median(self) -> float:
        """The median of its runs; of none, and of a schedule that failed, more than any."""
        return float(np.median(self.seconds)) if self.seconds and not self.failed else float("inf")

    def __str__(self) -> str:
        workers = "1 worker" if self.workers == 1 else f"{self.workers} workers"
        if not self.is_scheduled:
            told = "not scheduled"
        elif self.rows is not None:
            told = f"strips of {self.rows}, {workers}"
        else:
            told = f"calls x {self.call_factor:g}, caches x {self.cache_factor:g}, {workers}"
        if self.failed:
            return f"failed: {told}: {self.failed}"
        return f"{seconds_text(self.median)} in {len(self.seconds)} runs: {told}"


def _digits(count: ProgramBytes | int) -> str:
    return str(int(count))


class ProgramBytes:
    """What the intermediates of a program take in a run, counted when somebody asks: to count that takes a tenth of the
    time in which a schedule is found. It says then what it said before, and holds the program no more."""

    def __init__(self, counts: Callable[[], Estimate]) -> None:
        self._counts: Callable[[], Estimate] | None = counts
        self._count = 0

    def __int__(self) -> int:
        if self._counts is not None:
            self._count, self._counts = self._counts().program_bytes, None
        return self._count

    def __reduce__(self) -> tuple[Any, ...]:
        return int, (int(self),)


@attrs.frozen
class Explanation:
    """How a schedule was found: the machine that it is for, what it takes by the model, and what became of each call.

    `seconds` and `unscheduled_seconds` are what the model says of the schedule and of the program as it was, not a
    number where `tune` took strips of which it says nothing;
    `program_bytes` and `unscheduled_bytes` are what their intermediates take. It prints as a table.
    """

    machine: Machine
    workers: int
    seconds: float
    unscheduled_seconds: float
    _program_bytes: ProgramBytes | int = attrs.field(eq=int, repr=_digits)
    _unscheduled_bytes: ProgramBytes | int = attrs.field(eq=int, repr=_digits)
    decisions: tuple[Decision, ...]
    measured: tuple[Candidate, ...] = ()
    """What `tune` has measured, the fastest first."""
    backend: str = "python"
    """The back end that it is for."""

    @property
    def program_bytes(self) -> int:
        """What the intermediates of the schedule take."""
        return int(self._program_bytes)

    @property
    def unscheduled_bytes(self) -> int:
        """What those of the program as it was take."""
        return int(self._unscheduled_bytes)

    def __str__(self) -> str:
        workers = "1 worker" if self.workers == 1 else f"{self.workers} workers"
        workers += "" if self.backend == "python" else f", back end {self.backend}"
        predicted, unscheduled = (
            "" if math.isnan(seconds) else f"{seconds_text(seconds)} and "
            for seconds in (self.seconds, self.unscheduled_seconds)
        )
        head = (
            f"predicted for {workers}: {predicted}{self.program_bytes} bytes of intermediates; "
            f"not scheduled {unscheduled}{self.unscheduled_bytes} bytes"
        )
        rows = [
            ("func", "computed", "stored", "because"),
            *((d.func, d.computed, d.stored, d.reason) for d in self.decisions),
        ]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        lines = ["  ".join([*(row[k].ljust(widths[k]) for k in range(3)), row[3]]).rstrip() for row in rows]
        return "\n".join([head, *lines, *map(str, self.measured)])


_EXPLANATIONS: WeakKeyDictionary[sl.Pipeline, Explanation] = WeakKeyDictionary()


def explained(p: sl.Pipeline, explanation: Explanation) -> sl.Pipeline:
    """The pipeline, of which `explain` says that from now on."""
    _EXPLANATIONS[p] = explanation
    return p


def explain(p: sl.Pipeline) -> Explanation:
    """Why a schedule of `auto_schedule` is as it is: for each func where it is computed, what is held, and the reason.

    Of the pipeline that `auto_schedule` returned, in the process that made it. Raises `OperationError` for any other.
    """
    if not isinstance(p, sl.Pipeline):
        raise sl.OperationError(f"explain: expected a Pipeline, got {type(p).__name__}")
    found = _EXPLANATIONS.get(p)
    if found is None and isinstance(p, sl.AutoPipeline):
        raise sl.OperationError(
            f"explain: {p!r} has a schedule for each range of sizes; sl.explain(p.scheduled_for(*arrays)) explains the "
            "one for arrays like these, or of these shapes"
        )
    if found is None:
        raise sl.OperationError(
            f"explain: {p!r} is not what auto_schedule returned in this process; p.history() has the steps that made it"
        )
    return found


def seconds_text(value: float) -> str:
    """A time with three digits and its unit."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"
