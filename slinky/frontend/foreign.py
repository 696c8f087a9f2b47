"""Running functions of others, which may raise anything.

Whoever can go on without a result catches `RaisedError`, which names what was raised and has it as its cause; mistakes
of our own pass through.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

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


def has_attribute(module: ModuleType, name: str) -> bool:
    """Whether a module has something by a name, which code of its own may have to find out (`__getattr__`).

    Raises `RaisedError` from an error or a warning of that code: who only looks for names has no use for either.
    """
    if name in vars(module):
        return True
    if type(module) is ModuleType and "__getattr__" not in vars(module):
        return hasattr(module, name)
    with foreign(), warnings.catch_warnings():
        warnings.simplefilter("error")
        return hasattr(module, name)
