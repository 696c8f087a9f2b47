"""Random schedules: the primitives that chains of them are drawn from (see `random_chains`), and how each is tried."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from random_chains import AnyChain, NothingToDoError, Primitive

import slinky as sl
from slinky.ir.copies import symbols_of
from slinky.ir.families import original
from slinky.ir.operations import Copy
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
    call, loop = chain.producer_and_loop()
    return sl.compute_at(chain.pipeline, call, loop)


def _compute_root(chain: Chain) -> sl.Pipeline:
    inside = [c for c in chain.pipeline.find_all("_ = _") if c.parent()]
    if chain.is_careless():
        return sl.compute_root(chain.pipeline, chain.pick("_ = _"))
    if not inside:
        raise NothingToDoError
    return sl.compute_root(chain.pipeline, chain.choose(inside))


def _slide_window(chain: Chain) -> sl.Pipeline:
    call, loop = chain.call_and_loop_around()
    return sl.slide_window(chain.pipeline, call, loop, warmup=chain.choose(["earlier", "first"]))


def _fold_storage(chain: Chain) -> sl.Pipeline:
    p = chain.pipeline
    if chain.is_careless():
        alloc = chain.pick("alloc _")
        if not alloc.dims():
            raise NothingToDoError
        return sl.fold_storage(p, alloc, chain.choose(alloc.dims()), chain.choose([None, 2]))
    loops = p.find_all("for _")
    places = []
    for alloc in p.find_all("alloc _"):
        uses = [*p.find_all(f"{alloc.name()} = _"), *p.find_all(f"_({alloc.name()})")]
        if any(all(loop.is_ancestor_of(c) for c in uses) and not loop.is_ancestor_of(alloc) for loop in loops):
            places += [(alloc, dim) for dim in alloc.dims()]
    if not places:
        raise NothingToDoError
    return sl.fold_storage(p, *chain.choose(places), chain.choose([None, None, None, 4]))


def _unfold_storage(chain: Chain) -> sl.Pipeline:
    folded = [a for a in chain.pipeline.find_all("alloc _") if any(f is not None for f in a.storage())]
    if not folded:
        raise NothingToDoError
    alloc = chain.choose(folded)
    return sl.unfold_storage(chain.pipeline, alloc, next(d for d, f in enumerate(alloc.storage()) if f is not None))


def _store_at(chain: Chain) -> sl.Pipeline:
    p = chain.pipeline
    if chain.is_careless():
        return sl.store_at(p, chain.pick("alloc _"), chain.pick("for _"))
    calls = p.find_all("_ = _")
    pairs = []
    for alloc in p.find_all("alloc _"):
        uses = [c for c in calls if alloc.name() in (*c.inputs(), *c.outputs())]
        loops = [loop for loop in p.find_all("for _") if all(loop.is_ancestor_of(c) for c in uses)]
        pairs += [(alloc, loop) for loop in loops if not loop.is_ancestor_of(alloc)]
    if not pairs:
        raise NothingToDoError
    return sl.store_at(p, *chain.choose(pairs))


def _lift_alloc(chain: Chain) -> sl.Pipeline:
    inner = [a for a in chain.pipeline.find_all("alloc _") if a.parent()]
    if not inner:
        raise NothingToDoError
    return sl.lift_alloc(chain.pipeline, chain.choose(inner), chain.choose([1, 1, 2]))


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
    p = chain.pipeline
    if chain.is_careless():
        return sl.unroll_buffer(p, *_alloc_and_dim(chain))
    places = []
    for alloc in p.find_all("alloc _"):
        counts = [constant_value(i.extent) for i in alloc.bounds()]
        few = [d for d, count in enumerate(counts) if count is not None and 2 <= count <= 4]
        readers = [c._call for c in p.find_all(f"_({alloc.name()})")]
        ports = [port for c in readers for b, port in zip(c.reads, c.func.inputs, strict=True) if b == alloc.name()]
        places += [(alloc, d) for d in few if all(port.box[d].min is port.box[d].max for port in ports)]
    if not places or str(p).count("\n") > 40:
        raise NothingToDoError
    alloc, d = chain.choose(places)
    if chain.choose([True, True, False]):
        for call in p.find_all("_ = _"):
            for dim in _dims_along(call, alloc.name(), d):
                p, (outer, _, _) = sl.split_loop(p, dim, 1, rc=True)
                p = sl.unroll_loop(p, outer)
    return sl.unroll_buffer(p, alloc, d)


def _dims_along(call: sl.CallCursor, buffer: str, d: int) -> list[sl.DimCursor]:
    """The dimensions of a call along a dimension of a buffer that it uses, of which it computes more than a point."""
    statement = call._call
    func = statement.func
    along = {func.dims[p.dims[d]] for b, p in zip(statement.writes, func.outputs, strict=True) if b == buffer}
    for name, port in zip(statement.reads, func.inputs, strict=True):
        if name == buffer:
            along |= symbols(port.box[d].min) & set(func.dims)
    return [
        dim for dim in call.dims() if func.dims[dim.position()] in along and constant_value(dim.bounds().extent) != 1
    ]


def _divide_dim(chain: Chain) -> sl.Pipeline:
    """By as many coordinates as some loop steps over, or as there are, or by some after the calls that use the buffer
    have been split by as many; most often not what is divided already."""
    p, (alloc, d) = chain.pipeline, _alloc_and_dim(chain)
    if str(p).count("\n") < 25 and chain.choose([True, True, False]) and alloc.blocks()[d] is None:
        factor = chain.choose([1, 2, 3, 4])
        for call in p.find_all("_ = _"):
            for dim in _dims_along(call, alloc.name(), d):
                p = sl.split_loop(p, dim, factor)
        return sl.divide_dim(p, alloc, d, factor)
    if not chain.is_careless() and alloc.blocks()[d] is not None:
        raise NothingToDoError
    steps = [step for loop in p.find_all("for _") if (step := constant_value(loop.step())) is not None]
    extent = constant_value(alloc.bounds()[d].extent)
    return sl.divide_dim(p, alloc, d, chain.choose([*steps, 1 if extent is None else max(extent, 1), 6]))


def _merge_dims(chain: Chain) -> sl.Pipeline:
    places = [(a, d) for a in chain.pipeline.find_all("alloc _") for d, n in enumerate(a.blocks()) if n is not None]
    if chain.is_careless():
        return sl.merge_dims(chain.pipeline, *_alloc_and_dim(chain))
    if not places:
        raise NothingToDoError
    return sl.merge_dims(chain.pipeline, *chain.choose(places))


def _reorder_loops(chain: Chain) -> sl.Pipeline:
    if chain.is_careless():
        return sl.reorder_loops(chain.pipeline, chain.pick("for _"))
    nests = [
        loop for loop in chain.pipeline.find_all("for _")
        if len(loop.body()) == 1 and isinstance(loop.body()[0], sl.LoopCursor)
    ]  # fmt: skip
    if not nests:
        raise NothingToDoError
    return sl.reorder_loops(chain.pipeline, chain.choose(nests))


def _cut_loop(chain: Chain) -> sl.Pipeline:
    loop = chain.pick("for _")
    low = loop.bounds().min
    return sl.cut_loop(chain.pipeline, loop, chain.choose([low + 1, low + loop.step(), low + 4, low - 2]))


def _parallelize_loop(chain: Chain) -> sl.Pipeline:
    return sl.parallelize_loop(chain.pipeline, chain.pick("for _"), chain.choose([None, 2]))


def _pipeline_loop(chain: Chain) -> sl.Pipeline:
    """A loop of two statements or more, mostly where a buffer goes from one to the other."""
    p, is_careless = chain.pipeline, chain.is_careless()
    loops = [loop for loop in p.find_all("for _") if is_careless or (len(loop.body()) > 1 and loop.workers() is None)]
    if not loops:
        raise NothingToDoError
    loop = chain.choose(loops)
    stages = chain.choose([None, None, [s for s in loop.body() if chain.choose([True, True, False])]])
    return sl.pipeline_loop(p, loop, stages, chain.choose([None, None, 2, 3, 5]), chain.choose([None, 2]))


def _prefetch(chain: Chain) -> sl.Pipeline:
    """A call in a loop that others stand in, too."""
    p = chain.pipeline
    loops = [loop for loop in p.find_all("for _") if len(loop.body()) > 1 and loop.workers() is None]
    if chain.is_careless():
        return sl.prefetch(p, chain.pick("_ = _"), chain.pick("for _"))
    pairs = [(s, loop) for loop in loops for s in loop.body() if isinstance(s, sl.CallCursor)]
    pairs = [(s, loop) for s, loop in pairs if any(set(s.outputs()) & set(r.inputs()) for r in p.find_all("_ = _"))]
    if not pairs:
        raise NothingToDoError
    return sl.prefetch(p, *chain.choose(pairs), chain.choose([1, 1, 2, 4]))


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
    return sl.alias_copy(chain.pipeline, _copy(chain))


def _split_boundary(chain: Chain) -> sl.Pipeline:
    if not chain.is_careless() and not any(
        isinstance(c._call.func.operation, Copy) for c in chain.pipeline.find_all("_ = _")
    ):
        raise NothingToDoError
    return sl.split_boundary(chain.pipeline, _copy(chain))


def _fuse_loops(chain: Chain) -> sl.Pipeline:
    """Neighbours by the same step, or any two loops."""
    loops = chain.pipeline.find_all("for _")
    if chain.is_careless() and len(loops) > 1:
        return sl.fuse_loops(chain.pipeline, chain.choose(loops), chain.choose(loops))
    pairs = [(a, a.next()) for a in loops if isinstance(a.next(), sl.LoopCursor)]
    alike = [(a, b) for a, b in pairs if str(a.step()) == str(b.step()) and a.workers() == b.workers()]
    if not alike:
        raise NothingToDoError
    return sl.fuse_loops(chain.pipeline, *chain.choose(alike))


def _fission_loop(chain: Chain) -> sl.Pipeline:
    """Between two statements of a loop's body; now and then at an end of it, or in more loops than there are."""
    p, is_careless = chain.pipeline, chain.is_careless()
    gaps = [s.before() for loop in p.find_all("for _") for s in loop.body() if s.prev() or is_careless]
    if not gaps:
        raise NothingToDoError
    gap = chain.choose(gaps)
    return sl.fission_loop(p, gap, chain.choose([1, len(_around(gap.anchor())) + is_careless]))


