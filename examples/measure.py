"""Time and memory of a run, and a small table to show them: what the examples share."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import slinky as sl


def seconds(run: Callable[[], object], repeats: int = 5) -> float:
    """The shortest of several runs."""
    shortest = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def peak_bytes(run: Callable[[], object]) -> int:
    """The most memory that a run has in use at any time beyond what was there before, as Python's allocators see it."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def compare(
    plain: Callable[[], object],
    result_bytes: int,
    run: Callable[[], sl.RunStatistics],
    name: str = "plain NumPy",
    repeats: int = 5,
) -> str:
    """A table of time and memory of plain NumPy, or of what has this name, and of a pipeline; times are the shortest of
    several.

    Plain NumPy makes its result anew and a pipeline is given it, so the result is counted for neither. A pipeline keeps
    the memory of its intermediates for its next run, where it cannot be seen. It is therefore what the run tells of it,
    and the most that callbacks take inside is added: the sum is never less than what the run really takes.
    """
    plain_time, pipeline_time = milliseconds(plain, repeats), milliseconds(run, repeats)
    intermediates, inside = run().peak_bytes, peak_bytes(run)
    rows = [
        ("", "time", "peak memory", "of which intermediates"),
        (name, plain_time, megabytes(peak_bytes(plain) - result_bytes), "-"),
        ("pipeline", pipeline_time, megabytes(intermediates + inside), megabytes(intermediates)),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ([cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)] for row in rows)
    return "\n".join("  ".join((row[0].ljust(widths[0]), *line)) for row, line in zip(rows, lines, strict=True))


def compare_traced(
    traced: Any,
    arrays: Sequence[np.ndarray],
    result: np.ndarray,
    plain: Callable[[np.ndarray], object],
    name: str = "plain NumPy",
    max_bytes: int | None = None,
) -> str:
    """A table of time and memory of a function as it stands, and of what `sl.jit` makes of it.

    The pipeline is given the array of the function, and after it those that the function knows, which are its `arrays`.
    Intermediates take no more than `max_bytes`.
    """
    pipeline, target = traced.pipeline(arrays[0]).auto(max_bytes=max_bytes), np.empty_like(result)
    return compare(lambda: plain(arrays[0]), target.nbytes, lambda: pipeline.run(*arrays, target), name)


def milliseconds(run: Callable[[], object], repeats: int = 5) -> str:
    """The time of a run, for people."""
    return f"{seconds(run, repeats) * 1e3:.1f} ms"


def megabytes(size: int) -> str:
    """A size for people: 1 MB is a million bytes."""
    return f"{size / 1e6:.2f} MB"
