"""Arrays that lie in columns: the same graph, with the axes of every array in reverse.

Idea. Arrays of Fortran's, tables of pandas', and what is transposed lie in columns: they are in C order if their axes
are taken in reverse. A trace of such arrays runs as its `InColumns` on their transposes: loops and strips go along
memory as they do for rows, and results lie in columns, as NumPy's do. An operation says itself what it is with its axes
in reverse (`Operation.reversed`); where one does not, large arrays in columns are left to NumPy.

Invariant: the results of a reversed graph, for the transposes of its sources, are the transposes of the results of the
graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slinky.frontend.lowering import untold
from slinky.frontend.nodes import Array, Node, Result, View, index_of
from slinky.frontend.traced import Traced


class InColumns(Traced):
    """A trace for arrays that lie in columns: what is computed is the transposes of what the trace gives."""

    def __init__(self, rows: Traced, nodes: Sequence[Node], outputs: Sequence[View]) -> None:
        """Of a trace for rows, whose graph in reverse are these."""
        vars(self).update(vars(rows))
        self.nodes, self.outputs = list(nodes), list(outputs)
        self.untold = untold(self.nodes, self.outputs)
        self.sources = [(number, array.T) for number, array in rows.sources]
        self.forget()
        self._rows = rows

    @property
    def rows(self) -> Traced:
        """The trace for arrays that lie in rows."""
        return self._rows

    def arrays(self, leaves: Sequence[Any]) -> list[Array]:
        """The transposes of the arrays that are read."""
        return [array if number is None else leaves[number].T for number, array in self.sources]

    def as_given_back(self, outputs: Sequence[Array]) -> Sequence[Array]:
        """The arrays that the trace gives, of those that were computed."""
        return [output.T for output in outputs]


def in_columns(rows: Traced) -> InColumns | None:
    """A trace for arrays that lie in columns; None where something stands against it (`against`)."""
    if against(rows) is not None:
        return None
    return InColumns(rows, *reversed_graph(rows.nodes, rows.outputs))


def against(rows: Traced) -> str | None:
    """What stands against a trace for arrays that lie in columns, in words; None if nothing does."""
    if rows.written:
        return "it writes to arguments"
    if rows.needs_c_order:
        return "results depend on that"
    if rows.trace.reasons:
        return "its trace is good for one call"
    unknown = next((node.name for node in rows.nodes if node.operation.reversed(node) is None), None)
    return None if unknown is None else f"{unknown} is not known with its axes in reverse"


def reversed_graph(nodes: Sequence[Node], outputs: Sequence[View]) -> tuple[list[Node], list[View]]:
    """A graph with the axes of every array in reverse, where all operations say what they are then."""
    made: dict[Result, Result] = {}
    found = []
    for node in nodes:
        operands = [_reversed(view, made[view.result]) for view in node.operands]
        found.append(node.again(operands, node.operation.reversed(node), lambda shape: shape[::-1]))
        made.update(zip(node.results, found[-1].results, strict=True))
    return found, [_reversed(view, made[view.result]) for view in outputs]


def _reversed(view: View, result: Result) -> View:
    """How a result in reverse is read, for what a view sees to be in reverse."""
    last = len(view.shape) - 1
    index = [index_of(i.offset, [(step, last - axis) for step, axis in i.terms]) for i in reversed(view.index)]
    return View(result, tuple(index), view.shape[::-1])
