"""Questions about a program that a schedule asks before it decides.

Each takes a pipeline and a place, a cursor of this version or of an earlier one, or a pattern. What a statement reads
and writes is asked of `ir.effects`, what a name means and which loops stand around of the version, when a buffer is
needed of `lifetimes`: nothing is derived here a second time.

Invariant: a region holds all that is touched, and nothing that may depend on each other is left out; either may hold
more where the prover does not find out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import attrs

from slinky.cursors.answers import named_box
from slinky.cursors.base import Cursor, InvalidCursor
from slinky.cursors.cursors import (
    AllocCursor,
    BlockCursor,
    CallCursor,
    DimCursor,
    ExprCursor,
    GapCursor,
    IfCursor,
    LoopCursor,
    StatementCursor,
)
from slinky.cursors.parameters import ArgCursor
from slinky.cursors.patterns import find
from slinky.cursors.versions import Version
from slinky.errors import InvalidCursorError, OperationError, cited
from slinky.ir.blocks import blocks_of_dims, stored_extents
from slinky.ir.effects import calls_in, read_by, written_by
from slinky.ir.operations import Nested
from slinky.ir.printer import expression_text
from slinky.ir.scopes import over_loops
from slinky.ir.statements import Call, For, Program, Statement
from slinky.pipeline import Pipeline
from slinky.runtime.lifetimes import last_names
from slinky.runtime.omitted import Completion
from slinky.runtime.stand_ins import values_of
from slinky.sched.legality.touches import Touch, reads_of_call, writes_of_call
from slinky.symbolic.bounds import bounds, simplify
from slinky.symbolic.expressions import Expr, as_expr, maximum, minimum
from slinky.symbolic.intervals import Box, Interval, hull, intersection, not_empty
from slinky.symbolic.proofs import impossible
from slinky.symbolic.traversal import evaluate

# ----------------------------------------------------------------------------------------------------------------
# Calls
# ----------------------------------------------------------------------------------------------------------------


def inner_pipeline(p: Pipeline, place: Cursor | str) -> Pipeline:
    """The pipeline that a call runs: of a func that `extract_pipeline` or `pipeline.as_func` made.

    It is a pipeline of its own, to print, to run and to schedule. Raises `OperationError` for a call of another func.
    """
    call = _place(p, place, (CallCursor,), "inner_pipeline")
    operation = call._call.func.operation
    if not isinstance(operation, Nested):
        raise OperationError(f"{call.name()} is no pipeline; extract_pipeline and pipeline.as_func make such funcs")
    return Pipeline(operation.program)


def producers(p: Pipeline, place: Cursor | str) -> tuple[CallCursor, ...]:
    """The calls that write what a call reads, or what an allocation or a parameter holds; in program order."""
    given = _place(p, place, (CallCursor, AllocCursor, ArgCursor), "producers")
    return _calls_of(p, given, read_by, Version.writers)


def consumers(p: Pipeline, place: Cursor | str) -> tuple[CallCursor, ...]:
    """The calls that read what a call writes, or what an allocation or a parameter holds; in program order."""
    given = _place(p, place, (CallCursor, AllocCursor, ArgCursor), "consumers")
    return _calls_of(p, given, written_by, Version.readers)


def _calls_of(
    p: Pipeline,
    place: Any,
    touched_by: Callable[[Statement], tuple[str, ...]],
    calls: Callable[[Version, str], list[int]],
) -> tuple[CallCursor, ...]:
    version, own = p._version, -1
    if isinstance(place, CallCursor):
        own = place._id
        buffers = {(name, _allocation(version, name, own)) for name in touched_by(place._call)}
    elif isinstance(place, AllocCursor):
        buffers = {(place.name(), place._id)}
    else:
        buffers = {(place.name(), None)}
    found = {i for name, alloc in buffers for i in calls(version, name) if _allocation(version, name, i) == alloc}
    return tuple(CallCursor(version, i) for i in sorted(found - {own}, key=version.place))


def _allocation(version: Version, buffer: str, at: int) -> int | None:
    """The identity of what a name means at a statement; None for a parameter."""
    alloc = version.alloc_of(buffer, at)
    return None if alloc is None else alloc.id


# ----------------------------------------------------------------------------------------------------------------
# Loops
# ----------------------------------------------------------------------------------------------------------------


def enclosing_loops(p: Pipeline, place: Cursor | str) -> tuple[LoopCursor, ...]:
    """The loops around a place, outermost first."""
    identity = _statement_of(_place(p, place, (Cursor,), "enclosing_loops"), "enclosing_loops")
    return tuple(LoopCursor(p._version, loop.id) for loop in p._version.loops_around(identity))


def common_loop(p: Pipeline, *places: Cursor | str) -> LoopCursor | InvalidCursor:
    """The innermost loop that all places lie in; an `InvalidCursor` if there is none. A loop lies in itself."""
    if not places:
        raise OperationError("common_loop: expected at least one place")
    each = []
    for given in places:
        place = _place(p, given, (Cursor,), "common_loop")
        own = (place._id,) if isinstance(place, LoopCursor) else ()
        around = [loop.id for loop in p._version.loops_around(_statement_of(place, "common_loop"))]
        each.append([*around, *own])
    common = [ids[0] for ids in zip(*each, strict=False) if len(set(ids)) == 1]
    return LoopCursor(p._version, common[-1]) if common else InvalidCursor()


def loop_nest(p: Pipeline, loop: Cursor | str) -> tuple[LoopCursor, ...]:
    """A loop, and the loops inside that are all that the body of the one around them holds; outermost first."""
    found = [_place(p, loop, (LoopCursor,), "loop_nest")]
    while len(body := found[-1].body()) == 1 and isinstance(body[0], LoopCursor):
        found.append(body[0])
    return tuple(found)


def trip_count(p: Pipeline, loop: Cursor | str) -> Expr:
    """How many iterations a loop has, in terms of the parameters and of the loops around it."""
    cursor = _place(p, loop, (LoopCursor,), "trip_count")
    statement = cursor._loop
    count = (statement.range.max - statement.range.min) // statement.step + 1
    return simplify(maximum(count, 0), p._version.facts_at(cursor._id))


# ----------------------------------------------------------------------------------------------------------------
# Regions
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class Access:
    """What one access of a call touches of a buffer: all that it reads or writes whenever it runs."""

    call: CallCursor
    buffer: str
    box: Box
    kind: str
    """`"read"` or `"write"`."""

    def __str__(self) -> str:
        return f"{self.kind} {self.buffer}[{', '.join(map(str, self.box))}]"


def region(p: Pipeline, place: Cursor | str, buffer: str | None = None) -> tuple[Access, ...]:
    """What is touched at a place, by access: of a call, what it reads, then what it writes; of a loop, an `if` or a
    block, what each call inside does, in program order. With a name, of this buffer alone.

    The boxes are those within the bounds of what a call writes. They are in terms of the parameters and of the loops
    around the place: over all iterations of the loops inside.
    """
    given = _place(p, place, (CallCursor, LoopCursor, IfCursor, BlockCursor), "region")
    found = tuple(_accesses(p, given))
    if buffer is None:
        return found
    if not isinstance(buffer, str):
        raise OperationError(f"region: a buffer is given by its name, got {cited(buffer)}")
    chosen = tuple(access for access in found if access.buffer == buffer)
    if not chosen:
        touched = ", ".join(dict.fromkeys(access.buffer for access in found)) or "nothing"
        raise InvalidCursorError(f"region: {given!r} does not touch buffer {buffer!r}; it touches {touched}")
    return chosen


def _accesses(p: Pipeline, place: Any) -> Iterator[Access]:
    version = p._version
    for call in _calls_at(version, place):
        inside = _loops_inside(version, place, call.id)
        touched = (("read", reads_of_call(version, call)), ("write", writes_of_call(version, call)))
        for kind, pairs in touched:
            for buffer, touch in pairs:
                box = named_box(version.program, _over(touch, inside))
                yield Access(CallCursor(version, call.id), buffer, box, kind)


def _calls_at(version: Version, place: Any) -> list[Call]:
    identities = place._ids() if isinstance(place, BlockCursor) else [place._id]
    return list(calls_in(tuple(version.statement(identity) for identity in identities)))


def _loops_inside(version: Version, place: Any, call: int) -> list[For]:
    """The loops around a call that lie in a place (or are it), innermost first."""
    first = place._first if isinstance(place, BlockCursor) else place._id
    outside = {loop.id for loop in version.loops_around(first)}
    return [loop for loop in reversed(version.loops_around(call)) if loop.id not in outside]


def _over(touch: Touch, loops: Sequence[For]) -> Box:
    """What is touched over all iterations of loops, given innermost first: the box holds it if there is any."""
    over = [over_loops(i, loops, touch.known) for i in touch.region]
    return tuple(Interval(simplify(i.min, touch.known), simplify(i.max, touch.known)) for i in over)


@attrs.frozen
class Footprint:
    """How many bytes something takes at most: an expression of the parameters, and a number for given sizes."""

    bytes: Expr
    _program: Program

    def __str__(self) -> str:
        return expression_text(self._program, self.bytes)

    def of(self, *arrays: object, **scalars: Any) -> int:
        """The bytes for such arguments: arrays or shapes, and scalars by name, as `Pipeline.memory` takes them."""
        return evaluate(self.bytes, values_of(Completion(self._program), arrays, scalars))


def footprint(p: Pipeline, place: Cursor | str) -> Footprint:
    """How many bytes an allocation takes, folds considered; of any other place, how many bytes are touched there.

    A call touches its regions, a loop those of all its iterations, and the body of a loop those of one: the working
    set. Of each buffer it is the smallest box that holds all that is touched. Where that depends on loops around the
    place, it is the most that any iteration can take.
    """
    kinds = (AllocCursor, CallCursor, LoopCursor, IfCursor, BlockCursor)
    given = _place(p, place, kinds, "footprint")
    version = p._version
    if isinstance(given, AllocCursor):
        size = _bytes(given._alloc.box, given._alloc.folds, given.dtype().itemsize, blocks_of_dims(given._alloc))
        around, at = version.loops_around(given._id), given._id
    else:
        at = given._first if isinstance(given, BlockCursor) else given._id
        size, around = _touched_bytes(p, given), version.loops_around(at)
    for loop in reversed(around):
        size = bounds(size, {loop.variable: loop.range}, version.facts_at(loop.id)).max
    return Footprint(simplify(size, version.base_facts()), version.program)


def _touched_bytes(p: Pipeline, place: Any) -> Expr:
    boxes: dict[tuple[str, int | None], Box] = {}
    for access in _accesses(p, place):
        key = (access.buffer, _allocation(p._version, access.buffer, access.call._id))
        known = boxes.get(key)
        boxes[key] = access.box if known is None else tuple(map(hull, known, access.box))
    sizes = (_bytes(box, (None,) * len(box), _itemsize(p, name, alloc)) for (name, alloc), box in boxes.items())
    return reduce(lambda a, b: a + b, sizes, as_expr(0))


def _itemsize(p: Pipeline, buffer: str, alloc: int | None) -> int:
    if alloc is None:
        return ArgCursor(p._version, buffer).dtype().itemsize
    return AllocCursor(p._version, alloc).dtype().itemsize


def _bytes(box: Box, folds: Sequence[Expr | None], itemsize: int, blocks: Sequence[int | None] = ()) -> Expr:
    extents = []
    for i, fold in zip(box, folds, strict=True):
        extent = maximum(i.max - i.min + 1, 0)
        extents.append(extent if fold is None else minimum(extent, fold))
    stored = stored_extents(blocks, extents, lambda n, length: maximum((n + length - 1) // length, 1), as_expr)
    return reduce(lambda size, extent: size * extent, stored, as_expr(itemsize))


# ----------------------------------------------------------------------------------------------------------------
# When
# ----------------------------------------------------------------------------------------------------------------


def live_range(p: Pipeline, alloc: Cursor | str) -> BlockCursor:
    """The statements from an allocation to the last of its block that names the buffer: as long is it needed."""
    cursor = _place(p, alloc, (AllocCursor,), "live_range")
    version, entry = p._version, p._version.entries[cursor._id]
    block = version.block(entry.parent, entry.field)
    return BlockCursor(version, cursor._id, block[last_names(block)[cursor.name()]].id)


@attrs.frozen
class Dependence:
    """Two calls of which the later in the program may have to wait for the other, and why."""

    earlier: CallCursor
    later: CallCursor
    buffer: str
    """What the later call touches; the other one touches it, or another buffer in the same memory."""
    kind: str
    """`"read after write"`, `"write after read"` or `"write after write"`."""

    def __str__(self) -> str:
        return f"{self.later.name()} after {self.earlier.name()}: {self.kind} of {self.buffer}"


def dependences(p: Pipeline, place: Cursor | str | None = None) -> tuple[Dependence, ...]:
    """The dependences between the calls at a place (a loop, an `if` or a block), or of the whole program.

    Of each pair of calls, in program order, each buffer that both touch and one writes, or buffers in one memory,
    unless what they touch over all iterations is shown to have nothing in common. In a loop, an earlier call may depend
    on a later one of the iteration before: by the same pair.
    """
    kinds = (LoopCursor, IfCursor, BlockCursor, CallCursor)
    given = _place(p, p.body() if place is None and isinstance(p, Pipeline) else place, kinds, "dependences")
    accesses = [_Touched(p._version, access) for access in _accesses(p, given)]
    found: dict[Dependence, None] = {}
    for at, later in enumerate(accesses):
        for earlier in accesses[:at]:
            kind = f"{later.access.kind} after {earlier.access.kind}"
            if kind == "read after read" or earlier.access.call == later.access.call:
                continue
            if earlier.memory == later.memory and earlier.may_meet(later):
                found[Dependence(earlier.access.call, later.access.call, later.access.buffer, kind)] = None
    return tuple(found)


class _Touched:
    """An access over all iterations, and the memory that it touches."""

    def __init__(self, version: Version, access: Access) -> None:
        self.access = access
        call = access.call._id
        alloc = version.alloc_of(access.buffer, call)
        self.buffer = access.buffer if alloc is None else alloc.id
        self.memory = access.buffer if alloc is None else version.memory_of(alloc).id
        self.known = version.base_facts()
        self.around = list(reversed(version.loops_around(call)))

    def may_meet(self, other: _Touched) -> bool:
        """Whether the two may touch the same elements; always, if they are of two buffers in one memory.

        If they do so in some iteration, the boxes over all iterations have those elements in common, too.
        """
        if self.buffer != other.buffer:
            return True
        both = [intersection(a, b) for a, b in zip(self._box(), other._box(), strict=True)]
        return not impossible(self.known.also(not_empty(both)))

    def _box(self) -> Box:
        return tuple(over_loops(i, self.around, self.known) for i in self.access.box)


# ----------------------------------------------------------------------------------------------------------------
# Places as they are given
# ----------------------------------------------------------------------------------------------------------------


def _place(p: Pipeline, given: object, kinds: tuple[type[Cursor], ...], who: str) -> Any:
    """A cursor of this version of one of some kinds. Raises what names the question and what was given."""
    if not isinstance(p, Pipeline):
        raise OperationError(f"{who}: the first argument must be a Pipeline, got {type(p).__name__}")
    if isinstance(given, str):
        matches: list[Cursor] = [*find(p._version, p.program.body, given, kinds)]
        if ArgCursor in kinds:
            matches += _parameters(p, given)
        cursor = matches[0] if matches else p.find(given)  # raises, or is of another kind
    elif isinstance(given, Cursor):
        cursor = p.forward(given)
    else:
        raise OperationError(f"{who}: expected a cursor or a pattern, got {cited(given)}")
    if not isinstance(cursor, kinds):
        titles = " or ".join(kind.__name__ for kind in kinds)
        raise OperationError(f"{who}: expected a {titles}, got {cited(cursor)}")
    return cursor


def _parameters(p: Pipeline, name: str) -> list[ArgCursor]:
    """The input, output or constant of a name, if there is one."""
    return [arg for arg in p.args() if arg.name() == name and arg.kind() != "scalar"]


def _statement_of(place: object, who: str) -> int:
    """The statement that a place lies in. Raises `OperationError` for a parameter, which lies in none."""
    match place:
        case BlockCursor():
            return place._first
        case StatementCursor() | GapCursor() | DimCursor() | ExprCursor():
            return place._id
    raise OperationError(f"{who}: expected a place in the body of the pipeline, got {cited(place)}")
