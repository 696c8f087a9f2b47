"""Who is faster, the function as it is or its pieces, is tried where that shows in nothing else."""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler

import slinky as sl
from slinky.frontend import choosing, contests, to_native
from slinky.frontend.contests import ROUNDS, Contest, InTurn
from slinky.frontend.reading import Reads
from slinky.frontend.worth import Estimate
from slinky.ir.statements import Program

Array = np.ndarray[Any, Any]
SECONDS = 120
SHAPES = ((300, 400), (298, 398))
SLOW_MEMORY = sl.Machine(near_bytes=1 << 16, shared_bytes=1 << 18, shared_bandwidth=1e9, memory_bandwidth=1e9)
QUICK, SLOW = 1.0, 1.2
"""Two times of which none is clearly shorter."""


def stencil(x: Array) -> Array:
    """Arithmetic alone: pieces give NumPy's bits, and C does."""
    return np.asarray((x[:-2] + x[1:-1] + x[2:])[:, 1:] * 0.25 - x[1:-1, :-1])


def spread(x: Array) -> Array:
    """Lengths of columns, in other bits by pieces for all that is known."""
    return np.asarray(np.linalg.norm(np.sqrt(x * 0.5 + x) * x - 1, axis=0))


class Clock:
    """A clock that tells of each call that it took what is next; the first one is as it is."""

    def __init__(self, plain: float, pieces: float) -> None:
        self._steps: Iterator[float] = itertools.cycle([0.0, plain, 0.0, pieces])
        self._now = 0.0

    def __call__(self) -> float:
        self._now += next(self._steps)
        return self._now


class Counted:
    """A function that counts how often it is called."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self.calls = 0

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.calls += 1
        return self._function(*given, **named)


def counted(function: Any) -> Counted:
    """Counts the calls of a traced function as it is."""
    function._as_written = found = Counted(function._as_written)
    return found


def jit(function: Any, **options: Any) -> Any:
    """A function that is predicted to be faster by pieces, by NumPy's loops."""
    return sl.jit(workers=1, machine=SLOW_MEMORY, native=False, **options)(function)


# ----------------------------------------------------------------------------------------------------------------
# Contests by themselves
# ----------------------------------------------------------------------------------------------------------------


def run(contest: Contest, plain: float, pieces: float, calls: int) -> list[bool]:
    """Which of some calls were run as they are."""
    found = []
    for _ in range(calls):
        plainly = contest.takes_plainly(SHAPES)
        contest.took(plain if plainly else pieces, SHAPES, plainly=plainly)
        found.append(plainly)
    return found


@pytest.mark.parametrize(
    ("plain", "pieces", "is_lost"), [(QUICK, SLOW, True), (SLOW, QUICK, False), (1.0, 1.02, False)]
)
def test_calls_go_to_both_in_turn_and_then_to_the_faster(plain: float, pieces: float, is_lost: bool) -> None:
    contest = Contest(SHAPES, True)
    calls = 2 * (ROUNDS + 1)
    assert run(contest, plain, pieces, calls) == [True, False] * (ROUNDS + 1)
    assert contest.is_over
    assert run(contest, plain, pieces, 4) == [is_lost] * 4


def test_pieces_that_are_slow_at_first_may_be_faster_later() -> None:
    """The system clears the memory of the first results."""
    contest = Contest(SHAPES, True)
    for seconds in (9.0, 3.0, 2.5, 2.5, 0.5):
        assert not contest.is_over
        contest.took(1.0, SHAPES, plainly=True)
        contest.took(seconds, SHAPES, plainly=False)
    assert contest.is_over
    assert not contest.is_lost
    slow = Contest(SHAPES, True)
    for _ in range(6):
        assert not slow.is_over
        slow.took(1.0, SHAPES, plainly=True)
        slow.took(2.0, SHAPES, plainly=False)
    assert slow.is_lost


def test_what_is_clear_takes_fewer_calls() -> None:
    for plain, pieces in ((1.0, 9.0), (9.0, 1.0)):
        contest = Contest(SHAPES, True)
        run(contest, plain, pieces, 6)
        assert contest.is_over
        assert contest.is_lost == (plain < pieces)


