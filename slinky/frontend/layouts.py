"""Whether operations see arrays that are laid out as NumPy's would be, where their bits depend on that.

Idea. Sums and some ufuncs have several loops in NumPy, which the layout of an array chooses. Buffers of pipelines are
in C order; NumPy gives results the order of the operands. These are the same as long as arrays in C order are read in
their order, from one operation to the next.

Invariant: what `reads_as_numpy` approves of reads arrays with the strides that they have without slinky, for arguments
in C order.
"""

from __future__ import annotations

from collections.abc import Sequence

from slinky.frontend.filtering import Filter
from slinky.frontend.nodes import Node, Result, Source, View
from slinky.frontend.operations import Along, Assembled, Contraction, Opaque, Pointwise, Ramp
from slinky.frontend.tables import EXACT, TOLERANCE

_KEEPING = (Pointwise, Along, Assembled, Ramp, Filter)
"""Operations whose results are in C order if all operands are; so are those of `matmul`."""


def depends_on_layout(node: Node) -> bool:
    """Whether the bits of a node's results depend on how operands are laid out."""
    operation = node.operation
    if operation.exactness == EXACT:
        return isinstance(operation, Opaque)
    return operation.exactness == TOLERANCE or (isinstance(operation, Along) and bool(operation.removed))


def unlike_numpy(nodes: Sequence[Node]) -> Node | None:
    """The first node, of those that need each other in order, whose bits would be others than NumPy's."""
    ordered: set[Result] = set()
    for node in nodes:
        plain = all(is_turned_nowhere(view) for view in node.operands)
        known = all(view.result in ordered for view in node.operands)
        if depends_on_layout(node) and not (known and (plain or node.operation.exactness == TOLERANCE)):
            return node
        operation = node.operation
        if operation.in_c_order if isinstance(operation, Source) else known and plain and _keeps_order(node):
            ordered.update(node.results)
    return None


def in_c_order(view: View) -> bool:
    """Whether NumPy has an array in C order where a view stands."""
    waiting, seen = [view], set()
    while waiting:
        each = waiting.pop()
        node = each.result.node
        if not is_turned_nowhere(each):
            return False
        if node in seen:
            continue
        seen.add(node)
        if not (node.operation.in_c_order if isinstance(node.operation, Source) else _keeps_order(node)):
            return False
        waiting += node.operands
    return True


def _keeps_order(node: Node) -> bool:
    operation = node.operation
    return isinstance(operation, _KEEPING) or (isinstance(operation, Contraction) and operation.name == "matmul")


def is_turned_nowhere(view: View) -> bool:
    """Whether a view has the axes of its result in their order, forwards, and each once."""
    if view.is_woven:
        return False
    axes = [i.axis for i in view.index if i.axis is not None]
    return axes == sorted(axes) and all(i.step > 0 for i in view.index)
