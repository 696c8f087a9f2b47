"""Clamps of clamps stay short, and the differences of ends that move together are bounded: checked by brute force."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky.symbolic import differences
from slinky.symbolic.bounds import simplify
from slinky.symbolic.clamps import without_cut_off
from slinky.symbolic.differences import cases, largest_difference
from slinky.symbolic.expressions import Expr, equal, maximum, metadata, minimum, scalar, select, variable
from slinky.symbolic.intervals import Interval
from slinky.symbolic.proofs import NO_FACTS, Facts, facts
from slinky.symbolic.traversal import evaluate, symbols

y, first, last, at, end = (variable(name) for name in ("y", "first", "last", "at", "end"))
size = scalar("size")
ATOMS = (y, first, last, at)

plain = st.builds(lambda atom, offset: atom + offset, st.sampled_from(ATOMS), st.integers(-3, 3))
choices = st.recursive(
    plain,
    lambda inner: st.builds(
        lambda choose, operands: choose(*operands),
        st.sampled_from([minimum, maximum]),
        st.lists(inner, min_size=2, max_size=3),
    ),
    max_leaves=8,
)
COLUMNS = {
    str(atom): column
    for atom, column in zip(ATOMS, np.array([*itertools.product((-4, -1, 0, 2, 5), repeat=len(ATOMS))]).T, strict=True)
}
"""All assignments of a few values: an array for each symbol."""
known_facts = st.sampled_from([NO_FACTS, facts(first <= last), facts(first <= y, y <= last), facts(equal(at, first))])


def column(written: object) -> Any:
    """What an expression, or a comparison, means for each assignment: its text, read by Python."""
    meaning = {
        "min": lambda *operands: functools.reduce(np.minimum, operands),
        "max": lambda *operands: functools.reduce(np.maximum, operands),
        "select": np.where,
    }
    return eval(str(written), {**meaning, **COLUMNS})


def where_all_hold(known: Facts) -> Any:
    """For each assignment, whether it meets the facts."""
    return functools.reduce(np.logical_and, map(column, known.conditions()), np.array(True))


def clamped(e: Expr) -> Expr:
    return minimum(maximum(e, first), last)


@settings(max_examples=settings().max_examples * 5)
@given(choices, known_facts)
def test_what_is_cut_off_never_mattered(expr: Expr, known: Facts) -> None:
    result = without_cut_off(expr, known)
    assert len(str(result)) <= len(str(expr))
    wrong = where_all_hold(known) & (column(result) != column(expr))
    assert not wrong.any(), (str(expr), str(result))


def test_a_chain_of_clamped_windows_does_not_grow() -> None:
    low, sizes = at, []
    for _ in range(30):
        low = simplify(clamped(low - 1))
        sizes.append(len(str(low)))
    assert str(low) == "min(last, max(first, min(at - 30, last - 29)))"
    within = simplify(low, facts(equal(at, first), first <= last))
    assert str(within) == "first"


@settings(max_examples=settings().max_examples * 4)
@given(choices, choices, st.integers(-2, 2), known_facts, st.booleans())
def test_a_largest_difference_is_never_exceeded(a: Expr, b: Expr, offset: int, known: Facts, chosen: bool) -> None:
    if chosen:
        b = select(equal(y, at + offset), b, a)
    ranges = {y: Interval(at, at + 4)}
    most = largest_difference(a, b, ranges, known)
    if most is None:
        return
    assert not symbols(most)
    limit = evaluate(most, {})
    within = column(at <= y) & column(y <= at + 4) & where_all_hold(known)
    assert not (within & (column(a) - column(b) > limit)).any(), (str(a), str(b), str(most))


IN_LOOP = facts(at <= y, y <= end, first <= last, size >= 1)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (clamped(y + 8), clamped(y - 1), "9"),
        (clamped(y + size), clamped(y - 1), "max(size + 1, 0)"),
        (clamped(y + 8), select(equal(y, at), clamped(at - 1), clamped(y) + 1), "9"),
        (minimum(last, maximum(first + 2, y + 10)), maximum(first, minimum(last - 2, y - 3)), "13"),
        (minimum(y + 3, last), maximum(y - 3, first), "6"),
        ((y + 8) // 2, (y - 1) // 2, "5"),
        (y + 1, first, "None"),
    ],
)
def test_differences_of_windows(a: Expr, b: Expr, expected: str) -> None:
    assert str(largest_difference(a, b, {y: Interval(at, end)}, IN_LOOP)) == expected


def test_a_fact_bounds_a_difference() -> None:
    known = facts(equal(at, first))
    assert str(largest_difference(at + 7, first, {}, known)) == "7"
    assert largest_difference(at + 7, last, {}, known) is None


def test_what_many_clauses_share_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[Expr, Expr]] = []
    plain = differences._plain

    def counted(a: Expr, b: Expr, *more: Any) -> Expr | None:
        compared.append((a, b))
        return plain(a, b, *more)

    pairs = list(itertools.combinations([variable(f"v{k}") for k in range(6)], 2))
    above = maximum(*(minimum(*pair, y + k) for k, pair in enumerate(pairs)))
    below = minimum(*(maximum(*pair, y - k) for k, pair in enumerate(pairs)))
    monkeypatch.setattr(differences, "_plain", counted)
    assert str(largest_difference(above, below, {y: Interval(at, at + 9)}, NO_FACTS)) == "23"
    assert len(compared) == len(set(compared)) == (6 + len(pairs)) ** 2


def test_many_choices_are_given_up_not_written_out() -> None:
    wide = [maximum(*(variable(f"v{k}_{j}") for j in range(4))) for k in range(12)]
    assert largest_difference(maximum(*wide), minimum(*wide), {}, NO_FACTS) is None
    assert largest_difference(minimum(*wide), y, {}, NO_FACTS) is None


def test_each_case_of_a_select_comes_once() -> None:
    choice = select(equal(y, metadata("b", 0, "min")), first, last)
    found = [str(exprs[0]) for exprs, _ in cases([choice + y], NO_FACTS)]
    assert sorted(found) == ["first + b.dim(0).min", "last + y"], "where y has one value, that stands for it"
    decided = [str(exprs[0]) for exprs, _ in cases([choice + y], facts(metadata("b", 0, "min") < y))]
    assert decided == ["last + y"]
