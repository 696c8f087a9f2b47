"""How long a function's result is, and of which dtype, for arrays of other sizes and dtypes.

Idea. The function is run for arrays of a few more elements along an axis, and for small arrays of other dtypes; the
simplest formula that gives what was seen is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from slinky.errors import ArgumentError
from slinky.frontend.foreign import RaisedError
from slinky.frontend.perturbing import Experiment
from slinky.runtime.buffers import Array

_MORE = (1, 2, 3, 4, 5, 7)
_DTYPES = ("bool", "uint8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128")


def sizes_along(
    experiment: Experiment, arrays: Sequence[Array], result: Array
) -> tuple[dict[int, str | None], tuple[int, ...]]:
    """By axis of the result, how long it is where an axis of the arrays has n elements, and those that are as long as
    the arrays are along the same axis."""
    seen: dict[int, dict[int, int]] = {e: {} for e in range(result.ndim)}
    grows: dict[int, int] = {}
    known = False
    rank = max(array.ndim for array in arrays)
    shape = next(array.shape for array in arrays if array.ndim == rank)
    for d in range(rank):
        for axes in ([d], [k for k in range(rank) if shape[k] == shape[d]]):  # some functions take squares alone
            found = _shapes(experiment, arrays, rank, axes, result.ndim)
            if found:
                break
        known |= bool(found)
        for more, sizes_found in found.items():
            for e, (m, before) in enumerate(zip(sizes_found, result.shape, strict=True)):
                if m != before or e in grows:
                    own = e if e in axes else axes[0]
                    if grows.setdefault(e, own) == own:
                        seen[e].setdefault(shape[d] + more, m)
    sizes: dict[int, str | None] = {}
    for e, m in enumerate(result.shape):
        if e not in grows:
            sizes[e] = str(m) if known else None
        else:
            sizes[e] = _formula({**seen[e], shape[grows[e]]: m})
    alike = tuple(e for e in range(result.ndim) if grows.get(e) == e and sizes[e] == "n")
    return sizes, alike


def _shapes(
    experiment: Experiment, arrays: Sequence[Array], rank: int, axes: Sequence[int], ndim: int
) -> dict[int, tuple[int, ...]]:
    """The shapes of results for arrays of so many more elements along some axes; none if it does not take them."""
    found = {}
    for more in _MORE:
        longer = [_longer(array, axes, more) if array.ndim == rank else array for array in arrays]
        try:
            shape = experiment.attempt(*longer).shape
        except (RaisedError, ArgumentError):
            return {}
        if len(shape) != ndim:
            return {}
        found[more] = shape
    return found


def _longer(array: Array, axes: Sequence[int], more: int) -> Array:
    shape = list(array.shape)
    for axis in axes:
        shape[axis] += more
    return resized(array, shape)


def resized(array: Array, shape: Sequence[int]) -> Array:
    """An array of another shape with the same elements over and over, in the byte order that they have."""
    return np.resize(array, tuple(shape)).astype(array.dtype, copy=False)


def _formula(seen: dict[int, int]) -> str | None:
    """What gives the sizes that were seen."""
    tries: list[tuple[str, Callable[[int], int]]] = [("n", lambda n: n)]
    n0, m0 = next(iter(sorted(seen.items())))
    tries.append((_plus("n", m0 - n0), lambda n: n + m0 - n0))
    for k in range(2, 9):
        for shift in range(k):
            c = m0 - (n0 + shift) // k
            inner = f"(n + {shift})" if shift else "n"
            tries.append((_plus(f"{inner} // {k}", c), lambda n, k=k, s=shift, c=c: (n + s) // k + c))  # type: ignore[misc]
        c = m0 - k * n0
        tries.append((_plus(f"{k} * n", c), lambda n, k=k, c=c: k * n + c))  # type: ignore[misc]
    return next((text for text, formula in tries if all(formula(n) == m for n, m in seen.items())), None)


def _plus(text: str, n: int) -> str:
    return text if n == 0 else f"{text} + {n}" if n > 0 else f"{text} - {-n}"


def result_dtypes(experiment: Experiment, arrays: Sequence[Array]) -> dict[str, str]:
    """By dtype of the arrays, the dtype of the result; those that the function does not take are missing."""
    found = {}
    for name in _DTYPES:
        if any(array.dtype.kind not in "biufc" for array in arrays):
            break
        with np.errstate(all="ignore"):
            given = [np.nan_to_num(np.abs(array)).astype(name) for array in arrays]
        try:
            found[name] = str(experiment.attempt(*given).dtype)
        except (RaisedError, ArgumentError):
            continue
    return found
