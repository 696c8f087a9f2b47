"""Interpolating a picture where it is transparent, from what is around: a pyramid down, and up again where needed."""

from __future__ import annotations

import numpy as np

import slinky as sl
from benchmarks.apps.app import App, Size, in_strips, like, picture
from benchmarks.apps.pyramids import Taps, doubled, doubled_as_written, halved, halved_as_written
from benchmarks.harness import Array

LEVELS = 6
WEIGHTS = [np.float32(w) for w in (0.25, 0.5, 0.25)]
TAPS: Taps = ({0: np.float32(1)}, {0: np.float32(0.5), 1: np.float32(0.5)})


def premultiply(source: Array, target: Array) -> None:
    """Colours count as far as they are opaque."""
    np.multiply(source[..., :3], source[..., 3:], out=target[..., :3])
    target[..., 3] = source[..., 3]


def shrink(source: Array, target: Array) -> None:
    """Half as many rows and columns."""
    halved(source, target, WEIGHTS, 1)


def fill(here: sl.Buffer, below: sl.Buffer, target: sl.Buffer) -> None:
    """What is transparent here comes from the level below."""
    result = doubled(below, target, TAPS, 1)
    result *= np.float32(1) - here.array[..., 3:]
    np.add(result, here.array, out=target.array)


def normalise(source: Array, target: Array) -> None:
    """Colours again."""
    np.divide(source[..., :3], source[..., 3:], out=target)


def build() -> sl.Pipeline:
    """A func for each level down, one for each up, and one at each end."""
    y, x, c = sl.variables("y x c")
    inp, out = (sl.BufferExpr(name, np.float32, 3) for name in ("inp", "out"))
    down = [sl.BufferExpr(f"down{n}", np.float32, 3) for n in range(LEVELS)]
    full = [*(sl.BufferExpr(f"full{n}", np.float32, 3) for n in range(LEVELS - 1)), down[-1]]
    colours = sl.interval(0, 3)
    sl.Func(premultiply, [inp[y, x, colours]], [down[0][y, x, c]], whole=["c"])
    for n in range(LEVELS):
        down[n].dim(2).bounds = colours
        full[n].dim(2).bounds = colours
    for n in range(1, LEVELS):
        around = down[n - 1].extended("nearest", dims=[0, 1])
        read = around[sl.interval(2 * y - 1, 2 * y + 1), sl.interval(2 * x - 1, 2 * x + 1), c]
        sl.Func(shrink, [read], [down[n][y, x, c]], name=f"shrink{n}")
    for n in reversed(range(LEVELS - 1)):
        around = full[n + 1].extended("nearest", dims=[0, 1])
        below = around[sl.interval(y // 2, (y + 1) // 2), sl.interval(x // 2, (x + 1) // 2), colours]
        read = [down[n][y, x, colours], below]
        sl.Func(fill, read, [full[n][y, x, c]], name=f"fill{n}", whole=["c"], pass_buffers=True)
    sl.Func(normalise, [full[0][y, x, colours]], [out[y, x, c]], whole=["c"])
    require = [sl.equal(out.dim(2).min, 0), sl.equal(out.dim(2).max, 2)]
    for d in (0, 1):
        require += [sl.equal(inp.dim(d).min, 0), sl.equal(out.dim(d).min, 0)]
        require.append(sl.equal(inp.dim(d).max, out.dim(d).max))
    return sl.build_pipeline([inp], [out], name="interpolate", require=require)


def as_written(inp: Array) -> Array:
    """NumPy as people write it."""
    first = inp.copy()
    first[..., :3] *= inp[..., 3:]
    down = [first]
    for _ in range(1, LEVELS):
        down.append(halved_as_written(down[-1], WEIGHTS))
    result = down.pop()
    for level in reversed(down):
        result = level + (1 - level[..., 3:]) * doubled_as_written(result, level, TAPS)
    return np.asarray(result[..., :3] / result[..., 3:])


def inputs(size: Size) -> list[Array]:
    """A picture of which most is transparent, in blocks."""
    result = picture(size, 4)
    y, x = np.ogrid[: size[0], : size[1]]
    result[..., 3] = ((y // 7) * (x // 5)) % 4 == 1
    return [result]


def target(inp: Array) -> Array:
    """The colours."""
    return like(inp[..., :3])


APP = App(
    name="interpolate",
    about="what is transparent filled from around",
    build=build,
    inputs=inputs,
    target=target,
    as_written=as_written,
    by_hand=in_strips("normalise"),
    settings=((32,), (64,), (96,), (128,), (192,)),
    chosen=(128,),
    smallest=(16,),
    full=(768, 1280),
    quick=(300, 200),
)
