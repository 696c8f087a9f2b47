"""The largest element within a disk of radius 26, of a colour picture.

Maxima of 2, 4, 8 and more elements below each other come from those of half as many. Two of these, which may overlap,
give the maximum of a column of any height; a disk is columns of different heights side by side.
"""

from __future__ import annotations

import numpy as np

import slinky as sl
from benchmarks.apps.app import App, Size, in_strips, like, picture
from benchmarks.harness import Array

RADIUS = 26
SLICES = 5
"""Maxima of 1, 2, 4 .. elements; the largest column has 53, of which two of 32 are enough."""
HEIGHTS = [int(np.sqrt((RADIUS + 0.25) ** 2 - dx * dx)) for dx in range(RADIUS + 1)]
"""How far the disk reaches up and down, by the distance from its middle."""


def pairs(distance: int) -> object:
    """A callback: the larger of each element and one below it."""

    def larger(source: Array, target: Array) -> None:
        np.maximum(source[: len(target)], source[distance:], out=target)

    return larger


def disk(*arrays: Array) -> None:
    """The maximum over columns of all heights; the arrays begin RADIUS rows above the target, and beside it."""
    *slices, target = arrays
    height, width = target.shape[:2]
    column = np.empty_like(slices[0][:height])
    first = True
    for reach in sorted(set(HEIGHTS)):
        power = (2 * reach + 1).bit_length() - 1
        top, bottom = RADIUS - reach, RADIUS + reach + 1 - (1 << power)
        np.maximum(slices[power][top : top + height], slices[power][bottom : bottom + height], out=column)
        for dx in (dx for dx in range(RADIUS + 1) if HEIGHTS[dx] == reach):
            for at in {RADIUS - dx, RADIUS + dx}:
                beside = column[:, at : at + width]
                if first:
                    target[...] = beside
                    first = False
                else:
                    np.maximum(target, beside, out=target)


def build() -> sl.Pipeline:
    """Maxima of more and more elements, each read by the next and by the disk."""
    y, x, c = sl.variables("y x c")
    inp, out = (sl.BufferExpr(name, np.float32, 3) for name in ("inp", "out"))
    source = inp.extended("nearest", dims=[0, 1])
    slices = [source]
    columns = sl.interval(x - RADIUS, x + RADIUS)
    read = [source[sl.interval(y - RADIUS, y + RADIUS), columns, c]]
    for power in range(1, SLICES + 1):
        half, made = 1 << (power - 1), sl.BufferExpr(f"max{1 << power}", np.float32, 3)
        sl.Func(pairs(half), [slices[-1][sl.interval(y, y + half), x, c]], [made[y, x, c]], name=f"max_of_{1 << power}")
        slices.append(made)
        read.append(made[sl.interval(y - RADIUS, y + RADIUS + 1 - (1 << power)), columns, c])
    sl.Func(disk, read, [out[y, x, c]], name="disk")
    return sl.build_pipeline([inp], [out], name="max_filter", require=[sl.same_shape(inp, out)])


def as_written(inp: Array) -> Array:
    """NumPy as people write it."""
    height, width = inp.shape[:2]
    slices = [np.pad(inp, ((RADIUS, RADIUS), (RADIUS, RADIUS), (0, 0)), mode="edge")]
    for power in range(1, SLICES + 1):
        half = 1 << (power - 1)
        slices.append(np.maximum(slices[-1][:-half], slices[-1][half:]))
    columns = {}
    for reach in set(HEIGHTS):
        power = (2 * reach + 1).bit_length() - 1
        top, bottom = RADIUS - reach, RADIUS + reach + 1 - (1 << power)
        columns[reach] = np.maximum(slices[power][top : top + height], slices[power][bottom : bottom + height])
    result = columns[HEIGHTS[0]][:, RADIUS : RADIUS + width].copy()
    for dx in range(1, RADIUS + 1):
        column = columns[HEIGHTS[dx]]
        np.maximum(result, column[:, RADIUS - dx : RADIUS - dx + width], out=result)
        np.maximum(result, column[:, RADIUS + dx : RADIUS + dx + width], out=result)
    return result


def inputs(size: Size) -> list[Array]:
    """A picture."""
    return [picture(size, 3)]


APP = App(
    name="max_filter",
    about="maxima within a disk of radius 26",
    build=build,
    inputs=inputs,
    target=like,
    as_written=as_written,
    by_hand=in_strips("disk"),
    settings=((4,), (8,), (16,), (24,), (32,), (48,), (64,), (96,), (128,)),
    chosen=(16,),
    smallest=(8,),
    full=(768, 1280),
    quick=(200, 160),
    tolerance=0,
)
