"""A group of calls strip by strip: what each of them computes, holds and reads while the last ones go ahead.

What the strips of a producer are to those of the last call is followed through the relations in between, from consumers
to producers. So the bytes that a group holds are linear in the height of the strips.

Invariant: a track knows nothing of machines.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import attrs

from slinky.sched.callbacks import TURNS
from slinky.sched.efforts import Effort
from slinky.sched.relations import Motion, Related, Strips

HEIGHTS = 8
"""How many heights of strips are looked at."""

FEW_PLANES = 64
"""Along an axis that is no longer than this the loop of a callback may go: colours, levels, offsets."""

OPERATIONS_OF_A_CALL = 16
"""How many operations take as long as a machine's call."""

MOST_ON_ALL = 10
"""How many operations of a callback count as going over all that it computes: of more, most compute numbers."""

DISPATCH = 8
"""How many operations take as long as slinky takes to call a callback."""

REDUCING = 4.0
"""For how many calls it counts to add a strip to what is known of a reduction: that goes step by step in Python."""


@attrs.frozen
class Lines:
    """How many times a callback begins a line of neighbours in memory, over all strips of a call.

    A line goes along the axis of what the call writes, or reads, that strips go along, and all axes after it, which lie
    together: a strip of rows is one, a strip of columns has one in each row. Where a window is kept, strips of columns
    lie one after the other in memory, so that neighbours in a row do not: only the axes after it lie together.
    """

    elements: float
    extent: float
    together: int
    is_cut: bool = attrs.field(init=False, eq=False)
    """Whether strips go along an axis that is not the first."""
    whole: float = attrs.field(init=False, eq=False)
    """How many there are if all is one strip."""

    @is_cut.default
    def _find_cut(self) -> bool:
        return self.elements != self.extent * self.together

    @whole.default
    def _count_whole(self) -> float:
        return self.count(math.inf)

    def count(self, rows: float) -> float:
        """How many lines there are, in strips of so many coordinates."""
        return self.elements / max(min(rows, self.extent) * self.together, 1.0)

    def of_window(self) -> Lines:
        """The lines where a window is kept along an axis that is not the first."""
        return attrs.evolve(self, extent=1) if self.is_cut else self


@attrs.frozen
class Work:
    """What a call goes over: the bytes that its callback's operations write, in all; how many of these go over all that
    it computes, and how many bytes these are; and the bytes that it reads and writes, some for each coordinate of a
    strip, some whatever the strip is."""

    operations: float
    on_all: int
    written: float
    moving: float
    still: float
    extent: int
    in_loops: bool = False
    """Whether that is done in loops of the back end's own, once."""
    block: float = math.inf
    """What is at hand at a time, however much is computed: for arithmetic that Python runs block by block."""
    effort: Effort | None = None
    """What the source of its callback tells, where that is known."""
    each_time: float = 0.0
    """The bytes of the other factor of a product of matrices, which is gone over again for each strip."""
    computed_again: float = 0.0
    """How long it computes what each strip has in common with the one before, told as efforts are."""

    @property
    def bytes(self) -> float:
        """What is read and written if all is computed once."""
        return self.still + self.moving * self.extent

    def at_once(self, rows: float) -> float:
        """What is read and written for so many coordinates."""
        return self.still + self.moving * min(rows, self.extent)


@attrs.define
class Member:
    """A producer in a group: along which of its dimensions it goes with the strips, and how.

    A strip of height h needs `slope*h + window` coordinates of it, of which `slope*h` are new. What it writes takes
    `row_bytes` for each. A strip that shares nothing with others must compute `halo` more than what is new. (It never
    changes; it is not frozen, as each group that is tried makes many.)
    """

    index: int
    position: int
    slope: float
    window: float
    halo: float
    row_bytes: float
    lines: Lines
    steps: float
    work: Work
    until: int
    """The last call that reads it."""

    def held(self, height: float) -> float:
        """The bytes of it that are held while a strip is computed."""
        return self.row_bytes * (self.slope * height + self.window)

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
    steps: float
    work: Work
    state: float
    """Where it is reduced, the bytes that each strip hands on to the next: as much as it writes."""


