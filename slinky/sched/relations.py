"""How do the pieces of one call move with the pieces of another? Asked with numbers, for arrays of given sizes.

A call can be taken strip by strip along each of its dimensions, or along one that it reduces. What a strip reads of a
buffer moves with it at a *rate*: 1 for a stencil, 2 for a func that halves its input, 1/2 for one that doubles it; and
not at all where every strip reads the whole. The rate and the window are found by looking at three strips in the
middle, where no boundary is in the way, through the same `ir.effects` that runs and proofs ask.

Invariant: nothing rests on these answers but how good a schedule is. Whether it is legal, the gate proves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import attrs

from slinky.cursors.cursors import CallCursor
from slinky.errors import OperationError
from slinky.ir.effects import calls_in, clamped_numbers, numeric_reads, numeric_writes
from slinky.ir.operations import Callback, Copy, Expression
from slinky.ir.regions import global_boxes, global_dtypes
from slinky.ir.statements import Alloc, Call
from slinky.pipeline import Pipeline
from slinky.runtime.backends import makes_loops_of
from slinky.runtime.formulas import BLOCK_BYTES
from slinky.runtime.stand_ins import values_of
from slinky.sched.callbacks import Operations, has_threads, operations_of
from slinky.sched.efforts import Effort, effort_of, effort_of_a_copy, effort_of_a_filter
from slinky.sched.passing import known_source
from slinky.symbolic.expressions import Expr
from slinky.symbolic.followed import followed
from slinky.symbolic.intervals import evaluate_box
from slinky.symbolic.traversal import evaluate

NumericBox: TypeAlias = tuple[tuple[int, int], ...]

_LONGEST_PROBE = 64
"""How long the strips are at most that are looked at: a power of two, so that rates of 1/2 to 1/64 show exactly."""

_SHORT_PROBE = 8
"""Shorter strips may be less than a step of what moves slowly: then longer ones are looked at, too, nearer to the
edges."""


_LITTLE = 1 << 13
"""Of calls on fewer bytes their source is not asked: what it tells counts whole cache lines, of which these are few."""


@attrs.frozen
class Motion:
    """How what a strip reads of a buffer moves: strip `lo..hi` reads `rate*lo + first .. rate*hi + last` along `axis`.

    A negative rate moves back: then `rate*hi + first .. rate*lo + last`.
    """

    axis: int
    rate: float
    first: float
    last: float

    def needs(self, lo: float, hi: float) -> tuple[float, float]:
        """The interval of the buffer that strip `lo..hi` reads."""
        ends = (self.rate * lo, self.rate * hi)
        return min(ends) + self.first, max(ends) + self.last

    @property
    def window(self) -> float:
        """How many coordinates a strip of one reads."""
        return self.last - self.first + 1


@attrs.frozen
class Strips:
    """One way to take a call strip by strip: along a dimension, or along one that it reduces.

    `reads` has each buffer that is read, once an access, with how it moves; None where it does not, or along several
    dimensions at once. Strips must be whole `multiple`s where the func computes no other pieces.
    """

    dim: str
    position: int | None
    """Which dimension of the func it is; None for one that is reduced."""
    begin: int
    extent: int
    multiple: int
    reads: tuple[tuple[str, Motion | None], ...]

    @property
    def is_reduced(self) -> bool:
        """Whether it is a dimension that the func reduces, which `split_reduction` takes to pieces."""
        return self.position is None


@attrs.frozen
class Written:
    """A buffer that a call writes: its bytes for this call, and which dimension of the func each of its own is."""

    buffer: str
    bytes: int
    shape: tuple[int, ...]
    dims: tuple[int, ...]
    box: NumericBox


@attrs.frozen
class Related:
    """A call at the top of the program: what it computes, writes and reads, and the ways to take it to pieces."""

    call: CallCursor
    elements: int
    writes: tuple[Written, ...]
    reads: tuple[tuple[str, int], ...]
    """The buffers that it reads, an access each, and how many bytes."""
    shapes: tuple[tuple[int, ...], ...]
    """How many coordinates of each of these it reads."""
    strips: tuple[Strips, ...]
    operations: Operations
    """What its callback does, as far as its code tells."""
    whole: int
    """How many coordinates the dimensions have that it computes whole, along which a callback may go step by step."""
    in_loops: bool = False
    """Whether the back end runs it in loops of its own: then it goes over everything once, and Python calls nothing."""
    has_threads: bool = False
    """Whether its callback runs on all cores by itself."""
    edges: frozenset[int] = frozenset()
    """Of a copy of an argument that goes on beyond its ends: along which dimensions. None of other calls."""
    block: float = math.inf
    """How many bytes it has at hand at a time, however much is computed: of arithmetic, which goes block by block."""
    effort: Effort | None = None
    """What its callback does to arrays of these shapes, where its source tells that."""
    boxes: tuple[NumericBox, ...] = ()
    """What it reads of each of the buffers that it reads."""
    wholes: frozenset[int] = frozenset()
    """The dimensions that it computes whole."""
    remembered: dict[object, Any] = attrs.field(factory=dict, init=False, eq=False, repr=False)
    """What was found out about it, by question."""


def is_read_by(writer: Related, buffer: str, reader: Related) -> bool:
    """Whether a call reads what another one writes to a buffer."""
    written = [w.box for w in writer.writes if w.buffer == buffer]
    read = [box for (name, _), box in zip(reader.reads, reader.boxes, strict=True) if name == buffer]
    return any(_meet(one, other) for one in written for other in read)


def _meet(one: NumericBox, other: NumericBox) -> bool:
    return all(a <= d and c <= b for (a, b), (c, d) in zip(one, other, strict=True))


@attrs.frozen
class Relations:
    """All calls at the top of a program, in program order, for arrays of given sizes."""

    calls: tuple[Related, ...]
    outputs: frozenset[str]
    """The buffers that the caller gives to be written."""
    held: frozenset[str]
    """Buffers that statements inside loops and conditions touch, too: their producers cannot be moved freely."""
    values: Mapping[Expr, int] = attrs.field(eq=False, repr=False)
    """What is known of the parameters of the program, for these arrays."""
    prober: _Prober = attrs.field(eq=False, repr=False)
    """Who found them: of a later version of the program it need not ask everything again."""


def relations(p: Pipeline, *arrays: object, **scalars: Any) -> Relations:
    """How the calls at the top of a program move with each other, for arrays or shapes and scalars as `p.memory` takes.

    Raises `ArgumentError` as a run would, before any callback.
    """
    if not isinstance(p, Pipeline):
        raise OperationError(f"relations: the first argument must be a Pipeline, got {type(p).__name__}")
    return _Prober(p, values_of(p._completing(), arrays, scalars)).relations()


def relations_for(backend: str, p: Pipeline, arrays: tuple[object, ...], scalars: Mapping[str, Any]) -> Relations:
    """The same, with which calls a back end runs in loops of its own."""
    return _told(backend, relations(p, *arrays, **scalars))


def relations_after(backend: str, p: Pipeline, before: Relations) -> Relations:
    """Those of a later version of a program, for the same arrays. Of a call that is as it was, nothing is asked again:
    it has the cursor that it had, into the version before."""
    return _told(backend, _Prober(p, before.values).relations_after(before))


def _told(backend: str, found: Relations) -> Relations:
    """Relations with which calls a back end runs in loops of its own."""
    if backend == "python":
        return found
    told = [makes_loops_of(backend, call.call._call.func) for call in found.calls]
    calls = [
        call if call.in_loops == in_loops else attrs.evolve(call, in_loops=in_loops)
        for call, in_loops in zip(found.calls, told, strict=True)
    ]
    return attrs.evolve(found, calls=tuple(calls))


class _Prober:
    """Looks at strips of calls, for given values of all parameters."""

    def __init__(self, p: Pipeline, values: Mapping[Expr, int]) -> None:
        self.p = p
        self.values = values
        program = p.program
        self.boxes = {name: evaluate_box(box, values) for name, box in global_boxes(program).items()}
        self.dtypes = global_dtypes(program)
        self.inputs = frozenset(i.name for i in program.inputs)
        self.efforts: dict[object, tuple[Effort | None, int]] = {}
        for statement in program.body:
            if isinstance(statement, Alloc):
                self.boxes[statement.buffer] = evaluate_box(statement.box, values)
                self.dtypes[statement.buffer] = statement.dtype

    def relations(self) -> Relations:
        """What is found out about all calls."""
        return self._relations(self.related)

    def relations_after(self, before: Relations) -> Relations:
        """The same, where some calls are known of a version before."""
        known = {call.call._id: call for call in before.calls}
        self.efforts = before.prober.efforts

        def related(call: Call) -> Related:
            found = known.get(call.id)
            if found is None or found.call._call is not call or not self._knows_buffers_of(call, before.prober):
                return self.related(call)
            return found

        return self._relations(related)

    def _relations(self, related: Callable[[Call], Related]) -> Relations:
        program = self.p.program
        calls = [s for s in program.body if isinstance(s, Call)]
        top = {call.id for call in calls}
        inside = [call for call in calls_in(program.body) if call.id not in top]
        held = frozenset(name for call in inside for name in (*call.reads, *call.writes))
        outputs = frozenset(o.name for o in program.outputs)
        return Relations(tuple(map(related, calls)), outputs, held, self.values, self)

    def _knows_buffers_of(self, call: Call, other: _Prober) -> bool:
        """Whether what a call reads and writes has the bounds that it had for another version."""
        buffers = (*call.reads, *call.writes)
        return all(self.boxes[b] == other.boxes[b] and self.dtypes[b] == other.dtypes[b] for b in buffers)

    def related(self, call: Call) -> Related:
        box = clamped_numbers(call, self.values, self.boxes.__getitem__)
        cursor = CallCursor(self.p._version, call.id)
        if any(hi < lo for lo, hi in box):
            return Related(cursor, 0, tuple(self._written(call, box)), (), (), (), Operations(1), 1)
        whole = numeric_reads(call, box, self.values)
        reads = tuple((buffer, _elements(read) * self.dtypes[buffer].itemsize) for buffer, read in whole)
        shapes = tuple(tuple(map(_length, read)) for _, read in whole)
        along = [self._along(call, box, whole, d) for d in range(len(box))]
        strips = (*along, *self._reduced(call))
        writes, found = tuple(self._written(call, box)), tuple(s for s in strips if s is not None)
        operation = call.func.operation
        block = BLOCK_BYTES if isinstance(operation, Expression) and len(operation.formula.steps) > 1 else math.inf
        return Related(
            cursor,
            _elements(box),
            writes,
            reads,
            shapes,
            found,
            operations_of(operation),
            _whole(call, box),
            has_threads=has_threads(operation),
            edges=self._edges(call),
            block=block,
            effort=self._effort(call, box, whole),
            boxes=tuple(read for _, read in whole),
            wholes=frozenset(d for d, _ in call.func.whole),
        )

    def _effort(self, call: Call, box: NumericBox, read: list[tuple[str, NumericBox]]) -> Effort | None:
        """What the callback of a call does, if it is a function that is given what the call reads and writes as it
        lies in these buffers."""
        operation = call.func.operation
        inputs = [(tuple(map(_length, each)), self.dtypes[buffer]) for buffer, each in read]
        written = numeric_writes(call, box)
        outputs = [(tuple(map(_length, each)), self.dtypes[buffer]) for buffer, each in written]
        if isinstance(operation, Copy):
            size = sum(math.prod(shape) * dtype.itemsize for shape, dtype in outputs)
            return effort_of_a_copy(inputs, size, operations_of(operation).once)
        if not isinstance(operation, Callback) or any(port.view is not None for port in call.func.ports):
            return None
        if sum(math.prod(shape) * dtype.itemsize for shape, dtype in (*inputs, *outputs)) < _LITTLE:
            return None
        each = getattr(operation.function, "effort_of_each", None)
        if isinstance(each, (int, float)) and each >= 0:
            axis = getattr(operation.function, "axis_of_lines", None)
            return effort_of_a_filter(inputs[0], outputs[0], each, axis if isinstance(axis, int) else None)
        if operation.pass_buffers:
            begins = [tuple([lo for lo, _ in each]) for _, each in (*read, *written)]
            return effort_of(operation.function, inputs, outputs, begins)
        shaped = (*inputs, *outputs)
        size = sum(math.prod(shape) for shape, _ in shaped)
        about = (id(operation.function), tuple([(*map(_about, shape), dtype) for shape, dtype in shaped]))
        if about in self.efforts:  # as in chains of stencils
            found, of = self.efforts[about]
            return None if found is None else found.scaled(size / max(of, 1))
        found = effort_of(operation.function, inputs, outputs)
        self.efforts[about] = found, size
        return found

    def _edges(self, call: Call) -> frozenset[int]:
        """The dimensions along which a copy of an argument goes on beyond its ends; none of other calls."""
        operation = call.func.operation
        if not isinstance(operation, Copy) or len(operation.sources) != 1 or call.reads[0] not in self.inputs:
            return frozenset()
        if any(port.view for port in call.func.ports):
            return frozenset()
        along = [followed(e, operation.dims) for e, _ in known_source(operation, operation.sources[0])[1]]
        return frozenset() if None in along else frozenset(which.dim for which in along if which is not None)

    def _written(self, call: Call, box: NumericBox) -> list[Written]:
        found = []
        for (buffer, written), port in zip(numeric_writes(call, box), call.func.outputs, strict=True):
            shape = tuple(max(hi - lo + 1, 0) for lo, hi in written)
            found.append(Written(buffer, math.prod(shape) * self.dtypes[buffer].itemsize, shape, port.dims, written))
        return found

    def _along(self, call: Call, box: NumericBox, whole: list[tuple[str, NumericBox]], d: int) -> Strips | None:
        """Strips along a dimension; None for one that is computed whole, or has less than two coordinates."""
        lo, hi = box[d]
        extent = hi - lo + 1
        if extent < 2 or d in dict(call.func.whole):
            return None
        length = min(_LONGEST_PROBE, _power_of_two(extent // 5))
        motions = self._motions(call, box, whole, d, length)
        if length < _SHORT_PROBE and None in motions:  # less than a step of what moves at half the rate, or slower
            longer = self._motions(call, box, whole, d, _power_of_two(extent // 3))
            motions = [one or other for one, other in zip(motions, longer, strict=True)]
        reads = tuple((buffer, motion) for (buffer, _), motion in zip(whole, motions, strict=True))
        multiple = dict(call.func.multiples).get(d, 1)
        return Strips(call.func.dim_names()[d], d, lo, extent, multiple, reads)

    def _motions(
        self, call: Call, box: NumericBox, whole: list[tuple[str, NumericBox]], d: int, length: int
    ) -> list[Motion | None]:
        """How what strips of such a length read moves with them, by access."""
        lo, hi = box[d]
        at = lo + max((hi - lo + 1 - 3 * length) // 2 // length * length, 0)
        places = ((at, at + length - 1), (at + length, at + 2 * length - 1), (at, at + 2 * length - 1))
        probes = [numeric_reads(call, (*box[:d], place, *box[d + 1 :]), self.values) for place in places]
        each = zip(whole, *probes, strict=True)
        return [_motion(at, length, [box for _, box in one]) for one in each]

    def _reduced(self, call: Call) -> list[Strips]:
        """Strips along the dimensions that a func reduces, where it may be taken to pieces. (Past a copy, it reduces
        other axes than those of the buffer that it reads.)"""
        reduction = call.func.reduction
        if reduction is None or not (reduction.is_exact or reduction.may_reassociate):
            return []
        if any(port.view is not None for port in call.func.ports):
            return []
        found = []
        for name, axes in reduction.over:
            ends = [
                tuple(evaluate(e, self.values) for e in (port.box[axis].min, port.box[axis].max))
                for port, axis in zip(call.func.inputs, axes, strict=True)
                if axis is not None
            ]
            extent = min(hi - lo + 1 for lo, hi in ends)
            first = iter(ends)
            reads = tuple(
                (buffer, None if axis is None else Motion(axis, 1.0, float(lo := next(first)[0]), float(lo)))
                for buffer, axis in zip(call.reads, axes, strict=True)
            )
            if extent >= 2:
                found.append(Strips(name, None, 0, extent, 1, reads))
        return found


def _whole(call: Call, box: NumericBox) -> int:
    """How many coordinates there are along the dimensions that a call computes whole, if it has others besides."""
    count = math.prod(box[d][1] - box[d][0] + 1 for d, _ in call.func.whole)
    return count if count < _elements(box) else 1


def _motion(at: int, length: int, boxes: list[NumericBox]) -> Motion | None:
    """How a region moves: given whole, of a strip, of the next one, and of both together."""
    whole, one, following, both = boxes
    if any(lo > hi for lo, hi in both):
        return _motion_of_nothing(at, length, one, following)
    moving = [k for k in range(len(one)) if one[k] != following[k]]
    if len(moving) != 1:
        return None
    (k,) = moving
    rate = (following[k][0] - one[k][0]) / length
    grows = (both[k][1] - both[k][0]) - (one[k][1] - one[k][0])
    if rate == 0 or abs(grows - abs(rate) * length) > 1 or _length(one[k]) * 10 > _length(whole[k]) * 9:
        return None
    ends = (rate * at, rate * (at + length - 1))
    return Motion(k, rate, one[k][0] - min(ends), one[k][1] - max(ends))


def _motion_of_nothing(at: int, length: int, one: NumericBox, following: NumericBox) -> Motion | None:
    """How what is read in the first or the last strip alone would move, if others read as much beside them: by the end
    that moves with the strips, where these read nothing."""
    for k, ((lo, hi), (lo_of_next, hi_of_next)) in enumerate(zip(one, following, strict=True)):
        if lo > hi and lo_of_next > hi_of_next:
            if hi == hi_of_next and lo_of_next - lo == length:
                return Motion(k, 1.0, float(lo - at), float(lo - at))
            if lo == lo_of_next and hi_of_next - hi == length:
                return Motion(k, 1.0, float(hi - (at + length - 1)), float(hi - (at + length - 1)))
    return None


def _about(extent: int) -> int:
    """The same for extents that are nearly the same, where they are not small."""
    return extent if extent < _LONGEST_PROBE else -round(16 * math.log2(extent))


def _power_of_two(number: int) -> int:
    """The largest that is at most a number; 1 for less."""
    return 1 << (max(number, 1).bit_length() - 1)


def _length(ends: tuple[int, int]) -> int:
    return max(ends[1] - ends[0] + 1, 0)  # of a part of a concatenation, say, of which nothing is read


def _elements(box: NumericBox) -> int:
    return math.prod(max(hi - lo + 1, 0) for lo, hi in box)
