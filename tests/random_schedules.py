"""Random schedules: the primitives that chains of them are drawn from (see `random_chains`), and how each is tried."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from random_chains import AnyChain, NothingToDoError, Primitive, forwarded
from random_preparations import (
    PREPARING,
    WEIGHTS_WHERE_PREPARED,
    compute_where_nothing_moves,
    cut_where_nothing_is,
    dims_along,
    in_blocks,
    of_few_elements,
    specialize_in_a_loop,
    split_by_one,
    split_evenly,
    split_in_a_loop,
    split_reader,
    stage_all_in_a_loop,
    statements_around,
)
from random_provocations import provoke

import slinky as sl
from slinky.ir.combined import formula_of
from slinky.ir.copies import symbols_of
from slinky.ir.families import original
from slinky.ir.operations import Copy, Nested
from slinky.ir.sharing import reads_where_it_writes
from slinky.symbolic.expressions import constant_value
from slinky.symbolic.traversal import symbols

# ----------------------------------------------------------------------------------------------------------------
# One step each
# ----------------------------------------------------------------------------------------------------------------


def _split_dim(chain: Chain) -> sl.Pipeline:
    dim = chain.pick("_._")
    tail = chain.choose(["clamp", "clamp", "cut", "shift"]) if not chain.is_careless() else "perfect"
    return sl.split_loop(chain.pipeline, dim, chain.choose([1, 2, 3, 5]), tail=tail)


def _split_loop(chain: Chain) -> sl.Pipeline:
    loop = chain.pick("for _")
    tail = chain.choose(["clamp", "cut", "shift"]) if not chain.is_careless() else "perfect"
    return sl.split_loop(chain.pipeline, loop, chain.choose([1, 2, 3]), tail=tail)


def _compute_at(chain: Chain) -> sl.Pipeline:
    call, loop = chain.producer_and_loop(split_reader)
    return sl.compute_at(chain.pipeline, call, loop)


def _compute_root(chain: Chain) -> sl.Pipeline:
    """Of a call in a loop that writes what is there outside of it, or any."""
    if chain.is_careless():
        return sl.compute_root(chain.pipeline, chain.pick("_ = _"))

    def inside() -> list[Any]:
        outer = {a.name() for a in chain.pipeline.find_all("alloc _") if not a.parent()}
        calls = [c for c in chain.pipeline.find_all("_ = _") if c.parent()]
        return [c for c in calls if outer.issuperset(c.outputs())] if chain.prepares else calls

    call = chain.prepared(inside, "compute_at")
    return sl.compute_root(chain.pipeline, call)


def _slide_window(chain: Chain) -> sl.Pipeline:
    call, loop = chain.call_and_loop_around()
    p = sl.slide_window(chain.pipeline, call, loop, warmup=chain.choose(["earlier", "first"]))
    chain.slid.append((call, loop))
    return p


def _fold_storage(chain: Chain) -> sl.Pipeline:
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


def _unfold_storage(chain: Chain) -> sl.Pipeline:
    def folded() -> list[Any]:
        return [a for a in chain.pipeline.find_all("alloc _") if any(f is not None for f in a.storage())]

    alloc = chain.prepared(folded, "slide_window", "fold_storage")
    return sl.unfold_storage(chain.pipeline, alloc, next(d for d, f in enumerate(alloc.storage()) if f is not None))


def _store_at(chain: Chain) -> sl.Pipeline:
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


def _lift_alloc(chain: Chain) -> sl.Pipeline:
    alloc = chain.prepared(lambda: [a for a in chain.pipeline.find_all("alloc _") if a.parent()], "store_at")
    return sl.lift_alloc(chain.pipeline, alloc, chain.choose([1, 1, 2]))


def _alloc_and_dim(chain: Chain) -> tuple[sl.AllocCursor, int]:
    """An intermediate, and a dimension that it has."""
    places = [(alloc, d) for alloc in chain.pipeline.find_all("alloc _") for d in range(alloc.rank())]
    if not places:
        raise NothingToDoError
    return chain.choose(places)


def _resize_dim(chain: Chain) -> sl.Pipeline:
    """To a little more or less, or to what a call that uses it touches."""
    p, (alloc, d) = chain.pipeline, _alloc_and_dim(chain)
    i, name = alloc.bounds()[d], alloc.name()
    calls = [c for c in p.find_all("_ = _") if name in (*c.inputs(), *c.outputs()) and c.parent() == alloc.parent()]
    regions = [c.region(name)[d] for c in calls if chain.choose([True, False])]
    low, high = i.min - chain.choose([0, 1, 5]), i.max + chain.choose([0, 2, 4])
    less = [sl.interval(i.min + 1, i.max), sl.interval(low, high - 3)] if chain.is_careless() else []
    return sl.resize_dim(p, alloc, d, chain.choose([sl.interval(low, high), *regions, *less]))


def _align_dim(chain: Chain) -> sl.Pipeline:
    p, (alloc, d) = chain.pipeline, _alloc_and_dim(chain)
    begin = chain.choose([None, 1, alloc.bounds()[d].min])
    return sl.align_dim(p, alloc, d, chain.choose([1, 2, 3, 8]) - chain.is_careless(), begin)


def _unroll_buffer(chain: Chain) -> sl.Pipeline:
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


def _divide_dim(chain: Chain) -> sl.Pipeline:
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


def _merge_dims(chain: Chain) -> sl.Pipeline:
    def divided() -> list[tuple[Any, int]]:
        return [(a, d) for a in chain.pipeline.find_all("alloc _") for d, n in enumerate(a.blocks()) if n is not None]

    if chain.is_careless():
        return sl.merge_dims(chain.pipeline, *_alloc_and_dim(chain))
    alloc, d = chain.prepared(divided, in_blocks)
    return sl.merge_dims(chain.pipeline, alloc, d)


def _set_layout(chain: Chain) -> sl.Pipeline:
    """With the dimensions in any order, as close as they can be or with room for whole vectors behind rows."""
    alloc = chain.pick("alloc _")
    order = sorted(range(alloc.rank()), key=lambda d: (chain.choose([0, 1]), d))
    return sl.set_layout(chain.pipeline, alloc, order, alignment=chain.choose([1, 1, 16, 64]))


def _reorder_loops(chain: Chain) -> sl.Pipeline:
    if chain.is_careless():
        return sl.reorder_loops(chain.pipeline, chain.pick("for _"))

    def nests() -> list[Any]:
        loops = chain.pipeline.find_all("for _")
        nested = [loop for loop in loops if len(loop.body()) == 1 and isinstance(loop.body()[0], sl.LoopCursor)]
        free = [loop for loop in nested if loop._loop.variable not in symbols_of(loop.body()[0]._loop)]
        return free if chain.prepares and chain.choose([True, True, False]) else nested

    nest = chain.prepared(nests, split_in_a_loop, split_in_a_loop)
    return sl.reorder_loops(chain.pipeline, nest)


def _cut_loop(chain: Chain) -> sl.Pipeline:
    loop = chain.pick("for _")
    low = loop.bounds().min
    return sl.cut_loop(chain.pipeline, loop, chain.choose([low + 1, low + loop.step(), low + 4, low - 2]))


def _parallelize_loop(chain: Chain) -> sl.Pipeline:
    return sl.parallelize_loop(chain.pipeline, chain.pick("for _"), chain.choose([None, 2]))


def _pipeline_loop(chain: Chain) -> sl.Pipeline:
    """A loop of two statements or more, mostly where a buffer goes from one to the other."""
    is_careless = chain.is_careless()

    def loops() -> list[Any]:
        found = chain.pipeline.find_all("for _")
        return [loop for loop in found if is_careless or (len(loop.body()) > 1 and loop.workers() is None)]

    loop = chain.prepared(loops, "compute_at", "slide_window")
    stages = chain.choose([None, None, [s for s in loop.body() if chain.choose([True, True, False])]])
    depth, workers = chain.choose([None, None, 2, 3, 5]), chain.choose([None, 2])
    return sl.pipeline_loop(chain.pipeline, loop, stages, depth, workers)


def _prefetch(chain: Chain) -> sl.Pipeline:
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


def _reorder_statements(chain: Chain) -> sl.Pipeline:
    statements = [*chain.pipeline.find_all("_ = _"), *chain.pipeline.find_all("for _")]
    if chain.is_careless():
        statements += [*chain.pipeline.find_all("alloc _"), *chain.pipeline.find_all("check _")]
    pairs = [s.expand(after=1) for s in statements if s.next()]
    if not pairs:
        raise NothingToDoError
    return sl.reorder_statements(chain.pipeline, chain.choose(pairs))


def _copy(chain: Chain) -> sl.CallCursor:
    """A call of a copy."""
    p = chain.pipeline
    calls = p.find_all("_ = _")
    copies = [c for c in calls if isinstance(c._call.func.operation, Copy)]
    if not copies or chain.is_careless():
        return chain.pick("_ = _")
    return chain.choose(copies)


def _alias_copy(chain: Chain) -> sl.Pipeline:
    if not any(isinstance(c._call.func.operation, Copy) for c in chain.pipeline.find_all("_ = _")):
        chain.prepare("stage_buffer")
    return sl.alias_copy(chain.pipeline, _copy(chain))


def _split_boundary(chain: Chain) -> sl.Pipeline:
    if not chain.is_careless() and not any(
        isinstance(c._call.func.operation, Copy) for c in chain.pipeline.find_all("_ = _")
    ):
        raise NothingToDoError
    return sl.split_boundary(chain.pipeline, _copy(chain))


def _fuse_loops(chain: Chain) -> sl.Pipeline:
    """Neighbours by the same step, or any two loops."""
    all_loops = chain.pipeline.find_all("for _")
    if chain.is_careless() and len(all_loops) > 1:
        return sl.fuse_loops(chain.pipeline, chain.choose(all_loops), chain.choose(all_loops))

    def alike() -> list[tuple[Any, Any]]:
        pairs = [(a, a.next()) for a in chain.pipeline.find_all("for _") if isinstance(a.next(), sl.LoopCursor)]
        return [(a, b) for a, b in pairs if str(a.step()) == str(b.step()) and a.workers() == b.workers()]

    one, other = chain.prepared(alike, "cut_loop", "fission_loop")
    return sl.fuse_loops(chain.pipeline, one, other)


def _fission_loop(chain: Chain) -> sl.Pipeline:
    """Between two statements of a loop's body; now and then at an end of it, or in more loops than there are."""
    is_careless = chain.is_careless()

    def gaps() -> list[Any]:
        loops = chain.pipeline.find_all("for _")
        return [s.before() for loop in loops for s in loop.body() if s.prev() or is_careless]

    gap = chain.prepared(gaps, "compute_at")
    return sl.fission_loop(chain.pipeline, gap, chain.choose([1, len(statements_around(gap.anchor())) + is_careless]))


