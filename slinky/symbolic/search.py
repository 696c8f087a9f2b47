"""Refutation: is there no assignment that meets the facts and a condition?

A conjunction is a system of linear inequalities in which each atom counts as one unknown. What an atom means enters
as further inequalities, and so do the facts that speak of the system's atoms. If the system has a solution, a case
that the solution does not satisfy is split: a disjunction, or which operand a choice takes. If the solution
satisfies all cases, no proof exists along this way, and the search ends.

Invariant: every inequality used follows from the facts, the condition, the meaning of an atom, or the branch of a
case at hand; a case is refuted only when each of its branches is. Work is bounded by a budget of branches and one of
eliminations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from slinky.symbolic.components import solution
from slinky.symbolic.expressions import (
    And,
    Condition,
    Constant,
    Expr,
    FloorDivide,
    IsZero,
    Max,
    Metadata,
    Min,
    NonNegative,
    Or,
    Product,
    Select,
    Truth,
    difference,
    linear,
    negate,
)
from slinky.symbolic.facts import Facts, Linear, Rows, split
from slinky.symbolic.inequalities import Outcome, Work
from slinky.symbolic.meaning import lasting_rows
from slinky.symbolic.patience import current_patience
from slinky.symbolic.products import multiplied_rows, ordered_rows, product_rows, quotient_rows, settled
from slinky.symbolic.traversal import symbols

Case: TypeAlias = Or | Min | Max | Select
"""What may be split: a disjunction, or which operand a choice takes."""

_Branch: TypeAlias = tuple[Rows, tuple[Or, ...]]

BRANCH_BUDGET = 60
ROW_BUDGET = 100


class System:
    """Inequalities, the atoms that stand in them, and the cases that may be split.

    Closed: with an atom, the facts about it and what it means are in the system, up to `ROW_BUDGET` rows.
    """

    def __init__(self, known: Facts) -> None:
        self.known = known
        self.rows: dict[Linear, None] = {}
        self.atoms: dict[Expr, int] = {}
        self.cases: dict[Case, None] = {}
        self.settled: frozenset[Case] = frozenset()
        self.chosen: dict[Expr, Expr] = {}
        """Parts of products and quotients, as facts leave them."""
        self.exact = True

    def extended(self, rows: Iterable[Linear], cases: Iterable[Or], settled: Case) -> System:
        """A system with more rows and cases, and one case that need not be split again."""
        new = System(self.known)
        new.rows, new.atoms = self.rows.copy(), self.atoms.copy()
        new.cases, new.settled, new.exact = self.cases.copy(), self.settled | {settled}, self.exact
        new.chosen = self.chosen
        new.add(rows, cases)
        return new

    def add(self, rows: Iterable[Linear], cases: Iterable[Or] = ()) -> None:
        """Add rows and cases, and all that is known of their atoms."""
        self.cases.update(dict.fromkeys(cases))
        given = list(rows)
        waiting: list[Expr] = []
        for row in given:
            self._add(row, waiting)
        for case in cases:
            self._mention(compared(case), waiting)
        self._close(waiting)
        if any(type(atom) is Product for atom in self.atoms):
            self.exact = False
            waiting.clear()
            for row in list(ordered_rows(self.atoms, self.known)):
                self._add(row, waiting)
            for row in list(multiplied_rows((*given, *self.rows), self.atoms, self.known)):
                self._add(row, waiting)
            self._close(waiting)

    def _close(self, waiting: list[Expr]) -> None:
        known = self.known
        for atom in waiting:  # grows while it is walked
            if len(self.rows) > ROW_BUDGET:
                self.exact = False
                return
            for row in self._meaning(atom):
                self._add(row, waiting)
            for rows in (known.upward.get(atom, ()), known.downward.get(atom, ())):
                for row in rows:
                    self._add(row, waiting)
            if isinstance(atom, (Min, Max, Select)):
                self.cases[atom] = None
            elif isinstance(atom, Product):
                self._mention(atom.factors, waiting)
            for case in known.named.get(atom, ()):
                if case not in self.cases:
                    self.cases[case] = None
                    self._mention(compared(case), waiting)
            if known.cases:
                for case in known.cases:
                    if case not in self.cases and not symbols(case).isdisjoint(symbols(atom)):
                        self.cases[case] = None
                        self._mention(compared(case), waiting)

    def _add(self, row: Linear, waiting: list[Expr]) -> None:
        if row not in self.rows:
            self.rows[row] = None
            self._mention([atom for atom, _ in row[1]], waiting)

    def _mention(self, atoms: Iterable[Expr], waiting: list[Expr]) -> None:
        """Let the system speak of some atoms, whether a row does or not."""
        for atom in atoms:
            if atom not in self.atoms:
                self.atoms[atom] = len(self.atoms)
                waiting.append(atom)

    def _meaning(self, atom: Expr) -> Iterator[Linear]:
        match atom:
            case Metadata(field="min" | "max"):
                # That the extent is not negative matters only where both ends are spoken of.
                for rows in lasting_rows(atom):
                    yield from [row for row in rows if all(other in self.atoms for other, _ in row[1])]
            case FloorDivide(denominator=denominator) if not isinstance(denominator, Constant):
                self.exact = False
                yield from self._same_as_settled(atom)
                yield from quotient_rows(atom, self.known)
            case Product():
                yield from self._same_as_settled(atom)
                yield from product_rows(atom, self.known)
            case _:
                for rows in lasting_rows(atom):
                    yield from rows

    def _same_as_settled(self, atom: FloorDivide | Product) -> Iterator[Linear]:
        same = settled(atom, self.known, self.chosen)
        if same is not atom:
            yield difference(atom, same)
            yield difference(same, atom)

    def solution(self, work: Work) -> dict[Expr, int] | Outcome:
        """Integers for the atoms that satisfy the rows, or why there are none to show."""
        return solution(tuple(self.rows), self.atoms, work)


class Search:
    """One refutation: what is left of its budget, and what it has found instead of a contradiction.

    `found` is then a solution of the inequalities; a conclusive one agrees with all that is known of its atoms.
    """

    def __init__(self, known: Facts) -> None:
        self.known = known
        self.budget = BRANCH_BUDGET
        self.work = Work()
        self.patience = current_patience()
        self.found: dict[Expr, int] = {}
        self.conclusive = False

    def refuted(self, condition: Condition) -> bool:
        """Whether the facts and the condition are shown to have no common solution."""
        rows, cases = split((condition,))
        if rows is None or self.known.contradictory:
            return True
        if self.patience.is_used_up(0):
            return False
        system = System(self.known)
        system.add(rows, cases)
        try:
            return self.refute(system)
        finally:
            self.patience.spend(self.work.coefficients)

    def refute(self, system: System) -> bool:
        """Whether a system and its cases are shown to have no solution."""
        if self.patience.is_used_up(self.work.coefficients):
            return False
        solution = system.solution(self.work)
        if solution is Outcome.NO_SOLUTION:
            return True
        if self.work.left < 0:
            return False
        found = solution if isinstance(solution, dict) else {}
        open_cases = [case for case in system.cases if case not in system.settled]
        doubtful = [case for case in open_cases if not _satisfies(found, case)]
        if not doubtful:
            self.found, self.conclusive = found, bool(found) and system.exact
            return False
        case = min(doubtful, key=_size)
        for rows, inner in _branches(case):
            self.budget -= 1
            if self.budget < 0 or not self.refute(system.extended(rows, inner, case)):
                return False
        return True


# ----------------------------------------------------------------------------------------------------------------
# Cases
# ----------------------------------------------------------------------------------------------------------------


def _size(case: Case) -> int:
    return 2 if isinstance(case, Select) else len(case.operands)


def _branches(case: Case) -> list[_Branch]:
    """The alternatives of a case; those that are false on their face are left out."""
    branches: list[_Branch] = []
    match case:
        case Or(operands=conditions):
            for condition in conditions:
                rows, inner = split((condition,))
                if rows is not None:
                    branches.append((rows, inner))
        case Min(operands=operands):
            branches = [((difference(case, operand),), ()) for operand in operands]
        case Max(operands=operands):
            branches = [((difference(operand, case),), ()) for operand in operands]
        case Select():
            for condition, value in ((case.condition, case.then), (negate(case.condition), case.otherwise)):
                rows, inner = split((condition,))
                if rows is not None:
                    branches.append(((*rows, difference(case, value), difference(value, case)), inner))
    return branches


def _satisfies(solution: Mapping[Expr, int], case: Case) -> bool:
    """Whether a solution is known to satisfy a case."""
    match case:
        case Or(operands=conditions):
            return any(holds(solution, condition) for condition in conditions)
        case Min(operands=operands) | Max(operands=operands):
            return any(_value(solution, difference(case, operand)) == 0 for operand in operands)
    return any(
        _value(solution, difference(case, value)) == 0 and holds(solution, condition)
        for condition, value in ((case.condition, case.then), (negate(case.condition), case.otherwise))
    )


def holds(solution: Mapping[Expr, int], condition: Condition, deepest: int = 20) -> bool:
    """Whether a solution is known to satisfy a condition; of a deeply nested one nothing is known."""
    if deepest == 0:
        return False
    match condition:
        case Truth(value=value):
            return value
        case NonNegative(expr=expr):
            at = _value(solution, linear(expr))
            return at is not None and at >= 0
        case IsZero(expr=expr):
            return _value(solution, linear(expr)) == 0
        case And(operands=operands):
            return all(holds(solution, operand, deepest - 1) for operand in operands)
        case Or(operands=operands):
            return any(holds(solution, operand, deepest - 1) for operand in operands)
    return False


def _value(solution: Mapping[Expr, int], row: Linear) -> int | None:
    """The value of a row, if the solution speaks of all its atoms."""
    total, terms = row
    for atom, c in terms:
        at = solution.get(atom)
        if at is None:
            return None
        total += c * at
    return total


def compared(condition: Condition) -> Iterator[Expr]:
    """The atoms of the sums that a condition compares with zero, so that solutions tell whether it holds."""
    waiting = [condition]
    while waiting:
        match waiting.pop():
            case NonNegative(expr=expr) | IsZero(expr=expr):
                yield from [atom for atom, _ in linear(expr)[1]]
            case And(operands=operands) | Or(operands=operands):
                waiting.extend(operands)
