"""Terms: arithmetic of ufuncs on accesses, written down to be computed by a func.

`image[y, x] * 2 + np.sqrt(other[y, x - 1])` is a term. It stands for the value at one point, as its accesses do.
Ufuncs, operators, `np.where`, `np.clip` and `astype` make terms of terms; `sl.arithmetic` makes a func of one.

Invariant: the dtypes of a term are those that NumPy gives to arrays of the dtypes of its operands: Python's numbers,
also those known only when a pipeline runs, take part without a dtype of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NoReturn, cast

import attrs
import numpy as np
import numpy.typing as npt

from slinky.errors import GraphError, cited
from slinky.ir.formulas import CLIP
from slinky.ir.given import as_dtype
from slinky.ir.operations import FloatScalar
from slinky.symbolic.expressions import Expr, Scalar, Variable

_COMPARISONS = frozenset({np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal})
_POWERS = {1: np.positive, 2: np.square, -1: np.reciprocal, 0.5: np.sqrt}
"""What NumPy's operator computes in place of a power."""
_INTEGER, _FLOAT = np.dtype(np.int64), np.dtype(np.float64)


def _binary(ufunc: np.ufunc) -> Callable[[Any, object], Any]:
    def operator(self: Any, other: object) -> Any:
        return applied(ufunc, (self, other))

    return operator


def _reversed(ufunc: np.ufunc) -> Callable[[Any, object], Any]:
    def operator(self: Any, other: object) -> Any:
        return applied(ufunc, (other, self))

    return operator


def _unary(ufunc: np.ufunc) -> Callable[[Any], Any]:
    def operator(self: Any) -> Any:
        return applied(ufunc, (self,))

    return operator


class Arithmetic:
    """What ufuncs and operators make terms of."""

    __slots__ = ()

    __add__, __radd__ = _binary(np.add), _reversed(np.add)
    __sub__, __rsub__ = _binary(np.subtract), _reversed(np.subtract)
    __mul__, __rmul__ = _binary(np.multiply), _reversed(np.multiply)
    __truediv__, __rtruediv__ = _binary(np.true_divide), _reversed(np.true_divide)
    __floordiv__, __rfloordiv__ = _binary(np.floor_divide), _reversed(np.floor_divide)
    __mod__, __rmod__ = _binary(np.remainder), _reversed(np.remainder)
    __divmod__, __rdivmod__ = _binary(np.divmod), _reversed(np.divmod)
    __rpow__ = _reversed(np.power)
    __and__, __rand__ = _binary(np.bitwise_and), _reversed(np.bitwise_and)
    __or__, __ror__ = _binary(np.bitwise_or), _reversed(np.bitwise_or)
    __xor__, __rxor__ = _binary(np.bitwise_xor), _reversed(np.bitwise_xor)
    __lshift__, __rlshift__ = _binary(np.left_shift), _reversed(np.left_shift)
    __rshift__, __rrshift__ = _binary(np.right_shift), _reversed(np.right_shift)
    __lt__, __le__ = _binary(np.less), _binary(np.less_equal)
    __gt__, __ge__ = _binary(np.greater), _binary(np.greater_equal)
    __eq__, __ne__ = _binary(np.equal), _binary(np.not_equal)
    __hash__ = object.__hash__
    __neg__, __pos__, __abs__, __invert__ = map(_unary, (np.negative, np.positive, np.absolute, np.invert))

    def __pow__(self, exponent: object, modulus: object = None) -> Any:
        """As arrays have it: for some exponents a ufunc of their own."""
        if modulus is not None:
            raise GraphError("pow() of terms takes no modulus: write a ** b % c")
        own = own_power(_kind(self).kind, exponent)
        return applied(np.power, (self, exponent)) if own is None else applied(own, (self,))

    def astype(self, dtype: npt.DTypeLike) -> Converted:
        """The value as an element of another dtype, converted as arrays are."""
        return Converted(_operand(self), dtype_of(dtype))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: object, **options: Any) -> Any:
        if method != "__call__":
            raise GraphError(
                f"np.{ufunc.__name__}.{method} is not done element by element: give a func a callback for it"
            )
        return applied(ufunc, operands, **options)

    def __array_function__(self, function: Callable[..., Any], _: object, given: Any, options: Any) -> Any:
        if function not in _FUNCTIONS:
            raise GraphError(
                f"np.{function.__name__} is not understood of what stands for one element; "
                "terms are made of ufuncs, operators, np.where, np.clip and astype"
            )
        return _FUNCTIONS[function](*given, **options)


