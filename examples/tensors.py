"""A product of matrices in which only positive products count, `max(a[m, k] * b[k, n], 0)` summed over `k`.

Prints the nest after each step of a schedule, checks it against plain NumPy, and prints the processor time of both.

    python examples/tensors.py [SIZE]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import slinky as sl

s = sl.dims("m k n")


def program() -> sl.Tensor:
    """The tensor, of inputs without values."""
    a = sl.Tensor(s.m, s.k, dtype=np.float32, name="a")
    b = sl.Tensor(s.k, s.n, dtype=np.float32, name="b")
    positive = np.maximum(a * b, 0).named("positive")
    return positive.sum(s.k, reassociate=True).named("c")


def by_rows(p: sl.Pipeline, rows: int) -> sl.Pipeline:
    """So many rows at a time, and of these the products for one `k` at a time."""
    p = sl.split_loop(p, "sum.m", rows)
    p, pieces = sl.split_reduction(p, "sum", "k", 1, rc=True)
    return sl.store_at(sl.compute_at(p, "maximum", pieces.loop), "alloc positive", pieces.loop)


def plain(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same with plain NumPy, which needs all products at once."""
    return np.maximum(a[:, :, None] * b, 0).sum(axis=1)


def processor_time(run: Callable[[], object]) -> float:
    """The shortest of several runs, in seconds of the processor."""
    shortest = float("inf")
    for _ in range(5):
        start = time.process_time()
        run()
        shortest = min(shortest, time.process_time() - start)
    return shortest


def main() -> None:
    """Run on square matrices of the size given."""
    parser = argparse.ArgumentParser(description="Sum positive products of two matrices.")
    parser.add_argument("size", metavar="SIZE", nargs="?", type=int, default=256, help="rows and columns")
    size = parser.parse_args().size
    if size < 1:
        parser.error(f"SIZE must be 1 or more, got {size}")
    random = np.random.default_rng(0)
    a, b = (random.normal(size=(size, size)).astype(np.float32) for _ in range(2))
    c = program()
    p = by_rows(c.pipeline, 8)
    for each in (c.pipeline, p):
        print(sl.loop_tree(each, a, b), end="\n\n")
    expected, out = plain(a, b), np.empty((size, size), np.float32)
    plan = p.compile(backend="native")
    plan(a, b, out)
    if not np.allclose(out, expected, rtol=1e-4, atol=1e-4):
        raise SystemExit("tensors: the tensor and plain NumPy differ")
    print(f"{size} x {size}: equal to plain NumPy")
    times = processor_time(lambda: plain(a, b)), processor_time(lambda: plan(a, b, out))
    for name, seconds in zip(("plain NumPy", "native plan"), times, strict=True):
        print(f"{name}: {seconds * 1e3:.1f} ms of processor time")


if __name__ == "__main__":
    main()
