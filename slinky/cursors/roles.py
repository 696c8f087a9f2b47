"""The expressions of a statement, by the role that each plays in it.

Invariant: a role names at most one expression of a statement, and rewriting the expression keeps its role.
"""

from __future__ import annotations

from typing import assert_never

from slinky.ir.statements import Alloc, Call, Check, For, If, Pass, Statement
from slinky.symbolic.expressions import Condition, Expr
from slinky.symbolic.intervals import Box


def roles(statement: Statement) -> dict[str, Expr | Condition]:
    """The expressions of a statement by the role that each plays; `ExprCursor` lists the roles."""
    match statement:
        case For(range=range_, step=step):
            return {"min": range_.min, "max": range_.max, "step": step}
        case If(condition=condition) | Check(condition=condition):
            return {"condition": condition}
        case Call(func=func, box=box):
            return _ends(func.dim_names(), box)
        case Alloc(dims=dims, box=box, folds=folds):
            folded = {f"{dim}.fold": fold for dim, fold in zip(dims, folds, strict=True) if fold is not None}
            return _ends(dims, box) | folded
        case Pass():
            return {}
        case _:
            assert_never(statement)


def _ends(dims: tuple[str, ...], box: Box) -> dict[str, Expr | Condition]:
    ends: dict[str, Expr | Condition] = {}
    for dim, i in zip(dims, box, strict=True):
        ends[f"{dim}.min"], ends[f"{dim}.max"] = i.min, i.max
    return ends
