"""Which functions of NumPy are understood: the table that calls are dispatched on, and the documentation made of.

To add a function of NumPy, write a handler and register it:

    @understood(np.flip, how="a view")
    def flip(m, axis=None):
        ...

It takes what NumPy's takes and gives lazy arrays. What it does not know how to do, it refuses by
`NotUnderstoodError`; then NumPy's runs whole. Functions of elements, reductions and functions of whole axes need no
handler of their own: see the lists in `functions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import attrs
import numpy as np

from slinky.errors import SlinkyError

Handler = TypeVar("Handler", bound=Callable[..., Any])

EXACT = "exact"
ALONG = "exact along whole axes"
TOLERANCE = "tolerance"


class NotUnderstoodError(SlinkyError):
    """A function is given what its handler does not know."""


@attrs.frozen
class Entry:
    """What is known of a function: its name, how it is understood, how exactly its pieces agree with NumPy's whole."""

    name: str
    how: str
    exactness: str
    handler: Callable[..., Any]


TABLE: dict[Callable[..., Any], Entry] = {}
"""By the function of NumPy's."""

DATA_DEPENDENT: frozenset[Callable[..., Any]] = frozenset(
    {
        np.argwhere,
        np.compress,
        np.delete,
        np.extract,
        np.flatnonzero,
        np.intersect1d,
        np.nonzero,
        np.setdiff1d,
        np.setxor1d,
        np.trim_zeros,
        np.union1d,
        np.unique,
        np.bincount,
    }
)
"""The shapes of what these give depend on values: they force them."""

WRITING: frozenset[Callable[..., Any]] = frozenset({np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask})
"""These write to what they are given."""

EXACT_UFUNCS = frozenset(
    [
        "absolute",
        "add",
        "bitwise_and",
        "bitwise_count",
        "bitwise_or",
        "bitwise_xor",
        "ceil",
        "conjugate",
        "copysign",
        "divide",
        "divmod",
        "equal",
        "fabs",
        "floor",
        "floor_divide",
        "fmax",
        "fmin",
        "fmod",
        "frexp",
        "gcd",
        "greater",
        "greater_equal",
        "heaviside",
        "invert",
        "isfinite",
        "isinf",
        "isnan",
        "lcm",
        "ldexp",
        "left_shift",
        "less",
        "less_equal",
        "logical_and",
        "logical_not",
        "logical_or",
        "logical_xor",
        "maximum",
        "minimum",
        "modf",
        "multiply",
        "negative",
        "nextafter",
        "not_equal",
        "positive",
        "reciprocal",
        "remainder",
        "right_shift",
        "rint",
        "sign",
        "signbit",
        "spacing",
        "sqrt",
        "square",
        "subtract",
        "trunc",
        "clip",
    ]
)
"""Ufuncs that give the same bits in any layout: others have several loops, for contiguous and for other operands."""


def understood(*functions: Callable[..., Any], how: str, exactness: str = EXACT) -> Callable[[Handler], Handler]:
    """Register the handler of some functions of NumPy's, which all take the same."""

    def register(handler: Handler) -> Handler:
        for function in functions:
            TABLE[function] = Entry(name_of(function), how, exactness, handler)
        return handler

    return register


def name_of(function: Callable[..., Any]) -> str:
    """What a function is called, below `np`."""
    name = str(getattr(function, "__qualname__", None) or getattr(function, "__name__", "function"))
    module = str(getattr(function, "__module__", "") or "")
    inner = module.removeprefix("numpy").strip(".")
    return f"{inner}.{name}" if inner in ("fft", "linalg") else name


def exactness_of(ufunc: np.ufunc) -> str:
    """How exactly pieces of a ufunc of elements agree with the whole."""
    return EXACT if ufunc.__name__ in EXACT_UFUNCS else TOLERANCE
