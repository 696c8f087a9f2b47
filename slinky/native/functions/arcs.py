"""Arc sine, arc cosine and arc tangent.

Methods. The arc sine of up to 1/2 is its series, a polynomial in the square; of more, it is pi / 2 less twice the arc
sine of the root of (1 - x) / 2, and the arc cosine likewise, with the root and the constants to twice the precision.
The arc tangent of a quotient is that of its inverse, or of the quotient turned by pi / 4, such that at most tan(pi / 8)
remains for its series (Muller, Elementary Functions, 2016, chapter 11; Abramowitz and Stegun, 4.4). The division is
corrected by its remainder. The polynomials are nearly minimax, found by the exchange algorithm of Remez with 300 bits.

Invariant: zeros keep their signs, and so do results.
"""

from __future__ import annotations

from collections.abc import Iterator

from slinky.native.functions.texts import Core, Edge, Function, once, polynomial

_SERIES = polynomial(
    "z",
    *("0x1.0bd1b99f81921p-5", "-0x1.59c0528462809p-6", "0x1.64df64f14846dp-6", "0x1.e1c1a310b1d91p-9"),
    *("0x1.6184aafd0d984p-7", "0x1.757882f09ec2ap-7", "0x1.ca2129e0a9b77p-7", "0x1.1c49def62febfp-6"),
    *("0x1.6e8bdfdb06476p-6", "0x1.f1c71a8bf2daap-6", "0x1.6db6db722ab56p-5", "0x1.333333332df1fp-4"),
    "0x1.5555555555578p-3",
)
_TURNED = polynomial(
    "z",
    *("0x1.e8186825b6bb5p-7", "-0x1.0fc734be68addp-5", "0x1.6fde8b28f39e4p-5", "-0x1.ab3a5989490c3p-5"),
    *("0x1.e1677c841f68dp-5", "-0x1.110be866e14e7p-4", "0x1.3b1364bf80f09p-4", "-0x1.745d144e68b2cp-4"),
    *("0x1.c71c71b44e1fbp-4", "-0x1.249249246f496p-3", "0x1.9999999999583p-3", "-0x1.5555555555554p-2"),
)

_ARC = once(
    "slinky_arc",
    f"""\
/* The arc sine of a number, or, if it is more than 1/2, of the root of (1 - a) / 2; of what is to be added to the one
   number or the root, the sum of small parts. */
static inline double slinky_arc(double size, double *rest)
{{
    const int is_large = size > 0.5;
    const double z = slinky_one_of(is_large, 0.5 - 0.5 * size, size * size), root = sqrt(z);
    const double high = slinky_one_of(is_large, root, size);
    const double low = slinky_one_of(is_large, fma(-root, root, z) / (2 * root + 0x1p-200), 0);
    *rest = fma(high * z, {_SERIES}, low);
    return high;
}}
""",
)

_ARCSIN = """\
static inline double slinky_arcsin(double a)
{
    double rest;
    const double size = fabs(a), high = slinky_arc(size, &rest);
    const double first = 0x1.921fb54442d18p+0 - 2 * high, lost = (0x1.921fb54442d18p+0 - first) - 2 * high;
    const double large = first + (lost + fma(-2, rest, 0x1.1a62633145c07p-54));
    return copysign(slinky_one_of(size > 0.5, large, high + rest), a);
}
"""

_ARCCOS = """\
/* A constant and twice the arc of the root, or pi / 2 and the arc of the number itself. */
static inline double slinky_arccos(double a)
{
    double rest;
    const double size = fabs(a), high = slinky_arc(size, &rest);
    const int is_large = size > 0.5, is_negative = a < 0;
    const double constant = slinky_one_of(is_large, slinky_one_of(is_negative, 2, 0), 1);
    const double more = slinky_one_of(is_large, 2, 1), way = slinky_one_of(is_large != is_negative, more, -more);
    const double start = constant * 0x1.921fb54442d18p+0, step = way * high, first = start + step;
    const double lost = (start - first) + step;
    return first + (lost + fma(way, rest, constant * 0x1.1a62633145c07p-54));
}
"""

