"""Arrays that are assigned to part by part: what is read of a part is what was assigned to it.

Idea. `table[:, k] = column` is traced as a copy: of the column, and elsewhere of what the table was. Read literally, a
table of n columns is copied n times. But a reader of one column needs just that, and one of other columns the table as
it was before. So views are followed through assignments (`_seen_through`), as far as it is known which elements they
see, and through what is put together of several arrays. And of assignments in a row that nobody reads in between, one
copy is made, of all parts: the last ones first, and without what the array was if nothing of that is left.

Invariant: each view sees the same elements. Readers that may see how an array lies read what they did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import attrs

from slinky.frontend.assembling import Assembled, Part
from slinky.frontend.fusing import is_arithmetic
from slinky.frontend.nodes import Index, Node, Result, View, in_order, index_of
from slinky.frontend.placed_rows import in_a_row, is_rows
from slinky.frontend.sizes import Length, are_same
from slinky.frontend.views import through

MOST_PARTS = 256
"""More parts are not put together."""

MOST_PIECES = 8
"""The same of parts that are not side by side along one axis: whether they are all there is takes long to see."""

_MOST_PLACES = 1 << 12
"""Along axes of more elements it is not counted whether parts are all there is."""


def graph_of(outputs: Sequence[View]) -> tuple[list[Node], list[View]]:
    """The nodes that some views need, in order, and the views: without what assignments make needless."""
    nodes = in_order([view.result for view in outputs])
    if not any(_is_of_parts(node) or is_rows(node) for node in nodes):
        return nodes, list(outputs)
    made = _Made()
    for node in nodes:
        made.add(node, made.followed if _sees_elements_alone(node) else made.mapped)
    found = [made.mapped(view) for view in outputs]
    nodes = in_order([view.result for view in found])
    readers = Counter(view.result for node in nodes for view in node.operands)
    readers.update(view.result for view in found)
    rows: dict[Node, Node] = {}
    inside: set[Node] = set()
    for node in reversed(nodes):
        if node not in inside and (is_assignment(node) or is_rows(node)):
            rows[node], before = (
                _in_a_row(node, readers) if is_assignment(node) else in_a_row(node, readers, MOST_PARTS)
            )
            inside.update(before)
    made = _Made()
    for node in nodes:
        if node not in inside:
            made.add(rows.get(node, node), made.mapped, node)
    found = [made.mapped(view) for view in found]
    return in_order([view.result for view in found]), found


def is_assignment(node: Node) -> bool:
    """Whether a node gives an array parts of which are assigned to."""
    return isinstance(node.operation, Assembled) and node.operation.name == "assign"


def _is_of_parts(node: Node) -> bool:
    """Whether a node puts an array together of parts that are copies of other ones, as they are."""
    operation = node.operation
    return isinstance(operation, Assembled) and len(operation.parts) > 1 and not any(p.rules for p in operation.parts)


def _sees_elements_alone(node: Node) -> bool:
    """Whether a node gives the same bits, however the arrays lie that it reads."""
    return is_arithmetic(node) or isinstance(node.operation, Assembled)


class _Made:
    """A graph, made again: what stands for each result."""

    def __init__(self) -> None:
        self._results: dict[Result, Result] = {}

    def add(self, node: Node, follow: Callable[[View], View], instead_of: Node | None = None) -> None:
        """A node, with its operands as they are now."""
        was = instead_of or node
        operands = [follow(view) for view in node.operands]
        if any(a is not b for a, b in zip(operands, node.operands, strict=True)):
            node = node.again(operands)
        for old, new in zip(was.results, node.results, strict=True):
            self._results[old] = new

    def mapped(self, view: View) -> View:
        """What stands for a view."""
        now = self._results.get(view.result, view.result)
        return view if now is view.result else attrs.evolve(view, result=now)

    def followed(self, view: View) -> View:
        """The same, through assignments."""
        return _seen_through(self.mapped(view))


def _seen_through(view: View) -> View:
    """A view of the part that it sees alone, of what parts are assigned to or of what is put together of some."""
    while _is_of_parts(view.result.node) and not view.is_woven:
        node = view.result.node
        assert isinstance(node.operation, Assembled)
        found = None
        for part, operand in zip(node.operation.parts, node.operands, strict=True):
            ends = list(zip(view.index, part.index, part.counts, node.results[0].shape, strict=True))
            if not any(_are_apart(i, view, at, count) for i, at, count, _ in ends):
                is_inside = all(_lies_in(i, view, at, count, extent) for i, at, count, extent in ends)
                found = through(operand, _seen_in(part, view)) if is_inside and operand.dtype == view.dtype else None
                break
        if found is None:
            break
        view = found
    return view


def _seen_in(part: Part, view: View) -> View:
    """What a view sees of a part, as a view of that."""
    index: dict[int, Index] = {}
    for i, at in zip(view.index, part.index, strict=True):
        if at.axis is not None:
            index[at.axis] = index_of((i.offset - at.offset) * at.step, [(s * at.step, a) for s, a in i.terms])
    return View(view.result, tuple(index[axis] for axis in range(len(index))), view.shape)


def _places(i: Index, view: View) -> tuple[int, int] | None:
    """The first and the last place that a view sees along an axis; None where these are no numbers."""
    if type(i.offset) is not int:
        return None
    low = high = i.offset
    for step, axis in i.terms:
        count = view.shape[axis]
        if type(count) is not int or count < 1:
            return None
        far = step * (count - 1)
        low, high = (low, high + far) if step > 0 else (low + far, high)
    return low, high


def _taken(at: Index, count: Length) -> tuple[int, int] | None:
    """The same of a part, whose elements are one after the other."""
    if type(at.offset) is not int or type(count) is not int or count < 1 or abs(at.step) != 1:
        return None
    last = at.offset + at.step * (count - 1)
    return min(at.offset, last), max(at.offset, last)


def _are_apart(i: Index, view: View, at: Index, count: Length) -> bool:
    """Whether a view sees nothing of a part, for what lies along one axis."""
    seen, taken = _places(i, view), _taken(at, count)
    return seen is not None and taken is not None and (seen[1] < taken[0] or taken[1] < seen[0])


def _lies_in(i: Index, view: View, at: Index, count: Length, extent: Length) -> bool:
    """Whether all that a view sees along an axis is of a part."""
    if at.is_plain and are_same(count, extent):
        return True
    if at.axis is None and not i.terms and are_same(i.offset, at.offset):
        return True
    seen, taken = _places(i, view), _taken(at, count)
    return seen is not None and taken is not None and taken[0] <= seen[0] and seen[1] <= taken[1]


def _in_a_row(node: Node, readers: Counter[Result]) -> tuple[Node, list[Node]]:
    """An assignment with those before it that nobody else reads, as one copy; and these."""
    parts: list[Part] = []
    operands: list[View] = []
    inside: list[Node] = []
    axes = set(range(len(node.results[0].shape)))
    last = node
    while True:
        assert isinstance(last.operation, Assembled)
        parts.append(last.operation.parts[0])
        axes = {d for d in axes if _has_all_but(parts[-1], d, node.results[0])}
        value, old = last.operands
        operands.append(value)
        before = old.result.node
        is_full = len(parts) >= (MOST_PARTS if axes else MOST_PIECES)
        if not (is_assignment(before) and old.is_whole) or readers[old.result] > 1 or is_full:
            break
        last = before
        inside.append(last)
    assert isinstance(last.operation, Assembled)
    (result,) = node.results
    if not _are_all(parts, result):
        parts.append(last.operation.parts[1])
        operands.append(last.operands[1])
    return node.again(operands, Assembled("assign", tuple(parts))), inside


def _has_all_but(part: Part, d: int, result: Result) -> bool:
    """Whether a part has all of the axes of a result but one."""
    axes = range(len(result.shape))
    return all(part.index[k].is_plain and are_same(part.counts[k], result.shape[k]) for k in axes if k != d)


def _are_all(parts: Sequence[Part], result: Result) -> bool:
    """Whether parts that have all of the other axes have all places of one, too."""
    for d, extent in enumerate(result.shape):
        if type(extent) is not int or not 0 < extent <= _MOST_PLACES:
            continue
        places: set[int] = set()
        for part in parts:
            at, count = part.index[d], part.counts[d]
            if type(at.offset) is int and type(count) is int and _has_all_but(part, d, result):
                places.update(at.offset + at.step * n for n in range(count))
        if len(places) == extent:
            return True
    return False
