"""Situations in which buffers that lie in one memory would not let each other be (see `random_situations`).

One is written over another one, in place or when nobody needs that any more. Then a rewrite would move a call past what
was written, make two of a call that works in place, or let one of the two lie otherwise than the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from random_chains import AnyChain, NothingToDoError
from random_places import calls, fusable, now, one_of, own_buffers, pairs_outside, readers, shared_loop, uses

import slinky as sl
from slinky.ir.operations import Copy
from slinky.ir.sharing import reads_where_it_writes

Situation = Callable[[AnyChain], sl.Pipeline]


@dataclass(frozen=True)
class InPlace:
    """A call that writes one buffer over another one."""

    call: sl.CallCursor
    guest: sl.AllocCursor
    host: sl.AllocCursor


def fitting(p: sl.Pipeline) -> list[tuple[sl.CallCursor, str]]:
    """Calls that may work in place, with what they may overwrite."""
    own = own_buffers(p)
    return [
        (c, b)
        for c in calls(p)
        if c._call.func.operation.in_place and len(c.outputs()) == 1 and c.outputs()[0] in own
        for b in dict.fromkeys(c.inputs())
        if b in own and reads_where_it_writes(c._call, b, c.outputs()[0])
    ]


def put_in_place(chain: AnyChain, call: sl.CallCursor, name: str) -> InPlace:
    """A call, so that it writes its output over a buffer."""
    p = chain.take("compute_in_place", sl.compute_in_place(chain.pipeline, call, name))
    here = now(chain, call)
    return InPlace(here, p.find(f"alloc {here.outputs()[0]}"), p.find(f"alloc {name}"))


def in_place(chain: AnyChain) -> InPlace:
    """Any call that can, in place."""
    return put_in_place(chain, *one_of(chain, fitting(chain.pipeline)))


def in_place_in_a_loop(chain: AnyChain) -> tuple[InPlace, sl.LoopCursor]:
    """The same, in a loop over pieces."""
    call, name = one_of(chain, [(c, b) for c, b in fitting(chain.pipeline) if c.dims()])
    p, made = sl.split_loop(chain.pipeline, chain.choose(call.dims()), chain.choose([1, 2, 3]), rc=True)
    chain.take("split_loop of a dimension", p)
    found = put_in_place(chain, call, name)
    return found, now(chain, made.outer)


def _last(p: sl.Pipeline, name: str) -> int:
    return max((n for n, c in enumerate(calls(p)) if name in (*c.inputs(), *c.outputs())), default=-1)


def _first(p: sl.Pipeline, name: str) -> int:
    return min((n for n, c in enumerate(calls(p)) if name in (*c.inputs(), *c.outputs())), default=-1)


def reused(chain: AnyChain, host: str | None = None, guest: str | None = None) -> tuple[sl.AllocCursor, sl.AllocCursor]:
    """A buffer in the memory of one that nobody uses any more when it is written: both."""
    p = chain.pipeline
    allocs = p.find_all("alloc _")
    pairs = [
        (a, b)
        for a in allocs
        for b in allocs
        if a != b and (guest is None or a.name() == guest) and (host is None or b.name() == host)
        if a.host() is None and b.host() is None and _last(p, b.name()) < _first(p, a.name())
    ]
    a, b = one_of(chain, pairs)
    chain.take("reuse_buffer", sl.reuse_buffer(p, a, b))
    return now(chain, a), now(chain, b)


# A call that works in place -------------------------------------------------------------------------------------------


def _split(chain: AnyChain) -> sl.Pipeline:
    call = in_place(chain).call
    return sl.split_loop(chain.pipeline, one_of(chain, call.dims()), chain.choose([2, 3]), tail="shift")


def _cut_loop(chain: AnyChain) -> sl.Pipeline:
    _, loop = in_place_in_a_loop(chain)
    return sl.cut_loop(chain.pipeline, loop, loop.bounds().min + chain.choose([1, 2, 4]))


def _cut_call(chain: AnyChain) -> sl.Pipeline:
    dim = one_of(chain, in_place(chain).call.dims())
    return sl.cut_call(chain.pipeline, dim, dim.bounds().min + chain.choose([1, 2, 3]))


def _unroll(chain: AnyChain) -> sl.Pipeline:
    if not chain.shapes:
        raise NothingToDoError
    chain.take("assume_shape", sl.assume_shape(chain.pipeline, **chain.shapes))
    _, loop = in_place_in_a_loop(chain)
    return sl.unroll_loop(chain.pipeline, loop)


def _unslide(chain: AnyChain) -> sl.Pipeline:
    """Windows that overlap, written in place, unless they slide."""
    pairs = []
    for call, name in fitting(chain.pipeline):
        among = readers(chain.pipeline, call)
        if len(among) == 1 and not among[0].parent() and not call.parent():
            pairs += [(call, name, among[0], d) for d in range(len(among[0].dims()))]
    call, name, reader, d = one_of(chain, pairs)
    p, made = sl.split_loop(chain.pipeline, reader.dims()[d], 1, rc=True)
    chain.take("split_loop of a dimension", p)
    chain.take("compute_at", sl.compute_at(p, call, made.outer))
    chain.take("slide_window", sl.slide_window(chain.pipeline, call, made.outer))
    put_in_place(chain, now(chain, call), name)
    return sl.unslide_window(chain.pipeline, call, made.outer)


def _slide(chain: AnyChain) -> sl.Pipeline:
    pairs = [
        (call, name, reader)
        for call, name in fitting(chain.pipeline)
        for reader in readers(chain.pipeline, call)
        if len(readers(chain.pipeline, call)) == 1 and reader.dims() and not reader.parent() and not call.parent()
    ]
    call, name, reader = one_of(chain, pairs)
    p, made = sl.split_loop(chain.pipeline, chain.choose(reader.dims()), chain.choose([1, 2]), rc=True)
    chain.take("split_loop of a dimension", p)
    chain.take("compute_at", sl.compute_at(p, call, made.outer))
    put_in_place(chain, now(chain, call), name)
    return sl.slide_window(chain.pipeline, call, made.outer, warmup=chain.choose(["first", "earlier"]))


def _sizes(chain: AnyChain) -> object:
    """A condition that sizes decide."""
    name, box = one_of(chain, sorted(chain.shapes.items()))
    d = one_of(chain, range(len(box)))
    (parameter,) = (p for p in chain.pipeline.program.outputs if p.name == name)
    dim = sl.BufferExpr(name, parameter.dtype, len(box)).dim(d)
    return dim.max - dim.min <= chain.choose([0, 2, 4, 7])


def _specialize(chain: AnyChain) -> sl.Pipeline:
    call = in_place(chain).call
    return sl.specialize(chain.pipeline, call, _sizes(chain))


def _lift_if(chain: AnyChain) -> sl.Pipeline:
    pairs = []
    for call, name in fitting(chain.pipeline):
        among = readers(chain.pipeline, call)
        if len(among) == 1 and not among[0].parent() and not call.parent():
            pairs += [(call, name, among[0])]
    call, name, reader = one_of(chain, pairs)
    p, made = sl.split_loop(chain.pipeline, one_of(chain, reader.dims()), chain.choose([1, 2]), rc=True)
    chain.take("split_loop of a dimension", p)
    p = chain.take("compute_at", sl.compute_at(p, call, made.outer))
    p, (if_,) = sl.specialize(p, reader, _sizes(chain), rc=True)
    chain.take("specialize", p)
    put_in_place(chain, now(chain, call), name)
    return sl.lift_if(chain.pipeline, if_)


def _clone(chain: AnyChain) -> sl.Pipeline:
    p = chain.pipeline
    pairs = [(c, b) for c, b in fitting(p) if readers(p, c)]
    call, name = one_of(chain, pairs)
    among = readers(p, call)
    if len(among) == 1:
        dim = one_of(chain, among[0].dims())
        chain.take("cut_call", sl.cut_call(p, dim, dim.bounds().min + chain.choose([1, 2])))
    call = put_in_place(chain, now(chain, call), name).call
    return sl.clone_call(chain.pipeline, call, one_of(chain, readers(chain.pipeline, call)))


def _variant(chain: AnyChain) -> sl.Pipeline:
    call = in_place(chain).call
    return sl.choose_variant(chain.pipeline, call, one_of(chain, call.variants()))


def _stage(chain: AnyChain) -> sl.Pipeline:
    found, _ = in_place_in_a_loop(chain)
    return sl.stage_buffer(chain.pipeline, found.call.as_block(), found.host.name())


def _resize(chain: AnyChain) -> sl.Pipeline:
    found = in_place(chain)
    alloc = chain.choose([found.guest, found.host])
    d = one_of(chain, range(alloc.rank()))
    i = alloc.bounds()[d]
    wider = sl.interval(i.min - chain.choose([0, 1, 2]), i.max + chain.choose([1, 3]))
    return sl.resize_dim(chain.pipeline, alloc, d, wider)


def _align(chain: AnyChain) -> sl.Pipeline:
    found = in_place(chain)
    alloc = chain.choose([found.guest, found.host])
    return sl.align_dim(chain.pipeline, alloc, one_of(chain, range(alloc.rank())), chain.choose([3, 4, 8]))


def _extract(chain: AnyChain) -> sl.Pipeline:
    guest = in_place(chain).guest if chain.choose([True, False]) else reused(chain)[0]
    more = 0
    while guest.next(more + 1) and more < 4:
        more += 1
    return sl.extract_pipeline(chain.pipeline, guest.expand(after=more), f"inner_{len(chain.applied)}")


def _inline(chain: AnyChain) -> sl.Pipeline:
    """What lies in one memory in a pipeline, in a loop in which it may have nothing to do."""
    found = in_place(chain)
    host = found.host
    more = 0
    while host.next(more + 1):
        more += 1
    p, made = sl.extract_pipeline(chain.pipeline, host.expand(after=more), f"inner_{len(chain.applied)}", rc=True)
    chain.take("extract_pipeline", p)
    if chain.choose([True, True, False]):
        p, _ = sl.split_loop(p, one_of(chain, made.call.dims()), chain.choose([1, 2]), rc=True)[0], None
        chain.take("split_loop of a dimension", p)
    return sl.inline_pipeline(chain.pipeline, made.call)


# A buffer in place of one that is not needed any more -----------------------------------------------------------------


def _fuse_loops(chain: AnyChain) -> sl.Pipeline:
    guest, host = reused(chain)
    p = chain.pipeline
    order = calls(p)
    last, first = order[_last(p, host.name())], order[_first(p, guest.name())]
    loops = []
    for call in (last, first):
        if call.parent():
            raise NothingToDoError
        p, made = sl.split_loop(chain.pipeline, one_of(chain, call.dims()), 1, rc=True)
        chain.take("split_loop of a dimension", p)
        loops.append(made.outer)
    one, other = (now(chain, loop) for loop in loops)
    return sl.fuse_loops(chain.pipeline, one, other, one._loop.variable - chain.choose([0, 0, 1, 2, 3]))


def _share(chain: AnyChain) -> sl.Pipeline:
    p = chain.pipeline
    own = own_buffers(p)
    producer = one_of(chain, [c for c in calls(p) if own.issuperset(c.outputs()) and len(readers(p, c)) > 1])
    reader = readers(p, producer)[-1]
    p, cloned = sl.clone_call(p, producer, reader, rc=True)
    chain.take("clone_call", p)
    reused(chain, host=chain.choose(producer.outputs()))
    return sl.share_calls(chain.pipeline, producer, cloned.call)


def _merge(chain: AnyChain) -> sl.Pipeline:
    first, second, name = one_of(chain, fusable(chain.pipeline))
    reused(chain, host=chain.choose(sorted(own_buffers(chain.pipeline).intersection(first.inputs()))))
    return sl.fuse_calls(chain.pipeline, first, second, name)


def _compute_at(chain: AnyChain) -> sl.Pipeline:
    """A call that would come behind what is written over what it reads."""
    p = chain.pipeline
    own = own_buffers(p)
    found = [(call, sorted(own.intersection(call.inputs())), reader) for call, reader in pairs_outside(p)]
    call, read, reader = one_of(chain, [each for each in found if each[1] and each[2].dims()])
    reused(chain, host=chain.choose(read))
    p, made = sl.split_loop(chain.pipeline, chain.choose(reader.dims()), chain.choose([1, 2]), rc=True)
    chain.take("split_loop of a dimension", p)
    return sl.compute_at(p, call, made.outer)


def _alias(chain: AnyChain) -> sl.Pipeline:
    """Who reads a copy writes over what it is a copy of."""
    p = chain.pipeline
    own = own_buffers(p)
    copies = [c for c in calls(p) if isinstance(c._call.func.operation, Copy) and c.inputs()]
    copies = [c for c in copies if own.issuperset(c.inputs())]
    if copies and chain.choose([True, False]):
        copy = chain.choose(copies)
        reused(chain, host=chain.choose(copy.inputs()))
        return sl.alias_copy(chain.pipeline, copy)
    reads = [(c, b) for c in calls(p) for b in c.inputs() if b in own and own.issuperset(c.outputs())]
    reader, name = one_of(chain, reads)
    p, staged = sl.stage_buffer(p, reader.as_block(), name, rc=True)
    chain.take("stage_buffer", p)
    if not isinstance(staged.load, sl.CallCursor):
        raise NothingToDoError
    reused(chain, host=name, guest=now(chain, reader).outputs()[0])
    return sl.alias_copy(chain.pipeline, staged.load)


def _store_at(chain: AnyChain) -> sl.Pipeline:
    shared = shared_loop(chain)
    host = shared.alloc(chain.pipeline)
    reused(chain, host=host.name())
    return sl.store_at(chain.pipeline, now(chain, host), shared.loop)


def _in_the_loop(chain: AnyChain) -> tuple[sl.AllocCursor, sl.LoopCursor]:
    """A buffer that is stored in a loop, in the memory of one outside of it."""
    shared = shared_loop(chain, slides=False)
    name = shared.alloc(chain.pipeline).name()
    chain.take("store_at", sl.store_at(chain.pipeline, shared.alloc(chain.pipeline), shared.loop))
    guest, _ = reused(chain, guest=name)
    return guest, now(chain, shared.loop)


def _parallel(chain: AnyChain) -> sl.Pipeline:
    _, loop = _in_the_loop(chain)
    return sl.parallelize_loop(chain.pipeline, loop)


def _stages(chain: AnyChain) -> sl.Pipeline:
    _, loop = _in_the_loop(chain)
    others = [
        c for c in calls(chain.pipeline) if not c.parent() and own_buffers(chain.pipeline).issuperset(c.outputs())
    ]
    inside = [c for c in calls(chain.pipeline) if loop.is_ancestor_of(c)]
    made = [c for c in others if any(set(c.outputs()) & set(i.inputs()) for i in inside)]
    chain.take("compute_at", sl.compute_at(chain.pipeline, one_of(chain, made), loop))
    return sl.pipeline_loop(chain.pipeline, loop)


def _fold(chain: AnyChain) -> sl.Pipeline:
    shared = shared_loop(chain, slides=True)
    name = shared.alloc(chain.pipeline).name()
    pair = reused(chain, guest=name) if chain.choose([True, False]) else reused(chain, host=name)
    alloc = next(each for each in pair if each.name() == name)
    return sl.fold_storage(chain.pipeline, alloc, one_of(chain, range(alloc.rank())))


def _lift_alloc(chain: AnyChain) -> sl.Pipeline:
    """One of two buffers in a loop, without the other."""
    pairs = []
    for call, name in fitting(chain.pipeline):
        among = readers(chain.pipeline, call)
        before = [c for c in calls(chain.pipeline) if name in c.outputs()]
        alone = len(before) == 1 and len(uses(chain.pipeline, name)) == 2
        if len(among) == 1 and alone and not any(c.parent() for c in (*among, *before, call)):
            pairs.append((call, name, among[0], before[0]))
    call, name, reader, before = one_of(chain, [each for each in pairs if each[2].dims()])
    p, made = sl.split_loop(chain.pipeline, chain.choose(reader.dims()), chain.choose([1, 2]), rc=True)
    chain.take("split_loop of a dimension", p)
    for each in (call, before):
        p = chain.take("compute_at", sl.compute_at(chain.pipeline, each, made.outer))
    for buffer in (call.outputs()[0], name):
        p = chain.take("store_at", sl.store_at(chain.pipeline, f"alloc {buffer}", made.outer))
    found = put_in_place(chain, now(chain, call), name)
    return sl.lift_alloc(chain.pipeline, found.guest)


def _divide(chain: AnyChain) -> sl.Pipeline:
    guest, host = reused(chain)
    alloc = chain.choose([guest, host])
    return sl.divide_dim(chain.pipeline, alloc, one_of(chain, range(alloc.rank())), chain.choose([16, 2, 64]))


def _pieces(chain: AnyChain) -> sl.Pipeline:
    guest, host = reused(chain)
    alloc = chain.choose([guest, host])
    return sl.unroll_buffer(chain.pipeline, alloc, one_of(chain, range(alloc.rank())))


def _swap(chain: AnyChain) -> sl.Pipeline:
    """The last use of the one and the first of the other, where nothing is between."""
    guest, _ = reused(chain)
    first = calls(chain.pipeline)[_first(chain.pipeline, guest.name())]
    for _ in range(6):  # allocations between the two go before both
        alloc = now(chain, first).prev()
        if not isinstance(alloc, sl.AllocCursor):
            break
        while isinstance(alloc.prev(), sl.AllocCursor):
            alloc = alloc.prev()
        chain.take("reorder_statements", sl.reorder_statements(chain.pipeline, alloc.expand(before=1)))
    first = now(chain, first)
    if not isinstance(first.prev(), sl.CallCursor) or first.parent():
        raise NothingToDoError
    return sl.reorder_statements(chain.pipeline, first.expand(before=1))


MEMORY: dict[str, Situation] = {
    "split_loop": _split,
    "cut_loop": _cut_loop,
    "cut_call": _cut_call,
    "unroll_loop": _unroll,
    "unslide_window": _unslide,
    "slide_window": _slide,
    "specialize": _specialize,
    "lift_if": _lift_if,
    "clone_call": _clone,
    "choose_variant": _variant,
    "stage_buffer": _stage,
    "resize_dim": _resize,
    "align_dim": _align,
    "extract_pipeline": _extract,
    "inline_pipeline": _inline,
    "fuse_loops": _fuse_loops,
    "share_calls": _share,
    "fuse_calls": _merge,
    "compute_at": _compute_at,
    "alias_copy": _alias,
    "store_at": _store_at,
    "parallelize_loop": _parallel,
    "pipeline_loop": _stages,
    "fold_storage": _fold,
    "lift_alloc": _lift_alloc,
    "divide_dim": _divide,
    "unroll_buffer": _pieces,
    "reorder_statements": _swap,
}
"""By the primitive that is refused."""
