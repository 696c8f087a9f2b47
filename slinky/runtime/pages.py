"""The memory of large new arrays, had from the system before anything is written to it.

A system gives memory page by page, clears each, and does so when it is first written to. A loop that computes and
writes then finds lines in its cache that are cleared and not yet written back, and waits for these to leave: a chain of
eight operations in C on 64 MB of float32 took 21.6 ms into new memory, and 16.6 into memory that was asked for as a
whole before, which is what clearing and computing take one after the other. So large results are asked for before a run
(`MADV_POPULATE_WRITE`, of Linux since 5.14), by as many threads as it has.

Invariant: an array is what `np.empty` gives. Where a system knows of no such thing, its pages come when they are
written to.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from slinky.runtime.threads import run_parallel

Array: TypeAlias = np.ndarray[Any, Any]

LEAST_BYTES = 1 << 25
"""Smaller arrays are often given memory that was used before; the C library keeps blocks up to this size."""

_POPULATE_WRITE = 23
"""What Linux calls it: `MADV_POPULATE_WRITE`."""

_LARGE_PAGE = 1 << 21
"""Parts begin at such a page, which is cleared by one thread."""


def new_array(shape: tuple[int, ...], dtype: Any, workers: int = 1) -> Array:
    """An array like one of `np.empty`, whose memory is there if it is large."""
    array = np.empty(shape, dtype)
    if array.nbytes >= LEAST_BYTES and (ask := _asking()) is not None:
        _populate(array, ask, workers)
    return array


def is_large(shape: tuple[int, ...], dtype: Any) -> bool:
    """Whether an array is large enough to be asked for."""
    return bool(math.prod(shape) * np.dtype(dtype).itemsize >= LEAST_BYTES)


def _populate(array: Array, ask: Callable[[int, int, int], int], workers: int) -> None:
    """Have all pages that hold nothing but elements of an array."""
    first = -(-array.ctypes.data // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (array.ctypes.data + array.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
    cuts = [(first + (end - first) * k // workers) // _LARGE_PAGE * _LARGE_PAGE for k in range(1, workers)]
    ends = [first, *cuts, end]

    def populate(k: int) -> None:
        if ends[k] < ends[k + 1]:
            ask(ends[k], ends[k + 1] - ends[k], _POPULATE_WRITE)

    if workers > 1:
        run_parallel(range(workers), populate, workers)
    else:
        populate(0)


@cache
def _asking() -> Callable[[int, int, int], int] | None:
    """The system's `madvise`; None where there is none, or one that means something else by the number."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        found = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):
        return None
    found.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    found.restype = ctypes.c_int
    return found
