"""Primitives on loops: split, reorder, cut, parallelize, serialize.

Splitting and cutting keep the order in which everything happens, so they are legal as they are; reordering and
parallelizing are legal where coverage, folds and races say so (see `legality`). A tail that shifts does some things a
second time, after all that came before them the first time. That asks nothing of coverage. The pieces of a call lie in
its box, which a fold holds as a whole; but iterations of a loop that come again may read what a fold has let go of, or
race with those of another piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slinky.cursors.base import InvalidCursor
from slinky.cursors.cursors import DimCursor, LoopCursor, statement_cursor
from slinky.cursors.editing import Edit, Gap
from slinky.cursors.versions import Version
from slinky.errors import OperationError, SchedulingError, cited
from slinky.ir.copies import with_body, with_identity, with_interval, with_mode, with_range, with_variable
from slinky.ir.effects import bounds_of_dim, calls_in
from slinky.ir.given import is_one_of
from slinky.ir.statements import SERIAL, Alloc, Call, For, Parallel, Pipelined, Statement, fresh_identity, workers_of
from slinky.ir.substitution import substitute_block
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import (
    ALL_BUT_CHECKS,
    ONE_OF_ITS_ORDERS,
    RACES_SAY_MORE,
    SAME_ITERATIONS,
    SAME_ORDER,
    SAME_ORDER_TWICE,
    STAGES_SAY,
    Kept,
    Obligation,
)
from slinky.sched.legality.refusals import Unproved
from slinky.sched.operation import sched_op
from slinky.sched.primitives.grids import grid_origin
from slinky.sched.primitives.rewriting import (
    fresh_variable,
    is_one,
    named_variable,
    require_divisors,
    require_known_symbols,
    require_pieces,
    require_positive,
    require_workers,
    within,
)
from slinky.sched.primitives.simplification import simplified_body
from slinky.sched.remedies import PlaceOf, Remedy, first, instead
from slinky.sched.returned import (
    CutLoopCursors,
    ParallelizeLoopCursors,
    ReorderLoopsCursors,
    SerializeLoopCursors,
    SplitLoopCursors,
)
from slinky.symbolic.expressions import Expr, equal, maximum, minimum
from slinky.symbolic.intervals import Interval
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import symbols

TAILS = ("clamp", "cut", "shift", "perfect")


@sched_op(SplitLoopCursors)
def split_loop(
    p: Pipeline,
    loop: LoopCursor | DimCursor,
    factor: Expr,
    *,
    tail: str = "clamp",
    names: str | Sequence[str] | None = None,
) -> Any:
    """Split a dimension of a call, or a loop, into a loop over pieces and what is left inside.

    A dimension of a call is a loop inside its callback: splitting it makes an explicit loop over pieces of `factor`
    coordinates, and the call computes one piece. Of an explicit loop, pieces are `factor` iterations.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = examples.blur()
        >>> print(p)
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
          scaled[:] = scale(inp[:])
          out[:] = blur(scaled[:])
        >>> print(split_loop(p, "blur.x", 8))
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
          scaled[:] = scale(inp[:])
          for x in out.x.min..out.x.max step 8:
            out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])

    Parameters:
        loop: the loop, or the dimension of a call, such as `"blur.x"`.
        factor: how long a piece is: an integer or an expression of scalars, at least 1. A scalar that the pipeline
            does not have yet becomes a parameter, with a check that it is at least 1.
        tail: what becomes of the last piece, if it is not full.
            `"clamp"`: it is smaller.
            `"cut"`: a statement of its own, behind the loop, does it. It is another reader of what the call reads, so
                producers cannot be computed in the loop.
            `"shift"`: it is moved back so that all pieces are full (as far as there are enough coordinates); what lies
                in two pieces is computed twice, so the loop cannot be parallel.
            `"perfect"`: there is none, which must be proved.
        names: the name of the new loop; of an explicit loop, of the outer and the inner loop. By default the loop of a
            dimension is called like it, and the outer loop `y_outer` if the inner one is `y`, which keeps its name.

    Refused: a dimension that not all outputs of the func have, or that it computes whole; a perfect split that is not
    proved; a factor that is not positive or depends on a loop; shifting the pieces of a loop that is not shown to allow
    it.

    Cursors:
        outer: the new loop.
        inner: the loop that was split, now over one piece; for a dimension, the dimension of the call.
        tail: with `tail="cut"` the statement behind the loop, else an `InvalidCursor`.
    """
    if not is_one_of(tail, TAILS):
        raise OperationError(f"tail must be one of {', '.join(TAILS)}, got {cited(tail)}")
    chosen = (names,) if isinstance(names, str) else () if names is None else names
    if not isinstance(chosen, (tuple, list)):
        raise OperationError(f"names must be a name or a sequence of names, got {cited(names)}")
    require_known_symbols(p._version, factor, "the factor")
    if isinstance(loop, DimCursor):
        return _split_dim(p, loop, factor, tail, tuple(chosen))
    return _split_explicit(p, loop, factor, tail, tuple(chosen))


def _split_dim(p: Pipeline, cursor: DimCursor, factor: Expr, tail: str, names: tuple[str, ...]) -> Any:
    version = p._version
    call, d = cursor.call()._call, cursor.position()
    edit = Edit(version)
    edit.add_scalars(symbols(factor))
    known = version.facts_at(call.id)
    require_positive(edit, factor, "the factor", known)
    known = known.also(factor >= 1)
    require_pieces(version, call, d)
    if len(names) > 1:
        raise OperationError(f"a dimension needs one name, for its loop, got {cited(names)}")
    make = named_variable if names else fresh_variable
    v = make(version, call.id, names[0] if names else cursor.name(), factor)
    limit = bounds_of_dim(call, d, version.box_at(call.id))
    whole = within(call.box[d], limit, known)
    last = v + factor - 1
    hi = last if prove(limit.max <= whole.max, known) else minimum(last, call.box[d].max)
    pieces = whole
    rest: tuple[Statement, ...] = ()
    match tail:
        case "clamp":
            piece = Interval(v, v if is_one(factor) else hi)
        case "perfect":
            _require_perfect(version, call.id, whole.extent, factor, known)
            piece = Interval(v, last)
        case "cut":
            piece = Interval(v, last)
            pieces = Interval(whole.min, whole.max - factor + 1)
            remainder = Interval(whole.min + factor * (_at_least_0(whole.extent, known) // factor), whole.max)
            rest = (with_identity(with_interval(call, d, remainder), fresh_identity()),)
        case _:
            start = minimum(v, whole.max - factor + 1)
            lo = start if prove(whole.min <= limit.min, known) else maximum(start, whole.min)
            piece = Interval(lo, start + factor - 1)
    inner = with_interval(call, d, piece)
    outer = For(v, pieces, factor, SERIAL, (inner,))
    edit.replace(call.id, (outer, *rest))
    new = settle(edit, "split_loop", Kept(SAME_ORDER if tail != "shift" else SAME_ORDER_TWICE, ALL_BUT_CHECKS))
    behind = statement_cursor(new._version, rest[0].id) if rest else InvalidCursor()
    return new, (LoopCursor(new._version, outer.id), DimCursor(new._version, call.id, d), behind)


def _at_least_0(count: Expr, known: Facts) -> Expr:
    """How many there are; none if the last one comes long before the first."""
    return count if prove(count >= 0, known) else maximum(count, 0)


def _require_perfect(version: Version, identity: int, extent: Expr, factor: Expr, known: Facts) -> None:
    condition = equal(extent, factor * (extent // factor))
    if not prove(condition, known):
        required = "let the pipeline require it (build_pipeline(..., require=[...]))"
        raise Unproved(version, condition, known).refuse(
            "the pieces come out even",
            "the pieces do not come out even",
            place=statement_cursor(version, identity),
            hint=required,
            remedies=lambda: [instead(f"use another tail, or {required}", tail=None)],
        )


def _split_explicit(p: Pipeline, cursor: LoopCursor, factor: Expr, tail: str, names: tuple[str, ...]) -> Any:
    version, loop = p._version, cursor._loop
    edit = Edit(version)
    edit.add_scalars(symbols(factor))
    known = version.facts_at(loop.id)
    require_positive(edit, factor, "the factor", known)
    known = known.also(factor >= 1, loop.step >= 1)
    if len(names) not in (0, 2):
        raise OperationError(f"a loop needs two names, of the outer and the inner loop, got {cited(names)}")
    inner_variable = loop.variable
    if names:
        outer_name, inner_name = names
        given_up = "" if inner_name == loop.variable.name else loop.variable.name
        v = named_variable(version, loop.id, outer_name, factor, free=given_up)
        if given_up:
            inner_variable = named_variable(version, loop.id, inner_name, factor, free=given_up, taken=outer_name)
    else:
        v = fresh_variable(version, loop.id, f"{loop.variable.name}_outer", factor)
    span = loop.step * (factor - 1)
    low, high = loop.range.min, loop.range.max
    outer_range, piece = loop.range, Interval(v, minimum(v + span, high))
    rest: tuple[For, ...] = ()
    match tail:
        case "perfect":
            _require_perfect(version, loop.id, _count(loop), factor, known)
            piece = Interval(v, v + span)
        case "cut":
            outer_range, piece = Interval(low, high - span), Interval(v, v + span)
            start = low + loop.step * factor * (_at_least_0(_count(loop), known) // factor)
            copy = edit.duplicate(loop.id)
            assert isinstance(copy, For)
            rest = (with_range(copy, Interval(start, high)),)
        case "shift":
            if not is_one(loop.step):
                raise SchedulingError(
                    "pieces of a loop can be shifted only if its step is 1",
                    place=cursor,
                    remedies=lambda: [instead("use another tail", tail=None)],
                )
            # Where all fit in one piece that is not full, both ends are the loop's own: v is never before the first.
            piece = Interval(maximum(minimum(v, high - span), low), minimum(v + span, high))
    body = loop.body
    if inner_variable is not loop.variable:
        body = substitute_block(body, {loop.variable: inner_variable})
    inner = with_variable(with_mode(with_range(loop, piece), SERIAL), inner_variable, body)
    outer = For(v, outer_range, loop.step * factor, loop.mode, (inner,))
    edit.replace(loop.id, (outer, *rest))
    new = settle(edit, "split_loop", *_kept_by_split(tail, outer))
    behind = LoopCursor(new._version, rest[0].id) if rest else InvalidCursor()
    return new, (LoopCursor(new._version, outer.id), LoopCursor(new._version, inner.id), behind)


def _count(loop: For) -> Expr:
    """How many iterations a loop has, where it has any."""
    return (loop.range.max - loop.range.min) // loop.step + 1


def _kept_by_split(tail: str, outer: For) -> tuple[Kept, ...]:
    """What the split of a loop keeps. Iterations that come again find what they found the first time, if no fold has
    let go of it since."""
    if tail != "shift":
        return (Kept(SAME_ORDER, ALL_BUT_CHECKS),)
    others = tuple(o for o in ALL_BUT_CHECKS if o not in (Obligation.FOLDS, Obligation.RACES))
    inside = tuple(call.id for call in calls_in((outer,)))
    return (
        Kept(SAME_ORDER_TWICE, others),
        Kept(SAME_ORDER_TWICE, (Obligation.FOLDS,), but_for=inside),
        Kept(SAME_ORDER_TWICE, (Obligation.RACES,), but_for=(outer.id,) if outer.mode != SERIAL else ()),
    )


@sched_op(ReorderLoopsCursors)
def reorder_loops(p: Pipeline, outer: LoopCursor) -> Any:
    """Swap a loop and the loop that is all of its body.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.scale2d(), "scale.y", 4)
        >>> p = split_loop(p, "scale.x", 16)
        >>> print(p.find("for y"))
          pipeline scale(inp: float32[2]) -> (out: float32[2]):
            check inp.y.min <= out.y.min
            check out.y.max <= inp.y.max
            check inp.x.min <= out.x.min
            check out.x.max <= inp.x.max
        >   for y in out.y.min..out.y.max step 4:
              for x in out.x.min..out.x.max step 16:
                out[y .. y + 3, x .. x + 15] = scale(inp[y .. y + 3, x .. x + 15])
        >>> p, (outer, inner) = reorder_loops(p, "for y", rc=True)
        >>> print(outer)
          pipeline scale(inp: float32[2]) -> (out: float32[2]):
            check inp.y.min <= out.y.min
            check out.y.max <= inp.y.max
            check inp.x.min <= out.x.min
            check out.x.max <= inp.x.max
        >   for x in out.x.min..out.x.max step 16:
              for y in out.y.min..out.y.max step 4:
                out[y .. y + 3, x .. x + 15] = scale(inp[y .. y + 3, x .. x + 15])

    Refused: a body that is more than one loop; an inner loop whose range depends on the outer one; an order in which
    something is not shown to find what it reads (a window that slides in the wrong loop), or a fold not to hold; an
    inner loop whose step is at least 1 only where the outer one runs.

    Cursors:
        outer: the loop that is now the outer one.
        inner: the loop that is now the inner one, the one that was given.
    """
    version, loop = p._version, outer._loop
    if len(loop.body) != 1 or not isinstance(loop.body[0], For):
        raise SchedulingError(
            f"the body of loop {loop.variable} is not just one loop",
            place=outer,
            hint="only perfectly nested loops swap",
            remedies=lambda: _empty_body(loop),
        )
    inner = loop.body[0]
    ends = {"start": inner.range.min, "end": inner.range.max, "step": inner.step}
    for what, e in {**ends, "number of workers": workers_of(inner)}.items():
        if e is not None and loop.variable in symbols(e):
            raise SchedulingError(f"the {what} of loop {inner.variable} depends on loop {loop.variable}", place=outer)
    new_inner = with_body(loop, inner.body)
    new_outer = with_body(inner, (new_inner,))
    edit = Edit(version)
    edit.replace(loop.id, (new_outer,))
    inside = tuple(call.id for call in calls_in((new_outer,)))
    proved = (Obligation.READERS, Obligation.FOLDS)
    # The step of the inner loop, and what its ends divide by, were shown where the outer one runs.
    of_some = (*proved, Obligation.POSITIVE, Obligation.RACES)
    new = settle(
        edit,
        "reorder_loops",
        Kept(SAME_ITERATIONS, tuple(o for o in ALL_BUT_CHECKS if o not in of_some)),
        Kept(SAME_ITERATIONS, (Obligation.POSITIVE,), but_for=(new_outer.id,)),
        Kept(SAME_ITERATIONS, proved, but_for=inside),
        Kept(
            SAME_ITERATIONS,
            (Obligation.RACES,),
            but_for=tuple(swapped.id for swapped in (new_outer, new_inner) if swapped.mode != SERIAL),
        ),
    )
    changed = new._version
    return new, (LoopCursor(changed, new_outer.id), LoopCursor(changed, new_inner.id))


def _empty_body(loop: For) -> list[Remedy]:
    """A remedy for a loop whose body is not just one loop: what else stands there goes before it."""
    others = [s for s in loop.body if not isinstance(s, For)]
    steps = [("compute_root", PlaceOf(s.id)) for s in others if isinstance(s, Call)]
    steps = [*(("lift_alloc", PlaceOf(s.id)) for s in others if isinstance(s, Alloc)), *steps]
    if len(loop.body) != len(others) + 1 or len(steps) != len(others):
        return []
    return [first("only perfectly nested loops swap; move out what else stands there", *steps)]


@sched_op(CutLoopCursors)
def cut_loop(p: Pipeline, loop: LoopCursor, at: Expr) -> Any:
    """Cut a loop into two loops, one after the other; the second starts at the first iteration from `at` on.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = compute_at(split_loop(examples.blur(), "blur.x", 1), "scale", "for x")
        >>> p, (_, loop, call) = slide_window(p, "scale", "for x", warmup="first", rc=True)
        >>> print(call.region("scaled")[0])
        select(out.x.min == x, out.x.min - 1, x + 1) .. x + 1
        >>> print(cut_loop(p, loop, loop.bounds().min + 1))
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
          for x in out.x.min .. min(out.x.min, out.x.max):
            scaled[out.x.min - 1 .. x + 1] = scale(inp[out.x.min - 1 .. x + 1])
            out[x] = blur(scaled[x - 1 .. x + 1])
          for x in out.x.min + 1 .. out.x.max:
            scaled[x + 1] = scale(inp[x + 1])
            out[x] = blur(scaled[x - 1 .. x + 1])

    Where facts of the two ranges decide a `select`, a minimum or a maximum in the bodies, it is gone: cutting a loop
    behind its first iteration peels it.

    Refused: a place that depends on the loop itself or on loops inside it.

    Cursors:
        first: the loop up to the place; it keeps the identities of the statements.
        second: the loop from there on, a copy.
    """
    version, old = p._version, loop._loop
    around = version.loops_around(old.id)
    require_known_symbols(version, at, "the place to cut", around)
    edit = Edit(version)
    edit.add_scalars(symbols(at))
    known = version.facts_at(old.id).also(old.step >= 1)
    require_divisors(edit, at, "the place to cut", known)
    low, high, step = old.range.min, old.range.max, old.step
    on_grid = grid_origin(low, step)
    start = at if is_one(step) else on_grid + step * ((at - on_grid + step - 1) // step)
    end = start - step if not is_one(step) else at - 1
    if not prove(low <= start, known):
        start = maximum(start, low)
    if not prove(end <= high, known):
        end = minimum(at - 1, high)
    first = with_range(old, Interval(low, end))
    copy = edit.duplicate(old.id)
    assert isinstance(copy, For)
    second = with_range(copy, Interval(start, high))
    first = simplified_body(first, known)
    second = simplified_body(second, known)
    edit.replace(old.id, (first,))
    edit.insert(Gap.after(first.id), (second,))
    new = settle(edit, "cut_loop", Kept(SAME_ORDER, ALL_BUT_CHECKS))
    return new, (LoopCursor(new._version, first.id), LoopCursor(new._version, second.id))


@sched_op(ParallelizeLoopCursors)
def parallelize_loop(p: Pipeline, loop: LoopCursor, workers: Expr | None = None) -> Any:
    """Let the iterations of a loop run at the same time.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.scale2d(), "scale.y", 4)
        >>> p, (loop,) = parallelize_loop(p, "for y", 2, rc=True)
        >>> print(loop)
          pipeline scale(inp: float32[2]) -> (out: float32[2]):
            check inp.y.min <= out.y.min
            check out.y.max <= inp.y.max
            check inp.x.min <= out.x.min
            check out.x.max <= inp.x.max
        >   for y in out.y.min..out.y.max step 4 parallel 2:
              out[y .. y + 3, :] = scale(inp[y .. y + 3, :])

    Parameters:
        workers: on how many threads; by default as many as there are (`SLINKY_NUM_THREADS`, or the cores), and never
            on more than that. An expression, such as `sl.scalar("workers")`, is evaluated when the loop is entered; one
            of scalars that may be less than 1 becomes a check.

    Refused: workers that depend on a loop or on arrays, and are not shown to be 1 or more; iterations that are not
    shown to be independent: that read what earlier ones wrote, share a buffer that is folded to less than all of them
    touch, or write the same parts of a buffer.

    Cursors:
        loop: the loop.
    """
    edit = Edit(p._version)
    if workers is not None:
        require_workers(edit, workers, loop)
    edit.update(with_mode(loop._loop, Parallel(workers)))
    others = tuple(o for o in ALL_BUT_CHECKS if o is not Obligation.RACES)
    new = settle(
        edit,
        "parallelize_loop",
        Kept(RACES_SAY_MORE, others),
        Kept(RACES_SAY_MORE, (Obligation.RACES,), but_for=(loop._id,)),
    )
    return new, (LoopCursor(new._version, loop._id),)


@sched_op(SerializeLoopCursors)
def serialize_loop(p: Pipeline, loop: LoopCursor) -> Any:
    """Let the iterations of a parallel loop run one after the other, or the stages of a pipelined one: the inverse of
    `parallelize_loop` and `pipeline_loop`. Folds that were widened for stages stay as they are.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.scale2d(), "scale.y", 4)
        >>> p = parallelize_loop(p, "for y", 2)
        >>> p, (loop,) = serialize_loop(p, "for y", rc=True)
        >>> print(loop)
          pipeline scale(inp: float32[2]) -> (out: float32[2]):
            check inp.y.min <= out.y.min
            check out.y.max <= inp.y.max
            check inp.x.min <= out.x.min
            check out.x.max <= inp.x.max
        >   for y in out.y.min..out.y.max step 4:
              out[y .. y + 3, :] = scale(inp[y .. y + 3, :])

    Windows slide and buffers are folded in serial loops only, and only serial loops are unrolled.

    Refused: a loop that is serial already.

    Cursors:
        loop: the loop.
    """
    if loop._loop.mode == SERIAL:
        raise SchedulingError(f"loop {loop.name()} is serial already", place=loop)
    edit = Edit(p._version)
    edit.update(with_mode(loop._loop, SERIAL))
    reason = STAGES_SAY if isinstance(loop._loop.mode, Pipelined) else ONE_OF_ITS_ORDERS
    new = settle(edit, "serialize_loop", Kept(reason, ALL_BUT_CHECKS))
    return new, (LoopCursor(new._version, loop._id),)
