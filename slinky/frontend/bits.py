"""Bits in bytes: packed, each byte of eight elements, and unpacked.

Idea. A byte is made of eight elements beside each other, and of no others. So the axis is split into bytes and bits, of
which the bits are read whole; and what is unpacked is arithmetic of elements, a byte beside its bits, seen as one axis.

Invariant: a handler gives what NumPy gives for the same arguments, or refuses by `NotUnderstoodError`.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from slinky.frontend.arrays import LazyArray, Value
from slinky.frontend.calling import filled
from slinky.frontend.functions import ELEMENTS, reduced
from slinky.frontend.given import as_lazy, axis_of
from slinky.frontend.rearranging import concatenate, ravel
from slinky.frontend.sizes import Length, Size, known
from slinky.frontend.tables import NotUnderstoodError, understood


@attrs.frozen
class _Packing:
    """Eight elements along an axis as the bits of a byte."""

    order: str
    __name__ = "packbits"

    def __call__(self, array: Any, axis: int) -> Any:
        return np.packbits(array, axis, self.order).squeeze(axis)  # type: ignore[call-overload]


@understood(np.packbits, how="eight elements each")
def packbits(a: Value, /, axis: Any = None, bitorder: str = "big") -> LazyArray:
    """Bytes whose bits say which elements are not zero; behind the last one are zeros."""
    array, d = _along(a, axis)
    _require_order(bitorder)
    if array.dtype.kind not in "biu":
        raise NotUnderstoodError("elements that are no integers")  # NumPy says so
    extent = array._shape[d]
    missing = known(7 - (extent + 7) % 8)
    if missing:
        array = concatenate([array, filled(_resized(array, d, missing), array.dtype, 0, array._trace)], d)
    bytes_and_bits = array.reshape(*array._shape[:d], (extent + 7) // 8, 8, *array._shape[d + 1 :])
    return reduced(_Packing(bitorder), "packbits", bytes_and_bits, d + 1)


@understood(np.unpackbits, how=ELEMENTS)
def unpackbits(a: Value, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> LazyArray:
    """The bits of bytes beside each other: so many, or all but so many."""
    array, d = _along(a, axis)
    _require_order(bitorder)
    if array.dtype != np.uint8:
        raise NotUnderstoodError("elements that are no bytes")  # NumPy says so
    shifts = np.arange(8, dtype=np.uint8)[:: -1 if bitorder == "big" else 1]
    places = (slice(None), *(None,) * (array.ndim - d - 1))
    split = np.bitwise_and(np.right_shift(array[(*(slice(None),) * (d + 1), None)], shifts[places]), np.uint8(1))
    extent = 8 * array._shape[d]
    found: LazyArray = split.reshape(_resized(array, d, extent))
    found._cell.uncertain = False  # nobody has the other one
    return found if count is None else _so_many(found, d, count, extent)


def _so_many(bits: LazyArray, d: int, count: Any, extent: Length) -> LazyArray:
    """The first bits, with zeros behind all of them; or those before the last ones, where the count is negative."""
    if type(count) not in (int, Size):
        raise NotUnderstoodError("counts that are no integers")
    wanted = count if count >= 0 else extent + count
    if not wanted >= 0:
        raise NotUnderstoodError("fewer bits than none")  # NumPy says so
    if wanted > extent:
        return concatenate([bits, filled(_resized(bits, d, wanted - extent), np.uint8, 0, bits._trace)], d)
    return bits[(*(slice(None),) * d, slice(wanted))]  # type: ignore[no-any-return]


def _along(a: Value, axis: Any) -> tuple[LazyArray, int]:
    """An array, and the axis along which bits lie: that of all elements, if none is said."""
    array = as_lazy(a)
    if not array._shape or any(not n > 0 for n in array._shape):
        raise NotUnderstoodError("no axes, or no elements")
    if axis is None:
        return ravel(array), 0
    return array, axis_of(axis, array.ndim)


def _resized(array: LazyArray, d: int, extent: Length) -> tuple[Length, ...]:
    return (*array._shape[:d], extent, *array._shape[d + 1 :])


def _require_order(given: Any) -> None:
    if given not in ("big", "little"):
        raise NotUnderstoodError("orders")  # NumPy says so
