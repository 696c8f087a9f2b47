"""Systems taken apart are solved as they would be at once; integers that refute a goal are used where they may be."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import settings

from slinky.symbolic.arithmetic import Terms
from slinky.symbolic.components import solution
from slinky.symbolic.expressions import Expr, variable
from slinky.symbolic.facts import Facts
from slinky.symbolic.inequalities import Outcome, Work, solve
from slinky.symbolic.proofs import facts, prove
from slinky.symbolic.search import Search

from .generators import SYMBOLS, condition_of, random_condition

x, y, z = map(variable, "xyz")
ATOMS: dict[Expr, int] = {variable(f"a{n}"): n for n in range(8)}


def _random_rows(draw: random.Random) -> list[tuple[int, Terms]]:
    """Rows of few unknowns each, so that most systems fall apart."""
    atoms = list(ATOMS)
    rows = []
    for _ in range(draw.randint(1, 9)):
        own = sorted(draw.sample(atoms, draw.choice((1, 2, 2, 3))), key=ATOMS.__getitem__)
        rows.append((draw.randint(-3, 6), tuple((atom, draw.choice((-2, -1, 1, 1, 3))) for atom in own)))
        if draw.random() < 0.3:
            offset, terms = rows[-1]
            rows.append((-offset, tuple((atom, -c) for atom, c in terms)))
    return rows


def _at_once(rows: Sequence[tuple[int, Terms]]) -> list[int] | Outcome:
    matrix = [(*(dict(terms).get(atom, 0) for atom in ATOMS), offset) for offset, terms in rows]
    return solve(matrix, Work())


@pytest.mark.parametrize("seed", range(settings().max_examples // 10))
def test_a_system_taken_apart_has_the_solution_that_it_has_at_once(seed: int) -> None:
    draw = random.Random(seed)
    solved = 0
    for _ in range(100):
        rows = _random_rows(draw)
        found, right = solution(rows, ATOMS, Work()), _at_once(rows)
        if isinstance(found, Outcome):
            assert found is right
        else:
            assert [found[atom] for atom in ATOMS] == right
            solved += 1
    assert 10 <= solved <= 95


def test_a_row_without_unknowns_counts() -> None:
    assert solution([(-1, ()), (3, ((x, 1),))], {x: 0}, Work()) is Outcome.NO_SOLUTION
    assert solution([(1, ())], {x: 0}, Work()) == {x: 0}
    assert solution([], {x: 0, y: 1}, Work()) == {x: 0, y: 0}


def test_what_is_remembered_costs_what_it_cost_to_find() -> None:
    rows = [(-5, ((x, 2), (y, 3))), (17, ((x, -2), (y, -1))), (2, ((x, 1), (y, -2))), (4, ((z, 1),))]
    spent = []
    for _ in range(2):
        work = Work()
        solution(rows, {x: 0, y: 1, z: 2}, work)
        spent.append((work.left, work.coefficients))
    assert spent[0] == spent[1]
    assert solution(rows, {x: 0, y: 1, z: 2}, Work(0)) is Outcome.NOT_DECIDED


# Integers that refute goals ----------------------------------------------------------------------------------------


def test_integers_that_refute_a_goal_refute_others_under_further_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    known = facts(x >= 0, y >= 2 * x, z <= y)
    _forget(known)
    assert not prove(y <= x + 7, known)
    further = known.also(variable("w") >= 9)
    further.answers.clear()
    with monkeypatch.context() as patch:
        patch.setattr(Search, "refuted", lambda *_: pytest.fail("it is searched for again"))
        assert not prove(y <= x + 6, further)
    tighter = known.also(y <= 5)
    assert prove(y <= x + 6, tighter)
    assert not prove(y <= x + 4, tighter)


def _forget(known: Facts | None) -> None:
    while known is not None:
        known.answers.clear()
        known.costs.clear()
        known.chains.clear()
        known.witnesses.clear()
        known = known.parent


@pytest.mark.parametrize("seed", range(settings().max_examples // 10))
def test_answers_do_not_depend_on_what_was_asked_before(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(10):
        levels = [facts(SYMBOLS["s"] >= 1, SYMBOLS["t"] >= 1)]
        for _ in range(3):
            levels.append(levels[-1].also(condition_of(random_condition(draw, 2))))
        goals = [condition_of(random_condition(draw, draw.choice((1, 2)))) for _ in range(12)]
        asked = [(goal, level) for level in levels for goal in goals]
        alone = []
        for goal, level in asked:
            _forget(levels[-1])
            alone.append(prove(goal, level))
        _forget(levels[-1])
        assert [prove(goal, level) for goal, level in asked] == alone
