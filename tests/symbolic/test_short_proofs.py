"""What is shown without a search: by a few facts, by what names stand for, by numbers that bound symbols."""

from __future__ import annotations

import pytest

from slinky.symbolic.differences import largest_difference
from slinky.symbolic.expressions import Condition, Expr, constant, equal, maximum, minimum, variable
from slinky.symbolic.facts import Facts, facts
from slinky.symbolic.lower_bounds import constant_lower_bound
from slinky.symbolic.patience import limited_patience
from slinky.symbolic.proofs import prove

n, outer, y, last, lo, hi, part = map(variable, ("n", "outer", "y", "last", "lo", "hi", "part"))

LOOPS = facts(n >= 1, outer >= 0, outer <= n - 1, outer <= y + 32).naming(last, minimum(n - 1, outer + 480))
LOOPS = LOOPS.also(y <= last)
"""A loop by rows in a loop by many, that starts some rows before."""


def _is_shown_at_once(goal: Condition, known: Facts) -> bool:
    with limited_patience() as patience:
        return prove(goal, known) and patience.spent == 0


def test_what_is_known_by_numbers_alone_comes_last() -> None:
    """The end of the inner loop speaks of the outer one, which is more than that this is not negative."""
    assert _is_shown_at_once(y <= outer + 480, LOOPS)
    assert _is_shown_at_once(y + 15 <= outer + 527, LOOPS)
    assert not prove(y <= outer + 479, LOOPS)
    assert _is_shown_at_once(y >= -32, LOOPS)


def test_names_are_what_they_stand_for() -> None:
    known = LOOPS.naming(lo, maximum(minimum(n + 4, y + 15), outer - 15, -4))
    known = known.naming(part, minimum(n + 3, outer + 526)).naming(hi, minimum(part, y + 46))
    assert _is_shown_at_once(lo <= hi + 1, known)
    assert _is_shown_at_once(lo + 3 <= hi + 7, known.also(y >= 0))
    assert not prove(lo <= hi, known)


def test_a_name_for_several_things_is_refused_nothing() -> None:
    """Where facts name a symbol twice, both hold."""
    known = facts(n >= 1).naming(lo, minimum(n, y)).naming(lo, minimum(n, outer))
    assert prove(lo <= y, known)
    assert prove(lo <= outer, known)


@pytest.mark.parametrize(
    ("expr", "least"),
    [
        (n - y - 4, -7),
        (2 * n - 3 * y, -9),
        (-1 * y, -3),
        (n - outer, None),
        (outer - y, None),
    ],
)
def test_numbers_below_and_above(expr: Expr, least: int | None) -> None:
    assert constant_lower_bound(expr, facts(equal(n, 0), y <= 9).also(y <= 3)) == least


def test_the_largest_difference_of_ends_that_are_numbers() -> None:
    known = facts(equal(n, 0), y >= 0, y <= 2)
    assert largest_difference(n, minimum(y - 4, -1), {}, known) is constant(4)
    assert largest_difference(n, y - 4, {}, known) is constant(4)
    assert largest_difference(y, n, {}, known) is constant(2)
    assert largest_difference(n, outer, {}, known) is None
