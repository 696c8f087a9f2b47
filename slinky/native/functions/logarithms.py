"""Logarithms, and powers of floats.

Methods. A number is a power of two times m, between 1 / sqrt(2) and sqrt(2), and its logarithm a multiple of log(2) and
the series of the area tangent, of s = (m - 1) / (m + 1), a polynomial that is nearly minimax (Remez, 300 bits). Of
`log1p`, what rounding took from 1 + x is added divided by that. The logarithm of a power is wanted to 2^-64 of itself,
so the first two terms of the series are computed to twice the precision (Dekker, A Floating-Point Technique for
Extending the Available Precision, 1971; Muller, Elementary Functions, 2016, chapter 11). For powers and cube roots of
float32, exponentials and logarithms of float64 are precise enough.

Invariant: numbers that are not normal, and powers of what is negative by what is no integer, are the C library's; 0 to
a positive power is 0, and an odd power has the sign of the number.
"""

from __future__ import annotations

from collections.abc import Iterator

from slinky.native.functions.exponentials import EXPONENT, OF_SINGLE
from slinky.native.functions.texts import Core, Edge, Function, once, polynomial

_SERIES = polynomial(
    "z",
    *("0x1.2f063acc2ae67p-3", "0x1.39a1a6690794ap-3", "0x1.74663fa7556f0p-3", "0x1.c71c5205ec95ap-3"),
    *("0x1.24924941f5294p-2", "0x1.999999997fd72p-2", "0x1.5555555555592p-1"),
)
_THIRD_TERM = polynomial(
    "z",
    *("0x1.e8704b5f7bb91p-4", "0x1.de8bcca51546fp-4", "0x1.111e4ea22d7cdp-3", "0x1.3b13748e517ecp-3"),
    *("0x1.745d17e681c45p-3", "0x1.c71c71c636d0bp-3", "0x1.249249249291dp-2", "0x1.9999999999999p-2"),
)

_MANTISSA = once(
    "slinky_mantissa",
    f"""\
/* A number as m * 2^k. */
static inline double slinky_mantissa(double x, double *k)
{{
    const int64_t bits = slinky_bits(x) - 0x3fe6a09e667f3bcdLL;
    const int64_t exponent = (int64_t)((uint64_t)(bits + (1024LL << 52)) >> 52);
    *k = slinky_double(0x4338000000000000LL + exponent) - 0x1.8p52 - 1024;
    return slinky_double((bits & 0xfffffffffffffLL) + 0x3fe6a09e667f3bcdLL);
}}
/* The logarithm of 1 + f, and how far it is off. */
static inline double slinky_log_of(double f, double more, double *rest)
{{
    const double s = f / (2 + f), z = s * s;
    const double half = 0.5 * f * f, error = fma(0.5 * f, f, -half);
    const double first = f - half, lost = (f - first) - half;
    *rest = lost + fma(s, fma(z, {_SERIES}, half), more - error);
    return first;
}}
/* The logarithm of (1 + f) * 2^k, and what is to be added. */
static inline double slinky_log_sum(double k, double f, double more)
{{
    double rest;
    const double first = slinky_log_of(f, fma(k, 0x1.ef35793c76730p-45, more), &rest);
    const double high = k * 0x1.62e42fefa3800p-1, sum = high + first;
    return sum + (((high - sum) + first) + rest);
}}
static inline double slinky_log(double a)
{{
    double k;
    const double m = slinky_mantissa(a, &k);
    return slinky_log_sum(k, m - 1, 0);
}}
""",
)

_LOG2 = """\
static inline double slinky_log2(double a)
{
    double k, rest;
    const double m = slinky_mantissa(a, &k), first = slinky_log_of(m - 1, 0, &rest);
    const double part = first * 0x1.71547652b82fep+0, error = fma(first, 0x1.71547652b82fep+0, -part);
    const double low = fma(first, 0x1.777d0ffda0d24p-56, fma(rest, 0x1.71547652b82fep+0, error)), sum = k + part;
    return sum + (((k - sum) + part) + low);
}
"""

