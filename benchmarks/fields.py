"""Functions that make grids of their own, of numbers and of small arrays, under `sl.jit` as it is.

Nothing is asked for but the decorator. The first two calls are the function's own, which tells that they take long;
the third one is traced. What is measured is as in `steps`: the function as written, its first call, and later ones,
when all has moved to C, with the memory that arrays take at their peak.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.steps import measured, table

__all__ = ["run", "table"]


def ripples(n: int) -> Any:
    """A damped wave around the middle."""
    x, y = np.meshgrid(np.linspace(-9, 9, n), np.linspace(-9, 9, n))
    r = np.sqrt(x * x + y * y)
    return np.sin(3 * r) / (1 + r * r)


def bumps(n: int) -> Any:
    """Eight bumps, added up."""
    rows, columns = np.mgrid[:n, :n]
    total = np.zeros((n, n))
    for k in range(8):
        at = n * (k + 1) / 10, n * (3 * k % 8 + 1) / 10
        total += np.exp(-((columns - at[0]) ** 2 + (rows - at[1]) ** 2) / (n * n / 50))
    return total


def potential(charges: Any, n: int) -> Any:
    """The potential of a few charges on a grid."""
    x, y = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n))
    found = np.zeros((n, n))
    for at_x, at_y, charge in charges:
        found += charge / np.sqrt((x - at_x) ** 2 + (y - at_y) ** 2 + 1e-3)
    return found


def points_that_stay(n: int) -> Any:
    """The set of Mandelbrot, twelve steps."""
    y, x = np.ogrid[-1.4 : 1.4 : n * 1j, -2 : 0.8 : n * 1j]
    c = x + 1j * y
    z, count = np.zeros(c.shape, complex), np.zeros(c.shape, np.int32)
    for _ in range(12):
        stays = (z.real * z.real + z.imag * z.imag) < 4
        count += stays
        z = np.where(stays, z * z + c, z)
    return count


def a_line(n: int) -> Any:
    """A function of a fine line, as for an integral."""
    x = np.linspace(0, 10, n * n)
    return np.sqrt(x) * (x - 5) ** 2 / (1 + x * x)


def functions(size: int) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """What is measured, by what is said of it, with its arguments."""
    charges = np.random.default_rng(0).random((8, 3)) * 2 - 1
    return {
        "ripples": (ripples, (size,)),
        "eight bumps": (bumps, (size,)),
        "the potential of eight charges": (potential, (charges, size)),
        "points that stay, twelve steps": (points_that_stay, (size,)),
        "a function of a fine line": (a_line, (size,)),
    }


def run(quick: bool) -> dict[str, dict[str, float]]:
    """The times of each function."""
    size, rounds = (300, 3) if quick else (1500, 5)
    return {name: measured(*each, rounds) for name, each in functions(size).items()}
