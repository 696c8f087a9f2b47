"""Handlers of functions each of whose elements is made of whole rows: sums of products, and look-ups in tables.

Idea. Of each operand, some axes go along axes of the result, and the others are read whole (`Contraction`): those that
are summed, and those of a table in which elements choose. So any box of the result can be computed by itself.

Invariant: a handler gives what NumPy gives for the same arguments, or refuses by `NotUnderstoodError`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.frontend.arrays import LazyArray, Value, made, placed, solid, whole_result
from slinky.frontend.calling import call_function, lifted, pointwise
from slinky.frontend.functions import WHOLE_AXES, dtype_of, matmul, reduced
from slinky.frontend.given import as_lazy, axes_of, axis_of, is_set, lazy_arrays, trace_of
from slinky.frontend.indexed import own_array
from slinky.frontend.nodes import View, whole_view
from slinky.frontend.operations import Contraction
from slinky.frontend.sizes import Length, Size, known, same
from slinky.frontend.tables import EXACT, TOLERANCE, NotUnderstoodError, name_of, understood
from slinky.frontend.taking import Taking
from slinky.frontend.tracing import Trace
from slinky.frontend.views import broadcast, common_shape

PRODUCTS = "by rows and columns"
LOOKED_UP = "by elements, of whole tables"

Labels = Sequence[int | None]


def contracted(
    name: str,
    function: Callable[..., Any],
    operands: Sequence[LazyArray],
    labels: Sequence[Labels],
    shape: Sequence[Length],
    dtype: np.dtype[Any],
    *,
    arguments: tuple[Any, ...] = (),
    exactness: str = EXACT,
    scalars: bool = True,
    shapes: Sequence[Sequence[Length]] | None = None,
    whole: tuple[int, ...] = (),
) -> LazyArray:
    """The result of a function whose operands' axes go along these axes of the result, or are read whole; a scalar,
    where it has no axes, unless such are arrays. Operands are broadcast to `shapes`, if these are given. Of the result,
    some axes may be made as a `whole`."""
    trace = trace_of(tuple(operands))
    operation = Contraction(name, function, tuple(map(tuple, labels)), arguments, exactness, whole)
    views = [_read_along(array, own, trace) for array, own in zip(operands, labels, strict=True)]
    if shapes is not None:
        views = [broadcast(view, tuple(own)) for view, own in zip(views, shapes, strict=True)]
    return placed(made(operation, views, [(tuple(shape), dtype, scalars and not shape)], trace)[0], trace)


def _read_along(array: LazyArray, labels: Labels, trace: Trace) -> View:
    """What is read of an operand. Of windows whose axes go along one axis together, an array of their own: elsewhere
    they read what no piece has."""
    view = solid(array._view, trace)
    along = [label for label in labels if label is not None]
    is_diagonal = view.is_woven and len(set(along)) < len(along)
    return whole_view(whole_result(view, trace)) if is_diagonal else view


@understood(np.dot, how=PRODUCTS, exactness=TOLERANCE)
def dot(a: Value, b: Value) -> Any:
    """The product of matrices and vectors; of arrays of more axes, of each row of one and each column of the other."""
    trace = trace_of((a, b))
    left, right = lifted(a, trace), lifted(b, trace)
    ranks = len(left._shape), len(right._shape)
    if 0 in ranks:
        return pointwise(np.multiply, (left, right), name="multiply", into=True)  # no numbers: these have dtypes here
    if max(ranks) <= 2:
        return matmul(left, right)
    summed = max(ranks[1] - 2, 0)
    if not same(left._shape[-1], right._shape[summed]):
        raise NotUnderstoodError("extents")  # NumPy says what is wrong with them
    others = [d for d in range(ranks[1]) if d != summed]
    before = ranks[0] - 1
    shape = (*left._shape[:-1], *(right._shape[d] for d in others))
    of_right = [None if d == summed else before + others.index(d) for d in range(ranks[1])]
    return _of_products(np.dot, (left, right), ((*range(before), None), of_right), shape)


@understood(np.inner, how=PRODUCTS, exactness=TOLERANCE)
def inner(a: Value, b: Value, /) -> Any:
    """Sums of products along the last axes of both."""
    trace = trace_of((a, b))
    left, right = lifted(a, trace), lifted(b, trace)
    if not left._shape or not right._shape:
        return np.multiply(left, right)
    if not same(left._shape[-1], right._shape[-1]):
        raise NotUnderstoodError("extents")  # NumPy says what is wrong with them
    before = len(left._shape) - 1
    shape = (*left._shape[:-1], *right._shape[:-1])
    labels = ((*range(before), None), (*range(before, len(shape)), None))
    return _of_products(np.inner, (left, right), labels, shape)


@understood(np.vdot, how=PRODUCTS, exactness=TOLERANCE)
def vdot(a: Value, b: Value, /) -> Any:
    """The sum of all products, with conjugates of the first array."""
    trace = trace_of((a, b))
    left, right = lifted(a, trace), lifted(b, trace)
    if not left._shape or len(left._shape) != len(right._shape) or not all(map(same, left._shape, right._shape)):
        raise NotUnderstoodError("other shapes")
    return _of_products(np.vdot, (left, right), [(None,) * len(left._shape)] * 2, ())


@understood(np.vecdot, how=PRODUCTS, exactness=TOLERANCE)
def vecdot(x1: Value, x2: Value, /, *, axis: int = -1) -> Any:
    """Sums of products of rows, with conjugates of the first ones."""
    trace = trace_of((x1, x2))
    left, right = lifted(x1, trace), lifted(x2, trace)
    if not left._shape or not right._shape:
        raise NotUnderstoodError("no axes")  # NumPy says so
    left, right = (call_function(np.moveaxis, (array, axis, -1), {}) for array in (left, right))
    return _stacked_product(np.vecdot, (left, (None,)), (right, (None,)))


def _register_products() -> None:
    def handler(function: Callable[..., Any], first: Labels, second: Labels) -> Callable[..., Any]:
        def of_arrays(x1: Value, x2: Value, /) -> Any:
            trace = trace_of((x1, x2))
            return _stacked_product(function, (lifted(x1, trace), first), (lifted(x2, trace), second))

        return of_arrays

    # NumPy has them since 2.2.
    products: dict[str, tuple[Labels, Labels]] = {"matvec": ((0, None), (None,)), "vecmat": ((None,), (None, 0))}
    for name, (first, second) in products.items():
        if hasattr(np, name):
            function = getattr(np, name)
            understood(function, how=PRODUCTS, exactness=TOLERANCE)(handler(function, first, second))


_register_products()


def _stacked_product(function: Callable[..., Any], *given: tuple[LazyArray, Labels]) -> Any:
    """A product of stacks of vectors and matrices, whose last axes go along so many axes of the result after those of
    the stacks, or are summed."""
    if any(len(array._shape) < len(own) for array, own in given):
        raise NotUnderstoodError("too few axes")  # NumPy says so
    before = [array._shape[: len(array._shape) - len(own)] for array, own in given]
    outer = common_shape(before)
    extents: dict[int | None, Length] = {}
    labels, shapes = [], []
    for (array, own), stack in zip(given, before, strict=True):
        inner = array._shape[len(stack) :]
        if not all(same(extents.setdefault(label, n), n) for label, n in zip(own, inner, strict=True)):
            raise NotUnderstoodError("extents")  # NumPy says so
        labels.append([*range(len(outer)), *(None if k is None else len(outer) + k for k in own)])
        shapes.append((*outer, *inner))
    dtype = dtype_of(function, [(len(array._shape), array.dtype) for array, _ in given], {})
    shape = (*outer, *([extents[0]] if 0 in extents else []))
    arrays, exactness = [array for array, _ in given], _exactness_of_sums(dtype)
    return contracted(function.__name__, function, arrays, labels, shape, dtype, exactness=exactness, shapes=shapes)


def _of_products(
    function: Callable[..., Any], operands: Sequence[LazyArray], labels: Sequence[Labels], shape: Sequence[Length]
) -> Any:
    dtype = dtype_of(function, [(len(a._shape), a.dtype) for a in operands], {})
    exactness = _exactness_of_sums(dtype)
    return contracted(function.__name__, function, operands, labels, shape, dtype, exactness=exactness)


def _exactness_of_sums(dtype: np.dtype[Any]) -> str:
    return EXACT if dtype.kind in "biu" else TOLERANCE


# ----------------------------------------------------------------------------------------------------------------
# Sums of products
# ----------------------------------------------------------------------------------------------------------------


@understood(np.einsum, how=PRODUCTS, exactness=TOLERANCE)
def einsum(subscripts: Any, *operands: Value, optimize: Any = False) -> LazyArray:
    """Sums of products, as letters say."""
    if not isinstance(subscripts, str) or "." in subscripts:
        raise NotUnderstoodError("subscripts")
    is_optimized = optimize is not False
    if is_optimized and (str(optimize) not in ("True", "greedy", "optimal") or len(operands) != 2):
        raise NotUnderstoodError("an order of products")
    given, arrow, wanted = subscripts.replace(" ", "").partition("->")
    letters = given.split(",")
    wanted = wanted if arrow else "".join(sorted(x for x in set(given) - {","} if given.count(x) == 1))
    trace = trace_of(operands)
    arrays = [lifted(each, trace) for each in operands]
    is_known = (
        len(letters) == len(arrays)
        and all(len(own) == len(array._shape) for own, array in zip(letters, arrays, strict=True))
        and len(set(wanted)) == len(wanted)
        and set(wanted) <= set(given)
    )
    if not is_known or (is_optimized and not wanted):
        raise NotUnderstoodError("letters")  # NumPy says what is wrong with them, or gives arrays without axes
    if len(arrays) == 1 and len(wanted) == len(given):  # NumPy gives a view
        return arrays[0].transpose(*map(given.index, wanted)) if wanted else arrays[0]
    extents: dict[str, Length] = {}
    for own, array in zip(letters, arrays, strict=True):
        for letter, extent in zip(own, array._shape, strict=True):
            if not same(extents.setdefault(letter, extent), extent):
                raise NotUnderstoodError("extents")
    dtype = dtype_of(_Einsum(subscripts), [(len(a._shape), a.dtype) for a in arrays], {})
    labels = [[wanted.index(x) if x in wanted else None for x in own] for own in letters]
    shape = [extents[letter] for letter in wanted]
    is_view = len(arrays) == 1 and set(wanted) == set(given)  # of a diagonal
    exactness = EXACT if is_view else _exactness_of_sums(dtype)
    function = _OptimizedEinsum(optimize) if is_optimized else np.einsum
    found = contracted("einsum", function, arrays, labels, shape, dtype, arguments=(subscripts,), exactness=exactness)
    if is_view:
        arrays[0]._cell.uncertain = found._cell.uncertain = True
    return found


@attrs.frozen
class _Einsum:
    subscripts: str

    def __call__(self, *operands: Any) -> Any:
        return np.einsum(self.subscripts, *operands)


@attrs.frozen
class _OptimizedEinsum:
    """The same, of two arrays, by products of matrices where NumPy finds some."""

    optimize: Any

    def __call__(self, subscripts: str, *operands: Any) -> Any:
        return np.einsum(subscripts, *operands, optimize=self.optimize)


@attrs.frozen
class _TensorDot:
    """`np.tensordot` along these axes."""

    axes: tuple[tuple[int, ...], tuple[int, ...]]

    def __call__(self, a: Any, b: Any) -> Any:
        return np.tensordot(a, b, self.axes)


@understood(np.tensordot, how=PRODUCTS, exactness=TOLERANCE)
def tensordot(a: Value, b: Value, axes: Any = 2) -> LazyArray:
    """Sums of products along axes of both."""
    trace = trace_of((a, b))
    left, right = lifted(a, trace), lifted(b, trace)
    ranks = len(left._shape), len(right._shape)
    summed = _summed_axes(axes, *ranks)
    if not all(same(left._shape[i], right._shape[j]) for i, j in zip(*summed, strict=True)):
        raise NotUnderstoodError("extents")  # NumPy says what is wrong with them
    labels: list[list[int | None]] = []
    shape: list[Length] = []
    for array, own in ((left, summed[0]), (right, summed[1])):
        labels.append([])
        for d, extent in enumerate(array._shape):
            labels[-1].append(None if d in own else len(shape))
            if d not in own:
                shape.append(extent)
    function = _TensorDot(summed)
    dtype = dtype_of(function, [(ranks[0], left.dtype), (ranks[1], right.dtype)], {})
    found = contracted("tensordot", function, [left, right], labels, shape, dtype, exactness=_exactness_of_sums(dtype))
    return found if shape else found[...]  # NumPy gives an array here, not a scalar


def _summed_axes(axes: Any, first: int, second: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of both arrays that are summed along."""
    if isinstance(axes, int):
        if not 0 <= axes <= min(first, second):
            raise NotUnderstoodError("axes")
        return tuple(range(first - axes, first)), tuple(range(axes))
    pair = [each if isinstance(each, (tuple, list)) else (each,) for each in axes]
    if len(pair) != 2 or len(pair[0]) != len(pair[1]):
        raise NotUnderstoodError("axes")
    found = [
        tuple(operator.index(d) % rank for d in own if -rank <= d < rank)
        for own, rank in zip(pair, (first, second), strict=True)
    ]
    if any(len(set(own)) != len(given) for own, given in zip(found, pair, strict=True)):
        raise NotUnderstoodError("axes")
    return found[0], found[1]


