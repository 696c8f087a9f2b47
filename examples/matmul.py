"""The product of three matrices: `abc = (a x b) x c`.

Each row of the result needs one row of `a x b` only, which is what makes this worth scheduling.
Prints the pipeline, checks it against plain NumPy, and prints time and memory of both.

    python examples/matmul.py [M] [K] [L] [N]
"""

from __future__ import annotations

import argparse

import numpy as np
from measure import compare

import slinky as sl


def build() -> sl.Pipeline:
    """The pipeline. The reduced dimensions are read over the bounds of one operand, which the other must have, too."""
    i, j = sl.variables("i j")
    a, b, c, ab, abc = (sl.BufferExpr(name, np.float32, rank=2) for name in ("a", "b", "c", "ab", "abc"))
    k_ab = a.dim(1).bounds
    k_abc = c.dim(0).bounds
    sl.Func(np.matmul, inputs=[a[i, k_ab], b[k_ab, j]], outputs=[ab[i, j]], name="matmul_ab")
    sl.Func(np.matmul, inputs=[ab[i, k_abc], c[k_abc, j]], outputs=[abc[i, j]], name="matmul_abc")
    return sl.build_pipeline(inputs=[a, b, c], outputs=[abc], name="matmul")


def plain(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The same with plain NumPy."""
    return (a @ b) @ c


def main() -> None:
    """Run on random matrices of the sizes given."""
    parser = argparse.ArgumentParser(description="(a x b) x c for a: M x K, b: K x L, c: L x N.")
    for name, default in (("m", 1024), ("k", 512), ("l", 1024), ("n", 256)):
        parser.add_argument(name, metavar=name.upper(), nargs="?", type=int, default=default)
    sizes = parser.parse_args()
    if min(sizes.m, sizes.k, sizes.l, sizes.n) < 0:
        parser.error("sizes must be 0 or more")
    pipeline = build()
    print(pipeline, end="\n\n")
    random = np.random.default_rng(0)
    shapes = ((sizes.m, sizes.k), (sizes.k, sizes.l), (sizes.l, sizes.n))
    a, b, c = (random.random(shape, np.float32) for shape in shapes)
    abc = np.empty((sizes.m, sizes.n), np.float32)
    pipeline(a, b, c, abc)
    if not np.allclose(abc, plain(a, b, c), rtol=1e-4):
        raise SystemExit("matmul: the pipeline and plain NumPy differ")
    print(f"({sizes.m} x {sizes.k}) x ({sizes.k} x {sizes.l}) x ({sizes.l} x {sizes.n}): equal to plain NumPy")
    print(compare(lambda: plain(a, b, c), abc.nbytes, lambda: pipeline.run(a, b, c, abc)))


if __name__ == "__main__":
    main()
