"""Cursors to what a pipeline is called with. These places outlive every rewrite, for a pipeline keeps its parameters.

Invariant: the name of an `ArgCursor` is that of a parameter of its version.
"""

from __future__ import annotations

from typing import TypeVar

import attrs

from slinky.cursors.base import Cursor
from slinky.cursors.versions import Version
from slinky.ir.statements import BufferParameter, ConstantBuffer, ScalarParameter

T = TypeVar("T", bound=Cursor)


@attrs.frozen(repr=False)
class ArgCursor(Cursor):
    """A parameter of the pipeline: an input, an output, a scalar or a constant."""

    _version: Version
    _name: str

    def describe(self) -> str:
        parameter = self._parameter()
        if isinstance(parameter, BufferParameter):
            return f"{self.kind()} {parameter.name}: {parameter.dtype}[{parameter.rank}]"
        return f"{self.kind()} {parameter.name}"

    def __str__(self) -> str:
        from slinky.cursors.display import show

        return show(self._version, set(), header=True)

    def _parameter(self) -> BufferParameter | ScalarParameter | ConstantBuffer:
        return next(p for p in self._version.program.parameters() if p.name == self._name)

    def name(self) -> str:
        """Its name."""
        return self._name

    def kind(self) -> str:
        """`input`, `output`, `scalar` or `constant`."""
        program, parameter = self._version.program, self._parameter()
        if parameter in program.inputs:
            return "input"
        if parameter in program.outputs:
            return "output"
        return "scalar" if isinstance(parameter, ScalarParameter) else "constant"

    def forward_to(self: T, version: Version) -> T:
        assert isinstance(self, ArgCursor)
        version.require_descent(self._version)
        return type(self)(version, self._name)
