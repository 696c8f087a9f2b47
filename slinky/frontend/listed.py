"""Lists of lazy arrays, of which NumPy's functions make arrays.

Idea. NumPy asks no element of a list whether it is lazy: it makes an array of it, for which it needs the values. So
functions of arrays are others where they are seen for NumPy's (`namespaces`): lists of lazy arrays are joined first. So
they are where they stand beside a lazy array in arithmetic (`calling`).

Invariant: NumPy is given a list as it stands where no lazy array is in it, or `np.stack` would not take it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import attrs
import numpy as np

from slinky.frontend.arrays import LazyArray
from slinky.frontend.given import lazy_arrays
from slinky.frontend.reals import known_reals
from slinky.frontend.tables import EXACT_REDUCTIONS
from slinky.ir.reducing import OF_ELEMENTS

MOST_LISTED = 64
"""NumPy makes arrays of lists of more lazy arrays: each would be a part of a trace."""


def of_list(given: Any, dtype: Any = None) -> tuple[Any, Any]:
    """A list of lazy arrays as the array that NumPy makes of it, and the dtype to give to that; else both as given."""
    found = lazy_arrays(given)
    if not found:
        return known_reals(given), dtype
    leaves = list(_leaves(given))
    if len(leaves) > MOST_LISTED or any(each.ndim != found[0].ndim for each in found):
        return given, dtype
    if len(found) < len(leaves) and (found[0].ndim or not all(map(np.isscalar, leaves))):
        return given, dtype  # what is no lazy array may be of another shape
    kinds = [each.dtype if type(each) is LazyArray else np.asarray(each).dtype for each in leaves]
    kind = functools.reduce(np.promote_types, kinds)
    wanted = kind if dtype is None else np.dtype(dtype)
    if kind.kind not in "biufc" or kind != np.result_type(*kinds) or not np.can_cast(kind, wanted, "safe"):
        return given, dtype  # NumPy looks at each element, or goes by their order
    return _stacked(given), wanted


def _leaves(given: Any) -> Iterator[Any]:
    for each in given:
        yield from _leaves(each) if type(each) in (list, tuple) else (each,)


def _stacked(given: Any) -> Any:
    return np.stack([_stacked(each) for each in given]) if type(given) in (list, tuple) else given


def reduced_list(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of an array, such as a reduction, that takes lists of lazy arrays, too."""
    ufunc = _EXTREMA.get(function)

    @functools.wraps(function)
    def of_any(*arguments: Any, **named: Any) -> Any:
        if not arguments or type(arguments[0]) not in (list, tuple):
            return function(*arguments, **named)
        a, *given = arguments
        if ufunc is not None and (given, named) in (([0], {}), ([], {"axis": 0})):
            found = _one_after_the_other(ufunc, a)
            if found is not None:
                return found
        return function(of_list(a)[0], *given, **named)

    return of_any


def of_all_lists(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of several arrays, each of which may be a list of lazy ones."""

    @functools.wraps(function)
    def of_any(*given: Any, **named: Any) -> Any:
        return function(*map(array_of, given), **named)

    return of_any


def _of_each(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives something for each of several arrays, each of which may be a list of lazy ones."""

    @functools.wraps(function)
    def of_any(*given: Any) -> Any:
        if len(given) == 1 or not lazy_arrays(given):
            return function(*map(array_of, given))
        return type(function(0, 0))([function(array_of(each)) for each in given])

    return of_any


def array_of(given: Any) -> Any:
    """A list of lazy arrays as an array; all else as it is."""
    return of_list(given)[0] if type(given) in (list, tuple) and lazy_arrays(given) else given


@attrs.frozen
class OfLists:
    """A ufunc that is called, or asked for one of the `METHODS` here, with lists of lazy arrays."""

    ufunc: np.ufunc

    def __call__(self, /, *given: Any, **named: Any) -> Any:
        return self.ufunc(*map(array_of, given), **named)

    def outer(self, /, *given: Any, **named: Any) -> Any:
        """What all pairs have together."""
        return self.ufunc.outer(*map(array_of, given), **named)

    def accumulate(self, array: Any, /, *given: Any, **named: Any) -> Any:
        """What all so far have together."""
        return self.ufunc.accumulate(array_of(array), *given, **named)

    def reduce(self, array: Any, *given: Any, **named: Any) -> Any:
        """What all have together."""
        if type(array) not in (list, tuple):
            return self.ufunc.reduce(array, *given, **named)
        if (not given or given == (0,)) and named in ({}, {"axis": 0}):
            found = _one_after_the_other(self.ufunc, array)
            if found is not None:
                return found
        return self.ufunc.reduce(of_list(array)[0], *given, **named)


METHODS = ("accumulate", "outer", "reduce")


_EXTREMA = {each: ufunc for each, ufunc in OF_ELEMENTS.items() if ufunc not in (np.add, np.multiply)}
"""Reductions that give what a ufunc gives two by two."""


def _one_after_the_other(ufunc: np.ufunc, given: Any) -> Any:
    """What a ufunc gives along a list of lazy arrays, two by two, as it gives the same in any order; None where it does
    not, or where these are no arrays of one shape."""
    array = of_list(given)[0] if ufunc.__name__ in EXACT_REDUCTIONS and len(given) > 1 else None
    if type(array) is not LazyArray or not all(type(each) is LazyArray for each in given):
        return None
    return functools.reduce(ufunc, [each.astype(array.dtype, copy=False) for each in given])


OF_LISTS = {
    name: reduced_list(getattr(np, name))
    for name in (
        "all", "amax", "amin", "any", "argmax", "argmin", "argsort", "around", "average", "broadcast_to", "clip",
        "corrcoef", "count_nonzero", "cov", "cumprod", "cumsum", "diagonal", "diff", "expand_dims", "flip", "fliplr",
        "flipud", "gradient", "max", "mean", "median", "min", "moveaxis", "nan_to_num", "nanargmax", "nanargmin",
        "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod",
        "nanquantile", "nanstd", "nansum", "nanvar", "pad", "percentile", "prod", "ptp", "quantile", "ravel",
        "repeat", "reshape", "roll", "rot90", "round", "sort", "squeeze", "std", "sum", "swapaxes", "tile",
        "trace", "transpose", "trapezoid", "tril", "triu", "unwrap", "var",
    )
} | {
    name: of_all_lists(getattr(np, name))
    for name in (
        "allclose", "array_equal", "cross", "dot", "einsum", "inner", "isclose", "kron", "outer", "tensordot", "vdot",
    )
} | {name: _of_each(getattr(np, name)) for name in ("atleast_1d", "atleast_2d", "atleast_3d")}  # fmt: skip
"""Functions of one array, and of several, by name: NumPy asks no element of a list whether it is lazy."""


class _LinearAlgebra(ModuleType):
    """`np.linalg`, whose norms take lists of lazy arrays, too."""

    def __init__(self) -> None:
        super().__init__("numpy.linalg", np.linalg.__doc__)

    def __getattr__(self, name: str) -> Any:
        return getattr(np.linalg, name)

    norm = staticmethod(reduced_list(np.linalg.norm))


LINALG = _LinearAlgebra()
