"""Primitives that make the statements of a loop's body overlap.

Idea. A window that slides ties each iteration of a loop to the one before, so the loop cannot be parallel. But its
producer can be at work for the next rows while the consumer is at these: the body is cut into stages, which wait for
each other as `ir.stages` says; there it is shown that nothing hangs and nothing races.

Invariant: what the stages share is large enough for all iterations that may be under way. Folds grow by what the stages
ahead may have written beyond the windows; `legality.stages` proves that this suffices, of this rewrite and of all later
ones, as long as the loop is pipelined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slinky.cursors.cursors import AllocCursor, CallCursor, LoopCursor, StatementCursor, statement_cursor
from slinky.cursors.editing import Edit
from slinky.cursors.versions import Version
from slinky.errors import OperationError, SchedulingError, cited
from slinky.ir.copies import with_folds, with_mode
from slinky.ir.effects import buffers_named, written_by
from slinky.ir.sharing import host_of
from slinky.ir.statements import SERIAL, Alloc, Check, For, Parallel, Pass, Pipelined, walk
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import ALL_BUT_CHECKS, STAGES_SAY, Kept, Obligation
from slinky.sched.legality.stages import folds_needed, require_stages
from slinky.sched.operation import sched_op
from slinky.sched.primitives.blocks import reorder_statements
from slinky.sched.primitives.rewriting import require_workers
from slinky.sched.primitives.storage import fold_storage, lift_alloc
from slinky.sched.remedies import PlaceOf, first
from slinky.sched.returned import PipelineLoopCursors, PrefetchCursors
from slinky.symbolic.bounds import simplify
from slinky.symbolic.expressions import Expr, is_integer, maximum
from slinky.symbolic.traversal import symbols


@sched_op(PipelineLoopCursors)
def pipeline_loop(
    p: Pipeline,
    loop: LoopCursor,
    stages: Sequence[StatementCursor] | None = None,
    depth: int | None = None,
    workers: Expr | None = None,
) -> Any:
    """Let the statements of a loop's body run in stages, which overlap: each on a thread, in an iteration of its own.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.blur(), "blur.x", 1)
        >>> p, fused = compute_at(p, "scale", "for x", rc=True)
        >>> p = slide_window(p, fused.call, fused.loop)
        >>> p = fold_storage(p, fused.alloc, "x")
        >>> print(pipeline_loop(p, fused.loop))
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          alloc scaled: float32[out.x.min - 1 .. out.x.max + 1 fold 4]
          for x in out.x.min - 2 .. out.x.max pipelined (1, 1) depth 2:
            scaled[x + 1] = scale(inp[x + 1])
            out[x] = blur(scaled[x - 1 .. x + 1])

    A stage of an iteration waits for itself in the iteration before, and for the stage before it in this one; the first
    stage, moreover, for the last of the iteration `depth` before. So a loop with a window that slides and is folded
    uses several threads. Folds that are too small for so many iterations grow: above, `blur` reads `x - 1 .. x + 1`
    while `scale` may be at `x + 1` already, and write `x + 2`.

    Parameters:
        stages: the statements with which stages begin, in their order; what stands before the first belongs to it, and
            what is inside a statement stands for it. By default, each statement that does something is a stage, but
            those that share a buffer that is allocated in the body are one.
        depth: how many iterations may be under way, 2 or more; by default as many as there are stages. More depth lets
            a stage that takes longer now and then catch up, and takes more memory.
        workers: on how many threads; by default as many as there are, and never on more than that, or than stages. An
            expression, such as `sl.scalar("workers")`, is evaluated when the loop is entered.

    Refused: a loop that is not serial; fewer than two stages; a stage that uses what another one allocates in the body;
    a stage that needs, iterations ahead, what a later one writes, or that would overwrite what a later one reads or
    writes; a fold that would not be the same in all iterations.

    Cursors:
        loop: the loop.
        stages: the statements of each stage, as blocks.
    """
    version, old = p._version, loop._loop
    _require_serial(loop)
    begins = _default_begins(old) if stages is None else _begins(version, old, stages)
    if len(begins) < 2:
        raise SchedulingError(
            f"the body of loop {old.variable} has one stage only, so that nothing could overlap",
            place=loop,
            hint="compute a producer in the loop (compute_at), or allocate outside the loop what its statements share",
        )
    lengths = [end - begin for begin, end in zip(begins, (*begins[1:], len(old.body)), strict=True)]
    if depth is None:
        depth = len(begins)
    if not is_integer(depth) or depth < 2:
        raise OperationError(f"depth must be an integer, 2 or more, got {cited(depth)}")
    edit = Edit(version)
    if workers is not None:
        require_workers(edit, workers, loop)
    staged = with_mode(old, Pipelined(tuple(lengths), depth, workers))
    require_stages(version, staged)
    widened = _widen_folds(edit, version, staged)
    edit.update(staged)
    proved = (Obligation.POSITIVE, Obligation.FOLDS)
    new = settle(
        edit,
        "pipeline_loop",
        Kept(STAGES_SAY, tuple(o for o in ALL_BUT_CHECKS if o not in proved)),
        Kept(STAGES_SAY, (Obligation.POSITIVE,), but_for=(*widened, old.id)),
        Kept(STAGES_SAY, (Obligation.FOLDS,), but_for=widened),
    )
    made = LoopCursor(new._version, old.id)
    return new, (made, made.stages())


@sched_op(PrefetchCursors)
def prefetch(p: Pipeline, call: CallCursor, loop: LoopCursor, distance: int = 1) -> Any:
    """Let a producer run ahead of a loop's other statements by some iterations, on another thread: double buffering.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.two_branches(), "join.x", 8)
        >>> p, fused = compute_at(p, "left", "for x", rc=True)
        >>> p = store_at(p, fused.alloc, fused.loop)
        >>> print(prefetch(p, "left", "for x"))
        pipeline join(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min
          check out.x.max <= inp.x.max
          alloc r: float32[out.x.min..out.x.max]
          r[:] = right(inp[:])
          alloc l: float32[out.x.min..out.x.max fold 16]
          for x in out.x.min..out.x.max step 8 pipelined (1, 1) depth 2:
            l[x .. x + 7] = left(inp[x .. x + 7])
            out[x .. x + 7] = join(l[x .. x + 7], r[x .. x + 7])

    For what waits more than it works: a read from a file, a copy from another memory. The call goes to the front of the
    body, and is a stage of `pipeline_loop`; all others are the second one. A buffer that is allocated in the body is
    allocated outside, folded so that it holds `distance` iterations more than one.

    Parameters:
        call: a call that stands in the body itself.
        distance: by how many iterations it may be ahead, 1 or more.

    Refused: a loop that is not serial; a call elsewhere; one that needs what the body produces before it; what
    `lift_alloc`, `fold_storage` and `pipeline_loop` refuse: a window of which each iteration produces again what the
    one before has (slide it first).

    Cursors:
        call: the call.
        alloc: the allocation of what it produces.
    """
    if not is_integer(distance) or distance < 1:
        raise OperationError(f"distance must be an integer, 1 or more, got {cited(distance)}")
    _require_serial(loop)
    version = p._version
    if version.entries[call._id].parent != loop._id:
        raise SchedulingError(
            f"the call of {call.name()} does not stand in the body of loop {loop.name()} itself",
            place=call,
            remedies=lambda: [first("compute it there first", ("compute_at", PlaceOf(call._id), PlaceOf(loop._id)))],
        )
    allocs = [version.alloc_of(name, call._id) for name in written_by(call._call)]
    if len(allocs) != 1 or allocs[0] is None:
        raise SchedulingError(
            f"{call.name()} does not produce one intermediate, but {' and '.join(call.outputs())}", place=call
        )
    if all(s.id == call._id or isinstance(s, (Alloc, Check, Pass)) for s in loop._loop.body):
        raise SchedulingError(
            f"{call.name()} is alone in loop {loop.name()}: there is nothing to be ahead of", place=call
        )
    alloc = AllocCursor(version, allocs[0].id)
    if version.entries[alloc._id].parent == loop._id:
        p = _stored_outside(p, alloc, loop)
    p = _at_the_front(p, p.forward(call))
    rest = statement_cursor(p._version, p.forward(loop)._loop.body[1].id)
    p = pipeline_loop(p, loop, [p.forward(call), rest], int(distance) + 1)
    return p, (p.forward(call), p.forward(alloc))


def _stored_outside(p: Pipeline, alloc: AllocCursor, loop: LoopCursor) -> Pipeline:
    """Allocate a buffer of the body outside the loop, folded along the dimension that moves with it."""
    moving = [d for d, i in enumerate(alloc._alloc.box) if loop._loop.variable in symbols(i.min) | symbols(i.max)]
    is_folded = any(fold is not None for fold in alloc._alloc.folds)
    p = lift_alloc(p, alloc)
    return p if is_folded or not moving else fold_storage(p, alloc, moving[0])


def _at_the_front(p: Pipeline, call: CallCursor) -> Pipeline:
    """A call as the first statement of a loop's body: it changes places with all that stand before it."""
    for _ in range(p._version.position(call._id)):
        p = reorder_statements(p, p.forward(call).expand(before=1))
    return p


def _require_serial(loop: LoopCursor) -> None:
    mode = loop._loop.mode
    if mode != SERIAL:
        how = "parallel" if isinstance(mode, Parallel) else "pipelined"
        raise SchedulingError(f"loop {loop.name()} is {how} already: only a serial loop can run in stages", place=loop)


# Stages ---------------------------------------------------------------------------------------------------------------


def _begins(version: Version, loop: For, stages: Sequence[StatementCursor]) -> list[int]:
    """The positions in the body at which stages begin, as they are given."""
    begins: list[int] = []
    depth = len(version.ancestors(loop.id)) + 1
    for stage in stages:
        if loop.id not in version.ancestors(stage._id):
            raise SchedulingError(f"a stage of loop {loop.variable} begins with a statement of its body", place=stage)
        position = version.position(version.path(stage._id)[depth])
        if begins and position <= begins[-1]:
            raise SchedulingError(
                f"the stages of loop {loop.variable} come in the order of its body, each with statements of its own",
                place=stage,
            )
        begins.append(position)
    return [0, *begins[1:]]


def _default_begins(loop: For) -> list[int]:
    """The positions at which stages begin: as many as can be."""
    begins: list[int] = [0]
    reach = -1
    does_something = False
    for position, statement in enumerate(loop.body):
        if does_something and position > reach:
            begins.append(position)
            does_something = False
        if isinstance(statement, Alloc):
            reach = max(reach, _last_use(loop, statement))
        does_something = does_something or not isinstance(statement, (Alloc, Check, Pass))
    if not does_something and len(begins) > 1:
        begins.pop()  # what does nothing is no stage
    return begins


def _last_use(loop: For, alloc: Alloc) -> int:
    """The position of the last statement of a body that uses a buffer that is allocated there."""
    used = [
        position
        for position, statement in enumerate(loop.body)
        for s in walk((statement,))
        if alloc.buffer in buffers_named(s) or (isinstance(s, Alloc) and host_of(s) == alloc.buffer)
    ]
    return max(used)


# Folds ----------------------------------------------------------------------------------------------------------------


def _widen_folds(edit: Edit, version: Version, loop: For) -> tuple[int, ...]:
    """Make folds large enough for the stages of a loop to overlap; the allocations of which that changes anything."""
    widened: list[int] = []
    for identity, (d, factors) in folds_needed(version, loop).items():
        alloc = version.statement(identity)
        assert isinstance(alloc, Alloc)
        old = alloc.folds[d]
        assert old is not None
        known = version.facts_at(identity)
        factor = simplify(maximum(old, *factors), known)
        if factor is not old:
            edit.update(with_folds(alloc, (*alloc.folds[:d], factor, *alloc.folds[d + 1 :])))
            widened.append(identity)
    return tuple(widened)