# ----------------------------------------------------------------------------------------------------------------
# Quantiles
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Quantiles:
    """A function of quantiles for several of them, along axes."""

    function: Callable[..., Any]
    wanted: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_scalar: bool
    axes: tuple[int, ...]
    method: str

    def __call__(self, piece: Any) -> Any:
        wanted = np.array(self.wanted, self.dtype).reshape(self.shape)
        return self.function(piece, wanted[()] if self.is_scalar else wanted, self.axes, method=self.method)


def _register_quantiles() -> None:
    def handler(function: Callable[..., Any]) -> Callable[..., Any]:
        def of_array(
            a: Value, q: Any, axis: Any = None, *given: Any, method: str = "linear", keepdims: Any = False, **named: Any
        ) -> LazyArray:
            if given or named or type(method) is not str:
                raise NotUnderstoodError("options")
            if type(q) in (int, float):
                return reduced(function, name_of(function), a, axis, q=q, method=method, keepdims=keepdims)
            return _quantiles(function, as_lazy(a), q, axis, method, is_set(keepdims))

        return of_array

    for function in (np.percentile, np.quantile, np.nanpercentile, np.nanquantile):
        understood(function, how="reduced " + WHOLE_AXES)(handler(function))


def _quantiles(
    function: Callable[..., Any], array: LazyArray, q: Any, axis: Any, method: str, keepdims: bool
) -> LazyArray:
    """Several quantiles, along the first axes of the result."""
    if lazy_arrays(q):
        raise NotUnderstoodError("quantiles that are not known")
    wanted = np.asarray(q)
    if wanted.dtype.kind not in "iuf" or not wanted.size:
        raise NotUnderstoodError("no quantiles")  # NumPy says so
    rank = len(array._shape)
    axes, made = axes_of(axis, rank), wanted.ndim
    if not axes:
        raise NotUnderstoodError("no axes")
    is_scalar = isinstance(q, np.generic)
    numbers = tuple(wanted.ravel().tolist())
    quantiles = _Quantiles(function, numbers, wanted.shape, wanted.dtype, is_scalar, axes, method)
    kept = [d for d in range(rank) if d not in axes]
    labels = [None if d in axes else made + kept.index(d) for d in range(rank)]
    shape = (*wanted.shape, *(array._shape[d] for d in kept))
    dtype = dtype_of(quantiles, [(rank, array.dtype)], {})
    found = contracted(function.__name__, quantiles, [array], [labels], shape, dtype, whole=tuple(range(made)))
    if not keepdims:
        return found
    return found[(*(slice(None),) * made, *(None if d in axes else slice(None) for d in range(rank)))]  # type: ignore[no-any-return]


