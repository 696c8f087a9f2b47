"""Which functions of NumPy's gave what a trace computes: some give arrays, whatever containers they are given.

Idea. `np.where(table > 0, table, 0)` is an array of NumPy's, where `table * 2` is a table. Lazy arrays stand for both.
So a trace notes by which function the user came to each node, and of which results a function gave back an array
(`np.asarray(table)`), where no node says so.

Invariant: what a function gives that is in none of the tables here is never taken for a container, nor for an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from slinky.frontend.nodes import Node, Result

KEEPING = frozenset([np.clip, np.round, np.around])
"""Functions that call the method of what they are given: they give containers like it."""

GIVING_ARRAYS = frozenset([np.angle, np.i0, np.isclose, np.nan_to_num, np.select, np.sinc, np.where])
"""Functions that make arrays of what they are given, in every version of NumPy's."""


class Origins:
    """By which function, if any, each node of a trace was asked for."""

    def __init__(self) -> None:
        self._within: Callable[..., Any] | None = None
        self._functions: dict[Node, Callable[..., Any] | None] = {}
        self._unclear: set[Node] = set()
        self.arrays: set[Result] = set()
        """Results that a function gave back as an array."""

    @contextmanager
    def within(self, function: Callable[..., Any]) -> Iterator[None]:
        """Nodes that are made in the block are of this function, unless it is itself called by one."""
        before = self._within
        self._within = before or function
        try:
            yield
        finally:
            self._within = before

    def note(self, node: Node) -> None:
        """A node was asked for: a new one, or one that is there already."""
        if self._functions.setdefault(node, self._within) is not self._within:
            self._unclear.add(node)

    def forget(self) -> None:
        """Know nothing of the nodes so far."""
        self._functions.clear()
        self._unclear.clear()
        self.arrays.clear()

    def gave_back(self, function: Callable[..., Any], given: Iterable[Result], found: Iterable[Result]) -> None:
        """A function gave some results: what it was given is an array then, unless the function keeps containers."""
        if function not in KEEPING:
            self.arrays |= set(given) & set(found)

    def keeps_containers(self, node: Node) -> bool:
        """Whether a node gives containers of containers: if it is an operator's or a ufunc's, or a function keeps
        them."""
        function = self._functions.get(node)
        return node not in self._unclear and (function is None or function in KEEPING)

    def gives_arrays(self, node: Node) -> bool:
        """Whether a node gives arrays of containers."""
        return node not in self._unclear and self._functions.get(node) in GIVING_ARRAYS
