"""The NumPy that a traced function sees: what does not hand over to lazy arrays by itself is put in its place.

Idea. `np.zeros(x.shape)`, `np.asarray(x)` and `np.max([x, y], axis=0)` never ask a lazy array. So a function is traced
with globals in which NumPy is a namespace that does: the same functions, but for those that make arrays of sizes, or of
lazy arrays, and those that make an array of a list before they reduce it. How it comes to see them is in `seeing`.

Invariant: where no size and no lazy array is given, everything is NumPy's own, but that arrays made of numbers may be
indexed by lazy ones (`indexed`).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import attrs
import numpy as np

from slinky.frontend.arrays import LazyArray, placed
from slinky.frontend.calling import broadcast_to, converted, filled, lifted
from slinky.frontend.given import lazy_arrays
from slinky.frontend.grids import Grid, as_number, counted, crossed, indices, is_made, line, ramp, spaced
from slinky.frontend.indexed import indexed_array, own_array
from slinky.frontend.joining import Joining
from slinky.frontend.listed import LINALG, METHODS, OF_LISTS, OfLists, array_of, of_all_lists, of_list
from slinky.frontend.paths import calls_next
from slinky.frontend.places import attribute_of_next
from slinky.frontend.randomness import Randomness, drawn_by
from slinky.frontend.reals import known_reals, now
from slinky.frontend.sizes import Size
from slinky.frontend.tracing import Trace
from slinky.frontend.views import common_shape
from slinky.frontend.warned import Warnings, warns


class TracedNumpy(ModuleType):
    """NumPy, for a function that is traced."""

    def __init__(self, trace: Trace) -> None:
        super().__init__("numpy", np.__doc__)
        self._trace = trace

    @staticmethod
    def of(trace: Trace) -> TracedNumpy:
        """The one of a trace: libraries compare the namespaces of arrays by their identity."""
        if trace.namespace is None:
            trace.namespace = TracedNumpy(trace)
        found: TracedNumpy = trace.namespace
        return found

    def __getattr__(self, name: str) -> Any:
        if name == "random":
            return Randomness(self._trace.name)
        if name in _OF_FILES:
            self._trace.reads_anew(f"np.{name}, which reads files,")
        found = LINALG if name == "linalg" else OF_LISTS.get(name) or _MAKING.get(name) or getattr(np, name)
        if isinstance(found, np.ufunc):
            frame = sys._getframe(1)
            return OfLists(found) if calls_next(frame) or attribute_of_next(frame, name) in METHODS else found
        return found

    def in_place_of(self, value: Any) -> Any:
        """What is seen for something that is known by a name of its own (`from numpy import zeros`); None where that is
        seen as it is."""
        if value is np:
            return self
        if value is np.linalg or value is np.linalg.norm:
            return LINALG if value is np.linalg else LINALG.norm
        if warns(value):
            return Warnings(self._trace).in_place_of(value)
        name = _REPLACED.get(id(value))
        return Randomness(self._trace.name).in_place_of(value) if name is None else getattr(self, name)

    def zeros(self, shape: Any, dtype: Any = float, *given: Any, **named: Any) -> Any:
        """Zeros: lazy ones where the shape is of sizes."""
        return self._full(np.zeros, shape, dtype, 0, given, named)

    def ones(self, shape: Any, dtype: Any = None, *given: Any, **named: Any) -> Any:
        """Ones."""
        return self._full(np.ones, shape, dtype, 1, given, named)

    def empty(self, shape: Any, dtype: Any = float, *given: Any, **named: Any) -> Any:
        """Something: zeros, where it is lazy."""
        return self._full(np.empty, shape, dtype, 0, given, named)

    def full(self, shape: Any, fill_value: Any, dtype: Any = None, *given: Any, **named: Any) -> Any:
        """Full of a value."""
        is_lazy = type(fill_value) is LazyArray
        if not (_has_sizes(shape) or is_lazy or self._is_full_of_it(shape, fill_value, dtype)) or given or named:
            return indexed_array(np.full(shape, fill_value, dtype, *given, **named))
        own = fill_value.dtype if is_lazy else np.asarray(now(fill_value)).dtype
        value = converted(fill_value, own if dtype is None else np.dtype(dtype), self._trace)
        found = placed(value._view.result, self._trace)._seen(broadcast_to(value, _shape_of(shape)))
        return found.copied()

    def _full(self, function: Any, shape: Any, dtype: Any, value: Any, given: Any, named: dict[str, Any]) -> Any:
        kind = np.dtype(float if dtype is None else dtype)
        is_lazy = (_has_sizes(shape) or self._is_made(shape, kind)) and kind.kind in "biufc"
        if not is_lazy or given or set(named) - {"order"}:
            return indexed_array(function(shape, kind, *given, **named))
        return filled(_shape_of(shape), kind, value, self._trace).copied(named.get("order", "C"))

    def _is_full_of_it(self, shape: Any, value: Any, dtype: Any) -> bool:
        number = now(value)
        is_number = isinstance(number, (bool, int, float, complex, np.number, np.bool_))
        kind = np.dtype(np.asarray(number).dtype if dtype is None else dtype) if is_number else None
        return kind is not None and kind.kind in "biufc" and self._is_made(shape, kind)

    def _is_made(self, shape: Any, dtype: Any) -> bool:
        return is_made(shape if isinstance(shape, (tuple, list)) else (shape,), dtype, self._trace)

    def arange(self, *given: Any, **named: Any) -> Any:
        """Numbers in steps: lazy ones where the ends are sizes. NumPy is given computed ends as it has them: between
        complex ones it counts otherwise."""
        given = tuple([as_number(each, "np.arange") for each in given])
        named = {name: as_number(each, "np.arange") for name, each in named.items()}
        ends = given if len(given) > 1 else (0, *given)
        step = ends[2] if len(ends) > 2 else 1
        is_plain = not named and all(type(each) in (int, Size) for each in ends) and type(step) is int and step > 0
        if not is_plain or not _has_sizes(ends[:2]) or len(ends) > 3:
            long = None if named else counted(given, self._trace)
            return line(np.arange(*given, **named), self._trace) if long is None else long
        distance = ends[1] - ends[0]
        if distance <= 0:
            return indexed_array(np.arange(*given))
        return ramp(ends[0], step, (distance + step - 1) // step, self._trace)

    def linspace(self, start: Any, stop: Any, num: Any = 50, endpoint: Any = True, *given: Any, **named: Any) -> Any:
        """Numbers in a range, as far apart."""
        start, stop = (as_number(each, "np.linspace") for each in (start, stop))
        long = None if given or named else spaced(start, stop, num, endpoint, self._trace)
        return self._line(np.linspace(start, stop, num, endpoint, *given, **named)) if long is None else long

    def logspace(self, *given: Any, **named: Any) -> Any:
        """Numbers in a range, as many times as large as the ones before."""
        return self._line(np.logspace(*given, **named))

    def geomspace(self, *given: Any, **named: Any) -> Any:
        """The same, between the numbers themselves."""
        return self._line(np.geomspace(*given, **named))

    def _line(self, numbers: Any) -> Any:
        return line(numbers, self._trace) if type(numbers) is np.ndarray else numbers

    @property
    def ogrid(self) -> Any:
        """Numbers in steps, along an axis each."""
        return Grid(self._trace, np.ogrid)

    @property
    def mgrid(self) -> Any:
        """The same, repeated to all of a box."""
        return Grid(self._trace, np.mgrid, lambda axes: np.stack(np.broadcast_arrays(*axes)))

    def meshgrid(self, *xi: Any, **named: Any) -> Any:
        """Lines, repeated along the others."""
        return np.meshgrid(*crossed([array_of(each) for each in xi], self._trace), **named)

    def indices(self, dimensions: Any, dtype: Any = int, sparse: Any = False) -> Any:
        """The places of elements along each axis."""
        found = indices(tuple(dimensions), dtype, sparse, self._trace)
        return indexed_array(np.indices(dimensions, dtype, sparse)) if found is None else found

    def fromfunction(self, function: Any, shape: Any, *, dtype: Any = float, **named: Any) -> Any:
        """What a function gives of the places of elements."""
        places = None if "like" in named else indices(tuple(shape), dtype, False, self._trace)
        if places is None:
            return indexed_array(np.fromfunction(function, shape, dtype=dtype, **named))
        return function(*places, **named)

    @property
    def r_(self) -> Any:
        """What joins arrays along their first axes."""
        return Joining(self._trace, np.r_, 0, 1)

    @property
    def c_(self) -> Any:
        """What joins columns."""
        return Joining(self._trace, np.c_, -1, 2)

    def broadcast(self, *given: Any) -> Any:
        """What tells of arrays, some of them lazy, the shape that they have together."""
        if not lazy_arrays(given):
            return np.broadcast(*given)
        return _Broadcast(common_shape([lifted(each, self._trace)._shape for each in given]))

    def lexsort(self, keys: Any, *given: Any, **named: Any) -> Any:
        """In which order elements come by several keys: NumPy asks a list of them whether it is lazy, not the keys."""
        return np.lexsort(tuple(keys) if type(keys) is list else keys, *given, **named)

    def take(self, a: Any, indices: Any, *given: Any, **named: Any) -> Any:
        """Elements that integers choose: NumPy asks the array that they are taken of alone whether it is lazy."""
        a = array_of(a)
        if type(indices) is LazyArray and type(a) is not LazyArray:
            a = lifted(a, self._trace)
        return np.take(a, indices, *given, **named)

    def asarray(self, a: Any, dtype: Any = None, *given: Any, **named: Any) -> Any:
        """The array itself, if it is lazy."""
        is_plain = not set(named) - {"order"} and named.get("order") in (None, "K", "A")
        if type(a) in (list, tuple) and not given and not named:
            a, dtype = of_list(a, dtype)
        if type(a) is not LazyArray or given or not is_plain:
            if set(named) == {"copy"}:
                return self.array(a, dtype, **named)
            return indexed_array(np.asarray(known_reals(own_array(a)), dtype, *given, **named))
        if a.is_scalar:
            a = a.copied()
        self._gives_array(a)
        return a if dtype is None else a.astype(dtype, copy=False)

    def asanyarray(self, a: Any, dtype: Any = None, *given: Any, **named: Any) -> Any:
        """The array itself, if it is lazy."""
        return self.asarray(a, dtype, *given, **named)

    def ascontiguousarray(self, a: Any, dtype: Any = None, **named: Any) -> Any:
        """The elements in C order: of a lazy array, which may be the array itself."""
        if type(a) is not LazyArray or named:
            return np.ascontiguousarray(a, dtype, **named)
        self._gives_array(a)
        found = a.copied("C") if dtype is None else a.astype(dtype, "C")
        a._cell.uncertain = found._cell.uncertain = True
        return found if found._shape else found[None]

    def astype(self, x: Any, dtype: Any, /, **named: Any) -> Any:
        """The elements in another dtype."""
        if type(x) is not LazyArray or set(named) - {"copy"}:
            return np.astype(x, dtype, **named)
        self._gives_array(x)
        return x.astype(dtype, copy=named.get("copy", True))

    def array(self, a: Any, dtype: Any = None, **named: Any) -> Any:
        """A copy, or what need not be copied."""
        if type(a) in (list, tuple) and not named:
            a, dtype = of_list(a, dtype)
        if type(a) is not LazyArray or set(named) - {"copy", "ndmin", "subok"}:
            return indexed_array(np.array(known_reals(own_array(a)), dtype, **named))
        self._gives_array(a)
        copy, axes = named.get("copy", True), named.get("ndmin", 0) - a.ndim
        if copy:
            found = a.copied() if dtype is None else a.astype(dtype).copied()
        else:
            np.array(a.dtype.type() if a.is_scalar else np.empty((), a.dtype), dtype, copy=copy)  # refuses what it does
            found = self.asarray(a, dtype)
        return found[(*(None,) * axes, ...)] if axes > 0 else found

    def _gives_array(self, a: LazyArray) -> None:
        """Take note that something is an array from here on, whatever container it stands for."""
        self._trace.origins.arrays.add(a._view.result)


_OF_FILES = frozenset(["fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "memmap"])
"""What files give may be something else at the next call."""


def _making(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose arrays may be indexed by lazy ones."""

    @functools.wraps(function)
    def making(*given: Any, **named: Any) -> Any:
        return indexed_array(function(*given, **named))

    return making


