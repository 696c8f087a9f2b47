"""The second judge's own runs of a program, on numbers, with callbacks that are not interpreted.

Idea. An element is a 64-bit hash: of the func that wrote it, the port, its coordinates, and the hashes of the elements
that it was computed from. Two programs that give each element of the outputs the same hash compute the same, whatever
the callbacks are; an element computed from wrong data has another hash, and so has all that is computed from it.

Memory is by coordinate (see `judge_memory`): a read of what was never written, of what was overwritten in a fold, or of
what another buffer in the same memory has written over shows at once. A call that writes over what it reads must be
declared to work in place, and each element lie over the one it is made of.

Pipelined loops. A stage of an iteration begins when itself has done the iteration before, the stage before it this one,
and, if it is the first, the last stage the iteration so many before. Those that may run are interleaved at the ends of
calls: the earliest stage first, so that it is as far ahead as it can be, or the latest, in lock-step, or shuffled.

Parallel loops. Iterations are interleaved at the ends of calls: backwards, in lock-step, or shuffled. Two iterations
must not write the same element, even if they write the same, and none may read what another has written.

What an element is computed from is said in `judge_geometry`.
"""

from __future__ import annotations

import itertools
import math
import random
import weakref
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from judge_evaluation import Values, evaluation, metadata_key, scalar_key, symbol_key
from judge_fused import Taken, compute_both, follow_stage
from judge_geometry import (
    Coordinates,
    Geometry,
    Hashes,
    NumericBox,
    OutputPlan,
    TooMuchWorkError,
    WrongProgramError,
    box_text,
    fused_of,
    geometry_of,
    is_parallel,
    named,
    of_coordinates,
    operands_read,
    operands_with_dtypes,
    operands_written,
    orders_asked_for,
    parts_of,
    program_of,
    read_through,
    read_views,
    stages_and_depth,
    stir,
    weighted,
    written_dims,
    written_views,
)
from judge_memory import MOST_ELEMENTS, Iterations, Memory, Room, first_element, points_of
from judge_nested import inputs_of
from judge_views import copied, own_coordinates, own_region, region_through, through

from slinky.ir.operations import Copy
from slinky.ir.statements import Alloc, Block, Call, Check, For, If, LoweredFunc, Pass, Program, View, Within, walk

ORDERS = ("backwards", "in lock-step", "shuffled", "forwards")
"""In which order iterations of parallel loops run."""

_ONE = np.uint64(1)
"""The bit that junk has."""

# ----------------------------------------------------------------------------------------------------------------
# Runs
# ----------------------------------------------------------------------------------------------------------------

MOST_CALLS = 700
_MOST_ITERATIONS = 4_000

Scope: TypeAlias = dict[str, Memory]
Steps: TypeAlias = Generator[None, None, None]


@dataclass(slots=True)
class Origin:
    """How an element came about: who wrote it, and what it read, per port."""

    call: str
    buffer: str
    element: Coordinates
    reads: list[tuple[int, str, Coordinates, int]]
    """Port, buffer, coordinates and hash of each element that was read."""


