"""From the graph of a trace to an ordinary pipeline.

Idea. Each result becomes a buffer whose coordinates begin at 0 and whose domain is the shape of the result; each node
becomes the funcs that its operation makes. Sizes become expressions of the extents of the pipeline's inputs. How
pieces of an operand are turned (flipped, transposed, every second element) is an `Adapter` in front of the callback:
the access says what is read, the adapter how it is seen.

Two graphs of one structure (`structure`) become one pipeline: arrays and floats are given when it runs.

Invariant: a pipeline made here gives, on the arrays of the graph's sources, the results of `Operation.compute`.
"""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Callable, Collection, Container, Hashable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import attrs
import numpy as np

from slinky.build import build_pipeline
from slinky.errors import GraphError
from slinky.frontend.assembling import Assembled
from slinky.frontend.fusing import ignored_by, inlined, inlined_in_c, is_arithmetic, is_arithmetic_in_c, term_of
from slinky.frontend.nodes import Array, Index, Node, Result, Shape, View
from slinky.frontend.nodes import Source as Given
from slinky.frontend.reals import Told
from slinky.frontend.sizes import Length, Size, expr_of
from slinky.frontend.tables import ANY_PIECES
from slinky.graph.buffers import Access, BufferExpr, scalar, valid_name
from slinky.graph.copying import CopyFunc, Source
from slinky.graph.formulas import ExpressionFunc, arithmetic
from slinky.graph.funcs import Func
from slinky.graph.reductions import Reduction
from slinky.ir.identifiers import as_python_reads
from slinky.ir.operations import FloatScalar
from slinky.pipeline import Pipeline
from slinky.runtime.backends import gives_bits
from slinky.symbolic.expressions import Condition, Expr, Variable, as_expr, equal, metadata, variable
from slinky.symbolic.intervals import Interval, point
from slinky.symbolic.traversal import substitute, symbols


@attrs.frozen
class Adapter:
    """How a piece of a buffer is seen by a callback: every so many elements, axes in another order, new ones."""

    picked: tuple[slice | int, ...]
    order: tuple[int, ...]
    placed: tuple[slice | None, ...]

    def __call__(self, piece: Array, made: tuple[int, ...]) -> Array:
        return piece[(*self.picked, ...)].transpose(self.order)[self.placed]


@attrs.frozen
class Woven:
    """How a piece of a buffer is seen along whose axes several axes go: windows, or parts of an axis that was split.

    Per axis of the piece, `terms` are steps with the axes that they are along. `lengths` are those of the axes seen,
    as far as they are numbers; where an axis goes along one of the piece that is made, it is as long (`along`).
    """

    terms: tuple[tuple[tuple[int, int], ...], ...]
    along: tuple[int | None, ...]
    lengths: tuple[int | None, ...]

    def __call__(self, piece: Array, made: tuple[int, ...]) -> Array:
        unknown = 0  # no axis of a piece is empty
        shape = [(n or unknown) if k is None else made[k] for n, k in zip(self.lengths, self.along, strict=True)]
        strides, first = [0] * len(shape), []
        for terms, extent, stride in zip(self.terms, piece.shape, piece.strides, strict=True):
            reach = sum(abs(step) * (shape[axis] - 1) for step, axis in terms if shape[axis])
            for step, axis in terms:
                shape[axis] = shape[axis] or (extent - 1 - reach) // abs(step) + 1
                strides[axis] = step * stride
            first.append(sum(-step * (shape[axis] - 1) for step, axis in terms if step < 0))
        start = piece[tuple(slice(at, at + 1) for at in first)]
        return np.lib.stride_tricks.as_strided(start, shape, strides)


def adapter_of(index: Sequence[Index], rank: int, first: int) -> Adapter | None:
    """The adapter for a view of some rank; None where a piece is seen as it is. New axes before the axis `first` are
    left out: functions of elements broadcast."""
    picked = tuple(0 if i.axis is None else slice(None, None, i.step) for i in index)
    axes = [i.axis for i in index if i.axis is not None]
    order = tuple(sorted(range(len(axes)), key=lambda k: axes[k]))
    placed = tuple(slice(None) if axis in axes else None for axis in range(rank))
    placed = placed[first:] if None in placed[:first] else placed
    is_plain = all(p == slice(None, None, 1) for p in picked) and None not in placed
    return None if is_plain and order == tuple(range(len(axes))) else Adapter(picked, order, placed)


