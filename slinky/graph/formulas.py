"""Funcs that are arithmetic: a term becomes the formula of an `Expression`.

Idea. A term is a graph of ufuncs over accesses. It is gone through once, operands first, and each part of it becomes a
step; parts that stand in it several times become one. The accesses, each once, are what the func reads.

Invariant: an access that takes part is a point of the buffer for each point of the target, which moves along each
dimension of the buffer with one dimension of the target at most, by whole coordinates.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import attrs
import numpy as np

from slinky.errors import GraphError, cited
from slinky.graph.buffers import Access, valid_name
from slinky.graph.funcs import Func
from slinky.graph.terms import Applied, Arithmetic, Chosen, Converted, Known, Literal, Part, Position
from slinky.ir.formulas import (
    ERRORS,
    Apply,
    Argument,
    Axis,
    Choose,
    Constant,
    Convert,
    Coordinate,
    Element,
    Formula,
    Operand,
    Result,
    Step,
)
from slinky.ir.operations import Expression, FloatScalar
from slinky.symbolic.expressions import Expr, Scalar, Variable, linear
from slinky.symbolic.intervals import Interval
from slinky.symbolic.traversal import symbols


def arithmetic(value: Any, target: Access, name: str | None = None, *, ignored: Collection[str] = ()) -> ExpressionFunc:
    """A func that computes each element of a target from a term: arithmetic that slinky understands.

    Parameters:

    * `value`: made of accesses of points (`a[y, x]`, `a[y - 1, 2*x]`, `row[x]`, `a[x, y]`), numbers, scalars of the
      pipeline (`sl.scalar("amount", float)`) and variables of the target (the coordinate of the element, an int64), by
      operators, NumPy's ufuncs, `np.where`, `np.clip` and `astype`. Dtypes follow NumPy's rules.
    * `target`: an access with plain variables.
    * `name`: of the func, by default that of the ufunc if it is one alone, else `arithmetic`.
    * `ignored`: floating-point errors of which nothing is said, in the words of `np.errstate`: `"divide"`, `"invalid"`,
      `"over"`, `"under"`. With others it does what `np.errstate` says where it runs.

    >>> from slinky.graph.buffers import BufferExpr, variables
    >>> (y, x), (a, b) = variables("y x"), (BufferExpr(n, "f4", 2) for n in "ab")
    >>> arithmetic((a[y, x - 1] + a[y, x + 1]) / 2, b[y, x], name="mean")
    <Func b[y, x] = mean(a[y, x - 1], a[y, x + 1])>

    Several steps on one piece need no memory but that of a few small arrays. The result is that of NumPy, bit by bit.
    Raises `GraphError` for what cannot be computed element by element, or a dtype that is not safely the target's, and
    for errors that are not known.
    """
    return ExpressionFunc(value, target, name, ignored)


class ExpressionFunc(Func):
    """A func whose operation is a formula."""

    def __init__(self, value: Any, target: Access, name: str | None, ignored: Collection[str] = ()) -> None:
        if not isinstance(target, Access):
            raise GraphError(f"arithmetic() writes an access, such as out[y, x], got {cited(target)}")
        if not isinstance(value, Arithmetic):
            raise GraphError(
                f"arithmetic() takes a term, such as a[y, x] * 2, got {cited(value)}; to fill a buffer with a number, "
                "give a func a callback"
            )
        title = _title(value) if name is None else valid_name(name, "a func")
        writer = _Writer(value, target, title)
        self.value = value
        self.formula = attrs.evolve(writer.formula, ignored=_errors(ignored))
        super().__init__(_no_callback, writer.accesses, [target], title, arguments=writer.arguments, in_place=True)
        self.named = name is not None

    def lowered_operation(self) -> Expression:
        """The formula, with what is known only when it runs as arguments."""
        return Expression(
            formula=self.formula,
            arguments=tuple(self.arguments.items()),
            pass_buffers=self.formula.has_coordinates(),
        )


def _errors(given: Any) -> tuple[str, ...]:
    """Errors, in an order that is always the same."""
    is_several = isinstance(given, Collection) and not isinstance(given, (str, bytes, Mapping))
    if not is_several or not all(isinstance(each, str) and each in ERRORS for each in given):
        raise GraphError(f"arithmetic() ignores errors of {', '.join(map(repr, ERRORS))}, got {cited(given)}")
    return tuple(error for error in ERRORS if error in given)


def _no_callback(*_: object) -> None:
    raise AssertionError("arithmetic runs no callback of its func")


def _title(value: Any) -> str:
    is_alone = isinstance(value, Applied) and not any(hasattr(each, "operands") for each in value.operands)
    return value.ufunc.__name__ if is_alone else "arithmetic"


class _Writer:
    """Writes down the steps of a term."""

    def __init__(self, value: Any, target: Access, title: str) -> None:
        self.title = title
        self.dims = [i.min if i is not None else None for i in target.box]
        self.accesses: list[Access] = []
        self.arguments: dict[str, Any] = {}
        self._axes: list[tuple[Axis | None, ...]] = []
        self._steps: list[Step] = []
        self._numbers: dict[Step, int] = {}
        self._known: dict[int, Operand] = {}
        dtype = target.buffer.dtype
        result = self._written(value)
        given = value.buffer.dtype if isinstance(value, Access) else value.dtype
        if given != dtype:
            if not np.can_cast(given, dtype, "same_kind"):
                raise self._error(
                    f"its value is {given}, and {target.buffer.name!r} is {dtype}: convert it, "
                    f"by .astype({str(dtype)!r})"
                )
            result = self._step(Convert(result, dtype))
        self.formula = Formula(len(self.dims), tuple(self._axes), tuple(self._steps), result)

    def _error(self, why: str) -> GraphError:
        return GraphError(f"arithmetic {self.title!r}: {why}")

    def _written(self, value: Any) -> Operand:
        """What stands for a term: all that it is made of is written before it."""
        waiting = [value]
        while waiting:
            term = waiting[-1]
            missing = [each for each in getattr(term, "operands", ()) if id(each) not in self._known]
            if missing:
                waiting += reversed(missing)
                continue
            waiting.pop()
            if id(term) not in self._known:
                self._known[id(term)] = self._alone(term)
        return self._known[id(value)]

    def _alone(self, term: Any) -> Operand:
        match term:
            case Access():
                return self._element(term)
            case Literal(value=value):
                return Constant(value)
            case Known(value=value, dtype=dtype):
                return Argument(self._argument(value), dtype)
            case Position(variable=variable):
                return self._step(Coordinate(self._dim(variable)))
            case Part(whole=whole, output=output):
                found = self._known[id(whole)]
                assert isinstance(found, Result)
                return Result(found.step, output)
        operands = tuple(self._known[id(each)] for each in term.operands)
        match term:
            case Applied(ufunc=ufunc, dtypes=dtypes):
                return self._step(Apply(ufunc, operands, dtypes))
            case Converted(dtype=dtype):
                return self._step(Convert(operands[0], dtype))
            case Chosen(dtype=dtype):
                condition, chosen, otherwise = operands
                return self._step(Choose(condition, chosen, otherwise, dtype))
        raise self._error(f"a term of another kind, {term!r}")

    def _step(self, step: Step) -> Result:
        if step not in self._numbers:
            self._numbers[step] = len(self._steps)
            self._steps.append(step)
        return Result(self._numbers[step])

    def _element(self, access: Access) -> Element:
        """An element of an input, which is one for all equal accesses."""
        for number, known in enumerate(self.accesses):
            if known.buffer is access.buffer and known.box == access.box:
                return Element(number, access.buffer.dtype)
        axes = tuple(self._axis(access, i) for i in access.box)
        dims = [axis.dim for axis in axes if axis is not None]
        twice = next((d for d in dims if dims.count(d) > 1), None)
        if twice is not None:
            raise self._error(
                f"two axes of {access} move with {self.dims[twice]}: copy what it takes first, by sl.copies.copy"
            )
        self._axes.append(axes)
        self.accesses.append(access)
        return Element(len(self.accesses) - 1, access.buffer.dtype)

    def _axis(self, access: Access, i: Interval | None) -> Axis | None:
        """What an axis of an input moves with."""
        if i is None or i.min is not i.max:
            raise self._error(
                f"it takes one element of {access.buffer.name!r}, got {access}: write a point for each dimension"
            )
        moving = [(atom, step) for atom, step in linear(i.min)[1] if not symbols(atom).isdisjoint(set(self.dims))]
        if not moving:
            return None
        if len(moving) > 1 or moving[0][0] not in self.dims:
            raise self._error(
                f"in {access}, {i.min} is no multiple of a dimension plus something that stays the same: copy what "
                "it takes first, by sl.copies.copy"
            )
        ((atom, step),) = moving
        return Axis(self._dim(atom), step)

    def _dim(self, variable: Any) -> int:
        if variable not in self.dims:
            raise self._error(f"the variable {variable} is no dimension of its target")
        return self.dims.index(variable)

    def _argument(self, value: Expr | FloatScalar) -> str:
        """The name under which a number is given when the pipeline runs."""
        for name, known in self.arguments.items():
            if known is value or known == value:
                return name
        wanted = value.name if isinstance(value, (FloatScalar, Scalar)) else f"value{len(self.arguments)}"
        name = wanted
        while name in self.arguments:
            name += "_"
        if isinstance(value, Expr):
            for symbol in symbols(value):
                if isinstance(symbol, Variable) and not isinstance(symbol, Scalar):
                    raise self._error(f"{value} moves with {symbol}: write the coordinate as the variable alone")
        self.arguments[name] = value
        return name
