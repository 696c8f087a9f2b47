"""The overhead of running a loop in a pipeline, at its largest: copies, the fastest operation there is.

Rows of `piece` bytes are copied into an intermediate and from there to the output. The loop over rows is in the
pipeline (one row of intermediate), in the callback (the whole intermediate), or written by hand in NumPy as in the
first. The callback that copies is the same in all. The loop in the pipeline runs in two ways: called with its arrays,
which it checks each time, and bound to them, which are then checked as little as those of the loop by hand. Beside
them is the loop in C, of copies that are arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Case, Row, Side, bytes_text

KILOBYTE = 1024


def copy(source: Array, target: Array) -> None:
    """One piece."""
    target[...] = source


def copy_rows(source: Array, target: Array) -> None:
    """The loop in the callback."""
    for y in range(len(source)):
        target[y] = source[y]


def two_copies(callback: object) -> sl.Pipeline:
    """Copy to an intermediate, and from there to the output."""
    y, x = sl.variables("y x")
    source, middle, target = (sl.BufferExpr(name, np.uint8, 2) for name in ("source", "middle", "target"))
    sl.Func(callback, [source[y, x]], [middle[y, x]], name="load")  # type: ignore[arg-type]
    sl.Func(callback, [middle[y, x]], [target[y, x]], name="store")  # type: ignore[arg-type]
    return sl.build_pipeline([source], [target])


def two_terms() -> sl.Pipeline:
    """The copies as arithmetic that slinky understands: each bit as it is, or nothing."""
    y, x = sl.variables("y x")
    source, middle, target = (sl.BufferExpr(name, np.uint8, 2) for name in ("source", "middle", "target"))
    sl.arithmetic(source[y, x] | 0, middle[y, x], name="load")
    sl.arithmetic(middle[y, x] | 0, target[y, x], name="store")
    return sl.build_pipeline([source], [target])


def by_rows(p: sl.Pipeline) -> sl.Pipeline:
    """A row of the intermediate at a time."""
    p, (rows, _, _) = sl.split_loop(p, "store.y", 1, rc=True)
    p, load = sl.compute_at(p, "load", rows, rc=True)
    return sl.store_at(p, load.alloc, rows)


def by_hand(source: Array, target: Array) -> Array:
    """The same loop as a person writes it."""
    middle = np.empty((1, source.shape[1]), np.uint8)
    for y in range(len(source)):
        copy(source[y : y + 1], middle)
        copy(middle, target[y : y + 1])
    return target


def cases(quick: bool) -> Iterator[Case]:
    """All totals and pieces."""
    for total in (32, 2048) if quick else (32, 128, 512, 2048, 8192):
        for piece in (1, 8) if quick else (1, 2, 4, 8, 16, 32):

            def make(total: int = total, piece: int = piece) -> list[Side]:
                shape = (total // piece, piece * KILOBYTE)
                source = np.random.default_rng(1).integers(0, 255, shape, np.uint8)
                outputs = [np.zeros_like(source) for _ in range(5)]
                loop, whole = by_rows(two_copies(copy)), two_copies(copy_rows)
                bound = loop.bind(source, outputs[1])
                native = by_rows(two_terms()).compile(backend="native").bind([source, outputs[4]], {})
                return [
                    Side("by hand", lambda: by_hand(source, outputs[0])),
                    Side("bound", lambda: bound(), bound.release),  # a call more, as in the others
                    Side("loop in C", lambda: native(), native.release),
                    Side("loop in the pipeline", lambda: loop(source, outputs[2]), loop.compile().release),
                    Side("loop in the callback", lambda: whole(source, outputs[3]), whole.compile().release),
                ]

            repeats = max(1, 512 * piece // total)
            yield Case(f"{total} KB in pieces of {piece} KB", make, 2 * total * KILOBYTE, repeats)


def table(rows: Sequence[Row]) -> str:
    """A table per total, a line per piece."""
    heads = (
        "piece (KB)", "pipeline (GB/s)", "callback (GB/s)", "by hand (GB/s)", "pipeline / callback (speed)",
        "pipeline / by hand (time)", "bound / by hand (time)", "C / by hand (time)",
        "peak of pipeline", "peak of callback",
    )  # fmt: skip
    text: list[str] = []
    before = ""
    for hand, bound, native, loop, callback in zip(*(rows[n::5] for n in range(5)), strict=True):
        total, piece = hand.case.split()[0], hand.case.split()[5]
        if total != before:
            before = total
            text += ["", f"Total {total} KB:", "", f"| {' | '.join(heads)} |", "|" + "---:|" * len(heads)]
        cells = [piece, *(f"{row.gigabytes_per_second:.2f}" for row in (loop, callback, hand))]
        cells.append(f"{1 / loop.all_ratios[callback.side]:.3f}")
        cells += [f"{row.all_ratios[hand.side]:.3f}" for row in (loop, bound, native)]
        cells += [bytes_text(loop.peak_bytes), bytes_text(callback.peak_bytes)]
        text.append(f"| {' | '.join(cells)} |")
    return "\n".join(text)
