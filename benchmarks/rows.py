"""What softmax and layer normalisation share: reductions along rows, then operations that need their results."""

from __future__ import annotations

from collections.abc import Sequence

import slinky as sl
from benchmarks.harness import Side


def some_rows_at_a_time(p: sl.Pipeline, last: str, others: Sequence[str], rows: int, *, parallel: bool) -> sl.Pipeline:
    """All funcs on some rows, then on the next; `others` in the order of computation."""
    p, (loop, _, _) = sl.split_loop(p, f"{last}.y", rows, rc=True)
    for name in reversed(others):
        p, func = sl.compute_at(p, name, loop, rc=True)
        p = sl.store_at(p, func.alloc, loop)
    return sl.parallelize_loop(p, loop) if parallel else p


def ours(name: str, p: sl.Pipeline, *arrays: object) -> Side:
    """A side that runs a pipeline; the last array is its output."""
    return Side(name, lambda: p(*arrays), p.compile().release)
