"""Situations that single primitives refuse, for reasons of their own (see `random_situations`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import random_storage_steps as storages
from random_chains import AnyChain, NothingToDoError
from random_memory_situations import fitting
from random_places import (
    Shared,
    calls,
    declared_fusions,
    finish,
    loops_around,
    now,
    one_of,
    own_buffers,
    pairs_outside,
    readers,
    shared_loop,
)

import slinky as sl
from slinky import ir
from slinky.ir.operations import Accumulation, Copy, Nested
from slinky.ir.statements import SERIAL, For
from slinky.symbolic.expressions import as_expr, constant_value, variable

Situation = Callable[[AnyChain], sl.Pipeline]

DEEPEST = 100
"""So many loops and ifs may stand one in the other."""


# Deep nests and long loops --------------------------------------------------------------------------------------------


def _deep(chain: AnyChain, call: sl.CallCursor) -> list[sl.LoopCursor]:
    """The loops around a call, outermost first: as many as there may be, all but one of them of one iteration."""
    levels = DEEPEST - len(loops_around(call))
    edit = sl.edit(chain.pipeline)
    twice = chain.choose(range(levels))

    def nest(inside: Any) -> Any:
        for level in range(levels):
            at, step = as_expr(chain.choose([-1, 0, 2])), as_expr(chain.choose([1, 3]))
            last = at + step if level == twice else at
            inside = (For(variable(f"deep_{level}"), sl.interval(at, last), step, SERIAL, inside),)
        return inside[0]

    edit.wrap(call, nest)
    finish(chain, edit)
    return loops_around(now(chain, call))[::-1]


def in_a_deep_nest(rewrite: Callable[[AnyChain, Any, list[Any]], sl.Pipeline]) -> Situation:
    """A rewrite of a call in as many loops as there may be."""

    def situation(chain: AnyChain) -> sl.Pipeline:
        call = one_of(chain, [c for c in calls(chain.pipeline) if not c.parent()])
        loops = _deep(chain, call)
        return rewrite(chain, now(chain, call), loops)

    return situation


def _reducing(chain: AnyChain) -> sl.CallCursor:
    return one_of(chain, [c for c in calls(chain.pipeline) if c._call.func.reduction is not None])


def _split_deep(chain: AnyChain, call: Any, around: list[Any]) -> sl.Pipeline:
    place = chain.choose([*around, *call.dims()])
    return sl.split_loop(chain.pipeline, place, chain.choose([1, 2, 4]))


def _over(call: sl.CallCursor) -> list[str]:
    return [name for name, _ in call._call.func.reduction.over]  # type: ignore[union-attr]


def _pieces_deep(chain: AnyChain) -> sl.Pipeline:
    call = _reducing(chain)
    if call.parent():
        raise NothingToDoError
    _deep(chain, call)
    return sl.split_reduction(chain.pipeline, call, chain.choose(_over(call)), chain.choose([1, 2, 3]))


def _parts_deep(chain: AnyChain) -> sl.Pipeline:
    call = _reducing(chain)
    if call.parent():
        raise NothingToDoError
    _deep(chain, call)
    sizes = chain.choose([1, 2]), chain.choose([1, 2])
    return sl.split_reduction_in_parts(chain.pipeline, call, chain.choose(_over(call)), *sizes)


def _pieces(chain: AnyChain) -> sl.Pipeline:
    call = _reducing(chain)
    return sl.split_reduction(chain.pipeline, call, chain.choose(_over(call)), chain.choose([1, 2, 3, 4]))


def _parts(chain: AnyChain) -> sl.Pipeline:
    call = _reducing(chain)
    sizes = chain.choose([1, 2, 3]), chain.choose([1, 2, 3])
    return sl.split_reduction_in_parts(chain.pipeline, call, chain.choose(_over(call)), *sizes)


def _many(chain: AnyChain) -> sl.Pipeline:
    """A loop of very many iterations, which run for arrays that are large enough."""
    dim = one_of(chain, [dim for c in calls(chain.pipeline) for dim in c.dims()])
    p, made = sl.split_loop(chain.pipeline, dim, chain.choose([1, 2, 3]), rc=True)
    chain.take("split_loop of a dimension", p)
    p, parts = sl.split_loop(p, made.outer, chain.choose([1001, 1500, 4000]), tail="cut", rc=True)
    chain.take("split_loop of a loop", p)
    return sl.unroll_loop(p, parts.inner)


def _never(chain: AnyChain) -> sl.Pipeline:
    """A loop that is known never to run: of an output of no elements."""
    if not chain.shapes:
        raise NothingToDoError
    chain.take("assume_shape", sl.assume_shape(chain.pipeline, **chain.shapes))
    dims = [dim for c in calls(chain.pipeline) for dim in c.dims()]
    empty = [dim for dim in dims if (count := constant_value(dim.bounds().extent)) is not None and count < 1]
    p, made = sl.split_loop(chain.pipeline, one_of(chain, empty), chain.choose([1, 2, 3]), rc=True)
    chain.take("split_loop of a dimension", p)
    return sl.unroll_loop(p, made.outer)


# Names ----------------------------------------------------------------------------------------------------------------


def _taken(chain: AnyChain) -> sl.Pipeline:
    p = chain.pipeline
    dim = one_of(chain, [dim for c in calls(p) for dim in c.dims()])
    names = [*own_buffers(p), *(c.func() for c in calls(p)), *(x.name for x in p.program.inputs)]
    return sl.split_loop(p, dim, chain.choose([1, 2, 3]), names=chain.choose(sorted(names)))


def _own_before(chain: AnyChain) -> tuple[sl.LoopCursor, sl.AllocCursor, sl.LoopCursor]:
    """A loop with a buffer of its own, before another one of that name, for a loop behind it."""
    shared = shared_loop(chain, slides=False)
    chain.take("store_at", sl.store_at(chain.pipeline, shared.alloc(chain.pipeline), shared.loop))
    at = shared.loop.bounds().min + chain.choose([1, 2, 3])
    p, parts = sl.cut_loop(chain.pipeline, shared.loop, at, rc=True)
    chain.take("cut_loop", p)
    alloc = next(s for s in now(chain, parts.second).body() if isinstance(s, sl.AllocCursor))
    p, (lifted,) = sl.lift_alloc(p, alloc, rc=True)
    chain.take("lift_alloc", p)
    return now(chain, parts.first), now(chain, lifted), now(chain, parts.second)


def _own_inside(chain: AnyChain) -> sl.Pipeline:
    _, alloc, _ = _own_before(chain)
    return sl.reorder_statements(chain.pipeline, alloc.expand(before=1))


def _own_between(chain: AnyChain) -> sl.Pipeline:
    first, _, second = _own_before(chain)
    return sl.fuse_loops(chain.pipeline, first, second)


# Loops ----------------------------------------------------------------------------------------------------------------


def _once(chain: AnyChain) -> sl.Pipeline:
    """A loop that nothing in it depends on."""
    call = one_of(chain, calls(chain.pipeline))
    at = as_expr(chain.choose([-1, 0, 2]))
    edit = sl.edit(chain.pipeline)
    v = edit.variable("once", call)
    outer = edit.wrap(call, lambda inside: For(v, sl.interval(at, at), as_expr(1), SERIAL, inside))
    finish(chain, edit)
    loop = next(each for each in chain.pipeline.find_all("for _") if each._id == outer.id)
    return sl.absorb_loop(chain.pipeline, loop)


def _not_alike(chain: AnyChain) -> sl.Pipeline:
    """Two parts of a loop, of which one is parallel, or both, on other numbers of threads."""
    dim = one_of(chain, [dim for c in calls(chain.pipeline) for dim in c.dims()])
    p, made = sl.split_loop(chain.pipeline, dim, chain.choose([1, 2]), rc=True)
    chain.take("split_loop of a dimension", p)
    p, parts = sl.cut_loop(p, made.outer, made.outer.bounds().min + chain.choose([1, 2, 4]), rc=True)
    chain.take("cut_loop", p)
    for loop, workers in chain.choose(
        [[(parts.first, 2)], [(parts.second, None)], [(parts.first, 2), (parts.second, 3)]]
    ):
        chain.take("parallelize_loop", sl.parallelize_loop(chain.pipeline, loop, workers))
    return sl.fuse_loops(chain.pipeline, parts.first, parts.second)


def _alone(chain: AnyChain) -> tuple[Shared, sl.LoopCursor]:
    """A producer in a loop of its own, in which it computes what each iteration of another one needs."""
    shared = shared_loop(chain, (1,), slides=False)
    p, parts = sl.fission_loop(chain.pipeline, shared.producer.after(), rc=True)
    chain.take("fission_loop", p)
    return shared, now(chain, parts.first)


def _gaps(chain: AnyChain) -> sl.Pipeline:
    """Pieces that do not lie side by side: those that a reader at another rate needs, or one that goes back."""
    _, loop = _alone(chain)
    return sl.absorb_loop(chain.pipeline, loop)


def _vectors_of_gaps(chain: AnyChain) -> sl.Pipeline:
    """Several elements at a time of a reader that needs some of what is between."""
    shared, _ = _alone(chain)
    return sl.vectorize(chain.pipeline, now(chain, shared.reader).parent(), chain.choose([2, 4]))


def _vectors_of_pieces(chain: AnyChain) -> sl.Pipeline:
    found = [c for c in calls(chain.pipeline) if isinstance(c._call.func.operation, Accumulation)]
    if not found:
        chain.take("split_reduction", _pieces(chain))
        found = [c for c in calls(chain.pipeline) if isinstance(c._call.func.operation, Accumulation)]
    call = one_of(chain, [c for c in found if c.dims()])
    return sl.vectorize(chain.pipeline, call.dims()[0], chain.choose([2, 4, 8]))


def _shifted(chain: AnyChain) -> sl.Pipeline:
    """Pieces of a loop that are moved back, where a fold has let go of what they need, or that are parallel."""
    if chain.choose([True, False]):
        shared = shared_loop(chain, (1,), slides=True)
        alloc = shared.alloc(chain.pipeline)
        chain.take("fold_storage", sl.fold_storage(chain.pipeline, alloc, one_of(chain, range(alloc.rank()))))
        loop = shared.loop
    else:
        dim = one_of(chain, [dim for c in calls(chain.pipeline) for dim in c.dims()])
        p, made = sl.split_loop(chain.pipeline, dim, 1, rc=True)
        chain.take("split_loop of a dimension", p)
        chain.take("parallelize_loop", sl.parallelize_loop(p, made.outer))
        loop = made.outer
    return sl.split_loop(chain.pipeline, loop, chain.choose([2, 3, 4]), tail="shift")


def _whole_dim(chain: AnyChain) -> sl.DimCursor:
    found = [c.dims()[d] for c in calls(chain.pipeline) for d, _ in c._call.func.whole]
    return one_of(chain, found)


def _split_whole(chain: AnyChain) -> sl.Pipeline:
    return sl.split_loop(chain.pipeline, _whole_dim(chain), chain.choose([1, 2, 3]))


def _cut_whole(chain: AnyChain) -> sl.Pipeline:
    dim = _whole_dim(chain)
    return sl.cut_call(chain.pipeline, dim, dim.bounds().min + chain.choose([0, 1, 2]))


def _not_forward(chain: AnyChain) -> sl.Pipeline:
    """A window that goes back."""
    shared = shared_loop(chain, (1, 1, 2), slides=False)
    warmup = chain.choose(["earlier", "first"])
    return sl.slide_window(chain.pipeline, shared.producer, shared.loop, warmup=warmup)


def _longer(chain: AnyChain) -> sl.Pipeline:
    """A loop with two producers, of which one would compute something in the iterations that the other one needs."""
    p = chain.pipeline
    reads = [(made, reader) for made, reader in pairs_outside(p) if reader.dims()]
    pairs = [(one, other, reader) for one, reader in reads for other, same in reads if one != other and reader == same]
    one, other, reader = one_of(chain, pairs)
    p, made = sl.split_loop(p, chain.choose(reader.dims()), chain.choose([1, 1, 2]), rc=True)
    chain.take("split_loop of a dimension", p)
    for each in (one, other):
        chain.take("compute_at", sl.compute_at(chain.pipeline, each, made.outer))
    return sl.slide_window(chain.pipeline, one, made.outer)


# Storage --------------------------------------------------------------------------------------------------------------


def _fold_in_parallel(chain: AnyChain) -> sl.Pipeline:
    shared = shared_loop(chain, slides=False)
    chain.take("parallelize_loop", sl.parallelize_loop(chain.pipeline, shared.loop, chain.choose([None, 2])))
    alloc = shared.alloc(chain.pipeline)
    return sl.fold_storage(chain.pipeline, alloc, one_of(chain, range(alloc.rank())), chain.choose([None, 8, 3]))


def _fold_that_moves(chain: AnyChain) -> sl.Pipeline:
    """A fold that is another one in each iteration of a loop around the allocation."""
    shared = shared_loop(chain, slides=False)
    p, parts = sl.split_loop(chain.pipeline, shared.loop, chain.choose([2, 3]), rc=True)
    chain.take("split_loop of a loop", p)
    chain.take("store_at", sl.store_at(p, shared.alloc(p), parts.outer))
    outer = now(chain, parts.outer)
    alloc = shared.alloc(chain.pipeline)
    factor = outer._loop.variable - outer.bounds().min + chain.choose([4, 8])
    d = one_of(chain, range(alloc.rank()))
    chain.take("fold_storage", sl.fold_storage(chain.pipeline, alloc, d, factor))
    return sl.lift_alloc(chain.pipeline, now(chain, alloc), chain.choose([1, 1, 2]))


def _strides(chain: AnyChain) -> sl.Pipeline:
    """Strides that are as close as they can be for what a buffer holds in a loop."""
    shared = shared_loop(chain, slides=False)
    chain.take("store_at", sl.store_at(chain.pipeline, shared.alloc(chain.pipeline), shared.loop))
    alloc = now(chain, shared.alloc(chain.pipeline))
    if alloc.rank() < 2:
        raise NothingToDoError
    strides: list[Any] = []
    room: Any = as_expr(alloc.dtype().itemsize)
    for i in reversed(alloc.bounds()):
        strides.insert(0, room)
        count = constant_value(i.extent)
        room = room * (sl.maximum(i.extent, 1) if count is None else max(count, 1))
    chain.take("set_layout", sl.set_layout(chain.pipeline, alloc, [*range(alloc.rank())], strides=strides))
    return sl.lift_alloc(chain.pipeline, alloc)


def _lift_of_parallel(chain: AnyChain) -> sl.Pipeline:
    """Out of a parallel loop, whose iterations compute some elements each for themselves."""
    shared = shared_loop(chain, (1, 1, 2), slides=False)
    chain.take("store_at", sl.store_at(chain.pipeline, shared.alloc(chain.pipeline), shared.loop))
    chain.take("parallelize_loop", sl.parallelize_loop(chain.pipeline, shared.loop, chain.choose([None, 2])))
    return sl.lift_alloc(chain.pipeline, shared.alloc(chain.pipeline))


def _resize_nothing(chain: AnyChain) -> sl.Pipeline:
    """To where a buffer of no elements, which is read all the same, does not lie."""
    places = [
        (alloc, d, i.min)
        for alloc in chain.pipeline.find_all("alloc _")
        for d, i in enumerate(alloc.bounds())
        if constant_value(i.extent) == 0
    ]
    alloc, d, first = one_of(chain, places)
    low, extent = first + chain.choose([1, 2, 3, -5]), chain.choose([0, 1, 2])
    return sl.resize_dim(chain.pipeline, alloc, d, sl.interval(low, low + extent - 1))


def _unused(chain: AnyChain) -> sl.Pipeline:
    """A buffer that nobody uses."""
    count, first = chain.choose([2, 3, 5]), chain.choose([-1, 0, 2])
    edit = sl.edit(chain.pipeline)
    like = one_of(chain, chain.pipeline.find_all("alloc _"))._alloc
    alloc = ir.Alloc("unused", like.dtype, ("d",), (sl.interval(first, first + count - 1),), (None,))
    place = one_of(chain, calls(chain.pipeline))
    edit.insert(chain.choose([place.before(), place.after()]), alloc)
    finish(chain, edit)
    return sl.unroll_buffer(chain.pipeline, "alloc unused", 0)


def _unrolled(chain: AnyChain) -> sl.Pipeline:
    """Another buffer, after one of few elements."""
    chain.take("unroll_buffer", storages.unroll_buffer(chain))
    places = [(alloc, d) for alloc in chain.pipeline.find_all("alloc _") for d in range(alloc.rank())]
    return sl.unroll_buffer(chain.pipeline, *one_of(chain, places))


def _used_before(chain: AnyChain) -> sl.Pipeline:
    """The second part of a call, in place of what is made after the first, which reads a copy of its own."""
    p = chain.pipeline
    found = [
        (producer, call)
        for call, name in fitting(p)
        if call.dims() and not call.parent()
        for producer in p.find_all(f"{name} = _")
        if [*readers(p, producer)] == [call] and producer.outputs() == (name,) and not producer.parent()
    ]
    producer, call = one_of(chain, found)
    name = producer.outputs()[0]
    dim = chain.choose(call.dims())
    p, parts = sl.cut_call(p, dim, dim.bounds().min + chain.choose([1, 2]), rc=True)
    chain.take("cut_call", p)
    chain.take("clone_call", sl.clone_call(p, producer, parts.first))
    for late in (producer, f"alloc {name}"):
        while True:
            p = chain.pipeline
            here = p.find(late) if isinstance(late, str) else now(chain, late)
            if parts.first._id not in {s._id for s in p.body()[list(p.body()).index(here) :]}:
                break
            chain.take("reorder_statements", sl.reorder_statements(p, here.expand(after=1)))
    return sl.compute_in_place(chain.pipeline, parts.second, name)


def _twice(chain: AnyChain) -> sl.Pipeline:
    chain.prepare("reuse_buffer")
    pairs = [(a, a.host()) for a in chain.pipeline.find_all("alloc _") if a.host() is not None]
    guest, host = one_of(chain, pairs)
    return sl.reuse_buffer(chain.pipeline, guest, f"alloc {host}")


# Calls ----------------------------------------------------------------------------------------------------------------


def _gone(chain: AnyChain) -> sl.Pipeline:
    """A call that reads what is there in its own loop alone, for one of two readers elsewhere."""
    p = chain.pipeline
    own = own_buffers(p)
    found = [
        (first, second, reader)
        for second in calls(p)
        for first in calls(p)
        if own.issuperset((*first.outputs(), *second.outputs())) and second.dims() and not second.parent()
        if not first.parent() and [*readers(p, first)] == [second]
        for reader in readers(p, second)
    ]
    first, second, reader = one_of(chain, found)
    p, made = sl.split_loop(p, chain.choose(second.dims()), chain.choose([1, 2, 3]), rc=True)
    chain.take("split_loop of a dimension", p)
    p = chain.take("compute_at", sl.compute_at(p, first, made.outer))
    for name in first.outputs():
        p = chain.take("store_at", sl.store_at(p, f"alloc {name}", made.outer))
    here = reader
    if len(readers(p, now(chain, second))) == 1:
        dim = one_of(chain, reader.dims())
        p, parts = sl.cut_call(p, dim, dim.bounds().min + chain.choose([1, 2]), rc=True)
        chain.take("cut_call", p)
        here = chain.choose([parts.first, parts.second])
    return sl.clone_call(p, second, here)


def _written_by_others(chain: AnyChain) -> sl.Pipeline:
    """A part of what lies between two calls is stored by a copy."""
    p = chain.pipeline
    first, second, name = one_of(chain, [each for each in declared_fusions(p) if each[0].dims()])
    dim = chain.choose(first.dims())
    p, parts = sl.cut_call(p, dim, dim.bounds().min + chain.choose([1, 2]), rc=True)
    chain.take("cut_call", p)
    staged, kept = chain.choose([(parts.first, parts.second), (parts.second, parts.first)])
    p = sl.stage_buffer(p, now(chain, staged), first.outputs()[0])
    chain.take("stage_buffer", p)
    return sl.fuse_calls(p, kept, second, name)


def _choose(chain: AnyChain) -> sl.Pipeline:
    call = one_of(chain, [c for c in calls(chain.pipeline) if "other" in c.variants()])
    return sl.choose_variant(chain.pipeline, call, "other")


def _with_a_check(chain: AnyChain) -> sl.Pipeline:
    check = chain.pipeline.find_all("check _")[-1:]
    place = one_of(chain, check)
    call = one_of(chain, [c for c in calls(chain.pipeline) if not c.parent()][:1])
    more = next(n for n in range(1, 99) if place.next(n) == call)
    there = {x.name for x in (*chain.pipeline.program.inputs, *chain.pipeline.program.outputs)}
    name = one_of(chain, sorted(there.intersection((*call.inputs(), *call.outputs()))))
    return sl.stage_buffer(chain.pipeline, place.expand(after=more), name)


def _behind_a_check(chain: AnyChain) -> sl.Pipeline:
    """An allocation goes before a check, behind which something is that may rely on it."""
    p = chain.pipeline
    alloc = one_of(chain, [a for a in p.find_all("alloc _") if isinstance(a.prev(), sl.CheckCursor)])
    chain.take("reorder_statements", sl.reorder_statements(p, alloc.expand(before=1)))
    check = now(chain, alloc).next()
    return sl.reorder_statements(chain.pipeline, check.expand(after=1))


# Copies ---------------------------------------------------------------------------------------------------------------


def _copies(p: sl.Pipeline) -> list[sl.CallCursor]:
    return [c for c in calls(p) if isinstance(c._call.func.operation, Copy)]


def _alias(chain: AnyChain) -> sl.Pipeline:
    return sl.alias_copy(chain.pipeline, one_of(chain, _copies(chain.pipeline)))


def _alias_a_part(chain: AnyChain) -> sl.Pipeline:
    """A piece of a copy, after others are done without."""
    copies = [c for c in _copies(chain.pipeline) if len(c.inputs()) > 1]
    chain.take("split_boundary", sl.split_boundary(chain.pipeline, one_of(chain, copies)))
    if chain.choose([True, True, False]):
        which = chain.choose([0, -1])
        chain.take("alias_copy", sl.alias_copy(chain.pipeline, _copies(chain.pipeline)[which]))
    return _alias(chain)


def _reduce_past(chain: AnyChain, split: Callable[[sl.Pipeline, Any, str], sl.Pipeline]) -> sl.Pipeline:
    call = _reducing(chain)
    copies = [c for c in _copies(chain.pipeline) if set(c.outputs()) & set(call.inputs())]
    p = chain.take("alias_copy", sl.alias_copy(chain.pipeline, one_of(chain, copies)))
    return split(p, now(chain, call), chain.choose(_over(call)))


def _alias_again(chain: AnyChain) -> sl.Pipeline:
    """A copy of a copy, after that is read past."""
    copies = _copies(chain.pipeline)
    pairs = [(one, other) for one in copies for other in copies if set(one.outputs()) & set(other.inputs())]
    first, second = one_of(chain, pairs)
    chain.take("alias_copy", sl.alias_copy(chain.pipeline, first))
    return sl.alias_copy(chain.pipeline, now(chain, second))


def _bounds_past(chain: AnyChain) -> sl.Pipeline:
    """A copy that reads or writes past another one."""
    for copy in _copies(chain.pipeline):
        with contextlib.suppress(sl.SchedulingError):
            chain.take("alias_copy", sl.alias_copy(chain.pipeline, copy))
            break
    return sl.split_boundary(chain.pipeline, one_of(chain, _copies(chain.pipeline)))


def _beyond(chain: AnyChain) -> sl.Pipeline:
    """Pieces of an assembly that reach further than all of it."""
    copies = [c for c in _copies(chain.pipeline) if len(c.inputs()) > 1 and c.dims()]
    copy = one_of(chain, copies)
    p = sl.split_loop(
        chain.pipeline, chain.choose(copy.dims()), chain.choose([1, 2, 3]), tail=chain.choose(["clamp", "cut"])
    )
    chain.take("split_loop of a dimension", p)
    return sl.split_boundary(p, copy)


def _steady(chain: AnyChain) -> tuple[sl.CallCursor, sl.LoopCursor]:
    """A copy of an input that is made anew in each iteration of a loop."""
    p = chain.pipeline
    own, given = own_buffers(p), {x.name for x in p.program.inputs}
    found = [
        (copy, reader)
        for copy in _copies(p)
        if given.issuperset(copy.inputs()) and own.issuperset(copy.outputs()) and not copy.parent()
        for reader in readers(p, copy)
        if len(readers(p, copy)) == 1 and reader.dims() and not reader.parent()
    ]
    copy, reader = one_of(chain, found)
    p, made = sl.split_loop(p, chain.choose(reader.dims()), chain.choose([1, 1, 2]), rc=True)
    chain.take("split_loop of a dimension", p)
    p = chain.take("compute_at", sl.compute_at(p, copy, made.outer))
    for name in copy.outputs():
        p = chain.take("store_at", sl.store_at(p, f"alloc {name}", made.outer))
    return now(chain, copy), now(chain, made.outer)


def _steady_edges(chain: AnyChain) -> sl.Pipeline:
    """The same, where it is not clear which iterations read within the edges."""
    copy, _ = _steady(chain)
    return sl.split_boundary(chain.pipeline, copy)


def _boundary(chain: AnyChain) -> sl.Pipeline:
    return sl.split_boundary(chain.pipeline, one_of(chain, _copies(chain.pipeline)))


def _steady_cut(chain: AnyChain) -> sl.Pipeline:
    """The same, of which a part never runs in the steady state, or whose reader is taken to pieces, too."""
    copy, loop = _steady(chain)
    (name, *_) = copy.inputs()
    (parameter,) = (x for x in chain.pipeline.program.inputs if x.name == name)
    dim = sl.BufferExpr(name, parameter.dtype, parameter.rank).dim(chain.choose(range(parameter.rank)))
    at = chain.choose([dim.min - 3, dim.max + 1, dim.min, dim.max + 2])
    p, parts = sl.cut_loop(chain.pipeline, loop, at, rc=True)
    chain.take("cut_loop", p)
    part = now(chain, chain.choose([parts.first, parts.second]))
    (own, *_) = part.find_all("_ = _") or [None]
    if own is None:
        raise NothingToDoError
    if chain.choose([True, False]):
        p = chain.take("specialize", sl.specialize(p, own, dim.max >= dim.min + chain.choose([0, 1])))
    else:
        reader = part.find_all("_ = _")[-1]
        chain.take("split_loop of a dimension", sl.split_loop(p, one_of(chain, reader.dims()), 1))
    copies = [c for c in _copies(chain.pipeline) if now(chain, part).is_ancestor_of(c)]  # one, or two
    return sl.split_boundary(chain.pipeline, one_of(chain, copies))


# Pipelines in pipelines -----------------------------------------------------------------------------------------------


def _extract_of_a_loop(chain: AnyChain) -> sl.Pipeline:
    """What does something in some iterations of the loop around alone."""
    shared = shared_loop(chain)
    few = chain.choose([0, 1, 2, 3])
    call = chain.choose([shared.producer, shared.reader])
    p, (if_,) = sl.specialize(
        chain.pipeline, call, shared.loop._loop.variable <= shared.loop.bounds().min + few, rc=True
    )
    chain.take("specialize", p)
    return sl.extract_pipeline(p, if_.as_block(), f"inner_{len(chain.applied)}")


def _inline(chain: AnyChain) -> sl.Pipeline:
    """A pipeline, in a loop or not."""
    found = [c for c in calls(chain.pipeline) if isinstance(c._call.func.operation, Nested)]
    call = one_of(chain, found)
    if call.dims() and chain.choose([True, False]):
        chain.take(
            "split_loop of a dimension",
            sl.split_loop(chain.pipeline, chain.choose(call.dims()), chain.choose([1, 2, 3])),
        )
    return sl.inline_pipeline(chain.pipeline, call)


OWN: dict[tuple[str, str], Situation] = {
    ("split_loop", "too deep"): in_a_deep_nest(_split_deep),
    ("compute_once", "too deep"): in_a_deep_nest(
        lambda chain, call, around: sl.compute_once(
            chain.pipeline, call, next(loop for loop in around if loop.bounds().min is not loop.bounds().max)
        )
    ),
    ("specialize", "too deep"): in_a_deep_nest(
        lambda chain, call, around: sl.specialize(chain.pipeline, call, sl.scalar("n") <= chain.choose([0, 3]))
    ),
    ("split_reduction", "too deep"): _pieces_deep,
    ("split_reduction_in_parts", "too deep"): _parts_deep,
    ("split_reduction", "inputs of other lengths"): _pieces,
    ("split_reduction_in_parts", "inputs of other lengths"): _parts,
    ("split_reduction", "a dimension without a state"): _pieces,
    ("unroll_loop", "too many statements"): _many,
    ("split_loop", "a name that is taken"): _taken,
    ("reorder_statements", "another of the same name"): _own_inside,
    ("reorder_statements", "before a check"): _behind_a_check,
    ("absorb_loop", "not one dimension moves"): _once,
    ("absorb_loop", "not side by side"): _gaps,
    ("absorb_loop", "a loop that may not run"): _gaps,
    ("unroll_loop", "no iteration"): _never,
    ("vectorize", "something read is not written"): _vectors_of_gaps,
    ("vectorize", "a reduced dimension"): _vectors_of_pieces,
    ("split_loop", "shifted pieces: a race"): _shifted,
    ("split_loop", "shifted pieces: a fold"): _shifted,
    ("split_loop", "a dimension that is computed whole"): _split_whole,
    ("cut_call", "computed whole"): _cut_whole,
    ("slide_window", "an end does not move forward"): _not_forward,
    ("slide_window", "the loop would run longer"): _longer,
    ("fold_storage", "a fold in a parallel loop"): _fold_in_parallel,
    ("lift_alloc", "a fold that depends on the loop"): _fold_that_moves,
    ("lift_alloc", "strides that are asked for"): _strides,
    ("unroll_buffer", "nobody uses it"): _unused,
    ("unroll_buffer", "no constant extent"): _unrolled,
    ("compute_in_place", "used before the other"): _used_before,
    ("reuse_buffer", "in one memory already"): _twice,
    ("clone_call", "a source that is gone"): _gone,
    ("fuse_calls", "written by others"): _written_by_others,
    ("choose_variant", "another dtype for callers"): _choose,
    ("stage_buffer", "a check"): _with_a_check,
    ("alias_copy", "several places"): _alias,
    ("alias_copy", "no view"): _alias,
    ("alias_copy", "no box"): _alias_again,
    ("alias_copy", "another buffer of the name"): _alias,
    ("alias_copy", "a producer that cannot"): _alias,
    ("alias_copy", "a place in what others write"): _alias_a_part,
    ("alias_copy", "reads and writes"): _alias_a_part,
    ("alias_copy", "whole pieces"): _alias,
    ("split_reduction", "past a copy"): lambda chain: _reduce_past(
        chain, lambda p, call, dim: sl.split_reduction(p, call, dim, chain.choose([1, 2]))
    ),
    ("split_reduction_in_parts", "past a copy"): lambda chain: _reduce_past(
        chain, lambda p, call, dim: sl.split_reduction_in_parts(p, call, dim, chain.choose([1, 2]), 2)
    ),
    ("inline_pipeline", "a constant"): _inline,
    ("inline_pipeline", "a check"): _inline,
    ("extract_pipeline", "a loop around"): _extract_of_a_loop,
    ("fuse_loops", "not alike"): _not_alike,
    ("split_boundary", "no box"): _boundary,
    ("split_boundary", "where it reaches the edges"): _steady_edges,
    ("resize_dim", "no elements outside"): _resize_nothing,
    ("fuse_loops", "another of the same name"): _own_between,
    ("lift_alloc", "a parallel loop"): _lift_of_parallel,
    ("split_boundary", "by views"): _bounds_past,
    ("split_boundary", "no source shown"): _beyond,
    ("split_boundary", "what cutting a loop leaves"): _steady_cut,
}
"""By the primitive that is refused, and why."""
