"""Loops of 32-bit elements with narrower ones among them: bytes that become floats, and floats that become bytes.

Idea. GCC makes vectors as long as the narrowest element of a loop allows, and takes them apart again for the wide ones:
of a loop with bytes and floats, many instructions move parts of vectors, where one alone reads bytes as integers as
wide as a float, and few write them. So a loop goes over blocks of elements: as many as a vector has wide ones, or, of
vectors of 32 bytes, as many as it has narrow ones. What is narrow is read into an array of so many integers before, and
written from one afterwards: these arrays stay in registers, and in the loop over a block all is of one size. The last
elements, fewer than a block, follow in a loop of their own.

Where there is little to compute, memory takes the time, and the longer vectors were as good or better; other compilers
choose the length of vectors by what is wide. There `SLINKY_LANES` is not defined, and what is the loop over the last
elements is one over all.

Invariant: each element is computed once, by the same lines of text; what is narrow is read only to be converted to what
is wide, so that the integer that it is read as stands for it; and each step is one of which GCC makes vectors of one
size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from slinky.ir.formulas import CLIP, Apply, Choose, Convert, Coordinate, Element, Formula, Operand, Result, Step
from slinky.native.ahead import ahead_text

LANES = 16
"""Of 32 bits in a vector of 64 bytes; a block of vectors of 32 has twice as many. (Blocks of one vector of 32 bytes,
which leaves a quarter of one to be written, took the same time as no blocks.)"""

FEWEST_STEPS = 4
"""Of fewer steps, loops over lanes took as long as others, or up to a fifth longer; of four and more, 0.87 to 0.96 of
the time with arrays in the caches, and the filters of unsharp masking 0.8. With vectors of 32 bytes, colours to grey
took 0.6 of the time in the caches, 0.75 to 0.9 for whole pictures, unsharp masking 0.96, and two steps 0.7 to 1."""

UFUNCS: frozenset[Any] = frozenset(
    {
        *(np.add, np.subtract, np.multiply, np.divide, np.negative, np.positive, np.absolute, np.square),
        *(np.sqrt, np.reciprocal, np.maximum, np.minimum, CLIP),
        *(np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal),
        *(np.logical_and, np.logical_or, np.logical_xor, np.logical_not),
        *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert),
    }
)
"""The ufuncs of which GCC makes vectors of one size."""

_TEXT = """\
#ifndef SLINKY_OVER_LANES
#define SLINKY_OVER_LANES
/* How many elements of 32 bits a block has, for compilers that have to be told: those of a vector of 64 bytes, or of
   four of 32; and instructions that read narrower ones as integers of so many bits, or write them. */
#if defined(SLINKY_SIMD) && defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__AVX512VBMI2__)
#define SLINKY_LANES @COUNT
#define slinky_blocks _Pragma("GCC unroll 4")
typedef int32_t slinky_lanes __attribute__((vector_size(4 * SLINKY_LANES), may_alias));
#define slinky_widen(type, instruction) \\
    static inline void slinky_widen_##type(int32_t *to, const type *from) \\
    { \\
        typedef struct { type each[SLINKY_LANES]; } part; \\
        __asm__(instruction " %1, %0" : "=v"(*(slinky_lanes *)to) : "m"(*(const part *)from)); \\
    }
#define slinky_narrow(type, instruction) \\
    static inline void slinky_narrow_##type(type *to, const int32_t *from) \\
    { \\
        typedef struct { type each[SLINKY_LANES]; } part; \\
        __asm__(instruction " %1, %0" : "=m"(*(part *)to) : "v"(*(const slinky_lanes *)from)); \\
    }
slinky_narrow(uint8_t, "vpmovdb")
slinky_narrow(int8_t, "vpmovdb")
slinky_narrow(uint16_t, "vpmovdw")
slinky_narrow(int16_t, "vpmovdw")
/* What follows is a loop over a few elements, of which no vectors are to be made. */
#define slinky_rest _Pragma("GCC unroll 1")
#define slinky_alone() __asm__ volatile("")
#elif defined(SLINKY_SIMD) && defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__AVX2__)
#define SLINKY_LANES @TWICE
#define slinky_blocks _Pragma("GCC unroll 1")
typedef int32_t slinky_lanes __attribute__((vector_size(@TWICE), may_alias));
typedef int32_t slinky_part __attribute__((vector_size(@TWICE), may_alias, aligned(1)));
#define slinky_widen(type, instruction) \\
    static inline void slinky_widen_##type(int32_t *to, const type *from) \\
    { \\
        typedef struct { type each[8]; } part; \\
        for (int k = 0; k < SLINKY_LANES; k += 8) \\
            __asm__(instruction " %1, %0" : "=x"(*(slinky_lanes *)(to + k)) : "m"(*(const part *)(from + k))); \\
    }
/* Two vectors become one of elements half as wide, by halves of them: `low` of the first, of the second, and `high`. */
#define slinky_pack(instruction, to, low, high) __asm__(instruction " %2, %1, %0" : "=x"(to) : "x"(low), "x"(high))
#define slinky_narrow_words(type, words) \\
    static inline void slinky_narrow_##type(type *to, const int32_t *from) \\
    { \\
        for (int k = 0; k < SLINKY_LANES; k += 16) { \\
            slinky_lanes all; \\
            slinky_pack(words, all, *(const slinky_lanes *)(from + k), *(const slinky_lanes *)(from + k + 8)); \\
            *(slinky_part *)(to + k) = __builtin_shuffle(all, (slinky_lanes){0, 1, 4, 5, 2, 3, 6, 7}); \\
        } \\
    }
