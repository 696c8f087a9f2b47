"""The memory of large results, which later results are given when nobody holds it any more."""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import slinky as sl
from slinky.runtime import reusing
from slinky.runtime.pages import LEAST_BYTES
from slinky.runtime.reusing import KEPT, MOST_BLOCKS, Kept, Results, is_reused

Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.skipif(not reusing.IS_KNOWN, reason="only Linux takes back what is kept")

LARGE = (LEAST_BYTES // 8 + 1,)


@pytest.fixture
def kept() -> Iterator[Kept]:
    """A place of its own."""
    found = Kept()
    yield found
    assert found.nbytes <= reusing.most_kept()


def address(array: Array) -> int:
    """Where an array begins."""
    return int(array.ctypes.data)


def test_memory_that_nobody_holds_is_given_to_the_next(kept: Kept) -> None:
    first = kept.array(LARGE, np.float64)
    where = address(first)
    assert first.flags.writeable
    assert first.flags.c_contiguous
    assert where % 64 == 0
    second = kept.array(LARGE, np.float64)
    assert not np.shares_memory(first, second)
    assert not len(kept)
    del first
    assert len(kept) == 1
    third = kept.array((LARGE[0] // 2, 2), np.float64)
    assert address(third) == where
    assert third.shape == (LARGE[0] // 2, 2)


@pytest.mark.parametrize(
    "seen",
    [
        lambda a: a[3:7],
        lambda a: a.reshape(-1, 1).T,
        lambda a: a.view(np.uint8)[::5],
        memoryview,
        lambda a: np.frombuffer(memoryview(a), np.uint8)[1:],
        lambda a: a.__dlpack__(),
    ],
)
def test_whoever_sees_a_part_holds_it(kept: Kept, seen: Any) -> None:
    array = kept.array(LARGE, np.float64)
    part = seen(array)
    del array
    gc.collect()
    assert not len(kept)
    del part
    gc.collect()
    assert len(kept) == 1


def test_what_is_much_smaller_is_given_other_memory(kept: Kept) -> None:
    where = address(kept.array((LARGE[0] * 2,), np.float64))
    assert len(kept) == 1
    small = kept.array(LARGE, np.float64)
    assert address(small) != where
    assert len(kept) == 1


def test_no_more_is_kept_than_is_said(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    held = [kept.array(LARGE, np.float64) for _ in range(MOST_BLOCKS + 3)]
    last = address(held[-1])
    while held:
        del held[0]
    assert len(kept) == MOST_BLOCKS
    monkeypatch.setattr(reusing, "most_kept", lambda: 3 * LARGE[0] * 8 + 100)
    array = kept.array(LARGE, np.float64)
    del array
    assert len(kept) == 3
    array = kept.array((4 * LARGE[0],), np.float64)
    del array
    assert len(kept) == 3
    monkeypatch.setattr(reusing, "most_kept", lambda: 0)
    assert address(kept.array(LARGE, np.float64)) != last


def test_where_there_is_no_memory_numpy_says_so(kept: Kept) -> None:
    with pytest.raises(MemoryError):
        kept.array((1 << 62,), np.uint8)
    with pytest.raises(ValueError, match="too"):
        kept.array((1 << 62, 1 << 62), np.float64)


def test_the_first_results_of_a_function_are_as_its_own(kept: Kept) -> None:
    """What is called once leaves nothing behind."""
    made: list[tuple[int, ...]] = []

    def first(shape: tuple[int, ...], dtype: Any) -> Array:
        made.append(shape)
        return np.empty(shape, dtype)

    results = Results(first, 1)
    for _ in range(3):
        results(LARGE, np.float64)
        results((3,), np.float64)
    assert made == [LARGE, (3,), (3,), (3,)]
    assert not is_reused((3,), np.float64)


def two(x: Array) -> tuple[Array, Array]:
    """Two results, one of which is small."""
    return x * 2 + 1, x[:3] - 1


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("workers", [1, 2])
def test_results_of_functions(native: bool, workers: int) -> None:
    function = sl.jit(two, smallest=0, native=native, workers=workers)
    x = np.arange(float(LARGE[0]))
    held = []
    for k in range(5):
        held.append((k, function(x + k)))
        if k % 2:
            del held[0]
        for j, found in held:
            for one, expected in zip(found, two(x + j), strict=True):
                np.testing.assert_array_equal(one, expected)
    one, other = function(x), function(x)
    assert not np.shares_memory(one[0], other[0])


def test_a_result_may_be_an_argument_of_the_next_call() -> None:
    step = sl.jit(lambda x: x[::-1] * 0.5 + 1, smallest=0, native=False)
    x = expected = np.arange(float(LARGE[0]))
    for _ in range(6):
        x, expected = step(x), expected[::-1] * 0.5 + 1
        np.testing.assert_array_equal(x, expected)


def test_outputs_that_are_omitted(monkeypatch: pytest.MonkeyPatch, kept: Kept) -> None:
    monkeypatch.setattr(reusing, "KEPT", kept)
    y, _ = sl.variables("y x")
    a, b = (sl.BufferExpr(name, np.float64, 1) for name in "ab")
    sl.arithmetic(a[y] * 2, b[y], name="twice")
    p = sl.build_pipeline([a], [b])
    x = np.arange(float(LARGE[0]))
    held = [p(x) for _ in range(3)]
    where = {address(each) for each in held}
    del held
    for k in range(3):
        found = p(x + k)
        np.testing.assert_array_equal(found, (x + k) * 2)
        assert address(found) in where
        del found


def test_threads_have_memory_of_their_own() -> None:
    step = sl.jit(lambda x, k: x * k + 1, smallest=0, native=False, workers=1)
    x = np.arange(float(LARGE[0]))
    wrong: list[int] = []

    def calls(k: int) -> None:
        for _ in range(10):
            if not np.array_equal(step(x, float(k)), x * k + 1):
                wrong.append(k)

    threads = [threading.Thread(target=calls, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def in_a_fork(k: int) -> bool:
    """Whether results are right in a forked process that has what its parent kept."""
    x = np.arange(float(LARGE[0]))
    step = sl.jit(lambda x, k: x * k + 1, smallest=0, native=False, workers=1)
    return all(np.array_equal(step(x, float(k)), x * k + 1) for _ in range(4)) and os.getpid() > 0


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_forked_processes_share_nothing() -> None:
    x = np.arange(float(LARGE[0]))
    step = sl.jit(lambda x: x * 3, smallest=0, native=False, workers=1)
    for _ in range(3):
        step(x)
    assert len(KEPT)
    with multiprocessing.get_context("fork").Pool(3) as pool:
        waiting = pool.map_async(in_a_fork, range(6))
        for _ in range(6):
            np.testing.assert_array_equal(step(x), x * 3)
        assert all(waiting.get(60))


def test_a_fork_where_another_thread_held_the_lock(kept: Kept) -> None:
    """Nobody waits for it."""
    array = kept.array(LARGE, np.float64)
    with kept._lock:
        assert kept.array(LARGE, np.float64).shape == LARGE
        del array
    assert not len(kept)


def test_nothing_is_said_when_python_ends() -> None:
    """Though results are there still, in modules that go away."""
    text = f"""
import numpy as np, slinky as sl
step = sl.jit(lambda x: x * 3, smallest=0, native=False)
x = np.ones({LARGE[0]})
held = [step(x) for _ in range(4)]
np.held = held[1:]
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert not done.stderr
