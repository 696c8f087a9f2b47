"""What a plan does early must be safe where it is done: in a loop or branch that never runs, anything can be shown."""

from __future__ import annotations

import itertools
from typing import Any

import attrs
import numpy as np
import pytest
from handmade import mode
from test_plan_limits import in_every_way, with_a_block
from test_plan_properties import ring_wherever_possible

import slinky as sl
from slinky.ir.statements import SERIAL, Alloc, Block, Call, For, If
from slinky.runtime import arena, storage
from slinky.symbolic.expressions import all_of, as_expr, maximum, variable
from slinky.symbolic.intervals import Interval

n, m = sl.scalar("n"), sl.scalar("m")
v = variable("v")


def middle(source: np.ndarray, target: np.ndarray) -> None:
    """The middle row of three."""
    target[...] = source[1:-1]


def split_twice(outer: int, inner: int, warmup: str, cuts: tuple[int | None, int | None]) -> sl.Pipeline:
    """Two stencils; the first slides in the inner of two loops, which are cut so far behind their beginnings."""
    y, x = sl.variables("y x")
    inp, between, out = (sl.BufferExpr(name, np.int64, 2) for name in ("inp", "between", "out"))
    for k, (source, target) in enumerate(((inp, between), (between, out))):
        sl.Func(middle, [source[sl.interval(y - 1, y + 1), x]], [target[y, x]], name=f"f{k}")
    p, (rows, _, _) = sl.split_loop(sl.build_pipeline([inp], [out]), "f1.y", outer, rc=True)
    p, (inner_rows, _, _) = sl.split_loop(p, "f1.y", inner, rc=True)
    p = sl.compute_at(sl.compute_at(p, "f0", rows), "f0", inner_rows)
    p = sl.slide_window(p, "f0", inner_rows, warmup=warmup)
    p = sl.fold_storage(p, "between", "y")
    for pattern, at in zip(("for y", "for y_1"), cuts, strict=True):
        if at is not None:
            loop = p.find_all(pattern)[0]
            p = sl.cut_loop(p, loop, loop.bounds().min + at)
    return p


