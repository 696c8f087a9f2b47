"""Two operations on a long array, element by element: `out = inp * 2 + 1`.

Prints the pipeline, checks it against plain NumPy, and prints time and memory of both.

    python examples/elementwise.py [SIZE]
"""

from __future__ import annotations

import argparse

import numpy as np
from measure import compare

import slinky as sl


def multiply_2(source: np.ndarray, target: np.ndarray) -> None:
    """`target = source * 2`."""
    np.multiply(source, 2, out=target)


def add_1(source: np.ndarray, target: np.ndarray) -> None:
    """`target = source + 1`."""
    np.add(source, 1, out=target)


def build() -> sl.Pipeline:
    """The pipeline."""
    (x,) = sl.variables("x")
    inp, intm, out = (sl.BufferExpr(name, np.int32, rank=1) for name in ("inp", "intm", "out"))
    sl.Func(multiply_2, inputs=[inp[x]], outputs=[intm[x]], name="mul")
    sl.Func(add_1, inputs=[intm[x]], outputs=[out[x]], name="add")
    return sl.build_pipeline(inputs=[inp], outputs=[out], name="elementwise")


def plain(inp: np.ndarray) -> np.ndarray:
    """The same with plain NumPy."""
    return inp * 2 + 1


def main() -> None:
    """Run on an array of the size given."""
    parser = argparse.ArgumentParser(description="Multiply and add, element by element.")
    parser.add_argument("size", metavar="SIZE", nargs="?", type=int, default=10_000_000, help="number of elements")
    size = parser.parse_args().size
    if size < 0:
        parser.error(f"SIZE must be 0 or more, got {size}")
    pipeline = build()
    print(pipeline, end="\n\n")
    inp, out = np.arange(size, dtype=np.int32), np.empty(size, np.int32)
    pipeline(inp, out)
    if not np.array_equal(out, plain(inp)):
        raise SystemExit("elementwise: the pipeline and plain NumPy differ")
    print(f"{size} elements: equal to plain NumPy")
    print(compare(lambda: plain(inp), out.nbytes, lambda: pipeline.run(inp, out)))


if __name__ == "__main__":
    main()
