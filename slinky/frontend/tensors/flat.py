"""Graphs of tensors as flat data, and graphs made of that again: what pickles and deep copies of tensors are made of.

Idea. The nodes of a graph stand one after the other, operands first, and name each other and their sizes by numbers. In
their expressions the number of a size stands for its symbol, for a symbol means something in its process only.

Invariant: what is made again has unknowns of its own, and so has to do with no other tensor, but for those that come
out of the same pickle, or copy, and had to do with it before. What others said of its sizes is not there, but for the
values that were given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from slinky.frontend.tensors.equations import Equation, Unknown
from slinky.frontend.tensors.identities import Identity
from slinky.frontend.tensors.nodes import Node, in_order
from slinky.symbolic.expressions import Expr, variable
from slinky.symbolic.traversal import substitute

_ELSEWHERE = ("operands", "sizes", "equations", "identity")
"""The fields of nodes that name other nodes or unknowns, or itself."""


@attrs.frozen(eq=False)
class _Size:
    """What an unknown is."""

    identity: Identity
    of: str
    value: int | None
    given: str


@attrs.frozen(eq=False)
class _Said:
    """An equation of unknowns by their numbers."""

    kind: type[Equation]
    unknowns: tuple[int, ...]
    fields: dict[str, Any]


@attrs.frozen(eq=False)
class _FlatNode:
    """A node with the numbers of its operands and of its unknowns."""

    identity: Identity
    kind: type[Node]
    operands: tuple[int, ...]
    sizes: tuple[int, ...]
    equations: tuple[_Said, ...]
    fields: dict[str, Any]


@attrs.frozen(eq=False)
class FlatGraph:
    """A graph: its unknowns, and its nodes, of which the last one is the root."""

    sizes: tuple[_Size, ...]
    nodes: tuple[_FlatNode, ...]


@attrs.frozen
class _Operand:
    """Stands in a field of a node for one of its operands, by its place among these."""

    place: int


def flattened(root: Node) -> FlatGraph:
    """A node and all that it is computed from, as data."""
    nodes = in_order(root)
    numbers = {node: k for k, node in enumerate(nodes)}
    unknowns = list(dict.fromkeys(unknown for node in nodes for unknown in _unknowns(node)))
    places = {unknown: k for k, unknown in enumerate(unknowns)}
    names: dict[Expr, Expr] = {unknown.symbol: _placeholder(k) for unknown, k in places.items()}

    def flat(node: Node) -> _FlatNode:
        operands = {operand: _Operand(k) for k, operand in enumerate(node.operands)}
        fields = {
            name: operands[value] if isinstance(value, Node) else _renamed(value, names)
            for name, value in vars(node).items()
            if name not in _ELSEWHERE
        }
        said = tuple(
            _Said(type(e), tuple(places[u] for u in e.unknowns), _renamed_fields(e, names)) for e in node.equations
        )
        own = tuple(places[unknown] for unknown in node.sizes)
        return _FlatNode(node.identity, type(node), tuple(numbers[each] for each in node.operands), own, said, fields)

    return FlatGraph(tuple(_Size(u.identity, u.of, u.value, u.given) for u in unknowns), tuple(map(flat, nodes)))


def made_again(graph: FlatGraph) -> Node:
    """The root of a graph like the one that was flattened. What has come again already is taken as it is."""
    unknowns = [_unknown(size) for size in graph.sizes]
    symbols: dict[Expr, Expr] = {_placeholder(k): unknown.symbol for k, unknown in enumerate(unknowns)}
    nodes: list[Node] = []
    for flat in graph.nodes:
        if flat.identity.made is not None:
            nodes.append(flat.identity.made)
            continue
        node = flat.identity.made = flat.kind.__new__(flat.kind)
        node.identity = Identity()
        node.operands = tuple(nodes[k] for k in flat.operands)
        node.sizes = tuple(unknowns[k] for k in flat.sizes)
        for name, value in flat.fields.items():
            found = node.operands[value.place] if isinstance(value, _Operand) else _renamed(value, symbols)
            setattr(node, name, found)
        node.equations = tuple(
            said.kind(unknowns=tuple(unknowns[k] for k in said.unknowns), **_renamed(said.fields, symbols))
            for said in flat.equations
        )
        nodes.append(node)
    return nodes[-1]


def _unknown(size: _Size) -> Unknown:
    if size.identity.made is None:
        size.identity.made = Unknown(size.of)
        size.identity.made.give(size.value, size.given)
    found: Unknown = size.identity.made
    return found


def _unknowns(node: Node) -> list[Unknown]:
    return [*node.sizes, *(unknown for equation in node.equations for unknown in equation.unknowns)]


def _placeholder(number: int) -> Expr:
    return variable(f"size {number}")


def _renamed_fields(equation: Equation, names: Mapping[Expr, Expr]) -> dict[str, Any]:
    """The fields that an equation is made of, but for its unknowns."""
    fields = [field.name for field in attrs.fields(type(equation)) if field.init and field.name != "unknowns"]
    return {name: _renamed(getattr(equation, name), names) for name in fields}


def _renamed(value: Any, names: Mapping[Expr, Expr]) -> Any:
    """A field with other symbols of sizes in its expressions."""
    match value:
        case Expr():
            return substitute(value, names)
        case tuple():
            return tuple(_renamed(each, names) for each in value)
        case dict():
            return {key: _renamed(each, names) for key, each in value.items()}
        case _:
            return value
