"""Which operations of a graph become one func: chains of ufuncs whose values nobody else reads.

Idea. Arithmetic of ufuncs is understood (`slinky.graph.terms`): a func of many steps works through its box in blocks
that stay in the cache, and needs no buffers for what the steps hand on. So a node is *inlined* into its only reader if
both are such arithmetic and the reader takes each of its elements at the same place.

Invariant: each element of each node is computed at most once, in either form by the same loops of NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from slinky.frontend.nodes import Node, Result, View
from slinky.frontend.operations import Extent, Number, Operand, Pointwise, as_it_is
from slinky.frontend.sizes import are_same
from slinky.frontend.tables import ANY_PIECES
from slinky.graph.terms import applied

if TYPE_CHECKING:
    from slinky.frontend.lowering import Lowering

LONGEST = 24
"""Chains of more steps are cut: parts of them can be computed where others cannot."""


def inlined(nodes: Sequence[Node], outputs: Collection[Result], by_pieces: Container[str] = ANY_PIECES) -> set[Node]:
    """The nodes that are computed by the func of their only reader, of those that run by pieces: all but others are as
    exact as one of `by_pieces`."""

    def may_join(node: Node) -> bool:
        return is_arithmetic(node) and node.operation.exactness in by_pieces

    readers: dict[Node, list[tuple[Node, View]]] = {}
    for node in nodes:
        for view in node.operands:
            readers.setdefault(view.result.node, []).append((node, view))
    found: set[Node] = set()
    lengths: dict[Node, int] = {}
    for node in nodes:
        if not may_join(node):
            continue
        steps = 1 + sum(lengths[each] for each in {view.result.node for view in node.operands} if each in found)
        lengths[node] = steps
        read = readers.get(node, [])
        if (
            not read
            or node.results[0] in outputs
            or steps >= LONGEST
            or any(reader is not read[0][0] for reader, _ in read)
        ):
            continue
        reader = read[0][0]
        if may_join(reader) and all(_is_aligned(view, reader) for _, view in read):
            found.add(node)
    return found


def _is_aligned(view: View, reader: Node) -> bool:
    """Whether a node reads each element at its own place."""
    return view.is_whole and all(map(are_same, view.shape, reader.results[0].shape))


def is_arithmetic(node: Node) -> bool:
    """Whether a node is arithmetic that is understood."""
    operation = node.operation
    if not isinstance(operation, Pointwise) or operation.masked or operation.unpacked or len(node.results) != 1:
        return False
    if not node.operands or not node.results[0].shape or operation.keywords or any(v.is_woven for v in node.operands):
        return False
    if operation.function is np.where:  # its dtype may depend on the values of Python's integers
        return node.operands[0].dtype == np.bool_ and all(isinstance(a, Operand) for a in operation.arguments)
    if operation.function is as_it_is or operation.function is np.clip:
        return all(_is_number(a) or a is None for a in operation.arguments)
    if not isinstance(operation.function, np.ufunc) or operation.function.signature is not None:
        return False
    return all(map(_is_number, operation.arguments))


def _is_number(argument: Any) -> bool:
    return isinstance(argument, (Operand, Number, Extent, np.generic)) or type(argument) in (int, complex)


def term_of(node: Node, lowering: Lowering, places: Sequence[Any], chosen: Collection[Node]) -> Any:
    """A node as a term of accesses, with those among the `chosen` ones that it reads."""
    operation = node.operation
    assert isinstance(operation, Pointwise)
    known: dict[Node, Any] = {}

    def operand(view: View) -> Any:
        source = view.result.node
        if source not in chosen:
            return lowering.read(view, places).access
        if source not in known:
            known[source] = term_of(source, lowering, places, chosen)
        return known[source]

    operands = [operand(view) for view in node.operands]
    given = [_argument(argument, node, operation, operands, lowering) for argument in operation.arguments]
    dtype = node.results[0].dtype
    function: Callable[..., Any] = operation.function
    if function is as_it_is:
        return given[0].astype(dtype)
    found = applied(function, given) if isinstance(function, np.ufunc) else function(*given)  # sizes know no ufuncs
    return found if found.dtype == dtype else found.astype(dtype)


def _argument(argument: Any, node: Node, operation: Pointwise, operands: Sequence[Any], lowering: Lowering) -> Any:
    if type(argument) is Operand:
        return operands[argument.number]
    if type(argument) is Number:
        return lowering.number(node, argument.number)
    return lowering.expr(operation.extents[argument.number]) if type(argument) is Extent else argument
