"""Cursors to what a pipeline is called with. These places outlive every rewrite, for a pipeline keeps its parameters.

Invariant: the name of an `ArgCursor` is that of a parameter of its version.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

import attrs
import numpy as np

from slinky.cursors.answers import Dimension, dim_position, named_box
from slinky.cursors.base import Cursor
from slinky.cursors.versions import Version, require_version
from slinky.errors import InvalidCursorError
from slinky.ir.statements import BufferParameter, ConstantBuffer, FloatParameter, ScalarParameter
from slinky.symbolic.intervals import Box, Interval

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

    def _parameter(self) -> BufferParameter | ScalarParameter | FloatParameter | ConstantBuffer:
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
        return "scalar" if isinstance(parameter, (ScalarParameter, FloatParameter)) else "constant"

    def dtype(self) -> np.dtype[Any]:
        """The type of its elements. Raises `InvalidCursorError` for a scalar, as `rank`, `dims` and `bounds` do."""
        buffer = self._buffer("type of elements")
        return buffer.dtype if isinstance(buffer, BufferParameter) else buffer.array.dtype

    def rank(self) -> int:
        """How many dimensions it has."""
        return len(self._buffer("rank").dims)

    def dims(self) -> tuple[str, ...]:
        """The names of its dimensions."""
        return self._buffer("dimensions").dims

    @overload
    def bounds(self) -> Box: ...
    @overload
    def bounds(self, dim: Dimension) -> Interval: ...
    def bounds(self, dim: Dimension | None = None) -> Interval | Box:
        """The interval of coordinates of a dimension, by name or position; without one, those of all dimensions."""
        buffer = self._buffer("bounds")
        known = self._version.global_box(self._name)
        assert known is not None
        box = named_box(self._version.program, known)
        return box if dim is None else box[dim_position(buffer.dims, dim, f"buffer {self._name}")]

    def _buffer(self, what: str) -> BufferParameter | ConstantBuffer:
        parameter = self._parameter()
        if isinstance(parameter, ScalarParameter):
            raise InvalidCursorError(f"{self._name} is a scalar, an integer, so it has no {what}")
        if isinstance(parameter, FloatParameter):
            raise InvalidCursorError(f"{self._name} is a scalar, a float, so it has no {what}")
        return parameter

    def forward_to(self: T, version: Version) -> T:
        assert isinstance(self, ArgCursor)
        require_version(version).require_descent(self._version)
        return type(self)(version, self._name)
