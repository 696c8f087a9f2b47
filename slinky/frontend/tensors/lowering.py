"""From the graph of a tensor to an ordinary pipeline.

Idea. Inputs, reductions, views that are no mere renaming of places, and whatever is read in several ways, become
buffers, whose coordinates begin at 0; what lies between them becomes the terms of one func each (`slinky.arithmetic`).
Sizes become expressions of the extents of the inputs, by the equations of the graph; those that no input tells are
scalars of the pipeline; equations that say nothing new are checks.

Invariant: nothing of the sizes or arrays of now is in the pipeline: it runs for all for which its checks hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import attrs

from slinky import reductions
from slinky.build import build_pipeline
from slinky.errors import GraphError, TensorError
from slinky.frontend.tensors.dimensions import is_unnamed
from slinky.frontend.tensors.equations import Equation, Sizes, Unknown, said_before_fitting
from slinky.frontend.tensors.nodes import Elementwise, Input, Node, Reduced, Viewed, in_order
from slinky.frontend.tensors.views import multiples_of
from slinky.graph.boundaries import fill_value
from slinky.graph.buffers import Access, BufferExpr, scalar
from slinky.graph.copying import CopyFunc, Source
from slinky.graph.formulas import arithmetic
from slinky.pipeline import Pipeline
from slinky.symbolic.bounds import bounds
from slinky.symbolic.expressions import (
    FALSE,
    Condition,
    Expr,
    Truth,
    Variable,
    as_expr,
    constant_value,
    linear,
    maximum,
    metadata,
    product,
    variable,
)
from slinky.symbolic.expressions import Product as ProductOf
from slinky.symbolic.facts import facts
from slinky.symbolic.intervals import Interval, point
from slinky.symbolic.proofs import impossible, prove
from slinky.symbolic.traversal import substitute, symbols

LONGEST = 24
"""Terms of more steps are cut: parts of them can be computed where others cannot."""

Place = tuple[Expr, ...]


@attrs.frozen(eq=False)
class LoweredTensor:
    """The pipeline of a tensor, what its inputs are, which sizes its scalars are, and the funcs that nodes became."""

    pipeline: Pipeline
    inputs: tuple[Input, ...]
    scalars: Mapping[str, Unknown]
    funcs: Mapping[Node, str]


def lowered(root: Node) -> LoweredTensor:
    """The pipeline that computes a tensor. Inputs come in the order in which the tensor was computed from them.

    Raises `TensorError` where there is none.
    """
    try:
        return _Lowering(root).made()
    except GraphError as error:
        raise TensorError(f"{root.title} has no pipeline: {error}") from error


class _Lowering:
    """A graph on its way to a pipeline."""

    def __init__(self, root: Node) -> None:
        self.root, self.nodes = root, in_order(root)
        self.inputs = tuple(node for node in self.nodes if isinstance(node, Input))
        self.buffered = _buffered(self.nodes, root)
        self.names = _Names()
        self.buffers: dict[Node, BufferExpr] = {}
        self.funcs: dict[Node, str] = {}
        self._func_names = _Names()
        for node in self.nodes:
            if node in self.buffered:
                wanted = node.name or ("out" if node is root else self.names.next())
                self.buffers[node] = BufferExpr(self.names.unique(wanted), node.dtype, len(node.dims))
        self.sizes = _ByExtents(self.nodes, self.buffers)

    def made(self) -> LoweredTensor:
        """The pipeline."""
        for node in self.nodes:
            if isinstance(node, Input):
                self._bound_input(node)
        for node in self.nodes:
            if node in self.buffered and not isinstance(node, Input):
                self._lower(node)
        out = self.buffers[self.root]
        for d, unknown in enumerate(self.root.sizes):
            out.dim(d).bounds = Interval(0, self.sizes.of(unknown.symbol) - 1)
        required = dict.fromkeys(self.sizes.conditions)
        for node in self.nodes:
            if isinstance(node, Viewed):
                required.update(dict.fromkeys(self._within(node)))
        pipeline = build_pipeline(
            [self.buffers[node] for node in self.inputs],
            [out],
            require=[each for each in required if not (isinstance(each, Truth) and each.value)],
            name=self.root.name,
        )
        return LoweredTensor(pipeline, self.inputs, self.sizes.scalars, self.funcs)

    def _bound_input(self, node: Node) -> None:
        buffer = self.buffers[node]
        for d in range(buffer.rank):
            buffer.dim(d).min = 0

    def _lower(self, node: Node) -> None:
        buffer = self.buffers[node]
        if node is not self.root:
            for d, unknown in enumerate(node.sizes):
                buffer.dim(d).domain = Interval(0, self.sizes.of(unknown.symbol) - 1)
        dims = self.dims(node)
        target = Access(buffer, tuple(map(point, dims)))
        self.funcs[node] = name = self._func_names.unique(node.operation)
        match node:
            case Elementwise():
                arithmetic(self._term(node, dims), target, name)
            case Reduced():
                self._reduce(node, target, name)
            case Viewed():
                self._copy(node, dims, target, name)
            case _:
                raise AssertionError(f"{node} is lowered to nothing")

    @staticmethod
    def dims(node: Node) -> tuple[Variable, ...]:
        """The variables of a func that computes a node."""
        return tuple(variable(f"d{d}") if is_unnamed(dim) else dim for d, dim in enumerate(node.dims))

    # Terms ------------------------------------------------------------------------------------------------------------

    def _term(self, root: Node, place: Place) -> Any:
        """The term of an element of a node that is computed."""
        top = (root, place)
        found: dict[tuple[Node, Place], Any] = {}
        waiting = [top]
        while waiting:
            key = waiting[-1]
            node, at = key
            parts = () if node in self.buffered and key != top else self._parts(node, at)
            missing = [part for part in parts if part not in found]
            if missing:
                waiting += reversed(missing)
                continue
            waiting.pop()
            if key in found:
                continue
            terms = [found[part] for part in parts]
            match node:
                case _ if not parts:
                    found[key] = Access(self.buffers[node], tuple(map(point, at)))
                case Elementwise():
                    found[key] = node.term_of(terms)
                case _:
                    found[key] = terms[0]
        return found[top]

    def _parts(self, node: Node, place: Place) -> tuple[tuple[Node, Place], ...]:
        """The elements of which one is computed."""
        if isinstance(node, Viewed):
            return ((node.operands[0], self._places(node, place)),)
        at = dict(zip(node.dims, place, strict=True))
        return tuple((operand, tuple(at[dim] for dim in operand.dims)) for operand in node.operands)

    def _places(self, view: Viewed, place: Place) -> Place:
        """Where the elements of a view are in its source."""
        at: dict[Expr, Expr] = dict(zip(view.dims, place, strict=True))
        return tuple(substitute(self.sizes.of(index), at) for index in view.index)

    def _access(self, node: Node, place: Place) -> tuple[BufferExpr, Place]:
        """The element of a buffer that is an element of a node."""
        while isinstance(node, Viewed) and node not in self.buffered:
            place = self._places(node, place)
            node = node.operands[0]
        return self.buffers[node], place

    # Reductions and copies --------------------------------------------------------------------------------------------

    def _reduce(self, node: Reduced, target: Access, name: str) -> None:
        (source,) = node.operands
        dims: list[Variable] = list(self.dims(source))
        buffer, _ = self._access(source, tuple(dims))
        kept = iter(i for i in target.box if i is not None)
        box: list[Interval] = []
        over: list[str] = []
        for dim, variable_of, unknown in zip(source.dims, dims, source.sizes, strict=True):
            if dim in node.over:
                box.append(Interval(0, self.sizes.of(unknown.symbol) - 1))
                over.append(variable_of.name)
            else:
                box.append(next(kept))
        access = Access(buffer, tuple(box))
        options: dict[str, Any] = {"name": name, "over": over}
        match node.kind:
            case "reduce":
                assert node.ufunc is not None
                reductions.reduce(node.ufunc, access, target, reassociate=node.reassociate, **options)
            case "mean":
                reductions.mean(access, target, reassociate=node.reassociate, **options)
            case "argmax":
                reductions.argmax(access, target, **options)
            case "argmin":
                reductions.argmin(access, target, **options)
            case _:
                assert_never(node.kind)

    def _copy(self, node: Viewed, dims: Place, target: Access, name: str) -> None:
        rank = len(node.operands[0].dims)
        buffer, place = self._access(node.operands[0], self._places(node, dims))
        edges: list[Interval | None] = [None] * len(place)
        if node.outside is not None:
            for d in range(rank):
                if not _is_kept(node, d):
                    edges[d] = Interval(0, self.sizes.of(node.operands[0].sizes[d].symbol) - 1)
        else:
            edges = self._edges_of_remainders(node)
        sources = [Source(Access(buffer, tuple(map(point, place))), tuple(edges), (None,) * len(place))]
        fill = None
        if isinstance(node.outside, Node):
            other, at = self._access(node.outside, dims)
            sources.append(Source(Access(other, tuple(map(point, at))), (None,) * len(at), (None,) * len(at)))
        elif node.outside is not None:
            fill = fill_value(node.outside, node.dtype, node.title)
        CopyFunc(sources, target, name, named=True, fill=fill)

    def _edges_of_remainders(self, node: Viewed) -> list[Interval | None]:
        """The edges, in the buffer that a view reads, of dimensions in which it reads within their sizes, but the first
        element where these are 0: with edges it reads none there, and `_within` sees to it that none is asked for."""
        source = node.operands[0]
        whole, ranges = self._ranges(source), self._ranges(node)
        known = facts(*(self.sizes.of(unknown.symbol) >= 0 for unknown in (*node.sizes, *source.sizes)))
        remainders: set[Expr] = set()
        for dim, index in zip(source.dims, node.index, strict=True):
            reached = bounds(self.sizes.of(index), ranges)
            fits = (reached.min >= 0, reached.max <= maximum(whole[dim].max, 0))
            if all(prove(each, known) for each in fits) and not prove(reached.max <= whole[dim].max, known):
                remainders.add(dim)
        edges: list[Interval | None] = []
        for place in self._access(source, source.dims)[1]:
            moving = symbols(place).intersection(source.dims)
            edges.append(bounds(place, whole) if moving and moving <= remainders else None)
        return edges

    def _ranges(self, node: Node) -> dict[Expr, Interval]:
        """Where the dimensions of a node are."""
        sizes = [self.sizes.of(unknown.symbol) for unknown in node.sizes]
        return {dim: Interval(0, size - 1) for dim, size in zip(node.dims, sizes, strict=True)}

    def _within(self, node: Viewed) -> list[Condition]:
        """What must hold so that a view reads what its source has."""
        found = []
        known = facts(*(self.sizes.of(unknown.symbol) >= 0 for unknown in (*node.sizes, *node.operands[0].sizes)))
        ranges = self._ranges(node)
        for place, length in node.within:
            reached = bounds(self.sizes.of(place), ranges)
            needed = [reached.min >= 0, reached.max <= self.sizes.of(length) - 1]
            if any(impossible(known.also(condition)) for condition in needed):
                at, size = (substitute(e, _names_of_sizes(node)) for e in (place, length))
                raise TensorError(f"{node.title} reads at {at}, which is beyond the size, {size}: say outside=")
            found += needed
        return found


def read_beyond(nodes: Sequence[Node], sizes: Sizes) -> str | None:
    """Which view reads beyond its source where all sizes are known, in words; None if none is seen to."""
    for node in nodes:
        if not isinstance(node, Viewed):
            continue
        unknowns = (*node.sizes, *node.operands[0].sizes)
        known: dict[Expr, Expr] = dict(zip([u.symbol for u in unknowns], map(as_expr, sizes.of(unknowns)), strict=True))
        ranges: dict[Expr, Interval] = {
            dim: Interval(0, known[unknown.symbol] - 1) for dim, unknown in zip(node.dims, node.sizes, strict=True)
        }
        for place, length in node.within:
            reached, end = bounds(substitute(place, known), ranges), substitute(length, known)
            if FALSE in (reached.min >= 0, reached.max < end):
                at, size = (substitute(e, _names_of_sizes(node)) for e in (place, length))
                which = "" if at is reached.min else f", from {reached.min} to {reached.max}"
                return f"{node.title} reads at {at}{which}, which is beyond the size, {size} == {end}: say outside="
    return None


def _names_of_sizes(node: Node) -> dict[Expr, Expr]:
    """What messages call the sizes of a view and of its source."""
    return {unknown.symbol: variable(unknown.of) for unknown in (*node.sizes, *node.operands[0].sizes)}


def _is_kept(view: Viewed, d: int) -> bool:
    """Whether a view has a dimension of its source as it is."""
    place = view.index[d]
    return place in view.dims and view.size_of(place) is view.operands[0].sizes[d]


# ----------------------------------------------------------------------------------------------------------------------
# Buffers
# ----------------------------------------------------------------------------------------------------------------------


def is_plain(node: Node) -> bool:
    """Whether a node is a view that moves with one dimension along each of its source, each with another."""
    if not isinstance(node, Viewed) or node.outside is not None:
        return False
    moving: list[Variable] = []
    for place in node.index:
        multiples, _ = multiples_of(place, node.dims)
        if multiples is None or len(multiples) > 1 or any(constant_value(by) is None for by in multiples.values()):
            return False
        moving += multiples
    return len(set(moving)) == len(moving)


def _buffered(nodes: Sequence[Node], root: Node) -> set[Node]:
    """The nodes that get buffers: the others are parts of terms."""
    found = {root, *(node for node in nodes if not isinstance(node, Elementwise) and not is_plain(node))}
    found.update(_read_elsewhere(nodes))

    def bottom(node: Node) -> Node:
        while node not in found and isinstance(node, Viewed):
            node = node.operands[0]
        return node

    def without_names(node: Node) -> Node:
        while node not in found and isinstance(node, Viewed) and node.is_renaming:
            node = node.operands[0]
        return node

    for node in reversed(nodes):
        if isinstance(node, Reduced) or (isinstance(node, Viewed) and node in found and node.outside is not None):
            found.add(without_names(node.operands[0]))
    for node in nodes:
        if isinstance(node, Viewed) and node in found:
            found.update(map(bottom, node.operands))
    readers: dict[Node, set[tuple[Node, Node]]] = {}
    for node in nodes:
        if isinstance(node, Elementwise):
            for operand in node.operands:
                readers.setdefault(bottom(operand), set()).add((node, operand))
    found.update(node for node, read in readers.items() if len(read) > 1)
    steps: dict[Node, int] = {}
    for node in nodes:
        if isinstance(node, Elementwise):
            own = {bottom(operand) for operand in node.operands}
            steps[node] = 1 + sum(steps.get(each, 0) for each in own if each not in found)
            if steps[node] >= LONGEST:
                found.add(node)
    return found


def _read_elsewhere(nodes: Sequence[Node]) -> set[Node]:
    """Nodes with coordinates that are read through views: these say of terms where they are, not of coordinates."""
    below: set[Node] = set()
    for node in reversed(nodes):
        if isinstance(node, Viewed) or (isinstance(node, Elementwise) and node in below and not node.coordinates):
            below.update(node.operands)
    return {node for node in below if isinstance(node, Elementwise) and node.coordinates}


class _Names:
    """Names that are not taken."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._count = 0

    def unique(self, wanted: str) -> str:
        """This name, or one like it."""
        name, count = wanted, 1
        while name in self._taken:
            name, count = f"{wanted}_{count}", count + 1
        self._taken.add(name)
        return name

    def next(self) -> str:
        """A name for what has none."""
        self._count += 1
        return f"t{self._count - 1}"


