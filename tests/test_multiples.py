"""Dimensions that are produced in multiples of some length, whatever piece of them a schedule needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slinky as sl
from slinky.cursors.editing import Edit
from slinky.ir.statements import SERIAL, For
from slinky.sched.gate import settle
from slinky.sched.legality.multiples import is_multiple
from slinky.sched.legality.reasons import ALL_BUT_CHECKS, SAME_ORDER, Kept
from slinky.symbolic.expressions import Expr, as_expr, scalar
from slinky.symbolic.facts import facts
from slinky.symbolic.traversal import evaluate

y, x = sl.variables("y x")
WIDTH, HEIGHT = 100, 5


def test_a_choice_that_comes_back_as_a_part_of_itself() -> None:
    """What is beyond the start of a loop, which is a choice of choices: with the start in place of the variable, sums
    of choices become the choice that was asked of. To ask on and on was a bare `RecursionError`."""
    i, a, b, c, d, low = sl.variables("i a b c d low")
    start = sl.maximum(sl.minimum(low, 3 * sl.minimum(a, b) - 2 * sl.maximum(c, d) + 2), c, d)
    loop = For(i, sl.interval(start, low + 99), as_expr(3), SERIAL, ())
    assert not is_multiple(i - start + 1, 3, (loop,), facts())
    assert not is_multiple(i - sl.minimum(start, d), 3, (loop,), facts())
    assert is_multiple(3 * i + 6, 3, (loop,), facts())
    is_multiple(i - start, 3, (loop,), facts())  # it is one; that it ends is what counts


def test_which_alternative_is_chosen_goes_by_the_iteration() -> None:
    """From -3 on by steps of 4, the greater of the variable and 0 is 0, 1, 5: no multiples of 4, though both are at
    first."""
    i, low, limit = sl.variables("i")[0], scalar("low"), scalar("limit")
    loop = For(i, sl.interval(low, 40), as_expr(4), SERIAL, ())
    first, later = sl.maximum(low, limit), sl.maximum(i, limit)
    assert not is_multiple(later - first, 4, (loop,), facts())
    assert is_multiple(i - low, 4, (loop,), facts())
    assert is_multiple(sl.maximum(i - low, 8) + 4, 4, (loop,), facts())


class Producer:
    """Writes 1000 * y + x; fails for what is no whole piece. Counts elements."""

    def __init__(self, multiple: int) -> None:
        self.multiple = multiple
        self.produced = 0

    def __call__(self, target: sl.Buffer) -> None:
        assert target.min[1] % self.multiple == 0
        assert target.shape[1] % self.multiple == 0
        self.produced += target.array.size
        rows, columns = (np.arange(lo, hi + 1) for lo, hi in zip(target.min, target.max, strict=True))
        target.array[...] = 1000 * rows[:, None] + columns


def pipeline(multiple: int, read: Any = x) -> tuple[sl.Pipeline, Producer]:
    intm, out = (sl.BufferExpr(name, np.int64, 2) for name in ("intm", "out"))
    producer = Producer(multiple)
    sl.Func(producer, [], [intm[y, x]], name="producer", pass_buffers=True)

    def add_1(source: np.ndarray, target: np.ndarray) -> None:
        np.add(source[:, : target.shape[1]], 1, out=target)

    sl.Func(add_1, [intm[y, read]], [out[y, x]], name="consumer")
    intm.dim(1).multiple = multiple
    return sl.build_pipeline([], [out]), producer


def run(p: sl.Pipeline, producer: Producer, first: int = 0) -> int:
    """How many elements are produced by a run, of whichever kind."""
    expected = 1000 * np.arange(HEIGHT)[:, None] + np.arange(first, first + WIDTH) + 1
    counts = set()
    for options in ({}, {"backend": "interpreter"}, {"checked": True}):
        out = np.zeros((HEIGHT, WIDTH), np.int64)
        producer.produced = 0
        p.run(sl.Buffer(out, min=(0, first)), **options)
        np.testing.assert_array_equal(out, expected)
        counts.add(producer.produced)
    (count,) = counts
    return count


@pytest.mark.sweep(2)
@pytest.mark.parametrize("multiple", [2, 3])
@pytest.mark.parametrize("split", range(5))
@pytest.mark.parametrize("where", ["stored outside", "stored inside", "slid", "slid and folded"])
def test_each_piece_is_a_multiple(multiple: int, split: int, where: str) -> None:
    p, producer = pipeline(multiple)
    rounded = -(-WIDTH // multiple) * multiple
    if split == 0:
        assert run(p, producer) == rounded * HEIGHT
        return
    p = sl.split_loop(p, "consumer.x", split)
    p = sl.compute_at(p, "producer", "for x")
    if where == "stored inside":
        p = sl.store_at(p, "alloc intm", "for x")
    if where.startswith("slid"):
        p = sl.slide_window(p, "producer", "for x")
    if where == "slid and folded":
        p = sl.fold_storage(p, "alloc intm", "x")
    p.verify()
    pieces = [(x0 // multiple, min(x0 + split, WIDTH) - 1) for x0 in range(0, WIDTH, split)]
    redundant = sum(min(hi // multiple, rounded) - lo + 1 for lo, hi in pieces) * multiple * HEIGHT
    assert run(p, producer) == (rounded * HEIGHT if where.startswith("slid") else redundant)
    for first in (-7, 5):
        run(p, producer, first)


def test_the_program_says_it() -> None:
    p, _ = pipeline(3)
    p = sl.compute_at(sl.split_loop(p, "consumer.x", 2), "producer", "for x")
    assert str(sl.store_at(p, "alloc intm", "for x")) == "\n".join(
        [
            "pipeline consumer() -> (out: int64[2]):",
            "  multiple producer.x 3",
            "  for x in out.x.min..out.x.max step 2:",
            "    alloc intm: int64[out.y.min..out.y.max, 3*(x // 3) .. "
            "min(3*((x + 1) // 3) + 2, 3*(out.x.max // 3) + 2)]",
            "    intm[:, 3*(x // 3) .. 3*((x + 1) // 3) + 2] = producer()",
            "    out[:, x .. x + 1] = consumer(intm[:, x .. x + 1])",
        ]
    )
    assert not pipeline(3)[0].same_program(pipeline(2)[0])


def test_a_window_around_it() -> None:
    window = sl.interval(x, x + 2)
    p, producer = pipeline(4, window)
    assert run(p, producer) == 104 * HEIGHT
    p = sl.compute_at(sl.split_loop(p, "consumer.x", 8), "producer", "for x")
    p = sl.fold_storage(sl.slide_window(p, "producer", "for x"), "alloc intm", "x")
    assert run(p, producer) == 104 * HEIGHT
    run(p, producer, 3)


# What is refused ------------------------------------------------------------------------------------------------------


def test_pieces_that_are_none() -> None:
    p, producer = pipeline(4)
    refusal = "producer computes x in whole pieces of 4, and is not shown to do so here"
    with pytest.raises(sl.SchedulingError, match=refusal):
        sl.split_loop(p, "producer.x", 6)
    even = sl.split_loop(p, "producer.x", 8)
    assert run(even, producer) == 100 * HEIGHT
    assert run(sl.split_loop(p, "producer.y", 2), producer) == 100 * HEIGHT
    edit = sl.edit(p)
    alloc = edit.statement("alloc intm")
    edit.replace("alloc intm", sl.ir.with_bounds(alloc, (alloc.box[0], sl.interval(0, 200)), alloc.folds))
    with pytest.raises(sl.SchedulingError, match=refusal):
        edit.finish()
    loop = sl.edit(even)
    moved = loop.statement("for x")
    loop.replace("for x", sl.ir.with_range(moved, sl.interval(moved.range.min + 1, moved.range.max)))
    with pytest.raises(sl.SchedulingError, match=refusal):
        loop.finish()


def test_loops_that_begin_elsewhere() -> None:
    even = sl.split_loop(pipeline(4)[0], "producer.x", 8)
    loop = even.find("for x")._loop
    edit = Edit(even._version)
    edit.update(sl.ir.with_range(loop, sl.interval(loop.range.min + 1, loop.range.max)))
    with pytest.raises(sl.SchedulingError, match="producer computes x in whole pieces of 4"):
        settle(edit, "edit", Kept(SAME_ORDER, ALL_BUT_CHECKS))


def test_what_the_variable_of_a_loop_is_a_multiple_of() -> None:
    def shown(start: Expr | int, step: Expr | int) -> bool:
        loop = For(x, sl.interval(start, 100), as_expr(step), SERIAL, ())
        return is_multiple(4 * y + x + 8, 4, (loop,), facts())

    assert shown(8, 4)
    assert shown(4 * a, 12)
    assert not shown(8, 2)
    assert not shown(9, 4)
    assert not shown(8, b)


@pytest.mark.parametrize("value", [0, -2, 1.5, True, "4"])
def test_multiples_that_are_none(value: Any) -> None:
    with pytest.raises(sl.GraphError, match="the multiple of dimension 0 of buffer 'b' is an integer, 1 or more, got"):
        sl.BufferExpr("b", np.int8, 1).dim(0).multiple = value
    assert sl.BufferExpr("b", np.int8, 1).dim(0).multiple == 1


def pointwise(setup: Callable[[sl.BufferExpr, sl.BufferExpr], None]) -> sl.Pipeline:
    inp, out = (sl.BufferExpr(name, np.float64, 1) for name in ("inp", "out"))
    sl.Func(np.negative, [inp[x]], [out[x]], name="negative")
    setup(inp, out)
    return sl.build_pipeline([inp], [out])


def test_arrays_of_the_caller() -> None:
    p = pointwise(lambda inp, out: setattr(inp.dim(0), "multiple", 4))
    assert p(np.ones(8)).shape == (8,)
    with pytest.raises(sl.CheckFailedError, match="assigned to a dimension of inp"):
        p(np.ones(7))
    p = pointwise(lambda inp, out: setattr(out.dim(0), "multiple", 4))
    with pytest.raises(sl.CheckFailedError, match="assigned to a dimension of out"):
        p(np.ones(8), np.empty(7))
    assert p(np.ones(8), np.empty(4)).shape == (4,)


def test_an_omitted_output_is_a_multiple() -> None:
    """The largest box that the checks allow: rounded to what lies within the input."""
    p = pointwise(lambda inp, out: setattr(out.dim(0), "multiple", 4))
    assert p(np.ones(11)).shape == (8,)
    found = p(sl.Buffer(np.ones(11), min=(1,)))
    assert (found.min, found.max) == ((4,), (11,))
    found = p(sl.Buffer(np.ones(11), min=(-9,)))
    assert (found.min, found.max) == ((-8,), (-1,))
    split = sl.split_loop(p, "negative.x", 8)
    assert split(np.ones(23)).tolist() == [-1] * 20
    with pytest.raises(sl.SchedulingError, match="negative computes x in whole pieces of 4"):
        sl.split_loop(p, "negative.x", 2)


def test_outputs_of_one_func_agree() -> None:
    inp, low, high, out = (sl.BufferExpr(name, np.float64, 1) for name in ("inp", "low", "high", "out"))
    sl.Func(np.modf, [inp[x]], [low[x], high[x]], name="modf")
    sl.Func(np.add, [low[x], high[x]], [out[x]], name="add")
    low.dim(0).multiple, high.dim(0).multiple = 4, 6
    p = sl.build_pipeline([inp], [out])
    assert "multiple modf.x 12" in str(p)
    image = sl.Buffer(np.arange(36.0), min=(-12,))
    np.testing.assert_array_equal(p(image, sl.Buffer(np.empty(13), min=(3,))).array, np.arange(15.0, 28))
    with pytest.raises(sl.CheckFailedError, match="the pipeline reads inp along x"):
        p(image, sl.Buffer(np.empty(24), min=(3,)))


# The proof ------------------------------------------------------------------------------------------------------------

a, b = scalar("a"), scalar("b")
expressions = st.recursive(
    st.sampled_from([a, b, 4 * a, 8 * (b // 8), a * 0 + 4, a * 0 + 6, a - b, 4 * (a // 3) + 4]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
        st.tuples(inner, inner).map(lambda p: sl.minimum(*p)),
        st.tuples(inner, inner).map(lambda p: sl.maximum(*p)),
        st.tuples(inner, inner).map(lambda p: sl.select(a <= b, *p)),
        st.tuples(inner, st.integers(-3, 4)).map(lambda p: p[0] * p[1]),
    ),
    max_leaves=5,
)


@settings(max_examples=settings().max_examples * 10 // 3)
@given(expressions, st.sampled_from([2, 3, 4]), st.booleans())
def test_what_is_shown_holds(e: Expr, n: int, is_known: bool) -> None:
    known = facts(sl.equal(a % n, 0)) if is_known else facts()
    if is_multiple(e, n, (), known):
        for first in range(-6, 7):
            for second in range(-6, 7):
                if not is_known or first % n == 0:
                    assert evaluate(e, {a: first, b: second}) % n == 0


def test_what_is_shown() -> None:
    known = facts(sl.equal(a % 4, 0))
    for e in (4 * b, a, a + 4 * b, sl.maximum(a, 8 * (b // 8)), sl.select(b <= 0, a, 4), 4 * (b // 3) - a, 3 * a):
        assert is_multiple(e, 4, (), known), str(e)
    for e in (b, a + 2, sl.minimum(a, b), 2 * b, a // 2):
        assert not is_multiple(e, 4, (), known), str(e)
