"""The overhead of running a loop in a pipeline, at its largest: copies, the fastest operation there is.

Rows of `piece` bytes are copied into an intermediate and from there to the output. The loop over rows is in the
pipeline (one row of intermediate), in the callback (the whole intermediate), or written by hand in NumPy as in the
first. The callback that copies is the same in all. The loop in the pipeline runs in two ways: called with its arrays,
which it checks each time, and bound to them, which are then checked as little as those of the loop by hand. Beside
them is the loop in C, of copies that are arithmetic, and of such that are kernels in C; of these also that with the
loop in the callback.

A call by itself is measured with kernels in C that do nothing: in a stencil whose first func slides, and in a chain of
eight funcs, row by row. Their source stands in the native plan's file, or they are called by their address.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

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


_COPY = """
#include <string.h>

int copy(const slinky_buffer *from, const slinky_buffer *to)
{
    const size_t row = (size_t)to->extent[1];
    for (int64_t y = 0; y < to->extent[0]; y++)
        memcpy((char *)to->data + y * to->stride[0], (const char *)from->data + y * from->stride[0], row);
    return 0;
}
"""
_NOTHING = """
int nothing(const slinky_buffer *from, const slinky_buffer *to)
{
    (void)from, (void)to;
    return 0;
}
"""


def c_copy() -> sl.CFunction:
    """Copies by rows, in C."""
    return sl.c_kernel(_COPY, "copy", inputs={"from_": (np.uint8, 2)}, outputs={"to": (np.uint8, 2)}, dense=1)


def nothing(source: Array, target: Array) -> None:
    """No work."""


def c_nothing() -> list[sl.CFunction]:
    """No work in C: as source, and by its address."""
    arrays = {"inputs": {"from_": (np.uint8, 2)}, "outputs": {"to": (np.uint8, 2)}}
    source = sl.c_kernel(_NOTHING, "nothing", **arrays)  # type: ignore[arg-type]
    passed = [f"{name}{item}" for name in ("from_", "to") for item in ("", ".min", ".extent", ".stride")]
    return [source, sl.c_function(source.address, parameters=passed, **arrays)]  # type: ignore[arg-type]


def chain_of_eight(callback: object) -> sl.Pipeline:
    """Eight funcs, row by row."""
    y, x = sl.variables("y x")
    buffers = [sl.BufferExpr(f"b{n}", np.uint8, 2) for n in range(9)]
    for n in range(8):
        sl.Func(callback, [buffers[n][y, x]], [buffers[n + 1][y, x]], name=f"f{n}")  # type: ignore[arg-type]
    p = sl.split_loop(sl.build_pipeline([buffers[0]], [buffers[-1]]), "f7.y", 1)
    for n in reversed(range(7)):
        p = sl.compute_at(p, f"f{n}", "for y")
    return p


def sliding_stencil(callback: object) -> sl.Pipeline:
    """A func of three rows of another one, which slides in a window of as many."""
    y, x = sl.variables("y x")
    source, middle, target = (sl.BufferExpr(name, np.uint8, 2) for name in ("source", "middle", "target"))
    around = middle[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]
    sl.Func(callback, [source[y, x]], [middle[y, x]], name="load")  # type: ignore[arg-type]
    sl.Func(callback, [around], [target[y, x]], name="stencil")  # type: ignore[arg-type]
    p = sl.split_loop(sl.build_pipeline([source], [target]), "stencil.y", 1)
    p = sl.slide_window(sl.compute_at(p, "load", "for y"), "load", "for y")
    return sl.fold_storage(p, "alloc middle", "y")


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
                outputs = [np.zeros_like(source) for _ in range(7)]
                loop, whole = by_rows(two_copies(copy)), two_copies(copy_rows)
                bound = loop.bind(source, outputs[1])
                native = by_rows(two_terms()).compile(backend="native").bind([source, outputs[4]], {})
                kernels, at_once = (
                    p.compile(backend="native").bind([source, output], {})
                    for p, output in zip(
                        (by_rows(two_copies(c_copy())), two_copies(c_copy())), outputs[5:], strict=True
                    )
                )
                return [
                    Side("by hand", lambda: by_hand(source, outputs[0])),
                    Side("bound", lambda: bound(), bound.release),  # a call more, as in the others
                    Side("loop in C", lambda: native(), native.release),
                    Side("kernels in C", lambda: kernels(), kernels.release),
                    Side("loop in the kernel", lambda: at_once(), at_once.release),
                    Side("loop in the pipeline", lambda: loop(source, outputs[2]), loop.compile().release),
                    Side("loop in the callback", lambda: whole(source, outputs[3]), whole.compile().release),
                ]

            repeats = max(1, 512 * piece // total)
            yield Case(f"{total} KB in pieces of {piece} KB", make, 2 * total * KILOBYTE, repeats)
    yield from _nothing_at_all(2_000 if quick else 100_000)


CALLS = {"a stencil": (sliding_stencil, 2, 2), "a chain of eight": (chain_of_eight, 8, 0)}
"""Pipelines that call functions that do nothing: how many calls for a row, and how much larger the input is."""


def _nothing_at_all(rows: int) -> Iterator[Case]:
    for name, (pipeline, _, halo) in CALLS.items():

        def make(pipeline: Callable[[object], sl.Pipeline] = pipeline, halo: int = halo) -> list[Side]:
            source = np.zeros((rows + halo, 8 + halo), np.uint8)
            found = []
            for number, callback in enumerate((nothing, *c_nothing())):
                target = np.zeros((rows, 8), np.uint8)
                plan = pipeline(callback).compile(backend="native" if number else "python")
                run = plan.bind([source, sl.Buffer(target, min=(halo // 2, halo // 2))], {})
                side = ("callbacks of Python", "kernels in C", "kernels in C, by address")[number]
                found.append(Side(side, lambda run=run, target=target: (run(), target)[1], run.release))
            return found

        yield Case(f"{rows} rows of {name}", make)


def table(rows: Sequence[Row]) -> str:
    """A table per total, a line per piece; and one of calls."""
    copies = [row for row in rows if " KB " in row.case]
    calls = [row for row in rows if row not in copies]
    return "\n".join([_copies_table(copies), *(["", _calls_table(calls)] if calls else [])])


def _calls_table(rows: Sequence[Row]) -> str:
    """A line per pipeline."""
    text = ["Calls that do nothing, each:", ""]
    text.append(f"| in | {' | '.join(row.side for row in rows[:3])} |")
    text.append("|---|" + "---:|" * 3)
    for at in range(0, len(rows), 3):
        count, _, name = rows[at].case.partition(" rows of ")
        each = [row.seconds / int(count) / CALLS[name][1] * 1e9 for row in rows[at : at + 3]]
        text.append(f"| {name} | {' | '.join(f'{time:.3g} ns' for time in each)} |")
    return "\n".join(text)


def _copies_table(rows: Sequence[Row]) -> str:
    heads = (
        "piece (KB)", "pipeline (GB/s)", "callback (GB/s)", "by hand (GB/s)", "pipeline / callback (speed)",
        "pipeline / by hand (time)", "bound / by hand (time)", "C / by hand (time)",
        "kernels / by hand (time)", "kernels: pipeline / callback (speed)",
        "peak of pipeline", "peak of callback",
    )  # fmt: skip
    text: list[str] = []
    before = ""
    for hand, bound, native, kernels, at_once, loop, callback in zip(*(rows[n::7] for n in range(7)), strict=True):
        total, piece = hand.case.split()[0], hand.case.split()[5]
        if total != before:
            before = total
            text += ["", f"Total {total} KB:", "", f"| {' | '.join(heads)} |", "|" + "---:|" * len(heads)]
        cells = [piece, *(f"{row.gigabytes_per_second:.2f}" for row in (loop, callback, hand))]
        cells.append(f"{1 / loop.all_ratios[callback.side]:.3f}")
        cells += [f"{row.all_ratios[hand.side]:.3f}" for row in (loop, bound, native, kernels)]
        cells.append(f"{1 / kernels.all_ratios[at_once.side]:.3f}")
        cells += [bytes_text(loop.peak_bytes), bytes_text(callback.peak_bytes)]
        text.append(f"| {' | '.join(cells)} |")
    return "\n".join(text)
