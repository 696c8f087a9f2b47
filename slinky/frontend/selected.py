"""Elements that a mask selects, and that go back to where it selects others: by pieces, for it need not be known which.

Idea. Of `x[m] *= 2`, how many elements there are nobody sees. So they are an array like `x`, of which only those count
that `m` selects, and a ufunc of them is one with `where=m`: others are not computed, and raise no errors. Where they
are stored under the same mask, each element of the array is one of two. What they meet otherwise (another mask, arrays
that are as long) asks how many there are: the values of the mask, as elsewhere.

Invariant: for whoever asks, these are the elements that NumPy has there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from slinky.frontend.arrays import OF_TWO, Cell, LazyArray, Value
from slinky.frontend.calling import OPERATORS, cast, filled, is_known, is_number, pointwise
from slinky.frontend.fences import filled_in, relaxed
from slinky.frontend.given import dtypes_among, lazy_arrays
from slinky.frontend.going_back import go_back
from slinky.frontend.nodes import View
from slinky.frontend.sizes import same
from slinky.frontend.tables import NotUnderstoodError, exactness_of
from slinky.frontend.tracing import values_to_read
from slinky.frontend.views import sees_the_same
from slinky.graph.terms import own_power


def select(array: LazyArray, mask: LazyArray, frame: FrameType) -> Any:
    """What a frame's subscript gives: elements that go back, or an array of those that the mask selects."""
    are_alike = len(mask._shape) <= len(array._shape) and all(map(same, mask._shape, array._shape))
    if not mask._shape or not are_alike or not go_back(frame, LazyArray):
        return taken_by_masks(array, mask)
    return Selected(_as_it_is(array), _as_it_is(mask))


def taken_by_masks(array: LazyArray, given: Any) -> Any:
    """The elements that indices choose, masks among them, whose values are asked for."""
    trace = array._trace
    arrays = lazy_arrays((array, given))
    trace.forced("indexing by a mask", *[each._view for each in arrays if each.dtype == np.bool_ or each is not array])
    values = values_to_read([each._view for each in arrays], trace)
    found = filled_in(operator.getitem, (array, given), {}, values)
    if isinstance(found, np.ndarray):
        found.flags.writeable = False  # nobody else has it: elements that masks select are copied
    return relaxed(found, arrays)


def _as_it_is(array: LazyArray) -> LazyArray:
    """An array that is what another one is now, whatever that is later."""
    return LazyArray(array._trace, Cell(array._cell.result), array._index, array._shape)


