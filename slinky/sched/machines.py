"""The machine that a schedule is made for: how much its caches hold, how fast they are, what a call costs.

The bandwidth of each level and the time of a call are measured, once for each machine, and kept in the user's cache
folder, so that each process finds the same. What loops in C take is measured the first time that somebody schedules for
these, for that takes a compiler. A `Machine` written by hand makes schedules for another machine, or the same ones
everywhere.

Invariant: a machine never changes, and whoever schedules knows nothing of this one that is not in it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import platform
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import attrs
import numpy as np

from slinky.errors import OperationError, cited
from slinky.ir.given import as_float
from slinky.kept import cache_folder, replace_json
from slinky.symbolic import is_integer

_LEAST, _MOST = 1e-30, 1e30
"""Beyond what any machine has: with what lies between them floats can be reckoned with."""


def _plain(value: object) -> object:
    """A number of NumPy as one of Python; anything else as it is."""
    return value.item() if isinstance(value, (np.integer, np.floating)) else value


def _require_positive(_: object, field: attrs.Attribute[Any], value: object) -> None:
    if (number := as_float(value)) is None or not 0 < number < float("inf"):
        raise OperationError(f"Machine: {field.name} must be a number above 0, got {cited(value)}")
    if not _LEAST <= number <= _MOST:
        raise OperationError(f"Machine: {field.name} must be a number from {_LEAST} to {_MOST}, got {cited(value)}")


def _require_count(_: object, field: attrs.Attribute[Any], value: object) -> None:
    if not is_integer(value) or not 0 < cast(int, value) < 1 << 63:
        raise OperationError(
            f"Machine: {field.name} must be an integer above 0, of 63 bits at most, got {cited(value)}"
        )


@attrs.frozen(kw_only=True)
class Machine:
    """What a schedule has to know of a machine. The values it has without any are those of a laptop.

    * `near_bytes`: what the cache of one core holds (the second level); `shared_bytes`: what the last level holds for
      one process: the rest may be others'.
    * `near_bandwidth`, `shared_bandwidth`, `memory_bandwidth`: bytes a second of one core, where the data lies in its
      own cache, in the last level, and in memory.
    * `clearing_bandwidth`: bytes a second of new memory that the system clears, beside what it takes to write to it.
    * `call_seconds`: what a call of a callback costs that computes next to nothing: a few NumPy calls.
    * `cores`: how many there are; `product_threads`: on how many NumPy multiplies matrices.
    * `first_bytes`: what the first level of cache holds; `loop_bandwidth`: bytes a second that loops in C read and
      write there; `loop_operations`: bytes a second that an operation on elements gives in them, whose results stay in
      registers; `loop_call_seconds`: what a call costs that C makes of another loop.

    Raises `OperationError` for a value that is not above 0, or beyond all measure, and for parts of cores or threads.
    """

    near_bytes: int = attrs.field(default=1 << 20, converter=_plain, validator=_require_positive)
    shared_bytes: int = attrs.field(default=16 << 20, converter=_plain, validator=_require_positive)
    near_bandwidth: float = attrs.field(default=2e10, converter=_plain, validator=_require_positive)
    shared_bandwidth: float = attrs.field(default=1e10, converter=_plain, validator=_require_positive)
    memory_bandwidth: float = attrs.field(default=5e9, converter=_plain, validator=_require_positive)
    clearing_bandwidth: float = attrs.field(default=1e10, converter=_plain, validator=_require_positive)
    call_seconds: float = attrs.field(default=1e-5, converter=_plain, validator=_require_positive)
    cores: int = attrs.field(default=2, converter=_plain, validator=_require_count)
    product_threads: int = attrs.field(default=1, converter=_plain, validator=_require_count)
    first_bytes: int = attrs.field(default=32 << 10, converter=_plain, validator=_require_positive)
    loop_bandwidth: float = attrs.field(default=5e10, converter=_plain, validator=_require_positive)
    loop_operations: float = attrs.field(default=5e10, converter=_plain, validator=_require_positive)
    loop_call_seconds: float = attrs.field(default=1e-8, converter=_plain, validator=_require_positive)

    def bandwidth(self, live: float) -> float:
        """Bytes a second of one core that works on so many bytes, over and over.

        Between the levels it falls evenly with the logarithm of the bytes: part of them is still in the nearer one.
        """
        near, shared = self.near_bytes, self.shared_bytes
        if live <= near:
            return self.near_bandwidth
        if live <= 4 * near:
            return _between(live, (near, self.near_bandwidth), (4 * near, self.shared_bandwidth))
        low, high = max(shared // 4, 4 * near) + 1, max(2 * shared, 4 * near + 2)
        if live <= low:
            return self.shared_bandwidth
        if live <= high:
            return _between(live, (low, self.shared_bandwidth), (high, self.memory_bandwidth))
        return self.memory_bandwidth

    def bandwidth_of_loops(self, live: float) -> float:
        """The same for loops in C: what fits the first level is faster than what is in the second."""
        fast, first, near = max(self.loop_bandwidth, self.near_bandwidth), self.first_bytes, self.near_bytes
        if live > first < near:
            return self.bandwidth(live) if live >= near else _between(live, (first, fast), (near, self.near_bandwidth))
        return fast if live <= first else self.bandwidth(live)

    @property
    def most_live(self) -> int:
        """How many bytes it is worth at most to work on over and over: more goes to memory and back."""
        return max(self.shared_bytes // 3, 4 * self.near_bytes)


def _between(live: float, less: tuple[int, float], more: tuple[int, float]) -> float:
    """The bandwidth of what lies between two sizes that have one each."""
    (low, fast), (high, slow) = less, more
    share = math.log(live / low) / math.log(high / low)
    return float(fast * (slow / fast) ** share)


def this_machine() -> Machine:
    """The machine that this process runs on, measured the first time and kept in the user's cache folder.

    `SLINKY_CACHE` names another folder. Where nothing can be written, each process measures for itself; one
    that may not have a few hundred megabytes for that goes by the figures of `Machine()`.
    """
    return _this_machine(os.environ.get("SLINKY_CACHE"))


def this_machine_for(backend: str) -> Machine:
    """The same for a back end: of one that makes loops in C, what these take is measured, too."""
    folder = os.environ.get("SLINKY_CACHE")
    return _this_machine(folder) if backend in ("python", "interpreter") else _this_machine_in_c(folder)


@cache
def _this_machine(folder: str | None) -> Machine:
    found = _kept(folder, "machine", Machine(), measure)
    return attrs.evolve(found, product_threads=_product_threads(found.cores))


def _product_threads(cores: int) -> int:
    """On how many threads this process multiplies matrices: libraries for it take all cores, or what the environment
    says when NumPy is imported."""
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS"):
        said = os.environ.get(name, "")
        if said.isdigit() and int(said) > 0:
            return min(int(said), cores)
    return cores


@cache
def _this_machine_in_c(folder: str | None) -> Machine:
    from slinky.sched.measured_loops import measured_loops  # a pipeline that is run, made of public names

    machine = _this_machine(folder)
    return _kept(folder, "loops", machine, lambda: measured_loops(machine))


def _kept(folder: str | None, what: str, given: Machine, measured: Callable[[], Machine]) -> Machine:
    """What was kept of a machine, else measured and kept; of what is said of it already, what differs is.

    A process without memory for that goes on with what is said already: what it computes may need much less.
    """
    path = kept_path(folder, what)
    kept = _read(path, given)
    if kept is None:
        try:
            kept = measured()
        except MemoryError:
            return given
        with contextlib.suppress(OSError):  # it is measured again next time
            replace_json(path, {name: value for name, value in attrs.asdict(kept).items() if name in _FIELDS[what]})
    return kept


_LOOPS = ("first_bytes", "loop_bandwidth", "loop_operations", "loop_call_seconds")
_OF_THE_PROCESS = "product_threads"
_FIELDS = {
    "machine": {f.name for f in attrs.fields(Machine)}.difference(_LOOPS, [_OF_THE_PROCESS]),
    "loops": set(_LOOPS),
}
"""What is kept under which name."""


_MEASURED = 6
"""How it is measured: what was kept by another version of this is measured again."""


def kept_path(folder: str | None, what: str) -> Path:
    """Where something is kept of this machine; `folder` is what the environment says."""
    return cache_folder(folder) / f"{what}-{_MEASURED}-{_name()}.json"


def _name() -> str:
    """What tells machines apart that share a folder."""
    words = f"{platform.node()}-{platform.machine()}-{os.cpu_count()}"
    return "".join(c if c.isalnum() else "-" for c in words)


def _read(path: Path, given: Machine) -> Machine | None:
    """A machine with what was kept; None where there is nothing, or nothing that makes sense."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return attrs.evolve(given, **kept) if isinstance(kept, dict) else None
    except (OSError, ValueError, TypeError, OperationError):
        return None


