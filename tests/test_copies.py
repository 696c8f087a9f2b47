"""Copies that slinky understands, against NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import slinky as sl
from slinky.graph.boundaries import NUMPY_RULES

Make = Callable[[list[sl.BufferExpr], sl.BufferExpr], Any]

y, x = sl.variables("y x")

WAYS: tuple[dict[str, Any], ...] = ({}, {"backend": "interpreter"}, {"checked": True})


def buffers(*arrays: np.ndarray) -> list[sl.BufferExpr]:
    """Buffers for arrays, called a, b, and so on."""
    return [sl.BufferExpr("abcdefg"[k], array.dtype, array.ndim) for k, array in enumerate(arrays)]


def check(
    make: Make,
    arrays: Sequence[np.ndarray],
    expected: np.ndarray,
    *,
    origins: Sequence[int] | None = None,
    lo: Sequence[int] | None = None,
    **scalars: int,
) -> sl.Pipeline:
    """Make a copy, and run it in all ways. `origins` are the first coordinates of each source, `lo` the target's."""
    sources, (target,) = buffers(*arrays), [sl.BufferExpr("o", expected.dtype, expected.ndim)]
    make(sources, target)
    pipelines = [sl.build_pipeline(sources, [target], alias=alias) for alias in (False, True)]
    origins = origins or [0] * len(arrays)
    given_arrays = [sl.Buffer(a, min=(k,) * a.ndim) for a, k in zip(arrays, origins, strict=True)]
    for p in pipelines:
        for way in WAYS:
            found = np.full(expected.shape, 99, expected.dtype)
            p.run(*given_arrays, sl.Buffer(found, min=tuple(lo or [0] * found.ndim)), **way, **scalars)
            np.testing.assert_array_equal(found, expected)
    return pipelines[0]


def random(shape: Sequence[int]) -> np.ndarray:
    """Small numbers, in no order of memory that everybody has."""
    return np.random.default_rng(len(shape)).integers(-50, 50, tuple(shape)).astype(np.int16, order="F")


SHAPES = [(5,), (1,), (0,), (3, 4), (1, 5), (4, 0), (2, 3, 4), (1, 2, 1, 3), (2, 1, 3, 2)]
FULL = [shape for shape in SHAPES if 0 not in shape]


# ----------------------------------------------------------------------------------------------------------------
# pad
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.sweep
@pytest.mark.parametrize("mode", NUMPY_RULES)
@pytest.mark.parametrize("shape", FULL)
def test_pad(mode: str, shape: tuple[int, ...]) -> None:
    """Also by more than the array has."""
    rank = len(shape)
    for before, after in ((0, 0), (1, 2), (3, 0), (11, 8), (list(range(rank)), list(range(rank, 0, -1)))):
        widths = [*zip(np.broadcast_to(before, rank), np.broadcast_to(after, rank), strict=True)]
        array = random(shape)
        lows, highs = zip(*widths, strict=True)
        check(
            lambda s, o, lo=lows, hi=highs: sl.copies.pad(*s, o, lo, hi, mode=mode),
            [array],
            np.pad(array, widths, mode),
        )


def test_pad_with_a_value() -> None:
    array = random((2, 3))
    expected = np.pad(array, ((1, 0), (2, 1)), constant_values=-3)
    p = check(lambda s, o: sl.copies.pad(*s, o, [1, 2], [0, 1], value=-3), [array], expected)
    assert (
        str(p)
        == """\
pipeline pad(a: int16[2]) -> (o: int16[2]):
  o[:, :] = pad(a[max(a.y.min, o.y.min - 1) .. min(a.y.max, o.y.max - 1), max(a.x.min, o.x.min - 2) .. \
min(a.x.max, o.x.max - 2)], fill=-3)"""
    )


def test_pad_by_scalars() -> None:
    array, n = random((3, 2)), sl.scalar("n")
    for width in (0, 1, 5):
        expected = np.pad(array, ((width, 0), (2, width + 1)), "reflect")
        check(lambda s, o: sl.copies.pad(*s, o, [n, 2], [0, n + 1], mode="reflect"), [array], expected, n=width)


def test_pad_by_less_than_nothing() -> None:
    """Which leaves elements out."""
    array = random((5, 6))
    check(lambda s, o: sl.copies.pad(*s, o, [-1, 2], [-2, -3]), [array], np.pad(array[1:-2, :-3], ((0, 0), (2, 0))))


