"""Automatic schedules of arrays that go on beyond their edges: copies are made for the first and last strips alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler

import slinky as sl

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]
LAPTOP = sl.Machine()


def weighted(rows: Array, others: Array, out: Array) -> None:
    """The difference of rows and those two before, and of others."""
    np.subtract(rows[2:], rows[:-2], out=out)
    out += others[1:] - others[:-1]


def differences(mode: str, dims: list[int], constant: bool = False) -> sl.Pipeline:
    """Rows before and behind each one, of two images that go on beyond their edges along some dimensions."""
    a, b, out = (sl.BufferExpr(name, np.float64, 2) for name in ("a", "b", "out"))
    rows = a.extended(mode, dims=dims)[sl.interval(y - 1, y + 1), x]
    others = b.extended(mode, dims=dims)[sl.interval(y - 1, y), x]
    sl.Func(weighted, [rows, others], [out[y, x]], name="weighted")
    for d in range(2):
        out.dim(d).bounds = a.dim(d).bounds
    return sl.build_pipeline([a, b], [out])


def images(*shape: int) -> tuple[Array, Array, Array]:
    random = np.random.default_rng(sum(shape))
    return random.random(shape), random.random(shape), np.empty(shape)


def scheduled(p: sl.Pipeline, workers: int = 1) -> sl.Pipeline:
    found: sl.Pipeline = sl.auto_schedule(p, *images(2000, 800), workers=workers, machine=LAPTOP)
    return found


@pytest.mark.parametrize("mode", ["wrap", "nearest", "reflect", "mirror"])
@pytest.mark.parametrize("workers", [1, 2])
def test_strips_in_the_middle_read_the_arguments(mode: str, workers: int) -> None:
    """Most strips read the images as they are, for arrays of any size; the first and the last one copies."""
    p = differences(mode, [0])
    q = scheduled(p, workers)
    calls = [call for call in q.find_all("_ = _") if call.name() == "weighted"]
    assert [call for call in calls if set(call.inputs()) == {"a", "b"}]
    assert len(calls) > 1
    for shape in ((2000, 30), (70, 5), (3, 4), (2, 2), (1, 1) if mode != "mirror" else (2, 1)):
        a, b, out = images(*shape)
        p(a, b, out)
        for options in ({}, {"checked": True}, {"threads": 3}):
            got = np.full_like(out, np.nan)
            q.run(a, b, got, **options)
            np.testing.assert_array_equal(got, out)


def test_what_goes_on_along_rows_is_copied_in_all_strips() -> None:
    """Where each strip reads beyond an edge, copies are made once for each row, and kept in a window."""
    q = scheduled(differences("wrap", [0, 1]))
    assert len(q.find_all("for _")) == 1
    told = {each.func: each.stored for each in sl.explain(q).decisions}
    assert told["wrap"].startswith("a window of")


def test_explained() -> None:
    """What is said of such copies."""
    told = {
        each.func: (each.computed, each.reason) for each in sl.explain(scheduled(differences("wrap", [0]))).decisions
    }
    computed, reason = told["wrap"]
    assert computed.endswith("along y, at the ends")
    assert reason == "the others read its argument"


def test_windows_slide_on_where_the_argument_is_read() -> None:
    """The loop is cut, too, where what reads the copy is kept in a window."""
    a, soft, out = (sl.BufferExpr(name, np.float64, 2) for name in ("a", "soft", "out"))
    rows = a.extended("nearest", dims=[0])[sl.interval(y - 1, y + 1), x]
    sl.Func(lambda rows, out: np.subtract(rows[2:], rows[:-2], out=out), [rows], [soft[y, x]], name="soften")
    after = soft[sl.interval(y - 1, y + 1), x]
    sl.Func(lambda rows, out: np.subtract(rows[2:], rows[:-2], out=out), [after], [out[y, x]], name="again")
    p = sl.build_pipeline([a], [out])
    given, _, wide = images(2000, 800)
    q = sl.auto_schedule(p, given, wide, workers=1, machine=LAPTOP)
    assert len(q.find_all("for _")) == 3
    assert {each.func: each.stored for each in sl.explain(q).decisions}["soften"].startswith("a window of")
    for count in (2000, 100, 7):
        values, _, result = images(count, 9)
        p(values, result)
        got = np.full_like(result, np.nan)
        q(values, got)
        np.testing.assert_array_equal(got, result)


def test_where_loops_cannot_be_cut_copies_slide(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refused leaves the schedule as it is without: copies once for each row, kept in a window."""

    def refused(*_: object, **__: object) -> None:
        raise sl.SchedulingError("no")

    monkeypatch.setattr(sl, "split_boundary", refused)
    q = scheduled(differences("wrap", [0]))
    assert len(q.find_all("for _")) == 1
    assert {each.func: each.stored for each in sl.explain(q).decisions}["wrap"].startswith("a window of")


# In C -----------------------------------------------------------------------------------------------------------------


def slopes(mode: str, dims: list[int]) -> sl.Pipeline:
    """Differences of neighbours of two images that go on beyond their edges along some dimensions, as arithmetic."""
    a, b, out = (sl.BufferExpr(name, np.float64, 2) for name in ("a", "b", "out"))
    first, second = (each.extended(mode, dims=dims) for each in (a, b))
    rows = first[y + 1, x] - first[y - 1, x] if 0 in dims else first[y, x + 2]
    sl.arithmetic(rows * (second[y, x + 2] - second[y, x - 1]) + first[y, x], out[y, x], name="slopes")
    for d in range(2):
        out.dim(d).bounds = a.dim(d).bounds
    return sl.build_pipeline([a, b], [out], require=[sl.same_shape(a, b)])


SHAPES = ((2000, 30), (70, 5), (3, 4), (4, 3), (3, 3), (9, 200))
"""At least as long as is read beyond an edge."""


@needs_compiler
@pytest.mark.parametrize("dims", [[0, 1], [1]], ids=str)
@pytest.mark.parametrize("mode", ["wrap", "nearest", "reflect", "mirror", "constant"])
@pytest.mark.parametrize("workers", [1, 2])
def test_in_c_rows_are_cut_at_their_ends(mode: str, dims: list[int], workers: int) -> None:
    """Most of each row reads the images as they are, and nothing computes nothing; copies are made for its ends."""
    p = slopes(mode, dims)
    q = sl.auto_schedule(p, *images(2000, 800), workers=workers, machine=LAPTOP, backend="native")
    told = {each.func: each.computed for each in sl.explain(q).decisions}
    assert all(told[name].endswith("at the ends") for name in told if name != "slopes")
    calls = [call for call in q.find_all("_ = _") if call.name() == "slopes"]
    steady = next(call for call in calls if set(call.inputs()) == {"a", "b"})
    (loop,) = sl.enclosing_loops(q, steady)[-1:]
    assert sum(loop.is_ancestor_of(call) for call in calls) == 3  # one at each end of the rows
    for shape in SHAPES:
        a, b, out = images(*shape)
        p(a, b, out)
        for options in ({}, {"checked": True}, {"threads": 3}, {"backend": "native"}):
            got = np.full_like(out, np.nan)
            q.run(a, b, got, **options)
            np.testing.assert_array_equal(got, out)


@needs_compiler
def test_rows_that_go_on_by_callbacks_are_copied() -> None:
    """What Python calls is called as seldom as before."""
    q = sl.auto_schedule(differences("wrap", [0, 1]), *images(2000, 800), workers=1, machine=LAPTOP, backend="native")
    told = {each.func: each.stored for each in sl.explain(q).decisions}
    assert told["wrap"].startswith("a window of")
