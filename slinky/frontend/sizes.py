"""Sizes of arrays while a function is traced: integers that are known now, and may be others at the next call.

Idea. A size is an expression of the extents of the arrays given, with its value in this call. Arithmetic gives sizes.
Whoever wants to know (a comparison, `range(n)`, an index) is told by the value, and what was asked is noted with its
answer as a *guard*: the trace is good for all calls in which each guard has the same answer.

Invariant: what a trace does depends on sizes through nothing but expressions of sizes and the answers of guards.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias, Union
from weakref import WeakKeyDictionary

import numpy as np

from slinky.errors import ExpressionError
from slinky.frontend.places import place
from slinky.symbolic.expressions import (
    Condition,
    Constant,
    Expr,
    FloorDivide,
    NonNegative,
    Product,
    Sum,
    Truth,
    Variable,
    as_expr,
    equal,
    is_integer,
    negate,
)
from slinky.symbolic.traversal import evaluate, substitute

Length: TypeAlias = Union[int, "Size"]
"""An extent or an index: a number, or a size."""


class Questions:
    """What a trace has asked, in order: conditions that hold, of the sizes of its arrays, with the line that asked;
    `values` are the sizes now."""

    def __init__(self) -> None:
        self.held: dict[Condition, str] = {}
        self.values: WeakKeyDictionary[Expr, int] = WeakKeyDictionary()
        self.roots: dict[Expr, Expr] = {}
        self.known: dict[Hashable, Any] = {}
        """What came of the same lengths before, by what was done: it need not be asked again."""

    def note(self, condition: Condition, answer: bool) -> None:
        """Take note of an answer."""
        held = condition if answer else negate(condition)
        is_known = isinstance(held, NonNegative) and _is_never_negative(held.expr)
        if not isinstance(held, Truth) and not is_known and held not in self.held:
            self.held[held] = place()

    def unite(self, a: Expr, b: Expr) -> None:
        """Two extents were found equal, which is noted: one may stand for both."""
        first, second = self.root(a), self.root(b)
        if first is not second:
            self.roots[second] = first

    def root(self, symbol: Expr) -> Expr:
        """The extent that stands for all that were found equal to this one."""
        while symbol in self.roots:
            symbol = self.roots[symbol]
        return symbol

    def canonical(self, expr: Expr) -> Expr:
        """An expression of the extents that stand for others."""
        return substitute(expr, {symbol: self.root(symbol) for symbol in self.roots}) if self.roots else expr

    def hold(self, values: Mapping[Expr, int]) -> bool:
        """Whether all answers are the same for other sizes."""
        return all(evaluate(condition, values) for condition in self.held)


def _is_never_negative(expr: Expr) -> bool:
    """Whether that is plain of an expression of extents, none of which is negative."""
    match expr:
        case Variable():
            return True
        case Constant(value):
            return value >= 0
        case Sum(constant, terms):
            return constant >= 0 and all(factor >= 0 and _is_never_negative(term) for term, factor in terms)
        case Product(factors):
            return all(map(_is_never_negative, factors))
        case FloorDivide(numerator, Constant(divisor)):
            return divisor > 0 and _is_never_negative(numerator)
        case _:
            return False


def _of_the_same_call(own: Size, other: object) -> object:
    """What a size meets: one that was kept from another call is the number that it was there."""
    return other.value if type(other) is Size and other.questions is not own.questions else other


def _may_be_told(other: object) -> bool:
    """Whether what comes of a size and something is one, or a question about one: scalars of NumPy's make others."""
    return isinstance(other, Size) or (is_integer(other) and not isinstance(other, np.generic))


def _asks(compare: Callable[[Expr, Expr], Condition], told: Callable[[int, int], bool]) -> Callable[[Any, Any], Any]:
    def method(self: Size, other: object) -> Any:
        if getattr(type(other), "__slinky_lazy__", False):
            return NotImplemented
        other = _of_the_same_call(self, other)
        if not _may_be_told(other):
            return told(self._known(), other)  # type: ignore[arg-type]
        answer = told(self.value, value_of(other))  # type: ignore[arg-type]
        self.questions.note(compare(self.expr, expr_of(other)), answer)  # type: ignore[arg-type]
        return answer

    return method


def _computes(function: Callable[[Any, Any], Any], turned: bool) -> Callable[[Any, Any], Any]:
    def method(self: Size, other: object) -> Any:
        if getattr(type(other), "__slinky_lazy__", False):
            return NotImplemented
        other = _of_the_same_call(self, other)
        if not _may_be_told(other):
            if isinstance(other, (float, complex, np.number)):
                return function(other, self._known()) if turned else function(self._known(), other)
            return NotImplemented
        pair = (other, self) if turned else (self, other)
        value = function(*(value_of(each) for each in pair))  # type: ignore[arg-type]
        try:
            expr = function(*(expr_of(each) for each in pair))  # type: ignore[arg-type]
            return length(expr, value, self.questions)
        except ExpressionError:
            return function(*map(_number, pair))

    return method


