"""A trace of a run as a file that Perfetto and chrome://tracing open: a bar per call, a curve of the memory."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from typing import Any

from slinky.errors import ArgumentError, cited
from slinky.kept import as_path
from slinky.runtime import forks
from slinky.runtime.statistics import Hooks, Span
from slinky.runtime.storage import box_text


class Tracer:
    """Collects what hooks are told, with the time. Safe to use from many threads."""

    def __init__(self) -> None:
        self._start = time.perf_counter_ns()
        self._events: list[dict[str, Any]] = []
        self._begun = threading.local()
        self._threads: dict[int, tuple[int, str]] = {}
        self._live = 0
        self._lock = forks.lock()

    def hooks(self) -> Hooks:
        """The hooks to run with."""
        return Hooks(
            self._call_begin, self._call_end, lambda _, size: self._memory(size), lambda _, size: self._memory(-size)
        )

    def _now(self) -> float:
        """Microseconds since the beginning."""
        return (time.perf_counter_ns() - self._start) / 1000

    def _call_begin(self, _func: str, _box: Span) -> None:
        begun = self._begun.__dict__.setdefault("stack", [])
        begun.append(self._now())

    def _call_end(self, func: str, box: Span) -> None:
        begin = self._begun.stack.pop()
        end = self._now()
        with self._lock:
            # Threads are numbered from 1: Perfetto takes no numbers as large as the system's.
            thread, _ = self._threads.setdefault(
                threading.get_ident(), (len(self._threads) + 1, threading.current_thread().name)
            )
            self._events.append(
                {
                    "name": func, "cat": "call", "ph": "X", "pid": os.getpid(), "tid": thread, "ts": begin,
                    "dur": end - begin, "args": {"box": box_text(box)},
                }
            )  # fmt: skip

    def _memory(self, change: int) -> None:
        with self._lock:
            self._live += change
            self._events.append(
                {
                    "name": "intermediates", "ph": "C", "pid": os.getpid(), "ts": self._now(),
                    "args": {"bytes": self._live},
                }
            )  # fmt: skip

    @property
    def has_events(self) -> bool:
        """Whether anything has happened."""
        return bool(self._events)

    def write(self, path: str | os.PathLike[str], name: str) -> None:
        """Write the file. `name` is what the process is called in it."""
        names: list[dict[str, Any]] = [
            {"name": "process_name", "ph": "M", "pid": os.getpid(), "args": {"name": name}},
            *(
                {"name": "thread_name", "ph": "M", "pid": os.getpid(), "tid": thread, "args": {"name": thread_name}}
                for thread, thread_name in self._threads.values()
            ),
        ]
        events = sorted(self._events, key=lambda event: float(event["ts"]))
        as_path(path).write_text(json.dumps({"traceEvents": names + events, "displayTimeUnit": "ns"}), encoding="utf-8")


def require_writable(path: str | os.PathLike[str]) -> None:
    """Raise `ArgumentError` if no file can be written there. What is there stays as it is."""
    try:
        file = as_path(path)
    except TypeError as error:
        raise ArgumentError(f"trace: path must be the name of a file, got {cited(path)}: {error}") from None
    try:
        if not file.exists():
            with tempfile.TemporaryFile(dir=file.parent):
                return
        problem = "it is a folder" if file.is_dir() else None if os.access(file, os.W_OK) else "it is read-only"
    except OSError as error:
        problem = error.strerror
    if problem:
        raise ArgumentError(f"trace: {file} cannot be written: {problem}")
