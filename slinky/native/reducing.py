"""Reductions of whole axes as C functions, in the order in which NumPy combines elements.

Idea. NumPy goes through the axes of an array from those whose elements lie farthest apart to those whose elements are
next to each other, whatever order the axes have, and takes axes that follow each other in memory as one. So the
function puts them into that order when it is called, but where they are known to be pieces of arrays in C order,
which may lie otherwise: folded buffers do. Where the innermost axis is reduced, each result is made of one
row after the other; where it is kept, a strip of results is made side by side, of which each takes one element after
the other. Axes of one element are none, but for those that are longer in the array that a piece is cut from.

Rows of floats are added pairwise, as NumPy does: halves by themselves down to 128 elements, in which eight sums go
along. Four such stretches are added side by side, so that the processor need not wait for one sum to go on. What lies
ahead is asked for meanwhile, and while extrema are sought: processors see it coming where one goes on element by
element, but not from four places, and not before a row begins.

Invariant: of what NumPy does not convert on the way, and of one axis that is reduced (or several that follow each other
in memory), sums and products are NumPy's to the last bit; of integers and truths, everything is. Extrema are, too, but
that nobody says which zero of two signs, or which NaN.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from slinky.ir.formulas import Axis, Element, Formula
from slinky.ir.reducing import Combined
from slinky.native.dividing import with_words
from slinky.native.functions.texts import BEGIN, COMMON, END
from slinky.native.kernels import KernelFunction
from slinky.native.operators import C_TYPES

STRIP = 1024
"""So many results are made side by side."""
_SHORT = 8
"""Rows of fewer elements are added from first to last."""

AHEAD = 8192
"""So many bytes further is what sums and extrema ask for: normalising rows of 4096 floats took 9.5 to 10.3 ms so, 10 to
11 with 4096, and 12 to 12.6 without; a softmax of such rows 16.7 ms instead of 17.9."""

_AXES = """\
#ifndef SLINKY_AXES
#define SLINKY_AXES
/* How many bytes the processor works on at once. */
#if defined(__AVX512F__)
#define SLINKY_VECTOR 64
#elif defined(__AVX2__)
#define SLINKY_VECTOR 32
#else
#define SLINKY_VECTOR 16
#endif

/* An axis: how many elements, how far apart in what is read, and in what is written; 0 there: it is reduced. What is
   wide has more elements than one in all. */
typedef struct { int64_t extent, from, to; int is_kept, is_wide; } slinky_axis;

static inline int64_t slinky_apart(slinky_axis a)
{
    return a.extent == 1 && !a.is_wide ? 0 : a.from < 0 ? -a.from : a.from;
}

/* Put axes, which come from the last one on, into NumPy's order, if they are not in it already: the innermost first.
   Those of one element are left out, and those that follow each other are one; how many there are then. */
static int slinky_in_order(slinky_axis *axes, int count, int are_in_order)
{
    for (int i = are_in_order ? count : 1; i < count; i++) {
        const slinky_axis own = axes[i];
        int place = i;
        for (int k = i - 1; k >= 0; k--) {
            if (!slinky_apart(own) || !slinky_apart(axes[k])) continue;
            if (slinky_apart(axes[k]) <= slinky_apart(own)) break;
            place = k;
        }
        for (int k = i; k > place; k--) axes[k] = axes[k - 1];
        axes[place] = own;
    }
    int last = -1;
    for (int i = 0; i < count; i++) {
        slinky_axis *before = &axes[last];
        if (axes[i].extent == 1 && !axes[i].is_wide) continue;
        if (last >= 0 && before->is_kept == axes[i].is_kept && before->from * before->extent == axes[i].from
            && before->to * before->extent == axes[i].to)
            before->extent *= axes[i].extent;
        else
            axes[++last] = axes[i];
    }
    return last + 1;
}

/* The axes of one kind, without the innermost `skipped` ones: how many there are. */
static inline int slinky_of_kind(const slinky_axis *axes, int count, int is_kept, int skipped, slinky_axis *found)
{
    int n = 0;
    for (int i = skipped; i < count; i++)
        if (axes[i].is_kept == is_kept) found[n++] = axes[i];
    return n;
}

