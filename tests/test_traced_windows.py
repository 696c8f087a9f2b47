"""Windows, axes that are split and fused, sums of products, look-ups and differences: whole and by pieces."""

# ruff: noqa: E501 (calls stand on one line)

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view as windows_of
from traced import MACHINE, PIECES, assert_same, assert_understood, image, jit, kept

import slinky as sl

WEIGHTS = np.arange(9.0).reshape(3, 3) - 3
CALLS: dict[str, Callable[..., Any]] = {
    "windows": lambda x: windows_of(x, (3, 3)),
    "windows that are read otherwise": lambda x: (windows_of(x + 1, 3, 1)[:, ::2, ::-1], windows_of(x, 2, 0)[::-2].T * 2),
    "windows of windows": lambda x: windows_of(windows_of(x, 3, axis=-1), 2, axis=1).max(-1),
    "twice along an axis": lambda x: windows_of(x, (2, 2), axis=(0, 0)) * 2,
    "windows that are sorted": lambda x: (np.sort(windows_of(x, 3, 1), axis=-1)[..., 1], np.sort(windows_of(x, 3, 1), axis=1)),
    "windows that are padded": lambda x: np.pad(windows_of(x, 2, axis=0), 1, mode="edge"),
    "windows side by side": lambda x: np.concatenate([windows_of(x, 3, 1), windows_of(x, 3, 1)[::-1]], 1),
    "largest in windows": lambda x: windows_of(x, (3, 3)).max((-1, -2)) - windows_of(x, (3, 3)).min((-1, -2)),
    "sums of windows": lambda x: windows_of(x, (3, 3)).sum((-1, -2)) + windows_of(x, (3, 3)).mean(axis=(2, 3)),
    "weighted windows": lambda x: (windows_of(x, (3, 3)) * WEIGHTS).sum((-1, -2)),
    "einsum of windows": lambda x: np.einsum("yxij,ij->yx", windows_of(x, (3, 3)), WEIGHTS),
    "tensordot of windows": lambda x: np.tensordot(windows_of(x, (3, 3)), WEIGHTS, 2),
    "axes that become one": lambda x: (x.reshape(-1), x.ravel() * 2, x.T.reshape(-1) + 1, np.stack([x, x]).reshape(-1, x.shape[1])),
    "and several again": lambda x: (x.reshape(-1) * 2).reshape(x.shape) + x,
    "turned shapes": lambda x: x.reshape(x.shape[::-1]) * 2,
    "a part of axes that become one": lambda x: (x[1:, ::2].reshape(-1)[3::2] * 2, np.broadcast_to(x[0], (3, 3, x.shape[1])).reshape(9, -1) * 1),
    "all but a row or column as one axis": lambda x: (x[:, :-1].reshape(-1) + 1, x.reshape(1, *x.shape)[:, 1:, :-2].reshape(-1) * 2),
    "einsum": lambda x: (np.einsum("ij,kj->ik", x, x), np.einsum("ij,kj", x, x), np.einsum("ij->j", x), np.einsum("ij,ij->", x, x)),
    "einsum by products of matrices": lambda x: (np.einsum("ij,kj->ik", x, x, optimize=True), np.einsum("ij,ij->i", x, x, optimize="greedy")),
    "einsum that turns": lambda x: np.einsum("ij->ji", x) * 2,
    "tensordot": lambda x: (np.tensordot(x, x.T, 1), np.tensordot(x, x, ((0,), (0,))), np.tensordot(x[0], x[1], 0), np.tensordot(x, x, 2)),
    "take": lambda x: (np.take(x, [0, -1, 2], 1), np.take(x, [[0, 1], [2, -3]], 0), np.take(x, 1, axis=0), np.take(x, [90, -90], 1, mode="wrap")),
    "indices": lambda x: (x[[0, -1, 2]], x[:, [0, 2]], x[..., [0, 1], None], x[None, 1:, [[0, -1], [1, 2]]] * 2),
    "indices along several axes": lambda x: (x[[0, -1, 2], [[1], [0]]], x[abs(x).astype(int) % 3, [0]], x[None, [1, 0], 1] * 2, x[np.ix_([2, 1], [0, -1])], x[1:][[0, 1], [1, 0], None]),
    "indices that are looked up": lambda x: x[np.argsort(x, 0) % 3, np.argsort(x) % 3],
    "choose": lambda x: (np.choose((x > 0).astype(int), [x, x * 2]), np.choose(abs(x).astype(int), [[[1]], x, 2.5], mode="wrap"), (x[0] > 1).astype(int).choose([1, x])),
    "a table that is computed": lambda x: (np.cumsum(abs(x[0]))[abs(x).astype(int) % 3], np.take(x[0], abs(x).astype(int) % 3)),
    "a table of numbers": lambda x: (np.take([3.5, 1, 2], abs(x).astype(int) % 3), np.take(a=WEIGHTS, indices=abs(x).astype(int), axis=1, mode="clip"), np.take(WEIGHTS, x[0].astype(int) % 3, 0)),
    "in order": lambda x: (np.take(x, np.argsort(x[:, 0]), axis=0), x[0][np.argsort(x[0])]),
    "searchsorted": lambda x: np.searchsorted(np.sort(x[0]), x, side="right"),
    "isin": lambda x: (np.isin(x, [1, 2]), np.isin(x, x[0], invert=True)),
    "digitize": lambda x: (np.digitize(x, [-1, 0, 2]), np.digitize(x, [2, 0, -1], right=True), np.digitize(x, np.sort(x[0]))),
    "interp": lambda x: (np.interp(x, [-1, 0, 2], [3, 2, 5], left=9), np.interp(x, [1, 0, 2], [3, 2, 5], period=4.0), np.interp(x, np.sort(x[0]), x[1])),
    "interp of a number": lambda x: np.interp(x.max(), [-1, 0, 2], [3, 2, 5]),
    "block": lambda x: (np.block([[x, x[::-1]], [x * 2, x]]), np.block([x[0], 2, x[1]]), np.block([[x[0]], [x[1]]])),
    "select": lambda x: (np.select([x > 0, x[0] < 0], [1, x[:, :1]], 2.5), np.select([x > 0, x < -9], [1, 2]), np.select([x > 0], [x], x[0])),
    "diff": lambda x: (np.diff(x, 2, 0), np.diff(x, prepend=0, append=x[:, :1]), np.diff(x, 0), np.diff(x > 0, 2)),
    "gradient": lambda x: (*np.gradient(x, edge_order=2), np.gradient(x, 2.5, axis=0), *np.gradient(x, np.float32(2.5), 3), np.gradient(x[:2], axis=0)),
    "gradient by places": lambda x: np.gradient(x, [k * k for k in range(x.shape[0])], [0.5 * k for k in range(x.shape[1])]),
    "convolve": lambda x: [np.convolve(x[0], w, m) for w in ([1, -2, 1], [2], [0.5, 1]) for m in ("full", "same", "valid")],
    "convolve of weights": lambda x: [np.convolve(w, x[0], m) for w in ([1, -2, 1], np.ones(2) / 4) for m in ("full", "same", "valid")],
    "correlate": lambda x: [np.correlate(x[0], w, m) * 2 for w in ([1, -2, 3], [0.5, 1]) for m in ("full", "same", "valid")],
    "transforms": lambda x: (np.fft.rfft(x), np.fft.irfft(x, axis=0), np.fft.hfft(x), np.fft.ihfft(x, axis=0)),
    "a spectrogram": lambda x: abs(np.fft.rfft(windows_of(x[0], 3)[::2] * np.hanning(3))) ** 2,
}  # fmt: skip

