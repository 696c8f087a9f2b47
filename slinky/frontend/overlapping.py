"""Arithmetic of windows that overlap, computed once for each element, and not once for each window that it is in.

Idea. `(windows ** 2).sum(axis=-1)` squares each element as often as there are windows with it, and writes all of them
to an array as many times as large as what they are windows of. The square of a window is a window of squares: so what
is computed is moved in front of the windows, if all that it is computed of is seen through the same ones. Sums along
windows then read squares as they would read elements.

Invariant: each element is computed by the same operations, of the same elements, and no element that is not computed
without this. Sums along windows see arrays whose strides are in the order of NumPy's, which keeps that of operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import attrs

from slinky.frontend.nodes import Index, Node, Result, View, index_of
from slinky.frontend.operations import Along, Pointwise
from slinky.frontend.sizes import Length, are_same
from slinky.frontend.tables import EXACT
from slinky.frontend.views import through

Windows: TypeAlias = tuple[tuple[tuple[int, int], ...], ...]
"""Along which axes of a view each axis of what it sees goes, of those that it goes along."""


def computed_before_windows(nodes: Sequence[Node], outputs: Sequence[View]) -> tuple[Sequence[Node], Sequence[View]]:
    """The same graph, in which windows are of what arithmetic makes of elements."""
    if not any(view.is_woven for node in nodes for view in node.operands):
        return nodes, outputs
    left: set[Node] = set()
    while True:
        graph = _Graph(left)
        for node in nodes:
            graph.add(node)
        if not graph.seen_otherwise:
            return (list(graph.nodes), [graph.view(view) for view in outputs]) if graph.moved else (nodes, outputs)
        left |= graph.seen_otherwise


class _Graph:
    """The graph, made again; nodes that are `left` stay behind windows."""

    def __init__(self, left: set[Node]) -> None:
        self._left = left
        self._found: dict[Result, Result] = {}
        self.moved: dict[Result, View] = {}
        """Where the results of nodes are seen that are computed before windows."""
        self.nodes: dict[Node, None] = {}
        self.seen_otherwise: set[Node] = set()
        """Nodes that were moved, and are seen by others than may see them so."""

    def view(self, view: View) -> View:
        """What stands for a view."""
        if view.result in self.moved:
            return through(self.moved[view.result], view)
        found = self._found.get(view.result, view.result)
        return view if found is view.result else attrs.evolve(view, result=found)

    def add(self, node: Node) -> None:
        """What stands for a node, all of whose operands are there."""
        operands = [self.view(view) for view in node.operands]
        windows = None if node in self._left else _windows(node, operands)
        if windows is not None:
            found = _before(node, operands, windows)
            index = tuple(index_of(0, terms) for terms in windows)
            self.moved[node.results[0]] = View(found.results[0], index, node.results[0].shape)
        else:
            seen = {view.result.node for view in node.operands if view.result in self.moved}
            if seen and not self._may_see(node):
                self.seen_otherwise |= seen
            is_same = all(a is b for a, b in zip(operands, node.operands, strict=True))
            found = node if is_same else node.again(operands)
            self._found |= zip(node.results, found.results, strict=True)
        self.nodes[found] = None

    def _may_see(self, node: Node) -> bool:
        """Whether a node reduces windows of what was moved: if the order counts, along themselves alone."""
        operation = node.operation
        if not isinstance(operation, Along) or operation.axes != operation.removed or len(node.operands) != 1:
            return False
        (view,) = node.operands
        inner = {axis for i in self.moved[view.result].index for _, axis in i.others}
        return view.is_whole and (operation.exactness == EXACT or inner.issuperset(operation.removed))


def _windows(node: Node, operands: Sequence[View]) -> Windows | None:
    """Through which windows a node sees its operands, if it is arithmetic of elements that sees all of them so."""
    operation = node.operation
    if not isinstance(operation, Pointwise) or operation.unpacked or len(node.results) != 1:
        return None
    found: Windows | None = None
    for view in operands:
        windows = tuple(i.terms for i in view.index if i.terms)
        if not windows:
            continue  # a single element
        if found is not None and found != windows:
            return None
        if not all(map(are_same, view.shape, node.results[0].shape)) or not _are_dense(windows, len(view.shape)):
            return None
        found = windows
    return found if found is not None and any(len(terms) > 1 for terms in found) else None


def _are_dense(windows: Windows, rank: int) -> bool:
    """Whether each axis of a view goes along one of what it sees, and all elements between the first one and the last
    one are seen."""
    terms = [term for each in windows for term in each]
    return sorted(axis for _, axis in terms) == list(range(rank)) and all(step == 1 for step, _ in terms)


def _before(node: Node, operands: Sequence[View], windows: Windows) -> Node:
    """A node that does the same to all elements that are seen."""
    (result,) = node.results
    shape = tuple(_extent(result.shape, terms) for terms in windows)

    def whole(view: View) -> View:
        axes = iter(range(len(shape)))
        return View(view.result, tuple(Index(i.offset, 1, next(axes) if i.terms else None) for i in view.index), shape)

    return node.again(list(map(whole, operands)), shape_of=lambda _: shape)


def _extent(shape: Sequence[Length], terms: Sequence[tuple[int, int]]) -> Length:
    """How many elements windows see along an axis."""
    found: Length = 1 - len(terms)
    for _, axis in terms:
        found = found + shape[axis]
    return found
