"""What runs funcs that are pipelines of their own.

The plan of an inner pipeline is made once, at the first call, and runs on buffers: each knows its coordinates, and is
just the region that the call reads or writes. Where somebody counts, the inner run tells the same recorder. The plan
lives as long as the plans that call it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from slinky.ir.operations import Nested
from slinky.ir.statements import Program
from slinky.runtime.statistics import recorder_here

if TYPE_CHECKING:
    from slinky.runtime.plan import Plan


class InnerRun:
    """Runs a program on buffers, inputs then outputs, and scalars by name."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._plan: Plan | None = None

    @property
    def plan(self) -> Plan:
        """The plan, made at the first use."""
        if self._plan is None:
            from slinky.runtime.plan import Plan

            self._plan = Plan(self.program)
        return self._plan

    def __call__(self, *buffers: Any, **scalars: Any) -> None:
        recorder = recorder_here()
        if recorder is None:
            self.plan.enter(buffers, scalars)
        else:
            self.plan.record_with(recorder, buffers, scalars)

    def __repr__(self) -> str:
        return f"<pipeline {self.program.name}>"


_runs: WeakValueDictionary[int, InnerRun] = WeakValueDictionary()
"""By the identity of a program, which lives as long as what runs it: that is, as long as a plan that calls it."""


def inner_run(operation: Nested) -> InnerRun:
    """What runs an inner pipeline: one for all operations that are the same program."""
    program = operation.program
    found = _runs.get(id(program))
    if found is None:
        found = _runs[id(program)] = InnerRun(program)
    return found
