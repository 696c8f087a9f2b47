"""Letting a loop start earlier or end later, so that a producer in it gets to what comes before or behind.

Invariant: in the added iterations nothing is computed that the original ones do not compute, but by the calls that the
loop is extended for. Before the first original iteration, the region of every other call is clamped from below at its
value in that iteration, unless the bounds of its outputs do so anyway; behind the last one, it must be empty. What
stands inside and depends on the loop has a meaning there, too: ranges of loops may not depend on it, and fold factors
that do stay at least 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import attrs

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.editing import Edit
from slinky.cursors.kinds import Names
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.copies import with_box, with_folds, with_range
from slinky.ir.effects import bounds_of_dim
from slinky.ir.scopes import loop_facts
from slinky.ir.statements import SERIAL, Alloc, Call, For, Statement, has_calls_alone, positive_in, walk
from slinky.sched.legality.containing import shown
from slinky.sched.legality.positive import quotients_of
from slinky.sched.legality.refusals import Unproved
from slinky.sched.legality.touches import calls_inside
from slinky.sched.primitives.rewriting import at_least_one
from slinky.sched.remedies import instead
from slinky.symbolic.bounds import bounds, simplify
from slinky.symbolic.envelopes import rises_plainly
from slinky.symbolic.expressions import (
    Constant,
    Expr,
    FloorDivide,
    Max,
    Min,
    Scalar,
    constant,
    constant_value,
    linear,
    maximum,
)
from slinky.symbolic.intervals import Box, Interval, moves_with, point
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import substitute, symbols


def added_steps(high: Expr, y: Expr, loop: For, first_low: Expr, known: Facts) -> Expr:
    """The least k for which `high(start - (k + 1) * step) + 1 <= first_low`, or a little more than that."""
    found = _steps(high, y, loop, first_low, known)
    return constant(0) if found is None else simplify(found, known)


def _steps(high: Expr, y: Expr, loop: For, first_low: Expr, known: Facts) -> Expr | None:
    """The steps that an end of a window asks for: all of a maximum, any one of a minimum; None if it is fixed."""
    if y not in symbols(high):
        return None
    if isinstance(high, Max):
        each = [_steps(operand, y, loop, first_low, known) for operand in high.operands]
        return maximum(*(steps for steps in each if steps is not None))
    if isinstance(high, Min):
        moving = [operand for operand in high.operands if y in symbols(operand)]
        simple = [operand for operand in moving if not isinstance(operand, Max)]
        return _steps((simple or moving)[0], y, loop, first_low, known)
    return _steps_of_operand(high, y, loop, first_low, known)


def usual_steps(window: Interval, loop: For) -> Expr:
    """The steps that the first window asks for where no edge of an array is near: those that scalars tell."""
    y, first = loop.variable, loop.range.min
    found: list[Expr] = [constant(0)]
    for high, low in itertools.product(_operands(window.max), _operands(window.min)):
        factor = dict(linear(high)[1]).get(y, 0)
        before = substitute(high - low, {y: first})
        if factor > 0 and y in symbols(low) and all(type(s) is Scalar for s in symbols(before)):
            found.append(before // (factor * loop.step))
    return maximum(*found)


def _operands(end: Expr) -> Iterator[Expr]:
    """What an end may be: the operands of its choices, and of those among them."""
    waiting = [end]
    while waiting:
        choice = waiting.pop()
        if isinstance(choice, (Min, Max)):
            waiting.extend(choice.operands)
        else:
            yield choice


def _steps_of_operand(high: Expr, y: Expr, loop: For, first_low: Expr, known: Facts) -> Expr:
    """The steps that one operand of a window's end asks for: affine in y, or a floor division that is."""
    quotient = _as_quotient(high, y)
    start, step = loop.range.min, loop.step
    if quotient is None:
        factor = dict(linear(high)[1]).get(y, 0)
        missing = substitute(high, {y: start - step}) + 1 - first_low
    else:
        # m * (n(y) // d) + c + 1 <= low  is  n(y) <= d * ((low - c - 1) // m) + d - 1
        m, numerator, d, offset = quotient
        factor = dict(linear(numerator)[1]).get(y, 0)
        missing = substitute(numerator, {y: start - step}) - d * ((first_low - offset - 1) // m) - d + 1
    if factor <= 0:
        return constant(0)
    missing = simplify(missing, known)
    # What is left of the bounds of buffers in it is a remainder; its largest value is enough, and reads better.
    ranging = {s: point(s) for s in symbols(missing)}
    largest = bounds(missing, ranging, known).max
    if isinstance(largest, Constant):
        missing = largest
    each = factor * step
    steps = (missing + each - 1) // each
    return steps if prove(missing >= 0, known) else maximum(steps, 0)


def _as_quotient(e: Expr, y: Expr) -> tuple[int, Expr, int, Expr] | None:
    """`(m, n, d, c)` if the expression is `m * (n // d) + c` with y in n alone and constants m > 0 and d."""
    moving = [(atom, c) for atom, c in linear(e)[1] if y in symbols(atom)]
    if len(moving) != 1 or moving[0][1] < 1:
        return None
    atom, m = moving[0]
    if not isinstance(atom, FloorDivide) or not isinstance(atom.denominator, Constant):
        return None
    return m, atom.numerator, atom.denominator.value, e - m * atom


def first_reaching(high: Expr, y: Expr, target: Expr) -> Expr | None:
    """From which y on `high`, affine in y or a floor division that is, reaches the target; None if unknown."""
    quotient = _as_quotient(high, y)
    if quotient is None:
        numerator, wanted = high, target
    else:
        # m * (n // d) + c >= t  is  n >= d * ceil((t - c) / m)
        m, numerator, d, offset = quotient
        wanted = d * ((target - offset + m - 1) // m)
    factor = dict(linear(numerator)[1]).get(y, 0)
    if factor <= 0:
        return None
    rest = numerator - factor * y
    if y in symbols(rest):
        return None
    return (wanted - rest + factor - 1) // factor


def extend_loop(edit: Edit, version: Version, loop: For, cause: int, wider: Interval) -> list[int]:
    """Give a loop a wider range, for one call (its identity), so that no other call computes anything new.

    Returns the calls that are not shown to be idle in the added iterations: what they read there is to be checked. The
    cause is always among them. Raises `SchedulingError` where a call is not shown to compute nothing new.
    """
    starts_earlier = wider.min is not loop.range.min
    ends_later = wider.max is not loop.range.max
    if not starts_earlier and not ends_later:
        return [cause]
    _require_steady_inner_loops(version, loop)
    working = [cause]
    surely = version.facts_at(loop.id).also(loop.step >= 1)
    before = _Resting.before(version, loop) if starts_earlier and not ends_later else None
    inside = calls_inside(version, loop.id)
    resting = {} if before is None else before.among(version, inside)
    added = version.facts_at(loop.id).also(
        loop.step >= 1, wider.min <= loop.variable, loop.variable + loop.step <= loop.range.min
    )
    for call in inside:
        if call.id == cause or call.id in resting:
            continue
        if ends_later:
            _require_nothing_behind(version, call, loop)
        if starts_earlier:
            around = version.loops_around(call.id)
            in_added = added.also(*(fact for inner in around[around.index(loop) + 1 :] for fact in loop_facts(inner)))
            box = tuple(_clamped_from_below(version, call, d, loop, in_added) for d in range(len(call.box)))
            if box != call.box:
                edit.update(with_box(call, box))
            if not _is_idle(version, call, box, loop, in_added):
                working.append(call.id)
            elif box == call.box and around[-1] is loop and _is_at_rest(version, call, loop, surely):
                resting.update(_AtRest.of(version, call))
    if prove(wider.min <= loop.range.min, surely):
        version.lasting["resting", loop.id] = _Resting(
            wider.min, loop.variable, loop.step, surely, version.names(), resting
        )
    now = edit.statement(loop.id)
    assert isinstance(now, For)
    edit.update(with_range(now, wider))
    _keep_folds_positive(edit, version, loop, wider)
    return working


@attrs.frozen(eq=False)
class _AtRest:
    """A call that does nothing before the first iteration of a loop, however early that is; and what this rests on."""

    call: Call
    homes: tuple[tuple[str, int | None, Box], ...]
    """The buffers that it writes, by name: of which allocation, and within which bounds."""

    @classmethod
    def of(cls, version: Version, call: Call) -> dict[int, _AtRest]:
        """What rests on a call as it stands, by its identity, and on the bounds of its outputs. Nothing, where there
        are several allocations of one name: of these, another one might be meant where the call goes."""
        if any(len(version.allocations(buffer)) > 1 for buffer in call.writes):
            return {}
        box = version.box_at(call.id)
        allocs = [version.alloc_of(buffer, call.id) for buffer in call.writes]
        homes = [(b, None if a is None else a.id, box(b)) for b, a in zip(call.writes, allocs, strict=True)]
        return {call.id: cls(call, tuple(homes))}

    def is_there(self, version: Version, *, is_named_alike: bool) -> bool:
        """Whether the bounds are those that there were.

        `is_named_alike`: statements have the names that they had when it was asked before.
        """
        for buffer, alloc, box in self.homes:
            if alloc is None:
                if version.global_box(buffer) is not box:
                    return False
                continue
            entry = version.entries.get(alloc)
            if entry is None or not isinstance(entry.statement, Alloc) or entry.statement.box is not box:
                return False
            if not is_named_alike and len(version.allocations(buffer)) > 1:
                return False
        return True


@attrs.frozen(eq=False)
class _Resting:
    """The calls of a loop that do nothing before it starts, kept from one extension to the next.

    A window that slides after others lets the loop start earlier for itself alone: who did nothing before the loop
    started does nothing before an earlier start, if all of its ends move forward with the loop.
    """

    start: Expr
    variable: Expr
    step: Expr
    known: Facts
    names: Names
    """Of the version in which this was found: there is one allocation, at most, of each buffer that the calls write."""
    calls: dict[int, _AtRest]

    @classmethod
    def before(cls, version: Version, loop: For) -> _Resting | None:
        """What was kept of a loop, if it is as it was left, and stands where the same is known."""
        found: _Resting | None = version.lasting.get(("resting", loop.id))
        if found is None or found.start is not loop.range.min or found.variable is not loop.variable:
            return None
        if found.step is not loop.step or found.known is not version.facts_at(loop.id).also(loop.step >= 1):
            return None
        return found

    def among(self, version: Version, calls: Iterable[Call]) -> dict[int, _AtRest]:
        """Those of some calls that are among them, as they were."""
        known, is_named_alike = self.calls, version.names() is self.names
        kept: dict[int, _AtRest] = {}
        for call in calls:
            found = known.get(call.id)
            if found is not None and found.call is call and found.is_there(version, is_named_alike=is_named_alike):
                kept[call.id] = found
        return kept


def _is_at_rest(version: Version, call: Call, loop: For, known: Facts) -> bool:
    """Whether a call, right in a loop, is shown to do nothing in all iterations that may be added before the first, and
    to begin there where the bounds of its outputs do: so no clamp is needed either.

    `known` holds around the loop; whether any iteration is added plays no part. All that moves must rise plainly.
    """
    y = loop.variable
    first: dict[Expr, Expr] = {y: loop.range.min}
    last: dict[Expr, Expr] = {y: loop.range.min - loop.step}
    is_idle = False
    for d, i in enumerate(call.box):
        if not moves_with(i, y):
            continue
        if not (rises_plainly(i.min, y) and rises_plainly(i.max, y)):
            return False
        limit = bounds_of_dim(call, d, version.box_at(call.id)).min
        if not shown(substitute(i.min, first), limit, known):
            return False
        is_idle = is_idle or (y in symbols(i.max) and shown(substitute(i.max, last) + 1, limit, known))
    return is_idle


def shown_inside(version: Version, loop: For) -> tuple[int, ...]:
    """The statements inside a loop with steps, workers, folds or divisors that are no constants: where its range
    changes, it is proved again that they are at least 1. What was known of them may be that the loop runs at all."""
    plain: dict[int, Statement] = version.lasting.setdefault(("plain", loop.id), {})
    inside = loop.body if has_calls_alone(loop.body) else walk(loop.body)
    others = [s for s in inside if plain.get(s.id) is not s]
    shown = [s.id for s in others if _is_shown(s)]
    plain.update((s.id, s) for s in others if s.id not in shown)
    return tuple(shown)


def _is_shown(statement: Statement) -> bool:
    """Whether a statement has something of which it must be shown that it is at least 1."""
    return any(constant_value(e) is None for _, e in positive_in(statement)) or bool(quotients_of(statement))


def working_in_parallel(version: Version, working: Iterable[int]) -> tuple[int, ...]:
    """The parallel loops around calls that compute something in iterations that are added to a loop: inside of it,
    too, where their iterations may have been independent for none of them ran."""
    around = {loop.id: loop for identity in working for loop in version.loops_around(identity)}
    return tuple(identity for identity, loop in around.items() if loop.mode != SERIAL)


def _keep_folds_positive(edit: Edit, version: Version, loop: For, wider: Interval) -> None:
    """Let the fold factors inside a loop be at least 1 in the added iterations, too.

    Whether they are large enough there is a question of legality.
    """
    for identity in shown_inside(version, loop):
        statement = edit.statement(identity)
        if not isinstance(statement, Alloc):
            continue
        around = version.loops_around(statement.id)
        inner = around[around.index(loop) + 1 :]
        known = version.facts_at(loop.id).also(
            *loop_facts(with_range(loop, wider)), *(fact for within in inner for fact in loop_facts(within))
        )
        folds = tuple(None if f is None else at_least_one(f, known) for f in statement.folds)
        edit.update(with_folds(statement, folds))


def _is_idle(version: Version, call: Call, box: Box, loop: For, known: Facts) -> bool:
    """Whether a call over a box, which moves with a loop, is shown to do nothing under some facts."""
    for d, i in enumerate(box):
        if loop.variable in symbols(i.max):
            last = i.max + 1
            if shown(last, bounds_of_dim(call, d, version.box_at(call.id)).min, known) or shown(last, i.min, known):
                return True
    return False


def _clamped_from_below(version: Version, call: Call, d: int, loop: For, before: Facts) -> Interval:
    """An interval of a call's box, at least its value in the first iteration of a loop.

    `before` are the facts of the added iterations: only there does the clamp matter, so there it must be implied if it
    is left out.
    """
    i = call.box[d]
    if not moves_with(i, loop.variable):
        return i
    known = version.facts_at(call.id).also(loop.step >= 1)
    floor = substitute(i.min, {loop.variable: loop.range.min})
    if not shown(floor, i.min, known):
        raise Unproved(version, floor <= i.min, known).refuse(
            f"what {call.func.name} computes moves forward with loop {loop.variable}",
            f"what {call.func.name} computes does not move forward with loop {loop.variable}",
            place=statement_cursor(version, call.id),
            remedies=lambda: [instead("leave the range of the loop as it is", warmup="first")],
        )
    if shown(floor, bounds_of_dim(call, d, version.box_at(call.id)).min, before):
        return i
    return Interval(maximum(i.min, floor), i.max)


def _require_nothing_behind(version: Version, call: Call, loop: For) -> None:
    """Check that a call would do nothing behind the last iteration of a loop."""
    behind = version.facts_at(loop.id).also(loop.step >= 1, loop.variable > loop.range.max)
    for d, i in enumerate(call.box):
        limit = bounds_of_dim(call, d, version.box_at(call.id))
        if prove(limit.max < i.min, behind) or prove(i.max < i.min, behind):
            return
    raise SchedulingError(
        f"loop {loop.variable} would have to run longer, and {call.func.name} is not shown to do nothing then",
        place=statement_cursor(version, call.id),
    )


def _require_steady_inner_loops(version: Version, loop: For) -> None:
    """Refuse where the range of a loop inside depends on the loop: it would be another one in the added iterations."""
    if has_calls_alone(loop.body):
        return
    for statement in walk(loop.body):
        if isinstance(statement, For) and moves_with(statement.range, loop.variable):
            raise SchedulingError(
                f"the range of loop {statement.variable} depends on loop {loop.variable}, so that cannot be extended",
                place=statement_cursor(version, statement.id),
                remedies=lambda: [instead("leave the range of the loop as it is", warmup="first")],
            )
