"""What C functions over strips are made of: what they have in common, and the loop that is the same for most.

Idea. A function is written down once, for one number, as an expression without branches (its *core*), with what must
hold for the core to be right. The loop around it is a template: it computes the core for all elements, makes those NaN
for which it is not right, and leaves these to the C library. A function of float32 is the core of float64, rounded to
float32 at the end: the correct result but for one in some 2^28.

What is chosen between is chosen by its bits: of `c ? a : 0.1` compilers make two ways through the loop, on one of which
what follows is a constant, and then no vectors, where the processor has no masks.

Invariant: a text stands by itself after `BEGIN` and `COMMON`, and may stand in a file several times.
"""

from __future__ import annotations

import attrs


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
#if defined(__SSE2__) && defined(__GNUC__)
typedef unsigned int slinky_flags; /* what <xmmintrin.h> has in other words, which takes long to read */
#define SLINKY_KEEP(state) do { __asm__ volatile("" ::: "memory"); state = __builtin_ia32_stmxcsr(); } while (0)
#define SLINKY_RESTORE(state) do { __asm__ volatile("" ::: "memory"); __builtin_ia32_ldmxcsr(state); } while (0)
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
/* One of two numbers, without a branch. */
static inline float slinky_one_off(int is_first, float a, float b)
{
    const int32_t mask = -(int32_t)is_first;
    int32_t bits, others;
    memcpy(&bits, &a, 4);
    memcpy(&others, &b, 4);
    bits = (bits & mask) | (others & ~mask);
    memcpy(&a, &bits, 4);
    return a;
}
static inline double slinky_one_of(int is_first, double a, double b)
{
    const int64_t mask = -(int64_t)is_first;
    return slinky_double((slinky_bits(a) & mask) | (slinky_bits(b) & ~mask));
}
/* 2 to the power of the integer in the last bits of a number to which 3 * 2^51 was added, and of one more. */
static inline double slinky_power_of_two(double shifted, int64_t more)
{
    return slinky_double((int64_t)((uint64_t)(slinky_bits(shifted) + 1023 + more) << 52));
}
#endif
"""

_LOOP = """\
SLINKY_STRIPS void slinky_strip_@NAME@f(intptr_t n, @PARAMETERS, @T *restrict z)
{
    int64_t others = 0;
#if SLINKY_FMA
    slinky_flags state;@NOTES
    SLINKY_KEEP(state);
    for (intptr_t i = 0; i < n; i++) {
        @TAKEN
        const double found = slinky_@CORE(@GIVEN);
        const int is_plain = @PLAIN, is_none = @NONE;@EDGES
        others |= !(@KNOWN);
        z[i] = (@T)@RESULT;
    }
    SLINKY_RESTORE(state);@RAISED
#else
    others = 1;
#endif
    if (others) {
        for (intptr_t i = 0; i < n; i++) {
            @TAKEN
            if (!SLINKY_FMA || (z[i] != z[i] && !(@NONE)))
                z[i] = @LIBRARY@f(@ITSELF);
        }
    }
}
"""


@attrs.frozen
class Edge:
    """Numbers of which the result needs no method: `where` they are, as an expression of `a` and `b`, the result, and
    the exception that it is."""

    where: str
    result: str
    exception: str = ""


@attrs.frozen
class Core:
    """A function of one or two numbers `a` and `b`, called `slinky_` and its name (NumPy's).

    `parts` are the texts that have it, in order; `plain` says where it is right, and may ask for the result, `found`;
    `library` is the name of the function that is right everywhere, where that is another; `core` that of the core.
    The result is NaN where `none` says so, which is where a NaN is given unless it says something else; it compares by
    `==` and `!=` alone, for which NaN is no exception.
    """

    name: str
    parts: tuple[str, ...]
    plain: str
    library: str = ""
    count: int = 1
    core: str = ""
    edges: tuple[Edge, ...] = ()
    none: str = ""

    def function(self, dtype: str, *, is_faster_alone: bool = True) -> Function:
        """The function over strips, of elements of a dtype."""
        letters, arrays = "ab"[: self.count], "xy"[: self.count]
        result = "slinky_one_of(is_plain, found, NAN)"
        for k, edge in enumerate(self.edges):
            result = f"slinky_one_of(is_edge{k}, {edge.result}, {result})"
        told = [(k, edge.exception) for k, edge in enumerate(self.edges) if edge.exception]
        loop = with_words(
            _LOOP,
            dtype,
            NOTES="".join(f"\n    int64_t told{k} = 0;" for k, _ in told),
            NONE=self.none or " | ".join(f"({each} != {each})" for each in letters),
            EDGES="".join(
                [f"\n        const int is_edge{k} = {edge.where};" for k, edge in enumerate(self.edges)]
                + [f"\n        told{k} |= is_edge{k};" for k, _ in told]
            ),
            KNOWN=" | ".join(["is_plain", "is_none", *(f"is_edge{k}" for k in range(len(self.edges)))]),
            RESULT=result,
            RAISED="".join(f"\n    if (told{k}) feraiseexcept({exception});" for k, exception in told),
            NAME=self.name,
            CORE=self.core or self.name,
            PARAMETERS=", ".join(f"const @T *restrict {each}" for each in arrays),
            TAKEN=f"const double {', '.join(f'{a} = {x}[i]' for a, x in zip(letters, arrays, strict=True))};",
            GIVEN=", ".join(letters),
            ITSELF=", ".join(each if dtype == "d" else f"(@T){each}" for each in letters),
            PLAIN=self.plain if dtype == "d" else f"({self.plain}) & (fabs(found) <= @MAX)",
            LIBRARY=self.library or self.name,
        )
        name = with_words(f"slinky_strip_{self.name}@f", dtype)
        text = f"#if SLINKY_FMA\n{''.join(self.parts)}#endif\n{once(name, loop)}"
        return Function(name, text, is_faster_alone)


def once(name: str, text: str) -> str:
    """A text that counts only where it stands for the first time in a file."""
    guard = f"{name.upper()}_IS_THERE"
    return f"#ifndef {guard}\n#define {guard}\n{text}#endif\n"


def with_words(text: str, dtype: str, **given: str) -> str:
    """A template for a dtype: what stands in it after `@` replaced."""
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


def polynomial(variable: str, *coefficients: str) -> str:
    """A polynomial, the constant last, by multiply-adds (Horner)."""
    first, *others = coefficients
    text = first
    for each in others:
        text = f"fma({variable}, {text}, {each})"
    return text
