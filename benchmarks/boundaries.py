"""A separable 9x9 blur of a float32 image whose edges are mirrored, so that the result is as large as the image.

The callbacks are those of `blur`. What the boundary costs is seen beside the same schedule of the same callbacks, of an
image that somebody has padded before. Rows are padded, or (*strips*) just what lies at both sides of them, or (*side
columns apart*) the columns at both sides are computed by themselves, all rows at once, so that in between only first
and last rows reach beyond the edge. The last case is a blur along the columns alone, of which that holds anyway: the
steady state of a loop over rows reads the image itself, and copies nothing. *Native* is the same as arithmetic in C,
where copies are C, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

import slinky as sl
from benchmarks import harness
from benchmarks.blur import TILE, callbacks, constants, gaussian, weighted_sum
from benchmarks.harness import Array, Case, Row, Side, installed, realised
from benchmarks.rows import native, ours

RADIUS = 4
WEIGHTS = gaussian(RADIUS)
BARE = ", padded before"
"""What the name of a side says whose image has its border already."""
STRIPS = ", strips at the sides"
"""What the name of a side says that copies first and last rows, and of the others what lies at both sides."""
APART = ", side columns apart"
"""What the name of a side says that computes the columns at both sides by themselves."""


def pipeline(mode: str | None) -> sl.Pipeline:
    """The two funcs, not scheduled, of an image that is extended by a rule, or read as it is."""
    along_x, along_y = callbacks(WEIGHTS)
    y, x = sl.variables("y x")
    source, rows, target = (sl.BufferExpr(name, np.float32, 2) for name in ("source", "rows", "target"))
    read = source if mode is None else source.extended(mode)
    sl.Func(along_x, [read[y, sl.interval(x - RADIUS, x + RADIUS)]], [rows[y, x]], name="blur_x")
    sl.Func(along_y, [rows[sl.interval(y - RADIUS, y + RADIUS), x]], [target[y, x]], name="blur_y")
    require = [] if mode is None else [sl.same_shape(source, target)]
    return sl.build_pipeline([source], [target], require=require, name="blur")


def understood(mode: str | None) -> sl.Pipeline:
    """The same as arithmetic, which native plans compute in C."""
    y, x = sl.variables("y x")
    source, rows, target = (sl.BufferExpr(name, np.float32, 2) for name in ("source", "rows", "target"))
    read = source if mode is None else source.extended(mode)
    taps = list(zip(_TAPS, constants(WEIGHTS), strict=True))
    along_x, along_y = read[y, x - RADIUS] * taps[0][1], rows[y - RADIUS, x] * taps[0][1]
    for k, weight in taps[1:]:
        along_x, along_y = along_x + read[y, x + k] * weight, along_y + rows[y + k, x] * weight
    sl.arithmetic(along_x, rows[y, x], name="blur_x")
    sl.arithmetic(along_y, target[y, x], name="blur_y")
    require = [] if mode is None else [sl.same_shape(source, target)]
    return sl.build_pipeline([source], [target], require=require, name="blur")


def by_rows(p: sl.Pipeline, rows: int, mode: str | None) -> sl.Pipeline:
    """Some rows at a time; the intermediate keeps its window, and what is read is padded row by row."""
    return _by_rows_in(p, rows, mode, None)


def by_rows_in_parallel(p: sl.Pipeline, rows: int, mode: str | None) -> sl.Pipeline:
    """Tiles of many rows on two threads; in each, some rows at a time."""
    p, (tiles, _, _) = sl.split_loop(p, "blur_y.y", TILE, rc=True)
    return sl.parallelize_loop(_by_rows_in(p, rows, mode, tiles), tiles, workers=2)


def with_columns_apart(p: sl.Pipeline, rows: int, mode: str) -> sl.Pipeline:
    """The columns at both sides by themselves, all rows at once; what lies between, some rows at a time."""
    columns = sl.BufferExpr("target", np.float32, 2).dim(1)
    blur_x, padded = p.find("blur_x"), p.find(mode)
    p, left = sl.cut_call(p, "blur_y.x", columns.min + RADIUS, rc=True)
    p, right = sl.cut_call(p, left.second.dim("x"), columns.max - RADIUS + 1, rc=True)
    for side in (left.first, right.second):
        p, own = sl.clone_call(p, blur_x, side, rc=True)
        p = sl.clone_call(p, padded, own.call)
    p, (loop, _, _) = sl.split_loop(p, right.first.dim("y"), rows, rc=True)
    p, between = sl.compute_at(_slid(p, blur_x, loop, None), padded, loop, rc=True)
    return sl.split_boundary(sl.store_at(p, between.alloc, loop), between.call)


def _by_rows_in(p: sl.Pipeline, rows: int, mode: str | None, tiles: sl.LoopCursor | None) -> sl.Pipeline:
    p, (loop, _, _) = sl.split_loop(p, "blur_y.y", rows, rc=True)
    p = _slid(p, "blur_x", loop, tiles)
    if mode is not None:
        p, padded = sl.compute_at(p, mode, loop, rc=True)
        p = sl.store_at(p, padded.alloc, loop)
    return p


def _slid(p: sl.Pipeline, blur_x: sl.CallCursor | str, loop: sl.LoopCursor, tiles: sl.LoopCursor | None) -> sl.Pipeline:
    """The intermediate in a window that slides in a loop, and stays in another one around it, if there is one."""
    p, slid = sl.compute_at(p, blur_x, loop, rc=True)
    if tiles is not None:
        p = sl.store_at(p, slid.alloc, tiles)
    return sl.fold_storage(sl.slide_window(p, slid.call, loop), slid.alloc, "y")


def along_columns(mode: str | None) -> sl.Pipeline:
    """The blur along the columns alone."""
    factors = constants(WEIGHTS)

    def along_y(source: Array, target: Array) -> None:
        weighted_sum([source[k : k + len(target)] for k in range(len(factors))], factors, target)

    y, x = sl.variables("y x")
    source, target = (sl.BufferExpr(name, np.float32, 2) for name in ("source", "target"))
    read = source if mode is None else source.extended(mode, dims=[0])
    sl.Func(along_y, [read[sl.interval(y - RADIUS, y + RADIUS), x]], [target[y, x]], name="blur_y")
    require = [] if mode is None else [sl.same_shape(source, target)]
    return sl.build_pipeline([source], [target], require=require, name="blur")


def copied_at_the_ends(p: sl.Pipeline, rows: int) -> sl.Pipeline:
    """Some rows at a time: first rows and last rows are copied to where they are mirrored; the others are not."""
    p, (loop, _, _) = sl.split_loop(p, "blur_y.y", rows, rc=True)
    p, padded = sl.compute_at(p, "mirror", loop, rc=True)
    p = sl.store_at(p, padded.alloc, loop)
    return sl.split_boundary(p, "mirror")


def as_written(source: Array) -> Array:
    """NumPy as people write it."""
    height, width = source.shape
    padded = np.pad(source, RADIUS, mode="reflect")
    rows = WEIGHTS[0] * padded[:, :width]
    for k in range(1, len(WEIGHTS)):
        rows += WEIGHTS[k] * padded[:, k : k + width]
    blurred = WEIGHTS[0] * rows[:height]
    for k in range(1, len(WEIGHTS)):
        blurred += WEIGHTS[k] * rows[k : k + height]
    return blurred


def columns_as_written(source: Array) -> Array:
    """The blur along the columns in NumPy, as people write it."""
    padded = np.pad(source, ((RADIUS, RADIUS), (0, 0)), mode="reflect")
    blurred = WEIGHTS[0] * padded[: len(source)]
    for k in range(1, len(WEIGHTS)):
        blurred += WEIGHTS[k] * padded[k : k + len(source)]
    return blurred


def tiled_by_hand(source: Array, target: Array, rows: int) -> Array:
    """NumPy as an expert writes it: rows are padded one piece at a time, and those that are needed again are kept."""
    along_x, along_y = callbacks(WEIGHTS)
    height, width = source.shape
    halo = 2 * RADIUS
    padded = np.empty((rows, width + halo), np.float32)
    window = np.empty((rows + halo, width), np.float32)

    def blurred_rows(indices: Sequence[int] | slice, place: Array) -> None:
        some = padded[: len(place)]
        some[:, RADIUS:-RADIUS] = source[indices]
        some[:, :RADIUS] = some[:, halo:RADIUS:-1]
        some[:, -RADIUS:] = some[:, -RADIUS - 2 : -halo - 2 : -1]
        along_x(some, place)

    blurred_rows([abs(y) for y in range(-RADIUS, 0)], window[:RADIUS])
    blurred_rows(slice(0, RADIUS), window[RADIUS:halo])
    for y in range(0, height, rows):
        n = min(rows, height - y)
        inside = min(n, max(height - y - RADIUS, 0))
        blurred_rows(slice(y + RADIUS, y + RADIUS + inside), window[halo : halo + inside])
        beyond = [2 * (height - 1) - (y + RADIUS + k) for k in range(inside, n)]
        blurred_rows(beyond, window[halo + inside : halo + n])
        along_y(window[: n + halo], target[y : y + n])
        window[:halo] = window[n : n + halo]
    return target


def with_scipy(source: Array) -> Callable[[], Array]:
    """SciPy's separable correlation."""
    from scipy import ndimage

    def run() -> Array:
        rows = ndimage.correlate1d(source, WEIGHTS, axis=1, mode="mirror")
        return np.asarray(ndimage.correlate1d(rows, WEIGHTS, axis=0, mode="mirror"))

    return run


