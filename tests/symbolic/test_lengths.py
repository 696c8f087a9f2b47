"""Which of two strides is larger: where that depends on the lengths, nobody searches for a proof."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky.symbolic import proofs
from slinky.symbolic.expressions import Condition, Expr, as_expr, equal, maximum, metadata, negate, scalar
from slinky.symbolic.facts import Facts, facts
from slinky.symbolic.lengths import holds_for_some_lengths
from slinky.symbolic.patience import limited_patience
from slinky.symbolic.proofs import prove
from slinky.symbolic.traversal import evaluate, symbols

RANK = 8
MIN = [metadata("a", d, "min") for d in range(RANK)]
MAX = [metadata("a", d, "max") for d in range(RANK)]
EXTENTS = [metadata("a", d, "extent") for d in range(RANK)]


def stride(factor: int, dims: tuple[int, ...]) -> Expr:
    """The bytes of a part of some dimensions, as a program says them: of none, if it has no element."""
    return prod([maximum(EXTENTS[d], 1) for d in dims], start=as_expr(factor))


@contextmanager
def without_lengths() -> Iterator[None]:
    """Search, whatever lengths would tell."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proofs, "holds_for_some_lengths", lambda condition, known: False)
        yield


def asked_anew(goal: Condition, known: Facts) -> bool:
    """Whether a goal is shown, by nothing that is remembered."""
    level: Facts | None = known
    while level is not None:
        for answers in (level.answers, level.lengths, level.witnesses):
            answers.clear()
        level = level.parent
    return prove(goal, known)


@pytest.mark.parametrize("given", [[e >= 1 for e in EXTENTS], [e >= 2 for e in EXTENTS[:-1]], []])
def test_seven_lengths_are_not_searched(given: list[Condition]) -> None:
    known = facts(*given)
    dims = tuple(range(7))
    with limited_patience() as patience:
        assert not asked_anew(stride(8, dims) <= 8, known)
        assert not prove(stride(8, (0, 1, 2)) >= stride(8, (1, 2, 3, 4)), known)
        assert not prove((stride(8, dims) <= stride(8, (0, 1, 2))) | (EXTENTS[7] <= 1), known)
    assert patience.spent < 100_000
    assert not patience.given_up


def test_what_products_of_symbols_are_known_to_be_is_heeded() -> None:
    n, m, k = (scalar(name) for name in "nmk")
    known = facts(n >= 1, m >= 1, k >= 1, n * m * k >= 100)
    assert not holds_for_some_lengths(n * m * k <= 99, known)
    assert prove(n * m * k >= 50, known)


dims = st.sets(st.integers(0, 3)).map(lambda found: tuple(sorted(found)))
strides = st.builds(stride, st.sampled_from([1, 2, 8]), dims)
pads = st.builds(lambda found, more: found + more, strides, st.sampled_from([0, 0, 1, -1, 7]))
comparisons = st.builds(lambda a, b: a <= b, strides, pads)
told = st.lists(
    st.one_of(
        st.builds(lambda d, n: EXTENTS[d] >= n, st.integers(0, 3), st.integers(1, 4)),
        st.builds(lambda d, n: EXTENTS[d] <= n, st.integers(0, 3), st.integers(1, 12)),
        st.builds(lambda d, n: (MIN[d] <= -n) & (MAX[d] >= 0), st.integers(0, 3), st.integers(0, 3)),
        st.builds(lambda d, e: equal(EXTENTS[d], e), st.integers(0, 3), st.sampled_from([*EXTENTS[:4], as_expr(5)])),
        comparisons,
    ),
    max_size=4,
).map(lambda found: [c for c in found if isinstance(c, Condition)])


@given(told, comparisons, st.none() | comparisons)
def test_what_is_shown_by_a_search_is_shown(given: list[Condition], goal: Condition, other: Condition | None) -> None:
    known = facts(*given)
    goal = goal if other is None else goal | other
    with without_lengths():
        expected = asked_anew(goal, known)
    assert asked_anew(goal, known) == expected
    against = negate(goal)
    if holds_for_some_lengths(against, known):
        assert not expected
        # Those of a part of the goal, which may have been asked about by itself, are of fewer symbols.
        whole = [each for found, _ in known.lengths.values() for each in found if symbols(against) <= each.keys()]
        met = [lengths for lengths in whole if evaluate(against, lengths)]
        assert met
        for lengths in met:
            of_these = [condition for condition in known.conditions() if symbols(condition) & lengths.keys()]
            assert all(evaluate(condition, lengths) for condition in of_these)
