"""What is made of a random graph: its pipeline, its arrays, what it computes by hand, and a run compared with that."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from graph_bounds import boxes, domains_of, limit_of, region_of, shift_of
from graphs_as_data import (
    DTYPE,
    MODULUS,
    RADIUS,
    Access,
    Box,
    Fixed,
    Graph,
    Range,
    Read,
    Stage,
    Whole,
    Window,
    Write,
    extent_of,
    taps_of,
    volume,
)
from random_copies import Copying, build_copy, build_extension, taken

import slinky as sl
from slinky.ir.operations import Copy, Nested
from slinky.ir.statements import Call, LoweredFunc, Program, walk

# ----------------------------------------------------------------------------------------------------------------
# Callbacks
# ----------------------------------------------------------------------------------------------------------------


class Mix:
    """The callback of a stage, with or without coordinates. It insists on regions of exactly the right size."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.__name__ = stage.name

    def __call__(self, *operands: Any, **scalars: int) -> None:
        """Compute the outputs, which come after the inputs."""
        stage, radius = self.stage, scalars.get(RADIUS, 0)
        buffers = [self._located(operand) for operand in operands]
        sources, targets = buffers[: len(stage.reads)], buffers[len(stage.reads) :]
        box: dict[int, Range] = {}
        for write, (array, lo) in zip(stage.writes, targets, strict=True):
            for dim, first, extent in zip(write.dims, lo, array.shape, strict=True):
                assert box.setdefault(dim, (first, first + extent - 1)) == (first, first + extent - 1)
                assert extent > 0, "called for an empty box"
        results = []
        for n, (write, (array, _)) in enumerate(zip(stage.writes, targets, strict=True)):
            result = np.full(array.shape, 7 * n + 1, DTYPE)
            for k, (read, source) in enumerate(zip(stage.reads, sources, strict=True)):
                if read.dims() <= set(write.dims):
                    result *= 3
                    result += (2 * k + 2 * n + 1) * self._read(read, source, write, box, radius)
            results.append(result % MODULUS)
        for (array, _), result in zip(targets, results, strict=True):  # all is read: this works in place
            array[...] = result

    @staticmethod
    def _located(operand: Any) -> tuple[np.ndarray, tuple[int, ...]]:
        """An array and the coordinates of its first element: 0 where they are not told."""
        return (operand.array, operand.min) if isinstance(operand, sl.Buffer) else (operand, (0,) * operand.ndim)

    def reduction(self, dims: Sequence[Any], sign: int = 1) -> sl.Reduction | None:
        """How it can be taken to pieces along what it reads whole, where it computes a sum of just one read. The weight
        of an element grows with its place, so that a part counts anew: its sum without weights says what is missing.
        States may have another sign."""
        stage = self.stage
        (read, *others), (write, *more) = stage.reads or (Read("", ()),), stage.writes
        axis = next((d for d, a in enumerate(read.along) if not isinstance(a, Window)), None)
        if others or more or axis is None or stage.pass_buffers or not read.dims() <= set(write.dims):
            return None

        def init(*states: np.ndarray, **scalars: int) -> None:
            for state in states:
                state.fill(0)

        def update(*operands: np.ndarray, start: int, **scalars: int) -> None:
            old, old_plain, piece, new, new_plain = operands
            box = {dim: (0, extent - 1) for dim, extent in zip(write.dims, new.shape, strict=True)}
            source, radius = (piece, (0,) * piece.ndim), scalars.get(RADIUS, 0)
            here, further = (self._read(read, source, write, box, radius, {axis: n}) for n in (start, start + 1))
            new[...] = old + sign * here
            new_plain[...] = old_plain + sign * (further - here)

        def merge(*operands: np.ndarray, before: int, more: int, **scalars: int) -> None:
            first, first_plain, second, second_plain, new, new_plain = operands
            new[...] = first + second + before * second_plain
            new_plain[...] = first_plain + second_plain

        def finish(state: np.ndarray, plain: np.ndarray, out: np.ndarray, *, count: int, **scalars: int) -> None:
            out[...] = (3 + sign * state) % MODULUS

        states = [sl.BufferExpr(name, DTYPE, len(write.dims)) for name in ("state", "plain")]
        return sl.Reduction(
            {"r": axis},
            [state[tuple(dims[d] for d in write.dims)] for state in states],
            init,
            update,
            finish,
            merge=None if stage.reduction == "alone" else merge,
            positions=True,
            exact=stage.reduction != "rounded",
        )

    def _read(
        self,
        read: Read,
        source: tuple[np.ndarray, Sequence[int]],
        write: Write,
        box: Mapping[int, Range],
        radius: int,
        before: Mapping[int, int] | None = None,
    ) -> np.ndarray:
        """A weighted sum over all taps, with the dimensions of an output. Of an axis that comes in pieces, there are so
        many coordinates `before`."""
        values, lo = source
        for d, access in enumerate(read.along):
            extent = values.shape[d]
            places = np.arange(extent)[None, :]  # index (place in the box, tap)
            if isinstance(access, Window):
                region = access.region(box[access.dim], radius)
                first = lo[d] if self.stage.pass_buffers else region[0]
                assert (first, extent) == (region[0], extent_of(region)), f"{self.stage.name}: region of {read} is off"
                v = np.arange(box[access.dim][0], box[access.dim][1] + 1)
                places = access.origin(v)[:, None] + np.array(access.steps(radius))[None, :] - first
            elif isinstance(access, Fixed) and before is None:
                assert extent == access.last - access.first + 1, f"{self.stage.name}: region of {read} is off"
            weights = weights_of(places.shape[1], (before or {}).get(d, 0))
            taps = np.take(values, places, axis=d)
            values = np.moveaxis(taps, d + 1, -1) @ weights
        followed = [access.dim for access in read.along if isinstance(access, Window)]
        values = values.reshape([extent_of(box[dim]) for dim in followed])
        values = values.transpose(sorted(range(len(followed)), key=lambda n: write.dims.index(followed[n])))
        return values.reshape([extent_of(box[dim]) if dim in followed else 1 for dim in write.dims])


