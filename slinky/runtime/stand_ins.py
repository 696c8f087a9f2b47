"""Arrays without memory, in place of shapes: to know what a run on such arrays would know of its parameters.

Floats stand for themselves, or for any: no bound depends on one, so they need not be told here as they are to a run.

Invariant: no element of the arrays is ever touched.
"""

from __future__ import annotations

import math
import mmap
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from slinky.errors import ArgumentError, cited
from slinky.ir.statements import BufferParameter
from slinky.runtime.arguments import take_arguments
from slinky.runtime.buffers import Array
from slinky.runtime.layouts import new_array
from slinky.runtime.omitted import Completion
from slinky.symbolic.expressions import Expr, is_integer


def values_of(completion: Completion, arguments: Sequence[object], scalars: Mapping[str, object]) -> dict[Expr, int]:
    """What a run on these arrays, or arrays of these shapes, knows of its parameters, all checks passed.

    Raises `ArgumentError` as the run would, but for floats that are missing.
    """
    return take_arguments(completion.program, *stand_ins_for(completion, arguments, scalars)).values


def stand_ins_for(
    completion: Completion, arguments: Sequence[object], scalars: Mapping[str, object]
) -> tuple[tuple[object, ...], dict[str, Any]]:
    """All arrays of a program, inputs then outputs, and its scalars: arrays without memory in place of shapes, and
    some number in place of each float that is not told."""
    parameters = completion.parameters
    arrays = [_stand_in(p, given) for p, given in zip(parameters, arguments, strict=False)]
    arrays += arguments[len(arrays) :]
    named = {p.name: _stand_in(p, scalars[p.name]) for p in parameters if p.name in scalars}
    floats = {f.name: 1.0 for f in completion.program.floats}
    return completion.complete(arrays, {**floats, **scalars, **named}, _array_with_strides)


def _stand_in(parameter: BufferParameter, given: object) -> object:
    """What is given, or an array of the shape that is."""
    return _array(parameter, given) if isinstance(given, tuple) else given


def _array_with_strides(parameter: BufferParameter, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """A writable array in place of one that would be allocated for an output."""
    return new_array(parameter, shape, strides, untouched)


def _array(parameter: BufferParameter, shape: tuple[int, ...]) -> Array:
    """A writable array of this shape that takes no memory as long as nobody touches its elements."""
    if not all(is_integer(n) and n >= 0 for n in shape):
        raise ArgumentError(
            f"argument {parameter.name}: a shape is a tuple of integers of at least 0, got {cited(shape)}"
        )
    try:
        return untouched(shape, parameter.dtype)
    except (OSError, OverflowError, ValueError, MemoryError) as error:
        raise ArgumentError(f"argument {parameter.name}: there is no array of shape {cited(shape)}: {error}") from error


def untouched(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """In place of `np.empty`: an array whose elements nobody touches."""
    return np.ndarray(shape, dtype, address_space(math.prod(int(n) for n in shape) * dtype.itemsize))


_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


def address_space(size: int) -> Array:
    """Bytes that take no memory as long as nobody touches them."""
    if not _NO_RESERVE:
        return np.empty(size, np.uint8)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    return np.frombuffer(mmap.mmap(-1, max(size, 1), flags=flags), np.uint8)
