"""Which calls may make large arrays of small ones, or of numbers alone, and are traced to see that.

Idea. Functions of small arrays are called as they are. But of small arrays, all pairs may be many, and a function of a
few numbers may make grids of its own. The first is seen by the sizes of arguments. Of the second, nothing is known but
how long calls take. If two with the same arguments take long, and the function has not changed what it reads in
between, the next one is traced, for so long as a few calls take.

Invariant: a function is looked at a few times in vain at most, and one that is called as it is raises what it raises.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Hashable, Sequence
from typing import Any

from slinky.frontend.foreign import RaisedError, foreign
from slinky.frontend.kept_traces import Traces
from slinky.frontend.nodes import Array
from slinky.frontend.sizes import lengths
from slinky.frontend.traced import Traced

LOOKS = 4
"""How many times a function is traced in vain to see whether it makes large arrays of small ones."""

LONG_SECONDS = 0.01
"""A call takes long that takes so many seconds."""

_CALLS = 2
"""So many calls must have taken long."""

_LEAST_SECONDS, _MOST_CALLS = 0.5, 8
"""A trace may take so long, and as much longer as so many calls."""

_MOST_KINDS = 64


class Making:
    """What is known of the calls of a function whose arguments are small; of what somebody said is small, nothing."""

    def __init__(self, traces: Traces, smallest: int, *, is_given: bool) -> None:
        self._traces = traces
        self._smallest = smallest
        self._looks = self._most = 0 if is_given else LOOKS
        self._long: dict[Hashable, list[float]] = {}
        """The seconds of calls that took long, by kind."""

    def may(self, arrays: Sequence[Array], kind: Hashable | None) -> bool:
        """Whether a call may make large arrays: all pairs of elements of small ones are none, or calls take long."""
        pairs = max((a.size * a.nbytes for a in arrays), default=0)
        return bool(self._most) and (pairs >= self._smallest or self._calls(kind) >= _CALLS)

    def waits_for(self, kind: Hashable | None) -> bool:
        """Whether it is to be told how long a call with arguments of just this kind takes."""
        return kind is not None and self._looks > 0 and self._calls(kind) < _CALLS

    def _calls(self, kind: Hashable | None) -> int:
        return len(self._long.get(kind, ()))

    def took(self, kind: Hashable | None, seconds: float) -> bool:
        """A call took so long; whether to wait for the next one."""
        if seconds < LONG_SECONDS:
            return False
        reads = None
        with contextlib.suppress(RaisedError), foreign():  # what cannot be traced, such as what draws random numbers
            reads = self._traces.reads_now()
        if reads is None or reads.reason is not None or reads.effect is not None or not reads.hold():
            self._most = self._looks = 0
            return False
        if len(self._long) >= _MOST_KINDS and kind not in self._long:
            self._long.clear()
        self._long.setdefault(kind, []).append(seconds)
        return True

    def looked_at(
        self, given: Any, named: Any, leaves: list[Any], arrays: Sequence[Array], exact: Hashable | None
    ) -> tuple[Traced | None, bool]:
        """The trace of a function that may make large arrays of small ones, such as one for all pairs, if it is there,
        or it was not in vain too often to make one; and whether it has been made now, and is not kept."""
        if not self.may(arrays, exact):
            return None, False
        key, kind = self._traces.kinds(given, named)
        traced = self._traces.kept(key, given, named, leaves)
        if traced is None and key is not None and self._looks and self._traces.refusal(kind, leaves) is None:
            self._looks -= 1
            took = self._long.get(exact)
            most = _LEAST_SECONDS + _MOST_CALLS * took[-1] if took else math.inf
            with contextlib.suppress(RaisedError), foreign():  # whatever it is, the function as it is will tell
                traced = self._traces.make(given, named, kind, most_seconds=most)
        if traced is not None and self.is_large(traced, leaves):
            self._looks = self._most
        return traced, traced is not None and not traced.lives_on

    def is_large(self, traced: Traced, leaves: Sequence[Any]) -> bool:
        """Whether a trace that needs no values makes large arrays of small ones."""
        return not traced.trace.reasons and traced.makes(self._smallest, lengths(traced.trace.sizes(leaves)))
