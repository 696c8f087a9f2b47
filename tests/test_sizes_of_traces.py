"""Sizes in traced functions whose kept traces serve others: what errors tell of them, and integers of few bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from traced import assert_same, jit, kept

import slinky as sl


def _outcome(function: Any, *given: Any) -> Any:
    """What a function gives, or what it raises."""
    try:
        return function(*given)
    except Exception as error:
        return type(error).__name__, str(error)


def _assert_the_same_of_all(function: Any, dtype: Any, sizes: tuple[int, ...]) -> None:
    traced = jit(function)
    for n in sizes:
        x = (np.arange(n) % 7).astype(dtype)
        assert_same(_outcome(traced, x.copy()), _outcome(function, x.copy()))


def _assigned(x: Any, place: Any, value: Any) -> Any:
    y = x.copy()
    y[place] = value
    return y


def _added(x: Any, value: Any) -> Any:
    y = x.copy()
    y += value
    return y


# Errors ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "refused",
    [
        lambda x: x[10],
        lambda x: _assigned(x, 20, 3),
        lambda x: _assigned(x, slice(None), np.ones(3)),
        lambda x: _assigned(x, np.ones(3, bool), 2),
        lambda x: x + np.ones(3),
        lambda x: _added(x, np.ones(3)),
        lambda x: np.add(x, 1, out=np.ones(3)),
        lambda x: np.add(x, 1, out=np.ones(3), where=x > 0),
        lambda x: np.add(np.ones((3, 3)), x[:1], out=np.ones(3)),
        lambda x: np.diag(x, 1)[7, 30],
        lambda x: x ** x[:2],
    ],
)
def test_caught_errors_tell_the_sizes_of_their_call(refused: Any) -> None:
    """One trace told all later calls the size of the first."""

    def caught(x: Any) -> Any:
        try:
            return refused(x)
        except (IndexError, ValueError) as error:
            return x * 2, str(error)

    _assert_the_same_of_all(caught, np.float64, (7, 5, 9, 7, 2, 40))


def test_a_caught_error_of_one_size_is_none_of_another() -> None:
    def caught(x: Any) -> Any:
        try:
            return np.multiply(x, len(x), dtype=np.uint8, casting="unsafe")
        except OverflowError as error:
            return x, str(error)

    _assert_the_same_of_all(caught, np.int16, (300, 129, 301, 300))


def test_arrays_that_cannot_be_equal_share_a_trace() -> None:
    """No text is made of their sizes, so none is asked for."""
    traced = jit(lambda x, y: (x * 2, np.array_equiv(x, y)))
    for n, m in ((5, 3), (7, 4), (9, 2)):
        assert_same(traced(np.ones(n), np.ones(m)), (np.full(n, 2.0), False))
    assert kept(traced) == 1


# Integers of few bits -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint64, np.bool_, np.float16])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x > len(x),
        lambda x: len(x) != x,
        lambda x: x + len(x),
        lambda x: x - len(x) // 2,
        lambda x: x * -len(x),
        lambda x: np.clip(x, 0, len(x)),
        lambda x: np.maximum(len(x), x),
        lambda x: np.where(x > 2, x, len(x)),
        lambda x: np.zeros(len(x), x.dtype) + len(x),
        lambda x: _added(x, len(x)),
        lambda x: x[0] + len(x),
        lambda x: np.select([x > 2], [len(x)], x),
        lambda x: np.select([x > 2], [x], len(x)),
        lambda x: np.choose(x > 2, [x, len(x)]),
        lambda x: x ** len(x[:3]),
        lambda x: x[0] ** len(x[:3]),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_sizes_beside_integers_of_few_bits(function: Any, dtype: Any) -> None:
    """NumPy compares a size with an array that cannot hold it, clips by it, and refuses to add it."""
    for sizes in ((7, 300, 5, 2, 1, 3, 40000), (300, 129, 2, 6, 300), (2, 3, 2)):
        _assert_the_same_of_all(function, dtype, sizes)


def test_sizes_that_integers_hold_share_a_trace() -> None:
    traced = jit(lambda x: x // len(x) + np.minimum(x, len(x)))
    for n in (7, 9, 200):
        x = np.arange(n, dtype=np.uint8)
        assert_same(traced(x), traced.__wrapped__(x))
    assert kept(traced) == 1
    assert "good where" not in jit(lambda x: x + len(x)).explain(np.arange(5))  # of 64 bits: all sizes are


def test_lazy_arrays_beside_sizes_that_they_do_not_hold() -> None:
    lazy = sl.lazy(np.zeros(300, np.uint8))
    assert not np.asarray(lazy > len(lazy)).any()
    assert_same(np.asarray(np.clip(lazy, 1, len(lazy))), np.ones(300, np.uint8))


@pytest.mark.parametrize("number", [1, 300, -1, 1.5, True])
def test_select_refuses_numbers_that_numpy_refuses(number: Any) -> None:
    """Which are ints beside unsigned integers, in NumPy 2."""
    for dtype in (np.uint8, np.int8, np.float32):
        _assert_the_same_of_all(lambda x: np.select([x > 2], [number], x), dtype, (7, 9))
