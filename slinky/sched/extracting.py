"""A block becomes a func of its own, whose operation is a pipeline: the call that does what its statements did.

Idea. What a block writes are the outputs of a pipeline, and what it reads are its inputs. In it, the ends of the box
that the block computes are the bounds of the outputs, so it can compute any other box, too. What it reads for a box is
asked of its statements, and said of the func for a point; whatever else the block names is a scalar.

Invariant: the pipeline is proved by itself, whatever the bounds of its outputs, from nothing but what the func says
that it reads for these. So a call of it can be split, moved and repeated like that of any func. The program that the
block stands in is left as it is.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from slinky.cursors.base import Cursor
from slinky.cursors.cursors import BlockCursor, statement_cursor
from slinky.cursors.lineages import origin
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError, SlinkyError
from slinky.ir.copies import (
    expressions_of,
    rewritten,
    with_expressions,
    with_fresh_identities,
    with_intervals,
)
from slinky.ir.effects import buffers_named, calls_in
from slinky.ir.nesting import read_regions, symbols_of_func
from slinky.ir.operations import Nested
from slinky.ir.regions import input_regions, parameter_box
from slinky.ir.scopes import leading_checks, over_loops, program_scope
from slinky.ir.sharing import host_of
from slinky.ir.statements import (
    Alloc,
    Block,
    BufferParameter,
    Call,
    Check,
    FloatParameter,
    For,
    InputPort,
    LoweredFunc,
    OutputPort,
    Program,
    ScalarParameter,
    Statement,
    walk,
)
from slinky.ir.substitution import substitute_block, substitute_program
from slinky.sched.legality.complete import check_complete
from slinky.sched.legality.room import leave_room
from slinky.sched.legality.touches import writes_of_call
from slinky.sched.passing import named_dims
from slinky.sched.primitives.rewriting import numbered
from slinky.symbolic.bounds import simplify
from slinky.symbolic.expressions import (
    Condition,
    Expr,
    Max,
    Metadata,
    Min,
    Scalar,
    Variable,
    constant_value,
    equal,
    linear,
    metadata,
    scalar,
    variable,
)
from slinky.symbolic.intervals import Box, Interval, box_symbols, hull, substitute_box
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import substitute, symbols, union_of_symbols


def extracted(version: Version, ids: Sequence[int], name: str, place: BlockCursor) -> Call:
    """A call of the func `name` that does what the statements of a block do. Raises `SchedulingError` for a block that
    is not shown to be right as a pipeline over any box."""
    return _Extraction(version, ids, name, place).call()


@attrs.frozen
class _Operand:
    """A buffer that a block uses and does not allocate."""

    name: str
    dims: tuple[str, ...]
    dtype: Any

    def parameter(self) -> BufferParameter:
        """A parameter in its place."""
        return BufferParameter(self.name, self.dtype, self.dims)


class _Extraction:
    """A block that becomes a func."""

    def __init__(self, version: Version, ids: Sequence[int], name: str, place: BlockCursor) -> None:
        self.version = version
        self.ids = ids
        self.name = name
        self.place = place
        self.statements: Block = tuple(version.statement(i) for i in ids)
        self.inside = {s.id for s in walk(self.statements)}
        self.calls = list(calls_in(self.statements))
        self.known = version.facts_at(ids[0])
        self._require_extractable()
        self.inputs, self.outputs = self._operands()
        if not self.outputs:
            raise SchedulingError("the block writes nothing that is there behind it", place=place)
        self.box, self.ends = self._box()
        self.multiples: dict[int, int] = {}
        self.whole = self._whole()
        self.scalars: dict[Expr, Scalar] = {}
        """Of each end of a buffer that stands in the block, and of each scalar, the scalar of the pipeline."""

    # What is there ------------------------------------------------------------------------------------------------

    def _require_extractable(self) -> None:
        """Raise `SchedulingError` for what cannot stand in a pipeline of its own."""
        for s in walk(self.statements):
            if isinstance(s, Check):
                raise SchedulingError("a check stays where it is: others may rely on it", place=self._at(s))
            if isinstance(s, Alloc) and (host := host_of(s)) is not None:
                alloc = self.version.alloc_of(host, s.id)
                if alloc is None or alloc.id not in self.inside:
                    raise SchedulingError(f"{s.buffer} lies in the memory of {host}", place=self._at(s))
        own = {s.buffer: s for s in self.statements if isinstance(s, Alloc)}
        for name, alloc in own.items():
            for identity in (*self.version.writers_of(alloc), *self.version.readers_of(alloc)):
                if identity not in self.inside:
                    raise SchedulingError(f"{name} is allocated in the block and used behind it", place=self._at(alloc))

    def _at(self, statement: Statement) -> Cursor:
        return statement_cursor(self.version, statement.id)

    def _is_inside(self, buffer: str, call: Call) -> bool:
        alloc = self.version.alloc_of(buffer, call.id)
        return alloc is not None and alloc.id in self.inside

    def _operands(self) -> tuple[list[_Operand], list[_Operand]]:
        """What the block reads and writes that is not allocated in it."""
        constants = {c.name for c in self.version.program.constants}
        written = dict.fromkeys(b for c in self.calls for b in c.writes if not self._is_inside(b, c))
        read = dict.fromkeys(b for c in self.calls for b in c.reads if not self._is_inside(b, c))
        inputs = [b for b in read if b not in written and b not in constants]
        return [self._operand(b) for b in inputs], [self._operand(b) for b in written]

    def _operand(self, name: str) -> _Operand:
        alloc = self.version.alloc_of(name, self.ids[0])
        if alloc is not None:
            return _Operand(name, alloc.dims, alloc.dtype)
        program = self.version.program
        (parameter,) = (p for p in (*program.inputs, *program.outputs) if p.name == name)
        return _Operand(name, parameter.dims, parameter.dtype)

    def _box(self) -> tuple[Box, list[tuple[list[Expr], list[Expr]]]]:
        """What the block computes, and for each dimension the expressions that stand for its ends in the block."""
        found: Box | None = None
        ends: list[tuple[list[Expr], list[Expr]]] = []
        first = self.outputs[0]
        for output in self.outputs:
            box, raw = self._written(output.name)
            if found is None:
                found, ends = box, [([i.min], [i.max]) for i in box]
            elif len(box) != len(found) or not all(
                prove(equal(a.min, b.min), self.known) and prove(equal(a.max, b.max), self.known)
                for a, b in zip(found, box, strict=True)
            ):
                raise SchedulingError(
                    f"the block writes different boxes of {first.name} and {output.name}",
                    place=self.place,
                    hint=f"a block with all that uses {output.name} can hold its allocation, too",
                )
            for (lows, highs), i in zip(ends, box, strict=True):
                lows.append(i.min)
                highs.append(i.max)
            for written in raw:
                for (lows, highs), i in zip(ends, written, strict=True):
                    lows.append(i.min)
                    highs.append(i.max)
        assert found is not None
        as_written = self._written(first.name)[1]
        if len(self.outputs) == 1 and len(as_written) == 1:
            (found,) = as_written  # as the program says it; the call is clamped like the one that it stands for
        return found, ends

    def _written(self, buffer: str) -> tuple[Box, list[Box]]:
        """What the block writes of a buffer, over all iterations of loops in it; and where all calls that write it,
        in no loop of the block, are over one box, that as it is written."""
        boxes: list[Box] = []
        raw: list[Box] = []
        for call in self.calls:
            if buffer not in call.writes:
                continue
            port = call.func.outputs[call.writes.index(buffer)]
            if call.func.part:
                raise SchedulingError(
                    f"{call.func.name} gives a part of {buffer}, others the rest", place=self._at(call)
                )
            inner = self._loops_inside(call)
            if not inner:
                raw.append(tuple(call.box[d] for d in port.dims))
            for name, touch in writes_of_call(self.version, call):
                if name == buffer:
                    boxes.append(tuple(over_loops(i, inner, touch.known) for i in touch.region))
        whole = functools.reduce(lambda a, b: tuple(map(hull, a, b)), boxes)
        return _simplified(whole, self.known), raw[:1] if raw == raw[:1] * len(boxes) else []

    def _loops_inside(self, call: Call) -> list[For]:
        return [loop for loop in reversed(self.version.loops_around(call.id)) if loop.id in self.inside]

    def _whole(self) -> dict[int, Interval]:
        """The dimensions that the func computes whole: those that funcs do in the block which write the outputs, and
        those of whose ends funcs in the block speak. `multiples` gets those that are computed in whole pieces."""
        found: dict[int, Interval] = {}
        spoken = union_of_symbols(e for call in self.calls for e in symbols_of_func(call.func))
        for d, i in enumerate(self.box):
            if any(isinstance(s, Metadata) and s in spoken for s in box_symbols([i])):
                found[d] = i
        for call in self.calls:
            for buffer, port in zip(call.writes, call.func.outputs, strict=True):
                if any(buffer == output.name for output in self.outputs):
                    found.update((port.dims.index(d), i) for d, i in call.func.whole if d in port.dims)
                    for d, n in call.func.multiples:
                        if d in port.dims:
                            own = port.dims.index(d)
                            self.multiples[own] = math.lcm(self.multiples.get(own, 1), n)
        return found

    # The pipeline -------------------------------------------------------------------------------------------------

    def call(self) -> Call:
        """The call that stands for the block."""
        first = self._program(self._body(), ())
        point_func = self._func(first)
        regions = self._own_regions(point_func)
        checks = [
            condition
            for operand, region in zip(self.inputs, regions, strict=True)
            for own, i in zip(parameter_box(operand.name, len(region)), region, strict=True)
            for condition in (own.min <= i.min, i.max <= own.max)
        ]
        program = self._program(first.body, checks)
        version = Version(program, origin("extract_pipeline"))
        for s in walk(program.body):
            if isinstance(s, Alloc) and not leave_room(s, s.box, version.facts_at(s.id)):
                raise SchedulingError(
                    "as a pipeline over any box, the block is not shown to be right: the strides that are asked for "
                    f"{s.buffer} may not leave room",
                    place=self.place,
                )
        try:
            check_complete(version)
        except SlinkyError as error:
            why = error  # Python forgets the other name
            raise SchedulingError(
                lambda: f"as a pipeline over any box, the block is not shown to be right: {_in_short(why)}",
                place=self.place,
                example=lambda: why.example if isinstance(why, SchedulingError) else "",
            ) from error
        func = self._outer(attrs.evolve(point_func, operation=self._operation(program)))
        return Call(func, self.box, tuple(o.name for o in self.inputs), tuple(o.name for o in self.outputs))

    def _body(self) -> Block:
        """The statements, in terms of the bounds of the outputs and of scalars."""
        places = self._places()
        body = tuple(
            with_fresh_identities(rewritten(s, functools.partial(self._in_terms_of, places))) for s in self.statements
        )
        own = {
            place: end for d, pair in enumerate(self._own_ends()) for place, end in zip(_place(d), pair, strict=True)
        }
        bare = Program(self.name, (), (), (), (), body)
        used = union_of_symbols(
            e
            for s in walk(body)
            for e in (*expressions_of(s), *(symbols_of_func(s.func) if isinstance(s, Call) else ()))
        )
        used |= union_of_symbols(e for i in self.whole.values() for e in (i.min, i.max))
        around = {loop.variable for loop in self.version.loops_around(self.ids[0])}
        for symbol in sorted(used, key=str):
            if isinstance(symbol, Scalar):
                self.scalars[symbol] = symbol
            elif isinstance(symbol, Metadata):
                self.scalars[symbol] = scalar(self._free_name(f"{symbol.buffer}_{symbol.field}_{symbol.dim}"))
            elif symbol in around:
                raise SchedulingError(
                    f"the block depends on {symbol} in another way than by the box that it computes", place=self.place
                )
        body = substitute_program(bare, dict(self.scalars)).body
        return substitute_block(body, own)

    def _free_name(self, wanted: str) -> str:
        taken = {s.name for s in self.scalars.values()} | {s.name for s in self.version.program.scalars}
        taken |= {name for s in walk(self.statements) for name in buffers_named(s)}
        taken |= {s.variable.name for s in walk(self.version.program.body) if isinstance(s, For)}
        taken |= {p.name for p in self.version.program.parameters()}
        return next(name for name in numbered(wanted) if name not in taken)

    def _own_ends(self) -> list[tuple[Expr, Expr]]:
        first = self.outputs[0]
        return [(i.min, i.max) for i in parameter_box(first.name, len(first.dims))]

    def _places(self) -> dict[Expr, Expr]:
        """What symbols stand for that are ends of what is computed: see `_place`."""
        found: dict[Expr, Expr] = {}
        around = {loop.variable for loop in self.version.loops_around(self.ids[0])}
        for which in (0, 1):
            for d, pair in enumerate(self.ends):
                for e in pair[which]:
                    offset, terms = linear(e)
                    moving = [(atom, factor) for atom, factor in terms if atom in around]
                    if len(terms) == 1 and terms[0][1] == 1 and isinstance(terms[0][0], (Variable, Metadata)):
                        found.setdefault(terms[0][0], _place(d)[which] - offset)
                    elif len(moving) == 1 and moving[0][1] == 1 and not symbols(e - moving[0][0]) & around:
                        found.setdefault(moving[0][0], _place(d)[which] - (e - moving[0][0]))
        return found

    def _in_terms_of(self, places: Mapping[Expr, Expr], statement: Statement) -> Statement:
        """A statement, with the ends of what is computed in the place of what stands for them."""
        statement = with_intervals(statement, lambda i: Interval(self._end(i.min, 0, 1), self._end(i.max, 1, 0)))
        return with_expressions(statement, lambda e: substitute(e, places))

    def _end(self, e: Expr, *which: int) -> Expr:
        """An end of an interval, as one of what is computed and an offset, if it is one."""
        for k in which:
            for d, pair in enumerate(self.ends):
                for end in pair[k]:
                    offset = _offset(e, end)
                    if offset is not None and symbols(end):
                        return _place(d)[k] + offset
        return e

    def _program(self, body: Block, regions: Sequence[Condition]) -> Program:
        """The pipeline, which checks what is known of scalars and of whole dimensions, and `regions`."""
        conditions = [*self._known_of_scalars(), *self._known_of_bounds(), *regions]
        messages = dict.fromkeys(conditions, f"{self.name} reads what it is given")
        leading = tuple(Check(c, message) for c, message in messages.items())
        old = self.version.program
        used = {b for c in self.calls for b in c.reads}
        floats = {f.name for c in self.calls for f in c.func.operation.floats()}
        return Program(
            self.name,
            tuple(o.parameter() for o in self.inputs),
            tuple(o.parameter() for o in self.outputs),
            tuple(ScalarParameter(s.name) for s in dict.fromkeys(self.scalars.values())),
            tuple(c for c in old.constants if c.name in used),
            (*leading, *(s for s in body if not isinstance(s, Check))),
            tuple(FloatParameter(name) for name in sorted(floats)),
        )

    def _known_of_scalars(self) -> Iterator[Condition]:
        """What the program checks, as far as it speaks of nothing but what the pipeline has as scalars."""
        for check in leading_checks(self.version.program):
            named = symbols(check.condition)
            if named and named <= self.scalars.keys():
                yield substitute(check.condition, dict(self.scalars))
        for symbol, own in self.scalars.items():
            if isinstance(symbol, Metadata) and symbol.field == "min":
                last = self.scalars.get(metadata(symbol.buffer, symbol.dim, "max"))
                if last is not None:
                    yield own - 1 <= last

    def _known_of_bounds(self) -> Iterator[Condition]:
        own = self._own_ends()
        for output in self.outputs[1:]:
            for i, pair in zip(parameter_box(output.name, len(own)), own, strict=True):
                yield equal(i.min, pair[0])
                yield equal(i.max, pair[1])
        for d, n in self.multiples.items():
            yield equal(own[d][0] % n, 0)
            yield equal((own[d][1] + 1) % n, 0)
        for d, i in self.whole.items():
            yield equal(own[d][0], substitute(i.min, dict(self.scalars)))
            yield equal(own[d][1], substitute(i.max, dict(self.scalars)))

    # The func -----------------------------------------------------------------------------------------------------

    def _operation(self, program: Program) -> Nested:
        outside = {s.name: symbol for symbol, s in self.scalars.items()}
        arguments: list[tuple[str, Any]] = [(s.name, outside[s.name]) for s in program.scalars]
        floats = {f.name: f for c in self.calls for f in c.func.operation.floats()}
        return Nested(program=program, arguments=(*arguments, *((f.name, floats[f.name]) for f in program.floats)))

    def _func(self, program: Program) -> LoweredFunc:
        """The func, in terms of the scalars of the pipeline: what it reads for a point is what the statements touch
        where the outputs have that point alone."""
        names = named_dims(self.outputs[0].dims)
        dims = tuple(variable(f"{self.name}.{name}") for name in names)
        known = program_scope(program).known
        reads = read_regions(program)
        at_point = {end: dim for pair, dim in zip(self._own_ends(), dims, strict=True) for end in pair}
        for output in self.outputs[1:]:
            for d, dim in enumerate(dims):
                at_point.update({metadata(output.name, d, field): dim for field in ("min", "max")})
        inputs = []
        for operand in self.inputs:
            region = substitute_box(reads[operand.name], at_point)
            inputs.append(InputPort(_simplified(region, known), operand.dtype))
        return LoweredFunc(
            self.name,
            self._operation(program),
            dims,
            tuple(inputs),
            tuple(OutputPort(tuple(range(len(dims))), o.dtype) for o in self.outputs),
            known=tuple(self._known_of_scalars()),
            multiples=tuple(sorted(self.multiples.items())),
        )

    def _own_regions(self, func: LoweredFunc) -> list[Box]:
        """What the func reads over all of the outputs."""
        box = parameter_box(self.outputs[0].name, len(func.dims))
        return list(input_regions(func, box))

    def _outer(self, func: LoweredFunc) -> LoweredFunc:
        """The func, in terms of the program around."""
        outside: dict[Expr, Expr] = {s: symbol for symbol, s in self.scalars.items()}
        return attrs.evolve(
            func,
            inputs=tuple(attrs.evolve(port, box=substitute_box(port.box, outside)) for port in func.inputs),
            known=tuple(substitute(c, outside) for c in func.known),
            whole=tuple(sorted(self.whole.items())),
        )


def _place(dim: int) -> tuple[Expr, Expr]:
    """Stand-ins for the ends of what is computed, as long as these have no name that nothing else has."""
    return variable(f"the first of dimension {dim}"), variable(f"the last of dimension {dim}")


def _offset(e: Expr, other: Expr) -> int | None:
    """By how much an expression is more than another one, if that is the same always; also of two minima or maxima."""
    found = constant_value(e - other)
    if found is not None or type(e) is not type(other) or not isinstance(e, (Min, Max)):
        return found
    assert isinstance(other, (Min, Max))
    for operand in e.operands:
        offset = constant_value(operand - other.operands[0])
        if offset is not None and {each + offset for each in other.operands} == set(e.operands):
            return offset
    return None


def _simplified(box: Box, known: Facts) -> Box:
    return tuple(Interval(simplify(i.min, known), simplify(i.max, known)) for i in box)


def _in_short(error: SlinkyError) -> str:
    """What an error says, without its example and its place."""
    return error.reason if isinstance(error, SchedulingError) else str(error).partition("\n")[0]
