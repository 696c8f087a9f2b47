"""A small pipeline of one dimension, and runs that compare rewrites of such with what they were."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

import slinky as sl


def sums() -> sl.Pipeline:
    """Sums of three neighbours of what is turned around."""
    (x,) = sl.variables("x")
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    sl.Func(np.negative, [a[x]], [t[x]], name="turn")
    sl.Func(lambda s, o: np.copyto(o, s[:-2] + s[1:-1] + s[2:]), [t[sl.interval(x - 1, x + 1)]], [out[x]], name="add")
    return sl.build_pipeline([a], [out])


def agree(p: sl.Pipeline, q: sl.Pipeline, lo: int, hi: int, **scalars: int) -> sl.RunStatistics:
    """Both give the same for these bounds, the second with these scalars; its statistics."""
    data = sl.Buffer(np.arange(200) ** 2, min=(-60,))
    expected = sl.Buffer(np.zeros(hi - lo + 1, np.int64), min=(lo,))
    p(data, expected)
    for how in ({"checked": True}, {"backend": "interpreter"}, {}):
        got = sl.Buffer(np.zeros(hi - lo + 1, np.int64), min=(lo,))
        statistics = q.run(data, got, **how, **scalars)
        np.testing.assert_array_equal(expected.array, got.array)
    return statistics


def agree_in_sizes(before: sl.Pipeline, after: sl.Pipeline, extents: Iterable[int] = range(14)) -> None:
    """Both give the same for outputs of these sizes, at a negative origin, checked and by plan."""
    after.verify()
    data = [sl.Buffer(np.arange(60) * (7 + 4 * k) % 31, min=(-20,)) for k in range(len(before.program.inputs))]
    for extent in extents:
        expected = sl.Buffer(np.zeros(extent, np.int64), min=(-5,))
        before(*data, expected)
        for how in ({"checked": True}, {"backend": "python"}, {"backend": "interpreter"}):
            found = sl.Buffer(np.zeros(extent, np.int64), min=(-5,))
            after.run(*data, found, **how)
            np.testing.assert_array_equal(found.array, expected.array)
