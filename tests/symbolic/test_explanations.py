"""Explanations, and bounds that eliminate symbols."""

from __future__ import annotations

import random

import pytest

from slinky.symbolic.bounds import upper_bound
from slinky.symbolic.explanations import brief, explain
from slinky.symbolic.expressions import Expr, as_expr, equal, maximum, metadata, minimum, scalar, select, variable
from slinky.symbolic.facts import NO_FACTS, Facts, facts
from slinky.symbolic.proofs import prove
from slinky.symbolic.traversal import evaluate, symbols

from .generators import SYMBOLS, condition_of, random_condition

m, n, o, x, y = (variable(name) for name in "mnoxy")
s, r, k = (scalar(name) for name in "srk")
out_min, out_max = metadata("out", 0, "min"), metadata("out", 0, "max")
inp_min = metadata("inp", 0, "min")


def test_the_part_that_is_not_shown() -> None:
    known = facts(out_min <= y, y <= out_max, inp_min <= out_min - 1)
    found = explain((inp_min <= y - 1) & (y <= 100), known)
    assert found.not_shown is (y <= 100)
    assert found.counterexample is not None
    assert found.counterexample[y] > 100
    assert next(iter(found.counterexample)) is y
    assert str(found).startswith("y <= 100 is not shown; it does not hold for y = ")


def test_of_an_equation_the_side_that_fails() -> None:
    assert explain(equal(x, y), facts(x <= y)).not_shown is (y <= x)


def test_what_is_proved_needs_no_explanation() -> None:
    found = explain(x <= x + s, facts(s >= 1))
    assert found.not_shown is None
    assert found.counterexample is None
    assert str(found) == "it is proved"


def test_no_counterexample_where_there_is_none() -> None:
    """True for all integers, and out of reach of the prover: the explanation must not invent a counterexample."""
    cubes = x * x * x - x
    found = explain(equal(cubes - 3 * (cubes // 3), 0))
    assert not prove(equal(cubes % 3, 0))
    assert found.not_shown is not None
    assert found.counterexample is None
    assert str(found) == f"{found.not_shown} is not shown"


def test_what_the_facts_exclude_is_no_way_to_show_it() -> None:
    known = facts(x >= 5)
    found = explain((x <= 4) | (y <= 3) | (x <= o), known)
    assert found.not_shown is (y <= 3) | (x <= o)
    assert explain((x <= 4) | (o <= -x), facts(x >= 5, o >= 0)).not_shown is (x <= 4) | (o <= -x)


def test_a_long_text_in_short() -> None:
    ends = [variable(f"a_long_name_of_a_variable_{k}") for k in range(12)]
    least = minimum(*ends)
    assert brief(least) == "min(...)"
    assert brief(x <= y) == "x <= y"
    ways = (x <= ends[0]) | (y <= 3) | (m <= ends[1]) | (n <= ends[2]) | (o <= ends[3]) | (s <= ends[4])
    assert brief(ways, longest=100) == f"y <= 3 or x <= {ends[0]} or m <= {ends[1]} or one of 3 more"
    both = (x <= ends[0]) & (y <= 3) & (m <= ends[1]) & (n <= ends[2])
    assert brief(both, longest=80) == f"y <= 3 and x <= {ends[0]} and 2 more"


@pytest.mark.parametrize("seed", range(50))
def test_what_is_brief_is_not_long(seed: int) -> None:
    condition = condition_of(random_condition(random.Random(seed), 3))
    assert len(brief(condition, longest=80)) <= 100


def test_names_of_dimensions_in_the_text() -> None:
    text = explain(inp_min <= y).text(lambda buffer, dim: f"{buffer}.{'yx'[dim]}")
    assert text == "inp.y.min <= y is not shown; it does not hold for y = -1, inp.y.min = 0"


@pytest.mark.parametrize("seed", range(4))
def test_counterexamples_are_real(seed: int) -> None:
    draw = random.Random(seed)
    shown = 0
    for _ in range(100):
        known = facts(SYMBOLS["s"] >= 1, SYMBOLS["t"] >= 1, condition_of(random_condition(draw, 2)))
        goal = condition_of(random_condition(draw, 2))
        found = explain(goal, known)
        assert (found.not_shown is None) == prove(goal, known)
        if found.counterexample is None:
            continue
        shown += 1
        values = dict.fromkeys(SYMBOLS.values(), 1) | dict(found.counterexample)
        assert not evaluate(goal, values)
        connected = [c for c in known.conditions() if symbols(c) <= found.counterexample.keys()]
        assert all(evaluate(condition, found.counterexample) for condition in connected)
    assert shown >= 40


@pytest.mark.parametrize(
    ("expr", "over", "known", "expected"),
    [
        (as_expr(3), [y], NO_FACTS, 3),
        ((y + 1) - (y - 1) + 1, [y], NO_FACTS, 3),
        (minimum(y + 1, n) - maximum(y - 1, m) + 1, [y], facts(m <= y, y <= n), 3),
        ((y + r) - (y - r) + 1, [y], facts(r >= 0), 2 * r + 1),
        ((y + s - 1 + r) - (y - r) + 1, [y], facts(s >= 1), 2 * r + s),
        ((y + s - 1) // 2 - y // 2, [y], facts(s >= 1), s // 2),
        ((y + s) // 2 - (y - 1) // 2 + 1, [y], facts(s >= 1), (s + 4) // 2),
        ((2 * y + 3) // 4 - y // 2, [y], NO_FACTS, 1),
        (y - 8 * (y // 8), [y], NO_FACTS, 7),
        (y - s * (y // s), [y], facts(s >= 1), s - 1),
        (select(y <= out_min, 5, 3), [y], facts(out_min <= y, y <= out_max), 5),
        (2 * y, [y], facts(y <= n), 2 * n),
        (8 * o + x, [x, o], facts(x <= 7, x >= 0, o <= k - 1), 8 * k - 1),
        (x, [x, o], facts(x <= 8 * o + 7, o <= k), 8 * k + 7),
    ],
)
def test_upper_bound(expr: Expr, over: list[Expr], known: Facts, expected: Expr | int) -> None:
    found = upper_bound(expr, over, known)
    assert found is not None
    assert prove(equal(found, expected), known), found


def test_no_upper_bound() -> None:
    assert upper_bound(y + 1, [y], facts(y >= 0)) is None
    assert upper_bound(y * y, [y]) is None
