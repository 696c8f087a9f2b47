"""Running the iterations of a loop on threads: those of a parallel one, or the stages of a pipelined one.

All parallel loops of the process share one pool. The thread that starts a loop works on it like any other, so a loop
always makes progress, even where all threads of the pool have work and however deep parallel loops nest: a nested loop
gets the threads that are idle, at worst none but its own. There are never more helpers than `default_workers() - 1`.

Each worker takes the next iteration that nobody has taken; of a pipelined loop, a stage of an iteration that may begin
(see `ir.stages`): the last such stage, so that what is there is used while it is in cache. If none may, it waits until
one has ended: as long as anything is left, some stage runs, or may begin. After an error (or an interrupt of the thread
that started the loop) no further iteration or stage starts; those under way finish; then the first error is raised,
once. Nothing of the loop is running then.

A process that is forked by one of the threads has no other. If that thread goes on with the loop in the child, it does
the iterations that the others were in again: whatever they had written, an iteration reads nothing that it has not
written itself, or that was there before the loop. (Of a stage: before it began, for neither it nor what may run at the
same time writes over what it reads.) If it was a helper, nobody waits for it in the child: it ends with the iteration
that it is in, and the child with it.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from slinky.errors import ArgumentError, cited
from slinky.ir.stages import Task, may_begin
from slinky.runtime import forks
from slinky.symbolic.expressions import is_integer


def default_workers() -> int:
    """How many threads a parallel loop uses by itself: `SLINKY_NUM_THREADS`, else the cores this process may use.

    Raises `ArgumentError` if the variable is set to anything but a positive integer.
    """
    given = os.environ.get("SLINKY_NUM_THREADS", "")
    if given:
        if not (given.isdecimal() and given.isascii() and int(given) > 0):
            raise ArgumentError(
                f"the environment variable SLINKY_NUM_THREADS must be a positive integer, or not set, got {given!r}"
            )
        return int(given)
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


def most_threads() -> int:
    """How many threads may run iterations at the same time."""
    return max(default_workers(), _pool.size + 1)


def workers_or_default(threads: int | None) -> int:
    """How many threads a parallel loop without a number of its own uses in a run with this argument.

    Raises `ArgumentError` for anything but None and a positive integer.
    """
    if threads is None:
        return default_workers()
    if not is_integer(threads) or threads < 1:
        raise ArgumentError(f"threads must be an integer of at least 1, or None, got {cited(threads)}")
    return int(threads)


T = TypeVar("T")


class _Team(Generic[T]):
    """One loop: the threads at work on it, and what went wrong. `run` does one of the tasks that `_next` gives out."""

    def __init__(self, run: Callable[[T], None]) -> None:
        self._running: dict[int, T] = {}
        self._run = run
        self._lock = forks.lock()
        self._done = threading.Condition(self._lock)
        self._helpers: set[int] = set()
        self._stopped = False
        self.error: BaseException | None = None
        forks.after_fork_in_child(self._lose_threads)

    def join(self) -> bool:
        """Take part as a helper; False if there is nothing left to do."""
        with self._lock:
            if self._stopped:
                return False
            self._helpers.add(threading.get_ident())
            return True

    def leave(self) -> None:
        """A helper has finished its last iteration."""
        with self._done:
            self._helpers.discard(threading.get_ident())
            self._done.notify_all()

    def stop(self, error: BaseException | None = None) -> None:
        """Start no further task. The first error counts."""
        with self._done:
            self._stopped = True
            if self.error is None:
                self.error = error
            self._done.notify_all()

    def work(self) -> None:
        """Run tasks until none is left or the loop is stopped."""
        me = threading.get_ident()
        while True:
            with self._lock:
                self._end_of(me)
                task = None if self._stopped else self._next()
                if task is None:
                    self._stopped = True
                    self._done.notify_all()
                    return
                self._running[me] = task
            try:
                self._run(task)
            except BaseException as error:
                self.stop(error)

    def _end_of(self, thread: int) -> None:
        """The task that a thread was in, if it was in one, has ended, or failed: then the loop is stopped."""
        self._running.pop(thread, None)

    def _next(self) -> T | None:
        """A task that nobody has begun; None if there is none left. May wait for one."""
        raise NotImplementedError

    def _is_left(self) -> bool:
        """Whether there are tasks that nobody has begun, or that nobody will end."""
        raise NotImplementedError

    def _lose(self, tasks: list[T]) -> None:
        """Nobody will end these tasks."""
        raise NotImplementedError

    def wait(self) -> None:
        """Wait for the helpers to finish the tasks they are in, interrupted or not."""
        while True:
            try:
                with self._done:
                    self._done.notify_all()  # whoever waits for a task, and missed that there will be none
                    self._done.wait_for(lambda: not self._helpers)
                if not self._is_left() or self.error is not None:
                    return
                self.work()  # the process was forked while this thread waited, and in the child nobody else does it
            except BaseException as error:
                self.stop(error)

    def _lose_threads(self) -> None:
        """In a forked child: there is this thread only."""
        me = threading.get_ident()
        lost = [task for thread, task in self._running.items() if thread != me]
        self._lose(lost)
        self._running = {thread: task for thread, task in self._running.items() if thread == me}
        self._helpers &= {me}
        if self._helpers:
            self._stopped = True  # it helps a thread that is not there
        elif lost and self.error is None:
            self._stopped = False
        self._done.notify_all()


class _ParallelTeam(_Team[int]):
    """A parallel loop: its iterations, in any order."""

    def __init__(self, iterations: Sequence[int], body: Callable[[int], None]) -> None:
        super().__init__(body)
        self._remaining = iter(iterations)
        self._lost: list[int] = []

    def _next(self) -> int | None:
        return self._lost.pop() if self._lost else next(self._remaining, None)

    def _is_left(self) -> bool:
        return bool(self._lost)

    def _lose(self, tasks: list[int]) -> None:
        self._lost += tasks


class _StagedTeam(_Team[Task]):
    """A pipelined loop: how many iterations each of its stages has done, and which stages run."""

    def __init__(self, iterations: Sequence[int], stages: Sequence[Callable[[int], None]], depth: int) -> None:
        super().__init__(lambda task: stages[task[0]](iterations[task[1]]))
        self._count = len(iterations)
        self._depth = depth
        self._ended = [0] * len(stages)
        self._runs = [False] * len(stages)
        self._waiting = 0

    def _end_of(self, thread: int) -> None:
        task = self._running.pop(thread, None)
        if task is not None:
            self._runs[task[0]] = False
            if not self._stopped:
                self._ended[task[0]] += 1

    def _next(self) -> Task | None:
        while not self._stopped and self._is_left():
            ready = self._ready()
            stage = next(ready, None)
            if stage is not None:
                self._runs[stage] = True
                if self._waiting and next(ready, None) is not None:
                    self._done.notify()  # there is work for another one, who wakes up the next
                return stage, self._ended[stage]
            self._waiting += 1
            try:
                self._done.wait()
            finally:
                self._waiting -= 1
        return None

    def _ready(self) -> Iterator[int]:
        """The stages that may begin an iteration, the last one first."""
        ended = self._ended
        for stage in reversed(range(len(ended))):
            if not self._runs[stage] and ended[stage] < self._count and may_begin(stage, ended, self._depth):
                yield stage

    def _is_left(self) -> bool:
        return self._ended[-1] < self._count

    def _lose(self, tasks: list[Task]) -> None:
        for stage, _ in tasks:
            self._runs[stage] = False


class _Pool:
    """Threads that wait for loops to help with. They are started when first needed and never end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted = threading.Condition(self._lock)
        self._calls: deque[tuple[_Team[Any], contextvars.Context, dict[str, Any]]] = deque()
        self._threads = 0
        self._idle = 0

    @property
    def size(self) -> int:
        """How many threads there are."""
        return self._threads

    def call_for_help(self, team: _Team[Any], helpers: int, limit: int) -> None:
        """Ask for helpers; the pool grows to at most `limit` threads."""
        errors = {**np.geterr(), "call": np.geterrcall()}
        with self._wanted:
            for _ in range(helpers):
                self._calls.append((team, contextvars.copy_context(), errors))
            missing = min(len(self._calls) - self._idle, limit - self._threads)
            for _ in range(missing):
                if not self._start_thread():
                    break
            self._wanted.notify(helpers)

    def _start_thread(self) -> bool:
        """Start one more thread, if the system has one: a loop runs on the threads that there are."""
        self._threads += 1
        try:
            threading.Thread(target=self._serve, name=f"slinky-{self._threads}", daemon=True).start()
        except (RuntimeError, MemoryError):
            self._threads -= 1
            return False
        return True

    def dismiss(self, team: _Team[Any]) -> None:
        """Withdraw the calls that nobody has answered."""
        with self._lock:
            if self._calls:
                self._calls = deque(call for call in self._calls if call[0] is not team)

    def _serve(self) -> None:
        while self is _pool:  # not so in a child that was forked while this thread helped
            with self._wanted:
                self._idle += 1
                while not self._calls:
                    self._wanted.wait()
                self._idle -= 1
                team, context, errors = self._calls.popleft()
            if team.join():
                try:
                    context.run(_help, team, errors)
                finally:
                    team.leave()
            del team, context, errors  # what a loop used must not live until the next call
        # The child ends with the only thread that it began with, whatever threads its own loops have started.
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(0)


