"""The time to a first result: functions of twenty operations that were not traced before, and schedules nobody wrote.

Each function is measured in a process of its own, in which others have been traced: all modules are there, and nothing
that was found out about this one. Once more, with nothing but the decorator and on arrays that the caches hold, it is
measured how much longer a first call takes than the function. What counts is the processor time of the thread: neither
what else is busy, nor what compiles in the background. Nothing is read that other processes have found, but for a
column of its own, which is measured once such a process has run.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

import slinky as sl
from benchmarks import rewrites
from benchmarks.harness import Array, seconds_text
from slinky.frontend.tracing import scheduled_for

SIZE, SMALL = 2048, 200

STEPS = ("trace", "schedule", "plan")
"""To a pipeline, from there to a schedule, and to what runs it."""


def elementwise(a: Any, b: Any, c: Any) -> Any:
    """Twenty ufuncs and operators, one after the other."""
    u = np.sqrt(abs(a * 2.0 * (b + 1.0) - c))
    v = np.exp(-u)
    w = np.maximum(v * a + u, 0.0)
    t = np.where(w > 0.5, w, v)
    r = np.tanh(t * t - b) * 0.5 + c
    return np.minimum(r, 1.0) / (1.0 + u) + np.sin(r)


def slices(a: Any) -> Any:
    """A smoothed gradient and its curvature, by slices."""
    rows = a[:-2] + 2 * a[1:-1] + a[2:]
    smooth = (rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]) / 16
    x, y = (smooth[:, 2:] - smooth[:, :-2])[1:-1], (smooth[2:] - smooth[:-2])[:, 1:-1]
    m = np.sqrt(x * x + y * y)
    curved = m[2:, 1:-1] + m[:-2, 1:-1] + m[1:-1, 2:] + m[1:-1, :-2] - 4 * m[1:-1, 1:-1]
    return np.maximum(curved, 0) * 0.5


def rolls(u: Any, v: Any) -> Any:
    """A step of two substances that react and spread, on a torus."""
    spread_u = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
    spread_v = np.roll(v, 1, 0) + np.roll(v, -1, 0) + np.roll(v, 1, 1) + np.roll(v, -1, 1) - 4 * v
    both = u * v * v
    return u + 0.16 * spread_u - both + 0.06 * (1 - u), v + 0.08 * spread_v + both - 0.12 * v


def reductions(a: Any, w: Any) -> Any:
    """Rows made even, padded, smoothed, and their softmax."""
    d = a - a.mean(axis=1, keepdims=True)
    n = d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * w + 0.5
    p = np.pad(n, ((1, 1), (1, 1)), mode="edge")
    s = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) * n, e.sum(axis=0)


def filters(a: Any) -> Any:
    """Edges and texture of a picture, by thirteen filters of SciPy's whose borders are mirrored."""
    smooth, mean = sl.ndimage.gaussian_filter(a, 1.0), sl.ndimage.uniform_filter(a, 5)
    m = np.hypot(sl.ndimage.sobel(smooth, 0), sl.ndimage.sobel(smooth, 1))
    between = sl.ndimage.maximum_filter(m, 3) - sl.ndimage.minimum_filter(m, 3)
    curved = sl.ndimage.laplace(sl.ndimage.median_filter(smooth - mean, 3))
    s = sl.ndimage.gaussian_filter(sl.ndimage.correlate(between, np.ones((3, 3))) * 0.1 + curved, 2.0)
    return np.where(s > 0, s, -s) + smooth


def _arrays(*shapes: tuple[int, ...]) -> list[Array]:
    random = np.random.default_rng(1)
    return [random.random(shape) for shape in shapes]


WHOLE = (SIZE, SIZE)
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "elementwise": (elementwise, (WHOLE, WHOLE, WHOLE)),
    "stencils by slices": (slices, (WHOLE,)),
    "stencils by rolls": (rolls, (WHOLE, WHOLE)),
    "reductions and pads": (reductions, (WHOLE, (SIZE,))),
    "filters of sl.ndimage": (filters, (WHOLE,)),
}
"""What is traced, and the shapes of its arrays, by what is said of it."""


def others(a: Any) -> Any:
    """Something of each kind, so that all modules are there."""
    padded = np.pad(np.roll(a, 3, 0) - a.mean(), 2, mode="reflect")[2:-2, 2:-2]
    near = sl.ndimage.gaussian_filter(a, 3.0) + sl.ndimage.median_filter(a, 5) + sl.ndimage.sobel(a)
    return near + sl.ndimage.maximum_filter(padded, 5) + sl.ndimage.correlate(a, np.ones((5, 3)))


