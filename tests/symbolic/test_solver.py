"""Proofs against an independent solver: never a yes where z3 has a counterexample, and few proofs missed."""

from __future__ import annotations

import random

import pytest
from hypothesis import settings

from slinky.symbolic.proofs import Facts, facts, prove

from .generators import (
    COLUMNS,
    SYMBOLS,
    Tree,
    column,
    condition_of,
    expression_of,
    random_condition,
    random_tree,
    where_all_hold,
)

z3 = pytest.importorskip("z3")
from .solver import affine_questions, counterexample  # noqa: E402


@pytest.mark.long
def test_sums_are_decided_like_the_solver_does() -> None:
    questions = list(affine_questions(settings().max_examples * 20, seed=3))
    proved = [prove(q.goal, facts(*q.facts)) for q in questions]
    over_reals = [answer for q, answer in zip(questions, proved, strict=True) if q.over_reals]
    assert len(over_reals) > 0.8 * len(questions)
    assert sum(over_reals) >= 0.99 * len(over_reals)
    assert sum(proved) >= 0.95 * len(proved)
    assert not any(prove(q.too_much, facts(*q.facts)) for q in questions)


def _random_facts(draw: random.Random) -> tuple[Facts, list[Tree]]:
    trees = [random_condition(draw, 2) for _ in range(draw.randint(0, 4))]
    return facts(SYMBOLS["s"] >= 1, SYMBOLS["t"] >= 1).also(*map(condition_of, trees)), trees


@pytest.mark.parametrize("seed", range(settings().max_examples // 20))
def test_no_yes_to_a_condition_that_the_solver_refutes(seed: int) -> None:
    draw = random.Random(seed)
    proved = 0
    for _ in range(400):
        known, _ = _random_facts(draw)
        goal = condition_of(random_condition(draw, 3))
        if prove(goal, known):
            proved += 1
            assert counterexample(goal, known.conditions()) is None, (goal, known)
    assert proved >= 20


@pytest.mark.parametrize("seed", range(settings().max_examples // 20))
def test_no_yes_to_a_bound_that_the_solver_refutes(seed: int) -> None:
    """Goals that hold for all small assignments, or nearly: the border where an unsound step would show."""
    draw = random.Random(seed)
    proved = 0
    for _ in range(110):
        known, trees = _random_facts(draw)
        tree = random_tree(draw, 3)
        expr = expression_of(tree)
        some = draw.sample(range(len(COLUMNS["x"])), 200)
        columns = {name: values[some] for name, values in COLUMNS.items()}
        values = (columns["x"] * 0 + column(tree, columns))[where_all_hold(trees, columns)]
        if not values.size:
            continue
        least, most = int(values.min()), int(values.max())
        for goal in (expr >= least, expr >= least + 1, expr <= most):
            if prove(goal, known):
                proved += 1
                assert counterexample(goal, known.conditions()) is None, (goal, known)
    assert proved >= 20
