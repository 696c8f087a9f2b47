"""Calls with known results, which SciPy tests its filters by: traced, whole and by pieces, from and to all dtypes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
import scipy.ndimage
from traced import MACHINE, PIECES, jit

import slinky as sl

LINE, SMALL = [3, 2, 5, 1, 4], [[1, 2, 3], [4, 5, 6]]
TABLE = [[3, 2, 5, 1, 4], [7, 6, 9, 3, 5], [5, 8, 3, 7, 1]]
RANKED = [[3, 2, 5, 1, 4], [5, 8, 3, 7, 1], [5, 6, 9, 3, 5]]
HALF, OTHER = [[1, 0, 1], [1, 1, 0]], [[0, 1, 1], [1, 0, 1]]
DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


@attrs.frozen
class Known:
    """What a filter gives for an array and arguments."""

    filter: str
    array: Any
    arguments: dict[str, Any]
    result: Any


CALLS = [
    Known("correlate", [1, 2], {"weights": [2]}, [2, 4]),
    Known("convolve1d", [1, 2], {"weights": [2]}, [2, 4]),
    Known("correlate", [1], {"weights": [1, 1]}, [2]),
    Known("convolve", [1], {"weights": [1, 1]}, [2]),
    Known("correlate1d", [1, 2], {"weights": [1, 1]}, [2, 3]),
    Known("convolve1d", [1, 2], {"weights": [1, 1]}, [3, 4]),
    Known("correlate", [1, 2, 3], {"weights": [1, 1], "origin": -1}, [3, 5, 6]),
    Known("convolve", [1, 2, 3], {"weights": [1, 1], "origin": -1}, [2, 3, 5]),
    Known("correlate", SMALL, {"weights": [[1, 1], [1, 1]]}, [[4, 6, 10], [10, 12, 16]]),
    Known("convolve", SMALL, {"weights": [[1, 1], [1, 1]]}, [[12, 16, 18], [18, 22, 24]]),
    Known("correlate", SMALL, {"weights": [[1, 0], [0, 1]]}, [[2, 3, 5], [5, 6, 8]]),
    Known("convolve", SMALL, {"weights": [[1, 0], [0, 1]]}, [[6, 8, 9], [9, 11, 12]]),
    Known("uniform_filter1d", [2, 4, 6], {"size": 2, "origin": -1}, [3, 5, 6]),
    Known("uniform_filter", [1, 2, 3], {"size": [0]}, [1, 2, 3]),
    Known("uniform_filter", [2, 4, 6], {"size": [2]}, [2, 3, 5]),
    Known("uniform_filter", [[4, 8, 12], [16, 20, 24]], {"size": [2, 2]}, [[4, 6, 10], [10, 12, 16]]),
    Known("minimum_filter", LINE, {"size": [2]}, [3, 2, 2, 1, 1]),
    Known("minimum_filter", LINE, {"size": [3]}, [2, 2, 1, 1, 1]),
    Known("minimum_filter", TABLE, {"size": [2, 3]}, [[2, 2, 1, 1, 1], [2, 2, 1, 1, 1], [5, 3, 3, 1, 1]]),
    Known(
        "minimum_filter",
        TABLE,
        {"footprint": HALF, "origin": [-1, 0]},
        [[2, 3, 1, 3, 1], [5, 5, 3, 3, 1], [5, 3, 3, 1, 1]],
    ),
    Known("maximum_filter", TABLE, {"size": [2, 3]}, [[3, 5, 5, 5, 4], [7, 9, 9, 9, 5], [8, 9, 9, 9, 7]]),
    Known("rank_filter", LINE, {"rank": 1, "size": 2}, [3, 3, 5, 5, 4]),
    Known("percentile_filter", LINE, {"percentile": 100, "size": 2}, [3, 3, 5, 5, 4]),
    Known("rank_filter", LINE, {"rank": -2, "size": 3}, [3, 3, 2, 4, 4]),
    Known("median_filter", LINE, {"size": 3}, [3, 3, 2, 4, 4]),
    Known("rank_filter", RANKED, {"rank": 1, "size": [2, 3]}, [[2, 2, 1, 1, 1], [3, 3, 2, 1, 1], [5, 5, 3, 3, 1]]),
    Known("rank_filter", RANKED, {"rank": -2, "size": [2, 3]}, [[3, 5, 5, 5, 4], [5, 5, 7, 5, 4], [6, 8, 8, 7, 5]]),
    Known("median_filter", RANKED, {"size": (2, 3)}, [[3, 3, 2, 4, 4], [5, 5, 5, 4, 4], [5, 6, 7, 5, 5]]),
    Known("grey_erosion", TABLE, {"footprint": HALF}, [[2, 2, 1, 1, 1], [2, 3, 1, 3, 1], [5, 5, 3, 3, 1]]),
    Known("grey_dilation", TABLE, {"footprint": OTHER}, [[7, 7, 9, 9, 5], [7, 9, 8, 9, 7], [8, 8, 8, 7, 7]]),
    Known(
        "grey_dilation",
        TABLE,
        {"footprint": OTHER, "structure": [[1, 1, 1], [1, 1, 1]]},
        [[8, 8, 10, 10, 6], [8, 10, 9, 10, 8], [9, 9, 9, 8, 8]],
    ),
]


@pytest.mark.parametrize("call", CALLS, ids=[f"{call.filter}-{n}" for n, call in enumerate(CALLS)])
def test_a_known_call(call: Known) -> None:
    given = {
        name: np.array(each) if name in ("weights", "footprint") else each for name, each in call.arguments.items()
    }
    apply = functools.partial(getattr(sl.ndimage, call.filter), **given)
    for number, dtype in enumerate(DTYPES):
        array = np.array(call.array, dtype)
        target = np.dtype(DTYPES[number - 3])
        traced = jit(lambda x, kind=target: apply(x, output=kind), machine=(MACHINE, PIECES)[number % 2], strict=True)
        found = traced(array)
        assert found.dtype == target
        np.testing.assert_array_almost_equal(found, call.result)
        if "size" in given and array.ndim == 1 and dtype != target:
            continue  # SciPy writes beyond the output of some
        want = getattr(scipy.ndimage, call.filter)(array, output=target, **given)
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("name", ["median_filter", "rank_filter", "percentile_filter"])
def test_ranks_know_one_mode(name: str) -> None:
    arguments = {"median_filter": {}, "rank_filter": {"rank": 3}, "percentile_filter": {"percentile": 50.0}}[name]
    array = np.array(RANKED)
    with pytest.raises(RuntimeError):
        jit(lambda x: getattr(sl.ndimage, name)(x, size=(2, 3), mode=["reflect", "constant"], **arguments))(array)


@pytest.mark.parametrize("given", [np.array(3.5), np.float32(2), np.array([1.5, 3.5]), np.array([2, 7, 1])])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("gaussian_filter", (1.0,)),
        ("uniform_filter", (3,)),
        ("median_filter", (3,)),
        ("maximum_filter", (3,)),
        ("grey_opening", (3,)),
        ("morphological_gradient", (3,)),
        ("laplace", ()),
        ("correlate", (np.array(2.0),)),
        ("generic_filter", (np.max, 3)),
        ("binary_erosion", ()),
    ],
)
def test_arrays_of_one_element_and_no_axes(name: str, arguments: tuple[Any, ...], given: Any) -> None:
    def function(a: Any, of: Any = sl.ndimage) -> Any:
        return getattr(of, name)(a.max(), *arguments), getattr(of, name)(a.max()[...], *arguments) * 2

    traced = jit(function)
    for values in (given, given + given):
        for found, expected in zip(traced(values), function(values, scipy.ndimage), strict=True):
            assert type(found) is type(expected)
            assert found == expected
            assert found.dtype == expected.dtype


@pytest.mark.parametrize("mode", ["reflect", "grid-mirror"])
@pytest.mark.parametrize("name", ["correlate", "generic_filter", "median_filter", "maximum_filter"])
def test_a_window_many_times_as_long_as_the_array_sees_what_the_mode_says(name: str, mode: str) -> None:
    """SciPy reads memory before the array there: so it is asked about an array that is padded by NumPy."""
    random = np.random.default_rng(1)
    image, window = random.random((2, 3)), random.random((25, 3))
    arguments: dict[str, Any] = {
        "correlate": {"weights": window},
        "generic_filter": {"function": np.mean, "footprint": window > 0.4},
    }.get(name, {"footprint": window > 0.4})
    padded = getattr(scipy.ndimage, name)(np.pad(image, ((12, 12), (1, 1)), "symmetric"), **arguments)
    found = jit(lambda x: getattr(sl.ndimage, name)(x * 1, mode=mode, **arguments))(image)
    assert np.array_equal(found, padded[12:-12, 1:-1])


@pytest.mark.parametrize("axes", [(1, 0), (-1, 0), (0, 1)])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("minimum_filter", {"footprint": [[1, 1, 0], [0, 1, 1]], "origin": (-1, 1)}),
        ("median_filter", {"footprint": [[1, 1, 0], [0, 1, 1]], "origin": (-1, 1)}),
        ("grey_dilation", {"footprint": [[1, 0, 1], [0, 1, 1]]}),
        ("grey_opening", {"structure": [[0, 1, 2], [2, 0, 1]]}),
        ("white_tophat", {"footprint": [[1, 0, 1], [0, 1, 1]]}),
        ("correlate", {"weights": [[1, 2, 3], [4, 5, 6]], "origin": (-1, 1)}),
        ("convolve", {"weights": [[1, 2, 3], [4, 5, 6]]}),
        ("generic_filter", {"function": np.max, "footprint": [[1, 0, 1], [0, 1, 1]], "origin": (-1, 1)}),
        ("binary_erosion", {"structure": [[1, 0, 1], [0, 1, 1]], "origin": (-1, 1)}),
        ("binary_hit_or_miss", {"structure1": [[1, 0, 1], [0, 1, 1]], "origin1": (-1, 1)}),
    ],
)
def test_origins_of_all_axes_are_taken_in_the_order_of_the_array(
    name: str, arguments: dict[str, Any], axes: tuple[int, ...]
) -> None:
    """As footprints are, whatever the order of the axes: SciPy goes by the axes only where some are left out."""
    image = np.random.default_rng(2).integers(0, 2 if name.startswith("binary") else 99, (9, 8))
    found = jit(lambda x: getattr(sl.ndimage, name)(x * 1, axes=axes, **arguments))(image)
    assert np.array_equal(found, getattr(scipy.ndimage, name)(image, axes=axes, **arguments))


WHOLE: dict[str, Callable[[Any, Any], Any]] = {
    "until nothing changes": lambda of, x: of.binary_erosion(x > 9, iterations=0, border_value=1),
    "until nothing changes in a mask": lambda of, x: of.binary_dilation(x > 90, iterations=-1, mask=x > 20),
    "halves beyond bools": lambda of, x: of.correlate1d(x > 9, [1, 2.5], mode="constant", cval=2.5),
    "numbers beyond bytes": lambda of, x: of.median_filter(x, 3, mode="constant", cval=300),
}


@pytest.mark.parametrize("case", WHOLE)
def test_what_cannot_go_by_pieces_runs_whole_in_traced_functions(case: str) -> None:
    """As the function gives it untraced; `explain` names it, and with `strict` it is refused."""

    def function(x: Any) -> Any:
        return WHOLE[case](sl.ndimage, x // 2) + 1

    image = np.random.default_rng(3).integers(0, 255, (40, 30), np.uint8)
    traced = jit(function)
    for array in (image, image[:33], image):
        assert np.array_equal(traced(array), WHOLE[case](scipy.ndimage, array // 2) + 1)
    assert "is not understood and computed at once on whole arrays" in str(traced.explain(image))
    with pytest.raises(sl.TracingError, match="is not understood"):
        jit(function, strict=True)(image)


def into_another(x: Any) -> Any:
    out = np.empty(x.shape)
    sl.ndimage.sobel(x * 2, output=out)
    return out + 1


def from_outside(x: Any) -> Any:
    out = np.empty(x.shape, x.dtype)
    sl.ndimage.median_filter(np.arange(12.0).reshape(3, 4), 3, None, out)
    return out + x


def in_place(x: Any) -> Any:
    y = x * 2
    sl.ndimage.gaussian_filter1d(y, 1, 0, output=y)
    return y


@pytest.mark.parametrize("function", [into_another, from_outside, in_place])
def test_a_function_with_a_filter_that_writes_to_an_array_is_called_as_it_is(function: Callable[[Any], Any]) -> None:
    array = np.random.default_rng(4).random((3, 4))
    traced = jit(function)
    assert np.array_equal(traced(array), function(array))
    assert "is called as it is" in str(traced.explain(array))
    with pytest.raises(sl.TracingError, match="with an array as output="):
        jit(function, strict=True)(array)


@pytest.mark.parametrize("name", ["binary_fill_holes", "binary_propagation"])
def test_what_goes_on_until_nothing_changes(name: str) -> None:
    """It is SciPy's on arrays, runs whole in traced functions, and has no funcs in a graph."""
    apply, want = getattr(sl.ndimage, name), getattr(scipy.ndimage, name)
    ring = np.zeros((9, 8), bool)
    ring[2:6, 1:6] = True
    ring[3:5, 2:5] = False
    mask = scipy.ndimage.binary_dilation(ring, iterations=2)
    named = [{}, {"structure": np.ones((3, 3)), "origin": 0}, {"axes": (1,)}]
    if name == "binary_propagation":
        named += [{"mask": mask}, {"mask": mask, "border_value": 1, "output": np.uint8}]
    for given in named:
        for image in (ring, ring.astype(np.float32), ring[::-1]):
            traced = jit(lambda x, given=given: apply(x > 0, **given) | (x > 7))
            np.testing.assert_array_equal(apply(image, **given), want(image, **given), strict=True)
            np.testing.assert_array_equal(traced(image), want(image > 0, **given) | (image > 7), strict=True)
            assert name in traced.explain(image)
            np.testing.assert_array_equal(np.asarray(apply(sl.lazy(image), **given)), want(image, **given), strict=True)
    target = np.ones_like(ring)
    apply(ring, output=target)
    expected = np.ones_like(ring)
    want(ring, output=expected)
    np.testing.assert_array_equal(target, expected)
    with pytest.raises(sl.ArgumentError, match=name):
        apply(sl.BufferExpr("image", bool, 2))
    with pytest.raises(TypeError, match=rf"{name}\(\) got an unexpected keyword"):
        apply(ring, mode="reflect")
    with pytest.raises(sl.TracingError, match=name):
        jit(lambda x: apply(x), strict=True)(ring)


