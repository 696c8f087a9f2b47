"""Whether it pays to trace a function again and again: it is called as it is in between, and whoever is faster goes on.

Idea. A trace that cannot be kept, or is kept for another float than the next one, costs some milliseconds, and what it
gains is known when it has run. So where each call made a trace, several times in a row, the function is called as it
is once. The first trace makes plans, so that it does not count, unless it took long without that. What takes half as
long again loses at once; what is nearer is looked at again later, for schedules may have moved to C since. Arguments
that come again and again are traced all the same, once.

Invariant: the function is run once for each call, and what it gives does not depend on how long anything takes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable

import attrs

LONG_SECONDS = 1.0
"""A call that takes longer counts, though it is the first one."""

OFTEN = 8
"""How many times the same must come to be traced though that takes longer, once."""

_MOST_KINDS = 64
IN_A_ROW = 4
"""How many calls must have made a trace, one after the other."""

_CLEARLY = 1.5
_LATER = 16
"""After how many traces it is looked at again."""

_JUST = 1.05


@attrs.define
class Trial:
    """How long calls with arguments of one kind and size take, in seconds: traced, and as they are."""

    calls: int = 0
    traced: float = math.inf
    plain: float = math.inf
    is_plain: bool = False
    """Whether the function is called as it is from now on, for what has no trace."""
    is_kept: bool = False
    _times: Counter[Hashable] = attrs.field(factory=Counter, init=False)

    @property
    def wants_plain(self) -> bool:
        """Whether the next call is to tell how long the function takes as it is."""
        return self.plain == math.inf and (self.calls >= IN_A_ROW or LONG_SECONDS < self.traced < math.inf)

    def restart(self) -> None:
        """The trace before was used again."""
        if not self.is_plain:
            self.calls, self.traced, self.plain = 0, math.inf, math.inf

    def took(self, seconds: float, *, is_kept: bool = False, learned: bool = False) -> None:
        """A call was traced, and the trace is kept for the same arguments. What it learned it need not learn again."""
        self.calls += 1
        self.is_kept = is_kept
        if self.calls > 1 or (seconds > LONG_SECONDS and not learned):
            self.traced = seconds if self.calls >= _LATER else min(self.traced, seconds)
        self._judge()

    def took_plainly(self, seconds: float) -> None:
        """A call was run as it is."""
        self.plain = seconds
        self._judge()

    def is_new(self, kind: Hashable) -> bool:
        """Whether arguments have not come often yet, or often enough for nothing."""
        if not self.is_kept:
            return True
        if len(self._times) >= _MOST_KINDS and kind not in self._times:
            self._times.clear()
        self._times[kind] += 1
        return self._times[kind] < OFTEN

    def _judge(self) -> None:
        if self.plain < math.inf:
            most = _JUST if self.calls >= _LATER else _CLEARLY
            self.is_plain = self.traced > most * self.plain
