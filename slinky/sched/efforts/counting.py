"""What operations on arrays cost, added up: how many there are, how long they compute, and what goes by meanwhile.

An operation goes over its arrays in lines; that is most of what it does, if it only adds or compares. It takes as long
as all of that takes to go by, from wherever it lies. What computes longer than that (`exp`, what is looked up, lines of
three elements) takes as long anywhere. So the two are counted apart: all, on what is near; and those that stream, with
what they move. What a loop goes over in a turn is at hand there, whatever there is around.

Times are told in the bytes that go by in them where these are near; so they hold for machines of all speeds. The
figures are those of NumPy 2 on processors of today, of one thread.

Invariant: sums over operations, each as often as the loops around it go; the order makes no difference but to what is
made and at hand at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np

from slinky.sched.efforts.arrays import CACHE_LINE, BufferOnly, ShapeOnly, Storage, broadcast, lines

FEW = 64
"""So many turns of a loop are few: it goes over colours, levels, taps."""

BY_INDEX = 52
"""As many bytes go by in the time in which an element is fetched by its index."""

SLOW = 48
"""As many in that in which an element of `exp` and its like is computed."""

CHOSEN = 12
"""As many in that in which an element is chosen of two."""

CAST = 6
"""As many in that in which an operation takes an element of another dtype than it computes with."""

LINE = 220
"""As many in that in which a loop over the elements of a line is begun."""

ELEMENTWISE = 3
"""As many times its bytes go by in the time in which an array is computed, if that is not slow."""

STRIDED = 2
"""How many times as long that takes where elements do not lie side by side."""

STREAMED = 0.75
"""What an array counts that is read, of all that goes by: where there are two, and one that is written, which counts
twice, three."""

OF_LINES = 4
"""How many operations take as long as one on arrays that do not lie as one line each, or are of several dtypes."""

OF_A_TURN = 1.0
"""How many take as long as to call a function of Python's, or to begin a turn of a loop."""

OF_AN_INDEX = 0.3
"""How many take as long as each index of a slice."""

OF_A_NUMBER = 0.2
"""How many take as long as arithmetic with numbers."""

_DEEPEST = 4
"""In lists in lists, so many deep, it is looked for arrays."""


@attrs.frozen
class Stream:
    """Operations that compute no longer than it takes to go over the elements: the bytes that they go over, and how
    many are at hand at a time, which is all there is, or what a loop goes over in a turn."""

    moved: float
    at_hand: float


@attrs.frozen
class Effort:
    """What a callback does to arrays of certain shapes."""

    calls: float | None
    """How long these operations take on little, told in the simplest ones that go in it; None where it loops over more
    than a few things: these may be fewer in a strip."""
    operations: float
    """How many operations it makes."""
    computed: float
    """How long it computes on what is near, told in the bytes that go by in it."""
    streams: tuple[Stream, ...]
    """What of that takes longer where it is not."""
    each: float = 0.0
    """How long it computes each element of what it is given, where it computes that for all of them, those of a halo
    included, and its result is cut out."""
    more_at_once: float = 0.0
    """How much longer it computes unless it is in strips along an axis of the first of its inputs."""
    axis: int | None = None
    """That axis."""

    def scaled(self, factor: float) -> Effort:
        """That of so many times as many elements."""
        streams = tuple([Stream(factor * each.moved, factor * each.at_hand) for each in self.streams])
        computed, more = factor * self.computed, factor * self.more_at_once
        return Effort(self.calls, self.operations, computed, streams, self.each, more, self.axis)

    def at_once(self, more: float, axis: int) -> Effort:
        """That of it where it computes so much longer, unless it is in strips along an axis."""
        return attrs.evolve(self, computed=self.computed + more, more_at_once=more, axis=axis)

    def along(self, axis: int | None) -> Effort:
        """That of it in strips along an axis of the first of its inputs; None: along none of that."""
        if axis is None or axis != self.axis:
            return self
        return attrs.evolve(self, computed=self.computed - self.more_at_once, more_at_once=0.0, axis=None)


