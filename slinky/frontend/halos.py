"""Arrays that go round, computed beyond their ends: what is rolled is a slice of them.

Idea. Of an array that is rolled, the first elements are read at the end of another one, so that nothing can go by
strips: all of it must be there before. But beyond its ends, such an array goes on with its other end. Arithmetic of
arrays that go round goes round, too, and may be computed a few elements farther, from arrays that are read so much
farther in turn; just those at which this ends, arguments mostly, are copied with elements of the other end around them.
What was rolled reads slices, as stencils do, and moves in strips with what it is made of.

Each node is asked, the last one first, how far beyond its ends its readers read (`_Reach`); then the graph is made
again from the first one on (`_Wider`), where an array is a slice of the one that stands for it.

Invariant: each element is computed by the same functions of the same elements as before. Sources, floats, and sizes
that no input tells are the same ones in the same order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from typing import TypeAlias

import attrs

from slinky.frontend.assembling import Around, Assembled
from slinky.frontend.fusing import is_arithmetic
from slinky.frontend.nodes import Index, Node, Result, Shape, View, whole_view
from slinky.frontend.sizes import are_same

FARTHEST = 8
"""Nothing is computed more elements beyond an end: what the readers of many rolls in turn would need."""

MOST_COPIED = 4
"""An array that is made of more than so many ones is copied itself."""

Ends: TypeAlias = tuple[tuple[int, int], ...]
"""How many elements there are before and behind those of an array, along each axis."""


def with_halos(
    nodes: Sequence[Node], outputs: Sequence[View], *, in_loops: bool = False
) -> tuple[Sequence[Node], Sequence[View]]:
    """The same graph, in which slices stand for what is rolled, as far as that is faster: where a back end runs
    arithmetic `in_loops` of its own, or does not."""
    rolls = [node for node in nodes if type(node.operation) is Around]
    if not rolls:
        return nodes, outputs
    graph = _Graph(nodes, {view.result for view in outputs})
    slices = {node for node in rolls if graph.may_be_slice(node)}
    chosen = {n for n in slices if in_loops or not _is_along_rows(n) or not is_arithmetic(n.operands[0].result.node)}
    reach = _Reach(graph, chosen)
    if wide := {node for node in chosen if len(reach.leaves(node)) > MOST_COPIED}:
        reach = _Reach(graph, chosen - wide)
    if others := slices - reach.slices:
        copied, everywhere = reach.copied(), _Reach(graph, slices)
        more = {node for node in others if _is_no_more(everywhere.leaves(node), copied)}
        more |= {node for node in others if node.results[0] in copied}  # else all of it is copied once more
        if more:
            reach = _Reach(graph, reach.slices | more)
    wider = _Wider(reach)
    for node in nodes:
        wider.add(node)
    return list(wider.nodes), [wider.view(view) for view in outputs]


def _is_along_rows(node: Node) -> bool:
    """Whether a node moves elements along the last axis only, so that whole rows have all that it needs."""
    assert isinstance(node.operation, Around)
    return not any(map(any, node.operation.widths[:-1]))


def _is_no_more(leaves: Collection[Result], copied: Collection[Result]) -> bool:
    """Whether no more is copied than one array: the one that is rolled otherwise."""
    return len(leaves) <= 1 or all(leaf in copied for leaf in leaves)


@attrs.frozen(eq=False)
class _Graph:
    """Some nodes, and what is wanted of them."""

    nodes: Sequence[Node]
    returned: Collection[Result]
    readers: dict[Result, list[Node]] = attrs.field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        for node in self.nodes:
            for view in node.operands:
                self.readers.setdefault(view.result, []).append(node)

    def may_be_slice(self, node: Node) -> bool:
        """Whether a node rolls all of an array, for arithmetic and copies: others may see how an array lies."""
        (result,) = node.results
        readers = self.readers.get(result, ())
        is_seen = any(not is_arithmetic(each) and not isinstance(each.operation, Assembled) for each in readers)
        return node.operands[0].is_whole and result not in self.returned and not is_seen

    def may_be_wide(self, node: Node, slices: Collection[Node]) -> bool:
        """Whether a node is arithmetic that only arithmetic reads: what others see has to be there as it is."""
        readers = (reader for reader in self.readers.get(node.results[0], ()) if reader not in slices)
        return is_arithmetic(node) and node.results[0] not in self.returned and all(map(is_arithmetic, readers))


class _Reach:
    """How far beyond the ends of results is read, where some rolls are slices."""

    def __init__(self, graph: _Graph, slices: Set[Node]) -> None:
        self._graph = graph
        self.slices = slices
        self.wide: set[Node] = set()
        """Nodes that are computed beyond their ends."""
        self._ends: dict[Result, list[tuple[int, int]]] = {}
        for node in reversed(graph.nodes):
            if node not in slices:
                self._visit(node)

    def ends(self, result: Result) -> Ends:
        """How far beyond its ends a result is read."""
        return tuple(self._ends.get(result, ())) or ((0, 0),) * len(result.shape)

    def copied(self) -> set[Result]:
        """The results that are copied with elements of their other ends around them."""
        return {result for result in self._ends if result.node not in self.wide}

    def leaves(self, roll: Node) -> set[Result]:
        """What a roll that is a slice is computed of, as far as that is copied."""
        found: set[Result] = set()
        waiting, met = [self.origin(roll.results[0])[0]], set()
        while waiting:
            result = waiting.pop()
            if result in met:
                continue
            met.add(result)
            if result.node in self.wide:
                waiting += [self.origin(view.result)[0] for view in result.node.operands]
            elif result in self._ends:
                found.add(result)
        return found

    def origin(self, result: Result) -> tuple[Result, Ends]:
        """What a result is a slice of, with how many elements around it."""
        node = result.node
        if node in self.slices:
            assert isinstance(node.operation, Around)
            return node.operands[0].result, node.operation.widths
        return result, ((0, 0),) * len(result.shape)

    def _visit(self, node: Node) -> None:
        """Take note of what a node reads, all of whose readers have been visited."""
        beyond: Ends = ()
        if node.results[0] in self._ends and self._may_be_wide(node):
            self.wide.add(node)
            beyond = self.ends(node.results[0])
        for view in node.operands:
            own, around = self.origin(view.result)
            for d, (index, widths) in enumerate(zip(view.index, around, strict=True)):
                ends = _read(view, index, own.shape[d], widths, beyond)
                if any(ends):
                    found = self._ends.setdefault(own, [(0, 0)] * len(own.shape))
                    found[d] = (max(found[d][0], ends[0]), max(found[d][1], ends[1]))

    def _may_be_wide(self, node: Node) -> bool:
        """Whether a node may be computed as far beyond its ends as it is read."""
        ends = self.ends(node.results[0])
        axes = [axis for axis, each in enumerate(ends) if any(each)]
        return (
            self._graph.may_be_wide(node, self.slices)
            and max(map(max, ends)) <= FARTHEST
            and all(self._goes_round(view, node.results[0], axis) for view in node.operands for axis in axes)
        )

    def _goes_round(self, view: View, result: Result, axis: int) -> bool:
        """Whether what is read along an axis goes on beyond its ends with its other end, or is the same everywhere."""
        if len(view.shape) != len(result.shape):
            return False
        own, _ = self.origin(view.result)
        for index, extent in zip(view.index, own.shape, strict=True):
            if all(along != axis for _, along in index.terms):
                continue
            if index.terms != ((1, axis),) or not are_same(extent, result.shape[axis]):
                return False
            if type(index.offset) is not int:
                return False
        return True


def _read(view: View, index: Index, extent: object, widths: tuple[int, int], beyond: Ends) -> tuple[int, int]:
    """How far beyond the ends of an axis is read that has so many elements around it, by a node that is computed so far
    beyond its own ends."""
    before, behind = widths
    if index.axis is None:
        return widths
    is_shifted = index.terms == ((1, index.axis),) and type(index.offset) is int
    if is_shifted and are_same(view.shape[index.axis], extent):  # type: ignore[arg-type]
        assert type(index.offset) is int
        before, behind = before - index.offset, index.offset - before
    more = beyond[index.axis] if beyond else (0, 0)
    return max(0, before + more[0]), max(0, behind + more[1])


@attrs.frozen(eq=False)
class _Place:
    """Where a result is found: from some place on in another one."""

    result: Result
    first: tuple[int, ...]


class _Wider:
    """The graph, made again."""

    def __init__(self, reach: _Reach) -> None:
        self._reach = reach
        self._plain: dict[Result, _Place] = {}
        self._wide: dict[Result, _Place] = {}
        self.nodes: dict[Node, None] = {}

    def add(self, node: Node) -> None:
        """What stands for a node, all of whose operands are there."""
        if node in self._reach.slices:
            return
        ends = self._reach.ends(node.results[0]) if node in self._reach.wide else ()
        operands = [self.view(view, ends) for view in node.operands]
        found = node
        if ends or any(a is not b for a, b in zip(operands, node.operands, strict=True)):
            found = node.again(operands, shape_of=lambda shape: _longer(shape, ends))
        self.nodes[found] = None
        for old, new in zip(node.results, found.results, strict=True):
            self._plain[old] = place = _Place(new, tuple(before for before, _ in ends) or (0,) * len(new.shape))
            if ends:
                self._wide[old] = place
            elif any(map(any, self._reach.ends(old))):
                self._wide[old] = self._copied(new, self._reach.ends(old))

    def _copied(self, result: Result, ends: Ends) -> _Place:
        """A copy with elements of the other ends around it."""
        made = [(_longer(result.shape, ends), result.dtype, False)]
        node = Node(Around.of(result.shape, ends), [whole_view(result)], made, result.node.line)
        self.nodes[node] = None
        return _Place(node.results[0], tuple(before for before, _ in ends))

    def view(self, view: View, beyond: Ends = ()) -> View:
        """What stands for a view, which a node reads that is computed so far beyond its ends."""
        own, around = self._reach.origin(view.result)
        place = self._plain[own]
        if own is not view.result or beyond:
            place = self._wide.get(own, place)
        if place.result is view.result and not beyond:
            return view
        index = []
        for i, first, (before, _) in zip(view.index, place.first, around, strict=True):
            more = sum(step * beyond[axis][0] for step, axis in i.terms) if beyond else 0
            index.append(attrs.evolve(i, offset=i.offset + (first - before - more)))
        return View(place.result, tuple(index), _longer(view.shape, beyond))


def _longer(shape: Shape, ends: Ends) -> Shape:
    """A shape with so many elements more around it."""
    return tuple(n + sum(each) for n, each in zip(shape, ends, strict=True)) if ends else shape
