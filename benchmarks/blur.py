"""Separable blurs of a float32 image: along the rows into an intermediate, then along the columns.

The callbacks are NumPy, the same in ours and in NumPy tiled by hand. A plain copy of the image, with one and with two
threads, says how fast memory is in the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Case, Side, installed, realised, realised_anew
from benchmarks.rows import ours, under_jit

Callback = Callable[[Array, Array], None]

TILE = 512
"""Rows of a parallel tile."""


def gaussian(radius: int) -> list[float]:
    """Weights that sum to 1."""
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / (0.5 * radius + 0.3)) ** 2)
    return [float(w) for w in weights / weights.sum()]


def constants(weights: Sequence[float]) -> list[Array]:
    """The weights as NumPy wants them: it takes half as long per call as when it must make them into arrays."""
    return [np.array(weight, np.float32) for weight in weights]


def weighted_sum(pieces: Sequence[Array], weights: Sequence[Array], target: Array) -> None:
    """The sum of weight times piece, without further temporaries than one."""
    np.multiply(pieces[0], weights[0], out=target)
    product = np.empty_like(target)
    for piece, weight in zip(pieces[1:], weights[1:], strict=True):
        np.multiply(piece, weight, out=product)
        np.add(target, product, out=target)


def callbacks(weights: list[float]) -> tuple[Callback, Callback]:
    """The blur along rows and the blur along columns."""
    taps, factors = range(len(weights)), constants(weights)

    def along_x(source: Array, target: Array) -> None:
        width = target.shape[1]
        weighted_sum([source[:, k : k + width] for k in taps], factors, target)

    def along_y(source: Array, target: Array) -> None:
        height = len(target)
        weighted_sum([source[k : k + height] for k in taps], factors, target)

    return along_x, along_y


def pipeline(weights: list[float]) -> sl.Pipeline:
    """The two funcs, not scheduled."""
    r = len(weights) // 2
    along_x, along_y = callbacks(weights)
    y, x = sl.variables("y x")
    source, rows, target = (sl.BufferExpr(name, np.float32, 2) for name in ("source", "rows", "target"))
    sl.Func(along_x, [source[y, sl.interval(x - r, x + r)]], [rows[y, x]], name="blur_x")
    sl.Func(along_y, [rows[sl.interval(y - r, y + r), x]], [target[y, x]], name="blur_y")
    return sl.build_pipeline([source], [target], name="blur")


def by_rows(p: sl.Pipeline, rows: int) -> sl.Pipeline:
    """Some rows at a time; the intermediate keeps its window."""
    p, (loop, _, _) = sl.split_loop(p, "blur_y.y", rows, rc=True)
    p, blur_x = sl.compute_at(p, "blur_x", loop, rc=True)
    p = sl.slide_window(p, blur_x.call, loop)
    return sl.fold_storage(p, blur_x.alloc, "y")


def by_rows_in_parallel(p: sl.Pipeline, rows: int) -> sl.Pipeline:
    """Tiles of many rows on two threads; in each, some rows at a time."""
    p, (tiles, _, _) = sl.split_loop(p, "blur_y.y", TILE, rc=True)
    p, (loop, _, _) = sl.split_loop(p, "blur_y.y", rows, rc=True)
    p, blur_x = sl.compute_at(p, "blur_x", loop, rc=True)
    p = sl.store_at(p, blur_x.alloc, tiles)
    p = sl.slide_window(p, blur_x.call, loop)
    p = sl.fold_storage(p, blur_x.alloc, "y")
    return sl.parallelize_loop(p, tiles, workers=2)


def as_written(source: Array, weights: list[float]) -> Array:
    """NumPy as people write it."""
    height, width = (extent - len(weights) + 1 for extent in source.shape)
    rows = weights[0] * source[:, :width]
    for k in range(1, len(weights)):
        rows += weights[k] * source[:, k : k + width]
    blurred = weights[0] * rows[:height]
    for k in range(1, len(weights)):
        blurred += weights[k] * rows[k : k + height]
    return blurred


def tiled_by_hand(source: Array, weights: list[float], target: Array, rows: int) -> Array:
    """NumPy as an expert writes it: some rows at a time, those that the next step needs again are kept."""
    along_x, along_y = callbacks(weights)
    halo = len(weights) - 1
    window = np.empty((rows + halo, target.shape[1]), np.float32)
    along_x(source[:halo], window[:halo])
    for y in range(0, len(target), rows):
        n = min(rows, len(target) - y)
        along_x(source[y + halo : y + halo + n], window[halo : halo + n])
        along_y(window[: n + halo], target[y : y + n])
        window[:halo] = window[n : n + halo]
    return target


def tiled_by_hand_on_threads(source: Array, weights: list[float], target: Array, rows: int) -> Callable[[], Array]:
    """The same on two threads, half of the image each."""
    middle, halo = len(target) // 2, len(weights) - 1
    halves = [(source[: middle + halo], target[:middle]), (source[middle:], target[middle:])]
    threads = ThreadPoolExecutor(len(halves))

    def blur_half(half: tuple[Array, Array]) -> Array:
        return tiled_by_hand(half[0], weights, half[1], rows)

    def run() -> Array:
        list(threads.map(blur_half, halves))
        return target

    return run


def with_scipy(source: Array, weights: list[float]) -> Callable[[], Array]:
    """SciPy's separable correlation; it computes borders, too, which are cut off."""
    from scipy import ndimage

    r = len(weights) // 2

    def run() -> Array:
        rows = ndimage.correlate1d(source, weights, axis=1)
        full = ndimage.correlate1d(rows, weights, axis=0)
        return np.asarray(full[r:-r, r:-r])

    return run


