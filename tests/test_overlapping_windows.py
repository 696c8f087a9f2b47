"""Arithmetic of windows that overlap: each element is computed once, and sums along windows have NumPy's bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from c_programs import needs_compiler
from hypothesis import given
from numpy.lib.stride_tricks import sliding_window_view as windows_of
from traced import MACHINE, PIECES, assert_same, for_c, jit

import slinky as sl


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    """Random numbers that sums round."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def energies(x: Any, n: int = 5) -> Any:
    return (windows_of(x, n, axis=0) ** 2).sum(axis=-1)


ALONG_WINDOWS: dict[str, Callable[..., Any]] = {
    "sums": energies,
    "long ones": lambda x: energies(x, 21),
    "along rows": lambda x: (np.abs(windows_of(x, 21, axis=1)) + 1).mean(-1),
    "very long ones": lambda x: (windows_of(x, 150, axis=1) * 3).sum(-1),
    "of both axes": lambda x: (windows_of(x, (9, 11)) * 2 - 1).sum((-1, -2)),
    "one of both axes": lambda x: (windows_of(x, (9, 11)) * 2).sum(-2),
    "variances": lambda x: (windows_of(x, 12, 0) / 3).var(-1),
    "several operands": lambda x: (windows_of(x, 9, 0) * windows_of(x[::-1] + 1, 9, 0) - 2).sum(-1),
    "parts": lambda x: (windows_of(x, 9, 0)[2:, 3:-1] * 2).sum(-1),
    "parts that are shifted": lambda x: (windows_of(x, 9, 0)[2:] * windows_of(x, 9, 0)[:-2]).sum(-1),
    "an element": lambda x: (windows_of(x, 9, 0) - x[3, 4]).sum(-1),
    "masks": lambda x: (windows_of(x, 9, 1) > 0.5).sum(-1),
    "chosen ones": lambda x: np.where(windows_of(x, 9, 0) > 0, windows_of(x, 9, 0), 0).sum(-1),
    "windows of planes": lambda x: (windows_of(np.stack([x, x * 2, x + 1]), (3, 9, 9)) * 3).sum((-1, -2)),
}
SEEN_OTHERWISE: dict[str, Callable[..., Any]] = {
    "returned": lambda x: (windows_of(x, 3, 0) ** 2, (windows_of(x, 3, 0) ** 2).sum(-1)),
    "along other axes": lambda x: ((windows_of(x, 9, 1) * 2).sum(0), (windows_of(x, 9, 1) * 2).sum()),
    "other steps": lambda x: ((windows_of(x, 9, 0)[::4] * 2).sum(-1), (windows_of(x, 9, 1)[:, :, ::-2] * 2).sum(-1)),
    "its own mean": lambda x: ((windows_of(x, 9, 0) - windows_of(x, 9, 0).mean(-1, keepdims=True)) ** 2).sum(-1),
    "weights": lambda x: (windows_of(x, 3, 0) ** 2 * x[:3, 0]).sum(-1),
    "sorted": lambda x: np.sort(windows_of(x, 9, 1) * 2, axis=-1)[..., ::4],
    "medians, and sums": lambda x: [f(windows_of(x, 9, 1) * 2, axis=-1) for f in (np.median, np.sum)],
    "turned": lambda x: (windows_of(x, 9, 0) * windows_of(x.T, 9, 1).transpose(1, 0, 2)).sum(-1),
    "written to": lambda x: _written(windows_of(x, 9, 0) * 2),
    "running sums": lambda x: np.cumsum(windows_of(x, 9, 0) * 2, axis=-1),
    "where": lambda x: (windows_of(x, 9, 0) * 2).sum(-1, where=windows_of(x, 9, 0) > 0),
}


def _written(windows: Any) -> Any:
    windows[0] = 1
    return windows.sum(-1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ALONG_WINDOWS)
def test_sums_along_windows_have_the_bits_of_numpys(name: str, dtype: Any) -> None:
    """NumPy's products have the order of what they are of, so sums along windows add as those of these do; pieces of
    single columns are added otherwise."""
    f, x = ALONG_WINDOWS[name], numbers(40, 200, dtype=dtype)
    for traced in (jit(f), jit(f, exact=True)):
        assert_same(traced(x), f(x))
    for traced in (jit(f, machine=PIECES), for_c(f)):
        assert_same(traced(x), f(x), rounded=True)


@needs_compiler
@pytest.mark.parametrize("name", ALONG_WINDOWS)
def test_in_c(name: str) -> None:
    f, x = ALONG_WINDOWS[name], numbers(40, 200)
    assert_same(jit(f, native=True)(x), f(x))
    assert_same(jit(f, native=True, machine=PIECES)(x), f(x), rounded=True)


