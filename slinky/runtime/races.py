"""Checked mode: do iterations of a parallel loop touch the same element, and one of them writes it?

Idea. What runs in one thread is in order, and so is what comes before or behind a parallel loop. Two accesses are in no
order exactly where they *part*: in two iterations of one run of a parallel loop. The values may be right all the same,
since every element has one value whoever computes it, so nothing but a record of who touched what finds such a race.

Invariant: of each element are known the iteration that wrote it last, the one that read it last, and of the other
readers one that parts from it, in the outermost loop where any does. Whatever parts from a reader that is not kept also
parts from one that is, or comes behind the loop in which it would.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import attrs
import numpy as np

from slinky.runtime import forks


@attrs.frozen(eq=False)
class LoopRun:
    """One run of a parallel loop, from its first iteration to its last."""

    variable: str


Iteration: TypeAlias = tuple[tuple[LoopRun, int], ...]
"""The runs of parallel loops around a place, outermost first, each with the value of its variable."""

Places: TypeAlias = tuple[np.ndarray[Any, Any] | slice, ...]
"""An index of elements: an array of places or a slice for each dimension."""


def _parting(a: Iteration, b: Iteration) -> int | None:
    """At which level of parallel loops two iterations part; None if one comes before the other, or they are one."""
    for level, ((run, value), (other_run, other_value)) in enumerate(zip(a, b, strict=False)):
        if run is not other_run:
            return None
        if value != other_value:
            return level
    return None


@attrs.frozen
class Race:
    """Two accesses of one element that are in no order."""

    place: tuple[int, ...]
    """The element, counted from the first of those touched now."""
    verb: str
    """What was done to it before: `read` or `written`."""
    before: Iteration
    now: Iteration

    def __str__(self) -> str:
        level = _parting(self.before, self.now)
        assert level is not None
        before, now = (
            ", ".join(f"{run.variable} = {value}" for run, value in iteration[: level + 1])
            for iteration in (self.before, self.now)
        )
        loop = self.now[level][0].variable
        return f"was {self.verb} in the iteration {before}, and this is {now}, of the parallel loop {loop}"


_FEW = 2_000
"""Of so many numbers, a set is made sooner than they are sorted."""


def _distinct(numbers: np.ndarray[Any, Any]) -> list[int]:
    """The numbers in an array, each once, in order."""
    found: list[int] = np.unique(numbers).tolist() if numbers.size > _FEW else sorted(set(numbers.ravel().tolist()))
    return found


class Accesses:
    """Which iterations touched the elements of one buffer."""

    def __init__(self, shape: Iterable[int]) -> None:
        self._shape = tuple(shape)
        self._lock = forks.lock()
        self._iterations: list[Iteration] = [()]
        self._numbers: dict[Iteration, int] = {(): 0}
        self._noted: tuple[np.ndarray[Any, Any], ...] = ()

    def write(self, places: Places, iteration: Iteration) -> Race | None:
        """Note that elements are written; an access of one of them that is in no order with that, if there is one."""
        with self._lock:
            if not self._noting(iteration):
                return None
            verbs = ("written", "read", "read")
            found = (self._race(kept[places], v, iteration) for kept, v in zip(self._noted, verbs, strict=True))
            race = next(filter(None, found), None)
            self._noted[0][places] = self._number(iteration)
            return race

    def read(self, places: Places, iteration: Iteration) -> Race | None:
        """Note that elements are read; a write of one of them that is in no order with that, if there is one."""
        with self._lock:
            if not self._noting(iteration):
                return None
            self._keep_reader(places, iteration)
            return self._race(self._noted[0][places], "written", iteration)

    def _noting(self, iteration: Iteration) -> bool:
        """Whether there is anything to note. What came before the first parallel loop parts from nothing."""
        if not self._noted and iteration:
            self._noted = tuple(np.zeros(self._shape, np.int64) for _ in range(3))
        return bool(self._noted)

    def _number(self, iteration: Iteration) -> int:
        number = self._numbers.setdefault(iteration, len(self._iterations))
        if number == len(self._iterations):
            self._iterations.append(iteration)
        return number

    def _race(self, noted: np.ndarray[Any, Any], verb: str, now: Iteration) -> Race | None:
        for number in _distinct(noted):
            before = self._iterations[number]
            if _parting(before, now) is not None:
                place = tuple(int(k) for k in np.argwhere(noted == number)[0])
                return Race(place, verb, before, now)
        return None

    def _keep_reader(self, places: Places, now: Iteration) -> None:
        _, last, other = self._noted
        pairs = last[places] * len(self._iterations) + other[places]
        kept = np.zeros_like(pairs)
        for pair in _distinct(pairs):
            kept = np.where(pairs == pair, self._outermost(divmod(pair, len(self._iterations)), now), kept)
        last[places], other[places] = self._number(now), kept

    def _outermost(self, numbers: Iterable[int], now: Iteration) -> int:
        """Of iterations given by number, the one that parts from another in the outermost loop; 0 if none does."""
        levels = ((_parting(self._iterations[n], now), n) for n in numbers)
        return min(((level, n) for level, n in levels if level is not None), default=(0, 0))[1]
