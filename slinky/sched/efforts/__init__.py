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

__all__ = ["Effort", "Stream", "effort_of", "effort_of_a_copy", "effort_of_a_filter"]

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


def effort_of_a_filter(elements: int, each: float) -> Effort:
    """That of what computes each element of what it is given so long, those of its halo included."""
    return Effort(_CALLS_OF_A_FILTER, 1, each * elements, (), each)


_CALLS_OF_A_FILTER = 12
"""How long it takes to call a filter on little, told in the simplest operations that go in it."""
