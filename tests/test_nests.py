"""Nests in C: what the plan in Python gives, bit for bit; what is done where one declines; what is said of errors."""

from __future__ import annotations

import ctypes
import signal
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
import traced
from c_programs import needs_compiler
from hypothesis import settings
from random_arithmetic import numbers, plane, same_bits
from random_nests import arguments, pipeline, scheduled
from test_plan_properties import ring_wherever_possible

import slinky as sl
from slinky.ir.statements import Alloc
from slinky.native import entering, nests
from slinky.runtime import arena, mirrored, storage
from slinky.symbolic.intervals import Interval

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]
pytestmark = [needs_compiler, pytest.mark.usefixtures("quick_libraries")]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What each call of a nest said: whether its steps were left to Python."""
    said: list[bool] = []
    make = nests.nest_function

    def telling(*given: Any) -> Callable[..., bool]:
        function = make(*given)

        def called(*values: Any) -> bool:
            said.append(bool(function(*values)))
            return said[-1]

        return called

    monkeypatch.setattr(nests, "nest_function", telling)
    return said


def blur(*, by_rows: bool = True) -> sl.Pipeline:
    """Two stencils, the first in a window of three rows that slides."""
    a, mid, out = (plane(name, np.float32) for name in ("a", "mid", "out"))
    sl.arithmetic(a[y, x - 1] + a[y, x] * 2 + a[y, x + 1], mid[y, x], name="across")
    sl.arithmetic((mid[y - 1, x] + mid[y, x] * 2 + mid[y + 1, x]) / 16, out[y, x], name="down")
    p = sl.build_pipeline([a], [out])
    if not by_rows:
        return p
    p = sl.compute_at(sl.split_loop(p, "down.y", 1), "across", "for y")
    return sl.fold_storage(sl.slide_window(p, "across", "for y"), "alloc mid", "y")


def blurred(a: Array) -> Array:
    mid = a[:, :-2] + a[:, 1:-1] * np.float32(2) + a[:, 2:]
    result: Array = (mid[:-2] + mid[1:-1] * np.float32(2) + mid[2:]) / np.float32(16)
    return result


# ----------------------------------------------------------------------------------------------------------------
# Results
# ----------------------------------------------------------------------------------------------------------------

SHAPES = [(7, 5), (1, 1), (13, 11), (0, 3), (5, 1), (3, 17)]


@pytest.mark.parametrize("seed", range(settings().max_examples // 4))
def test_the_plan_in_python_and_the_interpreter_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of random arithmetic, with callbacks here and there, under random schedules, on arrays of many layouts."""
    if seed % 2:
        monkeypatch.setattr(storage, "ring_size", ring_wherever_possible)
        monkeypatch.setattr(arena, "ring_size", ring_wherever_possible)
    unscheduled = pipeline(seed)
    p = scheduled(unscheduled, seed, 12)
    plan = p.compile(backend="native")
    with np.errstate(all="ignore"):
        for shape in SHAPES[seed % 2 :: 2]:
            results = []
            for run in (
                lambda *given, **names: unscheduled.run(*given, backend="interpreter", **names),
                p,
                plan,
            ):
                inputs, out, names = arguments(p, shape, seed)
                run(*inputs, out, **names)
                results.append(out.array)
            same_bits(results[1], results[0])
            same_bits(results[2], results[0])


@pytest.mark.parametrize("shape", [(64, 33), (1, 1), (2, 7), (5, 1)])
def test_a_window_that_slides_is_one_call_in_c(shape: tuple[int, int], told: list[bool]) -> None:
    p = blur()
    plan = p.compile(backend="native")
    values = numbers((shape[0] + 2, shape[1] + 2), np.float32)
    for given in (values, np.asfortranarray(values), np.repeat(values, 2, 1)[:, ::2], values[::-1].copy()[::-1]):
        found = sl.Buffer(np.zeros(shape, np.float32), min=(1, 1))
        plan(given, found)
        same_bits(found.array, blurred(values))
    assert told == [False] * 4
    statistics = [p.run(values, found, backend=backend) for backend in ("native", "interpreter")]
    assert statistics[0].calls == statistics[1].calls == {"across": shape[0] + 2, "down": shape[0]}
    assert statistics[0].elements == statistics[1].elements
    assert statistics[0].program_bytes == statistics[1].program_bytes


