"""Loops that end: unrolled, found to be needless, or made a dimension of the one call in them.

An unrolled body stands there once for each value of the variable. Where iterations do not depend on the variable, each
does what the first one did, so one is enough. A loop over pieces of a call that lie side by side is taken into the
call.
"""

from __future__ import annotations

from typing import Any

from slinky.cursors.cursors import BlockCursor, CallCursor, LoopCursor, block_cursor, statement_cursor
from slinky.cursors.editing import Edit
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.copies import symbols_of, with_interval
from slinky.ir.effects import bounds_of_dim
from slinky.ir.statements import SERIAL, Block, Call, For, walk
from slinky.ir.substitution import substitute_block
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import ALL_BUT_CHECKS, SAME_ORDER, WRITES_AS_MUCH, Kept, Obligation
from slinky.sched.legality.refusals import Unproved
from slinky.sched.operation import sched_op
from slinky.sched.primitives.rewriting import in_words_of
from slinky.sched.primitives.simplification import simplified
from slinky.sched.remedies import PlaceOf, first
from slinky.sched.returned import AbsorbLoopCursors, RemoveLoopCursors, UnrollLoopCursors
from slinky.symbolic.bounds import simplify
from slinky.symbolic.expressions import Expr, constant_value, maximum, minimum
from slinky.symbolic.intervals import Interval, moves_with, substitute_interval
from slinky.symbolic.proofs import Facts, impossible, prove
from slinky.symbolic.traversal import substitute

_MOST_STATEMENTS = 1000
"""More than so many are no program that anybody reads, and a plan of them takes long to make."""


@sched_op(UnrollLoopCursors)
def unroll_loop(p: Pipeline, loop: LoopCursor) -> Any:
    """Put the body of a loop there once for each iteration, and no loop.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.blur(), "blur.x", 8)
        >>> p, (_, inner, _) = split_loop(p, "for x", 2, tail="cut", rc=True)
        >>> print(inner)
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
            scaled[:] = scale(inp[:])
            for x_outer in out.x.min .. out.x.max - 8 step 16:
        >     for x in x_outer .. x_outer + 8 step 8:
                out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
            for x in out.x.min - 16*((out.x.min - out.x.max + 7) // 16) .. out.x.max step 8:
              out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        >>> p, (block,) = unroll_loop(p, inner, rc=True)
        >>> print(block)
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
            scaled[:] = scale(inp[:])
            for x_outer in out.x.min .. out.x.max - 8 step 16:
        >     out[x_outer .. x_outer + 7] = blur(scaled[x_outer - 1 .. x_outer + 8])
        >     out[x_outer + 8 .. x_outer + 15] = blur(scaled[x_outer + 7 .. x_outer + 16])
            for x in out.x.min - 16*((out.x.min - out.x.max + 7) // 16) .. out.x.max step 8:
              out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])

    The statements of the first iteration keep their identities. Buffers that the body allocates get other names in the
    later ones. What the value of the variable decides (a `select`, an `if`) is gone.

    Refused: a loop that is not shown to have as many iterations in every run; one that never runs; a parallel loop;
    more statements than anybody would read; a buffer in the body that has the name of one further on (in a copy of the
    loop).

    Cursors:
        block: all that stands in the place of the loop.
    """
    version, old = p._version, loop._loop
    known = version.facts_at(old.id).also(old.step >= 1)
    if old.mode != SERIAL:
        raise SchedulingError(
            f"loop {old.variable} is parallel: its iterations would come one after the other",
            place=loop,
            remedies=lambda: [first("say so first", ("serialize_loop", PlaceOf(old.id)))],
        )
    count = _iterations(version, old, known)
    edit = Edit(version)
    bodies = [old.body, *edit.repeat_block(old.body, count - 1)]
    unrolled = [_at(old, body, old.range.min + k * old.step, known) for k, body in enumerate(bodies)]
    return _put(edit, old, tuple(s for body in unrolled for s in body), "unroll_loop", Kept(SAME_ORDER, ALL_BUT_CHECKS))