def test_what_takes_ten_times_as_long_is_run_once() -> None:
    contest = Contest(SHAPES, True)
    assert run(contest, 1.0, 0.09, 5) == [True, False, False, False, False]
    assert contest.is_over
    assert not contest.is_lost
    assert contest.best() == (1.0, 0.09)
    nearer = Contest(SHAPES, True)
    assert run(nearer, 1.0, 0.11, 5) == [True, False, True, False, True]


def test_short_calls_that_were_interrupted_once_are_run_again() -> None:
    contest = Contest(SHAPES, True)
    contest.took(0.02, SHAPES, plainly=True)
    contest.took(0.001, SHAPES, plainly=False)
    assert not contest.is_over
    while not contest.is_over:
        is_plain = contest.takes_plainly(SHAPES)
        contest.took(0.0001 if is_plain else 0.001, SHAPES, plainly=is_plain)
    assert contest.is_lost


def test_the_first_call_of_each_does_not_count() -> None:
    """Plans are made in it."""
    contest = Contest(SHAPES, True)
    run(contest, 1.0, 99.0, 2)
    run(contest, SLOW, QUICK, 2 * ROUNDS)
    assert contest.is_over
    assert not contest.is_lost


def test_calls_of_other_shapes_are_not_compared() -> None:
    contest = Contest(SHAPES, True)
    others = ((301, 400), (299, 398))
    for _ in range(50):
        assert not contest.takes_plainly(others)
        contest.took(1.0, others, plainly=False)
    assert not contest.is_over
    run(contest, QUICK, SLOW, 2 * (ROUNDS + 1))
    assert contest.takes_plainly(others)


def test_what_waits_is_run_as_it_is() -> None:
    contest = Contest(SHAPES, False)
    assert run(contest, QUICK, SLOW, 40) == [True] * 40
    assert not contest.is_over


def test_a_call_that_raises_does_not_count() -> None:
    def fails(*given: Any) -> Any:
        raise ZeroDivisionError

    contest = Contest(SHAPES, True)
    turns = InTurn(contest, SHAPES, None, fails, fails, lambda: None)  # type: ignore[arg-type]
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            turns((1,))
    assert (contest.plain, contest.pieces) == ([], [])


def test_a_change_is_said_once() -> None:
    changes: list[int] = []
    contest = Contest(SHAPES, True)
    turns = InTurn(contest, SHAPES, None, sum, lambda *given: sum(given), lambda: changes.append(1))  # type: ignore[arg-type]
    assert [turns((1, 2)) for _ in range(6 * ROUNDS)] == [3] * (6 * ROUNDS)
    assert changes == [1]


# ----------------------------------------------------------------------------------------------------------------
# Functions
# ----------------------------------------------------------------------------------------------------------------

X = np.random.default_rng(0).random((300, 400))


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("is_lost", [True, False])
def test_whoever_is_faster_runs_the_function(monkeypatch: pytest.MonkeyPatch, is_lost: bool, named: bool) -> None:
    monkeypatch.setattr(contests, "perf_counter", Clock(*((QUICK, SLOW) if is_lost else (SLOW, QUICK))))
    function = jit(stencil)
    plain = counted(function)

    given, names = ((), {"x": X}) if named else ((X,), {})

    def call() -> None:
        found = function(*given, **names)
        np.testing.assert_array_equal(found, stencil(X), strict=True)

    call()
    assert "in turn, until it is known" in function.explain(*given, **names)
    for _ in range(2 * ROUNDS + 1):
        call()
    assert plain.calls == ROUNDS + 1
    assert f"measured {QUICK if is_lost else SLOW:.3g} s as it is" in function.explain(*given, **names)
    assert ("called as it is" in function.explain(*given, **names)) == is_lost
    for _ in range(5):
        call()
    assert plain.calls == ROUNDS + 1 + (5 if is_lost else 0)