def test_pad_keeps_coordinates() -> None:
    array = random((3, 4))
    for origin in (-5, 2):
        expected = np.pad(array, 2, "symmetric")
        check(
            lambda s, o: sl.copies.pad(*s, o, 2, 2, mode="symmetric"),
            [array],
            expected,
            origins=[origin],
            lo=(origin, origin),
        )


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_pad_nothing(shape: tuple[int, ...]) -> None:
    array = random(shape)
    check(lambda s, o: sl.copies.pad(*s, o, 2, 1, value=4), [array], np.pad(array, (2, 1), constant_values=4))
    for mode in ("edge", "symmetric", "reflect", "wrap"):
        with pytest.raises(sl.CheckFailedError, match="must have elements"):
            check(
                lambda s, o, m=mode: sl.copies.pad(*s, o, 2, 1, mode=m),
                [array],
                np.zeros([n + 3 for n in shape], np.int16),
            )


# ----------------------------------------------------------------------------------------------------------------
# concatenate and stack
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_concatenate(shape: tuple[int, ...]) -> None:
    for axis in range(len(shape)):
        extents = [1, 0, 3, 2]
        arrays = [random(shape) for _ in extents]
        for n, extent in enumerate(extents):
            own = list(shape)
            own[axis] = extent
            arrays[n] = random(own) + np.int16(100 * n)
        expected = np.concatenate(arrays, axis=axis)
        for k in (axis, axis - len(shape)):  # from the beginning, from the end
            check(lambda s, o, k=k: sl.copies.concatenate(s, o, axis=k), arrays, expected)


def test_concatenate_in_the_program() -> None:
    arrays = [random((2, 3)), random((4, 3))]
    p = check(lambda s, o: sl.copies.concatenate(s, o), arrays, np.concatenate(arrays))
    assert (
        str(p)
        == """\
pipeline concatenate(a: int16[2], b: int16[2]) -> (o: int16[2]):
  check a.y.min <= o.y.min
  check b.y.min + o.y.max <= a.y.max + b.y.max + 1
  check a.x.min <= o.x.min
  check o.x.max <= a.x.max
  check b.x.min <= o.x.min
  check o.x.max <= b.x.max
  o[:, :] = concatenate(a[max(a.y.min, o.y.min) .. min(a.y.max, o.y.max), :], \
b[max(b.y.min, b.y.min + o.y.min - a.y.max - 1) .. min(b.y.max, b.y.min + o.y.max - a.y.max - 1), :])"""
    )


def test_concatenate_begins_where_the_first_does() -> None:
    arrays = [random((2,)), random((3,))]
    expected = np.concatenate(arrays)
    check(lambda s, o: sl.copies.concatenate(s, o), arrays, expected, origins=[-4, 7], lo=[-4])


def test_concatenate_one_and_the_same() -> None:
    array = random((3,))
    check(lambda s, o: sl.copies.concatenate([s[0], s[0]], o), [array], np.concatenate([array, array]))


def test_a_concatenation_ends() -> None:
    arrays = [random((2,)), random((3,))]
    with pytest.raises(sl.CheckFailedError, match="o is copied together, along dimension 0, from"):
        check(lambda s, o: sl.copies.concatenate(s, o), arrays, np.zeros(6, np.int16))


@pytest.mark.parametrize("shape", [(), *SHAPES])
def test_stack(shape: tuple[int, ...]) -> None:
    for axis in range(len(shape) + 1):
        for count in (1, 3):
            arrays = [random(shape) + np.int16(100 * n) for n in range(count)]
            expected = np.stack(arrays, axis=axis)
            for k in (axis, axis - len(shape) - 1):  # from the beginning, from the end
                check(lambda s, o, k=k: sl.copies.stack(s, o, axis=k), arrays, expected)


def test_stack_in_the_program() -> None:
    arrays = [random((2,)), random((2,))]
    p = check(lambda s, o: sl.copies.stack(s, o, axis=1), arrays, np.stack(arrays, axis=1))
    assert (
        str(p)
        == """\
pipeline stack(a: int16[1], b: int16[1]) -> (o: int16[2]):
  check 0 <= o.x.min
  check o.x.max <= 1
  check a.y.min <= o.y.min
  check o.y.max <= a.y.max
  check b.y.min <= o.y.min
  check o.y.max <= b.y.max
  o[:, :] = stack(a[:], b[:])"""
    )
    with pytest.raises(sl.CheckFailedError, match="from 0 to 1 only"):
        check(lambda s, o: sl.copies.stack(s, o, axis=1), arrays, np.zeros((2, 3), np.int16))


