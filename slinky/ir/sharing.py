"""Which buffers lie in one memory, and which may, because a call works in place?

A *host* has memory of its own, *guests* lie in it (see `statements.Within`). The memory is there from the allocation of
the host to the last statement of its block that names any of them. It is as large as the largest of them, in any
iteration of the loops between: what it takes is known where the host is allocated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from slinky.ir.statements import (
    Alloc,
    Block,
    Call,
    For,
    InputPort,
    LoweredFunc,
    OutputPort,
    Within,
    asks_for_an_order,
    blocks_of,
)
from slinky.symbolic.bounds import bounds
from slinky.symbolic.expressions import Expr, maximum


@attrs.frozen
class Guest:
    """An allocation that lies in the memory of another, and the loops between the two, outermost first."""

    alloc: Alloc
    loops: tuple[For, ...]

    def extents(self) -> tuple[Expr, ...]:
        """The most that each dimension extends in any iteration of the loops."""
        return tuple([_largest(i.max - i.min + 1, self.loops) for i in self.alloc.box])


def host_of(alloc: Alloc) -> str | None:
    """The name of the buffer in whose memory an allocation lies; None if it has memory of its own."""
    return alloc.memory.host if isinstance(alloc.memory, Within) else None


def guests_in(block: Block) -> dict[str, tuple[Guest, ...]]:
    """For each buffer that a block allocates and in which others lie, these, in program order."""
    own = {s.buffer for s in block if isinstance(s, Alloc)}
    if not own:
        return {}
    found: dict[str, list[Guest]] = {}
    for guest in _guests(block, ()):
        host = host_of(guest.alloc)
        if host in own:
            found.setdefault(host, []).append(guest)
    return {host: tuple(guests) for host, guests in found.items()}


def _guests(block: Block, loops: tuple[For, ...]) -> Iterator[Guest]:
    """All guests in a block and in the blocks inside."""
    for statement in block:
        if isinstance(statement, Alloc) and isinstance(statement.memory, Within):
            yield Guest(statement, loops)
        inside = (*loops, statement) if isinstance(statement, For) else loops
        for _, inner in blocks_of(statement):
            yield from _guests(inner, inside)


def _largest(extent: Expr, loops: Iterable[For]) -> Expr:
    for loop in reversed(tuple(loops)):
        extent = bounds(extent, {loop.variable: loop.range}).max
    return maximum(extent, 0)


def in_place_pairs(call: Call) -> Iterator[tuple[str, str]]:
    """The buffers that a call reads and writes, in pairs, that may be the same memory if their dtypes and boxes agree.

    Its operation works in place, reads the one at just the points where it writes the other, and reads it nowhere else.
    What is taken in some order lies in memory of its own.
    """
    if call.func.operation.in_place and not asks_for_an_order(call.func):
        for written in call.writes:
            for read in dict.fromkeys(call.reads):
                if reads_where_it_writes(call, read, written):
                    yield read, written


def reads_where_it_writes(call: Call, read: str, written: str) -> bool:
    """Whether a call reads one buffer, by all ports that do, at just the points where it writes another."""
    func = call.func
    output = func.outputs[call.writes.index(written)]
    inputs = [port for name, port in zip(call.reads, func.inputs, strict=True) if name == read]
    if output.rank != len(func.dims) or not inputs:
        return False
    return all(_same_points(func, port, output) for port in inputs)


def _same_points(func: LoweredFunc, read: InputPort, output: OutputPort) -> bool:
    written = [func.dims[d] for d in output.dims]
    return read.rank == len(written) and all(
        i.min is dim and i.max is dim for i, dim in zip(read.box, written, strict=True)
    )
