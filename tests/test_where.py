"""`np.where` of numbers: arithmetic like any other, by NumPy's rules for what they become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from random_arithmetic import same_bits

import slinky as sl

Array = np.ndarray[Any, Any]

CHOICES: list[Callable[[Any], Any]] = [
    lambda x: np.where(x > 0.5, x, 0),
    lambda x: np.where(x > 0.5, 1, 0) + x,
    lambda x: np.where(x > 0.5, x, 0.1),
    lambda x: np.where(x > 0.5, np.float32(2.5), x),
    lambda x: np.where(x > 0.5, -0.0, x) * 2,
    lambda x: np.where(x > 0.5, np.nan, x) + 1,
    lambda x: np.where(x > 0.5, True, False),
    lambda x: np.where(x > 0.5, 1j, x),
    lambda x: np.where(x > 0.5, x.shape[0], x),
    lambda x: np.where(x > 0.5, 2**40, x),
    lambda x: np.where(x > 0.5, 3, np.int8(2)),
    lambda x: np.where(x > 0.5, x, np.where(x < 0.2, 0, 1)),
    lambda x: np.where(x, 1, 2),
]


@needs_compiler
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32, np.uint8, np.int64, np.bool_])
@pytest.mark.parametrize("native", [False, True])
def test_numbers_become_what_numpy_makes_of_them(dtype: Any, native: bool) -> None:
    x = (np.random.default_rng(0).random((9, 7)) * 3).astype(dtype)
    for choose in CHOICES:
        with np.errstate(over="ignore"):  # of float16
            same_bits(sl.jit(choose, smallest=0, workers=1, native=native)(x), choose(x))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_floats_among_the_arguments_are_told(dtype: Any) -> None:
    def limited(x: Array, t: Any) -> Array:
        return np.where(x > t, x, t)

    jit = sl.jit(limited, smallest=0, native=False)
    x = np.random.default_rng(0).random((9, 7)).astype(dtype)
    for t in (0.1, 0.5, np.float32(0.3), np.float64(0.3), np.float32(0.4)):
        same_bits(jit(x, t), limited(x, t))
    assert len(list(jit._traces)) == 3


def test_it_is_part_of_a_formula() -> None:
    x = np.random.default_rng(0).random((9, 7))
    jit = sl.jit(lambda x: np.where(x > 0.5, x * 2, 0) + np.where(x > 0.5, 1.5, x), smallest=0, native=False)
    assert len(jit.pipeline(x).find_all("_(_)")) == 1
    whole = sl.jit(lambda x: np.where(x > 0.5, x.astype(np.int8), 300) + x, smallest=0, native=False)
    assert len(whole.pipeline(x).find_all("_(_)")) > 1
