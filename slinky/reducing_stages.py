"""What reductions do with what they know so far: to begin, with one more piece, with two parts, and at the end.

Each class is a reduction; what a pipeline calls are its methods, with states and pieces as `sl.Reduction` says. They
have names, so that pipelines with them can be pickled.

Invariant: objects never change, and what does the same is mostly one object (`kept`): methods of two are not the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

Array = np.ndarray[Any, Any]


@lru_cache(maxsize=256, typed=True)
def kept(kind: Callable[..., Any], *given: Any) -> Any:
    """The object of this kind that is made of what is given."""
    return kind(*given)


class _Kept:
    """What is the same object when it comes out of a pickle."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        fields: Any = attrs.fields(type(self))  # type: ignore[arg-type]
        return kept, (type(self), *(getattr(self, field.name) for field in fields))


def finish_alone(state: Array, out: Array) -> None:
    """The state is the result."""
    out[...] = state


@attrs.frozen
class Combine(_Kept):
    """Elements combined by a ufunc along some axes, of which `identity` is the result for none."""

    ufunc: np.ufunc
    axes: tuple[int, ...]
    identity: Any

    def init(self, state: Array) -> None:
        """Of no elements."""
        state[...] = self.identity

    def update(self, old: Array, piece: Array, new: Array) -> None:
        """With some more elements."""
        self.ufunc.reduce(piece, axis=self.axes, dtype=new.dtype, out=new)
        self.ufunc(old, new, out=new)

    def take_one_more(self, old: Array, piece: Array, new: Array, *, start: int) -> None:
        """The same, told where they begin."""
        self.update(old, piece, new)

    def finish_unless_none(self, state: Array, out: Array, *, count: int) -> None:
        """The result, of some elements."""
        if not count:
            raise ValueError(f"{self.ufunc.__name__} of no elements: there is none")
        finish_alone(state, out)

    def merge(self, first: Array, second: Array, new: Array) -> None:
        """Of two parts."""
        self.ufunc(first, second, out=new)

    def merge_some(self, first: Array, second: Array, new: Array, *, before: int, more: int) -> None:
        """The same, told how many there are in each."""
        self.merge(first, second, new)

    def divide(self, state: Array, out: Array, *, count: int) -> None:
        """The result, by how many elements there are."""
        np.divide(state, count, out=out)


@attrs.frozen
class Variance(_Kept):
    """The mean and the sum of squares of what is apart from it, along some axes."""

    axes: tuple[int, ...]
    dtype: np.dtype[Any]
    ddof: int

    def init(self, mean: Array, squares: Array) -> None:
        """Of no elements."""
        mean[...] = 0
        squares[...] = 0

    def update(
        self, mean: Array, squares: Array, piece: Array, new_mean: Array, new_squares: Array, *, start: int
    ) -> None:
        """With some more elements."""
        own = math.prod(piece.shape[axis] for axis in self.axes)
        of_piece = np.empty_like(new_mean), np.empty_like(new_squares)
        np.mean(piece, axis=self.axes, dtype=self.dtype, out=of_piece[0])
        np.var(piece, axis=self.axes, dtype=self.dtype, out=of_piece[1])
        of_piece[1][...] *= own
        self.merge(mean, squares, *of_piece, new_mean, new_squares, before=start, more=own)

    def merge(
        self,
        mean: Array,
        squares: Array,
        other_mean: Array,
        other_squares: Array,
        new_mean: Array,
        new_squares: Array,
        *,
        before: int,
        more: int,
    ) -> None:
        """Of two parts."""
        apart = other_mean - mean
        np.add(other_squares, squares, out=new_squares)
        new_squares += apart * apart * (before * (more / (before + more)))
        np.add(mean, apart * (more / (before + more)), out=new_mean)

    def finish(self, mean: Array, squares: Array, out: Array, *, count: int) -> None:
        """The variance."""
        np.divide(squares, max(count - self.ddof, 0), out=out)


