"""Loops in C over arrays that lie in memory in any order: turned, in tiles, gathered and scattered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler

import slinky as sl

Array = np.ndarray[Any, Any]

pytestmark = needs_compiler

DTYPES = (np.float64, np.float32, np.uint8, np.int64, np.bool_)
EXTENTS = (1, 2, 3, 7, 15, 31, 33, 64, 257, 300, 512)
"""Less and more than the rows and columns of a tile, and strides that are powers of two."""


def in_c(function: Callable[..., Any]) -> Any:
    return sl.jit(native=True, smallest=0, workers=1, machine=sl.Machine())(function)


def numbers(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> Array:
    """Numbers, of floats with NaN, infinities and zeros of both signs among them."""
    found = np.asarray(rng.integers(0, 200, shape).astype(dtype))
    if found.dtype.kind == "f":
        special = rng.choice(np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 0.1]), shape)
        found = np.where(rng.random(shape) < 0.2, special, found - 99.5).astype(dtype)
    return found


def laid_out(rng: np.random.Generator, array: Array) -> Array:
    """The same elements, in an array whose axes lie in memory in any order, in any direction, and with gaps."""
    order = rng.permutation(array.ndim)
    steps = [int(rng.choice([-2, -1, 1, 1, 2, 3])) for _ in order]
    room = np.zeros([n * abs(step) for n, step in zip(np.array(array.shape)[order], steps, strict=True)], array.dtype)
    found = room[tuple(slice(None, None, step) for step in steps)].transpose(np.argsort(order))
    found[...] = array
    return found


def turned_sum(a: Array, b: Array) -> Any:
    return a.T + b


def turned_alone(a: Array, b: Array) -> Any:
    return np.maximum(a.T, 3) + a.T


def chosen(a: Array, b: Array) -> Any:
    return np.where(b < a.T, a.T, b)


def thinned(a: Array, b: Array) -> Any:
    return a[::2, ::-1].T + b[:, ::2]


def placed(a: Array, b: Array) -> Any:
    return a.T + np.arange(b.shape[1]) * b + np.arange(b.shape[0])[:, None]


@pytest.mark.parametrize("function", [turned_sum, turned_alone, chosen, thinned, placed])
@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_in_any_order(function: Callable[..., Any], dtype: Any) -> None:
    rng = np.random.default_rng(0)
    jitted = in_c(function)
    for _ in range(12):
        rows, columns = (int(n) for n in rng.choice(EXTENTS, 2))
        a, b = numbers(rng, (columns, rows), dtype), numbers(rng, (rows, columns), dtype)
        for given in ((a, b), (laid_out(rng, a), laid_out(rng, b)), (np.asfortranarray(a), np.asfortranarray(b))):
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(jitted(*given), function(*given), strict=True)


@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
def test_three_axes_in_any_order(order: tuple[int, ...], dtype: Any) -> None:
    rng = np.random.default_rng(sum(order))

    def function(a: Array, b: Array, weights: Array) -> Any:
        return (a.transpose(order) + b) * weights + b

    jitted = in_c(function)
    for shape in ((40, 50, 3), (3, 70, 41), (1, 5, 300), (33, 1, 2), (17, 19, 23)):
        b = numbers(rng, shape, dtype)
        a = numbers(rng, [shape[d] for d in np.argsort(order)], dtype)
        weights = numbers(rng, shape[-1:], dtype)
        for given in ((a, b, weights), tuple(laid_out(rng, each) for each in (a, b, weights))):
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(jitted(*given), function(*given), strict=True)


def test_functions_over_strips_of_what_is_turned() -> None:
    rng = np.random.default_rng(0)

    def function(a: Array, b: Array) -> Any:
        return np.exp(a.T) * b + np.sin(b[:, ::-1])

    jitted = in_c(function)
    for rows, columns in ((1, 700), (700, 1), (37, 600), (600, 37), (300, 300)):
        a, b = rng.random((columns, rows)), rng.random((rows, columns))
        for given in ((a, b), (laid_out(rng, a), laid_out(rng, b))):
            np.testing.assert_allclose(jitted(*given), function(*given), rtol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_go_where_they_are_to_lie(dtype: Any) -> None:
    """Into arrays in any order, by a plan."""
    rng = np.random.default_rng(0)
    y, x = sl.variables("y x")
    a, b, out = (sl.BufferExpr(name, dtype, 2) for name in ("a", "b", "out"))
    sl.arithmetic(np.maximum(a[x, y], b[y, x]), out[y, x])
    plan = sl.build_pipeline([a, b], [out]).compile(backend="native")
    for rows, columns in ((1, 1), (2, 300), (300, 2), (64, 257), (131, 40), (512, 512)):
        left, right = numbers(rng, (columns, rows), dtype), numbers(rng, (rows, columns), dtype)
        target = laid_out(rng, np.zeros((rows, columns), dtype))
        plan(laid_out(rng, left), laid_out(rng, right), target)
        np.testing.assert_array_equal(target, np.maximum(left.T, right), strict=True)
