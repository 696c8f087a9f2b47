"""How random schedules try each primitive on loops, ifs and the order of statements (see `random_schedules`)."""

from __future__ import annotations

from typing import Any

from random_chains import AnyChain, NothingToDoError
from random_preparations import (
    specialize_in_a_loop,
    split_by_one,
    split_evenly,
    split_in_a_loop,
    statements_around,
)

import slinky as sl
from slinky.ir.combined import formula_of
from slinky.ir.copies import symbols_of
from slinky.symbolic.expressions import constant_value
from slinky.symbolic.traversal import symbols


def split_dim(chain: AnyChain) -> sl.Pipeline:
    dim = chain.pick("_._")
    tail = chain.choose(["clamp", "clamp", "cut", "shift"]) if not chain.is_careless() else "perfect"
    return sl.split_loop(chain.pipeline, dim, chain.choose([1, 2, 3, 5]), tail=tail)


def split_loop(chain: AnyChain) -> sl.Pipeline:
    loop = chain.pick("for _")
    tail = chain.choose(["clamp", "cut", "shift"]) if not chain.is_careless() else "perfect"
    return sl.split_loop(chain.pipeline, loop, chain.choose([1, 2, 3]), tail=tail)


def reorder_loops(chain: AnyChain) -> sl.Pipeline:
    if chain.is_careless():
        return sl.reorder_loops(chain.pipeline, chain.pick("for _"))

    def nests() -> list[Any]:
        loops = chain.pipeline.find_all("for _")
        nested = [loop for loop in loops if len(loop.body()) == 1 and isinstance(loop.body()[0], sl.LoopCursor)]
        free = [loop for loop in nested if loop._loop.variable not in symbols_of(loop.body()[0]._loop)]
        return free if chain.prepares and chain.choose([True, True, False]) else nested

    nest = chain.prepared(nests, split_in_a_loop, split_in_a_loop)
    return sl.reorder_loops(chain.pipeline, nest)


def cut_loop(chain: AnyChain) -> sl.Pipeline:
    loop = chain.pick("for _")
    low = loop.bounds().min
    return sl.cut_loop(chain.pipeline, loop, chain.choose([low + 1, low + loop.step(), low + 4, low - 2]))


def parallelize_loop(chain: AnyChain) -> sl.Pipeline:
    return sl.parallelize_loop(chain.pipeline, chain.pick("for _"), chain.choose([None, 2]))


def pipeline_loop(chain: AnyChain) -> sl.Pipeline:
    """A loop of two statements or more, mostly where a buffer goes from one to the other."""
    is_careless = chain.is_careless()

    def loops() -> list[Any]:
        found = chain.pipeline.find_all("for _")
        return [loop for loop in found if is_careless or (len(loop.body()) > 1 and loop.workers() is None)]

    loop = chain.prepared(loops, "compute_at", "slide_window")
    stages = chain.choose([None, None, [s for s in loop.body() if chain.choose([True, True, False])]])
    depth, workers = chain.choose([None, None, 2, 3, 5]), chain.choose([None, 2])
    return sl.pipeline_loop(chain.pipeline, loop, stages, depth, workers)


def prefetch(chain: AnyChain) -> sl.Pipeline:
    """A call in a loop that others stand in, too."""
    if chain.is_careless():
        return sl.prefetch(chain.pipeline, chain.pick("_ = _"), chain.pick("for _"))

    def pairs() -> list[tuple[Any, Any]]:
        p = chain.pipeline
        own = {a.name() for a in p.find_all("alloc _")}
        loops = [loop for loop in p.find_all("for _") if len(loop.body()) > 1 and loop.workers() is None]
        found = [(s, loop) for loop in loops for s in loop.body() if isinstance(s, sl.CallCursor)]
        found = [(s, loop) for s, loop in found if any(set(s.outputs()) & set(r.inputs()) for r in p.find_all("_ = _"))]
        first = [(s, loop) for s, loop in found if own.issuperset(s.outputs()) and own.isdisjoint(s.inputs())]
        return first if chain.prepares and chain.choose([True, True, False]) else found

    if chain.prepares and chain.choose([True, False]):  # windows that each iteration makes anew are refused
        chain.prepare("slide_window")
    call, loop = chain.prepared(pairs, "compute_at", "slide_window")
    return sl.prefetch(chain.pipeline, call, loop, chain.choose([1, 1, 2, 4]))


def fuse_loops(chain: AnyChain) -> sl.Pipeline:
    """Neighbours by the same step, or any two loops."""
    all_loops = chain.pipeline.find_all("for _")
    if chain.is_careless() and len(all_loops) > 1:
        return sl.fuse_loops(chain.pipeline, chain.choose(all_loops), chain.choose(all_loops))

    def alike() -> list[tuple[Any, Any]]:
        pairs = [(a, a.next()) for a in chain.pipeline.find_all("for _") if isinstance(a.next(), sl.LoopCursor)]
        return [(a, b) for a, b in pairs if str(a.step()) == str(b.step()) and a.workers() == b.workers()]

    one, other = chain.prepared(alike, "cut_loop", "fission_loop")
    return sl.fuse_loops(chain.pipeline, one, other)


