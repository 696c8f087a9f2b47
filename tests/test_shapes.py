"""Sizes that are assumed: what is simplified by them, and what is refused when a pipeline runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scheduled import refused

import slinky as sl

x, y = sl.variables("x y")


def picture() -> sl.Pipeline:
    """Sums of three rows of what is turned around."""
    a, t, out = (sl.BufferExpr(name, np.int64, 2) for name in ("a", "t", "out"))
    sl.Func(np.negative, [a[y, x]], [t[y, x]], name="turn")
    sl.Func(
        lambda s, o: np.copyto(o, s[:-2] + s[1:-1] + s[2:]), [t[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="add"
    )
    return sl.build_pipeline([a], [out])


def run(p: sl.Pipeline, shape: tuple[int, int], min_: tuple[int, int] = (0, 0), **how: Any) -> sl.RunStatistics:
    """It gives the sums for an output of this shape; its statistics."""
    data = np.arange((shape[0] + 2) * shape[1]).reshape(shape[0] + 2, shape[1]) ** 2
    out = np.zeros(shape, np.int64)
    statistics = p.run(sl.Buffer(data, min=(min_[0] - 1, min_[1])), sl.Buffer(out, min=min_), **how)
    np.testing.assert_array_equal(out, -(data[:-2] + data[1:-1] + data[2:]))
    return statistics


def test_extents() -> None:
    p = sl.split_loop(picture(), "add.y", 4)
    q = sl.assume_shape(p, out=(12, None))
    assert str(q).splitlines()[5:] == [
        "  check out.y.max == out.y.min + 11",
        "  alloc t: int64[out.y.min - 1 .. out.y.min + 12, out.x.min..out.x.max]",
        "  t[:, :] = turn(a[:, :])",
        "  for y in out.y.min .. out.y.min + 11 step 4:",
        "    out[y .. y + 3, :] = add(t[y - 1 .. y + 4, :])",
    ]
    for how in ({}, {"checked": True}, {"backend": "interpreter"}):
        for min_ in [(0, 0), (-7, 3)]:
            for columns in (0, 1, 5):
                run(q, (12, columns), min_, **how)
    r, (block,) = sl.unroll_loop(q, "for y", rc=True)
    assert [str(c.bounds("y").min - block[0].bounds("y").min) for c in block] == ["0", "4", "8"]
    run(r, (12, 5), (3, 3), checked=True)


def test_intervals() -> None:
    p = sl.assume_shape(picture(), out=(sl.interval(0, 6), sl.interval(-2, 1)))
    assert "  alloc t: int64[-1..7, -2..1]" in str(p)
    run(p, (7, 4), (0, -2), checked=True)
    data = np.arange(100).reshape(10, 10)
    out = p(sl.Buffer(data, min=(-1, -2)))
    assert out.shape == (7, 4)


def test_the_size_of_an_input() -> None:
    """An output that is not given follows from it, and nothing else does."""
    p = sl.assume_shape(picture(), a=(10, 4))
    out = p(np.zeros((10, 4), np.int64))
    assert out.shape == (8, 4)
    with pytest.raises(sl.CheckFailedError, match=r"a.y has the extent 10, as was assumed"):
        p(np.zeros((11, 4), np.int64))


def test_other_sizes_are_refused_before_anything_runs() -> None:
    calls = []
    a, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "out"))
    sl.Func(lambda s, o: calls.append(1), [a[x]], [out[x]], name="f")
    p = sl.assume_shape(sl.build_pipeline([a], [out]), out=(5,))
    p(np.zeros(9, np.int64), np.zeros(5, np.int64))
    assert len(calls) == 1
    for n in (0, 4, 6):
        with pytest.raises(sl.CheckFailedError) as caught:
            p(np.zeros(9, np.int64), np.zeros(n, np.int64))
        assert str(caught.value) == (
            f"pipeline f requires out.x.max == out.x.min + 4, got out.x.max = {n - 1}, out.x.min = 0 "
            f"(out.x has the extent 5, as was assumed)"
        )
    assert len(calls) == 1


def test_an_extent_of_a_scalar() -> None:
    n = sl.scalar("n")
    p = sl.assume_shape(sl.split_loop(picture(), "add.y", 1), out=(4 * n, None))
    for k in (0, 1, 2):
        run(p, (4 * k, 3), (-1, 2), checked=True, n=k)
    with pytest.raises(sl.CheckFailedError, match="as was assumed"):
        run(p, (5, 3), (-1, 2), n=1)


def test_no_rows_at_all() -> None:
    p = sl.assume_shape(sl.split_loop(picture(), "add.y", 4), out=(0, None))
    assert "for" not in str(p)
    p.verify()  # nothing writes the output, of which there is nothing
    for how in ({}, {"checked": True}, {"backend": "interpreter"}):
        run(p, (0, 3), **how)


def test_schedules_go_on() -> None:
    """What is proved later rests on the sizes: pieces come out even, and windows slide and fold as ever."""
    p, (loop, *_) = sl.split_loop(picture(), "add.y", 1, rc=True)
    with pytest.raises(sl.SchedulingError, match="come out even"):
        sl.split_loop(p, loop, 5, tail="perfect")
    q = sl.assume_shape(p, out=(15, 8))
    q, (tile, inner, _) = sl.split_loop(q, loop, 5, tail="perfect", rc=True)
    q, at = sl.compute_at(q, "turn", inner, rc=True)
    q = sl.slide_window(sl.store_at(q, at.alloc, tile), at.call, inner, warmup="first")
    q = sl.fold_storage(q, at.alloc, "y")
    assert run(q, (15, 8), (-2, 7), checked=True).program_bytes == 3 * 8 * 8


def test_twice() -> None:
    p = sl.assume_shape(picture(), out=(12, None))
    assert str(sl.assume_shape(p, out=(12, 7))) == str(sl.assume_shape(picture(), out=(12, 7)))
    assert sl.assume_shape(p, out=(12, None)).same_program(p)
    q = sl.assume_shape(p, out=(sl.interval(3, 14), None))
    run(q, (12, 3), (3, 0), checked=True)
    error = refused(lambda: sl.assume_shape(p, out=(13, None)))
    assert error.reason == "out.y cannot have the extent 13: the checks exclude it"
    error = refused(lambda: sl.assume_shape(q, out=(sl.interval(4, 15), None)))
    assert error.reason == "out.y cannot have the coordinates 4..15: the checks exclude it"


def test_what_keeps_its_identity() -> None:
    p = sl.split_loop(picture(), "add.y", 4)
    places = [p.find("for y"), p.find("turn"), p.find("alloc t"), p.find("add")]
    q, record = sl.assume_shape(p, out=(12, 5), rc=True)
    assert [q.forward(c) for c in places] == [q.find("for y"), q.find("turn"), q.find("alloc t"), q.find("add")]
    assert record.fields() == ()


def test_the_history_has_it() -> None:
    p = picture()
    q = sl.assume_shape(p, out=(sl.interval(0, 7), sl.scalar("n")), a=[None, 9])
    line = str(q.history()).splitlines()[-1]
    assert line == 'p = sl.assume_shape(p, out=(sl.interval(0, 7), sl.scalar("n")), a=[None, 9])'
    assert eval(line.removeprefix("p = "), {"sl": sl, "p": p}).same_program(q)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({}, "sizes are given by name"),
        ({"t": (3, 3)}, "'t' is no input and no output; there are a, out"),
        ({"out": (3,)}, r"the size of out is a tuple with an entry for each of its 2 dimensions \(y, x\), got \(3,\)"),
        ({"out": 3}, "the size of out is a tuple"),
        ({"out": (-1, 3)}, "the size of out.y must not be less than 0, got -1"),
        ({"out": (sl.interval(4, 2), 3)}, r"the size of out.y must not be less than 0, got 4\.\.2"),
        ({"out": ("3", 3)}, "the size of out.y is an extent, an interval or None: "),
        ({"out": (2.5, 3)}, "the size of out.y is an extent, an interval or None: "),
        ({"out": (x, 3)}, "the size of out.y names x, which is no scalar and no enclosing loop"),
    ],
)
def test_sizes_that_are_none(sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(sl.OperationError, match=message):
        sl.assume_shape(picture(), **sizes)
