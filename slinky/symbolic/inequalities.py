"""Systems of linear inequalities over integers: a solution, or the certainty that there is none.

A row `(a_1, ..., a_n, c)` states `a_1*x_1 + ... + a_n*x_n + c >= 0`.

Method, after Pugh's Omega test (1991). Each row is divided by the greatest common divisor of its coefficients and its
constant rounded down, which keeps all integer solutions and cuts off fractional ones. Equations are solved for an
unknown, after a change of unknowns that gives it the coefficient one. What is left is eliminated unknown by unknown
(Fourier-Motzkin). From the last unknown back to the first, integers are then chosen that satisfy the rows; where
there is no integer between two bounds, the system is split into one with the unknown below and one with it above.

Invariant: every derived row follows from the given ones (and the side of a split), and both sides of a split are
refuted. So `NO_SOLUTION` is never wrong, and a solution satisfies all rows. Work is bounded: `NOT_DECIDED`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from math import gcd
from typing import TypeAlias

Row: TypeAlias = tuple[int, ...]
_System: TypeAlias = dict[Row, int]
"""Coefficients -> constant: one row, the tightest, for each direction."""

ROW_LIMIT = 300
"""Systems that grow beyond this many rows are given up."""

COMBINATION_LIMIT = 1500
"""Eliminations that combine more pairs of rows than this, together, are given up: a user waits for the answer."""

WORK_LIMIT = 2500
"""A question is given up that leads to more rows than this, in all its systems together."""

SPLIT_LIMIT = 40
"""How many systems one question may be split into."""


class Outcome(Enum):
    """What is known where no solution is at hand."""

    NO_SOLUTION = "no solution"
    NOT_DECIDED = "not decided"


class _ContradictionError(Exception):
    """A row that no integers satisfy."""


class _TooLargeError(Exception):
    """The system outgrew its limit."""


class Work:
    """How many rows may still be made for a question, and how many coefficients were looked at so far."""

    def __init__(self, limit: int = WORK_LIMIT) -> None:
        self.left = limit
        self.coefficients = 0

    def take(self, rows: int) -> None:
        """Count rows that are about to be made. Raises `_TooLargeError` where they are too many."""
        self.left -= rows
        if self.left < 0:
            raise _TooLargeError


def solve(rows: Iterable[Row], work: Work) -> list[int] | Outcome:
    """Integers that satisfy all rows, or why there are none to show."""
    waiting = [list(rows)]
    splits = 0
    while waiting:
        system = waiting.pop()
        try:
            found = _Elimination(system, work).solution()
        except _ContradictionError:
            continue
        except _TooLargeError:
            return Outcome.NOT_DECIDED
        if isinstance(found, list):
            return found
        splits += 1
        if splits > SPLIT_LIMIT:
            return Outcome.NOT_DECIDED
        waiting += [[*system, side] for side in found]
    return Outcome.NO_SOLUTION


class _Elimination:
    """One pass over a system: unknowns out, then values back in."""

    def __init__(self, rows: list[Row], work: Work) -> None:
        self.work = work
        self.width = len(rows[0]) - 1 if rows else 0
        self.system: _System = {}
        self.opposites: dict[Row, Row] = {}
        self.steps: list[_Removed | _Changed] = []
        self.combinations = 0
        work.coefficients += len(rows) * self.width
        for row in rows:
            self._add(self.system, row[:-1], row[-1])

    def _add(self, system: _System, coefficients: Row, offset: int) -> Row | None:
        """Add a row in normal form, unless a tighter one of its direction is there; the coefficients of that form.

        Raises `_ContradictionError` if it contradicts the row of the opposite direction.
        """
        divisor = gcd(*coefficients)
        if divisor != 1:
            if divisor == 0:
                if offset < 0:
                    raise _ContradictionError
                return None
            coefficients, offset = tuple([a // divisor for a in coefficients]), offset // divisor
        known = system.get(coefficients)
        if known is None or offset < known:
            system[coefficients] = offset
            opposite = system.get(self.opposites.get(coefficients) or self._opposite(coefficients))
            if opposite is not None and opposite + offset < 0:
                raise _ContradictionError
        return coefficients

    def _opposite(self, coefficients: Row) -> Row:
        """The coefficients of the opposite direction, which are asked for with each equation again."""
        opposite = tuple([-a for a in coefficients])
        self.opposites[coefficients], self.opposites[opposite] = opposite, coefficients
        return opposite

    def solution(self) -> list[int] | tuple[Row, Row]:
        """A solution, or the two rows of a split. Raises where there is no solution, or too much work."""
        while self._solve_equation():
            pass
        self._count()
        while self.system:
            column = self._cheapest_column()
            self._eliminate(column)
            if len(self.system) > ROW_LIMIT:
                raise _TooLargeError
        values = [0] * self.width
        for step in reversed(self.steps):
            split = step.back(values)
            if split is not None:
                return self._in_first_unknowns(split)
        return values

    def _solve_equation(self) -> bool:
        """Solve one equation for an unknown, if there is an equation."""
        equation = self._equation()
        if equation is None:
            return False
        column = _smallest(equation[0])
        while abs(equation[0][column]) != 1:
            # With t = x + sum of q_i*x_i in place of x, the other coefficients become remainders, which are smaller.
            a = equation[0][column]
            change = _Changed(column, [0 if i == column else b // a for i, b in enumerate(equation[0])])
            self.steps.append(change)
            self._replace(column, change.apply)
            equation = change.apply(equation)
            column = _smallest(equation[0])
        coefficients, offset = equation
        opposite = (self.opposites[coefficients], -offset)
        sign = coefficients[column]
        low, high = (equation, opposite) if sign > 0 else (opposite, equation)
        self.steps.append(_Removed(column, [low], [high]))
        self._replace(column, lambda row: _plus_multiple(row, equation, -row[0][column] * sign))
        return True

    def _equation(self) -> tuple[Row, int] | None:
        system, opposites = self.system, self.opposites
        for coefficients, offset in system.items():
            if system.get(opposites[coefficients]) == -offset:
                return coefficients, offset
        return None

    def _replace(self, column: int, changed: Callable[[tuple[Row, int]], tuple[Row, int]]) -> None:
        """Change the rows in which an unknown stands.

        The others, which are most, are in normal form and do not contradict each other.
        """
        rows, system = self.system, _System()
        self._take(len(rows))
        self.system = system
        new: list[Row | None] = []
        for row in rows.items():
            coefficients, offset = row
            if coefficients[column]:
                new.append(self._add(system, *changed(row)))
            elif system.setdefault(coefficients, offset) > offset:
                system[coefficients] = offset
        for each in new:
            if each is not None and system.get(self.opposites[each], -system[each]) + system[each] < 0:
                raise _ContradictionError

    def _take(self, rows: int) -> None:
        self.work.take(rows)
        self.work.coefficients += rows * self.width

    def _count(self) -> None:
        """How many rows bound each unknown from below and from above; eliminations keep it so."""
        columns = list(zip(*self.system, strict=True)) or [()] * self.width
        self.lower = [sum(map((0).__lt__, entries)) for entries in columns]
        self.upper = [sum(map((0).__gt__, entries)) for entries in columns]

    def _count_row(self, coefficients: Row, times: int) -> None:
        for column, a in enumerate(coefficients):
            if a > 0:
                self.lower[column] += times
            elif a:
                self.upper[column] += times

    def _cheapest_column(self) -> int:
        """The column whose elimination adds the fewest rows, exact ones first.

        A column of one sign is best, for it only removes rows. An elimination loses no integer solution, and so is
        exact, where all lower or all upper rows have the coefficient one.
        """
        counted = [(n, p, q) for n, (p, q) in enumerate(zip(self.lower, self.upper, strict=True)) if p or q]
        best = min([(0, -p - q, n) for n, p, q in counted if not p or not q], default=(2, 0, -1))
        two_sided = sorted([(p * q - p - q, n) for n, p, q in counted if p and q])
        for rows, n in two_sided:
            if (0, rows, n) > best:
                break
            if self._is_exact(n):
                return n
        return best[2] if best[0] == 0 else two_sided[0][1]

    def _is_exact(self, column: int) -> bool:
        entries = [coefficients[column] for coefficients in self.system]
        return max(entries) == 1 or min(entries) == -1

    def _eliminate(self, column: int) -> None:
        """Go on with what follows for the other unknowns."""
        lower: list[tuple[Row, int]] = []
        upper: list[tuple[Row, int]] = []
        rest: _System = {}
        for row in self.system.items():
            a = row[0][column]
            if a == 0:
                rest[row[0]] = row[1]
            else:
                (lower if a > 0 else upper).append(row)
                self._count_row(row[0], -1)
        self.work.coefficients += 2 * self.width + len(self.system)  # to choose the unknown, and to find its rows
        self.combinations += len(lower) * len(upper)
        if self.combinations > COMBINATION_LIMIT:
            raise _TooLargeError
        self._take(len(lower) * len(upper))
        self.steps.append(_Removed(column, lower, upper))
        for low, low_offset in lower:
            a = low[column]
            for high, high_offset in upper:
                b = -high[column]
                combined = tuple([b * x + a * y for x, y in zip(low, high, strict=True)])
                count = len(rest)
                new = self._add(rest, combined, b * low_offset + a * high_offset)
                if new is not None and len(rest) > count:
                    self._count_row(new, 1)
        self.system = rest

    def _in_first_unknowns(self, split: tuple[int, int]) -> tuple[Row, Row]:
        """The rows `x <= k` and `x >= k + 1` of a split, in the unknowns that the system began with."""
        column, k = split
        row = [0] * self.width
        row[column] = 1
        for step in reversed(self.steps):
            if isinstance(step, _Changed):
                row = [a + row[step.column] * q for a, q in zip(row, step.quotients, strict=True)]
        return (*[-a for a in row], k), (*row, -k - 1)


def _smallest(coefficients: Row) -> int:
    """The column of the coefficient that is closest to zero without being zero."""
    return min((abs(a), column) for column, a in enumerate(coefficients) if a)[1]


def _plus_multiple(row: tuple[Row, int], other: tuple[Row, int], factor: int) -> tuple[Row, int]:
    combined = tuple([x + factor * y for x, y in zip(row[0], other[0], strict=True)])
    return combined, row[1] + factor * other[1]


def _at(row: tuple[Row, int], values: list[int]) -> int:
    """The value of a row."""
    return sum([a * x for a, x in zip(row[0], values, strict=True)]) + row[1]


class _Removed:
    """An unknown that was eliminated, and the rows that bound it from below and above."""

    def __init__(self, column: int, lower: list[tuple[Row, int]], upper: list[tuple[Row, int]]) -> None:
        self.column = column
        self.lower = lower
        self.upper = upper

    def back(self, values: list[int]) -> tuple[int, int] | None:
        """Give the unknown a value; the unknown and the integer below the gap if there is none."""
        column = self.column
        values[column] = 0
        least = max([-(_at(row, values) // row[0][column]) for row in self.lower], default=None)
        most = min([_at(row, values) // -row[0][column] for row in self.upper], default=None)
        if least is None or most is None:
            values[column] = max(least or 0, 0) if most is None else min(most, 0)
            return None
        values[column] = (least + most) // 2
        return (column, most) if least > most else None


class _Changed:
    """A change of unknowns: column's `x` is `t` less the sum of quotient times unknown."""

    def __init__(self, column: int, quotients: list[int]) -> None:
        self.column = column
        self.quotients = quotients

    def apply(self, row: tuple[Row, int]) -> tuple[Row, int]:
        """A row in the new unknowns."""
        a = row[0][self.column]
        return tuple([x - a * q for x, q in zip(row[0], self.quotients, strict=True)]), row[1]

    def back(self, values: list[int]) -> None:
        """The value of the old unknown."""
        values[self.column] -= sum([q * x for q, x in zip(self.quotients, values, strict=True)])
