"""The graph of tensors: inputs, operations on elements, reductions and views.

Idea. A node is what one operation gives: its dtype, its dimensions in order, and for each the unknown that is its size.
A node keeps the equations that its operation says of sizes.

Invariant: a node never changes, but for the array that an input holds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import attrs
import numpy as np

from slinky.errors import GraphError, TensorError
from slinky.frontend.tensors.dimensions import called, is_unnamed, listed
from slinky.frontend.tensors.equations import Equation, Sizes, Unknown
from slinky.frontend.tensors.identities import Identity
from slinky.graph.terms import Arithmetic
from slinky.symbolic.expressions import Expr, Variable

_serial = itertools.count(1)

Array = np.ndarray[Any, Any]


class Node:
    """What an operation gives. `operation` is what it is called, `title` what messages call the node."""

    def __init__(
        self,
        operation: str,
        operands: Sequence[Node],
        dtype: np.dtype[Any],
        dims: Sequence[Variable],
        *,
        name: str | None = None,
    ) -> None:
        self.operation = operation
        self.operands = tuple(operands)
        self.dtype = dtype
        self.dims = tuple(dims)
        self.name = name
        self.title = f"{operation} {next(_serial)}" if name is None else name
        self.sizes: tuple[Unknown, ...] = ()
        self.equations: tuple[Equation, ...] = ()
        self.identity = Identity()

    def size_of(self, dim: Variable) -> Unknown:
        """The unknown of a dimension that it has."""
        return self.sizes[self.dims.index(dim)]

    def new_size(self, dim: Variable) -> Unknown:
        """An unknown for a dimension."""
        return Unknown(f"{called(dim, self.dims)} of {self.title}")

    def require(self, equations: Sequence[Equation]) -> None:
        """Keep equations. Raises `TensorSizeError` where they cannot hold."""
        self.equations = tuple(equations)
        if equations:
            Sizes({unknown for equation in equations for unknown in equation.unknowns})

    def __repr__(self) -> str:
        return f"<{self.title}: {self.dtype}[{listed(self.dims)}]>"


class Input(Node):
    """Values that are given; None as long as they are not."""

    def __init__(self, dims: Sequence[Variable], dtype: np.dtype[Any], name: str | None) -> None:
        super().__init__("tensor", (), dtype, dims, name=name)
        self.sizes = tuple(map(self.new_size, self.dims))
        self.array: Array | None = None


@attrs.frozen(eq=False)
class Stand(Arithmetic):
    """Stands for an element of a dtype, to find out what becomes of it."""

    dtype: np.dtype[Any]


class Elementwise(Node):
    """A function of elements at the same place: `function` makes a term of one term for each operand, or a tuple of
    terms of which it is the `output`-th. It takes the `coordinates` of the element along some of its dimensions."""

    def __init__(
        self,
        operation: str,
        function: Callable[..., Any],
        operands: Sequence[Node],
        output: int | None = None,
        coordinates: tuple[Variable, ...] = (),
    ) -> None:
        self.function, self.output, self.coordinates = function, output, coordinates
        try:
            term = self.term_of([Stand(operand.dtype) for operand in operands])
        except GraphError as error:
            raise TensorError(str(error)) from None
        dims = tuple(dict.fromkeys(dim for operand in operands for dim in operand.dims))
        if len(operands) > 1 and any(map(is_unnamed, dims)) and len({operand.dims for operand in operands}) > 1:
            which = next(operand for operand in operands if any(map(is_unnamed, operand.dims)))
            raise TensorError(
                f"{operation}: {which.title} has dimensions without names, so nothing says how it is aligned: name "
                "them, by .to(s.m, s.n)"
            )
        super().__init__(operation, operands, term.dtype, dims)
        found: dict[Variable, Unknown] = {}
        equations = []
        for operand in operands:
            for dim, unknown in zip(operand.dims, operand.sizes, strict=True):
                known = found.setdefault(dim, unknown)
                if known is not unknown:
                    why = f"{self.title} takes both along {dim}"
                    equations.append(Equation(known.symbol, unknown.symbol, (known, unknown), why))
        self.sizes = tuple(found[dim] for dim in dims)
        self.require(equations)

    def term_of(self, terms: Sequence[Any]) -> Any:
        """The term of an element, of those of the operands."""
        found = self.function(*terms)
        return found if self.output is None else found[self.output]


class Reduced(Node):
    """Elements combined along some dimensions, by the function of `slinky.reductions` that is called `kind`."""

    def __init__(
        self,
        kind: Literal["reduce", "mean", "argmax", "argmin"],
        source: Node,
        over: Sequence[Variable],
        dtype: np.dtype[Any],
        operation: str,
        *,
        ufunc: np.ufunc | None = None,
        reassociate: bool = False,
    ) -> None:
        self.over = tuple(over)
        self.kind = kind
        super().__init__(operation, (source,), dtype, [dim for dim in source.dims if dim not in self.over])
        self.ufunc, self.reassociate = ufunc, reassociate
        self.sizes = tuple(source.size_of(dim) for dim in self.dims)


class Viewed(Node):
    """Elements of a tensor at other places: `index` has an expression of the dimensions for each of the source's.

    Where that is outside of the source, it is the `outside`: a number, the element of another tensor, or None where
    no place is. `within` are places, each with a length: they lie in `0 .. length - 1` then.
    """

    def __init__(self, source: Node, dims: Sequence[Variable], outside: Any) -> None:
        operands = (source, outside) if isinstance(outside, Node) else (source,)
        super().__init__("view", operands, source.dtype, dims)
        self.outside = outside
        self.index: tuple[Expr, ...] = ()
        self.within: tuple[tuple[Expr, Expr], ...] = ()

    @property
    def is_renaming(self) -> bool:
        """Whether it has the same elements in the same order."""
        return self.outside is None and self.index == self.dims


def in_order(root: Node) -> list[Node]:
    """A node and all that it is computed from, operands first."""
    found: dict[Node, None] = {}
    waiting = [root]
    while waiting:
        node = waiting[-1]
        missing = [each for each in node.operands if each not in found]
        if missing:
            waiting += reversed(missing)
            continue
        waiting.pop()
        found[node] = None
    return list(found)
