"""Allocations: room in an arena, made before anything runs, and the arrays in it.

The room that a site needs is the most that its allocation takes in any iteration of the loops around it; in a branch,
which may never be taken, or where a loop around turns out to have no iteration, no room is made before. The array
itself is fetched in the outermost scope that knows its shape; where it needs memory of its own, in the outermost that
is shown to need it. An allocation may also lie in an output (see `in_place`): where it is shown to be just what is
written there, and the output turns out to be contiguous.

Invariants: a site that is too small for an array is one whose array is never used; no memory is asked for that the
program does not come to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import attrs

from slinky.ir.blocks import blocks_of_dims, is_stored_by_blocks, stored_extents, stored_names
from slinky.ir.effects import writes
from slinky.ir.sharing import Guest, host_of
from slinky.ir.statements import Alloc, Block, Call, For, blocks_of
from slinky.runtime.codegen.calls import clamped_box
from slinky.runtime.codegen.recording import Recording
from slinky.runtime.codegen.scopes import CodeScope
from slinky.runtime.codegen.sites import arena_allocs
from slinky.runtime.codegen.views import Stored, Views
from slinky.runtime.codegen.writer import Writer, is_costly
from slinky.runtime.lifetimes import guests
from slinky.runtime.plan_tree import (
    BadFold,
    Fetch,
    FetchWithin,
    Greatest,
    Integer,
    LaidBytes,
    Name,
    Reserve,
    SiteRoom,
    Times,
    Value,
)
from slinky.runtime.strided import strided, strides_given
from slinky.symbolic.bounds import bounds
from slinky.symbolic.expressions import (
    Condition,
    Constant,
    Expr,
    Max,
    Min,
    NonNegative,
    Select,
    constant,
    constant_value,
    maximum,
    minimum,
)
from slinky.symbolic.intervals import Box, Interval
from slinky.symbolic.proofs import Facts, prove


def simplified(writer: Writer, alloc: Alloc, known: Facts) -> Alloc:
    """An allocation without the choices in its box that the facts decide."""
    return with_box(alloc, tuple(writer.simplified(i, known) for i in alloc.box))


def with_box(alloc: Alloc, box: Box) -> Alloc:
    """An allocation of another box; the same one if it is that box already."""
    return alloc if box == alloc.box else attrs.evolve(alloc, box=box)


@attrs.frozen(eq=False)
class _Arena:
    """An arena of the plan: the scope that has it, and the names of its sites by statement.

    The arrays of sites that are `reserved` are there before they are asked for. The windows of the statements in
    `moving` move.
    """

    scope: CodeScope
    sites: dict[int, Name] = attrs.field(factory=dict)
    reserved: set[str] = attrs.field(factory=set)
    moving: set[int] = attrs.field(factory=set)


class Allocations:
    """Makes the steps of allocations. `arena` says where those of a block go."""

    def __init__(self, writer: Writer, views: Views, recording: Recording, in_outputs: Mapping[int, Call]) -> None:
        self._writer = writer
        self._views = views
        self._recording = recording
        self._in_outputs = in_outputs
        self._guests: dict[int, tuple[Guest, ...]] = {}
        self._arena: _Arena | None = None
        self._known_extents: dict[tuple[Interval, Facts], Expr] = {}

    # Arenas -------------------------------------------------------------------------------------------------------

    @contextmanager
    def arena(self, name: str, block: Block) -> Iterator[None]:
        """What follows allocates from the arena of this name, which is told how much room the block needs."""
        outer = self._arena
        self._arena = self._reserved(name, block)
        yield
        self._arena = outer

    def _reserved(self, arena_name: str, block: Block) -> _Arena:
        """Reserve room for the allocations of a block."""
        arena = _Arena(self._writer.scope)
        self._guests.update(_hosted(block))
        heap: list[SiteRoom] = []
        rings: list[str] = []
        for site in arena_allocs(block):
            alloc = site.alloc
            folded = any(fold is not None for fold in alloc.folds)
            name = self._writer.names.fresh(f"{alloc.buffer}_{'windows' if folded else 'arrays'}")
            arena.sites.update(dict.fromkeys((alloc.id, *site.others), Name(name)))
            if site.moves and all(fold is None or constant_value(fold) != 1 for fold in alloc.folds):
                arena.moving.add(alloc.id)
            if folded:
                rings.append(name)
                continue
            is_known = site.is_certain and strided(alloc) is None
            room = self._room(name, alloc, site.loops) if is_known else SiteRoom(name, None)
            heap.append(room)
            if room.bytes is not None:
                arena.reserved.add(name)
        if heap or rings:
            self._writer.scope.add(Reserve(Name(arena_name), tuple(heap), tuple(rings)))
        return arena

    def _room(self, site: str, alloc: Alloc, loops: tuple[For, ...]) -> SiteRoom:
        """How many bytes an allocation needs: nothing where a loop around it is known early to have no iteration."""
        capacity = self._capacity(alloc, loops)
        if capacity is None or isinstance(capacity, Integer):
            return SiteRoom(site, capacity)
        return SiteRoom(site, capacity, tuple([self._writer.value(condition) for condition in self._unsure(loops)]))

    def _unsure(self, loops: tuple[For, ...]) -> list[Condition]:
        """Conditions without which one of some loops, given outermost first, never has an iteration."""
        writer, known = self._writer, self._writer.known
        conditions: dict[Condition, None] = {}
        for n, loop in enumerate(loops):
            length = loop.range.max - loop.range.min
            for outer in reversed(loops[:n]):
                length = bounds(length, {outer.variable: outer.range}, known).max
            if isinstance(length, (Min, Max, Select)):
                length = writer.simplify(length, known)
            runs = length >= 0
            if isinstance(runs, NonNegative) and writer.is_safe(runs, known) and not prove(runs, known):
                conditions[runs] = None
        return list(conditions)

    def _capacity(self, alloc: Alloc, loops: Sequence[For]) -> Value | None:
        """The most bytes that an allocation takes in any iteration of the loops around it, if known early."""
        writer, known = self._writer, self._writer.known
        if not loops:
            alloc = simplified(writer, alloc, known)
            if not all(writer.is_safe(end, known) for i in alloc.box for end in (i.min, i.max)):
                return None
            return self._bytes(alloc, self._extents(self._with_ends(alloc)))
        inner = known.also(*(c for loop in loops for c in (loop.range.min <= loop.variable, loop.step >= 1)))
        factors: list[Expr] = []
        for i in alloc.box:
            extent = i.max - i.min + 1
            for loop in reversed(loops):
                extent = bounds(extent, {loop.variable: loop.range}, inner).max
            factors.append(writer.simplify(maximum(extent, 0), known))
        factors = [writer.simplify(e, known) for e in _in_memory(alloc, factors)]
        if not all(writer.is_safe(factor, known) for factor in factors):
            return None
        return self._bytes(alloc, factors)

    # Arrays -------------------------------------------------------------------------------------------------------

    def write(self, given: Alloc) -> None:
        """Add an allocation."""
        writer = self._writer
        alloc = self._with_ends(simplified(writer, given, writer.known))
        known = writer.known
        extents = self._extents(alloc)
        folds = [fold for fold in alloc.folds if fold is not None]
        strides = [writer.simplify(stride, known) for stride in strides_given(alloc)]
        safe_to_move = not self._recording.is_on
        for d, fold in enumerate(alloc.folds):
            if fold is not None and not prove(fold >= 1, known):
                writer.stop_if(fold <= 0, BadFold(d), given)
                safe_to_move = False
        assert self._arena is not None  # a block is written within the arena of its allocations
        target = writer.scope
        if safe_to_move and all(writer.is_safe(e, known) for e in (*extents, *folds, *strides)):
            outermost = max(self._arena.scope, writer.home(*extents, *folds, *strides), key=lambda scope: scope.level)
            is_reserved = self._arena.sites[alloc.id].text in self._arena.reserved
            target = self._where_there_is_one(outermost, extents, folds, is_reserved)
        in_output = self._in_output(alloc, extents)
        self._views.stored[alloc.buffer] = in_output or self._array(alloc, target, extents, folds, strides)
        if self._recording.is_on and host_of(alloc) is None:
            size = self._program_bytes(alloc, extents, strides)
            rooms = [self._bytes(guest.alloc, guest.extents()) for guest in self._guests.get(given.id, ())]
            self._recording.allocation(alloc.buffer, Greatest((size, *rooms)) if rooms else size)
        writer.scope.facts = writer.facts.after(alloc)

    def _where_there_is_one(
        self, outermost: CodeScope, extents: Sequence[Expr], folds: Sequence[Expr], is_reserved: bool
    ) -> CodeScope:
        """The outermost scope, from this one inwards, in which an array is shown to have such a shape and folds.

        What is computed in a loop or a branch may hold only there: before it, an extent could be negative. Nor is there
        an array before it that is not reserved, unless it is certain to be needed: it could be of any size.
        """
        target = self._writer.scope
        for scope in self._writer.scope.chain():
            known = scope.facts.known
            if scope.level < outermost.level or not all(prove(e >= 0, known) for e in extents):
                break
            if not all(prove(fold >= 1, known) for fold in folds):
                break
            target = scope
            if not (is_reserved or scope.is_certain):
                break
        return target

    def _with_ends(self, alloc: Alloc) -> Alloc:
        """An allocation whose ends are cheap."""
        end = self._writer.end
        if not any(is_costly(e) for i in alloc.box for e in (i.min, i.max)):
            return alloc
        hints = zip(alloc.box, _hints(alloc)[-len(alloc.box) :], strict=True)
        return with_box(
            alloc, tuple(Interval(end(i.min, f"{hint}_min"), end(i.max, f"{hint}_max")) for i, hint in hints)
        )

    def _extents(self, alloc: Alloc) -> list[Expr]:
        known = self._writer.known
        return _in_memory(alloc, [self._extent_of(i, known) for i in alloc.box])

    def _extent_of(self, i: Interval, known: Facts) -> Expr:
        found = self._known_extents.get((i, known))
        if found is None:
            writer = self._writer
            extent = maximum(writer.difference(i.max, i.min) + 1, 0)
            found = self._known_extents[i, known] = writer.simplify(extent, known)
        return found

    def _array(
        self,
        alloc: Alloc,
        target: CodeScope,
        extents: Sequence[Expr],
        folds: Sequence[Expr],
        strides: Sequence[Expr],
    ) -> Stored:
        """Get the array of an allocation in the target scope."""
        writer, arena = self._writer, self._arena
        assert arena is not None
        site = arena.sites[alloc.id]
        key = ("array", site, *extents, *folds, *strides)
        known: Stored | None = None if self._recording.is_on else target.values.get(key)
        if known is not None and self._suffices(known, alloc):
            return known
        with writer.at(target):
            sizes = tuple([writer.value(e, f"{h}_size") for e, h in zip(extents, _hints(alloc), strict=True)])
            factors = tuple([writer.value(fold, "fold") for fold in folds])
            apart = tuple([writer.value(stride, f"{alloc.buffer}_stride") for stride in strides])
            folded = tuple(d for d, fold in enumerate(alloc.folds) if fold is not None)
            name = writer.names.fresh(f"{alloc.buffer}_window" if folded else alloc.buffer)
            reading = self._reading_name(alloc.buffer)
            target.add(Fetch(name, site, (*sizes, *apart), factors, reading))
        reading_name, moves = None if reading is None else Name(reading), alloc.id in arena.moving
        stored = Stored(Name(name), target, folded, reading_name, blocks_of_dims(alloc), moves)
        if not self._recording.is_on:
            target.values[key] = stored
        return stored

    def _in_output(self, alloc: Alloc, extents: Sequence[Expr]) -> Stored | None:
        """Get the array of an allocation that lies in an output, if it is just a part of it in memory order."""
        writer, arena, call = self._writer, self._arena, self._in_outputs.get(alloc.id)
        if call is None:
            return None
        assert arena is not None
        site = arena.sites[alloc.id]
        known: Stored | None = writer.scope.lookup(("in output", site))
        if known is not None and self._suffices(known, alloc):
            return known
        (effect,) = writes(call, clamped_box(writer, call, writer.facts.boxes, writer.known))
        limits = writer.facts.boxes[effect.buffer]
        if not all(map(self._same, (*effect.box, *effect.box[1:]), (*alloc.box, *limits[1:]))):
            return None
        part, is_contiguous = self._views.part(effect.buffer, alloc.box)
        sizes = tuple([writer.value(e, f"{h}_size") for e, h in zip(extents, _hints(alloc), strict=True)])
        name = writer.names.fresh(alloc.buffer)
        reading = self._reading_name(alloc.buffer)
        writer.scope.add(FetchWithin(name, part, is_contiguous, site, sizes, reading))
        stored = Stored(Name(name), writer.scope, read_only=None if reading is None else Name(reading))
        writer.scope.values["in output", site] = stored
        return stored

    def _reading_name(self, buffer: str) -> str | None:
        """A name for the read-only view of a buffer, if a callback is given one."""
        given = buffer in self._views.given_read_only
        return self._writer.names.fresh(f"{buffer}_read_only") if given else None

    def _suffices(self, stored: Stored, alloc: Alloc) -> bool:
        """Whether what another allocation of the same site has got does for this one, too."""
        return stored.read_only is not None or alloc.buffer not in self._views.given_read_only

    def _same(self, a: Interval, b: Interval) -> bool:
        difference = self._writer.difference
        return all(constant_value(difference(x, y)) == 0 for x, y in ((a.min, b.min), (a.max, b.max)))

    # Sizes --------------------------------------------------------------------------------------------------------

    def _program_bytes(self, alloc: Alloc, extents: Sequence[Expr], strides: Sequence[Expr]) -> Value:
        """What an allocation takes by the program."""
        writer = self._writer
        layout = strided(alloc)
        if layout is not None:
            shape = tuple([self._extent(e, f"{h}_size") for e, h in zip(extents, _hints(alloc), strict=True)])
            apart = tuple([writer.value(stride, f"{alloc.buffer}_stride") for stride in strides])
            return LaidBytes(alloc.buffer, alloc.dtype.itemsize, shape, layout.alignment, layout.dims, apart)
        if is_stored_by_blocks(alloc):
            return self._bytes(alloc, extents)
        stored = [e if f is None else minimum(e, f) for e, f in zip(extents, alloc.folds, strict=True)]
        return self._bytes(alloc, [writer.simplify(e, writer.known) for e in stored])

    def _bytes(self, alloc: Alloc, extents: Sequence[Expr]) -> Value:
        size = math.prod([e.value for e in extents if isinstance(e, Constant)]) * alloc.dtype.itemsize
        hints = (f"{hint}_size" for hint in _hints(alloc))
        named = [(e, hint) for e, hint in zip(extents, hints, strict=True) if not isinstance(e, Constant)]
        if not named:
            return Integer(size)
        if size == 1 and len(named) == 1:
            return self._writer.value(*named[0])
        factors = [self._extent(e, hint) for e, hint in named]
        return Times((Integer(size), *factors) if size != 1 else tuple(factors))

    def _extent(self, extent: Expr, hint: str) -> Value:
        return self._writer.named(extent, hint) if is_costly(extent) else self._writer.value(extent, hint)


def _hosted(block: Block) -> Iterator[tuple[int, tuple[Guest, ...]]]:
    """The allocations of a block and of the blocks inside in which others lie, by identity, with these."""
    hosts = guests(block)
    if hosts:
        yield from ((s.id, hosts[s.buffer]) for s in block if isinstance(s, Alloc) and s.buffer in hosts)
    for statement in block:
        for _, inner in blocks_of(statement):
            yield from _hosted(inner)


def _hints(alloc: Alloc) -> list[str]:
    """Names that remind of the dimensions of an allocation, as it lies in memory."""
    return stored_names(blocks_of_dims(alloc), [f"{alloc.buffer}_{dim}" for dim in alloc.dims])


def _in_memory(alloc: Alloc, extents: Sequence[Expr]) -> list[Expr]:
    """The extents of the array of an allocation, of the extents of its box, none of which is negative."""
    return stored_extents(
        blocks_of_dims(alloc), extents, lambda n, length: maximum((n + length - 1) // length, 1), constant
    )