def with_opencv(source: Array, target: Array, threads: int) -> Callable[[], Array]:
    """OpenCV's separable filter."""
    import cv2

    kernel = np.array(WEIGHTS, np.float32)

    def run() -> Array:
        cv2.setNumThreads(threads)
        rule = cv2.BORDER_REFLECT_101
        return np.asarray(cv2.sepFilter2D(source, cv2.CV_32F, kernel, kernel, target, borderType=rule))

    return run


def with_halide(source: Array, target: Array) -> Callable[[], Array]:
    """Halide, scheduled by hand: rows are padded in a sliding window, vectorised, on one thread."""
    import halide as hl

    x, y = hl.Var("x"), hl.Var("y")
    image = hl.BoundaryConditions.mirror_interior(hl.Buffer(source))
    padded, rows, result = hl.Func("padded"), hl.Func("rows"), hl.Func("result")
    padded[x, y] = image[x, y]
    rows[x, y] = sum((padded[x + k, y] * hl.f32(WEIGHTS[k + RADIUS]) for k in _TAPS), hl.f32(0))
    result[x, y] = sum((rows[x, y + k] * hl.f32(WEIGHTS[k + RADIUS]) for k in _TAPS), hl.f32(0))
    result.vectorize(x, 16)
    rows.store_root().compute_at(result, y).vectorize(x, 16)
    padded.compute_at(rows, y).vectorize(x, 16)
    return realised(result, target)


