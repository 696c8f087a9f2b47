"""What the parts that make a plan share: steps that know which place of the program they stand at.

A `Writer` is a `ScopedWriter` whose scopes carry the facts of the program there. It gives ends of intervals a form that
is cheap to use again, and adds the questions after which a run fails.

Invariant: a symbol made for an end has, wherever it is known, the value of the expression that it stands for; the facts
say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import attrs

from slinky.ir.scopes import Scope
from slinky.ir.statements import For, Statement
from slinky.runtime.codegen.examples import Examples
from slinky.runtime.codegen.names import TakenNames
from slinky.runtime.codegen.scopes import CodeScope, ScopedWriter
from slinky.runtime.plan_tree import Failure, Name, Place, Stop
from slinky.symbolic.bounds import simplify as simplify_choices
from slinky.symbolic.comparing import never_negative
from slinky.symbolic.expressions import (
    Condition,
    Constant,
    Expr,
    Max,
    Metadata,
    Min,
    Scalar,
    Sum,
    Variable,
    linear,
    variable,
)
from slinky.symbolic.intervals import Interval
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import substitute


class Writer(ScopedWriter):
    """Adds steps to the current scope, with what is known there."""

    def __init__(self, root: CodeScope, names: TakenNames, examples: Examples) -> None:
        super().__init__(root, names)
        self._examples = examples
        self._ends: dict[Expr, Expr] = {}
        self._differences: dict[tuple[Expr, Expr], Expr] = {}
        self._loops: tuple[For, ...] = ()
        self._variables: Mapping[Expr, str] = {}
        self._simplified: dict[tuple[Expr, Facts], Expr] = {}

    @property
    def facts(self) -> Scope:
        """What holds here, and the buffers and loops in scope."""
        return self.scope.facts

    @property
    def known(self) -> Facts:
        """The conditions that hold here."""
        return self.illustrated(self.scope.facts)

    def illustrated(self, facts: Scope) -> Facts:
        """The conditions that hold in a scope, ready to be asked a lot of questions."""
        return self._examples.illustrated(facts.known)

    def simplify(self, expr: Expr, known: Facts) -> Expr:
        """The expression without choices that the facts decide."""
        if not is_costly(expr):
            return expr
        found = self._simplified.get((expr, known))
        if found is None:
            found = self._simplified[expr, known] = self._without_choices(expr, known)
        return found

    def _without_choices(self, expr: Expr, known: Facts) -> Expr:
        if isinstance(expr, (Min, Max)) and self._examples.is_needed(expr, known):
            if not any(is_costly(operand) for operand in expr.operands):
                return expr
        return simplify_choices(expr, known)

    def simplified(self, i: Interval, known: Facts) -> Interval:
        """The interval without choices that the facts decide."""
        if not is_costly(i.min) and not is_costly(i.max):
            return i
        return Interval(self.simplify(i.min, known), self.simplify(i.max, known))

    def is_at_most(self, a: Expr, b: Expr, known: Facts) -> bool:
        """Whether `a <= b` is shown. What ends stand for is compared first: that takes no search."""
        return self.is_not_negative(b - a, known)

    def is_not_negative(self, expr: Expr, known: Facts) -> bool:
        """Whether an expression is shown never to be negative, where what is less is compared with what is more."""
        offset, terms = linear(expr)
        if any(is_costly(atom) or atom in self._ends for atom, _ in terms):
            if never_negative(offset, terms, known, self._ends):
                return True
        return prove(expr >= 0, known)

    def assume(self, *conditions: Condition) -> None:
        """These conditions hold in the current scope from here on."""
        self.scope.facts = also(self.scope.facts, *conditions)

    # Failures -----------------------------------------------------------------------------------------------------

    def place(self, statement: Statement) -> Place:
        """The place of a step that does something for a statement."""
        facts = self.scope.facts
        if facts.loops is not self._loops:
            self._loops = facts.loops
            self._variables = {loop.variable: self.scope.lookup(loop.variable).text for loop in facts.loops}
        return Place(statement, facts.boxes, self._variables, self._ends)

    def stop_if(self, condition: Condition, failure: Failure, statement: Statement) -> None:
        """End the run with an error of its own, where a condition holds."""
        self.scope.add(Stop(self.value(condition), failure, self.place(statement)))

    # Ends of intervals --------------------------------------------------------------------------------------------

    def end(self, expr: Expr, hint: str) -> Expr:
        """An end of an interval as an expression that is cheap to use more than once.

        A choice or a quotient gets a local, and a symbol that stands for it from here on.
        """
        if not is_costly(expr):
            return expr
        key = ("end", expr)
        symbol: Any = self.scope.lookup(key)
        if symbol is None:
            name = self.named(expr, hint)
            if not isinstance(name, Name):
                return expr
            home = next(scope for scope in self.scope.chain() if expr in scope.values)
            symbol = variable(f"<end {len(self._ends) + 1}>")
            self.define(symbol, name.text, home)
            home.values[key] = symbol
            self._ends[symbol] = self._expanded(expr)
        if self.scope.lookup(("fact", symbol)) is None:
            self.scope.values["fact", symbol] = True
            self.scope.facts = attrs.evolve(self.facts, known=self.facts.known.naming(symbol, expr))
        return cast(Expr, symbol)

    def _expanded(self, expr: Expr) -> Expr:
        return substitute(expr, self._ends)

    def difference(self, a: Expr, b: Expr) -> Expr:
        """`a - b`, as a constant where it is one."""
        found = self._differences.get((a, b))
        if found is None:
            found = a - b
            expanded_a, expanded_b = self._expanded(a), self._expanded(b)
            if expanded_a is not a or expanded_b is not b:
                expanded = expanded_a - expanded_b
                found = expanded if isinstance(expanded, Constant) else found
            self._differences[a, b] = found
        return found


# Small questions ------------------------------------------------------------------------------------------------------


def also(scope: Scope, *conditions: Condition) -> Scope:
    """A scope in which these conditions hold, too."""
    return attrs.evolve(scope, known=scope.known.also(*conditions)) if conditions else scope


def is_costly(expr: Expr) -> bool:
    """Whether computing an expression takes more than a few additions."""
    if isinstance(expr, Sum):
        return not _SYMBOLS.issuperset([type(atom) for atom, _ in expr.terms])
    return not isinstance(expr, (Variable, Metadata, Constant))


_SYMBOLS = frozenset((Variable, Scalar, Metadata))
