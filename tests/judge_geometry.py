"""What a call reads and writes, on numbers, and the hashes that the second judge computes of it.

What an element is computed from. A func says: producing a box B of its dimensions, it reads of each port the box that
its intervals give for B. Calls of one func agree where they overlap, so one element depends on what the func reads for
the box of that *one point*, whichever box it was computed with. Precisely, the element at point v of an output depends

* on each input port all of whose intervals follow dimensions that the output has: on the elements of the box that the
  intervals give at v, each with its place in that box. In a dimension that the func computes whole, v stands for all
  of that dimension: the box is the hull over all of it;
* on no other port: one that follows a dimension which the output lacks has, over different boxes, different regions.

Variants of a func compute the same, by declaration: so an element depends on nothing but what all of them read, and is
hashed like that of the func itself, whichever runs.

A copy is understood: an element of it *is* the element of the source that the copy says (see `judge_copies`), with that
one's hash, which must lie in the region that the call reads; or what fills, with a hash of the value.

A reduction that its author has declared depends on a sum of what it reads, whatever the order: each element counts by
its place in all that is reduced. The stages that it is taken to hold that sum as it grows: nothing at first, with each
piece more, two of them added where they are merged, and in the end what is computed of it. So they agree with the func
if each element has been taken once. Of what was taken, an element is its own sum: a func that is computed whole in a
dimension reads all of that of its inputs for each element, and nothing more of states.

A call also *reads* (without effect on hashes) the hull of these boxes over all of its clamped box; that it must find,
within the bounds of the buffer and written.

All that the judge knows of the fields of calls, funcs and loops stands in "What statements say" below.
"""

from __future__ import annotations

import functools
import itertools
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from judge_copies import reading_of
from judge_evaluation import Values, evaluation, symbol_key, symbols_of

from slinky.ir.operations import RESERVED, Accumulation, Callback, Copy, Expression, FloatScalar, Nested, Stage
from slinky.ir.statements import Call, For, LoweredFunc, Parallel, Pipelined, Program, View
from slinky.symbolic.expressions import variable
from slinky.symbolic.nodes import Expr

Range: TypeAlias = tuple[int, int]
NumericBox: TypeAlias = tuple[Range, ...]
Hashes: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]
Coordinates: TypeAlias = tuple[int, ...]

# ----------------------------------------------------------------------------------------------------------------
# What statements say
# ----------------------------------------------------------------------------------------------------------------


def operands_read(call: Call) -> list[str]:
    """The buffers that a call reads, one for each input port of its func."""
    return [*call.reads]


def operands_written(call: Call) -> list[str]:
    """The buffers that a call writes, one for each output port of its func."""
    return [*call.writes]


def operands_with_dtypes(call: Call) -> list[tuple[str, object]]:
    """Each buffer that a call reads or writes, with the dtype in which its func takes it."""
    ports = zip((*call.reads, *call.writes), call.func.ports, strict=True)
    return [(name, port.dtype) for name, port in ports]


def orders_asked_for(call: Call) -> list[tuple[str, Any]]:
    """Each buffer that a call takes in some order of its dimensions in memory only, with that."""
    ports = zip((*call.reads, *call.writes), call.func.ports, strict=True)
    return [(name, port.order) for name, port in ports if port.order is not None]


def read_boxes(func: LoweredFunc) -> list[tuple[Any, ...]]:
    """Which intervals the operation of a func is given of each input port, in terms of the func's dimensions."""
    return [port.box if port.view is None else port.view.box for port in func.inputs]


def read_views(func: LoweredFunc) -> list[View | None]:
    """How the operation sees each input port."""
    return [port.view for port in func.inputs]


def written_views(func: LoweredFunc) -> list[View | None]:
    """How the operation sees each output port."""
    return [port.view for port in func.outputs]


def boxes_of_relatives(func: LoweredFunc) -> list[list[tuple[Any, ...]]]:
    """What each func that is declared to compute the same as one is given of each port, the one itself too."""
    return [read_boxes(func)] if func.family is None else [*map(read_boxes, func.family.members.values())]


