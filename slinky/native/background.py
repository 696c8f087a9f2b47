"""Compiling in the background: one thread, which takes job after job.

Idea. A job is a piece of work that somebody would like to have done, and does without until it is. There is one thread
for all of them, which ends when nothing waits, so that a process that compiles nothing has none. What it starts, it
starts by `run`: a compiler then runs in a group of its own, where Ctrl-C does not reach it, and ends with the process
that wanted it.

Invariants: nobody waits for the thread who does not ask to (`Job.wait`): it holds no lock that a fork waits for while
it compiles, and when the process exits, what it has started is ended, and so is the thread: Python stops threads where
they are, with locks that they hold, for which what is done at the very end would wait without end. A forked child,
which has not got the thread, finds all jobs of its parent that were not done as `lost`. The thread writes nothing:
what a job raises is kept with it.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from slinky.errors import CompilationError
from slinky.native import commands
from slinky.runtime import forks

MOST_WAITING = 64
"""So many jobs wait at most; more are not taken."""

_SECONDS_TO_END = 1.0
"""How long an exit waits for the thread to end, and to tidy up behind a compiler that was ended."""


class ExitError(BaseException):
    """What is raised in the thread, wherever it is, when the process exits."""


class Job:
    """A piece of work. When it `is_done`, it has a `result`, or an `error` that it raised, or it `is_lost`."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_done = False
        self.is_lost = False
        self._work: Callable[[], Any] | None = work
        self._ended = threading.Event()

    def run(self) -> None:
        """Do the work."""
        work, self._work = self._work, None
        try:
            self.result = None if work is None else work()
        except BaseException as error:  # whatever it is, it is said by who asked for the work
            self.error = error
        finally:
            self.is_done = True
            self._ended.set()

    def lose(self, *, in_child: bool = False) -> None:
        """Nobody will do the work. In a forked child nobody waits for it either, and other locks may be held."""
        self.is_lost = self.is_done = True
        if not in_child:
            self._ended.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is done; whether it is."""
        return self.is_done or self._ended.wait(seconds)


class Background:
    """The thread, what waits for it, and the process that it has started."""

    def __init__(self) -> None:
        self._lock = forks.lock()
        self._waiting: deque[Job] = deque()
        self._current: Job | None = None
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def take(self, work: Callable[[], Any]) -> Job | None:
        """Have work done some time; None where too much waits already, or the process ends."""
        with self._lock:
            if self._is_over or len(self._waiting) >= MOST_WAITING:
                return None
            job = Job(work)
            self._waiting.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="slinky compiles", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:  # no thread can be started any more
                    self._thread = None
                    self._waiting.clear()
                    return None
            return job

    def _work(self) -> None:
        with contextlib.suppress(ExitError):
            self._do_all()

    def _do_all(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._current = self._thread = None
                    return
                self._current = self._waiting.popleft()
            self._current.run()

    def is_here(self) -> bool:
        """Whether the thread is the one that asks."""
        return threading.current_thread() is self._thread

    def run(self, command: Sequence[str]) -> commands.Done:
        """Run a command to its end, which is soon if the process exits. Raises `OSError` if it cannot be run."""
        with self._lock:
            if self._is_over:
                raise CompilationError("the process ends")
            process = subprocess.Popen(command, start_new_session=os.name == "posix", **commands.PIPES)
            self._process = process
        try:
            return commands.said_by(process, command)
        finally:
            self._process = None

    def end(self) -> None:
        """Take no more, and end what was started: the process exits."""
        with self._lock:
            self._is_over = True
            for job in self._waiting:
                job.lose()
            self._waiting.clear()
            process, thread = self._process, self._thread
            if process is not None:
                with contextlib.suppress(OSError):
                    if os.name == "posix":
                        os.killpg(process.pid, signal.SIGKILL)
                    else:
                        process.kill()
        if thread is not None and thread is not threading.current_thread():
            _raise_in(thread)
            thread.join(_SECONDS_TO_END)

    def in_child(self) -> None:
        """In a forked child, which has one thread, and no part in what its parent has started."""
        for job in (*self._waiting, *([self._current] if self._current is not None else [])):
            job.lose(in_child=True)
        self._waiting.clear()
        self._current = self._thread = self._process = None


def _raise_in(thread: threading.Thread) -> None:
    """Have a thread end where it is, as soon as it runs Python again."""
    if thread.ident is not None:
        with contextlib.suppress(AttributeError):  # of another Python than CPython
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(ExitError))


BACKGROUND = Background()
forks.after_fork_in_child(BACKGROUND.in_child)
atexit.register(BACKGROUND.end)

__all__ = ["BACKGROUND", "MOST_WAITING", "Background", "Job"]
