"""Situations in which a rewrite would take the stages of a pipelined loop apart (see `random_situations`).

Each makes a loop whose statements run in stages, and then does something in its body: puts a statement more there, or
takes one away, lets a stage compute what another one needs, or an allocation go from stage to stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from random_chains import AnyChain, NothingToDoError
from random_places import (
    Shared,
    calls,
    declared_fusions,
    finish,
    loops_around,
    now,
    one_of,
    own_buffers,
    shared_loop,
    slide,
    staged_loop,
)
from random_preparations import of_few_elements

import slinky as sl
from slinky.ir.operations import Copy
from slinky.ir.statements import SERIAL, For
from slinky.symbolic.expressions import as_expr

Situation = Callable[[AnyChain], sl.Pipeline]


def pipelined(chain: AnyChain, loop: Any, stages: Sequence[Any] | None = None) -> sl.LoopCursor:
    """A loop, in stages."""
    p = sl.pipeline_loop(chain.pipeline, loop, stages, chain.choose([None, None, 2, 3]))
    return now(chain, chain.take("pipeline_loop", p).forward(loop))


def at_staged(rewrite: Callable[[AnyChain, Shared], sl.Pipeline]) -> Situation:
    """A rewrite of a loop that runs in stages: its producer, its reader, or all of it."""
    return lambda chain: rewrite(chain, staged_loop(chain))


def _either(chain: AnyChain, shared: Shared) -> sl.CallCursor:
    return chain.choose([shared.producer, shared.reader])


def _cut(chain: AnyChain, call: sl.CallCursor) -> tuple[sl.CallCursor, sl.CallCursor]:
    """A call as two, one after the other."""
    dim = one_of(chain, call.dims())
    i = dim.bounds()
    p, parts = sl.cut_call(chain.pipeline, dim, chain.choose([i.min + 1, i.min + 2, i.max, 2]), rc=True)
    chain.take("cut_call", p)
    return now(chain, parts.first), now(chain, parts.second)


def _wrapped(chain: AnyChain, block: sl.BlockCursor) -> sl.LoopCursor:
    """A block in a loop of one iteration."""
    at = as_expr(chain.choose(range(-2, 3)))
    edit = sl.edit(chain.pipeline)
    v = edit.variable("once", block.find_all("_ = _")[0])
    outer = edit.wrap(block, lambda inside: For(v, sl.interval(at, at), as_expr(chain.choose([1, 2])), SERIAL, inside))
    finish(chain, edit)
    return next(loop for loop in chain.pipeline.find_all("for _") if loop._id == outer.id)


# Another number of statements -----------------------------------------------------------------------------------------


def _split(chain: AnyChain, shared: Shared) -> sl.Pipeline:
    return sl.split_loop(chain.pipeline, shared.loop, chain.choose([1, 2, 3]), tail=chain.choose(["clamp", "cut"]))


def _reorder(chain: AnyChain, shared: Shared) -> sl.Pipeline:
    outer = _wrapped(chain, shared.loop.as_block())
    return sl.reorder_loops(chain.pipeline, outer)


def _fuse(chain: AnyChain, shared: Shared) -> sl.Pipeline:
    at = shared.loop.bounds().min + chain.choose([1, 2, 3])
    p, parts = sl.cut_loop(chain.pipeline, shared.loop, at, rc=True)
    chain.take("cut_loop", p)
    return sl.fuse_loops(p, now(chain, parts.first), now(chain, parts.second))


def _fission(chain: AnyChain, shared: Shared) -> sl.Pipeline:
    return sl.fission_loop(chain.pipeline, chain.choose([shared.producer.after(), shared.reader.before()]))


def _clone(chain: AnyChain) -> sl.Pipeline:
    shared = shared_loop(chain, slides=True)
    one, other = _cut(chain, shared.reader)
    pipelined(chain, shared.loop)
    return sl.clone_call(chain.pipeline, shared.producer, chain.choose([one, other]))


def _share(chain: AnyChain) -> sl.Pipeline:
    shared = shared_loop(chain)
    one, other = _cut(chain, shared.reader)
    p, cloned = sl.clone_call(chain.pipeline, shared.producer, chain.choose([one, other]), rc=True)
    chain.take("clone_call", p)
    slide(chain, shared)
    pipelined(chain, shared.loop)
    pair = [now(chain, shared.producer), now(chain, cloned.call)][:: chain.choose([1, -1])]
    return sl.share_calls(chain.pipeline, *pair)


def _remove(chain: AnyChain) -> sl.Pipeline:
    shared = shared_loop(chain, slides=True)
    dim = one_of(chain, shared.producer.dims())
    p, parts = sl.cut_call(chain.pipeline, dim, dim.bounds().max + 1, rc=True)
    chain.take("cut_call", p)
    pipelined(chain, shared.loop)
    return sl.remove_call(chain.pipeline, parts.second)


def _merge(chain: AnyChain) -> sl.Pipeline:
    """Two calls become one, in stages of a loop."""
    p = chain.pipeline
    found = [(a, b, name) for a, b, name in declared_fusions(p) if b.dims() and not a.parent() and not b.parent()]
    first, second, name = one_of(chain, found)
    p, made = sl.split_loop(p, chain.choose(second.dims()), 1, rc=True)
    chain.take("split_loop of a dimension", p)
    chain.take("compute_at", sl.compute_at(p, first, made.outer))
    slide(chain, Shared(now(chain, made.outer), now(chain, first), now(chain, second)))
    pipelined(chain, made.outer)
    return sl.fuse_calls(chain.pipeline, first, second, name)


def _compute_more(chain: AnyChain, shared: Shared) -> sl.Pipeline:
    """What the producer reads, in the loop, too."""
    p = chain.pipeline
    made = [c for c in calls(p) if not c.parent() and set(c.outputs()) & set(shared.producer.inputs())]
    return sl.compute_at(p, one_of(chain, made), shared.loop)


def _extract(chain: AnyChain) -> sl.Pipeline:
    shared = shared_loop(chain, slides=True)
    one, _ = _cut(chain, shared.reader)
    pipelined(chain, shared.loop, [shared.producer, one])
    return sl.extract_pipeline(chain.pipeline, now(chain, one).expand(after=1), f"inner_{len(chain.applied)}")


def _inline(chain: AnyChain) -> sl.Pipeline:
    shared = shared_loop(chain, slides=True)
    one, _ = _cut(chain, shared.reader)
    p, made = sl.extract_pipeline(chain.pipeline, one.expand(after=1), f"inner_{len(chain.applied)}", rc=True)
    chain.take("extract_pipeline", p)
    pipelined(chain, shared.loop)
    return sl.inline_pipeline(chain.pipeline, made.call)


def _reduce(chain: AnyChain, split: Callable[[sl.Pipeline, Any, str, AnyChain], sl.Pipeline]) -> sl.Pipeline:
    """A call that reduces, in stages with what it reduces."""
    p = chain.pipeline
    own = own_buffers(p)
    found = [
        (producer, reader, dim)
        for reader in calls(p)
        if reader._call.func.reduction is not None and not reader.parent()
        for producer in calls(p)
        if own.issuperset(producer.outputs()) and set(producer.outputs()) & set(reader.inputs())
        for dim in reader.dims()
    ]
    producer, reader, dim = one_of(chain, found)
    p, made = sl.split_loop(p, dim, chain.choose([1, 2]), rc=True)
    chain.take("split_loop of a dimension", p)
    chain.take("compute_at", sl.compute_at(p, producer, made.outer))
    slide(chain, Shared(now(chain, made.outer), now(chain, producer), now(chain, reader)))
    pipelined(chain, made.outer)
    over = reader._call.func.reduction.over
    return split(chain.pipeline, now(chain, reader), chain.choose([name for name, _ in over]), chain)


def _at_a_copy(rewrite: Callable[[sl.Pipeline, Any], sl.Pipeline]) -> Situation:
    """A copy in stages with who reads it."""

    def situation(chain: AnyChain) -> sl.Pipeline:
        if not any(isinstance(c._call.func.operation, Copy) for c in calls(chain.pipeline)):
            chain.prepare("stage_buffer")
        p = chain.pipeline
        own = own_buffers(p)
        copies = [c for c in calls(p) if isinstance(c._call.func.operation, Copy) and own.issuperset(c.outputs())]
        found = [
            (copy, reader)
            for copy in copies
            for reader in calls(p)
            if set(copy.outputs()) & set(reader.inputs()) and reader.dims() and not reader.parent()
        ]
        copy, reader = one_of(chain, found)
        p, made = sl.split_loop(p, chain.choose(reader.dims()), chain.choose([1, 2]), rc=True)
        chain.take("split_loop of a dimension", p)
        chain.take("compute_at", sl.compute_at(p, copy, made.outer))
        slide(chain, Shared(now(chain, made.outer), now(chain, copy), now(chain, reader)))
        pipelined(chain, made.outer)
        return rewrite(chain.pipeline, now(chain, copy))

    return situation


# Ifs and loops in a stage ---------------------------------------------------------------------------------------------


def _staged_if(chain: AnyChain, condition: Callable[[Shared], Any]) -> tuple[Shared, sl.IfCursor]:
    """A loop of two stages: the producer, and two readers under a condition."""
    shared = shared_loop(chain, slides=True)
    one, _ = _cut(chain, shared.reader)
    p, (if_,) = sl.specialize(chain.pipeline, one.expand(after=1), condition(shared), rc=True)
    chain.take("specialize", p)
    pipelined(chain, shared.loop)
    return shared, now(chain, if_)


def _of_sizes(chain: AnyChain) -> tuple[Any, dict[str, Any]]:
    """A condition on the size of an output, and the size that it has."""
    name, box = one_of(chain, sorted(chain.shapes.items()))
    d = one_of(chain, range(len(box)))
    (parameter,) = (p for p in chain.pipeline.program.outputs if p.name == name)
    dim = sl.BufferExpr(name, parameter.dtype, len(box)).dim(d)
    extents = [e for i in box if (e := i.extent) is not None]
    condition = dim.max - dim.min <= extents[d] + chain.choose([-2, -1, 0])
    return condition, {name: (*(None for _ in box[:d]), box[d], *(None for _ in box[d + 1 :]))}


def _lifted(chain: AnyChain) -> sl.Pipeline:
    condition, _ = _of_sizes(chain)
    _, if_ = _staged_if(chain, lambda _: condition)
    return sl.lift_if(chain.pipeline, if_)


def _unrolled(chain: AnyChain) -> sl.Pipeline:
    """A loop of a few iterations in a stage."""
    p = chain.pipeline
    own = own_buffers(p)
    found = [
        (producer, reader, dim)
        for producer in calls(p)
        for reader in calls(p)
        if own.issuperset(producer.outputs()) and set(producer.outputs()) & set(reader.inputs())
        if not reader.parent()
        for dim in reader.dims()
    ]
    producer, reader, dim = one_of(chain, found)
    p, made = sl.split_loop(p, dim, chain.choose([2, 3]), tail="shift", rc=True)
    chain.take("split_loop of a dimension", p)
    chain.take("compute_at", sl.compute_at(p, producer, made.outer))
    p, inner = sl.split_loop(chain.pipeline, now(chain, reader).dims()[dim.position()], 1, rc=True)
    chain.take("split_loop of a dimension", p)
    pipelined(chain, made.outer)
    return sl.unroll_loop(chain.pipeline, inner.outer)


def _removed(chain: AnyChain) -> sl.Pipeline:
    shared = shared_loop(chain, slides=True)
    one, _ = _cut(chain, shared.reader)
    inner = _wrapped(chain, one.expand(after=1))
    pipelined(chain, shared.loop)
    return sl.remove_loop(chain.pipeline, inner)


# Allocations in a stage -----------------------------------------------------------------------------------------------


def _with_a_copy(chain: AnyChain) -> tuple[Shared, sl.AllocCursor]:
    """A loop of two stages: the producer; and the reader, with a copy of what it reads."""
    shared = shared_loop(chain, slides=True)
    name = chain.choose(shared.reader.inputs())
    p, staged = sl.stage_buffer(chain.pipeline, now(chain, shared.reader).as_block(), name, rc=True)
    chain.take("stage_buffer", p)
    pipelined(chain, shared.loop)
    return shared, now(chain, staged.alloc)


def _lift_alloc(chain: AnyChain) -> sl.Pipeline:
    _, alloc = _with_a_copy(chain)
    return sl.lift_alloc(chain.pipeline, alloc)


def _swapped(chain: AnyChain) -> sl.Pipeline:
    _, alloc = _with_a_copy(chain)
    if not alloc.prev():
        raise NothingToDoError
    return sl.reorder_statements(chain.pipeline, alloc.expand(before=1))


def _store(chain: AnyChain, shared: Shared) -> sl.Pipeline:
    return sl.store_at(chain.pipeline, shared.alloc(chain.pipeline), shared.loop)


def _pieces(chain: AnyChain) -> sl.Pipeline:
    """A buffer of a few elements that is allocated in a stage, element by element."""
    chain.take("store_at", of_few_elements(chain))
    p = chain.pipeline
    (alloc, *_) = [a for a in p.find_all("alloc _") if isinstance(a.parent(), sl.LoopCursor)] or [None]
    if alloc is None:
        raise NothingToDoError
    loop = alloc.parent()
    inside = [c for c in calls(p) if loop.is_ancestor_of(c)]
    others = [c for c in calls(p) if not c.parent() and any(set(c.outputs()) & set(i.inputs()) for i in inside)]
    chain.take("compute_at", sl.compute_at(p, one_of(chain, others), loop))
    pipelined(chain, loop)
    alloc = now(chain, alloc)
    return sl.unroll_buffer(chain.pipeline, alloc, chain.choose(range(alloc.rank())))


# What overlaps --------------------------------------------------------------------------------------------------------


def _unslid(chain: AnyChain, shared: Shared) -> sl.Pipeline:
    return sl.unslide_window(chain.pipeline, shared.producer, shared.loop)


def _slid(chain: AnyChain) -> sl.Pipeline:
    """A window that begins to slide in a loop that runs in stages already, or in one around it."""
    shared = shared_loop(chain, slides=False)
    pipelined(chain, shared.loop)
    around = chain.choose([shared.loop, *loops_around(shared.loop)])
    return sl.slide_window(chain.pipeline, shared.producer, around, warmup=chain.choose(["earlier", "first"]))


def _fold(chain: AnyChain, shared: Shared) -> sl.Pipeline:
    alloc = shared.alloc(chain.pipeline)
    return sl.fold_storage(
        chain.pipeline, alloc, one_of(chain, range(alloc.rank())), chain.choose([None, None, 1, 2, 3])
    )


def _vectors(chain: AnyChain, shared: Shared) -> sl.Pipeline:
    dims = _either(chain, shared).dims()
    return sl.vectorize(chain.pipeline, one_of(chain, dims[-1:]), chain.choose([2, 4, 8]))


def _loop_in_a_stage(chain: AnyChain) -> sl.LoopCursor:
    shared = shared_loop(chain, slides=True)
    call = chain.choose([shared.producer, shared.reader])
    p, inner = sl.split_loop(chain.pipeline, one_of(chain, call.dims()), chain.choose([1, 2, 3]), rc=True)
    chain.take("split_loop of a dimension", p)
    pipelined(chain, shared.loop)
    return now(chain, inner.outer)


def _absorbed(chain: AnyChain) -> sl.Pipeline:
    """A loop in a stage, that becomes a dimension of its call again."""
    loop = _loop_in_a_stage(chain)
    return sl.absorb_loop(chain.pipeline, loop)


def _two_loops(chain: AnyChain) -> sl.Pipeline:
    """A loop in a stage, that becomes two."""
    loop = _loop_in_a_stage(chain)
    return sl.cut_loop(chain.pipeline, loop, loop.bounds().min + chain.choose([0, 1, 2]))


STAGES: dict[str, Situation] = {
    "split_loop": at_staged(_split),
    "reorder_loops": at_staged(_reorder),
    "fuse_loops": at_staged(_fuse),
    "fission_loop": at_staged(_fission),
    "unroll_loop": _unrolled,
    "vectorize": at_staged(_vectors),
    "remove_loop": _removed,
    "absorb_loop": _absorbed,
    "cut_loop": _two_loops,
    "lift_call": at_staged(lambda chain, s: sl.lift_call(chain.pipeline, _either(chain, s))),
    "unslide_window": at_staged(_unslid),
    "lift_if": _lifted,
    "specialize": at_staged(
        lambda chain, s: sl.specialize(
            chain.pipeline, s.producer.expand(after=1), s.loop._loop.variable <= s.loop.bounds().min + 2
        )
    ),
    "cut_call": at_staged(lambda chain, s: _cut(chain, _either(chain, s)) and chain.pipeline),
    "split_reduction": lambda chain: _reduce(
        chain, lambda p, call, dim, c: sl.split_reduction(p, call, dim, c.choose([1, 2, 3]))
    ),
    "split_reduction_in_parts": lambda chain: _reduce(
        chain, lambda p, call, dim, c: sl.split_reduction_in_parts(p, call, dim, c.choose([1, 2]), c.choose([1, 2]))
    ),
    "extract_pipeline": _extract,
    "inline_pipeline": _inline,
    "clone_call": _clone,
    "share_calls": _share,
    "remove_call": _remove,
    "fuse_calls": _merge,
    "stage_buffer": at_staged(
        lambda chain, s: sl.stage_buffer(chain.pipeline, s.reader.as_block(), chain.choose(s.reader.inputs()))
    ),
    "split_boundary": _at_a_copy(sl.split_boundary),
    "compute_at": at_staged(_compute_more),
    "compute_root": at_staged(lambda chain, s: sl.compute_root(chain.pipeline, s.producer)),
    "slide_window": _slid,
    "fold_storage": at_staged(_fold),
    "alias_copy": _at_a_copy(sl.alias_copy),
    "store_at": at_staged(_store),
    "lift_alloc": _lift_alloc,
    "unroll_buffer": _pieces,
    "reorder_statements": _swapped,
}
"""By the primitive that is refused."""
