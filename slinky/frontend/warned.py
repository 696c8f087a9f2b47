"""What a traced function sees of `warnings`: what it warns of, it is to warn of at each call.

Invariant: a trace in which something was warned of is used for one call.
"""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slinky.frontend.tracing import Trace

_WARNING = {id(each): each.__name__ for each in (warnings.warn, warnings.warn_explicit)}


class Warnings(ModuleType):
    """`warnings`, for a function that is traced."""

    def __init__(self, trace: Trace) -> None:
        super().__init__("warnings")
        self._trace = trace

    def __getattr__(self, name: str) -> Any:
        found = getattr(warnings, name)
        return found if id(found) not in _WARNING else getattr(self, f"_{_WARNING[id(found)]}")

    def in_place_of(self, value: Any) -> Any:
        """What is seen for something that is known by a name of its own; None where that is seen as it is."""
        if value is warnings:
            return self
        return getattr(self, f"_{_WARNING[id(value)]}") if id(value) in _WARNING else None

    def _warn(self, message: Any, category: Any = None, stacklevel: int = 1, *given: Any, **named: Any) -> None:
        """Warn where the function stands, which is one frame farther away."""
        self._trace.reads_anew("warnings.warn")
        warnings.warn(message, category, stacklevel + 1, *given, **named)

    def _warn_explicit(self, *given: Any, **named: Any) -> None:
        self._trace.reads_anew("warnings.warn_explicit")
        warnings.warn_explicit(*given, **named)


def warns(value: Any) -> bool:
    """Whether something else is put in the place of `warnings`, or of a function of it."""
    return value is warnings or id(value) in _WARNING
