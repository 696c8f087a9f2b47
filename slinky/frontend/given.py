"""What handlers are given: arrays, their trace, and axes, as they need them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from slinky.frontend.arrays import LazyArray, Value
from slinky.frontend.free_traces import FREE
from slinky.frontend.nodes import inside
from slinky.frontend.tables import NotUnderstoodError
from slinky.frontend.tracing import Trace


def trace_of(given: Any) -> Trace:
    """The trace that some arguments belong to: that of a function, if there is one."""
    traces = [array._trace for array in lazy_arrays(given)]
    own = next((trace for trace in traces if not trace.is_free), FREE)
    if own is not FREE and any(trace is not own for trace in traces):
        raise own.abandon("an array of another trace")
    return own


def lazy_arrays(given: Any) -> list[LazyArray]:
    """The lazy arrays among arguments, also in lists, tuples and dictionaries."""
    if type(given) is LazyArray:
        return [given]
    return [each for each in inside(given) if type(each) is LazyArray]


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """The axes that are meant, each once.

    Raises what NumPy raises, and `NotUnderstoodError` for truths, which some functions take for numbers.
    """
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, tuple) else (axis,)
    found = []
    for each in given:
        if isinstance(each, bool):
            raise NotUnderstoodError("truths as axes")
        place = operator.index(each)
        if not -rank <= place < rank:
            raise np.exceptions.AxisError(place, rank)
        found.append(place % rank)
    if len(set(found)) != len(found):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(found))


def axis_of(axis: Any, rank: int) -> int:
    """The one axis that is meant.

    Raises what NumPy raises, and `NotUnderstoodError` for several, of which NumPy says what is wrong with them.
    """
    if axis is None or isinstance(axis, (tuple, list)):
        raise NotUnderstoodError("several axes")
    return axes_of(axis, rank)[0]


def is_set(option: Any) -> bool:
    """Whether an option of NumPy's is given, and is true."""
    return option is not np._NoValue and bool(option)


def as_lazy(value: Value) -> LazyArray:
    """An argument that is the lazy array of a call.

    Raises `NotUnderstoodError` where another one is: it does not know the trace.
    """
    if type(value) is not LazyArray:
        raise NotUnderstoodError("lazy arrays at another place")
    return value


def dtypes_among(given: Sequence[Value]) -> list[np.dtype[Any]]:
    """The dtypes of arguments that have one, and of complex numbers."""
    return [v.dtype if hasattr(v, "dtype") else np.dtype(complex) for v in given if _has_dtype(v)]


def _has_dtype(value: Value) -> bool:
    return type(value) is complex or hasattr(value, "dtype")
