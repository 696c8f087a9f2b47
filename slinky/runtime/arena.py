"""Memory that a plan keeps between runs, so that a run with the shapes of the last one allocates nothing.

An arena serves one run (or one iteration of a parallel loop) at a time; `Arenas` holds those that are idle. Its
*sites* are the `alloc` statements of the plan. Sites whose lifetimes do not overlap may lie at the same bytes:
`arena[sizes]` are the sites with room for so many bytes each; it packs them, the largest first, each at the lowest
place that is free during its lifetime. `site[shape]` is then the array of that shape at the site's place, its contents
undefined.

Invariants: places are multiples of 64 bytes; sites that are alive at the same time never overlap; an array that was
given out stays valid memory as long as somebody holds it, even if the arena is laid out anew.
"""

from __future__ import annotations

import heapq
import math
import weakref
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Protocol, TypeAlias, cast

import attrs
import numpy as np

from slinky.runtime import mirrored
from slinky.runtime.buffers import Array, read_only
from slinky.runtime.compacting import Compacting, room
from slinky.runtime.storage import MOST_STARTS, Ring, Windows, onward, reserve, ring_size, ring_stride, row_bytes
from slinky.runtime.strided import Laid, Strided, array_at, bytes_at, laid

ALIGNMENT = 64
_REMEMBERED_SHAPES = 64
SPARE = 4
"""An arena that is this many times larger than needed is given back."""

UNKNOWN = -1
"""In place of a number of bytes that is not known before the run."""

Shape: TypeAlias = "int | tuple[int, ...]"


@attrs.frozen
class SiteKind:
    """What is known of a site before any run: its dtype and its lifetime, in positions of the program.

    `buffer` is the first that lies there, for messages. `folded` are the dimensions that have a fold; such a site has
    memory of its own: mirrored where possible, plain where its one fold `moves` on in it (see `compacting`). So has one
    with a `layout` that the user says: its arrays go by shape and the strides that are given. Sites of the same `place`
    lie at the same bytes.
    """

    dtype: np.dtype[Any]
    rank: int
    born: int
    dies: int
    folded: tuple[int, ...] = ()
    buffer: str = ""
    layout: Strided | None = None
    place: int = -1
    moves: bool = False

    def laid(self, shape: Shape) -> Laid:
        """Where the elements of an array of this site lie, and how many bytes it takes."""
        key = (shape,) if isinstance(shape, int) else shape
        itemsize = self.dtype.itemsize
        if self.layout is None:
            return Laid((), math.prod(key) * itemsize)
        return laid(self.buffer, itemsize, key[: self.rank], self.layout, key[self.rank :])


def aligned_bytes(size: int) -> Array:
    """Uninitialised bytes, the first at a multiple of 64."""
    memory: Array = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size]


class Kept(dict[Hashable, int]):
    """The sizes of memory that is kept for what may be asked for again: no more than `SPARE` times the largest of what
    each site asked for last. (Sites of one run ask one after the other; a small one must not drive out a large one.)"""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, int] = {}

    def add(self, key: Hashable, size: int, site: str = "") -> bool:
        """Keep this, too, for a site; whether all that was there before had to be given up."""
        self._last[site] = size
        crowded = sum(self.values()) + size > SPARE * max(self._last.values())
        if crowded:
            self.clear()
            self._last = {site: size}
        self[key] = size
        return crowded


