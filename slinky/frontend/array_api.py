"""The namespace of the array API standard for lazy arrays: `x.__array_namespace__()`.

Idea. NumPy has all names of the standard, and its functions hand over to lazy arrays. So a function here is NumPy's,
whose results are lazy arrays, whatever it was given; those that do not hand over are few, and written once more.

    xp = sl.lazy(photo).__array_namespace__()
    xp.sum(xp.exp(xp.asarray(photo)))

Invariant: values, dtypes and shapes are NumPy's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from slinky.errors import ArgumentError, cited
from slinky.frontend.arrays import LazyArray, is_traceable, lazy

__array_api_version__ = "2024.12"

_AS_THEY_ARE = frozenset(
    [
        "__array_namespace_info__",
        "broadcast_shapes",
        "can_cast",
        "finfo",
        "iinfo",
        "isdtype",
        "result_type",
    ]
)
"""Functions that give no arrays."""

_MODULES = ("fft", "linalg")
"""Extensions of the standard, with functions of their own."""


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> LazyArray:
    """An array, or what can be made one, as a lazy array."""
    _require_cpu(device)
    if type(obj) is not LazyArray:
        return _lazy_results(np.array(obj, dtype, copy=True) if copy else np.asarray(obj, dtype, copy=copy))  # type: ignore[no-any-return]
    if dtype is not None and np.dtype(dtype) != obj.dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return obj.astype(dtype)  # type: ignore[no-any-return]
    return obj.copied() if copy else obj


def astype(x: LazyArray, dtype: Any, /, *, copy: bool = True, device: Any = None) -> LazyArray:
    """The elements in another dtype."""
    _require_cpu(device)
    return x.astype(dtype, copy=copy)  # type: ignore[no-any-return]


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> LazyArray:
    """An array of any library that lends its memory."""
    _require_cpu(device)
    if type(x) is LazyArray:
        return x.copied() if copy else x
    return _lazy_results(np.from_dlpack(x, copy=copy))  # type: ignore[no-any-return]


def _require_cpu(device: Any) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')


def _lazy_results(result: Any) -> Any:
    """Arrays and scalars as lazy arrays, also in tuples and lists."""
    if type(result) is LazyArray:
        return result
    if isinstance(result, (np.ndarray, np.generic)):
        array = np.asarray(result)
        return lazy(array) if is_traceable(array) else result
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*map(_lazy_results, result))
    return type(result)(map(_lazy_results, result)) if type(result) in (tuple, list) else result


def _giving_lazy(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's whose results are lazy arrays."""

    @functools.wraps(function)
    def giving_lazy(*given: Any, **keywords: Any) -> Any:
        return _lazy_results(function(*given, **keywords))

    return giving_lazy


class _Extension:
    """A module of NumPy's whose functions give lazy arrays."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _of_numpy(self._module, name)

    def __dir__(self) -> list[str]:
        return list(dir(self._module))


@functools.lru_cache(maxsize=1024)
def _of_numpy(module: Any, name: str) -> Any:
    found = getattr(module, name)
    if isinstance(found, (type, np.dtype)) or not callable(found) or name in _AS_THEY_ARE:
        return found
    return _giving_lazy(found)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return _Extension(getattr(np, name))
    if (name.startswith("_") and name not in _AS_THEY_ARE) or not hasattr(np, name):
        raise AttributeError(f"the array API of slinky has no {name!r}")
    return _of_numpy(np, name)


def __dir__() -> list[str]:
    return sorted({*(name for name in dir(np) if not name.startswith("_")), *globals(), "__array_namespace_info__"})


def namespace_of(array: LazyArray, api_version: str | None) -> Any:
    """The namespace of a lazy array: this module, or where a function is traced, the NumPy that it sees.

    Raises `ArgumentError` for a version that is not known.
    """
    known = ("2021.12", "2022.12", "2023.12", __array_api_version__)
    if api_version is not None and api_version not in known:
        raise ArgumentError(f"__array_namespace__: api_version is one of {', '.join(known)}; got {cited(api_version)}")
    if array._trace.is_free:
        import slinky.frontend.array_api as own

        return own
    from slinky.frontend.namespaces import TracedNumpy

    return TracedNumpy.of(array._trace)
