"""What a callback does to arrays of given shapes, read off its source: how many operations, and what these cost.

Invariant: no callback is run, and nothing rests on what is found but how good a schedule is. Of what cannot be told,
nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import FunctionType
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from slinky.ir.returning import Returning
from slinky.sched.callbacks import is_of_numpy
from slinky.sched.efforts.arrays import BufferOnly, ShapeOnly
from slinky.sched.efforts.counting import STREAMED, Counting, Effort, Stream
from slinky.sched.efforts.numpy_functions import Value
from slinky.sched.efforts.reading import Reading, UnclearError

__all__ = ["Effort", "Stream", "effort_of", "effort_of_a_copy", "effort_of_a_filter", "found_far"]

Shaped: TypeAlias = "tuple[tuple[int, ...], np.dtype[Any]]"
"""The shape and the dtype of an array."""


def effort_of(
    function: object,
    inputs: Sequence[Shaped],
    outputs: Sequence[Shaped],
    begins: Sequence[tuple[int, ...]] | None = None,
) -> Effort | None:
    """What a callback does that is called with these inputs and then these outputs; with buffers, where it is told
    where they begin. None where it is no function with a source, and no ufunc."""
    called = function.function if isinstance(function, Returning) else function
    if not isinstance(called, np.ufunc) and (not isinstance(called, FunctionType) or is_of_numpy(called)):
        return None
    known = _KNOWN.setdefault(called, {}) if isinstance(called, FunctionType) else {}
    key = (called is function, tuple(inputs), tuple(outputs), begins and tuple(begins))
    if key not in known:
        if len(known) >= _MOST_KNOWN:
            known.clear()
        known[key] = _effort_of(function, called, inputs, outputs, begins)
    return known[key]


_KNOWN: WeakKeyDictionary[FunctionType, dict[object, Effort | None]] = WeakKeyDictionary()
_MOST_KNOWN = 64
"""For so many shapes what was found of a function is remembered."""


def _effort_of(
    function: object,
    called: object,
    inputs: Sequence[Shaped],
    outputs: Sequence[Shaped],
    begins: Sequence[tuple[int, ...]] | None,
) -> Effort | None:
    arrays = [ShapeOnly(*each) for each in (*inputs, *outputs)]
    given: list[Value] = [*arrays]
    if begins is not None:
        given = [BufferOnly(array, begin) for array, begin in zip(arrays, begins, strict=True)]
    counting = Counting()
    try:
        if isinstance(function, Returning):
            found = Reading(counting).called(called, given[: len(inputs)], {})
            results = found if isinstance(found, tuple) else (found,)
            for result, target in zip(results, arrays[len(inputs) :], strict=False):
                counting.over(result, result=target)
        else:
            Reading(counting).called(called, given, {})
    except (UnclearError, RecursionError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None  # what is wrong with it, a run will tell
    return counting.effort(sum([array.bytes for array in arrays]))


def effort_of_a_copy(inputs: Sequence[Shaped], size: int, calls: int) -> Effort:
    """That of what goes over all of its inputs once, and writes so many bytes."""
    read = sum([math.prod(shape) * dtype.itemsize for shape, dtype in inputs])
    moved = STREAMED * (read + 2 * size)
    return Effort(calls, calls, moved, (Stream(moved, read + size),))


def effort_of_a_filter(given: Shaped, made: Shaped, each: float, axis: int | None) -> Effort:
    """That of what computes each element of what it is given so long, those of its halo included, and goes line by line
    along an axis, if it goes along one."""
    size = math.prod(given[0])
    near = Effort(_CALLS_OF_A_FILTER, 1, each * size, (), each)
    far = found_far(given, made, axis)
    return near.at_once(far * size, axis) if far and axis is not None else near


def found_far(given: Shaped, made: Shaped, axis: int | None) -> float:
    """How much longer each element takes where one goes line by line along an axis: if the lines of what is read and of
    what is written go through more pages of memory than a processor keeps in mind, it looks for each again."""
    pages = 0.0
    for shape, dtype in (given, made):
        if axis is None or not 0 <= axis < len(shape) - 1:
            return 0.0
        apart = dtype.itemsize * math.prod(shape[axis + 1 :])
        pages += shape[axis] * min(apart / _PAGE, 1.0)
    return _FOUND_AGAIN * min(max((pages - _PAGES_KEPT) / _PAGES_ABOVE, 0.0), 1.0)


_PAGE = 4096
"""The bytes of a page of memory."""

_FOUND_AGAIN = 370
"""How long it takes to find a page, told as efforts are: 8 ns."""

_PAGES_KEPT, _PAGES_ABOVE = 2000, 3000
"""Up to so many pages all are kept, and of so many more none. Measured: of 2,400 pages nothing, of 3,000 a quarter, of
5,000 nearly all, of 12,000 no more than that."""


_CALLS_OF_A_FILTER = 12
"""How long it takes to call a filter on little, told in the simplest operations that go in it."""
