"""What a user says to make a callback of a function that returns its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from slinky.errors import GraphError, cited
from slinky.ir.returning import Returning


def returns(function: Callable[..., Any]) -> Returning:
    """A callback of a function that returns its result, as those of SciPy do, or a tuple of them.

    The function is called with what the func reads, and further arguments by name. What it returns is copied to the
    outputs, and must have their shapes and dtypes. The callback has the function's name, and can be pickled if it can.

        sl.Func(sl.returns(scipy.fft.rfft), [signal[y, :]], [spectrum[y, k]], whole=["k"])

    A callback that writes to its outputs itself saves that copy.
    """
    if not callable(function):
        raise GraphError(f"returns() expects a function, got {cited(function)}")
    if isinstance(function, np.ufunc):
        raise GraphError(f"the ufunc {function.__name__} writes to its outputs by itself: it needs no returns()")
    return function if isinstance(function, Returning) else Returning(function)
