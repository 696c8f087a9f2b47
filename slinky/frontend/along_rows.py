"""Functions of whole rows, with something else that they are told: segments, several keys, another function.

Idea. Along an axis they look at everything, and along the others at nothing else than the row itself; what they are
told beside it, such as where segments begin, is the same for all rows. So the others go by pieces.

Invariant: a handler gives what NumPy gives for the same arguments, or refuses by `NotUnderstoodError`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from slinky.frontend.arrays import LazyArray, Value, made, placed, solid
from slinky.frontend.calling import lifted
from slinky.frontend.functions import WHOLE_AXES, dtype_of
from slinky.frontend.given import as_lazy, axis_of, lazy_arrays, trace_of
from slinky.frontend.namespaces import meant
from slinky.frontend.nodes import Array, Node, Operation, exactly
from slinky.frontend.operations import Along, Calling, UnderErrors
from slinky.frontend.sizes import Length, known, same
from slinky.frontend.tables import (
    DATA_DEPENDENT,
    EXACT,
    TABLE,
    NotUnderstoodError,
    exactness_along,
    exactness_of,
    understood,
)

if TYPE_CHECKING:
    from slinky.frontend.lowering import Lowering

MOST_KEYS = 16
"""Keys of a sort, at most: more are sorted at once."""


@attrs.frozen(eq=False)
class AlongWith(Operation):
    """A function of an array along an axis that it reads whole, and of others that it reads wholly."""

    name: str
    function: Callable[..., Any]
    axis: int
    keywords: tuple[tuple[str, Any], ...]
    exactness: str
    keeps_order = True

    def compute(self, operands: Sequence[Array], node: Node) -> tuple[Array, ...]:
        """The results of whole arrays."""
        return (np.asarray(self.function(*operands, **dict(self.keywords))),)

    def lower(self, node: Node, lowering: Lowering) -> None:
        """One func that reads the axis whole, and all of the others."""
        dims = lowering.dims(len(node.results[0].shape))
        places = [None if d == self.axis else dim for d, dim in enumerate(dims)]
        first, *others = node.operands
        reads = [
            lowering.read(first, places, dims),
            *(lowering.read(view, [None] * len(view.shape), dims) for view in others),
        ]
        callback = Calling(
            self.name,
            self.function,
            dict(self.keywords),
            tuple(read.adapter for read in reads),
            reads_in_order=self.exactness != EXACT,
        )
        lowering.func(node, callback, [read.access for read in reads], dims, whole=[dims[self.axis]])

    def under(self, errors: tuple[tuple[str, Any], ...]) -> Operation:
        """The same, with other settings of what is done about floating-point errors."""
        return attrs.evolve(self, function=UnderErrors(self.function, errors))

    def key(self, of: Callable[[Length], Hashable]) -> Hashable | None:
        """The function, the axis, and what else is given to it."""
        return ("along with", self.function, self.axis, exactly(dict(self.keywords)))


def reduceat(ufunc: np.ufunc, array: Value, indices: Value, axis: Any = 0, dtype: Any = None) -> LazyArray:
    """What a ufunc makes of each segment along an axis: from one place that is told to the next."""
    trace = trace_of((array, indices))
    own, starts = lifted(array, trace), lifted(indices, trace)
    rank = len(own._shape)
    if not rank or len(starts._shape) != 1 or not np.can_cast(starts.dtype, np.intp) or starts.dtype == np.bool_:
        raise NotUnderstoodError("places that are no integers")
    d = axis_of(axis, rank)
    keywords: dict[str, Any] = {"axis": d} | ({} if dtype is None else {"dtype": np.dtype(dtype)})
    kind = dtype_of(ufunc.reduceat, [(rank, own.dtype)], {"indices": [0], **keywords})
    shape = (*own._shape[:d], starts._shape[0], *own._shape[d + 1 :])
    exactness = exactness_of(ufunc, (own.dtype, kind))
    operation = AlongWith(ufunc.__name__, ufunc.reduceat, d, tuple(sorted(keywords.items())), exactness)
    views = [solid(each._view, trace) for each in (own, starts)]
    return placed(made(operation, views, [(shape, kind, False)], trace)[0], trace)


@understood(np.lexsort, how=WHOLE_AXES)
def lexsort(keys: Any, axis: Any = -1) -> LazyArray:
    """In which order elements come along an axis, by several keys, of which the last one counts most."""
    trace = trace_of((keys,))
    if type(keys) is LazyArray:
        keys = [keys[k] for k in range(known(keys._shape[0]))] if len(keys._shape) > 1 else ()
    if not isinstance(keys, (tuple, list)) or not 1 <= len(keys) <= MOST_KEYS:
        raise NotUnderstoodError("numbers of keys")
    arrays = [lifted(each, trace) for each in keys]
    shape = arrays[0]._shape
    if not shape or any(len(each._shape) != len(shape) or not all(map(same, each._shape, shape)) for each in arrays):
        raise NotUnderstoodError("keys of other shapes")  # NumPy says so
    d = axis_of(axis, len(shape))
    operation = Along("lexsort", _lexsorted, (d,), (), (("axis", d),), EXACT)
    views = [solid(each._view, trace) for each in arrays]
    return placed(made(operation, views, [(shape, np.dtype(np.intp), False)], trace)[0], trace)


def _lexsorted(*keys: Array, axis: int) -> Array:
    return np.lexsort(keys, axis=axis)


@attrs.frozen
class _Applied:
    """A function of NumPy's along an axis, row by row, with what else is given to it."""

    function: Callable[..., Any]
    given: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]
    __name__ = "apply_along_axis"

    def __call__(self, array: Any, axis: int) -> Any:
        return np.apply_along_axis(self.function, axis, array, *self.given, **dict(self.named))


