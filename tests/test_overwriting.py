"""NumPy's functions that write to an array that they are given: `np.fill_diagonal`, `np.putmask`, `np.place`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from traced import PIECES, assert_same, image, jit, kept

import slinky as sl


def distances(x: Any) -> Any:
    """Pairs, but for those of one with itself."""
    squares = ((x[:, None] - x) ** 2).sum(axis=-1)
    np.fill_diagonal(squares, np.inf)
    return squares.min(axis=1), (1 / squares).sum(axis=0)


def of_views(x: Any) -> Any:
    """Diagonals of parts, and of what is turned."""
    y = x.astype(np.float32)
    np.fill_diagonal(y[3:, :9], -1)
    np.fill_diagonal(y.T[:4], x.max())
    return y


def under_masks(x: Any, most: float = 0.75) -> Any:
    """Numbers, and what another array has."""
    y, z = x.copy(), (x * 9).astype(np.int16)
    np.putmask(y, y > most, most)
    np.putmask(y, y < 0, (x * x)[::-1])
    np.place(z, (z > 3) | (z == -2), 1.75)
    np.fill_diagonal(z, 7)
    return y, z


@pytest.mark.parametrize("function", [distances, of_views, under_masks])
def test_they_go_by_pieces(function: Any) -> None:
    traced = jit(function, machine=PIECES, strict=True)
    for shape in ((31, 17), (17, 31), (20, 20)):
        assert_same(traced(image(*shape)), function(image(*shape)))
    said = traced.explain(image(31, 17))
    assert "as it is" not in said
    assert "at once:" not in said


def test_one_trace_serves_all_numbers() -> None:
    traced, x = jit(under_masks, machine=PIECES), image(31, 17)
    for most in (0.25, 0.5, -1.5):
        assert_same(traced(x, most), under_masks(x, most))
    assert kept(traced) == 1


@pytest.mark.parametrize(
    "write",
    [
        lambda y: np.fill_diagonal(y, np.arange(17)),
        lambda y: np.fill_diagonal(y, 1, wrap=True),
        lambda y: np.fill_diagonal(y[0], 1),
        lambda y: np.fill_diagonal(y[:0], 1),
        lambda y: np.fill_diagonal(y, 1j),
        lambda y: np.putmask(y, y[0] > 0, 1),
        lambda y: np.putmask(y, y, 1),
        lambda y: np.putmask(y, y > 0, [1, 2, 3]),
        lambda y: np.putmask(y.astype(np.uint8), y > 0, 300),
        lambda y: np.place(y, y > 0, [1, 2, 3]),
        lambda y: np.place(y, y > 0, []),
        lambda y: np.putmask(y, y > 0, np.array(2.0, np.longdouble)),
    ],
)
def test_what_else_they_are_given_is_left_to_numpy(write: Any) -> None:
    def written(x: Any) -> Any:
        y = x * 2
        write(y)
        return y

    x, outcomes = image(31, 17), []
    for function in (written, jit(written, machine=PIECES)):
        try:
            outcomes.append(function(x))
        except (OverflowError, TypeError, ValueError) as error:
            outcomes.append(repr(error))
    if isinstance(outcomes[0], np.ndarray):
        assert_same(outcomes[1], outcomes[0])
    else:
        assert outcomes[1] == outcomes[0]


def test_arguments_are_written_to_by_numpy() -> None:
    def blanked(x: Any) -> Any:
        np.fill_diagonal(x, 0)
        np.putmask(x, x > 0.5, 1)
        return x * 2

    traced = jit(blanked, machine=PIECES)
    x, y = image(20, 20), image(20, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(traced(x), blanked(y))
    assert_same(x, y)
    given_away = jit(blanked, machine=PIECES, donate="x")
    assert "as it is" not in given_away.explain(image(20, 20))
    x, y = image(20, 20), image(20, 20)
    assert_same(given_away(x), blanked(y))
    assert_same(x, y)


def test_lazy_arrays_are_written_to() -> None:
    x = sl.lazy(image(20, 20)) * 2
    before = x + 0
    np.fill_diagonal(x, 0)
    np.place(x, x > 1, 1)
    expected = image(20, 20) * 2
    assert_same(np.asarray(before), expected)
    np.fill_diagonal(expected, 0)
    np.place(expected, expected > 1, 1)
    assert_same(np.asarray(x), expected)
