"""How random schedules try each primitive on calls, and on a program as a whole (see `random_schedules`)."""

from __future__ import annotations

from typing import Any

from random_chains import AnyChain, NothingToDoError, forwarded
from random_preparations import (
    compute_where_nothing_moves,
    cut_where_nothing_is,
    split_reader,
    stage_all_in_a_loop,
    statements_around,
)

import slinky as sl
from slinky.ir.copies import symbols_of
from slinky.ir.families import original
from slinky.ir.operations import Copy, Nested


def compute_at(chain: AnyChain) -> sl.Pipeline:
    call, loop = chain.producer_and_loop(split_reader)
    return sl.compute_at(chain.pipeline, call, loop)


def compute_root(chain: AnyChain) -> sl.Pipeline:
    """Of a call in a loop that writes what is there outside of it, or any."""
    if chain.is_careless():
        return sl.compute_root(chain.pipeline, chain.pick("_ = _"))

    def inside() -> list[Any]:
        outer = {a.name() for a in chain.pipeline.find_all("alloc _") if not a.parent()}
        calls = [c for c in chain.pipeline.find_all("_ = _") if c.parent()]
        return [c for c in calls if outer.issuperset(c.outputs())] if chain.prepares else calls

    call = chain.prepared(inside, "compute_at")
    return sl.compute_root(chain.pipeline, call)


def slide_window(chain: AnyChain) -> sl.Pipeline:
    call, loop = chain.call_and_loop_around()
    p = sl.slide_window(chain.pipeline, call, loop, warmup=chain.choose(["earlier", "first"]))
    chain.slid.append((call, loop))
    return p


def _copy(chain: AnyChain) -> sl.CallCursor:
    """A call of a copy."""
    p = chain.pipeline
    calls = p.find_all("_ = _")
    copies = [c for c in calls if isinstance(c._call.func.operation, Copy)]
    if not copies or chain.is_careless():
        return chain.pick("_ = _")
    return chain.choose(copies)


def alias_copy(chain: AnyChain) -> sl.Pipeline:
    if not any(isinstance(c._call.func.operation, Copy) for c in chain.pipeline.find_all("_ = _")):
        chain.prepare("stage_buffer")
    return sl.alias_copy(chain.pipeline, _copy(chain))


def split_boundary(chain: AnyChain) -> sl.Pipeline:
    if not chain.is_careless() and not any(
        isinstance(c._call.func.operation, Copy) for c in chain.pipeline.find_all("_ = _")
    ):
        raise NothingToDoError
    return sl.split_boundary(chain.pipeline, _copy(chain))


def lift_call(chain: AnyChain) -> sl.Pipeline:
    inside = [c for c in chain.pipeline.find_all("_ = _") if c.parent()]
    if not inside:
        raise NothingToDoError
    call = chain.choose(inside)
    return sl.lift_call(chain.pipeline, call, chain.choose([1, len(statements_around(call)) + chain.is_careless()]))


def compute_once(chain: AnyChain) -> sl.Pipeline:
    """Of a serial loop, and a call in it that computes the same in every iteration."""
    if chain.is_careless():
        call, loop = chain.call_and_loop_around()
        return sl.compute_once(chain.pipeline, call, loop)

    def pairs() -> list[tuple[Any, Any]]:
        p = chain.pipeline
        found = []
        for loop in p.find_all("for _"):
            inside = [s for s in (*p.find_all("_ = _"), *p.find_all("for _")) if loop.is_ancestor_of(s) and s != loop]
            moving = [s for s in inside if loop._loop.variable in symbols_of(s._statement)]
            still = [s for s in inside if isinstance(s, sl.CallCursor) and s not in moving]
            if loop.workers() is None:
                found += [(c, loop) for c in still if not any(other.is_ancestor_of(c) for other in moving)]
        new = [(c, loop) for c, loop in found if not isinstance(c.parent(), sl.IfCursor)]
        return new if chain.prepares else found

    call, loop = chain.prepared(pairs, compute_where_nothing_moves, stage_all_in_a_loop)
    return sl.compute_once(chain.pipeline, call, loop)


