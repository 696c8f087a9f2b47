"""Copies are taken to pieces: every element is what the operation says, read point by point, and the pieces are few."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge_copies import reading_of, stands_for
from judge_evaluation import evaluation, symbol_key

from slinky.ir.operations import Boundary, Copy, CopySource
from slinky.runtime.buffers import Buffer
from slinky.runtime.copy_pieces import pieces
from slinky.runtime.copying import carrier
from slinky.symbolic.expressions import Expr, as_expr, constant, variable
from slinky.symbolic.intervals import Interval

Box = tuple[tuple[int, int], ...]

FILL = -7
UNWRITTEN = -99
DIMS = tuple(variable(f"d{k}") for k in range(4))
PARAMETERS = tuple(variable(f"value_{k}") for k in range(4))
a, b, c, d = DIMS


def points(box: Box) -> list[tuple[int, ...]]:
    """All points of a box."""
    return [*itertools.product(*(range(lo, hi + 1) for lo, hi in box))]


def by_points(copy: Copy, sources: Sequence[Buffer], box: Box, values: dict[Any, int]) -> np.ndarray:
    """What a copy gives over a box, element after element; `UNWRITTEN` where nothing gives anything."""
    found = np.full([max(hi - lo + 1, 0) for lo, hi in box], UNWRITTEN if copy.fill is None else copy.fill)
    read = reading_of(copy, {symbol_key(parameter): value for parameter, value in values.items()})
    for point in points(box):
        element = read(point)
        if element is not None:
            source = sources[element[0]]
            place = tuple(k - lo for k, lo in zip(element[1], source.min, strict=True))
            found[tuple(k - lo for k, (lo, _) in zip(point, box, strict=True))] = source.array[place]
    return found


def by_pieces(copy: Copy, sources: Sequence[Buffer], box: Box, values: dict[Any, int]) -> np.ndarray:
    """What slinky copies to an array that is part of a larger one, of which it must leave the rest alone."""
    around = np.full([max(hi - lo + 3, 2) for lo, hi in box], UNWRITTEN)
    inner = tuple(slice(1, -1) for _ in box)
    target = Buffer(np.asarray(around[(*inner, ...)]), tuple(lo for lo, _ in box))
    carrier(copy)(*sources, target, **{parameter.name: value for parameter, value in values.items()})
    untouched = around.copy()
    untouched[inner] = UNWRITTEN
    assert (untouched == UNWRITTEN).all()
    return target.array


def count(copy: Copy, box: Box, values: dict[Any, int] | None = None) -> int:
    """How many pieces a copy takes over a box, which must cover each point once."""
    found = list(pieces(copy, box, values or {}))
    assert sum(math.prod(piece.space.extents) for piece in found) == math.prod(hi - lo + 1 for lo, hi in box)
    return len(found)


# ----------------------------------------------------------------------------------------------------------------
# Any copy
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class Case:
    """A copy, a box to run it over, and the sources."""

    copy: Copy
    box: Box
    sources: tuple[Buffer, ...]
    values: dict[Any, int]


def small(lo: int, hi: int) -> st.SearchStrategy[int]:
    return st.integers(lo, hi)


@st.composite
def numbers(draw: st.DrawFn, values: dict[Any, int], lo: int, hi: int) -> Expr:
    """A number, or a parameter whose value lies between the ends."""
    fitting = [parameter for parameter, value in values.items() if lo <= value <= hi]
    if fitting and draw(st.integers(0, 3)) == 3:
        return draw(st.sampled_from(fitting))
    return constant(draw(st.integers(lo, hi)))


@st.composite
def indices(draw: st.DrawFn, dims: tuple[Expr, ...], values: dict[Any, int], depth: int = 2) -> Expr:
    """An index that a copy understands."""
    kind = draw(st.sampled_from(("sum", "sum", "sum", "quotient", "remainder", "both", "product"))) if depth else "sum"
    if kind == "sum":
        e = as_expr(draw(numbers(values, -4, 4)))
        for dim in dims:
            if draw(st.booleans()):
                e = e + dim * draw(st.sampled_from((1, 1, 1, -1, 2, 3, -2)))
        return e
    inner = draw(indices(dims, values, depth - 1))
    match kind:
        case "quotient":
            return inner // draw(numbers(values, 1, 6))
        case "remainder":
            return inner % draw(numbers(values, 1, 6))
        case "product":
            return inner * draw(numbers(values, -3, 3))
    return inner + draw(indices(dims, values, depth - 1))


@st.composite
def copies(draw: st.DrawFn, longest: int = 12) -> Case:
    """Any copy: what it reads without limits is there."""
    rank = draw(st.integers(0, 4))
    dims = DIMS[:rank]
    box, size = [], 1
    for _ in range(rank):
        lo = draw(small(-6, 6))
        extent = draw(st.sampled_from([n for n in (1, 2, 3, 5, 7, longest, 0) if n * size <= 300 or n == 0]))
        box.append((lo, lo + extent - 1))
        size = max(size * extent, 1)
    values = {parameter: draw(small(-3, 6)) for parameter in PARAMETERS}
    by_key = {symbol_key(parameter): value for parameter, value in values.items()}
    at = [by_key | {symbol_key(dim): k for dim, k in zip(dims, point, strict=True)} for point in points(tuple(box))]
    sources, arrays = [], []
    for number in range(draw(st.integers(1, 3))):
        index, edges, boundaries, low, shape = [], [], [], [], []
        for _ in range(draw(small(0, 3))):
            e = draw(indices(dims, values))
            lo, hi = draw(small(-5, 5)), 0
            kind = draw(st.sampled_from(("rule", "edges", "none")))
            if kind == "none":
                found = [evaluation(e)(known) for known in at] or [0]
                lo, hi = min(found), max(found)
            else:
                hi = lo + draw(st.sampled_from((1, 2, 3, 4, 6, 0))) - 1
            index.append(e)
            edges.append(None if kind == "none" else Interval(constant(lo), constant(hi)))
            boundaries.append(draw(st.sampled_from(list(Boundary))) if kind == "rule" else None)
            low.append(lo)
            shape.append(hi - lo + 1)
        array = np.arange(math.prod(shape)).reshape(shape) + 1000 * (number + 1)
        if draw(st.booleans()) and shape:
            array = array[::-1].copy(order=draw(st.sampled_from(("C", "F"))))[::-1]
        where = []
        if draw(small(0, 2)) == 2:
            e, lo = draw(indices(dims, values)), draw(small(-4, 4))
            where.append((e, Interval(constant(lo), constant(lo + draw(small(-1, 8))))))
        sources.append(CopySource(tuple(index), tuple(edges), tuple(boundaries), tuple(where)))
        arrays.append(Buffer(array, tuple(low)))
    copy = Copy(
        dims=dims,
        sources=tuple(sources),
        fill=draw(st.sampled_from((FILL, None))),
        arguments=tuple((parameter.name, parameter) for parameter in values),
    )
    return Case(copy, tuple(box), tuple(arrays), values)


@settings(max_examples=settings().max_examples * 5)
@given(case=copies())
def test_each_element_is_what_the_operation_says(case: Case) -> None:
    found = by_pieces(case.copy, case.sources, case.box, case.values)
    expected = by_points(case.copy, case.sources, case.box, case.values)
    seen = expected != UNWRITTEN  # nobody reads what nothing gives
    np.testing.assert_array_equal(found[seen], expected[seen])


@given(case=copies())
def test_pieces_cover_each_point_once(case: Case) -> None:
    met: list[tuple[int, ...]] = []
    for piece in pieces(case.copy, case.box, case.values):
        for place in itertools.product(*map(range, piece.space.extents)):
            met.append(
                tuple(
                    form.constant + sum(f * k for f, k in zip(form.factors, place, strict=True))
                    for form in piece.space.target
                )
            )
    assert sorted(met) == points(case.box)


@st.composite
def assemblies(draw: st.DrawFn) -> Case:
    """Parts side by side or one behind the other, mostly such that they cover the box once."""
    cuts = sorted(draw(st.lists(small(-3, 9), min_size=2, max_size=5)))
    sources, arrays = [], []
    shift = draw(st.sampled_from((0, 0, 0, 1, -1)))  # then two have elements in common, or there is a gap
    for number, (lo, hi) in enumerate(itertools.pairwise(cuts)):
        sign = draw(st.sampled_from((1, -1)))
        at = draw(small(-4, 4))
        hi += shift
        ends = sorted((sign * lo + at, sign * (hi - 1) + at)) if hi > lo else [0, -1]
        edges = Interval(constant(ends[0]), constant(ends[1]))
        array = np.arange((ends[1] - ends[0] + 1) * 4).reshape(-1, 4) + 1000 * (number + 1)
        sources.append(CopySource((sign * a + at, b), (edges, None), (None, None)))
        arrays.append(Buffer(array, (ends[0], 0)))
    box = ((cuts[0] + draw(small(0, 2)), cuts[-1] - 1 - draw(small(-1, 2))), (0, draw(small(-1, 3))))
    copy = Copy(dims=DIMS[:2], sources=tuple(sources), fill=draw(st.sampled_from((FILL, None))))
    return Case(copy, box, tuple(arrays), {})


@settings(max_examples=settings().max_examples * 3)
@given(case=assemblies())
def test_parts_are_assembled_as_the_operation_says(case: Case) -> None:
    found = by_pieces(case.copy, case.sources, case.box, case.values)
    expected = by_points(case.copy, case.sources, case.box, case.values)
    seen = expected != UNWRITTEN
    np.testing.assert_array_equal(found[seen], expected[seen])


def test_parts_with_elements_in_common_are_assembled_in_order() -> None:
    """As many elements as there are to write, but some twice, and others not at all."""
    parts = [CopySource((a - lo,), (Interval(constant(0), constant(3)),), (None,)) for lo in (0, 2)]
    sources = [Buffer(np.arange(4) + first, (0,)) for first in (10, 20)]
    assert by_pieces(copy_of(*parts, dims=1), sources, sized(8), {}).tolist() == [10, 11, 12, 13, 22, 23, FILL, FILL]


@pytest.mark.parametrize("kind", ["padded", "concatenated", "stacked"])
def test_common_copies_are_not_taken_to_pieces_again_in_each_call(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a loop by rows, what is known of the columns is not found again."""
    source = Buffer(np.arange(800).reshape(100, 8), (0, 0))
    if kind == "padded":
        copy, sources, columns = copy_of(limited(Boundary.MIRROR, (100, 8), a, b), dims=2), [source], (-3, 10)
    elif kind == "concatenated":
        parts = [CopySource((a, b - 8 * k), (None, Interval(constant(0), constant(7))), (None, None)) for k in range(3)]
        copy, sources, columns = copy_of(*parts, dims=2), [source] * 3, (0, 23)
    else:
        parts = [
            CopySource((a, b), (None, None), (None, None), ((c, Interval(constant(k), constant(k))),)) for k in (0, 1)
        ]
        copy, sources, columns = copy_of(*parts, dims=3), [source] * 2, (0, 7)
    asked = 0

    def counted(*given: Any) -> Any:
        nonlocal asked
        asked += 1
        return pieces(*given)

    for module in ("separable_copies", "copying"):
        monkeypatch.setattr(f"slinky.runtime.{module}.pieces", counted)
    for row in range(20, 80, 4):
        box = ((row, row + 3), columns, *([(0, 1)] if kind == "stacked" else []))
        np.testing.assert_array_equal(by_pieces(copy, sources, box, {}), by_points(copy, sources, box, {}))
    assert asked == (1 if kind == "padded" else 0)


