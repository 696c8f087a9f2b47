"""Steps while a plan is made: nested scopes of them, and expressions whose values do not change hoisted.

A scope is a run of steps in which the same symbols have values: the body of the function, of a loop, of a branch. An
expression is computed in the outermost scope that has all its symbols, once, and named; only what changes
from iteration to iteration is computed in the loop, and named there where it is long. What might fail (a division whose
divisor is not shown to be at least 1) is computed in its place alone, and only when it is needed.

Invariants: a name is given a value in one scope only, and keeps it while that scope lasts; the steps of a scope are
joined to those around when it ends, so that what is hoisted out of it stands before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from slinky.ir.scopes import Scope
from slinky.runtime.codegen.names import TakenNames
from slinky.runtime.plan_tree import (
    Assign,
    Boolean,
    Choice,
    Comparison,
    Conjunction,
    Disjunction,
    Greatest,
    Integer,
    Least,
    Linear,
    Name,
    Onward,
    Quotient,
    Remainder,
    Step,
    Steps,
    Times,
    Value,
)
from slinky.symbolic.expressions import (
    And,
    Constant,
    Expr,
    FloorDivide,
    IsZero,
    Max,
    Min,
    Node,
    NonNegative,
    Or,
    Product,
    Select,
    Sum,
    Truth,
    Variable,
    linear,
    linear_sum,
)
from slinky.symbolic.order import weight
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.text import remainder, sides
from slinky.symbolic.traversal import quotients, symbols

HEAVIEST_UNNAMED = 256
"""The weight of the longest expressions in which nothing has a name: parts that are longer may stand in many places,
each of which would be written, and computed, again."""

AS_FUNCTION = -1
"""In place of a number of blocks: the body of a function."""


@attrs.define(eq=False)
class Course:
    """How the variable of a loop goes on, where windows may come with it: those in `beside`, by name."""

    variable: Variable
    first: Expr
    step: Expr
    beside: list[tuple[str, Onward]] = attrs.field(factory=list)


@attrs.define(eq=False)
class CodeScope:
    """A run of steps in which the same symbols have values.

    `values` are what expressions and views are called that are known here, and whatever else is. `blocks` counts the
    steps around these that have others inside, within one function: Python allows only so many. A scope that
    `is_certain` is shown to run, at least once, where the steps before it do. That of the body of a loop may go along
    with more than its variable (see `Course`).
    """

    around: CodeScope | None
    level: int
    blocks: int
    facts: Scope
    is_certain: bool = False
    steps: list[Step] = attrs.field(factory=list)
    values: dict[Any, Any] = attrs.field(factory=dict)
    course: Course | None = None

    def add(self, step: Step) -> None:
        """Add a step."""
        self.steps.append(step)

    def done(self) -> Steps:
        """The steps, when all are there."""
        return tuple(self.steps)

    def chain(self) -> Iterable[CodeScope]:
        """This scope and those around it."""
        scope: CodeScope | None = self
        while scope is not None:
            yield scope
            scope = scope.around

    def lookup(self, key: object) -> Any:
        """What is known here under a key."""
        for scope in self.chain():
            found = scope.values.get(key)
            if found is not None:
                return found
        return None


class ScopedWriter:
    """Computes expressions in the current scope.

    Subclasses give symbols their names: `self.homes[symbol]` is the scope in which it has a value.
    """

    def __init__(self, root: CodeScope, names: TakenNames) -> None:
        self.names = names
        self.scope = root
        self.root = root
        self.homes: dict[Expr, CodeScope] = {}
        self._defined_in: dict[int, list[Expr]] = {}
        self._known_quotients: dict[Node, frozenset[FloorDivide]] = {}

    # Where a value can be computed --------------------------------------------------------------------------------

    def define(self, symbol: Expr, name: str, scope: CodeScope) -> None:
        """A symbol has a value in a scope, under this name."""
        scope.values[symbol] = Name(name)
        self.homes[symbol] = scope
        self._defined_in.setdefault(scope.level, []).append(symbol)

    def home(self, *nodes: Node) -> CodeScope:
        """The outermost scope that has all symbols of some expressions."""
        home = self.root
        for node in nodes:
            for symbol in symbols(node):
                own = self.homes.get(symbol, self.root)
                if own.level > home.level:
                    home = own
        return home

    def is_safe(self, node: Node, known: Facts) -> bool:
        """Whether evaluating an expression cannot fail, so that it may be done early."""
        return all(prove(q.denominator >= 1, known) for q in quotients(node, self._known_quotients))

    # Blocks -------------------------------------------------------------------------------------------------------

    @contextmanager
    def inside(self, facts: Scope, blocks: int = 1, *, is_certain: bool = False) -> Iterator[CodeScope]:
        """What follows goes into a scope of its own, whose steps are for the caller to join to the others.

        `blocks` is how many blocks of Python they stand in; `AS_FUNCTION` for the body of a function, in which the
        count begins anew.
        """
        outer = self.scope
        count = outer.blocks + blocks if blocks != AS_FUNCTION else 0
        inner = CodeScope(outer, outer.level + 1, count, facts, is_certain)
        self.scope = inner
        try:
            yield inner
        finally:
            self.scope = outer
            for symbol in self._defined_in.pop(inner.level, ()):
                if self.homes.get(symbol) is inner:
                    del self.homes[symbol]

    @contextmanager
    def at(self, target: CodeScope) -> Iterator[CodeScope]:
        """What follows goes into this scope, which is around the current one or is it; gives the current one."""
        current, self.scope = self.scope, target
        try:
            yield current
        finally:
            self.scope = current

    # Expressions --------------------------------------------------------------------------------------------------

    def named(self, expr: Expr, hint: str) -> Name | Integer:
        """An expression as a name or an integer, assigned where it can be computed first."""
        value = self.value(expr, hint)
        if isinstance(value, (Name, Integer)):
            return value
        home = self.home(expr)
        target = home if self.is_safe(expr, home.facts.known) else self.scope
        return self._assign(expr, target, hint)

    def _assign(self, expr: Expr, target: CodeScope, hint: str) -> Name:
        current, self.scope = self.scope, target  # not by `at`: this is done for every expression
        value = self._computed(expr, hint)
        self.scope = current
        name = Name(self.names.fresh(hint))
        target.add(Assign(name.text, value))
        target.values[expr] = name
        return name

    def value(self, node: Node, hint: str = "t") -> Value:
        """An expression or condition, what does not change hoisted out of it. `hint` is a name for what is hoisted."""
        if isinstance(node, Constant):
            return Integer(node.value)
        known: Value | None = self.scope.lookup(node)
        if known is not None:
            return known
        if isinstance(node, Expr):
            home = self.home(node)
            has_name = home is not self.scope or (node._weight or weight(node)) > HEAVIEST_UNNAMED
            if has_name and self.is_safe(node, home.facts.known):
                return self._assign(node, home, hint)
        return self._computed(node, hint)

    def _computed(self, node: Node, hint: str) -> Value:
        """An expression computed in the current scope."""
        match node:
            case Truth(value=value):
                return Boolean(value)
            case Sum():
                return self._sum(node, hint)
            case Product(factors=factors):
                return Times(self._values(factors, hint))
            case FloorDivide(numerator=numerator, denominator=denominator):
                return Quotient(self.value(numerator, hint), self.value(denominator, hint))
            case Min(operands=operands):
                return Least(self._values(operands, hint))
            case Max(operands=operands):
                return Greatest(self._values(operands, hint))
            case Select(condition=condition, then=then, otherwise=otherwise):
                # In the order in which they stand, so that names are given out in it.
                first, test, last = self.value(then), self.value(condition), self.value(otherwise)
                return Choice(test, first, last)
            case NonNegative(expr=expr):
                strict = linear(expr)[0] == -1  # in integers, a <= b - 1 is a < b
                left, right = sides(expr + 1 if strict else expr)
                return Comparison(self.value(left, hint), "<" if strict else "<=", self.value(right, hint))
            case IsZero(expr=expr):
                left, right = sides(expr)
                return Comparison(self.value(left, hint), "==", self.value(right, hint))
            case And(operands=conditions):
                return Conjunction(self._values(conditions, "t"))
            case Or(operands=conditions):
                return Disjunction(self._values(conditions, "t"))
        raise TypeError(f"{node} has no value here")

    def _values(self, nodes: Iterable[Node], hint: str) -> tuple[Value, ...]:
        return tuple([self.value(node, hint) for node in nodes])

    def _sum(self, node: Sum, hint: str) -> Value:
        found = remainder(node)
        if found is not None:
            return Remainder(self.value(found[0], hint), self.value(found[1], hint))
        here: list[tuple[Expr, int]] = []
        there: list[tuple[Expr, int]] = []
        for atom, c in node.terms:
            (here if self.home(atom) is self.scope else there).append((atom, c))
        offset = node.constant
        if here and there and len(there) + bool(offset) > 1:
            unchanging = linear_sum(offset, there)
            there, offset = [(unchanging, 1)], 0
        terms = sorted((*here, *there), key=lambda term: term[1] < 0)
        return Linear(tuple([(c, self.value(atom, hint)) for atom, c in terms]), offset)
