"""Thirty-two stencils of 5x5 in a row, of uint16 that wrap around; beyond its edges the input goes on as it ends."""

from __future__ import annotations

import numpy as np

import slinky as sl
from benchmarks.apps.app import App, Size, in_strips, like, picture
from benchmarks.harness import Array

STAGES = 32
RADIUS = 2
WEIGHTS = [np.uint16(k) for k in range(1, 2 * RADIUS + 2)]
"""One weight for each row, and the same for each column."""
FACTORS = [np.array(weight) for weight in WEIGHTS]


def stencil(source: Array, target: Array) -> None:
    """The sum of 5x5 elements, weighted: rows first, then columns."""
    height, width = target.shape
    rows = source[:, :width] * FACTORS[0]
    product = np.empty_like(rows)
    for k in range(1, 2 * RADIUS + 1):
        np.multiply(source[:, k : k + width], FACTORS[k], out=product)
        np.add(rows, product, out=rows)
    np.multiply(rows[:height], FACTORS[0], out=target)
    for k in range(1, 2 * RADIUS + 1):
        np.multiply(rows[k : k + height], FACTORS[k], out=product[:height])
        np.add(target, product[:height], out=target)


def build() -> sl.Pipeline:
    """Each stage reads what the one before gives for two more elements on each side."""
    y, x = sl.variables("y x")
    inp, out = (sl.BufferExpr(name, np.uint16, 2) for name in ("inp", "out"))
    stages = [sl.BufferExpr(f"stage{n}", np.uint16, 2) for n in range(1, STAGES)]
    around = (sl.interval(y - RADIUS, y + RADIUS), sl.interval(x - RADIUS, x + RADIUS))
    sources = [inp.extended("nearest"), *stages]
    for n, (source, made) in enumerate(zip(sources, [*stages, out], strict=True), start=1):
        sl.Func(stencil, [source[around]], [made[y, x]], name=f"stencil{n}")
    return sl.build_pipeline([inp], [out], name="stencil_chain", require=[sl.same_shape(inp, out)])


def as_written(inp: Array) -> Array:
    """NumPy as people write it."""
    result = np.pad(inp, STAGES * RADIUS, mode="edge")
    for _ in range(STAGES):
        height, width = (extent - 2 * RADIUS for extent in result.shape)
        rows = WEIGHTS[0] * result[:, :width]
        for k in range(1, 2 * RADIUS + 1):
            rows += WEIGHTS[k] * result[:, k : k + width]
        result = WEIGHTS[0] * rows[:height]
        for k in range(1, 2 * RADIUS + 1):
            result += WEIGHTS[k] * rows[k : k + height]
    return result


def inputs(size: Size) -> list[Array]:
    """A picture."""
    return [(picture(size) * 65535).astype(np.uint16)]


APP = App(
    name="stencil_chain",
    about="32 stencils of 5x5 in a row, uint16",
    build=build,
    inputs=inputs,
    target=like,
    as_written=as_written,
    by_hand=in_strips(f"stencil{STAGES}"),
    settings=((8,), (16,), (24,), (32,), (48,), (64,), (96,), (128,)),
    chosen=(24,),
    smallest=(8,),
    full=(1536, 2560),
    quick=(500, 640),
    tolerance=0,
)
