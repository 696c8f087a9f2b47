"""Harris corners of a colour picture: grey values, gradients, their products, sums over 3x3, and the response."""

from __future__ import annotations

import numpy as np

import slinky as sl
from benchmarks.apps.app import FEW_ROWS, App, Size, in_strips, picture
from benchmarks.apps.unsharp import GREY, grey
from benchmarks.harness import Array

K = np.float32(0.04)
TWO = np.float32(2)
TWELFTH = np.float32(1 / 12)


def gradient_y(source: Array, target: Array) -> None:
    """Sobel's, along the columns."""
    rows = np.subtract(source[2:], source[:-2])
    _weigh(rows[:, :-2], rows[:, 1:-1], rows[:, 2:], target)


def gradient_x(source: Array, target: Array) -> None:
    """Sobel's, along the rows."""
    columns = np.subtract(source[:, 2:], source[:, :-2])
    _weigh(columns[:-2], columns[1:-1], columns[2:], target)


def _weigh(before: Array, here: Array, after: Array, target: Array) -> None:
    np.multiply(here, TWO, out=target)
    np.add(target, before, out=target)
    np.add(target, after, out=target)
    np.multiply(target, TWELFTH, out=target)


def sum_3x3(source: Array, target: Array) -> None:
    """The sum of the neighbourhood."""
    rows = source[:, :-2] + source[:, 1:-1]
    rows += source[:, 2:]
    np.add(rows[:-2], rows[1:-1], out=target)
    np.add(target, rows[2:], out=target)


def response(xx: Array, yy: Array, xy: Array, target: Array) -> None:
    """Determinant less k times the square of the trace."""
    trace = xx + yy
    np.multiply(trace, trace, out=trace)
    np.multiply(trace, K, out=trace)
    np.multiply(xx, yy, out=target)
    np.subtract(target, trace, out=target)
    np.multiply(xy, xy, out=trace)
    np.subtract(target, trace, out=target)


def build() -> sl.Pipeline:
    """Ten funcs: each product and each sum is one of its own."""
    y, x = sl.variables("y x")
    inp = sl.BufferExpr("inp", np.float32, 3)
    names = ["light", "iy", "ix", "ixx", "iyy", "ixy", "sxx", "syy", "sxy", "out"]
    light, iy, ix, ixx, iyy, ixy, sxx, syy, sxy, out = (sl.BufferExpr(name, np.float32, 2) for name in names)
    around = (sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1))
    sl.Func(grey, [inp[y, x, sl.interval(0, 2)]], [light[y, x]])
    sl.Func(gradient_y, [light[around]], [iy[y, x]])
    sl.Func(gradient_x, [light[around]], [ix[y, x]])
    sl.Func(np.square, [ix[y, x]], [ixx[y, x]], name="square_x")
    sl.Func(np.square, [iy[y, x]], [iyy[y, x]], name="square_y")
    sl.Func(np.multiply, [ix[y, x], iy[y, x]], [ixy[y, x]], name="product")
    sl.Func(sum_3x3, [ixx[around]], [sxx[y, x]], name="sum_xx")
    sl.Func(sum_3x3, [iyy[around]], [syy[y, x]], name="sum_yy")
    sl.Func(sum_3x3, [ixy[around]], [sxy[y, x]], name="sum_xy")
    sl.Func(response, [sxx[y, x], syy[y, x], sxy[y, x]], [out[y, x]])
    return sl.build_pipeline([inp], [out], name="harris")


def as_written(inp: Array) -> Array:
    """NumPy as people write it."""
    light = inp @ GREY
    rows, columns = light[2:] - light[:-2], light[:, 2:] - light[:, :-2]
    iy = (2 * rows[:, 1:-1] + rows[:, :-2] + rows[:, 2:]) * TWELFTH
    ix = (2 * columns[1:-1] + columns[:-2] + columns[2:]) * TWELFTH

    def total(a: Array) -> Array:
        b = a[:, :-2] + a[:, 1:-1] + a[:, 2:]
        return np.asarray(b[:-2] + b[1:-1] + b[2:])

    sxx, syy, sxy = total(ix * ix), total(iy * iy), total(ix * iy)
    return np.asarray(sxx * syy - K * (sxx + syy) ** 2 - sxy * sxy)


def inputs(size: Size) -> list[Array]:
    """A picture."""
    return [picture(size, 3)]


def target(inp: Array) -> sl.Buffer:
    """Smaller by two on each side."""
    return sl.Buffer(np.zeros((inp.shape[0] - 4, inp.shape[1] - 4), np.float32), min=(2, 2))


APP = App(
    name="harris",
    about="Harris corners of a colour picture",
    build=build,
    inputs=inputs,
    target=target,
    as_written=as_written,
    by_hand=in_strips("response"),
    settings=FEW_ROWS,
    chosen=(16,),
    smallest=(4,),
    full=(1536, 2560),
    quick=(300, 400),
)
