"""What `sl.jit` made of a function, with some of its arguments: a method of an object, a partial function.

Invariant: it does for the others what the function's `Jit` does for all.
"""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from slinky.frontend.opened import is_plain
from slinky.pipeline import Pipeline

if TYPE_CHECKING:
    from slinky.frontend.jitting import Jit


def bound_arguments(own: Any) -> tuple[FunctionType, tuple[Any, ...], dict[str, Any]] | None:
    """The function of Python's that a method, a partial function, or an object that can be called comes to, and the
    arguments that it has with that; None of anything else."""
    kind: Any = type(own)
    found: Any
    given: tuple[Any, ...]
    named: dict[str, Any]
    match own:
        case MethodType():
            found, given, named = own.__func__, (own.__self__,), {}
        case functools.partial():
            inner = bound_arguments(own.func)
            found, given, named = inner or (own.func, (), {})
            given, named = (*given, *own.args), {**named, **own.keywords}
        case _ if is_plain(kind):
            found, given, named = _named_like(own), (own,), {}
        case _:
            return None
    return (found, given, named) if isinstance(found, FunctionType) else None


def _named_like(own: Any) -> Any:
    """What is done where an object is called, by the name of its class."""
    call = type(own).__call__
    if not isinstance(call, FunctionType):
        return None
    name = type(own).__name__
    found: Any = FunctionType(call.__code__, call.__globals__, name, call.__defaults__, call.__closure__)
    functools.update_wrapper(found, call)
    del found.__wrapped__
    found.__kwdefaults__, found.__name__, found.__qualname__ = call.__kwdefaults__, name, name
    return found


class BoundJit:
    """A function that runs by pieces, with its first arguments and some that are named."""

    def __init__(
        self,
        jit: Jit,
        given: tuple[Any, ...],
        named: Mapping[str, Any] | None = None,
        again: tuple[Callable[..., Any], tuple[Any, ...]] | None = None,
    ) -> None:
        """With what makes it `again` in another process, if the function alone cannot go there."""
        functools.update_wrapper(self, jit.__slinky_function__)
        self._again = again
        self._jit = jit
        self._given = given
        self._named = dict(named or {})
        self.__func__ = jit

    def __repr__(self) -> str:
        return f"<jit of {self.__name__}>"  # type: ignore[attr-defined]

    def __reduce__(self) -> Any:
        return self._again or (BoundJit, (self._jit, self._given, self._named))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BoundJit) or self._jit is not other._jit or self._named or other._named:
            return self is other
        return len(self._given) == len(other._given) and all(map(operator.is_, self._given, other._given))

    def __hash__(self) -> int:
        return hash((id(self._jit), *map(id, self._given)))

    @property
    def __self__(self) -> Any:
        """The object of which it is a method, or the first argument that it has."""
        return self._given[0] if self._given else None

    def __call__(self, /, *given: Any, **named: Any) -> Any:
        """What the function gives for these and the other arguments."""
        return self._jit(*self._given, *given, **{**self._named, **named})

    def pipeline(self, /, *given: Any, **named: Any) -> Pipeline:
        """The pipeline that runs for such arguments (`Jit.pipeline`)."""
        return self._jit.pipeline(*self._given, *given, **{**self._named, **named})

    def explain(self, /, *given: Any, **named: Any) -> str:
        """What becomes of the function for such arguments (`Jit.explain`)."""
        return self._jit.explain(*self._given, *given, **{**self._named, **named})

    def wait_native(self, seconds: float | None = None) -> bool:
        """Have all of the function's schedules moved to C (`Jit.wait_native`)."""
        return self._jit.wait_native(seconds)

    def export(self, directory: str | os.PathLike[str]) -> tuple[str, ...]:
        """Write what the function has been called for to a folder (`Jit.export`)."""
        return self._jit.export(directory)

    def load(self, directory: str | os.PathLike[str]) -> None:
        """Use what was exported of the function (`Jit.load`)."""
        self._jit.load(directory)