def _iterations(version: Version, loop: For, known: Facts) -> int:
    """The number of iterations of a loop, a constant. Raises `SchedulingError` if it is none, or too many."""
    place = statement_cursor(version, loop.id)
    count = constant_value(simplify((loop.range.max - loop.range.min) // loop.step + 1, known))
    if count is None:
        raise SchedulingError(
            f"not shown that loop {loop.variable} has as many iterations in every run",
            place=place,
            hint='split_loop with tail="cut" leaves an inner loop of as many as the factor says',
        )
    if count < 1:
        raise SchedulingError(f"loop {loop.variable} never runs", place=place, hint="simplify drops it")
    total = count * sum(1 for _ in walk(loop.body))
    if total > _MOST_STATEMENTS:
        raise SchedulingError(
            f"{count} times the body of loop {loop.variable} are {total} statements, more than {_MOST_STATEMENTS}",
            place=place,
            hint="split the loop, and unroll the inner one",
        )
    return count


def _at(loop: For, body: Block, value: Expr, known: Facts) -> Block:
    """The body of a loop in one of its iterations."""
    inside = known.also(loop.range.min <= value, value <= loop.range.max)
    return simplified(substitute_block(body, {loop.variable: value}), inside)


@sched_op(RemoveLoopCursors)
def remove_loop(p: Pipeline, loop: LoopCursor) -> Any:
    """Put the body of a loop in its place where one iteration does all that the loop does.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.blur(), "blur.x", 8)
        >>> p, (_, inner, _) = split_loop(p, "for x", 1, rc=True)
        >>> print(inner)
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
            scaled[:] = scale(inp[:])
            for x_outer in out.x.min..out.x.max step 8:
        >     for x in x_outer .. min(x_outer, out.x.max) step 8:
                out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        >>> p, (block,) = remove_loop(p, inner, rc=True)
        >>> print(block)
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
            scaled[:] = scale(inp[:])
            for x_outer in out.x.min..out.x.max step 8:
        >     out[x_outer .. x_outer + 7] = blur(scaled[x_outer - 1 .. x_outer + 8])

    That is a loop of exactly one iteration; or one whose body does not depend on its variable, so that every iteration
    does what the first one did. It must be shown to run at all.

    Refused: a loop that may have no iteration; one that may have several, and whose body depends on the variable; a
    body that is not shown to find what it reads without earlier iterations; a buffer in the body that has the name of
    one further on.

    Cursors:
        block: the body, in the place of the loop.
    """
    version, old = p._version, loop._loop
    known = version.facts_at(old.id).also(old.step >= 1)
    runs = old.range.min <= old.range.max
    if not prove(runs, known):
        raise Unproved(version, runs, known).refuse(
            f"loop {old.variable} runs at all", f"loop {old.variable} never runs", place=loop
        )
    edit = Edit(version)
    once = old.range.max < old.range.min + old.step
    if prove(once, known):
        body = _at(old, old.body, old.range.min, known)
        return _put(edit, old, body, "remove_loop", Kept(SAME_ORDER, ALL_BUT_CHECKS))
    dependent = next((s for s in walk(old.body) if old.variable in symbols_of(s)), None)
    if dependent is not None:
        raise Unproved(version, once, known).refuse(
            f"loop {old.variable} has but one iteration, and its body depends on {old.variable}",
            f"loop {old.variable} has several iterations, and its body depends on {old.variable}",
            place=statement_cursor(version, dependent.id),
        )
    return _put(edit, old, old.body, "remove_loop")


@sched_op(AbsorbLoopCursors)
def absorb_loop(p: Pipeline, loop: LoopCursor) -> Any:
    """Take a loop around one call into the call, which then computes all pieces at once: the inverse of a split.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p, (outer, _, _) = split_loop(examples.blur(), "blur.x", 8, rc=True)
        >>> p, (_, inner, _) = split_loop(p, outer, 4, rc=True)
        >>> print(inner)
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
            scaled[:] = scale(inp[:])
            for x_outer in out.x.min..out.x.max step 32:
        >     for x in x_outer .. min(out.x.max, x_outer + 24) step 8:
                out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        >>> p, (call,) = absorb_loop(p, inner, rc=True)
        >>> print(call)
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
            scaled[:] = scale(inp[:])
            for x_outer in out.x.min..out.x.max step 32:
        >     out[x_outer .. x_outer + 31] = blur(scaled[x_outer - 1 .. x_outer + 32])

    Refused: a body that is more than one call; pieces that are not shown to lie side by side along one dimension; a
    loop that may not run, where the call is not shown to do nothing then; what is not shown to be there before the
    first piece.

    Cursors:
        call: the call.
    """
    version, old = p._version, loop._loop
    call = _only_call(version, loop)
    d = _moving_dim(version, call, old)
    known = version.facts_at(old.id).also(old.step >= 1)
    y, i = old.variable, call.box[d]
    onward = known.also(old.range.min <= y, y + old.step <= old.range.max)
    following = substitute_interval(i, {y: y + old.step})
    for condition in (i.min <= following.min, following.min <= i.max + 1, i.max <= following.max):
        if not prove(condition, onward):
            raise Unproved(version, condition, onward).refuse(
                f"the pieces of {call.func.name} lie side by side",
                f"the pieces of {call.func.name} do not lie side by side",
                place=statement_cursor(version, call.id),
            )
    limit = bounds_of_dim(call, d, version.box_at(call.id))
    whole = in_words_of(limit, _all_pieces(i, old, limit.max, known), known)
    idle = known.also(old.range.max < old.range.min)
    nothing = maximum(whole.min, limit.min) > minimum(whole.max, limit.max)
    if not impossible(idle) and not prove(nothing, idle):
        raise Unproved(version, nothing, idle).refuse(
            f"{call.func.name} does nothing where loop {y} does not run",
            f"{call.func.name} would do something where loop {y} does not run",
            place=loop,
            hint="lift_call computes before the loop what all of its iterations need",
        )
    edit = Edit(version)
    edit.replace(old.id, (with_interval(call, d, whole),), "made it a dimension of the call in it")
    new = settle(edit, "absorb_loop", Kept(WRITES_AS_MUCH, (Obligation.READERS, Obligation.OUTPUTS)))
    return new, (CallCursor(new._version, call.id),)


def _all_pieces(i: Interval, loop: For, limit: Expr, known: Facts) -> Interval:
    """From the beginning of the first piece to the end of the last one: in the words of the end of the loop, where that
    is the same up to a limit."""
    low, y, step = loop.range.min, loop.variable, loop.step
    last = low + step * ((loop.range.max - low) // step)
    exact, wide = (simplify(substitute(i.max, {y: at}), known) for at in (last, loop.range.max))
    is_same = prove(minimum(wide, limit) <= exact, known.also(low <= loop.range.max))
    return Interval(simplify(substitute(i.min, {y: low}), known), wide if is_same else exact)


def _only_call(version: Version, loop: LoopCursor) -> Call:
    """The call that is all of the body of a loop."""
    old = loop._loop
    body = old.body[0]
    if len(old.body) == 1 and isinstance(body, Call):
        return body
    inner = len(old.body) == 1 and isinstance(body, For)
    raise SchedulingError(
        f"the body of loop {old.variable} is not just one call",
        place=loop,
        hint="" if inner else "fission_loop gives each call a loop of its own",
        remedies=lambda: [first("absorb the inner loop first", ("absorb_loop", PlaceOf(body.id)))] if inner else [],
    )


def _moving_dim(version: Version, call: Call, loop: For) -> int:
    """The only dimension of a call that moves with a loop around it."""
    moving = [d for d, i in enumerate(call.box) if moves_with(i, loop.variable)]
    if len(moving) == 1:
        return moving[0]
    count = "more than one dimension" if moving else "no dimension"
    raise SchedulingError(
        f"{count} of what {call.func.name} computes moves with loop {loop.variable}",
        place=statement_cursor(version, call.id),
        remedies=lambda: [] if moving else [first("one iteration is enough", ("remove_loop", PlaceOf(loop.id)))],
    )


def _put(edit: Edit, loop: For, block: Block, operation: str, *kept: Kept) -> tuple[Pipeline, tuple[BlockCursor]]:
    """Put a block in the place of a loop, in which the same happened in the same order."""
    edit.replace(loop.id, block, "put its body in its place")
    new = settle(edit, operation, *kept)
    return new, (block_cursor(new._version, block),)
