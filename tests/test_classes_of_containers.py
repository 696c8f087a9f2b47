"""Functions that look at what they are given: containers of xarray's and pandas' are these, not arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from traced import jit

import slinky as sl

pandas = pytest.importorskip("pandas")
xarray = pytest.importorskip("xarray")

ARRAY = xarray.DataArray(np.arange(3.0) + 1, dims="t", attrs={"units": "m"})
TABLE = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
SERIES = pandas.Series([1.0, 2.0])


def by_columns(x: Any) -> Any:
    try:
        count = len(x.columns)
    except AttributeError:
        count = -1
    return x * count


QUESTIONS = [
    (ARRAY, lambda x: x.values * 2 if isinstance(x, xarray.DataArray) else x * 3),
    (ARRAY, lambda x: x * 2 if type(x) is xarray.DataArray else x * 3),
    (ARRAY, lambda x: x * 2 if getattr(x, "attrs", {}).get("units") else x * 3),
    (ARRAY, lambda x: x * (float(x.max()) if hasattr(x, "dims") else 5)),
    (ARRAY, lambda x: x * 2 if hasattr(x, "nothing") else x * 3),
    (TABLE, by_columns),
    (TABLE, lambda x: x * 2 if x.__class__.__name__ == "DataFrame" else x * 3),
    (TABLE, lambda x: x * 2 if isinstance(x, np.ndarray) else x * 3),
    (SERIES, lambda x: x * 2 if isinstance(x, (pandas.Series, pandas.DataFrame)) else x * 3),
    (SERIES, lambda x: x * 2 if hasattr(x, "iloc") else x * 3),
]


@pytest.mark.parametrize(("given", "function"), QUESTIONS)
@pytest.mark.parametrize("decorate", [sl.jit, jit])
def test_what_a_function_asks_is_answered_for_the_container(given: Any, function: Any, decorate: Any) -> None:
    traced, expected = decorate(function), function(given)
    for _ in range(3):
        found = traced(given)
        assert type(found) is type(expected)
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize("given", [TABLE, SERIES])
def test_what_asks_nothing_is_traced(given: Any) -> None:
    assert "is traced" in jit(lambda x: np.sqrt(x) * 2 + 1).explain(given)
