"""The classic pipelines, however they are scheduled: right, in the memory and with the work that the table promises."""

from __future__ import annotations

import functools
import inspect

import annotated
import judge_hook
import pytest
from annotated import WIDTH, Case, softmax, stencil
from classic import EAGER, TABLE, WIDE, cuts, in_strips, made_again, make, scheduled_by_default

import slinky as sl
from slinky.sched import choices, tracks

x, y = sl.variables("x y")

STEPS = range(1, 5)


def estimate(made: Case, p: sl.Pipeline) -> sl.Estimate:
    """What a run takes with two workers, if they do work at the same time."""
    return p.estimate(*made.arrays, *made.targets, threads=2)


@functools.cache
def not_scheduled(name: str) -> sl.RunStatistics:
    """What a graph takes as it is."""
    made = make(name)
    return made.run(made.build())


def computed_again(name: str, made: Case, stats: sl.RunStatistics) -> int:
    """How many elements were computed more than once, of all funcs that were not taken to pieces."""
    once = not_scheduled(name).elements
    pieces = {func.name for func in made.funcs.values() if is_in_pieces(func)}
    assert once.keys() - stats.elements.keys() == pieces
    again = [stats.elements[name] - count for name, count in once.items() if name not in pieces]
    assert min(again, default=0) >= 0
    return sum(again)


def is_in_pieces(func: sl.Func) -> bool:
    return any(loop.variable not in func.dims for loop in func.loop_annotations)


# ----------------------------------------------------------------------------------------------------------------
# Not scheduled, and in strips
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLE)
def test_not_scheduled(name: str) -> None:
    """Each func computes what is needed of it, once; strips of no rows are none."""
    made = make(name)
    p = made.build()
    assert not p.find_all("for _")
    assert not_scheduled(name).program_bytes == TABLE[name].full
    assert all(work.elements == work.needed > 0 for work in estimate(made, p).funcs.values())
    assert str(in_strips(name, 0).build()) == str(made.build(schedule="none")) == str(p)


@pytest.mark.sweep
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", TABLE)
def test_annotations_in_strips(name: str, step: int) -> None:
    """Each element is computed once, of what is needed of each buffer no more is kept, and the history says how."""
    made = in_strips(name, step)
    p = made.build()
    after = made.run(p)
    assert computed_again(name, made, after) == 0
    assert after.program_bytes == TABLE[name].strips(step)
    assert made_again(p, made).same_program(p)


@pytest.mark.sweep
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", TABLE)
def test_annotations_in_parallel_strips(name: str, step: int) -> None:
    """Each strip has buffers of its own, and no two strips share anything but what both compute."""
    made = in_strips(name, step, workers=2)
    p = made.build()
    assert_parallel(name, step, made, p)
    assert made_again(p, made).same_program(p)


def assert_parallel(name: str, step: int, made: Case, p: sl.Pipeline) -> None:
    """Strips on two workers take what the table says, and no more where one worker is faster than the other."""
    outermost = [loop for loop in p.find_all("for _") if not sl.enclosing_loops(p, loop)]
    assert [loop.workers() for loop in outermost] == [2] * len(outermost) != []
    after = made.run(p)
    assert computed_again(name, made, after) == TABLE[name].again(step)
    assert estimate(made, p).program_bytes == TABLE[name].in_parallel(step) >= after.program_bytes


@pytest.mark.sweep
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", TABLE)
def test_default_schedule_of_strips(name: str, step: int) -> None:
    """Loops that primitives make, and all the rest by default, are what annotations of the loops make."""
    made = in_strips(name, step)
    with judge_hook.resting():  # of the primitives that annotations took, which the judge has seen
        assert str(scheduled_by_default(made)) == str(made.build())


@pytest.mark.sweep
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", TABLE)
def test_default_schedule_of_parallel_strips(name: str, step: int) -> None:
    made = in_strips(name, step, workers=2)
    with judge_hook.resting():
        p = scheduled_by_default(made)
    assert_parallel(name, step, made, p)


# ----------------------------------------------------------------------------------------------------------------
# By themselves
# ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little work there is, and however much of it is done twice, or read again: it is worth several tasks."""
    monkeypatch.setattr(tracks, "PACKED", 0)
    monkeypatch.setattr(choices, "MOST_REPEATED", 10.0)
    monkeypatch.setattr(choices, "LEAST_TASK_SECONDS", 0.0)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", TABLE)
