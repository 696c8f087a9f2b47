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

from slinky.ir.effects import writes
from slinky.ir.statements import Alloc, Block, Call, For
from slinky.runtime.arena import UNKNOWN
from slinky.runtime.codegen.calls import clamped_box
from slinky.runtime.codegen.recording import Recording
from slinky.runtime.codegen.scopes import INDENT, CodeScope
from slinky.runtime.codegen.sites import arena_allocs
from slinky.runtime.codegen.views import Stored, Views
from slinky.runtime.codegen.writer import Writer, is_costly, targets
from slinky.symbolic.bounds import bounds
from slinky.symbolic.expressions import (
    Condition,
    Constant,
    Expr,
    Max,
    Min,
    NonNegative,
    Select,
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
    """An arena of the generated code: the scope that has it, and the locals of its sites by statement.

    The arrays of sites that are `reserved` are there before they are asked for.
    """

    scope: CodeScope
    sites: dict[int, str] = attrs.field(factory=dict)
    reserved: set[str] = attrs.field(factory=set)


class Allocations:
    """Writes allocations. `arena` says where those of a block go."""

    def __init__(self, writer: Writer, views: Views, recording: Recording, in_outputs: Mapping[int, Call]) -> None:
        self._writer = writer
        self._views = views
        self._recording = recording
        self._in_outputs = in_outputs
        self._arena: _Arena | None = None

    # Arenas -------------------------------------------------------------------------------------------------------

    @contextmanager
    def arena(self, name: str, block: Block) -> Iterator[None]:
        """What follows allocates from the arena in this local, which is told how much room the block needs."""
        outer = self._arena
        self._arena = self._reserved(name, block)
        yield
        self._arena = outer

    def _reserved(self, name: str, block: Block) -> _Arena:
        """Reserve room for the allocations of a block."""
        arena = _Arena(self._writer.scope)
        heap: list[str] = []
        rings: list[str] = []
        sizes: list[str] = []
        for site in arena_allocs(block):
            alloc = site.alloc
            folded = any(fold is not None for fold in alloc.folds)
            local = self._writer.names.fresh(f"{alloc.buffer}_{'windows' if folded else 'arrays'}")
            arena.sites.update(dict.fromkeys((alloc.id, *site.others), local))
            (rings if folded else heap).append(local)
            if not folded:
                sizes.append(self._room(alloc, site.loops) if site.is_certain else str(UNKNOWN))
                if sizes[-1] != str(UNKNOWN):
                    arena.reserved.add(local)
        if heap:
            self._write_long(f"{targets(heap)} = {name}[", sizes, "]")
        if rings:
            self._writer.scope.write(f"{targets(rings)} = {name}.rings")
        return arena

    def _write_long(self, before: str, items: Sequence[str], after: str) -> None:
        """A line that ends with a list in brackets; an item a line where it would be too long."""
        scope = self._writer.scope
        line = f"{before}{', '.join(items)}{after}"
        if self._writer.fits(line):
            scope.write(line)
            return
        scope.write(before)
        for item in items:
            scope.write(f"{INDENT}{item},")
        scope.write(after)

    def _room(self, alloc: Alloc, loops: tuple[For, ...]) -> str:
        """How many bytes an allocation needs: nothing where a loop around it is known early to have no iteration."""
        capacity = self._capacity(alloc, loops)
        if capacity == str(UNKNOWN) or capacity.isdigit():
            return capacity
        tests = [self._writer.text(condition) for condition in self._unsure(loops)]
        return f"{capacity} if {' and '.join(tests)} else 0" if tests else capacity

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

    def _capacity(self, alloc: Alloc, loops: Sequence[For]) -> str:
        """The most bytes that an allocation takes in any iteration of the loops around it, if known early."""
        writer, known = self._writer, self._writer.known
        if not loops:
            alloc = simplified(writer, alloc, known)
            if not all(writer.is_safe(end, known) for i in alloc.box for end in (i.min, i.max)):
                return str(UNKNOWN)
            return self._bytes(alloc, self._extents(self._with_ends(alloc)))
        inner = known.also(*(c for loop in loops for c in (loop.range.min <= loop.variable, loop.step >= 1)))
        factors: list[Expr] = []
        for i in alloc.box:
            extent = i.max - i.min + 1
            for loop in reversed(loops):
                extent = bounds(extent, {loop.variable: loop.range}, inner).max
            factors.append(writer.simplify(maximum(extent, 0), known))
        if not all(writer.is_safe(factor, known) for factor in factors):
            return str(UNKNOWN)
        return self._bytes(alloc, factors)

    # Arrays -------------------------------------------------------------------------------------------------------

    def write(self, given: Alloc) -> None:
        """Write an allocation."""
        writer = self._writer
        alloc = self._with_ends(simplified(writer, given, writer.known))
        known = writer.known
        extents = self._extents(alloc)
        folds = [fold for fold in alloc.folds if fold is not None]
        safe_to_move = not self._recording.is_on
        for d, fold in enumerate(alloc.folds):
            if fold is not None and not prove(fold >= 1, known):
                writer.fail_if(fold <= 0, "bad_fold", given, str(d))
                safe_to_move = False
        assert self._arena is not None  # a block is written within the arena of its allocations
        target = writer.scope
        if safe_to_move and all(writer.is_safe(e, known) for e in (*extents, *folds)):
            outermost = max(self._arena.scope, writer.home(*extents, *folds), key=lambda scope: scope.level)
            is_reserved = self._arena.sites[alloc.id] in self._arena.reserved
            target = self._where_there_is_one(outermost, extents, folds, is_reserved)
        in_output = self._in_output(alloc, extents)
        self._views.stored[alloc.buffer] = in_output or self._array(alloc, target, extents, folds)
        if self._recording.is_on:
            stored = [e if f is None else minimum(e, f) for e, f in zip(extents, alloc.folds, strict=True)]
            size = self._bytes(alloc, [writer.simplify(e, known) for e in stored])
            self._recording.allocation(alloc.buffer, size)
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
        hints = zip(alloc.box, _hints(alloc), strict=True)
        return with_box(
            alloc, tuple(Interval(end(i.min, f"{hint}_min"), end(i.max, f"{hint}_max")) for i, hint in hints)
        )

    def _extents(self, alloc: Alloc) -> list[Expr]:
        writer = self._writer
        known = writer.known
        return [writer.simplify(maximum(writer.difference(i.max, i.min) + 1, 0), known) for i in alloc.box]

    def _array(self, alloc: Alloc, target: CodeScope, extents: Sequence[Expr], folds: Sequence[Expr]) -> Stored:
        """Get the array of an allocation into a local of the target scope."""
        writer, arena = self._writer, self._arena
        assert arena is not None
        site = arena.sites[alloc.id]
        key = ("array", site, *extents, *folds)
        known: Stored | None = None if self._recording.is_on else target.values.get(key)
        if known is not None and self._suffices(known, alloc):
            return known
        current, writer.scope = writer.scope, target
        named = [(e, f"{hint}_size") for e, hint in zip(extents, _hints(alloc), strict=True)]
        items = [writer.text(e, hint) for e, hint in [*named, *((fold, "fold") for fold in folds)]]
        folded = tuple(d for d, fold in enumerate(alloc.folds) if fold is not None)
        name = writer.names.fresh(f"{alloc.buffer}_window" if folded else alloc.buffer)
        shape = f"[{', '.join(items) or '()'}]"
        target.write(f"{name} = {site}{shape}")
        reading = None
        if alloc.buffer in self._views.given_read_only:
            # At once: later the site may have forgotten the array.
            reading = writer.names.fresh(f"{alloc.buffer}_read_only")
            target.write(f"{reading} = {f'{name}.read_only' if folded else f'{site}.read_only{shape}'}")
        writer.scope = current
        stored = Stored(name, target, folded, reading)
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
        items = ", ".join(writer.text(e, f"{hint}_size") for e, hint in zip(extents, _hints(alloc), strict=True))
        name = writer.names.fresh(alloc.buffer)
        writer.scope.write(f"{name} = {part} if {is_contiguous} else {site}[{items or '()'}]")
        reading = None
        if alloc.buffer in self._views.given_read_only:
            reading = writer.names.fresh(f"{alloc.buffer}_read_only")
            writer.scope.write(f"{reading} = read_only({name})")
        stored = Stored(name, writer.scope, read_only=reading)
        writer.scope.values["in output", site] = stored
        return stored

    def _suffices(self, stored: Stored, alloc: Alloc) -> bool:
        """Whether what another allocation of the same site has got does for this one, too."""
        return stored.read_only is not None or alloc.buffer not in self._views.given_read_only

    def _same(self, a: Interval, b: Interval) -> bool:
        difference = self._writer.difference
        return all(constant_value(difference(x, y)) == 0 for x, y in ((a.min, b.min), (a.max, b.max)))

    # Sizes --------------------------------------------------------------------------------------------------------

    def _bytes(self, alloc: Alloc, extents: Sequence[Expr]) -> str:
        size = math.prod([e.value for e in extents if isinstance(e, Constant)]) * alloc.dtype.itemsize
        hints = (f"{hint}_size" for hint in _hints(alloc))
        named = [(e, hint) for e, hint in zip(extents, hints, strict=True) if not isinstance(e, Constant)]
        if size == 1 and len(named) == 1:
            return self._writer.text(*named[0])
        texts = [self._extent(e, hint) for e, hint in named]
        return " * ".join([str(size), *texts] if size != 1 or not texts else texts)

    def _extent(self, extent: Expr, hint: str) -> str:
        return self._writer.named(extent, hint) if is_costly(extent) else self._writer.atom(extent, hint)


def _hints(alloc: Alloc) -> list[str]:
    """Names that remind of the dimensions of an allocation."""
    return [f"{alloc.buffer}_{dim}" for dim in alloc.dims]
