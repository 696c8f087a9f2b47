"""Pipelines in stages, and those that are put there: what tests of pipelined loops share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import handmade
import numpy as np
from scheduled import Array, add_1, by_rows, stencil, stencils, sum_3x3

import slinky as sl
from slinky.ir.copies import with_mode
from slinky.ir.statements import For, Pipelined

ROWS = by_rows(stencil())[0]


def in_stages(p: sl.Pipeline, **settings: Any) -> sl.Pipeline:
    return sl.pipeline_loop(p, "for y", **settings)


def slid_and_folded(p: sl.Pipeline, consumer: str, producers: Sequence[str], split: int) -> sl.Pipeline:
    """Some rows of the consumer at a time; all producers there, slid and folded."""
    p, (loop, _, _) = sl.split_loop(p, f"{consumer}.y", split, rc=True)
    for name in reversed(producers):
        p = sl.compute_at(p, name, loop)
    for name in reversed(producers):
        p = sl.slide_window(p, name, loop)
    for alloc in p.find_all("alloc _"):
        p = sl.fold_storage(p, alloc, "y")
    return p


def chain_by_rows(split: int) -> sl.Pipeline:
    return slid_and_folded(stencils(2), "s2", ["add", "s1"], split)


def images(*names: str) -> list[sl.BufferExpr]:
    return [sl.BufferExpr(name, np.int32, 2) for name in names]


def sum_5x5(source: Array, target: Array) -> None:
    height, width = target.shape
    target[...] = sum((7 * i + j) * source[i : i + height, j : j + width] for i in range(5) for j in range(5))


def difference(a: Array, b: Array, target: Array) -> None:
    np.subtract(a, b, out=target)


def diamond() -> sl.Pipeline:
    """`a = add(inp)`, a 3 x 3 and a 5 x 5 stencil of it, and their difference."""
    y, x = sl.variables("y x")
    inp, a, b, c, out = images("inp", "a", "b", "c", "out")
    sl.Func(add_1, [inp[y, x]], [a[y, x]], name="add")
    sl.Func(sum_3x3, [a[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]], [b[y, x]], name="s3")
    sl.Func(sum_5x5, [a[sl.interval(y - 2, y + 2), sl.interval(x - 2, x + 2)]], [c[y, x]], name="s5")
    sl.Func(difference, [b[y, x], c[y, x]], [out[y, x]], name="diff")
    return sl.build_pipeline([inp], [out])


def two_stencils() -> sl.Pipeline:
    """Of two inputs, a 3 x 3 stencil of one and a 5 x 5 stencil of the other, and their difference."""
    y, x = sl.variables("y x")
    inp, other, a, b, c, d, out = images("inp", "other", "a", "b", "c", "d", "out")
    sl.Func(add_1, [inp[y, x]], [a[y, x]], name="add")
    sl.Func(add_1, [other[y, x]], [b[y, x]], name="add2")
    sl.Func(sum_3x3, [a[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]], [c[y, x]], name="s3")
    sl.Func(sum_5x5, [b[sl.interval(y - 2, y + 2), sl.interval(x - 2, x + 2)]], [d[y, x]], name="s5")
    sl.Func(difference, [c[y, x], d[y, x]], [out[y, x]], name="diff")
    return sl.build_pipeline([inp, other], [out])


def halve(source: Array, target: Array) -> None:
    height, width = target.shape
    target[...] = sum(source[i : 2 * height : 2, j : 2 * width : 2] for i in range(2) for j in range(2)) // 4


def pyramid() -> sl.Pipeline:
    """Half as large, and back to the full size again, added to what was there."""
    y, x = sl.variables("y x")
    inp, low, out = images("inp", "low", "out")
    pair = sl.interval(2 * y, 2 * y + 1), sl.interval(2 * x, 2 * x + 1)
    sl.Func(halve, [inp[pair]], [low[y, x]], name="down")
    near = sl.interval(y // 2, (y + 1) // 2), sl.interval(x // 2, (x + 1) // 2)

    def up(low: sl.Buffer, source: sl.Buffer, target: sl.Buffer) -> None:
        (y0, x0), (h, w) = target.min, target.array.shape
        ys, xs = np.arange(y0, y0 + h)[:, None], np.arange(x0, x0 + w)
        target.array[...] = source.array
        for n in (0, 1):
            target.array[...] += low.array[(ys + n) // 2 - low.min[0], (xs + n) // 2 - low.min[1]]

    sl.Func(up, [low[near], inp[y, x]], [out[y, x]], name="up", pass_buffers=True)
    return sl.build_pipeline([inp], [out])


def arguments(p: sl.Pipeline, height: int, width: int, margin: int) -> tuple[list[sl.Buffer], sl.Buffer]:
    random = np.random.default_rng(height)
    inputs = []
    for parameter in p.program.inputs:
        values = random.integers(0, 50, (height + 2 * margin, width + 2 * margin)).astype(parameter.dtype)
        inputs.append(sl.Buffer(values, min=(-margin, -margin)))
    return inputs, sl.Buffer(np.zeros((height, width), p.program.outputs[0].dtype))


def by_hand(fold: int | None, depth: int, stages: tuple[int, ...] = (1, 1)) -> sl.Pipeline:
    """The stencil by rows, pipelined: right if the fold is `depth + 2`, or more."""
    p = handmade.by_rows(fold)
    *body, loop = p.program.body[-2:]
    assert isinstance(loop, For)
    return handmade.with_body(p.program, [*body, with_mode(loop, Pipelined(stages, depth))])