def written_dims(func: LoweredFunc) -> list[tuple[int, ...]]:
    """For each output port of a func, which of its dimensions the dimensions of the port are."""
    return [port.dims for port in func.outputs]


def parts_of(func: LoweredFunc) -> list[tuple[int, Any, Any]]:
    """From where to where a func gives values along some of its dimensions, None for no end."""
    return [(limit.dim, limit.first, limit.last) for limit in func.part]


def is_parallel(loop: For) -> bool:
    """Whether iterations may run at the same time."""
    return isinstance(loop.mode, Parallel)


def stages_and_depth(loop: For) -> tuple[tuple[int, ...], int] | None:
    """The numbers of statements of the stages of a pipelined loop, and how many iterations may be under way."""
    return (loop.mode.stages, loop.mode.depth) if isinstance(loop.mode, Pipelined) else None


def what_runs(func: LoweredFunc) -> tuple[object, tuple[tuple[str, Any], ...]]:
    """What a func runs, and its arguments by name: funcs for which these are not the same compute different things."""
    match _first_of(func).operation:
        case Callback(function=function, arguments=arguments):
            return function, arguments
        case Copy(arguments=arguments):
            return "a copy", arguments
        case Accumulation(function=function, arguments=arguments):
            return function, tuple((name, value) for name, value in arguments if name not in RESERVED)
        case Nested(program=program, arguments=arguments):
            return program.name, arguments
        case Expression(formula=formula, arguments=arguments):
            return formula, arguments
    raise TypeError(f"the judge does not know {type(func.operation).__name__}")


def _first_of(func: LoweredFunc) -> LoweredFunc:
    """The func that one is declared to compute the same as."""
    if func.family is None or func.family.members.get(func.variant) is not func:
        return func
    return func.family.members.get(None) or func.family.declared or func


def named_as(func: LoweredFunc) -> str:
    """The name that counts: a stage of a reduction computes what the func did that it was made of."""
    return func.operation.func if isinstance(func.operation, Accumulation) else func.name


def is_declared(func: LoweredFunc) -> bool:
    """Whether a func's reduction is declared, so that it depends on what it reads as on a sum."""
    first = _first_of(func)
    family = [first] if first.family is None else first.family.members.values()
    return any(each.reduction is not None for each in family)


def accumulation_of(func: LoweredFunc) -> Accumulation | None:
    """The stage of a reduction that a func is, if it is one."""
    return func.operation if isinstance(func.operation, Accumulation) else None


def read_alike(func: LoweredFunc) -> frozenset[int]:
    """The input ports that all pieces of a func that reduces read alike; of the stage that takes a piece, too."""
    stage, reduction = accumulation_of(func), _first_of(func).reduction
    if stage is not None:
        count = len(stage.reduction.states)
        axes = enumerate(stage.axes if stage.stage is Stage.UPDATE else (), start=count)
        return frozenset(k for k, axis in axes if axis is None)
    if reduction is None:
        return frozenset()
    over = [axes for _, axes in reduction.over]
    return frozenset(k for k in range(len(func.inputs)) if all(axes[k] is None for axes in over))


def fused_of(func: LoweredFunc) -> tuple[LoweredFunc, LoweredFunc, tuple[int, ...]] | None:
    """The two funcs that one is declared to compute one after the other, and by which ports the second reads the
    output of the first."""
    return None if func.fused is None else (func.fused.first, func.fused.second, func.fused.ports)


def program_of(func: LoweredFunc) -> Program | None:
    """The pipeline that a func is, if it is one."""
    return func.operation.program if isinstance(func.operation, Nested) else None


def copy_of(func: LoweredFunc) -> Copy | None:
    """The copy that a func is, if it is one."""
    return func.operation if isinstance(func.operation, Copy) else None


# ----------------------------------------------------------------------------------------------------------------
# Hashes
# ----------------------------------------------------------------------------------------------------------------

_MASK = 2**64 - 1


def mixed(*numbers: int) -> int:
    """A 64-bit hash of integers."""
    h = 0x9E3779B97F4A7C15
    for number in numbers:
        h = ((h ^ (number & _MASK)) * 0xBF58476D1CE4E5B9) & _MASK
        h = ((h ^ (h >> 29)) * 0x94D049BB133111EB) & _MASK
        h ^= h >> 32
    return h


