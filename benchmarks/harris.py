"""Harris corners of a float32 image: gradients, their products, sums over 3x3, the response."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Case, Side, installed, realised, realised_anew
from benchmarks.rows import ours, some_rows, under_jit

K = np.float32(0.04)


def gradients(image: Array, gx: Array, gy: Array) -> None:
    """Sobel, along x and along y."""
    h, w = gx.shape
    smooth = image[0:h] + 2 * image[1 : h + 1] + image[2 : h + 2]
    np.subtract(smooth[:, 2:], smooth[:, :w], out=gx)
    smooth = image[:, 0:w] + 2 * image[:, 1 : w + 1] + image[:, 2 : w + 2]
    np.subtract(smooth[2:], smooth[:h], out=gy)


def products(gx: Array, gy: Array, xx: Array, xy: Array, yy: Array) -> None:
    """Of the gradients with each other."""
    np.multiply(gx, gx, out=xx)
    np.multiply(gx, gy, out=xy)
    np.multiply(gy, gy, out=yy)


def box(source: Array, target: Array) -> None:
    """Sums over 3x3."""
    h, w = target.shape
    rows = source[0:h] + source[1 : h + 1]
    rows += source[2 : h + 2]
    np.add(rows[:, 0:w], rows[:, 1 : w + 1], out=target)
    np.add(target, rows[:, 2 : w + 2], out=target)


def response(xx: Array, xy: Array, yy: Array, target: Array) -> None:
    """Determinant minus k times the square of the trace."""
    trace = xx + yy
    np.multiply(trace, trace, out=trace)
    np.multiply(trace, K, out=trace)
    np.multiply(xx, yy, out=target)
    target -= xy * xy
    target -= trace


def pipeline() -> sl.Pipeline:
    """Six funcs, not scheduled."""
    y, x = sl.variables("y x")
    names = ("image", "gx", "gy", "xx", "xy", "yy", "sxx", "sxy", "syy", "corners")
    image, gx, gy, xx, xy, yy, sxx, sxy, syy, corners = (sl.BufferExpr(name, np.float32, 2) for name in names)
    around = (sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1))
    sl.Func(gradients, [image[around]], [gx[y, x], gy[y, x]])
    sl.Func(products, [gx[y, x], gy[y, x]], [xx[y, x], xy[y, x], yy[y, x]])
    for source, target in ((xx, sxx), (xy, sxy), (yy, syy)):
        sl.Func(box, [source[around]], [target[y, x]], name=f"box_{source.name}")
    sl.Func(response, [sxx[y, x], sxy[y, x], syy[y, x]], [corners[y, x]])
    return sl.build_pipeline([image], [corners], name="harris")


def by_rows(p: sl.Pipeline, rows: int) -> sl.Pipeline:
    """Some rows at a time; the products keep their windows, everything else lives for one step."""
    p, (loop, _, _) = sl.split_loop(p, "response.y", rows, rc=True)
    for name in ("box_yy", "box_xy", "box_xx"):
        p = sl.compute_at(p, name, loop)
    for name in ("products", "gradients"):
        p = sl.compute_at(p, name, loop)
        p = sl.slide_window(p, name, loop)
    for name in ("xx", "xy", "yy"):
        p = sl.fold_storage(p, f"alloc {name}", "y")
    for name in ("sxx", "sxy", "syy", "gx", "gy"):
        p = sl.store_at(p, f"alloc {name}", loop)
    return p


def as_written(image: Array) -> Array:
    """NumPy as people write it."""
    a = image
    smooth_y = a[:-2] + 2 * a[1:-1] + a[2:]
    gx = smooth_y[:, 2:] - smooth_y[:, :-2]
    smooth_x = a[:, :-2] + 2 * a[:, 1:-1] + a[:, 2:]
    gy = smooth_x[2:] - smooth_x[:-2]

    def sums(p: Array) -> Array:
        rows = p[:-2] + p[1:-1] + p[2:]
        return np.asarray(rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:])

    sxx, sxy, syy = sums(gx * gx), sums(gx * gy), sums(gy * gy)
    return np.asarray(sxx * syy - sxy * sxy - K * (sxx + syy) ** 2)


def tiled_by_hand(image: Array, target: Array, rows: int) -> Array:
    """NumPy on some rows at a time; rows of products that the next step needs again are kept."""
    width = image.shape[1] - 2
    gx, gy = (np.empty((rows, width), np.float32) for _ in range(2))
    windows = [np.empty((rows + 2, width), np.float32) for _ in range(3)]
    sums = [np.empty((rows, width - 2), np.float32) for _ in range(3)]

    def advance(first: int, n: int, held: int) -> None:
        """Compute the products of some rows, behind those that the windows hold."""
        gradients(image[first : first + n + 2], gx[:n], gy[:n])
        products(gx[:n], gy[:n], *(window[held : held + n] for window in windows))

    advance(0, 2, 0)
    for y in range(0, len(target), rows):
        n = min(rows, len(target) - y)
        advance(y + 2, n, 2)
        for window, total in zip(windows, sums, strict=True):
            box(window[: n + 2], total[:n])
        response(*(total[:n] for total in sums), target[y : y + n])
        for window in windows:
            window[:2] = window[n : n + 2]
    return target


def with_opencv(image: Array) -> Callable[[], Array]:
    """OpenCV's own; it computes borders, too, which are cut off."""
    import cv2

    # OpenCV divides the gradients; the response is homogeneous of degree four in them.
    scale = (1.0 / (2 ** (3 - 1) * 3)) ** 4

    def run() -> Array:
        cv2.setNumThreads(1)
        return np.asarray(cv2.cornerHarris(image, 3, 3, float(K))[2:-2, 2:-2] / scale)

    return run


