"""Which operations of a traced function become one func, and which are computed by each of their readers in C."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from traced import for_c, jit

import slinky as sl
from slinky.errors import GraphError
from slinky.frontend import fusing
from slinky.frontend.fusing import LONGEST
from slinky.graph import terms

Array = np.ndarray[Any, Any]

rng = np.random.default_rng(5)
IMAGE = rng.random((20, 17), np.float32)
ODD = IMAGE.copy()
ODD[3, 4], ODD[7, 1:3], ODD[11, 9] = np.nan, (np.inf, -np.inf), -0.0


def names(traced: Any, *arrays: Array) -> list[str]:
    """The funcs that run, in the order of the program."""
    return [call.name() for call in traced.pipeline(*arrays).find_all("_ = _")]


def agree(traced: Any, function: Any, *arrays: Array) -> None:
    """The same bits, in whichever way it is computed."""
    with np.errstate(all="ignore"):
        want, found = function(*arrays), traced(*arrays)
    for a, b in zip(*(each if isinstance(each, tuple) else (each,) for each in (want, found)), strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes() or np.array_equal(a, b, equal_nan=True)
        assert np.array_equal(np.signbit(a[a == 0]), np.signbit(b[b == 0]))


# ----------------------------------------------------------------------------------------------------------------
# One func
# ----------------------------------------------------------------------------------------------------------------


def test_what_one_func_reads_in_several_steps_is_part_of_it() -> None:
    def response(a: Array, b: Array) -> Array:
        low = a + b
        high = a * b
        trace = low + high
        size: Array = low * high - trace * trace
        return size

    traced = jit(response)
    assert names(traced, IMAGE, IMAGE) == ["size"]
    agree(traced, response, IMAGE, ODD)


def test_what_others_read_as_well_is_not() -> None:
    def shifted(a: Array) -> Array:
        twice = a * 2
        result: Array = twice[1:] + twice[:-1]
        return result

    def summed(a: Array) -> Array:
        twice = a * 2
        result: Array = twice + twice.sum(axis=1)[:, None]
        return result

    def only_summed(a: Array) -> Array:
        result: Array = (a * 2).sum(axis=1)
        return result

    def returned(a: Array) -> tuple[Array, Array]:
        twice = a * 2
        return twice, twice * twice + 1

    for function, count in ((shifted, 2), (summed, 3), (only_summed, 2), (returned, 2)):
        traced = jit(function)
        assert len(names(traced, IMAGE)) == count, function
        agree(traced, function, ODD)


def test_chains_are_cut_where_they_are_long() -> None:
    def chain(a: Array) -> Array:
        for k in range(40):
            a = a * np.float32(1.01) if k % 2 else a + np.float32(k)
        return a

    traced = jit(chain)
    calls = traced.pipeline(IMAGE).find_all("_ = _")
    lengths = [len(call._call.func.operation.formula.steps) for call in calls]
    assert sum(lengths) == 40
    assert max(lengths) == LONGEST
    assert len(lengths) == 2
    agree(traced, chain, ODD)


# ----------------------------------------------------------------------------------------------------------------
# Computed by each reader
# ----------------------------------------------------------------------------------------------------------------


def moments(a: Array) -> Array:
    down, across = a[2:, 1:-1] - a[:-2, 1:-1], a[1:-1, 2:] - a[1:-1, :-2]

    def sums(p: Array) -> Array:
        rows = p[:-2] + p[1:-1] + p[2:]
        found: Array = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]
        return found

    size: Array = sums(down * down) * sums(across * across) - sums(down * across)
    return size


def test_products_are_computed_where_they_are_summed() -> None:
    kept, repeated = jit(moments), for_c(moments)
    assert names(kept, IMAGE).count("multiply") == 1
    assert len(names(kept, IMAGE)) == 9
    found = names(repeated, IMAGE)
    assert len(found) == 6
    assert not any(name.startswith("multiply") for name in found)
    for image in (IMAGE, ODD, IMAGE.astype(np.float64), (IMAGE * 100).astype(np.int64), IMAGE[::-1, ::2]):
        agree(for_c(moments), moments, image)


@pytest.mark.parametrize("rows", [1, 3])
def test_they_are_sound_under_schedules(rows: int) -> None:
    p = for_c(moments).pipeline(IMAGE)
    result = sl.strips(p, rows).run(IMAGE, out := np.zeros((16, 13), np.float32), checked=True)
    assert np.array_equal(out, moments(IMAGE))
    assert result.elements["size"] == 16 * 13


def test_what_is_not_cheaper_is_kept() -> None:
    def dear(a: Array) -> Array:
        steep = a / (a + 1)
        result: Array = steep[:-2] + steep[1:-1] + steep[2:]
        return result

    def wide(a: Array) -> Array:
        blurred = a[:, :-4] + a[:, 1:-3] * 4 + a[:, 2:-2] * 6 + a[:, 3:-1] * 4 + a[:, 4:]
        result: Array = blurred[:-4] + blurred[1:-3] * 4 + blurred[2:-2] * 6 + blurred[3:-1] * 4 + blurred[4:]
        return result

    def of_other_sizes(a: Array) -> Array:
        whole = a.astype(np.float64)
        result: Array = whole[1:] + whole[:-1]
        return result

    def flipped(a: Array) -> Array:
        twice = a * 2
        result: Array = twice[::-1] - twice
        return result

    def read_by_a_sum(a: Array) -> Array:
        twice = a * 2
        result: Array = (twice[1:] + twice[:-1]) * twice.sum(axis=1)[1:, None]
        return result

    def of_two_sizes(a: Array) -> Array:
        twice = a * 2
        result: Array = twice[1:] + twice[:-1] + np.float64(1)
        return result

    def read_by_a_running_sum(a: Array) -> Array:
        twice = a * 2
        result: Array = (twice[1:] + twice[:-1]) * np.cumsum(twice, axis=1)[1:]
        return result

    def returned(a: Array) -> tuple[Array, Array]:
        twice = a * 2
        return twice, twice[1:] + twice[:-1]

    for function in (dear, wide, of_other_sizes, of_two_sizes, flipped, read_by_a_sum, read_by_a_running_sum, returned):
        assert names(for_c(function), IMAGE) == names(jit(function), IMAGE), function
        agree(for_c(function), function, ODD)


def test_what_is_repeated_may_repeat_others() -> None:
    def twice_shifted(a: Array, b: Array) -> Array:
        first = a * b
        second = first[1:] - first[:-1]
        result: Array = second[1:] * second[:-1]
        return result

    traced = for_c(twice_shifted)
    assert len(names(traced, IMAGE, IMAGE)) < len(names(jit(twice_shifted), IMAGE, IMAGE))
    agree(traced, twice_shifted, ODD, IMAGE)


@pytest.mark.parametrize("has_wide_vectors", [False, True])
def test_small_integers_are_converted_by_each_reader_of_a_row(
    has_wide_vectors: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where vectors are wide: of a row of pixels as well, but not of neighbours in columns, to float64, or of many."""

    def along(a: Array) -> Array:
        image = a.astype(np.float32)
        result: Array = (image[:, :-2] + 2 * image[:, 1:-1] + image[:, 2:]).astype(np.int16)
        return result

    def of_pixels(a: Array) -> Array:
        image = a.astype(np.int32)
        result: Array = image[1:, :-1] - image[1:, 1:]
        return result

    def across(a: Array) -> Array:
        image = a.astype(np.float32)
        result: Array = image[:-2] + 2 * image[1:-1] + image[2:]
        return result

    def to_double(a: Array) -> Array:
        image = a.astype(np.float64)
        result: Array = image[:, :-1] + image[:, 1:]
        return result

    def many(a: Array) -> Array:
        image = a.astype(np.float32)
        total = image[:, :-14]
        for k in range(1, 15):
            total = total + image[:, k : k - 14 or None]
        return total

    monkeypatch.setattr("slinky.native.compiling.has_wide_vectors", lambda: has_wide_vectors)
    for dtype in (np.uint8, np.int16):
        plane = rng.integers(0, 100, (20, 17), dtype)
        pixels = rng.integers(0, 100, (6, 5, 3), dtype)
        for function, image, repeats in (
            (along, plane, 1),
            (of_pixels, pixels, 1),
            (across, plane, 0),
            (to_double, plane, 0),
            (many, plane, 0),
        ):
            kept, traced = names(jit(function), image), for_c(function)
            assert len(names(traced, image)) == len(kept) - repeats * has_wide_vectors, function
            agree(traced, function, image)


