"""What follows one of some dimensions, and which boxes of values and of coordinates stand for each other."""

from __future__ import annotations

import pytest

import slinky as sl
from slinky.symbolic.expressions import Expr, scalar
from slinky.symbolic.followed import followed
from slinky.symbolic.intervals import Interval, evaluate_box
from slinky.symbolic.traversal import evaluate

y, x = sl.variables("y x")
n = scalar("n")


@pytest.mark.parametrize("e", [x, -x, x + 3, 2 * n - x - 1, x + n // 2])
def test_values_and_coordinates_stand_for_each_other(e: Expr) -> None:
    which = followed(e, (y, x))
    assert which is not None
    assert which.dim == 1
    for n_value in (-3, 0, 5):
        values = {n: n_value}
        taken = {evaluate(e, {**values, x: at}) for at in range(-2, 4)}
        ((lo, hi),) = evaluate_box((which.values(Interval(n - n - 2, n - n + 3)),), values)
        assert set(range(lo, hi + 1)) == taken
        limit = Interval(n - 2, n + 7)
        ((lo, hi),) = evaluate_box((which.within(limit),), values)
        inside = {at for at in range(-60, 61) if n_value - 2 <= evaluate(e, {**values, x: at}) <= n_value + 7}
        assert set(range(lo, hi + 1)) == inside
        at = evaluate(which.solved(n), values)
        assert evaluate(e, {**values, x: at}) == n_value


@pytest.mark.parametrize(
    "e", [n, n - n, 2 * x, x + y, x - y, x // 2, x + x // 2, x + y // 2, sl.maximum(x, 0), x * n, x + x * n]
)
def test_what_follows_none_or_several(e: Expr) -> None:
    assert followed(e, (y, x)) is None
