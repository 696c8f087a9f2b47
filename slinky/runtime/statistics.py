"""What a run used: memory, calls, elements. But for `peak_bytes`, as the program says, whatever the back end."""

from __future__ import annotations

import heapq
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any, ParamSpec, TypeAlias

import attrs

from slinky.errors import ArgumentError, cited
from slinky.ir.nesting import funcs_in
from slinky.ir.operations import Copy
from slinky.ir.statements import Program
from slinky.runtime import forks

Span: TypeAlias = tuple[tuple[int, int], ...]


@attrs.frozen
class Memory:
    """What the intermediates of a run take, in bytes.

    * `program_bytes`: the most at any time by the program, whatever runs it: a buffer lives from its `alloc` to the
      last statement that names it, and a folded dimension counts its fold. Buffers in one memory live from the first
      to the last of them, and count as the largest.
    * `peak_bytes`: what the run really reserves. Buffers that are needed one after the other share bytes, those that
      lie in an output take none, and rings are whole pages.
    """

    program_bytes: int
    peak_bytes: int


@attrs.frozen
class RunStatistics:
    """What one run used.

    * `program_bytes`, `peak_bytes`: the memory of intermediates, as in `Memory`. The second is the back end's own.
    * `allocations`: how many buffers were allocated, apart from those that lie in the memory of another.
    * `calls`: per func, how often its callback ran. Calls of empty boxes do not count.
    * `elements`: per func, how many points of its dimensions were computed, counting repetitions.
    * `bytes_copied`: how many bytes copies wrote that slinky understands (see `sl.copies`), whoever carried them out.
    * `seconds`: of a `timed` run, per func, how long its callback ran, added up over all workers; else None. It is not
      compared.
    * `outputs`: the outputs, in the order of the pipeline's, as calling it returns them. They are not compared.

    What a func does that is a pipeline of its own is counted with the rest, by the names of the funcs in it.
    """

    program_bytes: int
    peak_bytes: int
    allocations: int
    calls: dict[str, int]
    elements: dict[str, int]
    bytes_copied: int = 0
    seconds: dict[str, float] | None = attrs.field(default=None, eq=False)
    outputs: tuple[Any, ...] = attrs.field(default=(), eq=False, repr=False)


@attrs.frozen
class Hooks:
    """Callables that are told what a run does, on the thread that does it. Each is optional.

    `call_begin(func, box)` and `call_end(func, box)` get a func's name and its box, an inclusive `(min, max)` per
    dimension; `call_end` comes also after an error. `allocate(buffer, bytes)` and `free(buffer, bytes)` get a
    buffer's name and its size by the program. Raises `ArgumentError` for one that cannot be called.
    """

    call_begin: Callable[[str, Span], None] | None = None
    call_end: Callable[[str, Span], None] | None = None
    allocate: Callable[[str, int], None] | None = None
    free: Callable[[str, int], None] | None = None

    def __attrs_post_init__(self) -> None:
        for field in attrs.fields(Hooks):
            hook = getattr(self, field.name)
            if hook is not None and not callable(hook):
                raise ArgumentError(f"hook {field.name} must be callable, got {cited(hook)}")

    def after(self, first: Hooks) -> Hooks:
        """Hooks that do what `first` does, and then what these do."""
        return Hooks(
            _both(first.call_begin, self.call_begin),
            _both(first.call_end, self.call_end),
            _both(first.allocate, self.allocate),
            _both(first.free, self.free),
        )


P = ParamSpec("P")


def _both(first: Callable[P, None] | None, second: Callable[P, None] | None) -> Callable[P, None] | None:
    if first is None or second is None:
        return first or second

    def both(*args: P.args, **kwargs: P.kwargs) -> None:
        first(*args, **kwargs)
        second(*args, **kwargs)

    return both


