"""Ufuncs that NumPy gets wrong where their output is not contiguous: pipelines write what they give for whole ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from traced import PIECES, jit

import slinky as sl

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
