"""Reductions of those elements at which a mask holds: `np.mean(a, where=mask)`.

Idea. The mask is a second operand, broadcast to the array as NumPy does, so that a piece of the result needs the same
piece of both. NumPy itself reduces the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from slinky.frontend.arrays import LazyArray, Value, solid
from slinky.frontend.calling import lifted
from slinky.frontend.nodes import View
from slinky.frontend.tables import NotUnderstoodError
from slinky.frontend.views import broadcast


@attrs.frozen
class Masked:
    """A reduction of an array, called with the array and a mask."""

    function: Callable[..., Any]

    def __call__(self, array: Any, mask: Any, **keywords: Any) -> Any:
        return self.function(array, where=mask, **keywords)


def mask_of(where: Value, array: LazyArray) -> View | None:
    """What is read of a mask, broadcast to an array; None: it is the `True` that stands for no mask.

    Raises `NotUnderstoodError` for what NumPy does not take as a mask.
    """
    if where is True:
        return None
    mask = lifted(where, array._trace)
    if mask.dtype != np.bool_:
        raise NotUnderstoodError(f"where= of {mask.dtype}")  # NumPy says so
    return broadcast(solid(mask._view, array._trace), array._shape)