@pytest.mark.skipif(not hasattr(scipy.ndimage, "vectorized_filter"), reason="SciPy 1.16 has it")
def test_functions_of_all_windows_run_whole() -> None:
    image = np.random.default_rng(3).random((9, 8))
    cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool)
    for given in ({"size": 3}, {"footprint": cross, "mode": "constant", "cval": 2.0}, {"size": (2,), "axes": 0}):
        want = scipy.ndimage.vectorized_filter(image * 2, np.mean, **given) + 1
        traced = jit(lambda x, given=given: sl.ndimage.vectorized_filter(x * 2, np.mean, **given) + 1)
        np.testing.assert_array_equal(traced(image), want, strict=True)
        assert "vectorized_filter is not understood" in traced.explain(image)
        np.testing.assert_array_equal(sl.ndimage.vectorized_filter(image * 2, np.mean, **given) + 1, want)
    with pytest.raises(ValueError, match="`size` or `footprint` must be provided"):
        sl.ndimage.vectorized_filter(image, np.mean)
    with pytest.raises(sl.ArgumentError, match="gives the function all windows at once, so that what it"):
        sl.ndimage.vectorized_filter(sl.BufferExpr("image", float, 2), np.mean, size=3)


def test_a_filter_that_an_older_scipy_has_not_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(scipy.ndimage, "vectorized_filter", raising=False)
    with pytest.raises(sl.ArgumentError, match="this SciPy has no vectorized_filter; it takes a newer one"):
        sl.ndimage.vectorized_filter(np.ones(3), np.mean, size=3)
