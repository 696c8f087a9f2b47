"""Rows of several arrays, put together along an axis: which row of which array each row is, is known.

Idea. What is chosen of each array, and where that comes to lie, is found out once; a slice, where it is one.

Invariant: the arrays have rows along the same axis, and all or one element along each of the others.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

_Places = slice | np.ndarray[Any, Any]


@attrs.frozen
class Rows:
    """What puts rows together along an `axis`: of each, the number of the operand, and which row of that it is, as the
    bytes of integers of the machine."""

    axis: int
    numbers: bytes
    rows: bytes
    _steps: list[tuple[int, _Places, _Places]] = attrs.field(init=False, eq=False, repr=False)
    """What to copy: the number of an operand, where its rows come to lie, and which ones these are."""

    @_steps.default
    def _found(self) -> list[tuple[int, _Places, _Places]]:
        whose, which = np.frombuffer(self.numbers, np.intp), np.frombuffer(self.rows, np.intp)
        places = [(number, np.flatnonzero(whose == number)) for number in np.unique(whose).tolist()]
        return [(number, _slice_of(there), _slice_of(which[there])) for number, there in places]

    @classmethod
    def of(cls, axis: int, numbers: np.ndarray[Any, Any], rows: np.ndarray[Any, Any]) -> Rows:
        """That of arrays of integers."""
        return cls(axis, numbers.astype(np.intp).tobytes(), rows.astype(np.intp).tobytes())

    def __call__(self, *operands: Any) -> Any:
        before = (slice(None),) * self.axis
        wide = np.broadcast_shapes(*(each[(*before, slice(1))].shape for each in operands))
        count = len(self.numbers) // np.intp().itemsize
        target = np.empty((*wide[: self.axis], count, *wide[self.axis + 1 :]), operands[0].dtype)
        self.into(target, *operands)
        return target

    def into(self, target: Any, *operands: Any) -> None:
        """Write what it gives."""
        before = (slice(None),) * self.axis
        for number, places, rows in self._steps:
            target[(*before, places)] = operands[number][(*before, rows)]


def _slice_of(places: np.ndarray[Any, Any]) -> _Places:
    """Places as a slice, where they are one, or one place again and again: that is copied without an array of its
    own."""
    first, count = int(places[0]), len(places)
    steps = np.diff(places)
    if not steps.any():
        return slice(first, first + 1)
    step = int(steps[0])
    return slice(first, first + step * (count - 1) + 1, step) if step > 0 and (steps == step).all() else places
