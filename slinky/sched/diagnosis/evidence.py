"""What rules look at: a pipeline, what a run of it will count, and what of it is where.

Invariant: nothing here runs a callback.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import attrs

import slinky as sl
from slinky.cursors.history import steps_since
from slinky.ir.regions import parameter_box
from slinky.runtime.estimates import NEVER, Allocated, Estimate, Work
from slinky.runtime.stand_ins import values_of
from slinky.runtime.threads import workers_or_default
from slinky.symbolic import Expr, evaluate, symbols, variable
from slinky.symbolic.patience import Effort

Step: TypeAlias = Callable[[sl.Pipeline], sl.Pipeline]
"""What may mend something: it raises what a primitive raises where it is refused."""

USUAL_CACHE = 1 << 20
"""The bytes of a core's own cache where the system does not say: those of most cores of servers."""

REPEATED = 1.05
"""Elements computed per element needed: tiles that run in parallel share edges, and good ones compute 5 % more."""

TASKS_PER_WORKER = 2
"""With fewer tasks, all but one worker wait for the last of them for as long as it takes."""

PAGE = 4096
"""What memory is handed out by: less is not worth a line of a schedule."""

MOST_TRIED = 6_000_000
"""What all that is tried may take, as coefficients of inequalities that are looked at: a few seconds. Most diagnoses
take less than a tenth of that."""

PER_ESTIMATE = 50
"""What an estimate takes for each statement."""


def cache_size() -> int:
    """The bytes of the cache that a core has for itself."""
    try:
        return os.sysconf("SC_LEVEL2_CACHE_SIZE") or USUAL_CACHE
    except (AttributeError, ValueError, OSError):
        return USUAL_CACHE


@attrs.frozen
class Spot:
    """A place that a rule does not like.

    `subject` is what it is about, by name: two spots of one rule with the same subject mean the same. `steps` may mend
    it, the best first; they may be made as they are asked for, once.
    """

    rule: str
    place: sl.StatementCursor
    subject: str
    figure: str
    bytes_wasted: int
    steps: Iterable[Step]


class Trials:
    """How much may still be tried, in coefficients (see `symbolic.patience`), and whether something was not tried."""

    def __init__(self) -> None:
        self.left = MOST_TRIED
        self.gave_up = False

    def may_go_on(self) -> bool:
        """Whether one more step may be tried; that it may not is noted."""
        self.gave_up = self.gave_up or self.left <= 0
        return not self.gave_up


