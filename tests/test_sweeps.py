"""Which cases of sweeps the usual suite runs: those that cover all values, and of no other test one less."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweeps import covering

pytest_plugins = ["pytester"]

PRODUCTS = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(lambda sizes: [*product(*map(range, sizes))])


@given(PRODUCTS, st.data(), st.integers(1, 3))
def test_every_value_and_combination_is_in_a_case(cases: list[tuple[int, ...]], data: Any, strength: int) -> None:
    """Also where not all of a product are cases; and no case is taken that adds nothing to those before it."""
    cases = data.draw(st.lists(st.sampled_from(cases), min_size=1, unique=True))
    chosen = [cases[number] for number in covering(cases, strength)]
    places = [*combinations(range(len(cases[0])), min(strength, len(cases[0])))]

    def parts(some: list[tuple[int, ...]]) -> set[Any]:
        return {(at, tuple(case[place] for place in at)) for case in some for at in places}

    assert parts(chosen) == parts(cases)
    assert len(chosen) <= len(parts(cases))


def test_short_parameters_go_round_with_long_ones() -> None:
    cases = [*product(range(7), "ab")]
    assert [cases[number] for number in covering(cases)] == [*zip(range(7), "abababa", strict=True)]


def test_two_by_two() -> None:
    cases = [*product(range(4), range(4), range(4))]
    assert len(covering(cases)) == 4
    assert 16 <= len(covering(cases, 2)) <= 20
    assert covering(cases, 3) == covering(cases, 4) == [*range(64)]


TESTS = """
import pytest
BOTH = pytest.mark.parametrize(("name", "number"), [("p", 1), ("p", 2), ("q", 1), ("q", 2)])
FIRST, SECOND = pytest.mark.parametrize("a", [1, 2, 3]), pytest.mark.parametrize("b", [4, 5])

@FIRST
@SECOND
def test_each(a, b): pass

@pytest.mark.sweep
@FIRST
@SECOND
def test_values(a, b): pass

@pytest.mark.sweep(2)
@FIRST
@SECOND
def test_pairs(a, b): pass

@pytest.mark.sweep
@BOTH
def test_rows(name, number): pass

@pytest.mark.sweep("name", "number")
@BOTH
def test_columns(name, number): pass
"""


def test_what_is_left_out_runs_where_all_are_asked_for(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nmarkers =\n    sweep: a sweep\n")
    pytester.makepyfile(test_sweeping=TESTS)
    pytester.makeconftest(
        "from sweeps import left_out\n"
        "def pytest_collection_modifyitems(items):\n"
        "    skipped = left_out(items)\n"
        "    items[:] = [item for item in items if item not in skipped]\n"
    )
    collected = pytester.runpytest_inprocess("--collect-only", "-q").outlines
    assert [line.partition("::")[2] for line in collected if "::" in line] == [
        *(f"test_each[{b}-{a}]" for b, a in product([4, 5], [1, 2, 3])),
        *("test_values[4-1]", "test_values[4-3]", "test_values[5-2]"),
        *(f"test_pairs[{b}-{a}]" for b, a in product([4, 5], [1, 2, 3])),
        *(f"test_rows[{case}]" for case in ("p-1", "p-2", "q-1", "q-2")),
        *("test_columns[p-1]", "test_columns[q-2]"),
    ]
