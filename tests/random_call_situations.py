"""Situations of calls: which variants they run, what they share, how two become one, and how one is taken to pieces
(see `random_situations`).

Most take a call for another reader (`clone_call`), or a part of one (`cut_call`), and then let something be otherwise
there: another source, a copy in between, a buffer in the memory of another one, a layout.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from random_block_situations import blocked
from random_chains import AnyChain
from random_memory_situations import fitting, put_in_place, reused
from random_places import (
    Fusion,
    calls,
    declared_fusions,
    finish,
    now,
    one_of,
    own_buffers,
    pairs_outside,
    readers,
    uses,
)

import slinky as sl
from slinky.errors import SchedulingError
from slinky.ir.families import original
from slinky.ir.operations import Accumulation, Copy, Nested
from slinky.ir.statements import SERIAL, For
from slinky.symbolic.expressions import as_expr

Situation = Callable[[AnyChain], sl.Pipeline]


# Variants -------------------------------------------------------------------------------------------------------------

IN_OTHER_DTYPES, IN_AN_ORDER = ("short", "other"), ("turned", "columns", "rows")
"""What variants are called that take intermediates in another dtype, or in an order of their dimensions."""


def _variants(call: sl.CallCursor, names: Sequence[str]) -> list[str]:
    return [name for name in call.variants() if name in names]


def _of_others(chain: AnyChain, names: Sequence[str]) -> tuple[sl.CallCursor, str, str]:
    """A call that has a variant of one of these names, which takes an intermediate otherwise: that, and the name."""
    found = []
    own = own_buffers(chain.pipeline)
    for call in calls(chain.pipeline):
        for name in _variants(call, names):
            for buffer in sorted(own.intersection((*call.inputs(), *call.outputs()))):
                if names is IN_OTHER_DTYPES or chain.pipeline.find(f"alloc {buffer}").rank() > 1:
                    found.append((call, buffer, name))
    return one_of(chain, found)


def _in_another_dtype_for_a_copy(chain: AnyChain) -> sl.Pipeline:
    """What a copy reads, too."""
    call, buffer, name = _of_others(chain, IN_OTHER_DTYPES)
    users = uses(chain.pipeline, buffer)
    if not any(isinstance(c._call.func.operation, Copy) for c in users):
        user = chain.choose(users)
        chain.take("stage_buffer", sl.stage_buffer(chain.pipeline, user, buffer))
        others = [c for c in calls(chain.pipeline) if name in c.variants() and buffer in (*c.inputs(), *c.outputs())]
        return sl.choose_variant(chain.pipeline, one_of(chain, others), name)
    return sl.choose_variant(chain.pipeline, call, name)


def _in_another_dtype_with_strides(chain: AnyChain) -> sl.Pipeline:
    call, buffer, name = _of_others(chain, IN_OTHER_DTYPES)
    alloc = chain.pipeline.find(f"alloc {buffer}")
    order = [*range(alloc.rank())][:: chain.choose([1, -1])]
    chain.take("set_layout", sl.set_layout(chain.pipeline, alloc, order, alignment=chain.choose([16, 64])))
    return sl.choose_variant(chain.pipeline, call, name)


def _in_an_order_by_blocks(chain: AnyChain) -> sl.Pipeline:
    call, buffer, name = _of_others(chain, IN_AN_ORDER)
    blocked(chain, [buffer], (1, 1, 2, 3))
    return sl.choose_variant(chain.pipeline, call, name)


def _in_another_order(chain: AnyChain) -> sl.Pipeline:
    """Two calls, each of which wants a buffer in an order of its own."""
    p = chain.pipeline
    found = [
        (a, one, b, other) for name in sorted(own_buffers(p)) for a in uses(p, name) for b in uses(p, name) if a != b
        for one in _variants(a, IN_AN_ORDER) for other in _variants(b, IN_AN_ORDER) if one != other
    ]  # fmt: skip
    first, one, second, other = one_of(chain, [each for each in found if each[3] not in each[0].variants()] or found)
    p = chain.take("choose_variant", sl.choose_variant(p, first, one))
    return sl.choose_variant(p, second, other)


def _ordered(chain: AnyChain) -> tuple[sl.CallCursor, sl.AllocCursor]:
    """A call that takes an intermediate in an order of its dimensions, with that."""
    call, buffer, name = _of_others(chain, IN_AN_ORDER)
    p = chain.take("choose_variant", sl.choose_variant(chain.pipeline, call, name))
    return now(chain, call), p.find(f"alloc {buffer}")


def _laid_out_otherwise(chain: AnyChain) -> sl.Pipeline:
    _, alloc = _ordered(chain)
    ways = [[*range(alloc.rank())], [*range(alloc.rank())][::-1]]
    return sl.set_layout(chain.pipeline, alloc, chain.choose(ways), alignment=chain.choose([1, 1, 64]))


def _staged_in_order(chain: AnyChain) -> sl.Pipeline:
    call, alloc = _ordered(chain)
    return sl.stage_buffer(chain.pipeline, call, alloc.name())


def _state_that_others_use(chain: AnyChain) -> sl.Pipeline:
    """A copy of a state of a reduction that was taken to pieces."""
    found = [c for c in _reducing(chain.pipeline) if "again" in c.variants()]
    call = one_of(chain, found)
    over = [name for name, _ in call._call.func.reduction.over]
    p = sl.split_reduction(chain.pipeline, call, chain.choose(over), chain.choose([1, 2, 3]))
    p = chain.take("split_reduction", p)
    stages = [c for c in calls(p) if isinstance(c._call.func.operation, Accumulation)]
    states = {name for c in stages for name in c.outputs()}.intersection({name for c in stages for name in c.inputs()})
    stage = chain.choose([c for c in stages if states.intersection((*c.inputs(), *c.outputs()))])
    name = chain.choose(sorted(states.intersection((*stage.inputs(), *stage.outputs()))))
    chain.take("stage_buffer", sl.stage_buffer(p, stage, name))
    return sl.choose_variant(chain.pipeline, chain.choose([now(chain, each) for each in stages]), "again")


# Reductions -----------------------------------------------------------------------------------------------------------


def _reducing(p: sl.Pipeline) -> list[sl.CallCursor]:
    return [c for c in calls(p) if c._call.func.reduction is not None]


def _reduced_along(chain: AnyChain, parts: bool, factors: Sequence[Any], dims: Sequence[str] = ()) -> sl.Pipeline:
    """A call that reduces, taken to pieces of a length, along what it reduces or something else."""
    found = _reducing(chain.pipeline)
    if parts:
        found = [c for c in found if c._call.func.reduction.merge is not None]
    call = one_of(chain, found)
    over = [name for name, _ in call._call.func.reduction.over]
    dim, factor = chain.choose([*(dims or over)]), chain.choose([*factors])
    if not parts:
        return sl.split_reduction(chain.pipeline, call, dim, factor)
    sizes = [factor, chain.choose([1, 2])][:: chain.choose([1, -1])]
    return sl.split_reduction_in_parts(chain.pipeline, call, dim, *sizes)


# Calls that compute the same ------------------------------------------------------------------------------------------


def _clone(chain: AnyChain) -> tuple[sl.CallCursor, sl.CallCursor, sl.CallCursor]:
    """Two calls of one func, each for a reader of its own or for several: the first, the other, and who reads that."""
    p = chain.pipeline
    own = own_buffers(p)
    found = [
        (c, r) for c in calls(p) if own.issuperset(c.outputs()) and len(c.outputs()) == 1 for r in readers(p, c)
    ]  # fmt: skip
    producer, reader = one_of(chain, found)
    if len(readers(p, producer)) == 1:
        dim = one_of(chain, reader.dims())
        p, parts = sl.cut_call(p, dim, dim.bounds().min + chain.choose([1, 2]), rc=True)
        chain.take("cut_call", p)
        reader = chain.choose([parts.first, parts.second])
    p, cloned = sl.clone_call(chain.pipeline, now(chain, producer), now(chain, reader), rc=True)
    chain.take("clone_call", p)
    return now(chain, producer), now(chain, cloned.call), now(chain, reader)


def _reuse(chain: AnyChain, host: str, reader: sl.CallCursor) -> None:
    """A buffer in the memory of one, which nobody else may read than a call: what that makes of it, or a copy of what
    is read behind it."""
    if (reader._id, host) in [(c._id, b) for c, b in fitting(chain.pipeline)] and chain.choose([True, False]):
        put_in_place(chain, reader, host)
        return
    behind = calls(chain.pipeline)[-1]
    if behind._id == reader._id:  # what it makes is stored by a copy
        p, staged = sl.stage_buffer(chain.pipeline, reader, chain.choose(reader.outputs()), rc=True)
        chain.take("stage_buffer", p)
        behind = staged.store
    p, staged = sl.stage_buffer(chain.pipeline, now(chain, behind), one_of(chain, behind.inputs()), rc=True)
    chain.take("stage_buffer", p)
    reused(chain, host=host, guest=now(chain, staged.alloc).name())


def _share_by_blocks(chain: AnyChain) -> sl.Pipeline:
    producer, other, _ = _clone(chain)
    blocked(chain, [*other.outputs()], (1, 1, 2, 3))
    return sl.share_calls(chain.pipeline, producer, now(chain, other))


def _share_a_host(chain: AnyChain) -> sl.Pipeline:
    """Others lie in the memory of a buffer that would end."""
    producer, other, reader = _clone(chain)
    _reuse(chain, *other.outputs(), reader)
    return sl.share_calls(chain.pipeline, producer, now(chain, other))


def _cut(chain: AnyChain, call: sl.CallCursor) -> list[sl.CallCursor]:
    """A call in two parts, in any order."""
    dim = one_of(chain, call.dims())
    p, parts = sl.cut_call(chain.pipeline, dim, dim.bounds().min + chain.choose([1, 2]), rc=True)
    chain.take("cut_call", p)
    return [now(chain, parts.first), now(chain, parts.second)][:: chain.choose([1, -1])]


def _share_with_a_copy(chain: AnyChain) -> sl.Pipeline:
    """A part of what one of the two gives is stored by a copy."""
    producer, other, _ = _clone(chain)
    one, more = _cut(chain, chain.choose([producer, other]))
    chain.take("stage_buffer", sl.stage_buffer(chain.pipeline, more, more.outputs()[0]))
    pair = [one, other if one.outputs() == producer.outputs() else producer]
    return sl.share_calls(chain.pipeline, *(now(chain, each) for each in pair[:: chain.choose([1, -1])]))


def _share_what_is_stored(chain: AnyChain) -> sl.Pipeline:
    """Two parts of a call, of which one writes what a copy stores where the other one writes."""
    outputs = {x.name for x in chain.pipeline.program.outputs}
    call = one_of(chain, [c for c in calls(chain.pipeline) if outputs.issuperset(c.outputs()) and c.dims()])
    one, other = _cut(chain, call)
    chain.take("stage_buffer", sl.stage_buffer(chain.pipeline, other, chain.choose(other.outputs())))
    return sl.share_calls(chain.pipeline, now(chain, one), now(chain, other))


def _share_other_sources(chain: AnyChain) -> sl.Pipeline:
    """Two calls of a func in pipelines that were put in the place of theirs."""
    for call in calls(chain.pipeline):
        if isinstance(call._call.func.operation, Nested):
            with contextlib.suppress(SchedulingError):
                chain.take("inline_pipeline", sl.inline_pipeline(chain.pipeline, now(chain, call)))
    every = calls(chain.pipeline)
    pairs = [
        (a, b) for a in every for b in every
        if original(a._call.func) is original(b._call.func) and a != b and a.inputs() != b.inputs()
    ]  # fmt: skip
    return sl.share_calls(chain.pipeline, *one_of(chain, pairs))


# Two calls as one -----------------------------------------------------------------------------------------------------


def _fusion(chain: AnyChain) -> Fusion:
    return one_of(chain, declared_fusions(chain.pipeline))


def _fuse_a_host(chain: AnyChain) -> sl.Pipeline:
    """Others lie in the memory of what lies between the two."""
    first, second, name = _fusion(chain)
    _reuse(chain, first.outputs()[0], second)
    return sl.fuse_calls(chain.pipeline, now(chain, first), now(chain, second), name)


def _fuse_of_two_sources(chain: AnyChain) -> sl.Pipeline:
    """What lies between is made in two parts, each of a source of its own."""
    p = chain.pipeline
    own = own_buffers(p)
    found = [
        (source, *each) for each in declared_fusions(p) for source in calls(p)
        if set(source.outputs()) & set(each[0].inputs()) and own.issuperset(source.outputs()) and each[0].dims()
    ]  # fmt: skip
    source, first, second, name = one_of(chain, found)
    one, other = _cut(chain, first)
    chain.take("clone_call", sl.clone_call(chain.pipeline, now(chain, source), now(chain, other)))
    return sl.fuse_calls(chain.pipeline, now(chain, chain.choose([one, other])), now(chain, second), name)


def _fuse_with_a_clone(chain: AnyChain) -> sl.Pipeline:
    """A part of the second one, which reads what another call of the first one gives."""
    first, second, name = _fusion(chain)
    one, other = _cut(chain, second)
    chain.take("clone_call", sl.clone_call(chain.pipeline, now(chain, first), other))
    return sl.fuse_calls(chain.pipeline, now(chain, first), now(chain, chain.choose([other, other, one])), name)


def _cut_along_some(chain: AnyChain) -> sl.Pipeline:
    """Along a dimension that not all outputs have."""
    found = [
        dim for c in calls(chain.pipeline) for dim in c.dims()
        if any(dim.position() not in port.dims for port in c._call.func.outputs)
    ]  # fmt: skip
    dim = one_of(chain, found)
    return sl.cut_call(chain.pipeline, dim, dim.bounds().min + chain.choose([1, 2]))


# Calls in loops -------------------------------------------------------------------------------------------------------


def in_a_still_loop(chain: AnyChain, *, stores: bool) -> tuple[sl.CallCursor, sl.LoopCursor]:
    """A producer and its readers in a loop of a few iterations, all of which do the same; perhaps with the buffer."""
    p = chain.pipeline
    found = []
    for producer in calls(p):
        names = producer.outputs()
        if len(names) != 1 or names[0] not in own_buffers(p) or not readers(p, producer):
            continue
        alloc, last = p.find(f"alloc {names[0]}"), uses(p, names[0])[-1]
        start = alloc if stores else producer
        more = next((n for n in range(1, 12) if start.next(n) == last), None)
        if more is not None:
            found.append((producer, start.expand(after=more)))
    producer, block = one_of(chain, found)
    first, step, count = chain.choose([-1, 0, 2]), chain.choose([1, 3]), chain.choose([1, 2, 2, 3])
    edit = sl.edit(p)
    v = edit.variable("again", producer)
    ends = sl.interval(as_expr(first), as_expr(first + (count - 1) * step))
    outer = edit.wrap(block, lambda inside: For(v, ends, as_expr(step), SERIAL, inside))
    finish(chain, edit)
    return now(chain, producer), next(loop for loop in chain.pipeline.find_all("for _") if loop._id == outer.id)


def _once_inside(chain: AnyChain) -> sl.Pipeline:
    call, loop = in_a_still_loop(chain, stores=True)
    return sl.compute_once(chain.pipeline, call, loop)


def _once_again(chain: AnyChain) -> sl.Pipeline:
    """In the first iteration, and once more."""
    call, loop = in_a_still_loop(chain, stores=False)
    p, once = sl.compute_once(chain.pipeline, call, loop, rc=True)
    chain.take("compute_once", p)
    return sl.compute_once(p, once.call, once.loop)


def _behind(chain: AnyChain, *, reads: bool) -> sl.Pipeline:
    """A call that writes an output of the pipeline, in a loop of a later one, which reads that or not."""
    p = chain.pipeline
    outputs = {x.name for x in p.program.outputs}
    every = [c for c in calls(p) if not c.parent()]
    pairs = [
        (c, later, dim) for n, c in enumerate(every) if outputs.intersection(c.outputs())
        for later in every[n + 1 :] for dim in later.dims()
        if [*readers(p, c)] == ([later] if reads else [])
    ]  # fmt: skip
    call, _, dim = one_of(chain, pairs)
    p, made = sl.split_loop(p, dim, chain.choose([1, 1, 2, 3]), rc=True)
    chain.take("split_loop of a dimension", p)
    return sl.compute_at(p, call, made.outer)


def _longer_for_an_output(chain: AnyChain) -> sl.Pipeline:
    """A call that writes an output, in the loop of its reader, after another one that must not run before or behind."""
    p = chain.pipeline
    outputs = {x.name for x in p.program.outputs}
    found = [
        (given, other, reader, dim)
        for other, reader in pairs_outside(p) for given in calls(p) for dim in reader.dims()
        if outputs.issuperset(given.outputs()) and [*readers(p, given)] == [reader] and not given.parent()
    ]  # fmt: skip
    given, other, _, dim = one_of(chain, found)
    p, made = sl.split_loop(p, dim, chain.choose([1, 1, 2]), rc=True)
    chain.take("split_loop of a dimension", p)
    chain.take("compute_at", sl.compute_at(p, other, made.outer))
    return sl.compute_at(chain.pipeline, given, made.outer)


CALLS: dict[tuple[str, str], Situation] = {
    ("choose_variant", "another dtype for a copy"): _in_another_dtype_for_a_copy,
    ("choose_variant", "strides in bytes"): _in_another_dtype_with_strides,
    ("choose_variant", "an order of what is folded or in blocks"): _in_an_order_by_blocks,
    ("choose_variant", "an order for others"): _in_another_order,
    ("choose_variant", "a state that others use"): _state_that_others_use,
    ("set_layout", "an order that a call takes"): _laid_out_otherwise,
    ("stage_buffer", "an order that a call takes"): _staged_in_order,
    ("split_reduction", "a factor that is not positive"): lambda chain: _reduced_along(chain, False, (0, -1, -3)),
    ("split_reduction", "another dimension"): lambda chain: _reduced_along(chain, False, (1, 2), ("another", "x1")),
    ("split_reduction_in_parts", "a factor that is not positive"): lambda chain: _reduced_along(chain, True, (0, -2)),
    ("split_reduction_in_parts", "another dimension"): lambda chain: _reduced_along(chain, True, (1, 2), ("another",)),
    ("split_reduction_in_parts", "a dimension without a state"): lambda chain: _reduced_along(chain, True, (1, 2, 3)),
    ("share_calls", "stored by blocks"): _share_by_blocks,
    ("share_calls", "others in its memory"): _share_a_host,
    ("share_calls", "several writers"): _share_with_a_copy,
    ("share_calls", "a copy between the two"): _share_what_is_stored,
    ("share_calls", "other sources"): _share_other_sources,
    ("fuse_calls", "others in its memory"): _fuse_a_host,
    ("fuse_calls", "sources not seen to be the same"): _fuse_of_two_sources,
    ("fuse_calls", "not read"): _fuse_with_a_clone,
    ("cut_call", "not all outputs have it"): _cut_along_some,
    ("compute_at", "not read in the loop"): lambda chain: _behind(chain, reads=False),
    ("compute_at", "an output: the loop would run longer"): _longer_for_an_output,
    ("compute_at", "an output: unclear which iterations"): lambda chain: _behind(chain, reads=True),
    ("compute_once", "a buffer inside"): _once_inside,
    ("compute_once", "computed once already"): _once_again,
}
"""By the primitive that is refused, and why."""