@attrs.frozen(eq=False)
class Read:
    """An access of an operand, and how the callback sees it: a piece, of which so much is made."""

    access: Access
    adapter: Adapter | Woven | None


@attrs.frozen(eq=False)
class Lowered:
    """A pipeline for graphs of one structure. `sources` are the numbers of the nodes that its inputs are."""

    pipeline: Pipeline
    floats: tuple[str, ...]
    _schedules: dict[Hashable, Pipeline] = attrs.field(factory=dict, init=False)

    def scalars(self, floats: Sequence[float], sizes: Sequence[int]) -> dict[str, Any]:
        """The scalars of a run: the floats of a graph (`floats_of`), and those of its sizes that no input tells."""
        named: dict[str, Any] = dict(zip(self.floats, floats, strict=True))
        return named | {f"size_{k}": size for k, size in enumerate(sizes)}

    @property
    def unscheduled(self) -> Pipeline:
        """The pipeline as it is: one that nothing schedules, always the same."""
        return self._schedules.setdefault(None, Pipeline(self.pipeline._version))

    def scheduled_like(
        self,
        arrays: Sequence[Array],
        outputs: Sequence[Array],
        scalars: dict[str, Any],
        schedule: Callable[..., Pipeline],
    ) -> Pipeline:
        """A schedule for arrays about as large as these, wherever windows of them lie."""
        key = tuple(n.bit_length() for array in (*arrays, *outputs) for n in array.shape)
        found = self._schedules.get(key)
        if found is None:
            found = self._schedules[key] = schedule(self.pipeline, arrays, outputs, scalars)
        return found