ROUNDED = {"sums of windows", "weighted windows", "einsum of windows", "tensordot of windows", "einsum", "tensordot",
           "convolve", "convolve of weights", "correlate", "einsum by products of matrices", "transforms",
           "a spectrogram"}  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("machine", [MACHINE, PIECES], ids=["whole", "by pieces"])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_understood(name: str, machine: sl.Machine) -> None:
    for dtype in ("int16", "float32", "float64", "bool"):
        arrays = [image(*shape, dtype=dtype) for shape in [(5, 7), (11, 5), (3, 3)]]
        assert_understood(CALLS[name], arrays, machine, rounded=name in ROUNDED)


@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits_where_they_are_asked_for(name: str) -> None:
    random = np.random.default_rng(0)
    traced = jit(CALLS[name], exact=True, machine=PIECES)
    for shape in [(5, 7), (11, 5)]:
        x = random.normal(size=shape)
        try:
            want = CALLS[name](x)
        except (TypeError, ValueError, IndexError):
            continue
        assert_same(traced(x), want)


@pytest.mark.parametrize("dtype", ["int32", "float64", "complex64"])
def test_axes_are_split(dtype: str) -> None:
    def halved(x: Any) -> Any:
        height, width = x.shape
        blocks = x.reshape(height // 2, 2, width // 3, 3)
        return blocks.max((1, 3)), blocks[..., ::-1].reshape(x.shape), (x * 2).reshape(-1, 2)

    for machine in (MACHINE, PIECES):
        traced = jit(halved, strict=True, machine=machine)
        for shape in [(4, 6), (10, 9), (2, 3), (22, 27)]:
            assert_same(traced(image(*shape, dtype=dtype)), halved(image(*shape, dtype=dtype)))
        with pytest.raises(ValueError, match="cannot reshape"):
            jit(halved, machine=machine)(image(5, 6, dtype=dtype))


@pytest.mark.parametrize("height", [1, 3, 4, 9])
def test_an_extent_of_no_elements_is_not_told(height: int) -> None:
    """Blocks of four rows, flat: where there are none, NumPy does not know how long they would be."""

    def flat(x: Any) -> Any:
        rows, columns = x.shape[0] // 4, x.shape[1] // 4
        blocks = x[: rows * 4, : columns * 4].reshape(rows, 4, columns, 4).swapaxes(1, 2)
        return blocks.reshape(rows, columns, -1) + 1

    x = image(height, 8)
    traced = jit(flat)
    traced(image(12, 8))
    for function in (traced, jit(flat)):
        if height >= 4:
            assert_same(function(x), flat(x))
            continue
        with pytest.raises(ValueError, match="cannot reshape array of size 0"):
            function(x)


@pytest.mark.parametrize("low", [0, 1, 4, 5, 17, 30])
@pytest.mark.parametrize("count", [1, 2, 13, 20, 29])
def test_a_piece_of_axes_that_become_one_copies_that_piece(low: int, count: int) -> None:
    """A part of a row of blocks, or several rows and parts of two more: nothing but these is copied."""
    x = np.moveaxis(np.arange(3.0 * 4 * 5 * 2 * 30_000).reshape(2, 3, 30_000, 5, 4), (1, 4, 3, 0), (0, 1, 2, 3))
    lazy = sl.lazy(x, copy=False).reshape(60, -1)[low : low + count, 59_990:60_003]
    whole = x.reshape(60, -1)[low : low + count, 59_990:60_003]
    np.asarray(lazy)
    tracemalloc.start()
    try:
        got = np.asarray(lazy * 1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert_same(got, whole)
    assert peak < 1 << 22, peak


def test_one_trace_serves_all_sizes() -> None:
    traced = jit(lambda x: (windows_of(x, (3, 3)).max((2, 3)), x.reshape(-1)[::2], np.einsum("ij,kj->ik", x, x)))
    for shape in [(5, 7), (11, 6), (40, 3)]:
        traced(image(*shape))
    assert kept(traced) == 1


def test_axes_that_become_one_in_every_call_ask_for_no_more_than_elements() -> None:
    """A product of extents that is wanted is found among axes as it is written: one trace, also beside axes of one."""

    def rows(x: Any) -> Any:
        return (
            x[1:].reshape(x.shape[0] - 1, -1) * 2,
            (x + 1).reshape(-1, x.shape[2]),
            x.reshape(x.shape[0] * x.shape[1], -1) - 1,
        )

    traced = jit(rows)
    for shape in [(5, 4, 3), (4, 1, 3), (3, 4, 1), (2, 5, 7), (9, 1, 1)]:
        assert_same(traced(image(*shape)), rows(image(*shape)))
    assert kept(traced) == 1
    asked = [line.split(",")[0] for line in traced.explain(image(5, 4, 3)).splitlines() if line.startswith("good")]
    assert asked == [
        "good where 1 <= x.shape[0]",
        "good where 2 <= x.shape[0]",
        "good where 1 <= x.shape[1]*x.shape[2]",
        "good where 1 <= x.shape[2]",
        "good where 1 <= x.shape[0]*x.shape[1]",
    ]


def test_a_stencil_of_windows_stores_no_windows() -> None:
    """Blur, then windows of it: rows of the blurred image are there, and nothing else."""

    def function(x: Any) -> Any:
        soft = np.sqrt(abs(x)) / 2
        return windows_of(soft, (3, 3)).max((2, 3))

    x = image(600, 500, dtype=np.float64)
    p = jit(function).pipeline(x).auto(workers=1, machine=MACHINE)
    assert "copy" not in str(p)
    out = np.empty((598, 498))
    assert p.run(x, out).program_bytes < x.nbytes / 4
    assert_same(out, function(x))


def test_only_what_an_element_needs_is_read() -> None:
    lazy = sl.lazy(image(400, 300, dtype=np.float64))
    seen = windows_of(np.sqrt(abs(lazy)), (3, 5)).sum((2, 3))[10:12, 20:22]
    assert np.asarray(seen).shape == (2, 2)
    np.testing.assert_allclose(
        seen, windows_of(np.sqrt(abs(image(400, 300, dtype=np.float64))), (3, 5)).sum((2, 3))[10:12, 20:22]
    )


def test_writing_to_windows_and_split_axes_is_what_numpy_does() -> None:
    def to_split(x: Any) -> Any:
        y = x * 2
        y.reshape(-1, 2)[0] = 7
        y[:, 0].reshape(2, -1)[1] = 8
        return y

    def to_windows(x: Any) -> Any:
        windows_of(x * 2, 2, axis=0)[0] = 1
        return x

    x = image(4, 6)
    assert_same(jit(to_split)(x), to_split(x))
    with pytest.raises(ValueError, match="read-only"):
        jit(to_windows)(x)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: windows_of(x, (9, 9)),
        lambda x: windows_of(x, (2, 2, 2)),
        lambda x: x.reshape(7, 7),
        lambda x: x.reshape(-1, 4),
        lambda x: np.einsum("ij,jk->ik", x, x),
        lambda x: np.tensordot(x, x, 1),
        lambda x: np.take(x, [9], 0),
        lambda x: x[[0, 9]],
        lambda x: np.gradient(x[:1], axis=0),
        lambda x: np.block([[x, x[1:]]]),
        lambda x: np.digitize(x, [1, 3, 2]),
        lambda x: np.convolve(x, [1]),
        lambda x: np.fft.irfft(x[:1], axis=0),
    ],
)
def test_what_numpy_refuses_is_refused(wrong: Callable[..., Any]) -> None:
    x = image(5, 6)
    with pytest.raises((ValueError, IndexError)) as of_numpy:
        wrong(x)
    with pytest.raises(type(of_numpy.value)):
        jit(wrong)(x)