def _known_loop(chain: Chain, most: int) -> sl.LoopCursor:
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


def _unroll_loop(chain: Chain) -> sl.Pipeline:
    loop = _known_loop(chain, 3)
    return sl.unroll_loop(chain.pipeline, loop)


def _vectorize(chain: Chain) -> sl.Pipeline:
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


def _remove_loop(chain: Chain) -> sl.Pipeline:
    loop = _known_loop(chain, 1 if chain.choose([True, False]) else 3)
    return sl.remove_loop(chain.pipeline, loop)


def _absorb_loop(chain: Chain) -> sl.Pipeline:
    loops = [loop for loop in chain.pipeline.find_all("for _") if isinstance(loop.body()[0], sl.CallCursor)]
    if chain.is_careless():
        return sl.absorb_loop(chain.pipeline, chain.pick("for _"))
    if not any(len(loop.body()) == 1 for loop in loops):
        raise NothingToDoError
    return sl.absorb_loop(chain.pipeline, chain.choose([loop for loop in loops if len(loop.body()) == 1]))


def _lift_call(chain: Chain) -> sl.Pipeline:
    inside = [c for c in chain.pipeline.find_all("_ = _") if c.parent()]
    if not inside:
        raise NothingToDoError
    call = chain.choose(inside)
    return sl.lift_call(chain.pipeline, call, chain.choose([1, len(statements_around(call)) + chain.is_careless()]))


