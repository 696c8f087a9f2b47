"""Primitives on blocks of statements."""

from __future__ import annotations

from typing import Any

from slinky.cursors.cursors import BlockCursor
from slinky.cursors.editing import Edit, Gap
from slinky.errors import SchedulingError
from slinky.ir.effects import buffers_named
from slinky.ir.statements import Alloc, Check, Statement, walk
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import ALL_BUT_CHECKS, SWAPPED, Kept, Obligation
from slinky.sched.legality.touches import calls_inside
from slinky.sched.operation import sched_op
from slinky.sched.returned import ReorderStatementsCursors

_PROVED = (Obligation.READS, Obligation.FOLDS)
_KEPT = Kept(SWAPPED, tuple(o for o in (Obligation.CHECKS, *ALL_BUT_CHECKS) if o not in _PROVED))


@sched_op(ReorderStatementsCursors)
def reorder_statements(p: Pipeline, block: BlockCursor) -> Any:
    """Swap two neighbouring statements.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = examples.two_branches()
        >>> print(p.find("left").expand(after=2))
          pipeline join(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min
            check out.x.max <= inp.x.max
            alloc l: float32[out.x.min..out.x.max]
        >   l[:] = left(inp[:])
        >   alloc r: float32[out.x.min..out.x.max]
        >   r[:] = right(inp[:])
            out[:] = join(l[:], r[:])
        >>> p, (block,) = reorder_statements(p, p.find("left").expand(after=1), rc=True)
        >>> print(block)
          pipeline join(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min
            check out.x.max <= inp.x.max
            alloc l: float32[out.x.min..out.x.max]
        >   alloc r: float32[out.x.min..out.x.max]
        >   l[:] = left(inp[:])
            r[:] = right(inp[:])
            out[:] = join(l[:], r[:])

    Refused: more or fewer than two statements; an allocation behind a statement that uses the buffer, or before one
    that has another buffer of its name inside; a check behind a statement that may rely on it; a call that is not shown
    to find what it reads.

    Cursors:
        block: the two statements, in their new order.
    """
    version = p._version
    ids = block._ids()
    if len(ids) != 2:
        raise SchedulingError(f"two neighbouring statements swap, got {len(ids)}", place=block)
    first, second = (version.statement(i) for i in ids)
    used = {name for call in calls_inside(version, second.id) for name in buffers_named(call)}
    if isinstance(first, Alloc) and first.buffer in used:
        raise SchedulingError(f"the second statement uses {first.buffer}, which the first one allocates", place=block)
    if isinstance(second, Alloc) and _allocates(first, second.buffer):
        raise SchedulingError(f"the first statement has a {second.buffer} of its own inside", place=block)
    if isinstance(first, Check) and not isinstance(second, (Check, Alloc)):
        raise SchedulingError("the second statement may rely on the check", place=block)
    if isinstance(second, Check) and not isinstance(first, (Check, Alloc)):
        raise SchedulingError("a check must not come before a statement that would then not run", place=block)
    edit = Edit(version)
    edit.move(second.id, Gap.before(first.id))
    inside = tuple(call.id for call in (*calls_inside(version, second.id), *calls_inside(version, first.id)))
    new = settle(edit, "reorder_statements", _KEPT, Kept(SWAPPED, _PROVED, but_for=inside))
    changed = new._version
    return new, (BlockCursor(changed, second.id, first.id),)


def _allocates(statement: Statement, buffer: str) -> bool:
    """Whether a buffer of this name is allocated in a statement."""
    return any(isinstance(s, Alloc) and s.buffer == buffer for s in walk((statement,)))
