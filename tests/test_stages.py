"""Pipelined loops at work: waits, errors, interrupts, threads, nests, hooks."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

import handmade
import numpy as np
import pytest
from scheduled import Array, add_1, picture, stencil, stencils, sum_3x3
from staged import (
    ROWS,
    arguments,
    by_hand,
    chain_by_rows,
    images,
    in_stages,
)

import slinky as sl
from slinky.ir.stages import are_in_order, may_begin
from slinky.runtime import threads
from slinky.runtime.overlaps import StagedRun


@pytest.fixture(autouse=True)
def four_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLINKY_NUM_THREADS", "4")


# Waits ----------------------------------------------------------------------------------------------------------------


def test_tasks_in_order_are_those_that_wait_for_each_other() -> None:
    """By following the waits, from task to task, as the words say them."""
    for depth in (1, 2, 3, 4):
        tasks = [(s, i) for s in range(3) for i in range(7)]

        def waits_for(task: tuple[int, int], depth: int = depth) -> list[tuple[int, int]]:
            s, i = task
            found = [(s, i - 1), (s - 1, i)] + ([(2, i - depth)] if s == 0 else [])
            return [(a, b) for a, b in found if a >= 0 and b >= 0]

        before: dict[tuple[int, int], set[tuple[int, int]]] = {}
        for task in sorted(tasks, key=lambda t: (t[1], t[0])):
            before[task] = {o for w in waits_for(task) for o in (w, *before[w])}
        for a in tasks:
            for b in tasks:
                assert are_in_order(a, b, depth) == (a == b or a in before[b] or b in before[a])


def test_checked_mode_finds_that_the_first_stage_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the last one of the iteration so many before."""
    source, out, right = handmade.picture(13, 4)
    by_hand(4, 2).run(source, out, checked=True)
    assert (out == right).all()
    monkeypatch.setattr(threads, "may_begin", lambda stage, done, depth: stage == 0 or may_begin(stage, done, depth))
    with pytest.raises(sl.OverwrittenReadError, match=r"stencil\[0, .*was overwritten by element"):
        by_hand(4, 2).run(source, out, checked=True)


