"""Rectangles of elements, moved in C: from any place to any other one, along any axes.

Idea. Which bits elements are does not matter to a copy, only how many: so there is one function for each size. It takes
axes that follow each other in both places as one, chooses which two go innermost, and moves these rows by the loop
that fits: as one piece of memory; one element, many times; or element by element, along a distance that the compiler
knows, where it may. What is seen transposed is moved in blocks, so that memory is read line by line.

Invariant: each element is moved once. No element is where another one is moved to.
"""

from __future__ import annotations

SIDES = """\
#ifndef SLINKY_SIDES
#define SLINKY_SIDES
#include <string.h>

/* A side of a rectangle: how many elements it has, and how many bytes these lie apart where they go, and whence. */
typedef struct { int64_t extent, to, from; } slinky_side;

static inline int64_t slinky_far(int64_t distance) { return distance < 0 ? -distance : distance; }
static inline void slinky_swap(slinky_side *a, slinky_side *b)
{
    const slinky_side kept = *a;
    *a = *b;
    *b = kept;
}

/* Sides without those of one element, those that follow each other as one; the innermost comes last, and before it that
   along which memory is read, if that is another one. How many there are then. */
static inline int slinky_sides(slinky_side *sides, int count, int64_t size)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        slinky_side *last = n ? &sides[n - 1] : sides;
        if (sides[i].extent == 1) continue;
        if (n && last->to == sides[i].to * sides[i].extent && last->from == sides[i].from * sides[i].extent) {
            last->extent *= sides[i].extent;
            last->to = sides[i].to;
            last->from = sides[i].from;
        } else {
            sides[n++] = sides[i];
        }
    }
    for (int i = 0; i < n - 1; i++)
        if (slinky_far(sides[i].to) < slinky_far(sides[n - 1].to)) slinky_swap(&sides[i], &sides[n - 1]);
    for (int i = 0; i < n - 2; i++)
        if (slinky_far(sides[i].from) == size) slinky_swap(&sides[i], &sides[n - 2]);
    /* Few elements beside many: there are fewer loops the other way round. */
    if (n > 1 && sides[n - 1].extent < 8 && sides[n - 2].extent > 2 * sides[n - 1].extent)
        if (sides[n - 1].from != size || sides[n - 1].to != size || sides[n - 1].extent * size < 16)
            slinky_swap(&sides[n - 1], &sides[n - 2]);
    return n;
}
#endif
"""
"""What functions for all sizes use."""

_MOVE = """\
#ifndef SLINKY_MOVE@N
#define SLINKY_MOVE@N
/* An element of @N bytes, whatever it is. */
typedef @TYPE slinky_bits@N;
static inline slinky_bits@N slinky_load@N(const char *p)
{
    slinky_bits@N x;
    memcpy(&x, p, @N);
    return x;
}
static inline void slinky_store@N(char *p, slinky_bits@N x) { memcpy(p, &x, @N); }

/* Elements side by side, so many bytes apart where they go, and whence. */
static inline void slinky_step@N(char *restrict to, const char *restrict from, int64_t n, int64_t t, int64_t f)
{
    for (int64_t i = 0; i < n; i++) slinky_store@N(to + i * t, slinky_load@N(from + i * f));
}

/* The same, any number of bytes apart; and each element twice, side by side. */
slinky_shared static void slinky_apart@N(char *to, const char *from, int64_t n, int64_t t, int64_t f)
{
    for (; n; n--, to += t, from += f) slinky_store@N(to, slinky_load@N(from));
}
static inline void slinky_twice@N(char *restrict to, const char *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const slinky_bits@N x = slinky_load@N(from + i * @N);
        slinky_store@N(to + 2 * i * @N, x);
        slinky_store@N(to + (2 * i + 1) * @N, x);
    }
}

/* Rows: by the loop that fits. */
slinky_shared static void slinky_rows@N(char *restrict to, const char *restrict from, slinky_side rows, slinky_side row)
{
    const int64_t n = row.extent;
    if (row.to == @N && row.from == @N) {
        for (int64_t k = 0; k < rows.extent; k++) memcpy(to + k * rows.to, from + k * rows.from, (size_t)n * @N);
    } else if (rows.extent == 2 && rows.to == @N && rows.from == 0 && row.to == 2 * @N && row.from == @N) {
        slinky_twice@N(to, from, n);
    } else if (rows.extent > 7 && slinky_far(rows.from) == @N && slinky_far(row.from) != @N && row.from) {
        for (int64_t k = 0; k < rows.extent; k += 8) {
            const int64_t few = slinky_min(8, rows.extent - k);
            char *block = to + k * rows.to;
            const char *source = from + k * rows.from;
            for (int64_t i = 0; i < n; i++, block += row.to, source += row.from) {
                if (few == 8)
                    for (int64_t j = 0; j < 8; j++)
                        slinky_store@N(block + j * rows.to, slinky_load@N(source + j * rows.from));
                else
                    slinky_apart@N(block, source, few, rows.to, rows.from);
            }
        }
    } else {
        for (int64_t k = 0; k < rows.extent; k++) {
            char *line = to + k * rows.to;
            const char *source = from + k * rows.from;
            if (row.to == @N && row.from == 0)
                slinky_step@N(line, source, n, @N, 0);
            else if (row.to == @N && row.from == -@N)
                slinky_step@N(line, source, n, @N, -@N);
            else
                slinky_apart@N(line, source, n, row.to, row.from);
        }
    }
}

/* Rectangles of rows, side by side. */
slinky_shared static void slinky_along@N(char *to, const char *from, const slinky_side *sides, int count)
{
    if (count == 2) {
        slinky_rows@N(to, from, sides[0], sides[1]);
        return;
    }
    for (int64_t k = 0; k < sides->extent; k++)
        slinky_along@N(to + k * sides->to, from + k * sides->from, sides + 1, count - 1);
}

/* A rectangle with so many sides. */
static void slinky_move@N(char *to, const char *from, slinky_side *sides, int count)
{
    const slinky_side one = {1, 0, 0};
    count = slinky_sides(sides, count, @N);
    if (count == 0)
        memcpy(to, from, @N);
    else if (count == 1)
        slinky_rows@N(to, from, one, sides[0]);
    else
        slinky_along@N(to, from, sides, count);
}
#endif
"""


def text_of_move(size: int) -> str:
    """The C of `slinky_moveN`, which copies a rectangle of elements of N bytes from array to array, and of what that
    calls."""
    kind = f"uint{8 * size}_t" if size in (1, 2, 4, 8) else f"struct {{ char bytes[{size}]; }}"
    return SIDES + _MOVE.replace("@TYPE", kind).replace("@N", str(size))
