"""Products and quotients rise with what they are made of: what is proved by that holds, and windows of resamplings are
proved and bounded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky.symbolic.bounds import bounds
from slinky.symbolic.comparing import at_most
from slinky.symbolic.differences import largest_difference
from slinky.symbolic.expressions import Condition, Expr, maximum, minimum, scalar, variable
from slinky.symbolic.intervals import Interval
from slinky.symbolic.proofs import facts, prove
from slinky.symbolic.traversal import evaluate

from .generators import (
    ASSIGNMENTS,
    COLUMNS,
    SYMBOLS,
    Tree,
    affine,
    by_symbol,
    column,
    condition_of,
    conditions,
    expression_of,
    where_all_hold,
)

ALWAYS = facts(SYMBOLS["s"] >= 1, SYMBOLS["t"] >= 1)
S, T = ("symbol", "s"), ("symbol", "t")
SAMPLE = [(values, by_symbol(values)) for values in ASSIGNMENTS[::13]]

PARTS = st.one_of(affine, st.tuples(st.sampled_from(["min", "max"]), affine, affine))


def _resampled(part: Tree) -> list[Tree]:
    """What is read of an array at a part: by a factor, by a quotient, by both in either order; by a z of any sign."""
    return [
        ("multiply", S, part),
        ("multiply", ("symbol", "z"), part),
        ("divide", part, S),
        ("multiply", T, ("divide", part, S)),
        ("divide", ("multiply", T, part), S),
        ("divide", ("multiply", T, part), ("constant", 3)),
        ("multiply", T, ("divide", part, ("constant", 3))),
    ]


PLACES = st.tuples(PARTS, PARTS, st.integers(0, 6)).map(lambda d: (_resampled(d[0])[d[2]], _resampled(d[1])[d[2]]))


@settings(max_examples=settings().max_examples * 10)
@given(PLACES, st.integers(-3, 3), st.lists(conditions, max_size=2))
def test_what_is_proved_of_resampled_places_holds(places: tuple[Tree, Tree], by: int, given_facts: list[Tree]) -> None:
    known = ALWAYS.also(*map(condition_of, given_facts))
    low, high = places[0], ("add", places[1], ("constant", by))
    if prove(condition_of(("le", low, high)), known) or at_most(expression_of(low), expression_of(high), known):
        assert not (where_all_hold(given_facts, COLUMNS) & (column(low, COLUMNS) > column(high, COLUMNS))).any()


@settings(max_examples=settings().max_examples * 5)
@given(PLACES, st.integers(1, 2), affine, affine)
def test_bounds_contain_how_far_resampled_places_are_apart(
    places: tuple[Tree, Tree], times: int, low: Tree, high: Tree
) -> None:
    a, b = map(expression_of, places)
    lo, hi = (expression_of(end) for end in (low, high))
    found = bounds(times * a - times * b, {SYMBOLS["x"]: Interval(lo, hi)}, ALWAYS)
    for values, symbol_values in SAMPLE:
        if evaluate(lo, symbol_values) <= values["x"] <= evaluate(hi, symbol_values):
            got = times * (column(places[0], values) - column(places[1], values))
            assert evaluate(found.min, symbol_values) <= got <= evaluate(found.max, symbol_values), (found, values)


y, lo, hi = map(variable, ("y", "lo", "hi"))
n, d = scalar("n"), scalar("d")
KNOWN = facts(n >= 0, d >= 1, lo <= y, y <= hi)
WINDOW = minimum(n * maximum(y, lo), n * minimum(hi, y + 3))


@pytest.mark.parametrize(
    "goal",
    [
        (n * y) // d <= WINDOW // d,
        n * ((y - 1) // d) + 1 <= n * (y // d) + 1,
        (n * minimum(lo, hi)) // d <= (n * maximum(y, lo)) // d + 2,
        n * ((y + 3) // 4) - n <= n * (y // 4),
        maximum(n * y // 3, n * lo // 3) <= (n * maximum(y, lo) + n) // 3,
    ],
)
def test_places_that_move_on_are_proved_to(goal: Condition) -> None:
    assert prove(goal, KNOWN)


@pytest.mark.parametrize(
    "goal",
    [
        n * y <= n * y + n - 1,
        (n * y) // d + 1 <= (n * y + d - 1) // d,
        d * y <= d * (y - 1) + d - 1,
        n * (lo // d) <= n * (y // d) - 1,
    ],
)
def test_places_that_meet_are_not_proved_apart(goal: Condition) -> None:
    assert not prove(goal, KNOWN)


def test_windows_clamped_before_they_are_divided_are_no_longer_than_others() -> None:
    divisor, ranges = maximum(d, 1), {y: Interval(lo, hi)}
    most = largest_difference(
        minimum(y + 7, hi) // divisor + 2, maximum(y, lo) // divisor, ranges, facts(lo <= y, y <= hi)
    )
    assert most is not None
    for number in range(1, 9):
        starts = np.arange(-20, 20)
        assert evaluate(most, {d: number}) == ((starts + 7) // number - starts // number).max() + 2
    at_first = largest_difference((lo + 7) // divisor + 2, lo // divisor, ranges, facts(lo <= y, y <= hi))
    assert at_first is most
    unknown = largest_difference(minimum(y + 7, hi) // n, maximum(y, lo) // n, ranges, facts(lo <= y, y <= hi))
    assert unknown is None


def test_a_distance_that_is_no_multiple_is_rounded_down() -> None:
    assert at_most(2 * (y // d), 2 * ((y - d) // d) + 3, KNOWN)
    assert not at_most(2 * (y // d), 2 * ((y - 1) // d) + 1, KNOWN)


def test_nothing_is_said_of_divisors_and_factors_of_unknown_sign() -> None:
    known = facts(lo <= y, y <= hi)
    assert not prove(y // d <= (y + 1) // d, known)
    assert not at_most(n * y, n * (y + 1), known)
    ranges = {y: Interval(lo, hi)}
    for apart in ((y + 4) // d - y // d, n * ((y + 3) // 4) - n * (y // 4)):
        found = bounds(apart, ranges, known)
        for number in (-3, -2, -1, 1, 2):
            values = {n: number, d: number, lo: -3, hi: 3}
            got = [evaluate(apart, {**values, y: v}) for v in range(-3, 4)]
            assert evaluate(found.min, values) <= min(got)
            assert max(got) <= evaluate(found.max, values)


@pytest.mark.parametrize(
    ("apart", "most"),
    [
        ((y + 4) // d - y // d, (d + 3) // d),
        (y // d - (y - 4) // d + 2, (d + 3) // d + 2),
        (n * ((y + 3) // 4) - n * (y // 4), n),
        (2 * ((n * y + n) // d) - 2 * ((n * y) // d), 2 * ((n + d - 1) // d)),
        (n * ((y + 4) // d) - n * (y // d) + 1, n * ((d + 3) // d) + 1),
    ],
)
def test_places_are_no_farther_apart_than_a_step_takes_them(apart: Expr, most: Expr) -> None:
    assert bounds(apart, {y: Interval(lo, hi)}, KNOWN).max is most


def test_the_bound_of_a_difference_of_quotients_is_met() -> None:
    for divisor in range(1, 6):
        for step in range(7):
            starts = np.arange(-10, 10)
            most = ((starts + step) // divisor - starts // divisor).max()
            found = bounds((y + step) // d - y // d, {y: Interval(lo, hi)}, KNOWN).max
            assert evaluate(found, {d: divisor}) == most
