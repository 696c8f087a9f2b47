"""Replacing symbols in statements: one walk, whatever the number of uses."""

from __future__ import annotations

from collections.abc import Mapping

from slinky.cursors.editing import rewritten
from slinky.ir.statements import Alloc, Block, Call, Check, For, If, Statement
from slinky.symbolic.expressions import Expr, Variable
from slinky.symbolic.intervals import substitute_box, substitute_interval
from slinky.symbolic.traversal import substitute


def substitute_statement(statement: Statement, replacements: Mapping[Expr, Expr]) -> Statement:
    """A statement, and all inside it, with symbols replaced in every expression. Identities stay.

    The variables of loops inside are not replaced: names are unique along a path, so none of them is among the symbols.
    """
    return rewritten(statement, lambda inner: _replace(inner, replacements))


def substitute_block(block: Block, replacements: Mapping[Expr, Expr]) -> Block:
    """A block with symbols replaced in every expression."""
    return tuple(substitute_statement(s, replacements) for s in block)


def _replace(statement: Statement, replacements: Mapping[Expr, Expr]) -> Statement:
    match statement:
        case Call(func=func, box=box, id=identity):
            new = substitute_box(box, replacements)
            return statement if new == box else Call(func, new, id=identity)
        case Alloc(buffer=buffer, dtype=dtype, dims=dims, box=box, folds=folds, id=identity):
            new_folds = tuple(None if f is None else substitute(f, replacements) for f in folds)
            return Alloc(buffer, dtype, dims, substitute_box(box, replacements), new_folds, id=identity)
        case For(variable=v, range=range_, step=step, workers=workers, body=body, id=identity):
            assert isinstance(v, Variable)
            new_range = substitute_interval(range_, replacements)
            return For(v, new_range, substitute(step, replacements), workers, body, id=identity)
        case If(condition=condition, body=body, orelse=orelse, id=identity):
            return If(substitute(condition, replacements), body, orelse, id=identity)
        case Check(condition=condition, message=message, id=identity):
            return Check(substitute(condition, replacements), message, id=identity)
    return statement
