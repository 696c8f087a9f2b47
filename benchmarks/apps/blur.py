"""A 3x3 box blur of uint16: means of three along rows, then along columns. The result lacks the outermost elements."""

from __future__ import annotations

import numpy as np

import slinky as sl
from benchmarks.apps.app import FEW_ROWS, App, Size, in_strips, picture
from benchmarks.harness import Array

THREE = np.uint16(3)


def blur_x(source: Array, target: Array) -> None:
    """Means of three along rows."""
    np.add(source[:, :-2], source[:, 1:-1], out=target)
    np.add(target, source[:, 2:], out=target)
    np.floor_divide(target, THREE, out=target)


def blur_y(source: Array, target: Array) -> None:
    """Means of three along columns."""
    np.add(source[:-2], source[1:-1], out=target)
    np.add(target, source[2:], out=target)
    np.floor_divide(target, THREE, out=target)


def build() -> sl.Pipeline:
    """Two funcs."""
    y, x = sl.variables("y x")
    inp, rows, out = (sl.BufferExpr(name, np.uint16, 2) for name in ("inp", "rows", "out"))
    sl.Func(blur_x, [inp[y, sl.interval(x - 1, x + 1)]], [rows[y, x]])
    sl.Func(blur_y, [rows[sl.interval(y - 1, y + 1), x]], [out[y, x]])
    return sl.build_pipeline([inp], [out], name="blur")


def as_written(inp: Array) -> Array:
    """NumPy as people write it."""
    rows = (inp[:, :-2] + inp[:, 1:-1] + inp[:, 2:]) // THREE
    return np.asarray((rows[:-2] + rows[1:-1] + rows[2:]) // THREE)


def inputs(size: Size) -> list[Array]:
    """Sums of three must not overflow."""
    return [(picture(size) * 20000).astype(np.uint16)]


def target(inp: Array) -> sl.Buffer:
    """Smaller by one on each side."""
    return sl.Buffer(np.zeros((inp.shape[0] - 2, inp.shape[1] - 2), np.uint16), min=(1, 1))


APP = App(
    name="blur",
    about="a 3x3 box blur of uint16",
    build=build,
    inputs=inputs,
    target=target,
    as_written=as_written,
    by_hand=in_strips("blur_y"),
    settings=FEW_ROWS,
    chosen=(24,),
    smallest=(4,),
    full=(2400, 6400),
    quick=(480, 640),
    tolerance=0,
)
