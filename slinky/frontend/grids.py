"""Arrays that a function makes of numbers alone: lazy ones, where they are large.

Idea. A function of a few numbers computes what it computes of grids that it makes itself: `np.linspace(-1, 1, n)`,
`np.mgrid[:n, :n]`, `np.zeros((n, n))`. As real arrays, they and all that comes of them would be computed while it is
traced. So lines of many numbers are lazy arrays there, and so is what has many bytes: long lines are computed by the
formulas of NumPy's, short ones are constants. What is short stays NumPy's: loops go through it, and ask for its values.
Where arguments are large, grids are constants of the trace, and what comes of them alone is computed once; but what is
full of a number is lazy, for something lazy may be written to it.

Invariant: elements are those of NumPy's functions, to the bit.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from slinky.frontend.arrays import LazyArray, made, placed
from slinky.frontend.calling import lifted
from slinky.frontend.indexed import indexed_array
from slinky.frontend.operations import Ramp
from slinky.frontend.reals import known_reals
from slinky.frontend.sizes import Length, Size, known
from slinky.frontend.tracing import SMALL_BYTES, Trace

LINE = 256
"""Lines of fewer numbers are NumPy's."""

_EXACT = 1 << 53
"""Floats count to that."""


def is_made(shape: Sequence[Any], dtype: Any, trace: Trace) -> bool:
    """Whether an array of a shape of integers that is full of a number is to be a lazy one."""
    if not trace.makes_arrays or not all(isinstance(each, (int, np.integer)) for each in shape):
        return False
    if min(shape, default=1) <= 0 or math.prod(map(int, shape)) * np.dtype(dtype).itemsize < SMALL_BYTES:
        return False
    trace.has_made = True
    return True


def are_many(shape: Sequence[Any], dtype: Any, trace: Trace) -> bool:
    """The same of a grid."""
    return trace.makes_grids and is_made(shape, dtype, trace)


def ramp(start: Length, step: int, count: Length, trace: Trace) -> LazyArray:
    """The integers from one on, in steps."""
    trace.has_made |= type(count) is int
    return placed(made(Ramp(start, step), [], [((count,), np.dtype(np.int64), False)], trace)[0], trace)


def line(numbers: Any, trace: Trace) -> Any:
    """Numbers that are there: a lazy array of them, where they are a line that is neither short nor long."""
    is_line = type(numbers) is np.ndarray and numbers.size >= LINE and numbers.nbytes < SMALL_BYTES
    if trace.makes_grids and is_line and numbers.size == max(numbers.shape) and numbers.dtype.kind in "iufc":
        numbers.flags.writeable, trace.has_made = False, True  # nobody else has it
        return lifted(numbers, trace)
    return indexed_array(numbers)


