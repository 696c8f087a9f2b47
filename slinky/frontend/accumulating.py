"""Running sums and products along axes whose elements lie apart, in fewer passes over memory than NumPy takes.

Idea. NumPy goes along the axis once for each of the other elements, so that each step is in another line of the cache,
and in few lines where rows are a power of two apart. Here all elements of one step are computed at once, from those
of the step before: the same additions, in the same order. Where these have something to say about errors, NumPy
computes all anew, and says it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

RUNNING: dict[Callable[..., Any], np.ufunc] = {np.cumsum: np.add, np.cumprod: np.multiply}
"""What combines the elements: functions of an axis that write as many as they read, in the dtype of `out`."""

_FEWEST = 128
"""So many elements of one step have to follow each other in memory: for fewer, the calls take longer than they save."""


def run_into(function: Callable[..., Any], source: Array, target: Array, keywords: dict[str, Any]) -> None:
    """Write what one of the functions gives of a source, along the axis that the keywords say."""
    axis = keywords["axis"]
    if _elements_after(axis, source, target) >= _FEWEST and target.dtype.kind in "biuf":
        whatever_is_not_ignored: Any = {key: "raise" for key, told in np.geterr().items() if told != "ignore"}
        try:
            with np.errstate(**whatever_is_not_ignored):
                _step_by_step(RUNNING[function], np.moveaxis(source, axis, 0), np.moveaxis(target, axis, 0))
            return
        except FloatingPointError:
            pass
    function(source, **{**keywords, "out": target})


def _step_by_step(ufunc: np.ufunc, source: Array, target: Array) -> None:
    target[:1] = source[:1]
    for before, given, after in zip(target, source[1:], target[1:], strict=False):
        ufunc(before, given, out=after, dtype=target.dtype, casting="unsafe")


def _elements_after(axis: int, *arrays: Array) -> int:
    """How many elements follow each other in memory, of all arrays, along the axes after one."""
    count = 1
    for d in reversed(range(axis + 1, arrays[0].ndim)):
        if any(array.strides[d] != count * array.itemsize for array in arrays):
            break
        count *= arrays[0].shape[d]
    return count
