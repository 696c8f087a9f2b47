"""A process that is forked and its child have nothing in common by accident, whatever was going on at the fork."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.random import default_rng  # by now: a fork while a thread imports what NumPy puts off leaves its lock taken

import slinky as sl
from slinky.runtime import forks, mirrored, races, threads

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]
needs_mirror = pytest.mark.skipif(not mirrored.available(), reason="this platform cannot map memory twice")

SECONDS = 60
"""After so long, a child hangs."""

HEIGHT, WIDTH = 40, 2048
y, x = sl.variables("y x")


# Children -------------------------------------------------------------------------------------------------------------


class Child:
    """A forked process that does something and tells whether it failed, and how."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._told, tells = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            failure = b""
            try:
                work()
            except BaseException:
                failure = traceback.format_exc().encode()
            finally:
                os.write(tells, failure)
                os._exit(0)
        os.close(tells)

    def succeeds(self) -> None:
        """Wait for it to end; fail if it failed, or does not end."""
        text, end = b"", time.monotonic() + SECONDS
        while select.select([self._told], [], [], max(end - time.monotonic(), 0))[0]:
            part = os.read(self._told, 1 << 16)
            text += part
            if not part:
                break
        else:
            os.kill(self.process, signal.SIGKILL)
            text = b"the child hangs"
        os.close(self._told)
        _, status = os.waitpid(self.process, 0)
        assert text.decode() == ""
        assert status == 0


@pytest.fixture
def four_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLINKY_NUM_THREADS", "4")


# Pipelines ------------------------------------------------------------------------------------------------------------


def add_1(source: np.ndarray, target: np.ndarray) -> None:
    np.add(source, 1, out=target)


def sum_3(source: np.ndarray, target: np.ndarray) -> None:
    target[...] = source[:-2] + 2 * source[1:-1] + 3 * source[2:]


