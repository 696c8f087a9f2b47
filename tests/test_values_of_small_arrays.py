"""Small arrays whose values a function asks for: its traces are kept for what these hold."""

from __future__ import annotations

import warnings
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import slinky as sl
from tests.traced import PIECES, assert_same, jit, kept

ndimage = pytest.importorskip("scipy.ndimage")
Pair = namedtuple("Pair", "kernel offset")


def image(*shape: int) -> Any:
    """Different elements."""
    return np.sin(np.arange(np.prod(shape), dtype=np.float64)).reshape(shape)


def convolved(x: Any, kernel: Any) -> Any:
    """By what takes a kernel of numbers."""
    return sl.ndimage.convolve(x, kernel) + 1


def in_a_dictionary(x: Any, given: Any) -> Any:
    """The same, of something in a dictionary."""
    return sl.ndimage.convolve(x, given["kernel"]) * given["gain"]


def in_a_list(x: Any, given: Any) -> Any:
    """The same, of something in a list."""
    return sl.ndimage.convolve(x, given[0][1]) + given[1]


def in_a_pair(x: Any, given: Any) -> Any:
    """The same, of something in a named tuple."""
    return sl.ndimage.convolve(x, given.kernel) + given.offset


def element_by_element(x: Any, kernel: Any) -> Any:
    """By Python's floats."""
    total = np.zeros_like(x)
    for k, row in enumerate(kernel):
        for weight in row.ravel():
            total = total + float(weight) * x * (k + 1)
    return total


def by_a_condition(x: Any, kernel: Any) -> Any:
    """By one of its values, and all of them."""
    return x * kernel.sum() if kernel[0, 0] > 1.5 else x - kernel.max()


KERNELS = [
    np.ones((3, 3)),
    np.ones((3, 3)) * 2,
    np.array([[0.5, 2.0]]),
    np.ones((3, 3)).T,
    np.asfortranarray(image(3, 2)),
]
CASES: list[tuple[Any, Any]] = [
    (convolved, lambda kernel: kernel),
    (in_a_dictionary, lambda kernel: {"kernel": kernel, "gain": 1.5}),
    (in_a_list, lambda kernel: [[0, kernel], 2.5]),
    (in_a_list, lambda kernel: ((0, kernel), 2.5)),
    (in_a_pair, lambda kernel: Pair(kernel, 3.0)),
    (element_by_element, lambda kernel: kernel),
    (by_a_condition, lambda kernel: kernel),
]


@pytest.mark.parametrize(("function", "given"), CASES)
def test_a_trace_is_kept_for_the_values(function: Any, given: Any) -> None:
    traced, x = jit(function, machine=PIECES), image(31, 17)
    for kernel in [KERNELS[0], *KERNELS, *KERNELS]:
        argument = given(kernel.copy(order="K"))
        assert_same(traced(x, argument), function(x, argument))
    assert 3 <= kept(traced) <= len(KERNELS)
    assert "traced at each call" not in traced.explain(x, given(KERNELS[0]))
    own = given(KERNELS[0].copy())
    assert_same(traced(x, own), function(x, own))
    array = own if isinstance(own, np.ndarray) else next(a for a in _arrays(own))
    array[0, 0] = 7.0  # the caller's own, which nothing else stands for
    assert_same(traced(x, own), function(x, own))


def _arrays(tree: Any) -> list[Any]:
    if isinstance(tree, np.ndarray):
        return [tree]
    inside = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (tuple, list)) else ()
    return [array for each in inside for array in _arrays(each)]


def test_nobody_is_warned_of_what_is_asked_for_once() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = jit(convolved)
        for _ in range(3):
            traced(image(31, 17), KERNELS[0])


def test_values_of_what_is_as_large_as_the_others_are_no_constants() -> None:
    def function(x: Any, other: Any) -> Any:
        return x + 1 if other.sum() > 0 else x - 1

    traced = jit(function)
    with pytest.warns(sl.ForcedValueWarning, match="bool"):
        assert_same(traced(image(9, 7), image(9, 7)), function(image(9, 7), image(9, 7)))
    assert kept(traced) == 0
    both = jit(lambda x, small: x * float(small[0]) if x.max() > 0 else x)
    with pytest.warns(sl.ForcedValueWarning):
        assert_same(both(image(9, 7), np.ones(2)), image(9, 7))
    for k in range(3):
        assert_same(both(image(9, 7), np.ones(2) * k), image(9, 7) * k)
    assert kept(both) == 0


