"""The statements of a pipeline in the place of a call of it.

What the program says of the ends of its inputs and outputs is said of what the call reads and writes; its buffers and
loops get names that are free where the call stands. Nothing is proved here but what the program checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slinky.cursors.cursors import CallCursor
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.copies import (
    rewritten,
    with_block,
    with_box,
    with_buffers,
    with_expressions,
    with_fresh_identities,
    with_program_body,
    with_variable,
)
from slinky.ir.effects import calls_in
from slinky.ir.nesting import parameter_values, symbols_of_func
from slinky.ir.regions import output_region
from slinky.ir.scopes import facts_inside
from slinky.ir.statements import Alloc, Block, Call, Check, For, If, Program, Statement, blocks_of, walk
from slinky.ir.substitution import substitute_block, substitute_program
from slinky.sched.legality.refusals import Unproved
from slinky.sched.legality.touches import effective_box
from slinky.sched.primitives.rewriting import numbered
from slinky.symbolic.bounds import simplify
from slinky.symbolic.expressions import Expr, maximum, minimum, variable
from slinky.symbolic.intervals import Box, Interval, box_symbols, not_empty
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import substitute, symbols


def inlined(version: Version, call: Call, program: Program, place: CallCursor) -> Iterator[Block]:
    """The statements of a pipeline in the place of a call of it; then the same where something is computed only."""
    known = version.facts_at(call.id)
    box = tuple(Interval(simplify(i.min, known), simplify(i.max, known)) for i in effective_box(version, call))
    running = known.also(not_empty(box))
    values = parameter_values(call, box)
    _require_constants(version, program, place)
    _require_still(version, call, program, values, place)
    body: Block = tuple(s for s in program.body if not isinstance(s, Check))
    body = _renamed(version, call, program, body)
    (changed,) = [substitute_program(with_program_body(program, body), values)]
    for check in (s for s in walk(program.body) if isinstance(s, Check)):
        condition = substitute(check.condition, values)
        if not prove(condition, running):
            raise Unproved(version, condition, running).refuse(
                f"what the pipeline {program.name} checks holds here",
                f"what the pipeline {program.name} checks does not hold here",
                place=place,
            )
    written = dict(zip(call.writes, (output_region(port, box) for port in call.func.outputs), strict=True))
    bounds = dict(zip(call.writes, map(version.box_at(call.id), call.writes), strict=True))
    around = {loop.variable for loop in version.loops_around(call.id)}
    runs_anyway = box_symbols(box).isdisjoint(around)  # also where the call gives nothing
    if runs_anyway or prove(not_empty(box), known):
        yield tuple(map(with_fresh_identities, _within(changed.body, written, bounds, known)))
    yield (If(not_empty(box), tuple(map(with_fresh_identities, _within(changed.body, written, bounds, running)))),)


def _within(block: Block, written: Mapping[str, Box], bounds: Mapping[str, Box], known: Facts) -> Block:
    """Statements that write no more of some buffers than these boxes: a call in the pipeline was clamped to them, and
    is clamped here to `bounds` anyway."""
    found: list[Statement] = []
    for s in block:
        for field, inner in blocks_of(s):
            s = with_block(s, field, _within(inner, written, bounds, known.also(*facts_inside(s, field))))
        if isinstance(s, Call):
            s = _call_within(s, written, bounds, known)
        found.append(with_expressions(s, lambda e: simplify(e, known) if isinstance(e, Expr) else e))
    return tuple(found)


def _call_within(call: Call, written: Mapping[str, Box], bounds: Mapping[str, Box], known: Facts) -> Call:
    box = list(call.box)
    for buffer, port in zip(call.writes, call.func.outputs, strict=True):
        if buffer not in written:
            continue
        for d, i, bound in zip(port.dims, written[buffer], bounds[buffer], strict=True):
            lo, hi = box[d].min, box[d].max
            inside = Interval(maximum(lo, bound.min), minimum(hi, bound.max))
            if not prove(i.min <= inside.min, known):
                lo = maximum(lo, i.min)
            if not prove(inside.max <= i.max, known):
                hi = minimum(hi, i.max)
            box[d] = Interval(lo, hi)
    return with_box(call, tuple(box))


def _require_constants(version: Version, program: Program, place: CallCursor) -> None:
    own = {c.name: c.array for c in version.program.constants}
    for c in program.constants:
        if own.get(c.name) is not c.array:
            raise SchedulingError(f"the pipeline {program.name} has a constant {c.name}, and this one not", place=place)


def _require_still(
    version: Version, call: Call, program: Program, values: Mapping[Expr, Expr], place: CallCursor
) -> None:
    """Raise `SchedulingError` where funcs of a pipeline would speak of a loop around the call."""
    loops = {loop.variable for loop in version.loops_around(call.id)}
    for inner in calls_in(program.body):
        for symbol in symbols_of_func(inner.func):
            if symbol in values and not loops.isdisjoint(symbols(values[symbol])):
                raise SchedulingError(
                    f"{inner.func.name} speaks of {symbol}, which moves with a loop around the call", place=place
                )


def _renamed(version: Version, call: Call, program: Program, body: Block) -> Block:
    """The statements of a pipeline on the operands of a call, with names that are free where that stands."""
    operands = dict(
        zip((p.name for p in (*program.inputs, *program.outputs)), (*call.reads, *call.writes), strict=True)
    )
    taken = {p.name for p in version.program.parameters()} | {name for _, name in version.names()}
    taken |= {s.variable.name for s in walk(version.program.body) if isinstance(s, For)} - _elsewhere(version, call)
    names = dict(operands)
    for s in walk(body):
        if isinstance(s, Alloc) and s.buffer not in names:
            names[s.buffer] = next(name for name in numbered(s.buffer) if name not in taken)
            taken.add(names[s.buffer])

    def renamed(statement: Statement) -> Statement:
        if not isinstance(statement, For) or statement.variable.name not in taken:
            return statement
        fresh = variable(next(name for name in numbered(statement.variable.name) if name not in taken))
        return with_variable(statement, fresh, substitute_block(statement.body, {statement.variable: fresh}))

    return tuple(rewritten(s, renamed) for s in with_buffers(body, names))


def _elsewhere(version: Version, call: Call) -> set[str]:
    """The names of loops that do not stand around a call."""
    around = {loop.variable.name for loop in version.loops_around(call.id)}
    return {s.variable.name for s in walk(version.program.body) if isinstance(s, For)} - around
