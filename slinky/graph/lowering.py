"""From a graph to a program: which funcs, in which order, over which boxes.

Idea. Walk the funcs from the outputs back. When a func is met, all readers of its outputs have been met, so the
hull of what they read is what it has to produce, and that gives what it reads in turn. Outputs of the pipeline
keep the bounds that the user's arrays have. What is read of an input, at most, becomes checks.

A box may name the bounds of an intermediate that are not known yet (it is read whole, or its metadata stands in an
access). Such symbols stay in the expressions during the walk and are replaced at the end, when all are known.

Invariant: the box of each buffer contains every region that a call of the program reads of it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from slinky.errors import GraphError
from slinky.graph.buffers import Access, BufferExpr, constraints, loop_variables, valid_name
from slinky.graph.funcs import Func
from slinky.ir.regions import input_regions, parameter_box
from slinky.ir.statements import (
    Alloc,
    BufferParameter,
    Call,
    Check,
    ConstantBuffer,
    InputAccess,
    LoweredFunc,
    OutputAccess,
    Program,
    ScalarParameter,
    Statement,
)
from slinky.symbolic.expressions import (
    And,
    Condition,
    Expr,
    Metadata,
    Scalar,
    Truth,
    Variable,
    any_of,
    constant_value,
    equal,
    linear,
    linear_sum,
    maximum,
    metadata,
    minimum,
    variable,
)
from slinky.symbolic.intervals import Box, Interval, box_symbols, hull, substitute_box
from slinky.symbolic.proofs import facts, prove
from slinky.symbolic.text import positional, to_text
from slinky.symbolic.traversal import substitute, symbols, union_of_symbols


def lower(
    inputs: Sequence[BufferExpr],
    outputs: Sequence[BufferExpr],
    require: Iterable[Condition],
    name: str | None,
) -> Program:
    """The program that computes each func once, in full, in an order that respects what they read.

    Raises `GraphError` for a graph that is no pipeline.
    """
    graph = _collect(inputs, outputs)
    if not isinstance(require, Iterable):
        raise GraphError(f"require must be a list of conditions, such as [r >= 0], got {require} alone")
    return _Lowering(graph, tuple(require)).program(name)


# ----------------------------------------------------------------------------------------------------------------
# The graph as a whole
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Graph:
    """The buffers and funcs that a pipeline consists of; funcs in dependency order."""

    inputs: tuple[BufferExpr, ...]
    outputs: tuple[BufferExpr, ...]
    constants: tuple[BufferExpr, ...]
    funcs: tuple[Func, ...]


def _collect(inputs: Sequence[BufferExpr], outputs: Sequence[BufferExpr]) -> _Graph:
    inputs, outputs = _buffers(inputs, "inputs"), _buffers(outputs, "outputs")
    if not outputs:
        raise GraphError("a pipeline needs at least one output")
    for buffer in inputs:
        if buffer.producer is not None:
            raise GraphError(
                f"buffer {buffer.name!r} is listed as an input, but func {buffer.producer.name!r} produces it"
            )
        if buffer.value is not None:
            raise GraphError(f"buffer {buffer.name!r} is a constant, so it must not be listed as an input")
    for buffer in outputs:
        if buffer.producer is None:
            raise GraphError(f"buffer {buffer.name!r} is listed as an output, but no func produces it")
    funcs = _in_dependency_order(outputs)
    constants: dict[BufferExpr, None] = {}
    used: set[BufferExpr] = set()
    for func in funcs:
        for access in func.inputs:
            buffer = access.buffer
            used.add(buffer)
            if buffer.value is not None:
                constants[buffer] = None
            elif buffer.producer is None and buffer not in inputs:
                raise GraphError(
                    f"func {func.name!r} reads {buffer.name!r}, which no func produces and which is not "
                    f"listed as an input"
                )
    for buffer in inputs:
        if buffer not in used:
            raise GraphError(
                f"buffer {buffer.name!r} is listed as an input, but no func that the outputs need reads it"
            )
    _check_names(funcs, [*used, *(access.buffer for func in funcs for access in func.outputs)])
    return _Graph(inputs, outputs, tuple(constants), funcs)


def _buffers(given: Sequence[BufferExpr], what: str) -> tuple[BufferExpr, ...]:
    """The inputs or outputs of a pipeline, each a buffer, none twice."""
    if isinstance(given, BufferExpr):
        raise GraphError(f"{what} of a pipeline must be a list, such as [{given.name}], got one buffer alone")
    if not isinstance(given, Iterable):
        raise GraphError(f"{what} of a pipeline must be a list of sl.BufferExpr, got {given!r}")
    buffers = tuple(given)
    for buffer in buffers:
        if not isinstance(buffer, BufferExpr):
            raise GraphError(f"{what} of a pipeline must be a list of sl.BufferExpr, got {buffer!r} in it")
    for buffer in buffers:
        if buffers.count(buffer) > 1:
            raise GraphError(f"buffer {buffer.name!r} stands twice among the {what}")
    return buffers


def _in_dependency_order(outputs: Sequence[BufferExpr]) -> tuple[Func, ...]:
    """Every func that the outputs need, producers first."""
    done: dict[Func, None] = {}
    stack = [buffer.producer for buffer in reversed(outputs)]
    while stack:
        func = stack[-1]
        if func is None or func in done:
            stack.pop()
            continue
        missing = [a.buffer.producer for a in func.inputs if a.buffer.producer and a.buffer.producer not in done]
        if missing:
            stack.extend(reversed(missing))
        else:
            done[func] = None
            stack.pop()
    return tuple(done)


def _check_names(funcs: Sequence[Func], buffers: Iterable[BufferExpr]) -> None:
    by_name: dict[str, BufferExpr] = {}
    for buffer in buffers:
        if by_name.setdefault(buffer.name, buffer) is not buffer:
            raise GraphError(f"two different buffers are called {buffer.name!r}; names must be unique in a pipeline")
    names: set[str] = set()
    for func in funcs:
        if func.named and func.name in names:
            raise GraphError(f"two funcs are called {func.name!r}; names must be unique in a pipeline")
        if func.named:
            names.add(func.name)


def _unique_names(funcs: Sequence[Func]) -> dict[Func, str]:
    """Given names stay; of default names, the second and further of the same get a number."""
    taken = {func.name for func in funcs if func.named}
    names: dict[Func, str] = {}
    for func in funcs:
        name, count = func.name, 1
        while not func.named and name in taken:
            name, count = f"{func.name}_{count}", count + 1
        taken.add(name)
        names[func] = name
    return names


# ----------------------------------------------------------------------------------------------------------------
# Bounds inference
# ----------------------------------------------------------------------------------------------------------------


class _Lowering:
    """Boxes of buffers, found from the outputs back, and the statements that follow from them."""

    def __init__(self, graph: _Graph, require: tuple[Condition, ...]) -> None:
        self.graph = graph
        self.require = require
        self.names = _unique_names(graph.funcs)
        self.parameters = {*graph.inputs, *graph.outputs}
        self.boxes: dict[BufferExpr, Box] = {b: parameter_box(b.name, b.rank) for b in self.parameters}
        for buffer in graph.constants:
            ends = [(buffer.assigned[(d, "min")], buffer.assigned[(d, "max")]) for d in range(buffer.rank)]
            self.boxes[buffer] = tuple(Interval(lo, hi) for lo, hi in ends)
        self.needed: dict[BufferExpr, list[Interval | None]] = {}
        self.read: dict[tuple[BufferExpr, int], Interval] = {}
        self.lowered: dict[Func, LoweredFunc] = {}
        self.boxes_of_funcs: dict[Func, Box] = {}
        self.checks: dict[Condition, str] = {}
        self.known = facts()

    def program(self, name: str | None) -> Program:
        for condition in self.require:
            if not isinstance(condition, Condition):
                raise GraphError(f"require must be a list of conditions, such as r >= 0, got {condition!r}")
            named = loop_variables(condition)
            if named:
                raise GraphError(f"{condition} is required before anything runs: variable {named[0]} has no value then")
            self._check(condition, f"{condition} is required of the pipeline")
        for buffer in (*self.graph.inputs, *self.graph.outputs):
            for condition in constraints(buffer):
                self._check(condition, f"assigned to a dimension of {buffer.name}")
        for func in reversed(self.graph.funcs):
            self._infer(func)
        self._resolve()
        self._check_reads()
        body: list[Statement] = [Check(condition, message) for condition, message in self.checks.items()]
        for func in self.graph.funcs:
            for access in func.outputs:
                buffer = access.buffer
                if buffer not in self.parameters:
                    folds = (None,) * buffer.rank
                    body.append(Alloc(buffer.name, buffer.dtype, self._dim_names(buffer), self.boxes[buffer], folds))
            body.append(Call(self.lowered[func], self.boxes_of_funcs[func]))
        first = self.graph.outputs[0].producer
        assert first is not None
        scalars = self._scalars()
        return Program(
            self.names[first] if name is None else valid_name(name, "a pipeline"),
            tuple(BufferParameter(b.name, b.dtype, self._dim_names(b)) for b in self.graph.inputs),
            tuple(BufferParameter(b.name, b.dtype, self._dim_names(b)) for b in self.graph.outputs),
            scalars,
            tuple(self._constant(b) for b in self.graph.constants),
            tuple(body),
        )

    def _check(self, condition: Condition, message: str) -> None:
        if isinstance(condition, Truth):
            if not condition.value:
                raise GraphError(f"this can never hold: {message}")
            return
        for part in condition.operands if isinstance(condition, And) else (condition,):
            self.checks.setdefault(part, message)
        self.known = facts(*self.checks)

    # What funcs produce -------------------------------------------------------------------------------------------

    def _infer(self, func: Func) -> None:
        """Find the box that a func must produce, whose readers are all known, and note what it reads."""
        box = self._shared_box(func)
        self._check_not_skipped(func, box)
        for access in func.outputs:
            if access.buffer not in self.parameters:
                self.boxes[access.buffer] = tuple(box[dim] for dim in _output_dims(access))
        own_dims = tuple(variable(f"{self.names[func]}.{dim.name}") for dim in func.dims)
        renamed: dict[Expr, Expr] = dict(zip(func.dims, own_dims, strict=True))
        position = {dim: n for n, dim in enumerate(func.dims)}
        lowered = LoweredFunc(
            self.names[func],
            func.callback,
            own_dims,
            tuple(self._input_access(func, access, renamed) for access in func.inputs),
            tuple(OutputAccess(a.buffer.name, tuple(position[dim] for dim in _output_dims(a))) for a in func.outputs),
            tuple(func.arguments.items()),
            func.pass_buffers,
        )
        self.lowered[func] = lowered
        self.boxes_of_funcs[func] = tuple(box[dim] for dim in func.dims)
        for access, region in zip(func.inputs, input_regions(lowered, self.boxes_of_funcs[func]), strict=True):
            self._note_read(access, region)

    def _shared_box(self, func: Func) -> dict[Variable, Interval]:
        """One interval per dimension of a func, for all its outputs. Bounds of the pipeline's outputs are given."""
        box: dict[Variable, Interval] = {}
        given: set[Variable] = set()
        for access in sorted(func.outputs, key=lambda a: a.buffer not in self.parameters):
            is_given = access.buffer in self.parameters
            asked = self.boxes[access.buffer] if is_given else self._asked_box(func, access)
            for dim, own in zip(_output_dims(access), asked, strict=True):
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
                    self._check(equal(shared.min, own.min), same)
                    self._check(equal(shared.max, own.max), same)
                elif dim in given:
                    self._check(
                        shared.min <= own.min, f"{what}, whose {dim} must start at or before {self._text(own.min)}"
                    )
                    self._check(
                        own.max <= shared.max, f"{what}, whose {dim} must end at or after {self._text(own.max)}"
                    )
                else:
                    box[dim] = hull(shared, own)
        for access in func.outputs:
            for d, dim in enumerate(_output_dims(access)):
                if dim not in box:
                    box[dim] = self._allowed_by_inputs(func, access, d)
        return box

    def _check_not_skipped(self, func: Func, box: Mapping[Variable, Interval]) -> None:
        """An output without some of the func's dimensions must be written, though a call of an empty box is skipped."""
        for access in func.outputs:
            own = _output_dims(access)
            nothing_to_write = [box[dim].max < box[dim].min for dim in own]
            for dim in func.dims:
                if dim not in own:
                    what = f"func {self.names[func]} writes {access.buffer.name} for all {dim}, which must not be empty"
                    self._check(any_of(box[dim].min <= box[dim].max, *nothing_to_write), what)

    def _asked_box(self, func: Func, access: Access) -> list[Interval | None]:
        """What the readers of an intermediate need of it, or what was assigned to its dimensions instead.

        None where nothing is asked for: all readers, if any, take the dimension whole.
        """
        buffer = access.buffer
        box: list[Interval | None] = []
        for d, needed in enumerate(self.needed.get(buffer, [None] * buffer.rank)):
            assigned = {field: e for (dim, field), e in buffer.assigned.items() if dim == d}
            if "stride" in assigned:
                raise GraphError(f"the stride of {buffer.name!r} cannot be assigned: slinky stores intermediates")
            if assigned:
                default = needed
                if needed is None and _assigned_bounds(buffer, d) is None:
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
        bounds = _with_values(values, default)
        if len(values) == 3:
            agree = f"min, max and extent of dimension {d} of {buffer.name} must agree"
            self._check(equal(values["extent"], bounds.extent), agree)
        if needed is not None:
            what = f"dimension {d} of {buffer.name} is assigned {bounds}, which must contain {needed}"
            for condition in (bounds.min <= needed.min, needed.max <= bounds.max):
                if not prove(condition, self.known):
                    self._check(condition, what)
        return bounds

    def _allowed_by_inputs(self, func: Func, access: Access, d: int) -> Interval:
        """The bounds of a dimension that nobody asks for: as far as the inputs of the pipeline allow."""
        dim = _output_dims(access)[d]
        allowed = _allowed(func, dim, self._available)
        if allowed is None:
            name = access.buffer.name
            raise GraphError(
                f"nothing determines dimension {d} of {name!r}: its readers take it whole (:), and no input of its "
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
                    given.update(zip(_output_dims(access), self.boxes[access.buffer], strict=True))
            for access in func.outputs:
                buffer = access.buffer
                if buffer not in self.parameters:
                    for d, dim in enumerate(_output_dims(access)):
                        limit = _assigned_bounds(buffer, d) or given.get(dim) or _allowed(func, dim, available)
                        if limit is not None:
                            available[(buffer, d)] = limit
        return available

    def _is_global(self, buffer: BufferExpr) -> bool:
        """Whether the bounds of a buffer are known before the walk: of parameters and constants."""
        return buffer in self.parameters or buffer.value is not None

    # What funcs read ----------------------------------------------------------------------------------------------

    def _bounds(self, buffer: BufferExpr, d: int) -> Interval:
        """The bounds of a dimension; for an intermediate, symbols that `_resolve` replaces."""
        if self._is_global(buffer):
            return self.boxes[buffer][d]
        return Interval(metadata(buffer.name, d, "min"), metadata(buffer.name, d, "max"))

    def _input_access(self, func: Func, access: Access, renamed: dict[Expr, Expr]) -> InputAccess:
        box: list[Interval] = []
        for d, i in enumerate(access.box):
            if i is None:
                box.append(self._bounds(access.buffer, d))
                continue
            box.append(Interval(substitute(i.min, renamed), substitute(i.max, renamed)))
            if not prove(i.min <= i.max, self.known):
                self._check_not_inverted(func, access, i)
        return InputAccess(access.buffer.name, tuple(box))

    def _check_not_inverted(self, func: Func, access: Access, i: Interval) -> None:
        width = i.max - i.min
        if any(isinstance(s, Variable) and not isinstance(s, Scalar) for s in symbols(width)):
            raise GraphError(
                f"func {self.names[func]!r}: the interval {i} of its input {access} is not shown never to be empty"
            )
        if all(isinstance(s, Scalar) for s in symbols(width)):
            what = f"the interval {i} of {access.buffer.name}, read by func {self.names[func]}, must not be empty"
            self._check(width >= 0, what)

    def _note_read(self, access: Access, region: Box) -> None:
        """Add a region to what is read of a buffer. What is read whole asks for nothing in particular."""
        buffer = access.buffer
        is_intermediate = not self._is_global(buffer)
        needed = self.needed.setdefault(buffer, [None] * buffer.rank)
        for d, (i, given) in enumerate(zip(region, access.box, strict=True)):
            if given is None:
                continue
            if is_intermediate:
                earlier = needed[d]
                needed[d] = i if earlier is None else hull(earlier, i)
            else:
                known = self.read.get((buffer, d))
                self.read[(buffer, d)] = i if known is None else hull(known, i)

    def _check_reads(self) -> None:
        """Checks that what is read of inputs, constants and outputs is there."""
        order = {b: n for n, b in enumerate((*self.graph.inputs, *self.graph.outputs, *self.graph.constants))}
        for (buffer, d), i in sorted(self.read.items(), key=lambda item: (order[item[0][0]], item[0][1])):
            limit = self.boxes[buffer][d]
            name = self._dim_names(buffer)[d]
            along = f"dimension {d}" if name.isdigit() else name
            what = f"the pipeline reads {buffer.name} along {along} from {self._text(i.min)} to {self._text(i.max)}"
            self._check(limit.min <= i.min, what)
            self._check(i.max <= limit.max, what)

    # Bounds that name bounds of intermediates ---------------------------------------------------------------------

    def _resolve(self) -> None:
        """Replace metadata of intermediates, which stand in boxes, accesses and checks, by what they are."""
        self._check_metadata()
        replacements: dict[Expr, Expr] = {}
        for buffer, box in self.boxes.items():
            if buffer not in self.parameters:
                for d, i in enumerate(box):
                    replacements[metadata(buffer.name, d, "min")] = i.min
                    replacements[metadata(buffer.name, d, "max")] = i.max
        pending = {s: e for s, e in replacements.items() if not replacements.keys().isdisjoint(symbols(e))}
        resolved = {s: e for s, e in replacements.items() if s not in pending}
        while pending:
            ready = [s for s, e in pending.items() if pending.keys().isdisjoint(symbols(e))]
            if not ready:
                names_of = ", ".join(sorted({str(s) for s in pending}))
                raise GraphError(f"these bounds depend on themselves: {names_of}")
            resolved.update({s: substitute(pending.pop(s), resolved) for s in ready})
        self.boxes = {b: substitute_box(box, resolved) for b, box in self.boxes.items()}
        self.boxes_of_funcs = {f: substitute_box(box, resolved) for f, box in self.boxes_of_funcs.items()}
        self.read = {key: substitute_box((i,), resolved)[0] for key, i in self.read.items()}
        self.checks = {substitute(c, resolved): message for c, message in self.checks.items()}
        self.lowered = {func: _substituted(lowered, resolved) for func, lowered in self.lowered.items()}

    def _check_metadata(self) -> None:
        """Every buffer named by metadata must be part of the pipeline."""
        known = {b.name: b for b in self.boxes}
        intermediates = self.boxes.keys() - self.parameters
        for func in self.graph.funcs:
            lowered = self.lowered[func]
            used = box_symbols([i for access in lowered.inputs for i in access.box])
            used |= union_of_symbols(e for _, e in lowered.arguments if isinstance(e, Expr))
            self._check_symbols(used, known, intermediates, f"func {self.names[func]!r}")
        self._check_symbols(union_of_symbols(self.checks), known, intermediates, "a constraint or check")

    @staticmethod
    def _check_symbols(
        used: frozenset[Expr], known: dict[str, BufferExpr], intermediates: set[BufferExpr], where: str
    ) -> None:
        for symbol in sorted((s for s in used if isinstance(s, Metadata)), key=str):
            buffer = known.get(symbol.buffer)
            if buffer is None:
                raise GraphError(f"{where} names {symbol}, but {symbol.buffer!r} is not part of the pipeline")
            if symbol.dim >= buffer.rank:
                raise GraphError(f"{where} names {symbol}, but {symbol.buffer!r} has rank {buffer.rank}")
            if symbol.field == "stride" and buffer in intermediates:
                raise GraphError(f"{where} names {symbol}, but slinky chooses the strides of intermediates")

    # Parameters ---------------------------------------------------------------------------------------------------

    def _dim_names(self, buffer: BufferExpr) -> tuple[str, ...]:
        """Dimensions are named after the variables that index them, where one does, else by position."""
        accesses: list[Access] = []
        if buffer.producer is not None:
            accesses = [a for a in buffer.producer.outputs if a.buffer is buffer]
        else:
            accesses = [a for func in self.graph.funcs for a in func.inputs if a.buffer is buffer]
        names: list[str] = []
        for d in range(buffer.rank):
            name = next((n for a in accesses if (n := _variable_name(a.box[d])) and n not in names), str(d))
            names.append(name)
        return tuple(names)

    def _text(self, expr: Expr) -> str:
        """An expression as the program will print it, with the names of dimensions."""
        buffers = {buffer.name: buffer for buffer in self.boxes}

        def named(buffer: str, d: int) -> str:
            name = self._dim_names(buffers[buffer])[d] if buffer in buffers else str(d)
            return positional(buffer, d) if name.isdigit() else f"{buffer}.{name}"

        return to_text(expr, named)

    def _scalars(self) -> tuple[ScalarParameter, ...]:
        used: set[Expr] = set(union_of_symbols(self.checks))
        for box in (*self.boxes.values(), *self.boxes_of_funcs.values()):
            used |= box_symbols(box)
        for lowered in self.lowered.values():
            used |= box_symbols([i for access in lowered.inputs for i in access.box])
            used |= union_of_symbols(e for _, e in lowered.arguments if isinstance(e, Expr))
        names = sorted(s.name for s in used if isinstance(s, Scalar))
        for buffer in self.boxes:
            if buffer.name in names:
                raise GraphError(f"a scalar and a buffer are both called {buffer.name!r}; names must be unique")
        return tuple(map(ScalarParameter, names))

    @staticmethod
    def _constant(buffer: BufferExpr) -> ConstantBuffer:
        assert buffer.value is not None
        origin = tuple(constant_value(buffer.assigned[(d, "min")]) or 0 for d in range(buffer.rank))
        return ConstantBuffer(buffer.name, buffer.value, origin, tuple(map(str, range(buffer.rank))))


def _with_values(values: Mapping[str, Expr], default: Interval | None) -> Interval:
    """Bounds of which `min`, `max` and `extent` have these values, where there are any; two of them say it all."""
    lo, hi, extent = values.get("min"), values.get("max"), values.get("extent")
    if extent is not None and lo is None and hi is not None:
        lo = hi - extent + 1
    if lo is None:
        assert default is not None
        lo = default.min
    if hi is None and extent is not None:
        hi = lo + extent - 1
    if hi is None:
        assert default is not None
        hi = default.max
    return Interval(lo, hi)


def _assigned_bounds(buffer: BufferExpr, d: int) -> Interval | None:
    """The bounds that were assigned to a dimension, if they are complete and do not depend on what is needed."""
    assigned = {field: e for (dim, field), e in buffer.assigned.items() if dim == d and field != "stride"}
    if len(assigned) < 2:
        return None
    bounds = _with_values(assigned, None)
    own = {metadata(buffer.name, d, "min"), metadata(buffer.name, d, "max")}
    return bounds if own.isdisjoint(box_symbols((bounds,))) else None


def _output_dims(access: Access) -> tuple[Variable, ...]:
    """The variables of an output access, which `Func` has checked to be plain."""
    dims: list[Variable] = []
    for i in access.box:
        assert i is not None
        assert isinstance(i.min, Variable)
        dims.append(i.min)
    return tuple(dims)


def _variable_name(i: Interval | None) -> str | None:
    """The variable that an access follows along a dimension, if just one occurs."""
    if i is None:
        return None
    names = {
        s.name for e in (i.min, i.max) for s in symbols(e) if isinstance(s, Variable) and not isinstance(s, Scalar)
    }
    return names.pop() if len(names) == 1 else None


def _allowed(func: Func, dim: Variable, available: Mapping[tuple[BufferExpr, int], Interval]) -> Interval | None:
    """Where a dimension of a func may be so that its inputs stay within what is available; None if anywhere."""
    found: list[Interval] = []
    for source in func.inputs:
        for position, i in enumerate(source.box):
            limit = available.get((source.buffer, position))
            if i is not None and limit is not None:
                allowed = _preimage(i, limit, dim)
                found += [allowed] if allowed is not None else []
    return Interval(maximum(*(i.min for i in found)), minimum(*(i.max for i in found))) if found else None


def _preimage(i: Interval, limit: Interval, dim: Variable) -> Interval | None:
    """Where `dim` may be if the interval `a*dim + b .. a*dim + c`, a > 0, must stay in the limit; None if not."""
    lo_offset, lo_terms = linear(i.min)
    hi_offset, hi_terms = linear(i.max)
    lo_factor, hi_factor = dict(lo_terms).get(dim, 0), dict(hi_terms).get(dim, 0)
    if lo_factor <= 0 or hi_factor <= 0:
        return None
    lo_rest = linear_sum(lo_offset, [term for term in lo_terms if term[0] is not dim])
    hi_rest = linear_sum(hi_offset, [term for term in hi_terms if term[0] is not dim])
    for rest in (lo_rest, hi_rest):
        if any(isinstance(s, Variable) and not isinstance(s, Scalar) for s in symbols(rest)):
            return None
    return Interval((limit.min - lo_rest + lo_factor - 1) // lo_factor, (limit.max - hi_rest) // hi_factor)


def _substituted(func: LoweredFunc, replacements: dict[Expr, Expr]) -> LoweredFunc:
    """The func with symbols replaced in its accesses and arguments."""
    inputs = tuple(InputAccess(a.buffer, substitute_box(a.box, replacements)) for a in func.inputs)
    arguments: tuple[tuple[str, Any], ...] = tuple(
        (name, substitute(value, replacements) if isinstance(value, Expr) else value) for name, value in func.arguments
    )
    return attrs.evolve(func, inputs=inputs, arguments=arguments)