def test_auto_schedule(name: str, workers: int) -> None:
    """Where memory is slow and calls cost nothing, no more is kept and computed again than the table says."""
    made, row = make(name), TABLE[name]
    p = made.build()
    q, made_loops = sl.auto_schedule(p, *made.arrays, *made.targets, workers=workers, machine=EAGER, rc=True)
    assert made_loops.loops
    after = made.run(q)
    least, more = row.alone if workers == 1 else row.both
    assert estimate(made, q).program_bytes <= least
    once = not_scheduled(name).elements
    assert sum(after.elements.get(func, count) - count for func, count in once.items()) <= more
    assert workers == 2 or all(loop.workers() is None for loop in q.find_all("for _"))


@pytest.mark.parametrize("name", TABLE)
def test_auto_schedule_on_other_machines(name: str) -> None:
    """Where calls cost something, strips are higher, or there are none: never more memory than not scheduled."""
    made = make(name)
    p = made.build()
    for call_seconds in (1e-7, 1e-6, 1e-5, 1e-3):
        machine = sl.Machine(near_bytes=256, shared_bytes=2048, memory_bandwidth=1e7, call_seconds=call_seconds)
        q = sl.auto_schedule(p, *made.arrays, *made.targets, workers=1, machine=machine)
        assert made.run(q).program_bytes <= TABLE[name].full + TABLE[name].states


@pytest.mark.parametrize("name", TABLE)
def test_auto_schedule_within_bytes(name: str) -> None:
    """What is reached where calls cost nothing, or in strips of two rows, is kept as a bound where they are dear."""
    made, row = make(name), TABLE[name]
    most = max(row.alone[0], row.strips(2))
    p = made.build()
    q = sl.auto_schedule(p, *made.arrays, *made.targets, workers=1, machine=sl.Machine(), max_bytes=most)
    assert made.run(q).program_bytes <= most


# ----------------------------------------------------------------------------------------------------------------
# Two dimensions
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", STEPS)
def test_sliding_in_two_dimensions(step: int) -> None:
    """Tiles of rows and columns: rows of the intermediate are kept for the next ones, nothing is computed again."""
    made = stencil()
    made.funcs["stencil"].loops([(y, step), (x, step)])
    p = made.build()
    assert [loop.name() for loop in sl.enclosing_loops(p, "add")] == ["y", "x"]
    after = made.run(p)
    assert computed_again("stencil", made, after) == 0
    assert after.program_bytes == (step + 2) * WIDE
    assert after.calls["stencil"] == (cuts(step) + 1) * -(-WIDTH // step)


@pytest.mark.parametrize("step", STEPS)
def test_sliding_in_one_dimension_in_parallel_strips_of_the_other(step: int) -> None:
    """Each worker has as many columns as one tile needs, and two tiles side by side share some of these."""
    made = stencil()
    made.funcs["stencil"].loops([sl.loop(y, step, workers=2), (x, step)])
    p = made.build()
    after = made.run(p)
    assert computed_again("stencil", made, after) == 2 * cuts(step) * (WIDTH + 2)
    assert estimate(made, p).program_bytes == 2 * 8 * (step + 2) * (step + 2)


@pytest.mark.sweep
@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("step", STEPS)
def test_softmax_of_rows_in_tiles_of_rows_and_columns(step: int, workers: int | None) -> None:
    """What is known of whole rows is computed once for all tiles of a strip."""
    made = softmax()
    made.funcs["divide"].loops([sl.loop(y, step, workers=workers), (x, step)])
    p = made.build()
    assert [len(sl.enclosing_loops(p, name)) for name in ("most_of", "sum_of", "divide")] == [1, 1, 2]
    after = made.run(p)
    assert computed_again("softmax", made, after) == 0
    tasks = 1 if workers is None else 2
    assert estimate(made, p).program_bytes == tasks * TABLE["softmax"].strips(step)
    assert after.calls["divide"] == (cuts(step) + 1) * -(-WIDTH // step)


def test_the_table_has_all_graphs_once() -> None:
    functions = dict(inspect.getmembers(annotated, inspect.isfunction)).items()
    made = {name for name, function in functions if function.__annotations__ == {"return": "Case"}}
    assert made == TABLE.keys()
    assert len({str(make(name).build()) for name in TABLE}) == len(TABLE)
