"""What tests of traced functions share: comparing them with plain NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import slinky as sl

MACHINE = sl.Machine()
PIECES = sl.Machine(near_bytes=256, shared_bytes=512, memory_bandwidth=1e6, shared_bandwidth=1e7, call_seconds=1e-9)
"""A machine whose caches are so small, and whose calls cost so little, that small arrays go by pieces."""


def jit(function: Callable[..., Any], **options: Any) -> Any:
    """The function traced, also for the smallest arrays, and scheduled for the same machine everywhere."""
    return sl.jit(**{"smallest": 0, "workers": 1, "machine": MACHINE, **options})(function)


def for_c(function: Callable[..., Any]) -> Any:
    """The function lowered to the funcs that loops in C are made of, which run by NumPy's, by pieces."""
    traced = jit(function, machine=PIECES)
    traced._chooser.runs_loops = lambda: True
    return traced


def assert_same(got: Any, want: Any, *, rounded: bool = False) -> None:
    """The same values, dtypes, shapes, and kinds of containers and scalars."""
    assert type(got) is type(want), (type(got), type(want))
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            assert_same(one, other, rounded=rounded)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            assert_same(got[key], want[key], rounded=rounded)
    elif isinstance(want, (np.ndarray, np.generic)):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        if rounded and want.dtype.kind in "fc":
            precise = want.dtype in (np.float64, np.complex128)
            np.testing.assert_allclose(got, want, rtol=1e-10 if precise else 3e-4, atol=1e-9 if precise else 1e-5)
        else:
            np.testing.assert_array_equal(got, want, strict=True)
    else:
        assert got == want


def assert_understood(function: Any, arrays: Iterable[Any], machine: sl.Machine, *, rounded: bool) -> None:
    """With `strict`, where what is not understood is an error, a function gives what NumPy gives, if that gives it."""
    traced = jit(function, strict=True, machine=machine)
    for array in arrays:
        try:
            want = function(array)
        except (TypeError, ValueError, IndexError):
            continue
        assert_same(traced(array), want, rounded=rounded)


def assert_traced(function: Any, *arrays: Any, traces: int = 1, **named: Any) -> None:
    """A call gives what the plain function gives, by a pipeline; so many traces are kept then."""
    assert_same(function(*arrays, **named), function.__wrapped__(*arrays, **named))
    assert kept(function) == traces


def kept(function: Any) -> int:
    """How many traces a function keeps."""
    return sum(map(len, function._traces.by_kind.values()))


def image(*shape: int, dtype: Any = np.float32) -> Any:
    """Random numbers, also negative ones."""
    random = np.random.default_rng(sum(shape))
    values = random.integers(-50, 50, size=shape)
    return (values if np.dtype(dtype).kind in "iufc" and np.dtype(dtype).kind != "u" else abs(values)).astype(dtype)


def sharpen(photo: Any, amount: float = 1.5) -> Any:
    """A function as users write them: a stencil with padding, and arithmetic with a number."""
    padded = np.pad(photo, 1, mode="edge")
    soft = (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]) / 4
    return np.clip(photo + amount * (photo - soft), 0, 1)
