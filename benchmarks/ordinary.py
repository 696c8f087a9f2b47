"""Ordinary functions of arrays of some megabytes under `sl.jit` as it is, when it has settled: is it ever slower?

Nothing is asked for: no back end, no sizes, no machine. Each function is called until its schedule has moved to C, if
it does, and until it is known who is faster; then it and the function as written are called in turn. The ratio is that
of the medians.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

import slinky as sl
from benchmarks.harness import Array

FUNCTIONS: dict[str, Callable[[Array], Any]] = {
    "x * 2 + 1": lambda x: x * 2 + 1,
    "a cubic polynomial": lambda x: ((3 * x - 2) * x + 1) * x - 7,
    "np.where(x > .5, x * 2, x - 1)": lambda x: np.where(x > 0.5, x * 2, x - 1),
    "np.clip of a range made even": lambda x: np.clip((x - x.min()) / (x.max() - x.min()), 0.1, 0.9),
    "(x - x.mean()) / x.std()": lambda x: (x - x.mean()) / x.std(),
    "the same, by columns": lambda x: (x - x.mean(axis=0)) / x.std(axis=0),
    "the same, by rows": lambda x: (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True),
    "a mean of squares, by rows": lambda x: (x * x).mean(axis=1),
    "a sum of all squares": lambda x: ((x - 0.5) ** 2).sum(),
    "three rows added": lambda x: (x[:-2] + x[1:-1] + x[2:]) / 3,
    "np.diff, squared": lambda x: np.diff(x, axis=0) ** 2,
    "the length of np.gradient": lambda x: np.hypot(*np.gradient(x)),
    "a step of diffusion, by np.roll": lambda x: (
        x + 0.1 * (np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1) - 4 * x)
    ),
    "the same, into zeros": lambda x: _inside(x),
    "a row and its neighbour, apart": lambda x: np.abs(x[1:] - x[:-1]).sum(axis=1),
    "a Gaussian of x": lambda x: np.exp(-((x - 0.5) ** 2) / 0.08),
    "softmax by rows": lambda x: _softmax(x),
    "sines and cosines": lambda x: np.sin(x) * np.cos(x) + np.tanh(x),
    "into uint8": lambda x: (x * 255).astype(np.uint8),
    "upside down and added": lambda x: x[::-1] + x,
    "side by side": lambda x: np.concatenate([x, x * 2], axis=1),
    "transposed": lambda x: x.T * 2 + 1,
    "np.sort, by rows": lambda x: np.sort(x, axis=1) + 1,
    "np.cumsum": lambda x: np.cumsum(x, axis=0) * 2,
    "the product with itself": lambda x: (x @ x.T) * 0.5 + 1,
    "a spectrum by rows": lambda x: np.abs(np.fft.rfft(x, axis=1)) ** 2,
}
"""What is measured, by what is said of it."""

ARRAYS: dict[str, tuple[int, Literal["C", "F"]]] = {
    "300 x 300": (300, "C"),
    "600 x 600": (600, "C"),
    "1200 x 1200": (1200, "C"),
    "1200 x 1200, in columns": (1200, "F"),
}
"""The extent of the two axes (0.7, 2.9 and 11.5 MB of doubles), and their order, by what is said of them."""

_SECONDS = 0.4


def _inside(x: Array) -> Array:
    y = np.zeros_like(x)
    y[1:-1, 1:-1] = x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1]
    return y


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def speed(function: Callable[[Array], Any], size: int, order: Literal["C", "F"], seconds: float) -> float:
    """How many times as fast as it is a function runs under `sl.jit`."""
    x = np.array(np.random.default_rng(0).random((size, size)), order=order)
    traced = sl.jit(function)
    for _ in range(3):
        traced(x)
    traced.wait_native(60)
    for _ in range(24):
        traced(x)
    np.testing.assert_allclose(traced(x), function(x), rtol=1e-12, atol=1e-12)
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 7:
        for each, found in zip((function, traced), times, strict=True):
            began = time.perf_counter()
            each(x)
            found.append(time.perf_counter() - began)
    plain, by_jit = map(statistics.median, times)
    return plain / by_jit


def run(quick: bool) -> dict[str, dict[str, float]]:
    """The speed of each function on each array, as a multiple of NumPy's."""
    arrays, seconds, apart = (list(ARRAYS)[:1], 0.02, 5) if quick else (list(ARRAYS), _SECONDS, 1)
    names = list(FUNCTIONS)[::apart]
    return {name: {each: speed(FUNCTIONS[name], *ARRAYS[each], seconds) for each in arrays} for name in names}


def table(found: dict[str, dict[str, float]]) -> str:
    """A line for each function, and the mean and the least."""
    sizes = list(next(iter(found.values())))
    head = f"| times as fast under sl.jit as written, float64 | {' | '.join(sizes)} |"
    lines = ["", head, f"|---|{'---:|' * len(sizes)}"]
    lines += [f"| {name} | {' | '.join(f'{found[name][n]:.2f}' for n in sizes)} |" for name in found]
    columns = [[found[name][n] for name in found] for n in sizes]
    means = (math.exp(statistics.fmean(map(math.log, column))) for column in columns)
    lines.append(f"| geometric mean | {' | '.join(f'{mean:.2f}' for mean in means)} |")
    lines.append(f"| the least | {' | '.join(f'{min(column):.2f}' for column in columns)} |")
    return "\n".join(lines)
