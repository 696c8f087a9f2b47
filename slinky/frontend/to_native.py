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

import os
import warnings
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from slinky.errors import CompilationFailedWarning
from slinky.frontend.places import user_frame
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
    """How far a schedule is: the seconds that it has run by its Python plan, and who makes the native one. It is the
    same for all traces that come to the same pipeline, and lives as long as that: it does not keep it alive."""

    def __init__(self) -> None:
        self.spent = 0.0
        self.job: Any = None


_progress: WeakKeyDictionary[Pipeline, _Progress] = WeakKeyDictionary()


class Move:
    """A schedule on its way to a native plan: of another pipeline, for the same arrays and scalars, which is `made` for
    that, or of its own where that is None. `settle` is told what runs in the end, and whether that is C. Where there is
    no C for it, it `stays` with its Python plan, or the function is called as it is."""

    def __init__(
        self,
        pipeline: Pipeline,
        title: str,
        made: Callable[[], Pipeline | None],
        settle: Callable[[Runs, bool], None],
        *,
        stays: bool,
    ) -> None:
        self.stays = stays
        self._pipeline = pipeline
        self._made = made
        self._title = title
        self._settle = settle
        self._plan: Runs = pipeline.compile()
        self._progress = _progress.setdefault(pipeline, _Progress())
        self._settled: Runs | None = None

    def enter(self, arrays: Sequence[object], scalars: dict[str, Any]) -> Any:
        """Run by the plan that there is."""
        progress = self._progress
        if progress.job is not None:
            return self._found().enter(arrays, scalars)
        began = perf_counter()
        result = self._plan.enter(arrays, scalars)
        self.took(perf_counter() - began)
        return result

    def took(self, seconds: float) -> None:
        """A call took so long, by the Python plan, or without a plan."""
        progress = self._progress
        if progress.job is not None:
            self._found()
            return
        progress.spent += seconds
        if progress.spent >= PATIENCE:
            self.begin()

    def begin(self) -> bool:
        """Have the native plan made, if it is not yet; whether somebody does, or has done."""
        progress = self._progress
        if progress.job is None or progress.job.is_lost:
            from slinky.native.background import BACKGROUND

            pipeline, made = self._pipeline, self._made
            progress.spent = 0.0
            progress.job = BACKGROUND.take(lambda: _native_plan(made() or pipeline))
        return progress.job is not None

    def wait(self, seconds: float | None) -> bool:
        """Have the native plan made, and wait until it is; whether it is."""
        while self._settled is None:
            if not self.begin() or not self._progress.job.wait(seconds):
                return False
            self._found()
        return True

    @property
    def is_under_way(self) -> bool:
        """Whether the native plan is being made."""
        return self._progress.job is not None

    def _found(self) -> Runs:
        """What runs now."""
        job = self._progress.job
        if self._settled is not None:
            return self._settled
        if job is None or not job.is_done:
            return self._plan
        if job.is_lost:  # this is a forked child, in which nobody compiles it
            self._progress.job = None
            return self._plan
        self._settled = found = job.result or self._plan
        self._settle(found, job.result is not None)
        error, job.error = job.error, None
        if error is not None:
            warnings.warn(
                f"{self._title} stays with NumPy's loops: {error}",
                CompilationFailedWarning,
                stacklevel=user_frame()[1] + 1,
            )
        return found


def native_state(plan: Runs | None) -> str | None:
    """How far a schedule is on its way to C, in words; None if it has not set out."""
    if isinstance(plan, Move):
        return "C is being compiled" if plan.is_under_way else f"moves to C when it has run for {PATIENCE} s"
    return "runs in C as far as that is known" if getattr(plan, "runs_c", False) else None


def _native_plan(pipeline: Pipeline) -> Any:
    """The native plan of a schedule, ready to run; None if C does nothing in it. Raises `CompilationError`."""
    from slinky.native.plans import has_exact_code

    if not has_exact_code(pipeline.program):
        return None
    plan: Any = pipeline.compile(backend="native-exact")
    return plan if plan.runs_c else None
