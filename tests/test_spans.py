"""Closed forms of what goes evenly with a loop say what arrays of all iterations say."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slinky.runtime.ramps import Axis, Ramp, dense, greatest, least
from slinky.runtime.spans import span

counts = st.integers(1, 12)
small = st.integers(-15, 15)
slopes = st.integers(-4, 4).filter(bool)


@st.composite
def ramps(draw: Any, axis: Axis) -> Ramp:
    lower, upper = draw(st.none() | small), draw(st.none() | small)
    if lower is not None and upper is not None:
        lower, upper = min(lower, upper), max(lower, upper)
    return Ramp(axis, draw(small), draw(slopes), lower, upper)


def same(found: Any, expected: Any, axis: Axis) -> bool:
    shape = (axis.count,)
    return np.array_equal(np.broadcast_to(dense(found), shape), np.broadcast_to(expected, shape))


@given(st.data(), counts, small)
def test_arithmetic(data: Any, count: int, number: int) -> None:
    axis = Axis(count, 0, count, np.int64)
    a, b = data.draw(ramps(axis)), data.draw(ramps(axis))
    if data.draw(st.booleans()):
        b = Ramp(axis, b.base, a.slope, b.least, b.most)
    x, y = a.array(), b.array()
    assert [a.at(i) for i in range(count)] == list(x)
    assert (a.smallest(), a.largest()) == (x.min(), x.max())
    for found, expected in (
        (a + number, x + number),
        (number - a, number - x),
        (a * number, x * number),
        (a + b, x + y),
        (a - b, x - y),
        (a - y, x - y),
        (x - b, x - y),
        (least(a, number), np.minimum(x, number)),
        (greatest(number, a), np.maximum(x, number)),
        (least(a, b), np.minimum(x, y)),
        (greatest(a, b), np.maximum(x, y)),
    ):
        assert same(found, expected, axis)
    if number:
        assert same(a // number, x // number, axis)


@given(st.data(), counts)
def test_spans(data: Any, count: int) -> None:
    axis = Axis(count, 0, count, np.int64)
    ends = [data.draw(st.one_of(small, ramps(axis))) for _ in range(2)]
    if data.draw(st.booleans()) and all(isinstance(end, Ramp) for end in ends):
        ends[1] = Ramp(axis, ends[1].base, ends[0].slope, None, ends[1].most)
        ends[0] = Ramp(axis, ends[0].base, ends[0].slope, ends[0].least)
    if data.draw(st.booleans()):  # a box, clamped
        ends = [greatest(ends[0], data.draw(small)), least(ends[1], data.draw(small))]
    low, high = (np.broadcast_to(dense(end), (count,)) for end in ends)
    extents = np.maximum(high - low + 1, 0)
    found = span(*ends)
    if found is None:
        assert not extents.any()
        return
    where = extents > 0
    times = count // found.iterations
    assert same(found.extent(), extents, axis)
    assert found.sum * times == extents.sum()
    assert found.count * times == where.sum()
    assert found.always is None or (extents == found.always).all()
    assert found.hull() == (low[where].min(), high[where].max())
    assert (found.condition() is None) == bool(where.all())