class Turned(Mix):
    """The same, which insists on how the buffers lie in memory of which an order of the dimensions is given."""

    def __init__(self, stage: Stage, orders: Mapping[sl.BufferExpr, tuple[int, ...]]) -> None:
        super().__init__(stage)
        self.orders = {buffer.name: order for buffer, order in orders.items()}

    def __call__(self, *operands: Any, **scalars: int) -> None:
        """Compute the outputs, which come after the inputs."""
        for each, operand in zip((*self.stage.reads, *self.stage.writes), operands, strict=True):
            array, _ = self._located(operand)
            strides = [array.strides[d] for d in self.orders.get(each.buffer, ())]
            assert strides == sorted(strides, reverse=True), f"{self.stage.name}: {each.buffer} lies in another order"
            assert not strides or strides[-1] == array.itemsize
        super().__call__(*operands, **scalars)


def weights_of(taps: int, before: int = 0) -> np.ndarray:
    """What the taps along a dimension count for in a sum, where there are some before them."""
    return 1 + before + np.arange(taps)


def term_of(stage: Stage, buffers: Mapping[str, sl.BufferExpr], dims: Sequence[Any]) -> Any:
    """What `Mix` computes of an element, as arithmetic."""
    term: Any = 1
    for k, read in enumerate(stage.reads):
        total: Any = 0
        for taps in itertools.product(*(enumerate(taps_of(access)) for access in read.along)):
            at = tuple(
                step + (a.origin(dims[a.dim]) if isinstance(a, Window) else a.first)
                for a, (_, step) in zip(read.along, taps, strict=True)
                if not isinstance(a, Whole)
            )
            total = total + math.prod(n + 1 for n, _ in taps) * buffers[read.buffer][at]
        term = term * 3 + (2 * k + 1) * total
    return term % MODULUS


