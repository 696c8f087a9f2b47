"""Situations in which a call would touch several blocks of a buffer that is stored by blocks (`random_situations`).

All that calls touch of such a buffer lies in one block each, mostly because they take it piece by piece, in loops. A
rewrite that makes the pieces larger, or lets blocks begin elsewhere, is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from random_chains import AnyChain, NothingToDoError
from random_places import calls, fusable, loops_around, now, one_of, own_buffers, readers, shared_loop, uses
from random_preparations import dims_along

import slinky as sl
from slinky.ir.operations import Copy

Situation = Callable[[AnyChain], sl.Pipeline]


@dataclass(frozen=True)
class Blocked:
    """An allocation that is stored by blocks of some length along a dimension, with the calls that use it."""

    alloc: sl.AllocCursor
    dim: int
    length: int
    users: list[sl.CallCursor]


def blocked(chain: AnyChain, names: list[str] | None = None, lengths: tuple[int, ...] = (1, 2, 3, 4)) -> Blocked:
    """An intermediate (of one of these names) by blocks, which the calls that use it take one by one."""
    p = chain.pipeline
    places = [
        (alloc, d)
        for alloc in p.find_all("alloc _")
        for d, n in enumerate(alloc.blocks())
        if n is None and (names is None or alloc.name() in names)
    ]
    alloc, d = one_of(chain, places)
    length = chain.choose(lengths)
    for call in uses(p, alloc.name()):
        for dim in dims_along(call, alloc.name(), d):
            chain.take("split_loop of a dimension", sl.split_loop(chain.pipeline, dim, length))
    chain.take("divide_dim", sl.divide_dim(chain.pipeline, alloc, d, length))
    found = now(chain, alloc)
    return Blocked(found, d, length, uses(chain.pipeline, found.name()))


def _user_in_a_loop(chain: AnyChain, place: Blocked) -> tuple[sl.CallCursor, sl.LoopCursor]:
    pairs = [(c, loop) for c in place.users for loop in loops_around(c)[:1]]
    return one_of(chain, pairs)


def at_a_loop(rewrite: Callable[[AnyChain, sl.CallCursor, sl.LoopCursor], sl.Pipeline]) -> Situation:
    """A rewrite of a loop over blocks, or of the call in it."""
    return lambda chain: rewrite(chain, *_user_in_a_loop(chain, blocked(chain)))


def _split(chain: AnyChain) -> sl.Pipeline:
    place = blocked(chain, lengths=(2, 3, 4))
    call, _ = _user_in_a_loop(chain, place)
    dims = dims_along(call, place.alloc.name(), place.dim)
    return sl.split_loop(chain.pipeline, one_of(chain, dims), chain.choose([2, 3]), tail=chain.choose(["shift", "cut"]))


def _cut(chain: AnyChain) -> sl.Pipeline:
    place = blocked(chain, lengths=(2, 3, 4))
    call, loop = _user_in_a_loop(chain, place)
    dims = dims_along(call, place.alloc.name(), place.dim)
    dim = one_of(chain, dims)
    at = loop.bounds().min + chain.choose([1, 2, 3, 5]) if chain.choose([True, False]) else dim.bounds().min + 1
    return sl.cut_call(chain.pipeline, dim, at)


def _fuse(chain: AnyChain) -> sl.Pipeline:
    """Loops over blocks, one behind the other, of which one starts elsewhere."""
    blocked(chain, lengths=(2, 3, 4))
    pairs = [(a, a.next()) for a in chain.pipeline.find_all("for _") if isinstance(a.next(), sl.LoopCursor)]
    first, second = one_of(chain, pairs)
    at = first._loop.variable - chain.choose([0, 1, 1, 2, 3, 4, 6])
    return sl.fuse_loops(chain.pipeline, first, second, at)


def _vectors(chain: AnyChain) -> sl.Pipeline:
    place = blocked(chain, lengths=(1, 1, 3))
    _, loop = _user_in_a_loop(chain, place)
    return sl.vectorize(chain.pipeline, loop, chain.choose([2, 4, 8]))


def _lift_alloc(chain: AnyChain) -> sl.Pipeline:
    """What is small in a loop is larger outside of it."""
    shared = shared_loop(chain, slides=False)
    chain.take("store_at", sl.store_at(chain.pipeline, shared.alloc(chain.pipeline), shared.loop))
    alloc = now(chain, shared.alloc(chain.pipeline))
    d = one_of(chain, range(alloc.rank()))
    chain.take("divide_dim", sl.divide_dim(chain.pipeline, alloc, d, chain.choose([3, 4, 5, 8])))
    return sl.lift_alloc(chain.pipeline, alloc)


def _resize(chain: AnyChain) -> sl.Pipeline:
    place = blocked(chain, lengths=(2, 3, 4))
    i = place.alloc.bounds()[place.dim]
    wider = sl.interval(i.min - chain.choose([1, 2, 3, 5]), i.max + chain.choose([0, 1]))
    return sl.resize_dim(chain.pipeline, place.alloc, place.dim, wider)


def _align(chain: AnyChain) -> sl.Pipeline:
    place = blocked(chain, lengths=(2, 3, 4))
    return sl.align_dim(chain.pipeline, place.alloc, place.dim, chain.choose([5, 7, 3, 2]))


def _two_places(chain: AnyChain) -> tuple[sl.CallCursor, sl.CallCursor, sl.DimCursor]:
    """A producer, and its one reader, which takes several single elements of what it makes."""
    p = chain.pipeline
    own = own_buffers(p)
    found = []
    for producer in calls(p):
        among = readers(p, producer)
        if len(among) != 1 or not own.issuperset(producer.outputs()) or among[0].parent() or producer.parent():
            continue
        (reader,) = among
        func = reader._call.func
        boxes = [q.box for b, q in zip(reader.inputs(), func.inputs, strict=True) if b in producer.outputs()]
        for dim in reader.dims():
            at = {box[d].min for box in boxes for d in range(len(box)) if box[d].min is box[d].max}
            if len(at) > 1:
                found.append((producer, reader, dim))
    return one_of(chain, found)


def _unslide(chain: AnyChain) -> sl.Pipeline:
    producer, _, dim = _two_places(chain)
    p, made = sl.split_loop(chain.pipeline, dim, 1, rc=True)
    chain.take("split_loop of a dimension", p)
    p, at = sl.compute_at(p, producer, made.outer, rc=True)
    chain.take("compute_at", p)
    p = chain.take("slide_window", sl.slide_window(p, at.call, made.outer))
    (name, *_) = producer.outputs()
    alloc = p.find(f"alloc {name}")
    d = one_of(chain, range(alloc.rank()))
    chain.take("divide_dim", sl.divide_dim(p, alloc, d, chain.choose([1, 1, 2])))
    return sl.unslide_window(chain.pipeline, at.call, made.outer)


def _clone(chain: AnyChain) -> sl.Pipeline:
    producer, reader, _ = _two_places(chain)
    d = one_of(chain, reader.dims())
    p, parts = sl.cut_call(chain.pipeline, d, d.bounds().min + chain.choose([1, 2]), rc=True)
    chain.take("cut_call", p)
    blocked(chain, [*producer.outputs()], (1, 1, 2))
    return sl.clone_call(chain.pipeline, producer, chain.choose([parts.first, parts.second]))


def _share(chain: AnyChain) -> sl.Pipeline:
    """A reader of a copy of its own reads again what is stored by blocks."""
    p = chain.pipeline
    own = own_buffers(p)
    pairs = [
        (producer, reader)
        for producer in calls(p)
        if own.issuperset(producer.outputs()) and len(readers(p, producer)) > 1
        for reader in readers(p, producer)
    ]
    if not pairs:
        reads = [c for c in calls(p) if c.dims() and own.intersection(c.inputs())]
        dim = chain.choose(one_of(chain, reads).dims())
        chain.take("cut_call", sl.cut_call(p, dim, dim.bounds().min + chain.choose([1, 2])))
        p = chain.pipeline
        among = [c for c in calls(p) if own.issuperset(c.outputs()) and len(readers(p, c)) > 1]
        pairs = [(producer, reader) for producer in among for reader in readers(p, producer)]
    producer, reader = one_of(chain, pairs)
    p, cloned = sl.clone_call(p, producer, reader, rc=True)
    chain.take("clone_call", p)
    blocked(chain, [*producer.outputs()], (1, 2, 3))
    return sl.share_calls(chain.pipeline, producer, cloned.call)


def _merge(chain: AnyChain) -> sl.Pipeline:
    first, second, name = one_of(chain, fusable(chain.pipeline))
    blocked(chain, sorted(own_buffers(chain.pipeline).intersection(first.inputs())), (1, 2, 3))
    return sl.fuse_calls(chain.pipeline, first, second, name)


def _stage(chain: AnyChain) -> sl.Pipeline:
    place = blocked(chain)
    _, loop = _user_in_a_loop(chain, place)
    return sl.stage_buffer(chain.pipeline, loop.as_block(), place.alloc.name())


def _extract(chain: AnyChain) -> sl.Pipeline:
    place = blocked(chain)
    _, loop = _user_in_a_loop(chain, place)
    return sl.extract_pipeline(chain.pipeline, loop.as_block(), f"inner_{len(chain.applied)}")


def _alias(chain: AnyChain) -> sl.Pipeline:
    """A copy that is made block by block, of which a reader reads more at once."""
    p = chain.pipeline
    own = own_buffers(p)
    reads = [(c, name) for c in calls(p) for name in c.inputs() if name in own]
    reader, name = one_of(chain, reads)
    p, staged = sl.stage_buffer(p, reader.as_block(), name, rc=True)
    chain.take("stage_buffer", p)
    if not isinstance(staged.load, sl.CallCursor):
        raise NothingToDoError
    blocked(chain, [name])
    return sl.alias_copy(chain.pipeline, staged.load)


def _boundary(chain: AnyChain) -> sl.Pipeline:
    own = own_buffers(chain.pipeline)
    copies = [c for c in calls(chain.pipeline) if isinstance(c._call.func.operation, Copy)]
    copy = one_of(chain, copies)
    blocked(chain, [*own.intersection((*copy.inputs(), *copy.outputs()))])
    return sl.split_boundary(chain.pipeline, copy)


def _of_known_sizes(chain: AnyChain) -> None:
    """Assume all sizes."""
    chain.take("assume_shape", sl.assume_shape(chain.pipeline, **chain.shapes))


def _in_one_block(chain: AnyChain, name: str) -> sl.AllocCursor:
    """A buffer of known sizes in one block."""
    alloc = chain.pipeline.find(f"alloc {name}")
    d = one_of(chain, range(alloc.rank()))
    chain.take("divide_dim", sl.divide_dim(chain.pipeline, alloc, d, chain.choose([16, 32])))
    return now(chain, alloc)


def _at_known_sizes(chain: AnyChain, rewrite: Callable[[Any, Any], sl.Pipeline]) -> sl.Pipeline:
    if not chain.shapes:
        raise NothingToDoError
    _of_known_sizes(chain)
    p = chain.pipeline
    own = own_buffers(p)
    pairs = [(c, r) for c in calls(p) if own.issuperset(c.outputs()) for r in readers(p, c) if r.dims()]
    producer, reader = one_of(chain, [(c, r) for c, r in pairs if not c.parent() and not r.parent()])
    _in_one_block(chain, producer.outputs()[0])
    return rewrite(producer, reader)


def _compute_at(chain: AnyChain) -> sl.Pipeline:
    def rewrite(producer: Any, reader: Any) -> sl.Pipeline:
        p, made = sl.split_loop(chain.pipeline, chain.choose(reader.dims()), chain.choose([1, 2]), rc=True)
        chain.take("split_loop of a dimension", p)
        return sl.compute_at(p, producer, made.outer)

    return _at_known_sizes(chain, rewrite)


def _slide(chain: AnyChain) -> sl.Pipeline:
    shared = shared_loop(chain, (1, 1, 2), slides=False)
    alloc = shared.alloc(chain.pipeline)
    d = one_of(chain, range(alloc.rank()))
    chain.take("divide_dim", sl.divide_dim(chain.pipeline, alloc, d, chain.choose([1, 1, 2])))
    warmup = chain.choose(["first", "first", "earlier"])
    return sl.slide_window(chain.pipeline, shared.producer, shared.loop, warmup=warmup)


def _store(chain: AnyChain) -> sl.Pipeline:
    shared = shared_loop(chain, (2, 3, 4), slides=False)
    alloc = shared.alloc(chain.pipeline)
    place = blocked(chain, [alloc.name()], (1, 2, 3, 4))
    return sl.store_at(chain.pipeline, place.alloc, shared.loop)


def _reduce(chain: AnyChain, split: Callable[[Any, str], sl.Pipeline]) -> sl.Pipeline:
    if not chain.shapes:
        raise NothingToDoError
    _of_known_sizes(chain)
    p = chain.pipeline
    own = own_buffers(p)
    found = [(c, name) for c in calls(p) if c._call.func.reduction is not None for name in c.inputs() if name in own]
    call, name = one_of(chain, found)
    _in_one_block(chain, name)
    return split(call, chain.choose([name for name, _ in call._call.func.reduction.over]))


BLOCKS: dict[str, Situation] = {
    "split_loop": _split,
    "cut_call": _cut,
    "cut_loop": at_a_loop(
        lambda chain, _, loop: sl.cut_loop(chain.pipeline, loop, loop.bounds().min + chain.choose([1, 2, 3, 5]))
    ),
    "fuse_loops": _fuse,
    "vectorize": _vectors,
    "absorb_loop": at_a_loop(lambda chain, _, loop: sl.absorb_loop(chain.pipeline, loop)),
    "lift_call": at_a_loop(lambda chain, call, _: sl.lift_call(chain.pipeline, call)),
    "compute_root": at_a_loop(lambda chain, call, _: sl.compute_root(chain.pipeline, call)),
    "unslide_window": _unslide,
    "clone_call": _clone,
    "share_calls": _share,
    "fuse_calls": _merge,
    "stage_buffer": _stage,
    "extract_pipeline": _extract,
    "alias_copy": _alias,
    "split_boundary": _boundary,
    "compute_at": _compute_at,
    "slide_window": _slide,
    "store_at": _store,
    "lift_alloc": _lift_alloc,
    "resize_dim": _resize,
    "align_dim": _align,
    "split_reduction": lambda chain: _reduce(
        chain, lambda call, dim: sl.split_reduction(chain.pipeline, call, dim, chain.choose([1, 2, 3]))
    ),
    "split_reduction_in_parts": lambda chain: _reduce(
        chain, lambda call, dim: sl.split_reduction_in_parts(chain.pipeline, call, dim, chain.choose([1, 2]), 2)
    ),
}
"""By the primitive that is refused."""
