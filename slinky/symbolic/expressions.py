"""Integer expressions and conditions: every name that other rooms use, in one place.

Idea. An expression is an immutable, interned node: two equal expressions of canonical form are the same
object, so `is` decides equality and every analysis can be remembered by identity. There is no separate
simplifier for sums: the constructors are the only way to make a node, and each returns the canonical form.

`nodes` says what the nodes are, `arithmetic` and `conditions` make them and state the canonical forms.
"""

from __future__ import annotations

import operator
from numbers import Integral
from typing import Any, cast

from slinky.errors import ExpressionError, cited
from slinky.symbolic.arithmetic import (
    METADATA_FIELDS,
    add,
    difference,
    floor_divide,
    linear,
    linear_sum,
    maximum,
    metadata,
    minimum,
    modulo,
    multiply,
    product,
    scale,
    select,
)
from slinky.symbolic.conditions import all_of, any_of, equal, is_zero, negate, nonnegative, unequal
from slinky.symbolic.nodes import (
    BEYOND,
    FALSE,
    MOST_BITS,
    TRUE,
    And,
    Condition,
    Constant,
    Expr,
    ExprLike,
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
    as_expr,
    constant,
    constant_value,
    scalar,
    truth,
    variable,
)
from slinky.symbolic.order import children, order_key

__all__ = [
    "FALSE",
    "METADATA_FIELDS",
    "TRUE",
    "And",
    "Condition",
    "Constant",
    "Expr",
    "ExprLike",
    "FloorDivide",
    "IsZero",
    "Max",
    "Metadata",
    "Min",
    "Node",
    "NonNegative",
    "Or",
    "Product",
    "Scalar",
    "Select",
    "Sum",
    "Truth",
    "Variable",
    "add",
    "all_of",
    "any_of",
    "as_expr",
    "children",
    "constant",
    "constant_value",
    "difference",
    "equal",
    "floor_divide",
    "is_integer",
    "is_power_of_two",
    "is_zero",
    "linear",
    "linear_sum",
    "maximum",
    "metadata",
    "minimum",
    "modulo",
    "multiply",
    "negate",
    "nonnegative",
    "order_key",
    "product",
    "require_integer",
    "scalar",
    "scale",
    "select",
    "truth",
    "unequal",
    "variable",
]


def is_integer(value: object) -> bool:
    """Whether something given is an integer of Python or NumPy, and neither a truth value nor a span of time.

    (NumPy has the latter among its integers; it is the only one of them that indexes nothing.)
    """
    return not isinstance(value, bool) and hasattr(value, "__index__") and isinstance(value, Integral)


def is_power_of_two(value: object) -> bool:
    """Whether something given is an integer (see `is_integer`) that is a power of two."""
    return is_integer(value) and (n := operator.index(cast(Any, value))) >= 1 and not n & (n - 1)


def require_integer(value: object, where: str) -> int:
    """An integer as a Python int, of a size that expressions take.

    Raises `ExpressionError` naming `where` for anything else.
    """
    if isinstance(value, bool):
        raise ExpressionError(f"{where} must be an integer, got {cited(value)}")
    try:
        found = operator.index(cast(Any, value))
    except TypeError:
        raise ExpressionError(
            f"{where} must be an integer, got {cited(value)} of type {type(value).__name__}"
        ) from None
    if not -BEYOND < found < BEYOND:
        raise ExpressionError(
            f"{where} must have at most {MOST_BITS} bits, got an integer of {found.bit_length()} bits"
        )
    return found
