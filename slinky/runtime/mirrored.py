"""Mirrored memory: the same pages mapped twice in a row, so that what wraps around is contiguous in addresses.

A ring of N bytes is N bytes of a file in memory, mapped at an address A and again at A + N. Reading N bytes from
any A + k with k < N then yields the ring from k on, wrapped. N must be a multiple of the page size. Available where
`memfd_create` and POSIX `mmap` are (Linux); elsewhere `available()` is false and buffers are stored unfolded.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import weakref
from typing import Any

import numpy as np

PAGE = mmap.PAGESIZE

_READ_WRITE = 0x1 | 0x2
_NO_ACCESS = 0x0
_SHARED_FIXED = 0x01 | 0x10
_PRIVATE_ANONYMOUS = 0x02 | 0x20
_FAILED = ctypes.c_void_p(-1).value


@functools.cache
def _libc() -> ctypes.CDLL | None:
    """The C library with the signatures of `mmap` and `munmap`, or None where mirroring is not possible."""
    if not hasattr(os, "memfd_create"):
        return None
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = (
            ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong,
        )  # fmt: skip
        libc.munmap.restype = ctypes.c_int
        libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    except (OSError, AttributeError):
        return None
    return libc


@functools.cache
def available() -> bool:
    """Whether this machine can map memory twice. Tried once, on one page."""
    try:
        ring = mirrored(PAGE)
    except OSError:
        return False
    ring[0] = 1
    return bool(ring[PAGE] == 1)


def mirrored(size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """An array of `2 * size` bytes, zeroed, whose two halves are the same memory. `size` is a multiple of `PAGE`.

    The mapping ends with the array and its views. Raises `OSError` where the platform refuses.
    """
    libc = _libc()
    if libc is None:
        raise OSError("this platform cannot map memory twice")
    descriptor = os.memfd_create("slinky", os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, size)
        base = libc.mmap(None, 2 * size, _NO_ACCESS, _PRIVATE_ANONYMOUS, -1, 0)
        if base == _FAILED:
            raise OSError(ctypes.get_errno(), f"cannot reserve {2 * size} bytes of address space")
        for address in (base, base + size):
            if libc.mmap(address, size, _READ_WRITE, _SHARED_FIXED, descriptor, 0) == _FAILED:
                error = ctypes.get_errno()
                libc.munmap(base, 2 * size)
                raise OSError(error, f"cannot map {size} bytes twice")
    finally:
        os.close(descriptor)
    memory = (ctypes.c_uint8 * (2 * size)).from_address(base)
    weakref.finalize(memory, libc.munmap, base, 2 * size)
    return np.ndarray(2 * size, np.uint8, memoryview(memory))


def whole_pages(size: int) -> int:
    """A number of bytes rounded up to whole pages."""
    return -(-size // PAGE) * PAGE
