"""Programs as text: stable, one line per statement, the same for equal programs.

In a call, the output shows the box that is computed and each input the region read for that box, before both are
clamped. `:` stands for a dimension's whole box: all of the buffer's dimension or, in an input, the same interval as
the dimension of the output that it follows point by point.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_never

import attrs
import numpy as np

from slinky.ir.effects import Effect, limits, reads
from slinky.ir.operations import FloatScalar
from slinky.ir.regions import global_boxes, is_translation
from slinky.ir.statements import (
    Alloc,
    Block,
    BufferParameter,
    Call,
    Check,
    For,
    Heap,
    If,
    InputPort,
    Layout,
    Memory,
    Mode,
    Parallel,
    Pass,
    Pipelined,
    Port,
    Program,
    Serial,
    Statement,
    Within,
    walk,
)
from slinky.symbolic.expressions import Expr, Node, constant_value
from slinky.symbolic.intervals import Box, Interval, interval_text
from slinky.symbolic.text import DimensionNames, plain_dialect, positional, written

INDENT = "  "


@attrs.frozen
class Line:
    """A line of a printed program, and the identity of the statement that it belongs to (None for the header)."""

    depth: int
    text: str
    identity: int | None

    def __str__(self) -> str:
        return INDENT * self.depth + self.text


def print_program(program: Program) -> str:
    """The text of a program."""
    return "\n".join(map(str, program_lines(program)))


def program_lines(program: Program) -> list[Line]:
    """The lines of a printed program, in order."""
    writer = _Writer(program)
    lines = [Line(0, writer.header(), None)]
    lines += [Line(1, writer.constant(c), None) for c in program.constants]
    lines += [Line(1, text, None) for text in (*_whole_dimensions(program), *_multiples(program))]
    writer.block(program.body, 1, lines)
    if len(lines) == 1:
        lines.append(Line(1, "pass", None))
    return lines


def statement_line(program: Program, statement: Statement, in_scope: Iterable[Alloc]) -> str:
    """The line of one statement, given the allocations that are in scope there."""
    writer = _Writer(program)
    for alloc in in_scope:
        writer.enter(alloc)
    return writer.statement(statement)


def _whole_dimensions(program: Program) -> list[str]:
    """A line for each dimension that a func computes whole."""
    funcs = dict.fromkeys(s.func for s in walk(program.body) if isinstance(s, Call) and s.func.whole)
    texts = [f"whole {func.name}.{func.dim_names()[d]}" for func in funcs for d, _ in func.whole]
    return list(dict.fromkeys(texts))


def _multiples(program: Program) -> list[str]:
    """A line for each dimension that a func computes in whole pieces."""
    funcs = dict.fromkeys(s.func for s in walk(program.body) if isinstance(s, Call) and s.func.multiples)
    texts = [f"multiple {func.name}.{func.dim_names()[d]} {n}" for func in funcs for d, n in func.multiples]
    return list(dict.fromkeys(texts))


def program_header(program: Program) -> str:
    """The first line of a printed program: its name and parameters."""
    return _Writer(program).header()


def expression_text(program: Program, node: Node) -> str:
    """An expression or condition as the program prints it, with the names of dimensions."""
    return _Writer(program).expr(node)


def dimension_names(program: Program) -> DimensionNames:
    """How a program writes the dimensions of its buffers."""
    return _Writer(program).name


def interval_in(program: Program, i: Interval) -> str:
    """An interval as the program prints it."""
    return _Writer(program).interval(i)


class _Writer:
    """Knows the names of dimensions and the bounds of buffers while lines are written."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.dims: dict[str, tuple[str, ...]] = {p.name: p.dims for p in (*program.inputs, *program.outputs)}
        self.boxes: dict[str, Box] = global_boxes(program)
        self.dialect = plain_dialect(self.name)
        self.texts: dict[Node, str] = {}
        """What was written, for a program says the same many times. (Expressions name dimensions of parameters only, so
        these texts stay what they are.)"""

    def enter(self, alloc: Alloc) -> None:
        """A buffer is in scope from here on."""
        self.dims.setdefault(alloc.buffer, alloc.dims)
        self.boxes[alloc.buffer] = alloc.box

    def name(self, buffer: str, dim: int) -> str:
        dims = self.dims.get(buffer)
        return (
            positional(buffer, dim)
            if dims is None or dim >= len(dims) or dims[dim].isdigit()
            else f"{buffer}.{dims[dim]}"
        )

    def expr(self, node: Node) -> str:
        found = self.texts.get(node)
        if found is None:
            found = self.texts[node] = written(node, self.dialect, {})
        return found

    def interval(self, i: Interval) -> str:
        return interval_text(self.expr(i.min), self.expr(i.max))

    def header(self) -> str:
        program = self.program
        inputs = [_parameter(p) for p in program.inputs] + [s.name for s in program.scalars]
        inputs += [f"{f.name}: float" for f in program.floats]
        return f"pipeline {program.name}({', '.join(inputs)}) -> ({', '.join(map(_parameter, program.outputs))}):"

    @staticmethod
    def constant(c: Any) -> str:
        box = ", ".join(f"{lo}..{lo + extent - 1}" for lo, extent in zip(c.min, c.array.shape, strict=True))
        return f"constant {c.name}: {c.array.dtype}[{box}]"

    def block(self, block: Block, depth: int, lines: list[Line]) -> None:
        if not block and depth > 1:
            lines.append(Line(depth, "pass", None))
        added: list[str] = []
        for statement in block:
            lines.append(Line(depth, self.statement(statement), statement.id))
            match statement:
                case Alloc(buffer=buffer):
                    self.enter(statement)
                    added.append(buffer)
                case For(body=body):
                    self.block(body, depth + 1, lines)
                case If(body=body, orelse=orelse):
                    self.block(body, depth + 1, lines)
                    if orelse:
                        lines.append(Line(depth, "else:", statement.id))
                        self.block(orelse, depth + 1, lines)
                case Call() | Check() | Pass():
                    pass
                case _:
                    assert_never(statement)
        for buffer in added:
            self.boxes.pop(buffer, None)

    def statement(self, statement: Statement) -> str:
        match statement:
            case Alloc(buffer=buffer, dtype=dtype, box=box, folds=folds, layout=layout, memory=memory):
                parts = [
                    self.interval(i) + (f" fold {self.expr(fold)}" if fold is not None else "")
                    for i, fold in zip(box, folds, strict=True)
                ]
                return f"alloc {buffer}: {dtype}[{', '.join(parts)}]" + self.layout(layout) + self.memory(memory)
            case Call():
                return self.call(statement)
            case For(variable=variable, range=range_, step=step, mode=mode):
                text = f"for {variable.name} in {self.interval_of_loop(range_)}"
                if constant_value(step) != 1:
                    text += f" step {self.expr(step)}"
                return text + self.mode(mode) + ":"
            case If(condition=condition):
                return f"if {self.expr(condition)}:"
            case Check(condition=condition):
                return f"check {self.expr(condition)}"
            case Pass():
                return "pass"
            case _:
                assert_never(statement)

    def layout(self, layout: Layout | None) -> str:
        if layout is None:
            return ""
        strides = ", ".join("_" if stride is None else self.expr(stride) for stride in layout.strides)
        said = f" strides ({strides})" if any(stride is not None for stride in layout.strides) else ""
        blocks = ", ".join("_" if length is None else str(length) for length in layout.blocks)
        said += f" blocks ({blocks})" if any(layout.blocks) else ""
        return said + (f" aligned {layout.alignment}" if layout.alignment > 1 else "")

    @staticmethod
    def memory(memory: Memory) -> str:
        match memory:
            case Heap():
                return ""
            case Within(host=host):
                return f" in {host}"
            case _:
                assert_never(memory)

    def mode(self, mode: Mode) -> str:
        match mode:
            case Serial():
                return ""
            case Parallel(workers=workers):
                return " parallel" if workers is None else f" parallel {self.expr(workers)}"
            case Pipelined(stages=stages, depth=depth, workers=workers):
                text = f" pipelined ({', '.join(map(str, stages))}) depth {depth}"
                return text if workers is None else f"{text} workers {self.expr(workers)}"
            case _:
                assert_never(mode)

    def interval_of_loop(self, i: Interval) -> str:
        lo, hi = self.expr(i.min), self.expr(i.max)
        return f"{lo} .. {hi}" if " " in lo + hi else f"{lo}..{hi}"

    def call(self, call: Call) -> str:
        func = call.func
        outputs = [
            self.viewed(port, f"{buffer}[{', '.join(self.written(buffer, port.dims, call.box))}]")
            for buffer, port in zip(call.writes, func.outputs, strict=True)
        ]
        arguments = [
            self.viewed(port, f"{effect.buffer}[{', '.join(self.read(call, port, effect))}]")
            for port, effect in zip(func.inputs, reads(call, call.box), strict=True)
        ]
        arguments += [f"{name}={self.argument(value)}" for name, value in func.operation.shown()]
        return f"{', '.join(outputs)} = {func.label}({', '.join(arguments)}){self.part(call)}"

    def part(self, call: Call) -> str:
        """Where the func of a call gives the values, as far as its box does not say so."""
        names = call.func.dim_names()
        texts = []
        for limit in call.func.part:
            clamped, i = limit.clamp(call.box[limit.dim]), call.box[limit.dim]
            lower = f"{self.expr(limit.first)} <= " if limit.first is not None and clamped.min is not i.min else ""
            upper = f" <= {self.expr(limit.last)}" if limit.last is not None and clamped.max is not i.max else ""
            if lower or upper:
                texts.append(f"{lower}{names[limit.dim]}{upper}")
        return f" where {' and '.join(texts)}" if texts else ""

    def viewed(self, port: Port, region: str) -> str:
        """A region, and how the operation sees it, unless it is just the region."""
        if port.view is None or is_translation(port.view):
            return region
        return f"view({region}, [{', '.join(map(self.expr, port.view.index))}])"

    def written(self, buffer: str, dims: tuple[int, ...], box: Box) -> list[str]:
        limits = self.boxes.get(buffer)
        return [
            ":" if _is_all(box[dim], limits, position) else self.interval(box[dim]) for position, dim in enumerate(dims)
        ]

    def read(self, call: Call, port: InputPort, effect: Effect) -> list[str]:
        bounds = self.boxes.get(effect.buffer)
        whole = self.whole_dims(call)
        texts = []
        for position, (i, formula) in enumerate(zip(effect.box, port.box, strict=True)):
            follows = formula.min is formula.max and formula.min in whole
            covers = _is_all(i, bounds, position)
            texts.append(":" if follows or covers else self.interval(i))
        return texts

    def whole_dims(self, call: Call) -> set[Expr]:
        """The dimensions of a func that a call computes in full."""
        found = ((d, self.boxes.get(buffer), position) for d, buffer, position in limits(call))
        return {call.func.dims[d] for d, box, position in found if _is_all(call.box[d], box, position)}

    def argument(self, value: object) -> str:
        if isinstance(value, np.generic):
            value = value.item()  # its repr depends on the version of NumPy
        if isinstance(value, Node):
            return self.expr(value)
        if isinstance(value, FloatScalar):
            return value.name
        if isinstance(value, (int, float, complex, str, bool, type(None))):
            return repr(value)
        if isinstance(value, np.ndarray):
            return f"<{value.dtype} array of shape {value.shape}>"
        if isinstance(value, (tuple, list)):
            inner = ", ".join(map(self.argument, value))
            return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
        return f"<{type(value).__name__}>"


def _is_all(i: Interval, bounds: Box | None, position: int) -> bool:
    """Whether an interval is all of a dimension of a buffer. A wrong program may name a dimension that is not there."""
    return bounds is not None and position < len(bounds) and i == bounds[position]


def _parameter(p: BufferParameter) -> str:
    return f"{p.name}: {p.dtype}[{p.rank}]"
