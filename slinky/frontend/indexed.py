"""Real arrays that a traced function may index by lazy ones: `table[image]`, which asks the table alone.

Idea. NumPy hands operators, ufuncs and functions over to a lazy array that is among their operands, but an index of a
real array is asked for its values, at once. So what a traced function comes to by a name of its own, and what it has
NumPy make of numbers, are seen as arrays of a class that looks at the index before NumPy does. Those are views: what is
written into them is written into what they see.

Invariant: they are NumPy's arrays in all but `[]` by something lazy, and no result of a function is of this class.
(What a function puts into a cache of its own while it is traced is: an array of NumPy's for all that comes after.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

_NUMPY_S = (np.ndarray, np.memmap)
"""Classes of arrays that are no operand's own, but NumPy's."""

_NEVER_LAZY = (int, np.ndarray)
"""What loops of people's own index by, most of all, which is looked at no further."""


class IndexedArray(np.ndarray):
    """A real array as a traced function sees it."""

    _own: Any = None
    """The array itself, as it is outside."""

    def __getitem__(self, index: Any) -> Any:
        """Part of it; what something lazy chooses of it is lazy."""
        if type(index) in _NEVER_LAZY:
            return super().__getitem__(index)
        from slinky.frontend.arrays import is_traceable
        from slinky.frontend.calling import lifted
        from slinky.frontend.given import lazy_arrays, trace_of

        if lazy_arrays(index) and is_traceable(self):
            return lifted(self, trace_of(index))[index]
        return super().__getitem__(index)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """What NumPy computes of it: scalars where it gives these for arrays, else arrays of this class; but those of a
        class of somebody's own, where one was among the operands."""
        for other in context[1] if context is not None else ():
            if isinstance(other, np.ndarray) and type(other) not in (*_NUMPY_S, IndexedArray):
                return other.__array_wrap__(array, context, return_scalar)
        if return_scalar:
            return array[()]
        return array if type(array) is IndexedArray else array.view(IndexedArray)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class that the array has outside."""
        return np.ndarray

    @property
    def flags(self) -> Any:
        """What is known of its memory, and may be set."""
        return super().flags if self._own is None else self._own.flags

    @property
    def base(self) -> Any:
        """Whose memory it sees: not its own, where the array itself was made of it (`own_array`)."""
        return super().base if self._own is None or self._own.base is self else self._own.base

    def setflags(self, *given: Any, **named: Any) -> None:
        """Set what is known of its memory, of both."""
        super().setflags(*given, **named)
        if self._own is not None:
            self._own.setflags(*given, **named)

    def resize(self, *given: Any, **named: Any) -> None:
        """Give another shape to as many elements, here and outside.

        Raises `ValueError` for more or fewer: the memory is not this array's.
        """
        super().resize(*given, **named)
        if self._own is not None:
            self._own.resize(self.shape)

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))

    def __reduce__(self) -> Any:
        return own_array(self).__reduce__()


def is_indexed(value: object) -> bool:
    """Whether a value is seen as an array that may be indexed by lazy ones."""
    return type(value) is np.ndarray and bool(value.ndim) and value.dtype.kind in "biufc" and value.dtype.isnative


def is_just_elements(value: object) -> bool:
    """Whether a value is an array of NumPy's own class whose copy has nothing in common with it."""
    return type(value) in _NUMPY_S and not value.dtype.hasobject  # type: ignore[attr-defined]


def indexed_array(value: Any) -> Any:
    """What is seen for a value: for an array of numbers, one that may be indexed; anything else as it is."""
    if not is_indexed(value):
        return value
    found = value.view(IndexedArray)
    found._own = value
    return found


def own_array(value: Any) -> Any:
    """The array itself, for one that is seen; anything else as it is."""
    if type(value) is not IndexedArray:
        return value
    if value._own is None:
        value._own = value.view(np.ndarray)  # the same one at each time, so that it is one source
    return value._own
