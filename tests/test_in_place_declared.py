"""What is declared of callbacks that work in place, and what checked mode finds of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_in_place import Array, buffer, chain

import slinky as sl
from slinky.runtime.callbacks import are_equal


def test_checked_mode_tests_what_is_declared() -> None:
    def both(source: Array, target: Array) -> None:
        target[...] = 2 * source
        target += source  # too late: this is what has been written

    (i,) = sl.variables("i")
    a, out = buffer("a"), buffer("out")
    sl.Func(both, [a[i]], [out[i]], in_place=True)
    p = sl.build_pipeline([a], [out])
    source, result = np.arange(5.0), np.zeros(5)
    with pytest.raises(sl.CallbackError) as caught:
        p.run(source, result, checked=True)
    assert str(caught.value) == (
        "the callback of both[0..4] is declared to work in place, but gives something else where out is the memory "
        "of a; it reads a after it has written there. Declare it with in_place=False"
    )
    np.testing.assert_array_equal(source, np.arange(5))
    p.run(source, result)  # nobody reads a last: nothing is in place
    np.testing.assert_array_equal(result, 3 * np.arange(5))


def test_checked_mode_tests_all_outputs_of_what_is_declared() -> None:
    """What is written over an input too early shows in another output."""

    def both(source: Array, minus: Array, same: Array) -> None:
        np.negative(source, out=minus)
        same[...] = source  # too late, where `minus` is the memory of `source`

    (i,) = sl.variables("i")
    a, minus, same = buffer("a"), buffer("minus"), buffer("same")
    sl.Func(both, [a[i]], [minus[i], same[i]], in_place=True)
    p = sl.build_pipeline([a], [minus, same])
    with pytest.raises(sl.CallbackError, match="something else where minus is the memory of a"):
        p.run(np.arange(5.0), np.zeros(5), np.zeros(5), checked=True)


@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble, np.dtype([("a", "u1"), ("b", "g")], align=True)])
def test_padding_may_hold_anything(dtype: Any) -> None:
    """The bytes of an element that are no part of its value are no sign that a callback does not work in place."""

    def scribble(source: Array, target: Array) -> None:
        numbers = [source[n] for n in source.dtype.names] if source.dtype.names else [source]
        values = [n * 2 for n in numbers]
        target.view(np.uint8)[...] = len(calls) + 1  # other padding in each call
        calls.append(1)
        for field, value in zip(source.dtype.names or [...], values, strict=True):
            target[field].real = value.real if field is ... or field == "b" else value
            if np.iscomplexobj(target):
                target.imag = value.imag

    calls: list[int] = []
    (i,) = sl.variables("i")
    a, b = sl.BufferExpr("a", dtype, rank=1), sl.BufferExpr("b", dtype, rank=1)
    sl.Func(scribble, [a[i]], [b[i]], in_place=True)
    source = np.zeros(5, dtype)
    sl.build_pipeline([a], [b]).run(source, np.zeros(5, dtype), checked=True)
    assert len(calls) > 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, [("a", "f4"), ("b", "i4")]])
def test_bits_of_nan_may_be_any(dtype: Any) -> None:
    """A processor that multiplies two of them gives the bits of the one or the other."""
    whole, apart = np.ones(3, dtype), np.ones(3, dtype)
    floats = whole["a"] if whole.dtype.names else whole.real
    floats[1] = np.nan
    others = apart["a"] if apart.dtype.names else apart.real
    others[1] = np.copysign(others.dtype.type(np.nan), -1)
    assert whole.tobytes() != apart.tobytes()
    assert are_equal(whole, apart)
    floats[0], others[0] = 0.0, -0.0
    assert not are_equal(whole, apart)


def test_products_of_nans_work_in_place_in_checked_mode() -> None:
    y, x = sl.variables("y x")
    a, factor, out = (sl.BufferExpr(name, np.float32, rank) for name, rank in (("a", 2), ("factor", 0), ("out", 2)))
    sl.arithmetic(a[y, x] * factor[()], out[y, x], name="scale")
    p = sl.build_pipeline([a, factor], [out])
    given = np.full((8, 16), np.nan, np.float32)
    for source in (given, given[::-1, ::-1], given[:, ::2]):  # other loops of NumPy's than that over what is copied
        found = np.empty(source.shape, np.float32)
        p.run(source, np.array(-np.nan, np.float32), found, checked=True)
        assert np.isnan(found).all()


@pytest.mark.parametrize("swapped", [False, True])
def test_a_function_that_returns_its_input_works_in_place(swapped: bool) -> None:
    """Its results are what it returned, even if one is a view of an input that another is written over."""

    def both(source: Array) -> tuple[Array, Array]:
        return -source, source[:]

    (i,) = sl.variables("i")
    a, b, minus, same, out = (buffer(name) for name in ("a", "b", "minus", "same", "out"))
    sl.Func(np.square, [a[i]], [b[i]])
    outputs = [same[i], minus[i]] if swapped else [minus[i], same[i]]
    sl.Func(sl.returns(both), [b[i]], outputs, in_place=True)
    sl.Func(lambda m, s, target: np.add(10 * m, s, out=target), [minus[i], same[i]], [out[i]], name="last")
    p = sl.build_pipeline([a], [out])
    expected = (9 if swapped else -9) * np.arange(5.0) ** 2
    np.testing.assert_array_equal(p(np.arange(5.0), np.zeros(5)), expected)
    p.run(np.arange(5.0), np.zeros(5), checked=True)


def test_checked_mode_leaves_results_and_counts_alone() -> None:
    p, steps = chain(3, in_place=True)
    out = np.zeros(6)
    statistics = p.run(np.arange(6.0), out, checked=True)
    np.testing.assert_array_equal(out, np.arange(6) + 3)
    assert statistics.calls == {"f0": 1, "f1": 1, "f2": 1}
    assert [len(step.inputs_at) for step in steps] == [2, 2, 2]


@pytest.mark.parametrize("given", ["yes", 1, np.True_])
def test_what_in_place_may_be(given: object) -> None:
    (i,) = sl.variables("i")
    a, b = buffer("a"), buffer("b")
    with pytest.raises(sl.GraphError, match=r"func 'negative': in_place must be True, False or None, got"):
        sl.Func(np.negative, [a[i]], [b[i]], in_place=given)  # type: ignore[arg-type]
    sl.Func(np.negative, [a[i]], [b[i]])  # nothing was half-done
    sl.build_pipeline([a], [b])


# What plans rest on -------------------------------------------------------------------------------------------------


UFUNCS = [u for u in vars(np).values() if isinstance(u, np.ufunc) and u.signature is None and u.nout == 1 and u.nin < 3]
VIEWS = [np.s_[:, :], np.s_[:, 2:9], np.s_[::2, ::3], np.s_[:, ::-1]]


@pytest.mark.parametrize("ufunc", dict.fromkeys(UFUNCS), ids=lambda u: u.__name__)
def test_ufuncs_give_the_same_bits_in_place(ufunc: np.ufunc) -> None:
    """What a plan rests on; NumPy promises it."""
    random = np.random.default_rng(1)
    numbers = random.random((2, 9, 37)) * 3 + 0.5
    tried = 0
    for first in "?bBhHiIlLefdFDM":
        for dtypes in {(first, first)[: ufunc.nin], (first, "i")[: ufunc.nin]}:
            arrays = [a.astype("M8[s]" if dtype == "M" else dtype) for a, dtype in zip(numbers, dtypes, strict=False)]
            for view in VIEWS:
                result = np.empty_like(arrays[0])[view]
                with np.errstate(all="ignore"):
                    try:
                        ufunc(*(a[view] for a in arrays), out=result)
                    except TypeError:  # there is none for these dtypes
                        continue
                    own = [a.copy()[view] for a in arrays]
                    ufunc(*own, out=own[0])
                assert own[0].tobytes() == result.tobytes()
                tried += 1
    assert tried or ufunc is np.isnat  # which gives no times


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_products_of_complex_numbers_are_rounded_otherwise_in_place(dtype: Any) -> None:
    def square(source: Array, target: Array) -> None:
        np.multiply(source, source, out=target)

    def late(source: Array, target: Array) -> None:
        square(source, target)
        target += source

    random = np.random.default_rng(0)
    (i,) = sl.variables("i")
    for count in (1, 2, 3, 7, 100):
        values = (random.random(count) + 1j * random.random(count)).astype(dtype)
        for callback in (square, late):
            a, out = sl.BufferExpr("a", dtype, 1), sl.BufferExpr("out", dtype, 1)
            sl.Func(callback, [a[i]], [out[i]], in_place=True)
            p = sl.build_pipeline([a], [out])
            if callback is late:
                with pytest.raises(sl.CallbackError, match="declared to work in place"):
                    p.run(values, np.zeros(count, dtype), checked=True)
                continue
            for k in range(20):
                p.run(values + dtype(k), np.zeros(count, dtype), checked=True)
