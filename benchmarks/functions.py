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
    "tan": (np.tan, np.float64, ((-10, 10),)),
    "arcsin": (np.arcsin, np.float64, ((-1, 1),)),
    "arccos": (np.arccos, np.float64, ((-1, 1),)),
    "arctan": (np.arctan, np.float64, ((-10, 10),)),
    "arctan2": (np.arctan2, np.float64, ((-10, 10), (-10, 10))),
    "exp": (np.exp, np.float64, ((-20, 20),)),
    "exp2": (np.exp2, np.float64, ((-20, 20),)),
    "expm1": (np.expm1, np.float64, ((-5, 5),)),
    "cosh": (np.cosh, np.float64, ((-10, 10),)),
    "tanh": (np.tanh, np.float64, ((-5, 5),)),
    "log": (np.log, np.float64, ((1e-3, 1e3),)),
    "log2": (np.log2, np.float64, ((1e-3, 1e3),)),
    "log1p": (np.log1p, np.float64, ((-0.9, 10),)),
    "power": (np.power, np.float64, ((0, 10), (-3, 3))),
    "hypot": (np.hypot, np.float64, ((-10, 10), (-10, 10))),
    "//": (np.floor_divide, np.float64, ((-100, 100), (1, 10))),
    "%": (np.remainder, np.float64, ((-100, 100), (1, 10))),
    "fmod of singles": (np.fmod, np.float32, ((-100, 100), (1, 10))),
    "tan of singles": (np.tan, np.float32, ((-10, 10),)),
    "arcsin of singles": (np.arcsin, np.float32, ((-1, 1),)),
    "arccos of singles": (np.arccos, np.float32, ((-1, 1),)),
    "arctan of singles": (np.arctan, np.float32, ((-10, 10),)),
    "arctan2 of singles": (np.arctan2, np.float32, ((-10, 10), (-10, 10))),
    "exp2 of singles": (np.exp2, np.float32, ((-20, 20),)),
    "expm1 of singles": (np.expm1, np.float32, ((-5, 5),)),
    "log2 of singles": (np.log2, np.float32, ((1e-3, 1e3),)),
    "log1p of singles": (np.log1p, np.float32, ((-0.9, 10),)),
    "power of singles": (np.power, np.float32, ((0, 10), (-3, 3))),
    "cbrt of singles": (np.cbrt, np.float32, ((-10, 10),)),
    "hypot of singles": (np.hypot, np.float32, ((-10, 10), (-10, 10))),
}
"""Of each function NumPy's name for it, a dtype, and the ranges of its arguments."""


def bell(x: Any) -> Any:
    """The density of the normal distribution."""
    return np.exp(-0.5 * x * x) * 0.3989422804014327


def gelu(x: Any) -> Any:
    """The activation of networks, by its usual approximation."""
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def gain(x: Any) -> Any:
    """Decibels of an amplitude, above a floor."""
    return np.maximum(np.log(abs(x) + 1e-6) * 8.685889638065037, -90.0)


AMONG_OTHERS: dict[str, tuple[Callable[[Any], Any], Any, tuple[float, float]]] = {
    "exp among four steps": (bell, np.float64, (-5, 5)),
    "log among four steps": (gain, np.float64, (-5, 5)),
    "tanh among nine steps": (gelu, np.float32, (-5, 5)),
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
        title = f"{name.removesuffix(' of singles')} of {COUNT:,} {np.dtype(dtype).name}"
        yield Case(title, partial(_sides, ufunc, dtype, ranges), repeats=repeats)
    for name, (function, dtype, ends) in AMONG_OTHERS.items():
        title = f"{name}, {COUNT:,} {np.dtype(dtype).name}"
        yield Case(title, partial(_sides, function, dtype, (ends,)), repeats=repeats)
