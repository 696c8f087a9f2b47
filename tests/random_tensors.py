"""Random programs of lazy tensors: arithmetic, reductions, coordinates, and views of each kind.

Each tensor comes with the array that it shall be. That of a view is read element by element at the places that the
view's equations say, by NumPy's indexing, so it shares nothing with what solves these equations. Names of dimensions
are drawn so that operands meet: a name has one size in all of a program. Floats are small integers, so that they are
the same in whatever order they are added.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from named_tensors import Array

import slinky as sl

NAMES = "abcdefghijklmnopqrstuvwxyz"
DIMS = dict(zip(NAMES, sl.dims(" ".join(NAMES)), strict=True))
SIZES = (1, 2, 3, 4, 5, 6, 7, 9)
DTYPES = (np.float64, np.float32, np.int64, np.int32, np.int16, np.uint8, np.bool_)
LARGEST = 20_000
"""No array has more elements."""

MOST = 1 << 22
"""Sums of floats are less than that, which float32 holds."""

Grid = dict[str, Array]
Place = Callable[[Grid], Any]
"""Where an element of a view is along a dimension of its source, for all of a grid."""


class Drawn(NamedTuple):
    """A tensor, the array that it shall be, and the names of its dimensions."""

    tensor: sl.Tensor
    array: Array
    dims: tuple[str, ...]


class TensorProgram:
    """A program that grows: `drawn` are its tensors, `said` what was done for them, in words."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.sizes: dict[str, int] = {}
        self.drawn: list[Drawn] = []
        self.said: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            self._input()
        for _ in range(self.random.randint(2, 9)):
            self._grow()

    def _grow(self) -> None:
        of = self.drawn[-1] if self.random.random() < 0.6 else self.random.choice(self.drawn)
        steps: list[Callable[[Drawn], None]] = [self._computed, self._computed, self._reduced]
        steps += [self._window, self._border, self._turned, self._digits, self._flat, self._joined, self._diagonal]
        steps += [self._renamed, self._repeated, self._at_a_point]
        weights = (5, 5, 4, *(1,) * 10)
        with np.errstate(all="ignore"):
            self.random.choices(steps, weights)[0](of)

    # Pieces -----------------------------------------------------------------------------------------------------------

    def _name(self, size: int, without: Sequence[str]) -> str:
        """A name for a dimension of this size."""
        known = [name for name, own in self.sizes.items() if own == size and name not in without]
        new = [name for name in NAMES if name not in self.sizes]
        if known and (not new or self.random.random() < 0.6):
            return self.random.choice(known)
        self.sizes[new[0]] = size
        return new[0]

    def _shape(self, dims: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.sizes[dim] for dim in dims)

    def _aligned(self, given: Drawn, dims: Sequence[str]) -> Array:
        """An array with its axes where a longer list of dimensions has them."""
        array = given.array.transpose([given.dims.index(dim) for dim in dims if dim in given.dims])
        return array.reshape([self.sizes[dim] if dim in given.dims else 1 for dim in dims])

    def _add(self, tensor: sl.Tensor, array: Any, dims: Sequence[str], said: str) -> None:
        array = np.asarray(array)
        if array.dtype.kind == "f" and not ((array == np.rint(array)).all() and abs(array).sum() < MOST):
            return
        self.drawn.append(Drawn(tensor, array, tuple(dims)))
        self.said.append(f"{said}: {', '.join(f'{dim} {self.sizes[dim]}' for dim in dims)}")

    def _input(self) -> None:
        dims: list[str] = []
        for _ in range(self.random.randint(0, 3)):
            dims.append(self._name(self.random.choice(SIZES), dims))
        dtype = np.dtype(self.random.choice(DTYPES))
        numbers = np.random.default_rng(self.random.randrange(1 << 30))
        array = numbers.integers(0 if dtype.kind in "ub" else -5, 2 if dtype.kind == "b" else 6, self._shape(dims))
        array = array.astype(dtype)
        if array.ndim and self.random.random() < 0.3:
            array = np.repeat(array, 2, -1)[..., ::2] if self.random.random() < 0.5 else array[::-1]
        name = f"t{len(self.drawn)}_given" if self.random.random() < 0.5 else None
        self._add(sl.Tensor(array, name=name).to(*(DIMS[dim] for dim in dims)), array, dims, f"{dtype}")

    # Arithmetic and reductions ----------------------------------------------------------------------------------------

    def _computed(self, of: Drawn) -> None:
        """Arithmetic with another tensor, a number, a coordinate, or alone."""
        kind = self.random.choice(["two", "two", "one", "number", "coordinate", "coordinate", "where", "astype"])
        ufuncs = [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.less, np.not_equal]
        ufunc = self.random.choice(ufuncs if of.array.dtype != bool else [np.add, np.multiply, np.maximum])
        other = self.random.choice(self.drawn)
        both = tuple(dict.fromkeys(of.dims + other.dims))
        if np.prod(self._shape(both)) > LARGEST:
            return
        if kind == "two" and of.array.dtype != bool != other.array.dtype:
            array = ufunc(self._aligned(of, both), self._aligned(other, both))
            self._add(ufunc(of.tensor, other.tensor), array, both, ufunc.__name__)
        elif kind == "where":
            array = np.where(self._aligned(of, both) > 1, self._aligned(of, both), self._aligned(other, both))
            self._add(np.where(of.tensor > 1, of.tensor, other.tensor), array, both, "where")
        elif kind == "number":
            self._add(ufunc(of.tensor, 2), ufunc(of.array, 2), of.dims, f"{ufunc.__name__} with 2")
        elif kind == "coordinate" and of.dims:
            dim = self.random.choice(of.dims)
            along = np.arange(self.sizes[dim]).reshape([-1 if each == dim else 1 for each in of.dims])
            self._add(ufunc(DIMS[dim], of.tensor), ufunc(along, of.array), of.dims, f"{ufunc.__name__} with {dim}")
        elif kind == "astype":
            dtype = self.random.choice([np.float64, np.int32, np.bool_])
            self._add(of.tensor.astype(dtype), of.array.astype(dtype), of.dims, "astype")
        else:
            one = self.random.choice([np.absolute, np.sign, np.square] if of.array.dtype != bool else [np.logical_not])
            self._add(one(of.tensor), one(of.array), of.dims, one.__name__)

    def _reduced(self, of: Drawn) -> None:
        if not of.dims:
            return
        over = self.random.sample(of.dims, self.random.randint(1, len(of.dims)))
        kept = [dim for dim in of.dims if dim not in over]
        axes = tuple(of.dims.index(dim) for dim in over)
        names = ["sum", "sum", "max", "min", "any", "all", "mean", "argmax"]
        name = self.random.choice(names if of.array.dtype.kind == "f" else [*names, "prod"])
        if name == "argmax":
            over, kept, axes = over[:1], [dim for dim in of.dims if dim != over[0]], axes[:1]
        options = {"reassociate": True} if name in ("sum", "mean", "prod") and self.random.random() < 0.6 else {}
        found = getattr(of.tensor, name)(*(DIMS[dim] for dim in over), **options)
        axis: Any = axes[0] if name == "argmax" else axes
        self._add(found, getattr(np, name)(of.array, axis=axis), kept, f"{name} over {' '.join(over)}")

    # Views ------------------------------------------------------------------------------------------------------------

    def _view(
        self,
        of: Drawn,
        dims: Sequence[str],
        places: dict[str, Place],
        constraints: Sequence[tuple[Any, Any]],
        said: str,
        fill: int | None = None,
    ) -> None:
        """A view with these dimensions; `places` are those that are not kept, by dimensions of the source."""
        shape = self._shape(dims)
        if np.prod(shape) > LARGEST:
            return
        tensor = of.tensor.to(*(DIMS[dim] for dim in dims), constraints=constraints, outside=fill)
        grid = dict(zip(dims, np.meshgrid(*map(np.arange, shape), indexing="ij"), strict=True)) if dims else {}
        index = [np.broadcast_to(places[dim](grid) if dim in places else grid[dim], shape) for dim in of.dims]
        inside = np.ones(shape, bool)
        for each, size in zip(index, of.array.shape, strict=True):
            inside &= (each >= 0) & (each < size)
        array = of.array[tuple(np.where(inside, each, 0) for each in index)]
        if fill is not None:
            array = np.where(inside, array, of.array.dtype.type(fill))
        assert inside.all() or fill is not None
        self._add(tensor, array, dims, said)

    def _split_off(self, of: Drawn) -> tuple[str, int, list[str]] | None:
        """A dimension, its size, and the others."""
        if not of.dims:
            return None
        dim = self.random.choice(of.dims)
        return dim, self.sizes[dim], [each for each in of.dims if each != dim]

    def _shuffled(self, *dims: str) -> list[str]:
        return self.random.sample(dims, len(dims))

    def _window(self, of: Drawn) -> None:
        if (found := self._split_off(of)) is None:
            return
        dim, size, others = found
        step, gap, length = self.random.randint(1, 3), self.random.randint(1, 2), self.random.randint(1, min(3, size))
        if gap * (length - 1) >= size:
            return
        count = (size - 1 - gap * (length - 1)) // step + 1
        y = self._name(count, of.dims)
        k = self._name(length, (*of.dims, y))
        said = [(DIMS[dim], step * DIMS[y] + gap * DIMS[k]), (sl.size(DIMS[k]), length)]
        if self.random.random() < 0.5:
            said.append((sl.size(DIMS[y]), count))
        places: dict[str, Place] = {dim: lambda at: step * at[y] + gap * at[k]}
        self._view(of, self._shuffled(y, k, *others), places, said, f"{dim} == {step}{y} + {gap}{k}")

    def _border(self, of: Drawn) -> None:
        if (found := self._split_off(of)) is None:
            return
        dim, size, others = found
        before, after = self.random.randint(-2, 3), self.random.randint(-2, 3)
        if size + before + after < 1:
            return
        y = self._name(size + before + after, of.dims)
        place = (DIMS[y], DIMS[dim] + before) if self.random.random() < 0.5 else (DIMS[dim], DIMS[y] - before)
        said = [place, (sl.size(DIMS[y]), sl.size(DIMS[dim]) + before + after)]
        places: dict[str, Place] = {dim: lambda at: at[y] - before}
        self._view(of, self._shuffled(y, *others), places, said, f"border {before} {after} of {dim}", fill=1)

    def _turned(self, of: Drawn) -> None:
        if (found := self._split_off(of)) is None:
            return
        dim, size, others = found
        y = self._name(size, of.dims)
        places: dict[str, Place] = {dim: lambda at: size - 1 - at[y]}
        said = [(DIMS[dim], sl.size(DIMS[dim]) - 1 - DIMS[y])]
        self._view(of, self._shuffled(y, *others), places, said, f"{dim} turned round")

    def _digits(self, of: Drawn) -> None:
        if (found := self._split_off(of)) is None:
            return
        dim, size, others = found
        base = self.random.choice([each for each in range(1, size + 1) if size % each == 0])
        m = self._name(size // base, of.dims)
        n = self._name(base, (*of.dims, m))
        said = [(DIMS[dim], DIMS[m] * sl.size(DIMS[n]) + DIMS[n]), (sl.size(DIMS[n]), base)]
        places: dict[str, Place] = {dim: lambda at: at[m] * base + at[n]}
        self._view(of, self._shuffled(m, n, *others), places, said, f"{dim} in rows of {base}")

    def _flat(self, of: Drawn) -> None:
        if len(of.dims) < 2:
            return
        m, n = self.random.sample(of.dims, 2)
        base = self.sizes[n]
        y = self._name(self.sizes[m] * base, of.dims)
        places: dict[str, Place] = {m: lambda at: at[y] // base, n: lambda at: at[y] % base}
        said = [(DIMS[y], DIMS[m] * sl.size(DIMS[n]) + DIMS[n])]
        self._view(of, self._shuffled(y, *(set(of.dims) - {m, n})), places, said, f"{m} and {n} flat")

    def _diagonal(self, of: Drawn) -> None:
        pairs = [(m, n) for m in of.dims for n in of.dims if m < n and self.sizes[m] == self.sizes[n]]
        if not pairs:
            return
        m, n = self.random.choice(pairs)
        y = self._name(self.sizes[m], of.dims)
        places: dict[str, Place] = {m: lambda at: at[y], n: lambda at: at[y]}
        others = [dim for dim in of.dims if dim not in (m, n)]
        said = [(DIMS[m], DIMS[y]), (DIMS[n], DIMS[y])]
        self._view(of, self._shuffled(y, *others), places, said, f"diagonal of {m} and {n}")

    def _repeated(self, of: Drawn) -> None:
        if (found := self._split_off(of)) is None:
            return
        dim, size, others = found
        times = self.random.randint(1, 3)
        y = self._name(size * times, of.dims)
        places: dict[str, Place] = {dim: lambda at: at[y] // times}
        said = [(DIMS[dim], DIMS[y] // times), (sl.size(DIMS[y]), sl.size(DIMS[dim]) * times)]
        self._view(of, self._shuffled(y, *others), places, said, f"{dim} {times} times")

    def _renamed(self, of: Drawn) -> None:
        """Other names, in another order."""
        new = self.random.sample(of.dims, len(of.dims))
        if of.dims and self.random.random() < 0.5:
            at = self.random.randrange(len(new))
            names = [*of.dims]
            names[at] = self._name(self.sizes[of.dims[at]], of.dims)
            self._add(of.tensor.to(*(DIMS[dim] for dim in names)), of.array, names, "renamed")
        else:
            array = of.array.transpose([of.dims.index(dim) for dim in new])
            self._add(of.tensor.transpose(*(DIMS[dim] for dim in new)), array, new, "transposed")

    def _at_a_point(self, of: Drawn) -> None:
        if (found := self._split_off(of)) is None:
            return
        dim, size, others = found
        place = self.random.randrange(size)
        tensor = of.tensor[tuple(place if each == dim else DIMS[each] for each in of.dims)]
        self._add(tensor, np.take(of.array, place, of.dims.index(dim)), others, f"{dim} == {place}")

    def _joined(self, of: Drawn) -> None:
        """Two tensors one after the other."""
        if (found := self._split_off(of)) is None:
            return
        dim, size, _ = found
        others = [each for each in self.drawn if each.dims == of.dims and each.array.dtype == of.array.dtype]
        other = self.random.choice(others)
        y = self._name(2 * size, of.dims)
        dims = [y if each == dim else each for each in of.dims]
        named = [DIMS[each] for each in dims]
        length = (sl.size(DIMS[y]), 2 * size)
        second = other.tensor.to(*named, constraints=[(DIMS[y], DIMS[dim] + size), length], outside=0)
        tensor = of.tensor.to(*named, constraints=[(DIMS[y], DIMS[dim]), length], outside=second)
        self._add(tensor, np.concatenate([of.array, other.array], of.dims.index(dim)), dims, f"{dim} joined")
