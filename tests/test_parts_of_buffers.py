"""Calls that write parts of one buffer, and read other parts of it: what stacks and concatenations become."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_schedules import Chain
from traced import PIECES, jit

import slinky as sl

Array = np.ndarray[Any, Any]


def slopes(a: Any) -> Any:
    """Differences of rows, at the ends of neighbours."""
    return np.concatenate([a[1:2] - a[:1], a[2:] - a[:-2], a[-1:] - a[-2:-1]])


def with_ends(a: Any, b: Any) -> Any:
    """What lies at the edges is what lies beside them, as boundaries of grids are kept."""
    y = a - b
    y[0] = y[1]
    y[-1] = y[-2]
    y[:, 0] = y[:, 1]
    return y


STEPS: dict[str, Callable[..., Any]] = {
    "{a} * 2 + 1": lambda a, b: a * 2 + 1,
    "{a} - {b}": lambda a, b: a - b,
    "rows above": lambda a, b: np.pad(a, ((1, 0), (0, 0)), mode="edge")[:-1] - b,
    "columns on both sides": lambda a, b: np.pad(a, ((0, 0), (1, 1)), mode="wrap")[:, 2:] + a,
    "running sums": lambda a, b: np.cumsum(a, axis=1) % 7,
    "slopes": lambda a, b: slopes(a) - b if a.shape[0] > 2 else a * 3,
    "the same at the ends": lambda a, b: with_ends(a, b) if min(a.shape) > 1 else a + 2,
    "upside down": lambda a, b: a[::-1] + b,
}
JOINS: dict[str, Callable[..., Any]] = {
    "first axis": np.stack,
    "last axis": lambda parts: np.stack(parts, -1),
    "below": np.concatenate,
    "beside": lambda parts: np.concatenate(parts, 1),
}
ENDS: dict[str, Callable[..., Any]] = {
    "largest": lambda joined: joined.max(0),
    "largest of the last": lambda joined: joined.max(-1),
    "differences": lambda joined: joined[1:] - joined[:-1],
    "all": lambda joined: joined * 2,
    "a part": lambda joined: joined[:1] + 1,
    "sorted": lambda joined: np.sort(joined, axis=-1),
}


@st.composite
def functions(draw: st.DrawFn) -> Callable[[Any], Any]:
    """A function that joins parts, some of which are computed of others, and goes on with that, and perhaps one."""
    steps = [
        (draw(st.sampled_from(sorted(STEPS))), draw(st.integers(0, k)), draw(st.integers(0, k)))
        for k in range(draw(st.integers(2, 5)))
    ]
    joined = draw(st.lists(st.integers(1, len(steps)), min_size=2, max_size=4))
    join, end = draw(st.sampled_from(sorted(JOINS))), draw(st.sampled_from(sorted(ENDS)))
    beside = draw(st.none() | st.integers(1, len(steps)))

    def function(x: Any) -> Any:
        values = [x]
        for step, a, b in steps:
            values.append(STEPS[step](values[a], values[b]))
        found = ENDS[end](JOINS[join]([values[k] for k in joined]))
        return found if beside is None else (found, values[beside] + 1)

    return function


def given_shape(seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return rng.integers(-9, 9, (int(rng.integers(1, 24)), int(rng.integers(1, 17)))).astype(np.int32)


def run_like(p: sl.Pipeline, x: Array, want: list[Array], **options: Any) -> None:
    """A pipeline gives what the function gives."""
    got = [np.full_like(each, 77) for each in want]
    p.run(x, *got, **options)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)


APPLIED: Counter[str] = Counter()


@given(functions(), st.integers(0, 2**16), st.integers(1, 12))
@settings(max_examples=settings().max_examples * 2)
def test_random_schedules_of_parts_change_nothing(function: Callable[[Any], Any], seed: int, steps: int) -> None:
    x = given_shape(seed)
    result = function(x)
    want = list(result) if isinstance(result, tuple) else [result]
    p = jit(function).pipeline(x)
    for workers in (1, 2):
        scheduled = sl.auto_schedule(p, x, *want, workers=workers, machine=PIECES)
        run_like(scheduled, x, want, checked=True)
        run_like(scheduled, x, want, threads=workers)
    chain = Chain(p, random.Random(seed).choice, prepares=True)
    for _ in range(steps):
        chain.step()
    APPLIED.update(chain.applied)
    run_like(chain.pipeline, x, want, checked=True)
    run_like(chain.pipeline, x, want)


def parts_that_read_parts() -> sl.Pipeline:
    """`a` is written to the first plane, and read there by `b`, of which the second and the third plane are made."""

    def function(x: Any) -> Any:
        a = np.sqrt(x)
        b = np.cumsum(a, axis=1)
        c = np.cumsum(b, axis=1)
        g = np.stack([a, b, c])
        return g.max(0)

    return jit(function).pipeline(np.ones((9, 9)))


def test_what_reads_another_part_does_not_keep_a_call_out_of_a_loop() -> None:
    p = sl.split_loop(parts_that_read_parts(), "max.y", 4)
    for name in ("g", "c", "b", "a"):
        call = next((c for c in p.find_all("_ = _") if c.name() == name), None)
        if call is not None and not sl.enclosing_loops(p, call):
            p = sl.compute_at(p, call, "for y")
    assert all(sl.enclosing_loops(p, call) for call in p.find_all("_ = _"))
    x = np.random.default_rng(0).random((11, 7))
    want = np.stack([np.sqrt(x), np.cumsum(np.sqrt(x), 1), np.cumsum(np.cumsum(np.sqrt(x), 1), 1)]).max(0)
    for options in ({}, {"checked": True}):
        out = np.empty_like(x)
        p.run(x, out, **options)
        np.testing.assert_array_equal(out, want)


def test_all_are_taken_together_where_parts_read_parts() -> None:
    p, given = parts_that_read_parts(), (np.ones((800, 300)), np.empty((800, 300)))
    q = sl.auto_schedule(p, *given, workers=1, machine=sl.Machine())
    assert all(" along " in decision.computed for decision in sl.explain(q).decisions)
    assert q.memory(*given).program_bytes * 10 < p.memory(*given).program_bytes


def test_first_and_last_rows_are_computed_in_strips_with_the_others() -> None:
    """Of slopes, the ends are computed otherwise: each in one of the strips."""

    def function(x: Any) -> Any:
        down, across = np.gradient(np.sqrt(x))
        return down * down + across * across

    x = np.random.default_rng(0).random((800, 300))
    traced = jit(function)
    p = traced.pipeline(x)
    floats = dict.fromkeys((scalar.name for scalar in p.program.floats), 0.0)
    q = sl.auto_schedule(p, x, np.empty_like(x), workers=1, machine=sl.Machine(), **floats)
    assert all(" along y" in decision.computed for decision in sl.explain(q).decisions)
    for options in ({"machine": PIECES}, {"workers": 2}, {"exact": True}):
        for shape in ((800, 300), (2, 2), (3, 5), (2, 40), (65, 2)):
            part = x[: shape[0], : shape[1]].copy()
            np.testing.assert_array_equal(jit(function, **options)(part), function(part))


def test_rows_at_the_ends_that_are_rows_beside_them_go_with_the_strips() -> None:
    def function(x: Any) -> Any:
        y = x.copy()
        y[1:-1] += x[:-2] - 2 * x[1:-1] + x[2:]
        y[0] = y[1]
        y[-1] = y[-2]
        return y * y

    x = np.random.default_rng(0).integers(-9, 9, (800, 300))
    p, want = jit(function).pipeline(x), function(x)
    q = sl.auto_schedule(p, x, want, workers=1, machine=sl.Machine())
    assert q.memory(x, want).program_bytes * 5 < p.memory(x, want).program_bytes
    for shape in ((800, 300), (3, 2), (4, 1), (65, 3)):
        part = x[: shape[0], : shape[1]].copy()
        run_like(q, part, [function(part)], checked=True)
        run_like(q, part, [function(part)])


def test_one_part_is_taken_alone_where_another_is_read_elsewhere() -> None:
    """Sums down the columns need all of the first plane; of the second, no more than strips are computed at a time."""

    def function(x: Any) -> Any:
        first = np.sqrt(x)
        second = first * 2 - 1
        return np.stack([first, second]).max(0), np.cumsum(first, axis=0)

    x = np.random.default_rng(0).random((800, 300))
    p, want = jit(function).pipeline(x), list(function(x))
    q = sl.auto_schedule(p, x, *want, workers=1, machine=sl.Machine())
    assert any("second" in d.func and " along y" in d.computed for d in sl.explain(q).decisions)
    run_like(q, x, want)


def _first_negative(rows: Array, out: Array) -> None:
    np.negative(rows[0], out=out)


def upper_and_lower(row: Callable[[Any], Any]) -> sl.Pipeline:
    """Rows below each other, of which a row, told by how many there are above, is read before all of them are."""
    y, x = sl.variables("y x")
    inp, both, out = (sl.BufferExpr(name, np.int32, 2) for name in ("inp", "both", "out"))
    upper, lower, seen = (sl.BufferExpr(n, np.int32, d) for n, d in (("upper", 2), ("lower", 2), ("seen", 1)))
    for half in (upper, lower):
        for d in range(2):
            half.dim(d).domain = inp.dim(d).bounds
    sl.Func(np.negative, [inp[y, x]], [upper[y, x]], name="above")
    sl.Func(np.square, [inp[y, x]], [lower[y, x]], name="below")
    sl.copies.concatenate([upper, lower], both)
    sl.Func(_first_negative, [both[row(inp.dim(0).max + 1), x]], [seen[x]], name="see")
    sl.Func(np.negative, [both[y, x]], [out[y, x]], name="all")
    p = sl.build_pipeline([inp], [seen, out], require=[sl.equal(inp.dim(0).min, 0), sl.equal(inp.dim(1).min, 0)])
    return sl.split_loop(p, "all.y", 2)


@pytest.mark.parametrize("row", [lambda n: n, lambda n: n + 1, lambda n: 2 * n - 1], ids=["first", "second", "last"])
def test_a_row_below_is_not_one_above(row: Callable[[Any], Any]) -> None:
    p = upper_and_lower(row)
    q = sl.compute_at(p, "above", "for y")
    x = np.random.default_rng(0).integers(-9, 9, (5, 4)).astype(np.int32)
    for each in (p, q):
        seen, out = np.zeros(4, np.int32), np.zeros((10, 4), np.int32)
        each.run(x, seen, out, checked=True)
        np.testing.assert_array_equal(out, -np.concatenate([-x, x * x]))
        np.testing.assert_array_equal(seen, -(x * x)[row(5) - 5])


@pytest.mark.parametrize("row", [lambda n: n - 1, lambda n: 0 * n, lambda n: n + sl.scalar("count"), lambda n: sl.interval(n - 1, n)], ids=["last above", "first", "some", "two"])  # fmt: skip  # noqa: E501
def test_what_may_be_a_row_above_is_read_outside(row: Callable[[Any], Any]) -> None:
    with pytest.raises(sl.SchedulingError, match="see reads it outside loop y"):
        sl.compute_at(upper_and_lower(row), "above", "for y")
