"""Lazy arrays: what stands for arrays while a function is traced.

Idea. A lazy array is a place (`Cell`) that holds a result, and the view of it that the array is. To write to an array
is to put another result into its place; all arrays that are views of the place see that, as NumPy's do. NumPy hands
over through its protocols; what is done then is in `calling` and the tables.

Invariant: a lazy array stands for just the array that NumPy would have there: values, dtype, shape, and which arrays
share memory. Where the latter is not known (`reshape` may copy), the place is `uncertain`, and writing to it refused.
"""

from __future__ import annotations

import contextlib
import math
import operator
import sys
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from slinky.errors import TracingError, cited
from slinky.frontend.assembling import Assembled, Part
from slinky.frontend.free_traces import FREE
from slinky.frontend.indexed import IndexedArray
from slinky.frontend.nodes import (
    Array,
    Index,
    Node,
    Operation,
    Result,
    Shape,
    View,
    exactly,
    numbers,
    told,
    whole_view,
)
from slinky.frontend.sizes import expr_of, known
from slinky.frontend.tracing import Trace, errors_now, may_change, values_of
from slinky.frontend.views import NotBasicIndexError, broadcast, indexed, is_place, sees_the_same, transposed
from slinky.graph.buffers import LARGEST_RANK
from slinky.ir.given import is_flag
from slinky.unloaded import is_masked

_AS_IT_COMES = ("K", "k", "A", "a", None)
_IN_COLUMNS = ("F", "f")
_IN_ROWS = ("C", "c")

Value = Any
"""What an operation may be given: a lazy array, an array, or a number."""


class Cell:
    """A place that holds a result; the places that may share its memory are `uncertain`. That others do not may rest on
    arguments that are in C order: `by_layout`."""

    __slots__ = ("__weakref__", "by_layout", "is_argument", "is_held", "result", "uncertain")

    def __init__(self, result: Result, *, is_argument: bool = False) -> None:
        self.result = result
        self.is_argument = is_argument
        self.is_held = False
        self.uncertain = False
        self.by_layout = False