# ----------------------------------------------------------------------------------------------------------------
# The same elements elsewhere
# ----------------------------------------------------------------------------------------------------------------


def test_what_is_put_together_is_taken_whole() -> None:
    """Its readers take all of it, and it says by itself how much that is; the sources say nothing of it."""
    y, x = sl.variables("y x")
    a, b = (sl.BufferExpr(name, np.int64, 2) for name in "ab")
    rgb, long = sl.BufferExpr("rgb", np.int64, 3), sl.BufferExpr("long", np.int64, 2)
    sums, columns = sl.BufferExpr("sums", np.int64, 2), sl.BufferExpr("columns", np.int64, 1)
    sl.copies.stack([a, b], rgb)
    sl.copies.concatenate([a, b], long)
    sl.Func(lambda a, out: np.sum(a, axis=0, out=out), [rgb[:, y, x]], [sums[y, x]], name="sums")
    sl.Func(lambda a, out: np.sum(a, axis=0, out=out), [long[:, x]], [columns[x]], name="columns")
    p = sl.build_pipeline([a, b], [sums, columns])
    arrays = np.arange(15).reshape(5, 3), np.arange(15).reshape(5, 3) ** 2
    found = np.zeros((5, 3), np.int64), np.zeros(3, np.int64)
    p(*arrays, *found)
    np.testing.assert_array_equal(found[0], arrays[0] + arrays[1])
    np.testing.assert_array_equal(found[1], found[0].sum(axis=0))
    p = sl.compute_at(sl.split_loop(p, "sums.y", 2), "stack", "for y")
    p = sl.fold_storage(p, "rgb", "y")
    p(*arrays, *found)
    np.testing.assert_array_equal(found[0], arrays[0] + arrays[1])
    assert "alloc rgb: int64[0..1, sums.y.min..sums.y.max fold 2, " in str(p)


@pytest.mark.parametrize("shape", [(), *SHAPES])
def test_transpose(shape: tuple[int, ...]) -> None:
    array = random(shape)
    check(lambda s, o: sl.copies.transpose(*s, o), [array], array.T.copy())
    for axes in itertools.permutations(range(len(shape))):
        expected = np.transpose(array, axes).copy()
        check(lambda s, o, k=axes: sl.copies.transpose(*s, o, axes=k), [array], expected)


def test_transpose_with_axes_from_the_end() -> None:
    array = random((2, 3, 4))
    expected = np.transpose(array, (-1, 0, 1)).copy()
    check(lambda s, o: sl.copies.transpose(*s, o, axes=(-1, 0, 1)), [array], expected)


@pytest.mark.parametrize("shape", [(), *SHAPES[:7]])
def test_broadcast(shape: tuple[int, ...]) -> None:
    array = random(shape)
    for more in ((), (2,), (3, 2), (1,), (0,)):
        expected = np.broadcast_to(array, more + shape).copy()
        check(lambda s, o: sl.copies.broadcast(*s, o), [array], expected)


def test_broadcast_along_axes() -> None:
    array = random((3, 4))
    expected = np.broadcast_to(array[:, None, :, None], (3, 2, 4, 5)).copy()
    check(lambda s, o: sl.copies.broadcast(*s, o, axes=[1, -1]), [array], expected)
    for axis in (0, 1):
        row = array.take([0], axis)
        expected = np.broadcast_to(row, (3, 4)).copy()
        check(lambda s, o, k=axis: sl.copies.broadcast(*s, o, axes=[k]), [row], expected, origins=[-3], lo=[-3, -3])
    check(lambda s, o: sl.copies.broadcast(*s, o, axes=[0, 1]), [array[:1, :1]], np.full((2, 5), array[0, 0]))


@pytest.mark.parametrize("shape", [(), *SHAPES])
def test_flip(shape: tuple[int, ...]) -> None:
    array = random(shape)
    check(lambda s, o: sl.copies.flip(*s, o), [array], np.flip(array).copy())
    for count in range(1, len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), count):
            expected = np.flip(array, axes).copy()
            low = [3] * len(shape)
            check(lambda s, o, k=axes: sl.copies.flip(*s, o, axes=k), [array], expected, origins=[3], lo=low)
    if shape:
        check(lambda s, o: sl.copies.flip(*s, o, axes=-1), [array], np.flip(array, -1).copy())


