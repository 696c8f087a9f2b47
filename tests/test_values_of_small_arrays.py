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
