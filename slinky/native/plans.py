"""Native plans: a plan in Python whose arithmetic is C.

Idea. What a plan decides (loops, memory, views, threads) does not depend on what runs a call, so a native plan is the
Python plan with other functions for the calls that slinky understands: each is compiled once, and called with the lock
of the interpreter released. A callback in between is called as ever.

Invariant: results, counts and warnings are those of the Python plan.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from slinky.errors import MissingCompilerWarning
from slinky.ir.operations import Expression
from slinky.ir.statements import LoweredFunc, Program
from slinky.native.carriers import native_carrier
from slinky.native.compiling import compiler
from slinky.runtime.plan import Plan


class NativePlan(Plan):
    """A plan that runs arithmetic in C. Where there is no C compiler, all of it is Python, and a warning says so."""

    def __init__(self, program: Program) -> None:
        self._made_by = compiler()
        if self._made_by is None:
            warnings.warn(
                "there is no C compiler, so arithmetic runs as NumPy's: install one, or pip install 'slinky[native]'",
                MissingCompilerWarning,
                stacklevel=2,
            )
        super().__init__(program)

    def carrier(self, func: LoweredFunc) -> Callable[..., Any] | None:
        """The C function of a func that is arithmetic, where there is one. Raises `CompilationError`."""
        operation = func.operation
        if self._made_by is None or not isinstance(operation, Expression):
            return None
        return native_carrier(operation.formula, self._made_by)
