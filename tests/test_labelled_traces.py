"""Traced functions take xarray's and pandas' containers, and stand where those, Dask and joblib call functions."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from traced import PIECES, assert_same, image, jit

import slinky as sl

VALUES = np.arange(24.0).reshape(6, 4) % 7


@sl.jit(smallest=0, workers=1, machine=sl.Machine())
def sharpen(photo: Any, amount: float = 1.5) -> Any:
    padded = np.pad(photo, 1, mode="edge")
    soft = (padded[:-2, 1:-1] + padded[2:, 1:-1]) / 2
    return np.clip(photo + amount * (photo - soft), 0, 1)


def smaller(photo: Any) -> Any:
    return np.diff(np.pad(photo, 1), axis=0)[2:, 1:-1], photo * 2


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
    np.testing.assert_array_equal(less, smaller(VALUES)[0])
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
    lambda a: a[1:] - a[:-1],
    lambda a: a - a.mean(),
    lambda a: a / np.std(a),
    lambda a: a if float(a.max()) > 3 else -a,
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
def test_where_labels_mean_something_the_function_is_called_as_it_is(function: Any) -> None:
    for values in (VALUES, with_a_hole()):
        assert jit(function)(labelled(values)).identical(function(labelled(values)))


RULES: dict[str, Any] = {
    "mean": lambda a: a - a.mean(),
    "mean of a dimension": lambda a: (a - a.mean("latitude")) / a.std("latitude"),
    "np.std": lambda a: a / np.std(a),
    "sum": lambda a: a.sum("longitude"),
    "sum of too few": lambda a: a.sum("latitude", min_count=6),
    "prod, var": lambda a: (a.prod("longitude"), a.var("latitude", ddof=1)),
    "extrema": lambda a: (a / a.max(), a.min("latitude"), a.argmax("latitude")),
    "any, count": lambda a: ((a > 2).any("latitude"), a.count("longitude")),
    "median": lambda a: a.median("latitude"),
    "cumsum": lambda a: a.cumsum("latitude"),
    "isel": lambda a: a.isel(longitude=1) + 1,
    "slices": lambda a: a[1:] - a[:-1],
    "turned": lambda a: (a[::-1] * 2, a.T + 1),
    "diff": lambda a: a.diff("latitude"),
    "differentiate": lambda a: a.differentiate("latitude"),
    "shift": lambda a: (a.shift(latitude=1), a.roll(latitude=1, roll_coords=True)),
    "where": lambda a: (a.where(a > 2), a.fillna(0), a.clip(1, 3)),
    "sel": lambda a: a.sel(latitude=slice(1, 3)).mean("latitude"),
    "rolling": lambda a: a.rolling(latitude=3).mean(),
    "coarsen": lambda a: a.coarsen(latitude=2).mean(),
    "groups": lambda a: a.groupby("zone").mean(),
    "attributes": lambda a: (a * 2).assign_attrs(units="mK").rename("twice"),
}


@pytest.mark.parametrize("name", RULES)
def test_xarray_s_own_rules_run_by_pieces(name: str) -> None:
    """Labels, names, attributes and dtypes are xarray's, and the bits those of what it asks NumPy for."""
    function = RULES[name]
    for values in (VALUES, with_a_hole(), with_a_hole().astype(np.float32), VALUES.astype(int)):
        traced, given = jit(function, machine=PIECES), labelled(values)
        for array in (given, given * 2 + 1, labelled(values, first=3)):
            got, want = traced(array), function(array)
            for one, other in zip(*((each if type(each) is tuple else (each,)) for each in (got, want)), strict=True):
                assert one.identical(other)
                assert one.dtype == other.dtype
        assert "is traced: " in traced.explain(given)
        assert traced.pipeline(given)


def test_several_arrays_are_aligned_by_pieces() -> None:
    def anomaly(a: Any, b: Any, weight: float) -> Any:
        return (a - b.mean("longitude")) * weight

    traced, a, b = jit(anomaly), labelled(), labelled(VALUES + 1, first=2)
    for weight in (2.0, 3.0):
        assert traced(a, b, weight).identical(anomaly(a, b, weight))
    assert traced(a, b[1:], 2.0).identical(anomaly(a, b[1:], 2.0))
    assert "subtract" in traced.explain(a, b, 2.0)


def test_labels_are_looked_at_in_each_call() -> None:
    """Also where an array is the same, and its labels, attributes or xarray's options have changed."""
    xarray = pytest.importorskip("xarray")
    traced, given = jit(RULES["diff"]), labelled()
    assert traced(given).identical(RULES["diff"](given))
    given["zone"] = ("longitude", list("efgh"))
    given.attrs["units"] = "mK"
    assert traced(given).identical(RULES["diff"](given))
    with xarray.set_options(keep_attrs=False):
        assert traced(given).identical(RULES["diff"](given))
    found = traced(given)
    found["zone"][...] = "z"
    assert traced(given).identical(RULES["diff"](given))


