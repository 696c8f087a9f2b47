"""Which buffers of states need room for one state alone?

A reduction by pieces of one element writes what is known after a piece, and reads what was known before it, of the same
element (see `ir.combined`). So what it writes may take the place of what it read, if nothing else reads that later, and
no update is done twice.

Invariant: of a buffer found here, each element is begun once, then updated once for each piece, in order, and what
reads it besides reads what is known after the last piece. Coverage says in which order that is; here it is shown that
no call comes to an element again: each loop around it, up to the allocation, steps over all that the call writes in one
of its iterations, along one dimension.
"""

from __future__ import annotations

from collections.abc import Iterator

from slinky.ir.combined import formula_of
from slinky.ir.operations import Accumulation, Stage
from slinky.ir.scopes import Scope, program_scope
from slinky.ir.statements import Alloc, Block, Call, For, Parallel, Program, blocks_of
from slinky.symbolic.expressions import Expr, equal
from slinky.symbolic.intervals import Interval
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import substitute, symbols


def states_in_place(program: Program) -> frozenset[str]:
    """The names of buffers of which one state is enough: all that are called so."""
    found: dict[str, bool] = {}
    for alloc, block, scope in _allocs(program.body, program_scope(program)):
        if any(fold is not None for fold in alloc.folds):
            found[alloc.buffer] = found.get(alloc.buffer, True) and _is_in_place(alloc, block, scope)
    return frozenset(name for name, holds in found.items() if holds)


def _allocs(block: Block, scope: Scope) -> Iterator[tuple[Alloc, Block, Scope]]:
    """Each allocation, what stands behind it in its block, and what is known there."""
    for position, statement in enumerate(block):
        scope = scope.after(statement)
        if isinstance(statement, Alloc):
            yield statement, block[position + 1 :], scope
        for field, inner in blocks_of(statement):
            yield from _allocs(inner, scope.enter(statement, field))


def _is_in_place(alloc: Alloc, block: Block, scope: Scope) -> bool:
    calls = list(_calls(alloc.buffer, block, scope))
    begun = [each for each in calls if _stage(each[0], alloc.buffer) is Stage.INIT]
    updated = [each for each in calls if _stage(each[0], alloc.buffer) is Stage.UPDATE]
    others = [each for each in calls if _stage(each[0], alloc.buffer) is Stage.FINISH]
    if len(begun) != 1 or len(updated) != 1 or len(begun) + len(updated) + len(others) != len(calls):
        return False
    last = next((each.last for each in updated[0][0].func.part if each.dim == 0), None)
    if last is None:
        return False
    for call, within in others:
        if not prove(equal(call.func.inputs[0].box[0].min, last), within.known):
            return False
    return all(_is_once(call, within) for call, within in (*begun, *updated))


def _calls(buffer: str, block: Block, scope: Scope) -> Iterator[tuple[Call, Scope]]:
    """The calls that have to do with a buffer; of their scopes, the loops are those around them in the block."""
    outside = len(scope.loops)
    for call, within in _calls_inside(buffer, block, scope):
        yield call, Scope(within.boxes, within.allocs, within.loops[outside:], within.known)


def _calls_inside(buffer: str, block: Block, scope: Scope) -> Iterator[tuple[Call, Scope]]:
    for statement in block:
        scope = scope.after(statement)
        if isinstance(statement, Call) and buffer in (*statement.reads, *statement.writes):
            yield statement, scope
        for field, inner in blocks_of(statement):
            yield from _calls_inside(buffer, inner, scope.enter(statement, field))


def _stage(call: Call, buffer: str) -> Stage | None:
    """The stage of a reduction by elements that a call is, of which the buffer is the state; None if it is none."""
    operation = call.func.operation
    if not isinstance(operation, Accumulation) or formula_of(call.func) is None:
        return None
    if any(port.view is not None for port in call.func.ports):
        return None
    wanted: tuple[tuple[str, ...], bool] = {
        Stage.INIT: ((), True),
        Stage.UPDATE: ((buffer,), True),
        Stage.FINISH: ((buffer,), False),
    }.get(operation.stage, ((), False))
    read, is_written = wanted
    if call.reads[: len(read)] != read or buffer in call.reads[len(read) :]:
        return None
    return operation.stage if (call.writes == (buffer,)) == is_written else None


def _is_once(call: Call, scope: Scope) -> bool:
    """Whether no two iterations of the loops around a call let it write the same element."""
    spans = list(call.box)
    for loop in reversed(scope.loops):
        if isinstance(loop.mode, Parallel):
            return False
        d = next((d for d, span in enumerate(spans) if _goes_along(span, loop, scope.known)), None)
        if d is None:
            return False
        last = loop.range.min + loop.step * ((loop.range.max - loop.range.min) // loop.step)
        lo, hi = (
            substitute(e, {loop.variable: at}) for e, at in ((spans[d].min, loop.range.min), (spans[d].max, last))
        )
        spans[d] = Interval(lo, hi)
        if any(loop.variable in symbols(e) for span in spans for e in (span.min, span.max)):
            return False
    return True


def _goes_along(span: Interval, loop: For, known: Facts) -> bool:
    """Whether an interval moves with a loop by its step, which is as long as that at least."""
    offset: Expr = span.min - loop.variable
    if loop.variable in symbols(offset):
        return False
    return prove(span.max < span.min + loop.step, known)
