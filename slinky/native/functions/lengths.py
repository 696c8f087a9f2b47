"""The length of a vector of two numbers.

Methods. The squares are summed to twice the precision, and the root is corrected by its remainder (Borges, An Improved
Algorithm for hypot(a,b), 2019). Squares of float32 are exact in float64.
"""

from __future__ import annotations

from collections.abc import Iterator

from slinky.native.functions.texts import Core, Function, once

_HYPOT = """\
static inline double slinky_hypot(double a, double b)
{
    const double square = a * a, other = b * b, sum = square + other;
    const int is_first = fabs(a) > fabs(b);
    const double more = slinky_one_of(is_first, square, other), less = slinky_one_of(is_first, other, square);
    const double rest = ((more - sum) + less) + (fma(a, a, -square) + fma(b, b, -other));
    const double root = sqrt(sum);
    return root + (fma(-root, root, sum) + rest) / (2 * root + 0x1p-1000);
}
/* Whether no part of the squares is lost. */
static inline int slinky_has_squares(double u, double v)
{
    return (u <= 0x1p500) & (v <= 0x1p500) & ((u >= 0x1p-400) | (u == 0)) & ((v >= 0x1p-400) | (v == 0));
}
"""

_HYPOT_OF_SINGLES = """\
static inline double slinky_hypot_of_singles(double a, double b)
{
    return sqrt(a * a + b * b);
}
"""


def functions() -> Iterator[tuple[tuple[str, str], Function]]:
    """By name of the ufunc, and dtype."""
    none = "((a != a) & (fabs(b) != INFINITY)) | ((b != b) & (fabs(a) != INFINITY))"
    text, plain = once("slinky_hypot", _HYPOT), "slinky_has_squares(fabs(a), fabs(b))"
    yield ("hypot", "d"), Core("hypot", (text,), plain, count=2, none=none).function("d")
    text = once("slinky_hypot_of_singles", _HYPOT_OF_SINGLES)
    single = Core("hypot", (text,), "found == found", count=2, core="hypot_of_singles", none=none)
    yield ("hypot", "f"), single.function("f")
