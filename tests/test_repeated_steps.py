"""Functions that do a step again and again: they run stretch after stretch, of few kinds, with the results of NumPy."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy_programs import fault, jits, programs
from numpy_steps import counts_as_long, in_steps
from simulations import OPTIONS, around, field, heat
from traced import PIECES, assert_same, jit

import slinky as sl
from slinky.frontend import repeating
from slinky.frontend.legs import InLegs
from slinky.frontend.to_native import Move


@pytest.fixture
def long_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs of a few nodes count as long ones."""
    for module, values in counts_as_long().items():
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)


def reaction(u: Any, v: Any, steps: int) -> Any:
    for _ in range(steps):
        both = u * v * v
        u = u + 0.125 * around(u) - both + 0.5 * (1 - u)
        v = np.clip(v + 0.25 * around(v) + both - 0.5 * v, -2, 2)
    return u, v


def wave(before: Any, now: Any, steps: int) -> Any:
    for _ in range(steps):
        after = 2 * now - before
        after[1:-1, 1:-1] += 0.25 * around(now)[1:-1, 1:-1]
        before, now = now, after
    return now


def snapshots(u: Any, steps: int) -> Any:
    kept, total = [], 0.0 * u
    for k in range(steps):
        u = u + 0.125 * around(u) + k / 4
        total += u
        if k % 8 == 3:
            kept.append(u[::2, 1:])
    return kept, {"total": total, "last": u.T}


def two_loops(u: Any, w: Any, steps: int) -> Any:
    twice = w * 2
    for _ in range(steps):
        u = u + around(u * twice) / 64
    middle = u - u.mean(axis=0)
    for _ in range(steps):
        middle = np.sort(middle + around(middle) / 8, axis=1)
    return middle * w, u


def loops_in_loops(u: Any, steps: int) -> Any:
    for _ in range(steps):
        for _ in range(4):
            u = u + around(u) / 8
        u = u - u.max()
    return u


def one_row(u: Any, steps: int) -> Any:
    for _ in range(steps):
        u = np.cumsum(u, axis=0) / 2 - u[::-1]
    return u[0], u


def centred(u: Any, steps: int) -> Any:
    middle = 0.0
    for _ in range(steps):
        u = u - middle / 2
        middle = u.max() - u[0].min() / 4
        u = u + around(u) / 8
    return u, middle


FUNCTIONS: list[tuple[Callable[..., Any], int, int]] = [
    (heat, 1, 12),
    (reaction, 2, 9),
    (wave, 2, 12),
    (snapshots, 1, 20),
    (two_loops, 2, 12),
    (loops_in_loops, 1, 5),
    (one_row, 1, 40),
    (centred, 1, 12),
]


def stretches(traced: Any) -> list[list[int]]:
    """How often each stretch of the traces of a function comes; nothing for one without legs."""
    return [[each.count for each in trace.legs.stretches] if trace.legs else [] for trace in traced._traces]


@pytest.mark.usefixtures("quick_libraries")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(("function", "count", "steps"), FUNCTIONS, ids=lambda each: getattr(each, "__name__", ""))
def test_steps_give_what_numpy_gives(
    function: Callable[..., Any], count: int, steps: int, options: dict[str, Any], long_graphs: None
) -> None:
    traced = jit(function, **options)
    for shape in ((7, 5), (7, 5), (12, 31), (2, 2), (3, 17)):
        arrays = [field(*shape, seed=k) for k in range(count)]
        assert_same(traced(*arrays, steps), function(*arrays, steps), rounded=function is two_loops)
    assert any(max(each, default=0) >= steps - 2 for each in stretches(traced))


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (0, 4), (6, 1)])
def test_steps_on_arrays_of_hardly_any_elements(shape: tuple[int, int], long_graphs: None) -> None:
    for function, count, steps in FUNCTIONS:
        if function is two_loops and not all(shape):
            continue  # NumPy warns of the mean of nothing
        arrays = [field(*shape, seed=k) for k in range(count)]
        try:
            want = function(*arrays, steps)
        except (ValueError, IndexError) as error:
            with pytest.raises(type(error)):
                jit(function)(*arrays, steps)
            continue
        assert_same(jit(function)(*arrays, steps), want)


