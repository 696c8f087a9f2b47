"""Generated Python while it is written: nested scopes of lines, and expressions whose values do not change hoisted.

A scope is a run of lines in which the same symbols have values: the body of the function, of a loop, of a branch. An
expression is computed in the outermost scope that has all its symbols, once, and kept in a local; only what changes
from iteration to iteration is computed in the loop. What might fail (a division whose divisor is not shown to be at
least 1) is computed in its place alone, and only when it is needed.

Invariants: a name is assigned in one scope only, and keeps its value while that scope lasts; a scope is written out
when it ends, so that what is hoisted out of it stands before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import attrs

from slinky.ir.scopes import Scope
from slinky.runtime.codegen.names import Names
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
    linear,
    linear_sum,
)
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.text import remainder, sides
from slinky.symbolic.traversal import quotients, symbols

INDENT = "    "

_LOOSE, _NOT, _COMPARISON, _SUM, _TERM, _ATOM = range(6)
"""How tightly a text binds."""

_Text: TypeAlias = tuple[str, int]


@attrs.frozen
class Line:
    """A line of code, how deep it stands, and what it does (for messages about errors that happen in it).

    A line that `acts` may call a callback, or begins lines that may: before the first such line, nothing has happened.
    """

    depth: int
    text: str
    place: Any = None
    acts: bool = False


@attrs.define(eq=False)
class CodeScope:
    """A run of lines in which the same symbols have values.

    `values` are the names of expressions and views that are known here. `blocks` counts the blocks of Python around
    these lines within one function, of which Python allows only so many. A scope that `is_certain` is shown to run, at
    least once, where the lines before it do.
    """

    around: CodeScope | None
    level: int
    depth: int
    blocks: int
    facts: Scope
    is_certain: bool = False
    lines: list[Line] = attrs.field(factory=list)
    values: dict[Any, Any] = attrs.field(factory=dict)

    def write(self, text: str, place: object = None, *, acts: bool = False) -> None:
        """Add a line."""
        self.lines.append(Line(self.depth, text, place, acts))

    def chain(self) -> Iterable[CodeScope]:
        """This scope and those around it."""
        scope: CodeScope | None = self
        while scope is not None:
            yield scope
            scope = scope.around

    def lookup(self, key: object) -> Any:
        """The name of a value that is known here."""
        for scope in self.chain():
            name = scope.values.get(key)
            if name is not None:
                return name
        return None

    def inside(self, facts: Scope, *, blocks: int | None = None, deeper: int = 1) -> CodeScope:
        """A scope in this one, its lines further right."""
        count = self.blocks if blocks is None else blocks
        return CodeScope(self, self.level + 1, self.depth + deeper, count, facts)


class ScopedWriter:
    """Writes expressions as Python in the current scope.

    Subclasses give symbols their names: `self.homes[symbol]` is the scope in which it has a value.
    """

    def __init__(self, root: CodeScope, names: Names) -> None:
        self.names = names
        self.scope = root
        self.root = root
        self.homes: dict[Expr, CodeScope] = {}
        self._known_quotients: dict[Node, frozenset[FloorDivide]] = {}

    # Where a value can be computed --------------------------------------------------------------------------------

    def bind(self, symbol: Expr, name: str, scope: CodeScope) -> None:
        """A symbol has a value in a scope, in the local of this name."""
        scope.values[symbol] = name
        self.homes[symbol] = scope

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
    def inside(
        self, header: str, facts: Scope, blocks: int = 1, place: object = None, *, is_certain: bool = False
    ) -> Iterator[CodeScope]:
        """Write what follows inside a compound statement; the statement itself is dropped if that is nothing.

        Without a header what follows stands where it is, in a scope of its own. `blocks` is how many blocks of Python
        the statement counts as; -1 for a function, in which the count begins anew.
        """
        outer = self.scope
        inner = outer.inside(facts, blocks=outer.blocks + blocks if blocks >= 0 else 0, deeper=int(bool(header)))
        inner.is_certain = is_certain or not header
        self.scope = inner
        try:
            yield inner
        finally:
            self.scope = outer
            for symbol in [s for s, home in self.homes.items() if home is inner]:
                del self.homes[symbol]
        if inner.lines:
            if header:
                outer.write(header, place, acts=True)
            outer.lines.extend(inner.lines)

    # Expressions --------------------------------------------------------------------------------------------------

    def text(self, node: Node, hint: str = "t") -> str:
        """An expression or condition as Python, to stand alone. `hint` is a name for what is hoisted."""
        return self._write(node, hint)[0]

    def atom(self, node: Node, hint: str = "t") -> str:
        """An expression as Python that may stand beside any operator."""
        text, strength = self._write(node, hint)
        return text if strength == _ATOM else f"({text})"

    def named(self, expr: Expr, hint: str) -> str:
        """An expression as a name or an integer, assigned where it can be computed first."""
        text, _ = self._write(expr, hint)
        if text.isidentifier() or text.lstrip("-").isdigit():
            return text
        home = self.home(expr)
        target = home if self.is_safe(expr, home.facts.known) else self.scope
        return self._assign(expr, target, hint)

    def _assign(self, expr: Expr, target: CodeScope, hint: str) -> str:
        current, self.scope = self.scope, target
        try:
            text = self._write_here(expr, hint)[0]
            name = self.names.fresh(hint)
            target.write(f"{name} = {text}")
            target.values[expr] = name
        finally:
            self.scope = current
        return name

    def _write(self, node: Node, hint: str) -> _Text:
        if isinstance(node, Constant):
            return str(node.value), _ATOM if node.value >= 0 else _SUM
        name = self.scope.lookup(node)
        if name is not None:
            return name, _ATOM
        if isinstance(node, Expr):
            home = self.home(node)
            if home is not self.scope and self.is_safe(node, home.facts.known):
                return self._assign(node, home, hint), _ATOM
        return self._write_here(node, hint)

    def _write_here(self, node: Node, hint: str) -> _Text:
        match node:
            case Truth(value=value):
                return str(value), _ATOM
            case Sum():
                return self._sum(node, hint)
            case Product(factors=factors):
                return " * ".join(self.atom(factor, hint) for factor in factors), _TERM
            case FloorDivide(numerator=numerator, denominator=denominator):
                return f"{self.atom(numerator, hint)} // {self.atom(denominator, hint)}", _TERM
            case Min(operands=operands):
                return f"min({self._list(operands, hint)})", _ATOM
            case Max(operands=operands):
                return f"max({self._list(operands, hint)})", _ATOM
            case Select(condition=condition, then=then, otherwise=otherwise):
                return f"({self.text(then)} if {self.text(condition)} else {self.text(otherwise)})", _ATOM
            case NonNegative(expr=expr):
                strict = linear(expr)[0] == -1  # in integers, a <= b - 1 is a < b
                left, right = sides(expr + 1 if strict else expr)
                return f"{self.text(left, hint)} {'<' if strict else '<='} {self.text(right, hint)}", _COMPARISON
            case IsZero(expr=expr):
                left, right = sides(expr)
                return f"{self.text(left, hint)} == {self.text(right, hint)}", _COMPARISON
            case And(operands=conditions):
                return self._junction(" and ", conditions), _LOOSE
            case Or(operands=conditions):
                return self._junction(" or ", conditions), _LOOSE
        raise TypeError(f"{node} has no value here")

    def _list(self, nodes: Iterable[Expr], hint: str) -> str:
        return ", ".join(self.text(node, hint) for node in nodes)

    def _junction(self, word: str, conditions: Iterable[Node]) -> str:
        texts = [self._write(condition, "t") for condition in conditions]
        return word.join(text if strength >= _COMPARISON else f"({text})" for text, strength in texts)

    def _sum(self, node: Sum, hint: str) -> _Text:
        found = remainder(node)
        if found is not None:
            return f"{self.atom(found[0], hint)} % {self.atom(found[1], hint)}", _TERM
        here = [(atom, c) for atom, c in node.terms if self.home(atom) is self.scope]
        there = [(atom, c) for atom, c in node.terms if self.home(atom) is not self.scope]
        offset = node.constant
        if here and there and len(there) + bool(offset) > 1:
            unchanging = linear_sum(offset, there)
            there, offset = [(unchanging, 1)], 0
        terms = sorted((*here, *there), key=lambda term: term[1] < 0)
        text = ""
        if offset > 0 and terms[0][1] < 0:
            text, offset = str(offset), 0
        for atom, c in terms:
            factor = "" if abs(c) == 1 else f"{abs(c)} * "
            sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
            inner, strength = self._write(atom, hint)
            if strength < _TERM or (strength < _ATOM and (factor or c < 0)):
                inner = f"({inner})"
            text += f"{sign}{factor}{inner}"
        if offset:
            text += f" {'-' if offset < 0 else '+'} {abs(offset)}"
        return text, _SUM if " " in text else _ATOM if not text.startswith("-") else _SUM
