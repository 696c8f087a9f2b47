"""Traced functions take xarray's and pandas' containers, and stand where those, Dask and joblib call functions."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from traced import assert_same, image, jit

import slinky as sl

VALUES = np.arange(24.0).reshape(6, 4) % 7


@sl.jit(smallest=0, workers=1, machine=sl.Machine())
def sharpen(photo: Any, amount: float = 1.5) -> Any:
    padded = np.pad(photo, 1, mode="edge")
    soft = (padded[:-2, 1:-1] + padded[2:, 1:-1]) / 2
    return np.clip(photo + amount * (photo - soft), 0, 1)


def smaller(photo: Any) -> Any:
    return photo[1:] - photo[:-1], photo * 2


def labelled(values: Any = VALUES, first: int = 0) -> Any:
    xarray = pytest.importorskip("xarray")
    coords = {"latitude": np.arange(6) + first, "zone": ("longitude", list("abcd"))}
    return xarray.DataArray(values, dims=("latitude", "longitude"), coords=coords, name="t", attrs={"units": "K"})


def test_xarray_in_and_xarray_out() -> None:
    given = labelled()
    assert sharpen(given).identical(given.copy(data=sharpen.__wrapped__(VALUES)))
    assert sharpen.pipeline(given)
    assert "padded" in sharpen.explain(given)
    less, doubled = jit(smaller)(given)
    assert set(less.coords) == {"zone"}
    assert less.dims == given.dims
    assert doubled.identical(given.copy(data=VALUES * 2))


def test_several_containers_with_the_same_labels() -> None:
    add = jit(lambda a, b, c: a + 2 * b - c)
    found = add(labelled(), labelled(VALUES + 1), VALUES)
    assert found.identical(labelled().copy(data=2 * VALUES + 2))


@pytest.mark.parametrize("function", [
    lambda a: a[::-1] * 2,
    lambda a: a.T + 1,
    lambda a: a.mean(axis=0),
    lambda a: a.mean("latitude"),
    lambda a: a.isel(longitude=1) + 1,
])  # fmt: skip
def test_where_labels_move_the_function_is_called_as_it_is(function: Any) -> None:
    assert jit(function)(labelled()).identical(function(labelled()))


def test_labels_that_differ_are_aligned_by_xarray() -> None:
    def add(a: Any, b: Any) -> Any:
        return a + b

    found = jit(add)(labelled(), labelled(first=2))
    assert found.identical(add(labelled(), labelled(first=2)))
    assert found.shape == (4, 4)


def test_pandas_in_and_pandas_out() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(VALUES, index=list("uvwxyz"), columns=["one", "two", "three", "four"])
    want = pandas.DataFrame(sharpen.__wrapped__(VALUES), table.index, table.columns)
    pandas.testing.assert_frame_equal(sharpen(table), want)
    series = pandas.Series(VALUES[:, 0], index=list("uvwxyz"), name="s")
    pandas.testing.assert_series_equal(jit(lambda a: a * 2 + 1)(series), series * 2 + 1)


def test_apply_ufunc() -> None:
    xarray = pytest.importorskip("xarray")
    assert xarray.apply_ufunc(sharpen, labelled()).equals(labelled().copy(data=sharpen.__wrapped__(VALUES)))


def test_blocks_of_dask() -> None:
    dask = pytest.importorskip("dask.array")
    whole = dask.from_array(np.tile(VALUES, (4, 3)), chunks=(6, 4))
    want = np.tile(sharpen.__wrapped__(VALUES), (4, 3))
    for scheduler in ("threads", "sync"):
        assert_same(whole.map_blocks(sharpen, dtype=float).compute(scheduler=scheduler), want)


def test_joblib() -> None:
    joblib = pytest.importorskip("joblib")
    for backend in ("threading", "loky"):
        found = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(sharpen)(VALUES + k) for k in range(3))
        assert_same(list(found), [sharpen.__wrapped__(VALUES + k) for k in range(3)])


def test_it_is_pickled_by_name_as_functions_are() -> None:
    assert pickle.loads(pickle.dumps(sharpen)) is sharpen
    assert copy.deepcopy(sharpen) is sharpen
    named = sl.jit(smallest=0, donate="photo")(smaller)
    again = pickle.loads(pickle.dumps(named))
    assert_same(again(image(4, 3)), smaller(image(4, 3)))
    assert again._donate == ("photo",)
