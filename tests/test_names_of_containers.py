"""Names and attributes of xarray's and pandas' containers: a traced function gives those that it gave before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from traced import jit

pandas = pytest.importorskip("pandas")
xarray = pytest.importorskip("xarray")

VALUES = np.arange(12.0).reshape(4, 3) % 5 + 0.5


def both(a: Any, b: Any) -> Any:
    return (a - b) / (a + b)


def second(a: Any, b: Any) -> Any:
    return np.sqrt(b) * 2


def one_each(a: Any, b: Any) -> Any:
    return a * 2, b * 3, a + b


def larger(a: Any, b: Any) -> Any:
    return np.maximum(a, b)


def first_and_sum(a: Any, b: Any) -> Any:
    return {"first": a, "sum": a + b}


def alike(found: Any, want: Any) -> bool:
    """Whether containers, or tuples and dictionaries of them, are the same in all that they hold."""
    if isinstance(want, tuple):
        return all(map(alike, found, want))
    if isinstance(want, dict):
        return found.keys() == want.keys() and all(alike(found[key], want[key]) for key in want)
    if isinstance(want, xarray.DataArray):
        return bool(found.identical(want))
    axes = all(a.identical(b) for a, b in zip(found.axes, want.axes, strict=True))
    return bool(found.equals(want)) and axes and found.attrs == want.attrs and repr(named(found)) == repr(named(want))


def named(table: Any) -> Any:
    return table.name if table.ndim == 1 else None


FUNCTIONS = [both, second, one_each, larger, first_and_sum]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("one", "other"), [("a", "b"), ("a", "a"), (None, "b"), ("a", None), (1, True), (np.nan, np.nan), (np.nan, "b")]
)
def test_names_of_columns(function: Any, one: Any, other: Any) -> None:
    given = pandas.Series(VALUES[:, 0], name=one), pandas.Series(VALUES[:, 1], name=other)
    traced = jit(function)
    for _ in range(2):
        assert alike(traced(*given), function(*given))


def test_columns_of_one_table_meet_by_pieces() -> None:
    """What comes of columns with several names has none, so that it need not be called as it is."""
    table = pandas.DataFrame(VALUES, columns=list("abc"))
    traced = jit(both)
    assert traced(table["a"], table["b"]).name is None
    assert "is traced" in traced.explain(table["a"], table["b"])
    assert traced(table["a"], table["a"]).name == "a"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_names_and_attributes_of_arrays_of_xarray(function: Any) -> None:
    def made(name: Any, attrs: Any, **coords: Any) -> Any:
        return xarray.DataArray(VALUES, dims=("y", "x"), coords={"y": range(4), **coords}, name=name, attrs=attrs)

    first = made("t", {"units": "K"})
    turned = first.assign_coords(y=("y", range(4), {"axis": "Y"}))
    others = [made("u", {"units": "K"}), made("t", {}), made("t", {"units": "m"}), made("t", {}, run=3), turned]
    for other in others:
        for given in ((first, other), (other, first)):
            assert alike(jit(function)(*given), function(*given))


@pytest.mark.parametrize("keep", [True, False])
def test_attributes_as_xarray_is_told_to_keep_them(keep: bool) -> None:
    given = xarray.DataArray(VALUES, dims=("y", "x"), name="t", attrs={"units": "K"})
    with xarray.set_options(keep_attrs=keep):
        assert alike(jit(second)(given, given), second(given, given))


def test_attributes_and_names_of_axes_of_tables() -> None:
    table = pandas.DataFrame(VALUES, columns=list("abc"))
    told = table.copy()
    told.attrs["unit"] = "K"
    named = table.rename_axis(index="row")
    for given in ((table, told), (told, table), (told, told), (table, named), (named, named)):
        assert alike(jit(both)(*given), both(*given))


@pytest.mark.parametrize("function", [lambda t: t / t, lambda t: t**t, lambda t: t | t, lambda t: t * t])
def test_what_pandas_refuses_of_truths_is_refused(function: Any) -> None:
    table = pandas.DataFrame(VALUES > 2)
    try:
        want = function(table)
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            jit(function)(table)
    else:
        assert alike(jit(function)(table), want)


@pytest.mark.parametrize("shape", [(1,), (1, 1), (3,), (4,), (4, 1), (1, 3), (4, 3), ()])
def test_arrays_that_fit_a_table(shape: tuple[int, ...]) -> None:
    """pandas repeats a row or a column, and no array of one element."""

    def function(t: Any, a: Any) -> Any:
        return t * a

    table, array = pandas.DataFrame(VALUES), np.ones(shape)
    try:
        want = function(table, array)
    except ValueError:
        with pytest.raises(ValueError, match="Unable to coerce"):
            jit(function)(table, array)
    else:
        assert alike(jit(function)(table, array), want)


def test_classes_made_of_tables_have_rules_of_their_own() -> None:
    class Squared(pandas.DataFrame):  # type: ignore[misc]
        def __mul__(self, other: Any) -> Any:
            return pandas.DataFrame(self) * other * other

    given = Squared(VALUES)
    assert alike(jit(lambda t: t * 3)(given), given * 3)