class Selected:
    """The elements of an array that a mask selects, on their way back: `operators` and ufuncs of them alone are asked
    for (see `going_back`), and to `store` them. What a mask does not select is what the view `others` sees, if that is
    known."""

    __slots__ = ("_array", "_mask", "_others")
    __slinky_lazy__ = True
    __slinky_selected__ = True

    def __init__(self, array: LazyArray, mask: LazyArray, others: View | None = None) -> None:
        self._array, self._mask, self._others = array, mask, others

    def taken(self) -> Any:
        """The elements as an array: the values of the mask are asked for."""
        return taken_by_masks(self._array, self._mask)

    def store(self, target: LazyArray, given: Any) -> bool:
        """Put the elements into an array where an index chooses some, if that is known to be the same mask."""
        own, array = self._mask, self._array
        are_alike = len(array._shape) == len(target._shape) and all(map(same, array._shape, target._shape))
        if type(given) is not LazyArray or not are_alike or not sees_the_same(own._view, given._view):
            return False
        if array.dtype.kind == "c" != target.dtype.kind:
            return False  # NumPy warns of it
        if self._others is not None and array.dtype == target.dtype and sees_the_same(self._others, target._view):
            target.write(array)
            return True
        mask = self._wide()
        if array.dtype != target.dtype:  # of what is not selected, nothing is said
            array = cast(pointwise(np.where, (mask, array, array.dtype.type(0)), name="where"), target.dtype)
        target.write(pointwise(np.where, (mask, array, target), name="where", scalars=False))
        return True

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *given: Value, **keywords: Any) -> Any:
        if method == "__call__" and not keywords and (found := self._computed(ufunc, given)) is not None:
            return found
        return getattr(ufunc, method)(*map(_as_array, given), **keywords)

    def operated(self, name: str, given: tuple[Any, ...]) -> Any:
        """What an operator of Python's gives."""
        function, ufunc = OPERATORS[name]
        found = self._power(given) if name == "pow" else self._computed(ufunc, given)
        return function(*map(_as_array, given)) if found is None else found

    def operated_in_place(self, name: str, other: Any) -> Any:
        """What an operator gives that writes to the elements, which are an array of their own."""
        function, ufunc = getattr(operator, f"i{name}"), OPERATORS[name][1]
        given = (self, other)
        found = self._power(given, in_place=True) if name == "pow" else self._computed(ufunc, given, in_place=True)
        return function(*map(_as_array, given)) if found is None else found

    def _power(self, given: tuple[Any, ...], *, in_place: bool = False) -> Selected | None:
        """A power for which NumPy has a ufunc of one, whose bits are others."""
        base, exponent = given
        own = own_power(base._array.dtype.kind, exponent) if type(base) is Selected else None
        return None if own is None else self._computed(own, (base,), in_place=in_place)

    def _computed(self, ufunc: np.ufunc, given: tuple[Any, ...], *, in_place: bool = False) -> Selected | None:
        """What a ufunc gives of these elements and numbers; None where it takes an array of them."""
        if ufunc.signature is not None or ufunc.nout != 1 or not all(map(self._goes_with, given)):
            return None
        array, trace = self._array, self._array._trace
        operands = [each._array if type(each) is Selected else each for each in given]
        exactness = exactness_of(ufunc, dtypes_among(operands))
        if exactness not in trace.by_pieces:
            return None  # NumPy's bits may be others of elements beside each other
        out: list[Any] = []
        others = array._view if in_place and array._view.is_whole else None
        if in_place:
            out = [_as_it_is(array) if others is not None else filled(array._shape, array.dtype, 0, trace)]
        try:
            found = pointwise(
                ufunc, operands, name=ufunc.__name__, into=True, out=out, where=self._wide(), exactness=exactness
            )
        except NotUnderstoodError:
            return None
        return Selected(found, self._mask, others)

    def _goes_with(self, other: Any) -> bool:
        """Whether something is a number, or elements that the same mask selects."""
        if type(other) is not Selected:
            return is_known(other) and is_number(other)
        are_alike = len(other._array._shape) == len(self._array._shape)
        return (
            are_alike
            and sees_the_same(other._mask._view, self._mask._view)
            and all(map(same, other._array._shape, self._array._shape))
        )

    def _wide(self) -> LazyArray:
        """The mask, with as many axes as the array."""
        missing = len(self._array._shape) - len(self._mask._shape)
        return self._mask[(..., *(None,) * missing)] if missing else self._mask


def _as_array(value: Any) -> Any:
    return value.taken() if type(value) is Selected else value


def _operator(name: str, *, is_turned: bool = False) -> Callable[[Selected, Any], Any]:
    def method(self: Selected, other: Any) -> Any:
        return self.operated(name, (other, self) if is_turned else (self, other))

    return method


def _in_place(name: str) -> Callable[[Selected, Any], Any]:
    return lambda self, other: self.operated_in_place(name, other)


def _unary(name: str) -> Callable[[Selected], Any]:
    return lambda self: self.operated(name, (self,))


for _name in OF_TWO:
    setattr(Selected, f"__{_name}__", _operator(_name))
    setattr(Selected, f"__r{_name}__", _operator(_name, is_turned=True))
    setattr(Selected, f"__i{_name}__", _in_place(_name))
for _name in ("neg", "pos", "invert"):
    setattr(Selected, f"__{_name}__", _unary(_name))