def test_the_plan_says_what_runs_in_c() -> None:
    source = blur().compile(backend="native").source
    assert "    # in C: across, down; what that declines is done here\n" in source
    assert source.count("for y in range") == 2  # the plan that does it itself stands there, too


def test_a_callback_in_between_is_no_obstacle(told: list[bool]) -> None:
    """The largest parts without it are in C: here loops within an iteration."""
    a, b, c, d, out = (plane(name, np.float32) for name in ("a", "b", "c", "d", "out"))
    sl.arithmetic(a[y, x] * 2, b[y, x], name="first")
    sl.arithmetic(b[y, x] + 1, c[y, x], name="second")
    sl.Func(lambda c, out: np.negative(c, out=out), [c[y, x]], [d[y, x]], name="opaque")
    sl.arithmetic(d[y, x] - 3, out[y, x], name="third")
    p = sl.split_loop(sl.build_pipeline([a], [out]), "third.y", 4)
    p = sl.split_loop(sl.split_loop(sl.split_loop(p, "first.y", 1), "second.y", 1), "opaque.y", 2)
    values, found = numbers((10, 6), np.float32), np.zeros((10, 6), np.float32)
    p.compile(backend="native")(values, found)
    same_bits(found, -(values * 2 + 1) - np.float32(3))
    assert told
    assert not any(told)


def test_iterations_of_a_parallel_loop_are_calls_in_c(told: list[bool]) -> None:
    p = sl.compute_at(sl.split_loop(blur(by_rows=False), "down.y", 4), "across", "for y")
    p = sl.parallelize_loop(sl.store_at(p, "alloc mid", "for y"), "for y")
    plan = p.compile(backend="native")
    values, found = numbers((42, 19), np.float32), sl.Buffer(np.zeros((40, 17), np.float32), min=(1, 1))
    plan(values, found)
    same_bits(found.array, blurred(values))
    assert told == [False] * 10
    counted, usual = (p.run(values, found, backend=backend, threads=2) for backend in ("native", "python"))
    assert (counted.calls, counted.elements) == (usual.calls, usual.elements)


def test_runs_at_the_same_time() -> None:
    plan = blur().compile(backend="native")
    inputs = [numbers((60, 40), np.float32, seed) for seed in range(2)]
    results: list[list[Array]] = [[], []]

    def work(number: int) -> None:
        for _ in range(20):
            found = sl.Buffer(np.zeros((58, 38), np.float32), min=(1, 1))
            plan(inputs[number], found)
            results[number].append(found.array)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for values, found in zip(inputs, results, strict=True):
        assert len(found) == 20
        for each in found:
            same_bits(each, blurred(values))


# ----------------------------------------------------------------------------------------------------------------
# Where a nest declines, or stops
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 5 - (1 << 31), (1 << 31) - 20, (1 << 31) - 5, 1 << 40, -(1 << 62), 1 << 70])
def test_coordinates_far_away(first: int, told: list[bool]) -> None:
    """What 64 bits may not hold is left to Python, whose integers have any size."""
    plan = blur().compile(backend="native")
    values = numbers((12, 9), np.float32)
    found = sl.Buffer(np.zeros((10, 7), np.float32), min=(first + 1, 1))
    plan(sl.Buffer(values, min=(first, 0)), found)
    same_bits(found.array, blurred(values))
    assert told == [not -(1 << 31) <= first <= (1 << 31) - 11]


