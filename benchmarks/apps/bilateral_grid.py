"""A bilateral filter by a grid: sums of a picture by place and brightness, blurred, and looked up for each element."""

from __future__ import annotations

import numpy as np

import slinky as sl
from benchmarks.apps.app import App, Size, in_strips, like, picture
from benchmarks.harness import Array

CELL = 8
BINS = 12
"""One for each tenth of the brightness, and one more, for what is rounded up and lies between two."""
TENTHS = np.float32(10)
FOUR, SIX = np.float32(4), np.float32(6)


def histogram(source: Array, target: Array) -> None:
    """By cell and brightness: the sum of the elements, and how many there are."""
    rows, columns = target.shape[:2]
    y, x = (np.arange(CELL * n) // CELL for n in (rows, columns))
    place = ((source * TENTHS + np.float32(0.5)).astype(np.intp) + BINS * (x + columns * y[:, None])).ravel()
    sums = np.bincount(place, source.ravel(), minlength=rows * columns * BINS)
    counts = np.bincount(place, minlength=rows * columns * BINS)
    target[..., 0] = sums.reshape(target.shape[:3])
    target[..., 1] = counts.reshape(target.shape[:3])


def five(axis: int) -> object:
    """A callback: 1 4 6 4 1 along an axis."""

    def blur(source: Array, target: Array) -> None:
        source, target = (np.moveaxis(a, axis, 0) for a in (source, target))
        n = len(target)
        np.add(source[1 : 1 + n], source[3 : 3 + n], out=target)
        np.multiply(target, FOUR, out=target)
        np.add(target, source[:n], out=target)
        np.add(target, source[4 : 4 + n], out=target)
        np.add(target, source[2 : 2 + n] * SIX, out=target)

    return blur


def look_up(source: sl.Buffer, grid: sl.Buffer, target: sl.Buffer) -> None:
    """Between the eight elements of the grid around a place and its brightness."""
    y, x = (np.arange(first, first + n) for first, n in zip(target.min, target.shape, strict=True))
    target.array[...] = interpolated(source.array, grid.array, y, x, grid.min[0], grid.min[1])


def interpolated(values: Array, grid: Array, y: Array, x: Array, first_y: int, first_x: int) -> Array:
    """The mean by which values at rows y and columns x are replaced; the grid begins at (first_y, first_x)."""
    part = ((y % CELL) / np.float32(CELL)).astype(np.float32)[:, None, None, None]
    above = y // CELL - first_y
    rows = grid[above]
    rows += (grid[above + 1] - rows) * part
    columns = rows.shape[1]
    level = values * TENTHS
    low = level.astype(np.intp)
    level -= low
    low += BINS * (x // CELL - first_x)
    low += BINS * columns * np.arange(len(y))[:, None]
    across = ((x % CELL) / np.float32(CELL)).astype(np.float32)
    means = []
    for channel in (0, 1):
        flat = np.ascontiguousarray(rows[..., channel]).ravel()
        below, above_it = (_between(flat, low + k, across) for k in (0, 1))
        above_it -= below
        above_it *= level
        below += above_it
        means.append(below)
    return np.divide(means[0], means[1], out=means[0])


def _between(flat: Array, index: Array, across: Array) -> Array:
    """Of an element and the one in the next column, by how far between the two."""
    left = flat[index]
    right = flat[index + BINS]
    right -= left
    right *= across
    left += right
    return left


def build() -> sl.Pipeline:
    """The grid has a cell for 8x8 elements; its cells lie around multiples of 8."""
    y, x, z, c = sl.variables("y x z c")
    inp, out = (sl.BufferExpr(name, np.float32, 2) for name in ("inp", "out"))
    grid, blurred_z, blurred_x, blurred_y = (
        sl.BufferExpr(name, np.float32, 4) for name in ("grid", "blurred_z", "blurred_x", "blurred_y")
    )
    bins, two = sl.interval(0, BINS - 1), sl.interval(0, 1)
    cell = tuple(sl.interval(CELL * v - CELL // 2, CELL * v + CELL // 2 - 1) for v in (y, x))
    sl.Func(histogram, [inp.extended("nearest")[cell]], [grid[y, x, z, c]], whole=["z", "c"])
    grid.dim(2).bounds = bins
    grid.dim(3).bounds = two
    levels = grid.extended("constant", dims=[2])[y, x, sl.interval(z - 2, z + 2), c]
    sl.Func(five(2), [levels], [blurred_z[y, x, z, c]], name="blur_z")
    sl.Func(five(1), [blurred_z[y, sl.interval(x - 2, x + 2), z, c]], [blurred_x[y, x, z, c]], name="blur_x")
    sl.Func(five(0), [blurred_x[sl.interval(y - 2, y + 2), x, z, c]], [blurred_y[y, x, z, c]], name="blur_y")
    around = [sl.interval(v // CELL, v // CELL + 1) for v in (y, x)]
    sl.Func(look_up, [inp[y, x], blurred_y[*around, bins, two]], [out[y, x]], pass_buffers=True)
    return sl.build_pipeline([inp], [out], name="bilateral_grid", require=[sl.same_shape(inp, out)])


def as_written(inp: Array) -> Array:
    """NumPy as people write it."""
    height, width = inp.shape
    cells = [(n - 1) // CELL + 2 + 4 for n in inp.shape]
    before = 2 * CELL + CELL // 2
    padded = np.pad(inp, [(before, CELL * k - n - before) for k, n in zip(cells, inp.shape, strict=True)], mode="edge")
    rows, columns = cells
    y, x = (np.arange(CELL * n) // CELL for n in cells)
    place = ((padded * TENTHS + np.float32(0.5)).astype(np.intp) + BINS * (x + columns * y[:, None])).ravel()
    size = rows * columns * BINS
    sums = [np.bincount(place, weights, minlength=size) for weights in (padded.ravel(), None)]
    grid = np.stack(sums, axis=-1).reshape(rows, columns, BINS, 2).astype(np.float32)
    grid = np.pad(grid, ((0, 0), (0, 0), (2, 2), (0, 0)))
    for axis in (2, 1, 0):
        a = np.moveaxis(grid, axis, 0)
        a = FOUR * (a[1:-3] + a[3:-1]) + a[:-4] + a[4:] + SIX * a[2:-2]
        grid = np.moveaxis(a, 0, axis)
    return interpolated(inp, grid, np.arange(height), np.arange(width), 0, 0)


def inputs(size: Size) -> list[Array]:
    """A picture."""
    return [picture(size)]


APP = App(
    name="bilateral_grid",
    about="a bilateral filter by a grid",
    build=build,
    inputs=inputs,
    target=like,
    as_written=as_written,
    by_hand=in_strips("look_up"),
    settings=((8,), (16,), (24,), (32,), (48,), (64,), (96,), (128,)),
    chosen=(128,),
    smallest=(8,),
    full=(768, 1280),
    quick=(200, 160),
)
