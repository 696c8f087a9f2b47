"""NumPy's functions that reduce whole axes, as callbacks of which it is known what they compute.

Idea. A sum, an extremum, a mean, a variance, a norm: each combines, by a ufunc, elements, or their squares, or the
squares of what is above or below the mean; then it may divide by how many there are, and take the root. So a few words
say all of them (`Combined`), and a back end that prints them as loops looks at these alone.

NumPy adds floats in an order that depends on which axes there are of more than one element: one after the other where
an axis that stays is the innermost one, by pairs of halves where it is one that is reduced. So a piece of one column is
added in another order than the array that it is cut from, unless it is known to be a piece of one that is `wide`. So
is a piece whose axes lie in memory in another order, as where it is folded along its last one, unless it is known to be
of an array `in_order`.

Invariant: what is run is NumPy's own function. Where there is a `Combined`, it says what that function computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import attrs
import numpy as np

from slinky.errors import CallbackError
from slinky.ir.operations import Callback
from slinky.ir.remembered import remembered
from slinky.ir.statements import LoweredFunc

OF_ELEMENTS: dict[Callable[..., Any], np.ufunc] = {
    np.sum: np.add,
    np.prod: np.multiply,
    np.max: np.maximum,
    np.min: np.minimum,
    np.amax: np.maximum,
    np.amin: np.minimum,
    np.any: np.logical_or,
    np.all: np.logical_and,
}
"""Reductions that give what a ufunc gives of all elements."""

_UFUNCS = (
    np.add, np.multiply, np.maximum, np.minimum, np.logical_or, np.logical_and, np.bitwise_or, np.bitwise_and,
    np.bitwise_xor,
)  # fmt: skip
_READING = frozenset([*OF_ELEMENTS, np.mean, np.var, np.std, np.argmax, np.argmin])


@attrs.frozen
class Combined:
    """What a reduction of some `axes` computes: its elements, combined by a ufunc, one after the other.

    If `centred`, the elements are taken less their mean; if `squared`, times themselves. What comes out is divided by
    how many there are less `fewer`, if that is a number; and if `rooted`, the root is taken. Along the axes that are
    `wide` there are more results than one in all: a piece of one is combined in the order of an array of several ones.
    Elements are combined as of an array in C order, if that is what they are of (`in_order`), wherever a piece lies.
    """

    ufunc: np.ufunc
    axes: tuple[int, ...]
    centred: bool = False
    squared: bool = False
    fewer: int | None = None
    rooted: bool = False
    wide: tuple[int, ...] = ()
    in_order: bool = False


_IN_ANY_ORDER = frozenset([np.max, np.min, np.amax, np.amin, np.any, np.all, np.argmax, np.argmin])
_UFUNCS_IN_ANY_ORDER = frozenset(_UFUNCS) - {np.add, np.multiply}


def only_reads(function: Callable[..., Any]) -> bool:
    """Whether NumPy vouches for a function of whole axes: it writes to nothing that it is given."""
    return function in _READING or (getattr(function, "__self__", None) in _UFUNCS and function.__name__ == "reduce")


class ChangedResultError(CallbackError):
    """A function gave another shape or dtype than when it was traced: these depend on values."""


@attrs.frozen
class Reducing:
    """A callback that writes what a function of NumPy gives that reduces some `axes` of its operand: called with these
    `keywords`, which say the axes, too. By pieces, it is told `sizes`, arguments of these names. Axes that stay, along
    which what it is a piece of has more elements than one, are `wide`. It is one of an array in C order, if `in_order`,
    whatever order its axes have in memory."""

    name: str
    function: Callable[..., Any]
    axes: tuple[int, ...]
    keywords: tuple[tuple[str, Any], ...] = ()
    sizes: tuple[str, ...] = ()
    wide: tuple[int, ...] = ()
    in_order: bool = False

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def only_reads(self) -> bool:
        """Whether it is known to write to nothing that it is given (see `slinky.runtime.operations`)."""
        return only_reads(self.function)

    @property
    def reads_in_order(self) -> bool:
        """Whether its bits depend on the order of its operand in memory (see `slinky.sched.callbacks`)."""
        is_free = self.function in _IN_ANY_ORDER or getattr(self.function, "__self__", None) in _UFUNCS_IN_ANY_ORDER
        return not is_free

    def __call__(self, source: Any, target: Any, **_: int) -> None:
        if self.in_order:
            source = _in_order(source, self.wide)
        write_result(self.name, reduced(self.function, [source], dict(self.keywords), self.axes, self.wide), target)

    def combined(self) -> Combined | None:
        """What it computes, if that is known."""
        found = self._combined()
        return found if found is None else attrs.evolve(found, wide=self.wide, in_order=self.in_order)

    def _combined(self) -> Combined | None:
        given = dict(self.keywords)
        given.pop("axis", None)
        given.pop("dtype", None)  # that of the result, in which all is computed
        fewer = given.pop("ddof", 0) if self.function in (np.var, np.std) else 0
        if given or type(fewer) is not int:
            return None
        if self.function in OF_ELEMENTS:
            return Combined(OF_ELEMENTS[self.function], self.axes)
        if self.function is np.mean:
            return Combined(np.add, self.axes, fewer=0)
        if self.function in (np.var, np.std):
            rooted = self.function is np.std
            return Combined(np.add, self.axes, centred=True, squared=True, fewer=fewer, rooted=rooted)
        if self.function is np.linalg.norm and len(self.axes) == 1:
            return Combined(np.add, self.axes, squared=True, rooted=True)
        ufunc = getattr(self.function, "__self__", None)
        if ufunc in _UFUNCS and self.function == ufunc.reduce:
            return Combined(ufunc, self.axes)
        return None


def reduced(
    function: Callable[..., Any],
    sources: Sequence[Any],
    keywords: dict[str, Any],
    axes: tuple[int, ...],
    wide: tuple[int, ...],
) -> Any:
    """What a function gives that reduces some axes of arrays of one shape, pieces of ones that are wide along others:
    where the pieces are not, it is given twice what they have there, so that NumPy's order is that of the whole."""
    shape = sources[0].shape
    alone = [d for d in wide if shape[d] == 1]
    if not alone:
        return function(*sources, **keywords)
    found = function(*(_twice(source, alone) for source in sources), **keywords)
    kept = [d for d in range(len(shape)) if d not in axes]
    return found[tuple(slice(1) if d in alone else slice(None) for d in kept)]


