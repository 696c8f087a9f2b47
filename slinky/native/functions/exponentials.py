"""Exponentials: `exp`, `exp2`, `expm1`, and the hyperbolic functions that are made of them.

Methods. An exponent is reduced by multiples of log(2), a constant in parts, as angles are (Cody and Waite, 1980): the
power of two is put into the bits of the result. What remains goes into a polynomial that is nearly minimax (Remez, 300
bits), and is added to 1 such that what rounding takes is added again; less 1, likewise, to the power of two less 1. In
the hyperbolic functions, sums of powers of two are the factors of the even and the odd part of the exponential of what
remains, which are the hyperbolic functions of that (Muller, Elementary Functions, 2016, chapter 11). For float32,
polynomials are shorter, and nothing is kept of what rounding takes.

Invariant: where the result would leave the normal numbers, the C library says what it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from slinky.native.functions.texts import Core, Edge, Function, once, polynomial

_SERIES = polynomial(
    "r",
    *("0x1.1f9e068209749p-28", "0x1.af6ccc24231fap-25", "0x1.27e4bf1dc1c6bp-21", "0x1.71ddef943c0d4p-18"),
    *("0x1.a01a01b460990p-15", "0x1.a01a01b3baf18p-12", "0x1.6c16c16c1355cp-9", "0x1.111111110ebb3p-6"),
    *("0x1.555555555555ep-4", "0x1.555555555555cp-2"),
)
_ODD = polynomial(
    "z",
    *("0x1.af5ff1d91fe6ep-26", "0x1.71ddf7b048e9ep-19", "0x1.a01a01b02041bp-13"),
    *("0x1.111111110f62ap-7", "0x1.5555555555559p-3"),
)
_EVEN = polynomial(
    "z",
    *("0x1.1f7f428e6a483p-29", "0x1.27e4d49ae488ep-22", "0x1.a01a01a9534fap-16"),
    *("0x1.6c16c16c15dc4p-10", "0x1.5555555555556p-5"),
)

EXPONENT = once(
    "slinky_exponent",
    f"""\
/* An exponent less multiples of log(2), to twice the precision; how many stands in the last bits of `shifted`. */
static inline double slinky_exponent(double x, double *low, double *shifted)
{{
    *shifted = fma(x, 0x1.71547652b82fep+0, 0x1.8p52);
    const double k = *shifted - 0x1.8p52;
    const double first = fma(-k, 0x1.62e42fefa39efp-1, x), r = fma(-k, 0x1.abc9e3b39803fp-56, first);
    *low = fma(-k, 0x1.abc9e3b39803fp-56, first - r);
    return r;
}}
/* The exponential less 1 + r + r * r / 2, over r * r * r / 2; and less 1 + r. */
static inline double slinky_exp_third(double r)
{{
    return {_SERIES};
}}
static inline double slinky_exp_rest(double r, double low)
{{
    return fma(r * r, fma(0.5 * r, slinky_exp_third(r), 0.5), low);
}}
static inline double slinky_exp_of(double r, double low, double shifted)
{{
    const double sum = 1 + r, lost = (1 - sum) + r, power = sum + (lost + slinky_exp_rest(r, low));
    return slinky_double(slinky_bits(power) + (int64_t)((uint64_t)slinky_bits(shifted) << 52));
}}
static inline double slinky_exp(double a)
{{
    double low, shifted;
    const double r = slinky_exponent(a, &low, &shifted);
    return slinky_exp_of(r, low, shifted);
}}
""",
)

_EXP2 = """\
static inline double slinky_exp2(double a)
{
    const double shifted = a + 0x1.8p52, left = a - (shifted - 0x1.8p52), r = left * 0x1.62e42fefa39efp-1;
    const double low = fma(left, 0x1.abc9e3b39803fp-56, fma(left, 0x1.62e42fefa39efp-1, -r));
    return slinky_exp_of(r, low, shifted);
}
"""

_EXPM1 = """\
/* Below -60 it is -1. */
static inline double slinky_expm1(double a)
{
    double low, shifted;
    const double r = slinky_exponent(slinky_one_of(a < -60, -60, a), &low, &shifted);
    const double power = slinky_power_of_two(shifted, 0), less = power - 1, step = power * r, sum = less + step;
    const double half = 0.5 * r * r, error = fma(0.5 * r, r, -half), second = power * half, more = sum + second;
    const double lost = ((power - less) - 1) + ((less - sum) + step) + ((sum - more) + second);
    const double rest = fma(half * r, slinky_exp_third(r), error + low);
    return copysign(more + fma(power, rest, lost), a);
}
"""

_HYPERBOLIC = once(
    "slinky_hyperbolic",
    f"""\
/* Parts of hyperbolic functions: of what remains of an exponent, the hyperbolic sine less r and the hyperbolic cosine
   less 1; and half the sum and half the difference of the powers of two, and what rounding took from both. */
