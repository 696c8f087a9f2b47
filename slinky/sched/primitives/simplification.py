"""Simplifying programs: expressions under the facts of their place, and statements that do nothing."""

from __future__ import annotations

import itertools
from typing import Any

import attrs

from slinky.cursors.editing import Edit
from slinky.ir.copies import with_block, with_body, with_expressions, with_fields, with_program_name
from slinky.ir.orders import shows_as_much
from slinky.ir.scopes import facts_inside
from slinky.ir.stages import stages_of
from slinky.ir.statements import SERIAL, Alloc, Block, Check, For, If, Pass, Pipelined, Statement, blocks_of
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import ALL_BUT_CHECKS, SAME_ORDER, Kept
from slinky.sched.operation import sched_op
from slinky.sched.primitives.rewriting import require_name
from slinky.sched.returned import RenameCursors, SimplifyCursors
from slinky.symbolic.bounds import decide
from slinky.symbolic.bounds import simplify as simplify_expression
from slinky.symbolic.expressions import FALSE, TRUE, equal, minimum
from slinky.symbolic.intervals import Interval
from slinky.symbolic.proofs import Facts, prove


@sched_op(SimplifyCursors)
def simplify(p: Pipeline) -> Any:
    """Simplify all expressions by what is known at their place, and drop what does nothing.

    Minima, maxima and selects that are decided are gone, and so are ifs whose condition is decided, loops that never
    run, stages of pipelined loops that do nothing, and `pass` where there are other statements. Checks stay as they
    are.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.blur(), "blur.x", 8)
        >>> p = split_loop(p, "for x", 1, names=("x_pieces", "x"))
        >>> print(p.find("for x"))
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
            scaled[:] = scale(inp[:])
            for x_pieces in out.x.min..out.x.max step 8:
        >     for x in x_pieces .. min(x_pieces, out.x.max) step 8:
                out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        >>> print(simplify(p).find("for x"))
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
            scaled[:] = scale(inp[:])
            for x_pieces in out.x.min..out.x.max step 8:
        >     for x in x_pieces..x_pieces step 8:
                out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
    """
    version = p._version
    edit = Edit(version)
    for statement in version.program.body:
        if not isinstance(statement, (Check, Pass)):
            new = _simplified(statement, version.base_facts())
            if new != (statement,):
                edit.replace(statement.id, new, "found that it does nothing, and dropped it")
    return settle(edit, "simplify", Kept(SAME_ORDER, ALL_BUT_CHECKS))


@sched_op(RenameCursors)
def rename(p: Pipeline, name: str) -> Any:
    """Give the pipeline another name.

    >>> import examples  # small pipelines, in the repository of slinky
    >>> print(repr(rename(examples.blur(), "soften")))
    <Pipeline soften(inp) -> (out)>
    """
    require_name(name, "a pipeline")
    edit = Edit(p._version)
    edit.program = with_program_name(edit.program, name)
    return settle(edit, "rename")


def simplified_body(loop: For, known: Facts) -> For:
    """A loop whose body is simplified by what its range says; `known` is what holds around the loop.

    Of one that is pipelined each stage is. Those that do nothing are gone: what waited for one waits for what that
    waited for. One stage alone runs in order.
    """
    inside = _inside(loop, "body", known)
    if not isinstance(loop.mode, Pipelined):
        return with_body(loop, simplified(loop.body, inside))
    stages = [new for stage in stages_of(loop) if not isinstance((new := _block(stage, inside))[0], Pass)]
    mode = attrs.evolve(loop.mode, stages=tuple(map(len, stages))) if len(stages) > 1 else SERIAL
    return with_fields(loop, body=tuple(itertools.chain.from_iterable(stages)) or (Pass(),), mode=mode)


def simplified(block: Block, known: Facts) -> Block:
    """A block, simplified by what holds there; a `pass` if nothing is left of it."""
    return _block(block, known)


def _inside(statement: Statement, field: str, known: Facts) -> Facts:
    """What holds in a block of a statement, with the value of a loop's variable if it has but one iteration."""
    inside = known.also(*facts_inside(statement, field))
    if isinstance(statement, For) and _runs_at_most_once(statement, known):
        return inside.also(equal(statement.variable, statement.range.min))
    return inside


def _runs_at_most_once(loop: For, known: Facts) -> bool:
    """Whether a loop is shown to have no second iteration."""
    return prove(loop.range.max < loop.range.min + loop.step, known)


def _block(block: Block, known: Facts) -> Block:
    new: list[Statement] = []
    for statement in block:
        if isinstance(statement, Check):
            known = known.also(statement.condition)
            new.append(statement)
        else:
            new.extend(_simplified(statement, known))
    kept = tuple(s for s in new if not isinstance(s, Pass))
    return kept or (Pass(),)


def _simplified(statement: Statement, known: Facts) -> Block:
    if isinstance(statement, For) and prove(statement.range.max < statement.range.min, known):
        return ()
    if isinstance(statement, If):
        decided = decide(statement.condition, known)
        if decided is TRUE:
            return _block(statement.body, _inside(statement, "body", known))
        if decided is FALSE:
            return _block(statement.orelse, _inside(statement, "orelse", known)) if statement.orelse else ()
    new = with_expressions(statement, lambda e: simplify_expression(e, known))
    if isinstance(statement, Alloc) and isinstance(new, Alloc) and not shows_as_much(new, statement, known):
        new = with_fields(new, layout=statement.layout)
    if isinstance(statement, For) and isinstance(new, For):
        body = simplified_body(with_fields(new, range=statement.range, step=statement.step), known)
        if _runs_at_most_once(statement, known):  # who looks at its ends alone finds again what was found by that
            last = simplify_expression(minimum(new.range.min, new.range.max), known)
            new = with_fields(new, range=Interval(new.range.min, last))
        return (with_fields(new, body=body.body, mode=body.mode),)
    for field, inner in blocks_of(statement):
        if inner:
            new = with_block(new, field, _block(inner, _inside(statement, field, known)))
    return (new,)
