"""How long a group of calls takes on a machine, in strips of each height: what callbacks do, what calls cost, and what
goes through the levels of memory.

The operations of a callback take as long as on what lies near. Besides, all that it reads and writes has to come: once
from where it lies, be that memory, or what a call before has left; and then again, as often as a callback goes over its
data in slices and temporaries, from a level that has room for all that it works on in one go. So strips are faster than
the whole even where nothing is held for others. How often that is, and on how much, its source tells (`efforts`); of
what has none it is thought to be twice, or as often as it has operations.

What a back end runs in loops of its own goes over everything once, and keeps what is on the way in registers. Where all
calls of a group do, these loops are one function, whose calls cost next to nothing; where Python makes one of the
calls, it makes the others, too.

Invariant: nothing here knows which calls may be together; times are sums over calls, linear in what the machine says.
"""

from __future__ import annotations

import math
import sys

import attrs

from slinky.sched.machines import Machine
from slinky.sched.nests import Nest, Share
from slinky.sched.tracks import DISPATCH, OPERATIONS_OF_A_CALL, Spans, Track, Work

PASSES = 2.0
"""How often a NumPy callback goes over all that it reads and writes, in slices and temporaries, once that is near."""

OPERATION_PASSES = 1.25
"""How often each of its operations goes over as much as it writes, where these are so many that this is more."""

TEMPORARIES = 2
"""How many times the bytes that calls read and write these work on: their callbacks make more, of their own."""

OPERATIONS_OF_A_TEMPORARY = 4
"""How many operations make one more of these."""

ROOM = 2
"""How many times the bytes that are at hand a level must have room for: what goes by once takes a place there, too."""

LINES_PER_CALL = 100
"""How many lines NumPy begins in the time of a call: what makes strips of columns dearer than strips of rows."""

LINES_PER_LOOP_CALL = 2
"""The same of C, where a call has little else to do."""

HANDOVER = 8.0
"""How many operations on no data take as long as to hand Python's lock over to another thread, and to get it back."""

_DISPATCHED = DISPATCH / OPERATIONS_OF_A_CALL
"""For how many calls one counts that Python makes of a loop of the back end's own."""


def has_one_lock() -> bool:
    """Whether one thread at a time runs Python."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


@attrs.define
class Flow:
    """What goes through the memory of a group, whatever the height of its strips is. (It never changes; it is not
    frozen, as each group that is tried makes some.)"""

    extent: int
    states: float
    moved: tuple[tuple[float, float, bool], ...]
    """Of each member, the bytes that are new over all strips, what each strip reads again of the one before, and
    whether loops of the back end's own do so."""
    works: tuple[tuple[float, float, float, Work, float, float], ...]
    """Of each pass of a call that Python makes, the bytes that it goes over, those that go by as it computes, how many
    times what the call reads and writes it works on, what that is, and how many coordinates: for each of a strip, and
    beside these."""
    each_time: tuple[float, ...]
    """The bytes that calls read again for each strip, whatever it is."""
    computed_again: float
    """How long calls compute what strips have in common, for each of them."""
    has_loops: bool
    """Whether loops of the back end's own do any of it."""
    spans: Spans


def again_of(work: Work) -> tuple[tuple[float, float, float], ...]:
    """The passes of a callback: the bytes that each goes over, how many of these go by while it computes on what is
    near, and how many times what the call reads and writes it works on.

    What is read and written has to come once in any case.
    """
    if work.effort is not None:
        size = max(work.bytes, 1.0)
        streams = work.effort.streams
        again = max(1 - size / max(sum([stream.moved for stream in streams]), 1.0), 0.0)
        return tuple([(again * each.moved, again * each.moved, ROOM * each.at_hand / size) for each in streams])
    passes = max(PASSES * work.bytes, OPERATION_PASSES * work.on_all * work.written)
    return ((passes, 0.0, max(TEMPORARIES, 1 + work.on_all / OPERATIONS_OF_A_TEMPORARY)),)


def flow_of(track: Track) -> Flow:
    """That of a track."""
    extent = track.strips.extent
    moved = [(m.row_bytes * m.slope * extent, m.row_bytes * m.window, m.work.in_loops) for m in track.members]
    works = [(*each, n.work, 1.0, 0.0) for n in track.lasts if not n.work.in_loops for each in again_of(n.work)]
    for m in track.members:
        if not m.work.in_loops:
            works += [(*each, m.work, m.slope, m.window) for each in again_of(m.work)]
    has_loops = any(is_in_loops for _, _, is_in_loops in moved)
    own = [each.work for each in track.lasts] + [each.work for each in track.members]
    again = tuple([work.each_time for work in own if work.each_time])
    computed = sum([work.computed_again for work in own])
    return Flow(extent, track.states, tuple(moved), tuple(works), again, computed, has_loops, track.spans())


