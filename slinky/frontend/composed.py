"""Functions of NumPy that are made of others: written once more, with lazy arrays.

Invariant: each is what NumPy computes, operation by operation, so that the bits are the same.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.frontend import along_rows as along_rows  # they fill the table, too
from slinky.frontend import bits as bits
from slinky.frontend import comparing as comparing
from slinky.frontend import contracting as contracting
from slinky.frontend import diagonals as diagonals
from slinky.frontend import histograms as histograms
from slinky.frontend import overwriting as overwriting
from slinky.frontend import placing as placing
from slinky.frontend import sliding as sliding
from slinky.frontend import stacks as stacks
from slinky.frontend import transforms as transforms
from slinky.frontend.arrays import LazyArray, Value, made, placed, whole_result
from slinky.frontend.assembling import Assembled, Part
from slinky.frontend.calling import broadcast_to, call_function, cast, filled, lifted, pointwise, sized
from slinky.frontend.following import attempt, followed
from slinky.frontend.functions import ELEMENTS, WHOLE_AXES, reduced
from slinky.frontend.given import as_lazy, axes_of, axis_of, is_set, trace_of
from slinky.frontend.going_back import is_of_elements
from slinky.frontend.nodes import Index
from slinky.frontend.rearranging import COPY, VIEW, atleast_2d, broadcasted, concatenate, fused
from slinky.frontend.selected import Selected
from slinky.frontend.sizes import Length, Size, known, same
from slinky.frontend.tables import ALONG, NotUnderstoodError, understood
from slinky.frontend.views import common_shape
from slinky.ir.reducing import ChangedResultError

MOST_PARTS = 64
"""Copies of more parts are made at once."""


@understood(np.average, how="reduced " + WHOLE_AXES, exactness=ALONG)
def average(a: Value, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    """The mean, with weights or without, and the sum of these."""
    if weights is not None:
        return _weighted(a, axis, weights, returned, is_set(keepdims))
    array = as_lazy(a)
    found = call_function(np.mean, (array, axis), {"keepdims": keepdims})
    if not returned:
        return found
    count: Length = 1
    for d in axes_of(axis, len(array._shape)):
        count = count * array._shape[d]
    total = sized(count, np.float64, array._trace).astype(found.dtype)
    return found, total if not found._shape and found.is_scalar else broadcasted(total, found._shape).copied()


def _weighted(a: Value, axis: Any, weights: Any, returned: bool, keepdims: bool) -> Any:
    """The mean of what weighs so much: an array like it, or one along the axes."""
    trace = trace_of((a, weights))
    array, heavy = lifted(a, trace), lifted(weights, trace)
    rank = len(array._shape)
    axes = None if axis is None else axes_of(axis, rank)
    if len(heavy._shape) != rank or not all(map(same, heavy._shape, array._shape)):
        given = None if axis is None else [d % rank for d in (axis if isinstance(axis, tuple) else (axis,))]
        if given is None or given != sorted(given) or not _are_along(heavy, array, given):
            raise NotUnderstoodError("weights of another shape")  # NumPy says so, or turns them
        heavy = heavy[tuple(slice(None) if d in given else None for d in range(rank))]
    kinds = [array.dtype, heavy.dtype, *([np.dtype(np.float64)] if array.dtype.kind in "biu" else [])]
    dtype = np.result_type(*kinds)
    total = call_function(np.sum, (heavy, axes), {"dtype": dtype, "keepdims": keepdims})
    total = pointwise(_NotZero(trace.is_free or bool(trace.donated)), (total,), name="weights", scalars=total.is_scalar)
    found = np.multiply(array, heavy, dtype=dtype).sum(axes, keepdims=keepdims) / total
    if not returned:
        return found
    is_alike = len(total._shape) == len(found._shape) and all(map(same, total._shape, found._shape))
    return found, total if is_alike else broadcasted(total, found._shape).copied()


def _are_along(weights: LazyArray, array: LazyArray, axes: Sequence[int]) -> bool:
    return len(weights._shape) == len(axes) and all(
        same(n, array._shape[d]) for n, d in zip(weights._shape, axes, strict=True)
    )


@attrs.frozen
class _NotZero:
    """Sums of weights: where one is zero, NumPy refuses them, in its own words."""

    may_fail: bool
    __name__ = "weights"

    def __call__(self, total: Any) -> Any:
        if not np.any(total == 0):
            return total
        try:
            return np.average([1.0], weights=[0.0])
        except ZeroDivisionError as error:
            if self.may_fail:
                raise
            raise ChangedResultError(f"average raised {type(error).__name__}: {error}") from error


@understood(np.linalg.norm, how="reduced " + WHOLE_AXES, exactness=ALONG)
def norm(x: Value, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Vector norms along an axis; others as NumPy's code has them."""
    if ord is not None or type(axis) is not int:
        return followed(np.linalg.norm, (x, ord, axis, keepdims), {})
    return reduced(np.linalg.norm, "norm", x, axis, keepdims=keepdims)


