"""Loops: serial ones in pieces; parallel ones as a function that threads call for each iteration, pipelined ones as a
function for each stage.

Invariants: no function has more nested blocks than Python allows; the body of a parallel loop, or of a stage, allocates
from an arena that it alone uses.
"""

from __future__ import annotations

from collections.abc import Callable

from slinky.ir.copies import with_range
from slinky.ir.stages import stages_of
from slinky.ir.statements import Block, For, Parallel, Pipelined
from slinky.runtime.arena import SiteKind
from slinky.runtime.codegen.allocations import Allocations
from slinky.runtime.codegen.pieces import Piece, pieces, range_of, variable_hint
from slinky.runtime.codegen.scopes import AS_FUNCTION, Course
from slinky.runtime.codegen.sites import sites
from slinky.runtime.codegen.writer import Writer, also
from slinky.runtime.plan_tree import (
    BadStep,
    BadWorkers,
    GiveArena,
    Loop,
    Name,
    ParallelLoop,
    Stage,
    StagedLoop,
    Steps,
    TakeArena,
    Value,
)
from slinky.symbolic.expressions import Variable
from slinky.symbolic.intervals import Interval
from slinky.symbolic.proofs import prove

_BLOCKS_PER_FUNCTION = 12


class Loops:
    """Writes loops, whose bodies `write_block` writes.

    `threads_name` is the name of the number of threads that a parallel loop uses by itself. `arenas` are the sites of
    the bodies of parallel loops and of stages, by the name of their idle arenas.
    """

    def __init__(
        self, writer: Writer, allocations: Allocations, threads_name: str, write_block: Callable[[Block], None]
    ) -> None:
        self._writer = writer
        self._allocations = allocations
        self._threads_name = threads_name
        self._write_block = write_block
        self._names: dict[Variable, str] = {}
        self.arenas: dict[str, tuple[SiteKind, ...]] = {}

    def write(self, loop: For) -> None:
        """Write a loop."""
        writer = self._writer
        known = writer.known
        i, step = writer.simplified(loop.range, known), writer.simplify(loop.step, known)
        hint = variable_hint(loop)
        lo, hi, step = (writer.end(e, f"{hint}_{w}") for e, w in ((i.min, "first"), (i.max, "last"), (step, "step")))
        if not prove(step >= 1, writer.known):
            writer.stop_if(step <= 0, BadStep(), loop)
            writer.assume(step >= 1)
        loop = with_range(loop, Interval(lo, hi), step)
        if isinstance(loop.mode, Parallel):
            self._parallel(loop, loop.mode)
            return
        if isinstance(loop.mode, Pipelined):
            self._staged(loop, loop.mode)
            return
        parts = pieces(writer, loop)
        is_certain = len(parts) == 1 and prove(lo <= hi, writer.known)
        for piece in parts:
            self._serial(loop, piece, is_certain)

    def _serial(self, loop: For, piece: Piece, is_certain: bool) -> None:
        writer = self._writer
        facts = also(writer.facts.enter(loop, "body"), *piece.facts)
        name, function, blocks = self._name(loop), None, 1
        if writer.scope.blocks >= _BLOCKS_PER_FUNCTION:
            function, blocks = writer.names.fresh(f"for_{variable_hint(loop)}"), AS_FUNCTION
        with writer.inside(facts, blocks, is_certain=is_certain) as inner:
            writer.define(loop.variable, name, inner)
            if piece.first is not None and function is None:
                inner.course = Course(loop.variable, piece.first, loop.step)
            self._write_block(loop.body)
        if inner.steps:
            beside = () if inner.course is None else tuple(inner.course.beside)
            writer.scope.add(Loop(name, piece.iterations, inner.done(), piece.comment, function, beside))

    def _parallel(self, loop: For, mode: Parallel) -> None:
        writer, hint = self._writer, variable_hint(loop)
        iterations = range_of(writer, loop.range.min, loop.range.max + 1, loop.step)
        workers = self._workers(loop, mode)
        name, function = self._name(loop), writer.names.fresh(f"for_{hint}")
        body = self._steps(loop, name, loop.body)
        writer.scope.add(ParallelLoop(name, iterations, body, function, workers))

    def _staged(self, loop: For, mode: Pipelined) -> None:
        writer, hint = self._writer, variable_hint(loop)
        iterations = range_of(writer, loop.range.min, loop.range.max + 1, loop.step)
        workers = self._workers(loop, mode)
        name = self._name(loop)
        stages = []
        for number, block in enumerate(stages_of(loop), 1):
            function = writer.names.fresh(f"for_{hint}_stage{number}")
            stages.append(Stage(function, self._steps(loop, name, block)))
        writer.scope.add(StagedLoop(name, iterations, tuple(stages), mode.depth, workers))

    def _steps(self, loop: For, name: str, block: Block) -> Steps:
        """The body of a function that threads call: what a block does in an iteration of a loop."""
        writer = self._writer
        with writer.inside(writer.facts.enter(loop, "body"), AS_FUNCTION) as inner:
            writer.define(loop.variable, name, inner)
            kinds = sites(block)
            if kinds:
                self._block_with_arena(loop, block, kinds)
            else:
                self._write_block(block)
        return inner.done()

    def _workers(self, loop: For, mode: Parallel | Pipelined) -> Value:
        """The number of threads of a loop."""
        if mode.workers is None:
            return Name(self._threads_name)
        writer, hint = self._writer, f"{variable_hint(loop)}_workers"
        workers = writer.end(writer.simplify(mode.workers, writer.known), hint)
        if not prove(workers >= 1, writer.known):
            writer.stop_if(workers <= 0, BadWorkers(), loop)
        return writer.value(workers, hint)

    def _block_with_arena(self, loop: For, block: Block, kinds: tuple[SiteKind, ...]) -> None:
        """A worker takes an arena for an iteration, and gives it back; after an error it is dropped."""
        writer = self._writer
        idle = writer.names.fresh(f"{variable_hint(loop)}_arenas")
        self.arenas[idle] = kinds
        name = writer.names.fresh("arena")
        writer.scope.add(TakeArena(name, Name(idle)))
        with self._allocations.arena(name, block):
            self._write_block(block)
        writer.scope.add(GiveArena(Name(idle), Name(name)))

    def _name(self, loop: For) -> str:
        """The name of a loop's variable. Loops of one variable never nest, so they share it."""
        name = self._names.get(loop.variable)
        if name is None:
            name = self._names[loop.variable] = self._writer.names.fresh(variable_hint(loop))
        return name