def with_halide(image: Array) -> Any:
    """Halide, scheduled by hand: the gradients in a sliding window over rows, vectorised, on one thread."""
    import halide as hl

    x, y = hl.Var("x"), hl.Var("y")
    a = hl.Buffer(image)
    gx, gy, corners = hl.Func("gx"), hl.Func("gy"), hl.Func("corners")
    two = hl.f32(2)

    def across(x: Any, y: Any) -> Any:
        return a[x, y] + two * a[x, y + 1] + a[x, y + 2]

    def down(x: Any, y: Any) -> Any:
        return a[x, y] + two * a[x + 1, y] + a[x + 2, y]

    gx[x, y] = across(x + 2, y) - across(x, y)
    gy[x, y] = down(x, y + 2) - down(x, y)

    def sums(one: Any, other: Any) -> Any:
        rows = [sum((one[x + i, y + j] * other[x + i, y + j] for j in range(3)), hl.f32(0)) for i in range(3)]
        return rows[0] + rows[1] + rows[2]

    sxx, sxy, syy = sums(gx, gx), sums(gx, gy), sums(gy, gy)
    corners[x, y] = sxx * syy - sxy * sxy - hl.f32(K) * (sxx + syy) * (sxx + syy)
    corners.vectorize(x, 8)
    gx.store_root().compute_at(corners, y).vectorize(x, 8)
    gy.store_root().compute_at(corners, y).vectorize(x, 8).compute_with(gx, x)
    return corners


def cases(quick: bool) -> Iterator[Case]:
    """One size."""
    size = 512 if quick else 4096

    def make() -> list[Side]:
        image = np.random.default_rng(1).random((size, size), np.float32)
        target = np.zeros((size - 4, size - 4), np.float32)
        placed = sl.Buffer(target, min=(2, 2))
        whole = pipeline()

        sides = [Side("NumPy as written", lambda: as_written(image)), ours("ours, not scheduled", whole, image, placed)]
        sides += some_rows(
            (8, 32), lambda rows: tiled_by_hand(image, target, rows), lambda rows: by_rows(whole, rows), image, placed
        )
        sides += under_jit(as_written, image)
        if installed("cv2"):
            sides.append(Side("OpenCV, 1 thread", with_opencv(image)))
        if installed("halide"):
            halide = with_halide(image)
            sides.append(Side("Halide, sliding window by hand", realised(halide, target)))
            sides.append(Side("Halide, the same, a new result each time", realised_anew(halide, target.shape)))
        return sides

    yield Case(f"Harris corners of {size}² float32", make, tolerance=2e-2)
