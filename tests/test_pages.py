"""Large results, whose memory is there before they are computed."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slinky as sl
from slinky.runtime import pages
from slinky.runtime.pages import LEAST_BYTES, is_large, new_array

Array = np.ndarray[Any, Any]
LARGE = LEAST_BYTES // 4 + 12345


def resident() -> int:
    """The bytes of this process that are in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux can be asked for pages")
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_memory_of_large_arrays_is_there(workers: int) -> None:
    ask = pages._asking()
    if ask is None or ask(0, 0, 23):
        pytest.skip("this system cannot be asked for pages")
    shape = (4, LARGE)  # so large that it is new to the process
    before = resident()
    array = new_array(shape, np.float32, workers)
    assert resident() - before > 0.9 * array.nbytes
    assert array.flags.owndata
    assert array.flags.writeable
    assert (array.shape, array.dtype) == (shape, np.float32)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 5), (7,), (LEAST_BYTES // 4 - 1,)])
def test_nobody_asks_for_small_ones(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_asking", lambda: pytest.fail("asked"))
    assert not is_large(shape, np.float32)
    assert new_array(shape, np.float32).shape == shape


def refused(first: int, size: int, what: int) -> int:
    """A system that knows of no such thing."""
    assert first % 4096 == size % 4096 == 0
    return -1


@pytest.mark.parametrize("ask", [None, refused])
@pytest.mark.parametrize("workers", [1, 2])
def test_where_nobody_can_be_asked_results_are_the_same(
    ask: Callable[[int, int, int], int] | None, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_asking", lambda: ask)

    def two(x: Array) -> tuple[Array, Array]:
        y = np.sqrt(x + 1)
        return y * 2 - x, y + x

    x = np.random.default_rng(0).random(LARGE, np.float32)
    for found, expected in zip(sl.jit(two, smallest=0, workers=workers)(x), two(x), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_parts_are_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole pages, each once, between the first and the last one that hold nothing else."""
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(pages, "_asking", lambda: lambda first, size, what: asked.append((first, first + size)) or 0)
    array = new_array((LARGE,), np.float32, 3)
    asked.sort()
    assert len(asked) == 3
    assert all(end == first for (_, end), (first, _) in itertools.pairwise(asked))
    address = array.ctypes.data
    assert 0 <= asked[0][0] - address < 4096
    assert 0 <= address + array.nbytes - asked[-1][1] < 4096
