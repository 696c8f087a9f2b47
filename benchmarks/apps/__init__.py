"""Twelve applications, after those of Halide: each with NumPy as written, a pipeline, and its best schedule by hand.

A file is an application; `app` says what it is made of, `tuning` how the numbers of its schedule were found. The
callbacks are NumPy as a good user writes it, the same in all pipelines; everything runs on one thread.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Sequence

import numpy as np

import slinky as sl
from benchmarks.apps.app import App
from benchmarks.harness import Array, Case, Row, Side, bytes_text, seconds_text
from benchmarks.rows import ours

NAMES = (
    "blur",
    "unsharp",
    "harris",
    "stencil_chain",
    "local_laplacian",
    "bilateral_grid",
    "camera_pipe",
    "interpolate",
    "max_filter",
    "histogram",
    "nl_means",
    "iir_blur",
)
WRITTEN, WHOLE, BY_HAND, AUTOMATIC = "NumPy as written", "not scheduled", "by hand", "automatic"
COLUMNS = (WRITTEN, WHOLE, BY_HAND, AUTOMATIC)


def load(name: str) -> App:
    """An application by its name."""
    app = importlib.import_module(f"benchmarks.apps.{name}").APP
    assert isinstance(app, App)
    return app


def cases(quick: bool) -> Iterator[Case]:
    """One for each application."""
    for name in NAMES:
        app = load(name)
        size = app.quick if quick else app.full

        def make(app: App = app, size: tuple[int, int] = size) -> list[Side]:
            return sides(app, size)

        yield Case(name, make, tolerance=app.tolerance)


def sides(app: App, size: tuple[int, int]) -> list[Side]:
    """NumPy as written, the pipeline as described, as scheduled by hand, and as scheduled by slinky."""
    arrays = app.arrays(size)
    inputs = arrays[:-1]
    whole = app.build()
    return [
        Side(WRITTEN, lambda: app.as_written(*inputs)),
        ours(WHOLE, whole, *arrays),
        ours(BY_HAND, app.by_hand(whole, app.chosen), *arrays),
        ours(AUTOMATIC, sl.auto_schedule(whole, *arrays, workers=1), *arrays),
    ]


def table(rows: Sequence[Row]) -> str:
    """A line for each application: times against NumPy as written, and memory; then the means and the worst."""
    names = [name for name in COLUMNS if any(row.side == name for row in rows)]
    apps = {row.case: {other.side: other for other in rows if other.case == row.case} for row in rows}
    header = [f"| | {WRITTEN} | {' | '.join(names[1:])} |", f"|---|{'---:|' * len(names)}"]
    speed = [*header]
    memory = ["| peak memory" + header[0][1:], header[1]]
    for name, found in apps.items():
        times = [f"{seconds_text(found[side].seconds)} ({1 / found[side].ratio:.2f}×)" for side in names[1:]]
        speed.append(f"| {name} | {seconds_text(found[WRITTEN].seconds)} | {' | '.join(times)} |")
        sizes = [bytes_text(found[side].peak_bytes) for side in names]
        memory.append(f"| {name} | {' | '.join(sizes)} |")
    for what, of in (("geometric mean", geometric_mean), ("worst", min)):
        said = [f"{of([1 / found[side].ratio for found in apps.values()]):.2f}×" for side in names[1:]]
        speed.append(f"| {what} | | {' | '.join(said)} |")
    lines = ["", *speed]
    if any(row.peak_bytes is not None for row in rows):
        lines += ["", *memory]
    if AUTOMATIC in names:
        lines += ["", *automatic_over_by_hand(apps)]
    return "\n".join(lines)


def automatic_over_by_hand(apps: dict[str, dict[str, Row]]) -> list[str]:
    """How fast automatic schedules are, where those by hand, and pipelines without any, are 1."""
    lines = []
    for other in (BY_HAND, WHOLE):
        speeds = {name: found[other].all_ratios[AUTOMATIC] for name, found in apps.items()}
        worst = min(speeds, key=lambda name: speeds[name])
        mean = geometric_mean(list(speeds.values()))
        lines.append(f"automatic over {other}: geometric mean {mean:.2f}, worst {speeds[worst]:.2f} ({worst})")
    return lines


def geometric_mean(values: Sequence[float]) -> float:
    """The mean of ratios."""
    return math.exp(float(np.mean([math.log(value) for value in values])))


__all__ = ["COLUMNS", "NAMES", "Array", "cases", "load", "sides", "table"]