@pytest.mark.parametrize("shape", SHAPES)
def test_roll(shape: tuple[int, ...]) -> None:
    array = random(shape)
    axes = tuple(range(len(shape)))
    for shift in (0, 1, -2, 7, -13):
        expected = np.roll(array, (shift,) * len(shape), axes)
        check(lambda s, o, k=shift: sl.copies.roll(*s, o, k), [array], expected)
        expected = np.roll(array, shift, -1)
        check(lambda s, o, k=shift: sl.copies.roll(*s, o, k, axes=-1), [array], expected)
    shifts = [2 * d - 3 for d in axes]
    check(lambda s, o: sl.copies.roll(*s, o, shifts, axes=axes), [array], np.roll(array, shifts, axes))


def test_roll_by_a_scalar() -> None:
    array, n = random((4, 3)), sl.scalar("n")
    for shift in (-5, 0, 2):
        expected = np.roll(array, (shift, -shift), (0, 1))
        check(lambda s, o: sl.copies.roll(*s, o, [n, -n]), [array], expected, n=shift)


def test_what_is_rolled_ends() -> None:
    with pytest.raises(sl.CheckFailedError, match="o is copied together, along dimension 0"):
        check(lambda s, o: sl.copies.roll(*s, o, 1), [random((3,))], np.zeros(4, np.int16))


# ----------------------------------------------------------------------------------------------------------------
# reshape
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "other"),
    [
        ((6,), (2, 3)),
        ((2, 3), (6,)),
        ((2, 3), (3, 2)),
        ((4, 6), (2, 2, 3, 2)),
        ((2, 3, 4), (4, 3, 2)),
        ((2, 3, 4), (2, 12)),
        ((2, 2, 3, 2), (4, 6)),
        ((5, 7), (7, 5)),
        ((1, 1), ()),
        ((), (1,)),
        ((1,), (1, 1, 1, 1)),
        ((0, 5), (0,)),
        ((3, 0), (0, 2)),
        ((0,), (3, 0, 2)),
    ],
)
def test_reshape(shape: tuple[int, ...], other: tuple[int, ...]) -> None:
    array = random(shape)
    expected = array.reshape(other)
    check(lambda s, o: sl.copies.reshape(*s, o, other), [array], expected, origins=[-2])
    for axis in range(len(other)):
        if 0 not in shape:
            free = [-1 if d == axis else n for d, n in enumerate(other)]
            check(lambda s, o, k=free: sl.copies.reshape(*s, o, k), [array], expected)


