"""Steps that prepare the way for the primitives of random schedules, which have something to do only where others have
been: a loop over what a producer does not move with, a condition that a loop does not change."""

from __future__ import annotations

from typing import Any

from random_chains import AnyChain, NothingToDoError, Primitive

import slinky as sl
from slinky.symbolic.expressions import constant_value
from slinky.symbolic.intervals import box_symbols
from slinky.symbolic.traversal import symbols


def statements_around(statement: Any) -> list[Any]:
    """The loops and ifs around a statement."""
    parent = statement.parent()
    return [parent, *statements_around(parent)] if parent else []


def split_in_a_loop(chain: AnyChain) -> sl.Pipeline:
    """A dimension of a call that stands in a loop, or that of any call."""
    dims = chain.pipeline.find_all("_._")
    inside = [dim for dim in dims if isinstance(dim.call().parent(), sl.LoopCursor)]
    if not dims:
        raise NothingToDoError
    return sl.split_loop(chain.pipeline, chain.choose(inside or dims), chain.choose([1, 2]))


def split_reader(chain: AnyChain) -> sl.Pipeline:
    """A dimension of a call that reads what another one makes."""
    p = chain.pipeline
    made = {name for a in p.find_all("alloc _") for name in (a.name(),)}
    dims = [dim for dim in p.find_all("_._") if made.intersection(dim.call().inputs())]
    if not dims:
        raise NothingToDoError
    return sl.split_loop(p, chain.choose(dims), chain.choose([1, 1, 2, 3]))


def split_evenly(chain: AnyChain) -> sl.Pipeline:
    """A loop, so that one inside has as many iterations each time."""
    return sl.split_loop(chain.pipeline, chain.pick("for _"), chain.choose([2, 3]), tail="cut")


def split_by_one(chain: AnyChain) -> sl.Pipeline:
    """A loop, so that one inside has one iteration."""
    return sl.split_loop(chain.pipeline, chain.pick("for _"), 1, tail="cut")


def compute_where_nothing_moves(chain: AnyChain) -> sl.Pipeline:
    """A producer in a loop over a dimension of its reader along which what that reads of it is the same."""
    p = chain.pipeline
    calls, own = p.find_all("_ = _"), {a.name() for a in p.find_all("alloc _")}
    found = []
    for reader in calls:
        func = reader._call.func
        for producer in calls:
            (written, *more) = producer.outputs()
            boxes = [
                port.box for name, port in zip(reader.inputs(), func.inputs, strict=True) if name in producer.outputs()
            ]
            if boxes and not more and written in own:
                moving = box_symbols([i for box in boxes for i in box])
                found += [(producer, reader, d) for d, dim in enumerate(func.dims) if dim not in moving]
    if not found:
        raise NothingToDoError
    producer, reader, d = chain.choose(found)
    p, loop = sl.split_loop(p, reader.dims()[d], chain.choose([1, 2]), rc=True)
    chain.take("split_loop of a dimension", p)
    return sl.compute_at(p, producer, loop.outer)


def stage_all_in_a_loop(chain: AnyChain) -> sl.Pipeline:
    """All of a buffer for a call in serial loops, in a copy that lives outside of them."""
    p = chain.pipeline
    found = []
    for call in p.find_all("_ = _"):
        around, box_of = statements_around(call), p._version.box_at(call._id)
        if around and all(isinstance(loop, sl.LoopCursor) and loop.workers() is None for loop in around):
            variables = {loop._loop.variable for loop in around}
            boxes = [(name, box_of(name)) for name in call.inputs()]
            found += [(call, name, box) for name, box in boxes if variables.isdisjoint(box_symbols(box))]
    if not found:
        raise NothingToDoError
    call, name, box = chain.choose(found)
    p, staged = sl.stage_buffer(p, call, name, box, rc=True)
    chain.take("stage_buffer", p)
    return sl.lift_alloc(p, staged.alloc, len(statements_around(staged.alloc)))


def specialize_in_a_loop(chain: AnyChain) -> sl.Pipeline:
    """A statement of a loop's body, under a condition that the loop does not change: how far the loop goes, say."""
    p = chain.pipeline
    loops = [loop for loop in p.find_all("for _") if len(loop.body()) <= 4]
    if not loops:
        raise NothingToDoError
    loop = chain.choose(loops)
    inside = [s for s in loop.body() if isinstance(s, (sl.CallCursor, sl.LoopCursor))]
    if not inside:
        raise NothingToDoError
    i = loop.bounds()
    scalars = [sl.scalar(parameter.name) <= 0 for parameter in p.program.scalars]
    condition = chain.choose([i.max <= i.min + 3, i.min <= 0, i.max <= 4, *scalars])
    return sl.specialize(p, chain.choose(inside).as_block(), condition)


