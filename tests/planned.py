"""What tests of plans share: pipelines by rows, chains, and chains in pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
from handmade import stencil

import slinky as sl


def by_rows(rows: int = 1) -> sl.Pipeline:
    """The 3x3 stencil of the README: some rows at a time, slid and folded."""
    p, (loop, _, _) = sl.split_loop(stencil(), "stencil.y", rows, rc=True)
    p, add = sl.compute_at(p, "add", loop, rc=True)
    p = sl.slide_window(p, add.call, loop)
    return sl.fold_storage(p, add.alloc, "y")


def chain(*callbacks: Any) -> sl.Pipeline:
    """One func after the other, on one dimension."""
    (i,) = sl.variables("i")
    buffers = [sl.BufferExpr(f"b{n}", np.float64, 1) for n in range(len(callbacks) + 1)]
    for n, callback in enumerate(callbacks):
        sl.Func(callback, [buffers[n][i]], [buffers[n + 1][i]], name=f"f{n}")
    return sl.build_pipeline([buffers[0]], [buffers[-1]])


def in_pieces(p: sl.Pipeline, count: int, size: int, *, workers: int | None = -1) -> sl.Pipeline:
    """All funcs of a chain on a piece, then on the next; in parallel if workers are given."""
    p, (loop, _, _) = sl.split_loop(p, f"f{count - 1}.i", size, rc=True)
    for n in reversed(range(count - 1)):
        p, func = sl.compute_at(p, f"f{n}", loop, rc=True)
        p = sl.store_at(p, func.alloc, loop)
    return p if workers == -1 else sl.parallelize_loop(p, loop, workers)
