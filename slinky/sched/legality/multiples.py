"""Whether calls compute whole pieces of the dimensions that their funcs compute in such.

Proof idea: what is a multiple of n stays one under sums, minima, maxima and choices; the variable of a loop is one
where the loop begins at one and goes on by multiples. What these leave is asked of the facts.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import Touched, Version
from slinky.errors import SchedulingError
from slinky.ir.effects import Touching, made_by
from slinky.ir.scopes import facts_inside
from slinky.ir.statements import Call, For, Statement, blocks_of
from slinky.sched.legality.touches import calls_inside, effective_box
from slinky.symbolic.expressions import Expr, Max, Min, Select, constant_value, equal, linear, linear_sum
from slinky.symbolic.intervals import not_empty
from slinky.symbolic.proofs import Facts, prove


def check_multiples(version: Version, touched: Touched) -> None:
    """Check that calls compute whole pieces where their funcs do.

    `touched` are the statements that an edit put, changed or took away, by identity, before and after it: a call, the
    allocation whose bounds clamp it, or a loop around it. Raises `SchedulingError` for the first call that is not
    shown to.
    """
    for call in _calls(version, touched):
        loops = version.loops_around(call.id)
        for d, n in call.func.multiples:
            box = effective_box(version, call)
            known = version.facts_at(call.id).also(not_empty(box))
            if not (is_multiple(box[d].min, n, loops, known) and is_multiple(box[d].max + 1, n, loops, known)):
                name = call.func.dim_names()[d]
                raise SchedulingError(
                    f"{call.func.name} computes {name} in whole pieces of {n}, and is not shown to do so here",
                    place=statement_cursor(version, call.id),
                )


def _calls(version: Version, touched: Touched) -> list[Call]:
    """The calls whose clamped boxes, or what is known there, may have changed."""
    found: dict[int, Call] = {}
    for identity, (before, now) in touched.items():
        if now is None:
            continue
        statement = now.statement
        made = made_by(statement)
        if made is not None:
            writers = [(i, version.statement(i)) for i in version.writers(made)]
            found.update((i, s) for i, s in writers if isinstance(s, Touching))
        if before is None or not _guarantees_the_same(before.statement, statement):
            found.update((call.id, call) for call in calls_inside(version, identity))
    return [call for call in found.values() if call.func.multiples]


def _guarantees_the_same(before: Statement, now: Statement) -> bool:
    """Whether a statement around others guarantees inside of it what it did before."""
    fields = [field for field, _ in blocks_of(now)]
    return (
        bool(fields)
        and type(before) is type(now)
        and all(facts_inside(before, field) == facts_inside(now, field) for field in fields)
    )


def is_multiple(e: Expr, n: int, loops: Sequence[For], known: Facts) -> bool:
    """Whether an expression is shown to be a multiple of n, inside of these loops, given outermost first."""
    return _Multiples(n, loops, known).has(e)


_MOST_ASKED = 64
"""Of so many parts of an expression, at most, it is asked whether they are multiples."""


@attrs.frozen
class _Multiples:
    """Asks whether expressions are multiples of n, once of each: where the start of a loop takes the place of its
    variable, a choice may come back as a part of its own parts. Until it is shown, it is none."""

    n: int
    loops: Sequence[For]
    known: Facts
    _asked: dict[Expr, bool] = attrs.field(factory=dict, init=False)

    def has(self, e: Expr) -> bool:
        """Whether an expression is shown to be one of them."""
        if e not in self._asked:
            if len(self._asked) >= _MOST_ASKED:
                return False
            self._asked[e] = False
            self._asked[e] = self._is_shown(e)
        return self._asked[e]

    def _is_shown(self, e: Expr) -> bool:
        match e:
            case Min(operands=operands) | Max(operands=operands):
                return all(self.has(operand) for operand in operands)
            case Select(then=then, otherwise=otherwise):
                return self.has(then) and self.has(otherwise)
        n = self.n
        for loop in reversed(self.loops):
            # The start and so many steps: as a multiple of n, the steps do not matter. (Within a choice they may:
            # another alternative is chosen in another iteration.)
            factor, step = dict(linear(e)[1]).get(loop.variable, 0), constant_value(loop.step)
            if factor and step is not None and factor * step % n == 0:
                e = e + factor * (loop.range.min - loop.variable)
        offset, terms = linear(e)
        rest = [(atom, c % n) for atom, c in terms if c % n and not self._has_choice(atom)]
        if not rest:
            return offset % n == 0
        return prove(equal(linear_sum(offset % n, rest) % n, 0), self.known)

    def _has_choice(self, atom: Expr) -> bool:
        """The same, of a choice within a sum; other atoms are left to the facts."""
        return isinstance(atom, (Min, Max, Select)) and self.has(atom)
