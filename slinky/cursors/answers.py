"""What cursors answer about dimensions: intervals, boxes and extents that print with the names that the program uses.

An expression is the same object in all programs, so it cannot know what one of them calls the dimensions of its
buffers; what a cursor answers can.

Invariant: a `NamedInterval` is equal to the plain interval with these ends.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import reduce
from typing import Any, SupportsIndex, TypeAlias, TypeVar, cast

from slinky.errors import InvalidCursorError, OperationError, cited
from slinky.ir.effects import of_buffer, reads, writes
from slinky.ir.printer import expression_text, interval_in
from slinky.ir.statements import Call, Program
from slinky.symbolic.bounds import simplify
from slinky.symbolic.expressions import Condition, Expr, is_integer
from slinky.symbolic.intervals import Box, Interval, hull
from slinky.symbolic.proofs import Facts

E = TypeVar("E", bound=Expr | None)

Dimension: TypeAlias = str | int
"""A dimension as users give it: a name, or a position."""


class NamedInterval(Interval):
    """An interval that prints as its program prints it."""

    __slots__ = ("_program",)

    _program: Program | None

    def __init__(self, min: Expr, max: Expr, program: Program | None = None) -> None:
        super().__init__(min, max)
        object.__setattr__(self, "_program", program)

    def __str__(self) -> str:
        return super().__str__() if self._program is None else interval_in(self._program, self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Interval) and self.min is other.min and self.max is other.max

    __hash__ = Interval.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return Interval, (self.min, self.max)


class NamedExprs(tuple[E, ...]):
    """Expressions, or None where there is none, that print as their program prints them."""

    _program: Program

    def __new__(cls, program: Program, exprs: Iterable[E]) -> NamedExprs[E]:
        made = super().__new__(cls, exprs)
        made._program = program
        return made

    def __repr__(self) -> str:
        texts = ["None" if e is None else f"<{expression_text(self._program, e)}>" for e in self]
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)


def named_box(program: Program, box: Box) -> Box:
    """A box that prints as a program prints it."""
    return tuple(NamedInterval(i.min, i.max, program) for i in box)


def text_in(program: Program, value: object) -> str:
    """An expression, a condition, an interval or a box as a program prints it.

    Raises `OperationError` for anything else.
    """
    match value:
        case Expr() | Condition():
            return expression_text(program, value)
        case Interval():
            return interval_in(program, value)
        case tuple():
            return f"[{', '.join(text_in(program, each) for each in value)}]"
        case int() | None:
            return str(value)
    raise OperationError(f"text() expects an expression, a condition, an interval or a box, got {cited(value)}")


def regions_in(call: Call, buffer: str) -> list[Box]:
    """The box of each access of a call to a buffer, outputs first, in the order of the accesses.

    Raises `InvalidCursorError` if it does not touch the buffer.
    """
    if not isinstance(buffer, str):
        raise InvalidCursorError(f"a buffer is given by its name, got {cited(buffer)}")
    effects = (*writes(call, call.box), *reads(call, call.box))
    found = [effect.box for effect in of_buffer(effects, buffer)]
    if not found:
        touched = ", ".join(dict.fromkeys(effect.buffer for effect in effects))
        raise InvalidCursorError(f"the call of {call.func.name} does not touch buffer {buffer!r}; it touches {touched}")
    return found


def region_in(call: Call, buffer: str, known: Facts) -> Box:
    """The smallest box that holds all that a call reads or writes of a buffer.

    Raises `InvalidCursorError` if it does not touch the buffer.
    """
    regions = regions_in(call, buffer)
    if len(regions) == 1:
        return regions[0]
    whole = [reduce(hull, intervals) for intervals in zip(*regions, strict=True)]
    return tuple(Interval(simplify(i.min, known), simplify(i.max, known)) for i in whole)


def dim_position(dims: tuple[str, ...], dim: object, what: str) -> int:
    """The position of a dimension given by name or position.

    Raises `InvalidCursorError` if there is none.
    """
    if isinstance(dim, str):
        if dim in dims:
            return dims.index(dim)
    elif is_integer(dim) and -len(dims) <= (position := operator.index(cast(Any, dim))) < len(dims):
        return position % len(dims)
    raise InvalidCursorError(f"{what} has no dimension {cited(dim)}; its dimensions are {', '.join(dims) or 'none'}")


def integer(value: object, what: str) -> int:
    """A number given by a user."""
    if type(value) is int:  # to ask for the protocol takes a hundred times as long
        return value
    if not isinstance(value, SupportsIndex):
        raise OperationError(f"{what} must be an integer, got {cited(value)}")
    try:
        return operator.index(value)
    except TypeError:  # an array has the protocol, too
        raise OperationError(f"{what} must be an integer, got {cited(value)}") from None
