"""What is summed, and copied into a part of something: NumPy's bits, so it is not computed in its place there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from copy_footprints import copies_in
from random_arithmetic import same_bits
from traced import MACHINE

import slinky as sl

Function = Callable[..., Any]


def beside(a: Any, b: Any) -> Any:
    o = a * b
    return np.concatenate([o, b * 2], axis=1), o.mean(), o.sum(axis=0), o.sum(axis=1), o.std()


def powers(a: Any, b: Any) -> Any:
    out = [a * b[0], a * a * b[0]]
    return np.concatenate(out, axis=1), np.stack([o.mean() for o in out])


def turned(a: Any, b: Any) -> Any:
    o = a * b
    return np.stack([o.T, (b * 2).T]), o.sum(axis=0), o.sum(axis=1), o.var()


def last(a: Any, b: Any) -> Any:
    o = a * b
    return np.stack([o, b * 2], axis=-1), o.sum(), np.linalg.norm(o), np.add.reduce(o, axis=None)


def block(a: Any, b: Any) -> Any:
    o, p = a * b, b + 1
    return np.block([[o, p], [a + 2, b * 2]]), o.mean(), p.sum()


def assigned(a: Any, b: Any) -> Any:
    o, found = a * b, np.empty((a.shape[0], 2 * a.shape[1]), a.dtype)
    found[:, : a.shape[1]], found[:, a.shape[1] :] = o, b * 2
    return found, o.mean(), np.mean(o, where=b > 0.5)


def products(a: Any, b: Any) -> Any:
    o = a * b
    return np.hstack([o, b * 2]), np.einsum("ij,ij->", o, o), np.vdot(o, o), np.trace(o)


FUNCTIONS = [beside, powers, turned, last, block, assigned, products]


@needs_compiler
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("shape", [(64, 64), (151, 153), (37, 501)])
def test_bits_are_numpys(function: Function, dtype: Any, native: bool, shape: tuple[int, int]) -> None:
    a, b = np.random.default_rng(shape).random((2, *shape)).astype(dtype)
    traced = sl.jit(smallest=0, exact=True, native=native, workers=1, machine=MACHINE)(function)
    for one, other in zip(traced(a, b), function(a, b), strict=True):
        same_bits(one, other)


@pytest.mark.parametrize(
    ("reduction", "copies"), [(np.sum, 1), (np.mean, 1), (np.max, 0), (np.any, 0), (lambda o: np.cumsum(o, axis=1), 0)]
)
def test_only_what_is_read_in_order_is_copied(reduction: Function, copies: int) -> None:
    def parts(a: Any, b: Any) -> Any:
        o = a * 2
        return np.concatenate([o, b * 2], axis=1), reduction(o)

    a, b = np.random.default_rng(0).random((2, 30, 40))
    traced = sl.jit(smallest=0, workers=1, machine=MACHINE)(parts)
    assert len(copies_in(traced.pipeline(a, b))) == copies
    assert len(copies_in(traced.pipeline(a.astype(int), b.astype(int)))) == (copies if reduction is np.mean else 0)
