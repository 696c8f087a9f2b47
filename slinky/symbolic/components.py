"""Systems of inequalities taken apart: unknowns that no row connects have nothing to do with each other.

A question about the rows of a picture brings in what is known of its columns, too, by conditions that speak of both.
Each component is a small system of its own, solved by itself: what it takes to solve systems grows faster than these.
And components return: of the questions about a program, many differ in one of theirs alone. So their solutions are
remembered, whatever the unknowns are called.

Invariant: a solution satisfies all rows; there is none where a component has none. What is remembered costs a question
what it cost to find, so an answer does not depend on what was asked before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from slinky.symbolic.arithmetic import Terms
from slinky.symbolic.expressions import Expr
from slinky.symbolic.inequalities import WORK_LIMIT, Outcome, Row, Work, solve

_REMEMBERED = 1024
"""The solutions of so many components are remembered, those used last."""


def solution(rows: Sequence[tuple[int, Terms]], atoms: Mapping[Expr, int], work: Work) -> dict[Expr, int] | Outcome:
    """Integers for atoms, which are numbered, such that no row is negative; or why there are none to show."""
    found = dict.fromkeys(atoms, 0)
    is_decided = True
    for unknowns, system in _components(rows, atoms):
        values, cost, coefficients = _solved(system)
        work.coefficients += coefficients
        work.left -= cost
        if values is Outcome.NO_SOLUTION and work.left >= 0:
            return values
        if isinstance(values, Outcome) or work.left < 0:
            is_decided = False
        else:
            found.update(zip(unknowns, values, strict=True))
        if work.left < 0:
            break
    return found if is_decided else Outcome.NOT_DECIDED


@lru_cache(maxsize=_REMEMBERED)
def _solved(system: tuple[Row, ...]) -> tuple[tuple[int, ...] | Outcome, int, int]:
    """A solution of a system, or why there is none to show; how many rows that took, and coefficients."""
    work = Work()
    found = solve(system, work)
    return found if isinstance(found, Outcome) else tuple(found), WORK_LIMIT - work.left, work.coefficients


def _components(
    rows: Sequence[tuple[int, Terms]], atoms: Mapping[Expr, int]
) -> Iterator[tuple[list[Expr], tuple[Row, ...]]]:
    """The unknowns of each component, and its rows with a coefficient for each of these, in the order of the atoms."""
    above = list(range(len(atoms)))  # leads each atom to the first one of its component
    for _, terms in rows:
        first = -1
        for atom, _ in terms:
            n = atoms[atom]
            while above[n] != n:
                above[n] = n = above[above[n]]
            if first < 0:
                first = n
            elif n != first:
                first, n = (first, n) if first < n else (n, first)
                above[n] = first
    members: dict[int, list[Expr]] = {}
    columns: dict[Expr, int] = {}
    for atom, n in atoms.items():
        above[n] = first = above[above[n]]  # those before lead to their first one already
        own = members.setdefault(first, [])
        columns[atom] = len(own)
        own.append(atom)
    systems: dict[int, list[Row]] = {}
    for offset, terms in rows:
        first = above[atoms[terms[0][0]]] if terms else -1
        row = [0] * (len(members[first]) if terms else 0) + [offset]
        for atom, c in terms:
            row[columns[atom]] = c
        systems.setdefault(first, []).append(tuple(row))
    for first, system in systems.items():
        yield members.get(first, []), tuple(system)
