"""Carries out copies: one strided copy for each piece.

Invariant: every element of the target is written once, with the element that the copy says, and nothing else is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from slinky.errors import ExecutionError
from slinky.ir.operations import Copy
from slinky.runtime.assembled_copies import assembled
from slinky.runtime.buffers import Array, Buffer
from slinky.runtime.copy_pieces import Form, Piece, pieces
from slinky.runtime.separable_copies import separable
from slinky.symbolic.expressions import Expr, variable


@functools.lru_cache(maxsize=1024)
def carrier(copy: Copy) -> Callable[..., None]:
    """The function that carries out a copy: called with `sl.Buffer` objects, the sources and the target, and the values
    of its parameters by name."""
    if copy.implementation is not None:
        return _of_user(copy.implementation)
    parameters = {name: variable(name) for name, _ in copy.arguments if name != "fill"}

    by_dimensions, by_parts = separable(copy), assembled(copy)

    def carry_out(*operands: Buffer, **values: Any) -> None:
        fill = values.pop("fill", copy.fill)
        if by_dimensions is not None and by_dimensions.carry_out(operands[0], operands[-1], values, fill):
            return
        *sources, target = operands
        if by_parts is not None and by_parts.carry_out(sources, target, values):
            return
        known: Mapping[Expr, int] = {parameters[name]: value for name, value in values.items()}
        box = tuple([(lo, lo + extent - 1) for lo, extent in zip(target.min, target.array.shape, strict=True)])
        for piece in pieces(copy, box, known):
            place = _view(target, piece.space.target, piece)
            if piece.source is not None:
                place[...] = _view(sources[piece.source], piece.index, piece)
            else:  # without a fill there is nothing to copy, and nobody will read it
                place[...] = np.zeros((), place.dtype) if fill is None else fill

    return carry_out


def _of_user(implementation: Callable[..., Any]) -> Callable[..., Any]:
    """A user's function that carries out a copy, which is called with arrays, and knows the parameters itself."""

    def carry_out(*operands: Buffer, **_: int) -> Any:
        return implementation(*[operand.array for operand in operands])

    return carry_out


def _view(buffer: Buffer, index: Sequence[Form], piece: Piece) -> Array:
    """The elements of a buffer at these coordinates, with an axis for each axis of the piece."""
    array, extents = buffer.array, piece.space.extents
    rank = len(extents)
    strides = [0] * rank
    first: list[Any] = []
    for form, lo, stride, length in zip(index, buffer.min, array.strides, array.shape, strict=True):
        begin = form.constant - lo
        steps = [factor * (extent - 1) for factor, extent in zip(form.factors, extents, strict=True)]
        if begin + sum(n for n in steps if n < 0) < 0 or begin + sum(n for n in steps if n > 0) >= length:
            raise ExecutionError("a copy takes what it is not given: its func reads less than the copy says")
        first.append(slice(begin, None))
        for axis in range(rank):
            strides[axis] += form.factors[axis] * stride
    return as_strided(array[(*first, ...)], extents, strides)
