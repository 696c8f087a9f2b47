"""Situations in which a rewrite would leave something that is asked of all of them: what is read, kept by folds,
written by parallel iterations, divided by, or computed whole (see `random_situations`).

Each makes what the primitive must take care of, a fold that holds what one loop needs, say, and then applies it where
it would ask for more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from random_chains import AnyChain, NothingToDoError
from random_places import Shared, calls, finish, now, one_of, own_buffers, pairs_outside, readers, shared_loop

import slinky as sl
from slinky.symbolic.expressions import constant_value

Situation = Callable[[AnyChain], sl.Pipeline]


# Folds ----------------------------------------------------------------------------------------------------------------


def folded(chain: AnyChain) -> tuple[Shared, sl.AllocCursor]:
    """A loop in which a buffer is folded to the window that slides in it."""
    shared = shared_loop(chain, (1, 1, 2), slides=True)
    alloc = shared.alloc(chain.pipeline)
    chain.take("fold_storage", sl.fold_storage(chain.pipeline, alloc, one_of(chain, range(alloc.rank()))))
    return Shared(now(chain, shared.loop), now(chain, shared.producer), now(chain, shared.reader)), now(chain, alloc)


def at_fold(rewrite: Callable[[AnyChain, Shared], sl.Pipeline]) -> Situation:
    """A rewrite of a loop in which a buffer is folded."""
    return lambda chain: rewrite(chain, folded(chain)[0])


def _cut(chain: AnyChain, call: sl.CallCursor) -> tuple[sl.CallCursor, sl.CallCursor]:
    dim = one_of(chain, call.dims())
    p, parts = sl.cut_call(chain.pipeline, dim, dim.bounds().min + chain.choose([1, 2]), rc=True)
    chain.take("cut_call", p)
    return now(chain, parts.first), now(chain, parts.second)


def _share(chain: AnyChain) -> sl.Pipeline:
    """Two calls that compute the same, of which one keeps a window alone."""
    p = chain.pipeline
    own = own_buffers(p)
    found = [
        (c, r) for c in calls(p) if own.issuperset(c.outputs()) and not c.parent() for r in readers(p, c)
        if r.dims() and not r.parent()
    ]  # fmt: skip
    producer, reader = one_of(chain, found)
    if len(readers(p, producer)) == 1:
        _, reader = _cut(chain, reader)
    p, cloned = sl.clone_call(chain.pipeline, producer, reader, rc=True)
    chain.take("clone_call", p)
    p, made = sl.split_loop(p, one_of(chain, now(chain, reader).dims()), 1, rc=True)
    chain.take("split_loop of a dimension", p)
    chain.take("compute_at", sl.compute_at(p, cloned.call, made.outer))
    p = chain.take("slide_window", sl.slide_window(chain.pipeline, cloned.call, made.outer))
    alloc = now(chain, cloned.allocs[0])
    chain.take("fold_storage", sl.fold_storage(p, alloc, one_of(chain, range(alloc.rank()))))
    return sl.share_calls(chain.pipeline, cloned.call, producer)


def _extract(chain: AnyChain, shared: Shared) -> sl.Pipeline:
    place = chain.choose([shared.producer, shared.reader, shared.loop])
    return sl.extract_pipeline(chain.pipeline, place.as_block(), f"inner_{len(chain.applied)}")


FOLDS: dict[str, Situation] = {
    "fission_loop": at_fold(lambda chain, s: sl.fission_loop(chain.pipeline, s.producer.after())),
    "lift_call": at_fold(lambda chain, s: sl.lift_call(chain.pipeline, s.producer)),
    "unslide_window": at_fold(lambda chain, s: sl.unslide_window(chain.pipeline, s.producer, s.loop)),
    "share_calls": _share,
    "extract_pipeline": at_fold(_extract),
}
"""By the primitive that is refused."""


# Parallel loops -------------------------------------------------------------------------------------------------------


def parallel(chain: AnyChain) -> Shared:
    """A parallel loop of a producer and its reader; each iteration writes a part of its own."""
    shared = shared_loop(chain, slides=False)
    chain.take("parallelize_loop", sl.parallelize_loop(chain.pipeline, shared.loop, chain.choose([None, 2])))
    return Shared(now(chain, shared.loop), now(chain, shared.producer), now(chain, shared.reader))


def _compute_at_parallel(chain: AnyChain) -> sl.Pipeline:
    p = chain.pipeline
    producer, dim = one_of(chain, [(made, dim) for made, reader in pairs_outside(p) for dim in reader.dims()])
    p, made = sl.split_loop(p, dim, chain.choose([1, 2]), rc=True)
    chain.take("split_loop of a dimension", p)
    chain.take("parallelize_loop", sl.parallelize_loop(p, made.outer))
    return sl.compute_at(chain.pipeline, producer, made.outer)


def _unslide_in_parallel(chain: AnyChain) -> sl.Pipeline:
    """A window that slides in one loop, in a parallel loop along another dimension."""
    shared = shared_loop(chain, slides=True)
    p, made = sl.split_loop(chain.pipeline, one_of(chain, shared.reader.dims()), chain.choose([1, 2]), rc=True)
    chain.take("split_loop of a dimension", p)
    chain.take("compute_at", sl.compute_at(p, shared.producer, made.outer))
    chain.take("parallelize_loop", sl.parallelize_loop(chain.pipeline, made.outer))
    return sl.unslide_window(chain.pipeline, shared.producer, shared.loop)


RACES: dict[str, Situation] = {
    "compute_at": _compute_at_parallel,
    "unslide_window": _unslide_in_parallel,
}
"""By the primitive that is refused."""


# What is divided by ---------------------------------------------------------------------------------------------------


def extent_inside(chain: AnyChain, around: sl.LoopCursor) -> Any:
    """How many coordinates a loop goes over: 1 or more, where it runs."""
    extent = around.bounds().extent
    if constant_value(extent) == 0:
        raise NothingToDoError
    return extent


def _divided(chain: AnyChain, call: sl.CallCursor, by: Any) -> sl.CallCursor:
    """A call that ends at a place that is said by a quotient."""
    dim = one_of(chain, call.dims())
    i = dim.bounds()
    at = i.min + sl.maximum((i.max - i.min + chain.choose([1, 2, 5])) // by, 0)
    p, parts = sl.cut_call(chain.pipeline, dim, at, rc=True)
    chain.take("cut_call", p)
    return now(chain, chain.choose([parts.first, parts.second]))


def _lift_quotient(chain: AnyChain) -> sl.Pipeline:
    shared = shared_loop(chain, slides=False)
    call = _divided(chain, shared.producer, extent_inside(chain, shared.loop))
    return sl.lift_call(chain.pipeline, call)


def _lift_alloc_quotient(chain: AnyChain) -> sl.Pipeline:
    shared = shared_loop(chain, slides=False)
    chain.take("store_at", sl.store_at(chain.pipeline, shared.alloc(chain.pipeline), shared.loop))
    alloc = now(chain, shared.alloc(chain.pipeline))
    d = one_of(chain, range(alloc.rank()))
    i, by = alloc.bounds()[d], extent_inside(chain, now(chain, shared.loop))
    more = sl.maximum((i.max - i.min + chain.choose([1, 3, 7])) // by, 0)
    chain.take("resize_dim", sl.resize_dim(chain.pipeline, alloc, d, sl.interval(i.min, i.max + more)))
    return sl.lift_alloc(chain.pipeline, alloc)


def _store_quotient(chain: AnyChain) -> sl.Pipeline:
    """What is read further inside, where more is known."""
    shared = shared_loop(chain, slides=False)
    p, made = sl.split_loop(chain.pipeline, one_of(chain, shared.reader.dims()), chain.choose([1, 2]), rc=True)
    chain.take("split_loop of a dimension", p)
    _divided(chain, now(chain, shared.reader), extent_inside(chain, now(chain, made.outer)))
    return sl.store_at(chain.pipeline, shared.alloc(chain.pipeline), shared.loop)


def _compute_quotient(chain: AnyChain) -> sl.Pipeline:
    p = chain.pipeline
    producer, reader, dim = one_of(chain, [(*pair, dim) for pair in pairs_outside(p) for dim in pair[1].dims()])
    p, made = sl.split_loop(p, dim, chain.choose([2, 3]), rc=True)
    chain.take("split_loop of a dimension", p)
    p, inner = sl.split_loop(p, one_of(chain, now(chain, reader).dims()), chain.choose([1, 2]), rc=True)
    chain.take("split_loop of a dimension", p)
    _divided(chain, now(chain, reader), extent_inside(chain, now(chain, inner.outer)))
    return sl.compute_at(chain.pipeline, producer, made.outer)


def _reorder_step(chain: AnyChain) -> sl.Pipeline:
    """A step that is 1 or more where the loop around runs."""
    call = one_of(chain, [c for c in calls(chain.pipeline) if len(c.dims()) > 1 and not c.parent()])
    one, other = chain.choose([call.dims()[:2], call.dims()[1::-1]])
    d = other.position()
    p, made = sl.split_loop(chain.pipeline, one, 1, rc=True)
    chain.take("split_loop of a dimension", p)
    dim = next(each for each in now(chain, call).dims() if each.position() == d)
    by = extent_inside(chain, now(chain, made.outer))
    chain.take("split_loop of a dimension", sl.split_loop(p, dim, by))
    return sl.reorder_loops(chain.pipeline, made.outer)


def _lift_if_quotient(chain: AnyChain) -> sl.Pipeline:
    shared = shared_loop(chain, slides=False)
    by = extent_inside(chain, shared.loop)
    i = shared.loop.bounds()
    condition = (i.max + chain.choose([1, 5])) // by <= chain.choose([0, 1, 2])
    p, (if_,) = sl.specialize(chain.pipeline, shared.reader, condition, rc=True)
    chain.take("specialize", p)
    return sl.lift_if(p, if_)


DIVISORS: dict[str, Situation] = {
    "lift_call": _lift_quotient,
    "lift_alloc": _lift_alloc_quotient,
    "store_at": _store_quotient,
    "compute_at": _compute_quotient,
    "lift_if": _lift_if_quotient,
}
"""By the primitive that is refused."""

STEPS: dict[str, Situation] = {
    "reorder_loops": _reorder_step,
}
"""By the primitive that is refused."""


# Dimensions that are computed whole -----------------------------------------------------------------------------------


def _wholes(chain: AnyChain) -> list[tuple[sl.CallCursor, int]]:
    return [(c, d) for c in calls(chain.pipeline) for d, _ in c._call.func.whole]


def _resize_whole(chain: AnyChain) -> sl.Pipeline:
    call, d = one_of(chain, _wholes(chain))
    (port,) = call._call.func.outputs
    if call.outputs()[0] not in own_buffers(chain.pipeline):
        raise NothingToDoError
    alloc = chain.pipeline.find(f"alloc {call.outputs()[0]}")
    at = port.dims.index(d)
    i = alloc.bounds()[at]
    ends = [(i.min + 1, i.max), (i.min, i.max - 1), (i.min + 1, i.max - 1)]
    return sl.resize_dim(chain.pipeline, alloc, at, sl.interval(*chain.choose(ends)))


def _compute_whole(chain: AnyChain) -> sl.Pipeline:
    call, _ = one_of(chain, _wholes(chain))
    reader = one_of(chain, [r for r in readers(chain.pipeline, call) if r.dims() and not r.parent()])
    p, made = sl.split_loop(chain.pipeline, chain.choose(reader.dims()), chain.choose([1, 2]), rc=True)
    chain.take("split_loop of a dimension", p)
    return sl.compute_at(p, call, made.outer)


def _stage_whole(chain: AnyChain) -> sl.Pipeline:
    call, d = one_of(chain, _wholes(chain))
    (name, *_) = call.outputs()
    (port,) = call._call.func.outputs
    region = [*call.region(name)]
    at = port.dims.index(d)
    region[at] = sl.interval(region[at].min, region[at].max - chain.choose([1, 2]))
    return sl.stage_buffer(chain.pipeline, call.as_block(), name, region)


def _unslide_whole(chain: AnyChain) -> sl.Pipeline:
    """What is computed whole, again in each iteration of a loop that needs a part of it."""
    call, _ = one_of(chain, _wholes(chain))
    reader = one_of(chain, [r for r in readers(chain.pipeline, call) if r.dims() and not r.parent()])
    p, made = sl.split_loop(chain.pipeline, chain.choose(reader.dims()), chain.choose([1, 2]), rc=True)
    chain.take("split_loop of a dimension", p)
    edit = sl.edit(p)
    edit.move(call, now(chain, reader).before())
    finish(chain, edit)
    return sl.unslide_window(chain.pipeline, call, made.outer)


WHOLE: dict[str, Situation] = {
    "resize_dim": _resize_whole,
    "compute_at": _compute_whole,
    "stage_buffer": _stage_whole,
    "unslide_window": _unslide_whole,
}
"""By the primitive that is refused."""
