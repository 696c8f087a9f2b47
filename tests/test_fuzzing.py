"""Properties that go on for as long as somebody has."""

from __future__ import annotations

import fuzzing
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def a_property(request: pytest.FixtureRequest, bound: int, seen: list[int]) -> pytest.Function:
    """A property that fails from a bound on."""

    @settings(max_examples=20, database=None, derandomize=False)
    @given(st.integers(0, 1 << 40))
    def holds(number: int) -> None:
        seen.append(number)
        assert number < bound

    made: pytest.Function = pytest.Function.from_parent(request.node.parent, name="holds", callobj=holds)
    return made


def test_rounds_draw_other_examples_until_time_is_over(request: pytest.FixtureRequest) -> None:
    seen: list[int] = []
    item = a_property(request, 1 << 41, seen)
    assert fuzzing.is_property(item)
    assert fuzzing.run_in_rounds(item, 0) == 1
    first = set(seen)
    assert fuzzing.run_in_rounds(item, 0.05) >= 1
    assert len(set(seen) - first) > 10


def test_what_fails_ends_its_test_as_small_as_it_gets(request: pytest.FixtureRequest) -> None:
    seen: list[int] = []
    with pytest.raises(AssertionError):
        fuzzing.run_in_rounds(a_property(request, 1000, seen), 3600)
    assert seen[-1] == 1000


def test_a_test_may_draw_its_examples_itself(request: pytest.FixtureRequest) -> None:
    made: pytest.Function = pytest.Function.from_parent(request.node.parent, name="draws", callobj=lambda: None)
    assert not fuzzing.is_property(made)
    made.add_marker(pytest.mark.draws)
    assert fuzzing.is_property(made)


def test_other_tests_are_none(request: pytest.FixtureRequest) -> None:
    assert not fuzzing.is_property(request.node)
