"""How long each func of a run took, by a clock that the callbacks themselves turn."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from scheduled import by_rows, stencil

import slinky as sl
from slinky.runtime import statistics


class Clock:
    """The time of each thread, which passes only where a callback says so."""

    def __init__(self) -> None:
        self._local = threading.local()
        self.asked = 0

    def __call__(self) -> float:
        self.asked += 1
        return getattr(self._local, "now", 0.0)

    def pass_(self, seconds: float) -> None:
        """Let time pass on this thread."""
        self._local.now = getattr(self._local, "now", 0.0) + seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of timed runs."""
    clock = Clock()
    monkeypatch.setattr(statistics, "perf_counter", clock)
    return clock


def two_stages(clock: Clock, **parallel: Any) -> sl.Pipeline:
    """`half` takes a second a call and `whole` four, by rows; loops of `whole` are parallel if that is said."""

    def half(source: Any, target: Any) -> None:
        clock.pass_(1)
        np.floor_divide(source, 2, out=target)

    def whole(source: Any, target: Any) -> None:
        clock.pass_(4)
        np.multiply(source, 2, out=target)

    y, x = sl.variables("y x")
    inp, between, out = (sl.BufferExpr(name, np.int32, 2) for name in ("inp", "between", "out"))
    sl.Func(half, [inp[y, x]], [between[y, x]])
    sl.Func(whole, [between[y, x]], [out[y, x]])
    p = sl.split_loop(sl.build_pipeline([inp], [out]), "whole.y", 1)
    p = sl.compute_at(p, "half", "for y")
    return sl.parallelize_loop(p, "for y", 2) if parallel else p


ARRAYS = np.ones((6, 4), np.int32), np.zeros((6, 4), np.int32)


@pytest.mark.parametrize("backend", ["python", "interpreter"])
@pytest.mark.parametrize("parallel", [{}, {"workers": 2}], ids=["serial", "parallel"])
def test_the_seconds_of_all_calls_are_added_up(clock: Clock, backend: str, parallel: dict[str, int]) -> None:
    p = two_stages(clock, **parallel)
    stats = p.run(*ARRAYS, backend=backend, timed=True, threads=2)
    assert stats.calls == {"half": 6, "whole": 6}
    assert stats.seconds == {"half": 6.0, "whole": 24.0}


@pytest.mark.parametrize("backend", ["python", "interpreter"])
def test_what_hooks_take_is_not_counted(clock: Clock, backend: str) -> None:
    hooks = sl.Hooks(call_begin=lambda *_: clock.pass_(100), call_end=lambda *_: clock.pass_(1000))
    stats = two_stages(clock).run(*ARRAYS, backend=backend, timed=True, hooks=hooks)
    assert stats.seconds == {"half": 6.0, "whole": 24.0}


@pytest.mark.parametrize("backend", ["python", "interpreter"])
def test_nobody_looks_at_a_clock_in_a_run_that_is_not_timed(clock: Clock, backend: str) -> None:
    p = two_stages(clock)
    stats = p.run(*ARRAYS, backend=backend)
    p(*ARRAYS)
    assert stats.seconds is None
    assert clock.asked == 0
    assert stats == p.run(*ARRAYS, backend=backend, timed=True)


def test_a_func_that_has_nothing_to_do_takes_no_time(clock: Clock) -> None:
    empty = np.ones((0, 4), np.int32), np.zeros((0, 4), np.int32)
    assert two_stages(clock).run(*empty, timed=True).seconds == {"half": 0.0, "whole": 0.0}


def test_a_bound_pipeline_tells_its_seconds_and_runs_as_before(clock: Clock) -> None:
    source, target = (a.copy() for a in ARRAYS)
    run = two_stages(clock).bind(source, target)
    stats = run.run(timed=True)
    assert stats.seconds == {"half": 6.0, "whole": 24.0}
    assert stats.outputs[0] is target
    assert run.run().seconds is None
    source[...] = 7
    assert run() is target
    assert (target == 6).all()


def test_real_time_passes() -> None:
    p, _, _ = by_rows(stencil())
    stats = p.run(np.ones((9, 9), np.int16), sl.Buffer(np.zeros((7, 7), np.int16), (1, 1)), timed=True)
    assert stats.seconds is not None
    assert set(stats.seconds) == {"add", "stencil"}
    assert all(seconds > 0 for seconds in stats.seconds.values())


def test_what_is_neither_true_nor_false_is_refused() -> None:
    p, _, _ = by_rows(stencil())
    with pytest.raises(sl.ArgumentError, match="timed must be True or False, got 'yes'"):
        p.run(np.ones((9, 9), np.int16), np.zeros((7, 7), np.int16), timed="yes")
