"""A process that runs one pipeline and tells what memory the system says it took: see `test_memory_figures`.

The proportional set size counts what is resident, and a page that is mapped twice once. Pages of files do not count:
what a process's share of a library is depends on the other processes that use it.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import slinky as sl

y, x = sl.variables("y x")


def negative(source: np.ndarray, target: np.ndarray) -> None:
    """As the ufunc, but not known to work in place."""
    np.negative(source, out=target)


def sum_3(source: np.ndarray, target: np.ndarray) -> None:
    """Of three rows, without further memory."""
    np.add(source[:-2], source[1:-1], out=target)
    np.add(target, source[2:], out=target)


def chain(callback: Any, count: int) -> sl.Pipeline:
    """One func after the other, each of one point."""
    buffers = [sl.BufferExpr(f"b{n}", np.float64, 2) for n in range(count + 1)]
    for n in range(count):
        sl.Func(callback, [buffers[n][y, x]], [buffers[n + 1][y, x]], name=f"f{n}")
    return sl.build_pipeline([buffers[0]], [buffers[count]])


def stencils(count: int) -> sl.Pipeline:
    """One stencil of three rows after the other."""
    buffers = [sl.BufferExpr(f"b{n}", np.float64, 2) for n in range(count + 1)]
    for n in range(count):
        sl.Func(sum_3, [buffers[n][sl.interval(y - 1, y + 1), x]], [buffers[n + 1][y, x]], name=f"f{n}")
    return sl.build_pipeline([buffers[0]], [buffers[count]])


def in_strips(p: sl.Pipeline, count: int, rows: int, fold: bool = False) -> sl.Pipeline:
    """By strips of rows, all producers in the loop, each window slid and folded or not."""
    p, (strips, _, _) = sl.split_loop(p, f"f{count - 1}.y", rows, rc=True)
    for n in reversed(range(count - 1)):
        p, ((alloc,), _, call) = sl.compute_at(p, f"f{n}", strips, rc=True)
        if fold:
            p = sl.slide_window(p, call, strips)
            p = sl.fold_storage(p, alloc, "y")
    return p


def stored_inside(p: sl.Pipeline, count: int) -> sl.Pipeline:
    """With all allocations at the beginning of the loop's body."""
    for n in range(1, count):
        p = sl.store_at(p, f"alloc b{n}", p.find("for y"))
    return p


def parallel(p: sl.Pipeline) -> sl.Pipeline:
    """With the loop on two threads."""
    return sl.parallelize_loop(p, "for y", 2)


def parallel_rings() -> sl.Pipeline:
    """Tiles with a ring each, on two threads."""
    p, (tiles, inner, _) = sl.split_loop(stencils(2), "f1.y", 8, names="tile", rc=True)
    p, (rows, _, _) = sl.split_loop(p, inner, 1, rc=True)
    p, ((alloc,), _, call) = sl.compute_at(p, "f0", rows, rc=True)
    p = sl.store_at(p, alloc, tiles)
    p = sl.slide_window(p, call, rows)
    p = sl.fold_storage(p, alloc, "y")
    return sl.parallelize_loop(p, tiles, 2)


CASES: dict[str, Callable[[], sl.Pipeline]] = {
    "whole": lambda: chain(negative, 5),
    "whole, in place": lambda: chain(np.negative, 5),
    "strips": lambda: in_strips(chain(negative, 5), 5, 16),
    "strips, stored inside": lambda: stored_inside(in_strips(chain(negative, 20), 20, 16), 20),
    "strips, stored inside, in place": lambda: stored_inside(in_strips(chain(np.negative, 40), 40, 16), 40),
    "rings": lambda: in_strips(stencils(4), 4, 1, fold=True),
    "rings of strips": lambda: in_strips(stencils(3), 3, 5, fold=True),
    "parallel strips": lambda: parallel(in_strips(chain(negative, 4), 4, 16)),
    "parallel strips, stored inside": lambda: parallel(stored_inside(in_strips(chain(negative, 6), 6, 16), 6)),
    "parallel strips, stored inside, in place": lambda: parallel(
        stored_inside(in_strips(chain(np.negative, 6), 6, 16), 6)
    ),
    "parallel rings": parallel_rings,
}


def proportional_set_size() -> int:
    """Of this process: its own memory, and memory that can be shared, but no files."""
    gc.collect()
    with open("/proc/self/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith(("Pss_Anon:", "Pss_Shmem:"))) * 1024


def main(case: str, height: int, width: int) -> None:
    """Run once in each way; print what was told and what was taken."""
    p, margin = CASES[case](), 8

    def arrays(height: int, width: int) -> tuple[sl.Buffer, np.ndarray]:
        return sl.Buffer(np.ones((height + 2 * margin, width)), min=(-margin, 0)), np.ones((height, width))

    small, large = arrays(40, 7), arrays(height, width)
    figures: dict[str, tuple[int, int]] = {}
    promised = p.memory(*large)
    for way, run in {"run": p.run, "call": p}.items():
        run(*small)
        p.compile().release()
        before = proportional_set_size()
        result = run(*large)
        taken = proportional_set_size() - before
        told = result.peak_bytes if isinstance(result, sl.RunStatistics) else promised.peak_bytes
        figures[way] = told, taken
        p.compile().release()
    print(json.dumps([promised.program_bytes, promised.peak_bytes, figures]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
