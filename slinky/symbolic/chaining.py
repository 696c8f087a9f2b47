"""Short proofs: a goal that follows from a few facts, found backwards from the goal.

`0 <= goal` follows from `0 <= row` and `0 <= goal - row`. So pick a term of the goal that few rows can account for,
take a row in which that term stands with the same sign, and go on with what is left. A loop variable is replaced by
the end of its range this way, a buffer's bound by what a check says of it. This answers most questions that a
schedule asks, in microseconds; what it does not find is left to `search`.

Invariant: `follows` says yes only to what holds. Multiplying a goal by m > 0 and adding m - 1 loses nothing over
the integers, nor does dividing by a common factor and rounding the constant down.
"""

from __future__ import annotations

from math import gcd

from slinky.symbolic.arithmetic import Terms
from slinky.symbolic.expressions import Expr, FloorDivide
from slinky.symbolic.facts import Facts, Rows
from slinky.symbolic.meaning import lasting_rows

_STEPS = 20
_DEPTH = 6
_LAST = 1_000_000


def follows(known: Facts, offset: int, terms: Terms) -> bool:
    """Whether `0 <= offset + terms` is found to follow from the facts in a few steps."""
    if not terms:
        return offset >= 0
    least = known.tightest.get(terms)
    if least is not None and least <= offset:
        return True
    goal = offset, terms
    found = known.chains.get(goal)
    if found is None:
        found = _Chain(known).reaches(offset, dict(terms), _DEPTH)
        known.remember_chain(goal, found)
    return found


class _Chain:
    def __init__(self, known: Facts) -> None:
        self.upward = known.upward
        self.downward = known.downward
        self.steps = _STEPS

    def reaches(self, offset: int, goal: dict[Expr, int], depth: int) -> bool:
        """Whether `0 <= offset + goal` is found to follow within this many rows."""
        if not goal:
            return offset >= 0
        if depth == 0:
            return False
        atom, rows = self._fewest(goal)
        if atom is None:
            return False
        c = goal[atom]
        for row_offset, row_terms in rows:
            self.steps -= 1
            if self.steps < 0:
                return False
            a = c
            for row_atom, row_c in row_terms:
                if row_atom is atom:
                    a = row_c
                    break
            if a == c:
                multiple, factor = 1, 1
            else:
                common = gcd(a, c)
                multiple, factor = abs(a) // common, abs(c) // common
            rest = goal.copy() if multiple == 1 else {other: multiple * other_c for other, other_c in goal.items()}
            for row_atom, row_c in row_terms:
                left = rest.get(row_atom, 0) - factor * row_c
                if left:
                    rest[row_atom] = left
                else:
                    del rest[row_atom]
            rest_offset = multiple * offset + multiple - 1 - factor * row_offset
            divisor = gcd(*rest.values())
            if divisor > 1:
                rest_offset //= divisor
                rest = {other: other_c // divisor for other, other_c in rest.items()}
            if self.reaches(rest_offset, rest, depth - 1):
                return True
        return False

    def _fewest(self, goal: dict[Expr, int]) -> tuple[Expr | None, Rows]:
        """The atom of the goal that the fewest rows can account for, and these rows. A quotient before a symbol.

        An atom that no row accounts for may still cancel against the rows of another. So may one of which nothing is
        known but a number: it comes last, for what is known of the others may speak of it.
        """
        best: tuple[Expr | None, Rows] = None, ()
        fewest = 0
        for atom, c in goal.items():
            upward, downward = lasting_rows(atom)
            rows = self.upward.get(atom, ()) + upward if c > 0 else self.downward.get(atom, ()) + downward
            if rows:
                count = 2 * len(rows) - (type(atom) is FloorDivide)
                if count == 2 and len(rows[0][1]) == 1:
                    count = _LAST
                if not fewest or count < fewest:
                    best, fewest = (atom, rows), count
        return best