class Both:
    """The callback of two stages, of which the second reads what the first one gives."""

    def __init__(self, first: Stage, second: Stage) -> None:
        self.first, self.second, self.between = first, second, first.writes[0].buffer
        self.__name__ = f"{first.name}_{second.name}"

    @staticmethod
    def can_be(first: Stage, second: Stage) -> bool:
        """Whether the second reads just one thing that the first gives, and whole only what is as long as what the
        first one reads for it."""
        if first.copying is not None or second.copying is not None or len(first.writes) != 1:
            return False
        if first.arithmetic or second.arithmetic:
            return False
        (write,) = first.writes
        reads = [read for read in second.reads if read.buffer == write.buffer]
        wholes = {d for read in reads for d, access in enumerate(read.along) if isinstance(access, Whole)}
        return bool(reads) and all(_points_along(first, write.dims[d]) for d in wholes)

    def reduction(self, dims: Sequence[Any]) -> sl.Reduction | None:
        """How it can be taken to pieces, where the second can, and the first one reads, for a piece of what that
        reduces, a piece that is as long: the states of the second do."""
        of_second = Mix(self.second).reduction(dims)
        if of_second is None or self.first.pass_buffers or self.second.reads[0].buffer != self.between:
            return None
        (axis,) = (axis for axis in of_second.over.values() if isinstance(axis, int))
        dim = self.first.writes[0].dims[axis]
        moving = _points_along(self.first, dim)
        if not moving or any(dim in read.dims() for k, read in enumerate(self.first.reads) if k not in moving):
            return None
        count, states = len(self.first.reads), len(of_second.state)

        def update(*operands: np.ndarray, start: int, **scalars: int) -> None:
            old, sources, new = operands[:states], operands[states : states + count], operands[states + count :]
            box = dict(zip(self.second.writes[0].dims, ((0, n - 1) for n in new[0].shape), strict=True))
            (read,) = self.second.reads
            extents = [
                extent_of(a.region(box[a.dim], scalars.get(RADIUS, 0))) if isinstance(a, Window) else None
                for a in read.along
            ]
            for d, own in enumerate(self.first.writes[0].dims):
                for k, along in _points_along(self.first, own).items():
                    extents[d] = sources[k].shape[along] if extents[d] is None else extents[d]
            for d, a in enumerate(read.along):
                extents[d] = extent_of((a.first, a.last)) if isinstance(a, Fixed) and d != axis else extents[d]
            between = np.empty([n or 0 for n in extents], DTYPE)
            Mix(self.first)(*sources, between, **scalars)
            of_second.update(*old, between, *new, start=start, **scalars)

        return sl.Reduction(
            {"r": tuple(moving.get(k) for k in range(count))},
            of_second.state,
            of_second.init,
            update,
            of_second.finish,
            merge=of_second.merge,
            positions=True,
            exact=of_second.exact,
        )

    def __call__(self, *operands: sl.Buffer, **scalars: int) -> None:
        """Compute the outputs of the second, with what lies between in an array of its own."""
        count, writes = len(self.first.reads), self.second.writes
        targets = operands[len(operands) - len(writes) :]
        box: dict[int, Range] = {}
        for write, target in zip(writes, targets, strict=True):
            box.update(zip(write.dims, zip(target.min, target.max, strict=True), strict=True))
        ports = [k for k, read in enumerate(self.second.reads) if read.buffer == self.between]
        needed = {k: self._region(k, box, scalars, operands) for k in ports}
        hull = [(min(lo for lo, _ in each), max(hi for _, hi in each)) for each in zip(*needed.values(), strict=True)]
        between = sl.Buffer(np.empty([hi - lo + 1 for lo, hi in hull], DTYPE), min=tuple(lo for lo, _ in hull))
        if between.array.size:  # of an axis without elements nothing lies between
            Mix(self.first)(*operands[:count], between, **scalars)
        others = iter(operands[count : len(operands) - len(writes)])
        sources = []
        for k in range(len(self.second.reads)):
            if k not in needed:
                sources.append(next(others))
                continue
            places = tuple(slice(lo - a, hi - a + 1) for (lo, hi), a in zip(needed[k], between.min, strict=True))
            sources.append(sl.Buffer(between.array[places], min=tuple(lo for lo, _ in needed[k])))
        Mix(self.second)(*sources, *targets, **scalars)

    def _region(
        self, k: int, box: Mapping[int, Range], scalars: Mapping[str, int], sources: Sequence[sl.Buffer]
    ) -> list[Range]:
        """What the second one reads by a port."""
        found: list[Range] = []
        for d, access in enumerate(self.second.reads[k].along):
            match access:
                case Fixed(first=first, last=last):
                    found.append((first, last))
                case Window():
                    found.append(access.region(box[access.dim], scalars.get(RADIUS, 0)))
                case Whole():
                    (port, axis), *_ = _points_along(self.first, self.first.writes[0].dims[d]).items()
                    window = self.first.reads[port].along[axis]
                    assert isinstance(window, Window)
                    given = sources[port]
                    found.append((given.min[axis] - window.offset, given.max[axis] - window.offset))
        return found


