"""Arrays that lie in columns: the same graph, with the axes of every array in reverse.

Idea. Arrays of Fortran's, tables of pandas', and what is transposed lie in columns: they are in C order if their axes
are taken in reverse. A trace of such arrays runs as its `InColumns` on their transposes: loops and strips go along
memory as they do for rows. An operation says itself what it is with its axes in reverse (`Operation.reversed`); where
one does not, large arrays in columns are left to NumPy. Results are in C order, as ever, but for those that NumPy is
known to give in columns: of operations on nothing but such arrays, in functions that neither ask for C order nor write
to arrays of their own.

Invariants: the results of a reversed graph, for the transposes of its sources, are the transposes of the results of the
graph. No result lies in columns that NumPy gives in C order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from slinky.frontend.assembling import Assembled
from slinky.frontend.lying import is_large
from slinky.frontend.nodes import Array, Node, Result, Source, View, in_reverse
from slinky.frontend.operations import Along, Pointwise, as_it_is
from slinky.frontend.traced import Traced


class InColumns(Traced):
    """A trace for arrays that lie in columns, by their transposes; `columns` are the numbers of the sources of which it
    is taken for granted."""

    def __init__(self, rows: Traced, columns: Collection[int]) -> None:
        """Of a trace for rows, against which nothing stands."""
        vars(self).update(vars(rows))
        self.columns = columns
        known = set() if rows.trace.asked_for_rows else _results_in_columns(rows.nodes, columns)
        self._are_turned = [len(view.shape) < 2 or (view.is_whole and view.result in known) for view in rows.outputs]
        self.be_graph(*reversed_graph(rows.nodes, rows.outputs, self._are_turned))
        self.sources = [(number, array.T) for number, array in rows.sources]
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
        return [each.T if turned else each for each, turned in zip(outputs, self._are_turned, strict=True)]


def in_columns(rows: Traced, arrays: Sequence[Array]) -> InColumns | None:
    """A trace for arrays that lie in columns, of which these are some; None where something stands against it."""
    if against(rows) is not None:
        return None
    return InColumns(rows, frozenset(k for k, array in enumerate(arrays) if is_large(array)))


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


def reversed_graph(
    nodes: Sequence[Node], outputs: Sequence[View], are_turned: Sequence[bool]
) -> tuple[list[Node], list[View]]:
    """A graph with the axes of every array in reverse, where all operations say what they are then, and what some views
    see of it: in reverse, too, where they `are_turned`."""
    made: dict[Result, Result] = {}
    found = []
    for node in nodes:
        operands = [_reversed(view, made[view.result]) for view in node.operands]
        found.append(node.again(operands, node.operation.reversed(node), lambda shape: shape[::-1]))
        made.update(zip(node.results, found[-1].results, strict=True))
    return found, [
        _reversed(view, made[view.result])
        if is_turned
        else View(made[view.result], tuple(reversed(view.index)), view.shape)
        for view, is_turned in zip(outputs, are_turned, strict=True)
    ]


def _reversed(view: View, result: Result) -> View:
    """How a result in reverse is read, for what a view sees to be in reverse."""
    return View(result, in_reverse(view.index, len(view.shape)), view.shape[::-1])


_IN_THE_SAME_ORDER = (np.where, np.clip, as_it_is)
_COPIES = ("concatenate", "copy")
"""What gives elements, like ufuncs, and copies in the order of what they are of; others look at more than that."""

_IN_AN_ORDER_OF_THEIR_OWN = (np.median, np.nanmedian)


def _results_in_columns(nodes: Sequence[Node], columns: Collection[int]) -> set[Result]:
    """The results that NumPy is known to give in columns, where sources of these numbers lie so."""
    found: set[Result] = set()
    number = 0
    for node in nodes:
        operation = node.operation
        if isinstance(operation, Source):
            if number in columns:
                found.update(node.results)
            number += 1
            continue
        is_known = (
            (isinstance(operation, Pointwise) and _is_in_the_same_order(operation.function))
            or (isinstance(operation, Along) and operation.function not in _IN_AN_ORDER_OF_THEIR_OWN)
            or (isinstance(operation, Assembled) and operation.name in _COPIES)
        )
        large = [view for view in node.operands if sum(i.axis is not None for i in view.index) > 1]
        if is_known and large and all(view.result in found and _keeps_columns(view) for view in large):
            found.update(node.results)
    return found


def _is_in_the_same_order(function: Any) -> bool:
    return isinstance(function, np.ufunc) or function in _IN_THE_SAME_ORDER


def _keeps_columns(view: View) -> bool:
    """Whether a view of an array in columns lies in columns, too: it has its axes in their order, and no others."""
    axes = [i.axis for i in view.index if i.axis is not None]
    return not view.is_woven and axes == list(range(len(view.shape)))