def _around(statement: Any) -> list[Any]:
    """The loops and ifs around a statement."""
    parent = statement.parent()
    return [parent, *_around(parent)] if parent else []


def _known_loop(chain: Chain, most: int) -> sl.LoopCursor:
    """A loop of a number of iterations that it says itself, at most so many; or any loop."""
    if chain.is_careless():
        return chain.pick("for _")
    loops = []
    for loop in chain.pipeline.find_all("for _"):
        length, step = constant_value(loop.bounds().max - loop.bounds().min), constant_value(loop.step())
        if length is not None and step is not None and 0 <= length < most * step:
            loops.append(loop)
    if not loops:
        raise NothingToDoError
    return chain.choose(loops)


def _unroll_loop(chain: Chain) -> sl.Pipeline:
    return sl.unroll_loop(chain.pipeline, _known_loop(chain, 3))


def _remove_loop(chain: Chain) -> sl.Pipeline:
    return sl.remove_loop(chain.pipeline, _known_loop(chain, 1 if chain.choose([True, False]) else 3))


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
    return sl.lift_call(chain.pipeline, call, chain.choose([1, len(_around(call)) + chain.is_careless()]))


def _compute_once(chain: Chain) -> sl.Pipeline:
    """Of a serial loop, and a call in it that computes the same in every iteration."""
    p = chain.pipeline
    if chain.is_careless():
        return sl.compute_once(p, *chain.call_and_loop_around())
    pairs = []
    for loop in p.find_all("for _"):
        inside = [s for s in (*p.find_all("_ = _"), *p.find_all("for _")) if loop.is_ancestor_of(s) and s != loop]
        moving = [s for s in inside if loop._loop.variable in symbols_of(s._statement)]
        still = [s for s in inside if isinstance(s, sl.CallCursor) and s not in moving]
        if loop.workers() is None:
            pairs += [(c, loop) for c in still if not any(other.is_ancestor_of(c) for other in moving)]
    if not pairs:
        raise NothingToDoError
    return sl.compute_once(p, *chain.choose(pairs))


