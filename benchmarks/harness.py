"""Measuring several ways to compute the same thing, side by side in one run.

A benchmark is a list of *cases*; a case has *sides* that must agree before anything is timed. The sides take turns,
round by round, so that whatever else the machine does hits all of them; medians of times and of the ratios within
a round are reported. Peak memory is measured in a process of its own for each side: how far its resident memory rises
above what it was when the inputs and outputs were there and the side had run once. A result that a side makes anew in
each run is an output, too, and does not count.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Side:
    """One way to compute it. `run` computes and returns the result; `release` gives back memory kept for later."""

    name: str
    run: Callable[[], Any]
    release: Callable[[], None] = lambda: None


@dataclass
class Case:
    """What is computed, by whom. The first side is what the others are compared with.

    `make` is called when the case's turn comes, so that only one case's arrays exist at a time. `bytes_moved` gives
    a throughput. `repeats` calls of a side are timed together, for what takes microseconds or follows each other.
    """

    name: str
    make: Callable[[], list[Side]]
    bytes_moved: int = 0
    repeats: int = 1
    tolerance: float = 1e-4


@dataclass
class Row:
    """What was measured of one side: median seconds, median ratio of time to the first side's, peak bytes."""

    case: str
    side: str
    seconds: float
    ratio: float
    gigabytes_per_second: float | None = None
    peak_bytes: int | None = None
    all_ratios: dict[str, float] = field(default_factory=dict)


class DisagreementError(AssertionError):
    """Two sides of a case give different results."""


def check(case: Case, sides: Sequence[Side]) -> None:
    """Run every side once; fail unless all agree with the first.

    Sides may write to the same array. A result is wiped once it is seen, so that no side passes on what another left.
    """
    right = _seen(sides[0].run())
    for side in sides[1:]:
        found = _seen(side.run())
        if found.shape != right.shape or not np.allclose(found, right, rtol=case.tolerance, atol=case.tolerance):
            worst = np.abs(found - right).max() if found.shape == right.shape else f"shape {found.shape}"
            raise DisagreementError(f"{case.name}: {side.name} differs from {sides[0].name} by {worst}")


def _seen(result: Array) -> Array:
    """A copy of a result, which is wiped."""
    seen = np.array(result, dtype=np.float64)
    result.fill(0)
    return seen


def measure(case: Case, seconds: float, rounds: int, memory: Callable[[str], int | None]) -> list[Row]:
    """Time a case for about this long, at least this many rounds; `memory` gives the peak of a side by its name."""
    sides = case.make()
    check(case, sides)
    times: list[list[float]] = [[] for _ in sides]
    begin = time.perf_counter()
    gc.collect()
    turn = 0
    while turn < rounds or (time.perf_counter() - begin < seconds and turn < 40):
        for offset in range(len(sides)):
            index = (turn + offset) % len(sides)
            run = sides[index].run
            start = time.perf_counter()
            for _ in range(case.repeats):
                run()
            times[index].append((time.perf_counter() - start) / case.repeats)
        turn += 1
    for side in sides:
        side.release()
    rows: list[Row] = []
    for index, side in enumerate(sides):
        median = statistics.median(times[index])
        ratios = {
            other.name: statistics.median(a / b for a, b in zip(times[index], times[k], strict=True))
            for k, other in enumerate(sides)
        }
        rate = case.bytes_moved / median / 1e9 if case.bytes_moved else None
        rows.append(Row(case.name, side.name, median, ratios[sides[0].name], rate, None, ratios))
    del sides
    gc.collect()
    for row in rows:
        row.peak_bytes = memory(row.side)
    return rows


# Memory ---------------------------------------------------------------------------------------------------------------


def measured_peak(benchmark: str, case: str, side: str, quick: bool) -> int | None:
    """The peak of one side, measured in a new process; None where the system cannot tell."""
    command = [sys.executable, "-m", "benchmarks", benchmark, "--peak-of", case, side]
    command += ["--quick"] if quick else []
    # Large blocks go back to the system at once, so that the second run shows what it takes.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"measuring the memory of {side} failed:\n{done.stderr}")
    answer = done.stdout.split()[-1]
    return None if answer == "None" else int(answer)


def peak_of(sides: Sequence[Side], name: str) -> int | None:
    """In a process of its own: how far resident memory rises in a run that is not the first.

    The system's counters may lag behind by some dozens of pages, hence the median of several runs. What these give is
    held, so that none has the memory of another's result.
    """
    side = next(side for side in sides if side.name == name)
    held = [np.asarray(side.run())]
    rises: list[int] = []
    for _ in range(5):
        side.release()
        gc.collect()
        _give_back_memory()
        if not _reset_peak():
            return None
        before = _status("VmRSS")
        result = np.asarray(side.run())
        rise = _status("VmHWM") - before
        made = 0 if np.may_share_memory(held[0], result) else result.nbytes
        rises.append(max(rise - made, 0))
        held.append(result)
    return int(statistics.median(rises))


def _give_back_memory() -> None:
    """Let the C library return what it holds for later: memory that is taken from there would not show."""
    if os.name == "posix" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)


def _reset_peak() -> bool:
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return False
    return True


def _status(name: str) -> int:
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    raise OSError(f"no {name} in /proc/self/status")


# Tables ---------------------------------------------------------------------------------------------------------------


def table(rows: Sequence[Row]) -> str:
    """Rows as a table in Markdown, one block per case."""
    lines: list[str] = []
    case = ""
    throughput = any(row.gigabytes_per_second for row in rows)
    for row in rows:
        if row.case != case:
            case = row.case
            header = ["time", *(["GB/s"] if throughput else []), "speed-up", "peak memory"]
            lines += ["", f"| {case} | {' | '.join(header)} |", f"|---|{'---:|' * len(header)}"]
        cells = [seconds_text(row.seconds)]
        if throughput:
            cells.append(f"{row.gigabytes_per_second:.2f}")
        cells += [f"{1 / row.ratio:.2f}", bytes_text(row.peak_bytes)]
        lines.append(f"| {row.side} | {' | '.join(cells)} |")
    return "\n".join(lines)


def seconds_text(seconds: float) -> str:
    """A time with three digits."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def bytes_text(size: int | None) -> str:
    """A number of bytes."""
    if size is None:
        return "-"
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} KB"


def installed(package: str) -> bool:
    """Whether a peer is there (extra `bench`); without, its side is left out."""
    return importlib.util.find_spec(package) is not None


def realised(func: Any, target: Array) -> Callable[[], Array]:
    """What runs a func of Halide, compiled for once, and returns the array that it writes."""
    import halide as hl

    output = hl.Buffer(target)
    func.compile_jit()

    def run() -> Array:
        func.realize(output)
        return target

    return run


def realised_anew(func: Any, shape: tuple[int, ...]) -> Callable[[], Array]:
    """The same, but each run returns an array of its own, as NumPy and `sl.jit` do."""
    func.compile_jit()
    return lambda: np.asarray(func.realize([*reversed(shape)]))