def _in_order(array: Any, wide: Sequence[int]) -> Any:
    """An array whose axes lie in memory as those of one in C order do: itself, or a copy."""
    apart = [array.strides[d] for d in range(array.ndim) if array.shape[d] > 1 or d in wide]
    is_so = all(outer >= inner for outer, inner in pairwise(apart))
    return array if is_so else array.copy()


def _twice(array: Any, axes: Sequence[int]) -> Any:
    """An array with each element twice along some axes, in memory in the same order of axes and directions; axes whose
    elements lie no distance apart stay before those that follow."""
    apart = [abs(stride) for stride in array.strides]
    for d in reversed(range(array.ndim)):
        apart[d] = apart[d] or max(apart[d + 1 :], default=0)
    turned = tuple(slice(None, None, -1 if stride < 0 else 1) for stride in array.strides)
    order = sorted(range(array.ndim), key=lambda d: -apart[d])
    found = array[turned].transpose(order)
    for axis in axes:
        found = np.repeat(found, 2, axis=order.index(axis))
    return found.transpose(np.argsort(order))[turned]


def write_result(name: str, result: Any, target: Any) -> None:
    """Write what a function gave. Raises `ChangedResultError` if that is no such array."""
    array = np.asarray(result)
    if array.shape != target.shape or array.dtype != target.dtype:
        raise ChangedResultError(
            f"{name} gave an array of shape {array.shape} and dtype {array.dtype} where it gave "
            f"{target.shape} and {target.dtype} when it was traced"
        )
    target[...] = array


@remembered
def combined_of(func: LoweredFunc) -> Combined | None:
    """What a func combines, if it is a reduction of whole axes that is understood."""
    operation = func.operation
    if not isinstance(operation, Callback) or not isinstance(operation.function, Reducing):
        return None
    told = tuple(name for name, _ in operation.arguments)
    if operation.pass_buffers or told != operation.function.sizes or len(func.inputs) != 1 or len(func.outputs) != 1:
        return None
    return operation.function.combined()
