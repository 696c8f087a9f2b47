"""From a program to the source of one Python function that does the same.

The function is what a person would write by hand: loops over local integers, slices of the dimensions that are
cropped, the callbacks called directly. Whatever the facts of the program decide is not asked again at run time: a
clamp that never does anything, a region that is shown to be inside its buffer, a call that is never empty. What they
do not decide is computed where it changes and no further inside. An innermost loop is cut where it enters and leaves
its steady state (see `peeling`).

There are four variants of the function. `recorded` tells a recorder of every call and allocation; without, counting
costs nothing. `nonempty` relies on every input and output having at least one element, which decides many questions.

Invariant: on arguments that meet the program's checks, a variant calls the same callbacks on the same elements in the
same order as the interpreter (order within a parallel loop aside), and fails where it fails.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import attrs
import numpy as np

from slinky.errors import ExecutionError
from slinky.ir.printer import program_header
from slinky.ir.regions import input_regions, output_region
from slinky.ir.scopes import Scope, program_scope
from slinky.ir.statements import Alloc, Block, Call, Check, For, If, LoweredFunc, Pass, Program, Statement, walk
from slinky.runtime.arena import UNKNOWN, SiteKind
from slinky.runtime.lifetimes import buffers_named, releases
from slinky.runtime.names import Names, comment
from slinky.runtime.peeling import Thresholds, thresholds
from slinky.runtime.scopes import INDENT, CodeScope, ScopedWriter
from slinky.symbolic.bounds import bounds, decide
from slinky.symbolic.bounds import simplify as simplify_choices
from slinky.symbolic.expressions import (
    Condition,
    Constant,
    Expr,
    Metadata,
    Sum,
    Truth,
    Variable,
    all_of,
    constant_value,
    equal,
    maximum,
    metadata,
    minimum,
    negate,
    scalar,
    variable,
)
from slinky.symbolic.intervals import Box, Interval
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import substitute

_BLOCKS_PER_FUNCTION = 12
_LINE_LENGTH = 120
_PEELED_STATEMENTS = 24


@attrs.frozen(eq=False)
class Place:
    """What a line of the generated code does: enough to say, after an error there, which call it was.

    `boxes` are the bounds of the buffers in scope and `variables` the locals of the loops around; `ends` are
    expressions that stand for symbols of the boxes.
    """

    statement: Statement
    boxes: dict[str, Box]
    variables: dict[Expr, str]
    ends: dict[Expr, Expr]


@attrs.frozen(eq=False)
class Generated:
    """The source of a variant, and what it needs to run.

    The function takes an arena, the recorder if `recorded`, the number of threads if `threaded`, per input and output
    the array and the coordinates of its first element, and the scalars. `objects` are the globals that it uses beside
    the helpers of the runtime, `callbacks` the names of those that are callbacks. `sites` are those of its arena,
    `arenas[name]` those of the body of a parallel loop.
    """

    source: str
    function: str
    places: dict[int, Place]
    objects: dict[str, Any]
    callbacks: frozenset[str]
    sites: tuple[SiteKind, ...]
    arenas: dict[str, tuple[SiteKind, ...]]
    recorded: bool
    threaded: bool


def generate(program: Program, *, recorded: bool, nonempty: bool) -> Generated:
    """Write a variant of a program.

    Raises `ExecutionError` for a statement that plans do not know.
    """
    return _Generator(program, recorded, nonempty).generated()


@attrs.frozen(eq=False)
class _Stored:
    """A buffer of the generated code: its local and the scope of the local.

    The local is an array, or where dimensions are `folded`, a function that takes, for each of them, the distance of
    the first coordinate from that of the buffer and how many there are, and gives the view.
    """

    name: str
    scope: CodeScope
    folded: tuple[int, ...] = ()


@attrs.frozen(eq=False)
class _Piece:
    """Part of the iterations of a loop: what to iterate over, and what is known there."""

    comment: str
    iterations: str
    facts: tuple[Condition, ...]


@attrs.define(eq=False)
class _ArenaScope:
    """The allocations that share an arena: those of the function, or of the body of a parallel loop."""

    scope: CodeScope
    sites: dict[int, str] = attrs.field(factory=dict)


class _Generator(ScopedWriter):
    """Writes one variant."""

    def __init__(self, program: Program, recorded: bool, nonempty: bool) -> None:
        self.program = program
        self.recorded = recorded
        names = Names()
        names.taken.update(HELPERS)
        names.taken.update(_temporaries(program))
        super().__init__(CodeScope(None, 0, 1, 0, _known_at_start(program, nonempty)), names)
        self.function = names.fresh(f"run_{program.name}")
        self.objects: dict[str, Any] = {}
        self.callbacks: set[str] = set()
        self.object_names: dict[tuple[str, int], str] = {}
        self.stored: dict[str, _Stored] = {}
        self.ends: dict[Expr, Expr] = {}
        self.end_count = 0
        self.arenas: dict[str, tuple[SiteKind, ...]] = {}
        self.loop_names: dict[Variable, str] = {}
        self.threaded = any(isinstance(s, For) and s.workers is not None for s in walk(program.body))
        self.arena_name = self.names.fresh("arena")
        self.record_name = self.names.fresh("record") if recorded else ""
        self.threads_name = self.names.fresh("threads") if self.threaded else ""
        self.headers: list[tuple[tuple[str, ...], str]] = []
        self.parameters = self._parameters()
        self.block_name: str | None = None

    def generated(self) -> Generated:
        """The finished source."""
        program = self.program
        for statement in program.body:
            if isinstance(statement, Check):
                self._check(statement)
        body = tuple(s for s in program.body if not isinstance(s, Check))
        sites = _sites(body)
        self.arena = self._open_arena(self.arena_name, self.root, body)
        self._block(body)
        lines = self.root.lines
        first = [self.arena_name]
        first += [self.record_name] if self.recorded else []
        first += [self.threads_name] if self.threaded else []
        text = [f"# {comment(program_header(program))}"]
        text += [f"def {self.function}({', '.join([*first, *self.parameters])}):"]
        text += [INDENT + line for line in self._used_headers([line.text for line in lines])]
        places: dict[int, Place] = {}
        for line in lines:
            text.append(INDENT * line.depth + line.text)
            if line.place is not None:
                places[len(text)] = line.place
        if len(text) == 2:
            text.append(f"{INDENT}pass")
        source = "\n".join(text) + "\n"
        return Generated(
            source,
            self.function,
            places,
            self.objects,
            frozenset(self.callbacks),
            sites,
            self.arenas,
            self.recorded,
            self.threaded,
        )

    # Parameters ---------------------------------------------------------------------------------------------------

    def _parameters(self) -> list[str]:
        """The names of the parameters; their metadata gets locals, those that are used are written at the top."""
        names: list[str] = []
        root = self.root
        for p in (*self.program.inputs, *self.program.outputs):
            array, origin = self.names.fresh(p.name), self.names.fresh(f"{p.name}_min")
            names += [array, origin]
            self.stored[p.name] = _Stored(array, root)
            sizes, minima = [], []
            later: list[tuple[tuple[str, ...], str]] = []
            for d, dim in enumerate(p.dims):
                base = f"{p.name}_{dim}"
                size, lo, hi = (self.names.fresh(f"{base}_{field}") for field in ("size", "min", "max"))
                sizes.append(size)
                minima.append(lo)
                later.append(((hi,), f"{hi} = {lo} + {size} - 1"))
                self.bind(metadata(p.name, d, "min"), lo, root)
                self.bind(metadata(p.name, d, "max"), hi, root)
                for field, value in (("stride", f"{array}.strides[{d}]"), ("fold_factor", f"max({size}, 1)")):
                    name = self.names.fresh(f"{base}_{field}")
                    self.bind(metadata(p.name, d, field), name, root)
                    later.append(((name,), f"{name} = {value}"))
            if p.dims:
                self.headers.append((tuple(minima), f"{_unpacked(minima)} = {origin}"))
                self.headers.append((tuple(sizes), f"{_unpacked(sizes)} = {array}.shape"))
            self.headers += later
        for s in self.program.scalars:
            name = self.names.fresh(s.name)
            names.append(name)
            self.bind(scalar(s.name), name, root)
        for c in self.program.constants:
            self.stored[c.name] = _Stored(self._object(c.name, c.array), root)
        return names

    def _used_headers(self, lines: Sequence[str]) -> list[str]:
        """The lines that give metadata its locals, as far as they are used."""
        used = set(_words("\n".join(lines)))
        kept: list[str] = []
        for defined, line in reversed(self.headers):
            if used.intersection(defined):
                kept.append(line)
                used.update(_words(line))
        return kept[::-1]

    def _object(self, name: str, value: object) -> str:
        """The global of an object that the source cannot spell."""
        known = self.object_names.get((name, id(value)))
        if known is None:
            known = self.object_names[name, id(value)] = self.names.fresh(name)
            self.objects[known] = value
        return known

    # Blocks -------------------------------------------------------------------------------------------------------

    @contextmanager
    def _inside(self, header: str, facts: Scope, blocks: int = 1, place: Place | None = None) -> Iterator[CodeScope]:
        """Write what follows inside a compound statement; the statement itself is dropped if that is nothing."""
        outer = self.scope
        inner = outer.inside(facts, blocks=outer.blocks + blocks if blocks >= 0 else 0, deeper=int(bool(header)))
        self.scope = inner
        try:
            yield inner
        finally:
            self.scope = outer
            for symbol in [s for s, home in self.homes.items() if home is inner]:
                del self.homes[symbol]
        if inner.lines:
            if header:
                outer.write(header, place)
            outer.lines.extend(inner.lines)

    def _block(self, block: Block) -> None:
        """The statements of a block. A recorder is told when each of its buffers begins and ends."""
        if not self.recorded or not any(isinstance(s, Alloc) for s in block):
            for statement in block:
                self._statement(statement)
            return
        name, outer_name = self.names.fresh("block"), self.block_name
        last_uses = releases(block)
        with self._inside(f"with {self.record_name}.block() as {name}:", self.scope.facts):
            self.block_name = name
            for position, statement in enumerate(block):
                self._statement(statement)
                for buffer in last_uses.get(position, ()):
                    self.scope.write(f"{name}.free({buffer!r})")
        self.block_name = outer_name

    def _statement(self, statement: Statement) -> None:
        match statement:
            case Alloc():
                self._alloc(statement)
            case Call():
                self._call(statement)
            case For():
                self._loop(statement)
            case If():
                self._if(statement)
            case Check():
                self._check(statement)
                self.scope.facts = self.scope.facts.after(statement)
            case Pass():
                pass
            case _:
                raise ExecutionError(f"a plan does not know the statement {type(statement).__name__}")

    def _place(self, statement: Statement) -> Place:
        variables: dict[Expr, str] = {
            loop.variable: self.scope.lookup(loop.variable) or "" for loop in self.scope.facts.loops
        }
        return Place(statement, self.scope.facts.boxes, variables, self.ends)

    def _fail_if(self, condition: Condition | str, helper: str, statement: Statement, arguments: str = "") -> None:
        """Call a helper that raises, where a condition holds."""
        test = condition if isinstance(condition, str) else self.text(condition)
        self.scope.write(f"if {test}:")
        self.scope.write(f"{INDENT}{helper}({arguments})", self._place(statement))

    def _check(self, check: Check) -> None:
        if prove(check.condition, self.scope.facts.known) and self.scope is not self.root:
            return
        self._fail_if(negate(check.condition), "check_failed", check)

    def _if(self, statement: If) -> None:
        condition = decide(statement.condition, self.scope.facts.known)
        if isinstance(condition, Truth):
            taken, field = (statement.body, "body") if condition.value else (statement.orelse, "orelse")
            with self._inside("", self.scope.facts.enter(statement, field), blocks=0):
                self._block(taken)
            return
        outer, facts = self.scope, self.scope.facts
        test = self.text(condition)
        with self._inside(f"if {test}:", facts.enter(statement, "body")) as body:
            self._block(statement.body)
            if not body.lines:
                body.write("pass")
            start = len(outer.lines)
        if statement.orelse:
            end = len(outer.lines)
            with self._inside("else:", facts.enter(statement, "orelse")):
                self._block(statement.orelse)
                shared = outer.lines[end:]
            # What the second block put outside must not come between `if` and `else`.
            del outer.lines[end : end + len(shared)]
            outer.lines[start:start] = shared

    # Ends of intervals --------------------------------------------------------------------------------------------

    def _end(self, expr: Expr, hint: str) -> Expr:
        """An end of an interval as an expression that is cheap to use more than once.

        A choice or a quotient gets a local, and a symbol that stands for it from here on.
        """
        if not _is_costly(expr):
            return expr
        key = ("end", expr)
        symbol: Any = self.scope.lookup(key)
        if symbol is None:
            name = self.named(expr, hint)
            if not name.isidentifier():
                return expr
            home = next(scope for scope in self.scope.chain() if expr in scope.values)
            self.end_count += 1
            symbol = variable(f"<end {self.end_count}>")
            self.bind(symbol, name, home)
            home.values[key] = symbol
            self.ends[symbol] = self._expanded(expr)
        if self.scope.lookup(("fact", symbol)) is None:
            self.scope.values["fact", symbol] = True
            self.scope.facts = _also(self.scope.facts, equal(symbol, expr))
        return cast(Expr, symbol)

    def _expanded(self, expr: Expr) -> Expr:
        return substitute(expr, self.ends)

    def _difference(self, a: Expr, b: Expr) -> Expr:
        """`a - b`, as a constant where it is one."""
        if a is b:
            return a - b
        expanded = self._expanded(a) - self._expanded(b)
        return expanded if isinstance(expanded, Constant) else a - b

    # Allocations --------------------------------------------------------------------------------------------------

    def _open_arena(self, name: str, scope: CodeScope, block: Block) -> _ArenaScope:
        """Reserve room for the allocations of a block and of the loops inside, all but those of parallel loops."""
        opened = _ArenaScope(scope)
        heap: list[str] = []
        rings: list[str] = []
        sizes: list[str] = []
        for alloc, loops in _allocs(block):
            folded = any(fold is not None for fold in alloc.folds)
            local = self.names.fresh(f"{alloc.buffer}_{'windows' if folded else 'arrays'}")
            opened.sites[alloc.id] = local
            (rings if folded else heap).append(local)
            if not folded:
                sizes.append(self._capacity(alloc, loops))
        if heap:
            self._write_long(f"{_unpacked(heap)} = {name}.reserve(", sizes)
        if rings:
            scope.write(f"{_unpacked(rings)} = {name}.rings")
        return opened

    def _write_long(self, before: str, items: Sequence[str]) -> None:
        """A line that ends with a list in parentheses; an item a line where it would be too long."""
        line = f"{before}{', '.join(items)})"
        if len(line) + len(INDENT) * self.scope.depth <= _LINE_LENGTH:
            self.scope.write(line)
            return
        self.scope.write(before)
        for item in items:
            self.scope.write(f"{INDENT}{item},")
        self.scope.write(")")

    def _capacity(self, alloc: Alloc, loops: Sequence[For]) -> str:
        """The most bytes that an allocation takes in any iteration of the loops around it, if known early."""
        known = self.scope.facts.known
        inner = known.also(*(c for loop in loops for c in (loop.range.min <= loop.variable, loop.step >= 1)))
        factors: list[Expr] = []
        for i in alloc.box:
            extent = i.max - i.min + 1
            for loop in reversed(loops):
                extent = bounds(extent, {loop.variable: loop.range}, inner).max
            factors.append(simplify(maximum(extent, 0), known))
        if not all(self.is_safe(factor, known) for factor in factors):
            return str(UNKNOWN)
        return self._bytes(factors, alloc.dtype.itemsize)

    def _bytes(self, extents: Sequence[Expr], itemsize: int) -> str:
        size = math.prod([e.value for e in extents if isinstance(e, Constant)]) * itemsize
        texts = [self._extent(e) for e in extents if not isinstance(e, Constant)]
        return " * ".join([str(size), *texts] if size != 1 or not texts else texts)

    def _extent(self, extent: Expr) -> str:
        return self.named(extent, "extent") if _is_costly(extent) else self.atom(extent, "extent")

    def _simplified(self, alloc: Alloc, facts: Scope) -> Alloc:
        box = tuple(Interval(simplify(i.min, facts.known), simplify(i.max, facts.known)) for i in alloc.box)
        return attrs.evolve(alloc, box=box)

    def _alloc(self, given: Alloc) -> None:
        alloc = self._simplified(given, self.scope.facts)
        hints = [f"{alloc.buffer}_{dim}" for dim in alloc.dims]
        box = tuple(
            Interval(self._end(i.min, f"{hint}_min"), self._end(i.max, f"{hint}_max"))
            for i, hint in zip(alloc.box, hints, strict=True)
        )
        known = self.scope.facts.known
        extents = [simplify(maximum(self._difference(i.max, i.min) + 1, 0), known) for i in box]
        folds = [fold for fold in alloc.folds if fold is not None]
        safe_to_move = not self.recorded
        for d, fold in enumerate(alloc.folds):
            if fold is not None and not prove(fold >= 1, known):
                self._fail_if(fold <= 0, "bad_fold", given, str(d))
                safe_to_move = False
        target = self.arena.scope
        if safe_to_move and all(self.is_safe(e, known) for e in (*extents, *folds)):
            home = self.home(*extents, *folds)
            target = home if home.level > target.level else target
        else:
            target = self.scope
        self.stored[alloc.buffer] = self._array(alloc, target, extents, folds, hints)
        if self.recorded:
            stored = [e if f is None else minimum(e, f) for e, f in zip(extents, alloc.folds, strict=True)]
            size = self._bytes([simplify(e, known) for e in stored], alloc.dtype.itemsize)
            self.scope.write(f"{self.block_name}.allocate({alloc.buffer!r}, {size})")
        self.scope.facts = self.scope.facts.after(attrs.evolve(alloc, box=box))

    def _array(
        self, alloc: Alloc, target: CodeScope, extents: Sequence[Expr], folds: Sequence[Expr], hints: Sequence[str]
    ) -> _Stored:
        """Get the array of an allocation into a local of the target scope."""
        site = self.arena.sites[alloc.id]
        key = ("array", site, *extents, *folds)
        known: Any = None if self.recorded else target.values.get(key)
        if known is not None:
            return cast(_Stored, known)
        current, self.scope = self.scope, target
        named = [(e, f"{hint}_size") for e, hint in zip(extents, hints, strict=True)]
        items = [self.text(e, hint) for e, hint in [*named, *((fold, "fold") for fold in folds)]]
        folded = tuple(d for d, fold in enumerate(alloc.folds) if fold is not None)
        name = self.names.fresh(f"{alloc.buffer}_window" if folded else alloc.buffer)
        target.write(f"{name} = {site}[{', '.join(items) or '()'}]")
        self.scope = current
        stored = _Stored(name, target, folded)
        if not self.recorded:
            target.values[key] = stored
        return stored

    # Loops --------------------------------------------------------------------------------------------------------

    def _loop(self, loop: For) -> None:
        known = self.scope.facts.known
        lo, hi = simplify(loop.range.min, known), simplify(loop.range.max, known)
        step = simplify(loop.step, known)
        hint = loop.variable.name.rpartition(".")[2] or "i"
        lo, hi, step = (self._end(e, f"{hint}_{w}") for e, w in ((lo, "first"), (hi, "last"), (step, "step")))
        if not prove(step >= 1, self.scope.facts.known):
            self._fail_if(step <= 0, "bad_step", loop)
            self.scope.facts = _also(self.scope.facts, step >= 1)
        loop = attrs.evolve(loop, range=Interval(lo, hi), step=step)
        if loop.workers is not None:
            self._parallel_loop(loop, hint)
            return
        for piece in self._pieces(loop):
            self._serial_loop(loop, piece, hint)

    def _serial_loop(self, loop: For, piece: _Piece, hint: str) -> None:
        facts = _also(self.scope.facts.enter(loop, "body"), *piece.facts)
        name = self._loop_name(loop, hint)
        remark = f"  # {piece.comment}" if piece.comment else ""
        header = f"for {name} in {piece.iterations}:{remark}"
        if self.scope.blocks < _BLOCKS_PER_FUNCTION:
            with self._inside(header, facts) as inner:
                self.bind(loop.variable, name, inner)
                self._block(loop.body)
            return
        body = self.names.fresh(f"for_{hint}")
        count = len(self.scope.lines)
        with self._inside(f"def {body}({name}):", facts, blocks=-1) as inner:
            self.bind(loop.variable, name, inner)
            self._block(loop.body)
        if len(self.scope.lines) > count and inner.lines:
            self.scope.write(header)
            self.scope.write(f"{INDENT}{body}({name})")

    def _loop_name(self, loop: For, hint: str) -> str:
        """The local of a loop's variable. Loops of one variable never nest, so they share it."""
        name = self.loop_names.get(loop.variable)
        if name is None:
            name = self.loop_names[loop.variable] = self.names.fresh(hint)
        return name

    def _parallel_loop(self, loop: For, hint: str) -> None:
        iterations = self._range(loop.range.min, loop.range.max + 1, loop.step)
        name, body = self._loop_name(loop, hint), self.names.fresh(f"for_{hint}")
        arena, block = self.arena, self.block_name
        with self._inside(f"def {body}({name}):", self.scope.facts.enter(loop, "body"), blocks=-1) as inner:
            self.bind(loop.variable, name, inner)
            kinds = _sites(loop.body)
            if kinds:
                self._parallel_body_with_arena(loop, inner, kinds, hint)
            else:
                self._block(loop.body)
            if not inner.lines:
                inner.write("pass")
        self.arena, self.block_name = arena, block
        workers = str(loop.workers) if loop.workers else self.threads_name
        self.scope.write(f"run_parallel({iterations}, {body}, {workers})")

    def _parallel_body_with_arena(self, loop: For, inner: CodeScope, kinds: tuple[SiteKind, ...], hint: str) -> None:
        """A worker takes an arena for an iteration, and gives it back; after an error it is dropped."""
        idle = self.names.fresh(f"{hint}_arenas")
        self.arenas[idle] = kinds
        name = self.names.fresh("arena")
        inner.write(f"{name} = {idle}.take()")
        self.arena = self._open_arena(name, inner, loop.body)
        self._block(loop.body)
        inner.write(f"{idle}.give({name})")

    def _range(self, first: Expr, stop: Expr, step: Expr) -> str:
        items = [self.text(first, "first"), self.text(stop, "stop")]
        if constant_value(step) != 1:
            items.append(self.text(step, "step"))
        return f"range({', '.join(items)})"

    def _pieces(self, loop: For) -> list[_Piece]:
        """The parts of a serial loop: before, in and after its steady state."""
        first, stop, step = loop.range.min, loop.range.max + 1, loop.step
        found = self._thresholds(loop)
        if not found.lower and not found.upper:
            return [_Piece("", self._range(first, stop, step), ())]
        v = loop.variable
        above = tuple(v >= t for t in found.lower)
        below = tuple(v <= t for t in found.upper)
        before, steady, after, once = self._cut(loop, found)
        pieces = []
        if found.lower:
            facts = (equal(v, first),) if once else _negated_if_one(above)
            pieces.append(_Piece("before the steady state", before, facts))
        pieces.append(_Piece("", steady, (*above, *below)))
        if found.upper:
            pieces.append(_Piece("after the steady state", after, (*above, *_negated_if_one(below))))
        return pieces

    def _cut(self, loop: For, found: Thresholds) -> tuple[str, str, str, bool]:
        """What to iterate over before, in and after the steady state; whether there is at most one iteration before."""
        first, stop, step = loop.range.min, loop.range.max + 1, loop.step
        known = self.scope.facts.known
        hint = loop.variable.name.rpartition(".")[2] or "i"
        if constant_value(step) == 1:
            begin = simplify(minimum(maximum(first, *found.lower), stop), known) if found.lower else first
            begin = self._end(begin, f"{hint}_steady")
            end = stop
            if found.upper:
                known = self.scope.facts.known
                end = simplify(maximum(begin, minimum(*(t + 1 for t in found.upper), stop)), known)
                end = self._end(end, f"{hint}_rest")
            once = constant_value(begin - first) == 1
            ranges = ((first, begin), (begin, end), (end, stop))
            before, steady, after = (self._range(lo, hi, step) for lo, hi in ranges)
            return before, steady, after, once
        whole = self.names.fresh(f"{hint}_range")
        self.scope.write(f"{whole} = {self._range(first, stop, step)}")
        skipped: Expr | None = None
        if found.lower:
            skipped = simplify(maximum(0, *(-((first - t) // step) for t in found.lower)), known)
            skipped = self._end(skipped, f"{hint}_steady")
        begin_text = self.atom(skipped) if skipped is not None else ""
        end_text = ""
        if found.upper:
            counted = [(t - first) // step + 1 for t in found.upper]
            end = simplify(maximum(skipped if skipped is not None else 0, minimum(*counted)), known)
            end_text = self.atom(self._end(end, f"{hint}_rest"))
        once = skipped is not None and constant_value(skipped) == 1
        return f"{whole}[:{begin_text}]", f"{whole}[{begin_text}:{end_text}]", f"{whole}[{end_text}:]", once

    def _thresholds(self, loop: For) -> Thresholds:
        """The thresholds of an innermost loop, from the boxes that its statements clamp and allocate."""
        none = Thresholds((), ())
        if len(loop.body) > _PEELED_STATEMENTS or any(isinstance(s, For) for s in walk(loop.body)):
            return none
        facts = self.scope.facts.enter(loop, "body")
        exprs: list[Expr] = []
        conditions: list[Condition] = []
        for statement in loop.body:
            match statement:
                case Alloc():
                    alloc = self._simplified(statement, facts)
                    exprs += [e for i in alloc.box for e in (i.min, i.max, simplify(i.extent, facts.known))]
                    facts = facts.after(alloc)
                case Call():
                    box = self._clamped(statement, facts)
                    exprs += [e for i in box for e in (i.min, i.max)]
                    conditions += [i.min <= i.max for i in box]
                case If(condition=condition):
                    conditions.append(condition)
        return thresholds(loop.variable, loop.range, exprs, conditions, facts.known)

    # Calls --------------------------------------------------------------------------------------------------------

    def _clamped(self, call: Call, facts: Scope) -> Box:
        """The box of a call within the bounds of its outputs, without the clamps that do nothing."""
        lows = [[i.min] for i in call.box]
        highs = [[i.max] for i in call.box]
        for access in call.func.outputs:
            for dim, limit in zip(access.dims, facts.boxes[access.buffer], strict=True):
                lows[dim].append(limit.min)
                highs[dim].append(limit.max)
        return tuple(
            Interval(simplify(maximum(*lo), facts.known), simplify(minimum(*hi), facts.known))
            for lo, hi in zip(lows, highs, strict=True)
        )

    def _call(self, call: Call) -> None:
        box = self._clamped(call, self.scope.facts)
        known = self.scope.facts.known
        unsure = [i for i in box if not prove(i.min <= i.max, known)]
        if any(prove(i.max < i.min, known) for i in unsure):
            return
        names = call.func.dim_names()
        box = tuple(
            Interval(self._end(i.min, f"{name}_from"), self._end(i.max, f"{name}_to"))
            for i, name in zip(box, names, strict=True)
        )
        known = self.scope.facts.known
        unsure = [i for i in box if not prove(i.min <= i.max, known)]
        if not unsure:
            self._compute(call, box)
            return
        condition = all_of(*(i.min <= i.max for i in unsure))
        facts = _also(self.scope.facts, condition)
        test = " and ".join(f"{self.text(i.min)} <= {self.text(i.max)}" for i in unsure)
        with self._inside(f"if {test}:", facts, blocks=0):
            self._compute(call, box)

    def _compute(self, call: Call, box: Box) -> None:
        """Run the callback over a box that is not empty."""
        func = call.func
        reads = [(a.buffer, region) for a, region in zip(func.inputs, input_regions(func, box), strict=True)]
        writes = [(a.buffer, output_region(a, box)) for a in func.outputs]
        for number, (buffer, region) in enumerate(reads):
            self._require_inside(call, buffer, region, number)
        for number, (buffer, region) in enumerate(writes):
            self._require_fold(call, buffer, region, len(reads) + number)
        inputs = [self._operand(func, buffer, region) for buffer, region in reads]
        outputs = [self._operand(func, buffer, region) for buffer, region in writes]
        arguments = [f"{key}={self._argument(func, key, value)}" for key, value in func.arguments]
        callback = self._object(func.name, func.callback)
        self.callbacks.add(callback)
        if not self.recorded:
            self._call_line(call, callback, inputs, outputs, arguments)
            return
        spans = ", ".join(f"({self.text(i.min)}, {self.text(i.max)})" for i in box)
        spans += "," * (len(box) == 1)
        header = f"with {self.record_name}.call({func.name!r}, ({spans})):"
        with self._inside(header, self.scope.facts, place=self._place(call)):
            self._call_line(call, callback, inputs, outputs, arguments)

    def _call_line(
        self, call: Call, callback: str, inputs: list[str], outputs: list[str], arguments: list[str]
    ) -> None:
        place = self._place(call)
        if isinstance(call.func.callback, np.ufunc):
            out = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
            self._write_call(f"{callback}(", [*inputs], [f"out={out}", *arguments], ")", place)
            return
        written: list[str] = []
        passed: list[str] = []
        for text in outputs:
            if text.isidentifier():
                written.append(text)
                passed.append(text)
            else:
                written.append("written" if not written else f"written{len(written) + 1}")
                passed.append(f"{written[-1]} := {text}")
        self._write_call(f"if (result := {callback}(", [*inputs, *passed], arguments, ")) is not None:", place)
        self.scope.write(f"{INDENT}check_result({', '.join(['result', *written])})", place)

    def _write_call(self, before: str, operands: list[str], keywords: list[str], after: str, place: Place) -> None:
        """A call on one line, its operands in locals first where the line would be too long."""
        line = before + ", ".join([*operands, *keywords]) + after
        if len(line) + len(INDENT) * self.scope.depth > _LINE_LENGTH:
            for position, text in enumerate(operands):
                if not text.isidentifier() and ":=" not in text:
                    name = f"operand{position + 1}"
                    self.scope.write(f"{name} = {text}")
                    operands[position] = name
            line = before + ", ".join([*operands, *keywords]) + after
        self.scope.write(line, place)

    def _argument(self, func: LoweredFunc, key: str, value: object) -> str:
        return self.text(value, key) if isinstance(value, Expr) else self._object(f"{func.name}_{key}", value)

    def _require_inside(self, call: Call, buffer: str, region: Box, number: int) -> None:
        """Refuse a region that leaves its buffer, unless it is shown not to."""
        known = self.scope.facts.known
        for i, limit in zip(region, self.scope.facts.boxes[buffer], strict=True):
            for condition in (limit.min <= i.min, i.max <= limit.max):
                if not prove(condition, known):
                    self._fail_if(negate(condition), "bad_region", call, str(number))
        self._require_fold(call, buffer, region, number)

    def _require_fold(self, call: Call, buffer: str, region: Box, number: int) -> None:
        alloc = self.scope.facts.allocs.get(buffer)
        if alloc is None:
            return
        for d, (i, fold) in enumerate(zip(region, alloc.folds, strict=True)):
            if fold is None:
                continue
            extent = self._difference(i.max, i.min) + 1
            if not prove(extent <= fold, self.scope.facts.known):
                stored = self.stored[buffer]
                rows = f"{stored.name}.rows[{stored.folded.index(d)}]"
                self._fail_if(f"{self.text(extent)} > {rows}", "bad_region", call, str(number))

    # Views --------------------------------------------------------------------------------------------------------

    def _operand(self, func: LoweredFunc, buffer: str, region: Box) -> str:
        view = self._view(buffer, region)
        if not func.pass_buffers:
            return view
        minima = ", ".join(self.text(i.min) for i in region) + "," * (len(region) == 1)
        return f"buffer_at({view}, ({minima}))"

    def _view(self, buffer: str, region: Box) -> str:
        """The elements of a region: each dimension is cropped as far outside as its ends are known."""
        stored = self.stored[buffer]
        crops = [
            crop
            for d, (i, limit) in enumerate(zip(region, self.scope.facts.boxes[buffer], strict=True))
            if (crop := self._crop(buffer, d, i, limit)) is not None
        ]
        array, rank, base = stored.name, len(region), stored.scope
        if stored.folded:
            folded = [c for c in crops if c.dim in stored.folded]
            base = max([base, *(c.home for c in folded)], key=lambda scope: scope.level)
            if not all(prove(c.extent >= 0, base.facts.known) for c in folded):
                base = self.scope  # unlike a slice, a window of fewer than no rows fails: not before it is needed
            array = self._window(array, buffer, folded, self._around(base))
            crops = [c for c in crops if c.dim not in stored.folded]
        for level in sorted({max(crop.home.level, base.level) for crop in crops}):
            group = [crop for crop in crops if max(crop.home.level, base.level) == level]
            target = self._around(group[0].home if group[0].home.level == level else base)
            array = self._cropped(array, buffer, rank, group, target)
        return array

    def _around(self, scope: CodeScope) -> CodeScope:
        """The scope of this level around the current one."""
        return next(around for around in self.scope.chain() if around.level == scope.level)

    def _window(self, function: str, buffer: str, crops: Sequence[_Crop], target: CodeScope) -> str:
        """The view of a folded buffer: as text where it is used, as a local of an outer scope."""
        key = ("window", function, *(crop.key for crop in crops))

        def text() -> str:
            ends = (self.text(e, c.hint) for c in crops for e in (c.first, c.extent))
            return f"{function}({', '.join(ends)})"

        return self._placed(key, buffer, crops, target, text)

    def _cropped(self, array: str, buffer: str, rank: int, crops: Sequence[_Crop], target: CodeScope) -> str:
        """An array cropped in some dimensions: as text where it is used, as a local of an outer scope."""

        def text() -> str:
            index = [":"] * rank
            for c in crops:
                first = "" if constant_value(c.first) == 0 else self.text(c.first, c.hint)
                index[c.dim] = _slice(first, self.text(c.first + c.extent, f"{c.hint}_end"))
            return f"{array}[{', '.join(index[: max(c.dim for c in crops) + 1])}]"

        return self._placed(("view", array, *(crop.key for crop in crops)), buffer, crops, target, text)

    def _placed(
        self, key: object, buffer: str, crops: Sequence[_Crop], target: CodeScope, make: Callable[[], str]
    ) -> str:
        """A view, made in the target scope: a local there, unless that is where it is used."""
        known = self.scope.lookup(key)
        if known is not None:
            return cast(str, known)
        current, self.scope = self.scope, target
        text = make()
        if target is not current:
            name = self.names.fresh("_".join([buffer, *(crop.name for crop in crops)]))
            target.write(f"{name} = {text}")
            target.values[key] = text = name
        self.scope = current
        return text

    def _crop(self, buffer: str, d: int, i: Interval, limit: Interval) -> _Crop | None:
        """How to crop a dimension; None where the region is all of it."""
        offset, rest = self._difference(i.min, limit.min), self._difference(limit.max, i.max)
        is_whole = constant_value(offset) == 0 and constant_value(rest) == 0
        if is_whole and d not in self.stored[buffer].folded:
            return None
        extent = self._difference(i.max, i.min) + 1
        if not prove(extent >= 0, self.scope.facts.known):
            extent = maximum(extent, 0)
        return _Crop(d, buffer, self._dim_name(buffer, d), offset, extent, self.home(offset, extent))

    def _dim_name(self, buffer: str, d: int) -> str:
        alloc = self.scope.facts.allocs.get(buffer)
        if alloc is not None:
            return alloc.dims[d]
        dims = {p.name: p.dims for p in (*self.program.inputs, *self.program.outputs)}
        return dims[buffer][d] if buffer in dims else str(d)


@attrs.frozen(eq=False)
class _Crop:
    """How to crop one dimension: the distance of the first coordinate, how many, and the scope that knows both."""

    dim: int
    buffer: str
    name: str
    first: Expr
    extent: Expr
    home: CodeScope

    @property
    def key(self) -> tuple[int, Expr, Expr]:
        """Equal for equal crops."""
        return self.dim, self.first, self.extent

    @property
    def hint(self) -> str:
        """A name for what is computed for it."""
        return f"{self.buffer}_{self.name}"


# What the source may call ---------------------------------------------------------------------------------------------

HELPERS = (
    "bad_fold", "bad_region", "bad_step", "buffer_at", "check_failed", "check_result", "run_parallel",
)  # fmt: skip
"""The globals of every plan: see `plan`."""


def _temporaries(program: Program) -> list[str]:
    """The locals that hold a value only from one line to the next."""
    most = max((len(s.func.inputs) + len(s.func.outputs) for s in walk(program.body) if isinstance(s, Call)), default=0)
    numbers = range(1, most + 1)
    return ["result", "written", *(f"written{n}" for n in numbers), *(f"operand{n}" for n in numbers)]


def _known_at_start(program: Program, nonempty: bool) -> Scope:
    """The scope behind the checks of a program; with `nonempty`, no input or output is empty."""
    scope = program_scope(program)
    conditions = [s.condition for s in program.body if isinstance(s, Check)]
    if nonempty:
        for p in (*program.inputs, *program.outputs):
            conditions += [metadata(p.name, d, "min") <= metadata(p.name, d, "max") for d in range(p.rank)]
    return _also(scope, *conditions)


def _also(scope: Scope, *conditions: Condition) -> Scope:
    return attrs.evolve(scope, known=scope.known.also(*conditions)) if conditions else scope


# Small questions ------------------------------------------------------------------------------------------------------


def simplify(expr: Expr, known: Facts) -> Expr:
    """The expression without choices that the facts decide."""
    return simplify_choices(expr, known) if _is_costly(expr) else expr


def _is_costly(expr: Expr) -> bool:
    """Whether computing an expression takes more than a few additions."""
    if isinstance(expr, Sum):
        return any(not isinstance(atom, (Variable, Metadata)) for atom, _ in expr.terms)
    return not isinstance(expr, (Variable, Metadata, Constant))


def _negated_if_one(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    return (negate(conditions[0]),) if len(conditions) == 1 else ()


def _unpacked(names: Sequence[str]) -> str:
    """Names to assign the items of a tuple to."""
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)


def _slice(first: str, stop: str) -> str:
    """A slice as a formatter would write it."""
    if " " not in first + stop:
        return f"{first}:{stop}"
    return f"{first} : {stop}" if first else f": {stop}"


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _allocs(block: Block, loops: tuple[For, ...] = ()) -> Iterator[tuple[Alloc, tuple[For, ...]]]:
    """The allocations of a block and of the statements inside, with the loops around each; not of parallel loops."""
    for statement in block:
        match statement:
            case Alloc():
                yield statement, loops
            case For(workers=None, body=body):
                yield from _allocs(body, (*loops, statement))
            case If(body=body, orelse=orelse):
                yield from _allocs(body, loops)
                yield from _allocs(orelse, loops)


def _named_inside(statement: Statement) -> set[str]:
    """The buffers that the calls of a statement name."""
    return {name for inner in walk((statement,)) if isinstance(inner, Call) for name in buffers_named(inner)}


def _sites(block: Block) -> tuple[SiteKind, ...]:
    """The sites of `_allocs`, in the same order. Each lives from the first to the last statement that uses it."""
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