/* Go on to the next place along some axes; whether there is one. */
static inline int slinky_next(const slinky_axis *axes, int count, int64_t *at, const char **from, char **to)
{
    for (int i = 0; i < count; i++) {
        *from += axes[i].from;
        *to += axes[i].to;
        if (++at[i] < axes[i].extent) return 1;
        *from -= axes[i].from * axes[i].extent;
        *to -= axes[i].to * axes[i].extent;
        at[i] = 0;
    }
    return 0;
}
#endif
"""

_PAIRWISE = """\
/* The sum of some elements, by pairs of halves. */
static @T @NAME_stretch(const char *p, int64_t n, int64_t s, @T mean)
{
    (void)mean;
    if (n < 8) {
        @T sum = (@T)-0.0;
        for (int64_t i = 0; i < n; i++, p += s) sum += @NAME_one(p, mean);
        return sum;
    }
    @T r[8];
    for (int k = 0; k < 8; k++) r[k] = @NAME_one(p + k * s, mean);
    int64_t i = 8;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) r[k] += @NAME_one(p + (i + k) * s, mean);
    @T sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < n; i++) sum += @NAME_one(p + i * s, mean);
    return sum;
}
#if defined(__GNUC__) && @SAME
/* Four stretches of 128 elements that follow each other, side by side. */
static @T @NAME_four(const @E *p, @T mean)
{
    typedef @T eight __attribute__((vector_size(8 * sizeof(@T))));
    eight r[4];
    (void)mean;
    for (int64_t line = @AHEAD; line < @AHEAD + 512 * (int64_t)sizeof(@E); line += 64)
        __builtin_prefetch((const char *)p + line);
    for (int k = 0; k < 4; k++) {
        eight x;
        memcpy(&x, p + 128 * k, sizeof x);
        r[k] = @EIGHT;
    }
    for (int i = 8; i < 128; i += 8) {
        for (int k = 0; k < 4; k++) {
            eight x;
            memcpy(&x, p + 128 * k + i, sizeof x);
            r[k] += @EIGHT;
        }
    }
    @T sums[4];
    for (int k = 0; k < 4; k++)
        sums[k] = ((r[k][0] + r[k][1]) + (r[k][2] + r[k][3])) + ((r[k][4] + r[k][5]) + (r[k][6] + r[k][7]));
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
#define @NAME_IS_FOUR(n, s) ((n) == 512 && (s) == (int64_t)sizeof(@T))
#else
#define @NAME_IS_FOUR(n, s) 0
#define @NAME_four(p, mean) 0
#endif
static @T @NAME_pairs(const char *p, int64_t n, int64_t s, @T mean)
{
    if (@NAME_IS_FOUR(n, s)) return @NAME_four((const @E *)p, mean);
    if (n <= 128)
        return s == (int64_t)sizeof(@E) ? @NAME_stretch(p, n, sizeof(@E), mean) : @NAME_stretch(p, n, s, mean);
    const int64_t half = n / 2 - n / 2 % 8;
    return @NAME_pairs(p, half, s, mean) + @NAME_pairs(p + half * s, n - half, s, mean);
}
static inline @T @NAME_row(@T before, const char *p, int64_t n, int64_t s, @T mean)
{
    return before + @NAME_pairs(p, n, s, mean);
}
"""

_EXTREMUM = """\
#if defined(__GNUC__)
/* The extremum of elements that follow each other: of the largest number there is, NaN is larger. */
static @T @NAME_dense(@T before, const @E *p, int64_t n)
{
    typedef @T lanes __attribute__((vector_size(SLINKY_VECTOR)));
    typedef @I masks __attribute__((vector_size(SLINKY_VECTOR)));
    enum { count = SLINKY_VECTOR / sizeof(@T) };
    int64_t i = 0;
    if (n >= 4 * count) {
        lanes best[4];
        masks is_none = {0};
        memcpy(best, p, sizeof best);
        for (int k = 0; k < 4; k++) is_none |= (masks)(best[k] != best[k]);
        for (i = 4 * count; i + 4 * count <= n; i += 4 * count) {
            for (int line = 0; line < 4 * SLINKY_VECTOR; line += 64)
                __builtin_prefetch((const char *)(p + i) + @AHEAD + line);
            for (int k = 0; k < 4; k++) {
                lanes x;
                memcpy(&x, p + i + k * count, sizeof x);
                const masks is_better = (masks)(x @BETTER best[k]);
                is_none |= (masks)(x != x);
                best[k] = (lanes)(((masks)x & is_better) | ((masks)best[k] & ~is_better));
            }
        }
        for (int k = 0; k < count; k++) {
            if (is_none[k]) return NAN;
            for (int v = 0; v < 4; v++) before = @NAME_of(before, best[v][k]);
        }
    }
    for (; i < n; i++) before = @NAME_of(before, p[i]);
    return before;
}
#else
#define @NAME_dense(before, p, n) @NAME_spread(before, p, n, sizeof(@E))
#endif
static @T @NAME_spread(@T before, const char *p, int64_t n, int64_t s)
{
    for (int64_t i = 0; i < n; i++, p += s) {
        const @T x = *(const @E *)p;
        before = @NAME_of(before, x);
    }
    return before;
}
static inline @T @NAME_row(@T before, const char *p, int64_t n, int64_t s, @T mean)
{
    (void)mean;
    return s == (int64_t)sizeof(@E) ? @NAME_dense(before, (const @E *)p, n) : @NAME_spread(before, p, n, s);
}
"""

_ONE_BY_ONE = """\
static @T @NAME_row(@T before, const char *p, int64_t n, int64_t s, @T mean)
{
    (void)mean;
    if (s == (int64_t)sizeof(@E))
        for (int64_t i = 0; i < n; i++) before = @NAME_of(before, @NAME_one(p + i * (int64_t)sizeof(@E), mean));
    else
        for (int64_t i = 0; i < n; i++) before = @NAME_of(before, @NAME_one(p + i * s, mean));
    return before;
}
"""

_ONE = """\
static inline @T @NAME_one(const char *p, @T mean)
{
    const @T x = @CAST;
    (void)mean;
    return @VALUE;
}
static inline @T @NAME_of(@T a, @T b) { return @OF; }
"""
_FINISH = """\
static inline @T @NAME_finish(@T found, int64_t count)
{
    (void)count;
    return @END;
}
"""

_FUNCTION = """\
/* @WHAT */
static void @FUNCTION(const array *a, const array *o)
{
    /* One more than there may be: compilers do not see how many there are, and warn. */
    slinky_axis axes[@RANK + 1] = {@AXES}, reduced[@RANK + 1], kept[@RANK + 1];
    const int64_t count = @COUNT;
    if (@EMPTY) return;
    const int all = slinky_in_order(axes, @RANK, @IN_ORDER), has_rows = all && !axes[0].is_kept;
    const int outer_count = slinky_of_kind(axes, all, 0, has_rows, reduced);
    const char *p = a->data;
    char *q = o->data;
    int64_t at[@RANK] = {0};@KEEP
    if (has_rows && (outer_count || axes[0].extent >= @SHORT)) {
        const int64_t n = axes[0].extent, s = axes[0].from;
        const int kept_count = slinky_of_kind(axes, all, 1, 1, kept);
        do {
@ROWS            *(@T *)q = @NAME_finish(result, count);
        } while (slinky_next(kept, kept_count, at, &p, &q));
    } else {
        const int reduced_count = slinky_of_kind(axes, all, 0, 0, reduced);
        const int kept_count = slinky_of_kind(axes, all, 1, 0, kept);
        if (!kept_count) kept[0] = (slinky_axis){1, 0, 0, 1, 0};
        const slinky_axis along = kept[0];
        do {
            for (int64_t first = 0; first < along.extent; first += @STRIP) {
                const int64_t m = along.extent - first < @STRIP ? along.extent - first : @STRIP;
                @T @VARIABLES;
@STRIPS                for (int64_t j = 0; j < m; j++)
                    *(@T *)(q + (first + j) * along.to) = @NAME_finish(results[j], count);
            }
        } while (slinky_next(kept + 1, kept_count - 1, at, &p, &q));
    }@RESTORE
}
"""
_ROWS = """\
            @T @VARIABLE = @FIRST;
            if (count) {
                int64_t by[@RANK] = {0};
                const char *row = p;
                char *none = q;
                do @VARIABLE = @NAME_row(@VARIABLE, row, n, s, @MEAN);
                while (slinky_next(reduced, outer_count, by, &row, &none));
            }
"""
_STRIPS = """\
                for (int64_t j = 0; j < m; j++) @VARIABLE[j] = @FIRST;
                if (count) {
                    int64_t by[@RANK] = {0};
                    const char *row = p + first * along.from;
                    char *none = q;
                    do {
                        if (along.from == (int64_t)sizeof(@E))
                            for (int64_t j = 0; j < m; j++)
                                @VARIABLE[j] = @NAME_of(@VARIABLE[j], @NAME_one(row + j * (int64_t)sizeof(@E), @MEAN));
                        else
                            for (int64_t j = 0; j < m; j++)
                                @VARIABLE[j] = @NAME_of(@VARIABLE[j], @NAME_one(row + j * along.from, @MEAN));
                    } while (slinky_next(reduced, reduced_count, by, &row, &none));
                }
"""

_OF: dict[np.ufunc, dict[str, str]] = {
    np.add: {"b": "(@T)(a | b)", "i": "(@T)(a + b)", "f": "a + b"},
    np.multiply: {"b": "(@T)(a & b)", "i": "(@T)(a * b)", "f": "a * b"},
    np.maximum: {"b": "(@T)(a | b)", "i": "b > a ? b : a", "f": "((b > a) | (b != b)) ? b : a"},
    np.minimum: {"b": "(@T)(a & b)", "i": "b < a ? b : a", "f": "((b < a) | (b != b)) ? b : a"},
    np.logical_or: {"b": "(@T)(a | b)"},
    np.logical_and: {"b": "(@T)(a & b)"},
    np.bitwise_or: {"b": "(@T)(a | b)", "i": "(@T)(a | b)"},
    np.bitwise_and: {"b": "(@T)(a & b)", "i": "(@T)(a & b)"},
    np.bitwise_xor: {"b": "(@T)(a ^ b)", "i": "(@T)(a ^ b)"},
}
"""What two values become, by the kind of their dtype; of unsigned integers it is that of others."""
EXTREMA = (np.maximum, np.minimum)
"""These are nothing of no elements."""


@attrs.frozen
class Reducer:
    """A reduction in C: its function, which takes an array and another one for the results; how the two go along the
    dimensions of the results; and the bytes of their elements."""

    name: str
    function: KernelFunction
    shape: Formula
    sizes: tuple[int, int]


def reducer(combined: Combined, rank: int, given: np.dtype[Any], result: np.dtype[Any], name: str) -> Reducer | None:
    """The function, of a name, for arrays of a rank and a dtype; None if that is not known to give what NumPy gives."""
    of = _OF[combined.ufunc].get(result.kind.replace("u", "i"))
    if of is None or given not in C_TYPES or result not in C_TYPES or not given.isnative or not result.isnative:
        return None
    is_truth = combined.ufunc in (np.logical_or, np.logical_and)
    is_extremum = combined.ufunc in EXTREMA and result.kind == "f"
    is_number = combined.ufunc not in EXTREMA
    if is_truth or (is_number and "b" in (given.kind, result.kind)) or given == result == np.bool_:
        cast = "(@T)(*(const @E *)p != 0)"
    elif given == result or (is_number and np.can_cast(given, result, "same_kind")):
        cast = "(@T)*(const @E *)p"
    else:
        return None
    if combined.centred and np.promote_types(given, result) != result:
        return None
    if (combined.squared or combined.fewer is not None or combined.rooted) and result.kind != "f":
        return None
    is_pairwise = combined.ufunc is np.add and result.kind == "f"
    rows = _PAIRWISE if is_pairwise else _EXTREMUM if is_extremum else _ONE_BY_ONE
    words = {
        "OF": of,
        "CAST": cast,
        "SAME": str(int(given == result)),
        "BETTER": ">" if combined.ufunc is np.maximum else "<",
        "T": C_TYPES[result],
        "E": C_TYPES[given],
        "I": f"int{8 * result.itemsize}_t",
        "FIRST": _first(combined.ufunc, result),
        "RANK": str(rank),
        "STRIP": str(STRIP),
        "SHORT": str(_SHORT),
        "AHEAD": str(AHEAD),
        "FUNCTION": name,
        "WHAT": _title(combined),
        "KEEP": "\n    slinky_flags state;\n    SLINKY_KEEP(state);" if is_extremum else "",
        "RESTORE": "\n    SLINKY_RESTORE(state);" if is_extremum else "",
    }
    value = "x - mean" if combined.centred else "x"
    stages = [_Stage(name, "result", f"({value}) * ({value})" if combined.squared else value, _end(combined, result))]
    if combined.centred:
        stages.insert(0, _Stage(f"{name}_mean", "mean", "x", _end(Combined(np.add, combined.axes, fewer=0), result)))
    kept = [d for d in range(rank) if d not in combined.axes]
    words |= {
        "NAME": name,
        "AXES": ", ".join(_axis(d, kept, int(d in combined.wide)) for d in reversed(range(rank))),
        "IN_ORDER": str(int(combined.in_order)),
        "COUNT": " * ".join(f"a->extents[{d}]" for d in combined.axes),
        "EMPTY": " || ".join(f"!o->extents[{d}]" for d in range(len(kept))) or "0",
        "VARIABLES": ", ".join(f"{stage.variable}s[{STRIP}]" for stage in stages),
        "ROWS": "".join(stage.text(_ROWS, words, stage.variable) for stage in stages),
        "STRIPS": "".join(stage.text(_STRIPS, words, f"{stage.variable}s") for stage in stages),
    }
    own = "".join(stage.text(_ONE + _FINISH + rows, words, "") for stage in stages)
    head = f"{BEGIN}{COMMON}{END}{_AXES}"
    axes: list[Axis | None] = [Axis(kept.index(d)) if d in kept else None for d in range(rank)]
    shape = Formula(len(kept), (tuple(axes),), (), Element(0, result))
    return Reducer(
        name, KernelFunction((head,), with_words(_FUNCTION, words), own), shape, (given.itemsize, result.itemsize)
    )


def is_exact_reduction(combined: Combined, given: np.dtype[Any], result: np.dtype[Any]) -> bool:
    """Whether the function gives NumPy's bits in any case, for arrays of one dtype and results of another."""
    if result.kind != "f":
        return True
    return combined.ufunc not in EXTREMA and given == result and len(combined.axes) == 1


@attrs.frozen
class _Stage:
    """One of the reductions that a function makes one after the other: the prefix of its functions, the variable that
    holds what it gives, the value of an element, and what becomes of a result."""

    name: str
    variable: str
    value: str
    end: str

    def text(self, form: str, words: dict[str, str], variable: str) -> str:
        """What it says in a form, in which what it gives is held by a variable."""
        is_mean = self.variable == "mean"
        mean = ("means[j]" if variable.endswith("s") else "mean") if "mean" in self.value else "0"
        own = {"NAME": self.name, "VARIABLE": variable, "VALUE": self.value, "EIGHT": self.value, "END": self.end}
        found = with_words(form, {**words, **own, "MEAN": mean})
        if is_mean and variable == "mean":
            found += f"            mean = {self.name}_finish(mean, count);\n"
        elif is_mean and variable == "means":
            found += (
                f"                for (int64_t j = 0; j < m; j++) means[j] = {self.name}_finish(means[j], count);\n"
            )
        return found


def _axis(d: int, kept: list[int], is_wide: int) -> str:
    to, is_kept = (f"o->strides[{kept.index(d)}]", 1) if d in kept else ("0", 0)
    return f"{{a->extents[{d}], a->strides[{d}], {to}, {is_kept}, {is_wide}}}"


def _first(ufunc: np.ufunc, dtype: np.dtype[Any]) -> str:
    """What a reduction begins with."""
    if ufunc in EXTREMA:
        sign = "-" if ufunc is np.maximum else ""
        if dtype.kind == "f":
            return f"{sign}INFINITY"
        if dtype.kind == "b":
            return "0" if sign else "1"
        if dtype.kind == "u" and sign:
            return "0"
        return f"{'U' * (dtype.kind == 'u')}INT{8 * dtype.itemsize}_{'MIN' if sign else 'MAX'}"
    if ufunc is np.add and dtype.kind == "f":  # not the same in all versions of NumPy
        return "-0.0" if np.signbit(np.add.reduce(np.array([-0.0], dtype))) else "0.0"
    if ufunc is np.bitwise_and and dtype.kind != "b":
        return f"({C_TYPES[dtype]})-1"
    return str(int(ufunc.identity))


def _end(combined: Combined, dtype: np.dtype[Any]) -> str:
    """What becomes of what was combined."""
    text, of = "found", C_TYPES[dtype]
    if combined.fewer is not None:
        less = f"(count > {combined.fewer} ? count - {combined.fewer} : 0)" if combined.fewer else "count"
        text = f"({of})((double)found / (double){less})"
    return f"sqrt{'f' if dtype.itemsize == 4 else ''}({text})" if combined.rooted else text


def _title(combined: Combined) -> str:
    of = "squares" if combined.squared else "elements"
    axes = ", ".join(map(str, combined.axes))
    return f"{combined.ufunc.__name__} of {of}{' less their mean' if combined.centred else ''} along {axes}"