class LazyArray:
    """An array whose elements are not computed yet. It does what a NumPy array does; `np.asarray` computes it."""

    __slots__ = ("__weakref__", "_cell", "_index", "_shape", "_trace", "_writeable")
    __slinky_lazy__ = True
    __array_priority__ = 1000.0

    def __init__(
        self, trace: Trace, cell: Cell, index: tuple[Index, ...], shape: Shape, writeable: bool = True
    ) -> None:
        self._trace = trace
        self._cell = cell
        self._index = index
        self._shape = shape
        self._writeable = writeable

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # functions that ask `isinstance(x, np.ndarray)` mean an array like this
        if sys._getframe(1).f_globals.get("__name__", "").partition(".")[0] not in ("slinky", "numpy"):
            self._trace.asked_for_class = True
        return self.dtype.type if self.is_scalar and not self._trace.is_labelled else np.ndarray

    # What it is ---------------------------------------------------------------------------------------------------

    @property
    def _view(self) -> View:
        """What it sees now."""
        return View(self._cell.result, self._index, self._shape)

    @property
    def shape(self) -> Any:
        """The extents; what depends on their values is asked then."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""
        return self._cell.result.dtype

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self._shape)

    @property
    def size(self) -> Any:
        """How many elements it has."""
        count: Any = 1
        for extent in self._shape:
            count = count * extent
        return count

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        """The bytes of all elements."""
        count = self.size * self.itemsize
        return known(count) if self._trace.is_free else count

    @property
    def is_scalar(self) -> bool:
        """Whether NumPy has a scalar here, not an array."""
        return self._cell.result.scalar and not self._shape

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of unsized object")
        return known(self._shape[0])

    def __repr__(self) -> str:
        if not self._trace.is_free:
            with contextlib.suppress(TracingError):  # its call may be over
                return repr(self._as_numpy_has_it("repr()"))
        return f"<LazyArray {self.dtype}{list(numbers(self._shape))} of {self._cell.result.node.name}>"

    def _seen(self, view: View) -> LazyArray:
        """Another view of the same place; scalars are no places, so arrays of them are their own."""
        if self.is_scalar:
            return LazyArray(self._trace, Cell(whole_result(self._view, self._trace)), view.index, view.shape)
        return LazyArray(self._trace, self._cell, view.index, view.shape, self._writeable)

    def read_only(self) -> LazyArray:
        """The same elements, which are not written to through this array."""
        return LazyArray(self._trace, self._cell, self._index, self._shape, writeable=False)

    # Values -------------------------------------------------------------------------------------------------------

    def compute(self) -> Array:
        """The array, computed now."""
        (array,) = values_of([self._view], self._trace)
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        self._trace.forced("np.asarray", self._view)
        if not self._trace.is_free and not self._lies_in_c_order():
            raise self._trace.abandon("np.asarray of an array that may not be in C order")
        array = self.compute()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            array = array.astype(dtype)
        elif copy:
            array = array.copy()
        else:
            array.flags.writeable = False  # it does not share memory with what it stands for
            self._cell.uncertain |= not self._trace.is_free
        return array

    def _item(self, what: str) -> Any:
        self._trace.forced(what, self._view)
        return self.compute()[()]

    def _as_numpy_has_it(self, what: str) -> Any:
        """The array, or the scalar, computed now."""
        array = self.compute()
        self._trace.forced(what, self._view)
        return array[()] if self.is_scalar else array

    def __bool__(self) -> bool:
        return bool(self._item("bool()"))

    def __int__(self) -> int:
        return int(self._item("int()"))

    def __float__(self) -> float:
        if self.dtype.kind == "c" and not self._shape and not self._trace.is_free:
            raise self._trace.abandon("float() of a complex number")  # np.arange(...) asks so what it asks no scalar
        return float(self._item("float()"))

    def __complex__(self) -> complex:
        return complex(self._item("complex()"))

    def __index__(self) -> int:
        return operator.index(self._item("an index"))

    def __round__(self, *digits: Any) -> Any:
        return round(self._as_numpy_has_it("round()"), *digits)

    def __trunc__(self) -> Any:
        return math.trunc(self._as_numpy_has_it("trunc()"))

    def __contains__(self, value: object) -> bool:
        if self.is_scalar:
            raise TypeError(f"argument of type 'numpy.{self.dtype}' is not iterable")
        return bool(np.any(self == value))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._as_numpy_has_it("pickle").__reduce_ex__(protocol)

    def __hash__(self) -> int:
        if self.is_scalar:
            return hash(self._item("hash()"))
        raise TypeError("unhashable type: 'numpy.ndarray'")

    def __str__(self) -> str:
        return str(self._item("str()"))

    def __format__(self, form: str) -> str:
        return format(self._item("format()"), form)

    def item(self, *place: Any) -> Any:
        """An element as a Python number."""
        self._trace.forced("item()", self._view)
        return self.compute().item(*place)

    def tolist(self) -> Any:
        """All elements as Python numbers."""
        self._trace.forced("tolist()", self._view)
        return self.compute().tolist()

    # The array API standard ---------------------------------------------------------------------------------------

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        from slinky.frontend.array_api import namespace_of

        return namespace_of(self, api_version)

    @property
    def device(self) -> str:
        """Where it is computed."""
        return "cpu"

    def to_device(self, device: str, /, *, stream: Any = None) -> LazyArray:
        """The array itself: there is one device."""
        if device != "cpu" or stream is not None:
            raise ValueError(
                f"a lazy array is on the device 'cpu', without streams; got {cited(device)}, stream={stream!r}"
            )
        return self

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        self._trace.forced("__dlpack__", self._view)
        options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        array = self.compute()
        if not self._trace.is_free and not copy:
            array.flags.writeable = False
            self._cell.uncertain = True
        return array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return np.empty(0).__dlpack_device__()

    # Places -------------------------------------------------------------------------------------------------------

    def __getitem__(self, given: Any) -> Any:
        if self._is_computed_place(given):
            return element(_fancy_indexing().fancy_index(self, given))
        view = self._basic(given)
        if view is None:
            return _fancy_indexing().fancy_index(self, given)
        found = self._seen(view)
        if not view.shape and self.is_scalar and given == ():
            return self
        return found if view.shape or _has_ellipsis(given) else element(found)

    def _is_computed_place(self, given: Any) -> bool:
        """Whether an index is of integers for all axes, of which one is computed at least: it chooses a scalar, which
        is no view of anything."""
        entries = given if isinstance(given, tuple) else (given,)
        return (
            len(entries) == len(self._shape)
            and any(type(entry) is LazyArray for entry in entries)
            and all(is_place(entry) and not getattr(entry, "_shape", ()) for entry in entries)
        )

    def _basic(self, given: Any) -> View | None:
        """What an index chooses; None for one with arrays. (What follows then goes on outside of an exception, which
        would hold what it holds.)"""
        try:
            return indexed(self._view, given)
        except NotBasicIndexError:
            return None

    def __setitem__(self, given: Any, value: Value) -> None:
        if self.is_scalar:
            raise TypeError(f"'numpy.{self.dtype}' object does not support item assignment")
        if getattr(type(value), "__slinky_selected__", False):
            if value.store(self, given):
                return
            value = value.taken()
        view = self._basic(given)
        if view is None:
            _fancy_indexing().fancy_assign(self, given, value)
            return
        target = self._seen(view)
        converted = _calling().converted(value, self.dtype, self._trace)
        if converted._shape and not target._shape and not _has_ellipsis(given):
            raise self._trace.abandon("assigning an array to an element")
        target.write(converted)

    def __delitem__(self, given: Any) -> None:
        raise ValueError("cannot delete array elements")

    def write(self, value: LazyArray) -> None:
        """Put elements into the place; they are broadcast, and have the dtype already."""
        own, cell = self._view, self._cell
        if not self._writeable:
            raise ValueError("assignment destination is read-only")
        if cell.is_held:
            self._trace.require_taken(cell)
        if cell.is_argument:
            raise TracingError(
                f"{self._trace.name} writes to its argument {cell.result.node.operation.name}; let it copy it first, "
                f"or give it away: sl.jit(donate=...)"
            )
        if cell.uncertain:
            raise self._trace.abandon("writing to what may share memory with another array")
        self._trace.asked_for_layout |= cell.by_layout
        if own.is_woven:
            raise self._trace.abandon("writing to an axis that was split")
        axes = [i.axis for i in own.index if i.axis is not None]
        repeated = [n for axis, n in enumerate(own.shape) if axis not in axes and n != 1]
        if any(n != 0 for n in repeated):
            raise ValueError("assignment destination is read-only")
        given = value._view
        if sees_the_same(given, own):
            return  # what `y[1:] += 1` assigns when it has written
        while len(given.shape) > len(own.shape) and given.shape[0] == 1:
            given = indexed(given, 0)
        try:
            given = broadcast(given, own.shape)
        except ValueError:
            raise ValueError(
                f"could not broadcast input array from shape {told(value._shape)} into shape {told(own.shape)}"
            ) from None
        if repeated:
            return  # there are no elements to write to
        if own.is_whole:
            if all(view.result is not cell.result for view in given.result.node.operands):
                self._trace.asked_for_rows = True  # it stays where it lies, in whatever order that is
            cell.result = whole_result(given, self._trace, cell.result.node.in_c_order)
            return
        given = indexed(given, tuple(slice(None) if axis in axes else 0 for axis in range(len(own.shape))))
        counts = tuple(1 if i.axis is None else own.shape[i.axis] for i in own.index)
        order = sorted(axes)
        index = tuple(i if i.axis is None else Index(i.offset, i.step, order.index(i.axis)) for i in own.index)
        old = whole_view(cell.result)
        everything = Part(tuple(Index(0, 1, d) for d in range(len(old.shape))), old.shape)
        operation = Assembled("assign", (Part(index, counts), everything))
        cell.result = made(operation, [given, old], [(old.shape, self.dtype, False)], self._trace)[0]

    def __iter__(self) -> Iterator[Any]:
        if not self._shape:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(known(self._shape[0])))

    @property
    def T(self) -> LazyArray:  # noqa: N802
        """The axes, reversed."""
        if self.is_scalar:
            return self
        return self._seen(transposed(self._view, range(self.ndim)[::-1]))

    @property
    def mT(self) -> LazyArray:  # noqa: N802
        """The last two axes, swapped."""
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Any) -> LazyArray:
        """The axes in another order."""
        given = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))) else axes
        order = range(self.ndim)[::-1] if given is None or not len(given) else _order(given, self.ndim)
        return self if self.is_scalar else self._seen(transposed(self._view, order))

    def swapaxes(self, a: int, b: int) -> LazyArray:
        """Two axes, swapped."""
        order = list(range(self.ndim))
        a, b = (np.lib.array_utils.normalize_axis_index(d, self.ndim, f"axis{k}") for k, d in ((1, a), (2, b)))
        order[a], order[b] = order[b], order[a]
        return self._seen(transposed(self._view, order))

    # Operations ---------------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *given: Value, **keywords: Any) -> Any:
        return _calling().call_ufunc(ufunc, method, given, keywords)

    def __array_function__(self, function: Callable[..., Any], types: Any, given: Any, keywords: Any) -> Any:
        return _calling().call_function(function, given, keywords)

    def __getattr__(self, name: str) -> Any:
        return _calling().attribute(self, name)

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """The elements in another dtype."""
        wanted = np.dtype(dtype)
        if not np.can_cast(self.dtype, wanted, casting):
            raise TypeError(
                f"Cannot cast array data from {self.dtype!r} to {wanted!r} according to the rule '{casting}'"
            )
        if wanted == self.dtype and not copy:
            if order in _AS_IT_COMES or self.is_scalar:
                return self
            found = self.copied(order)
            self._cell.uncertain = found._cell.uncertain = True  # in NumPy the same array, or a copy, by the layout
            return found
        found = _calling().cast(self, wanted)
        self._trace.asked_for_rows |= order in _IN_ROWS
        return found.copied(order) if order in _IN_COLUMNS and not self.is_scalar else found

    def copy(self, order: str = "C") -> LazyArray:
        """The elements in a place of their own; of a scalar, itself."""
        return self if self.is_scalar else self.copied(order)

    def copied(self, order: str = "K") -> LazyArray:
        """The elements in a place of their own, which is an array also where this is a scalar."""
        self._trace.asked_for_rows |= order in _IN_ROWS
        return placed(whole_result(self._view, self._trace, order not in _IN_COLUMNS), self._trace)

    def require_c_order(self, order: str) -> None:
        """Raise `Abandoned` where the order of elements is asked for by where they lie in memory, and that is not
        known to be C order. The trace is good for arguments in C order, then."""
        if not self._lies_in_c_order():
            raise self._trace.abandon(f"order={order!r}, which goes by how an array lies in memory")
        self._trace.asked_for_layout |= len(self._shape) > 1

    def _lies_in_c_order(self) -> bool:
        """Whether its elements are known to lie in C order where NumPy has it, for the arguments of this call."""
        return len(self._shape) < 2 or (self._view.is_in_c_order and self._trace.given_in_c_order)

    def without_gaps(self) -> LazyArray:
        """The same elements; a copy where NumPy may have gaps between them. To write to that is refused: there may be
        none."""
        if self._view.is_in_one_piece and self._trace.given_in_c_order:
            self._cell.by_layout = True
            return self
        found = self.copied()
        self._cell.uncertain = found._cell.uncertain = True
        return found

    def __copy__(self) -> LazyArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> LazyArray:
        return self.copy()

    def __slinky_kernel__(self, kernel: Any, given: Any, keywords: Any) -> Any:
        return _calling().call_kernel(kernel, given, keywords)


def _calling() -> Any:
    from slinky.frontend import calling  # the tables there need lazy arrays

    return calling


def _has_ellipsis(given: Any) -> bool:
    return given is Ellipsis or (isinstance(given, tuple) and any(g is Ellipsis for g in given))


def _fancy_indexing() -> Any:
    from slinky.frontend import fancy_indexing

    return fancy_indexing


def _order(given: Any, rank: int) -> list[int]:
    order = [operator.index(axis) for axis in given]
    if len(order) != rank:
        raise ValueError("axes don't match array")
    if any(not -rank <= axis < rank for axis in order):
        raise np.exceptions.AxisError(next(a for a in order if not -rank <= a < rank), rank)
    order = [axis % rank for axis in order]
    if len(set(order)) != rank:
        raise ValueError("repeated axis in transpose")
    return order


def made(
    operation: Operation,
    operands: list[View],
    results: list[tuple[Shape, np.dtype[Any], bool]],
    trace: Trace,
    in_c_order: bool = True,
) -> tuple[Result, ...]:
    """The results of a new node. What NumPy does about floating-point errors now is what it shall do then.

    NumPy has them in C order if the operation gives them so, unless it is known to have them in another one.
    """
    wanted = max([len(shape) for shape, _, _ in results])
    if wanted > LARGEST_RANK:
        raise ValueError(f"maximum supported dimension for an ndarray is currently {LARGEST_RANK}, found {wanted}")
    trace.require_usual_warnings()
    own = {kind: how for kind, how in errors_now().items() if how != trace.errors[kind]}
    if own:
        trace.require_no_calls()
        operation = operation.under(tuple(sorted(own.items())))
    key = None if trace.is_free else _computation(operation, operands, results)
    key = None if key is None else (key, in_c_order)
    known = trace.made.get(key) if key is not None else None
    if known is None:
        node = Node(operation, operands, results)
        node.in_c_order &= in_c_order
        trace.name_of(node)
        known = node.results
        trace.grew(known)
        if key is not None:
            trace.made[key] = known
    if not trace.is_free:
        trace.origins.note(known[0].node)
    return known


def _computation(
    operation: Operation, operands: list[View], results: list[tuple[Shape, np.dtype[Any], bool]]
) -> Hashable | None:
    """What is computed of what: what is computed twice is computed once. None for what is like nothing else."""
    own = operation.key(expr_of)
    if own is None:
        return None
    read = tuple(
        (view.result, tuple((expr_of(i.offset), i.terms) for i in view.index), tuple(map(expr_of, view.shape)))
        for view in operands
    )
    given = tuple((tuple(map(expr_of, shape)), dtype, scalar) for shape, dtype, scalar in results)
    return own, exactly(getattr(operation, "floats", ())), read, given


def placed(result: Result, trace: Trace) -> LazyArray:
    """An array of its own for a result."""
    view, cell = whole_view(result), Cell(result)
    if not trace.is_free:
        trace.cells.add(cell)
    return LazyArray(trace, cell, view.index, view.shape)


def whole_result(view: View, trace: Trace, in_c_order: bool = True) -> Result:
    """A result that is what a view sees; no copy where it sees all of one: results never change. One that NumPy has not
    in C order is known as such."""
    in_c_order |= len(view.shape) < 2
    if view.is_whole and not view.result.scalar and (in_c_order or not view.result.node.in_c_order):
        return view.result
    part = Part(tuple(Index(0, 1, d) for d in range(len(view.shape))), view.shape)
    return made(Assembled("copy", (part,)), [view], [(view.shape, view.dtype, False)], trace, in_c_order)[0]


def solid(view: View, trace: Trace) -> View:
    """A view in which nothing is repeated, for functions that must see each element."""
    used = {axis for i in view.index for _, axis in i.terms}
    repeated = any(axis not in used and not (type(n) is int and n == 1) for axis, n in enumerate(view.shape))
    return whole_view(whole_result(view, trace)) if repeated else view


def element(array: LazyArray) -> LazyArray:
    """A scalar of its own, as an array gives it for an index of integers."""
    part = Part((), ())
    (result,) = made(Assembled("element", (part,)), [array._view], [((), array.dtype, True)], array._trace)
    return placed(result, array._trace)


def _operator(name: str, turned: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: LazyArray, other: Any, modulus: None = None) -> Any:
        if modulus is not None:
            return NotImplemented  # `pow(x, 2, 7)`: arrays have no such power
        return _calling().call_operator(name, (other, self) if turned else (self, other))

    return method


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    def method(self: LazyArray, other: Any) -> Any:
        if self.is_scalar:
            return _calling().call_operator(name, (self, other))
        return _calling().call_in_place(name, self, other)

    return method


def _unary(name: str) -> Callable[[Any], Any]:
    def method(self: LazyArray) -> Any:
        return _calling().call_operator(name, (self,))

    return method


OF_TWO = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
)
"""The operators of two operands that may be turned around, and write in place, by the names of their methods."""

for _name in OF_TWO:
    setattr(LazyArray, f"__{_name}__", _operator(_name))
    setattr(LazyArray, f"__r{_name}__", _operator(_name, True))
    setattr(LazyArray, f"__i{_name}__", _in_place(_name))
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "divmod"):
    setattr(LazyArray, f"__{_name}__", _operator(_name))
setattr(LazyArray, "__rdivmod__", _operator("divmod", True))  # noqa: B010
for _name in ("neg", "pos", "abs", "invert"):
    setattr(LazyArray, f"__{_name}__", _unary(_name))


def _assigned(name: str) -> Callable[[LazyArray, Any], None]:
    def assign(self: LazyArray, value: Any) -> None:
        raise self._trace.abandon(f"assigning to the attribute {name} of an array")

    return assign


def _attribute(name: str) -> Callable[[LazyArray], Any]:
    return lambda self: _calling().attribute(self, name)


for _name in ("shape", "dtype"):
    setattr(LazyArray, _name, getattr(LazyArray, _name).setter(_assigned(_name)))
for _name in ("data", "flat", "imag", "real", "strides"):
    setattr(LazyArray, _name, property(_attribute(_name), _assigned(_name)))


def lazy(array: Any, *, name: str = "array", copy: bool | None = None) -> LazyArray:
    """An array whose operations are put off: what is asked for in the end, and no more, is computed by pieces.

    Work happens where a value is asked for: `np.asarray(y)`, `float(y.max())`, `y.compute()`.

        >>> import numpy as np, slinky as sl
        >>> x = sl.lazy(np.arange(12.0).reshape(3, 4))
        >>> np.asarray(np.sqrt(x)[1, ::2] + 1)
        array([3.        , 3.44948974])

    Parameters: the array; a `name` for it in pipelines; `copy`: an array that could be written to before its elements
    are needed is copied, unless this is False, which is a promise that nobody does.

    Raises `TracingError` for what holds no numbers, or has them in another byte order than the machine, for an array
    with a mask, which would be lost, and for a `copy` that is none of these.
    """
    if not isinstance(name, str):
        raise TracingError(f"lazy(): name must be a text, got {cited(name)}")
    if copy is not None and not is_flag(copy):
        raise TracingError(f"lazy(): copy must be True, False or None, got {cited(copy)}")
    if isinstance(array, LazyArray):
        return array
    if is_masked(array):
        raise TracingError("lazy() takes arrays without a mask, which would be lost; use .filled(...) or .data")
    try:
        given = np.asarray(array)
    except Exception as error:
        raise TracingError(f"lazy() takes arrays of numbers, got {cited(array)}: {error}") from error
    if not is_traceable(given):
        if given.dtype.kind in "iufc" and not given.dtype.isnative:
            raise TracingError(
                f"lazy() takes arrays in the byte order of the machine, got {given.dtype.str}: "
                f'.astype("{given.dtype.newbyteorder("=").str}") gives one'
            )
        raise TracingError(f"lazy() takes arrays of numbers, got dtype {given.dtype} and type {type(array).__name__}")
    if copy or (copy is None and may_change(given)):
        given = _copied(given)
    given = given.view()
    given.flags.writeable = False
    return placed(FREE.source(given, name, origin="lazy"), FREE)


def _copied(array: Array) -> Array:
    """A copy of what lies there: elements that an array has again and again along an axis are copied once."""
    once = tuple([slice(None) if stride else slice(1) for stride in array.strides])
    return np.broadcast_to(array[once].copy("K"), array.shape)


def is_traceable(array: object) -> bool:
    """Whether something is an array of numbers in the byte order of the machine, and of no other class."""
    return type(array) in (np.ndarray, np.memmap, IndexedArray) and array.dtype.kind in "biufc" and array.dtype.isnative  # type: ignore[attr-defined]
