"""Bounds inference: over which boxes do funcs run, and how large are intermediates?

Idea. Walk the funcs from the outputs back. When a func is met, all readers of its outputs have been met, so the
hull of what they read is what it has to produce, and that gives what it reads in turn. Outputs of the pipeline
keep the bounds that the user's arrays have.

A box may name the bounds of an intermediate that are not known yet (it is read whole, or its metadata stands in an
access). Such symbols stay in the expressions during the walk; `resolution` replaces them when all are known.

Invariant: the box of each buffer contains every region that a call of the program reads of it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence, Set
from typing import TypeVar

import attrs

from slinky.errors import GraphError
from slinky.graph.boundaries import held_integers
from slinky.graph.buffers import Access, BufferExpr
from slinky.graph.collecting import Graph, unique_names
from slinky.graph.copying import CopyFunc
from slinky.graph.depths import depths_of
from slinky.graph.domains import domains
from slinky.graph.emptiness import why_empty
from slinky.graph.extents import allowed_by_inputs, assigned_bounds, output_dims, with_values
from slinky.graph.funcs import Func
from slinky.graph.naming import DimensionNames
from slinky.graph.variants import DeclaredVariant
from slinky.ir.families import with_variants
from slinky.ir.operations import Reduction
from slinky.ir.regions import input_regions, parameter_box
from slinky.ir.statements import InputPort, LoweredFunc, OutputPort
from slinky.symbolic.clamps import without_cut_off
from slinky.symbolic.explanations import LONGEST, brief
from slinky.symbolic.expressions import (
    And,
    Condition,
    Constant,
    Expr,
    Metadata,
    Scalar,
    Truth,
    Variable,
    all_of,
    any_of,
    equal,
    metadata,
    variable,
)
from slinky.symbolic.intervals import Box, Interval, hull, in_multiples, substitute_interval
from slinky.symbolic.proofs import Facts, facts, prove
from slinky.symbolic.traversal import quotients, substitute, symbols

AnyPort = TypeVar("AnyPort", InputPort, OutputPort)


class Checks:
    """Conditions that a program checks when it runs, with their messages: `messages`. They are known to hold."""

    def __init__(self, messages: Mapping[Condition, str] | None = None) -> None:
        self.messages = dict(messages or {})
        self._known: Facts | None = None

    @property
    def known(self) -> Facts:
        """That they hold."""
        if self._known is None:  # funcs of many outputs require much before anybody asks
            self._known = facts(*self.messages)
        return self._known

    def require(self, condition: Condition, message: str) -> None:
        """Check a condition, too.

        Raises `GraphError` where it never holds.
        """
        if isinstance(condition, Truth):
            if not condition.value:
                raise GraphError(f"this can never hold: {message}")
            return
        for part in condition.operands if isinstance(condition, And) else (condition,):
            self.messages.setdefault(part, message)
        self._known = None


@attrs.frozen
class Inferred:
    """The boxes of all buffers; the lowered funcs and the boxes that they run over; what is read of what is given; what
    the symbols of domains stand for; the strides that are assigned to intermediates."""

    boxes: dict[BufferExpr, Box]
    funcs: dict[Func, LoweredFunc]
    boxes_of_funcs: dict[Func, Box]
    read: dict[tuple[BufferExpr, int], Interval]
    domains: dict[Expr, Expr]
    strides: dict[tuple[BufferExpr, int], Expr]


def infer(graph: Graph, checks: Checks) -> Inferred:
    """Infer bounds. What must hold for them to be right becomes checks.

    Raises `GraphError` where nothing determines a bound, or a check could never hold.
    """
    walk = _Walk(graph, checks)
    for func in reversed(graph.funcs):
        walk.meet(func)
    strides = {
        (buffer, d): e
        for buffer in walk.boxes.keys() - walk.parameters
        for (d, field), e in buffer.assigned.items()
        if field == "stride"
    }
    return Inferred(walk.boxes, walk.lowered, walk.boxes_of_funcs, walk.read, walk.domains, strides)


class _Walk:
    """What is known after some of the funcs, the last ones of the graph."""

    def __init__(self, graph: Graph, checks: Checks) -> None:
        self.graph = graph
        self.checks = checks
        self.names = unique_names(graph.funcs)
        self.dimension_names = DimensionNames(graph.funcs)
        self.parameters = {*graph.inputs, *graph.outputs}
        self.domains = domains(graph)
        self.boxes: dict[BufferExpr, Box] = {b: parameter_box(b.name, b.rank) for b in self.parameters}
        for buffer in graph.constants:
            ends = [(buffer.assigned[(d, "min")], buffer.assigned[(d, "max")]) for d in range(buffer.rank)]
            self.boxes[buffer] = tuple(Interval(lo, hi) for lo, hi in ends)
        self.needed: dict[BufferExpr, list[Interval | None]] = {}
        self.read: dict[tuple[BufferExpr, int], Interval] = {}
        self.widest: dict[BufferExpr, int] = {}
        self.lowered: dict[Func, LoweredFunc] = {}
        self.boxes_of_funcs: dict[Func, Box] = {}

    # What funcs produce -------------------------------------------------------------------------------------------

    def meet(self, func: Func) -> None:
        """Find the box that a func must produce, whose readers are all known, and note what it reads."""
        box = self._shared_box(func)
        self._check_not_skipped(func, box)
        self._check_given(func, box)
        for access in func.outputs:
            if access.buffer not in self.parameters:
                self.boxes[access.buffer] = tuple(box[dim] for dim in output_dims(access))
        own_dims = tuple(variable(f"{self.names[func]}.{name}") for name in self._names_of_dims(func))
        renamed: dict[Expr, Expr] = {**self.domains, **dict(zip(func.dims, own_dims, strict=True))}
        position = {dim: n for n, dim in enumerate(func.dims)}
        lowered = LoweredFunc(
            self.names[func],
            func.lowered_operation().substituted(self.domains),
            own_dims,
            tuple(
                self._input_port(func, access, renamed, _reduced(func.reduction, n))
                for n, access in enumerate(self._inputs(func, box))
            ),
            tuple(OutputPort(tuple(position[dim] for dim in output_dims(a)), a.buffer.dtype) for a in func.outputs),
            tuple((position[dim], box[dim]) for dim in func.whole),
            self._known_of_divisors(func),
            tuple((position[dim], n) for dim, n in self._multiples(func).items()),
            reduction=func.reduction,
        )
        lowered = with_variants(lowered, {v.name: self._variant(func, v, lowered, renamed) for v in func.variants})
        self.lowered[func] = lowered
        self.boxes_of_funcs[func] = tuple(box[dim] for dim in func.dims)
        for access, region in zip(func.inputs, input_regions(lowered, self.boxes_of_funcs[func]), strict=True):
            self._note_read(access, region)

    def _variant(
        self, func: Func, variant: DeclaredVariant, lowered: LoweredFunc, renamed: dict[Expr, Expr]
    ) -> LoweredFunc:
        """A variant of a func: what it runs, what that reads, and in which dtypes and orders."""
        inputs = tuple(
            _taken_by(variant, self._input_port(func, access, renamed, _reduced(variant.reduction, n)), access.buffer)
            for n, access in enumerate(variant.inputs)
        )
        outputs = tuple(
            _taken_by(variant, port, access.buffer) for port, access in zip(lowered.outputs, func.outputs, strict=True)
        )
        operation = variant.operation.substituted(self.domains)
        return attrs.evolve(lowered, operation=operation, inputs=inputs, outputs=outputs, reduction=variant.reduction)

    def _shared_box(self, func: Func) -> dict[Variable, Interval]:
        """One interval per dimension of a func, for all its outputs. Bounds of the pipeline's outputs are given."""
        box: dict[Variable, Interval] = {}
        given: set[Variable] = set()
        for access in sorted(func.outputs, key=lambda a: a.buffer not in self.parameters):
            is_given = access.buffer in self.parameters
            asked = self.boxes[access.buffer] if is_given else self._asked_box(func, access, given)
            for dim, own in zip(output_dims(access), asked, strict=True):
                if own is None:
                    continue
                shared = box.setdefault(dim, own)
                if is_given:
                    given.add(dim)
                if shared == own:
                    continue
                what = f"func {self.names[func]} produces {access.buffer.name} together with another output"
                if is_given:
                    same = f"{what}; along {dim} both must have the same bounds"
                    self.checks.require(equal(shared.min, own.min), same)
                    self.checks.require(equal(shared.max, own.max), same)
                elif dim in given:
                    self.checks.require(
                        shared.min <= own.min, f"{what}, whose {dim} must start at or before {self._text(own.min)}"
                    )
                    self.checks.require(
                        own.max <= shared.max, f"{what}, whose {dim} must end at or after {self._text(own.max)}"
                    )
                else:
                    box[dim] = hull(shared, own)
        for access in func.outputs:
            for d, dim in enumerate(output_dims(access)):
                if dim not in box:
                    box[dim] = self._allowed_by_inputs(func, access, d)
        return self._in_multiples(func, box, given)

    def _in_multiples(
        self, func: Func, box: Mapping[Variable, Interval], given: Set[Variable]
    ) -> dict[Variable, Interval]:
        """What a func produces, in whole pieces; outputs of the pipeline must be given such."""
        found = dict(box)
        for dim, n in self._multiples(func).items():
            if dim not in given:
                found[dim] = in_multiples(box[dim], n)
                continue
            what = f"func {self.names[func]} produces {dim} in whole pieces of {n}"
            self.checks.require(equal(box[dim].min % n, 0), what)
            self.checks.require(equal((box[dim].max + 1) % n, 0), what)
        return found

    @staticmethod
    def _multiples(func: Func) -> dict[Variable, int]:
        """The dimensions that a func computes in whole pieces, and how long these are."""
        found: dict[Variable, int] = {}
        for access in func.outputs:
            for d, dim in enumerate(output_dims(access)):
                n = access.buffer.multiples.get(d, 1)
                if n > 1:
                    found[dim] = math.lcm(found.get(dim, 1), n)
        return found

    def _check_not_skipped(self, func: Func, box: Mapping[Variable, Interval]) -> None:
        """An output without some of the func's dimensions must be written, though a call of an empty box is skipped."""
        for access in func.outputs:
            own = output_dims(access)
            nothing_to_write = [box[dim].max < box[dim].min for dim in own]
            for dim in func.dims:
                if dim not in own:
                    what = f"func {self.names[func]} writes {access.buffer.name} for all {dim}, which must not be empty"
                    self.checks.require(any_of(box[dim].min <= box[dim].max, *nothing_to_write), what)

    def _check_given(self, func: Func, box: Mapping[Variable, Interval]) -> None:
        """What a copy reads beyond the edges of a source with a boundary rule there must be; where nothing fills it,
        all that is asked for must be given by some source; and the target must hold what fills it."""
        if not isinstance(func, CopyFunc):
            return
        for source in func.sources:
            for edges, boundary in zip(source.edges, source.boundaries, strict=True):
                if edges is not None and boundary is not None:
                    name = source.access.buffer.name
                    what = f"{name} is extended by the rule {boundary.value!r}, so it must have elements"
                    own = substitute_interval(edges, self.domains)
                    self.checks.require(any_of(own.min <= own.max, self._nothing_asked), what)
        (target,) = func.outputs
        held = held_integers(target.buffer.dtype)
        if isinstance(func.fill, Scalar) and held is not None:
            what = f"{func.fill} fills {target.buffer.name}, which is {target.buffer.dtype}"
            self.checks.require(held.min <= func.fill, what)
            self.checks.require(func.fill <= held.max, what)
        asked = [box[dim] for dim in output_dims(target)]
        for condition, what in func.requires.items():
            self.checks.require(any_of(substitute(condition, self.domains), *(i.max < i.min for i in asked)), what)
        for d, limit in func.given.items():
            i, own = asked[d], substitute_interval(limit, self.domains)
            what = f"{target.buffer.name} is copied together, along dimension {d}, from {self._text(own.min)} to "
            what += f"{self._text(own.max)} only"
            self.checks.require(own.min <= i.min, what)
            self.checks.require(i.max <= own.max, what)

    @functools.cached_property
    def _nothing_asked(self) -> Condition:
        """That no output of the pipeline has elements."""
        boxes = (self.boxes[buffer] for buffer in self.graph.outputs)
        return all_of(*(any_of(*(i.max < i.min for i in box)) for box in boxes))

    def _names_of_dims(self, func: Func) -> Sequence[str]:
        """What the dimensions of a func are called: those of what extends a buffer, as that is read."""
        buffer = func.outputs[0].buffer
        if not buffer.extended_dims:
            return [dim.name for dim in func.dims]
        names = self.dimension_names.of(buffer)
        return [dim.name if name.isdigit() else name for dim, name in zip(func.dims, names, strict=True)]

    def _asked_box(self, func: Func, access: Access, given: Set[Variable]) -> list[Interval | None]:
        """What the readers of an intermediate need of it, or what was assigned to its dimensions instead.

        A dimension that the func computes whole is all that its inputs allow, for a part of it would have other values;
        unless it is among those `given` by an output of the pipeline. None where nothing is asked for: all readers, if
        any, take the dimension whole.
        """
        buffer = access.buffer
        box: list[Interval | None] = []
        needs = self.needed.get(buffer, [None] * buffer.rank)
        for d, (dim, needed) in enumerate(zip(output_dims(access), needs, strict=True)):
            is_whole = dim in func.whole and dim not in given
            assigned = {field: e for (dim, field), e in buffer.assigned.items() if dim == d and field != "stride"}
            if assigned or is_whole:
                default = needed
                if (needed is None or is_whole) and assigned_bounds(buffer, d) is None:
                    default = self._allowed_by_inputs(func, access, d)
                needed = self._with_assignments(buffer, d, assigned, default, needed)
            box.append(needed)
        return box

    def _with_assignments(
        self,
        buffer: BufferExpr,
        d: int,
        assigned: Mapping[str, Expr],
        default: Interval | None,
        needed: Interval | None,
    ) -> Interval:
        """The bounds assigned to a dimension. `default` stands for what is not assigned; `needed` must be inside."""
        own: dict[Expr, Expr] = {}
        if default is not None:
            own = {metadata(buffer.name, d, "min"): default.min, metadata(buffer.name, d, "max"): default.max}
        values = {field: substitute(e, own) for field, e in assigned.items()}
        bounds = with_values(values, default)
        if len(values) == 3:
            agree = f"min, max and extent of dimension {d} of {buffer.name} must agree"
            self.checks.require(equal(values["extent"], bounds.extent), agree)
        if needed is not None:
            how = "assigned" if assigned else "computed whole, over"
            what = f"dimension {d} of {buffer.name} is {how} {bounds}, which must contain {needed}"
            for condition in (bounds.min <= needed.min, needed.max <= bounds.max):
                if not prove(condition, self.checks.known):
                    self.checks.require(condition, what)
        return bounds

    def _allowed_by_inputs(self, func: Func, access: Access, d: int) -> Interval:
        """The bounds of a dimension that nobody asks for: its own domain, which what is stacked has, or as far as the
        inputs of the pipeline allow."""
        dim = output_dims(access)[d]
        allowed = self._own_domain(access.buffer, d) or allowed_by_inputs(func, dim, self._available)
        if allowed is None:
            name = access.buffer.name
            why = "its producer computes it whole" if dim in func.whole else "its readers take it whole (:)"
            raise GraphError(
                f"nothing determines dimension {d} of {name!r}: {why}, and no input of its "
                f"producer {self.names[func]!r} bounds it; assign {name}.dim({d}).min and .max"
            )
        return allowed

    @functools.cached_property
    def _available(self) -> dict[tuple[BufferExpr, int], Interval]:
        """The bounds of each dimension as far as they follow from the parameters alone, without what readers need."""
        available = {(b, d): i for b, box in self.boxes.items() if self._is_global(b) for d, i in enumerate(box)}
        for func in self.graph.funcs:
            given: dict[Variable, Interval] = {}
            for access in func.outputs:
                if access.buffer in self.parameters:
                    given.update(zip(output_dims(access), self.boxes[access.buffer], strict=True))
            for access in func.outputs:
                buffer = access.buffer
                if buffer not in self.parameters:
                    for d, dim in enumerate(output_dims(access)):
                        limit = assigned_bounds(buffer, d) or given.get(dim) or self._own_domain(buffer, d)
                        limit = limit or allowed_by_inputs(func, dim, available)
                        if limit is not None:
                            available[(buffer, d)] = limit
        return available

    def _own_domain(self, buffer: BufferExpr, d: int) -> Interval | None:
        """The domain that was assigned to a dimension."""
        own = buffer.domains.get(d)
        return None if own is None else substitute_interval(own, self.domains)

    def _is_global(self, buffer: BufferExpr) -> bool:
        """Whether the bounds of a buffer are known before the walk: of parameters and constants."""
        return buffer in self.parameters or buffer.value is not None

    # What funcs read ----------------------------------------------------------------------------------------------

    def _bounds(self, buffer: BufferExpr, d: int) -> Interval:
        """The bounds of a dimension; for an intermediate, symbols that `_resolve` replaces."""
        if self._is_global(buffer):
            return self.boxes[buffer][d]
        return Interval(metadata(buffer.name, d, "min"), metadata(buffer.name, d, "max"))

    def _inputs(self, func: Func, box: Mapping[Variable, Interval]) -> Sequence[Access]:
        """What a func reads; of a mirrored source no more than it takes to go as far beyond its edges as readers do."""
        if not isinstance(func, CopyFunc):
            return func.inputs
        widest = self.widest.get(func.outputs[0].buffer, 1)
        return func.inputs_within(depths_of(func, box, self.domains, self.checks.known, widest))

    def _input_port(self, func: Func, access: Access, renamed: dict[Expr, Expr], reduced: Set[int]) -> InputPort:
        box: list[Interval] = []
        for d, i in enumerate(access.box):
            if i is None:
                box.append(self._bounds(access.buffer, d))
                continue
            box.append(Interval(substitute(i.min, renamed), substitute(i.max, renamed)))
            if not func.may_read_nothing and not prove(i.min <= i.max, self._where_it_gives(func, self._is_global)):
                self._check_not_inverted(func, access, i, d in reduced)
        return InputPort(tuple(box), access.buffer.dtype)

    def _known_of_divisors(self, func: Func) -> tuple[Condition, ...]:
        """What the pipeline requires of the scalars that accesses of a func divide its dimensions by. They must be
        positive: rounding down goes one way then, and regions are exact.

        Raises `GraphError` for a divisor that is not known to be.
        """
        found: dict[Expr, None] = {}
        accesses = (*func.inputs, *(access for variant in func.variants for access in variant.inputs))
        for access in accesses:
            for e in (e for i in access.box if i is not None for e in (i.min, i.max)):
                moving = [q for q in quotients(e) if not symbols(q).isdisjoint(func.dims)]
                for divisor in sorted({q.denominator for q in moving}, key=str):
                    if not prove(divisor >= 1, self.checks.known):
                        raise GraphError(f"func {self.names[func]!r}: {self._why_not_positive(access, divisor)}")
                    found.update(dict.fromkeys(symbols(divisor)))
        return tuple(c for c in self.checks.messages if symbols(c) and symbols(c) <= found.keys())

    def _why_not_positive(self, access: Access, divisor: Expr) -> str:
        """That an access divides by what is not known to be positive, and what to require, in few words."""
        name, text, by = access.buffer.name, str(access), str(divisor)
        where = text if len(text) <= LONGEST else f"{name}[...]"
        what = f"its input {where} divides by {brief(divisor)}, which is not known to be at least 1"
        extents = {metadata(s.buffer, s.dim, "extent"): s for s in symbols(divisor) if isinstance(s, Metadata)}
        positive = [extent >= 1 for extent in extents]
        if extents and prove(divisor >= 1, self.checks.known.also(*positive)):
            needed = ", ".join(sorted(f"{s.buffer}.dim({s.dim}).extent >= 1" for s in extents.values()))
        elif len(by) <= LONGEST:
            needed = f"{by} >= 1"
        else:
            return f"{what}; let the pipeline require that it is"
        return f"{what}; let the pipeline require it: build_pipeline(..., require=[{needed}])"

    def _where_it_gives(self, func: Func, is_one: Callable[[BufferExpr], bool]) -> Facts:
        """What is known where a func computes something: that it is within the bounds of those outputs, too."""
        inside = [
            condition
            for access in func.outputs
            if is_one(access.buffer)
            for d, dim in enumerate(output_dims(access))
            for i in (self._bounds(access.buffer, d),)
            for condition in (i.min <= dim, dim <= i.max)
        ]
        return self.checks.known.also(*inside)

    def _check_not_inverted(self, func: Func, access: Access, i: Interval, is_reduced: bool) -> None:
        width = i.max - i.min
        if any(isinstance(s, Variable) and not isinstance(s, Scalar) for s in symbols(width)):
            named = {s.buffer for s in symbols(i.min) | symbols(i.max) if isinstance(s, Metadata)}
            known = self._where_it_gives(func, lambda output: output.name in named)
            raise GraphError(
                f"func {self.names[func]!r}: the interval {i} of its input {access.buffer.name} {why_empty(i, known)}"
            )
        if all(isinstance(s, Scalar) for s in symbols(width)):
            what = f"the interval {i} of {access.buffer.name}, read by func {self.names[func]}, must"
            if is_reduced:  # it is declared what comes of no elements
                self.checks.require(width >= -1, f"{what} have an extent of 0 or more")
            else:
                self.checks.require(width >= 0, f"{what} not be empty")

    def _note_read(self, access: Access, region: Box) -> None:
        """Add a region to what is read of a buffer. What is read whole asks for nothing in particular."""
        buffer = access.buffer
        is_intermediate = not self._is_global(buffer)
        needed = self.needed.setdefault(buffer, [None] * buffer.rank)
        for d, (i, given) in enumerate(zip(region, access.box, strict=True)):
            if given is None:
                continue
            width = given.extent
            if isinstance(width, Constant):
                self.widest[buffer] = max(self.widest.get(buffer, 1), width.value)
            if is_intermediate:
                earlier = needed[d]
                needed[d] = self._tidied(i if earlier is None else hull(earlier, i))
            else:
                known = self.read.get((buffer, d))
                self.read[(buffer, d)] = self._tidied(i if known is None else hull(known, i))

    def _tidied(self, i: Interval) -> Interval:
        """An interval without clamps that other clamps around them make idle: chains of windows stay short so."""
        known = self.checks.known
        return Interval(without_cut_off(i.min, known), without_cut_off(i.max, known))

    def _text(self, expr: Expr) -> str:
        return self.dimension_names.text(expr, self.boxes)


def _reduced(reduction: Reduction | None, n: int) -> frozenset[int]:
    """The dimensions of an input of which a reduction says what comes of no elements."""
    over = () if reduction is None else reduction.over
    return frozenset(axis for _, axes in over if (axis := axes[n]) is not None)


def _taken_by(variant: DeclaredVariant, port: AnyPort, buffer: BufferExpr) -> AnyPort:
    """A port of a func as its variant takes the buffer."""
    return attrs.evolve(port, dtype=variant.dtype_of(buffer), order=variant.orders.get(buffer))
