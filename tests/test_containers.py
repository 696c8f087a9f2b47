"""xarray's and pandas' arrays go into kernels and filters, and come out with their labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.ndimage

import slinky as sl


@sl.stencil(halo=((1, 1), (0, 0)), boundary="reflect")
def smooth(image: np.ndarray) -> np.ndarray:
    return (image[:-2] + image[1:-1] + image[2:]) / 3


@sl.stencil(halo=((1, 1), (0, 0)))
def smaller(image: np.ndarray) -> np.ndarray:
    return image[2:] - image[:-2]


@sl.elementwise
def added(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a + b


VALUES = np.arange(12.0).reshape(4, 3)


def test_arrays_of_xarray() -> None:
    xarray = pytest.importorskip("xarray")
    given = xarray.DataArray(
        VALUES,
        dims=("latitude", "longitude"),
        coords={"latitude": [10, 20, 30, 40], "longitude": [1, 2, 3], "zone": ("longitude", ["a", "b", "c"])},
        name="temperature",
        attrs={"units": "K"},
    )
    found = smooth(given)
    assert found.identical(given.copy(data=smooth(VALUES)))
    assert sl.ndimage.gaussian_filter(given, 1).identical(given.copy(data=scipy.ndimage.gaussian_filter(VALUES, 1)))
    assert added(VALUES, given).identical(given.copy(data=2 * VALUES))
    less = smaller(given)
    assert less.dims == given.dims
    assert set(less.coords) == {"longitude", "zone"}
    assert np.array_equal(less.values, smaller(VALUES))
    assert np.array_equal(given.values, VALUES)


def test_kernels_in_functions_of_xarray() -> None:
    xarray = pytest.importorskip("xarray")
    given = xarray.DataArray(VALUES, dims=("y", "x"), coords={"y": [1, 2, 3, 4]})
    assert xarray.apply_ufunc(smooth, given).identical(given.copy(data=smooth(VALUES)))


def test_tables_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(VALUES, index=list("abcd"), columns=["one", "two", "three"])
    pandas.testing.assert_frame_equal(smooth(table), pandas.DataFrame(smooth(VALUES), list("abcd"), table.columns))
    assert list(smaller(table).columns) == ["one", "two", "three"]
    series = table["two"]
    found = sl.ndimage.median_filter(series, 3)
    pandas.testing.assert_series_equal(
        found, pandas.Series(scipy.ndimage.median_filter(VALUES[:, 1], 3), table.index, name="two")
    )


def test_arrays_stay_arrays() -> None:
    assert type(smooth(VALUES)) is np.ndarray
    assert type(sl.ndimage.sobel(VALUES)) is np.ndarray


def test_lists_that_are_in_themselves_are_none_of_the_traces_business() -> None:
    endless: Any = [1.0]
    endless.append(endless)
    table: Any = {"array": 2.0}
    table["self"] = table

    @sl.jit(smallest=0)
    def scaled(array: Any, by: Any) -> Any:
        return array * (by["array"] if isinstance(by, dict) else by[0])

    array = np.arange(6.0)
    for by in (endless, [3.0, endless], table, [3.0, 4.0], {"array": 5.0}):
        for _ in range(3):
            np.testing.assert_array_equal(scaled(array, by), scaled.__wrapped__(array, by))
    for ask in (scaled.pipeline, scaled.explain):
        with pytest.raises(sl.TracingError, match="scaled is called as it is where lists are in themselves"):
            ask(array, endless)
