"""Arrays among the arguments of a function, as they are when it is described.

Invariant: nobody writes to one, and two are equal if their elements are, to the last bit.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import attrs
import numpy as np

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


@attrs.frozen
class Fixed:
    """An array among the arguments of a step, that can be compared."""

    array: Array = attrs.field(eq=lambda array: (array.shape, array.dtype.str, array.tobytes()))

    def __hash__(self) -> int:
        return hash((self.array.shape, self.array.tobytes()))


def fixed(given: Any, dtype: Any = None) -> Fixed:
    """An array as it is now."""
    array = np.array(given, dtype)
    array.flags.writeable = False
    return Fixed(array)
