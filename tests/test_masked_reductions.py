"""Reductions with `where=` in traced functions: by pieces, and the bits and warnings of NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from random_arithmetic import same_bits
from traced import MACHINE

import slinky as sl

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


def means(a: Any, limit: Any) -> Any:
    mask = a > limit
    return np.mean(a, where=mask), a.mean(axis=0, where=mask), np.mean(a, axis=1, where=~mask, keepdims=True)


def sums(a: Any, limit: Any) -> Any:
    mask = a > limit
    return a.sum(where=mask), np.sum(a * 2, axis=0, where=mask), np.nansum(a, axis=1, where=mask, dtype=np.float64)


def spreads(a: Any, limit: Any) -> Any:
    mask = a > limit
    return a.std(axis=0, where=mask, ddof=1), np.var(a, axis=1, where=mask), np.nanmean(a, axis=0, where=mask)


def extrema(a: Any, limit: Any) -> Any:
    mask = a > limit
    return np.max(a, axis=1, where=mask, initial=0), np.min(a, where=mask, initial=9), np.prod(a, axis=0, where=mask)


def truths(a: Any, limit: Any) -> Any:
    mask = a > limit
    return np.any(mask, axis=0, where=a < 2), np.all(a > 0, where=mask), np.logical_or.reduce(mask, where=a < 0)


def short_masks(a: Any, limit: Any) -> Any:
    row, column = a[0] > limit, a[:, :1] > limit
    return a.sum(axis=0, where=row), a.mean(axis=1, where=column), np.add.reduce(a, where=column), a.sum(where=row)


def known_masks(a: Any, limit: Any) -> Any:
    return np.sum(a + limit, axis=1, where=np.arange(a.shape[1]) % 3 == 0), a.sum(axis=0, where=False)


FUNCTIONS = [means, sums, spreads, extrema, truths, short_masks, known_masks]
OPTIONS: list[dict[str, Any]] = [{}, {"exact": True}, {"native": True}, {"native": True, "exact": True}]


def told(function: Function, *given: Any) -> tuple[Any, set[tuple[type[Warning], str]]]:
    """What it gives, and which warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = function(*given)
    return found, {(each.category, str(each.message).split(" encountered")[0]) for each in caught}


@needs_compiler
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_what_numpy_gives(function: Function, dtype: Any, options: dict[str, Any]) -> None:
    traced = sl.jit(smallest=0, workers=1, machine=MACHINE, **options)(function)
    for shape in [(17, 300), (300, 17), (1, 40), (40, 1), (2, 2)]:
        a = (np.random.default_rng(shape).standard_normal(shape) * 3).astype(dtype)
        for limit in (0.5, 1.25, 1e9):  # no element, with the last one
            expected, warned = told(function, a, limit)
            found, warned_here = told(traced, a, limit)
            for one, other in zip(found, expected, strict=True):
                same_bits(one, other)
            assert warned_here == warned


@pytest.mark.parametrize("axis", [0, 1])
def test_the_mask_is_made_by_pieces(axis: int) -> None:
    def clipped(a: Any) -> Any:
        return np.mean(a, axis=axis, where=np.abs(a) < 2)

    a = np.random.default_rng(0).standard_normal((2000, 1500))
    traced = sl.jit(smallest=0, workers=1, machine=sl.Machine(), native=False)(clipped)
    same_bits(traced(a), clipped(a))
    scheduled = traced.pipeline(a).auto(a, workers=1, machine=sl.Machine())
    assert scheduled.memory(a).program_bytes < a.size / 2
    assert "at once" not in traced.explain(a)


def test_pieces_of_one_column_are_added_as_the_array_is() -> None:
    def columns(a: Any) -> Any:
        return (a * 3).sum(axis=0, where=a > 0)

    a = np.random.default_rng(0).standard_normal((1000, 7)).astype(np.float32)
    p = sl.jit(smallest=0, workers=1, machine=MACHINE)(columns).pipeline(a)
    by_one = sl.split_loop(p, "sum.x", 1)
    same_bits(by_one(a), columns(a))


def test_refusing_an_option_asks_for_no_values() -> None:
    """Its text was asked for, to say what was refused."""

    def above(a: Any) -> Any:
        return np.max(a, axis=1, initial=a[0, 0]) + 1

    a = np.random.default_rng(0).standard_normal((30, 20))
    traced = sl.jit(smallest=0)(above)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same_bits(traced(a), above(a))
    assert "at each call" not in traced.explain(a)


def test_masks_that_are_none_are_refused_as_by_numpy() -> None:
    def by_numbers(a: Any) -> Any:
        return np.sum(a, axis=0, where=a)

    def without_a_start(a: Any) -> Any:
        return np.max(a, axis=0, where=a > 0)

    a = np.ones((20, 30))
    for function in (by_numbers, without_a_start):
        with pytest.raises((TypeError, ValueError)) as expected:
            function(a)
        with pytest.raises(expected.type) as found:
            sl.jit(smallest=0)(function)(a)
        assert str(found.value) == str(expected.value)