def test_a_loop_of_steps_is_one_stretch() -> None:
    traced = jit(heat, machine=PIECES)
    assert_same(traced(field(9, 8), 300), heat(field(9, 8), 300))
    assert stretches(traced) == [[300]]
    told = traced.explain(field(9, 8), 300)
    assert "300 times, a stretch of 8 operations: add, add, add, multiply, inner, multiply, add, assign" in told


def test_the_first_steps_are_like_the_others_where_sizes_are_equal() -> None:
    traced = jit(wave, machine=PIECES)
    arrays = field(9, 8), field(9, 8, seed=1)
    assert_same(traced(*arrays, 20), wave(*arrays, 20))
    assert stretches(traced) == [[20]]


def test_steps_of_two_states_are_one_stretch() -> None:
    traced = jit(reaction, machine=PIECES)
    arrays = field(9, 8), field(9, 8, seed=1)
    assert_same(traced(*arrays, 30), reaction(*arrays, 30))
    assert stretches(traced) == [[30]]


def test_steps_that_read_something_else_are_not_the_same() -> None:
    def outside(u: Any, v: Any, steps: int) -> Any:
        for k in range(steps):
            u = np.sort(u, axis=1) - (v if k % 2 else u)
        return u

    def inside(u: Any, v: Any, steps: int) -> Any:
        for k in range(steps):
            twice = np.cumsum(u, axis=1) / 8
            ordered = np.sort(twice, axis=1)
            u = np.cumsum(twice if k % 2 else ordered, axis=0) - ordered * v
        return u

    arrays = field(5, 8), field(5, 8, seed=1)
    for function in (outside, inside):
        traced = jit(function, machine=PIECES)
        assert_same(traced(*arrays, 40), function(*arrays, 40))
        assert stretches(traced) == [[20, 20]]


def test_steps_that_read_another_dtype_are_not_the_same() -> None:
    def widened(u: Any, w: Any, steps: int) -> Any:
        for _ in range(steps):
            u = np.maximum(u[::-1] * w, u + w) / 2
        return u

    arrays = field(5, 8).astype(np.float32), field(5, 8, seed=1)
    traced = jit(widened, machine=PIECES)
    assert_same(traced(*arrays, 40), widened(*arrays, 40))
    assert stretches(traced) == [[1, 39]]


def test_floats_of_steps_are_told() -> None:
    def fading(u: Any, by: float, steps: int) -> Any:
        for k in range(steps):
            u = u + around(u) * (by / (k + 1)) + k / 8
        return u

    traced = jit(fading, machine=PIECES)
    for by in (0.5, 0.25, 2.0):
        assert_same(traced(field(6, 7), by, 40), fading(field(6, 7), by, 40))
    assert stretches(traced) == [[40]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex64])
def test_numbers_of_plain_arithmetic_are_told(dtype: Any, long_graphs: None) -> None:
    weights = np.linspace(-0.9, 1.1, 60)

    def weighted(u: Any, steps: int) -> Any:
        for k in range(steps):
            u = np.maximum(np.roll(u, 1, 0) * weights[k] + k, u / 2 - np.float32(k) / 3) + np.sin(k / 8)
            u[0, 1] = weights[k]
        return u

    def powers(u: Any, steps: int) -> Any:
        for k in range(steps):
            u = np.roll(u, 1, 0) ** (k % 3) / 8 + (1 << 60) - k * (1 << 54)
        return u

    def scaled(u: Any, steps: int) -> Any:
        for k in range(steps):
            u = np.ldexp(np.roll(u, 1, 0) / 4, k % 5)
        return u

    array = field(6, 7).astype(dtype)
    if np.dtype(dtype).kind == "f":
        assert_same(jit(scaled, machine=PIECES)(array, 12), scaled(array, 12))
        traced = jit(weighted, machine=PIECES)
        assert_same(traced(array, 20), weighted(array, 20))
        assert max(stretches(traced)[0]) >= 18  # the first step may give another dtype
    traced = jit(powers, machine=PIECES)
    with np.errstate(all="ignore"):
        assert_same(traced(array, 12), powers(array, 12))


