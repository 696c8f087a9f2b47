"""What dimensions of buffers are called: in a program, and in the messages of its checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slinky.graph.buffers import Access, BufferExpr
from slinky.graph.funcs import Func
from slinky.symbolic.expressions import Condition, Expr, Scalar, Variable
from slinky.symbolic.intervals import Interval
from slinky.symbolic.text import positional, to_text
from slinky.symbolic.traversal import symbols


class DimensionNames:
    """The names of the dimensions of the buffers that some funcs touch."""

    def __init__(self, funcs: Sequence[Func]) -> None:
        self._funcs = funcs

    def of(self, buffer: BufferExpr) -> tuple[str, ...]:
        """Dimensions are named after the variables that index them, where one does, else by position."""
        if buffer.producer is not None and not buffer.extended_dims:
            accesses = [a for a in buffer.producer.outputs if a.buffer is buffer]
        else:
            accesses = self._reads(buffer)
        names: list[str] = []
        for d in range(buffer.rank):
            name = next((n for a in accesses if (n := _variable_name(a.box[d])) and n not in names), str(d))
            names.append(name)
        return tuple(names)

    def _reads(self, buffer: BufferExpr) -> list[Access]:
        """The accesses that read a buffer. What is extended is called as what extends it is read."""
        found: list[Access] = []
        for func in self._funcs:
            for access in func.inputs:
                if access.buffer is buffer:
                    target = func.outputs[0].buffer
                    found += self._reads(target) if target.extended_dims else [access]
        return found

    def text(self, expr: Expr | Condition, mentioned: Iterable[BufferExpr]) -> str:
        """An expression or condition as the program will print it; `mentioned` are buffers that it may speak of."""
        buffers = {buffer.name: buffer for buffer in mentioned}

        def named(buffer: str, d: int) -> str:
            name = self.of(buffers[buffer])[d] if buffer in buffers else str(d)
            return positional(buffer, d) if name.isdigit() else f"{buffer}.{name}"

        return to_text(expr, named)


def _variable_name(i: Interval | None) -> str | None:
    """The variable that an access follows along a dimension, if just one occurs."""
    if i is None:
        return None
    names = {
        s.name for e in (i.min, i.max) for s in symbols(e) if isinstance(s, Variable) and not isinstance(s, Scalar)
    }
    return names.pop() if len(names) == 1 else None