def named(*words: object) -> int:
    """A 64-bit hash of words and integers, the same in every process."""
    return mixed(*(w if isinstance(w, int) else zlib.crc32(str(w).encode()) for w in words))


_FACTORS = [np.uint64(c) for c in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)]
_SHIFTS = [np.uint64(n) for n in (32, 29, 32)]
_EVEN = np.uint64(_MASK - 1)


def stir(hashes: Hashes) -> None:
    """Mix the bits of each hash, in place, and make it even."""
    hashes ^= hashes >> _SHIFTS[0]
    hashes *= _FACTORS[0]
    hashes ^= hashes >> _SHIFTS[1]
    hashes *= _FACTORS[1]
    hashes ^= hashes >> _SHIFTS[2]
    hashes &= _EVEN


_weights = [[1] for _ in range(16)]


def weight(dim: int, place: int) -> int:
    """What an element counts for at a place along a dimension of the box that is read; odd, and 1 at place 0."""
    known = _weights[dim]
    while len(known) <= place:
        known.append(mixed(dim, len(known)) | 1)
    return known[place]


def of_coordinates(salt: int, region: NumericBox) -> Hashes:
    """A hash for each point of a region."""
    total = np.full((1,), salt, np.uint64)
    for d, (lo, hi) in enumerate(region):
        along = np.array([mixed(salt, d, c) for c in range(lo, hi + 1)], np.uint64)
        total = (total[..., None, :] + along[:, None]) if d else along[:, None] + total
    return total


# ----------------------------------------------------------------------------------------------------------------
# What a func reads for a box
# ----------------------------------------------------------------------------------------------------------------


class WrongProgramError(Exception):
    """The program does what no program may do. The message says what."""


class TooMuchWorkError(Exception):
    """The run would take too long."""


_MOST_WEIGHTS = 300_000


@dataclass(slots=True)
class PortPlan:
    """How a port is read for one box: the region, and what turns its hashes into one per point."""

    hull: NumericBox | None
    """The region that is read; None if it is empty."""
    matrices: tuple[Hashes | None, ...]
    """Per dimension of the region, the weights of its coordinates (columns) for each point (rows); None: a point each.
    If `follows` are not the dimensions of the region, one matrix for all of it."""
    is_dense: bool
    follows: tuple[int, ...]
    """The func's dimensions that the result has, in this order, -1 for none (an extent of 1)."""
    shape: tuple[int, ...]
    """The extents of the result."""


@dataclass(slots=True)
class OutputPlan:
    """How a port is written for one box."""

    region: NumericBox
    dims: tuple[int, ...]
    """The func's dimensions that its dimensions are."""
    base: Hashes
    """The hash of func, port and coordinates."""
    port: int
    salt: int
    """Which port it is, and what hashes of its coordinates begin with."""
    reads: tuple[tuple[int, np.uint64, tuple[int, ...], tuple[int, ...]], ...]
    """The ports that it depends on: which, a factor, and how its result is transposed and shaped."""


