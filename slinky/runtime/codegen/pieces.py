"""The parts that a serial loop is cut into: before, in and after its steady state (see `peeling`).

Invariant: the pieces have the iterations of the loop, each once and in order, and the facts of a piece hold in all of
its iterations.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from slinky.ir.statements import Alloc, Call, For, If, walk
from slinky.runtime.codegen.allocations import simplified
from slinky.runtime.codegen.calls import clamped_box
from slinky.runtime.codegen.peeling import Thresholds, thresholds
from slinky.runtime.codegen.writer import Writer
from slinky.runtime.plan_tree import Assign, Name, Portion, Range, Value
from slinky.symbolic.expressions import (
    Condition,
    Expr,
    constant_value,
    equal,
    maximum,
    minimum,
    negate,
)

_PEELED_STATEMENTS = 24

_Iterations: TypeAlias = Range | Portion

_Cut: TypeAlias = tuple[_Iterations, _Iterations, _Iterations, bool, Expr]


@attrs.frozen(eq=False)
class Piece:
    """Part of the iterations of a loop: what to iterate over, and what is known there.

    Of the steady state, `first` is the variable in the first iteration, if there is one.
    """

    comment: str
    iterations: _Iterations
    facts: tuple[Condition, ...]
    first: Expr | None = None


def pieces(writer: Writer, loop: For) -> list[Piece]:
    """The parts of a serial loop whose ends and step are cheap; what they need is written in the current scope."""
    found = _steady_state(writer, loop)
    if not found.lower and not found.upper:
        whole = range_of(writer, loop.range.min, loop.range.max + 1, loop.step)
        return [Piece("", whole, (), loop.range.min)]
    v = loop.variable
    above = tuple(v >= t for t in found.lower)
    below = tuple(v <= t for t in found.upper)
    before, steady, after, once, begin = (_cut_range if constant_value(loop.step) == 1 else _cut_steps)(
        writer, loop, found
    )
    parts = []
    if found.lower:
        facts = (equal(v, loop.range.min),) if once else _negated_if_one(above)
        parts.append(Piece("before the steady state", before, facts))
    parts.append(Piece("", steady, (*above, *below), begin))
    if found.upper:
        parts.append(Piece("after the steady state", after, (*above, *_negated_if_one(below))))
    return parts


def range_of(writer: Writer, first: Expr, stop: Expr, step: Expr) -> Range:
    """The iterations of a loop."""
    return Range(writer.value(first, "first"), writer.value(stop, "stop"), writer.value(step, "step"))


def variable_hint(loop: For) -> str:
    """A name that reminds of the loop's variable."""
    return loop.variable.name.rpartition(".")[2] or "i"


def _steady_state(writer: Writer, loop: For) -> Thresholds:
    """The thresholds of an innermost loop, from the boxes that its statements clamp and allocate."""
    if len(loop.body) > _PEELED_STATEMENTS or any(isinstance(s, For) for s in walk(loop.body)):
        return Thresholds((), ())
    facts = writer.facts.enter(loop, "body")
    known = writer.illustrated(facts)
    exprs: list[Expr] = []
    conditions: list[Condition] = []
    for statement in loop.body:
        # A statement that says nothing here may lack a steady state, and no more than that.
        if isinstance(statement, Alloc):
            alloc = simplified(writer, statement, known)
            exprs += [e for i in alloc.box for e in (i.min, i.max, writer.simplify(i.extent, known))]
            facts = facts.after(alloc)
        elif isinstance(statement, Call):
            box = clamped_box(writer, statement, facts.boxes, known)
            exprs += [e for i in box for e in (i.min, i.max)]
            conditions += [i.min <= i.max for i in box]
        elif isinstance(statement, If):
            conditions.append(statement.condition)
    found = thresholds(loop.variable, loop.range, exprs, conditions, known)
    # They are computed before the loop, which may have no iteration: a divisor may be known in its body alone.
    lower, upper = (tuple(t for t in ts if writer.is_safe(t, writer.known)) for ts in (found.lower, found.upper))
    return Thresholds(lower, upper)


def _cut_range(writer: Writer, loop: For, found: Thresholds) -> _Cut:
    """What to iterate over before, in and after the steady state; whether there is at most one iteration before; and
    where the steady state begins.

    For a loop of step 1, whose thresholds are places where to cut.
    """
    first, stop = loop.range.min, loop.range.max + 1
    hint = variable_hint(loop)
    begin = writer.simplify(minimum(maximum(first, *found.lower), stop), writer.known) if found.lower else first
    begin = writer.end(begin, f"{hint}_steady")
    end = stop
    if found.upper:
        end = writer.simplify(maximum(begin, minimum(*(t + 1 for t in found.upper), stop)), writer.known)
        end = writer.end(end, f"{hint}_rest")
    once = constant_value(begin - first) == 1
    ranges = ((first, begin), (begin, end), (end, stop))
    before, steady, after = (range_of(writer, lo, hi, loop.step) for lo, hi in ranges)
    return before, steady, after, once, begin


def _cut_steps(writer: Writer, loop: For, found: Thresholds) -> _Cut:
    """As `_cut_range`, of a loop of any step: how many iterations to skip is counted."""
    first, stop, step = loop.range.min, loop.range.max + 1, loop.step
    known = writer.known
    hint = variable_hint(loop)
    whole = writer.names.fresh(f"{hint}_range")
    writer.scope.add(Assign(whole, range_of(writer, first, stop, step)))
    skipped: Expr | None = None
    if found.lower:
        skipped = writer.simplify(maximum(0, *(-((first - t) // step) for t in found.lower)), known)
        skipped = writer.end(skipped, f"{hint}_steady")
    begin = writer.value(skipped) if skipped is not None else None
    rest: Value | None = None
    if found.upper:
        counted = [(t - first) // step + 1 for t in found.upper]
        end = writer.simplify(maximum(skipped if skipped is not None else 0, minimum(*counted)), known)
        rest = writer.value(writer.end(end, f"{hint}_rest"))
    once = skipped is not None and constant_value(skipped) == 1
    before, steady, after = (Portion(Name(whole), *ends) for ends in ((None, begin), (begin, rest), (rest, None)))
    return before, steady, after, once, first if skipped is None else first + skipped * step


def _negated_if_one(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    return (negate(conditions[0]),) if len(conditions) == 1 else ()