_register_quantiles()


# ----------------------------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------------------------


def _are_there(indices: Value, count: Length) -> bool:
    """Whether indices are known, and so many elements have them."""
    if lazy_arrays(indices):
        return False
    known = np.asarray(indices)
    return known.size == 0 or bool(-int(known.min()) <= count and int(known.max()) < count)


@understood(np.take, how=LOOKED_UP)
def take(a: Value, indices: Value, axis: Any = None, *, mode: str = "raise") -> LazyArray:
    """Elements along an axis that integers choose."""
    trace = trace_of((a, indices))
    table, chosen = lifted(a, trace), lifted(indices, trace)
    if len(table._shape) == 0 or chosen.dtype.kind not in "iu" or not isinstance(mode, str):
        raise NotUnderstoodError("what is no table, or no integers")
    if axis is None and len(table._shape) > 1:
        if mode == "raise" and not _are_there(indices, table.size):
            raise NotUnderstoodError("what raises an error at once, or may do so")
        table = table.ravel()
    rank, count = len(table._shape), len(chosen._shape)
    d = axis_of(0 if axis is None else axis, rank)
    if mode != "raise" and not table._shape[d] > 0:
        raise NotUnderstoodError("no elements")
    shape = (*table._shape[:d], *chosen._shape, *table._shape[d + 1 :])
    of_table = [None if k == d else k if k < d else k + count - 1 for k in range(rank)]
    labels = (of_table, [d + k for k in range(count)])
    return contracted("take", Taking(d, mode), [table, chosen], labels, shape, table.dtype)


