"""How much searching may be done for one task, a rewrite or a plan, over all its questions together.

A question is bounded by itself (`search`), but a rewrite of a large program asks hundreds. When the patience of a
rewrite is used up, what takes a search counts as not shown: the rewrite is refused, or its expressions stay as they
are, in bounded time; a plan asks in each run. Counted are the coefficients of inequalities that are looked at, never
seconds, so that the same schedule is refused, or not, on every machine. An answer that is remembered costs what it cost
to find.

Invariant: what was not shown because the patience was used up is not remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

COEFFICIENTS_PER_REWRITE = 2_500_000
"""About a second of searching; ordinary rewrites take less than a tenth of that."""

COEFFICIENTS_PER_TASK = 1000
COEFFICIENTS_PER_STATEMENT = 2
"""What a rewrite takes that searches for nothing, and what more of it for each statement that there is."""


class Patience:
    """What is left for a rewrite, and how many questions were not searched for want of it.

    Entered, it is the one that counts, until it is left. (Every rewrite enters one: a generator would take twice the
    time.)
    """

    def __init__(self, left: float) -> None:
        self.left = left
        self.spent = 0
        self.given_up = 0
        self.paid: set[object] = set()

    def __enter__(self) -> Patience:
        self._token = _current.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        _current.reset(self._token)
        effort = _effort.get()
        if effort is not None:
            effort.add(1, self.spent)

    def spend(self, coefficients: int) -> None:
        """Count work that was done."""
        self.left -= coefficients
        self.spent += coefficients

    def spend_once(self, answer: object, coefficients: int) -> None:
        """Count work for an answer that is remembered, unless it was counted before."""
        if answer not in self.paid:
            self.paid.add(answer)
            self.spend(coefficients)

    def has_paid(self, answer: object) -> None:
        """Note that an answer was found in this rewrite: to ask for it again costs nothing."""
        self.paid.add(answer)

    def is_used_up(self, underway: int) -> bool:
        """Whether a question must end here, that many coefficients into its search; counts the question if so."""
        if self.left > underway:
            return False
        self.given_up += 1
        return True


class Effort:
    """What was done within a block: how many tasks were ended, such as rewrites, and how much was searched for them.

    Whoever tries many rewrites goes by it, and stops when it was enough. A task in a task counts as one, too.
    """

    def __init__(self) -> None:
        self.tasks = 0
        self.coefficients = 0

    def __enter__(self) -> Effort:
        self._token = _effort.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        _effort.reset(self._token)
        outer = _effort.get()
        if outer is not None:
            outer.add(self.tasks, self.coefficients)

    def add(self, tasks: int, coefficients: int) -> None:
        """Count what was done."""
        self.tasks += tasks
        self.coefficients += coefficients

    def cost(self, statements: int) -> int:
        """What was done to a program of so many statements, as coefficients that take about as long."""
        return self.coefficients + self.tasks * (COEFFICIENTS_PER_TASK + COEFFICIENTS_PER_STATEMENT * statements)


class _Endless(Patience):
    """Outside all rewrites each question is bounded by itself alone."""

    def spend_once(self, answer: object, coefficients: int) -> None:
        """Count nothing: there is no end to come to."""

    def has_paid(self, answer: object) -> None:
        """Note nothing, for the same reason."""


_ENDLESS = _Endless(float("inf"))
_current: ContextVar[Patience] = ContextVar("patience", default=_ENDLESS)
_effort: ContextVar[Effort | None] = ContextVar("effort", default=None)


current_patience: Callable[[], Patience] = _current.get
"""The patience of the rewrite that is being done; endless outside all rewrites."""


def note_work(coefficients: int) -> None:
    """Count work that searches for nothing where somebody counts (`Effort`): as long as so many coefficients take."""
    effort = _effort.get()
    if effort is not None:
        effort.add(0, coefficients)


@contextmanager
def endless_patience() -> Iterator[Patience]:
    """Search as long as each question asks for: what is found must not depend on the rewrite that needs it first."""
    token = _current.set(_ENDLESS)
    try:
        yield _ENDLESS
    finally:
        _current.reset(token)


def limited_patience(coefficients: int = COEFFICIENTS_PER_REWRITE) -> AbstractContextManager[Patience]:
    """Bound the searching that is done within the block."""
    return Patience(coefficients)
