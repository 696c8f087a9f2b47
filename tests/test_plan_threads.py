"""The threads of plans: how many there are, loops that run on them, errors, and pipelines inside callbacks."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from planned import chain, in_pieces
from scheduled import picture
from scheduled import stencil as stencil_pipeline

import slinky as sl
from slinky.runtime import threads

# Threads --------------------------------------------------------------------------------------------------------------


def test_the_number_of_threads_is_the_setting_or_that_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLINKY_NUM_THREADS", raising=False)
    usual = threads.default_workers()
    monkeypatch.setenv("SLINKY_NUM_THREADS", "")
    assert threads.default_workers() == usual
    monkeypatch.setenv("SLINKY_NUM_THREADS", str(usual + 3))
    assert threads.default_workers() == usual + 3


@pytest.mark.parametrize("backend", ["python", "interpreter"])
@pytest.mark.parametrize("setting", ["0", "-2", "1.5", "many", "²", "٣"])
def test_a_setting_that_is_no_number_of_threads_is_refused(
    setting: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = sl.split_loop(stencil_pipeline(), "stencil.y", 4)
    p = sl.parallelize_loop(p, "for y")
    source, target = picture(9, 5, 1)
    monkeypatch.setenv("SLINKY_NUM_THREADS", setting)
    with pytest.raises(sl.ArgumentError, match="SLINKY_NUM_THREADS must be a positive integer, or not set, got"):
        p.run(source, target, backend=backend)
    assert not target.array.any()


@pytest.fixture
def four_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLINKY_NUM_THREADS", "4")


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("workers", [None, 1, 2, 8])
def test_many_threads_run_one_plan(workers: int | None) -> None:
    p = in_pieces(chain(np.negative, np.square, np.sqrt, np.negative), 4, 64, workers=workers)
    failures: list[str] = []

    def run(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(40):
            a = random.integers(0, 1000, int(random.integers(1, 700))).astype(float)
            out = np.full_like(a, 1)
            p(a, out)
            if (out != -a).any():
                failures.append(f"wrong for {len(a)} elements")

    running = [threading.Thread(target=run, args=(seed,)) for seed in range(8)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert failures == []


def assert_three_iterations_meet() -> None:
    """That three iterations of a loop on three threads are all there at one time."""
    meeting = threading.Barrier(3, timeout=20)

    def meet(source: np.ndarray, target: np.ndarray) -> None:
        meeting.wait()
        target[...] = source

    p = sl.parallelize_loop(*loop_of(sl.split_loop(chain(meet), "f0.i", 1)), 3)
    assert p(np.arange(3.0), np.zeros(3)).tolist() == [0, 1, 2]


@pytest.mark.usefixtures("four_threads")
def test_iterations_of_a_parallel_loop_overlap() -> None:
    assert_three_iterations_meet()


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()], ids=["threads", "memory"])
def test_a_loop_runs_on_the_threads_that_there_are(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Where the system gives none, on its own; when it gives some again, on those, too."""
    monkeypatch.setenv("SLINKY_NUM_THREADS", "4")
    monkeypatch.setattr(threads, "_pool", threads._Pool())
    p = sl.parallelize_loop(*loop_of(sl.split_loop(chain(np.negative), "f0.i", 1)), 3)
    asked: list[int] = []

    def refuse(_thread: threading.Thread) -> None:
        asked.append(1)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(5):
            assert p(np.arange(3.0), np.zeros(3)).tolist() == [0, -1, -2]
        assert len(asked) == 5
    assert_three_iterations_meet()


def loop_of(p: sl.Pipeline) -> tuple[sl.Pipeline, Any]:
    return p, p.find("for _")


@pytest.mark.usefixtures("four_threads")
def test_nested_parallel_loops_end() -> None:
    total = [0]
    lock = threading.Lock()
    names: set[str] = set()

    def innermost(_: int) -> None:
        with lock:
            total[0] += 1
            names.add(threading.current_thread().name)

    def nested(depth: int) -> Any:
        if depth == 0:
            return innermost
        return lambda _: threads.run_parallel(range(4), nested(depth - 1), 8)

    before = threading.active_count()
    nested(5)(0)
    assert total[0] == 4**5
    assert len(names) <= 4
    assert threading.active_count() - before <= 3


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_an_error_stops_the_others_and_is_raised_once(kind: type[BaseException]) -> None:
    started: list[int] = []
    running = [0]
    lock = threading.Lock()
    together = threading.Barrier(2, timeout=20)

    def work(source: np.ndarray, target: np.ndarray) -> None:
        with lock:
            started.append(int(source[0]))
            running[0] += 1
            position = len(started)
        try:
            if position <= 2:
                together.wait()
            if position == 1:
                raise kind("on purpose")
            time.sleep(0.001)
        finally:
            with lock:
                running[0] -= 1

    p = sl.parallelize_loop(*loop_of(sl.split_loop(chain(work), "f0.i", 1)), 2)
    with pytest.raises(kind, match="on purpose") as caught:
        p(np.arange(1000.0), np.zeros(1000))
    assert running == [0]
    assert len(started) < 1000
    assert caught.value.__notes__ == [f"in the call f0[{started[0]}] of pipeline f0"]
    together.reset()
    started[:] = [0, 0]
    p(np.arange(5.0), np.zeros(5))
    assert len(started) == 7


@pytest.mark.usefixtures("four_threads")
def test_helpers_run_in_the_context_of_the_caller() -> None:
    meeting = threading.Barrier(2, timeout=20)

    def divide(source: np.ndarray, target: np.ndarray) -> None:
        meeting.wait()
        np.divide(1, source, out=target)

    p = sl.parallelize_loop(*loop_of(sl.split_loop(chain(divide), "f0.i", 1)), 2)
    with np.errstate(divide="ignore"):
        assert np.isinf(p(np.zeros(2), np.zeros(2))).all()


def test_a_pipeline_inside_its_own_callback() -> None:
    inner: list[Any] = []

    def again(source: np.ndarray, target: np.ndarray) -> None:
        if len(source) > 1:
            half = np.zeros(len(source) // 2)
            inner[0](source[: len(half)].copy(), half)
        target[...] = source

    p = chain(again, np.negative)
    inner.append(p)
    assert p(np.arange(16.0), np.zeros(16)).tolist() == [-float(n) for n in range(16)]