def changing(a: Any) -> Any:
    a.attrs["seen"] = True
    return a.mean("latitude")


@pytest.mark.parametrize("function", [
    changing,
    lambda a: a.assign_coords(mean=a.mean("latitude")),
    lambda a: a.interp(latitude=[0.5, 1.5]),
    lambda a: a.mean("latitude").values * 2,
    lambda a: a.to_dataset(name="t").mean(),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
def test_what_is_left_to_the_function_as_it_is(function: Any) -> None:
    """What changes its argument, computes labels, asks for values, or gives other containers."""
    given, other = labelled(), labelled()
    got, want = jit(function)(given), function(other)
    assert given.identical(other)
    assert got.identical(want) if hasattr(want, "identical") else np.array_equal(got, want)


def test_means_of_nothing_warn_of_as_much_as_xarray_does(recwarn: Any) -> None:
    """Of nothing, where it leaves out all that there is."""
    values = with_a_hole()
    values[:, 1] = np.nan
    given = labelled(values)
    function = lambda a: (a.mean("latitude"), a.max("latitude"))  # noqa: E731
    assert all(map(lambda one, other: one.identical(other), jit(function)(given), function(given)))
    assert not recwarn.list


def test_arrays_of_dask_stay_such() -> None:
    pytest.importorskip("dask.array")
    chunked = labelled().chunk({"latitude": 2})
    found = jit(RULES["mean"])(chunked)
    assert found.chunks is not None
    assert found.compute().identical(RULES["mean"](labelled()))


def with_a_hole() -> Any:
    values = VALUES.copy()
    values[2, 1] = np.nan
    return values


@pytest.mark.parametrize("function", [
    lambda a: a - a.mean(),
    lambda a: a / a.std(),
    lambda a: a / np.max(a),
    lambda a: a[1:] - a[:-1],
    lambda a: a[:3] * 2,
    lambda a: a.cumsum() if a.ndim == 1 else a.cumsum(0),
    lambda a: a // 0,
    lambda a: a % (a - a),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_tables_keep_their_own_rules(function: Any) -> None:
    """They leave NaNs out, go along columns, divide by one less than the elements, and align what has other labels."""
    pandas = pytest.importorskip("pandas")
    for values in (VALUES, with_a_hole(), VALUES.astype(int)):
        table = pandas.DataFrame(values, index=list("uvwxyz"))
        pandas.testing.assert_frame_equal(jit(function)(table), function(table))
        pandas.testing.assert_series_equal(jit(function)(table[1]), function(table[1]))
    mixed = pandas.DataFrame({"one": [1, 2, 3], "two": [0.5, 1.5, 2.5]})
    pandas.testing.assert_frame_equal(jit(lambda a: a * 2)(mixed), mixed * 2)


@pytest.mark.parametrize(("function", "is_the_same"), [
    (lambda a, b: np.clip(a * 2 + b, 0, 1), True),
    (lambda a, b: np.pad(a, 1)[2:, 1:-1] - a, True),
    (lambda a, b: a * np.pad(b, 1).max(), True),
    (lambda a, b: a - b.sum(), True),
    (lambda a, b: a - a.sum(), False),
    (lambda a, b: a[1:] - a[:-1], False),
    (lambda a, b: (a + b)[1:], False),
    (lambda a, b: np.sort(a), False),
    (lambda a, b: a.T + 1, False),
    (lambda a, b: (a * 4).astype(int), False),
    (lambda a, b: a.astype(int) // 2, False),
    (lambda a, b: b.astype(int) // 2, True),
    (lambda a, b: a + a[0], False),
    (lambda a, b: a[None, 0] + b, False),
    (lambda a, b: a if a.max() > 3 else b, False),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
def test_what_is_the_same_by_places(function: Any, is_the_same: bool) -> None:
    """Asked of `a`, as if that had labels: no container is needed to tell."""
    traced, _ = jit(function)._asked((VALUES, VALUES + 1), {})
    assert traced is not None
    assert (traced.labelled_leaves(2, {0: 0}, in_tables=False) is not None) == is_the_same


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


@pytest.mark.parametrize(("function", "is_the_same"), [
    (lambda a: a * 2 - a / 3, True), (lambda a: a // 2, False), (lambda a: a % 2, False),
])  # fmt: skip
def test_integers_are_divided_by_rules_of_their_own(function: Any, is_the_same: bool) -> None:
    traced, _ = jit(function)._asked((VALUES.astype(int),), {})
    assert traced is not None
    assert (traced.labelled_leaves(2, {0: 0}, in_tables=False) is not None) == is_the_same


def test_it_is_pickled_by_name_as_functions_are() -> None:
    assert pickle.loads(pickle.dumps(sharpen)) is sharpen
    assert copy.deepcopy(sharpen) is sharpen
    named = sl.jit(smallest=0, donate="photo")(smaller)
    again = pickle.loads(pickle.dumps(named))
    assert_same(again(image(4, 3)), smaller(image(4, 3)))
    assert again._donate == ("photo",)


class Means:
    """Knows the mean, arrays of NumPy's and others, and what is not asked for."""

    def __init__(self, mean: Any, scale: float) -> None:
        self.mean = mean
        self.scale = scale
        self.log = open  # of no kind that is known

    def scaled(self, x: Any) -> Any:
        """By a number."""
        return x * self.scale

    @sl.jit(smallest=0, workers=1)
    def anomaly(self, x: Any) -> Any:
        """By places."""
        return self.scaled(x - self.mean)

    @sl.jit(smallest=0, workers=1)
    def by_name(self, x: Any) -> Any:
        """By what an axis is called."""
        return self.scaled(x - x.mean("time")) + self.scale


def test_methods_take_arrays_with_labels() -> None:
    xr = pytest.importorskip("xarray")
    data = np.random.default_rng(0).random((6, 5))
    x = xr.DataArray(data, dims=("time", "y"), coords={"y": np.arange(5) * 2.0}, name="t", attrs={"units": "K"})
    own = Means(np.random.default_rng(1).random((6, 5)), 2.0)
    for scale, k in [(2.0, 1), (2.0, 2), (3.5, 3)]:
        own.scale = scale
        own.mean = own.mean * k
        for method in (own.anomaly, own.by_name):
            want = method.__wrapped__(own, x)
            for _ in range(2):
                got = method(x)
                assert got.identical(want)
                np.testing.assert_array_equal(got.values, want.values)
    assert len(list(Means.anomaly._traces)) == 1
    assert len(Means.by_name._by_labels) == 1
    assert len(list(Means.by_name._by_labels[0]._traces)) == 1
    own.mean = xr.DataArray(data, dims=("time", "y"), coords={"y": np.arange(5) * 2.0})
    assert own.anomaly(x).identical(own.anomaly.__wrapped__(own, x))
    assert own.anomaly(x.T).identical(own.anomaly.__wrapped__(own, x.T))


def test_what_goes_by_labels_is_not_tried_without_them_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xarray")
    anomaly = jit(lambda a: a - a.mean("latitude"))
    for _ in range(3):
        assert anomaly(labelled()).identical(anomaly.__wrapped__(labelled()))
    tried: list[Any] = []
    monkeypatch.setattr(anomaly, "_asked", lambda *given: tried.append(given) or (None, ""))
    assert anomaly(labelled(VALUES * 2)).identical(anomaly.__wrapped__(labelled(VALUES * 2)))
    assert not tried


class Climate:
    """Has what a method needs beside arrays of xarray's."""

    def __init__(self, reference: Any = None) -> None:
        self.scale, self.weights, self.reference = 2.0, np.arange(1.0, 7), reference
        self.seen: dict[str, Any] = {}

    def scaled(self, a: Any) -> Any:
        """By another method."""
        return a * self.scale

    def anomaly(self, a: Any) -> Any:
        """By names of axes."""
        return self.scaled(a - a.mean("latitude"))

    def weighted(self, a: Any) -> Any:
        """With an array that the object has."""
        return (a * self.weights[: a.shape[0], None]).sum("latitude") / self.weights.sum()

    def by_places(self, a: Any) -> Any:
        """Labels do not matter."""
        return np.sqrt(a * self.scale) + a

    def against(self, a: Any) -> Any:
        """With an array of xarray's that the object has."""
        return a - self.reference.mean("latitude")

    def remembered(self, a: Any) -> Any:
        """Keeps what it computes."""
        self.seen["mean"] = a.mean("latitude")
        return a - self.seen["mean"]

    def counted(self, a: Any) -> Any:
        """Sets something."""
        self.scale += 1
        return a.mean("latitude") * self.scale


def test_methods_are_given_arrays_of_xarray() -> None:
    for name in ("anomaly", "weighted", "by_places", "against", "remembered", "counted"):
        function = getattr(Climate, name)
        traced = jit(function)
        mine, other = Climate(labelled()), Climate(labelled())
        calls = [(2.0, labelled()), (2.0, labelled(VALUES + 1)), (3.0, labelled(first=2)), (1.5, labelled())]
        for scale, given in calls:
            for climate in (mine, other):
                climate.scale, climate.weights = scale, climate.weights * scale
            assert traced(mine, given).identical(function(other, given)), name
            assert mine.scale == other.scale
            assert mine.seen.keys() == other.seen.keys()
            assert all(found.identical(other.seen[key]) for key, found in mine.seen.items())
        is_traced = name in ("anomaly", "weighted", "by_places")
        assert ("is traced" in traced.explain(mine, labelled())) == is_traced
        assert "each call" not in traced.explain(mine, labelled())


def test_arrays_of_xarray_may_stand_beside_objects_in_lists() -> None:
    def function(given: Any) -> Any:
        return given[0].mean("latitude") * given[1].scale

    traced = jit(function)
    for scale in (2.0, 2.0, 3.0):
        climate = Climate()
        climate.scale = scale
        assert traced([labelled(), climate]).identical(function([labelled(), climate]))
