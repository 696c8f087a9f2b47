"""Array code of applications under `sl.jit`, as people wrote it: options, distances, bodies, waves, currents, contrast.

The first four are of the kinds that Mozart (Palkar and Zaharia, 2019) measured with NumPy: elementwise chains, sums
over all pairs, and stencils by `np.roll`. Then come the vorticity that oceanographers take of models on a staggered
grid, and the local contrast of a picture (much as Jarrett et al., 2009, normalise it), whose edges are reflected.
Nothing is described or scheduled by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Case, Side, installed
from benchmarks.rows import under_jit

Function = Callable[..., Array]

RATE, VOLATILITY = 0.02, 0.3
HERE = (0.7098, 1.2390)
"""A latitude and a longitude, in radians."""
RADIUS_OF_EARTH = 6371.0
GRAVITY, DEPTH, STEP = 9.81, 100.0, 0.01
SOFTENING = 1e-3
AROUND, CONSTANT = 3, 0.01
"""How far surroundings reach, and what keeps noise down where nothing is to be seen."""
STEPS = 5
"""Calls of a few milliseconds that follow each other, as steps of a simulation do: a core that slept while other sides
ran wakes up for the first."""

# The functions --------------------------------------------------------------------------------------------------------


def normal(x: Array) -> Array:
    """The normal distribution up to x, by the polynomial of Abramowitz and Stegun, 26.2.17."""
    k = 1 / (1 + 0.2316419 * np.abs(x))
    tail = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    below = 1 - np.exp(-0.5 * x * x) * 0.3989422804014327 * tail
    return np.where(x >= 0, below, 1 - below)


def black_scholes(price: Array, strike: Array, years: Array) -> Array:
    """What options to buy are worth."""
    spread = VOLATILITY * np.sqrt(years)
    first = (np.log(price / strike) + (RATE + 0.5 * VOLATILITY * VOLATILITY) * years) / spread
    return price * normal(first) - strike * np.exp(-RATE * years) * normal(first - spread)


def haversine(latitude: Array, longitude: Array) -> Array:
    """Distances on a sphere from here, in kilometres."""
    half_y = np.sin((latitude - HERE[0]) / 2)
    half_x = np.sin((longitude - HERE[1]) / 2)
    a = half_y * half_y + np.cos(HERE[0]) * np.cos(latitude) * half_x * half_x
    return np.asarray(RADIUS_OF_EARTH * 2 * np.arcsin(np.sqrt(a)))


def n_body(x: Array, y: Array, z: Array, mass: Array) -> Array:
    """The accelerations of bodies that attract each other, from all pairs."""
    dx, dy, dz = (each - each[:, None] for each in (x, y, z))
    squared = dx * dx + dy * dy + dz * dz + SOFTENING
    force = mass / (squared * np.sqrt(squared))
    return np.stack([(force * each).sum(axis=1) for each in (dx, dy, dz)])


def shallow_water(height: Array, u: Array, v: Array) -> Array:
    """One step of waves on water whose edges meet."""

    def slope(field: Array, axis: int) -> Array:
        return np.asarray((np.roll(field, -1, axis) - np.roll(field, 1, axis)) * 0.5)

    new_u = u - STEP * (GRAVITY * slope(height, 1) + u * slope(u, 1) + v * slope(u, 0))
    new_v = v - STEP * (GRAVITY * slope(height, 0) + u * slope(v, 1) + v * slope(v, 0))
    new_height = height - STEP * (slope((DEPTH + height) * new_u, 1) + slope((DEPTH + height) * new_v, 0))
    return np.stack([new_height, new_u, new_v])


def vorticity(u: Array, v: Array, dx: Array, dy: Array, area: Array) -> Array:
    """How much currents turn, at the corners of the cells of a grid, for each time."""
    along_x, along_y = u * dx, v * dy
    turning = (along_y - np.roll(along_y, 1, axis=-1)) - (along_x - np.roll(along_x, 1, axis=-2))
    return np.asarray(turning / area)


def local_contrast(image: Array) -> Array:
    """How much brighter a picture is than its surroundings, by what is usual there: details in shadows and light."""
    n = 2 * AROUND + 1

    def mean(picture: Array) -> Array:
        padded = np.pad(picture, AROUND, mode="reflect")
        height, width = picture.shape
        rows = sum(padded[k : k + height] for k in range(n))
        return np.asarray(sum(rows[:, k : k + width] for k in range(n)) / (n * n))

    middle = mean(image)
    spread = np.sqrt(np.maximum(mean(image * image) - middle * middle, 0))
    return np.asarray((image - middle) / (spread + CONSTANT))


# The arrays -----------------------------------------------------------------------------------------------------------


def _random(*shape: int, low: float = 0.0, high: float = 1.0, dtype: Any = np.float64) -> Array:
    return np.random.default_rng(len(shape)).uniform(low, high, shape).astype(dtype)


def by_elements(function: Function) -> Function | None:
    """The same function as a loop over elements, by numba, where that is how one would write it."""
    import math

    import numba

    @numba.vectorize(fastmath=True)  # type: ignore[untyped-decorator]
    def prices(price: float, strike: float, years: float) -> float:
        spread = VOLATILITY * math.sqrt(years)
        first = (math.log(price / strike) + (RATE + 0.5 * VOLATILITY * VOLATILITY) * years) / spread
        worth = 0.0
        for x, factor in ((first, price), (first - spread, -strike * math.exp(-RATE * years))):
            k = 1 / (1 + 0.2316419 * abs(x))
            tail = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
            above = 0.3989422804014327 * math.exp(-0.5 * x * x) * tail
            worth += factor * (1 - above if x >= 0 else above)
        return worth

    @numba.vectorize(fastmath=True)  # type: ignore[untyped-decorator]
    def distances(latitude: float, longitude: float) -> float:
        half_y, half_x = math.sin((latitude - HERE[0]) / 2), math.sin((longitude - HERE[1]) / 2)
        a = half_y * half_y + math.cos(HERE[0]) * math.cos(latitude) * half_x * half_x
        return RADIUS_OF_EARTH * 2 * math.asin(math.sqrt(a))

    loops: dict[Function, Function] = {black_scholes: prices, haversine: distances}
    return loops.get(function)


def sides(function: Function, *arrays: Array) -> list[Side]:
    """NumPy as written, and what `sl.jit` makes of it: with NumPy's loops and in C."""
    fast = sl.jit(workers=1, native=True, fast=True)(function)
    everyone = [
        Side("NumPy as written", partial(function, *arrays)),
        *under_jit(function, *arrays, name="sl.jit"),
        Side("sl.jit, native, fast", partial(fast, *arrays)),
    ]
    loop = by_elements(function) if installed("numba") else None
    if loop is not None:
        everyone.append(Side("numba, a loop by hand", partial(loop, *arrays)))
    return everyone