def test_loops_stay_short() -> None:
    def sums(a: Array) -> Array:
        products = a * a
        total = products[:-30]
        for k in range(1, 31):
            total = total + products[k : k - 30 or None]
        return total

    tall = rng.random((50, 9), np.float32)
    p = for_c(sums).pipeline(tall)
    assert max(len(call._call.func.operation.formula.steps) for call in p.find_all("_ = _")) <= LONGEST
    agree(for_c(sums), sums, tall)


def test_a_reader_that_cannot_compute_it_leaves_it_to_a_func(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two readers are refused when their terms are made: both read the same, and it is computed by one func."""

    def ends(a: Array) -> Array:
        products = a * a
        low, high = np.subtract(products[1:], products[:-1]), np.subtract(products[:-1], products[1:])
        result: Array = low[1:] / high[:-1]
        return result

    applied = terms.applied

    def refusing(ufunc: np.ufunc, operands: Any, **options: Any) -> Any:
        if ufunc is np.subtract:
            raise GraphError("as if it took its operands otherwise")
        return applied(ufunc, operands, **options)

    assert "products" not in names(for_c(ends), IMAGE)
    monkeypatch.setattr(fusing, "applied", refusing)
    fresh: Any = for_c(lambda a: ends(a))
    found = names(fresh, IMAGE)
    assert found.count("products") + found.count("multiply") == 1
    agree(fresh, ends, ODD)


def test_python_plans_repeat_nothing() -> None:
    for traced in (sl.jit(native=False)(moments), sl.jit(moments)):
        assert len(names(traced, IMAGE)) == 9


def box(a: Array) -> Array:
    total = np.zeros_like(a)
    for row in range(3):
        total += np.roll(a, row, axis=0)
    return total / np.full(a.shape, 9, a.dtype)


def filled(a: Array) -> tuple[Array, ...]:
    zeros = np.zeros_like(a)
    parts = np.zeros_like(a)
    parts[1:3] = 1
    return (
        np.where(a > zeros, np.full_like(a, -0.0), a),
        np.maximum(zeros, a) + np.zeros(a.shape[0], a.dtype)[:, None],
        np.zeros(a.shape) + a[0],
        zeros + np.ones_like(a),
        parts * a,
    )


@pytest.mark.parametrize("make", [jit, for_c, lambda f: jit(f, native=True)])
def test_numbers_that_arrays_are_full_of_are_constants(make: Any) -> None:
    """An array of one element that is seen everywhere has no neighbours: a loop in C that reads it has no vectors."""
    traced = make(box)
    assert not any(name.startswith("full") for name in names(traced, IMAGE))
    agree(traced, box, IMAGE)
    agree(traced, box, ODD)
    agree(make(filled), filled, IMAGE)


@pytest.mark.parametrize("options", [{"backend": "interpreter"}, {"checked": True}, {"checked": "first"}])
def test_an_element_that_a_func_sees_without_axes(options: dict[str, Any]) -> None:
    given = np.arange(1.0, 6.0)
    for function in (lambda a: a[0] * a + 1, lambda a: a * a[1] - a[-1], lambda a: a[2] / a[4]):
        (found,) = for_c(function).pipeline(given).run(given, **options).outputs
        np.testing.assert_array_equal(found, function(given))
