"""The decorator `sl.jit`: what it takes, and what it refuses.

Invariant: a function that is decorated gives what it gave before (`Jit`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from numbers import Real
from typing import Any, overload

from slinky.errors import TracingError, cited
from slinky.frontend.bound import BoundJit, bound_arguments
from slinky.frontend.donating import names_given_away
from slinky.frontend.jitting import Jit
from slinky.frontend.tables import ANY_PIECES, EXACT_PIECES
from slinky.ir.given import is_flag


@overload
def jit(function: Callable[..., Any], /) -> Jit: ...
@overload
def jit(
    *,
    strict: bool = ...,
    smallest: int | None = ...,
    native: bool | None = ...,
    fast: bool = ...,
    exact: bool = ...,
    donate: str | Sequence[str] = ...,
    workers: int | None = ...,
    machine: Any = ...,
    max_bytes: int | None = ...,
) -> Callable[[Callable[..., Any]], Jit]: ...
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    strict: bool = False,
    smallest: int | None = None,
    native: bool | None = None,
    fast: bool = False,
    exact: bool = False,
    donate: str | Sequence[str] = (),
    workers: int | None = None,
    machine: Any = None,
    max_bytes: int | None = None,
) -> Any:
    """Run a function of arrays by pieces: it is traced, made a pipeline, and scheduled for the arrays that it is given.

        >>> import numpy as np, slinky as sl
        >>> @sl.jit(smallest=0, workers=1, machine=sl.Machine())
        ... def contrast(image, amount=1.5):
        ...     low = image.min()
        ...     high = image.max()
        ...     return np.clip((image - low) / (high - low) * amount, 0, 1)
        >>> contrast(np.array([[1.0, 2.0], [3.0, 5.0]]))
        array([[0.   , 0.375],
               [0.75 , 1.   ]])
        >>> print(contrast.explain(np.ones((2, 2))).splitlines()[0])
        contrast is traced: 7 operations: low, subtract, high, subtract, divide, multiply, clip

    The function is ordinary NumPy code; `docs/numpy.md` says what is understood of it. It is called with lazy arrays
    once for each kind of arguments, and must do the same each time; what it reads beside them is watched.

    Parameters:

    * `strict`: refuse what is not understood, instead of computing it at once on whole arrays.
    * `smallest`: call the function as it is where all arguments take less than so many bytes, and nowhere else. Without
      it, it is called as it is where NumPy is predicted to be about as fast: always where neither arguments nor what it
      makes of them, or of numbers alone, are large.
    * `native`: whether arithmetic runs in C (`docs/native.md`). True: from the first call on, so that the first one for
      a range of sizes waits for the compiler; where there is nothing for C to do, or it gives the same bits and is
      measured to be slower, the function is called as it is, unless `smallest` is given. False: never. Without it,
      calls begin with NumPy's loops, and move to C when a compiler in the background, if there is one, is done: where
      that gives the same bits, and they have run for long enough. `function.wait_native()` waits for it.
    * `fast`: C may round otherwise than NumPy does; with `native`, and not with `exact`.
    * `exact`: the same results as NumPy's in every bit: what is nearly the same by pieces runs as one piece.
    * `donate`: the name of an argument that the function may write to, or several; to write to others is refused. The
      elements end up in the caller's array, when all is computed.
    * `workers`, `machine`, `max_bytes`: as of `auto_schedule`.

    Methods of classes and static ones may be decorated before or after they are made such. Raises `TracingError` for
    what is no function with known parameters that returns its results, for names that are none of these, for a
    `smallest` that is no number or below 0, for flags that are none, and for `fast` where nothing may be fast; when
    called, for what is refused. Raises `OperationError` for options of `auto_schedule` that make no
    sense.
    """
    options = {"workers": workers, "machine": machine, "max_bytes": max_bytes}
    all_given = {"strict": strict, "smallest": smallest, "native": native, "fast": fast, "exact": exact, **options}
    all_given["donate"] = donate
    given = {name: value for name, value in options.items() if value is not None}

    for what, flag in (("strict", strict), ("fast", fast), ("exact", exact)):
        if not is_flag(flag):
            raise TracingError(f"{what} must be True or False, got {cited(flag)}")
    if native is not None and not is_flag(native):
        raise TracingError(f"native must be True, False or None, got {cited(native)}")
    if fast and (exact or not native):
        raise TracingError("fast=True says how C may round: it goes with native=True, and not with exact=True")
    least: Any = 0 if smallest is None else smallest
    is_number = isinstance(least, Real)
    if not is_number or not least >= 0:
        raise TracingError(f"smallest takes a number of bytes, got {cited(smallest)}")
    if given:  # they are those of schedules, which nobody needs before a function is called
        import_module("slinky.sched.options").require_options(**options, backend="python", who="jit")
    pieces = EXACT_PIECES if exact else ANY_PIECES
    backend = ("native-fast" if fast else "native") if native else "python"

    def decorated(own: Any, carrier: Any = None) -> Any:
        if isinstance(own, (Jit, BoundJit)):
            return own
        if isinstance(own, (staticmethod, classmethod)):
            return type(own)(decorated(own.__func__))
        if not callable(own) or any(is_other(own) for is_other in _RETURN_LATER):
            raise TracingError(f"jit takes a function that returns its results, got {cited(own)}")
        away = names_given_away(own, donate)
        if (bound := bound_arguments(own)) is not None:
            return BoundJit(decorated(bound[0], own), *bound[1:], again=(_jitted, (own, all_given)))
        named = own if hasattr(own, "__name__") else _Named(own)
        return Jit(named, strict, smallest, given, backend, away, pieces, moves=native is None, carrier=carrier)

    return decorated if function is None else decorated(function)


def _jitted(own: Callable[..., Any], options: dict[str, Any]) -> Any:
    """What a decorator with these options makes of a function."""
    return jit(**options)(own)


_RETURN_LATER = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)


class _Named:
    """What is called and has no name, by that of what it calls in the end: partial functions, and objects."""

    def __init__(self, own: Callable[..., Any]) -> None:
        functools.update_wrapper(self, own)
        called = own
        while isinstance(called, functools.partial):
            called = called.func
        self.__name__ = self.__qualname__ = getattr(called, "__name__", type(called).__name__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)  # type: ignore[attr-defined]

    def __call__(self, /, *given: Any, **named: Any) -> Any:
        return self.__wrapped__(*given, **named)  # type: ignore[attr-defined]