def cases(quick: bool = False) -> list[Case]:
    """Each workload, on arrays that no cache holds."""
    n, bodies, grid, times = (100_000, 300, 300, 3) if quick else (4_000_000, 1500, 2000, 12)
    options = (_random(n, low=50, high=150), _random(n, low=50, high=150), _random(n, low=0.1, high=2))
    places = (_random(n, low=-1.5, high=1.5), _random(n, low=-3, high=3))
    masses = tuple(_random(bodies, low=-1, high=1) + k for k in range(4))
    waves = tuple(_random(grid, grid, low=-0.1, high=0.1) for _ in range(3))
    lengths = tuple(_random(grid // 2, grid // 2, low=0.5, high=2) for _ in range(3))
    currents = tuple(_random(times, grid // 2, grid // 2, low=-1) for _ in range(2))
    picture = _random(2 * grid, 2 * grid, dtype=np.float32)
    given: dict[str, tuple[Function, tuple[Array, ...]]] = {
        f"Black-Scholes, {n} options": (black_scholes, options),
        f"haversine, {n} places": (haversine, places),
        f"n-body, {bodies} bodies": (n_body, masses),
        f"shallow water, {grid} x {grid}": (shallow_water, waves),
        f"vorticity, {times} x {grid // 2} x {grid // 2}": (vorticity, (*currents, *lengths)),
        f"local contrast, {2 * grid} x {2 * grid}": (local_contrast, (picture,)),
    }
    return [
        Case(
            name,
            partial(sides, function, *arrays),
            sum(each.nbytes for each in arrays),
            repeats=STEPS if function is n_body else 1,
        )
        for name, (function, arrays) in given.items()
    ]
