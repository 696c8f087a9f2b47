"""Whether steps, workers, fold factors and divisors are at least 1, also where ranges or facts around them changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import Version
from slinky.ir.copies import expressions_of
from slinky.ir.printer import dimension_names
from slinky.ir.scopes import facts_inside
from slinky.ir.statements import Statement, positive_in
from slinky.sched.legality.refusals import Unproved
from slinky.sched.remedies import Remedy
from slinky.symbolic.explanations import brief
from slinky.symbolic.expressions import Condition, Expr, FloorDivide
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import quotients

RemediesOfRanges: TypeAlias = Callable[[], Sequence[Remedy]]
"""What may help where something is not at least 1 in all iterations of a loop that was given others."""


def check_positive(version: Version, statements: Iterable[int], remedies: RemediesOfRanges | None = None) -> None:
    """Check that the steps, workers and fold factors of statements, given by identity, are at least 1.

    Raises `SchedulingError` for the first that is not shown to be.
    """
    for identity in statements:
        known = version.facts_at(identity)
        for what, value in positive_in(version.statement(identity)):
            _require(version, identity, value, known, what, remedies)


def check_divisors(
    version: Version, before: Version, statements: Iterable[int], remedies: RemediesOfRanges | None = None
) -> None:
    """Check that what statements, given by identity, divide by is at least 1, unless they did so before, in the same
    loops and ifs or in fewer: elsewhere, less may be known.

    Raises `SchedulingError` for the first divisor that is not shown to be.
    """
    for identity in statements:
        found = quotients_of(version.statement(identity))
        if not found:
            continue
        old = before.entries.get(identity)
        if old is not None and _says_of(before, identity) <= _says_of(version, identity):
            found -= quotients_of(old.statement)
        for quotient in sorted(found, key=str):
            what = f"the divisor of {brief(quotient, dimension_names(version.program))}"
            _require(version, identity, quotient.denominator, version.facts_at(identity), what, remedies)


def quotients_of(statement: Statement) -> frozenset[FloorDivide]:
    """The quotients in the expressions of a statement itself whose divisor is no constant."""
    return frozenset[FloorDivide]().union(*[quotients(e) for e in expressions_of(statement)])


def _says_of(version: Version, identity: int) -> frozenset[Condition]:
    """What the loops and ifs around a statement guarantee there."""
    path = (identity, *version.ancestors(identity))
    around = [(version.statement(version.entries[i].parent), version.entries[i].field) for i in path[:-1]]
    return frozenset().union(*[facts_inside(outer, field) for outer, field in around])


def _require(
    version: Version, identity: int, value: Expr, known: Facts, what: str, remedies: RemediesOfRanges | None
) -> None:
    condition = value >= 1
    if not prove(condition, known):
        raise Unproved(version, condition, known).refuse(
            f"{what} is 1 or more",
            f"{what} is less than 1",
            place=statement_cursor(version, identity),
            remedies=remedies,
        )
