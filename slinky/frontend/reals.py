"""Floats among the arguments of a function that is traced: known now, and may be others at the next call.

Idea. A `Real` stands for such a float, Python's or a scalar of NumPy's, with its value in this call. Arithmetic gives
reals: *steps*, which are done again at each call. Whoever wants to know (a comparison, a library that takes a float, a
text) is told by the value, and what was asked is noted with its answer: the trace is good for all calls in which each
answer is the same. A real that somebody still holds when the trace has ended may be used in ways that nobody sees: the
trace is good for its value.

Invariant: what a trace does depends on these floats through nothing but steps and answers.
"""

from __future__ import annotations

import builtins
import math
import operator
import sys
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import BuiltinFunctionType, ModuleType
from typing import Any

import attrs
import numpy as np

from slinky.errors import TracingError
from slinky.frontend.nodes import copied, exactly, inside
from slinky.frontend.places import does, place, stands_at
from slinky.frontend.sizes import Size


@attrs.frozen
class Told:
    """A float that is told at each call: the step that gives it, and its value in the call that was traced."""

    step: int
    value: float = attrs.field(eq=False)


@attrs.frozen
class _Argument:
    """A step that is an argument, by its number among the leaves."""

    number: int
    name: str = attrs.field(eq=False)


@attrs.frozen
class _Step:
    """A function of floats that earlier steps give, and of numbers that are always the same."""

    function: Callable[..., Any]
    given: tuple[Any, ...]

    def of(self, values: Sequence[float]) -> Any:
        """What it gives, where the steps give these values."""
        return self.function(*[values[each.step] if type(each) is Told else each for each in self.given])


@attrs.frozen(eq=False)
class _Question:
    """What was asked of floats, with its answer, and the line that asked."""

    asked: _Step
    answer: Hashable
    shown: str
    line: str


class ToldFloatError(BaseException):
    """Something adds floats otherwise than by `+` where they are floats: the function is to be traced with these. No
    error of anybody's, so that none who catches errors sees it."""