def described(add: Any = add_1, stencil: Any = sum_3) -> sl.Pipeline:
    """`intm = inp + 1`, then a stencil of three rows."""
    inp, intm, out = (sl.BufferExpr(name, np.int64, 2) for name in ("inp", "intm", "out"))
    sl.Func(add, [inp[y, x]], [intm[y, x]], name="add")
    sl.Func(stencil, [intm[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="stencil")
    return sl.build_pipeline([inp], [out])


def folded(p: sl.Pipeline) -> sl.Pipeline:
    """By rows, with a ring of three rows."""
    p, (rows, _, _) = sl.split_loop(p, "stencil.y", 1, rc=True)
    p, ((intm,), _, add) = sl.compute_at(p, "add", rows, rc=True)
    p = sl.slide_window(p, add, rows)
    return sl.fold_storage(p, intm, "y")


def in_parallel(p: sl.Pipeline, rows: int = 4) -> sl.Pipeline:
    """By tiles of rows, each with a ring of its own."""
    p, (tiles, inner, _) = sl.split_loop(p, "stencil.y", rows, names="tile", rc=True)
    p, (each, _, _) = sl.split_loop(p, inner, 1, rc=True)
    p, ((intm,), _, add) = sl.compute_at(p, "add", each, rc=True)
    p = sl.store_at(p, intm, tiles)
    p = sl.slide_window(p, add, each)
    p = sl.fold_storage(p, intm, "y")
    return sl.parallelize_loop(p, tiles)


def in_stages(p: sl.Pipeline) -> sl.Pipeline:
    """By rows, with a ring of a few, in stages that overlap."""
    return sl.pipeline_loop(folded(p), "for y", depth=3)


def image(seed: int) -> sl.Buffer:
    return sl.Buffer(default_rng(seed).integers(0, 1000, (HEIGHT + 2, WIDTH)), min=(-1, 0))


def right(source: sl.Buffer) -> np.ndarray:
    result = np.zeros((HEIGHT, WIDTH), np.int64)
    sum_3(source.array + 1, result)
    return result


def repeat(run: Callable[[sl.Buffer, np.ndarray], object], first: int, count: int = 60) -> None:
    """Run on images; every result must be right."""
    result = np.zeros((HEIGHT, WIDTH), np.int64)
    wrong = []
    for seed in range(first, first + count):
        source = image(seed)
        result.fill(0)
        run(source, result)
        if not np.array_equal(result, right(source)):
            wrong.append(seed)
    assert wrong == []


PIPELINES: dict[str, sl.Pipeline] = {}


def wrong_results(seeds: range) -> list[int]:
    """What a worker of a pool does."""
    result = np.zeros((HEIGHT, WIDTH), np.int64)
    return [s for s in seeds if not np.array_equal(PIPELINES["pool"](image(s), result), right(image(s)))]


# After a run ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("schedule", [folded, in_parallel, in_stages])
def test_a_pool_of_forked_workers_after_a_run(schedule: Callable[[sl.Pipeline], sl.Pipeline]) -> None:
    PIPELINES["pool"] = schedule(described())
    repeat(PIPELINES["pool"], 0, 1)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        found = pool.map(wrong_results, [range(start, start + 25) for start in range(0, 200, 25)], chunksize=1)
    assert found == [[]] * 8


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("schedule", [folded, in_parallel, in_stages])
def test_parent_and_child_run_the_same_pipeline(schedule: Callable[[sl.Pipeline], sl.Pipeline]) -> None:
    p = schedule(described())
    repeat(p, 0, 1)
    children = [Child(lambda n=n: repeat(p, 100 * n)) for n in (1, 2)]
    repeat(p, 0)
    for child in children:
        child.succeeds()


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("schedule", [folded, in_parallel, in_stages])
def test_parent_and_child_run_the_same_bound_pipeline(schedule: Callable[[sl.Pipeline], sl.Pipeline]) -> None:
    source, result = image(0), np.zeros((HEIGHT, WIDTH), np.int64)
    bound = schedule(described()).bind(source, result)
    bound()

    def run(given: sl.Buffer, target: np.ndarray) -> None:
        source.array[...] = given.array
        target[...] = bound()

    child = Child(lambda: repeat(run, 100))
    repeat(run, 0)
    child.succeeds()
    bound()


def test_a_child_of_a_child() -> None:
    p = folded(described())
    repeat(p, 0, 1)

    def fork_again() -> None:
        grandchild = Child(lambda: repeat(p, 200))
        repeat(p, 100)
        grandchild.succeeds()

    child = Child(fork_again)
    repeat(p, 0)
    child.succeeds()


# In the middle of a run -----------------------------------------------------------------------------------------------


class Fork:
    """Forks in the n-th call of a callback; the child, too, goes on with the run."""

    def __init__(self, call: int) -> None:
        self._call = call
        self._count = 0
        self._lock = threading.Lock()
        self.child: int | None = None

    def __call__(self) -> None:
        with self._lock:
            self._count += 1
            forks = self._count == self._call
        if forks:
            self.child = os.fork()


def ends_well(process: int) -> None:
    """Wait for a process; kill it if it does not end."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            assert status == 0
            return
        time.sleep(0.01)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    pytest.fail("the child hangs")


def run_in_both(run: Callable[[], object], fork: Fork, is_right: Callable[[], bool]) -> None:
    """Run, with a fork under way; parent and child must both come out of it with what is right."""
    parent = os.getpid()
    outcome = 1
    try:
        run()
        outcome = 0 if is_right() else 2
    finally:
        if os.getpid() != parent:
            os._exit(outcome)
    assert outcome == 0
    assert fork.child is not None
    ends_well(fork.child)


@pytest.mark.usefixtures("four_threads")
@pytest.mark.sweep
@pytest.mark.parametrize("way", ["call", "bind", "run", "interpreter"])
@pytest.mark.parametrize("call", [1, 7, HEIGHT])
def test_a_callback_that_forks(way: str, call: int) -> None:
    fork = Fork(call)

    def stencil(source: np.ndarray, target: np.ndarray) -> None:
        fork()
        sum_3(source, target)

    p = folded(described(stencil=stencil))
    source, result = image(0), np.zeros((HEIGHT, WIDTH), np.int64)
    runs: dict[str, Callable[[], object]] = {
        "call": lambda: p(source, result),
        "bind": lambda: p.bind(source, result)(),
        "run": lambda: p.run(source, result),
        "interpreter": lambda: p.run(source, result, backend="interpreter"),
    }
    run_in_both(runs[way], fork, lambda: np.array_equal(result, right(source)))


@pytest.mark.usefixtures("four_threads")
@pytest.mark.sweep
@pytest.mark.parametrize("way", ["call", "run", "interpreter"])
@pytest.mark.parametrize("round", range(4))
def test_the_starter_of_a_parallel_loop_forks_while_others_work(way: str, round: int) -> None:
    """In the child nobody but the starter is left to do what the others were in the middle of."""
    caller = threading.get_ident()
    others = threading.Event()
    fork = Fork(1 + round)

    def stencil(source: np.ndarray, target: np.ndarray) -> None:
        if threading.get_ident() == caller:
            if fork.child is None:
                others.wait(SECONDS)
                fork()
        else:
            target[...] = -1
            others.set()
            time.sleep(0.01)
        sum_3(source, target)

    p = in_parallel(described(stencil=stencil))
    source, result = image(0), np.zeros((HEIGHT, WIDTH), np.int64)
    runs: dict[str, Callable[[], object]] = {
        "call": lambda: p(source, result),
        "run": lambda: p.run(source, result),
        "interpreter": lambda: p.run(source, result, backend="interpreter"),
    }
    run_in_both(runs[way], fork, lambda: np.array_equal(result, right(source)))
    repeat(p, 1, 3)


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("way", ["call", "run", "interpreter"])
@pytest.mark.parametrize("at", ["add", "stencil"])
def test_the_starter_of_a_pipelined_loop_forks_while_another_stage_runs(way: str, at: str) -> None:
    """In the child, the starter does again what the other thread was in the middle of."""
    caller = threading.get_ident()
    others = threading.Event()
    fork = Fork(1)

    def forking(name: str, callback: Callable[..., None]) -> Callable[..., None]:
        def run(source: np.ndarray, target: np.ndarray) -> None:
            if threading.get_ident() == caller:
                if fork.child is None and (name == at or others.is_set()):
                    others.wait(0.5)  # of the first stage there is no other yet
                    if others.is_set():
                        fork()
            else:
                target[...] = -1
                others.set()
                time.sleep(0.01)
            callback(source, target)

        return run

    p = in_stages(described(forking("add", add_1), forking("stencil", sum_3)))
    source, result = image(0), np.zeros((HEIGHT, WIDTH), np.int64)
    runs: dict[str, Callable[[], object]] = {
        "call": lambda: p(source, result),
        "run": lambda: p.run(source, result),
        "interpreter": lambda: p.run(source, result, backend="interpreter"),
    }
    run_in_both(runs[way], fork, lambda: np.array_equal(result, right(source)))
    repeat(p, 1, 3)


@needs_mirror
def test_a_ring_that_the_iterations_of_a_loop_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a helper had written to it half at the fork is written again in the child, and nothing else changes."""
    monkeypatch.setenv("SLINKY_NUM_THREADS", "4")
    size = 40 * mirrored.PAGE
    ring, caller, others = mirrored.mirrored(size), threading.get_ident(), threading.Event()
    ring[:size] = 77
    fork = Fork(1)

    def body(n: int) -> None:
        part = ring[n * mirrored.PAGE : (n + 1) * mirrored.PAGE]
        if threading.get_ident() != caller:
            part[...] = 255
            others.set()
            time.sleep(0.01)
        else:
            others.wait(SECONDS)
            fork()
        part[...] = n

    expected = np.repeat(np.arange(40, dtype=np.uint8), mirrored.PAGE)
    expected[39 * mirrored.PAGE :] = 77
    run_in_both(lambda: threads.run_parallel(range(39), body, 4), fork, lambda: np.array_equal(ring[:size], expected))


@pytest.mark.usefixtures("four_threads")
def test_a_helper_that_forks() -> None:
    """Nobody waits for its loop in the child, which ends with it."""
    caller = threading.get_ident()
    children: list[int] = []

    def stencil(source: np.ndarray, target: np.ndarray) -> None:
        if threading.get_ident() == caller:
            time.sleep(0.01)
        elif not children:
            children.append(os.fork())
        sum_3(source, target)

    p = in_parallel(described(stencil=stencil))
    parent = os.getpid()
    try:
        repeat(p, 0, 3)
    finally:
        if os.getpid() != parent:
            os._exit(3)
    ends_well(children[0])


@pytest.mark.usefixtures("four_threads")
def test_a_helper_that_forks_within_loops_within_loops() -> None:
    """The child has started threads of its own when its iteration ends; it ends with it all the same."""
    caller, children = threading.get_ident(), list[int]()
    parent = os.getpid()

    def inner(_n: int) -> None:
        time.sleep(0.005)

    def outer(_n: int) -> None:
        if threading.get_ident() == caller:
            time.sleep(0.05)
        elif not children:
            children.append(os.fork())
        threads.run_parallel(range(8), inner, 3)

    try:
        threads.run_parallel(range(12), outer, 3)
    finally:
        if os.getpid() != parent:
            os._exit(3)
    ends_well(children[0])


@pytest.mark.usefixtures("four_threads")
def test_forks_while_other_threads_run() -> None:
    """The child has locks, loops and memory of its own, whatever the other threads were in the middle of."""
    p, plain = in_parallel(described()), folded(described())
    ended = threading.Event()
    failures: list[BaseException] = []

    def go_on(run: Callable[..., object], first: int) -> None:
        try:
            while not ended.is_set():
                repeat(run, first, 2)
                folded(described())(image(0), np.zeros((HEIGHT, WIDTH), np.int64))
        except BaseException as error:
            failures.append(error)

    busy = [threading.Thread(target=go_on, args=(run, 7)) for run in (p, plain, p.run)]
    for thread in busy:
        thread.start()
    try:
        for n in range(12):

            def work(n: int = n) -> None:
                for run in (p, plain, p.run, folded(described())):
                    repeat(run, 10 * n, 2)

            Child(work).succeeds()
    finally:
        ended.set()
        for thread in busy:
            thread.join()
    assert failures == []


def test_what_begins_while_a_fork_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """All others are stopped when a thread opens the books of a loop: that is no reason to leave the child stopped."""
    stopped, begun, forked = forks.lock(), threading.Event(), threading.Event()
    made: list[Any] = []
    copies = mirrored.copies

    def begins() -> None:
        made.append(forks.lock())
        with made[0]:
            threads.run_parallel([0, 1, 2, 3], lambda n: begun.set() or forked.wait(SECONDS), 2)

    def copies_slowly(*args: Any, **options: Any) -> Any:
        if not other.ident:  # before the fork, in this process
            other.start()
            begun.wait(0.3)  # or it waits itself, until the fork is over
        return copies(*args, **options)

    def take(each: Any, taken: threading.Semaphore) -> None:
        with each:
            taken.release()

    def may_all_be_taken() -> None:
        taken = threading.Semaphore(0)
        for each in (stopped, *made):
            threading.Thread(target=take, args=(each, taken), daemon=True).start()
            assert taken.acquire(timeout=SECONDS / 4)

    other = threading.Thread(target=begins)
    monkeypatch.setenv("SLINKY_NUM_THREADS", "2")
    monkeypatch.setattr(mirrored, "copies", copies_slowly)
    child = Child(may_all_be_taken)
    forked.set()
    other.join(SECONDS)
    assert not other.is_alive()
    may_all_be_taken()
    child.succeeds()


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("busy", ["notes what it touches", "makes noise"])
def test_a_checked_run_forks_while_another_thread(busy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    caller, begun, forked = threading.get_ident(), threading.Event(), threading.Event()
    fork, noting, made = Fork(1), races.Accesses._noting, default_rng

    def be_slow() -> None:
        if threading.get_ident() != caller and not forked.is_set():
            begun.set()
            forked.wait(0.3)  # or the fork waits for this thread

    def notes_slowly(accesses: races.Accesses, *args: Any) -> bool:
        if accesses._shape == (HEIGHT, WIDTH):
            be_slow()
        return noting(accesses, *args)

    class Slow:
        """A generator: it, too, has a lock."""

        def __init__(self, seed: int) -> None:
            self.random, self.lock = made(seed), threading.Lock()

        def bytes(self, count: int) -> bytes:
            with self.lock:
                be_slow()
                return self.random.bytes(count)

    def forks_once(source: np.ndarray, target: np.ndarray) -> None:
        if threading.get_ident() == caller and fork.child is None:
            begun.wait(SECONDS)
            fork()
            forked.set()
        target[...] = source + 1

    if busy == "makes noise":
        monkeypatch.setattr(np.random, "default_rng", Slow)
    else:
        monkeypatch.setattr(races.Accesses, "_noting", notes_slowly)
    p = in_parallel(described(add=forks_once))
    source, result = image(0), np.zeros((HEIGHT, WIDTH), np.int64)
    run_in_both(lambda: p.run(source, result, checked=True), fork, lambda: np.array_equal(result, right(source)))


def test_a_signal_handler_that_forks_while_its_thread_waits_for_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLINKY_NUM_THREADS", "2")
    caller, done, helping = threading.get_ident(), [0, 0], threading.Event()
    fork = Fork(1)

    def body(n: int) -> None:
        if threading.get_ident() != caller:
            helping.set()
            time.sleep(0.1)  # the caller has done the other iteration, and waits
            signal.pthread_kill(caller, signal.SIGUSR1)
            time.sleep(0.3)
        else:
            helping.wait(SECONDS)
        done[n] = 1

    before = signal.signal(signal.SIGUSR1, lambda _number, _frame: fork())
    try:
        run_in_both(lambda: threads.run_parallel(range(2), body, 2), fork, lambda: done == [1, 1])
    finally:
        signal.signal(signal.SIGUSR1, before)


# Rings ----------------------------------------------------------------------------------------------------------------


@needs_mirror
def test_a_child_has_what_was_in_a_ring_and_writes_to_its_own() -> None:
    size = 3 * mirrored.PAGE
    ring = mirrored.mirrored(size)
    ring[:size] = np.arange(size) % 251
    before = ring.copy()

    def look() -> None:
        assert np.array_equal(ring, before)
        ring[:] = 7
        ring[0] = 9
        assert ring[size] == 9

    Child(look).succeeds()
    assert np.array_equal(ring, before)


NO_RINGS = """
import os
from slinky.runtime import forks, mirrored

ring = mirrored.mirrored(mirrored.PAGE)
ring[0] = 5

def refuse(*_arguments):
    raise OSError(24, "Too many open files")

os.memfd_create = refuse
child = os.fork()
if child == 0:
    ring[0] = 6
    os._exit(0)
print(os.WTERMSIG(os.waitpid(child, 0)[1]), ring[0])
"""


@needs_mirror
def test_a_child_that_cannot_have_rings_of_its_own_is_told() -> None:
    done = subprocess.run([sys.executable, "-c", NO_RINGS], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(int(signal.SIGSEGV)), "5"]
    message = "a forked process cannot have its own memory for folded buffers: [Errno 24] Too many open files"
    assert message in done.stderr


# While a thread asks for Python's lock, a child that is not told yet that it is one would wait for it for ever.
FORKED_IN_C = """
import ctypes, os, sys, time
from test_forks import described, folded, in_parallel, repeat

p, q = folded(described()), in_parallel(described())
repeat(p, 0, 1)
repeat(q, 0, 1)
usual = sys.getswitchinterval()
sys.setswitchinterval(1000)
time.sleep(0.2)
child = ctypes.PyDLL(None).fork()
if child == 0:
    ctypes.pythonapi.PyOS_AfterFork_Child()
sys.setswitchinterval(usual)
if child == 0:
    repeat(p, 100)
    repeat(q, 100)
    os._exit(0)
repeat(p, 0)
repeat(q, 0)
assert os.waitpid(child, 0)[1] == 0
"""


@needs_mirror
@pytest.mark.usefixtures("four_threads")
def test_a_fork_in_c_that_python_is_told_of_afterwards() -> None:
    """As servers do that embed Python."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED_IN_C], capture_output=True, text=True, cwd=Path(__file__).parent, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_is_left_of_a_fork() -> None:
    p = folded(described())
    repeat(p, 0, 1)

    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0

    before = descriptors()
    found: list[int] = []

    def count() -> None:
        assert descriptors() == before + 2  # the two ends of its pipe

    for _ in range(5):
        Child(count).succeeds()
        found.append(descriptors())
    assert found == [before] * 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        repeat(p, 0, 1)