_TAPS = range(-RADIUS, RADIUS + 1)


def _images(quick: bool) -> tuple[Array, Array, sl.Buffer]:
    """An image, where its blur goes, and the image with a border."""
    size = (768, 1024) if quick else (4000, 6000)
    source = np.random.default_rng(1).random(size, np.float32)
    padded = sl.Buffer(np.pad(source, RADIUS, mode="reflect"), min=(-RADIUS, -RADIUS))
    return source, np.zeros_like(source), padded


def _blurs(quick: bool) -> list[Side]:
    source, target, padded = _images(quick)
    whole, bare = pipeline("mirror"), pipeline(None)
    sides = [
        Side("NumPy as written", lambda: as_written(source)),
        ours("ours, not scheduled", whole, source, target),
        Side("NumPy tiled by hand, 16 rows", lambda: tiled_by_hand(source, target, 16)),
    ]
    for rows in (16, 32):
        name = f"ours, {rows} rows"
        rowwise = by_rows(whole, rows, "mirror")
        sides.append(ours(name, rowwise, source, target))
        sides.append(ours(name + STRIPS, sl.split_boundary(rowwise, "mirror"), source, target))
        sides.append(ours(name + APART, with_columns_apart(whole, rows, "mirror"), source, target))
        sides.append(ours(name + BARE, by_rows(bare, rows, None), padded, target))
    name = "ours, 32 rows, 2 threads"
    sides.append(ours(name, by_rows_in_parallel(whole, 32, "mirror"), source, target))
    sides.append(ours(name + BARE, by_rows_in_parallel(bare, 32, None), padded, target))
    for rows in (1, 8):
        name = f"ours, native, {rows} rows"
        sides.append(native(name, by_rows(understood("mirror"), rows, "mirror"), source, target))
        sides.append(native(name + BARE, by_rows(understood(None), rows, None), padded, target))
    if installed("scipy"):
        sides.append(Side("SciPy ndimage", with_scipy(source)))
    if installed("cv2"):
        sides.append(Side("OpenCV, 1 thread", with_opencv(source, target, 1)))
        sides.append(Side("OpenCV, 2 threads", with_opencv(source, target, 2)))
    if installed("halide"):
        sides.append(Side("Halide, sliding window by hand", with_halide(source, target)))
    return sides


def _blurs_along_columns(quick: bool) -> list[Side]:
    source, target, padded = _images(quick)
    whole, bare = along_columns("mirror"), along_columns(None)
    cut = sl.Buffer(np.ascontiguousarray(padded.array[:, RADIUS:-RADIUS]), min=(-RADIUS, 0))
    sides = [Side("NumPy as written", lambda: columns_as_written(source))]
    for rows in (16, 32):
        name = f"ours, {rows} rows"
        sides.append(ours(name, copied_at_the_ends(whole, rows), source, target))
        sides.append(ours(name + BARE, sl.split_loop(bare, "blur_y.y", rows), cut, target))
    return sides


def cases(quick: bool) -> Iterator[Case]:
    """The blur along both dimensions, and along the columns alone."""
    size = "768 x 1024" if quick else "4000 x 6000"
    yield Case(f"9x9 blur of {size} float32, mirrored", lambda: _blurs(quick))
    yield Case(f"9x1 blur of {size} float32, mirrored", lambda: _blurs_along_columns(quick))


def table(rows: Sequence[Row]) -> str:
    """The tables of the cases, and what the boundary costs in each schedule."""
    lines = [harness.table(rows), "", "| what the boundary costs | time, over the same padded before |", "|---|---:|"]
    for row in rows:
        beside = row.all_ratios.get(row.side.removesuffix(STRIPS).removesuffix(APART) + BARE)
        if beside is not None:
            lines.append(
                f"| {row.case.split(' of ')[0]}, {row.side.removeprefix('ours, ')} | {100 * (beside - 1):+.1f} % |"
            )
    return "\n".join(lines)