def counted(given: Sequence[Any], trace: Trace) -> LazyArray | None:
    """A long `np.arange` of integers or floats in steps forwards; None for others."""
    if not trace.makes_grids or not 1 <= len(given) <= 3 or not all(type(each) in (int, float) for each in given):
        return None
    start, stop = given[:2] if len(given) > 1 else (0, given[0])
    step = given[2] if len(given) > 2 else 1
    if not (step > 0 and math.isfinite(start) and math.isfinite(stop) and math.isfinite(step)):
        return None
    if all(type(each) is int for each in given):
        count = -(-(stop - start) // step)
        is_plain = max(abs(start), abs(stop) + step) < 1 << 62
        return ramp(start, step, count, trace) if is_plain and count * 8 >= SMALL_BYTES else None
    length = math.ceil((stop - start) / step) if (stop - start) / step < _EXACT else 0
    if start == 0 and math.copysign(1, start) < 0:  # NumPy has it as it is
        return None
    return _steps(float(start), float(start + step) - float(start), length, trace)


def spaced(start: Any, stop: Any, num: Any, endpoint: Any, trace: Trace) -> LazyArray | None:
    """A long `np.linspace` of floats; None for others."""
    if not trace.makes_grids or type(num) is not int or not {type(start), type(stop)} <= {int, float}:
        return None
    if num * 8 < SMALL_BYTES or type(endpoint) is not bool or not abs(start) + abs(stop) < math.inf:
        return None
    first, last = float(start), float(stop)
    step = (last - first) / (num - 1 if endpoint else num)
    found = _steps(first, step, num, trace) if step and math.isfinite(step) else None
    if found is None or not endpoint:
        return found
    at_the_end: Any = ramp(0, 1, num, trace) == num - 1  # type: ignore[comparison-overlap]
    return np.where(at_the_end, last, found)  # type: ignore[return-value]


def _steps(start: float, step: float, count: int, trace: Trace) -> LazyArray | None:
    if not SMALL_BYTES <= count * 8 < _EXACT:
        return None
    return ramp(0, 1, count, trace).astype(np.float64) * step + start  # type: ignore[no-any-return]


def crossed(lines: Sequence[Any], trace: Trace) -> tuple[Any, ...]:
    """Lines of which a large grid is made, the first one lazy, so that the grid is."""
    shape = [each.size for each in lines if isinstance(each, (np.ndarray, LazyArray))]
    if len(shape) < len(lines) or not lines or any(type(each) is LazyArray for each in lines):
        return tuple(lines)
    return (lifted(lines[0], trace), *lines[1:]) if are_many(shape, lines[0].dtype, trace) else tuple(lines)


def indices(dimensions: Sequence[Any], dtype: Any, sparse: Any, trace: Trace) -> Any:
    """A large `np.indices`, or one of sizes; None for others."""
    dims = tuple(each if type(each) is Size else operator.index(each) for each in dimensions)
    kind = np.dtype(dtype)
    has_sizes = any(type(each) is Size for each in dims)
    if not dims or kind.kind not in "iuf" or type(sparse) is not bool:
        return None
    if has_sizes and not all(each > 0 for each in dims):
        return None
    if not has_sizes and not are_many((1 if sparse else len(dims), *dims), kind, trace):
        return None
    laid = _across([ramp(0, 1, n, trace).astype(kind) for n in dims])
    return laid if sparse else np.stack(np.broadcast_arrays(*laid))


class Grid:
    """`np.ogrid` or `np.mgrid`: lazy where its ends are sizes, or it is large. `whole` makes it of its axes."""

    def __init__(self, trace: Trace, own: Any, whole: Callable[[tuple[Any, ...]], Any] | None = None) -> None:
        self._trace, self._own, self._whole = trace, own, whole

    def __getitem__(self, given: Any) -> Any:
        slices = given if isinstance(given, tuple) else (given,)
        if not all(isinstance(each, slice) for each in slices):
            return self._own[given]
        ends = [(0 if s.start is None else s.start, s.stop, 1 if s.step is None else s.step) for s in slices]
        if any(type(n) is Size for own in ends for n in own) and all(map(_is_forwards, ends)):
            axes = [_between(*own, self._trace) for own in ends]
            if not isinstance(given, tuple):
                return axes[0]
            return _across(axes) if self._whole is None else self._whole(_across(axes))
        numbers = [slice(*(known(n) if type(n) is Size else as_number(n, "a grid") for n in own)) for own in ends]
        if not isinstance(given, tuple):
            return line(self._own[numbers[0]], self._trace)
        if not self._trace.makes_grids:
            return self._own[tuple(numbers)]
        lines = np.ogrid[tuple(numbers)]
        if self._whole is None:
            return tuple([line(np.ascontiguousarray(each), self._trace) for each in lines])
        shape = np.broadcast_shapes(*(each.shape for each in lines))
        if not are_many((len(lines), *shape), lines[0].dtype, self._trace):
            return indexed_array(self._own[tuple(numbers)])
        return self._whole((lifted(np.ascontiguousarray(lines[0]), self._trace), *lines[1:]))


def as_number(given: Any, what: str) -> Any:
    """A number that is computed, as NumPy has it."""
    return given._as_numpy_has_it(what) if type(given) is LazyArray else known_reals(given)


def _across(axes: Sequence[Any]) -> tuple[Any, ...]:
    """Lines, each along an axis of its own."""
    count = len(axes)
    return tuple(axis[tuple(slice(None) if k == d else None for k in range(count))] for d, axis in enumerate(axes))


def _between(start: Length, stop: Length, step: int, trace: Trace) -> LazyArray:
    return ramp(start, step, (stop - start + step - 1) // step, trace)


def _is_forwards(ends: tuple[Any, Any, Any]) -> bool:
    """Whether there are numbers between two ends, in steps that are one."""
    start, stop, step = ends
    return {type(start), type(stop)} <= {int, Size} and type(step) is int and step > 0 and stop > start
