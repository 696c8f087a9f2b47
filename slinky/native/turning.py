"""Nests of loops over elements in C whose order follows that of the arrays in memory, as it is found at each call.

Idea. The innermost loop goes along the last dimension, in which elements follow each other in most arrays. Where they
do so along another dimension in more of them, as in arrays in columns, the two change places. Where some arrays go one
way and others the other, as in `a.T + b`, the loops go tile by tile, so that a line of the cache which was fetched for
one row is there for the next ones.

What does not follow each other along the innermost loop is gathered first, a few hundred elements at a time, so that
the arithmetic is vector instructions all the same.

Invariant: every element is computed once, by the same lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

COLUMNS = 256
"""Of a tile: lines of the cache for so many stay in the nearest one. With 32, 64 or 128, sums of a transposed matrix of
1000 to 2000 rows took longer, as rows of what is written are cut into short pieces."""

_LINE = 64
"""A tile has as many rows as elements fill a line of the cache."""

SHORT = 16
"""Innermost loops that are shorter give way to others that are longer, if as many arrays go either way."""

_TEXT = """\
#ifndef SLINKY_TURNED
#define SLINKY_TURNED
/* Whether an element that is so far away is nearer than another one. */
static inline int slinky_nearer(intptr_t one, intptr_t other)
{
    one = one < 0 ? -one : one;
    other = other < 0 ? -other : other;
    return (one != 0) & (one < other);
}
static inline void slinky_turn(intptr_t *one, intptr_t *other)
{
    const intptr_t first = *one;
    *one = *other;
    *other = first;
}
/* How many columns a tile has at most, where those of an array are so far from each other: lines of the cache that are
   a power of two apart take each other's place. */
static inline intptr_t slinky_columns(intptr_t most, intptr_t near, intptr_t far)
{
    const intptr_t power = far & -far, fit = power > 2048 ? 16 : 32768 / (power ? power : 1);
    return slinky_nearer(near, far) && fit < most ? fit : most;
}
#endif
"""


_STRIDED = """\
#ifndef SLINKY_STRIDED_@T
#define SLINKY_STRIDED_@T
#ifdef __GNUC__
__attribute__((noinline, unused))
#endif
static void slinky_gather_@T(@T *restrict to, const char *restrict from, intptr_t stride, intptr_t n)
{
    const @T *p = (const @T *)from;
    const intptr_t size = sizeof(@T);
    if (stride == 2 * size)
        for (intptr_t i = 0; i < n; i++) to[i] = p[2 * i];
    else if (stride == 3 * size)
        for (intptr_t i = 0; i < n; i++) to[i] = p[3 * i];
    else if (stride == -size)
        for (intptr_t i = 0; i < n; i++) to[i] = p[-i];
    else
        for (intptr_t i = 0; i < n; i++) to[i] = *(const @T *)(from + i * stride);
}
static inline void slinky_scatter_@T(char *restrict to, intptr_t stride, const @T *restrict from, intptr_t n)
{
    for (intptr_t i = 0; i < n; i++) *(@T *)(to + i * stride) = from[i];
}
#endif
"""


def turning(rank: int, names: Sequence[str], *, may_turn: bool) -> Iterator[str]:
    """Lines that put the dimensions of arrays of these names into the order in which elements lie in memory.

    The variables are extents `n0`, ..., and strides `s_a0_0`, ...: 0 where an array does not move with a dimension.
    The last dimension changes places with others only if it may: where the same arrays move with all of them.
    """
    inner, before = rank - 1, rank - 2
    for d in range(inner):
        yield f"int nearer{d} = {_nearer(names, d, inner)};"
    for d in range(before):
        yield f"if (nearer{d} > nearer{before}) {{"
        yield from (f"    {line}" for line in [*_turned(names, d, before), f"nearer{before} = nearer{d};"])
        yield "}"
    yield f"const int farther = {_nearer(names, inner, before)};"
    if may_turn:
        is_short = f"(nearer{before} == farther && n{inner} < {SHORT} && n{inner} < n{before})"
        yield f"if (nearer{before} > farther || {is_short}) {{"
        yield from (f"    {line}" for line in _turned(names, before, inner))
        yield "}"
    yield f"const int is_tiled = nearer{before} && farther;"


def tiles(rank: int, names: Sequence[str], size: int, most: str, *, is_turned: bool) -> Iterator[str]:
    """Lines that say how many `columns` are gathered at a time, so many at `most`; and in how many `rows`, after
    `turning`, where elements take so many bytes at most."""
    inner, before = rank - 1, rank - 2
    if not is_turned:
        yield f"const intptr_t columns = {most};"
        return
    yield f"intptr_t columns = {most};"
    yield f"const intptr_t rows = is_tiled ? {_LINE // size} : 1;"
    yield "if (is_tiled) {"
    for name in names:
        yield f"    columns = slinky_columns(columns, s_{name}_{before}, s_{name}_{inner});"
    yield "}"


def texts_in(body: str) -> list[str]:
    """The texts of the functions that lines call."""
    found = [_TEXT] if "slinky_nearer(" in body else []
    return found + [_STRIDED.replace("@T", each) for each in sorted(set(_GATHERED.findall(body)))]


_GATHERED = re.compile(r"slinky_(?:gather|scatter)_(\w+)\(")


def _turned(names: Sequence[str], one: int, other: int) -> Iterator[str]:
    for each in ("n", *(f"s_{name}_" for name in names)):
        yield f"slinky_turn(&{each}{one}, &{each}{other});"


def _nearer(names: Sequence[str], one: int, other: int) -> str:
    return " + ".join(f"slinky_nearer(s_{name}_{one}, s_{name}_{other})" for name in names)
