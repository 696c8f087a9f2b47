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
from slinky.runtime.races import Accesses, Iteration, Race
from slinky.runtime.storage import NumericBox, box_text, shape_of


class Shadow:
    """The coordinates that the elements of one buffer hold."""

    def __init__(self, name: str, box: NumericBox, folds: Sequence[int | None]) -> None:
        self.name = name
        self.box = box
        self.shape = shape_of(box)
        self.folds = [f if f is not None and f < extent else None for f, extent in zip(folds, self.shape, strict=True)]
        stored = [extent if f is None else f for f, extent in zip(self.folds, self.shape, strict=True)]
        self.held = np.full(stored, -1, np.int64)
        self.accesses = Accesses(stored)

    def _places(self, box: NumericBox) -> tuple[np.ndarray[Any, Any], ...]:
        """Index arrays of where the points of a box are stored."""
        places = []
        for (lo, hi), (first, _), fold in zip(box, self.box, self.folds, strict=True):
            coordinates = np.arange(lo, hi + 1)
            places.append(coordinates - first if fold is None else coordinates % fold)
        return np.ix_(*places)

    def _numbers(self, box: NumericBox) -> np.ndarray[Any, Any]:
        """The number of each point of a box: its place in row-major order of the bounds."""
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

    def write(self, box: NumericBox, writer: str, iteration: Iteration) -> None:
        """Note that the points of a box were written. Within a folded dimension the last of equal places stays.

        Raises `RaceError`, naming the writer, buffer and coordinate, if another iteration touched one of them.
        """
        places = self._places(box)
        race = self.accesses.write(places, iteration)
        if race is not None:
            raise self._error(race, f"{writer} writes", box)
        self.held[places] = self._numbers(box)

    def _error(self, race: Race, who: str, box: NumericBox) -> RaceError:
        point = [lo + offset for (lo, _), offset in zip(box, race.place, strict=True)]
        return RaceError(f"{who} {self.name}{box_text(box)}: element {point} {race}")

    def read(self, box: NumericBox, reader: str, iteration: Iteration) -> None:
        """Check that every point of a box is held, and was not written in another iteration of a parallel loop.

        Raises `UninitializedReadError`, `OverwrittenReadError` or `RaceError`, naming reader, buffer and coordinate.
        """
        race = self.accesses.read(self._places(box), iteration)
        if race is not None:
            raise self._error(race, f"{reader} reads", box)
        expected = np.broadcast_to(self._numbers(box), shape_of(box))
        held = np.broadcast_to(self.held[self._places(box)], expected.shape)
        wrong = np.argwhere(held != expected)
        if len(wrong) == 0:
            return
        at = tuple(wrong[0])
        point = tuple(int(lo + offset) for (lo, _), offset in zip(box, at, strict=True))
        where = f"{reader} reads {self.name}{box_text(box)}: element {list(point)}"
        if held[at] < 0:
            raise UninitializedReadError(f"{where} was never written")
        other = list(self._point(int(held[at])))
        raise OverwrittenReadError(f"{where} was overwritten by element {other}, which shares its storage")

    def unwritten(self) -> tuple[int, ...] | None:
        """A point that was never written, if there is one."""
        missing = np.argwhere(self.held < 0)
        return (
            tuple(int(first + k) for (first, _), k in zip(self.box, missing[0], strict=True)) if len(missing) else None
        )
