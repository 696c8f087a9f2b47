"""(a x b) x c: rows of the first product are used as soon as they are there. The products are NumPy's own.

Then products whose arithmetic is scheduled by primitives, down to the element: a tile of sums stays in registers while
all that is added to it goes by. Plain ones are compared with NumPy's, which calls a BLAS; and such as no library has,
of which only what is positive counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Case, Side
from benchmarks.rows import fast, native, ours, some_rows


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


ROWS, COLUMNS, WIDTH = 4, 24, 8
"""The tile, which takes 12 of 16 vector registers of 8 floats, and divides the sizes that are measured (what is left at
an edge is computed by functions, several times slower); and a vector."""


def sums_of_products(*, positive: bool) -> sl.Pipeline:
    """A product of matrices as a tensor: products, or only positive ones, and sums of them."""
    s = sl.dims("m k n")
    a, b = sl.Tensor(s.m, s.k, dtype=np.float32, name="a"), sl.Tensor(s.k, s.n, dtype=np.float32, name="b")
    products = (np.maximum(a * b, 0) if positive else a * b).named("products")
    c: sl.Tensor = products.sum(s.k, reassociate=True).named("c")
    return c.pipeline


def by_tiles(p: sl.Pipeline) -> sl.Pipeline:
    """A tile at a time, in registers, to which products of one `k` after the other are added; columns of a tile of the
    second matrix are copied first, so that they lie side by side."""
    products = p.find("products = _").name()
    p, (rows, _, _) = sl.split_loop(p, "sum.m", ROWS, rc=True)
    p = sl.reorder_loops(sl.split_loop(p, "sum.n", COLUMNS), rows)
    p = sl.split_reduction(p, "sum", "k", 1)
    p = sl.split_loop(p, "sum_update.m", 1)
    p, (vectors, _, _) = sl.split_loop(p, "sum_update.n", WIDTH, rc=True)
    p = sl.store_at(sl.compute_at(p, products, vectors), "alloc products", vectors)
    return sl.stage_buffer(p, p.forward(rows), "b")


def positive_by_numpy(a: Array, b: Array) -> Array:
    """Sums of positive products, a row at a time: all products at once would take gigabytes."""
    return np.stack([np.maximum(row[:, None] * b, 0).sum(0) for row in a])


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
    for positive in (False, True):
        for size in (504,) if quick else (504, 1008):
            yield Case(
                f"{'positive products' if positive else 'a x b'}, {size}²", partial(_by_primitives, size, positive)
            )


def _by_primitives(size: int, positive: bool) -> list[Side]:
    random = np.random.default_rng(1)
    a, b = (random.random((size, size), np.float32) - np.float32(0.5 * positive) for _ in range(2))
    target = np.zeros((size, size), np.float32)
    if positive:
        sides = [Side("NumPy, row by row", lambda: positive_by_numpy(a, b))]
    else:
        sides = [Side("NumPy (BLAS)", lambda: np.matmul(a, b))]
    tiles = by_tiles(sums_of_products(positive=positive))
    return [
        *sides,
        native("ours, tiles, native", tiles, a, b, target),
        fast("ours, tiles, native, fast", tiles, a, b, target),
    ]