def test_checked_mode_finds_that_a_stage_does_not_wait_for_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest stage that may begin does: without that wait, it begins first."""

    def begins(stage: int, done: Sequence[int], depth: int) -> bool:
        return stage == 1 if done[1] < 15 else may_begin(stage, done, depth)

    source, out, _ = handmade.picture(13, 4)
    monkeypatch.setattr(threads, "may_begin", begins)
    with pytest.raises(sl.UninitializedReadError, match=r"stencil\[0, .* was never written"):
        by_hand(4, 2).run(source, out, checked=True)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_accesses_clash_in_whatever_order_they_come(depth: int) -> None:
    """Of tasks that are in no order, if they touch the same place, and one of them writes."""
    tasks = [(s, i) for s in range(3) for i in range(6)]
    here, there = (np.ix_(np.array([2, 3]), np.array(columns)) for columns in ([4, 5], [6]))
    for one in tasks:
        for other in tasks:
            for writes, wrote in ((False, False), (True, False), (False, True), (True, True)):
                for buffer, places in (("b", here), ("b", there), ("c", here)):
                    run = StagedRun("y", range(10, 16), depth)
                    assert run.note(one, "b", here, "f", writes=wrote) is None
                    clash = run.note(other, buffer, places, "g", writes=writes)
                    races = not are_in_order(one, other, depth) and (writes or wrote)
                    assert (clash is not None) == (races and buffer == "b" and places is here)
                    if clash is not None:
                        verb = "writes" if wrote else "reads"
                        assert clash.place == (0, 0)
                        assert clash.other == f"f {verb} it in stage {one[0] + 1} at y = {10 + one[1]}"


def test_accesses_are_kept_as_long_as_others_may_clash_with_them() -> None:
    run = StagedRun("y", range(100), 3)
    places = np.ix_(np.array([0]))
    assert run.note((2, 5), "b", places, "f", writes=False) is None
    for task in ((0, 8), (1, 6), (1, 5)):
        run.note(task, "other", places, "g", writes=True)
    assert run.note((0, 7), "b", places, "h", writes=True) is not None
    for i in range(9, 60):
        run.note((0, i), "other", places, "g", writes=True)
    assert len(run._accesses) <= 2 * 3


@pytest.mark.sweep(2)
@pytest.mark.parametrize("size", [0, 1, 2, 60])
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_no_task_begins_before_those_that_it_waits_for(count: int, depth: int, size: int) -> None:
    """Nor while its stage is at work; and all are done, once."""
    lock, ended, running = threading.Lock(), set[tuple[int, int]](), set[int]()
    lengths = np.random.default_rng(size).integers(0, 300, (count, size))

    def stage(s: int) -> Callable[[int], None]:
        def run(value: int) -> None:
            i = (value - 7) // 3
            needed = [(s, i - 1), (s - 1, i)] + ([(count - 1, i - depth)] if s == 0 else [])
            with lock:
                assert s not in running
                assert all(task in ended for task in needed if min(task) >= 0)
                running.add(s)
            for _ in range(int(lengths[s, i])):
                pass
            with lock:
                running.remove(s)
                assert (s, i) not in ended
                ended.add((s, i))

        return run

    for workers in (1, 2, 3, 8):
        ended.clear()
        threads.run_stages(range(7, 7 + 3 * size, 3), [stage(s) for s in range(count)], depth, workers)
        assert ended == {(s, i) for s in range(count) for i in range(size)}


def leading(p: sl.Pipeline, threads: int | None = None) -> int:
    """By how many rows the producer was ahead of the consumer at most, in a run of the stencil by rows."""
    lock = threading.Lock()
    produced, consumed, most = [0], [0], [0]

    def begin(func: str, box: Any) -> None:
        with lock:
            if func == "add":
                produced[0] += 1
                most[0] = max(most[0], produced[0] - consumed[0])

    def end(func: str, box: Any) -> None:
        with lock:
            consumed[0] += func == "stencil"

    source, target = picture(50, 5, 1)
    p.run(source, target, threads=threads, hooks=sl.Hooks(call_begin=begin, call_end=end))
    return most[0]


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_the_first_stage_is_no_further_ahead_than_the_depth(depth: int) -> None:
    assert leading(in_stages(ROWS, depth=depth)) <= depth + 2  # the window of a first row takes two more
    assert leading(ROWS) == 3


@pytest.mark.parametrize("backend", ["python", "interpreter"])
def test_stages_overlap(backend: str) -> None:
    """Three funcs are at work at the same time, each for other rows."""
    meeting = threading.Barrier(3, timeout=20)

    def meet(row: int) -> Callable[..., None]:
        def run(source: sl.Buffer, target: sl.Buffer) -> None:
            if target.min[0] == row:
                meeting.wait()
            target.array[...] = source.array

        return run

    (x,) = sl.variables("x")
    buffers = [sl.BufferExpr(f"b{k}", np.int32, 1) for k in range(4)]
    for k in range(3):
        sl.Func(meet(20 - k), [buffers[k][x]], [buffers[k + 1][x]], name=f"f{k}", pass_buffers=True)
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline(buffers[:1], buffers[-1:]), "f2.x", 1, rc=True)
    for name in ("f1", "f0"):
        p = sl.compute_at(p, name, loop)
    for alloc in p.find_all("alloc _"):
        p = sl.fold_storage(p, alloc, "x", 1)
    p = sl.pipeline_loop(p, loop)
    source = np.arange(40, dtype=np.int32)
    out = np.zeros(40, np.int32)
    p.run(source, out, backend=backend)
    assert (out == source).all()


def test_one_thread_runs_the_stages_in_turn() -> None:
    order: list[str] = []
    source, target = picture(3, 5, 1)
    hooks = sl.Hooks(call_begin=lambda func, box: order.append(func))
    in_stages(ROWS).run(source, target, threads=1, hooks=hooks)
    assert order == ["add", "add", "add", "stencil", "add", "stencil", "add", "stencil"]


# Errors ---------------------------------------------------------------------------------------------------------------


def failing_chain(at: str, row: int, error: Callable[[], None]) -> sl.Pipeline:
    """A chain of three in stages, one of whose funcs does something else at a row."""

    def callback(name: str) -> Callable[..., None]:
        def run(source: sl.Buffer, target: sl.Buffer) -> None:
            if name == at and target.min[0] == row:
                error()
            target.array[...] = source.array[1:-1] if name != "f0" else source.array

        return run

    (x,) = sl.variables("x")
    buffers = [sl.BufferExpr(f"b{k}", np.int32, 1) for k in range(4)]
    for k in range(3):
        window = buffers[k][sl.interval(x - 1, x + 1)] if k else buffers[k][x]
        sl.Func(callback(f"f{k}"), [window], [buffers[k + 1][x]], name=f"f{k}", pass_buffers=True)
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline(buffers[:1], buffers[-1:]), "f2.x", 1, rc=True)
    for name in ("f1", "f0"):
        p = sl.slide_window(sl.compute_at(p, name, loop), name, loop)
    for alloc in p.find_all("alloc _"):
        p = sl.fold_storage(p, alloc, "x")
    return sl.pipeline_loop(p, loop)


def line(size: int) -> tuple[sl.Buffer, Array]:
    return sl.Buffer(np.arange(size + 4, dtype=np.int32), min=(-2,)), np.zeros(size, np.int32)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("backend", ["python", "interpreter"])
@pytest.mark.parametrize("row", [0, 1, 20, 39])
@pytest.mark.parametrize("func", ["f0", "f1", "f2"])
def test_a_stage_that_fails_stops_all(func: str, row: int, backend: str) -> None:
    fails = [True]

    def fail() -> None:
        if fails[0]:
            raise ZeroDivisionError("on purpose")

    p = failing_chain(func, row, fail)
    source, out = line(40)
    running: list[str] = []
    live = [0]
    hooks = sl.Hooks(
        call_begin=lambda name, box: running.append(name),
        call_end=lambda name, box: running.remove(name),
        allocate=lambda buffer, size: live.__setitem__(0, live[0] + size),
        free=lambda buffer, size: live.__setitem__(0, live[0] - size),
    )
    with pytest.raises(ZeroDivisionError, match="on purpose") as caught:
        p.run(source, out, backend=backend, hooks=hooks)
    assert f"in the call {func}[{row}] of pipeline" in caught.value.__notes__[0]
    assert running == []
    assert live == [0]
    with pytest.raises(ZeroDivisionError):
        p(source, out)
    fails[0] = False
    p.run(source, out, backend=backend)
    assert (out == np.arange(2, 42)).all()


def run_and_wait(p: sl.Pipeline, source: sl.Buffer, out: Array) -> None:
    """An interrupt may come behind the run, where it was the last stage that asked for it."""
    p(source, out)
    threading.Event().wait(20)


@pytest.mark.parametrize("func", ["f0", "f1", "f2"])
def test_an_interrupt_stops_all(func: str) -> None:
    """It comes to the main thread, whoever it is that a callback is at work in."""
    interrupts = [True]

    def interrupt() -> None:
        if interrupts[0]:
            interrupts[0] = False
            signal.raise_signal(signal.SIGINT)

    p = failing_chain(func, 20, interrupt)
    source, out = line(40)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_and_wait(p, source, out)
    finally:
        signal.signal(signal.SIGINT, before)
    p(source, out)
    assert (out == np.arange(2, 42)).all()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_an_error_of_any_kind_is_raised(error: type[BaseException]) -> None:
    def fail() -> None:
        raise error

    p = failing_chain("f1", 5, fail)
    source, out = line(40)
    for _ in range(20):
        with pytest.raises(error):
            p(source, out)


def test_the_others_end_what_they_are_in() -> None:
    """A producer fails while the consumer is at work: the run ends behind both."""
    at_work, failed = threading.Event(), threading.Event()
    ended: list[int] = []

    def produce(source: sl.Buffer, target: sl.Buffer) -> None:
        if target.min[0] == 4:
            assert at_work.wait(20)
            failed.set()
            raise ValueError("on purpose")
        target.array[...] = source.array

    def consume(source: sl.Buffer, target: sl.Buffer) -> None:
        if target.min[0] == 3:
            at_work.set()
            assert failed.wait(20)
        target.array[...] = source.array
        ended.append(target.min[0])

    (x,) = sl.variables("x")
    a, b, c = (sl.BufferExpr(name, np.int32, 1) for name in "abc")
    sl.Func(produce, [a[x]], [b[x]], pass_buffers=True)
    sl.Func(consume, [b[x]], [c[x]], pass_buffers=True)
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([a], [c]), "consume.x", 1, rc=True)
    p, at = sl.compute_at(p, "produce", loop, rc=True)
    p = sl.pipeline_loop(sl.fold_storage(p, at.alloc, "x", 1), loop)
    with pytest.raises(ValueError, match="on purpose"):
        p(np.zeros(9, np.int32), np.zeros(9, np.int32))
    assert ended == [0, 1, 2, 3]


# Threads, nests, hooks ------------------------------------------------------------------------------------------------


def test_several_threads_run_one_pipeline() -> None:
    p = in_stages(chain_by_rows(2))
    failures: list[str] = []

    def run(seed: int) -> None:
        for height in np.random.default_rng(seed).integers(1, 60, 15):
            source, target = picture(int(height), 7, 2)
            right = sl.Buffer(np.zeros_like(target.array))
            stencils(2)(source, right)
            p(source, target)
            if (target.array != right.array).any():
                failures.append(f"wrong for {height} rows")

    running = [threading.Thread(target=run, args=(seed,)) for seed in range(6)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert failures == []


def test_bound_runs_again_and_again() -> None:
    p = in_stages(ROWS)
    source, target = picture(17, 7, 1)
    right = sl.Buffer(np.zeros_like(target.array))
    stencil()(source, right)
    bound = p.bind(source, target)
    for _ in range(30):
        target.array[...] = 0
        bound()
        assert (target.array == right.array).all()


@pytest.mark.parametrize("workers", [None, 1, 2, 8])
def test_in_each_iteration_of_a_parallel_loop(workers: int | None) -> None:
    """Tiles at the same time, each with a window of its own, in stages."""
    plain = stencils(2)
    p, (tiles, _, _) = sl.split_loop(plain, "s2.y", 8, names="tile", rc=True)
    p, (rows, _, _) = sl.split_loop(p, "s2.y", 1, rc=True)
    for name in ("s1", "add"):
        p = sl.slide_window(sl.compute_at(p, name, rows), name, rows)
    for alloc in p.find_all("alloc _"):
        p, at = sl.store_at(p, alloc, tiles, rc=True)
        p = sl.fold_storage(p, at.alloc, "y")
    p = sl.parallelize_loop(p, tiles, workers)
    before = in_parallel = str(p)
    p = sl.pipeline_loop(p, rows)
    assert in_parallel == before
    assert "pipelined (1, 1, 1) depth 3:" in str(p)
    for height in (1, 8, 37):
        source, target = picture(height, 7, 2)
        right = sl.Buffer(np.zeros_like(target.array))
        plain(source, right)
        for options in ({}, {"checked": True}, {"threads": 3}):
            target.array[...] = 0
            stats = p.run(source, target, **options)
            assert (target.array == right.array).all()
        assert stats.program_bytes <= p.memory(source, target, threads=3).program_bytes


def test_stages_within_stages() -> None:
    """By rows, in stages; and what the first of them does for a row, by columns, in stages, too."""
    y, x = sl.variables("y x")
    inp, a, b, out = images("inp", "a", "b", "out")
    sl.Func(add_1, [inp[y, x]], [a[y, x]], name="f")
    window = a[sl.interval(y, y), sl.interval(x - 1, x + 1)]
    sl.Func(lambda s, t: np.add(s[:, :-2], s[:, 2:], out=t), [window], [b[y, x]], name="g")
    sl.Func(sum_3x3, [b[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]], [out[y, x]], name="h")
    plain = sl.build_pipeline([inp], [out])
    p, (rows, _, _) = sl.split_loop(plain, "h.y", 1, rc=True)
    p, at = sl.compute_at(p, "g", rows, rc=True)
    p = sl.fold_storage(sl.slide_window(p, at.call, rows), at.alloc, "y")
    p, (columns, _, _) = sl.split_loop(p, "g.x", 2, rc=True)
    p, at = sl.compute_at(p, "f", columns, rc=True)
    p, stored = sl.store_at(sl.slide_window(p, at.call, columns), at.alloc, rows, rc=True)
    p = sl.fold_storage(p, stored.alloc, "x")
    p = sl.pipeline_loop(sl.pipeline_loop(p, columns), rows)
    assert (
        " ".join(line.split(" in ")[-1] for line in str(p).splitlines() if "pipelined" in line).count("depth 2:") == 2
    )
    for height, width in ((1, 1), (7, 2), (11, 13)):
        inputs, target = arguments(plain, height, width, 3)
        right = sl.Buffer(np.zeros_like(target.array))
        plain(*inputs, right)
        for options in ({}, {"checked": True}, {"backend": "interpreter"}):
            target.array[...] = 0
            p.run(*inputs, target, **options)
            assert (target.array == right.array).all()
        for _ in range(5):
            target.array[...] = 0
            p(*inputs, target)
            assert (target.array == right.array).all()


def test_hooks_and_traces_tell_of_each_call(tmp_path: Any) -> None:
    p = in_stages(ROWS)
    source, target = picture(9, 5, 1)
    begun: list[tuple[str, Any]] = []
    ended: list[tuple[str, Any]] = []
    hooks = sl.Hooks(
        call_begin=lambda func, box: begun.append((func, box)), call_end=lambda func, box: ended.append((func, box))
    )
    p.run(source, target, hooks=hooks)
    expected = [("add", ((y, y), (-1, 5))) for y in range(-1, 10)] + [("stencil", ((y, y), (0, 4))) for y in range(9)]
    assert sorted(begun) == sorted(ended) == expected
    of_add = [box for func, box in ended if func == "add"]
    assert of_add == sorted(of_add)  # a stage does one iteration after the other
    p.trace(source, target, path=tmp_path / "trace.json")
    assert (tmp_path / "trace.json").read_text().count('"ph": "X"') == len(expected)


def test_callbacks_are_tested_once() -> None:
    source, target = picture(9, 5, 1)
    stats = in_stages(ROWS).run(source, target, checked="first")
    assert stats.calls == {"add": 11, "stencil": 9}


def test_what_runs_is_a_function_for_each_stage() -> None:
    text = in_stages(ROWS).to_python()
    assert "def for_y_stage1(y):" in text
    assert "def for_y_stage2(y):" in text
    assert "run_stages(range(out_y_min - 2, out_y_max + 1), (for_y_stage1, for_y_stage2), 2, threads)" in text
