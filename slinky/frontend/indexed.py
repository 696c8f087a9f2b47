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
        from slinky.frontend.calling import lifted
        from slinky.frontend.given import lazy_arrays, trace_of

        return lifted(self, trace_of(index))[index] if lazy_arrays(index) else super().__getitem__(index)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """What NumPy computes of it: scalars where it gives these for arrays, else arrays of this class."""
        return array[()] if return_scalar else array.view(IndexedArray)

    def __reduce__(self) -> Any:
        return own_array(self).__reduce__()


def is_indexed(value: object) -> bool:
    """Whether a value is seen as an array that may be indexed by lazy ones."""
    return type(value) is np.ndarray and bool(value.ndim) and value.dtype.kind in "biufc"


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