class Geometry:
    """What a func reads and writes, with the values of all symbols but its dimensions known."""

    def __init__(self, func: LoweredFunc, salt: int, values: Values, arguments: Mapping[str, object]) -> None:
        self.name = func.name
        self.copy = copy_of(func)
        self.stage = accumulation_of(func)
        self.is_sum = self.stage is not None or is_declared(func)
        self.arguments = dict(arguments)
        self.copies: dict[NumericBox, CopyPlan] = {}
        self.salt = salt
        self.values = dict(values)
        self.dims = [symbol_key(dim) for dim in func.dims]
        self.whole = {d: (evaluation(i.min)(values), evaluation(i.max)(values)) for d, i in func.whole}
        self.ports = [[(evaluation(i.min), evaluation(i.max)) for i in box] for box in read_boxes(func)]
        relatives = boxes_of_relatives(func)
        self.needed = [
            [[(evaluation(i.min), evaluation(i.max)) for i in each] for each in zip(*boxes, strict=True)]
            for boxes in zip(*relatives, strict=True)
        ]
        """For each port and dimension of it, what each relative reads."""
        self.used = [
            [self._dims_of(*each) for each in zip(*boxes, strict=True)] for boxes in zip(*relatives, strict=True)
        ]
        self.outputs = written_dims(func)
        self.alike = read_alike(func)
        self.windows: dict[tuple[bool, int, int, Coordinates], Range] = {}
        self.plans: dict[NumericBox, tuple[list[PortPlan], list[OutputPlan]]] = {}

    def _dims_of(self, *intervals: Any) -> tuple[int, ...]:
        own = frozenset[str]().union(*(symbols_of(end) for i in intervals for end in (i.min, i.max)))
        return tuple(d for d, key in enumerate(self.dims) if key in own)

    def plan(self, box: NumericBox) -> tuple[list[PortPlan], list[OutputPlan]]:
        """How all ports are read and written for a box."""
        found = self.plans.get(box)
        if found is None:
            reads = [self._port(k, box) for k in range(len(self.ports))]
            found = self.plans[box] = reads, [self._output(k, box, reads) for k in range(len(self.outputs))]
        return found

    def window(self, port: int, d: int, at: Coordinates, *, is_needed: bool = False) -> Range:
        """What is read along a dimension of a port, at a point: coordinates of the func's dimensions in `used`.

        With `is_needed`, what all relatives read of it.
        """
        key = is_needed, port, d, at
        found = self.windows.get(key)
        if found is None:
            whole = [dim for dim in self.used[port][d] if dim in self.whole and not self._is_state(port)]
            values = self.values
            for dim, c in zip(self.used[port][d], at, strict=True):
                values[self.dims[dim]] = c
            ends: list[Range] = []
            for point in itertools.product(*(range(self.whole[dim][0], self.whole[dim][1] + 1) for dim in whole)):
                for dim, c in zip(whole, point, strict=True):
                    values[self.dims[dim]] = c
                each = self.needed[port][d] if is_needed else [self.ports[port][d]]
                ends.append((max(lo(values) for lo, _ in each), min(hi(values) for _, hi in each)))
            found = self.windows[key] = hull_of(ends) or (0, -1)
        return found

    def box_at(self, port: int, point: Sequence[int]) -> NumericBox:
        """What is read of a port for one point of the func's dimensions."""
        return tuple(self.window(port, d, tuple(point[dim] for dim in used)) for d, used in enumerate(self.used[port]))

    def stated_at(self, port: int, point: Sequence[int]) -> NumericBox:
        """What the intervals of a port say for one point, also in a dimension that the func computes whole."""
        values = {**self.values, **dict(zip(self.dims, point, strict=True))}
        return tuple((lo(values), hi(values)) for lo, hi in self.ports[port])

    def region_of(self, port: int, box: NumericBox) -> NumericBox:
        """What is read of a port for the points of a box, one by one; also where that is nothing."""
        found = []
        for used, (lo, hi) in zip(self.used[port], self.ports[port], strict=True):
            ends = []
            for at in itertools.product(*(range(box[dim][0], box[dim][1] + 1) for dim in used)):
                values = {**self.values, **{self.dims[dim]: c for dim, c in zip(used, at, strict=True)}}
                ends.append((lo(values), hi(values)))
            found.append((min(first for first, _ in ends), max(last for _, last in ends)))
        return tuple(found)

    def needed_at(self, port: int, point: Sequence[int]) -> NumericBox:
        """What all relatives read of a port for one point of the func's dimensions."""
        used = enumerate(self.used[port])
        return tuple(self.window(port, d, tuple(point[dim] for dim in dims), is_needed=True) for d, dims in used)

    def _port(self, port: int, box: NumericBox) -> PortPlan:
        windows: list[list[Range]] = []
        needed: list[list[Range]] = []
        follows: list[tuple[int, ...]] = []
        for d, used in enumerate(self.used[port]):
            is_whole = self.whole.keys() if not self._is_state(port) else ()
            free = tuple(dim for dim in used if dim not in is_whole and not self._is_at_one(dim, box))
            ranges = [range(box[dim][0], (box[dim][1] if dim in free else box[dim][0]) + 1) for dim in used]
            windows.append([self.window(port, d, at) for at in itertools.product(*ranges)])
            needed.append([self.window(port, d, at, is_needed=True) for at in itertools.product(*ranges)])
            follows.append(free)
        hulls = [hull_of(each) for each in windows]
        if any(h is None for h in hulls):
            return PortPlan(None, (), False, (), ())
        hull = tuple(h for h in hulls if h is not None)
        if self.copy is not None:
            return PortPlan(hull, (), False, (), ())
        followed = [dim for free in follows for dim in free]
        if all(len(free) <= 1 for free in follows) and len(set(followed)) == len(followed):
            matrices = tuple(_matrix(d, each, hull[d], self._before(port, d, box)) for d, each in enumerate(needed))
            shape = tuple(len(each) for each in needed)
            return PortPlan(hull, matrices, False, tuple(free[0] if free else -1 for free in follows), shape)
        return self._dense_port(port, box, hull, tuple(sorted(set(followed))))

    def _is_state(self, port: int) -> bool:
        """Whether a stage of a reduction reads what was taken before by a port: of that, each element is its own sum,
        also in a dimension that the func computes whole."""
        if self.stage is None:
            return False
        return self.stage.stage is not Stage.UPDATE or port < len(self.stage.reduction.states)

    def _is_at_one(self, dim: int, box: NumericBox) -> bool:
        """Whether a stage of a reduction computes one coordinate of a dimension: then nothing it reads follows that."""
        return self.stage is not None and box[dim][0] == box[dim][1]

    def _before(self, port: int, d: int, box: NumericBox) -> int:
        """Of a stage that takes a piece: how many coordinates of what is reduced come before what a port reads."""
        stage = self.stage
        if stage is None or stage.stage is not Stage.UPDATE or port < len(stage.reduction.states):
            return 0
        if stage.axes[port - len(stage.reduction.states)] != d:
            return 0
        leading = range(2 if stage.parts else 1)
        if any(box[dim][0] != box[dim][1] for dim in leading):
            raise TooMuchWorkError
        begin, _ = self.ports[port][d]
        here = {**self.values, **{self.dims[dim]: box[dim][0] for dim in leading}}
        first = {**self.values, **{self.dims[dim]: 0 for dim in leading}}
        return int(begin(here)) - int(begin(first))

    def _dense_port(self, port: int, box: NumericBox, hull: NumericBox, dims: tuple[int, ...]) -> PortPlan:
        """Where a dimension of the port follows two of the func's, or two follow the same one."""
        if self.stage is not None:
            raise TooMuchWorkError
        shape = [hi - lo + 1 for lo, hi in hull]
        points = [*itertools.product(*(range(box[dim][0], box[dim][1] + 1) for dim in dims))]
        if len(points) * math.prod(shape) > _MOST_WEIGHTS:
            raise TooMuchWorkError
        matrix = np.zeros((len(points), *shape), np.uint64)
        place = [lo for lo, _ in box]
        for row, point in enumerate(points):
            for dim, c in zip(dims, point, strict=True):
                place[dim] = c
            needed = self.needed_at(port, place)
            if all(lo <= hi for lo, hi in needed):
                at = (slice(lo - first, hi - first + 1) for (lo, hi), (first, _) in zip(needed, hull, strict=True))
                matrix[(row, *at)] = _weights_of(tuple([hi - lo + 1 for lo, hi in needed]))
        extents = tuple(box[dim][1] - box[dim][0] + 1 for dim in dims)
        return PortPlan(hull, (matrix.reshape(len(points), -1),), True, dims, extents)

    def _output(self, port: int, box: NumericBox, reads: list[PortPlan]) -> OutputPlan:
        dims = self.outputs[port]
        region = tuple(box[dim] for dim in dims)
        own: list[tuple[int, np.uint64, tuple[int, ...], tuple[int, ...]]] = []
        for k, read in enumerate(() if self.copy is not None else reads):
            followed = [dim for dim in read.follows if dim >= 0]
            if read.hull is None or not set(followed) <= set(dims):
                continue
            if k in self.alike and not self._counts_here(box, reads):
                continue
            factor = self._factor(port, k)
            if factor is None:
                continue
            order = sorted(range(len(read.follows)), key=lambda n: (read.follows[n] < 0, _index(dims, read.follows[n])))
            shape = tuple(hi - lo + 1 if dim in followed else 1 for dim, (lo, hi) in zip(dims, region, strict=True))
            own.append((k, np.uint64(factor), tuple(order), (*shape, 1)))
        salt = mixed(self.salt, port)
        base = of_coordinates(salt, region)
        return OutputPlan(region, dims, base if self.is_computed() else base * np.uint64(0), port, salt, tuple(own))

    def _counts_here(self, box: NumericBox, reads: list[PortPlan]) -> bool:
        """Whether what all pieces read alike counts here: it does in the first piece, if there is any."""
        if self.stage is None:
            return all(read.hull is not None for k, read in enumerate(reads) if k not in self.alike)
        leading = box[: 2 if self.stage.parts else 1]
        if any(lo != hi for lo, hi in leading):
            raise TooMuchWorkError
        return all(lo == 0 for lo, _ in leading)

    def _factor(self, port: int, k: int) -> int | None:
        """What an input port counts for in an output port; None for nothing."""
        if self.stage is None:
            return mixed(self.salt, 0 if self.is_sum else port, k) | 1
        states = self.stage.reduction.states
        if self.stage.stage is Stage.FINISH:
            same = [n for n, state in enumerate(states) if sorted(state.dims) == sorted(self.outputs[port])]
            if not same:
                raise TooMuchWorkError
            return _shares(self.salt, same).get(k)
        if self.stage.stage is Stage.MERGE:
            return 1 if k % len(states) == port else None
        if k < len(states):
            return 1 if k == port else None
        return mixed(self.salt, 0, k - len(states)) | 1

    def is_computed(self) -> bool:
        """Whether what it writes is a value, and not a sum that goes on."""
        return self.stage is None or self.stage.stage is Stage.FINISH

    def copied(self, box: NumericBox) -> CopyPlan:
        """Where each element of a copy comes from. Raises `WrongProgramError` where the call does not read that."""
        found = self.copies.get(box)
        if found is None:
            assert self.copy is not None
            values = {symbol_key(variable(name)): v for name, v in self.arguments.items() if isinstance(v, int)}
            find = reading_of(self.copy, values)
            hulls = [plan.hull for plan in self.plan(box)[0]]
            taken: list[tuple[list[int], list[int]]] = [([], []) for _ in hulls]
            for place, point in enumerate(itertools.product(*(range(lo, hi + 1) for lo, hi in box))):
                element = find(point)
                if element is not None:
                    port, at = element
                    taken[port][0].append(place)
                    taken[port][1].append(self._place(port, hulls[port], at))
            fill = self.arguments.get("fill", None if self.copy.fill is None else repr(self.copy.fill))
            hashes = np.array([named("filled with", str(fill)) & int(_EVEN)], np.uint64)
            sources = tuple((np.array(places, int), np.array(elements, int)) for places, elements in taken)
            found = self.copies[box] = CopyPlan(sources, hashes[0])
        return found

    def _place(self, port: int, hull: NumericBox | None, at: Coordinates) -> int:
        place = 0
        for c, (lo, hi) in zip(at, hull or ((0, -1),) * len(at), strict=True):
            if not lo <= c <= hi:
                raise WrongProgramError(f"{self.name} takes {[*at]} of its port {port}, which it does not read: {hull}")
            place = place * (hi - lo + 1) + c - lo
        return place


