"""Which calls are worth being computed together, strip by strip: decided with numbers.

A *group* is a call, its last one, with producers that nobody else reads, taken strip by strip along one of its
dimensions. Of a producer that several read, one of which needs another, all on the way is in the group, too. Each
producer then keeps the window that the next strip needs. Two outputs that read the same may both be last, where they
have the same coordinates. Calls that write parts of one buffer come together: as long as one of them writes to all of
it at once, it is there in full. How high the strips of a group are, and what it takes, `choices` says.

Groups grow greedily. At first every call is one. The edge that saves most is merged as long as one saves anything: what
the intermediate costs on its way to memory and back, less the calls that smaller pieces take, less what the group no
longer fits the cache. The edges wait in a queue by what they save, so time is proportional to the graph, but for the
logarithm.

The idea follows the grouping of PolyMage (Mullapudi, Vasista and Bondhugula 2015) and Halide's autoscheduler of 2016,
with line buffers in place of overlapping tiles.

Invariant: the same relations, machine and limits give the same groups in every process.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import TypeAlias

import attrs

from slinky.sched.choices import Aims, Choice, Choices
from slinky.sched.costs import Costs
from slinky.sched.explaining import Why, seconds_text
from slinky.sched.relations import Relations, Strips, is_read_by
from slinky.sched.tracks import Track, last_of, track_of

MOST_MEMBERS = 64
"""How large a group grows: what a rewrite costs grows with the loop that it changes."""

FEW_CALLS = 8
"""Of so many calls all groupings are looked at, and none is missed that gets better only after it got worse."""


@attrs.frozen(eq=False)
class Group:
    """The last calls, in program order, with the producers that are computed with them: consumers before producers."""

    lasts: tuple[int, ...]
    members: tuple[int, ...]
    tracks: tuple[Track, ...]
    choice: Choice

    @property
    def name(self) -> int:
        """What it is known by: the last call of all."""
        return self.lasts[-1]

    @property
    def calls(self) -> tuple[int, ...]:
        """All of its calls, the last ones first."""
        return (*self.lasts, *self.members)


@attrs.frozen
class Merge:
    """Producers that were taken into the group that reads them, and how many seconds that saves, or bytes."""

    producers: tuple[int, ...]
    saves: float


@attrs.frozen
class Refused:
    """A producer that was not merged with its consumers, and why."""

    producer: int
    reason: Why


@attrs.frozen
class Grouping:
    """All groups, in the order of their last calls, with what was merged and what was not."""

    groups: tuple[Group, ...]
    merges: tuple[Merge, ...]
    refused: tuple[Refused, ...]
    unscheduled_seconds: float
    cost: float
    """What all groups take: seconds, with those that the memory is worth that they hold; or bytes, if these matter."""

    @property
    def seconds(self) -> float:
        """How long all groups take."""
        return sum(group.choice.seconds for group in self.groups)


def grouping(relations: Relations, aims: Aims, apart: Mapping[int, Why] = MappingProxyType({})) -> Grouping:
    """The groups that take the least time by the model, or the least memory.

    `apart` has the calls that are not taken into a group of those that read them, and why.
    """
    return _Grower(relations, aims, apart).grown()


class _Grower:
    """Merges groups as long as that saves anything."""

    def __init__(self, relations: Relations, aims: Aims, apart: Mapping[int, Why]) -> None:
        self.relations = relations
        self.apart = apart
        self.calls = relations.calls
        self.aims = aims
        self.writers = self._writers()
        self.readers = self._readers()
        self.beside = self._beside()
        self.choices = Choices(self.calls, self.readers, self.beside, aims, Costs(aims.machine))
        self.groups = {i: self._single(i) for i in range(len(self.calls))}
        self.group_of = list(range(len(self.calls)))
        self.queue: list[tuple[float, int, int, tuple[Group, ...], Group]] = []
        self.count = itertools.count()
        self.newest: dict[int, int] = {}
        self.merges: list[Merge] = []
        self.reasons: dict[int, Why] = {}

    def _writers(self) -> dict[str, tuple[int, ...]]:
        """The calls that write a buffer: all of them, if all of it is there before anything is read, and none of these
        is to be left apart; else the last one."""
        found: dict[str, tuple[int, ...]] = {}
        for i, call in enumerate(self.calls):
            for w in call.writes:
                found[w.buffer] = (*found.get(w.buffer, ()), i)
        for buffer, calls in found.items():
            if len(calls) > 1 and (not self.apart.keys().isdisjoint(calls) or self._is_written_late(buffer, calls)):
                found[buffer] = calls[-1:]
        return found

    def _is_written_late(self, buffer: str, writers: Sequence[int]) -> bool:
        """Whether a call reads of a buffer what is not all written before it."""
        return any(
            is_read_by(self.calls[k], buffer, call)
            for i, call in enumerate(self.calls)
            if any(name == buffer for name, _ in call.reads)
            for k in writers
            if k >= i
        )

    def _readers(self) -> list[set[int]]:
        readers: list[set[int]] = [set() for _ in self.calls]
        for i, call in enumerate(self.calls):
            for buffer, _ in call.reads:
                writers = self.writers.get(buffer, ())
                for k in writers:
                    if len(writers) == 1 or is_read_by(self.calls[k], buffer, call):
                        readers[k].add(i)
        return readers

    def _beside(self) -> list[set[int]]:
        """Of each call, those that write to the same buffers, where others read these."""
        beside: list[set[int]] = [set() for _ in self.calls]
        for calls in self.writers.values():
            for i in calls if len(calls) > 1 else ():
                beside[i] |= set(calls) - {i} if self.readers[i] else set()
        return beside

    def grown(self) -> Grouping:
        self._merge_all()
        if self._takes_apart():
            self._merge_all()
        taken = {i for group in self.groups.values() for i in group.members}
        left = [Refused(i, reason) for i, reason in sorted(self.reasons.items()) if i not in taken]
        groups = tuple(self.groups[i] for i in sorted(self.groups))
        unscheduled = sum(map(self.choices.unscheduled, range(len(self.calls))))
        return Grouping(groups, tuple(self.merges), tuple(left), unscheduled, sum(map(self._cost, groups)))

    def _merge_all(self) -> None:
        for group in tuple(self.groups.values()):
            self._offer(group)
        if len(self.calls) <= FEW_CALLS:
            for parts, merged in self._best_of_all():
                self._merge(parts, merged, self._gain(parts, merged))
        else:
            self._merge_best_first()

    def _takes_apart(self) -> bool:
        """Whether some calls that write parts of one buffer are in no group with those that read it: then they need not
        come together, and the last one of them may come alone."""
        inside = {i for group in self.groups.values() for i in group.members}
        several = [each for each in self.writers.items() if len(each[1]) > 1 and any(self.readers[i] for i in each[1])]
        apart = [buffer for buffer, calls in several if not inside.issuperset(calls)]
        self.writers.update((buffer, self.writers[buffer][-1:]) for buffer in apart)
        self.readers, self.beside = self._readers(), self._beside()
        self.choices = attrs.evolve(self.choices, readers=self.readers, beside=self.beside)
        return bool(apart)

    def _merge_best_first(self) -> None:
        """Merge what saves most, as long as something saves anything."""
        while self.queue:
            loss, _, number, parts, merged = heapq.heappop(self.queue)
            if all(self.groups.get(part.name) is part for part in parts):
                self._merge(parts, merged, -loss)
            elif self.groups.get(parts[0].name) is parts[0] and self.newest[parts[0].name] == number:
                self._offer(parts[0])  # what it would be merged with has changed

    # -- all groupings of a few calls ------------------------------------------------------------------------

    def _best_of_all(self) -> list[_Merging]:
        """The merges that lead to the grouping of least cost of all that merging leads to."""
        start = frozenset(self.groups.values())
        best, way = sum(map(self._cost, start)), list[_Merging]()
        made: dict[frozenset[int], Group | None] = {}  # a group is the same whichever way it was merged
        seen, waiting = {_key(start)}, [(start, list[_Merging]())]
        while waiting and len(seen) < _MOST_GROUPINGS:
            groups, before = waiting.pop()
            for parts in self._edges(groups):
                calls = frozenset(i for part in parts for i in part.calls)
                merged = made[calls] if calls in made else made.setdefault(calls, self._merged(parts))
                if merged is None:
                    continue
                after, steps = groups.difference(parts) | {merged}, [*before, (parts, merged)]
                if _key(after) not in seen:
                    seen.add(_key(after))
                    waiting.append((after, steps))
                    cost = sum(map(self._cost, after))
                    if cost < best * (1 - 1e-9):
                        best, way = cost, steps
        return way

    def _edges(self, groups: frozenset[Group]) -> Iterator[tuple[Group, ...]]:
        """Each group that may be merged with those that read it, before them, in program order."""
        of = {i: group for group in groups for i in group.calls}
        for group in sorted(groups, key=lambda group: group.name):
            parts = self._with_readers(group, of)
            if self._why_not(parts) is None:
                yield parts

    def _with_readers(self, group: Group, of: Mapping[int, Group]) -> tuple[Group, ...]:
        """A group and those that read what it computes, with all that stands between two of them.

        Where one of those that read it needs what another computes, as in pyramids, all on the way comes, too. Of what
        is computed on the way, all who read it are there, or nobody is.
        """
        parts = {group.name: group}
        inside = self._readers_of(group, of) | self._beside_of(group, of)
        while inside.keys() - parts.keys():
            parts.update(inside)
            if len(inside) > 1 and sum(len(part.calls) for part in parts.values()) <= MOST_MEMBERS:
                parts.update(self._between(parts, of))
                inside = dict(parts)
                for part in parts.values():
                    readers = self._readers_of(part, of)
                    if readers.keys() & parts.keys():
                        inside.update(readers | self._beside_of(part, of))
        return (group, *(parts[name] for name in sorted(parts.keys() - {group.name})))

    def _readers_of(self, group: Group, of: Mapping[int, Group]) -> dict[int, Group]:
        """The groups that read what a group computes, by name."""
        return {of[reader].name: of[reader] for last in group.lasts for reader in self.readers[last]}

    def _beside_of(self, group: Group, of: Mapping[int, Group]) -> dict[int, Group]:
        """The groups that write parts of the buffers that a group writes, by name."""
        return {of[other].name: of[other] for last in group.lasts for other in self.beside[last]}

    def _between(self, parts: Mapping[int, Group], of: Mapping[int, Group]) -> dict[int, Group]:
        """The groups that need what one of some groups computes, and compute what another one needs."""
        first = min(min(part.calls) for part in parts.values())
        readers: dict[int, list[Group]] = {}
        seen, waiting = dict(parts), list(parts.values())
        while waiting and len(seen) <= _MOST_LOOKED_AT:
            group = waiting.pop()
            for i in group.calls:
                producers = [k for buffer, _ in self.calls[i].reads for k in self.writers.get(buffer, ())]
                for producer in producers:
                    if producer >= first and of[producer] is not group:
                        found = of[producer]
                        readers.setdefault(found.name, []).append(group)
                        if found.name not in seen:
                            seen[found.name] = found
                            waiting.append(found)
        between, following = dict[int, Group](), list(parts.values())
        while following:
            for reader in readers.get(following.pop().name, ()):
                if reader.name not in between:
                    between[reader.name] = reader
                    following.append(reader)
        return between

    # -- edges -----------------------------------------------------------------------------------------------

    def _offer(self, group: Group) -> None:
        """Queue the edges from a group to those that read its results, if merging them saves anything."""
        parts = self._with_readers(group, _Of(self.groups, self.group_of))
        reason = self._why_not(parts)
        if reason is None:
            merged = self._merged(parts)
            if merged is None:
                reason = "it does not move with the strips of what reads it"
            else:
                gain = self._gain(parts, merged)
                if gain > 0:
                    self.newest[group.name] = next(self.count)
                    heapq.heappush(self.queue, (-gain, -group.name, self.newest[group.name], parts, merged))
                    return
                reason = f"with what reads it, it would take {self._amount(abs(gain))} more"
        for last in group.lasts:
            self.reasons[last] = reason

    def _why_not(self, parts: tuple[Group, ...]) -> Why | None:
        """What keeps a group, the first, from being merged with those that read it."""
        if len(parts) < 2:
            return "it is one of the last"
        ours = {i for part in parts for i in part.calls}
        if len(ours) > MOST_MEMBERS:
            return f"a group has at most {MOST_MEMBERS} calls"
        for i in (i for part in parts for i in part.lasts if self._is_inside(i, ours)):
            if i in self.apart:
                return self.apart[i]
            if any(w.buffer in self.relations.held for w in self.calls[i].writes):
                return "a loop touches what it writes"
        return None

    def _is_inside(self, i: int, ours: Set[int]) -> bool:
        """Whether all that read what a call computes, and all that write to it, are among some calls."""
        return bool(self.readers[i]) and self.readers[i] <= ours and self.beside[i] <= ours

    def _gain(self, parts: tuple[Group, ...], merged: Group) -> float:
        """What merging saves: seconds, and what the memory is worth; where memory is scarce, bytes."""
        return sum(map(self._cost, parts)) - self._cost(merged)

    def _cost(self, group: Group) -> float:
        """What a group takes: its seconds, and those that the memory is worth that it holds; or bytes alone."""
        written = (w for i in group.lasts for w in self.calls[i].writes)
        full = [w.bytes for w in written if w.buffer not in self.relations.outputs]
        if self.aims.spare_memory:
            return sum(full) + group.choice.live
        return group.choice.value + sum(map(self.choices.worth, full))

    def _amount(self, value: float) -> str:
        return f"{value:.3g} bytes" if self.aims.spare_memory else seconds_text(value)

    # -- merging ---------------------------------------------------------------------------------------------

    def _merge(self, parts: tuple[Group, ...], merged: Group, saves: float) -> None:
        for part in parts:
            del self.groups[part.name]
        self.groups[merged.name] = merged
        for i in merged.calls:
            self.group_of[i] = merged.name
        inside = set(merged.members)
        self.merges.append(Merge(tuple(i for part in parts for i in part.lasts if i in inside), saves))
        self._offer(merged)
        reads = [buffer for i in merged.calls for buffer, _ in self.calls[i].reads]
        names = {self.group_of[i] for buffer in reads for i in self.writers.get(buffer, ())}
        for name in sorted(names - {merged.name}):
            self._offer(self.groups[name])

    def _merged(self, parts: tuple[Group, ...]) -> Group | None:
        """A group, the first, and those that read it, as one. None if they do not move with each other."""
        first, *readers = parts
        ours = {i for part in parts for i in part.calls}
        lasts = tuple(sorted(i for part in parts for i in part.lasts if not self._is_inside(i, ours)))
        if not lasts or any(self.readers[i] & ours for i in lasts):
            return None  # some write parts of one buffer, and read each other's; or what one writes is read there, too
        members = tuple(sorted(ours.difference(lasts), reverse=True))
        if len(readers) == 1:
            tracks = [track.extended(self.calls, first.calls) for track in readers[0].tracks]
        else:
            tracks = [track.extended(self.calls, members) for track in self._common(lasts)]
        return self._group(lasts, members, tuple(track for track in tracks if track is not None))

    def _common(self, lasts: tuple[int, ...]) -> Iterator[Track]:
        """Tracks without members, along dimensions that all of some calls have with the same coordinates."""
        for strips in self.calls[lasts[0]].strips:
            same = [self._like(strips, i) for i in lasts]
            found = [s for s in same if s is not None]
            if len(found) == len(lasts) and not (strips.is_reduced and len(lasts) > 1):
                each = zip(lasts, found, strict=True)
                yield track_of(tuple(last_of(self.calls[i], i, s) for i, s in each))

    def _like(self, strips: Strips, i: int) -> Strips | None:
        """Strips of another call at the same coordinates of the dimension at the same place."""
        key = (strips.position, strips.begin, strips.extent, strips.multiple)
        return next((s for s in self.calls[i].strips if (s.position, s.begin, s.extent, s.multiple) == key), None)

    def _group(self, lasts: tuple[int, ...], members: tuple[int, ...], tracks: tuple[Track, ...]) -> Group | None:
        """A group, run in the best way; None if there is none."""
        best = self.choices.best(lasts, members, tracks)
        return None if best is None else Group(lasts, members, tracks, best)

    def _single(self, i: int) -> Group:
        group = self._group((i,), (), tuple(track_of((last_of(self.calls[i], i, s),)) for s in self.calls[i].strips))
        assert group is not None
        return group


_Merging: TypeAlias = tuple[tuple[Group, ...], Group]
"""Groups, and the one that they become."""


class _Of(Mapping[int, Group]):
    """The group of each call, by index."""

    def __init__(self, groups: Mapping[int, Group], names: Sequence[int]) -> None:
        self.groups = groups
        self.names = names

    def __getitem__(self, i: int) -> Group:
        return self.groups[self.names[i]]

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.names)))

    def __len__(self) -> int:
        return len(self.names)


def _key(groups: Iterable[Group]) -> frozenset[tuple[int, ...]]:
    """What tells groupings apart: which calls are together."""
    return frozenset(group.calls for group in groups)


_MOST_GROUPINGS = 400
"""How many groupings of a few calls are looked at."""

_MOST_LOOKED_AT = 500
"""How many producers of a group are looked at, to see whether it depends on another."""
