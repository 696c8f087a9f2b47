"""What ufuncs, conversions and constants of one element are in C.

Invariant: each text computes what NumPy's loop of these dtypes computes, to the last bit, but for powers of float32
that are products (`is_product_of_single`): a ufunc of which that is not known has none (`UnknownError`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from slinky.ir.formulas import Apply, Argument, Constant, Operand, Step
from slinky.native.dividing import DIVIDED, converted, divided, is_converted

SMALL_EXPONENTS = (1, 2, 3, 4)
"""Powers of integers that are products in C."""
PRODUCTS_OF_SINGLE = (3, 4, 5, 6)
"""Powers of float32 that are: in float64, which has room for them."""

with np.errstate(invalid="ignore"):
    TAKES_ROOTS = bool(np.isnan(np.power(np.full(2, -np.inf), 0.5)).all())
"""Whether NumPy's power by the number 1/2 is a root, of which -0 and negative infinity have others."""

C_TYPES = {
    np.dtype(name): text
    for name, text in {
        "bool": "uint8_t",
        **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
        "float32": "float",
        "float64": "double",
    }.items()
}
"""The dtypes that kernels know."""


class UnknownError(Exception):
    """There is no line that is known to compute a step."""


def type_of(dtype: np.dtype[Any]) -> str:
    if not dtype.isnative or dtype not in C_TYPES:
        raise UnknownError
    return C_TYPES[dtype]


def element_text(text: str, dtype: np.dtype[Any]) -> str:
    """An element that is taken of an array: any byte but 0 of one of bools is True."""
    return f"{text} != 0" if dtype.kind == "b" else text


def suffix_of(dtype: np.dtype[Any]) -> str:
    """What the names of functions of a dtype end with."""
    return "f" if dtype == np.dtype(np.float32) else ""


def cast_text(text: str, own: np.dtype[Any], to: np.dtype[Any], *, is_limited: bool = False) -> str:
    """A value as another dtype; of a float it may be known that it `is_limited` to integers of 32 bits, or NaN."""
    if own == to:
        return text
    if to.kind == "b":
        return f"(uint8_t)({text} != 0)"
    if own.kind == "f" and to.kind != "f":
        if not is_converted(own, to):
            raise UnknownError
        return converted(text, own, to, type_of(to), is_limited=is_limited)
    if own.kind == "b" and to.kind == "f":  # GCC makes vectors of 32 bits, not of bytes, of what it compares
        return f"({type_of(to)})(int32_t){text}"
    return f"({type_of(to)}){text}"


def is_short_power(exponent: Operand, dtypes: tuple[np.dtype[Any], ...]) -> bool:
    """Whether a power is one line: of integers, which wrap, and the square and the root of floats; and products of
    float32, which float64 holds to far more digits."""
    if not isinstance(exponent, Constant) or set(dtypes) != {dtypes[-1]}:
        return False
    if dtypes[-1].kind in "iu":
        return exponent.value in SMALL_EXPONENTS
    is_product = dtypes[-1] == np.dtype(np.float32) and exponent.value in PRODUCTS_OF_SINGLE
    is_root = exponent.value == 0.5 and TAKES_ROOTS
    return dtypes[-1].kind == "f" and dtypes[-1] in C_TYPES and (exponent.value == 2 or is_root or is_product)


def is_product_of_single(step: Step) -> bool:
    """Whether a step is one of the powers that are products in C, and nearer the true value than NumPy's."""
    if not isinstance(step, Apply) or step.ufunc is not np.power or step.dtypes[-1] != np.dtype(np.float32):
        return False
    exponent = step.operands[1]
    return isinstance(exponent, Constant) and exponent.value in PRODUCTS_OF_SINGLE


def power_text(text: str, exponent: Operand, dtypes: tuple[np.dtype[Any], ...]) -> str:
    """A power that is one line."""
    to = dtypes[-1]
    if not isinstance(exponent, Constant) or not is_short_power(exponent, dtypes):
        raise UnknownError
    if exponent.value == 0.5:
        return f"sqrt{suffix_of(to)}({text})"
    if to.kind == "f":
        times = " * ".join([text] * int(exponent.value))
        return times if exponent.value == 2 else f"(float)((double){times})"
    power = text
    for _ in range(1, int(exponent.value)):
        power = f"({type_of(to)})({power} * {text})"
    return power


