"""What tests of shared memory have in common: chains of callbacks that see where arrays lie, and runs in all ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

import slinky as sl
from slinky import ir

Array = np.ndarray
BACKENDS: list[dict[str, Any]] = [{}, {"backend": "interpreter"}, {"checked": True}, {"checked": "first"}]
WIDTH = 100


class Step:
    """A callback that adds up neighbours (as many as it reads more than it writes), and where its arrays were."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.places: list[tuple[int, ...]] = []

    def __call__(self, *operands: Array) -> None:
        """The output comes last."""
        *inputs, target = operands
        for source in inputs:
            is_in_place = (source.ctypes.data, source.shape) == (target.ctypes.data, target.shape)
            assert is_in_place or not np.shares_memory(source, target)
        self.places.append(tuple(a.ctypes.data for a in operands))
        result = np.zeros(target.shape, np.float64)
        for source in inputs:
            more = [n - m for n, m in zip(source.shape, target.shape, strict=True)]
            for offset in np.ndindex(*(m + 1 for m in more)):
                result += source[tuple(slice(o, o + n) for o, n in zip(offset, target.shape, strict=True))]
        target[...] = result + 1


def buffers(names: str, rank: int = 1, dtype: Any = np.float64) -> list[sl.BufferExpr]:
    return [sl.BufferExpr(name, dtype, rank) for name in names.split()]


def stencils(count: int, window: int = 1, dtypes: tuple[Any, ...] = (np.float64,)) -> tuple[sl.Pipeline, list[Step]]:
    """A chain of stencils s0, s1, ... from b0 to its last buffer."""
    (i,) = sl.variables("i")
    steps = [Step(f"s{n}") for n in range(count)]
    chain = [sl.BufferExpr(f"b{n}", dtypes[n % len(dtypes)], 1) for n in range(count + 1)]
    for n, step in enumerate(steps):
        sl.Func(step, [chain[n][sl.interval(i - window, i + window)]], [chain[n + 1][i]])
    return sl.build_pipeline([chain[0]], [chain[-1]]), steps


def elementwise(count: int, last_window: int = 1) -> tuple[sl.Pipeline, list[Step]]:
    """A chain f0, f1, ... of which all but the last work in place; the last reads neighbours, so nothing lies in the
    output."""
    (i,) = sl.variables("i")
    steps = [Step(f"f{n}") for n in range(count)]
    chain = [sl.BufferExpr(f"b{n}", np.float64, 1) for n in range(count + 1)]
    for n, step in enumerate(steps[:-1]):
        sl.Func(step, [chain[n][i]], [chain[n + 1][i]], in_place=True)
    sl.Func(steps[-1], [chain[-2][sl.interval(i - last_window, i + last_window)]], [chain[-1][i]])
    return sl.build_pipeline([chain[0]], [chain[-1]]), steps


def given_to(p: sl.Pipeline, width: int, reach: int) -> tuple[sl.Buffer, Array]:
    """An input that is larger by `reach` on both sides, and an output."""
    source = sl.Buffer(np.random.default_rng(width).random(width + 2 * reach), min=(-reach,))
    return source, np.zeros(width)


def require_same(p: sl.Pipeline, q: sl.Pipeline, reach: int, width: int = WIDTH) -> sl.RunStatistics:
    """Run both, in all ways, and compare; the statistics of a plan of the second."""
    source, expected = given_to(p, width, reach)
    p.run(source, expected)
    found = []
    for how in BACKENDS:
        out = np.zeros(width)
        found.append(q.run(source, out, **how))
        np.testing.assert_array_equal(out, expected)
    assert len({s.program_bytes for s in found}) == len({s.allocations for s in found}) == 1
    assert q.memory(source, np.zeros(width)) == sl.Memory(found[0].program_bytes, found[0].peak_bytes)
    return found[0]


def lines(p: sl.Pipeline) -> list[str]:
    """The lines of a program that allocate."""
    return [line.strip() for line in str(p).splitlines() if "alloc " in line]


def refusal(operation: Callable[..., Any], *arguments: Any) -> str:
    """The reason of a refusal."""
    with pytest.raises(sl.SchedulingError) as caught:
        operation(*arguments)
    return caught.value.reason


def in_memory(p: sl.Pipeline, guest: str, host: str) -> sl.Pipeline:
    """A pipeline in which a buffer lies in the memory of another, whether it can or not."""
    body = (ir.with_memory(s, ir.Within(host)) if isinstance(s, ir.Alloc) and s.buffer == guest else s
            for s in p.program.body)  # fmt: skip
    wrong = sl.Pipeline(attrs.evolve(p.program, body=tuple(body)))
    wrong.verify()
    return wrong
