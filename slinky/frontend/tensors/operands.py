"""What takes part in arithmetic beside tensors: numbers, scalars of the pipeline, and coordinates.

Idea. A function of elements is given those that are tensors; what else it takes is kept with it. A dimension stands for
the coordinate of an element along it, so it must be one of the result's.

Invariant: of what is kept, only coordinates are others at other elements; `coordinates` says along which dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import attrs
import numpy as np

from slinky.errors import TensorError, cited
from slinky.frontend.tensors.dimensions import is_dimension, listed
from slinky.frontend.tensors.nodes import Elementwise, Node
from slinky.graph.terms import Arithmetic, Position
from slinky.symbolic.expressions import Expr, Scalar, Variable
from slinky.symbolic.traversal import symbols


def elementwise(
    name: str, function: Callable[..., Any], operands: Sequence[object], output: int | None = None
) -> Elementwise:
    """The node of a function of elements; numbers take part as they are.

    Raises `TensorError` for what is neither a tensor nor a number, and coordinates along what is no dimension.
    """
    for operand in operands:
        if not isinstance(operand, Node):
            _require_number(name, operand)
    nodes = [operand for operand in operands if isinstance(operand, Node)]
    others = tuple(None if isinstance(operand, Node) else (operand,) for operand in operands)
    along = tuple(dict.fromkeys(dim for operand in operands for dim in _coordinates(operand)))
    made = Elementwise(name, WithNumbers(function, others), nodes, output, along)
    for dim in along:
        if dim not in made.dims:
            raise TensorError(
                f"{name}: the coordinate {dim} is along no dimension of the tensors beside it, [{listed(made.dims)}]"
            )
    return made


def _require_number(name: str, operand: object) -> None:
    if isinstance(operand, Expr) and not is_dimension(operand):
        others = [symbol for symbol in sorted(symbols(operand), key=str) if not isinstance(symbol, Scalar)]
        if others:
            raise TensorError(
                f"{name} takes tensors, numbers and dimensions, got {operand}: {others[0]} is a number in constraints "
                "of views alone"
                if not is_dimension(others[0])
                else f"{name} takes tensors, numbers and dimensions, got {operand}: write it as arithmetic of tensors, "
                f"with {others[0]} alone beside one of them"
            )
    elif isinstance(operand, Arithmetic) and not isinstance(operand, Position):
        raise TensorError(f"{name} takes tensors and numbers, got {cited(operand)}, which is of a graph of buffers")
    elif not isinstance(operand, Position) and not _is_number(operand) and _has_elements(operand):
        raise TensorError(
            f"{name} takes tensors and numbers: make the {type(operand).__name__} a tensor and name its "
            "dimensions, sl.Tensor(array).to(s.m, s.n)"
        )


def _coordinates(operand: object) -> tuple[Variable, ...]:
    if isinstance(operand, Position):
        return (operand.variable,)
    return (cast(Variable, operand),) if is_dimension(operand) else ()


def _is_number(operand: object) -> bool:
    return isinstance(operand, (bool, int, float, complex, np.generic)) or operand is None


def _has_elements(operand: object) -> bool:
    """Whether NumPy makes an array of axes of an operand, or would if rows were of one length."""
    return isinstance(operand, (list, tuple)) or np.ndim(cast(Any, operand)) != 0


@attrs.frozen(eq=False)
class WithNumbers:
    """A function, some of whose operands are `numbers`, each in a tuple of its own; the others are given."""

    function: Callable[..., Any]
    numbers: tuple[tuple[Any] | None, ...]

    def __call__(self, *given: Any) -> Any:
        left = iter(given)
        return self.function(*(next(left) if number is None else number[0] for number in self.numbers))


@attrs.frozen(eq=False)
class ByNames:
    """A function whose last operands have these names."""

    function: Callable[..., Any]
    names: tuple[str, ...]

    def __call__(self, *given: Any) -> Any:
        count = len(given) - len(self.names)
        return self.function(*given[:count], **dict(zip(self.names, given[count:], strict=True)))
