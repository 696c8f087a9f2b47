"""Do several boxes contain a region? Checked by counting elements."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky.sched.legality import cutting, side_by_side
from slinky.sched.legality.cutting import contain_together
from slinky.symbolic.expressions import Expr, constant, variable
from slinky.symbolic.intervals import Box, Interval
from slinky.symbolic.proofs import NO_FACTS, Facts, facts

NumericBox = tuple[tuple[int, int], ...]
"""First and last coordinates, by dimension."""

widths = st.lists(st.integers(1, 3), min_size=2, max_size=3)


def symbolic(box: NumericBox, offset: Expr) -> Box:
    return tuple(Interval(offset + lo, offset + hi) for lo, hi in box)


def ends(widths: list[int]) -> list[tuple[int, int]]:
    """Intervals of these widths, side by side from 0 on."""
    last = list(itertools.accumulate(widths))
    return [(end - width, end - 1) for width, end in zip(widths, last, strict=True)]


@given(widths, widths, st.data())
@settings(max_examples=150)
def test_tiles_contain_a_region_if_they_have_all_of_its_elements(
    rows: list[int], columns: list[int], data: st.DataObject
) -> None:
    """Of a grid of tiles, all contain it; of some of them, it depends on what is asked for."""
    tiles = list(itertools.product(ends(rows), ends(columns)))
    kept = data.draw(st.permutations(tiles))[data.draw(st.integers(0, 2)) :]
    grid = (sum(rows), sum(columns))
    lows = [data.draw(st.integers(0, extent - 1)) for extent in grid]
    region = tuple((lo, data.draw(st.integers(lo, extent - 1))) for lo, extent in zip(lows, grid, strict=True))
    there = np.zeros(grid, bool)
    for (top, bottom), (left, right) in kept:
        there[top : bottom + 1, left : right + 1] = True
    wanted = there[tuple(slice(lo, hi + 1) for lo, hi in region)]
    for offset in (constant(0), variable("n")):
        found = contain_together([symbolic(tile, offset) for tile in kept], symbolic(region, offset), NO_FACTS)
        assert found == wanted.all()


@given(st.lists(st.tuples(st.integers(1, 2), widths), min_size=2, max_size=3), st.booleans(), st.data())
@settings(max_examples=300)
def test_bricks_contain_a_region_only_if_they_have_all_of_its_elements(
    rows: list[tuple[int, list[int]]], turned: bool, data: st.DataObject
) -> None:
    """Rows of tiles that end elsewhere in each: no line goes through all."""
    heights = ends([height for height, _ in rows])
    bricks: list[NumericBox] = [
        (high, wide) for high, (_, each) in zip(heights, rows, strict=True) for wide in ends(each)
    ]
    kept = data.draw(st.permutations(bricks))[data.draw(st.integers(0, 1)) :]
    there = np.zeros((heights[-1][1] + 1, max(sum(each) for _, each in rows)), bool)
    for (top, bottom), (left, right) in kept:
        there[top : bottom + 1, left : right + 1] = True
    narrow = min(sum(each) for _, each in rows)
    region: NumericBox = ((0, heights[-1][1]), (0, narrow - 1))
    boxes = [box[::-1] if turned else box for box in (*kept, region)]
    for offset in (constant(0), variable("n")):
        found = contain_together([symbolic(box, offset) for box in boxes[:-1]], symbolic(boxes[-1], offset), NO_FACTS)
        assert there[:, :narrow].all() or not found


def test_dimensions_along_which_a_box_was_shown_to_contain_a_region_are_not_asked_about_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of three boxes cuts off what it has along the first dimension: what is left is asked of the others."""
    n, rank = variable("n"), 8
    asked: list[Interval] = []
    inside = cutting.inside

    def noted(inner: Interval, *others: Any) -> bool:
        asked.append(inner)
        return inside(inner, *others)

    for short_look in ("contain_side_by_side", "contain_by_comparing"):
        monkeypatch.setattr(cutting, short_look, lambda *_: False)
    monkeypatch.setattr(cutting, "inside", noted)
    rest = (Interval(constant(0), n),) * (rank - 1)
    boxes: list[Box] = [(Interval(n * k, n * k + n), *rest) for k in range(3)]
    assert contain_together(boxes, (Interval(constant(0), n * 3), *rest), facts(n >= 1))
    assert asked.count(rest[0]) == len(boxes) * len(rest)
    assert len(asked) == len(boxes) * rank + 2 + 1


def test_many_boxes_are_not_asked_again_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is cut off: along all dimensions but the first, all of them contain the region."""
    n = variable("n")
    asked: list[tuple[Any, Any]] = []

    def noted(a: Expr, b: Expr, known: Facts) -> bool:
        asked.append((a, b))
        return at_most(a, b, known)

    at_most = side_by_side.at_most
    monkeypatch.setattr(side_by_side, "at_most", noted)
    monkeypatch.setattr(cutting, "contain_by_comparing", lambda *_: False)
    rest = (Interval(constant(0), n),) * 7
    boxes: list[Box] = [(Interval(n * k, n * k + n), *rest) for k in range(6)]
    assert contain_together(boxes, (Interval(constant(0), n * 6), *rest), facts(n >= 1))
    assert asked.count((n, n)) == len(boxes) * len(rest)
