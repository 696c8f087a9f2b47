"""What tests of reads beyond edges share: stencils over extended inputs, and the extension element by element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from judge_copies import stands_for
from random_copies import RULES

import slinky as sl

Range = tuple[int, int]

MODES = tuple(RULES)
DIMS = sl.variables("w z y x")


def beyond(array: np.ndarray, box: Sequence[Range], modes: Sequence[str | None], value: int = 0) -> np.ndarray:
    """A box of the infinite extension of an array whose coordinates begin at 0, element by element."""
    found = np.empty([max(hi - lo + 1, 0) for lo, hi in box], array.dtype)
    for point in np.ndindex(*found.shape):
        at = [
            k + lo if mode is None else stands_for(k + lo, 0, n - 1, RULES[mode])
            for k, (lo, _), n, mode in zip(point, box, array.shape, modes, strict=True)
        ]
        found[point] = value if None in at else array[tuple(at)]
    return found


def weighted(array: np.ndarray, out: np.ndarray) -> None:
    """Sums of all windows, each element with a weight of its place."""
    shape = [n - m + 1 for n, m in zip(array.shape, out.shape, strict=True)]
    out[...] = 0
    for place in np.ndindex(*shape):
        part = array[tuple(slice(k, k + n) for k, n in zip(place, out.shape, strict=True))]
        out += weights(shape)[place] * part


def weights(shape: Sequence[int]) -> np.ndarray:
    """Different weights for the places of a window."""
    return (np.arange(np.prod(shape, dtype=int)) % 5 + 1).reshape(shape)


def around(dims: Sequence[sl.Variable], before: Sequence[Any], after: Sequence[Any]) -> tuple[sl.Interval, ...]:
    """Windows around points."""
    return tuple(sl.interval(dim - lo, dim + hi) for dim, lo, hi in zip(dims, before, after, strict=True))


def filtered(rank: int, mode: Any, before: Sequence[int], after: Sequence[int], **options: Any) -> sl.Pipeline:
    """One stencil over an extended input."""
    inp, out = (sl.BufferExpr(name, np.int64, rank) for name in ("inp", "out"))
    dims = DIMS[:rank]
    sl.Func(weighted, [inp.extended(mode, **options)[around(dims, before, after)]], [out[dims]], name="filter")
    return sl.build_pipeline([inp], [out])


def run(p: sl.Pipeline, *arrays: np.ndarray | sl.Buffer, shape: Sequence[int], lo: Sequence[int] = (), **scalars: int):
    """What a pipeline gives, whichever way it is run."""
    found = []
    for options in ({}, {"backend": "interpreter"}, {"checked": True}):
        out = np.full(shape, -77)
        p.run(*arrays, sl.Buffer(out, min=tuple(lo) or (0,) * len(shape)), **options, **scalars)
        found.append(out)
    out = np.full(shape, -77)
    p(*arrays, sl.Buffer(out, min=tuple(lo) or (0,) * len(shape)), **scalars)
    for other in found:
        np.testing.assert_array_equal(out, other)
    return out


def random(shape: Sequence[int]) -> np.ndarray:
    """Small numbers."""
    return np.random.default_rng(len(shape)).integers(-50, 50, shape)