@understood(np.apply_along_axis, how=WHOLE_AXES)
def apply_along_axis(func1d: Callable[..., Any], axis: Any, arr: Value, *args: Any, **kwargs: Any) -> LazyArray:
    """A function of NumPy's of each row, whose result is a number or a row. (Others may keep something from call to
    call.)"""
    array = as_lazy(arr)
    rank = len(array._shape)
    func1d = meant(func1d) if _is_of_numpy(func1d) else func1d
    if not _has_known_results(func1d) or lazy_arrays((args, kwargs)) or not rank:
        raise NotUnderstoodError("functions that are not NumPy's, or are told what is computed")
    if not all(_is_plain(each) for each in (*args, *kwargs.values())) or any(not n > 0 for n in array._shape):
        raise NotUnderstoodError("further arguments that are no numbers")
    d, applied = axis_of(axis, rank), _Applied(func1d, args, tuple(sorted(kwargs.items())))
    extent = known(array._shape[d])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = np.asanyarray(func1d(np.ones(extent, array.dtype), *args, **kwargs))
    if type(row) is not np.ndarray or row.ndim > 1 or row.dtype.kind not in "biufc":
        raise NotUnderstoodError("results that are no rows")
    removed = (d,) if row.ndim == 0 else ()
    operation = Along("apply_along_axis", applied, (d,), removed, (("axis", d),), exactness_along(func1d))
    shape = (*array._shape[:d], *row.shape, *array._shape[d + 1 :])
    is_in_order = bool(removed) or d == rank - 1  # rows lie beside each other
    views = [solid(array._view, array._trace)]
    return placed(made(operation, views, [(shape, row.dtype, False)], array._trace, is_in_order)[0], array._trace)


def _has_known_results(function: Any) -> bool:
    """Whether what a function gives has a shape and a dtype that do not depend on values."""
    return _is_of_numpy(function) and function in TABLE and function not in DATA_DEPENDENT


def _is_of_numpy(function: Any) -> bool:
    """Whether something is a function, and no object of a user's, which may be asked for its hash."""
    return isinstance(function, FunctionType) or type(function).__module__.startswith("numpy")


def _is_plain(given: Any) -> bool:
    return given is None or type(given) in (bool, int, float, str)
