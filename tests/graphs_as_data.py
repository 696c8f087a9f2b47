"""Graphs as data: what a random graph consists of (see `random_graphs`). Its `repr` is Python that makes it again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from random_copies import Copying

Range = tuple[int, int]
"""The first and the last coordinate; empty where the last is smaller."""

Box = tuple[Range, ...]

RADIUS = "radius"
"""The name of the one scalar that a random graph may have."""

LAYOUTS = ("C", "F", "reversed", "every other")
DTYPE = np.dtype(np.int64)
MODULUS = 10_007
"""Elements stay below it, so that sums never overflow."""

MOST_ELEMENTS = 9
"""A term of more elements is left to a callback."""

# ----------------------------------------------------------------------------------------------------------------
# Graphs as data
# ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """Read coordinates `scale * v // divide + offset + k * dilation` for k in `0 .. taps - 1`, v a func's dimension.

    With `radius`, the window is longer by the pipeline's scalar `radius` taps at both ends.
    """

    dim: int
    scale: int = 1
    divide: int = 1
    offset: int = 0
    taps: int = 1
    dilation: int = 1
    radius: bool = False

    def origin(self, v: Any) -> Any:
        """The coordinate of tap 0, of a number or an expression."""
        scaled = self.scale * v
        return (scaled // self.divide if self.divide != 1 else scaled) + self.offset

    def steps(self, radius: int) -> range:
        """The distances of the taps from tap 0."""
        extra = radius if self.radius else 0
        return range(-extra * self.dilation, (self.taps + extra) * self.dilation, self.dilation)

    def region(self, v: Range, radius: int) -> Range:
        """What is read for a range of v."""
        ends = (self.origin(v[0]), self.origin(v[1]))
        if self.scale < 0:
            ends = (ends[1], ends[0])
        steps = self.steps(radius)
        return (ends[0] + steps[0], ends[1] + steps[-1])

    def is_increasing(self) -> bool:
        """Whether it is shown, in the simple way of slinky, how far v may go for the window to stay in a range."""
        return self.scale > 0

    def around(self) -> Window:
        """The point that the window is around."""
        return Window(self.dim, self.scale, self.divide)


@dataclass(frozen=True)
class Fixed:
    """Read these coordinates, wherever the func is."""

    first: int
    last: int


@dataclass(frozen=True)
class Whole:
    """Read the whole dimension."""


Access = Window | Fixed | Whole


@dataclass(frozen=True)
class Read:
    """A buffer that a func reads, and how along each of its dimensions."""

    buffer: str
    along: tuple[Access, ...]

    def dims(self) -> set[int]:
        """The func's dimensions that it follows."""
        return {access.dim for access in self.along if isinstance(access, Window)}


@dataclass(frozen=True)
class Write:
    """A buffer that a func produces, and which of the func's dimensions its dimensions are."""

    buffer: str
    dims: tuple[int, ...]


@dataclass(frozen=True)
class Stage:
    """A func. Each element of an output is a mix of all reads that follow only dimensions of that output; or a copy."""

    name: str
    rank: int
    reads: tuple[Read, ...]
    writes: tuple[Write, ...]
    pass_buffers: bool = False
    in_place: bool = False
    copying: Copying | None = None
    """A stage that copies has no callback."""
    arithmetic: bool = False
    """Whether it is arithmetic, which slinky understands, and no callback (see `is_elementwise`)."""
    reduction: str = "merged"
    """What it declares where it sums something whole: that states of parts can be merged, or "alone", or that it is
    "rounded", so that it may not be taken to pieces."""

    def is_elementwise(self) -> bool:
        """Whether an element is a term of a few elements at known distances: it can be arithmetic."""
        (write, *more) = self.writes
        accesses = [access for read in self.reads for access in read.along]
        if more or self.copying is not None or not self.reads or write.dims != tuple(range(self.rank)):
            return False
        if any(isinstance(a, Whole) or (isinstance(a, Window) and (a.radius or a.divide != 1)) for a in accesses):
            return False
        return sum(math.prod(len(taps_of(a)) for a in read.along) for read in self.reads) <= MOST_ELEMENTS

    def needs_coordinates(self) -> bool:
        """Whether its callback must know where its box is."""
        return any(isinstance(a, Window) and a.divide != 1 for read in self.reads for a in read.along)

    def uses_radius(self) -> bool:
        """Whether a window depends on the scalar."""
        return any(isinstance(a, Window) and a.radius for read in self.reads for a in read.along)


def taps_of(access: Access) -> range:
    """The distances of what is read from the first element, where a window has no radius."""
    match access:
        case Window():
            return access.steps(0)
        case Fixed(first=first, last=last):
            return range(last - first + 1)
    return range(0)


@dataclass(frozen=True)
class Array:
    """An array of the caller: its bounds where the graph does not say more, and how it lies in memory."""

    box: Box
    margins: tuple[tuple[int, int], ...]
    layout: str = "C"


@dataclass(frozen=True)
class Graph:
    """A graph of stages, in dependency order, and the arrays to run it on."""

    inputs: Mapping[str, Array]
    stages: tuple[Stage, ...]
    outputs: Mapping[str, Array]
    radius: int = 0
    seed: int = 0

    def uses_radius(self) -> bool:
        """Whether the pipeline has the scalar `radius`."""
        return any(stage.uses_radius() for stage in self.stages)

    def scalars(self) -> dict[str, int]:
        """The scalars to run the pipeline with."""
        return {RADIUS: self.radius} if self.uses_radius() else {}

    def extended(self) -> set[tuple[str, int]]:
        """The dimensions in which a buffer goes on beyond its edges."""
        return {
            (s.writes[0].buffer, d)
            for s in self.stages
            if s.copying is not None and s.copying.kind == "extension"
            for d in range(s.rank)
            if s.copying.rule(0, d) is not None
        }

    def limited(self) -> set[tuple[str, int]]:
        """The dimensions of which it matters where they end."""
        return {
            (read.buffer, d)
            for s in self.stages
            if s.copying is not None
            for k, read in enumerate(s.reads)
            for d in range(len(read.along))
            if s.copying.rule(k, d) is not None
        }

    def ranks(self) -> dict[str, int]:
        """The rank of every buffer."""
        ranks = {name: len(array.box) for name, array in self.inputs.items()}
        ranks.update((write.buffer, len(write.dims)) for stage in self.stages for write in stage.writes)
        return ranks


def extent_of(i: Range) -> int:
    return max(i[1] - i[0] + 1, 0)


def volume(box: Box) -> int:
    """The number of points of a box."""
    return math.prod(map(extent_of, box))
