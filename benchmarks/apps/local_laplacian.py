"""Local Laplacian filters: detail enhanced around each of eight brightnesses, and put together by brightness.

A pyramid of differences is made of the picture as changed around each brightness; the result's pyramid takes from the
two nearest brightnesses at each place, and is summed up again.
"""

from __future__ import annotations

import numpy as np

import slinky as sl
from benchmarks.apps.app import App, Size, in_strips, picture
from benchmarks.apps.pyramids import Taps, doubled, doubled_as_written, halved, halved_as_written
from benchmarks.apps.unsharp import GREY
from benchmarks.harness import Array

LEVELS = 4
STEPS = 8
ALPHA = np.float32(1 / (STEPS - 1))
EPSILON = np.float32(0.01)
BRIGHTNESSES = (np.arange(STEPS) / (STEPS - 1)).astype(np.float32)
WEIGHTS = [np.float32(w) for w in (0.125, 0.375, 0.375, 0.125)]
QUARTER, REST = np.float32(0.25), np.float32(0.75)
TAPS: Taps = ({0: REST, -1: QUARTER}, {0: REST, 1: QUARTER})


def to_grey(source: Array, target: Array) -> None:
    """How bright a colour is, from 0 to 1."""
    np.matmul(source, GREY / np.float32(65535), out=target)


def remap(light: sl.Buffer, target: sl.Buffer) -> None:
    """Detail enhanced around each brightness."""
    first = target.min[1]
    for k, result in enumerate(np.moveaxis(target.array, 1, 0), start=first):
        away = light.array - BRIGHTNESSES[k]
        scaled = away * np.float32(STEPS - 1)
        np.multiply(scaled, scaled, out=result)
        result *= np.float32(-0.5)
        np.exp(result, out=result)
        result *= scaled
        result *= ALPHA
        result += away
        result += BRIGHTNESSES[k]


def shrink(source: Array, target: Array) -> None:
    """Half as many rows and columns; columns are the last dimension."""
    halved(source, target, WEIGHTS, target.ndim - 1)


def difference(here: sl.Buffer, below: sl.Buffer, target: sl.Buffer) -> None:
    """What the level below does not say."""
    np.subtract(here.array, doubled(below, target, TAPS, 2), out=target.array)


def choose(detail: Array, light: Array, target: Array) -> None:
    """Between the two brightnesses around that of a place."""
    level = light * np.float32(STEPS - 1)
    low = np.clip(level.astype(np.intp), 0, STEPS - 2)
    level -= low
    one = np.take_along_axis(detail, low[:, None], axis=1)[:, 0]
    other = np.take_along_axis(detail, low[:, None] + 1, axis=1)[:, 0]
    other -= one
    other *= level
    np.add(one, other, out=target)


def add_up(detail: sl.Buffer, below: sl.Buffer, target: sl.Buffer) -> None:
    """The level below and the detail here."""
    np.add(doubled(below, target, TAPS, 1), detail.array, out=target.array)


def colour(source: Array, light: Array, result: Array, target: Array) -> None:
    """The colours as bright as they are to be."""
    factor = result + EPSILON
    factor /= light + EPSILON
    factor /= np.float32(65535)
    np.multiply(source, factor[..., None], out=target)
    np.clip(target, 0, 1, out=target)


