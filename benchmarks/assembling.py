"""Four branches of one float32 matrix, concatenated: each writes its part of the result, and nothing is copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Case, Side, installed
from benchmarks.rows import ours

Branch = Callable[[Array, Array], None]

SLOPE, HALF = np.float32(0.1), np.float32(0.5)

TILE = 512
"""Rows of a parallel tile."""


def leaky(source: Array, target: Array) -> None:
    """A ramp that leaks."""
    np.multiply(source, SLOPE, out=target)
    np.maximum(source, target, out=target)


def squared(source: Array, target: Array) -> None:
    """The square of what is above one half."""
    np.subtract(source, HALF, out=target)
    np.multiply(target, target, out=target)


def root(source: Array, target: Array) -> None:
    """The root of the absolute value."""
    np.absolute(source, out=target)
    np.sqrt(target, out=target)


def clipped(source: Array, target: Array) -> None:
    """A line between 0 and 1."""
    np.add(source, HALF, out=target)
    np.minimum(target, np.float32(1), out=target)
    np.maximum(target, np.float32(0), out=target)


BRANCHES: tuple[Branch, ...] = (leaky, squared, root, clipped)


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
    leaks = np.maximum(a, a * SLOPE)
    squares = (a - HALF) ** 2
    roots = np.sqrt(np.abs(a))
    line = np.clip(a + HALF, 0, 1)
    return np.concatenate([leaks, squares, roots, line], axis=1)


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
        leaks = cv2.max(source, cv2.multiply(source, float(SLOPE)))
        above = cv2.subtract(source, float(HALF))
        roots = cv2.sqrt(cv2.absdiff(source, 0.0))
        line = cv2.max(cv2.min(cv2.add(source, float(HALF)), 1.0), 0.0)
        return np.asarray(cv2.hconcat([leaks, cv2.multiply(above, above), roots, line], target))

    return run


def with_halide(source: Array, target: Array) -> Callable[[], Array]:
    """Halide, scheduled by hand: a row in all branches, vectorised, on one thread."""
    import halide as hl

    x, part, y = hl.Var("x"), hl.Var("part"), hl.Var("y")
    a = hl.Buffer(source)[x, y]
    above = a - hl.f32(0.5)
    line = hl.max(hl.min(a + hl.f32(0.5), hl.f32(1)), hl.f32(0))
    result = hl.Func("result")
    result[x, part, y] = hl.select(
        part == 0, hl.max(a, a * hl.f32(0.1)), part == 1, above * above, part == 2, hl.sqrt(hl.abs(a)), line
    )
    result.bound(part, 0, len(BRANCHES)).unroll(part).vectorize(x, 16)
    output = hl.Buffer(target.reshape(len(source), len(BRANCHES), source.shape[1]))
    result.compile_jit()

    def run() -> Array:
        result.realize(output)
        return target

    return run


def cases(quick: bool) -> Iterator[Case]:
    """One size."""
    height, width = (1024, 512) if quick else (8192, 1024)

    def make() -> list[Side]:
        source = np.random.default_rng(1).standard_normal((height, width), np.float32)
        target = np.zeros((height, len(BRANCHES) * width), np.float32)
        whole = pipeline()
        sides = [
            Side("NumPy as written", lambda: as_written(source)),
            ours("ours, not scheduled, with the copy", whole, source, target),
            ours("ours, not scheduled", sl.alias_copies(whole), source, target),
        ]
        for rows in (16, 64):
            sides.append(Side(f"NumPy tiled by hand, {rows} rows", partial(tiled_by_hand, source, target, rows)))
            sides.append(ours(f"ours, {rows} rows, with the copy", by_rows(whole, rows), source, target))
            sides.append(ours(f"ours, {rows} rows", sl.alias_copies(by_rows(whole, rows)), source, target))
        by_hand = tiled_by_hand_on_threads(source, target, 64)
        sides.append(Side("NumPy tiled by hand, 64 rows, 2 threads", by_hand))
        in_parallel = sl.alias_copies(by_rows_in_parallel(whole, 64))
        sides.append(ours("ours, 64 rows, 2 threads", in_parallel, source, target))
        if installed("cv2"):
            sides.append(Side("OpenCV, 1 thread", with_opencv(source, target)))
        if installed("halide"):
            sides.append(Side("Halide, by hand", with_halide(source, target)))
        return sides

    yield Case(f"four branches of {height} x {width} float32", make)