class Lowering:
    """A graph on its way to a pipeline: the buffers of its results, and what its sizes are called there."""

    def __init__(
        self,
        nodes: Sequence[Node],
        symbols: Mapping[Expr, Expr],
        names: Mapping[Result, str],
        by_pieces: Container[str] = ANY_PIECES,
        *,
        in_loops: bool = False,
        apart: Collection[Node] = frozenset(),
        floats: Sequence[str | float] = (),
    ) -> None:
        self._by_pieces = by_pieces
        self.in_loops = in_loops
        """Whether loops in C are made of what is understood."""
        self._apart = apart
        self.as_one_piece = False
        """Whether the node that is lowered now is computed at once."""
        self._symbols = symbols
        self._first_float = dict(
            zip(nodes, itertools.accumulate((len(floats_of([n])) for n in nodes), initial=0), strict=False)
        )
        self._floats = [scalar(each, float) if isinstance(each, str) else each for each in floats]
        self._taken = set(names.values())
        self._buffer_names = set(names.values())
        self._buffers: dict[Result, BufferExpr] = {}
        self._lowered: set[Node] = set()
        self.required: dict[Condition, None] = {}
        for node in nodes:
            for result in node.results:
                buffer = BufferExpr(names[result], result.dtype, len(result.shape))
                self._buffers[result] = buffer
                for d, extent in enumerate(result.shape):
                    bounds = Interval(0, self.expr(extent) - 1)
                    if not isinstance(node.operation, Given):
                        buffer.dim(d).domain = bounds
                        self.require(as_expr(1) <= bounds.extent)
                    else:
                        buffer.dim(d).min = 0
                        self.require(buffer.dim(d).max >= 0)

    def require(self, condition: Condition) -> None:
        """What must hold of the arrays given."""
        self.required[condition] = None

    def number(self, node: Node, k: int) -> FloatScalar | float:
        """The float of a node that is given when the pipeline runs, or that it knows; they are counted in the order of
        the nodes."""
        return self._floats[self._first_float[node] + k]

    def name(self, given: str) -> str:
        """A name for a func, that no other has, and no buffer."""
        return unique(func_name(given), self._taken)

    def buffer(self, result: Result) -> BufferExpr:
        """The buffer of a result."""
        return self._buffers[result]

    def buffer_name(self, wanted: str) -> str:
        """A name for a buffer more, that no other has."""
        return unique(func_name(wanted), self._buffer_names)

    def buffer_of(self, view: View) -> BufferExpr:
        """A buffer that is what a view sees: a copy, where that is not all of a result."""
        return self._buffers[view.result] if view.is_whole else self.copied(view, self.buffer_name("part"))

    def expr(self, given: Length) -> Expr:
        """A length, by the extents of the inputs."""
        return self.substituted(expr_of(given))

    def substituted(self, expr: Expr) -> Expr:
        """An expression of sizes, by the extents of the inputs."""
        return substitute(expr, self._symbols)

    def substituted_interval(self, given: Interval) -> Interval:
        """An interval of sizes, by the extents of the inputs."""
        return Interval(self.substituted(given.min), self.substituted(given.max))

    @staticmethod
    def dims(rank: int, number: int = 0) -> list[Variable]:
        """Variables for the dimensions of a func's output; its outputs have them in common unless numbered."""
        names = ["z", "y", "x"][-rank:] if 0 < rank <= 3 else [f"d{d}" for d in range(rank)]
        return [variable(f"{name}{number}" if number else name) for name in names]

    def access(self, result: Result, box: Sequence[Interval]) -> Access:
        """An access of a result."""
        return Access(self._buffers[result], tuple(box))

    def read_elements(self, view: View, places: Sequence[Expr]) -> Read:
        """What a function of elements reads, which broadcasts."""
        used = [axis for i in view.index for _, axis in i.terms]
        return self._read(view, places, places, min(used, default=len(view.shape)))

    def read(self, view: View, places: Sequence[Expr | None], dims: Sequence[Expr] = ()) -> Read:
        """What is read for the view at places along its axes, which are among `dims`; all of an axis where there is
        None."""
        return self._read(view, places, dims, 0)

    def _read(self, view: View, places: Sequence[Expr | None], dims: Sequence[Expr], first: int) -> Read:
        if self.as_one_piece:
            places = [None] * len(places)
        adapter = self._woven(view, places, dims) if view.is_woven else None
        return Read(self._access(view, places), adapter or adapter_of(view.index, len(view.shape), first))

    def places(self, view: View, places: Sequence[Expr]) -> list[Expr]:
        """The places along the axes of a result that a view sees from places along its own."""
        return [sum((step * places[axis] for step, axis in i.terms), self.expr(i.offset)) for i in view.index]

    def _access(self, view: View, places: Sequence[Expr | None]) -> Access:
        box = []
        for i in view.index:
            low = high = self.expr(i.offset)
            for step, axis in i.terms:
                place = places[axis]
                far = step * (self.expr(view.shape[axis]) - 1 if place is None else place)
                low = low if place is None and step > 0 else low + far
                high = high if place is None and step < 0 else high + far
            box.append(point(low) if low is high else Interval(low, high))
        return self.access(view.result, box)

    @staticmethod
    def _woven(view: View, places: Sequence[Expr | None], dims: Sequence[Expr | None]) -> Woven:
        used = {axis for i in view.index for _, axis in i.terms}
        along = tuple(
            dims.index(place) if place in dims and place is not None and axis in used else None
            for axis, place in enumerate(places)
        )
        lengths = tuple((n if type(n) is int else None) if axis in used else 1 for axis, n in enumerate(view.shape))
        return Woven(tuple(i.terms for i in view.index), along, lengths)

    def func(
        self,
        node: Node,
        callback: Callable[..., Any],
        inputs: Sequence[Access],
        dims: Sequence[Variable],
        *,
        arguments: Mapping[str, Any] | None = None,
        in_place: bool = False,
        whole: Sequence[Variable] = (),
        pass_buffers: bool = False,
        reduction: Reduction | None = None,
        inner: Sequence[Sequence[Variable]] = (),
    ) -> Func:
        """The func of a node whose results all have the same dimensions, and after these `inner` ones of their own,
        which are whole."""
        whole = dims if self.as_one_piece else whole
        whole = [*whole, *(dim for own in inner for dim in own)]
        each = [[*dims, *own] for own in inner] or [list(dims)] * len(node.results)
        for result, own in zip(node.results, each, strict=True):
            for d, dim in enumerate(own):
                if dim in whole:
                    self._bounded(result, d)
        outputs = [self.access(r, list(map(point, own))) for r, own in zip(node.results, each, strict=True)]
        options: dict[str, Any] = {"arguments": arguments, "in_place": in_place, "whole": whole, "reduction": reduction}
        return Func(callback, inputs, outputs, self.name(node.name), pass_buffers=pass_buffers, **options)

    def arithmetic(self, node: Node, inside: Collection[Node]) -> ExpressionFunc:
        """The func of a node that is arithmetic, with the nodes inside of it."""
        (result,) = node.results
        dims = self.dims(len(result.shape))
        term = term_of(node, self, dims, inside)
        target, name = self.access(result, list(map(point, dims))), self.name(node.name)
        return arithmetic(term, target, name, ignored=ignored_by(node))

    def lower(self, node: Node, inside: Collection[Node]) -> None:
        """Make the funcs of a node, and of the nodes inside of it: one func for all if that can be."""
        if node in self._lowered:  # by another reader, which could not have it inside either
            return
        self._lowered.add(node)
        before = [own for own in dict.fromkeys(view.result.node for view in node.operands) if own in inside]
        is_exact = node.operation.exactness in self._by_pieces
        is_understood = is_arithmetic_in_c if self.in_loops and node not in self._apart else is_arithmetic
        if before or (is_exact and is_understood(node)):
            try:
                self.arithmetic(node, inside)
                return
            except GraphError:  # a number that arithmetic takes otherwise than the function does
                for each in before:
                    self.lower(each, inside)
        self.as_one_piece = node.operation.exactness not in self._by_pieces
        try:
            node.operation.lower(node, self)
        finally:
            self.as_one_piece = False

    def func_of_all(
        self, node: Node, callback: Callable[..., Any], inputs: Sequence[Access], dims: Sequence[Sequence[Variable]]
    ) -> Func:
        """The func of a node that computes all of its results at once."""
        for result in node.results:
            for d in range(len(result.shape)):
                self._bounded(result, d)
        outputs = [self.access(r, list(map(point, own))) for r, own in zip(node.results, dims, strict=True)]
        whole = [dim for own in dims for dim in own]
        return Func(callback, inputs, outputs, self.name(node.name), whole=whole)

    def _bounded(self, result: Result, d: int) -> None:
        dim = self._buffers[result].dim(d)
        dim.bounds = Interval(0, self.expr(result.shape[d]) - 1)

    def copy(self, node: Node, sources: Sequence[Source], dims: Sequence[Variable], fill: Any) -> Func:
        """The copy of a node."""
        (result,) = node.results
        target = self.access(result, list(map(point, dims)))
        return CopyFunc(sources, target, self.name(node.name), named=True, fill=fill)

    def copied(self, view: View, name: str) -> BufferExpr:
        """A buffer of its own for what a view sees."""
        buffer = BufferExpr(name, view.dtype, len(view.shape))
        for d, extent in enumerate(view.shape):
            buffer.dim(d).domain = Interval(0, self.expr(extent) - 1)
        dims = self.dims(len(view.shape))
        access = self.read(view, dims).access
        none = (None,) * len(view.index)
        CopyFunc([Source(access, none, none)], Access(buffer, tuple(map(point, dims))), self.name("copy"), named=True)
        return buffer

    def bound_output(self, buffer: BufferExpr, shape: Shape) -> None:
        """An output has all elements of its shape."""
        for d, extent in enumerate(shape):
            buffer.dim(d).bounds = Interval(0, self.expr(extent) - 1)


