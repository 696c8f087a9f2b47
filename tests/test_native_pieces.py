"""Calls of many elements by C: piece after piece, so that signals are heard in between, with the same results."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from natively import of, on_inputs
from random_arithmetic import plane, same_bits

import slinky as sl
from slinky.native import carriers

pytestmark = needs_compiler
y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]
rng = np.random.default_rng(16)


@pytest.fixture(autouse=True, params=[1, 7, 60, 200])
def most(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many elements are one piece, of eight bytes each."""
    monkeypatch.setattr(carriers, "PATIENCE", 1)
    monkeypatch.setattr(carriers, "LEAST_BYTES", 8 * request.param)
    return int(request.param)


def agrees(p: sl.Pipeline, *arrays: Any, result: Array) -> None:
    expected = np.zeros_like(result)
    p.run(*arrays, expected, backend="python")
    p.run(*arrays, result, backend="native")
    same_bits(result, expected)


@pytest.mark.parametrize("turn", [lambda a: a, np.asfortranarray, lambda a: a[::-1, ::-1], lambda a: a[1::2, ::-2]])
def test_whatever_lies_how_in_memory(turn: Callable[[Array], Array]) -> None:
    a = turn(rng.random((13, 34)))
    row = rng.random(a.shape[1])
    p, _ = of(lambda a, row: np.sqrt(abs(a * 2 - row)) + row, a, row)
    agrees(p, a, row, result=np.zeros(a.shape))
    agrees(p, a, row, result=np.zeros(a.shape[::-1]).T)
    agrees(p, a, row, result=turn(np.zeros((13, 34))))


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
def test_steps_and_coordinates(step: int) -> None:
    a, out = plane("a", np.float64), plane("out", np.float64)
    sl.arithmetic(a[y * step, x] * 2 + y + a[y * step, 0] - x, out[y, x], name="term")
    p = sl.build_pipeline([a], [out])
    values = rng.random((11 * abs(step), 9))
    first = 0 if step > 0 else -((len(values) - 1) // -step)
    found, expected = (sl.Buffer(np.zeros((11, 9)), min=(first, 0)) for _ in range(2))
    if step < 0:
        found, expected = (sl.Buffer(np.zeros((-first + 1, 9)), min=(first, 0)) for _ in range(2))
    p.run(values, expected, backend="python")
    p.run(values, found, backend="native")
    same_bits(found.array, expected.array)


def test_rows_that_are_aligned_in_part() -> None:
    a = np.zeros(5 * 41 + 8, np.uint8)
    rows = np.ndarray((5, 10), np.float32, a, strides=(41, 4))
    rows[...] = rng.random((5, 10))
    p, _ = of(lambda a: np.sqrt(a * 2 + 1), rows)
    agrees(p, rows, result=np.zeros((5, 10), np.float32))
    agrees(p, rows, result=np.ndarray((5, 10), np.float32, np.zeros(5 * 41 + 8, np.uint8), strides=(41, 4)))


def test_exceptions_of_all_pieces_are_told_once() -> None:
    a, b = np.ones((6, 50)), np.ones((6, 50))
    b[0, 3] = b[3, 3] = b[5, 49] = 0
    p, _ = of(lambda a, b: a * 2 / b + 1, a, b)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        p.run(a, b, np.zeros((6, 50)), backend="native")
    assert [str(each.message) for each in told] == ["divide by zero encountered in arithmetic"]


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="nothing sends signals here")
def test_a_signal_is_heard_between_pieces(most: int) -> None:
    """It is sent when the first piece is done, and whoever hears it sees what is done so far."""
    a, result = np.ones((300, 100)), np.zeros((300, 100))
    p, _ = on_inputs(lambda a: np.sqrt(a * 4) + 1, [plane("a", np.float64)])
    plan = p.compile(backend="native")
    pieces = carriers._pieces

    def sent(*given: Any) -> Any:
        for number, piece in enumerate(pieces(*given)):
            if number == 1:
                signal.raise_signal(signal.SIGINT)
            yield piece

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which jobs in the background ignore
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(carriers, "_pieces", sent)
            with pytest.raises(KeyboardInterrupt):
                plan(a, result)
    finally:
        signal.signal(signal.SIGINT, before)
    done = np.count_nonzero(result)
    assert 0 < done <= most
    plan(a, result)
    assert (result == 3).all()
