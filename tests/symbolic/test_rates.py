"""How fast expressions move while their symbols do."""

from __future__ import annotations

from fractions import Fraction

import pytest

from slinky.symbolic import Expr, Rate, maximum, metadata, minimum, rate, select, variable

y, x, n = map(variable, "yxn")
end = metadata("inp", 0, "max")


@pytest.mark.parametrize(
    ("e", "expected"),
    [
        (n + 7, 0),
        (2 * y - 1 + n, 2),
        (y - 3 * x, 1 - 3 * Fraction(1, 2)),
        (n - y, -1),
        ((y + 1) // 4, Fraction(1, 4)),
        (3 * (y // 2), Fraction(3, 2)),
        (y % 4, 0),
        (n // end, 0),
        (n * end, 0),
        (y // n, None),
        (n * y, None),
        (n * y + y, None),
        ((n * y) // 2, None),
        (maximum(n * y, y), None),
        (maximum(0, minimum(2 * y, end)), 2),
        (maximum(-y, minimum(y, 2 * end - y)), 1),
        (minimum(n - y, end), -1),
        (select(y <= n, 2 * y, end), 2),
    ],
)
def test_rates(e: Expr, expected: Rate) -> None:
    assert rate(e, {y: Fraction(1), x: Fraction(1, 2)}) == expected


def test_what_moves_at_no_known_rate_moves_others_so() -> None:
    assert rate(2 * y + 1, {y: None}) is None