def clip_text(texts: list[str], bounds: Sequence[Operand], dtype: np.dtype[Any]) -> str:
    """A float within bounds that are the same for all elements: NumPy takes another loop for them, which leaves a zero
    that is as large as a bound the sign it has."""
    if not all(isinstance(each, (Argument, Constant)) for each in bounds) or dtype not in C_TYPES:
        raise UnknownError
    if any(isinstance(each, Constant) and np.isnan(each.value) for each in bounds):
        raise UnknownError  # one of several NaNs, which bounds given as numbers may be, too
    return f"slinky_clip{suffix_of(dtype)}({', '.join(texts)})"


def chosen_text(texts: Sequence[str], dtype: np.dtype[Any]) -> str:
    """A condition, and what is taken where it holds, and elsewhere: one of two by its bits, for of a choice between
    constants compilers make two ways through the loop, and then no vectors (see `comparing`)."""
    condition, one, other = texts
    if dtype.kind == "f":
        return f"slinky_either{suffix_of(dtype)}({condition}, {one}, {other})"
    own = type_of(dtype)
    return f"({own})(({one} & -({own})({condition} != 0)) | ({other} & ~-({own})({condition} != 0)))"


def constant_text(value: Any) -> str:
    """A number of NumPy."""
    dtype = value.dtype
    of = type_of(dtype)
    if dtype.kind != "f":
        whole = int(value)
        return f"({of})INT64_MIN" if whole == -(1 << 63) else f"({of}){whole}{'ULL' if whole > 0 else 'LL'}"
    number = float(value)
    if math.isnan(number):
        if value.tobytes() not in (dtype.type("nan").tobytes(), (-dtype.type("nan")).tobytes()):
            raise UnknownError
        return f"({of}){'-' if math.copysign(1, number) < 0 else ''}NAN"
    if math.isinf(number):
        return f"({of}){'-' if number < 0 else ''}INFINITY"
    return f"({of}){number.hex()}"


# ----------------------------------------------------------------------------------------------------------------
# What ufuncs compute
# ----------------------------------------------------------------------------------------------------------------

_COMPARED = {
    "less": ("<", "slinky_less{f}({0}, {1})"),
    "less_equal": ("<=", "slinky_less_equal{f}({0}, {1})"),
    "greater": (">", "slinky_less{f}({1}, {0})"),
    "greater_equal": (">=", "slinky_less_equal{f}({1}, {0})"),
    "equal": ("==", ""),
    "not_equal": ("!=", ""),
}
"""Comparisons: of integers, and of floats where a NaN is no exception."""
_ANY = {
    "logical_and": "(uint8_t)({0} & {1})",
    "logical_or": "(uint8_t)({0} | {1})",
    "logical_xor": "(uint8_t)({0} ^ {1})",
    "logical_not": "(uint8_t)(!{0})",
}
_BOOL = {
    "add": "(uint8_t)({0} | {1})",
    "multiply": "(uint8_t)({0} & {1})",
    "maximum": "(uint8_t)({0} | {1})",
    "minimum": "(uint8_t)({0} & {1})",
    "bitwise_and": "(uint8_t)({0} & {1})",
    "bitwise_or": "(uint8_t)({0} | {1})",
    "bitwise_xor": "(uint8_t)({0} ^ {1})",
    "invert": "(uint8_t)(!{0})",
    "absolute": "{0}",
}
_INTEGER = {
    "add": "({T})({0} + {1})",
    "subtract": "({T})({0} - {1})",
    "multiply": "({T})({0} * {1})",
    "negative": "({T})(-{0})",
    "positive": "{0}",
    "absolute": "({T})({0} < 0 ? -{0} : {0})",
    "square": "({T})({0} * {0})",
    "sign": "({T})({0} > 0 ? 1 : {0} < 0 ? -1 : 0)",
    "maximum": "({0} > {1} ? {0} : {1})",
    "minimum": "({0} < {1} ? {0} : {1})",
    "fmax": "({0} > {1} ? {0} : {1})",
    "fmin": "({0} < {1} ? {0} : {1})",
    "bitwise_and": "({T})({0} & {1})",
    "bitwise_or": "({T})({0} | {1})",
    "bitwise_xor": "({T})({0} ^ {1})",
    "invert": "({T})(~{0})",
    "left_shift": "({T})((uint64_t){1} < {bits} ? ({W}){0} << ({1} & ({bits} - 1)) : 0)",
    "right_shift": "({T})({0} >> ((uint64_t){1} < {bits} ? {1} : {bits} - 1))",
    "clip": "(({0} > {1} ? {0} : {1}) < {2} ? ({0} > {1} ? {0} : {1}) : {2})",
    "floor": "{0}",
    "ceil": "{0}",
    "trunc": "{0}",
}
_UNSIGNED = {
    "absolute": "{0}",
    "sign": "({T})({0} > 0)",
    "right_shift": "({T})((uint64_t){1} < {bits} ? {0} >> ({1} & ({bits} - 1)) : 0)",
}
"""What is another line for unsigned integers."""
_FLOAT = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "negative": "-{0}",
    "positive": "{0}",
    "absolute": "fabs{f}({0})",
    "fabs": "fabs{f}({0})",
    "sqrt": "sqrt{f}({0})",
    "square": "{0} * {0}",
    "reciprocal": "1 / {0}",
    "floor": "slinky_floor{f}({0})",
    "ceil": "slinky_ceil{f}({0})",
    "trunc": "slinky_trunc{f}({0})",
    "rint": "rint{f}({0})",
    "copysign": "copysign{f}({0}, {1})",
    "sign": "slinky_either{f}({0} != {0}, {0}, ({T})(slinky_less{f}(0, {0}) - slinky_less{f}({0}, 0)))",
    "heaviside": "slinky_either{f}({0} != {0}, {0}, slinky_either{f}({0} == 0, {1}, ({T})slinky_less{f}(0, {0})))",
    "maximum": "slinky_either{f}(slinky_less{f}({1}, {0}) | ({0} != {0}), {0}, {1})",
    "minimum": "slinky_either{f}(slinky_less{f}({0}, {1}) | ({0} != {0}), {0}, {1})",
    "isnan": "(uint8_t)({0} != {0})",
    "isfinite": "(uint8_t)slinky_less_equal{f}(fabs{f}({0}), {largest})",
    "isinf": "(uint8_t)(fabs{f}({0}) == INFINITY)",
}


