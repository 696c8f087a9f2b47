"""Buffers over part of other ones: the same memory, the same coordinates."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slinky as sl
from slinky.runtime.buffers import seen


def elements(buffer: sl.Buffer) -> dict[tuple[int, ...], Any]:
    """Every element by its coordinates."""
    places = itertools.product(*(range(lo, hi + 1) for lo, hi in zip(buffer.min, buffer.max, strict=True)))
    return dict(zip(places, buffer.array.ravel().tolist(), strict=True))


def numbered(*shape: int, min: tuple[int, ...]) -> sl.Buffer:
    return sl.Buffer(np.arange(np.prod(shape, dtype=int)).reshape(shape), min=min)


buffers = st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), min_size=1, max_size=4).map(
    lambda dims: numbered(*(n for n, _ in dims), min=tuple(lo for _, lo in dims))
)


@settings(max_examples=settings().max_examples * 4 // 3)
@given(buffers, st.data())
def test_elements_keep_their_coordinates(buffer: sl.Buffer, data: st.DataObject) -> None:
    before = elements(buffer)
    d = data.draw(st.integers(0, buffer.rank - 1))
    lo = data.draw(st.integers(buffer.min[d], buffer.max[d] + 1))
    hi = data.draw(st.integers(lo - 1, buffer.max[d]))
    assert elements(buffer.crop(d, lo, hi)) == {at: e for at, e in before.items() if lo <= at[d] <= hi}
    if buffer.shape[d]:
        at = data.draw(st.integers(buffer.min[d], buffer.max[d]))
        sliced = {(*place[:d], *place[d + 1 :]): e for place, e in before.items() if place[d] == at}
        assert elements(buffer.slice(d - buffer.rank, at)) == sliced
    order = data.draw(st.permutations(range(buffer.rank)))
    assert elements(buffer.transpose(*order)) == {tuple(place[i] for i in order): e for place, e in before.items()}
    assert elements(buffer.transpose()) == {place[::-1]: e for place, e in before.items()}


PARTS: list[Callable[[sl.Buffer], sl.Buffer]] = [
    lambda b: b.crop(0, 11),
    lambda b: b.slice(1, 0),
    lambda b: b.transpose(),
    lambda b: b.transpose(1, 0).crop(0, hi=0).slice(1, 11),
]


@pytest.mark.parametrize("part", PARTS)
def test_parts_share_the_memory_and_whether_it_can_be_written(part: Callable[[sl.Buffer], sl.Buffer]) -> None:
    buffer = numbered(3, 2, min=(10, 0))
    found = part(buffer)
    found.array[...] = -1
    assert (buffer.array == -1).sum() == found.array.size > 0
    buffer.array.setflags(write=False)
    assert not part(buffer).array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        part(buffer).array[...] = 0


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (
            lambda b: b.crop(0, 9, 11),
            "9..11 is no part of dimension 0 of Buffer(int64[10..12, 0..1]), which has 10..12",
        ),
        (lambda b: b.crop(-2, 11, 13), "11..13 is no part of dimension -2 of"),
        (lambda b: b.crop(0, 12, 10), "12..10 is no part of dimension 0 of"),
        (lambda b: b.crop(2, 0, 0), "has 2 dimensions, counted from 0; there is no 2"),
        (lambda b: b.crop(True), "there is no True"),
        (lambda b: b.crop(0, 10.5), "the first coordinate of dimension 0 must be an integer, got 10.5"),
        (lambda b: b.slice(0, 13), "there is no 13 in dimension 0 of Buffer(int64[10..12, 0..1]), which has 10..12"),
        (lambda b: b.slice(0, "a"), "a coordinate of dimension 0 must be an integer, got 'a'"),
        (lambda b: b.slice(-3, 0), "there is no -3"),
        (lambda b: b.transpose(0, 0), "names each of its 2 dimensions once, got (0, 0)"),
        (lambda b: b.transpose(1), "names each of its 2 dimensions once, got (1,)"),
        (lambda b: b.transpose((1, 0)), "there is no (1, 0)"),
        (lambda b: sl.Buffer.like([1, 2]), "expected an array that NumPy can see without copying, got list"),
        (
            lambda b: sl.Buffer.like(b, "no such"),
            "there is no buffer like Buffer(int64[10..12, 0..1]) of dtype 'no such'",
        ),
        (lambda b: sl.Buffer.like(b, np.uint8, fill="many"), "of dtype <class 'numpy.uint8'> filled with 'many'"),
        (lambda b: sl.Buffer.like(b, np.uint8, fill=[1, 2, 3]), "filled with [1, 2, 3]: could not broadcast"),
    ],
)
def test_what_is_refused(part: Callable[[sl.Buffer], sl.Buffer], message: str) -> None:
    with pytest.raises((sl.ArgumentError, sl.ExpressionError)) as refused:
        part(numbered(3, 2, min=(10, 0)))
    assert message in str(refused.value)


def test_a_buffer_like_another_one() -> None:
    by_columns = sl.Buffer(np.asfortranarray(np.ones((3, 4), np.float32)), min=(-1, 2))
    by_columns.array.setflags(write=False)
    found = sl.Buffer.like(by_columns, fill=3)
    assert (found.min, found.max, found.dtype, found.array.strides) == ((-1, 2), (1, 5), np.float32, (4, 12))
    assert (found.array == 3).all()
    assert found.array.flags.writeable
    assert not np.shares_memory(found.array, by_columns.array)
    assert sl.Buffer.like(np.zeros((2, 3)), np.int8).dtype == np.int8
    assert sl.Buffer.like(np.zeros((2, 3))).min == (0, 0)


def test_there_may_be_no_memory() -> None:
    huge = np.broadcast_to(np.float64(1), (2**45, 2**4))
    with pytest.raises(sl.StorageError, match="there is no memory for a buffer like"):
        sl.Buffer.like(huge)


def test_parts_are_arguments() -> None:
    """A crop is an output in place: the rest of the array stays."""
    inp, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "out"))
    (x,) = sl.variables("x")
    sl.Func(np.negative, [inp[x]], [out[x]], name="negative")
    p = sl.build_pipeline([inp], [out])
    target = sl.Buffer(np.zeros(6, np.int64))
    p(np.arange(6), target.crop(0, 2, 3))
    assert target.array.tolist() == [0, 0, -2, -3, 0, 0]
    assert p(numbered(3, 4, min=(0, 0)).slice(1, 2)).tolist() == [-2, -6, -10]


def test_numpy_takes_a_buffer_for_its_array() -> None:
    buffer = numbered(2, 3, min=(5, 5))
    assert np.asarray(buffer) is buffer.array
    assert np.shares_memory(np.array(buffer, copy=False), buffer.array)
    assert not np.shares_memory(np.array(buffer), buffer.array)
    assert np.asarray(buffer, np.float32).dtype == np.float32
    assert np.add(buffer, 1).sum() == 21
    with pytest.raises(ValueError, match="without a copy"):
        np.array(buffer, np.float32, copy=False)


@pytest.mark.parametrize("length", [10**18, 10**20])
def test_an_array_is_seen_in_shapes_that_numpy_has(length: int) -> None:
    with pytest.raises(sl.StorageError, match=rf"no array of float64 with the shape \(3, {length}\), as it is read"):
        seen(np.zeros(3), [(1, 0)], (3, length))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("backend", ["python", "native", "interpreter"])
def test_a_matrix_is_an_array_like_any_other(backend: str) -> None:
    """What is taken of `np.matrix` has two dimensions always, and `*` of it is another product."""
    (y, x), matrix = sl.variables("y x"), np.asmatrix([[1.0, 2.0], [3.0, 4.0]])
    a, squared, sums = (sl.BufferExpr(name, np.float64, rank) for name, rank in (("a", 2), ("squared", 2), ("sums", 1)))
    sl.Func(lambda source, target: np.copyto(target, source * source), [a[y, x]], [squared[y, x]], name="square")
    sl.reductions.sum(squared[y, :], sums[y])
    result = np.zeros(2)
    sl.build_pipeline([a], [sums]).run(matrix, result, backend=backend)
    assert result.tolist() == [5, 25]
    s = sl.dims("m k")
    tensor = sl.Tensor(matrix).to(s.m, s.k)
    assert tensor.sum(s.k).numpy(backend=backend).tolist() == [3, 7]
    buffer = sl.Buffer(matrix)
    assert type(buffer.array) is np.ndarray
    assert np.shares_memory(buffer.array, matrix)