def func_name(given: str) -> str:
    """A name that a func may have: as near to this one as can be."""
    name = as_python_reads(re.sub(r"\W", "_", given).strip("_") or "func")
    if not name[0].isidentifier():
        name = f"_{name}"
    return valid_name(f"{name}_" if keyword.iskeyword(name) else name, "a func")


def unique(wanted: str, taken: set[str]) -> str:
    """A name that is not taken, and is from now on."""
    name, count = wanted, 1
    while name in taken:
        name, count = f"{wanted}_{count}", count + 1
    taken.add(name)
    return name


def sources_of(nodes: Sequence[Node]) -> list[Node]:
    """The nodes among some that are arrays given."""
    return [node for node in nodes if isinstance(node.operation, Given)]


def _symbols_of(nodes: Sequence[Node], outputs: Sequence[View], names: Mapping[Result, str]) -> dict[Expr, Expr]:
    """What the sizes of sources are, by the extents of the inputs of those names; what no input tells is a scalar."""
    found = _told(nodes, names)
    for k, symbol in enumerate(untold(nodes, outputs)):
        found[symbol] = scalar(f"size_{k}")
    return found | {symbol: found[root] for symbol, root in _canonical(nodes, outputs).items()}


def _told(nodes: Sequence[Node], names: Mapping[Result, str]) -> dict[Expr, Expr]:
    """The sizes that inputs tell; one of those that were found equal stands for all."""
    found: dict[Expr, Expr] = {}
    for node in sources_of(nodes):
        (result,) = node.results
        for d, extent in enumerate(result.shape):
            if type(extent) is Size and isinstance(extent.expr, Variable):
                root = extent.questions.root(extent.expr)
                found.setdefault(root, metadata(names[result], d, "max") + 1)
                found[extent.expr] = found[root]
    return found


