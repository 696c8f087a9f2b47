"""Softmax along the rows of a float32 matrix: the largest, the exponentials, their sum, the quotient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Case, Side, installed
from benchmarks.rows import ours, some_rows_at_a_time, under_jit, with_torch


def largest(x: Array, target: Array) -> None:
    """The largest of each row."""
    np.max(x, axis=1, out=target)


def exponentials(x: Array, largest: Array, target: Array) -> None:
    """Below 1, so that nothing overflows."""
    np.subtract(x, largest[:, None], out=target)
    np.exp(target, out=target)


def total(e: Array, target: Array) -> None:
    """The sum of each row."""
    np.einsum("yx->y", e, out=target)


def quotient(e: Array, total: Array, target: Array) -> None:
    """Rows that sum to 1."""
    np.divide(e, total[:, None], out=target)


def pipeline() -> sl.Pipeline:
    """Four funcs, not scheduled."""
    y, x = sl.variables("y x")
    a, e, result = (sl.BufferExpr(name, np.float32, 2) for name in ("a", "e", "result"))
    m, s = (sl.BufferExpr(name, np.float32, 1) for name in ("m", "s"))
    sl.Func(largest, [a[y, :]], [m[y]])
    sl.Func(exponentials, [a[y, x], m[y]], [e[y, x]])
    sl.Func(total, [e[y, a.dim(1).bounds]], [s[y]])
    sl.Func(quotient, [e[y, x], s[y]], [result[y, x]])
    return sl.build_pipeline([a], [result], name="softmax")


def as_written(x: Array) -> Array:
    """NumPy as people write it."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def tiled_by_hand(x: Array, target: Array, rows: int) -> Array:
    """NumPy on some rows at a time, in buffers that are kept."""
    e = np.empty((rows, x.shape[1]), np.float32)
    m, s = np.empty(rows, np.float32), np.empty(rows, np.float32)
    for y in range(0, len(x), rows):
        source = x[y : y + rows]
        n = len(source)
        largest(source, m[:n])
        exponentials(source, m[:n], e[:n])
        total(e[:n], s[:n])
        quotient(e[:n], s[:n], target[y : y + n])
    return target


def with_scipy(x: Array) -> Callable[[], Array]:
    """SciPy's own."""
    from scipy.special import softmax

    return lambda: np.asarray(softmax(x, axis=1))


def with_numba(x: Array, make: Callable[[], Array]) -> Callable[[], Array]:
    """A compiled loop over rows."""
    import numba

    @numba.njit(fastmath=True)  # type: ignore[untyped-decorator]
    def loop(x: Array, target: Array) -> None:
        for y in range(x.shape[0]):
            m = x[y].max()
            s = np.float32(0)
            for k in range(x.shape[1]):
                target[y, k] = np.exp(x[y, k] - m)
                s += target[y, k]
            for k in range(x.shape[1]):
                target[y, k] /= s

    def run() -> Array:
        target = make()
        loop(x, target)
        return target

    return run


def torch_operation(x: Any, target: Any) -> Any:
    """Torch's own softmax."""
    import torch

    return torch.softmax(x, 1, out=target)


def torch_as_written(x: Any) -> Any:
    """As `as_written`, of tensors."""
    e = (x - x.amax(1, keepdim=True)).exp()
    return e / e.sum(1, keepdim=True)


def cases(quick: bool) -> Iterator[Case]:
    """One size."""
    size = 512 if quick else 4096

    def make() -> list[Side]:
        x = np.random.default_rng(1).random((size, size), np.float32) * 20
        target = np.zeros_like(x)
        whole = pipeline()
        others = ("largest", "exponentials", "total")
        sides = [Side("NumPy as written", lambda: as_written(x)), ours("ours, not scheduled", whole, x, target)]
        for rows in (4, 8, 16, 24):
            sides.append(
                Side(f"NumPy tiled by hand, {rows} rows", lambda rows=rows: tiled_by_hand(x, target, rows))  # type: ignore[misc]
            )
            p = some_rows_at_a_time(whole, "quotient", others, rows)
            sides.append(ours(f"ours, {rows} rows", p, x, target))
        p = sl.parallelize_loop(some_rows_at_a_time(whole, "quotient", others, 16), "for y", workers=2)
        sides.append(ours("ours, 16 rows, 2 threads", p, x, target))
        sides += under_jit(as_written, x)
        if installed("scipy"):
            sides.append(Side("SciPy", with_scipy(x)))
        if installed("numba"):
            sides.append(Side("numba, fused by hand", with_numba(x, lambda: target)))
            anew = with_numba(x, lambda: np.empty_like(x))
            sides.append(Side("numba, the same, a new result each time", anew))
        if installed("torch"):
            sides += with_torch(torch_operation, torch_as_written, target, x)
        return sides

    yield Case(f"softmax of {size}² float32", make)
