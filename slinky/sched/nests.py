"""Reductions in pieces, inside of the strips of a group: what a piece needs is computed piece by piece, too.

Non-local means of a strip of rows are sums over many offsets, of each of which there are planes: a strip of one row
holds as many rows of everything as there are offsets. So the sum is taken to pieces (`split_reduction`) in each strip,
and all that is computed for it alone, offset by offset, is computed and held for a few offsets at a time. In a loop
over pieces windows do not slide from one strip to the next: what two strips need is computed for both.

Invariant: a nest knows nothing of machines.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence, Set

import attrs

from slinky.sched.relations import Related, Strips
from slinky.sched.tracks import (
    DISPATCH,
    OPERATIONS_OF_A_CALL,
    Last,
    Member,
    Track,
    lines_of,
    steps_of,
    track_of,
    work_of,
)


@attrs.frozen
class Inner:
    """A producer that is computed in pieces: which share of it a piece needs, so much and as much more for each
    coordinate of the piece."""

    member: Member
    whole: float
    moving: float
    calls: float
    """For how many calls one piece more counts."""

    def share(self, piece: int) -> float:
        """Which share of it a piece of so many coordinates needs."""
        return min(self.whole + self.moving * piece, 1.0)


@attrs.frozen
class Share:
    """A producer in strips and pieces of certain sizes: what it holds until it is read, the bytes that its callback
    goes over in one go, and how many times what it computes in strips alone it computes in all."""

    member: Member
    distance: float
    at_once: float
    times: float


@attrs.frozen
class Nest:
    """A reduction among the calls of a track, along one of the dimensions that it reduces, and the producers that are
    computed for its pieces: consumers before producers."""

    index: int
    strips: Strips
    inner: tuple[Inner, ...]
    row_bytes: float
    """What it writes for each coordinate of a strip, which each piece hands on to the next."""

    @property
    def calls(self) -> frozenset[int]:
        """What is computed in pieces, by index."""
        return frozenset(each.member.index for each in self.inner)

    def pieces(self) -> Iterator[int]:
        """The lengths of pieces worth looking at: halves, quarters and so on, up to single coordinates."""
        count = 2
        while count < 2 * self.strips.extent:
            yield -(-self.strips.extent // min(count, self.strips.extent))
            count *= 2

    def count(self, piece: int) -> int:
        """How many pieces there are."""
        return -(-self.strips.extent // piece)

    def live(self, track: Track, height: int, piece: int) -> float:
        """The bytes that are held while a strip is computed."""
        return sum(self._sizes(track, height, piece).values()) + self.states(height)

    def states(self, height: int) -> float:
        """The bytes of a sum before a piece, and after it."""
        return 2 * self.row_bytes * height

    def steps(self, track: Track, piece: int) -> float:
        """How many calls it takes to compute a strip."""
        more = self.count(piece) - 1
        return track.steps + more * sum(each.calls for each in self.inner) + (more + 2) * _REDUCING

    def shares(self, track: Track, height: int, piece: int) -> Iterator[Share]:
        """Each producer, as it is computed in strips of such a height and pieces of such a length."""
        sizes = self._sizes(track, height, piece)
        order = sorted(sizes)
        until = dict(zip(order, itertools.accumulate(sizes[i] for i in order), strict=True))
        inner = {each.member.index: each for each in self.inner}
        for member in track.members:
            distance = until[member.until] - until[member.index] + sizes[member.index]
            rows = member.slope * height + member.window
            each = inner.get(member.index)
            if each is None:
                yield Share(member, distance, member.work.at_once(rows), 1.0)
            else:
                new = member.slope * height
                at_once = member.work.at_once(new + member.halo) * each.share(piece)
                yield Share(member, distance, at_once, (1 + member.halo / new) * each.share(piece) * self.count(piece))

    def _sizes(self, track: Track, height: int, piece: int) -> dict[int, float]:
        """What each call holds, by index."""
        sizes = {last.index: last.row_bytes * height for last in track.lasts}
        for member in track.members:
            extra = max(member.window, member.halo) if member.index < self.index else member.window
            sizes[member.index] = member.row_bytes * (member.slope * height + extra)
        for each in self.inner:
            member = each.member
            sizes[member.index] = member.row_bytes * (member.slope * height + member.halo) * each.share(piece)
        return sizes


def nests_of(track: Track, calls: Sequence[Related], readers: Sequence[Set[int]]) -> Iterator[Nest]:
    """The reductions of a track that may be taken to pieces in its strips, where a producer comes with them."""
    sizes = {last.index: last.row_bytes for last in track.lasts if not last.strips.is_reduced}
    sizes.update((member.index, member.row_bytes * member.slope) for member in track.members)
    members = {member.index: member for member in track.members}
    for index, row_bytes in sizes.items():
        for strips in calls[index].strips:
            if strips.is_reduced:
                inner = tuple(_inner(index, strips, members, calls, readers))
                if inner:
                    yield Nest(index, strips, inner, row_bytes)


def _inner(
    index: int, strips: Strips, members: Mapping[int, Member], calls: Sequence[Related], readers: Sequence[Set[int]]
) -> Iterator[Inner]:
    """The producers that are read for a reduction alone, and move with its pieces."""
    call = calls[index]
    last = Last(index, strips, 0.0, lines_of(call, None), steps_of(call, None), work_of(call, strips), 0.0)
    along, inside = track_of((last,)), {index}
    for i, member in members.items():
        if not readers[i] <= inside:
            continue
        longer = along.extended(tuple(calls), (i,))
        if longer is None or longer.members[-1].position == member.position:
            continue
        along, found = longer, longer.members[-1]
        inside.add(i)
        size = max(sum(w.bytes for w in calls[i].writes), 1)
        operations = 0 if calls[i].in_loops else calls[i].operations.once
        row, more = found.row_bytes / size, (DISPATCH + operations) / OPERATIONS_OF_A_CALL
        yield Inner(member, row * found.window, row * found.slope, more)


_REDUCING = 2 * DISPATCH / OPERATIONS_OF_A_CALL
"""For how many calls it counts to add a piece to what was there, to begin, and to end."""
