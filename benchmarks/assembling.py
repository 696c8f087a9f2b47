"""Four functions of each element of a float32 matrix, concatenated: four branches, and a copy that assembles them.

Each branch writes its part of the result in its place, so that nothing is copied. *With the copy* is the same pipeline
before `sl.alias_copies`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Case, Side, installed, realised
from benchmarks.rows import ours

Branch = Callable[[Array, Array], None]

TILE = 512
"""Rows of a parallel tile."""

ZERO, HALF, ONE, TWO, THREE, SIXTH = (np.array(value, np.float32) for value in (0, 0.5, 1, 2, 3, 1 / 6))


def step(source: Array, target: Array) -> None:
    """A smooth step from 0 to 1: `t * t * (3 - 2 * t)`, where t lies between 0 and 1."""
    t = np.multiply(source, HALF)
    np.add(t, HALF, out=t)
    np.clip(t, ZERO, ONE, out=t)
    np.multiply(t, TWO, out=target)
    np.subtract(THREE, target, out=target)
    np.multiply(target, t, out=target)
    np.multiply(target, t, out=target)


def hat(source: Array, target: Array) -> None:
    """1 at 0, and 0 from a distance of 1 on."""
    np.absolute(source, out=target)
    np.subtract(ONE, target, out=target)
    np.maximum(target, ZERO, out=target)


def softsign(source: Array, target: Array) -> None:
    """From -1 to 1."""
    np.absolute(source, out=target)
    np.add(target, ONE, out=target)
    np.divide(source, target, out=target)


def cubic(source: Array, target: Array) -> None:
    """A polynomial: `((a / 6 + 1 / 2) * a + 1) * a + 1`."""
    np.multiply(source, SIXTH, out=target)
    np.add(target, HALF, out=target)
    np.multiply(target, source, out=target)
    np.add(target, ONE, out=target)
    np.multiply(target, source, out=target)
    np.add(target, ONE, out=target)


BRANCHES: tuple[Branch, ...] = (step, hat, softsign, cubic)


def pipeline() -> sl.Pipeline:
    """The branches and the copy that assembles them, not scheduled."""
    y, x = sl.variables("y x")
    source, target = (sl.BufferExpr(name, np.float32, 2) for name in ("source", "target"))
    parts = [sl.BufferExpr(f"{branch.__name__}_part", np.float32, 2) for branch in BRANCHES]
    for branch, part in zip(BRANCHES, parts, strict=True):
        sl.Func(branch, [source[y, x]], [part[y, x]], name=branch.__name__)
        part.dim(1).domain = source.dim(1).bounds
    sl.copies.concatenate(parts, target, axis=1, name="assemble")
    return sl.build_pipeline([source], [target], name="branches", alias=False)


def by_rows(p: sl.Pipeline, rows: int) -> sl.Pipeline:
    """Some rows at a time, in all branches."""
    p, (loop, _, _) = sl.split_loop(p, "assemble.y", rows, rc=True)
    for branch in BRANCHES:
        p, func = sl.compute_at(p, branch.__name__, loop, rc=True)
        p = sl.store_at(p, func.alloc, loop)
    return p


def by_rows_in_parallel(p: sl.Pipeline, rows: int) -> sl.Pipeline:
    """The same, on two threads."""
    p, (tiles, _, _) = sl.split_loop(p, "assemble.y", TILE, rc=True)
    p = by_rows(p, rows)
    return sl.parallelize_loop(p, p.forward(tiles), workers=2)


def as_written(a: Array) -> Array:
    """NumPy as people write it."""
    t = np.clip(a * HALF + HALF, 0, 1)
    steps = t * t * (3 - 2 * t)
    hats = np.maximum(1 - np.abs(a), 0)
    signs = a / (1 + np.abs(a))
    cubics = ((a * SIXTH + HALF) * a + 1) * a + 1
    return np.concatenate([steps, hats, signs, cubics], axis=1)


def tiled_by_hand(source: Array, target: Array, rows: int) -> Array:
    """NumPy as an expert writes it: some rows at a time, each branch where its part lies."""
    width = source.shape[1]
    for y in range(0, len(source), rows):
        for k, branch in enumerate(BRANCHES):
            branch(source[y : y + rows], target[y : y + rows, k * width : (k + 1) * width])
    return target


def tiled_by_hand_on_threads(source: Array, target: Array, rows: int) -> Callable[[], Array]:
    """The same on two threads, half of the rows each."""
    middle = len(source) // 2
    threads = ThreadPoolExecutor(2)

    def half(part: slice) -> Array:
        return tiled_by_hand(source[part], target[part], rows)

    def run() -> Array:
        list(threads.map(half, [slice(0, middle), slice(middle, None)]))
        return target

    return run


def with_opencv(source: Array, target: Array) -> Callable[[], Array]:
    """OpenCV's operations, and `hconcat`."""
    import cv2

    def run() -> Array:
        cv2.setNumThreads(1)
        t = cv2.min(cv2.max(cv2.addWeighted(source, 0.5, source, 0, 0.5), 0.0), 1.0)
        steps = cv2.multiply(cv2.multiply(t, t), cv2.addWeighted(t, -2, t, 0, 3))
        above = cv2.absdiff(source, 0.0)
        hats = cv2.max(cv2.subtract(1.0, above), 0.0)
        signs = cv2.divide(source, cv2.add(above, 1.0))
        cubics = cv2.add(cv2.multiply(cv2.addWeighted(source, 1 / 6, source, 0, 0.5), source), 1.0)
        cubics = cv2.add(cv2.multiply(cubics, source), 1.0)
        return np.asarray(cv2.hconcat([steps, hats, signs, cubics], target))

    return run


