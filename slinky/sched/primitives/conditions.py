"""Primitives on conditions: an `if` moves out of a loop that does not change its condition; a block stands there twice,
where a condition holds and where it does not.

Either way the same happens in the same order: each block runs where it ran, with what is known there.
"""

from __future__ import annotations

from typing import Any

from slinky.cursors.cursors import BlockCursor, IfCursor, statement_cursor
from slinky.cursors.editing import Edit, Gap
from slinky.cursors.versions import Version
from slinky.errors import OperationError, SchedulingError, cited
from slinky.ir.copies import with_block, with_body, with_identity
from slinky.ir.statements import Alloc, Block, For, If, Pass, fresh_identity
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import ALL_BUT_CHECKS, SAME_ORDER, Kept, Obligation
from slinky.sched.operation import sched_op
from slinky.sched.primitives.rewriting import buffers_used, require_divisors, require_known_symbols
from slinky.sched.primitives.simplification import simplified
from slinky.sched.returned import LiftIfCursors, SpecializeCursors
from slinky.symbolic.bounds import decide
from slinky.symbolic.conditions import negate
from slinky.symbolic.expressions import TRUE, Condition, Truth
from slinky.symbolic.traversal import symbols

_KEPT = Kept(SAME_ORDER, tuple(o for o in ALL_BUT_CHECKS if o is not Obligation.POSITIVE))


@sched_op(LiftIfCursors)
def lift_if(p: Pipeline, if_: IfCursor) -> Any:
    """Move an `if` out of the loop around it: both of its branches get the loop.

        >>> import slinky as sl
        >>> import examples  # small pipelines, in the repository of slinky
        >>> p, (outer, _, _) = split_loop(examples.blur(), "blur.x", 8, rc=True)
        >>> p, (if_,) = specialize(p, "blur", sl.scalar("n") <= 0, rc=True)
        >>> print(if_)
          pipeline blur(inp: float32[1], n) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
            scaled[:] = scale(inp[:])
            for x in out.x.min..out.x.max step 8:
        >     if n <= 0:
                out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        >     else:
                out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        >>> p, (if_,) = lift_if(p, if_, rc=True)
        >>> print(if_)
          pipeline blur(inp: float32[1], n) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
            scaled[:] = scale(inp[:])
        >   if n <= 0:
              for x in out.x.min..out.x.max step 8:
                out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        >   else:
              for x in out.x.min..out.x.max step 8:
                out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])

    What else stands in the loop stands in both branches then. The branch for which the condition holds keeps the
    identities, the other one has copies.

    Refused: an `if` that is not in a loop; a condition that depends on the loop, or divides by what is not shown to be
    at least 1 outside of it.

    Cursors:
        if_: the `if`.
    """
    version, old = p._version, if_._if
    parent = version.entries[old.id].parent
    loop = version.entries[parent].statement if parent in version.entries else None
    if not isinstance(loop, For):
        raise SchedulingError("the if does not stand in a loop", place=if_)
    if loop.variable in symbols(old.condition):
        raise SchedulingError(f"the condition depends on loop {loop.variable}", place=if_)
    edit = Edit(version)
    at = version.position(old.id)
    before, after = loop.body[:at], loop.body[at + 1 :]
    body = with_body(loop, (*before, *old.body, *after))
    orelse: Block = ()
    rest = (*(edit.duplicate(s.id) for s in before), *old.orelse, *(edit.duplicate(s.id) for s in after))
    if not all(isinstance(s, (Alloc, Pass)) for s in rest):
        orelse = (with_identity(with_body(loop, rest), fresh_identity()),)
    edit.replace(loop.id, (with_block(with_block(old, "body", (body,)), "orelse", orelse),))
    new = settle(edit, "lift_if", _KEPT)
    return new, (IfCursor(new._version, old.id),)


@sched_op(SpecializeCursors)
def specialize(p: Pipeline, block: BlockCursor, condition: Condition) -> Any:
    """Let a block stand there twice: where a condition holds, and where it does not.

    What the condition decides is gone: in the first, which may assume it, and in the second, which may assume the
    contrary.

        >>> import slinky as sl
        >>> import examples  # small pipelines, in the repository of slinky
        >>> p, (outer, inner, _) = split_loop(split_loop(examples.blur(), "blur.x", 8), "for x", 2, rc=True)
        >>> print(outer)
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
            scaled[:] = scale(inp[:])
        >   for x_outer in out.x.min..out.x.max step 16:
              for x in x_outer .. min(out.x.max, x_outer + 8) step 8:
                out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        >>> (first,) = sl.variables("x_outer")
        >>> p, (if_,) = specialize(p, inner, first + 15 <= outer.bounds().max, rc=True)
        >>> print(unroll_loop(p, inner).find("for x_outer"))
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
            scaled[:] = scale(inp[:])
        >   for x_outer in out.x.min..out.x.max step 16:
              if x_outer <= out.x.max - 15:
                out[x_outer .. x_outer + 7] = blur(scaled[x_outer - 1 .. x_outer + 8])
                out[x_outer + 8 .. x_outer + 15] = blur(scaled[x_outer + 7 .. x_outer + 16])
              else:
                for x in x_outer .. min(out.x.max, x_outer + 8) step 8:
                  out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])

    Parameters:
        block: the statements. Buffers that are allocated among them are used there alone.
        condition: a condition on scalars, on bounds of inputs and outputs (`p.args()`), or on the loops around, such as
            `sl.scalar("n") <= 8` or `sl.equal(sl.scalar("n"), 8)`. A scalar that the pipeline does not have yet becomes
            a parameter.

    Refused: a condition that always holds, or never does; a buffer that is allocated in the block, and used behind it;
    a check in the block.

    Cursors:
        if_: the `if`. The block for which the condition holds keeps its identities, the other one is a copy.
    """
    version = p._version
    if not isinstance(condition, Condition):
        raise OperationError(f"expected a condition, such as sl.scalar('n') <= 8, got {cited(condition)}")
    around, known = version.loops_around(block._first), version.facts_at(block._first)
    edit = Edit(version)
    require_known_symbols(version, condition, "the condition", around)
    edit.add_scalars(symbols(condition))
    require_divisors(edit, condition, "the condition", known)
    decided = decide(condition, known)
    if isinstance(decided, Truth):
        raise SchedulingError(f"the condition {'always' if decided is TRUE else 'never'} holds here", place=block)
    statements = tuple(version.statement(i) for i in block._ids())
    _require_own_buffers(version, block, statements)
    copies = tuple(edit.duplicate(s.id) for s in statements)
    new_if = If(
        condition, simplified(statements, known.also(condition)), simplified(copies, known.also(negate(condition)))
    )
    edit.insert(Gap.before(block._first), (marker := Pass(),))
    for s in statements:
        edit.delete(s.id)
    edit.replace(marker.id, (new_if,))
    new = settle(edit, "specialize", _KEPT)
    return new, (IfCursor(new._version, new_if.id),)


def _require_own_buffers(version: Version, block: BlockCursor, statements: Block) -> None:
    """Raise `SchedulingError` if a buffer that is allocated in a block is used behind it."""
    entry = version.entries[block._last]
    behind = version.block(entry.parent, entry.field)[version.position(block._last) + 1 :]
    used = buffers_used(behind)
    for alloc in statements:
        if isinstance(alloc, Alloc) and alloc.buffer in used:
            raise SchedulingError(
                f"{alloc.buffer} is allocated in the block, and used behind it",
                place=statement_cursor(version, alloc.id),
                hint="let the block reach to the last statement that uses it, or begin behind the allocation",
            )