class Reals:
    """The floats among the arguments of a trace: what is computed of them, and what was asked."""

    def __init__(self) -> None:
        self._steps: list[_Argument | _Step] = []
        self._known: dict[Hashable, int] = {}
        self._questions: dict[Hashable, _Question] = {}
        self._made: list[weakref.ref[Real]] = []
        self._kinds: list[type] = []
        self._is_of_numpy = False
        """Whether NumPy computes something: it may warn."""
        self.warns = False
        """Whether NumPy may warn of what is computed of scalars: a trace would say nothing."""
        self.are_added_elsewhere = False
        """Whether a `ToldFloatError` was raised, which somebody may have caught."""
        self.is_over = False
        """Whether the trace has ended, so that nothing is noted any more."""

    # While a function is traced -------------------------------------------------------------------------------------

    def argument(self, value: float, number: int, name: str) -> Real:
        """The float that is an argument, by its number among the leaves."""
        return self._real(_Argument(number, name), number, value)

    def computed(self, function: Callable[..., Any], given: Sequence[Any]) -> Any:
        """What a function gives of reals and numbers: a real where that is a float, else what is noted as an answer."""
        if not self._are_of_this_call(given):
            return function(*known_reals(given))
        try:
            result = self._watched(function, given)
        except FloatingPointError:
            return self._warning(function, given)
        if type(result) not in FLOATS:
            return self._noted(function, given, result)
        step = _Step(function, tuple(map(self.told, given)))
        return self._real(step, (function, exactly(step.given)), result)

    def asked(self, function: Callable[..., Any], given: Sequence[Any]) -> Any:
        """What a function gives of reals and numbers, which the trace is good for from now on."""
        if not self._are_of_this_call(given):
            return function(*known_reals(given))
        try:
            return self._noted(function, given, self._watched(function, given))
        except FloatingPointError:
            return self._warning(function, given)

    def told(self, value: Any) -> Any:
        """A float as what is computed has it: told at each call (`Told`), or always the same: one of a trace around
        this one, which is good for its value then, or one that was kept from another call."""
        if type(value) is not Real:
            return value
        return Told(value._step, value._value) if value._reals is self else value._known()

    def _are_of_this_call(self, given: Sequence[Any]) -> bool:
        return not self.is_over and all(each._reals is self for each in given if type(each) is Real)

    def end(self) -> list[Real]:
        """The trace has ended: those that somebody holds, whose values are what it is good for."""
        held = [each for each in (ref() for ref in self._made) if each is not None]
        for each in held:
            self.asked(float, (each,))
        self._made.clear()
        self._known.clear()
        self.is_over = True
        return held

    def _real(self, step: _Argument | _Step, key: Hashable, value: float) -> Real:
        """The float that a step gives: the one that gave it before, if there is one."""
        number = self._known.setdefault(key, len(self._steps))
        if number == len(self._steps):
            self._steps.append(step)
            self._kinds.append(type(value))
        real = Real(number, value, self)
        self._made.append(weakref.ref(real))
        return real

    def _warning(self, function: Callable[..., Any], given: Sequence[Any]) -> Any:
        """What a function gives that warns where it stands, each time."""
        self.warns = True
        return function(*known_reals(given))

    def _watched(self, function: Callable[..., Any], given: Sequence[Any]) -> Any:
        """What a function gives, which raises what NumPy may warn of."""
        if not isinstance(function, np.ufunc) and _OF_NUMPY.isdisjoint(type(now(each)) for each in given):
            return self._called(function, given)
        self._is_of_numpy = True
        with _raising():
            return self._called(function, given)

    def _called(self, function: Callable[..., Any], given: Sequence[Any]) -> Any:
        try:
            return function(*map(_value, given))
        except Exception:
            for each in given:  # whoever catches it goes on otherwise
                if type(each) is Real:
                    self._noted(float, (each,), float(each._value))
            raise

    def _noted(self, function: Callable[..., Any], given: Sequence[Any], answer: Any) -> Any:
        asked = _Step(function, tuple(map(self.told, given)))
        key = (function, exactly(asked.given))
        if key not in self._questions:
            self._questions[key] = _Question(asked, exactly(answer), repr(answer), place())
        return answer

    # At later calls -------------------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        return bool(self._steps)

    @property
    def asks_for_values(self) -> bool:
        """Whether the trace is good for one value of some float."""
        return any(question.asked.function is float for question in self._questions.values())

    def name(self, step: int) -> str | None:
        """The name of the argument that a step is; None where something is computed."""
        found = self._steps[step]
        return found.name if isinstance(found, _Argument) else None

    @property
    def places(self) -> list[int] | None:
        """The numbers of the leaves that the steps are; None where something is computed, or was asked."""
        if self._questions:
            return None
        found = [step.number for step in self._steps if isinstance(step, _Argument)]
        return found if len(found) == len(self._steps) else None

    def values(self, leaves: Sequence[Any]) -> list[float] | None:
        """What the steps give for arguments, by their leaves; None where an answer is another one than it was."""
        if not self._steps:
            return []
        if not self._is_of_numpy and _OF_NUMPY.isdisjoint(self._kinds):
            return self._values(leaves)
        with _raising():
            return self._values(leaves)

    def _values(self, leaves: Sequence[Any]) -> list[float] | None:
        values: list[Any] = []
        try:
            for step, kind in zip(self._steps, self._kinds, strict=True):
                value = leaves[step.number] if type(step) is _Argument else step.of(values)  # type: ignore[union-attr]
                if type(value) is not kind:
                    return None
                values.append(value)
            for question in self._questions.values():
                if exactly(question.asked.of(values)) != question.answer:
                    return None
        except Exception:  # what it raised in the call that was traced, it would not have gone on with
            return None
        return values

    # In words -------------------------------------------------------------------------------------------------------

    def in_words(self) -> list[str]:
        """For which floats the trace is good, and which lines asked."""
        return [
            f"good where {self._words(each.asked, _DEPTH)} is {each.shown}, asked in {each.line}"
            for each in self._questions.values()
        ]

    def _words(self, step: _Argument | _Step, depth: int) -> str:
        if isinstance(step, _Argument):
            return step.name
        if not depth:
            return "..."
        given = [
            self._words(self._steps[each.step], depth - 1) if type(each) is Told else repr(each) for each in step.given
        ]
        sign = _SIGNS.get(step.function)
        if step.function is float:
            return given[0]
        if sign is not None and len(given) == 2:
            return f"({given[0]} {sign} {given[1]})"
        return f"{step.function.__name__}({', '.join(given)})"


_DEPTH = 6
"""What is computed in more steps is not said in full."""

_SIGNS: dict[Callable[..., Any], str] = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
}


def _raising() -> Any:
    """Settings of NumPy's under which scalars raise what they may warn of, or raise, where the function stands: that is
    left to the function itself."""
    return np.errstate(all="raise")


def _value(each: Any) -> Any:
    return each._value if type(each) is Real else each


