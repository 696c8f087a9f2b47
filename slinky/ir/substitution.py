"""Replacing symbols in statements and programs: one walk, whatever the number of uses."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from slinky.ir.copies import rewritten
from slinky.ir.statements import Alloc, Block, Call, Check, For, If, LoweredFunc, Program, Statement
from slinky.symbolic.expressions import Expr, Variable
from slinky.symbolic.intervals import substitute_box, substitute_interval
from slinky.symbolic.traversal import substitute, union_of_symbols


def substitute_statement(statement: Statement, replacements: Mapping[Expr, Expr]) -> Statement:
    """A statement, and all inside it, with symbols replaced in every expression. Identities stay.

    The variables of loops inside are not replaced: names are unique along a path, so none of them is among the symbols.
    """
    return rewritten(statement, lambda inner: _replace(inner, replacements))


def substitute_block(block: Block, replacements: Mapping[Expr, Expr]) -> Block:
    """A block with symbols replaced in every expression."""
    return tuple(substitute_statement(s, replacements) for s in block)


def substitute_program(program: Program, replacements: Mapping[Expr, Expr]) -> Program:
    """A program with symbols replaced in every expression, those of its funcs, too. Identities stay."""
    funcs: dict[LoweredFunc, LoweredFunc] = {}

    def change(statement: Statement) -> Statement:
        if isinstance(statement, Call):
            func = funcs.get(statement.func)
            if func is None:
                func = funcs[statement.func] = substitute_func(statement.func, replacements)
            statement = Call(func, statement.box, id=statement.id)
        return _replace(statement, replacements)

    return attrs.evolve(program, body=tuple(rewritten(s, change) for s in program.body))


def substitute_func(func: LoweredFunc, replacements: Mapping[Expr, Expr]) -> LoweredFunc:
    """A func with symbols replaced; the same one if it names none of them, so that what is known of it stays known."""
    intervals = (*(i for access in func.inputs for i in access.box), *(i for _, i in func.whole))
    named = union_of_symbols(
        (
            *func.known,
            *(v for _, v in func.arguments if isinstance(v, Expr)),
            *(e for i in intervals for e in (i.min, i.max)),
        )
    )
    if not any(symbol in replacements for symbol in named):
        return func
    return attrs.evolve(
        func,
        inputs=tuple(attrs.evolve(a, box=substitute_box(a.box, replacements)) for a in func.inputs),
        arguments=tuple((k, substitute(v, replacements) if isinstance(v, Expr) else v) for k, v in func.arguments),
        known=tuple(substitute(c, replacements) for c in func.known),
        whole=tuple((d, substitute_interval(i, replacements)) for d, i in func.whole),
    )


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