@dataclass
class Run:
    """One run of a program on values of its symbols. `follow` runs it; then the rest says what came out."""

    program: Program
    values: Values
    order: str
    memories: Scope = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    elements: Counter[str] = field(default_factory=Counter)
    boxes: dict[str, list[NumericBox]] = field(default_factory=dict)
    """What the calls of each func compute."""
    inside: Counter[str] = field(default_factory=Counter)
    """The elements that pipelines compute in calls of them."""
    idle: Counter[str] = field(default_factory=Counter)
    """How often a call had nothing to compute."""
    origins: dict[int, Origin] | None = None
    """With a dictionary here, the origin of each element by its hash: slow."""
    taken: dict[int, Taken] = field(default_factory=dict)
    """What pieces have taken of what fused funcs read that are reductions, by the identity of these."""
    has_parallel_loops: bool = False
    hosts: set[str] | None = None
    _iterations: int = 0
    _count: int = 0
    _staged: int = 0
    """How many pipelined loops are under way."""

    def follow(self) -> None:
        """Run the program. Raises `WrongProgramError` and `TooMuchWorkError`."""
        for parameter in self.program.inputs:
            box = self._bounds(parameter.name, parameter.rank)
            given = Memory(parameter.name, box, (), _given(parameter.name, box))
            self.memories[parameter.name] = given.of(parameter.dtype)
        for constant in self.program.constants:
            box = tuple((lo, lo + n - 1) for lo, n in zip(constant.min, constant.array.shape, strict=True))
            given = Memory(constant.name, box, (), _given(constant.name, box))
            self.memories[constant.name] = given.of(constant.array.dtype)
        for parameter in self.program.outputs:
            box = self._bounds(parameter.name, parameter.rank)
            self.memories[parameter.name] = Memory(parameter.name, box, ()).of(parameter.dtype)
        try:
            for _ in self._block(self.program.body, dict(self.memories), dict(self.values), ()):
                pass
        except ZeroDivisionError:
            raise WrongProgramError("it divides by zero") from None

    def output(self, name: str) -> Hashes:
        """What an output holds in the end."""
        return self.memories[name].values

    def _bounds(self, buffer: str, rank: int) -> NumericBox:
        ends = [[self.values[metadata_key(buffer, d, end)] for end in ("min", "max")] for d in range(rank)]
        return tuple((lo, hi) for lo, hi in ends)

    # Statements -----------------------------------------------------------------------------------------------------

    def _block(self, block: Block, scope: Scope, values: Values, around: Iterations) -> Steps:
        """Run a block, whose allocations go into this scope; in parallel loops, pause after each call."""
        for statement in block:
            match statement:
                case Call():
                    self._call(statement, scope, values, around)
                    if around or self._staged:
                        yield
                case For():
                    yield from self._loop(statement, scope, values, around)
                case Alloc():
                    scope[statement.buffer] = self._allocate(statement, values, scope)
                case If():
                    inner = statement.body if evaluation(statement.condition)(values) else statement.orelse
                    yield from self._block(inner, dict(scope), values, around)
                case Check():
                    if not evaluation(statement.condition)(values):
                        raise WrongProgramError(f"its check {statement.condition} fails")
                case Pass():
                    pass
                case _:
                    raise TypeError(f"the judge does not know {type(statement).__name__}")

    def _allocate(self, alloc: Alloc, values: Values, scope: Scope) -> Memory:
        folds = [None if fold is None else evaluation(fold)(values) for fold in alloc.folds]
        if any(fold is not None and fold < 1 for fold in folds):
            raise WrongProgramError(f"{alloc.buffer} is folded by {folds}")
        memory = Memory(alloc.buffer, numeric(alloc.box, values), folds).of(alloc.dtype)
        if alloc.layout is not None and not any(alloc.layout.blocks):
            memory.strides = tuple(None if e is None else evaluation(e)(values) for e in alloc.layout.strides)
            memory.alignment = alloc.layout.alignment
        if isinstance(alloc.memory, Within):
            host = scope.get(alloc.memory.host)
            if host is None:
                raise WrongProgramError(f"{alloc.buffer} lies in {alloc.memory.host}, which is not in scope")
            if host.room is None:
                raise WrongProgramError(f"{alloc.buffer} lies in {alloc.memory.host}, in which nothing can")
            memory.enter(host.room, alloc.dtype.itemsize)
        elif not any(folds) and alloc.layout is None and alloc.buffer in self._hosts():
            memory.enter(Room(), alloc.dtype.itemsize)
        return memory

    def _hosts(self) -> set[str]:
        """The buffers in whose memory others lie."""
        if self.hosts is None:
            allocs = (s for s in walk(self.program.body) if isinstance(s, Alloc))
            self.hosts = {s.memory.host for s in allocs if isinstance(s.memory, Within)}
        return self.hosts

    def _loop(self, loop: For, scope: Scope, values: Values, around: Iterations) -> Steps:
        first, last = evaluation(loop.range.min)(values), evaluation(loop.range.max)(values)
        step = evaluation(loop.step)(values)
        if step < 1:
            raise WrongProgramError(f"the step of loop {loop.variable} is {step}")
        iterations = range(first, last + 1, step)
        self._iterations += len(iterations)
        if self._iterations > _MOST_ITERATIONS:
            raise TooMuchWorkError
        key = symbol_key(loop.variable)
        if is_parallel(loop):
            self.has_parallel_loops = True
            run = self._iterations
            started = [
                self._block(loop.body, dict(scope), {**values, key: v}, (*around, (run, n)))
                for n, v in enumerate(iterations, start=1)
            ]
            yield from self._interleaved(started, bool(around or self._staged))
            return
        staged = stages_and_depth(loop)
        if staged is not None:
            yield from self._in_stages(loop, iterations, *staged, scope, values, around)
            return
        allocates = any(isinstance(s, Alloc) for s in loop.body)
        for value in iterations:
            values[key] = value
            yield from self._block(loop.body, dict(scope) if allocates else scope, values, around)
        values.pop(key, None)

    def _in_stages(
        self,
        loop: For,
        iterations: range,
        lengths: tuple[int, ...],
        depth: int,
        scope: Scope,
        values: Values,
        around: Iterations,
    ) -> Steps:
        """Run the stages of a pipelined loop, each as soon as it may, in some order."""
        if sum(lengths) != len(loop.body):
            raise WrongProgramError(f"loop {loop.variable} has stages of {lengths} statements")
        self.has_parallel_loops = True
        key, last = symbol_key(loop.variable), len(lengths) - 1
        blocks = [loop.body[sum(lengths[:s]) : sum(lengths[: s + 1])] for s in range(len(lengths))]
        ended = dict.fromkeys(range(len(lengths)), 0)
        running: dict[int, Steps] = {}
        draw = random.Random(len(iterations))
        self._staged += 1
        while ended[last] < len(iterations):
            for s, block in enumerate(blocks):
                n = ended[s]
                room = n < ended[s - 1] if s else n < ended[last] + depth
                if s not in running and n < len(iterations) and room:
                    running[s] = self._block(block, dict(scope), {**values, key: iterations[n]}, around)
            match self.order:
                case "in lock-step":
                    turn = list(running)
                case "shuffled":
                    turn = [draw.choice(list(running))]
                case "backwards":
                    turn = [min(running)]
                case _:
                    turn = [max(running)]
            for s in turn:
                if next(running[s], running) is running:
                    del running[s]
                    ended[s] += 1
            if around or self._staged > 1:
                yield
        self._staged -= 1

    def _interleaved(self, iterations: list[Steps], is_stepwise: bool) -> Steps:
        """Run iterations that may run at the same time, in some order."""
        if self.order == "backwards":
            iterations.reverse()
        draw = random.Random(len(iterations))
        while iterations:
            match self.order:
                case "in lock-step":
                    turn = list(iterations)
                case "shuffled":
                    turn = [draw.choice(iterations)]
                case _:
                    turn = iterations[:1]
            for iteration in turn:
                if next(iteration, iteration) is iteration:
                    iterations.remove(iteration)
            if is_stepwise:
                yield

    # Calls ----------------------------------------------------------------------------------------------------------

    def _call(self, call: Call, scope: Scope, values: Values, around: Iterations) -> None:
        func, known = call.func, prepared(call)
        targets = []
        box = [(low(values), high(values)) for low, high in known.box]
        for name, dims in known.writes:
            memory = scope.get(name)
            if memory is None:
                raise WrongProgramError(f"{func.name} writes {name}, which is not in scope")
            targets.append(memory)
            for dim, (first, last) in zip(dims, memory.box, strict=True):
                lo, hi = box[dim]
                box[dim] = (lo if lo > first else first, hi if hi < last else last)
        for dim, least, most in known.parts:
            lo, hi = box[dim]
            box[dim] = (
                lo if least is None else max(lo, evaluation(least)(values)),
                hi if most is None else min(hi, evaluation(most)(values)),
            )
        count = 1
        for lo, hi in box:
            if lo > hi:
                self.idle[func.name] += 1
                return
            count *= hi - lo + 1
        self._count += 1
        self.calls[func.name] += 1
        self.elements[func.name] += count
        self.boxes.setdefault(func.name, []).append(tuple(box))
        if self._count > MOST_CALLS or count > MOST_ELEMENTS:
            raise TooMuchWorkError
        for name, dtype in known.dtypes:
            if name in scope and scope[name].dtype != dtype:
                raise WrongProgramError(f"{func.name} takes {name} as {dtype}, whose dtype is {scope[name].dtype}")
        for name, order in known.orders:
            memory, itemsize = scope[name], np.dtype(scope[name].dtype).itemsize
            if not memory.lies_in_order(order.dims, order.strides, order.alignment, itemsize):
                raise WrongProgramError(f"{func.name} takes {name} in another order than it lies")
        geometry = geometry_of(func, self.values)
        if any(target.room is not None for target in targets):
            self._check_in_place(call, geometry, tuple(box), targets, scope)
        self.compute(call, geometry, tuple(box), targets, scope)
        if around:
            self._check_shares(call, geometry, tuple(box), targets, scope, around)

    def _check_in_place(
        self, call: Call, geometry: Geometry, box: NumericBox, targets: list[Memory], scope: Scope
    ) -> None:
        """Raise `WrongProgramError` if a call writes over what it reads, and not element by element, or may not."""
        ports, outputs = geometry.plan(box)
        for memory, output in zip(targets, outputs, strict=True):
            written = {b for e in points_of(output.region) for b in memory.bytes_of(e)}
            views = read_views(call.func)
            for number, (name, port, view) in enumerate(zip(operands_read(call), ports, views, strict=True)):
                source = scope[name]
                if source.room is not memory.room or source.room is None or port.hull is None:
                    continue
                hull = port.hull if view is None else region_through(view, port.hull, self.values)
                if written.isdisjoint(b for e in points_of(hull) for b in source.bytes_of(e)):
                    continue
                what = f"{text_of(call.func, box)} writes {memory.name} over {name}, which it reads"
                if not call.func.operation.in_place or len(targets) > 1 or view is not None:
                    raise WrongProgramError(f"{what}, and does not work in place")
                (dims,) = written_dims(call.func)
                for point in points_of(box):
                    into = tuple(point[d] for d in dims)
                    read = points_of(geometry.stated_at(number, point))
                    if len(dims) != len(box) or any(source.bytes_of(e) != memory.bytes_of(into) for e in read):
                        raise WrongProgramError(f"{what} elsewhere than at the element {[*into]}")

    def _check_shares(
        self, call: Call, geometry: Geometry, box: NumericBox, targets: list[Memory], scope: Scope, around: Iterations
    ) -> None:
        """Raise `WrongProgramError` if a call touches what another iteration has written."""
        ports, outputs = geometry.plan(box)
        reads = [
            (scope[name], p.hull if view is None or p.hull is None else region_through(view, p.hull, self.values))
            for name, p, view in zip(operands_read(call), ports, read_views(call.func), strict=True)
        ]
        touched = [(memory, hull, False) for memory, hull in reads if hull is not None]
        touched += [(memory, output.region, True) for memory, output in zip(targets, outputs, strict=True)]
        for memory, region, writes in touched:
            element = memory.shared(region, around, writes=writes)
            if element is not None:
                what = f"{'writes' if writes else 'reads'} {memory.name}{[*element]}"
                raise WrongProgramError(f"{text_of(call.func, box)} {what}, which another iteration has written")

    def compute(self, call: Call, geometry: Geometry, box: NumericBox, targets: list[Memory], scope: Scope) -> None:
        """Compute a box that is not empty."""
        if fused_of(call.func) is not None:
            compute_both(self, call, geometry, box, targets, scope)
            return
        self.compute_alone(call, geometry, box, targets, scope)
        follow_stage(self, call, geometry, box, targets, scope)

    def compute_alone(
        self, call: Call, geometry: Geometry, box: NumericBox, targets: list[Memory], scope: Scope
    ) -> None:
        """The same, of a func that stands for nothing else."""
        func = call.func
        program = program_of(func)
        if program is not None:
            self._run_inner(call, program, geometry, box, targets, scope)
            return
        for dim, whole in geometry.whole.items():
            if box[dim] != whole:
                raise WrongProgramError(
                    f"{text_of(func, box)} computes a part of dimension {func.dims[dim]}: not {whole}"
                )
        port_plans, output_plans = geometry.plan(box)
        found: list[Hashes | None] = []
        sources: list[Memory] = []
        for name, plan, view in zip(operands_read(call), port_plans, read_views(func), strict=True):
            memory = scope.get(name)
            if memory is None:
                raise WrongProgramError(f"{text_of(func, box)} reads {name}, which is not in scope")
            sources.append(memory)
            hashes = None if plan.hull is None else self.seen(func, box, memory, plan.hull, view)
            found.append(hashes if hashes is None or geometry.copy is not None else read_through(plan, hashes))
        if geometry.copy is not None:
            if written_views(func)[0] is None:
                self._copy(geometry, box, found, targets[0])
            else:
                self._copy_through(func, geometry.copy, box, sources, targets[0])
            return
        for memory, output in zip(targets, output_plans, strict=True):
            hashes = self._base(func, box, output)
            for port, factor, order, shape in output.reads:
                part = found[port]
                assert part is not None
                hashes += part.transpose(order).reshape(shape) * factor
            if geometry.is_computed():
                stir(hashes)
            memory.write(output.region, hashes)
            if self.origins is not None:
                self._explain(text_of(func, box), geometry, box, memory, output, sources)

    def _run_inner(
        self, call: Call, program: Program, geometry: Geometry, box: NumericBox, targets: list[Memory], scope: Scope
    ) -> None:
        """Run a pipeline in a call of it, on nothing but what the call says that it reads. Its statements are of this
        run: they read elements as they are, and give theirs the hashes that they have anywhere."""
        inner = Run(program, {}, self.order, origins=self.origins, taken=self.taken)
        _, outputs = geometry.plan(box)
        inner.memories.update((m.name, m) for m in inputs_of(self, call, program, geometry, box, scope))
        views = written_views(call.func)
        for parameter, output in zip(program.outputs, outputs, strict=True):
            is_seen_so = views[output.port] is None
            region = output.region if is_seen_so else own_region(call.func, output.port, box, self.values)
            inner.memories[parameter.name] = Memory(parameter.name, region, ()).of(parameter.dtype)
        for constant in program.constants:
            limits = tuple((lo, lo + n - 1) for lo, n in zip(constant.min, constant.array.shape, strict=True))
            inner.memories[constant.name] = Memory(constant.name, limits, (), _given(constant.name, limits))
        for parameter in (*program.inputs, *program.outputs):
            for d, (lo, hi) in enumerate(inner.memories[parameter.name].box):
                inner.values[metadata_key(parameter.name, d, "min")] = lo
                inner.values[metadata_key(parameter.name, d, "max")] = hi
        for name, value in geometry.arguments.items():
            if isinstance(value, int):
                inner.values[scalar_key(name)] = value
        inner._count, inner._iterations = self._count, self._iterations
        for _ in inner._block(program.body, dict(inner.memories), dict(inner.values), ()):
            pass
        self._count, self._iterations = inner._count, inner._iterations
        self.inside += inner.elements + inner.inside
        self.has_parallel_loops |= inner.has_parallel_loops
        for parameter, target, output in zip(program.outputs, targets, outputs, strict=True):
            hashes = inner.memories[parameter.name].values
            if views[output.port] is not None:
                hashes = own_coordinates(call.func, output.port, box, hashes, output.region, self.values)
            target.write(output.region, hashes)

    def _base(self, func: LoweredFunc, box: NumericBox, output: OutputPlan) -> Hashes:
        """The hashes of the coordinates that an operation writes, as it sees them."""
        view = written_views(func)[output.port]
        if view is None:
            return output.base.copy()
        own = own_region(func, output.port, box, self.values)
        base = of_coordinates(output.salt, own)
        return own_coordinates(func, output.port, box, base, output.region, self.values)

    def seen(self, func: LoweredFunc, box: NumericBox, memory: Memory, hull: NumericBox, view: View | None) -> Hashes:
        """What an operation is given of a port: the elements that it sees in a box."""
        if view is None:
            return self._read(func, box, memory, hull)
        hashes = np.zeros([hi - lo + 1 for lo, hi in hull] + [1], np.uint64)
        for point in itertools.product(*(range(lo, hi + 1) for lo, hi in hull)):
            element = tuple((c, c) for c in through(view, point, self.values))
            at = tuple(c - lo for c, (lo, _) in zip(point, hull, strict=True))
            hashes[at] = self._read(func, box, memory, element).reshape(-1)[0]
        return hashes

    def _copy_through(
        self, func: LoweredFunc, copy: Copy, box: NumericBox, sources: list[Memory], target: Memory
    ) -> None:
        """Write what a copy takes that sees its target by a view."""
        views = read_views(func)

        def read(port: int, element: Coordinates) -> int:
            view = views[port]
            at = element if view is None else through(view, element, self.values)
            return int(self._read(func, box, sources[port], tuple((c, c) for c in at)).reshape(-1)[0])

        (output,) = func.outputs
        region = tuple(box[dim] for dim in output.dims)
        own = own_region(func, 0, box, self.values)
        hashes = copied(copy, own, self.values, read)
        target.write(region, own_coordinates(func, 0, box, hashes, region, self.values))

    @staticmethod
    def _copy(geometry: Geometry, box: NumericBox, found: list[Hashes | None], target: Memory) -> None:
        """Write the hashes of what is copied."""
        plan = geometry.copied(box)
        hashes = np.full(math.prod(hi - lo + 1 for lo, hi in box), plan.fill, np.uint64)
        for (places, elements), part in zip(plan.sources, found, strict=True):
            if part is not None:
                hashes[places] = part.reshape(-1)[elements]
        target.write(box, hashes.reshape(*(hi - lo + 1 for lo, hi in box), 1))

    @staticmethod
    def _read(func: LoweredFunc, box: NumericBox, memory: Memory, hull: NumericBox) -> Hashes:
        for (lo, hi), (first, last) in zip(hull, memory.box, strict=True):
            if lo < first or hi > last:
                where = f"{memory.name}{box_text(hull)}"
                raise WrongProgramError(
                    f"{text_of(func, box)} reads {where} outside of its bounds {box_text(memory.box)}"
                )
        found = memory.read(hull)
        if np.bitwise_or.reduce(found, axis=None) & _ONE:
            element = [*first_element(hull, found & _ONE)]
            raise WrongProgramError(f"{text_of(func, box)} reads {memory.name}{element}, which nothing has written")
        lost = memory.overwritten(hull)
        if lost is not None:
            why = "whose place another element has taken"
            raise WrongProgramError(f"{text_of(func, box)} reads {memory.name}{[*lost]}, {why}")
        return found

    def _explain(
        self,
        call: str,
        geometry: Geometry,
        box: NumericBox,
        target: Memory,
        output: OutputPlan,
        sources: list[Memory],
    ) -> None:
        """Note how each element that was just written came about."""
        assert self.origins is not None
        point = [lo for lo, _ in box]
        for element in itertools.product(*(range(lo, hi + 1) for lo, hi in output.region)):
            for dim, c in zip(output.dims, element, strict=True):
                point[dim] = c
            reads = [
                (port, sources[port].name, source, sources[port].at(source))
                for port, *_ in output.reads
                for source, _ in weighted(geometry.needed_at(port, point))
            ]
            self.origins.setdefault(target.at(element), Origin(call, target.name, element, reads))


