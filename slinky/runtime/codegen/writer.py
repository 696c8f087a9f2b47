"""What the parts of the generator share: lines of code that know which place of the program they stand at.

A `Writer` is a `ScopedWriter` whose scopes carry the facts of the program there. It gives ends of intervals a form that
is cheap to use again, and writes the questions after which a run fails.

Invariant: a symbol made for an end has, wherever it is known, the value of the expression that it stands for; the facts
say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import attrs

from slinky.ir.scopes import Scope
from slinky.ir.statements import Statement
from slinky.runtime.codegen.examples import Examples
from slinky.runtime.codegen.names import Names
from slinky.runtime.codegen.scopes import INDENT, CodeScope, ScopedWriter
from slinky.symbolic.bounds import simplify as simplify_choices
from slinky.symbolic.expressions import Condition, Constant, Expr, Max, Metadata, Min, Sum, Variable, variable
from slinky.symbolic.intervals import Box, Interval
from slinky.symbolic.proofs import Facts
from slinky.symbolic.traversal import substitute

LINE_LENGTH = 120


@attrs.frozen(eq=False)
class Place:
    """What a line of the generated code does: enough to say, after an error there, which call it was.

    `boxes` are the bounds of the buffers in scope and `variables` the locals of the loops around; `ends` are
    expressions that stand for symbols of the boxes.
    """

    statement: Statement
    boxes: Mapping[str, Box]
    variables: dict[Expr, str]
    ends: dict[Expr, Expr]


class Writer(ScopedWriter):
    """Writes lines in the current scope, with what is known there."""

    def __init__(self, root: CodeScope, names: Names, examples: Examples) -> None:
        super().__init__(root, names)
        self._examples = examples
        self._ends: dict[Expr, Expr] = {}
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

    def assume(self, *conditions: Condition) -> None:
        """These conditions hold in the current scope from here on."""
        self.scope.facts = also(self.scope.facts, *conditions)

    def fits(self, line: str) -> bool:
        """Whether a line is short enough to stand in the current scope."""
        return len(line) + len(INDENT) * self.scope.depth <= LINE_LENGTH

    # Failures -----------------------------------------------------------------------------------------------------

    def place(self, statement: Statement) -> Place:
        """The place of a line that does something for a statement."""
        facts = self.scope.facts
        variables: dict[Expr, str] = {loop.variable: self.scope.lookup(loop.variable) or "" for loop in facts.loops}
        return Place(statement, facts.boxes, variables, self._ends)

    def fail_if(self, condition: Condition | str, helper: str, statement: Statement, arguments: str = "") -> None:
        """Call a helper that raises, where a condition holds."""
        test = condition if isinstance(condition, str) else self.text(condition)
        self.scope.write(f"if {test}:")
        self.scope.write(f"{INDENT}{helper}({arguments})", self.place(statement))

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
            if not name.isidentifier():
                return expr
            home = next(scope for scope in self.scope.chain() if expr in scope.values)
            symbol = variable(f"<end {len(self._ends) + 1}>")
            self.bind(symbol, name, home)
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
        if a is b or not self._ends:
            return a - b
        expanded = self._expanded(a) - self._expanded(b)
        return expanded if isinstance(expanded, Constant) else a - b


# Small questions ------------------------------------------------------------------------------------------------------


def also(scope: Scope, *conditions: Condition) -> Scope:
    """A scope in which these conditions hold, too."""
    return attrs.evolve(scope, known=scope.known.also(*conditions)) if conditions else scope


def is_costly(expr: Expr) -> bool:
    """Whether computing an expression takes more than a few additions."""
    if isinstance(expr, Sum):
        return any(not isinstance(atom, (Variable, Metadata)) for atom, _ in expr.terms)
    return not isinstance(expr, (Variable, Metadata, Constant))


def targets(names: Sequence[str]) -> str:
    """Names to assign the items of a tuple to."""
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)
