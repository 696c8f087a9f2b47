"""Which calls may make large arrays of small ones, or of numbers alone, and are traced to see that.

Idea. Functions of small arrays are called as they are. But of small arrays, all pairs may be many, and a function of a
few numbers may make grids of its own. The first is seen by the sizes of arguments. Of the second, nothing is known but
how long a call takes; if that is long, the next one with the same arguments is traced.

Invariant: a function is looked at a few times in vain at most.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from slinky.frontend.nodes import Array

LOOKS = 4
"""How many times a function is traced in vain to see whether it makes large arrays of small ones."""

LONG_SECONDS = 0.01
"""A call takes long that takes so many seconds."""

_MOST_KINDS = 64


class Making:
    """What is known of the calls of a function whose arguments are small; of what somebody said is small, nothing."""

    def __init__(self, smallest: int, *, is_given: bool) -> None:
        self._smallest = smallest
        self._looks = self._most = 0 if is_given else LOOKS
        self._long: set[Hashable] = set()

    def takes_long(self, kind: Hashable | None) -> bool:
        """Whether a call with arguments of just this kind has taken long."""
        return kind in self._long

    def may(self, arrays: Sequence[Array], kind: Hashable | None) -> bool:
        """Whether a call may make large arrays: all pairs of elements of small ones are none, or it takes long."""
        pairs = max((a.size * a.nbytes for a in arrays), default=0)
        return bool(self._most) and (pairs >= self._smallest or self.takes_long(kind))

    def may_look(self) -> bool:
        """Whether to look whether it does, and count that."""
        self._looks -= 1
        return self._looks >= 0

    def found_large(self) -> None:
        """It does."""
        self._looks = self._most

    def waits_for(self, kind: Hashable | None) -> bool:
        """Whether it is to be told how long a call takes."""
        return kind is not None and self._looks > 0 and kind not in self._long

    def took(self, kind: Hashable | None, seconds: float) -> bool:
        """A call took so long; whether the next one is looked at for that."""
        if seconds < LONG_SECONDS:
            return False
        if len(self._long) >= _MOST_KINDS:
            self._long.clear()
        self._long.add(kind)
        return True
