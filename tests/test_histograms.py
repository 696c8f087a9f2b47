"""Histograms of lazy arrays: counted by pieces where the edges are known, as NumPy counts."""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
from traced import PIECES, assert_same, for_c, image, jit, kept

import slinky as sl

EDGES = np.array([-30.0, -2.5, 0, 1, 40])

COUNTS: dict[str, Any] = {
    "a range": lambda x: np.histogram(x, 7, (-20, 20)),
    "a range of floats": lambda x: np.histogram(x * 2, bins=5, range=[-0.5, np.float32(33.3)]),
    "edges": lambda x: np.histogram(x + 1, bins=[-10, 0, 0.5, 3]),
    "edges of a global": lambda x: np.histogram(x, EDGES),
    "edges that are integers": lambda x: np.histogram(x, np.arange(-5, 6)),
    "one bin": lambda x: np.histogram(x, 1, (3, 3)),
    "densities": lambda x: np.histogram(x, 4, (-60, 60), density=True),
    "no densities": lambda x: np.histogram(x, 4, (-60, 60), density=False),
    "with what follows": lambda x: (lambda n, e: (n / n.sum(), (e[1:] + e[:-1]) / 2, e[np.argsort(n)]))(
        *np.histogram(x, 6, (-50, 50))
    ),
    "as many bins as rows": lambda x: np.histogram(x, x.shape[0], (0, x.shape[0])),
    "edges alone": lambda x: np.histogram_bin_edges(x * 2, 3, (0, 1)) + x.max(),
    "of pairs": lambda x: np.histogram2d(x.ravel(), x.ravel()[::-1] * 2, 3, ((-50, 50), (-20, 40))),
    "of pairs, between edges": lambda x: np.histogram2d(x.ravel(), abs(x).ravel(), [EDGES, 4], [None, (0, 9)])[0],
    "of pairs, between the same edges": lambda x: np.histogram2d(x[0].ravel(), x[-1].ravel(), bins=EDGES),
}
SHAPES = [(1,), (7,), (1, 1), (13, 11), (3, 5, 2), (101, 3)]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_numpys(name: str, dtype: str) -> None:
    function = COUNTS[name]
    traced = [jit(function, strict=True), jit(function, strict=True, machine=PIECES), for_c(function)]
    for shape in SHAPES:
        x = image(*shape, dtype=dtype)
        want = function(x)
        for each in traced:
            assert_same(each(x), want)
        assert_same([np.asarray(each) for each in function(sl.lazy(x))], [np.asarray(each) for each in want])
    assert all("asks for values" not in each.explain(x) for each in traced)


@pytest.mark.parametrize("name", ["a range", "edges", "edges of a global", "of pairs"])
def test_elements_that_are_no_numbers_or_on_an_edge(name: str) -> None:
    x = image(90, 7)
    x[::7], x[1::9], x[2::8], x[3::5] = np.nan, np.inf, -np.inf, 20
    traced = jit(COUNTS[name], machine=PIECES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(traced(x), COUNTS[name](x))


OTHERWISE: dict[str, Any] = {
    "the range of all": lambda x: np.histogram(x, 5),
    "a rule": lambda x: np.histogram(x, "sturges"),
    "weights": lambda x: np.histogram(x, 5, (0, 9), weights=x),
    "lazy edges": lambda x: np.histogram(x, np.sort(x.ravel())),
    "a lazy range": lambda x: np.histogram(x, 5, (x.min(), x.max() + 1)),
    "densities of pairs": lambda x: np.histogram2d(x.ravel(), x.ravel(), 3, ((0, 99), (0, 99)), density=True),
}


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
@pytest.mark.parametrize("name", OTHERWISE)
def test_what_depends_on_elements_runs_whole(name: str) -> None:
    for shape in SHAPES:
        x = abs(image(*shape)) + 1
        assert_same(jit(OTHERWISE[name], machine=PIECES)(x), OTHERWISE[name](x))


REFUSED: dict[str, Any] = {
    "monotonically": lambda x: np.histogram(x, [3, 2, 1]),
    "must be positive": lambda x: np.histogram(x, 0, (0, 1)),
    "max must be larger": lambda x: np.histogram(x, 3, (1, 0)),
    "not finite": lambda x: np.histogram(x, 3, (0, np.inf)),
    "must be 1d": lambda x: np.histogram(x, np.ones((2, 2))),
    "x and y must have the same length": lambda x: np.histogram2d(x[1:, 0], x[:, 0], 3, ((0, 1), (0, 1))),
}


@pytest.mark.parametrize("match", REFUSED)
def test_errors_are_numpys(match: str) -> None:
    with pytest.raises(ValueError, match=match):
        jit(REFUSED[match])(image(4, 5))
    with pytest.raises(ValueError, match=match):
        REFUSED[match](sl.lazy(image(4, 5)))


def test_truths_warn_as_in_numpy() -> None:
    with pytest.warns(RuntimeWarning, match="Converting input from bool"):
        jit(lambda x: np.histogram(x > 0, 2, (0, 1))[0])(image(9))


def test_what_is_counted_is_never_there_in_full() -> None:
    traced = jit(lambda x: np.histogram(x * 2 + 1, 50, (1, 3))[0])
    x = np.random.default_rng(0).random((2000, 500))
    assert_same(traced(x), traced.__wrapped__(x))
    tracemalloc.start()
    traced(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < x.nbytes / 2


def test_results_are_arrays_of_their_own() -> None:
    edges = np.array([0.0, 1, 5])
    traced = jit(lambda x: (np.histogram(x, edges), np.histogram(x, 3, (0, 9))))
    x = image(40)
    for _ in range(3):
        (first, one), (second, other) = traced(x)
        for array in (first, one, second, other):
            array += 7
    assert_same(edges, np.array([0.0, 1, 5]))
    assert_same(traced(x), traced.__wrapped__(x))


def test_edges_that_change() -> None:
    edges = np.array([0.0, 1, 5])
    traced = jit(lambda x, high: (np.histogram(x, edges)[0], np.histogram(x, 3, (0, high))[0]))
    x = image(40)
    for high in (3.0, 9.0):
        assert_same(traced(x, high), traced.__wrapped__(x, high))
    edges[1] = 3
    assert_same(traced(x, 9.0), traced.__wrapped__(x, 9.0))


def test_one_trace_serves_all_sizes() -> None:
    traced = jit(COUNTS["a range"])
    for n in (5, 70, 300):
        assert_same(traced(image(n, 3)), COUNTS["a range"](image(n, 3)))
    assert kept(traced) == 1
