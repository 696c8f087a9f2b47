"""Many boxes side by side: what is stacked, and split, is found to be complete in as many steps as there are parts."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from traced import assert_same, jit

import slinky as sl
from slinky.sched.legality import side_by_side
from slinky.sched.legality.side_by_side import contain_side_by_side
from slinky.symbolic.expressions import maximum, minimum
from slinky.symbolic.intervals import Box, Interval
from slinky.symbolic.proofs import facts

low, high, rows = sl.variables("low high rows")
REGION: Box = (Interval(0, rows), Interval(low, high))


def columns(*ends: tuple[int, int]) -> list[Box]:
    """Columns of the region, from one number to another, limited to it."""
    return [(Interval(0, rows), Interval(maximum(low, a), minimum(high, b))) for a, b in ends]


def test_columns_of_a_stack() -> None:
    """Each begins behind the one before; where one is missing, or too short, it does not."""
    known = facts(low >= 0, high <= 9)
    each = [(k, k) for k in range(10)]
    assert contain_side_by_side(columns(*each), REGION, known)
    assert contain_side_by_side(columns(*each[::-1]), REGION, known)
    assert contain_side_by_side(columns((0, 3), (4, 4), (5, 4), (5, 8), (9, 20)), REGION, known)
    assert not contain_side_by_side(columns(*each[:4], *each[5:]), REGION, known)
    assert not contain_side_by_side(columns(*each[:9]), REGION, known)
    assert not contain_side_by_side(columns(*each[1:]), REGION, known)
    shorter = [*columns(*each[:4]), (Interval(1, rows), Interval(4, 4)), *columns(*each[5:])]
    assert not contain_side_by_side(shorter, REGION, known)


def test_columns_that_begin_at_one_place() -> None:
    """Of several, each is met: also what leads nowhere, such as what earlier iterations of a loop have written."""
    (step,) = sl.variables("step")
    known = facts(low >= 0, high <= 9)
    each = [(k, k) for k in range(10)]
    earlier = [(Interval(0, rows), Interval(k, minimum(high, step, k))) for k in range(10)]
    for boxes in ([*columns(*each), *earlier], [*earlier, *columns(*each)], columns(*each, (3, 2), (2, 7), (4, 5))):
        assert contain_side_by_side(boxes, REGION, known)
    assert not contain_side_by_side([*earlier, *columns(*each[:4], *each[5:])], REGION, known)


def test_columns_of_a_part() -> None:
    """What is read is a part of what the columns are limited to, and one column is shown by a proof to have it all."""
    first, last = sl.variables("first last")
    known = facts(low >= 0, high <= 9, first >= low + 1, last <= high - 1, rows >= 3)
    region: Box = (Interval(0, rows), Interval(first, last))
    each = columns(*((k, k) for k in range(10)))
    assert contain_side_by_side(each, region, known)
    other = (Interval(0, maximum(rows, minimum(rows * 2, 5))), each[4][1])
    assert contain_side_by_side([*each[:4], other, *each[5:]], region, known)
    assert not contain_side_by_side([*each[:4], (Interval(0, rows - 1), each[4][1]), *each[5:]], region, known)
    assert not contain_side_by_side(each[2:], region, known)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-2, 4)), min_size=4, max_size=9), st.integers(0, 9), st.data())
def test_what_is_said_is_so(parts: list[tuple[int, int]], first: int, data: st.DataObject) -> None:
    """Where boxes are said to contain a region, each of its elements is in one."""
    last = data.draw(st.integers(first, 12))
    boxes = columns(*((a, a + n) for a, n in parts))
    if contain_side_by_side(boxes, REGION, facts(low >= first, high <= last)):
        for element in range(first, last + 1):
            assert any(a <= element <= a + n for a, n in parts)


@pytest.mark.parametrize("count", [3, 12, 40])
def test_stacks_are_judged_in_a_row(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many columns, none is looked for by proofs; a stack of them, and parts of an array, are right."""
    from slinky.sched.legality import cutting

    proofs = []
    monkeypatch.setattr(cutting, "_contain_by_proofs", lambda *given: bool(proofs.append(given)))
    x = np.arange(400.0)

    def f(a: Any) -> Any:
        return np.stack([a * k for k in range(count)], axis=1)

    if count >= side_by_side.FEWEST:
        assert_same(jit(f)(x), f(x))
        assert not proofs
    monkeypatch.undo()
    assert_same(jit(f)(x), f(x))
    for split in (lambda a: np.array_split(a, count), lambda a: [c.mean() for c in np.array_split(a, count)]):
        assert_same(jit(split)(x), split(x))
