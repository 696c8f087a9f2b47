"""Bools whose bytes are not just 0 and 1, as those of views and what SciPy writes: any byte but 0 is True."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from natively import on_inputs
from random_arithmetic import plane
from traced import PIECES, assert_same, jit

import slinky as sl

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "number": lambda m, k, a: m * 1,
    "equal": lambda m, k, a: (m == k) * 1,
    "less": lambda m, k, a: (m < k) * 1,
    "xor": lambda m, k, a: (m ^ k) * 1,
    "and": lambda m, k, a: (m & k) * 1,
    "not": lambda m, k, a: ~m * 1,
    "maximum": lambda m, k, a: np.maximum(m, k) * 1,
    "product": lambda m, k, a: a * m,
    "chosen": lambda m, k, a: np.where(a > 0, m, k) * 1,
    "choice": lambda m, k, a: np.where(m, a, 0),
    "converted": lambda m, k, a: m.astype(np.float32) * 2,
    "sum": lambda m, k, a: m.sum(axis=0) * 2,
    "sum of numbers": lambda m, k, a: (m * 1).sum(axis=1),
    "mean": lambda m, k, a: m.mean(axis=1) * 2,
    "largest": lambda m, k, a: (m.max(axis=0), a.max(axis=0) * 2),
    "least": lambda m, k, a: (m.min(axis=1), a.min(axis=1) * 2),
    "any": lambda m, k, a: m.any(axis=0) * 1,
    "all": lambda m, k, a: m.all(axis=1) * 1,
    "one row": lambda m, k, a: m[:1] * a,
    "one column": lambda m, k, a: m[:, :1] * a,
    "turned": lambda m, k, a: m[::-1] * 1 + m[:, ::-1],
    "rolled": lambda m, k, a: np.roll(m, 1, 0) * 1 + m,
    "padded": lambda m, k, a: np.pad(m, 1) * 1,
    "concatenated": lambda m, k, a: np.concatenate([m, k]) * 1,
    "filtered": lambda m, k, a: sl.ndimage.correlate(m, np.ones((3, 3))) * 1,
}


def bools(rows: int, columns: int, by: int) -> Any:
    """Bools of bytes 0, `by` and twice that."""
    values = np.random.default_rng(by).integers(0, 3, (rows, columns))
    return (values * by).astype(np.uint8).view(np.bool_)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("native", [pytest.param(True, marks=needs_compiler), False], ids=["C", "NumPy"])
def test_any_byte_but_0_is_true(name: str, native: bool) -> None:
    """All that understands bools takes them by NumPy's rule."""
    m, k = bools(70, 90, 100), bools(70, 90, 7)
    a = np.random.default_rng(1).standard_normal((70, 90))
    f = FUNCTIONS[name]
    for options in ({}, {"exact": True}):
        got, want = jit(f, machine=PIECES, native=native, **options)(m, k, a), f(m, k, a)
        assert_same(got, want, rounded=True)
        if isinstance(want, tuple):
            assert_same(got[0].view(np.uint8), want[0].view(np.uint8))


@needs_compiler
def test_down_to_the_element() -> None:
    """Calls of one element are expressions in the loop, which take bools in the same way."""
    p, _ = on_inputs(lambda m, k: (m == k) * np.int32(3), [plane("m", np.bool_), plane("k", np.bool_)])
    p = sl.split_loop(sl.split_loop(p, "term.y", 1), "term.x", 1)
    m, k, out = bools(9, 8, 100), bools(9, 8, 7), np.zeros((9, 8), np.int32)
    p.run(m, k, out, backend="native")
    np.testing.assert_array_equal(out, (m == k) * np.int32(3))
