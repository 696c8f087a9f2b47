"""`python -m benchmarks.apps.order [NAME ...]`: is what the model calls faster faster?

For each application, 20 schedules are drawn among strips of all heights, groups of several sizes, and no schedule; the
model of `auto_schedule` says how long each takes on this machine. They run in turns, and what counts is the time of the
processor, which is the same whoever else is on the machine. What is printed last is Spearman's rank correlation of both
orders: 1 where they are the same.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import attrs

import slinky as sl
from benchmarks.apps import NAMES, load
from benchmarks.apps.app import App
from benchmarks.harness import seconds_text
from slinky.sched import automatic, choices, group_loops, grouping, machines, tracks

HEIGHTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
LEAST_ACROSS = 128
"""The least of these that is drawn along other dimensions than the model prefers."""

MEMBERS = (64, 8, 4, 3, 2, 1)
"""How many calls a group has at most; of 1, nothing is scheduled."""

ROUNDS = 3
"""How often each schedule runs in any case."""


@attrs.define
class Drawn:
    """A schedule: what was asked for, how long it takes by the model, and how long each run took."""

    words: str
    pipeline: sl.Pipeline
    predicted: float
    seconds: list[float] = attrs.field(factory=list)

    @property
    def measured(self) -> float:
        """The least of its runs: whoever else is on the machine takes caches and memory away, and gives no time."""
        return min(self.seconds)


def drawn(p: sl.Pipeline, arrays: Sequence[Any], machine: sl.Machine, count: int) -> list[Drawn]:
    """So many different schedules, always the same ones, the unscheduled program among them; fewer where there are no
    more. Strips go along the dimensions that the model prefers; where that does not give as many, along others, too."""
    settings = [(members, height) for members in MEMBERS[:-1] for height in HEIGHTS]
    random.Random(0).shuffle(settings)
    found: dict[str, Drawn] = {}
    others = [each for each in settings if each[1] >= LEAST_ACROSS]
    drawn_from = [(None, (1, 1)), *((None, s) for s in settings), *itertools.product((1, 2), others)]
    for along, (members, height) in drawn_from:
        q = as_asked(p, arrays, machine, members, height, along)
        words = f"groups of up to {members}, strips of {height}" if members > 1 else "not scheduled"
        words += "" if along is None else f" along dimension {along}"
        found.setdefault(str(q), Drawn(words, q, sl.explain(q).seconds))
        if len(found) == count:
            break
    return list(found.values())


def as_asked(
    p: sl.Pipeline, arrays: Sequence[Any], machine: sl.Machine, members: int, height: int, along: int | None = None
) -> sl.Pipeline:
    """The schedule of groups of up to so many calls in strips of about this height, good or bad: as if merging always
    saved something. What the model says of its time is what it says otherwise."""
    usual = tracks.heights_of

    def heights(track: Any, most_live: float) -> tuple[int, ...]:
        if along is not None and track.strips.position != along:
            return ()
        unit = min(usual(track, math.inf), default=0)
        most = track.strips.extent // 2
        return (min(max(round(height / unit), 1), max(most // unit, 1)) * unit,) if unit else ()

    asked = mock.patch.multiple(choices, heights_of=heights, nests_of=lambda *_: ())
    merged = mock.patch.multiple(grouping, MOST_MEMBERS=members, FEW_CALLS=0)
    eager = mock.patch.object(grouping._Grower, "_gain", return_value=1.0)
    slower = mock.patch.object(automatic, "ABOUT_AS_GOOD", math.inf)
    as_slow = mock.patch.object(group_loops, "ABOUT_AS_GOOD", math.inf)
    with asked, merged, eager, slower, as_slow, mock.patch.object(tracks, "HEIGHTS", len(HEIGHTS)):
        found: sl.Pipeline = sl.auto_schedule(p, *arrays, workers=1, machine=machine)
    return found


def measure(schedules: Sequence[Drawn], arrays: Sequence[Any], seconds: float) -> None:
    """Run all in turns, for about so many seconds."""
    for each in schedules:
        each.pipeline(*arrays)
    begin = time.perf_counter()
    rounds = 0
    while rounds < ROUNDS or time.perf_counter() - begin < seconds:
        for each in schedules:
            start = time.process_time()
            each.pipeline(*arrays)
            each.seconds.append(time.process_time() - start)
        rounds += 1


def ranks(values: Sequence[float]) -> list[float]:
    """The place of each value in their order, from 1; equal ones share theirs."""
    return [sum(other < value for other in values) + (1 + values.count(value)) / 2 for value in values]


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """The rank correlation of two lists: 1 where they have the same order, -1 where they have opposite ones.

    Not a number where all values of one are equal.
    """
    try:
        return statistics.correlation(ranks(first), ranks(second))
    except statistics.StatisticsError:
        return math.nan


def lines(schedules: Sequence[Drawn]) -> Iterator[str]:
    """A line for each schedule, in the order of the model."""
    for each in sorted(schedules, key=lambda each: each.predicted):
        times = f"{seconds_text(each.predicted):>10}  {seconds_text(each.measured):>10}"
        yield f"  {times}  {each.words}"


def order(app: App, size: tuple[int, int], machine: sl.Machine, count: int, seconds: float) -> list[Drawn]:
    """The schedules of an application, measured."""
    arrays = app.arrays(size)
    found = drawn(app.build(), arrays, machine, count)
    measure(found, arrays, seconds)
    return found


def main() -> None:
    """Compare the orders of the applications named, or of all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.apps.order", description="Is the model's order right?")
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help="which applications (all of them)")
    parser.add_argument("--schedules", type=int, default=20, help="how many for each")
    parser.add_argument("--seconds", type=float, default=10, help="how long for each")
    parser.add_argument("--quick", action="store_true", help="small arrays")
    options = parser.parse_args()
    machine = machines.measure()
    print(machine)
    for name in options.names or NAMES:
        app = load(name)
        size = app.quick if options.quick else app.full
        found = order(app, size, machine, options.schedules, options.seconds)
        print(f"{name}: predicted, measured", *lines(found), sep="\n")
        rho = spearman([each.predicted for each in found], [each.measured for each in found])
        print(f"  {len(found)} schedules, Spearman's rank correlation {rho:.2f}", flush=True)


if __name__ == "__main__":
    main()