@pytest.mark.parametrize("name", SEEN_OTHERWISE)
def test_windows_that_are_seen_otherwise(name: str) -> None:
    f, x = SEEN_OTHERWISE[name], numbers(40, 200, dtype=np.float64)
    for traced in (jit(f), jit(f, machine=PIECES), for_c(f)):
        assert_same(traced(x), f(x), rounded=True)
        outputs = traced.pipeline(x).run(x, checked=True).outputs
        wanted = f(x) if isinstance(f(x), (tuple, list)) else [f(x)]
        assert_same([np.asarray(output) for output in outputs], list(map(np.asarray, wanted)), rounded=True)
    assert_same(jit(f, exact=True)(x), f(x))


@pytest.mark.parametrize("axis", [0, None])
def test_sums_along_others_have_the_bits_of_numpys(axis: int | None) -> None:
    """Of windows along rows NumPy makes arrays in C order, which it adds pairwise from one row to the next."""
    f, x = (lambda x: (windows_of(x, 5, axis=1) * 3).sum(axis)), numbers(60, 400)
    assert_same(jit(f)(x), f(x))


def test_each_element_is_computed_once() -> None:
    """No buffer has an axis for the windows, and squares are as many as there are elements."""
    x = numbers(40, 30)
    p = jit(energies, machine=MACHINE).pipeline(x)
    assert not [alloc for alloc in p.find_all("alloc _") if len(alloc.dims()) > 2]
    assert p.run(x, checked=True).elements == {"square": x.size, "sum": 36 * 30}
    parts = jit(lambda x: (windows_of(x, 5, axis=0)[3:-1, 2:] ** 2).sum(axis=-1)).pipeline(x)
    assert parts.run(x, checked=True).elements == {"square": 36 * 28, "sum": 32 * 28}
    thinned = jit(lambda x: (windows_of(x, 5, axis=0)[::20] ** 2).sum(axis=-1)).pipeline(x)  # most are in no window
    assert thinned.run(x, checked=True).elements == {"square": 2 * 30 * 5, "sum": 2 * 30}
    ordered = jit(lambda x: np.sort(windows_of(x, 5, axis=0) ** 2, axis=-1)).pipeline(x)  # windows that lie apart
    assert ordered.run(x, checked=True).elements["square"] == 36 * 30 * 5


def test_one_trace_serves_all_sizes_and_numbers() -> None:
    traced = jit(lambda x, weight: (windows_of(x, 9, axis=0) * weight + 1).sum(axis=-1))
    for rows, weight in ((40, 1.5), (9, -2.0), (100, 0.1)):
        x = numbers(rows, 30)
        assert_same(traced(x, weight), traced.__wrapped__(x, weight))


def test_of_lazy_arrays() -> None:
    x = numbers(60, 50)
    for where in (np.s_[3:20, 4:7], np.s_[30:47, 10:13]):
        assert_same(np.asarray(energies(sl.lazy(x), 9)[where]), energies(x, 9)[where])


def test_errors_are_of_elements_in_windows() -> None:
    """What no window holds is not computed: it raises nothing."""
    x = numbers(40, 30, dtype=np.float64) ** 2 + 1
    x[0] = x[-1] = -1
    f = jit(lambda x: np.sqrt(windows_of(x, 5, axis=0)[1:-1]).sum(axis=-1))
    with np.errstate(all="raise"):
        assert_same(f(x), f.__wrapped__(x))
        x[1] = -1
        with pytest.raises(FloatingPointError):
            f(x)


STEPS: list[Callable[..., Any]] = [
    lambda a, b: a * a,
    lambda a, b: a - b,
    lambda a, b: np.maximum(a, b) + 1,
    lambda a, b: np.where(a > 0, b, a),
    lambda a, b: abs(a)[..., ::-1],
    lambda a, b: b - b[0, 0, 0],
    lambda a, b: a + b.mean(-1, keepdims=True),
]


@given(
    steps=st.lists(st.tuples(st.sampled_from(range(len(STEPS))), st.booleans()), min_size=1, max_size=4),
    window=st.integers(1, 24),
    axis=st.integers(0, 1),
    in_pieces=st.booleans(),
    reduction=st.sampled_from([np.sum, np.max, np.mean, np.std, np.median]),
)
def test_random_arithmetic_of_windows(
    steps: list[tuple[int, bool]], window: int, axis: int, in_pieces: bool, reduction: Callable[..., Any]
) -> None:
    def function(x: Any) -> Any:
        a = b = windows_of(x, window, axis=axis)
        for step, turned in steps:
            a, b = (STEPS[step](b, a), a) if turned else (STEPS[step](a, b), b)
        return reduction(a, axis=-1), reduction(b, axis=-1)

    x = numbers(30, 26, dtype=np.float64)
    traced = jit(function, machine=PIECES if in_pieces else MACHINE)
    assert_same(traced(x), function(x), rounded=True)
