"""Windows that move back at the edges of an array: reflected, repeated and wrapped reads, written as intervals by hand.

What a row beyond an edge stands for lies inside, so the window of a row there moves back while the rows go on.
"""

from __future__ import annotations

import contextlib
import functools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_chains import NothingToDoError
from random_schedules import Chain

import slinky as sl

WIDTH = 3
MODES = ("nearest", "reflect", "mirror")


def inside(mode: str, at: np.ndarray[Any, Any], first: int, last: int) -> np.ndarray[Any, Any]:
    """The rows that stand for rows beyond an edge."""
    count = last - first + 1
    if mode == "nearest":
        return np.clip(at, first, last)
    if mode == "wrap":
        return first + (at - first) % count
    period = 2 * count if mode == "reflect" else max(2 * count - 2, 1)
    place = (at - first) % period
    beyond = period - 1 - place if mode == "reflect" else period - place
    return first + np.where(place < count, place, beyond)


def sums(source: sl.Buffer, target: sl.Buffer, mode: str, first: int, last: int, r: int) -> None:
    """The weighted sum of `2 * r + 1` rows around each row."""
    assert target.array.size > 0, "a callback was called with an empty region"
    y = np.arange(target.min[0], target.max[0] + 1)
    rows = [inside(mode, y + k, first, last) - source.min[0] for k in range(-r, r + 1)]
    assert min(map(np.min, rows)) >= 0
    target.array[...] = sum((k + 1) * source.array[row] for k, row in enumerate(rows))


def hull(mode: str, a: Any, b: Any, first: Any, last: Any) -> sl.Interval:
    """The rows that a window from a to b reads of an array."""
    if mode == "nearest":
        return sl.interval(
            sl.minimum(sl.maximum(a, first), last),
            sl.maximum(sl.minimum(b, last), first),
        )
    if mode == "wrap":
        fits = (first <= a) & (b <= last)
        return sl.interval(sl.select(fits, a, first), sl.select(fits, b, last))
    twice = 1 if mode == "reflect" else 0
    return sl.interval(
        sl.maximum(first, sl.minimum(sl.maximum(a, first), 2 * last + twice - b)),
        sl.minimum(last, sl.maximum(sl.minimum(b, last), 2 * first - twice - a)),
    )


