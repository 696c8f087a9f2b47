"""Whether operations see arrays that are laid out as NumPy's would be, where their bits depend on that.

Idea. Sums and some ufuncs have several loops in NumPy, which the layout of an array chooses. Buffers of pipelines are
in C order; NumPy gives results the order of the operands. These are the same as long as arrays in C order are read in
their order, from one operation to the next.

Invariant: what `unlike_numpy` has nothing against reads arrays with the strides that they have without slinky, for
arguments in C order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slinky.frontend.nodes import Node, View
from slinky.frontend.operations import Along, Opaque, Pointwise
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
        is_near = node.operation.exactness == TOLERANCE
        if depends_on_layout(node) and not (known and (plain or is_near)):
            return node
        if is_near and any(map(_has_gaps, node.operands)):
            return node
    return None


def unlike_numpy_as_given(nodes: Sequence[Node], *, in_c_order: bool) -> Node | None:
    """The same, where arguments may not be in C order."""
    if in_c_order:
        return unlike_numpy(nodes)
    return next(filter(depends_on_layout, nodes), None)


def in_other_order(node: Node | None) -> str | None:
    """What stands against a node whose bits would be others than NumPy's."""
    return None if node is None else f"{node.name} depends on the order of arrays, which are not all in C order"


def _has_gaps(view: View) -> bool:
    """Whether NumPy has gaps between elements where slinky has none: parts of complex numbers are views there."""
    operation = view.result.node.operation
    is_part = isinstance(operation, Pointwise) and operation.function in (np.real, np.imag)
    return is_part and view.result.node.operands[0].dtype.kind == "c"