def build() -> sl.Pipeline:
    """Three pyramids down, one up."""
    y, x, k, c = sl.variables("y x k c")
    inp, out = sl.BufferExpr("inp", np.uint16, 3), sl.BufferExpr("out", np.float32, 3)
    light = [sl.BufferExpr(f"light{n}", np.float32, 2) for n in range(LEVELS)]
    detail = [sl.BufferExpr(f"detail{n}", np.float32, 2) for n in range(LEVELS)]
    result = [sl.BufferExpr(f"result{n}", np.float32, 2) for n in range(LEVELS - 1)]
    remapped = [sl.BufferExpr(f"remapped{n}", np.float32, 3) for n in range(LEVELS)]
    laplacian = [sl.BufferExpr(f"laplacian{n}", np.float32, 3) for n in range(LEVELS - 1)]
    for buffer in (*remapped, *laplacian):
        buffer.dim(1).bounds = sl.interval(0, STEPS - 1)
    sl.Func(to_grey, [inp[y, x, sl.interval(0, 2)]], [light[0][y, x]])
    sl.Func(remap, [light[0][y, x]], [remapped[0][y, k, x]], pass_buffers=True)
    rows, columns = sl.interval(2 * y - 1, 2 * y + 2), sl.interval(2 * x - 1, 2 * x + 2)
    for n in range(1, LEVELS):
        sl.Func(shrink, [light[n - 1].extended("nearest")[rows, columns]], [light[n][y, x]], name=f"shrink{n}")
        around = remapped[n - 1].extended("nearest", dims=[0, 2])
        sl.Func(shrink, [around[rows, k, columns]], [remapped[n][y, k, x]], name=f"shrink_all{n}")
    rows, columns = (sl.interval((v - 1) // 2, (v + 1) // 2) for v in (y, x))
    for n in range(LEVELS):
        if n < LEVELS - 1:
            below = remapped[n + 1].extended("nearest", dims=[0, 2])[rows, k, columns]
            read = [remapped[n][y, k, x], below]
            sl.Func(difference, read, [laplacian[n][y, k, x]], name=f"difference{n}", pass_buffers=True)
        made = [*laplacian, remapped[-1]][n][y, sl.interval(0, STEPS - 1), x]
        sl.Func(choose, [made, light[n][y, x]], [detail[n][y, x]], name=f"choose{n}")
    for n in reversed(range(LEVELS - 1)):
        below = [*result, detail[-1]][n + 1].extended("nearest")[rows, columns]
        sl.Func(add_up, [detail[n][y, x], below], [result[n][y, x]], name=f"add_up{n}", pass_buffers=True)
    read = [inp[y, x, sl.interval(0, 2)], light[0][y, x], result[0][y, x]]
    sl.Func(colour, read, [out[y, x, c]], whole=["c"])
    require = [sl.same_shape(inp, out), *(sl.equal(inp.dim(d).min, 0) for d in range(3))]
    return sl.build_pipeline([inp], [out], name="local_laplacian", require=[*require, sl.equal(inp.dim(2).max, 2)])


def as_written(inp: Array) -> Array:
    """NumPy as people write it."""
    light = [inp @ (GREY / np.float32(65535))]
    for _ in range(1, LEVELS):
        light.append(halved_as_written(light[-1], WEIGHTS))
    result = np.empty(0)
    remapped = []
    for brightness in BRIGHTNESSES:
        away = light[0] - brightness
        scaled = away * np.float32(STEPS - 1)
        levels = [np.exp(-0.5 * scaled**2) * scaled * ALPHA + away + brightness]
        for _ in range(1, LEVELS):
            levels.append(halved_as_written(levels[-1], WEIGHTS))
        remapped.append(levels)
    for n in reversed(range(LEVELS)):
        planes = [levels[n] for levels in remapped]
        if n < LEVELS - 1:
            planes = [
                p - doubled_as_written(levels[n + 1], p, TAPS) for p, levels in zip(planes, remapped, strict=True)
            ]
        stacked = np.stack(planes)
        level = light[n] * np.float32(STEPS - 1)
        low = np.clip(level.astype(np.intp), 0, STEPS - 2)
        one = np.take_along_axis(stacked, low[None], axis=0)[0]
        other = np.take_along_axis(stacked, low[None] + 1, axis=0)[0]
        detail = one + (level - low).astype(np.float32) * (other - one)
        result = doubled_as_written(result, detail, TAPS) + detail if result.size else detail
    factor = (result + EPSILON) / (light[0] + EPSILON)
    return np.asarray(np.clip(inp * (factor / np.float32(65535))[..., None], 0, 1))


def inputs(size: Size) -> list[Array]:
    """A picture."""
    return [(picture(size, 3) * 65535).astype(np.uint16)]


def target(inp: Array) -> Array:
    """Colours from 0 to 1."""
    return np.zeros(inp.shape, np.float32)


APP = App(
    name="local_laplacian",
    about="detail enhanced by pyramids",
    build=build,
    inputs=inputs,
    target=target,
    as_written=as_written,
    by_hand=in_strips("colour"),
    settings=((16,), (32,), (64,), (96,), (128,), (192,), (256,)),
    chosen=(128,),
    smallest=(8,),
    full=(768, 1280),
    quick=(200, 160),
)
