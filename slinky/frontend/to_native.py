"""From the Python plan of a schedule to its native one, while the program runs.

Idea. A schedule runs by its Python plan at first. When that has taken about as long as a compiler would, a native
plan is made in the background (`slinky.native.background`), and runs from the next call on. So what runs seldom starts
no compiler; what has run for so long is likely to run as long again; and compiling never costs much more than running.
What is best for NumPy's loops is not best for those of C, which compute in one what NumPy does in several, and some
filters: so another schedule is made for these, in the background, too.

Invariants: a call waits for nothing. Results are the same before and after, in every bit: of what C computes otherwise
than NumPy, by a unit in the last place, nothing moves (`ExactPlan`).
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from slinky.errors import CompilationError, CompilationFailedWarning
from slinky.frontend.places import user_frame
from slinky.ir.telling import question, told
from slinky.kept_answers import Answers, is_on
from slinky.pipeline import Pipeline

PATIENCE = 0.25
"""So many seconds a schedule runs by its Python plan before its native one is made: about what that takes, with gcc
for ten operations."""

SWITCH = "SLINKY_NATIVE"
"""The environment variable that says `0` where no compiler is to be started unasked."""


class Runs(Protocol):
    """What runs a schedule: a plan, or what chooses one."""

    @property
    def enter(self) -> Callable[[Sequence[object], dict[str, Any]], Any]:
        """Runs on arrays, inputs then outputs, and scalars by name."""


def may_move() -> bool:
    """Whether functions may start compilers by themselves."""
    return os.environ.get(SWITCH) != "0"


class _Progress:
    """How far a schedule is: the seconds that it has run by its Python plan, whether elements of an array lay apart
    there, and who makes the native one. It is the same for all traces that come to the same pipeline, and lives as long
    as that: it does not keep it alive."""

    def __init__(self) -> None:
        self.spent = 0.0
        self.is_apart = False
        self.job: Any = None


_progress: WeakKeyDictionary[Pipeline, _Progress] = WeakKeyDictionary()


class Moving:
    """What runs by NumPy's loops until there is C for it."""

    def enter(self, arrays: Sequence[Any], scalars: dict[str, Any]) -> Any:
        """Run by the plans that there are."""
        raise NotImplementedError

    def took(self, seconds: float) -> None:
        """A call took so long without its plan."""
        raise NotImplementedError

    @property
    def moves(self) -> list[Move]:
        """The schedules of it that are on their way."""
        raise NotImplementedError


class Move(Moving):
    """A schedule on its way to a native plan: that of another pipeline, for the same arrays and scalars, which
    `in_loops` gives for C, or of its own where that gives None. Where nobody has made the schedule, `pipeline` is None,
    and `by_numpy` gives it when it is wanted, by a call or in the background; None where its trace is gone. `settle` is
    told what runs in the end. Where there is no C for it, it `stays` with its Python plan, or the function is called as
    it is: that is None."""

    def __init__(
        self,
        pipeline: Pipeline | None,
        by_numpy: Callable[[], Pipeline | None],
        in_loops: Callable[[Pipeline], Pipeline | None],
        title: str,
        settle: Callable[[Runs | None], None],
        *,
        stays: bool,
    ) -> None:
        self.stays = stays
        self._pipeline = pipeline
        self._by_numpy = by_numpy
        self._in_loops = in_loops
        self._title = title
        self._settle = settle
        self._progress = _Progress() if pipeline is None else _progress.setdefault(pipeline, _Progress())
        self._python: Runs | None = None
        self._native: Runs | None = None
        self._is_settled = False

    def enter(self, arrays: Sequence[Any], scalars: dict[str, Any]) -> Any:
        """Run by the plan that there is."""
        progress = self._progress
        if progress.job is not None:
            return self._found().enter(arrays, scalars)
        plan = self._python_plan()
        progress.is_apart = progress.is_apart or any(map(_lies_apart, arrays))
        began = perf_counter()
        result = plan.enter(arrays, scalars)
        self.took(perf_counter() - began)
        return result

    def took(self, seconds: float) -> None:
        """A call took so long, by the Python plan, or without a plan."""
        progress = self._progress
        if progress.job is not None:
            self._look()
            return
        progress.spent += seconds
        if progress.spent >= PATIENCE:
            self.begin()

    def begin(self) -> bool:
        """Have the native plan made, if it is not yet; whether somebody does, or has done."""
        progress = self._progress
        if progress.job is None or progress.job.is_lost:
            from slinky.native.background import BACKGROUND

            pipeline, by_numpy, in_loops = self._pipeline, self._by_numpy, self._in_loops
            is_apart = progress.is_apart
            progress.spent = 0.0
            progress.job = BACKGROUND.take(lambda: _native_plan(pipeline or by_numpy(), in_loops, is_apart=is_apart))
        return progress.job is not None

    def wait(self, seconds: float | None) -> bool:
        """Have the native plan made, and wait until it is; whether it is."""
        while not self._is_settled:
            if not self.begin() or not self._progress.job.wait(seconds):
                return False
            self._look()
        return True

    @property
    def moves(self) -> list[Move]:
        """Itself."""
        return [self]

    @property
    def is_under_way(self) -> bool:
        """Whether the native plan is being made."""
        return self._progress.job is not None

    def _python_plan(self) -> Runs:
        """The plan that runs until there is another one."""
        if self._python is None:
            self._pipeline = self._pipeline or self._by_numpy()
            assert self._pipeline is not None  # whoever enters it has its trace
            self._python = self._pipeline.compile()
        return self._python

    def _found(self) -> Runs:
        """What runs now."""
        self._look()
        return self._native or self._python_plan()

    def _look(self) -> None:
        """See whether the native plan is there, or will never be."""
        job = self._progress.job
        if self._is_settled or job is None or not job.is_done:
            return
        if job.is_lost:  # this is a forked child, in which nobody compiles it
            self._progress.job = None
            return
        self._native, self._is_settled = job.result, True
        self._settle(job.result or (self._python_plan() if self.stays else None))
        error, job.error = job.error, None
        if error is not None:
            warnings.warn(
                f"{self._title} stays with NumPy's loops: {error}",
                CompilationFailedWarning,
                stacklevel=user_frame()[1] + 1,
            )


