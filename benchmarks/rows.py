"""What benchmarks share: sides that run pipelines, and the schedule of softmax and layer normalisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Side


def some_rows_at_a_time(p: sl.Pipeline, last: str, others: Sequence[str], rows: int) -> sl.Pipeline:
    """All funcs on some rows, then on the next; `others` in the order of computation."""
    p, (loop, _, _) = sl.split_loop(p, f"{last}.y", rows, rc=True)
    for name in reversed(others):
        p, func = sl.compute_at(p, name, loop, rc=True)
        p = sl.store_at(p, func.alloc, loop)
    return p


def ours(name: str, p: sl.Pipeline, *operands: Array | sl.Buffer) -> Side:
    """A side that runs a pipeline; the last operand is its output."""
    target = operands[-1]
    result = target.array if isinstance(target, sl.Buffer) else target

    def run() -> Array:
        p(*operands)
        return np.asarray(result)

    return Side(name, run, lambda: p.compile().release())


def native(name: str, p: sl.Pipeline, *operands: Array | sl.Buffer) -> Side:
    """A side that runs a pipeline whose arithmetic is C; the last operand is its output."""
    return _native(name, p.compile(backend="native"), *operands)


def fast(name: str, p: sl.Pipeline, *operands: Array | sl.Buffer) -> Side:
    """The same, rounded otherwise."""
    return _native(name, p.compile(backend="native", fast=True), *operands)


def _native(name: str, plan: Any, *operands: Array | sl.Buffer) -> Side:
    target = operands[-1]
    result = target.array if isinstance(target, sl.Buffer) else target

    def run() -> Array:
        plan(*operands)
        return np.asarray(result)

    return Side(name, run, plan.release)


def under_jit(function: Callable[..., Array], *arrays: Array, name: str = "NumPy as written, sl.jit") -> list[Side]:
    """A function of NumPy under `sl.jit`, with nothing described or scheduled: by NumPy's loops, and in C."""
    sides: list[Side] = []
    for is_native in (False, True):
        for workers in (1, 2):
            faster = sl.jit(workers=workers, native=is_native)(function)
            about = f"{name}{', native' if is_native else ''}{', 2 threads' if workers > 1 else ''}"
            sides.append(Side(about, partial(faster, *arrays)))
    return sides


def with_torch(eager: Callable[..., Any], composed: Callable[..., Any], target: Array, *arrays: Array) -> list[Side]:
    """What torch has ready, into an array that is kept, and what `torch.compile` makes of tensor code, on one thread.

    `eager(*tensors, target)` calls an operation with a target; `composed(*tensors)` is as people write it of many.
    """
    import torch

    torch.set_num_threads(1)
    kept, *tensors = (torch.from_numpy(array) for array in (target, *arrays))
    compiled = torch.compile(composed)
    into = torch.compile(lambda target, *tensors: target.copy_(composed(*tensors)))

    def run(function: Callable[..., Any], *operands: Any) -> Array:
        with torch.no_grad():
            return np.asarray(function(*operands).numpy())

    return [
        Side("torch, its own operation", partial(run, eager, *tensors, kept)),
        Side("torch.compile", partial(run, into, kept, *tensors)),
        Side("torch.compile, a new result each time", partial(run, compiled, *tensors)),
    ]


def some_rows(
    counts: Sequence[int],
    by_hand: Callable[[int], Array],
    scheduled: Callable[[int], sl.Pipeline],
    *operands: Array | sl.Buffer,
) -> list[Side]:
    """For each number of rows, NumPy tiled by hand and a pipeline; the last operand is its output."""
    sides: list[Side] = []
    for rows in counts:
        sides.append(Side(f"NumPy tiled by hand, {rows} rows", partial(by_hand, rows)))
        sides.append(ours(f"ours, {rows} rows", scheduled(rows), *operands))
    return sides