def untold(nodes: Sequence[Node], outputs: Sequence[View]) -> list[Expr]:
    """The sizes in a graph that are those of arrays which it does not read, in order."""
    told = {
        n.questions.root(n.expr) for node in sources_of(nodes) for n in node.results[0].shape if type(n) is Size
    }  # fmt: skip
    found: dict[Expr, None] = {}
    for given in _sizes_of(nodes, outputs):
        own = symbols(given.expr)
        for symbol in sorted(own, key=str) if len(own) > 1 else own:
            if given.questions.root(symbol) not in told:
                found[given.questions.root(symbol)] = None
    return list(found)


def _canonical(nodes: Sequence[Node], outputs: Sequence[View]) -> dict[Expr, Expr]:
    """What stands for the sizes of a graph, where that is another one."""
    found: dict[Expr, Expr] = {}
    for given in _sizes_of(nodes, outputs):
        for symbol in symbols(given.expr):
            found[symbol] = given.questions.root(symbol)
    return found


def _sizes_of(nodes: Sequence[Node], outputs: Sequence[View]) -> Iterator[Size]:
    """The lengths in a graph that are no numbers, in order, one for each expression."""
    seen: set[Expr] = set()
    for given in _lengths_of(nodes, outputs):
        if type(given) is Size and given.expr not in seen:
            seen.add(given.expr)
            yield given


def _lengths_of(nodes: Sequence[Node], outputs: Sequence[View]) -> Iterator[Length]:
    """All lengths in a graph."""
    views = [*(view for node in nodes for view in node.operands), *outputs]
    for node in nodes:
        yield from node.operation.lengths()
        for result in node.results:
            yield from result.shape
    for view in views:
        yield from view.shape
        yield from (i.offset for i in view.index)


def _input_names(nodes: Sequence[Node], others: Collection[str] = ()) -> dict[Result, str]:
    """A name for each result, that no other has, and none of the `others`."""
    taken = set(others)
    found: dict[Result, str] = {}
    for node in nodes:
        given = node.operation.name if isinstance(node.operation, Given) else f"{node.name}_result"
        for result in node.results:
            found[result] = unique(func_name(given if len(node.results) == 1 else f"{given}_{result.number}"), taken)
    return found


def structure(nodes: Sequence[Node], outputs: Sequence[View], *, with_names: bool = True) -> Hashable | None:
    """What two graphs have in common that are lowered to one pipeline, or to two that differ in names; None for a graph
    like no other."""
    place = {node: k for k, node in enumerate(nodes)}
    own = itertools.count()
    names = _input_names(nodes) if with_names else {r: f"array_{next(own)}" for node in nodes for r in node.results}
    symbols = _symbols_of(nodes, outputs, names)

    def of(given: Length) -> Expr:
        return substitute(expr_of(given), symbols)

    def lengths(shape: Shape) -> Hashable:
        return tuple(map(of, shape))

    def read(view: View) -> Hashable:
        index = tuple((of(i.offset), i.terms) for i in view.index)
        return place[view.result.node], view.result.number, index, lengths(view.shape)

    found: list[Hashable] = []
    for node in nodes:
        operation = node.operation.key(of)
        if operation is None:
            return None
        results = tuple((r.dtype, lengths(r.shape)) for r in node.results)
        given = names[node.results[0]] if isinstance(node.operation, Given) else node.name
        found.append((given if with_names else None, operation, results, tuple(map(read, node.operands))))
    return tuple(found), tuple(map(read, outputs))


def count_of_funcs(nodes: Sequence[Node], outputs: Sequence[View]) -> int:
    """How many funcs, and how many parts of copies, a pipeline of these nodes has."""
    inside = inlined(nodes, {view.result for view in outputs})
    own = [node for node in nodes if node not in inside and not isinstance(node.operation, Given)]
    return sum(max(len(node.operands), 1) if isinstance(node.operation, Assembled) else 1 for node in own)


