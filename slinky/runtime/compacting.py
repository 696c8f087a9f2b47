"""Windows on a folded buffer in plain memory, for systems that cannot map memory twice.

There is room for a few folds of rows, one behind the other, so that every window is one plain array. Where a window
leaves the room, the rows that may still be read move to the front of it, and the window moves on from there; every row
is copied once for as many rows as there is room for beyond a fold.

Which rows these are follows from what makes a fold legal (see `sched.legality.folds`): what is alive while row c is
accessed lies less than a fold away from c. Above the room there is nothing; so of a window that ends with row c above
it, the rows from c - fold + 1 on may be alive, and of one that begins with row c below it, those up to c + fold - 1.
All that the statements of one iteration access lies less than a fold apart, and so in the room, once it has moved.

So rows move only for a window that is written: what is read has been written, and is in the room. A view that was given
out before is of no use then, and a plan asks for another one after each write (see `codegen.moving`).

Invariant: a window shows the rows as they were written, of all that is alive by the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from slinky.errors import ExecutionError
from slinky.runtime.buffers import Array, read_only
from slinky.runtime.storage import row_bytes

FOLDS = 4
"""Room for so many folds of rows: in steady state, a third of the rows are copied once."""

_SMALL = 1 << 15
_MOST_ROWS = 64
"""Where rows are small, there is room for as many as there are in so many bytes, but not for more rows than this."""

_MOST_KEPT = 256
"""Views are kept where there is room for no more rows than this."""

_MOST_COUNTS = 8
"""Of windows of so many lengths, views are kept at a time."""


def room(dtype: np.dtype[Any], shape: tuple[int, ...], dim: int, fold: int) -> int | None:
    """For how many rows there is room; None where the buffer in full takes no more."""
    row = row_bytes(dtype, shape, dim)
    if fold == 1:
        return 1 if row and shape[dim] > 1 else None
    rows = max(FOLDS * fold, min(_SMALL // row, _MOST_ROWS)) if row else shape[dim]
    return rows if rows < shape[dim] else None


@attrs.frozen(eq=False)
class Compacting:
    """The folded dimension `dim` of a buffer, with room for `rows` rows in some bytes. `shape` are the extents of the
    whole buffer."""

    memory: Array
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    dim: int
    fold: int
    rows: int

    @property
    def nbytes(self) -> int:
        """The bytes that it takes."""
        return self.rows * row_bytes(self.dtype, self.shape, self.dim)

    def windows(self) -> tuple[Callable[[int, int], Array], Callable[[int, int], Array]]:
        """Functions that give the view of some rows, and a read-only one: of the coordinate of the first, and how many.

        Both are of the same rows: what one is asked for may make the views of both void.
        """
        rows, fold = self.rows, self.fold
        row = (*self.shape[: self.dim], *self.shape[self.dim + 1 :])
        stored = np.ndarray((rows, *row), self.dtype, self.memory[: rows * math.prod(row) * self.dtype.itemsize])
        begin = 0  # the coordinate of the first row that there is room for

        def move(first: int, count: int) -> None:
            """Have room for a window that leaves it."""
            nonlocal begin
            if count > fold:
                raise ExecutionError(f"a window of {count} rows is longer than its fold of {fold}")
            before = begin
            begin = first + count - fold if first + count > before + rows else first + fold - rows
            low, high = max(before, begin), min(before, begin) + rows
            if low < high:
                stored[low - begin : high - begin] = stored[low - before : high - before]

        def window_on(array: Array) -> Callable[[int, int], Array]:
            views: dict[int, dict[int, Array]] = {}
            index = (slice(None),) * self.dim

            def made(first: int, count: int) -> Array:
                if count <= 0:
                    return array[(*index, slice(0, 0))]
                if not begin <= first <= begin + rows - count:
                    move(first, count)
                at = first - begin
                view = array[(*index, slice(at, at + count))]
                if rows <= _MOST_KEPT:
                    if count not in views and len(views) >= _MOST_COUNTS:
                        views.clear()
                    views.setdefault(count, {})[at] = view
                return view

            def window(first: int, count: int) -> Array:
                try:
                    return views[count][first - begin]
                except KeyError:
                    return made(first, count)

            return window

        whole = np.moveaxis(stored, 0, self.dim)
        return window_on(whole), window_on(read_only(whole))