_LOG1P = """\
static inline double slinky_log1p(double a)
{
    double k;
    const double sum = 1 + a, m = slinky_mantissa(sum, &k);
    const double lost = slinky_one_of(a > 1, (a - sum) + 1, (1 - sum) + a);
    const double one = slinky_power_of_two(0x1.8p52 - k, 0), f = slinky_one_of(k == 0, a, m - 1);
    return copysign(slinky_log_sum(k, f, slinky_one_of(k == 0, 0, lost * one / m)), a);
}
"""

_TURNED_POWER = once(
    "slinky_turned_power",
    """\
/* Whether a number is an integer, and no odd one beyond 2^52. */
static inline int slinky_is_whole(double b)
{
    return (fabs(b) + 0x1p52) - 0x1p52 == fabs(b);
}
/* A power of the size of a with the sign of that of a itself: odd powers of what is negative are negative. */
static inline double slinky_turned_power(double a, double b, double power)
{
    const int is_odd = slinky_is_whole(b) & !slinky_is_whole(0.5 * b);
    return slinky_double(slinky_bits(power) ^ (slinky_bits(a) & -(int64_t)is_odd & INT64_MIN));
}
""",
)

_POWER = f"""\
/* The exponential of the logarithm, to twice the precision, times b; NaN where it is not known to be right. */
static inline double slinky_power(double a, double b)
{{
    double k, low, shifted;
    const double m = slinky_mantissa(fabs(a), &k), f = m - 1, bottom = 2 + f, bottom_low = f - (bottom - 2);
    const double once = 1 / bottom, s = f * once;
    const double s_low = fma(-s, bottom_low, fma(-s, bottom, f)) * once;
    const double z = s * s, z_low = fma(2 * s, s_low, fma(s, s, -z));
    const double cube = z * s, cube_low = fma(z, s, -cube) + fma(z_low, s, z * s_low);
    const double second = cube * 0x1.5555555555555p-1;
    const double second_low = fma(cube_low, 0x1.5555555555555p-1,
                                  fma(cube, 0x1.5555555555555p-55, fma(cube, 0x1.5555555555555p-1, -second)));
    const double third = cube * z * {_THIRD_TERM};
    const double high = k * 0x1.62e42fefa3800p-1, one = high + 2 * s, two = one + second, three = two + third;
    const double lost = ((high - one) + 2 * s) + (((one - two) + second) + ((two - three) + third));
    const double rest = lost + (fma(2, s_low, second_low) + k * 0x1.ef35793c76730p-45);
    const double product = three * b, error = fma(three, b, -product) + rest * b;
    const double left = slinky_exponent(product, &low, &shifted), r = left + error;
    const double found = slinky_exp_of(r, low + ((left - r) + error), shifted);
    const int is_normal = (fabs(a) >= 0x1p-1022) & (fabs(a) <= 0x1.fffffffffffffp+1023);
    const int is_plain = is_normal & ((a > 0) | slinky_is_whole(b)) & (fabs(product) <= 708);
    const int is_zero = (a == 0) & (b > 0) & (b <= 0x1.fffffffffffffp+1023);
    return slinky_turned_power(a, b, slinky_one_of(is_plain, found, slinky_one_of(is_zero, 0, NAN)));
}}
"""

_POWER_OF_SINGLE = f"""\
static inline double slinky_log_of_single(double a)
{{
    double k;
    const double f = slinky_mantissa(a, &k) - 1, s = f / (2 + f), z = s * s;
    return fma(k, 0x1.62e42fefa39efp-1, s * fma(z, {_SERIES}, 2));
}}
static inline double slinky_power_of_single(double a, double b)
{{
    const double product = slinky_log_of_single(fabs(a)) * b, found = slinky_exp_of_single(product);
    const int is_plain = (a != 0) & (fabs(a) <= 0x1p200) & ((a > 0) | slinky_is_whole(b)) & (fabs(product) <= 700);
    const int is_zero = (a == 0) & (b > 0) & (b <= 0x1p200);
    return slinky_turned_power(a, b, slinky_one_of(is_plain, found, slinky_one_of(is_zero, 0, NAN)));
}}
static inline double slinky_cbrt_of_single(double a)
{{
    const double third = slinky_log_of_single(fabs(a)) * 0x1.5555555555555p-2;
    return slinky_one_of(a == 0, a, copysign(slinky_exp_of_single(third), a));
}}
"""

