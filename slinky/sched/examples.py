"""The small pipelines that the help of the primitives uses."""

from __future__ import annotations

from typing import Any

import numpy as np

from slinky.build import build_pipeline
from slinky.graph.buffers import BufferExpr, variables
from slinky.graph.funcs import Func
from slinky.pipeline import Pipeline
from slinky.symbolic.intervals import interval

Array = np.ndarray[Any, Any]


def _double(source: Array, target: Array) -> None:
    np.multiply(source, 2, out=target)


def _blur(source: Array, target: Array) -> None:
    n = len(target)
    target[:] = source[:n] + source[1 : n + 1] + source[2 : n + 2]


def _join(a: Array, b: Array, target: Array) -> None:
    np.add(a, b, out=target)


def blur() -> Pipeline:
    """Scale a signal by two, then add each three neighbours."""
    (x,) = variables("x")
    inp, scaled, out = (BufferExpr(name, np.float32, rank=1) for name in ("inp", "scaled", "out"))
    Func(_double, [inp[x]], [scaled[x]], name="scale")
    Func(_blur, [scaled[interval(x - 1, x + 1)]], [out[x]], name="blur")
    return build_pipeline([inp], [out])


def scale2d() -> Pipeline:
    """Scale an image by two."""
    y, x = variables("y x")
    inp, out = (BufferExpr(name, np.float32, rank=2) for name in ("inp", "out"))
    Func(_double, [inp[y, x]], [out[y, x]], name="scale")
    return build_pipeline([inp], [out])


def two_branches() -> Pipeline:
    """Scale a signal twice, independently, and add the results."""
    (x,) = variables("x")
    inp, left, right, out = (BufferExpr(name, np.float32, rank=1) for name in ("inp", "l", "r", "out"))
    Func(_double, [inp[x]], [left[x]], name="left")
    Func(_double, [inp[x]], [right[x]], name="right")
    Func(_join, [left[x], right[x]], [out[x]], name="join")
    return build_pipeline([inp], [out])
