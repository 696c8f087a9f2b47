"""Sizes of tensors: unknowns, the equations between them, and what follows.

Idea. Each dimension of each tensor has an unknown, and each operation says equations of those of its operands and its
result. Nothing has a direction: what is known of any tensor is known of all that depends on it, and of all that it
depends on. An equation is kept by the operation that said it, so what was thrown away constrains nothing.

Sizes are found by propagation, an unknown by an equation in which it is the only one; where that ends, by elimination
among those that are linear.

Invariant: a size that is found is the only one for which all equations hold, and it comes with what it follows from.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TypeAlias
from weakref import WeakSet

import attrs

from slinky.errors import ExpressionError, TensorSizeError
from slinky.frontend.tensors.identities import Identity
from slinky.runtime import forks
from slinky.symbolic.expressions import (
    FALSE,
    Condition,
    Expr,
    Product,
    Variable,
    as_expr,
    constant_value,
    equal,
    linear,
    variable,
)
from slinky.symbolic.traversal import substitute, symbols

_serial = itertools.count()
_lock = forks.lock()

AGE = operator.attrgetter("age")


class Unknown:
    """The size of a dimension `of` a tensor; `value` where it was given, and `given` says by what."""

    __slots__ = ("__weakref__", "_equations", "given", "identity", "of", "symbol", "value")

    def __init__(self, of: str) -> None:
        self.symbol = variable(f"size {next(_serial)}")
        self.of = of
        self.value: int | None = None
        self.given = ""
        self.identity = Identity()
        self._equations: WeakSet[Equation] = WeakSet()

    def give(self, value: int | None, given: str) -> None:
        """Say what it is; None: that this is not known."""
        self.value, self.given = value, given

    def told_by(self, equation: Equation) -> None:
        """It stands in an equation. Threads may say so of one that another looks at."""
        with _lock:
            self._equations.add(equation)

    def equations(self) -> list[Equation]:
        """The equations in which it stands, in order."""
        with _lock:
            return sorted(self._equations, key=AGE)

    def __str__(self) -> str:
        return self.of if self.value is None else f"{self.of} == {self.value} ({self.given})"


@attrs.frozen(eq=False)
class Equation:
    """That two expressions of unknowns are equal, and why."""

    left: Expr
    right: Expr
    unknowns: tuple[Unknown, ...]
    why: str
    age: int = attrs.field(init=False, factory=lambda: next(_serial))
    """Later equations have larger ones: so they come in the same order in every process."""

    def __attrs_post_init__(self) -> None:
        for unknown in self.unknowns:
            unknown.told_by(self)

    def zero(self, known: Mapping[Expr, Expr]) -> Expr | None:
        """An expression of the other unknowns that is zero, where some are known; None if there is none."""
        return substitute(self.left - self.right, known)

    def conditions(self, known: Mapping[Expr, Expr]) -> list[Condition]:
        """What must hold of expressions for all unknowns."""
        return [equal(substitute(self.left, known), substitute(self.right, known))]

    def __str__(self) -> str:
        names: dict[Expr, Expr] = {u.symbol: variable(u.of) for u in self.unknowns}
        return f"{substitute(self.left, names)} == {substitute(self.right, names)} ({self.why})"


@attrs.frozen(eq=False)
class Fit(Equation):
    """That dimensions are as long as fits: of some, in steps, the last elements are at most `room` apart from the
    first ones, and a step more is none too many. Which of them that is, is the one whose size is not said elsewhere: so
    it is asked for a size only where no other equation says one (see `said_before_fitting`).

    `left == right` says it of the one that takes the longest steps.
    """

    room: Expr
    steps: tuple[tuple[Expr, int], ...]

    def zero(self, known: Mapping[Expr, Expr]) -> Expr | None:
        """The size that is not known yet, less what it is."""
        missing = [symbol for symbol, _ in self.steps if symbol not in known]
        if len(missing) != 1:
            return None
        (symbol,) = missing
        left = substitute(self._left(symbol), known)
        return symbol - (left // dict(self.steps)[symbol] + 1)

    def _left(self, without: Expr | None) -> Expr:
        """The room that some dimensions leave: all but one."""
        return self.room - sum((step * (s - 1) for s, step in self.steps if s is not without), start=as_expr(0))

    def conditions(self, known: Mapping[Expr, Expr]) -> list[Condition]:
        """That nothing is beyond the room, and no step more is possible along the longest."""
        left = substitute(self._left(None), known)
        return [left >= 0, left < max(step for _, step in self.steps)]


Ground: TypeAlias = Equation | Unknown
"""What a size follows from: an equation, or what was given."""


def connected(start: Iterable[Unknown]) -> tuple[list[Unknown], list[Equation]]:
    """All unknowns and equations that have to do with some unknowns, in the order in which they are found."""
    waiting = list(start)
    unknowns: dict[Unknown, None] = dict.fromkeys(waiting)
    equations: dict[Equation, None] = {}
    while waiting:
        for equation in waiting.pop().equations():
            if equation not in equations:
                equations[equation] = None
                new = [u for u in equation.unknowns if u not in unknowns]
                unknowns.update(dict.fromkeys(new))
                waiting += new
    return list(unknowns), sorted(equations, key=AGE)


def said_before_fitting(equations: Iterable[Equation], says: Callable[[Equation], bool]) -> bool:
    """Whether an equation says a size: all but those that fit are asked, and if none does, these until the first."""
    found = False
    fits: list[Equation] = []
    for equation in tuple(equations):
        if isinstance(equation, Fit):
            fits.append(equation)
        elif says(equation):
            found = True
    return found or any(map(says, fits))


class Sizes:
    """What follows from the equations that have to do with some unknowns.

    Raises `TensorSizeError` where not all of them can hold, with those that cannot.
    """

    def __init__(self, start: Iterable[Unknown]) -> None:
        unknowns, self._open = connected(start)
        self._known: dict[Expr, Expr] = {}
        self._grounds: dict[Expr, dict[Ground, None]] = {}
        for unknown in unknowns:
            if unknown.value is not None:
                self._learn(unknown.symbol, Fraction(unknown.value), {unknown: None})
        while said_before_fitting(self._open, self._says_one) or self._eliminated():
            pass

    def known(self, unknown: Unknown) -> int | None:
        """The size, if it is known."""
        found = self._known.get(unknown.symbol)
        return None if found is None else constant_value(found)

    def of(self, unknowns: Sequence[Unknown]) -> tuple[int, ...]:
        """The sizes. Raises `TensorSizeError` where one is not determined, with the equations that leave it open."""
        found = [self.known(unknown) for unknown in unknowns]
        missing = [unknown for unknown, size in zip(unknowns, found, strict=True) if size is None]
        if missing:
            raise TensorSizeError(self._undetermined(missing))
        return tuple(size for size in found if size is not None)

    def _undetermined(self, missing: Sequence[Unknown]) -> str:
        reached: set[Expr] = {unknown.symbol for unknown in missing}
        left: dict[Equation, None] = {}
        while True:
            new = [e for e in self._open if e not in left and not reached.isdisjoint(self._unknown_in(e))]
            if not new:
                break
            left.update(dict.fromkeys(new))
            reached.update(symbol for e in new for symbol in self._unknown_in(e))
        what = " and ".join(unknown.of for unknown in missing)
        if not left:
            return f"the size of {what} is not known, and no equation says it: give it by set_size() or set()"
        given: dict[Ground, None] = {}
        for equation in left:
            for unknown in equation.unknowns:
                given.update({u: None for u in self._grounds.get(unknown.symbol, {}) if isinstance(u, Unknown)})
        return f"the size of {what} is not determined by\n{_lines([*left, *given])}"

    def _unknown_in(self, equation: Equation) -> set[Expr]:
        return {unknown.symbol for unknown in equation.unknowns if unknown.symbol not in self._known}

    def _learn(self, symbol: Expr, value: Fraction, grounds: dict[Ground, None]) -> None:
        if value.denominator != 1 or value < 0:
            raise _impossible(grounds, f"it would have to be {value}")
        self._known[symbol] = as_expr(int(value))
        self._grounds[symbol] = grounds

    def _grounds_of(self, equation: Equation) -> dict[Ground, None]:
        found: dict[Ground, None] = {equation: None}
        for unknown in equation.unknowns:
            found.update(self._grounds.get(unknown.symbol, {}))
        return found

    def _rest(self, equation: Equation) -> Expr | None:
        """What must be zero, if that is known."""
        with self._possible(equation):
            return equation.zero(self._known)

    def _holds(self, equation: Equation) -> bool:
        """Whether an equation of known sizes holds."""
        with self._possible(equation):
            return FALSE not in equation.conditions(self._known)

    @contextmanager
    def _possible(self, equation: Equation) -> Iterator[None]:
        """Say where a size of 0 is divided by, and where there is no root."""
        try:
            yield
        except ExpressionError as error:
            raise _impossible(self._grounds_of(equation), str(error)) from None

    def _says_one(self, equation: Equation) -> bool:
        """Whether a size is found by an equation, in which it is the only unknown."""
        if not self._unknown_in(equation):
            if not self._holds(equation):
                raise _impossible(self._grounds_of(equation))
            self._open.remove(equation)
            return False
        rest = self._rest(equation)
        if rest is None:
            return False
        left = symbols(rest)
        if not left and constant_value(rest) != 0:
            raise _impossible(self._grounds_of(equation))
        if len(left) != 1:
            return False
        (symbol,) = left
        with self._possible(equation):
            value = _only_root(rest, symbol)
        if value is None:
            return False
        self._learn(symbol, value, self._grounds_of(equation))
        self._open.remove(equation)
        return True

    def _eliminated(self) -> bool:
        """Whether a size was found among linear equations of several unknowns."""
        rows: list[_Row] = []
        for equation in self._open:
            rest = self._rest(equation)
            row = None if rest is None else _row(rest, self._grounds_of(equation))
            if row is None:
                continue
            for other in rows:
                row = row.without(other)
            if not row.terms:
                if row.constant:
                    raise _impossible(row.grounds)
                continue
            rows = [other.without(row) for other in rows] + [row]
        for row in rows:
            if len(row.terms) == 1:
                ((symbol, factor),) = row.terms.items()
                if symbol not in self._known:
                    self._learn(symbol, -row.constant / factor, row.grounds)
        return any(len(row.terms) == 1 for row in rows)


@attrs.frozen
class _Row:
    """That a sum of multiples of unknowns and a constant is zero; the first unknown is eliminated from other rows."""

    terms: dict[Expr, Fraction]
    constant: Fraction
    grounds: dict[Ground, None]

    def without(self, other: _Row) -> _Row:
        """The same without the first unknown of another row."""
        pivot = next(iter(other.terms))
        if pivot not in self.terms:
            return self
        by = self.terms[pivot] / other.terms[pivot]
        terms = {
            symbol: value
            for symbol in {**self.terms, **other.terms}
            if (value := self.terms.get(symbol, Fraction(0)) - by * other.terms.get(symbol, Fraction(0)))
        }
        return _Row(terms, self.constant - by * other.constant, {**self.grounds, **other.grounds})


def _row(rest: Expr, grounds: dict[Ground, None]) -> _Row | None:
    constant, terms = linear(rest)
    if not all(isinstance(atom, Variable) for atom, _ in terms):
        return None
    return _Row({atom: Fraction(factor) for atom, factor in terms}, Fraction(constant), grounds)


def _only_root(rest: Expr, symbol: Expr) -> Fraction | None:
    """The only size for which an expression of one unknown is zero; None if that is not known.

    Raises `ExpressionError` where it would have to be a root that there is not.
    """
    constant, terms = linear(rest)
    if len(terms) != 1:
        return None
    ((atom, factor),) = terms
    value = Fraction(-constant, factor)
    if atom is symbol:
        return value
    if not isinstance(atom, Product) or any(each is not symbol for each in atom.factors):
        return None
    power = len(atom.factors)
    root = Fraction(_root(int(value), power))
    if root**power != value:
        raise ExpressionError(f"no size to the power of {power} is {value}")
    return root


def _root(value: int, power: int) -> int:
    """The largest integer whose power is at most a value: bit by bit, for floats do not hold large ones."""
    root = 0
    for bit in reversed(range(value.bit_length() // power + 1)):
        if (root | 1 << bit) ** power <= value:
            root |= 1 << bit
    return root


def _impossible(grounds: dict[Ground, None], why: str = "") -> TensorSizeError:
    reason = f": {why}" if why else ""
    return TensorSizeError(f"there are no sizes for which all of these hold{reason}\n{_lines(grounds)}")


def _lines(grounds: Iterable[Ground]) -> str:
    return "\n".join(f"  {ground}" for ground in grounds)