def fission_loop(chain: AnyChain) -> sl.Pipeline:
    """Between two statements of a loop's body; now and then at an end of it, or in more loops than there are."""
    is_careless = chain.is_careless()

    def gaps() -> list[Any]:
        loops = chain.pipeline.find_all("for _")
        return [s.before() for loop in loops for s in loop.body() if s.prev() or is_careless]

    gap = chain.prepared(gaps, "compute_at")
    return sl.fission_loop(chain.pipeline, gap, chain.choose([1, len(statements_around(gap.anchor())) + is_careless]))


def _known_loop(chain: AnyChain, most: int) -> sl.LoopCursor:
    """A loop of a number of iterations that it says itself, at most so many; or any loop."""
    if chain.is_careless():
        return chain.pick("for _")

    def loops() -> list[sl.LoopCursor]:
        found = []
        for loop in chain.pipeline.find_all("for _"):
            length, step = constant_value(loop.bounds().max - loop.bounds().min), constant_value(loop.step())
            if length is not None and step is not None and 0 <= length < most * step:
                found.append(loop)
        return found

    return chain.prepared(loops, split_in_a_loop, split_evenly if most > 1 else split_by_one)


def unroll_loop(chain: AnyChain) -> sl.Pipeline:
    loop = _known_loop(chain, 3)
    return sl.unroll_loop(chain.pipeline, loop)


def vectorize(chain: AnyChain) -> sl.Pipeline:
    """The last dimension of a call of arithmetic, or a loop over single elements; now and then any."""
    width = chain.choose([2, 2, 4, 8])
    if chain.is_careless():
        return sl.vectorize(
            chain.pipeline, chain.pick("_._") if chain.choose([True, False]) else chain.pick("for _"), width
        )
    p = chain.pipeline
    calls = [c for c in p.find_all("_ = _") if c.dims() and formula_of(c._call.func) is not None]
    parents = [c.parent() for c in calls if isinstance(c.parent(), sl.LoopCursor)]
    loops = [loop for loop in parents if len(loop.body()) == 1 and constant_value(loop.step()) == 1]
    if not calls:
        raise NothingToDoError
    return sl.vectorize(p, chain.choose([*loops, *(c.dims()[-1] for c in calls)]), width)


def remove_loop(chain: AnyChain) -> sl.Pipeline:
    loop = _known_loop(chain, 1 if chain.choose([True, False]) else 3)
    return sl.remove_loop(chain.pipeline, loop)


def absorb_loop(chain: AnyChain) -> sl.Pipeline:
    loops = [loop for loop in chain.pipeline.find_all("for _") if isinstance(loop.body()[0], sl.CallCursor)]
    if chain.is_careless():
        return sl.absorb_loop(chain.pipeline, chain.pick("for _"))
    if not any(len(loop.body()) == 1 for loop in loops):
        raise NothingToDoError
    return sl.absorb_loop(chain.pipeline, chain.choose([loop for loop in loops if len(loop.body()) == 1]))


def serialize_loop(chain: AnyChain) -> sl.Pipeline:
    is_careless = chain.is_careless()

    def loops() -> list[Any]:
        return [loop for loop in chain.pipeline.find_all("for _") if loop.workers() is not None or is_careless]

    loop = chain.prepared(loops, "parallelize_loop")
    return sl.serialize_loop(chain.pipeline, loop)


def specialize(chain: AnyChain) -> sl.Pipeline:
    """A few neighbours, under a condition that compares an end of the first to something near."""
    p = chain.pipeline
    if str(p).count("\n") > 40:  # it doubles what there is
        raise NothingToDoError
    places = [*p.find_all("_ = _"), *p.find_all("for _")]
    if not places:  # of sizes that leave nothing to do
        raise NothingToDoError
    place = chain.choose(places)
    intervals = place.bounds() if isinstance(place, sl.CallCursor) else (place.bounds(),)
    ends = [e for i in intervals for e in (i.min, i.max)]
    loops = [loop.bounds() for loop in p.find_all("for _") if loop.is_ancestor_of(place) and loop != place]
    if not ends:
        raise NothingToDoError
    limit = chain.choose([3, *(i.max - 2 for i in loops), *(i.min + 4 for i in loops)])
    more = 1 if place.next() and chain.choose([True, False, False]) else 0
    return sl.specialize(p, place.expand(after=more), chain.choose(ends) <= limit)


def lift_if(chain: AnyChain) -> sl.Pipeline:
    is_careless = chain.is_careless()

    def ifs() -> list[Any]:
        inner = [s for s in chain.pipeline.find_all("if _") if isinstance(s.parent(), sl.LoopCursor) or is_careless]
        still = [s for s in inner if not is_careless and s.parent()._loop.variable not in symbols(s._if.condition)]
        return still if chain.prepares and not is_careless else inner

    if_ = chain.prepared(ifs, specialize_in_a_loop)
    return sl.lift_if(chain.pipeline, if_)


def reorder_statements(chain: AnyChain) -> sl.Pipeline:
    statements = [*chain.pipeline.find_all("_ = _"), *chain.pipeline.find_all("for _")]
    if chain.is_careless():
        statements += [*chain.pipeline.find_all("alloc _"), *chain.pipeline.find_all("check _")]
    pairs = [s.expand(after=1) for s in statements if s.next()]
    if not pairs:
        raise NothingToDoError
    return sl.reorder_statements(chain.pipeline, chain.choose(pairs))
