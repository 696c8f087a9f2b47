"""Is a program well formed? What `verify` accepts, the interpreter can walk.

Checked: identities stand once; names of buffers and loop variables are in scope and hide nothing; boxes, folds and
accesses fit their buffers; inputs and constants are not written; no intermediate is read before any statement that
writes it, except one that an earlier iteration of a loop around both may have run, which is not parallel; no read
region is shown to leave its buffer; steps and folds are not shown to be below 1; pipelined loops have the statements
that their stages have.
"""

from __future__ import annotations

from typing import NoReturn, assert_never

from slinky.errors import ProgramError
from slinky.ir.effects import clamped_box, reads, written_by
from slinky.ir.orders import lies_in_order, words_of_order
from slinky.ir.regions import global_dtypes
from slinky.ir.scopes import Scope, program_scope
from slinky.ir.sharing import host_of
from slinky.ir.stages import fault_of
from slinky.ir.statements import (
    Alloc,
    Block,
    Call,
    Check,
    For,
    If,
    Layout,
    OutputPort,
    Pass,
    Port,
    Program,
    Statement,
    blocks_of,
    is_in_order,
    walk,
    workers_of,
)
from slinky.symbolic.expressions import Expr, Metadata, Scalar, Variable, negate
from slinky.symbolic.intervals import Box, box_symbols, not_empty
from slinky.symbolic.proofs import Facts, impossible, prove
from slinky.symbolic.traversal import symbols, union_of_symbols


def verify_program(program: Program) -> None:
    """Check a program.

    Raises `ProgramError` naming the first statement that is not well formed, and why.
    """
    _Verifier(program).run()