class Counting:
    """One that counts, and knows which values can still be reached."""

    def __init__(self) -> None:
        self.calls = 0.0
        self.reached: list[object] = []
        """What the callback can still get at, beside what an operation has."""
        self._operations = self._computed = self._moved = self._made = 0.0
        self._times = 1.0
        self._longest = 0.0
        self._turn: dict[Storage, float] | None = None
        self._streams: list[Stream] = []

    def effort(self, given: float) -> Effort:
        """All that was found; so many bytes are read and written."""
        streams = list(self._streams)
        if self._moved:
            streams.append(Stream(self._moved, given + self._made))
        calls = self.calls if self._longest <= FEW else None
        return Effort(calls, self._operations, self._computed, tuple(streams))

    def call(self, times: float = 1) -> None:
        """Something that takes as long as so many operations on little."""
        self.calls += self._times * times

    def over(
        self,
        *inputs: object,
        result: object = None,
        calls: float = 1,
        computed: float = 0,
        times: float = 1,
        is_apart: bool = False,
    ) -> None:
        """An operation that goes over inputs and writes a result; `computed` is how long it computes besides.

        What is written anew counts twice, for its place is fetched first; what is changed in place is there. Where it
        goes along an axis along which elements lie apart, a cache line comes for each, if it has not stayed.
        """
        times *= self._times
        sizes: dict[Storage, float] = {}
        arrays = arrays_of(inputs)
        for array in arrays:
            sizes[array.storage] = max(sizes.get(array.storage, 0.0), array.bytes_that_come)
        if isinstance(result, ShapeOnly):
            sizes.setdefault(result.storage, 2 * result.bytes_that_come)
            arrays.append(result)
        count, is_strided = lines(arrays)
        in_lines = len(arrays) > 1 and (count > 1 or len({array.dtype for array in arrays}) > 1)
        self.calls += times * calls * (OF_LINES if in_lines else 1)
        elementwise = ELEMENTWISE * max([array.bytes for array in arrays], default=0)
        computed += LINE * count + elementwise * (STRIDED if is_strided else 1)
        self._computed += times * computed
        self._operations += times
        if is_apart:
            self._moved += times * CACHE_LINE * sum([array.size for array in arrays])
        elif computed <= STRIDED * elementwise:
            self._moved += times * STREAMED * sum(sizes.values())
            if self._turn is not None:
                for storage, size in sizes.items():
                    self._turn[storage] = max(self._turn.get(storage, 0.0), size)

    def made(self, shape: Sequence[int], dtype: np.dtype[Any], like: Sequence[ShapeOnly] = ()) -> ShapeOnly:
        """An array that is made, in the order of the first of some that has its shape."""
        array = ShapeOnly(tuple(shape), dtype)
        array.storage = Storage(array.bytes)
        found = {array.storage}
        _collect(self.reached, found, 0)
        self._made = max(self._made, sum([storage.bytes for storage in found]))
        example = next((each for each in like if each.shape == array.shape), None)
        return array if example is None else example.alike(dtype, array.storage)

    def result(
        self, shape: Sequence[int], dtype: np.dtype[Any], out: object, like: Sequence[ShapeOnly] = ()
    ) -> ShapeOnly:
        """Where a result is written: where it is said, else an array that is made."""
        out = out.array if isinstance(out, BufferOnly) else out
        return out if isinstance(out, ShapeOnly) else self.made(shape, dtype, like)

    def elementwise(
        self,
        inputs: Sequence[object],
        dtype: np.dtype[Any] | None = None,
        out: object = None,
        calls: float = 1,
        slow: float = 0,
        times: float = 1,
    ) -> ShapeOnly | None:
        """An operation element by element, of which each takes so long besides; None where it has no arrays."""
        arrays = arrays_of(inputs)
        calls += any(isinstance(each, (int, float)) for each in inputs)
        if not arrays and not isinstance(out, ShapeOnly):
            self.call(calls)
            return None
        found = joined(inputs) if dtype is None else dtype
        result = self.result(broadcast([array.shape for array in arrays]), found, out, arrays)
        cast = sum([array.size for array in (*arrays, result) if array.dtype != found]) if len(arrays) > 1 else 0
        computed = slow * result.size + CAST * cast
        self.over(*arrays, result=result, calls=calls, computed=computed, times=times)
        return result

    def cast(self, array: ShapeOnly, dtype: np.dtype[Any]) -> ShapeOnly:
        """A copy, of another dtype perhaps."""
        result = self.made(array.shape, dtype, (array,))
        self.over(array, result=result, computed=0 if array.dtype == dtype else CAST / 4 * array.size)
        return result

    def fetched(self, array: ShapeOnly, shape: Sequence[int], index: object, out: object = None) -> ShapeOnly:
        """What lies at some indices; these are converted where they are of another dtype."""
        if isinstance(index, ShapeOnly) and index.dtype.kind in "iu" and index.dtype != np.intp:
            index = self.cast(index, np.dtype(np.intp))
        result = self.result(shape, array.dtype, out)
        count = index.size if isinstance(index, ShapeOnly) else result.size
        self.over(index, result=result, calls=3, computed=BY_INDEX * min(count, result.size))
        return result

    @contextmanager
    def repeated(self, times: float) -> Iterator[None]:
        """What is counted inside happens so many times: the turns of a loop, which work on other things each."""
        self._longest = max(self._longest, times)
        self.call(times * OF_A_TURN)
        before, self._times = self._times, self._times * times
        try:
            if self._turn is None:
                with self._in_turns():
                    yield
            else:
                yield
        finally:
            self._times = before

    @contextmanager
    def _in_turns(self) -> Iterator[None]:
        around, self._moved = self._moved, 0.0
        self._turn = {}
        try:
            yield
            if self._moved:
                self._streams.append(Stream(self._moved, sum(self._turn.values())))
        finally:
            self._turn = None
            self._moved = around


def arrays_of(values: Sequence[object]) -> list[ShapeOnly]:
    """The arrays among some values."""
    values = [value.array if isinstance(value, BufferOnly) else value for value in values]
    return [value for value in values if isinstance(value, ShapeOnly)]


def joined(values: Sequence[object], divides: bool = False) -> np.dtype[Any]:
    """The dtype of what is computed of values; `divides`, if that is a quotient."""
    kinds = [array.dtype for array in arrays_of(values)] + [v.dtype for v in values if isinstance(v, np.generic)]
    found = np.result_type(*kinds) if kinds else np.dtype(float)
    is_float = divides or any(isinstance(value, float) for value in values)
    return np.dtype(float) if is_float and found.kind in "iub" else found


def _collect(value: object, found: set[Storage], depth: int) -> None:
    """The memory that a value reaches."""
    if isinstance(value, ShapeOnly):
        found.add(value.storage)
    elif isinstance(value, (list, tuple, dict)) and depth < _DEEPEST:
        for each in value.values() if isinstance(value, dict) else value:
            _collect(each, found, depth + 1)
