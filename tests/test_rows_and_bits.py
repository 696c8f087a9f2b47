"""Bits in bytes, segments, sorts by several keys, functions of NumPy's row by row, and functions where conditions hold."""

# ruff: noqa: E501 (calls stand on one line)

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced import MACHINE, PIECES, assert_same, assert_understood, image, jit, kept

import slinky as sl


def _doubled(v: Any) -> Any:
    return np.sqrt(np.abs(v)) * 2


BITS: dict[str, Callable[..., Any]] = {
    "packbits": lambda x: (np.packbits(x), np.packbits(x, axis=0), np.packbits(x[::-1], axis=-1, bitorder="little")),
    "packed comparisons": lambda x: np.packbits(x > 0, axis=0) ^ np.uint8(255),
    "unpackbits": lambda x: (np.unpackbits(x.astype(np.uint8)), np.unpackbits(x.astype(np.uint8), axis=0, bitorder="little")),
    "counts of bits": lambda x: [np.unpackbits(x.astype(np.uint8), axis=0, count=n) for n in (3, 40, -3, 0, x.shape[0])],
    "there and back": lambda x: np.unpackbits(np.packbits(x, axis=-1), axis=-1, count=x.shape[-1]),
}  # fmt: skip
ROWS: dict[str, Callable[..., Any]] = {
    "reduceat": lambda x: (np.add.reduceat(x * 2, [0, 2, 1]), np.maximum.reduceat(x, [0, 1], axis=-1), np.add.reduceat(x, np.array([1, 0]), dtype=np.float64)),
    "blocks of rows": lambda x: np.add.reduceat(x, np.arange(0, x.shape[0], 3), axis=0) + 1,
    "places that are computed": lambda x: np.add.reduceat(x, np.argsort(x.reshape(-1)[:2]), 0),
    "lexsort": lambda x: (np.lexsort((x % 3, -x), axis=0), np.lexsort((x,))[::-1] * 2, np.lexsort((x[:1], x[:1] + 1))),
    "lexsort of a list": lambda x: np.lexsort([x % 3, -x]),
    "lexsort of rows": lambda x: np.lexsort(x[:5]) if x.ndim > 1 else x,
    "reduced row by row": lambda x: (np.apply_along_axis(np.median, 0, x), np.apply_along_axis(np.sum, -1, x * 2) + 1, np.apply_along_axis(np.percentile, -1, x, 30)),
    "row by row": lambda x: (np.apply_along_axis(np.sort, 0, x), np.apply_along_axis(np.diff, 0, x).sum(axis=0), np.apply_along_axis(np.roll, -1, x, 2)),
}  # fmt: skip
HALF = 0.5
BRANCHES: dict[str, Callable[..., Any]] = {
    "ufuncs": lambda x: (np.piecewise(x, [x > 0], [np.sqrt]), np.piecewise(x, [x > 0], [np.negative, np.abs])),
    "functions": lambda x: np.piecewise(x, [x < 0, x >= 0, x > 3], [lambda v: -v, _doubled, 7]),
    "functions and numbers": lambda x: np.piecewise(x, [x < 0, x >= 1], [lambda v: v * 2 + 1, lambda v: 1.5, lambda v: v]),
    "numbers by name": lambda x: np.piecewise(x, [x < 0, x >= 1], [lambda v: v * np.pi + HALF, lambda v: math.e - v]),
    "variables around": lambda x: (lambda g, h: np.piecewise(x, [x < 0], [lambda v: v * g, lambda v: v + h]))(x.shape[0], 2.5),
}  # fmt: skip
CALLS = {**BITS, **ROWS, **BRANCHES}
SHAPES = [(16,), (1,), (13, 5), (3, 17), (1, 1), (7, 3, 5)]
ROUNDED = {"reduced row by row", "row by row"}


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("machine", [MACHINE, PIECES], ids=["whole", "by pieces"])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_understood(name: str, machine: sl.Machine) -> None:
    for dtype in ("bool", "int16", "float32"):
        arrays = [image(*shape, dtype=dtype) for shape in SHAPES if name not in BRANCHES or dtype != "bool"]
        assert_understood(CALLS[name], arrays, machine, rounded=name in ROUNDED)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits_where_they_are_asked_for(name: str) -> None:
    traced = jit(CALLS[name], exact=True, machine=PIECES)
    for shape in ((101, 7), (16, 33)):
        for dtype in (np.int16, np.bool_ if name in BITS else np.float32):
            x = image(*shape, dtype=dtype)
            for layout in (x, np.asfortranarray(x), x[::-1], np.repeat(x, 2, axis=1)[:, ::2]):
                assert_same(traced(layout), CALLS[name](layout))