_MAKING = {
    name: _making(getattr(np, name))
    for name in ("concatenate", "eye", "fromiter", "identity", "interp", "load", "loadtxt", "tri")
} | {"where": _making(of_all_lists(np.where))}
"""Functions that tables are made by, and that give an array of NumPy's own class whatever they are given."""


_REPLACED = {
    id(getattr(np, name)): name
    for name in (*vars(TracedNumpy), *OF_LISTS, *_MAKING)
    if not name.startswith("_") and callable(getattr(np, name, None))
}
"""What is put in the place of functions of NumPy's, by their identity."""


_MEANT: dict[Callable[..., Any], Callable[..., Any]] = {
    each: getattr(np, name) for name, each in (*OF_LISTS.items(), *_MAKING.items())
} | {LINALG.norm: np.linalg.norm}


def meant(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of NumPy's in whose place another one is put; others are what they are."""
    return _MEANT.get(function, function)


def is_replaced(value: Any) -> bool:
    """Whether something else is put in the place of NumPy, or of a function of it."""
    is_of_linalg = value is np.linalg or value is np.linalg.norm
    return value is np or is_of_linalg or id(value) in _REPLACED or warns(value) or drawn_by(value) is not None


@attrs.frozen
class _Broadcast:
    """`np.broadcast` of lazy arrays."""

    shape: tuple[Any, ...]

    @property
    def ndim(self) -> int:
        """How many axes they have together."""
        return len(self.shape)


def _has_sizes(shape: Any) -> bool:
    entries = shape if isinstance(shape, (tuple, list)) else (shape,)
    return any(type(each) is Size for each in entries)


def _shape_of(shape: Any) -> tuple[Any, ...]:
    entries = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(each if type(each) is Size else int(each) for each in entries)
