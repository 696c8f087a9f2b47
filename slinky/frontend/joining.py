"""`np.r_` and `np.c_` of lazy arrays, which NumPy's own would ask for their values.

Invariant: the result is NumPy's in dtype and shape; what is not known here is NumPy's own to do.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from slinky.frontend.arrays import LazyArray
from slinky.frontend.calling import converted, sized
from slinky.frontend.given import lazy_arrays
from slinky.frontend.indexed import indexed_array, own_array
from slinky.frontend.reals import Real, now
from slinky.frontend.sizes import Size, known
from slinky.frontend.tracing import Trace


@attrs.frozen
class Joining:
    """`np.r_` or `np.c_`, which joins along an `axis` what has so many axes, or is given them: what has one becomes
    columns where there are to be two."""

    trace: Trace
    own: Any
    axis: int
    count: int

    def __getitem__(self, given: Any) -> Any:
        items = given if isinstance(given, tuple) else (given,)
        if not any(type(item) is LazyArray for item in items) or not all(map(_is_understood, items)):
            return indexed_array(self.own[tuple(map(_as_numpy_has_it, items))])
        parts = [item if _decides_by_itself(item) else self.own[(_as_numpy_has_it(item),)] for item in items]
        dtype = np.result_type(*map(_for_the_dtype, parts))
        return np.concatenate([self._joined(item, dtype) for item in parts], self.axis)

    def _joined(self, item: Any, dtype: np.dtype[Any]) -> Any:
        array = sized(item, dtype, self.trace) if type(item) is Size else converted(item, dtype, self.trace)
        rank = len(array._shape)
        if rank == 0:
            return array[(None,) * self.count]
        return array[:, None] if rank < self.count else array


def _is_understood(item: Any) -> bool:
    if isinstance(item, slice):
        return all(n is None or _is_number(n) for n in (item.start, item.stop, item.step))
    return (
        _decides_by_itself(item)
        or type(own_array(item)) is np.ndarray
        or (type(item) is list and not lazy_arrays(item))
    )


def _decides_by_itself(item: Any) -> bool:
    return type(item) is LazyArray or _is_number(item)


def _is_number(item: Any) -> bool:
    return isinstance(item, (bool, int, float, complex, np.number, np.bool_))


def _as_numpy_has_it(item: Any) -> Any:
    """An item in which sizes are numbers, and what stands for an array is that."""
    if isinstance(item, slice):
        return slice(*(known(n) if type(n) is Size else n for n in (item.start, item.stop, item.step)))
    return known(item) if type(item) is Size else own_array(item)


def _for_the_dtype(item: Any) -> Any:
    """What decides on the dtype of all: numbers of Python give way to others, scalars of NumPy's do not."""
    if type(item) in (Real, Size):
        return type(now(item))(1) if type(item) is Real else 1
    return item if _is_number(item) else item.dtype
