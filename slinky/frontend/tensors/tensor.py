"""Lazy tensors with named dimensions, as users hold them.

Idea. A tensor is a node of a graph. Operations make nodes and compute nothing; a value is asked for by `numpy()`, and
the graph becomes an ordinary pipeline then, once, whatever the sizes.

Invariant: no operation changes a tensor. What is given later, arrays and sizes, is given to inputs.
"""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt

from slinky.errors import ArgumentError, CheckFailedError, GraphError, TensorError, TensorSizeError, cited
from slinky.frontend.tensors.dimensions import is_dimension, listed, unnamed
from slinky.frontend.tensors.drawing import TensorGraph, drawn
from slinky.frontend.tensors.equations import Sizes
from slinky.frontend.tensors.flat import FlatGraph, flattened, made_again
from slinky.frontend.tensors.identities import Identity
from slinky.frontend.tensors.lowering import LoweredTensor, lowered, read_beyond
from slinky.frontend.tensors.nodes import Array, Input, Node, in_order
from slinky.frontend.tensors.operands import ByNames, elementwise
from slinky.frontend.tensors.reducing import averaged, combined, converted, placed, require_elements
from slinky.frontend.tensors.views import constrained, indexed, renamed, transposed
from slinky.frontend.tracing import scheduled_for
from slinky.graph import terms
from slinky.graph.buffers import valid_name
from slinky.pipeline import Pipeline
from slinky.runtime.backends import require_backend
from slinky.runtime.buffers import view_as_array
from slinky.sched.loop_trees import LoopTree, loop_tree
from slinky.symbolic.expressions import Variable, as_expr, is_integer
from slinky.symbolic.traversal import symbols

SMALL_BYTES = 1 << 16
"""Where no tensor takes more, a pipeline is run as it is: to schedule it would take longer than it does."""