NUMPY_MODES = {
    Boundary.NEAREST: "edge",
    Boundary.REFLECT: "symmetric",
    Boundary.MIRROR: "reflect",
    Boundary.WRAP: "wrap",
}


@pytest.mark.parametrize("boundary", Boundary)
@pytest.mark.parametrize("extent", [1, 2, 3, 5])
def test_the_rules_are_those_of_numpy(boundary: Boundary, extent: int) -> None:
    found = [stands_for(k, 0, extent - 1, boundary) for k in range(-17, extent + 17)]
    assert found == np.pad(np.arange(extent), 17, NUMPY_MODES[boundary]).tolist()


def test_without_a_rule_nothing_stands_beyond_an_edge() -> None:
    assert [stands_for(k, 2, 3, None) for k in (1, 2, 3, 4)] == [None, 2, 3, None]
    assert all(stands_for(2, 2, 1, boundary) is None for boundary in (None, *Boundary))


# ----------------------------------------------------------------------------------------------------------------
# Few pieces
# ----------------------------------------------------------------------------------------------------------------


def copy_of(*sources: CopySource, dims: int, fill: Any = FILL) -> Copy:
    """A copy of some dimensions."""
    return Copy(dims=DIMS[:dims], sources=sources, fill=fill)


def plain(*index: Expr) -> CopySource:
    """A source that has all that is read."""
    return CopySource(index, (None,) * len(index), (None,) * len(index))


