"""What plans cost beside the callbacks: making one, in C, too, entering it, an allocation in a loop.

No plan is read that another process has made, but for one that was compiled before.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

import slinky as sl
from benchmarks.harness import seconds_text
from slinky.runtime.arena import Arena, SiteKind


def stencil() -> sl.Pipeline:
    """The 3x3 stencil of the README by rows, slid and folded; a new one each time."""
    y, x = sl.variables("y x")
    inp, intm, out = (sl.BufferExpr(name, np.int16, 2) for name in ("inp", "intm", "out"))
    around = (sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1))
    sl.Func(_nothing, [inp[y, x]], [intm[y, x]], name="add")
    sl.Func(_nothing, [intm[around]], [out[y, x]], name="stencil")
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([inp], [out]), "stencil.y", 1, rc=True)
    p, add = sl.compute_at(p, "add", loop, rc=True)
    p = sl.slide_window(p, add.call, loop)
    return sl.fold_storage(p, add.alloc, "y")


def stencils(count: int) -> sl.Pipeline:
    """A chain of 3x3 stencils by 8 rows, each slid and folded."""
    y, x = sl.variables("y x")
    buffers = [sl.BufferExpr(f"b{n}", np.int16, 2) for n in range(count + 1)]
    around = (sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1))
    for n in range(count):
        sl.Func(_nothing, [buffers[n][around]], [buffers[n + 1][y, x]], name=f"s{n}")
    p = sl.build_pipeline([buffers[0]], [buffers[-1]])
    p, (loop, _, _) = sl.split_loop(p, f"s{count - 1}.y", 8, rc=True)
    for n in reversed(range(count - 1)):
        p, func = sl.compute_at(p, f"s{n}", loop, rc=True)
        p = sl.fold_storage(sl.slide_window(p, func.call, loop), func.alloc, "y")
    return p


def _nothing(*_operands: object) -> None:
    """A callback that takes no time."""


def one_call() -> sl.Pipeline:
    """A pipeline of one func."""
    (i,) = sl.variables("i")
    a, b = (sl.BufferExpr(name, np.uint8, 1) for name in "ab")
    sl.Func(_nothing, [a[i]], [b[i]], name="f")
    return sl.build_pipeline([a], [b])


def ten_operations(number: float) -> sl.Pipeline:
    """Two funcs of ten operations together by 8 rows, slid and folded; its C text is like no other number's."""
    y, x = sl.variables("y x")
    image, mid, out = (sl.BufferExpr(name, np.float32, 2) for name in ("image", "mid", "out"))
    sl.arithmetic(image[y, x - 1] + image[y, x] * number + image[y, x + 1], mid[y, x], name="across")
    down = (mid[y - 1, x] + mid[y, x] * 2 + mid[y + 1, x]) / 16
    sl.arithmetic(np.maximum(down - 0.5, 0) * 2, out[y, x], name="down")
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([image], [out]), "down.y", 8, rc=True)
    p, across = sl.compute_at(p, "across", loop, rc=True)
    return sl.fold_storage(sl.slide_window(p, across.call, loop), across.alloc, "y")


def to_native(rounds: int) -> dict[str, float]:
    """Median seconds to a native plan, with a compiler and without. What all C needs is compiled before."""
    from slinky.native.compiling import compiler

    if compiler() is None:
        return {}
    numbers = np.random.default_rng().random(rounds + 1).tolist()  # no cache has them
    pipelines = list(map(ten_operations, numbers))
    again = [sl.Pipeline(p.program) for p in pipelines]
    compiled, kept = [], []
    for first, second in zip(pipelines, again, strict=True):
        compiled.append(_seconds(lambda p=first: p.compile(backend="native")))  # type: ignore[misc]
        kept.append(_seconds(lambda p=second: p.compile(backend="native")))  # type: ignore[misc]
    return {
        "a native plan of ten operations": statistics.median(compiled[1:]),
        "the same, compiled before": statistics.median(kept[1:]),
    }


def allocate_in_a_loop() -> float:
    """Seconds of what the source of a plan does for an `alloc` whose size changes from iteration to iteration."""
    (arrays,) = Arena([SiteKind(np.dtype(np.float32), 2, 0, 1)])[4 * 40 * 64]
    counts = range(1, 41)
    with_it = _seconds(lambda: [arrays[n, 64] for n in counts], 100)
    without = _seconds(lambda: [(n, 64) for n in counts], 100)
    return (with_it - without) / len(counts)


def run(quick: bool) -> dict[str, float]:
    """Median seconds of each."""
    rounds = 20 if quick else 200
    with mock.patch.dict(os.environ, SLINKY_KEPT="0"):
        found = made_here(rounds)
    return {**found, **to_native(3 if quick else 9)}


def made_here(rounds: int) -> dict[str, float]:
    """Median seconds of what has nothing to do with C."""
    pipelines = [stencil() for _ in range(rounds)]
    making = statistics.median(_seconds(p.compile) for p in pipelines)
    chains = {n: statistics.median(_seconds(stencils(n).compile) for _ in range(3)) for n in (10, 30, 100)}
    call, a, b = one_call(), np.zeros(1, np.uint8), np.zeros(1, np.uint8)
    call(a, b)
    entering = statistics.median(_seconds(lambda: call(a, b), 100) for _ in range(rounds))
    bound = call.bind(a, b)
    entering_bound = statistics.median(_seconds(bound, 100) for _ in range(rounds))
    allocating = statistics.median(allocate_in_a_loop() for _ in range(rounds))
    return {
        "compile() of the 3x3 stencil": making,
        **{f"compile() of {n} stencils in a row": seconds for n, seconds in chains.items()},
        "a run of one empty callback": entering,
        "the same, bound to its arrays": entering_bound,
        "an allocation in a loop": allocating,
    }


def _seconds(action: Callable[[], Any], repeats: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        action()
    return (time.perf_counter() - start) / repeats


def table(found: dict[str, float]) -> str:
    """A line each."""
    return "\n".join(["", "| | median |", "|---|---:|", *(f"| {k} | {seconds_text(v)} |" for k, v in found.items())])