_ANSWERS = Answers("moves")
_IS_IN_C, _IS_NOT = b"1", b"0"


def _asked(scheduled: Pipeline) -> bytes | None:
    """What to ask of a schedule: whether it has moved to C before, in some process. What is told of callbacks is as
    much as matters for that."""
    return question(scheduled.program, [], lambda thing: told(thing) or type(thing).__name__) if is_on() else None


def moved_before(scheduled: Pipeline, in_loops: Callable[[Pipeline], Pipeline | None]) -> tuple[bool, Any]:
    """Whether it is known, from some process before, what becomes of a schedule in C, and its native plan: None where C
    does nothing. It is not known where a compiler would have to do anything."""
    asked = _asked(scheduled)
    found = None if asked is None else _ANSWERS.find(asked)
    if found != _IS_IN_C:
        return found is not None, None
    from slinky.native.compiling import waiting_for_none

    try:
        with waiting_for_none():
            return True, _native_plan(scheduled, in_loops, is_apart=False)
    except CompilationError:
        return False, None


def native_state(plan: Runs | None) -> str | None:
    """How far a schedule is on its way to C, in words; None if it has not set out."""
    if isinstance(plan, Move):
        return "C is being compiled" if plan.is_under_way else f"moves to C when it has run for {PATIENCE} s"
    return "runs in C as far as that is known" if getattr(plan, "runs_c", False) else None


def _lies_apart(array: Any) -> bool:
    """Whether elements of an array do not follow each other along its last dimension."""
    return isinstance(array, np.ndarray) and array.shape[-1:] > (1,) and array.strides[-1] != array.itemsize


def _native_plan(by_numpy: Pipeline | None, in_loops: Callable[[Pipeline], Pipeline | None], *, is_apart: bool) -> Any:
    """The native plan of a schedule, or of the one for loops, ready to run, also on arrays that lie `apart`, if it is
    to be; None if C does nothing in it. Raises `CompilationError`."""
    if by_numpy is None:
        return None
    from slinky.native.compiling import compiler

    plan = _exact_plan(in_loops(by_numpy) or by_numpy)
    if compiler() is not None and (asked := _asked(by_numpy)) is not None:
        _ANSWERS.keep(asked, _IS_NOT if plan is None else _IS_IN_C)
    if plan is not None and is_apart:
        with contextlib.suppress(CompilationError):  # what fails is tried again where such arrays come, and said then
            plan.make_second()
    return plan


def _exact_plan(pipeline: Pipeline) -> Any:
    """The native plan of a pipeline; None if C does nothing in it."""
    from slinky.native.plans import has_exact_code

    if not has_exact_code(pipeline.program):
        return None
    plan: Any = pipeline.compile(backend="native-exact")
    return plan if plan.runs_c else None
