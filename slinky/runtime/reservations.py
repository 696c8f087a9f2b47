"""How many bytes does a run reserve for its intermediates?

A run that is recorded asks for its memory through *measured* arenas, which note what they hand out and leave the rest
to the arenas of the plan; so does a rehearsal, to stand-ins that have no memory. What is noted, of each arena:

* of sites that share its bytes, the bytes that some array lay on; an array that lies in an output is not asked for;
* of rings, and of sites whose size is not known before, all that is kept at a time (see `arena.Kept`).

An arena keeps its memory to the end of the run, so a run reserves the sum. Places and sizes are those of a plan that
has not run before: a plan that ran on other sizes may hold more (see `arena`).

Invariant: the figures depend on the bounds of the arguments alone, and with parallel loops on how many iterations
overlap; those of a rehearsal are never less than those of the run.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, Protocol, TypeVar, cast

from slinky.runtime.arena import SPARE, UNKNOWN, Arenas, Kept, Packing, Shape, SiteKind, WindowGiver, colors
from slinky.runtime.arena import window_memory as memory_of_window
from slinky.runtime.buffers import Array

T_co = TypeVar("T_co", covariant=True)


class Giving(Protocol[T_co]):
    """What gives something for a key."""

    def __getitem__(self, key: Any, /) -> T_co:
        """What there is for a key."""


class SiteLike(Giving[Array], Protocol):
    """What gives the arrays at one place of an arena."""

    @property
    def read_only(self) -> Giving[Array]:
        """Read-only views of the arrays that were asked for."""


class ArenaLike(Protocol):
    """What gives a run its memory: an arena, or what stands in for one."""

    @property
    def rings(self) -> Sequence[Giving[WindowGiver]]:
        """The windows on each folded site."""

    def __getitem__(self, needed: Any, /) -> Sequence[SiteLike]:
        """The other sites, with room for so many bytes each."""


class Layout:
    """Where the sites of an arena lie, by the bytes that they need."""

    def __init__(self, kinds: Sequence[SiteKind]) -> None:
        self.heap = [kind for kind in kinds if not kind.folded]
        self.rings = [kind for kind in kinds if kind.folded]
        self.colors = colors(self.rings)
        self._packing = Packing(self.heap)

    def covered(self, needed: Sequence[int], used: Sequence[int]) -> int:
        """How many bytes the sites cover that need so much, of which so much was used."""
        offsets, _ = self._packing.places(needed)
        total = end = 0
        for begin, size in sorted(zip(offsets, used, strict=True)):
            total += max(begin + size - max(begin, end), 0)
            end = max(end, begin + size)
        return total


class Room:
    """What was handed out by an arena, or by all the arenas that the iterations of a loop took."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._used: dict[tuple[int, ...], list[int]] = {}
        self._times: Counter[tuple[int, ...]] = Counter()
        self._kept: dict[tuple[str, int], Kept] = {}
        self._most: dict[tuple[str, int], int] = {}
        self._asked: dict[tuple[str, int], Counter[tuple[Hashable, int]]] = {}

    def enter(self, needed: tuple[int, ...]) -> list[int]:
        """Sites are laid out for so many bytes each; the list of what is used of them."""
        self._times[needed] += 1
        used = self._used.get(needed)
        if used is None:
            used = self._used[needed] = [0] * len(needed)
        return used

    def keep(self, group: tuple[str, int], key: Hashable, size: int, site: str = "") -> None:
        """Memory of its own is asked for by a site, of a group that keeps what it can."""
        kept = self._kept.setdefault(group, Kept())
        self._asked.setdefault(group, Counter())[key, size] += 1
        if key not in kept:
            kept.add(key, size, site)
            self._most[group] = max(self._most.get(group, 0), sum(kept.values()))

    def of_one(self) -> int:
        """The bytes of one arena."""
        heap = max((self.layout.covered(needed, used) for needed, used in self._used.items()), default=0)
        return heap + sum(self._most.values())

    def of_several(self, arenas: int) -> int:
        """The most that so many arenas take, whichever of them an iteration takes."""
        if arenas == 1:
            return self.of_one()
        each = ((self.layout.covered(needed, used), self._times[needed]) for needed, used in self._used.items())
        largest = heapq.nlargest(arenas, itertools.chain(*([size] * min(times, arenas) for size, times in each)))
        total = sum(largest)
        for asked in self._asked.values():
            everything = sum(size * min(times, arenas) for (_, size), times in asked.items())
            total += min(everything, arenas * SPARE * max(size for _, size in asked))
        return total