@understood(np.select, how=ELEMENTS)
def select(condlist: Sequence[Value], choicelist: Sequence[Value], default: Value = 0) -> Any:
    """Elements of the first array whose condition holds."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise NotUnderstoodError("lists of other lengths")  # NumPy says so
    trace = trace_of((tuple(condlist), tuple(choicelist), default))
    trace.asked_for_rows = True
    conditions = [lifted(each, trace) for each in condlist]
    values = [known(each) if type(each) is Size else each for each in (*choicelist, default)]
    choices = [each if type(each) in (int, float, complex) else lifted(each, trace) for each in values]
    if any(c.dtype != np.bool_ for c in conditions):
        raise NotUnderstoodError("conditions that are not bool")
    dtype = np.result_type(*(each.dtype if type(each) is LazyArray else each for each in choices))
    numbers = [each for each in choices[:-1] if type(each) is not LazyArray]
    if not all(np.can_cast(np.asarray(each).dtype, dtype, "same_kind") for each in numbers):
        raise NotUnderstoodError("numbers of another kind")  # NumPy says so, such as of ints beside unsigned ones
    shape = common_shape([each._shape for each in (*conditions, *choices) if type(each) is LazyArray])
    if not shape:
        raise NotUnderstoodError("no axes")

    def value(choice: Any) -> Any:
        if type(choice) is not LazyArray:
            return np.asarray(choice, dtype)[()]
        return choice if choice.dtype == dtype else cast(choice, dtype)

    *given, found = map(value, choices)
    for condition, choice in zip(reversed(conditions), reversed(given), strict=True):
        found = pointwise(np.where, (condition, choice, found), name="select", scalars=False)
    return (
        found if all(map(same, found._shape, shape)) else placed(whole_result(broadcast_to(found, shape), trace), trace)
    )


@understood(np.block, how=COPY)
def block(arrays: Any) -> LazyArray:
    """Blocks beside and below each other."""
    trace = trace_of((arrays,))
    depth = _depth(arrays)
    leaves = [lifted(each, trace) for each in _leaves(arrays)]
    rank = max(depth, *(len(each._shape) for each in leaves))

    def joined(given: Any, inside: int) -> LazyArray:
        if not isinstance(given, list):
            own = lifted(given, trace)
            return own[(None,) * (rank - len(own._shape))]  # type: ignore[no-any-return]
        return concatenate([joined(each, inside + 1) for each in given], inside - depth)

    found = joined(arrays, 0)
    if found.dtype != np.result_type(*(each.dtype for each in leaves)):
        raise NotUnderstoodError("dtypes whose common one depends on the order")
    return found if depth else found.copied()


def _depth(given: Any) -> int:
    """How deep lists are in each other, everywhere."""
    if not isinstance(given, list):
        return 0
    depths = {_depth(each) for each in given}
    if len(depths) != 1:
        raise NotUnderstoodError("lists of other depths")  # NumPy says so
    return depths.pop() + 1


def _leaves(given: Any) -> list[Any]:
    return [leaf for each in given for leaf in _leaves(each)] if isinstance(given, list) else [given]


@understood(np.array_split, how=VIEW)
def array_split(ary: Value, indices_or_sections: Any, axis: int = 0) -> list[LazyArray]:
    """Parts of an array, one behind the other: with these ends, or so many, the first of which are longer by one."""
    array = as_lazy(ary)
    d = axis_of(axis, len(array._shape))
    if np.ndim(indices_or_sections) == 0:
        count = operator.index(indices_or_sections)
        if not 1 <= count <= MOST_PARTS:
            raise NotUnderstoodError("numbers of parts")
        longer = known(array._shape[d] % count)
        ends = [array._shape[d] // count * k + min(k, longer) for k in range(1, count)]
    else:
        ends = [operator.index(each) for each in indices_or_sections]
    before = (slice(None),) * d
    places = zip([0, *ends], [*ends, None], strict=True)
    return [array[(*before, slice(first, last))] for first, last in places]


@understood(np.split, how=VIEW)
def split(ary: Value, indices_or_sections: Any, axis: int = 0) -> list[LazyArray]:
    """The same, of parts that are as long as each other where just their number is given."""
    array = as_lazy(ary)
    if np.ndim(indices_or_sections) == 0:
        count = operator.index(indices_or_sections)
        if count < 1 or not same(array._shape[axis_of(axis, len(array._shape))] % count, 0):
            raise NotUnderstoodError("parts of several lengths")  # NumPy says so
    return array_split(array, indices_or_sections, axis)


def _register_splits() -> None:
    def handler(least: int, axis: int) -> Callable[..., Any]:
        def of_array(ary: Value, indices_or_sections: Any) -> list[LazyArray]:
            if len(as_lazy(ary)._shape) < least:
                raise NotUnderstoodError("too few axes")  # NumPy says so
            return split(ary, indices_or_sections, min(axis, len(as_lazy(ary)._shape) - 1))

        return of_array

    understood(np.vsplit, how=VIEW)(handler(2, 0))
    understood(np.hsplit, how=VIEW)(handler(1, 1))
    understood(np.dsplit, how=VIEW)(handler(3, 2))


_register_splits()


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
    found = array.copied()
    array._trace.asked_for_rows = True
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
    if not array._shape:
        raise NotUnderstoodError("arrays without axes")
    d = axis_of(0 if axis is None else axis, len(array._shape))
    rank = len(array._shape)
    shape = tuple(n * repeats if k == d else n for k, n in enumerate(array._shape))
    parts = [
        Part(tuple(Index(j if k == d else 0, repeats if k == d else 1, k) for k in range(rank)), array._shape)
        for j in range(repeats)
    ]
    operation = Assembled("repeat", tuple(parts))
    return placed(
        made(operation, [array._view] * repeats, [(shape, array.dtype, False)], array._trace)[0], array._trace
    )


@understood(np.kron, how=ELEMENTS)
def kron(a: Value, b: Value) -> Any:
    """The products of all pairs of elements, those of an element of the first one beside each other."""
    trace = trace_of((a, b))
    left, right = lifted(a, trace), lifted(b, trace)
    if not right._shape:
        return np.multiply(left, right)
    rank = max(len(left._shape), len(right._shape))
    left, right = (each[(*(None,) * (rank - len(each._shape)), ...)] for each in (left, right))
    pairs = np.multiply(left[(slice(None), None) * rank], right[(None, slice(None)) * rank])
    found = fused(as_lazy(pairs), [(2 * d, 2 * d + 1) for d in range(rank)])
    found._cell.uncertain = False  # nobody has the other one
    return found


@understood(np.vander, how=WHOLE_AXES, exactness=ALONG)
def vander(x: Value, N: Any = None, increasing: bool = False) -> LazyArray:  # noqa: N803
    """The powers of elements, in columns."""
    array = as_lazy(x)
    kind = np.promote_types(array.dtype, int)
    if len(array._shape) != 1 or kind.kind == "c":
        raise NotUnderstoodError("axes, or complex numbers")
    count = array._shape[0] if N is None else N if type(N) is Size else operator.index(N)
    if not count >= 1:
        raise NotUnderstoodError("no columns")
    found = filled((array._shape[0], 1), kind, 1, array._trace)
    if not same(count, 1):
        column = array if array.dtype == kind else cast(array, kind)
        repeated = broadcasted(column[:, None], (array._shape[0], count - 1))
        found = concatenate([found, np.multiply.accumulate(repeated, axis=1)], 1)
    return found if increasing else found[:, ::-1].copied()


@understood(np.piecewise, how=ELEMENTS)
def piecewise(x: Value, condlist: Any, funclist: Any) -> LazyArray:
    """Numbers where conditions hold, or what functions of elements give there: those of the last one that does."""
    array, given = as_lazy(x), list(funclist)
    rank = len(array._shape)
    if not rank or any(np.ndim(each) if not callable(each) else not is_of_elements(each, LazyArray) for each in given):
        raise NotUnderstoodError("functions")
    trace = trace_of((array, condlist, tuple(each for each in given if not callable(each))))
    is_one = not isinstance(condlist, (list, tuple)) and np.ndim(condlist) == 1
    conditions = [lifted(each, trace).astype(np.bool_) for each in ([condlist] if is_one else condlist)]
    if any(len(each._shape) != rank or not all(map(same, each._shape, array._shape)) for each in conditions):
        raise NotUnderstoodError("conditions of other shapes")
    if len(given) == len(conditions) + 1:
        conditions.append(~functools.reduce(np.logical_or, conditions))
    if len(given) != len(conditions):
        raise NotUnderstoodError("other numbers of functions")  # NumPy says so
    found = filled(array._shape, array.dtype, 0, trace)
    with attempt(trace, [array, *conditions]):
        for condition, value in zip(conditions, given, strict=True):
            found[condition] = value(Selected(array, condition)) if callable(value) else value
    return found