def _points_along(stage: Stage, dim: int) -> dict[int, int]:
    """The reads of a stage, by number, that follow a dimension of it point by point, each with the axis that does."""
    return {
        k: d
        for k, read in enumerate(stage.reads)
        for d, a in enumerate(read.along)
        if isinstance(a, Window) and a == Window(dim, offset=a.offset)
    }


# ----------------------------------------------------------------------------------------------------------------
# Pipelines, arrays and results
# ----------------------------------------------------------------------------------------------------------------

_NAMES = ("n", "m", "l", "k", "j", "z", "y", "x")
"""The func's last dimension is x; a func has the last ones of these."""


def build(graph: Graph, *, alias: bool = False) -> sl.Pipeline:
    """The pipeline of a graph, unscheduled, with all of its copies unless `alias` does without some.

    Its funcs are called like the stages.
    """
    buffers = {name: sl.BufferExpr(name, DTYPE, rank) for name, rank in graph.ranks().items()}
    radius = sl.scalar(RADIUS)

    def interval(access: Access, dims: Sequence[Any]) -> Any:
        match access:
            case Whole():
                return slice(None)
            case Fixed(first=first, last=last):
                return sl.interval(first, last)
            case Window(dilation=dilation):
                origin = access.origin(dims[access.dim])
                extra = dilation * radius if access.radius else 0
                return sl.interval(origin - extra, origin + (access.taps - 1) * dilation + extra)

    def short_dtypes(stage: Stage) -> dict[sl.BufferExpr, Any]:
        """The intermediates of a stage, in another dtype that holds all there is."""
        names = {each.buffer for each in (*stage.reads, *stage.writes)}.difference(graph.inputs, graph.outputs)
        return {buffers[name]: np.int32 for name in sorted(names)}

    def turned(stage: Stage) -> dict[sl.BufferExpr, tuple[int, ...]]:
        """The intermediates of a stage, of two dimensions or more, with the last as the outermost."""
        names = {each.buffer for each in (*stage.reads, *stage.writes)}.difference(graph.inputs, graph.outputs)
        found = [buffers[name] for name in sorted(names)]
        return {b: (b.rank - 1, *range(b.rank - 1)) for b in found if b.rank > 1}

    made: list[tuple[Stage, sl.Func]] = []
    for stage in graph.stages:
        dims = sl.variables(" ".join(_NAMES[-stage.rank :])) if stage.rank else ()
        if stage.copying is not None:
            _build_copy(stage, stage.copying, buffers, interval, dims)
            continue
        if stage.arithmetic:
            sl.arithmetic(term_of(stage, buffers, dims), buffers[stage.writes[0].buffer][tuple(dims)], stage.name)
            continue
        mix = Mix(stage)
        func = sl.Func(
            mix,
            inputs=[buffers[read.buffer][tuple(interval(a, dims) for a in read.along)] for read in stage.reads],
            outputs=[buffers[write.buffer][tuple(dims[d] for d in write.dims)] for write in stage.writes],
            name=stage.name,
            arguments={RADIUS: radius} if stage.uses_radius() else None,
            pass_buffers=stage.pass_buffers,
            in_place=stage.in_place,
            reduction=mix.reduction(dims),
            variants={
                "again": sl.Variant(Mix(stage), in_place=stage.in_place, reduction=mix.reduction(dims, -1)),
                "short": sl.Variant(Mix(stage), in_place=stage.in_place, dtypes=short_dtypes(stage)),
                "turned": sl.Variant(Turned(stage, orders := turned(stage)), in_place=stage.in_place, layouts=orders),
            },
        )
        for other, first in made:
            if Both.can_be(other, stage):
                both = Both(other, stage)
                given = {RADIUS: radius} if other.uses_radius() or stage.uses_radius() else None
                reduction = both.reduction(dims)
                sl.fuse(first, func, both, both.__name__, arguments=given, pass_buffers=True, reduction=reduction)
        made.append((stage, func))
    inputs, outputs = [buffers[name] for name in graph.inputs], [buffers[name] for name in graph.outputs]
    return sl.build_pipeline(inputs, outputs, alias=alias)


