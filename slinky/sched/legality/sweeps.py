"""What does a box that moves with a loop cover, from the first iteration to the last? A box, if it leaves no gap.

Idea. Over the iterations v = f, f+s, ..., l of a loop, boxes `[a(v), b(v)]` of one moving dimension without a gap
(`a(v+s) <= b(v) + 1`) together cover `[a(f), b(l)]`: take the first v with `e <= b(v)`; either it is f, or `e > b(v-s)`
and so `e >= a(v)`. Bounds that do not depend on v stay as they are. A condition that bounds v leaves fewer iterations.

Invariant: each element of the box that is found lies in that of some iteration, in every run that meets the facts and
has one. This file knows loops and boxes, and nothing of who writes them.
"""

from __future__ import annotations

import attrs

from slinky.ir.statements import For
from slinky.symbolic.bounds import bounds
from slinky.symbolic.expressions import (
    And,
    Condition,
    Expr,
    Max,
    Min,
    NonNegative,
    Variable,
    difference,
    linear,
    maximum,
    minimum,
)
from slinky.symbolic.intervals import Box, Interval, moves_with
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import substitute, symbols


@attrs.frozen
class Sweep:
    """A variable that goes from `first` to `last` by `step`; to no value at all if `last` is less than `first`."""

    variable: Variable
    first: Expr
    last: Expr
    step: Expr

    def conditions(self) -> tuple[Condition, ...]:
        """What holds of the variable."""
        return (self.first <= self.variable, self.variable <= self.last)

    def where(self, condition: Condition, inside: set[Expr]) -> Sweep | None:
        """The values for which a condition holds, if it is a bound of the variable that moves with none of those
        inside (itself among them)."""
        if not isinstance(condition, NonNegative):
            return None
        factor = dict(linear(condition.expr)[1]).get(self.variable, 0)
        bound = self.variable - condition.expr if factor == 1 else condition.expr + self.variable
        if factor not in (1, -1) or not symbols(bound).isdisjoint(inside):
            return None
        if factor == 1:  # bound <= variable: from the first value of the grid there on
            steps = (bound - self.first + self.step - 1) // self.step
            return attrs.evolve(self, first=maximum(self.first, self.first + self.step * steps))
        steps = (bound - self.first) // self.step
        return attrs.evolve(self, last=minimum(self.last, self.first + self.step * steps))

    def cover(self, box: Box, known: Facts) -> Box | None:
        """What a box that moves with the variable has covered at the end; None if that is not shown to be a box."""
        covered = _swept(box, self.variable, self.first, self.last, self.step, known)
        if covered is None or prove(self.first <= self.last, known):
            return covered
        # A loop that does not run writes nothing: fine only where the box says so, too.
        idle = known.also(self.last < self.first)
        return covered if any(prove(i.max < i.min, idle) for i in covered) else None


def narrowed_to(sweeps: list[Sweep], condition: Condition, known: Facts) -> tuple[list[Sweep], Facts] | None:
    """Sweeps over just those values for which a condition holds, and what is known then; None if that is not clear.

    Each part of the condition holds anyway, or bounds one variable by what does not move with it or inside it.
    """
    for part in condition.operands if isinstance(condition, And) else (condition,):
        if prove(part, known):
            continue
        for n, sweep in enumerate(sweeps):
            inside: set[Expr] = {inner.variable for inner in sweeps[n:]}
            found = sweep.where(part, inside) if sweep.variable in symbols(part) else None
            if found is not None:
                sweeps = [*sweeps[:n], found, *sweeps[n + 1 :]]
                known = known.also(part)
                break
        else:
            return None
    return sweeps, known


def _swept(box: Box, v: Variable, first: Expr, last: Expr, step: Expr, known: Facts) -> Box | None:
    """What a box that moves with v has covered when v has gone from first to last, if that is at least one value."""
    moving = [d for d, i in enumerate(box) if moves_with(i, v)]
    if not moving:
        return box
    at_first: dict[Expr, Expr] = {v: first}
    at_last: dict[Expr, Expr] = {v: last}
    for d in moving:
        low, floors = _parts(box[d].min, Max, v)
        high, caps = _parts(box[d].max, Min, v)
        if low and high:
            following = known.also(first <= v, v + step <= last)
            next_low = substitute(maximum(*low), {v: v + step})
            if not prove(next_low <= minimum(*high) + 1, following):
                continue
        ends = Interval(
            maximum(*(substitute(e, at_first) for e in low), *floors),
            minimum(*(substitute(e, at_last) for e in high), *caps),
        )
        ranges: dict[Expr, Interval] = {v: Interval(first, last)}
        others = {
            k: Interval(bounds(box[k].min, ranges, known).max, bounds(box[k].max, ranges, known).min)
            for k in moving
            if k != d
        }
        return tuple(ends if k == d else others.get(k, i) for k, i in enumerate(box))
    return None


def swept_before(box: Box, loop: For) -> Box | None:
    """What a box that moves with a loop has covered in all earlier iterations, if there are any, where no facts are
    needed to show it: one dimension moves, evenly, and leaves no gap."""
    v = loop.variable
    moving = [d for d, i in enumerate(box) if moves_with(i, v)]
    if len(moving) != 1:
        return None
    (d,) = moving
    low, floors = _parts(box[d].min, Max, v)
    high, caps = _parts(box[d].max, Min, v)
    if len(low) != 1 or len(high) != 1:
        return None
    offset, terms = difference(high[0], substitute(low[0], {v: v + loop.step}))
    if terms or offset < -1:
        return None
    start, end = substitute(low[0], {v: loop.range.min}), substitute(high[0], {v: v - loop.step})
    return (*box[:d], Interval(maximum(start, *floors), minimum(end, *caps)), *box[d + 1 :])


def furthest_end(end: Expr, loop: For) -> Expr:
    """An end, with what it keeps to in all iterations of a loop: what moves forward is furthest in the last."""
    v = loop.variable
    operands = end.operands if type(end) is Min else (end,)
    forward = [e for e in operands if all(c > 0 if atom is v else v not in symbols(atom) for atom, c in linear(e)[1])]
    return minimum(*operands, *[substitute(e, {v: loop.range.max}) for e in forward])


def _parts(end: Expr, kind: type[Min] | type[Max], v: Variable) -> tuple[list[Expr], list[Expr]]:
    """The operands of an end that depend on v, and those that do not."""
    operands = end.operands if isinstance(end, kind) else (end,)
    return [e for e in operands if v in symbols(e)], [e for e in operands if v not in symbols(e)]
