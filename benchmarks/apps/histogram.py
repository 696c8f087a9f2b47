"""Histogram equalisation of a colour picture: how bright it is, how often that is, and the colours changed by it."""

from __future__ import annotations

import numpy as np

import slinky as sl
from benchmarks.apps.app import FEW_ROWS, App, Setting, Size, like, picture
from benchmarks.harness import Array

BINS = 256
GREY = np.array([77, 150, 29], np.float32) / np.float32(256)
"""Fractions of which all sums are exact, in whatever order: a brightness that is rounded down must not waver."""


def luma(source: Array, target: Array) -> None:
    """How bright a colour is."""
    np.matmul(source, GREY, out=target)


def count(light: Array, target: Array) -> None:
    """How often each brightness is."""
    target[...] = np.bincount(light.astype(np.uint8).ravel(), minlength=BINS)


def no_counts(state: Array) -> None:
    """Of no elements."""
    state.fill(0)


def count_more(old: Array, light: Array, new: Array) -> None:
    """With some more elements."""
    count(light, new)
    np.add(old, new, out=new)


def cumulate(counts: Array, target: Array) -> None:
    """What share of the elements is at most as bright, times 255."""
    target[...] = np.cumsum(counts) * (255 / max(counts.sum(), 1))


def equalise(source: Array, light: Array, cumulated: Array, target: Array) -> None:
    """The colours around another brightness."""
    even = cumulated[light.astype(np.uint8)]
    red = (source[..., 0] - light) * RED_AWAY
    blue = (source[..., 2] - light) * BLUE_AWAY
    target[..., 0] = np.clip(even + red * TO_RED, 0, 255)
    target[..., 1] = np.clip(even - blue * FROM_BLUE - red * FROM_RED, 0, 255)
    target[..., 2] = np.clip(even + blue * TO_BLUE, 0, 255)


RED_AWAY, BLUE_AWAY, TO_RED, TO_BLUE, FROM_RED, FROM_BLUE = (
    np.float32(factor) for factor in (0.713, 0.564, 1.4, 1.765, 0.711, 0.343)
)


def build() -> sl.Pipeline:
    """Four funcs; the counts are a reduction over the picture."""
    y, x, c, b = sl.variables("y x c b")
    inp, out = (sl.BufferExpr(name, np.uint8, 3) for name in ("inp", "out"))
    light = sl.BufferExpr("light", np.float32, 2)
    counts, counted = (sl.BufferExpr(name, np.int64, 1) for name in ("counts", "counted"))
    cumulated = sl.BufferExpr("cumulated", np.float32, 1)
    sl.Func(luma, [inp[y, x, sl.interval(0, 2)]], [light[y, x]])
    by_rows = sl.Reduction({"y": 0}, [counted[b]], no_counts, count_more, lambda counted, out: np.copyto(out, counted))
    every = (inp.dim(0).bounds, inp.dim(1).bounds)
    sl.Func(count, [light[every]], [counts[b]], whole=["b"], reduction=by_rows)
    counts.dim(0).bounds = sl.interval(0, BINS - 1)
    sl.Func(cumulate, [counts[:]], [cumulated[b]], whole=["b"])
    cumulated.dim(0).bounds = sl.interval(0, BINS - 1)
    read = [inp[y, x, sl.interval(0, 2)], light[y, x], cumulated[:]]
    sl.Func(equalise, read, [out[y, x, c]], whole=["c"])
    require = [sl.same_shape(inp, out), sl.equal(inp.dim(2).extent, 3)]
    return sl.build_pipeline([inp], [out], name="histogram", require=require)


def as_written(inp: Array) -> Array:
    """NumPy as people write it."""
    light = inp @ GREY
    level = light.astype(np.uint8)
    counts = np.bincount(level.ravel(), minlength=BINS)
    cumulated = (np.cumsum(counts) * (255 / light.size)).astype(np.float32)
    even = cumulated[level]
    red = (inp[..., 0] - light) * RED_AWAY
    blue = (inp[..., 2] - light) * BLUE_AWAY
    planes = [even + red * TO_RED, even - blue * FROM_BLUE - red * FROM_RED, even + blue * TO_BLUE]
    return np.asarray(np.clip(np.stack(planes, axis=-1), 0, 255).astype(np.uint8))


def by_hand(p: sl.Pipeline, setting: Setting) -> sl.Pipeline:
    """Strips of rows, twice: how bright they are is computed for the counts, and again for the colours."""
    p = sl.clone_call(p, "luma", "equalise")
    p, pieces = sl.split_reduction(p, "count", "y", setting[0], rc=True)
    p, made = sl.compute_at(p, "luma #0", pieces.loop, rc=True)
    p = sl.store_at(p, made.alloc, pieces.loop)
    return sl.line_buffer(p, "equalise", "y", setting[0])


def inputs(size: Size) -> list[Array]:
    """A picture that is too dark."""
    return [(picture(size, 3) * 160).astype(np.uint8)]


APP = App(
    name="histogram",
    about="histogram equalisation of a colour picture",
    build=build,
    inputs=inputs,
    target=like,
    as_written=as_written,
    by_hand=by_hand,
    settings=FEW_ROWS,
    chosen=(32,),
    smallest=(5,),
    full=(1536, 2560),
    quick=(300, 400),
    tolerance=0,
)
