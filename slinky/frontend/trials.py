"""Whether it pays to trace a function at each call: it is called as it is in between, and whoever is faster goes on.

Idea. A trace that cannot be kept costs some milliseconds at each call, and what it gains is known when it has run. The
first trace makes plans, so the second one counts, unless the first took long; then the function is called as it is
once. What takes half as long again loses at once; what is nearer is looked at again later, for schedules may have
moved to C since.

Invariant: the function is run once for each call, and what it gives does not depend on how long anything takes.
"""

from __future__ import annotations

import math

import attrs

LONG_SECONDS = 1.0
"""A call that takes longer counts, though it is the first one."""

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
    """Whether the function is called as it is from now on."""

    @property
    def wants_plain(self) -> bool:
        """Whether the next call is to tell how long the function takes as it is."""
        return self.plain == math.inf and self.traced < math.inf

    def took(self, seconds: float) -> None:
        """A call was traced."""
        self.calls += 1
        if self.calls > 1 or seconds > LONG_SECONDS:
            self.traced = seconds if self.calls >= _LATER else min(self.traced, seconds)
        self._judge()

    def took_plainly(self, seconds: float) -> None:
        """A call was run as it is."""
        self.plain = seconds
        self._judge()

    def _judge(self) -> None:
        if self.plain < math.inf:
            most = _JUST if self.calls >= _LATER else _CLEARLY
            self.is_plain = self.traced > most * self.plain
