"""Small pipelines, from which the examples in the help of the primitives start.

They are no part of the package: `import examples` finds them where Python is started at the root of the repository.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import slinky as sl

Array = np.ndarray[Any, Any]


def _double(source: Array, target: Array) -> None:
    np.multiply(source, 2, out=target)


def _blur(source: Array, target: Array) -> None:
    n = len(target)
    target[:] = source[:n] + source[1 : n + 1] + source[2 : n + 2]


def _join(a: Array, b: Array, target: Array) -> None:
    np.add(a, b, out=target)


def blur() -> sl.Pipeline:
    """Scale a signal by two, then add each three neighbours."""
    (x,) = sl.variables("x")
    inp, scaled, out = (sl.BufferExpr(name, np.float32, rank=1) for name in ("inp", "scaled", "out"))
    sl.Func(_double, [inp[x]], [scaled[x]], name="scale")
    sl.Func(_blur, [scaled[sl.interval(x - 1, x + 1)]], [out[x]], name="blur")
    return sl.build_pipeline([inp], [out])


def scale2d() -> sl.Pipeline:
    """Scale an image by two."""
    y, x = sl.variables("y x")
    inp, out = (sl.BufferExpr(name, np.float32, rank=2) for name in ("inp", "out"))
    sl.Func(_double, [inp[y, x]], [out[y, x]], name="scale")
    return sl.build_pipeline([inp], [out])


def two_branches() -> sl.Pipeline:
    """Scale a signal twice, independently, and add the results."""
    (x,) = sl.variables("x")
    inp, left, right, out = (sl.BufferExpr(name, np.float32, rank=1) for name in ("inp", "l", "r", "out"))
    sl.Func(_double, [inp[x]], [left[x]], name="left")
    sl.Func(_double, [inp[x]], [right[x]], name="right")
    sl.Func(_join, [left[x], right[x]], [out[x]], name="join")
    return sl.build_pipeline([inp], [out])