# ----------------------------------------------------------------------------------------------------------------------
# Sizes
# ----------------------------------------------------------------------------------------------------------------------


class _ByExtents:
    """The sizes of a graph by the extents of its inputs: `scalars` are those that these do not tell."""

    def __init__(self, nodes: Sequence[Node], buffers: Mapping[Node, BufferExpr]) -> None:
        self.scalars: dict[str, Unknown] = {}
        self.conditions: list[Condition] = []
        self._found: dict[Expr, Expr] = {}
        for node in nodes:
            if isinstance(node, Input):
                for d, unknown in enumerate(node.sizes):
                    self._found[unknown.symbol] = metadata(buffers[node].name, d, "max") + 1
        self._open = [equation for node in nodes for equation in node.equations]
        self._solve()
        for node in nodes:
            for dim, unknown in zip(node.dims, node.sizes, strict=True):
                if unknown.symbol not in self._found:
                    self._found[unknown.symbol] = self._scalar(dim, unknown)
                    self._solve()

    def of(self, expr: Expr) -> Expr:
        """An expression of unknowns by the extents of inputs."""
        return substitute(expr, self._found)

    def _scalar(self, dim: Variable, unknown: Unknown) -> Expr:
        name = wanted = "size" if is_unnamed(dim) else f"size_{dim}"
        while name in self.scalars:
            name = f"{wanted}_{len(self.scalars)}"
        self.scalars[name] = unknown
        return scalar(name)

    def _solve(self) -> None:
        while said_before_fitting(self._open, self._says_one):
            pass

    def _says_one(self, equation: Equation) -> bool:
        """Whether an equation tells a size; what it requires is kept if it tells one, and if there is none to tell."""
        missing = [u.symbol for u in equation.unknowns if u.symbol not in self._found]
        if len(missing) > 1 or (missing and not self._solve_for(missing[0], equation)):
            return False
        self._open.remove(equation)
        self.conditions += equation.conditions(self._found)
        return bool(missing)

    def _solve_for(self, symbol: Expr, equation: Equation) -> bool:
        """Whether an equation tells a size: where it is a multiple of one, that it is that is checked with the rest."""
        rest = equation.zero(self._found)
        if rest is None:
            return False
        multiple: Expr = as_expr(0)
        others: Expr = as_expr(linear(rest)[0])
        for atom, factor in linear(rest)[1]:
            if symbol not in symbols(atom):
                others = others + factor * atom
            elif atom is symbol:
                multiple = multiple + factor
            elif isinstance(atom, ProductOf) and list(atom.factors).count(symbol) == 1:
                by = [each for each in atom.factors if each is not symbol]
                multiple = multiple + factor * (by[0] if len(by) == 1 else product(tuple(by)))
            else:
                return False
        if symbol in symbols(multiple):
            return False
        number = constant_value(multiple)
        if number is None:
            self._found[symbol] = -others // maximum(multiple, 1)
        elif number in (1, -1):
            self._found[symbol] = -number * others
        elif number:
            self._found[symbol] = -others // number
        else:
            return False
        return True