def _help(team: _Team[Any], errors: dict[str, Any]) -> None:
    """Work on a loop with the caller's handling of floating-point errors, which older NumPys keep for each thread."""
    with np.errstate(**errors):
        team.work()


_pool = _Pool()


def _forget_threads() -> None:
    """In a forked child there are no threads yet."""
    global _pool
    _pool = _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def run_parallel(iterations: Sequence[int], body: Callable[[int], None], workers: int) -> None:
    """Run `body` for every iteration on up to `workers` threads, this one included, as far as the pool has them.

    Helpers run in a copy of the caller's context, so that settings such as `numpy.errstate` hold for them, too.
    """
    limit = default_workers()
    helpers = min(workers, limit, len(iterations)) - 1
    if helpers < 1:
        for iteration in iterations:
            body(iteration)
        return
    _work(_ParallelTeam(iterations, body), helpers, limit - 1)


def run_stages(iterations: Sequence[int], stages: Sequence[Callable[[int], None]], depth: int, workers: int) -> None:
    """Run every stage for every iteration, as `ir.stages` says when, on up to `workers` threads, this one included.

    The threads are got as in `run_parallel`. There is work for as many as there are stages, or iterations under way.
    """
    limit = default_workers()
    helpers = min(workers, limit, len(stages), depth, len(iterations)) - 1
    if helpers < 1:
        for iteration in iterations:
            for stage in stages:
                stage(iteration)
        return
    _work(_StagedTeam(iterations, stages, depth), helpers, limit - 1)


def run_far_ahead(iterations: Sequence[int], stages: Sequence[Callable[[int], None]], depth: int) -> None:
    """Run every stage for every iteration, in this thread, and each stage as far ahead of the others as it may be."""
    ended = [0] * len(stages)
    while ended[-1] < len(iterations):
        ready = (s for s, n in enumerate(ended) if n < len(iterations) and may_begin(s, ended, depth))
        stage = next(ready)
        stages[stage](iterations[ended[stage]])
        ended[stage] += 1


def _work(team: _Team[Any], helpers: int, limit: int) -> None:
    """Work on a loop, with helpers as far as there are any, to its end; raise what went wrong."""
    try:
        _pool.call_for_help(team, helpers, limit)
        team.work()
    except BaseException as error:
        team.stop(error)
    _finish(team)
    found = team.error
    if found is not None:
        try:
            raise found
        finally:
            team.error = found = None  # the traceback leads back here: no cycle that keeps arrays alive


def _finish(team: _Team[Any]) -> None:
    """Wait until nothing of a loop is running."""
    try:
        _pool.dismiss(team)
    except BaseException as error:
        team.stop(error)
        _pool.dismiss(team)
    team.wait()
