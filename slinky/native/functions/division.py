"""Dividing floats with remainder: `//`, `%` and `fmod`, to the last bit.

Idea. The remainder of a division that truncates is the dividend less the integer next to the quotient times the
divisor, which one multiply-add gives exactly, and once more the divisor if that is one too much. What NumPy makes of
the remainder is done as NumPy does it.

Invariant: NumPy's results, bit for bit, and its exceptions.
"""

from __future__ import annotations

from collections.abc import Iterator

from slinky.native.functions.texts import Function, once, with_words

_REMAINING = """\
#ifndef SLINKY_REMAINING_@F
#define SLINKY_REMAINING_@F
/* The integer next to a number less than 1 / epsilon. */
static inline @T slinky_nearest@f(@T a)
{
    return copysign@f((fabs@f(a) + @LARGEST) - @LARGEST, a);
}
/* The remainder of a division that truncates: less the integer next to the quotient, by one multiply-add, which is
   exact; and once more b if that is one too much. */
static inline @T slinky_remaining@f(@T a, @T b, @T quotient)
{
    const @T rest = fma@f(-slinky_nearest@f(quotient), b, a);
    const @T back = slinky_one_of@f(((rest < 0) != (a < 0)) & (rest != 0), copysign@f(b, a), 0);
    return copysign@f(rest + back, a);
}
/* Whether that holds; a quotient that may have been rounded to what is not normal, or 0, does not. */
static inline int slinky_is_plain@f(@T a, @T b, @T quotient)
{
    const int is_held = (fabs@f(quotient) < @LARGEST) & ((fabs@f(quotient) > @SMALLEST) | (a == 0));
    return is_held & (fabs@f(b) <= @MAX) & (b != 0);
}
#endif
"""

_DIVISION = """\
/* @NAME of @Ts, as NumPy computes it. */
static @T slinky_one_@NAME@f(@T a, @T b)
{
@ONE
}
SLINKY_STRIPS void slinky_strip_@NAME@f(intptr_t n, const @T *restrict x, const @T *restrict y,
                                        @T *restrict z)
{
    @I others = 0;
#if SLINKY_FMA
    slinky_flags state;
    SLINKY_KEEP(state);
    for (intptr_t i = 0; i < n; i++) {
        const @T a = x[i], b = y[i], quotient = a / b;
        const int is_plain = slinky_is_plain@f(a, b, quotient);
        others |= !is_plain;
        @T mod = slinky_remaining@f(a, b, quotient);
@MANY
    }
    SLINKY_RESTORE(state);
#else
    others = 1;
#endif
    if (others)
        for (intptr_t i = 0; i < n; i++)
            if (!SLINKY_FMA || z[i] != z[i])
                z[i] = slinky_one_@NAME@f(x[i], y[i]);
}
"""

_ONE = {
    "fmod": "    return fmod@f(a, b);",
    "remainder": """\
    @T mod = fmod@f(a, b);
    if (b == 0) return mod;
    if (mod != 0) return isless(b, 0) != isless(mod, 0) ? mod + b : mod;
    return copysign@f(0, b);""",
    "floor_divide": """\
    if (b == 0) return a / b;
    const @T mod = fmod@f(a, b);
    @T times = (a - mod) / b;
    if (mod != 0 && isless(b, 0) != isless(mod, 0)) times -= 1;
    if (times == 0) return copysign@f(0, a / b);
    const @T whole = floor@f(times);
    return isgreater(times - whole, (@T)0.5) ? whole + 1 : whole;""",
}
_MANY = {
    "fmod": "        z[i] = slinky_one_of@f(is_plain, mod, (@T)NAN);",
    "remainder": """\
        const @T moved = mod + slinky_one_of@f((b < 0) != (mod < 0), b, 0), zero = copysign@f(0, b);
        const @T found = slinky_one_of@f(mod != 0, moved, zero);
        z[i] = slinky_one_of@f(is_plain, found, (@T)NAN);""",
    "floor_divide": """\
        const @T times = (a - mod) / b - slinky_one_of@f((mod != 0) & ((b < 0) != (mod < 0)), 1, 0);
        const @T close = slinky_nearest@f(times), whole = close - slinky_one_of@f(close > times, 1, 0);
        const @T near = whole + slinky_one_of@f(times - whole > (@T)0.5, 1, 0);
        const @T zero = copysign@f(0, quotient);
        const @T found = slinky_one_of@f(times != 0, near, zero);
        z[i] = slinky_one_of@f(is_plain, found, (@T)NAN);""",
}


def functions() -> Iterator[tuple[tuple[str, str], Function]]:
    """By name of the ufunc, and dtype."""
    for dtype, suffix in (("f", "f"), ("d", "")):
        for name in _ONE:
            own = f"slinky_strip_{name}{suffix}"
            text = with_words(_DIVISION, dtype, NAME=name, ONE=_ONE[name], MANY=_MANY[name])
            yield (name, dtype), Function(own, with_words(_REMAINING, dtype) + once(own, text), is_exact=True)