@dataclass(slots=True)
class CopyPlan:
    """Where the elements of a copy over a box come from."""

    sources: tuple[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]], ...]
    """For each port the elements that it gives: their places in the box, and in the region that is read of the port."""
    fill: np.uint64
    """The hash of all others."""


def box_text(box: Sequence[Range]) -> str:
    """A box as text."""
    return "[" + ", ".join(str(lo) if lo == hi else f"{lo}..{hi}" for lo, hi in box) + "]"


def holds_box(box: NumericBox, other: NumericBox) -> bool:
    """Whether a box holds another one."""
    return all(a <= lo and hi <= b for (a, b), (lo, hi) in zip(box, other, strict=True))


def _index(dims: Sequence[int], dim: int) -> int:
    return dims.index(dim) if dim in dims else -1


def hull_of(ranges: Sequence[Range]) -> Range | None:
    """The smallest range that holds all that are not empty; None if all are."""
    full = [r for r in ranges if r[0] <= r[1]]
    return (min(lo for lo, _ in full), max(hi for _, hi in full)) if full else None


def _shares(salt: int, states: Sequence[int]) -> dict[int, int]:
    """What each of some states counts for that hold the same sum: that sum in all, if it is the same indeed."""
    first, *others = states
    shares = {n: mixed(salt, n) | 1 for n in others}
    return {first: (1 - sum(shares.values())) % 2**64, **shares}


