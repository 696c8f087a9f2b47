"""Functions that do a step again and again under `sl.jit` as it is: simulations, and iterations until nothing changes.

Nothing is asked for but the decorator. Each function is measured three times: as written; in the first call of all,
which traces, schedules and compiles, with nothing compiled before; and in later calls, when all has moved to C. The
memory is what a later call takes at its peak beside its arguments, as NumPy counts its arrays.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import numpy as np

import slinky as sl
from benchmarks.harness import seconds_text
from slinky.runtime import reusing


def _around(a: Any) -> Any:
    return np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a


def heat(u: Any, steps: int) -> Any:
    """Heat that spreads, by slices, with borders that stay."""
    for _ in range(steps):
        new = u.copy()
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
        u = new
    return u


def reaction(u: Any, v: Any, steps: int) -> Any:
    """Two substances that react and spread, on a torus, by rolls: the second one."""
    for _ in range(steps):
        both = u * v * v
        u = u + 0.16 * _around(u) - both + 0.035 * (1 - u)
        v = v + 0.08 * _around(v) + both - 0.1 * v
    return v


def wave(before: Any, now: Any, steps: int) -> Any:
    """A membrane, by its last two states."""
    for _ in range(steps):
        after = 2 * now - before
        after[1:-1, 1:-1] += 0.25 * (
            now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        )
        before, now = now, after
    return now


def settled(u: Any, source: Any, least: float) -> Any:
    """A potential by Jacobi's iteration, until no element changes by more."""
    while True:
        new = u.copy()
        new[1:-1, 1:-1] = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - source[1:-1, 1:-1]) / 4
        change = np.abs(new - u).max()
        u = new
        if change < least:
            return u


def functions(size: int, steps: int) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """What is measured, by what is said of it, with its arguments."""
    u, v = np.random.default_rng(0).random((2, size, size))
    return {
        f"heat, {steps} steps": (heat, (u, steps)),
        f"two substances, {steps} steps": (reaction, (u, v, steps)),
        f"a membrane, {steps} steps": (wave, (u, v, steps)),
        f"a potential, until it has settled after {steps}": (settled, (u, v, _change(u, v, steps))),
    }


def _change(u: Any, source: Any, steps: int) -> float:
    """What is more than the largest change of a step of `settled`, and less than that of those before."""
    changes = [np.inf]
    while len(changes) <= steps:
        before, u = u, settled(u, source, np.inf)
        changes.append(float(np.abs(u - before).max()))
    return (min(changes[:-1]) + changes[-1]) / 2


def _seconds(function: Callable[..., Any], arguments: Sequence[Any]) -> float:
    began = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - began


def _peak(function: Callable[..., Any], arguments: Sequence[Any]) -> int:
    """The most bytes of arrays at a time in a call. Memory that is kept for later results is NumPy's here."""
    with mock.patch.object(reusing, "_mapped", return_value=None):
        tracemalloc.start()
        try:
            function(*arguments)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def measured(function: Callable[..., Any], arguments: Sequence[Any], rounds: int) -> dict[str, float]:
    """Seconds of NumPy as written, of the first call and of later ones, and the bytes of both at their peak."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", sl.ForcedValueWarning)
        for warm in (function, sl.jit(function)):  # imports, and what is known of the machine
            warm(*[each[:64, :64] if isinstance(each, np.ndarray) else each for each in arguments])
        sl.this_machine()
        with mock.patch.dict(os.environ, {"SLINKY_CACHE": folder}):
            sl.this_machine()
            traced = sl.jit(function)
            first = _seconds(traced, arguments)
            for _ in range(6):
                traced(*arguments)
            traced.wait_native(60)
            traced(*arguments)
            np.testing.assert_array_equal(traced(*arguments), function(*arguments))
            pairs = [(_seconds(function, arguments), _seconds(traced, arguments)) for _ in range(rounds)]
            peaks = [_peak(each, arguments) for each in (function, traced)]
    plain, later = (statistics.median(each) for each in zip(*pairs, strict=True))
    return {"NumPy": plain, "first": first, "later": later, "NumPy bytes": peaks[0], "bytes": peaks[1]}


def run(quick: bool) -> dict[str, dict[str, float]]:
    """The times of each function."""
    size, steps, rounds = (300, 40, 3) if quick else (1500, 100, 5)
    return {name: measured(*each, rounds) for name, each in functions(size, steps).items()}


def table(found: dict[str, dict[str, float]]) -> str:
    """A line for each function."""
    head = ["", "NumPy as written", "first call", "later calls", "times as fast", "memory of NumPy", "memory"]
    lines = ["", f"| {' | '.join(head).lstrip()} |", f"|---|{'---:|' * (len(head) - 1)}"]
    for name, each in found.items():
        times = [seconds_text(each[what]) for what in ("NumPy", "first", "later")]
        times.append(f"{each['NumPy'] / each['later']:.1f}")
        sizes = [f"{each[what] / 1e6:.0f} MB" for what in ("NumPy bytes", "bytes")]
        lines.append(f"| {name} | {' | '.join([*times, *sizes])} |")
    return "\n".join(lines)
