"""How large arrays lie in memory: in rows, or in columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

LARGE, CACHE_LINE = 1 << 20, 64


def is_in_columns(array: Array) -> bool:
    """Whether neighbours along the last axis of a large array lie far from each other, and those along another do not:
    lines of these are a line of the cache for each element."""
    if array.ndim < 2 or array.nbytes < LARGE:
        return False
    *others, last = map(abs, array.strides)
    return bool(last >= CACHE_LINE > min(others))


def are_in_columns(arrays: Iterable[Array]) -> bool:
    """Whether all large arrays among some lie in columns from their last axis to their first, as those of Fortran's."""
    large = [array for array in arrays if array.ndim > 1 and array.nbytes >= LARGE]
    return any(map(is_in_columns, large)) and all(map(_is_reversed, large))


def _is_reversed(array: Array) -> bool:
    """Whether the transpose of an array has its elements row after row, maybe with gaps between the rows."""
    strides = list(array.strides)
    return strides[0] == array.itemsize and strides == sorted(strides)
