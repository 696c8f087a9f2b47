"""Which allocations share an arena, and how long does each of them live?

The allocations of a function and of its serial loops are *sites* of one arena; the body of a parallel loop has an arena
of its own. A site lives from the first to the last statement that uses it, in positions of the program; in a loop it
lives anew in each iteration.

Invariant: `arena_allocs` and `sites` go through the same allocations in the same order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import attrs

from slinky.ir.statements import Alloc, Block, Call, For, If, Statement, walk
from slinky.runtime.arena import SiteKind
from slinky.runtime.lifetimes import buffers_named, releases


def arena_allocs(block: Block, loops: tuple[For, ...] = ()) -> Iterator[tuple[Alloc, tuple[For, ...]]]:
    """The allocations of a block and of the statements inside, with the loops around each; not of parallel loops."""
    for statement in block:
        match statement:
            case Alloc():
                yield statement, loops
            case For(workers=None, body=body):
                yield from arena_allocs(body, (*loops, statement))
            case If(body=body, orelse=orelse):
                yield from arena_allocs(body, loops)
                yield from arena_allocs(orelse, loops)


def sites(block: Block) -> tuple[SiteKind, ...]:
    """The sites of `arena_allocs`, in the same order."""
    kinds: list[SiteKind] = []
    clock = itertools.count()

    def visit(block: Block) -> None:
        own: dict[str, int] = {}
        unused: set[str] = set()
        last_uses = releases(block)
        for position, statement in enumerate(block):
            now = next(clock)
            for buffer in unused & _named_inside(statement):
                kinds[own[buffer]] = attrs.evolve(kinds[own[buffer]], born=now)
                unused.remove(buffer)
            match statement:
                case Alloc(buffer=buffer, dtype=dtype, dims=dims, folds=folds):
                    folded = tuple(d for d, fold in enumerate(folds) if fold is not None)
                    own[buffer] = len(kinds)
                    unused.add(buffer)
                    kinds.append(SiteKind(dtype, len(dims), now, now, folded))
                case For(workers=None, body=body):
                    visit(body)
                case If(body=body, orelse=orelse):
                    visit(body)
                    visit(orelse)
            dies = next(clock)
            for buffer in last_uses.get(position, ()):
                kinds[own[buffer]] = attrs.evolve(kinds[own[buffer]], dies=dies)

    visit(block)
    return tuple(kinds)


def _named_inside(statement: Statement) -> set[str]:
    """The buffers that the calls of a statement name."""
    return {name for inner in walk((statement,)) if isinstance(inner, Call) for name in buffers_named(inner)}