@pytest.mark.parametrize("name", ["packed comparisons", "unpackbits", "blocks of rows", "reduceat", "lexsort", "row by row"])  # fmt: skip
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_without_elements(name: str, shape: tuple[int, ...]) -> None:
    def function(x: Any) -> Any:
        return CALLS[name](x[: x.shape[0] // 1, ...])

    x = image(*shape)
    error, want = None, None
    try:
        want = function(x)
    except (ValueError, IndexError) as raised:
        error = raised
    if error is None:
        assert_same(jit(function)(x), want)
        return
    with pytest.raises(type(error)) as found:
        jit(function)(x)
    assert str(found.value) == str(error)


@pytest.mark.parametrize("name", ["blocks of rows", "reduceat", "lexsort", "unpackbits", "functions"])
def test_one_trace_serves_all_sizes(name: str) -> None:
    traced = jit(CALLS[name], strict=True, machine=PIECES)
    for shape in ((20, 4), (11, 4), (12, 7)):
        x = image(*shape, dtype=np.int16)
        assert_same(traced(x), CALLS[name](x))
    assert kept(traced) == 1


@pytest.mark.parametrize("name", ["packed comparisons", "blocks of rows", "lexsort"])
def test_they_go_by_pieces(name: str) -> None:
    """Of what they read, no more is there than a few rows or columns."""

    def function(x: Any) -> Any:
        found = CALLS[name](np.sqrt(np.abs(x)).T)
        return (found[0] if isinstance(found, tuple) else found).T * 1

    x = np.random.default_rng(0).random((400, 304))
    want = function(x)
    p = jit(function).pipeline(x)
    out = np.empty(want.shape, want.dtype)
    whole = p.run(x, out).program_bytes
    assert p.auto(workers=1, machine=PIECES).run(x, out).program_bytes < whole / 20
    assert_same(out, want)


def test_where_nothing_is_chosen_functions_warn_of_nothing() -> None:
    function = lambda x: np.piecewise(x, [x >= 0], [np.sqrt, lambda v: v * 2])  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (image(7, 5), -abs(image(7, 5)), abs(image(7, 5))):
            assert_same(jit(function, machine=PIECES)(x), function(x))


def test_functions_that_do_more_run_whole() -> None:
    x = image(7, 5)
    functions: list[tuple[Callable[..., Any], str]] = [
        (lambda x: np.piecewise(x, [x < 0], [lambda v: np.sort(v)]), "piecewise"),
        (lambda x: np.piecewise(x, [x < 0], [lambda v: v.sum(), np.abs]), "piecewise"),
        (lambda x: np.piecewise(x, [x < 0], [lambda v: v * np.pi.as_integer_ratio()[1]]), "piecewise"),
        (lambda x: np.piecewise(x, [x < 0], [lambda v: v[::-1]]), "piecewise"),
        (lambda x: np.piecewise(x, [x < 0], [lambda v, more=1: v * more]), "piecewise"),
        (lambda x: np.apply_along_axis(lambda row: row[::-1], 1, x), "apply_along_axis"),
        (lambda x: np.apply_along_axis(np.unique, 1, np.sign(x) * 0), "apply_along_axis"),
    ]
    for function, name in functions:
        traced = jit(function)
        assert_same(traced(x), function(x))
        assert f"{name} is not understood" in traced.explain(x)


def test_a_function_that_is_called_like_one_of_numpys_is_none() -> None:
    def median(row: Any) -> Any:
        return row.max()

    median.__wrapped__ = np.median  # type: ignore[attr-defined]
    function = lambda x: np.apply_along_axis(median, 0, x * 2)  # noqa: E731
    assert_same(jit(function)(image(7, 5)), function(image(7, 5)))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.packbits(x),
        lambda x: np.packbits(x > 0, axis=4),
        lambda x: np.packbits(x > 0, bitorder="other"),
        lambda x: np.unpackbits(x),
        lambda x: np.unpackbits(x.astype(np.uint8), count=-9999),
        lambda x: np.add.reduceat(x, [0, 99]),
        lambda x: np.add.reduceat(x, [-1]),
        lambda x: np.add.reduceat(x, [0], axis=3),
        lambda x: np.lexsort((x, x[0])),
        lambda x: np.lexsort(()),
        lambda x: np.lexsort((x, x), axis=5),
        lambda x: np.apply_along_axis(np.median, 4, x),
        lambda x: np.apply_along_axis(np.median, 0, x, no_such=1),
        lambda x: np.piecewise(x, [x > 0], [np.sqrt, np.abs, np.abs]),
    ],
)  # fmt: skip
def test_errors_are_those_of_numpy(function: Any) -> None:
    x = image(7, 5)
    with pytest.raises(Exception) as wanted:
        function(x)
    for options in ({}, {"strict": True}):
        with pytest.raises(type(wanted.value)) as found:
            jit(function, **options)(x)
        assert str(found.value) == str(wanted.value)


def test_windows_of_lazy_arrays_read_what_they_need() -> None:
    x = image(64, 40)
    lazy = sl.lazy(x)
    assert_same(np.asarray(np.packbits(lazy > 0, axis=0)[2:4, 5:9]), np.packbits(x > 0, axis=0)[2:4, 5:9])
    found = np.add.reduceat(lazy * 2, np.arange(0, 64, 8))[1:3, 7:9]
    assert_same(np.asarray(found), np.add.reduceat(x * 2, np.arange(0, 64, 8))[1:3, 7:9])