def _matrix(d: int, windows: list[Range], hull: Range, before: int) -> Hashes | None:
    is_all = hull[1] - hull[0] + 1 == len(windows)
    if before == 0 and is_all and all(lo == hi == hull[0] + n for n, (lo, hi) in enumerate(windows)):
        return None
    matrix = np.zeros((len(windows), hull[1] - hull[0] + 1), np.uint64)
    for row, (lo, hi) in enumerate(windows):
        for c in range(lo, hi + 1):
            matrix[row, c - hull[0]] = weight(d, before + c - lo)
    return matrix


def weighted(box: NumericBox) -> Iterator[tuple[Coordinates, int]]:
    """The elements of a box, each with the product of its weights."""
    along = [[(c, weight(d, c - lo)) for c in range(lo, hi + 1)] for d, (lo, hi) in enumerate(box)]
    for element in itertools.product(*along):
        yield tuple(c for c, _ in element), math.prod(w for _, w in element) & _MASK


@functools.lru_cache(1000)
def _weights_of(extents: Coordinates) -> Hashes:
    """The weights that `weighted` gives to the elements of a box of these extents."""
    along = [np.array([weight(d, n) for n in range(extent)], np.uint64) for d, extent in enumerate(extents)]
    return functools.reduce(np.multiply.outer, along, np.ones((), np.uint64))


