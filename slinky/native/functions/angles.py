"""Sine, cosine and tangent.

Methods. An angle is reduced by multiples of pi / 2, a constant in parts, with fused multiply-adds, which are exact
where the leading parts cancel (Cody and Waite, Software Manual for the Elementary Functions, 1980; Muller, Elementary
Functions, 2016, chapter 11). What remains, to twice the precision, goes into polynomials that are nearly minimax, found
by the exchange algorithm of Remez with 300 bits. The tangent is the quotient of both, each with what rounding took
from it, corrected by the remainder of the division. For float32, polynomials are shorter, and nothing is kept of what
rounding takes.

Invariant: an angle next to nothing is its own sine and tangent, with its sign.
"""

from __future__ import annotations

from collections.abc import Iterator

from slinky.native.functions.texts import Core, Function, once, polynomial

_SINE = polynomial(
    "z",
    *("0x1.5d93181e06650p-33", "-0x1.ae5e668810a63p-26", "0x1.71de357817043p-19"),
    *("-0x1.a01a019c1206ap-13", "0x1.111111110f87ep-7", "-0x1.5555555555549p-3"),
)
_COSINE = polynomial(
    "z",
    *("-0x1.8faeb4cf4bf9ep-37", "0x1.1ee9ec16ab079p-29", "-0x1.27e4f80a31467p-22"),
    *("0x1.a01a019cb2140p-16", "-0x1.6c16c16c15181p-10", "0x1.555555555554cp-5"),
)

_ANGLE = once(
    "slinky_angle",
    f"""\
/* An angle less multiples of pi / 2, to twice the precision, and how many these are. Exact but for the last step, as
   the first product cancels all of the angle but a multiple of 2^-53 less than 2. */
static inline double slinky_angle(double x, double *low, int64_t *turns)
{{
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
}}
/* The sine less r, and the cosine less 1 - r * r / 2, which is given. */
static inline double slinky_sine_rest(double r, double low)
{{
    const double z = r * r;
    return fma(z * r, {_SINE}, fma(z * low, -0.5, low));
}}
static inline double slinky_cosine_rest(double r, double low, double whole)
{{
    const double z = r * r;
    const double small = fma(-0.5, fma(r, r, -z), -r * low);
    return ((1 - whole) - 0.5 * z) + fma(z * z, {_COSINE}, small);
}}
""",
)

_TURNING = """\
static inline double slinky_@NAME(double a)
{
    double low;
    int64_t turns;
    const double r = slinky_angle(a, &low, &turns), whole = 1 - 0.5 * (r * r);
    turns += @SHIFT;
    const double sine = r + slinky_sine_rest(r, low), cosine = whole + slinky_cosine_rest(r, low, whole);
    const double part = slinky_one_of((turns & 1) != 0, cosine, sine);
    const double found = slinky_double(slinky_bits(part) ^ (int64_t)(((uint64_t)turns & 2) << 62));
    return @RESULT;
}
"""
_SIN = _TURNING.replace("@NAME", "sin").replace("@SHIFT", "0")
_COS = _TURNING.replace("@NAME", "cos").replace("@SHIFT", "1")

_TAN = """\
static inline double slinky_tan(double a)
{
    double low;
    int64_t turns;
    const double r = slinky_angle(a, &low, &turns), whole = 1 - 0.5 * (r * r);
    const double more = slinky_sine_rest(r, low), rest = slinky_cosine_rest(r, low, whole);
    const double sine = r + more, sine_low = (r - sine) + more;
    const double cosine = whole + rest, cosine_low = (whole - cosine) + rest;
    const int is_odd = (turns & 1) != 0;
    const double top = slinky_one_of(is_odd, -cosine, sine), top_low = slinky_one_of(is_odd, -cosine_low, sine_low);
    const double bottom = slinky_one_of(is_odd, sine, cosine);
    const double bottom_low = slinky_one_of(is_odd, sine_low, cosine_low);
    const double once = 1 / bottom, quotient = top * once;
    const double left = fma(-quotient, bottom_low, fma(-quotient, bottom, top) + top_low);
    return slinky_one_of(fabs(a) < 0x1p-100, a, fma(left, once, quotient));
}
"""

_SHORT_SINE = polynomial(
    "z", "0x1.6cd85fab15e61p-19", "-0x1.a00f9dc7445eap-13", "0x1.1111089673aa7p-7", "-0x1.5555554cba126p-3"
)
_SHORT_COSINE = polynomial("z", "0x1.9a898757fa0a4p-16", "-0x1.6c0eab88634f9p-10", "0x1.55554ed6c3c1bp-5")
_OF_SINGLE = once(
    "slinky_turned",
    f"""\
/* The sine and the cosine of what remains of an angle, as precise as float32 wants them, and how many turns it has. */
static inline int64_t slinky_turned(double a, double *sine, double *cosine)
{{
    const double shifted = fma(a, 0x1.45f306dc9c883p-1, 0x1.8p52), k = shifted - 0x1.8p52;
    const double r = fma(-k, 0x1.1a62633145c07p-54, fma(-k, 0x1.921fb54442d18p+0, a)), z = r * r;
    *sine = slinky_one_of(r == 0, r, fma(z * r, {_SHORT_SINE}, r));
    *cosine = fma(z * z, {_SHORT_COSINE}, fma(-0.5, z, 1));
    return slinky_bits(shifted);
}}
static inline double slinky_sine_of_single(double a, int64_t more)
{{
    double sine, cosine;
    const int64_t turns = slinky_turned(a, &sine, &cosine) + more;
    const double part = slinky_one_of((turns & 1) != 0, cosine, sine);
    return slinky_double(slinky_bits(part) ^ (int64_t)(((uint64_t)turns & 2) << 62));
}}
static inline double slinky_sin_of_single(double a) {{ return slinky_sine_of_single(a, 0); }}
static inline double slinky_cos_of_single(double a) {{ return slinky_sine_of_single(a, 1); }}
static inline double slinky_tan_of_single(double a)
{{
    double sine, cosine;
    const int is_odd = (slinky_turned(a, &sine, &cosine) & 1) != 0;
    return slinky_one_of(is_odd, -cosine, sine) / slinky_one_of(is_odd, sine, cosine);
}}
""",
)
_PLAIN = "fabs(a) <= 0x1p30"


def functions() -> Iterator[tuple[tuple[str, str], Function]]:
    """By name of the ufunc, and dtype. NumPy has its own vectors of sines of float32."""
    sine = once("slinky_sin", _SIN.replace("@RESULT", "slinky_one_of(fabs(a) < 0x1p-100, a, found)"))
    cosine = once("slinky_cos", _COS.replace("@RESULT", "found"))
    for name, text in (("sin", sine), ("cos", cosine), ("tan", once("slinky_tan", _TAN))):
        yield (name, "d"), Core(name, (_ANGLE, text), _PLAIN).function("d")
        single = Core(name, (_OF_SINGLE,), _PLAIN, core=f"{name}_of_single")
        yield (name, "f"), single.function("f", is_faster_alone=name == "tan")
