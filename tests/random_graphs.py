"""Random graphs, what they compute, and the arrays to run them on. For any test that needs many different pipelines.

A `Graph` is plain data: its `repr` is Python that makes it again, so that a failing example can be pasted into a test.
Everything about it is computed here with plain integers and NumPy, apart from slinky:

* `build(graph)` is the pipeline (unscheduled);
* `boxes(graph)` are the bounds of every buffer and the box that every func computes;
* `arguments(graph)` are new input and output arrays, the same for the same graph;
* `expected(graph)` are the arrays of all outputs, by running the callbacks by hand over whole buffers;
* `run_and_compare(graph, pipeline)` runs a pipeline, scheduled or not, and compares;
* `graphs()`, `image_graphs()` and `many_dimensions()` are the hypothesis strategies.

Graphs are chains, diamonds and trees; a buffer may have several readers and be an output of the pipeline, too. Funcs
have up to three dimensions (those of `many_dimensions` seven or eight) and up to two outputs, which may be transposed
or lack a dimension. They read points, stencils with strides, dilations, a reversed axis or a coarser grid, fixed rows,
whole dimensions, and stencils whose radius is a scalar of the pipeline. Some are elementwise, and some say that they
work in place. Arrays have sizes from 0, negative minima and different memory layouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from graph_bounds import Bounds, UnsuitableGraphError, domains_of, own_domain
from graph_bounds import boxes as boxes
from graph_pipelines import arguments as arguments
from graph_pipelines import build as build
from graph_pipelines import expected as expected
from graph_pipelines import run_and_compare as run_and_compare
from graphs_as_data import LAYOUTS, Access, extent_of
from graphs_as_data import Array as Array
from graphs_as_data import Fixed as Fixed
from graphs_as_data import Graph as Graph
from graphs_as_data import Read as Read
from graphs_as_data import Stage as Stage
from graphs_as_data import Whole as Whole
from graphs_as_data import Window as Window
from graphs_as_data import Write as Write
from graphs_as_data import volume as volume
from hypothesis import strategies as st
from random_copies import RULES, Copying, build_copy, build_extension, region_within, taken

import slinky as sl

Range = tuple[int, int]
"""The first and the last coordinate; empty where the last is smaller."""

Box = tuple[Range, ...]

RADIUS = "radius"
"""The name of the one scalar that a random graph may have."""

LAYOUTS = ("C", "F", "reversed", "every other")
DTYPE = np.dtype(np.int64)
MODULUS = 10_007
"""Elements stay below it, so that sums never overflow."""

# ----------------------------------------------------------------------------------------------------------------
# Graphs as data
# ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """Read coordinates `scale * v // divide + offset + k * dilation` for k in `0 .. taps - 1`, v a func's dimension.

    With `radius`, the window is longer by the pipeline's scalar `radius` taps at both ends.
    """

    dim: int
    scale: int = 1
    divide: int = 1
    offset: int = 0
    taps: int = 1
    dilation: int = 1
    radius: bool = False

    def origin(self, v: Any) -> Any:
        """The coordinate of tap 0, of a number or an expression."""
        scaled = self.scale * v
        return (scaled // self.divide if self.divide != 1 else scaled) + self.offset

    def steps(self, radius: int) -> range:
        """The distances of the taps from tap 0."""
        extra = radius if self.radius else 0
        return range(-extra * self.dilation, (self.taps + extra) * self.dilation, self.dilation)

    def region(self, v: Range, radius: int) -> Range:
        """What is read for a range of v."""
        ends = (self.origin(v[0]), self.origin(v[1]))
        if self.scale < 0:
            ends = (ends[1], ends[0])
        steps = self.steps(radius)
        return (ends[0] + steps[0], ends[1] + steps[-1])

    def is_increasing(self) -> bool:
        """Whether it is shown, in the simple way of slinky, how far v may go for the window to stay in a range."""
        return self.scale > 0

    def around(self) -> Window:
        """The point that the window is around."""
        return Window(self.dim, self.scale, self.divide)


@dataclass(frozen=True)
class Fixed:
    """Read these coordinates, wherever the func is."""

    first: int
    last: int


@dataclass(frozen=True)
class Whole:
    """Read the whole dimension."""


Access = Window | Fixed | Whole


@dataclass(frozen=True)
class Read:
    """A buffer that a func reads, and how along each of its dimensions."""

    buffer: str
    along: tuple[Access, ...]

    def dims(self) -> set[int]:
        """The func's dimensions that it follows."""
        return {access.dim for access in self.along if isinstance(access, Window)}


@dataclass(frozen=True)
class Write:
    """A buffer that a func produces, and which of the func's dimensions its dimensions are."""

    buffer: str
    dims: tuple[int, ...]


@dataclass(frozen=True)
class Stage:
    """A func. Each element of an output is a mix of all reads that follow only dimensions of that output; or a copy."""

    name: str
    rank: int
    reads: tuple[Read, ...]
    writes: tuple[Write, ...]
    pass_buffers: bool = False
    in_place: bool = False
    copying: Copying | None = None
    """A stage that copies has no callback."""

    def needs_coordinates(self) -> bool:
        """Whether its callback must know where its box is."""
        return any(isinstance(a, Window) and a.divide != 1 for read in self.reads for a in read.along)

    def uses_radius(self) -> bool:
        """Whether a window depends on the scalar."""
        return any(isinstance(a, Window) and a.radius for read in self.reads for a in read.along)


@dataclass(frozen=True)
class Array:
    """An array of the caller: its bounds where the graph does not say more, and how it lies in memory."""

    box: Box
    margins: tuple[tuple[int, int], ...]
    layout: str = "C"


@dataclass(frozen=True)
class Graph:
    """A graph of stages, in dependency order, and the arrays to run it on."""

    inputs: Mapping[str, Array]
    stages: tuple[Stage, ...]
    outputs: Mapping[str, Array]
    radius: int = 0
    seed: int = 0

    def uses_radius(self) -> bool:
        """Whether the pipeline has the scalar `radius`."""
        return any(stage.uses_radius() for stage in self.stages)

    def scalars(self) -> dict[str, int]:
        """The scalars to run the pipeline with."""
        return {RADIUS: self.radius} if self.uses_radius() else {}

    def extended(self) -> set[tuple[str, int]]:
        """The dimensions in which a buffer goes on beyond its edges."""
        return {
            (s.writes[0].buffer, d)
            for s in self.stages
            if s.copying is not None and s.copying.kind == "extension"
            for d in range(s.rank)
            if s.copying.rule(0, d) is not None
        }

    def limited(self) -> set[tuple[str, int]]:
        """The dimensions of which it matters where they end."""
        return {
            (read.buffer, d)
            for s in self.stages
            if s.copying is not None
            for k, read in enumerate(s.reads)
            for d in range(len(read.along))
            if s.copying.rule(k, d) is not None
        }

    def ranks(self) -> dict[str, int]:
        """The rank of every buffer."""
        ranks = {name: len(array.box) for name, array in self.inputs.items()}
        ranks.update((write.buffer, len(write.dims)) for stage in self.stages for write in stage.writes)
        return ranks


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

    def _read(
        self, read: Read, source: tuple[np.ndarray, Sequence[int]], write: Write, box: Mapping[int, Range], radius: int
    ) -> np.ndarray:
        """A weighted sum over all taps, with the dimensions of an output."""
        values, lo = source
        for d, access in enumerate(read.along):
            extent = values.shape[d]
            places = np.arange(extent)[None, :]  # index (place in the box, tap)
            if isinstance(access, Window):
                region = access.region(box[access.dim], radius)
                first = lo[d] if self.stage.pass_buffers else region[0]
                assert (first, extent) == (region[0], _extent(region)), f"{self.stage.name}: region of {read} is off"
                v = np.arange(box[access.dim][0], box[access.dim][1] + 1)
                places = access.origin(v)[:, None] + np.array(access.steps(radius))[None, :] - first
            elif isinstance(access, Fixed):
                assert extent == access.last - access.first + 1, f"{self.stage.name}: region of {read} is off"
            weights = 1 + np.arange(places.shape[1]) % 5
            taps = np.take(values, places, axis=d)
            values = np.moveaxis(taps, d + 1, -1) @ weights
        followed = [access.dim for access in read.along if isinstance(access, Window)]
        values = values.reshape([_extent(box[dim]) for dim in followed])
        values = values.transpose(sorted(range(len(followed)), key=lambda n: write.dims.index(followed[n])))
        return values.reshape([_extent(box[dim]) if dim in followed else 1 for dim in write.dims])


def _extent(i: Range) -> int:
    return max(i[1] - i[0] + 1, 0)


def volume(box: Box) -> int:
    """The number of points of a box."""
    return math.prod(map(_extent, box))


# ----------------------------------------------------------------------------------------------------------------
# Bounds, with plain integers
# ----------------------------------------------------------------------------------------------------------------


class UnsuitableGraphError(ValueError):
    """The arrays of a graph cannot be given bounds that satisfy all its funcs."""


@dataclass(frozen=True)
class Bounds:
    """The bounds of every buffer, and the box that every func computes."""

    buffers: Mapping[str, Box]
    funcs: Mapping[str, Box]
    needed: Mapping[tuple[str, int], Range]
    """The hull of the intervals that are read of each buffer and dimension, where there are any."""
    by_arrays: frozenset[str]
    """The funcs with a dimension that nobody asks for: it goes as far as the arrays allow."""


def boxes(graph: Graph) -> Bounds:
    """The bounds of every buffer and func.

    An output has the bounds that its array has: those in the graph, extended by what other funcs read of it. An
    intermediate has the hull of what is read of it by intervals; where it is only read whole, as much as the arrays
    allow. An input has what is read of it, with margins; where it is only read whole, what the graph says.

    Raises `UnsuitableGraphError` if bounds do not settle: two arrays that each must be larger because the other is.
    """
    given: dict[str, Box] = {name: array.box for name, array in (*graph.inputs.items(), *graph.outputs.items())}
    given, _ = _settle(graph, given, _exactly_as_read)
    given.update((name, _with_margins(given[name], array.margins)) for name, array in graph.inputs.items())
    return _settle(graph, given, _at_least_as_read)[1]


def _settle(graph: Graph, given: dict[str, Box], grown: Any) -> tuple[dict[str, Box], Bounds]:
    for _ in range(10):
        bounds = _infer(graph, given)
        new = {name: _of_an_array(grown(graph, name, box, bounds)) for name, box in given.items()}
        if new == given:
            return given, bounds
        given = new
    raise UnsuitableGraphError("the bounds of the arrays do not settle")


def _at_least_as_read(graph: Graph, name: str, box: Box, bounds: Bounds) -> Box:
    if name in graph.outputs:
        box = tuple(map(_hull, box, bounds.buffers[name]))
    return tuple(_hull(i, bounds.needed.get((name, d))) for d, i in enumerate(box))


def _exactly_as_read(graph: Graph, name: str, box: Box, bounds: Bounds) -> Box:
    if name in graph.outputs:
        return _at_least_as_read(graph, name, box, bounds)
    limited = graph.limited()
    return tuple(
        _hull(i, bounds.needed.get((name, d))) if (name, d) in limited else bounds.needed.get((name, d), i)
        for d, i in enumerate(box)
    )


def _of_an_array(box: Box) -> Box:
    """A box that an array can have: of an interval that is less than empty, an array has the lower end."""
    return tuple((lo, max(hi, lo - 1)) for lo, hi in box)


def _with_margins(box: Box, margins: Sequence[tuple[int, int]]) -> Box:
    return tuple((lo - before, hi + after) for (lo, hi), (before, after) in zip(box, margins, strict=True))


def _hull(a: Range, b: Range | None) -> Range:
    return a if b is None else (min(a[0], b[0]), max(a[1], b[1]))


def _infer(graph: Graph, given: Mapping[str, Box]) -> Bounds:
    """From the outputs back: what every func has to compute, and what it reads for that."""
    available = _available(graph, given)
    domains = domains_of(graph, given)
    extended = graph.extended()
    needed: dict[tuple[str, int], Range] = {}
    buffers = {name: given[name] for name in graph.inputs}
    funcs: dict[str, Box] = {}
    by_arrays: set[str] = set()
    for stage in reversed(graph.stages):
        box: dict[int, Range] = {}
        for write in stage.writes:
            for d, dim in enumerate(write.dims):
                asked = given[write.buffer][d] if write.buffer in given else needed.get((write.buffer, d))
                if asked is not None:
                    box[dim] = _hull(asked, box.get(dim))
        for dim in range(stage.rank):
            if dim not in box:
                by_arrays.add(stage.name)
                box[dim] = _allowed(stage, dim, available, graph.radius, extended)
        funcs[stage.name] = tuple(box[dim] for dim in range(stage.rank))
        buffers.update((write.buffer, tuple(box[dim] for dim in write.dims)) for write in stage.writes)
        for k, read in enumerate(stage.reads):
            for d, access in enumerate(read.along):
                if not isinstance(access, Whole):
                    region = _region(access, box, graph.radius)
                    limit = _limit(stage, k, d, domains)
                    if limit is not None:
                        shift = _shift(stage, k, d, domains)
                        region = region_within((region[0] + shift, region[1] + shift), *limit)
                    needed[read.buffer, d] = _hull(region, needed.get((read.buffer, d)))
    return Bounds(buffers, funcs, needed, frozenset(by_arrays))


def are_enough(graph: Graph, arrays: Mapping[str, Box]) -> bool:
    """Whether the arrays of the inputs and outputs, given by their boxes, have all that is read of them."""
    needed = _infer(graph, arrays).needed
    read = ((arrays[name][d], i) for (name, d), i in needed.items() if name in arrays and i[0] <= i[1])
    return all(has[0] <= lo and hi <= has[1] for has, (lo, hi) in read)


def _region(access: Window | Fixed, box: Mapping[int, Range], radius: int) -> Range:
    return (access.first, access.last) if isinstance(access, Fixed) else access.region(box[access.dim], radius)


def _limit(stage: Stage, k: int, d: int, domains: Mapping[tuple[str, int], Range]) -> tuple[Range, str] | None:
    """The edges of a source of a copy along a dimension, and what is beyond them; None if there is no limit."""
    rule = None if stage.copying is None else stage.copying.rule(k, d)
    if rule is None:
        return None
    edges = domains.get((stage.reads[k].buffer, d))
    if edges is None:
        raise UnsuitableGraphError(f"nothing determines the domain of {stage.reads[k].buffer}")
    return edges, rule


def _shift(stage: Stage, k: int, d: int, domains: Mapping[tuple[str, int], Range]) -> int:
    """How far the coordinates of a source of a copy lie apart from the target's."""
    copying = stage.copying
    if copying is None or copying.kind != "concatenate" or d != copying.axis:
        return 0
    return copying.shifts([domains[read.buffer, d] for read in stage.reads])[k]


def domains_of(graph: Graph, given: Mapping[str, Box]) -> dict[tuple[str, int], Range]:
    """Forward from the inputs: where each buffer has its elements by itself, as far as that is determined."""
    domains = {(name, d): i for name in graph.inputs for d, i in enumerate(given[name])}
    extended = graph.extended()
    for stage in graph.stages:
        for write in stage.writes:
            for d, dim in enumerate(write.dims):
                domain = _own_domain(stage, d, domains)
                if domain is None:
                    try:
                        domain = _allowed(stage, dim, domains, graph.radius, extended)
                    except UnsuitableGraphError:
                        continue
                domains[write.buffer, d] = domain
    return domains


def _own_domain(stage: Stage, d: int, domains: Mapping[tuple[str, int], Range]) -> Range | None:
    """The domain that a copy gives its target."""
    match stage.copying:
        case Copying(kind="extension") if stage.copying.rule(0, d) is not None:
            return domains.get((stage.reads[0].buffer, d))
        case Copying(kind="stack", axis=axis) if d == axis:
            return 0, len(stage.reads) - 1
        case Copying(kind="concatenate", axis=axis) if d == axis:
            ends = [domains.get((read.buffer, d)) for read in stage.reads]
            known = [end for end in ends if end is not None]
            if len(known) == len(ends):
                return known[0][0], known[0][0] + sum(hi - lo + 1 for lo, hi in known) - 1
    return None


def _available(graph: Graph, given: Mapping[str, Box]) -> dict[tuple[str, int], Range]:
    """Forward from the arrays: how far each dimension could go."""
    available = {(name, d): i for name, box in given.items() for d, i in enumerate(box)}
    domains = domains_of(graph, given)
    extended = graph.extended()
    for stage in graph.stages:
        shared = {
            dim: i for write in stage.writes if write.buffer in given
            for dim, i in zip(write.dims, given[write.buffer], strict=True)
        }  # fmt: skip
        for write in stage.writes:
            for d, dim in enumerate(write.dims):
                own = _own_domain(stage, d, domains)
                try:
                    if dim in shared:
                        limit = shared[dim]
                    elif own is not None:
                        limit = own
                    else:
                        limit = _allowed(stage, dim, available, graph.radius, extended)
                except UnsuitableGraphError:
                    continue
                available.setdefault((write.buffer, d), limit)
    return available


def _allowed(
    stage: Stage, dim: int, available: Mapping[tuple[str, int], Range], radius: int, extended: set[tuple[str, int]]
) -> Range:
    """How far a func's dimension may go so that what it reads is available; where that goes on beyond its edges, so
    that the points which windows are around lie within these."""
    found: list[Range] = []
    for k, read in enumerate(stage.reads):
        for d, access in enumerate(read.along):
            limit = available.get((read.buffer, d))
            limited = stage.copying is not None and stage.copying.rule(k, d) is not None
            if isinstance(access, Window) and access.dim == dim and access.is_increasing() and limit and not limited:
                window = access.around() if (read.buffer, d) in extended else access
                first, last = window.steps(radius)[0] + window.offset, window.steps(radius)[-1] + window.offset
                least, most = limit[0] - first, limit[1] - last  # of scale * v // divide
                found.append(
                    (-(-least * window.divide // window.scale), ((most + 1) * window.divide - 1) // window.scale)
                )
    if not found:
        raise UnsuitableGraphError(f"nothing determines dimension {dim} of {stage.name}")
    return max(lo for lo, _ in found), min(hi for _, hi in found)


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

    for stage in graph.stages:
        dims = sl.variables(" ".join(_NAMES[-stage.rank :])) if stage.rank else ()
        if stage.copying is not None:
            _build_copy(stage, stage.copying, buffers, interval, dims)
            continue
        sl.Func(
            Mix(stage),
            inputs=[buffers[read.buffer][tuple(interval(a, dims) for a in read.along)] for read in stage.reads],
            outputs=[buffers[write.buffer][tuple(dims[d] for d in write.dims)] for write in stage.writes],
            name=stage.name,
            arguments={RADIUS: radius} if stage.uses_radius() else None,
            pass_buffers=stage.pass_buffers,
            in_place=stage.in_place,
        )
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
    shape = tuple(map(_extent, box))
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
            arrays[write.buffer] = (np.full(tuple(map(_extent, own)), -1, DTYPE), tuple(lo for lo, _ in own))
        if volume(bounds.funcs[stage.name]) == 0:
            continue
        if stage.copying is not None:
            arrays[stage.writes[0].buffer][0][...] = _copied(stage, stage.copying, box, arrays, domains)
            continue
        operands = []
        for read in stage.reads:
            array, lo = arrays[read.buffer]
            region = [
                bounds.buffers[read.buffer][d] if isinstance(a, Whole) else _region(a, box, graph.radius)
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
            a.origin(v) + _shift(stage, k, d, domains) if isinstance(a, Window) else np.array([a.first])
            for d, (a, v) in enumerate(zip(read.along, along, strict=True))
            if not isinstance(a, Whole)
        ]
        limits = [_limit(stage, k, d, domains) for d in range(len(read.along))]
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
    copies = [stage.name for stage in graph.stages if stage.copying is not None]
    assert statistics.bytes_copied == DTYPE.itemsize * sum(statistics.elements.get(name, 0) for name in copies)
    return statistics

from random_copies import RULES, Copying

# ----------------------------------------------------------------------------------------------------------------
# The strategy
# ----------------------------------------------------------------------------------------------------------------

LARGEST = 30_000
"""Graphs with a buffer of more elements are left out."""


def is_suitable(graph: Graph) -> bool:
    """Whether the graph can be run: its bounds settle, it is small, and no func is empty that must write something."""
    try:
        bounds = boxes(graph)
    except UnsuitableGraphError:
        return False
    if max(map(volume, (*bounds.buffers.values(), *bounds.funcs.values()))) > LARGEST:
        return False
    if not all(_gives_all(stage, graph, bounds) for stage in graph.stages):
        return False
    return all(
        volume(bounds.funcs[stage.name]) or not volume(bounds.buffers[write.buffer])
        for stage in graph.stages
        for write in stage.writes
    )


def _gives_all(stage: Stage, graph: Graph, bounds: Bounds) -> bool:
    """Whether a copy can give all that is asked of it."""
    copying, box = stage.copying, bounds.funcs[stage.name]
    if copying is None:
        return True
    domains = domains_of(graph, bounds.buffers)
    nothing_asked = not any(volume(bounds.buffers[name]) for name in graph.outputs)
    for d in range(len(stage.reads[0].along)):
        if copying.needs_elements(d) and not nothing_asked and not extent_of(domains[stage.reads[0].buffer, d]):
            return False
    if copying.kind not in ("stack", "concatenate"):
        return True
    lo, hi = domains[stage.writes[0].buffer, copying.axis]
    return lo <= box[copying.axis][0] and box[copying.axis][1] <= hi


def graphs(max_stages: int = 6) -> st.SearchStrategy[Graph]:
    """Random graphs that can be built and run, every third on arrays that all begin at 0."""
    return _somewhere(_graphs(max_stages))


def _somewhere(found: st.SearchStrategy[Graph]) -> st.SearchStrategy[Graph]:
    anywhere = found.filter(is_suitable)
    return st.one_of(anywhere, anywhere, anywhere.map(at_origin).filter(is_suitable))


def at_origin(graph: Graph) -> Graph:
    """A similar graph whose arrays begin at 0: nothing is read from further back than it is written."""
    stages = tuple(
        s if s.copying is not None and s.copying.kind != "copy"
        else replace(s, reads=tuple(replace(r, along=tuple(map(_forwards, r.along))) for r in s.reads))
        for s in graph.stages
    )  # fmt: skip
    moved = {
        name: replace(array, box=tuple((0, hi - lo) for lo, hi in array.box), margins=((0, 0),) * len(array.box))
        for name, array in (*graph.inputs.items(), *graph.outputs.items())
    }
    inputs, outputs = ({name: moved[name] for name in arrays} for arrays in (graph.inputs, graph.outputs))
    graph = replace(graph, stages=stages, inputs=inputs, outputs=outputs)
    try:
        bounds = boxes(graph)
    except UnsuitableGraphError:
        return graph
    for name, array in inputs.items():
        inputs[name] = replace(array, margins=tuple((max(lo, 0), 0) for lo, _ in bounds.buffers[name]))
    return graph


def _forwards(access: Access) -> Access:
    match access:
        case Window(scale=scale, offset=offset):
            return replace(access, scale=abs(scale), offset=abs(offset), radius=False)
        case Fixed(first=first, last=last):
            return Fixed(abs(first), abs(first) + last - first)
    return access


@st.composite
def _graphs(draw: st.DrawFn, max_stages: int) -> Graph:
    ranks: dict[str, int] = {f"in{n}": draw(st.sampled_from((2, 1, 3))) for n in range(draw(st.integers(1, 2)))}
    bounded = {(name, d) for name, rank in ranks.items() for d in range(rank)}
    inputs, outputs = list(ranks), []
    stages: list[Stage] = []
    domained = set(bounded)
    unusual = draw(st.integers(0, 2))  # how many strides and coarse grids: each multiplies what is read
    for n in range(draw(st.integers(1, max_stages))):
        names = list(ranks)
        if draw(st.integers(0, 4)) == 4:
            for copy in draw(_copies(n, ranks, stages, domained)):
                stages.append(copy)
                buffer = copy.writes[0].buffer
                ranks[buffer] = copy.rank
                known = {(buffer, d) for d in range(copy.rank) if _is_bounded(copy, d, domained)}
                domained |= known
                bounded |= known
            continue
        elementwise = draw(st.integers(0, 2)) == 2
        rank = ranks[names[-1]] if elementwise else draw(st.sampled_from((2, 1, 3, 0)))
        dims = draw(st.permutations(range(rank)))
        order = tuple(dims) if draw(st.booleans()) else tuple(range(rank))
        reads = [Read(names[-1], tuple(map(Window, order)))] if elementwise else []
        for _ in range(draw(st.sampled_from((0, 1) if elementwise else (1, 2, 3, 0) if n else (1, 2)))):
            name = names[-1 - draw(st.integers(0, len(names) - 1))]  # the newest is the simplest: chains
            along, unusual = draw(_accesses(name, ranks[name], rank, bounded, unusual))
            reads.append(Read(name, along))
        writes = [Write(f"b{n}", order)]
        if draw(st.integers(0, 3)) == 3:
            kept = tuple(dim for dim in dims if draw(st.integers(0, 3)) < 3)
            writes.append(Write(f"c{n}", kept))
        stage = Stage(f"f{n}", rank, tuple(reads), tuple(writes))
        with_coordinates = stage.needs_coordinates() or draw(st.booleans())
        stages.append(replace(stage, pass_buffers=with_coordinates, in_place=draw(st.booleans())))
        for write in writes:
            ranks[write.buffer] = len(write.dims)
            if draw(st.integers(0, 4)) == 4:
                outputs.append(write.buffer)
        given = {dim for write in writes if write.buffer in outputs for dim in write.dims}
        for write in writes:
            bounded |= {(write.buffer, d) for d, dim in enumerate(write.dims) if dim in given}
            bounded |= {(write.buffer, d) for d, dim in enumerate(write.dims) if _is_bounded(stage, dim, bounded)}
            domained |= {(write.buffer, d) for d, dim in enumerate(write.dims) if _is_bounded(stage, dim, domained)}
    read = {r.buffer for stage in stages for r in stage.reads}
    for stage in stages:
        if not any(write.buffer in read or write.buffer in outputs for write in stage.writes):
            outputs.append(stage.writes[0].buffer)
    arrays = {name: draw(_arrays(ranks[name])) for name in (*inputs, *outputs)}
    return Graph(
        {name: arrays[name] for name in inputs if name in read},
        tuple(stages),
        {name: arrays[name] for name in outputs},
        radius=draw(st.integers(0, 2)),
        seed=draw(st.integers(0, 99)),
    )


def _is_bounded(stage: Stage, dim: int, bounded: set[tuple[str, int]]) -> bool:
    if own_domain(stage, dim, dict.fromkeys(bounded, (0, 0))) is not None:
        return True
    return any(
        isinstance(a, Window) and a.dim == dim and a.is_increasing() and (read.buffer, d) in bounded
        for k, read in enumerate(stage.reads)
        for d, a in enumerate(read.along)
        if stage.copying is None or stage.copying.rule(k, d) is None
    )


@st.composite
def _copies(
    draw: st.DrawFn,
    n: int,
    ranks: Mapping[str, int],
    stages: Sequence[Stage],
    domained: set[tuple[str, int]],
    kinds: Sequence[str] = ("extension", "extension", "copy", "concatenate", "stack"),
) -> list[Stage]:
    """Stages that copy: an extension, a copy, or parts that are put together and then extended. None if there is no
    buffer for it."""
    found = [name for name, rank in ranks.items() if rank and all((name, d) in domained for d in range(rank))]
    if not found:
        return []
    source = found[-1 - draw(st.integers(0, len(found) - 1))]
    rank = ranks[source]
    plain = tuple(map(Window, range(rank)))
    kind = draw(st.sampled_from(kinds))
    copies: list[Stage] = []
    if kind == "copy":
        order = draw(st.permutations(range(rank)))
        along = [
            Window(dim, *draw(st.sampled_from(((1, 1), (1, 1), (-1, 1), (2, 1), (1, 2)))), draw(st.integers(-2, 2)))
            for dim in order
        ]
        reads = [Read(source, (Fixed(0, 0), *along[1:]) if draw(st.integers(0, 4)) == 4 else tuple(along))]
        outside = draw(st.sampled_from((None, *RULES, "other")))
        if outside == "other":
            others = [name for name, other in ranks.items() if other == rank]
            reads.append(Read(draw(st.sampled_from(others)), plain))
        fill = draw(st.integers(0, 99)) if outside == "constant" else None
        rules = () if outside is None else ("nothing" if outside == "other" else outside,)
        return [
            Stage(
                f"c{n}", rank, tuple(reads), (Write(f"y{n}", tuple(range(rank))),), copying=Copying(kind, rules, fill)
            )
        ]
    if kind in ("concatenate", "stack"):
        others = [source, *draw(st.lists(st.sampled_from([name for name in found if ranks[name] == rank]), max_size=2))]
        rank += kind == "stack"
        axis = draw(st.integers(0, rank - 1))
        along = [dim for dim in range(rank) if kind == "concatenate" or dim != axis]
        reads = [Read(name, tuple(map(Window, along))) for name in others]
        copies.append(
            Stage(f"c{n}", rank, tuple(reads), (Write(f"y{n}", tuple(range(rank))),), copying=Copying(kind, axis=axis))
        )
        rules = [None] * rank
        rules[axis] = draw(st.sampled_from([*RULES]))
        source, plain = f"y{n}", tuple(map(Window, range(rank)))
    else:
        rules = [draw(st.sampled_from((*RULES, None))) for _ in range(rank)]
        if not any(rules):
            rules[0] = draw(st.sampled_from([*RULES]))
    copying = Copying("extension", tuple(rules), draw(st.integers(0, 99)) if "constant" in rules else None)
    if not any(s.copying == copying and s.reads[0].buffer == source for s in stages):  # it is made once
        copies.append(
            Stage(f"e{n}", rank, (Read(source, plain),), (Write(f"x{n}", tuple(range(rank))),), copying=copying)
        )
    return copies


@st.composite
def _accesses(
    draw: st.DrawFn, name: str, rank: int, dims: int, bounded: set[tuple[str, int]], unusual: int
) -> tuple[tuple[Access, ...], int]:
    """How a func of some dimensions reads a buffer, each dimension followed at most once."""
    free = list(range(dims)) if draw(st.booleans()) else list(draw(st.permutations(range(dims))))
    along: list[Access] = []
    for d in range(rank):
        kind = draw(st.sampled_from(("point", "stencil", "unusual", "whole", "fixed")))
        if kind == "whole" and (name, d) in bounded:
            along.append(Whole())
        elif kind == "fixed" or not free:
            first = draw(st.integers(-3, 3))
            along.append(Fixed(first, first + draw(st.integers(0, 2))))
        elif kind == "point":
            along.append(Window(free.pop(0), offset=draw(st.integers(-2, 2))))
        else:
            scale, divide = 1, 1
            if kind == "unusual" and unusual:
                unusual -= 1
                scale, divide = draw(st.sampled_from(((2, 1), (3, 1), (-1, 1), (1, 2), (3, 2))))
            along.append(Window(
                free.pop(0), scale, divide, draw(st.integers(-2, 2)), draw(st.integers(1, 3)),
                draw(st.integers(1, 2)), draw(st.integers(0, 3)) == 3,
            ))  # fmt: skip
    return tuple(along), unusual


@st.composite
def _arrays(draw: st.DrawFn, rank: int) -> Array:
    box, margins = [], []
    for _ in range(rank):
        lo = draw(st.integers(-5, 5))
        box.append((lo, lo + draw(st.sampled_from((4, 1, 2, 3, 6, 0))) - 1))
        margins.append((draw(st.integers(0, 2)), draw(st.integers(0, 2))))
    return Array(tuple(box), tuple(margins), draw(st.sampled_from(LAYOUTS)))


# ----------------------------------------------------------------------------------------------------------------
# Graphs that are worth a schedule
# ----------------------------------------------------------------------------------------------------------------


def image_graphs(max_stages: int = 5) -> st.SearchStrategy[Graph]:
    """Random graphs of the kind that schedules are for: stencils over one or two dimensions, chained and branching,
    with strides, coarser grids, a symbolic radius, and now and then an output that another func also reads."""
    return _somewhere(_image_graphs(max_stages))


def _extended(name: str, rank: int, rule: str, stages: list[Stage]) -> str:
    """The extension of a buffer by a rule in all dimensions, made by one of the stages."""
    extension = f"{name}_{rule}"
    if not any(stage.writes[0].buffer == extension for stage in stages):
        copying = Copying("extension", (rule,) * rank, 5 if rule == "constant" else None)
        dims = tuple(range(rank))
        read, write = Read(name, tuple(map(Window, dims))), Write(extension, dims)
        stages.append(Stage(f"e_{name}", rank, (read,), (write,), copying=copying))
    return extension


@st.composite
def _image_graphs(draw: st.DrawFn, max_stages: int) -> Graph:
    rank = draw(st.integers(1, 2))
    count = draw(st.integers(2, max_stages))
    stages: list[Stage] = []
    names = ["in0"]
    outputs: list[str] = []
    unusual = draw(st.integers(0, 2))
    edges = draw(st.sampled_from((None, *RULES)))  # what most reads find beyond the edges
    unusual = unusual if edges is None else 0
    most = draw(st.integers(1, 3))
    for n in range(count):
        reads = []
        for back in {0, draw(st.integers(0, 2))}:  # the buffer before, and perhaps one further back
            name = names[max(-1 - back, -len(names))]
            along: list[Access] = []
            if edges is not None and n < most and draw(st.integers(0, 3)) < 3:
                name = _extended(name, rank, edges, stages)
            if draw(st.integers(0, 3)) == 3:
                reads.append(Read(name, tuple(map(Window, range(rank)))))  # elementwise
                continue
            for d in range(rank):
                scale, divide = draw(st.sampled_from(((1, 1), (2, 1), (1, 2), (3, 2), (1, 3)))) if unusual else (1, 1)
                unusual -= (scale, divide) != (1, 1)
                along.append(
                    Window(
                        dim=d,
                        scale=scale,
                        divide=divide,
                        offset=draw(st.integers(-2, 2)),
                        taps=draw(st.integers(1, 3)),
                        dilation=draw(st.sampled_from((1, 1, 2))),
                        radius=draw(st.integers(0, 7)) == 7,
                    )
                )
            reads.append(Read(name, tuple(along)))
        stage = Stage(f"f{n}", rank, tuple(reads), (Write(f"b{n}", tuple(range(rank))),))
        stages.append(replace(stage, pass_buffers=stage.needs_coordinates(), in_place=draw(st.booleans())))
        names.append(f"b{n}")
        if n < count - 1 and draw(st.integers(0, 5)) == 5:
            outputs.append(f"b{n}")
    outputs.append(names[-1])
    read = {r.buffer for stage in stages for r in stage.reads}
    outputs += [name for name in names[1:] if name not in read and name not in outputs]
    arrays = {}
    for name in ("in0", *outputs):
        lows = [draw(st.integers(-4, 4)) for _ in range(rank)]
        box = tuple((lo, lo + draw(st.integers(0, 9)) - 1) for lo in lows)
        arrays[name] = Array(box, ((0, 0),) * rank, draw(st.sampled_from(("C", "C", "reversed"))))
    return Graph(
        {"in0": arrays["in0"]},
        tuple(stages),
        {name: arrays[name] for name in outputs},
        radius=draw(st.integers(0, 2)),
        seed=draw(st.integers(0, 99)),
    )


# ----------------------------------------------------------------------------------------------------------------
# Graphs of many dimensions
# ----------------------------------------------------------------------------------------------------------------


def many_dimensions(max_stages: int = 3) -> st.SearchStrategy[Graph]:
    """Random chains of funcs of seven or eight dimensions, most of them of extent 1, and now and then of extent 0:
    stencils and other rates along one or two of them, dimensions exchanged, fixed rows and whole dimensions."""
    return _many_dimensions(max_stages).filter(is_suitable)


@st.composite
def _many_dimensions(draw: st.DrawFn, max_stages: int) -> Graph:
    rank = draw(st.sampled_from((7, 8)))
    stages: list[Stage] = []
    domained = {("in0", d) for d in range(rank)}
    source = "in0"
    for n in range(draw(st.integers(1, max_stages))):
        if draw(st.integers(0, 2)) == 2:
            for copy in draw(_copies(n, {source: rank}, stages, domained, ("extension", "copy"))):
                source = copy.writes[0].buffer
                domained |= {(source, d) for d in range(rank) if _is_bounded(copy, d, domained)}
                stages.append(copy)
        along: list[Access] = list(map(Window, range(rank)))
        if draw(st.booleans()):  # two dimensions exchanged
            d = draw(st.integers(0, rank - 2))
            along[d], along[d + 1] = along[d + 1], along[d]
        for _ in range(draw(st.integers(0, 2))):
            d = draw(st.integers(0, rank - 1))
            access = along[d]
            assert isinstance(access, Window)
            scale, divide = draw(st.sampled_from(((1, 1), (1, 1), (2, 1), (1, 2), (-1, 1))))
            along[d] = replace(access, scale=scale, divide=divide, offset=draw(st.integers(-1, 1)), taps=2)
        reads = [Read(source, tuple(along))]
        if draw(st.integers(0, 3)) == 3:  # what all that it computes depends on: a row of the input
            kinds = [draw(st.sampled_from((Whole(), Fixed(-1, 0)))) for _ in range(rank)]
            reads.append(Read("in0", (Window(0), *kinds[1:])))
        stage = Stage(f"f{n}", rank, tuple(reads), (Write(f"b{n}", tuple(range(rank))),))
        stages.append(replace(stage, pass_buffers=stage.needs_coordinates() or draw(st.booleans())))
        source = f"b{n}"
        domained |= {(source, d) for d in range(rank) if _is_bounded(stages[-1], d, domained)}
    extents = [1] * rank
    for _ in range(3):
        extents[draw(st.integers(0, rank - 1))] = draw(st.sampled_from((2, 3, 4, 1, 0)))
    lows = [draw(st.integers(-2, 2)) for _ in range(rank)]
    out = Array(tuple((lo, lo + n - 1) for lo, n in zip(lows, extents, strict=True)), ((0, 0),) * rank)
    given = replace(out, layout=draw(st.sampled_from(LAYOUTS)))
    return Graph({"in0": given}, tuple(stages), {stages[-1].writes[0].buffer: out}, seed=draw(st.integers(0, 99)))
