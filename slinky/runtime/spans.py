"""A dimension of a call in all iterations of a nest: how far it extends, in sum, how often it does, and from where to
where.

Where both ends go evenly with one loop, at the same rate, and are limited as clamping limits them, all of that has a
closed form: only the first and the last iterations have less than the full extent, which falls by the rate in each.

Invariant: what is closed is what the arrays say.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from slinky.runtime.iterations import exact_sum, largest_of, loops_of, smallest_of
from slinky.runtime.ramps import Array, Number, Ramp, dense


class Span:
    """A dimension of a call.

    `sum` is that of its extents, none of which is less than 0, and `count` in how many of its `iterations` it is not
    empty: in those of the `loops` that it goes by, a bit for each. If it is as long in all iterations, `always` is how
    long, and the others are those of one iteration; else it is None.
    """

    __slots__ = ("_extent", "_hull", "always", "count", "high", "iterations", "loops", "low", "sum")

    def __init__(self, low: Number, high: Number, always: int | None, iterations: int, total: int, count: int) -> None:
        self.low = low
        self.high = high
        self.always = always
        self.iterations = iterations
        self.sum = total
        self.count = count
        self.loops = 0
        self._extent: Array | None = None
        self._hull: tuple[int, int] | None = None

    def extent(self) -> int | Array:
        """How long it is in each iteration, at least 0."""
        if self.always is not None:
            return self.always
        if self._extent is None:
            self._extent = cast(Array, np.maximum(dense(self.high) - dense(self.low) + 1, 0))
        return self._extent

    def condition(self) -> Array | None:
        """In which iterations it is not empty; None if in all."""
        if self.count == self.iterations:
            return None
        return cast(Array, self.extent() > 0)

    def hull(self) -> tuple[int, int]:
        """The first and the last coordinate in the iterations in which it is not empty: there is one."""
        if self._hull is None:
            low, high, where = dense(self.low), dense(self.high), self.condition()
            if where is not None:
                low, high = _chosen(low, where), _chosen(high, where)
            self._hull = smallest_of(low), largest_of(high)
        return self._hull


def span(low: Number, high: Number) -> Span | None:
    """The dimension with these ends; None if it is empty in all iterations."""
    if isinstance(low, int) and isinstance(high, int):
        if high < low:
            return None
        found = Span(low, high, high - low + 1, 1, high - low + 1, 1)
        found._hull = (low, high)
        return found
    if not isinstance(low, np.ndarray) and not isinstance(high, np.ndarray) and _go_alike(low, high):
        return _closed(low, high)
    return _of_arrays(low, high)


def _of_arrays(low: Number, high: Number) -> Span | None:
    extents = cast(Array, dense(high) - dense(low) + 1)  # one of them is no number, so neither is the difference
    smallest, largest = int(extents.min()), int(extents.max())
    if largest <= 0:
        return None
    if smallest == largest:
        found = Span(low, high, largest, 1, largest, 1)
    else:
        count = extents.size if smallest > 0 else int(np.count_nonzero(extents > 0))
        extents = np.maximum(extents, 0)
        found = Span(low, high, None, extents.size, exact_sum(extents), count)
        found._extent = extents
    found.loops = loops_of(low) | loops_of(high)
    return found


def _chosen(value: int | Array, where: Array) -> int | Array:
    """The values of iterations in which a condition holds."""
    if isinstance(value, int):
        return value
    return cast(Array, (value if value.shape == where.shape else np.broadcast_to(value, where.shape))[where])


# ----------------------------------------------------------------------------------------------------------------
# Closed forms
# ----------------------------------------------------------------------------------------------------------------


def _go_alike(low: int | Ramp, high: int | Ramp) -> bool:
    """Whether there is a closed form for these ends, at least one of which is a ramp."""
    if isinstance(low, Ramp):
        if low.slope < 1 or low.most is not None:
            return False
        if isinstance(high, int):
            return True
        return high.axis is low.axis and high.slope == low.slope and high.least is None
    return not isinstance(high, Ramp) or (high.slope > 0 and high.least is None)


def _closed(low: int | Ramp, high: int | Ramp) -> Span | None:
    """The dimension with these ends, by a closed form; None if it is empty in all iterations.

    The ends are max(a + s * i, c) and min(b + s * i, d), in iterations 0 to n - 1, with s at least 1; some of a, b, c
    and d may be missing. So the extent is the least of four: b - a + 1 and d - c + 1, which stay, d - (a + s * i) + 1,
    which falls, and b + s * i - c + 1, which rises. The latter two add up to as much as the former two do, so where one
    of them is less than both that stay, the other one is more: what is missing is summed for each alone.
    """
    moving = cast(Ramp, low if isinstance(low, Ramp) else high)
    s, n = moving.slope, moving.axis.count
    a, c = (low.base, low.least) if isinstance(low, Ramp) else (None, low)
    b, d = (high.base, high.most) if isinstance(high, Ramp) else (None, high)
    stays = [last - first + 1 for first, last in ((a, b), (c, d)) if first is not None and last is not None]
    rises = None if b is None or c is None else b - c + 1  # in the first iteration
    falls = None if a is None or d is None else d - a + 1
    first = 0 if rises is None or rises > 0 else -((rises - 1) // s)
    last = n - 1 if falls is None else min((falls - 1) // s, n - 1)
    if first > last or (stays and min(stays) < 1):
        return None
    count = last - first + 1
    moves = []  # what is there where it is least
    if rises is not None:
        moves.append(rises + s * first)
    if falls is not None:
        moves.append(falls - s * last)
    full = min(stays) if stays else moves[0] + s * (count - 1)  # if nothing stays, it is the most that one comes to
    missing = sum([_missing(full - there, s, count) for there in moves])
    if count == n and not missing:
        found = Span(low, high, full, 1, full, 1)
    else:
        found = Span(low, high, None, n, count * full - missing, count)
    found.loops = 1 << moving.axis.depth
    found._hull = (low if isinstance(low, int) else low.at(first), high if isinstance(high, int) else high.at(last))
    return found


def _missing(most: int, less: int, count: int) -> int:
    """The sum of what is positive among `count` numbers that begin at `most` and become less."""
    if most <= 0:
        return 0
    steps = min((most - 1) // less + 1, count)
    return steps * most - less * (steps * (steps - 1) // 2)
