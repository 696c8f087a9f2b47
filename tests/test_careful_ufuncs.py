"""Ufuncs that NumPy gets wrong where their output is not contiguous: pipelines write what they give for whole ones."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from traced import PIECES, jit

import slinky as sl
from slinky.runtime.careful import careful

y, x = sl.variables("y x")
UFUNCS = (np.isfinite, np.isinf, np.isnan, np.signbit)


def image(dtype: Any) -> Any:
    values = np.random.default_rng(0).integers(-3, 4, (40, 7)).astype(dtype)
    values[::3, 1] = np.inf
    values[1::5, 2] = -np.nan
    return values


def pipeline(ufunc: np.ufunc, dtype: Any, make: Any) -> sl.Pipeline:
    source, out = sl.BufferExpr("source", dtype, 2), sl.BufferExpr("out", bool, 2)
    make(ufunc, source, out)
    return sl.build_pipeline([source], [out])


def as_a_callback(ufunc: np.ufunc, source: sl.BufferExpr, out: sl.BufferExpr) -> None:
    sl.Func(ufunc, [source[y, x]], [out[y, x]]).loops([x])


def as_arithmetic(ufunc: np.ufunc, source: sl.BufferExpr, out: sl.BufferExpr) -> None:
    sl.arithmetic(ufunc(source[y, x]), out[y, x]).loops([x])


@pytest.mark.parametrize("make", [as_a_callback, as_arithmetic])
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64"])
def test_columns(ufunc: np.ufunc, dtype: str, make: Any) -> None:
    """A column at a time, of arrays in C order and in Fortran's; with each way to run it."""
    if dtype == "complex64" and ufunc is np.signbit:
        pytest.skip("of complex numbers there is none")
    p, values = pipeline(ufunc, dtype, make), image(dtype)
    for given in (values, np.asfortranarray(values), values[::-1]):
        want = np.array([[bool(ufunc(each)) for each in row] for row in given])
        for backend in ("python", "interpreter"):
            for out in (np.zeros(given.shape, bool), np.zeros(given.shape, bool, order="F")):
                p.run(given, out, backend=backend)
                np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_what_is_negated_is_all_of_it(dtype: str) -> None:
    """Of axes in any order, in steps: NumPy leaves elements out that are 16 or 64 bytes apart."""
    draw = random.Random(5)

    def array(shape: list[int]) -> Any:
        order = draw.sample(range(len(shape)), len(shape))
        steps = [draw.choice([1, 1, 2, 4, 8]) for _ in shape]
        memory = np.full([shape[d] * steps[d] for d in order], 77, dtype)
        part = memory[tuple(slice(None, None, steps[d] * draw.choice([1, -1])) for d in order)]
        return part.transpose([order.index(d) for d in range(len(shape))])

    for _ in range(300):
        shape = [draw.choice([1, 2, 3, 8, 17]) for _ in range(draw.randint(1, 3))]
        source, target = array(shape), array(shape)
        source[...] = np.arange(1, source.size + 1).reshape(source.shape)
        careful(np.negative)(source, out=target)
        np.testing.assert_array_equal(target, np.subtract(0, source.copy()))


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_traced(ufunc: np.ufunc) -> None:
    def function(a: Any) -> Any:
        found = ufunc(a)
        with np.errstate(invalid="ignore"):
            masked = ufunc(a * 2, out=np.zeros(a.shape, bool), where=a > 0)
        return found, masked, found.reshape(20, 2, 7).mean(axis=1)

    values = image("float64")
    want = np.array([[bool(ufunc(each)) for each in row] for row in values])
    got = jit(function, machine=PIECES)(values)
    for one, other in zip(got, (want, want & (values > 0), want.reshape(20, 2, 7).mean(axis=1)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_columns_that_are_negated() -> None:
    source, out = sl.BufferExpr("source", float, 2), sl.BufferExpr("out", float, 2)
    sl.Func(np.negative, [source[y, x]], [out[y, x]]).loops([x])
    p, values = sl.build_pipeline([source], [out]), np.arange(1.0, 161).reshape(20, 8)
    for backend in ("python", "interpreter"):
        found = np.zeros((20, 8))
        p.run(values, found, backend=backend)
        np.testing.assert_array_equal(found, 0 - values)