class Recorder:
    """Counts while a run goes on, from any thread. `funcs` are those of `bytes_copied_per_element`. Calls are timed if
    `timed` says so."""

    def __init__(self, funcs: Mapping[str, int], hooks: Hooks, timed: bool = False, threads: int | None = None) -> None:
        self._sizes = funcs
        self.threads = threads
        """How many threads were asked for: inner pipelines use as many."""
        self._lock = forks.lock()
        self.hooks = hooks
        self._live = 0
        self._peak = 0
        self._allocations = 0
        self._calls = dict.fromkeys(funcs, 0)
        self._elements = dict.fromkeys(funcs, 0)
        self._seconds = dict.fromkeys(funcs, 0.0) if timed else None
        self._inner: dict[object, _InnerBytes] = {}

    @contextmanager
    def inside(self, what: object, at_once: int = 1) -> Iterator[Callable[[int], None]]:
        """An inner pipeline runs, on as many threads at the same time. The context is a function to tell how many bytes
        it reserved."""
        with self._lock:
            own = self._inner.setdefault(what, _InnerBytes())
            own.running += at_once
            own.most = max(own.most, own.running)
        try:
            yield own.reserved
        finally:
            with self._lock:
                own.running -= at_once

    def called(self, func: str, elements: int) -> None:
        """A callback is about to run for this many points."""
        with self._lock:
            self._calls[func] += 1
            self._elements[func] += elements

    def took(self, func: str, seconds: float) -> None:
        """A callback has run for so long, in a run that is timed."""
        with self._lock:
            assert self._seconds is not None
            self._seconds[func] += seconds

    def allocated(self, buffer: str, size: int) -> None:
        """A buffer was allocated."""
        with self._lock:
            self._allocations += 1
            self._live += size
            self._peak = max(self._peak, self._live)
        if self.hooks.allocate is not None:
            self.hooks.allocate(buffer, size)

    def freed(self, buffer: str, size: int) -> None:
        """A buffer was released."""
        with self._lock:
            self._live -= size
        if self.hooks.free is not None:
            self.hooks.free(buffer, size)

    def overlap(self, parts: Iterable[Callable[[], None]], at_once: int) -> None:
        """Run parts one after the other, and count memory as if the `at_once` largest of them ran at the same time."""
        before, live = self._peak, self._live
        peaks: list[int] = []
        for part in parts:
            self._peak = live
            part()
            heapq.heappush(peaks, self._peak - live)
            if len(peaks) > at_once:
                heapq.heappop(peaks)
        self._peak = max(before, live + sum(peaks))

    def call(self, func: str, box: Span) -> CallRecord:
        """A context in which a callback runs over a box."""
        return CallRecord(self, func, box) if self._seconds is None else TimedCallRecord(self, func, box)

    def block(self) -> BlockRecord:
        """A context for the allocations of a block: those not freed in it are freed when it ends."""
        return BlockRecord(self)

    def statistics(self, peak_bytes: int) -> RunStatistics:
        """What was counted, of a run that reserved so many bytes."""
        with self._lock:
            copied = sum(self._sizes[func] * count for func, count in self._elements.items())
            calls, elements = dict(self._calls), dict(self._elements)
            seconds = None if self._seconds is None else dict(self._seconds)
            peak_bytes += sum(own.most * own.bytes for own in self._inner.values())
            return RunStatistics(self._peak, peak_bytes, self._allocations, calls, elements, copied, seconds)


class _InnerBytes:
    """What an inner pipeline reserves: the most of one run, and how many run at the same time."""

    def __init__(self) -> None:
        self.running = self.most = self.bytes = 0

    def reserved(self, count: int) -> None:
        """A run has reserved so many bytes."""
        self.bytes = max(self.bytes, count)


def bytes_copied_per_element(program: Program) -> dict[str, int]:
    """The funcs of a program, those of inner pipelines, too, each with the bytes of an element that it copies: none but
    of a copy."""
    return {f.name: f.outputs[0].dtype.itemsize if isinstance(f.operation, Copy) else 0 for f in funcs_in(program)}


class _Here(threading.local):
    """The recorder of the call that is under way on a thread."""

    recorder: Recorder | None = None


_here = _Here()


def recorder_here() -> Recorder | None:
    """Who counts what the call does that is under way on this thread; None if nobody does."""
    return _here.recorder


class Meter:
    """The most bytes that are in use at any time, told from any thread."""

    def __init__(self) -> None:
        self._lock = forks.lock()
        self._live = 0
        self.peak = 0

    def add(self, size: int) -> None:
        """So many more; fewer, if negative."""
        with self._lock:
            self._live += size
            self.peak = max(self.peak, self._live)


class CallRecord:
    """A callback that runs: counted when it begins, told to the hooks when it begins and ends."""

    __slots__ = ("_before", "_box", "_func", "_recorder")

    def __init__(self, recorder: Recorder, func: str, box: Span) -> None:
        self._recorder = recorder
        self._func = func
        self._box = box

    def __enter__(self) -> None:
        self._recorder.called(self._func, math.prod(hi - lo + 1 for lo, hi in self._box))
        if self._recorder.hooks.call_begin is not None:
            self._recorder.hooks.call_begin(self._func, self._box)
        self._before, _here.recorder = _here.recorder, self._recorder

    def __exit__(self, *error: object) -> None:
        _here.recorder = self._before
        if self._recorder.hooks.call_end is not None:
            self._recorder.hooks.call_end(self._func, self._box)


class TimedCallRecord(CallRecord):
    """The same, with a clock: what the hooks do is not counted."""

    __slots__ = ("_began",)

    def __enter__(self) -> None:
        super().__enter__()
        self._began = perf_counter()

    def __exit__(self, *error: object) -> None:
        self._recorder.took(self._func, perf_counter() - self._began)
        super().__exit__(*error)


class BlockRecord:
    """The buffers of a block of statements, and their sizes."""

    __slots__ = ("_recorder", "_sizes")

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._sizes: dict[str, int] = {}

    def __enter__(self) -> BlockRecord:
        return self

    def allocate(self, buffer: str, size: int) -> None:
        """A buffer begins."""
        self._sizes[buffer] = size
        self._recorder.allocated(buffer, size)

    def free(self, buffer: str) -> None:
        """A buffer ends."""
        self._recorder.freed(buffer, self._sizes.pop(buffer))

    def __exit__(self, *error: object) -> None:
        for buffer in list(self._sizes):
            self.free(buffer)