class Site(dict[Shape, Array]):
    """The arrays at one place of an arena, by shape (an integer for rank 1). Made when first asked for.

    `read_only` has a read-only view of each, which is there once the array has been asked for.

    A plan may ask for an array before it knows whether the loop that uses it has any iteration. One that is larger
    than what was reserved is never used: an array without elements is given out in its place.
    """

    def __init__(self, kind: SiteKind) -> None:
        super().__init__()
        self.read_only: dict[Shape, Array] = {}
        self._kind = kind
        self._memory: Array | None = None
        self._kept = Kept()

    def clear(self) -> None:
        """Forget all arrays."""
        super().clear()
        self.read_only.clear()

    def move(self, memory: Array | None) -> None:
        """Use this memory from now on; None where it is not known how much will be needed."""
        self.clear()
        self._kept.clear()
        self._memory = memory

    @property
    def memory(self) -> Array | None:
        """The bytes where its arrays begin; None where each has memory of its own."""
        return self._memory

    def has_room(self, size: int) -> bool:
        """Whether so many bytes can be reserved as it is."""
        return size == UNKNOWN if self._memory is None else UNKNOWN < size <= self._memory.size

    def __missing__(self, shape: Shape) -> Array:
        if len(self) >= _REMEMBERED_SHAPES:
            self.clear()
            self._kept.clear()
        extents = (shape,) if isinstance(shape, int) else shape
        kind, dtype = self._kind, self._kind.dtype
        where = kind.laid(shape)
        size = where.size
        if self._memory is None:
            if self._kept.add(shape, size):
                self.clear()
            if kind.layout is None:
                array: Array = np.ndarray(extents, dtype, reserve(aligned_bytes, size, kind.buffer))
            else:
                alignment = max(kind.layout.alignment, ALIGNMENT)
                memory = reserve(lambda n: bytes_at(lambda m: np.empty(m, np.uint8), n, alignment), size, kind.buffer)
                array = array_at(memory, dtype, extents[: kind.rank], where)
        elif size <= self._memory.size:
            array = array_on(self._memory, extents, dtype)
        else:
            array = _without_elements(extents, dtype)
        self[shape] = array
        self.read_only[shape] = read_only(array)
        return array


