"""Running sums and products of traced functions along axes whose elements lie apart: NumPy's bits and words, sooner."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_arithmetic import same_bits
from traced import MACHINE

import slinky as sl
from slinky.frontend.accumulating import run_into

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
SHAPES = [(7, 300), (300, 7), (1, 256), (0, 300), (5, 4, 80), (2, 3, 257), (3, 300, 1), (600,)]


@pytest.mark.parametrize("function", [np.cumsum, np.cumprod])
@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "f2", "f4", "f8", "c8"])
def test_what_numpy_gives(function: Function, dtype: str) -> None:
    for shape in SHAPES:
        source = (np.random.default_rng(shape).standard_normal(shape) * 3).astype(dtype)
        for axis in range(len(shape)):
            for told in (None, np.float32, np.int16, np.float64):
                for given in (source, np.asfortranarray(source), source[::-1], source[..., ::2]):
                    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                        expected = function(given, axis=axis, dtype=told)
                        found = np.full_like(expected, 9, order="C")
                        run_into(function, given, found, {"axis": axis, "dtype": told} if told else {"axis": axis})
                    same_bits(found, expected)


@pytest.mark.parametrize("action", ["warn", "raise", "ignore"])
def test_of_errors_numpy_tells(action: Any) -> None:
    def sums(a: Any) -> Any:
        return np.cumsum(a * 2, axis=0) / 2

    a = np.full((6, 400), 3e38, np.float32)
    a[:, 1:] = 1
    a[:2, 5] = np.inf, -np.inf
    traced = sl.jit(smallest=0, workers=1, machine=MACHINE, native=False)(sums)

    def told(function: Function) -> tuple[Any, list[str]]:
        with np.errstate(all=action), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = function(a / 2)
            except FloatingPointError as error:
                return None, [str(error)]
        return found, sorted({str(each.message) for each in caught})

    (expected, words), (found, found_words) = told(sums), told(traced)
    assert found_words == words
    assert len(words) == (0 if action == "ignore" else 1 if action == "raise" else 2)
    if expected is not None:
        same_bits(found, expected)


def test_rows_are_added_to_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not column by column, where rows are long: so many calls are made, instead of one."""
    calls = []
    monkeypatch.setitem(run_into.__globals__["RUNNING"], np.cumsum, lambda *a, **k: calls.append(a) or np.add(*a, **k))
    for shape, steps in (((7, 300), 6), ((7, 128), 6), ((7, 100), 0), ((4, 7, 300), 0)):
        calls.clear()
        source = np.ones(shape)
        run_into(np.cumsum, source, np.empty(shape), {"axis": len(shape) - 1 if len(shape) > 2 else 0})
        assert len(calls) == steps


def test_threads_do_not_share_strips_of_columns() -> None:
    """A call for each row, of few columns: one thread at a time makes these, and the other one waits for its turn."""

    def above(x: Any) -> Any:
        return np.cumsum(np.sqrt(x), axis=0) - x

    def along(x: Any) -> Any:
        return np.cumsum(np.sqrt(x), axis=1) - x

    x = np.ones((1500, 1500))
    for function, is_shared in ((above, False), (along, True)):
        p = sl.jit(smallest=0, machine=sl.Machine())(function).pipeline(x).auto(x, workers=2, machine=sl.Machine())
        assert ("parallel" in str(p)) == is_shared


def test_paths_by_strips_of_columns() -> None:
    def paths(z: Any) -> Any:
        path = np.cumsum(z * 0.5, axis=0)
        return path.max(axis=0), path[-1]

    z = np.random.default_rng(0).standard_normal((50, 20_000)).astype(np.float32)
    traced = sl.jit(smallest=0, workers=1, machine=sl.Machine())(paths)
    for one, other in zip(traced(z), paths(z), strict=True):
        same_bits(one, other)
    assert traced.pipeline(z).auto(z, workers=1, machine=sl.Machine()).memory(z).peak_bytes < z.nbytes / 2
