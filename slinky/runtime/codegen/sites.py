"""Which allocations share an arena, and how long does each of them live?

The allocations of a function and of its serial loops are *sites* of one arena; the body of a parallel loop has an arena
of its own. A site lives from the first to the last statement that uses it, in positions of the program; in a loop it
lives anew in each iteration. Allocations that take over the memory of another one (see `in_place`) have its site, which
lives from the first to the last use of any of them, whichever comes first. Those that the program puts into the memory
of another one that is not like them have sites of their own, at the place of its site.

Invariant: `arena_allocs` and `sites` go through the same allocations in the same order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import attrs

from slinky.ir.blocks import blocks_of_dims, stored_names
from slinky.ir.sharing import host_of
from slinky.ir.statements import Alloc, Block, For, Serial, Statement, blocks_of
from slinky.runtime.arena import SiteKind
from slinky.runtime.codegen.moving import moves
from slinky.runtime.in_place import taken_over
from slinky.runtime.lifetimes import buffers_named_inside, guests, releases
from slinky.runtime.strided import strided


@attrs.frozen
class SiteAllocs:
    """The allocations of one site: the one that comes first, the loops around it, and those that take it over.

    It is certain where no condition stands around it. Its windows may move (see `moving`).
    """

    alloc: Alloc
    loops: tuple[For, ...]
    others: tuple[int, ...]
    is_certain: bool
    moves: bool


def arena_allocs(block: Block, loops: tuple[For, ...] = (), *, is_certain: bool = True) -> Iterator[SiteAllocs]:
    """The sites of a block and of the statements inside; not of parallel loops."""
    first = taken_over(block)
    others: dict[int, list[int]] = {}
    for other, owner in first.items():
        others.setdefault(owner, []).append(other)
    for statement in block:
        if isinstance(statement, Alloc) and statement.id not in first:
            after = tuple(others.get(statement.id, ()))
            yield SiteAllocs(statement, loops, after, is_certain, moves(statement, block))
        for inner in _blocks_in_same_arena(statement):
            if isinstance(statement, For):
                yield from arena_allocs(inner, (*loops, statement), is_certain=is_certain)
            else:
                yield from arena_allocs(inner, loops, is_certain=False)


def _blocks_in_same_arena(statement: Statement) -> tuple[Block, ...]:
    """The blocks inside a statement whose allocations have sites of the arena around: all but bodies that run several
    times at once."""
    if isinstance(statement, For) and not isinstance(statement.mode, Serial):
        return ()
    return tuple([inner for _, inner in blocks_of(statement)])


def sites(block: Block) -> tuple[SiteKind, ...]:
    """The sites of `arena_allocs`, in the same order."""
    kinds: list[SiteKind] = []
    born: list[int] = []
    dies: list[int] = []
    clock = itertools.count()

    at_place_of: dict[int, tuple[dict[int, int], int]] = {}

    def visit(block: Block, hosts: Mapping[str, tuple[dict[int, int], int]]) -> None:
        """Add the sites of a block. `hosts` tell where to find the sites of the buffers around in which others lie."""
        own: dict[int, int] = {}
        unused: set[str] = set()
        begun: set[int] = set()
        last_uses = releases(block)
        first = taken_over(block)
        allocs = {s.buffer: first.get(s.id, s.id) for s in block if isinstance(s, Alloc)}
        hosts = {**hosts, **{name: (own, allocs[name]) for name in guests(block)}}
        for position, statement in enumerate(block):
            now = next(clock)
            if not isinstance(statement, Alloc):
                used = unused.intersection(buffers_named_inside(statement))
                for site in {own[allocs[buffer]] for buffer in used} - begun:
                    born[site] = now
                    begun.add(site)
                unused -= used
            else:
                unused.add(statement.buffer)
            if isinstance(statement, Alloc) and statement.id not in first:
                layout = strided(statement)
                folded = tuple(d for d, fold in enumerate(statement.folds) if fold is not None)
                own[statement.id] = len(kinds)
                host = host_of(statement)
                if host is not None and host in hosts:
                    at_place_of[len(kinds)] = hosts[host]
                rank = len(stored_names(blocks_of_dims(statement), statement.dims))
                is_moving = moves(statement, block)
                dtype, buffer = statement.dtype, statement.buffer
                kinds.append(SiteKind(dtype, rank, now, now, folded, buffer, layout, moves=is_moving))
                born.append(now)
                dies.append(now)
            for inner in _blocks_in_same_arena(statement):
                visit(inner, hosts)
            end = next(clock)
            for buffer in last_uses.get(position, ()):
                dies[own[allocs[buffer]]] = end

    visit(block, {})
    places = {number: own[identity] for number, (own, identity) in at_place_of.items()}

    def place(number: int) -> int:
        return place(places[number]) if number in places else number

    sited = zip(kinds, born, dies, strict=True)
    return tuple([attrs.evolve(k, born=b, dies=d, place=place(n)) for n, (k, b, d) in enumerate(sited)])
