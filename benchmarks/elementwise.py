"""A chain of eight operations, elementwise on float32, each a NumPy ufunc or a function of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Case, Side, installed
from benchmarks.rows import native, ours, under_jit

Callback = Callable[[Array, Array], Any]

# A constant that is an array already takes NumPy half as long per call as one that it must make into an array.
TWO_AND_A_HALF, ONE, TENTH = (np.array(value, np.float32) for value in (2.5, 1, 0.1))


def scale(source: Array, target: Array) -> None:
    """Twice and a half."""
    np.multiply(source, TWO_AND_A_HALF, out=target)


def shift(source: Array, target: Array) -> None:
    """One less."""
    np.subtract(source, ONE, out=target)


def limit(source: Array, target: Array) -> None:
    """Not below a tenth."""
    np.maximum(source, TENTH, out=target)


CHAIN: list[Callback] = [scale, shift, np.absolute, np.sqrt, limit, np.reciprocal, np.square, np.negative]


def pipeline() -> sl.Pipeline:
    """The chain, not scheduled."""
    (i,) = sl.variables("i")
    buffers = [sl.BufferExpr(f"b{n}", np.float32, 1) for n in range(len(CHAIN) + 1)]
    for n, callback in enumerate(CHAIN):
        sl.Func(callback, [buffers[n][i]], [buffers[n + 1][i]], name=f"step{n}", in_place=True)
    return sl.build_pipeline([buffers[0]], [buffers[-1]], name="chain")


def as_a_term() -> sl.Pipeline:
    """The same as arithmetic that slinky understands."""
    (i,) = sl.variables("i")
    x, out = sl.BufferExpr("x", np.float32, 1), sl.BufferExpr("out", np.float32, 1)
    y = abs(x[i] * np.float32(2.5) - np.float32(1))
    sl.arithmetic(-((1 / np.maximum(np.sqrt(y), np.float32(0.1))) ** 2), out[i], name="chain")
    return sl.build_pipeline([x], [out])


def as_eight_terms() -> sl.Pipeline:
    """The chain, each operation arithmetic of its own."""
    (i,) = sl.variables("i")
    buffers = [sl.BufferExpr(f"b{n}", np.float32, 1) for n in range(len(CHAIN) + 1)]
    steps: list[Callable[[Any], Any]] = [
        lambda x: x * np.float32(2.5),
        lambda x: x - np.float32(1),
        np.absolute,
        np.sqrt,
        lambda x: np.maximum(x, np.float32(0.1)),
        np.reciprocal,
        np.square,
        np.negative,
    ]
    for n, step in enumerate(steps):
        sl.arithmetic(step(buffers[n][i]), buffers[n + 1][i], name=f"step{n}")
    return sl.build_pipeline([buffers[0]], [buffers[-1]], name="chain")


def in_pieces(p: sl.Pipeline, size: int) -> sl.Pipeline:
    """All eight on a piece, then on the next."""
    p, (loop, _, _) = sl.split_loop(p, f"step{len(CHAIN) - 1}.i", size, rc=True)
    for n in reversed(range(len(CHAIN) - 1)):
        p, step = sl.compute_at(p, f"step{n}", loop, rc=True)
        p = sl.store_at(p, step.alloc, loop)
    return p


def in_pieces_in_parallel(p: sl.Pipeline, size: int) -> sl.Pipeline:
    """The same on two threads."""
    return sl.parallelize_loop(in_pieces(p, size), "for i", workers=2)


def as_written(x: Array) -> Array:
    """NumPy as people write it."""
    y = np.abs(x * np.float32(2.5) - np.float32(1))
    return np.asarray(-((1 / np.maximum(np.sqrt(y), np.float32(0.1))) ** 2))


def tiled_by_hand(x: Array, target: Array, size: int) -> Array:
    """NumPy in pieces: the callbacks of the chain one by one, each over the result of the one before, in the output."""
    for start in range(0, len(x), size):
        piece = target[start : start + size]
        scale(x[start : start + size], piece)
        for step in CHAIN[1:]:
            step(piece, piece)
    return target


def with_numexpr(x: Array, target: Array, threads: int) -> Callable[[], Array]:
    """numexpr compiles the expression and runs it in pieces."""
    import numexpr

    def run() -> Array:
        numexpr.set_num_threads(threads)
        numexpr.evaluate(
            "-((1 / maximum(sqrt(abs(x * 2.5 - 1)), 0.1)) ** 2)", {"x": x}, out=target, casting="same_kind"
        )
        return target

    return run


def with_numba(x: Array, make: Callable[[], Array]) -> Callable[[], Array]:
    """A compiled loop."""
    import numba

    @numba.njit(fastmath=True)  # type: ignore[untyped-decorator]
    def loop(x: Array, target: Array) -> None:
        for i in range(len(x)):
            y = np.sqrt(abs(x[i] * np.float32(2.5) - np.float32(1)))
            r = np.float32(1) / max(y, np.float32(0.1))
            target[i] = -(r * r)

    def run() -> Array:
        target = make()
        loop(x, target)
        return target

    return run


def with_dask(x: Array, threads: int) -> Callable[[], Array]:
    """Dask's arrays: NumPy on chunks."""
    import dask.array as da

    chunked = da.from_array(x, chunks=1 << 20)
    expression = -(
        (1 / da.maximum(da.sqrt(da.absolute(chunked * np.float32(2.5) - np.float32(1))), np.float32(0.1))) ** 2
    )

    def run() -> Array:
        return np.asarray(expression.compute(scheduler="threads", num_workers=threads))

    return run


def cases(quick: bool) -> Iterator[Case]:
    """One size."""
    count = 1 << (19 if quick else 24)

    def make() -> list[Side]:
        x = np.random.default_rng(1).random(count, np.float32) * 2
        target = np.zeros_like(x)
        whole = pipeline()

        sides = [Side("NumPy as written", lambda: as_written(x)), ours("ours, not scheduled", whole, x, target)]
        for size in (4096, 16384, 65536, 131072):
            sides.append(
                Side(f"NumPy tiled by hand, {size}", lambda size=size: tiled_by_hand(x, target, size))  # type: ignore[misc]
            )
            sides.append(ours(f"ours, {size}", in_pieces(whole, size), x, target))
        sides.append(ours("ours, 65536, 2 threads", in_pieces_in_parallel(whole, 65536), x, target))
        terms = as_eight_terms()
        for size in (256, 4096):
            sides.append(native(f"ours, eight terms, native, {size}", in_pieces(terms, size), x, target))
        term = as_a_term()
        halves = sl.parallelize_loop(sl.split_loop(term, "chain.i", count // 8), "for i", workers=2)
        sides.append(ours("ours, one term", term, x, target))
        sides.append(native("ours, one term, native", term, x, target))
        sides.append(native("ours, one term, native, 2 threads", halves, x, target))
        sides += under_jit(as_written, x)
        if installed("numexpr"):
            sides.append(Side("numexpr, 1 thread", with_numexpr(x, target, 1)))
            sides.append(Side("numexpr, 2 threads", with_numexpr(x, target, 2)))
        if installed("numba"):
            sides.append(Side("numba, fused by hand", with_numba(x, lambda: target)))
            anew = with_numba(x, lambda: np.empty_like(x))
            sides.append(Side("numba, the same, a new result each time", anew))
        if installed("dask"):
            sides.append(Side("Dask arrays, 1 thread", with_dask(x, 1)))
            sides.append(Side("Dask arrays, 2 threads", with_dask(x, 2)))
        return sides

    yield Case(f"8 operations on {count >> 20} M float32", make)
