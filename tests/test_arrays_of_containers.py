"""What NumPy gives as an array of containers is one in traced functions, too."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced import jit

VALUES = np.linspace(-2, 2, 24).reshape(6, 4)

ARRAYS: dict[str, Callable[[Any], Any]] = {
    "where": lambda a: np.where(a > 0, a, 0),
    "select": lambda a: np.select([np.asarray(a > 1), np.asarray(a < 0)], [a, -a], 0.5),
    "nan_to_num": lambda a: np.nan_to_num(a / a),
    "isclose": lambda a: np.isclose(a, a + 1e-9),
    "sinc": lambda a: np.sinc(a),
    "angle, i0": lambda a: (np.angle(a), np.i0(a)),
    "copy": lambda a: np.copy(a),
    "asarray": lambda a: np.asarray(a) * 2,
    "array, ascontiguousarray": lambda a: (np.array(a) + 1, np.ascontiguousarray(a)),
    "real": lambda a: np.real(a),
    "likes": lambda a: (np.zeros_like(a), np.full_like(a, 2.0)),
    "broadcast_to": lambda a: np.broadcast_to(a, a.shape),
}
BOTH: dict[str, Callable[[Any], Any]] = {
    "an array and a container": lambda a: {"chosen": np.where(a > 0, a, 0), "doubled": a * 2},
    "of an array": lambda a: [np.where(a > 0, a, 0) * 3, a + np.where(a > 0, 1, 0)],
    "shared": lambda a: (np.isclose(a, a + 1), abs(a - (a + 1))),
    "methods": lambda a: np.clip(np.round(a, 1), -1, 1),
}


def containers() -> list[Any]:
    xarray, pandas = importlib.util.find_spec("xarray"), importlib.util.find_spec("pandas")
    found: list[Any] = []
    if pandas is not None:
        table = importlib.import_module("pandas").DataFrame(VALUES, index=list("uvwxyz"), columns=list("abcd"))
        found += [table, table["b"]]
    if xarray is not None:
        found.append(importlib.import_module("xarray").DataArray(VALUES, dims=("y", "x"), coords={"y": range(6)}))
    return found


@pytest.mark.parametrize("given", containers(), ids=lambda given: type(given).__name__)
@pytest.mark.parametrize("name", [*ARRAYS, *BOTH])
def test_results_are_arrays_or_containers_as_without_tracing(name: str, given: Any) -> None:
    function = {**ARRAYS, **BOTH}[name]
    with np.errstate(all="ignore"):
        got, want = jit(function)(given), function(given)
    assert_same(got, want)


def test_arrays_beside_containers_run_by_pieces() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(VALUES)
    traced = jit(BOTH["an array and a container"])
    assert type(traced(table)["chosen"]) is np.ndarray
    assert "is traced: " in traced.explain(table)
    traced = jit(lambda a, w: a * np.asarray(w))  # what is no container may be made an array
    assert traced(table, VALUES).equals(table * VALUES)
    assert "is traced: " in traced.explain(table, VALUES)


@pytest.mark.parametrize("given", containers(), ids=lambda given: type(given).__name__)
def test_functions_that_take_no_containers_take_none(given: Any) -> None:
    """`np.piecewise` fails of them in words of its own."""
    function = lambda a: np.piecewise(a, [a > 0], [1, 0])  # noqa: E731
    with pytest.raises(Exception) as want:
        function(given)
    with pytest.raises(want.type, match="too many indices"):
        jit(function)(given)


def assert_same(got: Any, want: Any) -> None:
    assert type(got) is type(want)
    match want:
        case tuple() | list():
            for one, other in zip(got, want, strict=True):
                assert_same(one, other)
        case dict():
            assert_same(list(got.values()), list(want.values()))
        case np.ndarray():
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)
        case _:
            assert got.identical(want) if hasattr(want, "identical") else got.equals(want)