def cut_where_nothing_is(chain: AnyChain) -> sl.Pipeline:
    """A call behind its end: of the two parts, one does nothing."""
    dim = chain.pick("_._")
    i = dim.bounds()
    return sl.cut_call(chain.pipeline, dim, chain.choose([i.min, i.max + 1]))


def dims_along(call: sl.CallCursor, buffer: str, d: int) -> list[sl.DimCursor]:
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


def in_blocks(chain: AnyChain) -> sl.Pipeline:
    """An intermediate stored by blocks, which the calls that use it compute and read one by one."""
    places = [(a, d) for a in chain.pipeline.find_all("alloc _") for d, n in enumerate(a.blocks()) if n is None]
    if not places:
        raise NothingToDoError
    alloc, d = chain.choose(places)
    factor = chain.choose([1, 2, 3, 4])
    for call in chain.pipeline.find_all("_ = _"):
        for dim in dims_along(call, alloc.name(), d):
            chain.take("split_loop of a dimension", sl.split_loop(chain.pipeline, dim, factor))
    return sl.divide_dim(chain.pipeline, alloc, d, factor)


def in_memory(chain: AnyChain) -> sl.Pipeline:
    """An intermediate whose dimensions lie in memory in another order."""
    alloc = chain.pick("alloc _")
    return sl.set_layout(chain.pipeline, alloc, [*range(alloc.rank())][::-1], alignment=chain.choose([1, 64]))


def of_few_elements(chain: AnyChain) -> sl.Pipeline:
    """A producer in a loop over single elements of a reader that takes some of what it makes one by one: there are so
    many of these at a time."""
    p = chain.pipeline
    own = {a.name() for a in p.find_all("alloc _") if p.find_all(f"{a.name()} = _")}  # what is empty nobody may write
    found = []
    for reader in p.find_all("_ = _"):
        func, statement = reader._call.func, reader._call
        for name in sorted(own.intersection(reader.inputs())):
            boxes = [q.box for b, q in zip(statement.reads, func.inputs, strict=True) if b == name]
            for d in range(len(boxes[0])):
                places = {box[d].min for box in boxes if box[d].min is box[d].max}
                moving = {s for place in places for s in symbols(place)} & set(func.dims)
                if len(places) > 1 and len(moving) == 1:
                    found += [(reader, name, dim) for dim in reader.dims() if func.dims[dim.position()] in moving]
    if not found:
        raise NothingToDoError
    reader, name, dim = chain.choose(found)
    p, made = sl.split_loop(p, dim, 1, rc=True)
    chain.take("split_loop of a dimension", p)
    p = chain.take("compute_at", sl.compute_at(p, chain.choose(p.find_all(f"{name} = _")), made.outer))
    return sl.store_at(p, f"alloc {name}", made.outer)


PREPARING: dict[Primitive, str] = {
    split_reader: "split_loop of a dimension",
    split_in_a_loop: "split_loop of a dimension",
    split_evenly: "split_loop of a loop",
    split_by_one: "split_loop of a loop",
    compute_where_nothing_moves: "compute_at",
    stage_all_in_a_loop: "lift_alloc",
    specialize_in_a_loop: "specialize",
    cut_where_nothing_is: "cut_call",
    in_blocks: "divide_dim",
    in_memory: "set_layout",
    of_few_elements: "store_at",
}
"""What prepares the way for others alone, as which of the primitives it counts."""

WEIGHTS_WHERE_PREPARED = {
    "split_loop of a dimension": 2,
    "compute_at": 5,
    "slide_window": 5,
    "prefetch": 26,
    "alias_copy": 5,
    "fuse_loops": 22,
    "remove_loop": 9,
    "absorb_loop": 3,
    "compute_once": 38,
    "unslide_window": 50,
    "lift_if": 17,
    "split_reduction": 240,
    "choose_variant": 2,
    "serialize_loop": 8,
    "share_calls": 48,
    "remove_call": 26,
    "fuse_calls": 150,
    "compute_in_place": 5000,
    "reorder_statements": 2,
    "unfold_storage": 3,
    "compute_root": 3,
    "pipeline_loop": 4,
    "split_boundary": 6,
    "inline_pipeline": 7,
    "merge_dims": 32,
    "unroll_buffer": 1000,
    "fission_loop": 10,
    "split_reduction_in_parts": 680,
    "vectorize": 30,
    "lift_call": 3,
    "set_layout": 1,
    "resize_dim": 12,
    "reorder_loops": 34,
    "simplify": 11,
    "assume_shape": 2,
    "reuse_buffer": 9,
}
"""How often some are drawn, instead, where others prepare the way for them: these need not be drawn for that."""