def with_halide(source: Array, target: Array) -> Callable[[], Array]:
    """Halide, scheduled by hand: a row in all branches, vectorised, on one thread."""
    import halide as hl

    x, part, y = hl.Var("x"), hl.Var("part"), hl.Var("y")
    a = hl.Buffer(source)[x, y]
    one = hl.f32(1)
    t = hl.clamp(a * hl.f32(0.5) + hl.f32(0.5), hl.f32(0), one)
    curves = [
        t * t * (hl.f32(3) - hl.f32(2) * t),
        hl.max(one - hl.abs(a), hl.f32(0)),
        a / (one + hl.abs(a)),
        ((a * hl.f32(1 / 6) + hl.f32(0.5)) * a + one) * a + one,
    ]
    result = hl.Func("result")
    result[x, part, y] = hl.select(part == 0, curves[0], part == 1, curves[1], part == 2, curves[2], curves[3])
    result.bound(part, 0, len(BRANCHES)).unroll(part).vectorize(x, 16)
    run = realised(result, target.reshape(len(source), len(BRANCHES), source.shape[1]))
    return lambda: run().reshape(target.shape)


def cases(quick: bool) -> Iterator[Case]:
    """One size."""
    height, width = (1000, 500) if quick else (8000, 1000)

    def make() -> list[Side]:
        source = np.random.default_rng(1).standard_normal((height, width), np.float32)
        target = np.zeros((height, len(BRANCHES) * width), np.float32)
        whole = pipeline()
        sides = [
            Side("NumPy as written", lambda: as_written(source)),
            ours("ours, not scheduled, with the copy", whole, source, target),
            ours("ours, not scheduled", sl.alias_copies(whole), source, target),
        ]
        for rows in (16, 128):
            sides.append(Side(f"NumPy tiled by hand, {rows} rows", partial(tiled_by_hand, source, target, rows)))
            sides.append(ours(f"ours, {rows} rows, with the copy", by_rows(whole, rows), source, target))
            sides.append(ours(f"ours, {rows} rows", sl.alias_copies(by_rows(whole, rows)), source, target))
        by_hand = tiled_by_hand_on_threads(source, target, 128)
        sides.append(Side("NumPy tiled by hand, 128 rows, 2 threads", by_hand))
        in_parallel = sl.alias_copies(by_rows_in_parallel(whole, 128))
        sides.append(ours("ours, 128 rows, 2 threads", in_parallel, source, target))
        if installed("cv2"):
            sides.append(Side("OpenCV, 1 thread", with_opencv(source, target)))
        if installed("halide"):
            sides.append(Side("Halide, by hand", with_halide(source, target)))
        return sides

    yield Case(f"four branches of {height} x {width} float32", make)
