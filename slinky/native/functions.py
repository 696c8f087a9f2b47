"""Functions of NumPy in C that take many elements at once.

Idea. Each is a loop without branches, which compilers turn into vector instructions, over a strip of elements. Of
elements for which its method does not hold (huge angles, quotients beyond what an integer holds, results out of range)
there are few or none: the loop makes them NaN and notes that there is one, and a second loop computes what is NaN by
the C library, or as NumPy does.

The first loop computes with numbers that do not matter, too, so what it does to the exceptions of floating point
arithmetic is undone; those that NumPy tells of are raised after it.

Methods. Angles and exponents are reduced by a constant in parts, with fused multiply-adds, which are exact where the
leading parts cancel (Cody and Waite, Software Manual for the Elementary Functions, 1980; Muller, Elementary Functions,
2016, chapter 11); what remains goes into polynomials that are nearly minimax, found by the exchange algorithm of Remez
with 300 bits. The logarithm is the series of the area tangent, of s = (m - 1) / (m + 1).

Invariant: results are as far from NumPy's as `docs/native.md` says, most of them equal; NaN for NaN, zeros with their
signs. Without fused multiply-adds in hardware, or for another compiler than those known, the second loop does all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs
import numpy as np

from slinky.ir.formulas import Apply, Step


@attrs.frozen
class Function:
    """A C function: its name, and its text. It takes how many elements there are, what it reads, what it writes.

    Some are faster than NumPy's own by themselves, others only because what they read and write stays in the cache.
    `is_exact` says that all bits are NumPy's.
    """

    name: str
    text: str
    is_faster_alone: bool = True
    is_exact: bool = False


BEGIN = """\
#include <string.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif
#if defined(SLINKY_FAST) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize ("no-associative-math", "no-reciprocal-math", "signed-zeros", "trapping-math", "fp-contract=off")
#endif
"""
"""Before functions, whose order of operations is what makes them right, also where that of others does not matter."""
END = """\
#if defined(SLINKY_FAST) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
"""
COMMON = """\
#ifndef SLINKY_COMMON
#define SLINKY_COMMON
#if defined(__SSE2__)
typedef unsigned int slinky_flags;
#define SLINKY_KEEP(state) do { __asm__ volatile("" ::: "memory"); state = _mm_getcsr(); } while (0)
#define SLINKY_RESTORE(state) do { __asm__ volatile("" ::: "memory"); _mm_setcsr(state); } while (0)
#else
typedef fexcept_t slinky_flags;
#define SLINKY_KEEP(state) do { __asm__ volatile("" ::: "memory"); fegetexceptflag(&state, FE_ALL_EXCEPT); } while (0)
#define SLINKY_RESTORE(state) \\
    do { __asm__ volatile("" ::: "memory"); fesetexceptflag(&state, FE_ALL_EXCEPT); } while (0)
#endif
#if defined(__FMA__) || defined(__aarch64__) || defined(FP_FAST_FMA)
#define SLINKY_FMA 1
#else
#define SLINKY_FMA 0
#endif
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#define SLINKY_STRIPS static __attribute__((noinline, target("prefer-vector-width=512")))
#else
#define SLINKY_STRIPS static __attribute__((noinline))
#endif
static inline double slinky_double(int64_t bits) { double x; memcpy(&x, &bits, 8); return x; }
static inline int64_t slinky_bits(double x) { int64_t bits; memcpy(&bits, &x, 8); return bits; }
#endif
"""

# ----------------------------------------------------------------------------------------------------------------
# Dividing with remainder
# ----------------------------------------------------------------------------------------------------------------

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
    const @T back = ((rest < 0) != (a < 0)) & (rest != 0) ? copysign@f(b, a) : 0;
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
    "fmod": "        z[i] = is_plain ? mod : NAN;",
    "remainder": """\
        const @T moved = mod + ((b < 0) != (mod < 0) ? b : 0), zero = copysign@f(0, b);
        const @T found = mod != 0 ? moved : zero;
        z[i] = is_plain ? found : NAN;""",
    "floor_divide": """\
        const @T times = (a - mod) / b - ((mod != 0) & ((b < 0) != (mod < 0)) ? (@T)1 : (@T)0);
        const @T close = slinky_nearest@f(times), whole = close - (close > times ? (@T)1 : (@T)0);
        const @T near = whole + (times - whole > (@T)0.5 ? (@T)1 : (@T)0);
        const @T zero = copysign@f(0, quotient);
        const @T found = times != 0 ? near : zero;
        z[i] = is_plain ? found : NAN;""",
}

# ----------------------------------------------------------------------------------------------------------------
# Sine and cosine
# ----------------------------------------------------------------------------------------------------------------

_ANGLES = """\
#if SLINKY_FMA
#ifndef SLINKY_ANGLE
#define SLINKY_ANGLE
/* An angle less multiples of pi / 2, to twice the precision, and how many these are. Exact but for the last step, as
   the first product cancels all of the angle but a multiple of 2^-53 less than 2. */
