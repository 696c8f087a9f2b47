"""Functions that take many operations, which C has loops for: each alone, and some with other steps around them.

The arrays stay in the cache, so that what is compared are the loops themselves. Results may differ by 1 ulp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Case, Side

COUNT = 16_384

ALONE: dict[str, tuple[np.ufunc, Any, tuple[tuple[float, float], ...]]] = {
    "sin": (np.sin, np.float64, ((-10, 10),)),
    "cos": (np.cos, np.float64, ((-10, 10),)),
    "exp": (np.exp, np.float64, ((-20, 20),)),
    "log": (np.log, np.float64, ((1e-3, 1e3),)),
    "hypot": (np.hypot, np.float64, ((-10, 10), (-10, 10))),
    "//": (np.floor_divide, np.float64, ((-100, 100), (1, 10))),
    "%": (np.remainder, np.float64, ((-100, 100), (1, 10))),
    "fmod": (np.fmod, np.float32, ((-100, 100), (1, 10))),
}
"""Of each function NumPy's name for it, a dtype, and the ranges of its arguments."""


def bell(x: Any) -> Any:
    """The density of the normal distribution."""
    return np.exp(-0.5 * x * x) * 0.3989422804014327


def gain(x: Any) -> Any:
    """Decibels of an amplitude, above a floor."""
    return np.maximum(np.log(abs(x) + 1e-6) * 8.685889638065037, -90.0)


AMONG_OTHERS: dict[str, tuple[Callable[[Any], Any], tuple[float, float]]] = {
    "exp among four steps": (bell, (-5, 5)),
    "log among four steps": (gain, (-5, 5)),
}


def _pipeline(function: Callable[..., Any], dtype: Any, count: int) -> sl.Pipeline:
    (x,) = sl.variables("x")
    given = [sl.BufferExpr(f"in{k}", dtype, 1) for k in range(count)]
    out = sl.BufferExpr("out", dtype, 1)
    sl.arithmetic(function(*(each[x] for each in given)), out[x], name="term")
    return sl.build_pipeline(given, [out])


def _sides(function: Callable[..., Any], dtype: Any, ranges: tuple[tuple[float, float], ...]) -> list[Side]:
    random = np.random.default_rng(1)
    arrays = [random.uniform(*each, COUNT).astype(dtype) for each in ranges]
    p = _pipeline(function, dtype, len(arrays))
    sides = [Side("NumPy", lambda: np.asarray(function(*arrays)))]
    for title, backend in (("ours, by NumPy in blocks", "python"), ("ours, native", "native")):
        sides.append(Side(title, partial(_run, p.compile(backend=backend), arrays, np.empty(COUNT, dtype))))
    return sides


def _run(plan: Callable[..., Any], arrays: list[Array], out: Array) -> Array:
    plan(*arrays, out)
    return out


def cases(quick: bool) -> Iterator[Case]:
    """Each function."""
    repeats = 3 if quick else 50
    for name, (ufunc, dtype, ranges) in ALONE.items():
        title = f"{name} of {COUNT:,} {np.dtype(dtype).name}"
        yield Case(title, partial(_sides, ufunc, dtype, ranges), repeats=repeats)
    for name, (function, ends) in AMONG_OTHERS.items():
        yield Case(f"{name}, {COUNT:,} float64", partial(_sides, function, np.float64, (ends,)), repeats=repeats)
