"""The trace of what `sl.lazy` makes, outside of traced functions: it never ends.

Invariant: it keeps nothing of what is computed, so that what nobody holds is gone.
"""

from __future__ import annotations

from typing import Any

from slinky.frontend.sizes import Questions
from slinky.frontend.tracing import Trace
from slinky.symbolic.expressions import Condition, Expr


class FreeTrace(Trace):
    """The trace of what `sl.lazy` makes: nothing is kept, so nothing is noted."""

    def __init__(self) -> None:
        super().__init__("lazy")
        self.is_free = True
        self.errors = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn", "call": None}
        self.questions = _Unnoted()
        self.symbols = _Nothing()


class _Unnoted(Questions):
    """Nobody needs to know what was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.known = _Nothing()  # it would grow forever

    def note(self, condition: Condition, answer: bool) -> None:
        """Forget it."""

    def unite(self, a: Expr, b: Expr) -> None:
        """Forget it, too."""


class _Nothing(dict[Any, Any]):
    def __setitem__(self, key: object, value: object) -> None:
        return None


FREE = FreeTrace()
