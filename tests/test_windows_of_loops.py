"""Loops take the windows of folded buffers from iterators: in steady state nothing is called for them."""

from __future__ import annotations

import gc
import sys
from typing import Any

import attrs
import numpy as np
import pytest
from handmade import alloc, at, calls_of, out_x, out_y, over, picture, row, stencil, wide_x, with_body

import slinky as sl
from slinky.ir.statements import SERIAL, Alloc, Call, For, Statement
from slinky.runtime import arena, mirrored, storage
from slinky.runtime.storage import onward
from slinky.symbolic.expressions import Expr, as_expr
from slinky.symbolic.intervals import Interval

needs_mirror = pytest.mark.skipif(not mirrored.available(), reason="this platform cannot map memory twice")


def chain(stages: int, rows: int) -> sl.Pipeline:
    y, x = sl.variables("y x")
    buffers = [sl.BufferExpr(f"b{n}", np.int64, 2) for n in range(stages + 1)]
    for n in range(stages):
        window = buffers[n][sl.interval(y - 1, y + 1), x]
        sl.Func(lambda a, b: np.add(a[:-2], a[2:], out=b), [window], [buffers[n + 1][y, x]], name=f"f{n}")
    return sl.line_buffer(sl.build_pipeline([buffers[0]], [buffers[-1]]), f"f{stages - 1}", "y", rows)


PLACES = (storage.__file__, arena.__file__)


