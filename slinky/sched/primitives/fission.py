"""Loops taken apart: one loop becomes two, one after the other.

All iterations of the first part come before all of the second, where they came in turn. What each part does in an
iteration is what it did; that it still finds what it reads, and that no fold lets go of it on the way, is proved like
anything else. A buffer that both parts use must live outside of the loop.
"""

from __future__ import annotations

from typing import Any

from slinky.cursors.cursors import GapCursor, LoopCursor, statement_cursor
from slinky.cursors.editing import Edit
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.copies import with_body, with_identity
from slinky.ir.effects import calls_in
from slinky.ir.statements import Alloc, Block, For, fresh_identity
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import ALL_BUT_CHECKS, PARTS_IN_TURN, Kept, Obligation
from slinky.sched.operation import sched_op
from slinky.sched.primitives.rewriting import buffers_used, require_levels
from slinky.sched.remedies import PlaceOf, first
from slinky.sched.returned import FissionLoopCursors


@sched_op(FissionLoopCursors)
def fission_loop(p: Pipeline, gap: GapCursor, levels: int = 1) -> Any:
    """Split a loop around a gap into two loops: what stands before the gap in all iterations, then what is behind it.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.blur(), "blur.x", 8)
        >>> p, at = compute_at(p, "scale", "for x", rc=True)
        >>> print(at.loop)
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        >   for x in out.x.min..out.x.max step 8:
              scaled[x - 1 .. x + 8] = scale(inp[x - 1 .. x + 8])
              out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        >>> p, parts = fission_loop(p, at.call.after(), rc=True)
        >>> print(parts.second)
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
            for x in out.x.min..out.x.max step 8:
              scaled[x - 1 .. x + 8] = scale(inp[x - 1 .. x + 8])
        >   for x in out.x.min..out.x.max step 8:
              out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])

    Loops that are parallel stay so, both of them.

    Parameters:
        gap: a place in the body of a loop, such as `call.after()`.
        levels: how many of the loops around the gap are split, at least 1: from the innermost outwards.

    Refused: a gap that has nothing on one side, or that is not in so many loops; a buffer that is allocated before the
    gap and used behind it (`lift_alloc` first); an order in which something is not shown to find what it reads, or a
    fold that does not hold what all iterations write (`unfold_storage` first).

    Cursors:
        first: the first loop, which keeps its identity; of several levels, the outermost.
        gap: the place between the two loops.
        second: the second loop.
    """
    version = p._version
    require_levels(levels)
    loops = _loops(version, gap, levels)
    before, after = _sides(version, gap)
    crossing: list[tuple[Alloc, int]] = []
    for n, loop in enumerate(loops):
        before, after, shared = _sorted(before, after)
        if not before:
            raise _nothing("before", gap)
        crossing += [(alloc, len(loops) - n) for alloc in shared]
        one, other = with_body(loop, before), with_identity(with_body(loop, after), fresh_identity())
        if n + 1 < len(loops):
            around, at = loops[n + 1].body, version.position(loop.id)
            before, after = (*around[:at], one), (other, *around[at + 1 :])
    if crossing:
        raise _crossing(version, crossing, loops[-1])
    edit = Edit(version)
    edit.replace(loops[-1].id, (one, other))
    new = settle(edit, "fission_loop", *_kept(one, other))
    changed = new._version
    return new, (LoopCursor(changed, one.id), GapCursor(changed, one.id, False), LoopCursor(changed, other.id))


def _kept(first: For, second: For) -> tuple[Kept, ...]:
    """What the two loops keep: of what the second one writes and the first one reads, nothing."""
    read = {buffer for call in calls_in((first,)) for buffer in call.reads}
    written = {buffer for call in calls_in((second,)) for buffer in call.writes}
    late = tuple(call.id for call in calls_in((second,)) if not read.isdisjoint(call.writes))
    early = tuple(call.id for call in calls_in((first,)) if not written.isdisjoint(call.reads))
    proved = (Obligation.READS, Obligation.READERS, Obligation.FOLDS)
    return (
        Kept(PARTS_IN_TURN, tuple(o for o in ALL_BUT_CHECKS if o not in proved)),
        Kept(PARTS_IN_TURN, (Obligation.READS,), but_for=early),
        Kept(PARTS_IN_TURN, (Obligation.READERS,), but_for=late),
    )


def _loops(version: Version, gap: GapCursor, levels: int) -> list[For]:
    """So many loops around a gap, innermost first."""
    found: list[For] = []
    for identity in version.ancestors(gap._id)[:levels]:
        statement = version.statement(identity)
        if not isinstance(statement, For):
            raise _in_an_if(version, identity)
        found.append(statement)
    if len(found) < levels:
        there = "no loop" if not found else f"{len(found)} loop{'s' if len(found) > 1 else ''}"
        raise SchedulingError(f"the gap stands in {there}, not in {levels}", place=gap)
    return found


def _in_an_if(version: Version, identity: int) -> SchedulingError:
    return SchedulingError(
        "the gap stands in an if in the loop",
        place=statement_cursor(version, identity),
        remedies=lambda: [first("move the if out of the loop first", ("lift_if", PlaceOf(identity)))],
    )


def _sides(version: Version, gap: GapCursor) -> tuple[Block, Block]:
    """What stands before a gap in its block, and behind it. Raises `SchedulingError` where that is nothing."""
    entry = version.entries[gap._id]
    block = version.block(entry.parent, entry.field)
    at = version.position(gap._id) + (0 if gap._is_before else 1)
    if at in (0, len(block)):
        raise _nothing("behind" if at else "before", gap)
    return block[:at], block[at:]


def _nothing(side: str, gap: GapCursor) -> SchedulingError:
    return SchedulingError(f"nothing stands {side} the gap in its loop", place=gap)


def _sorted(before: Block, after: Block) -> tuple[Block, Block, list[Alloc]]:
    """Two parts of a block, so that allocations before the gap that are used behind it alone stand there; and those
    that are used on both sides."""
    behind, shared = buffers_used(after), []
    moving: list[Alloc] = []
    for n in reversed(range(len(before))):
        alloc = before[n]
        if isinstance(alloc, Alloc) and alloc.buffer in behind:
            if alloc.buffer in buffers_used(tuple(s for s in before[n + 1 :] if s not in moving)):
                shared.append(alloc)
            else:
                moving.append(alloc)
                behind |= buffers_used((alloc,))
    ids = {alloc.id for alloc in moving}
    return tuple(s for s in before if s.id not in ids), (*reversed(moving), *after), shared[::-1]


def _crossing(version: Version, crossing: list[tuple[Alloc, int]], loop: For) -> SchedulingError:
    """The refusal of buffers that are allocated before a gap and used on both sides; each with its levels of loops."""
    alloc, _ = crossing[0]
    steps = [("lift_alloc", PlaceOf(a.id), levels) for a, levels in crossing]
    return SchedulingError(
        f"{alloc.buffer} is allocated in loop {loop.variable} and used on both sides of the gap",
        place=statement_cursor(version, alloc.id),
        remedies=lambda: [first("lift the allocation first", *steps)],
    )