#define slinky_narrow_bytes(type, words, bytes) \\
    static inline void slinky_narrow_##type(type *to, const int32_t *from) \\
    { \\
        const slinky_lanes *each = (const slinky_lanes *)from; \\
        slinky_lanes low, high, all; \\
        slinky_pack(words, low, each[0], each[1]); \\
        slinky_pack(words, high, each[2], each[3]); \\
        slinky_pack(bytes, all, low, high); \\
        *(slinky_part *)to = __builtin_shuffle(all, (slinky_lanes){0, 4, 1, 5, 2, 6, 3, 7}); \\
    }
slinky_narrow_bytes(uint8_t, "vpackusdw", "vpackuswb")
slinky_narrow_bytes(int8_t, "vpackssdw", "vpacksswb")
slinky_narrow_words(uint16_t, "vpackusdw")
slinky_narrow_words(int16_t, "vpackssdw")
/* What follows is a loop over fewer elements than a block has, of which vectors are made as well. */
#define slinky_rest _Pragma("GCC ivdep")
#define slinky_alone() (void)0
#else
#define slinky_rest _Pragma("GCC ivdep")
#define slinky_alone() (void)0
#endif
#ifdef SLINKY_LANES
slinky_widen(uint8_t, "vpmovzxbd")
slinky_widen(int8_t, "vpmovsxbd")
slinky_widen(uint16_t, "vpmovzxwd")
slinky_widen(int16_t, "vpmovsxwd")
#define slinky_over_lanes _Pragma("omp simd")
#endif
#endif
""".replace("@COUNT", str(LANES)).replace("@TWICE", str(2 * LANES))


def texts_in(body: str) -> list[str]:
    """The texts of what lines use."""
    return [_TEXT] if "slinky_rest" in body else []


def is_narrow(dtype: np.dtype[Any]) -> bool:
    """Whether elements of a dtype are read and written as integers of 32 bits."""
    return dtype.kind in "iu" and dtype.itemsize <= 2


def goes_by_lanes(formula: Formula, live: Sequence[int], results: Sequence[Operand], moving: Collection[int]) -> bool:
    """Whether a loop is better over lanes: some of the inputs that are `moving` or of the results are narrow, and all
    that it computes with is of 32 bits. What is true is a bit for each lane, if it is not read or written."""
    dtypes = [formula.dtype_of(each) for each in results]
    if len(live) < FEWEST_STEPS or not all(isinstance(each, Result) for each in results):
        return False
    has_narrow = any(map(is_narrow, dtypes))
    for number in live:
        step = formula.steps[number]
        if isinstance(step, Coordinate) or (isinstance(step, Apply) and step.ufunc not in UFUNCS):
            return False
        is_stored = isinstance(step, Convert) and Result(number) in results
        for operand, to in zip(step.operands, _taken(step), strict=False):
            own, is_read = formula.dtype_of(operand), isinstance(operand, Element)
            if own.kind == "b" and to.kind == "b" and not is_read:
                continue
            if own.kind == "b" or to.kind == "b" or (is_narrow(own) and not is_read):
                return False
            if is_narrow(to) and (is_narrow(own) or not is_stored):
                return False
            has_narrow |= is_narrow(own) and isinstance(operand, Element) and operand.input in moving
            dtypes += [own, to]
        dtypes += [dtype for dtype in step.results if dtype.kind != "b" or Result(number) in results]
    return has_narrow and {dtype.itemsize for dtype in dtypes if not is_narrow(dtype)} == {4}


def _taken(step: Step) -> tuple[np.dtype[Any], ...]:
    """The dtypes that a step takes its operands as."""
    match step:
        case Apply(dtypes=dtypes):
            return dtypes
        case Choose(dtype=dtype):
            return (np.dtype(np.bool_), dtype, dtype)
        case Convert(dtype=dtype):
            return (dtype,)
        case Coordinate():
            return ()


def by_lanes(
    read: Mapping[str, str],
    written: Mapping[str, str],
    in_lanes: Sequence[str],
    alone: Sequence[str],
    ahead: Sequence[str] = (),
    begin: str = "0",
    stop: str = "n",
) -> Iterator[str]:
    """A loop over `i`, from its `begin` up to its `stop`: over lanes, of lines that take the element `j` of `w_a` for
    what is read of a narrow array `v_a`, and leave one for what is written; then of lines for the elements alone. The
    narrow arrays are given by their names, with their types; what is `ahead` in others is asked for."""
    yield f"intptr_t i = {begin};"
    yield "#ifdef SLINKY_LANES"
    yield "slinky_blocks"
    yield f"for (; i + SLINKY_LANES <= {stop}; i += SLINKY_LANES) {{"
    for name in ahead:
        yield f"    {ahead_text(name, 'i')}"
    for name, of in read.items():
        yield f"    _Alignas(64) int32_t w_{name}[SLINKY_LANES];"
        yield f"    slinky_widen_{of}(w_{name}, v_{name} + i);"
    for name in written:
        yield f"    _Alignas(64) int32_t w_{name}[SLINKY_LANES];"
    yield "    slinky_over_lanes"
    yield "    for (int j = 0; j < SLINKY_LANES; j++) {"
    yield from (f"        {line}" for line in in_lanes)
    yield "    }"
    for name, of in written.items():
        yield f"    slinky_narrow_{of}(v_{name} + i, w_{name});"
    yield "}"
    yield "#endif"
    yield "slinky_rest"
    yield f"for (; i < {stop}; i++) {{"
    yield "    slinky_alone();"
    yield from (f"    {line}" for line in alone)
    yield "}"
