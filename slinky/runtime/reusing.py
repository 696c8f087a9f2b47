"""The memory of large results that nobody holds any more, for the results of later calls.

A system clears each page that it hands out, which for a result of 144 MB took 12 ms where all that was computed took
26: so whoever calls a function again and again waits for pages to be cleared that the call before has just given back.

Idea. A large result lies in a block of its own, mapped from the system. Once no array sees it any more, the block is
*kept*, and told to the system as free (`MADV_FREE`): if the system needs the pages, it takes them, and hands out new
ones when they are written to again; if not, they are there for the next result, as they are.

Invariant: a block is seen by arrays, whose base it is, or kept, or neither: never both. What is kept is at most
`most_kept()` bytes in `MOST_BLOCKS` blocks, and given to results alone that fill three quarters of it or more. What an
array holds at first is anything, as with `np.empty`. Smaller results (`pages.LEAST_BYTES`) are for the C library, which
keeps what is freed of these without a word to the system: 6 MB were had and written to in 155 us so, and in 219 here.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import sys
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from slinky.runtime.pages import is_large

Array: TypeAlias = np.ndarray[Any, Any]
Maker: TypeAlias = Callable[[tuple[int, ...], Any], Array]

MOST_BLOCKS = 8
"""So many blocks are kept, of those that were last given back."""

_MOST_BYTES, _MOST_OF_MEMORY = 1 << 30, 8
"""What is kept at most: so many bytes, and one of so many parts of the machine's memory."""

IS_KNOWN = sys.platform.startswith("linux") and hasattr(mmap, "MADV_FREE")
"""Whether the system takes back what is free when it needs it."""


class _Block:
    """Memory that arrays see: while one of them is there, and no longer."""

    __slots__ = ("__array_interface__", "__weakref__", "_kept", "_memory")

    def __init__(self, memory: mmap.mmap, kept: Kept) -> None:
        self._memory = memory
        self._kept = kept
        whole = np.frombuffer(memory, np.uint8)
        self.__array_interface__ = {
            "version": 3,
            "shape": whole.shape,
            "typestr": "|u1",
            "data": (whole.ctypes.data, False),
        }

    def __del__(self, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_ending():  # else modules may be gone
            self._kept.give_back(self._memory)


class Kept:
    """Blocks that nobody sees."""

    def __init__(self) -> None:
        self._blocks: list[mmap.mmap] = []
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._blocks)

    @property
    def nbytes(self) -> int:
        """How many bytes are kept."""
        return sum(map(len, list(self._blocks)))

    def array(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """An array like one of `np.empty`, in a block that was kept, or in a new one. Where the system has no memory
        for it, it is for NumPy to say so."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        memory = self._taken(size) or _mapped(size)
        if memory is None:
            return np.empty(shape, dtype)
        array: Array = np.asarray(_Block(memory, self))[:size].view(dtype).reshape(shape)
        return array

    def _taken(self, size: int) -> mmap.mmap | None:
        if not self._lock.acquire(blocking=False):
            return None
        try:
            fitting = [each for each in self._blocks if len(each) * 3 // 4 <= size <= len(each)]
            found = min(fitting, key=len, default=None)
            if found is not None:
                self._blocks.remove(found)
            return found
        finally:
            self._lock.release()

    def give_back(self, memory: mmap.mmap) -> None:
        """Keep a block that no array sees any more, and let go of others where these are too many.

        This may be called wherever an object is collected, within these methods too, and in a process that was forked
        where another thread held the lock: so nobody waits for it.
        """
        if len(memory) > most_kept() or not self._lock.acquire(blocking=False):
            return
        try:
            memory.madvise(mmap.MADV_FREE)
            self._blocks.append(memory)
            while len(self._blocks) > MOST_BLOCKS or self.nbytes > most_kept():
                del self._blocks[0]
        except OSError:
            pass  # a system that does not know it
        finally:
            self._lock.release()


KEPT = Kept()


class Results:
    """What makes the results of a function for arguments of one kind: those of its first call, which may stay the only
    one, as `first` makes them, and all later ones in memory that is kept."""

    __slots__ = ("_first", "_left")

    def __init__(self, first: Maker, count: int) -> None:
        """`count` is how many results a call makes that are large."""
        self._first = first
        self._left = count

    def __call__(self, shape: tuple[int, ...], dtype: Any) -> Array:
        if not is_reused(shape, dtype):
            return self._first(shape, dtype)
        if self._left:
            self._left -= 1
            return self._first(shape, dtype)
        return KEPT.array(shape, dtype)


def is_reused(shape: tuple[int, ...], dtype: Any) -> bool:
    """Whether an array is so large that its memory is used again, on a system that knows of it."""
    return IS_KNOWN and is_large(shape, dtype)


@cache
def most_kept() -> int:
    """How many bytes are kept at most on this machine."""
    return min(_MOST_BYTES, memory_bytes() // _MOST_OF_MEMORY)


@cache
def memory_bytes() -> int:
    """How much memory this machine has; none where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not POSIX
        return 0


def _mapped(size: int) -> mmap.mmap | None:
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, ValueError, OverflowError):
        return None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a system without large pages
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory
