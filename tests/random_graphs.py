"""Random graphs, what they compute, and the arrays to run them on. For any test that needs many different pipelines.

A `Graph` is plain data: its `repr` is Python that makes it again, so that a failing example can be pasted into a test.
Everything about it is computed here with plain integers and NumPy, apart from slinky:

* `build(graph)` is the pipeline (unscheduled);
* `boxes(graph)` are the bounds of every buffer and the box that every func computes;
* `arguments(graph)` are new input and output arrays, the same for the same graph;
* `expected(graph)` are the arrays of all outputs, by running the callbacks by hand over whole buffers;
* `run_and_compare(graph, pipeline)` runs a pipeline, scheduled or not, and compares;
* `graphs()`, `image_graphs()`, `sums_of_rows()` and `many_dimensions()` are the hypothesis strategies;
* `in_arithmetic(graph)` is the same with arithmetic, which slinky understands, in place of callbacks.

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
from graph_bounds import are_enough as are_enough
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


def in_arithmetic(graph: Graph) -> Graph:
    """The same graph, with arithmetic for all stages that can be."""
    return replace(graph, stages=tuple(replace(s, arithmetic=s.is_elementwise()) for s in graph.stages))


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
        stage = replace(stage, pass_buffers=with_coordinates, in_place=draw(st.booleans()))
        stages.append(
            replace(stage, reduction=draw(st.sampled_from(("merged", "merged", "merged", "alone", "rounded"))))
        )
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


def sums_of_rows() -> st.SearchStrategy[Graph]:
    """Random graphs in which a func sums rows or columns of what another one makes, for a third one to read."""
    return _somewhere(_sums_of_rows())


@st.composite
def _sums_of_rows(draw: st.DrawFn) -> Graph:
    way = draw(st.sampled_from((*["merged"] * 8, "alone", "rounded")))

    def window(dim: int) -> Window:
        return Window(dim, offset=draw(st.integers(-1, 1)), taps=draw(st.integers(1, 3)))

    axis = draw(st.integers(0, 1))
    along: tuple[Access, ...] = (window(0), Whole()) if axis else (Whole(), window(0))
    stages = [
        Stage("f0", 2, (Read("in0", (window(0), window(1))),), (Write("b0", (0, 1)),), in_place=draw(st.booleans())),
        Stage("f1", 1, (Read("b0", along),), (Write("b1", (0,)),), reduction=way),
    ]
    if draw(st.booleans()):
        stages.append(Stage("f2", 1, (Read("b1", (window(0),)),), (Write("b2", (0,)),)))
    name = stages[-1].writes[0].buffer
    return Graph({"in0": draw(_arrays(2))}, tuple(stages), {name: draw(_arrays(1))}, seed=draw(st.integers(0, 99)))


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