@attrs.define
class _Totals:
    """What all calls of a group add up to, so that another height, or one call more, is no walk over them. (It never
    changes, nor do spans and tracks; they are not frozen, as each group that is tried makes some.)"""

    last_bytes: float
    """What a coordinate takes of what the last calls write."""
    moving_bytes: float
    """What the producers hold for each coordinate of a strip."""
    window_bytes: float
    """What they hold whatever the height is."""
    slopes: float
    slowest: float
    """The least slope; 1 where there is no producer."""
    halos: float
    whole_lines: float
    """The lines that do not depend on the height."""
    cut_lines: tuple[tuple[Lines, float], ...]
    """Those that do, each with its slope."""
    steps: float
    """For how many calls all count that Python makes, but for those in loops of the back end's own."""
    loops: int
    """How many calls there are in these."""
    states: float
    """The bytes that reductions hand on."""

    def and_members(self, members: Sequence[Member]) -> _Totals:
        """These, and some producers more."""
        if not members:
            return self
        moving, window, slopes, halos = self.moving_bytes, self.window_bytes, self.slopes, self.halos
        lines, cut, slowest = self.whole_lines, list(self.cut_lines), self.slowest if slopes else math.inf
        for member in members:
            moving += member.row_bytes * member.slope
            window += member.row_bytes * member.window
            slopes += member.slope
            slowest = min(slowest, member.slope)
            halos += member.halo
            if member.lines.is_cut:
                cut.append((member.lines, member.slope))
            else:
                lines += member.lines.whole
        steps = self.steps + sum([member.steps for member in members])
        loops = self.loops + sum([member.work.in_loops for member in members])
        return _Totals(
            self.last_bytes, moving, window, slopes, slowest, halos, lines, tuple(cut), steps, loops, self.states
        )


@attrs.define
class Spans:
    """The calls of a track in program order: what each holds, and from where to where what it computes is needed."""

    held: tuple[tuple[float, float, float], ...]
    """The bytes of a coordinate, and how many coordinates are held: for each of a strip, and beside these."""
    ends: tuple[tuple[int, int], ...]
    """Of each member, where it stands in that order, and where the last call that reads it does."""

    def distances(self, height: int) -> list[float]:
        """Of each member, how many bytes are held of all that is computed until the last call that reads it."""
        sizes = [row_bytes * (slope * height + window) for row_bytes, slope, window in self.held]
        until = list(itertools.accumulate(sizes))
        return [until[end] - until[at] + sizes[at] for at, end in self.ends]


_Needs: TypeAlias = dict[str, tuple["_Need | None", ...]]
"""By buffer, what is needed of it; None for what does not move with the strips."""


@attrs.define
class Track:
    """A group, strip by strip along one dimension of its last calls, which have the same coordinates there."""

    lasts: tuple[Last, ...]
    members: tuple[Member, ...]
    _needs: _Needs = attrs.field(eq=False, repr=False)
    _totals: _Totals = attrs.field(eq=False, repr=False)

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
        totals = self._totals
        return totals.whole_lines + sum([lines.count(slope * height) for lines, slope in totals.cut_lines])

    def live(self, height: int) -> float:
        """The bytes that are held while strips of this height are computed."""
        totals = self._totals
        held = (totals.last_bytes + totals.moving_bytes) * height + totals.window_bytes
        return held + _STATES * totals.states

    @property
    def steps(self) -> float:
        """How many calls of Python's it takes to compute a strip: one that goes step by step counts for several."""
        return self._totals.steps

    @property
    def handovers(self) -> float:
        """Which share of these steps it is in which Python's lock is handed over: once an operation."""
        own = [(n.steps, n.work.effort) for n in self.lasts] + [(m.steps, m.work.effort) for m in self.members]
        told = [(steps, e.operations) for steps, e in own if e is not None and e.calls is not None and steps]
        once = sum([(DISPATCH + operations) / OPERATIONS_OF_A_CALL - steps for steps, operations in told])
        return 1 + once / self.steps if self.steps else 1.0

    @property
    def loops(self) -> int:
        """How many calls it takes of what runs in loops of the back end's own."""
        return self._totals.loops

    @property
    def states(self) -> float:
        """The bytes that each strip hands on to the next, of reductions."""
        return self._totals.states

    def spans(self) -> Spans:
        """What lies in memory between a member and the last call that reads it."""
        held = [(member.index, (member.row_bytes, member.slope, member.window)) for member in self.members]
        held += [(last.index, (last.row_bytes, 1.0, 0.0)) for last in self.lasts]
        held.sort()
        at = {index: k for k, (index, _) in enumerate(held)}
        ends = tuple([(at[member.index], at[member.until]) for member in self.members])
        return Spans(tuple([linear for _, linear in held]), ends)

    @property
    def slowest(self) -> float:
        """How far the producer that goes slowest goes ahead with one coordinate of the last calls."""
        return self._totals.slowest

    def reach(self) -> float:
        """How many coordinates the windows of producers span in all, where many are kept."""
        if sum([member.keeps for member in self.members]) < _MANY_WINDOWS:
            return 0.0
        return max([member.halo for member in self.members])

    def repeated_share(self, rows: int) -> float:
        """Which share of the work is done twice if tasks of so many rows share nothing."""
        totals = self._totals
        return totals.halos / ((totals.slopes + len(self.lasts)) * rows)

    def extended(self, calls: tuple[Related, ...], more: Iterable[int]) -> Track | None:
        """A track with further calls, given by index, each read by those before it alone; None where one does not move
        with it."""
        needs, added = dict(self._needs), list[Member]()
        for i in more:
            member = _member(calls[i], i, needs)
            if member is None:
                return None
            added.append(member)
        return Track(self.lasts, (*self.members, *added), needs, self._totals.and_members(added))


