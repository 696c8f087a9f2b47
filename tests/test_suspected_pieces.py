"""Pieces of large arrays are suspected where they take longer than NumPy is predicted to take, and tried only then."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from test_contests import SHAPES, X, counted, jit, stencil

from slinky.frontend import choosing, contests
from slinky.frontend.contests import Contest

LIMIT = 1.0


class Clock:
    """A clock that tells of each call that it took what is next."""

    def __init__(self, seconds: Iterable[float]) -> None:
        self._steps = iter([step for each in seconds for step in (0.0, each)])
        self._now = 0.0

    def __call__(self) -> float:
        self._now += next(self._steps)
        return self._now


def turns(pieces: float, plain: float, calls: int = 12, first: float = 9.0) -> tuple[str, Contest]:
    """Who had the calls of a contest about large arrays, `p` for pieces and `n` for NumPy."""
    contest, found = Contest(SHAPES, True, LIMIT), ""
    for k in range(calls):
        plainly = contest.takes_plainly(SHAPES)
        contest.took(plain if plainly else pieces if k else first, SHAPES, plainly=plainly)
        found += "n" if plainly else "p"
    return found, contest


@pytest.mark.parametrize(
    ("pieces", "plain", "expected"),
    [
        (0.9, 0.1, "pppppppppppp"),  # as fast as NumPy is predicted to be: not suspected
        (1.2, 0.5, "pppnnnnnnnnn"),  # clearly slower than NumPy is
        (1.2, 1.1, "pppnnnnnnnnn"),  # slower, as three calls tell
        (1.2, 1.19, "pppnnnpppppp"),  # as fast, with less memory
        (1.2, 4.0, "pppnpppppppp"),  # what NumPy takes was predicted wrong
    ],
)
def test_who_has_the_calls(pieces: float, plain: float, expected: str) -> None:
    found, contest = turns(pieces, plain)
    assert found == expected
    assert contest.is_over
    assert contest.is_lost == (expected[-1] == "n")


def test_the_first_call_suspects_nobody() -> None:
    """Much is found out then."""
    contest = Contest(SHAPES, True, LIMIT)
    contest.took(50.0, SHAPES, plainly=False)
    contest.took(1.5, SHAPES, plainly=False)
    assert not contest.takes_plainly(SHAPES)
    contest.took(0.5, SHAPES, plainly=False)
    assert contest.is_over
    assert not contest.is_lost


def test_calls_for_other_shapes_of_the_range_go_by_pieces_until_it_is_known() -> None:
    contest = Contest(SHAPES, True, LIMIT)
    for _ in range(3):
        contest.took(1.5, SHAPES, plainly=False)
    assert contest.takes_plainly(SHAPES)
    assert not contest.takes_plainly(((301, 400), (299, 398)))


@pytest.mark.parametrize("is_lost", [True, False])
def test_large_arrays(monkeypatch: pytest.MonkeyPatch, is_lost: bool) -> None:
    """Each call is run once, and results are the same; `explain` says what was measured, and nothing before that."""
    monkeypatch.setattr(choosing, "MOST_BYTES", 3 * X.nbytes)
    seconds = [9.0, 8.0, 8.0, 2.0 if is_lost else 16.0]
    monkeypatch.setattr(contests, "perf_counter", Clock([*seconds, *[1.0] * 20]))
    function = jit(stencil)
    plain = counted(function)
    for _ in range(3):
        np.testing.assert_array_equal(function(X), stencil(X), strict=True)
    assert plain.calls == 0
    assert not {"measured", "in turn"} & set(re.findall("measured|in turn", function.explain(X)))
    for calls in (1, 1 + is_lost, 1 + 2 * is_lost):
        np.testing.assert_array_equal(function(X), stencil(X), strict=True)
        assert plain.calls == calls
    assert ("called as it is: measured" in function.explain(X)) == is_lost
    assert ("by pieces: measured" in function.explain(X)) != is_lost


def test_what_is_as_fast_as_predicted_is_never_run_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "MOST_BYTES", 3 * X.nbytes)
    monkeypatch.setattr(contests, "perf_counter", Clock([9.0] + [1e-9] * 20))
    function = jit(stencil)
    plain = counted(function)
    for _ in range(9):
        function(X)
    assert plain.calls == 0


def test_what_takes_much_of_the_memory_is_never_run_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "MOST_BYTES", 3 * X.nbytes)
    monkeypatch.setattr(choosing, "memory_bytes", lambda: 8 * X.nbytes)
    monkeypatch.setattr(contests, "perf_counter", Clock([9.0] * 20))
    function = jit(stencil)
    plain = counted(function)
    for _ in range(9):
        function(X)
    assert plain.calls == 0


def test_nor_is_what_takes_more_than_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes from one power of two to the next go by one contest, as far as there is memory for them."""
    monkeypatch.setattr(choosing, "MOST_BYTES", 3 * X.nbytes)
    monkeypatch.setattr(choosing, "memory_bytes", lambda: 20 * X.nbytes)
    monkeypatch.setattr(contests, "perf_counter", Clock([9.0, 8.0, 8.0, *[1.0] * 20]))
    function, larger = jit(stencil), np.random.default_rng(0).random((500, 500))
    for _ in range(5):
        function(X)
    plain = counted(function)
    function(X)
    assert plain.calls == 1
    np.testing.assert_array_equal(function(larger), stencil(larger), strict=True)
    assert plain.calls == 1


def test_nothing_is_suspected_whose_bits_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "MOST_BYTES", 1)
    monkeypatch.setattr(contests, "perf_counter", Clock([9.0] * 20))

    def spread(x: Any) -> Any:
        return np.asarray(np.linalg.norm(np.sqrt(x * 0.5 + x) * x - 1, axis=0))

    for function in (jit(spread), jit(stencil, smallest=0), jit(stencil, max_bytes=1 << 20)):
        plain = counted(function)
        for _ in range(6):
            function(X)
        assert plain.calls == 0