class Term(Arithmetic):
    """What has been computed of accesses."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise GraphError("a term has no value before its pipeline runs: choose with np.where, and combine with & and |")


@attrs.frozen(eq=False)
class Literal(Term):
    """A constant, an element of its dtype."""

    value: Any

    @property
    def dtype(self) -> np.dtype[Any]:
        """Its dtype."""
        found: np.dtype[Any] = self.value.dtype
        return found


@attrs.frozen(eq=False)
class Known(Term):
    """A number that is known when the pipeline runs, converted to a dtype."""

    value: Expr | FloatScalar
    dtype: np.dtype[Any]


@attrs.frozen(eq=False)
class Position(Term):
    """The coordinate of the element along a dimension."""

    variable: Variable
    dtype: np.dtype[Any] = _INTEGER


@attrs.frozen(eq=False)
class Applied(Term):
    """A ufunc of terms; `dtypes` are those of its loop. Of several results it is the `output`-th."""

    ufunc: np.ufunc
    operands: tuple[Any, ...]
    dtypes: tuple[np.dtype[Any], ...]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its first result."""
        return self.dtypes[self.ufunc.nin]


@attrs.frozen(eq=False)
class Part(Term):
    """One of the results of a ufunc that has several."""

    whole: Applied
    output: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """Its dtype."""
        return self.whole.dtypes[self.whole.ufunc.nin + self.output]

    @property
    def operands(self) -> tuple[Any, ...]:
        """What it is taken from."""
        return (self.whole,)


@attrs.frozen(eq=False)
class Converted(Term):
    """A term as an element of another dtype."""

    operand: Any
    dtype: np.dtype[Any]

    @property
    def operands(self) -> tuple[Any, ...]:
        """What is converted."""
        return (self.operand,)


@attrs.frozen(eq=False)
class Chosen(Term):
    """One of two terms, by a condition."""

    operands: tuple[Any, Any, Any]
    dtype: np.dtype[Any]


def coordinate(variable: Variable) -> Position:
    """The coordinate of an element along a dimension, as a term: an int64.

    In arithmetic with accesses a variable is one by itself; alone, `x * 0.5` is no term, and `coordinate(x) * 0.5` is.
    """
    if not _is_dimension(variable):
        raise GraphError(f"coordinate() takes a variable, such as x, got {cited(variable)}")
    return Position(variable)


def dtype_of(given: npt.DTypeLike) -> np.dtype[Any]:
    """The dtype of an element. Raises `GraphError` for what is none."""
    try:
        found = as_dtype(given)
    except TypeError as error:
        raise GraphError(f"a term needs a dtype of NumPy, got {cited(given)}: {error}") from None
    if found.hasobject or found.itemsize == 0 or found.subdtype is not None or found.names is not None:
        raise GraphError(f"a term needs a dtype of one number, got {found}")
    return found


def applied(ufunc: np.ufunc, operands: Sequence[object], dtype: npt.DTypeLike | None = None, **options: Any) -> Any:
    """The term of a ufunc; a tuple of terms where it has several results.

    Raises `GraphError` for what is not done element by element, and operands or options that it does not take.
    """
    name = f"np.{ufunc.__name__}"
    if ufunc.signature is not None:
        raise GraphError(f"{name} is not done element by element: give a func a callback for it")
    if options:
        raise GraphError(f"{name} of terms takes no {', '.join(sorted(options))}")
    if len(operands) != ufunc.nin:
        raise GraphError(f"{name} takes {ufunc.nin} operands, got {len(operands)}")
    given = [_operand(operand) for operand in operands]
    dtypes = _resolved(ufunc, [_kind(each) for each in given], None if dtype is None else dtype_of(dtype))
    if ufunc in _COMPARISONS:
        wide = [_wide(each, own) for each, own in zip(given, dtypes, strict=False)]
        if any(a is not b for a, b in zip(wide, given, strict=True)):
            given, dtypes = wide, _resolved(ufunc, [_kind(each) for each in wide], None)
    fixed = tuple(_with_dtype(each, own) for each, own in zip(given, dtypes, strict=False))
    term = Applied(ufunc, fixed, dtypes)
    return term if ufunc.nout == 1 else tuple(Part(term, k) for k in range(ufunc.nout))


