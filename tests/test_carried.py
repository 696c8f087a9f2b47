"""Folds that carry nothing from one iteration to the next are plain arrays in plans; all others stay rings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scheduled import picture, stencils

import slinky as sl
from slinky.runtime import mirrored, storage

Array = np.ndarray[Any, Any]


def negate(*arrays: Array) -> None:
    """The opposite of the sum of what is read."""
    *sources, target = arrays
    np.negative(sum(sources), out=target)


def chain(rows: int, count: int = 3) -> sl.Pipeline:
    """Funcs f0, f1, ... by rows; what is between is folded."""
    y, x = sl.variables("y x")
    buffers = [sl.BufferExpr(f"b{n}", np.int16, 2) for n in range(count + 1)]
    for n in range(count):
        sl.Func(negate, [buffers[n][y, x]], [buffers[n + 1][y, x]], name=f"f{n}")
    p = sl.build_pipeline([buffers[0]], [buffers[-1]])
    return sl.line_buffer(p, f"f{count - 1}", "y", rows)


def is_plain(p: sl.Pipeline) -> bool:
    """Whether the plan asks for no windows, of a program that has folds."""
    assert " fold " in str(p)
    return "window" not in p.to_python()


def agree(p: sl.Pipeline, whole: sl.Pipeline, margin: int = 0, **scalars: int) -> None:
    """Called, bound, counted and checked, it gives what the whole gives."""
    for height, width, origin in ((1, 1, (0, 0)), (7, 5, (-3, 2)), (64, 300, (0, 0)), (33, 700, (5, -9))):
        image, out = picture(height, width, margin, origin)
        expected = sl.Buffer(np.zeros_like(out.array), min=out.min)
        whole(image, expected)
        bound = p.bind(image, out, **scalars)
        for run in (
            lambda: p(image, out, **scalars),  # noqa: B023
            bound,
            bound,
            lambda: p.run(image, out, **scalars),  # noqa: B023
            lambda: p.run(image, out, checked=True, **scalars),  # noqa: B023
        ):
            out.array.fill(77)
            run()
            np.testing.assert_array_equal(out.array, expected.array)


@pytest.mark.parametrize("rows", [1, 2, 3, 8])
def test_the_plan_is_that_of_buffers_stored_in_the_loop(rows: int) -> None:
    p, whole = chain(rows), chain(1)
    assert is_plain(p)
    agree(p, whole)
    q = p
    for name in ("b1", "b2"):
        q = sl.store_at(sl.unfold_storage(q, f"alloc {name}", "y"), f"alloc {name}", "for y")
    _, _, loop = p.to_python().partition("    for y in")
    _, _, expected = q.to_python().partition("    for y in")
    assert sorted(loop.splitlines()) == sorted(expected.splitlines())


@pytest.mark.parametrize("rows", [2, 5])
def test_where_memory_is_not_mapped_twice_it_takes_no_more(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirrored, "available", lambda: False)
    monkeypatch.setattr(storage, "_warned", False)
    image, out = picture(64, 300, 0)
    chain(rows, 3)(image, out)
    np.testing.assert_array_equal(out.array, -image.array)  # and no warning: it would be an error


def windows(rows: int) -> sl.Pipeline:
    return sl.line_buffer(stencils(2), "s2", "y", rows)


def mixed(rows: int) -> sl.Pipeline:
    """A stencil after a func without one: only the latter's fold carries nothing."""
    y, x = sl.variables("y x")
    a, t, u, b = (sl.BufferExpr(name, np.int16, 2) for name in "atub")
    sl.Func(negate, [a[y, x]], [t[y, x]], name="first")
    sl.Func(negate, [t[y, x]], [u[y, x]], name="second")
    sl.Func(lambda s, o: np.add(s[:-2], s[2:], out=o), [u[sl.interval(y - 1, y + 1), x]], [b[y, x]], name="last")
    return sl.line_buffer(sl.build_pipeline([a], [b]), "last", "y", rows)


@pytest.mark.parametrize("rows", [1, 3, 4])
def test_windows_that_overlap_stay_rings(rows: int) -> None:
    p = windows(rows)
    assert not is_plain(p)
    agree(p, stencils(2), 2)
    p = mixed(rows)
    text = p.to_python()
    assert "u_window" in text
    assert "t_window" not in text
    agree(p, mixed(50), 1)


def two_writers() -> sl.Pipeline:
    return sl.cut_call(chain(4), "f0.x", 3)


def read_later() -> sl.Pipeline:
    """What one iteration writes, the next one reads."""
    y, x = sl.variables("y x")
    a, t, b = (sl.BufferExpr(name, np.int16, 2) for name in "atb")
    sl.Func(negate, [a[y, x]], [t[y, x]], name="first")
    sl.Func(negate, [t[y, x], t[y - 1, x]], [b[y, x]], name="last")
    return sl.line_buffer(sl.build_pipeline([a], [b]), "last", "y", 2)


def by_scalar() -> sl.Pipeline:
    """Nobody knows how large the fold is, or whether there may be such a one."""
    return sl.line_buffer(sl.build_pipeline(*_ends()), "f1", "y", sl.scalar("n"))


def _ends() -> tuple[list[sl.BufferExpr], list[sl.BufferExpr]]:
    y, x = sl.variables("y x")
    a, t, b = (sl.BufferExpr(name, np.int16, 2) for name in "atb")
    sl.Func(negate, [a[y, x]], [t[y, x]], name="f0")
    sl.Func(negate, [t[y, x]], [b[y, x]], name="f1")
    return [a], [b]


@pytest.mark.parametrize("make", [two_writers, read_later, by_scalar])
def test_what_may_carry_something_stays_a_ring(make: Callable[[], sl.Pipeline]) -> None:
    p = make()
    assert not is_plain(p)
    if make is read_later:
        image, out = picture(40, 700, 1)
        p(image, out)
        np.testing.assert_array_equal(out.array, image.array[:-2, 1:-1] + image.array[1:-1, 1:-1])
    else:
        scalars = {"n": 3} if make is by_scalar else {}
        agree(p, sl.build_pipeline(*_ends()) if make is by_scalar else chain(1), **scalars)


def test_inner_loops_and_tiles() -> None:
    p = sl.parallel_tiles(chain_whole(), "f2", {"y": 12}, 4)
    assert is_plain(p)
    agree(p, chain(1))


def chain_whole() -> sl.Pipeline:
    y, x = sl.variables("y x")
    buffers = [sl.BufferExpr(f"b{n}", np.int16, 2) for n in range(4)]
    for n in range(3):
        sl.Func(negate, [buffers[n][y, x]], [buffers[n + 1][y, x]], name=f"f{n}")
    return sl.build_pipeline([buffers[0]], [buffers[-1]])


def test_counted_runs_count_what_the_program_says() -> None:
    p = chain(4)
    image, out = picture(64, 300, 0)
    ran = p.run(image, out)
    assert (ran.allocations, ran.program_bytes) == (2, 2 * 4 * 300 * 2)
    assert p.memory(image, out).program_bytes == ran.program_bytes
