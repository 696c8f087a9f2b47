"""The bounds of everything in a random graph, computed with plain integers, apart from slinky (see `random_graphs`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphs_as_data import Box, Fixed, Graph, Range, Stage, Whole, Window
from random_copies import Copying, region_within

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
                    region = region_of(access, box, graph.radius)
                    limit = limit_of(stage, k, d, domains)
                    if limit is not None:
                        shift = shift_of(stage, k, d, domains)
                        region = region_within((region[0] + shift, region[1] + shift), *limit)
                    needed[read.buffer, d] = _hull(region, needed.get((read.buffer, d)))
    return Bounds(buffers, funcs, needed, frozenset(by_arrays))


def are_enough(graph: Graph, arrays: Mapping[str, Box]) -> bool:
    """Whether the arrays of the inputs and outputs, given by their boxes, have all that is read of them."""
    needed = _infer(graph, arrays).needed
    read = ((arrays[name][d], i) for (name, d), i in needed.items() if name in arrays and i[0] <= i[1])
    return all(has[0] <= lo and hi <= has[1] for has, (lo, hi) in read)


def region_of(access: Window | Fixed, box: Mapping[int, Range], radius: int) -> Range:
    return (access.first, access.last) if isinstance(access, Fixed) else access.region(box[access.dim], radius)


def limit_of(stage: Stage, k: int, d: int, domains: Mapping[tuple[str, int], Range]) -> tuple[Range, str] | None:
    """The edges of a source of a copy along a dimension, and what is beyond them; None if there is no limit."""
    rule = None if stage.copying is None else stage.copying.rule(k, d)
    if rule is None:
        return None
    edges = domains.get((stage.reads[k].buffer, d))
    if edges is None:
        raise UnsuitableGraphError(f"nothing determines the domain of {stage.reads[k].buffer}")
    return edges, rule


def shift_of(stage: Stage, k: int, d: int, domains: Mapping[tuple[str, int], Range]) -> int:
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
                domain = own_domain(stage, d, domains)
                if domain is None:
                    try:
                        domain = _allowed(stage, dim, domains, graph.radius, extended)
                    except UnsuitableGraphError:
                        continue
                domains[write.buffer, d] = domain
    return domains


def own_domain(stage: Stage, d: int, domains: Mapping[tuple[str, int], Range]) -> Range | None:
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
                own = own_domain(stage, d, domains)
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
