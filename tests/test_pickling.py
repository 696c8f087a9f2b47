"""Pipelines of slinky's own reductions: out of a pickle, and out of their code, they are the same."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import slinky as sl

y, i, j = sl.variables("y i j")


def of_rows(kind: str, dtype: Any = np.float64, **options: Any) -> sl.Pipeline:
    """A reduction of each row."""
    source, target = sl.BufferExpr("source", np.float64, 2), sl.BufferExpr("target", dtype, 1)
    if hasattr(np, kind) and isinstance(getattr(np, kind), np.ufunc):
        sl.reductions.reduce(getattr(np, kind), source[y, :], target[y], **options)
    else:
        getattr(sl.reductions, kind)(source[y, :], target[y], **options)
    return sl.build_pipeline([source], [target])


def of_matrices(kind: str) -> sl.Pipeline:
    """A product of two matrices."""
    a, b, c = (sl.BufferExpr(name, np.float64, 2) for name in "abc")
    getattr(sl.reductions, kind)(a[i, :], b[:, j], c[i, j], reassociate=True)
    return sl.build_pipeline([a, b], [c])


def of_two() -> sl.Pipeline:
    """Two reductions whose stages have the same names."""
    source = sl.BufferExpr("source", np.float64, 2)
    total, most = sl.BufferExpr("total", np.float64, 1), sl.BufferExpr("most", np.float64, 1)
    sl.reductions.sum(source[y, :], total[y])
    sl.reductions.reduce(np.maximum, source[y, :], most[y], name="most")
    return sl.build_pipeline([source], [total, most])


PIPELINES = {
    "sum": lambda: of_rows("sum"),
    "mean": lambda: of_rows("mean", reassociate=True),
    "var": lambda: of_rows("var", ddof=1),
    "argmax": lambda: of_rows("argmax", np.intp),
    "argmin": lambda: of_rows("argmin", np.intp),
    "minimum": lambda: of_rows("minimum"),
    "hypot": lambda: of_rows("hypot"),
    "dot": lambda: of_matrices("dot"),
    "softmax_dot": lambda: of_matrices("softmax_dot"),
    "two": of_two,
}


@pytest.mark.parametrize("name", PIPELINES)
def test_reductions_come_again(name: str) -> None:
    p = PIPELINES[name]()
    made: dict[str, Any] = {}
    exec(p.to_graph_code(), made)
    given = [np.random.default_rng(k).random((5, 5)) for k in range(len(p.program.inputs))]
    want = p(*given)
    for again in (pickle.loads(pickle.dumps(p)), made["p"]):
        assert again.same_program(p)
        for one, other in zip(np.atleast_1d(again(*given)), np.atleast_1d(want), strict=True):
            np.testing.assert_array_equal(one, other)


def test_reductions_that_do_the_same_are_the_same_program() -> None:
    assert of_rows("sum").same_program(of_rows("sum"))
    assert not of_rows("var", ddof=1).same_program(of_rows("var", ddof=0))
