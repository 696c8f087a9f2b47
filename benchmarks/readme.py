"""The figure that the README opens with: a blur and an elementwise chain, as written, scheduled, and under `sl.jit`.

The pipeline and its schedules are those of the benchmarks `blur` and `elementwise`, which compare them with more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby

import numpy as np

import slinky as sl
from benchmarks import blur, elementwise
from benchmarks.harness import Case, Row, Side, bytes_text, seconds_text
from benchmarks.rows import ours

RADIUS = 1
ROWS = 16
PIECE = 65536


def cases(quick: bool) -> Iterator[Case]:
    """The two, five sides each."""
    in_c = sl.jit(workers=1, native=True)
    size = 1536 if quick else 6144
    count = 1 << (21 if quick else 24)

    def make_blur() -> list[Side]:
        weights = blur.gaussian(RADIUS)
        source = np.random.default_rng(1).random((size, size), np.float32)
        target = np.zeros((size - 2 * RADIUS, size - 2 * RADIUS), np.float32)
        placed = sl.Buffer(target, min=(RADIUS, RADIUS))
        whole = blur.pipeline(weights)
        return [
            Side("NumPy as written", lambda: blur.as_written(source, weights)),
            ours("pipeline, not scheduled", whole, source, placed),
            ours("pipeline, scheduled", blur.by_rows(whole, ROWS), source, placed),
            ours("scheduled, 2 threads", blur.by_rows_in_parallel(whole, ROWS), source, placed),
            Side("as written, sl.jit, native", partial(in_c(lambda a: blur.as_written(a, weights)), source)),
        ]

    def make_chain() -> list[Side]:
        x = np.random.default_rng(1).random(count, np.float32) * 2
        target = np.zeros_like(x)
        whole = elementwise.pipeline()
        return [
            Side("NumPy as written", lambda: elementwise.as_written(x)),
            ours("pipeline, not scheduled", whole, x, target),
            ours("pipeline, scheduled", elementwise.in_pieces(whole, PIECE), x, target),
            ours("scheduled, 2 threads", elementwise.in_pieces_in_parallel(whole, PIECE), x, target),
            Side("as written, sl.jit, native", partial(in_c(elementwise.as_written), x)),
        ]

    yield Case(f"3x3 blur of {size} x {size} float32", make_blur)
    yield Case(f"chain of 8 operations on {count / 1e6:.1f} million float32", make_chain)


def table(rows: Sequence[Row]) -> str:
    """A column for each side, two lines for each case."""
    lines: list[str] = []
    for case, found in groupby(rows, key=lambda row: row.case):
        group = list(found)
        if not lines:
            lines += ["", f"| | {' | '.join(row.side for row in group)} |", "|---|" + "---:|" * len(group)]
        times = [seconds_text(row.seconds) for row in group[:1]]
        times += [f"{seconds_text(row.seconds)} ({1 / row.ratio:.1f}×)" for row in group[1:]]
        lines.append(f"| {case}: time | {' | '.join(times)} |")
        lines.append(f"| peak memory beyond input and output | {' | '.join(bytes_text(r.peak_bytes) for r in group)} |")
    return "\n".join(lines)
