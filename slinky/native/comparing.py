"""Comparisons of floats in C in which a NaN is no exception, choices of floats without a branch, and floats rounded.

Idea. C has such comparisons (`isless`), but compilers that make vector instructions of them take those for which a NaN
is an exception, or take instructions for the larger of two. Only asking for equality is harmless everywhere. So numbers
that are compared with a NaN are replaced by zeros first, by their bits, which no compiler sees through.

One of two floats is chosen by its bits, too. Of `c ? a : 0.1f` compilers make two ways through the loop, on one of
which what follows is a constant, and then no vectors, where the processor has no masks (GCC, AVX2).

Floats are rounded down, up and towards zero by way of `rint`: GCC makes vectors of that, but none of `floor`, `ceil`
and `trunc` for x86 where exceptions count. The nearest integer is at most one off, and zeros keep their signs.

Invariant: they give what the operators (`floor`, `ceil`, `trunc`) give, and raise nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

_TEXT = """\
#ifndef SLINKY_LESS@F
#define SLINKY_LESS@F
#include <string.h>
static inline @T slinky_masked@F(@T a, @I mask)
{
    @I bits;
    memcpy(&bits, &a, sizeof bits);
    bits &= mask;
    memcpy(&a, &bits, sizeof bits);
    return a;
}
static inline int slinky_less@F(@T a, @T b)
{
    const @I mask = -(@I)((a == a) & (b == b));
    return slinky_masked@F(a, mask) < slinky_masked@F(b, mask);
}
static inline int slinky_less_equal@F(@T a, @T b)
{
    const @I mask = -(@I)((a == a) & (b == b));
    return (mask != 0) & (slinky_masked@F(a, mask) <= slinky_masked@F(b, mask));
}
static inline @T slinky_either@F(int first, @T a, @T b)
{
    const @I mask = -(@I)(first != 0);
    @I bits, others;
    memcpy(&bits, &a, sizeof bits);
    memcpy(&others, &b, sizeof others);
    bits = (bits & mask) | (others & ~mask);
    memcpy(&a, &bits, sizeof bits);
    return a;
}
static inline @T slinky_zero_for_nan@F(@T a)
{
    return slinky_masked@F(a, -(@I)(a == a));
}
/* The nearest number to a within bounds; NaN if one of the three is. A zero as large as a bound keeps its sign. */
static inline @T slinky_clip@F(@T a, @T low, @T high)
{
    const @T least = slinky_zero_for_nan@F(low), most = slinky_zero_for_nan@F(high);
    @T found = slinky_zero_for_nan@F(a);
    found = slinky_either@F(found < least, least, found);
    found = slinky_either@F(most < found, most, found);
    found = slinky_either@F(a == a, found, a);
    found = slinky_either@F(high == high, found, high);
    return slinky_either@F(low == low, found, low);
}
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
static inline @T slinky_floor@F(@T a)
{
    const @T near = rint@F(a);
    return near - slinky_masked@F(1, -(@I)slinky_less@F(a, near));
}
static inline @T slinky_trunc@F(@T a)
{
    return copysign@F(slinky_floor@F(fabs@F(a)), a);
}
static inline @T slinky_ceil@F(@T a)
{
    const @T near = rint@F(a);
    return copysign@F(near + slinky_masked@F(1, -(@I)slinky_less@F(near, a)), a);
}
#else
static inline @T slinky_floor@F(@T a) { return floor@F(a); }
static inline @T slinky_trunc@F(@T a) { return trunc@F(a); }
static inline @T slinky_ceil@F(@T a) { return ceil@F(a); }
#endif
#endif
"""


def comparisons_in(body: str) -> Iterator[str]:
    """The texts of the comparisons and choices that lines call."""
    for suffix in _TYPES:
        if any(f"slinky_{name}{suffix}(" in body for name in _NAMES):
            yield comparisons_of(suffix)


def comparisons_of(suffix: str) -> str:
    """The text of the comparisons and choices of a type, by what the names of its functions end with."""
    own, bits = _TYPES[suffix]
    return _TEXT.replace("@T", own).replace("@I", bits).replace("@F", suffix)


_NAMES = ("less", "less_equal", "either", "clip", "floor", "trunc", "ceil")
_TYPES = {"f": ("float", "int32_t"), "": ("double", "int64_t")}
