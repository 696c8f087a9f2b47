"""What holds at a place of a program: the buffers and loops around it, and the facts that its statements may rely on.

Invariant: every fact holds whenever the statement at that place runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import assert_never

import attrs

from slinky.ir.regions import global_boxes
from slinky.ir.statements import Alloc, Call, Check, For, If, Pass, Program, Statement
from slinky.symbolic.bounds import bounds
from slinky.symbolic.expressions import Condition, Expr, Variable, negate
from slinky.symbolic.intervals import Box, Interval
from slinky.symbolic.layers import Layers
from slinky.symbolic.proofs import Facts, facts, prove
from slinky.symbolic.traversal import substitute


@attrs.frozen(eq=False)
class Scope:
    """The names and facts at one place. `enter` and `after` give those of other places."""

    boxes: Layers[Box]
    allocs: Layers[Alloc]
    loops: tuple[For, ...]
    known: Facts

    def after(self, statement: Statement) -> Scope:
        """The scope behind a statement, in the same block."""
        match statement:
            case Alloc(buffer=buffer, box=box):
                boxes, allocs = self.boxes.plus(buffer, box), self.allocs.plus(buffer, statement)
                return Scope(boxes, allocs, self.loops, self.known)
            case Check(condition=condition):
                return attrs.evolve(self, known=self.known.also(condition))
            case Call() | For() | If() | Pass():
                return self
            case _:
                assert_never(statement)

    def enter(self, statement: Statement, block: str) -> Scope:
        """The scope at the start of a block (named by its field) inside a statement."""
        match statement:
            case For():
                known = self.known.also(*facts_inside(statement, block))
                return attrs.evolve(self, loops=(*self.loops, statement), known=known)
            case If():
                return attrs.evolve(self, known=self.known.also(*facts_inside(statement, block)))
            case Alloc() | Call() | Check() | Pass():
                return self
            case _:
                assert_never(statement)


def facts_inside(statement: Statement, block: str) -> tuple[Condition, ...]:
    """What a statement guarantees in one of its blocks, named by its field."""
    match statement:
        case For():
            return loop_facts(statement)
        case If(condition=condition):
            return (condition if block == "body" else negate(condition),)
        case Alloc() | Call() | Check() | Pass():
            return ()
        case _:
            assert_never(statement)


def loop_facts(loop: For) -> tuple[Condition, ...]:
    """What holds in the body of a loop."""
    return _range_facts(loop.variable, loop.range, loop.step)


@lru_cache(maxsize=4096)
def _range_facts(variable: Variable, range_: Interval, step: Expr) -> tuple[Condition, ...]:
    return (range_.min <= variable, variable <= range_.max, step >= 1)


def over_loops(i: Interval, loops: Iterable[For], known: Facts) -> Interval:
    """The hull of an interval over all iterations of loops, given innermost first."""
    for loop in loops:
        ranges: dict[Expr, Interval] = {loop.variable: loop.range}
        i = Interval(bounds(i.min, ranges, known).min, bounds(i.max, ranges, known).max)
    return i


def one_before_the_other(intervals: Sequence[Interval], loop: For, known: Facts) -> bool:
    """Whether each interval is shown to end, in any iteration of a loop, before all of them begin in any later one.

    `known` holds before the loop. What ends before the next iteration's begins does so for all later ones, if the
    beginnings never move back.
    """
    onward: dict[Expr, Expr] = {loop.variable: loop.variable + loop.step}
    known = known.also(loop.range.min <= loop.variable, loop.step >= 1)
    known = known.also(loop.variable + loop.step <= loop.range.max)
    return all(
        prove(a.max < substitute(b.min, onward), known) and prove(b.min <= substitute(b.min, onward), known)
        for a in intervals
        for b in intervals
    )


def leading_checks(program: Program) -> Iterator[Check]:
    """The checks that stand before all other statements: they hold everywhere."""
    for statement in program.body:
        if not isinstance(statement, Check):
            return
        yield statement


def program_scope(program: Program) -> Scope:
    """The scope at the start of a program, with the facts of its leading checks."""
    return Scope(Layers(global_boxes(program)), Layers({}), (), facts(*(c.condition for c in leading_checks(program))))