def measure() -> Machine:
    """Measure this machine: half a second or so.

    In several rounds, of which the best counts, by the time of this thread: others use it, too. What the last level
    holds is measured as well where it is said to be large: a virtual machine is told of all of it, and shares it with
    others that it cannot see. What is nearer is at least as fast: where the best of it was slower, others were at work
    in all rounds.
    """
    near, said = _cache_sizes()
    middle = min(max(4 * near, said // 8), 1 << 23)
    sizes = sorted({near // 4, middle, *_beyond(middle, min(2 * said, _MOST_MEASURED))})
    arrays = [np.ones(sizes[-1] // 12 + 1, np.float32) for _ in range(3)]
    rounds = [[_bandwidth(size, arrays) for size in sizes] for _ in range(_ROUNDS)]
    found = dict(zip(sizes, map(max, zip(*rounds, strict=True)), strict=True))
    memory = found[sizes[-1]]
    shared = max(found[middle], memory)
    return Machine(
        near_bytes=near,
        shared_bytes=max(min(said, held_by_the_last_level(found, middle)), 4 * near),
        near_bandwidth=rounded(max(found[sizes[0]], shared)),
        shared_bandwidth=rounded(shared),
        memory_bandwidth=rounded(memory),
        clearing_bandwidth=rounded(max(_clearing() for _ in range(_ROUNDS))),
        call_seconds=rounded(_NUMPY_CALLS * min(_seconds_of_a_call() for _ in range(_ROUNDS))),
        cores=os.cpu_count() or 1,
    )


_ROUNDS = 6
"""How often everything is measured."""

_MOST_MEASURED = 1 << 28
"""So many bytes lie in memory, whatever a cache is said to hold."""


def _beyond(size: int, most: int) -> list[int]:
    """Twice a size, four times that, and so on, up to the most."""
    return [*itertools.takewhile(lambda larger: larger < most, (size << k for k in itertools.count(1))), most]


def held_by_the_last_level(found: dict[int, float], middle: int) -> int:
    """The largest size whose bandwidth, and that of all smaller ones from the middle on, is nearer to that of the
    middle, which lies in the last level, than to that of the largest, which lies in memory.

    Where the two hardly differ, there is no telling, and nothing to be gained by knowing: the largest size.
    """
    largest = max(found)
    if found[middle] < _DIFFERENT * found[largest]:
        return largest
    between = math.sqrt(found[middle] * found[largest])
    sizes = itertools.takewhile(lambda size: found[size] >= between, sorted(size for size in found if size >= middle))
    return max(sizes)


_DIFFERENT = 1.2
"""How many times as fast a level must be to be told from the next one."""


_NUMPY_CALLS = 16
"""How many NumPy calls a callback makes that a person writes: slices, a few operations."""


def _cache_sizes() -> tuple[int, int]:
    """Bytes of the second and of the last level, as the system says it; those of `Machine` where it does not."""
    usual = Machine()
    near = _cache_size(2) or usual.near_bytes
    return near, max(_cache_size(3) or usual.shared_bytes, 4 * near)


def first_level() -> int:
    """Bytes of the first level, as the system says it; those of `Machine` where it does not."""
    return _cache_size(1) or Machine().first_bytes


def _cache_size(level: int) -> int:
    """Bytes of a level, as the C library or the Linux kernel says it; 0 where neither does."""
    try:
        found = os.sysconf(f"SC_LEVEL{level}_{'DCACHE' if level == 1 else 'CACHE'}_SIZE")
        if found > 0:
            return found
    except (AttributeError, ValueError, OSError):
        pass
    try:
        text = Path(f"/sys/devices/system/cpu/cpu0/cache/index{level}/size").read_text(encoding="utf-8").strip()
        return int(text.removesuffix("K")) * 1024
    except (OSError, ValueError):
        return 0


def _bandwidth(size: int, arrays: Sequence[np.ndarray[Any, Any]]) -> float:
    """Bytes a second of a sum of two arrays that takes so many bytes in all, in the beginnings of three arrays."""
    n = max(size // 12, 1)
    a, b, c = (array[:n] for array in arrays)
    repeats = max((1 << 25) // size, 1)

    def run() -> None:
        for _ in range(repeats):
            np.add(a, b, out=c)

    return 12 * n * repeats / least_seconds(run, 5 if size <= 1 << 25 else 1)


_CLEARED = 1 << 26
"""So many bytes have new memory each time: the C library keeps less than that for later."""


def _clearing() -> float:
    """Bytes a second of new memory that the system clears: what the first writing takes longer than the second."""
    clock = _clock()
    memory = np.empty(_CLEARED, np.uint8)
    times = [clock()]
    for value in (1, 2):
        memory.fill(value)
        times.append(clock())
    first, second = times[1] - times[0], times[2] - times[1]
    return _CLEARED / max(first - second, first / 100, 1e-9)


def _seconds_of_a_call() -> float:
    a, c = np.ones(16, np.float32), np.ones(16, np.float32)

    def run() -> None:
        for _ in range(1000):
            np.add(a, a, out=c)

    return least_seconds(run) / 1000


def least_seconds(run: Callable[[], None], times_more: int = 5) -> float:
    """The least that a function takes of several times, behind one that does not count."""
    clock = _clock()
    run()
    times = []
    for _ in range(times_more):
        start = clock()
        run()
        times.append(clock() - start)
    return max(min(times), 1e-9)


def _clock() -> Callable[[], float]:
    """The time of this thread alone, so that a machine that has much to do is found as fast as it is; the time of day
    where the former is counted in large steps."""
    return time.thread_time if time.get_clock_info("thread_time").resolution <= 1e-6 else time.perf_counter


def rounded(value: float) -> float:
    """Two digits: nobody knows more."""
    return float(f"{value:.1e}")
