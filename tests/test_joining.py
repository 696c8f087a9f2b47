"""`np.r_` and `np.c_` in traced functions: without asking for values, and NumPy's dtypes and errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from random_arithmetic import same_bits
from traced import jit

import slinky as sl

TABLE = np.arange(5, dtype=np.int16)

LAZY: dict[str, Any] = {
    "rows": lambda x, k: np.r_[x, x[::-1]],
    "matrices as columns": lambda x, k: np.c_[x, x * 2],
    "vectors as columns": lambda x, k: np.c_[x[0], x[1]],
    "with arrays": lambda x, k: np.c_[x[:, 0], np.ones(x.shape[0]), np.arange(x.shape[0])],
    "with numbers": lambda x, k: np.r_[0, x[0], 1.5],
    "with truths": lambda x, k: np.r_[True, x[0] > 1],
    "with numbers of NumPy's": lambda x, k: np.r_[x[0], np.int8(1), np.float32(2)],
    "with an argument": lambda x, k: np.r_[k * 2, x[0], k],
    "with a computed element": lambda x, k: np.r_[x[0].sum(), x[0]],
    "with slices": lambda x, k: np.r_[x[0], 0:5, TABLE, 1:2:3j],
    "with slices of sizes": lambda x, k: np.r_[x[0], : x.shape[0]],
    "with sizes": lambda x, k: (np.r_[x[0], x.shape[0]], np.c_[x.shape[1], x[0, 0]]),
    "with lists": lambda x, k: np.r_[x[0], [1, 2, 3]],
    "one": lambda x, k: (np.c_[x], np.r_[x[0]], np.c_[x.max()]),
    "of three axes": lambda x, k: np.c_[np.stack([x, x]), np.stack([x, x])],
}
OTHERS: dict[str, Any] = {
    "directives": lambda x, k: np.r_["-1", x, x],
    "sizes alone": lambda x, k: np.r_[np.float32(1), x.shape[0]] * x[0, 0],
    "numbers that do not fit": lambda x, k: np.r_[x[0], 300],
    "other ranks": lambda x, k: np.r_[x, x[0]],
    "other lengths": lambda x, k: np.c_[x, x[0]],
}


def outcome(function: Any, *given: Any) -> Any:
    try:
        found = function(*given)
    except (ValueError, OverflowError) as error:
        return type(error), str(error)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("what", [*LAZY, *OTHERS])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64, np.complex64])
def test_what_numpy_gives(what: str, dtype: Any) -> None:
    function = (LAZY | OTHERS)[what]
    traced = jit(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error" if what in LAZY else "ignore", sl.ForcedValueWarning)
        for shape in ((5, 4), (4, 4), (7, 9)):
            for k in (1.5, 2.5, np.float64(1.5), np.float32(2.5), np.float64(3.5)):
                x = (np.random.default_rng(shape).random(shape) * 9).astype(dtype)
                found, expected = outcome(traced, x, k), outcome(function, x, k)
                if isinstance(expected[0], type):
                    assert found == expected
                    continue
                for one, other in zip(found, expected, strict=True):
                    same_bits(one, other)
