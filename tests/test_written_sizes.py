"""Programs stay as long as the schedule that made them: what is cut again and again holds no copies of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import slinky as sl
from slinky.symbolic.patience import COEFFICIENTS_PER_REWRITE, Patience, limited_patience


def _copy(source: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> None:
    target[...] = source


def _rows(step: int) -> sl.Pipeline:
    """A copy by pieces, of all that is asked for."""
    (x,) = sl.variables("x")
    inp, out = sl.BufferExpr("inp", np.int32, 1), sl.BufferExpr("out", np.int32, 1)
    sl.Func(_copy, [inp[x]], [out[x]], name="f")
    return sl.split_loop(sl.build_pipeline([inp], [out]), "f.x", step)


def _cut(p: sl.Pipeline, k: int, at: Callable[[Any, int], Any]) -> sl.Pipeline:
    loops = p.find_all("for _")
    loop = loops[(7 * k) % len(loops)]
    return sl.cut_loop(p, loop, at(loop, k))


_PLACES: dict[str, Callable[[Any, int], Any]] = {
    "numbers": lambda loop, k: 7 * k - 20,
    "a step behind the start": lambda loop, k: loop.bounds().min + loop.step(),
    "a step before the end": lambda loop, k: loop.bounds().max - loop.step(),
    "a clamped number": lambda loop, k: sl.minimum(sl.maximum(3 * k - 5, sl.scalar("s") // 3), 40),
}


@pytest.mark.parametrize("place", _PLACES)
@pytest.mark.parametrize("step", [1, 3])
def test_a_program_is_as_long_as_it_was_cut_often(place: str, step: int) -> None:
    p, lengths = _rows(step), []
    for k in range(24):
        p = _cut(p, k, _PLACES[place])
        lengths.append(len(str(p)))
    assert lengths[23] - lengths[15] <= 1.5 * (lengths[15] - lengths[7])
    assert lengths[23] <= 24 * 1_000
    source, target = np.arange(50, dtype=np.int32), np.full(50, -1, np.int32)
    p.run(source, target, checked=True, **({"s": 7} if place == "a clamped number" else {}))
    assert np.array_equal(source, target)


def test_the_grid_of_a_loop_that_was_cut_is_counted_from_its_first_start() -> None:
    p = _rows(3)
    for at in (11, 23, 47):
        p = sl.cut_loop(p, p.find_all("for _")[-1], at)
    assert [line.strip() for line in str(p).splitlines() if "for x" in line] == [
        "for x in out.x.min .. min(out.x.max, 10) step 3:",
        "for x in max(out.x.min, out.x.min - 3*((out.x.min + 1) // 3) + 12) .. min(out.x.max, 22) step 3:",
        "for x in max(out.x.min, out.x.min - 3*((out.x.min + 1) // 3) + 24) .. min(out.x.max, 46) step 3:",
        "for x in max(out.x.min, out.x.min - 3*((out.x.min + 1) // 3) + 48) .. out.x.max step 3:",
    ]


def test_pieces_of_pieces_that_are_moved_back_hold_few_copies_of_the_loops_around() -> None:
    p = _rows(1)
    loop, lengths = p.find("for x"), []
    for k in range(12):
        p, (_, loop, _) = sl.split_loop(p, loop, 2 + k % 3, tail="shift", rc=True)
        lengths.append(len(str(loop.bounds())))
    assert lengths[11] - lengths[10] <= 2 * (lengths[6] - lengths[5])
    for size in (1, 5, 64):
        source, target = np.arange(size, dtype=np.int32), np.full(size, -1, np.int32)
        p.run(source, target, checked=True)
        assert np.array_equal(source, target)


def test_an_access_that_shares_its_parts_is_written_with_names() -> None:
    (x,) = sl.variables("x")
    e: Any = x
    for k in range(40):
        e = sl.maximum(e, -k) // 2 + sl.minimum(e, k)
    inp, out = sl.BufferExpr("inp", np.int32, 1), sl.BufferExpr("out", np.int32, 1)
    sl.Func(_copy, [inp[e]], [out[x]], name="f")
    p = sl.split_loop(sl.build_pipeline([inp], [out]), "f.x", 1)
    assert len(str(p)) < 20_000
    assert "part1 :=" in str(p)


def test_a_rewrite_of_many_hard_questions_searches_no_longer_than_its_patience(monkeypatch: Any) -> None:
    """Clamps, quotients and cuts in four dimensions: hundreds of comparisons that each take a search."""
    spent = []

    @contextmanager
    def counted() -> Iterator[None]:
        with limited_patience() as patience:
            yield
        spent.append(patience.spent)

    monkeypatch.setattr("slinky.sched.operation.limited_patience", counted)
    monkeypatch.setattr(Patience, "spend_once", lambda *_: None)  # what is remembered takes no time
    dims = sl.variables("w z y x")
    buffers = [sl.BufferExpr(f"b{k}", np.int32, 4) for k in range(4)]
    for k in range(3):
        starts = [sl.maximum(sl.minimum(v // 2 - 1, 30), (v + k) // 3 - 2) for v in dims]
        window = tuple(sl.interval(start, start + 2) for start in starts)
        sl.Func(_copy, [buffers[k][window]], [buffers[k + 1][dims]], name=f"f{k}")
    p = sl.build_pipeline([buffers[0]], [buffers[3]])
    for v in dims:
        p = sl.split_loop(p, f"f2.{v}", 3, tail="cut")
    for k in range(6):
        loops = p.find_all("for _")
        p = sl.cut_loop(p, loops[k % len(loops)], (loops[k % len(loops)].bounds().max + k) // 2)
    p = sl.simplify(p)
    assert max(spent) <= 1.1 * COEFFICIENTS_PER_REWRITE
