"""How random schedules try each primitive on buffers (see `random_schedules`)."""

from __future__ import annotations

from typing import Any

from random_chains import AnyChain, NothingToDoError
from random_preparations import (
    dims_along,
    in_blocks,
    of_few_elements,
)

import slinky as sl
from slinky.ir.sharing import reads_where_it_writes
from slinky.symbolic.expressions import constant_value


def fold_storage(chain: AnyChain) -> sl.Pipeline:
    p = chain.pipeline
    if chain.is_careless():
        alloc = chain.pick("alloc _")
        if not alloc.dims():
            raise NothingToDoError
        return sl.fold_storage(p, alloc, chain.choose(alloc.dims()), chain.choose([None, 2]))

    def places() -> list[tuple[Any, str]]:
        p = chain.pipeline
        loops = p.find_all("for _")
        found = []
        for alloc in p.find_all("alloc _"):
            uses = [*p.find_all(f"{alloc.name()} = _"), *p.find_all(f"_({alloc.name()})")]
            if any(all(loop.is_ancestor_of(c) for c in uses) and not loop.is_ancestor_of(alloc) for loop in loops):
                found += [(alloc, dim) for dim in alloc.dims()]
        return found

    alloc, dim = chain.prepared(places, "compute_at")
    return sl.fold_storage(chain.pipeline, alloc, dim, chain.choose([None, None, None, 4]))


def unfold_storage(chain: AnyChain) -> sl.Pipeline:
    def folded() -> list[Any]:
        return [a for a in chain.pipeline.find_all("alloc _") if any(f is not None for f in a.storage())]

    alloc = chain.prepared(folded, "slide_window", "fold_storage")
    return sl.unfold_storage(chain.pipeline, alloc, next(d for d, f in enumerate(alloc.storage()) if f is not None))


def store_at(chain: AnyChain) -> sl.Pipeline:
    if chain.is_careless():
        return sl.store_at(chain.pipeline, chain.pick("alloc _"), chain.pick("for _"))

    def pairs() -> list[tuple[Any, Any]]:
        p = chain.pipeline
        calls = p.find_all("_ = _")
        found = []
        for alloc in p.find_all("alloc _"):
            uses = [c for c in calls if alloc.name() in (*c.inputs(), *c.outputs())]
            loops = [loop for loop in p.find_all("for _") if all(loop.is_ancestor_of(c) for c in uses)]
            found += [(alloc, loop) for loop in loops if not loop.is_ancestor_of(alloc)]
        return found

    alloc, loop = chain.prepared(pairs, "compute_at")
    return sl.store_at(chain.pipeline, alloc, loop)


def lift_alloc(chain: AnyChain) -> sl.Pipeline:
    alloc = chain.prepared(lambda: [a for a in chain.pipeline.find_all("alloc _") if a.parent()], "store_at")
    return sl.lift_alloc(chain.pipeline, alloc, chain.choose([1, 1, 2]))


def _alloc_and_dim(chain: AnyChain) -> tuple[sl.AllocCursor, int]:
    """An intermediate, and a dimension that it has."""
    places = [(alloc, d) for alloc in chain.pipeline.find_all("alloc _") for d in range(alloc.rank())]
    if not places:
        raise NothingToDoError
    return chain.choose(places)


def resize_dim(chain: AnyChain) -> sl.Pipeline:
    """To a little more or less, or to what a call that uses it touches."""
    p, (alloc, d) = chain.pipeline, _alloc_and_dim(chain)
    i, name = alloc.bounds()[d], alloc.name()
    calls = [c for c in p.find_all("_ = _") if name in (*c.inputs(), *c.outputs()) and c.parent() == alloc.parent()]
    regions = [c.region(name)[d] for c in calls if chain.choose([True, False])]
    low, high = i.min - chain.choose([0, 1, 5]), i.max + chain.choose([0, 2, 4])
    less = [sl.interval(i.min + 1, i.max), sl.interval(low, high - 3)] if chain.is_careless() else []
    return sl.resize_dim(p, alloc, d, chain.choose([sl.interval(low, high), *regions, *less]))


def align_dim(chain: AnyChain) -> sl.Pipeline:
    p, (alloc, d) = chain.pipeline, _alloc_and_dim(chain)
    begin = chain.choose([None, 1, alloc.bounds()[d].min])
    return sl.align_dim(p, alloc, d, chain.choose([1, 2, 3, 8]) - chain.is_careless(), begin)


def unroll_buffer(chain: AnyChain) -> sl.Pipeline:
    """Of an intermediate that has a few coordinates of a dimension in every run, most often after the calls that use
    several have been unrolled; or any."""
    if chain.is_careless():
        return sl.unroll_buffer(chain.pipeline, *_alloc_and_dim(chain))

    def places() -> list[tuple[Any, int]]:
        p, found = chain.pipeline, []
        for alloc in p.find_all("alloc _"):
            counts = [constant_value(i.extent) for i in alloc.bounds()]
            few = [d for d, count in enumerate(counts) if count is not None and 2 <= count <= 4]
            readers = [c._call for c in p.find_all(f"_({alloc.name()})")]
            ports = [port for c in readers for b, port in zip(c.reads, c.func.inputs, strict=True) if b == alloc.name()]
            found += [(alloc, d) for d in few if all(port.box[d].min is port.box[d].max for port in ports)]
        return found

    alloc, d = chain.prepared(places, of_few_elements, of_few_elements, of_few_elements)
    p = chain.pipeline
    if str(p).count("\n") > 40:
        raise NothingToDoError
    if chain.choose([True, True, False]):
        for call in p.find_all("_ = _"):
            for dim in dims_along(call, alloc.name(), d):
                p, (outer, _, _) = sl.split_loop(p, dim, 1, rc=True)
                chain.take("split_loop of a dimension", p)
                p = chain.take("unroll_loop", sl.unroll_loop(p, outer))
    return sl.unroll_buffer(p, alloc, d)


