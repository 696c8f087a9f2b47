"""Arithmetic that takes as long as the functions in it: Black-Scholes prices, and distances on a sphere, on float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import slinky as sl
from benchmarks.harness import Array, Case, Side, installed

Bounds = tuple[tuple[float, float], ...]


def call_price(spot: Array, strike: Array, years: Array, rate: float = 0.03, volatility: float = 0.3) -> Array:
    """The price of a call option (Black and Scholes), with the normal distribution by a polynomial (Hastings, 1955)."""
    spread = volatility * np.sqrt(years)
    above = (np.log(spot / strike) + (rate + volatility * volatility / 2) * years) / spread
    return spot * normal(above) - strike * np.exp(-rate * years) * normal(above - spread)


def normal(x: Array) -> Array:
    """How likely a number of the normal distribution is below x."""
    t = 1 / (1 + 0.2316419 * np.abs(x))
    terms = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = 0.3989422804014327 * np.exp(-0.5 * x * x) * terms
    return np.where(x > 0, 1 - tail, tail)


def haversine(north: Array, east: Array, other_north: Array, other_east: Array) -> Array:
    """The distance between places on the earth, in kilometres, of angles in radians."""
    up, across = np.sin((other_north - north) / 2), np.sin((other_east - east) / 2)
    return 2 * 6371.0 * np.arcsin(np.sqrt(up * up + np.cos(north) * np.cos(other_north) * across * across))


def with_numba(function: Callable[..., Array], arrays: list[Array]) -> Callable[[], Array]:
    """The same function as a loop over elements."""
    import math

    import numba

    @numba.vectorize(fastmath=True)  # type: ignore[untyped-decorator]
    def prices(spot: float, strike: float, years: float) -> float:
        spread = 0.3 * math.sqrt(years)
        above = (math.log(spot / strike) + (0.03 + 0.3 * 0.3 / 2) * years) / spread
        price = 0.0
        for x, factor in ((above, spot), (above - spread, -strike * math.exp(-0.03 * years))):
            t = 1 / (1 + 0.2316419 * abs(x))
            terms = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
            tail = 0.3989422804014327 * math.exp(-0.5 * x * x) * terms
            price += factor * (1 - tail if x > 0 else tail)
        return price

    @numba.vectorize(fastmath=True)  # type: ignore[untyped-decorator]
    def distances(north: float, east: float, other_north: float, other_east: float) -> float:
        up, across = math.sin((other_north - north) / 2), math.sin((other_east - east) / 2)
        return 2 * 6371.0 * math.asin(math.sqrt(up * up + math.cos(north) * math.cos(other_north) * across * across))

    loop = prices if function is call_price else distances
    return lambda: np.asarray(loop(*arrays))


def cases(quick: bool) -> Iterator[Case]:
    """Both, of as many elements."""
    count = 100_000 if quick else 2_000_000
    ranges = {
        call_price: ((50, 150), (50, 150), (0.1, 2)),
        haversine: ((-1.5, 1.5), (-3, 3), (-1.5, 1.5), (-3, 3)),
    }
    for function, bounds in ranges.items():

        def make(
            function: Callable[..., Array] = function, bounds: tuple[tuple[float, float], ...] = bounds
        ) -> list[Side]:
            random = np.random.default_rng(1)
            arrays = [random.uniform(*each, count) for each in bounds]
            usual = sl.jit(workers=1, smallest=0)(function)
            native = sl.jit(workers=1, smallest=0, native=True)(function)
            fast = sl.jit(workers=1, smallest=0, native=True, fast=True)(function)
            sides = [
                Side("NumPy as written", lambda: function(*arrays)),
                Side("sl.jit", lambda: usual(*arrays)),
                Side("sl.jit, native", lambda: native(*arrays)),
                Side("sl.jit, native, fast", lambda: fast(*arrays)),
            ]
            if installed("numba"):
                sides.append(Side("numba, a loop by hand", with_numba(function, arrays)))
            return sides

        yield Case(f"{function.__name__} of {count:,} float64", make)
