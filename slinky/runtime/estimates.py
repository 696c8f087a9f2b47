"""What will a run count? The program is followed over all iterations of its loops at once, with numbers for sizes.

No callback runs, no array is made, and no plan. Counts depend on the bounds of the arguments alone: they are those of
`run`, exactly. What a statement reads and writes, and how a call is clamped, `ir.effects` and `ir.regions` say; when a
buffer is needed, `lifetimes`.

Invariant: an estimate that `is_exact` equals what a run then counts; any other is at least that.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from typing import TypeAlias, assert_never, cast

import attrs
import numpy as np

from slinky.errors import ExecutionError
from slinky.ir.effects import limits
from slinky.ir.operations import Copy
from slinky.ir.regions import end_symbols, global_boxes, input_templates
from slinky.ir.sharing import Guest, host_of
from slinky.ir.stages import stages_of
from slinky.ir.statements import (
    Alloc,
    Block,
    Call,
    Check,
    For,
    If,
    LoweredFunc,
    Pass,
    Pipelined,
    Program,
    Serial,
    walk,
)
from slinky.runtime import iterations
from slinky.runtime.iterations import (
    LARGEST_EXACT,
    Array,
    Nest,
    Number,
    TooManyError,
    exact_sum,
    greatest,
    largest_of,
    least,
    loops_of,
    numbers_for,
    require_few,
    smallest_of,
)
from slinky.runtime.lifetimes import guests, memory_releases
from slinky.runtime.omitted import Completion
from slinky.runtime.stand_ins import values_of
from slinky.runtime.strided import laid, strided, strides_given
from slinky.runtime.threads import default_workers, workers_or_default
from slinky.symbolic.expressions import Constant, Expr, Node

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
class Estimate:
    """What a run will count, found without running.

    `program_bytes`, `allocations`, `calls`, `elements` and `bytes_copied` are those of `RunStatistics`. Where parallel
    loops allocate, `program_bytes` is the most that a run can take. `funcs` has the work of each func by its name, and
    `total` that of all. Where `is_exact` is false, there are too many iterations to look at: every number is a bound,
    and a run counts at most that.
    """

    program_bytes: int
    allocations: int
    bytes_copied: int
    funcs: dict[str, Work]
    is_exact: bool

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
    program, workers = completion.program, workers_or_default(threads)
    values = values_of(completion, arguments, scalars)
    piece = iterations.MOST_ITERATIONS
    while piece:
        try:
            return _followed(program, values, workers, piece)
        except TooManyError:
            piece //= 4
    from slinky.runtime.estimate_bounds import bound

    return bound(program, values, workers)


def _followed(program: Program, values: Mapping[Expr, int], workers: int, piece: int) -> Estimate:
    """The estimate, outermost loops taken in pieces. Raises `TooManyError` where these are too large, or too many."""
    follower = _Follower(program, workers)
    nest = Nest(dict[Node, Number](values.items()), dtype=numbers_for(values), piece=piece)
    for name, box in global_boxes(program).items():
        follower.boxes[name] = [(nest.value(i.min), nest.value(i.max)) for i in box]
    return follower.result(int(follower.block(program.body, nest)))


@attrs.define
class _Tally:
    """What has been counted of a func."""

    calls: int = 0
    elements: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    hull: list[tuple[int, int]] | None = None

    def cover(self, box: list[tuple[int, int]]) -> None:
        """The box that holds all must hold this one, too."""
        known = self.hull or box
        self.hull = [(min(a, lo), max(b, hi)) for (a, b), (lo, hi) in zip(known, box, strict=True)]

    def work(self) -> Work:
        needed = 0
        if self.hull is not None:
            needed = reduce(lambda n, ends: n * (ends[1] - ends[0] + 1), self.hull, 1)
        return Work(self.calls, self.elements, needed, self.bytes_read, self.bytes_written)


class _Follower:
    """Follows the statements of a program; `boxes` are the bounds of the buffers that are in scope."""

    def __init__(self, program: Program, workers: int) -> None:
        self.workers = workers
        self.boxes: dict[str, list[Ends]] = {}
        self.allocations = 0
        funcs = [s.func for s in walk(program.body) if isinstance(s, Call)]
        self.tallies = {func.name: _Tally() for func in funcs}
        self._copied = {f.name: f.outputs[0].dtype.itemsize for f in funcs if isinstance(f.operation, Copy)}

    def result(self, peak: int) -> Estimate:
        """The estimate, of a run with this peak of memory."""
        copied = sum(size * self.tallies[name].elements for name, size in self._copied.items())
        works = {name: tally.work() for name, tally in self.tallies.items()}
        return Estimate(peak, self.allocations, copied, works, True)

    # Blocks -------------------------------------------------------------------------------------------------------

    def block(self, block: Block, nest: Nest) -> Number:
        """Follow a block; the most bytes that its buffers take at any time."""
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
                    self.allocations += nest.total()
            elif isinstance(statement, Call):
                self._call(statement, nest)
            else:
                inside = self._inside(statement, nest)
                if isinstance(inside, np.ndarray) or inside:
                    peak = greatest(peak, live + inside)
            for name in last_uses.get(position, ()):
                live = live - sizes[name]
        return peak

    def _inside(self, statement: For | If | Check | Pass, nest: Nest) -> Number:
        """Follow a statement that is neither an allocation nor a call; the most bytes that buffers in it take."""
        match statement:
            case For():
                return self._loop(statement, nest)
            case If(condition=condition, body=body, orelse=orelse):
                holds = nest.value(condition)
                if not isinstance(holds, np.ndarray):
                    return self.block(body if holds else orelse, nest)
                inside = self.block(body, nest.where(holds)) if holds.any() else 0
                outside = self.block(orelse, nest.where(~holds)) if orelse and not holds.all() else 0
                return cast(Array, np.where(holds, inside, outside))
            case Check() | Pass():
                return 0
            case _:
                assert_never(statement)

    def _loop(self, loop: For, nest: Nest) -> Number:
        if isinstance(loop.mode, Pipelined):
            return self._stages(loop, loop.mode, nest)
        at_once = self._at_once(loop, nest)
        largest: list[int] = []
        for inner in nest.enter(loop):
            peaks = self.block(loop.body, inner)
            if nest.sizes:
                return _of_several(peaks, inner, nest, at_once)
            largest = heapq.nlargest(at_once, [*largest, *_largest(peaks, inner.sizes[0], at_once)])
        return sum(largest)

    def _stages(self, loop: For, mode: Pipelined, nest: Nest) -> Number:
        """Follow a loop in stages. A stage does one iteration after the other; stages, as many as there are threads,
        each another one."""
        stages = stages_of(loop)
        at_once = min(self._at_once(loop, nest), mode.depth)
        largest, count = [0] * len(stages), 0
        for inner in nest.enter(loop):
            found = [self.block(stage, inner) for stage in stages]
            if nest.sizes:
                each = np.stack(np.broadcast_arrays(*[_of_several(peaks, inner, nest, 1) for peaks in found]))
                return cast(Array, np.sort(each, axis=0)[-min(at_once, inner.sizes[-1]) :].sum(axis=0))
            count += inner.sizes[0]
            pairs = zip(largest, found, strict=True)
            largest = [max([most, *_largest(peaks, inner.sizes[0], 1)]) for most, peaks in pairs]
        return sum(heapq.nlargest(min(at_once, count), largest))

    def _at_once(self, loop: For, nest: Nest) -> int:
        """How many iterations of a loop may run at the same time."""
        if isinstance(loop.mode, Serial):
            return 1
        workers = self.workers if loop.mode.workers is None else nest.value(loop.mode.workers)
        if smallest_of(workers) < 1:
            raise ExecutionError(f"loop {loop.variable} has {smallest_of(workers)} workers; needs 1 or more")
        return max(min(largest_of(workers), default_workers()), 1)

    # Allocations --------------------------------------------------------------------------------------------------

    def _allocate(self, alloc: Alloc, nest: Nest, lodgers: Sequence[Guest]) -> Number:
        """Bring a buffer into scope; the bytes that it takes, and those that lie in it."""
        ends = self.boxes[alloc.buffer] = [(nest.value(i.min), nest.value(i.max)) for i in alloc.box]
        extents = [greatest(hi - lo + 1, 0) for lo, hi in ends]
        if alloc.layout is not None:
            return _laid_out(alloc, extents, nest)
        for d, fold in enumerate(alloc.folds):
            if fold is not None:
                factor = nest.value(fold)
                smallest = smallest_of(factor)
                if smallest < 1:
                    raise ExecutionError(
                        f"dimension {alloc.dims[d]} of {alloc.buffer} is folded by {smallest}; needs 1 or more"
                    )
                extents[d] = least(extents[d], factor)
        size = _product(extents, alloc.dtype.itemsize)
        for guest in lodgers:
            most = [nest.value(extent) for extent in guest.extents()]
            size = greatest(size, _product(most, guest.alloc.dtype.itemsize))
        return size

    # Calls --------------------------------------------------------------------------------------------------------

    def _call(self, call: Call, nest: Nest) -> None:
        box = self._clamped(call, nest)
        dims: list[_Dim] = []
        for lo, hi in box:
            dim = _dim(lo, hi)
            if dim is None:
                return
            dims.append(dim)
        boxes, func = _Boxes(dims, nest), call.func
        calls = boxes.calls()
        if calls == 0:
            return
        tally = self.tallies[func.name]
        tally.calls += calls
        tally.elements += boxes.points(_whole(len(dims)))
        tally.cover(boxes.hull())
        for output in func.outputs:
            tally.bytes_written += boxes.points([(d, 1, 0) for d in output.dims]) * output.dtype.itemsize
        inner = None
        for port, (forms, exprs) in zip(func.inputs, _read_extents(func), strict=True):
            if not exprs:
                points = boxes.points(forms)
            else:
                inner = inner or _with_box(func, box, nest)
                extents = [*map(boxes.extent, forms), *map(inner.value, exprs)]
                points = boxes.sum_of_products([greatest(extent, 0) for extent in extents])
            tally.bytes_read += points * port.dtype.itemsize

    def _clamped(self, call: Call, nest: Nest) -> list[Ends]:
        """The box of a call within the bounds of its outputs, and where its func gives the values."""
        box = [(nest.value(i.min), nest.value(i.max)) for i in call.box]
        for dim, buffer, position in limits(call):
            (lo, hi), (first, last) = box[dim], self.boxes[buffer][position]
            box[dim] = (lo if lo is first else greatest(lo, first), hi if hi is last else least(hi, last))
        for limit in call.func.part:
            lo, hi = box[limit.dim]
            lo = lo if limit.first is None else greatest(lo, nest.value(limit.first))
            hi = hi if limit.last is None else least(hi, nest.value(limit.last))
            box[limit.dim] = (lo, hi)
        return box


# ----------------------------------------------------------------------------------------------------------------
# Boxes in all iterations
# ----------------------------------------------------------------------------------------------------------------

_Form: TypeAlias = tuple[int, int, int]
"""How long a region is along a dimension: a factor times the extent of a dimension of the func, given by position, and
an offset. The position is -1 where it is the offset alone."""


@lru_cache(maxsize=64)
def _whole(rank: int) -> tuple[_Form, ...]:
    return tuple((d, 1, 0) for d in range(rank))


@attrs.define(eq=False)
class _Dim:
    """A dimension of a call in all iterations: its ends, how far it extends, and where it does at all.

    `extent` is at least 0; `sum` is that of its elements, and `count` how many of them are not 0.
    """

    low: Number
    high: Number
    extent: Number
    condition: Array | None
    sum: int
    count: int


def _dim(lo: Number, hi: Number) -> _Dim | None:
    """A dimension of a call; None if it is empty in all iterations."""
    extent = hi - lo + 1
    if not isinstance(extent, np.ndarray):
        return _Dim(lo, hi, extent, None, extent, 1) if extent > 0 else None
    smallest, largest = int(extent.min()), int(extent.max())
    if largest <= 0:
        return None
    if smallest > 0:
        if smallest == largest:
            return _Dim(lo, hi, largest, None, largest, 1)
        return _Dim(lo, hi, extent, None, exact_sum(extent), extent.size)
    condition = extent > 0
    extent = np.maximum(extent, 0)
    return _Dim(lo, hi, extent, condition, exact_sum(extent), int(np.count_nonzero(condition)))


class _Boxes:
    """The boxes of a call in all iterations.

    Where no loop is one that two dimensions go by, and the call stands in all iterations, sums over iterations are
    products of sums: then `times` is in how many iterations of other loops it stands; else it is None.
    """

    def __init__(self, dims: list[_Dim], nest: Nest) -> None:
        self.dims = dims
        self.nest = nest
        self.conditions = [dim.condition for dim in dims if dim.condition is not None]
        self.times: int | None = None
        if not nest.masks:
            times, seen = math.prod(nest.sizes), 0
            for dim in dims:
                if isinstance(dim.low, np.ndarray) or isinstance(dim.high, np.ndarray):
                    own = loops_of(dim.low) | loops_of(dim.high)
                    if own & seen:
                        return
                    seen |= own
                    if isinstance(dim.extent, np.ndarray):
                        times //= dim.extent.size
            self.times = times

    def calls(self) -> int:
        """In how many iterations no dimension is empty."""
        if self.times is None:
            return self.nest.total(self.conditions)
        number = self.times
        for dim in self.dims:
            number *= dim.count
        return number

    def points(self, forms: Sequence[_Form]) -> int:
        """How many points regions of these forms have in all."""
        if self.times is not None:
            number, summed = self.times, 0
            for position, factor, offset in forms:
                if position < 0:
                    number *= max(offset, 0)
                    continue
                dim = self.dims[position]
                if not isinstance(dim.extent, np.ndarray):
                    number *= max(factor * dim.extent + offset, 0)
                elif factor + offset >= 0 and not summed >> position & 1:
                    summed |= 1 << position
                    number *= factor * dim.sum + offset * dim.count
                else:
                    break
            else:
                for position, dim in enumerate(self.dims):
                    if not summed >> position & 1:
                        number *= dim.count
                return number
        return self.sum_of_products([greatest(self.extent(form), 0) for form in forms])

    def extent(self, form: _Form) -> Number:
        """How long a region is in each iteration."""
        position, factor, offset = form
        return offset if position < 0 else factor * self.dims[position].extent + offset

    def sum_of_products(self, extents: Sequence[Number]) -> int:
        """The sum of the products of numbers, over the iterations in which no dimension is empty."""
        return self.nest.total([*self.conditions, *extents])

    def hull(self) -> list[tuple[int, int]]:
        """The smallest box that holds all of them."""
        if self.times is None:
            return [self.nest.extremes(dim.low, dim.high, self.conditions) for dim in self.dims]
        return [_hull(dim) for dim in self.dims]


def _hull(dim: _Dim) -> tuple[int, int]:
    """The first and the last coordinate of a dimension in the iterations in which it is not empty."""
    ends: list[Number] = [dim.low, dim.high]
    if dim.condition is not None:
        where = dim.condition
        ends = [_chosen(end, where) for end in ends]
    return smallest_of(ends[0]), largest_of(ends[1])


def _chosen(value: Number, where: Array) -> Number:
    """The values of iterations in which a condition holds."""
    if not isinstance(value, np.ndarray):
        return value
    return cast(Array, (value if value.shape == where.shape else np.broadcast_to(value, where.shape))[where])


# ----------------------------------------------------------------------------------------------------------------
# Sizes
# ----------------------------------------------------------------------------------------------------------------


def _largest(peaks: Number, count: int, at_once: int) -> list[int]:
    """The largest of the peaks of so many iterations of an outermost loop."""
    if not isinstance(peaks, np.ndarray) or peaks.size == 1:
        return [largest_of(peaks)] * min(count, at_once)
    return [int(peaks.max())] if at_once == 1 else [int(peak) for peak in np.sort(peaks)[-at_once:]]


def _of_several(peaks: Number, inner: Nest, nest: Nest, at_once: int) -> Number:
    """The most bytes that so many iterations of a loop take at the same time, in each iteration of the loops around."""
    if not isinstance(peaks, np.ndarray) and peaks == 0:
        return 0
    depth, count = len(nest.sizes), inner.sizes[-1]
    runs = inner.masks[-1] if len(inner.masks) > len(nest.masks) else None
    if at_once == 1 and runs is None:
        return cast(Array, peaks.max(axis=0)) if isinstance(peaks, np.ndarray) and peaks.ndim > depth else peaks
    shape = np.broadcast_shapes(np.shape(peaks), () if runs is None else runs.shape, (count,) + (1,) * depth)
    each = np.broadcast_to(peaks if runs is None else np.where(runs, peaks, 0), shape)
    return cast(Array, np.sort(each, axis=0)[-at_once:].sum(axis=0))


def _product(extents: Sequence[Number], itemsize: int) -> Number:
    """The size of a box in bytes. Raises `TooManyError` where arrays of numbers would not hold it."""
    size: Number = itemsize
    largest = itemsize
    for extent in extents:
        if isinstance(size, np.ndarray) and isinstance(extent, np.ndarray):
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
    strides = [nest.value(stride) for stride in strides_given(alloc)]
    shapes = np.broadcast(*extents, *strides)

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


@lru_cache(maxsize=4096)
def _read_extents(func: LoweredFunc) -> tuple[tuple[tuple[_Form, ...], tuple[Expr, ...]], ...]:
    """How long the region that a func reads is along each dimension, by port: as forms, and where there is none as
    expressions of the ends of its box."""
    found = []
    for template in input_templates(func):
        lengths = [_form(func, i.max - i.min + 1) for i in template]
        forms = tuple(length for length in lengths if isinstance(length, tuple))
        found.append((forms, tuple(length for length in lengths if not isinstance(length, tuple))))
    return tuple(found)


def _form(func: LoweredFunc, extent: Expr) -> Expr | _Form:
    if isinstance(extent, Constant):
        return (-1, 0, extent.value)
    for dim, (first, last) in enumerate(end_symbols(func)):
        one = last - first
        for factor in (1, 2, 3, 4):
            offset = extent - factor * one
            if isinstance(offset, Constant):
                return (dim, factor, offset.value - factor)
    return extent


def _is_nothing(peaks: Number) -> bool:
    return not isinstance(peaks, np.ndarray) and peaks == 0