@pytest.mark.sweep(2)
@pytest.mark.parametrize("inner", [1, 3])
@pytest.mark.parametrize("cuts", list(itertools.product((None, 0), (None, 3))))
@pytest.mark.parametrize("warmup", ["first", "earlier"])
def test_windows_of_loops_that_never_run(
    inner: int, cuts: tuple[int | None, int | None], warmup: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `cut_loop(inner, min + 3)` nothing is left for the second loop, and its regions have any length."""
    monkeypatch.setattr(storage, "ring_size", ring_wherever_possible)
    monkeypatch.setattr(arena, "ring_size", ring_wherever_possible)
    try:
        p = split_twice(3, inner, warmup, cuts)
    except sl.SchedulingError:
        pytest.skip("there is no such schedule")
    for height in (1, 2, 3, 4, 7, 15):
        source = sl.Buffer(np.arange((height + 6) * 64).reshape(height + 6, 64), min=(-3, 0))
        result = np.zeros((height, 64), np.int64)
        p(source, result)
        np.testing.assert_array_equal(result, source.array[3:-3])


HUGE = 1 << 62


@pytest.mark.sweep(2)
@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("fold", [None, 3, HUGE // 2])
@pytest.mark.parametrize("extent", [1 << 44, HUGE, 3 * HUGE])
def test_a_loop_that_never_runs_takes_no_memory(extent: int, fold: int | None, workers: int | None) -> None:
    """However much its body would take, and however it is stored."""

    def loop(t: Alloc, call: Call) -> Block:
        folds = (None if fold is None else as_expr(fold),)
        t = attrs.evolve(t, box=(Interval(as_expr(0), n),), folds=folds)
        body = (t, attrs.evolve(call, box=(Interval(as_expr(0), as_expr(0)),)))
        inner = For(variable("w"), Interval(v, v + m), as_expr(1), SERIAL, body)
        return (For(v, Interval(as_expr(1), as_expr(2)), as_expr(1), mode(workers), (inner,)),)

    p = with_a_block(loop, all_of(n >= 1, m <= 5))
    in_every_way(p, n=extent, m=-1)
    if workers is None and fold != HUGE // 2:
        in_every_way(p, n=70, m=0)


@pytest.mark.parametrize("fold", [None, 3])
def test_a_loop_in_a_branch_that_never_runs_takes_no_memory(fold: int | None) -> None:
    def branch(t: Alloc, call: Call) -> Block:
        folds = (None if fold is None else as_expr(fold),)
        t = attrs.evolve(t, box=(Interval(as_expr(0), n * n),), folds=folds)
        body = (t, attrs.evolve(call, box=(Interval(as_expr(0), as_expr(0)),)))
        return (If(n >= 3, (For(v, Interval(as_expr(0), m), as_expr(1), SERIAL, body),)),)

    p = with_a_block(branch, all_of(n >= 1, m <= 5))
    for value in (1, 5, 70, HUGE):
        in_every_way(p, n=value, m=-1)


@pytest.mark.parametrize("fold", [None, 3])
def test_memory_that_cannot_be_had_is_an_error_once_it_is_needed(fold: int | None) -> None:
    def loop(t: Alloc, call: Call) -> Block:
        folds = (None if fold is None else as_expr(n),)
        t = attrs.evolve(t, box=(Interval(as_expr(0), 2 * n),), folds=folds)
        body = (t, attrs.evolve(call, box=(Interval(as_expr(0), as_expr(0)),)))
        return (For(v, Interval(as_expr(0), m), as_expr(1), SERIAL, body),)

    p = with_a_block(loop, all_of(n >= 0, m <= 5))
    source = np.arange(10.0)
    arguments: dict[str, Any] = {"n": HUGE, "m": 3}
    for backend in ("python", "interpreter"):
        with pytest.raises((MemoryError, ValueError, OverflowError, OSError)):
            p.run(source, np.zeros(10), backend=backend, **arguments)
    with pytest.raises((MemoryError, ValueError, OverflowError, OSError)):
        p(source, np.zeros(10), **arguments)
    in_every_way(p, n=3, m=2)


@pytest.mark.parametrize("step", [1, 2])
def test_a_steady_state_is_not_looked_for_where_that_may_divide_by_zero(step: int) -> None:
    """The loop that would divide by zero never runs."""

    def loop(t: Alloc, call: Call) -> Block:
        last = as_expr(9)
        t = attrs.evolve(t, box=(Interval(as_expr(0), last),))
        body = (t, attrs.evolve(call, box=(Interval(maximum(v, 5 // n), last),)))
        return (For(v, Interval(as_expr(0), m), as_expr(step), SERIAL, body),)

    p = with_a_block(loop, all_of(n <= 5, m <= 5))
    in_every_way(p, n=2, m=4)
    in_every_way(p, n=0, m=-1)


def test_a_division_by_a_first_coordinate_runs_where_that_is_not_zero() -> None:
    (i,) = sl.variables("i")
    a, b = (sl.BufferExpr(name, np.float64, 1) for name in "ab")
    sl.Func(np.negative, [a[i]], [b[i]], name="f")
    first = b.dim(0).min
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([a], [b]), "f.i", 2, rc=True)
    with pytest.raises(sl.SchedulingError, match="not shown that what the place to cut divides by is 1 or more"):
        sl.cut_loop(p, loop, b.dim(0).max // first)
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([a], [b], require=[first >= 1]), "f.i", 2, rc=True)
    p = sl.cut_loop(p, loop, b.dim(0).max // first)
    source, result = sl.Buffer(np.arange(9.0), min=(2,)), sl.Buffer(np.zeros(9), min=(2,))
    p(source, result)
    np.testing.assert_array_equal(result.array, -np.arange(9.0))
    for run in (p, lambda *arrays: p.run(*arrays, backend="interpreter")):
        with pytest.raises(sl.CheckFailedError, match=r"requires 1 <= b\.i\.min"):
            run(np.arange(9.0), np.zeros(9))
