"""What will a run count? The program is followed over all iterations of its loops at once, with numbers for sizes.

No callback runs, no array is made, and no plan. Counts depend on the bounds of the arguments alone: they are those of
`run`, exactly. What a statement reads and writes, and how a call is clamped, `ir.effects` and `ir.regions` say; when a
buffer is needed, `lifetimes`.

Invariant: an estimate that `is_exact` equals what a run then counts; any other is at least that.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import TypeAlias, cast

import attrs
import numpy as np

from slinky.errors import ExecutionError
from slinky.ir.blocks import blocks_of_dims, is_stored_by_blocks, stored_extents
from slinky.ir.effects import limits, require_no_effect
from slinky.ir.nesting import funcs_in
from slinky.ir.operations import Copy, Nested
from slinky.ir.regions import constant_box, end_symbols, global_boxes, input_templates, output_region
from slinky.ir.sharing import Guest, host_of
from slinky.ir.stages import stages_of
from slinky.ir.statements import (
    Alloc,
    Block,
    Call,
    For,
    If,
    LoweredFunc,
    Pipelined,
    Program,
    Serial,
    Statement,
)
from slinky.runtime import ramps
from slinky.runtime.call_boxes import Boxes
from slinky.runtime.iterations import (
    LARGEST_EXACT,
    Nest,
    largest_of,
    numbers_for,
    require_few,
    smallest_of,
)
from slinky.runtime.lengths import geometry_of
from slinky.runtime.lifetimes import guests, memory_releases
from slinky.runtime.omitted import Completion
from slinky.runtime.ramps import Array, Number, Ramp, TooManyError, dense, greatest, least
from slinky.runtime.spans import Span, span
from slinky.runtime.stand_ins import values_of
from slinky.runtime.strided import laid, strided, strides_given
from slinky.runtime.threads import default_workers, most_threads, workers_or_default
from slinky.symbolic.expressions import Expr, Node, as_expr, metadata, scalar
from slinky.symbolic.intervals import Box, Interval

Ends: TypeAlias = tuple[Number, Number]
"""The first and the last coordinate along a dimension."""


@attrs.frozen
class Work:
    """What the calls of a func do, or those of all funcs.

    * `calls`: how often the callback runs.
    * `elements`: how many points of its dimensions are computed, counting repetitions.
    * `needed`: how many points the smallest box has that holds all of these: as many as if each were computed once.
    * `bytes_read`, `bytes_written`: the sizes of the regions that the callback is given, counting repetitions.
    """

    calls: int = 0
    elements: int = 0
    needed: int = 0
    bytes_read: int = 0
    bytes_written: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(*(a + b for a, b in zip(attrs.astuple(self), attrs.astuple(other), strict=True)))


@attrs.frozen
class Allocated:
    """How often a buffer is allocated, and how many bytes it takes then at most."""

    times: int
    bytes: int


NEVER = Allocated(0, 0)
"""What is not allocated."""


@attrs.frozen
class Estimate:
    """What a run will count, found without running.

    `program_bytes`, `allocations`, `calls`, `elements` and `bytes_copied` are those of `RunStatistics`. Where parallel
    loops allocate, `program_bytes` is the most that a run can take. `funcs` has the work of each func by its name, and
    `total` that of all. `buffers` says of each allocated buffer how often it is allocated, and how large it is, and
    `peaks`, per func, the most that those buffers take that are in scope and still needed when it is called; of a loop
    whose iterations run at the same time, those of one iteration. Where `is_exact` is false, there are too many
    iterations to look at: every number is a bound, and a run counts at most that.
    """

    program_bytes: int
    allocations: int
    bytes_copied: int
    funcs: dict[str, Work]
    is_exact: bool
    buffers: dict[str, Allocated] = attrs.field(factory=dict)
    peaks: dict[str, int] = attrs.field(factory=dict)

    @property
    def calls(self) -> dict[str, int]:
        """Per func, how often its callback runs."""
        return {name: work.calls for name, work in self.funcs.items()}

    @property
    def elements(self) -> dict[str, int]:
        """Per func, how many points are computed."""
        return {name: work.elements for name, work in self.funcs.items()}

    @property
    def total(self) -> Work:
        """The work of all funcs."""
        return reduce(Work.__add__, self.funcs.values(), Work())


def estimate(
    completion: Completion, arguments: Sequence[object], scalars: Mapping[str, object], threads: int | None
) -> Estimate:
    """What a run of a program on these arrays, or arrays of these shapes, will count.

    Raises `ArgumentError` as the run would.
    """
    return estimate_for(completion.program, values_of(completion, arguments, scalars), workers_or_default(threads))


def estimate_for(program: Program, values: Mapping[Expr, int], workers: int) -> Estimate:
    """The same for what is known of its parameters, which are those of all its schedules."""
    piece = None
    while piece != 0:
        try:
            return _followed(program, values, workers, piece)
        except TooManyError:
            piece = ramps.MOST_ITERATIONS if piece is None else piece // 4
    from slinky.runtime.estimate_bounds import bound

    return bound(program, values, workers)


def _followed(program: Program, values: Mapping[Expr, int], workers: int, piece: int | None) -> Estimate:
    """The estimate, outermost loops taken in pieces of so many iterations, or whole.

    Raises `TooManyError` where these are too large, or too many.
    """
    return _follow(_Follower(program, workers), program, values, piece)


def _follow(
    follower: _Follower,
    program: Program,
    values: Mapping[Expr, int],
    piece: int | None,
    patience: int = 1,
) -> Estimate:
    nest = Nest(dict[Node, Number](values.items()), dtype=numbers_for(values), piece=piece, patience=patience)
    for name, box in global_boxes(program).items():
        follower.boxes[name] = [(nest.value(i.min), nest.value(i.max)) for i in box]
    return follower.result(largest_of(follower.block(program.body, nest)))


@attrs.define
class Asked:
    """How often an allocation is made, and for which key a plan then asks its arena (see `arena`): None where it is not
    always the same; and the most bytes that its elements take. `sizes` say for each piece of the iterations in which of
    these it is made, as the masks of a nest, and how many bytes it takes."""

    times: int
    key: tuple[int, ...] | None
    most: int
    sizes: dict[int, tuple[tuple[Array, ...], Number]] = attrs.field(factory=dict)


@attrs.define
class Followed:
    """What is asked for of the allocations of a program, by identity; none of what is never made. Of each loop whose
    iterations may run at the same time, by identity, these iterations, piece by piece, and how many of them do, at
    most: None where that is not clear. Pieces are numbered: an outermost loop is taken in several, if it is long."""

    asked: dict[int, Asked] = attrs.field(factory=dict)
    iterations: dict[int, dict[int, Nest]] = attrs.field(factory=dict)
    at_once: dict[int, int | None] = attrs.field(factory=dict)


def followed_allocations(program: Program, values: Mapping[Expr, int], workers: int) -> tuple[Estimate, Followed]:
    """The estimate of a program, and what is asked for of its allocations.

    Raises `TooManyError` where there are too many iterations to look at.
    """
    for piece in (None, ramps.MOST_ITERATIONS, *_PIECES):
        follower = _Follower(program, workers)
        found = follower.followed = Followed()
        try:
            return _follow(follower, program, values, piece, _PATIENCE), found
        except TooManyError:
            continue
    raise TooManyError


_PATIENCE = 4
"""So many times as many iterations as for estimates are looked at: to rehearse these would take minutes."""

_PIECES = tuple(ramps.MOST_ITERATIONS >> 2 * n for n in range(1, 5))
"""How many iterations of an outermost loop are taken at once, where more are too many: more than run at once."""


@attrs.define
class _Tally:
    """What has been counted of a func."""

    calls: int = 0
    elements: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    peak: int = 0
    hulls: dict[int, list[tuple[int, int]]] = attrs.field(factory=dict)
    """By rank: a func of an inner pipeline may be called like another one."""

    def cover(self, box: list[tuple[int, int]]) -> None:
        """The box that holds all must hold this one, too."""
        known = self.hulls.get(len(box), box)
        self.hulls[len(box)] = [(min(a, lo), max(b, hi)) for (a, b), (lo, hi) in zip(known, box, strict=True)]

    def work(self) -> Work:
        needed = sum(math.prod(hi - lo + 1 for lo, hi in hull) for hull in self.hulls.values())
        return Work(self.calls, self.elements, needed, self.bytes_read, self.bytes_written)


class _Follower:
    """Follows the statements of a program; `boxes` are the bounds of the buffers that are in scope."""

    def __init__(self, program: Program, workers: int) -> None:
        self.workers = workers
        self.boxes: dict[str, list[Ends]] = {}
        self.buffers: dict[str, Allocated] = {}
        self.followed: Followed | None = None
        """With such a thing here, it is filled."""
        self._piece = 0
        """The number of the piece of an outermost loop that is followed."""
        self._running: int | None = 1
        funcs = list(funcs_in(program))
        self.tallies = {func.name: _Tally() for func in funcs}
        self._copied = {f.name: f.outputs[0].dtype.itemsize for f in funcs if isinstance(f.operation, Copy)}

    def result(self, peak: int) -> Estimate:
        """The estimate, of a run with this peak of memory."""
        copied = sum(size * self.tallies[name].elements for name, size in self._copied.items())
        works = {name: tally.work() for name, tally in self.tallies.items()}
        peaks = {name: tally.peak for name, tally in self.tallies.items()}
        allocations = sum(buffer.times for buffer in self.buffers.values())
        return Estimate(peak, allocations, copied, works, True, self.buffers, peaks)

    # Blocks -------------------------------------------------------------------------------------------------------

    def block(self, block: Block, nest: Nest, around: Number = 0) -> Number:
        """Follow a block, with so many bytes of buffers in the blocks around; the most bytes that its buffers take."""
        live: Number = 0
        peak: Number = 0
        sizes: dict[str, Number] = {}
        last_uses, lodgers = memory_releases(block), guests(block)
        for position, statement in enumerate(block):
            if isinstance(statement, Alloc):
                size = self._allocate(statement, nest, lodgers.get(statement.buffer, ()))
                if host_of(statement) is None:
                    sizes[statement.buffer] = size
                    live = live + size
                    peak = greatest(peak, live)
                    self._allocated(statement.buffer, size, nest)
            else:
                inside = self._inside(statement, nest, around + live)
                if not _is_nothing(inside):
                    peak = greatest(peak, live + inside)
            for name in last_uses.get(position, ()):
                live = live - sizes[name]
        return peak

    def _inside(self, statement: Statement, nest: Nest, around: Number) -> Number:
        """Follow a statement that is no allocation; the most bytes that buffers in it take."""
        if isinstance(statement, Call):
            return self._call(statement, nest, around)
        if isinstance(statement, For):
            return self._loop(statement, nest, around)
        if isinstance(statement, If):
            holds, body, orelse = nest.value(statement.condition), statement.body, statement.orelse
            if not isinstance(holds, np.ndarray):  # a condition is never a ramp
                return self.block(body if holds else orelse, nest, around)
            inside = self.block(body, nest.where(holds), around) if holds.any() else 0
            outside = self.block(orelse, nest.where(~holds), around) if orelse and not holds.all() else 0
            return cast(Array, np.where(holds, dense(inside), dense(outside)))
        require_no_effect(statement)
        return 0

    def _loop(self, loop: For, nest: Nest, around: Number) -> Number:
        if isinstance(loop.mode, Pipelined):
            return self._stages(loop, loop.mode, nest, around)
        at_once = self._at_once(loop, nest)
        largest: list[int] = []
        for inner in nest.enter(loop):
            self._piece += not nest.sizes
            with self._overlapping(loop, nest, inner, at_once):
                peaks = self.block(loop.body, inner, around)
            if nest.sizes:
                return _of_several(peaks, inner, nest, at_once)
            largest = heapq.nlargest(at_once, [*largest, *_largest(peaks, inner.sizes[0], at_once)])
        return sum(largest)

    def _stages(self, loop: For, mode: Pipelined, nest: Nest, around: Number) -> Number:
        """Follow a loop in stages. A stage does one iteration after the other; stages, as many as there are threads,
        each another one."""
        stages = stages_of(loop)
        at_once = min(self._at_once(loop, nest), mode.depth)
        largest, count = [0] * len(stages), 0
        for inner in nest.enter(loop):
            self._piece += not nest.sizes
            with self._overlapping(loop, nest, inner, 1):  # each stage does one iteration at a time
                found = [self.block(stage, inner, around) for stage in stages]
            if nest.sizes:
                each = np.stack(np.broadcast_arrays(*[dense(_of_several(peaks, inner, nest, 1)) for peaks in found]))
                return _sum_of_largest(each, min(at_once, inner.sizes[-1]))
            count += inner.sizes[0]
            pairs = zip(largest, found, strict=True)
            largest = [max([most, *_largest(peaks, inner.sizes[0], 1)]) for most, peaks in pairs]
        return sum(heapq.nlargest(min(at_once, count), largest))

    @contextmanager
    def _overlapping(self, loop: For, nest: Nest, inner: Nest, at_once: int) -> Iterator[None]:
        """Note of a loop, while it is followed, how many of its iterations run at the same time, with those of the
        loops around. (They are as many for each of these: where they are not, it is not known which come together.)"""
        outer = self._running
        if self.followed is not None and not isinstance(loop.mode, Serial):
            is_even = len(inner.masks) == len(nest.masks) or (outer == 1 and not nest.masks)
            if outer is not None and is_even:
                self._running = min(outer * min(at_once, inner.sizes[-1]), max(most_threads(), outer))
            else:
                self._running = None
            entered = attrs.evolve(inner, known=dict(inner.known))  # that holds nothing of what is found on the way
            self.followed.iterations.setdefault(loop.id, {})[self._piece] = entered
            known = self.followed.at_once.get(loop.id, self._running)
            at_most = None if known is None or self._running is None else max(known, self._running)
            self.followed.at_once[loop.id] = at_most
        yield
        self._running = outer

    def _at_once(self, loop: For, nest: Nest) -> int:
        """How many iterations of a loop may run at the same time."""
        if isinstance(loop.mode, Serial):
            return 1
        workers = self.workers if loop.mode.workers is None else nest.value(loop.mode.workers)
        if smallest_of(workers) < 1:
            raise ExecutionError(f"loop {loop.variable} has {smallest_of(workers)} workers; needs 1 or more")
        return max(min(largest_of(workers), default_workers()), 1)

    # Allocations --------------------------------------------------------------------------------------------------

    def _allocated(self, buffer: str, size: Number, nest: Nest) -> None:
        """Count a buffer that takes memory of its own."""
        times = nest.total()
        if times:
            most = largest_of(size) if not nest.masks else nest.extremes(0, size, ())[1]
            known = self.buffers.get(buffer, NEVER)
            self.buffers[buffer] = Allocated(known.times + times, max(known.bytes, most))

    def _allocate(self, alloc: Alloc, nest: Nest, lodgers: Sequence[Guest]) -> Number:
        """Bring a buffer into scope; the bytes that it takes, and those that lie in it."""
        ends = self.boxes[alloc.buffer] = [(nest.value(i.min), nest.value(i.max)) for i in alloc.box]
        extents = [greatest(hi - lo + 1, 0) for lo, hi in ends]
        if is_stored_by_blocks(alloc):
            blocks = blocks_of_dims(alloc)
            stored = stored_extents(blocks, extents, lambda n, length: greatest((n + (length - 1)) // length, 1), int)
            return self._ask(alloc, stored, _product(stored, alloc.dtype.itemsize), nest)
        if alloc.layout is not None:
            key = [*extents, *map(nest.value, strides_given(alloc))]
            return self._ask(alloc, key, _laid_out(alloc, extents, nest), nest)
        key = [*extents, *(nest.value(fold) for fold in alloc.folds if fold is not None)]
        for d, fold in enumerate(alloc.folds):
            if fold is not None:
                factor = nest.value(fold)
                smallest = smallest_of(factor)
                if smallest < 1:
                    raise ExecutionError(
                        f"dimension {alloc.dims[d]} of {alloc.buffer} is folded by {smallest}; needs 1 or more"
                    )
                extents[d] = least(extents[d], factor)
        size = self._ask(alloc, key, _product(extents, alloc.dtype.itemsize), nest)
        for guest in lodgers:
            most = [nest.value(extent) for extent in guest.extents()]
            size = greatest(size, _product(most, guest.alloc.dtype.itemsize))
        return size

    def _ask(self, alloc: Alloc, key: Sequence[Number], size: Number, nest: Nest) -> Number:
        """Note what is asked for of an allocation that takes so many bytes, which come back."""
        times = nest.total() if self.followed is not None else 0
        if self.followed is not None and times:
            same = tuple([n for n in key if isinstance(n, int)])
            most = largest_of(size) if not nest.masks else nest.extremes(0, size, ())[1]
            asked = self.followed.asked.setdefault(alloc.id, Asked(0, same, 0))
            asked.sizes[self._piece] = nest.masks, size
            asked.times += times
            asked.most = max(asked.most, most)
            if asked.key != same or len(same) < len(key):
                asked.key = None
        return size

    # Calls --------------------------------------------------------------------------------------------------------

    def _call(self, call: Call, nest: Nest, live: Number) -> Number:
        """Count a call; the most bytes that buffers take in it, which are those of an inner pipeline."""
        func = call.func
        box = self._clamped(call, nest)
        dims: list[Span] = []
        for lo, hi in box:
            dim = span(lo, hi)
            if dim is None:
                return 0
            dims.append(dim)
        boxes, geometry = Boxes(dims, nest), geometry_of(func)
        calls = boxes.calls()
        if calls == 0:
            return 0
        tally = self.tallies[func.name]
        elements = boxes.points(geometry.whole)
        tally.calls += calls
        tally.elements += elements
        tally.cover(boxes.hull())
        tally.peak = max(tally.peak, live if isinstance(live, int) else boxes.most(live))
        tally.bytes_written += elements * geometry.bytes_per_point
        for forms, size in geometry.written:
            tally.bytes_written += boxes.points(forms) * size
        for forms, exprs, size in geometry.read:
            if not exprs:
                points = elements if forms is geometry.whole else boxes.points(forms)
            else:
                inner = _with_box(func, box, nest)
                extents = [*map(boxes.extent, forms), *map(inner.value, exprs)]
                points = boxes.sum_of_products([greatest(extent, 0) for extent in extents])
            tally.bytes_read += points * size
        if not isinstance(func.operation, Nested):
            return 0
        return self._inner(func, func.operation, _with_box(func, box, nest), boxes.conditions(), live)

    def _inner(
        self, func: LoweredFunc, operation: Nested, nest: Nest, conditions: Sequence[Array], around: Number
    ) -> Number:
        """Follow an inner pipeline in the iterations in which it is called, whose nest knows the ends of its box; the
        most bytes that its buffers take."""
        program, outer = operation.program, self.boxes
        ends = tuple(Interval(lo, hi) for lo, hi in end_symbols(func))
        regions: list[Box] = [*input_templates(func), *(output_region(port, ends) for port in func.outputs)]
        self.boxes, values = {}, dict[Node, Number]()
        for parameter, region in zip((*program.inputs, *program.outputs), regions, strict=True):
            own = self.boxes[parameter.name] = [(nest.value(i.min), nest.value(i.max)) for i in region]
            for d, (lo, hi) in enumerate(own):
                values[metadata(parameter.name, d, "min")], values[metadata(parameter.name, d, "max")] = lo, hi
        for c in program.constants:
            self.boxes[c.name] = [(nest.value(i.min), nest.value(i.max)) for i in constant_box(c)]
        for name, value in operation.arguments:
            if isinstance(value, (int, Expr)):
                values[scalar(name)] = nest.value(as_expr(value))
        inner = attrs.evolve(nest, known=values)
        for condition in conditions:
            inner = inner.where(condition)
        peak = self.block(program.body, inner, around)
        self.boxes = outer
        if not conditions or _is_nothing(peak):
            return peak
        return cast(Array, np.where(reduce(np.logical_and, conditions), dense(peak), 0))

    def _clamped(self, call: Call, nest: Nest) -> list[Ends]:
        """The box of a call within the bounds of its outputs, and where its func gives the values."""
        value, bounds = nest.value, self.boxes
        box = [(value(i.min), value(i.max)) for i in call.box]
        for dim, buffer, position in limits(call):
            (lo, hi), (first, last) = box[dim], bounds[buffer][position]
            box[dim] = (lo if lo is first else greatest(lo, first), hi if hi is last else least(hi, last))
        for limit in call.func.part:
            lo, hi = box[limit.dim]
            lo = lo if limit.first is None else greatest(lo, value(limit.first))
            hi = hi if limit.last is None else least(hi, value(limit.last))
            box[limit.dim] = (lo, hi)
        return box


# ----------------------------------------------------------------------------------------------------------------
# Sizes
# ----------------------------------------------------------------------------------------------------------------


def _largest(peaks: Number, count: int, at_once: int) -> list[int]:
    """The largest of the peaks of so many iterations of an outermost loop."""
    if at_once == 1 or isinstance(peaks, int) or (isinstance(peaks, np.ndarray) and peaks.size == 1):
        return [largest_of(peaks)] * min(count, at_once)
    if isinstance(peaks, Ramp):
        return [peaks.at(count - 1 - i if peaks.slope > 0 else i) for i in range(min(count, at_once))]
    return [int(peak) for peak in np.sort(peaks)[-at_once:]]


def _of_several(peaks: Number, inner: Nest, nest: Nest, at_once: int) -> Number:
    """The most bytes that so many iterations of a loop take at the same time, in each iteration of the loops around."""
    if _is_nothing(peaks):
        return 0
    depth, count = len(nest.sizes), inner.sizes[-1]
    runs = inner.masks[-1] if len(inner.masks) > len(nest.masks) else None
    if isinstance(peaks, Ramp) and peaks.axis.depth == depth and at_once == 1 and runs is None:
        return peaks.largest()
    peaks = dense(peaks)
    if at_once == 1 and runs is None:
        return cast(Array, peaks.max(axis=0)) if isinstance(peaks, np.ndarray) and peaks.ndim > depth else peaks
    shape = np.broadcast_shapes(np.shape(peaks), () if runs is None else runs.shape, (count,) + (1,) * depth)
    each = np.broadcast_to(peaks if runs is None else np.where(runs, peaks, 0), shape)
    return _sum_of_largest(each, at_once)


def _sum_of_largest(each: Array, count: int) -> Number:
    """The sum of so many of the largest along the first axis; an integer where that is the only one."""
    found = np.sort(each, axis=0)[-count:].sum(axis=0)
    return found if isinstance(found, np.ndarray) else int(found)


def _is_nothing(peaks: Number) -> bool:
    return isinstance(peaks, int) and peaks == 0


def _product(extents: Sequence[Number], itemsize: int) -> Number:
    """The size of a box in bytes. Raises `TooManyError` where arrays of numbers would not hold it."""
    size: Number = itemsize
    largest = itemsize
    for extent in extents:
        if not isinstance(size, int) and not isinstance(extent, int):
            size, extent = cast(Array, dense(size)), cast(Array, dense(extent))
            require_few(np.broadcast_shapes(size.shape, extent.shape))
        size = size * extent
        largest *= largest_of(extent)
    if largest >= LARGEST_EXACT and isinstance(size, np.ndarray):
        raise TooManyError
    return size


def _laid_out(alloc: Alloc, extents: Sequence[Number], nest: Nest) -> Number:
    """The bytes of a buffer whose layout is said, one iteration after the other."""
    layout = strided(alloc)
    assert layout is not None
    strides = [dense(nest.value(stride)) for stride in strides_given(alloc)]
    shapes = np.broadcast(*map(dense, extents), *strides)

    def size(*numbers: int) -> int:
        shape, given = numbers[: len(extents)], numbers[len(extents) :]
        return laid(alloc.buffer, alloc.dtype.itemsize, shape, layout, given).size

    each = [size(*(int(n) for n in numbers)) for numbers in shapes]
    return each[0] if not shapes.shape else np.array(each, nest.dtype).reshape(shapes.shape)


def _with_box(func: LoweredFunc, box: list[Ends], nest: Nest) -> Nest:
    """The same iterations, with the ends of the box of a call."""
    values: dict[Node, Number] = {}
    for (first, last), (lo, hi) in zip(end_symbols(func), box, strict=True):
        values[first], values[last] = lo, hi
    return nest.also(values)