def _unslide_window(chain: Chain) -> sl.Pipeline:
    """Of a producer, where anything has slid."""
    if "slide_window" not in chain.applied and not chain.is_careless():
        raise NothingToDoError
    return sl.unslide_window(chain.pipeline, *chain.call_and_loop_around())


def _serialize_loop(chain: Chain) -> sl.Pipeline:
    loops = [loop for loop in chain.pipeline.find_all("for _") if loop.workers() is not None or chain.is_careless()]
    if not loops:
        raise NothingToDoError
    return sl.serialize_loop(chain.pipeline, chain.choose(loops))


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
    ifs = [s for s in chain.pipeline.find_all("if _") if isinstance(s.parent(), sl.LoopCursor) or chain.is_careless()]
    if not ifs:
        raise NothingToDoError
    return sl.lift_if(chain.pipeline, chain.choose(ifs))


def _cut_call(chain: Chain) -> sl.Pipeline:
    dim = chain.pick("_._")
    low, high = dim.bounds().min, dim.bounds().max
    return sl.cut_call(chain.pipeline, dim, chain.choose([low + 1, low + 3, high, high + 2, 2]))


def _clone_call(chain: Chain) -> sl.Pipeline:
    """Of an intermediate with several readers, for one of them."""
    p = chain.pipeline
    if chain.is_careless():
        return sl.clone_call(p, chain.pick("_ = _"), chain.pick("_ = _"))
    own, calls = {a.name() for a in p.find_all("alloc _")}, p.find_all("_ = _")
    pairs = []
    for call in calls:
        readers = [r for r in calls if set(call.outputs()) & set(r.inputs())]
        if len(readers) > 1 and set(call.outputs()) <= own:
            pairs += [(call, r) for r in readers]
    if not pairs:
        raise NothingToDoError
    return sl.clone_call(p, *chain.choose(pairs))


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


