"""Arrays of the caller whose coordinates wrap around: windows of them are inputs and outputs without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slinky as sl
from slinky.runtime import mirrored
from slinky.runtime.rings import share_ring

y, x = sl.variables("y x")


def blur() -> sl.Pipeline:
    inp, out = (sl.BufferExpr(name, np.float64, 2) for name in ("inp", "out"))

    def rows(source: np.ndarray, target: np.ndarray) -> None:
        assert type(source) is type(target) is np.ndarray
        target[...] = source[:-2] + source[1:-1] + source[2:]

    sl.Func(rows, [inp[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="blur")
    return sl.build_pipeline([inp], [out])


def small_ring() -> sl.Ring:
    """Of a page: 8 rows of 64 elements."""
    ring = sl.Ring((8, 64), np.float64)
    assert ring.rows * 64 * 8 == mirrored.PAGE == 4096
    return ring


def test_an_endless_image_by_strips() -> None:
    """Each strip reads two rows of the strip before it, wherever they lie in the ring."""
    image = np.random.default_rng(0).random((40, 64))
    expected = image[:-2] + image[1:-1] + image[2:]
    p, ring = blur(), small_ring()
    results = []
    for first in range(0, 40, 4):
        ring.buffer(first, first + 3).array[...] = image[first : first + 4]
        window = ring.buffer(max(first - 2, 0), first + 3)
        for options in ({}, {"backend": "interpreter"}, {"checked": True}):
            (out,) = p.run(window, **options).outputs
            np.testing.assert_array_equal(out.array, expected[out.min[0] - 1 : out.max[0]])
        results.append(p(window).array)
    np.testing.assert_array_equal(np.concatenate(results), expected)


def test_an_output_that_wraps() -> None:
    ring, p = small_ring(), blur()
    image = np.random.default_rng(1).random((8, 64))
    target = ring.buffer(6, 11)
    assert p(sl.Buffer(image, min=(5, 0)), target) is target
    expected = image[:-2] + image[1:-1] + image[2:]
    np.testing.assert_array_equal(target.array, expected)
    np.testing.assert_array_equal(ring.buffer(8, 11).array, expected[2:])
    np.testing.assert_array_equal(ring.buffer(0, 3).array, expected[2:])  # the same memory
    bound = p.bind(sl.Buffer(image, min=(5, 0)), target)
    image += 1
    assert bound() is target
    np.testing.assert_allclose(target.array, expected + 3)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_coordinates_wrap_along_its_axis(axis: int) -> None:
    ring = sl.Ring((4, 6), np.int32, axis=axis)
    d = axis % 2
    for at in (-5, 0, 7, ring.rows - 1):
        window = ring.buffer(at, at + 1)
        assert window.min[d] == at
        assert window.shape[1 - d] == (4, 6)[1 - d]
        window.array[...] = at
        ring.buffer(at + 2, at + ring.rows - 1).array[...] = -99  # all the others
        assert (ring.buffer(at + 1, at + 1).array == at).all()
        assert (window.array == at).all()


def test_a_window_of_a_pipeline_in_the_ring_of_its_input() -> None:
    """Input and output may lie in one ring as long as they share no element."""
    ring, p = small_ring(), blur()
    ring.buffer(0, 7).array[...] = np.arange(8.0)[:, None]
    target = ring.buffer(5, 6)
    source = ring.buffer(0, 3)
    result = sl.Buffer(target.array, min=(1, 0))
    p(source, result)
    assert result.array[:, 0].tolist() == [3, 6]
    message = "argument out: an output must not overlap argument inp in memory"
    for rows in ((3, 4), (8, 9), (-6, -5), (11, 12)):
        shared = sl.Buffer(ring.buffer(*rows).array, min=(1, 0))
        for attempt in (p, p.run, p.bind):
            with pytest.raises(sl.ArgumentError, match=message):
                attempt(source, shared)
            with pytest.raises(sl.ArgumentError, match=message):
                attempt(sl.Buffer(np.asarray(source)), shared)
            with pytest.raises(sl.ArgumentError, match=message):
                attempt(source, sl.Buffer(np.asarray(shared), min=(1, 0)))


def test_parts_of_windows_are_windows() -> None:
    ring = small_ring()
    window = ring.buffer(6, 9)
    last = window.crop(0, 8, 9).transpose()
    assert share_ring(last.array, ring.buffer(0, 0).array)
    assert share_ring(last.array[::-1], np.asarray(ring.buffer(1, 1).array))
    stripped = ring.buffer(0, 0).array.view(np.ndarray)
    assert share_ring(last.array, stripped)
    assert share_ring(stripped, last.array)
    assert not share_ring(last.array, ring.buffer(2, 7).array)
    assert not share_ring(last.array, small_ring().buffer(0, 1).array)
    assert not share_ring(last.array, np.zeros((2, 64)))
    assert not share_ring(last.array[:0], ring.buffer(0, 1).array)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sl.Ring((), np.int8), "a ring needs elements"),
        (lambda: sl.Ring((3, 0), np.int8), "a ring needs elements"),
        (lambda: sl.Ring((3,), object), "a ring needs elements, of a dtype without objects"),
        (lambda: sl.Ring((3,), None), "a ring needs elements"),
        (lambda: sl.Ring(3, np.int8), "a ring needs a shape and a dtype, got 3"),
        (lambda: sl.Ring((2.5,), np.int8), "an extent of a ring must be an integer, got 2.5"),
        (lambda: sl.Ring((3,), "no such"), "a ring needs a shape and a dtype"),
        (lambda: sl.Ring((3,), np.int8, axis=1), "a ring of 1 dimensions has no axis 1"),
        (lambda: small_ring().buffer(0, 8), r"a window of this ring has 1 to 8 rows, got 0\.\.8"),
        (lambda: small_ring().buffer(3, 2), r"a window of this ring has 1 to 8 rows, got 3\.\.2"),
        (lambda: small_ring().buffer(0, "1"), "the last row must be an integer, got '1'"),
    ],
)
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises((sl.ArgumentError, sl.ExpressionError), match=message):
        make()


def test_what_a_window_lacks_is_refused() -> None:
    with pytest.raises(sl.CheckFailedError, match=r"requires inp\.y\.min <= out\.y\.min - 1, got"):
        blur()(small_ring().buffer(4, 9), sl.Buffer(np.zeros((4, 64)), min=(4, 0)))


def test_there_may_be_no_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirrored, "available", lambda: False)
    with pytest.raises(sl.StorageError, match="this platform cannot map memory twice, so there are no rings"):
        sl.Ring((4,), np.int8)
    monkeypatch.undo()
    with pytest.raises(sl.StorageError, match="there is no memory for a ring, which needs"):
        sl.Ring((2**50,), np.int64)


def test_it_says_what_it_is() -> None:
    assert repr(small_ring()) == "Ring(float64[8 rows, 64])"
    assert small_ring().dtype == np.float64
