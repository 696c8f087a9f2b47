"""Unsharp masking of a float32 picture by its grey values: blurred along columns and rows, and the colours scaled."""

from __future__ import annotations

import numpy as np

import slinky as sl
from benchmarks.apps.app import FEW_ROWS, App, Size, in_strips, like, picture
from benchmarks.blur import weighted_sum
from benchmarks.harness import Array

RADIUS = 3
SIGMA = 1.5
GREY = np.array([0.299, 0.587, 0.114], np.float32)
WEIGHTS = [
    np.float32(np.exp(-k * k / (2 * SIGMA**2)) / (np.sqrt(2 * np.pi) * SIGMA)) for k in range(-RADIUS, RADIUS + 1)
]
FACTORS = [np.array(weight) for weight in WEIGHTS]


def grey(source: Array, target: Array) -> None:
    """How bright a colour is."""
    np.matmul(source, GREY, out=target)


def blur_y(source: Array, target: Array) -> None:
    """Along the columns."""
    weighted_sum([source[k : k + len(target)] for k in range(2 * RADIUS + 1)], FACTORS, target)


def blur_x(source: Array, target: Array) -> None:
    """Along the rows."""
    weighted_sum([source[:, k : k + target.shape[1]] for k in range(2 * RADIUS + 1)], FACTORS, target)


def ratio(grey: Array, blurred: Array, target: Array) -> None:
    """By how much to scale the colours: what is sharper than before, over what it was."""
    np.add(grey, grey, out=target)
    np.subtract(target, blurred, out=target)
    np.divide(target, grey, out=target)


def scale(source: Array, ratio: Array, target: Array) -> None:
    """All colours by the same."""
    np.multiply(source, ratio[..., None], out=target)


def build() -> sl.Pipeline:
    """Five funcs; two of them read the grey values, one beyond their edges."""
    y, x, c = sl.variables("y x c")
    inp, out = (sl.BufferExpr(name, np.float32, 3) for name in ("inp", "out"))
    light, columns, blurred, factor = (
        sl.BufferExpr(name, np.float32, 2) for name in ("light", "columns", "blurred", "factor")
    )
    sl.Func(grey, [inp[y, x, sl.interval(0, 2)]], [light[y, x]])
    around = light.extended("nearest")
    sl.Func(blur_y, [around[sl.interval(y - RADIUS, y + RADIUS), x]], [columns[y, x]])
    sl.Func(blur_x, [columns[y, sl.interval(x - RADIUS, x + RADIUS)]], [blurred[y, x]])
    sl.Func(ratio, [light[y, x], blurred[y, x]], [factor[y, x]])
    sl.Func(scale, [inp[y, x, c], factor[y, x]], [out[y, x, c]])
    return sl.build_pipeline([inp], [out], name="unsharp", require=[sl.same_shape(inp, out)])


def as_written(inp: Array) -> Array:
    """NumPy as people write it."""
    height, width = inp.shape[:2]
    light = inp @ GREY
    padded = np.pad(light, RADIUS, mode="edge")
    columns = WEIGHTS[0] * padded[:height]
    for k in range(1, 2 * RADIUS + 1):
        columns += WEIGHTS[k] * padded[k : k + height]
    blurred = WEIGHTS[0] * columns[:, :width]
    for k in range(1, 2 * RADIUS + 1):
        blurred += WEIGHTS[k] * columns[:, k : k + width]
    factor = (2 * light - blurred) / light
    return np.asarray(inp * factor[..., None])


def inputs(size: Size) -> list[Array]:
    """A picture without black, by which one cannot divide."""
    return [np.add(picture(size, 3), np.float32(0.05))]


APP = App(
    name="unsharp",
    about="unsharp masking of a colour picture",
    build=build,
    inputs=inputs,
    target=like,
    as_written=as_written,
    by_hand=in_strips("scale"),
    settings=FEW_ROWS,
    chosen=(24,),
    smallest=(5,),
    full=(1536, 2560),
    quick=(300, 400),
)
