"""How large arrays lie in memory: in rows, or in columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

LARGE, CACHE_LINE = 1 << 20, 64


def is_large(array: Array) -> bool:
    """Whether it matters how an array lies in memory."""
    return array.ndim > 1 and array.nbytes >= LARGE


def is_in_columns(array: Array) -> bool:
    """Whether neighbours along the last axis of a large array lie far from each other, and those along another do not:
    lines of these are a line of the cache for each element."""
    if not is_large(array) or array.flags.c_contiguous:
        return False
    *others, last = map(abs, array.strides)
    return bool(last >= CACHE_LINE > min(others))


def are_in_columns(arrays: Iterable[Array]) -> bool:
    """Whether all large arrays among some lie in columns from their last axis to their first, as those of Fortran's."""
    large = list(filter(is_large, arrays))
    return any(map(is_in_columns, large)) and all(map(is_reversed, large))


def is_reversed(array: Array) -> bool:
    """Whether the transpose of an array has its elements row after row, maybe with gaps between the rows."""
    strides = list(array.strides)
    return bool(array.flags.f_contiguous) or (strides[0] == array.itemsize and strides == sorted(strides))
