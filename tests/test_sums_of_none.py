"""Reductions of no elements: of constant sizes, and of sizes that are scalars."""

from __future__ import annotations

import numpy as np
import pytest
from c_programs import needs_compiler

import slinky as sl

(y,) = sl.variables("y")


@needs_compiler
@pytest.mark.parametrize("backend", ["interpreter", "python", "native"])
def test_what_is_reduced_may_be_none_and_no_less(backend: str) -> None:
    """A reduction says what it is of no elements; along other dimensions a callback is given some."""
    r = sl.scalar("r")
    a, total = sl.BufferExpr("a", np.int32, 2), sl.BufferExpr("total", np.int64, 1)
    sl.reductions.reduce(np.add, a[y, sl.interval(0, r - 1)], total[y])
    p = sl.build_pipeline([a], [total])
    for n in (3, 0):
        found = np.full(2, -1)
        p.run(np.ones((2, 3), a.dtype), found, r=n, backend=backend)
        np.testing.assert_array_equal(found, [n, n])
    with pytest.raises(
        sl.CheckFailedError, match=r"the interval 0 .. r - 1 of a, read by func add, must have an extent of 0"
    ):
        p(np.ones((2, 3), a.dtype), r=-1)
