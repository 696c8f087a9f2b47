"""The nodes that expressions and conditions are made of, and the table that makes equal nodes one object.

Invariant: of each class there is at most one living node with the same fields, in all threads, also after pickling
and copying. So `is` decides equality, nodes hash by identity, and what is found out about a node is remembered in it.
Nodes are made by `arithmetic` and `conditions` alone, which keep the canonical form; here stands only what they are.
"""

from __future__ import annotations

import numbers
import operator
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, ClassVar, NoReturn, Self, SupportsIndex, TypeAlias, TypeVar, cast
from weakref import ref

import attrs

from slinky.errors import ExpressionError, cited

ExprLike: TypeAlias = "Expr | int"

# ----------------------------------------------------------------------------------------------------------------
# One object for equal nodes
# ----------------------------------------------------------------------------------------------------------------


class _Reference(ref["Node"]):
    """A weak reference that knows its entry in the table."""

    __slots__ = ("key", "table")
    key: tuple[object, ...]
    table: dict[tuple[object, ...], _Reference]


_lock = threading.RLock()  # re-entrant: a node may die, and be forgotten, while another is being made


def _unlock_in_child() -> None:
    """Let go of the lock that the forking thread took; it has none if whoever forked in C did not say so before."""
    with suppress(RuntimeError):
        _lock.release()


if hasattr(os, "register_at_fork"):  # no other thread shall hold the lock when the process is forked
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_unlock_in_child)

_lately: deque[Node] = deque(maxlen=8192)
"""The nodes made last stay alive for a while: the parts of a longer formula die young and are soon made again."""

N = TypeVar("N", bound="Node")


def intern(cls: type[N], *fields: object) -> N:
    """The one node of this class with these fields."""
    reference = cls.table.get(fields)
    if reference is not None:
        node = reference()
        if node is not None:
            return node  # type: ignore[return-value]  # a `cast` would cost as much as the rest
    return _make(cls, fields)


def _make(cls: type[N], fields: tuple[object, ...]) -> N:
    table = cls.table
    with _lock:
        known = table.get(fields)
        node = known() if known is not None else None
        if node is None:
            node = cls(*fields)
            reference = _Reference(node, _forget)
            reference.key, reference.table = fields, table
            table[fields] = reference
            _lately.append(node)
        return cast(N, node)


def _forget(reference: _Reference, lock: Any = _lock, ends: Callable[[], bool] = sys.is_finalizing) -> None:
    """Drop the entry of a node that died, unless a new node has taken its place.

    What it uses is bound as defaults, for nodes also die while the interpreter shuts down and module names are gone:
    when threads have been stopped, one of which may hold the lock for ever.
    """
    if ends():
        return
    with lock:
        if reference.table.get(reference.key) is reference:
            del reference.table[reference.key]


@attrs.frozen(eq=False, repr=False)
class Node:
    """An expression or a condition. Compared by identity, which for canonical nodes is equality.

    The underscored fields remember what `order_key`, `weight`, `symbols`, `str` and `evaluate` found, once each.
    """

    table: ClassVar[dict[tuple[object, ...], _Reference]]
    _order: tuple[int, str] | None = attrs.field(default=None, init=False)
    _weight: int = attrs.field(default=0, init=False)
    _symbols: frozenset[Expr] | None = attrs.field(default=None, init=False)
    _text: str | None = attrs.field(default=None, init=False)
    _evaluation: Callable[[Mapping[Expr, int]], int] | None = attrs.field(default=None, init=False)

    def __init_subclass__(cls) -> None:
        cls.table = {}

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __str__(self) -> str:
        if self._text is None:
            from slinky.symbolic.text import to_text

            object.__setattr__(self, "_text", to_text(self))
        return cast(str, self._text)

    def __repr__(self) -> str:
        return f"<{self!s}>"


