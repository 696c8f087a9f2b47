"""What a refusal says of a condition that was not shown: the part that is missing, and a counterexample."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.printer import dimension_names
from slinky.sched.remedies import Remedy
from slinky.symbolic.explanations import brief, explain
from slinky.symbolic.expressions import (
    Condition,
    negate,
)
from slinky.symbolic.proofs import Facts, prove

_LONGEST = 280
"""More characters than these are too much to read at once."""


def with_more(text: str, more: str) -> str:
    """A text with more of it; alone where both are too much to read."""
    return text + more if len(text) + len(more) <= _LONGEST else text


@attrs.frozen
class Unproved:
    """A condition that was not shown under these facts. As text, with the part that is missing, and an assignment for
    which it does not hold where one is found: put together when somebody reads it."""

    version: Version
    condition: Condition
    known: Facts

    def refuse(
        self,
        wanted: str,
        refuted: str,
        *,
        place: object = None,
        remedies: Callable[[], Sequence[Remedy]] | None = None,
        hint: str = "",
    ) -> SchedulingError:
        """The refusal that what is wanted is not shown; in other words where the condition is shown never to hold."""
        return SchedulingError(
            lambda: refuted if self.is_refuted() else f"not shown that {wanted}",
            place=place,
            condition=UnlessRefuted(self),
            hint=hint,
            remedies=remedies,
        )

    def is_refuted(self) -> bool:
        """Whether the condition is shown never to hold."""
        return prove(negate(self.condition), self.known)

    def missing(self) -> str:
        """The part of the condition that is not shown, without an example."""
        part = explain(self.condition, self.known).not_shown
        return brief(self.condition if part is None else part, dimension_names(self.version.program))

    def __str__(self) -> str:
        names = dimension_names(self.version.program)
        missing, example = self.missing(), explain(self.condition, self.known).example(names)
        return with_more(missing, f"; {example}") if example else missing


@attrs.frozen
class UnlessRefuted:
    """A condition that was not shown, of which nothing is left to say where it is shown never to hold."""

    unproved: Unproved

    def __str__(self) -> str:
        return "False" if self.unproved.is_refuted() else str(self.unproved)