def _compute_once(chain: Chain) -> sl.Pipeline:
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


def _unslide_window(chain: Chain) -> sl.Pipeline:
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


def _serialize_loop(chain: Chain) -> sl.Pipeline:
    is_careless = chain.is_careless()

    def loops() -> list[Any]:
        return [loop for loop in chain.pipeline.find_all("for _") if loop.workers() is not None or is_careless]

    loop = chain.prepared(loops, "parallelize_loop")
    return sl.serialize_loop(chain.pipeline, loop)


def _specialize(chain: Chain) -> sl.Pipeline:
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


def _assume_shape(chain: Chain) -> sl.Pipeline:
    """Of some dimensions of an output, the bounds or the extent with which it will run."""
    if not chain.shapes:
        raise NothingToDoError
    name = chain.choose(sorted(chain.shapes))
    box = chain.shapes[name]
    size = tuple(chain.choose([None, i, i.extent]) for i in box)
    if all(entry is None for entry in size):
        raise NothingToDoError
    return sl.assume_shape(chain.pipeline, **{name: size})


def _lift_if(chain: Chain) -> sl.Pipeline:
    is_careless = chain.is_careless()

    def ifs() -> list[Any]:
        inner = [s for s in chain.pipeline.find_all("if _") if isinstance(s.parent(), sl.LoopCursor) or is_careless]
        still = [s for s in inner if not is_careless and s.parent()._loop.variable not in symbols(s._if.condition)]
        return still if chain.prepares and not is_careless else inner

    if_ = chain.prepared(ifs, specialize_in_a_loop)
    return sl.lift_if(chain.pipeline, if_)