def _share_calls(chain: Chain) -> sl.Pipeline:
    """Calls of one func that write different buffers, or any two."""
    p, calls = chain.pipeline, chain.pipeline.find_all("_ = _")
    if chain.is_careless() and len(calls) > 1:
        return sl.share_calls(p, chain.choose(calls), chain.choose(calls))
    pairs = [(a, b) for a in calls for b in calls if a.func() == b.func() and a.outputs() != b.outputs()]
    if not pairs:
        raise NothingToDoError
    return sl.share_calls(p, *chain.choose(pairs))


def _remove_call(chain: Chain) -> sl.Pipeline:
    """A call whose results nobody reads, or of which there are others."""
    p, calls = chain.pipeline, chain.pipeline.find_all("_ = _")
    if chain.is_careless():
        return sl.remove_call(p, chain.pick("_ = _"))
    read, names = {name for c in calls for name in c.inputs()}, [c.func() for c in calls]
    own = {a.name() for a in p.find_all("alloc _")}
    idle = [c for c in calls if names.count(c.func()) > 1 or own.difference(read).issuperset(c.outputs())]
    if not idle:
        raise NothingToDoError
    return sl.remove_call(p, chain.choose(idle))


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
    if not calls:
        raise NothingToDoError
    return sl.compute_in_place(p, *chain.choose(calls))


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
    "share_calls": (_share_calls, 1),
    "remove_call": (_remove_call, 1),
    "choose_variant": (_choose_variant, 1),
    "fuse_calls": (_fuse_calls, 1),
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