def limited(boundary: Boundary | None, extents: Sequence[int], *index: Expr) -> CopySource:
    """A source whose coordinates begin at 0."""
    edges = tuple(Interval(constant(0), constant(extent - 1)) for extent in extents)
    return CopySource(index, edges, (boundary,) * len(index))


def sized(*extents: int) -> Box:
    """A box that begins at 0."""
    return tuple((0, extent - 1) for extent in extents)


RULES = (None, *Boundary)


@pytest.mark.parametrize("boundary", RULES)
@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_a_padded_box_has_a_piece_for_each_combination_of_inside_and_beyond(
    boundary: Boundary | None, rank: int
) -> None:
    copy = copy_of(limited(boundary, (20,) * rank, *DIMS[:rank]), dims=rank)
    inside = sized(*[20] * rank)
    assert count(copy, inside) == 1
    most = 2 * rank + 1 if boundary is None else 3**rank  # what is filled is not cut any further
    assert count(copy, tuple((-3, 23) for _ in range(rank))) == most
    by_rows = ((-3, -1), *inside[1:])
    assert count(copy, by_rows) == 1


@pytest.mark.parametrize("times", [1, 3, 50])
def test_tiles_are_one_piece(times: int) -> None:
    tiled = copy_of(plain(8 * a + c, 8 * b + d), dims=4)
    assert count(tiled, sized(times, 2 * times, 8, 8)) == 1
    assembled = copy_of(plain(a // 8, b // 8, a % 8, b % 8), dims=2)
    assert count(assembled, sized(8 * times, 16 * times)) == 1
    assert count(assembled, ((3, 8 * times + 10), (5, 16 * times + 9))) <= 3**2  # parts of tiles at both ends


@pytest.mark.parametrize("extent", [12, 100, 2000])
def test_windows_as_rows_of_a_matrix(extent: int) -> None:
    inside = copy_of(plain(a + c, b + d), dims=4)
    assert count(inside, sized(extent, extent, 3, 3)) == 1
    for boundary in RULES:
        padded = copy_of(limited(boundary, (extent, extent), a + c - 1, b + d - 1), dims=4)
        assert count(padded, sized(extent, extent, 3, 3)) <= (2 * 3) ** 2


@pytest.mark.parametrize("extent", [12, 100, 2000])
@pytest.mark.parametrize("rate", [2, 3, 5])
def test_other_rates(extent: int, rate: int) -> None:
    larger = copy_of(plain(a // rate, (b + 1) // rate), dims=2)
    assert count(larger, sized(extent * rate, extent * rate)) <= 3**2
    assert count(copy_of(plain(rate * a), dims=1), sized(extent)) == 1
    assert count(copy_of(plain((rate * a) // 7), dims=1), sized(extent)) <= 7
    for boundary in RULES:
        extended = copy_of(limited(boundary, (extent,), (a - 3) // rate), dims=1)
        assert count(extended, ((-10, rate * extent + 10),)) <= 9
        assert count(copy_of(limited(boundary, (extent,), rate * a - 1), dims=1), ((-1, extent // rate + 1),)) <= 5


@pytest.mark.sweep(2)
@pytest.mark.parametrize("extent", [40, 400, 40_000])
@pytest.mark.parametrize("boundary", Boundary)
@pytest.mark.parametrize("own", [1, 2, 3, 7])
def test_a_small_array_over_a_large_one(extent: int, boundary: Boundary, own: int) -> None:
    for index in (a, a - 5, -a, 3 * a + 1):
        copy = copy_of(limited(boundary, (own,), index), dims=1)
        assert count(copy, ((-3, extent),)) <= 2 * (2 * 3 * own) + 3
    wrapped = copy_of(limited(Boundary.WRAP, (own, own), a, b), dims=2)
    assert count(wrapped, sized(extent * own, extent * own)) == 1


@pytest.mark.parametrize("extent", [4, 100, 10_000])
def test_parts_of_a_whole(extent: int) -> None:
    thirds = [
        CopySource((a - k * extent, b), (Interval(constant(0), constant(extent - 1)), None), (None, None))
        for k in range(3)
    ]
    assert count(copy_of(*thirds, dims=2), sized(3 * extent, extent)) == 3
    layers = [CopySource((a,), (None,), (None,), ((b, Interval(constant(k), constant(k))),)) for k in range(3)]
    assert count(copy_of(*layers, dims=2), sized(extent, 3)) == 3
    assert count(copy_of(plain(b, a), dims=2), sized(extent, extent)) == 1
    assert count(copy_of(plain(constant(0), -b), dims=2), sized(extent, extent)) == 1


@pytest.mark.parametrize("rows", [3, 50, 4000])
def test_other_shapes(rows: int) -> None:
    flat = copy_of(plain(a // 12, a % 12), dims=1)
    assert count(flat, sized(12 * rows)) == 1
    back = copy_of(plain(12 * a + b), dims=2)
    assert count(back, sized(rows, 12)) == 1
    apart = copy_of(plain((12 * a + 4 * b + c) // 12, (12 * a + 4 * b + c) % 12), dims=3)
    assert count(apart, sized(rows, 3, 4)) == 1
    merged = copy_of(plain((24 * a + b) // 12, (24 * a + b) % 12), dims=2)
    assert count(merged, sized(rows, 24)) <= 2
    finer = copy_of(plain((6 * a + b) // 12, (6 * a + b) % 12), dims=2)
    assert count(finer, sized(rows, 6)) <= 3


@st.composite
def lines(draw: st.DrawFn) -> CopySource:
    """A source of one dimension that is read along another, so that pieces repeat."""
    e = draw(indices((a,), {}))
    boundary = draw(st.sampled_from(RULES))
    edges = Interval(constant(draw(small(-3, 0))), constant(draw(small(0, 5))))
    return CopySource((e,), (edges,), (boundary,))


@given(source=lines(), start=small(-9, 9))
def test_pieces_do_not_become_more_with_elements(source: CopySource, start: int) -> None:
    copy = copy_of(source, dims=1)
    short, long = (count(copy, ((start, start + extent - 1),)) for extent in (2_000, 6_000))
    assert long <= 1.5 * short + 20
    assert short <= 1_000