@attrs.frozen(eq=False, repr=False)
class Expr(Node):
    """An integer expression. Python's operators build larger ones; `//` and `%` are Python's (floor).

    `a <= b` and its kin give a `Condition`. `a == b` is a plain bool: whether both are the same canonical
    expression. Use `equal(a, b)` for the condition.
    """

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        """What a NumPy integer on the left leaves to us; what stands for elements has ufuncs of its own."""
        names = _REFLECTED.get(ufunc.__name__)
        if method != "__call__" or options or names is None or len(operands) != 2:
            return NotImplemented
        left, right = operands
        other, name = (right, names[0]) if isinstance(left, Expr) else (left, names[1])
        found = getattr(self, name)(other)
        if found is NotImplemented and name in _BY_IDENTITY and not _has_elements(other):
            return (left is right) == (name == "__eq__")
        return found

    def __add__(self, other: ExprLike) -> Expr:
        if type(other) is int and -BEYOND < other < BEYOND:
            return plus(self, other)
        b = operand(other, "{} + {}", self, other)
        return NotImplemented if b is None else add(self, b)

    def __radd__(self, other: ExprLike) -> Expr:
        b = operand(other, "{} + {}", other, self)
        return NotImplemented if b is None else add(self, b)

    def __sub__(self, other: ExprLike) -> Expr:
        if type(other) is int and -BEYOND < other < BEYOND:
            return plus(self, -other)
        b = operand(other, "{} - {}", self, other)
        return NotImplemented if b is None else add(self, b, -1)

    def __rsub__(self, other: ExprLike) -> Expr:
        b = operand(other, "{} - {}", other, self)
        return NotImplemented if b is None else add(b, self, -1)

    def __mul__(self, other: ExprLike) -> Expr:
        b = operand(other, "({}) * {}", self, other)
        return NotImplemented if b is None else multiply(self, b)

    def __rmul__(self, other: ExprLike) -> Expr:
        b = operand(other, "{} * ({})", other, self)
        return NotImplemented if b is None else multiply(self, b)

    def __neg__(self) -> Expr:
        return scale(self, -1)

    def __pos__(self) -> Expr:
        return self

    def __floordiv__(self, other: ExprLike) -> Expr:
        b = operand(other, "({}) // {}", self, other)
        return NotImplemented if b is None else floor_divide(self, b)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        b = operand(other, "{} // ({})", other, self)
        return NotImplemented if b is None else floor_divide(b, self)

    def __mod__(self, other: ExprLike) -> Expr:
        b = operand(other, "({}) % {}", self, other)
        return NotImplemented if b is None else modulo(self, b)

    def __rmod__(self, other: ExprLike) -> Expr:
        b = operand(other, "{} % ({})", other, self)
        return NotImplemented if b is None else modulo(b, self)

    def __truediv__(self, other: object) -> Any:
        return NotImplemented if _has_elements(other) else _no_quotient(self, other)

    def __rtruediv__(self, other: object) -> Any:
        return NotImplemented if _has_elements(other) else _no_quotient(other, self)

    def __le__(self, other: ExprLike) -> Condition:
        b = other if isinstance(other, Expr) else operand(other, "{} <= {}", self, other)
        return NotImplemented if b is None else _not_negative(b, self, 0)

    def __lt__(self, other: ExprLike) -> Condition:
        b = operand(other, "{} < {}", self, other)
        return NotImplemented if b is None else _not_negative(b, self, -1)

    def __ge__(self, other: ExprLike) -> Condition:
        b = other if isinstance(other, Expr) else operand(other, "{} >= {}", self, other)
        return NotImplemented if b is None else _not_negative(self, b, 0)

    def __gt__(self, other: ExprLike) -> Condition:
        b = operand(other, "{} > {}", self, other)
        return NotImplemented if b is None else _not_negative(self, b, -1)

    def __bool__(self) -> bool:
        raise TypeError(f"the expression {self} has no truth value before its symbols have values")


@attrs.frozen(eq=False, repr=False)
class Constant(Expr):
    """An integer."""

    value: int

    def __reduce__(self) -> tuple[Any, ...]:
        return constant, (self.value,)


@attrs.frozen(eq=False, repr=False)
class Variable(Expr):
    """A named integer: a dimension of a func or the variable of a loop."""

    name: str

    def __reduce__(self) -> tuple[Any, ...]:
        return variable, (self.name,)