def test_reshape_to_extents_of_other_buffers() -> None:
    array, n = random((6, 4)), sl.scalar("n")
    for rows in (2, 3, 8):
        check(lambda s, o: sl.copies.reshape(*s, o, [n, 24 // n]), [array], array.reshape(rows, -1), n=rows)
    check(lambda s, o: sl.copies.reshape(*s, o, [s[0].dim(1).extent, s[0].dim(0).extent]), [array], array.reshape(4, 6))


def test_what_is_left_of_an_empty_extent() -> None:
    """Nothing is divided by 0."""
    check(lambda s, o: sl.copies.reshape(*s, o, [s[0].dim(0).extent, -1]), [np.zeros((0, 3))], np.zeros((0, 3)))


@pytest.mark.parametrize(("shape", "other"), [((4, 5), (2, 5)), ((4, 5), (7, 3)), ((0, 5), (2, 2)), ((4, 5), (-1, 3))])
def test_reshape_to_what_does_not_fit(shape: tuple[int, ...], other: tuple[int, ...]) -> None:
    with pytest.raises(sl.CheckFailedError, match="a, reshaped, must have as many elements as o"):
        check(
            lambda s, o: sl.copies.reshape(*s, o, other), [random(shape)], np.zeros([abs(n) for n in other], np.int16)
        )


def test_what_is_reshaped_ends() -> None:
    """A longer row is not the beginning of the next one."""
    with pytest.raises(sl.CheckFailedError, match="along dimension 1, from 0 to 4 only"):
        check(lambda s, o: sl.copies.reshape(*s, o, [4, 5]), [random((2, 10))], np.zeros((3, 6), np.int16))


# ----------------------------------------------------------------------------------------------------------------
# copy
# ----------------------------------------------------------------------------------------------------------------

array = np.arange(20, dtype=np.int16).reshape(4, 5)
u, v = sl.variables("u v")


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda s, o: sl.copies.copy(s[y, x], o[y, x]), array),
        (lambda s, o: sl.copies.copy(s[y + 1, x + 2], o[y, x]), array[1:, 2:]),
        (lambda s, o: sl.copies.copy(s[x, y], o[y, x]), array.T),
        (lambda s, o: sl.copies.copy(s[3 - y, x], o[y, x]), array[::-1]),
        (lambda s, o: sl.copies.copy(s[2 * y, 2 * x + 1], o[y, x]), array[::2, 1::2]),
        (lambda s, o: sl.copies.copy(s[2, x], o[x]), array[2]),
        (lambda s, o: sl.copies.copy(s[y, y], o[y]), np.diagonal(array)),
        (lambda s, o: sl.copies.copy(s[y // 2, x // 3], o[y, x]), array.repeat(2, 0).repeat(3, 1)),
        (lambda s, o: sl.copies.copy(s[y % 4, x % 5], o[y, x]), np.tile(array, (2, 3))),
        (lambda s, o: sl.copies.copy(s[y, x + u], o[y, x, u]), np.lib.stride_tricks.sliding_window_view(array, 3, 1)),
        (lambda s, o: sl.copies.copy(s[2 * y + u, x], o[y, u, x]), array.reshape(2, 2, 5)),
        (lambda s, o: sl.copies.copy(s[y // 5, y % 5], o[y]), array.ravel()),
        (lambda s, o: sl.copies.copy(s[0, 4], o[()]), array[0, 4]),
    ],
)
def test_copy(make: Callable[[sl.BufferExpr, sl.BufferExpr], Any], expected: np.ndarray) -> None:
    check(lambda s, o: make(s[0], o), [array], np.array(expected))


def test_copy_by_scalars() -> None:
    n = sl.scalar("n")
    for width in (1, 2, 4):
        sources, (target,) = buffers(array), [sl.BufferExpr("o", np.int16, 2)]
        sl.copies.copy(sources[0][y // n, (x + n) % 5], target[y, x])
        p = sl.build_pipeline(sources, [target], require=[n >= 1])
        for way in WAYS:
            found = np.zeros((4, 5), np.int16)
            p.run(array, found, n=width, **way)
            np.testing.assert_array_equal(found, array[np.arange(4) // width][:, (np.arange(5) + width) % 5])


def test_copy_with_what_is_outside() -> None:
    other = random((6, 9))
    padded = [np.pad(array, ((1, 1), (2, 2)), mode) for mode in ("constant", "reflect", "edge")]

    def outside(value: Any) -> Make:
        return lambda s, o: sl.copies.copy(s[0][y - 1, x - 2], o[y, x], outside=value)

    check(outside(0), [array], padded[0])
    check(outside("constant"), [array], padded[0])
    check(outside("mirror"), [array], padded[1])
    check(outside("nearest"), [array], padded[2])
    check(outside(-7), [array], np.pad(array, ((1, 1), (2, 2)), constant_values=-7))
    check(outside(sl.scalar("n")), [array], np.pad(array, ((1, 1), (2, 2)), constant_values=5), n=5)
    expected = other.copy()
    expected[1:5, 2:7] = array
    check(lambda s, o: sl.copies.copy(s[0][y - 1, x - 2], o[y, x], outside=s[1][y, x]), [array, other], expected)
    with pytest.raises(sl.CheckFailedError, match="reads a along y"):
        check(outside(None), [array], padded[0])


def test_an_implementation_carries_out_a_copy() -> None:
    """It is called with just what a copy reads and writes."""
    calls: list[tuple[tuple[int, ...], ...]] = []

    def turned(source: np.ndarray, target: np.ndarray) -> None:
        calls.append((source.shape, target.shape))
        target[...] = source.T

    a, o = sl.BufferExpr("a", np.int16, 2), sl.BufferExpr("o", np.int16, 2)
    sl.copies.copy(a[x, y], o[y, x], implementation=turned, name="turn")
    p = sl.build_pipeline([a], [o])
    p = sl.split_loop(p, "turn.y", 2)
    found = np.zeros((5, 4), np.int16)
    p(array, found)
    np.testing.assert_array_equal(found, array.T)
    assert calls == [((4, 2), (2, 4)), ((4, 2), (2, 4)), ((4, 1), (1, 4))]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["transpose", "broadcast", "flip"])
def test_implementations_of_copies_of_whole_arrays(kind: str, way: dict[str, Any]) -> None:
    """By pieces, each is called with just the elements that these are."""
    calls: list[tuple[tuple[int, ...], ...]] = []

    def carry_out(source: np.ndarray, target: np.ndarray) -> None:
        calls.append((source.shape, target.shape))
        target[...] = {"transpose": lambda: source.T, "flip": lambda: source[::-1], "broadcast": lambda: source}[kind]()

    a, o = sl.BufferExpr("a", np.int16, 1 if kind == "broadcast" else 2), sl.BufferExpr("o", np.int16, 2)
    more = {"axes": 0} if kind == "flip" else {}
    getattr(sl.copies, kind)(a, o, implementation=carry_out, name="move", **more)
    given = array[0] if kind == "broadcast" else array
    expected = {"transpose": array.T, "flip": array[::-1], "broadcast": np.broadcast_to(array[0], (3, 5))}[kind]
    p = sl.split_loop(sl.build_pipeline([a], [o]), "move.y", 2)
    found = np.zeros(expected.shape, np.int16)
    p.run(given, found, **way)
    np.testing.assert_array_equal(found, expected)
    rows = [2] * (len(expected) // 2) + [1] * (len(expected) % 2)
    moved = {"transpose": lambda n: (4, n), "flip": lambda n: (n, 5), "broadcast": lambda n: (5,)}[kind]
    assert calls == [(moved(n), (n, expected.shape[1])) for n in rows]
    with pytest.raises(sl.GraphError, match="the implementation of a copy must be callable, got 3"):
        getattr(sl.copies, kind)(a, sl.BufferExpr("c", np.int16, 2), implementation=3, **more)


# ----------------------------------------------------------------------------------------------------------------
# Copies of copies
# ----------------------------------------------------------------------------------------------------------------


def test_copies_follow_each_other() -> None:
    """Coordinates go on from one to the next, and boundary rules go by what each one gives."""
    a, b, c, d, o = (sl.BufferExpr(name, np.int16, 2) for name in "abcdo")
    sl.copies.pad(a, b, 1, 2, mode="edge")
    sl.copies.flip(b, c, axes=0)
    sl.copies.concatenate([c, a], d, axis=0)
    sl.copies.pad(d, o, 3, 3, mode="wrap")
    p = sl.build_pipeline([a], [o])
    wide = np.pad(array, (1, 2), "edge")[::-1]
    narrow = np.concatenate([wide[:, :5], array])
    for way in WAYS:
        found = np.zeros((17, 11), np.int16)
        p.run(array, found, **way)
        np.testing.assert_array_equal(found, np.pad(narrow, 3, "wrap"))


def test_copies_of_what_is_computed() -> None:
    a, b, c, o = (sl.BufferExpr(name, np.int16, 2) for name in "abco")
    sl.Func(np.negative, [a[y, x]], [b[y, x]])
    sl.Func(np.square, [a[y, x]], [c[y, x]])
    sl.copies.concatenate([b, c], o)
    p = sl.build_pipeline([a], [o])
    for way in WAYS:
        found = np.zeros((8, 5), np.int16)
        p.run(array, found, **way)
        np.testing.assert_array_equal(found, np.concatenate([-array, array**2]))


def test_bytes_are_counted() -> None:
    """Of copies, not of callbacks, whatever runs the program, whoever carries it out, and once for each time."""
    a, b, o = (sl.BufferExpr(name, np.int16, 2) for name in "abo")
    sl.copies.pad(a, b, 1, 1)
    sl.Func(np.negative, [b[y, x]], [o[y, x]])
    p = sl.build_pipeline([a], [o])
    assert [p.run(array, np.zeros((6, 7), np.int16), **way).bytes_copied for way in WAYS] == [2 * 6 * 7] * 3
    repeated = sl.split_loop(p, "pad.y", 4, tail="shift")  # rows 2 and 3 twice
    assert [repeated.run(array, np.zeros((6, 7), np.int16), **way).bytes_copied for way in WAYS] == [2 * 8 * 7] * 3
    a, o = sl.BufferExpr("a", np.float64, 1), sl.BufferExpr("o", np.float64, 1)
    sl.copies.copy(a[x], o[x], implementation=lambda source, target: np.copyto(target, source))
    assert sl.build_pipeline([a], [o]).run(np.zeros(5), np.zeros(5)).bytes_copied == 40
    a, o = sl.BufferExpr("a", np.float64, 1), sl.BufferExpr("o", np.float64, 1)
    sl.Func(np.positive, [a[x]], [o[x]])
    assert sl.build_pipeline([a], [o]).run(np.zeros(5), np.zeros(5)).bytes_copied == 0


def test_borders_of_less_than_nothing_do_not_overlap() -> None:
    """Where a window is larger than the array, what is padded ends before it begins: two elements before."""
    a, b, o = (sl.BufferExpr(name, np.int16, 1) for name in "abo")
    sl.Func(lambda source, target: np.copyto(target, source[2:-2]), [a[sl.interval(x - 2, x + 2)]], [b[x]], name="f")
    sl.Func(np.negative, [b.extended("constant", value=7)[x]], [o[x]])
    p = sl.split_boundary(sl.build_pipeline([a], [o], alias=False), "constant")
    for extent in (1, 3, 4, 5, 9):
        found = np.zeros(8, np.int16)
        assert p.run(np.arange(extent, dtype=np.int16), found).bytes_copied == 2 * 8
        assert found.tolist() == [-k if 2 <= k < extent - 2 else -7 for k in range(8)]


@st.composite
def shapes(draw: st.DrawFn) -> tuple[int, ...]:
    return tuple(draw(st.lists(st.sampled_from((1, 2, 3, 4, 0)), min_size=1, max_size=4)))


@settings(max_examples=settings().max_examples * 2 // 3)
@given(shape=shapes(), data=st.data())
def test_any_two_copies(shape: tuple[int, ...], data: st.DataObject) -> None:
    source = random(shape)
    buffer = sl.BufferExpr("a", source.dtype, source.ndim)
    inputs, expected, rolled_nothing = [buffer], source, False
    for name in "bc":
        rank = expected.ndim
        target = sl.BufferExpr(name, source.dtype, rank)
        axis = data.draw(st.integers(0, rank - 1))
        kinds = ["pad", "flip", "roll", "transpose", "concatenate", "stack", "broadcast", "reshape"]
        match data.draw(st.sampled_from(kinds)):
            case "pad":
                assume(not rolled_nothing)  # the checks ask for what is rolled, though it is nothing
                lo, hi = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))
                mode = data.draw(st.sampled_from([*NUMPY_RULES] if expected.size else ["constant"]))
                sl.copies.pad(buffer, target, lo, hi, mode=mode)
                expected = np.pad(expected, (lo, hi), mode)
            case "flip":
                sl.copies.flip(buffer, target, axes=axis)
                expected = np.flip(expected, axis)
            case "roll":
                rolled_nothing |= not expected.size
                shift = data.draw(st.integers(-7, 7))
                sl.copies.roll(buffer, target, shift, axes=axis)
                expected = np.roll(expected, shift, axis)
            case "transpose":
                axes = data.draw(st.permutations(range(rank)))
                sl.copies.transpose(buffer, target, axes=axes)
                expected = np.transpose(expected, axes)
            case "concatenate":
                sl.copies.concatenate([buffer, buffer], target, axis=axis)
                expected = np.concatenate([expected, expected], axis)
            case "stack":
                target = sl.BufferExpr(name, source.dtype, rank + 1)
                sl.copies.stack([buffer, buffer], target, axis=axis)
                expected = np.stack([expected, expected], axis)
            case "broadcast":
                target = sl.BufferExpr(name, source.dtype, rank + 1)
                sl.copies.broadcast(buffer, target, axes=[axis])
                target.dim(axis).domain = sl.interval(0, 2)
                expected = np.repeat(np.expand_dims(expected, axis), 3, axis)
            case "reshape" if expected.size:
                sl.copies.reshape(buffer, target, [math.prod(expected.shape), *[1] * (rank - 1)])
                expected = expected.reshape([-1, *[1] * (rank - 1)])
            case _:
                sl.copies.flip(buffer, target)
                expected = np.flip(expected)
        buffer = target
    for alias in (False, True):
        p = sl.build_pipeline(inputs, [buffer], alias=alias)
        for way in WAYS:
            found = np.full(expected.shape, 99, source.dtype)
            p.run(source, found, **way)
            np.testing.assert_array_equal(found, expected)