_QUOTIENT = once(
    "slinky_arc_of_quotient",
    f"""\
/* The arc tangent of u / v, both positive; of u / -v, seen from the origin, if `is_back`. It is so many quarters of pi,
   and the arc of a small quotient on or back. */
static inline double slinky_arc_of_quotient(double u, double v, int is_back)
{{
    const int is_steep = u > v;
    const double less = slinky_one_of(is_steep, v, u), more = slinky_one_of(is_steep, u, v);
    const int is_middle = less > 0x1.a8279p-2 * more;
    const double taken = less - more, sum = more + less;
    const double top = slinky_one_of(is_middle, taken, less), bottom = slinky_one_of(is_middle, sum, more);
    const double top_low = slinky_one_of(is_middle, less - (taken + more), 0);
    const double bottom_low = slinky_one_of(is_middle, (more - sum) + less, 0);
    const double once = 1 / bottom, q = top * once;
    const double low = (fma(-q, bottom, top) + fma(-q, bottom_low, top_low)) * once, z = q * q;
    const double rest = fma(q * z, {_TURNED}, fma(-low, z, low));
    const double middle = slinky_one_of(is_middle, 1, 0), turned = slinky_one_of(is_steep, 2 - middle, middle);
    const double quarters = slinky_one_of(is_back, 4 - turned, turned);
    const double way = slinky_one_of(is_back != is_steep, -1, 1);
    const double start = quarters * 0x1.921fb54442d18p-1, step = way * q, first = start + step;
    const double lost = (start - first) + step, error = fma(quarters, 0x1.921fb54442d18p-1, -start);
    return first + (lost + fma(way, rest, fma(quarters, 0x1.1a62633145c07p-55, error)));
}}
""",
)

_ARCTAN = """\
static inline double slinky_arctan(double a)
{
    return copysign(slinky_arc_of_quotient(fabs(a), 1, 0), a);
}
"""

_ARCTAN2 = """\
static inline double slinky_arctan2(double a, double b)
{
    return copysign(slinky_arc_of_quotient(fabs(a), fabs(b), b < 0), a);
}
/* Whether neither number is so large or small that parts of the quotient leave the normal numbers. */
static inline int slinky_has_quotient(double u, double v)
{
    const int is_usual = (u + v <= 0x1p1000) & (u + v >= 0x1p-600);
    return is_usual & ((u == 0) | (v == 0) | ((u > 0x1p-400 * v) & (v > 0x1p-400 * u)));
}
"""


def functions() -> Iterator[tuple[tuple[str, str], Function]]:
    """By name of the ufunc, and dtype."""
    beyond = (Edge("fabs(a) > 1", "NAN", "FE_INVALID"),)
    origin = (Edge("(a == 0) & (b == 0)", "slinky_one_of(slinky_bits(b) < 0, copysign(0x1.921fb54442d18p+1, a), a)"),)
    cores = [
        Core("arcsin", (_ARC, once("slinky_arcsin", _ARCSIN)), "fabs(a) <= 1", "asin", edges=beyond),
        Core("arccos", (_ARC, once("slinky_arccos", _ARCCOS)), "fabs(a) <= 1", "acos", edges=beyond),
        Core("arctan", (_QUOTIENT, once("slinky_arctan", _ARCTAN)), "fabs(a) <= 0x1.fffffffffffffp+1023", "atan"),
        Core(
            "arctan2",
            (_QUOTIENT, once("slinky_arctan2", _ARCTAN2)),
            "slinky_has_quotient(fabs(a), fabs(b))",
            "atan2",
            2,
            edges=origin,
        ),
    ]
    for core in cores:
        for dtype in "df":
            yield (core.name, dtype), core.function(dtype)
