"""The morphology of binary images, as far as it is local: a fixed number of iterations, a func for each."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from slinky.frontend.fixed import fixed
from slinky.frontend.kernels import Kernel, Pair, Understood, rank_of
from slinky.frontend.ndimage.efforts import effort_of_each
from slinky.frontend.ndimage.linear import flipped_origin
from slinky.frontend.ndimage.lines import MOST_TERMS, is_known_in_c
from slinky.frontend.ndimage.steps import (
    Array,
    NotByPiecesError,
    Output,
    all_axes,
    applied,
    in_rank,
    local_filter,
    origins_in_rank,
    run,
    scipy_ndimage,
    window,
)

_BOOL = np.dtype(bool)


@attrs.frozen
class _Masked:
    """What was made, where a mask is; elsewhere what was there."""

    dtype: np.dtype[Any]

    def __call__(self, made: Array, before: Array, mask: Array) -> Array:
        found: Array = np.where(mask != 0, made != 0, before != 0)
        return found.astype(self.dtype)


@local_filter
def binary_erosion(
    input: Any,
    structure: Any = None,
    iterations: int = 1,
    mask: Any = None,
    output: Any = None,
    border_value: int = 0,
    origin: Any = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> Any:
    """Where all of a structure is inside, as `scipy.ndimage.binary_erosion` gives it.

    `iterations` must be 1 or more for what is described: until nothing changes is not local.
    """
    return _iterated(input, structure, iterations, mask, output, border_value, origin, axes, "binary_erosion")


@local_filter
def binary_dilation(
    input: Any,
    structure: Any = None,
    iterations: int = 1,
    mask: Any = None,
    output: Any = None,
    border_value: int = 0,
    origin: Any = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> Any:
    """Where some of a structure is inside, as `scipy.ndimage.binary_dilation` gives it.

    `iterations` must be 1 or more for what is described: until nothing changes is not local.
    """
    return _iterated(input, structure, iterations, mask, output, border_value, origin, axes, "binary_dilation")


@local_filter
def binary_opening(
    input: Any,
    structure: Any = None,
    iterations: int = 1,
    output: Any = None,
    origin: Any = 0,
    mask: Any = None,
    border_value: int = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> Any:
    """Erosion, then dilation, as `scipy.ndimage.binary_opening` gives it."""
    eroded = _iterated(input, structure, iterations, mask, Output(_BOOL), border_value, origin, axes, "binary_erosion")
    return _iterated(eroded, structure, iterations, mask, output, border_value, origin, axes, "binary_dilation")


@local_filter
def binary_closing(
    input: Any,
    structure: Any = None,
    iterations: int = 1,
    output: Any = None,
    origin: Any = 0,
    mask: Any = None,
    border_value: int = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> Any:
    """Dilation, then erosion, as `scipy.ndimage.binary_closing` gives it."""
    dilated = _iterated(
        input, structure, iterations, mask, Output(_BOOL), border_value, origin, axes, "binary_dilation"
    )
    return _iterated(dilated, structure, iterations, mask, output, border_value, origin, axes, "binary_erosion")


def _structure(given: Any, axes: tuple[int, ...], rank: int) -> Array:
    own = scipy_ndimage().generate_binary_structure(len(axes), 1) if given is None else np.array(given, bool)
    return in_rank(own, axes, rank)


def _iterated(
    image: Any,
    structure: Any,
    iterations: int,
    mask: Any,
    output: Output,
    border_value: int,
    origin: Any,
    axes: Any,
    name: str,
) -> Any:
    if iterations < 1:
        raise NotByPiecesError(
            f"sl.ndimage.{name}: iterations={iterations} goes on until nothing changes, which depends on all of the "
            f"image; give a number of iterations, or compute it on arrays"
        )
    rank = rank_of(image)
    chosen = all_axes(axes, rank)
    own = _structure(structure, chosen, rank)
    origins = origins_in_rank(origin, chosen, rank)
    halo = _halo(own, origins, name)
    for n in range(int(iterations)):
        where = output if n == iterations - 1 else Output(_BOOL)
        made_in = where if mask is None else Output(_BOOL)
        function = _Binary(name, made_in.dtype, fixed(own), tuple(origins))
        made = applied(image, function, name, made_in, halo=halo, modes=["constant"] * rank, cval=bool(border_value))
        if mask is not None:
            made = run(Kernel(_Masked(where.dtype), "masked", dtype=where.dtype), (made, image, mask), where)
        image = made
    return image


def _halo(structure: Array, origins: list[int], name: str) -> tuple[Pair, ...]:
    turned = origins if name == "binary_erosion" else list(map(flipped_origin, structure.shape, origins))
    return tuple(map(window, structure.shape, turned))


@attrs.frozen
class _Binary(Understood):
    """An erosion or dilation of a piece, as a dtype: SciPy gives bools unless it is given an array."""

    name: str
    dtype: np.dtype[Any]
    structure: Any
    origin: tuple[int, ...]

    def __call__(self, piece: Array) -> Array:
        target = np.empty(piece.shape, self.dtype)
        function = getattr(scipy_ndimage(), self.name)
        function(piece, self.structure.array, output=target, origin=self.origin)
        return target

    @property
    def effort_of_each(self) -> float | None:
        """How long it computes each element of a piece."""
        return effort_of_each(self.name, self.structure.array.size)

    def term(self, at: Callable[[tuple[int, ...]], Any], rank: int, dtype: np.dtype[Any]) -> Any:
        """The same as arithmetic; None of structures that are empty or large, and of dtypes that C does not know."""
        turned = self.structure.array if self.name == "binary_erosion" else np.flip(self.structure.array)
        places = [tuple(map(int, place)) for place in np.argwhere(turned)]
        if not 0 < len(places) <= MOST_TERMS or not is_known_in_c(dtype) or not is_known_in_c(self.dtype):
            return None
        inside = (np.not_equal(at(place), dtype.type(0)) for place in places)
        found = functools.reduce(np.logical_and if self.name == "binary_erosion" else np.logical_or, inside)
        return found.astype(self.dtype)


@local_filter
def binary_hit_or_miss(
    input: Any,
    structure1: Any = None,
    structure2: Any = None,
    output: Any = None,
    origin1: Any = 0,
    origin2: Any = None,
    *,
    axes: Any = None,
) -> Any:
    """Where one structure is inside, and another one outside, as `scipy.ndimage.binary_hit_or_miss` gives it."""
    rank = rank_of(input)
    chosen = all_axes(axes, rank)
    hit = _structure(structure1, chosen, rank)
    miss = np.logical_not(hit) if structure2 is None else in_rank(np.array(structure2, bool), chosen, rank)
    first = origins_in_rank(origin1, chosen, rank)
    second = first if origin2 is None else origins_in_rank(origin2, chosen, rank)
    halo = tuple(
        (max(one[0], other[0]), max(one[1], other[1]))
        for one, other in zip(map(window, hit.shape, first), map(window, miss.shape, second), strict=True)
    )
    function = _HitOrMiss(output.dtype, fixed(hit), fixed(miss), tuple(first), tuple(second))
    return applied(input, function, "binary_hit_or_miss", output, halo=halo, modes=["constant"] * rank, cval=False)


@attrs.frozen
class _HitOrMiss:
    dtype: np.dtype[Any]
    hit: Any
    miss: Any
    first: tuple[int, ...]
    second: tuple[int, ...]

    def __call__(self, piece: Array) -> Array:
        found: Array = scipy_ndimage().binary_hit_or_miss(
            piece, self.hit.array, self.miss.array, None, self.first, self.second
        )
        return found.astype(self.dtype, copy=False)

    @property
    def effort_of_each(self) -> float | None:
        """How long it computes each element of a piece."""
        return effort_of_each("binary_hit_or_miss", self.hit.array.size)


__all__ = ["binary_closing", "binary_dilation", "binary_erosion", "binary_hit_or_miss", "binary_opening"]
