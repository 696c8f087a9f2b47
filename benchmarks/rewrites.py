"""How fast primitives rewrite programs and refuse to, how fast cursors forward, and how both grow with the program.

`rates`: the schedule of a chain of three stencils (split; compute at, slide and fold each producer), over and over;
and five attempts that are refused. `scale`: each primitive once on chains of 10 to 1,000 stencils, and a forward across
1 and across 1,000 versions; medians.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import slinky as sl


def _stencil(source: np.ndarray, target: np.ndarray) -> None:
    target[...] = source[:-2] + source[1:-1] + source[2:]


def chain(length: int) -> sl.Pipeline:
    """Stencils over rows, one after the other; func `f0` reads the input."""
    y, x = sl.variables("y x")
    buffers = [sl.BufferExpr(f"b{k}", np.int32, rank=2) for k in range(length + 1)]
    for k in range(length):
        sl.Func(_stencil, [buffers[k][sl.interval(y - 1, y + 1), x]], [buffers[k + 1][y, x]], name=f"f{k}")
    return sl.build_pipeline([buffers[0]], [buffers[length]], name="chain")


def schedule(p: sl.Pipeline, length: int) -> int:
    """Put the whole chain into one loop over rows, slid and folded; return the number of rewrites."""
    p, (loop, _, _) = sl.split_loop(p, f"f{length - 1}.y", 2, rc=True)
    for k in reversed(range(length - 1)):
        p, at = sl.compute_at(p, f"f{k}", loop, rc=True)
        p = sl.slide_window(p, at.call, loop)
        p = sl.fold_storage(p, at.alloc, "y")
    return 1 + 3 * (length - 1)


def _unused(*arrays: np.ndarray) -> None:
    """Stands for an operation: these pipelines are built and scheduled, not run."""


def _by_rows(p: sl.Pipeline, last: str, producers: list[str]) -> sl.Pipeline:
    """Run the last func row by row, and compute, slide and fold its producers, consumers first, in the same loop."""
    p, (rows, _, _) = sl.split_loop(p, f"{last}.y", 1, rc=True)
    for name in producers:
        p, at = sl.compute_at(p, name, rows, rc=True)
        p = sl.slide_window(p, at.call, rows)
        p = sl.fold_storage(p, at.alloc, "y")
    return p


def stencil_by_rows() -> sl.Pipeline:
    """A 3x3 stencil of an elementwise operation."""
    y, x = sl.variables("y x")
    inp, mid, out = (sl.BufferExpr(name, np.int16, rank=2) for name in ("inp", "mid", "out"))
    sl.Func(_unused, [inp[y, x]], [mid[y, x]], name="add")
    sl.Func(_unused, [mid[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]], [out[y, x]], name="stencil")
    return _by_rows(sl.build_pipeline([inp], [out]), "stencil", ["add"])


def elementwise_by_rows(length: int) -> sl.Pipeline:
    """A chain of elementwise operations."""
    y, x = sl.variables("y x")
    buffers = [sl.BufferExpr(f"b{k}", np.float32, rank=2) for k in range(length + 1)]
    for k in range(length):
        sl.Func(_unused, [buffers[k][y, x]], [buffers[k + 1][y, x]], name=f"f{k}")
    p = sl.build_pipeline([buffers[0]], [buffers[length]])
    return _by_rows(p, f"f{length - 1}", [f"f{k}" for k in reversed(range(length - 1))])


def pyramid_by_rows(levels: int) -> sl.Pipeline:
    """A pyramid, down by a 3x3 stencil at every other place and up again, with a skip connection at every level."""
    y, x = sl.variables("y x")

    def buffer(name: str) -> sl.BufferExpr:
        return sl.BufferExpr(name, np.float32, rank=2)

    down = [buffer("inp")]
    for k in range(levels):
        window = down[k][sl.interval(2 * y - 1, 2 * y + 1), sl.interval(2 * x - 1, 2 * x + 1)]
        down.append(buffer(f"down{k}"))
        sl.Func(_unused, [window], [down[-1][y, x]], name=f"go_down{k}")
    up = down[levels]
    for k in reversed(range(levels)):
        coarse = up[sl.interval(y // 2, y // 2 + 1), sl.interval(x // 2, x // 2 + 1)]
        up = buffer(f"up{k}")
        sl.Func(_unused, [coarse, down[k][y, x]], [up[y, x]], name=f"go_up{k}")
    producers = [f"go_up{k}" for k in range(1, levels)] + [f"go_down{k}" for k in reversed(range(levels))]
    return _by_rows(sl.build_pipeline([down[0]], [up]), "go_up0", producers)


def refusals(p: sl.Pipeline) -> list[Callable[[], Any]]:
    """Attempts on the split chain of four that a search might make, and that are refused."""
    p, (loop, _, _) = sl.split_loop(p, "f3.y", 2, rc=True)
    q, at = sl.compute_at(p, "f2", loop, rc=True)
    slid = sl.slide_window(q, at.call, loop)
    return [
        lambda: sl.compute_at(p, "f0", loop),  # it has a reader outside the loop
        lambda: sl.fold_storage(q, at.alloc, "y", 2),  # the window is longer
        lambda: sl.store_at(slid, at.alloc, loop),  # iterations need what earlier ones wrote
        lambda: sl.parallelize_loop(slid, loop),  # the same
        lambda: sl.reorder_statements(slid, slid.forward(at.call).expand(after=1)),  # a read before its write
    ]


def _refuse(attempts: list[Callable[[], Any]]) -> int:
    for attempt in attempts:
        try:
            attempt()
        except sl.SchedulingError:
            continue
        raise AssertionError("an attempt that should have been refused was not")
    return len(attempts)


def _rate(work: Callable[[], int], seconds: float) -> float:
    work()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        count += work()
    return count / (time.perf_counter() - start)


def _milliseconds(work: Callable[[], Any], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def scale(length: int, rounds: int) -> dict[str, float]:
    """Milliseconds of each primitive on a chain, and of forwards."""
    p0 = chain(length)
    dim = p0.find(f"f{length - 1}").dim("y")
    p1, (loop, _, _) = sl.split_loop(p0, dim, 2, rc=True)
    producer = p1.find(f"f{length - 2}")
    p2, at = sl.compute_at(p1, producer, loop, rc=True)
    p3 = sl.slide_window(p2, at.call, loop)
    p4 = sl.fold_storage(p3, at.alloc, "y")
    stored = sl.store_at(p2, at.alloc, loop)
    nested = sl.split_loop(p1, loop, 4)
    first = p0.find("f0")
    near = sl.rename(p0, "near")
    far = p0
    for n in range(1000):
        far = sl.rename(far, f"version{n}")
    works: dict[str, Callable[[], Any]] = {
        "build_pipeline": lambda: chain(length),
        "split_loop": lambda: sl.split_loop(p0, dim, 2),
        "compute_at": lambda: sl.compute_at(p1, producer, loop),
        "slide_window": lambda: sl.slide_window(p2, at.call, loop),
        "fold_storage": lambda: sl.fold_storage(p3, at.alloc, "y"),
        "unfold_storage": lambda: sl.unfold_storage(p4, at.alloc, "y"),
        "store_at": lambda: sl.store_at(p2, at.alloc, loop),
        "lift_alloc": lambda: sl.lift_alloc(stored, at.alloc),
        "compute_root": lambda: sl.compute_root(p4, at.call),
        "cut_loop": lambda: sl.cut_loop(p1, loop, loop.bounds().min + 2),
        "reorder_statements": lambda: sl.reorder_statements(p1, p1.find("b1 = _").expand(after=1)),
        "parallelize_loop": lambda: sl.parallelize_loop(p1, loop),
        "split_loop of a loop": lambda: sl.split_loop(p1, loop, 4),
        "simplify": lambda: sl.simplify(nested),
        "rename": lambda: sl.rename(p0, "other"),
        "find": lambda: p0.find("f0"),
        "print": lambda: str(p0),
        "forward, 1 version": lambda: near.forward(first),
        "forward, 1,000 versions": lambda: far.forward(first),
    }
    return {name: _milliseconds(work, rounds) for name, work in works.items()}


def run(quick: bool) -> dict[str, Any]:
    """Measure: rates, milliseconds of each primitive by length of the chain, and first and later times of schedules."""
    p, attempts = chain(4), refusals(chain(4))
    seconds, rounds, sizes = (0.3, 3, (10, 100)) if quick else (3.0, 9, (10, 100, 1000))
    wholes: dict[str, Callable[[], Any]] = {
        "3x3 stencil": stencil_by_rows,
        "chain of 32 elementwise operations": lambda: elementwise_by_rows(32),
        "pyramid of four levels with skip connections": lambda: pyramid_by_rows(4),
        "chain of 10 stencils": lambda: schedule(chain(10), 10),
        "chain of 100 stencils": lambda: schedule(chain(100), 100),
    }
    first = {name: _milliseconds(work, 1) for name, work in wholes.items()}
    again = {name: _milliseconds(work, 3 if quick else 7) for name, work in wholes.items()}
    rates = {
        "successful rewrites": _rate(lambda: schedule(p, 4), seconds),
        "refused rewrites": _rate(lambda: _refuse(attempts), seconds),
    }
    primitives = {size: scale(size, rounds) for size in sizes}
    return {
        "rates": rates,
        "primitives": primitives,
        "schedules": {name: (first[name], again[name]) for name in wholes},
    }


def table(figures: dict[str, Any]) -> str:
    """The figures as tables."""
    lines = ["| on a chain of three stencils and their input stage | a second |", "|---|---:|"]
    lines += [f"| {name} | {rate:,.0f} |" for name, rate in figures["rates"].items()]
    sizes = list(figures["primitives"])
    lines += ["", f"| milliseconds on a chain of | {' | '.join(f'{size:,} funcs' for size in sizes)} |"]
    lines += ["|---|" + "---:|" * len(sizes)]
    for name in figures["primitives"][sizes[0]]:
        times = " | ".join(f"{figures['primitives'][size][name]:.3f}" for size in sizes)
        lines.append(f"| {name} | {times} |")
    lines += ["", "| built, and scheduled by rows: in one loop, slid, folded | first time, ms | again, ms |"]
    lines += ["|---|---:|---:|"]
    lines += [f"| {name} | {first:.1f} | {again:.1f} |" for name, (first, again) in figures["schedules"].items()]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(run(quick=False)))