@dataclass(slots=True)
class Prepared:
    """What a call says of itself, found out once: runs ask for it again and again."""

    box: list[tuple[Callable[[Values], int], Callable[[Values], int]]]
    writes: list[tuple[str, tuple[int, ...]]]
    parts: list[tuple[int, Any, Any]]
    dtypes: list[tuple[str, Any]]
    orders: list[tuple[str, Any]]


_MOST_PREPARED = 5_000
_prepared: dict[int, tuple[weakref.ref[Call], Prepared]] = {}


def prepared(call: Call) -> Prepared:
    """What a call says of itself."""
    entry = _prepared.get(id(call))
    if entry is not None and entry[0]() is call:
        return entry[1]
    if len(_prepared) >= _MOST_PREPARED:
        _prepared.clear()
    found = Prepared(
        [(evaluation(i.min), evaluation(i.max)) for i in call.box],
        [*zip(operands_written(call), written_dims(call.func), strict=True)],
        parts_of(call.func),
        [*operands_with_dtypes(call)],
        [*orders_asked_for(call)],
    )
    _prepared[id(call)] = weakref.ref(call), found
    return found


def numeric(box: Sequence[Any], values: Values) -> NumericBox:
    """The numbers that the ends of a box are."""
    return tuple((evaluation(i.min)(values), evaluation(i.max)(values)) for i in box)


def text_of(func: LoweredFunc, box: NumericBox) -> str:
    """A call as text."""
    return f"{func.name}{box_text(box)}"


_inputs: dict[tuple[str, NumericBox], Hashes] = {}


def _given(name: str, box: NumericBox) -> Hashes:
    """What an array of the caller holds."""
    found = _inputs.get((name, box))
    if found is None:
        if math.prod(max(hi - lo + 1, 0) for lo, hi in box) > MOST_ELEMENTS:
            raise TooMuchWorkError
        if len(_inputs) > 2_000:
            _inputs.clear()
        found = of_coordinates(named("given", name), box)
        stir(found)
        found.flags.writeable = False
        _inputs[name, box] = found
    return found