def floats_of(nodes: Sequence[Node]) -> tuple[float | Told, ...]:
    """The floats that a pipeline of these nodes is given when it runs, in order."""
    return tuple(value for node in nodes for value in getattr(node.operation, "floats", ()))


def scalars_named(floats: Sequence[str | int | float]) -> list[str | float]:
    """Names for scalars that no dimension and no size has: as near as can be to those that are given, and numbered
    where an integer stands for one without a name. Floats stay."""
    taken: set[str] = set()
    found: dict[str | int, str] = {}
    for each in floats:
        if not isinstance(each, float) and each not in found:
            number = sum(isinstance(other, int) for other in found)
            name = func_name(each) if isinstance(each, str) else f"float_{number}"
            found[each] = unique(f"{name}_" if _OWN_NAMES.fullmatch(name) else name, taken)
    return [each if isinstance(each, float) else found[each] for each in floats]


_OWN_NAMES = re.compile(r"[zyxd]\d*|size_\d+")
"""What dimensions and sizes are called."""


def lowered(
    nodes: Sequence[Node],
    outputs: Sequence[View],
    require: Sequence[Condition],
    name: str,
    by_pieces: Container[str] = ANY_PIECES,
    *,
    in_loops: bool = False,
    to_bits: bool = False,
    floats: Sequence[str | float] | None = None,
) -> Lowered:
    """The pipeline of a graph that computes what some views see. Inputs are the sources, in order. What is not as exact
    as one of `by_pieces` runs as one piece. With `in_loops`, the steps of arithmetic are lines of loops in C; where the
    results are to be NumPy's `to_bits`, what C computes otherwise is left to NumPy. The `floats` of the graph
    (`floats_of`) are scalars of these names, or constants; by default, all are scalars of names that are numbered.

    Raises what `build_pipeline` raises.
    """
    told = [f"float_{k}" for k in range(len(floats_of(nodes)))] if floats is None else floats
    names = _input_names(nodes, {each for each in told if isinstance(each, str)} if floats is not None else set())
    symbols = _symbols_of(nodes, outputs, names)
    returned = {view.result for view in outputs}
    apart: frozenset[Node] = frozenset()
    if in_loops:
        if to_bits:
            apart = _unlike_numpy_in_c(nodes, Lowering(nodes, symbols, names, by_pieces, floats=told))
        is_wide = import_module("slinky.native.compiling").has_wide_vectors()
        inside = inlined_in_c(nodes, returned, by_pieces, apart, has_wide_vectors=is_wide)
    else:
        inside = inlined(nodes, returned, by_pieces)
    lowering = Lowering(nodes, symbols, names, by_pieces, in_loops=in_loops, apart=apart, floats=told)
    for node in nodes:
        if isinstance(node.operation, Given):
            _require_shape(lowering, node.results[0])
        elif node not in inside:
            lowering.lower(node, inside)
    targets = []
    for _number, view in enumerate(outputs):
        is_made = view.is_whole and not isinstance(view.result.node.operation, Given)
        buffer = lowering.buffer(view.result)
        if not is_made or buffer in targets:
            buffer = lowering.copied(view, lowering.buffer_name("output"))
        lowering.bound_output(buffer, view.shape)
        targets.append(buffer)
    for condition in require:
        lowering.require(substitute(condition, symbols))
    inputs = [lowering.buffer(node.results[0]) for node in sources_of(nodes)]
    p = build_pipeline(inputs, targets, require=tuple(lowering.required), name=name)
    return Lowered(p, tuple(each for each in told if isinstance(each, str)))


def _unlike_numpy_in_c(nodes: Sequence[Node], lowering: Lowering) -> frozenset[Node]:
    """The nodes that are arithmetic of which C gives other bits than NumPy; the funcs made to see it are for nothing
    else."""
    found = set()
    for node in filter(is_arithmetic_in_c, nodes):
        try:
            func = lowering.arithmetic(node, ())
            is_same = gives_bits("native-exact", func.formula)
        except GraphError:  # no arithmetic in the end
            is_same = False
        if not is_same:
            found.add(node)
    return frozenset(found)


def _require_shape(lowering: Lowering, result: Result) -> None:
    """An input whose extents are those of another input, or numbers, must be given such."""
    buffer = lowering.buffer(result)
    for d, extent in enumerate(result.shape):
        wanted = lowering.expr(extent)
        if wanted is not buffer.dim(d).max + 1:
            lowering.require(equal(buffer.dim(d).max + 1, wanted))
