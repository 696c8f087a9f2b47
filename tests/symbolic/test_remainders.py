"""What remainders say of a sum holds for every value of the symbols, and is as tight as what a person finds."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky.symbolic.expressions import FALSE, TRUE, Expr, linear, linear_sum, maximum, minimum, variable
from slinky.symbolic.remainders import between
from slinky.symbolic.traversal import evaluate

X, Y = variable("x"), variable("y")

quotients = st.tuples(st.integers(-2, 2), st.integers(-20, 20), st.sampled_from((2, 3, 4, 6, 8, 16)))
"""A multiple of `(x + offset) // d`."""


@given(st.lists(quotients, min_size=1, max_size=4), st.integers(-2, 2), st.integers(-3, 3))
def test_every_value_lies_between(terms: list[tuple[int, int, int]], of_x: int, offset: int) -> None:
    expr = linear_sum(offset, [(X, of_x), *(((X + shift) // d, c) for c, shift, d in terms)])
    found = between(*linear(expr))
    if found is not None:
        for x in range(-50, 50):
            assert found[0] <= evaluate(expr, {X: x}) <= found[1]


@given(st.sampled_from((2, 3, 4)), st.sampled_from((2, 3, 4)), st.integers(-9, 9), st.integers(-9, 9))
def test_two_grids_are_compared_exactly(fine: int, ratio: int, first: int, second: int) -> None:
    expr = (X + first) // fine - ratio * ((X + second) // (fine * ratio))
    values = {evaluate(expr, {X: x}) for x in range(4 * fine * ratio)}
    assert between(*linear(expr)) == (min(values), max(values))


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (X - 8 * (X // 8), (0, 7)),
        (X // 4 - 2 * (X // 8), (0, 1)),
        (X // 2 + Y // 2, None),
        (X // 2 - Y // 2, None),
        (X - Y // 2, None),
        (X + Y, None),
        ((X + 2 * Y) // 4 - (X + 2 * Y) // 2, None),
        ((X + 2 * Y + 5) // 4 - (X + 2 * Y) // 4, (1, 2)),
    ],
)
def test_what_remainders_say(expr: Expr, expected: Any) -> None:
    assert between(*linear(expr)) == expected


def test_choices_and_comparisons_are_decided_when_made() -> None:
    assert maximum(X // 4, 2 * (X // 8)) is X // 4
    assert minimum(X // 4, 2 * (X // 8), Y) is minimum(2 * (X // 8), Y)
    assert (8 * (X // 8) <= X) is TRUE
    assert (X // 4 >= 2 * (X // 8) + 2) is FALSE
    undecided = X // 4 <= 2 * (X // 8)
    assert {evaluate(undecided, {X: x}) for x in range(8)} == {0, 1}


def test_of_equal_operands_one_stays() -> None:
    operands = [(X + k) // 2 - (X + k) // 2 + Y for k in range(3)]
    assert minimum(*operands) is Y
    for a, b in itertools.permutations([X // 4, 2 * (X // 8), 2 * (X // 8) + 1], 2):
        assert maximum(a, b) is maximum(b, a)
