"""Primitives that put loops together.

Two loops become one over the hull of both ranges, on the grid of the first. In an iteration that is only one's own, the
other does nothing: its calls are clamped to nothing there, or stand under a condition. That everything still finds what
it reads, in the new order, is proved like anything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from slinky.cursors.cursors import LoopCursor, statement_cursor
from slinky.cursors.editing import Edit, Gap
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.copies import rewritten, with_body, with_box, with_range
from slinky.ir.statements import Alloc, Block, Call, For, If, Statement, walk
from slinky.ir.substitution import substitute_block
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.touches import effective_box
from slinky.sched.operation import sched_op
from slinky.sched.primitives.rewriting import is_one, require_divisors, require_known_symbols
from slinky.sched.returned import FuseLoopsCursors
from slinky.symbolic.conditions import negate
from slinky.symbolic.expressions import Expr, all_of, equal, maximum, minimum
from slinky.symbolic.intervals import Interval, substitute_box
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.solving import rising_within
from slinky.symbolic.traversal import substitute, symbols


@sched_op(FuseLoopsCursors)
def fuse_loops(p: Pipeline, first: LoopCursor, second: LoopCursor, at: Expr | None = None) -> Any:
    """Make one loop of two neighbours: in each iteration, the body of the first, then that of the second.

        >>> import slinky as sl, numpy as np
        >>> (x,) = sl.variables("x")
        >>> a, t, b, c = (sl.BufferExpr(name, np.float32, 1) for name in "atbc")
        >>> half = sl.Func(lambda s, o: np.multiply(s, 0.5, out=o), [a[x]], [t[x]], name="half")
        >>> add = sl.Func(lambda s, o: np.add(s[:-1], s[1:], out=o), [t[sl.interval(x - 1, x)]], [b[x]], name="add")
        >>> square = sl.Func(np.square, [t[x]], [c[x]])
        >>> p = sl.build_pipeline([a], [b, c])
        >>> p = split_loop(split_loop(p, "add.x", 1), "square.x", 1)
        >>> print(p.body()[4:])
          pipeline add(a: float32[1]) -> (b: float32[1], c: float32[1]):
            check a.x.min <= b.x.min - 1
            check a.x.min <= c.x.min
            check b.x.max <= a.x.max
            check c.x.max <= a.x.max
        >   alloc t: float32[min(c.x.min, b.x.min - 1) .. max(b.x.max, c.x.max)]
        >   t[:] = half(a[:])
        >   for x in b.x.min..b.x.max:
              b[x] = add(t[x - 1 .. x])
        >   for x in c.x.min..c.x.max:
              c[x] = square(t[x])
        >>> p, (loop,) = fuse_loops(p, "for x", "for x #1", rc=True)
        >>> print(loop)
          pipeline add(a: float32[1]) -> (b: float32[1], c: float32[1]):
            check a.x.min <= b.x.min - 1
            check a.x.min <= c.x.min
            check b.x.max <= a.x.max
            check c.x.max <= a.x.max
            alloc t: float32[min(c.x.min, b.x.min - 1) .. max(b.x.max, c.x.max)]
            t[:] = half(a[:])
        >   for x in min(b.x.min, c.x.min) .. max(b.x.max, c.x.max):
              b[x] = add(t[x - 1 .. x])
              c[x] = square(t[x])

    The ranges need not be alike: in an iteration that only one of them has, the other does nothing. What both read can
    then be computed in the one loop, slid and folded. Allocations that stand between the two go before them. Where the
    pieces of the first do not begin where those of the second did, there may be one more of these: what each of them
    computes anew is computed once more. Pieces that overlap (`tail="shift"`) may then have more in common, or less.

    Parameters:
        at: where the second one is in an iteration of the first: an expression of the first one's variable. By default
            at the same value.

    Refused: loops that are not neighbours, or do not run alike (serial, or parallel on as many threads); steps that do
    not fit; an `at` that does not go forward with the loop; an order in which something is not shown to find what it
    reads, or a fold not to hold.

    Cursors:
        loop: the loop.
    """
    version, one, other = p._version, first._loop, second._loop
    between = _between(version, one, other)
    if one.mode != other.mode:
        raise SchedulingError(f"loops {one.variable} and {other.variable} do not run alike", place=second)
    place = one.variable if at is None else at
    edit = Edit(version)
    require_known_symbols(version, place, "the place of the second loop", [*version.loops_around(one.id), one])
    edit.add_scalars(symbols(place))
    known = version.facts_at(one.id).also(one.step >= 1, other.step >= 1)
    require_divisors(edit, place, "the place of the second loop", known)
    _require_steps(version, one, other, place, known)
    range_ = _hull(version, one, place, other.range, known)
    for alloc in between:
        edit.move(alloc, Gap.before(one.id))
    moved = _on_other_grid(version, other, substitute(place, {one.variable: range_.min}), known)
    is_elsewhere = moved is not other
    if is_elsewhere:
        moved = _with_all_pieces(version, moved, known)
        range_ = _hull(version, one, place, moved.range, known)
    inside = known.also(range_.min <= one.variable, one.variable <= range_.max)
    follows = _guarded(version, moved, place, inside, is_elsewhere=is_elsewhere)
    bodies = (*_guarded(version, one, one.variable, inside), *follows)
    edit.merge(one.id, other.id, with_body(with_range(one, range_), bodies))
    new = settle(edit, "fuse_loops")
    return new, (LoopCursor(new._version, one.id),)


def _between(version: Version, first: For, second: For) -> list[int]:
    """The allocations between two loops. Raises `SchedulingError` unless the second follows the first."""
    here, there = version.entries[first.id], version.entries[second.id]
    place = statement_cursor(version, second.id)
    is_sibling = (here.parent, here.field) == (there.parent, there.field)
    if not is_sibling or version.position(first.id) >= version.position(second.id):
        raise SchedulingError(f"loop {second.variable} does not follow loop {first.variable} in its block", place=place)
    block = version.block(here.parent, here.field)
    between = block[version.position(first.id) + 1 : version.position(second.id)]
    for statement in between:
        if not isinstance(statement, Alloc):
            raise SchedulingError(
                f"something else stands between loops {first.variable} and {second.variable}",
                place=statement_cursor(version, statement.id),
                hint="reorder_statements moves it",
            )
        if any(isinstance(s, Alloc) and s.buffer == statement.buffer for s in walk((first,))):
            raise SchedulingError(f"loop {first.variable} has a {statement.buffer} of its own inside", place=place)
    return [statement.id for statement in between]


def _require_steps(version: Version, first: For, second: For, place: Expr, known: Facts) -> None:
    """Raise `SchedulingError` unless the second loop goes on by its step where the first does."""
    onward: dict[Expr, Expr] = {first.variable: first.variable + first.step}
    if not prove(equal(substitute(place, onward) - place, second.step), known):
        raise SchedulingError(
            f"loop {second.variable} goes on by {second.step}, and {place} in loop {first.variable} by something else",
            place=statement_cursor(version, second.id),
        )


def _hull(version: Version, first: For, place: Expr, range_: Interval, known: Facts) -> Interval:
    """The range of the loop that has the iterations of the first, and those at a place in a range, on the grid of the
    first."""
    found = rising_within(place, range_, first.variable, known)
    if found is None:
        raise SchedulingError(
            f"not shown in which iterations of loop {first.variable} the second one, at {place}, begins and ends",
            place=statement_cursor(version, first.id),
        )
    low, high, step = first.range.min, first.range.max, first.step
    if not prove(low <= found.min, known):
        if is_one(step):
            low = minimum(low, found.min)
        else:
            low = low + step * minimum((found.min - low) // step, 0)
    return Interval(low, high if prove(found.max <= high, known) else maximum(high, found.max))


def _on_other_grid(version: Version, loop: For, start: Expr, known: Facts) -> For:
    """A loop that does the same on the grid of `start`, on which pieces begin and end elsewhere: its calls compute
    nothing before what they compute in its first iteration, and nothing behind what they do in its last one."""
    first, last = loop.range.min, _last(loop)
    if is_one(loop.step) or prove(equal((start - first) % loop.step, 0), known):
        return loop
    around = known.also(first - loop.step + 1 <= loop.variable, loop.variable <= loop.range.max)

    def within(i: Interval, limit: Interval) -> Interval:
        if loop.variable not in symbols(i.min) | symbols(i.max) or not (grows(i.min) and grows(i.max)):
            return i
        low, high = substitute(i.min, {loop.variable: first}), substitute(i.max, {loop.variable: last})
        return Interval(
            i.min if prove(low <= limit.min, around) else maximum(i.min, low),
            i.max if prove(limit.max <= high, around) else minimum(i.max, high),
        )

    def grows(e: Expr) -> bool:
        return prove(e <= substitute(e, {loop.variable: loop.variable + loop.step}), around)

    def moved(statement: Statement) -> Statement:
        if isinstance(statement, Call):
            limits = effective_box(version, statement)
            return with_box(statement, tuple(map(within, statement.box, limits)))
        if isinstance(statement, For):
            return with_range(statement, within(statement.range, statement.range))
        return statement

    return with_body(loop, tuple(rewritten(s, moved) for s in loop.body))


def _with_all_pieces(version: Version, loop: For, known: Facts) -> For:
    """A loop of which pieces begin and end elsewhere, with iterations behind its last one, if something of what that
    computes may be left to them: pieces may reach further than the range does."""
    low, high = loop.range.min, loop.range.max
    last = _last(loop)
    in_its_place = known.also(low <= high, high - loop.step + 1 <= loop.variable, loop.variable <= high)

    def reaches(i: Interval) -> bool:
        if loop.variable not in symbols(i.max):
            return True
        return prove(substitute(i.max, {loop.variable: last}) <= i.max, in_its_place)

    if all(map(reaches, _intervals(version, loop.body))):
        return loop
    return with_range(loop, Interval(low, last + loop.step - 1))


def _intervals(version: Version, block: Block) -> Iterator[Interval]:
    """What calls in a block compute, and the ranges of its loops."""
    for statement in walk(block):
        if isinstance(statement, Call):
            yield from effective_box(version, statement)
        elif isinstance(statement, For):
            yield statement.range


def _last(loop: For) -> Expr:
    """Where the last iteration of a loop is, if it has any."""
    return loop.range.min + loop.step * ((loop.range.max - loop.range.min) // loop.step)


def _guarded(version: Version, loop: For, place: Expr, known: Facts, *, is_elsewhere: bool = False) -> Block:
    """The body of a loop, at a place, that does nothing in iterations that the loop had not: by itself, or under a
    condition. Of a loop whose grid is elsewhere, a piece may begin before all that the loop had, if it had anything."""
    body = loop.body if place is loop.variable else substitute_block(loop.body, {loop.variable: place})
    begin = loop.range.min if is_one(loop.step) else loop.range.min - loop.step + 1  # a piece may begin before
    conditions = [begin <= place, place <= loop.range.max]
    if is_elsewhere and not all(isinstance(s, Call) for s in loop.body):
        conditions.append(loop.range.min <= loop.range.max)  # what is in loops inside may rest on it
    missing = [c for c in conditions if not prove(c, known)]
    if all(_does_nothing(version, s, loop, place, known.also(negate(c))) for s in loop.body for c in missing):
        return body
    return (If(all_of(*missing), body),)


def _does_nothing(version: Version, statement: Statement, loop: For, place: Expr, known: Facts) -> bool:
    """Whether a statement of a loop is shown to do nothing at a place: a call that is clamped to nothing."""
    if not isinstance(statement, Call):
        return False
    box = substitute_box(effective_box(version, statement), {loop.variable: place})
    return any(prove(i.max < i.min, known) for i in box)