def applied(ufunc: np.ufunc, operands: list[str], dtypes: tuple[np.dtype[Any], ...]) -> list[str]:
    """What a ufunc of operands of these dtypes gives."""
    name, result = ufunc.__name__, dtypes[-1]
    if getattr(np, name, None) is not ufunc and name != "clip":
        raise UnknownError
    kinds = {dtype.kind for dtype in dtypes[: ufunc.nin]}
    if name in _COMPARED and len(set(dtypes[: ufunc.nin])) == 1 and result.kind == "b":
        sign, quiet = _COMPARED[name]
        if quiet and kinds == {"f"}:
            return [f"(uint8_t){quiet.format(*operands, f=suffix_of(dtypes[0]))}"]
        return [f"(uint8_t)({f' {sign} '.join(operands)})"]
    if name in _ANY and result.kind == "b":
        truths = [
            text if dtype.kind == "b" else f"({text} != 0)" for text, dtype in zip(operands, dtypes, strict=False)
        ]
        return [_ANY[name].format(*truths)]
    if name in DIVIDED and kinds <= {"i", "u"} and set(dtypes) == {result} and result in C_TYPES:
        return divided(name, result, operands)
    if name == "divide" and kinds <= {"i", "u"} and result == np.dtype(np.float64):
        return ["(double){} / (double){}".format(*operands)]
    tables: dict[str, dict[str, str]] = {"b": _BOOL, "i": _INTEGER, "u": _INTEGER, "f": _FLOAT}
    (kind,) = kinds if len(kinds) == 1 else ("",)
    same = set(dtypes) == {result} or name in ("isnan", "isfinite", "isinf")
    form = tables.get(kind, {}).get(name)
    if form is None or not same or not all(each in C_TYPES for each in dtypes):
        raise UnknownError
    if kind == "u":
        form = _UNSIGNED.get(name, form)
    largest = float(np.finfo(dtypes[0]).max).hex() if kind == "f" else ""
    bits = 8 * result.itemsize  # a shift by more than these, or to the other side, leaves nothing but the sign
    words = {"T": type_of(result), "W": f"uint{max(bits, 32)}_t", "bits": bits}
    return [form.format(*operands, f=suffix_of(dtypes[0]), largest=largest, **words)]
