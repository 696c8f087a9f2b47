"""The best schedule of each benchmark, as docs/benchmarks.md has measured it, with the shapes of its arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import slinky as sl
from benchmarks import (
    assembling,
    blur,
    boundaries,
    elementwise,
    harris,
    layernorm,
    matmul,
    pyramid,
    softmax,
    stencils,
    unsharp,
)
from benchmarks.rows import some_rows_at_a_time


def _by_rows_in_parallel(p: sl.Pipeline, last: str, *others: str) -> sl.Pipeline:
    return sl.parallelize_loop(some_rows_at_a_time(p, last, others, 16), "for y", workers=2)


Schedule = Callable[[], sl.Pipeline]

BEST: dict[str, tuple[Schedule, tuple[tuple[int, ...], ...]]] = {
    "stencils": (lambda: stencils.by_rows(stencils.pipeline(), 32), ((4096, 4096),)),
    "blur": (lambda: blur.by_rows_in_parallel(blur.pipeline(blur.gaussian(4)), 16), ((6144, 6144),)),
    "blur, 1 thread": (lambda: blur.by_rows(blur.pipeline(blur.gaussian(1)), 16), ((6144, 6144),)),
    "harris": (lambda: harris.by_rows(harris.pipeline(), 8), ((4096, 4096),)),
    "unsharp": (lambda: unsharp.by_rows(unsharp.pipeline(), 4), ((4000, 6000, 3),)),
    "pyramid": (lambda: pyramid.by_rows(pyramid.pipeline(), 16), ((4096, 4096), (4096, 4096))),
    "softmax": (
        lambda: _by_rows_in_parallel(softmax.pipeline(), "quotient", "largest", "exponentials", "total"),
        ((4096, 4096),),
    ),
    "layernorm": (
        lambda: _by_rows_in_parallel(layernorm.pipeline(), "normalise", "mean", "centre", "deviation"),
        ((4096, 4096), (4096,), (4096,)),
    ),
    "elementwise": (lambda: elementwise.in_pieces_in_parallel(elementwise.pipeline(), 65536), ((1 << 24,),)),
    "matmul": (lambda: matmul.by_rows(matmul.pipeline(), 128), ((65536, 64), (64, 1024), (1024, 64))),
    "boundaries": (
        lambda: boundaries.by_rows_in_parallel(boundaries.pipeline("mirror"), 32, "mirror"),
        ((4000, 6000), (4000, 6000)),
    ),
    "assembling": (
        lambda: sl.alias_copies(assembling.by_rows_in_parallel(assembling.pipeline(), 64)),
        ((8000, 1000),),
    ),
}


def best(name: str) -> tuple[sl.Pipeline, Any]:
    """A schedule, and the shapes."""
    schedule, shapes = BEST[name]
    return schedule(), shapes
