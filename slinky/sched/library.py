"""Schedules that many pipelines want, as a user would write them: nothing here but public names of slinky.

Each is an operation made of primitives. Its places are cursors or patterns; `sl.sched_op` has made cursors of them, as
the first lines of each say to type checkers. What it computes in a loop is found by asking the program. A producer for
which a step is refused stays where it was, so a schedule for a whole tree of producers takes in as many as can be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import slinky as sl
from slinky.ir import cited, with_range
from slinky.symbolic import Rate, fastest, is_integer, prove, rate, symbols, variable


@sl.sched_op("loops", "call")
def tile(p: sl.Pipeline, call: sl.CallCursor | str, sizes: Mapping[str, Any]) -> Any:
    """Run a call piece by piece: a loop for each dimension that is named, in this order from the outside.

    `sizes` says how long a piece is along each dimension: `{"y": 32, "x": 256}`.

    Cursors:
        loops: the loops, outermost first.
        call: the call.
    """
    assert isinstance(call, sl.CallCursor)
    if not _is_mapping(sizes) or not sizes:
        raise sl.OperationError(f"sizes says how long a tile is by dimension, such as {{'y': 32}}, got {cited(sizes)}")
    names = [call.dim(dim).name() for dim in sizes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise sl.OperationError(f"sizes says twice how long a tile is along {twice}, got {cited(sizes)}")
    loops: list[sl.Cursor] = []
    for dim, size in sizes.items():
        p, split = sl.split_loop(p, p.forward(call).dim(dim), size, rc=True)
        loops.append(split.outer)
    return p, (tuple(loops), call)


def _is_mapping(given: object) -> bool:
    return isinstance(given, Mapping)


@sl.sched_op("loop")
def align_loop(p: sl.Pipeline, loop: sl.LoopCursor | str, multiple: int) -> Any:
    """Let a loop over pieces of an output begin at a multiple of a number: where its first piece begins, or before.

    Then the pieces of any two runs begin at the same places, whatever box they compute. What lies before the bounds of
    the output is not computed, so the first piece may be smaller.

    Cursors:
        loop: the loop.
    """
    assert isinstance(loop, sl.LoopCursor)
    if not is_integer(multiple) or multiple < 1:
        raise sl.OperationError(f"multiple must be an integer, 1 or more, got {cited(multiple)}")
    edit = sl.edit(p)
    old = edit.statement(loop)
    start = old.range.min // multiple * multiple
    edit.replace(loop, with_range(old, sl.interval(start, old.range.max)))
    return edit.finish("align_loop"), (loop,)


@sl.sched_op("allocs", "loop", "calls")
def line_buffer(p: sl.Pipeline, consumer: sl.CallCursor | str, dim: str, rows: sl.Expr | int = 1) -> Any:
    """Compute a whole tree of producers in one loop over strips of their consumer, and keep no more than is needed.

    The loop goes over `rows` rows of the consumer at a time. Each producer is computed in it, only what is new, and its
    buffers are folded wherever that saves memory. A producer for which that is refused stays where it is.

    Cursors:
        allocs: the allocations of what is computed in the loop.
        loop: the loop.
        calls: the calls in it.
    """
    assert isinstance(consumer, sl.CallCursor)
    p, split = sl.split_loop(p, consumer.dim(dim), rows, rc=True)
    p = _take_in(p, split.outer, _slid(split.outer))
    return _result(_folded(p, split.outer), split.outer)


@sl.sched_op("allocs", "loop", "calls")
def fuse_chain(p: sl.Pipeline, loop: sl.LoopCursor | str) -> Any:
    """Compute a whole tree of producers in each iteration of the loop that reads it, in buffers of its own.

    Neighbouring iterations compute what both need, so that none waits for another: `parallelize_loop` may follow. A
    producer for which that is refused stays where it is.

    Cursors:
        allocs: the allocations, in the loop.
        loop: the loop.
        calls: the calls in it.
    """
    assert isinstance(loop, sl.LoopCursor)
    return _result(_take_in(p, loop, _stored(loop)), loop)


@sl.sched_op("loops", "allocs", "calls")
def parallel_tiles(
    p: sl.Pipeline, consumer: sl.CallCursor | str, sizes: Mapping[str, Any], rows: sl.Expr | int = 1
) -> Any:
    """Tiles of the consumer that run at the same time, each with line buffers of its own for all its producers.

    Inside a tile, a loop goes over `rows` rows of the first dimension of `sizes`; producers are computed in it, slide,
    and are folded. Tiles share nothing: what both of two neighbours need, both compute.

    Cursors:
        loops: the loops over tiles, outermost first, and the loop over rows.
        allocs: the allocations, one set for each tile.
        calls: the calls in the loop over rows.
    """
    assert isinstance(consumer, sl.CallCursor)
    p, tiled = tile(p, consumer, sizes, rc=True)
    p, split = sl.split_loop(p, p.forward(consumer).dim(next(iter(sizes))), rows, rc=True)
    own = sl.seq(_stored(tiled.loops[-1]), _slid(split.outer))
    p = _take_in(p, split.outer, own)
    p = _folded(p, split.outer)
    p = sl.parallelize_loop(p, tiled.loops[0])
    p, (allocs, _, calls) = _result(p, split.outer)
    return p, ((*tiled.loops, split.outer), allocs, calls)


@sl.sched_op("allocs", "loop", "calls")
def fuse_outputs(
    p: sl.Pipeline, first: sl.CallCursor | str, second: sl.CallCursor | str, dim: str, rows: sl.Expr | int = 1
) -> Any:
    """Two calls in one loop over strips of both, and all their producers with them, slid and folded.

    What both read is computed once for both, and no more of it is kept than the two need at a time. `first` stands
    before `second`.

    Cursors:
        allocs: the allocations of what is computed in the loop.
        loop: the loop.
        calls: the calls in it.
    """
    assert isinstance(first, sl.CallCursor)
    assert isinstance(second, sl.CallCursor)
    if first == second:
        raise sl.OperationError(f"expected two calls, got {first.name()} twice")
    p, one = sl.split_loop(p, first.dim(dim), rows, rc=True)
    p, other = sl.split_loop(p, p.forward(second).dim(dim), rows, rc=True)
    p = reorder_before(p, one.outer, other.outer)
    p, fused = sl.fuse_loops(p, one.outer, other.outer, rc=True)
    p = _take_in(p, fused.loop, _slid(fused.loop))
    return _result(_folded(p, fused.loop), fused.loop)


@sl.sched_op("allocs", "loop", "calls")
def resize_pieces(p: sl.Pipeline, loop: sl.LoopCursor | str, step: sl.Expr | int) -> Any:
    """Let each iteration of a loop compute longer pieces, or shorter ones: as if the loop had been split by `step`.

    All that is computed in the loop is taken out of it, and back into the new one: buffers that each iteration has for
    itself are again stored in it, other calls compute only what is new, and what was folded is folded as it now must
    be. The loop holds calls alone, the last of which is computed for somebody else; it stays parallel if it is.

    Cursors:
        allocs: the allocations of what is computed in the loop.
        loop: the loop.
        calls: the calls in it.
    """
    assert isinstance(loop, sl.LoopCursor)
    *producers, last = _calls_alone(loop)
    allocs = _allocs(p, [*producers, last])
    own = [alloc for alloc in allocs if loop.is_ancestor_of(alloc)]
    writers = {alloc: sl.producers(p, alloc) for alloc in own}
    folded = [(alloc, d) for alloc in allocs for d, fold in enumerate(alloc.storage()) if fold is not None]
    if loop.workers() is not None:
        p = sl.serialize_loop(p, loop)
    for alloc, d in folded:
        p = sl.unfold_storage(p, alloc, d)
    for alloc in own:
        p = sl.lift_alloc(p, alloc)
    for call in producers:
        p = sl.lift_call(p, call)
    p = sl.absorb_loop(p, loop)
    p, split = sl.split_loop(p, p.forward(last).dim(_moving_dim(last, loop)), step, rc=True)
    for alloc in own:
        if last in writers[alloc]:
            p = sl.store_at(p, alloc, split.outer)
    for call in reversed(producers):
        p = sl.compute_at(p, call, split.outer)
        inside = [alloc for alloc in own if call in writers[alloc]]
        for alloc in inside:
            p = sl.store_at(p, alloc, split.outer)
        if not inside:
            p = sl.attempt(lambda p, call=call: sl.slide_window(p, call, split.outer))(p)
    for alloc, d in folded:
        p = sl.fold_storage(p, alloc, d)
    workers = loop.workers()
    if workers is not None:
        p = sl.parallelize_loop(p, split.outer, workers or None)
    return _result(p, split.outer)


def _calls_alone(loop: sl.LoopCursor) -> tuple[sl.CallCursor, ...]:
    """The calls of a loop. Raises `SchedulingError` if it holds anything else but allocations."""
    for statement in loop.body():
        if not isinstance(statement, (sl.CallCursor, sl.AllocCursor)):
            raise sl.SchedulingError(f"loop {loop.name()} holds more than calls: {statement.describe()}", place=loop)
    return tuple(loop.find_all("_ = _"))


def _moving_dim(call: sl.CallCursor, loop: sl.LoopCursor) -> str:
    """The dimension of a call along which a loop moves it."""
    for dim in call.dims():
        if variable(loop.name()) in symbols(dim.bounds().min):
            return dim.name()
    raise sl.SchedulingError(f"{call.name()} is the same in all iterations of loop {loop.name()}", place=call)


@sl.sched_op("loop", "calls")
def batch(p: sl.Pipeline, loop: sl.LoopCursor | str, count: sl.Expr | int) -> Any:
    """Compute several iterations of a loop in one call of each func: so many items at a time.

    The loop goes in steps of `count` items; the calls in its body come one after the other, each over all items of a
    step. Buffers that the body allocates hold as many items. A call for which that is refused goes item by item.

    Cursors:
        loop: the loop over steps.
        calls: the calls in it.
    """
    assert isinstance(loop, sl.LoopCursor)
    p, split = sl.split_loop(p, loop, count, rc=True)
    inner: Any = split.inner
    for alloc in p.forward(inner).find_all("alloc _"):
        p = sl.attempt(sl.seq(lambda p, alloc: sl.lift_alloc(p, alloc)))(p, alloc)
    while (gap := _gap(p, inner)) is not None:
        new = sl.attempt(sl.seq(lambda p, gap: sl.fission_loop(p, gap)))(p, gap)
        if new is p:
            break
        p = new
    for each in p.forward(split.outer).find_all("for _"):
        if is_there(p, each):
            p = sl.attempt(sl.seq(lambda p, each: sl.absorb_loop(p, each)))(p, each)
    return p, (split.outer, tuple(p.forward(split.outer).find_all("_ = _")))


def _gap(p: sl.Pipeline, loop: sl.LoopCursor) -> Any:
    """The place before the last statement in the body of a loop; None if that is the only one."""
    body = p.forward(loop).body()
    return body[-1].before() if len(body) > 1 else None


def is_there(p: sl.Pipeline, place: sl.Cursor) -> bool:
    """Whether what a cursor of an earlier version points at is in a pipeline."""
    try:
        p.forward(place)
    except sl.InvalidCursorError:
        return False
    return True


@sl.sched_op("allocs", "loop", "call")
def double_buffer(
    p: sl.Pipeline,
    source: sl.CallCursor | str,
    consumer: sl.CallCursor | str,
    dim: str,
    rows: sl.Expr | int = 1,
    distance: int = 1,
) -> Any:
    """Read a slow source ahead of use: line buffers for a whole tree of producers, of which one runs on another thread.

    As `line_buffer`; then `source`, a producer in the tree that reads nothing of it (a read from a file, say), is
    `distance` iterations ahead of the rest, and its buffer holds as many strips more.

    Cursors:
        allocs: the allocations of what is computed in the loop.
        loop: the loop.
        call: the call of the source.
    """
    assert isinstance(source, sl.CallCursor)
    assert isinstance(consumer, sl.CallCursor)
    p, lines = line_buffer(p, consumer, dim, rows, rc=True)
    if not p.forward(lines.loop).is_ancestor_of(p.forward(source)):
        raise sl.SchedulingError(f"{source.name()} is not computed in the loop over {dim}", place=source)
    p = sl.prefetch(p, source, lines.loop, distance)
    return p, (tuple(_allocs(p, p.forward(lines.loop).find_all("_ = _"))), lines.loop, source)


@sl.sched_op("allocs", "loops", "calls")
def strips(p: sl.Pipeline, rows: sl.Expr | int, workers: int = 1) -> Any:
    """All of a pipeline in one loop over strips of `rows` rows of its last calls: those that write its outputs.

    The last calls share a loop where they go at the same rates through what is computed for both, and that is not
    refused; else each has its own. All their producers are computed in it, only what is new, and folded; one that
    cannot slide is computed in each strip as far as that needs it, and one that cannot be computed there stays where it
    was. Several workers get a task each, which share nothing: at the edges of tasks, both of two neighbours compute
    what both need. For these, `rows` is a number, not an expression.

    Cursors:
        allocs: the allocations of what is computed in the loops.
        loops: the loops over strips.
        calls: the calls in them.
    """
    if not is_integer(workers) or workers < 1:
        raise sl.OperationError(f"workers must be an integer of at least 1, got {cited(workers)}")
    workers = int(workers)
    if prove(rows <= 0) if isinstance(rows, sl.Expr) else rows < 1:
        raise sl.OperationError(f"rows must be at least 1, got {rows}")
    if workers > 1 and isinstance(rows, sl.Expr) and symbols(rows):
        raise sl.SchedulingError(
            f"rows must be a number for several workers, got {rows}: tasks of so many strips are not shown to be apart",
            hint=f"give a number, as in sl.strips(p, 8, {workers}), or one worker",
        )
    lasts = [call for call in p.find_all("_ = _") if _is_last(p, call) and not sl.enclosing_loops(p, call)]
    motions = [_motions(p, call) if len(lasts) > 1 else {} for call in lasts]
    shared: list[_Shared] = []
    for call, moved in zip(lasts, motions, strict=True):
        p = _in_strips(p, call, moved, rows, shared)
    loops = [loop for loop, _ in shared]
    for k, loop in enumerate(loops):
        step = _slid(loop)
        if workers > 1:
            p, tasks, loops[k] = _in_tasks(p, loop, workers)
            step = sl.seq(_stored(tasks), _slid(loops[k]))
        p = _folded(_take_in(p, loops[k], sl.or_else(step, _stored(loops[k]))), loops[k])
        if workers > 1:
            p = sl.parallelize_loop(p, tasks, workers)
    calls = [call for loop in loops for call in p.forward(loop).find_all("_ = _")]
    return p, (tuple(_allocs(p, calls)), tuple(loops), tuple(calls))


@sl.sched_op("first", "second")
def peel_warmup(p: sl.Pipeline, call: sl.CallCursor | str, dim: str) -> Any:
    """Cut the loop around a call where the call begins: before that, only its producers do anything.

    `dim` is the dimension of the call that the loop goes over.

    Cursors:
        first: the loop up to where the call begins.
        second: the loop from there on.
    """
    assert isinstance(call, sl.CallCursor)
    around = sl.enclosing_loops(p, call)
    if not around:
        raise sl.SchedulingError(f"no loop stands around the call of {call.name()}", place=call)
    loop, buffer = around[-1], call.outputs()[0]
    written = [a for a in sl.region(p, loop, buffer) if a.call == call and a.kind == "write"]
    ahead = call.dim(dim).bounds().min - variable(loop.name())
    dims = _dims_of(p, call, buffer)
    if dim not in dims:
        raise sl.OperationError(f"dimension {dim!r} of {call.name()} is none of {buffer}, which has {', '.join(dims)}")
    begins = written[0].box[dims.index(dim)].min - ahead
    p, cut = sl.cut_loop(p, loop, begins, rc=True)
    return p, (cut.first, cut.second)


@sl.sched_op("statement")
def reorder_before(p: sl.Pipeline, statement: sl.StatementCursor | str, other: sl.StatementCursor | str) -> Any:
    """Move a statement right before another one of its block, past all that stand between.

    Cursors:
        statement: the statement, in its new place.
    """
    assert isinstance(statement, sl.StatementCursor)
    assert isinstance(other, sl.StatementCursor)
    if _stands_before(statement, other):
        while (neighbour := _next(p, statement)) != p.forward(other):
            p = sl.reorder_statements(p, (statement, neighbour))
    else:
        while (neighbour := _next(p, statement, -1)) != p.forward(other):
            p = sl.reorder_statements(p, (neighbour, statement))
        p = sl.reorder_statements(p, (other, statement))
    return p, (statement,)


@sl.sched_op("statement")
def reorder_after(p: sl.Pipeline, statement: sl.StatementCursor | str, other: sl.StatementCursor | str) -> Any:
    """Move a statement right behind another one of its block, past all that stand between.

    Cursors:
        statement: the statement, in its new place.
    """
    assert isinstance(statement, sl.StatementCursor)
    assert isinstance(other, sl.StatementCursor)
    if _stands_before(statement, other):
        while (neighbour := _next(p, statement)) != p.forward(other):
            p = sl.reorder_statements(p, (statement, neighbour))
        p = sl.reorder_statements(p, (statement, other))
    else:
        while (neighbour := _next(p, statement, -1)) != p.forward(other):
            p = sl.reorder_statements(p, (neighbour, statement))
    return p, (statement,)


def _next(p: sl.Pipeline, statement: sl.StatementCursor, distance: int = 1) -> Any:
    """The statement that many places further on."""
    return p.forward(statement).next(distance)


def _stands_before(statement: sl.StatementCursor, other: sl.StatementCursor) -> bool:
    """Whether a statement stands before another one. Raises `SchedulingError` unless both stand in one block."""
    for later, found in ((statement, True), (other, False)):
        step: Any = later
        while step := step.next():
            if step == (other if found else statement):
                return found
    raise sl.SchedulingError(f"{statement.describe()!r} and {other.describe()!r} are not two of one block", place=other)


# ----------------------------------------------------------------------------------------------------------------
# Trees of producers
# ----------------------------------------------------------------------------------------------------------------


def _is_last(p: sl.Pipeline, call: sl.CallCursor) -> bool:
    """Whether a call writes an output of the pipeline, or what nobody reads."""
    call = p.forward(call)
    return len(_allocs(p, [call])) < len(call.outputs()) or not sl.consumers(p, call)


_Motions: TypeAlias = dict[sl.CallCursor, set[tuple[Rate, ...]]]
"""Calls, each with how fast it moves along its dimensions: in several ways, if several are computed of it."""

_Shared: TypeAlias = tuple[sl.LoopCursor, list[_Motions]]
"""A loop over strips, with what moves with each of the last calls in it."""


def _motions(p: sl.Pipeline, last: sl.CallCursor) -> _Motions:
    """What moves with the strips of a call along its first dimension: itself, and what is computed for it."""
    edit = sl.edit(p)
    found: _Motions = {last: {tuple(1 if d == 0 else 0 for d in range(len(last.dims())))}}
    for call in reversed(p.find_all("_ = _")):
        if call not in found:
            continue
        statement = edit.statement(call)
        makers = [(maker, edit.statement(maker)) for maker in sl.producers(p, call)]
        for motion in found[call]:
            moving: dict[sl.Expr, Rate] = dict(zip(statement.func.dims, motion, strict=True))
            moving.update((statement.func.dims[d], 0) for d, _ in statement.func.whole)
            for buffer, port in zip(statement.reads, statement.func.inputs, strict=True):
                rates = [fastest([rate(i.min, moving), rate(i.max, moving)]) for i in port.box]
                if all(each == 0 for each in rates):
                    continue
                for maker, made in makers:
                    if buffer in made.writes:
                        dims = made.func.outputs[made.writes.index(buffer)].dims
                        along = dict(zip(dims, rates, strict=True))
                        every = tuple(along.get(d, 0) for d in range(len(made.func.dims)))
                        found.setdefault(maker, set()).add(every)
    return found


def _go_together(one: _Motions, other: _Motions) -> bool:
    """Whether all that moves with both of two calls moves with them in the same ways."""
    return all(one[call] == other[call] for call in one.keys() & other.keys())


def _in_strips(
    p: sl.Pipeline, call: sl.CallCursor, moved: _Motions, rows: sl.Expr | int, shared: list[_Shared]
) -> sl.Pipeline:
    """A call in a loop over strips of its first dimension: in the last of some loops that hold nothing but calls with
    which it goes together, or in one that is added to them.

    It stays as it was where it has no dimensions, or cannot be taken by strips.
    """
    try:
        p, split = sl.split_loop(p, p.forward(call).dims()[0], rows, rc=True)
    except (*sl.REFUSALS, IndexError):
        return p
    fitting = [k for k, (_, others) in enumerate(shared) if all(_go_together(moved, other) for other in others)]
    try:
        loop, others = shared[fitting[-1]]
        together = reorder_before(p, loop, split.outer)
        p, fused = sl.fuse_loops(together, loop, split.outer, rc=True)
        shared[fitting[-1]] = fused.loop, [*others, moved]
    except (*sl.REFUSALS, IndexError):
        shared.append((split.outer, [moved]))
    return p


def _in_tasks(p: sl.Pipeline, loop: sl.LoopCursor, workers: int) -> tuple[sl.Pipeline, sl.LoopCursor, sl.LoopCursor]:
    """A loop over strips as one over as many tasks, and one over the strips of a task."""
    loop = p.forward(loop)
    bounds, rows = loop.bounds(), loop.step()
    strips = (bounds.max - bounds.min) // rows + 1
    p, split = sl.split_loop(p, loop, sl.maximum((strips + workers - 1) // workers, 1), rc=True)
    assert isinstance(split.inner, sl.LoopCursor)
    return p, split.outer, split.inner


def _slid(loop: sl.LoopCursor) -> sl.Schedule:
    """Compute a call in a loop, only what is new."""
    return sl.seq(lambda p, call: sl.compute_at(p, call, loop), lambda p, call: sl.slide_window(p, call, loop))


def _stored(loop: sl.LoopCursor) -> sl.Schedule:
    """Compute a call in a loop, in buffers that each iteration has for itself."""

    def store(p: sl.Pipeline, call: sl.CallCursor) -> sl.Pipeline:
        for alloc in _allocs(p, [call]):
            p = sl.store_at(p, alloc, loop)
        return p

    return sl.seq(lambda p, call: sl.compute_at(p, call, loop), store)


def _take_in(p: sl.Pipeline, loop: sl.LoopCursor, step: sl.Schedule) -> sl.Pipeline:
    """Apply a step to each producer that is needed in a loop alone, those that it reads from after it.

    What calls in the loop write that is needed nowhere else, or by nobody, is stored in it first.
    """
    p = with_own_results(p, loop)
    refused: list[sl.CallCursor] = []
    while found := _producer(p, loop, [p.forward(call) for call in refused]):
        new = sl.attempt(step)(p, found)
        if new is p:
            refused.append(found)
        p = new
    return p


def with_own_results(p: sl.Pipeline, loop: sl.LoopCursor) -> sl.Pipeline:
    """Give each iteration of a loop buffers of its own for what calls in it write, if nobody outside of it reads that.

    They stay where they were where that is refused.
    """
    for alloc in _allocs(p, p.forward(loop).find_all("_ = _")):
        here = p.forward(loop)
        inside = [*sl.producers(p, p.forward(alloc)), *sl.consumers(p, p.forward(alloc))]
        if not here.is_ancestor_of(p.forward(alloc)) and all(map(here.is_ancestor_of, inside)):
            p = sl.attempt(sl.seq(lambda p, alloc: sl.store_at(p, alloc, loop)))(p, alloc)
    return p


def _producer(p: sl.Pipeline, loop: sl.LoopCursor, but: list[sl.CallCursor]) -> sl.CallCursor | None:
    """A call outside of a loop whose results are read in the loop, and nowhere else."""
    loop = p.forward(loop)
    for call in loop.find_all("_ = _"):
        for producer in sl.producers(p, call):
            if not loop.is_ancestor_of(producer) and producer not in but:
                if all(loop.is_ancestor_of(reader) for reader in sl.consumers(p, producer)):
                    return producer
    return None


def _folded(p: sl.Pipeline, loop: sl.LoopCursor) -> sl.Pipeline:
    """Fold the buffers of the calls in a loop, wherever that saves memory."""
    for alloc in _allocs(p, p.forward(loop).find_all("_ = _")):
        for position in range(alloc.rank()):
            fold = sl.seq(lambda p, alloc, at=position: sl.fold_storage(p, alloc, at))
            p = sl.attempt(fold)(p, alloc)
    return p


def _result(p: sl.Pipeline, loop: sl.LoopCursor) -> Any:
    """The pipeline, with cursors to the buffers of the calls in a loop, to the loop, and to the calls."""
    calls = p.forward(loop).find_all("_ = _")
    return p, (tuple(_allocs(p, calls)), loop, tuple(calls))


def _allocs(p: sl.Pipeline, calls: Any) -> list[sl.AllocCursor]:
    """The allocations of what calls write, in program order."""
    names = {name for call in calls for name in call.outputs()}
    return [a for a in p.find_all("alloc _") if a.name() in names and any(c in calls for c in sl.producers(p, a))]


def _dims_of(p: sl.Pipeline, call: sl.CallCursor, buffer: str) -> tuple[str, ...]:
    """The names of the dimensions of a buffer that a call writes."""
    allocs = _allocs(p, [call])
    own = next((alloc for alloc in allocs if alloc.name() == buffer), None)
    return own.dims() if own else next(arg for arg in p.args() if arg.name() == buffer).dims()