def first_call(name: str) -> dict[str, float]:
    """Seconds of each step of the first call of a function, when others have been called."""
    _jitted(others)(*_arrays(WHOLE))
    for other, (function, shapes) in FUNCTIONS.items():
        if other != name:
            _jitted(function)(*_arrays(*shapes))
    function, shapes = FUNCTIONS[name]
    jitted, arrays = _jitted(function), _arrays(*shapes)
    seconds = {"trace": _seconds(lambda: jitted.pipeline(*arrays))}

    def timed(step: str, action: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            found = []
            seconds[step] = _seconds(lambda: found.append(action(*given, **named)))
            return found[0]

        return run

    compile_ = sl.Pipeline.compile
    with (
        mock.patch("slinky.frontend.choosing.scheduled_for", timed("schedule", scheduled_for)),
        mock.patch.object(sl.Pipeline, "compile", timed("plan", compile_)),
    ):
        jitted(*arrays)
    return seconds


def small_call(name: str) -> float:
    """How many seconds longer than the function itself a first call takes on arrays of 0.3 MB."""
    for other, (function, shapes) in {"others": (others, (WHOLE,)), **FUNCTIONS}.items():
        arrays = _arrays(*[(SMALL,) * len(shape) for shape in shapes])
        if other != name:
            sl.jit(function)(*arrays)
    function, shapes = FUNCTIONS[name]
    arrays = _arrays(*[(SMALL,) * len(shape) for shape in shapes])
    traced, taken = sl.jit(function), _seconds(lambda: function(*arrays))
    return _seconds(lambda: traced(*arrays)) - taken


def _jitted(function: Callable[..., Any]) -> Any:
    """A traced function that is scheduled whatever that is good for."""
    jit: Any = sl.jit
    return jit(function, smallest=0)


def _seconds(action: Callable[[], Any]) -> float:
    start = time.thread_time()
    action()
    return time.thread_time() - start


def scheduled_chain(length: int) -> float:
    """Seconds to a schedule of a chain of stencils, for a picture; nothing was found out about it before."""
    p = rewrites.chain(length)
    given = sl.Buffer(np.zeros((SIZE + 2 * length, SIZE), np.int32), min=(-length, 0))
    out = np.zeros((SIZE, SIZE), np.int32)
    return _seconds(lambda: sl.auto_schedule(p, given, out, workers=1, machine=sl.Machine()))


def _measured(*arguments: str, is_known: bool = False) -> Any:
    """What a process of its own prints; one that reads what others have found if that `is_known`."""
    command = [sys.executable, "-m", "benchmarks.first", *arguments]
    environment = {**os.environ, "SLINKY_KEPT": str(int(is_known))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"measuring {' '.join(arguments)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def run(quick: bool) -> dict[str, Any]:
    """Median seconds of the steps of each function, and of schedules by the length of the chain."""
    rounds, lengths = (1, (50, 100)) if quick else (5, (50, 100, 1000))
    functions = {}
    for name in FUNCTIONS:
        times = [_measured(name) for _ in range(rounds)]
        functions[name] = {step: statistics.median(each[step] for each in times) for step in STEPS}
        again = [_measured(name, is_known=True) for _ in range(rounds + 1)][1:]
        functions[name]["again"] = statistics.median(sum(each[step] for step in STEPS) for each in again)
        functions[name]["small"] = statistics.median(_measured(name, "small") for _ in range(rounds))
    chains = {n: statistics.median(_measured(str(n)) for _ in range(rounds)) for n in lengths}
    return {"functions": functions, "chains": chains}


def table(found: dict[str, Any]) -> str:
    """A line for each function, and one for each chain."""
    others_know = {"again": "all, in the next process", "small": f"all, of {SMALL} x {SMALL}"}
    columns = {**{step: step for step in STEPS}, **others_know}
    lines = [
        "",
        f"| first call of twenty operations | {' | '.join(columns.values())} |",
        f"|---|{'---:|' * len(columns)}",
    ]
    for name, steps in found["functions"].items():
        lines.append(f"| {name} | {' | '.join(seconds_text(max(steps[step], 0)) for step in columns)} |")
    lines += ["", "| auto_schedule of a chain of | |", "|---|---:|"]
    lines += [f"| {length:,} stencils | {seconds_text(seconds)} |" for length, seconds in found["chains"].items()]
    return "\n".join(lines)


if __name__ == "__main__":
    what, *small = sys.argv[1:]
    measure = small_call if small else first_call
    print(json.dumps(scheduled_chain(int(what)) if what.isdigit() else measure(what)))
