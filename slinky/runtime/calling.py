"""Calling callbacks by the convention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from slinky.errors import CallbackError


def call_callback(
    callback: Callable[..., Any], name: str, inputs: Sequence[Any], outputs: Sequence[Any], arguments: dict[str, Any]
) -> None:
    """Run a callback by the convention: inputs then outputs by position, arguments by name, ufunc outputs by `out=`.

    Raises `CallbackError` if it returns anything but None or its own outputs: a result that is returned instead of
    written would be lost.
    """
    if isinstance(callback, np.ufunc):
        callback(*inputs, out=tuple(outputs), **arguments)
        return
    result = callback(*inputs, *outputs, **arguments)
    if not is_accepted(result, outputs):
        raise result_error(name, type(result).__name__)


def is_accepted(result: object, outputs: Sequence[object]) -> bool:
    """Whether a callback may return this: nothing, or its own outputs."""
    returned = result if isinstance(result, tuple) else (result,)
    return all(value is None or any(value is output for output in outputs) for value in returned)


def result_error(name: str, kind: str) -> CallbackError:
    """The error of a call whose callback returned something of this type."""
    return CallbackError(
        f"the callback of {name} returned {kind}; a callback writes to its outputs, which come after its inputs, "
        f"and returns None. If it is a function that returns its result, wrap it: sl.returns(...)"
    )
