"""Who is faster, the function as it is or its pieces: both run, in turn, until that is known.

Idea. What takes how long is predicted (`worth`), and where little memory is at stake, predictions of some microseconds
are too coarse: what the allocator does decides. So where both give the same bits, calls go to one and the other in
turn, the best of a few of each are compared, and whoever is faster goes on. What is predicted to be faster in C alone
waits for C, and runs as it is until then. When a schedule has moved to C, there is another contest.

Where much memory is at stake, pieces run, and the function as it is has a turn only if they are suspected: if one call
after the other took longer than it is predicted to take as it is (where an index chooses few of many elements, or the
system clears the memory of results again and again).

Invariants: each call is run once, by whoever has the turn; which of the two that is shows in nothing but time, for only
functions of which every operation gives NumPy's bits by pieces, and whose results share memory as NumPy's do, take
part. Nothing that makes more than `MOST_BYTES` runs as it is unless its pieces are suspected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from time import perf_counter
from typing import Any

import attrs

from slinky.frontend.to_native import Moving, Runs

MOST_BYTES = 64 << 20
"""What NumPy makes of arrays at most in a call that is run as it is to see how long that takes, for no other reason."""

SHARE_OF_MEMORY = 0.25
"""What it makes of arrays at most in any call that is run as it is for that, of the memory of the machine."""

_SUSPECTED_ROUNDS = 2
"""So often pieces must have taken too long, after their first call, before they are suspected."""

_LARGE_ROUNDS = 3
"""So often the function as it is runs then at most: large arrays take about as long each time."""

ROUNDS = 7
"""So often each runs before the best times are compared; once before, it is not counted: much is found out then."""

_CLEAR = 1.5
_CLEAR_ROUNDS = 2
"""So many times faster, in the best of so many rounds, is enough for pieces."""

_CLEAR_AT_FIRST, _LATER = 4.0, 5
"""The function as it is must be so many times faster before so many rounds: the results of the first calls by pieces
may lie in memory that the system clears for them."""

_AT_ONCE = 10.0
"""So many times as long as pieces the function as it is need take once: no first call is slower than later ones by
that. Medians take a hundred times as long."""

_INTERRUPTED = 0.05
"""Shorter calls, in seconds, may take so many times as long because others had the processor: they are run again."""

_AS_FAST = 1.03
"""Pieces may take so many times what the function takes as it is, for they take less memory."""

Plainly = Callable[..., Any]
Runner = Callable[[Any], Any]


@attrs.define(eq=False)
class Contest:
    """The times of one trace for arrays of about one size; `about` are the very shapes that are timed."""

    about: Hashable
    is_open: bool
    """Whether pieces take part; what waits for C runs as it is."""
    limit: float | None = None
    """Where much memory is at stake, the seconds for which pieces are not suspected."""
    plain: list[float] = attrs.field(factory=list, init=False)
    pieces: list[float] = attrs.field(factory=list, init=False)
    is_over: bool = attrs.field(default=False, init=False)
    is_lost: bool = attrs.field(default=False, init=False)
    """Whether the function as it is was faster."""

    @property
    def is_plain(self) -> bool:
        """Whether the function as it is runs until something changes."""
        return self.is_lost or not self.is_open

    def takes_plainly(self, shapes: Hashable) -> bool:
        """Whether the next call for arrays of these shapes is run as it is."""
        if self.is_over or not self.is_open:
            return self.is_plain
        return shapes == self.about and not self.is_trusted and len(self.plain) <= len(self.pieces)

    @property
    def is_trusted(self) -> bool:
        """Whether only pieces run, for they are not suspected (yet)."""
        return self.limit is not None and len(self.pieces) <= _SUSPECTED_ROUNDS

    def took(self, seconds: float, shapes: Hashable, *, plainly: bool) -> None:
        """A call for arrays of these shapes took so long."""
        if self.is_over or not self.is_open or shapes != self.about:
            return
        (self.plain if plainly else self.pieces).append(seconds)
        if self.limit is not None:
            self._judge_large(self.limit)
            return
        counted = min(len(self.plain), len(self.pieces)) - 1
        if not counted and min(self.plain) > max(_AT_ONCE * max(self.pieces), _INTERRUPTED):
            self.is_over = True
        if counted >= _CLEAR_ROUNDS:
            plain, pieces = self.best()
            is_lost = pieces > (_CLEAR if counted >= _LATER else _CLEAR_AT_FIRST) * plain
            is_clear = counted >= ROUNDS or plain > _CLEAR * pieces or is_lost
            self.is_over, self.is_lost = is_clear, is_clear and pieces > _AS_FAST * plain

    def _judge_large(self, limit: float) -> None:
        """The same where pieces must be suspected first."""
        plain, pieces = self.best()
        if not self.plain:
            self.is_over = pieces <= limit
        else:
            is_clear = plain > _CLEAR * pieces or pieces > _CLEAR * plain
            self.is_over = is_clear or len(self.plain) >= _LARGE_ROUNDS
            self.is_lost = self.is_over and pieces > _AS_FAST * plain

    def best(self) -> tuple[float, float]:
        """The shortest times in seconds, as it is and by pieces."""
        counted = (each[1:] or each for each in (self.plain, self.pieces))
        plain, pieces = (min(each, default=math.inf) for each in counted)
        return plain, pieces


@attrs.frozen(eq=False)
class InTurn:
    """What runs calls for arrays of these `shapes` while a contest goes on, or while one waits for C: `plainly`, or by
    `run`; `change` is called when somebody else is to run them."""

    contest: Contest
    shapes: Hashable
    plan: Runs
    run: Runner
    plainly: Plainly
    change: Callable[[], None]

    def __call__(self, given: Sequence[Any]) -> Any:
        """Run a call whose arguments are all arrays and numbers."""
        return self.take(given, {}, given)

    @property
    def waits(self) -> bool:
        """Whether the function runs as it is until there is C: whatever else it has read by then, that is right."""
        return not self.contest.is_open and not self.contest.is_over

    def while_waiting(self, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Run a call as it is, and count how long one waits."""
        began = perf_counter()
        result = self.plainly(*given, **named)
        if isinstance(self.plan, Moving):
            self.plan.took(perf_counter() - began)
        return result

    def take(self, given: Sequence[Any], named: Mapping[str, Any], leaves: Sequence[Any]) -> Any:
        """Run a call, whose `leaves` are the arrays and numbers among its arguments."""
        contest = self.contest
        plainly, was_over = contest.takes_plainly(self.shapes), contest.is_over
        began = perf_counter()
        result = self.plainly(*given, **named) if plainly else self.run(leaves)
        seconds = perf_counter() - began
        contest.took(seconds, self.shapes, plainly=plainly)
        if plainly and isinstance(self.plan, Moving):
            self.plan.took(seconds)
        if contest.is_over and not was_over:
            self.change()
        return result