def _operator(name: str, function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def method(self: Tensor, other: object) -> Any:
        return _elementwise(name, function, (self, other))

    return method


def _reversed(name: str, function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def method(self: Tensor, other: object) -> Any:
        return _elementwise(name, function, (other, self))

    return method


def _both(ufunc: np.ufunc) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    function = partial(_applied, ufunc)
    return _operator(ufunc.__name__, function), _reversed(ufunc.__name__, function)


def _unary(ufunc: np.ufunc) -> Callable[[Any], Any]:
    def method(self: Tensor) -> Any:
        return _elementwise(ufunc.__name__, partial(_applied, ufunc), (self,))

    return method


def _applied(ufunc: np.ufunc, *operands: Any, **options: Any) -> Any:
    return terms.applied(ufunc, operands, **options)


class Tensor:
    """A tensor with named dimensions, whose values are computed when they are asked for.

    `sl.Tensor(s.m, s.k)` is an input without values yet, of `dtype` (float64 if nothing is said). `sl.Tensor(array)` is
    one with the values of an array, or anything that has DLPack, which is not copied; its dimensions get names by
    `to(s.m, s.k)`. A `name` is what it is called in pipelines and messages.

        >>> import numpy as np, slinky as sl
        >>> s = sl.dims("m k n")
        >>> a, b = sl.Tensor(s.m, s.k), sl.Tensor(s.k, s.n)
        >>> c = (a * b).sum(s.k)
        >>> c
        <Tensor sum: float64[m, n]>
        >>> _ = a.set(np.ones((2, 3))), b.set(np.ones((3, 2)))
        >>> c.numpy()
        array([[3., 3.],
               [3., 3.]])

    Operators, NumPy's ufuncs, `np.where` and `np.clip` take tensors and numbers. Operands are aligned by the names of
    their dimensions, whatever their order; the result has those of the first, then those that the others add.

    Raises `TensorError` for what is neither dimensions nor an array.
    """

    __slots__ = ("__weakref__", "_automatic", "_lowered", "_node", "_schedule")

    _node: Node
    _lowered: LoweredTensor | None
    _schedule: Pipeline | None
    _automatic: Pipeline | None

    def __init__(self, *what: object, dtype: npt.DTypeLike | None = None, name: str | None = None) -> None:
        title = None if name is None else _name(name)
        self._lowered = self._schedule = self._automatic = None
        if all(map(is_dimension, what)):
            dims = cast(Sequence[Variable], what)
            twice = next((dim for dim in dims if dims.count(dim) > 1), None)
            if twice is not None:
                raise TensorError(f"a tensor has the dimension {twice} twice: [{listed(dims)}]")
            self._node = Input(dims, _dtype(np.float64 if dtype is None else dtype), title)
            return
        if len(what) != 1:
            raise TensorError(
                f"a tensor is made of dimensions, such as s.m and s.k, or of one array, got {cited(what)}"
            )
        if dtype is not None:
            raise TensorError("a tensor made of an array has its dtype: convert it by .astype(...)")
        array = _as_array(what[0])
        node = Input([unnamed() for _ in array.shape], _dtype(array.dtype), title)
        _give(node, array.shape, "the array")
        node.array = array
        self._node = node

    # What it is -------------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its elements, by NumPy's rules."""
        return self._node.dtype

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self._node.dims)

    @property
    def symbolic_shape(self) -> tuple[Variable, ...]:
        """Its dimensions, in order."""
        return self._node.dims

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes, as they follow from what is given of all tensors that have to do with it.

        Raises `TensorSizeError` where they are not determined, or cannot be, with the equations that say so.
        """
        return Sizes(self._node.sizes).of(self._node.sizes)

    @property
    def name(self) -> str | None:
        """What it is called in pipelines, if that was said."""
        return self._node.name

    def __repr__(self) -> str:
        return f"<Tensor {self._node.name or self._node.operation}: {self.dtype}[{listed(self._node.dims)}]>"

    # Copies -----------------------------------------------------------------------------------------------------------

    def __copy__(self) -> Tensor:
        tensor = _of(self._node)
        tensor._lowered, tensor._schedule = self._lowered, self._schedule
        return tensor

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return _again(copy.deepcopy(flattened(self._node), memo), self._schedule)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles what it is computed from, with the arrays that were given, and the schedule."""
        return _again, (flattened(self._node), self._schedule)

    # What is given ----------------------------------------------------------------------------------------------------

    def set_size(self, *sizes: int) -> Tensor:
        """Say its sizes, one for each dimension. Returns the tensor.

        Sizes of other tensors that follow from these are known then. Raises `TensorSizeError` for sizes that cannot be,
        with the equations, or where others were given before: `resize` changes them.
        """
        self._check_sizes(sizes)
        for unknown, given in zip(self._node.sizes, sizes, strict=True):
            if unknown.value not in (None, given):
                raise TensorSizeError(f"{unknown}, and shall be {given}: resize() changes what was given")
        return self._give_if_possible(sizes, "set_size")

    def resize(self, *sizes: int) -> Tensor:
        """Say its sizes, whatever was said before. Returns the tensor.

        An array that it, or the input that it is a view of, has of other sizes is given up. The equations are looked at
        when a size is asked for, so several tensors can be resized one after the other; the pipeline stays as it is.
        """
        self._check_sizes(sizes)
        node = self._node
        if isinstance(node, Input) and node.array is not None and node.array.shape != tuple(sizes):
            node.array = None
        _give(node, sizes, "resize")
        return self

    def set(self, array: object) -> Tensor:
        """Give an input its values, which are not copied. Returns the tensor.

        An array of other sizes than before resizes it. Raises `TensorError` where it is no input, or the array does not
        fit, and `TensorSizeError` for sizes that cannot be.
        """
        node = self._node
        if not isinstance(node, Input):
            raise TensorError(f"{node.title} is computed from other tensors: only inputs are given values")
        given = _as_array(array)
        if given.dtype != node.dtype:
            raise TensorError(f"{node.title} has elements of {node.dtype}, got an array of {given.dtype}")
        if given.ndim != len(node.dims):
            raise TensorError(
                f"{node.title} has the dimensions [{listed(node.dims)}], got an array of shape {given.shape}"
            )
        if all(unknown.value is None for unknown in node.sizes):
            self._give_if_possible(given.shape, "the array")
        else:
            _give(node, given.shape, "the array")
        node.array = given
        return self

    def _check_sizes(self, sizes: Sequence[object]) -> None:
        if len(sizes) != self.ndim or not all(is_integer(given) and cast(int, given) >= 0 for given in sizes):
            raise TensorError(
                f"{self._node.title} has the dimensions [{listed(self._node.dims)}] and needs a size, 0 "
                f"or more, for each, got {cited(tuple(sizes))}"
            )

    def _give_if_possible(self, sizes: Sequence[int], given: str) -> Tensor:
        before = [(unknown, unknown.value, unknown.given) for unknown in self._node.sizes]
        _give(self._node, sizes, given)
        try:
            Sizes(self._node.sizes)
        except TensorSizeError:
            for unknown, value, text in before:
                unknown.give(value, text)
            raise
        return self

    # Operations -------------------------------------------------------------------------------------------------------

    def named(self, name: str) -> Tensor:
        """The same tensor, by this name in pipelines and messages."""
        if isinstance(self._node, Input):
            raise TensorError(f"{self._node.title} is an input: it is named where it is made, by name={cited(name)}")
        return _of(_renamed_node(self._node, _name(name)))

    def astype(self, dtype: npt.DTypeLike) -> Tensor:
        """The elements converted, as arrays are."""
        return _of(converted(self._node, _dtype(dtype)))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        if options.pop("out", None) is not None:
            raise TensorError(f"np.{ufunc.__name__}: a tensor never changes, so it takes no out=")
        if method == "reduce" and len(operands) == 1:
            axis = options.pop("axis", 0)  # as NumPy has it, which no name of a dimension is
            if options:
                raise TensorError(f"np.{ufunc.__name__}.reduce of a tensor takes no {', '.join(sorted(options))}")
            return operands[0].reduce(ufunc, *_axes(axis))
        if method != "__call__":
            raise TensorError(f"np.{ufunc.__name__}.{method} is not understood of tensors")
        if ufunc.nout == 1:
            return _elementwise(ufunc.__name__, partial(_applied, ufunc, **options), operands)
        return tuple(
            _elementwise(ufunc.__name__, partial(_applied, ufunc, **options), operands, k) for k in range(ufunc.nout)
        )

    def __array_function__(self, function: Callable[..., Any], _: object, given: Any, options: Any) -> Any:
        if function in (np.where, np.clip):
            known = ByNames(terms.where if function is np.where else terms.clip, tuple(options))
            return _elementwise(function.__name__, known, (*given, *options.values()))
        name = _REDUCTIONS.get(function)
        if name is None or not given or not isinstance(given[0], Tensor) or set(options) - {"axis"} or len(given) > 2:
            raise TensorError(f"np.{function.__name__} with these arguments is not understood of tensors")
        axis = given[1] if len(given) == 2 else options.get("axis")
        return getattr(given[0], name)(*_axes(axis))

    __add__, __radd__ = _both(np.add)
    __sub__, __rsub__ = _both(np.subtract)
    __mul__, __rmul__ = _both(np.multiply)
    __truediv__, __rtruediv__ = _both(np.true_divide)
    __floordiv__, __rfloordiv__ = _both(np.floor_divide)
    __mod__, __rmod__ = _both(np.remainder)
    __and__, __rand__ = _both(np.bitwise_and)
    __or__, __ror__ = _both(np.bitwise_or)
    __xor__, __rxor__ = _both(np.bitwise_xor)
    __lshift__, __rlshift__ = _both(np.left_shift)
    __rshift__, __rrshift__ = _both(np.right_shift)
    __lt__, __le__, __gt__, __ge__ = (_both(f)[0] for f in (np.less, np.less_equal, np.greater, np.greater_equal))
    __eq__, __ne__ = _both(np.equal)[0], _both(np.not_equal)[0]
    __neg__, __pos__, __abs__, __invert__ = map(_unary, (np.negative, np.positive, np.absolute, np.invert))
    __hash__ = object.__hash__

    def __pow__(self, exponent: object, modulus: object = None) -> Any:
        if modulus is not None:
            raise TensorError("pow() of tensors takes no modulus: write a ** b % c")
        return _elementwise("power", operator.pow, (self, exponent))

    def __rpow__(self, base: object, modulus: object = None) -> Any:
        if modulus is not None:  # of which Python asks from 3.14 on
            raise TensorError("pow() of tensors takes no modulus: write a ** b % c")
        return _elementwise("power", operator.pow, (base, self))

    def __divmod__(self, other: Any) -> Any:
        return np.divmod(self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return np.divmod(other, self)

    def __matmul__(self, other: object) -> NoReturn:
        raise TensorError("a product of matrices is said by names: (a * b).sum(s.k)")

    __rmatmul__ = __matmul__
    __iter__ = None  # it can be indexed, but is no sequence

    def __bool__(self) -> NoReturn:
        raise TensorError("a tensor has no truth value: choose with np.where, and combine with & and |")

    # Reductions -------------------------------------------------------------------------------------------------------

    def reduce(self, ufunc: np.ufunc, *over: Variable, reassociate: bool = False) -> Tensor:
        """Combine the elements along some dimensions, all if none is named, by a ufunc, as `ufunc.reduce` does.

        `reassociate` lets schedules add and multiply floats in another order, which rounds otherwise.

        Raises `TensorError` for a ufunc that `sl.reductions.reduce` does not know, or what is no dimension.
        """
        return _of(combined(self._node, ufunc, over, "reduce", reassociate=reassociate))

    def sum(self, *over: Variable, reassociate: bool = False) -> Tensor:
        """The sum along some dimensions, all if none is named; `reassociate` as of `reduce`."""
        return _of(combined(self._node, np.add, over, "sum", reassociate=reassociate))

    def prod(self, *over: Variable, reassociate: bool = False) -> Tensor:
        """The product along some dimensions, all if none is named; `reassociate` as of `reduce`."""
        return _of(combined(self._node, np.multiply, over, "prod", reassociate=reassociate))

    def max(self, *over: Variable) -> Tensor:
        """The largest element along some dimensions, all if none is named."""
        return _of(combined(self._node, np.maximum, over, "max"))

    def min(self, *over: Variable) -> Tensor:
        """The least element along some dimensions, all if none is named."""
        return _of(combined(self._node, np.minimum, over, "min"))

    def any(self, *over: Variable) -> Tensor:
        """Whether an element along some dimensions is true, all if none is named."""
        return _of(combined(self._node, np.logical_or, over, "any"))

    def all(self, *over: Variable) -> Tensor:
        """Whether all elements along some dimensions are true, all if none is named."""
        return _of(combined(self._node, np.logical_and, over, "all"))

    def mean(self, *over: Variable, reassociate: bool = False) -> Tensor:
        """The mean along some dimensions, all if none is named; `reassociate` as of `reduce`."""
        return _of(averaged(self._node, over, reassociate=reassociate))

    def argmax(self, over: Variable) -> Tensor:
        """The place of the first largest element along a dimension."""
        return _of(placed("argmax", self._node, over))

    def argmin(self, over: Variable) -> Tensor:
        """The place of the first least element along a dimension."""
        return _of(placed("argmin", self._node, over))

    # Views ------------------------------------------------------------------------------------------------------------

    def to(
        self,
        *dims: Variable,
        constraints: Iterable[tuple[object, object]] | None = None,
        outside: object = None,
    ) -> Tensor:
        """The same elements by other names; with `constraints`, a view with other dimensions.

        A constraint is a pair of expressions that are equal. One in which dimensions stand says where the elements are:
        `(s.i, s.y + s.k)`, that at `y` and `k` of the view is what is at `i` of the tensor; also of several dimensions,
        `(s.f, s.m * sl.size(s.n) + s.n)`. One of sizes alone says how large the view is, `(sl.size(s.y),
        sl.size(s.x) + 2)`; without it, a view is as large as the tensor allows. Dimensions of both stay as they are.

        `outside` is what is beyond the tensor: a number, or a tensor with the dimensions of the view. Where nothing
        is, a view must not reach beyond.

            >>> import numpy as np, slinky as sl
            >>> s = sl.dims("x y")
            >>> a = sl.Tensor(np.arange(1.0, 4.0)).to(s.x)
            >>> a.to(s.y, constraints=[(s.y, s.x + 1), (sl.size(s.y), sl.size(s.x) + 2)], outside=0).numpy()
            array([0., 1., 2., 3., 0.])

        Raises `TensorError` for constraints that do not say where each dimension of the tensor is, and
        `TensorSizeError` for sizes that cannot be.
        """
        if constraints is None:
            if outside is not None:
                raise TensorError("to() with outside= needs constraints=: other names leave nothing outside")
            return _of(renamed(self._node, dims))
        return _of(constrained(self._node, dims, constraints, _outside(outside, self.dtype, dims)))

    def transpose(self, *dims: Variable) -> Tensor:
        """The same tensor with its dimensions in another order, reversed if none is named."""
        return _of(transposed(self._node, dims or self._node.dims[::-1]))

    def __getitem__(self, items: object) -> Tensor:
        """The elements at places along each dimension: `a[s.c, s.h + s.i, 0]` has the dimensions `c`, `h` and `i`.

        The dimensions come in the order of the places, those of one place in that of their names. Raises what `to`
        raises.
        """
        given = items if isinstance(items, tuple) else (items,)
        if len(given) != self.ndim:
            raise TensorError(
                f"{self._node.title} has {self.ndim} dimensions, so it is indexed by as many places, got {len(given)}"
            )
        try:
            index = [as_expr(cast(Any, each)) for each in given]
        except TypeError as error:
            raise TensorError(f"{self._node.title} is indexed by expressions of dimensions: {error}") from None
        dims: dict[Variable, None] = {}
        for each in index:
            found = [symbol for symbol in symbols(each) if is_dimension(symbol)]
            dims.update(dict.fromkeys(cast("list[Variable]", sorted(found, key=str))))
        return _of(indexed(self._node, tuple(dims), index, None))

    # Values -----------------------------------------------------------------------------------------------------------

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline that computes it, for all sizes: its inputs are the tensors without operands, in order.

        It is an ordinary one, not scheduled. Raises `TensorError` where there is none.
        """
        return self._lowering().pipeline

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that are given values, in the order in which the pipeline takes them."""
        return tuple(_of(node) for node in in_order(self._node) if isinstance(node, Input))

    def _lowering(self) -> LoweredTensor:
        if self._lowered is None:
            node = self._node
            self._lowered = lowered(renamed(node, node.dims) if isinstance(node, Input) else node)
        return self._lowered

    def scheduled(self, schedule: Pipeline | Callable[[Pipeline], Pipeline]) -> Tensor:
        """The same tensor, computed by a pipeline that was made of its own by primitives, or by what a function makes.

        Tensors that are computed from it are not: their pipelines are others. Raises `TensorError` for a pipeline that
        was not made of `pipeline`.
        """
        own = self.pipeline
        found: object = schedule
        if callable(found) and not isinstance(found, Pipeline):
            found = found(own)
        if not isinstance(found, Pipeline) or not found._version.lineage.descends_from(own._version.lineage):
            raise TensorError(
                f"{self._node.title} is computed by a pipeline made of its own, of tensor.pipeline by primitives, "
                f"got {cited(found)}"
            )
        tensor = _of(self._node)
        tensor._lowered, tensor._schedule = self._lowered, found
        return tensor

    def numpy(self, *, backend: str = "python") -> Array:
        """Its values, computed now. Of an input, the array that it was given.

        It runs by the schedule that it was given (`scheduled`), else by one that is found for these sizes. `backend` is
        that of `Pipeline.run`. Raises `TensorError` where an input has no values, and what `shape` and a run raise.
        """
        require_backend(backend)
        if isinstance(self._node, Input):
            return _values(self._node)
        nodes = in_order(self._node)
        sizes = Sizes(unknown for node in nodes for unknown in node.sizes)
        arrays = [_values(node) for node in nodes if isinstance(node, Input)]
        shape = sizes.of(self._node.sizes)
        try:
            result = np.empty(shape, self.dtype)
        except ValueError as error:
            size = " and ".join(f"{u.of} == {n}" for u, n in zip(self._node.sizes, shape, strict=True))
            raise TensorSizeError(f"there is no array of {self.dtype} as large as {size}: {error}") from None
        if not result.size:
            return result
        require_elements(nodes, sizes)
        lowering = self._lowering()
        largest = max(math.prod(sizes.of(node.sizes)) * node.dtype.itemsize for node in nodes)
        scalars = dict(zip(lowering.scalars, sizes.of(list(lowering.scalars.values())), strict=True))
        p = self._schedule or lowering.pipeline
        try:
            if self._schedule is None and largest > SMALL_BYTES:
                if self._automatic is None:
                    self._automatic = p.auto()
                p = scheduled_for(self._automatic, arrays, [result], scalars)
            p._prepared(backend).enter((*arrays, result), scalars)
        except CheckFailedError:
            beyond = read_beyond(nodes, sizes)
            if beyond is None:
                raise
            raise CheckFailedError(beyond) from None
        return result

    @property
    def ir(self) -> TensorGraph:
        """Its graph, which prints as Graphviz: each node with its dimensions and the loops that compute it."""
        lowering = self._lowering()
        return drawn(self._node, lowering, self._schedule or lowering.pipeline)

    @property
    def loop_tree(self) -> LoopTree:
        """The nest of its pipeline (see `sl.loop_tree`), with numbers where its sizes are known."""
        lowering = self._lowering()
        p = self._schedule or lowering.pipeline
        try:
            sizes = Sizes(unknown for node in in_order(self._node) for unknown in node.sizes)
            shapes = [sizes.of(node.sizes) for node in lowering.inputs]
            scalars = dict(zip(lowering.scalars, sizes.of(list(lowering.scalars.values())), strict=True))
        except TensorSizeError:
            return loop_tree(p)
        return loop_tree(p, *shapes, sizes.of(self._node.sizes), **scalars)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        found = self.numpy()
        if copy is False and not isinstance(self._node, Input):
            raise TensorError("the values of a tensor are computed: they are no memory that could be seen uncopied")
        return np.array(found, dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        """Its values for other libraries: of an input, the memory that it was given."""
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return np.empty(0).__dlpack_device__()


_REDUCTIONS: dict[Any, str] = {
    np.sum: "sum",
    np.prod: "prod",
    np.max: "max",
    np.min: "min",
    np.any: "any",
    np.all: "all",
    np.mean: "mean",
}


def _of(node: Node) -> Tensor:
    """The tensor of a node."""
    tensor = Tensor.__new__(Tensor)
    tensor._node = node
    tensor._lowered = tensor._schedule = tensor._automatic = None
    return tensor


def _again(graph: FlatGraph, schedule: Pipeline | None) -> Tensor:
    """A tensor like the one that was flattened, which has to do with no other."""
    tensor = _of(made_again(graph))
    tensor._schedule = schedule
    return tensor


def _renamed_node(node: Node, name: str) -> Node:
    """The same node by another name."""
    found = copy.copy(node)
    found.name = found.title = name
    found.identity = Identity()
    return found


def _elementwise(
    name: str, function: Callable[..., Any], operands: Sequence[object], output: int | None = None
) -> Tensor:
    """The tensor of a function of elements."""
    given = [operand._node if isinstance(operand, Tensor) else operand for operand in operands]
    return _of(elementwise(name, function, given, output))


def _give(node: Node, sizes: Sequence[int], given: str) -> None:
    for unknown, value in zip(node.sizes, sizes, strict=True):
        unknown.give(int(value), given)


def _as_array(given: object) -> Array:
    if isinstance(given, Tensor):
        raise TensorError(f"{given!r} is a tensor already: give it other names by to()")
    if isinstance(given, (list, tuple)):
        raise TensorError(f"a tensor is made of an array, got a {type(given).__name__}: np.array(...) makes one")
    try:
        return np.asarray(given) if isinstance(given, np.generic) else view_as_array(given)
    except ArgumentError as error:
        raise TensorError(f"a tensor is made of dimensions or an array: {error}") from None


def _values(node: Input) -> Array:
    if node.array is None:
        raise TensorError(f"{node.title} has no values: give them by set(array), or run the pipeline on arrays")
    for unknown, extent in zip(node.sizes, node.array.shape, strict=True):
        if unknown.value not in (None, extent):
            raise TensorError(
                f"{node.title} has no values since {unknown}: its array has the shape {node.array.shape}; give it "
                "another by set(array)"
            )
    return node.array


def _name(name: str) -> str:
    try:
        return valid_name(name, "a tensor")
    except GraphError as error:
        raise TensorError(str(error)) from None


def _dtype(given: npt.DTypeLike) -> np.dtype[Any]:
    try:
        return terms.dtype_of(given)
    except GraphError as error:
        raise TensorError(str(error)) from None


def _axes(axis: object) -> tuple[Any, ...]:
    """The dimensions that NumPy's `axis=` names."""
    given = () if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if axis == () or not all(map(is_dimension, given)):
        raise TensorError(
            f"the axis of a tensor is a dimension, such as s.k, a tuple of them, or None, got {cited(axis)}"
        )
    return given


def _outside(given: object, dtype: np.dtype[Any], dims: Sequence[Variable]) -> object:
    """What is beyond a tensor: the node of another one, or a number."""
    if not isinstance(given, Tensor):
        return given
    if given._node.dims != tuple(dims) or given.dtype != dtype:
        raise TensorError(
            f"outside={given!r} must have the dimensions of the view, [{listed(dims)}], and its dtype {dtype}"
        )
    return given._node
