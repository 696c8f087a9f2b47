"""Reductions by pieces of what they reduce, with NumPy's bits: what they know of the elements so far.

Idea. NumPy adds the floats of an array in C order pairwise: halves by themselves, each rounded down to a multiple of 8
elements. Which elements make which half follows from how many there are in all. So of what came so far, the sums of
the halves that are complete are kept, at most one for each level of halves, and the elements of the small one that is
not: nothing else is needed to go on where the next piece begins. A half that lies in a piece is NumPy's own sum of it.

Where axes behind them stay, NumPy adds row after row, so the sums so far are all there is to know; but where these have
one element in all, the array is a row by itself. Extrema, truths and integers are combined in whatever order.

Invariant: by pieces along its first axis, in order, a reduction is what NumPy gives of the whole in C order, in every
bit (of zeros of both signs, or of several NaNs, an extremum may be another one).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from slinky.frontend.nodes import Array
from slinky.graph.buffers import Access, BufferExpr
from slinky.graph.reductions import Reduction
from slinky.ir.reducing import Combined, Reducing

STRETCH = 4096
"""The half of which a piece begins or ends in the middle is kept element by element if it is no longer than that."""
LEVELS = 64
"""There are fewer halves of halves of an array."""
_LONG = 1024
"""Rows of fewer elements are not added one by one: calls would take longer than to copy them."""
TOTAL = "total"
"""The argument that says how many elements are reduced to one."""

_ANY_ORDER = (np.logical_or, np.logical_and, np.bitwise_or, np.bitwise_and, np.bitwise_xor)


def streamed(callback: Reducing, source: Access, target: Access) -> Reduction | None:
    """How a function goes through an array by pieces along the first axis that it reduces; None where it does not."""
    combined = callback.combined()
    given, result = source.buffer.dtype, target.buffer.dtype
    if combined is None or combined.squared or combined.rooted:
        return None
    stages: _Pieces | _Rows | _Sums
    if combined.fewer is None and _is_in_any_order(combined, given, result):
        stages = _Pieces(result, combined.ufunc, combined.axes)
    elif combined.ufunc is not np.add or given != result or result not in (np.float32, np.float64):
        return None
    elif combined.axes == tuple(range(len(combined.axes))):
        stages = (_Rows if combined.wide else _Sums)(result, combined.fewer is not None)
    else:
        return None
    return Reduction(
        {f"along_{combined.axes[0]}": combined.axes[0]},
        [Access(BufferExpr("known", stages.state, target.buffer.rank), target.box)],
        stages.init,
        stages.update,
        stages.finish,
        positions=True,
    )


def _is_in_any_order(combined: Combined, given: np.dtype[Any], result: np.dtype[Any]) -> bool:
    """Whether pieces may be combined as they come."""
    if combined.ufunc in (np.maximum, np.minimum):
        return given == result
    return combined.ufunc in _ANY_ORDER or (result.kind in "biu" and given.kind in "biu")


@attrs.frozen(eq=False)
class _Pieces:
    """A ufunc of pieces, in any order; there is at least one."""

    state: np.dtype[Any]
    ufunc: np.ufunc
    axes: tuple[int, ...]

    def init(self, known: Array, **_: int) -> None:
        known[...] = 0

    def update(self, old: Array, piece: Array, new: Array, *, start: int, **_: int) -> None:
        own = self.ufunc.reduce(piece, axis=self.axes, dtype=new.dtype)
        new[...] = self.ufunc(old, own) if start else own

    def finish(self, known: Array, result: Array, **_: int) -> None:
        result[...] = known


@attrs.frozen(eq=False)
class _Rows:
    """Sums of rows, one after the other, and means, where they `divide`."""

    state: np.dtype[Any]
    divide: bool

    def init(self, known: Array, **_: int) -> None:
        known[...] = 0

    def update(self, old: Array, piece: Array, new: Array, *, start: int, **_: int) -> None:
        rows = piece.reshape(-1, *new.shape)
        if start and new.size < _LONG:
            rows = np.concatenate([old[None], rows])
        if new.size == 1:  # NumPy takes a column for a row
            new[...] = np.add.reduce(np.broadcast_to(rows.reshape(-1, 1), (len(rows), 2)), axis=0)[0]
        elif not start or new.size < _LONG:
            np.add.reduce(rows, axis=0, out=new)
        else:
            np.add(old, rows[0], out=new)
            for row in rows[1:]:
                np.add(new, row, out=new)

    def finish(self, known: Array, result: Array, *, total: int, **_: int) -> None:
        if self.divide:
            np.true_divide(known, np.intp(total), out=result, casting="unsafe")
        else:
            result[...] = known


@attrs.frozen(eq=False)
class _Sums:
    """Sums of floats, and means, where they `divide`: in a state, sums of halves from the largest on, and elements."""

    dtype: np.dtype[Any]
    divide: bool

    parts: np.dtype[Any] = attrs.field(init=False)
    state: np.dtype[Any] = attrs.field(init=False)
    """The dtype of what is known: so many bytes, of which nobody else knows anything."""

    def __attrs_post_init__(self) -> None:
        numbers = [("sums", self.dtype, (LEVELS,)), ("rest", self.dtype, (STRETCH,))]
        parts = np.dtype([*numbers, ("halves", np.int64), ("held", np.int64)])
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "state", np.dtype((np.void, parts.itemsize)))

    def _seen(self, known: Array) -> Any:
        return known.reshape(1).view(self.parts)[0]

    def init(self, known: Array, **_: int) -> None:
        known[...] = np.zeros((), self.state)

    def update(self, old: Array, piece: Array, new: Array, *, start: int, total: int, **_: int) -> None:
        before, after = self._seen(old), self._seen(new)
        first = start * (piece.size // len(piece))
        walk = _Walk(piece.reshape(-1), first, before["rest"][: before["held"]], iter(before["sums"]))
        found = walk.sum_of(0, total)
        if found is not None:
            walk.halves.append(found)
        after["halves"] = len(walk.halves)
        after["sums"][: len(walk.halves)] = walk.halves[::-1]
        after["held"] = len(walk.rest)
        after["rest"][: len(walk.rest)] = walk.rest

    def finish(self, known: Array, result: Array, *, total: int, **_: int) -> None:
        found = self._seen(known)["sums"][0]
        result[...] = np.float64(found) / np.intp(total) if self.divide else found


class _Walk:
    """A way through the halves of an array, given a piece of its elements: `known` are the sums of the halves that are
    complete, from the largest on, and `held` the elements that came before the piece, of a stretch that is not. What
    is known after the piece ends up in `halves`, from the smallest on, and in `rest`."""

    def __init__(self, piece: Array, start: int, held: Array, known: Iterator[Any]) -> None:
        self.piece, self.start, self.end = piece, start, start + len(piece)
        self.held, self.known = held, known
        self.halves: list[Any] = []
        self.rest: Array = piece[:0]

    def sum_of(self, first: int, count: int) -> Any:
        """The sum of so many elements, from one on, of which some come in the piece or later; None if some do later."""
        last = first + count
        if self.start <= first and last <= self.end:
            return np.add.reduce(self.piece[first - self.start : last - self.start])
        if count <= STRETCH:
            own = self.piece[max(first - self.start, 0) : max(last - self.start, 0)]
            found = np.concatenate([self.held, own]) if first < self.start else own
            if last <= self.end:
                return np.add.reduce(found)
            self.rest = found
            return None
        middle = first + count // 2 - count // 2 % 8
        left = next(self.known) if middle <= self.start else self.sum_of(first, middle - first)
        if left is None:
            return None
        right = self.sum_of(middle, last - middle) if middle < self.end else None
        if right is None:
            self.halves.append(left)
            return None
        return left + right