def with_opencv(source: Array, weights: list[float], threads: int) -> Callable[[], Array]:
    """OpenCV's separable filter; it computes borders, too, which are cut off."""
    import cv2

    r = len(weights) // 2
    kernel = np.array(weights, np.float32)

    def run() -> Array:
        cv2.setNumThreads(threads)
        return np.asarray(cv2.sepFilter2D(source, cv2.CV_32F, kernel, kernel)[r:-r, r:-r])

    return run


def with_numba(source: Array, weights: list[float], target: Array) -> Callable[[], Array]:
    """Fused by hand and compiled: a ring of blurred rows."""
    import numba

    given = np.array(weights, np.float32)

    @numba.njit(fastmath=True)  # type: ignore[untyped-decorator]
    def fused(source: Array, weights: Array, target: Array) -> None:
        taps = len(weights)
        height, width = target.shape
        ring = np.empty((taps, width), np.float32)
        for y in range(height + taps - 1):
            row = ring[y % taps]
            for x in range(width):
                total = np.float32(0)
                for k in range(taps):
                    total += weights[k] * source[y, x + k]
                row[x] = total
            if y >= taps - 1:
                result = target[y - taps + 1]
                result[:] = 0
                for k in range(taps):
                    row = ring[(y + 1 + k) % taps]
                    for x in range(width):
                        result[x] += weights[k] * row[x]

    def run() -> Array:
        fused(source, given, target)
        return target

    return run


def with_halide(source: Array, weights: list[float]) -> Any:
    """Halide, scheduled by hand with a sliding window over rows, vectorised, on one thread."""
    import halide as hl

    x, y = hl.Var("x"), hl.Var("y")
    given = hl.Buffer(source)
    rows, result = hl.Func("rows"), hl.Func("result")
    rows[x, y] = _sum([given[x + k, y] * hl.f32(w) for k, w in enumerate(weights)])
    result[x, y] = _sum([rows[x, y + k] * hl.f32(w) for k, w in enumerate(weights)])
    result.vectorize(x, 16)
    rows.store_root().compute_at(result, y).vectorize(x, 16)
    return result


def _sum(terms: list[Any]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def copies(size: int) -> list[Side]:
    """The image copied by NumPy: no pass over it is faster."""
    source = np.random.default_rng(1).random((size, size), np.float32)
    target = np.zeros_like(source)
    halves = [slice(0, size // 2), slice(size // 2, size)]
    threads = ThreadPoolExecutor(len(halves))

    def copy(rows: slice) -> Array:
        np.copyto(target[rows], source[rows])
        return target

    def copy_halves() -> Array:
        return list(threads.map(copy, halves))[-1]

    return [Side("NumPy, 1 thread", lambda: copy(slice(None))), Side("NumPy, 2 threads", copy_halves)]


def cases(quick: bool) -> Iterator[Case]:
    """3x3, 9x9, and a copy."""
    size = 768 if quick else 6144
    for radius in (1, 4):

        def make(radius: int = radius) -> list[Side]:
            weights = gaussian(radius)
            source = np.random.default_rng(1).random((size, size), np.float32)
            target = np.zeros((size - 2 * radius, size - 2 * radius), np.float32)
            sides = [Side("NumPy as written", lambda: as_written(source, weights))]
            whole = pipeline(weights)
            placed = sl.Buffer(target, min=(radius, radius))

            sides.append(ours("ours, not scheduled", whole, source, placed))
            for rows in (4, 16, 64):
                sides.append(
                    Side(
                        f"NumPy tiled by hand, {rows} rows",
                        lambda rows=rows: tiled_by_hand(source, weights, target, rows),  # type: ignore[misc]
                    )
                )
                sides.append(ours(f"ours, {rows} rows", by_rows(whole, rows), source, placed))
                sides.append(ours(f"ours, {rows} rows, 2 threads", by_rows_in_parallel(whole, rows), source, placed))
            by_hand = tiled_by_hand_on_threads(source, weights, target, 16)
            sides.append(Side("NumPy tiled by hand, 16 rows, 2 threads", by_hand))
            sides += under_jit(lambda source: as_written(source, weights), source)
            if installed("scipy"):
                sides.append(Side("SciPy ndimage", with_scipy(source, weights)))
            if installed("cv2"):
                sides.append(Side("OpenCV, 1 thread", with_opencv(source, weights, 1)))
                sides.append(Side("OpenCV, 2 threads", with_opencv(source, weights, 2)))
            if installed("numba"):
                sides.append(Side("numba, fused by hand", with_numba(source, weights, target)))
            if installed("halide"):
                halide = with_halide(source, weights)
                sides.append(Side("Halide, sliding window by hand", realised(halide, target)))
                sides.append(Side("Halide, the same, a new result each time", realised_anew(halide, target.shape)))
            return sides

        yield Case(f"{2 * radius + 1}x{2 * radius + 1} blur of {size}² float32", make)

    yield Case(f"copy of {size}² float32", lambda: copies(size), bytes_moved=2 * 4 * size * size)
