"""How versions of a program descend from each other: a small node for each rewrite, which holds no program.

Whether a version descends from another takes time logarithmic in the number of versions between, by the jump
pointers of Myers, "An applicative random-access stack" (1983).

Invariant: a node never changes, but for the operation that ended with it, which is noted once. Nothing here knows what
a version is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

UNPICKLED = "unpickling"
"""What a history starts with, instead of `build_pipeline`, where a version came out of a pickle."""


@attrs.define(eq=False)
class Applied:
    """An operation that made a version of another one, and what it was given beside the pipeline. It never changes.

    Places are kept as patterns, or as what finds them in a program without its index: a version must not live on for
    having been pointed into.
    """

    operation: Callable[..., Any]
    given: tuple[object, ...]
    named: Mapping[str, object]
    start: Lineage
    """The version that it was applied to."""


@attrs.define(eq=False)
class Lineage:
    """One rewrite in the history of a version: its name, and what it ended, with a few words on each.

    It never changes, but for the operation, which is noted once.
    """

    parent: Lineage | None
    operation: str
    ended: dict[int, str]
    depth: int
    jump: Lineage | None
    _step: Applied | tuple[Any, ...] | None = None
    built: object = None
    """At the start of a history: what the first program was made of, if that is known."""

    @property
    def start(self) -> Lineage:
        """The start of the history."""
        node = self
        while node.parent is not None:
            node = node.jump or node.parent
        return node

    @property
    def step(self) -> Applied | tuple[Any, ...] | None:
        """The operation that ended with this rewrite, or None; at the start, what a pickle tells of earlier ones."""
        return self._step

    def record(self, step: Applied) -> None:
        """Take note, once, of the operation that ends with this rewrite."""
        assert self._step is None, "a rewrite ends one operation"
        self._step = step

    def child(self, operation: str, ended: dict[int, str]) -> Lineage:
        """The lineage after one more rewrite."""
        jump: Lineage = self
        first = self.jump
        if first is not None and first.jump is not None and self.depth - first.depth == first.depth - first.jump.depth:
            jump = first.jump
        return Lineage(self, operation, ended, self.depth + 1, jump)

    def descends_from(self, other: Lineage) -> bool:
        """Whether the other is this one or one of its ancestors."""
        node: Lineage | None = self
        depth = other.depth
        while node is not None and node.depth > depth:
            jump = node.jump
            node = jump if jump is not None and jump.depth >= depth else node.parent
        return node is other

    def since(self, other: Lineage) -> Iterator[Lineage]:
        """The rewrites from another, which is an ancestor, up to this one; newest first."""
        node: Lineage | None = self
        while node is not None and node is not other:
            yield node
            node = node.parent


def origin(operation: str = "build_pipeline", past: tuple[Any, ...] = ()) -> Lineage:
    """The start of a history; `past` are steps before it that are known as text only."""
    return Lineage(None, operation, {}, 0, None, past)