class _Verifier:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.parameters = {p.name: p for p in (*program.inputs, *program.outputs)}
        self.dtypes = global_dtypes(program)
        self.read_only = {p.name for p in program.inputs} | {c.name for c in program.constants}
        self.scalars = {s.name for s in program.scalars}
        self.floats = {f.name for f in program.floats}
        self.written: set[str] = set(self.read_only)

    def run(self) -> None:
        program = self.program
        names = [p.name for p in (*program.inputs, *program.outputs)]
        names += (
            [s.name for s in program.scalars] + [f.name for f in program.floats] + [c.name for c in program.constants]
        )
        for name in names:
            if names.count(name) > 1:
                raise ProgramError(f"pipeline {program.name}: the name {name!r} stands for two parameters")
        seen: set[int] = set()
        for statement in walk(program.body):
            if statement.id in seen:
                self.fail(statement, f"its identity {statement.id} stands twice")
            seen.add(statement.id)
        scope = program_scope(program)
        scope = self.block(program.body, scope)
        for output in program.outputs:
            is_empty = impossible(scope.known.also(not_empty(scope.boxes[output.name])))
            if output.name not in self.written and not is_empty:
                raise ProgramError(f"pipeline {program.name}: no statement writes output {output.name!r}")

    def fail(self, statement: Statement, why: str) -> NoReturn:
        kind = type(statement).__name__.lower()
        what = {
            Alloc: lambda s: f" {s.buffer}", Call: lambda s: f" of {s.func.name}", For: lambda s: f" {s.variable}",
        }.get(type(statement), lambda s: "")(statement)  # fmt: skip
        raise ProgramError(f"pipeline {self.program.name}, {kind}{what}: {why}")

    def block(self, block: Block, scope: Scope) -> Scope:
        """Check a block; what is known behind it."""
        for statement in block:
            self.statement(statement, scope)
            if isinstance(statement, For) and is_in_order(statement):
                # What one iteration reads, an earlier one may have written: a window that slides.
                self.written.update(name for inner in walk(statement.body) for name in written_by(inner))
            for field, inner in blocks_of(statement):
                self.block(inner, scope.enter(statement, field))
            scope = scope.after(statement)
        return scope

    def statement(self, statement: Statement, scope: Scope) -> None:
        match statement:
            case Alloc():
                self.alloc(statement, scope)
            case Call():
                self.call(statement, scope)
            case For():
                self.loop(statement, scope)
            case If(condition=condition) | Check(condition=condition):
                self.in_scope(statement, symbols(condition), scope)
            case Pass():
                pass
            case _:
                assert_never(statement)

    def alloc(self, alloc: Alloc, scope: Scope) -> None:
        if alloc.buffer in scope.boxes:
            self.fail(alloc, f"a buffer called {alloc.buffer!r} is already in scope")
        self.hides_nothing(alloc, alloc.buffer, scope)
        if not len(alloc.box) == len(alloc.dims) == len(alloc.folds):
            self.fail(alloc, f"{len(alloc.dims)} dimensions, {len(alloc.box)} intervals, {len(alloc.folds)} folds")
        self.written.discard(alloc.buffer)
        self.in_scope(alloc, box_symbols(alloc.box), scope)
        for fold in alloc.folds:
            if fold is not None:
                self.in_scope(alloc, symbols(fold), scope)
                if prove(fold <= 0, scope.known) and not impossible(scope.known):
                    self.fail(alloc, f"a fold must be 1 or more, got {fold}")

        host = host_of(alloc)
        if host is not None:
            self.guest(alloc, host, scope)
        if alloc.layout is not None:
            strides = [stride for stride in alloc.layout.strides if stride is not None]
            for stride in strides:
                self.in_scope(alloc, symbols(stride), scope)
            if any(fold is not None for fold in alloc.folds):
                self.fail(alloc, "a buffer that is folded cannot have a layout of its own")
            if len(alloc.layout.strides) != len(alloc.dims):
                self.fail(alloc, f"{len(alloc.dims)} dimensions, {len(alloc.layout.strides)} strides")
            self.blocks(alloc, alloc.layout)

    def blocks(self, alloc: Alloc, layout: Layout) -> None:
        """Fail unless a layout can be by the blocks that it says."""
        if layout.blocks and len(layout.blocks) != len(alloc.dims):
            self.fail(alloc, f"{len(alloc.dims)} dimensions, {len(layout.blocks)} lengths of blocks")
        for length in layout.blocks:
            if length is not None and length < 1:
                self.fail(alloc, f"a block has 1 coordinate or more, got {length}")
        if any(layout.blocks) and (layout.alignment > 1 or any(stride is not None for stride in layout.strides)):
            self.fail(alloc, "a buffer that is stored by blocks has no strides and no alignment of its own")

    def guest(self, alloc: Alloc, host: str, scope: Scope) -> None:
        """Fail unless an allocation can lie in the memory of another one."""
        other = scope.allocs.get(host)
        if other is None:
            self.fail(alloc, f"it lies in {host!r}, which is not allocated here")
        if host_of(other) is not None:
            self.fail(alloc, f"it lies in {host!r}, which has no memory of its own")
        for each in (alloc, other):
            if each.layout is not None or any(fold is not None for fold in each.folds):
                self.fail(each, "a buffer that shares memory is not folded, and has no layout of its own")

    def loop(self, loop: For, scope: Scope) -> None:
        if any(outer.variable is loop.variable for outer in scope.loops):
            self.fail(loop, "an enclosing loop has the same variable")
        self.hides_nothing(loop, loop.variable.name, scope)
        self.in_scope(loop, symbols(loop.range.min) | symbols(loop.range.max) | symbols(loop.step), scope)
        if prove(loop.step <= 0, scope.known) and not impossible(scope.known):
            self.fail(loop, f"the step must be 1 or more, got {loop.step}")
        fault = fault_of(loop)
        if fault is not None:
            self.fail(loop, fault.words)
        workers = workers_of(loop)
        if workers is not None:
            self.in_scope(loop, symbols(workers), scope)
            if prove(workers <= 0, scope.known) and not impossible(scope.known):
                self.fail(loop, f"the number of workers must be 1 or more, got {workers}")

    def call(self, call: Call, scope: Scope) -> None:
        func = call.func
        if len(call.box) != len(func.dims):
            self.fail(call, f"the box has {len(call.box)} intervals, the func has {len(func.dims)} dimensions")
        self.in_scope(call, box_symbols(call.box), scope)
        for what, operands, ports in (("write", call.writes, func.outputs), ("read", call.reads, func.inputs)):
            if len(operands) != len(ports):
                self.fail(call, f"it {what}s {len(operands)} buffers, the func {what}s {len(ports)}")
        for buffer, output in zip(call.writes, func.outputs, strict=True):
            self.buffer(call, buffer, output, scope)
            if buffer in self.read_only:
                self.fail(call, f"it writes {buffer!r}, which may only be read")
            if writes_what_it_touches(call, buffer):
                self.fail(call, f"it writes {buffer!r}, and touches it by another port, too")
        for buffer, port in zip(call.reads, func.inputs, strict=True):
            self.buffer(call, buffer, port, scope)
            self.in_scope(call, box_symbols(port.box) - set(func.dims), scope)
            if buffer not in self.written and not self.reads_nothing(call, buffer, scope):
                self.fail(call, f"it reads {buffer!r}, which nothing has written")
        self.func(call, scope)
        for value in func.operation.floats():
            if value.name not in self.floats:
                self.fail(call, f"scalar {value} is not a parameter")
        self.regions(call, scope)
        self.written.update(call.writes)

    def func(self, call: Call, scope: Scope) -> None:
        """Fail unless what the func of a call says besides its ports is known where it is called."""
        func = call.func
        views = [port.view for port in func.ports if port.view is not None]
        for view in views:
            self.in_scope(call, box_symbols(view.box) - set(func.dims), scope)
            self.in_scope(call, union_of_symbols(view.index) - set(view.dims), scope)
        ends = [e for limit in func.part for e in (limit.first, limit.last) if e is not None]
        ends += [e for _, i in func.whole for e in (i.min, i.max)]
        self.in_scope(call, union_of_symbols((*ends, *func.known, *func.operation.expressions())), scope)

    def where_it_runs(self, call: Call, scope: Scope) -> tuple[Box, Facts]:
        """The box of a call, clamped, and what is known where it has anything to do."""
        box = clamped_box(call, scope.boxes.__getitem__)
        return box, scope.known.also(not_empty(box))

    def reads_nothing(self, call: Call, buffer: str, scope: Scope) -> bool:
        """Whether it is shown that a call reads no element of a buffer, or has nothing to do, wherever it runs."""
        box, known = self.where_it_runs(call, scope)
        regions = (effect.box for effect in reads(call, box) if effect.buffer == buffer)
        return all(impossible(known.also(not_empty(region))) for region in regions)

    def regions(self, call: Call, scope: Scope) -> None:
        """Fail if a read, of whatever length, is shown to leave its buffer, wherever the call does anything."""
        box, known = self.where_it_runs(call, scope)
        for effect in reads(call, box):
            for d, (i, limit) in enumerate(zip(effect.box, scope.boxes[effect.buffer], strict=True)):
                for condition in (limit.min <= i.min, i.max <= limit.max):
                    # Where a condition and its opposite are shown, what is known cannot be: nothing runs. One of the
                    # two may be too long to be shown of it.
                    if prove(negate(condition), known) and not prove(condition, known) and not impossible(known):
                        self.fail(
                            call,
                            f"it reads {effect.buffer!r} in {i} of dimension {d}, which holds only {limit}",
                        )

    def buffer(self, statement: Call, name: str, port: Port, scope: Scope) -> None:
        rank, dtype = port.rank, port.dtype
        box = scope.boxes.get(name)
        if box is None:
            self.fail(statement, f"buffer {name!r} is not in scope")
        if len(box) != rank:
            self.fail(statement, f"buffer {name!r} has rank {len(box)}, accessed with {rank} dimensions")
        own = self.dtypes.get(name) if name not in scope.allocs else scope.allocs[name].dtype
        if own != dtype:
            self.fail(statement, f"buffer {name!r} has dtype {own}, accessed as {dtype}")
        if port.order is not None:
            alloc = scope.allocs.get(name)
            if alloc is None or not lies_in_order(alloc, port.order, scope.known):
                names = alloc.dims if alloc is not None else tuple(map(str, range(rank)))
                self.fail(statement, f"buffer {name!r} is not shown to lie {words_of_order(port.order, names)}")

    def hides_nothing(self, statement: Statement, name: str, scope: Scope) -> None:
        """Fail if a name that a statement gives stands for something else there already."""
        loops = (loop.variable.name for loop in scope.loops)
        if name in scope.boxes or name in self.scalars or name in self.floats or name in loops:
            self.fail(statement, f"the name {name!r} is already in scope")

    def in_scope(self, statement: Statement, used: frozenset[Expr], scope: Scope) -> None:
        loops = {loop.variable for loop in scope.loops}
        for symbol in sorted(used, key=str):
            if isinstance(symbol, Metadata):
                parameter = self.parameters.get(symbol.buffer)
                if parameter is None or symbol.dim >= parameter.rank:
                    self.fail(statement, f"{symbol} is not in scope")
            elif isinstance(symbol, Scalar):
                if symbol.name not in self.scalars:
                    self.fail(statement, f"scalar {symbol} is not a parameter")
            elif isinstance(symbol, Variable) and symbol not in loops:
                self.fail(statement, f"variable {symbol} is not in scope")


def writes_what_it_touches(call: Call, buffer: str) -> bool:
    """Whether a call touches a buffer that it writes by another port, too; unless what it computes an element from has
    smaller coordinates along one dimension."""
    port = call.func.outputs[call.writes.index(buffer)]
    return call.writes.count(buffer) > 1 or not _reads_earlier_ones(call, buffer, port)


def _reads_earlier_ones(call: Call, buffer: str, output: OutputPort) -> bool:
    """Whether of a buffer that a call writes, what it computes an element from, if anything, has smaller coordinates
    along one dimension."""
    dims = [call.func.dims[d] for d in output.dims]
    return all(
        any(prove(i.max < dim) for i, dim in zip(port.box, dims, strict=True))
        for read, port in zip(call.reads, call.func.inputs, strict=True)
        if read == buffer
    )
