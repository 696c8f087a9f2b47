"""Folded buffers that carry nothing from one iteration of their loop to the next.

Where each iteration reads only what it has written itself, the windows on a fold never overlap. Then nothing wraps
around, and the buffer may as well be one that each iteration has for itself: a plain array, found before the loop,
instead of a window that is asked for in each call. So plans, before anything else, put its allocation into the loop.

What is asked of a program for that is little, for it is a legal one: whatever is read lies within the bounds of the
buffer, and has been written. One call in the loop writes the buffer, and nothing else; and the box of that call, as
written, holds what the others read of it. A call is clamped to the bounds of its outputs alone, so what is read within
these bounds has been written by that call, in the same iteration.

Invariant: the new program reads the same values as the given one, in the same order of calls.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from slinky.ir.copies import with_body
from slinky.ir.effects import read_by, written_by
from slinky.ir.regions import input_regions
from slinky.ir.sharing import guests_in, host_of
from slinky.ir.statements import Alloc, Block, Call, For, Program, Serial, Statement
from slinky.runtime.lifetimes import buffers_named_inside
from slinky.symbolic.expressions import Expr, Max, Min, constant, constant_value
from slinky.symbolic.intervals import Box, intersection


def without_carried_folds(program: Program) -> Program:
    """The program with each folded buffer that carries nothing allocated in its loop, and not folded."""
    body = _in_block(program.body)
    return program if body is program.body else attrs.evolve(program, body=body)


def _in_block(block: Block) -> Block:
    """A block, and the loops in it. The same one if there is nothing to do."""
    found = tuple(_in_loop(s) if isinstance(s, For) else s for s in block)
    hosts = guests_in(block)
    allocs = [s for s in found if isinstance(s, Alloc) and any(fold is not None for fold in s.folds)]
    users = _users(found) if allocs else {}
    moved: set[int] = set()
    going = _Going()
    for alloc in allocs:
        if alloc.buffer not in hosts and host_of(alloc) is None:
            others = [s for s in users[alloc.buffer] if s is not alloc]
            if len(others) == 1 and going.takes(alloc, others[0]):
                moved.add(id(alloc))
    if moved:
        found = going.into(tuple(s for s in found if id(s) not in moved))
    is_as_before = len(found) == len(block) and all(a is b for a, b in zip(block, found, strict=True))
    return block if is_as_before else found


def _in_loop(loop: For) -> For:
    body = _in_block(loop.body)
    return loop if body is loop.body else with_body(loop, body)


def _users(block: Block) -> dict[str, list[Statement]]:
    """The statements of a block that name each buffer, here or in blocks inside."""
    users: dict[str, list[Statement]] = {}
    for statement in block:
        for buffer in dict.fromkeys(buffers_named_inside(statement)):
            users.setdefault(buffer, []).append(statement)
    return users


class _Going:
    """The allocations of a block that go into its loops: who uses what in a loop is found once for all of them, and
    each loop is made anew once."""

    def __init__(self) -> None:
        self._users: dict[int, dict[str, list[Statement]]] = {}
        self._before: dict[int, Alloc] = {}
        """What is allocated before which call."""
        self._loops: set[int] = set()
        """The loops that change."""

    def takes(self, alloc: Alloc, loop: Statement) -> bool:
        """Whether each iteration of a loop may have a buffer for itself; so it will then. False where the loop may
        carry something, and where it is none."""
        loops: list[int] = []
        while isinstance(loop, For) and isinstance(loop.mode, Serial):
            loops.append(id(loop))
            if id(loop) not in self._users:
                self._users[id(loop)] = _users(loop.body)
            users = self._users[id(loop)][alloc.buffer]
            if len(users) > 1 or not isinstance(users[0], For):
                return self._takes(alloc, users, loops)
            loop = users[0]
        return False

    def _takes(self, alloc: Alloc, users: Sequence[Statement], loops: Sequence[int]) -> bool:
        writer, *readers = users
        if not isinstance(writer, Call) or writer.writes != (alloc.buffer,) or alloc.buffer in writer.reads:
            return False
        written = _written(writer)
        if (
            written is None
            or not _fits(alloc, written)
            or not all(_reads_within(alloc.buffer, written, reader) for reader in readers)
        ):
            return False
        self._before[id(writer)] = _own(alloc, written)
        self._loops.update(loops)
        return True

    def into(self, block: Block) -> Block:
        """A block, with each allocation right before the call that writes it."""
        made: list[Statement] = []
        for statement in block:
            alloc = self._before.get(id(statement))
            if alloc is not None:
                made.append(alloc)
            if isinstance(statement, For) and id(statement) in self._loops:
                statement = with_body(statement, self.into(statement.body))
            made.append(statement)
        return tuple(made)


def _written(writer: Call) -> Box | None:
    """What a call writes where nothing clamps it but the bounds of what it writes; None if something else does."""
    (port,) = writer.func.outputs
    is_all = sorted(port.dims) == list(range(len(writer.func.dims)))
    return tuple(writer.box[dim] for dim in port.dims) if is_all and not writer.func.part else None


def _fits(alloc: Alloc, written: Box) -> bool:
    """Whether what is written is seen to be no longer than the folds: where it might be, a run says so."""
    folded = ((i, fold) for i, fold in zip(written, alloc.folds, strict=True) if fold is not None)
    return all(_is_not_more(i.max, i.min + fold - 1) and _is_not_more(constant(1), fold) for i, fold in folded)


def _reads_within(buffer: str, written: Box, reader: Statement) -> bool:
    """Whether a statement is a call that reads a buffer, and nothing but what has been written."""
    if not isinstance(reader, Call) or buffer in written_by(reader):
        return False
    regions = zip(read_by(reader), input_regions(reader.func, reader.box), strict=True)
    return all(_is_within(region, written) for name, region in regions if name == buffer)


def _is_within(region: Box, written: Box) -> bool:
    return all(
        _is_not_more(outer.min, inner.min) and _is_not_more(inner.max, outer.max)
        for inner, outer in zip(region, written, strict=True)
    )


def _is_not_more(a: Expr, b: Expr) -> bool:
    """Whether two ends, or what they are chosen from, are apart by numbers: no proof is worth its time here."""
    apart = constant_value(b - a)
    if apart is not None:
        return apart >= 0
    if isinstance(a, Max):
        return all(_is_not_more(operand, b) for operand in a.operands)
    if isinstance(b, Min):
        return all(_is_not_more(a, operand) for operand in b.operands)
    if isinstance(a, Min):
        return any(_is_not_more(operand, b) for operand in a.operands)
    return isinstance(b, Max) and any(_is_not_more(a, operand) for operand in b.operands)


def _own(alloc: Alloc, written: Box) -> Alloc:
    """The buffer of one iteration: along folded dimensions, what the iteration writes."""
    dims = zip(written, alloc.box, alloc.folds, strict=True)
    box = tuple(i if fold is None else intersection(own, i) for own, i, fold in dims)
    return attrs.evolve(alloc, box=box, folds=(None,) * len(box))
