"""Steps that tell a recorder what a run does.

Invariant: where nobody counts, nothing is done for it, and everything else is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from slinky.ir.statements import Alloc, Block, Call, Statement
from slinky.runtime.codegen.writer import Writer
from slinky.runtime.lifetimes import memory_releases
from slinky.runtime.plan_tree import Name, RecordAllocation, RecordBlock, RecordCall, RecordFree, Value
from slinky.symbolic.intervals import Box


class Recording:
    """Reports to the recorder of this name; to nobody if that is None."""

    def __init__(self, writer: Writer, name: str | None) -> None:
        self._writer = writer
        self._name = name
        self._block = ""

    @property
    def _recorder(self) -> Name:
        assert self._name is not None  # somebody counts
        return Name(self._name)

    @property
    def is_on(self) -> bool:
        """Whether anybody counts."""
        return self._name is not None

    def block(self, block: Block, write: Callable[[Statement], None]) -> None:
        """Write the statements of a block. A recorder is told when each of its buffers ends."""
        if not self.is_on or not any(isinstance(s, Alloc) for s in block):
            for statement in block:
                write(statement)
            return
        writer, outer = self._writer, self._block
        name = writer.names.fresh("block")
        last_uses = memory_releases(block)
        with writer.inside(writer.facts) as inner:
            self._block = name
            for position, statement in enumerate(block):
                write(statement)
                for buffer in last_uses.get(position, ()):
                    inner.add(RecordFree(Name(name), buffer))
        if inner.steps:
            writer.scope.add(RecordBlock(self._recorder, name, inner.done()))
        self._block = outer

    def allocation(self, buffer: str, size: Value) -> None:
        """A buffer of the current block begins."""
        self._writer.scope.add(RecordAllocation(Name(self._block), buffer, size))

    @contextmanager
    def call(self, call: Call, box: Box) -> Iterator[None]:
        """What follows is the call of a callback."""
        if not self.is_on:
            yield
            return
        writer, place = self._writer, self._writer.place(call)
        spans = tuple([(writer.value(i.min), writer.value(i.max)) for i in box])
        with writer.inside(writer.facts) as inner:
            yield
        if inner.steps:
            writer.scope.add(RecordCall(self._recorder, call.func.name, spans, inner.done(), place))
