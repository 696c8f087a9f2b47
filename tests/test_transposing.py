"""Assignments between arrays in other orders: those of NumPy, in blocks where they are large."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slinky as sl
from slinky.runtime import transposing

Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def _everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transposing, "LEAST_BYTES", 1)
    monkeypatch.setattr(transposing, "BLOCK", 3)
    monkeypatch.setattr(transposing, "SHORTEST", 4)


def numbered(shape: tuple[int, ...]) -> Array:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


class Counting:
    """A target that tells how often it is assigned to."""

    def __init__(self, array: Array) -> None:
        self.array, self.assignments = array, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.array, name)

    def __setitem__(self, place: Any, value: Array) -> None:
        self.assignments += 1
        self.array[place] = value


@pytest.mark.parametrize("shape", [(7, 8), (8, 4, 5), (1, 9), (9, 1), (0, 5), (3, 3), (2, 5, 4, 3)])
def test_every_order_of_axes(shape: tuple[int, ...]) -> None:
    for order in itertools.permutations(range(len(shape))):
        source = numbered(shape).transpose(order)
        target = np.full(source.shape, -1)
        transposing.assign(target, source)
        assert np.array_equal(target, source)
        back = np.full(shape, -1)
        transposing.assign(back.transpose(order), source)
        assert np.array_equal(back, numbered(shape))


def test_only_what_has_its_neighbours_along_another_axis_is_cut() -> None:
    source = numbered((7, 8))
    for turned, times in ((source, 1), (source[::-1, ::-2], 1), (source.T, 3), (source.T[::-1], 3), (source[:3].T, 1)):
        target = Counting(np.full(turned.shape, -1))
        transposing.assign(target, turned)  # type: ignore[arg-type]
        assert target.assignments == times
        assert np.array_equal(target.array, turned)
    target = Counting(np.full((7, 8), -1))
    transposing.assign(target, np.broadcast_to(np.arange(7)[:, None], (7, 8)))  # type: ignore[arg-type]
    assert np.array_equal(target.array[:, 0], np.arange(7))


def test_what_is_small_is_assigned_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Counting(np.full((8, 7), -1))
    monkeypatch.setattr(transposing, "LEAST_BYTES", target.nbytes + 1)
    transposing.assign(target, numbered((7, 8)).T)  # type: ignore[arg-type]
    assert target.assignments == 1


def test_an_array_may_be_transposed_in_its_own_place() -> None:
    array = numbered((9, 9))
    transposing.assign(array, array.T)
    assert np.array_equal(array, numbered((9, 9)).T)


def test_a_source_is_stretched() -> None:
    target = np.zeros((4, 5), int)
    transposing.assign(target, np.arange(5))
    assert np.array_equal(target, [[0, 1, 2, 3, 4]] * 4)


@given(st.permutations(range(3)), st.lists(st.sampled_from([1, 2, -1, -3]), min_size=3, max_size=3))
def test_strides_of_any_kind(order: list[int], steps: list[int]) -> None:
    source = numbered((11, 13, 12))[tuple(slice(None, None, step) for step in steps)].transpose(order)
    target = np.full((12, 11, 13), -1)[tuple(slice(None, n) for n in source.shape)]
    want = target.copy()
    want[...] = source[tuple(slice(None, n) for n in target.shape)]
    transposing.assign(target, source[tuple(slice(None, n) for n in target.shape)])
    assert np.array_equal(target, want)


@pytest.mark.parametrize("backend", ["interpreter", "python"])
def test_copies_are_transposed_in_blocks(backend: str) -> None:
    inp, turned = (sl.BufferExpr(name, np.int32, 3) for name in ("inp", "turned"))
    sl.copies.transpose(inp, turned, axes=(2, 0, 1))
    p = sl.build_pipeline([inp], [turned])
    given = numbered((4, 17, 20)).astype(np.int32)
    result = np.full((20, 4, 17), -1, np.int32)
    p.run(given, result, backend=backend)
    assert np.array_equal(result, given.transpose(2, 0, 1))
