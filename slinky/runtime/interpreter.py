"""The reference interpreter: it defines what the statements of a program mean. Clear before fast.

Invariants: a callback gets views of exactly the regions of its call, never an empty one and never one that leaves its
buffer, and those that it reads are read-only; a buffer is released after the last statement of its block that names it,
and when an error ends the run.

In checked mode each buffer has a shadow (see `shadow`), callbacks that write to their inputs, or leave elements of
their outputs alone, are caught, iterations of a parallel loop must not touch what another one writes, nor stages of a
pipelined loop that overlap, and every element of the outputs must have been written at the end. The stages then run in
one thread, each as far ahead as it may be: what is overwritten too early, is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, assert_never

import attrs
import numpy as np

from slinky.errors import CallbackError, ExecutionError, OverwrittenReadError, UninitializedReadError
from slinky.ir.blocks import blocks_of_dims, is_stored_by_blocks
from slinky.ir.effects import clamped_numbers, numeric_reads, numeric_seen, numeric_writes
from slinky.ir.operations import FloatScalar, Nested, Operation
from slinky.ir.printer import print_program
from slinky.ir.regions import factors_of, is_translation
from slinky.ir.sharing import Guest, host_of, in_place_pairs
from slinky.ir.stages import Task, stages_of
from slinky.ir.statements import (
    Alloc,
    Block,
    Call,
    Check,
    For,
    If,
    InputPort,
    Parallel,
    Pass,
    Pipelined,
    Port,
    Program,
    Serial,
    Statement,
)
from slinky.runtime.arena import aligned_bytes, array_on
from slinky.runtime.arguments import Arguments, require, take_arguments
from slinky.runtime.buffers import Array, Buffer, read_only, seen
from slinky.runtime.callbacks import (
    FirstCalls,
    Noise,
    Poison,
    UnwrittenError,
    array_of,
    check_in_place,
    note_of_error,
    unwritten_error,
)
from slinky.runtime.calling import call_callback
from slinky.runtime.lifetimes import guests, memory_releases
from slinky.runtime.operations import function_of
from slinky.runtime.overlaps import StagedRun, Tasks
from slinky.runtime.races import Iteration, LoopRun
from slinky.runtime.run_options import RunOptions
from slinky.runtime.shadow import Shadow, SharedBytes
from slinky.runtime.statistics import Meter, Recorder, RunStatistics, bytes_copied_per_element
from slinky.runtime.storage import (
    NumericBox,
    Storage,
    allocate,
    allocate_blocks,
    allocate_strided,
    box_text,
    program_bytes,
    reserve,
    shape_of,
)
from slinky.runtime.strided import strided, strides_given
from slinky.runtime.threads import run_far_ahead, run_parallel, run_stages, workers_or_default
from slinky.symbolic.expressions import Expr
from slinky.symbolic.intervals import evaluate_box
from slinky.symbolic.traversal import evaluate


@attrs.frozen(eq=False)
class Interpreted:
    """A program that the interpreter runs: the back end `interpreter` (see `backends`)."""

    program: Program

    @property
    def source(self) -> str:
        """What it runs: the statements of the program."""
        return print_program(self.program)

    def enter(self, arrays: Sequence[object], scalars: Mapping[str, object]) -> Any:
        """Run; return the output, or a tuple of the outputs."""
        outputs, _ = interpret(self.program, arrays, scalars, RunOptions())
        return outputs[0] if len(outputs) == 1 else outputs

    def record(self, arrays: Sequence[object], scalars: Mapping[str, object], options: RunOptions) -> RunStatistics:
        """Run, with every check that the options ask for, and return what was used."""
        return interpret(self.program, arrays, scalars, options)[1]

    def bind(self, arrays: Sequence[object], scalars: Mapping[str, object]) -> Callable[[], Any]:
        """What runs on these arguments, as often as it is called."""
        take_arguments(self.program, arrays, scalars)
        return partial(self.enter, tuple(arrays), dict(scalars))

    def release(self) -> None:
        """Nothing: no memory is kept between runs."""


def interpret(
    program: Program, arrays: Sequence[object], scalars: Mapping[str, object], options: RunOptions
) -> tuple[tuple[object, ...], RunStatistics]:
    """Run a program on arrays, inputs then outputs, and scalars by name; return the outputs and the statistics.

    Raises `ArgumentError` before anything ran, `ExecutionError` for a program that cannot be carried out as written.
    An exception of a callback propagates with a note that names the call and its box.
    """
    given = take_arguments(program, arrays, scalars)
    recorder = Recorder(bytes_copied_per_element(program), options.hooks, options.timed, options.threads)
    tested = FirstCalls() if options.checked == "first" else None
    meter = Meter()
    _carry_out(program, given, recorder, tested, meter, is_checked=options.checked is True)
    return given.results, recorder.statistics(meter.peak)


def _carry_out(
    program: Program,
    given: Arguments,
    recorder: Recorder,
    tested: FirstCalls | None,
    meter: Meter,
    *,
    is_checked: bool,
) -> None:
    """Run a program, or one in another."""
    shadows: dict[str, Shadow] | None = None
    if is_checked:
        outputs = [given.storages[p.name] for p in program.outputs]
        shadows = {s.name: Shadow(s.name, s.box, [None] * len(s.box)) for s in outputs}
    machine = _Machine(program, recorder, workers_or_default(recorder.threads), tested, given.floats, meter)
    frame = _Frame(dict(given.storages), dict(given.values), dict(shadows) if shadows is not None else None)
    machine.block(program.body, frame)
    for shadow in (shadows or {}).values():
        missing = shadow.unwritten()
        if missing is not None:
            raise UninitializedReadError(f"element {list(missing)} of output {shadow.name} was never written")


@attrs.frozen(eq=False)
class _Frame:
    """What is in scope: buffers, values of symbols, in checked mode the shadows of what is written here, and the
    iteration of the parallel loops around, and the tasks of the pipelined ones."""

    storages: dict[str, Storage]
    values: dict[Expr, int]
    shadows: dict[str, Shadow] | None
    iteration: Iteration = ()
    tasks: Tasks = ()
    rooms: dict[str, Array] = attrs.field(factory=dict)
    """The memory of each buffer in which others lie."""

    def copy(self, *inner: tuple[LoopRun, int]) -> _Frame:
        """The same in a loop, of which an iteration is given if it is parallel."""
        shadows = None if self.shadows is None else dict(self.shadows)
        iteration = (*self.iteration, *inner)
        return _Frame(dict(self.storages), dict(self.values), shadows, iteration, self.tasks, dict(self.rooms))

    def of_task(self, run: StagedRun, task: Task) -> _Frame:
        """The same in a stage of an iteration of a pipelined loop."""
        return attrs.evolve(self.copy(), tasks=(*self.tasks, (run, task)))


@attrs.frozen(eq=False)
class _Machine:
    """Carries out statements."""

    program: Program
    recorder: Recorder
    threads: int
    tested: FirstCalls | None
    floats: dict[str, float]
    meter: Meter
    noise: Noise = attrs.field(factory=Noise)

    def block(self, block: Block, frame: _Frame) -> None:
        """Run the statements of a block in order; buffers allocated here end here, whatever happens."""
        last_uses, lodgers = memory_releases(block), guests(block)
        sizes: dict[str, int] = {}
        lodged: list[str] = []
        try:
            for position, statement in enumerate(block):
                if isinstance(statement, Alloc) and host_of(statement) is not None:
                    lodged.append(statement.buffer)
                    self._lodge(statement, frame)
                elif isinstance(statement, Alloc):
                    sizes[statement.buffer] = self._allocate(statement, frame, lodgers.get(statement.buffer, ()))
                else:
                    self._statement(statement, frame)
                for name in last_uses.get(position, ()):
                    self._free(name, sizes, frame)
        finally:
            for name in list(sizes):
                self._free(name, sizes, frame)
            for name in lodged:
                self._leave(name, frame)

    def _lodge(self, alloc: Alloc, frame: _Frame) -> None:
        """Put a buffer into the memory of its host. In checked mode it has its own: whether that shows, shadows say."""
        host, box = host_of(alloc), evaluate_box(alloc.box, frame.values)
        assert host is not None
        if frame.shadows is None:
            array = array_on(frame.rooms[host], shape_of(box), alloc.dtype)
            storage = Storage(alloc.buffer, box, array, 0)
        else:
            storage = allocate(alloc.buffer, alloc.dtype, box, [None] * len(box))
            shared = frame.shadows[host].shared
            frame.shadows[alloc.buffer] = Shadow(alloc.buffer, box, [None] * len(box), alloc.dtype.itemsize, shared)
        frame.storages[alloc.buffer] = storage
        self.meter.add(storage.nbytes)

    def _allocate(self, alloc: Alloc, frame: _Frame, lodgers: Sequence[Guest]) -> int:
        """Allocate a buffer, with room for those that lie in its memory; the bytes that this takes by the program."""
        box = evaluate_box(alloc.box, frame.values)
        folds = [None if fold is None else evaluate(fold, frame.values) for fold in alloc.folds]
        for d, fold in enumerate(folds):
            if fold is not None and fold < 1:
                raise ExecutionError(
                    f"dimension {alloc.dims[d]} of {alloc.buffer} is folded by {fold}; needs 1 or more"
                )
        layout = strided(alloc)
        room = max((_bytes_of(guest, frame) for guest in lodgers), default=0)
        if lodgers and frame.shadows is None:
            size = max(room, program_bytes(alloc.dtype, box, folds))
            memory = frame.rooms[alloc.buffer] = reserve(aligned_bytes, size, alloc.buffer)
            storage = Storage(alloc.buffer, box, array_on(memory, shape_of(box), alloc.dtype), size)
        elif is_stored_by_blocks(alloc):
            storage = allocate_blocks(alloc.buffer, alloc.dtype, box, blocks_of_dims(alloc))
            size = storage.nbytes
        elif layout is None:
            size = max(room, program_bytes(alloc.dtype, box, folds))
            storage = allocate(alloc.buffer, alloc.dtype, box, folds)
        else:
            given = [evaluate(stride, frame.values) for stride in strides_given(alloc)]
            storage = allocate_strided(alloc.buffer, alloc.dtype, box, layout, given)
            size = storage.nbytes
        frame.storages[alloc.buffer] = storage
        self.meter.add(storage.nbytes)
        if frame.shadows is not None:
            shared = SharedBytes(size) if lodgers else None
            frame.shadows[alloc.buffer] = Shadow(alloc.buffer, box, folds, alloc.dtype.itemsize, shared)
        self.recorder.allocated(alloc.buffer, size)
        return size

    def _free(self, name: str, sizes: dict[str, int], frame: _Frame) -> None:
        self._leave(name, frame)
        self.recorder.freed(name, sizes.pop(name))

    def _leave(self, name: str, frame: _Frame) -> None:
        self.meter.add(-frame.storages.pop(name).nbytes)
        frame.rooms.pop(name, None)
        if frame.shadows is not None:
            del frame.shadows[name]

    def _statement(self, statement: Statement, frame: _Frame) -> None:
        match statement:
            case Call():
                self._call(statement, frame)
            case For():
                self._loop(statement, frame)
            case If(condition=condition, body=body, orelse=orelse):
                self.block(body if evaluate(condition, frame.values) else orelse, frame)
            case Check():
                require(self.program, statement, frame.values)
            case Pass():
                pass
            case Alloc():
                raise AssertionError("a block makes its allocations itself")
            case _:
                assert_never(statement)

    def _loop(self, loop: For, frame: _Frame) -> None:
        first, last = evaluate(loop.range.min, frame.values), evaluate(loop.range.max, frame.values)
        step = evaluate(loop.step, frame.values)
        if step < 1:
            raise ExecutionError(f"the step of loop {loop.variable} is {step}; needs 1 or more")
        iterations = range(first, last + 1, step)

        def iterate(value: int, inner: _Frame) -> None:
            inner.values[loop.variable] = value
            self.block(loop.body, inner)

        match loop.mode:
            case Serial():
                inner = frame.copy()
                for value in iterations:
                    iterate(value, inner)
            case Parallel(workers=workers):
                threads = self.threads if workers is None else evaluate(workers, frame.values)
                if threads < 1:
                    raise ExecutionError(f"loop {loop.variable} has {threads} workers; needs 1 or more")
                run = LoopRun(loop.variable.name)
                run_parallel(iterations, lambda value: iterate(value, frame.copy((run, value))), threads)
            case Pipelined():
                self._stages(loop, loop.mode, iterations, frame)
            case _:
                assert_never(loop.mode)

    def _stages(self, loop: For, mode: Pipelined, iterations: range, frame: _Frame) -> None:
        threads = self.threads if mode.workers is None else evaluate(mode.workers, frame.values)
        if threads < 1:
            raise ExecutionError(f"loop {loop.variable} has {threads} workers; needs 1 or more")
        run = StagedRun(loop.variable.name, iterations, mode.depth)

        def stage(number: int, block: Block) -> Callable[[int], None]:
            def task(value: int) -> None:
                inner = frame.of_task(run, (number, iterations.index(value)))
                inner.values[loop.variable] = value
                self.block(block, inner)

            return task

        stages = [stage(number, block) for number, block in enumerate(stages_of(loop))]
        if frame.shadows is None:
            run_stages(iterations, stages, mode.depth, threads)
        else:
            run_far_ahead(iterations, stages, mode.depth)

    # Calls --------------------------------------------------------------------------------------------------------

    def _call(self, call: Call, frame: _Frame) -> None:
        box = self._clamped(call, frame)
        if any(lo > hi for lo, hi in box):
            return
        name = f"{call.func.label}{box_text(box)}"
        try:
            self._compute(call, name, box, frame)
        except BaseException as error:
            error.add_note(f"in the call {name} of pipeline {self.program.name}")
            further = note_of_error(call, error)
            if further is not None:
                error.add_note(further)
            raise

    def _compute(self, call: Call, name: str, box: NumericBox, frame: _Frame) -> None:
        """Run the operation of a call over a box that is not empty. `name` is the call, for messages."""
        reads, writes = numeric_reads(call, box, frame.values), numeric_writes(call, box)
        if frame.shadows is not None:
            for buffer, region in reads:
                shadow = frame.shadows.get(buffer)
                if shadow is not None:
                    frame.storages[buffer].view(region)
                    shadow.read(region, name, frame.iteration, frame.tasks)
            _check_in_memory(call, name, reads, writes, frame.shadows)
        operation = call.func.operation
        seen_boxes = numeric_seen(call, box, frame.values)
        operands = []
        for port, (buffer, region), own in zip(call.func.ports, (*reads, *writes), seen_boxes, strict=True):
            view = frame.storages[buffer].view(region)
            if isinstance(port, InputPort) and not operation.writable_inputs:
                view = read_only(view)
            operands.append(self._operand(operation, port, view, region, own))
        inputs, outputs = operands[: len(reads)], operands[len(reads) :]
        arguments = {key: self._argument(value, frame) for key, value in operation.arguments}
        self._run(call, name, box, inputs, outputs, arguments, guarded=frame.shadows is not None)
        if frame.shadows is not None:
            for buffer, region in writes:
                frame.shadows[buffer].write(region, name, frame.iteration, frame.tasks)

    def _argument(self, value: Any, frame: _Frame) -> Any:
        if isinstance(value, FloatScalar):
            return self.floats[value.name]
        return evaluate(value, frame.values) if isinstance(value, Expr) else value

    def _clamped(self, call: Call, frame: _Frame) -> NumericBox:
        return clamped_numbers(call, frame.values, lambda buffer: frame.storages[buffer].box)

    @staticmethod
    def _operand(operation: Operation, port: Port, view: Array, region: NumericBox, own: NumericBox | None) -> Any:
        """What an operation is given for a region, of which it may see another box, `own`, by the view of the port."""
        if port.view is not None and own is not None:
            region = own
            if not is_translation(port.view):
                view = seen(view, factors_of(port.view), shape_of(own))
        return Buffer(view, tuple(lo for lo, _ in region)) if operation.pass_buffers else view

    def _run(
        self,
        call: Call,
        name: str,
        box: NumericBox,
        inputs: list[Any],
        outputs: list[Any],
        arguments: dict[str, Any],
        *,
        guarded: bool,
    ) -> None:
        func, function = call.func, self._function(call.func.operation, is_checked=guarded)
        before = [array_of(operand).tobytes() for operand in inputs] if guarded else None
        poison = Poison(outputs, self.noise) if guarded and not isinstance(function, np.ufunc) else None
        is_nested = isinstance(func.operation, Nested)
        callback = function if self.tested is None or is_nested else self.tested.guard(func)
        try:
            with self.recorder.call(func.name, box):
                call_callback(callback, name, inputs, outputs, arguments)
        except UnwrittenError as error:
            raise unwritten_error(call, name, box, error) from None
        if guarded:
            if before != [array_of(operand).tobytes() for operand in inputs]:
                raise CallbackError(f"the callback of {name} wrote to one of its inputs")
            missing = poison.unwritten(outputs) if poison is not None else None
            if missing is not None:
                raise unwritten_error(call, name, box, missing)
            check_in_place(call, name, inputs, outputs, arguments)

    def _function(self, operation: Operation, *, is_checked: bool) -> Callable[..., Any]:
        """What carries out an operation: an inner pipeline is interpreted, too, with the same checks."""
        if not isinstance(operation, Nested):
            return function_of(operation)
        program = operation.program

        def interpret_inner(*buffers: Any, **scalars: Any) -> None:
            given = take_arguments(program, buffers, scalars)
            _carry_out(program, given, self.recorder, self.tested, self.meter, is_checked=is_checked)

        return interpret_inner


def _bytes_of(guest: Guest, frame: _Frame) -> int:
    """The most bytes that a buffer takes in the memory of another."""
    return math.prod(evaluate(extent, frame.values) for extent in guest.extents()) * guest.alloc.dtype.itemsize


def _check_in_memory(
    call: Call,
    name: str,
    reads: Sequence[tuple[str, NumericBox]],
    writes: Sequence[tuple[str, NumericBox]],
    shadows: Mapping[str, Shadow],
) -> None:
    """Check that a call does not write over what it reads, unless it works in place there.

    Raises `OverwrittenReadError` naming the call and both buffers.
    """
    in_place = set(in_place_pairs(call))
    for written, target in writes:
        for read, source in reads:
            if written in shadows and read in shadows and shadows[written].spoils(shadows[read], target, source):
                same = shadows[written].lies_over(shadows[read], target, source)
                if not same or (read, written) not in in_place:
                    raise OverwrittenReadError(f"{name} writes {written} over {read}, which it reads")
