"""Arrays that are assigned to part by part: they are copied once, and parts that are read are what was assigned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from c_programs import needs_compiler
from hypothesis import given
from traced import PIECES, assert_same, for_c, image, jit

import slinky as sl


def columns(a: Any, n: int = 6) -> Any:
    """A table whose columns are made of those before."""
    table = np.empty((a.shape[0], n))
    table[:, 0] = a
    for k in range(1, n):
        table[:, k] = table[:, k - 1] * 0.5 + a
    return table


def steps(a: Any, n: int = 6) -> Any:
    """The states of something, one after the other."""
    states = np.zeros((n, *a.shape))
    states[0] = a
    for k in range(1, n):
        states[k] = states[k - 1] * 0.5 + states[k - 1][::-1]
    return states


def copies(function: Callable[..., Any], *arrays: Any) -> list[str]:
    """The buffers of a pipeline that have as many axes as its result."""
    p = jit(function).pipeline(*arrays)
    return [alloc.name() for alloc in p.find_all("alloc _") if len(alloc.dims()) > arrays[0].ndim]


@pytest.mark.parametrize("f", [columns, steps])
def test_what_is_filled_is_copied_nowhere(f: Callable[..., Any]) -> None:
    """No table stands on the way to the one that is returned, and the values are those of NumPy."""
    x = image(40, dtype=np.float64)
    assert not copies(f, x)
    for traced in (jit(f), jit(f, machine=PIECES), for_c(f)):
        assert_same(traced(x), f(x))


@needs_compiler
def test_in_c() -> None:
    x = image(40, dtype=np.float64)
    for f in (columns, steps):
        assert_same(jit(f, native=True, machine=PIECES)(x), f(x))


def test_what_is_left_of_an_array_stays() -> None:
    """Parts that nothing is assigned to are what the array was; the last of several values is there."""

    def f(a: Any) -> Any:
        b = a * 2
        b[1] = a[0]
        b[:, 3] = 7
        b[1, 2:4] = a[2, :2]
        row, column = b[1] + 1, b[:, 3] * 2
        b[1] = 5
        return b, row, column, b[::-1] - 1, b.sum(axis=0)

    x = image(9, 8, dtype=np.float64)
    for traced in (jit(f), jit(f, machine=PIECES), jit(f, machine=PIECES, exact=True), for_c(f)):
        assert_same(traced(x), f(x))


def test_sums_see_arrays_as_they_lie() -> None:
    """What adds floats in the order in which they lie reads the array itself, not what was assigned to it."""

    def f(a: Any) -> Any:
        b = np.zeros((2, *a.shape[:2]), np.float32)
        b[1] = a[:, :, 1]
        return b[1].sum(), b[1].sum(axis=1), b[1] * 2

    x = np.random.default_rng(1).standard_normal((90, 70, 3)).astype(np.float32)
    assert_same(jit(f, exact=True, machine=PIECES)(x), f(x))


def test_parts_that_are_assigned_backwards() -> None:
    """What is read of a part is at its place from the other end."""

    def f(a: Any) -> Any:
        b = np.zeros((5, a.shape[1]))
        b[::-1] = a
        c = np.zeros((a.shape[0], 4))
        c[3:0:-1, ::-1] = a[:3]
        return b[1] + 1, b[1:3] * 2, b, c[2] * 2, c[1:3, 1:] + 1, c[1:3, ::-1] - c[2]

    x = np.arange(20.0).reshape(5, 4)
    for traced in (jit(f), jit(f, machine=PIECES), for_c(f)):
        assert_same(traced(x), f(x))


def test_parts_that_have_all_of_one_axis_alone() -> None:
    """What the array was is needed where parts do not have all of it."""

    def f(a: Any) -> Any:
        b = np.ones((2, a.shape[1], 4))
        for k in range(4):
            b[0, :, k] = a[0, :, k]
        return b

    x = image(2, 3, 4, dtype=np.float64)
    assert_same(jit(f, machine=PIECES)(x), f(x))


def test_what_is_read_in_between_is_copied_there() -> None:
    """Copies have as many parts as were assigned since somebody has read all."""

    def f(a: Any) -> Any:
        found, b = [], a * 2
        for k in range(5):
            b[:, k] = a[:, k] + k
            found.append(np.sort(b))
        return found

    x = image(9, 8, dtype=np.float64)
    calls = [call for call in jit(f).pipeline(x).find_all("_ = _") if call.name().startswith("assign")]
    assert max(len(call.inputs()) for call in calls) <= 2
    assert_same(jit(f, machine=PIECES)(x), f(x))


@pytest.mark.parametrize("split", [1, 2, 4, 7])
@pytest.mark.parametrize(("step", "count"), [(2, 17), (3, 15), (5, 13), (-1, 9), (-2, 16), (-3, 17), (12, 30), (7, 8)])
def test_rows_with_others_in_between(step: int, count: int, split: int) -> None:
    """Of what is assigned to each s-th row, strips compute just the rows that they have: windows beside each other
    share none, so that nothing needs to slide."""
    computed = []

    @sl.elementwise
    def halved(rows: Any) -> Any:
        computed.append(len(rows))
        return rows / 2

    def f(a: Any) -> Any:
        found = np.full_like(a, 7)
        for first in range(1, max(abs(step), 2), 2):
            found[first::step] = halved(a[first::step])
        return found

    x = image(count, 4, dtype=np.float64)
    expected = f(x)
    rows = sum(computed)
    p = jit(f).pipeline(x)
    p, pieces = sl.split_loop(p, "assign.y", split, rc=True)
    for each in [call for call in p.find_all("_ = _") if call.name().startswith("halved")]:
        p = sl.compute_at(p, each, pieces.outer)
    for how in ({}, {"backend": "interpreter"}, {"checked": True}):
        computed.clear()
        found = np.empty_like(x)
        p.run(x, found, **how)
        assert_same(found, expected)
        assert sum(computed) == rows


def test_donated_arrays_that_are_written_to_part_by_part() -> None:
    def f(state: Any, a: Any) -> Any:
        for k in range(4):
            state[:, k] = a * k + state[:, k - 1]
        return state[:, 1] * 2

    state, a = image(30, 4, dtype=np.float64), image(30, dtype=np.float64)
    other = state.copy()
    got, want = jit(f, donate="state")(state, a), f(other, a)
    assert_same(got, want)
    assert_same(state, other)


def test_lazy_arrays_outside_of_functions() -> None:
    x = image(50, 40)
    lazy = sl.lazy(x) * 2
    for k in range(3):
        lazy[:, k] = lazy[:, k + 1] + k
    want = x * 2
    for k in range(3):
        want[:, k] = want[:, k + 1] + k
    assert_same(np.asarray(lazy), want)


# Random programs ------------------------------------------------------------------------------------------------------

PLACES: list[Any] = [
    *(np.s_[k] for k in (0, 2, -1)),
    *(np.s_[:, k] for k in (0, 1, -1)),
    *(np.s_[a:b] for a, b in ((0, 2), (1, 4), (2, None), (None, -1))),
    *(np.s_[:, a:b] for a, b in ((0, 3), (2, 4), (-2, None))),
    np.s_[::2],
    np.s_[1::2],
    np.s_[::-1],
    np.s_[3:1:-1],
    np.s_[:, ::-1],
    np.s_[1, 2],
    np.s_[1:3, 2:4],
    np.s_[...],
]
"""Parts of an array of five rows and columns."""


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    count = draw(st.integers(2, 9))
    kinds = st.sampled_from(["value", "part", "number", "row", "add", "keep", "sum"])
    places = st.integers(0, len(PLACES) - 1)
    return [(draw(kinds), draw(places), draw(places)) for _ in range(count)]


def of(program: list[tuple[str, int, int]], are_numbers: bool) -> Callable[..., Any]:
    """A function that assigns parts of an array to others; its extents are numbers, or those of an argument."""

    def f(a: Any) -> Any:
        b = np.zeros((5, 5), a.dtype) + a.sum() if are_numbers else a * 1
        kept = []
        for kind, one, other in program:
            place, part = PLACES[one], PLACES[other]
            if kind == "value":
                b[place] = a[place] + 1
            elif kind == "part" and np.zeros((5, 5))[place].shape == np.zeros((5, 5))[part].shape:
                b[place] = b[part] * 2 + 1
            elif kind == "number":
                b[place] = one
            elif kind == "row":
                b[place] = b[one % 5, 2]
            elif kind == "add":
                b[place] += 3
            elif kind == "keep":
                kept.append(b[part] * 1)
            elif kind == "sum":
                kept.append(b[part].sum())
        return b, kept

    return f


@given(programs(), st.booleans(), st.booleans())
def test_random_programs_of_assignments(program: list[tuple[str, int, int]], are_numbers: bool, whole: bool) -> None:
    """Parts that are assigned to, and read, in any order are what they are in NumPy."""
    x = image(5, 5, dtype=np.float64)
    f = of(program, are_numbers)
    want = f(x)
    for traced in (jit(f), jit(f, machine=PIECES), for_c(f)) if whole else (jit(f, machine=PIECES, exact=True),):
        assert_same(traced(x), want)


MASKED: dict[str, Callable[[Any, Any], Any]] = {
    "colours": lambda y, x: y.__setitem__(x[..., 0] > 0, [9, 0, 7]),
    "rows": lambda y, x: y.__setitem__(x[:, 0, 0] > 0, x[0, :, :1]),
    "columns": lambda y, x: y.__setitem__((slice(None), x[0, :, 0] > 0), 1),
    "what is known": lambda y, x: y.__setitem__((..., np.array([True, False, True])), x.max()),
    "a part": lambda y, x: y[1:].__setitem__((..., x[0, :, 0] > 0, slice(None)), x[0, 0]),
    "another part": lambda y, x: y.__setitem__((x[..., 0] > 0, slice(None, 2)), 5),
    "as many as there are": lambda y, x: y.__setitem__(x > 0, np.array([5])),
    "wrong shapes": lambda y, x: y.__setitem__(x[..., 0] > 0, [1, 2]),
}


@pytest.mark.parametrize("which", MASKED)
def test_masks_of_some_axes(which: str) -> None:
    """What is the same for all that a mask chooses is assigned by pieces."""

    def assigned(x: Any) -> Any:
        y = x.copy()
        MASKED[which](y, x)
        return y

    for machine in (sl.Machine(), PIECES):
        traced = jit(assigned, machine=machine)
        for shape in ((5, 4, 3), (2, 7, 3)):
            x = image(*shape)
            if which == "wrong shapes":
                with pytest.raises(ValueError, match="shape mismatch"):
                    traced(x)
                continue
            assert_same(traced(x), assigned(x))
            is_opaque = which in ("another part", "as many as there are")
            assert ("assign is not understood" in traced.explain(x)) == is_opaque


@pytest.mark.parametrize("turn", [np.transpose, np.flip, lambda a: a.T[::-1]])
def test_what_is_computed_in_a_part_that_lies_otherwise_is_checked_there(turn: Callable[[Any], Any]) -> None:
    """Whether it may be computed in place, a checked run tries in memory that lies as the part does."""

    def function(a: Any) -> Any:
        doubled = a * 2
        seen = turn(doubled)
        np.multiply(seen[1:], 3, out=seen[1:])
        return seen, doubled.sum()

    x = image(5, 7, dtype=np.float64)
    p = jit(function).pipeline(x)
    for backend in ("python", "interpreter"):
        assert_same(tuple(map(np.asarray, p.run(x, backend=backend).outputs)), tuple(map(np.asarray, p(x))))
    assert_same(tuple(map(np.asarray, p.run(x, checked=True).outputs)), tuple(map(np.asarray, p(x))))


@pytest.mark.parametrize("begin", [np.copy, np.zeros_like])
def test_edges_that_are_set_again_and_again(begin: Callable[[Any], Any]) -> None:
    """Solvers set edges to what is beside them after each step. Each such assignment has the array before as two of its
    operands: who follows each of them, as to find out what it is full of, does twice as much for each assignment."""

    def relaxed(a: Any) -> Any:
        p = begin(a)
        for _ in range(20):
            p = p.copy()
            p[1:-1, 1:-1] = (p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1]) / 4 - a[1:-1, 1:-1]
            p[:, -1] = p[:, -2]
            p[:, 0] = p[:, 1]
            p[0] = p[1]
        return p + a

    x = image(12, 10, dtype=np.float64)
    assert_same(jit(relaxed)(x), relaxed(x))


@pytest.mark.parametrize("number", [np.float64(300.5), np.float32(-3), np.int64(300), 300, 2.5, np.bool_(True), 1e9])
@pytest.mark.parametrize("place", ["mask", "row", "slice"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_that_a_dtype_does_not_hold(place: str, number: Any) -> None:
    """NumPy casts its scalars where a mask chooses, and refuses them where a slice does, as it does numbers of Python's
    everywhere. Who catches that is told of it."""

    def assigned(a: Any, k: Any) -> Any:
        p = a.copy()
        try:
            p[{"mask": a > 3, "row": a[:, 0] > 3, "slice": slice(1)}[place]] = k
        except OverflowError as error:
            return p, str(error)
        return p + p

    for dtype in (np.int16, np.uint8, np.float32):
        x = np.arange(12).reshape(4, 3).astype(dtype)
        assert_same(jit(assigned)(x, number), assigned(x, number))
