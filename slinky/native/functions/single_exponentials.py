"""The exponential of float32 in C, to the bits of NumPy's.

Idea. Where a processor has fused multiply-adds, NumPy computes it by vectors: a multiple of log 2, in two parts, is
taken from the number, and a quotient of two polynomials of what remains is multiplied by that power of two. The same
steps with the same coefficients give the same bits, though not always those next to the true value (up to 2.5 units in
the last place away); a more precise one would be farther from NumPy's than 1 unit. Results beyond all numbers are
computed one by one. A strip whose results are all normal numbers, which is seen beforehand, takes half the time.

Invariant: results are NumPy's to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from slinky.native.functions.texts import Function, once

_TEXT = """\
/* The quotient of polynomials, and the power of two by which it is to be multiplied, more than 1.5 * 2^23. */
static inline float slinky_exponential_part(float x, float *shifted)
{
    const float product = x * 0x1.715476p+0f;
    *shifted = product + 0x1.8p23f;
    const float k = *shifted - 0x1.8p23f, r = fmaf(k, -1.42860677e-6f, fmaf(k, -6.93145752e-1f, x));
    float p = fmaf(5.082762527590693718096e-04f, r, 6.757896990527504603057e-03f);
    p = fmaf(p, r, 5.114512081637298353406e-02f);
    p = fmaf(p, r, 2.473615434895520810817e-01f);
    p = fmaf(p, r, 7.257664613233124478488e-01f);
    p = fmaf(p, r, 9.999999999980870924916e-01f);
    return p / fmaf(fmaf(2.159509375685829852307e-02f, r, -2.742335390411667452936e-01f), r, 1.0f);
}
static float slinky_one_expf(float x)
{
    float shifted;
    if (!(islessequal(x, 0x1.62e42ep+6f) && isgreaterequal(x, -0x1.9fe368p+6f))) return expf(x);
    const float part = slinky_exponential_part(x, &shifted);
    return ldexpf(part, (int)(shifted - 0x1.8p23f));
}
SLINKY_STRIPS void slinky_strip_expf(intptr_t n, const float *restrict x, float *restrict y)
{
    int32_t others = 0;
#if SLINKY_FMA
    int32_t most = 0, small = 0;
    slinky_flags state;
    SLINKY_KEEP(state);
    for (intptr_t i = 0; i < n; i++) {
        int32_t size;
        memcpy(&size, &x[i], 4);
        size &= INT32_MAX;
        most = most > size ? most : size;
    }
    if (most <= 0x42ae0000) { /* up to 87 all, as most often: results are normal numbers */
        for (intptr_t i = 0; i < n; i++) {
            int32_t bits, power;
            float shifted;
            const float part = slinky_exponential_part(x[i], &shifted);
            memcpy(&bits, &part, 4);
            memcpy(&power, &shifted, 4);
            bits += (int32_t)((uint32_t)power << 23);
            memcpy(&y[i], &bits, 4);
        }
        SLINKY_RESTORE(state);
        return;
    }
    for (intptr_t i = 0; i < n; i++) {
        int32_t given, bits, power;
        float shifted, found;
        const float part = slinky_exponential_part(x[i], &shifted);
        memcpy(&given, &x[i], 4);
        memcpy(&bits, &part, 4);
        memcpy(&power, &shifted, 4);
        /* By their bits, so that nothing is chosen: up to 87; down to -104, by way of a normal number; below that,
           where the result is 0; and NaN. */
        const int32_t size = given & INT32_MAX, is_low = -((given < 0) & (size > 0x42ae0000));
        const int32_t is_plain = -(size <= 0x42ae0000) | (is_low & -(size <= 0x42d00000));
        const int32_t is_none = -(size > 0x7f800000), is_nothing = is_low & ~(is_plain | is_none);
        const int32_t factor = 0x3f800000 - (is_low & (64 << 23));
        float back;
        bits += (int32_t)((uint32_t)(power + (is_low & 64)) << 23);
        memcpy(&found, &bits, 4);
        memcpy(&back, &factor, 4);
        found *= back;
        memcpy(&bits, &found, 4);
        bits = (bits & is_plain) | (0x7fc00000 & ~(is_plain | is_nothing));
        others |= ~(is_plain | is_none | is_nothing);
        small |= is_low & ~is_none & -(bits < 0x00800000) & -(size < 0x7f800000);
        memcpy(&y[i], &bits, 4);
    }
    SLINKY_RESTORE(state);
    if (small) feraiseexcept(FE_UNDERFLOW);
#else
    others = 1;
#endif
    if (others)
        for (intptr_t i = 0; i < n; i++)
            if (!SLINKY_FMA || (y[i] != y[i] && x[i] == x[i]))
                y[i] = slinky_one_expf(x[i]);
}
"""


def functions() -> Iterator[tuple[tuple[str, str], Function]]:
    """By name of the ufunc, and dtype: where NumPy computes it so on this processor."""
    told = np.show_config(mode="dicts")
    simd = told.get("SIMD Extensions", {})
    found = {*simd.get("baseline", []), *simd.get("found", [])}
    if not found.isdisjoint({"X86_V3", "X86_V4", "FMA3", "AVX512F"}):
        own = "slinky_strip_expf"
        yield ("exp", "f"), Function(own, once(own, _TEXT), is_faster_alone=False, is_exact=True)
