"""The options of automatic schedules, looked at before anything is scheduled, by those who load nothing else.

Invariant: what is accepted here makes sense to every function that takes it.
"""

from __future__ import annotations

from typing import Any

from slinky.errors import OperationError, cited
from slinky.runtime.backends import require_backend
from slinky.sched.machines import Machine
from slinky.symbolic import is_integer


def require_options(
    max_bytes: Any, workers: Any, machine: object, backend: object, *, who: str = "auto_schedule"
) -> None:
    """Raise `OperationError` for options that make no sense, and `ArgumentError` for a back end that is not there."""
    for name, value, least in (("max_bytes", max_bytes, 0), ("workers", workers, 1)):
        if value is not None and (not is_integer(value) or not least <= value < 1 << 63):
            limits = f"of at least {least}" if not is_integer(value) or value < least else "of 63 bits at most"
            raise OperationError(f"{who}: {name} must be an integer {limits}, got {cited(value)}")
    if machine is not None and not isinstance(machine, Machine):
        raise OperationError(f"{who}: machine must be a Machine, got {cited(machine)}")
    if not isinstance(backend, str):
        raise OperationError(f"{who}: backend must be the name of a back end, got {cited(backend)}")
    require_backend(backend)