def track_of(lasts: tuple[Last, ...]) -> Track:
    """A track without members."""
    needs: _Needs = {}
    size, steps, states = (sum(each) for each in zip(*[(n.row_bytes, n.steps, n.state) for n in lasts], strict=True))
    loops = sum([last.work.in_loops for last in lasts])
    whole = sum([last.lines.whole for last in lasts if not last.lines.is_cut])
    cut = tuple([(last.lines, 1.0) for last in lasts if last.lines.is_cut])
    for last in lasts:
        _note_reads(last.strips, _Need(last.index, 0, 1.0, 0.0, 0.0, 0.0), needs)
    return Track(lasts, (), needs, _Totals(size, 0.0, 0.0, 0.0, 1.0, 0.0, whole, cut, steps, loops, states))


def last_of(call: Related, i: int, strips: Strips) -> Last:
    """A call as one that a group is there for, in strips."""
    if strips.position is not None:
        alone = _alone(call, strips.position)
        assert alone is not None
        return Last(i, strips, alone.row_bytes, alone.lines, alone.steps, alone.work, 0.0)
    if call.in_loops:  # what adds a piece to what is known is a callback
        call = attrs.evolve(call, in_loops=False)
    steps, state = steps_of(call, None) + REDUCING, float(sum(w.bytes for w in call.writes))
    return Last(i, strips, 0.0, lines_of(call, None), steps, work_of(call, strips), state)


def height_of_tasks(track: Track) -> int:
    """How high strips are at least of which tasks have several: where many windows are kept, as high as these span, for
    it takes long to show that lower ones slide there, if it is shown at all; else 1."""
    reach = track.reach()
    unit = _unit(track)
    return unit << max(math.ceil(math.log2(reach / unit)), 0) if reach else 1


def heights_of(track: Track, most_live: float) -> tuple[int, ...]:
    """The heights of strips worth looking at: the largest that holds at most so many bytes, half of it, and so on. They
    are whole multiples where the last calls compute no others, and such that doubled rows come in pairs.

    Where windows of coarser rows are kept, each strip has two of the coarsest, if that fits: it takes long to show that
    single ones slide, if it is shown at all."""
    return heights_within(track, most_live, track.live)


