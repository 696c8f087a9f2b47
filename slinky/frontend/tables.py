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

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import attrs
import numpy as np

from slinky.errors import SlinkyError

Handler = TypeVar("Handler", bound=Callable[..., Any])

EXACT = "exact"
ALONG = "exact along whole axes"
TOLERANCE = "tolerance"

ANY_PIECES = frozenset({EXACT, ALONG, TOLERANCE})
"""What runs by pieces if nearly the same will do."""

EXACT_PIECES = frozenset({EXACT, ALONG})
"""What runs by pieces if results are to be the same in every bit."""


class NotUnderstoodError(SlinkyError):
    """A function is given what its handler does not know."""


@attrs.frozen
class KnownFunction:
    """What is known of a function: its name, how it is understood, how exactly its pieces agree with NumPy's whole."""

    name: str
    how: str
    exactness: str
    handler: Callable[..., Any]


TABLE: dict[Callable[..., Any], KnownFunction] = {}
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
        np.unique_all,
        np.unique_counts,
        np.unique_inverse,
        np.unique_values,
        np.bincount,
    }
)
"""The shapes of what these give depend on values: they force them."""

WRITING: frozenset[Callable[..., Any]] = frozenset({np.put, np.put_along_axis})
"""These write to what they are given."""

ABOUT_MEMORY: frozenset[Callable[..., Any]] = frozenset({np.may_share_memory, np.shares_memory})
"""These ask where arrays lie: a lazy array lies nowhere."""

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


ROUNDED_COMPLEX = frozenset(["absolute", "divide", "multiply", "reciprocal", "sqrt", "square"])
"""Of these, those that round complex numbers in one way where arrays are contiguous, and in another way elsewhere."""

EXACT_REDUCTIONS = frozenset(
    [
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "fmax",
        "fmin",
        "gcd",
        "lcm",
        "logical_and",
        "logical_or",
        "logical_xor",
        "maximum",
        "minimum",
    ]
)
"""Ufuncs whose `reduce` gives the same in any order."""


def understood(*functions: Callable[..., Any], how: str, exactness: str = EXACT) -> Callable[[Handler], Handler]:
    """Register the handler of some functions of NumPy's, which all take the same."""

    def register(handler: Handler) -> Handler:
        for function in functions:
            TABLE[function] = KnownFunction(name_of(function), how, exactness, handler)
        return handler

    return register


def name_of(function: Callable[..., Any]) -> str:
    """What a function is called, below `np`."""
    name = str(getattr(function, "__qualname__", None) or getattr(function, "__name__", "function"))
    module = str(getattr(function, "__module__", "") or "")
    inner = module.removeprefix("numpy").strip(".")
    return f"{inner}.{name}" if inner in ("fft", "linalg") else name


def exactness_of(ufunc: np.ufunc, dtypes: Iterable[np.dtype[Any]] = ()) -> str:
    """How exactly pieces of a ufunc of elements agree with the whole, for arrays of these dtypes."""
    if ufunc.__name__ not in EXACT_UFUNCS:
        return TOLERANCE
    is_complex = any(dtype.kind == "c" for dtype in dtypes)
    return TOLERANCE if is_complex and ufunc.__name__ in ROUNDED_COMPLEX else EXACT


def exactness_reduced(
    function: Callable[..., Any], name: str, of: np.dtype[Any], into: np.dtype[Any], is_last: bool
) -> str:
    """How exactly a reduction of whole axes agrees where the others are cut: NumPy adds floats in an order that depends
    on layout and shape, but for the last axis, and all axes, of arrays that it does not convert (see `adds_rows`)."""
    entry = TABLE.get(function)
    general = entry.exactness if entry is not None else EXACT if name in EXACT_REDUCTIONS else ALONG
    if general == EXACT or (of.kind in "biu" and into.kind in "biu"):
        return EXACT
    return ALONG if general == ALONG and is_last and of == into and of != np.float16 else TOLERANCE


def adds_rows(name: str, of: np.dtype[Any], into: np.dtype[Any]) -> bool:
    """Whether NumPy combines row after row where it reduces other axes than the last one, and that has more elements
    than one: then it does so in whatever pieces. It converts nothing, and its loops give the same bits of all parts."""
    return name in _OF_ROWS and of == into and of in (np.float32, np.float64)


_OF_ROWS = frozenset({"sum", "prod", "mean", "var", "std", "add", "multiply"})


def exactness_along(function: Callable[..., Any]) -> str:
    """How exactly a function of whole axes agrees where the others are cut."""
    entry = TABLE.get(function)
    return ALONG if entry is None else entry.exactness