class Evidence:
    """A pipeline and arguments for it, and what follows from them, each found when a rule asks."""

    def __init__(
        self,
        p: sl.Pipeline,
        arguments: Sequence[object],
        scalars: Mapping[str, object],
        threads: int | None,
        cache_bytes: int,
    ) -> None:
        self.p = p
        self.arguments = arguments
        self.scalars: dict[str, Any] = dict(scalars)
        self.threads = threads
        self.cache_bytes = cache_bytes
        self.workers = workers_or_default(threads)
        self._origin = p
        self.subject: str | None = None
        """What alone is asked about, by name; None for all that there is."""
        self.trials = Trials()
        self._after: dict[Step, Evidence] = {}
        self._consumers: dict[sl.CallCursor, tuple[sl.CallCursor, ...]] = {}

    def about(self, subject: str) -> Evidence:
        """The same, of which a rule need look at one subject alone."""
        found = copy.copy(self)
        found.subject = subject
        return found

    def asks_about(self, subject: str) -> bool:
        """Whether a rule is to look at a subject: rules that try something for each of many ask."""
        return self.subject is None or self.subject == subject

    def after(self, step: Step) -> Evidence:
        """The same of what a step makes of the pipeline; of the pipeline itself where it is refused.

        Many spots are mended by the same steps: each is taken once. Where enough was tried, a step counts as refused.
        """
        found = self._after.get(step)
        if found is None:
            if not self.trials.may_go_on():
                return self
            with Effort() as effort:
                found = self.of(sl.attempt(step)(self.p))
            self.trials.left -= effort.cost(self._statements)
            found.trials = self.trials
            self._after[step] = found
        return found

    def of(self, p: sl.Pipeline) -> Evidence:
        """The same of another pipeline with the same parameters."""
        if p is self.p:
            return self
        found = Evidence(p, self.arguments, self.scalars, self.threads, self.cache_bytes)
        found._origin = self.p
        return found

    @cached_property
    def code(self) -> str:
        """What makes this pipeline of the one that it was looked at for."""
        return "\n".join(map(str, steps_since(self.p._version, self._origin._version)))

    def can_run(self) -> bool:
        """Whether the arguments are arrays, not shapes."""
        return not any(isinstance(given, tuple) for given in (*self.arguments, *self.scalars.values()))

    # Places ---------------------------------------------------------------------------------------------------------

    @cached_property
    def calls(self) -> tuple[sl.CallCursor, ...]:
        """All calls, in program order."""
        return self.p.find_all("_ = _")

    @cached_property
    def loops(self) -> tuple[sl.LoopCursor, ...]:
        """All loops, in program order."""
        return self.p.find_all("for _")

    @cached_property
    def allocs(self) -> tuple[sl.AllocCursor, ...]:
        """All allocations, in program order."""
        return self.p.find_all("alloc _")

    def loops_of_calls(self) -> Iterator[tuple[sl.LoopCursor, tuple[sl.CallCursor, ...]]]:
        """The loops that hold calls and no loops, with the calls."""
        for loop in self.loops:
            calls = tuple(loop.find_all("_ = _"))
            if calls and not any(loop.is_ancestor_of(inner) for inner in self.loops if inner != loop):
                yield loop, calls

    def consumers(self, call: sl.CallCursor) -> tuple[sl.CallCursor, ...]:
        """The calls that read what a call writes."""
        found = self._consumers.get(call)
        if found is None:
            found = self._consumers[call] = sl.consumers(self.p, call)
        return found

    @cached_property
    def _statements(self) -> int:
        return len(self.calls) + len(self.allocs) + len(self.loops)

    # Figures --------------------------------------------------------------------------------------------------------

    @cached_property
    def estimate(self) -> Estimate:
        """What a run of the pipeline counts."""
        self.trials.left -= PER_ESTIMATE * self._statements
        return self.p.estimate(*self.arguments, threads=self.threads, **self.scalars)

    def work(self, call: sl.CallCursor) -> Work:
        """What all calls of a func do, in all."""
        return self.estimate.funcs[call.func()]

    def buffer(self, alloc: sl.AllocCursor) -> Allocated:
        """How often a buffer is allocated, and how large it is."""
        return self.estimate.buffers.get(alloc.name(), NEVER)

    def moved(self, calls: Sequence[sl.CallCursor]) -> Work:
        """What calls do, in all."""
        return sum((self.estimate.funcs[name] for name in {call.func() for call in calls}), Work())

    @cached_property
    def _values(self) -> dict[Expr, int]:
        return values_of(self.p._completing(), self.arguments, self.scalars)

    def value(self, expr: Expr, place: sl.Cursor) -> int | None:
        """The value of an expression at a place, in the first iterations of the loops around; None if it has none."""
        values = dict(self._values)
        for loop in sl.enclosing_loops(self.p, place):
            first = loop.bounds().min
            if symbols(first) <= values.keys():
                values[variable(loop.name())] = evaluate(first, values)
        return evaluate(expr, values) if symbols(expr) <= values.keys() else None

    def elements_of(self, buffer: str) -> int:
        """How many elements a buffer holds, folds not considered."""
        for alloc in self.allocs:
            if alloc.name() == buffer:
                extents = [self.value(i.max - i.min + 1, alloc) for i in alloc.bounds()]
                return math.prod(max(extent or 0, 0) for extent in extents)
        rank = next(arg.rank() for arg in self.p.args() if arg.name() == buffer)
        return math.prod(evaluate(i.max - i.min + 1, self._values) for i in parameter_box(buffer, rank))

    def workers_of(self, loop: sl.LoopCursor) -> int:
        """How many threads a loop asks for."""
        workers = loop.workers()
        if workers is None:
            return 1
        number = workers if isinstance(workers, int) else self.value(workers, loop)
        return number or self.workers

    def trips(self, loop: sl.LoopCursor) -> int:
        """How many iterations a loop has, in the first iterations of those around it."""
        return self.value(sl.trip_count(self.p, loop), loop) or 0

    def stride(self, loop: sl.LoopCursor) -> int:
        """How far a loop moves at a time."""
        return self.value(loop.step(), loop) or 1


Rule: TypeAlias = Callable[[Evidence], Iterator[Spot]]


@attrs.frozen
class Applying:
    """An operation with its arguments, to be applied. Two with the same arguments are the same step."""

    operation: Callable[..., Any]
    arguments: tuple[object, ...]

    def __call__(self, p: sl.Pipeline) -> sl.Pipeline:
        result: sl.Pipeline = self.operation(p, *self.arguments)
        return result


def step(operation: Callable[..., Any], *arguments: object) -> Step:
    """An operation with its arguments, to be applied."""
    return Applying(operation, arguments)


def is_repeated(work: Work) -> bool:
    """Whether more is computed than there is."""
    return work.elements > REPEATED * work.needed


def percent(more: int, least: int) -> str:
    """By how much one number is more than another."""
    return f"{100 * (more - least) / max(least, 1):.0f} %"


def in_bytes(size: int) -> str:
    """A number of bytes, as people say it."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"


def powers(first: int, last: int) -> list[int]:
    """The powers of two from one number to another, at most."""
    return [1 << k for k in range(max(first, 1).bit_length() - 1, max(last, 1).bit_length()) if first <= 1 << k <= last]
