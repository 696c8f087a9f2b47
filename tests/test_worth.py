"""Whether a function is left to NumPy: by NumPy's loops, and where it moves to C."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler

import slinky as sl
from slinky.errors import CompilationFailedWarning
from slinky.frontend import choosing
from slinky.frontend.worth import Estimate
from slinky.sched import machines
from slinky.sched.auto_pipeline import AutoPipeline

Array = np.ndarray[Any, Any]
SECONDS = 120
MACHINE = sl.Machine(near_bandwidth=9e10, shared_bandwidth=9e10, memory_bandwidth=4e10)
"""One whose memory is hardly slower than its caches: NumPy is as fast on whole arrays."""


def stencil(x: Array) -> Array:
    """Arithmetic alone, which C does to the bit."""
    return np.asarray((x[:-2] + x[1:-1] + x[2:])[:, 1:] * 0.25 - x[1:-1, :-1])


def curves(x: Array) -> Array:
    """Nothing that C does to the bit."""
    return np.asarray(np.sin(x))


def jit(function: Any, **options: Any) -> Any:
    return sl.jit(workers=1, machine=MACHINE, **options)(function)


def is_as_it_is(function: Any, *given: Any) -> bool:
    return "called as it is" in function.explain(*given)


X = np.random.default_rng(0).random((300, 400))


@needs_compiler
@pytest.mark.usefixtures("moves_at_once")
def test_what_is_faster_in_c_moves_there() -> None:
    function = jit(stencil)
    for _ in range(2):
        np.testing.assert_array_equal(function(X), stencil(X), strict=True)
    assert function.wait_native(SECONDS)
    assert "runs in C" in function.explain(X)
    assert not is_as_it_is(function, X)
    np.testing.assert_array_equal(function(X), stencil(X), strict=True)


@needs_compiler
@pytest.mark.usefixtures("moves_at_once")
@pytest.mark.parametrize(
    ("name", "size", "is_c"),
    [
        ("gaussian_filter", 5, True),
        ("grey_dilation", 5, True),
        ("median_filter", 5, True),
        ("median_filter", 13, False),
    ],
)
def test_filters_move_where_c_is_known_to_compute_them(name: str, size: int, is_c: bool) -> None:
    """Alone, SciPy's filter is as fast by pieces as at once; of medians of large windows there is no C."""
    ndimage = pytest.importorskip("scipy.ndimage")
    function = jit(lambda image: getattr(sl.ndimage, name)(image, size))
    assert is_as_it_is(function, X) == (not is_c)
    np.testing.assert_array_equal(function(X), getattr(ndimage, name)(X, size), strict=True)
    assert function.wait_native(SECONDS)
    assert ("runs in C" in function.explain(X)) == is_c
    np.testing.assert_array_equal(function(X), getattr(ndimage, name)(X, size), strict=True)


def test_threads_share_functions_of_elements() -> None:
    """Which one thread computes as fast at once; whole axes are left to NumPy with two threads, too."""

    def function(x: Array) -> Array:
        return np.asarray(np.sin(x) * np.cos(x) + np.tanh(x))

    large = np.random.default_rng(0).random((1500, 1400))
    for workers in (1, 2):
        traced = sl.jit(workers=workers, machine=MACHINE, native=False)(function)
        assert is_as_it_is(traced, large) == (workers == 1)
        np.testing.assert_array_equal(traced(large), function(large), strict=True)
    assert is_as_it_is(sl.jit(workers=2, machine=MACHINE, native=False)(lambda x: np.sort(x, axis=1) + 1), large)


@pytest.mark.usefixtures("moves_at_once")
def test_what_does_not_move_is_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_as_it_is(jit(stencil, native=False), X)
    assert not is_as_it_is(jit(stencil), X)
    assert is_as_it_is(jit(curves), X)
    monkeypatch.setenv("SLINKY_NATIVE", "0")
    assert is_as_it_is(jit(stencil), X)