def _forces(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Size, *others: Any) -> Any:
        if others and getattr(type(others[0]), "__slinky_lazy__", False):
            return NotImplemented
        return function(self._known(), *map(_number, others))

    return method


class Size:
    """An integer with an expression and its value in this call. What asks for its value is noted."""

    __slots__ = ("expr", "questions", "value")

    def __init__(self, expr: Expr, value: int, questions: Questions) -> None:
        self.expr = expr
        self.value = value
        self.questions = questions

    def _known(self) -> int:
        """The value, which thereby is the one for which the trace is good."""
        self.questions.note(equal(self.expr, self.value), True)
        return self.value

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # functions that ask `isinstance(n, int)` mean an integer like this
        return int

    __index__ = __int__ = _forces(operator.index)
    __hash__ = _forces(hash)
    __float__ = _forces(float)
    __truediv__ = _forces(operator.truediv)
    __rtruediv__ = _forces(lambda a, b: b / a)
    __pow__ = _forces(operator.pow)
    __rpow__ = _forces(lambda a, b: b**a)
    __divmod__ = _forces(divmod)
    __abs__ = _forces(abs)
    __round__ = _forces(round)
    __str__ = _forces(str)
    __repr__ = _forces(repr)
    __format__ = _forces(format)
    __and__ = _forces(operator.and_)
    __or__ = _forces(operator.or_)
    __xor__ = _forces(operator.xor)
    __lshift__ = _forces(operator.lshift)
    __rshift__ = _forces(operator.rshift)
    __add__ = _computes(operator.add, False)
    __radd__ = _computes(operator.add, True)
    __sub__ = _computes(operator.sub, False)
    __rsub__ = _computes(operator.sub, True)
    __mul__ = _computes(operator.mul, False)
    __rmul__ = _computes(operator.mul, True)
    __floordiv__ = _computes(operator.floordiv, False)
    __rfloordiv__ = _computes(operator.floordiv, True)
    __mod__ = _computes(operator.mod, False)
    __rmod__ = _computes(operator.mod, True)
    __eq__ = _asks(equal, operator.eq)
    __ne__ = _asks(lambda a, b: negate(equal(a, b)), operator.ne)
    __lt__ = _asks(operator.lt, operator.lt)
    __le__ = _asks(operator.le, operator.le)
    __gt__ = _asks(operator.gt, operator.gt)
    __ge__ = _asks(operator.ge, operator.ge)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(int, name):  # who asks whether there is one asks no value
            raise AttributeError(f"'int' object has no attribute {name!r}")
        return getattr(self._known(), name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self._known(), dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *given: Any, **keywords: Any) -> Any:
        if any(getattr(type(each), "__slinky_lazy__", False) for each in given):
            return NotImplemented  # these know what to do with sizes
        return getattr(ufunc, method)(*map(_number, given), **keywords)

    def __array_function__(self, function: Callable[..., Any], types: Any, given: Any, keywords: Any) -> Any:
        if any(getattr(each, "__slinky_lazy__", False) for each in types):
            return NotImplemented
        return function(*_numbers(given), **{key: _numbers(each) for key, each in keywords.items()})

    def __neg__(self) -> Length:
        return 0 - self  # type: ignore[no-any-return]

    def __pos__(self) -> Length:
        return self

    def __bool__(self) -> bool:
        return bool(self != 0)


def length(expr: Expr, value: int, questions: Questions) -> Length:
    """A size, or the number that it is in every call."""
    return expr.value if isinstance(expr, Constant) else Size(expr, value, questions)


def expr_of(given: Length) -> Expr:
    """The expression of a length."""
    return given.expr if type(given) is Size else as_expr(given)


def value_of(given: Length) -> int:
    """The value of a length in this call, of which nothing is noted: for what does not shape the trace."""
    return given.value if type(given) is Size else operator.index(given)


def lengths(values: Mapping[Expr, int]) -> Callable[[Length], int]:
    """What gives the values of lengths where their symbols have these values."""
    return lambda n: evaluate(n.expr, values) if type(n) is Size else n  # type: ignore[return-value]


def _number(given: object) -> object:
    return given._known() if type(given) is Size else given


def _numbers(given: Any) -> Any:
    """Arguments with numbers in the place of sizes, also in lists and tuples."""
    return type(given)(map(_numbers, given)) if type(given) in (tuple, list) else _number(given)


def known(given: Length) -> int:
    """The value of a length, which the trace is then good for."""
    return given._known() if type(given) is Size else operator.index(given)


def same(a: Length, b: Length) -> bool:
    """Whether two lengths are equal; noted if it is not so in every call."""
    if are_same(a, b):
        return True
    answer = bool(a == b)
    if answer and type(a) is Size and type(b) is Size and isinstance(a.expr, Variable) and isinstance(b.expr, Variable):
        a.questions.unite(a.expr, b.expr)
    return answer


def are_same(a: Length, b: Length) -> bool:
    """Whether two lengths are known to be equal, without a question."""
    one, other = expr_of(a), expr_of(b)
    if one is other:
        return True
    return type(a) is Size and type(b) is Size and a.questions.canonical(one) is a.questions.canonical(other)