def unslide_window(chain: AnyChain) -> sl.Pipeline:
    """Of a producer, where anything has slid."""
    if chain.is_careless():
        call, loop = chain.call_and_loop_around()
        return sl.unslide_window(chain.pipeline, call, loop)

    def slid() -> list[tuple[Any, Any]]:
        found = [(forwarded(chain.pipeline, a)[0], forwarded(chain.pipeline, b)[0]) for a, b in chain.slid]
        pairs = [(call, loop) for call, loop in found if call and loop and loop.is_ancestor_of(call)]
        return pairs if chain.prepares or not chain.slid else chain.calls_and_loops_around()

    call, loop = chain.prepared(slid, "slide_window")
    if chain.prepares:  # once is enough
        chain.slid = [pair for pair in chain.slid if pair[0]._id != call._id]
    return sl.unslide_window(chain.pipeline, call, loop)


def assume_shape(chain: AnyChain) -> sl.Pipeline:
    """Of some dimensions of an output, the bounds or the extent with which it will run."""
    if not chain.shapes:
        raise NothingToDoError
    name = chain.choose(sorted(chain.shapes))
    box = chain.shapes[name]
    size = tuple(chain.choose([None, i, i.extent]) for i in box)
    if all(entry is None for entry in size):
        raise NothingToDoError
    return sl.assume_shape(chain.pipeline, **{name: size})


def cut_call(chain: AnyChain) -> sl.Pipeline:
    dim = chain.pick("_._")
    low, high = dim.bounds().min, dim.bounds().max
    return sl.cut_call(chain.pipeline, dim, chain.choose([low + 1, low + 3, high, high + 2, 2]))


def clone_call(chain: AnyChain) -> sl.Pipeline:
    """Of an intermediate with several readers, for one of them."""
    if chain.is_careless():
        return sl.clone_call(chain.pipeline, chain.pick("_ = _"), chain.pick("_ = _"))

    def pairs() -> list[tuple[Any, Any]]:
        p = chain.pipeline
        own, calls = {a.name() for a in p.find_all("alloc _")}, p.find_all("_ = _")
        found = []
        for call in calls:
            readers = [r for r in calls if set(call.outputs()) & set(r.inputs())]
            if len(readers) > 1 and set(call.outputs()) <= own:
                found += [(call, r) for r in readers]
        return found

    call, reader = chain.prepared(pairs, "cut_call")
    return sl.clone_call(chain.pipeline, call, reader)


def split_reduction(chain: AnyChain) -> sl.Pipeline:
    """Of a func that says how it reduces; now and then any."""
    p = chain.pipeline
    calls = p.find_all("_ = _")
    declared = [c for c in calls if c._call.func.reduction is not None]
    if chain.is_careless():
        return sl.split_reduction(p, chain.pick("_ = _"), "r", chain.choose([1, 4]))
    if not declared:
        raise NothingToDoError
    call, dim = _reduced(chain, declared)
    return sl.split_reduction(p, call, dim, chain.choose([1, 2, 3, 4]))


def split_reduction_in_parts(chain: AnyChain) -> sl.Pipeline:
    """The same, in parts that are merged."""
    p = chain.pipeline
    declared = [c for c in p.find_all("_ = _") if c._call.func.reduction is not None]
    if chain.is_careless():
        return sl.split_reduction_in_parts(p, chain.pick("_ = _"), "r", chain.choose([1, 4]), 2)
    if not declared:
        raise NothingToDoError
    sizes = chain.choose([1, 2, 3]), chain.choose([1, 2, 3])
    call, dim = _reduced(chain, declared)
    return sl.split_reduction_in_parts(p, call, dim, *sizes)


def _reduced(chain: AnyChain, declared: list[Any]) -> tuple[Any, str]:
    """A call, and a dimension that it reduces."""
    call = chain.choose(declared)
    return call, chain.choose([name for name, _ in call._call.func.reduction.over])


