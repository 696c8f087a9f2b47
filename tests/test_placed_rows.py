"""Assignment to rows that a known mask, or known integers, choose: rows are copied once, and the last ones count."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from c_programs import needs_compiler
from hypothesis import given
from traced import PIECES, assert_same, for_c, image, jit

import slinky as sl

MONTHS = np.arange(24) * 5 % 4


def anomalies(x: Any, month: Any = MONTHS) -> Any:
    """What is left of each row without the mean of those of its group."""
    out = np.empty_like(x)
    for m in range(4):
        chosen = month == m
        out[chosen] = x[chosen] - x[chosen].mean(axis=0)
    return out


def spread(x: Any, month: Any = MONTHS) -> Any:
    """The largest of its group, for each row, in columns."""
    out = np.zeros((x.shape[1], x.shape[0]))
    for m in range(3):
        out[:, month == m] = x[month == m].max(axis=0)[:, None]
    return out


def turned(x: Any) -> Any:
    """Rows in another order, and back to front."""
    out = np.empty_like(x)
    out[np.argsort(MONTHS, kind="stable")] = x
    out[..., np.array([0, 1])] = x[..., [2, 3]]
    out[[-1, 2, -3]] = x[:3] * 2
    return out


def twice(x: Any) -> Any:
    """Some rows more often than once, of which the last value counts; others by nothing that fits them."""
    out = x * 2
    out[np.array([3, 5, 3, 3])] = x[:4]
    out[np.arange(24) % 6 == 5] = 7
    out[np.arange(24) % 8 == 3] += x[1]
    out[np.zeros(24, bool)] = x[:0]
    out[np.array([], int)] = x[0]
    return out


def read_between(x: Any) -> Any:
    """What others read in between, and see, is as it was there."""
    out = x - 1
    before = out[1:3] + 0
    out[MONTHS == 1] = x[MONTHS == 2]
    between = out.sum(axis=1)
    view = out[::-1]
    out[MONTHS == 2] = out[MONTHS == 1] * 3
    out[1] = -1
    out[MONTHS == 0] = out[1]
    return before, between, view * 1, out


def of_parts(x: Any) -> Any:
    """Rows of views: of some columns, of the transposed array, and with another axis."""
    out = x.copy()
    out[2:20, 1:4][np.arange(18) % 3 == 0] = 1
    out.T[np.array([0, 4])] = x.T[np.array([1, 2])] * 2
    out[None][:, MONTHS == 3] = x[MONTHS == 3] * 0.5
    return out


def in_another_order(x: Any) -> Any:
    """Rows of what rows were assigned to, seen from its end, and all of them put in another order."""
    first, second = x * 2, np.empty_like(x)
    first[MONTHS == 1] = x[0]
    found = first[::-1].copy()
    found[np.array([0, 7, 9])] = x[:3]
    second[np.argsort(MONTHS, kind="stable")] = found
    third = np.stack([x[1]] * 24)
    third[MONTHS == 1] = x[0]
    third[::-1][np.array([0, 7, 9])] = x[:3]
    return second, third


def cast(x: Any) -> Any:
    """Floats and complex numbers in arrays of integers and floats, as assignments cast them."""
    out, small = np.zeros(x.shape, np.int16), np.ones((24, 2), np.float32)
    out[MONTHS == 1] = x[MONTHS == 1] * 10
    out[MONTHS == 2] = np.float64(3.7)
    small[MONTHS == 0] = x[MONTHS == 0, :2]
    return out, small


FUNCTIONS = [anomalies, spread, turned, twice, read_between, of_parts, in_another_order, cast]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_rows_are_those_of_numpy(f: Callable[..., Any], dtype: Any) -> None:
    x = (image(24, 6, dtype=np.float64) * 9).astype(dtype)
    given = x.copy()
    want = f(x)
    for traced in (jit(f), jit(f, machine=PIECES), jit(f, machine=PIECES, exact=True), for_c(f)):
        assert_same(traced(x), want, rounded=True)
    assert_same(x, given)


@needs_compiler
@pytest.mark.parametrize("f", FUNCTIONS)
def test_in_c(f: Callable[..., Any]) -> None:
    x = image(24, 6, dtype=np.float64)
    assert_same(jit(f, native=True, machine=PIECES)(x), f(x), rounded=True)


@pytest.mark.parametrize("f", [anomalies, spread])
def test_rows_that_a_small_argument_chooses(f: Callable[..., Any]) -> None:
    """The trace is kept for what the argument holds."""
    x = image(24, 4000, dtype=np.float64)
    traced = jit(f)
    for month in (MONTHS, MONTHS[::-1].copy(), MONTHS, np.sort(MONTHS)):
        assert_same(traced(x, month), f(x, month), rounded=True)


@pytest.mark.parametrize("f", [anomalies, turned])
def test_nothing_is_chosen_element_by_element(f: Callable[..., Any]) -> None:
    """All rows are put together by one call, which reads no array that there was before."""
    p = jit(f, strict=True).pipeline(image(24, 40, dtype=np.float64))
    names = [call.name() for call in p.find_all("_ = _")]
    assert sum(name.startswith("assign") for name in names) == (1 if f is anomalies else 3)
    assert not any(name.startswith(("where", "out", "empty")) for name in names), names


REFUSED = {
    "a mask that is too long": lambda x, out: operator.setitem(out, np.ones(25, bool), 0),
    "a mask that is too short": lambda x, out: operator.setitem(out, np.ones(23, bool), 0),
    "an integer beyond the end": lambda x, out: operator.setitem(out, np.array([1, 24]), 0),
    "an integer before the beginning": lambda x, out: operator.setitem(out, (slice(None), np.array([1, -7])), 0),
    "other rows": lambda x, out: operator.setitem(out, MONTHS == 1, x[:5]),
    "rows for none": lambda x, out: operator.setitem(out, np.zeros(24, bool), x[:5]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_raises_what_numpy_raises(name: str) -> None:
    def f(x: Any) -> Any:
        out = x * 2
        REFUSED[name](x, out)
        return out

    x = image(24, 6, dtype=np.float64)
    with pytest.raises((IndexError, ValueError)) as wanted:
        f(x)
    for traced in (jit(f), lambda given: f(sl.lazy(given))):
        with pytest.raises(wanted.type, match=re.escape(str(wanted.value))):
            traced(x)


def test_arguments_that_are_given_away() -> None:
    def f(x: Any) -> Any:
        x[MONTHS == 1] = x[MONTHS == 2] + 1
        x[[0, 1]] = x[[1, 0]]
        return x

    got, want = image(24, 6, dtype=np.float64), image(24, 6, dtype=np.float64)
    assert jit(f, donate=("x",))(got) is got
    assert_same(got, f(want))


@st.composite
def programs(draw: st.DrawFn) -> tuple[tuple[int, int], list[tuple[Any, ...]]]:
    """The shape of an array, and assignments: along which axis, to which places, of how many rows, and read or not."""
    shape = draw(st.tuples(st.integers(1, 7), st.integers(1, 7)))
    steps = []
    for _ in range(draw(st.integers(1, 6))):
        axis = draw(st.integers(0, 1))
        if draw(st.booleans()):
            places = np.array(draw(st.lists(st.booleans(), min_size=shape[axis], max_size=shape[axis])))
            count = int(places.sum())
        else:
            places = np.array(draw(st.lists(st.integers(-shape[axis], shape[axis] - 1), max_size=9)), int)
            count = len(places)
        steps.append((axis, places, draw(st.sampled_from([1, count])), draw(st.sampled_from(["", "read", "own"]))))
    return shape, steps


@given(programs())
def test_random_assignments(program: tuple[tuple[int, int], list[tuple[Any, ...]]]) -> None:
    shape, steps = program

    def f(x: Any) -> Any:
        out, found = x * 2, []
        for k, (axis, places, count, how) in enumerate(steps):
            index = (slice(None),) * axis + (places,)
            if how == "own":
                out[index] = out[index] + 1
            else:
                rows = np.moveaxis(np.moveaxis(x, axis, 0)[:1] * (k + np.arange(count))[:, None], 0, axis)
                out[index] = rows
            if how == "read":
                found.append(out.sum(axis=axis))
        return out, found

    x = image(*shape, dtype=np.float64)
    want = f(x)
    assert_same(jit(f)(x), want, rounded=True)
    assert_same(jit(f, machine=PIECES)(x), want, rounded=True)


def test_lazy_arrays() -> None:
    def f(x: Any) -> Any:
        out = x * 2
        out[MONTHS == 1] = x[MONTHS == 3]
        out[np.array([2, 2])] = x[:2]
        return out

    x = image(24, 6, dtype=np.float64)
    assert_same(np.asarray(f(sl.lazy(x))), f(x))