static inline double slinky_angle(double x, double *low, int64_t *turns)
{
    const double shifted = fma(x, 0x1.45f306dc9c883p-1, 0x1.8p52);
    const double k = shifted - 0x1.8p52;
    *turns = slinky_bits(shifted);
    const double first = fma(-k, 0x1.921fb54442d18p+0, x);
    const double product = k * 0x1.1a62633145c07p-54, error = fma(k, 0x1.1a62633145c07p-54, -product);
    const double high = first - product;
    const double taken = high - first;
    const double lost = (first - (high - taken)) - (product + taken);
    *low = lost - fma(k, -0x1.f1976b7ed8fbcp-110, error);
    return high;
}
static inline double slinky_sine_part(double r, double low)
{
    const double z = r * r;
    double s = fma(z, 0x1.5d93181e06650p-33, -0x1.ae5e668810a63p-26);
    s = fma(z, s, 0x1.71de357817043p-19);
    s = fma(z, s, -0x1.a01a019c1206ap-13);
    s = fma(z, s, 0x1.111111110f87ep-7);
    s = fma(z, s, -0x1.5555555555549p-3);
    return r + fma(z * r, s, fma(z * low, -0.5, low));
}
static inline double slinky_cosine_part(double r, double low)
{
    const double z = r * r;
    double c = fma(z, -0x1.8faeb4cf4bf9ep-37, 0x1.1ee9ec16ab079p-29);
    c = fma(z, c, -0x1.27e4f80a31467p-22);
    c = fma(z, c, 0x1.a01a019cb2140p-16);
    c = fma(z, c, -0x1.6c16c16c15181p-10);
    c = fma(z, c, 0x1.555555555554cp-5);
    const double half = 0.5 * z, w = 1 - half;
    return w + (((1 - w) - half) + fma(z * z, c, -r * low));
}
#endif
#endif
"""

_TURNING = """\
SLINKY_STRIPS void slinky_strip_@NAME(intptr_t n, const double *restrict x, double *restrict y)
{
    int64_t others = 0;
#if SLINKY_FMA
    slinky_flags state;
    SLINKY_KEEP(state);
    for (intptr_t i = 0; i < n; i++) {
        double low;
        int64_t turns;
        const int64_t is_plain = (fabs(x[i]) <= 0x1p30) & (fabs(x[i]) >= 0x1p-100);
        others |= !is_plain;
        const double r = slinky_angle(x[i], &low, &turns);
        turns += @SHIFT;
        const double sine = slinky_sine_part(r, low), cosine = slinky_cosine_part(r, low);
        const int64_t found = slinky_bits((turns & 1) ? cosine : sine);
        y[i] = is_plain ? slinky_double(found ^ (int64_t)(((uint64_t)turns & 2) << 62)) : NAN;
    }
    SLINKY_RESTORE(state);
#else
    others = 1;
#endif
    if (others)
        for (intptr_t i = 0; i < n; i++)
            if (!SLINKY_FMA || y[i] != y[i])
                y[i] = @NAME(x[i]);
}
"""

# ----------------------------------------------------------------------------------------------------------------
# Exponentials and logarithms
# ----------------------------------------------------------------------------------------------------------------

_EXP = """\
SLINKY_STRIPS void slinky_strip_exp(intptr_t n, const double *restrict x, double *restrict y)
{
    int64_t others = 0;
#if SLINKY_FMA
    slinky_flags state;
    SLINKY_KEEP(state);
    for (intptr_t i = 0; i < n; i++) {
        const int is_plain = fabs(x[i]) <= 708;
        others |= !is_plain;
        const double shifted = fma(x[i], 0x1.71547652b82fep+0, 0x1.8p52), k = shifted - 0x1.8p52;
        const double first = fma(-k, 0x1.62e42fefa39efp-1, x[i]), r = fma(-k, 0x1.abc9e3b39803fp-56, first);
        const double low = fma(-k, 0x1.abc9e3b39803fp-56, first - r);
        double p = fma(r, 0x1.1f9e068209749p-29, 0x1.af6ccc24231fap-26);
        p = fma(r, p, 0x1.27e4bf1dc1c6bp-22);
        p = fma(r, p, 0x1.71ddef943c0d4p-19);
        p = fma(r, p, 0x1.a01a01b460990p-16);
        p = fma(r, p, 0x1.a01a01b3baf18p-13);
        p = fma(r, p, 0x1.6c16c16c1355cp-10);
        p = fma(r, p, 0x1.111111110ebb3p-7);
        p = fma(r, p, 0x1.555555555555ep-5);
        p = fma(r, p, 0x1.555555555555cp-3);
        p = fma(r, p, 0.5);
        const double power = 1 + (r + fma(r * r, p, low));
        const double found = slinky_double(slinky_bits(power) + (int64_t)((uint64_t)slinky_bits(shifted) << 52));
        y[i] = is_plain ? found : NAN;
    }
    SLINKY_RESTORE(state);
#else
    others = 1;
#endif
    if (others)
        for (intptr_t i = 0; i < n; i++)
            if (!SLINKY_FMA || y[i] != y[i])
                y[i] = exp(x[i]);
}
"""

_LOG = """\
SLINKY_STRIPS void slinky_strip_log(intptr_t n, const double *restrict x, double *restrict y)
{
    int64_t others = 0;
#if SLINKY_FMA
    slinky_flags state;
    SLINKY_KEEP(state);
    for (intptr_t i = 0; i < n; i++) {
        const int is_plain = (x[i] >= 0x1p-1022) & (x[i] <= 0x1.fffffffffffffp+1023);
        others |= !is_plain;
        const int64_t bits = slinky_bits(x[i]) - 0x3fe6a09e667f3bcdLL;
        const int64_t exponent = (int64_t)((uint64_t)(bits + (1024LL << 52)) >> 52);
        const double k = slinky_double(0x4338000000000000LL + exponent) - 0x1.8p52 - 1024;
        const double f = slinky_double((bits & 0xfffffffffffffLL) + 0x3fe6a09e667f3bcdLL) - 1;
        const double s = f / (2 + f), z = s * s;
        double p = fma(z, 0x1.2f063acc2ae67p-3, 0x1.39a1a6690794ap-3);
        p = fma(z, p, 0x1.74663fa7556f0p-3);
        p = fma(z, p, 0x1.c71c5205ec95ap-3);
        p = fma(z, p, 0x1.24924941f5294p-2);
        p = fma(z, p, 0x1.999999997fd72p-2);
        p = fma(z, p, 0x1.5555555555592p-1);
        const double half = 0.5 * f * f, error = fma(0.5 * f, f, -half);
        const double tail = fma(s, fma(z, p, half), fma(k, 0x1.ef35793c76730p-45, -error));
        const double high = k * 0x1.62e42fefa3800p-1;
        const double first = f - half, lost = (f - first) - half;
        const double sum = high + first, other = (fabs(high) > fabs(first) ? (high - sum) + first : first);
        const double rest = lost + tail, found = k == 0 ? first + rest : sum + (other + rest);
        y[i] = is_plain ? found : NAN;
    }
    SLINKY_RESTORE(state);
#else
    others = 1;
#endif
    if (others)
        for (intptr_t i = 0; i < n; i++)
            if (!SLINKY_FMA || y[i] != y[i])
                y[i] = log(x[i]);
}
"""

_HYPOT = """\
SLINKY_STRIPS void slinky_strip_hypot(intptr_t n, const double *restrict x, const double *restrict y,
                                      double *restrict z)
{
    int64_t others = 0;
#if SLINKY_FMA
    slinky_flags state;
    SLINKY_KEEP(state);
    for (intptr_t i = 0; i < n; i++) {
        const double u = fabs(x[i]), v = fabs(y[i]), a = u > v ? u : v, b = u > v ? v : u;
        const int is_plain = (a <= 0x1p500) & (b >= 0x1p-400);
        others |= !is_plain;
        const double square = a * a, more = b * b, sum = square + more;
        const double rest = ((square - sum) + more) + (fma(a, a, -square) + fma(b, b, -more));
        const double root = sqrt(sum);
        const double found = root + (fma(-root, root, sum) + rest) / (2 * root);
        z[i] = is_plain ? found : NAN;
    }
    SLINKY_RESTORE(state);
#else
    others = 1;
#endif
    if (others)
        for (intptr_t i = 0; i < n; i++)
            if (!SLINKY_FMA || z[i] != z[i])
                z[i] = hypot(x[i], y[i]);
}
"""


def _of_precision(text: str, dtype: str, **given: str) -> str:
    single = dtype == "f"
    words = {
        "T": "float" if single else "double",
        "I": "int32_t" if single else "int64_t",
        "f": "f" if single else "",
        "F": "SINGLE" if single else "DOUBLE",
        "LARGEST": "0x1p23f" if single else "0x1p52",
        "SMALLEST": "0x1p-120f" if single else "0x1p-1000",
        "MAX": "0x1.fffffep+127f" if single else "0x1.fffffffffffffp+1023",
    }
    for name in sorted(given, key=len, reverse=True):
        text = text.replace(f"@{name}", given[name])
    for name in sorted(words, key=len, reverse=True):
        text = text.replace(f"@{name}", words[name])
    return text


def _functions() -> Iterator[tuple[tuple[str, str], Function]]:
    for dtype, suffix in (("f", "f"), ("d", "")):
        for name in ("fmod", "remainder", "floor_divide"):
            given = {"NAME": name, "ONE": _ONE[name], "MANY": _MANY[name]}
            yield (
                (name, dtype),
                Function(
                    f"slinky_strip_{name}{suffix}", _of_precision(_REMAINING + _DIVISION, dtype, **given), is_exact=True
                ),
            )
    for name, shift in (("sin", "0"), ("cos", "1")):
        given = {"NAME": name, "SHIFT": shift}
        yield (name, "d"), Function(f"slinky_strip_{name}", _of_precision(_ANGLES + _TURNING, "d", **given))
    for name, text in (("exp", _EXP), ("log", _LOG), ("hypot", _HYPOT)):
        yield (name, "d"), Function(f"slinky_strip_{name}", text, is_faster_alone=name == "hypot")


def _once(function: Function) -> Function:
    guard = f"{function.name.upper()}_IS_THERE"
    return attrs.evolve(function, text=f"#ifndef {guard}\n#define {guard}\n{function.text}#endif\n")


FUNCTIONS = {key: _once(function) for key, function in _functions()}
"""By name of the ufunc, and the character of the dtype that it takes and gives."""


def function_of_step(step: Step) -> Function | None:
    """The C function of a step, if it has one."""
    if not isinstance(step, Apply) or len(set(step.dtypes)) != 1 or not step.dtypes[0].isnative:
        return None
    name = step.ufunc.__name__
    return FUNCTIONS.get((name, step.dtypes[0].char)) if getattr(np, name, None) is step.ufunc else None


def texts_of(functions: Iterable[Function]) -> list[str]:
    """The texts of functions, each once, and what they have in common before them."""
    found = list(dict.fromkeys(each.text for each in functions))
    return [BEGIN + COMMON, *found, END] if found else found
