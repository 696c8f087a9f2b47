"""Checked mode: which coordinate does each element of storage hold?

A shadow has the shape of the program's own storage (a folded dimension has its fold, even where the real storage is
unfolded) and holds, per element, the number of the coordinate written there last, or -1. A read finds another number
exactly where the schedule is wrong. It also notes which iterations of parallel loops touch each element (see `races`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from slinky.errors import OverwrittenReadError, RaceError, UninitializedReadError
from slinky.runtime.overlaps import Tasks
from slinky.runtime.races import Accesses, Iteration, Places, Race
from slinky.runtime.storage import NumericBox, box_text, shape_of


class SharedBytes:
    """Which buffer wrote each byte last of a memory that several lie in."""

    def __init__(self, size: int) -> None:
        self.writers = np.zeros(size, np.int64)
        self.names = [""]

    def enter(self, name: str) -> int:
        """The number of a buffer that lies here from now on."""
        self.names.append(name)
        return len(self.names) - 1


class Shadow:
    """The coordinates that the elements of one buffer hold.

    Where it lies in memory that it shares, of elements of `itemsize` bytes, what others have written there counts, too.
    """

    def __init__(
        self,
        name: str,
        box: NumericBox,
        folds: Sequence[int | None],
        itemsize: int = 1,
        shared: SharedBytes | None = None,
    ) -> None:
        self.name = name
        self.itemsize = itemsize
        self.shared = shared
        self._number = shared.enter(name) if shared is not None else 0
        self.box = box
        self.shape = shape_of(box)
        self.folds = [f if f is not None and f < extent else None for f, extent in zip(folds, self.shape, strict=True)]
        stored = [extent if f is None else f for f, extent in zip(self.folds, self.shape, strict=True)]
        self.held = np.full(stored, -1, np.int64)
        self.accesses = Accesses(stored)
        self._in_order = None if any(self.folds) else np.arange(self.held.size).reshape(stored)
        """The number of each point, where each has a place of its own."""

    def _at(self, box: NumericBox) -> Places:
        """Where the points of a box are stored, as an index: slices where there is no fold, which take no copies."""
        if self._in_order is None:
            return self._places(box)
        bounds = zip(box, self.box, strict=True)
        return tuple([slice(lo - first, max(lo, hi + 1) - first) for (lo, hi), (first, _) in bounds])

    def _places(self, box: NumericBox) -> tuple[np.ndarray[Any, Any], ...]:
        """Index arrays of where the points of a box are stored."""
        places = []
        for (lo, hi), (first, _), fold in zip(box, self.box, self.folds, strict=True):
            # Counted from the first coordinate, which may be beyond what 64 bits hold.
            begin = lo - first if fold is None else lo % fold
            along = np.arange(begin, begin + max(hi + 1 - lo, 0))
            places.append(along if fold is None else along % fold)
        return np.ix_(*places)

    def _numbers(self, box: NumericBox) -> np.ndarray[Any, Any]:
        """The number of each point of a box: its place in row-major order of the bounds."""
        if self._in_order is not None:
            return self._in_order[self._at(box)]
        numbers = np.zeros((1,) * len(box), np.int64)
        for d, ((lo, hi), (first, _)) in enumerate(zip(box, self.box, strict=True)):
            along = np.arange(lo - first, hi - first + 1).reshape([-1 if k == d else 1 for k in range(len(box))])
            numbers = numbers * self.shape[d] + along
        return numbers

    def _point(self, number: int) -> tuple[int, ...]:
        point = []
        for extent, (first, _) in zip(reversed(self.shape), reversed(self.box), strict=True):
            number, place = divmod(number, extent)
            point.append(first + place)
        return tuple(reversed(point))

    def write(self, box: NumericBox, writer: str, iteration: Iteration, tasks: Tasks = ()) -> None:
        """Note that the points of a box were written. Within a folded dimension the last of equal places stays.

        Raises `RaceError`, naming the writer, buffer and coordinate, if another iteration touched one of them, or a
        stage of a pipelined loop that may overlap.
        """
        places = self._at(box)
        self._check_tasks(tasks, box, writer, writes=True)
        race = self.accesses.write(places, iteration)
        if race is not None:
            raise self._error(race, f"{writer} writes", box)
        self.held[places] = self._numbers(box)
        if self.shared is not None:
            self.shared.writers[self._bytes(box)] = self._number

    def _bytes(self, box: NumericBox) -> np.ndarray[Any, Any]:
        """Where in shared memory the bytes of each point of a box are: in C order from its beginning."""
        return self._numbers(box)[..., None] * self.itemsize + np.arange(self.itemsize)

    def _error(self, race: Race, who: str, box: NumericBox) -> RaceError:
        point = [lo + offset for (lo, _), offset in zip(box, race.place, strict=True)]
        return RaceError(f"{who} {self.name}{box_text(box)}: element {point} {race}")

    def _check_tasks(self, tasks: Tasks, box: NumericBox, who: str, *, writes: bool) -> None:
        """Note an access by tasks of pipelined loops. Raises `RaceError` if others that may overlap touch the same."""
        for run, task in tasks:
            clash = run.note(task, self, self._places(box), who, writes=writes)
            if clash is not None:
                point = [lo + offset for (lo, _), offset in zip(box, clash.place, strict=True)]
                at = f"{run.variable} = {run.iterations[task[1]]}"
                raise RaceError(
                    f"{who} {'writes' if writes else 'reads'} {self.name}{box_text(box)}: element {point}, or what "
                    f"shares its storage, is touched in stage {task[0] + 1} of the pipelined loop at {at}, and "
                    f"{clash.other}, without order"
                )

    def read(self, box: NumericBox, reader: str, iteration: Iteration, tasks: Tasks = ()) -> None:
        """Check that every point of a box is held, and was not written in another iteration of a parallel loop, or by a
        stage of a pipelined loop that may overlap.

        Raises `UninitializedReadError`, `OverwrittenReadError` or `RaceError`, naming reader, buffer and coordinate.
        """
        self._check_tasks(tasks, box, reader, writes=False)
        places = self._at(box)
        race = self.accesses.read(places, iteration)
        if race is not None:
            raise self._error(race, f"{reader} reads", box)
        held = self.held[places]
        wrong = held != self._numbers(box)
        if not np.any(wrong):
            self._check_shared(box, reader)
            return
        at = tuple(np.argwhere(wrong)[0])
        point = tuple(int(lo + offset) for (lo, _), offset in zip(box, at, strict=True))
        where = f"{reader} reads {self.name}{box_text(box)}: element {list(point)}"
        if held[at] < 0:
            raise UninitializedReadError(f"{where} was never written")
        other = list(self._point(int(held[at])))
        raise OverwrittenReadError(f"{where} was overwritten by element {other}, which shares its storage")

    def spoils(self, other: Shadow, box: NumericBox, others: NumericBox) -> bool:
        """Whether writing a box of this buffer overwrites something of a box of another."""
        return self.shared is not None and self.shared is other.shared and bool(
            np.isin(self._bytes(box), other._bytes(others)).any()
        )  # fmt: skip

    def lies_over(self, other: Shadow, box: NumericBox, others: NumericBox) -> bool:
        """Whether each element of a box of this buffer lies just over that of a box of another."""
        return box == others and np.array_equal(self._bytes(box), other._bytes(others))

    def _check_shared(self, box: NumericBox, reader: str) -> None:
        """Check that nobody else has written where the points of a box lie, all of which were written."""
        if self.shared is None:
            return
        writers = self.shared.writers[self._bytes(box)]
        others = np.argwhere(writers != self._number)
        if len(others) == 0:
            return
        point = [lo + int(k) for (lo, _), k in zip(box, others[0], strict=False)]
        other = self.shared.names[writers[tuple(others[0])]]
        raise OverwrittenReadError(
            f"{reader} reads {self.name}{box_text(box)}: element {point} was overwritten by {other}, which lies in the "
            f"same memory"
        )

    def unwritten(self) -> tuple[int, ...] | None:
        """A point that was never written, if there is one."""
        missing = np.argwhere(self.held < 0)
        return (
            tuple(int(first + k) for (first, _), k in zip(self.box, missing[0], strict=True)) if len(missing) else None
        )
