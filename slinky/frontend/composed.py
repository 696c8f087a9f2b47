"""Functions of NumPy that are made of others: written once more, with lazy arrays.

Invariant: each is what NumPy computes, operation by operation, so that the bits are the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.frontend.arrays import LazyArray, Value, made, placed
from slinky.frontend.calling import call_function, cast, lifted, pointwise, trace_of
from slinky.frontend.functions import ELEMENTS, WHOLE_AXES, reduced
from slinky.frontend.given import as_lazy, axes_of
from slinky.frontend.nodes import Index
from slinky.frontend.operations import Assembled, Part
from slinky.frontend.rearranging import COPY, VIEW, atleast_2d, concatenate
from slinky.frontend.tables import ALONG, NotUnderstoodError, understood

MOST_PARTS = 64
"""Copies of more parts are made at once."""


@understood(np.average, how="reduced " + WHOLE_AXES, exactness=ALONG)
def average(a: Value, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    """The mean, without weights."""
    if weights is not None or returned:
        raise NotUnderstoodError("weights")
    array = as_lazy(a)
    if array.dtype.kind not in "fc":  # np.average adds a zero of float64 to means of integers
        raise NotUnderstoodError("integers")
    return call_function(np.mean, (array, axis), {"keepdims": keepdims})


@understood(np.linalg.norm, how="reduced " + WHOLE_AXES, exactness=ALONG)
def norm(x: Value, ord: Any = None, axis: Any = None, keepdims: bool = False) -> LazyArray:
    """Vector norms along an axis."""
    if ord is not None or type(axis) is not int:
        raise NotUnderstoodError("other norms")
    return reduced(np.linalg.norm, "norm", x, axis, keepdims=keepdims)


@understood(np.select, how=ELEMENTS)
def select(condlist: Sequence[Value], choicelist: Sequence[Value], default: Value = 0) -> Any:
    """Elements of the first array whose condition holds."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise NotUnderstoodError("lists of other lengths")
    trace = trace_of((tuple(condlist), tuple(choicelist), default))
    choices = [lifted(each, trace) for each in choicelist]
    conditions = [lifted(each, trace) for each in condlist]
    if type(default) not in (int, float) or any(c.dtype != np.bool_ for c in conditions):
        raise NotUnderstoodError("defaults that are arrays")
    if any(type(each) is not LazyArray for each in choicelist):
        raise NotUnderstoodError("numbers as choices")
    dtype = np.result_type(*(each.dtype for each in choices), default)
    if not any(len(each._shape) for each in (*choices, *conditions)):
        raise NotUnderstoodError("no axes")
    found: Any = np.asarray(default, dtype)[()]
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        own = choice if choice.dtype == dtype else cast(choice, dtype)
        found = pointwise(np.where, (condition, own, found), name="select", scalars=False)
    return found


@attrs.frozen(eq=False)
class _WithTables:
    """A function of elements and of arrays that are known."""

    function: Callable[..., Any]
    tables: tuple[Any, ...]
    keywords: dict[str, Any]

    def __call__(self, x: Any) -> Any:
        return self.function(x, *self.tables, **self.keywords)