def test_integers_stay_integers(long_graphs: None) -> None:
    def counted(u: Any, steps: int) -> Any:
        for k in range(steps):
            u = np.roll(u, 1, 0) * (k + 1) + k
        return u

    array = np.arange(12).reshape(4, 3) + (1 << 60) // 13  # of which floats do not have all bits
    traced = jit(counted, machine=PIECES)
    assert_same(traced(array, 12), counted(array, 12))


def test_buffers_go_to_and_fro(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    empty = np.empty

    def counted(*given: Any, **named: Any) -> Any:
        made.append(given)
        return empty(*given, **named)

    traced = jit(reaction, machine=PIECES)
    arrays = field(13, 11), field(13, 11, seed=1)
    traced(*arrays, 50)
    monkeypatch.setattr("slinky.frontend.legs.np.empty", counted)
    assert_same(traced(*arrays, 50), reaction(*arrays, 50))
    assert len([each for each in made if each[0] == (13, 11)]) <= 6  # two results, and two for each of two steps


def test_short_graphs_run_as_a_whole() -> None:
    traced = jit(heat, machine=PIECES)
    assert_same(traced(field(9, 8), 4), heat(field(9, 8), 4))
    assert stretches(traced) == [[]]
    assert isinstance(traced.pipeline(field(9, 8), 4), sl.Pipeline)


def test_long_graphs_have_no_pipeline_and_take_no_limit_of_memory() -> None:
    with pytest.raises(sl.TracingError, match=r"heat has no pipeline of its own: it runs in stretches that come again"):
        jit(heat).pipeline(field(9, 8), 300)
    limited = jit(heat, max_bytes=1 << 20)
    assert_same(limited(field(9, 8), 300), heat(field(9, 8), 300))
    assert "operations, more than 200, that do not repeat" in limited.explain(field(9, 8), 300)


def test_what_does_not_repeat_is_called_as_it_is() -> None:
    def windows(u: Any, steps: int) -> Any:
        return sum(np.sort(u[k : k + 5], axis=1) for k in range(steps))

    traced = jit(windows)
    assert_same(traced(field(300, 4), 250), windows(field(300, 4), 250))
    assert "more than 200, that do not repeat" in traced.explain(field(300, 4), 250)


def test_functions_of_very_many_operations_are_traced_if_their_arrays_are_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("slinky.frontend.tracing.MANY_OPERATIONS", 500)
    monkeypatch.setattr("slinky.frontend.tracing.LEAST_BYTES_OF_MANY", 800)
    traced = sl.jit(heat)
    assert "more than 500 operations on arrays that are rather small" in traced.explain(field(9, 9), 300)
    assert "300 times" in traced.explain(field(20, 20), 300)
    for n in (9, 20):
        assert_same(traced(field(n, n), 300), heat(field(n, n), 300))
    monkeypatch.setattr("slinky.frontend.tracing.MOST_OPERATIONS", 1000)
    endless = jit(heat)
    assert_same(endless(field(20, 20), 300), heat(field(20, 20), 300))
    assert "it has more than 1000 operations" in endless.explain(field(20, 20), 300)


def test_of_an_assignment_the_part_counts_that_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are small, in however large an array they are written."""
    monkeypatch.setattr("slinky.frontend.tracing.MANY_OPERATIONS", 500)
    monkeypatch.setattr("slinky.frontend.tracing.LEAST_BYTES_OF_MANY", 800)

    def smoothed(u: Any) -> Any:
        found = np.empty_like(u)
        found[0] = u[0]
        for k in range(1, len(u)):
            found[k] = 0.1 * u[k] + 0.9 * found[k - 1]
        return found

    narrow, wide = sl.jit(smoothed), sl.jit(smoothed)
    assert "rather small" in narrow.explain(field(300, 60))
    assert "rather small" not in wide.explain(field(300, 200))
    for traced, n in ((narrow, 60), (wide, 200)):
        assert_same(traced(field(300, n)), smoothed(field(300, n)))


def test_an_argument_that_is_given_away_is_written_to() -> None:
    def settle(u: Any, steps: int) -> Any:
        for _ in range(steps):
            u[1:-1] = (u[2:] + u[:-2]) / 2
            u[:, 1:-1] = (u[:, 2:] + u[:, :-2]) / 2
        return u

    traced = jit(settle, donate="u", machine=PIECES)
    for n in (9, 20):
        own, want = field(n, 7), field(n, 7)
        assert_same(traced(own, 30), settle(want, 30))
        assert_same(own, want)
    assert stretches(traced)[0]


def test_results_may_be_arguments_and_come_twice() -> None:
    def kept(u: Any, steps: int) -> Any:
        first = np.zeros_like(u)
        first[...] = u
        for _ in range(steps):
            u = np.sort(np.roll(u, 1, 0) / 2 - 1, axis=1)
        return u, first, first[1:], u[::-1]

    traced = jit(kept, machine=PIECES)
    for _ in range(2):
        assert_same(traced(field(9, 7), 30), kept(field(9, 7), 30))
    assert stretches(traced)[0]

    def handed_over(u: Any, steps: int) -> Any:
        new = u
        for _ in range(steps):
            new = np.sort(np.roll(new, 1, 0) / 2 - 1, axis=1)
        u[...] = new
        return new

    traced = jit(handed_over, donate="u", machine=PIECES)
    for _ in range(2):
        own, want = field(9, 7), field(9, 7)
        assert_same(traced(own, 30), handed_over(want, 30))
        assert_same(own, want)

    def replaced(u: Any, v: Any, steps: int) -> Any:
        new = v
        for _ in range(steps):
            new = np.sort(np.roll(new, 1, 0) / 2 - 1, axis=1)
        u[...] = v
        return new

    traced = jit(replaced, donate="u", machine=PIECES)
    own = field(9, 7)
    assert_same(traced(own, field(9, 7, seed=1), 30), replaced(field(9, 7), field(9, 7, seed=1), 30))
    assert_same(own, field(9, 7, seed=1))


def test_what_has_no_schedule_runs_func_after_func() -> None:
    traced = jit(two_loops, machine=PIECES)
    arrays = field(9, 8), field(9, 8, seed=1)
    want = traced(*arrays, 20)
    (found,) = next(iter(traced._traces)).scheduled.values()
    assert isinstance(found, InLegs)
    assert not found.is_plain
    for link in found.links:
        link.stretch.scheduled[link.given.shapes] = None
    assert found.is_plain
    assert_same(traced(*arrays, 20), want)


def test_what_is_on_its_way_to_c_has_not_moved() -> None:
    traced = jit(two_loops, machine=PIECES)
    traced(field(9, 8), field(9, 8, seed=1), 20)
    (found,) = next(iter(traced._traces)).scheduled.values()
    first, second, *_ = found.links

    class Moved:
        runs_c = True

    first.stretch.scheduled[first.given.shapes] = Moved()
    assert found.runs_c
    move = Move(None, lambda: None, lambda pipeline: None, "two_loops", lambda plan: None, stays=False)
    second.stretch.scheduled[second.given.shapes] = move
    assert found.moves == [move]
    assert not found.runs_c


def test_errors_are_raised_in_the_midst_of_steps() -> None:
    def divided(u: Any, steps: int) -> Any:
        for _ in range(steps):
            u = np.roll(u, 1, 0) / u - 1
        return u

    traced = jit(divided, machine=PIECES)
    array = field(6, 5) + 40
    for _ in range(2):
        with np.errstate(divide="raise", invalid="raise"), pytest.raises(FloatingPointError):
            traced(np.ones((6, 5)), 60)
    with np.errstate(all="ignore"):
        assert_same(traced(array, 60), divided(array, 60))


def test_threads_run_steps_at_once() -> None:
    traced = jit(reaction, machine=PIECES)
    wrong = []

    def run(seed: int) -> None:
        arrays = field(8, 9, seed=seed), field(8, 9, seed=seed + 9)
        want = reaction(*arrays, 30)
        for _ in range(6):
            got = traced(*arrays, 30)
            wrong.extend(k for k in range(2) if got[k].tobytes() != want[k].tobytes())

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@needs_compiler
@pytest.mark.usefixtures("moves_at_once")
@pytest.mark.skipif(os.name != "posix", reason="as of other tests of this")
def test_steps_move_to_c_in_the_midst_of_a_call() -> None:
    traced = jit(reaction, native=None, machine=PIECES)
    arrays = field(40, 30), field(40, 30, seed=1)
    want = reaction(*arrays, 60)
    assert_same(traced(*arrays, 60), want)
    assert traced.wait_native()
    (found,) = next(iter(traced._traces)).scheduled.values()
    assert isinstance(found, InLegs)
    assert found.runs_c
    assert_same(traced(*arrays, 60), want)
    assert "runs in C as far as that is known" in traced.explain(*arrays, 60)


@needs_compiler
def test_what_is_exported_is_what_is_scheduled_as_a_whole(tmp_path: Any) -> None:
    traced = sl.jit(smallest=0, native=True)(heat)
    short, long = field(9, 8), field(9, 8)
    traced(long, 300)
    with pytest.raises(sl.ExportError):
        traced.export(tmp_path)
    traced(short, 20)
    traced.export(tmp_path)
    loaded = sl.jit(smallest=0, native=True)(heat)
    loaded.load(tmp_path)
    for steps in (20, 300):
        assert_same(loaded(short, steps), heat(short, steps))


# Random programs ------------------------------------------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**9))
def test_random_steps(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module, values in counts_as_long().items():
            for name, value in values.items():
                patch.setattr(module, name, value)
        for program in in_steps(programs(seed, 4)):
            for jit_of in jits().values():
                assert fault(program, jit_of) is None, program


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
def test_random_steps_are_cut_into_stretches(long_graphs: None) -> None:
    found = []
    for program in in_steps(programs(0, 150)):
        traced = jit(program.function(), machine=PIECES)
        with np.errstate(all="ignore"):
            traced(*program.arrays())
        found += [max(each, default=0) for each in stretches(traced)]
    assert sum(count >= 3 for count in found) >= 8


# Where it is cut ------------------------------------------------------------------------------------------------------


def cut(signs: str) -> list[str]:
    numbers = [ord(each) for each in signs]
    return [signs[first:last] for first, last in repeating._cut(numbers, [0] * (len(signs) + 1))]


@pytest.mark.parametrize(
    ("signs", "pieces"),
    [
        ("", []),
        ("abc", ["abc"]),
        ("x" + "abcd" * 6 + "yz", ["x", *["abcd"] * 6, "yz"]),
        ("abcd" * 6, ["abcd"] * 6),
        ("abc" * 8 + "u" + "defg" * 5, [*["abc"] * 8, "u", *["defg"] * 5]),
        ("aab" * 9, ["aab"] * 9),
        ("abcdefgh" * 3, ["abcdefgh" * 3]),
    ],
)
def test_what_repeats_is_cut(signs: str, pieces: list[str]) -> None:
    assert cut(signs) == pieces


def test_it_is_cut_where_least_goes_on() -> None:
    signs = [ord(each) for each in "x" + "abcd" * 8]
    crossing = [9, *[5, 5, 1, 5] * 8, 0]
    found = repeating._cut(signs, crossing)
    assert found[0] == (0, 3)
    assert {last - first for first, last in found[1:-1]} == {4}
    assert found[1][0] % 4 == 3