@attrs.frozen
class Costs:
    """What things take on a machine, in seconds."""

    machine: Machine
    _bandwidths: dict[float, float] = attrs.field(factory=dict, init=False, eq=False, repr=False)
    """Bytes a second where so many are worked on, as far as it was asked for."""

    def bandwidth(self, live: float) -> float:
        """The machine's, found once for each size."""
        found = self._bandwidths.get(live)
        if found is None:
            found = self._bandwidths[live] = self.machine.bandwidth(live)
        return found

    def calls(self, strips: float, steps: float, loops: int) -> float:
        """So many strips, but for the data: the calls of each that Python makes, and those of loops in C."""
        machine = self.machine
        if loops and not steps:
            return _DISPATCHED * machine.call_seconds + strips * loops * machine.loop_call_seconds
        return strips * (steps + loops * _DISPATCHED) * machine.call_seconds

    def handed_over(self, strips: float, steps: float, loops: int) -> float:
        """What the calls of so many strips take longer on several threads: Python goes on in one of them at a time, and
        each of NumPy's operations waits for its turn."""
        if not steps or not has_one_lock():
            return 0.0
        return HANDOVER * strips * (steps + loops * _DISPATCHED) * self.machine.call_seconds

    def lines(self, count: float, steps: float) -> float:
        """To begin so many lines: in each pass of a callback, for NumPy's loops are inside of lines; in C, where Python
        makes none of the calls."""
        if not steps:
            return count * self.machine.loop_call_seconds / LINES_PER_LOOP_CALL
        return PASSES * count * self.machine.call_seconds / LINES_PER_CALL

    def operations(self, work: Work) -> float:
        """The operations of a call, on what is near."""
        machine = self.machine
        if work.effort is not None and not work.in_loops:
            return work.effort.computed / machine.near_bandwidth
        return work.operations / (machine.loop_operations if work.in_loops else machine.near_bandwidth)

    def again(self, work: Work, at_once: float) -> float:
        """To go over what a call reads and writes, so many bytes in one go, once these are near."""
        if work.in_loops:
            return 0.0
        near, seconds = self.machine.near_bandwidth, 0.0
        for passes, hidden, times in again_of(work):
            taken = passes / self.machine.bandwidth(min(times * at_once, work.block))
            seconds += max(taken - hidden / near, 0.0)
        return seconds

    def most_live(self, track: Track) -> int:
        """How many bytes strips hold at most: where calls cost nothing, none need be larger than the nearer cache."""
        return self.machine.most_live if track.steps else self.machine.near_bytes

    def inside(self, flow: Flow, height: int, live: float) -> float:
        """To write and to read what is held inside of a group, to go over it, and to hand on what is reduced.

        What is written takes the place of what the strip before has left, and windows reach back to that: all that is
        live has been touched since. What is new is read when only the calls in between have computed something.
        """
        machine, known = self.machine, self._bandwidths
        bandwidth, near_bytes, near_bandwidth = self.bandwidth(live), machine.near_bytes, machine.near_bandwidth
        in_loops = machine.bandwidth_of_loops(live) if flow.has_loops else math.nan
        strips = -(-flow.extent // height)
        seconds = 2 * PASSES * strips * flow.states / bandwidth
        seconds += (strips - 1) * sum([size / self.bandwidth(size) for size in flow.each_time])
        seconds += (strips - 1) * flow.computed_again / near_bandwidth
        for (new, window, is_in_loops), distance in zip(flow.moved, flow.spans.distances(height), strict=True):
            if is_in_loops:
                seconds += (new + window * strips) / in_loops + new / machine.bandwidth_of_loops(distance)
                continue
            touched = TEMPORARIES * distance
            seconds += (new + window * strips) / bandwidth
            if touched <= near_bytes:
                seconds += new / near_bandwidth
            else:
                seconds += new / (known.get(touched) or self.bandwidth(touched))
        for passes, hidden, times, work, slope, window in flow.works:
            rows = slope * height + window
            touched = times * (work.still + work.moving * (rows if rows < work.extent else work.extent))
            if touched > work.block:
                touched = work.block
            if touched <= near_bytes:
                taken = passes / near_bandwidth
            else:
                taken = passes / (known.get(touched) or self.bandwidth(touched))
            if taken > (covered := hidden / near_bandwidth):
                seconds += taken - covered
        return seconds

    def least_inside(self, flow: Flow) -> float:
        """What that takes at least, in strips of any height: all of it at the speed of the fastest level."""
        machine = self.machine
        fastest = max(machine.near_bandwidth, machine.shared_bandwidth, machine.memory_bandwidth)
        if flow.has_loops:
            fastest = max(fastest, machine.loop_bandwidth)
        moved = sum([new for new, _, _ in flow.moved])
        return (2 * moved + sum([max(passes - hidden, 0.0) for passes, hidden, *_ in flow.works])) / fastest

    def nested(self, track: Track, nest: Nest, height: int, piece: int) -> float:
        """The same where a reduction is taken to pieces in the strips."""
        strips, live = -(-track.strips.extent // height), nest.live(track, height, piece)
        seconds = PASSES * strips * nest.count(piece) * nest.states(height) / self.machine.bandwidth(live)
        seconds += sum(self.again(last.work, last.work.at_once(height)) for last in track.lasts)
        own = [each.work for each in track.lasts] + [each.work for each in track.members]
        seconds += (strips - 1) * sum([work.computed_again for work in own]) / self.machine.near_bandwidth
        for share in nest.shares(track, height, piece):
            seconds += self._share(share, track.strips.extent, live)
        return seconds

    def _share(self, share: Share, extent: int, live: float) -> float:
        """To compute something in strips and pieces, to write it and to read it; operations count where they are done
        once more."""
        member = share.member
        new = member.row_bytes * member.slope * extent
        seconds = self.again(member.work, share.at_once) + new / self.machine.bandwidth(live)
        seconds += new / self.machine.bandwidth(TEMPORARIES * share.distance)
        return share.times * seconds + (share.times - 1) * self.operations(member.work)
