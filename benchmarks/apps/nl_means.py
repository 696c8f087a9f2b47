"""Non-local means: each element is a mean of those in a window of 7x7, weighted by how alike the patches around are."""

from __future__ import annotations

import numpy as np

import slinky as sl
from benchmarks.apps.app import App, Setting, Size, like, picture
from benchmarks.harness import Array

REACH = 3
"""How far the window reaches, and how far a patch does."""
OFFSETS = [(dy, dx) for dy in range(-REACH, REACH + 1) for dx in range(-REACH, REACH + 1)]
SIGMA = 0.12
FACTOR = np.float32(-1 / (SIGMA * (2 * REACH + 1)) ** 2)


def shifted(source: Array, shape: tuple[int, ...], number: int) -> Array:
    """What lies by an offset beside each element; the source begins REACH elements before."""
    dy, dx = OFFSETS[number]
    return source[:, REACH + dy : REACH + dy + shape[0], REACH + dx : REACH + dx + shape[1]]


def distance(source: sl.Buffer, target: sl.Buffer) -> None:
    """How much the colours of an element differ from those at each offset."""
    shape = target.shape[1:]
    here = source.array[:, REACH : REACH + shape[0], REACH : REACH + shape[1]]
    for number, result in enumerate(target.array, start=target.min[0]):
        away = here - shifted(source.array, shape, number)
        np.multiply(away, away, out=away)
        np.add(away[0], away[1], out=result)
        np.add(result, away[2], out=result)


def sum_y(source: Array, target: Array) -> None:
    """Of seven rows."""
    height = target.shape[1]
    np.add(source[:, :height], source[:, 1 : 1 + height], out=target)
    for k in range(2, 2 * REACH + 1):
        np.add(target, source[:, k : k + height], out=target)


def sum_x(source: Array, target: Array) -> None:
    """Of seven columns."""
    width = target.shape[2]
    np.add(source[..., :width], source[..., 1 : 1 + width], out=target)
    for k in range(2, 2 * REACH + 1):
        np.add(target, source[..., k : k + width], out=target)


def weigh(source: sl.Buffer, distance: sl.Buffer, target: sl.Buffer) -> None:
    """The colours at each offset by how alike the patches are, and these weights."""
    weights = target.array[3]
    np.multiply(distance.array, FACTOR, out=weights)
    np.exp(weights, out=weights)
    for number, weight in enumerate(weights):
        beside = shifted(source.array, weight.shape, number + target.min[1])
        np.multiply(beside, weight, out=target.array[:3, number])


def normalise(total: Array, target: Array) -> None:
    """Means."""
    np.divide(total[:3], total[3], out=target)
    np.clip(target, 0, 1, out=target)


def build() -> sl.Pipeline:
    """All offsets are a dimension of what is in between, over which the last but one is a sum."""
    c, s, y, x = sl.variables("c s y x")
    inp, out, total = (sl.BufferExpr(name, np.float32, 3) for name in ("inp", "out", "total"))
    away, rows, patches = (sl.BufferExpr(name, np.float32, 3) for name in ("away", "rows", "patches"))
    weighted = sl.BufferExpr("weighted", np.float32, 4)
    around_y, around_x = (sl.interval(v - REACH, v + REACH) for v in (y, x))
    window = inp.extended("nearest", dims=[1, 2])[sl.interval(0, 2), around_y, around_x]
    sl.Func(distance, [window], [away[s, y, x]], pass_buffers=True)
    sl.Func(sum_y, [away[s, around_y, x]], [rows[s, y, x]])
    sl.Func(sum_x, [rows[s, y, around_x]], [patches[s, y, x]])
    sl.Func(weigh, [window, patches[s, y, x]], [weighted[c, s, y, x]], whole=["c"], pass_buffers=True)
    weighted.dim(0).bounds = sl.interval(0, 3)
    every = sl.interval(0, len(OFFSETS) - 1)
    sl.reductions.sum(weighted[c, every, y, x], total[c, y, x], reassociate=True)
    sl.Func(normalise, [total[sl.interval(0, 3), y, x]], [out[c, y, x]], whole=["c"])
    require = [sl.same_shape(inp, out), sl.equal(inp.dim(0).min, 0), sl.equal(inp.dim(0).max, 2)]
    return sl.build_pipeline([inp], [out], name="nl_means", require=require)


def as_written(inp: Array) -> Array:
    """NumPy as people write it."""
    height, width = inp.shape[1:]
    padded = np.pad(inp, ((0, 0), (2 * REACH, 2 * REACH), (2 * REACH, 2 * REACH)), mode="edge")
    here = padded[:, REACH:-REACH, REACH:-REACH]
    total = np.zeros((4, height, width), np.float32)
    for dy, dx in OFFSETS:
        beside = padded[:, REACH + dy :, REACH + dx :][:, : here.shape[1], : here.shape[2]]
        away = ((here - beside) ** 2).sum(axis=0)
        rows = away[:height].copy()
        for k in range(1, 2 * REACH + 1):
            rows += away[k : k + height]
        patches = rows[:, :width].copy()
        for k in range(1, 2 * REACH + 1):
            patches += rows[:, k : k + width]
        weights = np.exp(patches * FACTOR)
        total[:3] += beside[:, REACH:-REACH, REACH:-REACH] * weights
        total[3] += weights
    return np.asarray(np.clip(total[:3] / total[3], 0, 1))


def by_hand(p: sl.Pipeline, setting: Setting) -> sl.Pipeline:
    """Strips of rows; in each, some offsets at a time."""
    rows, offsets = setting
    p, split = sl.split_loop(p, "normalise.y", rows, rc=True)
    p, total = sl.compute_at(p, "sum", split.outer, rc=True)
    p = sl.store_at(p, total.alloc, split.outer)
    p, pieces = sl.split_reduction(p, "sum", "d1", offsets, rc=True)
    for name in ("weigh", "sum_x", "sum_y", "distance"):
        p, made = sl.compute_at(p, name, pieces.loop, rc=True)
        p = sl.store_at(p, made.alloc, pieces.loop)
    p, padded = sl.compute_at(p, "nearest", split.outer, rc=True)
    return sl.store_at(p, padded.alloc, split.outer)


def inputs(size: Size) -> list[Array]:
    """A picture, one plane for each colour."""
    return [np.ascontiguousarray(np.moveaxis(picture(size, 3), 2, 0))]


APP = App(
    name="nl_means",
    about="non-local means of a colour picture",
    build=build,
    inputs=inputs,
    target=like,
    as_written=as_written,
    by_hand=by_hand,
    settings=((8, 7), (16, 7), (32, 7), (16, 1), (32, 1), (48, 1), (64, 1), (96, 1)),
    chosen=(16, 7),
    smallest=(7, 10),
    full=(384, 640),
    quick=(100, 120),
)