def test_all_sizes_of_a_range_go_by_one_contest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contests, "perf_counter", Clock(QUICK, SLOW))
    function = jit(stencil)
    for _ in range(2 * (ROUNDS + 1)):
        function(X)
    plain = counted(function)
    for x in (X[:290], X[:, :380]):
        np.testing.assert_array_equal(function(x), stencil(x), strict=True)
    assert plain.calls == 2
    function(np.random.default_rng(0).random((600, 400)))
    assert "in turn" in function.explain(np.empty((600, 400)))


def test_larger_arrays_of_a_range_are_not_run_as_they_are_where_that_takes_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(contests, "perf_counter", Clock(QUICK, SLOW))
    monkeypatch.setattr(choosing, "MOST_BYTES", 4 * X.nbytes)
    function, large = jit(stencil), np.random.default_rng(0).random((500, 400))
    for _ in range(2 * (ROUNDS + 1)):
        function(X)
    plain = counted(function)
    np.testing.assert_array_equal(function(large), stencil(large), strict=True)
    assert plain.calls == 0
    assert "called as it is" not in function.explain(large)
    function(X)
    assert plain.calls == 1


def test_nothing_is_tried_that_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """In other bits, in memory, or as the schedule that was asked for."""
    for function in (jit(spread), jit(stencil, smallest=0), jit(stencil, max_bytes=1 << 20)):
        plain = counted(function)
        for _ in range(4):
            function(X)
        assert plain.calls == 0
    monkeypatch.setattr(choosing, "MOST_BYTES", 3 * X.nbytes)
    function = jit(stencil)
    plain = counted(function)
    for _ in range(4):
        function(X)
    assert plain.calls == 0


@needs_compiler
@pytest.mark.usefixtures("moves_at_once")
@pytest.mark.parametrize("is_lost", [True, False])
def test_what_is_faster_only_in_c_is_run_as_it_is_until_then(monkeypatch: pytest.MonkeyPatch, is_lost: bool) -> None:
    monkeypatch.setattr(contests, "perf_counter", Clock(*((QUICK, SLOW) if is_lost else (SLOW, QUICK))))
    machine = sl.Machine(near_bandwidth=9e10, shared_bandwidth=9e10, memory_bandwidth=4e10)
    function = sl.jit(workers=1, machine=machine)(stencil)
    plain = counted(function)
    np.testing.assert_array_equal(function(X), stencil(X), strict=True)
    assert plain.calls == 1
    assert function.wait_native(SECONDS)
    monkeypatch.setattr(contests, "perf_counter", Clock(*((QUICK, SLOW) if is_lost else (SLOW, QUICK))))
    for _ in range(2 * (ROUNDS + 1)):
        np.testing.assert_array_equal(function(X), stencil(X), strict=True)
    assert plain.calls == 1 + ROUNDS + 1
    assert ("called as it is" in function.explain(X)) == is_lost
    function(X)
    assert plain.calls == 1 + ROUNDS + 1 + is_lost


def along_rows(x: Array) -> Array:
    """Products of matrices, of which pieces may give other bits, and C nothing."""
    return np.asarray(np.sort(x @ x.T, axis=1))


@needs_compiler
@pytest.mark.usefixtures("moves_at_once")
@pytest.mark.parametrize("fails", [False, True])
def test_no_bit_changes_where_there_turns_out_to_be_no_c(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    """What pieces compute otherwise is not begun by pieces, to be called as it is later on."""
    predicted = Estimate(on_the_way=50, held=100, least=1.0, most=1.0, scheduled=1.0, in_c=0.1, in_loops=0.1)
    monkeypatch.setattr(choosing, "estimate", lambda *_: predicted)
    if fails:
        monkeypatch.setattr("slinky.native.plans.has_exact_code", _raises)
    function = sl.jit(workers=1)(along_rows)
    plain = counted(function)
    function(X)
    assert (plain.calls == 1) != fails
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sl.CompilationFailedWarning)
        function.wait_native(SECONDS)
        function(X)
    function(X)
    assert plain.calls == (0 if fails else 3)


def _raises(_: Program) -> bool:
    raise sl.CompilationError("no compiler works")


FACTOR = 2.0


