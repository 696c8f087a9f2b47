"""How a group of calls is run best: along which dimension, in strips of which height, in how many tasks.

What the strips of a group hold is linear in their height (`tracks`), and what they take is a formula (`costs`). So a
few heights are looked at along each dimension, and of what takes about as long as the best, the one that holds least is
taken: memory is worth some seconds, too. A reduction in a group may be taken to pieces in the strips (`nests`), and
several workers get the strips in tasks.

Invariant: a choice depends on the calls of the group, on who reads and writes what they write, and on what is aimed at;
not on what other groups there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set
from functools import partial

import attrs

from slinky.sched.costs import Costs, flow_of
from slinky.sched.machines import Machine
from slinky.sched.nests import Nest, nests_of
from slinky.sched.relations import Related
from slinky.sched.tracks import Track, Work, height_of_tasks, heights_of, heights_within, steps_of, work_of

ABOUT_AS_GOOD = 1.02
"""Of heights that are about as good, the one that holds least is taken."""

MEMORY_WORTH = 12.0
"""How often a byte that need not be held could be written to memory in the time that this is worth. Seconds are not
all: of schedules that take about as long, the one that holds less is the better one."""

MOST_REPEATED = 0.05
"""Which share of the work may be done twice so that strips are independent."""

TASKS_PER_WORKER = 2
"""How many tasks a worker gets, so that none waits long for the others: or one, where there is less to do."""

LEAST_TASK_SECONDS = 2e-4
"""What a worker must have to do in one go, so that it is worth being told."""

ONE_ROW = 1.05
"""How many times as long loops in C take, at least, whose stencils compute one row in each strip: of two, they fetch
what both need once. Harris corners took so much longer, a 9x9 blur 1.14 times as long, three stencils 1.19."""

_SURELY = 1 + 1e-9
"""By how much one time must be above another, so that it is so however they were rounded."""


@attrs.define
class Choice:
    """How a group is run, along which dimension and in strips of which height, in how many tasks of how many rows; and
    what that takes by the model. (It never changes; it is not frozen, as of many one is taken.)"""

    track: Track | None
    height: int
    tasks: int
    seconds: float
    live: float
    value: float
    """The seconds that it takes, and those that the memory is worth that it holds."""
    rows: int = 0
    nest: Nest | None = None
    piece: int = 0
    """What is taken to pieces in the strips, and how long these are."""

    @property
    def is_whole(self) -> bool:
        """Whether the call runs at once, as it is."""
        return self.track is None


@attrs.frozen(kw_only=True)
class Aims:
    """What a schedule is made for: a machine, how many workers, and whether memory comes before time."""

    machine: Machine
    workers: int = 1
    spare_memory: bool = False
    most_live: float = math.inf
    """What a group may hold at most, as far as its strips can be made lower."""
    memory_share: float = 1.0
    """Of what memory is worth, the share that counts."""
    backend: str = "python"
    """What it runs by."""

    @property
    def is_bounded(self) -> bool:
        """Whether the memory that is held matters more than time."""
        return self.spare_memory or self.most_live < math.inf


@attrs.frozen(eq=False)
class Choices:
    """How calls of a program are run best, when some of them are together. `readers` has of each call those that read
    what it writes, `beside` those that write to the same buffers. (What is known of each call goes along when it turns
    out that others read it.)"""

    calls: Sequence[Related]
    readers: Sequence[Set[int]]
    beside: Sequence[Set[int]]
    aims: Aims
    costs: Costs
    works: Sequence[Work] = attrs.field()
    """What each call does if it runs at once."""
    operating: Sequence[float] = attrs.field()
    """How long the operations of each call take on what is near."""
    reducing: frozenset[int] = attrs.field()
    """The calls with a dimension that they reduce, along which they may be taken to pieces."""
    far: frozenset[int] = attrs.field()
    """The calls that compute longer unless they are in strips along some axis."""

    @works.default
    def _find_works(self) -> list[Work]:
        return [work_of(call, None) for call in self.calls]

    @operating.default
    def _find_operating(self) -> list[float]:
        return list(map(self.costs.operations, self.works))

    @reducing.default
    def _find_reducing(self) -> frozenset[int]:
        return frozenset(i for i, call in enumerate(self.calls) if any(s.is_reduced for s in call.strips))

    @far.default
    def _find_far(self) -> frozenset[int]:
        return frozenset(i for i, call in enumerate(self.calls) if call.effort is not None and call.effort.more_at_once)

    def best(self, lasts: tuple[int, ...], members: tuple[int, ...], tracks: tuple[Track, ...]) -> Choice | None:
        """The best way to run last calls with others along one of some tracks; None if there is none. A call alone may
        run at once."""
        choices = [] if members else [self._choice(None, 0, 1, self.unscheduled(lasts[0]), 0.0, 0)]
        fixed = self._fixed((*lasts, *members))
        for track in tracks:
            in_strips = fixed + self._more_in_strips(track)
            choices += self._along(track, in_strips, self._least(choices))
            if self.reducing and not self.reducing.isdisjoint(track.calls):
                for nest in nests_of(track, self.calls, self.readers):
                    choices += self._nested(track, nest, in_strips, self._least(choices))
        most = self.aims.most_live
        small = self._worth_telling([choice for choice in choices if choice.live <= most])
        if small:
            about_as_good = ABOUT_AS_GOOD * min([choice.value for choice in small])
            choices = [choice for choice in small if choice.value <= about_as_good]
        return min(choices, key=lambda choice: (choice.live, choice.seconds), default=None)

    def unscheduled(self, i: int) -> float:
        """How long a call takes that runs at once."""
        steps = steps_of(self.calls[i], None)
        calls = self.costs.calls(1, steps, self.works[i].in_loops) + self.costs.lines(1, steps)
        return self._fixed((i,)) + self.costs.again(self.works[i], self.works[i].bytes) + calls

    def _choice(self, track: Track | None, height: int, tasks: int, seconds: float, live: float, rows: int) -> Choice:
        """A choice, and what it is worth."""
        return Choice(track, height, tasks, seconds, live, seconds + self.worth(live), rows)

    def worth(self, size: float) -> float:
        """How many seconds it is worth that so much memory need not be held."""
        machine = self.aims.machine
        more = size - machine.near_bytes
        return self.aims.memory_share * MEMORY_WORTH * more / machine.memory_bandwidth if more > 0 else 0.0

    def _worth_telling(self, choices: list[Choice]) -> list[Choice]:
        """Those of one worker, and those of several whose tasks are large enough: also had they no more to do than all
        takes in the best way of one worker. (Strips that take long would be worth it for that alone.)"""
        alone = min([choice.seconds for choice in choices if choice.tasks == 1], default=math.inf)
        return [choice for choice in choices if choice.tasks == 1 or alone / choice.tasks >= LEAST_TASK_SECONDS]

    def _least(self, choices: Iterable[Choice]) -> float:
        """The seconds of the best of some choices, of those that hold no more than they may."""
        most = self.aims.most_live
        return min([choice.value for choice in choices if choice.live <= most], default=math.inf)

    def _along(self, track: Track, fixed: float, least: float) -> list[Choice]:
        """A group along one dimension: in strips of each height, one after the other and by several workers.

        `fixed` is how long it takes whatever the strips are, `least` what is reached already. Lower strips are more
        calls and lines: where these, with what anything takes in memory, take longer, no lower strips are looked at.
        """
        extent, workers = track.strips.extent, self.aims.workers
        is_shared = self._may_be_shared(track)
        if not track.members and not is_shared:
            return []
        flow, found = None, list[Choice]()
        steps, loops, fixed_in_all = track.steps, track.loops, fixed
        handovers = steps * track.handovers if is_shared else 0.0
        heights = heights_of(track, min(self.costs.most_live(track), self.aims.most_live))
        of_tasks = height_of_tasks(track) if workers > 1 else 1
        if heights and heights[-1] < of_tasks <= extent // workers and track.live(of_tasks) <= self.aims.most_live:
            heights = (*heights, of_tasks)
        for height in reversed(heights):
            calls = self.costs.calls(-(-extent // height), steps, loops)
            lines = self.costs.lines(track.lines(height), steps)
            most = _SURELY * ABOUT_AS_GOOD * workers * least
            if fixed_in_all + calls + lines > most:
                break
            if flow is None:  # along most dimensions calls and lines alone take too long
                flow = flow_of(track)
                fixed_in_all = fixed + self.costs.least_inside(flow)
                if fixed_in_all + calls + lines > most:
                    break
            live = track.live(height)
            seconds = fixed + calls + lines + self.costs.inside(flow, height, live)
            if height == 1 and not steps and any(member.window for member in track.members):
                seconds *= ONE_ROW
            own = [self._choice(track, height, 1, seconds, live, 0)] if track.members else []
            if is_shared:
                handed = self.costs.handed_over(-(-extent // height), handovers, loops)
                own += self._parallel(track, height, seconds, live, handed, of_tasks)
            if own:
                least = min(least, self._least(own))
                found += reversed(own)
        return found[::-1]

    def _nested(self, track: Track, nest: Nest, fixed: float, least: float) -> list[Choice]:
        """A group in which a reduction is taken to pieces in the strips: in strips of each height, and pieces of each
        length. More pieces are more calls, as lower strips are, and then no more are looked at (see `_along`)."""
        machine, extent, loops = self.aims.machine, track.strips.extent, track.loops
        is_shared, found = self._may_be_shared(track), list[Choice]()
        handovers = track.handovers if is_shared else 0.0
        for piece in nest.pieces():
            live, steps = partial(nest.live, track, piece=piece), nest.steps(track, piece)
            most = _SURELY * ABOUT_AS_GOOD * self.aims.workers * least
            if fixed + self.costs.calls(1, steps, loops) > most:
                break
            for height in heights_within(track, min(machine.most_live, self.aims.most_live), live):
                seconds = fixed + self.costs.calls(-(-extent // height), steps, loops)
                seconds += self.costs.lines(track.lines(height), steps)
                if seconds > most:
                    continue
                held = live(height)
                seconds += self.costs.nested(track, nest, height, piece)
                own = [self._choice(track, height, 1, seconds, held, 0)]
                if is_shared:
                    handed = self.costs.handed_over(-(-extent // height), steps * handovers, loops)
                    own += self._parallel(track, height, seconds, held, handed)
                for each in own:
                    each.nest, each.piece = nest, piece
                least = min(least, self._least(own))
                found += own
        return found

    def _may_be_shared(self, track: Track) -> bool:
        """Whether several workers may take the strips of a group: not what is added up from one to the next, nor what
        runs on all cores by itself."""
        if self.aims.workers < 2 or track.strips.is_reduced:
            return False
        return self.aims.machine.product_threads < 2 or not any(self.calls[i].has_threads for i in track.calls)

    def _parallel(
        self, track: Track, height: int, seconds: float, live: float, handed: float, least: int = 1
    ) -> list[Choice]:
        """The same by several workers, which may share it, where there is enough to do for each, and little is done
        twice: one, or none. Then it takes as long as one waits for the others, besides. Of several strips, each is at
        `least` so high."""
        workers, extent = self.aims.workers, track.strips.extent
        for most in (TASKS_PER_WORKER * workers, workers):
            rows = _up(_up(extent, most) // most, height)
            tasks = -(-extent // rows)
            if tasks >= workers and seconds / tasks >= LEAST_TASK_SECONDS:
                break
        else:
            return []
        if height < least and height < rows:
            return []
        repeated = track.repeated_share(rows)
        if repeated > MOST_REPEATED:
            return []
        rounds = -(-tasks // workers)
        shared = (seconds * rounds / tasks + handed) * (1 + repeated)
        return [self._choice(track, height, tasks, shared, live * workers, rows)]

    def _fixed(self, calls: tuple[int, ...]) -> float:
        """How long the operations of calls take on what is near, and to have it there."""
        return sum([self.operating[i] for i in calls]) + self._outside(calls)

    def _more_in_strips(self, track: Track) -> float:
        """How much longer calls compute in strips; it may be less than nothing."""
        if not self.far or self.far.isdisjoint(track.calls):
            return 0.0
        works = [(last.index, last.work) for last in track.lasts]
        works += [(member.index, member.work) for member in track.members]
        return sum([self.costs.operations(work) - self.operating[i] for i, work in works if i in self.far])

    def _outside(self, calls: tuple[int, ...]) -> float:
        """How long it takes to read what others have computed, and to write what others read.

        What several of the calls read comes from memory once.
        """
        ours, inside = set(calls), {w.buffer for i in calls for w in self.calls[i].writes}
        sizes: dict[object, int] = {}
        for i in calls:
            for buffer, size in self.calls[i].reads:
                if buffer not in inside:
                    sizes[buffer] = max(size, sizes.get(buffer, 0))
            if not self.readers[i] or not self.readers[i] <= ours:
                several = self.beside[i]
                sizes.update(((w.buffer, i) if several else w.buffer, w.bytes) for w in self.calls[i].writes)
        return sum([size / self.costs.bandwidth(2 * size) for size in sizes.values()])


def _up(value: int, multiple: int) -> int:
    """The smallest multiple that is at least a value."""
    return -(-value // multiple) * multiple