def _resolved(ufunc: np.ufunc, kinds: Sequence[Any], dtype: np.dtype[Any] | None) -> tuple[np.dtype[Any], ...]:
    """The dtypes of the loop that NumPy takes."""
    asked: dict[str, Any] = {} if dtype is None else {"signature": (*(None,) * ufunc.nin, *(dtype,) * ufunc.nout)}
    try:
        found: tuple[np.dtype[Any], ...] = ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout), **asked)
    except TypeError as error:
        raise GraphError(f"np.{ufunc.__name__} does not take {', '.join(map(_kind_text, kinds))}: {error}") from None
    if any(each.hasobject for each in found):
        raise GraphError(
            f"np.{ufunc.__name__} of {', '.join(map(_kind_text, kinds))} would compute with Python objects"
        )
    return found


def where(condition: object, *values: object) -> Chosen:
    """One of two terms, as `np.where` has it."""
    if len(values) != 2:
        raise GraphError("np.where of terms takes a condition and two values: the places where it holds are not known")
    holds, first, second = (_operand(each) for each in (condition, *values))
    if isinstance(holds, (int, float, complex)):
        holds = Literal(np.bool_(holds))
    truth = (
        holds
        if isinstance(_kind(holds), np.dtype) and _kind(holds) == np.dtype(bool)
        else Converted(_with_dtype(holds, None), np.dtype(bool))
    )
    try:
        dtype = np.result_type(*map(_sample, (first, second)))
    except TypeError as error:
        raise GraphError(f"np.where of values that have no dtype in common: {error}") from None
    chosen = (each if _is_of(each, dtype) else _converted(_wrapped(each, dtype), dtype) for each in (first, second))
    return Chosen((truth, *chosen), dtype)


def _wrapped(given: Any, dtype: np.dtype[Any]) -> Any:
    """An operand of `np.where`, which takes an integer that the dtype does not hold, but one of 64 bits, round."""
    if type(given) is int and dtype.kind in "iu" and _holds(np.dtype(np.int64), given):
        return int(np.int64(given).astype(dtype))
    return given


