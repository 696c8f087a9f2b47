"""The graph of a tensor as a picture: what is computed of what, and in which loops.

Invariant: the text is that of Graphviz, and the same for the same tensor and pipeline.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import attrs

from slinky.frontend.tensors.dimensions import is_unnamed, listed
from slinky.frontend.tensors.equations import Sizes
from slinky.frontend.tensors.lowering import LoweredTensor
from slinky.frontend.tensors.nodes import Elementwise, Input, Node, Reduced, Viewed, in_order
from slinky.ir.printer import expression_text
from slinky.ir.statements import Call, For, Statement, blocks_of
from slinky.pipeline import Pipeline
from slinky.symbolic.expressions import constant_value


@attrs.frozen
class TensorGraph:
    """A graph that prints as Graphviz. Notebooks show it, where the extra `graphviz` is installed."""

    text: str

    def __str__(self) -> str:
        return self.text

    def _repr_svg_(self) -> str | None:
        """The picture, if there is what draws it."""
        try:
            graphviz: Any = import_module("graphviz")
        except ImportError:
            return None
        try:
            drawn: str = graphviz.Source(self.text).pipe(format="svg", encoding="utf-8")
        except graphviz.ExecutableNotFound:
            return None
        return drawn


def drawn(root: Node, lowering: LoweredTensor, p: Pipeline) -> TensorGraph:
    """The graph of a tensor; each node with its dimensions, and with the loops in which a pipeline computes it."""
    nodes = [node for node in in_order(root) if not _is_passed(node)]
    sizes = Sizes(unknown for node in nodes for unknown in node.sizes)
    loops = dict(_loops_of(p))
    funcs = _funcs(in_order(root), lowering)
    numbers = {node: k for k, node in enumerate(nodes)}
    lines = ["digraph {", "  node [shape=box];"]
    for node, k in numbers.items():
        rows = [_head(node), _shape(node, sizes), *_order(node, funcs, loops)]
        lines.append(f"  n{k} [label={json.dumps(chr(10).join(rows))}];")
    for node, k in numbers.items():
        for operand in node.operands:
            lines.append(f"  n{numbers[_seen(operand)]} -> n{k};")
    return TensorGraph("\n".join([*lines, "}"]))


def _is_passed(node: Node) -> bool:
    """Whether a node is drawn as its operand: it only gives names."""
    return isinstance(node, Viewed) and node.is_renaming


def _seen(node: Node) -> Node:
    while _is_passed(node):
        node = node.operands[0]
    return node


def _head(node: Node) -> str:
    match node:
        case Input():
            return f"{node.title}: {node.dtype}"
        case Reduced():
            return f"{node.operation} over {listed(node.over)}"
        case Viewed():
            return f"{node.operation} of [{listed(node.operands[0].dims)}]"
        case _:
            return node.operation if node.name is None else f"{node.name} = {node.operation}"


def _shape(node: Node, sizes: Sizes) -> str:
    """The dimensions, with their sizes where these are known."""
    said = []
    for dim, unknown in zip(node.dims, node.sizes, strict=True):
        size = sizes.known(unknown)
        said.append(("?" if is_unnamed(dim) else dim.name) + ("" if size is None else f": {size}"))
    return f"[{', '.join(said)}]"


def _funcs(nodes: list[Node], lowering: LoweredTensor) -> dict[Node, str]:
    """The funcs that compute nodes: of a part of a term, that of who reads it."""
    found = dict(lowering.funcs)
    for node in reversed(nodes):
        if node in found:
            for operand in node.operands:
                if isinstance(operand, (Elementwise, Viewed)):
                    found.setdefault(operand, found[node])
    return found


def _order(node: Node, funcs: Mapping[Node, str], loops: Mapping[str, str]) -> Iterator[str]:
    """In which loops a node is computed, if it is."""
    name = funcs.get(node)
    if name is not None and not isinstance(node, Input):
        found = loops.get(f"{name}_update", loops.get(name))
        if found is not None:
            yield f"loops: {found}"


def _loops_of(p: Pipeline) -> Iterator[tuple[str, str]]:
    """For each func, the loops around its first call, outermost first, and the dimensions inside of that."""
    seen = set()
    stack: list[tuple[Statement, tuple[str, ...]]] = [(each, ()) for each in reversed(p.program.body)]
    while stack:
        statement, around = stack.pop()
        if isinstance(statement, Call) and statement.func.name not in seen:
            seen.add(statement.func.name)
            inside = ", ".join(statement.func.dim_names())
            yield statement.func.name, "; ".join([*around, f"({inside})"])
        if isinstance(statement, For):
            step = "" if constant_value(statement.step) == 1 else f" by {expression_text(p.program, statement.step)}"
            around = (*around, f"{statement.variable.name}{step}")
        for _, block in reversed(blocks_of(statement)):
            stack += [(each, around) for each in reversed(block)]
