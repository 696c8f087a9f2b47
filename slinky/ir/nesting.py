"""Funcs that are pipelines of their own: what is in them, and what they are where they are called.

A call of such a func runs a program whose inputs and outputs have the bounds of what the call reads and writes. So all
that the program says in terms of these bounds can be said in terms of the call.
"""

from __future__ import annotations

from collections.abc import Iterator

from slinky.ir.effects import clamped_box, reads
from slinky.ir.operations import Nested
from slinky.ir.regions import input_regions, output_region
from slinky.ir.scopes import Scope, over_loops, program_scope
from slinky.ir.statements import Block, Call, LoweredFunc, Program, blocks_of, walk
from slinky.symbolic.bounds import simplify
from slinky.symbolic.expressions import Expr, Metadata, Scalar, as_expr, metadata, scalar
from slinky.symbolic.intervals import Box, Interval, hull, not_empty
from slinky.symbolic.traversal import union_of_symbols


def funcs_in(program: Program) -> Iterator[LoweredFunc]:
    """The funcs that a program calls, those that pipelines call which it calls, too."""
    waiting = [program]
    while waiting:
        for statement in walk(waiting.pop().body):
            if isinstance(statement, Call):
                yield statement.func
                if isinstance(statement.func.operation, Nested):
                    waiting.append(statement.func.operation.program)


def parameter_regions(call: Call, box: Box) -> dict[str, Box]:
    """The bounds that the inputs and outputs of a pipeline have where it is called over a box that is not empty."""
    operation = call.func.operation
    assert isinstance(operation, Nested)
    program = operation.program
    regions = input_regions(call.func, box)
    found = {p.name: region for p, region in zip(program.inputs, regions, strict=True)}
    written = (output_region(port, box) for port in call.func.outputs)
    found.update({p.name: region for p, region in zip(program.outputs, written, strict=True)})
    return found


def parameter_values(call: Call, box: Box) -> dict[Expr, Expr]:
    """What the symbols of a pipeline stand for where it is called over a box that is not empty: the ends of its inputs
    and outputs, and its scalars. Floats are none of them."""
    found: dict[Expr, Expr] = {}
    for name, region in parameter_regions(call, box).items():
        for d, i in enumerate(region):
            found[metadata(name, d, "min")], found[metadata(name, d, "max")] = i.min, i.max
    for name, value in call.func.operation.arguments:
        if isinstance(value, (int, Expr)):
            found[scalar(name)] = as_expr(value)
    return found


def symbols_of_func(func: LoweredFunc) -> list[Expr]:
    """The symbols of the program around a func in all that the func says: scalars, and ends of buffers."""
    views = [port.view for port in func.ports if port.view is not None]
    boxes = [*(port.box for port in func.inputs), *(view.box for view in views)]
    ends = [e for box in boxes for i in box for e in (i.min, i.max)]
    ends += [e for _, i in func.whole for e in (i.min, i.max)]
    ends += [e for limit in func.part for e in (limit.first, limit.last) if e is not None]
    ends += [e for view in views for e in view.index]
    found = union_of_symbols([*ends, *func.known, *func.operation.expressions()])
    parts = () if func.fused is None else (func.fused.first, func.fused.second)
    own = [s for s in found if isinstance(s, (Metadata, Scalar))]
    return list(dict.fromkeys([*own, *(s for part in parts for s in symbols_of_func(part))]))


def read_regions(program: Program) -> dict[str, Box]:
    """What a program reads of each of its inputs, over all iterations of all loops, in terms of its parameters.

    What it does not read at all is not there.
    """
    inputs = {p.name for p in program.inputs}
    found: dict[str, Box] = {}

    def follow(block: Block, scope: Scope) -> None:
        for statement in block:
            if isinstance(statement, Call):
                box = clamped_box(statement, scope.boxes.__getitem__)
                known = scope.known.also(not_empty(box))
                for effect in reads(statement, box):
                    if effect.buffer in inputs:
                        own = tuple(over_loops(i, reversed(scope.loops), known) for i in effect.box)
                        before = found.get(effect.buffer, own)
                        found[effect.buffer] = tuple(map(hull, before, own))
            for field, inner in blocks_of(statement):
                follow(inner, scope.enter(statement, field))
            scope = scope.after(statement)

    scope = program_scope(program)
    follow(program.body, scope)
    return {
        name: tuple(Interval(simplify(i.min, scope.known), simplify(i.max, scope.known)) for i in box)
        for name, box in found.items()
    }
