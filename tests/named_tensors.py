"""What tests of tensors share: dimensions, and arrays to make tensors of."""

from __future__ import annotations

from typing import Any

import numpy as np

import slinky as sl

s = sl.dims("b c d f h i j k m n o w x y z kh kw")
Array = np.ndarray[Any, Any]


def ramp(*shape: int, dtype: Any = np.float64) -> Array:
    """An array of different numbers of both signs."""
    count = int(np.prod(shape))
    return (np.arange(count, dtype=np.int64) * 7 % 23 - 11).astype(dtype).reshape(shape)


def tensor(array: Array, *dims: sl.Expr) -> sl.Tensor:
    """A tensor of an array."""
    return sl.Tensor(array).to(*dims)