@attrs.frozen
class Place(_Kept):
    """The best element along an axis, and where it is: the first of several."""

    what: str
    find: Callable[..., Any]
    is_better: np.ufunc
    axis: int
    has_nan: bool

    def whole(self, given: Array, out: Array) -> None:
        """The place in all of an array."""
        out[...] = self.find(given, axis=self.axis)

    def init(self, best: Array, at: Array) -> None:
        """Of no elements."""
        best[...] = np.zeros((), best.dtype)
        at[...] = 0

    def update(self, best: Array, at: Array, piece: Array, new_best: Array, new_at: Array, *, start: int) -> None:
        """With some more elements."""
        own = np.asarray(self.find(piece, axis=self.axis))
        found = np.take_along_axis(piece, np.expand_dims(own, self.axis), self.axis)
        new_best[...] = found.squeeze(self.axis)
        np.add(own, start, out=new_at)
        if start:
            kept = ~self._is_taken(best, new_best)
            np.copyto(new_best, best, where=kept)
            np.copyto(new_at, at, where=kept)

    def _is_taken(self, best: Array, other: Array) -> Any:
        """Where the other is better, which comes later."""
        taken = self.is_better(other, best)
        return (taken | np.isnan(other)) & ~np.isnan(best) if self.has_nan else taken

    def merge(
        self,
        best: Array,
        at: Array,
        other: Array,
        other_at: Array,
        new_best: Array,
        new_at: Array,
        *,
        before: int,
        more: int,
    ) -> None:
        """Of two parts."""
        taken = self._is_taken(best, other) if before else np.True_
        new_best[...] = np.where(taken, other, best)
        new_at[...] = np.where(taken, other_at + before, at)

    def finish(self, best: Array, at: Array, out: Array, *, count: int) -> None:
        """The place, in some elements."""
        if not count:
            raise ValueError(f"{self.what} of no elements: there is none")
        out[...] = at


@attrs.frozen
class Dot(_Kept):
    """The product of two matrices."""

    def whole(self, left: Array, right: Array, out: Array) -> None:
        """All of it."""
        np.matmul(left, right, out=out)

    def init(self, state: Array) -> None:
        """Of no elements."""
        state.fill(0)

    def update(self, old: Array, left: Array, right: Array, new: Array) -> None:
        """With some more columns and rows."""
        np.matmul(left, right, out=new)
        new += old

    def merge(self, first: Array, second: Array, new: Array) -> None:
        """Of two parts."""
        np.copyto(new, first + second)


@attrs.frozen
class SoftmaxDot(_Kept):
    """Means that are weighted by a softmax: their sum, the largest score, and all weights in relation to that."""

    def whole(self, given: Array, rows: Array, out: Array) -> None:
        """All of it."""
        weights = np.exp(given - given.max(axis=1, keepdims=True))
        np.matmul(weights, rows, out=out)
        out /= weights.sum(axis=1, keepdims=True)

    def init(self, total: Array, largest: Array, weight: Array) -> None:
        """Of no scores."""
        total.fill(0)
        largest.fill(-np.inf)
        weight.fill(0)

    def update(
        self,
        total: Array,
        largest: Array,
        weight: Array,
        given: Array,
        rows: Array,
        new_total: Array,
        new_largest: Array,
        new_weight: Array,
    ) -> None:
        """With some more scores and rows."""
        np.maximum(largest, given.max(axis=1), out=new_largest)
        nothing = np.isneginf(new_largest)  # no score so far has a weight
        base = np.where(nothing, 0, new_largest)
        scale = np.exp(largest - base)
        weights = np.exp(given - base[:, None])
        np.matmul(weights, rows, out=new_total)
        new_total += total * scale[:, None]
        np.add(weight * scale, weights.sum(axis=1), out=new_weight)

    def merge(
        self,
        total: Array,
        largest: Array,
        weight: Array,
        other_total: Array,
        other_largest: Array,
        other_weight: Array,
        new_total: Array,
        new_largest: Array,
        new_weight: Array,
    ) -> None:
        """Of two parts."""
        np.maximum(largest, other_largest, out=new_largest)
        base = np.where(np.isneginf(new_largest), 0, new_largest)
        scale, other_scale = np.exp(largest - base), np.exp(other_largest - base)
        new_total[...] = total * scale[:, None] + other_total * other_scale[:, None]
        new_weight[...] = weight * scale + other_weight * other_scale

    def finish(self, total: Array, largest: Array, weight: Array, out: Array) -> None:
        """The means."""
        with np.errstate(invalid="ignore"):
            np.divide(total, weight[:, None], out=out)
