"""Whether steps and fold factors are at least 1, also where ranges or facts around them changed."""

from __future__ import annotations

from collections.abc import Iterable

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import Version
from slinky.ir.statements import Alloc, For
from slinky.sched.legality.refusals import Unproved
from slinky.symbolic.expressions import Expr
from slinky.symbolic.proofs import Facts, prove


def check_positive(version: Version, statements: Iterable[int]) -> None:
    """Check that the steps and fold factors of statements, given by identity, are at least 1.

    Raises `SchedulingError` for the first that is not shown to be.
    """
    for identity in statements:
        known = version.facts_at(identity)
        match version.statement(identity):
            case For(step=step, variable=variable):
                _require(version, identity, step, known, f"the step of loop {variable}")
            case Alloc(buffer=buffer, folds=folds, dims=dims):
                for dim, fold in zip(dims, folds, strict=True):
                    if fold is not None:
                        _require(version, identity, fold, known, f"the fold of {buffer}.{dim}")


def _require(version: Version, identity: int, value: Expr, known: Facts, what: str) -> None:
    condition = value >= 1
    if not prove(condition, known):
        raise Unproved(version, condition, known).refuse(
            f"{what} is 1 or more", f"{what} is less than 1", place=statement_cursor(version, identity)
        )