def scaled(x: Array) -> Array:
    """A function that reads something global."""
    return np.asarray((x[:-2] + x[1:-1] + x[2:])[:, 1:] * FACTOR - x[1:-1, :-1])


@needs_compiler
@pytest.mark.usefixtures("moves_at_once")
def test_what_waits_for_c_is_not_asked_what_it_has_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run as it is it reads what is there, whatever that was before."""
    monkeypatch.setattr(to_native, "PATIENCE", math.inf)
    machine = sl.Machine(near_bandwidth=9e10, shared_bandwidth=9e10, memory_bandwidth=4e10)
    function = sl.jit(workers=1, machine=machine)(scaled)
    np.testing.assert_array_equal(function(X), scaled(X), strict=True)
    assert any(isinstance(each, InTurn) and each.waits for each in function._ready.values())

    def refused(_: Reads) -> bool:
        raise AssertionError("it was asked")

    monkeypatch.setattr(Reads, "hold", refused)
    for factor in (2.0, 3.0):
        monkeypatch.setattr(sys.modules[__name__], "FACTOR", factor)
        np.testing.assert_array_equal(function(X), scaled(X), strict=True)


def growing(x: Array) -> Array:
    """A function of which C gives other bits than NumPy here and there."""
    return np.asarray(np.exp(x) * x + 1)


def found(x: Array) -> Array:
    """Nothing that C does."""
    return np.asarray(x.argmax(axis=1))


@needs_compiler
@pytest.mark.parametrize("is_lost", [True, False])
def test_c_that_was_asked_for_is_measured_too(monkeypatch: pytest.MonkeyPatch, is_lost: bool) -> None:
    monkeypatch.setattr(contests, "perf_counter", Clock(*((QUICK, SLOW) if is_lost else (SLOW, QUICK))))
    function = sl.jit(workers=1, native=True)(stencil)
    plain = counted(function)
    for _ in range(2 * (ROUNDS + 1)):
        np.testing.assert_array_equal(function(X), stencil(X), strict=True)
    assert plain.calls == ROUNDS + 1
    assert "runs in C" in function.explain(X)
    assert ("called as it is: measured" in function.explain(X)) == is_lost
    function(X)
    assert plain.calls == ROUNDS + 1 + is_lost


@needs_compiler
def test_c_that_shows_in_results_is_not_measured() -> None:
    options: list[dict[str, Any]] = [{}, {"fast": True}, {"smallest": 0}, {"max_bytes": 1 << 24}]
    for function, each in ((growing, options[0]), *((stencil, each) for each in options[1:])):
        traced = sl.jit(workers=1, native=True, **each)(function)
        plain = counted(traced)
        for _ in range(4):
            np.testing.assert_allclose(traced(X), function(X), rtol=1e-13, atol=1e-15)
        assert plain.calls == 0
        assert "runs in C" in traced.explain(X)


@needs_compiler
@pytest.mark.parametrize("options", [{}, {"fast": True}])
def test_what_has_no_c_is_left_to_numpy_where_that_was_asked_for(options: dict[str, Any]) -> None:
    function = sl.jit(workers=1, native=True, **options)(found)
    plain = counted(function)
    for _ in range(3):
        np.testing.assert_array_equal(function(X), found(X), strict=True)
    assert plain.calls == 3
    assert "called as it is" in function.explain(X)


@needs_compiler
@pytest.mark.usefixtures("moves_at_once")
@pytest.mark.parametrize("is_lost", [True, False])
def test_what_was_slower_in_c_is_exported_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_lost: bool
) -> None:
    times = (QUICK, SLOW) if is_lost else (SLOW, QUICK)
    machine = sl.Machine(near_bandwidth=9e10, shared_bandwidth=9e10, memory_bandwidth=4e10)
    function = sl.jit(workers=1, machine=machine)(stencil)
    function(X)
    assert function.wait_native(SECONDS)
    monkeypatch.setattr(contests, "perf_counter", Clock(*times))
    for _ in range(2 * (ROUNDS + 1)):
        function(X)
    function.export(tmp_path / "folder")
    other = sl.jit(workers=1, machine=machine)(stencil)
    other.load(tmp_path / "folder")
    np.testing.assert_array_equal(other(X), stencil(X), strict=True)
    assert ("called as it is: so it was where it was exported" in other.explain(X)) == is_lost


@needs_compiler
@pytest.mark.usefixtures("moves_at_once")
def test_what_lost_by_numpy_s_loops_is_tried_again_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slinky.frontend.to_native.PATIENCE", 4.5 * ROUNDS)
    monkeypatch.setattr(contests, "perf_counter", Clock(QUICK, SLOW))
    function = sl.jit(workers=1, machine=SLOW_MEMORY)(stencil)
    for _ in range(2 * (ROUNDS + 1)):
        function(X)
    plain = counted(function)
    assert "called as it is: measured" in function.explain(X)
    function(X)
    assert plain.calls == 1
    assert function.wait_native(SECONDS)
    monkeypatch.setattr(contests, "perf_counter", Clock(SLOW, QUICK))
    for _ in range(2 * (ROUNDS + 1)):
        np.testing.assert_array_equal(function(X), stencil(X), strict=True)
    assert "by pieces: measured" in function.explain(X)
    assert "runs in C" in function.explain(X)


@pytest.mark.parametrize(("function", "is_tried"), [(stencil, True), (spread, False)])
def test_a_small_gain_is_worth_a_try_where_it_is_measured(
    monkeypatch: pytest.MonkeyPatch, function: Any, is_tried: bool
) -> None:
    """By NumPy's loops, and by C's; without a contest, predictions must be clear."""
    predicted = {"least": 1.1, "most": 1.1, "scheduled": 1.0, "in_c": 9.0, "held": 0, "on_the_way": 1}
    for changes, is_used in (({}, is_tried), ({"least": 1.0, "most": 1.0}, False), ({"least": 2.0, "most": 2.0}, True)):
        found = Estimate(**{**predicted, **changes})
        monkeypatch.setattr(choosing, "estimate", lambda *given, found=found: found)
        traced = jit(function)
        traced(X)
        assert ("called as it is" not in traced.explain(X)) == is_used
    monkeypatch.setenv("SLINKY_NATIVE", "1")
    for in_c, is_used in ((1.0, is_tried), (1.1, False), (0.5, True)):
        found = Estimate(**{**predicted, "scheduled": 9.0, "in_c": in_c})
        monkeypatch.setattr(choosing, "estimate", lambda *given, found=found: found)
        traced = sl.jit(workers=1, machine=SLOW_MEMORY)(function)
        traced(X)
        assert ("called as it is" not in traced.explain(X)) == is_used


def test_what_no_result_depends_on_takes_memory_where_a_function_runs_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def wasteful(x: Any) -> Any:
        pairs = x[:, None, :] * x[None]
        return stencil(x) + pairs.ndim

    monkeypatch.setattr(choosing, "MOST_BYTES", 100 * X.nbytes)
    function = jit(wasteful)
    plain = counted(function)
    for _ in range(4):
        np.testing.assert_array_equal(function(X), stencil(X) + 3, strict=True)
    assert plain.calls == 0


def of_the_argument(x: Any) -> Any:
    return x.reshape(-1), stencil(x)


def of_one_array(x: Any) -> Any:
    y = stencil(x)
    return y[:200], y[100:]


def of_outside(x: Any) -> Any:
    return OUTSIDE, stencil(x)


def of_a_diagonal(x: Any) -> Any:
    return np.diagonal(stencil(x)), stencil(x)


OUTSIDE = np.arange(5.0)


@pytest.mark.parametrize("function", [of_the_argument, of_one_array, of_outside, of_a_diagonal])
def test_results_do_not_share_memory_by_turns(function: Any) -> None:
    """Who writes to one would see that in another one, or in an argument, or is refused, in every second call."""
    traced = jit(function)
    plain = counted(traced)
    found = [traced(X) for _ in range(6)]
    assert len({(np.shares_memory(a, b), np.shares_memory(a, X), a.flags.writeable) for a, b in found}) == 1
    assert plain.calls in (0, 6)
    assert "in turn" not in traced.explain(X)
