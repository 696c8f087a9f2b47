"""Which buffers may share memory because a call works in place?

A call that reads a buffer for the last time may write its output over it, if its callback works in place, reads the
buffer at just the points that it writes, and both buffers have the same dtype and the same box. The output then *takes
over* the memory. Along a chain of such calls one buffer after the other does. Where the last of them writes an output
of the pipeline, all of them may lie in that output. A buffer that the program itself puts into the memory of another
one of the same block, which is like it (see `ir.sharing`), is such a chain, too, that others may take further.

Invariant: the call stands in the block of both allocations, so it runs once for each time they are made; all that
touches the buffer that is taken over comes before it, and all that touches the other comes with it or after it. An
output that holds buffers is touched by that one call alone, and iterations of a parallel loop write different elements
of it: others would see each other's intermediates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from slinky.ir.effects import buffers_named, dims_written
from slinky.ir.scopes import Scope, loop_facts, one_before_the_other, over_loops, program_scope
from slinky.ir.sharing import host_of, in_place_pairs
from slinky.ir.statements import (
    SERIAL,
    Alloc,
    Block,
    Call,
    For,
    Program,
    blocks_of,
    walk,
)
from slinky.runtime.lifetimes import buffers_named_inside, guests, once_per_block, releases
from slinky.symbolic.proofs import Facts


@once_per_block
def taken_over(block: Block) -> dict[int, int]:
    """For each allocation of a block that takes over memory, the first allocation that has that memory; identities.

    Allocations of the blocks inside are not looked at.
    """
    fresh = {s.buffer: s for s in block if isinstance(s, Alloc) and _is_plain(s)}
    allocs = dict(fresh)
    first = {s.id: allocs[host].id for s in allocs.values() if (host := _host_alike(s, allocs)) is not None}
    followed, preceded = _neighbours(block)
    fresh = {name: s for name, s in fresh.items() if host_of(s) is None and name not in preceded}
    last_uses = releases(block) if fresh else {}
    for position, statement in enumerate(block):
        if not fresh:
            break
        if isinstance(statement, Call):
            dying = last_uses.get(position, ())
            for read, written in in_place_pairs(statement):
                if read in dying and read in allocs and written in fresh and read not in followed:
                    if not _alike(allocs[read], fresh[written]):
                        continue
                    _take_over(first, allocs[read].id, fresh[written].id)
                    break  # one output only: a second one could be written before the first is read
        if not isinstance(statement, Alloc):
            for name in buffers_named_inside(statement):
                fresh.pop(name, None)
    return first


def _take_over(first: dict[int, int], read: int, written: int) -> None:
    """Let an allocation, and all that lie where it does, lie where another one does."""
    home = first.get(read, read)
    first.update({other: home for other, at in first.items() if at == written})
    first[written] = home


def _host_alike(alloc: Alloc, allocs: Mapping[str, Alloc]) -> str | None:
    """The buffer among some in whose memory an allocation lies, if that is like it."""
    host = host_of(alloc)
    return host if host is not None and host in allocs and _alike(alloc, allocs[host]) else None


@once_per_block
def _neighbours(block: Block) -> tuple[frozenset[str], frozenset[str]]:
    """Of the buffers that a block allocates, those in whose memory another one lies after them, and before them.

    Those in the memory of a buffer that is allocated further out are alone with it here: what shares that, and is used
    in the same statement of its block, is allocated in that block, too (see `sched.legality.memory`).
    """
    groups = {host: {guest.alloc.buffer for guest in these} for host, these in guests(block).items()}
    followed: set[str] = set()
    preceded: set[str] = set()
    for host, group in groups.items():
        spans: dict[str, tuple[int, int]] = {}
        for position, statement in enumerate(block):
            if not isinstance(statement, Alloc):
                for name in {host, *group}.intersection(buffers_named_inside(statement)):
                    spans[name] = (spans.get(name, (position, 0))[0], position)
        for name, (begin, end) in spans.items():
            if any((last, first) > (end, begin) for first, last in spans.values()):
                followed.add(name)
            if any((first, last) < (begin, end) for first, last in spans.values()):
                preceded.add(name)
    return frozenset(followed), frozenset(preceded)


def in_outputs(program: Program) -> dict[int, Call]:
    """The allocations that may lie in an output, by identity, and the call that writes it over the last of them.

    They may if the call writes just the box that they have, and the output is laid out like an intermediate. Only
    callbacks that work in place touch them: others may count on the alignment that intermediates have.
    """
    touched = Counter(name for s in walk(program.body) if isinstance(s, Call) for name in buffers_named(s))
    outputs = {p.name: p.dtype for p in program.outputs if touched[p.name] == 1}
    found: dict[int, Call] = {}
    waiting: list[tuple[Block, Scope, tuple[Facts, ...]]] = [(program.body, program_scope(program), ())]
    while waiting:
        block, scope, before_loops = waiting.pop()
        for statement in block:
            before = (*before_loops, scope.known) if isinstance(statement, For) else before_loops
            waiting.extend((inner, scope.enter(statement, name), before) for name, inner in blocks_of(statement))
        allocs = {s.buffer: s for s in block if isinstance(s, Alloc) and _is_plain(s)}
        last_uses = releases(block) if allocs else {}
        first = taken_over(block) if allocs else {}
        followed, _ = _neighbours(block)
        calls = [s for s in walk(block) if isinstance(s, Call)] if allocs else []
        for position, statement in enumerate(block):
            if not isinstance(statement, Call) or len(statement.writes) != 1:
                continue
            for read, written in in_place_pairs(statement):
                last, dtype = allocs.get(read), outputs.get(written)
                if last is None or dtype is None or last.dtype != dtype or read not in last_uses.get(position, ()):
                    continue
                if read in followed:
                    continue
                site = first.get(last.id, last.id)
                group = {name: a.id for name, a in allocs.items() if first.get(a.id, a.id) == site}
                if all(
                    c.func.operation.in_place for c in calls if not group.keys().isdisjoint(buffers_named(c))
                ) and _iterations_are_apart(statement, scope.loops, before_loops):
                    found.update(dict.fromkeys(group.values(), statement))
                break
    return found


def _iterations_are_apart(call: Call, loops: Sequence[For], before: Sequence[Facts]) -> bool:
    """Whether a call of one output writes different elements in different iterations of the parallel loops around it.

    The loops are given outermost first, with what is known before each of them.
    """
    (dims,) = dims_written(call).values()
    for n, (loop, known) in enumerate(zip(loops, before, strict=True)):
        if loop.mode == SERIAL:
            continue
        inside = known.also(*loop_facts(loop))
        written = (over_loops(call.box[d], reversed(loops[n + 1 :]), inside) for d in dims)
        if not any(one_before_the_other([i], loop, known) for i in written):
            return False
    return True


def _is_plain(alloc: Alloc) -> bool:
    return alloc.layout is None and all(fold is None for fold in alloc.folds)


def _alike(a: Alloc, b: Alloc) -> bool:
    return a.dtype == b.dtype and a.box == b.box
