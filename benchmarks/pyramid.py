"""Four levels down, by means of 2x2, and up again, each level mixed with what comes from the level below."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Case, Side
from benchmarks.rows import ours, some_rows, under_jit

LEVELS = 4
HALF = np.float32(0.5)
QUARTER = np.float32(0.25)


def down(fine: Array, coarse: Array) -> None:
    """Means of 2x2."""
    np.add(fine[0::2, 0::2], fine[1::2, 0::2], out=coarse)
    np.add(coarse, fine[0::2, 1::2], out=coarse)
    np.add(coarse, fine[1::2, 1::2], out=coarse)
    np.multiply(coarse, QUARTER, out=coarse)


def blend(fine: Array, coarse: Array, target: Array, y: int, x: int) -> None:
    """Half of a level, half of the one below, each of whose elements covers 2x2; the first is cut at (y, x)."""
    height, width = target.shape
    spread = coarse.repeat(2, axis=0).repeat(2, axis=1)[y : y + height, x : x + width]
    np.add(fine, spread, out=target)
    np.multiply(target, HALF, out=target)


def mix(fine: sl.Buffer, coarse: sl.Buffer, target: sl.Buffer) -> None:
    """Blend at any place: an odd one starts in the middle of a coarse element."""
    y, x = (lo - 2 * first for lo, first in zip(target.min, coarse.min, strict=True))
    blend(fine.array, coarse.array, target.array, y, x)


def pipeline() -> sl.Pipeline:
    """Not scheduled."""
    y, x = sl.variables("y x")
    levels = [sl.BufferExpr(f"down{n}", np.float32, 2) for n in range(LEVELS + 1)]
    mixed = [sl.BufferExpr(f"up{n}", np.float32, 2) for n in range(LEVELS)]
    two = (sl.interval(2 * y, 2 * y + 1), sl.interval(2 * x, 2 * x + 1))
    for n in range(LEVELS):
        sl.Func(down, [levels[n][two]], [levels[n + 1][y, x]], name=f"down{n + 1}")
    for n in reversed(range(LEVELS)):
        below = mixed[n + 1] if n + 1 < LEVELS else levels[LEVELS]
        sl.Func(mix, [levels[n][y, x], below[y // 2, x // 2]], [mixed[n][y, x]], name=f"up{n}", pass_buffers=True)
    return sl.build_pipeline([levels[0]], [mixed[0]], name="pyramid")


def by_rows(p: sl.Pipeline, rows: int) -> sl.Pipeline:
    """All levels of some rows, then the next; `rows` a multiple of 16 lets nothing be computed twice."""
    p, (loop, _, _) = sl.split_loop(p, "up0.y", rows, rc=True)
    for name in [*(f"up{n}" for n in range(1, LEVELS)), *(f"down{n}" for n in reversed(range(1, LEVELS + 1)))]:
        p, func = sl.compute_at(p, name, loop, rc=True)
        p = sl.store_at(p, func.alloc, loop)
    return p


def as_written(a: Array) -> Array:
    """NumPy as people write it."""
    levels = [a]
    for _ in range(LEVELS):
        f = levels[-1]
        levels.append((f[0::2, 0::2] + f[1::2, 0::2] + f[0::2, 1::2] + f[1::2, 1::2]) * QUARTER)
    result = levels.pop()
    for level in reversed(levels):
        result = (level + result.repeat(2, axis=0).repeat(2, axis=1)) * HALF
    return result


def tiled_by_hand(a: Array, target: Array, rows: int) -> Array:
    """NumPy on some rows at a time, in buffers that are kept; `rows` is a multiple of 16 that divides the height."""
    shapes = [(rows >> n, a.shape[1] >> n) for n in range(LEVELS + 1)]
    levels = [np.empty(shape, np.float32) for shape in shapes[1:]]
    mixed = [np.empty(shape, np.float32) for shape in shapes[1:-1]]
    for y in range(0, len(a), rows):
        fines = [a[y : y + rows], *levels]
        for n in range(LEVELS):
            down(fines[n], fines[n + 1])
        results = [target[y : y + rows], *mixed, levels[-1]]
        for n in reversed(range(LEVELS)):
            blend(fines[n], results[n + 1], results[n], 0, 0)
    return target


def cases(quick: bool) -> Iterator[Case]:
    """One size."""
    size = 512 if quick else 4096

    def make() -> list[Side]:
        source = np.random.default_rng(1).random((size, size), np.float32)
        target = np.zeros_like(source)
        whole = pipeline()

        sides = [
            Side("NumPy as written", lambda: as_written(source)),
            ours("ours, not scheduled", whole, source, target),
        ]
        sides += some_rows(
            (16, 64),
            lambda rows: tiled_by_hand(source, target, rows),
            lambda rows: by_rows(whole, rows),
            source,
            target,
        )
        return sides + under_jit(as_written, source)

    yield Case(f"pyramid on {size}² float32", make)
