"""Replacing symbols in statements and programs: one walk, whatever the number of uses, that captures nothing.

Invariant: every symbol that a replacement brings in means inside what it meant outside. A loop whose variable it would
run into gets another name, and the variable of a loop inside is never replaced, even where it is called like a symbol
that is.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import attrs

from slinky.ir.copies import expressions_of, rewritten, with_block, with_expressions, with_func, with_variable
from slinky.ir.families import original, relative, with_all_changed
from slinky.ir.statements import (
    Alloc,
    Block,
    Call,
    For,
    Fused,
    InputPort,
    Limit,
    LoweredFunc,
    Program,
    Statement,
    View,
    blocks_of,
    walk,
)
from slinky.symbolic.expressions import Expr, Variable, variable
from slinky.symbolic.intervals import substitute_box, substitute_interval
from slinky.symbolic.traversal import substitute, symbols, union_of_symbols


def substitute_statement(statement: Statement, replacements: Mapping[Expr, Expr]) -> Statement:
    """A statement, and all inside it, with symbols replaced in every expression. Identities stay."""
    return _substituted(statement, replacements, union_of_symbols(replacements.values()))


def substitute_block(block: Block, replacements: Mapping[Expr, Expr]) -> Block:
    """A block with symbols replaced in every expression."""
    brought = union_of_symbols(replacements.values())
    return tuple(_substituted(s, replacements, brought) for s in block)


def _substituted(statement: Statement, replacements: Mapping[Expr, Expr], brought: frozenset[Expr]) -> Statement:
    """The same; `brought` are the symbols that the replacements bring in."""
    inside = replacements
    if isinstance(statement, For):
        # The range of a loop does not see its variable: what it names there is what stands around.
        v = statement.variable
        if v in inside:
            inside = {symbol: e for symbol, e in inside.items() if symbol is not v}
        if v in brought and _would_capture(statement, v, inside):
            fresh = _fresh(statement, v, brought)
            inside = {**inside, v: fresh}
            statement = with_variable(statement, fresh, statement.body)
            brought = brought | {fresh}
    for field, block in blocks_of(statement):
        new = tuple(_substituted(inner, inside, brought) for inner in block)
        if any(a is not b for a, b in zip(new, block, strict=True)):
            statement = with_block(statement, field, new)
    return with_expressions(statement, lambda e: substitute(e, replacements))


def _would_capture(loop: For, v: Variable, replacements: Mapping[Expr, Expr]) -> bool:
    """Whether a replacement that names the variable of a loop is used in its body."""
    dangerous = {symbol for symbol, e in replacements.items() if v in symbols(e)}
    return bool(dangerous) and any(
        not dangerous.isdisjoint(union_of_symbols(expressions_of(s))) for s in walk(loop.body)
    )


def _fresh(loop: For, v: Variable, brought: frozenset[Expr]) -> Variable:
    """A variable called like another, with a number, of a name that neither the loop nor a replacement uses."""
    taken = {getattr(symbol, "name", "") for symbol in brought}
    for s in walk((loop,)):
        taken.update(getattr(symbol, "name", "") for symbol in union_of_symbols(expressions_of(s)))
        if isinstance(s, For):
            taken.add(s.variable.name)
        if isinstance(s, Alloc):
            taken.add(s.buffer)
    return next(variable(name) for k in itertools.count(1) if (name := f"{v.name}_{k}") not in taken)


def substitute_program(program: Program, replacements: Mapping[Expr, Expr]) -> Program:
    """A program with symbols replaced in every expression, those of its funcs, too. Identities stay."""
    funcs: dict[LoweredFunc, LoweredFunc] = {}

    def change(statement: Statement) -> Statement:
        if not isinstance(statement, Call):
            return statement
        first = original(statement.func)
        if first not in funcs:
            funcs[first] = substitute_func(first, replacements)
        func = relative(funcs[first], statement.func.variant)
        assert func is not None
        return statement if func is statement.func else with_func(statement, func)

    return attrs.evolve(program, body=substitute_block(tuple(rewritten(s, change) for s in program.body), replacements))


def substitute_func(func: LoweredFunc, replacements: Mapping[Expr, Expr]) -> LoweredFunc:
    """A func, and its variants, with symbols replaced; the same one if it names none of them, so that what is known of
    it stays known."""
    changed = with_all_changed(func, lambda member: _substituted_func(member, replacements))
    assert changed is not None
    return changed


def _substituted_func(func: LoweredFunc, replacements: Mapping[Expr, Expr]) -> LoweredFunc:
    views = [port.view for port in func.ports if port.view is not None]
    boxes = (*(port.box for port in func.inputs), *(view.box for view in views))
    intervals = (*(i for box in boxes for i in box), *(i for _, i in func.whole))
    ends = (e for i in intervals for e in (i.min, i.max))
    index = (e for view in views for e in view.index)
    named = union_of_symbols((*func.known, *func.operation.expressions(), *ends, *index, *_limits(func)))
    fused = _fused(func.fused, replacements)
    if fused is func.fused and not any(symbol in replacements for symbol in named):
        return func
    return attrs.evolve(
        func,
        operation=func.operation.substituted(replacements),
        inputs=tuple(_input(port, replacements) for port in func.inputs),
        outputs=tuple(attrs.evolve(port, view=_view(port.view, replacements)) for port in func.outputs),
        part=tuple(_limit(limit, replacements) for limit in func.part),
        known=tuple(substitute(c, replacements) for c in func.known),
        whole=tuple((d, substitute_interval(i, replacements)) for d, i in func.whole),
        fusions=(),
        fused=fused,
    )


def _fused(fused: Fused | None, replacements: Mapping[Expr, Expr]) -> Fused | None:
    """What a fused func stands for, in the same terms as the func itself."""
    if fused is None:
        return None
    first, second = (substitute_func(each, replacements) for each in (fused.first, fused.second))
    return fused if (first, second) == (fused.first, fused.second) else Fused(first, second, fused.ports)


def _input(port: InputPort, replacements: Mapping[Expr, Expr]) -> InputPort:
    box, view = substitute_box(port.box, replacements), _view(port.view, replacements)
    return attrs.evolve(port, box=box, view=view)


def _view(view: View | None, replacements: Mapping[Expr, Expr]) -> View | None:
    if view is None:
        return None
    index = tuple(substitute(e, replacements) for e in view.index)
    return attrs.evolve(view, index=index, box=substitute_box(view.box, replacements))


def _limits(func: LoweredFunc) -> list[Expr]:
    return [e for limit in func.part for e in (limit.first, limit.last) if e is not None]


def _limit(limit: Limit, replacements: Mapping[Expr, Expr]) -> Limit:
    first, last = (None if e is None else substitute(e, replacements) for e in (limit.first, limit.last))
    return Limit(limit.dim, first, last)