@pytest.mark.usefixtures("moves_at_once")
@pytest.mark.parametrize("how", ["no compiler", "nothing in C", "a compiler that fails"])
def test_where_there_is_no_c_for_it_it_is_left_to_numpy_again(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "no compiler":
        monkeypatch.setattr("slinky.native.plans.compiler", lambda: None)
    elif how == "nothing in C":
        monkeypatch.setattr("slinky.native.plans.is_exact", lambda formula: False)
    else:
        path = tmp_path / "cc.sh"
        path.write_text('#!/bin/sh\nif [ "$1" = --version ]; then echo cc; exit 0; fi\necho no >&2; exit 1\n')
        path.chmod(0o755)
        monkeypatch.setenv("CC", str(path))
    function = jit(stencil)
    np.testing.assert_array_equal(function(X), stencil(X), strict=True)
    assert not is_as_it_is(function, X)
    if how == "a compiler that fails":
        with pytest.warns(CompilationFailedWarning):
            assert function.wait_native(SECONDS)
    else:
        assert function.wait_native(SECONDS)
    assert is_as_it_is(function, X)
    for _ in range(3):
        np.testing.assert_array_equal(function(X), stencil(X), strict=True)
    assert function(X).base is None


def test_a_schedule_that_is_faster_by_numpy_s_loops_stays(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Whether there is C or not."""
    request.getfixturevalue("moves_at_once")
    assert not is_as_it_is(sl.jit(workers=1, machine=sl.Machine(), native=False)(stencil), np.empty((2000, 3000)))
    monkeypatch.setattr("slinky.native.plans.compiler", lambda: None)
    function = sl.jit(workers=1, machine=sl.Machine())(stencil)
    x = np.random.default_rng(0).random((2000, 3000))
    function(x)
    assert function.wait_native(SECONDS)
    assert not is_as_it_is(function, x)
    np.testing.assert_array_equal(function(x), stencil(x), strict=True)


# ----------------------------------------------------------------------------------------------------------------
# What NumPy takes
# ----------------------------------------------------------------------------------------------------------------


def least(function: Any, *given: Any, machine: sl.Machine = MACHINE) -> Estimate:
    """What is predicted of a function."""
    found: list[Estimate] = []
    with pytest.MonkeyPatch.context() as patch:
        own = choosing.estimate
        patch.setattr(choosing, "estimate", lambda *each: found.append(own(*each)) or found[-1])  # type: ignore[func-returns-value]
        sl.jit(workers=1, machine=machine, native=False)(function).explain(*given)
    return found[-1]


LARGE = np.broadcast_to(np.float32(1), (3000, 3000))
"""36 MB, which takes no memory here."""


def test_new_memory_is_cleared_once_for_each_array_that_numpy_makes() -> None:
    def named(x: Array) -> Array:
        y = x + 1
        z = y * 2
        return z - x

    def in_place(x: Array) -> Array:
        return np.asarray((x + 1) * 2 - x)

    slow, fast = (sl.Machine(clearing_bandwidth=b) for b in (1e9, 1e15))
    cost = LARGE.nbytes / 1e9
    for function, times in ((named, 3), (in_place, 1)):
        more = least(function, LARGE, machine=slow).least - least(function, LARGE, machine=fast).least
        assert more == pytest.approx(times * cost, rel=0.01)
    small = LARGE[:1000]
    assert least(named, small, machine=slow).least == least(named, small, machine=fast).least


def test_arrays_whose_axes_are_turned_are_left_to_numpy() -> None:
    """NumPy goes through them as they lie."""
    turned, straight = least(lambda x: x.T * 2 + x.T, LARGE), least(lambda x: x * 2 + x, LARGE)
    assert straight.is_faster(is_tried=False)
    assert straight.is_faster_in_c(is_tried=False)
    assert not turned.is_faster(is_tried=False)
    assert not turned.is_faster_in_c(is_tried=False)


def test_what_is_measured_is_tried_though_little_may_be_gained() -> None:
    """NumPy adds three numbers of each row as slowly as ever; the least that it may take says nothing of that."""
    found = least(lambda x: np.sqrt((x**2).sum(axis=1)), np.random.default_rng(0).random((20_000, 3)))
    assert found.is_faster_in_c(is_tried=True)
    assert not found.is_faster_in_c(is_tried=False)


def test_of_small_arrays_leaving_c_counts() -> None:
    """Each function that C leaves to NumPy takes microseconds, as long as arithmetic on some thousand elements."""

    small, long, large = least(curve, X[:5], 2), least(curve, X[:5]), least(curve, X)
    assert small.between == long.between == large.between > 3e-6
    assert small.least > 1.25 * small.in_c
    assert not small.is_faster_in_c(is_tried=False)
    assert long.is_faster_in_c(is_tried=False)
    assert large.is_faster_in_c(is_tried=False)


def curve(x: Array, count: int = 40) -> Array:
    """Arithmetic, and a function that C leaves to NumPy."""
    return np.asarray(np.log(chain(x, count)) + 1)


@pytest.fixture
def schedules(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """In which thread each schedule was asked for."""
    asked: list[threading.Thread] = []
    own = AutoPipeline._running_for

    def running_for(self: AutoPipeline, *given: Any, **named: Any) -> Any:
        asked.append(threading.current_thread())
        return own(self, *given, **named)

    monkeypatch.setattr(AutoPipeline, "_running_for", running_for)
    return asked


@needs_compiler
@pytest.mark.usefixtures("moves_at_once")
@pytest.mark.parametrize("called", [stencil, curve])
def test_what_the_caches_hold_waits_for_c_without_a_schedule(called: Any, schedules: list[threading.Thread]) -> None:
    """No first call takes longer for a schedule that would gain nothing."""
    function, small, before = jit(called), X[:30], called(X[:30])
    np.testing.assert_array_equal(function(small), before, strict=True)
    assert function.wait_native(SECONDS)
    np.testing.assert_array_equal(function(small), before, strict=True)
    assert schedules
    assert threading.main_thread() not in schedules
    assert "runs in C" in function.explain(small)


@pytest.mark.usefixtures("moves_at_once")
def test_what_c_cannot_do_faster_is_never_scheduled(schedules: list[threading.Thread]) -> None:
    function = jit(curves)
    np.testing.assert_array_equal(function(X), curves(X), strict=True)
    assert function.wait_native(SECONDS)
    assert not schedules
    assert is_as_it_is(function, X)


@pytest.mark.usefixtures("moves_at_once")
def test_no_bit_changes_where_c_fails(monkeypatch: pytest.MonkeyPatch, schedules: list[threading.Thread]) -> None:
    """What pieces may compute otherwise stays with them, as they were."""

    def fails(*_: Any) -> Any:
        raise sl.CompilationError("it fails")

    function, small = jit(curve), X[:30]
    monkeypatch.setattr("slinky.native.plans.has_exact_code", fails)
    before = function(small)
    with pytest.warns(CompilationFailedWarning, match="it fails"):
        assert function.wait_native(SECONDS)
    np.testing.assert_array_equal(function(small), before, strict=True)
    assert threading.main_thread() not in schedules
    assert not is_as_it_is(function, small)


def test_one_operation_gains_nothing_in_c_and_several_do() -> None:
    gains = []
    for count in range(1, 5):
        found = least(lambda x, count=count: x + sum(range(count)) if count == 1 else chain(x, count), X)
        gains.append(found.least / found.in_c)
    assert gains[0] < 1.25
    assert all(one < other for one, other in itertools.pairwise(gains))


def chain(x: Any, count: int) -> Any:
    for k in range(count):
        x = x * (k + 0.5)
    return x


def test_clearing_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path))
    assert 1e8 < machines._clearing() < 1e13
    assert 1e8 < machines.measure().clearing_bandwidth < 1e13


def test_of_arrays_that_are_assigned_to_numpy_writes_the_parts_alone() -> None:
    """After one copy of what it was given."""

    def columns(x: Array, count: int) -> Array:
        y = x.copy()
        for k in range(count):
            y[:, k] = y[:, k] * 2 - y[:, k].min()
        return y

    x = LARGE[:1000, :900]
    copied = 2 * x.nbytes / MACHINE.bandwidth(2 * x.nbytes)
    found = least(lambda x: columns(x, 6), x)
    assert copied < found.least < 1.5 * copied
    assert x.nbytes < found.on_the_way < 1.1 * x.nbytes
    assert not found.is_faster(is_tried=False)
    assert not found.is_faster_in_c(is_tried=False)
    assert is_as_it_is(jit(columns), x, 6)


def test_arrays_that_are_assigned_to_are_not_cleared_again() -> None:
    def ends(x: Array) -> Array:
        y = x + 1
        y[0] = y[1] * 2
        z = y[-1] * y[0]
        y[-1] = z
        return y

    slow, fast = (sl.Machine(clearing_bandwidth=b) for b in (1e9, 1e15))
    more = least(ends, LARGE, machine=slow).least - least(ends, LARGE, machine=fast).least
    assert more == pytest.approx(LARGE.nbytes / 1e9, rel=0.01)
