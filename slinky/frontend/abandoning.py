"""How a trace ends before the function does: what is raised through it.

Invariant: what is no error of the function's own is none that it would catch, but for what may be tried again.
"""

from __future__ import annotations

import threading


class Abandoned(BaseException):
    """Tracing goes no further: the function does what no trace can follow. It is called as it is, then."""


class MadeArrayError(Exception):
    """Tracing goes no further where arrays that are made of numbers are lazy ones: it may, where they are NumPy's."""


class NotFollowed(BaseException):
    """Code of NumPy's is being followed (`following`), and does what is not understood. No error of anybody's, so that
    none who catches errors sees it."""


class Attempts(threading.local):
    """The code of NumPy's that this thread follows now: how deep in each other, and what was not understood in it."""

    depth = 0
    refused: str | None = None

    def refusal(self, what: str) -> NotFollowed:
        """What to raise: nothing of this may stay in a trace."""
        self.refused = what
        return NotFollowed(what)


ATTEMPTS = Attempts()