def _build_copy(
    stage: Stage, copying: Copying, buffers: dict[str, sl.BufferExpr], interval: Any, dims: Sequence[Any]
) -> None:
    """Make the func of a stage that copies."""
    target = stage.writes[0].buffer
    sources = [buffers[read.buffer] for read in stage.reads]
    match copying.kind:
        case "extension":
            buffers[target] = build_extension(copying, stage.name, sources[0])
        case "copy":
            first, *others = [
                b[tuple(interval(a, dims) for a in r.along)] for b, r in zip(sources, stage.reads, strict=True)
            ]
            outside = others[0] if others else copying.fill if copying.fill is not None else (*copying.rules, None)[0]
            sl.copies.copy(first, buffers[target][tuple(dims)], outside=outside, name=stage.name)
        case _:
            build_copy(copying, stage.name, sources, buffers[target])


def arguments(graph: Graph) -> tuple[list[sl.Buffer], list[sl.Buffer]]:
    """New input arrays with random elements, and output arrays to be written. The same for the same graph."""
    bounds = boxes(graph)
    random = np.random.default_rng(graph.seed)
    inputs = [_array(bounds.buffers[name], array.layout) for name, array in graph.inputs.items()]
    for buffer in inputs:
        buffer.array[...] = random.integers(0, MODULUS, buffer.shape)
    outputs = [_array(bounds.buffers[name], array.layout) for name, array in graph.outputs.items()]
    for buffer in outputs:
        buffer.array[...] = -1
    return inputs, outputs


def _array(box: Box, layout: str) -> sl.Buffer:
    shape = tuple(map(extent_of, box))
    match layout:
        case "C":
            array = np.empty(shape, DTYPE)
        case "F":
            array = np.empty(shape, DTYPE, order="F")
        case "reversed":
            array = np.empty(shape, DTYPE)[(slice(None, None, -1),) * len(shape)]
        case "every other":
            array = np.empty([2 * extent for extent in shape], DTYPE)[(slice(None, None, 2),) * len(shape)]
        case _:
            raise ValueError(f"unknown layout {layout!r}")
    return sl.Buffer(np.asarray(array), min=tuple(lo for lo, _ in box))


def expected(graph: Graph) -> dict[str, np.ndarray]:
    """The arrays of all buffers, by running each callback once, by hand, on whole arrays of plain NumPy."""
    bounds = boxes(graph)
    domains = domains_of(graph, bounds.buffers)
    arrays = {name: (buffer.array, buffer.min) for name, buffer in zip(graph.inputs, arguments(graph)[0], strict=True)}
    for stage in graph.stages:
        box = dict(enumerate(bounds.funcs[stage.name]))
        for write in stage.writes:
            own = tuple(box[dim] for dim in write.dims)
            arrays[write.buffer] = (np.full(tuple(map(extent_of, own)), -1, DTYPE), tuple(lo for lo, _ in own))
        if volume(bounds.funcs[stage.name]) == 0:
            continue
        if stage.copying is not None:
            arrays[stage.writes[0].buffer][0][...] = _copied(stage, stage.copying, box, arrays, domains)
            continue
        operands = []
        for read in stage.reads:
            array, lo = arrays[read.buffer]
            region = [
                bounds.buffers[read.buffer][d] if isinstance(a, Whole) else region_of(a, box, graph.radius)
                for d, a in enumerate(read.along)
            ]
            part = tuple(slice(r[0] - first, r[1] - first + 1) for r, first in zip(region, lo, strict=True))
            operands.append(sl.Buffer(np.asarray(array[part]), min=tuple(first for first, _ in region)))
        operands += [sl.Buffer(*arrays[write.buffer]) for write in stage.writes]
        scalars = {RADIUS: graph.radius} if stage.uses_radius() else {}
        Mix(stage)(*(operands if stage.pass_buffers else [operand.array for operand in operands]), **scalars)
    return {name: array for name, (array, _) in arrays.items()}


