"""Small pipelines to schedule, a run that compares a scheduled one with the unscheduled one, and refusals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import slinky as sl

Array = np.ndarray[Any, Any]
Range = tuple[int, int]


def copy(source: Array, target: Array) -> None:
    """The same values."""
    assert target.size > 0, "a callback was called with an empty region"
    target[...] = source


def add_1(source: Array, target: Array) -> None:
    """Add one."""
    assert target.size > 0, "a callback was called with an empty region"
    np.add(source, 1, out=target)


def sum_3x3(source: Array, target: Array) -> None:
    """The sum of each element's neighbourhood, weighted so that no two places are alike."""
    assert target.size > 0, "a callback was called with an empty region"
    height, width = target.shape
    assert source.shape == (height + 2, width + 2)
    target[...] = sum((3 * i + j) * source[i : i + height, j : j + width] for i in range(3) for j in range(3))


def weigh(*radii: int) -> Callable[..., None]:
    """A callback that sums windows of these radii, one for each array that it reads, weighted."""

    def callback(*arrays: Array) -> None:
        *sources, target = arrays
        assert target.size > 0, "a callback was called with an empty region"
        target[...] = 0
        for source, radius in zip(sources, radii, strict=True):
            assert len(source) == len(target) + 2 * radius
            for k in range(2 * radius + 1):
                target += (k + 1) * source[k : k + len(target)]

    return callback


def stencils(count: int) -> sl.Pipeline:
    """`b0 = inp + 1`, then as many 3 x 3 stencils one after the other, of int16: funcs add, s1, s2, ... and buffers
    b0, b1, ..., out."""
    y, x = sl.variables("y x")
    inp, out = sl.BufferExpr("inp", np.int16, 2), sl.BufferExpr("out", np.int16, 2)
    between = [sl.BufferExpr(f"b{k}", np.int16, 2) for k in range(count)]
    sl.Func(add_1, [inp[y, x]], [between[0][y, x]], name="add")
    for k, (source, target) in enumerate(zip(between, [*between[1:], out], strict=True), start=1):
        window = source[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]
        sl.Func(sum_3x3, [window], [target[y, x]], name=f"s{k}")
    return sl.build_pipeline([inp], [out], name="stencils")


def stencil(**settings: Any) -> sl.Pipeline:
    """`intm = add(inp)`, then one 3 x 3 stencil, of int16: the first pipeline of the documents. Built with settings."""
    y, x = sl.variables("y x")
    inp, intm, out = (sl.BufferExpr(name, np.int16, 2) for name in ("inp", "intm", "out"))
    sl.Func(add_1, [inp[y, x]], [intm[y, x]], name="add")
    window = intm[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]
    sl.Func(sum_3x3, [window], [out[y, x]], name="stencil")
    return sl.build_pipeline([inp], [out], **settings)


def signal(*radii: int, name: str | None = None) -> sl.Pipeline:
    """A chain of one-dimensional funcs f0, f1, ... that read windows of these radii: inp, b0, b1, ..., out."""
    (x,) = sl.variables("x")
    names = ["inp", *(f"b{k}" for k in range(len(radii) - 1)), "out"]
    buffers = [sl.BufferExpr(buffer, np.int32, 1) for buffer in names]
    for k, radius in enumerate(radii):
        window = buffers[k][sl.interval(x - radius, x + radius)]
        sl.Func(weigh(radius), [window], [buffers[k + 1][x]], name=f"f{k}")
    return sl.build_pipeline([buffers[0]], [buffers[-1]], name=name)


def by_rows(p: sl.Pipeline, step: Any = 1) -> tuple[sl.Pipeline, sl.LoopCursor, sl.AllocCursor]:
    """The pipeline `stencil` by rows, slid and folded; the loop and the allocation."""
    p, (loop, _, _) = sl.split_loop(p, "stencil.y", step, rc=True)
    p, ((alloc,), _, call) = sl.compute_at(p, "add", loop, rc=True)
    p = sl.slide_window(p, call, loop)
    p = sl.fold_storage(p, alloc, "y")
    return p, p.forward(loop), p.forward(alloc)


def picture(height: int, width: int, margin: int, origin: tuple[int, int] = (0, 0)) -> tuple[sl.Buffer, sl.Buffer]:
    """An int16 image that is larger than an output at the origin by a margin, and that output (zeros)."""
    rng = np.random.default_rng(height * 1000 + width)
    image = rng.integers(-5, 100, (height + 2 * margin, width + 2 * margin)).astype(np.int16)
    low = (origin[0] - margin, origin[1] - margin)
    return sl.Buffer(image, min=low), sl.Buffer(np.zeros((height, width), np.int16), min=origin)


def line(first: int, last: int) -> sl.Buffer:
    """A signal over these coordinates."""
    values = np.random.default_rng(abs(last)).integers(0, 100, max(last - first + 1, 0)).astype(np.int32)
    return sl.Buffer(values, min=(first,))


def compare(
    plain: sl.Pipeline,
    scheduled: sl.Pipeline,
    inputs: Sequence[sl.Buffer],
    outputs: Sequence[sl.Buffer],
    threads: int | None = None,
    **scalars: int,
) -> tuple[sl.RunStatistics, sl.RunStatistics]:
    """Run both in checked mode, and the scheduled one as a plan too; the outputs must be equal. The statistics of the
    unscheduled and of the scheduled pipeline.
    """
    scheduled.verify()
    expected = [_zeros(o) for o in outputs]
    known = {name: value for name, value in scalars.items() if name in {a.name() for a in plain.args()}}
    before = plain.run(*inputs, *expected, checked=True, **known)
    for settings in ({"checked": True}, {"backend": "python"}):
        found = [_zeros(o) for o in outputs]
        after = scheduled.run(*inputs, *found, threads=threads, **settings, **scalars)
        for a, b in zip(expected, found, strict=True):
            assert np.array_equal(a.array, b.array)
    return before, after


def _zeros(like: sl.Buffer) -> sl.Buffer:
    return sl.Buffer(np.zeros_like(like.array), min=like.min)


def refused(rewrite: Callable[[], object]) -> sl.SchedulingError:
    with pytest.raises(sl.SchedulingError) as caught:
        rewrite()
    return caught.value


def refusal(rewrite: Callable[[], object]) -> str:
    """The reason of a refusal."""
    return refused(rewrite).reason


def agree_on_rows(before: sl.Pipeline, p: sl.Pipeline) -> None:
    """Two pipelines make the same of rows of integers, some of which have no elements, by all back ends."""
    p.verify()
    for rows, columns in ((3, 10), (1, 1), (2, 4), (3, 0)):
        source = np.arange(rows * columns).reshape(rows, columns) % 13
        expected = before(source)
        for how in ({"checked": True}, {"backend": "interpreter"}, {"backend": "python"}):
            np.testing.assert_array_equal(p.run(source, **how).outputs[0], expected)
