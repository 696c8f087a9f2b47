"""Code that tells a recorder what a run does.

Invariant: where nobody counts, nothing is written for it, and everything else is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from slinky.ir.statements import Alloc, Block, Call, Statement
from slinky.runtime.codegen.writer import Writer
from slinky.runtime.lifetimes import releases
from slinky.symbolic.intervals import Box


class Recording:
    """Reports to the recorder in the local `name`; to nobody if that is None."""

    def __init__(self, writer: Writer, name: str | None) -> None:
        self._writer = writer
        self._name = name
        self._block = ""

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
        last_uses = releases(block)
        with writer.inside(f"with {self._name}.block() as {name}:", writer.facts):
            self._block = name
            for position, statement in enumerate(block):
                write(statement)
                for buffer in last_uses.get(position, ()):
                    writer.scope.write(f"{name}.free({buffer!r})")
        self._block = outer

    def allocation(self, buffer: str, size: str) -> None:
        """A buffer of the current block begins."""
        self._writer.scope.write(f"{self._block}.allocate({buffer!r}, {size})")

    @contextmanager
    def call(self, call: Call, box: Box) -> Iterator[None]:
        """What follows is the call of a callback."""
        if not self.is_on:
            yield
            return
        writer = self._writer
        spans = ", ".join(f"({writer.text(i.min)}, {writer.text(i.max)})" for i in box)
        spans += "," * (len(box) == 1)
        header = f"with {self._name}.call({call.func.name!r}, ({spans})):"
        with writer.inside(header, writer.facts, place=writer.place(call)):
            yield
