"""Unsharp masking of a colour photograph: to float, separable blur, difference, gain, back to uint8."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import slinky as sl
from benchmarks.blur import constants, gaussian, weighted_sum
from benchmarks.harness import Array, Case, Side, installed, realised, realised_anew
from benchmarks.rows import ours, some_rows, under_jit

RADIUS = 3
WEIGHTS = gaussian(RADIUS)
FACTORS = constants(WEIGHTS)
GAIN = np.float32(0.8)


def to_float(source: Array, target: Array) -> None:
    """From uint8."""
    target[...] = source


def blur_x(source: Array, target: Array) -> None:
    """Along the rows."""
    width = target.shape[1]
    weighted_sum([source[:, k : k + width] for k in range(len(FACTORS))], FACTORS, target)


def blur_y(source: Array, target: Array) -> None:
    """Along the columns."""
    height = len(target)
    weighted_sum([source[k : k + height] for k in range(len(FACTORS))], FACTORS, target)


def sharpen(image: Array, blurred: Array, target: Array) -> None:
    """What the blur took away is added once more."""
    result = np.subtract(image, blurred)
    np.multiply(result, GAIN, out=result)
    np.add(result, image, out=result)
    np.clip(result, 0, 255, out=result)
    target[...] = result


def pipeline() -> sl.Pipeline:
    """Four funcs, not scheduled."""
    r = RADIUS
    y, x, c = sl.variables("y x c")
    source, target = (sl.BufferExpr(name, np.uint8, 3) for name in ("source", "target"))
    image, rows, blurred = (sl.BufferExpr(name, np.float32, 3) for name in ("image", "rows", "blurred"))
    sl.Func(to_float, [source[y, x, c]], [image[y, x, c]])
    sl.Func(blur_x, [image[y, sl.interval(x - r, x + r), c]], [rows[y, x, c]])
    sl.Func(blur_y, [rows[sl.interval(y - r, y + r), x, c]], [blurred[y, x, c]])
    sl.Func(sharpen, [image[y, x, c], blurred[y, x, c]], [target[y, x, c]])
    return sl.build_pipeline([source], [target], name="unsharp")


def by_rows(p: sl.Pipeline, rows: int) -> sl.Pipeline:
    """Some rows at a time; the image and the rows keep their windows."""
    p, (loop, _, _) = sl.split_loop(p, "sharpen.y", rows, rc=True)
    p, blurred = sl.compute_at(p, "blur_y", loop, rc=True)
    for name in ("blur_x", "to_float"):
        p, func = sl.compute_at(p, name, loop, rc=True)
        p = sl.slide_window(p, func.call, loop)
        p = sl.fold_storage(p, func.alloc, "y")
    return sl.store_at(p, blurred.alloc, loop)


def as_written(source: Array) -> Array:
    """NumPy as people write it."""
    n, r = len(WEIGHTS), RADIUS
    image = source.astype(np.float32)
    height, width = (extent - n + 1 for extent in image.shape[:2])
    rows = WEIGHTS[0] * image[:, :width]
    for k in range(1, n):
        rows += WEIGHTS[k] * image[:, k : k + width]
    blurred = WEIGHTS[0] * rows[:height]
    for k in range(1, n):
        blurred += WEIGHTS[k] * rows[k : k + height]
    inner = image[r:-r, r:-r]
    return np.asarray(np.clip(inner + GAIN * (inner - blurred), 0, 255).astype(np.uint8))


def tiled_by_hand(source: Array, target: Array, rows: int) -> Array:
    """NumPy on some rows at a time; rows that the next step needs again are kept."""
    r, halo = RADIUS, 2 * RADIUS
    _, width, colours = target.shape
    image = np.empty((rows + halo, width + halo, colours), np.float32)
    blurred_rows = np.empty((rows + halo, width, colours), np.float32)
    blurred = np.empty((rows, width, colours), np.float32)
    to_float(source[:halo], image[:halo])
    blur_x(image[:halo], blurred_rows[:halo])
    for y in range(0, len(target), rows):
        n = min(rows, len(target) - y)
        to_float(source[y + halo : y + halo + n], image[halo : halo + n])
        blur_x(image[halo : halo + n], blurred_rows[halo : halo + n])
        blur_y(blurred_rows[: n + halo], blurred[:n])
        sharpen(image[r : r + n, r:-r], blurred[:n], target[y : y + n])
        image[:halo] = image[n : n + halo]
        blurred_rows[:halo] = blurred_rows[n : n + halo]
    return target


def with_opencv(source: Array) -> Callable[[], Array]:
    """OpenCV, as people write it; it computes borders, too, which are cut off."""
    import cv2

    kernel = np.array(WEIGHTS, np.float32)
    r = RADIUS

    def run() -> Array:
        cv2.setNumThreads(1)
        image = source.astype(np.float32)
        blurred = cv2.sepFilter2D(image, cv2.CV_32F, kernel, kernel)
        cv2.addWeighted(image, 1 + float(GAIN), blurred, -float(GAIN), 0, dst=blurred)
        np.clip(blurred, 0, 255, out=blurred)
        return np.asarray(blurred.astype(np.uint8)[r:-r, r:-r])

    return run


def with_halide(source: Array) -> Any:
    """Halide, scheduled by hand: the rows in a sliding window, the colours as columns, vectorised, on one thread."""
    import halide as hl

    x, y = hl.Var("x"), hl.Var("y")
    given = hl.Buffer(source.reshape(len(source), -1))
    image, rows, result = hl.Func("image"), hl.Func("rows"), hl.Func("result")
    image[x, y] = hl.cast(hl.Float(32), given[x, y])
    weights = [hl.f32(weight) for weight in WEIGHTS]
    rows[x, y] = sum((image[x + 3 * k, y] * weight for k, weight in enumerate(weights)), hl.f32(0))
    blurred = sum((rows[x, y + k] * weight for k, weight in enumerate(weights)), hl.f32(0))
    inner = image[x + 3 * RADIUS, y + RADIUS]
    sharp = hl.clamp(inner + hl.f32(GAIN) * (inner - blurred), hl.f32(0), hl.f32(255))
    result[x, y] = hl.cast(hl.UInt(8), sharp)
    result.vectorize(x, 32)
    rows.store_root().compute_at(result, y).vectorize(x, 16)
    return result


def cases(quick: bool) -> Iterator[Case]:
    """One size."""
    height, width = (600, 1200) if quick else (4000, 6000)

    def make() -> list[Side]:
        source = np.random.default_rng(1).integers(0, 256, (height, width, 3), np.uint8)
        target = np.zeros((height - 2 * RADIUS, width - 2 * RADIUS, 3), np.uint8)
        placed = sl.Buffer(target, min=(RADIUS, RADIUS, 0))
        whole = pipeline()

        sides = [
            Side("NumPy as written", lambda: as_written(source)),
            ours("ours, not scheduled", whole, source, placed),
        ]
        sides += some_rows(
            (4, 16), lambda rows: tiled_by_hand(source, target, rows), lambda rows: by_rows(whole, rows), source, placed
        )
        sides += under_jit(as_written, source)
        if installed("cv2"):
            sides.append(Side("OpenCV, 1 thread", with_opencv(source)))
        if installed("halide"):
            halide, flat = with_halide(source), target.reshape(len(target), -1)
            given, anew = realised(halide, flat), realised_anew(halide, flat.shape)
            sides.append(Side("Halide, sliding window by hand", lambda: given().reshape(target.shape)))
            sides.append(Side("Halide, the same, a new result each time", lambda: anew().reshape(target.shape)))
        return sides

    # Rounding to uint8 may fall to either side of an integer.
    yield Case(f"unsharp masking of {height} x {width} x 3 uint8", make, tolerance=1.0)
