"""Three 3x3 stencils in a row, on float32: each intermediate needs a window of the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Case, Side, installed
from benchmarks.rows import native, ours, some_rows, under_jit

STAGES = 3
NINTH = np.float32(1 / 9)


def mean3x3(source: Array, target: Array) -> None:
    """The mean of each element's surroundings."""
    h, w = target.shape
    rows = np.add(source[0:h], source[1 : h + 1])
    np.add(rows, source[2 : h + 2], out=rows)
    np.add(rows[:, 0:w], rows[:, 1 : w + 1], out=target)
    np.add(target, rows[:, 2 : w + 2], out=target)
    np.multiply(target, NINTH, out=target)


def pipeline() -> sl.Pipeline:
    """Not scheduled."""
    y, x = sl.variables("y x")
    buffers = [sl.BufferExpr(f"b{n}", np.float32, 2) for n in range(STAGES + 1)]
    around = (sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1))
    for n in range(STAGES):
        sl.Func(mean3x3, [buffers[n][around]], [buffers[n + 1][y, x]], name=f"stencil{n}")
    return sl.build_pipeline([buffers[0]], [buffers[-1]], name="stencils")


def as_terms() -> sl.Pipeline:
    """The same as arithmetic that slinky understands: the sums of three rows, and the means of three of these."""
    y, x = sl.variables("y x")
    buffers = [sl.BufferExpr(f"b{n}", np.float32, 2) for n in range(STAGES + 1)]
    for n in range(STAGES):
        source, sums = buffers[n], sl.BufferExpr(f"rows{n}", np.float32, 2)
        sl.arithmetic(source[y - 1, x] + source[y, x] + source[y + 1, x], sums[y, x], name=f"sums{n}")
        mean = (sums[y, x - 1] + sums[y, x] + sums[y, x + 1]) * NINTH
        sl.arithmetic(mean, buffers[n + 1][y, x], name=f"stencil{n}")
    return sl.build_pipeline([buffers[0]], [buffers[-1]], name="stencils")


def terms_by_rows(rows: int) -> sl.Pipeline:
    """Some rows of these at a time; each mean keeps its window, sums are made for its rows."""
    p, (loop, _, _) = sl.split_loop(as_terms(), f"stencil{STAGES - 1}.y", rows, rc=True)
    for n in reversed(range(STAGES)):
        if n < STAGES - 1:
            p, func = sl.compute_at(p, f"stencil{n}", loop, rc=True)
            p = sl.slide_window(p, func.call, loop)
            p = sl.fold_storage(p, func.alloc, "y")
        p, sums = sl.compute_at(p, f"sums{n}", loop, rc=True)
        p = sl.store_at(p, sums.alloc, loop)
    return p


def by_rows(p: sl.Pipeline, rows: int) -> sl.Pipeline:
    """Some rows at a time; each intermediate keeps its window."""
    p, (loop, _, _) = sl.split_loop(p, f"stencil{STAGES - 1}.y", rows, rc=True)
    for n in reversed(range(STAGES - 1)):
        p, func = sl.compute_at(p, f"stencil{n}", loop, rc=True)
        p = sl.slide_window(p, func.call, loop)
        p = sl.fold_storage(p, func.alloc, "y")
    return p


def as_written(a: Array) -> Array:
    """NumPy as people write it."""
    for _ in range(STAGES):
        rows = a[:-2] + a[1:-1] + a[2:]
        a = (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) * NINTH
    return a


def tiled_by_hand(source: Array, target: Array, rows: int) -> Array:
    """NumPy on some rows at a time; rows that the next step needs again are kept."""
    windows = [np.empty((rows + 2, source.shape[1] - 2 * n), np.float32) for n in range(1, STAGES)]
    done = [0] * STAGES

    def advance(stage: int, upto: int) -> None:
        """Compute rows of a stage up to this one; those before are in its window."""
        while done[stage] < upto:
            first = done[stage]
            n = min(upto - first, rows)
            if stage == 0:
                given = source[first : first + n + 2]
            else:
                advance(stage - 1, first + n + 2)
                held = windows[stage - 1]
                given = held[: n + 2]
            if stage == STAGES - 1:
                mean3x3(given, target[first : first + n])
            else:
                window = windows[stage]
                have = min(first, 2)
                if first:
                    window[:2] = window[last[stage] - 2 : last[stage]]
                mean3x3(given, window[have : have + n])
                last[stage] = have + n
            done[stage] = first + n

    last = [0] * STAGES
    for stage in range(STAGES - 1):
        advance(stage, 2)
    for y in range(0, len(target), rows):
        advance(STAGES - 1, min(y + rows, len(target)))
    return target


def with_opencv(source: Array) -> Callable[[], Array]:
    """OpenCV's box filter, three times; it computes borders, too, which are cut off."""
    import cv2

    def run() -> Array:
        cv2.setNumThreads(1)
        a = source
        for _ in range(STAGES):
            a = np.asarray(cv2.blur(a, (3, 3)))
        return a[STAGES:-STAGES, STAGES:-STAGES]

    return run


def cases(quick: bool) -> Iterator[Case]:
    """One size."""
    size = 512 if quick else 4096

    def make() -> list[Side]:
        source = np.random.default_rng(1).random((size, size), np.float32)
        target = np.zeros((size - 2 * STAGES, size - 2 * STAGES), np.float32)
        placed = sl.Buffer(target, min=(STAGES, STAGES))
        whole = pipeline()

        sides = [
            Side("NumPy as written", lambda: as_written(source)),
            ours("ours, not scheduled", whole, source, placed),
        ]
        sides += some_rows(
            (8, 32), lambda rows: tiled_by_hand(source, target, rows), lambda rows: by_rows(whole, rows), source, placed
        )
        sides += [native(f"ours, native, {rows} rows", terms_by_rows(rows), source, placed) for rows in (1, 8)]
        sides += under_jit(as_written, source)
        if installed("cv2"):
            sides.append(Side("OpenCV, 1 thread", with_opencv(source)))
        return sides

    yield Case(f"three stencils on {size}² float32", make)