def _computes(function: Callable[..., Any], *, turned: bool = False) -> Callable[..., Any]:
    def method(self: Real, *others: Any) -> Any:
        for other in others:
            if type(other) not in _NUMBERS:
                return self._with_another(function, other, turned=turned)
        given = (*others, self) if turned else (self, *others)
        return self._reals.computed(function, given)

    return method


def _adds(*, turned: bool = False) -> Callable[..., Any]:
    add = _computes(operator.add, turned=turned)

    def method(self: Real, other: Any) -> Any:
        if not self._reals.is_over and not does(sys._getframe(1), "BINARY_"):
            self._reals.are_added_elsewhere = True
            raise ToldFloatError  # `sum` of floats, and others, add them with more digits
        return add(self, other)

    return method


def _asks(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Real, *others: Any) -> Any:
        for other in others:
            if type(other) not in _NUMBERS:
                return self._with_another(function, other, turned=False)
        return self._reals.asked(function, (self, *others))

    return method


def _tells(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Real, *others: Any) -> Any:
        return function(self._known(), *others)

    return method


class Real:
    """A float with the step that computes it and its value in this call. What asks for its value is noted."""

    __slots__ = ("__weakref__", "_reals", "_step", "_value")

    def __init__(self, step: int, value: float, reals: Reals) -> None:
        self._step = step
        self._value = value
        self._reals = reals

    def _known(self) -> float:
        """The value, which thereby is the one for which the trace is good."""
        if not self._reals.is_over:
            self._reals.asked(float, (self,))
        return self._value

    def _with_another(self, function: Callable[..., Any], other: Any, *, turned: bool) -> Any:
        """What comes of something else: lazy arrays and sizes know what they do; others may look for a float, and not
        find one (`Decimal`), or be made an array (`np.float64(1.5) == [1.5]`)."""
        if type(other) is Size:
            return NotImplemented
        if getattr(type(other), "__slinky_lazy__", False):
            ufunc = _COMPARISONS.get(function)
            if type(self._value) is float or ufunc is None or not np.ndim(other):
                return NotImplemented
            return ufunc(self, other)  # a scalar of NumPy's is not turned around
        own = self._value if other is None or type(other) is str else self._known()
        return function(other, own) if turned else function(own, other)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # functions that ask `isinstance(x, float)` mean a float like this
        return type(self._value)

    __float__ = _asks(float)
    __int__ = _asks(int)
    __bool__ = _asks(bool)
    __trunc__ = _asks(math.trunc)
    __floor__ = _asks(math.floor)
    __ceil__ = _asks(math.ceil)
    __hash__ = _tells(hash)
    __str__ = _tells(str)
    __repr__ = _tells(repr)
    __format__ = _tells(format)
    __complex__ = _tells(complex)
    __reduce_ex__ = _tells(lambda value, protocol: value.__reduce_ex__(protocol))
    __round__ = _computes(round)
    __abs__ = _computes(operator.abs)
    __neg__ = _computes(operator.neg)
    __pos__ = _computes(operator.pos)
    __add__ = _adds()
    __radd__ = _adds(turned=True)
    __sub__ = _computes(operator.sub)
    __rsub__ = _computes(operator.sub, turned=True)
    __mul__ = _computes(operator.mul)
    __rmul__ = _computes(operator.mul, turned=True)
    __truediv__ = _computes(operator.truediv)
    __rtruediv__ = _computes(operator.truediv, turned=True)
    __floordiv__ = _computes(operator.floordiv)
    __rfloordiv__ = _computes(operator.floordiv, turned=True)
    __mod__ = _computes(operator.mod)
    __rmod__ = _computes(operator.mod, turned=True)
    __pow__ = _computes(operator.pow)
    __rpow__ = _computes(operator.pow, turned=True)
    __divmod__ = _computes(divmod)
    __rdivmod__ = _computes(divmod, turned=True)
    __eq__ = _asks(operator.eq)
    __ne__ = _asks(operator.ne)
    __lt__ = _asks(operator.lt)
    __le__ = _asks(operator.le)
    __gt__ = _asks(operator.gt)
    __ge__ = _asks(operator.ge)

    def __getattr__(self, name: str) -> Any:
        """What floats have beside: of its value."""
        kind = type(self._value)
        if not hasattr(kind, name) or name in _OF_MEMORY:
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        return getattr(kind(0) if name in _OF_KINDS else self._known(), name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self._known(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **keywords: Any) -> Any:
        if _has_lazy((given, keywords)):
            return NotImplemented  # these know what to do with reals
        if not keywords and ufunc in _OPERATORS and stands_at(sys._getframe(1), "BINARY_", "COMPARE_OP"):
            ufunc = _OPERATORS[ufunc]  # of a scalar, which has ways of its own
            if not all(type(each) in _NUMBERS for each in given):
                return ufunc(*known_reals(given))
            return self._reals.computed(ufunc, given)
        if method == "__call__" and not keywords and all(type(each) in _NUMBERS for each in given):
            return self._reals.computed(ufunc, given)
        return getattr(ufunc, method)(*known_reals(given), **known_reals(keywords))

    def __array_function__(self, function: Any, types: Any, given: Any, keywords: Any) -> Any:
        if _has_lazy((given, keywords)):
            return NotImplemented
        return function(*known_reals(given), **known_reals(keywords))


_OPERATORS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}
"""By the ufuncs that scalars of NumPy's call where they stand beside something unknown."""