def test_an_array_whose_values_are_asked_for_is_that_array_for_the_caller() -> None:
    kept_arrays: list[Any] = []

    def given_back(x: Any, kernel: Any) -> Any:
        return x * float(kernel[0]), kernel, kernel[1:]

    def written(x: Any, kernel: Any) -> Any:
        y = x * float(kernel[0])
        other = kernel.copy()
        other[0] = 5.0
        return y + other[0]

    def keeping(x: Any, kernel: Any) -> Any:
        kept_arrays.append(kernel)
        return x * float(kernel[0])

    x, kernel = image(9, 7), np.arange(1.0, 4.0)
    traced = jit(given_back)
    for _ in range(3):
        got = traced(x, kernel)
        assert_same(got, given_back(x, kernel))
        assert got[1] is kernel
        assert np.shares_memory(got[2], kernel)
    for function in (written, keeping):
        traced = jit(function)
        for k in range(1, 4):
            kernel[0] = k
            assert_same(traced(x, kernel), function(x, kernel))
    assert [type(each) for each in kept_arrays] == [np.ndarray] * 6
    with pytest.raises(sl.TracingError, match="writes to its argument"):
        jit(lambda x, kernel: (kernel.fill(2.0), x + 1)[1])(x, kernel)


def by_groups(x: Any, group: Any) -> Any:
    """What is in each of some groups, less its mean."""
    means = np.stack([x[group == k].mean(axis=0) for k in range(4)])
    found = x - means[group]
    for k in range(4):
        found[group == k] /= found[group == k].std(axis=0)
    return means, found


def by_found_groups(x: Any, group: Any) -> Any:
    """Of groups that are found, and by other masks."""
    chosen = x[np.isin(group, [1, 2]), 3]
    return np.stack([x[np.where(group == k)[0]].sum(axis=0) for k in np.unique(group)]), chosen, x[:, group[:17] > 1]


def between_axes(x: Any, group: Any) -> Any:
    """Assignments to what masks select, before and behind other axes."""
    y, z = np.zeros(x.shape, np.float32), x[..., None] * np.ones(2)
    y[:, group[:17] == 1] = x[:, group[:17] == 1] * 2
    z[..., group[:17] == 1, :] = x[0, group[:17] == 1, None]
    z[(group == 2)[:, None] & (group[:17] == 1)] = 7
    return y, z


@pytest.mark.parametrize("function", [by_groups, by_found_groups, between_axes])
def test_masks_of_small_arrays_select_by_pieces(function: Any) -> None:
    x, groups = image(32, 17), [np.arange(32) % 4, np.arange(32) // 8, np.arange(32)[::-1] % 4]
    with warnings.catch_warnings():
        warnings.simplefilter("error", sl.ForcedValueWarning)
        traced = jit(function, machine=PIECES)
        for group in [groups[0], *groups, *groups]:
            group = group.astype(np.int8)
            assert_same(traced(x, group), function(x, group))
    assert 3 <= kept(traced) <= 4
    told = traced.explain(x, group)
    assert "traced at each call" not in told
    assert "at once:" not in told


MASK = np.arange(32) % 3 == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[MASK] * 2,
        lambda x: x[MASK, 1:4, None].sum(axis=0),
        lambda x: x[..., [True, False, *[True] * 15]] + 1,
        lambda x: x[MASK[:, None] & (np.array([3] * 17) > 2)].mean(),
        lambda x: x[MASK, np.arange(11)],
    ],
)
def test_known_masks_ask_for_nothing(function: Any) -> None:
    x, traced = image(32, 17), jit(function, machine=PIECES)
    for _ in range(3):
        assert_same(traced(x), function(x))
    assert kept(traced) == 1
    assert "at once:" not in traced.explain(x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, group: x[group == 9].sum(axis=0),  # none
        lambda x, group: x[(group == 1)[:31]],  # too few
        lambda x, group: x[group == 1, :, :, group == 2],
        lambda x, group: x[:, group == 1],
        lambda x, group: _assigned(x, group == 1, x[:9]),
        lambda x, group: _assigned(x, group == 9, x[:0]),
        lambda x, group: _assigned(x, (group == 1)[:31], x[:8]),
    ],
)
def test_masks_that_select_nothing_or_do_not_fit(function: Any) -> None:
    x, traced = image(32, 17), jit(function, machine=PIECES)
    group = np.arange(32) % 4
    for _ in range(3):
        error, expected = _outcome(function, x, group)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sl.ForcedValueWarning)
            own, found = _outcome(traced, x, group)
        assert own == error
        if error is None:
            assert_same(found, expected)


def _outcome(function: Any, *given: Any) -> tuple[str | None, Any]:
    """The error that a function raises, as text, or what it gives."""
    try:
        return None, function(*given)
    except (IndexError, ValueError) as error:
        return repr(error), None


def _assigned(x: Any, mask: Any, values: Any) -> Any:
    y = x.copy()
    y[mask] = values
    return y