@attrs.frozen(eq=False, repr=False)
class Scalar(Variable):
    """An integer of the pipeline, given by name when it runs."""

    def __reduce__(self) -> tuple[Any, ...]:
        return scalar, (self.name,)


@attrs.frozen(eq=False, repr=False)
class Metadata(Expr):
    """What a buffer knows of one dimension: `field` is `min`, `max`, `stride` (bytes) or `fold_factor`."""

    buffer: str
    dim: int
    field: str

    def __reduce__(self) -> tuple[Any, ...]:
        return metadata, (self.buffer, self.dim, self.field)


@attrs.frozen(eq=False, repr=False)
class Sum(Expr):
    """`constant` plus the sum of coefficient times atom."""

    constant: int
    terms: tuple[tuple[Expr, int], ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return linear_sum, (self.constant, self.terms)


@attrs.frozen(eq=False, repr=False)
class Product(Expr):
    """The product of two or more atoms, sorted; repeated for powers."""

    factors: tuple[Expr, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return product, (self.factors,)


@attrs.frozen(eq=False, repr=False)
class FloorDivide(Expr):
    """`numerator // denominator`, rounded towards minus infinity. The denominator must not be zero."""

    numerator: Expr
    denominator: Expr

    def __reduce__(self) -> tuple[Any, ...]:
        return floor_divide, (self.numerator, self.denominator)


@attrs.frozen(eq=False, repr=False)
class Min(Expr):
    """The smallest of two or more operands."""

    operands: tuple[Expr, ...]
    _spread: int = attrs.field(default=0, init=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return minimum, self.operands


@attrs.frozen(eq=False, repr=False)
class Max(Expr):
    """The largest of two or more operands."""

    operands: tuple[Expr, ...]
    _spread: int = attrs.field(default=0, init=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return maximum, self.operands


@attrs.frozen(eq=False, repr=False)
class Select(Expr):
    """`then` where the condition holds, else `otherwise`."""

    condition: Condition
    then: Expr
    otherwise: Expr
    _spread: int = attrs.field(default=0, init=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return select, (self.condition, self.then, self.otherwise)


@attrs.frozen(eq=False, repr=False)
class Condition(Node):
    """A statement about integers that holds or does not. Combine with `&`, `|` and `~`."""

    def __and__(self, other: Condition) -> Condition:
        return all_of(self, other) if _is_condition(other) else NotImplemented

    def __or__(self, other: Condition) -> Condition:
        return any_of(self, other) if _is_condition(other) else NotImplemented

    def __invert__(self) -> Condition:
        return negate(self)

    def __bool__(self) -> bool:
        raise TypeError(f"the condition {self} has no truth value before its symbols have values; use & | ~")


@attrs.frozen(eq=False, repr=False)
class Truth(Condition):
    """A condition that is decided: `TRUE` or `FALSE`."""

    value: bool

    def __bool__(self) -> bool:
        return self.value

    def __reduce__(self) -> tuple[Any, ...]:
        return truth, (self.value,)


@attrs.frozen(eq=False, repr=False)
class NonNegative(Condition):
    """`0 <= expr`."""

    expr: Expr

    def __reduce__(self) -> tuple[Any, ...]:
        return nonnegative, (self.expr,)


@attrs.frozen(eq=False, repr=False)
class IsZero(Condition):
    """`0 == expr`."""

    expr: Expr

    def __reduce__(self) -> tuple[Any, ...]:
        return is_zero, (self.expr,)


@attrs.frozen(eq=False, repr=False)
class And(Condition):
    """Every one of two or more conditions."""

    operands: tuple[Condition, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return all_of, self.operands


@attrs.frozen(eq=False, repr=False)
class Or(Condition):
    """At least one of two or more conditions."""

    operands: tuple[Condition, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return any_of, self.operands


TRUE: Truth = intern(Truth, True)
FALSE: Truth = intern(Truth, False)

# ----------------------------------------------------------------------------------------------------------------
# Leaves
# ----------------------------------------------------------------------------------------------------------------

_small = {n: intern(Constant, n) for n in range(-64, 257)}


def constant(value: int) -> Constant:
    """The expression of one integer."""
    known = _small.get(value)
    return intern(Constant, value) if known is None else known


def truth(value: bool) -> Truth:
    """The decided condition."""
    return TRUE if value else FALSE


def variable(name: str) -> Variable:
    """The variable of this name. The same name is the same variable."""
    return intern(Variable, name)


def scalar(name: str) -> Scalar:
    """The scalar of this name. The same name is the same scalar, and never a variable."""
    return intern(Scalar, name)


def as_expr(value: object) -> Expr:
    """Convert an integer to an expression; an expression passes.

    Raises `TypeError` for anything else, floats and bools among them.
    """
    if isinstance(value, Expr):
        return value
    expr = operand(value, "")
    if expr is None:
        raise _no_integer(value, "")
    return expr


def _is_condition(value: object) -> bool:
    return isinstance(value, Condition)


def operand(value: object, formula: str, *parts: object) -> Expr | None:
    """The expression that `value` stands for, or None where another class may know what to do with it.

    Numbers that are no integers raise here, so that `y + 0.5` says what is wrong instead of "unsupported operand".
    The formula and its parts tell where the value stands.
    """
    if isinstance(value, Expr):
        return value
    if type(value) is int:
        return constant(value) if -BEYOND < value < BEYOND else _no_size(value)
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        raise _no_integer(value, formula.format(*parts))
    try:
        return operand(operator.index(cast(Any, value)), formula, *parts)
    except TypeError:
        if value is None or isinstance(value, (numbers.Number, str, bytes)):
            raise _no_integer(value, formula.format(*parts)) from None
        return None


def _has_elements(other: object) -> bool:
    """Whether something stands for elements, and says itself what ufuncs make of it. Arrays of NumPy are those of
    numbers here, as what they can be is an index."""
    return callable(getattr(other, "__array_ufunc__", None)) and not isinstance(other, (Expr, SupportsIndex))


def _no_quotient(left: object, right: object) -> NoReturn:
    raise TypeError(f"expressions are integers: use // (floor division) instead of / in ({left}) / ({right})")


_REFLECTED = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "floor_divide": ("__floordiv__", "__rfloordiv__"),
    "remainder": ("__mod__", "__rmod__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
}
"""By the names of ufuncs: the methods of an expression on the left, and of one on the right."""

_BY_IDENTITY = ("__eq__", "__ne__")


MOST_BITS = 1 << 12
BEYOND = 1 << MOST_BITS
"""Integers of so many bits make expressions that can be written: Python writes no more than 4,300 digits."""


def _no_size(value: int) -> NoReturn:
    raise ExpressionError(
        f"an expression takes integers of at most {MOST_BITS} bits, got one of {value.bit_length()} bits"
    )


def _no_integer(value: object, where: str) -> TypeError:
    kind = type(value).__name__
    place = f", in {where}" if where else ""
    return TypeError(f"expected an integer or an integer expression, got {cited(value)} of type {kind}{place}")


@lru_cache(maxsize=32768)
def _not_negative(a: Expr, b: Expr, offset: int) -> Condition:
    """`0 <= a - b + offset`. Rewrites ask for the same comparisons again and again."""
    if type(a) is Min or type(b) is Max:
        found = each_not_negative(a, b, offset)
        if found is not None:
            return found
    difference = add(a, b, -1)
    return nonnegative(plus(difference, offset) if offset else difference)


def constant_value(expr: Expr) -> int | None:
    """The integer that a constant expression is, else None."""
    return expr.value if type(expr) is Constant else None


# The operators above use the constructors, which are made of the nodes above.
from slinky.symbolic.arithmetic import (  # noqa: E402
    add,
    floor_divide,
    linear_sum,
    maximum,
    metadata,
    minimum,
    modulo,
    multiply,
    plus,
    product,
    scale,
    select,
)
from slinky.symbolic.conditions import all_of, any_of, each_not_negative, is_zero, negate, nonnegative  # noqa: E402
