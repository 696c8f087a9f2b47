"""What a run counts at most, where there are too many iterations to follow all of them.

Each loop counts as often as it can run, and in it each call and allocation as large as it can be in any iteration.

Invariant: no number is less than what a run counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from slinky.ir.blocks import blocks_of_dims, stored_extents
from slinky.ir.copies import rewritten, with_program_body, with_variable
from slinky.ir.effects import clamped_box, reads, require_no_effect
from slinky.ir.nesting import funcs_in, parameter_regions, parameter_values
from slinky.ir.operations import Copy, Nested
from slinky.ir.regions import constant_box, global_boxes
from slinky.ir.sharing import host_of
from slinky.ir.stages import stages_of
from slinky.ir.statements import Alloc, Block, Call, For, If, Pipelined, Program, Serial, Statement, blocks_of
from slinky.ir.substitution import substitute_block, substitute_program
from slinky.runtime.estimates import NEVER, Allocated, Estimate, Work
from slinky.runtime.lifetimes import guests, memory_releases
from slinky.runtime.strided import laid, strided, strides_given
from slinky.runtime.threads import default_workers
from slinky.symbolic.bounds import bounds
from slinky.symbolic.expressions import Expr, maximum, minimum, variable
from slinky.symbolic.intervals import Box
from slinky.symbolic.traversal import evaluate


def bound(program: Program, values: Mapping[Expr, int], workers: int) -> Estimate:
    """What a run with these values of its symbols counts at most, on so many threads."""
    bounder = _Bounder(program, values, workers)
    peak = bounder.block(program.body, (), 1)
    funcs = {func.name: func for func in funcs_in(program)}
    works = {name: bounder.works.get(name, Work()) for name in funcs}
    copied = sum(
        works[name].elements * func.outputs[0].dtype.itemsize
        for name, func in funcs.items()
        if isinstance(func.operation, Copy)
    )
    peaks = {name: bounder.peaks.get(name, 0) for name in funcs}
    allocations = sum(buffer.times for buffer in bounder.buffers.values())
    return Estimate(peak, allocations, copied, works, False, bounder.buffers, peaks)


class _Bounder:
    """Goes through the statements once."""

    def __init__(self, program: Program, values: Mapping[Expr, int], workers: int) -> None:
        self.values = values
        self.workers = workers
        self.boxes: dict[str, Box] = global_boxes(program)
        self.works: dict[str, Work] = {}
        self.buffers: dict[str, Allocated] = {}
        self.peaks: dict[str, int] = {}

    def most(self, expr: Expr, loops: tuple[For, ...]) -> int:
        """The most that an expression can be in any iteration of loops, given outermost first."""
        for loop in reversed(loops):
            expr = bounds(expr, {loop.variable: loop.range}).max
        return evaluate(expr, self.values)

    def _extent(self, expr: Expr, loops: tuple[For, ...]) -> int:
        return max(self.most(expr, loops), 0)

    def block(self, block: Block, loops: tuple[For, ...], count: int, around: int = 0) -> int:
        """Count the statements of a block that runs so often, with so many bytes of buffers in the blocks around; the
        most bytes that its buffers take."""
        live = peak = 0
        sizes: dict[str, int] = {}
        last_uses, lodgers = memory_releases(block), guests(block)
        for position, statement in enumerate(block):
            if isinstance(statement, Alloc):
                self.boxes[statement.buffer] = statement.box
                if host_of(statement) is None:
                    size = self._size(statement, loops)
                    for guest in lodgers.get(statement.buffer, ()):
                        extents = [self._extent(extent, loops) for extent in guest.extents()]
                        size = max(size, math.prod(extents) * guest.alloc.dtype.itemsize)
                    sizes[statement.buffer] = size
                    live += size
                    known = self.buffers.get(statement.buffer, NEVER)
                    self.buffers[statement.buffer] = Allocated(known.times + count, max(known.bytes, size))
                peak = max(peak, live)
            else:
                peak = max(peak, live + self._inside(statement, loops, count, around + live))
            live -= sum(sizes[name] for name in last_uses.get(position, ()))
        return peak

    def _inside(self, statement: Statement, loops: tuple[For, ...], count: int, around: int) -> int:
        """Follow a statement that is no allocation; the most bytes that buffers in it take."""
        if isinstance(statement, For):
            rounds = self._extent((statement.range.max - statement.range.min) // statement.step + 1, loops)
            if rounds == 0:
                return 0
            inner = (*loops, statement)
            peaks = [self.block(stage, inner, count * rounds, around) for stage in stages_of(statement)]
            at_once = min(self._at_once(statement, loops), rounds)
            if isinstance(statement.mode, Pipelined):  # a stage does one iteration after the other
                return sum(sorted(peaks)[-min(at_once, statement.mode.depth) :])
            return sum(peaks) * at_once
        if isinstance(statement, If):
            return max(self.block(inner, loops, count, around) for _, inner in blocks_of(statement))
        if isinstance(statement, Call):
            self.peaks[statement.func.name] = max(self.peaks.get(statement.func.name, 0), around)
            return self._call(statement, loops, count, around)
        require_no_effect(statement)
        return 0

    def _at_once(self, loop: For, loops: tuple[For, ...]) -> int:
        if isinstance(loop.mode, Serial):
            return 1
        workers = self.workers if loop.mode.workers is None else self.most(loop.mode.workers, loops)
        return max(min(workers, default_workers()), 1)

    def _size(self, alloc: Alloc, loops: tuple[For, ...]) -> int:
        extents = [maximum(i.max - i.min + 1, 0) for i in alloc.box]
        folded = [e if f is None else minimum(e, f) for e, f in zip(extents, alloc.folds, strict=True)]
        shape = [self._extent(extent, loops) for extent in folded]
        shape = stored_extents(blocks_of_dims(alloc), shape, lambda n, length: max(-(-n // length), 1), int)
        layout = strided(alloc)
        if layout is None:
            return math.prod(shape) * alloc.dtype.itemsize
        strides = [self.most(stride, loops) for stride in strides_given(alloc)]
        return laid(alloc.buffer, alloc.dtype.itemsize, shape, layout, strides).size

    def _call(self, call: Call, loops: tuple[For, ...], count: int, around: int) -> int:
        box = clamped_box(call, self.boxes.__getitem__)
        extents = [self._extent(i.max - i.min + 1, loops) for i in box]
        elements = count * math.prod(extents)
        if elements == 0:
            return 0
        needed = math.prod(max(self.most(i.max, loops) + self.most(-i.min, loops) + 1, 0) for i in box)
        read = sum(
            math.prod(self._extent(i.max - i.min + 1, loops) for i in effect.box) * port.dtype.itemsize
            for effect, port in zip(reads(call, box), call.func.inputs, strict=True)
        )
        written = sum(math.prod(extents[d] for d in port.dims) * port.dtype.itemsize for port in call.func.outputs)
        work = Work(count, elements, needed, count * read, count * written)
        known = self.works.get(call.func.name, Work())
        hull = max(known.needed, needed) if not known.calls else known.needed + needed
        self.works[call.func.name] = Work(
            known.calls + work.calls,
            known.elements + work.elements,
            hull,
            known.bytes_read + work.bytes_read,
            known.bytes_written + work.bytes_written,
        )
        return self._inner(call, box, loops, count, around)

    def _inner(self, call: Call, box: Box, loops: tuple[For, ...], count: int, around: int) -> int:
        """Count what an inner pipeline does in a call that runs so often; the most bytes that its buffers take."""
        operation = call.func.operation
        if not isinstance(operation, Nested):
            return 0
        program, outer = operation.program, self.boxes
        self.boxes = {**parameter_regions(call, box), **{c.name: constant_box(c) for c in program.constants}}
        inner = substitute_program(_with_own_loops(program), parameter_values(call, box))
        peak = self.block(inner.body, loops, count, around)
        self.boxes = outer
        return peak


def _with_own_loops(program: Program) -> Program:
    """A program whose loops have variables that nothing else has, so that it can stand in another one."""

    def changed(statement: Statement) -> Statement:
        if not isinstance(statement, For):
            return statement
        own = variable(f"{statement.variable.name}.{statement.id}")
        return with_variable(statement, own, substitute_block(statement.body, {statement.variable: own}))

    return with_program_body(program, tuple(rewritten(s, changed) for s in program.body))