def calls_for_rows(run: Any) -> int:
    """How often a run calls a function of those that know where rows are."""
    count = 0

    def note(frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event == "call" and frame.f_code.co_filename in PLACES

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


@needs_mirror
@pytest.mark.parametrize("width", [100, 3073])
@pytest.mark.parametrize("stages", [2, 4])
def test_a_steady_state_calls_nothing_but_callbacks(stages: int, width: int) -> None:
    """Also where rows are as long as 24,584 bytes, whose multiples would begin at thousands of places in a ring."""
    p = chain(stages, 1)
    calls = []
    for height in (300, 400):
        source = np.random.default_rng(0).integers(0, 9, (height + 2 * stages, width))
        out = sl.Buffer(np.zeros((height, width), np.int64), min=(stages, 0))
        run = p.bind(source, out)
        run()
        calls.append(calls_for_rows(run))
        expected = source
        for _ in range(stages):
            expected = expected[:-2] + expected[2:]
        np.testing.assert_array_equal(out.array, expected)
    assert calls[0] == calls[1] > 0  # as many as the loops ask for before they begin


@pytest.mark.sweep(2)
@pytest.mark.parametrize("starts", [1, 4, 6])
@pytest.mark.parametrize("step", [1, 2, 3, 7, -1])
@pytest.mark.parametrize("first", [0, 5, -3])
def test_the_windows_of_a_loop_are_those_that_are_asked_for_one_by_one(starts: int, step: int, first: int) -> None:
    asked: list[tuple[int, int]] = []

    def window(at: int, count: int) -> Any:
        asked.append((at, count))
        return at % starts, count

    windows = onward(window, 3, starts)
    for _ in range(2):
        given = [view for view, _ in zip(windows(first, 3, step), range(20), strict=False)]
        assert given == [((first + n * step) % starts, 3) for n in range(20)]
    assert len(asked) <= starts
    further = windows(first, 3, step + 1)
    assert [next(further) for _ in range(20)] == [((first + n * (step + 1)) % starts, 3) for n in range(20)]
    by_one = onward(window, 3)(first, 3, step)
    assert [next(by_one) for _ in range(20)] == given


def test_windows_of_a_loop_that_never_runs_need_not_exist() -> None:
    def refuse(_first: int, count: int) -> Any:
        raise ValueError(f"no window has {count} rows")

    for count in (-2, 4):
        for starts in (4, None):
            windows = onward(refuse, 3, starts)(0, count)
            assert list(zip(range(0), windows, strict=False)) == []
            with pytest.raises(ValueError, match=f"no window has {count} rows"):
                next(windows)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("tile", [5, 16])
def test_loops_in_loops_begin_where_their_tile_does(rows: int, tile: int) -> None:
    """In each tile the windows begin anew; also in bound runs, which do what comes before all loops but once."""
    y, x = sl.variables("y x")
    a, t, b = (sl.BufferExpr(name, np.int64, 2) for name in "atb")
    sl.Func(np.negative, [a[y, x]], [t[y, x]], name="negate")
    window = t[sl.interval(y - 1, y + 1), x]
    sl.Func(lambda s, o: np.add(s[:-2], s[2:], out=o), [window], [b[y, x]], name="sums")
    p = sl.build_pipeline([a], [b])
    p, (tiles, _, _) = sl.split_loop(p, "sums.y", tile, rc=True)
    p, (loop, _, _) = sl.split_loop(p, "sums.y", rows, rc=True)
    p, at = sl.compute_at(p, "negate", loop, rc=True)
    p = sl.store_at(p, at.alloc, tiles)
    p = sl.slide_window(p, at.call, loop)
    p = sl.fold_storage(p, at.alloc, "y")
    source = np.random.default_rng(0).integers(0, 9, (103, 600))
    out = sl.Buffer(np.zeros((101, 600), np.int64), min=(1, 0))
    run = p.bind(source, out)
    for _ in range(3):
        out.array[...] = 0
        run()
        np.testing.assert_array_equal(out.array, -source[:-2] - source[2:])


def remade(reach: int, last: Expr) -> tuple[Alloc, tuple[Call, Call]]:
    """By hand: a fold of three rows as far as the last, and the calls of a row: what it reads is made, and more."""
    program = stencil().program
    calls = calls_of(program)
    folded = attrs.evolve(alloc(program), box=(Interval(out_y.min - 1, last), wide_x), folds=(as_expr(3), None))
    return folded, (
        over(calls["add"], (at(row - 1, row + reach), wide_x)),
        over(calls["stencil"], (at(row), out_x)),
    )


def for_each_row(*body: Statement) -> For:
    return For(row, out_y, as_expr(1), SERIAL, body)


def test_a_buffer_of_the_loop_itself_gives_its_windows_there() -> None:
    """Its bounds are others in each iteration: what a loop takes along has to be there before the first."""
    folded, calls = remade(1, row + 1)
    p = with_body(stencil().program, [for_each_row(folded, *calls)])
    inp, out, right = picture(60, 600)
    p(inp, out)
    np.testing.assert_array_equal(out, right)
    assert "onward" not in p.to_python()


def test_windows_that_change_their_length_are_asked_for_one_by_one() -> None:
    """In every other row one is longer."""
    folded, (made, read) = remade(1, out_y.max + 1)
    again = over(made, (at(row - 1, row + row % 2), wide_x))
    p = with_body(stencil().program, [folded, for_each_row(made, again, read)])
    inp, out, right = picture(60, 600)
    p(inp, out)
    np.testing.assert_array_equal(out, right)


@pytest.mark.parametrize("backend", ["python", "interpreter"])
@pytest.mark.parametrize("reach", [3, 40])
def test_windows_that_no_ring_holds_are_refused_where_they_are_used(reach: int, backend: str) -> None:
    """The rows of a loop by hand are more than the fold: no loop asks for such windows before something says so."""
    folded, calls = remade(reach, out_y.max + reach)
    p = with_body(stencil().program, [folded, for_each_row(*calls)])
    source = sl.Buffer(np.zeros((100, 602), np.int64), min=(-1, -1))
    with pytest.raises(sl.ExecutionError, match=r"^intm\[-1\.\..* is longer than its fold of [34]"):
        p.run(source, np.zeros((50, 600), np.int64), backend=backend)
    p.run(source, np.zeros((0, 600), np.int64), backend=backend)


@needs_mirror
def test_the_memory_of_windows_goes_when_nobody_needs_it() -> None:
    """At once, as all memory: what knows each other in a circle would wait for the collector."""
    p = chain(2, 1)
    source, out = np.zeros((304, 3000), np.int64), sl.Buffer(np.zeros((300, 3000), np.int64), min=(2, 0))
    gc.collect()
    gc.disable()
    try:
        before = mirrored.rings()
        p(source, out)
        assert len(mirrored.rings()) > len(before)
        p.compile().release()
        assert mirrored.rings() == before
    finally:
        gc.enable()
