"""Rolled arrays: computed beyond their ends, they move in strips with what reads them, and are the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from c_programs import needs_compiler
from hypothesis import example, given
from traced import MACHINE, PIECES, assert_same, for_c, image, jit

import slinky as sl
from slinky.frontend import halos, rearranging

LENGTHS = (64, 70, 97)
"""Of axes along which a roll may be a slice, and one more."""


def copies(function: Callable[..., Any], *arrays: Any) -> int:
    """How many calls of the pipeline copy with elements of other ends around them."""
    calls = jit(function).pipeline(*arrays).find_all("_ = _")
    return sum(call.name().startswith("pad") for call in calls)


def turned(u: Any, w: Any) -> Any:
    """The difference of a product and that before it."""
    along = u * w
    return along - np.roll(along, 1, axis=0)


def smoothed(a: Any, times: int = 4) -> Any:
    """The mean of neighbours on a torus, over and over."""
    for _ in range(times):
        a = (np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1)) * 0.25
    return a


def test_what_is_rolled_is_not_held_in_full() -> None:
    """A product that is rolled by one row takes some rows, however large it is."""
    u, w = image(2000, 300, dtype=np.float64), image(2000, 300, dtype=np.float64) + 1
    f = jit(turned)
    assert_same(f(u, w), turned(u, w))
    scheduled = sl.auto_schedule(f.pipeline(u, w), u, w, workers=1, machine=MACHINE)
    assert sl.explain(scheduled).program_bytes < u.nbytes // 10


def test_neighbours_of_neighbours_are_copied_once() -> None:
    """All rolls of a chain of stencils are slices of what one copy of the argument is computed to."""
    a = image(300, 200, dtype=np.float64)
    assert copies(smoothed, a) == 1
    assert_same(jit(smoothed, machine=PIECES)(a), smoothed(a))


@pytest.mark.parametrize("times", [2, 8])
def test_how_far_is_read_is_looked_at_as_often_however_many_are_rolled(
    monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    made = []

    class Counted(halos._Reach):
        def __init__(self, *given: Any) -> None:
            made.append(self)
            super().__init__(*given)

    monkeypatch.setattr(halos, "_Reach", Counted)
    assert copies(partial(smoothed, times=times), image(300, 200, dtype=np.float64)) == 1
    assert len(made) <= 4


def test_what_is_read_too_far_beyond_its_ends_is_copied() -> None:
    """Twelve rolls in turn: nothing is computed more than eight elements beyond an end."""
    a = image(90, 80, dtype=np.float64)

    def f(a: Any) -> Any:
        return smoothed(a, 12)

    assert copies(f, a) == 2
    assert_same(jit(f, machine=PIECES)(a), f(a))


def test_rows_of_products_are_rolled_themselves() -> None:
    """Along the last axis, whole rows are there anyway: one copy of a product is less than those of its factors."""
    u, w = image(80, 90), image(80, 90) + 1

    def f(u: Any, w: Any) -> Any:
        along = u * w
        return along - np.roll(along, 1, axis=1)

    assert copies(f, u, w) == 1
    assert copies(lambda u, w: f(u, w) + turned(u, w), u, w) == 2  # the factors are copied anyway


@needs_compiler
def test_in_c_rows_of_products_are_read_where_they_are() -> None:
    """Loops in C compute a product again: its factors are copied, and these copies are made for the ends of rows."""
    u, w = image(800, 900, dtype=np.float64), image(800, 900, dtype=np.float64) + 1

    def f(u: Any, w: Any) -> Any:
        along = u * w
        return along - np.roll(along, 1, axis=1)

    traced = sl.jit(native=True, workers=1, smallest=1)(f)
    told = [call.name() for call in traced.pipeline(u, w).find_all("_ = _")]
    assert [name.startswith("pad") for name in told] == [True, True, False]
    for height, width in ((800, 900), (90, 80), (64, 64), (100, 65)):
        given = u[:height, :width], w[:height, :width]
        assert_same(traced(*given), f(*given))


def test_rolled_rows_of_what_is_rolled_along_columns_are_computed_beyond_their_ends() -> None:
    """Where the copy of a product would be copied once more, the factors are."""
    u, w = image(80, 90, dtype=np.float64), image(80, 90, dtype=np.float64) + 1

    def f(u: Any, w: Any) -> Any:
        across = u * w - np.roll(u * w, 1, axis=1)
        return across - np.roll(across, -2, axis=0)

    assert copies(f, u, w) == 2
    for traced in (jit(f, machine=PIECES), for_c(f)):
        assert_same(traced(u, w), f(u, w))


def test_products_of_many_arrays_are_copied_themselves() -> None:
    """Not more than four arrays are copied in the place of one that is made of them."""
    arrays = [image(70, 80, dtype=np.float64) + k for k in range(6)]

    def f(*arrays: Any) -> Any:
        found = sum(arrays)
        return found - np.roll(found, 1, axis=0)

    assert [copies(f, *arrays[:n]) for n in (4, 5)] == [4, 1]
    for n in (4, 5):
        assert_same(jit(f, machine=PIECES)(*arrays[:n]), f(*arrays[:n]))


def test_what_others_see_stays_as_it_is() -> None:
    """What is returned, summed, or sorted is no slice of something larger: sums depend on how arrays lie."""
    u, w = np.random.default_rng(1).standard_normal((2, 90, 80)).astype(np.float32)

    def f(u: Any, w: Any) -> Any:
        a, b, c = u * w, u + w, u - w
        rolled = np.roll(c, 1, 0)
        sums = b.sum(), rolled.sum(), np.roll(b, 2, 1).sum(axis=1), np.sort(b - rolled).sum()
        return a, a - np.roll(a, 1, 0), b - np.roll(b, 1, 0), c - rolled, np.roll(w, 2, 0), sums

    for traced in (jit(f, machine=PIECES), jit(f, machine=PIECES, exact=True), for_c(f)):
        assert_same(traced(u, w), f(u, w), rounded=True)
    exact = jit(f, machine=PIECES, exact=True)(u, w)
    assert_same(exact, f(u, w))


@pytest.mark.parametrize("shape", [(64, 64), (63, 64), (64, 63), (1, 64), (64, 1), (200, 3), (5, 90, 64)], ids=str)
def test_axes_of_all_lengths(shape: tuple[int, ...]) -> None:
    """Axes that are as long as it takes, one shorter, and short; what is broadcast along one; and other sizes later."""
    u, w = image(*shape, dtype=np.float64), image(*shape[:-1], 1, dtype=np.float64) + 1

    def f(u: Any, w: Any) -> Any:
        a = u * w + u[..., :1]
        return a - np.roll(a, 1, axis=-2) + np.roll(np.roll(a, -2, axis=-1), 1, axis=-2)

    traced = jit(f, machine=PIECES)
    for each in (u, u[..., ::-1, :], u.copy(order="F"), np.concatenate([u, u], axis=-2)):
        other = np.resize(w, (*each.shape[:-1], 1))
        assert_same(traced(each, other), f(each, other))


@pytest.mark.parametrize("see", [np.sum, np.sort])
def test_what_is_seen_as_it_lies_is_rolled_itself(see: Callable[..., Any]) -> None:
    """One copy, of what is rolled, where anything but arithmetic reads it, before it is rolled or behind."""
    u, w = image(80, 90), image(80, 90) + 1

    def before(u: Any, w: Any) -> Any:
        along = u * w
        return along - np.roll(along, 1, axis=0), see(along)

    def behind(u: Any, w: Any) -> Any:
        along = u * w
        rolled = np.roll(along, 1, axis=0)
        return along - rolled, see(rolled)

    def reading(f: Callable[..., Any]) -> int:
        """How many calls read the arguments."""
        return sum(bool({"u", "w"} & set(call.inputs())) for call in jit(f).pipeline(u, w).find_all("_ = _"))

    assert [reading(f) for f in (before, behind, turned)] == [1, 1, 2]


@pytest.mark.parametrize("workers", [1, 2])
def test_copies_of_one_argument_in_several_loops(workers: int) -> None:
    """Arguments of other dtypes, rolled for themselves elsewhere: there is a copy outside of the loop that is cut."""
    u, w = np.random.default_rng(0).random((3000, 100), np.float32), image(3000, 100, dtype=np.float64)

    def f(u: Any, w: Any) -> Any:
        d = np.roll(u + w, 1, 0) * 1
        return d, (np.roll(np.roll(u * 1, -4, 0), -2, 0) * 0.25).max()

    for machine in (MACHINE, PIECES, sl.Machine(near_bytes=1 << 15, shared_bytes=1 << 18)):
        assert_same(jit(f, machine=machine, workers=workers)(u, w), f(u, w))


def test_parts_of_arrays_do_not_go_round() -> None:
    """What is made of parts of longer arrays goes on with its own other end, not with what follows in these."""
    x, y = image(90, 80, dtype=np.float64), image(87, 80, dtype=np.float64)

    def f(x: Any, y: Any) -> Any:
        first, last, product = x[:-3] * y, x[3:] * y, y * 2
        return [each - np.roll(each, 2, 0) for each in (first, last, product, first + np.roll(last, 1, 0))]

    for traced in (jit(f, machine=PIECES), for_c(f)):
        assert_same(traced(x, y), f(x, y))


def test_a_trace_of_long_axes_is_none_of_short_ones() -> None:
    """How long an axis is that is rolled is a question."""
    f = jit(turned, machine=PIECES)
    for rows in (100, 65, 10, 3, 100):
        u, w = image(rows, 70), image(rows, 70) + 1
        assert_same(f(u, w), turned(u, w))


def test_numpy_copies_for_each_roll() -> None:
    """Whether NumPy is as fast is asked of what it does: it copies once in each direction."""
    a = image(2000, 2000, dtype=np.float64)
    told = sl.jit(machine=MACHINE, workers=1)(lambda a: smoothed(a, 1)).explain(a)
    assert "called as it is" not in told
    assert "predicted for 1 worker" in told


@needs_compiler
@pytest.mark.parametrize("workers", [1, 2])
def test_in_c_nothing_is_handed_on(workers: int) -> None:
    """Loops in C compute what is cheap at each of the places where they read it."""
    u, w = image(300, 200, dtype=np.float64), image(300, 200, dtype=np.float64) + 1
    for f, arrays in ((turned, (u, w)), (smoothed, (u,))):
        assert_same(jit(f, machine=PIECES, workers=workers, native=True)(*arrays), f(*arrays))
    calls = for_c(turned).pipeline(u, w).find_all("_ = _")
    assert [call.name() for call in calls] == ["pad", "pad_1", "subtract"]


# Random graphs --------------------------------------------------------------------------------------------------------

ROLLS = [(by, axis) for by in (-4, -2, -1, 1, 3) for axis in (0, 1)]
"""By how much, and along which axis."""


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    """Steps, each of two of the arrays before: of the arguments at first."""
    kinds = ["add", "multiply", "maximum", "roll", "roll", "roll both", "slice", "sum", "where", "flip", "row"]
    count = draw(st.integers(2, 9))
    return [(draw(st.sampled_from(kinds)), draw(st.integers(0, 20)), draw(st.integers(0, 20))) for _ in range(count)]


def of(program: list[tuple[str, int, int]]) -> Callable[..., Any]:
    """The function of some steps; it gives the last two of what has as many elements as the arguments."""

    def f(u: Any, w: Any) -> Any:
        made = [u, w]
        for kind, i, j in program:
            a, b = made[i % len(made)], made[j % len(made)]
            by, axis = ROLLS[(i + j) % len(ROLLS)]
            match kind:
                case "add":
                    made.append(a + b)
                case "multiply":
                    made.append(a * b)
                case "maximum":
                    made.append(np.maximum(a, b[:1]))
                case "roll":
                    made.append(np.roll(a, by, axis))
                case "roll both":
                    made.append(np.roll(a, (by, -1), (axis, 1 - axis)))
                case "slice":
                    made.append(np.concatenate([a[1:], b[:1]]))
                case "sum":
                    made.append(a - b.sum(axis=axis, keepdims=True))
                case "where":
                    made.append(np.where(a > b, a, 1))
                case "flip":
                    made.append(a + b[::-1])
                case "row":
                    made.append(a + np.roll(b[3], by))
        return made[-1], made[-2]

    return f


@given(
    programs(),
    st.sampled_from(LENGTHS),
    st.sampled_from(LENGTHS),
    st.booleans(),
    st.sampled_from([1, rearranging.LONG]),
)
@example([("add", 0, 1), ("roll", 2, 8), ("row", 3, 3), ("roll both", 4, 2)], 64, 70, True, 64)
def test_random_programs_of_rolls(
    program: list[tuple[str, int, int]], rows: int, columns: int, are_integers: bool, long: int
) -> None:
    """Rolls among arithmetic, slices and sums give what NumPy's give, whole and by pieces, also where axes are shorter
    than what is computed beyond their ends."""
    if long == 1:
        rows, columns = rows % 7 + 5, columns % 5 + 6
    u = image(rows, columns, dtype=np.int32 if are_integers else np.float64)
    w = image(rows, columns, dtype=np.int16 if are_integers else np.float64) // 3
    f = of(program)
    with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):
        patch.setattr(rearranging, "LONG", long)
        want = f(u, w)
        for traced in (jit(f), jit(f, machine=PIECES), for_c(f)):
            assert_same(traced(u, w), want, rounded=True)