_COMPARISONS: dict[Any, np.ufunc] = {
    _OPERATORS[ufunc]: ufunc for ufunc in (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
}
"""The ufuncs of comparisons, by the operators that stand for them."""

_OF_NUMPY = frozenset([np.float64, np.float32])
FLOATS = frozenset([float, *_OF_NUMPY])
"""The classes of floats that are told at each call."""

_NUMBERS = frozenset([bool, int, Real, *FLOATS])
_OF_KINDS = frozenset(["dtype", "itemsize", "nbytes", "ndim", "shape", "size"])
"""What is the same for all scalars of a dtype."""
_OF_MEMORY = frozenset(["__array_interface__", "__array_struct__"])
"""Ways to read a scalar that come before `__array__`, and tell nothing of the class that an object would have."""


def known_reals(tree: Any) -> Any:
    """Arguments with the values of reals, for which the trace is good, in their place.

    Raises `TracingError` where they stand in more lists in each other than can be gone through.
    """
    try:
        return copied(tree, _known_real, known_reals)
    except RecursionError:
        raise TracingError(f"arguments stand in too many lists in each other, at {place()}") from None


def _known_real(value: Any) -> Any:
    return value._known() if type(value) is Real else value


def has_reals(tree: Any) -> bool:
    """Whether a float that stands for one is among arguments."""
    return any(type(each) is Real for each in inside(tree))


def now(value: Any) -> Any:
    """A float in the call that is traced, of which nothing is noted: for what does not shape the trace."""
    return value.value if type(value) is Told else _value(value)


def _has_lazy(tree: Any) -> bool:
    return any(getattr(type(each), "__slinky_lazy__", False) for each in inside(tree))


# ----------------------------------------------------------------------------------------------------------------
# What a traced function sees
# ----------------------------------------------------------------------------------------------------------------


def _of_math(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of floats that gives reals of reals."""

    def called(*given: Any, **named: Any) -> Any:
        own = next((each for each in given if type(each) is Real), None)
        if own is None or named or not all(type(each) in _NUMBERS for each in given):
            return function(*known_reals(given), **known_reals(named))
        return own._reals.computed(function, given)

    return called


class TracedMath(ModuleType):
    """Python's `math`, for a function that is traced."""

    def __init__(self) -> None:
        super().__init__("math", math.__doc__)

    def __getattr__(self, name: str) -> Any:
        found = getattr(math, name)
        return OF_MATH.get(found, found) if isinstance(found, BuiltinFunctionType) else found


OF_MATH = {f: _of_math(f) for f in vars(math).values() if isinstance(f, BuiltinFunctionType)}
"""What a traced function sees for functions of `math`."""

MATH = TracedMath()


def as_float(*given: Any) -> Any:
    """`float`, called: a real stays one."""
    if len(given) != 1 or type(given[0]) is not Real:
        return builtins.float(*given)
    own: Any = given[0]
    return own if own.__class__ is float else own._reals.computed(_float_of, given)


def sum_of(*given: Any, **named: Any) -> Any:
    """`sum`, called: reals are added like floats, which it does with more digits."""
    if len(given) not in (1, 2) or named.keys() - {"start"} or not isinstance(given[0], Iterable):
        return builtins.sum(*given, **named)
    each, *start = given
    start = start or list(named.values()) or [0]
    found = list(each)
    own = next((one for one in (*start, *found) if type(one) is Real), None)
    if own is None:
        return builtins.sum(found, *start)
    if not all(type(one) in _NUMBERS for one in (*start, *found)):
        found, start = ([one._known() if type(one) is Real else one for one in part] for part in (found, start))
        return builtins.sum(found, *start)
    return own._reals.computed(_sum_of, (*start, *found))


def _sum_of(start: Any, *given: Any) -> Any:
    return builtins.sum(given, start)


def _float_of(value: Any) -> float:
    return builtins.float(value)
