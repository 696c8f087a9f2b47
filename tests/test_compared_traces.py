"""Comparisons of whole arrays that give one of Python's bools, of lazy arrays: by pieces, of which nothing is kept."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from traced import PIECES, assert_same, jit, kept

import slinky as sl

pytestmark = pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")

ASKED: dict[str, Any] = {
    "allclose": lambda x, y: np.allclose(x, y),
    "allclose, with bounds": lambda x, y: np.allclose(x, y, 0.5, atol=1),
    "allclose, with NaNs": lambda x, y: np.allclose(x * 2, y * 2, equal_nan=True),
    "allclose, of a number": lambda x, y: (np.allclose(x, 1), np.allclose(2.0, y), np.allclose(x, y.ravel()[:1])),
    "array_equal": lambda x, y: np.array_equal(x, y),
    "array_equal, with NaNs": lambda x, y: np.array_equal(x * 2, y * 2, equal_nan=True),
    "array_equal, of others": lambda x, y: (np.array_equal(x, 1), np.array_equal(y, [1.0, 2.0]), np.array_equal(x, x)),
    "array_equiv": lambda x, y: np.array_equiv(x, y),
    "array_equiv, repeated": lambda x, y: (np.array_equiv(x[None], y), np.array_equiv(x, 1), np.array_equiv(x.T, y)),
    "in a condition": lambda x, y: x + 1 if np.allclose(x, y) else y - 1,
    "of scalars": lambda x, y: (np.allclose(x.sum(), y.sum()), np.array_equal(x.max(initial=0), y.max(initial=0))),
}

SHAPES = [(0,), (1,), (7,), (5, 0), (13, 11), (3, 4, 5)]
DTYPES = ["bool", "uint8", "int64", "float16", "float32", "float64", "complex128"]


def _pair(shape: tuple[int, ...], dtype: str, kind: str) -> tuple[Any, Any]:
    """Two arrays: the same, with one other element, nearly the same, with NaNs, or of another shape."""
    x = np.random.default_rng(sum(shape)).integers(0, 2, shape).astype(dtype)
    y = x.copy()
    if kind == "other" and y.size:
        y.reshape(-1)[-1] += y.dtype.type(1)
    if kind == "near" and y.dtype.kind in "fc":
        y = (y * (1 + 1e-7)).astype(dtype)
    if kind == "NaNs" and y.dtype.kind in "fc":
        x[..., :1] = y[..., :1] = np.nan
    if kind == "longer":
        y = np.concatenate([y, y])
    if kind == "of another dtype":
        y = y.real.astype(np.float32)
    return x, y


@pytest.mark.parametrize("kind", ["same", "other", "near", "NaNs", "longer", "of another dtype"])
@pytest.mark.parametrize("name", ASKED)
def test_an_answer_is_numpys(name: str, kind: str) -> None:
    function = ASKED[name]
    for shape in SHAPES:
        for dtype in DTYPES:
            x, y = _pair(shape, dtype, kind)
            try:
                want = function(x, y)
            except ValueError as error:
                for lazily in (jit(function, machine=PIECES), lambda x, y: function(sl.lazy(x), sl.lazy(y))):
                    with pytest.raises(ValueError, match=str(error)[:20]):
                        lazily(x, y)
                continue
            assert_same(jit(function, machine=PIECES, strict=True)(x, y), want)
            if name != "in a condition":
                assert_same(function(sl.lazy(x), sl.lazy(y)), want)


@pytest.mark.parametrize("name", ["allclose", "array_equal", "array_equiv"])
def test_what_is_compared_is_never_there_in_full(name: str) -> None:
    x = np.random.default_rng(0).random((4000, 1000))  # more than pieces hold where caches are large
    lazy = sl.lazy(x, copy=False)
    ASKED[name](lazy + 1, lazy + 1)  # what is made once
    tracemalloc.start()
    assert ASKED[name](lazy * 2 + 1, lazy * 2 + 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < x.nbytes / 2


def test_shapes_that_differ_ask_for_no_values() -> None:
    traced = jit(lambda x, y: x * 2 if np.array_equal(x, y) or np.array_equiv(x, y[:, 1:]) else y + 1)
    x, y = np.ones(5), np.ones((3, 5))
    for _ in range(2):
        assert_same(traced(x, y), y + 1)
    assert kept(traced) == 1
