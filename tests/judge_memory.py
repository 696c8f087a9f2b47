"""What buffers hold in runs of the second judge.

Idea. What an allocation holds is by coordinate; along a folded dimension by coordinate modulo the factor, so that an
overwritten element gives the hash of the other. What was never written has a junk hash, a new one each time. Junk is
odd, all other hashes are even: so a read of junk shows at once. Of a folded buffer each place knows which coordinate
was written there last: so does a read of what was overwritten.

Shared memory. A buffer that lies in another one's memory has its elements there, in C order from the beginning of it;
of each byte it is known which buffer has written it last. So a read of what another one has written over shows, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from judge_geometry import Coordinates, Hashes, NumericBox, TooMuchWorkError

MOST_ELEMENTS = 100_000
_junk = itertools.count(1, 2 * MOST_ELEMENTS)


class Room:
    """Memory that several buffers lie in: for each byte, the number of the one that has written it last."""

    def __init__(self) -> None:
        self.last: dict[int, int] = {}
        self.numbers = itertools.count(1)


class Memory:
    """What a buffer holds. Arrays have one more axis than the buffer, of extent 1, so that none is without axes."""

    __slots__ = (
        "alignment", "box", "dtype", "folds", "held", "itemsize", "name", "number", "room", "strides", "values",
        "writers",
    )  # fmt: skip

    def __init__(self, name: str, box: NumericBox, folds: Sequence[int | None], values: Hashes | None = None) -> None:
        self.name = name
        self.box = box
        self.folds = folds if any(fold is not None for fold in folds) else None
        if values is None:
            shape = [max(hi - lo + 1, 0) for lo, hi in box]
            if self.folds is not None:
                shape = [n if fold is None else min(n, fold) for n, fold in zip(shape, folds, strict=True)]
            count = math.prod(shape)
            if count > MOST_ELEMENTS:
                raise TooMuchWorkError
            first = next(_junk)
            values = np.arange(first, first + 2 * count, 2, np.uint64).reshape(*shape, 1)
        self.values = values
        self.held = np.zeros(values.shape, np.int64) if self.folds is not None else None
        """Of a folded buffer, a label of the element that was written to a place last."""
        self.room: Room | None = None
        self.number = 0
        self.itemsize = 1
        self.dtype: object = None
        """What the program says that its elements are, where it says it."""
        self.strides: tuple[int | None, ...] | None = None
        self.alignment = 1
        """How the program says that it lies, where it says so."""
        self.writers: dict[int, np.ndarray[Any, Any]] = {}
        """For each run of a parallel loop, the number of the iteration that wrote to a place; 0: none."""

    def of(self, dtype: object) -> Memory:
        """The same, of elements of this dtype."""
        self.dtype = dtype
        return self

    def lies_in_order(self, dims: Sequence[int], strides: Sequence[int | None], alignment: int, itemsize: int) -> bool:
        """Whether it lies with these dimensions from the outermost in, elements along the last one side by side."""
        if self.strides is None or self.alignment % alignment:
            return False
        if not all(hi >= lo for lo, hi in self.box):
            return True
        wanted = [strides[d] if strides else None for d in dims]
        wanted[-1:] = [itemsize if n is None else n for n in wanted[-1:]]
        own = [self.strides[d] for d in dims]
        if any(mine is None or (n is not None and mine != n) for mine, n in zip(own, wanted, strict=True)):
            return False
        known = [n for n in own if n is not None]
        return known == sorted(known, reverse=True)

    def enter(self, room: Room, itemsize: int) -> None:
        """Lie in memory that others lie in, too."""
        self.room, self.number, self.itemsize = room, next(room.numbers), itemsize

    def bytes_of(self, element: Coordinates) -> range:
        """Where in shared memory an element lies."""
        place = 0
        for c, (first, last) in zip(element, self.box, strict=True):
            place = place * (last - first + 1) + c - first
        return range(place * self.itemsize, (place + 1) * self.itemsize)

    def read(self, region: NumericBox) -> Hashes:
        """The elements of a region that lies within the bounds."""
        return self.values[self._slices(region) if self.folds is None else self._places(region)]

    def write(self, region: NumericBox, hashes: Hashes) -> None:
        """Write the elements of a region that lies within the bounds."""
        if self.room is not None:
            for element in points_of(region):
                self.room.last.update(dict.fromkeys(self.bytes_of(element), self.number))
        if self.held is None:
            self.values[self._slices(region)] = hashes
        else:
            places = self._places(region)
            self.values[places] = hashes
            self.held[places] = self._labels(region)

    def overwritten(self, region: NumericBox) -> Coordinates | None:
        """An element of a region, which holds no junk, whose place another element has taken."""
        if self.room is not None:
            last = self.room.last
            lost = (e for e in points_of(region) if any(last.get(b) != self.number for b in self.bytes_of(e)))
            return next(lost, None)
        if self.held is None:
            return None
        others = self.held[self._places(region)] != self._labels(region)
        return first_element(region, others) if others.any() else None

    def shared(self, region: NumericBox, iterations: Iterations, *, writes: bool) -> Coordinates | None:
        """An element of a region that another iteration of a parallel loop has written; note who writes now."""
        places = self._slices(region) if self.folds is None else self._places(region)
        for run, number in iterations:
            if run not in self.writers:
                if not writes:
                    continue
                self.writers[run] = np.zeros(self.values.shape, np.int64)
            writers = self.writers[run]
            others = (writers[places] != 0) & (writers[places] != number)
            if others.any():
                return first_element(region, others)
            if writes:
                writers[places] = number
        return None

    def at(self, element: Coordinates) -> int:
        """What the place of one element holds."""
        return int(self.read(tuple((c, c) for c in element)).reshape(-1)[0])

    def _slices(self, region: NumericBox) -> tuple[slice, ...]:
        return tuple([slice(r[0] - b[0], r[1] - b[0] + 1) for r, b in zip(region, self.box, strict=True)])

    def _places(self, region: NumericBox) -> tuple[np.ndarray[Any, Any], ...]:
        assert self.folds is not None
        along = []
        for (lo, hi), (first, _), fold in zip(region, self.box, self.folds, strict=True):
            places = np.arange(lo - first, hi - first + 1)
            along.append(places if fold is None else places % fold)
        return np.ix_(*along)

    def _labels(self, region: NumericBox) -> np.ndarray[Any, Any]:
        assert self.folds is not None
        labels = np.zeros((1,), np.int64)
        for (lo, hi), fold in zip(region, self.folds, strict=True):
            along = np.arange(lo, hi + 1) if fold is not None else np.zeros(hi - lo + 1, np.int64)
            labels = labels[..., None, :] * _APART + along[:, None] if labels.ndim > 1 else labels + along[:, None]
        return labels


Iterations: TypeAlias = tuple[tuple[int, int], ...]
"""The iterations of parallel loops around a statement, outermost first: the run of the loop, and the iteration's number
from 1 on."""

_APART = 1_000_003
"""Labels of elements that differ in two folded dimensions differ."""


def points_of(region: NumericBox) -> Iterator[Coordinates]:
    """All elements of a region."""
    return itertools.product(*(range(lo, hi + 1) for lo, hi in region))


def first_element(region: NumericBox, which: np.ndarray[Any, Any]) -> Coordinates:
    """The first element of a region at which an array is not zero."""
    return tuple(lo + int(k) for (lo, _), k in zip(region, np.argwhere(which)[0], strict=False))