def test_elements_that_are_not_where_their_dtype_wants_them(told: list[bool]) -> None:
    values = np.zeros(12 * 9 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(12, 9)
    values[...] = numbers((12, 9), np.float32)
    found = sl.Buffer(np.zeros((10, 7), np.float32), min=(1, 1))
    blur().compile(backend="native")(values, found)
    same_bits(found.array, blurred(values))
    assert told == [True]


def test_windows_that_move_on_in_plain_memory(told: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system maps no memory twice, rows are moved by Python."""
    monkeypatch.setattr(mirrored, "available", lambda: False)
    values, found = numbers((402, 202), np.float32), sl.Buffer(np.zeros((400, 200), np.float32), min=(1, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        blur().compile(backend="native")(values, found)
    same_bits(found.array, blurred(values))
    assert told == [True]


def scaled(times: int = 1) -> sl.Pipeline:
    """A loop by rows of arithmetic with a number of the run, of an integer dtype that may not hold it."""
    a, mid, out = (plane(name, np.int16) for name in ("a", "mid", "out"))
    n = sl.scalar("n")
    sl.arithmetic(a[y, x] + n * times, mid[y, x], name="more")
    sl.arithmetic(mid[y, x] * 2, out[y, x], name="twice")
    return sl.compute_at(sl.split_loop(sl.build_pipeline([a], [out]), "twice.y", 1), "more", "for y")


def test_numbers_that_do_not_fit_are_errors_as_ever(told: list[bool]) -> None:
    p = scaled()
    plan = p.compile(backend="native")
    values, found = numbers((4, 5), np.int16), np.zeros((4, 5), np.int16)
    plan(values, found, n=7)
    same_bits(found, (values + np.int16(7)) * np.int16(2))
    for n in (1 << 20, 1 << 80):
        with pytest.raises(OverflowError) as native:
            plan(values, found, n=n)
        with pytest.raises(OverflowError) as usual:
            p(values, found, n=n)
        assert str(native.value) == str(usual.value)
        assert isinstance(native.value, sl.ArgumentError)
    assert told == [False]


def test_numbers_computed_of_others_that_do_not_fit_are_errors_as_ever(told: list[bool]) -> None:
    p = scaled(2)
    plan = p.compile(backend="native")
    values, found = numbers((4, 5), np.int16), np.zeros((4, 5), np.int16)
    plan(values, found, n=7)
    same_bits(found, (values + np.int16(14)) * np.int16(2))
    for n in (1 << 14, 1 << 80):
        for run in (plan, p):
            with pytest.raises(sl.ArgumentError, match=r"2\*n: expected a value of int16 \(-32768..32767\), as which"):
                run(values, found, n=n)
    assert told == [False, False, False, False, True, True]


def test_what_ends_a_run_is_said_as_ever(told: list[bool]) -> None:
    """A program made by hand, whose last iteration writes beyond a buffer: C stops there, and Python says why."""
    a, mid, out = (plane(name, np.float32) for name in ("a", "mid", "out"))
    sl.arithmetic(a[y, x] * 2, mid[y, x], name="first")
    sl.arithmetic(mid[y, x] + mid[y + 1, x], out[y, x], name="second")
    program = sl.compute_at(sl.split_loop(sl.build_pipeline([a], [out]), "second.y", 1), "first", "for y").program
    body = tuple(
        attrs.evolve(s, box=(Interval(s.box[0].min, s.box[0].max - 1), s.box[1])) if isinstance(s, Alloc) else s
        for s in program.body
    )
    p = sl.Pipeline(attrs.evolve(program, body=body))
    values, found = numbers((9, 4), np.float32), np.zeros((8, 4), np.float32)
    said = []
    for run in (p.compile(backend="native"), p):
        with pytest.raises(sl.ExecutionError, match="leaves the buffer") as caught:
            run(values, found)
        said.append((str(caught.value), caught.value.__notes__))
    assert said[0] == said[1]
    assert told == [True]


def test_exceptions_of_floats_are_warnings_or_errors_as_asked() -> None:
    plan = blur().compile(backend="native")
    values = np.full((5, 5), 3e38, np.float32)
    found = sl.Buffer(np.zeros((3, 3), np.float32), min=(1, 1))
    with pytest.warns(RuntimeWarning, match="overflow encountered"):
        plan(values, found)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered"):
        plan(values, found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan(np.ones((5, 5), np.float32), found)  # nothing is left of what happened before
    same_bits(found.array, np.ones((3, 3), np.float32))


class _EndedError(Exception):
    """What the handler of a signal raises."""


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="threads are not sent signals here")
def test_a_signal_ends_a_nest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sent when the first rows are there, it is heard before the last ones are."""
    monkeypatch.setattr(entering, "PATIENCE", 10_000)
    plan = blur().compile(backend="native")
    values, result = np.ones((4000, 1000), np.float32), np.zeros((3998, 998), np.float32)
    found = sl.Buffer(result, min=(1, 1))
    main = threading.get_ident()

    def send() -> None:
        while not result[0, 0]:
            time.sleep(0)
        signal.pthread_kill(main, signal.SIGUSR1)

    def run_and_send(sender: threading.Thread) -> None:
        sender.start()
        plan(values, found)
        sender.join()

    def end(*_: object) -> None:
        raise _EndedError

    before = signal.signal(signal.SIGUSR1, end)
    try:
        for _ in range(50):  # now and then the thread comes too late
            result[...] = 0
            sender = threading.Thread(target=send)
            with pytest.raises(_EndedError):
                run_and_send(sender)
            sender.join()
            if result[0].all() and not result[-1].any():
                break
        else:
            pytest.fail("no signal was heard before the nest was done")
    finally:
        signal.signal(signal.SIGUSR1, before)
    plan(values, found)
    assert (result == 1).all()


def of_functions(a: sl.BufferExpr, out: sl.BufferExpr) -> None:
    sl.arithmetic(np.exp(np.sin(a[y, x])), out[y, x], name="computed")


def of_sums(a: sl.BufferExpr, out: sl.BufferExpr) -> None:
    sl.reductions.sum(a[y, :], out[y], name="computed")


@pytest.mark.parametrize(("func", "columns", "rank"), [(of_functions, 8, 2), (of_sums, 256, 1)])
def test_signals_are_asked_for_by_what_is_done_rather_than_written(
    func: Callable[..., None], columns: int, rank: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions weigh as many lines, and a sum as much as what it adds up."""
    asked: list[None] = []
    ask = ctypes.PYFUNCTYPE(ctypes.c_int)(lambda: asked.append(None) or 0)
    monkeypatch.setattr(ctypes.pythonapi, "PyErr_CheckSignals", ask)
    monkeypatch.setattr(entering, "PATIENCE", 100_001)
    a, out = sl.BufferExpr("a", np.float64, 2), sl.BufferExpr("out", np.float64, rank)
    func(a, out)
    plan = sl.split_loop(sl.build_pipeline([a], [out]), "computed.y", 1).compile(backend="native")
    plan(np.ones((4000, columns)), np.empty((4000, columns)[:rank]))
    assert len(asked) >= 9


@pytest.mark.parametrize("shape", [(20, 10), (40, 10), (64, 64)])
def test_loops_of_large_steps_and_little_work_are_cut_into_pieces_that_follow_each_other(
    shape: tuple[int, int],
) -> None:
    """After so many iterations, times a step, it is asked for signals, which is more than 32 bits hold."""

    def put_around(a: Any) -> Any:
        apart = np.ediff1d(a.T * 1, 3, [1, 2])
        np.add(apart, apart, out=apart)
        return apart[..., None] * 2

    values = np.arange(np.prod(shape), dtype=np.int16).reshape(shape)
    same_bits(traced.jit(put_around, native=True, machine=traced.PIECES)(values), put_around(values))


def test_a_compiler_that_fails_is_an_error_with_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nests, "HEAD", "int no_such_thing(;\n")
    with pytest.raises(sl.CompilationError, match=r"(?s)failed:.*error"):
        blur().compile(backend="native")