@understood(np.interp, how=ELEMENTS)
def interp(x: Value, xp: Value, fp: Value, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Linear interpolation in tables that are known."""
    tables = _known(xp), _known(fp)
    function = _WithTables(np.interp, tables, {"left": left, "right": right, "period": period})
    return pointwise(function, (as_lazy(x),), name="interp")


@understood(np.digitize, how=ELEMENTS)
def digitize(x: Value, bins: Value, right: bool = False) -> Any:
    """The numbers of bins that are known."""
    return pointwise(_WithTables(np.digitize, (_known(bins),), {"right": right}), (as_lazy(x),), name="digitize")


def _known(table: Value) -> Any:
    """A table as it is now."""
    if type(table) is LazyArray:
        raise NotUnderstoodError("tables that are not known")
    return np.array(table)


@understood(np.gradient, how=ELEMENTS)
def gradient(f: Value, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences, one-sided ones at the ends, with spacings that are numbers."""
    array = as_lazy(f)
    rank = len(array._shape)
    axes = axes_of(axis, rank) if not isinstance(axis, tuple) else tuple(a % rank for a in axis)
    spacings = [1.0] * len(axes) if not varargs else list(varargs) * (len(axes) if len(varargs) == 1 else 1)
    plain = all(type(each) in (int, float) for each in spacings) and len(spacings) == len(axes) and edge_order == 1
    if not plain or array.dtype.kind not in "f" or not rank:
        raise NotUnderstoodError("spacings")
    found = []
    for d, step in zip(axes, spacings, strict=True):
        if not array._shape[d] >= 2:
            raise NotUnderstoodError("too few elements")  # NumPy says so
        found.append(_gradient(array, d, step))
    return found[0] if len(axes) == 1 else tuple(found)


def _gradient(array: LazyArray, d: int, step: float) -> LazyArray:
    before = (slice(None),) * d

    def part(*ends: Any) -> Any:
        return array[(*before, slice(*ends))]

    inside = (part(2, None) - part(None, -2)) / (2.0 * step)
    return concatenate([(part(1, 2) - part(0, 1)) / step, inside, (part(-1, None) - part(-2, -1)) / step], d)


@understood(np.split, np.array_split, how=VIEW)
def split(ary: Value, indices_or_sections: Any, axis: int = 0) -> list[LazyArray]:
    """Parts of an array, one behind the other."""
    array = as_lazy(ary)
    if isinstance(indices_or_sections, int):
        raise NotUnderstoodError("sections")
    (d,) = axes_of(axis, len(array._shape))
    ends = [operator.index(each) for each in indices_or_sections]
    before = (slice(None),) * d
    places = zip([0, *ends], [*ends, None], strict=True)
    return [array[(*before, slice(first, last))] for first, last in places]


@understood(np.column_stack, how=COPY)
def column_stack(tup: Any) -> LazyArray:
    """Columns beside each other."""
    trace = trace_of((tuple(tup),))
    arrays = [lifted(each, trace) for each in tup]
    return concatenate([a if len(a._shape) > 1 else atleast_2d(a).T for a in arrays], 1)


@understood(np.dstack, how=COPY)
def dstack(tup: Any) -> LazyArray:
    """Along the third axis."""
    trace = trace_of((tuple(tup),))
    arrays = [atleast_2d(lifted(each, trace)) for each in tup]
    return concatenate([a if len(a._shape) > 2 else a[:, :, None] for a in arrays], 2)


@understood(np.tile, how=COPY)
def tile(A: Value, reps: Any) -> LazyArray:  # noqa: N803
    """An array several times beside itself."""
    array = as_lazy(A)
    counts = [operator.index(n) for n in (reps if isinstance(reps, (tuple, list)) else (reps,))]
    if any(n < 1 or n > MOST_PARTS for n in counts) or array.is_scalar:
        raise NotUnderstoodError("counts")
    found = array.copy()
    for _ in range(len(counts) - len(array._shape)):
        found = found[None]
    counts = [1] * (len(found._shape) - len(counts)) + counts
    for d, n in enumerate(counts):
        if n > 1:
            found = concatenate([found] * n, d)
    return found


@understood(np.repeat, how=COPY)
def repeat(a: Value, repeats: Any, axis: Any = None) -> LazyArray:
    """Each element several times."""
    array = as_lazy(a)
    if axis is None and len(array._shape) != 1:
        raise NotUnderstoodError("all axes as one")
    if type(repeats) is not int or not 1 <= repeats <= MOST_PARTS:
        raise NotUnderstoodError("several counts")
    (d,) = axes_of(0 if axis is None else axis, len(array._shape))
    rank = len(array._shape)
    shape = tuple(n * repeats if k == d else n for k, n in enumerate(array._shape))
    parts = [
        Part(tuple(Index(j if k == d else 0, repeats if k == d else 1, k) for k in range(rank)), array._shape)
        for j in range(repeats)
    ]
    operation = Assembled("repeat", tuple(parts))
    return placed(made(operation, [array.view] * repeats, [(shape, array.dtype, False)], array._trace)[0], array._trace)