def add_1(source: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> None:
    assert target.size > 0, "a callback was called with an empty region"
    target[...] = source + 1


FACTS = ("nothing", "inside", "as large")


@functools.lru_cache(maxsize=8)
def described(mode: str, radius: Any, facts: str, stages: int = 1) -> sl.Pipeline:
    """`inp -> b0 -> ... -> out`: one is added, then sums of rows with edges, stage by stage, whose edges are those of
    the input. `facts` say what is known of the output."""
    y, x = sl.variables("y x")
    buffers = [sl.BufferExpr(f"b{k}", np.int64, rank=2) for k in range(stages)]
    inp, out = sl.BufferExpr("inp", np.int64, rank=2), sl.BufferExpr("out", np.int64, rank=2)
    first, last = inp.dim(0).min, inp.dim(0).max
    sl.Func(add_1, [inp[y, x]], [buffers[0][y, x]], name="add")
    for k, (source, target) in enumerate(zip(buffers, [*buffers[1:], out], strict=True), start=1):
        window = hull(mode, y - radius, y + radius, first, last)
        arguments = {"mode": MODE_NUMBERS.index(mode), "first": first, "last": last, "r": radius}
        sl.Func(
            numbered_sums, [source[window, x]], [target[y, x]], name=f"f{k}", pass_buffers=True, arguments=arguments
        )
    require = [inp.dim(0).extent >= 1]
    if isinstance(radius, sl.symbolic.Expr):
        require.append(radius >= 0)
    if facts == "inside":
        require += [first <= out.dim(0).min, out.dim(0).max <= last]
    if facts == "as large":
        require += [sl.equal(first, out.dim(0).min), sl.equal(last, out.dim(0).max)]
    return sl.build_pipeline([inp], [out], require=require)


MODE_NUMBERS = (*MODES, "wrap")


def numbered_sums(source: sl.Buffer, target: sl.Buffer, mode: int, first: int, last: int, r: int) -> None:
    sums(source, target, MODE_NUMBERS[mode], first, last, r)


def by_strips(p: sl.Pipeline, step: int, warmup: str, stages: int = 1) -> sl.Pipeline:
    p, split = sl.split_loop(p, f"f{stages}.y", step, rc=True)
    for func in [f"f{k}" for k in range(stages - 1, 0, -1)] + ["add"]:
        p, at = sl.compute_at(p, func, split.outer, rc=True)
        p = sl.slide_window(p, at.call, split.outer, warmup=warmup)
        p = sl.fold_storage(p, at.alloc, "y")
    return p


def placed(height: int, first: int) -> sl.Buffer:
    values = np.random.default_rng(height).integers(0, 99, (height, WIDTH))
    return sl.Buffer(values, min=(first, 0))


# The rows of the input, and of the output: as large, inside, larger, apart.
AS_LARGE = [((first, last), (first, last)) for first, last in ((0, 0), (2, 3), (-5, -3), (0, 9), (-7, 22))]
INSIDE = [((0, 9), (3, 5)), ((0, 9), (0, 4)), ((-3, 9), (6, 9)), ((0, 9), (4, 4))]
ELSEWHERE = [
    ((0, 9), (-1, 10)),
    ((0, 9), (-4, 12)),
    ((0, 9), (-40, 40)),
    ((0, 9), (5, 14)),
    ((0, 9), (-6, 3)),
    ((0, 9), (17, 25)),
    ((0, 9), (-25, -12)),
    ((3, 3), (0, 6)),
    ((3, 4), (-3, 11)),
    ((3, 4), (30, 31)),
]
PLACES = {"nothing": AS_LARGE + INSIDE + ELSEWHERE, "inside": AS_LARGE + INSIDE, "as large": AS_LARGE}


def compare(
    plain: sl.Pipeline, scheduled: sl.Pipeline, rows: tuple[tuple[int, int], tuple[int, int]], **scalars: int
) -> tuple[sl.RunStatistics, sl.RunStatistics]:
    """Run both, and the scheduled one in checked mode too; the statistics of both."""
    (first, last), (begin, end) = rows
    image = placed(last - first + 1, first)
    outputs = [sl.Buffer(np.zeros((end - begin + 1, WIDTH), np.int64), min=(begin, 0)) for _ in range(2)]
    before, expected = of_plain(plain, rows, tuple(scalars.items()))
    scheduled.run(image, outputs[0], checked=True, **scalars)
    statistics = scheduled.run(image, outputs[1], **scalars)
    for found in outputs:
        assert np.array_equal(found.array, expected), rows
    return before, statistics


@functools.lru_cache(maxsize=100)
def of_plain(
    plain: sl.Pipeline, rows: tuple[tuple[int, int], tuple[int, int]], scalars: tuple[tuple[str, int], ...]
) -> tuple[sl.RunStatistics, np.ndarray[Any, Any]]:
    """The statistics and the output of a pipeline that is not scheduled."""
    (first, last), (begin, end) = rows
    output = sl.Buffer(np.zeros((end - begin + 1, WIDTH), np.int64), min=(begin, 0))
    return plain.run(placed(last - first + 1, first), output, **dict(scalars)), output.array


def test_the_plain_program_is_what_numpy_pads() -> None:
    names = {"nearest": "edge", "reflect": "symmetric", "mirror": "reflect"}
    for mode, (first, last) in ((m, rows) for m in MODES for rows in ((0, 9), (-2, 5), (4, 5))):
        image = placed(last - first + 1, first)
        out = sl.Buffer(np.zeros_like(image.array), min=image.min)
        described(mode, 2, "nothing")(image, out)
        padded = np.pad(image.array + 1, ((2, 2), (0, 0)), mode=names[mode])  # type: ignore[call-overload]
        assert np.array_equal(out.array, sum((k + 1) * padded[k : k + len(image.array)] for k in range(5)))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("warmup", ["earlier", "first"])
@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("radius", [1, 2, sl.scalar("r")], ids=str)
@pytest.mark.parametrize("facts", FACTS)
@pytest.mark.parametrize("mode", MODES)
def test_windows_at_edges_slide_and_fold(mode: str, facts: str, radius: Any, step: int, warmup: str) -> None:
    plain = described(mode, radius, facts)
    p = by_strips(plain, step, warmup)
    p.verify()
    for rows, r in ((rows, r) for rows in PLACES[facts] for r in ((radius,) if isinstance(radius, int) else (0, 1, 4))):
        before, statistics = compare(plain, p, rows, **({} if isinstance(radius, int) else {"r": r}))
        (first, last), (begin, end) = rows
        assert statistics.elements["add"] == before.elements["add"], rows  # each once
        assert statistics.program_bytes <= before.program_bytes
        if first <= begin and end <= last:
            assert statistics.program_bytes <= (2 * r + step) * WIDTH * 8, rows


@pytest.mark.sweep(2)
@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize(
    ("facts", "warmup"), [*((facts, "first") for facts in FACTS), *((facts, "earlier") for facts in FACTS[1:])]
)
@pytest.mark.parametrize("mode", MODES)
def test_chains_of_windows_at_edges(mode: str, facts: str, step: int, warmup: str) -> None:
    plain = described(mode, 1, facts, stages=3)
    p = by_strips(plain, step, warmup, stages=3)
    p.verify()
    for rows in PLACES[facts]:
        _, statistics = compare(plain, p, rows)
        (first, last), (begin, end) = rows
        if first <= begin and end <= last:
            # What the first iteration produces at once reaches further with each stage.
            limit = 3 * (step + 2 * (3 if warmup == "first" else 1))
            assert statistics.program_bytes <= limit * WIDTH * 8, rows


@settings(max_examples=settings().max_examples * 5 // 12)
@given(
    st.sampled_from(("nearest", "reflect", "mirror", "wrap")),
    st.sampled_from((0, 1, 2, 5)),
    st.sampled_from(FACTS),
    st.integers(1, 3),
    st.integers(0, 2**32),
)
def test_random_schedules_of_windows_at_edges(mode: str, radius: int, facts: str, stages: int, seed: int) -> None:
    schedule_and_compare(described(mode, radius, facts, stages), PLACES[facts], random.Random(seed))


def schedule_and_compare(
    plain: sl.Pipeline, places: Sequence[tuple[tuple[int, int], tuple[int, int]]], draw: random.Random
) -> None:
    """Windows that slide and fold first, as far as they can, and then anything."""
    chain = Chain(plain, draw.choice)
    for name in ["split_loop of a dimension", *("compute_at", "slide_window", "fold_storage") * 2]:
        if draw.random() < 0.8:
            with contextlib.suppress(NothingToDoError):
                chain._try(name)
    for _ in range(draw.randrange(6)):
        chain.step()
    for rows in draw.sample(places, 4):
        compare(plain, chain.pipeline, rows)


# Points, and what else was refused without need ---------------------------------------------------------------------


def padded(reads: str) -> sl.Pipeline:
    """`m` is read at the nearest point of `i`, which its producer reads point by point or all of."""
    (x,) = sl.variables("x")
    i, m, o = (sl.BufferExpr(name, np.int64, rank=1) for name in "imo")
    at = sl.minimum(sl.maximum(x, i.dim(0).min), i.dim(0).max)
    if reads == "at the point":
        sl.Func(copy_to, [i[at]], [m[x]], name="scale")
        sl.Func(copy_to, [m[x]], [o[x]], name="pad")
    else:
        callback, access = (copy_to, i[x]) if reads == "points" else (take_part, i[:])
        sl.Func(callback, [access], [m[x]], name="scale", pass_buffers=reads != "points")
        sl.Func(copy_to, [m[at]], [o[x]], name="pad")
    return sl.build_pipeline([i], [o], require=[i.dim(0).extent >= 1])


def copy_to(source: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> None:
    target[...] = source[np.minimum(np.arange(len(target)), len(source) - 1)]


def take_part(source: sl.Buffer, target: sl.Buffer) -> None:
    target.array[...] = source.array[target.min[0] - source.min[0] :][: len(target.array)]


@pytest.mark.parametrize("warmup", ["earlier", "first"])
@pytest.mark.parametrize("reads", ["points", "all", "at the point"])
def test_a_buffer_that_is_read_at_the_nearest_point_folds_to_one(reads: str, warmup: str) -> None:
    plain = padded(reads)
    p, split = sl.split_loop(plain, "pad.x", 1, rc=True)
    p, at = sl.compute_at(p, "scale", split.outer, rc=True)
    p = sl.slide_window(p, at.call, split.outer, warmup=warmup)
    for factor in (None, 1):
        folded, (alloc,) = sl.fold_storage(p, at.alloc, "x", factor, rc=True)
        assert str(alloc.storage()) == "(<1>,)"
        for first, last in ((0, 9), (-5, 20), (20, 25)):
            image, found = np.arange(10), sl.Buffer(np.zeros(last - first + 1, np.int64), min=(first,))
            statistics = folded.run(image, found, checked=True)
            assert np.array_equal(found.array, np.clip(np.arange(first, last + 1), 0, 9))
            assert statistics.program_bytes == 8


@pytest.mark.parametrize("reads", ["points", "all", "at the point"])
def test_the_default_fold_of_two_points_at_once(reads: str) -> None:
    p, split = sl.split_loop(padded(reads), "pad.x", 2, rc=True)
    p, at = sl.compute_at(p, "scale", split.outer, rc=True)
    for factor in (None, 2):
        assert str(sl.fold_storage(p, at.alloc, "x", factor).find("alloc m").storage()) == "(<2>,)"
    with pytest.raises(sl.SchedulingError, match="a fold of 1 does not hold"):
        sl.fold_storage(p, at.alloc, "x", 1)


def test_windows_side_by_side_have_nothing_to_keep_however_large_they_are() -> None:
    """Not one iteration before the first is needed, and each produces what it did."""
    (x,) = sl.variables("x")
    i, m, o = (sl.BufferExpr(name, np.int64, rank=1) for name in "imo")
    sl.Func(copy_to, [i[x]], [m[x]], name="scale")
    sl.Func(copy_to, [m[x]], [o[x]], name="copy")
    plain = sl.build_pipeline([i], [o])
    p, split = sl.split_loop(plain, "copy.x", sl.maximum(1, sl.scalar("area") // 3), rc=True)
    p, at = sl.compute_at(p, "scale", split.outer, rc=True)
    assert str(sl.slide_window(p, at.call, split.outer)) == str(p)


@pytest.mark.parametrize(("step", "reach"), [(1, 0), (3, 0), (1, 1), (3, 1)])
def test_what_is_read_where_it_is_written_folds_though_it_moves_back(step: int, reach: int) -> None:
    """Each iteration computes what it reads, further and further down."""
    (x,) = sl.variables("x")
    i, m, o = (sl.BufferExpr(name, np.int64, rank=1) for name in "imo")
    sl.Func(copy_to, [i[x]], [m[x]], name="scale")
    sl.Func(from_the_end, [m[sl.interval(-x - reach, -x + reach)]], [o[x]], name="flip")
    p, split = sl.split_loop(sl.build_pipeline([i], [o]), "flip.x", step, rc=True)
    p, at = sl.compute_at(p, "scale", split.outer, rc=True)
    with pytest.raises(sl.SchedulingError, match=f"a fold of {2 * reach + step - 1} does not hold|must be 1 or more"):
        sl.fold_storage(p, at.alloc, "x", 2 * reach + step - 1)
    p, (alloc,) = sl.fold_storage(p, at.alloc, "x", rc=True)
    assert str(alloc.storage()) == f"(<{2 * reach + step}>,)"
    image, found = sl.Buffer(np.arange(20) ** 2, min=(-15,)), np.zeros(11, np.int64)
    p.run(image, found, checked=True)
    assert np.array_equal(found, np.arange(15 - reach, 4 - reach, -1) ** 2)


def from_the_end(source: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> None:
    target[...] = source[: len(target)][::-1]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("warmup", ["earlier", "first"])
@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("mode", [*MODES, "constant"])
def test_reads_beyond_the_edges_slide_and_fold(mode: str, step: int, warmup: str) -> None:
    """The same by a boundary rule: what is produced, and what is extended of it, are rows; nothing is required."""
    y, x = sl.variables("y x")
    inp, b, out = (sl.BufferExpr(name, np.int64, rank=2) for name in ("inp", "b", "out"))
    sl.Func(add_1, [inp[y, x]], [b[y, x]], name="add")
    sl.Func(three_rows, [b.extended(mode)[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="read")
    plain = sl.build_pipeline([inp], [out])
    p, split = sl.split_loop(plain, "read.y", step, rc=True)
    for func in (mode, "add"):
        p, at = sl.compute_at(p, func, split.outer, rc=True)
        p = sl.slide_window(p, at.call, split.outer, warmup=warmup)
        p = sl.fold_storage(p, at.alloc, 0)
    for rows in PLACES["nothing"]:
        _, statistics = compare(plain, p, rows)
        if rows in AS_LARGE:
            assert statistics.program_bytes <= 2 * (2 + step) * WIDTH * 8, rows


def three_rows(source: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> None:
    count = len(target)
    target[...] = source[:count] + 2 * source[1 : count + 1] + 3 * source[2:]
