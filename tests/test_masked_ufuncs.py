"""Ufuncs with `where=` in traced functions: in C, one loop with what is around them, and errors where masks hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from natively import told
from random_arithmetic import same_bits
from traced import MACHINE

import slinky as sl

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
LIMIT = np.float64(1e-3)


def ratio(a: Any, b: Any) -> Any:
    return np.divide(a * 2, b - 1, out=np.zeros_like(a), where=b != 1) + 1


def root(a: Any, b: Any) -> Any:
    return np.sqrt(a, out=b.copy(), where=a > 0) * b


def logarithm(a: Any, b: Any) -> Any:
    return np.log(a, out=np.full_like(a, np.nan), where=(a > 0) & np.isfinite(b))


def reciprocals(a: Any, b: Any) -> Any:
    return np.divide(1, a, out=np.zeros(a.shape), where=a != 0) - np.multiply(a, a[0], out=b * 1, where=b[:1] > 0)


def twice(a: Any, b: Any) -> Any:
    y = a.copy()
    np.add(y, b, out=y, where=a < b)
    np.subtract(y, 1, out=y, where=y > b[:, :1])
    return y, np.greater(a, b, out=np.zeros(a.shape, bool), where=np.isfinite(b))


def narrower(a: Any, b: Any) -> Any:
    return np.true_divide(a, b, out=np.zeros(a.shape, np.float32), where=b > 0, casting="same_kind")


def by_zero(a: Any, b: Any) -> Any:
    return np.divide(a, 0, out=np.zeros_like(a), where=b == 1) + 1


def beyond_one(a: Any, b: Any) -> Any:
    return np.arctanh(a, out=np.zeros_like(a), where=abs(a) < 1) * 2


def by_numbers(a: Any, b: Any, by: float = 0.0, limit: Any = LIMIT) -> Any:
    part = np.divide(a, by, out=a * 1, where=b == 7) + np.divide(1.0, a, out=b * 1, where=abs(a) > 0.5)
    return part, np.add(a > 0, by, out=np.zeros(a.shape), where=b < limit), np.add(a, limit, out=a * 1.0, where=a > b)


def truths(a: Any, b: Any, by: float = 0.5) -> Any:
    return np.logical_and(a, by, out=a > 2, where=b > 0), np.logical_or(by, b) & (a > 0)


def power(a: Any, b: Any) -> Any:
    return np.power(a, 2.0, out=b * 1, where=a > b)


FUNCTIONS = [ratio, root, logarithm, reciprocals, twice, narrower, by_zero, beyond_one, by_numbers, truths, power]


def values(seed: int, dtype: Any, shape: tuple[int, ...] = (17, 13)) -> Array:
    found = np.random.default_rng(seed).choice([0.0, -0.0, 1.0, 2.5, -3.0, 1e30, np.inf, np.nan, 0.25], shape)
    return found.astype(dtype)


def in_a_list(found: Any) -> list[Any]:
    return list(found) if isinstance(found, tuple) else [found]


@needs_compiler
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", [{}, {"native": True}, {"native": True, "exact": True}], ids=str)
def test_what_numpy_gives(function: Function, dtype: Any, options: dict[str, Any]) -> None:
    """Bits, and errors: of special numbers, and of such of which there is nothing to say where the masks hold."""
    traced = sl.jit(smallest=0, workers=1, machine=MACHINE, **options)(function)
    some = [(values(seed, dtype), values(seed + 1, dtype)) for seed in range(3)]
    for arrays in [*some, (np.zeros((17, 13), dtype), np.ones((17, 13), dtype)), (some[0][0].T, some[1][1].T)]:
        with np.errstate(all="ignore"):
            found, expected = in_a_list(traced(*arrays)), in_a_list(function(*arrays))
        for one, other in zip(found, expected, strict=True):
            if function is logarithm and not options.get("exact"):
                np.testing.assert_allclose(one, other, rtol=4 * np.finfo(dtype).eps)
            else:
                same_bits(one, other)
        assert told(lambda arrays=arrays: traced(*arrays)) == told(lambda arrays=arrays: function(*arrays))


@needs_compiler
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64])
def test_of_integers(dtype: Any) -> None:
    def shares(a: Any, b: Any) -> Any:
        least = np.floor_divide(a, b, out=np.zeros_like(a), where=b != 0)
        return least * 2, np.remainder(a, b, out=a.copy(), where=b > 1)

    traced = sl.jit(smallest=0, native=True, workers=1, machine=MACHINE)(shares)
    draw = np.random.default_rng(0).integers
    a, b = draw(0, 100, (9, 21)).astype(dtype), draw(0, 4, (9, 21)).astype(dtype)
    for one, other in zip(traced(a, b), shares(a, b), strict=True):
        same_bits(one, other)
    assert told(lambda: traced(a, b)) == set()


def masked(function: Function, *, native: bool) -> list[str]:
    """The funcs that call NumPy with a mask."""
    traced = sl.jit(smallest=0, native=native, workers=1, machine=MACHINE)(function)
    p = traced.pipeline(values(0, np.float64), values(1, np.float64))
    calls = [statement.func for statement in p.program.body if hasattr(statement, "func")]
    return [func.name for func in calls if getattr(getattr(func.operation, "function", None), "masked", False)]


@needs_compiler
@pytest.mark.parametrize("function", [ratio, root, logarithm, reciprocals, twice, by_numbers])
def test_it_is_arithmetic_in_c(function: Function) -> None:
    assert masked(function, native=True) == []


@needs_compiler
@pytest.mark.parametrize("function", [by_zero, beyond_one, power])
def test_what_may_give_errors_of_ones_is_numpys(function: Function) -> None:
    """There is nothing to compute where the mask does not hold, then."""
    assert len(masked(function, native=True)) == 1


@needs_compiler
def test_it_is_one_loop_with_what_is_around_it() -> None:
    traced = sl.jit(smallest=0, native=True, workers=1, machine=MACHINE)(ratio)
    assert len(traced.pipeline(values(0, np.float64), values(1, np.float64)).find_all("_ = _")) == 1


def test_by_numpy_it_is_numpys_own() -> None:
    """Where the mask holds alone, which takes less than to compute everywhere, and to choose."""
    assert masked(ratio, native=False) == ["divide"]