typedef struct {{ double r, odd, even, sum, difference, sum_lost, difference_lost; }} slinky_hyperbolic;
static inline slinky_hyperbolic slinky_hyperbolic_parts(double a)
{{
    slinky_hyperbolic found;
    double low, shifted;
    const double r = slinky_exponent(a, &low, &shifted), z = r * r;
    const double up = slinky_power_of_two(shifted, -1), down = 0.25 / up;
    found.r = r;
    found.odd = fma(r * z, {_ODD}, low);
    found.even = fma(z * z, {_EVEN}, fma(r, low, 0.5 * z));
    found.sum = up + down;
    found.difference = up - down;
    found.sum_lost = (up - found.sum) + down;
    found.difference_lost = (up - found.difference) - down;
    return found;
}}
""",
)

_COSH = """\
static inline double slinky_cosh(double a)
{
    const slinky_hyperbolic h = slinky_hyperbolic_parts(fabs(a));
    const double step = h.difference * h.r, whole = h.sum + step;
    const double lost = ((h.sum - whole) + step)
        + (fma(h.difference_lost, h.r, h.sum_lost) + fma(h.difference, h.r, -step));
    return whole + (lost + fma(h.sum, h.even, h.difference * h.odd));
}
"""

_TANH = """\
/* The quotient of the hyperbolic sine and the cosine, corrected by the remainder; from 22 on it is 1. */
static inline double slinky_tanh(double a)
{
    const slinky_hyperbolic h = slinky_hyperbolic_parts(slinky_one_of(fabs(a) > 22, 22, fabs(a)));
    const double rise = h.sum * h.r, sine = h.difference + rise;
    const double sine_lost = ((h.difference - sine) + rise) + fma(h.sum, h.r, -rise);
    const double sine_more = fma(h.difference, h.even, h.sum * h.odd);
    const double sine_low = sine_lost + (sine_more + fma(h.sum_lost, h.r, h.difference_lost));
    const double step = h.difference * h.r, cosine = h.sum + step;
    const double cosine_lost = ((h.sum - cosine) + step)
        + (fma(h.difference_lost, h.r, h.sum_lost) + fma(h.difference, h.r, -step));
    const double rest = cosine_lost + fma(h.sum, h.even, h.difference * h.odd);
    const double bottom = cosine + rest, bottom_low = (cosine - bottom) + rest;
    const double top = sine + sine_low, top_low = (sine - top) + sine_low;
    const double once = 1 / bottom, q = top * once;
    const double left = fma(-q, bottom_low, fma(-q, bottom, top) + top_low);
    return copysign(fma(left, once, q), a);
}
"""

_SHORT = polynomial(
    "r",
    *("0x1.a12515da60daep-13", "0x1.6d434d32cc595p-10", "0x1.1110e0e528fc9p-7"),
    *("0x1.5554e8e8cf598p-5", "0x1.5555555a7b04dp-3", "0x1.0000000b95df5p-1"),
)
OF_SINGLE = once(
    "slinky_expm1_of_single",
    f"""\
/* The exponential less a power of two, as precise as float32 wants it, and that power. */
static inline double slinky_short_exponential(double x, double *power)
{{
    const double shifted = fma(x, 0x1.71547652b82fep+0, 0x1.8p52);
    const double r = fma(-0x1.62e42fefa39efp-1, shifted - 0x1.8p52, x);
    *power = slinky_power_of_two(shifted, 0);
    return *power * fma(r * r, {_SHORT}, r);
}}
static inline double slinky_exp_of_single(double a)
{{
    double power;
    const double more = slinky_short_exponential(a, &power);
    return power + more;
}}
static inline double slinky_expm1_of_single(double a)
{{
    double power;
    const double more = slinky_short_exponential(slinky_one_of(a < -60, -60, a), &power);
    return copysign((power - 1) + more, a);
}}
static inline double slinky_tanh_of_single(double a)
{{
    const double found = slinky_expm1_of_single(2 * slinky_one_of(fabs(a) > 10, 10, fabs(a)));
    return copysign(found / (found + 2), a);
}}
""",
)


def _nothing(most: int) -> tuple[Edge, ...]:
    """Where an exponential is 0: masks, and whatever is far away, have many of these."""
    return (
        Edge(f"(a < {most}) & (a >= -0x1.fffffffffffffp+1023)", "0", "FE_UNDERFLOW"),
        Edge("a < -0x1.fffffffffffffp+1023", "0"),
    )


def functions() -> Iterator[tuple[tuple[str, str], Function]]:
    """By name of the ufunc, and dtype. NumPy has vectors of its own of some."""
    cores = [
        (Core("exp", (EXPONENT,), "fabs(a) <= 708", edges=_nothing(-746)), "d"),
        (Core("exp2", (EXPONENT, once("slinky_exp2", _EXP2)), "fabs(a) <= 1021", edges=_nothing(-1076)), "df"),
        (Core("expm1", (EXPONENT, once("slinky_expm1", _EXPM1)), "a <= 708"), "d"),
        (Core("cosh", (EXPONENT, _HYPERBOLIC, once("slinky_cosh", _COSH)), "fabs(a) <= 708"), "d"),
        (Core("tanh", (EXPONENT, _HYPERBOLIC, once("slinky_tanh", _TANH)), "a == a"), "d"),
    ]
    for core, dtypes in cores:
        for dtype in dtypes:
            yield (core.name, dtype), core.function(dtype)
    single = Core("expm1", (OF_SINGLE,), "a <= 700", core="expm1_of_single")
    yield ("expm1", "f"), single.function("f")
    single = Core("tanh", (OF_SINGLE,), "a == a", core="tanh_of_single")
    yield ("tanh", "f"), single.function("f", is_faster_alone=False)
