"""What a program does on small arrays: an element that is read before it is written, two iterations that write one,
two buffers in one memory that write over each other.

A refusal says that something is not shown. Often it is not so, either, and then nothing tells better than an example.
So the statements are followed with integers for all symbols, without callbacks, and each buffer notes what is written.

Invariant: what is found happens in a run on arrays of these bounds, all checks of the program passed. Not finding
anything says nothing, for only a few sizes are tried, and of these none that takes many calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias, assert_never

import attrs
import numpy as np

from slinky.errors import ExpressionError
from slinky.ir.effects import clamped_numbers, numeric_reads, numeric_writes, written_by
from slinky.ir.printer import dimension_names
from slinky.ir.regions import parameter_box
from slinky.ir.sharing import reads_where_it_writes
from slinky.ir.stages import Task, are_in_order, stages_of
from slinky.ir.statements import Alloc, Block, Call, Check, For, If, Pass, Pipelined, Program
from slinky.sched.small_sizes import small_sizes
from slinky.symbolic.expressions import Expr, scalar
from slinky.symbolic.intervals import Box
from slinky.symbolic.traversal import evaluate

NumericBox = tuple[tuple[int, int], ...]
Element = tuple[int, ...]

_MOST_CALLS = 500
_MOST_ITERATIONS = 5_000
_MOST_ELEMENTS = 100_000
"""How much a run may take."""

_LONGEST_BOUNDS = 120
"""Bounds of outputs that take more characters are said at once: all their dimensions have the same."""

_MOST_CALLS_IN_ALL = 1_500


class _TooMuchError(Exception):
    """A run takes more calls or elements than an example is worth, or does what the program cannot mean."""


class _FoundError(Exception):
    """Ends a run at what was looked for."""


@attrs.frozen
class Finding:
    """What happens in a run: words on it, and the run in which it does."""

    what: str
    where: str

    def __str__(self) -> str:
        return f"{self.where}, {self.what}"


def unwritten_read(program: Program, buffer: str, call: int) -> Finding | None:
    """An element of a buffer that a call, given by identity, reads and that is not there, on some small size."""
    return _search(program, lambda values: _Reads(program, values, buffer, call))


def unwritten_output(program: Program, buffer: str) -> Finding | None:
    """An element of an output that is never written, on some small size."""
    return _search(program, lambda values: _Outputs(program, values, buffer))


def race(program: Program, buffer: str, loop: int) -> Finding | None:
    """Two iterations of a loop, given by identity, that write one element of a buffer, or one that reads what another
    writes, on some small size."""
    return _search(program, lambda values: _Races(program, values, buffer, loop))


def overtaken(program: Program, buffer: str, loop: int) -> Finding | None:
    """A place of a buffer that a stage of a pipelined loop touches, iterations ahead, and a later stage later, one of
    them to write it, on some small size."""
    return _search(program, lambda values: _Overlaps(program, values, buffer, loop))


def overwritten(program: Program, alloc: Alloc, folds: tuple[Expr | None, ...]) -> Finding | None:
    """An element of a buffer that is read when another has taken its place, on some small size, if an allocation had
    these folds."""
    return _search(program, lambda values: _Folded(program, values, alloc, folds))


def taken_over(program: Program, host: int, one: int, other: int) -> Finding | None:
    """An element of one of two buffers that is read, though the other one is written over it, on some small size.

    They lie in the memory of a host, which may be one of them; all are given by identity.
    """
    return _search(program, lambda values: _SharedMemory(program, values, host, (one, other)))


def elements_computed(programs: tuple[Program, ...]) -> list[int] | None:
    """How many elements the calls of programs with the same parameters compute, all on one size: the largest of the
    small ones that all can be followed on."""
    counts: list[int] | None = None
    for values in small_sizes(programs[0]):
        try:
            runs = [_Run(program, values) for program in programs]
            for run in runs:
                run.follow()
        except (_TooMuchError, ExpressionError):
            break
        counts = [run.elements for run in runs]
    return counts


def _search(program: Program, make: Callable[[Mapping[Expr, int]], _Run]) -> Finding | None:
    calls = 0
    for values in small_sizes(program):
        try:
            run = make(values)
            run.follow()
        except _FoundError as found:
            return Finding(str(found), run.where())
        except (_TooMuchError, ExpressionError):
            break
        calls += run.calls
        if calls > _MOST_CALLS_IN_ALL:
            break
    return None


# ----------------------------------------------------------------------------------------------------------------
# Following a program
# ----------------------------------------------------------------------------------------------------------------


class _Memory:
    """What is written of a buffer. Of a folded one, each place holds the coordinate that was written there last."""

    def __init__(self, box: NumericBox, folds: tuple[int | None, ...]) -> None:
        self.box = box
        self.folds = folds
        extents = [max(hi - lo + 1, 0) for lo, hi in box]
        shape = [n if fold is None else min(n, fold) for n, fold in zip(extents, folds, strict=True)]
        if math.prod(shape) > _MOST_ELEMENTS:
            raise _TooMuchError
        self.held = np.full(shape, -1, np.int64)
        self.iteration = np.full(shape, -1, np.int64)
        """In which iteration of the loop that is asked about a place was written; -1: in none."""

    def contains(self, region: NumericBox) -> bool:
        """Whether a region lies within the bounds."""
        return all(first <= lo and hi <= last for (lo, hi), (first, last) in zip(region, self.box, strict=True))

    def places(self, region: NumericBox) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.intp]], ...]:
        """Where the elements of a region, which lies within the bounds, are."""
        along = [np.arange(lo - first, hi - first + 1) for (lo, hi), (first, _) in zip(region, self.box, strict=True)]
        return np.ix_(*(a if fold is None else a % fold for a, fold in zip(along, self.folds, strict=True)))

    def labels(self, region: NumericBox) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """What the places of a region hold where its elements are there."""
        label = np.zeros([hi - lo + 1 for lo, hi in region], np.int64)
        for d, ((lo, hi), (first, _), fold) in enumerate(zip(region, self.box, self.folds, strict=True)):
            if fold is not None:
                shape = [-1 if k == d else 1 for k in range(len(region))]
                label = label + np.arange(lo - first, hi - first + 1).reshape(shape)
        return label

    def write(self, region: NumericBox, iteration: int) -> None:
        """Note that a region is written."""
        places = self.places(region)
        self.held[places] = self.labels(region)
        self.iteration[places] = iteration

    def missing(self, region: NumericBox) -> Element | None:
        """An element of a region that is not there."""
        for d, ((lo, hi), (first, last)) in enumerate(zip(region, self.box, strict=True)):
            if lo < first or hi > last:
                return tuple((lo if lo < first else hi) if k == d else each[0] for k, each in enumerate(region))
        wrong = np.argwhere(self.held[self.places(region)] != self.labels(region))
        return _element(region, wrong[0]) if len(wrong) else None

    def is_lost(self, element: Element) -> bool:
        """Whether an element is not there because another has taken its place."""
        region = tuple((k, k) for k in element)
        return self.contains(region) and bool((self.held[self.places(region)] >= 0).any())


def _element(region: NumericBox, offset: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> Element:
    return tuple(lo + int(k) for (lo, _), k in zip(region, offset, strict=True))


class _Run:
    """One run on one size. What is looked for stands in the methods that are told of reads and writes."""

    def __init__(self, program: Program, values: Mapping[Expr, int]) -> None:
        self.program = program
        self.values = dict(values)
        self.memories: dict[str, _Memory] = {}
        self.calls = self.elements = self.iterations = 0
        self.iteration = -1
        self.loops: list[For] = []
        self.folds: dict[int, tuple[Expr | None, ...]] = {}
        for parameter in program.outputs:
            box = self.box(parameter_box(parameter.name, parameter.rank))
            self.memories[parameter.name] = _Memory(box, (None,) * len(box))

    def follow(self) -> None:
        """Follow the program to its end."""
        self.block(self.program.body)

    def block(self, block: Block) -> None:
        """Follow the statements of a block."""
        hidden = dict(self.memories)
        for statement in block:
            match statement:
                case Alloc():
                    self.alloc(statement)
                case For():
                    self.loop(statement)
                case If(condition=condition, body=body, orelse=orelse):
                    self.block(body if evaluate(condition, self.values) else orelse)
                case Check(condition=condition):
                    if not evaluate(condition, self.values):
                        raise _TooMuchError
                case Call():
                    self.call(statement)
                case Pass():
                    pass
                case _:
                    assert_never(statement)
        self.memories = hidden

    def alloc(self, alloc: Alloc) -> None:
        """Allocate a buffer."""
        folds = self.folds.get(alloc.id, alloc.folds)
        numbers = tuple(None if fold is None else self.number(fold) for fold in folds)
        if any(n is not None and n < 1 for n in numbers):
            raise _TooMuchError
        self.memories[alloc.buffer] = _Memory(self.box(alloc.box), numbers)

    def loop(self, loop: For) -> None:
        """Follow a loop."""
        step = self.number(loop.step)
        if step < 1:
            raise _TooMuchError
        self.loops.append(loop)
        for value in range(self.number(loop.range.min), self.number(loop.range.max) + 1, step):
            self.iterations += 1
            if self.iterations > _MOST_ITERATIONS:
                raise _TooMuchError
            self.values[loop.variable] = value
            self.begin(loop, value)
            for stage, block in enumerate(stages_of(loop)):
                self.enter(loop, stage)
                self.block(block)
        self.end(loop)
        self.values.pop(loop.variable, None)
        self.loops.pop()

    def begin(self, loop: For, value: int) -> None:
        """An iteration begins."""

    def enter(self, loop: For, stage: int) -> None:
        """A stage of an iteration begins: of loops that are not pipelined, all of it."""

    def end(self, loop: For) -> None:
        """A loop has ended."""

    def call(self, call: Call) -> None:
        """Follow a call."""
        if any(buffer not in self.memories for buffer in written_by(call)):
            raise _TooMuchError
        box = clamped_numbers(call, self.values, lambda buffer: self.memories[buffer].box)
        if any(lo > hi for lo, hi in box):
            return
        self.calls += 1
        self.elements += math.prod(hi - lo + 1 for lo, hi in box)
        if self.calls > _MOST_CALLS or self.elements > _MOST_ELEMENTS:
            raise _TooMuchError
        for buffer, region in numeric_reads(call, box, self.values):
            memory = self.memories.get(buffer)
            if memory is not None and all(lo <= hi for lo, hi in region):
                self.read(call, buffer, memory, region)
        for buffer, region in numeric_writes(call, box):
            memory = self.memories[buffer]
            self.write(call, buffer, memory, region)
            memory.write(region, self.iteration)

    def read(self, call: Call, buffer: str, memory: _Memory, region: NumericBox) -> None:
        """A call reads a region of an intermediate or an output."""

    def write(self, call: Call, buffer: str, memory: _Memory, region: NumericBox) -> None:
        """A call is about to write a region, which lies within the bounds."""

    def number(self, e: Expr) -> int:
        """The value of an expression here."""
        return evaluate(e, self.values)

    def box(self, box: Box) -> NumericBox:
        """The box that expressions stand for here."""
        return tuple((self.number(i.min), self.number(i.max)) for i in box)

    def where(self) -> str:
        """The run, and the iteration that it is in, as words."""
        given = self._bounds_of_outputs()
        given += [f"{s.name} = {self.values[scalar(s.name)]}" for s in self.program.scalars]
        around = [
            f"{loop.variable} = {self.values[loop.variable]}" for loop in self.loops if loop.variable in self.values
        ]
        return f"with {', '.join(given)}" + (f", in iteration {', '.join(around)}" if around else "")

    def _bounds_of_outputs(self) -> list[str]:
        names = dimension_names(self.program)
        dims = [
            (names(p.name, d), interval)
            for p in self.program.outputs
            for d, interval in enumerate(self.box(parameter_box(p.name, p.rank)))
        ]
        each = [f"{name} = {lo}..{hi}" for name, (lo, hi) in dims]
        if sum(map(len, each)) <= _LONGEST_BOUNDS:
            return each
        lo, hi = dims[0][1]
        return [f"{lo}..{hi} in every dimension of the outputs"]


def _text(buffer: str, element: Element) -> str:
    return f"{buffer}[{', '.join(map(str, element))}]"


class _Reads(_Run):
    """Looks for a read by one call of an element that is not there."""

    def __init__(self, program: Program, values: Mapping[Expr, int], buffer: str, call: int) -> None:
        super().__init__(program, values)
        self.wanted = (buffer, call)

    def read(self, call: Call, buffer: str, memory: _Memory, region: NumericBox) -> None:
        if (buffer, call.id) != self.wanted:
            return
        element = memory.missing(region)
        if element is not None:
            why = "whose place another element has taken" if memory.is_lost(element) else "not written by then"
            raise _FoundError(f"{call.func.name} reads {_text(buffer, element)}, {why}")


class _Folded(_Run):
    """Looks for a read of an element whose place another has taken."""

    def __init__(
        self, program: Program, values: Mapping[Expr, int], alloc: Alloc, folds: tuple[Expr | None, ...]
    ) -> None:
        super().__init__(program, values)
        self.folds[alloc.id] = folds
        self.wanted = alloc.buffer

    def read(self, call: Call, buffer: str, memory: _Memory, region: NumericBox) -> None:
        if buffer == self.wanted:
            element = memory.missing(region)
            if element is not None and memory.is_lost(element):
                raise _FoundError(
                    f"{call.func.name} reads {_text(buffer, element)}, whose place another element has taken"
                )


class _Outputs(_Run):
    """Looks for an element of an output that is not written in the end."""

    def __init__(self, program: Program, values: Mapping[Expr, int], buffer: str) -> None:
        super().__init__(program, values)
        self.wanted = buffer

    def follow(self) -> None:
        super().follow()
        memory = self.memories[self.wanted]
        element = memory.missing(memory.box) if all(lo <= hi for lo, hi in memory.box) else None
        if element is not None:
            raise _FoundError(f"nothing writes {_text(self.wanted, element)}")


class _Races(_Run):
    """Looks for two iterations of a loop that need the same element, one at least to write it."""

    def __init__(self, program: Program, values: Mapping[Expr, int], buffer: str, loop: int) -> None:
        super().__init__(program, values)
        self.wanted = buffer
        self.asked = loop
        self.first = 0
        self.name = ""

    def begin(self, loop: For, value: int) -> None:
        if loop.id == self.asked:
            self.first = self.number(loop.range.min)
            self.iteration = value - self.first
            self.name = loop.variable.name

    def end(self, loop: For) -> None:
        if loop.id == self.asked:
            self.iteration = -1
            for memory in self.memories.values():
                memory.iteration.fill(-1)

    def read(self, call: Call, buffer: str, memory: _Memory, region: NumericBox) -> None:
        if buffer == self.wanted and memory.contains(region):
            self._compare(memory, region, f"{call.func.name} reads {{}}, which is written in iteration {{}}")

    def write(self, call: Call, buffer: str, memory: _Memory, region: NumericBox) -> None:
        if buffer == self.wanted:
            self._compare(memory, region, f"{call.func.name} writes {{}}, which is also written in iteration {{}}")

    def _compare(self, memory: _Memory, region: NumericBox, what: str) -> None:
        if self.iteration < 0:
            return
        written = memory.iteration[memory.places(region)]
        others = np.argwhere((written >= 0) & (written != self.iteration))
        if len(others):
            element = _text(self.wanted, _element(region, others[0]))
            other = f"{self.name} = {int(written[tuple(others[0])]) + self.first}"
            raise _FoundError(what.format(element, other))


_Bytes: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"


@attrs.frozen(eq=False)
class _Lodger:
    """A buffer in shared memory: which one, and how large its elements are."""

    buffer: str
    number: int
    itemsize: int


class _SharedMemory(_Run):
    """Looks for a read of what one of two buffers held, where the other one is written: each byte of their memory notes
    which one has been written there last."""

    def __init__(self, program: Program, values: Mapping[Expr, int], host: int, wanted: tuple[int, int]) -> None:
        super().__init__(program, values)
        self.host = host
        self.wanted = wanted
        self.last = np.zeros(0, np.int64)
        self.lodgers: dict[_Memory, _Lodger] = {}
        self.reading: list[tuple[_Memory, NumericBox]] = []

    def alloc(self, alloc: Alloc) -> None:
        super().alloc(alloc)
        if alloc.id == self.host:  # what lay in it before is gone
            self.last = np.zeros(0, np.int64)
            self.lodgers.clear()
        if alloc.id in self.wanted:
            memory, size = self.memories[alloc.buffer], alloc.dtype.itemsize
            self.lodgers[memory] = _Lodger(alloc.buffer, len(self.lodgers) + 1, size)
            missing = memory.held.size * size - len(self.last)
            self.last = np.concatenate([self.last, np.zeros(max(missing, 0), np.int64)])

    def call(self, call: Call) -> None:
        self.reading.clear()
        super().call(call)

    def read(self, call: Call, buffer: str, memory: _Memory, region: NumericBox) -> None:
        lodger = self.lodgers.get(memory)
        if lodger is None or memory.missing(region) is not None:
            return
        self.reading.append((memory, region))
        last = self.last[self._bytes(memory, region)]
        lost = np.argwhere(last != lodger.number)
        if len(lost):
            *place, _ = found = lost[0]
            other = next(each.buffer for each in self.lodgers.values() if each.number == last[tuple(found)])
            element = _text(buffer, _element(region, np.asarray(place)))
            raise _FoundError(f"{call.func.name} reads {element}, over which {other} has been written")

    def write(self, call: Call, buffer: str, memory: _Memory, region: NumericBox) -> None:
        lodger = self.lodgers.get(memory)
        if lodger is None:
            return
        written = self._bytes(memory, region)
        for source, area in self.reading:
            read = self._bytes(source, area)
            if source is not memory and not self._works_in_place(call, source, memory, read, written):
                over = np.argwhere(np.isin(written, read).any(axis=-1))
                if len(over):
                    place = np.argwhere(np.isin(read, written[tuple(over[0])]).any(axis=-1))[0]
                    old = _text(self.lodgers[source].buffer, _element(area, place))
                    new = _text(buffer, _element(region, over[0]))
                    raise _FoundError(f"{call.func.name} writes {new} over {old}, which it reads")
        self.last[written] = lodger.number

    def _works_in_place(self, call: Call, source: _Memory, target: _Memory, read: _Bytes, written: _Bytes) -> bool:
        """Whether a call makes each element from the one that it writes over, and is declared to."""
        if not call.func.operation.in_place or len(call.func.outputs) > 1:
            return False
        names = self.lodgers[source].buffer, self.lodgers[target].buffer
        return reads_where_it_writes(call, *names) and np.array_equal(read, written)

    def _bytes(self, memory: _Memory, region: NumericBox) -> _Bytes:
        """Where in the memory that the two share the elements of a region lie."""
        first = np.zeros((), np.int64)
        for places, extent in zip(memory.places(region), memory.held.shape, strict=True):
            first = first * extent + places
        size = self.lodgers[memory].itemsize
        return first[..., None] * size + np.arange(size)


class _Overlaps(_Run):
    """Looks for two stages of a pipelined loop, in no order, that need the same place, one at least to write it."""

    def __init__(self, program: Program, values: Mapping[Expr, int], buffer: str, loop: int) -> None:
        super().__init__(program, values)
        self.wanted = buffer
        self.asked = loop
        self.depth = 0
        self.task: Task | None = None
        self.uses: list[tuple[Task, int, str, bool, _Memory, NumericBox]] = []

    def enter(self, loop: For, stage: int) -> None:
        if loop.id == self.asked and isinstance(loop.mode, Pipelined):
            self.depth = loop.mode.depth
            value = self.values[loop.variable]
            number = (value - self.number(loop.range.min)) // self.number(loop.step)
            self.task = (stage, number)
            self.uses = [use for use in self.uses if use[0][1] > number - self.depth]

    def end(self, loop: For) -> None:
        if loop.id == self.asked:
            self.task = None
            self.uses.clear()

    def read(self, call: Call, buffer: str, memory: _Memory, region: NumericBox) -> None:
        if buffer == self.wanted and memory.contains(region):
            self._compare(call, memory, region, writes=False)

    def write(self, call: Call, buffer: str, memory: _Memory, region: NumericBox) -> None:
        if buffer == self.wanted:
            self._compare(call, memory, region, writes=True)

    def _compare(self, call: Call, memory: _Memory, region: NumericBox, *, writes: bool) -> None:
        if self.task is None:
            return
        (loop,) = (loop for loop in self.loops if loop.id == self.asked)
        for task, value, name, wrote, there, other in self.uses:
            if there is not memory or not (writes or wrote) or are_in_order(task, self.task, self.depth):
                continue
            mine, yours = _meeting(memory, region, other)
            if mine is not None and yours is not None:
                same = "it, too" if yours == mine else f"{_text(self.wanted, yours)} in the same place"
                raise _FoundError(
                    f"{call.func.name} {_VERBS[writes]} {_text(self.wanted, mine)}, and {name}, which may still be at "
                    f"{loop.variable} = {value}, {_VERBS[wrote]} {same}"
                )
        self.uses.append((self.task, self.values[loop.variable], call.func.name, writes, memory, region))


_VERBS = ("reads", "writes")


def _meeting(memory: _Memory, one: NumericBox, other: NumericBox) -> tuple[Element | None, Element | None]:
    """Elements of two regions that have the same place; None if there are none."""
    places = [[along.reshape(-1) for along in memory.places(region)] for region in (one, other)]
    first, second = [], []
    for (lo, _), (low, _), a, b in zip(one, other, *places, strict=True):
        _, here, there = np.intersect1d(a, b, return_indices=True)
        if not len(here):
            return None, None
        first.append(lo + int(here[0]))
        second.append(low + int(there[0]))
    return tuple(first), tuple(second)
