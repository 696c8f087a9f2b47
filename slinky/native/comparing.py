"""Comparisons of floats in C in which a NaN is no exception, and choices of floats without a branch.

Idea. C has such comparisons (`isless`), but compilers that make vector instructions of them take those for which a NaN
is an exception, or take instructions for the larger of two. Only asking for equality is harmless everywhere. So numbers
that are compared with a NaN are replaced by zeros first, by their bits, which no compiler sees through.

One of two floats is chosen by its bits, too. Of `c ? a : 0.1f` compilers make two ways through the loop, on one of
which what follows is a constant, and then no vectors, where the processor has no masks (GCC, AVX2).

Invariant: they give what the operators give, and raise nothing.
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
#endif
"""


def comparisons_in(body: str) -> Iterator[str]:
    """The texts of the comparisons and choices that lines call."""
    for suffix, own, bits in (("f", "float", "int32_t"), ("", "double", "int64_t")):
        if any(f"slinky_{name}{suffix}(" in body for name in ("less", "less_equal", "either")):
            yield _TEXT.replace("@T", own).replace("@I", bits).replace("@F", suffix)
