"""An object with a state, and how methods are compared that change it: as they are, and traced."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
from random_arithmetic import same_bits

import slinky as sl

Array = np.ndarray[Any, Any]
jit: Any = sl.jit(smallest=0, workers=1)
SECONDS = 120
"""After so long, something hangs."""


def numbers(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).random(shape)


class Wave:
    """A membrane: what it is now, and was before."""

    def __init__(self, n: int = 12) -> None:
        self.now, self.before = numbers(n, n), numbers(n, n, seed=1)
        self.speed, self.time, self.steps = 0.3, 0.0, 0
        self.most: Any = None

    def curvature(self) -> Any:
        """Differences to the neighbours."""
        u = self.now
        return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u

    def advance(self, dt: float = 0.1) -> Any:
        """One step, by new arrays."""
        found = 2 * self.now - self.before + self.speed**2 * self.curvature()
        self.before, self.now = self.now, found
        self.time += dt
        self.steps += 1
        return found

    def smooth(self) -> Any:
        """One step, in place."""
        u = self.now
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1])
        self.before *= 0.5
        np.add(self.before, u, out=self.before)
        return u.sum()

    def swapped(self) -> None:
        """One step, from one array to another, which change places."""
        self.before[1:-1] = (self.now[2:] + self.now[:-2]) / 2
        self.now, self.before = self.before, self.now

    def stretched(self) -> None:
        """What is larger than 1 is halved, and the most is kept."""
        if self.now.max() > 1:
            self.now = self.now / 2
        self.most = self.now.max(axis=0)


def state(held: Any) -> dict[str, Any]:
    return dict(vars(held))


def same(one: Any, other: Any) -> None:
    """The same values of the same types."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        same_bits(one, other)
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key, value in one.items():
            same(value, other[key])
    elif type(one).__module__.startswith(("changing_objects", "test_")):
        same(state(one), state(other))
    else:
        assert one == other


def both(make: Callable[[], Any], method: Callable[..., Any], *given: Any, calls: int = 4) -> tuple[Any, Any]:
    """A method, called several times for an object as it is, and traced for another one."""
    plain, traced, function = make(), make(), jit(method)
    for _ in range(calls):
        same(function(traced, *given), method(plain, *given))
        same(state(traced), state(plain))
    return function, traced


def first_line(function: Any, *given: Any) -> str:
    found: str = function.explain(*given).splitlines()[0]
    return found


class Store:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.last: Any = numbers(3, 4)
        self.count, self.queue = 0, collections.deque([1])

    def put(self, value: Any) -> Any:
        self.last = value * 2
        self.count += 1
        return self.last + 1


STORE = Store()
