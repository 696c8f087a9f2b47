"""What `np.errstate` says in traced functions, and around them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from traced import jit


def told_of(function: Any, *arrays: Any) -> list[str]:
    """What is said of errors, or the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function(*arrays)
        except FloatingPointError as error:
            return [str(error)]
    return [str(each.message) for each in caught]


def silent_of_zeros(a: Any) -> Any:
    with np.errstate(divide="ignore"):
        return 1 / (a - 0.5) + a * 1e300 * 1e300


def as_it_is_already(a: Any) -> Any:
    with np.errstate(over="warn"):
        return a * 1e300 * 1e300


@pytest.mark.parametrize("function", [silent_of_zeros, as_it_is_already])
@pytest.mark.parametrize("first", ["warn", "ignore"])
def test_what_is_set_around_a_function_holds_where_it_says_nothing(function: Any, first: str) -> None:
    """A trace that was made under other settings gives NumPy's errors, and no more warnings."""
    x, traced = np.zeros(3) + 0.5, jit(function)
    with np.errstate(over=first):
        told_of(traced, x)
    for how in ("warn", "ignore", "raise", "warn"):
        with np.errstate(over=how):
            assert told_of(traced, x) == told_of(function, x)
