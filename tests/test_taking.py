"""Look-ups in tables by pieces of the indices: NumPy's elements and errors, without its copies of both."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from random_arithmetic import same_bits
from traced import MACHINE

import slinky as sl
from slinky.frontend import taking
from slinky.frontend.taking import Taking

SHAPES = [(), (0,), (7,), (3, 5), (1, 9), (9, 1), (5, 0), (0, 4), (4, 2, 3)]


@pytest.mark.parametrize("at_a_time", [1, 4, 13, 1 << 16])
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_what_numpy_gives(at_a_time: int, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taking, "_AT_A_TIME", at_a_time)
    table = np.random.default_rng(0).standard_normal((4, 6, 3))
    for shape in SHAPES:
        for dtype in (np.uint8, np.int16, np.intp):
            indices = np.random.default_rng(1).integers(-3, 3, shape).astype(dtype) % 3
            for axis in range(table.ndim):
                expected = np.take(table, indices, axis, mode=mode)
                found = np.full_like(expected, 9)
                Taking(axis, mode).into(found, table, indices)
                same_bits(found, expected)


def test_of_a_table_without_elements() -> None:
    for shape in ((0,), (0, 3)):
        target = np.empty((*shape, 2))
        Taking(0, "raise").into(target, np.empty((0, 2)), np.zeros(shape, np.uint8))


def lit(image: Any, table: Any) -> Any:
    return table[image]


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_no_index_is_kept_as_an_integer_of_the_machine(dtype: Any) -> None:
    """Bytes took eight times their memory as such, and what was found another time its own."""
    image = np.random.default_rng(0).integers(0, 256, (1000, 1100)).astype(np.uint8)
    table = np.arange(256).astype(dtype)
    traced = sl.jit(smallest=0, workers=1, machine=MACHINE, native=False)(lit)
    same_bits(traced(image, table), lit(image, table))
    tracemalloc.start()
    try:
        found = traced(image, table)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.nbytes <= peak < found.nbytes + (1 << 21)


def test_what_is_beyond_the_end_is_numpys_error() -> None:
    image = np.zeros((1000, 1000), np.uint8)
    image[-1, -1] = 200
    table = np.arange(100.0)
    with pytest.raises(IndexError) as expected:
        lit(image, table)
    with pytest.raises(IndexError) as found:
        sl.jit(smallest=0, workers=1, machine=MACHINE)(lit)(image, table)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.intp, np.uint64])
def test_of_tables_with_gaps(dtype: Any) -> None:
    whole = np.random.default_rng(0).standard_normal((8, 9, 10))
    for table in (whole[:, 2:7], whole[::2, ::-1], whole.T, whole[..., 1:4]):
        for axis in range(table.ndim):
            for shape in ((3,), (1, 2), (0,), ()):
                indices = np.random.default_rng(1).integers(0, 3, shape).astype(dtype)
                outcomes = []
                for take in (Taking(axis, "raise"), lambda t, i, axis=axis: np.take(t, i, axis)):
                    try:
                        outcomes.append(np.asarray(take(table, indices)))
                    except TypeError as error:
                        outcomes.append(str(error))
                if isinstance(outcomes[1], str):
                    assert outcomes[0] == outcomes[1]
                else:
                    same_bits(*outcomes)
        for wrong in (11, -12):
            with pytest.raises(IndexError) as of_numpy:
                np.take(table, [0, wrong], 1)
            with pytest.raises(IndexError) as raised:
                Taking(1, "raise")(table, np.array([0, wrong]))
            assert str(raised.value) == str(of_numpy.value)


def test_no_table_is_copied_of_which_little_is_taken() -> None:
    table = np.ones((500, 2000))[:, 10:1900]
    target, indices = np.empty((3, 1890)), np.array([4, 77, 3])
    tracemalloc.start()
    try:
        Taking(0, "raise").into(target, table, indices)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * target.nbytes
    same_bits(target, table[indices])
