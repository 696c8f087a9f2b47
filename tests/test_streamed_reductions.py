"""Traced reductions by pieces of what they reduce: NumPy's bits, in less memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traced import MACHINE, PIECES, assert_same, jit

import slinky as sl

Array = np.ndarray[Any, Any]


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    """Numbers of very different sizes, whose sums have other bits in almost every other order."""
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return (random.standard_normal(shape) * 10.0 ** random.integers(-6, 6, shape)).astype(dtype)
    return random.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)


def in_pieces(function: Callable[[Any], Any], x: Array, pieces: int, axis: int = 0) -> Any:
    """What a function of one reduction gives by pieces of so many coordinates."""
    p = jit(function).pipeline(x)
    (call,) = [call for call in p.find_all("_ = _") if call.func() != "doubled"]
    result = np.empty_like(np.asarray(function(x)))
    sl.split_reduction(p, call, f"along_{axis}", pieces)(x, result)
    return result


SUMS: dict[str, tuple[Callable[[Any], Any], list[tuple[int, ...]]]] = {
    "all of a row": (lambda x: x.sum(), [(1,), (7,), (130,), (4097,), (30_011,)]),
    "all of rows": (lambda x: x.sum(), [(3, 5), (40, 3), (37, 129), (300, 501), (9, 1), (1, 9), (2, 9000)]),
    "all of planes": (lambda x: np.sum(x), [(2, 3, 5), (11, 13, 127), (3, 1, 5000)]),
    "mean of all": (lambda x: x.mean(), [(3, 5), (300, 501)]),
    "along columns": (lambda x: x.sum(axis=0), [(3, 5), (40, 2), (301, 3), (20, 2000)]),
    "along columns of planes": (lambda x: np.add.reduce(x, axis=0), [(2, 3, 5), (11, 13, 127)]),
    "of planes": (lambda x: x.sum(axis=(0, 1)), [(2, 3, 5), (11, 13, 127), (5, 1, 1024)]),
    "mean along columns": (lambda x: x.mean(axis=0), [(3, 5), (301, 3), (20, 2000)]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SUMS)
def test_sums_of_floats_by_pieces_have_the_same_bits(name: str, dtype: Any) -> None:
    function, shapes = SUMS[name]
    for shape in shapes:
        x = numbers(shape, dtype)
        for pieces in (1, 2, 7, 64, 4096):
            assert in_pieces(function, x, pieces).tobytes() == np.asarray(function(x)).tobytes(), (shape, pieces)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40_000), st.integers(1, 9000), st.integers(0, 100))
def test_the_sum_of_a_row_in_any_pieces(count: int, pieces: int, seed: int) -> None:
    x = numbers((count,), np.float32, seed)
    assert in_pieces(lambda x: x.sum(), x, max(pieces, count // 50)).tobytes() == x.sum().tobytes()


OTHERS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "max": (lambda x: x.max(), 0),
    "least of columns": (lambda x: x.min(axis=0), 0),
    "most of rows": (lambda x: np.max(x, axis=1), 1),
    "outer axes": (lambda x: x.max(axis=(0, 2)), 0),
    "all": (lambda x: x.all(), 0),
    "any": (lambda x: x.any(axis=1), 1),
    "whole": (lambda x: x.sum(axis=(1, 2)), 1),
    "product": (lambda x: np.prod(x, axis=0), 0),
}


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32"])
@pytest.mark.parametrize("name", OTHERS)
def test_what_has_no_order_goes_by_pieces_along_any_axis(name: str, dtype: str) -> None:
    function, axis = OTHERS[name]
    x = numbers((7, 5, 6), dtype)
    if dtype == "float32":
        x[3, 2, 1] = np.nan
        if name in ("whole", "product"):
            return  # floats have an order
    for pieces in (1, 3, 10):
        assert_same(in_pieces(function, x, pieces, axis), np.asarray(function(x)))


@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        (lambda x: x.sum(axis=1), np.float64),  # a row is not added from the beginning on
        (lambda x: x.prod(), np.float64),
        (lambda x: x.sum(), np.float16),
        (lambda x: x.mean(), np.int32),  # converted on the way
        (lambda x: x.var(), np.float64),
        (lambda x: np.linalg.norm(x, axis=0), np.float64),
        (lambda x: x.max(initial=3), np.float64),
    ],
)
def test_other_reductions_declare_no_pieces(function: Callable[[Any], Any], dtype: Any) -> None:
    x = abs(numbers((6, 5), np.float64)).astype(dtype)
    p = jit(function).pipeline(x)
    for axis in (0, 1):
        with pytest.raises(sl.SchedulingError, match="does not say how it reduces"):
            sl.split_reduction(p, p.find_all("_ = _")[0], f"along_{axis}", 2)


def error(x: Any, y: Any) -> Any:
    """As people write it."""
    return ((x - y) ** 2).mean(), abs(x - y).max(), np.sqrt(((x - y) ** 2).sum(axis=0))


def test_what_is_reduced_need_not_be_there() -> None:
    x, y = numbers((600, 400), np.float64), numbers((600, 400), np.float64, 1)
    for function, limit in ((lambda x, y: ((x - y) ** 2).mean(), 8), (lambda x, y: abs(x - y).max(), 8)):
        p = jit(function).pipeline(x, y)
        result = np.empty_like(np.asarray(function(x, y)))
        scheduled = sl.auto_schedule(
            p, x, y, result, workers=1, machine=sl.Machine(near_bytes=1 << 16, shared_bytes=1 << 18)
        )
        assert scheduled.run(x, y, result).program_bytes < x.nbytes / limit
        assert result.tobytes() == np.asarray(function(x, y)).tobytes()


@pytest.mark.parametrize("options", [{}, {"native": True}, {"exact": True}], ids=["python", "native", "exact"])
@pytest.mark.parametrize("machine", [MACHINE, PIECES], ids=["whole", "by pieces"])
def test_functions_that_reduce_give_the_same(machine: sl.Machine, options: dict[str, Any]) -> None:
    traced = jit(error, machine=machine, **options)
    for shape in ((60, 50), (64, 33), (1, 9), (9, 1)):
        x, y = numbers(shape, np.float64), numbers(shape, np.float64, 1)
        assert_same(traced(x, y), error(x, y))
