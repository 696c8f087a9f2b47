"""Integers in C that are divided, and floats that become integers: what NumPy gives where C says nothing.

Idea. C leaves open what a division by 0 gives, what the least integer over -1 gives, and what a float beyond an integer
becomes. NumPy gives a number and tells of an exception. So the operand that would be wrong is replaced first, and the
number and the exception are chosen after that; there are no branches, so that compilers make vector instructions of it,
for which integers of up to 32 bits are divided as floats that hold their quotients exactly enough: the quotient of two
integers that is no integer is farther from one than its rounding error.

Invariant: what is noted in `raised` is what NumPy tells of.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Any

import numpy as np

from slinky.native.comparing import comparisons_of

DIVIDED = ("floor_divide", "remainder", "fmod", "divmod")
"""The ufuncs of integers that are here."""
RAISED = "raised"
"""The variable in which kernels note exceptions that their arithmetic does not raise by itself."""

_DIVISION = """\
#ifndef SLINKY_DIVIDED_@N
#define SLINKY_DIVIDED_@N
/* The quotient of a division that truncates, for b other than 0; and what is taken for b. */
static inline @T slinky_quotient_@N(@T a, @T b, @T *by)
{
    *by = (b == 0) | @OVER ? 1 : b;
    if (__builtin_constant_p(*by)) return (@T)(a / *by);
    return (@T)((@W)a / (@W)*by);
}
static inline @T slinky_floor_divide_@N(@T a, @T b, int *raised)
{
    @T by;
    const @T quotient = slinky_quotient_@N(a, b, &by), rest = (@T)(a - quotient * by);
    *raised |= (b == 0 ? FE_DIVBYZERO : 0) | (@OVER ? FE_OVERFLOW : 0);
    return b == 0 ? 0 : (@T)(quotient - ((rest != 0) & @UNLIKE));
}
static inline @T slinky_fmod_@N(@T a, @T b, int *raised)
{
    @T by;
    const @T quotient = slinky_quotient_@N(a, b, &by);
    *raised |= b == 0 ? FE_DIVBYZERO : 0;
    return (@T)(a - quotient * by);
}
static inline @T slinky_remainder_@N(@T a, @T b, int *raised)
{
    const @T rest = slinky_fmod_@N(a, b, raised);
    return (@T)(rest + (((rest != 0) & @UNLIKE) ? b : 0));
}
#endif
"""

_CONVERSION = """\
#ifndef SLINKY_@N_OF_@F
#define SLINKY_@N_OF_@F
/* A float without its fraction as an integer; the least one, and an exception, if there is no such integer. */
static inline @N_t slinky_@N_of_@F(@F x, int *raised)
{
    const int is_held = slinky_less@S(@BELOW, x) & slinky_less@S(x, @ABOVE);
    const @N_t held = (@N_t)slinky_either@S(is_held, x, 0);
    *raised |= is_held ? 0 : FE_INVALID;
    return is_held ? held : @LEAST;
}
/* The same of one within the bounds of such integers, or NaN. */
static inline @N_t slinky_@N_of_limited_@F(@F x, int *raised)
{
    const @N_t held = (@N_t)slinky_zero_for_nan@S(x);
    *raised |= x == x ? 0 : FE_INVALID;
    return x == x ? held : @LEAST;
}
/* The same of the nearest number within such bounds, none of which is NaN; of NaN, the lower one: to ask which of two
   is larger raises the exception. What is converted is a variable: of a choice, GCC converts what it is not, too. */
static inline @N_t slinky_@N_of_clipped_@F(@F x, @F low, @F high)
{
    @F held = x > low ? x : low;
    held = held < high ? held : high;
    return (@N_t)held;
}
#endif
"""


def divided(name: str, dtype: np.dtype[Any], operands: list[str]) -> list[str]:
    """The values of a ufunc of integers of a dtype that divides."""
    names = ("floor_divide", "remainder") if name == "divmod" else (name,)
    return [f"slinky_{each}_{dtype.name}({', '.join(operands)}, &{RAISED})" for each in names]


def is_converted(own: np.dtype[Any], to: np.dtype[Any]) -> bool:
    """Whether it is known what NumPy makes of a float that is no integer of a dtype: on this processor, not the same
    everywhere; nor is it for unsigned integers of 32 and 64 bits, of which NumPy's loops disagree."""
    return platform.machine() in ("x86_64", "AMD64") and (to.kind == "i" or (to.kind == "u" and to.itemsize <= 2))


def converted(text: str, own: np.dtype[Any], to: np.dtype[Any], c_type: str, *, is_limited: bool) -> str:
    """A float as an integer, by way of one of 32 bits if it has no more; or one that is limited to such, or NaN."""
    way = "int64" if to.itemsize == 8 else "int32"
    function = f"slinky_{way}_of_{'limited_' if is_limited else ''}{_float(own)}"
    return f"({c_type}){function}({text}, &{RAISED})"


def clipped(text: str, own: np.dtype[Any], to: np.dtype[Any], bounds: Sequence[str]) -> str:
    """A float within bounds as an integer of up to 16 bits, of which NumPy makes 0 of NaN, as of the lower bound.

    The comparisons raise the exception that NaN is for conversions. Bounds are variables: of constants, GCC converts
    what is not clipped yet, and raises exceptions that there are not.
    """
    return f"({to.name}_t)slinky_int32_of_clipped_{_float(own)}({', '.join([text, *bounds])})"


def texts_in(body: str) -> list[str]:
    """The texts of functions of this page that lines call."""
    found = []
    for bits in (8, 16, 32, 64):
        for sign in ("", "u"):
            number = f"{sign}int{bits}"
            if any(f"slinky_{name}_{number}(" in body for name in DIVIDED):
                found.append(_division(number, bits, is_signed=not sign))
    for way in (32, 64):
        for own in ("float", "double"):
            if any(f"slinky_int{way}_of_{way_of}{own}(" in body for way_of in ("", "limited_", "clipped_")):
                found.append(_conversion(way, own))
    return found


def _division(number: str, bits: int, *, is_signed: bool) -> str:
    words = {
        "OVER": f"((a == INT{bits}_MIN) & (b == -1))" if is_signed else "0",
        "UNLIKE": "((rest < 0) != (b < 0))" if is_signed else "0",
        "N": number,
        "T": f"{number}_t",
        "W": {8: "float", 16: "float", 32: "double"}.get(bits, f"{number}_t"),
    }
    return with_words(_DIVISION, words)


def _conversion(bits: int, own: str) -> str:
    is_exact = bits == 32 and own == "double"  # there are numbers between the least integer and the one below it
    least = float(-(2 ** (bits - 1)))
    dtype = np.float32 if own == "float" else np.float64
    below = least - 1 if is_exact else float(np.nextafter(dtype(least), dtype(-np.inf)))
    suffix = "f" if own == "float" else ""
    words = {
        "BELOW": below.hex() + suffix,
        "ABOVE": (-least).hex() + suffix,
        "LEAST": f"INT{bits}_MIN",
        "N": f"int{bits}",
        "F": own,
        "S": suffix,
    }
    return comparisons_of(suffix) + with_words(_CONVERSION, words)


def with_words(text: str, words: dict[str, str]) -> str:
    """A text in which words stand for what begins with @."""
    for name in sorted(words, key=len, reverse=True):
        text = text.replace(f"@{name}", words[name])
    return text


def _float(dtype: np.dtype[Any]) -> str:
    return "float" if dtype.itemsize == 4 else "double"
