"""Python's cyclic garbage collector waits while a plan or a program is made.

What is made there is a tree: statements, steps and texts, most of which stay. The collector is called by the number of
objects that were made and not freed, and then looks at all that live, to find cycles; here it finds none, however often
it looks. So it waits, and what others leave behind meanwhile, in other threads, is found a little later. Everything
that is in no cycle is freed at once, as always.

When it goes on, there is so much that is new that it would look at all of this at once, for a tenth of the time that
the making took. So what was made is taken for old: it is looked at with all else that lives, when that is due.

Invariants: while nothing is made, the collector is as it was before, however the making ended, in a forked child, too.
What somebody has frozen stays frozen. To see that there is something takes as long as there is much of it, so it is
seen once.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from slinky.runtime import forks


class _Pauses:
    """The pauses that are under way, of all threads. The first one turns the collector off, the last one turns it on
    again, if it was on."""

    def __init__(self) -> None:
        self._lock = forks.lock()
        self._threads: dict[object, int] = {}
        self._was_on = False
        self._somebody_freezes = False

    def begin(self, pause: object) -> None:
        """Let the collector wait until this pause ends."""
        with self._lock:
            if not self._threads:
                self._was_on = gc.isenabled()
            self._threads[pause] = threading.get_ident()
            gc.disable()

    def end(self, pause: object) -> None:
        """End a pause, which may have been interrupted before it began."""
        with self._lock:
            self._threads.pop(pause, None)
            self._end_if_last()

    def in_child(self) -> None:
        """In a forked child, only the thread that forked goes on."""
        here = threading.get_ident()
        self._threads = {pause: thread for pause, thread in self._threads.items() if thread == here}
        self._end_if_last()

    def _end_if_last(self) -> None:
        if not self._threads and self._was_on:
            self._somebody_freezes = self._somebody_freezes or gc.get_freeze_count() > 0
            if not self._somebody_freezes:
                gc.freeze()  # all that lives, and that without looking at it
                gc.unfreeze()
            gc.enable()
            self._was_on = False


_pauses = _Pauses()
forks.after_fork_in_child(_pauses.in_child)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Let the cyclic garbage collector wait while the block runs: for blocks that make much and leave no cycles.

    Must not be entered where a lock of `forks` is held.
    """
    pause = object()
    try:
        _pauses.begin(pause)
        yield
    finally:
        _pauses.end(pause)
