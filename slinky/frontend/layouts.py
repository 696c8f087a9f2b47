"""Whether operations see arrays that are laid out as NumPy's would be, where their bits depend on that.

Idea. Sums and some ufuncs have several loops in NumPy, which the layout of an array chooses. Buffers of pipelines are
in C order; NumPy gives results the order of the operands. These are the same as long as arrays in C order are read in
their order, from one operation to the next.

Invariant: what `unlike_numpy` has nothing against reads arrays with the strides that they have without slinky, for
arguments in C order.
"""

from __future__ import annotations

from collections.abc import Sequence

from slinky.frontend.nodes import Node
from slinky.frontend.operations import Along, Opaque
from slinky.frontend.tables import EXACT, TOLERANCE


def depends_on_layout(node: Node) -> bool:
    """Whether the bits of a node's results depend on how operands are laid out."""
    operation = node.operation
    if operation.exactness == EXACT:
        return isinstance(operation, Opaque)
    return operation.exactness == TOLERANCE or (isinstance(operation, Along) and bool(operation.removed))


def unlike_numpy(nodes: Sequence[Node]) -> Node | None:
    """The first node, of those that need each other in order, whose bits would be others than NumPy's."""
    for node in nodes:
        plain = all(view.is_turned_nowhere for view in node.operands)
        known = all(view.result.node.in_c_order for view in node.operands)
        if depends_on_layout(node) and not (known and (plain or node.operation.exactness == TOLERANCE)):
            return node
    return None
