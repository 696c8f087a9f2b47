"""Layer normalisation along the rows of a float32 matrix: mean, variance, and what they make of each element."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Case, Side, installed
from benchmarks.rows import ours, some_rows_at_a_time, under_jit, with_torch

EPSILON = 1e-5


def mean(x: Array, target: Array) -> None:
    """The mean of each row."""
    np.mean(x, axis=1, out=target)


def centre(x: Array, mean: Array, target: Array) -> None:
    """What is above or below the mean."""
    np.subtract(x, mean[:, None], out=target)


def deviation(c: Array, target: Array) -> None:
    """The standard deviation of each row."""
    np.einsum("yx,yx->y", c, c, out=target)
    target /= c.shape[1]
    target += EPSILON
    np.sqrt(target, out=target)


def normalise(c: Array, deviation: Array, gain: Array, offset: Array, target: Array) -> None:
    """Rows of mean 0 and variance 1, then gain and offset of each column."""
    np.divide(c, deviation[:, None], out=target)
    np.multiply(target, gain, out=target)
    np.add(target, offset, out=target)


def pipeline() -> sl.Pipeline:
    """Four funcs, not scheduled."""
    y, x = sl.variables("y x")
    a, c, result = (sl.BufferExpr(name, np.float32, 2) for name in ("a", "c", "result"))
    m, d, gain, offset = (sl.BufferExpr(name, np.float32, 1) for name in ("m", "d", "gain", "offset"))
    sl.Func(mean, [a[y, :]], [m[y]])
    sl.Func(centre, [a[y, x], m[y]], [c[y, x]])
    sl.Func(deviation, [c[y, a.dim(1).bounds]], [d[y]])
    sl.Func(normalise, [c[y, x], d[y], gain[x], offset[x]], [result[y, x]])
    return sl.build_pipeline([a, gain, offset], [result], name="layernorm")


def as_written(x: Array, gain: Array, offset: Array) -> Array:
    """NumPy as people write it."""
    mean = x.mean(axis=1, keepdims=True)
    variance = x.var(axis=1, keepdims=True)
    return np.asarray((x - mean) / np.sqrt(variance + np.float32(EPSILON)) * gain + offset)


def tiled_by_hand(x: Array, gain: Array, offset: Array, target: Array, rows: int) -> Array:
    """NumPy on some rows at a time, in buffers that are kept."""
    c = np.empty((rows, x.shape[1]), np.float32)
    m, d = np.empty(rows, np.float32), np.empty(rows, np.float32)
    for y in range(0, len(x), rows):
        source = x[y : y + rows]
        n = len(source)
        mean(source, m[:n])
        centre(source, m[:n], c[:n])
        deviation(c[:n], d[:n])
        normalise(c[:n], d[:n], gain, offset, target[y : y + n])
    return target


def with_numba(x: Array, gain: Array, offset: Array, make: Callable[[], Array]) -> Callable[[], Array]:
    """A compiled loop over rows."""
    import numba

    @numba.njit(fastmath=True)  # type: ignore[untyped-decorator]
    def loop(x: Array, gain: Array, offset: Array, target: Array) -> None:
        n = x.shape[1]
        for y in range(x.shape[0]):
            total = np.float32(0)
            for k in range(n):
                total += x[y, k]
            mean = total / np.float32(n)
            squares = np.float32(0)
            for k in range(n):
                squares += (x[y, k] - mean) * (x[y, k] - mean)
            factor = np.float32(1) / np.sqrt(squares / np.float32(n) + np.float32(EPSILON))
            for k in range(n):
                target[y, k] = (x[y, k] - mean) * factor * gain[k] + offset[k]

    def run() -> Array:
        target = make()
        loop(x, gain, offset, target)
        return target

    return run


def torch_operation(x: Any, gain: Any, offset: Any, target: Any) -> Any:
    """Torch's own layer norm into a target."""
    import torch

    mean, deviation = torch.empty(len(x), 1), torch.empty(len(x), 1)
    into = torch.ops.aten.native_layer_norm.out
    into(x, x.shape[1:], gain, offset, EPSILON, out0=target, out1=mean, out2=deviation)
    return target


def torch_as_written(x: Any, gain: Any, offset: Any) -> Any:
    """As `as_written`, of tensors."""
    mean, variance = x.mean(1, keepdim=True), x.var(1, correction=0, keepdim=True)
    return (x - mean) / (variance + EPSILON).sqrt() * gain + offset


def cases(quick: bool) -> Iterator[Case]:
    """One size."""
    size = 512 if quick else 4096

    def make() -> list[Side]:
        random = np.random.default_rng(1)
        x = random.random((size, size), np.float32) * 20
        gain, offset = random.random(size, np.float32), random.random(size, np.float32)
        target = np.zeros_like(x)
        whole = pipeline()
        others = ("mean", "centre", "deviation")
        arrays = (x, gain, offset, target)
        sides = [
            Side("NumPy as written", lambda: as_written(x, gain, offset)),
            ours("ours, not scheduled", whole, *arrays),
        ]
        for rows in (4, 16):
            sides.append(
                Side(f"NumPy tiled by hand, {rows} rows", lambda rows=rows: tiled_by_hand(*arrays, rows))  # type: ignore[misc]
            )
            p = some_rows_at_a_time(whole, "normalise", others, rows)
            sides.append(ours(f"ours, {rows} rows", p, *arrays))
        p = sl.parallelize_loop(some_rows_at_a_time(whole, "normalise", others, 16), "for y", workers=2)
        sides.append(ours("ours, 16 rows, 2 threads", p, *arrays))
        sides += under_jit(as_written, x, gain, offset)
        if installed("numba"):
            sides.append(Side("numba, fused by hand", with_numba(x, gain, offset, lambda: target)))
            anew = with_numba(x, gain, offset, lambda: np.empty_like(x))
            sides.append(Side("numba, the same, a new result each time", anew))
        if installed("torch"):
            sides += with_torch(torch_operation, torch_as_written, target, x, gain, offset)
        return sides

    yield Case(f"layer norm of {size}² float32", make, tolerance=1e-3)
