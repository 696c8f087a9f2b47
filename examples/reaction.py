"""A pattern that grows: two substances that spread over a plane and react (Gray and Scott), step after step.

The step is NumPy as one writes it: rolls and arithmetic, on a plane whose edges meet. `sl.jit` traces a function of
many steps, finds that they are the same, and schedules and compiles one of them, which goes to and fro between a few
arrays. Checks the result against plain NumPy's, to the bit, prints time and memory of both, and writes a picture.

    python examples/reaction.py [--size N] [--calls N] [-o OUT.png]
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np
from measure import megabytes, milliseconds, peak_bytes
from photograph import write

import slinky as sl

STEPS = 32
"""How many steps a call takes."""

FEED, KILL = 0.037, 0.06
SPREAD_U, SPREAD_V = 0.2, 0.1


def around(a: np.ndarray) -> np.ndarray:
    """How much the neighbours of an element have more than it."""
    return np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a


def plain(u: np.ndarray, v: np.ndarray, steps: int = STEPS) -> tuple[np.ndarray, np.ndarray]:
    """Both substances after some steps."""
    for _ in range(steps):
        both = u * v * v
        u = u + SPREAD_U * around(u) - both + FEED * (1 - u)
        v = v + SPREAD_V * around(v) + both - (FEED + KILL) * v
    return u, v


traced = sl.jit(plain)


def seeds(size: int) -> tuple[np.ndarray, np.ndarray]:
    """One substance everywhere, and some spots of the other one."""
    u, v = np.ones((size, size)), np.zeros((size, size))
    width = max(size // 40, 6)
    for y, x in np.random.default_rng(0).integers(0, size, (30, 2)):
        u[y : y + width, x : x + width], v[y : y + width, x : x + width] = 0.5, 0.25
    return u, v


def main() -> None:
    """Let a pattern grow."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--size", type=int, default=500, help="the length of a side (default: 500)")
    parser.add_argument("--calls", type=int, default=60, help=f"how often {STEPS} steps are taken (default: 60)")
    parser.add_argument("-o", "--output", metavar="OUT.png", type=Path, default=Path("reaction.png"))
    options = parser.parse_args()
    if options.size < 4 or options.calls < 1:
        parser.error(f"a plane of 4 x 4 and one call at least, got --size {options.size} --calls {options.calls}")
    first = u, v = seeds(options.size)
    if not all(map(np.array_equal, traced(*first), plain(*first))):
        raise SystemExit("reaction: the traced function and plain NumPy differ")
    for _ in range(options.calls):
        u, v = traced(u, v)
    traced.wait_native()
    if not all(map(np.array_equal, traced(u, v), plain(u, v))):
        raise SystemExit("reaction: the traced function and plain NumPy differ")
    print(traced.explain(u, v), end="\n\n")
    print(f"{options.size} x {options.size}, {options.calls * STEPS} steps: as plain NumPy, to the bit")
    for name, run in ("plain NumPy", plain), ("sl.jit", traced):
        call = partial(run, u, v)
        print(f"{STEPS} steps by {name}: {milliseconds(call)}, {megabytes(peak_bytes(call))}")
    write((255 * v / max(v.max(), 1e-9)).astype(np.uint8), options.output)


if __name__ == "__main__":
    main()
