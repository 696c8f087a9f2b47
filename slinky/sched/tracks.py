"""A group of calls strip by strip: what each of them computes, holds and reads while the last ones go ahead.

What the strips of a producer are to those of the last call is followed through the relations in between, from consumers
to producers. So the bytes that a group holds are linear in the height of the strips.

Invariant: a track knows nothing of machines.
"""

from __future__ import annotations

import math

import attrs

from slinky.sched.relations import Motion, Related, Strips

HEIGHTS = 8
"""How many heights of strips are looked at."""


@attrs.frozen
class Lines:
    """How many times a callback begins a line of neighbours in memory, over all strips of a call.

    A line goes along the last axis of what the call writes: all of it, or where strips go along that axis, one strip.
    """

    elements: int
    length: int
    is_cut: bool

    def count(self, rows: float) -> float:
        """How many lines there are, in strips of so many coordinates."""
        return self.elements / max(min(rows, self.length) if self.is_cut else self.length, 1.0)


@attrs.frozen
class Member:
    """A producer in a group: along which of its dimensions it goes with the strips, and how.

    A strip of height h needs `slope*h + window` coordinates of it, of which `slope*h` are new. What it writes takes
    `row_bytes` for each. A strip that shares nothing with others must compute `halo` more than what is new.
    """

    index: int
    position: int
    slope: float
    window: float
    halo: float
    row_bytes: float
    lines: Lines

    def rows(self, height: int) -> int:
        """How many coordinates of it are held while a strip is computed."""
        return math.ceil(self.slope * height + self.window)

    @property
    def keeps(self) -> bool:
        """Whether neighbouring strips need some of the same, so that it is worth a sliding window."""
        return self.window >= _OVERLAP


@attrs.frozen
class Last:
    """A call that a group is there for: others outside of it read what it writes, or nobody does."""

    index: int
    strips: Strips
    row_bytes: float
    lines: Lines


@attrs.frozen
class Track:
    """A group, strip by strip along one dimension of its last calls, which have the same coordinates there."""

    lasts: tuple[Last, ...]
    members: tuple[Member, ...]

    @property
    def strips(self) -> Strips:
        """Those of the first of the last calls."""
        return self.lasts[0].strips

    @property
    def calls(self) -> tuple[int, ...]:
        """All calls, by index."""
        return (*(last.index for last in self.lasts), *(member.index for member in self.members))

    def lines(self, height: int) -> float:
        """How many lines of neighbours in memory all calls begin, in strips of this height."""
        own = sum(last.lines.count(height) for last in self.lasts)
        return own + sum(member.lines.count(member.slope * height) for member in self.members)

    def live(self, height: int) -> float:
        """The bytes that are held while strips of this height are computed."""
        own = sum(last.row_bytes for last in self.lasts) * height
        return own + sum(m.row_bytes * (m.slope * height + m.window) for m in self.members)


def heights_of(track: Track, most_live: float) -> tuple[int, ...]:
    """The heights of strips worth looking at: the largest that holds at most so many bytes, half of it, and so on. They
    are whole multiples where the last calls compute no others, and such that doubled rows come in pairs."""
    slowest = min((member.slope for member in track.members), default=1.0)
    unit = math.lcm(*(last.strips.multiple for last in track.lasts), 1 << max(math.ceil(-math.log2(slowest)), 0))
    constant = track.live(0)
    each = track.live(1) - constant
    fitting = max(most_live - constant, 0.0) / each if each else math.inf
    most = int(min(track.strips.extent // 2, max(fitting, unit))) // unit
    if most < 1:
        return (unit,) if unit < track.strips.extent else ()
    largest = most.bit_length() - 1
    return tuple(unit << k for k in range(max(largest - HEIGHTS + 1, 0), largest + 1))


class Following:
    """What each call of a group needs for a strip of the last one: followed from consumers to producers.

    The strip `y .. y + h - 1` needs what lies between `slope*y + low` and `slope*(y + h - 1) + high` along an axis of a
    buffer; what is new of that begins at `slope*y + fresh`. What a producer reads is for what it computes anew.
    """

    def __init__(self, calls: tuple[Related, ...], track: Track) -> None:
        self.calls = calls
        self.needs: dict[str, list[_Need | None]] = {}
        for last in track.lasts:
            self._reads(last.strips, _Need(0, 1.0, 0.0, 0.0, 0.0))
        for member in track.members:
            self.member(member.index)

    def member(self, i: int) -> Member | None:
        """A call as a member, all of whose readers are; None where it does not move with them."""
        call = self.calls[i]
        found = [(w.dims[n.axis], n) if n else None for w in call.writes for n in self.needs.get(w.buffer, ())]
        needs = [pair for pair in found if pair is not None]
        if len(needs) < len(found) or len({(position, need.slope) for position, need in needs}) != 1:
            return None
        position, slope = needs[0][0], needs[0][1].slope
        strips = next((s for s in call.strips if s.position == position), None)
        if strips is None or slope <= 0:
            return None
        low, high = min(need.low for _, need in needs), max(need.high for _, need in needs)
        far = min(need.far for _, need in needs)
        window, halo = (max(high - least + 1 - slope, 0.0) for least in (low, far))
        member = Member(i, position, slope, window, halo, row_bytes_of(call, strips), lines_of(call, position))
        fresh = high + 1 - slope if member.keeps else low
        self._reads(strips, _Need(0, slope, fresh, high, far))
        return member

    def _reads(self, strips: Strips, own: _Need) -> None:
        """Note what a strip reads of a call of which that is computed."""
        for buffer, motion in strips.reads:
            self.needs.setdefault(buffer, []).append(None if motion is None else own.through(motion))


@attrs.frozen
class _Need:
    """What a strip of the last call needs along an axis; `far` is where that begins if no strip is left to others."""

    axis: int
    slope: float
    low: float
    high: float
    far: float

    def through(self, motion: Motion) -> _Need:
        """What must be read for that."""
        low, far = (motion.rate * end + motion.first for end in (self.low, self.far))
        return _Need(motion.axis, motion.rate * self.slope, low, motion.rate * self.high + motion.last, far)


_OVERLAP = 0.25
"""Of how many coordinates neighbouring strips must both have need, so that a window is kept: less is rounding."""


def row_bytes_of(call: Related, strips: Strips) -> float:
    """What one coordinate along a dimension takes of all that a call writes; what is reduced takes no more."""
    if strips.is_reduced:
        return 0.0
    size = sum(w.bytes for w in call.writes)
    return size / max(strips.extent, 1)


def lines_of(call: Related, position: int | None) -> Lines:
    """The lines that a call begins, in strips along one of its dimensions, or at once."""
    written = call.writes[0]
    if not written.shape:
        return Lines(call.elements, call.elements, False)
    return Lines(call.elements, written.shape[-1], written.dims[-1] == position)


def repeated_share(track: Track, rows: int) -> float:
    """Which share of the work is done twice if tasks of so many rows share nothing."""
    work = sum(m.slope for m in track.members) + len(track.lasts)
    return sum(m.halo for m in track.members) / (work * rows)
