"""Running functions of others, which may raise anything.

Whoever can go on without a result catches `RaisedError`, which names what was raised and has it as its cause; mistakes
of our own pass through.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from slinky.errors import SlinkyError


class RaisedError(SlinkyError):
    """A function of somebody else's raised an error: the cause of this one."""


@contextmanager
def foreign() -> Iterator[None]:
    """Run a function of somebody else's. Raises `RaisedError` from what it raises; interrupts pass through."""
    try:
        yield
    except Exception as error:
        raise RaisedError(f"{type(error).__name__}: {error}") from error