@attrs.frozen
class _LookingUp:
    """A function of elements and of tables, which are its arguments in this order."""

    function: Callable[..., Any]
    order: tuple[int, ...]
    keywords: tuple[tuple[str, Any], ...]

    def __call__(self, *operands: Any) -> Any:
        return self.function(*(operands[k] for k in self.order), **dict(self.keywords))


def _looked_up(
    function: Callable[..., Any], x: Value, tables: Sequence[Value], order: Sequence[int], **keywords: Any
) -> Any:
    """What a function gives for elements and whole tables."""
    trace = trace_of((x, *tables))
    for value in keywords.values():
        if value is not None and type(value) not in (bool, int, float, str):
            raise NotUnderstoodError("options")
    elements, *known = (lifted(each, trace) for each in (x, *tables))
    if any(len(table._shape) != 1 for table in known) and function is not np.isin:
        raise NotUnderstoodError("tables of several axes")
    looking = _LookingUp(function, tuple(order), tuple(keywords.items()))
    rank = len(elements._shape)
    dtype = dtype_of(looking, [(rank, elements.dtype), *((len(t._shape), t.dtype) for t in known)], {})
    labels: list[Labels] = [range(rank), *([None] * len(table._shape) for table in known)]
    scalars = function is not np.isin
    return contracted(function.__name__, looking, [elements, *known], labels, elements._shape, dtype, scalars=scalars)


