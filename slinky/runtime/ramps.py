"""Values that go evenly with one loop, without an element for each of its iterations.

Most ends of boxes are such: the loop's variable and a constant, at least or at most something else. What is counted of
them, sums and numbers of iterations, has a closed form, in whole numbers that have no end. What is not of this form is
made an array of, an element per iteration.

Invariant: a ramp and its array say the same.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]

MOST_ITERATIONS = 1 << 16
"""So many elements may an array have that is kept or made of several."""

MOST_TOGETHER = 1 << 22
"""So many iterations may a nest have, of which one piece of the outermost loop is taken: no array can have more."""


class TooManyError(Exception):
    """There are more iterations than can be looked at one by one."""


class Axis:
    """A loop, as the axis of arrays: with `count` iterations, inside of `depth` others, `together` in all of these."""

    __slots__ = ("_numbers", "count", "depth", "dtype", "together")

    def __init__(self, count: int, depth: int, together: int, dtype: Any) -> None:
        self.count = count
        self.depth = depth
        self.together = together
        self.dtype = dtype
        self._numbers: Array | None = None

    def numbers(self) -> Array:
        """The iterations, from 0 on. Raises `TooManyError` where they are too many for an array."""
        if self._numbers is None:
            if self.count > MOST_ITERATIONS or self.together > MOST_TOGETHER:
                raise TooManyError
            self._numbers = np.arange(self.count, dtype=self.dtype).reshape((-1,) + (1,) * self.depth)
        return self._numbers


class Ramp:
    """`base + slope * i` in iteration i, but at least `least` and at most `most` where these are not None.

    The slope is not 0, and `least` is not more than `most`. Sums, differences and multiples are ramps, numbers or
    arrays, whatever says them.
    """

    __slots__ = ("axis", "base", "least", "most", "slope")
    __array_ufunc__ = None  # so that arrays leave operators to ramps

    def __init__(self, axis: Axis, base: int, slope: int, least: int | None = None, most: int | None = None) -> None:
        self.axis = axis
        self.base = base
        self.slope = slope
        self.least = least
        self.most = most

    def at(self, iteration: int) -> int:
        """The value in an iteration."""
        value = self.base + self.slope * iteration
        if self.most is not None and value > self.most:
            return self.most
        return self.least if self.least is not None and value < self.least else value

    def smallest(self) -> int:
        """The least value."""
        return self.at(0 if self.slope > 0 else self.axis.count - 1)

    def largest(self) -> int:
        """The greatest value."""
        return self.at(self.axis.count - 1 if self.slope > 0 else 0)

    def array(self) -> Array:
        """An element per iteration. Raises `TooManyError` where there are too many."""
        values = self.base + self.slope * self.axis.numbers()
        if self.most is not None:
            values = np.minimum(values, self.most)
        return cast(Array, values if self.least is None else np.maximum(values, self.least))

    # Arithmetic ---------------------------------------------------------------------------------------------------

    def __add__(self, other: int | Array | Ramp) -> Number:
        if isinstance(other, int):
            least, most = self.least, self.most
            return Ramp(
                self.axis,
                self.base + other,
                self.slope,
                None if least is None else least + other,
                None if most is None else most + other,
            )
        if isinstance(other, Ramp):
            plain = self.least is self.most is other.least is other.most is None
            if other.axis is not self.axis or not plain:
                return cast(Array, self.array() + other.array())
            slope = self.slope + other.slope
            return Ramp(self.axis, self.base + other.base, slope) if slope else self.base + other.base
        return cast(Array, self.array() + other)

    __radd__ = __add__

    def __mul__(self, factor: int | Array | Ramp) -> Number:
        if not isinstance(factor, int):
            return cast(Array, self.array() * dense(factor))
        if not factor:
            return 0
        least = None if self.least is None else self.least * factor
        most = None if self.most is None else self.most * factor
        if factor < 0:
            least, most = most, least
        return Ramp(self.axis, self.base * factor, self.slope * factor, least, most)

    __rmul__ = __mul__

    def __sub__(self, other: int | Array | Ramp) -> Number:
        if isinstance(other, Ramp):
            return self._less(other)
        return self + -other

    def __rsub__(self, other: int | Array) -> Number:
        return self * -1 + other

    def _less(self, other: Ramp) -> Number:
        """The difference of two ramps. That of two that go alike goes with what limits one of them."""
        if other.axis is self.axis and other.slope == self.slope:
            apart = self.base - other.base
            if self.least is self.most is other.least is other.most is None:
                return apart
            if other.least is other.most is None:  # of what is limited, the difference is limited on the way
                return _limited_by(apart, self, other, 1)
            if self.least is self.most is None:
                return _limited_by(apart, other, self, -1)
        return self + other * -1

    def __floordiv__(self, divisor: int | Array | Ramp) -> Number:
        if isinstance(divisor, int) and self.slope % divisor == 0:
            # To divide keeps order, so what limits the values limits the quotients.
            least = None if self.least is None else self.least // divisor
            most = None if self.most is None else self.most // divisor
            if divisor < 0:
                least, most = most, least
            return Ramp(self.axis, self.base // divisor, self.slope // divisor, least, most)
        return cast(Array, self.array() // dense(divisor))

    def __rfloordiv__(self, other: int | Array) -> Number:
        return cast(Array, other // self.array())


Number: TypeAlias = int | Array | Ramp
"""A value that is the same in all iterations, or one for each."""


def _limited_by(apart: int, limited: Ramp, free: Ramp, sign: int) -> Number:
    """`sign` times (limited - free), of two ramps that go alike, the first of which is as far apart from the other as
    `sign * apart` says where nothing limits it."""
    if limited.least is not None and limited.most is not None:
        return cast(Array, sign * (limited.array() - free.array()))
    # Where something limits it from above, the difference is the smaller of two: that of the limit, and what it is.
    limit = limited.most if limited.least is None else limited.least
    assert limit is not None
    plain = Ramp(free.axis, limit - free.base, -free.slope) * sign
    return least(plain, apart) if (limited.least is None) == (sign > 0) else greatest(plain, apart)


def dense(value: Number) -> int | Array:
    """The same, with arrays in place of ramps."""
    return value.array() if isinstance(value, Ramp) else value


def least(a: Number, b: Number) -> Number:
    """The lesser in each iteration."""
    if isinstance(a, int):
        if isinstance(b, int):
            return b if b < a else a
        a, b = b, a
    if a is b:
        return a
    if isinstance(a, Ramp):
        found = _least_of_ramp(a, b)
        if found is not None:
            return found
    return cast(Array, np.minimum(dense(a), dense(b)))


def greatest(a: Number, b: Number) -> Number:
    """The greater in each iteration."""
    if isinstance(a, int):
        if isinstance(b, int):
            return b if b > a else a
        a, b = b, a
    if a is b:
        return a
    if isinstance(a, Ramp):
        found = _greatest_of_ramp(a, b)
        if found is not None:
            return found
    return cast(Array, np.maximum(dense(a), dense(b)))


def _least_of_ramp(ramp: Ramp, other: Number) -> Number | None:
    """The lesser of a ramp and something else, as a ramp or a number; None where it is none."""
    if isinstance(other, int):
        if ramp.largest() <= other:
            return ramp
        if ramp.smallest() >= other:
            return other
        return Ramp(ramp.axis, ramp.base, ramp.slope, ramp.least, other)
    if not isinstance(other, Ramp) or other.axis is not ramp.axis or other.slope != ramp.slope:
        return None
    if ramp.least is other.least is None:
        most = ramp.most if other.most is None else other.most if ramp.most is None else min(ramp.most, other.most)
        return Ramp(ramp.axis, min(ramp.base, other.base), ramp.slope, None, most)
    return None


def _greatest_of_ramp(ramp: Ramp, other: Number) -> Number | None:
    """The greater of a ramp and something else, as a ramp or a number; None where it is none."""
    if isinstance(other, int):
        if ramp.smallest() >= other:
            return ramp
        if ramp.largest() <= other:
            return other
        return Ramp(ramp.axis, ramp.base, ramp.slope, other, ramp.most)
    if not isinstance(other, Ramp) or other.axis is not ramp.axis or other.slope != ramp.slope:
        return None
    if ramp.most is other.most is None:
        low = ramp.least if other.least is None else other.least if ramp.least is None else max(ramp.least, other.least)
        return Ramp(ramp.axis, max(ramp.base, other.base), ramp.slope, low, None)
    return None
