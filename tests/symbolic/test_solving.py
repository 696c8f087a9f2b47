"""What a condition says of one symbol is just as strong as the condition."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slinky as sl
from slinky.symbolic.expressions import Condition, Expr, scalar
from slinky.symbolic.facts import facts
from slinky.symbolic.solving import Limit, Side, limit_of, remainder_of, rising_within
from slinky.symbolic.traversal import evaluate

s, n, d = scalar("s"), scalar("n"), scalar("d")
KNOWN = facts(d >= 1)


def allows(limit: Limit, values: dict[Expr, int], value: int) -> bool:
    bound = evaluate(limit.value, values)
    return {Side.IS: value == bound, Side.AT_LEAST: value >= bound, Side.AT_MOST: value <= bound}[limit.side]


def assert_as_strong(condition: Condition, limit: Limit) -> None:
    for n_value, d_value in itertools.product(range(-5, 6), range(1, 4)):
        values = {n: n_value, d: d_value}
        holding = {v for v in range(-60, 61) if evaluate(condition, {**values, s: v})}
        allowed = {v for v in range(-60, 61) if allows(limit, values, v)}
        assert holding == allowed or (limit.side is Side.IS and holding == set()), (str(condition), values)


@pytest.mark.parametrize(
    ("condition", "side", "value"),
    [
        (n <= s - 1, Side.AT_LEAST, n + 1),
        (s <= n, Side.AT_MOST, n),
        (2 * s + 1 <= n, Side.AT_MOST, (n - 1) // 2),
        (s // 2 <= n, Side.AT_MOST, 2 * n + 1),
        (n <= s // 2, Side.AT_LEAST, 2 * n),
        (n <= (s + 3) // d, Side.AT_LEAST, d * n - 3),
        (d * s <= n, Side.AT_MOST, n // d),
        (n <= d * s + s, Side.AT_LEAST, -(-n // (d + 1))),
        (n <= -(s // 3), Side.AT_MOST, -3 * n + 2),
        (sl.equal(s - n, 4), Side.IS, n + 4),
        (sl.equal(2 * s, n), Side.IS, n // 2),
        (sl.equal(d * s, d * n), Side.IS, n),
    ],
)
def test_a_comparison_says(condition: Condition, side: Side, value: Expr) -> None:
    found = limit_of(condition, s, KNOWN)
    assert found == Limit(side, value)
    assert_as_strong(condition, found)


@pytest.mark.parametrize(
    "condition",
    [(s <= n) | (s <= d), s * s <= n, s % 4 <= n, s * n <= d, s // n <= d, sl.equal(s // 2, n), n <= d],
    ids=str,
)
def test_nothing_is_said_of_what_is_no_limit(condition: Condition) -> None:
    assert limit_of(condition, s, KNOWN) is None


factors = st.integers(-4, 4)


@settings(max_examples=settings().max_examples * 5 // 2)
@given(factors, factors, st.integers(-9, 9), st.sampled_from([1, 2, 3, d, d + 1]), factors, st.booleans())
def test_limits_are_as_strong_as_conditions(
    of_s: int, of_n: int, offset: int, divisor: Expr | int, of_quotient: int, is_equality: bool
) -> None:
    expr = of_quotient * ((of_s * s + of_n * n) // divisor) + n + offset
    condition = sl.equal(expr, 0) if is_equality else expr >= 0
    found = limit_of(condition, s, KNOWN)
    if found is not None:
        assert_as_strong(condition, found)


def test_where_a_value_is_between_choices() -> None:
    limit = sl.interval(sl.maximum(n, d), sl.minimum(2 * n, d + 9))
    found = rising_within((s + 1) // 2, limit, s, KNOWN)
    assert found == sl.interval(sl.maximum(2 * n, 2 * d) - 1, sl.minimum(4 * n, 2 * d + 18))
    assert rising_within(-s, limit, s, KNOWN) is None
    assert rising_within(s * s, limit, s, KNOWN) is None


@pytest.mark.parametrize(
    ("offset", "divisor"), [(0 * n, d), (n - 1, d), (0 * n, 0 * n + 8), (n + 3, 0 * n + 4), (n, 2 * d)]
)
def test_what_must_be_a_multiple(offset: Expr, divisor: Expr) -> None:
    for condition in (sl.equal((s + offset) % divisor, 0), sl.equal(-((s + offset) % divisor), 0)):
        found = remainder_of(condition, s)
        assert found is not None
        assert found[1] is divisor
        for n_value, d_value in itertools.product(range(-3, 4), range(1, 4)):
            values = {n: n_value, d: d_value}
            first, step = (evaluate(e, values) for e in found)
            for v in range(-20, 20):
                assert evaluate(condition, {**values, s: v}) == ((v + first) % step == 0)


@pytest.mark.parametrize(
    "condition",
    [
        sl.equal(s % d, 1),
        s % d <= 0,
        sl.equal(n % d, 0),
        sl.equal(2 * s % d, 0),
        sl.equal(n % s, 0),
        sl.equal(s // d, 0),
    ],
)
def test_what_says_no_multiple_of_a_symbol(condition: Condition) -> None:
    assert remainder_of(condition, s) is None