_NORMAL = "(a >= 0x1p-1022) & (a <= 0x1.fffffffffffffp+1023)"


def _edges(least: str) -> tuple[Edge, ...]:
    """Where a logarithm is infinite, and where there is none, of which pictures and counts have many."""
    return Edge(f"a == {least}", "-INFINITY", "FE_DIVBYZERO"), Edge(f"a < {least}", "NAN", "FE_INVALID")


_NO_POWER = "((a != a) & (b != 0)) | ((b != b) & (a != 1))"
_DOUBLE = (EXPONENT, _MANTISSA, _TURNED_POWER, once("slinky_power", _POWER))
_SINGLE = (OF_SINGLE, _MANTISSA, _TURNED_POWER, once("slinky_power_of_single", _POWER_OF_SINGLE))


def _power(dtype: str, name: str = "power", edges: tuple[Edge, ...] = ()) -> Function:
    parts, core = (_DOUBLE, "power") if dtype == "d" else (_SINGLE, "power_of_single")
    return Core(name, parts, "found == found", "pow", 2, core, edges, _NO_POWER).function(dtype)


def power_by_number(dtype: str) -> Function:
    """A power by a number that is the same for all elements: NumPy takes the root where that is 1/2, of which -0 and
    negative infinity have others than powers."""
    root = Edge("(b == 0.5) & !(a < 0)", "sqrt(a)"), Edge("(b == 0.5) & (a < 0)", "NAN", "FE_INVALID")
    return _power(dtype, "power_by_number", root)


_PRODUCTS = """\
/* Powers as products, to twice the precision. */
static inline double slinky_third_power(double a, double b)
{
    const double square = a * a, low = fma(a, a, -square), power = square * a;
    (void)b;
    return power + fma(low, a, fma(square, a, -power));
}
static inline double slinky_fourth_power(double a, double b)
{
    const double square = a * a, low = fma(a, a, -square), power = square * square;
    (void)b;
    return power + fma(2 * low, square, fma(square, square, -power));
}
"""
PRODUCTS = {3: ("third_power", "a"), 4: ("fourth_power", "0")}
"""The exponents of float64 that are products: their names, which end with no number, as those of nests do, and what
they make of 0."""


def product(exponent: int) -> Function:
    """A power of float64 that is a product: it takes a few multiply-adds."""
    plain = "(fabs(found) <= 0x1.fffffffffffffp+1023) & (fabs(found) >= 0x1p-900)"
    name, zero = PRODUCTS[exponent]
    edges = (Edge("a == 0", zero),)
    core = Core(name, (once("slinky_products", _PRODUCTS),), plain, "pow", 2, edges=edges, none="a != a")
    return core.function("d")


def functions() -> Iterator[tuple[tuple[str, str], Function]]:
    """By name of the ufunc, and dtype. Of those left out NumPy's own are further from the true value."""
    edges, plain = _edges("0"), "(a > -1) & (a <= 0x1p1000)"
    yield ("log", "d"), Core("log", (_MANTISSA,), _NORMAL, edges=edges).function("d")
    for dtype in "df":
        log2 = Core("log2", (_MANTISSA, once("slinky_log2", _LOG2)), _NORMAL, edges=edges)
        yield ("log2", dtype), log2.function(dtype)
        log1p = Core("log1p", (_MANTISSA, once("slinky_log1p", _LOG1P)), plain, edges=_edges("-1"))
        yield ("log1p", dtype), log1p.function(dtype)
        yield ("power", dtype), _power(dtype)
    root = Core("cbrt", _SINGLE, "fabs(a) <= 0x1p200", core="cbrt_of_single")
    yield ("cbrt", "f"), root.function("f")
