"""Numbers beside tables of pandas', which has rules of its own for dtypes and values: traced functions keep to them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from traced import jit, kept

pandas = pytest.importorskip("pandas")

FUNCTIONS = {
    "add": operator.add,
    "np.multiply": np.multiply,
    "power": operator.pow,
    "floor_divide": operator.floordiv,
    "less": operator.lt,
    "maximum": np.maximum,
    "copysign": np.copysign,
    "arctan2 of others": lambda a, b: np.arctan2(b, a),
    "add as floats": lambda a, b: np.add(a, b, dtype=np.float64),
    "clip": lambda a, b: np.clip(a, 0, b),
    "clip by itself": lambda a, b: np.clip(a, 0, a * b),
    "inner": lambda a, b: np.sqrt(abs(a)) * np.minimum(a, np.hypot(b, 1)),
}
NUMBERS = [2, 0.5, -1, 0, True, np.float32(0.5), np.float64(1.5), np.int64(3), np.array(2.5)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint8, np.float16])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_dtypes_are_those_that_pandas_gives(name: str, dtype: Any) -> None:
    function = FUNCTIONS[name]
    values = (np.arange(12).reshape(4, 3) % 5 - (0 if dtype is np.uint8 else 2)).astype(dtype)
    for table in (pandas.DataFrame(values, columns=list("abc")), pandas.Series(values[:, 1], name="s")):
        for number in NUMBERS:

            def of_table(t: Any, function: Any = function, number: Any = number) -> Any:
                return function(t, number)

            for traced, given in ((jit(function), (table, number)), (jit(of_table), (table,))):
                try:
                    want = (function if len(given) == 2 else of_table)(*given)
                except (OverflowError, TypeError, ValueError) as error:
                    with pytest.raises(type(error)):
                        traced(*given)
                    continue
                found = traced(*given)
                assert type(found) is type(want)
                assert found.equals(want), (number, found, want)


def test_numbers_that_change_nothing_go_by_pieces() -> None:
    """Where neither of the rules gives another dtype, arithmetic of tables is that of their elements."""

    def function(t: Any) -> Any:
        return np.clip(t * 2.5 + 1, 0, 1) - np.sqrt(t)

    for dtype in (np.float32, np.float64):
        table = pandas.DataFrame(np.arange(12, dtype=dtype).reshape(4, 3))
        traced = jit(function)
        pandas.testing.assert_frame_equal(traced(table), function(table))
        assert "is traced" in traced.explain(table)
        assert kept(traced) == 1
    doubles = pandas.DataFrame(np.arange(12.0).reshape(4, 3))
    traced = jit(lambda t: np.maximum(t, 0.5))
    assert "is traced" in traced.explain(doubles)
    assert "rules of their own" in traced.explain(doubles.astype(np.float32))