def _copied(
    stage: Stage,
    copying: Copying,
    box: Mapping[int, Range],
    arrays: Mapping[str, tuple[np.ndarray, tuple[int, ...]]],
    domains: Mapping[tuple[str, int], Range],
) -> np.ndarray:
    """What a copy gives over its box: each element is that of the first source that gives it."""
    points = [np.arange(box[dim][0], box[dim][1] + 1) for dim in range(stage.rank)]
    result = np.full([len(along) for along in points], -1 if copying.fill is None else copying.fill, DTYPE)
    for k, read in reversed([*enumerate(stage.reads)]):
        along = [points[a.dim] if isinstance(a, Window) else np.array([0]) for a in read.along]
        coordinates = [
            a.origin(v) + shift_of(stage, k, d, domains) if isinstance(a, Window) else np.array([a.first])
            for d, (a, v) in enumerate(zip(read.along, along, strict=True))
            if not isinstance(a, Whole)
        ]
        limits = [limit_of(stage, k, d, domains) for d in range(len(read.along))]
        found = [_arranged(part, read, stage.rank) for part in taken(*arrays[read.buffer], coordinates, limits)]
        if copying.kind == "stack":
            found[1] = found[1] & (points[copying.axis] == k).reshape(
                [-1 if d == copying.axis else 1 for d in range(stage.rank)]
            )
        result = np.where(found[1], found[0], result)
    return result


def _arranged(values: np.ndarray, read: Read, rank: int) -> np.ndarray:
    """What is read, with the dimensions of the stage, of extent 1 where the read does not follow them."""
    followed = [a.dim for a in read.along if isinstance(a, Window)]
    kept = values.reshape([n for n, a in zip(values.shape, read.along, strict=True) if isinstance(a, Window)])
    kept = kept.transpose(sorted(range(len(followed)), key=lambda n: followed[n]))
    extents = iter(kept.shape)
    return kept.reshape([next(extents) if dim in followed else 1 for dim in range(rank)])


def run_and_compare(graph: Graph, pipeline: sl.Pipeline, **options: Any) -> sl.RunStatistics:
    """Run a pipeline of the graph (`options` as for `Pipeline.run`; checked unless they say otherwise) and compare.

    Raises `AssertionError` if an output is not what the callbacks give by hand, or an input has changed.
    """
    inputs, outputs = arguments(graph)
    statistics = pipeline.run(*inputs, *outputs, **{"checked": True, **options}, **graph.scalars())
    right = expected(graph)
    for name, buffer in zip((*graph.inputs, *graph.outputs), (*inputs, *outputs), strict=True):
        np.testing.assert_array_equal(buffer.array, right[name], err_msg=f"buffer {name}")
    copies = {stage.name: DTYPE for stage in graph.stages if stage.copying is not None}
    copied = (func for func in funcs_of(pipeline.program) if isinstance(func.operation, Copy))
    copies |= {func.name: func.outputs[0].dtype for func in copied}
    elements = statistics.elements
    assert statistics.bytes_copied == sum(dtype.itemsize * elements.get(name, 0) for name, dtype in copies.items())
    return statistics


def funcs_of(program: Program) -> Iterator[LoweredFunc]:
    """The funcs that a program calls, and those of the pipelines in it."""
    for statement in walk(program.body):
        if isinstance(statement, Call):
            yield statement.func
            if isinstance(statement.func.operation, Nested):
                yield from funcs_of(statement.func.operation.program)