@understood(np.interp, how=LOOKED_UP)
def interp(x: Value, xp: Value, fp: Value, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Linear interpolation in tables."""
    trace = trace_of((x, xp, fp))
    if not same(*(lifted(each, trace).size for each in (xp, fp))):
        raise NotUnderstoodError("tables of other lengths")
    return _looked_up(np.interp, x, (xp, fp), (0, 1, 2), left=left, right=right, period=period)


@understood(np.digitize, how=LOOKED_UP)
def digitize(x: Value, bins: Value, right: bool = False) -> Any:
    """The numbers of bins."""
    return _looked_up(np.digitize, x, (bins,), (0, 1), right=right)


@understood(np.searchsorted, how=LOOKED_UP)
def searchsorted(a: Value, v: Value, side: str = "left") -> Any:
    """Where elements would stand in a sorted table."""
    return _looked_up(np.searchsorted, v, (a,), (1, 0), side=side)


@understood(np.isin, how=LOOKED_UP)
def isin(element: Value, test_elements: Value, assume_unique: bool = False, invert: bool = False) -> Any:
    """Whether elements stand in a table."""
    return _looked_up(np.isin, element, (test_elements,), (0, 1), assume_unique=assume_unique, invert=invert)


def taken(array: LazyArray, entries: tuple[Any, ...]) -> LazyArray:
    """What `array[entries]` gives where one of the entries is of integers, or several ones beside each other, and all
    others are slices and new axes.

    Raises `NotUnderstoodError` for other entries.
    """
    places = [
        k for k, entry in enumerate(entries) if not (entry is None or entry is Ellipsis or isinstance(entry, slice))
    ]
    dots = [k for k, entry in enumerate(entries) if entry is Ellipsis]
    if not places or places[-1] + 1 - places[0] > len(places) or len(dots) > 1:
        raise NotUnderstoodError("arrays as indices with others between them")
    first, end, trace = places[0], places[-1] + 1, trace_of((array, entries))
    chosen = [lifted(entry, trace) for entry in entries[first:end]]
    if any(each.dtype.kind not in "iu" for each in chosen):
        raise NotUnderstoodError("an index that is no integer")
    used = sum(entry is not None and entry is not Ellipsis for entry in entries)
    rest = as_lazy(array[(*entries[:first], *[slice(None)] * len(chosen), *entries[end:])])
    axis = first if not dots or dots[0] > first else first - 1 + len(array._shape) - used
    own = axis - sum(entry is None for entry in entries[:first])
    for k, entry in enumerate(entries[first:end]):
        _require_within(entry, rest._shape[axis + k], own + k)
    return take(rest, chosen[0], axis) if len(chosen) == 1 else _picked(rest, chosen, axis)


def _require_within(entry: Any, extent: Length, axis: int) -> None:
    """Ask of integers that are known whether they are places of an axis: NumPy does so where it finds no elements, too.

    Raises `IndexError` as NumPy does.
    """
    if lazy_arrays(entry):
        return
    places = np.asarray(known(entry) if type(entry) is Size else own_array(entry))
    if places.size and not (-extent <= int(places.min()) and int(places.max()) < extent):
        size = known(extent)
        bad = places[(places < -size) | (places >= size)].flat[0]
        raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {size}")


@attrs.frozen
class _Picking:
    """Indexing along several axes beside each other, from one on."""

    axis: int

    def __call__(self, table: Any, *indices: Any) -> Any:
        return table[(*[slice(None)] * self.axis, *indices)]


def _picked(table: LazyArray, indices: Sequence[LazyArray], axis: int) -> LazyArray:
    """Elements along several axes, from one on, that integers choose together."""
    common = common_shape([each._shape for each in indices])
    end = axis + len(indices)
    shape = (*table._shape[:axis], *common, *table._shape[end:])
    own = [*range(axis), *[None] * len(indices), *range(axis + len(common), len(shape))]
    labels = (own, *[range(axis, axis + len(common))] * len(indices))
    return _looked_up_together("take", _Picking(axis), [table], indices, labels, shape, table.dtype)


def _looked_up_together(
    name: str,
    function: Callable[..., Any],
    tables: Sequence[LazyArray],
    elements: Sequence[LazyArray],
    labels: Sequence[Labels],
    shape: Sequence[Length],
    dtype: np.dtype[Any],
) -> LazyArray:
    """What a function gives of tables, and of elements that are broadcast against each other."""
    common = common_shape([each._shape for each in elements])
    shapes = [*(each._shape for each in tables), *[common] * len(elements)]
    return contracted(name, function, [*tables, *elements], labels, shape, dtype, shapes=shapes)


@attrs.frozen
class _Choosing:
    """`np.choose`, of one of several arrays for each element."""

    mode: str

    def __call__(self, chosen: Any, *choices: Any) -> Any:
        return np.choose(chosen, choices, mode=self.mode)  # type: ignore[call-overload]


@understood(np.choose, how="by elements")
def choose(a: Value, choices: Any, *, mode: str = "raise") -> LazyArray:
    """Elements of the arrays that integers choose."""
    trace = trace_of((a, choices if type(choices) is LazyArray else tuple(choices)))
    each = list(choices) if type(choices) is LazyArray else choices
    if not 0 < len(each) < _MOST_CHOICES or not isinstance(mode, str):
        raise NotUnderstoodError("how many choices")
    each = [known(one) if type(one) is Size else one for one in each]
    lazies = [one if type(one) in (int, float, complex) else lifted(one, trace) for one in each]
    samples = [np.ones((), one.dtype) if type(one) is LazyArray else one for one in lazies]
    dtype = np.asarray(np.choose(0, samples)).dtype  # numbers of Python's take on that of the others
    elements = [
        lifted(one if type(one) is LazyArray else dtype.type(one), trace) for one in (lifted(a, trace), *lazies)
    ]
    if elements[0].dtype.kind not in "biu" or dtype.kind not in "biufc":
        raise NotUnderstoodError("no integers")
    shape = common_shape([one._shape for one in elements])
    labels = [range(len(shape))] * len(elements)
    return _looked_up_together("choose", _Choosing(mode), [], elements, labels, shape, dtype)


_MOST_CHOICES = 32
"""NumPy takes no more."""