def _cut_call(chain: Chain) -> sl.Pipeline:
    dim = chain.pick("_._")
    low, high = dim.bounds().min, dim.bounds().max
    return sl.cut_call(chain.pipeline, dim, chain.choose([low + 1, low + 3, high, high + 2, 2]))


def _clone_call(chain: Chain) -> sl.Pipeline:
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


def _split_reduction(chain: Chain) -> sl.Pipeline:
    """Of a func that says how it reduces; now and then any."""
    p = chain.pipeline
    calls = p.find_all("_ = _")
    declared = [c for c in calls if c._call.func.reduction is not None]
    if chain.is_careless():
        return sl.split_reduction(p, chain.pick("_ = _"), "r", chain.choose([1, 4]))
    if not declared:
        raise NothingToDoError
    return sl.split_reduction(p, chain.choose(declared), "r", chain.choose([1, 2, 3, 4]))


def _split_reduction_in_parts(chain: Chain) -> sl.Pipeline:
    """The same, in parts that are merged."""
    p = chain.pipeline
    declared = [c for c in p.find_all("_ = _") if c._call.func.reduction is not None]
    if chain.is_careless():
        return sl.split_reduction_in_parts(p, chain.pick("_ = _"), "r", chain.choose([1, 4]), 2)
    if not declared:
        raise NothingToDoError
    sizes = chain.choose([1, 2, 3]), chain.choose([1, 2, 3])
    return sl.split_reduction_in_parts(p, chain.choose(declared), "r", *sizes)


def _share_calls(chain: Chain) -> sl.Pipeline:
    """Calls of one func that write different buffers, or any two."""
    all_calls = chain.pipeline.find_all("_ = _")
    if chain.is_careless() and len(all_calls) > 1:
        return sl.share_calls(chain.pipeline, chain.choose(all_calls), chain.choose(all_calls))

    def pairs() -> list[tuple[Any, Any]]:
        calls = chain.pipeline.find_all("_ = _")
        return [(a, b) for a in calls for b in calls if a.func() == b.func() and a.outputs() != b.outputs()]

    one, other = chain.prepared(pairs, "clone_call")
    return sl.share_calls(chain.pipeline, one, other)


def _remove_call(chain: Chain) -> sl.Pipeline:
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


def _choose_variant(chain: Chain) -> sl.Pipeline:
    """Of a func that declares variants, or any call."""
    p = chain.pipeline
    if chain.is_careless():
        return sl.choose_variant(p, chain.pick("_ = _"), "again")
    calls = [c for c in p.find_all("_ = _") if c.variants()]
    if not calls:
        raise NothingToDoError
    call = chain.choose(calls)
    return sl.choose_variant(p, call, chain.choose([n for n in (None, *call.variants()) if n != call.variant()]))


def _fuse_calls(chain: Chain) -> sl.Pipeline:
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


def _extract_pipeline(chain: Chain) -> sl.Pipeline:
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


