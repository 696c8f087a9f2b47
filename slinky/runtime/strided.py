"""Where the elements of an intermediate lie whose layout the user says (see `ir.statements.Layout`).

Invariant: elements never share memory. A layout under which they would, or that contradicts itself, ends the run before
the buffer is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.errors import ExecutionError
from slinky.ir.blocks import is_stored_by_blocks
from slinky.ir.statements import Alloc
from slinky.runtime.buffers import Array
from slinky.symbolic.expressions import Expr


@attrs.frozen
class Strided:
    """What is known of a layout before any run: the alignment, and for which dimensions a stride is given."""

    alignment: int
    dims: tuple[int, ...]


def strided(alloc: Alloc) -> Strided | None:
    """What the layout of an allocation says of strides; None if it says nothing of them."""
    if alloc.layout is None or is_stored_by_blocks(alloc):
        return None
    given = tuple(d for d, stride in enumerate(alloc.layout.strides) if stride is not None)
    return Strided(alloc.layout.alignment, given)


def strides_given(alloc: Alloc) -> tuple[Expr, ...]:
    """The strides that the layout of an allocation gives, of `Strided.dims`."""
    return () if alloc.layout is None else tuple(stride for stride in alloc.layout.strides if stride is not None)


@attrs.frozen
class Laid:
    """The strides of an array, and how many bytes it takes."""

    strides: tuple[int, ...]
    size: int


def laid(name: str, itemsize: int, shape: Sequence[int], layout: Strided, given: Sequence[int]) -> Laid:
    """Where the elements of a buffer of this shape lie. `given` are the strides of `layout.dims`, in bytes.

    A stride that is not given is the least that C order leaves: beside the dimensions further in, or where these would
    then share memory, beside all that are given. Raises `ExecutionError` for a layout that there is not.
    """
    if any(extent < 1 for extent in shape):
        return Laid((itemsize,) * len(shape), 0)
    for d, stride in zip(layout.dims, given, strict=True):
        if stride < 1:
            raise ExecutionError(f"the stride of {name} along dimension {d} is {stride} bytes; needs 1 or more")
        if stride % layout.alignment and stride != itemsize:
            raise ExecutionError(
                f"the stride of {name} along dimension {d} is {stride} bytes, no multiple of its alignment, "
                f"{layout.alignment}"
            )
    fixed = dict(zip(layout.dims, given, strict=True))
    beside = max((stride * shape[d] for d, stride in fixed.items()), default=itemsize)
    for least in (itemsize, max(beside, itemsize)):
        strides = _completed(itemsize, shape, layout.alignment, fixed, least)
        if _lie_apart(itemsize, shape, strides):
            size = itemsize + sum(stride * (extent - 1) for stride, extent in zip(strides, shape, strict=True))
            return Laid(strides, -(-size // layout.alignment) * layout.alignment)
    raise ExecutionError(
        f"with the strides that are asked for, {tuple(given)} along dimensions {layout.dims}, elements of {name} would "
        f"share memory: its shape is {tuple(shape)}"
    )


def laid_bytes(
    name: str, itemsize: int, alignment: int, dims: tuple[int, ...], shape: Sequence[int], given: Sequence[int]
) -> int:
    """The bytes of `laid`, for generated code."""
    return laid(name, itemsize, shape, Strided(alignment, dims), given).size


def _completed(
    itemsize: int, shape: Sequence[int], alignment: int, fixed: dict[int, int], least: int
) -> tuple[int, ...]:
    """Strides for all dimensions; the innermost that is not fixed is at least so far apart."""
    strides = [0] * len(shape)
    reach = least
    for d in reversed(range(len(shape))):
        stride = fixed.get(d)
        if stride is None:
            stride = reach if reach == itemsize else -(-reach // alignment) * alignment
        strides[d] = stride
        reach = max(reach, stride * shape[d])
    return tuple(strides)


def _lie_apart(itemsize: int, shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether each dimension steps over all that the smaller ones reach."""
    reach = itemsize
    for stride, extent in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n > 1):
        if stride < reach:
            return False
        reach += stride * (extent - 1)
    return True


def bytes_at(make: Callable[[int], Array], size: int, alignment: int) -> Array:
    """Bytes of which the first lies at a multiple of the alignment; `make` makes bytes that lie anywhere."""
    memory = make(size + alignment)
    start = -memory.ctypes.data % alignment
    return memory[start : start + size]


def array_at(memory: Array, dtype: np.dtype[Any], shape: Sequence[int], where: Laid) -> Array:
    """The array on some bytes."""
    return np.ndarray(tuple(shape), dtype, memory, 0, where.strides)
