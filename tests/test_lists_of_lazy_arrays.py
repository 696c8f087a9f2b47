"""Functions of lists of arrays in traced functions: without asking for values, and NumPy's bits and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from traced import assert_same, image, jit

import slinky as sl

LISTS: dict[str, Any] = {
    "unpacked": lambda x: np.radians([x[0], x[1]])[1] * 2,
    "two lists": lambda x: np.add([x[0], x[1]], [x[1], 1 - x[0]]),
    "tuples in lists": lambda x: np.sqrt([(x, x + 1), (x * 2, x)]),
    "with options": lambda x: np.add([x, x], 1.5, dtype=np.float64),
    "several results": lambda x: np.divmod([x, x + 1], 3),
    "elements": lambda x: np.sin([x.sum(), x[0, 0], 2.5]),
    "beside an array": lambda x: np.maximum([x[0], x[1]], x[2]),
    "where": lambda x: (np.where([x > 1, x > 2], [x, x + 1], 0), np.where(x > 1, [x], [x * 2])),
    "take": lambda x: (np.take([x, x * 2], [1, 0], axis=0), np.take(x, [[1, 2]])),
    "at least": lambda x: (np.atleast_2d([x[0], x[1]]), *np.atleast_1d(x * 2, [x[0], x[1]])),
    "products": lambda x: (np.dot([x[0], x[1]], x[0]), np.dot([[1, 2], [3, 4]], [x[0], x[1]]), np.outer([1, 2], x[0])),
    "matmul": lambda x: (np.matmul([[1, 2], [3, 4]], [x[0], x[1]]), np.inner([x[0], x[1]], [x[1], x[0]])),
    "einsum": lambda x: np.einsum("ij,j->i", [x[0], x[1]], x[0]),
    "all pairs": lambda x: np.subtract.outer([x[0, 0], x[0, 1]], x[1]),
    "sums that grow": lambda x: np.add.accumulate([x[0], x[1]]),
    "copies": lambda x: (np.pad([x[0], x[1]], 1), np.roll([x[0], x[1]], 1, axis=1), np.tile([x[0], x[1]], 2)),
    "operators": lambda x: (x[:2] * [x[0], x[1]], [x[0], x[1]] * x[:2], x[:2] > (x[1], x[0]), x[:, :2] @ [x[0], x[1]]),
    "near": lambda x: (np.isclose([x, x], [x + 1e-12, x]), np.kron([x[0, 0], x[0, 1]], x[0])),
}


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("name", LISTS)
def test_lists_are_joined_and_nothing_is_asked(name: str, dtype: str) -> None:
    traced = jit(LISTS[name])
    for shape in [(5, 4), (7, 3), (3, 11)]:
        x = image(*shape, dtype=dtype)
        with np.errstate(all="ignore"):
            assert_same(traced(x), LISTS[name](x))
        told = traced.explain(x)
        assert "asks for values" not in told
        assert "at once on whole arrays" not in told


@pytest.mark.parametrize("function", [
    lambda x: np.sqrt([x, x[0]]),
    lambda x: np.sqrt([x, 2]),
    lambda x: np.dot([x, x[1:]], x),
    lambda x: np.add([x[0], x[1]], x[:, 0]),
])  # fmt: skip
def test_lists_that_are_no_arrays_raise_what_numpy_raises(function: Any) -> None:
    x = image(5, 4)
    with pytest.raises(Exception) as want:
        function(x)
    with pytest.raises(want.type) as got:
        jit(function)(x)
    assert str(got.value) == str(want.value)


def test_an_array_that_is_one_already_comes_back_itself() -> None:
    x = image(5, 4)
    first, second = jit(lambda x: np.atleast_1d(x, [x[0], x[1]]))(x)
    assert first is x
    assert np.array_equal(second, x[:2])


def test_ufuncs_that_are_passed_on_are_themselves() -> None:
    def function(x: Any) -> Any:
        lat, lon = map(np.radians, [x[0], x[1]])
        return lat + lon, np.frompyfunc is not None, isinstance(np.add, np.ufunc)

    x = image(5, 4)
    assert_same(jit(function)(x), function(x))


def test_lists_beside_what_lazy_makes() -> None:
    x = image(5, 4)
    lazy = sl.lazy(x)
    assert np.array_equal(np.asarray(lazy[:2] * [lazy[0], lazy[1]]), x[:2] * x[:2])
    with pytest.raises(ValueError, match="shape"):
        lazy[:2] * [lazy[0], lazy[0, 1:]]
