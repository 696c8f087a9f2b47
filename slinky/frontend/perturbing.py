"""Which elements of a function's result change with which elements of its arrays.

Idea. The function is run on arrays, and again with some slabs of one of them changed, all elements across one axis.
What differs in the result depends on what was changed. Many slabs are changed at once, so far apart that each
difference belongs to the nearest; what the nearest is, a few slabs changed alone tell before. A difference may be
hidden: a maximum does not see a small element, a threshold sees few things. So each slab is changed several times,
before several backgrounds: by a little, to other elements, to large and to small ones.

Invariant: what is reported as read, is read, up to rounding. What is reported as not read may be read by a function
that lets it matter rarely.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.errors import ArgumentError
from slinky.frontend.foreign import RaisedError, foreign
from slinky.runtime.buffers import Array
from slinky.runtime.callbacks import are_equal

_ROUNDING = {2: 8, 4: 64}
"""How many units in the last place a result may differ without depending on what was changed, by size of the numbers;
of those that are larger, `_ROUNDING_OF_LARGE`. The tails of a gaussian are larger than that."""

_ROUNDING_OF_LARGE = 512

BLOCK = 8
"""How many neighbouring slabs are changed together to see where a difference is at all."""


@attrs.define(eq=False)
class Experiment:
    """A function, and backgrounds before which its arrays are changed. `calls` counts how often it was run."""

    function: Callable[..., Any]
    backgrounds: list[tuple[Array, ...]]
    rng: np.random.Generator
    rounds: int
    results: list[Array] = attrs.field(factory=list)
    calls: int = 0
    failures: list[str] = attrs.field(factory=list)
    differs_by_rounding: bool = False

    def run(self, *arrays: Array) -> Array:
        """The result for arrays, which are not changed. What the function raises passes through.

        Raises `ArgumentError` for what is no array of numbers.
        """
        return _checked(self._called(arrays))

    def attempt(self, *arrays: Array) -> Array:
        """The same for arrays that the function need not take. Raises `RaisedError` from what it raises."""
        with foreign():
            result = self._called(arrays)
        return _checked(result)

    def _called(self, arrays: Sequence[Array]) -> Any:
        self.calls += 1
        with np.errstate(all="ignore"):
            return self.function(*(array.copy() for array in arrays))

    def prepare(self) -> None:
        """Run it before each background, twice.

        Raises `ArgumentError` if the results have different shapes, or the function is not deterministic.
        """
        for arrays in self.backgrounds:
            result, again = self.run(*arrays), self.run(*arrays)
            if result.shape != again.shape or not are_equal(result, again):
                raise ArgumentError("probe: called twice with the same arrays, the function gives two results")
            if self.results and result.shape != self.results[0].shape:
                raise ArgumentError(
                    f"probe: the shape of the result depends on the values of the arrays, "
                    f"{self.results[0].shape} and {result.shape}; no interval says what it reads"
                )
            self.results.append(result)

    def changed(self, number: int, axis: int, slabs: Sequence[int]) -> Array:
        """Where the result changes with some slabs across an axis of an array, in any of the rounds."""
        found = np.zeros(self.results[0].shape, bool)
        for trial in range(self.rounds):
            which = trial % len(self.backgrounds)
            arrays = list(self.backgrounds[which])
            arrays[number] = self._perturbed(arrays[number], axis, slabs, trial)
            try:
                result = self.attempt(*arrays)
            except RaisedError as error:  # what it does with strange values is its own affair
                self.failures.append(str(error))
                continue
            if result.shape != found.shape:
                raise ArgumentError(
                    f"probe: the shape of the result depends on the values of the arrays, {found.shape} and "
                    f"{result.shape}; no interval says what it reads"
                )
            found |= self._differs(self.results[which], result, arrays[number])
        return found

    def _perturbed(self, array: Array, axis: int, slabs: Sequence[int], trial: int) -> Array:
        """A copy in which each element of some slabs is another."""
        new = array.copy()
        index: tuple[Any, ...] = (*(slice(None),) * axis, list(slabs))
        old = new[index]
        new[index] = _others(old, array, self.rng, trial)
        return new

    def _differs(self, a: Array, b: Array, given: Array) -> Array:
        """Where two results differ by more than rounding."""
        if a.dtype.kind not in "fc":
            return np.asarray(a.view(np.int64) != b.view(np.int64)) if a.dtype.kind in "mM" else np.asarray(a != b)
        with np.errstate(all="ignore"):
            nan = np.isnan(a) != np.isnan(b)
            gap = np.abs(a - b)
            size = np.maximum(np.abs(a), np.abs(b))
            finite = size[np.isfinite(size)]
            largest = float(finite.max()) if finite.size else 0.0
            if given.dtype.kind in "iufc" and given.size:
                largest = min(largest, float(np.max(np.abs(given.astype(np.complex128)))) + 1)
            units = _ROUNDING.get(np.finfo(a.dtype).dtype.itemsize, _ROUNDING_OF_LARGE)
            limit = units * np.finfo(a.dtype).eps * (size + largest)
            exact = (a != b) & ~(np.isnan(a) & np.isnan(b))
            found = nan | (exact & ~(gap <= limit))
            self.differs_by_rounding |= bool(np.any(exact & ~found))
            return np.asarray(found)


def _checked(result: Any) -> Array:
    """A result, if it is an array of numbers. Raises `ArgumentError` else."""
    if isinstance(result, (tuple, list)) or result is None:
        raise ArgumentError(
            f"probe expects a function that returns an array, got {type(result).__name__}; of several results, "
            f"probe one at a time: lambda a: function(a)[0]"
        )
    found = np.asarray(result)
    if found.dtype.kind not in "biufcmM":
        raise ArgumentError(f"probe expects a function that returns an array of numbers, got {found.dtype}")
    return found


def _others(old: Array, array: Array, rng: np.random.Generator, trial: int) -> Array:
    """Elements in place of old ones: by turns other ones like them, large ones, small ones, and slightly different."""
    turn = trial % 5
    match array.dtype.kind:
        case "b":
            return np.asarray(~old) if turn % 2 else rng.integers(0, 2, old.shape).astype(bool)
        case "i" | "u":
            return _other_integers(old, array, rng, turn)
        case "f" | "c":
            return _other_floats(old, array, rng, turn)
        case _:
            return rng.permutation(array.reshape(-1))[: old.size].reshape(old.shape)


def _other_integers(old: Array, array: Array, rng: np.random.Generator, turn: int) -> Array:
    limits = np.iinfo(array.dtype)
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 1)
    shift = rng.integers(1, 10 ** int(rng.integers(1, 4)), old.shape)
    if turn == 1:
        return np.asarray(np.minimum(high + shift, limits.max)).astype(array.dtype)
    if turn == 3:
        return np.asarray(np.maximum(low - shift, limits.min)).astype(array.dtype)
    room = max(high - low, 1)
    other = rng.integers(low, high + 1, old.shape)
    return np.where(other == old, low + (other - low + 1) % (room + 1), other).astype(array.dtype)


def _other_floats(old: Array, array: Array, rng: np.random.Generator, turn: int) -> Array:
    finite = array[np.isfinite(array)]
    real = finite.real if finite.size else np.zeros(1)
    low, high = float(real.min()), float(real.max())
    spread = (high - low) or 1.0
    random = rng.random(old.shape)
    size = 10 ** rng.uniform(0, max(3 - np.log10(max(spread, 1)), 0.5))
    new: Any
    match turn:
        case 1:
            new = high + spread * size * (0.5 + random)
        case 2:
            new = old + spread * 0.1 * (random - 0.5)
        case 3:
            new = low - spread * size * (0.5 + random)
        case _:
            new = low + spread * random
    if array.dtype.kind == "c":
        new = np.multiply(new, np.exp(2j * np.pi * rng.random(old.shape)))
    return np.asarray(new).astype(array.dtype)


KINDS = 4
"""How many sets of arrays `backgrounds_of` makes."""


def backgrounds_of(
    shapes: Sequence[tuple[int, ...]], dtypes: Sequence[np.dtype[Any]], rng: np.random.Generator
) -> list[tuple[Array, ...]]:
    """Random arrays of several kinds: between 0 and 1, around 0, growing, and of all sizes."""
    kinds: list[Callable[[tuple[int, ...]], Array]] = [
        lambda shape: rng.random(shape),
        lambda shape: rng.normal(0, 1, shape),
        lambda shape: (
            np.arange(np.prod(shape, dtype=int)).reshape(shape) / (np.prod(shape, dtype=int) or 1) * 4
            + rng.random(shape)
        ),
        lambda shape: rng.choice([-1.0, 1.0, 1.0], shape) * 10 ** rng.uniform(-2, 3, shape),
    ]
    return [
        tuple(_as_kind(kind(shape), dtype, rng) for shape, dtype in zip(shapes, dtypes, strict=True)) for kind in kinds
    ]


def _as_kind(values: Array, dtype: np.dtype[Any], rng: np.random.Generator) -> Array:
    """Random numbers as elements of a dtype."""
    match dtype.kind:
        case "b":
            return np.asarray(values > np.median(values)) if values.size else values.astype(bool)
        case "i":
            return np.asarray(np.clip(np.round(values * 40), -100, 100)).astype(dtype)
        case "u":
            return np.asarray(np.clip(np.round(np.abs(values) * 60), 0, 240)).astype(dtype)
        case "c":
            return np.asarray(values + 1j * rng.normal(0, 1, values.shape)).astype(dtype)
        case "f":
            return values.astype(dtype)
        case _:
            raise ArgumentError(f"probe makes random arrays of numbers; of {dtype}, give it arrays")
