"""Which buffers may share memory because a call works in place?

A call that reads a buffer for the last time may write its output over it, if its callback works in place, reads the
buffer at just the points that it writes, and both buffers have the same dtype and the same box. The output then *takes
over* the memory. Along a chain of such calls one buffer after the other does.

Invariant: the call stands in the block of both allocations, so it runs once for each time they are made; all that
touches the buffer that is taken over comes before it, and all that touches the other comes with it or after it.
"""

from __future__ import annotations

from collections.abc import Iterator

from slinky.ir.statements import Alloc, Block, Call, InputAccess, LoweredFunc, OutputAccess, walk
from slinky.runtime.lifetimes import buffers_named, releases


def taken_over(block: Block) -> dict[int, int]:
    """For each allocation of a block that takes over memory, the first allocation that has that memory; identities.

    Allocations of the blocks inside are not looked at.
    """
    fresh = {s.buffer: s for s in block if isinstance(s, Alloc) and _is_plain(s)}
    allocs = dict(fresh)
    first: dict[int, int] = {}
    last_uses = releases(block) if fresh else {}
    for position, statement in enumerate(block):
        if not fresh:
            break
        if isinstance(statement, Call):
            dying = last_uses.get(position, ())
            for read, written in sharing(statement.func):
                if read in dying and read in allocs and written in fresh and _alike(allocs[read], fresh[written]):
                    first[fresh[written].id] = first.get(allocs[read].id, allocs[read].id)
                    break  # one output only: a second one could be written before the first is read
        for inner in walk((statement,)):
            if not isinstance(inner, Alloc):
                for name in buffers_named(inner):
                    fresh.pop(name, None)
    return first


def sharing(func: LoweredFunc) -> Iterator[tuple[str, str]]:
    """The buffers that a func reads and writes, in pairs, that may be the same memory if their dtypes and boxes agree.

    The func works in place, reads the one at just the points where it writes the other, and reads it nowhere else.
    """
    if not func.in_place:
        return
    for output in func.outputs:
        if len(output.dims) == len(func.dims):
            for buffer in dict.fromkeys(access.buffer for access in func.inputs):
                if all(_same_points(func, a, output) for a in func.inputs if a.buffer == buffer):
                    yield buffer, output.buffer


def _same_points(func: LoweredFunc, access: InputAccess, output: OutputAccess) -> bool:
    written = [func.dims[d] for d in output.dims]
    return len(access.box) == len(written) and all(
        i.min is dim and i.max is dim for i, dim in zip(access.box, written, strict=True)
    )


def _is_plain(alloc: Alloc) -> bool:
    return all(fold is None for fold in alloc.folds)


def _alike(a: Alloc, b: Alloc) -> bool:
    return a.dtype == b.dtype and a.box == b.box
