"""Pipelined loops: which statements each stage has, and what waits for what.

Idea. A loop with a sliding window is a chain: an iteration needs what the one before has left in the window. Its
iterations cannot run at the same time, but the calls of its body can, each in another iteration: while a consumer works
on row y, its producer is at row y + 1. So the body is cut into *stages*. A *task* is one stage of one iteration;
written (s, i), it waits for (s, i - 1), for (s - 1, i), and, if s is the first stage, for (last, i - depth).

Why nothing hangs. Let done(s) be how many iterations stage s has behind it; by the waits done(0) >= done(1) >= ... >=
done(last). If two neighbours differ, done(s - 1) > done(s), then task (s, done(s)) may begin. If none do, all are at
the same i, and (first, i) may begin, since (last, i - depth) is done and the depth is at least 1. So as long as
anything is left, some task runs or may begin, on however many threads: one is enough.

Why nothing races. Two tasks are in no order only if an earlier stage b is ahead of a later stage a: (b, i + k) and
(a, i), with b < a and 0 < k < depth; all others come one after the other, as they do in the serial loop. So if no such
two touch the same place in memory, one of them to write, then every read finds what it finds in the serial loop, and
the loop does what that does. `legality.stages` proves it, folds and all; the checked mode of the interpreter looks.

Invariant: everything that asks whether tasks are in order, and when one may begin, asks here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import attrs

from slinky.ir.effects import buffers_named
from slinky.ir.sharing import host_of
from slinky.ir.statements import Alloc, Block, For, Pipelined, Statement, walk

Task: TypeAlias = tuple[int, int]
"""A stage, and the number of an iteration, both from 0 on."""


def stages_of(loop: For) -> tuple[Block, ...]:
    """The body of a loop, in stages; all of it in one if it is not pipelined."""
    if not isinstance(loop.mode, Pipelined):
        return (loop.body,)
    return tuple(_cut(loop.body, loop.mode.stages))


def _cut(block: Block, lengths: Sequence[int]) -> Iterator[Block]:
    begin = 0
    for length in lengths:
        yield block[begin : begin + length]
        begin += length


@attrs.frozen
class Fault:
    """Why a loop cannot run in its stages: words, and the allocation of which they speak, if of one."""

    words: str
    alloc: Alloc | None = None


def fault_of(loop: For) -> Fault | None:
    """Why a pipelined loop cannot run in its stages, whatever they compute; None if it can, as far as that goes."""
    mode = loop.mode
    if not isinstance(mode, Pipelined):
        return None
    if sum(mode.stages) != len(loop.body):
        return Fault(
            f"loop {loop.variable} runs in stages of {_list(mode.stages)} statements, and its body has {len(loop.body)}"
        )
    stages = stages_of(loop)
    for n, stage in enumerate(stages):
        for alloc in stage:
            if not isinstance(alloc, Alloc):
                continue
            for other, block in enumerate(stages):
                if other != n and any(_uses(s, alloc.buffer) for s in walk(block)):
                    return Fault(
                        f"stage {other + 1} of loop {loop.variable} uses {alloc.buffer}, which stage {n + 1} allocates "
                        f"anew in each iteration",
                        alloc,
                    )
    return None


def _uses(statement: Statement, buffer: str) -> bool:
    if isinstance(statement, Alloc) and host_of(statement) == buffer:
        return True
    return buffer in buffers_named(statement)


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def may_begin(stage: int, done: Sequence[int], depth: int) -> bool:
    """Whether a stage that is not running may begin its next iteration; `done` says how many each has done."""
    if stage == 0:
        return done[0] - done[-1] < depth
    return done[stage] < done[stage - 1]


def are_in_order(one: Task, other: Task, depth: int) -> bool:
    """Whether one of two tasks waits for the other, or they are the same."""
    (_, i), (_, j) = sorted((one, other))  # of one stage, the earlier iteration comes first
    return not 0 < i - j < depth