def read_through(plan: PortPlan, found: Hashes) -> Hashes:
    """One number for each point of a box, from the hashes of the region that is read for it."""
    if plan.is_dense:
        found = plan.matrices[0] @ found.reshape(-1)
    elif any(matrix is not None for matrix in plan.matrices):
        for extent, matrix in zip(found.shape, plan.matrices, strict=False):
            # Each step takes the first axis and leaves its result as the last one: in the end all have come round.
            rows = found.reshape(extent, -1)
            found = (rows if matrix is None else matrix @ rows).T
    return found.reshape(plan.shape)


_geometries: WeakKeyDictionary[LoweredFunc, tuple[tuple[str, ...], dict[tuple[int, ...], Geometry]]] = (
    WeakKeyDictionary()
)


def geometry_of(func: LoweredFunc, values: Values) -> Geometry:
    """The geometry of a func where symbols have these values."""
    found = _geometries.get(func)
    if found is None:
        ends = [end for boxes in boxes_of_relatives(func) for box in boxes for i in box for end in (i.min, i.max)]
        ends += [end for _, i in func.whole for end in (i.min, i.max)]
        ends += [value for _, value in what_runs(func)[1] if isinstance(value, Expr)]
        free = frozenset[str]().union(*map(symbols_of, ends)) - {symbol_key(dim) for dim in func.dims}
        found = _geometries[func] = tuple(sorted(free)), {}
    keys, known = found
    at = tuple(values[key] for key in keys)
    geometry = known.get(at)
    if geometry is None:
        function, given = what_runs(func)
        arguments = [(name, _argument(value, values)) for name, value in given]
        salt = named(named_as(func), id(function), *itertools.chain.from_iterable(arguments))
        geometry = known[at] = Geometry(func, salt, {key: values[key] for key in keys}, dict(arguments))
    return geometry


def _argument(value: object, values: Values) -> object:
    if isinstance(value, Expr):
        return evaluation(value)(values)
    if isinstance(value, FloatScalar):
        return f"float {value.name}"
    return value if isinstance(value, int | float | str | bool | None) else id(value)
