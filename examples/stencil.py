"""A schedule step by step: add one to an image, then sum each 3 x 3 neighbourhood, in the memory of three rows.

Prints the program after each step, runs it, checks the result against plain NumPy, and says how much memory the
intermediate takes.

    python examples/stencil.py [WIDTH HEIGHT]
"""

from __future__ import annotations

import argparse

import numpy as np

import slinky as sl


def add_1(source: np.ndarray, target: np.ndarray) -> None:
    """`target = source + 1`."""
    np.add(source, 1, out=target)


def sum_3x3(source: np.ndarray, target: np.ndarray) -> None:
    """The sum of the neighbourhood of each element."""
    height, width = target.shape
    target[...] = 0
    for dy in range(3):
        for dx in range(3):
            target += source[dy : dy + height, dx : dx + width]


def build() -> sl.Pipeline:
    """The pipeline: from an image to one that is smaller by an element on each side."""
    y, x = sl.variables("y x")
    inp, intm, out = (sl.BufferExpr(name, np.int16, rank=2) for name in ("inp", "intm", "out"))
    sl.Func(add_1, inputs=[inp[y, x]], outputs=[intm[y, x]], name="add")
    window = intm[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]
    sl.Func(sum_3x3, inputs=[window], outputs=[out[y, x]], name="stencil")
    return sl.build_pipeline(inputs=[inp], outputs=[out])


def steps() -> list[tuple[str, sl.Pipeline]]:
    """The pipeline after each step of its schedule, and what the step does.

    Only the stencil is found by name. Each primitive returns cursors to what it made, and the rest is beside it.
    """
    done = [("As described: the whole of intm is made, then read.", p := build())]

    p, (rows, _, _) = sl.split_loop(p, "stencil.y", 1, rc=True)
    done.append(("The stencil runs row by row.", p))

    p, fused = sl.compute_at(p, rows.prev(), rows, rc=True)
    done.append(("In the same loop, add makes the three rows that each row of out needs.", p))

    p = sl.slide_window(p, fused.call, rows)
    done.append(("Two of them were made before: add makes only the new row, from two iterations before the first.", p))

    p = sl.fold_storage(p, fused.alloc, "y")
    done.append(("No more than three rows are needed at a time: a row takes the place of the third before it.", p))
    return done


def plain(inp: np.ndarray) -> np.ndarray:
    """The same with plain NumPy."""
    intm = inp + np.int16(1)
    height, width = inp.shape[0] - 2, inp.shape[1] - 2
    out = np.zeros((height, width), np.int16)
    for dy in range(3):
        for dx in range(3):
            out += intm[dy : dy + height, dx : dx + width]
    return out


def main() -> None:
    """Run every step on an image for an output of the size given."""
    parser = argparse.ArgumentParser(description="Schedule a stencil, step by step.")
    parser.add_argument("width", metavar="WIDTH", nargs="?", type=int, default=20, help="of the output")
    parser.add_argument("height", metavar="HEIGHT", nargs="?", type=int, default=30, help="of the output")
    size = parser.parse_args()
    if size.width < 1 or size.height < 1:
        parser.error("WIDTH and HEIGHT must be 1 or more")
    image = np.random.default_rng(0).integers(0, 1000, (size.height + 2, size.width + 2), dtype=np.int16)
    inp, out = sl.Buffer(image, min=(-1, -1)), np.empty((size.height, size.width), np.int16)
    for text, pipeline in steps():
        out.fill(0)
        statistics = pipeline.run(inp, out, checked=True)
        if not np.array_equal(out, plain(image)):
            raise SystemExit("stencil: the pipeline and plain NumPy differ")
        print(text, pipeline, sep="\n\n", end="\n\n")
        elements = statistics.program_bytes // out.itemsize
        made = statistics.elements["add"]
        print(f"  intm takes {statistics.program_bytes} bytes ({elements} elements); add made {made} elements\n")
    print(f"{size.width} x {size.height}: equal to plain NumPy after every step")


if __name__ == "__main__":
    main()