def test_what_is_not_understood_runs_whole() -> None:
    dots = jit(lambda x: np.einsum("...i->...", x) * 2)
    assert_same(dots(image(5, 5)), np.einsum("...i->...", image(5, 5)) * 2)
    assert "at once: einsum is not understood" in dots.explain(image(5, 5))
    both = jit(lambda x, y: np.correlate(x, y))
    assert_same(both(image(4), image(9)), np.correlate(image(4), image(9)), rounded=True)
    assert "at once: correlate is not understood" in both.explain(image(4), image(9))
    three = jit(lambda x: np.einsum("ij,kj,kl->il", x, x, x, optimize=True))
    assert_same(three(image(5, 6)), np.einsum("ij,kj,kl->il", *[image(5, 6)] * 3, optimize=True), rounded=True)
    assert "at once: einsum is not understood" in three.explain(image(5, 6))
    one = jit(lambda x: np.einsum("ij,ij->", x, x, optimize=True))
    assert_same(one(image(5, 6)), np.einsum("ij,ij->", image(5, 6), image(5, 6), optimize=True), rounded=True)


def test_the_shorter_of_two_arrays_are_the_weights() -> None:
    both = jit(lambda x, y: np.convolve(x, y, "same"), strict=True)
    for counts in [(4, 9), (9, 4), (9, 9), (1, 30)]:
        x, y = map(image, counts)
        assert_same(both(x, y), np.convolve(x, y, "same"), rounded=True)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("function", [np.convolve, np.correlate])
