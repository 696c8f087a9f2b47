"""(a x b) x c: rows of the first product are used as soon as they are there. The products are NumPy's own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Case, Side
from benchmarks.rows import ours, some_rows


def matmul(a: Array, b: Array, target: Array) -> None:
    """NumPy's."""
    np.matmul(a, b, out=target)


def pipeline() -> sl.Pipeline:
    """Two funcs, not scheduled."""
    i, j = sl.variables("i j")
    a, b, c, ab, abc = (sl.BufferExpr(name, np.float32, 2) for name in ("a", "b", "c", "ab", "abc"))
    inner, outer = a.dim(1).bounds, c.dim(0).bounds
    sl.Func(matmul, [a[i, inner], b[inner, j]], [ab[i, j]], name="first")
    sl.Func(matmul, [ab[i, outer], c[outer, j]], [abc[i, j]], name="second")
    return sl.build_pipeline([a, b, c], [abc], name="matmul")


def by_rows(p: sl.Pipeline, rows: int) -> sl.Pipeline:
    """Some rows of both products at a time."""
    p, (loop, _, _) = sl.split_loop(p, "second.i", rows, rc=True)
    p, first = sl.compute_at(p, "first", loop, rc=True)
    return sl.store_at(p, first.alloc, loop)


def tiled_by_hand(a: Array, b: Array, c: Array, target: Array, rows: int) -> Array:
    """NumPy on some rows at a time."""
    ab = np.empty((rows, b.shape[1]), np.float32)
    for i in range(0, len(a), rows):
        n = min(rows, len(a) - i)
        np.matmul(a[i : i + n], b, out=ab[:n])
        np.matmul(ab[:n], c, out=target[i : i + n])
    return target


def cases(quick: bool) -> Iterator[Case]:
    """Tall and thin matrices, where the intermediate is large, and square ones."""
    shapes = {"4096 x 64 x 1024 x 64": (4096, 64, 1024, 64), "512² each": (512,) * 4}
    if not quick:
        shapes = {"65536 x 64 x 1024 x 64": (65536, 64, 1024, 64), "1536² each": (1536,) * 4}
    for name, (m, k, n, q) in shapes.items():

        def make(m: int = m, k: int = k, n: int = n, q: int = q) -> list[Side]:
            random = np.random.default_rng(1)
            a, b, c = (random.random(shape, np.float32) for shape in ((m, k), (k, n), (n, q)))
            target = np.zeros((m, q), np.float32)
            whole = pipeline()

            sides = [Side("NumPy as written", lambda: a @ b @ c), ours("ours, not scheduled", whole, a, b, c, target)]
            sides += some_rows(
                (128, 512),
                lambda rows: tiled_by_hand(a, b, c, target, rows),
                lambda rows: by_rows(whole, rows),
                a,
                b,
                c,
                target,
            )
            return sides

        yield Case(f"(a x b) x c, {name}", make, tolerance=1e-2)