def clip(value: object, a_min: object = None, a_max: object = None, *, min: object = None, max: object = None) -> Any:
    """A term within limits, as `np.clip` has it."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    kind = _kind(_operand(value))
    if isinstance(kind, np.dtype) and kind.kind in "iu":  # a limit beyond what the dtype holds limits nothing
        limits = np.iinfo(kind)
        low = None if type(low) is int and low <= limits.min else low
        high = None if type(high) is int and high >= limits.max else high
    if low is None and high is None:
        return applied(np.positive, (value,))
    if low is None:
        return applied(np.minimum, (value, high))
    if high is None:
        return applied(np.maximum, (value, low))
    return applied(CLIP, (value, low, high))


_FUNCTIONS: dict[Any, Callable[..., Any]] = {np.where: where, np.clip: clip}

# ----------------------------------------------------------------------------------------------------------------
# Operands
# ----------------------------------------------------------------------------------------------------------------


def own_power(kind: str, exponent: object) -> np.ufunc | None:
    """The ufunc that arrays of a kind take in place of a power, for some exponents of Python's. Those of floats give
    what powers give; of complex numbers and truths, which they do not, NumPy takes them for one way to write the
    number."""
    if type(exponent) not in (int, float) or exponent not in _POWERS:
        return None
    if kind == "c":
        is_taken = (type(exponent) is int) == (exponent != 0.5) and (exponent != 1 or _is_kept_by_power_one())
    else:
        is_taken = kind == "f" or (kind in "iub" and exponent == 2 and type(exponent) is int)
    return _POWERS[exponent] if is_taken else None


@cache
def _is_kept_by_power_one() -> bool:
    """Whether NumPy takes complex numbers to the power of 1 as they are: newer ones make one zero of all."""
    zero = np.array([complex(-0.0, 0.0)])
    return bool((zero**1).tobytes() == zero.tobytes())


def _operand(given: Any) -> Any:
    """What takes part in arithmetic: an access, a term, or a number without a dtype. Raises `GraphError` else."""
    if isinstance(given, Arithmetic) or (
        isinstance(given, (int, float, complex, FloatScalar)) and not _is_strong(given)
    ):
        return given
    if isinstance(given, Expr):
        return Position(cast(Variable, given)) if _is_dimension(given) else given
    if isinstance(given, (bool, np.generic)) or (isinstance(given, np.ndarray) and given.ndim == 0):
        value = np.asarray(given)[()]
        dtype_of(value.dtype)
        return Literal(value)
    if isinstance(given, np.ndarray):
        raise GraphError(
            f"a term stands for one element, and cannot take an array of shape {given.shape}: make it a constant "
            "of the graph, sl.constant(...), and write which element of it is taken"
        )
    raise GraphError(f"a term cannot be computed of {cited(given)}, a {type(given).__name__}")


def _is_dimension(given: object) -> bool:
    """Whether it is a variable over whose range a func computes, which scalars are not."""
    return isinstance(given, Variable) and not isinstance(given, Scalar)


def _is_strong(given: object) -> bool:
    return isinstance(given, (bool, np.generic))


def _kind(given: Any) -> Any:
    """A dtype, or of a number without one, its Python type."""
    if isinstance(given, (FloatScalar, float)):
        return float
    if isinstance(given, (Expr, int)):
        return int
    if isinstance(given, complex):
        return complex
    return given.dtype if hasattr(given, "dtype") else given.buffer.dtype


def _is_of(given: Any, dtype: np.dtype[Any]) -> bool:
    """Whether an operand has this dtype: a number without one has not, though NumPy finds `int` equal to one."""
    kind = _kind(given)
    return isinstance(kind, np.dtype) and kind == dtype


def _kind_text(kind: Any) -> str:
    return str(kind) if isinstance(kind, np.dtype) else f"a Python {kind.__name__}"


def _sample(given: Any) -> Any:
    """What NumPy finds the common dtype of."""
    kind = _kind(given)
    return kind if isinstance(kind, np.dtype) else kind(0)


def _wide(given: Any, dtype: np.dtype[Any]) -> Any:
    """An operand of a comparison: an integer that the dtype does not hold keeps its value."""
    if type(given) is not int or dtype.kind not in "iu" or _holds(dtype, given):
        return given
    for wider in (np.dtype(np.int64), np.dtype(np.uint64)):
        if _holds(wider, given):
            return Literal(wider.type(given))
    return Literal(np.float64(math.inf if given > 0 else -math.inf))


def _holds(dtype: np.dtype[Any], value: int) -> bool:
    limits = np.iinfo(dtype)
    return int(limits.min) <= value <= int(limits.max)


def _with_dtype(given: Any, dtype: np.dtype[Any] | None) -> Any:
    """An operand that has a dtype: its own, or if it has none, this one."""
    if isinstance(given, (Expr, FloatScalar)):
        return number_as(given, dtype)
    if isinstance(given, (int, float, complex)):
        return _converted(given, np.asarray(given).dtype if dtype is None else dtype)
    return given


def number_as(given: Expr | FloatScalar, dtype: np.dtype[Any] | None) -> Term:
    """A number that is known when the pipeline runs, as one of a dtype: as a truth it is what is not 0."""
    own = _FLOAT if isinstance(given, FloatScalar) else _INTEGER
    if dtype is not None and dtype.kind == "b":
        return Converted(Known(given, own), dtype)
    return Known(given, own if dtype is None else dtype)


def _converted(given: Any, dtype: np.dtype[Any]) -> Any:
    """An operand with this dtype. Raises `GraphError` for a number that it does not hold."""
    if isinstance(given, (Expr, FloatScalar)):
        return number_as(given, dtype)
    if not isinstance(given, (int, float, complex)):
        return Converted(given, dtype)
    held = _INTEGER if dtype.kind == "b" and type(given) is int else dtype  # as a truth, too, it is one of NumPy's
    if held.kind in "iu" and not _holds(held, int(given)):  # type: ignore[arg-type]
        raise GraphError(f"the number {cited(given)} is out of range for {held}")
    try:
        return Literal(dtype.type(given))
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphError(f"the number {cited(given)} is none of {dtype}: {error}") from None