def divide_dim(chain: AnyChain) -> sl.Pipeline:
    """By as many coordinates as some loop steps over, or as there are, or by some after the calls that use the buffer
    have been split by as many; most often not what is divided already."""
    p, (alloc, d) = chain.pipeline, _alloc_and_dim(chain)
    if str(p).count("\n") < 25 and chain.choose([True, True, False]) and alloc.blocks()[d] is None:
        factor = chain.choose([1, 2, 3, 4])
        for call in p.find_all("_ = _"):
            for dim in dims_along(call, alloc.name(), d):
                p = chain.take("split_loop of a dimension", sl.split_loop(p, dim, factor))
        return sl.divide_dim(p, alloc, d, factor)
    if not chain.is_careless() and alloc.blocks()[d] is not None:
        raise NothingToDoError
    steps = [step for loop in p.find_all("for _") if (step := constant_value(loop.step())) is not None]
    extent = constant_value(alloc.bounds()[d].extent)
    return sl.divide_dim(p, alloc, d, chain.choose([*steps, 1 if extent is None else max(extent, 1), 6]))


def merge_dims(chain: AnyChain) -> sl.Pipeline:
    def divided() -> list[tuple[Any, int]]:
        return [(a, d) for a in chain.pipeline.find_all("alloc _") for d, n in enumerate(a.blocks()) if n is not None]

    if chain.is_careless():
        return sl.merge_dims(chain.pipeline, *_alloc_and_dim(chain))
    alloc, d = chain.prepared(divided, in_blocks)
    return sl.merge_dims(chain.pipeline, alloc, d)


def set_layout(chain: AnyChain) -> sl.Pipeline:
    """With the dimensions in any order, as close as they can be or with room for whole vectors behind rows."""
    alloc = chain.pick("alloc _")
    order = sorted(range(alloc.rank()), key=lambda d: (chain.choose([0, 1]), d))
    return sl.set_layout(chain.pipeline, alloc, order, alignment=chain.choose([1, 1, 16, 64]))


def stage_buffer(chain: AnyChain) -> sl.Pipeline:
    """What a statement, or that and the next one, touches."""
    p, is_careless = chain.pipeline, chain.is_careless()
    statements = [*p.find_all("_ = _"), *p.find_all("for _")]
    if not statements:
        raise NothingToDoError
    statement = chain.choose(statements)
    block = statement.expand(after=1) if statement.next() and chain.choose([False, True]) else statement.as_block()
    calls = p.find_all("_ = _") if is_careless else block.find_all("_ = _")
    names = {name for call in calls for name in (*call.inputs(), *call.outputs())}
    if not names:
        raise NothingToDoError
    return sl.stage_buffer(p, block, chain.choose(sorted(names)))


def _uses(p: sl.Pipeline) -> dict[str, tuple[int, int]]:
    """Of each intermediate, the first and the last call that uses it, counted in program order."""
    found: dict[str, tuple[int, int]] = {}
    own = {a.name() for a in p.find_all("alloc _")}
    for n, call in enumerate(p.find_all("_ = _")):
        for name in own.intersection((*call.inputs(), *call.outputs())):
            found[name] = (found.get(name, (n, n))[0], n)
    return found


def compute_in_place(chain: AnyChain) -> sl.Pipeline:
    p = chain.pipeline
    if chain.is_careless():
        return sl.compute_in_place(p, chain.pick("_ = _"))
    uses, hosts = _uses(p), {a.name(): a.host() or a.name() for a in p.find_all("alloc _")}
    calls = []
    for n, call in enumerate(p.find_all("_ = _")):
        (written, *others) = call.outputs()
        if not others and call._call.func.operation.in_place and written in hosts:
            ends = [b for b in call.inputs() if uses.get(b, (0, -1))[1] == n and hosts[b] != hosts[written]]
            calls += [(call, b) for b in ends]
    fitting = [(call, b) for call, b in calls if reads_where_it_writes(call._call, b, call.outputs()[0])]
    if not calls or (chain.prepares and not fitting):
        raise NothingToDoError
    return sl.compute_in_place(p, *chain.choose(fitting if chain.prepares else calls))


def reuse_buffer(chain: AnyChain) -> sl.Pipeline:
    p = chain.pipeline
    uses, allocs, is_careless = _uses(p), p.find_all("alloc _"), chain.is_careless()
    pairs = [
        (one, other)
        for one in allocs
        for other in allocs
        if is_careless or uses.get(other.name(), (0, 0))[1] < uses.get(one.name(), (0, 0))[0]
    ]
    pairs = [(a, b) for a, b in pairs if a != b and (a.host() or a.name()) != (b.host() or b.name())]
    if not pairs:
        raise NothingToDoError
    return sl.reuse_buffer(p, *chain.choose(pairs))
