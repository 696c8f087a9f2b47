"""Functions of NumPy's that compare whole arrays, and give one of Python's bools.

Idea. Each asks whether something holds of all elements, so it is a comparison of elements and `all` of that: by pieces,
of which nothing is kept. The answer is a value, which is asked for; where shapes give it, nothing is.

Invariant: a handler gives what NumPy gives for the same arguments, or refuses by `NotUnderstoodError`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slinky.frontend.arrays import LazyArray, Value
from slinky.frontend.calling import call_function, lifted
from slinky.frontend.given import trace_of
from slinky.frontend.sizes import same
from slinky.frontend.tables import understood
from slinky.frontend.views import joined_shape

COMPARED = "by elements; the answer is a value that is asked for"


@understood(np.allclose, how=COMPARED)
def allclose(a: Value, b: Value, rtol: Value = 1e-05, atol: Value = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close to each other."""
    found = call_function(np.isclose, (a, b), {"rtol": rtol, "atol": atol, "equal_nan": equal_nan})
    return _holds("allclose", found)


@understood(np.array_equal, how=COMPARED)
def array_equal(a1: Value, a2: Value, equal_nan: bool = False) -> bool:
    """Whether arrays have the same shape and the same elements."""
    trace = trace_of((a1, a2))
    one, other = lifted(a1, trace), lifted(a2, trace)
    if len(one._shape) != len(other._shape) or not all(map(same, one._shape, other._shape)):
        return False
    found: Any = np.equal(one, other)
    if equal_nan:
        found = np.logical_or(found, np.logical_and(np.isnan(one), np.isnan(other)))
    return _holds("array_equal", found)


@understood(np.array_equiv, how=COMPARED)
def array_equiv(a1: Value, a2: Value) -> bool:
    """Whether arrays have the same elements where they are repeated to one shape, if they can be."""
    trace = trace_of((a1, a2))
    one, other = lifted(a1, trace), lifted(a2, trace)
    if joined_shape([one._shape, other._shape]) is None:
        return False
    return _holds("array_equiv", np.equal(one, other))


def _holds(name: str, compared: Any) -> bool:
    """Whether all elements of a comparison are true."""
    found: LazyArray = call_function(np.all, (compared,), {}) if compared._shape else compared
    found._trace.forced(name, found._view)
    return bool(found.compute()[()])