def _without_elements(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array in the place of one of this shape that nobody uses. There are as many along all axes but the last, for a
    plan may take the view of one of its blocks (see `ir.blocks`) as soon as it has it."""
    return array_on(np.empty(0, np.uint8), (*shape[:-1], 0), dtype) if shape else np.empty((), dtype)


def array_on(memory: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array on some bytes. NumPy has none that is longer than memory could be, even without elements."""
    try:
        return np.ndarray(shape, dtype, memory)
    except ValueError:
        if 0 not in shape:
            raise
        return np.ndarray(tuple(min(extent, 1) for extent in shape), dtype, memory)


class WindowGiver(Protocol):
    """Takes, for each folded dimension, the distance of the first coordinate from that of the buffer, and how many;
    gives a view that is cropped there. (It is a function with attributes, for nothing is called sooner.)"""

    rows: tuple[int, ...]
    """How many coordinates there may be, per folded dimension."""
    read_only: WindowGiver
    """Gives read-only views of the same; has none itself."""
    onward: Callable[..., Windows]
    """Gives the windows of a loop (see `storage.onward`)."""
    whole: Array | None
    """For who makes views by itself, what they are parts of, at distance 0; None where there is more to do."""
    wraps: tuple[int, ...]
    """Per folded dimension, how many bytes a distance is taken modulo there; 0 where it is not."""

    def __call__(self, *spans: int) -> Array: ...


class RingSite(dict[tuple[int, ...], WindowGiver]):
    """The windows on a folded buffer, by its shape and the fold of each folded dimension.

    As in `storage`, the first dimension that a ring makes smaller is a ring, others are stored in full.
    """

    def __init__(self, kind: SiteKind, pool: _Pool) -> None:
        super().__init__()
        self._kind = kind
        self._pool = pool
        pool.sites.append(weakref.ref(self))

    def __missing__(self, key: tuple[int, ...]) -> WindowGiver:
        pool = self._pool
        if len(self) >= _REMEMBERED_SHAPES:
            self.clear()
        ring_memory, heap_memory = (
            partial(pool.take, self._kind.buffer, make) for make in (mirrored.mirrored, aligned_bytes)
        )
        self[key] = window = make_window(self._kind, key, ring_memory, heap_memory)
        return window


class _Pool:
    """The memory of folded buffers no two of which are alive at the same time, by how it is made and its size.

    A ring fits one size only. So the memory for other sizes is kept, but no more than `SPARE` times the largest that
    these buffers last asked for.
    """

    def __init__(self) -> None:
        self.sites: list[weakref.ref[RingSite]] = []  # they hold the pool: so nothing waits for the collector
        self._memories: dict[tuple[Callable[[int], Array], int], Array] = {}
        self._kept = Kept()

    def take(self, buffer: str, make: Callable[[int], Array], size: int) -> Array:
        """Memory of this size for a buffer; that of other sizes is given up where it is too much."""
        memory = self._memories.get((make, size))
        if memory is None:
            if self._kept.add((make, size), size, buffer):
                self._memories.clear()
                for reference in self.sites:
                    site = reference()
                    if site is not None:
                        site.clear()
            memory = self._memories[make, size] = reserve(make, size, buffer)
        return memory


def make_window(
    kind: SiteKind, key: tuple[int, ...], ring_memory: Callable[[int], Array], heap_memory: Callable[[int], Array]
) -> WindowGiver:
    """The window function of a folded buffer with this shape and these folds, on memory that is made as needed."""
    shape, factors = key[: kind.rank], key[kind.rank :]
    moving = moving_room(kind, key)
    if moving is not None:
        there, size = moving
        (dim,), (factor,) = kind.folded, factors
        window, reading = Compacting(heap_memory(size), kind.dtype, shape, dim, factor, there).windows()
        return _window_giver(window, reading, (factor,), None, (0,), None)
    position, size = _place_of_window(kind, key)
    if position is None:
        return whole_window(kind, key, heap_memory)
    dim = kind.folded[position]
    stride = ring_stride(kind.dtype, shape, dim, factors[position], size)
    ring = Ring(ring_memory(size), size, kind.dtype, shape, dim, stride)
    window, reading = (_ring_window(kind, r, position) for r in (ring, ring.read_only()))
    in_full = _rows_in_full(kind, key)
    counts = (*in_full[:position], ring.rows, *in_full[position + 1 :])
    wraps = tuple(size if d == dim else 0 for d in kind.folded)
    starts = ring.starts if ring.starts <= MOST_STARTS else None
    return _window_giver(window, reading, counts, ring.window()(0, ring.rows), wraps, starts)


def whole_window(kind: SiteKind, key: tuple[int, ...], heap_memory: Callable[[int], Array]) -> WindowGiver:
    """The window function of a folded buffer with this shape and these folds that is stored in full."""
    shape = key[: kind.rank]
    array = np.ndarray(shape, kind.dtype, heap_memory(math.prod(shape) * kind.dtype.itemsize))
    window, reading = (_crop_window(kind.folded, a) for a in (array, read_only(array)))
    return _window_giver(window, reading, _rows_in_full(kind, key), array, (0,) * len(kind.folded), None)


def _rows_in_full(kind: SiteKind, key: tuple[int, ...]) -> tuple[int, ...]:
    """How many coordinates of each folded dimension a window may have, where they are stored in full."""
    return tuple(1 if factor == 1 else key[d] for d, factor in zip(kind.folded, key[kind.rank :], strict=True))


def _window_giver(
    window: Callable[..., Array],
    reading: Callable[..., Array],
    rows: tuple[int, ...],
    whole: Array | None,
    wraps: tuple[int, ...],
    starts: int | None,
) -> WindowGiver:
    for function in (window, reading):
        giver = cast(WindowGiver, function)
        giver.rows, giver.whole, giver.wraps = rows, whole, wraps
        giver.onward = onward(_without_attributes(function), rows[0], starts)
    giver = cast(WindowGiver, window)
    giver.read_only = cast(WindowGiver, reading)
    return giver


def _without_attributes(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function that does and knows the same. (What an attribute of a function holds that function by would keep its
    memory until the collector comes.)"""
    own = cast(FunctionType, function)
    return FunctionType(own.__code__, own.__globals__, own.__name__, own.__defaults__, own.__closure__)


def window_memory(kind: SiteKind, key: tuple[int, ...]) -> tuple[bool, int]:
    """Whether the windows on a folded buffer with this shape and these folds are on a ring, and of how many bytes."""
    moving = moving_room(kind, key)
    if moving is not None:
        return False, moving[1]
    position, size = _place_of_window(kind, key)
    return position is not None, size


def moving_room(kind: SiteKind, key: tuple[int, ...]) -> tuple[int, int] | None:
    """For how many rows there is room, and in how many bytes, where windows move on in plain memory."""
    if not kind.moves:
        return None
    shape, (factor,), (dim,) = key[: kind.rank], key[kind.rank :], kind.folded
    rows = room(kind.dtype, shape, dim, factor) if factor < shape[dim] else None
    return None if rows is None else (rows, rows * row_bytes(kind.dtype, shape, dim))


def _place_of_window(kind: SiteKind, key: tuple[int, ...]) -> tuple[int | None, int]:
    """Which of the folded dimensions is a ring, if any, and the bytes that the buffer takes."""
    shape, factors = key[: kind.rank], key[kind.rank :]
    for position, (dim, factor) in enumerate(zip(kind.folded, factors, strict=True)):
        if kind.moves:
            break  # in plain memory, if not in full
        size = ring_size(kind.dtype, shape, dim, factor) if factor < shape[dim] else None
        if size is not None:
            return position, size
    return None, math.prod(shape) * kind.dtype.itemsize


def _ring_window(kind: SiteKind, ring: Ring, position: int) -> Callable[..., Array]:
    """A window on a ring; further folded dimensions are stored in full."""
    take = ring.window()
    others = tuple(d for d in kind.folded if d != ring.dim)
    if not others:
        return take

    def window(*ends: int) -> Array:
        rest = ends[: 2 * position] + ends[2 * position + 2 :]
        return _crop_window(others, take(*ends[2 * position : 2 * position + 2]))(*rest)

    return window


def _crop_window(dims: Sequence[int], array: Array) -> Callable[..., Array]:
    """A window on an array that is stored in full."""
    index: list[Any] = [slice(None)] * (max(dims) + 1)

    def window(*ends: int) -> Array:
        crop = index.copy()
        for d, first, count in zip(dims, ends[::2], ends[1::2], strict=True):
            crop[d] = slice(first, first + count)
        return cast(Array, array[tuple(crop)])

    return window


class Arena(dict[Shape, tuple[Site, ...]]):
    """The memory of one run: the sites that are not folded, by the bytes they need (an integer for one site).

    Bytes that are not known are `UNKNOWN`. Its keys are those that fit the sites as they lie; so a run with the sizes
    of an earlier one costs a look-up.
    """

    def __init__(self, kinds: Sequence[SiteKind]) -> None:
        super().__init__()
        self._kinds = [kind for kind in kinds if not kind.folded]
        self._sites = tuple(Site(kind) for kind in self._kinds)
        self._total = 0
        rings = [kind for kind in kinds if kind.folded]
        pools: dict[int, _Pool] = {}
        self.rings = tuple(
            RingSite(kind, pools.setdefault(color, _Pool())) for kind, color in zip(rings, colors(rings), strict=True)
        )

    def __missing__(self, needed: Shape) -> tuple[Site, ...]:
        sizes = (needed,) if isinstance(needed, int) else needed
        fits = all(site.has_room(size) for size, site in zip(sizes, self._sites, strict=True))
        if not fits or self._total > SPARE * sum(sizes) + ALIGNMENT * len(sizes):
            self._lay_out(sizes)
        if len(self) >= _REMEMBERED_SHAPES:
            self.clear()
        self[needed] = self._sites
        return self._sites

    def _lay_out(self, sizes: Sequence[int]) -> None:
        self.clear()
        offsets, total = Packing(self._kinds).places(sizes)
        largest_first = sorted(range(len(sizes)), key=lambda site: -sizes[site])
        memory = reserve(aligned_bytes, total, *(self._kinds[site].buffer for site in largest_first))
        self._total = total
        for site, offset, size in zip(self._sites, offsets, sizes, strict=True):
            site.move(memory[offset : offset + size] if size != UNKNOWN else None)


class Packing:
    """How sites that are not folded lie beside each other: those of one place as one, as large as the largest."""

    def __init__(self, kinds: Sequence[SiteKind]) -> None:
        groups: dict[tuple[bool, int], list[int]] = {}
        for number, kind in enumerate(kinds):
            is_alone = kind.place < 0
            groups.setdefault((is_alone, number if is_alone else kind.place), []).append(number)
        self._groups = list(groups.values())
        of_groups = [[kinds[n] for n in group] for group in self._groups]
        whole = [
            attrs.evolve(these[0], born=min(k.born for k in these), dies=max(k.dies for k in these))
            for these in of_groups
        ]
        self._overlaps = alive_at_once(whole)

    def places(self, sizes: Sequence[int]) -> tuple[list[int], int]:
        """Where each site begins, and how many bytes that takes in all."""
        begins, total = pack([max(sizes[n] for n in group) for group in self._groups], self._overlaps)
        offsets = [0] * len(sizes)
        for group, begin in zip(self._groups, begins, strict=True):
            for number in group:
                offsets[number] = begin
        return offsets, total


def pack(sizes: Sequence[int], overlaps: Sequence[Sequence[int]]) -> tuple[list[int], int]:
    """Where each site begins, and how many bytes that takes in all; `overlaps` are the sites alive with each."""
    offsets = [0] * len(sizes)
    total = 0
    placed: set[int] = set()
    for site in sorted(range(len(sizes)), key=lambda s: -sizes[s]):
        size = -(-max(sizes[site], 0) // ALIGNMENT) * ALIGNMENT
        at = 0
        for begin, end in sorted((offsets[s], offsets[s] + max(sizes[s], 0)) for s in overlaps[site] if s in placed):
            if at + size <= begin:
                break
            at = max(at, -(-end // ALIGNMENT) * ALIGNMENT)
        offsets[site] = at
        total = max(total, at + size)
        placed.add(site)
    return offsets, total


def alive_at_once(kinds: Sequence[SiteKind]) -> list[list[int]]:
    """For each site, the sites whose lifetimes overlap with its own."""
    at_once: list[list[int]] = [[] for _ in kinds]
    alive: list[tuple[int, int]] = []
    for site in sorted(range(len(kinds)), key=lambda s: kinds[s].born):
        while alive and alive[0][0] < kinds[site].born:
            heapq.heappop(alive)
        for _, other in alive:
            at_once[site].append(other)
            at_once[other].append(site)
        heapq.heappush(alive, (kinds[site].dies, site))
    return at_once


def colors(kinds: Sequence[SiteKind]) -> list[int]:
    """A number for each site, so that sites of one number are never alive at the same time."""
    colors = [0] * len(kinds)
    last_use: list[int] = []
    for site in sorted(range(len(kinds)), key=lambda s: kinds[s].born):
        color = next((c for c, dies in enumerate(last_use) if dies < kinds[site].born), len(last_use))
        if color == len(last_use):
            last_use.append(0)
        last_use[color] = kinds[site].dies
        colors[site] = color
    return colors


class Arenas:
    """The idle arenas of a plan, or of the body of a parallel loop: as many as ever ran at the same time.

    The last to be given back is the first to be taken, so that its memory is still in cache. `idle` are those that
    nobody uses, `kinds` the sites of each.
    """

    def __init__(self, kinds: Sequence[SiteKind]) -> None:
        self.kinds = tuple(kinds)
        self.idle: list[Arena] = []

    def take(self) -> Arena:
        """An arena that nobody else uses."""
        try:
            return self.idle.pop()
        except IndexError:
            return Arena(self.kinds)

    def give(self, arena: Arena) -> None:
        """Give an arena back, for the next run."""
        self.idle.append(arena)

    def clear(self) -> None:
        """Release the memory of all idle arenas."""
        self.idle.clear()