class MeasuredArena:
    """An arena that notes in a room what it hands out."""

    def __init__(self, room: Room, arena: ArenaLike) -> None:
        self.room = room
        self.arena = arena
        self._sites: dict[Shape, tuple[_MeasuredSite, ...]] = {}
        rings = zip(room.layout.rings, room.layout.colors, arena.rings, strict=True)
        self.rings = tuple(_MeasuredRing(room, *ring) for ring in rings)

    def __getitem__(self, needed: Shape) -> tuple[_MeasuredSite, ...]:
        room, sizes = self.room, (needed,) if isinstance(needed, int) else needed
        used = room.enter(sizes)
        sites = self.arena[needed]  # always the same ones, laid out for what is needed now
        measured = self._sites.get(needed)
        if measured is None:
            measured = self._sites[needed] = tuple(
                _MeasuredSite(room, number, site, used, sizes[number]) for number, site in enumerate(sites)
            )
        return measured


class _MeasuredSite:
    def __init__(self, room: Room, number: int, site: SiteLike, used: list[int], needed: int) -> None:
        self._room = room
        self._number = number
        self._site = site
        self._used = used
        self._needed = needed
        self._kind = room.layout.heap[number]
        self._item = self._kind.dtype.itemsize

    @property
    def read_only(self) -> Giving[Array]:
        """Read-only views of the arrays that were asked for."""
        return self._site.read_only

    def __getitem__(self, shape: Shape) -> Array:
        if self._kind.layout is not None:
            size = self._kind.laid(shape).size
        else:
            size = (shape if isinstance(shape, int) else math.prod(shape)) * self._item
        if self._needed == UNKNOWN:
            self._room.keep(("site", self._number), shape, size)
        elif self._used[self._number] < size <= self._needed:  # a larger array is never used
            self._used[self._number] = size
        return self._site[shape]


class _MeasuredRing:
    def __init__(self, room: Room, kind: SiteKind, color: int, ring: Giving[WindowGiver]) -> None:
        self._room = room
        self._kind = kind
        self._group = ("ring", color)
        self._ring = ring
        self._memories: dict[tuple[int, ...], tuple[bool, int]] = {}

    def __getitem__(self, key: tuple[int, ...]) -> WindowGiver:
        memory = self._memories.get(key)
        if memory is None:
            memory = self._memories[key] = memory_of_window(self._kind, key)
        self._room.keep(self._group, memory, memory[1], self._kind.buffer)
        return self._ring[key]


class Reservations:
    """What a run reserves: in the arena of its function, and in those of its parallel loops."""

    def __init__(self, sites: Sequence[SiteKind], arena: ArenaLike) -> None:
        self.arena = MeasuredArena(Room(Layout(sites)), arena)
        self.loops: list[LoopArenas] = []

    def bytes(self) -> int:
        """What it reserved in all."""
        return self.arena.room.of_one() + sum(loop.bytes() for loop in self.loops)


class LoopArenas(Protocol):
    """The arenas for the iterations of a parallel loop."""

    def bytes(self) -> int:
        """What they took in all."""


class MeasuredArenas:
    """The arenas of a loop's iterations in one run: taken from those that the plan keeps, and given back at its end."""

    def __init__(self, kinds: Sequence[SiteKind], arenas: Arenas) -> None:
        self._layout = Layout(kinds)
        self._arenas = arenas
        self._idle: list[MeasuredArena] = []
        self._rooms: list[Room] = []

    def take(self) -> MeasuredArena:
        """An arena that nobody else uses; one of this run, if there is one."""
        try:
            return self._idle.pop()
        except IndexError:
            room = Room(self._layout)
            self._rooms.append(room)
            return MeasuredArena(room, self._arenas.take())

    def give(self, arena: MeasuredArena) -> None:
        """Give an arena back, for the next iteration."""
        self._idle.append(arena)

    def bytes(self) -> int:
        """What the iterations took in all."""
        return sum(room.of_one() for room in self._rooms)

    def end(self) -> None:
        """The run has ended: let others have the arenas."""
        for measured in self._idle:
            self._arenas.give(cast(Any, measured.arena))