def share_calls(chain: AnyChain) -> sl.Pipeline:
    """Calls of one func that write different buffers, or any two."""
    all_calls = chain.pipeline.find_all("_ = _")
    if chain.is_careless() and len(all_calls) > 1:
        return sl.share_calls(chain.pipeline, chain.choose(all_calls), chain.choose(all_calls))

    def pairs() -> list[tuple[Any, Any]]:
        calls = chain.pipeline.find_all("_ = _")
        return [(a, b) for a in calls for b in calls if a.func() == b.func() and a.outputs() != b.outputs()]

    one, other = chain.prepared(pairs, "clone_call")
    return sl.share_calls(chain.pipeline, one, other)


def remove_call(chain: AnyChain) -> sl.Pipeline:
    """A call whose results nobody reads, or of which there are others."""
    if chain.is_careless():
        return sl.remove_call(chain.pipeline, chain.pick("_ = _"))

    def idle() -> list[Any]:
        p, calls = chain.pipeline, chain.pipeline.find_all("_ = _")
        read, names = {name for c in calls for name in c.inputs()}, [c.func() for c in calls]
        own = {a.name() for a in p.find_all("alloc _")}
        unread = [c for c in calls if own.difference(read).issuperset(c.outputs())]
        return unread if unread and chain.prepares else [*unread, *(c for c in calls if names.count(c.func()) > 1)]

    call = chain.prepared(idle, cut_where_nothing_is)
    return sl.remove_call(chain.pipeline, call)


def choose_variant(chain: AnyChain) -> sl.Pipeline:
    """Of a func that declares variants, or any call."""
    p = chain.pipeline
    if chain.is_careless():
        return sl.choose_variant(p, chain.pick("_ = _"), "again")
    calls = [c for c in p.find_all("_ = _") if c.variants()]
    if not calls:
        raise NothingToDoError
    call = chain.choose(calls)
    return sl.choose_variant(p, call, chain.choose([n for n in (None, *call.variants()) if n != call.variant()]))


def fuse_calls(chain: AnyChain) -> sl.Pipeline:
    """A call with one of which it reads, for which something is declared, or any two."""
    p, calls = chain.pipeline, chain.pipeline.find_all("_ = _")
    if chain.is_careless():
        return sl.fuse_calls(p, chain.pick("_ = _"), chain.pick("_ = _"), "both")
    triples = [
        (a, b, fused.name)
        for b in calls
        for fused in original(b._call.func).fusions
        for a in calls
        if fused.fused is not None and fused.fused.first is original(a._call.func)
    ]
    if not triples:
        raise NothingToDoError
    return sl.fuse_calls(p, *chain.choose(triples))


def extract_pipeline(chain: AnyChain) -> sl.Pipeline:
    """Some neighbouring statements, mostly from an allocation or a loop on."""
    p = chain.pipeline
    starts = [*p.find_all("_ = _"), *p.find_all("for _"), *p.find_all("alloc _")]
    if not starts or len(p.find_all("_ = _")) > 12:
        raise NothingToDoError
    start = chain.choose(starts)
    more = 0
    while start.next(more + 1) and more < 6:
        more += 1
    block = start.expand(after=chain.choose(range(more + 1)))
    return sl.extract_pipeline(p, block, f"inner_{len(chain.applied)}")


def inline_pipeline(chain: AnyChain) -> sl.Pipeline:
    """A call of what is a pipeline; now and then any."""
    if chain.is_careless():
        return sl.inline_pipeline(chain.pipeline, chain.pick("_ = _"))

    def pipelines() -> list[Any]:
        return [c for c in chain.pipeline.find_all("_ = _") if isinstance(c._call.func.operation, Nested)]

    call = chain.prepared(pipelines, "extract_pipeline", "extract_pipeline")
    return sl.inline_pipeline(chain.pipeline, call)


def simplify(chain: AnyChain) -> sl.Pipeline:
    return sl.simplify(chain.pipeline)