def _inline_pipeline(chain: Chain) -> sl.Pipeline:
    """A call of what is a pipeline; now and then any."""
    if chain.is_careless():
        return sl.inline_pipeline(chain.pipeline, chain.pick("_ = _"))

    def pipelines() -> list[Any]:
        return [c for c in chain.pipeline.find_all("_ = _") if isinstance(c._call.func.operation, Nested)]

    call = chain.prepared(pipelines, "extract_pipeline", "extract_pipeline")
    return sl.inline_pipeline(chain.pipeline, call)


def _stage_buffer(chain: Chain) -> sl.Pipeline:
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


def _compute_in_place(chain: Chain) -> sl.Pipeline:
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


def _reuse_buffer(chain: Chain) -> sl.Pipeline:
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


def _simplify(chain: Chain) -> sl.Pipeline:
    return sl.simplify(chain.pipeline)


PRIMITIVES: dict[str, tuple[Primitive, int]] = {
    "split_loop of a dimension": (_split_dim, 6),
    "split_loop of a loop": (_split_loop, 2),
    "compute_at": (_compute_at, 12),
    "compute_root": (_compute_root, 1),
    "slide_window": (_slide_window, 10),
    "fold_storage": (_fold_storage, 5),
    "unfold_storage": (_unfold_storage, 1),
    "store_at": (_store_at, 4),
    "lift_alloc": (_lift_alloc, 2),
    "resize_dim": (_resize_dim, 1),
    "align_dim": (_align_dim, 1),
    "unroll_buffer": (_unroll_buffer, 2),
    "set_layout": (_set_layout, 1),
    "divide_dim": (_divide_dim, 2),
    "merge_dims": (_merge_dims, 1),
    "reorder_loops": (_reorder_loops, 2),
    "cut_loop": (_cut_loop, 2),
    "parallelize_loop": (_parallelize_loop, 3),
    "pipeline_loop": (_pipeline_loop, 2),
    "prefetch": (_prefetch, 1),
    "reorder_statements": (_reorder_statements, 1),
    "alias_copy": (_alias_copy, 2),
    "split_boundary": (_split_boundary, 1),
    "fuse_loops": (_fuse_loops, 2),
    "fission_loop": (_fission_loop, 2),
    "unroll_loop": (_unroll_loop, 2),
    "vectorize": (_vectorize, 2),
    "remove_loop": (_remove_loop, 1),
    "absorb_loop": (_absorb_loop, 1),
    "lift_call": (_lift_call, 2),
    "compute_once": (_compute_once, 1),
    "unslide_window": (_unslide_window, 2),
    "serialize_loop": (_serialize_loop, 1),
    "specialize": (_specialize, 1),
    "lift_if": (_lift_if, 1),
    "assume_shape": (_assume_shape, 1),
    "cut_call": (_cut_call, 1),
    "clone_call": (_clone_call, 2),
    "split_reduction": (_split_reduction, 3),
    "split_reduction_in_parts": (_split_reduction_in_parts, 2),
    "share_calls": (_share_calls, 1),
    "remove_call": (_remove_call, 1),
    "choose_variant": (_choose_variant, 1),
    "fuse_calls": (_fuse_calls, 1),
    "extract_pipeline": (_extract_pipeline, 2),
    "inline_pipeline": (_inline_pipeline, 2),
    "stage_buffer": (_stage_buffer, 1),
    "compute_in_place": (_compute_in_place, 1),
    "reuse_buffer": (_reuse_buffer, 2),
    "simplify": (_simplify, 1),
}
"""The primitives, each with how often it is drawn."""


@dataclass
class Chain(AnyChain):
    """A chain of all primitives."""

    primitives: dict[str, tuple[Primitive, int]] = field(default_factory=lambda: dict(PRIMITIVES))
    provokes: bool = False
    """Whether primitives are tried where they are likely to be refused, too (see `random_provocations`)."""

    def __post_init__(self) -> None:
        self.preparing = PREPARING
        if self.prepares:
            weights = WEIGHTS_WHERE_PREPARED
            self.primitives = {n: (step, weights.get(n, weight)) for n, (step, weight) in self.primitives.items()}
        super().__post_init__()

    def step(self) -> None:
        """Draw a primitive, as ever; now and then many of them where they are likely to be refused."""
        if self.provokes and self.choose(range(6)) == 5:
            provoke(self)
        else:
            super().step()
