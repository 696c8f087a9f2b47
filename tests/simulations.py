"""Steps of simulations, and how functions of them are run: what tests of steps and of iterations share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from traced import MACHINE, PIECES

Array = np.ndarray[Any, Any]

OPTIONS = [
    pytest.param({"machine": MACHINE}, id="whole"),
    pytest.param({"machine": PIECES}, id="by pieces"),
    pytest.param({"machine": PIECES, "native": True}, id="native", marks=needs_compiler),
]


def field(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).integers(-9, 9, shape) / 4


def around(a: Any) -> Any:
    return np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a


def heat(u: Any, steps: int, by: float = 0.125) -> Any:
    for _ in range(steps):
        new = u.copy()
        inner = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + by * inner
        u = new
    return u
