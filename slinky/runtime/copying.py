"""Carries out copies: one strided copy for each piece.

Invariant: every element of the target is written once, with the element that the copy says, and nothing else is.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.lib.stride_tricks import as_strided

from slinky.errors import ExecutionError
from slinky.ir.operations import Copy
from slinky.ir.remembered import remembered
from slinky.runtime.assembled_copies import assembled
from slinky.runtime.buffers import Array, Buffer
from slinky.runtime.copy_pieces import Form, pieces
from slinky.runtime.separable_copies import separable
from slinky.runtime.transposing import assign
from slinky.symbolic.expressions import variable

_Lies: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""The first coordinates of an array, and its shape."""


@remembered
def carrier(copy: Copy) -> Callable[..., None]:
    """The function that carries out a copy: called with `sl.Buffer` objects, the sources and the target, and the values
    of its parameters by name."""
    if copy.implementation is not None:
        return _of_user(copy.implementation)
    parameters = {name: variable(name) for name, _ in copy.arguments if name != "fill"}

    by_dimensions, by_parts = separable(copy), assembled(copy)

    @functools.lru_cache(maxsize=1024)
    def moves(
        values: tuple[int, ...], to: _Lies, *given: _Lies
    ) -> tuple[tuple[_Place, int | None, _Place | None], ...]:
        """For each piece its place in the target, which source gives it, and its place there. A loop asks for the same
        ones in each run."""
        box = tuple([(lo, lo + extent - 1) for lo, extent in zip(*to, strict=True)])
        found: list[tuple[_Place, int | None, _Place | None]] = []
        for piece in pieces(copy, box, dict(zip(parameters.values(), values, strict=True))):
            extents, source = piece.space.extents, piece.source
            place = _placed(piece.space.target, extents, to)
            found.append((place, source, None if source is None else _placed(piece.index, extents, given[source])))
        return tuple(found)

    def carry_out(*operands: Buffer, **values: Any) -> None:
        fill = values.pop("fill", copy.fill)
        if by_dimensions is not None and by_dimensions.carry_out(operands[0], operands[-1], values, fill):
            return
        *sources, target = operands
        if by_parts is not None and by_parts.carry_out(sources, target, values):
            return
        numbers = tuple([values[name] for name in parameters])
        lie = [(operand.min, operand.array.shape) for operand in (target, *sources)]
        for to, source, given in moves(numbers, *lie):
            place = to.view(target.array)
            if source is not None and given is not None:
                assign(place, given.view(sources[source].array))
            else:  # without a fill there is nothing to copy, and nobody will read it
                place[...] = np.zeros((), place.dtype) if fill is None else fill

    return carry_out


def _of_user(implementation: Callable[..., Any]) -> Callable[..., Any]:
    """A user's function that carries out a copy, which is called with arrays, and knows the parameters itself."""

    def carry_out(*operands: Buffer, **_: int) -> Any:
        return implementation(*[operand.array for operand in operands])

    return carry_out


@attrs.frozen
class _Place:
    """Where the elements of a piece lie in an array: behind which first one, and how far along which dimensions the
    axes of the piece go."""

    first: tuple[Any, ...]
    extents: tuple[int, ...]
    factors: tuple[tuple[int, ...], ...]

    def view(self, array: Array) -> Array:
        """The elements, with an axis for each axis of the piece."""
        strides = [
            sum(map(operator.mul, own, array.strides)) if extent > 1 else 0  # nothing is that far: it may be any number
            for own, extent in zip(self.factors, self.extents, strict=True)
        ]
        return as_strided(array[self.first], self.extents, strides)


def _placed(index: Sequence[Form], extents: tuple[int, ...], lies: _Lies) -> _Place:
    """The elements at these coordinates of an array of which this is known."""
    first: list[slice] = []
    for form, lo, length in zip(index, *lies, strict=True):
        begin = form.constant - lo
        steps = [factor * (extent - 1) for factor, extent in zip(form.factors, extents, strict=True)]
        if begin + sum(n for n in steps if n < 0) < 0 or begin + sum(n for n in steps if n > 0) >= length:
            raise ExecutionError("a copy takes what it is not given: its func reads less than the copy says")
        first.append(slice(begin, None))
    factors = tuple([tuple([form.factors[axis] for form in index]) for axis in range(len(extents))])
    return _Place((*first, ...), extents, factors)
