"""The order of nodes among their siblings, what a node is made of, and of how much.

Invariant: the order depends on the structure of nodes alone, never on hashes or on when they were made, so the same
program prints the same text in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from operator import attrgetter
from typing import Any, cast

from slinky.symbolic.nodes import (
    And,
    Constant,
    FloorDivide,
    IsZero,
    Max,
    Metadata,
    Min,
    Node,
    NonNegative,
    Or,
    Product,
    Scalar,
    Select,
    Sum,
    Truth,
    Variable,
)

# Choices come after all other atoms of a sum: the constructors look for them at its end.
_RANK: dict[type[Node], int] = {
    Variable: 0, Metadata: 1, Scalar: 2, Product: 3, FloorDivide: 4, Min: 5, Max: 6, Select: 7, Sum: 8, Constant: 9,
}  # fmt: skip

_LONGEST_KEY = 160

_HEAVIEST = 1 << 40
"""Where to stop counting: shared parts make weights grow with the power of the depth."""


def order_key(node: Node) -> tuple[int, str]:
    """The place of a node among its siblings. It depends on structure alone, never on hashes or creation order.

    The key is a text of the structure, cut short with a digest where it grows long: deep expressions stay cheap.
    """
    key = node._order
    if key is not None:
        return key
    stack = [node]
    while stack:
        top = stack[-1]
        missing = [part for part in children(top) if part._order is None]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        text = _structure(top)
        if len(text) > _LONGEST_KEY:
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
            text = f"{text[: _LONGEST_KEY // 2]}~{digest}"
        object.__setattr__(top, "_order", (_RANK.get(type(top), 10), text))
    return cast("tuple[int, str]", node._order)


def weight(node: Node) -> int:
    """How many nodes a node is written with: a part that stands in several places counts in each of them."""
    if node._weight:
        return node._weight
    stack = [node]
    while stack:
        top = stack[-1]
        parts = children(top)
        missing = [part for part in parts if not part._weight]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        object.__setattr__(top, "_weight", min(1 + sum([part._weight for part in parts]), _HEAVIEST))
    return node._weight


def children(node: Node) -> tuple[Node, ...]:
    """The nodes that a node is made of, in order."""
    parts = _CHILDREN.get(type(node))
    return () if parts is None else parts(node)


# All walks ask this of every node: a table answers in a fraction of the time that a match takes.
_CHILDREN: dict[type[Node], Callable[[Any], tuple[Node, ...]]] = {
    Sum: lambda node: tuple([atom for atom, _ in node.terms]), Product: attrgetter("factors"),
    FloorDivide: attrgetter("numerator", "denominator"),
    Min: attrgetter("operands"), Max: attrgetter("operands"), Select: attrgetter("condition", "then", "otherwise"),
    NonNegative: lambda node: (node.expr,), IsZero: lambda node: (node.expr,),
    And: attrgetter("operands"), Or: attrgetter("operands"),
}  # fmt: skip


def _structure(node: Node) -> str:
    """What tells a node from all others of its class, given that its children have their keys."""
    match node:
        case Constant(value=value) | Truth(value=value):
            return str(value)
        case Variable(name=name):
            return name
        case Metadata(buffer=buffer, dim=dim, field=field):
            # `n` keeps the minimum before the maximum.
            return f"{buffer}.{dim:04d}.{'min' if field == 'min' else 'n' + field}"
        case Sum(constant=offset, terms=terms):
            return " ".join([f"{_name(atom)}*{c}" for atom, c in terms]) + f" {offset}"
    return " ".join([_name(part) for part in children(node)])


def _name(node: Node) -> str:
    rank, text = order_key(node)
    return text if rank <= 2 else f"{type(node).__name__}({text})"