def test_windows_are_weighed_with_what_is_told(function: Callable[..., Any], mode: str) -> None:
    def weighed(x: Any, weights: Any) -> Any:
        return function(x * 2, weights / 3 if weights.dtype == np.float64 else weights, mode) + 1

    for dtype in ("int32", "float64", "complex128"):
        traced = jit(weighed, machine=PIECES)
        for count in (40, 75, 4, 40):
            x, weights = image(count, dtype=dtype), image(4, dtype=dtype)
            assert_same(traced(x, weights), weighed(x, weights), rounded=True)
            assert "is not understood" not in traced.explain(x, weights)
        assert kept(traced) <= 2
        assert_same(traced(x, image(5, dtype=dtype)), weighed(x, image(5, dtype=dtype)), rounded=True)


def test_weights_that_are_not_finite_reach_nothing_beyond_the_ends() -> None:
    x, weights = image(40, dtype="float64"), np.array([1.0, np.inf, 2])
    for mode in ("full", "same", "valid"):
        function = lambda x, weights, mode=mode: np.convolve(x, weights, mode)  # noqa: E731
        traced = jit(function, machine=PIECES)
        for each in (weights, np.ones(3), weights):
            assert_same(traced(x, each), function(x, each), rounded=True)
    assert_same(np.asarray(np.convolve(sl.lazy(x), sl.lazy(weights))), np.convolve(x, weights), rounded=True)


def test_ends_of_which_a_part_is_not_read() -> None:
    """What is not read takes no time: it took less than none, and no schedule was good enough."""

    def end(x: Any) -> Any:
        inner = np.correlate(x.reshape(-1), [1, 2, -1, 3], mode="same")[1:-1]
        copied = np.square(inner)
        copied[...] = inner
        return np.diff(copied, prepend=0, append=np.float64(0.125))[-1]

    x = image(8, 2, dtype="complex64")
    traced = jit(end, machine=PIECES)
    for _ in range(2):
        assert_same(traced(x), end(x), rounded=True)
