"""Mirrored memory: the same pages mapped twice in a row, so that what wraps around is contiguous in addresses.

A ring of N bytes is N bytes of a file in memory, mapped at an address A and again at A + N. Reading N bytes from
any A + k with k < N then yields the ring from k on, wrapped. N must be a multiple of the page size. Available where
`memfd_create` and POSIX `mmap` are (Linux); elsewhere `available()` is false and buffers are stored unfolded.

Both mappings are shared ones, which a forked child would have in common with its parent. So `forks` has the rings
copied into one file before the fork (`Copies`), and the child puts that file in their place, at the same addresses,
before it runs anything else.

Invariant: no two processes have a ring in common. A child that cannot be given its own loses access to the pages.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import mmap
import os
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import attrs
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
        libc.mprotect.restype = ctypes.c_int
        libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    except (OSError, AttributeError):
        return None
    return libc


_SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC)
"""What the system says if something has run out, not if it cannot map memory twice."""


@functools.cache
def available() -> bool:
    """Whether this machine can map memory twice. Tried once, on one page.

    Raises `OSError`, and tries again the next time, if there is no room for the page.
    """
    try:
        ring = mirrored(PAGE)
    except OSError as error:
        if error.errno in _SCARCE:
            raise
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
    with _file(size) as descriptor:
        base = libc.mmap(None, 2 * size, _NO_ACCESS, _PRIVATE_ANONYMOUS, -1, 0)
        if base == _FAILED:
            raise OSError(ctypes.get_errno(), f"cannot reserve {2 * size} bytes of address space")
        try:
            _map_twice(base, size, descriptor, 0)
        except OSError:
            libc.munmap(base, 2 * size)
            raise
    memory = (ctypes.c_uint8 * (2 * size)).from_address(base)
    _rings[base] = weakref.ref(memory)
    # At the end of the process threads may still use it, and the system takes everything back.
    weakref.finalize(memory, _unmap, base, size).atexit = False
    return np.ndarray(2 * size, np.uint8, memoryview(memory))


@contextmanager
def _file(size: int) -> Iterator[int]:
    """The descriptor of a new file in memory, open for as long as the context."""
    descriptor = os.memfd_create("slinky", os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, size)
        yield descriptor
    finally:
        os.close(descriptor)


def _map_twice(base: int, size: int, descriptor: int, offset: int) -> None:
    """Put bytes of a file in place of what is mapped at `base`, and once more behind."""
    libc = _libc()
    assert libc is not None
    for address in (base, base + size):
        if libc.mmap(address, size, _READ_WRITE, _SHARED_FIXED, descriptor, offset) == _FAILED:
            raise OSError(ctypes.get_errno(), f"cannot map {size} bytes twice")


def _unmap(base: int, size: int) -> None:
    _rings.pop(base, None)  # first: another ring may be mapped there at once
    libc = _libc()
    assert libc is not None
    libc.munmap(base, 2 * size)


# Forks ----------------------------------------------------------------------------------------------------------------

_rings: dict[int, weakref.ref[ctypes.Array[ctypes.c_uint8]]] = {}
"""All rings of this process, by their addresses."""


@attrs.define(eq=False)
class Copies:
    """What was in the rings at one moment, as one file, for a process that will be forked.

    As long as they are there, so are the rings.
    """

    descriptor: int
    offsets: dict[int, int]
    rings: list[ctypes.Array[ctypes.c_uint8]]

    def close(self) -> None:
        """The file ends with the last of its mappings."""
        os.close(self.descriptor)


def rings() -> list[tuple[int, int]]:
    """The address and the size of each ring that there is, in bytes; the second half lies right behind."""
    alive = [ring for ring in (reference() for reference in list(_rings.values())) if ring is not None]
    return [(ctypes.addressof(ring), len(ring) // 2) for ring in alive]


def copies(*, beside: Copies | None = None) -> Copies | None:
    """Copies of all rings (of those that others do not have); None if there are none. Raises `OSError`."""
    known = beside.offsets if beside is not None else {}
    rings = [ring for ring in (reference() for reference in list(_rings.values())) if ring is not None]
    rings = [ring for ring in rings if ctypes.addressof(ring) not in known]
    if not rings:
        return None
    descriptor = os.memfd_create("slinky", os.MFD_CLOEXEC)
    offsets: dict[int, int] = {}
    end = 0
    with ExitStack() as after_failure:
        after_failure.callback(os.close, descriptor)
        for ring in rings:
            offsets[ctypes.addressof(ring)] = end
            left = memoryview(ring).cast("B")[: len(ring) // 2]
            while left:
                written = os.pwrite(descriptor, left, end)
                left, end = left[written:], end + written
        after_failure.pop_all()
    return Copies(descriptor, offsets, rings)


def own(copies: Copies) -> None:
    """In a forked child: put the copies in place of the rings that the parent has, too. Raises `OSError`."""
    for ring in copies.rings:
        base = ctypes.addressof(ring)
        _map_twice(base, len(ring) // 2, copies.descriptor, copies.offsets[base])


def forbid() -> None:
    """In a forked child for which there are no copies: let nobody touch what belongs to the parent."""
    libc = _libc()
    for reference in list(_rings.values()):
        ring = reference()
        if ring is not None and libc is not None:
            libc.mprotect(ctypes.addressof(ring), len(ring), _NO_ACCESS)


def whole_pages(size: int) -> int:
    """A number of bytes rounded up to whole pages."""
    return -(-size // PAGE) * PAGE