def heights_within(track: Track, most_live: float, live: Callable[[int], float]) -> tuple[int, ...]:
    """The same where strips hold as much as is said, which is linear in their height."""
    unit = _unit(track)
    constant = live(0)
    each = live(1) - constant
    fitting = max(most_live - constant, 0.0) / each if each else math.inf
    most = int(min(track.strips.extent // 2, max(fitting, unit))) // unit
    if most < 1:
        return (unit,) if unit < track.strips.extent else ()
    largest = most.bit_length() - 1
    is_coarse = unit > 1 and any(member.keeps and member.slope * unit <= 1 for member in track.members)
    return tuple(unit << k for k in range(max(largest - HEIGHTS + 1, min(is_coarse, largest)), largest + 1))


def _unit(track: Track) -> int:
    """What the height of strips is a multiple of."""
    slowest = track.slowest
    doubled = 1 if slowest >= 1 else 1 << max(math.ceil(-math.log2(slowest)), 0)
    return math.lcm(*[last.strips.multiple for last in track.lasts], doubled)


def _member(call: Related, i: int, needs: _Needs) -> Member | None:
    """A call as a member, all of whose readers are: what it needs itself is noted. None where it does not move with
    them.

    The strip `y .. y + h - 1` needs what lies between `slope*y + low` and `slope*(y + h - 1) + high` along an axis of a
    buffer; what is new of that begins at `slope*y + fresh`. What a producer reads is for what it computes anew.
    """
    position, first = -1, None
    for written in call.writes:
        for need in needs.get(written.buffer, ()):
            if need is None or (first and (written.dims[need.axis], need.slope) != (position, first.slope)):
                return None
            if first is None:
                first, position = need, written.dims[need.axis]
                slope, low, high, far, until = need.slope, need.low, need.high, need.far, need.reader
            else:
                low, high, far = min(low, need.low), max(high, need.high), min(far, need.far)
                until = max(until, need.reader)
    alone = None if first is None else _alone(call, position)
    if first is not None and slope > 0 and alone is None and _is_edge(call, position):
        return _edge(call, i, position, until)
    if alone is None or slope <= 0:
        return None
    window, halo = max(high - low + 1 - slope, 0.0), max(high - far + 1 - slope, 0.0)
    lines = alone.window_lines if window >= _OVERLAP else alone.lines
    member = Member(i, position, slope, window, halo, alone.row_bytes, lines, alone.steps, alone.work, until)
    fresh = high + 1 - slope if member.keeps else low
    _note_reads(alone.strips, _Need(i, 0, slope, fresh, high, far), needs)
    return member


def _is_edge(call: Related, position: int) -> bool:
    """Whether a call computes but one place along a dimension: others compute the rest of what it writes."""
    extents = [w.shape[axis] for w in call.writes for axis, dim in enumerate(w.dims) if dim == position]
    return extents == [1] and position not in call.wholes


def _edge(call: Related, i: int, position: int, until: int) -> Member:
    """Such a call as a member, which does something in one strip alone. What it reads is near what the others read that
    compute the rest: nothing more is needed for it."""
    lines, work = Lines(call.elements, 1, call.elements), work_of(call, None)
    return Member(i, position, 1.0, 0.0, 0.0, 0.0, lines, steps_of(call, None), work, until)


@attrs.frozen
class _Alone:
    """What a call is in strips along one of its dimensions, whatever else is in the group."""

    strips: Strips
    row_bytes: float
    lines: Lines
    window_lines: Lines
    steps: float
    work: Work


def _alone(call: Related, position: int) -> _Alone | None:
    """The same, found out once; None where it cannot be taken strip by strip along that."""
    if position in call.remembered:
        known: _Alone | None = call.remembered[position]
        return known
    strips = next((s for s in call.strips if s.position == position), None)
    found = None
    if strips is not None:
        lines, steps = lines_of(call, position), steps_of(call, position)
        window_lines = _lines_written(call, position).of_window()
        found = _Alone(strips, row_bytes_of(call, strips), lines, window_lines, steps, work_of(call, strips))
    call.remembered[position] = found
    return found


def _note_reads(strips: Strips, own: _Need, needs: _Needs) -> None:
    """Note what a strip reads of a call of which that is computed."""
    for buffer, motion in strips.reads:
        needs[buffer] = (*needs.get(buffer, ()), None if motion is None else own.through(motion))


@attrs.define
class _Need:
    """What a strip of the last call needs along an axis; `far` is where that begins if no strip is left to others.

    `reader` is the call that reads it. (It never changes; it is not frozen, as each group that is tried makes many.)
    """

    reader: int
    axis: int
    slope: float
    low: float
    high: float
    far: float

    def through(self, motion: Motion) -> _Need:
        """What must be read for that."""
        rate, first = motion.rate, motion.first
        low, high, far = rate * self.low + first, rate * self.high + motion.last, rate * self.far + first
        return _Need(self.reader, motion.axis, rate * self.slope, low, high, far)


PACKED = 3
"""How often a product of matrices goes over the factor that it reads whole: it is written in another order, too."""

_STATES = 2
"""How many states a reduction holds: the one before, and the one after a strip."""

_MANY_WINDOWS = 6
"""So many windows that a group keeps are many."""

_OVERLAP = 0.25
"""Of how many coordinates neighbouring strips must both have need, so that a window is kept: less is rounding."""


def row_bytes_of(call: Related, strips: Strips) -> float:
    """What one coordinate along a dimension takes of all that a call writes; what is reduced takes no more."""
    if strips.is_reduced:
        return 0.0
    size = sum(w.bytes for w in call.writes)
    return size / max(strips.extent, 1)


def work_of(call: Related, strips: Strips | None) -> Work:
    """What a call goes over, in strips along one of its dimensions, or at once."""
    size = sum(w.bytes for w in call.writes)
    operations = float(size * call.operations.over_all), min(call.operations.once, MOST_ON_ALL), float(size)
    if strips is None:
        still = float(size + sum(size for _, size in call.reads))
        return Work(*operations, 0.0, still, 1, call.in_loops, call.block, call.effort)
    moving, still, each_time = (0, size, 0) if strips.is_reduced else (size, 0, 0)
    for (_, motion), (_, size) in zip(strips.reads, call.reads, strict=True):
        if motion is None:
            still, each_time = still + size, each_time + size
        else:
            moving += size
    each_time *= PACKED if call.has_threads else 0
    moves = moving / strips.extent, float(still), strips.extent
    effort = _effort_in(call, strips)
    again = _computed_again(call, strips, effort)
    return Work(*operations, *moves, call.in_loops, call.block, effort, float(each_time), again)


def _effort_in(call: Related, strips: Strips) -> Effort | None:
    """What the callback of a call does, in strips."""
    if call.effort is None or not strips.reads:
        return call.effort
    _, motion = strips.reads[0]
    return call.effort.along(None if motion is None else motion.axis)


def _computed_again(call: Related, strips: Strips, effort: Effort | None) -> float:
    """How long a call computes the halo of a strip, where it computes all that it is given."""
    if call.in_loops or effort is None or not effort.each:
        return 0.0
    (_, motion), shape = strips.reads[0], call.shapes[0]
    if motion is None:
        return effort.computed
    return effort.each * math.prod(shape) / shape[motion.axis] * max(motion.last - motion.first, 0.0)


def lines_of(call: Related, position: int | None) -> Lines:
    """The lines that a call begins, in strips along one of its dimensions, or at once: in what it reads, where these
    are far more than in what it writes, as where it adds up columns, or turns its input."""
    lines = _lines_written(call, position)
    for strips in call.strips:
        if strips.position == position is not None:
            for shape, (_, motion) in zip(call.shapes, strips.reads, strict=True):
                if motion is not None:
                    rate, axis = abs(motion.rate), motion.axis
                    read = Lines(math.prod(shape) / rate, shape[axis] / rate, math.prod(shape[axis + 1 :]))
                    lines = read if read.count(1) >= _FAR_MORE * lines.count(1) else lines
    return lines


def _lines_written(call: Related, position: int | None) -> Lines:
    """Those in what it writes."""
    written = call.writes[0]
    if position not in written.dims:
        return Lines(call.elements, 1, call.elements)
    axis = written.dims.index(position)
    return Lines(call.elements, written.shape[axis], math.prod(written.shape[axis + 1 :]))


_FAR_MORE = 2
"""How many times as many."""


def steps_of(call: Related, position: int | None) -> float:
    """For how many calls of Python's one counts, in strips along one of its dimensions, or at once.

    If its callback has loops, these may go along a dimension that it computes whole, or plane by plane along one that
    lies around the strips.
    """
    if call.in_loops:
        return 0.0
    if call.effort is not None and call.effort.calls is not None:
        return (DISPATCH + call.effort.calls) / OPERATIONS_OF_A_CALL
    planes = _planes(call, position)
    return (DISPATCH + call.operations.count(max(TURNS, planes, call.whole))) / OPERATIONS_OF_A_CALL


def _planes(call: Related, position: int | None) -> int:
    """Of how many planes what a call writes consists, around strips along one of its dimensions."""
    written = call.writes[0]
    around = written.shape[: written.dims.index(position)] if position in written.dims else ()
    return math.prod(n for n in around if n <= FEW_PLANES)
