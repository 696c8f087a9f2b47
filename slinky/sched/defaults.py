"""Where producers stand by default, given the loops of those who read them: a schedule without a machine.

Each call outside of all loops is looked at once, consumers first. It is computed at the innermost loop where all its
consumers are, if what an iteration needs of it moves with that loop and with all around it, so that nothing is computed
again because a loop has nothing to do with it. Loop by loop outwards, its window slides where windows overlap. Where a
step is refused, the next loop further out is tried; a call for which none will do stays where it was.

Then each buffer is stored as far out as its windows need: outside of the outermost loop in which one slides, and folded
along what moves with it; in the loop itself, as a plain array, where no window overlaps the one before. Storage comes
last, for a buffer that is stored in full lets all that is computed in a loop be said without clamps.

In a parallel loop nothing slides: what two of its iterations need, both compute, in buffers of their own. That is
legal once the buffers lie inside, so the loop is serial until then. So it is with the outer one of two loops over one
dimension: it makes tiles, and windows slide inside of them.

Invariant: nothing here but public names of slinky; each step is legal by itself, and is left out where it is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import attrs

import slinky as sl
from slinky.symbolic import Interval, facts, prove, substitute, symbols, variable


@sl.sched_op("allocs", "calls")
def default_schedule(p: sl.Pipeline, *, stay: Sequence[sl.CallCursor | str] = ()) -> Any:
    """Compute each producer in the innermost loop where all its consumers are, slide and fold it.

    Takes a pipeline in which some calls have loops, as `split_loop` and its like make them, and places the calls that
    stand outside of all loops. One that cannot be placed stays where it is, so nothing is refused. Buffers are folded
    where windows overlap, and are plain arrays in the loop where they do not. In parallel loops nothing slides: each
    iteration computes all that it needs, in buffers of its own.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.blur(), "blur.x", 8)
        >>> print(default_schedule(p))
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          alloc scaled: float32[out.x.min - 1 .. out.x.max + 1 fold 10]
          for x in out.x.min - 8 .. out.x.max step 8:
            scaled[x + 1 .. x + 8] = scale(inp[x + 1 .. x + 8])
            out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])

    Parameters:
        stay: calls that are left where they are.

    Cursors:
        allocs: the allocations of what was placed, but for outputs of the pipeline, which have none.
        calls: the calls that were placed, in program order.
    """
    calls = [call for call in p.find_all("_ = _") if not sl.enclosing_loops(p, call)]
    kept = set(stay)
    moving = [call for call in calls if call not in kept]
    parallel = [loop for loop in p.find_all("for _") if loop.workers() is not None and loop.depth() is None]
    try:
        return _scheduled(p, moving, parallel)
    except sl.REFUSALS:
        return _scheduled(p, moving, ())  # what may stand in a parallel loop as it is, at least


def _scheduled(p: sl.Pipeline, calls: Sequence[sl.CallCursor], parallel: Sequence[sl.LoopCursor]) -> Any:
    """Place calls, while some loops are serial. Raises `SchedulingError` if one cannot be parallel again."""
    new = p
    for loop in parallel:
        new = sl.serialize_loop(new, loop)
    placed: list[Placed] = []
    for call in reversed(calls):
        new, found = placed_by_default(new, call, parallel)
        if found is not None:
            placed.append(found)
    if not placed:
        return p, ((), ())
    for each in reversed(placed):
        new = stored_by_default(new, each)
    for loop in parallel:
        everybody = str(loop.workers()) == "0"
        new = sl.parallelize_loop(new, loop, *(() if everybody else (loop.workers(),)))
    calls = [new.forward(each.call) for each in reversed(placed)]
    return new, (tuple(new.forward(a) for each in reversed(placed) for a in each.allocs), tuple(calls))


# ----------------------------------------------------------------------------------------------------------------
# Where a call stands
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class Placed:
    """A call in loops, and the outermost of these in which its window slides, if there is one."""

    call: sl.CallCursor
    allocs: tuple[sl.AllocCursor, ...]
    loops: tuple[sl.LoopCursor, ...]
    """Those around it that were not around it before, outermost first."""

    slides: sl.LoopCursor | None


def placed_by_default(
    p: sl.Pipeline, call: sl.CallCursor, apart: Collection[sl.LoopCursor] = ()
) -> tuple[sl.Pipeline, Placed | None]:
    """Compute a call at the innermost loop where that is worth it, and slide it; the pipeline as it was if nowhere.

    From a loop that is `apart` on outwards nothing slides: its iterations shall have nothing to do with each other.
    """
    for loop in candidates(p, call):
        try:
            return placed_at(p, call, loop, apart)
        except sl.REFUSALS:
            continue
    return p, None


def candidates(p: sl.Pipeline, call: sl.CallCursor) -> Iterator[sl.LoopCursor]:
    """The loops that all consumers of a call stand in, and the call does not: innermost first."""
    call = p.forward(call)
    consumers = sl.consumers(p, call)
    common = sl.common_loop(p, *consumers) if consumers else None
    if common:
        own = len(sl.enclosing_loops(p, call))
        yield from reversed((*sl.enclosing_loops(p, common), common)[own:])  # type: ignore[misc]


def placed_at(
    p: sl.Pipeline, call: sl.CallCursor, loop: sl.LoopCursor, apart: Collection[sl.LoopCursor] = ()
) -> tuple[sl.Pipeline, Placed]:
    """Compute a call at a loop, and slide it along each loop on the way where windows overlap.

    From a loop that is `apart` on outwards nothing slides, nor from the second of two over one dimension: they make
    tiles, in which windows slide. Raises `SchedulingError` where more would be computed again than what two such tiles
    share: what is needed does not move with a loop, or overlaps from one iteration to the next and is not shown to
    slide.
    """
    new, at, around = _computed_at(p, call, loop)
    slides: sl.LoopCursor | None = None
    tiled, slid_dims = False, set[int]()
    for each in reversed(around):
        dim = _moving_dim(new.forward(call), each)
        tiled = tiled or dim in slid_dims or _is_one_of(new, each, apart)
        if not tiled and not _are_apart(new.forward(call).bounds(dim), each):
            slid = _slid(new, call, each)
            if slid.forward(call).bounds() != new.forward(call).bounds():
                new, slides = slid, each
                slid_dims.add(dim)
    return new, Placed(at.call, tuple(at.allocs), around, slides)


def placed_as_asked(
    p: sl.Pipeline, call: sl.CallCursor, loop: sl.LoopCursor, apart: Collection[sl.LoopCursor] = ()
) -> tuple[sl.Pipeline, Placed]:
    """Compute a call at a loop, and slide it where `placed_at` does: for somebody who wants it there in any case.

    Raises `SchedulingError` if it cannot be computed there.
    """
    try:
        return placed_at(p, call, loop, apart)
    except sl.SchedulingError:
        new, at, around = _computed_at(p, call, loop)
    slides: sl.LoopCursor | None = None
    for each in reversed(around):
        if _is_one_of(new, each, apart):
            break
        slid = sl.attempt(lambda p, call, loop=each: _slid(p, call, loop))(new, call)
        if slid.forward(call).bounds() != new.forward(call).bounds():
            new, slides = slid, each
    return new, Placed(at.call, tuple(at.allocs), around, slides)


def _slid(p: sl.Pipeline, call: sl.CallCursor, loop: sl.LoopCursor) -> sl.Pipeline:
    """Slide a call along a loop that starts earlier for it, or, where it must not, does more in its first iteration."""
    y = variable(loop.name())
    nests = [sl.enclosing_loops(p, reader) for reader in sl.consumers(p, p.forward(call))]
    if any(_moves(inner.bounds(), y) for nest in nests for inner in nest):
        return sl.slide_window(p, call, loop, warmup="first")  # what ranges there are before the loop, nobody knows
    return sl.slide_window(p, call, loop)


def _computed_at(p: sl.Pipeline, call: sl.CallCursor, loop: sl.LoopCursor) -> Any:
    """The pipeline with a call in a loop, the cursors to that, and the loops that are now around the call."""
    own = len(sl.enclosing_loops(p, call))
    new, at = sl.compute_at(p, call, loop, rc=True)
    return new, at, sl.enclosing_loops(new, at.call)[own:]


def _is_one_of(p: sl.Pipeline, loop: sl.LoopCursor, loops: Collection[sl.LoopCursor]) -> bool:
    """Whether a loop is one of several, of whatever versions."""
    return any(p.same(loop, other) for other in loops)


def _moving_dim(call: sl.CallCursor, loop: sl.LoopCursor) -> int:
    """The dimension of a call that moves with a loop; of several, the first."""
    y = variable(loop.name())
    for dim, interval in enumerate(call.bounds()):
        if _moves(interval, y):
            return dim
    raise sl.SchedulingError(f"what {call.name()} computes is the same in each iteration of loop {y}", place=call)


def _moves(interval: Interval, y: sl.Expr) -> bool:
    return y in symbols(interval.min) or y in symbols(interval.max)


def _are_apart(window: Interval, loop: sl.LoopCursor) -> bool:
    """Whether no two iterations have anything in common: all of a window lies on one side of the next one."""
    y = variable(loop.name())
    lo, hi = (substitute(end, {y: y + loop.step()}) for end in (window.min, window.max))
    nothing = facts(loop.step() >= 1)
    return prove(window.max < lo, nothing) or prove(hi < window.min, nothing)


# ----------------------------------------------------------------------------------------------------------------
# Where its buffers are
# ----------------------------------------------------------------------------------------------------------------


def stored_by_default(p: sl.Pipeline, placed: Placed) -> sl.Pipeline:
    """Store the buffers of a call as far out as its windows need, folded along what moves with the outermost of them.

    They stay in full where that is refused.
    """
    for alloc in placed.allocs:
        p = stored_in_loops(p, placed, alloc)
    return p


def stored_in_loops(p: sl.Pipeline, placed: Placed, alloc: sl.AllocCursor) -> sl.Pipeline:
    """Store a buffer of a call as far out as its windows need, folded along what moves with the outermost of them."""
    loops = placed.loops if placed.slides is None else outside(placed.loops, placed.slides)
    if loops:
        p = sl.attempt(lambda p, alloc: sl.store_at(p, alloc, loops[-1]))(p, alloc)
    return p if placed.slides is None else folded_along(p, alloc, placed.call, placed.slides)


def outside(loops: Sequence[sl.LoopCursor], loop: sl.LoopCursor) -> Sequence[sl.LoopCursor]:
    """Those loops of a nest that are around one of it."""
    return loops[: [each.name() for each in loops].index(loop.name())]


def folded_along(p: sl.Pipeline, alloc: sl.AllocCursor, call: sl.CallCursor, loop: sl.LoopCursor) -> sl.Pipeline:
    """Fold a buffer along the dimension in which what a call writes of it moves with a loop, if that saves memory."""
    y = variable(loop.name())
    dims = alloc.dims()
    for position, interval in enumerate(p.forward(call).region(alloc.name())):
        if _moves(interval, y):
            dim = dims[position] if dims.count(dims[position]) == 1 else position
            return sl.attempt(lambda p, alloc, dim=dim: sl.fold_storage(p, alloc, dim))(p, alloc)
    return p
